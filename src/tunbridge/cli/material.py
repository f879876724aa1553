"""A table made ready for a network: columns of no use left out, and numbers cut into intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tunbridge._check import listed
from tunbridge.cli.options import Learning, Numeric
from tunbridge.cli.output import shortlist
from tunbridge.cli.remarks import IDENTIFIER, ONE_VALUE, SHOWN, useless_columns
from tunbridge.cli.structure import DEFAULT_BINS, Cuts, Structure
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Column, Table

_SHOWN_LABELS = 6


@dataclass(frozen=True)
class Material:
    """What a network is learned from.

    Parameters
    ----------
    table : Table
        Categorical columns; with ``--cuts none`` continuous ones too.
    read : Table
        The same columns as they were read, numbers uncut.
    left_out : dict of str to str
        The columns that were left out, and why.
    cut : list of str
        A line for each column of numbers that was cut.
    """

    table: Table
    read: Table
    left_out: dict[str, str]
    cut: list[str]

    @property
    def left_out_lines(self) -> list[str]:
        """A line for each column that was left out, and what to do about it."""
        lines = [f"{name} {what}" for name, what in self.left_out.items()]
        can_stay = any(what in (ONE_VALUE, IDENTIFIER) for what in self.left_out.values())
        return [*lines, *(["(--categorical NAME keeps such a column)"] if can_stay else [])]


def make_material(table: Table, target: str | None, structure: Structure, learning: Learning) -> Material:
    """Return the columns from which something can be learned, with states only unless numbers are not to be cut."""
    from tunbridge.cli.training import with_classes

    coded = table if target is None else with_classes(table, target).whole
    useless = useless_columns(coded)
    kept = {target, *(name for name in learning.categorical or () if coded.missing.get(name, 0) < coded.n_rows)}
    gone = {name: what for name, what in useless.items() if name not in kept}
    read = coded.drop(gone)
    cut, lines, without = _with_states(read, target, structure, learning)
    left_out = gone | without
    if cut.n_columns < 2:
        others = shortlist([f"{name} {what}" for name, what in left_out.items()], most=SHOWN)
        rule = "a network must be learned from two columns at least"
        raise DataError(f"{rule}; got {cut.n_columns}.{f' Left out: {others}.' if others else ''}")
    return Material(cut, read.drop(without), left_out, lines)


def _with_states(
    table: Table, target: str | None, structure: Structure, learning: Learning
) -> tuple[Table, list[str], dict[str, str]]:
    """Return the table with its numbers cut, a line for each, and the columns in which no cut is worth it."""
    numbers = [v.name for v in table.variables if v.is_continuous]
    if structure.cuts is Cuts.none:
        return table, [], {}
    wanted = learning.numeric is Numeric.discretise or structure.cuts is not None or structure.bins is not None
    if numbers and not wanted:
        raise _still_numbers(numbers)
    classes = table.codes(target) if target is not None and structure.cuts is Cuts.mdl else None
    lines, without = [], {}
    for name in numbers:
        column = _cut(table, name, structure, classes)
        if column.variable.n_states < 2:
            without[name] = "has no cut that tells the classes apart"
            continue
        states = [str(state) for state in column.variable.states or ()]
        lines.append(f"{name}: {shortlist(states, most=_SHOWN_LABELS)}")
        table = table.with_column(column)
    return table.drop(without), lines, without


def _cut(table: Table, name: str, structure: Structure, classes: Any) -> Column:
    """Return a column of numbers as intervals; as it is, each value a state, where the values are whole and few."""
    from tunbridge.data.columns import column_to_arrow, infer_column
    from tunbridge.data.discretisation import learn_cuts

    values, bins = table.floats(name), structure.bins or DEFAULT_BINS
    if structure.cuts is not Cuts.mdl and _are_whole_and_few(values, bins):
        return infer_column(name, column_to_arrow(table.column(name)), "categorical")
    method: Any = str(structure.cuts or Cuts.frequency)
    return learn_cuts(values, method, classes=classes, weights=table.weights, n_bins=bins).column(name, values)


def _are_whole_and_few(values: Any, most: int) -> bool:
    import numpy as np

    distinct = np.unique(values[~np.isnan(values)])
    return len(distinct) <= most and bool((distinct == np.round(distinct)).all())


def _still_numbers(names: list[str]) -> DataError:
    some = f"{listed(names, most=6)} {'holds' if len(names) == 1 else 'hold'} numbers"
    ways = (
        "--cuts frequency cuts them into intervals, --cuts none takes them for Gaussian variables, "
        "--categorical COL takes each value for a state"
    )
    return DataError(f"the columns of a network must have states; {some}. {ways}, --ignore COL leaves a column out.")
