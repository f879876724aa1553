from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.inference.intervals import N_DRAWS, _gammas
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT, SparseCPT

NO_YES = ["no", "yes"]
A, B = Variable("A", NO_YES), Variable("B", NO_YES)


def learned(a, b):
    a, b = np.array(a, float), np.array(b, float)
    rows = b / np.where(b.sum(axis=-1, keepdims=True) > 0, b.sum(axis=-1, keepdims=True), 1)
    rows[b.sum(axis=-1) == 0] = 0.5
    return BayesianNetwork.from_tables([CPT(A, [], a / a.sum(), counts=a), CPT(B, [A], rows, counts=b)])


def test_of_a_root_it_is_the_beta_interval():
    net = learned([30, 10], [[5, 5], [5, 5]])
    found = net.posterior("A", interval=0.9, random_state=0)
    assert found["yes"] == pytest.approx(0.25)
    low, high = found.interval["yes"]
    reference = stats.beta(10, 30).ppf([0.05, 0.95])
    spread = 5 * np.sqrt(0.05 * 0.95 / N_DRAWS) / stats.beta(10, 30).pdf(reference)  # of a sample quantile
    assert abs(low - reference[0]) < spread[0]
    assert abs(high - reference[1]) < spread[1]
    assert spread.max() < 0.05  # so that an interval of other counts would fail
    assert found.interval["no"] == pytest.approx((1 - high, 1 - low))


def test_holds_the_answer_and_narrows_with_the_data():
    widths = []
    for scale in (1, 10, 100):
        net = learned(np.array([30, 10]) * scale, np.array([[12, 8], [3, 9]]) * scale)
        found = net.posterior("A", {"B": "yes"}, interval=0.95, random_state=1)
        low, high = found.interval["yes"]
        assert low < found["yes"] < high
        widths.append(high - low)
    assert widths[0] > 2.5 * widths[1] > 5 * widths[2]
    narrow = net.posterior("A", {"B": "yes"}, interval=0.5, random_state=1).interval["yes"]
    assert narrow[1] - narrow[0] < widths[2] / 2


def test_equal_seeds_give_equal_intervals():
    net = learned([30, 10], [[5, 5], [5, 9]])
    a, b = (net.posterior("B", interval=0.95, random_state=3).interval for _ in range(2))
    assert a == b
    assert net.posterior("B", interval=0.95, random_state=4).interval != a


def test_the_probabilities_are_those_without_an_interval():
    net = learned([30, 10], [[5, 5], [5, 9]])
    for target in ("B", ["A", "B"]):
        with_interval = net.posterior(target, {"B": ["no", "yes"]}, interval=0.9, random_state=0)
        np.testing.assert_array_equal(with_interval.probabilities, net.posterior(target).probabilities)
    assert with_interval.interval["no", "yes"][0] < with_interval["no", "yes"] < with_interval.interval["no", "yes"][1]


def test_rows_that_rest_on_nothing_may_be_anything():
    net = learned([30, 10], [[0, 0], [5, 5]])
    found = net.posterior("B", {"A": "no"}, interval=0.95, random_state=0)
    assert found.interval["yes"] == pytest.approx((0.025, 0.975), abs=0.02)  # 1 000 draws of a uniform share


def test_sparse_tables():
    a = CPT(A, [], [0.5, 0.5], counts=[20, 20])
    b = SparseCPT(B, [A], {("no",): [0.8, 0.2]}, [0.5, 0.5], counts=[[16, 4]])
    net = BayesianNetwork.from_tables([a, b])
    low, high = net.posterior("B", {"A": "no"}, interval=0.95, random_state=0).interval["yes"]
    assert low < 0.2 < high
    assert net.posterior("B", {"A": "yes"}, interval=0.95, random_state=0).interval["yes"] == (0.5, 0.5)


def test_small_counts_do_not_make_evidence_impossible():
    net = learned([1e-3, 10], [[3, 3], [2, 0]])
    found = net.posterior("A", {"B": "yes"}, interval=0.95, random_state=0)
    assert found.interval["no"] == pytest.approx((1.0, 1.0))


def test_variates_have_the_distribution_of_a_dirichlet():
    shapes = np.tile([0.3, 2.0, 0.0, 5.0], (20_000, 1))
    drawn = _gammas(shapes, np.random.default_rng(0))
    drawn /= drawn.sum(axis=1, keepdims=True)
    assert (drawn[:, 2] == 0).all()
    for i in (0, 1, 3):
        a = shapes[0, i]
        assert stats.kstest(drawn[:, i], stats.beta(a, 7.3 - a).cdf).pvalue > 1e-4
    assert stats.kstest(drawn[:, 0], stats.beta(0.35, 7.0).cdf).pvalue < 1e-4


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        (0.0, "interval must be greater than 0; got 0.0."),
        (1.5, "interval must be at most 1; got 1.5."),
        ("wide", "interval must be a number; got 'wide'."),
    ],
)
def test_messages(interval, message):
    with pytest.raises(DataError) as caught:
        learned([3, 1], [[1, 1], [1, 1]]).posterior("A", interval=interval)
    assert message in str(caught.value)


def test_tables_without_counts_are_refused():
    with pytest.raises(
        DataError, match="an interval must have tables with counts behind it; those for 'Alarm' have none"
    ):
        example_network("burglary").posterior("Alarm", interval=0.95)
