"""``tunbridge network learn``: a Bayesian network from a table, first its graph, then its tables."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.files import check_model_output, check_network_output, lost_in_file, model_name, suffix_of
from tunbridge.cli.options import DataFile, Reading
from tunbridge.cli.output import (
    UsageError,
    check_picture,
    check_place,
    counted,
    note,
    reporting,
    say,
    say_fields,
    say_table,
    shortlist,
    write_picture,
)
from tunbridge.cli.structure import (
    DEFAULT_SCORE_OF_MISSING,
    Material,
    Structure,
    make_material,
)
from tunbridge.cli.training import (
    SHOWN,
    Columns,
    many_state_lines,
    missing_lines,
    odd_number_lines,
    read_columns,
    size_text,
)
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.learning import Score, Search

_INTERRUPTED = "interrupted"  # how the note of an interrupted search begins
_SHOWN_ARCS, _SHOWN_PAIRS, _SHOWN_EDGES = 20, 20, 6


@verb("network learn", rank=30)
def learn_network(
    data: DataFile,
    *,
    target: str | None = None,
    output: Path | None = None,
    structure: Structure,
    smoothing: float | None = None,
    numeric: Literal["discretise"] | None = None,
    columns: Columns,
    reading: Reading,
) -> None:
    """Learn a Bayesian network from a table.

    The arcs are found by a search for the graph with the best score, then the tables are counted. Columns must have
    states: numbers are discretized, or stay Gaussian variables (--cuts). Ctrl-C ends a search; the best network so far
    is written.

    Parameters
    ----------
    target, -t : COL
        The class, for the searches tan, fan and k-dependence and for --cuts mdl.
    output, -o : FILE
        The network file, .tb, .bif, .xmlbif, .net, … (default: the table's name with .tb).
    smoothing : G
        The pseudo-count added to every entry of the tables (default: one row in total for each parent configuration).

    Other Parameters
    ----------------
    numeric
        Discretize numbers, as --cuts frequency does.

    Examples
    --------
    tunbridge network learn visits.csv --search tabu -o visits.bif
    tunbridge network learn visits.csv --score bdeu:10 --max-parents 4 --forbid 'diseased->age' --cuts frequency
    tunbridge network learn visits.csv --search tan --target diseased
    tunbridge network learn visits.csv --bootstrap 200 -o consensus.bif
    """
    structure.check(target)
    structure.make_score()  # so that a mistake is reported before the table is read
    search = structure.make_search(target)
    constraints = structure.make_constraints()
    if smoothing is not None and smoothing < 0:
        raise UsageError(f"--smoothing must be at least 0; got {smoothing}.")
    file = output or model_name(data)
    _check_files(file, structure, data)
    whole = read_columns(data, columns, reading, target)
    material = make_material(whole, target, structure, columns, discretise=numeric is not None)
    together = structure.alternates(search, material.table)
    score = structure.make_score(averaged=bool(material.table.missing) and not together)
    prior = {} if smoothing is None else {"prior": "mle" if smoothing == 0 else smoothing}
    limits = {**structure.max_parents, "constraints": constraints, "random_state": structure.random_state or 0}
    found = _find(_Task(material, structure, search, score, prior, limits, together))
    net = found.net or _fitted(found, material.table, prior)
    net.write(file)
    lost = lost_in_file(net, file)
    kept = ("Not kept", f"{lost} (a .tb file keeps all)" if lost else "")
    say_fields([*_about_table(data, whole, material, columns, together=together), *found.fields, kept])
    if found.strengths is not None and found.strengths.strengths.any():
        _show_strengths(found.strengths, found.dag)
    say()
    say(f"The network is in {file}. Next steps:")
    for command in _next_commands(net, file, material, target):
        say(f"  tunbridge {command}{reading.again if command.startswith('predict') else ''}")
    if structure.trace is not None:
        _draw_trace(found.dag, structure.trace)
    if found.interrupted:
        raise KeyboardInterrupt(f"{found.interrupted} is in {file}.")


def _check_files(file: Path, structure: Structure, data: Path) -> None:
    """Raise before the search if its result could not be written."""
    check_network_output(file, [data])
    if file.suffix.lower() == ".tb":
        check_model_output(file)
    elif structure.cuts == "none":
        raise UsageError(f"the name of a network with numbers must end in '.tb'; got {file.name!r}.")
    check_picture(structure.trace, [data])
    if structure.checkpoint is not None:
        check_place(Path(structure.checkpoint))


def _fitted(found: _Found, table: Table, prior: dict[str, Any]) -> tb.BayesianNetwork:
    """Return the network of a graph; if values are missing its tables take a while, which is reported."""
    if not table.missing:
        return tb.fit_parameters(found.dag, table, **prior)
    began = time.perf_counter()
    with reporting("tables") as report:
        fit = tb.EM().fit(found.dag, table, **prior, random_state=0, progress=report)
    how = "converged" if fit.converged else fit.note or "not converged"
    iterations = counted(fit.n_iterations, "iteration")
    found.fields.append(("Tables", f"EM, {iterations}, {how}, {time.perf_counter() - began:.2f} s"))
    return fit.network


# The search


@dataclass(frozen=True)
class _Found:
    """A learned graph, the lines about it, and whether the search was interrupted."""

    dag: tb.LearnedDAG
    fields: list[tuple[str, str]]
    strengths: tb.ArcStrengths | None = None
    interrupted: str = ""
    net: tb.BayesianNetwork | None = None


@dataclass(frozen=True)
class _Task:
    """What to learn from, and how."""

    material: Material
    structure: Structure
    search: Search
    score: Score
    prior: dict[str, Any]
    limits: dict[str, Any]
    """The arguments that a search and a bootstrap have in common."""

    together: bool
    """Whether the graph and its tables are learned together."""

    @property
    def score_text(self) -> str:
        """The name of the score, with the number that was given or the reason why it is the default."""
        name, given = self.score.name, self.structure.score
        if given is None:
            return f"{name}, because values are missing" if name == DEFAULT_SCORE_OF_MISSING else name
        return f"{name}:{given.partition(':')[2]}" if ":" in given else name


def _find(task: _Task) -> _Found:
    try:
        if task.together:
            return _alternated(task)
        return _bootstrapped(task) if task.structure.bootstrap else _searched(task)
    except DataError as error:
        left_out = task.material.left_out
        gone = [name for name in left_out if f"got {name!r}" in str(error)]
        raise DataError(f"{error} {gone[0]} was left out: it {left_out[gone[0]]}.") if gone else error from None


def _searched(task: _Task) -> _Found:
    began = time.perf_counter()
    with reporting("learning") as report:
        dag = tb.learn_structure(task.material.table, task.score, task.search, progress=report, **task.limits)
    steps = [counted(len(dag.trace), "move")] if dag.trace else []
    lines = [
        ("Search", ", ".join([dag.search, *steps, f"{time.perf_counter() - began:.2f} s"])),
        ("Score", f"{dag.score:.8g} ({task.score_text})" if dag.family_scores else ""),
        *_about_graph(dag),
    ]
    return _Found(dag, lines, None, dag.note if dag.note.startswith(_INTERRUPTED) else "")


def _about_graph(dag: tb.LearnedDAG) -> list[tuple[str, str]]:
    return [
        ("Found", counted(dag.n_arcs, "arc")),
        ("Arcs", shortlist([" → ".join(arc) for arc in dag.arcs], most=_SHOWN_ARCS, separator="\n")),
        ("Undecided", _undecided(dag)),
        ("Note", dag.note),
    ]


def _alternated(task: _Task) -> _Found:
    began = time.perf_counter()
    with reporting("structural EM") as report:
        fit = tb.StructuralEM(task.search, task.score).fit(
            task.material.table, **task.prior, **task.limits, progress=report
        )
    dag = tb.LearnedDAG(fit.network.nodes, fit.network.dag.arcs, family_scores={}, search=fit.search, note=fit.note)
    turns = counted(len(fit.trace) - 1, "better graph") + " after the start"
    name = task.score_text if task.search.is_scored else fit.criterion
    lines = [
        ("Search", ", ".join([f"{fit.search}, structural EM", turns, f"{time.perf_counter() - began:.2f} s"])),
        ("Score", f"{fit.score:.8g} ({name}); {fit.trace[0].score:.8g} at the start"),
        *_about_graph(dag),
    ]
    return _Found(dag, lines, None, dag.note if dag.note.startswith(_INTERRUPTED) else "", fit.network)


def _bootstrapped(task: _Task) -> _Found:
    n, threshold = task.structure.bootstrap or 0, task.structure.threshold
    how: dict[str, Any] = {"score": task.score, "search": task.search}
    began = time.perf_counter()
    with reporting("bootstrap") as report:
        strengths = tb.bootstrap_structure(task.material.table, n, progress=report, **how, **task.limits)
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
    return _Found(dag, lines, strengths, interrupted)


def _undecided(dag: tb.LearnedDAG) -> str:
    edges = dag.undecided
    if not edges:
        return ""
    if len(edges) == dag.n_arcs:
        return "the data do not determine any direction: each arc is reversed in some equivalent graph"
    shown = shortlist([" – ".join(edge) for edge in edges], most=_SHOWN_EDGES)
    return f"the data do not determine the direction{'' if len(edges) == 1 else 's'} of {shown}"


# The summary


def _about_table(
    data: Path, whole: Table, material: Material, columns: Columns, *, together: bool
) -> list[tuple[str, str]]:
    missing = missing_lines(material.read)
    averaged = [
        "every row counts: missing values are inferred along with the network"
        if together
        else "each variable with its parents is scored on the rows where they are complete; its table is found by EM",
        f"{int(material.table.complete.sum())} of {counted(whole.n_rows, 'row')} are complete",
    ]
    odd = [*odd_number_lines(material.read), *many_state_lines(material.table)]
    return [
        ("Read", size_text(data, whole)),
        ("Ignored", shortlist(columns.ignore, most=SHOWN)),
        ("Weights", columns.weights or ""),
        ("Left out", shortlist(material.left_out_lines, most=SHOWN, separator="\n")),
        ("Missing", "\n".join([shortlist(missing, most=SHOWN, separator="\n"), *averaged]) if missing else ""),
        ("Bins", shortlist(material.cut, most=SHOWN, separator="\n")),
        ("Check", shortlist(odd, most=SHOWN, separator="\n")),
    ]


def _show_strengths(strengths: tb.ArcStrengths, dag: tb.LearnedDAG) -> None:
    """Print the strongest pairs: all that are in the network, and the strongest others up to a limit."""
    table, arcs = strengths.table(), set(dag.arcs)
    most = max(_SHOWN_PAIRS, dag.n_arcs)
    rows = table.take(slice(0, most)).to_arrow().to_pylist()
    lines = []
    for row in rows:
        pair = row["from"], row["to"]
        is_in = "yes" if pair in arcs else "reversed" if pair[::-1] in arcs else ""
        lines.append([*pair, f"{row['strength']:.3f}", f"{row['direction']:.3f}", is_in])
    say()
    say_table(["from", "to", "strength", "direction", "in the network"], lines, left=(0, 1, 4))
    if table.n_rows > most:
        say(f"… and {counted(table.n_rows - most, 'weaker pair')}")


def _next_commands(net: tb.BayesianNetwork, file: Path, material: Material, target: str | None) -> list[str]:
    """Return commands that go on with a network."""
    name = quote(str(file))
    describe = f"describe {name}"
    if suffix_of(file) == ".uai":
        return [describe]  # in which variables and states have no names
    asked, known = _question(net, target)
    given = f" --given {quote(f'{known}={_commonest(material, known)}')}" if known else ""
    commands = [describe, f"network query {name} --target {quote(asked)}{given}"]
    if target is not None:
        commands.append(f"predict {name} rows.csv --target {quote(target)} -o predicted.csv")
    return commands


def _question(net: tb.BayesianNetwork, target: str | None) -> tuple[str, str | None]:
    """Return a variable to ask about, and one beside it to know."""
    dag = net.dag
    asked = target or next((end for _, end in dag.arcs), net.nodes[0])
    return asked, next(iter([*dag.parents(asked), *dag.children(asked)]), None)


def _commonest(material: Material, name: str) -> Any:
    """Return the commonest state of a variable; if it was discretized, a number of the commonest bin."""
    if material.table.variable(name).is_continuous:
        return f"{np.nanmedian(material.table.floats(name)):.6g}"
    variable, codes = material.table.variable(name), material.table.codes(name)
    best = int(np.bincount(codes[codes >= 0]).argmax())
    if variable.cuts is None or material.read.variable(name).is_categorical:
        return (variable.states or ())[best]
    inside = np.sort(material.read.floats(name)[codes == best])
    return repr(float(inside[len(inside) // 2])).removesuffix(".0")


def _draw_trace(dag: tb.LearnedDAG, path: Path) -> None:
    if not dag.trace:
        note("Note: the search made no move, so there is no picture.")
        return
    write_picture(path, lambda plots: plots.trace(dag))
