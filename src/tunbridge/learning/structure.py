"""The door to structure learning: from a table to a graph."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Literal

import numpy as np

from tunbridge._check import counted, did_you_mean, listed, shortened, warn_user
from tunbridge._threads import n_threads
from tunbridge.data import Table, as_table
from tunbridge.errors import DataError, TunbridgeWarning
from tunbridge.graph import DAG
from tunbridge.inference.forward import entropy_of
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.counted import discrete_families
from tunbridge.learning.exact import Exact
from tunbridge.learning.families import Families
from tunbridge.learning.gaussian import GaussianFamilies
from tunbridge.learning.ges import GES
from tunbridge.learning.hill_climbing import HillClimbing, Tabu
from tunbridge.learning.learned import LearnedDAG, TracedMove
from tunbridge.learning.mixed import MixedFamilies
from tunbridge.learning.orders import OrderSearch
from tunbridge.learning.problem import Graph, Problem, Search, SearchResult
from tunbridge.learning.progress import Report, watched
from tunbridge.learning.scores import LogLikelihood, NodeAverage, Score, as_score
from tunbridge.learning.sparse_candidate import SparseCandidate
from tunbridge.learning.trees import FAN, TAN, ChowLiu, KDependence
from tunbridge.network import BayesianNetwork

_PLAIN: dict[str, type[Search]] = {
    kind.name: kind for kind in (HillClimbing, Tabu, SparseCandidate, GES, OrderSearch, Exact, ChowLiu)
}
_LEAST_WEIGHT = 2.0
_WITH_TARGET = {kind.name: kind.__name__ for kind in (TAN, FAN, KDependence)}


def learn_structure(
    frame: Any,
    score: str | Score = "bic",
    search: str | Search = "hill-climbing",
    constraints: Constraints | None = None,
    *,
    max_parents: int | None = None,
    start: DAG | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> LearnedDAG:
    """Return a graph that a search finds good for a table.

    Parameters
    ----------
    frame : Table or any frame
        One column a variable. Categorical and continuous columns may stand together; then a category has only
        categories as parents. Cells may be missing under the score ``"nal"``, which averages over the rows that are
        there.
    score : str or Score
        ``"bic"``, ``"aic"``, ``"bdeu"``, ``"bds"``, ``"k2"``, ``"fnml"``, ``"qnml"``, ``"nal"``, ``"loglik"``, or an
        object with options such as ``tb.BDeu(ess=10)``. Trees are found without a score.
    search : str or Search
        ``"hill-climbing"``, ``"tabu"``, ``"orders"``, ``"ges"``, ``"exact"``, ``"sparse-candidate"``, ``"chow-liu"``,
        or an object with options such as ``tb.Tabu(length=20)`` or ``tb.TAN("class")``.
    constraints : Constraints, optional
        What is known about the arcs.
    max_parents : int, optional
        The most parents of any node, besides what the constraints say.
    start : DAG, optional
        The graph to start from; the empty one with the required arcs unless given.
    random_state : int, Generator, optional
        For searches that use chance. Equal seeds give equal graphs, whatever the number of threads.
    n_jobs : int, optional
        Threads; all cores unless given.
    progress : callable or False, optional
        Called now and then with a word on what is going on and the present score. Unless given, a line in the terminal
        shows it; ``False`` keeps silent.

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
    table = checked_table(as_table(frame))
    _warn_of_identifiers(table)
    n_threads(n_jobs)
    criterion, way = as_score(score), as_search(search)
    if way.is_scored:
        check_missing(table, criterion)
    names = tuple(sorted(table.names))
    known = checked_constraints(constraints).compile(names, max_parents=max_parents)
    if not way.is_scored:
        criterion = LogLikelihood()  # nobody asks for it
    families = families_of(table, criterion, arc_bonus=known.arc_bonus, n_jobs=n_jobs)
    graph = known.smallest_graph if start is None else graph_of(start, names)
    known.check_graph(graph)
    if way.is_scored:
        _check_start(families, graph)
    with watched(progress) as report:
        problem = Problem(
            families, known.allowed, known.required, known.max_parents, graph,
            np.random.default_rng(entropy_of(random_state)), report,
        )  # fmt: skip
        found = way.run(problem)
    return _learned(table, families, found, criterion, way)


def score_structure(
    dag: DAG, frame: Any, score: str | Score = "bic", constraints: Constraints | None = None
) -> dict[str, float]:
    """Return the score of each family of a graph; their sum is the score of the graph.

    Parameters
    ----------
    dag : DAG
        A graph whose nodes are columns of the frame.
    frame : Table or any frame
        The data; columns that are no nodes are left aside.
    score : str or Score
        As for :func:`learn_structure`.
    constraints : Constraints, optional
        Only the prior probabilities of arcs in them matter.

    Examples
    --------
    >>> import tunbridge as tb
    >>> scores = tb.score_structure(tb.DAG(arcs=[("outlook", "play")]), tb.datasets.play_tennis(), "k2")
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'outlook': -17.226, 'play': -9.798}
    """
    if not isinstance(dag, DAG):
        raise DataError(f"dag must be a DAG; got {shortened(repr(dag))}.")
    table = checked_table(as_table(frame).select(dag.nodes))
    names = tuple(sorted(table.names))
    position = {name: i for i, name in enumerate(names)}
    known = checked_constraints(constraints).compile(names)
    criterion = as_score(score)
    check_missing(table, criterion)
    families = families_of(table, criterion, arc_bonus=known.arc_bonus)
    graph = graph_of(dag, names)
    return {name: families.score(position[name], graph[position[name]]) for name in dag.nodes}


def as_search(search: str | Search) -> Search:
    """Return a search: itself, or the one of that name with its default options."""
    if isinstance(search, Search):
        return search
    if isinstance(search, type) and issubclass(search, Search):
        inside = "'column'" if search.name in _WITH_TARGET else ""
        raise DataError(
            f"search must be an object; got the class {search.__name__}. Write tb.{search.__name__}({inside})."
        )
    if not isinstance(search, str):
        raise DataError(f"search must be a name or a search such as tb.Tabu(); got {shortened(repr(search))}.")
    name = search.strip().lower().replace("_", "-").replace(" ", "-")
    if name in _WITH_TARGET:
        raise DataError(f"search {search!r} must be told the class; write tb.{_WITH_TARGET[name]}('column').")
    if name not in _PLAIN:
        known = [*_PLAIN, *_WITH_TARGET]
        raise DataError(f"search must be one of {listed(known, most=12)}; got {search!r}. {did_you_mean(name, known)}")
    return _PLAIN[name]()


def families_of(
    table: Table, score: Score, *, arc_bonus: np.ndarray | None = None, n_jobs: int | None = None
) -> Families:
    """Return the families of a table: counted, by regression, or both, as its columns are."""
    score = score.for_variables(table.n_columns)
    discrete = [v.name for v in table.variables if v.is_categorical]
    if len(discrete) == table.n_columns:
        return discrete_families(table, score, arc_bonus=arc_bonus, n_jobs=n_jobs)
    if not discrete:
        return GaussianFamilies(table, score, arc_bonus=arc_bonus)
    counts = discrete_families(table.select(discrete), score, n_jobs=n_jobs)
    return MixedFamilies(table, score, counts, arc_bonus=arc_bonus)


def network_table(frame: Any, but: Container[str] = (), *, numbers: bool = False) -> Table:
    """Return a frame as a table that a network can be learned from; raise unless every column has states.

    Columns named in ``but`` may be without, and continuous ones where ``numbers`` are welcome.
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
        raise DataError(f"a network's columns must have states; {listed(empty)} held nothing but missing cells.")
    return table


def checked_table(table: Table) -> Table:
    """Return a table; raise unless there is something to learn from."""
    if table.n_columns == 0 or table.n_rows == 0:
        size = f"{counted(table.n_rows, 'row')} and {counted(table.n_columns, 'column')}"
        raise DataError(f"a table to learn from must have rows and columns; got {size}.")
    if table.weights is not None and table.n_rows > 1 and 0 < table.weights.sum() < _LEAST_WEIGHT:
        total = f"{table.weights.sum():g}"
        raise DataError(f"weights must be numbers of rows; got {total} in all. Multiply them, by the rows say.")
    return table


def _warn_of_identifiers(table: Table) -> None:
    if table.identifiers:
        some = listed(table.identifiers, most=3)
        warn_user(
            f"{some} looks like an identifier, with another value in every row: it tells nothing of other rows. "
            f"Leave it out, as with table.drop([...]).",
            TunbridgeWarning,
        )


def check_missing(table: Table, score: Score) -> None:
    """Raise for a table with missing cells unless the score allows for them."""
    if table.missing and not isinstance(score, NodeAverage):
        some = listed(table.missing, most=3)
        raise DataError(
            f"a table scored by {score.name!r} must have no missing cells; got some in {some}. "
            "Use score='nal', whose penalty allows for families that rest on different rows, or tb.StructuralEM."
        )


def checked_constraints(constraints: Constraints | None) -> Constraints:
    """Return constraints, without any for None; raise for anything else."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        hint = "Write tb.Constraints(required=[...], forbidden=[...])."
        raise DataError(f"constraints must be a Constraints object; got {shortened(repr(constraints))}. {hint}")
    return constraints


def graph_of(start: Any, names: tuple[str, ...]) -> Graph:
    """Return a graph as searches take it; raise unless its nodes are these."""
    if not isinstance(start, DAG):
        hint = " Use its .dag." if isinstance(start, BayesianNetwork) else ""
        raise DataError(f"start must be a DAG; got {shortened(repr(start))}.{hint}")
    if set(start.nodes) != set(names):
        differ = listed(sorted(set(start.nodes) ^ set(names)))
        raise DataError(f"start must have the table's columns as its nodes; {differ} differ.")
    position = {name: i for i, name in enumerate(names)}
    return tuple(tuple(sorted(position[p] for p in start.parents(name))) for name in names)


def _check_start(families: Families, graph: Graph) -> None:
    """Raise for a family that cannot be scored, from which no search could go on."""
    for x, parents in enumerate(graph):
        if parents and families.score(x, parents) == -np.inf:
            some = listed([families.names[p] for p in parents], most=4)
            raise DataError(
                f"required arcs and start must be such that the data can score them; {families.names[x]!r} given "
                f"{some} cannot be: no row has them all, or a number is the parent of a category."
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
