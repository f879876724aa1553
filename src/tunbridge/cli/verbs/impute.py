"""``tunbridge impute``: the missing values of a file filled in, every other value as it was.

With a network the file may be of any size. Without one a network is learned from the table, which is read at once.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tunbridge as tb
from tunbridge._core.check import did_you_mean, warn_user
from tunbridge._core.registry import verb
from tunbridge.cli.files import (
    check_exists,
    check_order,
    check_table,
    is_model,
    is_network_name,
    is_typed,
    load_network,
    null_if_blank,
    table_output,
    write_batches,
)
from tunbridge.cli.networks import ImpossibleRows, NetworkTarget
from tunbridge.cli.options import From, Reading, TableOutput, check_column
from tunbridge.cli.output import SHOWN, counted, note, say, shortlist, tracked
from tunbridge.cli.rows import BATCH_ROWS, Rows, dialect_of_rows, iter_rows, iter_verbatim
from tunbridge.cli.training import column_lines, column_names
from tunbridge.cli.usage import refuse, refuse_options
from tunbridge.data import Variable
from tunbridge.data.columns import Kind
from tunbridge.data.formats.places import several
from tunbridge.data.readers import read_table
from tunbridge.data.reading import NumberForm
from tunbridge.errors import DataWarning, TunbridgeWarning, UnknownVariableError, ZeroProbabilityWarning
from tunbridge.network import BayesianNetwork

if TYPE_CHECKING:
    from tunbridge.data.reading import Reading as Record
    from tunbridge.learning.imputing import FilledCell, Imputed

Filling = Annotated[
    dict[str, Any],
    From(
        "network", "BayesianNetwork.impute", "method jointly=jointly/cell-wise columns=column:COL random_state=seed",
        panel="Imputation",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Alone:
    """Without a network.

    Parameters
    ----------
    report : FILE
        Write a line for each filled cell: its value, and its probability or a 90 % interval.
    ignore : COL
        A column that is neither filled nor used.
    categorical : COL
        A column of numbers that are categories.

    Other Parameters
    ----------------
    merge_categories : bool
        Take categories that differ in capitals or blanks only as one.
    """

    report: Path | None = None
    ignore: list[str] = ()  # type: ignore[assignment]
    categorical: list[str] = ()  # type: ignore[assignment]
    merge_categories: bool = False


@verb("network impute", also="impute", rank=34)
def impute(
    network: Path,
    rows: Path | None = None,
    *,
    output: TableOutput = None,
    filling: Filling,
    imputations: int | None = None,
    alone: Alone,
    reading: Reading,
) -> None:
    """Impute the missing values of a table, with a network or without.

    They get what the network infers from the rest of their rows: the most probable states together, or each by itself,
    or random draws, several times for multiple imputation; numbers get their conditional means, or draws. All other
    values come out as they were, and so do columns that are no variables of the network. Without a network one is
    learned from the table.

    Parameters
    ----------
    network : NETWORK|DATA
        A network ({network_format}), for the table that follows; or the table alone.
    rows : DATA
        The table: {table_format}, also with .gz.
    imputations, --imputations, -n : N >= 1
        Draw N times, into files numbered from 1: out-1.csv, ….

    Examples
    --------
    tunbridge impute visits.csv -o filled.csv
    tunbridge impute visits.csv -o filled.csv --ignore patient --report cells.csv
    tunbridge impute net.tb visits.csv -o filled.csv
    tunbridge impute net.tb visits.csv --cell-wise --column smokes
    tunbridge impute net.tb visits.csv -o filled.csv --imputations 5 --seed 0
    """
    output = table_output(output, [])
    draws = filling.get("method", "sample" if imputations else "") == "sample"
    several = "--imputations must come with"
    refuse(
        (imputations and not draws, f"{several} --method sample; the most probable states are always the same."),
        (imputations and output is None, f"{several} --output, which gets a number for each of the files."),
    )
    seeded, cell_wise = "random_state" in filling, not filling.get("jointly", True)
    rule = "--seed must come with --method sample; the other method uses no random numbers."
    refuse(
        (seeded and not draws, rule),
        (cell_wise and draws, "--cell-wise must come with --method most-probable; states are drawn together."),
    )
    files = [] if output is None else [output]
    if imputations is not None and output is not None:
        stem, dot, ending = output.name.partition(".") if output.suffix == ".gz" else (output.stem, "", output.suffix)
        files = [output.with_name(f"{stem}-{i}{dot}{ending}") for i in range(1, imputations + 1)]
    for file in [*files, *([alone.report] if alone.report else [])]:
        table_output(file, [*([] if rows is None else [rows]), network])
    if rows is None:
        _impute_alone(network, filling, files, alone, reading)
        return
    refuse_options(
        ("report", "ignore", "categorical", "merge_categories"), "come without a network; this one is given."
    )
    check_order(network, rows)
    net = load_network(network)
    for name in filling.get("columns", ()):
        if name not in net:
            hint = did_you_mean(name, net.nodes)
            raise UnknownVariableError(f"--column must name a variable of the network; got {name!r}. {hint}")
    seed = filling.pop("random_state", None)
    seed = secrets.randbelow(10**9) if seed is None else seed
    how = {**filling, "method": "sample" if draws else "most-probable"}
    for draw, path in enumerate(files or [None]):
        work = _Work(net, how, seed, draw, is_typed=is_typed(path))
        write_batches(path, work.batches(rows, reading, hidden=path is None), dialect_of_rows(rows, reading))
        if draw == 0:
            work.impossible.warn("their missing values are not imputed")
            _report(work, files, f"; seed {seed}" if draws else "")


def _impute_alone(path: Path, filling: dict[str, Any], files: list[Path], alone: Alone, reading: Reading) -> None:
    """Fill in the missing values of a table by a network that is learned from it."""
    rule = f"a table must come after the network; got {str(path)!r} alone. Name the table after it."
    refuse(
        (is_network_name(path) or is_model(path), rule),
        ("jointly" in filling, "--jointly and --cell-wise must come with a network; every value is filled by itself."),
    )
    if several(path) is None:
        check_exists("the table", path)
        check_table(path)
    for option, names in (("--ignore", alone.ignore), ("--categorical", alone.categorical)):
        for name in names:
            check_column(option, name, path, column_names(path, reading))
    kinds: dict[str, Kind] = dict.fromkeys(alone.categorical, "categorical")
    table = read_table(
        path, kinds=kinds, merge_categories=alone.merge_categories, **reading.missing_marks, **reading.how
    )
    for line in column_lines(table.drop([name for name in alone.ignore if name in table]))[:SHOWN]:
        note(f"Check: {line}.")
    for name in filling.get("columns", ()):
        check_column("--column", name, path, table.names)
    draws = filling.get("method", "sample" if len(files) > 1 else "") == "sample"
    seed = filling.get("random_state", secrets.randbelow(10**9) if draws else 0)
    how: dict[str, Any] = {"columns": filling.get("columns"), "ignore": alone.ignore}
    how["method"] = "sample" if draws else "most-probable"
    words = pa.concat_tables(list(iter_verbatim([path], reading, BATCH_ROWS)))
    for draw, file in enumerate(files or [None]):
        found = tb.impute(table, random_state=np.random.default_rng([seed, draw]), **how)
        filled = found.to_arrow() if is_typed(file) else _with_cells(words, found, table.reading)
        write_batches(file, iter([filled]), dialect_of_rows(path, reading))
    for name, why in found.skipped.items():
        note(f"Note: {name} is not imputed: it {why}.")
    for name in () if draws else found.unrelated:
        note(f"Note: no other column tells about {name}, so its cells get one value; --method sample draws them.")
    counts = shortlist([f"{name} {n}" for name, n in found.counts.items()])
    each, shown = (" in each", "each of ") if len(files) > 1 else ("", "")
    what = f"{counted(len(found.cells), 'missing value')} imputed{each}{f': {counts}' if counts else ''}"
    what += f"; seed {seed}" if draws else ""
    if files:
        shown += " … ".join([str(files[0]), *(file.name for file in files[1:][-1:])])
        say(f"{counted(table.n_rows, 'row')} in {shown}; {what}")
    else:
        note(f"Note: {what}.")
    if alone.report is not None:
        write_batches(alone.report, iter([found.report()]), dialect_of_rows(path, reading))
        note(f"The filled cells are in {alone.report}.")


def _with_cells(words: pa.Table, found: Imputed, record: Record | None) -> pa.Table:
    """Return the values of a file word for word, with the filled cells in their places, numbers written as there."""
    cells: dict[str, list[FilledCell]] = {}
    for cell in found.cells:
        cells.setdefault(cell.column, []).append(cell)
    for name, some in cells.items():
        column = words[name]
        if not pa.types.is_string(column.type):
            words = words.set_column(words.column_names.index(name), name, found.to_arrow()[name])
            continue
        texts = column.to_pylist()
        if isinstance(some[0].value, dt.date | dt.time):
            form = _date_form(texts, record.dates.get(name) if record is not None else None)
            for cell in some:
                texts[cell.row] = cell.value.strftime(form)
            words = words.set_column(words.column_names.index(name), name, [texts])
            continue
        written = record.numbers.get(name, NumberForm()) if record is not None else NumberForm()
        mark, between = written.decimal, written.thousands
        decimals = re.compile(rf"\d*{re.escape(mark)}(\d+)\D*")
        found_in = (decimals.search(text) for text in texts[:_LOOKED_AT] if text)
        digits = min(_MOST_DIGITS, max((len(each[1]) for each in found_in if each), default=0))
        for cell in some:
            is_number = cell.probability is None
            number = f"{cell.value:,.{digits}f}" if is_number else ""
            texts[cell.row] = number.translate({44: between, 46: mark}) if is_number else str(cell.value)
        words = words.set_column(words.column_names.index(name), name, [texts])
    return words


def _date_form(texts: list[str | None], known: str | None) -> str:
    """Return the form in which dates and times are written: the known one, or else the ISO form of the first of them.

    Examples
    --------
    >>> _date_form([None, "2025-12-24T18:30"], None), _date_form(["18:30:00"], None)
    ('%Y-%m-%dT%H:%M', '%H:%M:%S')
    """
    if known is not None:
        return known
    first = next((found for text in texts if text and (found := _ISO.match(text)) and found[0]), None)
    day, gap, time = first.groups() if first is not None else ("x", None, None)
    clock = ("%H:%M:%S" if time.count(":") > 1 else "%H:%M") if time else ""
    return f"{'%Y-%m-%d' if day else ''}{gap or ''}{clock}"


_ISO = re.compile(r"(\d{4}-\d\d-\d\d)?([T ])?(\d\d:\d\d(?::\d\d)?)?")
_LOOKED_AT, _MOST_DIGITS = 10_000, 6


def _report(work: _Work, files: list[Path], seed: str) -> None:
    """Print how many values were filled in, and where they are."""
    filled = +work.filled  # columns in which something was filled in
    by_column = shortlist([f"{name} {n}" for name, n in filled.most_common()])
    none = "" if work.impossible.n else "no column of the network has one that can be imputed"
    each, where = (" in each", "each of ") if len(files) > 1 else ("", "")
    what = ": ".join(filter(None, [f"{counted(filled.total(), 'missing value')} imputed{each}", by_column or none]))
    if not files:
        note(f"Note: {what}{seed}.")
    else:
        where += " … ".join([str(files[0]), *(file.name for file in files[1:][-1:])])
        say(f"{counted(work.impossible.seen, 'row')} in {where}; {what}{seed}")


@dataclass
class _Work:
    """One pass through the rows: it fills in missing values, and counts those filled in and those that could not be."""

    net: BayesianNetwork
    how: dict[str, Any]
    seed: int
    draw: int
    is_typed: bool
    filled: Counter[str] = field(default_factory=Counter)
    impossible: ImpossibleRows = field(default_factory=ImpossibleRows)

    def batches(self, path: Path, reading: Reading, *, hidden: bool) -> Iterator[pa.Table]:
        """Yield the rows, filled in, batch by batch."""
        target = NetworkTarget(self.net, "", is_quiet=self.draw > 0)  # without a target: every variable may be known
        rows = iter_rows(target, path, target.reading(reading), verbatim=True)
        for n, batch in enumerate(tracked(rows, "imputing", hidden=hidden)):
            yield self._completed(batch, n)

    def _completed(self, batch: Rows, n: int) -> pa.Table:
        table = self._impute(batch.features, n)
        names = [*batch.verbatim.column_names, *(c for c in table.column_names if c not in batch.features.column_names)]
        columns = [self._column(name, batch, table) for name in names]
        self.impossible.add(self._left(batch.features, table))
        return pa.table(columns, names=names)

    def _impute(self, features: pa.Table, n: int) -> pa.Table:
        own = np.random.SeedSequence(self.seed, spawn_key=(self.draw, n)).generate_state(1, np.uint64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)  # one warning for all batches
            return self.net.impute(features, **self.how, random_state=int(own[0])).to_arrow()

    def _column(self, name: str, batch: Rows, table: pa.Table) -> Any:
        """Return a column as it was in the file, with states for missing values."""
        if name not in batch.features.column_names and name not in table.column_names:
            return batch.verbatim[name]  # the numbers of the rows, which the network was not given
        if name not in batch.features.column_names:
            self.filled[name] += table.num_rows - table[name].null_count
            return table[name]
        verbatim = batch.verbatim[name]
        was_missing = pc.and_(pc.is_null(batch.features[name]), pc.is_valid(table[name])) if name in self.net else None
        n = pc.sum(was_missing).as_py() if was_missing is not None else 0
        if n and not _can_hold(verbatim.type, table[name]):  # only missing values; other batches need the type
            rule = f"column {name!r} must have a type that holds the network's states to be filled; got {verbatim.type}"
            warn_user(f"missing values are not imputed: {rule}. Encode it like the data of the network.", DataWarning)
            return verbatim
        self.filled[name] += n or 0
        if self.is_typed and pa.types.is_string(verbatim.type):
            return table[name] if name in self.net else null_if_blank(verbatim)
        if not n:
            return verbatim
        if pa.types.is_dictionary(verbatim.type):
            verbatim = verbatim.cast(verbatim.type.value_type)
        return pc.if_else(was_missing, self._states(name, table[name], verbatim.type), verbatim)

    def _states(self, name: str, values: pa.ChunkedArray, kind: pa.DataType) -> Any:
        """Return states, as the network writes them where the file is text."""
        if not pa.types.is_string(kind):
            return values.cast(kind)
        codes = pc.dictionary_encode(values.combine_chunks())
        variable = self.net.variable(name)
        texts = [_text(variable, value) for value in codes.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(codes.indices)

    def _left(self, features: pa.Table, table: pa.Table) -> np.ndarray:
        """Return which rows still have missing values because they are impossible."""
        left = np.zeros(table.num_rows, bool)
        wanted = self.how.get("columns", self.net.nodes)
        for name in wanted:
            if name in table.column_names:
                left |= pc.is_null(table[name]).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(left)
        if len(rows):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TunbridgeWarning)  # shown already
                left[rows] = np.isneginf(self.net.log_likelihood(features.take(rows)))
        return left


def _can_hold(kind: pa.DataType, values: pa.ChunkedArray) -> bool:
    """Return whether a column of a type can hold values; one of text can hold all."""
    try:
        values.cast(kind.value_type if pa.types.is_dictionary(kind) else kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _text(variable: Variable, value: object) -> str:
    """Return a value as text: that of the state that it is, if it is one; a number stands for itself."""
    states = variable.states or ()
    if variable.is_continuous:
        return f"{value:.6g}"
    if variable.cuts is not None and value not in states:
        return str(value)
    code = variable.find(value)
    return str(states[code] if code >= 0 else value)
