"""Why a text gets this class rather than that one: the weights of its words, and their places in the text.

The score of a document is a sum over its words, so the log-odds of class c against c′ are one as well,

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + (b_c − b_c′) + Σ_w v_w (s_wc − s_wc′),

v_w being how often w occurs (or what the model makes of that), s_wc what it adds to the score of c, and b_c what a
document with a known word adds, if a model has such a term: in the Bernoulli model the evidence of the words that are
*absent*, in a linear model its intercept. The weight of a word is its whole term. It is shared equally by the places of
the word; an n-gram shares its part at a place equally among its units, and the shares of overlapping n-grams add up. So
the weights of all places add up to those of all words.
"""

from __future__ import annotations

import html
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, isinf
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from tunbridge._core.check import counted, listed, shortened
from tunbridge._core.grid import grid_lines, html_table
from tunbridge.classifiers.explanation.contributions import Compared
from tunbridge.decisions.evidence import Evidence, Explained, json_value, value_text, weight_bar
from tunbridge.text.documents import Documents
from tunbridge.text.marked import Segment, Span, marked_lines, printable
from tunbridge.text.naive import WordScores
from tunbridge.text.tokens import Tokens

if TYPE_CHECKING:
    from rich.text import Text

ABSENT = "words that are not there"
"""The name of the evidence of the absence of known words."""

INTERCEPT = "intercept"
"""The name of the evidence of every document with a known word, whatever its words."""

FOR, AGAINST = "blue", "dark_orange"
_HTML_FOR, _HTML_AGAINST = "30,120,255", "255,130,0"
_STRONGEST = 0.55  # opacity of the heaviest
_NARROWEST, _WIDEST = 40, 100
_FAINT = 0.1  # the share of the heaviest weight above which a place is coloured
_IN_TABLE = 6  # words for, and words against
_LONGEST_NAME = 32
_FAR, _FARTHEST = 230.0, 700.0  # the exponential of the first has an exponent of three digits, the second overflows

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif; line-height: 1.5; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
td, th {{ padding: 0.1rem 0.8rem 0.1rem 0; text-align: left; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True, repr=False)
class TextExplanation(Explained):
    """Why a text is given one class rather than another.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        log P(label)/P(against) before the text is read.
    evidence : tuple of Evidence
        One for each different known word (or n-gram) of the text: the word, how often it occurs, and its weight, all
        occurrences together, in nats; the heaviest (in absolute value) first. After the words come the evidence of
        absent words or an intercept, if the model has such a term, and a calibration. ``prior`` plus all weights is
        ``log_odds``.
    probabilities : mapping
        The posterior probability of every class.
    text : str
        The text as given.
    spans : tuple of Span
        The places of the text that have a weight, in order, not overlapping: words, or characters. Their weights add up
        to those of the words.
    unknown : tuple of str
        Tokens of the text that the model does not use: words (or characters) that are in no known n-gram.
    n_words : int
        How many of the evidence, the first ones, are words.

    Examples
    --------
    >>> import tunbridge as tb
    >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon"]
    >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> found = clf.explain("Lunch tomorrow? No cheap pills!")
    >>> found
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
    >>> [found.text[span.start : span.end] for span in found.spans if span.weight > 0]
    ['cheap', 'pills']
    """

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
        """The evidence that is not a word: absent words, an intercept, a calibration."""
        return self.evidence[self.n_words :]

    @property
    def remark(self) -> str:
        """Why there is no evidence of words; empty if there is some."""
        if self.n_words:
            return ""
        reason = "The text has no known word" if self.text.strip() else "The text is empty"
        return f"{reason}: the prior decides."

    @property
    def marked(self) -> str:
        """The text with its words marked, and no more; nothing where it has no known word."""
        lines = marked_lines(self.text, self.spans, _width())
        return "\n".join("  " + "".join(segment.shown for segment in line) for line in lines)

    @property
    def marked_html(self) -> str:
        """The text with its words coloured, as HTML."""
        style = "white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.7"
        return f"<div style='{style}'>{self._html_text()}</div>" if self.text else ""

    def scaled(self, weight: float) -> Self:
        """Return the explanation where the scores of words count with a weight."""
        evidence = tuple(Evidence(e.feature, e.value, weight * e.weight, e.given) for e in self.evidence)
        spans = tuple(span._replace(weight=weight * span.weight) for span in self.spans)
        return replace(self, evidence=evidence, spans=spans)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; infinite weights as text.

        ``start`` and ``end`` of a span are character (code point) positions in the text.
        """
        spans = [{"start": s.start, "end": s.end, "weight": json_value(s.weight)} for s in self.spans]
        own = {"text": self.text, "spans": spans, "unknown": list(self.unknown), "n_words": self.n_words}
        return {**super().to_dict(), **own}

    def __str__(self) -> str:
        return "\n".join("".join(segment.shown for segment in line) for line in self._lines())

    def to_rich(self) -> Text:
        """Return the printed form as coloured text of the library *rich*: blue is for the class, orange against it."""
        from rich.text import Text

        text, lines = Text(), self._lines()
        faint = _FAINT * max((abs(segment.weight) for line in lines for segment in line), default=0.0)
        for line in lines:
            for segment in line:
                colour = FOR if segment.weight > 0 else AGAINST
                coloured = colour if abs(segment.weight) > faint else ""
                text.append(segment.shown, f"bold {colour}" if segment.marked else coloured)
            text.append("\n")
        text.right_crop(1)
        text.stylize("bold", 0, len(lines[0][0].text))
        text.highlight_regex(r"(?m) \++$", f"bold {FOR}")
        text.highlight_regex(r"(?m) -+$", f"bold {AGAINST}")
        return text

    def _lines(self) -> list[list[Segment]]:
        """Return the lines: a headline, the text, the table, unknown words."""
        width = _width()
        lines = [[Segment(printable(self.headline))], []]
        lines += [[Segment("  "), *line] for line in marked_lines(self.text, self.spans, width)]
        if self.remark:
            lines += [*([[]] if self.text.strip() else []), [Segment(self.remark)]]
        lines += [[], *([Segment(line)] for line in self._table())]
        if self.unknown:
            lines.append([Segment(shortened(f"not used: {listed(map(printable, self.unknown))}", width))])
        return lines

    def _rows(self) -> list[_Row]:
        """Return the prior, the heaviest words for and against, the others together, further evidence, the sum."""
        sides = [e for e in self.words if e.weight > 0], [e for e in self.words if e.weight < 0]
        shown = sorted((e for side in sides for e in side[:_IN_TABLE]), key=lambda e: -abs(e.weight))
        others = len(self.words) - len(shown)
        rest = sum(e.weight for e in self.words) - sum(e.weight for e in shown)
        return [
            _Row("prior", "", self.prior, True),
            *(_Row(_name(e.feature), str(e.value), e.weight, True) for e in shown),
            *([_Row(f"… {counted(others, 'other')}", "", rest)] if others else []),
            *(_Row(e.name, value_text(e.value), e.weight) for e in self.further),
            _Row("sum", "", self.log_odds),
        ]

    def _table(self) -> list[str]:
        rows = self._rows()
        largest = max((abs(row.weight) for row in rows if row.has_bar and isfinite(row.weight)), default=0.0)
        bars = [weight_bar(row.weight, largest) if row.has_bar else "" for row in rows]
        cells = [[r.name, r.times, f"{r.weight:+.2f}", r.odds, bar] for r, bar in zip(rows, bars, strict=True)]
        return grid_lines(["word", "times", " weight", "  odds ×", ""], cells, left=(0, 4))

    def to_html(self, *, full_page: bool = False) -> str:
        """Return the text with its words coloured, blue for and orange against, and a table of the heaviest words.

        Colours are laid over the background, so that the text can be read on light and dark pages. Nothing is loaded
        from elsewhere, and everything is escaped.

        Parameters
        ----------
        full_page : bool
            Whether to return a page, which can be written to a file, rather than a fragment of one.
        """
        parts = [f"<p><strong>{html.escape(self.headline)}</strong></p>"]
        if self.text:
            parts.append(self.marked_html)
        if self.spans:
            keys = [(1.0, f"for {self.label!s}"), (-1.0, f"for {self.against!s}")]
            marks = [f'<mark style="{_style(w, 1.0)};padding:0 0.5em">{html.escape(name)}</mark>' for w, name in keys]
            parts.append(f"<p><small>{' '.join(marks)} the stronger the colour, the heavier the word</small></p>")
        if self.remark:
            parts.append(f"<p>{html.escape(self.remark)}</p>")
        cells = [[row.name, row.times, f"{row.weight:+.2f}", row.odds] for row in self._rows()]
        parts.append(html_table(["word", "times", "weight", "odds ×"], cells))
        if self.unknown:
            parts.append(f"<p><small>not used: {html.escape(listed(self.unknown, most=20))}</small></p>")
        body = "<div class='tunbridge-text'>" + "\n".join(parts) + "</div>"
        return _PAGE.format(title=html.escape(self.headline), body=body) if full_page else body

    def _html_text(self) -> str:
        """Return the text with its places coloured."""
        largest = max((abs(s.weight) for s in self.spans if isfinite(s.weight)), default=0.0)
        found, at = [], 0
        for start, end, weight in self.spans:
            favoured = html.escape(str(self.label if weight > 0 else self.against))
            title = f"{weight:+.2f} {favoured}" if weight else "0"
            found += [
                html.escape(self.text[at:start]),
                f'<mark style="{_style(weight, largest)}" title="{title}">{html.escape(self.text[start:end])}</mark>',
            ]
            at = end
        return "".join([*found, html.escape(self.text[at:].rstrip())])

    def _repr_html_(self) -> str:
        return self.to_html()


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


class _Row(NamedTuple):
    """A line of the table: what it is about, how often that occurs, its weight, and whether it has a bar."""

    name: str
    times: str
    weight: float
    has_bar: bool = False

    @property
    def odds(self) -> str:
        """The factor by which the odds change."""
        if isinf(self.weight):
            return "∞" if self.weight > 0 else "0"
        if abs(self.weight) >= _FARTHEST:
            return f"e^{self.weight:.0f}"
        return f"{exp(self.weight):.3g}" if abs(self.weight) < _FAR else f"{exp(self.weight):.1g}"


def _name(word: str) -> str:
    """Return a word as a table shows it: spaces at its ends, as n-grams of characters have, become visible."""
    inner = word.strip(" ")
    blanks = len(word) - len(word.lstrip(" ")) if inner else len(word)
    end = len(word) - len(word.rstrip(" ")) if inner else 0
    return shortened("␣" * blanks + printable(inner) + "␣" * end, _LONGEST_NAME)


def _style(weight: float, largest: float) -> str:
    share = 1.0 if not isfinite(weight) else abs(weight) / largest if largest else 0.0
    colour = _HTML_FOR if weight > 0 else _HTML_AGAINST
    return f"background:rgba({colour},{_STRONGEST * share**0.75:.2f});color:inherit"


# From a model to explanations


def text_explanations(
    model: WordScores, tokens: Tokens, batch: Documents, compared: Sequence[Compared], *, absence_counts: bool
) -> list[TextExplanation]:
    """Return why each document has one class rather than another.

    Parameters
    ----------
    model : WordScores
        The model.
    tokens : Tokens
        How documents are split.
    batch : Documents
        The documents.
    compared : sequence of Compared
        For each the class to explain and the one to compare it with.
    absence_counts : bool
        Whether the weights are log-odds of the presence of words, and the base the score of the absence of all.
    """
    words, values = model.known(batch)
    found = []
    for row, two in enumerate(compared):
        own = slice(batch.starts[row], batch.starts[row + 1])
        weights, base = _weights(model, words[own], values[own], (two.c, two.d), absence_counts)
        counts, hashes = batch.counts[own], batch.vocabulary.hashes[batch.words[own]]
        each = {
            key: weight / n
            for key, weight, n, word in zip(hashes.tolist(), weights, counts.tolist(), words[own], strict=True)
            if word >= 0
        }
        evidence, spans, unknown = _placed(tokens, batch.text(row), each)
        n_absent = len(model.vocabulary) - len(each)
        term = Evidence(ABSENT, n_absent, base) if absence_counts else Evidence(INTERCEPT, 1, base)
        told = (*evidence, *([term] if base else []))
        head = (two.label, two.against, two.prior, told, dict(two.probabilities))
        found.append(TextExplanation(*head, batch.text(row), spans, unknown, len(evidence)))
    return found


def _weights(
    model: WordScores, words: np.ndarray, values: np.ndarray, compared: tuple[int, int], absence_counts: bool
) -> tuple[list[float], float]:
    """Return the weight of each word of a document (0 if unknown), and that of the rest."""
    known = words >= 0
    weights = np.zeros(len(words))
    if not known.any():
        return weights.tolist(), 0.0
    scores, base = model.weights.rows(words[known])[:, compared], model.weights.base[list(compared)]
    terms = values[known, None] * scores
    if absence_counts:
        absent = -np.logaddexp(0.0, scores)  # log P(w not in x | c), from the log-odds that it is
        terms, base = terms + absent, base - absent.sum(axis=0)
    weights[known] = terms[:, 0] - terms[:, 1]
    return weights.tolist(), float(base[0] - base[1])


def _placed(
    tokens: Tokens, text: str, each: Mapping[int, float]
) -> tuple[list[Evidence], tuple[Span, ...], tuple[str, ...]]:
    """Return the known n-grams of a text with their weights, their places, and the unknown units.

    ``each`` has the weight of one occurrence of known n-grams by their hash. If several n-grams of the text share a
    hash bucket, each gets the part of its own occurrences.
    """
    small = text.lower() if tokens.lower_case else text
    units = [(a, b) for _, a, b in replace(tokens, low=1, high=1).ngrams(small)]
    firsts, lasts = {a: i for i, (a, _) in enumerate(units)}, {b: i for i, (_, b) in enumerate(units)}
    occurrences: dict[bytes, list[tuple[int, int]]] = {}
    for ngram, a, b in tokens.ngrams(small):
        occurrences.setdefault(ngram, []).append((firsts[a], lasts[b] + 1))
    weights: list[float | None] = [None] * len(units)
    evidence = []
    for (ngram, where), key in zip(occurrences.items(), tokens.hashes_of(list(occurrences)).tolist(), strict=True):
        if (weight := each.get(key)) is None:
            continue
        evidence.append(Evidence(ngram.decode(), len(where), weight * len(where)))
        for first, last in where:
            for i in range(first, last):
                weights[i] = (weights[i] or 0.0) + weight / (last - first)
    unknown = (small[a:b] for (a, b), weight in zip(units, weights, strict=True) if weight is None)
    return (
        sorted(evidence, key=lambda e: -abs(e.weight)),
        _spans(units, weights, places(text, small)),
        tuple(dict.fromkeys(unit for unit in unknown if not unit.isspace())),
    )


def _spans(units: Sequence[tuple[int, int]], weights: Sequence[float | None], where: Sequence[int]) -> tuple[Span, ...]:
    """Return the places of units that have a weight; those within one character of the original text are merged."""
    found: list[Span] = []
    for (a, b), weight in zip(units, weights, strict=True):
        if weight is None:
            continue
        start, end = where[a], where[b - 1] + 1
        if found and start < found[-1].end:
            start, weight = found[-1].start, found.pop().weight + weight
        found.append(Span(start, end, weight))
    return tuple(found)


def places(text: str, small: str) -> Sequence[int]:
    """Return for each character of a text in lower case the position of the character of the text it comes from.

    Examples
    --------
    The capital I with a dot becomes two characters, i and a dot above:

    >>> places("İzmir", "İzmir".lower())
    [0, 0, 1, 2, 3, 4]
    """
    if len(small) == len(text):
        return range(len(text))
    return [i for i, character in enumerate(text) for _ in character.lower()]
