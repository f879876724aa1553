from __future__ import annotations

import pickle
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.data.readers import iter_batches
from tunbridge.errors import DataError

DAYS = [datetime(1969, 12, 31, 23, 30), datetime(2000, 2, 29, 0, 0), datetime(2026, 1, 6, 7, 5), None]


def test_parts_are_those_of_the_calendar() -> None:
    table = tb.with_date_parts({"t": DAYS, "x": [1.5, 2.5, 3.5, 4.5]})
    found = table.to_arrow().to_pydict()
    known = DAYS[:3]
    assert found["t"] == DAYS
    assert found["t year"] == [d.year for d in known] + [None]
    assert found["t month"] == [d.month for d in known] + [None]
    assert found["t weekday"] == [d.strftime("%a") for d in known] + [None]
    assert found["t hour"] == [d.hour for d in known] + [None]
    assert table.variable("t weekday").states[0] == "Mon"


def test_days_have_no_hours_and_other_columns_no_parts() -> None:
    table = tb.with_date_parts({"d": [date(2025, 1, 1), date(2025, 1, 2)], "x": [1.5, 2.5]})
    assert table.names == ("d", "x", "d year", "d month", "d weekday")
    with pytest.raises(DataError, match=r"columns must name dates; got 'x'"):
        tb.with_date_parts(table, ["x"])
    with pytest.raises(DataError, match=r"it has 'd year'"):
        tb.with_date_parts(table)


def test_files_and_models_remember_the_parts(tmp_path: Path) -> None:
    rows = [f"{day:02}.03.2025 {hour:02}:00;{'yes' if hour > 12 else 'no'}" for day in range(1, 20) for hour in (9, 15)]
    (tmp_path / "d.csv").write_text("when;open\n" + "\n".join(rows) + "\n")
    table = tb.read_table(tmp_path / "d.csv", dates="parts")
    assert table.names == ("when", "open", "when year", "when month", "when weekday", "when hour")
    assert table.reading.date_parts == ("when",)
    model = tb.NaiveBayesClassifier().fit(table.drop(["when"]), "open")
    (tmp_path / "e.csv").write_text("when\n02.04.2025 00:00\n03.04.2025 00:00\n")
    again = tb.read_table(tmp_path / "e.csv", reading=model.reading_)
    assert again.floats("when hour").tolist() == [0.0, 0.0]
    batch = next(
        iter_batches(tmp_path / "e.csv", numbers=["when year", "when month", "when hour"], reading=table.reading)
    )
    assert batch.select(["when month", "when weekday"]).to_pydict() == {
        "when month": [4.0, 4.0], "when weekday": ["Wed", "Thu"],
    }  # fmt: skip
    assert tb.read_table(tmp_path / "e.csv", reading=table.reading, dates="numbers").names == ("when",)
    with pytest.raises(DataError, match=r"dates must be one of"):
        tb.read_table(tmp_path / "d.csv", dates="words")


def test_variables_of_dates_show_dates() -> None:
    seen_on = [date(2025, 12, 24), date(2026, 1, 6), date(2026, 3, 1), date(2026, 5, 9)]
    days = tb.as_table({"seen": seen_on, "n": [1, 2, 3, 4]})
    seen = days.variable("seen")
    assert (seen.dates, days.variable("n").dates) == (True, False)
    binned, found = tb.discretise(days, "frequency", n_bins=2, columns=["seen"])
    assert binned.variable("seen").states == ("≤ 2026-02-02", "> 2026-02-02")
    assert binned.variable("seen").find("2026-01-06") == 0
    assert binned.variable("seen").find("2026-03-01 12:30") == 1
    assert binned.variable("seen").find("06.01.2026") == -1
    assert found["seen"].labels == (
        "≤ 1769990400",
        "> 1769990400",
    )  # without a column nobody knows that these are dates
    assert pickle.loads(pickle.dumps(seen)).dates
    assert seen == tb.Variable("seen")


def test_a_model_of_dates_reads_and_shows_dates(tmp_path) -> None:
    rng = np.random.default_rng(0)
    days = rng.integers(0, 1500, 300)
    rows = {
        "seen": np.datetime64("2020-01-01") + days.astype("timedelta64[D]"),
        "late": np.where((days > 750) ^ (rng.random(300) < 0.1), "yes", "no"),
    }
    for model in (tb.TANClassifier(), tb.NaiveBayesClassifier(numeric="gaussian")):
        model.fit(rows, "late").save(tmp_path / "m.tb")
        found = tb.load(tmp_path / "m.tb")
        text = found.explain({"seen": "2023-05-01"})
        assert text.evidence[0].value == "2023-05-01"
        assert found.predict([{"seen": "2020-02-01"}, {"seen": "2023-05-01"}]).tolist() == ["no", "yes"]
        assert "e+09" not in str(found.what_if({"seen": "2023-05-01"}))
        assert "seen     date" in found.describe()
    net = tb.learn_network(rows)
    assert "e+09" not in str(net.posterior("seen"))
    assert " days" in str(net.posterior("seen"))
    assert net.posterior("late", {"seen": "2023-05-01"}).mode == "yes"
