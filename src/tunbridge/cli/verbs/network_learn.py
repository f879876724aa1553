"""``tunbridge network learn``: a Bayesian network from a table, first its graph, then its tables.

Options are checked before the table is read, so that a mistake is reported at once. Then the library reads, learns and
writes, and what it found is printed at the end.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import numpy as np

import tunbridge as tb
from tunbridge._core.check import listed
from tunbridge._core.registry import entries, verb
from tunbridge.cli.dynamic import Sequences, names_of, sequences_text, with_places
from tunbridge.cli.files import (
    check_exists,
    check_model_output,
    check_network_output,
    check_output,
    check_picture,
    check_table,
    lost_in_file,
    model_name,
    suffix_of,
    write_picture,
)
from tunbridge.cli.options import DataFile, From, Reading
from tunbridge.cli.output import counted, lines, note, reporting, say, say_fields, say_next, say_table, shortlist
from tunbridge.cli.training import Columns, Material, missing_lines, read_columns, size_text
from tunbridge.cli.usage import UsageError, as_usage, given_for, near_hint, refuse, refuse_options
from tunbridge.data import Table
from tunbridge.data.variable import number_of
from tunbridge.errors import DataError
from tunbridge.learning import Constraints, Score, Search
from tunbridge.learning.scores.discrete import as_score, score_names
from tunbridge.learning.structure import SEARCH_ALIASES

_SEARCH, _BINS = "hill-climbing", 5
_SCORE, _SCORE_OF_MISSING = "bic", "nal"
_DYNAMIC = ("lags", "sequence", "time", "intra_slice")
_AVERAGES = ("nal", "pnal")
_STEPLESS = ("exact", "k-dependence")
_INTERRUPTED = "interrupted"  # how the note of an interrupted search begins
_SHOWN_ARCS, _SHOWN_PAIRS, _SHOWN_EDGES = 20, 20, 6

Fields = list[tuple[str, str]]


def _library(source: str, common: str = "", rare: str = "", panel: str = "Search") -> From:
    return From("learning", source, common, rare, panel)


@dataclass(frozen=True)
class Task:
    """Options.

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
    """

    target: str | None = None
    output: Path | None = None
    smoothing: float | None = None
    numeric: Literal["discretise"] | None = None

    @property
    def prior(self) -> dict[str, Any]:
        """The argument of the library that the smoothing is."""
        return {} if self.smoothing is None else {"prior": self.smoothing or "mle"}


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Search.

    Parameters
    ----------
    search : NAME
        The search: {search} (default: hill-climbing); tan, fan and k-dependence need --target.
    score : NAME[:NUMBER]
        The score: {score}; bdeu:10 has the equivalent sample size 10 (default: bic, or nal with --no-structural-em if
        values are missing).
    bootstrap : N >= 2
        Learn from N resampled tables, and keep the arcs on which most of them agree.
    random_state, --seed : N >= 0
        The random seed (default: 0).
    cuts
        Discretize numbers into bins with equal numbers of rows, of equal width, or such that they separate the classes
        of --target (mdl); or keep them as Gaussian variables (none).
    bins : N >= 2
        The number of bins (default: 5).

    Other Parameters
    ----------------
    threshold : P
        With --bootstrap: the share of the graphs in which two variables must be joined (default: more than half).
    structural_em
        If values are missing: learn the graph and its tables together by structural EM (default), or score each family
        on the rows where it is complete.
    trace : FILE
        Draw the score after each move into a .png, .svg or .pdf file.
    tier_file, --tiers : FILE
        The tiers from a file, a line for each.
    """

    search: str | None = None
    score: str | None = None
    bootstrap: int | None = None
    random_state: int | None = None
    cuts: Literal["frequency", "width", "mdl", "none"] | None = None
    bins: int | None = None
    threshold: float | None = None
    structural_em: bool | None = None
    trace: Path | None = None
    tier_file: Path | None = None
    max_parents: Annotated[dict[str, Any], _library("learn_structure", "max_parents")]
    restarts: Annotated[dict[str, Any], _library("HillClimbing", rare="restarts")]
    sparse: Annotated[dict[str, Any], _library("SparseCandidate", rare="k=candidates checkpoint=checkpoint:FILE")]
    dependence: Annotated[dict[str, Any], _library("KDependence", rare="k")]
    arcs: Annotated[
        dict[str, Any],
        _library(
            "Constraints", "required=require:'A->B' forbidden=forbid:'A->B' tiers=tier:A,B",
            "roots=root:COL leaves=leaf:COL", "Known arcs",
        ),
    ]  # fmt: skip

    @property
    def checkpoint(self) -> str | None:
        """The file in which the search by sparse candidates keeps its state."""
        return self.sparse.get("checkpoint")

    @property
    def search_name(self) -> str:
        """The name of the search, as the library writes it."""
        name = (self.search or _SEARCH).strip().lower().replace("_", "-").replace(" ", "-")
        return SEARCH_ALIASES.get(name, name)

    def check(self, target: str | None) -> None:
        """Raise unless the options fit each other."""
        threshold, name = self.threshold, self.search_name
        why = "with none nothing is discretized" if self.cuts == "none" else "mdl finds the number of bins"
        no_bins = self.cuts in ("none", "mdl") and self.bins is not None
        refuse(
            (self.cuts == "mdl" and not target, "--cuts mdl must come with --target, whose classes it separates."),
            (no_bins, f"--bins must come with --cuts frequency or width; {why}."),
            (threshold is not None and self.bootstrap is None, "--threshold must come with --bootstrap."),
            (not 0.0 <= (threshold or 0.0) <= 1.0, f"--threshold must be from 0 to 1; got {threshold}."),
        )
        singles = {"trace": self.trace, "checkpoint": self.checkpoint}
        single = "must come with a single search; got"
        refuse(*((self.bootstrap and v, f"--{n} {single} --bootstrap.") for n, v in singles.items()))
        if self.structural_em:
            refuse((self.cuts == "none", "--structural-em must come with states or bins; got --cuts none."))
            several, given = "--structural-em, which makes several.", {"bootstrap": self.bootstrap, **singles}
            refuse(*((v is not None, f"--{n} {single} {several}") for n, v in given.items()))
        rule = "--trace must come with a search that makes moves"
        refuse((self.trace is not None and name in _STEPLESS, f"{rule}; {name} makes none."))

    def make_search(self, target: str | None) -> Search:
        """Return the search with its settings; raise for those that it does not have."""
        known, name = entries("search"), self.search_name
        if name not in known:
            raise _not_among("--search", self.search, known)
        kind = known[name].load()
        own = {f.name for f in fields(kind)}
        rule = f"--score must come with a search by score; {name} goes by information alone."
        refuse((self.score is not None and not kind.is_scored, rule))
        owners = {"sparse": "sparse-candidate", "dependence": "k-dependence"}
        if "restarts" not in own:
            refuse_options(["restarts"], f"come with --search hill-climbing, tabu or orders; got {name}.")
        for group, owner in owners.items():
            refuse_options([group] if name != owner else [], f"come with --search {owner}; got {name}.")
        chosen = {**self.restarts, **self.sparse, **self.dependence}
        if "target" in own:
            refuse((target is None, f"--search {name} must come with --target, the class it is built around."))
            chosen["target"] = target
        return kind(**chosen)

    def alternates(self, search: Search, table: Table) -> bool:
        """Return whether the graph and its tables are learned together, the default if values are missing."""
        if not table.missing or self.structural_em is not None:
            return bool(table.missing and self.structural_em)
        single = any(option is not None for option in (self.bootstrap, self.trace, self.checkpoint))
        averages = (self.score or "").partition(":")[0] in _AVERAGES
        numbers = any(v.is_continuous for v in table.variables)
        return search.is_scored and not (single or averages or numbers)

    def make_score(self) -> Score | None:
        """Return the score that was chosen, if one was; a number after its name is its first option."""
        if self.score is None:
            return None
        name, sign, number = self.score.partition(":")
        try:
            score = as_score(name)
        except DataError:
            raise _not_among("--score", self.score, score_names()) from None
        own, value = [f.name for f in fields(score)], number_of(number)
        refuse(
            (sign and not own, f"--score {name} must come without a number; got {self.score!r}."),
            (sign and value is None, f"in --score {self.score}, a number must follow the colon; got {number!r}."),
        )
        with as_usage(f"in --score {self.score}, {{}}"):
            return replace(score, **{own[0]: value}) if sign else score

    def make_constraints(self) -> Constraints | None:
        """Return what is known about the arcs; None if that is nothing."""
        arcs, file = self.arcs, self.tier_file
        refuse(("tiers" in arcs and file, "tiers must come from --tier or from --tiers; got both."))
        if not arcs and file is None:
            return None
        hint = "Quote it: without quotes the shell takes > for a file to write to."
        for name, option in (("required", "--require"), ("forbidden", "--forbid")):
            for text in arcs.get(name, ()):
                rule = f"{option} must be an arc such as 'A->B'; got {text!r}."
                refuse(("->" not in text and "→" not in text, f"{rule} {hint}"))
        tiers = _tiers("--tier", arcs.get("tiers", ())) if file is None else _tier_file(file)
        return Constraints(**{**arcs, "tiers": tiers})


@dataclass(frozen=True)
class Slices(Sequences):
    """Dynamic networks.

    Other Parameters
    ----------------
    sequence : COL
        The column that names the sequence of each row, which is a slice (default: all rows are one sequence).
    time : COL
        The column of the times, numbers or dates: rows are sorted by it (default: rows follow each other).
    lags : N >= 1
        Learn a dynamic network, whose rows are slices of sequences: how many slices back parents may be (default with
        --sequence or --time: 1).
    intra_slice : bool
        Whether a dynamic network may have arcs inside a slice.
    """

    lags: int | None = None
    intra_slice: bool | None = None


@verb("network learn", rank=30)
def learn_network(
    data: DataFile, *, task: Task, structure: Structure, slices: Slices, columns: Columns, reading: Reading
) -> None:
    """Learn a Bayesian network from a table.

    The arcs are found by a search for the graph with the best score, then the tables are counted. Columns must have
    states: numbers are discretized, or stay Gaussian variables (--cuts). Ctrl-C ends a search; the best network so far
    is written. With --lags N, --sequence COL or --time COL rows are slices, and a dynamic network is learned.

    Examples
    --------
    tunbridge network learn visits.csv --search tabu -o visits.bif
    tunbridge network learn visits.csv --score bdeu:10 --max-parents 4 --forbid 'diseased->age' --cuts frequency
    tunbridge network learn visits.csv --search tan --target diseased
    tunbridge network learn visits.csv --bootstrap 200 -o consensus.bif
    tunbridge network learn visits.csv --sequence patient --time day --lags 2 -o ward.tb
    """
    file = task.output or model_name(data)
    structure.check(task.target)
    refuse(((task.smoothing or 0) < 0, f"--smoothing must be at least 0; got {task.smoothing}."))
    _check_files(file, structure, data)
    search, score, seed = structure.make_search(task.target), structure.make_score(), structure.random_state or 0
    limits = {**structure.max_parents, "constraints": structure.make_constraints(), "random_state": seed}
    columns = columns.split(data, reading)
    if given_for(*_DYNAMIC):
        _learn_dynamic(data, file, task, slices, columns, reading, structure, score, {"search": search, **limits})
        return
    whole = read_columns(data, columns, reading, task.target)
    wanted = task.numeric is not None or structure.bins is not None
    cuts = structure.cuts or ("frequency" if wanted else None)
    material = Material.of(whole, task.target, columns, cuts, structure.bins or _BINS)
    averaged = material.table.missing and not structure.alternates(search, material.table)
    found = _Work(material, structure, search, score or (_SCORE_OF_MISSING if averaged else _SCORE))
    found.learn(task.prior, limits)
    found.network = found.network.with_reading(whole.reading)
    found.network.write(file)
    lost = lost_in_file(found.network, file)
    kept = ("Not kept", f"{lost} (a .tb file keeps all)" if lost else "")
    say_fields([*_about_table(data, whole, columns, found), *_about_search(found), kept])
    if found.strengths is not None and found.strengths.strengths.any():
        _show_strengths(found.strengths, found.dag)
    commands = _next_commands(found, file, task.target)
    again = "" if file.suffix.lower() == ".tb" else reading.again
    say_next("network", file, [c + again if c.startswith("predict") else c for c in commands])
    if structure.trace is not None:
        _draw_trace(found.dag, structure.trace)
    if found.interrupted:
        raise KeyboardInterrupt(f"{found.interrupted} is in {file}.")


def _learn_dynamic(
    data: Path, file: Path, task: Task, slices: Slices, columns: Columns, reading: Reading, structure: Structure,
    score: Score | None, how: dict[str, Any],
) -> None:  # fmt: skip
    """Learn a dynamic network, and write it."""
    hint = "tunbridge network convert --slices N writes other formats."
    rule = f"come without {given_for(*_DYNAMIC)[0]}, which makes a dynamic network."
    refuse_options(("target", "bootstrap", "threshold", "trace", "structural_em", "tier_file", "weights"), rule)
    refuse(
        ("tiers" in structure.arcs, f"--tier must {rule}"),
        (file.suffix.lower() != ".tb", f"the name of a dynamic network must end in '.tb'; got {file.name!r}. {hint}"),
    )
    names_of(data, slices, reading)
    whole = read_columns(data, replace(columns, ignore=[*columns.ignore, *slices.named]), reading)
    cuts = structure.cuts or ("frequency" if task.numeric is not None or structure.bins is not None else None)
    try:
        material = Material.of(whole, None, columns, cuts, structure.bins or _BINS)
    except DataError as error:
        hint = " --time names the column of the times." if slices.time is None and "numbers" in str(error) else ""
        raise DataError(f"{error}{hint}") from None
    if material.table.missing:
        name, n = next(iter(material.table.missing.items()))
        hint = "tunbridge impute fills them; network fit takes them where the arcs are known."
        raise DataError(f"slices must be complete to learn arcs; {name!r} has {counted(n, 'missing value')}. {hint}")
    table = with_places(material.table, data, slices, reading)
    intra: dict[str, Any] = {} if slices.intra_slice is None else {"intra_slice": slices.intra_slice}
    began = time.perf_counter()
    with reporting("learning", keeps=False):
        net = tb.learn_dynamic(
            table, lags=slices.lags or 1, score=score or _SCORE, **slices.how, **intra, **task.prior, **how
        )
    net.write(file)
    between = [arc for arc in net.arcs if arc[0] in net.lags]
    say_fields([
        ("Read", f"{size_text(data, whole, columns.ignore)}, {sequences_text(table, slices)}"),
        ("Left out", lines(material.left_out_lines)),
        ("Bins", lines(material.bins)),
        ("Search", f"{how['search'].name}, {time.perf_counter() - began:.2f} s"),
        ("Found", f"{counted(len(between), 'arc')} between slices, {len(net.arcs) - len(between)} in a slice"),
        ("Arcs", shortlist([" → ".join(arc) for arc in net.arcs], most=_SHOWN_ARCS, separator="\n")),
    ])  # fmt: skip
    name, again = quote(str(file)), " ".join(map(quote, slices.again))
    ahead = f"network forecast {name} {quote(str(data))} --target {quote(net.nodes[0])} {again}".rstrip()
    say_next("network", file, [f"describe {name}", f"network draw {name}", ahead])


def _check_files(file: Path, structure: Structure, data: Path) -> None:
    """Raise before the search if its result could not be written."""
    check_table(data)
    check_network_output(file, [data])
    if file.suffix.lower() == ".tb":
        check_model_output(file)
    elif structure.cuts == "none":
        raise UsageError(f"the name of a network with numbers must end in '.tb'; got {file.name!r}.")
    check_picture(structure.trace, [data])
    if structure.checkpoint is not None:
        check_output(Path(structure.checkpoint))


def _not_among(option: str, given: str | None, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is none of those known."""
    names = list(known)
    hint = near_hint(given, names)
    return UsageError(f"{option} must be one of {listed(names, most=len(names))}; got {given!r}.{hint}")


def _tiers(what: str, texts: Iterable[str]) -> list[list[str]]:
    """Return the names in each line, written as in a CSV file: a name with a comma is quoted."""
    found = [[name.strip() for name in row] for row in csv.reader(texts, skipinitialspace=True) if row]
    refuse(*(("" in row, f"{what} must be names separated by commas; got {','.join(row)!r}.") for row in found))
    return found


def _tier_file(path: Path) -> list[list[str]]:
    check_exists("--tiers", path)
    try:
        found = _tiers(f"each line of {path.name}", path.read_text(encoding="utf-8-sig").splitlines())
    except UnicodeDecodeError:
        raise DataError(f"--tiers must be a text file in UTF-8; {path.name} is none.") from None
    if not found:
        raise DataError(f"--tiers must hold a line of names for each tier; {path.name} is empty.")
    return found


# Learning


@dataclass
class _Work:
    """What is learned from what: first the settings, then the graph and the network, and how they were found."""

    material: Material
    structure: Structure
    search: Search
    score: Score | str
    dag: tb.LearnedDAG = field(init=False)
    network: tb.BayesianNetwork = field(init=False)
    seconds: float = 0.0
    """How long the search took."""

    strengths: tb.ArcStrengths | None = None
    rounds: tb.StructuralFit | None = None
    tables: str = ""
    """How the tables were found, if they were not just counted."""

    def learn(self, prior: dict[str, Any], limits: dict[str, Any]) -> None:
        """Find the graph and its tables; raise with the reason where an option names a column that was left out."""
        began = time.perf_counter()
        try:
            self._find_graph(prior, limits)
        except DataError as error:
            left_out = self.material.left_out
            gone = [name for name in left_out if f"got {name!r}" in str(error)]
            raise DataError(f"{error} {gone[0]} was left out: it {left_out[gone[0]]}.") if gone else error from None
        self.seconds = time.perf_counter() - began
        if self.rounds is None:
            self._find_tables(prior)

    def _find_graph(self, prior: dict[str, Any], limits: dict[str, Any]) -> None:
        table, structure, search, score = self.material.table, self.structure, self.search, self.score
        if structure.alternates(search, table):
            with reporting("structural EM") as report:
                fit = tb.StructuralEM(search, score).fit(table, **prior, **limits, progress=report)
            arcs = fit.network.dag.arcs
            self.rounds, self.network = fit, fit.network
            self.dag = tb.LearnedDAG(fit.network.nodes, arcs, family_scores={}, search=fit.search, note=fit.note)
        elif structure.bootstrap:
            how: dict[str, Any] = {"score": score, "search": search, **limits}
            with reporting("bootstrap") as report:
                self.strengths = tb.bootstrap_structure(table, structure.bootstrap, progress=report, **how)
            self.dag = self.strengths.consensus(structure.threshold)
        else:
            with reporting("learning") as report:
                self.dag = tb.learn_structure(table, score, search, progress=report, **limits)

    def _find_tables(self, prior: dict[str, Any]) -> None:
        table, began = self.material.table, time.perf_counter()
        if not table.missing:
            self.network = tb.fit_parameters(self.dag, table, **prior)
            return
        with reporting("tables") as report:
            fit = tb.EM().fit(self.dag, table, **prior, random_state=0, progress=report)
        how = "converged" if fit.converged else fit.note or "not converged"
        self.tables = f"EM, {counted(fit.n_iterations, 'iteration')}, {how}, {time.perf_counter() - began:.2f} s"
        self.network = fit.network

    @property
    def interrupted(self) -> str:
        """What an interrupted search left, in words; empty if the search came to its end."""
        note = self.dag.note if self.strengths is None else self.strengths.note
        consensus = "" if self.strengths is None else ", whose consensus"
        return f"{note}{consensus}" if note.startswith(_INTERRUPTED) else ""

    @property
    def score_text(self) -> str:
        """The name of the score, with the number that was given or the reason why it is the default."""
        if isinstance(self.score, str):
            return f"{self.score}, because values are missing" if self.score == _SCORE_OF_MISSING else self.score
        number = (self.structure.score or "").partition(":")[2]
        return f"{self.score.name}:{number}" if number else self.score.name


# The summary


def _about_table(data: Path, whole: Table, columns: Columns, found: _Work) -> Fields:
    material = found.material
    missing = missing_lines(material.read)
    if missing:
        how = (
            "each variable with its parents is scored on the rows where they are complete; its table is found by EM"
            if found.rounds is None
            else "every row counts: missing values are inferred along with the network"
        )
        complete = f"{int(material.table.complete.sum())} of {counted(whole.n_rows, 'row')} are complete"
        missing = [lines(missing), how, complete]
    return [
        ("Read", size_text(data, whole, columns.ignore)),
        ("Ignored", shortlist(columns.ignore)),
        ("Weights", columns.weights or ""),
        ("Left out", lines(material.left_out_lines)),
        ("Missing", "\n".join(missing)),
        ("Bins", lines(material.bins)),
        ("Check", lines(material.oddities)),
    ]


def _about_search(found: _Work) -> Fields:
    dag, rounds, seconds = found.dag, found.rounds, f"{found.seconds:.2f} s"
    if found.strengths is not None:
        return _about_bootstrap(found, found.strengths)
    if rounds is not None:
        turns = counted(len(rounds.trace) - 1, "improvement") + " over the start graph"
        steps = [f"{rounds.search}, structural EM", turns, seconds]
        name = found.score_text if found.search.is_scored else rounds.criterion
        score = f"{rounds.score:.8g} ({name}); {rounds.trace[0].score:.8g} at the start"
    else:
        steps = [dag.search, *([counted(len(dag.trace), "move")] if dag.trace else []), seconds]
        score = f"{dag.score:.8g} ({found.score_text})" if dag.family_scores else ""
    edges, n_arcs = dag.undecided, dag.n_arcs
    shown = shortlist([" – ".join(edge) for edge in edges], most=_SHOWN_EDGES)
    undecided = f"the data do not determine the direction{'' if len(edges) == 1 else 's'} of {shown}" if edges else ""
    if edges and len(edges) == n_arcs:
        undecided = "the data do not determine any direction: each arc is reversed in some equivalent graph"
    return [
        ("Search", ", ".join(steps)),
        ("Score", score),
        ("Found", counted(n_arcs, "arc")),
        ("Arcs", shortlist([" → ".join(arc) for arc in dag.arcs], most=_SHOWN_ARCS, separator="\n")),
        ("Undecided", undecided),
        ("Note", dag.note),
        ("Tables", found.tables),
    ]


def _about_bootstrap(found: _Work, strengths: tb.ArcStrengths) -> Fields:
    dag, threshold = found.dag, found.structure.threshold
    by = f"{found.search.name} with {found.score_text}" if found.search.is_scored else found.search.name
    least = f"{strengths.threshold if threshold is None else threshold:.3g} or more"
    share = f", each in a share of {least} of the graphs" if dag.n_arcs else ""
    return [
        ("Bootstrap", f"{counted(strengths.n_graphs, 'graph')} by {by}, {found.seconds:.2f} s"),
        ("Found", f"{counted(dag.n_arcs, 'arc')}{share}"),
        ("Note", "; ".join(filter(None, (strengths.note, dag.note)))),
        ("Tables", found.tables),
    ]


def _show_strengths(strengths: tb.ArcStrengths, dag: tb.LearnedDAG) -> None:
    """Print the strongest pairs: all that are in the network, and the strongest others up to a limit."""
    table, arcs = strengths.table(), set(dag.arcs)
    most = max(_SHOWN_PAIRS, dag.n_arcs)
    cells = []
    for row in table.take(slice(0, most)).to_arrow().to_pylist():
        pair = row["from"], row["to"]
        is_in = "yes" if pair in arcs else "reversed" if pair[::-1] in arcs else ""
        cells.append([*pair, f"{row['strength']:.3f}", f"{row['direction']:.3f}", is_in])
    say()
    say_table(["from", "to", "strength", "direction", "in the network"], cells, left=(0, 1, 4))
    if table.n_rows > most:
        say(f"… and {counted(table.n_rows - most, 'weaker pair')}")


def _next_commands(found: _Work, file: Path, target: str | None) -> list[str]:
    """Return commands that go on with a network."""
    name, dag = quote(str(file)), found.network.dag
    describe = f"describe {name}"
    if suffix_of(file) == ".uai":
        return [describe]  # in which variables and states have no names
    asked = target or next((end for _, end in dag.arcs), dag.nodes[0])
    known = next(iter([*dag.parents(asked), *dag.children(asked)]), None)  # a variable beside it
    given = f" --given {quote(f'{known}={_commonest(found.material, known)}')}" if known else ""
    commands = [describe, f"network query {name} --target {quote(asked)}{given}"]
    if target is not None:
        commands.append(f"predict {name} rows.csv --target {quote(target)} -o predicted.csv")
    return commands


def _commonest(material: Material, name: str) -> object:
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
