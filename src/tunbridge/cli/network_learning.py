"""A network learned from a table: the search, the tables, and what is told of it all."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from tunbridge._check import listed
from tunbridge.cli.failures import UsageError
from tunbridge.cli.material import Material, make_material
from tunbridge.cli.options import Learning, Numeric, Reading
from tunbridge.cli.output import counted, note, say, say_fields, say_table, searching, shortlist
from tunbridge.cli.pictures import PICTURE_SUFFIXES, write_picture
from tunbridge.cli.remarks import (
    SHOWN,
    many_state_lines,
    missing_lines,
    model_name,
    odd_number_lines,
    same_reading,
    size_text,
)
from tunbridge.cli.structure import DEFAULT_SCORE_OF_MISSING, Cuts, Structure
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.learning import ArcStrengths, Constraints, LearnedDAG, Score, Search
    from tunbridge.network import BayesianNetwork

_INTERRUPTED = "interrupted"  # how the note of a search begins that Ctrl-C has ended
_SHOWN_ARCS, _SHOWN_PAIRS, _SHOWN_EDGES = 20, 20, 6


@dataclass(frozen=True)
class Found:
    """A learned graph, the lines that tell of it, and whether the search was interrupted."""

    dag: LearnedDAG
    fields: list[tuple[str, str]]
    strengths: ArcStrengths | None = None
    interrupted: str = ""
    net: BayesianNetwork | None = None


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

    whole = read_columns(data, learning, reading, target)
    material = make_material(whole, target, structure, learning)
    together = structure.alternates(search, material.table)
    score = structure.make_score(averaged=bool(material.table.missing) and not together)
    found = _find(Task(material, structure, search, score, constraints, _prior(learning), together))
    net = found.net or _fitted(found, material.table, learning)
    net.write(file)
    about = _about_table(data, whole, material, learning, together=found.net is not None)
    say_fields([*about, *found.fields, *_about_file(net, file)])
    if found.strengths is not None and found.strengths.strengths.any():
        _show_strengths(found.strengths, found.dag)
    _show_next(next_commands(net, file, material, target), file, reading)
    if structure.trace is not None:
        _draw_trace(found.dag, structure.trace)
    if found.interrupted:
        raise KeyboardInterrupt(f"{found.interrupted} is in {file}.")


def _fitted(found: Found, table: Table, learning: Learning) -> BayesianNetwork:
    """Return the network of a graph; where cells are missing its tables take a while, which is told."""
    from tunbridge.learning import EM, fit_parameters

    if not table.missing:
        return fit_parameters(found.dag, table, **_prior(learning))
    began = time.perf_counter()
    with searching("tables") as report:
        fit = EM().fit(found.dag, table, **_prior(learning), random_state=0, progress=report)
    how = "converged" if fit.converged else fit.note or "not converged"
    iterations = counted(fit.n_iterations, "iteration")
    found.fields.append(("Tables", f"EM, {iterations}, {how}, {time.perf_counter() - began:.2f} s"))
    return fit.network


# Options


def _check_options(structure: Structure, learning: Learning, target: str | None) -> None:
    """Raise unless the options fit each other, and are such that a network knows."""
    structure.check(target)
    if learning.numeric is Numeric.kernel:
        raise UsageError("--numeric must be discretise for a network, which has no densities; got kernel.")
    if learning.calibrate is not None:
        raise UsageError("--calibrate must come with a classifier: with --target, and without --search.")
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
    elif structure.cuts is Cuts.none:
        raise UsageError(f"the name of a network with numbers must end in '.tb'; got {file.name!r}.")
    check_output(structure.trace, inputs=[data], suffixes=PICTURE_SUFFIXES)
    for path in (file, structure.trace, structure.checkpoint):
        if path is not None:
            check_place(path)
    if structure.trace is not None:
        from tunbridge import plots

        plots.draw_off_screen()


# The search


@dataclass(frozen=True)
class Task:
    """What is searched for, in what, and how."""

    material: Material
    structure: Structure
    search: Search
    score: Score
    constraints: Constraints | None
    prior: dict[str, Any]
    together: bool
    """Whether the graph and its tables are found together."""

    @property
    def limits(self) -> dict[str, Any]:
        """The arguments of the library that a search and a bootstrap have in common."""
        seed = self.structure.seed or 0
        return {"max_parents": self.structure.max_parents, "constraints": self.constraints, "random_state": seed}

    @property
    def score_text(self) -> str:
        """The name of the score, with the number that was given or the reason why it was not chosen by hand."""
        name, said = self.score.name, self.structure.score
        if said is None:
            return f"{name}, as cells are missing" if name == DEFAULT_SCORE_OF_MISSING else name
        return f"{name}:{said.partition(':')[2]}" if ":" in said else name


def _find(task: Task) -> Found:
    try:
        if task.together:
            return _alternated(task)
        return _bootstrapped(task) if task.structure.bootstrap else _searched(task)
    except DataError as error:
        raise _about_left_out(error, task.material) from None


def _about_left_out(error: DataError, material: Material) -> DataError:
    """Return an error about a name with a hint, where it is that of a column that was left out."""
    gone = [name for name in material.left_out if f"got {name!r}" in str(error)]
    return DataError(f"{error} {gone[0]} was left out: it {material.left_out[gone[0]]}.") if gone else error


def _searched(task: Task) -> Found:
    from tunbridge.learning import learn_structure

    began = time.perf_counter()
    with searching("learning") as report:
        dag = learn_structure(task.material.table, task.score, task.search, progress=report, **task.limits)
    steps = [counted(len(dag.trace), "move")] if dag.trace else []
    lines = [
        ("Search", ", ".join([dag.search, *steps, f"{time.perf_counter() - began:.2f} s"])),
        ("Score", f"{dag.score:.8g} ({task.score_text})" if dag.family_scores else ""),
        *_about_graph(dag),
    ]
    return Found(dag, lines, None, dag.note if dag.note.startswith(_INTERRUPTED) else "")


def _about_graph(dag: LearnedDAG) -> list[tuple[str, str]]:
    return [
        ("Found", counted(dag.n_arcs, "arc")),
        ("Arcs", shortlist([arc_text(arc) for arc in dag.arcs], most=_SHOWN_ARCS, separator="\n")),
        ("Undecided", _undecided(dag)),
        ("Note", dag.note),
    ]


def _alternated(task: Task) -> Found:
    from tunbridge.learning import LearnedDAG, StructuralEM

    began = time.perf_counter()
    with searching("structural EM") as report:
        fit = StructuralEM(task.search, task.score).fit(
            task.material.table, **task.prior, **task.limits, progress=report
        )
    dag = LearnedDAG(fit.network.nodes, fit.network.dag.arcs, family_scores={}, search=fit.search, note=fit.note)
    turns = counted(len(fit.trace) - 1, "better graph") + " after the start"
    name = task.score_text if task.search.is_scored else fit.criterion
    lines = [
        ("Search", ", ".join([f"{fit.search}, structural EM", turns, f"{time.perf_counter() - began:.2f} s"])),
        ("Score", f"{fit.score:.8g} ({name}); {fit.trace[0].score:.8g} at the start"),
        *_about_graph(dag),
    ]
    return Found(dag, lines, None, dag.note if dag.note.startswith(_INTERRUPTED) else "", fit.network)


def _bootstrapped(task: Task) -> Found:
    from tunbridge.learning import bootstrap_structure

    n, threshold = task.structure.bootstrap or 0, task.structure.threshold
    how: dict[str, Any] = {"score": task.score, "search": task.search}
    began = time.perf_counter()
    with searching("bootstrap") as report:
        strengths = bootstrap_structure(task.material.table, n, progress=report, **how, **task.limits)
    seconds = time.perf_counter() - began
    dag = strengths.consensus(threshold)
    by = f"{task.search.name} with {task.score_text}" if task.search.is_scored else task.search.name
    least = f"{strengths.threshold if threshold is None else threshold:.3g} or more"
    lines = [
        ("Bootstrap", f"{counted(strengths.n_graphs, 'graph')} by {by}, {seconds:.2f} s"),
        ("Found", f"{counted(dag.n_arcs, 'arc')}{f', each in a share of {least} of the graphs' if dag.n_arcs else ''}"),
        ("Note", "; ".join(filter(None, (strengths.note, dag.note)))),
    ]
    interrupted = f"{strengths.note}, whose consensus" if strengths.note.startswith(_INTERRUPTED) else ""
    return Found(dag, lines, strengths, interrupted)


def arc_text(arc: Iterable[str]) -> str:
    """Return an arc as it is shown."""
    return " → ".join(arc)


def _undecided(dag: LearnedDAG) -> str:
    edges = dag.undecided
    if not edges:
        return ""
    if len(edges) == dag.n_arcs:
        return "the data by themselves tell no direction: each arc points the other way in some equivalent graph"
    shown = shortlist([" – ".join(edge) for edge in edges], most=_SHOWN_EDGES)
    return f"the data by themselves do not tell {'the direction' if len(edges) == 1 else 'the directions'} of {shown}"


# What is told


def _about_table(
    data: Path, whole: Table, material: Material, learning: Learning, *, together: bool = False
) -> list[tuple[str, str]]:
    missing = missing_lines(material.read)
    averaged = [
        "every row counts: what is missing is inferred along with the network"
        if together
        else "each variable, with its parents, is scored in the rows that have all their cells; its table is by EM",
        f"{int(material.table.complete.sum())} of {counted(whole.n_rows, 'row')} have all cells",
    ]
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
    from tunbridge.formats import NetworkParts
    from tunbridge.formats.network_files import SUFFIXES

    format = SUFFIXES[Path(file.name.lower().removesuffix(".gz")).suffix]
    lost = losses(NetworkParts(net.name, tuple(net.cpts.values())), format)
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


def _show_next(commands: list[str], file: Path, reading: Reading) -> None:
    say()
    say(f"The network is in {file}. What next:")
    for command in commands:
        say(f"  tunbridge {command}{same_reading(reading) if command.startswith('predict') else ''}")


def next_commands(net: BayesianNetwork, file: Path, material: Material, target: str | None) -> list[str]:
    """Return commands that go on with a network."""
    name = quote(str(file))
    describe = f"describe {name}"
    if file.name.lower().removesuffix(".gz").endswith(".uai"):
        return [describe]  # where variables and states have lost their names
    asked, known = _question(net, target)
    given = f" --given {quote(f'{known}={_commonest(material, known)}')}" if known else ""
    commands = [describe, f"query {name} --target {quote(asked)}{given}"]
    if target is not None:
        commands.append(f"predict {name} rows.csv --target {quote(target)} -o predicted.csv")
    return commands


def _question(net: BayesianNetwork, target: str | None) -> tuple[str, str | None]:
    """Return a variable to ask about, and one beside it to know."""
    dag = net.dag
    asked = target or next((end for _, end in dag.arcs), net.nodes[0])
    return asked, next(iter([*dag.parents(asked), *dag.children(asked)]), None)


def _commonest(material: Material, name: str) -> Any:
    """Return the commonest state of a variable; where it was cut, a number of the commonest interval."""
    import numpy as np

    if material.table.variable(name).is_continuous:
        return f"{np.nanmedian(material.table.floats(name)):.6g}"
    variable, codes = material.table.variable(name), material.table.codes(name)
    best = int(np.bincount(codes[codes >= 0]).argmax())
    if variable.cuts is None or material.read.variable(name).is_categorical:
        return (variable.states or ())[best]
    inside = np.sort(material.read.floats(name)[codes == best])
    return repr(float(inside[len(inside) // 2])).removesuffix(".0")


def _draw_trace(dag: LearnedDAG, path: Path) -> None:
    if not dag.trace:
        note("Note: the search made no move, so there is no picture.")
        return
    write_picture(path, lambda plots: plots.trace(dag))
