from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.evaluation import Thresholds, predictions_of


@pytest.fixture(scope="module")
def found():
    return tb.compare_classifiers(
        tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan", "forest"], folds=5,
        loss={"yes": {"no": 5}}, keep_predictions=True, n_mistakes=3,
    )  # fmt: skip


def test_predictions_are_those_that_were_scored(found):
    for name in found.models:
        rows = found.predictions(name)
        assert sorted(rows.rows.tolist()) == list(range(100))
        assert rows.scores().log_loss == pytest.approx(found.scores(name).log_loss, rel=1e-12)
        assert rows.cost({"yes": {"no": 5}}) == pytest.approx(found.summary(name)["cost"].mean, rel=1e-12)
    frame = found.predictions().to_pandas()
    np.testing.assert_allclose(frame["P(no)"] + frame["P(yes)"], 1, rtol=1e-12, atol=0)


def test_costs_by_hand(found):
    rows = found.predictions("nb")
    p = rows.proba
    chosen = np.where(5 * p[:, 1] > p[:, 0], 1, 0)  # missing a yes costs five times as much
    losses = np.array([[0.0, 1.0], [5.0, 0.0]])
    assert rows.cost({"yes": {"no": 5}}) == pytest.approx(losses[rows.true, chosen].mean(), rel=1e-12)
    assert rows.decided({"yes": {"no": 5}}).tolist() == chosen.tolist()
    assert "cost" in found.rows()[0]
    assert "cost" in found.to_pandas().columns


def test_mistakes_are_the_worst_and_explained(found):
    mistakes = found.mistakes("nb", 3)
    rows = found.predictions("nb")
    wrong = rows.worst(3)
    assert [m.row for m in mistakes] == rows.rows[wrong].tolist()
    assert all(m.true != m.predicted for m in mistakes)
    assert mistakes[0].explanation.log_odds > 0
    assert str(mistakes[0]).startswith(f"Row {mistakes[0].row + 1}: ")
    assert found.mistakes("forest")[0].explanation is None
    assert mistakes[0].to_dict()["row"] == mistakes[0].row + 1


def test_nothing_is_kept_unless_asked_for():
    plain = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", "nb", folds=5)
    assert plain.mistakes() == ()
    assert "cost" not in plain.rows()[0]
    with pytest.raises(DataError, match="predictions must be kept"):
        plain.predictions()


def test_curves_against_scikit_learn():
    rng = np.random.default_rng(0)
    y, w = rng.random(500) < 0.3, rng.random(500)
    p = np.round(np.clip(0.3 * y + rng.random(500) * 0.7, 0, 1), 2)
    curve = Thresholds.of(y, p, w)
    assert curve.auc == pytest.approx(roc_auc_score(y, p, sample_weight=w), rel=1e-12)
    assert curve.average_precision == pytest.approx(average_precision_score(y, p, sample_weight=w), rel=1e-12)
    i = curve.place(0.5)
    assert curve.true_positives[i] == pytest.approx(w[y & (p >= 0.5)].sum(), rel=1e-12)
    cost = curve.cost(4, 1)
    assert cost[i] == pytest.approx((4 * w[y & (p < 0.5)].sum() + w[~y & (p >= 0.5)].sum()) / w.sum(), rel=1e-12)


def test_bad_questions(found):
    with pytest.raises(DataError, match=r"positive must be a class of the rows; got 'yess'\. Did you mean 'yes'"):
        found.predictions().thresholds("yess")
    with pytest.raises(DataError, match="a curve must have rows of the class and others"):
        Thresholds.of([True, True], [0.1, 0.2])
    with pytest.raises(DataError, match="each row must have a probability and a class"):
        Thresholds.of([True, False], [0.1])
    with pytest.raises(DataError, match="probabilities must be numbers; got NaN in row 2"):
        Thresholds.of([True, False], [0.1, np.nan])


def test_texts_and_sequences_are_compared_by_name():
    texts = {
        "text": ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon"] * 5,
        "y": ["s", "s", "h", "h"] * 5,
    }
    found = tb.compare_classifiers(texts, "y", ["multinomial", "complement"], folds=4)
    assert set(found.models) == {"multinomial", "complement"}
    assert tb.compare_classifiers(texts, "y", "multinomial,complement", folds=4).models == found.models
    signs = {"s": ["abab", "bbaa", "abba", "bbbb"] * 5, "y": ["u", "v"] * 10}
    assert tb.compare_classifiers(signs, "y", "markov", folds=4).models == ("markov",)


def test_a_fitted_model_on_new_rows():
    table = tb.datasets.play_tennis()
    clf = tb.NaiveBayesClassifier().fit(table, "play")
    rows = predictions_of(clf, table, table.to_arrow()["play"].to_pylist())
    assert rows.scores().accuracy == pytest.approx(clf.score(table))


def test_printed_tables_fit_80_columns():
    models = {"a model with a rather long name": "nb", "tan": "tan"}
    found = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", models, folds=5, loss={"yes": 3})
    assert max(map(len, found.table().splitlines())) <= 80
