"""Several results of a test, and several tests taken as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tunbridge._check import shortened
from tunbridge.errors import DataError
from tunbridge.reasoning.numbers import Number, complement, exact_value, like, number_text

if TYPE_CHECKING:
    from tunbridge.reasoning.diagnosis.diagnostic import DiagnosticTest

_SIGNS = {"+": "+", "positive": "+", True: "+", "-": "-", "−": "-", "negative": "-", False: "-"}


def as_results(results: Any) -> list[str]:
    """Return one result or several as a list of "+" and "-".

    Examples
    --------
    >>> as_results("+"), as_results("++-"), as_results(["positive", False])
    (['+'], ['+', '+', '-'], ['+', '-'])
    """
    try:
        given = [results] if _sign(results) else list(results)
    except TypeError:  # a number, say
        given = [results]
    found = [_sign(each) for each in given]
    if isinstance(results, Mapping) or "" in found:
        wrong = results if isinstance(results, str | Mapping) else given[found.index("")]
        rule = "a result must be '+' or '-', 'positive' or 'negative'"
        raise DataError(f"{rule}; got {shortened(repr(wrong))}.")
    return found


def in_series(tests: Sequence[DiagnosticTest]) -> tuple[Number, Number]:
    """Return sensitivity and specificity where all tests must be positive: Π se, 1 − Π (1 − sp)."""
    return _product(t.sensitivity for t in tests), complement(_product(t.false_positive_rate for t in tests))


def in_parallel(tests: Sequence[DiagnosticTest]) -> tuple[Number, Number]:
    """Return sensitivity and specificity where one positive test is enough: 1 − Π (1 − se), Π sp."""
    return complement(_product(t.false_negative_rate for t in tests)), _product(t.specificity for t in tests)


def common_prevalence(tests: Sequence[DiagnosticTest]) -> Number | None:
    """Return the prevalence of tests, which must be the same for all that have one."""
    known = [test.prevalence for test in tests if test.prevalence is not None]
    for other in known[1:]:
        if exact_value(other) != exact_value(known[0]):
            shown = f"{number_text(known[0])} and {number_text(other)}"
            raise DataError(f"combined tests must have the same prevalence; got {shown}. Use test.at(prevalence).")
    return known[0] if known else None


def _sign(result: Any) -> str:
    try:
        return _SIGNS.get(result.strip().lower() if isinstance(result, str) else result, "")
    except TypeError:  # a list, say
        return ""


def _product(values: Iterable[Number]) -> Number:
    factors = list(values)
    return like(math.prod(map(exact_value, factors)), factors)  # type: ignore[arg-type]
