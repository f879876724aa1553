"""Random networks and tables answer as pyAgrum and pgmpy do, where these are installed.

scikit-learn is always installed; its naive Bayes classifiers are oracles in ``tests/unit/classifiers`` and
``tests/unit/text``. Oracles of our own are in the other property tests: here the authors are others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tunbridge as tb

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]
SEEDS = range(12)


def random_network(seed: int) -> tb.BayesianNetwork:
    """Return a network of 4 to 9 variables, some of whose probabilities are 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    names, sizes = [f"v{i}" for i in range(n)], rng.integers(2, 4, n)
    arcs, cpts = [], {}
    for i, name in enumerate(names):
        parents = [int(j) for j in rng.permutation(i)[: rng.integers(0, 4)]]
        arcs += [(names[j], name) for j in parents]
        rows = rng.dirichlet(np.ones(sizes[i]), tuple(sizes[parents]))
        rows = np.where(rng.random(rows.shape) < 0.1, 0.0, rows)
        rows[..., 0] += rows.sum(axis=-1) == 0.0
        cpts[name] = tb.CPT(
            tb.Variable(name, [f"s{k}" for k in range(sizes[i])]),
            [tb.Variable(names[j], [f"s{k}" for k in range(sizes[j])]) for j in parents],
            rows / rows.sum(axis=-1, keepdims=True),
        )
    return tb.BayesianNetwork.from_tables(cpts.values())


def random_evidence(net: tb.BayesianNetwork, seed: int) -> dict[str, Any]:
    """Return findings about two variables that are possible together."""
    row = {name: column[0] for name, column in net.sample(1, random_state=seed).to_arrow().to_pydict().items()}
    return {name: row[name] for name in np.random.default_rng(seed).permutation(net.nodes)[:2].tolist()}


def as_pyagrum(net: tb.BayesianNetwork) -> Any:
    gum = pytest.importorskip("pyagrum")
    other = gum.BayesNet()
    for v in net.variables:
        other.add(gum.LabelizedVariable(v.name, v.name, list(v.states)))
    for parent, child in net.dag.arcs:
        other.addArc(parent, child)
    for name in net.nodes:
        cpt, own = other.cpt(name), [*(p.name for p in net.cpt(name).parents), name]
        cpt[:] = np.ascontiguousarray(net.cpt(name).table().transpose([own.index(n) for n in reversed(cpt.names)]))
    return other


def as_pgmpy(net: tb.BayesianNetwork) -> Any:
    models, factors = pytest.importorskip("pgmpy.models"), pytest.importorskip("pgmpy.factors.discrete")
    other = models.DiscreteBayesianNetwork(net.dag.arcs)
    other.add_nodes_from(net.nodes)
    for name in net.nodes:
        cpt = net.cpt(name)
        states = {v.name: list(v.states) for v in (cpt.variable, *cpt.parents)}
        values = cpt.table().reshape(-1, cpt.variable.n_states).T
        cards = [p.n_states for p in cpt.parents]
        names = [p.name for p in cpt.parents]
        other.add_cpds(
            factors.TabularCPD(name, cpt.variable.n_states, values, names or None, cards or None, state_names=states)
        )
    return other


@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_and_most_probable_states_as_pyagrum(seed: int) -> None:
    net = random_network(seed)
    other, evidence = as_pyagrum(net), random_evidence(net, seed)
    gum = pytest.importorskip("pyagrum")
    inference = gum.LazyPropagation(other)
    inference.setEvidence(evidence)
    inference.makeInference()
    found = net.posteriors(evidence)
    for name in net.nodes:
        np.testing.assert_allclose(found[name].probabilities, inference.posterior(name).toarray(), rtol=0, atol=1e-9)
    assert np.exp(found.log_evidence) == pytest.approx(inference.evidenceProbability(), rel=1e-9)
    best = {name: net.variable(name).states[k] for name, k in inference.mpe().todict().items()}
    assert net.log_probability(best | evidence) == pytest.approx(net.most_probable(evidence).log_probability)


@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_and_most_probable_states_as_pgmpy(seed: int) -> None:
    net = random_network(seed)
    inference = pytest.importorskip("pgmpy.inference").VariableElimination(as_pgmpy(net))
    evidence = random_evidence(net, seed)
    for name in net.nodes:
        if name not in evidence:
            factor = inference.query([name], evidence, show_progress=False)
            expected = [factor.get_value(**{name: state}) for state in net.variable(name).states]
            np.testing.assert_allclose(net.posterior(name, evidence).probabilities, expected, rtol=0, atol=1e-9)
    free = [name for name in net.nodes if name not in evidence]
    best = inference.map_query(free, evidence, show_progress=False)
    assert net.log_probability(best | evidence) == pytest.approx(net.most_probable(evidence).log_probability)


@pytest.mark.parametrize("seed", SEEDS)
def test_parameters_and_scores_as_pgmpy(seed: int) -> None:
    net = random_network(seed)
    estimators = pytest.importorskip("pgmpy.estimators")
    rows = net.sample(400, random_state=seed)
    frame = rows.to_pandas().astype(str)
    states = {v.name: list(v.states) for v in net.variables}
    other = pytest.importorskip("pgmpy.models").DiscreteBayesianNetwork(net.dag.arcs)
    other.add_nodes_from(net.nodes)
    fitted = tb.fit_parameters(net, rows, prior=tb.Dirichlet(1.0))
    bayes = estimators.BayesianEstimator(other, frame, state_names=states)
    for name in net.nodes:
        cpd = bayes.estimate_cpd(name, prior_type="K2")
        parents = [p.name for p in fitted.cpt(name).parents]
        values = cpd.to_factor()
        table = fitted.cpt(name).table()
        for index in np.ndindex(*table.shape):
            at = {n: states[n][k] for n, k in zip([*parents, name], index, strict=True)}
            assert values.get_value(**at) == pytest.approx(table[index], abs=1e-9)
    for ours, theirs in (("bic", "BIC"), ("aic", "AIC")):
        expected = getattr(estimators, theirs)(frame, state_names=states).score(other)
        assert tb.score_structure(net.dag, rows, ours) == pytest.approx(expected, rel=1e-9)
