"""``tunbridge network filter``, ``smooth`` and ``forecast``: what a dynamic network says about sequences of rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import listed
from tunbridge._core.registry import verb
from tunbridge.cli.dynamic import Sequences, load_dynamic, read_rows
from tunbridge.cli.files import check_exists, check_order, check_table, table_output, write_batches
from tunbridge.cli.networks import check_targets
from tunbridge.cli.options import DataFile, NetworkFile, Reading, TableOutput
from tunbridge.cli.output import counted, say
from tunbridge.cli.rows import dialect_of_rows, iter_verbatim
from tunbridge.cli.usage import UsageError
from tunbridge.data import Table
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.temporal import DynamicBayesianNetwork

_BATCH_ROWS = 65536


@verb("network filter", rank=39)
def filter_rows(
    network: NetworkFile,
    rows: DataFile,
    *,
    target: list[str] = (),  # type: ignore[assignment]
    output: TableOutput = None,
    sequences: Sequences,
    reading: Reading,
) -> None:
    """Ask a dynamic network about each row, given the rows before it.

    The rows come out with the probabilities of the target given them and the rows before: what could be known at the
    time. All columns of the network are evidence, that of the target too; missing values are not.

    Parameters
    ----------
    target, -t : NAME
        The variable to ask about.

    Examples
    --------
    tunbridge network filter rain.tb days.csv --target Rain
    tunbridge network filter ward.tb visits.csv -t State --sequence patient --time day -o states.csv
    """
    _answer(network, rows, target, output, sequences, reading, is_past=True)


@verb("network smooth", rank=40)
def smooth_rows(
    network: NetworkFile,
    rows: DataFile,
    *,
    target: list[str] = (),  # type: ignore[assignment]
    output: TableOutput = None,
    sequences: Sequences,
    reading: Reading,
) -> None:
    """Ask a dynamic network about each row, given all rows.

    The rows come out with the probabilities of the target given all rows of their sequence: what is known afterwards.
    All columns of the network are evidence, that of the target too; missing values are not.

    Parameters
    ----------
    target, -t : NAME
        The variable to ask about.

    Examples
    --------
    tunbridge network smooth rain.tb days.csv --target Rain
    tunbridge network smooth ward.tb visits.csv -t State --sequence patient --time day -o states.csv
    """
    _answer(network, rows, target, output, sequences, reading, is_past=False)


@verb("network forecast", rank=41)
def forecast(
    network: NetworkFile,
    rows: DataFile,
    *,
    target: list[str] = (),  # type: ignore[assignment]
    steps: int = 1,
    output: TableOutput = None,
    sequences: Sequences,
    reading: Reading,
) -> None:
    """Ask a dynamic network about the slices after the rows.

    For every sequence and step there are the probabilities of the states of the target, or its mean and deviation.

    Parameters
    ----------
    target, -t : NAME
        The variable to ask about.
    steps, --steps, -n : N >= 1
        How many slices ahead.

    Examples
    --------
    tunbridge network forecast rain.tb days.csv --target Rain --steps 7
    tunbridge network forecast ward.tb visits.csv -t State --sequence patient --time day -o ahead.csv
    """
    net, table, output = _read(network, rows, target, output, sequences, reading)
    keys: list[Any] = []
    columns: dict[str, np.ndarray] = {}
    for name in target:
        found = net.predict(table, name, steps=steps, **sequences.how)
        found = found if isinstance(found, list) else [found]
        columns |= _columns(net, name, np.concatenate([_shown(net, name, each.array) for each in found]))
        keys = [(s, step + 1) for s in range(len(found)) for step in range(steps)]
    names = _sequence_names(table, sequences)
    before = {} if sequences.sequence is None else {sequences.sequence: pa.array([names[s] for s, _ in keys])}
    write_batches(
        output,
        iter([pa.table({**before, "step": pa.array([step for _, step in keys], pa.int64()), **columns})]),
        dialect_of_rows(rows, reading),
    )
    if output is not None:
        say(f"{counted(steps, 'step')} after each of {counted(len(names), 'sequence')} in {output}")


def _answer(
    network: Path, rows: Path, target: list[str], output: Path | None, sequences: Sequences, reading: Reading, *,
    is_past: bool,
) -> None:  # fmt: skip
    """Write rows with the posteriors of the targets."""
    net, table, output = _read(network, rows, target, output, sequences, reading)
    ask, added = (net.filter_proba if is_past else net.smooth_proba), dict[str, np.ndarray]()
    for name in target:
        added |= _columns(net, name, ask(table, name, ignore_target=False, **sequences.how))
    words = pa.concat_tables(list(iter_verbatim([rows], reading, _BATCH_ROWS)))
    if twice := [name for name in added if name in words.column_names]:
        rule = f"{rows.name} must not have the columns that are added; it has {listed(twice)}."
        raise DataError(f"{rule} Rename them.")
    whole = pa.table([*words.columns, *map(pa.array, added.values())], names=[*words.column_names, *added])
    write_batches(output, iter([whole]), dialect_of_rows(rows, reading))
    if output is not None:
        known = "the rows up to each" if is_past else "all rows of its sequence"
        say(f"{counted(table.n_rows, 'row')} in {output}; {', '.join(f'P({name})' for name in target)} given {known}")


def _read(
    network: Path, rows: Path, target: list[str], output: Path | None, sequences: Sequences, reading: Reading
) -> tuple[DynamicBayesianNetwork, Table, Path | None]:
    """Return the network, its columns of the rows, and the file to write; raise before the work for mistakes."""
    check_order(network, rows)
    check_exists("the rows", rows)
    net = load_dynamic(network)
    check_table(rows, "the rows")
    if not target:
        raise UsageError(f"--target must name the variable to ask about; {network.name} has {listed(net.nodes)}.")
    check_targets(net, target, network)
    output = table_output(output, [network, rows])
    return net, read_rows(net, rows, sequences, reading), output


def _columns(net: DynamicBayesianNetwork, name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """Return the posteriors of a variable as columns: one for each state, or mean and standard deviation."""
    variable = next(v for v in net.variables if v.name == name)
    heads = [f"P({name}={state})" for state in variable.states or ()] or [f"mean({name})", f"std({name})"]
    return dict(zip(heads, array.T, strict=True))


def _shown(net: DynamicBayesianNetwork, name: str, array: np.ndarray) -> np.ndarray:
    """Return posteriors with standard deviations in place of variances."""
    is_number = next(v for v in net.variables if v.name == name).is_continuous
    return np.column_stack([array[:, 0], np.sqrt(np.maximum(array[:, 1], 0.0))]) if is_number else array


def _sequence_names(table: Table, sequences: Sequences) -> list[Any]:
    """Return what the sequences are called, in the order of the answers."""
    from tunbridge.temporal.panel import Layout, read_panel

    return list(read_panel(table, Layout(sequences.sequence, sequences.time)).keys)
