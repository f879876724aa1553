"""``tunbridge update``: a network after new rows, of a file of any size."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.impute import check_order
from tunbridge.cli.networks import NetworkFile, load_network
from tunbridge.cli.options import DataFile, Reading, check_column, named_number
from tunbridge.cli.output import counted, note, say, say_fields, shortlist, tracked
from tunbridge.cli.remarks import SHOWN
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.network import BayesianNetwork, DriftMonitor, NetworkUpdate

_DRIFTED, _PLENTY = 6, 999
# The library speaks of arguments; on the command line the same things are options.
_OPTIONS = (
    (re.compile(r"^(ess|fading|fixed)( of '[^']*')? must"), r"--\1\2 must"),
    (re.compile(r"\bess=100 makes"), "--ess 100 makes"),
    (re.compile(r"\bess=\{name: number\} says"), "--ess NAME=100 says"),
    (re.compile(r"\bfixed=\[name\] leaves"), "--fixed NAME leaves"),
    (re.compile(r"\bfixed=\['([^']*)'\], or turn it .*$"), r"--fixed \1."),
    (re.compile(r"\bnew_states='missing'"), "--new-states missing"),
)


class NewStates(StrEnum):
    """What becomes of values that are no states."""

    add = "add"
    missing = "missing"
    error = "error"


@dataclass(frozen=True)
class Adapting:
    """How new rows are weighed against what was known."""

    ess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|NAME=N",
            help="How many rows every row of a table without counts is worth, for all such tables or for one variable; "
            "repeatable.",
        ),
    ] = None
    fading: Annotated[
        list[str] | None,
        typer.Option(
            metavar="F|NAME=F",
            help="What a row weighs against the one after it: with 0.999 a table is worth 1000 rows at most. For all "
            "tables or for one variable; repeatable.",
        ),
    ] = None
    fixed: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A variable whose table stays as it is; repeatable.")
    ] = None
    new_states: Annotated[
        NewStates, typer.Option(help="Values that are no states become states, count as missing, or are an error.")
    ] = NewStates.add
    batch_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Rows with missing cells are filled in with the network before N rows; 65536."
        ),
    ] = None
    weights: Annotated[str | None, typer.Option(metavar="COL", help="The column that holds the rows' weights.")] = None
    no_drift: Annotated[bool, typer.Option("--no-drift", help="Do not watch the rows for a drift.")] = False


def update(
    network: NetworkFile,
    data: DataFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The network to write.")] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace the network by the updated one, instead of --output.")
    ] = False,
    *,
    adapting: Adapting,
    reading: Reading,
) -> None:
    """Update the tables of a network by new rows.

    The rows are added to the counts behind the tables, which only .tb files keep: for complete rows the network is then
    that of one fit to all rows, old and new. Of rows with missing cells what is to be expected is added. The file is
    read in batches; nothing is written before all of it is read. How well the network expected the rows is told, and
    where they have drifted away from it.

    Examples
    --------
    tunbridge update net.tb today.csv --in-place
    tunbridge update expert.bif visits.csv --ess 50 -o adapted.tb
    tunbridge update net.tb visits.csv -o newer.tb --fading 0.9999 --new-states missing
    """
    check_order(network, data)
    file = _output(network, data, output, in_place)
    ess, fading = (_numbers(f"--{name}", getattr(adapting, name)) for name in ("ess", "fading"))
    net = load_network(network)
    try:
        seen, monitor = _updated(net, data, adapting, reading, ess, fading)
    except DataError as error:
        raise _in_options(error) from None
    seen.network.write(file)
    say_fields(_summary(network, net, data, seen, monitor))
    _tell(seen, monitor, file)


def _output(network: Path, data: Path, output: Path | None, in_place: bool) -> Path:
    """Return the file to write; raise before the work when it could not be written, or nobody says where."""
    from tunbridge.cli.writers import check_not_input, check_place
    from tunbridge.formats.network_files import SUFFIXES

    if (output is None) != in_place:
        rule = "one of --output FILE and --in-place must be given; got"
        raise UsageError(f"{rule} {'both' if in_place else 'none'}.")
    file = output or network
    if Path(file.name.lower().removesuffix(".gz")).suffix not in SUFFIXES:
        raise UsageError(f"the name of the network must end in {shortlist(list(SUFFIXES), most=9)}; got {file.name!r}.")
    check_not_input(file, [data])
    if output is not None and output.exists() and network.exists() and output.samefile(network):
        raise UsageError(f"--output must not be the network itself; got {output.name!r}. Use --in-place.")
    check_place(file)
    return file


def _numbers(option: str, given: list[str] | None) -> float | dict[str, float] | None:
    """Return a number for all variables, or one for each that is named."""
    if not given:
        return None
    plain = [text for text in given if "=" not in text]
    if plain and len(given) > 1:
        raise UsageError(f"{option} must be one number, or NAME=NUMBER for each variable; got {', '.join(given)}.")
    if not plain:
        return dict(named_number(option, "NAME=NUMBER", text) for text in given)
    try:
        return float(plain[0])
    except ValueError:
        raise UsageError(f"{option} must be a number, or NAME=NUMBER; got {plain[0]!r}.") from None


def _updated(
    net: BayesianNetwork, data: Path, adapting: Adapting, reading: Reading, ess: Any, fading: Any
) -> tuple[NetworkUpdate, DriftMonitor | None]:
    """Return the updated network and, where rows are watched, the monitor after all of them."""
    from tunbridge.network import DriftMonitor, update_network

    monitors = [] if adapting.no_drift else [DriftMonitor(net)]

    def watched() -> Iterator[Table]:
        for table in tracked(_tables(net, data, adapting, reading), "updating"):
            monitors[:] = [monitor.update(table) for monitor in monitors]
            yield table

    seen = update_network(
        net, watched(), ess=ess, fading=1.0 if fading is None else fading, fixed=adapting.fixed or (),
        new_states=str(adapting.new_states),
    )  # fmt: skip
    return seen, monitors[0] if monitors else None


def _tables(net: BayesianNetwork, data: Path, adapting: Adapting, reading: Reading) -> Iterator[Table]:
    """Yield the rows of a file in batches."""
    from tunbridge.cli.network_rows import NetworkTarget
    from tunbridge.cli.rows import BATCH_ROWS, iter_rows
    from tunbridge.data import as_table
    from tunbridge.inference.batches import warn_near_names

    model = NetworkTarget(net, "")  # without a target: every variable may be known
    size, index = adapting.batch_rows or BATCH_ROWS, {name: i for i, name in enumerate(net.nodes)}
    for n, batch in enumerate(iter_rows(model, data, model.reading(reading), verbatim=False, batch_rows=size)):
        names = batch.features.column_names
        if n == 0:
            warn_near_names(names, index)
        if adapting.weights is not None:
            check_column("--weights", adapting.weights, data, names)
        kept = [name for name in names if name in net or name == adapting.weights]
        yield as_table(batch.features.select(kept), weights=adapting.weights)


def _in_options(error: DataError) -> DataError:
    """Return the error with the names of options in place of those of arguments."""
    message = str(error)
    for pattern, replacement in _OPTIONS:
        message = pattern.sub(replacement, message)
    return DataError(message)


# What is told


def _summary(
    network: Path, net: BayesianNetwork, data: Path, seen: NetworkUpdate, monitor: DriftMonitor | None
) -> list[tuple[str, str]]:
    holes = f", {seen.n_incomplete} with holes that were filled in" if seen.n_incomplete else ""
    new = [f"{name}: {', '.join(map(str, states))}" for name, states in seen.new_states.items()]
    return [
        ("Network", f"{network}: {counted(len(net.nodes), 'variable')}, {counted(net.dag.n_arcs, 'arc')}"),
        ("Read", f"{data}: {counted(seen.n_rows, 'row')}{holes}"),
        ("Log-score", _score_text(seen, monitor)),
        ("Impossible", _impossible_text(seen)),
        ("New states", shortlist(new, most=SHOWN, separator="\n")),
        ("Drift", "" if monitor is None else _drift_text(monitor)),
    ]


def _score_text(seen: NetworkUpdate, monitor: DriftMonitor | None) -> str:
    if math.isnan(seen.log_score):
        return ""
    is_whole = monitor is not None and not seen.n_incomplete and not seen.new_states and not seen.n_impossible
    expected = f" (expected of the network: {monitor.expected_score:.4f})" if monitor is not None and is_whole else ""
    return f"{seen.log_score:.4f} a row, before the rows were learned{expected}"


def _impossible_text(seen: NetworkUpdate) -> str:
    return f"{counted(seen.n_impossible, 'row')} could not occur in the network" if seen.n_impossible else ""


def _drift_text(monitor: DriftMonitor) -> str:
    if not monitor.alarm:
        return "none seen"
    lines = [
        f"{s.node or 'rows'}: {s.what}, since row {s.since} or so ({_nats(s.evidence)})"
        for s in monitor.signals
        if s.alarm
    ]
    return shortlist(lines, most=_DRIFTED, separator="\n")


def _nats(evidence: float) -> str:
    return f"{evidence:.0f} nats" if evidence < _PLENTY else f"more than {_PLENTY} nats"


def _tell(seen: NetworkUpdate, monitor: DriftMonitor | None, file: Path) -> None:
    from tunbridge.cli.convert import losses
    from tunbridge.formats import NetworkParts
    from tunbridge.formats.network_files import SUFFIXES

    net = seen.network
    lost = losses(
        NetworkParts(net.name, tuple(net.cpts.values())), SUFFIXES[Path(file.name.lower().removesuffix(".gz")).suffix]
    )
    if lost:
        note(f"Note: {file.name} does not keep {'; '.join(lost)}. A .tb file keeps all, for the next update.")
    say()
    say(f"The network is in {file}. What next:")
    say(f"  tunbridge describe {quote(str(file))}")
    if monitor is not None and monitor.drifted:
        say(f"  tunbridge query {quote(str(file))} --target {quote(monitor.drifted[0])}")
