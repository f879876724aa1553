"""Which features of a row may be changed, and to what.

Nobody grows younger, and nobody pays a negative fare: what may change, and how far, is for the user to say. A list
names features; a mapping also says what each may become, a list of values or, for a number, a range (low, high).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tunbridge._check import check_number, did_you_mean, shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError


class Allowed(NamedTuple):
    """What a feature may become: values, or anything in a range; without either, whatever it can be."""

    values: tuple[Any, ...] | None = None
    range: tuple[float, float] | None = None


def changeable(features: Any, variables: Sequence[Variable]) -> dict[int, Allowed]:
    """Return what each feature that may change may become, by its position.

    Parameters
    ----------
    features : None, str, iterable of str, or mapping of str to list, (low, high) or None
        The features that may change; None for all.
    variables : sequence of Variable
        The features of the model.

    Examples
    --------
    >>> age, sex = Variable("age"), Variable("sex", ["f", "m"])
    >>> changeable({"age": (18, 65)}, [age, sex])
    {0: Allowed(values=None, range=(18.0, 65.0))}
    """
    at = {v.name: j for j, v in enumerate(variables)}
    if features is None:
        return dict.fromkeys(at.values(), Allowed())
    if not isinstance(features, (str, Iterable)):
        raise DataError(f"features must be names of features; got {features!r}.")
    names = [features] if isinstance(features, str) else list(features)
    for name in names:
        if name not in at:
            raise DataError(f"features must name features of the model; got {name!r}. {did_you_mean(name, at)}")
    said = features if isinstance(features, Mapping) else dict.fromkeys(names)
    return {j: _allowed(variables[j], said[name]) for name, j in at.items() if name in said}


def _allowed(variable: Variable, given: Any) -> Allowed:
    if given is None:
        return Allowed()
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    if variable.is_categorical:
        return Allowed(tuple((variable.states or ())[variable.code(state)] for state in given))
    numbers = tuple(check_number(f"what {variable.name!r} may become", x) for x in given)
    if not (isinstance(given, tuple) and len(numbers) == 2):
        return Allowed(numbers)
    if numbers[0] >= numbers[1]:
        rule = f"the range of {variable.name!r} must be (low, high), low below high"
        raise DataError(f"{rule}; got {shortened(repr(given))}. A list gives single values.")
    return Allowed(range=(numbers[0], numbers[1]))
