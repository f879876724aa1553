"""What averages over pairs of super-parents keep: the counts of all pairs and triples of features within each class.

They add up, so learning in batches is learning at once. As triples are many, their memory is forecast before any of it
is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import counted
from tunbridge._memory import check_memory, size_text
from tunbridge._threads import map_threads
from tunbridge.classifiers.averages.triple_counts import TripleCounts, forecast_triples, n_cells
from tunbridge.classifiers.dependence.pair_statistics import (
    PairStatistics,
    collect_pairs,
    pairs_content,
    pairs_statistics,
)
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import Coding
from tunbridge.counts import Counts
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.data import Variable

WAYS_OUT = "Use AODEClassifier, leave out columns with many states, or give wide columns fewer states."
_LOOKS = 10  # NumPy is quick enough for so many times the cells if each is counted once for every feature


@dataclass(frozen=True, eq=False)
class TripleStatistics:
    """Counts of all pairs and triples of features within the classes.

    Parameters
    ----------
    pairs : PairStatistics
        The classes, how features become codes, and the counts of pairs.
    triples : TripleCounts
        The counts of triples; their features are those of the coding, in order.
    """

    pairs: PairStatistics
    triples: TripleCounts

    @property
    def target(self) -> Variable:
        """The class variable."""
        return self.pairs.target

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""
        return self.pairs.class_weight

    @property
    def coding(self) -> Coding:
        """How features become codes."""
        return self.pairs.coding

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.pairs.variables

    def family(self, child: int, parent: int | None = None) -> Counts:
        """Return the counts of a feature given the class, and given one other feature if there is one."""
        return self.pairs.family(child, parent)

    def merge(self, other: TripleStatistics) -> TripleStatistics:
        """Return the statistics of the rows of both; classes and states may be new."""
        pairs = self.pairs.merge(other.pairs)
        check_triples(pairs.coding, pairs.target.n_states, merged=True)
        a, b = (s._over(pairs) for s in (self, other))
        return TripleStatistics(pairs, TripleCounts(a.n_states, a.n_classes, a.cells + b.cells))

    def _over(self, pairs: PairStatistics) -> TripleCounts:
        """Return the triples over classes and features with at least the states of ours."""
        old, new = self.coding.called_like(pairs.coding), pairs.coding.coded
        if self.target.states == pairs.target.states and all(
            v.states == w.states for v, w in zip(old, new, strict=True)
        ):
            return self.triples
        place = [_places(v, w) for v, w in zip(old, new, strict=True)]
        classes, out = _places(self.target, pairs.target), empty_triples(pairs, self.triples.cells.dtype)
        for f, g in out.start:
            after = [p + out.first[h] - out.first[g + 1] for h, p in enumerate(place) if h > g]
            if after:
                at = np.ix_(place[f], place[g], np.concatenate(after), classes)
                out.block(f, g)[at] = self.triples.block(f, g)
        return out


def collect_triples(
    batch: Batch,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    before: TripleStatistics | None,
    *,
    missing: str,
    n_jobs: int | None,
) -> TripleStatistics:
    """Return the statistics of a batch of rows; ``classes`` are codes of the target's states."""
    known = None if before is None else before.pairs
    pairs = collect_pairs(batch, classes, target, weights, known, missing=missing, n_jobs=n_jobs)
    check_triples(pairs.coding, target.n_states, n_jobs=n_jobs)
    triples = empty_triples(pairs, np.int64 if weights is None else np.float64)
    codes = np.ascontiguousarray(pairs.coding.codes(batch).T)
    given = np.ones(len(codes), np.int64) if weights is None else np.asarray(weights, np.float64)
    add = _add_triples if codes.size * len(triples.n_states) <= _LOOKS * SMALL_CELLS else _kernel()

    def fill(pair: tuple[int, int]) -> None:
        add(codes, classes, given, triples.first, *pair, target.n_states, triples.flat(*pair))

    map_threads(fill, triples.start, n_jobs)
    return TripleStatistics(pairs, triples)


def check_triples(coding: Coding, n_classes: int, *, n_jobs: int | None = None, merged: bool = False) -> None:
    """Raise when the triples of these features would not fit into memory."""
    forecast = forecast_triples([v.n_states for v in coding.coded], n_classes, n_jobs=n_jobs)
    widest = max(coding.coded, key=lambda v: v.n_states)
    n_states = counted(sum(v.n_states for v in coding.coded), "state")
    classes = "1 class" if n_classes == 1 else f"{n_classes} classes"
    check_memory(
        f"A2DE of {counted(len(coding.coded), 'feature')} with {n_states} ({widest.name!r} alone has "
        f"{widest.n_states}) for {classes} ({size_text(forecast.counts)} of counts, "
        f"{size_text(forecast.tables)} of tables)",
        forecast.total + (3 * forecast.counts if merged else 0),
        ways_out=WAYS_OUT,
    )


def empty_triples(pairs: PairStatistics, dtype: Any) -> TripleCounts:
    """Return counts of triples that are all zero."""
    n_states, n_classes = tuple(v.n_states for v in pairs.coding.coded), pairs.target.n_states
    return TripleCounts(n_states, n_classes, np.zeros(n_cells(n_states, n_classes), dtype))


def triples_content(statistics: TripleStatistics) -> dict[str, Any]:
    """Return the statistics as content of a native file."""
    return {**pairs_content(statistics.pairs), "triples": statistics.triples.cells}


def triples_statistics(content: Mapping[str, Any]) -> TripleStatistics:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    pairs, cells = pairs_statistics(content), content["triples"]
    n_states, n_classes = tuple(v.n_states for v in pairs.coding.coded), pairs.target.n_states
    if cells.shape != (n_cells(n_states, n_classes),):
        raise ValueError("its counts of triples do not belong to its features and classes")
    if cells.dtype.kind not in "iuf" or not (np.isfinite(cells).all() and (cells >= 0).all()):
        raise ValueError("its counts of triples are not counts")
    return TripleStatistics(pairs, TripleCounts(n_states, n_classes, cells))


def _places(old: Variable, new: Variable) -> np.ndarray:
    return np.array([new.code(s) for s in old.states or ()], np.intp)


def _kernel() -> Any:
    from tunbridge.kernels.triples import add_triples

    return add_triples


def _add_triples(
    codes: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    first: np.ndarray,
    f: int,
    g: int,
    n_classes: int,
    out: np.ndarray,
) -> None:
    """Do in NumPy what the kernel of this name does."""
    some = (codes[:, f] >= 0) & (codes[:, g] >= 0)
    others = codes[some, g + 1 :].astype(np.int64)
    n_states, width = first[g + 1] - first[g], first[-1] - first[g + 1]
    start = (codes[some, f].astype(np.int64) * n_states + codes[some, g]) * width
    cells = (start[:, None] + (first[g + 1 : -1] - first[g + 1]) + others) * n_classes + classes[some, None]
    seen = others >= 0
    given = np.broadcast_to(weights[some, None], seen.shape)[seen]
    np.add.at(out, cells[seen], given)
