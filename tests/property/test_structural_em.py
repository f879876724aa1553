"""Structural EM on random rows: the score by enumeration, never below the start's, and what is known stays known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from networks import random_network
from oracles.enumeration import joint_table
from tunbridge.learning.missing.completions import _Repeated, complete
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.learning.missing.structural_em import _observed_score
from tunbridge.learning.parameters.priors import as_prior
from tunbridge.learning.scores.discrete import as_score

SCORES = [tb.BIC(), tb.AIC(k=2.0), tb.K2(), tb.BDeu(ess=3.0), tb.QNML()]


def random_rows(seed: int, *, share: float, n_rows: int = 60) -> tuple[tb.BayesianNetwork, tb.Table]:
    """Return a small random network and rows drawn from it with holes; nothing below a hole is missing altogether.

    Variables without children are observed, so that every row tells something about every table.
    """
    rng = np.random.default_rng(seed)
    cpts = random_network(rng, most_variables=5, most_states=3, most_parents=2, zeros=0.0)
    net = tb.BayesianNetwork.from_tables([tb.CPT(c.variable, c.parents, c.table()) for c in cpts])
    table = net.sample(n_rows, random_state=seed)
    columns = []
    for column in table:
        holes = rng.random(n_rows) < (share if net.dag.children(column.variable.name) else 0.0)
        columns.append(column._replace(values=np.where(holes, -1, column.values).astype(column.values.dtype)))
    return net, tb.Table.of(columns)


def score_by_enumeration(net: tb.BayesianNetwork, table: tb.Table, score: tb.Score) -> float:
    """Return the score of expected counts, and ln P(rows) − Σ n ln θ, from the table of the joint distribution."""
    names, joint = list(net.nodes), joint_table(list(net.cpts.values()))
    whole, log_likelihood = np.zeros(joint.shape), 0.0
    for row in zip(*(table.codes(name).tolist() for name in names), strict=True):
        shown = np.zeros(joint.shape)
        for cell in product(*([k] if k >= 0 else range(n) for k, n in zip(row, joint.shape, strict=True))):
            shown[cell] = joint[cell]
        whole += shown / shown.sum()
        log_likelihood += np.log(shown.sum())
    value = log_likelihood
    for name, cpt in net.cpts.items():
        axes = [names.index(p.name) for p in cpt.parents] + [names.index(name)]
        others = tuple(i for i in range(len(names)) if i not in axes)
        n = whole.sum(axis=others).transpose(np.argsort(np.argsort(axes)))
        n, theta = n.reshape(-1, cpt.variable.n_states), cpt.table().reshape(-1, cpt.variable.n_states)
        used = n > 0
        family = (_Repeated(score, 1) if score.is_average else score).family(n, len(n), table.n_rows)
        value += family - float((n[used] * np.log(theta[used])).sum())
    return value


@given(seed=st.integers(0, 2**32), score=st.sampled_from(SCORES))
@settings(max_examples=40, deadline=None)
def test_the_observed_score_is_that_of_enumeration(seed, score):
    net, table = random_rows(seed, share=0.4)
    problem = DiscreteProblem(net.dag, table, as_prior("mle"))
    value, log_likelihood = _observed_score(problem, problem.tables_of(net), score)
    assert value == pytest.approx(score_by_enumeration(net, table, score), rel=1e-9, abs=1e-9)
    assert log_likelihood == pytest.approx(net.log_likelihood(table).sum(), rel=1e-9, abs=1e-9)


@given(seed=st.integers(0, 2**32), score=st.sampled_from(["bic", "bdeu", "k2"]), share=st.floats(0.05, 0.6))
@settings(max_examples=20, deadline=None)
def test_the_result_is_never_below_the_start(seed, score, share):
    _, table = random_rows(seed, share=share)
    found = tb.StructuralEM(score=score).fit(table, random_state=seed)
    scores = [step.score for step in found.trace]
    assert scores == sorted(scores)
    problem = DiscreteProblem(found.network.dag, table, as_prior(tb.MEstimate(m=1.0)))
    again, _ = _observed_score(problem, problem.tables_of(found.network), as_score(score))
    assert found.score == pytest.approx(again, rel=1e-9)


@given(seed=st.integers(0, 2**32), times=st.integers(1, 5), merge=st.booleans())
@settings(max_examples=30, deadline=None)
def test_completed_rows_agree_with_what_is_known(seed, times, merge):
    net, table = random_rows(seed, share=0.5, n_rows=20)
    rows = complete(net, table, tb.BIC(), times=times, entropy=seed, merge=merge).table
    assert not rows.missing
    weights = np.ones(rows.n_rows) / times if rows.weights is None else rows.weights
    assert weights.sum() == pytest.approx(20.0, rel=1e-12)
    known = np.array([table.codes(name) for name in net.nodes])
    filled = np.array([rows.codes(name) for name in net.nodes])
    fits = ((known[:, :, None] < 0) | (known[:, :, None] == filled[:, None, :])).all(axis=0)
    assert fits.any(axis=1).all()
    assert fits.any(axis=0).all()
    for v in range(len(known)):
        whole = (known[v] >= 0).all()
        for k in range(table.variable(net.nodes[v]).n_states):
            least, drawn = (known[v] == k).sum(), weights[filled[v] == k].sum()
            assert drawn == pytest.approx(least) if whole else drawn >= least - 1e-9
