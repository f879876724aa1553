"""The Sparse Candidate algorithm: structure learning for thousands of variables.

Most pairs of variables are nearly independent, and a search that tries all of them as parents spends its time on arcs
that it will never add. Sparse Candidate alternates two steps until the score stops rising:

* **restrict**: choose for every variable at most k candidate parents;
* **maximise**: climb, with parents from the candidates only.

In the first round the candidates are the variables with the largest mutual information. That misses variables which are
informative only together with others, and includes some that the current parents already explain; so later rounds rank
by the current network B:

* *discrepancy* D_KL(P̂(X, Y) ‖ P_B(X, Y)): pairs whose joint distribution the network gets wrong;
* *shielding* I(X; Y | parents of X): the information that Y adds about X;
* *score*: the score of X with Y as a further parent.

The current parents always stay candidates, so the score never falls.

References
----------
N. Friedman, I. Nachman, D. Pe'er (1999). Learning Bayesian network structure from massive datasets: the «sparse
candidate» algorithm. UAI 15, 206-215.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np

from tunbridge._core.check import check_choice, check_integer, shortened
from tunbridge._core.registry import search
from tunbridge._core.replacing import replacing
from tunbridge.counts import Counter
from tunbridge.counts.information import pair_divergence, pair_information
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.parameters.fit import fit_parameters
from tunbridge.learning.scores.discrete import LogLikelihood
from tunbridge.learning.scores.families import DiscreteFamilies, Families
from tunbridge.learning.searches.climber import ArcSearch
from tunbridge.learning.searches.hill_climbing import HillClimbing
from tunbridge.learning.searches.problem import INTERRUPTED, TIE, Graph, Move, Problem, Search, SearchResult
from tunbridge.network import BayesianNetwork

_MEASURES = ("discrepancy", "shielding", "score", "information")
_EXACT_VARIABLES = 30
_EXACT_ENTRIES = 10_000
_LEAST_SAMPLE, _LARGEST_SAMPLE = 20_000, 100_000


@search("sparse-candidate", rank=6)
@dataclass(frozen=True)
class SparseCandidate(Search):
    """Search with at most k candidate parents for each variable, chosen again in each round.

    Parameters
    ----------
    k : int
        The number of candidate parents of each variable.
    measure : "discrepancy", "shielding", "score" or "information", optional
        How candidates are ranked from the second round on; default: discrepancy, or the score if columns are continuous
        or empty or rows have weights. The first round ranks by mutual information (by the score with one parent if
        columns are continuous or rows have weights).
    inner : HillClimbing or Tabu
        The search inside the candidates.
    max_rounds : int
        The maximum number of rounds.
    checkpoint : str or Path, optional
        A JSON file with the graph, written after every round and read at the start if it exists: an interrupted search
        continues from its last round.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> dag = tb.learn_structure(table, search=tb.SparseCandidate(k=3), random_state=0)
    >>> dag.parents("xray")
    ('either',)
    """

    k: int = 10
    measure: str | None = None
    inner: ArcSearch = field(default_factory=HillClimbing)
    max_rounds: int = 10
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1)
        check_integer("max_rounds", self.max_rounds, low=1)
        if self.measure is not None:
            check_choice("measure", self.measure, _MEASURES)
        if not isinstance(self.inner, ArcSearch):
            raise DataError(
                f"inner must be HillClimbing or Tabu; got {shortened(repr(self.inner))}.", parameter="inner"
            )
        if self.checkpoint is not None:
            _check_file(self.checkpoint)

    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph of all rounds."""
        graph = problem.start if self.checkpoint is None else _resumed(Path(self.checkpoint), problem)
        result, trouble = SearchResult(graph), ""
        try:
            for result in self._rounds(problem, graph):
                if self.checkpoint is not None:
                    trouble = _write(Path(self.checkpoint), problem, result.graph)
        except KeyboardInterrupt:
            result = replace(result, note=INTERRUPTED)
        return replace(result, note="; ".join(filter(None, [result.note, trouble])))

    def _rounds(self, problem: Problem, graph: Graph) -> Iterator[SearchResult]:
        """Yield the best graph after every round."""
        moves: tuple[Move, ...] = ()
        began, score, candidates = perf_counter(), problem.graph_score(graph), None
        for n_round in range(self.max_rounds):
            chosen = self._candidates(problem, graph, first=n_round == 0 and graph == problem.start)
            if candidates is not None and np.array_equal(chosen, candidates):
                return
            candidates, passed = chosen, perf_counter() - began
            found = self.inner.run(problem.starting_from(graph), candidates)
            graph, before, score = found.graph, score, problem.graph_score(found.graph)
            moves += tuple(replace(move, seconds=move.seconds + passed) for move in found.moves)
            yield SearchResult(graph, moves, found.note)
            problem.tell(f"round {n_round + 1}", score)
            if found.note or (n_round and score <= before + TIE * abs(before)):
                return

    def _candidates(self, problem: Problem, graph: Graph, *, first: bool) -> np.ndarray:
        """Return the k best candidates of each variable, ascending, −1 in front where there are fewer."""
        measure = "information" if first else self.measure or _default(problem.families)
        rank = _RANKS[measure](problem, graph)
        most = min(max(self.k, *(len(parents) for parents in graph)), max(1, problem.n - 1))
        out = np.full((problem.n, most), -1, np.int64)
        for x, parents in enumerate(graph):
            values = rank(x).astype(np.float64)
            if problem.allowed is not None:
                values[~problem.allowed[:, x]] = -np.inf
            values[list(parents)] = np.inf
            values[x] = -np.inf
            some = _largest(values, min(most, max(self.k, len(parents))))
            out[x, most - len(some) :] = some
        return out


def _largest(values: np.ndarray, k: int) -> np.ndarray:
    """Return the positions of the k largest finite or infinite values, ascending; of equal ones the first."""
    least = np.partition(values, len(values) - k)[len(values) - k]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    some = np.concatenate([above, equal[: k - len(above)]])
    return np.sort(some[values[some] > -np.inf])


_Rank = Callable[[int], np.ndarray]
"""Returns for a variable the measure with every other one."""


def _by_information(problem: Problem, graph: Graph) -> _Rank:
    families = problem.families
    if isinstance(families, DiscreteFamilies) and families.columns.weights is None:
        matrix = pair_information(families.counter, dtype=np.float32).information
        return lambda x: matrix[x]
    return lambda x: families.additions(x, ())


def _by_score(problem: Problem, graph: Graph) -> _Rank:
    return lambda x: problem.families.additions(x, graph[x])


def _by_shielding(problem: Problem, graph: Graph) -> _Rank:
    columns = _discrete(problem.families).columns
    likelihood = DiscreteFamilies(columns.table, LogLikelihood(), n_jobs=columns.n_jobs)
    return lambda x: likelihood.additions_of(x, graph[x], np.arange(problem.n))


def _by_discrepancy(problem: Problem, graph: Graph) -> _Rank:
    counter, columns = _discrete(problem.families).counter, _discrete(problem.families).columns
    names = columns.names
    dag = DAG(names, [(names[p], name) for name, parents in zip(names, graph, strict=True) for p in parents])
    net = fit_parameters(dag, columns.table, missing="available", n_jobs=columns.n_jobs)
    if problem.n <= _EXACT_VARIABLES and net.forecast().n_entries <= _EXACT_ENTRIES:
        matrix = _exact_discrepancy(counter, net)
        return lambda x: matrix[x]
    n_rows = int(np.clip(columns.n_rows, _LEAST_SAMPLE, _LARGEST_SAMPLE))
    drawn = net.sample(n_rows, random_state=int(problem.rng.integers(2**31)))
    found = pair_divergence(counter, Counter(drawn.select(names), n_jobs=columns.n_jobs), _teller(problem, graph))
    return lambda x: found[x]


_RANKS: dict[str, Callable[[Problem, Graph], _Rank]] = {
    "information": _by_information,
    "score": _by_score,
    "shielding": _by_shielding,
    "discrepancy": _by_discrepancy,
}


def _exact_discrepancy(counter: Counter, net: BayesianNetwork) -> np.ndarray:
    """Return D_KL(P̂(X, Y) ‖ P_net(X, Y)) for all pairs by exact inference."""
    pairs, names = counter.pairs(), [v.name for v in counter.variables]
    out = np.zeros((len(names), len(names)))
    for a, b in combinations(range(len(names)), 2):
        counts = pairs.table(names[a], names[b])
        if counts.sum() > 0:
            p, model = counts / counts.sum(), net.posterior([names[a], names[b]]).probabilities
            out[a, b] = out[b, a] = float((p[p > 0] * np.log(p[p > 0] / model.reshape(p.shape)[p > 0])).sum())
    return out


def _teller(problem: Problem, graph: Graph) -> Callable[[float], None]:
    score = problem.graph_score(graph)
    return lambda share: problem.tell(f"all pairs, {share:.0%}", score)


def _default(families: Families) -> str:
    """Return the default measure: the score where no network can be fitted or sampled."""
    if not isinstance(families, DiscreteFamilies) or families.columns.weights is not None:
        return "score"
    return "discrepancy" if (families.columns.states > 0).all() else "score"


def _discrete(families: Families) -> DiscreteFamilies:
    if not isinstance(families, DiscreteFamilies) or families.columns.weights is not None:
        raise DataError(
            "measure must be 'score' or 'information' if columns are continuous or rows have weights; "
            "leave it out for the default."
        )
    return families


# Checkpoints


def _check_file(file: object) -> None:
    """Raise unless a checkpoint can be written there."""
    if not isinstance(file, str | Path) or not str(file):
        raise DataError(f"checkpoint must be the name of a file; got {shortened(repr(file))}.")
    if Path(file).is_dir() or not Path(file).absolute().parent.is_dir():
        raise DataError(f"checkpoint must be a file in a folder that exists; got {str(file)!r}.")


def _write(file: Path, problem: Problem, graph: Graph) -> str:
    """Write the graph to a temporary file and rename it; return a message if that fails."""
    names = problem.families.names
    arcs = [[names[p], names[x]] for x, parents in enumerate(graph) for p in parents]
    text = json.dumps({"tunbridge": "checkpoint", "nodes": names, "arcs": arcs})
    try:
        with replacing(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"the checkpoint could not be written ({error.strerror or error})"
    return ""


def _resumed(file: Path, problem: Problem) -> Graph:
    """Return the graph of a checkpoint, or the start graph if there is none."""
    if not file.exists():
        return problem.start
    names = problem.families.names
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        dag = DAG(kept["nodes"], kept["arcs"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"the checkpoint must be a file written by a search; {file} is not. Delete it.") from error
    if tuple(dag.nodes) != names:
        raise DataError(f"the checkpoint must have the same columns; {file} has others. Delete it.")
    graph = tuple(tuple(sorted(parents)) for parents in dag.parent_indices)
    if not all(problem.is_legal(x, parents) for x, parents in enumerate(graph)):
        raise DataError(f"the checkpoint must satisfy the constraints; {file} does not. Delete it.")
    return graph
