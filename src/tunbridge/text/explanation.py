"""Why a text is given this class rather than that one, as a record: the words that spoke, and where they stand.

How weights come to words and places says :mod:`tunbridge.text.reasons`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge.decisions.evidence import Evidence, json_value
from tunbridge.text.marked_html import as_html
from tunbridge.text.marked_text import as_lines, as_rich

if TYPE_CHECKING:
    from rich.text import Text


class Span(NamedTuple):
    """A place of a text, ``text[start:end]``, and what it adds to the log-odds, in nats."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True)
class TextExplanation:
    """Why a text is given one class rather than another.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        log P(label)/P(against) before the text is read.
    evidence : tuple of Evidence
        One for each different known word (or n-gram) of the text: the word, how often it occurs, and its weight, all
        occurrences together, in nats; the heaviest (in absolute value) first. Behind the words stand what the absence
        of others says or an intercept, where the model has such a term, and a calibration. ``prior`` plus all weights
        is ``log_odds``.
    probabilities : mapping
        The posterior probability of every class.
    text : str
        The text as it was given.
    spans : tuple of Span
        The places of the text that spoke, in order, none overlapping another: words, or characters. Their weights add
        up to those of the words.
    unknown : tuple of str
        What the text is cut into and the model does not use: words (or characters) that are in no known n-gram.
    n_words : int
        How many of the evidence, the first ones, are words.

    Examples
    --------
    >>> import tunbridge as tb
    >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon"]
    >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> told = clf.explain("Lunch tomorrow? No cheap pills!")
    >>> told
    spam rather than ham: P(spam) = 0.789
    <BLANKLINE>
      [Lunch -0.62] tomorrow? No [cheap +1.2] [pills +0.77]!
    <BLANKLINE>
    word   times   weight    odds ×
    prior           +0.00         1
    cheap      1    +1.17      3.23  ++++++++++++
    pills      1    +0.77      2.15  ++++++++
    lunch      1    -0.62     0.538  ------
    sum             +1.32      3.75
    not used: 'tomorrow', 'no'
    >>> [told.text[span.start : span.end] for span in told.spans if span.weight > 0]
    ['cheap', 'pills']
    """

    label: Any
    against: Any
    prior: float
    evidence: tuple[Evidence, ...]
    probabilities: Mapping[Any, float]
    text: str
    spans: tuple[Span, ...]
    unknown: tuple[str, ...]
    n_words: int

    @property
    def words(self) -> tuple[Evidence, ...]:
        """The evidence of words (or n-grams), the heaviest first."""
        return self.evidence[: self.n_words]

    @property
    def further(self) -> tuple[Evidence, ...]:
        """The evidence that is not a word: what the absence of others says, an intercept, a calibration."""
        return self.evidence[self.n_words :]

    @property
    def log_odds(self) -> float:
        """The log of the posterior odds of ``label`` against ``against``."""
        terms = [self.prior, *(e.weight for e in self.evidence)]
        return self.prior if inf in terms and -inf in terms else float(sum(terms))

    @property
    def headline(self) -> str:
        """The classes, and how probable the one that is explained is."""
        return f"{self.label!s} rather than {self.against!s}: P({self.label!s}) = {self.probabilities[self.label]:.3g}"

    @property
    def remark(self) -> str:
        """Why no word spoke; nothing where one did."""
        if self.n_words:
            return ""
        reason = "The text holds no word that is known" if self.text.strip() else "The text is empty"
        return f"{reason}: the prior decides."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; infinite weights as text.

        ``start`` and ``end`` of a span are numbers of characters (code points) of the text.
        """
        return {
            "label": json_value(self.label),
            "against": json_value(self.against),
            "prior": json_value(self.prior),
            "evidence": [e.to_dict() for e in self.evidence],
            "log_odds": json_value(self.log_odds),
            "probabilities": {str(c): p for c, p in self.probabilities.items()},
            "text": self.text,
            "spans": [{"start": s.start, "end": s.end, "weight": json_value(s.weight)} for s in self.spans],
            "unknown": list(self.unknown),
            "n_words": self.n_words,
        }

    def to_rich(self) -> Text:
        """Return what is printed as coloured text of the library *rich*: blue speaks for, orange against."""
        return as_rich(self)

    def to_html(self, *, full_page: bool = False) -> str:
        """Return the text with its words coloured, blue for and orange against, and the heaviest words in a table.

        Parameters
        ----------
        full_page : bool
            Whether to return a page, which can be written to a file, rather than what can be put into one.
        """
        return as_html(self, full_page=full_page)

    def __str__(self) -> str:
        return "\n".join(as_lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()
