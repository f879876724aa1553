"""Which words are used, and what their counts become: raw, damped, binary, scaled by length, less if common.

Word counts in text are burstier than the multinomial model assumes: a word that occurs once tends to occur again.
Rennie et al. (2003) damp them, log(1 + n), give less weight to words that are in many documents, and give long
documents the same total as short ones. They weigh words before they normalise lengths; here it comes after, so that the
values of a document do not depend on later documents, and counts can be added up as they arrive.

Rare words say little, and the most common ones say the same about every class: both may be left out. This follows from
counts as well, and so from all documents so far. It is our own code rather than scikit-learn's ``TfidfTransformer`` and
``CountVectorizer(min_df=…)`` because those need all documents at once.

References
----------
J. D. M. Rennie, L. Shih, J. Teevan, D. R. Karger (2003). Tackling the poor assumptions of naive Bayes text classifiers.
ICML, 616–623.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number, shortened
from tunbridge.errors import DataError
from tunbridge.text.documents import Background, Documents, Vocabulary
from tunbridge.text.tokens import Tokens

COUNTS = ("raw", "log", "binary")
UNIT = "unit"


@dataclass(frozen=True)
class Weighting:
    """What counts become.

    Parameters
    ----------
    counts : {"raw", "log", "binary"}
        n, log(1 + n), or 1 for every word that occurs.
    length : None, float or "unit"
        Unchanged; scaled so that they add up to a number in every document, which then counts as much as one of that
        many words; or so that their squares add up to one.
    idf : bool
        Whether the values of a word are then multiplied by 1 + log (N + 1)/(n_w + 1), where n_w of N documents have
        it.
    late: bool
        Whether lengths are normalised after that, and of the known words only, as Rennie et al. do: for models that see
        all documents at once.
    """

    counts: str = "raw"
    length: int | float | str | None = None
    idf: bool = False
    late: bool = False

    def __post_init__(self) -> None:
        check_choice("counts", self.counts, COUNTS)
        if isinstance(self.length, str) and self.length != UNIT:
            raise DataError(
                f"length must be None, a number of words or 'unit'; got {self.length!r}.", parameter="length"
            )
        if self.length is not None and not isinstance(self.length, str):
            check_number("length", self.length, above=0)

    def within(self, found: Documents) -> np.ndarray:
        """Return the value of each word in each document as it is counted, before idf."""
        values = found.counts.astype(np.float64)
        if self.counts != "raw":
            values = np.log1p(values) if self.counts == "log" else np.ones_like(values)
        return values if self.late else self._scaled(values, found)

    def of_known(self, found: Documents, words: np.ndarray, factors: np.ndarray | None) -> np.ndarray:
        """Return the value of each word in each document, as it is scored.

        ``words`` are the numbers of known words, −1 for others, and ``factors`` are those of :meth:`factors` for these.
        """
        values = self.within(found)
        if factors is not None and len(factors):
            values = values * factors[words]
        if self.late:
            values = self._scaled(np.where(words >= 0, values, 0.0), found)
        return values

    def _scaled(self, values: np.ndarray, found: Documents) -> np.ndarray:
        """Return values that make all documents equally long; empty documents stay empty."""
        if self.length is None or not len(values):
            return values
        rows, powers = found.spread(np.arange(found.n_rows)), values * values if self.length == UNIT else values
        sizes = np.bincount(rows, powers, minlength=found.n_rows)
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        if self.length == UNIT:
            return values / np.sqrt(sizes)[rows]
        return values * (float(self.length) / sizes)[rows]

    def factors(self, documents: np.ndarray, n_documents: float) -> np.ndarray | None:
        """Return the idf factor of each word, given n_w and N; None without idf."""
        return 1.0 + np.log((n_documents + 1.0) / (documents + 1.0)) if self.idf else None


@dataclass(frozen=True)
class Selection:
    """Which words are used.

    Parameters
    ----------
    min_documents : float
        The minimum number of documents that contain a word.
    min_count : float
        The minimum number of occurrences.
    stop_words : int or collection of str
        How many of the most common words are left out, or which words.
    tokens : Tokens
        How documents are split.
    """

    min_documents: float = 1
    min_count: float = 1
    stop_words: int | Collection[str] = 0
    tokens: Tokens = field(default_factory=Tokens)

    def __post_init__(self) -> None:
        check_number("min_documents", self.min_documents, low=0)
        check_number("min_count", self.min_count, low=0)
        if isinstance(self.stop_words, Integral):
            check_integer("stop_words", self.stop_words, low=0)
        elif isinstance(self.stop_words, str) or not isinstance(self.stop_words, (Collection, np.ndarray)):
            got = shortened(repr(self.stop_words))
            rule = f"stop_words must be a number of words or a list of them; got {got}."
            raise DataError(rule, parameter="stop_words")
        elif wrong := [word for word in self.stop_words if not isinstance(word, str)]:
            got = shortened(repr(wrong[0]))
            raise DataError(f"stop_words must be texts; got {got} among them.", parameter="stop_words")

    def words(self, vocabulary: Vocabulary, overall: Background) -> np.ndarray:
        """Return the numbers of the words that are used, in their order."""
        kept = overall.documents > 0  # others are only in documents of weight zero
        for fewest, found in ((self.min_documents, overall.documents), (self.min_count, overall.occurrences)):
            if fewest > 1:  # for 1 it is enough to occur, also in a document of weight below 1
                kept &= found >= fewest
        kept[self._stopped(vocabulary, overall.occurrences)] = False
        return np.flatnonzero(kept)

    def _stopped(self, vocabulary: Vocabulary, occurrences: np.ndarray) -> np.ndarray:
        if isinstance(self.stop_words, int | np.integer):
            most = int(self.stop_words)
            return np.lexsort((vocabulary.hashes, -occurrences))[:most] if most else np.empty(0, np.int64)
        words = [word.lower() if self.tokens.lower_case else word for word in self.stop_words]
        found = vocabulary.find(self.tokens.hashes_of([word.encode(errors="replace") for word in words]))
        return found[found >= 0]
