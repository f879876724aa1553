"""Which words a model looks at: not the rarest, which say little, nor the commonest, which say it of every class."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from tunbridge._check import check_number, check_whole, shortened
from tunbridge.errors import DataError
from tunbridge.text.documents import Background
from tunbridge.text.tokens import Tokens
from tunbridge.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Selection:
    """Which words are used.

    Parameters
    ----------
    min_documents : float
        The fewest documents in which a word must be.
    min_count : float
        How often it must occur at least.
    stop_words : int or collection of str
        How many of the commonest words are left out, or which words.
    tokens : Tokens
        How documents are cut: by that words are known.
    """

    min_documents: float = 1
    min_count: float = 1
    stop_words: int | Collection[str] = 0
    tokens: Tokens = field(default_factory=Tokens)

    def __post_init__(self) -> None:
        check_number("min_documents", self.min_documents, low=0)
        check_number("min_count", self.min_count, low=0)
        if isinstance(self.stop_words, Integral):
            check_whole("stop_words", self.stop_words, low=0)
        elif isinstance(self.stop_words, str) or not isinstance(self.stop_words, (Collection, np.ndarray)):
            got = shortened(repr(self.stop_words))
            raise DataError(f"stop_words must be a number of words or a list of them; got {got}.")
        elif wrong := [word for word in self.stop_words if not isinstance(word, str)]:
            raise DataError(f"stop_words must be texts; got {shortened(repr(wrong[0]))} among them.")

    def words(self, vocabulary: Vocabulary, overall: Background) -> np.ndarray:
        """Return the numbers of the words that are used, in their order."""
        kept = overall.documents > 0  # others are in documents only that do not count
        for fewest, found in ((self.min_documents, overall.documents), (self.min_count, overall.occurrences)):
            if fewest > 1:  # a word that occurs is enough for 1, if only in a document that counts less
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
