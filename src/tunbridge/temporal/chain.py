"""Hidden Markov chains as arrays: likelihoods, posteriors, expected counts, best paths and sampled paths.

A :class:`Chain` has the weights of its first state and of its transitions, :class:`Frames` what was observed: a table
of the log-likelihoods of the distinct observations, and which of them each step has. So expected counts by distinct
observation are all that any emission needs to be estimated. Everything exact about discrete hidden states is computed
here: hidden Markov models, gaps in time (powers of the matrix), durations (many states, few transitions) and dynamic
networks (one matrix for each distinct evidence of a slice).

Short sequences are computed many at a time. A long one is cut into spans; α and β of a span are computed side by side,
then its blocks. Only α and β between spans are kept of a sequence of any length. All divisions depend on sizes alone,
so that results do not depend on the number of threads.

References
----------
L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech recognition. Proceedings of
the IEEE 77, 257–286.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.kernels.compiled import ready
from tunbridge.kernels.temporal import chains as kernels

_PIECE = 2**14  # steps of short sequences that are computed together
_LONG = 2**13  # steps from which a sequence is computed in blocks
_BLOCK = 2**12  # steps of a block
_SPAN = 2**24  # numbers of α that are kept at a time
_SMALL_ROWS = 2**16  # numbers in the table of distinct observations up to which each thread has its own sums
_SPARSE_STATES, _SPARSE_SHARE = 24, 0.2  # from how many states, and up to which share of transitions they are listed
_FLOOR, _TINY = 1e-300, 1e-100  # of α in a second pass; transitions below are as good as impossible
_SAME = 1e-10  # by which α of both passes may differ
_NOTHING = np.empty(0)
_NO_STEPS = np.empty(0, np.int64)


class Arcs(NamedTuple):
    """Possible transitions: ``ends[begins[i]:begins[i + 1]]`` follow state i; ``incoming`` sorts them by their end."""

    begins: np.ndarray
    ends: np.ndarray
    in_begins: np.ndarray
    sources: np.ndarray
    incoming: np.ndarray


class Chain(NamedTuple):
    """A Markov chain of hidden states, as weights that need not sum to one.

    Attributes
    ----------
    start : ndarray of shape (n_states,)
        The weight of each first state.
    matrices : ndarray of shape (n_matrices, n_states, n_states), or (n_matrices, n_transitions) with ``arcs``
        The weights of transitions: from state i to state j by matrix g, or of each transition that is listed.
    arcs : Arcs, optional
        The transitions, if few are possible.
    """

    start: np.ndarray
    matrices: np.ndarray
    arcs: Arcs | None = None


class Frames(NamedTuple):
    """What was observed.

    Attributes
    ----------
    logs : ndarray of shape (n_distinct, n_states)
        The log-likelihood of each distinct observation in each state.
    rows : ndarray of int64
        Which of them each step has.
    offsets : ndarray of int64
        The steps of sequence s are ``offsets[s]:offsets[s + 1]``.
    steps : ndarray of int64, optional
        Which matrix leads to each step; default: the first. First steps ignore it.
    """

    logs: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    steps: np.ndarray | None = None

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return len(self.offsets) - 1


class Expectations(NamedTuple):
    """Expected counts, weighted by sequence.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_sequences,)
        ln P(x) of each sequence.
    starts : ndarray of shape (n_states,)
        Of first states.
    pairs : ndarray of the shape of the matrices
        Of transitions, by matrix.
    by_row : ndarray of shape (n_distinct, n_states)
        Of states at the steps that have each distinct observation.
    """

    log_likelihood: np.ndarray
    starts: np.ndarray
    pairs: np.ndarray
    by_row: np.ndarray


# Transitions


def arcs_of(allowed: Any) -> Arcs:
    """Return the list of the transitions that a matrix of booleans allows."""
    sources, ends = np.nonzero(allowed)
    return listed_arcs(sources, ends, len(allowed))


def listed_arcs(sources: np.ndarray, ends: np.ndarray, n_states: int) -> Arcs:
    """Return transitions from ``sources``, which ascend, to ``ends``."""
    incoming = np.argsort(ends, kind="stable")
    places = np.arange(n_states + 1)
    begins, in_begins = np.searchsorted(sources, places), np.searchsorted(ends[incoming], places)
    return Arcs(*(np.ascontiguousarray(a, np.int64) for a in (begins, ends, in_begins, sources[incoming], incoming)))


def with_few_arcs(chain: Chain) -> Chain:
    """Return a chain with its transitions listed, if few of many are possible."""
    if chain.arcs is not None or len(chain.start) < _SPARSE_STATES:
        return chain
    allowed = (chain.matrices > 0.0).any(axis=0)
    if allowed.mean() > _SPARSE_SHARE:
        return chain
    return Chain(chain.start, np.ascontiguousarray(chain.matrices[:, allowed]), arcs_of(allowed))


def dense_pairs(pairs: np.ndarray, arcs: Arcs | None) -> np.ndarray:
    """Return numbers by transition as square matrices."""
    if arcs is None:
        return pairs
    n = len(arcs.begins) - 1
    dense = np.zeros((len(pairs), n, n))
    dense[:, np.repeat(np.arange(n), np.diff(arcs.begins)), arcs.ends] = pairs
    return dense


def stepped(chain: Chain, weights: np.ndarray, matrix: int = 0) -> np.ndarray:
    """Return the weights of states one step later."""
    if chain.arcs is None:
        return np.asarray(weights @ chain.matrices[matrix])
    begins, ends = chain.arcs.begins, chain.arcs.ends
    moved = np.repeat(weights, np.diff(begins)) * chain.matrices[matrix]
    return np.bincount(ends, moved, len(begins) - 1)


class Pool:
    """Large arrays that are used again and again: fresh memory takes longer than a pass of a kernel."""

    def __init__(self) -> None:
        self._lock, self._free, self._used = Lock(), list[np.ndarray](), dict[int, np.ndarray]()

    def take(self, *shape: int) -> np.ndarray:
        """Return an array with any content."""
        with self._lock:
            place = next((i for i, array in enumerate(self._free) if array.shape == shape), None)
            array = np.empty(shape) if place is None else self._free.pop(place)
            self._used[id(array)] = array
            return array

    def give(self, *arrays: np.ndarray) -> None:
        """Take back arrays that are no longer used; others than those of the pool are left alone."""
        with self._lock:
            self._free += [self._used.pop(id(array)) for array in arrays if id(array) in self._used]


class _Ready(NamedTuple):
    """A chain and frames as the kernels take them."""

    chain: Chain
    frames: Frames
    shares: np.ndarray  # likelihoods, the largest of a row 1
    largest: np.ndarray  # the logarithm of what rows were divided by
    steps: np.ndarray
    work: int  # operations of a pass, which decide whether to compile
    transposed: np.ndarray
    pool: Pool

    @property
    def has_zeros(self) -> bool:
        """Whether some transitions are impossible (or nearly)."""
        return self.chain.arcs is not None or bool((self.chain.matrices < _TINY).any())

    @property
    def raised(self) -> np.ndarray:
        """Likelihoods that are 0 only where they are impossible, not by underflow."""
        return np.where((self.shares < _FLOOR) & (self.frames.logs > -np.inf), _FLOOR, self.shares)

    @property
    def arcs(self) -> Arcs:
        """The transitions as a list, for the kernels that need one."""
        arcs = self.chain.arcs
        return arcs_of(np.ones((len(self.chain.start),) * 2, bool)) if arcs is None else arcs

    @property
    def values(self) -> np.ndarray:
        """The weights of the listed transitions."""
        return self.chain.matrices.reshape(len(self.chain.matrices), -1)

    def part(self, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and matrices of some steps."""
        return self.frames.rows[first:stop], self.steps[first:stop]


def _as_kernels(array: np.ndarray, kind: Any = np.float64) -> np.ndarray:
    """Return an array as kernels are compiled for it: contiguous and writable."""
    return np.require(array, kind, ["C", "W"])


def _prepared(
    chain: Chain, frames: Frames, n_jobs: int | None = None, repeats: int = 1, pool: Pool | None = None
) -> _Ready:
    chain = with_few_arcs(chain)
    chain = chain._replace(start=_as_kernels(chain.start), matrices=_as_kernels(chain.matrices))
    steps = _NO_STEPS if frames.steps is None else _as_kernels(frames.steps, np.int64)
    rows, offsets = _as_kernels(frames.rows, np.int64), _as_kernels(frames.offsets, np.int64)
    frames = Frames(_as_kernels(frames.logs), rows, offsets, frames.steps)
    work = repeats * len(frames.rows) * (chain.matrices[0].size + len(chain.start)) if len(chain.matrices) else 0
    pool = pool or Pool()
    shares, largest = pool.take(*frames.logs.shape), np.empty(len(frames.logs))

    def divide(rows: tuple[int, int]) -> None:
        logs, out, most = (array[slice(*rows)] for array in (frames.logs, shares, largest))
        most[:] = logs[:, 0]
        for column in logs.T[1:]:
            np.maximum(most, column, out=most)
        most[~np.isfinite(most)] = 0.0
        np.subtract(logs, most[:, None], out=out)
        with np.errstate(under="ignore"):
            np.exp(out, out=out)

    map_threads(divide, row_pieces(len(largest), _LONG), n_jobs)
    transposed = np.ascontiguousarray(chain.matrices.transpose(0, 2, 1)) if chain.arcs is None else _NOTHING
    return _Ready(chain, frames, shares, largest, steps, work, transposed, pool)


def _forward(
    p: _Ready, first: int, offsets: np.ndarray, before: np.ndarray, alpha: np.ndarray, floor: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Fill α of sequences whose first step has the number ``first``; return its divisors, and ln P(x) or NaN."""
    scale, totals = np.empty(len(alpha)), np.zeros(len(offsets) - 1)
    shares = p.raised if floor else p.shares
    rest = (shares, p.largest, *p.part(first, first + len(alpha)), offsets, before, floor, alpha, scale, totals)
    chain, arcs = p.chain, p.chain.arcs
    if arcs is None:
        ready(kernels.fill_forward, p.work)(chain.start, chain.matrices, *rest)
    else:
        kernel = ready(kernels.fill_sparse_forward, p.work)
        kernel(chain.start, chain.matrices, arcs.begins, arcs.ends, *rest)
    return scale, totals


def _are_same(totals: Any, others: Any) -> Any:
    """Return whether logarithms agree; NaN does not."""
    return np.abs(others - totals) <= _SAME * np.maximum(1.0, np.abs(totals))


def _filtered(p: _Ready, span: _Span, alpha: np.ndarray) -> np.ndarray:
    """Fill α without help of β; return ln P(x) of sequences, NaN where a state was lost by underflow.

    Where some transitions are impossible, a state whose α has become 0 may never get it back, although it matters
    later. A second pass keeps all α above a floor; where it gives something else, the sequence needs logarithms.
    """
    totals = _forward(p, span.first, span.offsets, span.before, alpha)[1]
    if p.has_zeros:
        kept = np.empty_like(alpha)
        others = _forward(p, span.first, span.offsets, span.before, kept, _FLOOR)[1]
        lost = ~_are_same(totals, others)
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.abs(alpha / alpha.sum(axis=1, keepdims=True) - kept / kept.sum(axis=1, keepdims=True))
        n_lost = np.append(0, np.cumsum(~(apart.max(axis=1, initial=0.0) <= _SAME)))
        totals[lost | (n_lost[span.offsets[1:]] > n_lost[span.offsets[:-1]])] = np.nan
    return totals


def _backward(
    p: _Ready, first: int, offsets: np.ndarray, after: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fill β of sequences whose first step has the number ``first``; return where it was divided, and which failed."""
    divided, failed = np.empty(len(beta), np.bool_), np.zeros(len(offsets) - 1, np.bool_)
    rest = (p.shares, *p.part(first, first + len(beta)), offsets, after, beta, divided, failed)
    arcs = p.chain.arcs
    if arcs is None:
        ready(kernels.fill_backward, p.work)(p.transposed, *rest)
    else:
        ready(kernels.fill_sparse_backward, p.work)(p.chain.matrices, arcs.begins, arcs.ends, *rest)
    return divided, failed


# Sequences in pieces


def _groups(offsets: np.ndarray) -> list[tuple[int, int]]:
    """Return runs of sequences, (first, stop), of some thousand steps each; a long sequence is a run of its own."""
    if len(offsets) < 2:
        return []
    is_long = np.diff(offsets) > _LONG
    run = offsets[:-1] // _PIECE
    begins = np.append(True, (run[1:] != run[:-1]) | is_long[1:] | is_long[:-1])
    places = [*np.flatnonzero(begins).tolist(), len(is_long)]
    return list(pairwise(places))


def _cut(first: int, stop: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, stop)) for a in range(first, stop, size)]


class _Span(NamedTuple):
    """Consecutive steps of some sequences, with α before the first and β of the last step, if sequences go on there."""

    first: int
    stop: int
    offsets: np.ndarray  # relative to the first step
    before: np.ndarray = _NOTHING
    after: np.ndarray = _NOTHING


def _spans(
    p: _Ready, s: int, size: int, *, backward: bool, n_jobs: int | None, floor: float = 0.0
) -> tuple[list[_Span], float]:
    """Return the spans of a long sequence, and ln P(x) (NaN: in logarithms only) if there are several."""
    first, stop = p.frames.offsets[s : s + 2].tolist()
    parts = _cut(first, stop, size)
    if len(parts) == 1:
        return [_Span(first, stop, np.array([0, stop - first]))], 0.0
    befores, afters = [_NOTHING] * len(parts), [_NOTHING] * len(parts)

    def forward() -> float:
        total, alpha, before = 0.0, np.empty((size, len(p.chain.start))), _NOTHING
        for i, (a, b) in enumerate(parts):
            befores[i] = before
            total += _forward(p, a, np.array([0, b - a]), before, alpha[: b - a], floor)[1][0]
            before = alpha[b - a - 1] / alpha[b - a - 1].sum()
        return total

    def back() -> float:
        beta, after = np.empty((size + 1, len(p.chain.start))), _NOTHING
        for i, (a, b) in reversed(list(enumerate(parts))):
            afters[i] = after
            a -= i > 0  # the last step of the part before
            if _backward(p, a, np.array([0, b - a]), after, beta[: b - a])[1].any():
                return np.nan
            after = beta[0].copy()
        return 0.0

    total = sum(map_threads(lambda run: run(), [forward, back] if backward else [forward], n_jobs))
    return [
        _Span(a, b, np.array([0, b - a]), *ends) for (a, b), *ends in zip(parts, befores, afters, strict=True)
    ], total


class _Passes(NamedTuple):
    """α and β of a span, the divisors of α, where β was divided, and ln P(x) of sequences (NaN: in logarithms only)."""

    alpha: np.ndarray
    beta: np.ndarray
    scale: np.ndarray
    divided: np.ndarray
    totals: np.ndarray


def _both_passes(p: _Ready, span: _Span, n_jobs: int | None) -> _Passes:
    shape = (span.stop - span.first, len(p.chain.start))
    alpha, beta = p.pool.take(*shape), p.pool.take(*shape)
    tasks: list[Callable[[], Any]] = [
        lambda: _forward(p, span.first, span.offsets, span.before, alpha),
        lambda: _backward(p, span.first, span.offsets, span.after, beta),
    ]
    (scale, totals), (divided, failed) = map_threads(lambda task: task(), tasks, n_jobs)
    totals[failed] = np.nan
    return _Passes(alpha, beta, scale, divided, totals)


def _by_group(
    p: _Ready, work: Callable[[int, int, int | None], None], n_jobs: int | None, *, long_alone: bool = True
) -> None:
    """Call ``work(first, stop, n_jobs)`` for groups of sequences: short ones in threads, long ones one by one."""
    groups = _groups(p.frames.offsets)
    lengths = np.diff(p.frames.offsets)
    is_long = [stop - first == 1 and lengths[first] > _LONG for first, stop in groups]
    together = [g for g, alone in zip(groups, is_long, strict=True) if not (alone and long_alone)]
    map_threads(lambda g: work(*g, 1), together, n_jobs)
    for g, alone in zip(groups, is_long, strict=True):
        if alone and long_alone:
            work(*g, n_jobs)


def _total(swept: float, totals: list[np.ndarray]) -> float:
    """Return ln P(x) of a long sequence: that of its only span, or what was found before; NaN where a span failed."""
    failed = any(np.isnan(found[0]) for found in totals)
    return np.nan if failed else float(totals[0][0]) if len(totals) == 1 else swept


def _span_size(p: _Ready) -> int:
    return max(_BLOCK, _SPAN // len(p.chain.start))


def _group_span(p: _Ready, first: int, stop: int) -> _Span:
    offsets = p.frames.offsets[first : stop + 1]
    return _Span(int(offsets[0]), int(offsets[-1]), offsets - offsets[0])


# In logarithms


class _Logs(NamedTuple):
    """A sequence in logarithms: ln P(x_1..t, z_t), ln P(x_t+1..T | z_t), ln P(x), the first impossible step or −1."""

    alpha: np.ndarray
    beta: np.ndarray
    total: float
    impossible: int


def _in_logs(p: _Ready, s: int, *, backward: bool = True) -> _Logs:
    first, stop = p.frames.offsets[s : s + 2].tolist()
    shape = (stop - first, len(p.chain.start))
    check_memory("the logarithms of a sequence", 16.0 * shape[0] * shape[1], ways_out="Cut the sequence into parts.")
    alpha, beta = np.empty(shape), np.empty(shape)
    with np.errstate(divide="ignore"):
        start, values = np.log(p.chain.start), np.log(p.values)
    rest = (p.frames.logs, *p.part(first, stop))
    arcs = p.arcs
    impossible = ready(kernels.fill_log_forward, p.work)(start, values, arcs.begins, arcs.ends, *rest, alpha)
    if impossible >= 0:
        return _Logs(alpha, beta, -np.inf, impossible)
    if backward:
        ready(kernels.fill_log_backward, p.work)(values, arcs.begins, arcs.ends, *rest, beta)
    return _Logs(alpha, beta, float(np.logaddexp.reduce(alpha[-1])), -1)


def _possible(p: _Ready, s: int) -> _Logs:
    """Return a sequence in logarithms; raise where it is impossible."""
    found = _in_logs(p, s)
    if found.impossible >= 0:
        raise impossible_sequence(p.frames, s, found.impossible)
    return found


def impossible_sequence(frames: Frames, s: int, step: int) -> ImpossibleEvidenceError:
    """Return the error for a sequence of probability zero."""
    which = f"sequence {s + 1}" if frames.n_sequences > 1 else "the sequence"
    return ImpossibleEvidenceError(
        f"{which} must be possible under the model; its probability becomes 0 at step {step + 1}. "
        "Check that step, or learn with a prior above 0."
    )


# Answers


def log_likelihoods(chain: Chain, frames: Frames, n_jobs: int | None = None) -> np.ndarray:
    """Return ln P(x) of each sequence, −∞ where it is impossible.

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[[0.7, 0.3], [0.3, 0.7]]]))
    >>> umbrella = Frames(np.log([[0.9, 0.2], [0.1, 0.8]]), np.array([0, 0]), np.array([0, 2]))
    >>> np.exp(log_likelihoods(chain, umbrella)).round(4).tolist()
    [0.3515]
    """
    p = _prepared(chain, frames, n_jobs)
    found = np.zeros(frames.n_sequences)

    def work(first: int, stop: int, _: int | None) -> None:
        if frames.offsets[stop] - frames.offsets[first] > _PIECE:
            found[first] = _spans(p, first, _PIECE, backward=False, n_jobs=1)[1]
            if p.has_zeros:
                kept = _spans(p, first, _PIECE, backward=False, n_jobs=1, floor=_FLOOR)[1]
                found[first] = found[first] if _are_same(found[first], kept) else np.nan
        else:
            span = _group_span(p, first, stop)
            alpha = np.empty((span.stop - span.first, len(chain.start)))
            found[first:stop] = _filtered(p, span, alpha)
        for s in (first + np.flatnonzero(np.isnan(found[first:stop]))).tolist():
            found[s] = _in_logs(p, s, backward=False).total

    _by_group(p, work, n_jobs, long_alone=False)
    return found


def filtered(chain: Chain, frames: Frames, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return ln P(x) of each sequence, and P(z_t | x_1..t) for every step."""
    p = _prepared(chain, frames, n_jobs)
    totals, alpha = np.zeros(frames.n_sequences), _numbers("the probabilities of all steps", p)

    def work(first: int, stop: int, _: int | None) -> None:
        span = _group_span(p, first, stop)
        own = alpha[span.first : span.stop]
        totals[first:stop] = _filtered(p, span, own)
        for s in np.flatnonzero(np.isnan(totals[first:stop])).tolist():
            logs = _possible(p, first + s)
            totals[first + s] = logs.total
            own[span.offsets[s] : span.offsets[s + 1]] = np.exp(logs.alpha - logs.alpha.max(axis=1, keepdims=True))
        own /= own.sum(axis=1, keepdims=True)

    _by_group(p, work, n_jobs, long_alone=False)
    return totals, alpha


def smoothed(chain: Chain, frames: Frames, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return ln P(x) of each sequence, and P(z_t | x) for every step.

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[[0.7, 0.3], [0.3, 0.7]]]))
    >>> umbrella = Frames(np.log([[0.9, 0.2], [0.1, 0.8]]), np.array([0, 0]), np.array([0, 2]))
    >>> smoothed(chain, umbrella)[1][0].round(6).tolist()
    [0.883357, 0.116643]
    """
    p = _prepared(chain, frames, n_jobs)
    totals, found = np.zeros(frames.n_sequences), _numbers("the probabilities of all steps", p)

    def fill(span: _Span, n_jobs: int | None) -> np.ndarray:
        passes, out = _both_passes(p, span, n_jobs), found[span.first : span.stop]
        np.multiply(passes.alpha, passes.beta, out=out)
        sums = out.sum(axis=1, keepdims=True)
        lost = np.append(0, np.cumsum(~(sums > kernels.LEAST)))
        passes.totals[lost[span.offsets[1:]] > lost[span.offsets[:-1]]] = np.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            out /= sums
        return passes.totals

    def work(first: int, stop: int, n_jobs: int | None) -> None:
        if stop - first == 1:
            spans, total = _spans(p, first, _span_size(p), backward=True, n_jobs=n_jobs)
            totals[first] = _total(total, [fill(span, n_jobs) for span in spans])
        else:
            totals[first:stop] = fill(_group_span(p, first, stop), n_jobs)
        for s in (first + np.flatnonzero(np.isnan(totals[first:stop]))).tolist():
            logs = _possible(p, s)
            totals[s] = logs.total
            found[frames.offsets[s] : frames.offsets[s + 1]] = np.exp(logs.alpha + logs.beta - logs.total)

    _by_group(p, work, n_jobs)
    return totals, found


def _numbers(what: str, p: _Ready) -> np.ndarray:
    shape = (len(p.frames.rows), len(p.chain.start))
    check_memory(what, 24.0 * shape[0] * shape[1], ways_out="Ask for fewer steps at a time, or use a stream.")
    return np.empty(shape)


def expectations(
    chain: Chain,
    frames: Frames,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
    *,
    repeats: int = 1,
    pool: Pool | None = None,
) -> Expectations:
    """Return the expected counts of first states, transitions and states, given the observations (the E step).

    ``repeats`` says how often it will be asked, which decides whether compiling kernels is worth its time; ``pool`` has
    the arrays of the time before.

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[[0.7, 0.3], [0.3, 0.7]]]))
    >>> umbrella = Frames(np.log([[0.9, 0.2], [0.1, 0.8]]), np.array([0, 0]), np.array([0, 2]))
    >>> expectations(chain, umbrella).by_row.round(4).tolist()
    [[1.7667, 0.2333], [0.0, 0.0]]
    """
    p = _prepared(chain, frames, n_jobs, repeats, pool)
    sums = _Sums(p, np.ones(frames.n_sequences) if weights is None else np.asarray(weights, np.float64))
    totals = np.zeros(frames.n_sequences)

    def work(first: int, stop: int, n_jobs: int | None) -> None:
        is_long = stop - first == 1 and frames.offsets[stop] - frames.offsets[first] > _LONG
        if is_long:
            spans, total = _spans(p, first, _span_size(p), backward=True, n_jobs=n_jobs)
        else:
            spans, total = [_group_span(p, first, stop)], 0.0
        parts, own = [], []
        for span in spans:
            passes = _both_passes(p, span, n_jobs)
            parts += sums.of_span(span, first, passes, n_jobs)
            own.append(passes.totals)
            p.pool.give(passes.alpha, passes.beta)
        totals[first:stop] = _total(total, own) if is_long else own[0]
        for s in (first + np.flatnonzero(np.isnan(totals[first:stop]))).tolist():
            parts = [] if is_long else parts
            totals[s] = sums.in_logs(s, parts)
        sums.parts[first] = parts

    _by_group(p, work, n_jobs)
    found = sums.merged(totals)
    p.pool.give(p.shares)
    return found if chain.arcs is p.chain.arcs else found._replace(pairs=dense_pairs(found.pairs, p.chain.arcs))


_Part = tuple[np.ndarray, np.ndarray, np.ndarray | None]


class _Sums:
    """Expected counts of groups of sequences, added in the order of the groups."""

    def __init__(self, p: _Ready, weights: np.ndarray) -> None:
        self.p, self.weights = p, weights
        self.parts: dict[int, list[_Part]] = {}
        self.is_small = p.shares.size <= _SMALL_ROWS  # then each part has its own sums by row
        self.by_step = None if self.is_small else _numbers("the expected states of all steps", p)
        self.slots = p.frames.rows if self.is_small else np.arange(len(p.frames.rows))

    def _nothing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_states = len(self.p.chain.start)
        by_row = np.zeros(self.p.shares.shape) if self.by_step is None else self.by_step
        return np.zeros(n_states), np.zeros(self.p.chain.matrices.shape), by_row

    def of_span(self, span: _Span, s: int, passes: _Passes, n_jobs: int | None) -> list[_Part]:
        """Return the sums of a span, one part for each block of a long sequence; mark sequences that failed."""
        n = span.stop - span.first
        is_long = len(span.offsets) == 2 and n > _LONG
        blocks = _cut(0, n, _BLOCK) if is_long else [(0, n)]
        return map_threads(lambda block: self._of_block(span, s, passes, block), blocks, n_jobs)

    def _of_block(self, span: _Span, s: int, passes: _Passes, block: tuple[int, int]) -> _Part:
        (a, b), totals = block, passes.totals
        offsets = span.offsets if len(span.offsets) > 2 else np.array([0, b - a])
        before = span.before if a == 0 else passes.alpha[a - 1]
        first, stop = span.first + a, span.first + b
        weights = self.weights[s : s + len(offsets) - 1]
        while True:
            starts, pairs, by_row = self._nothing()
            if self.by_step is not None:
                self.by_step[first:stop] = 0.0
            seen = (self.p.shares, *self.p.part(first, stop), self.slots[first:stop], offsets, weights, before)
            inside = tuple(array[a:b] for array in passes[:4])
            rest: tuple[Any, ...] = (*seen, *inside, np.isnan(totals), starts, pairs, by_row)
            if (arcs := self.p.chain.arcs) is None:
                failed = ready(kernels.add_pairs, self.p.work)(*rest)
            else:
                failed = ready(kernels.add_sparse_pairs, self.p.work)(arcs.begins, arcs.ends, *rest)
            if failed < 0:
                break
            totals[failed] = np.nan
        pairs *= self.p.chain.matrices
        return starts, pairs, by_row if self.is_small else None

    def in_logs(self, s: int, parts: list[_Part]) -> float:
        """Add the sums of a sequence, computed in logarithms; return ln P(x)."""
        logs, p, weight = _possible(self.p, s), self.p, float(self.weights[s])
        first, stop = p.frames.offsets[s : s + 2].tolist()
        starts, pairs, by_row = self._nothing()
        if self.by_step is not None:
            self.by_step[first:stop] = 0.0
        shares = weight * np.exp(logs.alpha + logs.beta - logs.total)
        starts += shares[0]
        np.add.at(by_row, self.slots[first:stop], shares)
        with np.errstate(divide="ignore"):
            values = np.log(p.values)
        arcs, rest = p.arcs, p.part(first, stop)
        out = pairs.reshape(len(pairs), -1)
        kernel = ready(kernels.add_log_pairs, p.work)
        kernel(values, arcs.begins, arcs.ends, p.frames.logs, *rest, weight, logs.total, logs.alpha, logs.beta, out)
        parts.append((starts, pairs, by_row if self.is_small else None))
        return logs.total

    def merged(self, totals: np.ndarray) -> Expectations:
        """Return the sum of all parts."""
        starts, pairs, by_row = self._nothing()
        for first in sorted(self.parts):
            for more_starts, more_pairs, more_rows in self.parts[first]:
                starts += more_starts
                pairs += more_pairs
                if more_rows is not None:
                    by_row += more_rows
        if self.by_step is not None:
            by_row = sums_by_row(self.by_step, self.p.frames.rows, len(self.p.shares))
        return Expectations(totals, starts, pairs, by_row)


def sums_by_row(values: np.ndarray, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the sums of numbers of steps over the steps with each distinct observation."""
    if len(rows) == n_rows and bool((rows == np.arange(n_rows)).all()):
        return values
    from scipy.sparse import csr_array

    ones = csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), shape=(len(rows), n_rows))
    return np.asarray(ones.T @ values)


# Paths


def best_paths(chain: Chain, frames: Frames, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return ln P(z, x) of the most probable path of each sequence, and its states (Viterbi).

    Examples
    --------
    >>> chain = Chain(np.array([0.2, 0.8]), np.array([[[0.5, 0.5], [0.4, 0.6]]]))
    >>> ice_creams = Frames(np.log([[0.5, 0.2], [0.4, 0.4], [0.1, 0.4]]), np.array([2, 0, 2]), np.array([0, 3]))
    >>> log_p, states = best_paths(chain, ice_creams)
    >>> np.exp(log_p).round(4).tolist(), states.tolist()
    ([0.0128], [1, 0, 1])
    """
    p = _prepared(chain, frames, n_jobs)
    n_states = len(chain.start)
    totals, path = np.zeros(frames.n_sequences), np.empty(len(frames.rows), np.int64)
    with np.errstate(divide="ignore"):
        start, values = np.log(p.chain.start), np.log(p.chain.matrices)
    arcs = p.arcs
    incoming = np.ascontiguousarray(values.reshape(len(values), -1)[:, arcs.incoming])

    def best(span: _Span, delta: np.ndarray) -> None:
        rest = (frames.logs, *p.part(span.first, span.stop), span.offsets, span.before, delta)
        if p.chain.arcs is None:
            ready(kernels.fill_best, p.work)(start, values, *rest)
        else:
            ready(kernels.fill_sparse_best, p.work)(start, values, arcs.begins, arcs.ends, *rest)

    def trace(span: _Span, last: int, delta: np.ndarray) -> int:
        steps, out = p.part(span.first, span.stop)[1], path[span.first : span.stop]
        kernel = ready(kernels.trace_back, p.work)
        return int(kernel(incoming, arcs.in_begins, arcs.sources, steps, span.offsets, span.before, last, delta, out))

    def work(first: int, stop: int, _: int | None) -> None:
        whole = _group_span(p, first, stop)
        size = 4 * _span_size(p)  # one array in place of two, and the steps of several spans are computed twice
        delta = np.empty((min(size, whole.stop - whole.first), n_states))
        spans = [whole]
        if stop - first == 1 and len(delta) < whole.stop - whole.first:
            spans, before = [], _NOTHING
            for a, b in _cut(whole.first, whole.stop, size):
                spans.append(_Span(a, b, np.array([0, b - a]), before))
                best(spans[-1], delta[: b - a])
                before = delta[b - a - 1].copy()
        state = -1
        for span in reversed(spans):
            own = delta[: span.stop - span.first]
            if len(spans) == 1 or span is not spans[-1]:
                best(span, own)
            if span is spans[-1]:
                filled = np.diff(span.offsets) > 0
                totals[first:stop][filled] = own[span.offsets[1:][filled] - 1].max(axis=1)
                _check_possible(p, first, totals[first:stop])
            state = trace(span, state, own)

    _by_group(p, work, n_jobs, long_alone=False)
    return totals, path


def _check_possible(p: _Ready, first: int, totals: np.ndarray) -> None:
    for s in (first + np.flatnonzero(totals == -np.inf)).tolist():
        raise impossible_sequence(p.frames, s, _in_logs(p, s, backward=False).impossible)


def several_best_paths(chain: Chain, frames: Frames, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ln P(z, x) of the k most probable paths of the one sequence, and their states, the most probable first.

    There may be fewer possible paths. The memory is k times that of one path and grows with the number of steps.
    """
    p = _prepared(Chain(chain.start, dense_pairs(chain.matrices, chain.arcs)), frames)
    n, n_states = len(frames.rows), len(chain.start)
    check_memory(f"the {k} best paths", 16.0 * n * n_states * k, ways_out="Ask for fewer paths or steps.")
    with np.errstate(divide="ignore"):
        start, values = np.log(chain.start), np.log(dense_pairs(chain.matrices, chain.arcs))
    delta, origin = np.empty((n, n_states, k)), np.empty((n, n_states, k), np.int64)
    ready(kernels.fill_several_best, k * p.work)(start, values, frames.logs, frames.rows, p.steps, delta, origin)
    ends = delta[-1].ravel() if n else np.zeros(1)
    chosen = np.argsort(-ends, kind="stable")[:k]
    chosen = chosen[ends[chosen] > -np.inf]
    paths = np.empty((len(chosen), n), np.int64)
    for rank, place in enumerate(chosen.tolist()):
        for t in range(n - 1, -1, -1):
            paths[rank, t] = place // k
            place = origin[t].reshape(-1)[place]
    return ends[chosen], paths


def sampled_paths(
    chain: Chain, frames: Frames, n_draws: int = 1, random_state: RandomState = None, n_jobs: int | None = None
) -> np.ndarray:
    """Return paths drawn from P(z | x), one a row: forward filtering, backward sampling."""
    _, alpha = filtered(chain, frames, n_jobs)
    p = _prepared(chain, frames, n_jobs)
    arcs = p.arcs
    incoming = np.ascontiguousarray(p.values[:, arcs.incoming])
    paths = np.empty((n_draws, len(frames.rows)), np.int64)
    seeds = np.random.SeedSequence(entropy_of(random_state)).spawn(n_draws)

    def draw(i: int) -> None:
        uniforms = np.random.default_rng(seeds[i]).random(len(frames.rows))
        rest = (p.steps, frames.offsets, alpha, uniforms, paths[i])
        ready(kernels.draw_backward, p.work)(incoming, arcs.in_begins, arcs.sources, *rest)

    map_threads(draw, range(n_draws), n_jobs)
    return paths


def simulated_paths(chain: Chain, offsets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the states of sequences drawn from the chain, whose transitions are those of its first matrix."""
    p = _prepared(chain, Frames(np.zeros((1, len(chain.start))), np.zeros(int(offsets[-1]), np.int64), offsets))
    path, uniforms, arcs = np.empty(len(p.frames.rows), np.int64), rng.random(len(p.frames.rows)), p.arcs
    kernel = ready(kernels.draw_forward, len(path))
    kernel(chain.start, p.values, arcs.begins, arcs.ends, offsets, uniforms, path)
    return path
