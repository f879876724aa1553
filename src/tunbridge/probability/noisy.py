"""Noisy-OR and noisy-MAX: each parent acts independently, and the strongest effect is observed.

Let the states of X be ordered from the lowest (no effect) to the highest. Parent i in state x_i causes a state E_i with
probability e_i[x_i, E_i], a leak E_0 represents all causes outside the model, and

    X = max(E_0, E_1, …, E_k),     P(X ≤ z | x) = P(E_0 ≤ z) Π_i P(E_i ≤ z | x_i).

With two states this is the noisy-OR, P(X = no | x) = (1 − leak) Π_i (1 − p_i) over the parents that are present: a
table of 2^k rows from k + 1 numbers. Inference computes the maximum in a chain, Z_i = max(Z_{i−1}, E_i), whose tables
have three axes for any number of parents.

References
----------
J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems, section 4.3.2 (noisy-OR).
M. Henrion (1989). Some practical issues in constructing belief networks. UAI 3, 161–173 (the leak).
F. J. Díez (1993). Parameter adjustment in Bayes networks: the generalized noisy OR-gate. UAI, 99–105 (noisy-MAX).
D. Heckerman, J. S. Breese (1996). Causal independence for probability assessment and inference using Bayesian networks.
IEEE Transactions on Systems, Man and Cybernetics A 26, 826–831 (the chain).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, counted, listed, shortened
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import ConditionalTable
from tunbridge.probability.reading import (
    Parents,
    Row,
    as_floats,
    checked_family,
    checked_row,
    checked_rows,
    locked,
    read_row,
    state_code,
)

_PRESENT = {"yes", "true", "present", "1", "on", "positive", "y", "t"}
_ABSENT = {"no", "false", "absent", "0", "off", "negative", "n", "f"}

Factor = tuple[tuple[str | int, ...], np.ndarray]
"""The axes of a small table, a name for a variable and a number for an auxiliary one, and the table."""


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class NoisyMaxCPT(ConditionalTable):
    """The conditional table of the highest of independent effects, one for each parent, and a leak.

    :func:`noisy_or` and :func:`noisy_max` are shorter ways to make one.

    Parameters
    ----------
    variable : Variable
        The effect.
    parents : sequence of Variable
        The causes.
    effects : sequence of array-like
        For each parent an array of shape (its n_states, n_states): the distribution of the effect of each of its states
        alone, in the order of the variable's states. In the absent state of a parent, by convention its first, all
        weight is on the lowest state.
    leak : row, optional
        The distribution of the effect if all parents are absent; default: the lowest state.
    order : sequence of states, optional
        The variable's states from the lowest to the highest; default: their own order.

    Attributes
    ----------
    effects : tuple of ndarray
        As given, checked, with the variable's states in their own order.
    leak : ndarray
        Likewise.
    order : tuple of int
        The codes of the variable's states from the lowest to the highest.

    Examples
    --------
    >>> pain = Variable("Pain", ["none", "mild", "severe"])
    >>> flu, fall = Variable("Flu", ["no", "yes"]), Variable("Fall", ["no", "yes"])
    >>> table = NoisyMaxCPT(pain, [flu, fall], [[[1, 0, 0], [0.5, 0.5, 0]], [[1, 0, 0], [0.2, 0.4, 0.4]]])
    >>> table.distribution({"Flu": "yes", "Fall": "yes"})
    Pain
    none    0.1
    mild    0.5
    severe  0.4
    """

    effects: tuple[np.ndarray, ...]
    leak: np.ndarray
    order: tuple[int, ...]

    def __init__(
        self,
        variable: Variable,
        parents: Parents,
        effects: Sequence[ArrayLike],
        leak: Row | None = None,
        *,
        order: Sequence[State] | None = None,
    ) -> None:
        family = checked_family(variable, parents)
        codes = _checked_order(variable, order)
        if not isinstance(effects, Sequence | np.ndarray) or len(effects) != len(family):
            got = len(effects) if hasattr(effects, "__len__") else shortened(repr(effects))
            rule = f"must be {counted(len(family), 'table')}, one for each parent"
            raise DataError(f"the effects on {variable.name!r} {rule}; got {got}.")
        tables = tuple(_checked_effect(variable, p, e) for p, e in zip(family, effects, strict=True))
        row = _point(variable, codes[0]) if leak is None else checked_row("the leak", variable, leak)
        self._set_family(variable, family)
        self.__dict__.update(effects=tables, leak=locked(row), order=codes, counts=None)

    @classmethod
    def of_valid(
        cls,
        variable: Variable,
        parents: tuple[Variable, ...],
        effects: tuple[np.ndarray, ...],
        leak: np.ndarray,
        order: tuple[int, ...],
    ) -> NoisyMaxCPT:
        """Return the table of valid arrays, without checks; they are made read-only, not copied."""
        self = object.__new__(cls)
        self._set_family(variable, parents)
        self.__dict__.update(effects=tuple(map(locked, effects)), leak=locked(leak), order=order, counts=None)
        return self

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: those of every parent state except the absent one, and of the leak."""
        return (1 + sum(p.n_states - 1 for p in self.parents)) * (self.variable.n_states - 1)

    def with_counts(self, counts: ArrayLike | None) -> Self:
        """Return the table itself for ``None``; it has no rows that could have counts."""
        if counts is None:
            return self
        raise DataError(
            f"counts must be those of stored rows; the noisy-MAX table of {self.variable.name!r} stores none. "
            "Convert it to a CPT first: CPT(variable, parents, table.table())."
        )

    # A state is the maximum if the old maximum has it and the new effect is not higher, or the new effect alone has it.
    # Sums of products only, so that small probabilities keep all digits; differences of P(X ≤ z) would lose them.

    def _table(self) -> np.ndarray:
        ranks = list(self.order)
        table = self.leak[ranks]
        for effect in self.effects:
            table = _maximum(table[..., None, :], effect[:, ranks])
        return self._in_own_order(table)

    def _rows(self, codes: np.ndarray) -> np.ndarray:
        ranks = list(self.order)
        rows = np.tile(self.leak[ranks], (len(codes), 1))
        for effect, column in zip(self.effects, codes.T, strict=True):
            rows = _maximum(rows, effect[:, ranks][column])
        return self._in_own_order(rows)

    def _reduced(self, fixed: dict[int, int]) -> NoisyMaxCPT:
        ranks = list(self.order)
        leak = self.leak[ranks]
        for i, code in fixed.items():
            leak = _maximum(leak, self.effects[i][code, ranks])
        free = [i for i in range(len(self.parents)) if i not in fixed]
        parents, effects = tuple(self.parents[i] for i in free), tuple(self.effects[i] for i in free)
        return NoisyMaxCPT.of_valid(self.variable, parents, effects, self._in_own_order(leak), self.order)

    def _in_own_order(self, by_rank: np.ndarray) -> np.ndarray:
        out = np.empty_like(by_rank)
        out[..., list(self.order)] = by_rank
        return out

    def factors(self) -> list[Factor]:
        """Return small tables whose product, summed over the auxiliary variables, is the whole table.

        The auxiliary variable i is the highest effect of the leak and the parents up to and including number i. With
        parents x_0 … x_k the tables are over (x_0, 0), (0, x_1, 1), …, (k − 1, x_k, X).

        Returns
        -------
        list of (axes, ndarray)
            The axes are names of variables, or numbers from 0 for the auxiliary ones, which have as many states as the
            variable. No table has more than three axes.

        Examples
        --------
        >>> yes_no = ["no", "yes"]
        >>> causes = {Variable(name, yes_no): 0.5 for name in ["A", "B", "C"]}
        >>> [axes for axes, _ in noisy_or(Variable("X", yes_no), causes).factors()]
        [('A', 0), (0, 'B', 1), (1, 'C', 'X')]
        """
        ranks = list(self.order)
        if not self.parents:
            return [((self.variable.name,), self.leak)]
        tables = [_maximum(self.leak[ranks], self.effects[0][:, ranks])]
        steps = np.eye(self.variable.n_states)[:, None, :]  # the old maximum, known
        tables += [_maximum(steps, effect[:, ranks]) for effect in self.effects[1:]]
        tables[-1] = self._in_own_order(tables[-1])
        after: list[str | int] = [*range(len(self.parents) - 1), self.variable.name]
        axes = [(i - 1, p.name, after[i]) if i else (p.name, after[i]) for i, p in enumerate(self.parents)]
        return list(zip(axes, map(locked, tables), strict=True))

    def _values(self) -> tuple[np.ndarray, ...]:
        return self.leak, np.array(self.order), *self.effects


def noisy_or(
    variable: Variable,
    causes: Mapping[Variable, Any],
    leak: float = 0.0,
    *,
    absent: Mapping[str, State] | None = None,
) -> NoisyMaxCPT:
    """Return the table of an effect that each present cause produces independently with some probability.

    Parameters
    ----------
    variable : Variable
        The effect, of two states.
    causes : mapping of Variable to probability
        The probability that the cause alone produces the effect; for a parent of more than two states a mapping from
        state to probability, with every state except the absent one.
    leak : float
        The probability of the effect without any cause.
    absent : mapping of name to state, optional
        The absent state of variables; default: their first state.

    Examples
    --------
    >>> fever, cold, flu = (Variable(name, ["no", "yes"]) for name in ["Fever", "Cold", "Flu"])
    >>> table = noisy_or(fever, {cold: 0.4, flu: 0.8}, leak=0.01)
    >>> print(table)
    Fever given Cold, Flu
    Cold  Flu  no      yes
    no    no   0.99    0.01
    no    yes  0.198   0.802
    yes   no   0.594   0.406
    yes   yes  0.1188  0.8812
    """
    _check_is_variable("the effect of a noisy-OR", variable)
    if variable.n_states != 2:
        raise DataError(f"the effect of a noisy-OR must have two states; got {variable!r}. noisy_max allows more.")
    parents = _cause_variables(causes)
    none = _absent_codes((variable, *parents), absent)
    low = none[variable.name]
    effects = [_or_effect(variable, p, causes[p], none[p.name], low) for p in parents]
    row = _share(check_number(f"the leak of {variable.name!r}", leak, low=0, high=1), low)
    states = variable.states or ()
    return NoisyMaxCPT(variable, parents, effects, row, order=[states[low], states[1 - low]])


def noisy_max(
    variable: Variable,
    causes: Mapping[Variable, Any],
    leak: Row | None = None,
    *,
    absent: Mapping[str, State] | None = None,
    order: Sequence[State] | None = None,
) -> NoisyMaxCPT:
    """Return the table of an effect of which each cause alone produces some degree; the highest is observed.

    Parameters
    ----------
    variable : Variable
        The effect, its states from the lowest to the highest (or see ``order``).
    causes : mapping of Variable to effects
        For each parent a mapping from its states to rows, with every state except the absent one, or an array of shape
        (its n_states, n_states).
    leak : row, optional
        The distribution of the effect without any cause; default: its lowest state.
    absent : mapping of name to state, optional
        The absent state of parents; default: their first state.
    order : sequence of states, optional
        The effect's states from the lowest to the highest.

    Examples
    --------
    >>> harm, dose = Variable("Harm", ["none", "some", "much"]), Variable("Dose", ["0", "low", "high"])
    >>> effects = {"low": [0.8, 0.2, 0.0], "high": {"some": 0.5, "much": 0.5}}
    >>> noisy_max(harm, {dose: effects}, leak=[0.9, 0.1, 0.0]).distribution({"Dose": "low"})
    Harm
    none  0.72
    some  0.28
    much  0
    """
    _check_is_variable("the effect of a noisy-MAX", variable)
    parents = _cause_variables(causes)
    none = _absent_codes(parents, absent)
    checked_family(variable, parents)
    if order is None and _begins_present(variable):
        raise _order_error(variable, f"order=[{listed(reversed(variable.states or ()))}]")
    lowest = _point(variable, _checked_order(variable, order)[0])
    effects = []
    for p in parents:
        given = causes[p]
        if isinstance(given, Mapping):
            rows = _by_code(variable, p, given, none[p.name], lowest)
            given = [read_row(variable, (p,), row, (code,)) for code, row in enumerate(rows)]
        effects.append(given)
    return NoisyMaxCPT(variable, parents, effects, leak, order=order)


def _maximum(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the distribution of the higher of two independent effects (last axis, by rank; the others broadcast)."""
    below = np.zeros_like(old)
    below[..., 1:] = np.cumsum(old[..., :-1], axis=-1)
    return old * np.cumsum(new, axis=-1) + below * new


def _checked_order(variable: Variable, order: Sequence[State] | None) -> tuple[int, ...]:
    if order is None:
        return tuple(range(variable.n_states))
    codes = tuple(variable.code(state) for state in order)
    if sorted(codes) != list(range(variable.n_states)):
        rule = f"the order of the states of {variable.name!r} must name each of them once"
        raise DataError(f"{rule}; got {listed(order)}.")
    return codes


def _checked_effect(variable: Variable, parent: Variable, effect: ArrayLike) -> np.ndarray:
    what, shape = f"the effects of {parent.name!r} on {variable.name!r}", (parent.n_states, variable.n_states)
    array = as_floats(what, effect)
    if array.shape != shape:
        raise DataError(f"{what} must have the shape {shape}; got {array.shape}.")
    return locked(checked_rows(variable, (parent,), array))


def _cause_variables(causes: object) -> tuple[Variable, ...]:
    if not isinstance(causes, Mapping):
        raise DataError(f"causes must map parents to their effects; got {shortened(repr(causes))}.")
    for cause in causes:
        _check_is_variable("a cause", cause)
    return tuple(causes)


def _check_is_variable(what: str, given: object) -> None:
    if not isinstance(given, Variable):
        shown = shortened(repr(given))
        hint = f" A name needs its states: Variable({shown}, ['no', 'yes'])." if isinstance(given, str) else ""
        raise DataError(f"{what} must be a Variable; got {shown}.{hint}")


def _absent_codes(variables: Sequence[Variable], given: Mapping[str, State] | None) -> dict[str, int]:
    """Return the code of the absent state of each variable; raise if its first state looks like the present one."""
    names = [v.name for v in variables]
    absent = {} if given is None else given
    if not isinstance(absent, Mapping):
        such = f", such as {{{names[-1]!r}: {absent!r}}}" if names and isinstance(absent, str) else ""
        raise DataError(f"absent must be a dict from parent to state{such}; got {shortened(repr(absent))}.")
    unknown = [name for name in absent if name not in names]
    if unknown:
        raise DataError(f"absent must name variables of the table; got {listed(unknown)}. Known: {listed(names)}.")
    codes = {v.name: v.code(absent[v.name]) if v.name in absent else 0 for v in variables}
    for v in variables:
        if v.name not in absent and _begins_present(v):
            raise _order_error(v, f"absent={{{v.name!r}: {(v.states or ())[1]!r}}}")
    return codes


def _begins_present(variable: Variable) -> bool:
    """Return whether the first of two states looks like the present one, such as yes of yes and no."""
    texts = [str(state).casefold() for state in variable.states or ()]
    return len(texts) == 2 and texts[0] in _PRESENT and texts[1] in _ABSENT


def _order_error(variable: Variable, argument: str) -> DataError:
    rule = f"the first state of {variable.name!r} must be the absent one; got {(variable.states or ())[0]!r}"
    return DataError(f"{rule}. Reorder its states, or give {argument}.")


def _or_effect(variable: Variable, parent: Variable, given: object, none: int, low: int) -> np.ndarray:
    what = f"the effect of {parent.name!r} on {variable.name!r}"
    if isinstance(given, Mapping):
        shares = _by_code(variable, parent, given, none, 0.0)
    elif parent.n_states == 2:
        shares = [0.0, given] if none == 0 else [given, 0.0]
    else:
        rule = f"must be a mapping from state to probability, as it has {counted(parent.n_states, 'state')}"
        raise DataError(f"{what} {rule}; got {shortened(repr(given))}.")
    return np.array([_share(check_number(what, share, low=0, high=1), low) for share in shares])


def _by_code(variable: Variable, parent: Variable, given: Mapping[Any, Any], none: int, absent: object) -> list[Any]:
    """Return the value for each state of a parent, in their order; only the absent state may be omitted."""
    what, found = f"the effects of {parent.name!r} on {variable.name!r}", {}
    for state, effect in given.items():
        code = state_code(variable, parent, state)
        if code in found:
            raise DataError(f"{what} must be given once for a state; got {state!r} again.")
        found[code] = effect
    found.setdefault(none, absent)
    missing = [s for code, s in enumerate(parent.states or ()) if code not in found]
    if missing:
        has = "has" if len(missing) == 1 else "have"
        raise DataError(f"{what} must be given for every state except the absent one; {listed(missing)} {has} none.")
    return [found[code] for code in range(parent.n_states)]


def _share(share: float, low: int) -> list[float]:
    return [1.0 - share, share] if low == 0 else [share, 1.0 - share]


def _point(variable: Variable, code: int) -> np.ndarray:
    row = np.zeros(variable.n_states)
    row[code] = 1.0
    return row
