from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from oracles.equivalence import arcs_of, members
from oracles.learning import all_graphs, graph_score
from tunbridge.data import Table, as_table
from tunbridge.errors import DataError, MemoryForecastError, PrecisionWarning
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.scores.discrete import BDeu
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.searches.problem import Problem, Search, SearchResult
from tunbridge.learning.structure import learn_structure
from tunbridge.learning.uncertainty.bootstrap import _Votes, bootstrap_structure, drawn, resampled
from tunbridge.learning.uncertainty.mcmc import StructureSamples, posterior_structure
from tunbridge.learning.uncertainty.strengths import ArcStrengths, Drawn


@cache
def chain(n_rows: int = 300) -> Table:
    """Return a → b → c, each a noisy copy, and d apart, as a table."""
    rng = np.random.default_rng(1)
    a = rng.integers(2, size=n_rows)
    b = np.where(rng.random(n_rows) < 0.8, a, 1 - a)
    c = np.where(rng.random(n_rows) < 0.8, b, 1 - b)
    return as_table({"d": rng.integers(3, size=n_rows).astype(str), "c": c, "b": b, "a": a})


@dataclass(frozen=True)
class Scripted(Search):
    """A search that does what it is told."""

    name: ClassVar[str] = "scripted"
    script: Callable[[Problem], None]

    def run(self, problem: Problem) -> SearchResult:
        self.script(problem)
        return SearchResult(problem.start)


# The bootstrap


def test_a_bootstrap_is_learning_from_rows_drawn_anew() -> None:
    table = chain()
    found = bootstrap_structure(table, 6, search="tabu", random_state=3)
    graphs = []
    for seed in np.random.SeedSequence(3).spawn(6):
        rows = np.sort(np.random.default_rng(seed).integers(300, size=300))
        graphs.append(learn_structure(table.take(rows), search="tabu"))
    expected = ArcStrengths.of(graphs)
    assert found.nodes == ("a", "b", "c", "d")
    assert found.n_graphs == 6
    assert found.note == ""
    for a in found.nodes:
        for b in found.nodes:
            assert found.strength(a, b) == expected.strength(a, b)
            assert found.direction(a, b) == expected.direction(a, b)


def test_the_chain_is_found_and_its_directions_left_open() -> None:
    found = bootstrap_structure(chain(), 40, random_state=0)
    assert found.strength("a", "b") == found.strength("b", "c") == 1.0
    assert found.direction("a", "b") == pytest.approx(0.5, abs=0.1)  # but for replicates with a further arc
    assert found.strength("a", "d") < 0.5
    assert {frozenset(arc) for arc in found.consensus().arcs} == {frozenset("ab"), frozenset("bc")}
    assert found.consensus().v_structures() == ()


@pytest.mark.parametrize("search", ["hill-climbing", "ges"])
def test_equal_seeds_give_equal_votes_whatever_the_threads(search: str) -> None:
    one, two, eight = (
        bootstrap_structure(chain(), 12, search=search, random_state=5, n_jobs=n_jobs) for n_jobs in (1, 2, 8)
    )
    np.testing.assert_array_equal(one.shares, two.shares)
    np.testing.assert_array_equal(one.shares, eight.shares)
    other = bootstrap_structure(chain(), 12, search=search, random_state=6)
    assert (other.shares != one.shares).any()


def test_the_order_of_the_columns_does_not_matter() -> None:
    table = chain()
    one = bootstrap_structure(table, 10, random_state=5)
    other = bootstrap_structure(table.select(sorted(table.names)), 10, random_state=5)
    np.testing.assert_array_equal(one.shares, other.shares)


def test_directions_as_the_search_chose_them() -> None:
    found = bootstrap_structure(chain(), 10, cpdag=False, random_state=0)
    assert set(found.directions[np.triu(found.strengths == 1, 1)]) <= {0.0, 1.0}


def test_size_is_the_rows_of_a_replicate() -> None:
    few = bootstrap_structure(chain(), 20, size=10, random_state=0)
    many = bootstrap_structure(chain(), 20, size=300, random_state=0)
    assert few.strength("a", "b") < many.strength("a", "b")
    np.testing.assert_array_equal(many.shares, bootstrap_structure(chain(), 20, random_state=0).shares)


def test_continuous_columns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    found = bootstrap_structure({"x": x, "y": x + rng.normal(size=200), "z": rng.normal(size=200)}, 10, random_state=0)
    assert found.strength("x", "y") == 1.0


def test_constraints_and_limits() -> None:
    known = Constraints(required=["c->d"], forbidden=["a->b"])
    found = bootstrap_structure(chain(), 10, constraints=known, random_state=0)
    assert found.strength("c", "d") == found.direction("c", "d") == 1.0
    assert found.direction("a", "b") == 0.0
    assert found.direction("b", "a") == 1.0
    limited = bootstrap_structure(chain(), 5, max_parents=0, random_state=0)
    assert not limited.strengths.any()


# Drawing rows


def test_rows_are_drawn_evenly_with_replacement() -> None:
    table = as_table({"x": np.arange(10).astype(str)})
    counts = np.bincount(resampled(table, 50_000, np.random.default_rng(0)).codes("x"), minlength=10)
    np.testing.assert_allclose(counts, 5000, rtol=0.06, atol=0)  # four standard deviations
    assert counts.std() > 20  # not each the same number of times


@pytest.mark.parametrize("size", [40, 20_000])
def test_rows_are_drawn_by_weight(size: int) -> None:
    table = as_table({"x": np.arange(20).astype(str)}, kinds="categorical").with_weights(
        np.repeat([0.0, 1.0, 3.0, 0.0], 5)
    )
    total, weight = np.zeros(20), 0.0
    for seed in range(20_000 // size):
        rows = resampled(table, size, np.random.default_rng(seed))
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        assert weights.sum() == size
        states = np.array(rows.variable("x").states, int)[rows.codes("x")]
        np.add.at(total, states, weights)
        weight += size
    assert not total[[*range(5), *range(15, 20)]].any()
    np.testing.assert_allclose(total[5:10] / weight, 1 / 20, rtol=0.13, atol=0)  # four standard deviations
    np.testing.assert_allclose(total[10:15] / weight, 3 / 20, rtol=0.07, atol=0)


def test_a_long_replicate_of_weighted_rows_is_no_longer_than_the_table() -> None:
    table = as_table({"x": ["a", "b", "c"]}).with_weights([1e6, 1e6, 0])
    rows = resampled(table, 2_000_000, np.random.default_rng(0))
    assert rows.n_rows == 2
    assert rows.weights is not None


def test_a_replicate_has_the_weight_of_the_table() -> None:
    table = chain().with_weights(np.full(300, 0.1))
    found, same, longer = (bootstrap_structure(table, 10, size=size, random_state=0) for size in (None, 30, 300))
    np.testing.assert_array_equal(found.shares, same.shares)
    assert (found.shares != longer.shares).any()


# Ctrl-C and progress


def test_progress_is_told_after_each_replicate() -> None:
    told: list[tuple[str, float]] = []
    bootstrap_structure(chain(), 3, progress=lambda what, score: told.append((what, score)), random_state=0)
    assert [what for what, _ in told] == ["1 of 3 replicates", "2 of 3 replicates", "3 of 3 replicates"]
    assert all(-2000 < score < -500 for _, score in told)


def interrupt(what: str, score: float) -> None:
    if what.startswith("3 "):
        raise KeyboardInterrupt


def test_what_is_done_is_kept_when_interrupted() -> None:
    found = bootstrap_structure(chain(), 50, progress=interrupt, random_state=0, n_jobs=1)
    assert found.n_graphs == 3
    assert found.note == "interrupted: 3 of 50 replicates"
    assert repr(found).endswith("note: interrupted: 3 of 50 replicates")
    np.testing.assert_array_equal(found.shares, bootstrap_structure(chain(), 3, random_state=0).shares)


def test_a_signal_meets_the_waiting_thread() -> None:
    pressed: list[str] = []

    def press(what: str, score: float) -> None:
        if not pressed and int(what.split()[0]) >= 2:
            pressed.append(what)
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # parallel test runners ignore it
    try:
        found = bootstrap_structure(chain(), 5000, progress=press, random_state=0, n_jobs=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 2 <= found.n_graphs < 5000
    assert found.note.startswith("interrupted")


def test_a_search_that_was_cut_short_has_no_vote() -> None:
    def one(seed: np.random.SeedSequence, report: Callable[[str, float], None]) -> tuple[Drawn, float]:
        votes.stop.set()
        with pytest.raises(KeyboardInterrupt):
            report("a search looks up", 0.0)
        return Drawn([], []), 0.0

    votes = _Votes(one, np.random.SeedSequence(0).spawn(2), None)
    votes.add(0)
    votes.add(1)
    assert votes.done == {}


def test_with_nothing_done_the_interrupt_goes_on() -> None:
    def script(problem: Problem) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bootstrap_structure(chain(), 3, search=Scripted(script), n_jobs=1)


def test_an_error_goes_on() -> None:
    def script(problem: Problem) -> None:
        raise DataError("what must be; got that.")

    with pytest.raises(DataError, match="what must be; got that"):
        bootstrap_structure(chain(), 3, search=Scripted(script))


# Equivalence classes under constraints


def test_classes_under_constraints_are_what_the_graphs_that_obey_have_in_common() -> None:
    rng = np.random.default_rng(0)
    names = ("a", "b", "c", "d")
    n_partly = 0
    for graph in all_graphs(4):
        arcs = sorted(arcs_of(graph))
        turned = [(x, p) for p, x in arcs if rng.random() < 0.25]
        needed = [(p, x) for p, x in arcs if rng.random() < 0.1]
        said = {"forbidden": turned, "required": needed}
        known = Constraints(**{k: [(names[p], names[x]) for p, x in v] for k, v in said.items()}).compile(names)
        everyone = [arcs_of(member) for member in members(graph)]
        obeying = [some for some in everyone if not some & set(turned) and set(needed) <= some]
        common = frozenset.intersection(*obeying)
        found = drawn(graph, known)
        assert set(found.arcs) == common
        assert {*found.arcs, *found.edges} == set(arcs)
        n_partly += 1 < len(obeying) < len(everyone)
    assert n_partly > 50


# The posterior


def exact(table: Table, *, cpdag: bool) -> np.ndarray:
    """Return the posterior probabilities of the arcs, over all graphs or with the votes of their classes."""
    families = DiscreteFamilies(table, BDeu())
    graphs = all_graphs(table.n_columns)
    scores = np.array([graph_score(families, graph) for graph in graphs])
    weights = np.exp(scores - scores.max())
    shares = np.zeros((table.n_columns,) * 2)
    for graph, weight in zip(graphs, weights / weights.sum(), strict=True):
        everyone = [arcs_of(member) for member in members(graph)] if cpdag else [arcs_of(graph)]
        for pair in frozenset.union(*everyone):
            shares[pair] += weight if all(pair in some for some in everyone) else weight / 2
    return shares


@pytest.mark.parametrize("cpdag", [False, True])
def test_the_posterior_is_that_over_all_graphs(cpdag: bool) -> None:
    found = posterior_structure(chain(), 1000, cpdag=cpdag, random_state=0)
    assert found.n_graphs == 4000
    np.testing.assert_allclose(found.shares, exact(chain(), cpdag=cpdag), rtol=0, atol=0.04)  # an error of sampling
    assert np.abs(found.shares - exact(chain(), cpdag=not cpdag)).max() > 0.08


def test_the_posterior_does_not_depend_on_the_threads() -> None:
    one, two, eight = (posterior_structure(chain(), 50, random_state=5, n_jobs=n_jobs) for n_jobs in (1, 2, 8))
    np.testing.assert_array_equal(one.shares, two.shares)
    np.testing.assert_array_equal(one.shares, eight.shares)


def test_the_posterior_obeys() -> None:
    known = Constraints(required=["c->d"], forbidden=["a->b"])
    found = posterior_structure(chain(), 50, constraints=known, max_parents=2, random_state=0)
    assert found.strength("c", "d") == found.direction("c", "d") == 1.0
    assert found.direction("a", "b") == 0.0


def test_chains_that_disagree_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = np.zeros((2, 4, 4), np.int64)
    graphs[0, :, 1] = 1
    samples = StructureSamples(("a", "b", "c", "d"), graphs, np.zeros((2, 4)), 3.0, "cut")
    monkeypatch.setattr("tunbridge.learning.uncertainty.mcmc.sample_structures", lambda *args, **options: samples)
    with pytest.warns(PrecisionWarning, match=re.escape("R̂ is 3: the chains did not converge. Use more samples")):
        found = posterior_structure(chain())
    assert found.note == "cut; R̂ is 3: the chains did not converge"
    assert found.strength("a", "b") == 0.5


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be at least 1; got 0."),
        ({"size": 0}, "size must be at least 1; got 0."),
        ({"n": 10**400}, "n must be an integer from 1 to 2**63 - 1; got one of 1329 bits."),
        ({"size": 10**400}, "size must be an integer from 1 to 2**63 - 1; got one of 1329 bits."),
        ({"search": "hill"}, "search must be one of"),
        ({"random_state": "x"}, "random_state must be a non-negative integer"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"constraints": "a->b"}, "constraints must be a Constraints object"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        bootstrap_structure(chain(), **options)  # type: ignore[arg-type]


def test_bad_tables() -> None:
    with pytest.raises(DataError, match="must have rows and columns"):
        bootstrap_structure(as_table({"a": []}))
    with pytest.raises(DataError, match="must have a sum above 0"):
        bootstrap_structure(chain().with_weights(np.zeros(300)))
    wide = as_table({f"v{i}": ["a", "b"] for i in range(26)})
    with pytest.raises(DataError, match=re.escape("at most 25 columns; got 26. Use tb.bootstrap_structure")):
        posterior_structure(wide)


def test_the_memory_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "5000")
    with pytest.raises(MemoryForecastError, match="2 replicates of 300 rows at a time would need 5"):
        bootstrap_structure(chain(), 4, n_jobs=2, size=300)
