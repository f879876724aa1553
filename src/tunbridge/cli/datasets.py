"""``tunbridge datasets``: what data there are to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.output import counted, plain_table, say, say_table

if TYPE_CHECKING:
    import pyarrow as pa

    from tunbridge.data import Table

_FIRST_ROWS = 5


def datasets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A data set to show.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a .csv, .tsv or .parquet file.")
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Look for it at UCI and OpenML too, and keep what is found.")
    ] = False,
) -> None:
    """List the data sets, show one of them, or write it to a file.

    Bundled are a few small classics. Others are found as files in the folder that the environment variable
    TUNBRIDGE_DATA names, and in the cache of what was downloaded before.

    Examples
    --------
    tunbridge datasets
    tunbridge datasets play_tennis -o tennis.csv
    tunbridge datasets mushroom --download
    """
    from tunbridge.cli.writers import check_output, write_batches
    from tunbridge.data import datasets as known

    check_output(output, inputs=[])
    if name is None:
        if output is not None:
            raise UsageError("-o must come with the name of a data set; got none.")
        _list(download)
        return
    table = known.load(name, download=download)
    if output is None:
        _show(name, table)
        return
    write_batches(output, iter([_with_weights(table)]))
    say(f"{name}: {counted(table.n_rows, 'row')} in {output}")


def _list(download: bool) -> None:
    from tunbridge.data import datasets as known

    records = known.describe(download=download)
    lines = [[d.name, _shown(d.n_rows), _shown(d.n_columns), d.target or "", d.summary, d.source] for d in records]
    say_table(["name", "rows", "columns", "target", "about", "where"], lines, left=(0, 3, 4, 5))


def _shown(n: int | None) -> str:
    return "" if n is None else str(n)


def _show(name: str, table: Table) -> None:
    from tunbridge.data import datasets as known

    about = next((d for d in known.describe() if d.name == name), None)
    if about is not None and about.target is not None:
        say(f"{about.summary}. Usual target: {about.target}.")
    say(repr(table))
    say()
    first = _with_weights(table.take(slice(0, _FIRST_ROWS)))
    cells = [["" if v is None else str(v) for v in row.values()] for row in first.to_pylist()]
    say("\n".join(plain_table(first.column_names, cells, left=range(first.num_columns))))
    if table.n_rows > _FIRST_ROWS:
        say(f"… and {counted(table.n_rows - _FIRST_ROWS, 'more row')}")


def _with_weights(table: Table) -> pa.Table:
    """Return the columns of a table, and its weights as one more."""
    arrow = table.to_arrow()
    if table.weights is None:
        return arrow
    name = "weight"
    while name in arrow.column_names:
        name += "_"
    return arrow.append_column(name, [table.weights])
