"""Diagnostic tests: against the 2 × 2 table enumerated with fractions, and worked numbers from the books."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import tunbridge as tb
from tunbridge.errors import DataError, DataWarning
from tunbridge.reasoning.diagnostic import MEASURES, as_results

F = Fraction
CANCER = tb.DiagnosticTest(prevalence=0.008, sensitivity=0.98, specificity=0.97)
EXACT = tb.DiagnosticTest("0.008", "0.98", "0.97")


def study(tp: Any, fp: Any, fn: Any, tn: Any, **rest: Any) -> tb.DiagnosticTest:
    """Return a test from counts in a fixed order."""
    cells = {"true_positives": tp, "false_positives": fp, "false_negatives": fn, "true_negatives": tn}
    return tb.DiagnosticTest.from_counts(**cells, **rest)


STUDY = study(400, 210, 310, 1200)
APART = STUDY.at(0.01)

shares = st.integers(0, 50).map(lambda n: F(n, 50))
inner = st.integers(1, 49).map(lambda n: F(n, 50))


def enumerated(prevalence: F, sensitivity: F, specificity: F) -> dict[str, F | float | None]:
    """Return every measure from the four joint probabilities, None for 0/0."""
    table = {
        (sign, ill): (prevalence if ill else 1 - prevalence)
        * ((sensitivity if ill else 1 - specificity) if sign else (1 - sensitivity if ill else specificity))
        for sign in (True, False)
        for ill in (True, False)
    }

    def given(event, known) -> F | None:
        whole = sum(p for cell, p in table.items() if known(*cell))
        return sum(p for cell, p in table.items() if known(*cell) and event(*cell)) / whole if whole else None

    def ratio(above: F, below: F) -> F | float | None:
        return above / below if below else math.inf if above else None

    return {
        "prevalence": prevalence,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "ppv": given(lambda s, i: i, lambda s, i: s),
        "npv": given(lambda s, i: not i, lambda s, i: not s),
        "false_discovery_rate": given(lambda s, i: not i, lambda s, i: s),
        "false_omission_rate": given(lambda s, i: i, lambda s, i: not s),
        "false_positive_rate": 1 - specificity,
        "false_negative_rate": 1 - sensitivity,
        "accuracy": given(lambda s, i: s == i, lambda s, i: True),
        "positive_rate": given(lambda s, i: s, lambda s, i: True),
        "positive_likelihood_ratio": ratio(sensitivity, 1 - specificity),
        "negative_likelihood_ratio": ratio(1 - sensitivity, specificity),
        "odds_ratio": ratio(sensitivity * specificity, (1 - sensitivity) * (1 - specificity)),
        "youden": sensitivity + specificity - 1,
    }


def value_or_none(test: tb.DiagnosticTest, name: str) -> object:
    try:
        return test.measure(name)
    except DataError:
        return None


# Worked numbers


def test_a_rare_cancer():
    assert CANCER.joint["+", "ill"] == 0.00784
    assert CANCER.joint["+", "well"] == 0.02976
    assert round(CANCER.joint["+", "ill"], 4) == 0.0078
    assert round(CANCER.joint["+", "well"], 4) == 0.0298
    assert CANCER.posterior("+").map == "healthy"
    assert round(CANCER.ppv, 2) == 0.21
    assert EXACT.ppv == F(49, 235)
    assert EXACT.joint["+", "ill"] == F(49, 6250)
    assert CANCER.ppv == float(F(49, 235))


def test_counts_of_an_allergy():
    found = [round(float(x), 3) for x in (STUDY.ppv, STUDY.npv, STUDY.sensitivity, STUDY.specificity)]
    assert found == [0.656, 0.795, 0.563, 0.851]
    assert STUDY.ppv == 400 / 610
    assert STUDY.prevalence == 710 / 2120
    assert STUDY.odds_ratio == 400 * 1200 / (210 * 310)
    assert study("400", "210", "310", "1200").ppv == F(400, 610)


def test_measures_by_the_names_of_the_table():
    assert STUDY.measure("PPV") == STUDY.ppv
    assert STUDY.interval("LR+") == STUDY.interval("positive_likelihood_ratio")
    assert str(STUDY.derivation("Odds ratio")) == str(STUDY.derivation("odds_ratio"))


def test_half_of_the_alarms_are_right_at_three_percent():
    assert EXACT.prevalence_for(ppv="1/2") == F(3, 101)
    assert CANCER.prevalence_for(ppv=0.5) == float(F(3, 101))


# Measures


@settings(max_examples=25, deadline=None)
@given(shares, shares, shares)
def test_measures_are_those_of_the_table(prevalence, sensitivity, specificity):
    test = tb.DiagnosticTest(prevalence, sensitivity, specificity)
    expected = enumerated(prevalence, sensitivity, specificity)
    assert set(expected) == set(MEASURES)
    assert {name: value_or_none(test, name) for name in MEASURES} == expected
    assert sum(test.joint.values()) == 1


@settings(max_examples=20, deadline=None)
@given(inner, inner, inner)
def test_floats_are_the_exact_answer_correctly_rounded(prevalence, sensitivity, specificity):
    decimals = [float(f"{float(x):.4f}") for x in (prevalence, sensitivity, specificity)]
    rounded = tb.DiagnosticTest(*decimals)
    exact = tb.DiagnosticTest(*(str(x) for x in decimals))
    for name in MEASURES:
        assert rounded.measure(name) == float(exact.measure(name)), name


def test_counts_give_the_measures_of_their_shares():
    tp, fp, fn, tn = 7, 2, 3, 11
    test = study(tp, fp, fn, tn)
    expected = enumerated(F(tp + fn, 23), F(tp, tp + fn), F(tn, tn + fp))
    assert {name: test.measure(name) for name in MEASURES} == {name: float(p) for name, p in expected.items()}
    exact = study(*map(str, (tp, fp, fn, tn)))
    assert {name: exact.measure(name) for name in MEASURES} == expected
    assert json.loads(json.dumps(test.ppv)) == 7 / 9
    assert f"{test.sensitivity:.2f}" == "0.70"
    assert test.prevalence_is_counted
    assert not test.at(0.1).prevalence_is_counted


def test_weights_need_not_be_whole():
    test = study(0.3, 0.1, 0.1, 0.6)
    assert (test.sensitivity, test.ppv, test.prevalence) == (0.75, 0.75, float(F(4, 11)))


def test_another_prevalence():
    assert EXACT.at("1/2").ppv == F(98, 101)
    assert EXACT.at(None) == tb.DiagnosticTest(sensitivity="0.98", specificity="0.97")
    assert APART.counts == STUDY.counts
    assert study(400, 210, 310, 1200, prevalence=0.01) == APART


def test_infinite_ratios():
    test = tb.DiagnosticTest(0.1, 0.9, 1)
    assert test.positive_likelihood_ratio == math.inf
    assert test.odds_ratio == math.inf
    assert test.ppv == 1
    assert tb.DiagnosticTest(0.1, 0.9, 0).negative_likelihood_ratio == math.inf


# Tables of cases


def test_cases_in_rows():
    table = {
        "truth": ["ill", "ill", "well", "well", "well", None, "ill"],
        "said": ["pos", "neg", "neg", "pos", "weak", "pos", None],
    }
    with pytest.warns(DataWarning) as told:
        found = tb.DiagnosticTest.from_table(table, "truth", "said", ill="ill", positive="pos")
    assert found.counts == tb.reasoning.CaseCounts(1, 1, 1, 2)
    assert [str(warning.message) for warning in told] == [
        "'neg', 'weak' of 'said' all count as not positive. If that is wrong, leave rows out or add states "
        "to positive=.",
        "2 rows of 7 with a missing 'truth' or 'said' left out.",
    ]
    with pytest.warns(DataWarning, match="2 rows of 7 with a missing"):
        both = tb.DiagnosticTest.from_table(table, "truth", "said", diseased="ill", positive=["pos", "weak"])
    assert both.counts == tb.reasoning.CaseCounts(1, 2, 1, 1)


def test_cases_with_weights():
    table = tb.datasets.allergy()
    assert tb.DiagnosticTest.from_table(table, "allergy", "test", diseased="yes", positive="positive") == STUDY
    numbers = tb.as_table({"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]}, weights=[0.5, 1, 2, 3])
    counts = tb.DiagnosticTest.from_table(numbers, "a", "b", diseased=1, positive=1, prevalence="1/10").counts
    assert counts == tb.reasoning.CaseCounts(0.5, 2, 1, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"diseased": "yess"}, "diseased must be a state of 'allergy'; got 'yess'. Did you mean 'yes'?"),
        ({"positive": "+"}, "positive must be a state of 'test'; got '+'."),
        (
            {"diseased": ["yes", "no"]},
            "diseased must be some of the states of 'allergy', not all; got 2 of 2.",
        ),
        ({"diseased": []}, "diseased must be some of the states of 'allergy', not all; got 0 of 2."),
        ({"truth": "Allergy"}, "Did you mean 'allergy'?"),
    ],
)
def test_bad_states(arguments, message):
    usual = {"truth": "allergy", "result": "test", "diseased": "yes", "positive": "positive"}
    with pytest.raises(DataError) as raised:
        tb.DiagnosticTest.from_table(tb.datasets.allergy(), **{**usual, **arguments})
    assert message in str(raised.value)


def test_a_column_of_numbers_has_no_states():
    table = {"t": [0.1, 0.25, 0.7, 0.9], "r": ["a", "b", "a", "b"]}
    with pytest.raises(DataError, match=r"the column 't' must be categorical; it is continuous\. Discretise it"):
        tb.DiagnosticTest.from_table(table, "t", "r", diseased=0.1, positive="a")
    marked = tb.as_table({"t": [1.0, 0.0, 1.0, 0.0], "r": ["a", "b", "a", "b"]}, kinds={"t": "categorical"})
    assert tb.DiagnosticTest.from_table(marked, "t", "r", diseased=1, positive="a").sensitivity == 1  # as the hint says


# Results


@settings(max_examples=25, deadline=None)
@given(inner, inner, inner, st.text("+-", min_size=1, max_size=5))
def test_posteriors_by_enumeration(prevalence, sensitivity, specificity, signs):
    test = tb.DiagnosticTest(prevalence, sensitivity, specificity)
    ill = prevalence * math.prod(sensitivity if s == "+" else 1 - sensitivity for s in signs)
    well = (1 - prevalence) * math.prod(1 - specificity if s == "+" else specificity for s in signs)
    found = test.posterior(signs)
    assert found["ill"] == ill / (ill + well)
    assert found.evidence == ill + well
    assert found.map == ("diseased" if ill >= well else "healthy")


def test_one_result_is_a_predictive_value():
    assert EXACT.posterior("+")["diseased"] == EXACT.ppv
    assert EXACT.posterior("-")["healthy"] == EXACT.npv
    assert EXACT.posterior(["+", "+"])["diseased"] == EXACT.in_series(EXACT).ppv
    assert dict(CANCER.posterior("+").posterior) == pytest.approx(
        {"diseased": 49 / 235, "healthy": 186 / 235}, rel=1e-12
    )


@pytest.mark.parametrize(
    ("given", "signs"),
    [("+", "+"), (" - ", "-"), ("−", "-"), ("++-", "++-"), ("Positive", "+"), (True, "+"), ([False, "negative"], "--")],
)
def test_ways_to_write_results(given, signs):
    assert as_results(given) == list(signs)
    assert as_results(iter(signs)) == list(signs)


@pytest.mark.parametrize("given", ["+?", "maybe", 3, ["+", "x"], [["+"]], None, {"+": 2}])
def test_bad_results(given):
    with pytest.raises(DataError, match="a result must be '\\+' or '-', 'positive' or 'negative'; got"):
        CANCER.posterior(given)


def test_no_results():
    with pytest.raises(DataError, match="at least one observation; got none"):
        CANCER.posterior([])


# Prevalence


@settings(max_examples=25, deadline=None)
@given(inner, inner, shares)
def test_predictive_values_at_the_prevalence_found(sensitivity, specificity, wanted):
    test = tb.DiagnosticTest(sensitivity=sensitivity, specificity=specificity)
    assert test.at(test.prevalence_for(ppv=wanted)).ppv == wanted
    assert test.at(test.prevalence_for(npv=wanted)).npv == wanted


@pytest.mark.parametrize(
    ("test", "asked", "message"),
    [
        (
            (0.9, 1),
            {"ppv": 0.5},
            "ppv must be a value that the test can have; with sensitivity 0.9 and specificity 1 it is 1",
        ),
        ((0, 0.9), {"ppv": 0.5}, "with sensitivity 0 and specificity 0.9 it is 0 at every prevalence"),
        ((0, 1), {"ppv": 0.5}, "with sensitivity 0 and specificity 1 it is undefined at every prevalence"),
        (
            (1, 0.9),
            {"npv": 0.5},
            "npv must be a value that the test can have; with sensitivity 1 and specificity 0.9 it is 1",
        ),
        ((0.9, 0), {"npv": 0.5}, "it is 0 at every prevalence"),
        ((0.9, 0.9), {}, "prevalence_for needs a ppv or an npv; got both or neither."),
        ((0.9, 0.9), {"ppv": 0.5, "npv": 0.5}, "got both or neither."),
        ((0.9, 0.9), {"ppv": 50}, "ppv must lie between 0 and 1; got 50. It looks like a percentage"),
    ],
)
def test_prevalences_that_there_are_not(test, asked, message):
    with pytest.raises(DataError) as raised:
        tb.DiagnosticTest(None, *test).prevalence_for(**asked)
    assert message in str(raised.value)


# Several tests


@settings(max_examples=25, deadline=None)
@given(shares, st.lists(st.tuples(shares, shares), min_size=2, max_size=3))
def test_combinations_by_enumeration(prevalence, rates):
    tests = [tb.DiagnosticTest(prevalence, *pair) for pair in rates]
    found = {True: [F(0), F(0)], False: [F(0), F(0)]}  # by whether ill: P(all positive), P(any positive)
    for ill, signs in itertools.product([True, False], itertools.product([True, False], repeat=len(tests))):
        chances = [se if ill else 1 - sp for se, sp in rates]
        p = math.prod(c if s else 1 - c for c, s in zip(chances, signs, strict=True))
        found[ill][0] += p * all(signs)
        found[ill][1] += p * any(signs)
    series, parallel = tests[0].in_series(*tests[1:]), tests[0].in_parallel(*tests[1:])
    assert (series.sensitivity, 1 - series.specificity) == (found[True][0], found[False][0])
    assert (parallel.sensitivity, 1 - parallel.specificity) == (found[True][1], found[False][1])
    assert series.prevalence == parallel.prevalence == prevalence


def test_combinations_of_tests_without_a_prevalence():
    bare = CANCER.at(None)
    assert bare.in_series(bare).prevalence is None
    assert bare.in_parallel(CANCER).prevalence == 0.008
    assert EXACT.in_series(CANCER).prevalence == F(1, 125)  # 0.008 and "0.008" are the same


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "a combination must have at least two tests; got one."),
        ([0.9], "a combination must be of DiagnosticTests; got 0.9."),
        ([CANCER.at(0.1)], "combined tests must have the same prevalence; got 0.008 and 0.1. Use test.at(prevalence)."),
    ],
)
def test_bad_combinations(others, message):
    for combine in (CANCER.in_series, CANCER.in_parallel):
        with pytest.raises(DataError) as raised:
            combine(*others)
        assert str(raised.value) == message


# Intervals

SHARES = {
    "prevalence": (710, 2120),
    "sensitivity": (400, 710),
    "specificity": (1200, 1410),
    "ppv": (400, 610),
    "npv": (1200, 1510),
    "accuracy": (1600, 2120),
    "positive_rate": (610, 2120),
    "false_positive_rate": (210, 1410),
    "false_negative_rate": (310, 710),
    "false_discovery_rate": (210, 610),
    "false_omission_rate": (310, 1510),
}


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("method", ["wilson", "beta", "jeffreys"])
def test_shares_have_the_interval_of_a_proportion(name, method):
    expected = tb.reasoning.proportion_interval(*SHARES[name], 0.9, method=method)
    assert STUDY.interval(name, 0.9, method) == expected


def test_published_intervals_of_ratios():
    """Var ln of a ratio of shares is the sum of (1 − p)/x; of the odds ratio that of 1/n over the cells (Woolf)."""
    z = stats.norm.ppf(0.975)

    def around(ratio: float, variance: float) -> tuple[float, float]:
        return ratio * math.exp(-z * math.sqrt(variance)), ratio * math.exp(z * math.sqrt(variance))

    plus = (400 / 710) / (210 / 1410), 1 / 400 - 1 / 710 + 1 / 210 - 1 / 1410
    minus = (310 / 710) / (1200 / 1410), 1 / 310 - 1 / 710 + 1 / 1200 - 1 / 1410
    odds = 400 * 1200 / (210 * 310), 1 / 400 + 1 / 210 + 1 / 310 + 1 / 1200
    assert STUDY.interval("positive_likelihood_ratio") == pytest.approx(around(*plus), rel=1e-12)
    assert STUDY.interval("negative_likelihood_ratio", method="log") == pytest.approx(around(*minus), rel=1e-12)
    assert STUDY.interval("odds_ratio") == pytest.approx(around(*odds), rel=1e-12)


def test_predictive_values_at_a_prevalence_known_from_elsewhere():
    """Mercaldo, Lau and Zhou (2007): logit PPV has variance (1 − se)/(n₁ se) + sp/(n₀ (1 − sp))."""
    se, sp, n1, n0, p = 400 / 710, 1200 / 1410, 710, 1410, 0.01
    z = stats.norm.ppf(0.975)

    def around(share: float, variance: float) -> list[float]:
        logit = math.log(share / (1 - share))
        return [1 / (1 + math.exp(-(logit + side * z * math.sqrt(variance)))) for side in (-1, 1)]

    ppv = around(float(APART.ppv), (1 - se) / (n1 * se) + sp / (n0 * (1 - sp)))
    npv = around(float(APART.npv), se / (n1 * (1 - se)) + (1 - sp) / (n0 * sp))
    assert se * p / (se * p + (1 - sp) * (1 - p)) == pytest.approx(APART.ppv, rel=1e-12)
    assert APART.interval("ppv") == pytest.approx(tuple(ppv), rel=1e-10)
    assert APART.interval("npv") == pytest.approx(tuple(npv), rel=1e-10)
    assert APART.interval("false_discovery_rate") == pytest.approx((1 - ppv[1], 1 - ppv[0]), rel=1e-10)
    assert APART.interval("false_omission_rate") == pytest.approx((1 - npv[1], 1 - npv[0]), rel=1e-10)


def test_sums_of_independent_shares():
    """Newcombe's interval (1998, method 10) of the difference of two proportions: 56/70 and 48/80, 0.0524 … 0.3339."""
    test = tb.DiagnosticTest.from_counts(true_positives=56, false_positives=48, false_negatives=14, true_negatives=32)
    assert [round(end, 4) for end in test.interval("youden")] == [0.0524, 0.3339]
    known = test.at(0)
    assert known.interval("accuracy") == pytest.approx(test.interval("specificity"), rel=1e-12)
    assert test.at(1).interval("positive_rate") == pytest.approx(test.interval("sensitivity"), rel=1e-12)


@pytest.mark.parametrize(
    "counts", [(10, 0, 0, 10), (0, 5, 5, 5), (5, 0, 5, 5), (5, 5, 0, 5), (5, 5, 5, 0), (9, 9, 0, 0)]
)
@pytest.mark.parametrize("prevalence", [None, 0.1, 0, 1])
def test_counts_of_zero(counts, prevalence):
    test = study(*counts, prevalence=prevalence)
    for name in MEASURES:
        value = value_or_none(test, name)
        if value is None or (name == "prevalence" and prevalence is not None):
            continue
        low, high = test.interval(name)
        assert low <= value <= high, name
        assert low < high or (
            prevalence in (0, 1) and name in ("ppv", "npv", "false_discovery_rate", "false_omission_rate")
        )


def test_half_a_case_is_added_where_there_are_none():
    low, high = study(10, 0, 5, 20).interval("positive_likelihood_ratio")
    a, b, n1, n0 = 10.5, 0.5, 16, 21
    expected = (a / n1) / (b / n0) * math.exp(-stats.norm.ppf(0.975) * math.sqrt(1 / a - 1 / n1 + 1 / b - 1 / n0))
    assert low == pytest.approx(expected, rel=1e-12)
    assert high == math.inf


@pytest.mark.parametrize(
    ("test", "arguments", "message"),
    [
        (
            CANCER,
            ("ppv",),
            "an interval of ppv needs counts; the test has none. Use DiagnosticTest.from_counts.",
        ),
        (STUDY, ("pvp",), "measure must be one of"),
        (STUDY, ("ppv", 95), "level must lie between 0 and 1; got 95."),
        (STUDY, ("ppv", 0.95, "log"), "method must be one of 'wilson', 'beta', 'jeffreys'; got 'log'."),
        (
            STUDY,
            ("odds_ratio", 0.95, "beta"),
            "method must be 'log' for odds_ratio, a ratio; got 'beta'.",
        ),
        (
            APART,
            ("ppv", 0.95, "wilson"),
            "method must be 'log' for ppv, at a given prevalence;",
        ),
        (APART, ("prevalence",), "an interval of the prevalence needs counts; it was given as a number."),
        (STUDY.at(None), ("ppv",), "ppv must have a prevalence; the test has none. Use test.at(prevalence)."),
    ],
)
def test_intervals_that_there_are_not(test, arguments, message):
    with pytest.raises(DataError) as raised:
        test.interval(*arguments)
    assert message in str(raised.value)


# What it says


@pytest.mark.parametrize("test", [CANCER, EXACT, STUDY, APART, tb.DiagnosticTest(0.5, 1, 1)])
@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_derivation_that_ends_in_its_value(test, name):
    value = test.measure(name)
    lines = str(test.derivation(name)).splitlines()
    last = lines[-1].replace("≈", "=").rpartition("= ")[2]
    assert last == "∞" if value == math.inf else float(F(last)) == pytest.approx(float(value), rel=1e-5)
    assert test.derivation(name).latex.startswith(r"\begin{aligned}")


def test_the_terms_of_bayes_rule_are_shown():
    assert str(CANCER.derivation()).splitlines() == [
        "P(+, diseased) = P(+ | diseased) × P(diseased) = 0.98 × 0.008 = 0.00784",
        "P(+, healthy) = P(+ | healthy) × P(healthy) = 0.03 × 0.992 = 0.02976",
        "P(+) = P(+, diseased) + P(+, healthy) = 0.00784 + 0.02976 = 0.0376",
        "P(diseased | +) = P(+, diseased) / P(+) = 0.00784 / 0.0376 = 0.208511",
    ]
    assert str(STUDY.derivation("npv")) == "P(healthy | -) = TN / (TN + FN) = 1200 / (1200 + 310) = 0.794702"
    assert r"\frac{TP}{TP + FP}" in STUDY.derivation().latex


def test_so_many_people_that_every_group_has_one():
    assert CANCER.natural_frequencies().startswith("Of 10 000 people 80 are diseased")
    assert CANCER.at(1e-9).natural_frequencies().startswith("Of 1 000 000 people 0 are diseased")
    assert CANCER.at(1e-9).natural_frequencies().endswith("Some groups are less than half a person: take more people.")
    assert tb.DiagnosticTest(0.5, 1, 1).natural_frequencies().startswith("Of 1 000 people 500 are diseased")
    assert CANCER.natural_frequencies(of=1e4) == CANCER.natural_frequencies()


def test_whole_people_add_up():
    for of in (1, 7, 100, 12345):
        told = APART.natural_frequencies(of).replace(" ", "")
        assert told.startswith(f"Of{of}people")
    assert STUDY.natural_frequencies(2120).splitlines() == [
        "Of 2 120 people 710 are diseased and 1 410 are healthy.",
        "Of the 710 diseased, 400 test positive and 310 negative; "
        "of the 1 410 healthy, 210 test positive and 1 200 negative.",
        "So 610 test positive, and 400 of these are diseased (65.6 %); "
        "1 510 test negative, and 1 200 of these are healthy (79.5 %).",
    ]
    rare = tb.DiagnosticTest("1e-20", "0.98", "0.97").natural_frequencies()
    assert "1 of these" not in rare
    assert "(100 - 2.06e-20 %)" in rare
    assert "So no one tests positive; 1 000 test negative" in tb.DiagnosticTest(0.5, 0, 1).natural_frequencies()
    with pytest.raises(DataError, match="of must be at least 1; got 0"):
        CANCER.natural_frequencies(0)
    with pytest.raises(DataError, match="natural_frequencies must have a prevalence"):
        CANCER.at(None).natural_frequencies()


def test_the_summary_is_a_table():
    lines = str(STUDY).splitlines()
    assert lines[:3] == ["          diseased  healthy", "positive  400       210", "negative  310       1200"]
    assert "PPV                   P(diseased | +)           0.6557  0.6172 … 0.6924" in lines
    assert "90 % interval" in STUDY.summary(0.9, "beta")
    assert "interval" not in str(CANCER)
    assert "need a prevalence" in str(CANCER.at(None))
    assert str(tb.DiagnosticTest(0.5, 0, 1)).count("undefined") == 4
    assert "0.6172 … 0.6924" in STUDY._repr_html_()
    with pytest.raises(DataError, match="method must be one of"):
        STUDY.summary(0.9, "log")


def test_as_plain_data():
    told = STUDY.to_dict(0.9)
    assert list(told["counts"].values()) == [400, 210, 310, 1200]
    low, high = STUDY.interval("ppv", 0.9)
    assert told["measures"]["ppv"] == {"value": 40 / 61, "low": low, "high": high}
    assert CANCER.to_dict()["measures"]["ppv"] == {"value": CANCER.ppv}
    assert tb.DiagnosticTest(0.5, 0, 1).to_dict()["measures"]["ppv"] == {"value": None}


def test_a_ratio_may_be_infinite_in_plain_data() -> None:
    counts = dict.fromkeys(("true_positives", "false_negatives", "true_negatives"), 10)
    found = tb.DiagnosticTest.from_counts(**counts, false_positives=0).to_dict()["measures"]
    assert found["odds_ratio"]["value"] == found["odds_ratio"]["high"] == math.inf
    assert found["specificity"]["value"] == 1


def test_as_objects():
    assert repr(CANCER) == "DiagnosticTest(prevalence=0.008, sensitivity=0.98, specificity=0.97)"
    assert repr(CANCER.at(None)) == "DiagnosticTest(sensitivity=0.98, specificity=0.97)"
    assert "counts=CaseCounts(true_positives=400," in repr(STUDY)
    assert tb.DiagnosticTest(0.008, 0.98, 0.97) == CANCER
    assert len({CANCER, tb.DiagnosticTest(0.008, 0.98, 0.97)}) == 1
    with pytest.raises(AttributeError):
        CANCER.sensitivity = 1


# Bad numbers


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (
            (0.008, 98, 97),
            "sensitivity must lie between 0 and 1; got 98. It looks like a percentage: divide it by 100.",
        ),
        ((-0.1, 0.9, 0.9), "prevalence must lie between 0 and 1; got -0.1."),
        ((0.1, 0.9), "specificity must be a number; got None."),
        ((0.1, 0.9, float("nan")), "specificity must be finite; got nan."),
        ((0.1, "often", 0.9), "sensitivity must be a number such as 0.25, 1/4 or 25%; got \"'often'\"."),
    ],
)
def test_bad_probabilities(numbers, message):
    with pytest.raises(DataError) as raised:
        tb.DiagnosticTest(*numbers)
    assert str(raised.value) == message.replace("\"'often'\"", "'often'")


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((0, 2, 0, 5), "the counts must have diseased cases; got none."),
        ((2, 0, 5, 0), "the counts must have healthy cases; got none."),
        ((1, -2, 3, 4), "false_positives must be at least 0 and at most 1e+100; got -2."),
        ((1, 2, None, 4), "false_negatives must be a number; got None."),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(DataError) as raised:
        study(*counts)
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ["ppv", "npv", "accuracy", "positive_rate", "joint", "false_discovery_rate"])
def test_what_needs_a_prevalence(name):
    with pytest.raises(
        DataError, match=rf"{name} must have a prevalence; the test has none\. Use test\.at\(prevalence\)"
    ):
        getattr(CANCER.at(None), name)


@pytest.mark.parametrize(
    ("rates", "name", "message"),
    [
        ((0, 1), "ppv", "ppv is undefined for a test that is never positive; P(+) is 0."),
        ((1, 0), "npv", "npv is undefined for a test that is never negative; P(-) is 0."),
        ((0, 1), "positive_likelihood_ratio", "is 0/0 at sensitivity 0 and specificity 1."),
        ((1, 0), "negative_likelihood_ratio", "is 0/0 at sensitivity 1 and specificity 0."),
        ((1, 0), "odds_ratio", "odds_ratio is 0/0 at sensitivity 1 and specificity 0."),
    ],
)
def test_what_is_undefined(rates, name, message):
    with pytest.raises(DataError) as raised:
        getattr(tb.DiagnosticTest(0.5, *rates), name)
    assert message in str(raised.value)
