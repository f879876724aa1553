"""Checks made once, at the public border, and the sentences they answer with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from tunbridge.errors import DataError

_SHOWN = 8


def listed(values: Iterable[object], *, most: int = _SHOWN) -> str:
    """Return values as text for a message, the first few of a long list only.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    >>> listed(range(30), most=3)
    '0, 1, 2, … (30 in all)'
    """
    items = list(values)
    shown = ", ".join(repr(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown}, … ({len(items)} in all)"


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a hint that names the nearest known name, or lists what is known.

    Examples
    --------
    >>> did_you_mean("Smoke", ["Smoking", "Cancer"])
    "Did you mean 'Smoking'?"
    >>> did_you_mean("zebra", ["a", "b"])
    "Known: 'a', 'b'."
    """
    known = list(known)
    texts = {str(k).casefold(): k for k in known}
    near = difflib.get_close_matches(str(name).casefold(), list(texts), n=1, cutoff=0.6)
    return f"Did you mean {texts[near[0]]!r}?" if near else f"Known: {listed(known)}."


def check_choice(what: str, value: object, choices: Sequence[object]) -> None:
    """Raise unless value is one of the choices."""
    if not any(value == choice for choice in choices):
        raise DataError(f"{what} must be one of {listed(choices)}; got {value!r}. {did_you_mean(value, choices)}")


def check_number(
    what: str, value: object, *, low: float | None = None, above: float | None = None, high: float | None = None
) -> float:
    """Return value as a float; raise unless it is a finite number, ≥ low, > above and ≤ high."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise DataError(f"{what} must be a number; got {value!r}.")
    number = float(value)
    rules = [
        (low is None or number >= low, f"at least {low}"),
        (above is None or number > above, f"greater than {above}"),
        (high is None or number <= high, f"at most {high}"),
        (number - number == 0.0, "finite"),
    ]
    for holds, rule in rules:
        if not holds:
            raise DataError(f"{what} must be {rule}; got {value!r}.")
    return number
