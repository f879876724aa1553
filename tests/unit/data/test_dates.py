from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

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
