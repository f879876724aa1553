from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction

import pytest

import tunbridge as tb
from tunbridge.errors import DataError, ImpossibleEvidenceError, UnknownStateError
from tunbridge.reasoning import bayes_rule
from tunbridge.reasoning.numbers import normalised

TEST = {"cancer": {"+": "0.98", "-": "0.02"}, "healthy": {"+": "0.03", "-": "0.97"}}


def test_the_cancer_example() -> None:
    found = bayes_rule({"cancer": 0.008}, {"cancer": 0.98, "healthy": 0.03})
    joint = dict(zip(found, found.steps[0].joint, strict=True))
    assert joint == {"cancer": 0.00784, "healthy": 0.02976}
    assert [round(p, 4) for p in joint.values()] == [0.0078, 0.0298]
    assert found.map == "healthy"
    assert found.ml == "cancer"
    assert round(found["cancer"], 2) == 0.21
    assert found["cancer"] == 49 / 235
    assert found.evidence == 0.0376
    assert found.log_evidence == pytest.approx(math.log(0.0376), rel=1e-15)


def test_exact_numbers_give_fractions() -> None:
    found = bayes_rule({"cancer": "0.008"}, {"cancer": "0.98", "healthy": "0.03"})
    assert dict(found) == {"cancer": Fraction(49, 235), "healthy": Fraction(186, 235)}
    assert found.evidence == Fraction(47, 1250)
    assert isinstance(found.evidence, Fraction)
    assert isinstance(found.odds("cancer"), Fraction)
    assert found.odds("cancer") == Fraction(49, 186)


def test_results_are_distributions() -> None:
    found = bayes_rule({"cancer": 0.008}, {"cancer": 0.98, "healthy": 0.03})
    assert isinstance(found.posterior, tb.Distribution)
    assert found.posterior["healthy"] == found["healthy"]
    assert found.posterior.mode == "healthy"
    assert found.prior["healthy"] == 0.992


def test_the_posterior_becomes_the_prior() -> None:
    together = bayes_rule({"cancer": "0.008"}, TEST, ["+", "+", "-"])
    apart = {"cancer": Fraction(8, 1000), "healthy": Fraction(992, 1000)}
    for sign in "++-":
        apart = bayes_rule(apart, {h: TEST[h][sign] for h in TEST})
    assert dict(together) == dict(apart)
    assert [step.prior for step in together.steps[1:]] == [step.posterior for step in together.steps[:-1]]
    product = math.prod(step.evidence for step in together.steps)
    assert together.evidence == product
    rows = [{h: TEST[h][sign] for h in TEST} for sign in "++-"]
    assert dict(bayes_rule({"cancer": "0.008"}, rows)) == dict(together)


def test_a_distribution_as_prior_keeps_its_variable() -> None:
    illness = tb.Distribution(tb.Variable("illness", ["cancer", "healthy"]), [0.008, 0.992])
    found = bayes_rule(illness, {"cancer": 0.98, "healthy": 0.03})
    assert found.posterior.variables == illness.variables
    again = bayes_rule(found.posterior, {"cancer": 0.98, "healthy": 0.03})
    assert again["cancer"] == pytest.approx(2401 / 2680, rel=1e-14)


def test_plain_data() -> None:
    told = json.loads(json.dumps(bayes_rule({"cancer": "0.008"}, TEST, "+").to_dict()))
    assert told["posterior"] == {"cancer": 49 / 235, "healthy": 186 / 235}
    assert told["prior"]["healthy"] == 0.992
    assert told["likelihood"]["cancer"] == 0.98
    assert told["evidence"] == 0.0376


def test_no_prior_means_all_alike() -> None:
    assert dict(bayes_rule("uniform", {"a": 1, "b": "1/2"})) == {"a": Fraction(2, 3), "b": Fraction(1, 3)}
    found = bayes_rule(None, {"a": 1, "b": "1/2", "c": 0})
    assert dict(found) == {"a": Fraction(2, 3), "b": Fraction(1, 3), "c": 0}


def test_odds_are_bayes_factor_times_prior_odds() -> None:
    found = bayes_rule({"a": "1/2", "b": "1/3", "c": "1/6"}, {"a": "1/10", "b": "1/5", "c": "2/5"})
    for against in ("b", "c", None):
        assert found.odds("a", against) == found.bayes_factor("a", against) * found.prior_odds("a", against)
    assert found.bayes_factor("a", "b") == Fraction(1, 2)
    assert found.bayes_factor("a") == Fraction(1, 10) / ((Fraction(1, 15) + Fraction(1, 15)) / Fraction(1, 2))
    assert found.likelihood("c") == Fraction(2, 5)


def test_odds_at_the_edges() -> None:
    found = bayes_rule({"a": 0.5, "b": 0.5}, {"a": 0.3, "b": 0.0})
    assert found.odds("a") == math.inf
    assert found.odds("b") == 0.0
    assert found.bayes_factor("a") == math.inf
    certain = bayes_rule({"a": 1, "b": 0}, {"a": "1/2", "b": "1/2"})
    with pytest.raises(DataError, match="'a' must leave some prior to the others to be compared with them; got 1"):
        certain.bayes_factor("a")
    assert certain.bayes_factor("b") == 1  # P(E | b) / P(E | not b) does not depend on P(b)
    none = bayes_rule({"a": 1, "b": 0, "c": 0}, {"a": "1/2", "b": "1/2", "c": 1})
    with pytest.raises(DataError, match="odds must compare hypotheses of which at least one is possible"):
        none.odds("b", "c")
    assert none.bayes_factor("b", "c") == Fraction(1, 2)


def test_thousands_of_observations_neither_underflow_nor_take_long() -> None:
    found = bayes_rule({"a": 0.5, "b": 0.5}, [{"a": 1e-9, "b": 2e-9}] * 1000 + [{"a": 0.4, "b": 0.2}] * 1000)
    assert found["a"] == pytest.approx(0.5, rel=1e-8)  # of two thousand sums of logarithms near 20 000
    assert found.evidence == 0.0
    expected = 1000 * (math.log(1e-9) + math.log(0.4)) + math.log(0.5) + math.log(2)
    assert found.log_evidence == pytest.approx(expected, rel=1e-12)
    assert found.bayes_factor("a", "b") == pytest.approx(1.0, rel=1e-8)


def test_bayes_factors_are_correctly_rounded() -> None:
    for p, a, b in itertools.product((0.008, 0.3, 0.77), (0.98, 0.1, 0.65), (0.03, 0.7, 0.11)):
        found = bayes_rule({"x": p}, {"x": a, "y": b})
        assert found.bayes_factor("x") == found.bayes_factor("x", "y") == float(Fraction(str(a)) / Fraction(str(b)))


def test_of_equal_hypotheses_the_first_is_best() -> None:
    for chances in itertools.permutations((0.1, 0.3, 0.7, 0.9)):
        pairs = zip((0.1, 0.3, 0.7, 0.9), chances, strict=True)
        found = bayes_rule(None, [{"first": p, "second": q} for p, q in pairs])
        assert (found.map, found.ml) == ("first", "first")


def test_what_is_left_may_be_little() -> None:
    found = bayes_rule({"healthy": 0.9999999}, {"healthy": 0.01, "ill": 1.0})
    assert found.prior["ill"] == 1e-7
    assert found["ill"] == pytest.approx(1e-7 / (1e-7 + 0.01 * 0.9999999), rel=1e-15)


def test_evidence_too_small_for_a_float_is_shown_as_a_logarithm() -> None:
    found = bayes_rule({"a": 0.5}, [{"a": 1e-200, "b": 1e-300}] * 3)
    assert repr(found).splitlines()[-1] == "3 observations, ln P(E) = -1382.24"


def test_series_of_pandas_go_by_their_index() -> None:
    pandas = pytest.importorskip("pandas")
    prior = pandas.Series({"b": 0.9, "a": 0.1})
    expected = {"b": 0.75, "a": 0.25}
    assert dict(bayes_rule(prior, pandas.Series({"a": 0.3, "b": 0.1}))) == expected
    assert dict(bayes_rule(prior, [pandas.Series({"a": 0.3, "b": 0.1})])) == expected
    assert dict(bayes_rule(pandas.Series([0.1, 0.9]), {"a": 0.3, "b": 0.1})) == expected  # an index that only counts


def test_one_outcome_with_a_long_name() -> None:
    found = bayes_rule(None, {"a": {"pos": 0.75, "neg": 0.25}, "b": {"pos": 0.25, "neg": 0.75}}, "pos")
    assert found["a"] == 0.75


def test_rounded_priors_are_rescaled() -> None:
    found = bayes_rule({"a": 0.333333, "b": 0.333333, "c": 0.333333}, {"a": 1.0, "b": 1.0, "c": 1.0})
    assert list(found.values()) == pytest.approx([1 / 3] * 3, rel=1e-15)


def test_derivation_has_the_formula_and_the_numbers() -> None:
    found = bayes_rule({"cancer": "0.008"}, TEST, ["+", "-"])
    text = str(found.derivation("cancer"))
    assert "P(cancer | +) = P(+ | cancer) × P(cancer) / P(+)" in text
    assert "= 49/235\n" in text
    assert "≈ 0.208511\n" in text
    assert "P(- | +) = P(- | cancer) × P(cancer | +) + P(- | healthy) × P(healthy | +)" in text
    assert "P(cancer | +, -)" in text
    assert "P(healthy | +, -)" not in text
    again = str(bayes_rule({"cancer": "0.008"}, TEST, ["+", "+"]).derivation("cancer"))
    assert "P(+(2) | +(1)) = P(+(2) | cancer) × P(cancer | +(1)) + P(+(2) | healthy) × P(healthy | +(1))" in again
    latex = found.derivation("cancer").latex
    assert r"\frac{P(\text{+} \mid \text{cancer}) \times P(\text{cancer})}{P(\text{+})}" in latex
    assert latex.startswith("\\begin{aligned}\n")


def test_derivation_of_odds() -> None:
    found = bayes_rule({"cancer": "0.008"}, {"cancer": "0.98", "healthy": "0.03"})
    text = str(found.derivation("cancer", form="odds", against="healthy"))
    assert [line.strip() for line in text.splitlines()[1:]] == ["= 98/3 × 1/124", "= 49/186", "≈ 0.263441"]
    with pytest.raises(DataError, match="form must be one of 'rule', 'odds'; got 'log'"):
        found.derivation(form="log")


def test_a_long_sum_is_shown_by_its_ends() -> None:
    found = bayes_rule(None, {f"h{i}": "1/2" for i in range(9)})
    assert "1/2 × 1/9 + 1/2 × 1/9 + … + 1/2 × 1/9" in str(found.derivation("h0"))


def test_how_it_prints() -> None:
    found = bayes_rule({"cancer": 0.008}, TEST, "++")
    assert repr(found).splitlines() == [
        "hypothesis  prior  likelihood  joint      posterior",
        "cancer      0.008  0.9604      0.0076832  0.895896",
        "healthy     0.992  0.0009      0.0008928  0.104104",
        "2 observations, P(E) = 0.008576",
    ]
    many = bayes_rule(None, {i: 1 / (i + 1) for i in range(30)})
    assert "… the 20 most probable of 30" in repr(many)
    assert len(repr(many).splitlines()) == 23


def test_evolution_of_an_update() -> None:
    found = bayes_rule({"cancer": 0.008}, TEST, "+-").evolution()
    assert found.observations == ("+", "-")
    assert found.probabilities[:, 0].tolist() == pytest.approx([0.008, 49 / 235, 49 * 2 / (49 * 2 + 186 * 97)])


@pytest.mark.parametrize(
    ("prior", "likelihood", "message"),
    [
        (
            {"a": 0.5},
            {"a": 0.5, "b": 1.2},
            "P(E | b) must lie between 0 and 1; got 1.2. For densities use HypothesisSpace.",
        ),
        (
            {"a": 0.5},
            {"a": 0.5, "b": 98},
            "P(E | b) must lie between 0 and 1; got 98. It looks like a percentage: divide it by 100.",
        ),
        (
            {"a": 1.5},
            {"a": 0.5, "b": 0.2},
            "the prior of 'a' must lie between 0 and 1; got 1.5.",
        ),
        ({"a": -0.1, "b": 1.1}, {"a": 0.5, "b": 0.2}, "the prior of 'a' must lie between 0 and 1; got -0.1."),
        ({"a": 0.5, "b": 0.4}, {"a": 0.5, "b": 0.2}, "the prior must sum to 1; got 0.9."),
        ({"a": "1/2", "b": "1/3"}, {"a": 0.5, "b": 0.2}, "the prior must sum to 1; got 5/6."),
        (
            {"a": 0.7, "b": 0.6},
            {"a": 0.5, "b": 0.2, "c": 0.1},
            "the prior must sum to 1; without 'c', which is missing, it sums to 1.3.",
        ),
        (
            {"a": 0.5, "b": 0.5},
            {"a": 0.5, "b": 0.2, "c": 0.1},
            "the prior must leave a probability for 'c'; the others sum to 1.",
        ),
        (
            {"a": 0.2},
            {"a": 0.5, "b": 0.2, "c": 0.1},
            "the prior must name every hypothesis, or all but one; 'b', 'c' are missing.",
        ),
        (
            {"sick": 0.2, "well": 0.8},
            {"sick": 0.5, "wel": 0.2},
            "the likelihood must name hypotheses; got 'wel'. Did you mean 'well'?",
        ),
        (
            None,
            [{"a": 0.5, "b": 0.2}, {"a": 0.5}],
            "the likelihood of E2 must be given for every hypothesis; 'b' is missing.",
        ),
        (
            None,
            [{"a": 0.5, "b": 0.2}, {"a": 0.5, "b": 0.1, "c": 1}],
            "the likelihood of E2 must name hypotheses; got 'c'. Known: 'a', 'b'.",
        ),
        (None, [{"a": 0.5}, 0.5], "the likelihood of E2 must be a mapping of hypothesis to probability; got 0.5."),
        (None, {}, "the likelihood must be a mapping of hypothesis to probability; got an empty one."),
        (None, [], "the likelihood must be a mapping of hypothesis to probability; got an empty one."),
        (None, 0.5, "the likelihood must be a mapping of hypothesis to probability; got 0.5."),
        (
            0.008,
            {"a": 0.5, "b": 0.2},
            "the prior must be a mapping or a sequence of probabilities, or 'uniform'; got 0.008.",
        ),
        ([0.5, 0.3, 0.2], {"a": 0.5, "b": 0.2}, "the prior must have a probability for each of 2 hypotheses; got 3."),
        ({"a": None}, {"a": 0.5, "b": 0.2}, "the prior of 'a' must be a number; got None."),
    ],
)
def test_bad_input(prior: object, likelihood: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        bayes_rule(prior, likelihood)
    assert str(caught.value) == message


def test_percentages_are_noticed() -> None:
    with pytest.raises(DataError, match=r"the prior must sum to 1; got 100\. They look like percentages"):
        normalised("the prior", [Fraction(40), Fraction(60)])


def test_an_impossible_observation_is_named() -> None:
    with pytest.raises(ImpossibleEvidenceError) as caught:
        bayes_rule({"a": 0.5, "b": 0.5}, {"a": 0, "b": 0.0})
    assert str(caught.value) == (
        "an observation must be possible under one of the remaining hypotheses; E has probability 0 under 'a', 'b'."
    )
    coins = {"fair": {"H": 0.5, "T": 0.5}, "two-headed": {"H": 1}, "two-tailed": {"T": 1}}
    with pytest.raises(ImpossibleEvidenceError, match=r"after 2 observations; T has probability 0 under 'two-h"):
        bayes_rule({"fair": 0, "two-headed": 0.5, "two-tailed": 0.5}, coins, "HHT")


def test_outcomes_that_nobody_knows_or_that_do_not_sum_to_one() -> None:
    with pytest.raises(DataError, match=r"an observation must be an outcome of a hypothesis; got '\?'. Known"):
        bayes_rule({"cancer": 0.1}, TEST, ["?"])
    with pytest.raises(DataError, match=r"the outcomes of 'b' must sum to 1; got 0\.9"):
        bayes_rule(None, {"a": {"+": 1}, "b": {"+": 0.5, "-": 0.4}}, ["+"])
    with pytest.raises(DataError, match=r"the outcomes of 'a' must be a mapping of value to probability; got 0\.5"):
        bayes_rule(None, {"a": 0.5, "b": 0.2}, ["+"])
    with pytest.raises(DataError, match="there must be at least one observation; got none"):
        bayes_rule({"cancer": 0.1}, TEST, [])
    with pytest.raises(DataError, match=r"an observation must be an outcome of a hypothesis; got \['\+'\]"):
        bayes_rule({"cancer": 0.1}, TEST, [["+"]])
    with pytest.raises(DataError, match="data must be a list of observations; got 5"):
        bayes_rule({"cancer": 0.1}, TEST, 5)


def test_unknown_hypotheses() -> None:
    found = bayes_rule({"cancer": 0.008}, {"cancer": 0.98, "healthy": 0.03})
    message = "the hypothesis must be one of those compared; got 'cancr'. Did you mean 'cancer'?"
    with pytest.raises(UnknownStateError, match=re.escape(message)):
        found["cancr"]
    assert "cancr" not in found
