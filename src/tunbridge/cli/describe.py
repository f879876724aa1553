"""``tunbridge describe``: what is in a table, before anything is learned from it; or what a network is made of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunbridge.cli.options import Reading
from tunbridge.cli.output import counted, say, say_fields, say_table, shortlist
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.network import BayesianNetwork
    from tunbridge.probability import ConditionalTable

_SHOWN_STATES = 6


def describe(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A table (.csv, .tsv, .parquet, .arrow, .arff or .jsonl), a network (.bif, .xmlbif, .net, …), or a "
            "folder of texts.",
        ),
    ],
    holes: Annotated[
        bool, typer.Option("--holes", help="What is missing together instead, and on which columns the holes depend.")
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Describe the columns of a table, or a network.

    Of a column: its kind, its states or range, missing cells, and what looks odd about it. Of a network: its variables,
    their states and parents, its size, and what exact inference in it takes. Of a folder of texts: how many of
    each class there are, and how long they are.

    Examples
    --------
    tunbridge describe visits.csv
    tunbridge describe visits.csv --missing -99
    tunbridge describe visits.csv --holes
    tunbridge describe alarm.bif
    tunbridge describe mails/
    """
    if data.is_dir():
        if holes:
            raise DataError(f"--holes must come with a table; {str(data)!r} is a folder.")
        _describe_folder(data, reading)
        return
    if _is_network_file(data, reading):
        if holes:
            raise DataError(f"--holes must come with a table; {data.name!r} is a network.")
        _describe_network(data, reading)
        return
    from tunbridge.data.readers import read_table

    table = read_table(data, missing=reading.markers, **reading.how())
    missing = counted(sum(table.missing.values()), "missing cell")
    say(f"{data}: {counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}, {missing}")
    say(_report(table) if holes else table.summary())


def _describe_folder(path: Path, reading: Reading) -> None:
    """Tell how many documents each subfolder holds, and how long they are."""
    import pyarrow.compute as pc

    from tunbridge.cli.documents import read_folder

    found = read_folder(path, reading.encoding)
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
    say_table(["class", "documents", "characters on average", "at most"], lines)


def _report(table: Table) -> str:
    """Return the report on missing cells, but for its first line, which says what has been said."""
    from tunbridge.learning import missingness

    report = missingness(table)
    complete = f"{counted(report.n_complete, 'row')} without a missing cell"
    return "\n".join([complete, *repr(report).split("\n")[1:]])


def _is_network_file(path: Path, reading: Reading) -> bool:
    from tunbridge.cli.networks import is_network_name

    return is_network_name(Path(f"x.{reading.format}") if reading.format else path) or path.suffix.lower() == ".tb"


def _describe_network(path: Path, reading: Reading) -> None:
    from tunbridge.cli.networks import load_network

    for name in ("missing", "not_missing", "delimiter"):
        if getattr(reading, name):
            raise DataError(f"--{name.replace('_', '-')} must come with a table; {path.name!r} is a network.")
    net = load_network(path, reading.format)
    sizes = [(len(net.nodes), "variable"), (net.dag.n_arcs, "arc"), (net.n_parameters, "parameter")]
    say(f"{path}: {', '.join(counted(n, noun) for n, noun in sizes)}")
    if not net.nodes:
        return
    say_fields(_fields(net))
    say()
    lines = [[cpt.variable.name, _states(cpt), ", ".join(p.name for p in cpt.parents)] for cpt in net.cpts.values()]
    say_table(["variable", "states", "parents"], lines, left=range(3))


def _fields(net: BayesianNetwork) -> list[tuple[str, str]]:
    from tunbridge.cli.answers import forecast_fields

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
    return f"{least if least == most else f'{least} to {most}'} a variable, {sum(numbers)} in all"


def _kinds(net: BayesianNetwork) -> str:
    """Return what kinds of tables there are, where not all are plain."""
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
