"""``tunbridge impute``: the holes of a file filled by a network, every other cell as it was."""

from __future__ import annotations

import secrets
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge._check import did_you_mean, warn_user
from tunbridge.cli.failures import UsageError
from tunbridge.cli.network_rows import ImpossibleRows, NetworkTarget, check_some_columns
from tunbridge.cli.networks import NetworkFile, is_network_name, load_network
from tunbridge.cli.options import Reading
from tunbridge.cli.output import counted, note, say, shortlist, tracked
from tunbridge.errors import DataError, TunbridgeWarning, UnknownVariableError, ZeroProbabilityWarning

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tunbridge.cli.rows import Rows
    from tunbridge.network import BayesianNetwork

_SHOWN = 12


class Method(StrEnum):
    """With what a hole is filled."""

    most_probable = "most-probable"
    sample = "sample"


@dataclass(frozen=True)
class Filling:
    """With what holes are filled, and which."""

    method: Annotated[
        Method | None,
        typer.Option(help="The most probable states (unless said), or states drawn from their exact distribution."),
    ] = None
    cell_wise: Annotated[
        bool,
        typer.Option(
            "--cell-wise", help="The most probable state of each cell by itself, not of all in a row together."
        ),
    ] = False
    imputations: Annotated[
        int | None,
        typer.Option(
            "--imputations", "-n", metavar="N", min=1, help="Draw N times, into files numbered from 1: out-1.csv, …"
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Fill this column and no other; repeatable. One that is not there is added."),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="What decides the draws. Otherwise a new one, which is told."),
    ] = None

    @property
    def draws(self) -> bool:
        """Whether states are drawn."""
        return self.method == Method.sample or (self.method is None and self.imputations is not None)

    def check(self, output: Path | None) -> None:
        """Raise unless the options fit each other."""
        if self.imputations is not None and not self.draws:
            raise UsageError(
                "--imputations must come with --method sample; the most probable states are always the same."
            )
        if self.imputations is not None and output is None:
            raise UsageError("--imputations must come with --output, which gets a number for each of the files.")
        if self.cell_wise and self.draws:
            raise UsageError("--cell-wise must come with --method most-probable; states are drawn together.")
        if self.seed is not None and not self.draws:
            raise UsageError("--seed must come with --method sample; nothing else is left to chance.")


def impute(
    network: NetworkFile,
    rows: Annotated[
        Path, typer.Argument(metavar="ROWS", help="The rows: .csv, .tsv, .parquet, .arrow, .arff or .jsonl, also .gz.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .csv, .tsv or .parquet file. Otherwise CSV to stdout."),
    ] = None,
    *,
    filling: Filling,
    reading: Reading,
) -> None:
    """Fill the missing cells of a table by a network.

    They get what the network makes of the rest of their rows: the most probable states together, or each by itself, or
    drawn, several times over for multiple imputation. Every cell that holds something comes out as it came in, and so
    do columns that are no variables of the network.

    Examples
    --------
    tunbridge impute net.tb visits.csv -o filled.csv
    tunbridge impute net.tb visits.csv --cell-wise --column smokes
    tunbridge impute net.tb visits.csv -o filled.csv --imputations 5 --seed 0
    """
    from tunbridge.cli.writers import check_output, check_place, write_batches

    output = None if output == Path("-") else output
    filling.check(output)
    files = [output] if filling.imputations is None or output is None else _numbered(output, filling.imputations)
    for file in files:
        check_output(file, inputs=[rows, network])
        if file is not None:
            check_place(file)
    check_order(network, rows)
    net = load_network(network)
    _check_columns(net, filling.column or [])
    target = NetworkTarget(net, "")  # without a target: every variable may be known
    reading = target.reading(reading)
    names = reading.column_names(rows)
    check_some_columns(target, rows, names)
    seed = secrets.randbelow(10**9) if filling.seed is None else filling.seed
    for draw, file in enumerate(files):
        is_typed = file is not None and _is_typed(file)
        work = Work(net, Source(rows, reading, names), filling, seed, draw, is_typed=is_typed)
        write_batches(file, work.batches(hidden=file is None))
        if draw == 0:
            _warn_impossible(work.impossible)
            _tell(work, files)


def _numbered(output: Path, n: int) -> list[Path | None]:
    """Return the names of several files: a number before the suffix."""
    return [output.with_name(f"{output.stem}-{i}{output.suffix}") for i in range(1, n + 1)]


def check_order(network: Path, rows: Path) -> None:
    """Raise when the rows come first."""
    from tunbridge.cli.models import is_model

    if (is_network_name(rows) or is_model(rows)) and not (is_network_name(network) or is_model(network)):
        raise DataError(f"the network must come first; got {str(network)!r} before {str(rows)!r}.")


def _check_columns(net: BayesianNetwork, names: Iterable[str]) -> None:
    for name in names:
        if name not in net:
            hint = did_you_mean(name, net.nodes)
            raise UnknownVariableError(f"--column must name a variable of the network; got {name!r}. {hint}")


def _tell(work: Work, files: list[Path | None]) -> None:
    filled = +work.filled  # columns in which something was filled
    each = " in each" if len(files) > 1 else ""
    cells = f"{counted(filled.total(), 'cell')} filled{each}"
    by_column = shortlist([f"{name} {n}" for name, n in filled.most_common()], most=_SHOWN)
    told = f"{cells}: {by_column}" if filled else f"{cells}: no column of the network has a hole that can be filled"
    if work.impossible.n and not filled:
        told = cells
    seed = f"; seed {work.seed}" if work.filling.draws else ""
    if files[0] is None:
        note(f"Note: {told}{seed}.")
        return
    where = f"{files[0]}" if len(files) == 1 else f"each of {files[0]} … {files[-1].name if files[-1] else ''}"
    say(f"{counted(work.impossible.seen, 'row')} in {where}; {told}{seed}")


def _warn_impossible(rows: ImpossibleRows) -> None:
    """Warn of rows that the network holds for impossible, if there are any."""
    if rows.n:
        which = f"row {rows.first}" if rows.n == 1 else f"the first is row {rows.first}"
        told = f"{rows.n} of {counted(rows.seen, 'row')} ({which}) cannot occur in the network"
        warn_user(f"{told}, and the holes there are left.", ZeroProbabilityWarning)


@dataclass(frozen=True)
class Source:
    """The file of the rows, how it is read, and its columns."""

    path: Path
    reading: Reading
    names: list[str]

    def rows(self, net: BayesianNetwork) -> Iterator[Rows]:
        """Return the rows in batches, as the network reads them and word for word."""
        from tunbridge.cli.rows import iter_rows

        known = SimpleNamespace(variables_=[v for v in net.variables if v.name in self.names])
        return iter_rows(known, self.path, self.reading, verbatim=True)


class Work:
    """One pass through the rows: it fills their holes, and counts what was filled and what could not be."""

    def __init__(
        self, net: BayesianNetwork, source: Source, filling: Filling, seed: int, draw: int, *, is_typed: bool
    ) -> None:
        self.net, self.source, self.filling, self.seed, self.draw = net, source, filling, seed, draw
        self.is_typed = is_typed
        self.filled: Counter[str] = Counter()
        self.impossible = ImpossibleRows()

    def batches(self, *, hidden: bool) -> Iterator[pa.Table]:
        """Yield the rows, filled, batch by batch."""
        for n, batch in enumerate(tracked(self.source.rows(self.net), "imputing", hidden=hidden)):
            yield self._completed(batch, n)

    def _completed(self, batch: Rows, n: int) -> pa.Table:
        import pyarrow as pa

        table = self._impute(batch.features, n)
        names = [*batch.verbatim.column_names, *(c for c in table.column_names if c not in batch.features.column_names)]
        columns = [self._column(name, batch, table) for name in names]
        self.impossible.add(self._left(batch.features, table))
        return pa.table(columns, names=names)

    def _impute(self, features: pa.Table, n: int) -> pa.Table:
        import numpy as np

        own = np.random.SeedSequence(self.seed, spawn_key=(self.draw, n)).generate_state(1, np.uint64)
        method = Method.sample if self.filling.draws else Method.most_probable
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)  # told once, for all batches
            return self.net.impute(
                features,
                str(method),
                jointly=not self.filling.cell_wise,
                columns=self.filling.column,
                random_state=int(own[0]),
            ).to_arrow()

    def _column(self, name: str, batch: Rows, table: pa.Table) -> Any:
        """Return a column as it stood in the file, with states where there were holes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if name not in batch.features.column_names:
            self.filled[name] += table.num_rows - table[name].null_count
            return table[name]
        verbatim = batch.verbatim[name]
        was_hole = pc.and_(pc.is_null(batch.features[name]), pc.is_valid(table[name])) if name in self.net else None
        n = pc.sum(was_hole).as_py() if was_hole is not None else 0
        self.filled[name] += n or 0
        if self.is_typed and pa.types.is_string(verbatim.type):
            return table[name] if name in self.net else _null_if_blank(verbatim)
        if not n:
            return verbatim
        if pa.types.is_dictionary(verbatim.type):
            verbatim = verbatim.cast(verbatim.type.value_type)
        return pc.if_else(was_hole, self._states(name, table[name], verbatim.type), verbatim)

    def _states(self, name: str, values: pa.ChunkedArray, kind: pa.DataType) -> Any:
        """Return states, as the network writes them where the file is text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_string(kind):
            return values.cast(kind)
        codes = pc.dictionary_encode(values.combine_chunks())
        variable = self.net.variable(name)
        texts = [_text(variable, value) for value in codes.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(codes.indices)

    def _left(self, features: pa.Table, table: pa.Table) -> np.ndarray:
        """Return which rows have holes left because they are impossible."""
        import numpy as np
        import pyarrow.compute as pc

        left = np.zeros(table.num_rows, bool)
        wanted = self.net.nodes if self.filling.column is None else self.filling.column
        for name in wanted:
            if name in table.column_names:
                left |= pc.is_null(table[name]).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(left)
        if len(rows):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TunbridgeWarning)  # told already
                left[rows] = np.isneginf(self.net.log_likelihood(features.take(rows)))
        return left


def _text(variable: Any, value: Any) -> str:
    """Return a value as text: that of the state that it is, if it is one; a number stands for itself."""
    if variable.cuts is not None and value not in variable.states:
        return str(value)
    code = variable.find(value)
    return str(variable.states[code] if code >= 0 else value)


def _null_if_blank(column: pa.ChunkedArray) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _is_typed(output: Path) -> bool:
    return output.suffix.lower() not in (".csv", ".tsv")
