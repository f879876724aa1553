from __future__ import annotations

import pytest

import tunbridge as tb
from tunbridge.errors import DataError

tb.plots.draw_off_screen()
COINS = tb.HypothesisSpace({"fair": {"H": 0.5, "T": 0.5}, "bent": {"H": 0.7, "T": 0.3}})


def test_a_line_for_each_hypothesis() -> None:
    evolution = COINS.evolution("HHT")
    axes = tb.plots.evolution(evolution)
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == evolution.probabilities.T.tolist()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["prior", "H", "H", "T"]


def test_an_update_can_be_drawn_into_given_axes() -> None:
    axes = tb.plots.evolution(COINS.evolution("H"))
    update = tb.bayes_rule({"a": 0.5}, [{"a": 0.5, "b": 0.1}] * 40)
    assert tb.plots.evolution(update, axes) is axes


def test_of_many_hypotheses_some_are_named() -> None:
    space = tb.HypothesisSpace([i / 20 for i in range(21)], likelihood=lambda p, side: p if side == "H" else 1 - p)
    axes = tb.plots.evolution(space.evolution("HHTHT" * 20), most=3)
    assert axes.get_legend().get_texts()[0].get_text() == "18 others"
    assert len(axes.get_legend().get_texts()) == 4
    assert len(axes.get_lines()) == 21
    assert axes.get_ylim()[1] < 0.6  # no probability comes near 1
    assert tb.plots.evolution(COINS.evolution("H")).get_ylim()[1] > 1


def test_bad_input() -> None:
    with pytest.raises(DataError, match="evolution must be an Evolution or a BayesUpdate; got 3"):
        tb.plots.evolution(3)
    with pytest.raises(DataError, match="most must be at least 1; got 0"):
        tb.plots.evolution(COINS.evolution("H"), most=0)
