"""``tunbridge learn --structural-em``: what is written and told, and what does not go with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    """Return a file of patients with a tenth of the cells missing."""
    frame = tb.example_network("asia").sample(800, random_state=1).to_pandas()
    frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)
    frame.to_csv(tmp_path / "holes.csv", index=False)
    return tmp_path / "holes.csv"


def test_graph_and_tables_are_found_together(run, holes):
    told = run(
        "network", "learn", "holes.csv", "--structural-em", "--seed", "3", "--max-parents", "2", "-o", "net.tb"
    ).stdout
    assert "every row counts: missing values are inferred along with the network" in told
    assert "structural EM, " in told
    assert "at the start" in told
    found = tb.StructuralEM().fit(tb.read_table(holes), max_parents=2, random_state=3)
    assert tb.read_network("net.tb") == found.network
    assert f"{found.score:.8g} (bic); {found.trace[0].score:.8g} at the start" in told


def test_score_search_and_smoothing_are_passed_on(run, holes):
    told = run(
        "network",
        "learn",
        "holes.csv",
        "--structural-em",
        "--score",
        "bdeu:3",
        "--search",
        "tabu",
        "--smoothing",
        "0.5",
        "-o",
        "n.tb",
    ).stdout
    assert "tabu, structural EM" in told
    assert "(bdeu:3)" in told
    found = tb.StructuralEM("tabu", tb.BDeu(ess=3)).fit(tb.read_table(holes), 0.5, random_state=0)
    assert tb.read_network("n.tb") == found.network


def test_without_holes_it_is_the_usual_search(run, tmp_path):
    tb.example_network("asia").sample(500, random_state=1).to_pandas().to_csv("whole.csv", index=False)
    told = run("network", "learn", "whole.csv", "--structural-em", "-o", "net.tb").stdout
    assert "structural EM" not in told
    assert "(bic)" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bootstrap", "5"], "--bootstrap must come with a single search; got --structural-em, which makes several"),
        (["--trace", "t.png"], "--trace must come with a single search; got --structural-em, which makes several"),
        (["--search", "sparse-candidate", "--checkpoint", "c"], "--checkpoint must come with a single search"),
        (["--cuts", "none"], "--structural-em must come with states or bins; got --cuts none"),
        (["--target", "lung"], "no option --structural-em; it belongs"),
    ],
)
def test_what_does_not_go_with_it(run, holes, options, message):
    assert message in run("learn", "holes.csv", "--structural-em", *options, "-o", "net.tb", code=2).stderr


def test_it_is_the_usual_way_where_cells_are_missing(run, holes):
    for options in ([], ["--score", "bic"], ["--structural-em"]):
        assert "structural EM, " in run("network", "learn", "holes.csv", *options, "-o", "net.tb").stdout
    for options in (["--score", "nal"], ["--no-structural-em"], ["--search", "chow-liu"], ["--trace", "t.png"]):
        told = run("network", "learn", "holes.csv", *options, "-o", "net.tb").stdout
        assert "structural EM" not in told
        assert "Tables " in told
        assert "EM, " in told


def test_another_score_points_to_it(run, holes):
    told = run("network", "learn", "holes.csv", "--score", "bic", "--no-structural-em", "-o", "net.tb", code=1).stderr
    assert "Use --score nal" in told
    assert told.endswith("(structural EM).\n")


def test_an_interruption_is_told_and_leaves_the_best(run, holes, monkeypatch):
    from tunbridge.learning.missing.structural_em import Task

    def interrupted(self, best, n_round):
        raise KeyboardInterrupt

    monkeypatch.setattr(Task, "turn", interrupted)
    told = run("network", "learn", "holes.csv", "--structural-em", "-o", "net.tb", code=130).stderr
    assert "interrupted: the best network so far is in net.tb" in told
    assert tb.read_network("net.tb").dag == tb.learn_structure(tb.read_table(holes), "nal")
