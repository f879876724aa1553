"""Rows and configurations as people write them: lists or mappings of probabilities, states by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from tunbridge._check import did_you_mean, listed, shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import condition_text
from tunbridge.probability.floats import TOLERANCE, as_float

_HINT = "Give a list in the order of the states, or a mapping from state to probability."


def configuration_of(variable: Variable, parents: Sequence[Variable], key: object) -> tuple[int, ...]:
    """Return the codes of a configuration: a tuple of states, or the bare state of a single parent.

    Examples
    --------
    >>> sky = Variable("Sky", ["clear", "grey"])
    >>> configuration_of(Variable("Rain", ["no", "yes"]), [sky], "grey")
    (1,)
    """
    if len(parents) == 1 and (code := parents[0].find(key)) >= 0:
        return (code,)
    states = key if isinstance(key, tuple) else (key,)
    if len(states) != len(parents):
        names = listed(p.name for p in parents) or "none, an empty tuple"
        rule = f"must be a tuple with a state of each parent ({names})"
        raise DataError(f"a key of the rows of {variable.name!r} {rule}; got {key!r}.")
    return tuple(state_code(variable, parent, state) for parent, state in zip(parents, states, strict=True))


def state_code(variable: Variable, parent: Variable, state: object) -> int:
    """Return the code of a parent's state; raise an error that also names the variable."""
    code = parent.find(state)
    if code < 0:
        hint = did_you_mean(state, parent.states or ())
        raise DataError(
            f"the table of {variable.name!r} must name states of its parent {parent.name!r}; got {state!r}. {hint}"
        )
    return code


def read_row(variable: Variable, parents: Sequence[Variable], row: Any, codes: Sequence[int]) -> Sequence[float]:
    """Return a row as numbers in the order of the states; whether it is a distribution is checked later, for all."""
    if isinstance(row, Mapping):
        return _mapped_row(variable, parents, row, codes)
    if isinstance(row, str | bytes | Set) or not hasattr(row, "__len__") or getattr(row, "ndim", 1) != 1:
        shown = shortened(repr(row))
        raise DataError(f"{_named(variable, parents, codes)} must be {variable.n_states} numbers; got {shown}. {_HINT}")
    if len(row) != variable.n_states:
        states = listed(variable.states or ())
        rule = f"must be {variable.n_states} numbers, for the states {states}"
        raise DataError(f"{_named(variable, parents, codes)} {rule}; got {len(row)}.")
    what = _named(variable, parents, codes)
    return [as_float(what, p) for p in row]


def _mapped_row(
    variable: Variable, parents: Sequence[Variable], row: Mapping[Any, Any], codes: Sequence[int]
) -> list[float]:
    """Return a row given by state; a state that is not there has probability 0 when the others sum to one."""
    found: dict[int, float] = {}
    for state, value in row.items():
        code = variable.find(state)
        if code < 0 or code in found:
            rule = "must name states" if code < 0 else "must name every state once"
            hint = did_you_mean(state, variable.states or ())
            raise DataError(f"{_named(variable, parents, codes)} {rule} of it; got {state!r}. {hint}")
        found[code] = as_float(_named(variable, parents, codes), value)
    check_absent(variable, parents, found, number_of(parents, codes))
    return [found.get(code, 0.0) for code in range(variable.n_states)]


def check_absent(variable: Variable, parents: Sequence[Variable], found: Mapping[int, float], number: int) -> None:
    """Raise when states have no probability in a configuration although the others do not sum to one."""
    absent = [s for code, s in enumerate(variable.states or ()) if code not in found]
    total = sum(found.values())
    if absent and not abs(total - 1.0) <= TOLERANCE:
        none = f"{listed(absent)} {'has' if len(absent) == 1 else 'have'} none"
        rule = f"must give every state a probability; {none}, and the others sum to {total:.10g}"
        raise DataError(f"the probabilities of {variable.name!r}{condition_text(parents, number)} {rule}.")


def number_of(parents: Sequence[Variable], codes: Sequence[int]) -> int:
    """Return the number of one configuration, a whole number however large.

    Examples
    --------
    >>> number_of([Variable("A", [0, 1]), Variable("B", [0, 1, 2])], [1, 2])
    5
    """
    number = 0
    for parent, code in zip(parents, codes, strict=True):
        number = number * parent.n_states + code
    return number


def _named(variable: Variable, parents: Sequence[Variable], codes: Sequence[int]) -> str:
    return f"the probabilities of {variable.name!r}{condition_text(parents, number_of(parents, codes))}"
