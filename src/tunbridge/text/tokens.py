"""From raw text to counts: what a document is cut into, and how often each of its pieces occurs.

A document is cut into units, words or characters, and n-grams of neighbouring units are counted. A word is a run of
letters, digits and underscores of at least two characters, in small letters: what scikit-learn's ``CountVectorizer``
takes by default, so that results can be compared token by token. With ``n_buckets`` n-grams are not numbered in the
order in which they are met but by a hash, so that any number of different ones takes the same memory; some then share a
bucket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import check_choice, check_whole
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads
from tunbridge.errors import DataError
from tunbridge.kernels import compiled
from tunbridge.text.plain import PATTERNS, WORDS, hash_of, is_worth_a_kernel, spans_of_units
from tunbridge.text.vocabulary import Vocabulary, locked, numbered, united

UNITS = (*PATTERNS, "characters")
_PIECE_BYTES = 1 << 21
_WORD_BYTES, _CHARACTER_BYTES = (4.0, 10.0), (4.0, 20.0)
"""What counting takes for a byte of natural language, measured: n-grams of one unit, and of each greater length."""
_WITH_GAPS = ("words", "letters")  # a unit is followed by something else, or ends the document
_MOST_CHARACTERS = 0x110000
_MOST = 1 << 30  # units of an n-gram, characters of a word, buckets
_MOST_BYTES = 1 << 30  # of one document: places in what is made of it take 32 bits


@dataclass(frozen=True, eq=False)
class TokenCounts:
    """What documents hold: d has word ``words[i]`` ``counts[i]`` times, for ``starts[d]`` ≤ i < ``starts[d + 1]``."""

    vocabulary: Vocabulary
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Tokens:
    """How documents are cut.

    Parameters
    ----------
    units : {"words", "letters", "words and marks", "characters"}
        What n-grams are made of: runs of letters, digits and underscores; runs of letters only; the former, and every
        other character that is no white space by itself; or characters, a run of white space counting as one.
    low, high : int
        The n-grams: from ``low`` to ``high`` neighbouring units.
    lower_case : bool
        Whether capital letters count as small ones.
    shortest : int
        The fewest characters of a word (a mark is kept).
    n_buckets : int
        The number of hash buckets; 0 keeps every word by itself.

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
        check_whole("ngrams", self.low, low=1)
        check_whole("ngrams", self.high, low=1)
        check_whole("shortest", self.shortest, low=1)
        check_whole("n_buckets", self.n_buckets, low=0)
        if self.high < self.low:
            raise DataError(f"ngrams must be (fewest, most) units; got ({self.low}, {self.high}).")
        for what, value in (("ngrams", self.high), ("shortest", self.shortest), ("n_buckets", self.n_buckets)):
            if value > _MOST:
                raise DataError(f"{what} must be at most 2³⁰; got {value}.")

    def count(self, texts: pa.Array, n_jobs: int | None = None) -> TokenCounts:
        """Return what documents hold; those that are missing hold nothing."""
        from tunbridge.kernels.tokens import split_characters, split_words

        n_bytes, split = _n_bytes(texts), split_characters if self.units == "characters" else split_words
        self._check_memory(texts, n_bytes)
        texts = self.lowered(texts)
        if not len(texts) or not is_worth_a_kernel(split, n_bytes):
            return self._joined([self._plain(texts.to_pylist())])
        compiled.announce(split, "what reads text")
        pieces = list(_pieces(texts))
        return self._joined(map_threads(self._counted, pieces, n_jobs))

    def _check_memory(self, texts: pa.Array, n_bytes: int) -> None:
        """Raise when counting would take too much; a document has no n-grams of more units than it has."""
        if n_bytes <= _PIECE_BYTES:
            return
        sizes = _lengths(texts).astype(np.float64)
        units = (sizes + 1.0) // 2.0 if self.units in _WITH_GAPS else sizes
        one, more = _CHARACTER_BYTES if self.units == "characters" else _WORD_BYTES
        longer = np.maximum(np.minimum(units, self.high) - max(self.low, 2) + 1.0, 0.0)
        check_memory(
            f"the {self.units} of {len(texts)} documents",
            float(sizes @ ((one if self.low == 1 else 0.0) + more * longer)),
            ways_out="Give the documents in batches: fit takes an iterator of them, partial_fit further ones.",
        )

    def lowered(self, texts: pa.Array) -> pa.Array:
        """Return texts in which no kernel has to know of capitals beyond ASCII."""
        if not self.lower_case:
            return texts
        foreign = pc.invert(pc.fill_null(pc.string_is_ascii(texts), True))
        if not pc.any(foreign).as_py():
            return texts
        small = [text.lower() for text in texts.filter(foreign).to_pylist()]
        return pc.replace_with_mask(texts, foreign, pa.array(small, texts.type))

    def ngrams(self, text: str) -> Iterator[tuple[bytes, int, int]]:
        """Yield the n-grams of a text and from where to where they stand in it, as Python sees them."""
        spans = spans_of_units(text, self.units, self.shortest)
        units = [re.sub(r"\s+", " ", text[a:b]) for a, b in spans]
        glue = "" if self.units == "characters" else " "
        for size in range(self.low, min(self.high, len(units)) + 1):
            for i in range(len(units) - size + 1):
                yield glue.join(units[i : i + size]).encode(), spans[i][0], spans[i + size - 1][1]

    def hashes_of(self, ngrams: list[bytes]) -> np.ndarray:
        """Return what n-grams are known by."""
        found = np.array([hash_of(ngram) for ngram in ngrams], np.uint64)
        return found % np.uint64(self.n_buckets) if self.n_buckets else found

    def _plain(self, texts: list[str | None]) -> _Piece:
        """Return what a few documents hold, without kernels."""
        if self.lower_case:
            texts = [None if text is None else text.lower() for text in texts]
        found = [[ngram for ngram, _, _ in self.ngrams(text or "")] for text in texts]
        flat = [ngram for each in found for ngram in each]
        ends = np.cumsum([len(ngram) for ngram in flat], dtype=np.int64)
        bounds = np.stack([ends - [len(ngram) for ngram in flat], ends], axis=1).astype(np.int64).reshape(-1, 2)
        buffer = np.frombuffer(b"".join(flat), np.uint8)
        sizes = np.cumsum([0, *(len(each) for each in found)], dtype=np.int64)
        return self._numbered(buffer, bounds, np.array([hash_of(n) for n in flat], np.uint64), sizes)

    def _counted(self, texts: pa.Array) -> _Piece:
        """Return what some documents hold."""
        from tunbridge.kernels.tokens import hash_ngrams, split_characters, split_words

        data, offsets = _buffers(texts)
        n_bytes, by_words = int(offsets[-1] - offsets[0]), self.units != "characters"
        has_gaps = self.units in _WITH_GAPS
        most = (n_bytes // 2 if has_gaps else n_bytes) + len(texts)
        buffer = np.empty((n_bytes if has_gaps or not by_words else 2 * n_bytes) + len(texts), np.uint8)
        ends, starts = np.empty(most, np.int32), np.zeros(len(texts) + 1, np.int64)
        kinds = _character_kinds(self.units)
        if by_words:
            split_words(data, offsets, kinds, self.lower_case, int(self.shortest), buffer, ends, starts)
        else:
            split_characters(data, offsets, kinds, self.lower_case, buffer, ends, starts)
        units = np.diff(starts)
        n = int(_n_ngrams(units, self.low, self.high).sum())
        hashes, bounds = np.empty(n, np.uint64), np.empty((n, 2), np.int32)
        sizes = np.zeros(len(texts) + 1, np.int64)
        hash_ngrams(buffer, ends, starts, int(by_words), int(self.low), int(self.high), hashes, bounds, sizes)
        return self._numbered(buffer, bounds, hashes, sizes)

    def _numbered(self, buffer: np.ndarray, bounds: np.ndarray, hashes: np.ndarray, sizes: np.ndarray) -> _Piece:
        if self.n_buckets:
            hashes = hashes % np.uint64(self.n_buckets)
        firsts, numbers = numbered(hashes)
        where = np.empty((0, 2), np.int64) if self.n_buckets else bounds[firsts].astype(np.int64)
        starts, words, counts = _counts(numbers, sizes, len(firsts))
        return _Piece(hashes[firsts], buffer, where, starts, words, counts)

    def _joined(self, pieces: list[_Piece]) -> TokenCounts:
        """Return what all pieces hold together, words numbered in the order in which they are met."""
        vocabulary, numbers = united([piece.vocabulary() for piece in pieces])
        lengths = [np.diff(piece.starts) for piece in pieces]
        words = [numbers[k][piece.words] for k, piece in enumerate(pieces)]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
        return TokenCounts(vocabulary, starts, np.concatenate(words), np.concatenate([p.counts for p in pieces]))


@dataclass(frozen=True, eq=False)
class _Piece:
    """What some of the documents hold, words by numbers of their own."""

    hashes: np.ndarray
    buffer: np.ndarray
    bounds: np.ndarray
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray

    def vocabulary(self) -> Vocabulary:
        """Return its words."""
        if not len(self.bounds):
            return Vocabulary(self.hashes, np.empty(0, np.uint8), np.empty(0, np.int64))
        return Vocabulary.of_slices(self.hashes, self.buffer, self.bounds)


def _counts(numbers: np.ndarray, sizes: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how often numbers occur in each document: where documents start, numbers, counts."""
    from tunbridge.kernels.tokens import count_numbers

    n_documents = len(sizes) - 1
    if not is_worth_a_kernel(count_numbers, len(numbers)):
        documents = np.repeat(np.arange(n_documents), np.diff(sizes))
        _, firsts, counts = np.unique(documents * max(1, n_words) + numbers, return_index=True, return_counts=True)
        order = np.argsort(firsts)
        starts = np.searchsorted(documents[firsts[order]], np.arange(n_documents + 1))
        return starts, numbers[firsts[order]].astype(np.int32), counts[order].astype(np.int32)
    words, counts = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    starts = np.zeros(n_documents + 1, np.int64)
    count_numbers(numbers, sizes, np.full(n_words, -1, np.int64), words, counts, starts)
    return starts, words[: starts[-1]].copy(), counts[: starts[-1]].copy()


def _n_ngrams(units: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return how many n-grams of ``low`` to ``high`` units there are, whatever their length, in so many units.

    Examples
    --------
    >>> _n_ngrams(np.array([0, 1, 2, 5]), 2, 3)
    array([0, 0, 1, 7])
    """
    sizes = np.maximum(np.minimum(units, high) - low + 1, 0)
    return sizes * (units - low + 1) - sizes * (sizes - 1) // 2


def _lengths(texts: pa.Array) -> np.ndarray:
    """Return the bytes of each text; none where it is missing."""
    return pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)


def _n_bytes(texts: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(texts)).as_py() or 0)


def _buffers(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of texts and where each begins and ends."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    found = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return locked(found), locked(bounds)


def _pieces(texts: pa.Array) -> Iterator[pa.Array]:
    """Yield runs of documents of about equal size; longer ones stand alone."""
    lengths = _lengths(texts)
    longest = int(lengths.argmax())
    if lengths[longest] > _MOST_BYTES:
        raise DataError(f"a document must be at most 1 GiB long; document {longest + 1} is longer. Cut it into parts.")
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(texts):
        before = ends[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, before + _PIECE_BYTES, side="right")))
        yield texts.slice(begin, stop - begin)
        begin = stop


@lru_cache(maxsize=len(UNITS))
def _character_kinds(units: str) -> np.ndarray:
    """Return by code point what a character is: 1 part of a word, 2 white space, 3 a mark, 0 anything else."""
    every = np.arange(_MOST_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", errors="surrogatepass")
    kinds = np.full(_MOST_CHARACTERS, 3 if units == "words and marks" else 0, np.uint8)
    for kind, pattern in ((1, WORDS.get(units, r"\w+")), (2, r"\s+")):
        for found in re.finditer(pattern, every):
            kinds[found.start() : found.end()] = kind
    return kinds
