"""``tunbridge describe``: what is in a table, a network, a classifier or a folder of texts."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

import tunbridge as tb
from tunbridge._core.memory import size_text
from tunbridge._core.registry import verb
from tunbridge.cli.documents import read_folder
from tunbridge.cli.files import is_a, is_network_name, load_any, load_network
from tunbridge.cli.networks import forecast_fields
from tunbridge.cli.options import Reading
from tunbridge.cli.output import counted, say, say_fields, say_table, shortlist
from tunbridge.cli.training import column_lines
from tunbridge.data import Table
from tunbridge.data.readers import read_table
from tunbridge.errors import DataError
from tunbridge.probability import ConditionalTable

if TYPE_CHECKING:
    from tunbridge.network import BayesianNetwork
    from tunbridge.temporal import DynamicBayesianNetwork

_SHOWN_STATES = 6
_SHOWN_LINES, _WIDTH = 20, 80


@verb("describe", rank=10)
def describe(data: Path, *, missing_values: bool = False, merge_categories: bool = False, reading: Reading) -> None:
    """Describe the columns of a table, a network or a classifier.

    For a column: its kind, its states or range, missing values, and what looks odd about it; and for the file, what was
    detected when it was read. For a network: its variables, their states and parents, its size, and the cost of exact
    inference. For a classifier: its settings, classes, training size, and features with their types and states; when
    its file was written; and, where the model knows them, its cross-validated accuracy and how its table was read. For
    a folder of texts: how many there are of each class, and how long they are.

    Parameters
    ----------
    data : DATA
        A table ({table_format}), a network ({network_format}), a classifier (.tb), or a folder of texts.
    missing_values
        Show which values are missing together, and on which columns that depends.
    merge_categories
        Take categories that differ in capitals or blanks only as one.

    Examples
    --------
    tunbridge describe visits.csv
    tunbridge describe visits.csv --missing -99
    tunbridge describe visits.csv --missing-values
    tunbridge describe alarm.bif
    tunbridge describe model.tb
    tunbridge describe mails/
    """
    is_model = data.suffix.lower() == ".tb"
    is_net = is_network_name(Path(f"x.{reading.format}") if reading.format else data) or is_model
    for option, given in (("--missing-values", missing_values), ("--merge-categories", merge_categories)):
        if given and (data.is_dir() or is_net):
            what = "folder" if data.is_dir() else "model" if is_model else "network"
            raise DataError(f"{option} must come with a table; {data.name!r} is a {what}.")
    if data.is_dir():
        _describe_folder(data, reading)
    elif is_net:
        _describe_network(data, reading)
    else:
        table = read_table(data, merge_categories=merge_categories, **reading.missing_marks, **reading.how_whole)
        missing = counted(sum(table.missing.values()), "missing value")
        say(f"{data}: {counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}, {missing}")
        say(_report(table) if missing_values else table.summary())
        _say_reading(table)


def _describe_folder(path: Path, reading: Reading) -> None:
    """Print how many documents each subfolder holds, and how long they are."""
    found = read_folder(path, reading.encoding or "utf-8")
    sizes = found.append_column("length", pc.utf8_length(found["text"])).select(["class", "length"])
    counts = sizes.group_by("class").aggregate([("length", "count"), ("length", "mean"), ("length", "max")])
    lines = [
        [
            row["class"] or "(no subfolder)",
            str(row["length_count"]),
            f"{row['length_mean']:.0f}",
            str(row["length_max"]),
        ]
        for row in counts.sort_by("class").to_pylist()
    ]
    say(f"{path}: {counted(found.num_rows, 'document')}")
    say()
    say_table(["class", "documents", "mean characters", "longest"], lines)


def _say_reading(table: Table) -> None:
    """Print what was detected when a table was read, and what may have been read wrongly."""
    notes = table.reading.notes if table.reading is not None else ()
    found = column_lines(table)
    for title, lines in (("Detected", notes), ("Look at", found)):
        if lines:
            say(f"\n{title}:")
        for line in lines[:_SHOWN_LINES]:
            say(fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
        if len(lines) > _SHOWN_LINES:
            say(f"  … and {counted(len(lines) - _SHOWN_LINES, 'more line')}")


def _report(table: Table) -> str:
    """Return the report on missing values, without its first line, which repeats the size."""
    report = tb.missingness(table)
    complete = f"{counted(report.n_complete, 'row')} without missing values"
    return "\n".join([complete, *repr(report).split("\n")[1:]])


def _describe_network(path: Path, reading: Reading) -> None:
    for name in ("missing", "not_missing", "delimiter"):
        if getattr(reading, name):
            raise DataError(f"--{name.replace('_', '-')} must come with a table; {path.name!r} is a network.")
    net: Any = load_network(path, reading.format) if reading.format else load_any(path, swapped_with=None)
    if is_a("DynamicBayesianNetwork", net):
        _describe_dynamic(path, net)
        return
    if not is_a("BayesianNetwork", net):
        say(net.describe(most=None))
        say()
        say_fields(_file_fields(path))
        return
    sizes = [(len(net.nodes), "variable"), (net.dag.n_arcs, "arc"), (net.n_parameters, "parameter")]
    say(f"{path}: {', '.join(counted(n, noun) for n, noun in sizes)}")
    if not net.nodes:
        return
    say_fields(_fields(net))
    say()
    lines = [[cpt.variable.name, _states(cpt), ", ".join(p.name for p in cpt.parents)] for cpt in net.cpts.values()]
    say_table(["variable", "states", "parents"], lines, left=range(3))


def _describe_dynamic(path: Path, net: DynamicBayesianNetwork) -> None:
    """Print the variables of a slice, and what they depend on."""
    between = sum(parent in net.lags for parent, _ in net.arcs)
    sizes = [(len(net.nodes), "variable"), (net.n_parameters, "parameter")]
    say(f"{path}: dynamic network, {', '.join(counted(n, noun) for n, noun in sizes)}")
    own = [cpt.variable.name for cpt in net.first.cpts.values() if cpt != net.cpts[cpt.variable.name]]
    say_fields([
        ("name", net.name),
        ("arcs", f"{len(net.arcs) - between} in a slice, {between} from earlier slices"),
        ("order", counted(net.order, "slice") + " back"),
        ("interface", shortlist(list(net.interface))),
        ("slice 0", f"tables of its own for {shortlist(own)}" if own else ""),
        *_file_fields(path),
    ])  # fmt: skip
    say()
    lines = [[name, _states(cpt), ", ".join(p.name for p in cpt.parents)] for name, cpt in net.cpts.items()]
    say_table(["variable", "states", "parents"], lines, left=range(3))


def _file_fields(path: Path) -> list[tuple[str, str]]:
    """Return the size of a file and when it was written: equal models give equal files, so the file holds no date."""
    facts = path.stat()
    written = datetime.fromtimestamp(facts.st_mtime).strftime("%Y-%m-%d %H:%M")
    return [("file", f"{path}, {size_text(facts.st_size)}"), ("written", written)]


def _fields(net: BayesianNetwork) -> list[tuple[str, str]]:
    return [
        ("name", net.name),
        ("states", _state_numbers(net)),
        ("continuous", counted(n, "variable") if (n := sum(v.is_continuous for v in net.variables)) else ""),
        ("tables", _kinds(net)),
        ("largest table", _largest(net)),
        *forecast_fields(net.forecast()),
    ]


def _state_numbers(net: BayesianNetwork) -> str:
    numbers = [v.n_states for v in net.variables if v.is_categorical]
    if not numbers:
        return ""
    least, most = min(numbers), max(numbers)
    return f"{least if least == most else f'{least} to {most}'} per variable, {sum(numbers)} in total"


def _kinds(net: BayesianNetwork) -> str:
    """Return the kinds of tables, unless all are dense."""
    cpts = list(net.cpts.values())
    names = {"CPT": "dense", "SparseCPT": "sparse", "NoisyMaxCPT": "noisy-MAX", "LinearGaussian": "Gaussian"}
    kinds = Counter(names.get(type(cpt).__name__, type(cpt).__name__) for cpt in cpts)
    with_counts = sum(cpt.counts is not None for cpt in cpts)
    if len(kinds) == 1 and "dense" in kinds and not with_counts:
        return ""
    parts = [f"{n} {kind}" for kind, n in kinds.most_common()]
    return ", ".join([*parts, *([f"{with_counts} with counts"] if with_counts else [])])


def _largest(net: BayesianNetwork) -> str:
    cpt = max(net.cpts.values(), key=lambda cpt: cpt.n_configurations * (cpt.variable.n_states or len(cpt.parents) + 2))
    entries = counted(cpt.n_configurations, "row")
    parents = shortlist([p.name for p in cpt.parents], most=8)
    of = f"{cpt.variable.name} given {parents}" if parents else cpt.variable.name
    if cpt.variable.is_continuous:
        return f"{of}: {counted(cpt.n_configurations, 'regression')}"
    return f"{of}: {entries} of {counted(cpt.variable.n_states, 'state')}"


def _states(cpt: ConditionalTable) -> str:
    if cpt.variable.is_continuous:
        return "continuous"
    return shortlist([str(state) for state in cpt.variable.states or ()], most=_SHOWN_STATES)
