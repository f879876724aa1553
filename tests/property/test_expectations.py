"""Expected counts of rows with holes: kernel = plain NumPy = writing out every completion."""

from __future__ import annotations

import numpy as np
import pytest

from networks import random_network
from oracles.expectations import barren, expected_counts
from tunbridge.data import Variable
from tunbridge.errors import MemoryForecastError
from tunbridge.inference import Engine, expectations
from tunbridge.inference.evidence import Evidence
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.flat import FlatNetwork, flatten
from tunbridge.probability import CPT

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def random_rows(rng, flat, n_rows, share):
    """Return rows drawn state by state, so that some are impossible, with holes."""
    codes = np.stack([rng.integers(0, n, n_rows) for n in flat.n_states]).astype(np.int16)
    codes[rng.random(codes.shape) < share] = -1
    return codes


@pytest.mark.parametrize("path", ["kernel", "plain"])
@pytest.mark.parametrize("seed", range(40))
def test_expected_counts_equal_enumeration(seed, path, monkeypatch):
    monkeypatch.setattr(expectations, "is_compiled", lambda _: path == "kernel")
    rng = np.random.default_rng(seed)
    cpts = random_network(rng, most_variables=9, most_cells=3000, zeros=0.1 if seed % 3 == 0 else 0.0)
    flat = flatten([CPT(cpt.variable, cpt.parents, cpt.table()) for cpt in cpts])
    codes = random_rows(rng, flat, 25, rng.choice([0.1, 0.4, 0.8, 1.0]))
    weights = rng.choice([0.0, 1.0, 2.5], 25)
    found = IncompleteRows(flat, codes, weights).expected_counts(flat.tables)
    counts, log_likelihood = expected_counts(flat, codes, weights, flat.tables)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12, abs=1e-10)
    if log_likelihood > -np.inf:
        np.testing.assert_allclose(found.counts, counts, **EXACT)


@pytest.mark.parametrize("seed", range(8))
def test_large_components_equal_the_junction_tree(seed, monkeypatch):
    """Networks whose hidden parts need many cliques, against joint posteriors of each family by the engine."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{i}", list("abc")[: rng.integers(2, 4)]) for i in range(18)]
    parents = [[variables[j] for j in rng.permutation(range(max(0, i - 4), i))[:2]] for i in range(18)]
    shapes = [[*(p.n_states for p in family), v.n_states] for family, v in zip(parents, variables, strict=True)]
    tables = [rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for shape in shapes]
    engine = Engine([CPT(v, family, t) for v, family, t in zip(variables, parents, tables, strict=True)])
    codes = random_rows(rng, engine.flat, 4, 0.8)
    codes[-3:] = 0  # what is above them matters
    monkeypatch.setattr(expectations, "is_compiled", lambda _: True)
    rows = IncompleteRows(engine.flat, codes)
    assert rows._programs[1][rows._programs[0][:-1]].max() > 3  # cliques
    found = rows.expected_counts(engine.flat.tables)
    counts, log_likelihood = by_engine(engine, codes)
    np.testing.assert_allclose(found.counts, counts, **EXACT)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)


def by_engine(engine, codes):
    flat, counts, log_likelihood = engine.flat, np.zeros(len(engine.flat.tables)), 0.0
    for row in codes.T:
        evidence = Evidence({v: int(code) for v, code in enumerate(row) if code >= 0}, {})
        log_likelihood += engine.log_probability(evidence)
        for v in np.flatnonzero(~barren(flat, row)).tolist():
            family = [*flat.parents_of(v).tolist(), v]
            hidden = [u for u in family if row[u] < 0]
            joint = engine.run(evidence, [], joint=hidden).joint if hidden else np.array(1.0)
            at = tuple(slice(None) if u in hidden else int(row[u]) for u in family)
            part = counts[flat.table_start[v] : flat.table_start[v + 1]].reshape([flat.n_states[u] for u in family])
            part[at] += joint
    return counts, log_likelihood


@pytest.mark.parametrize("path", ["kernel", "plain"])
def test_no_underflow_with_thousands_of_children(path, monkeypatch):
    """A hidden cause of 2 000 observed effects: the product of their tables is far below the smallest double."""
    cause = Variable("c", ["a", "b"])
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), (2000, 2))
    cpts = [CPT(cause, [], [0.3, 0.7])]
    cpts += [CPT(Variable(f"x{i}", list("abc")), [cause], table) for i, table in enumerate(rows)]
    flat = flatten(cpts)
    monkeypatch.setattr(expectations, "is_compiled", lambda _: path == "kernel")
    codes = np.full((2001, 1), -1, np.int16)
    codes[1:, 0] = rng.integers(0, 3, 2000)
    found = IncompleteRows(flat, codes).expected_counts(flat.tables)
    logs = np.log([0.3, 0.7]) + np.log(rows[np.arange(2000), :, codes[1:, 0]]).sum(axis=0)
    assert found.log_likelihood == pytest.approx(np.logaddexp(*logs), rel=1e-12)
    share = np.exp(logs - np.logaddexp(*logs))
    np.testing.assert_allclose(found.counts[:2], share, rtol=1e-9, atol=1e-300)


def tied(n: int, excluded: bool) -> tuple[FlatNetwork, np.ndarray, np.ndarray]:
    """Return hidden A, tied to hidden B, with n effects of A that favour a state, and one of B that may exclude it."""
    a, b = Variable("A", list(range(10))), Variable("B", list(range(10)))
    cpts = [CPT(a, [], np.full(10, 0.1)), CPT(b, [a], np.eye(10))]
    effect = np.full((10, 2), [0.99, 0.01])
    effect[0] = [0.01, 0.99]
    cpts += [CPT(Variable(f"x{i}", ["n", "y"]), [a], effect) for i in range(n)]
    cpts.append(CPT(Variable("last", ["n", "y"]), [b], np.vstack([[1.0, 0.0], np.full((9, 2), 0.5)])))
    codes = np.ones((n + 3, 1), np.int16)
    codes[:2] = -1
    codes[-1] = int(excluded)
    joint = np.log(0.1) + n * np.log(effect[:, 1]) + np.log(np.maximum(cpts[-1].table()[:, codes[-1, 0]], 1e-320))
    return flatten(cpts), codes, joint


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize("n", [150, 320, 340, 1000])
def test_messages_between_cliques_lose_nothing(n, excluded):
    """The state that the effects favour is excluded by another clique; the others are 1e-680 beside it."""
    flat, codes, joint = tied(n, excluded)
    found = IncompleteRows(flat, codes).expected_counts(flat.tables)
    expected = np.logaddexp.reduce(joint[1:] if excluded else joint)
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)
    share = np.r_[0.0, np.full(9, 1 / 9)] if excluded else np.exp(joint - expected)
    np.testing.assert_allclose(found.counts[:10], share, rtol=1e-9, atol=1e-12)


def test_a_tree_too_large_is_refused_and_never_run(monkeypatch):
    """Also where the limit is so small that nobody would look at the memory."""
    monkeypatch.setattr(expectations, "memory_limit", lambda: 10_000)
    monkeypatch.setattr(expectations, "_LEAST_MEMORY", 10_000)
    monkeypatch.setattr(expectations, "is_compiled", lambda _: True)
    a, b = Variable("A", list(range(60))), Variable("B", list(range(60)))
    rows = np.full((60, 60, 2), 0.5)
    flat = flatten(
        [
            CPT(a, [], np.full(60, 1 / 60)),
            CPT(b, [a], np.full((60, 60), 1 / 60)),
            CPT(Variable("C", ["n", "y"]), [a, b], rows),
        ]
    )
    with pytest.raises(MemoryForecastError, match="the junction tree of what is hidden in a row would need"):
        IncompleteRows(flat, np.array([[-1], [-1], [0]], np.int16), n_jobs=1)
    codes = np.full((3, 2000), -1, np.int16)
    codes[1], codes[2] = np.arange(2000) % 60, np.arange(2000) // 60 % 2
    monkeypatch.setattr(expectations, "memory_limit", lambda: 600)
    monkeypatch.setattr(expectations, "_LEAST_MEMORY", 600)
    with pytest.raises(MemoryForecastError, match="the hidden parts of 2000 rows"):
        IncompleteRows(flat, codes, n_jobs=1)


def test_many_members_of_one_state(monkeypatch):
    monkeypatch.setattr(expectations, "is_compiled", lambda _: False)
    chain = [Variable(f"v{i}", ["only"]) for i in range(70)] + [Variable("x", ["n", "y"])]
    cpts = [CPT(v, chain[max(i - 1, 0) : i], np.full((1, 1) if i else 1, 1.0)) for i, v in enumerate(chain[:-1])]
    flat = flatten([*cpts, CPT(chain[-1], [chain[-2]], [[0.3, 0.7]])])
    codes = np.full((71, 1), -1, np.int16)
    codes[-1] = 1
    found = IncompleteRows(flat, codes).expected_counts(flat.tables)
    assert found.log_likelihood == pytest.approx(np.log(0.7))


def test_the_result_does_not_depend_on_threads():
    rng = np.random.default_rng(5)
    cpts = random_network(rng, most_variables=9, zeros=0.0)
    flat = flatten([CPT(cpt.variable, cpt.parents, cpt.table()) for cpt in cpts])
    codes = random_rows(rng, flat, 3000, 0.4)
    found = [IncompleteRows(flat, codes, n_jobs=n).expected_counts(flat.tables) for n in (1, 2, 8)]
    assert all(np.array_equal(found[0].counts, other.counts) for other in found)
    assert len({f.log_likelihood for f in found}) == 1


def test_rows_that_show_nothing_count_nowhere():
    rng = np.random.default_rng(6)
    flat = flatten([CPT(cpt.variable, cpt.parents, cpt.table()) for cpt in random_network(rng, zeros=0.0)])
    found = IncompleteRows(flat, np.full((flat.n_variables, 3), -1, np.int16)).expected_counts(flat.tables)
    assert found.log_likelihood == 0.0
    assert not found.counts.any()
