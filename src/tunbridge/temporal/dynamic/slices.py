"""Exact inference in dynamic networks: from interface to interface.

The *interface* i_t of a slice are the variables with children in later slices, each with as many of its latest values
as these reach back. Given it, the past and the future are independent (Murphy 2002), so that

    α_t(i') = P(i_t = i' | e_0 … e_t)  ∝  Σ_i α_{t−1}(i) M_t(i, i'),      M_t(i, i') = Σ_rest P(i', rest, e_t | i),
    γ_t(i)  = P(i_t = i | e_0 … e_T),     ρ_t = γ_t / α_t   ∝   P(e_{t+1} … e_T | i_t),
    P(x, e_0 … e_T)  ∝  Σ α_{t−1}(i) P(x, i', rest, e_t | i) ρ_t(i')       for variables x of slice t.

A small interface makes a chain whose states are its configurations: M is computed once for each distinct evidence, and
:mod:`tunbridge.temporal.chain` does the rest for all sequences together. What depends on the interface of its own slice
only is an emission of the chain, as in a hidden Markov model; a hidden Markov model *is* computed as one.

A larger interface keeps α as a tensor, contracted with the tables of a slice one by one; nothing as large as M is made.
One tensor for each of several clusters, whose product stands for α, is the approximation of Boyen and Koller (1998):
errors do not add up, because every step forgets some of them. With a single cluster it is exact, and the same code.

References
----------
K. Murphy (2002). Dynamic Bayesian networks: representation, inference and learning. PhD thesis, Berkeley, chapter 3.
X. Boyen, D. Koller (1998). Tractable inference for complex stochastic processes. UAI 14, 33–42.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable, LinearGaussian
from tunbridge.temporal.chain import Chain, Frames, best_paths, filtered, log_likelihoods, smoothed
from tunbridge.temporal.dynamic.building import Node, node_of
from tunbridge.temporal.dynamic.contraction import CASE, Factor, check_contraction, contract, in_pieces, pieces, planned
from tunbridge.temporal.dynamic.evidence import Findings, Names, compact

_MOST_STATES = 1024  # of an interface that is a chain
_MOST_ENTRIES = 2**25  # of all matrices together
_WAYS_OUT = "Pass fewer slices or sequences at once; filtering slice by slice, stream(), keeps only one."

Cluster = tuple[int, ...]
"""Positions in the interface."""


class Family(NamedTuple):
    """The table of a variable as a factor."""

    variable: int
    factor: Factor


@dataclass(frozen=True, eq=False)
class SliceModel:
    """The categorical tables of a dynamic network as factors.

    Axes are the variables of the slice, by number, then those of earlier slices.

    Attributes
    ----------
    names : Names
        The variables by number.
    sizes : tuple of int
        The number of states of each axis.
    first, later : tuple of Family
        The tables of slice 0, and of the others.
    before, after : tuple of int
        The axes of the interface as a slice finds it, and as it leaves it; one corresponds to the other.
    lagged : dict of Node to int
        The axis of each variable of an earlier slice.
    """

    names: Names
    sizes: tuple[int, ...]
    first: tuple[Family, ...]
    later: tuple[Family, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    lagged: dict[Node, int]

    @property
    def n_states(self) -> int:
        """The number of configurations of the interface."""
        return math.prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of states of each variable of the interface."""
        return tuple(self.sizes[a] for a in self.after)

    @cached_property
    def parts(self) -> tuple[list[Family], list[Family]]:
        """The tables that join two interfaces, and those that the interface of the slice separates from the past."""
        return _parts(self)

    @cached_property
    def components(self) -> list[list[Family]]:
        """The emitted tables in groups that the interface of their slice makes independent."""
        left, found = list(self.parts[1]), []
        while left:
            group, reached = [left.pop(0)], set[int]()
            while True:
                reached |= {a for f in group for a in f.factor.axes} - set(self.after)
                near = [f for f in left if reached & set(f.factor.axes)]
                if not near:
                    break
                group += near
                left = [f for f in left if not any(f is g for g in near)]
            found.append(group)
        return found

    @cached_property
    def emitted(self) -> set[int]:
        """The variables that the interface of their slice separates from the past, and that interface."""
        return {f.variable for f in self.parts[1]} | set(self.after)

    def everything(self) -> tuple[Cluster, ...]:
        """Return the whole interface as one cluster."""
        return (tuple(range(len(self.after))),)

    @cached_property
    def _copies(self) -> tuple[tuple[Family, ...], tuple[int, ...]]:
        """Return the factors by which, in slice 0, earlier values equal the first, and the axes of its interface."""
        first_of = {self.lagged[node]: self.names.index[node.name] for node in self.lagged}
        made = [Family(-1, Factor((first_of[a], a), np.eye(self.sizes[a]))) for a in self.after if a in first_of]
        return tuple(made), self.after

    def factors(self, families: Iterable[Family], found: Findings, rows: np.ndarray) -> list[Factor]:
        """Return the tables of a slice and the likelihoods of some sets of findings, which are the cases."""
        made, families = [], list(families)
        for v, factor in families:
            if v >= self.names.n_categorical:  # a number says something only where it is observed
                if (density := found.densities.get((v, factor.axes))) is not None:
                    made.append(Factor((CASE, *factor.axes), density[rows]))
                continue
            forced = found.forced.get(v)
            if forced is None or not forced.any():
                made.append(factor)
            else:  # what is set from outside no longer depends on its parents
                is_set = forced[rows].reshape(-1, *[1] * factor.array.ndim)
                made.append(Factor((CASE, *factor.axes), np.where(is_set, 1.0, factor.array)))
        own = {v for v, _ in families}
        return made + [Factor((CASE, v), lines[rows]) for v, lines in found.likelihoods.items() if v in own]

    def starting(self, found: Findings, rows: np.ndarray) -> list[Factor]:
        """Return the factors of slice 0."""
        return self.factors((*self.first, *self._copies[0]), found, rows)

    def following(self, found: Findings, rows: np.ndarray) -> list[Factor]:
        """Return the factors of a later slice."""
        return self.factors(self.later, found, rows)

    def run(
        self, factors: list[Factor], keep: Sequence[int], n_cases: int, *, maximise: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the product of factors with all axes but some summed (or maximised) out (see :func:`contract`)."""
        left = factors if maximise else without_barren(factors, (*self.first, *self.later), keep)
        largest = planned(left, keep, self.sizes).largest
        check_contraction("a slice of the dynamic network", largest)
        return in_pieces(
            n_cases, largest,
            lambda piece: contract([_cut(f, piece) for f in left], keep, self.sizes,
                                   piece.stop - piece.start, maximise=maximise),
        )  # type: ignore[return-value]  # fmt: skip

    def largest(self, found: Findings, clusters: Sequence[Cluster]) -> float:
        """Return the number of entries of the largest table that a step forwards makes."""
        rows = np.zeros(1, np.int64)
        given = [Factor((CASE, *(self.before[k] for k in c)), np.empty(())) for c in clusters]
        worst = 1.0
        for c in clusters:
            keep = [self.after[k] for k in c]
            factors = without_barren([*self.following(found, rows), *given], self.later, keep)
            worst = max(worst, planned(factors, keep, self.sizes).largest)
        return worst


def _cut(factor: Factor, piece: slice) -> Factor:
    return Factor(factor.axes, factor.array[piece]) if factor.axes[:1] == (CASE,) else factor


def without_barren(factors: Sequence[Factor], families: Iterable[Family], keep: Iterable[int]) -> list[Factor]:
    """Return the factors without tables of variables that nothing else is about: those sum to one."""
    tables = {id(f.factor.array): f.variable for f in families}
    left, wanted = list(factors), set(keep)
    while True:
        n_uses: dict[int, int] = {}
        for f in left:
            for axis in f.axes:
                n_uses[axis] = n_uses.get(axis, 0) + 1
        kept = []
        for f in left:
            v = tables.get(id(f.array), -1)
            if v < 0 or v in wanted or n_uses[v] > 1:
                kept.append(f)
        if len(kept) == len(left):
            return left
        left = kept


def compile_slices(names: Names, first: BayesianNetwork, tables: Sequence[ConditionalTable]) -> SliceModel:
    """Return the categorical tables of a dynamic network as factors."""
    known = names.names
    parents = {cpt.variable.name: [node_of(p.name, known) for p in cpt.parents] for cpt in tables}
    reach: dict[str, int] = {}
    for node in (p for some in parents.values() for p in some if names.index[p.name] < names.n_categorical):
        reach[node.name] = max(reach.get(node.name, 0), node.lag)
    nodes = [Node(v.name, lag) for v in names.variables for lag in range(1, reach.get(v.name, 0) + 1)]
    axes = {Node(name, 0): v for name, v in names.index.items()}
    axes |= {node: len(names.variables) + i for i, node in enumerate(nodes)}
    sizes = tuple(max(names.variables[names.index[node.name]].n_states, 1) for node in axes)
    later = [_family(cpt, [axes.get(p, -1) for p in parents[cpt.variable.name]], names) for cpt in tables]
    start = [_family(cpt, [names.index[p.name] for p in cpt.parents], names) for cpt in first.cpts.values()]
    before = tuple(axes[node] for node in nodes)
    after = tuple(axes[node._replace(lag=node.lag - 1)] for node in nodes)
    return SliceModel(names, sizes, tuple(start), tuple(later), before, after, {n: axes[n] for n in nodes})


def _family(cpt: ConditionalTable, parents: Sequence[int], names: Names) -> Family:
    v = names.index[cpt.variable.name]
    if isinstance(cpt, LinearGaussian):
        axes = tuple(a for p, a in zip(cpt.parents, parents, strict=True) if p.is_categorical)
        return Family(v, Factor(axes, np.ones(cpt.shape)))
    return Family(v, Factor((*parents, v), cpt.table()))


# Messages


class Messages(NamedTuple):
    """What is known about the interface after each slice.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_sequences,)
        ln P(evidence).
    clusters : tuple of tuple of int
        The parts of the interface.
    alpha : list of ndarray of shape (n_slices, *sizes)
        For each cluster its distribution given the evidence so far.
    rho : list of ndarray, or None
        What later evidence multiplies it by; None without later evidence.
    """

    log_likelihood: np.ndarray
    clusters: tuple[Cluster, ...]
    alpha: list[np.ndarray]
    rho: list[np.ndarray] | None = None


def messages(
    model: SliceModel, found: Findings, *, smooth: bool = False, clusters: tuple[Cluster, ...] | None = None
) -> Messages:
    """Return the messages of all slices; raise where the evidence is impossible, naming the slice."""
    if not found.n_slices:
        everything = model.everything()
        return Messages(np.zeros(len(found.offsets) - 1), everything, [np.empty((0, *model.shape))])
    n_copies = 3 if smooth else 1
    size = model.n_states if clusters is None else sum(math.prod(model.shape[k] for k in c) for c in clusters)
    check_memory("the messages of all slices", 8.0 * n_copies * found.n_slices * size, ways_out=_WAYS_OUT)
    if clusters is None and (frames := as_chain(model, found)) is not None:
        return _chained(model, found, frames, smooth)
    made = _forward(model, found, clusters or model.everything())
    return made._replace(rho=_backward(model, found, made)) if smooth else made


def ratio(gamma: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return γ / α, the largest of each slice 1; 0 where both are."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        logs = np.where(gamma > 0.0, np.log(gamma) - np.log(alpha), -np.inf)
        tops = logs.reshape(len(logs), -1).max(axis=1, initial=-np.inf).reshape(-1, *[1] * (logs.ndim - 1))
        return np.exp(logs - np.where(np.isfinite(tops), tops, 0.0))


def impossible(found: Findings, i: int) -> ImpossibleEvidenceError:
    """Return the error for a slice whose findings have probability zero."""
    rule = f"the evidence must be possible; that of {found.place(i)} has probability zero given the slices before it"
    return ImpossibleEvidenceError(f"{rule}. Leave out some evidence, or check the tables.")


def _forward(model: SliceModel, found: Findings, clusters: tuple[Cluster, ...], *, strict: bool = True) -> Messages:
    """Return α, one slice of all sequences after another."""
    alpha = [np.empty((found.n_slices, *(model.shape[k] for k in c))) for c in clusters]
    total = np.zeros(len(found.offsets) - 1)
    for t, sequences, at in _columns(found):
        rows = found.rows[at]
        factors = model.following(found, rows) if t else model.starting(found, rows)
        if t:
            factors += message_factors(model.before, clusters, [a[at - 1] for a in alpha])
        for n, c in enumerate(clusters):
            made, logs = model.run(factors, [model.after[k] for k in c], len(at))
            weight = made.reshape(len(at), -1).sum(axis=1)
            if strict and not weight.all():
                raise impossible(found, int(at[weight == 0.0][0]))
            shape = (-1, *[1] * (made.ndim - 1))
            alpha[n][at] = made / np.where(weight > 0.0, weight, 1.0).reshape(shape)
            if not n:
                with np.errstate(divide="ignore"):
                    total[sequences] += np.log(weight) + logs + found.logs[rows]
    return Messages(total, clusters, alpha)


def _columns(found: Findings) -> Iterable[tuple[int, np.ndarray, np.ndarray]]:
    """Yield every time, the sequences that have a slice then, and the places of these slices."""
    lengths = np.diff(found.offsets)
    order = np.argsort(-lengths, kind="stable")
    for t in range(int(lengths.max(initial=0))):
        sequences = order[: int((lengths > t).sum())]
        yield t, sequences, found.offsets[sequences] + t


def message_factors(axes: Sequence[int], clusters: Sequence[Cluster], arrays: Sequence[np.ndarray]) -> list[Factor]:
    """Return messages about the interface as factors."""
    pairs = zip(clusters, arrays, strict=True)
    return [Factor((CASE, *(axes[k] for k in c)), array) for c, array in pairs]


def _backward(model: SliceModel, found: Findings, made: Messages) -> list[np.ndarray]:
    """Return ρ, one slice of all sequences after another, the last first."""
    rho = [np.ones_like(a) for a in made.alpha]
    for t, _, at in reversed(list(_columns(found))):
        if t:
            for own, new in zip(rho, _step_back(model, found, made, rho, at, at), strict=True):
                own[at - 1] = new
    return rho


def _step_back(
    model: SliceModel, found: Findings, made: Messages, rho: list[np.ndarray], at: np.ndarray, where: np.ndarray
) -> list[np.ndarray]:
    """Return ρ of the slices before ``at`` from ρ of those, which stand at the places ``where``."""
    factors = model.following(found, found.rows[at])
    factors += message_factors(model.after, made.clusters, [r[where] for r in rho])
    if len(made.clusters) == 1:  # exact: α is not needed
        back, _ = model.run(factors, [model.before[k] for k in made.clusters[0]], len(at))
        tops = back.reshape(len(at), -1).max(axis=1)
        return [back / np.where(tops > 0.0, tops, 1.0).reshape(-1, *[1] * (back.ndim - 1))]
    past = [a[at - 1] for a in made.alpha]
    factors += message_factors(model.before, made.clusters, past)
    gamma = [model.run(factors, [model.before[k] for k in c], len(at))[0] for c in made.clusters]
    return [ratio(g, a) for g, a in zip(gamma, past, strict=True)]


def lagged_rho(model: SliceModel, found: Findings, made: Messages, lag: int) -> list[np.ndarray]:
    """Return ρ_t from the evidence of the next ``lag`` slices alone."""
    rho = [np.ones_like(a) for a in made.alpha]
    ends = np.repeat(found.offsets[1:], np.diff(found.offsets))
    for ahead in range(lag, 0, -1):
        where = np.flatnonzero(np.arange(found.n_slices) + ahead < ends)
        if len(where):
            for own, new in zip(rho, _step_back(model, found, made, rho, where + ahead, where), strict=True):
                own[where] = new
    return rho


def joint(model: SliceModel, found: Findings, made: Messages, keep: Sequence[int], at: np.ndarray) -> np.ndarray:
    """Return the distribution of some axes for slices, all of them first ones or none, given the evidence.

    Parameters
    ----------
    model : SliceModel
        The network.
    found : Findings
        The evidence.
    made : Messages
        The messages; with ρ the answer is given all evidence, else given that up to the slice.
    keep : sequence of int
        Axes of the slice, or of earlier ones, for a joint distribution.
    at : ndarray of int
        The places of the slices.

    Returns
    -------
    ndarray of shape (len(at), *sizes)
    """
    if not len(at):
        return np.empty((0, *(model.sizes[v] for v in keep)))
    is_first = bool(np.isin(at[0], found.offsets[:-1]))
    for c, array in zip(made.clusters, made.alpha, strict=True):
        own = [model.after[k] for k in c]
        if set(keep) <= set(own):
            return _marginal(array[at] if made.rho is None else _times(array, made.rho, made, c, at), own, keep)
    rows = found.rows[at]
    if not is_first and len(made.clusters) == 1 and set(keep) <= model.emitted:
        return _emitted(model, found, made, keep, at)
    factors = model.starting(found, rows) if is_first else model.following(found, rows)
    if not is_first:
        factors += message_factors(model.before, made.clusters, [a[at - 1] for a in made.alpha])
    if made.rho is not None:
        factors += message_factors(model.after, made.clusters, [r[at] for r in made.rho])
    table, _ = model.run(factors, keep, len(at))
    return _normalised(table)


def _emitted(model: SliceModel, found: Findings, made: Messages, keep: Sequence[int], at: np.ndarray) -> np.ndarray:
    """Return the distribution of variables that the interface of their slice separates from the past.

    P(x | e_0 … e_T) = Σ_i γ(i) P(x, e | i) / P(e | i), with e what was found about these variables.
    """
    whole = made.clusters[0]
    alpha = made.alpha[0]
    gamma = alpha[at] if made.rho is None else _times(alpha, made.rho, made, whole, at)
    near = [families for families in model.components if any(f.variable in keep for f in families)]
    factors = model.factors([f for families in near for f in families], found, found.rows[at])
    likelihood, _ = model.run(factors, model.after, len(at))
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(gamma > 0.0, gamma / likelihood, 0.0)
    table, _ = model.run([*factors, *message_factors(model.after, made.clusters, [weight])], keep, len(at))
    return _normalised(table)


def _times(alpha: np.ndarray, rho: list[np.ndarray], made: Messages, c: Cluster, at: np.ndarray) -> np.ndarray:
    return alpha[at] * rho[made.clusters.index(c)][at]


def _marginal(table: np.ndarray, axes: Sequence[int], keep: Sequence[int]) -> np.ndarray:
    place = {a: i + 1 for i, a in enumerate(axes)}
    summed = np.einsum(table, list(range(table.ndim)), [0, *(place[v] for v in keep)])
    return _normalised(summed)


def _normalised(table: np.ndarray) -> np.ndarray:
    total = table.reshape(len(table), -1).sum(axis=1).reshape(-1, *[1] * (table.ndim - 1))
    return table / np.where(total > 0.0, total, 1.0)


def marginals(model: SliceModel, found: Findings, made: Messages, keep: Sequence[int]) -> np.ndarray:
    """Return the distribution of some variables in every slice."""
    out = np.empty((found.n_slices, *(model.sizes[v] for v in keep)))
    is_first = np.zeros(found.n_slices, bool)
    is_first[found.offsets[:-1][np.diff(found.offsets) > 0]] = True
    for at in (np.flatnonzero(is_first), np.flatnonzero(~is_first)):
        out[at] = joint(model, found, made, keep, at)
    return out


# The interface as a chain


class AsChain(NamedTuple):
    """A chain for the interface, and what was taken out of its numbers for each sequence."""

    chain: Chain
    frames: Frames
    taken: np.ndarray


def as_chain(model: SliceModel, found: Findings, *, maximise: bool = False) -> AsChain | None:
    """Return the chain of the interface; None where it is too large."""
    k = model.n_states
    if k > _MOST_STATES:
        return None
    inside, outside = model.parts
    is_first = np.zeros(found.n_slices, bool)
    is_first[found.offsets[:-1][np.diff(found.offsets) > 0]] = True
    later_rows = found.rows[~is_first]
    steps, step_of = _distinct(found, [f.variable for f in inside], later_rows, [f.variable for f in inside])
    shown = [f.variable for f in outside] + [a for a in model.after if a < len(model.names.variables)]
    seen, seen_of = _distinct(found, shown, later_rows, [f.variable for f in outside])
    if len(steps) * k * k + len(seen) * k > _MOST_ENTRIES:
        return None
    starts, start_of = compact(found.rows[is_first], len(found.logs))
    matrices, by_step = _matrices(model, found, inside, steps, maximise)
    emitted = _emissions(model, found, seen, maximise)
    begin, by_start = model.run(model.starting(found, starts), model.after, len(starts), maximise=maximise)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([np.log(begin.reshape(-1, k)), emitted])
    rows, which = np.zeros(found.n_slices, np.int64), np.zeros(found.n_slices, np.int64)
    rows[is_first], rows[~is_first], which[~is_first] = start_of, len(starts) + seen_of, step_of
    taken = found.logs[found.rows]
    taken[is_first] += by_start[start_of]
    taken[~is_first] += by_step[step_of]
    total = np.append(0.0, np.cumsum(taken))[found.offsets]
    frames = Frames(np.ascontiguousarray(logs), rows, found.offsets, None if len(steps) == 1 else which)
    return AsChain(Chain(np.ones(k), np.ascontiguousarray(matrices)), frames, np.diff(total))


def _parts(model: SliceModel) -> tuple[list[Family], list[Family]]:
    """Return the tables that join two interfaces, and those that the interface of the slice separates from the past."""
    given = set(model.after)
    reached = set(model.before) - given
    left = list(model.later)
    inside: list[Family] = []
    n = model.names.n_categorical  # a density given the interface alone is an emission
    while near := [f for f in left if (free := set(f.factor.axes) - given) & reached or not (free or f.variable >= n)]:
        for f in near:
            reached |= set(f.factor.axes) - given
        inside += near
        left = [f for f in left if not any(f is g for g in near)]
    return inside, left


def _distinct(
    found: Findings, variables: Sequence[int], rows: np.ndarray, forced: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a set of findings for each distinct one about some variables, and which of them each slice has."""
    parts = [found.likelihoods[v] for v in dict.fromkeys(variables) if v in found.likelihoods]
    parts += [found.forced[v][:, None] for v in forced if v in found.forced]
    parts += [a.reshape(len(a), -1) for (v, _), a in found.densities.items() if v in variables]
    if not parts or not len(rows):
        return rows[:1] if len(rows) else np.zeros(min(1, len(found.logs)), np.int64), np.zeros(len(rows), np.int64)
    used, place = compact(rows, len(found.logs))
    _, first, which = np.unique(np.hstack(parts)[used], axis=0, return_index=True, return_inverse=True)
    return used[first], which.ravel()[place].astype(np.int64)


def _matrices(
    model: SliceModel, found: Findings, inside: list[Family], rows: np.ndarray, maximise: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix from interface to interface for each set of findings, and the logarithm of its scale."""
    shared = [a for a in model.after if a in model.before]
    copy = {a: len(model.sizes) + i for i, a in enumerate(shared)}
    sizes = (*model.sizes, *(model.sizes[a] for a in shared))
    given = set(model.after)
    seen = {(CASE, v) for v in given}  # the likelihoods of the interface are emissions
    own = [f for f in model.factors(inside, found, rows) if f.axes not in seen]
    factors = [*own, *(Factor((a, c), np.eye(model.sizes[a])) for a, c in copy.items())]
    keep = [*model.before, *(copy.get(a, a) for a in model.after)]
    left = factors if maximise else without_barren(factors, model.later, keep)
    largest = planned(left, keep, sizes).largest
    check_contraction("a slice of the dynamic network", largest)
    made = in_pieces(len(rows), largest, lambda piece: contract(
        [_cut(f, piece) for f in left], keep, sizes, piece.stop - piece.start, maximise=maximise))  # fmt: skip
    return made[0].reshape(len(rows), model.n_states, model.n_states), made[1]


def _emissions(model: SliceModel, found: Findings, rows: np.ndarray, maximise: bool) -> np.ndarray:
    """Return the log-likelihood of the findings about the rest of the slice in each state of its interface."""
    logs = np.zeros((len(rows), *model.shape))
    rest = set(model.after) - {f.variable for f in model.parts[1]}
    parts = [model.factors(families, found, rows) for families in model.components]
    parts += [[Factor((CASE, v), found.likelihoods[v][rows])] for v in sorted(rest) if v in found.likelihoods]
    for factors in parts:
        known = {a for f in factors for a in f.axes}
        keep = [a for a in model.after if a in known]
        table, scale = model.run(factors, keep, len(rows), maximise=maximise)
        with np.errstate(divide="ignore"):
            wide = np.log(table).reshape(-1, *(model.sizes[a] if a in known else 1 for a in model.after))
        logs += wide + scale.reshape(-1, *[1] * len(model.after))
    return logs.reshape(len(rows), model.n_states)


def _chained(model: SliceModel, found: Findings, made: AsChain, smooth: bool) -> Messages:
    """Return the messages by way of the chain."""
    try:
        logs, alpha = filtered(made.chain, made.frames)
        gamma = smoothed(made.chain, made.frames)[1] if smooth else None
    except ImpossibleEvidenceError:
        _forward(model, found, model.everything())  # raises, and names the slice
        raise
    shape = (found.n_slices, *model.shape)
    rho = None if gamma is None else [ratio(gamma, alpha).reshape(shape)]
    return Messages(logs + made.taken, model.everything(), [alpha.reshape(shape)], rho)


def log_probabilities(model: SliceModel, found: Findings, clusters: tuple[Cluster, ...] | None = None) -> np.ndarray:
    """Return ln P(evidence) of every sequence, −∞ where it is impossible."""
    if clusters is None and (made := as_chain(model, found)) is not None:
        logs: np.ndarray = log_likelihoods(made.chain, made.frames) + made.taken
        return logs
    return _forward(model, found, clusters or model.everything(), strict=False).log_likelihood


# Most probable states


def most_probable(model: SliceModel, found: Findings) -> tuple[np.ndarray, np.ndarray]:
    """Return the jointly most probable codes of all variables in all slices, and ln P(these, evidence)."""
    made = as_chain(model, found, maximise=True)
    if made is None:
        return _most_probable_by_tensors(model, found)
    try:
        logs, states = best_paths(made.chain, made.frames)
    except ImpossibleEvidenceError:
        _forward(model, found, model.everything())
        raise
    codes = np.empty((found.n_slices, model.names.n_categorical), np.int64)
    is_first = np.zeros(found.n_slices, bool)
    is_first[found.offsets[:-1][np.diff(found.offsets) > 0]] = True
    past = np.where(is_first, -1, np.append(-1, states[:-1]))
    _, first, which = np.unique(np.stack([found.rows, past, states]), axis=1, return_index=True, return_inverse=True)
    for at in (first[is_first[first]], first[~is_first[first]]):
        if len(at):
            both = [_one_hot(model, each[at]) for each in (states, past)]
            codes[at] = _decoded(model, found, at, bool(is_first[at[0]]), *both)[:, : codes.shape[1]]
    return codes[first][which.ravel()], logs + made.taken


def _one_hot(model: SliceModel, states: np.ndarray) -> np.ndarray:
    """Return messages that are certain of a configuration of the interface."""
    return (states[:, None] == np.arange(model.n_states)).astype(float).reshape(-1, *model.shape)


def _decoded(
    model: SliceModel, found: Findings, at: np.ndarray, is_first: bool, after: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Return the most probable codes of slices, weighted by messages on both sides; also of what comes before them.

    One variable after another is maximised, those of the interface first, and then fixed: what it separates is apart.
    """
    rows, n = found.rows[at], model.names.n_categorical
    factors = model.starting(found, rows) if is_first else model.following(found, rows)
    factors += message_factors(model.after, model.everything(), [after])
    if not is_first:
        factors += message_factors(model.before, model.everything(), [before])
    wanted = [*range(n), *(() if is_first else model.before)]
    codes = np.empty((len(at), len(wanted)), np.int64)
    interface = {*model.after, *model.before}
    for v in sorted(wanted, key=lambda v: v not in interface):
        best, _ = model.run(_connected(factors, v), [v], len(at), maximise=True)
        codes[:, wanted.index(v)] = chosen = best.argmax(axis=1)
        factors = [_fixed(f, v, chosen) if v in f.axes else f for f in factors]
    return codes


def _connected(factors: Sequence[Factor], v: int) -> list[Factor]:
    """Return the factors that share variables with v, with those, and so on."""
    reached, found, left = {v}, list[Factor](), list(factors)
    while near := [f for f in left if reached & set(f.axes)]:
        found += near
        reached |= {a for f in near for a in f.axes} - {CASE}
        left = [f for f in left if not any(f is g for g in near)]
    return found


def _fixed(factor: Factor, v: int, codes: np.ndarray) -> Factor:
    """Return a factor with a variable fixed, in each case at its code."""
    if factor.axes[0] == CASE:
        place = factor.axes.index(v)
        index = codes.reshape(-1, *[1] * (factor.array.ndim - 1))
        array = np.take_along_axis(factor.array, index, axis=place).squeeze(place)
        return Factor(tuple(a for a in factor.axes if a != v), array)
    array = np.moveaxis(np.take(factor.array, codes, axis=factor.axes.index(v)), factor.axes.index(v), 0)
    return Factor((CASE, *(a for a in factor.axes if a != v)), array)


def _most_probable_by_tensors(model: SliceModel, found: Findings) -> tuple[np.ndarray, np.ndarray]:
    """Return the most probable codes with messages that are tensors, kept for all slices."""
    check_memory("the messages of all slices", 8.0 * found.n_slices * model.n_states, ways_out=_WAYS_OUT)
    best, total = np.empty((found.n_slices, *model.shape)), np.zeros(len(found.offsets) - 1)
    everything = model.everything()
    for t, sequences, at in _columns(found):
        rows = found.rows[at]
        factors = model.following(found, rows) if t else model.starting(found, rows)
        factors += message_factors(model.before, everything, [best[at - 1]]) if t else []
        made, logs = model.run(factors, model.after, len(at), maximise=True)
        tops = made.reshape(len(at), -1).max(axis=1)
        if not tops.all():
            raise impossible(found, int(at[tops == 0.0][0]))
        best[at] = made / tops.reshape(-1, *[1] * (made.ndim - 1))
        total[sequences] += np.log(tops) + logs + found.logs[rows]
    return _traced_back(model, found, best), total


def _traced_back(model: SliceModel, found: Findings, best: np.ndarray) -> np.ndarray:
    """Return the codes that reach the best last messages."""
    n = model.names.n_categorical
    codes = np.empty((found.n_slices, n), np.int64)
    after = np.ones_like(best[:0])
    ends = {int(e) - 1 for e in found.offsets[1:]}
    lasting: dict[int, np.ndarray] = {}
    for t, sequences, at in reversed(list(_columns(found))):
        after = np.stack([
            np.ones(model.shape) if int(i) in ends else lasting[int(s)] for s, i in zip(sequences, at, strict=True)
        ])  # fmt: skip
        own = _decoded_with_past(model, found, at, t == 0, after, best[at - 1] if t else best[:0])
        codes[at] = own[:, :n]
        if t:
            for s, line in zip(sequences.tolist(), own[:, n:], strict=True):
                lasting[s] = np.zeros(model.shape)
                lasting[s][tuple(line)] = 1.0
    return codes


def _decoded_with_past(
    model: SliceModel, found: Findings, at: np.ndarray, is_first: bool, after: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Return the codes of slices and of the interfaces before them."""
    parts = []
    for piece in pieces(len(at), float(model.n_states)):
        parts.append(_decoded(model, found, at[piece], is_first, after[piece], before[piece]))
    return np.concatenate(parts)
