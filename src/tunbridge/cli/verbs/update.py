"""``tunbridge network update``: a network after new rows, of a file of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from tunbridge._core.registry import verb
from tunbridge.cli.files import check_network_output, check_order, load_network, lost_in_file
from tunbridge.cli.networks import NetworkTarget
from tunbridge.cli.options import DataFile, From, NetworkFile, Reading, check_column
from tunbridge.cli.output import counted, lines, note, say_fields, say_next, shortlist, tracked
from tunbridge.cli.rows import BATCH_ROWS, iter_rows
from tunbridge.cli.usage import refuse
from tunbridge.data import Table, as_table
from tunbridge.inference.evidence import warn_near_names
from tunbridge.learning import DriftMonitor, NetworkUpdate, update_network
from tunbridge.network import BayesianNetwork

_DRIFTED, _PLENTY = 6, 999


@dataclass(frozen=True, kw_only=True)
class Updating:
    """Options.

    Parameters
    ----------
    output, -o : FILE
        The network to write.
    in_place
        Replace the network by the updated one, instead of --output.
    weights : COL
        The column of the row weights.
    no_drift
        Do not watch the rows for drift.

    Other Parameters
    ----------------
    batch_rows : N >= 1
        The rows of a batch; missing values are filled in with the network as it was before the batch (default: 65536).
    """

    output: Path | None = None
    in_place: bool = False
    how: Annotated[
        dict[str, Any], From("network", "BayesianNetwork.update", "ess fading fixed new_states", panel="Learning")
    ]
    weights: str | None = None
    batch_rows: int | None = None
    no_drift: bool = False


@verb("network update", old="update", rank=35)
def update(network: NetworkFile, data: DataFile, *, updating: Updating, reading: Reading) -> None:
    """Update the tables of a network with new rows.

    The rows are added to the counts behind the tables, which only .tb files keep: for complete rows the result is the
    network that one fit to all rows, old and new, would give. For rows with missing values, expected counts are added.
    The file is read in batches; nothing is written before all of it is read. The summary shows how well the network
    predicted the rows, and where they have drifted away from it.

    Examples
    --------
    tunbridge network update net.tb today.csv --in-place
    tunbridge network update expert.bif visits.csv --ess 50 -o adapted.tb
    tunbridge network update net.tb visits.csv -o newer.tb --fading 0.9999 --new-states missing
    """
    check_order(network, data)
    file = _output(network, data, updating.output, updating.in_place)
    net, size, weights = load_network(network), updating.batch_rows or BATCH_ROWS, updating.weights
    monitors = [] if updating.no_drift else [DriftMonitor(net)]

    def watched() -> Iterator[Table]:
        for table in tracked(_tables(net, data, size, weights, reading), "updating"):
            monitors[:] = [monitor.update(table) for monitor in monitors]
            yield table

    seen = update_network(net, watched(), **updating.how)
    monitor = monitors[0] if monitors else None
    seen.network.write(file)
    say_fields(_summary(network, net, data, seen, monitor))
    if lost := lost_in_file(seen.network, file):
        note(f"Note: {file.name} does not keep {lost}. A .tb file keeps all, for the next update.")
    name, drifted = quote(str(file)), monitor.drifted[:1] if monitor else ()
    queries = [f"network query {name} --target {quote(target)}" for target in drifted]
    say_next("network", file, [f"describe {name}", *queries])


def _output(network: Path, data: Path, output: Path | None, in_place: bool) -> Path:
    """Return the file to write; raise before the work if it could not be written, or none is named."""
    both, file = "both" if in_place else "none", output or network
    is_same = output is not None and output.exists() and network.exists() and output.samefile(network)
    refuse(
        ((output is None) != in_place, f"one of --output FILE and --in-place must be given; got {both}."),
        (is_same, f"--output must not be the network itself; got {file.name!r}. Use --in-place."),
    )
    check_network_output(file, [data])
    return file


def _tables(net: BayesianNetwork, data: Path, size: int, weights: str | None, reading: Reading) -> Iterator[Table]:
    """Yield the rows of a file in batches."""
    model = NetworkTarget(net, "")  # without a target: every variable may be known
    for n, batch in enumerate(iter_rows(model, data, model.reading(reading), verbatim=False, batch_rows=size)):
        names = batch.features.column_names
        if n == 0:
            warn_near_names(names, {name: i for i, name in enumerate(net.nodes)})
        if weights is not None:
            check_column("--weights", weights, data, names)
        yield as_table(
            batch.features.select([name for name in names if name in net or name == weights]), weights=weights
        )


# The summary


def _summary(
    network: Path, net: BayesianNetwork, data: Path, seen: NetworkUpdate, monitor: DriftMonitor | None
) -> list[tuple[str, str]]:
    missing = f", {seen.n_incomplete} with missing values" if seen.n_incomplete else ""
    new = [f"{name}: {', '.join(map(str, states))}" for name, states in seen.new_states.items()]
    return [
        ("Network", f"{network}: {counted(len(net.nodes), 'variable')}, {counted(net.dag.n_arcs, 'arc')}"),
        ("Read", f"{data}: {counted(seen.n_rows, 'row')}{missing}"),
        ("Log-score", _score_text(seen, monitor)),
        ("Impossible", _impossible_text(seen)),
        ("New states", lines(new)),
        ("Drift", "" if monitor is None else _drift_text(monitor)),
    ]


def _score_text(seen: NetworkUpdate, monitor: DriftMonitor | None) -> str:
    if math.isnan(seen.log_score):
        return ""
    is_whole = monitor is not None and not seen.n_incomplete and not seen.new_states and not seen.n_impossible
    expected = f" (expected by the network: {monitor.expected_score:.4f})" if monitor is not None and is_whole else ""
    return f"{seen.log_score:.4f} per row, before learning from the rows{expected}"


def _impossible_text(seen: NetworkUpdate) -> str:
    return f"{counted(seen.n_impossible, 'row')} could not occur in the network" if seen.n_impossible else ""


def _drift_text(monitor: DriftMonitor) -> str:
    if not monitor.alarm:
        return "none detected"
    lines = [
        f"{s.node or 'rows'}: {s.what}, since about row {s.since} ({_nats(s.evidence)})"
        for s in monitor.signals
        if s.alarm
    ]
    return shortlist(lines, most=_DRIFTED, separator="\n")


def _nats(evidence: float) -> str:
    return f"{evidence:.0f} nats" if evidence < _PLENTY else f"more than {_PLENTY} nats"
