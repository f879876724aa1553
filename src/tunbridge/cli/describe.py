"""``tunbridge describe``: what is in a table, before anything is learned from it."""

from __future__ import annotations

from tunbridge.cli.options import DataFile, Reading
from tunbridge.cli.output import counted, say


def describe(data: DataFile, reading: Reading) -> None:
    """Describe the columns of a table.

    For each: its kind, its states or range, missing cells, and what looks odd about it.

    Examples
    --------
    tunbridge describe visits.csv
    tunbridge describe visits.csv --missing -99
    """
    from tunbridge.data.readers import read_table

    table = read_table(data, missing=reading.markers, **reading.how())
    missing = counted(sum(table.missing.values()), "missing cell")
    say(f"{data}: {counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}, {missing}")
    say(table.summary())
