"""The states of two variables of one name put together, as when counts of different rows are merged."""

from __future__ import annotations

from tunbridge._check import listed
from tunbridge.data import MISSING, State, Variable
from tunbridge.errors import DataError


def merge_states(a: Variable, b: Variable) -> Variable:
    """Return the variable with the states of both, those of the first one first.

    Its order means something only where both orders do and they tell how the new states follow. Cut points are kept,
    with their intervals in order: nothing can be added to them, so the others' states must be among them.

    Examples
    --------
    >>> merge_states(Variable("Wind", ["strong", "weak"]), Variable("Wind", ["none", "weak"]))
    Variable('Wind', ['strong', 'weak', 'none'])
    """
    if a.is_continuous != b.is_continuous:
        raise DataError(
            f"{a.name!r} must be of one kind in both; it is categorical in one and continuous in the other."
        )
    if a.cuts is not None or b.cuts is not None:
        return _merge_intervals(a, b)
    if a.states == b.states or not b.states:
        return a
    if not a.states:
        return b
    new = _new_states(a, b)
    return Variable(a.name, [*a.states, *new], ordered=a.ordered and b.ordered and _continues(a, b, new))


def _merge_intervals(a: Variable, b: Variable) -> Variable:
    """Return the one of two variables that has cut points, if the other has the same ones or only labels of it."""
    cut, other = (b, a) if a.cuts is None else (a, b)
    if other.cuts not in (None, cut.cuts):
        rule = f"{a.name!r} must be cut at the same points in both"
        raise DataError(f"{rule}; got {listed(cut.cuts or ())} and {listed(other.cuts or ())}. Discretise both alike.")
    known = set(cut.states or ())
    new = [state for state in other.states or () if state not in known]
    if new:
        rule = f"{a.name!r} is cut into intervals, of which its states must be in both"
        raise DataError(f"{rule}; got {listed(new)}. Discretise both at the same cut points.")
    return cut


def _new_states(a: Variable, b: Variable) -> list[State]:
    """Return the states of b that are none of a's; of several that read like one of a's only the first is that one."""
    known = set(a.states or ())
    taken = {a.find(state) for state in b.states or () if state in known}
    new: list[State] = []
    for state in b.states or ():
        code = a.find(state)
        if state not in known and (code == MISSING or code in taken):
            new.append(state)
        taken.add(code)
    return new


def _continues(a: Variable, b: Variable, new: list[State]) -> bool:
    """Whether b's states are in a's order, and its new ones follow the last of a's."""
    n_known = b.n_states - len(new)
    codes = [a.find(state) for state in (b.states or ())[:n_known]]
    if MISSING in codes or codes != sorted(codes):
        return False
    return not new or (bool(codes) and codes[-1] == a.n_states - 1)
