"""Holes filled by random networks: the most probable completion is the largest, and draws are possible ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from networks import networks, random_network
from oracles.enumeration import Enumeration
from tunbridge.errors import ZeroProbabilityWarning
from tunbridge.inference import imputation
from tunbridge.network import BayesianNetwork


@st.composite
def rows_with_holes(draw: Any) -> tuple[BayesianNetwork, dict[str, list[Any]]]:
    """Draw a small network and rows of states, holes and absent columns; a row may be impossible."""
    net = BayesianNetwork.from_tables(draw(networks(most_variables=5, most_states=3)))
    names = draw(st.lists(st.sampled_from(net.nodes), min_size=1, unique=True))
    n_rows = draw(st.integers(1, 4))
    cells = {name: st.none() | st.sampled_from(net.variable(name).states) for name in names}
    return net, {name: draw(st.lists(cells[name], min_size=n_rows, max_size=n_rows)) for name in names}


def check_rows(net: BayesianNetwork, columns: dict[str, list[Any]], seed: int) -> None:
    """Compare what is filled with enumeration, by all methods."""
    oracle = Enumeration(list(net.cpts.values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroProbabilityWarning)
        joint, single = net.impute(columns), net.impute(columns, jointly=False)
        drawn = net.impute(columns, "sample", random_state=seed, n_jobs=1)
        again = net.imputations(columns, 2, random_state=seed, n_jobs=2)[0]
    assert drawn.to_arrow().equals(again.to_arrow())
    rows = zip(*(table.to_arrow().to_pylist() for table in (joint, single, drawn)), strict=True)
    for i, (together, apart, sampled) in enumerate(rows):
        known = {name: values[i] for name, values in columns.items() if values[i] is not None}
        holes = [name for name in columns if name not in known]
        assert all(row[name] == state for row in (together, apart, sampled) for name, state in known.items())
        if oracle.probability_of(known) == 0.0:
            assert all(row[name] is None for row in (together, apart, sampled) for name in holes)
            continue
        if holes:
            largest = oracle.unnormalised(holes, known).max()
            assert oracle.probability_of(together) == pytest.approx(largest, rel=1e-10, abs=0)
        assert oracle.probability_of(sampled) > 0.0
        for name in holes:
            posterior = oracle.posterior(name, known)
            assert posterior[net.variable(name).code(apart[name])] == pytest.approx(posterior.max(), rel=1e-10, abs=0)


@settings(max_examples=150)
@given(rows_with_holes(), st.integers(0, 2**32))
def test_small_networks(case, seed):
    check_rows(*case, seed)


@pytest.mark.parametrize("most_entries", [2**18, 60], ids=["by elimination", "some by tree"])
def test_random_networks(monkeypatch, most_entries):
    monkeypatch.setattr(imputation, "_MOST_ENTRIES", most_entries)
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        net = BayesianNetwork.from_tables(random_network(rng, most_variables=9, most_cells=2000))
        names = [str(name) for name in rng.permutation(net.nodes)][: rng.integers(1, len(net.nodes) + 1)]
        rows = net.sample(6, random_state=seed).to_arrow().to_pylist()
        columns = {name: [None if rng.random() < 0.6 else row[name] for row in rows] for name in names}
        check_rows(net, columns, seed)
