"""From raw text to counts: a document is split into tokens, and these are counted.

A document is split into units, words or characters, and n-grams of neighbouring units are counted. A word is a run of
letters, digits and underscores of at least two characters, in lower case: the default of scikit-learn's
``CountVectorizer``, so that results can be compared token by token. The kernels find and count the words of raw strings
several times as fast (benchmarks/RESULTS.md: 10.8 times with the model behind them), which is why there is a tokeniser
here at all. With ``n_buckets`` n-grams are not numbered by their first appearance but by a hash, so that any number of
different ones takes the same memory; some then share a bucket.

Few short documents are split by regular expressions, because compiling the kernels takes seconds; the results are the
same, hash for hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads
from tunbridge.errors import DataError
from tunbridge.kernels import compiled
from tunbridge.kernels.text import tokens as kernels
from tunbridge.text.documents import Documents, Vocabulary, hash_of, locked, numbered, united

_WORDS = {"words": r"\w+", "letters": r"[^\W\d_]+", "words and marks": r"\w+"}
_PATTERNS = {**_WORDS, "words and marks": r"\w+|[^\w\s]", "characters": r"\s+|\S"}
UNITS = tuple(_PATTERNS)
_PIECE_BYTES = 1 << 21
_WORD_BYTES, _CHARACTER_BYTES = (4.0, 10.0), (4.0, 20.0)
"""Memory for counting a byte of natural language, measured: n-grams of one unit, and of each greater length."""
_WITH_GAPS = ("words", "letters")  # a unit is followed by something else, or ends the document
_MOST_CHARACTERS = 0x110000
_MOST = 1 << 30  # units of an n-gram, characters of a word, buckets
_MOST_BYTES = 1 << 30  # of one document: its bounds are integers of 32 bits


@dataclass(frozen=True)
class Tokens:
    """How documents are split.

    Parameters
    ----------
    units : {"words", "letters", "words and marks", "characters"}
        The units of n-grams: runs of letters, digits and underscores; runs of letters; the former, and every other
        character except white space; or characters, a run of white space counting as one.
    low, high : int
        N-grams have ``low`` to ``high`` neighbouring units.
    lower_case : bool
        Whether to convert text to lower case.
    shortest : int
        The smallest number of characters of a word (marks are kept).
    n_buckets : int
        The number of hash buckets; 0 keeps all words.

    Examples
    --------
    >>> found = Tokens().count(pa.array(["Ham and eggs.", "Ham!"], pa.large_string()))
    >>> found.vocabulary.names(), found.words.tolist(), found.starts.tolist()
    (['ham', 'and', 'eggs'], [0, 1, 2, 0], [0, 3, 4])
    """

    units: str = "words"
    low: int = 1
    high: int = 1
    lower_case: bool = True
    shortest: int = 2
    n_buckets: int = 0

    def __post_init__(self) -> None:
        check_choice("tokens", self.units, UNITS)
        check_integer("ngrams", self.low, low=1)
        check_integer("ngrams", self.high, low=1)
        check_integer("shortest", self.shortest, low=1)
        check_integer("n_buckets", self.n_buckets, low=0)
        if self.high < self.low:
            raise DataError(f"ngrams must be (fewest, most) units; got ({self.low}, {self.high}).", parameter="ngrams")
        for what, value in (("ngrams", self.high), ("shortest", self.shortest), ("n_buckets", self.n_buckets)):
            if value > _MOST:
                raise DataError(f"{what} must be at most 2³⁰; got {value}.", parameter=what)

    def count(self, texts: pa.Array, n_jobs: int | None = None) -> Documents:
        """Return the documents of some texts; missing ones are empty."""
        lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
        n_bytes, split = int(lengths.sum()), self._split
        self._check_memory(lengths)
        small = self._lowered(texts)
        if not len(texts) or not compiled.is_worth(split, n_bytes):
            pieces = [self._plain(small.to_pylist())]
        else:
            compiled.announce(split, "the tokeniser", 1)
            pieces = map_threads(self._counted, list(_pieces(small)), n_jobs)
        return self._joined(pieces, texts)

    @property
    def _split(self) -> Any:
        """The kernel that splits documents."""
        return kernels.split_characters if self.units == "characters" else kernels.split_words

    def _check_memory(self, lengths: np.ndarray) -> None:
        """Raise if counting would take too much memory; a document has no n-grams of more units than it has."""
        sizes = lengths.astype(np.float64)
        if sizes.sum() <= _PIECE_BYTES:
            return
        units = (sizes + 1.0) // 2.0 if self.units in _WITH_GAPS else sizes
        one, more = _CHARACTER_BYTES if self.units == "characters" else _WORD_BYTES
        longer = np.maximum(np.minimum(units, self.high) - max(self.low, 2) + 1.0, 0.0)
        check_memory(
            f"the {self.units} of {len(sizes)} documents",
            float(sizes @ ((one if self.low == 1 else 0.0) + more * longer)),
            ways_out="Pass the documents in batches: to fit as an iterator, or to partial_fit.",
        )

    def _lowered(self, texts: pa.Array) -> pa.Array:
        """Return texts with capitals beyond ASCII in lower case; kernels do the others."""
        if not self.lower_case:
            return texts
        foreign = pc.invert(pc.fill_null(pc.string_is_ascii(texts), True))
        if not pc.any(foreign).as_py():
            return texts
        small = [text.lower() for text in texts.filter(foreign).to_pylist()]
        return pc.replace_with_mask(texts, foreign, pa.array(small, texts.type))

    def ngrams(self, text: str) -> Iterator[tuple[bytes, int, int]]:
        """Yield the n-grams of a text with their start and end in it."""
        spans = self._spans(text)
        units = [re.sub(r"\s+", " ", text[a:b]) for a, b in spans]
        glue = "" if self.units == "characters" else " "
        for size in range(self.low, min(self.high, len(units)) + 1):
            for i in range(len(units) - size + 1):
                yield glue.join(units[i : i + size]).encode(), spans[i][0], spans[i + size - 1][1]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each unit of a text."""
        found = list(re.finditer(_PATTERNS[self.units], text))
        if (word := _WORDS.get(self.units)) is not None:
            found = [m for m in found if m.end() - m.start() >= self.shortest or not re.match(word, m.group())]
        return [m.span() for m in found]

    def hashes_of(self, ngrams: list[bytes]) -> np.ndarray:
        """Return the hashes of n-grams, or their buckets."""
        found = np.array([hash_of(ngram) for ngram in ngrams], np.uint64)
        return found % np.uint64(self.n_buckets) if self.n_buckets else found

    def _plain(self, texts: list[str | None]) -> Documents:
        """Return the counts of a few documents, without kernels."""
        if self.lower_case:
            texts = [None if text is None else text.lower() for text in texts]
        found = [[ngram for ngram, _, _ in self.ngrams(text or "")] for text in texts]
        flat = [ngram for each in found for ngram in each]
        ends = np.cumsum([len(ngram) for ngram in flat], dtype=np.int64)
        bounds = np.stack([ends - [len(ngram) for ngram in flat], ends], axis=1).astype(np.int64).reshape(-1, 2)
        buffer = np.frombuffer(b"".join(flat), np.uint8)
        sizes = np.cumsum([0, *(len(each) for each in found)], dtype=np.int64)
        return self._numbered(buffer, bounds, np.array([hash_of(n) for n in flat], np.uint64), sizes)

    def _counted(self, texts: pa.Array) -> Documents:
        """Return the counts of some documents."""
        data, offsets = _buffers(texts)
        n_bytes, by_words = int(offsets[-1] - offsets[0]), self.units != "characters"
        has_gaps = self.units in _WITH_GAPS
        most = (n_bytes // 2 if has_gaps else n_bytes) + len(texts)
        buffer = np.empty((n_bytes if has_gaps or not by_words else 2 * n_bytes) + len(texts), np.uint8)
        ends, starts = np.empty(most, np.int32), np.zeros(len(texts) + 1, np.int64)
        kinds = _character_kinds(self.units)
        if by_words:
            kernels.split_words(data, offsets, kinds, self.lower_case, int(self.shortest), buffer, ends, starts)
        else:
            kernels.split_characters(data, offsets, kinds, self.lower_case, buffer, ends, starts)
        units = np.diff(starts)
        n = int(_n_ngrams(units, self.low, self.high).sum())
        hashes, bounds = np.empty(n, np.uint64), np.empty((n, 2), np.int32)
        sizes = np.zeros(len(texts) + 1, np.int64)
        low, high = int(self.low), int(self.high)
        kernels.hash_ngrams(buffer, ends, starts, int(by_words), low, high, hashes, bounds, sizes)
        return self._numbered(buffer, bounds, hashes, sizes)

    def _numbered(self, buffer: np.ndarray, bounds: np.ndarray, hashes: np.ndarray, sizes: np.ndarray) -> Documents:
        if self.n_buckets:
            hashes = hashes % np.uint64(self.n_buckets)
        firsts, numbers = numbered(hashes)
        if self.n_buckets or not len(firsts):
            vocabulary = Vocabulary(hashes[firsts], np.empty(0, np.uint8), np.empty(0, np.int64))
        else:
            vocabulary = Vocabulary.of_slices(hashes[firsts], buffer, bounds[firsts].astype(np.int64))
        words, counts = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
        starts, places = np.zeros(len(sizes), np.int64), np.full(len(firsts), -1, np.int64)
        compiled.ready(kernels.count_numbers, len(numbers))(numbers, sizes, places, words, counts, starts)
        return Documents(vocabulary, starts, words[: starts[-1]].copy(), counts[: starts[-1]].copy())

    def _joined(self, pieces: list[Documents], texts: pa.Array) -> Documents:
        """Return the documents of all pieces, words numbered in the order of their first appearance."""
        vocabulary, numbers = united([piece.vocabulary for piece in pieces])
        lengths = [np.diff(piece.starts) for piece in pieces]
        words = [numbers[k][piece.words] for k, piece in enumerate(pieces)]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
        return Documents(vocabulary, starts, np.concatenate(words), np.concatenate([p.counts for p in pieces]), texts)


def _n_ngrams(units: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the number of n-grams of ``low`` to ``high`` units in documents of so many units.

    Examples
    --------
    >>> _n_ngrams(np.array([0, 1, 2, 5]), 2, 3)
    array([0, 0, 1, 7])
    """
    sizes = np.maximum(np.minimum(units, high) - low + 1, 0)
    return sizes * (units - low + 1) - sizes * (sizes - 1) // 2


def _buffers(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of texts and where each begins and ends."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    found = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return locked(found), locked(bounds)


def _pieces(texts: pa.Array) -> Iterator[pa.Array]:
    """Yield runs of documents of about equal size; longer ones are alone."""
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    longest = int(lengths.argmax())
    if lengths[longest] > _MOST_BYTES:
        raise DataError(f"a document must be at most 1 GiB long; document {longest + 1} is longer. Split it.")
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(texts):
        before = ends[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, before + _PIECE_BYTES, side="right")))
        yield texts.slice(begin, stop - begin)
        begin = stop


@lru_cache(maxsize=len(UNITS))
def _character_kinds(units: str) -> np.ndarray:
    """Return the kind of each code point: 1 part of a word, 2 white space, 3 a mark, 0 anything else."""
    every = np.arange(_MOST_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", errors="surrogatepass")
    kinds = np.full(_MOST_CHARACTERS, 3 if units == "words and marks" else 0, np.uint8)
    for kind, pattern in ((1, _WORDS.get(units, r"\w+")), (2, r"\s+")):
        for found in re.finditer(pattern, every):
            kinds[found.start() : found.end()] = kind
    return kinds
