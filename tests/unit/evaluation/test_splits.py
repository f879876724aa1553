from __future__ import annotations

import datetime

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.evaluation.splits import group_folds, time_folds

pytestmark = pytest.mark.filterwarnings("ignore:column .t. holds dates as text")  # which are a feature where no time


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    return {
        "x": x.tolist(),
        "g": [f"g{i}" for i in rng.integers(0, 20, 200)],
        "t": [str(datetime.date(2024, 1, 1) + datetime.timedelta(days=i)) for i in range(200)],
        "y": np.where(x + rng.normal(size=200) > 0, "p", "n").tolist(),
    }


def test_a_group_is_in_one_fold_and_classes_are_balanced():
    rng = np.random.default_rng(1)
    groups, codes = rng.integers(0, 100, 2000), rng.integers(0, 2, 2000)
    folds = group_folds(codes, groups, 5, seed=3)
    assert all(len(np.unique(folds[groups == g])) == 1 for g in range(100))
    assert np.bincount(folds).min() > 300
    shares = [codes[folds == f].mean() for f in range(5)]
    assert max(shares) - min(shares) < 0.1


def test_time_never_trains_on_the_future():
    times = np.random.default_rng(2).integers(0, 50, 300).astype(float)
    folds = time_folds(times, 4)
    for fold in range(4):
        assert times[folds < fold].max() < times[folds == fold].min()


def test_groups_and_times_are_no_features(frame):
    found = tb.compare_classifiers(frame, "y", "nb", groups="g", folds=4, keep_predictions=True)
    assert "20 groups kept together" in found.title()
    rows = found.predictions()
    group_of = np.array(frame["g"])[rows.rows]
    for group in set(frame["g"]):
        assert len(np.unique(rows.folds[group_of == group])) == 1
    later = tb.compare_classifiers({k: v for k, v in frame.items() if k != "g"}, "y", "nb", time="t", folds=4)
    assert later.n_rows == 160


def test_groups_may_be_given_beside_the_rows(frame):
    plain = {"x": frame["x"], "y": frame["y"]}
    one = tb.compare_classifiers(plain, "y", "nb", groups=frame["g"], folds=4)
    other = tb.compare_classifiers({**plain, "g": frame["g"]}, "y", "nb", groups="g", folds=4)
    assert one.summary("nb")["log-loss"] == other.summary("nb")["log-loss"]


def test_repeats_average_divisions(frame):
    plain = {"x": frame["x"], "y": frame["y"]}
    found = tb.compare_classifiers(plain, "y", "nb", folds=4, repeats=3, keep_predictions=True)
    assert found.n_rows == 200
    assert len(found.predictions()) == 600
    singles = [tb.compare_classifiers(plain, "y", "nb", folds=4, random_state=s) for s in range(3)]
    mean = np.mean([each.summary("nb")["log-loss"].mean for each in singles])
    assert found.summary("nb")["log-loss"].mean == pytest.approx(mean, rel=1e-9)
    error = np.sqrt(np.mean([each.summary("nb")["log-loss"].error ** 2 for each in singles]))
    assert found.summary("nb")["log-loss"].error == pytest.approx(error, rel=1e-9)
    assert "repeated 3 times" in found.title()


BAD = {
    "both": ({"groups": "g", "time": "t"}, "groups and time must not come together"),
    "no such": ({"groups": "h"}, "groups must name a column of the data beside the target; got 'h'"),
    "target": ({"time": "y"}, "time must name a column of the data beside the target; got 'y'"),
    "words": ({"time": "g"}, "the time must be a number or a date such as 2026-11-19; column 'g' holds 'g"),
    "unpadded days": (
        {"time": ["2026-11-10", "2026-11-2"] * 100},
        "a date such as 2026-11-19; column 'time' holds '2026-11-2'",
    ),
    "unpadded hours": (
        {"time": ["2026-11-10 10:00", "2026-11-10 9:00"] * 100},
        "column 'time' holds '2026-11-10 9:00'",
    ),
    "repeats": ({"time": "t", "repeats": 2}, "repeats must be 1 with time"),
    "none": ({"repeats": 0}, "repeats must be at least 1; got 0"),
    "short": ({"groups": ["a"]}, "groups must have a value for each row; got 1 for 200 rows"),
    "one": ({"groups": ["a"] * 200}, "groups must be two at least"),
    "gap": (
        {"groups": [None] + ["a", "b"] * 99 + ["a"]},
        "every row must have a group; column 'groups' is missing in row 1",
    ),
    "same time": ({"time": [1] * 200}, "time must have at least three different times"),
}


@pytest.mark.parametrize(("settings", "message"), BAD.values(), ids=BAD)
def test_bad_settings(frame, settings, message):
    with pytest.raises(DataError, match=message):
        tb.compare_classifiers(frame, "y", "nb", **settings)


def test_duplicates_are_reported(frame):
    twice = {name: [*values, *values] for name, values in frame.items() if name != "t"}
    notes = tb.compare_classifiers(twice, "y", "nb", folds=5).notes
    assert any("held-out rows equal a training row in all columns" in note for note in notes)
    assert not tb.compare_classifiers(frame, "y", "nb", folds=5).notes


def test_equal_rows_of_a_few_categories_are_no_surprise():
    assert not tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", "nb", folds=5).notes
