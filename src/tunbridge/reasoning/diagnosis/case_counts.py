"""The 2 × 2 table of a diagnostic test: how many cases it was right and wrong about.

                ill                    well
positive        true positives, TP     false positives, FP
negative        false negatives, FN    true negatives, TN
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tunbridge._check import counted, listed, warn_user
from tunbridge.data import Table, Variable, as_table
from tunbridge.errors import DataError, DataWarning
from tunbridge.reasoning.diagnosis.proportions import LARGEST
from tunbridge.reasoning.numbers import Number, Rounded, as_float, as_number, exact_sum, exact_value, like, number_text

CELLS = ("true_positives", "false_positives", "false_negatives", "true_negatives")


@dataclass(frozen=True)
class CaseCounts:
    """How many cases a test was right and wrong about, of those who are ill and of those who are well.

    Parameters
    ----------
    true_positives, false_positives, false_negatives, true_negatives : number
        At least 0 each, and cases that are ill as well as cases that are well. They need not be whole: rows may have
        weights.

    Examples
    --------
    >>> counts = CaseCounts(400, 210, 310, 1200)
    >>> counts
    CaseCounts(true_positives=400, false_positives=210, false_negatives=310, true_negatives=1200)
    >>> counts.n_ill, counts.n_well
    (710, 1410)
    """

    true_positives: Number
    false_positives: Number
    false_negatives: Number
    true_negatives: Number

    def __post_init__(self) -> None:
        for name in CELLS:
            value = as_number(name, getattr(self, name))
            if not 0 <= value <= LARGEST:
                raise DataError(f"{name} must be at least 0 and at most {LARGEST:g}; got {number_text(value)}.")
            object.__setattr__(self, name, value)
        for group, n in (("ill", self.n_ill), ("well", self.n_well)):
            if n == 0:
                raise DataError(f"the counts must have cases that are {group}; got none.")

    @property
    def n_ill(self) -> Number:
        """The number of cases that are ill, TP + FN."""
        return self.total("true_positives", "false_negatives")

    @property
    def n_well(self) -> Number:
        """The number of cases that are well, FP + TN."""
        return self.total("false_positives", "true_negatives")

    @property
    def cells(self) -> tuple[Number, Number, Number, Number]:
        """TP, FP, FN and TN."""
        return self.true_positives, self.false_positives, self.false_negatives, self.true_negatives

    def total(self, *names: str) -> Number:
        """Return the sum of some of the counts, by their names."""
        parts = [getattr(self, name) for name in names]
        return like(exact_sum(parts), parts)

    def share(self, some: Sequence[str], whole: Sequence[str]) -> Number:
        """Return the share that some of the counts have in the sum of others.

        Examples
        --------
        >>> CaseCounts(400, 210, 310, 1200).share(["true_positives"], ["true_positives", "false_positives"])
        0.6557377049180327
        """
        parts = [getattr(self, name) for name in whole]
        found = exact_value(self.total(*some)) / exact_value(self.total(*whole))
        return found if isinstance(like(found, parts), Fraction) else Rounded(found)

    def to_dict(self) -> dict[str, float]:
        """Return the counts by name, as plain numbers."""
        return {name: plain(getattr(self, name)) for name in CELLS}

    def __repr__(self) -> str:
        return f"CaseCounts({', '.join(f'{name}={number_text(getattr(self, name))}' for name in CELLS)})"


def count_cases(data: Any, truth: str, result: str, *, ill: Any, positive: Any) -> CaseCounts:
    """Return the 2 × 2 table of cases that stand in the rows of a table.

    Parameters
    ----------
    data : Table or any frame
        A row for each case; rows that miss the truth or the result are left out, with a warning, and rows count by
        their weights.
    truth, result : str
        The columns that hold who is ill, and what the test said.
    ill, positive : state, or list of states
        Which states of the two columns mean that. All others mean the opposite; of several others a warning tells.

    Examples
    --------
    >>> import tunbridge as tb
    >>> count_cases(tb.datasets.allergy(), "allergy", "test", ill="yes", positive="positive")
    CaseCounts(true_positives=400, false_positives=210, false_negatives=310, true_negatives=1200)
    """
    table = as_table(data).select([truth, result])
    is_ill = _marked(table, truth, "ill", ill)
    is_positive = _marked(table, result, "positive", positive)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    complete = table.complete
    if not complete.all():
        left_out = counted(int((~complete).sum()), "row")
        warn_user(f"{left_out} of {table.n_rows} miss {truth!r} or {result!r} and are left out.", DataWarning)
    cells = [(is_ill, is_positive), (~is_ill, is_positive), (is_ill, ~is_positive), (~is_ill, ~is_positive)]
    return CaseCounts(*(float(weights[complete & a & b].sum()) for a, b in cells))


def _marked(table: Table, name: str, what: str, states: Any) -> np.ndarray:
    """Return which rows are in one of these states."""
    variable = table.variable(name)
    if variable.is_continuous:
        hint = f"Cut it first (tb.discretise), or tb.as_table(data, kinds={{{name!r}: 'categorical'}})."
        raise DataError(f"the column {name!r} must have states; it is continuous. {hint}")
    given = states if isinstance(states, list | tuple | set | frozenset) else [states]
    codes = [_code(variable, what, state) for state in given]
    if not 0 < len(set(codes)) < variable.n_states:
        rule = f"must leave states of {name!r} for the opposite, and be one at least"
        raise DataError(f"{what} {rule}; got {len(set(codes))} of {variable.n_states}.")
    others = [state for i, state in enumerate(variable.states or ()) if i not in codes]
    if len(others) > 1:
        told = f"{listed(others)} of {name!r} all count as not {what}"
        warn_user(f"{told}. Leave rows out, or name more states of {what}=, if that is not meant.", DataWarning)
    return np.isin(table.codes(name), codes)


def _code(variable: Variable, what: str, state: object) -> int:
    code = variable.find(state)
    if code < 0:
        rule = f"{what} must be a state of {variable.name!r}"
        raise DataError(f"{rule}; got {state!r}. {variable.near_states(state)}")
    return code


def plain(number: Number) -> float:
    """Return a number as JSON has it: an int if it is whole, otherwise a float."""
    return int(number) if exact_value(number).denominator == 1 else as_float(number)
