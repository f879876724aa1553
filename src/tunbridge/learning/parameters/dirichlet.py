"""A Dirichlet prior by cells: pseudo-counts for each state in each configuration of the parents.

A row θ_j of a conditional table with the prior Dirichlet(α_j1, …, α_jr) and the counts n_jk has the distribution
Dirichlet(n_j1 + α_j1, …, n_jr + α_jr) after the data, whose mean

    P(k | j) = (n_jk + α_jk) / (n_j + α_j),     α_j = Σ_k α_jk,

is the estimate: α_jk pseudo-counts are added to the n_jk counts. Expert knowledge such as «about nine in ten, from
twenty cases» is α = (18, 2).

References
----------
D. Heckerman, D. Geiger, D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
statistical data. Machine Learning 20, 197–243.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, listed, shortened
from tunbridge.counts import Counts
from tunbridge.counts.radix import configuration_numbers
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.reading import as_floats, configuration_of, locked

_MOST = 1e100
"""With larger numbers the sum of a row could overflow."""


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet:
    """A Dirichlet prior on every row of every table, given by its pseudo-counts α.

    Parameters
    ----------
    alpha : number or mapping of variable to pseudo-counts
        A number is the α of every cell. A mapping gives α by variable, each as

        * a number, for every cell;
        * a row, for every configuration of the parents: a list in the order of the states, or a mapping from state to
          α;
        * rows by configuration: a mapping from the parents' states (a tuple in the order of the parents, or the bare
          state of a single one) to a row;
        * an array with an axis for each parent, in the order of the node's parents, and then the variable's.
    default : number
        The α of the variables and configurations that ``alpha`` does not mention.

    Examples
    --------
    >>> import tunbridge as tb
    >>> prior = tb.Dirichlet({"play": {"Strong": {"no": 3, "yes": 1}, "Weak": {"no": 1, "yes": 9}}}, default=0.5)
    >>> net = tb.fit_parameters(tb.DAG(["wind", "play"], [("wind", "play")]), tb.datasets.play_tennis(), prior)
    >>> net.cpt("play").counts.tolist()
    [[6.0, 4.0], [3.0, 15.0]]
    >>> print(net.cpt("play"))
    play given wind
    wind    no        yes
    Strong  0.6       0.4
    Weak    0.166667  0.833333
    """

    alpha: float | Mapping[str, Any] = 1.0
    default: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "default", _pseudo_count("default", self.default))
        object.__setattr__(self, "alpha", _read_alpha(self.alpha))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that have their own pseudo-counts."""
        return tuple(self.alpha) if isinstance(self.alpha, Mapping) else ()

    def added(self, counts: Counts) -> float | np.ndarray:
        """Return α for a family: a number, a row, or an array of the shape of its counts."""
        given = self._given(counts.child)
        if isinstance(given, Mapping):
            return self._by_configuration(counts, given) if _has_rows(given) else _row(counts.child, given)
        return given if isinstance(given, float) else _shaped(counts, given)

    def completed(self, counts: Counts) -> Counts:
        """Return sparse counts with a row for every configuration that has its own pseudo-counts."""
        given = self._given(counts.child)
        if counts.configurations is None or isinstance(given, float):
            return counts
        if isinstance(given, Mapping):
            return _with_rows(counts, _codes(counts, given)) if _has_rows(given) else counts
        return counts.dense() if given.ndim > 1 else counts

    def unseen(self, counts: Counts) -> np.ndarray:
        """Return the distribution of configurations without rows and without their own pseudo-counts."""
        given, child = self._given(counts.child), counts.child
        row = np.ones(child.n_states)
        if isinstance(given, Mapping) and not _has_rows(given):
            row = _row(child, given)
        elif isinstance(given, np.ndarray) and given.shape == (child.n_states,):
            row = given
        return row / row.sum() if row.sum() > 0 else np.full(child.n_states, 1.0 / max(1, child.n_states))

    def _given(self, child: Variable) -> Any:
        return self.alpha.get(child.name, self.default) if isinstance(self.alpha, Mapping) else self.alpha

    def _by_configuration(self, counts: Counts, given: Mapping[Any, Any]) -> np.ndarray:
        added = np.full(counts.table.shape, self.default)
        at = _positions(counts, _codes(counts, given))
        for i, row in zip(at, given.values(), strict=True):
            if i >= 0:
                added[i] = row if isinstance(row, float) else _row(counts.child, row)
        return added

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dirichlet):
            return NotImplemented
        return (self.default, _plain(self.alpha)) == (other.default, _plain(other.alpha))

    def __hash__(self) -> int:
        return hash((self.default, frozenset(self.variables) or self.alpha))

    def __repr__(self) -> str:
        if not isinstance(self.alpha, Mapping):
            return f"Dirichlet(alpha={self.alpha:g})"
        return f"Dirichlet(alpha={shortened(repr(_plain(self.alpha)))}, default={self.default:g})"


# Checks


def _read_alpha(alpha: object) -> float | Mapping[str, Any]:
    if not isinstance(alpha, Mapping):
        if isinstance(alpha, Real) and not isinstance(alpha, bool):
            return _pseudo_count("alpha", alpha)
        rule = "alpha must be a number, or map variables to pseudo-counts"
        hint = "Write {'name': [1, 2]} for the pseudo-counts of one variable."
        raise DataError(f"{rule}; got {shortened(repr(alpha))}. {hint}", parameter="alpha")
    for name in alpha:
        if not isinstance(name, str):
            raise DataError(f"alpha must map names of variables to pseudo-counts; got the key {shortened(repr(name))}.")
    return MappingProxyType({name: _read(f"alpha of {name!r}", value) for name, value in alpha.items()})


def _read(what: str, value: object) -> Any:
    """Return the pseudo-counts of one variable: a number, a mapping of numbers or of rows, or an array."""
    if isinstance(value, Real | str) or value is None:
        return _pseudo_count(what, value)
    if not isinstance(value, Mapping):
        return _array(what, value)
    if not value:
        raise DataError(f"{what} must name states or configurations; got an empty mapping.")
    read = {key: _read(f"{what} for {key!r}", entry) for key, entry in value.items()}
    if _has_rows(read):
        for key, row in read.items():
            if (isinstance(row, Mapping) and _has_rows(row)) or (isinstance(row, np.ndarray) and row.ndim != 1):
                got = shortened(repr(value[key]))
                raise DataError(f"{what} for {key!r} must be a row of pseudo-counts; got {got}.")
    return MappingProxyType(read)


def _array(what: str, value: object) -> np.ndarray:
    array = as_floats(what, value)
    if not array.ndim or not array.size:
        raise DataError(f"{what} must be an array of pseudo-counts; got {shortened(repr(value))}.")
    if not 0.0 <= array.min() <= array.max() <= _MOST:
        bad = array[~((array >= 0.0) & (array <= _MOST))].flat[0]
        raise DataError(f"{what} must be at least 0 and finite in every cell; got {bad:g}.")
    return locked(array)


def _pseudo_count(what: str, value: object) -> float:
    return check_number(what, value, low=0, high=_MOST)


def _has_rows(given: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is from configurations to rows, not from states to numbers."""
    return not all(isinstance(value, float) for value in given.values())


# Pseudo-counts of a family


def _row(variable: Variable, given: Mapping[Any, float] | np.ndarray) -> np.ndarray:
    """Return one row of pseudo-counts, in the order of the states."""
    if not isinstance(given, Mapping):
        if given.shape != (variable.n_states,):
            states = f"{variable.n_states} numbers, for the states {listed(variable.states or ())}"
            raise DataError(f"a row of alpha of {variable.name!r} must be {states}; got {len(given)}.")
        return given
    found: dict[int, float] = {}
    for state, value in given.items():
        code = variable.find(state)
        if code < 0 or code in found:
            rule = "name its states" if code < 0 else "name every state once"
            hint = did_you_mean(state, variable.states or ())
            raise DataError(f"alpha of {variable.name!r} must {rule}; got {state!r}. {hint}")
        found[code] = value
    absent = [s for code, s in enumerate(variable.states or ()) if code not in found]
    if absent:
        has = "has" if len(absent) == 1 else "have"
        raise DataError(f"alpha of {variable.name!r} must give every state a number; {listed(absent)} {has} none.")
    return np.array([found[code] for code in range(variable.n_states)])


def _shaped(counts: Counts, given: np.ndarray) -> np.ndarray:
    """Return an array as a row, or as the pseudo-counts of the configurations of the counts."""
    n_parent_states, r = [p.n_states for p in counts.parents], counts.child.n_states
    shape = (*n_parent_states, r)
    flat = (math.prod(n_parent_states), r)
    if given.shape == (r,):
        return given
    if given.shape not in (shape, flat):
        raise _shape_error(counts, given.shape, shape)
    rows = given.reshape(flat)
    if counts.configurations is None:
        return rows
    return rows[configuration_numbers(counts.configurations, n_parent_states)]


def _shape_error(counts: Counts, got: tuple[int, ...], shape: tuple[int, ...]) -> DataError:
    axes = ", ".join(v.name for v in (*counts.parents, counts.child))
    rule = f"the shape {shape[-1:]}" + (f" or {shape}" if counts.parents else "")
    hint = f"The axes are {axes}." + (" A row is used for every configuration." if counts.parents else "")
    if counts.parents and got == shape[::-1]:
        hint = f"It looks like the transpose: the axes are {axes}."
    return DataError(f"alpha of {counts.child.name!r} must have {rule}; got {got}. {hint}")


def _codes(counts: Counts, given: Mapping[Any, Any]) -> np.ndarray:
    """Return the codes of the parents in the configurations of a mapping."""
    child, parents = counts.child, counts.parents
    if not parents:
        raise DataError(f"alpha of {child.name!r} must map its states to numbers; it has no parents to map to rows.")
    codes = [configuration_of(child, parents, key) for key in given]
    if len(set(codes)) < len(codes):
        twice = next(key for i, key in enumerate(given) if codes[i] in codes[:i])
        raise DataError(f"alpha of {child.name!r} must name every configuration once; got {twice!r} again.")
    return np.array(codes, np.int64)


def _positions(counts: Counts, codes: np.ndarray) -> list[int]:
    """Return the row of the counts of each configuration; −1 if there is none."""
    if counts.configurations is None:
        return configuration_numbers(codes, [p.n_states for p in counts.parents]).tolist()
    where = {tuple(row): i for i, row in enumerate(counts.configurations.tolist())}
    return [where.get(tuple(row), -1) for row in codes.tolist()]


def _with_rows(counts: Counts, codes: np.ndarray) -> Counts:
    nothing = np.zeros((len(codes), counts.child.n_states), counts.table.dtype)
    return counts.merge(Counts(counts.child, counts.parents, nothing, codes.astype(np.int32)))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
