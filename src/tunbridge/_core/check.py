"""Checks made once, at the public border, and the sentences they answer with."""

from __future__ import annotations

import difflib
import heapq
import inspect
import math
import numbers
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from tunbridge.errors import DataError, FileMissingError

T = TypeVar("T")

_SHOWN = 8
_WIDTH = 60
# Finding the nearest of more names than this, or by more of their letters, would keep the reader waiting.
_COMPARED, _COMPARED_LENGTH = 10_000, 100
_CANDIDATES = 200


def shortened(text: str, width: int = _WIDTH) -> str:
    """Return text of at most ``width`` characters; a dot mark stands for what was cut off.

    Examples
    --------
    >>> shortened("a very long name", 8)
    'a very …'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "arc"), counted(1200, "arc"), counted(2**80, "row")
    ('1 arc', '1 200 arcs', 'about 10^24 rows')
    """
    number = f"{n:,}".replace(",", " ") if n < 10**15 else f"about 10^{math.log10(n):.0f}"
    return f"{number} {noun}{'' if n == 1 else 's'}"


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
    shown = ", ".join(shortened(repr(item)) for item in items[:most])
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
    return _nearest(name, known) or (f"Known: {listed(known)}." if known else "There are none.")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, naming the first line outside this package as the place: what the user wrote, however deep we are."""
    package, level, frame = __name__.split(".")[0], 1, inspect.currentframe()
    while frame and frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _error(what: str, message: str) -> DataError:
    """Return the error about an argument, which carries the name of the parameter where ``what`` is one."""
    return DataError(message, parameter=what if what.isidentifier() else None)


def check_fitted(estimator: object) -> None:
    """Raise unless an estimator has been fitted; the error is scikit-learn's NotFittedError too.

    Whoever catches that error has imported scikit-learn; this room does not. Without it the error is what that one is
    besides a ValueError: an AttributeError.
    """
    if hasattr(estimator, "__sklearn_is_fitted__"):
        fitted = bool(estimator.__sklearn_is_fitted__())
    else:
        fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
    if not fitted:
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", AttributeError)
        kind = type("UnfittedError", (DataError, theirs), {"__reduce__": lambda e: (DataError, e.args)})
        name = type(estimator).__name__
        raise kind(f"an estimator must be fitted first; this {name} is not fitted yet. Call fit.")


def check_choice(what: str, value: object, choices: Sequence[object]) -> None:
    """Raise unless value is one of the choices."""
    if not any(isinstance(value, type(choice)) and value == choice for choice in choices):
        hint = _nearest(value, choices)
        raise _error(what, f"{what} must be one of {listed(choices)}; got {_repr(value)}.{hint and ' ' + hint}")


def as_list(what: str, values: Iterable[T], of: str = "names") -> list[T]:
    """Return values as a list; raise for a text, whose letters would be taken for values.

    Examples
    --------
    >>> as_list("columns", "age")
    Traceback (most recent call last):
    tunbridge.errors.DataError: columns must be a list of names; got the text 'age'. Write ['age'].
    """
    if isinstance(values, str):
        raise _error(what, f"{what} must be a list of {of}; got the text {values!r}. Write [{values!r}].")
    return list(values)


def check_known(
    rule: str, names: Iterable[object], known: Collection[object], error: type[DataError] = DataError
) -> None:
    """Raise unless every name is known; the message is the rule, the name, and the nearest known one.

    Examples
    --------
    >>> check_known("kinds must name columns", ["agee"], ["age", "sex"])
    Traceback (most recent call last):
    tunbridge.errors.DataError: kinds must name columns; got 'agee'. Did you mean 'age'?
    """
    for name in names:
        if name not in known:
            raise error(f"{rule}; got {name!r}. {did_you_mean(name, known)}")


def repeated(values: Iterable[T]) -> list[T]:
    """Return the values that occur more than once.

    Examples
    --------
    >>> repeated(["a", "b", "c", "b", "a", "b"])
    ['a', 'b']
    """
    return [value for value, n in Counter(values).items() if n > 1]


def missing_file(file: Path) -> FileMissingError:
    """Return the error about a file that does not exist, with the nearest name in its folder."""
    if not file.parent.is_dir():
        return FileMissingError(f"path must be a file that exists; there is no folder {str(file.parent)!r}.")
    near = difflib.get_close_matches(file.name, sorted(each.name for each in file.parent.iterdir()), n=1, cutoff=0.6)
    hint = f" Did you mean {str(file.with_name(near[0]))!r}?" if near else ""
    return FileMissingError(f"path must be a file that exists; got {str(file)!r}.{hint}")


def install_hint(package: str) -> str:
    """Return the sentence that says how to install a package into the environment of this process.

    Where no environment is activated, a plain ``pip`` may install into another one.
    """
    name = sys.executable or "python"
    with suppress(ValueError):  # of Path.relative_to
        name = str(Path(name).relative_to(Path.cwd()))
    return f"Install it: {shlex.quote(name)} -m pip install {package}"


def check_number(
    what: str, value: object, *, low: float | None = None, above: float | None = None, high: float | None = None
) -> float:
    """Return value as a float; raise unless it is a finite number, ≥ low, > above and ≤ high."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise _error(what, f"{what} must be a number; got {_repr(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    rules = [
        (low is None or number >= low, f"at least {low}"),
        (above is None or number > above, f"greater than {above}"),
        (high is None or number <= high, f"at most {high}"),
        (number - number == 0.0, "finite"),
    ]
    for holds, rule in rules:
        if not holds:
            raise _error(what, f"{what} must be {rule}; got {_repr(value)}.")
    return number


def check_integer(what: str, value: object, *, low: int, optional: bool = False) -> None:
    """Raise unless value is an integer, at least ``low``, or None if that is allowed."""
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _error(what, f"{what} must be an integer{', or None' if optional else ''}; got {_repr(value)}.")
    if value < low:
        raise _error(what, f"{what} must be at least {low}; got {_repr(value)}.")


def _nearest(name: object, known: Sequence[object]) -> str:
    """Return the question whether the nearest known name was meant; no text when none is near."""
    if len(known) > _COMPARED:
        return ""
    wanted, texts = _start_of(name), {_start_of(k): k for k in reversed(known)}  # of those that start alike the first
    some = texts if len(texts) <= _CANDIDATES else heapq.nlargest(_CANDIDATES, texts, lambda k: _common(wanted, k))
    near = difflib.get_close_matches(wanted, list(some), n=1, cutoff=0.6)
    return f"Did you mean {_repr(texts[near[0]])}?" if near else ""


def _start_of(name: object) -> str:
    return str(name)[:_COMPARED_LENGTH].casefold()


def _common(one: str, other: str) -> int:
    """Return how many letters two texts have in common at their starts and ends: of a slip nearly all of them."""
    return _common_start(one, other) + _common_start(one[::-1], other[::-1])


def _common_start(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _repr(value: object) -> str:
    try:
        return shortened(repr(value))
    except ValueError:  # Python refuses to write so large an integer
        return "a larger integer than can be written"
