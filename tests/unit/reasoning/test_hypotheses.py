from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

from tunbridge import Distribution, HypothesisSpace, bayes_rule
from tunbridge.errors import DataError, ImpossibleEvidenceError

THIRDS = (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3))


def coin(p: Fraction, side: str) -> Fraction:
    return p if side == "H" else 1 - p


def coins() -> HypothesisSpace:
    return HypothesisSpace({str(p): {"H": p, "T": 1 - p} for p in THIRDS})


def voting() -> HypothesisSpace:
    return HypothesisSpace({"h1": "+", "h2": "-", "h3": "-"}, [0.4, 0.3, 0.3], predict=lambda vote, x: vote)


def test_the_coin_with_three_hypotheses() -> None:
    seen = coins().update("HHT")
    assert seen.shares == {"1/3": Fraction(16, 75), "1/2": Fraction(9, 25), "2/3": Fraction(32, 75)}
    assert seen.evidence == Fraction(25, 216)
    assert seen.map == seen.ml == "2/3"
    assert seen.predictive()["H"] == pytest.approx(
        float(Fraction(16, 225) + Fraction(9, 50) + Fraction(64, 225)), rel=1e-15
    )
    assert seen.n_observed == 3
    same = HypothesisSpace(THIRDS, likelihood=coin).update("HHT")
    assert list(same.shares.values()) == list(seen.shares.values())
    assert isinstance(seen.posterior, Distribution)


def test_the_most_probable_hypothesis_can_lose_the_vote() -> None:
    space = voting()
    assert space.map == "h1"
    assert space.map_prediction("x") == "+"
    assert space.bayes_optimal("x") == "-"
    assert dict(space.predictive("x")) == {"+": 0.4, "-": 0.6}


def test_map_and_ml_part_when_priors_differ() -> None:
    space = HypothesisSpace({"a": {"H": 0.9, "T": 0.1}, "b": {"H": 0.6, "T": 0.4}}, {"a": 0.1}).update("H")
    assert space.map == "b"
    assert space.ml == "a"
    assert space.prior["b"] == 0.9


def test_a_space_never_changes() -> None:
    space = coins()
    space.update("HHHHH")
    assert space.n_observed == 0
    assert dict(space.posterior) == pytest.approx(dict.fromkeys(["1/3", "1/2", "2/3"], 1 / 3), rel=1e-15)


def test_a_million_observations_in_logarithms() -> None:
    data = ["H", "T"] * 500_000
    seen = coins().update(data)
    assert seen.map == "1/2"
    n = 500_000
    logs = [n * math.log(1 / 3) + n * math.log(2 / 3), 2 * n * math.log(0.5)]
    assert seen.log_likelihoods["1/3"] == pytest.approx(logs[0], rel=1e-14)
    assert seen.log_evidence == pytest.approx(logs[1] - math.log(3), rel=1e-14)
    assert seen.evidence == 0.0


def test_densities_may_be_larger_than_one() -> None:
    space = HypothesisSpace([0.0, 0.1], likelihood=lambda mean, x: scipy.stats.norm.pdf(x, mean, 0.01))
    logs = HypothesisSpace([0.0, 0.1], log_likelihood=lambda mean, x: scipy.stats.norm.logpdf(x, mean, 0.01))
    data = [0.049, 0.052]
    assert list(space.update(data).posterior.values()) == pytest.approx(list(logs.update(data).posterior.values()))
    assert space.update(data).log_evidence == pytest.approx(logs.update(data).log_evidence, rel=1e-12)
    far = logs.update([1000.0])  # both densities are zero as floats
    assert far.map == 0.1


def test_a_log_likelihood_may_rule_out() -> None:
    space = HypothesisSpace(["a", "b"], log_likelihood=lambda h, d: np.float32(-math.inf) if h == d else -1.0)
    assert space.update(["a", "a"]).shares == {"a": 0.0, "b": 1.0}
    with pytest.raises(
        ImpossibleEvidenceError, match="observation 3, 'b', has probability 0 under each remaining hypothesis: 'b'"
    ):
        space.update(["a", "a", "b"])


def test_evolution_follows_every_observation() -> None:
    space, data = coins(), "HTTHTHHH"
    evolution = space.evolution(data)
    assert evolution.observations == tuple(data)
    for i in range(len(data) + 1):
        assert evolution.probabilities[i].tolist() == pytest.approx(
            list(space.update(data[:i]).posterior.values()), rel=1e-12
        )
    with pytest.raises(ValueError, match="read-only"):
        evolution.probabilities[0, 0] = 1.0
    with pytest.raises(ImpossibleEvidenceError, match="observation 2, 'T'"):
        HypothesisSpace({"a": {"H": 1, "T": 0}}).evolution("HT")


@pytest.mark.parametrize("given", [np.array, pa.array, iter, lambda data: pa.chunked_array([data])])
def test_data_of_any_kind(given) -> None:  # type: ignore[no-untyped-def]
    expected = coins().update("HHT").shares
    assert coins().update(given(["H", "H", "T"])).shares == expected
    assert coins().evolution(given(["H", "H", "T"])).probabilities[-1].tolist() == pytest.approx(
        [float(p) for p in expected.values()], rel=1e-12
    )


def test_priors_of_any_kind() -> None:
    for given in (iter([0.25, 0.25, 0.5]), np.array([0.25, 0.25, 0.5], np.float32), (0.25, 0.25, 0.5)):
        assert HypothesisSpace(THIRDS, given, likelihood=coin).prior[THIRDS[2]] == 0.5


def test_true_is_one_and_false_is_none() -> None:
    space = HypothesisSpace({"a": {True: "1/2", False: "1/2"}, "b": {1: "1/3", 0: "2/3"}})
    seen = space.update(np.array([True, False, False]))
    assert seen.shares == space.update([1, 0, False]).shares == {"a": Fraction(27, 59), "b": Fraction(32, 59)}


def test_a_prior_keeps_the_exactness_of_an_update() -> None:
    before = bayes_rule({"1/3": "1/2", "1/2": "1/4"}, {"1/3": "1/3", "1/2": "1/2", "2/3": "2/3"})
    models = {str(p): {"H": p, "T": 1 - p} for p in THIRDS}
    once = HypothesisSpace(models, {"1/3": "1/2", "1/2": "1/4"}).update("HT")
    assert HypothesisSpace(models, before).update("T").shares == once.shares


def test_gibbs_asks_one_hypothesis_only() -> None:
    asked = []
    space = HypothesisSpace(range(50), predict=lambda h, x: asked.append(h) or h % 2)
    assert space.gibbs("x", random_state=0) == asked[0] % 2
    assert len(asked) == 1


def test_thousands_of_hypotheses() -> None:
    """Against Bayes' rule on the grid in plain NumPy."""
    grid = np.linspace(0.0, 1.0, 2001)
    model = HypothesisSpace(grid, likelihood=lambda p, x: math.exp(-8 * (x - p) ** 2), predict=lambda p, x: x < p)
    data = np.random.default_rng(0).random(20)
    found = model.update(data)
    weights = np.exp(-8 * ((data[:, None] - grid) ** 2).sum(axis=0))
    np.testing.assert_allclose(found.posterior.probabilities, weights / weights.sum(), rtol=1e-10)
    assert found.predictive(0.5)[True] == pytest.approx(weights[grid > 0.5].sum() / weights.sum(), rel=1e-12)


def test_a_long_evolution_prints_its_ends() -> None:
    lines = repr(coins().evolution("HT" * 50)).splitlines()
    assert len(lines) == 22
    assert lines[11].startswith("…")


def test_cases_with_values_are_pairs() -> None:
    space = HypothesisSpace({"small": 3, "large": 7}, predict=lambda limit, x: "yes" if x <= limit else "no")
    assert space.update([(5, "yes")]).shares == {"small": 0, "large": 1}
    assert space.update((5, "no")).map == "small"
    assert space.update([(1, "yes"), (9, "no")]).posterior["small"] == 0.5
    assert space.bayes_optimal(2) == "yes"


def test_cases_without_a_hash() -> None:
    space = HypothesisSpace(["x", "y"], predict=lambda name, case: case[name])
    seen = space.update([({"x": 1, "y": 0}, 1)])
    assert seen.map == "x"
    assert space.evolution([({"x": 1, "y": 0}, 1)]).probabilities[-1].tolist() == [1.0, 0.0]


def test_gibbs_draws_as_often_as_the_posterior_says() -> None:
    space, random = voting(), np.random.default_rng(0)
    drawn = [space.gibbs("x", random_state=random) for _ in range(4000)]
    share = drawn.count("-") / len(drawn)
    assert abs(share - 0.6) < 4 * math.sqrt(0.24 / 4000)  # four standard errors; the vote itself, 1.0, is far outside
    assert space.gibbs("x", random_state=7) == space.gibbs("x", random_state=7)


def test_gibbs_errs_at_most_twice_as_often_in_a_simulation() -> None:
    """Targets drawn from the posterior: thresholds on a line after a few examples."""
    space = HypothesisSpace(range(11), predict=lambda limit, x: x < limit).update([(1, True), (9, False)])
    random = np.random.default_rng(1)
    shares = np.array(list(space.posterior.values()))
    cases = range(1, 10)
    expected = {way: np.mean([space.expected_errors(x)[way] for x in cases]) for way in ("bayes_optimal", "gibbs")}
    truths, drawn = random.choice(11, 20_000, p=shares), random.choice(11, 20_000, p=shares)
    xs = random.choice(list(cases), 20_000)
    best = {x: space.bayes_optimal(x) for x in cases}
    wrong_best = np.mean([best[x] != (x < t) for x, t in zip(xs, truths, strict=True)])
    wrong_gibbs = np.mean((xs < drawn) != (xs < truths))
    assert wrong_best == pytest.approx(expected["bayes_optimal"], abs=0.015)  # four standard errors
    assert wrong_gibbs == pytest.approx(expected["gibbs"], abs=0.015)
    assert expected["bayes_optimal"] < expected["gibbs"] <= 2 * expected["bayes_optimal"]


def test_derivation_shows_products_and_the_rule() -> None:
    text = str(coins().update("HHT").derivation("2/3"))
    assert text.splitlines()[0] == "P(D | 2/3) = (2/3)^2 × 1/3 = 4/27"
    assert text.splitlines()[-1] == "P(2/3 | D) = P(D | 2/3) × P(2/3) / P(D) = 4/81 / (25/216) = 32/75 ≈ 0.426667"
    bent = HypothesisSpace({"fair": {"H": 0.5, "T": 0.5}, "bent": {"H": 0.7, "T": 0.3}}).update("H" * 1100)
    assert "ln P(D | fair) + ln P(fair) − ln P(D)" in str(bent.derivation("fair"))  # 2^-1100 is no float
    many = coins().update("HT" * 5000).derivation("1/2")
    assert "ln P(D | 1/2) + ln P(1/2) − ln P(D)" in str(many)
    assert len(HypothesisSpace(range(50), likelihood=lambda h, d: 0.5).update([1]).derivation().lines) == 21
    with pytest.raises(DataError, match=r"the hypothesis must be one of the space; got '2/4'\. Did you mean"):
        coins().derivation("2/4")


def test_how_it_prints() -> None:
    assert repr(coins().update("HHT")).splitlines() == [
        "3 hypotheses; 3 observations, ln P(D) = -2.1564",
        "hypothesis  prior     posterior",
        "1/3         0.333333  0.213333",
        "1/2         0.333333  0.36",
        "2/3         0.333333  0.426667",
    ]
    many = HypothesisSpace(range(50), likelihood=lambda h, d: h / 50).update([1])
    assert repr(many).splitlines()[0].startswith("50 hypotheses, the 10 most probable; 1 observation")
    assert repr(many).splitlines()[2].startswith("49 ")
    assert len(many) == 50


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HypothesisSpace({}), "hypotheses must be distinct, and at least one; got none."),
        (
            lambda: HypothesisSpace(["a", "a"]),
            "hypotheses must be distinct, and at least one; got 'a', 'a'.",
        ),
        (
            lambda: HypothesisSpace([["a"]]),
            "hypotheses must be names or other hashable values; unhashable type: 'list'.",
        ),
        (
            lambda: HypothesisSpace(["a", "b"]),
            "the outcomes of 'a' must be a mapping of value to probability; got 'a'. "
            "Otherwise give likelihood(h, d) or predict(h, x).",
        ),
        (lambda: HypothesisSpace({"a": {"H": 0.5, "T": 0.6}}), "the outcomes of 'a' must sum to 1; got 1.1."),
        (
            lambda: HypothesisSpace({"a": {"H": 1.5}}),
            "the probability of 'H' in the outcomes of 'a' must lie between 0 and 1; got 1.5.",
        ),
        (lambda: HypothesisSpace([1, 2], [0.5, 0.6], likelihood=coin), "the prior must sum to 1; got 1.1."),
        (
            lambda: HypothesisSpace([1, 2], likelihood=coin, log_likelihood=coin),
            "a space must have a likelihood or a log_likelihood; got both.",
        ),
        (
            lambda: coins().update("HX"),
            "an observation must be an outcome of a hypothesis; got 'X'. Known: 'H', 'T'.",
        ),
        (
            lambda: coins().update([["H"]]),
            "an observation must be an outcome of a hypothesis; got ['H']. Known: 'H', 'T'.",
        ),
        (
            lambda: coins().update(3),
            "data must be a list of observations; got 3. Write a single one as [x]; take one column of a table.",
        ),
        (
            lambda: coins().update({"H": 3, "T": 1}),
            "data must be a list of observations; got {'H': 3, 'T': 1}. Write a single one as [x]; "
            "take one column of a table.",
        ),
        (
            lambda: coins().update(np.array("H")),
            "data must be a list of observations; got array('H', dtype='<U1'). Write a single one as [x]; "
            "take one column of a table.",
        ),
        (
            lambda: coins().evolution(pa.table({"side": ["H"]})),
            "an observation must be an outcome of a hypothesis; got {'side': 'H'}. Known: 'H', 'T'.",
        ),
        (
            lambda: coins().update([("H", ["T"])]),
            "an observation must be an outcome of a hypothesis; got ('H', ['T']). Known: 'H', 'T'.",
        ),
        (lambda: voting().update([("x", ["+"])]), "the value of a case must be hashable; got ['+']."),
        (
            lambda: HypothesisSpace(7, likelihood=coin),
            "hypotheses must be names or other hashable values; 'int' object is not iterable.",
        ),
        (
            lambda: HypothesisSpace([1, 2], [0.5], likelihood=coin),
            "the prior must have a probability for each of 2 hypotheses; got 1.",
        ),
        (lambda: coins().predictive("x"), "these hypotheses predict without a case; got 'x'."),
        (
            lambda: HypothesisSpace([1], likelihood=coin).predictive(),
            "hypotheses must make predictions; give HypothesisSpace a function predict(h, x).",
        ),
        (
            lambda: HypothesisSpace([1], likelihood=lambda h, d: -0.5).update([1]),
            "the likelihood of 1 must be at least 0; got -0.5.",
        ),
        (
            lambda: HypothesisSpace([1], likelihood=lambda h, d: None).update([1]),
            "the likelihood of 1 must be a number; got None.",
        ),
        (
            lambda: HypothesisSpace([1], log_likelihood=lambda h, d: math.nan).update([1]),
            "the log-likelihood of 1 must be finite; got nan.",
        ),
        (
            lambda: HypothesisSpace([1], log_likelihood=lambda h, d: math.inf).update([1]),
            "the log-likelihood of 1 must be finite; got inf.",
        ),
        (lambda: voting().update(["x"]), "an observation must be a pair of a case and its value; got 'x'."),
        (
            lambda: HypothesisSpace(["a"], predict=lambda h, x: None).predictive(1),
            "'a' must predict a value, or a mapping of value to probability; got None.",
        ),
        (
            lambda: HypothesisSpace(["a"], predict=lambda h, x: {1: 0.5}).predictive(1),
            "the prediction of 'a' must sum to 1; got 0.5.",
        ),
    ],
)
def test_bad_input(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError) as caught:
        make()
    assert str(caught.value) == message


def test_one_outcome_with_a_long_name_is_one_observation() -> None:
    space = HypothesisSpace({"a": {"positive": 0.9, "negative": 0.1}, "b": {"positive": 0.2, "negative": 0.8}})
    assert space.update("positive").n_observed == 1
    assert space.update("positive").map == "a"
