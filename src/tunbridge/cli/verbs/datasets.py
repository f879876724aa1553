"""``tunbridge datasets``: data sets to try things on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tunbridge._core.grid import grid_lines
from tunbridge._core.registry import verb
from tunbridge.cli.examples import EXAMPLES, write_example, write_new
from tunbridge.cli.files import table_output, write_batches
from tunbridge.cli.output import counted, say, say_table
from tunbridge.cli.usage import near_hint, refuse
from tunbridge.data import Table, datasets as known
from tunbridge.errors import DataError

_FIRST_ROWS = 5


@verb("datasets", rank=60)
def datasets(
    names: list[str] = (),  # type: ignore[assignment]
    *,
    output: Path | None = None,
    download: bool = False,
) -> None:
    """List the data sets, show one of them, or write it to a file.

    A few small classics are bundled. Others are found as files in the folder that the environment variable
    TUNBRIDGE_DATA names, and in the cache of earlier downloads. «get» writes files into the working folder: titanic,
    messages and visits are those that the examples of the documentation use.

    Parameters
    ----------
    names : NAME | get NAME…
        A data set to show, or the word get and those whose files are to be written.
    output, -o : FILE
        Write it to a .csv, .tsv or .parquet file.
    download
        Look for it at UCI and OpenML too, and keep what is found.

    Examples
    --------
    tunbridge datasets
    tunbridge datasets play_tennis -o tennis.csv
    tunbridge datasets get titanic messages visits
    tunbridge datasets mushroom --download
    """
    output = table_output(output, [])
    if names and names[0] == "get":
        refuse((len(names) == 1, f"get must name data sets, such as {', '.join(EXAMPLES)}; got none."))
        refuse((output is not None, "-o must come without get, which names the files itself."))
        _get(names[1:], download=download)
        return
    refuse((len(names) > 1, f"one data set must be named to be shown; got {len(names)}. Write get before them."))
    name = names[0] if names else None
    if name is None:
        refuse((output is not None, "-o must come with the name of a data set; got none."))
        records = known.describe(download=download)
        sizes = [["" if n is None else str(n) for n in (d.n_rows, d.n_columns)] for d in records]
        lines = [[d.name, *size, d.target or "", d.summary, d.source] for d, size in zip(records, sizes, strict=True)]
        say_table(["name", "rows", "columns", "target", "about", "where"], lines, left=(0, 3, 4, 5))
        return
    table = known.load(name, download=download)
    if output is None:
        _show(name, table)
        return
    write_batches(output, iter([_with_weights(table)]))
    say(f"{name}: {counted(table.n_rows, 'row')} in {output}")


def _get(names: list[str], *, download: bool) -> None:
    """Write the files of data sets into the working folder; other files of the same name stay."""
    for name in names:
        if name not in EXAMPLES:
            try:
                known.load(name, download=download)
            except DataError:
                near = near_hint(name, EXAMPLES)
                refuse((near, f"get must name data sets; got {name!r}.{near}"))
                raise
    for name in names:
        if name in EXAMPLES:
            written = write_example(name)
        else:
            table = known.load(name, download=download)
            written = {f"{name}.csv": table.n_rows}
            write_new(Path(f"{name}.csv"), _with_weights(table))
        for file, n in written.items():
            say(f"{name}: {counted(n, 'row')} in {file}")


def _show(name: str, table: Table) -> None:
    about = next((d for d in known.describe() if d.name == name), None)
    if about is not None and about.target is not None:
        say(f"{about.summary}. Usual target: {about.target}.")
    say(repr(table))
    say()
    first = _with_weights(table.take(slice(0, _FIRST_ROWS)))
    shown = [["" if v is None else str(v) for v in row.values()] for row in first.to_pylist()]
    say("\n".join(grid_lines(first.column_names, shown, left=range(first.num_columns))))
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
