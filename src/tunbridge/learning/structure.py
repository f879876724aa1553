"""Structure learning: from a table to a graph."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal, overload

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, shortened, warn_user
from tunbridge._core.registry import Entry, entries
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import n_threads
from tunbridge.data import Table, as_table
from tunbridge.errors import DataError, TunbridgeWarning
from tunbridge.graph import DAG
from tunbridge.learning.constraints import CompiledConstraints, Constraints, Limits
from tunbridge.learning.learned import LearnedDAG, TracedMove
from tunbridge.learning.parameters.regression import check_arcs
from tunbridge.learning.scores.discrete import LogLikelihood, NodeAverage, Score, as_score
from tunbridge.learning.scores.families import DiscreteFamilies, Families
from tunbridge.learning.scores.gaussian import GaussianFamilies
from tunbridge.learning.scores.mixed import MixedFamilies
from tunbridge.learning.searches.problem import Graph, Problem, Progress, Report, Search, SearchResult, watched
from tunbridge.network import BayesianNetwork

_NO_CONSTRAINTS = Constraints()
_LEAST_WEIGHT = 2.0


def learn_structure(
    frame: object,
    score: str | Score = "bic",
    search: str | Search = "hill-climbing",
    constraints: Constraints | None = None,
    *,
    max_parents: int | None = None,
    start: DAG | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> LearnedDAG:
    """Return the graph that a search finds for a table.

    Parameters
    ----------
    frame : Table or any frame
        One column per variable. If there are both categorical and continuous columns, categorical variables have only
        categorical parents. Missing values are allowed with the score ``"nal"``, which averages over the rows in which
        a family is complete.
    score : str or Score
        ``"bic"``, ``"aic"``, ``"bdeu"``, ``"bds"``, ``"k2"``, ``"fnml"``, ``"qnml"``, ``"nal"``, ``"loglik"``, or an
        object with options such as ``tb.BDeu(ess=10)``. Tree searches do not use it.
    search : str or Search
        ``"hill-climbing"``, ``"tabu"``, ``"orders"``, ``"ges"``, ``"exact"``, ``"sparse-candidate"``, ``"chow-liu"``,
        or an object with options such as ``tb.Tabu(length=20)`` or ``tb.TAN("class")``.
    constraints : Constraints, optional
        Required and forbidden arcs, tiers, and so on.
    max_parents : int, optional
        The maximum number of parents of any node, in addition to the constraints.
    start : DAG, optional
        The graph to start from; default: the graph of the required arcs.
    random_state : int, Generator, optional
        The random seed. The result does not depend on the number of threads.
    n_jobs : int, optional
        The number of threads; default: all cores.
    progress : callable or False, optional
        A function that is called with a short text and the current score. Default: a line in a terminal or
        notebook; ``False`` shows nothing.

    Returns
    -------
    LearnedDAG
        A :class:`DAG` with its score, the score of each family, and the steps of the search. After Ctrl-C it is the
        best graph so far.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> dag = tb.learn_structure(table, search="tabu")
    >>> sorted(dag.parents("dysp"))
    ['bronc', 'either']
    """
    table = checked_table(frame)
    _warn_of_identifiers(table)
    n_threads(n_jobs)
    criterion, method = as_score(score), as_search(search)
    if method.is_scored:
        check_missing(table, criterion)
    known = compiled_constraints(constraints, table, max_parents)
    rng = np.random.default_rng(entropy_of(random_state))
    with watched(progress) as report:
        scored = criterion if method.is_scored else LogLikelihood()
        families = families_of(table, scored, arc_bonus=known.arc_bonus, n_jobs=n_jobs)
        problem = problem_of(families, known, rng, report, start)
        if method.is_scored:
            _check_start(problem)
        found = method.run(problem)
    return _learned(table, families, found, criterion, method)


@overload
def score_structure(
    dag: DAG | BayesianNetwork, frame: object, score: str | Score = ..., constraints: Constraints | None = ..., *,
    by_family: Literal[False] = ...,
) -> float: ...  # fmt: skip


@overload
def score_structure(
    dag: DAG | BayesianNetwork, frame: object, score: str | Score = ..., constraints: Constraints | None = ..., *,
    by_family: Literal[True],
) -> dict[str, float]: ...  # fmt: skip


def score_structure(
    dag: DAG | BayesianNetwork,
    frame: object,
    score: str | Score = "bic",
    constraints: Constraints | None = None,
    *,
    by_family: bool = False,
) -> float | dict[str, float]:
    """Return the score of a graph.

    Parameters
    ----------
    dag : DAG or BayesianNetwork
        A graph whose nodes are columns of the frame; of a network its graph is scored, by the states of the frame.
    frame : Table or any frame
        The data; other columns are ignored.
    score : str or Score
        As for :func:`learn_structure`.
    constraints : Constraints, optional
        Only prior probabilities of arcs are used.
    by_family : bool
        Whether to return the score of each node with its parents; their sum is the score of the graph.

    Returns
    -------
    float, or dict of str to float

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag, table = tb.DAG(arcs=[("outlook", "play")]), tb.datasets.play_tennis()
    >>> round(tb.score_structure(dag, table, "k2"), 3)
    -27.024
    >>> scores = tb.score_structure(dag, table, "k2", by_family=True)
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'outlook': -17.226, 'play': -9.798}
    """
    dag = dag.dag if isinstance(dag, BayesianNetwork) else dag
    if not isinstance(dag, DAG):
        raise DataError(f"dag must be a DAG or a network; got {shortened(repr(dag))}.", parameter="dag")
    table = checked_table(as_table(frame).select(dag.nodes))
    check_arcs(dag, table)
    criterion = as_score(score)
    check_missing(table, criterion)
    known = compiled_constraints(constraints, table)
    families = families_of(table, criterion, arc_bonus=known.arc_bonus)
    graph = graph_of(dag, known.names)
    scores = {name: families.score(x, graph[x]) for x, name in enumerate(known.names)}
    return {name: scores[name] for name in dag.nodes} if by_family else float(sum(scores[name] for name in dag.nodes))


# Parts that other learners use too


SEARCH_ALIASES = {
    "hc": "hill-climbing",
    "greedy": "hill-climbing",
    "greedy-hill-climbing": "hill-climbing",
    "chowliu": "chow-liu",
}
"""Other names of searches, as other libraries have them."""


def as_search(search: str | Search) -> Search:
    """Return a search: the object itself, or the registered search of that name with its default options."""
    if isinstance(search, Search):
        return search
    known = entries("search")
    if isinstance(search, type) and issubclass(search, Search):
        hint = f"Write {_call(known[search.name]) if search.name in known else f'{search.__name__}()'}."
        raise DataError(f"search must be an object; got the class {search.__name__}. {hint}", parameter="search")
    if not isinstance(search, str):
        got = shortened(repr(search))
        raise DataError(f"search must be a name or a search such as tb.Tabu(); got {got}.", parameter="search")
    name = search.strip().lower().replace("_", "-").replace(" ", "-")
    name = SEARCH_ALIASES.get(name, name)
    if name not in known:
        rule = f"search must be one of {listed(known, most=len(known))}"
        hint = did_you_mean(name, known)
        hint = f" {hint}" if hint.startswith("Did") else ""
        raise DataError(f"{rule}; got {search!r}.{hint}", parameter="search")
    if needs := known[name].details.get("needs"):
        rule = f"search {search!r} must be an object with its {needs}"
        raise DataError(f"{rule}; got a name. Write {_call(known[name])}.", parameter="search")
    found: Search = known[name].load()()
    return found


def _call(entry: Entry) -> str:
    """Return how a registered search is written, with the option that it needs."""
    needs, ours = entry.details.get("needs"), entry.module.startswith(__name__.partition(".")[0])
    return f"{'tb.' * ours}{entry.object}({f'{needs}=...' if needs else ''})"


def problem_of(
    families: Families,
    known: CompiledConstraints,
    rng: np.random.Generator,
    report: Report | None,
    start: DAG | None = None,
) -> Problem:
    """Return the input of a search."""
    graph = known.required if start is None else graph_of(start, known.names)
    known.check_graph(graph)
    return Problem(families, known.allowed, known.required, known.max_parents, graph, rng, report)


def families_of(
    table: Table, score: Score, *, arc_bonus: np.ndarray | None = None, n_jobs: int | None = None
) -> Families:
    """Return the scored families of a table: by counts, by regression, or both, depending on its columns."""
    score = score.for_variables(table.n_columns)
    discrete = [v.name for v in table.variables if v.is_categorical]
    if len(discrete) == table.n_columns:
        return DiscreteFamilies(table, score, arc_bonus=arc_bonus, n_jobs=n_jobs)
    if not discrete:
        return GaussianFamilies(table, score, arc_bonus=arc_bonus)
    counts = DiscreteFamilies(table.select(discrete), score, n_jobs=n_jobs)
    return MixedFamilies(table, score, counts, arc_bonus=arc_bonus)


def network_table(frame: object, but: Container[str] = (), *, numbers: bool = False) -> Table:
    """Return a frame as a table that a network can be learned from; raise unless every column has states.

    Columns named in ``but`` may be empty; continuous columns are accepted with ``numbers=True``.
    """
    table = as_table(frame)
    numeric = [v.name for v in table.variables if v.is_continuous]
    if numeric and not numbers:
        raise DataError(
            f"a network's columns must be categorical; {listed(numeric)} {'is' if len(numeric) == 1 else 'are'} "
            "continuous. Use tb.discretise first; learn_structure takes them as they are."
        )
    empty = [v.name for v in table.variables if v.states == () and v.name not in but]
    if empty:
        raise DataError(f"a network's columns must have states; {listed(empty)} held only missing values.")
    return table


def checked_table(frame: object) -> Table:
    """Return a frame as a table; raise unless it has rows and columns, and weights that count rows."""
    table = as_table(frame)
    if table.n_columns == 0 or table.n_rows == 0:
        size = f"{counted(table.n_rows, 'row')} and {counted(table.n_columns, 'column')}"
        raise DataError(f"a table to learn from must have rows and columns; got {size}.")
    if table.weights is not None and table.n_rows > 1 and 0 < table.weights.sum() < _LEAST_WEIGHT:
        total = f"{table.weights.sum():g}"
        hint = "Rescale them so that they sum to the number of rows."
        raise DataError(f"weights must be numbers of rows; got a sum of {total}. {hint}")
    return table


def check_missing(table: Table, score: Score) -> None:
    """Raise for a table with missing values unless the score accepts them."""
    if table.missing and not isinstance(score, NodeAverage):
        some = listed(table.missing, most=3)
        raise DataError(
            f"a table scored by {score.name!r} must have no missing values; got some in {some}. "
            "Use score='nal', which averages over the rows that are complete in a family, or "
            "use tb.learn_network(df), which learns structure and tables together (structural EM)."
        )


def compiled_constraints(
    constraints: Constraints | None, table: Table, max_parents: Limits = None
) -> CompiledConstraints:
    """Return the constraints for the columns of a table, in alphabetical order."""
    return checked_constraints(constraints).compile(tuple(sorted(table.names)), max_parents=max_parents)


def checked_constraints(constraints: Constraints | None) -> Constraints:
    """Return constraints, empty ones for None; raise for anything else."""
    if constraints is None:
        return _NO_CONSTRAINTS
    if not isinstance(constraints, Constraints):
        rule = f"constraints must be a Constraints object; got {shortened(repr(constraints))}"
        hint = "Write tb.Constraints(required=[...], forbidden=[...])."
        raise DataError(f"{rule}. {hint}", parameter="constraints")
    return constraints


def graph_of(start: DAG, names: tuple[str, ...]) -> Graph:
    """Return a graph as searches take it; raise unless its nodes are these."""
    if not isinstance(start, DAG):
        hint = " Use its .dag." if isinstance(start, BayesianNetwork) else ""
        raise DataError(f"start must be a DAG; got {shortened(repr(start))}.{hint}", parameter="start")
    if set(start.nodes) != set(names):
        differ = listed(sorted(set(start.nodes) ^ set(names)))
        raise DataError(f"start must have the table's columns as its nodes; {differ} differ.", parameter="start")
    position = {name: i for i, name in enumerate(names)}
    return tuple(tuple(sorted(position[p] for p in start.parents(name))) for name in names)


def _warn_of_identifiers(table: Table) -> None:
    if table.identifiers:
        some = listed(table.identifiers, most=3)
        warn_user(
            f"{some} looks like an identifier, with a different value in every row. Drop it with table.drop([...]).",
            TunbridgeWarning,
        )


def _check_start(problem: Problem) -> None:
    """Raise for a family of the start graph that cannot be scored."""
    families = problem.families
    for x, parents in enumerate(problem.start):
        if parents and families.score(x, parents) == -np.inf:
            some = listed([families.names[p] for p in parents], most=4)
            raise DataError(
                f"required arcs and start must have families that can be scored; {families.names[x]!r} given {some} "
                "cannot be: no row has all values, or a continuous variable is a parent of a categorical one."
            )


def _learned(table: Table, families: Families, found: SearchResult, score: Score, search: Search) -> LearnedDAG:
    names = families.names
    position = {name: i for i, name in enumerate(names)}
    scores = {}
    if search.is_scored:
        scores = {name: families.score(position[name], found.graph[position[name]]) for name in table.names}
    trace = [TracedMove(m.kind, names[m.start], names[m.end], m.gain, m.score, m.seconds) for m in found.moves]
    return LearnedDAG(
        table.names,
        [(names[p], name) for name in table.names for p in found.graph[position[name]]],
        family_scores=scores,
        trace=trace,
        criterion=score.name if search.is_scored else "",
        search=search.name,
        note=found.note,
    )
