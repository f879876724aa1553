"""A network learned from a table: its columns made ready, the search, the tables, and what is told of it all."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from tunbridge._check import listed
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Learning, Numeric, Reading
from tunbridge.cli.output import counted, note, say, say_fields, say_table, searching, shortlist
from tunbridge.cli.remarks import (
    IDENTIFIER,
    ONE_VALUE,
    SHOWN,
    many_state_lines,
    missing_lines,
    model_name,
    odd_number_lines,
    same_reading,
    size_text,
    useless_columns,
)
from tunbridge.cli.structure import DEFAULT_BINS, DEFAULT_SCORE_OF_MISSING, Cuts, Structure
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Column, Table
    from tunbridge.learning import ArcStrengths, LearnedDAG
    from tunbridge.network import BayesianNetwork

_PICTURES = (".png", ".svg", ".pdf")
_SHOWN_ARCS, _SHOWN_PAIRS, _SHOWN_EDGES, _SHOWN_LABELS = 20, 20, 6, 6


@dataclass(frozen=True)
class Material:
    """What a network is learned from.

    Parameters
    ----------
    table : Table
        Categorical columns.
    read : Table
        The same columns as they were read, numbers uncut.
    left_out : dict of str to str
        The columns that were left out, and why.
    cut : list of str
        A line for each column of numbers that was cut.
    """

    table: Table
    read: Table
    left_out: dict[str, str]
    cut: list[str]

    @property
    def left_out_lines(self) -> list[str]:
        """A line for each column that was left out, and what to do about it."""
        lines = [f"{name} {what}" for name, what in self.left_out.items()]
        can_stay = any(what in (ONE_VALUE, IDENTIFIER) for what in self.left_out.values())
        return [*lines, *(["(--categorical NAME keeps such a column)"] if can_stay else [])]


@dataclass(frozen=True)
class Found:
    """A learned graph, the lines that tell of it, and whether the search was interrupted."""

    dag: LearnedDAG
    fields: list[tuple[str, str]]
    strengths: ArcStrengths | None = None
    interrupted: str = ""


def learn_network(
    data: Path, target: str | None, output: Path | None, structure: Structure, learning: Learning, reading: Reading
) -> None:
    """Learn a network from a table, write it to a file, and tell what was found."""
    _check_options(structure, learning, target)
    structure.make_score()  # so that a mistake is told before the table is read
    search, constraints = structure.make_search(target), structure.make_constraints()
    file = output or model_name(data)
    _check_files(file, structure, data)
    from tunbridge.cli.training import read_columns
    from tunbridge.learning import fit_parameters

    whole = read_columns(data, learning, reading, target)
    material = make_material(whole, target, structure, learning)
    score = structure.make_score(missing=bool(material.table.missing))
    learner = _bootstrapped if structure.bootstrap else _searched
    try:
        found = learner(material, structure, search, score, constraints)
    except DataError as error:
        raise _about_left_out(error, material) from None
    net = fit_parameters(found.dag, material.table, **_prior(learning))
    net.write(file)
    say_fields([*_about_table(data, whole, material, learning), *found.fields, *_about_file(net, file)])
    if found.strengths is not None:
        _show_strengths(found.strengths, found.dag)
    say()
    say(f"The network is in {file}. What next:")
    for command in next_commands(net, file, material, target):
        say(f"  tunbridge {command}{same_reading(reading) if command.startswith('predict') else ''}")
    if structure.trace is not None:
        _draw_trace(found.dag, structure.trace)
    if found.interrupted:
        raise KeyboardInterrupt(f"{found.interrupted} is in {file}.")


# Options


def _check_options(structure: Structure, learning: Learning, target: str | None) -> None:
    """Raise unless the options fit each other, and are such that a network knows."""
    structure.check(target)
    if learning.numeric is Numeric.kernel:
        raise UsageError("--numeric must be discretise for a network, which has no densities; got kernel.")
    if learning.prior:
        hint = "The pseudo-counts of its tables are --smoothing."
        raise UsageError(f"--prior must come with a classifier, whose classes it is about; got a network. {hint}")


def _prior(learning: Learning) -> dict[str, Any]:
    """Return the pseudo-counts as ``fit_parameters`` takes them; its default where nobody says."""
    if learning.smoothing is None:
        return {}
    return {"prior": "mle" if learning.smoothing == 0 else learning.smoothing}


def _check_files(file: Path, structure: Structure, data: Path) -> None:
    """Raise before the search when what it finds could not be written."""
    from tunbridge.cli.models import check_model_output
    from tunbridge.cli.writers import check_not_input, check_output, check_place
    from tunbridge.formats.network_files import SUFFIXES

    check_not_input(file, [data])
    if Path(file.name.lower().removesuffix(".gz")).suffix not in SUFFIXES or file.name.lower().endswith(".tb.gz"):
        raise UsageError(f"the name of the network must end in {listed(SUFFIXES)}; got {file.name!r}.")
    if file.suffix.lower() == ".tb":
        check_model_output(file)
    check_output(structure.trace, inputs=[data], suffixes=_PICTURES)
    for path in (file, structure.trace, structure.checkpoint):
        if path is not None:
            check_place(path)
    if structure.trace is not None:
        from tunbridge import plots

        plots.draw_off_screen()


# The table


def make_material(table: Table, target: str | None, structure: Structure, learning: Learning) -> Material:
    """Return the columns from which something can be learned, with states only."""
    from tunbridge.cli.training import with_classes

    coded = table if target is None else with_classes(table, target).whole
    useless = useless_columns(coded)
    kept = {target, *(name for name in learning.categorical or () if coded.missing.get(name, 0) < coded.n_rows)}
    gone = {name: what for name, what in useless.items() if name not in kept}
    read = coded.drop(gone)
    cut, lines, without = _with_states(read, target, structure, learning)
    left_out = gone | without
    if cut.n_columns < 2:
        others = shortlist([f"{name} {what}" for name, what in left_out.items()], most=SHOWN)
        rule = "a network must be learned from two columns at least"
        raise DataError(f"{rule}; got {cut.n_columns}.{f' Left out: {others}.' if others else ''}")
    return Material(cut, read.drop(without), left_out, lines)


def _with_states(
    table: Table, target: str | None, structure: Structure, learning: Learning
) -> tuple[Table, list[str], dict[str, str]]:
    """Return the table with its numbers cut, a line for each, and the columns in which no cut is worth it."""
    numbers = [v.name for v in table.variables if v.is_continuous]
    wanted = learning.numeric is Numeric.discretise or structure.cuts is not None or structure.bins is not None
    if numbers and not wanted:
        raise _still_numbers(numbers)
    classes = table.codes(target) if target is not None and structure.cuts is Cuts.mdl else None
    lines, without = [], {}
    for name in numbers:
        column = _cut(table, name, structure, classes)
        if column.variable.n_states < 2:
            without[name] = "has no cut that tells the classes apart"
            continue
        states = [str(state) for state in column.variable.states or ()]
        lines.append(f"{name}: {shortlist(states, most=_SHOWN_LABELS)}")
        table = table.with_column(column)
    return table.drop(without), lines, without


def _cut(table: Table, name: str, structure: Structure, classes: Any) -> Column:
    """Return a column of numbers as intervals; as it is, each value a state, where the values are whole and few."""
    from tunbridge.data.columns import column_to_arrow, infer_column
    from tunbridge.data.discretisation import learn_cuts

    values, bins = table.floats(name), structure.bins or DEFAULT_BINS
    if structure.cuts is not Cuts.mdl and _are_whole_and_few(values, bins):
        return infer_column(name, column_to_arrow(table.column(name)), "categorical")
    method: Any = str(structure.cuts or Cuts.frequency)
    return learn_cuts(values, method, classes=classes, weights=table.weights, n_bins=bins).column(name, values)


def _are_whole_and_few(values: Any, most: int) -> bool:
    import numpy as np

    distinct = np.unique(values[~np.isnan(values)])
    return len(distinct) <= most and bool((distinct == np.round(distinct)).all())


def _still_numbers(names: list[str]) -> DataError:
    some = f"{listed(names, most=6)} {'holds' if len(names) == 1 else 'hold'} numbers"
    ways = "--cuts frequency cuts them into intervals, --categorical COL takes each value for a state"
    return DataError(f"the columns of a network must have states; {some}. {ways}, --ignore COL leaves a column out.")


# The search


def _about_left_out(error: DataError, material: Material) -> DataError:
    """Return an error about a name with a hint, where it is that of a column that was left out."""
    gone = [name for name in material.left_out if f"got {name!r}" in str(error)]
    return DataError(f"{error} {gone[0]} was left out: it {material.left_out[gone[0]]}.") if gone else error


def _searched(material: Material, structure: Structure, search: Any, score: Any, constraints: Any) -> Found:
    from tunbridge.learning import learn_structure

    began = time.perf_counter()
    with searching("learning") as report:
        dag = learn_structure(
            material.table, score, search, constraints, max_parents=structure.max_parents,
            random_state=structure.seed or 0, progress=report,
        )  # fmt: skip
    steps = [counted(len(dag.trace), "move")] if dag.trace else []
    lines = [
        ("Search", ", ".join([dag.search, *steps, f"{time.perf_counter() - began:.2f} s"])),
        ("Score", f"{dag.score:.8g} ({_score_text(structure, dag.criterion)})"),
        ("Found", counted(dag.n_arcs, "arc")),
        ("Arcs", "\n".join(arc_text(arc) for arc in dag.arcs) if dag.n_arcs <= _SHOWN_ARCS else ""),
        ("Undecided", _undecided(dag)),
        ("Note", dag.note),
    ]
    return Found(dag, lines, None, dag.note if dag.note.startswith("interrupted") else "")


def _bootstrapped(material: Material, structure: Structure, search: Any, score: Any, constraints: Any) -> Found:
    from tunbridge.learning import bootstrap_structure

    began = time.perf_counter()
    with searching("bootstrap") as report:
        strengths = bootstrap_structure(
            material.table, structure.bootstrap or 0, score=score, search=search, constraints=constraints,
            max_parents=structure.max_parents, random_state=structure.seed or 0, progress=report,
        )  # fmt: skip
    seconds = time.perf_counter() - began
    dag = strengths.consensus(structure.threshold)
    cut = strengths.threshold if structure.threshold is None else structure.threshold
    criterion = _score_text(structure, score.name)
    lines = [
        ("Bootstrap", f"{counted(strengths.n_graphs, 'graph')} by {search.name} with {criterion}, {seconds:.2f} s"),
        ("Found", f"{counted(dag.n_arcs, 'arc')}, each in a share of {cut:.3g} or more of the graphs"),
        ("Note", "; ".join(filter(None, (strengths.note, dag.note)))),
    ]
    interrupted = f"{strengths.note}: their consensus" if strengths.note.startswith("interrupted") else ""
    return Found(dag, lines, strengths, interrupted)


def _score_text(structure: Structure, name: str) -> str:
    """Return the name of a score, with the number that was given or the reason why nobody chose it."""
    if structure.score is None and name == DEFAULT_SCORE_OF_MISSING:
        return f"{name}, as cells are missing"
    _, sign, number = (structure.score or "").partition(":")
    return f"{name}{sign}{number}"


def arc_text(arc: Iterable[str]) -> str:
    """Return an arc as it is shown."""
    return " → ".join(arc)


def _undecided(dag: LearnedDAG) -> str:
    edges = dag.undecided
    if not edges:
        return ""
    if len(edges) == dag.n_arcs:
        return "the data tell no direction: of each arc there is an equivalent graph in which it points the other way"
    shown = shortlist([" – ".join(edge) for edge in edges], most=_SHOWN_EDGES)
    return f"the data do not tell {'the direction' if len(edges) == 1 else 'the directions'} of {shown}"


# What is told


def _about_table(data: Path, whole: Table, material: Material, learning: Learning) -> list[tuple[str, str]]:
    missing = missing_lines(material.read)
    averaged = ["each variable, with its parents, is scored and counted in the rows that have all their cells"]
    odd = [*odd_number_lines(material.read), *many_state_lines(material.table)]
    return [
        ("Read", size_text(data, whole)),
        ("Ignored", shortlist(learning.ignore or [], most=SHOWN)),
        ("Weights", learning.weights or ""),
        ("Left out", shortlist(material.left_out_lines, most=SHOWN, separator="\n")),
        ("Missing", "\n".join([shortlist(missing, most=SHOWN, separator="\n"), *averaged]) if missing else ""),
        ("Cut", shortlist(material.cut, most=SHOWN, separator="\n")),
        ("Look at", shortlist(odd, most=SHOWN, separator="\n")),
    ]


def _about_file(net: BayesianNetwork, file: Path) -> list[tuple[str, str]]:
    from tunbridge.cli.convert import losses
    from tunbridge.formats.network_files import SUFFIXES

    format = SUFFIXES[Path(file.name.lower().removesuffix(".gz")).suffix]
    lost = losses(net._parts, format)
    return [("Not kept", f"{'; '.join(lost)} (a .tb file keeps all)" if lost else "")]


def _show_strengths(strengths: ArcStrengths, dag: LearnedDAG) -> None:
    """Print the strongest pairs: all that are in the network, and of the others so many that it stays readable."""
    table, arcs = strengths.table(), set(dag.arcs)
    most = max(_SHOWN_PAIRS, dag.n_arcs)
    rows = table.take(slice(0, most)).to_arrow().to_pylist()
    lines = []
    for row in rows:
        pair = row["from"], row["to"]
        is_in = "yes" if pair in arcs else "turned" if pair[::-1] in arcs else ""
        lines.append([*pair, f"{row['strength']:.3f}", f"{row['direction']:.3f}", is_in])
    say()
    say_table(["from", "to", "strength", "direction", "in the network"], lines, left=(0, 1, 4))
    if table.n_rows > most:
        say(f"… and {counted(table.n_rows - most, 'weaker pair')}")


def next_commands(net: BayesianNetwork, file: Path, material: Material, target: str | None) -> list[str]:
    """Return commands that go on with a network."""
    name = quote(str(file))
    describe = f"describe {name}"
    if file.name.lower().removesuffix(".gz").endswith(".uai"):
        return [describe]  # where variables and states have lost their names
    asked, known = _question(net, target)
    given = f" --given {quote(f'{known}={_commonest(material.table, known)}')}" if known else ""
    commands = [describe, f"query {name} --target {quote(asked)}{given}"]
    if target is not None and not material.cut:
        commands.append(f"predict {name} rows.csv --target {quote(target)} -o predicted.csv")
    return commands


def _question(net: BayesianNetwork, target: str | None) -> tuple[str, str | None]:
    """Return a variable to ask about, and one beside it to know."""
    dag = net.dag
    asked = target or next((end for _, end in dag.arcs), net.nodes[0])
    return asked, next(iter([*dag.parents(asked), *dag.children(asked)]), None)


def _commonest(table: Table, name: str) -> Any:
    import numpy as np

    codes = table.codes(name)
    return (table.variable(name).states or ())[int(np.bincount(codes[codes >= 0]).argmax())]


def _draw_trace(dag: LearnedDAG, path: Path) -> None:
    from tunbridge import plots
    from tunbridge.cli.writers import replacing

    if not dag.trace:
        note("Note: the search made no move, so there is no picture.")
        return
    figure: Any = plots.trace(dag).figure
    with replacing(path) as file:
        figure.savefig(file, dpi=150)
    note(f"The picture is in {path}.")
