"""What an occurrence of a word counts: as it is, damped, once a document, less in long documents, less if common.

Word counts in text are burstier than the multinomial thinks: who writes a word once writes it again. Rennie et al.
(2003) damp them, log(1 + n), take words that are in every document for less, and give long documents no more to say
than short ones. They weigh words before lengths are made equal; here it comes after, so that what a document counts
does not depend on documents that are still to come, and counts can be added up as they arrive.

References
----------
J. D. M. Rennie, L. Shih, J. Teevan, D. R. Karger (2003). Tackling the poor assumptions of naive Bayes text classifiers.
ICML, 616–623.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._check import check_choice, check_number
from tunbridge.errors import DataError
from tunbridge.text.tokens import TokenCounts

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
        As they are; divided so that they add up to a number in every document, which then has as much to say as one of
        so many words; or so that their squares add up to one.
    idf : bool
        Whether the values of a word are then multiplied with 1 + log (N + 1)/(n_w + 1), where n_w of N documents
        have it.
    late: bool
        Whether lengths are made equal after that, and of the known words only, as Rennie et al. do: for models that see
        all documents at once.
    """

    counts: str = "raw"
    length: float | str | None = None
    idf: bool = False
    late: bool = False

    def __post_init__(self) -> None:
        check_choice("counts", self.counts, COUNTS)
        if isinstance(self.length, str) and self.length != UNIT:
            raise DataError(f"length must be None, a number of words or 'unit'; got {self.length!r}.")
        if self.length is not None and not isinstance(self.length, str):
            check_number("length", self.length, above=0)

    def within(self, found: TokenCounts) -> np.ndarray:
        """Return the value of each word in each document before words are told apart, as it is counted."""
        values = self._damped(found)
        return values if self.late else self._scaled(values, found.starts)

    def of_known(self, found: TokenCounts, words: np.ndarray, factors: np.ndarray | None) -> np.ndarray:
        """Return the value of each word in each document, as it is scored.

        ``words`` are numbers among the words that are known, −1 for others, and ``factors`` what :meth:`factors` gives
        for these.
        """
        values = self.within(found)
        if factors is not None and len(factors):
            values = values * factors[words]
        if self.late:
            values = self._scaled(np.where(words >= 0, values, 0.0), found.starts)
        return values

    def _damped(self, found: TokenCounts) -> np.ndarray:
        if self.counts == "binary":
            return np.ones(len(found.counts))
        values = found.counts.astype(np.float64)
        return np.log1p(values) if self.counts == "log" else values

    def _scaled(self, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return values that make all documents equally long; documents without any stay without."""
        if self.length is None or not len(values):
            return values
        n_documents = len(starts) - 1
        rows = np.repeat(np.arange(n_documents), np.diff(starts))
        if self.length == UNIT:
            sizes = np.sqrt(np.bincount(rows, values * values, minlength=n_documents))
            return values / np.where(sizes > 0.0, sizes, 1.0)[rows]
        sizes = np.bincount(rows, values, minlength=n_documents)
        return values * (float(self.length) / np.where(sizes > 0.0, sizes, 1.0))[rows]

    def factors(self, documents: np.ndarray, n_documents: float) -> np.ndarray | None:
        """Return what the values of each word are multiplied with, n_w and N being given; None where with nothing."""
        return 1.0 + np.log((n_documents + 1.0) / (documents + 1.0)) if self.idf else None
