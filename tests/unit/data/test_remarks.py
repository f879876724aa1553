"""What a person would notice in a table before learning from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge.data.readers import iter_batches
from tunbridge.data.remarks import giveaways, merged_spellings, rare_classes, spellings
from tunbridge.errors import DataWarning


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return {"x": rng.normal(y, 1.0), "word": rng.choice(["a", "b"], n), "y": np.array(["no", "yes"])[y]}


class TestGiveaways:
    @pytest.mark.parametrize(
        "made",
        [
            lambda y, rng: np.where(y == "yes", "paid", "open"),
            lambda y, rng: np.where(y == "yes", 10.0, -10.0) + rng.normal(size=len(y)),
            lambda y, rng: np.where(rng.random(len(y)) < 0.002, "?", y),
        ],
    )
    def test_copies_are_found(self, made):
        table = rows()
        table["copy"] = made(table["y"], np.random.default_rng(1))
        assert [found.column for found in giveaways(tb.as_table(table), "y")] == ["copy"]

    def test_identifiers_and_good_features_are_none(self):
        table = rows()
        table["id"] = [f"K{i}" for i in range(400)]
        table["good"] = np.where(np.random.default_rng(1).random(400) < 0.95, table["y"], "maybe")
        assert giveaways(tb.as_table(table), "y") == []

    def test_a_rare_class_is_not_told_by_everything(self):
        table = {"x": ["a", "b"] * 500, "y": ["no"] * 998 + ["yes"] * 2}
        assert giveaways(tb.as_table(table), "y") == []

    @pytest.mark.parametrize("n", [1, 2, 29])
    def test_few_rows_prove_nothing(self, n):
        y = ["no", "yes"] * n
        assert giveaways(tb.as_table({"copy": y[:n], "y": y[:n]}), "y") == []


def test_rare_classes():
    assert rare_classes(tb.as_table({"y": ["a"] * 90 + ["b"] * 9 + ["c"] * 10}), "y") == {"b": 9}
    assert rare_classes(tb.as_table({"y": ["a"] * 9 + ["b"] * 5}), "y") == {}


class TestSpellings:
    def test_the_most_frequent_spelling_is_kept(self):
        table = tb.as_table({"a": ["No", "no ", "yes", "Yes", "yes", None, "NO", "No"], "b": list("xyzxyzxy")})
        found = spellings(table)
        assert found == {"a": {"No": ("NO", "no "), "yes": ("Yes",)}}
        merged = merged_spellings(table, found)
        assert merged.to_pandas()["a"].tolist()[:5] == ["No", "No", "yes", "yes", "yes"]
        assert merged.missing == {"a": 1}
        assert spellings(merged) == {}

    def test_other_rows_are_merged_alike(self):
        found = spellings(tb.as_table({"a": ["yes", "yes", "Yes"]}))
        later = merged_spellings(tb.as_table({"a": ["Yes", "no"], "c": ["u", "v"]}), found)
        assert later.variable("a").states == ("yes", "no")

    def test_numbers_are_no_spellings(self):
        assert spellings(tb.as_table({"a": [1, 2, 1]}, kinds="categorical")) == {}


class TestMergedReading:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "visits.csv"
        path.write_text("smokes,n\nyes,1\nYes,2\nyes,3\nno,4\n")
        return path

    def test_read_table_merges_and_says_so(self, file):
        table = tb.read_table(file, merge_categories=True)
        assert table.variable("smokes").states == ("yes", "no")
        assert table.reading.spellings == {"smokes": {"yes": ("Yes",)}}
        assert "Merged in 'smokes': 'Yes' into 'yes'" in str(table.reading)
        assert tb.read_table(file).variable("smokes").states == ("Yes", "no", "yes")

    def test_a_model_merges_later_rows(self, file, tmp_path):
        table = tb.read_table(file, merge_categories=True)
        clf = tb.NaiveBayesClassifier().fit(table.select(["smokes"]), ["a", "b", "a", "b"])
        clf.save(tmp_path / "m.tb")
        known = tb.load(tmp_path / "m.tb").reading_
        (tmp_path / "next.csv").write_text("smokes,n\nYes,1\n")
        assert tb.read_table(tmp_path / "next.csv", reading=known).variable("smokes").states == ("yes",)
        (batch,) = iter_batches(tmp_path / "next.csv", reading=known)
        assert batch["smokes"].to_pylist() == ["yes"]


def test_remarks_about_a_table():
    n = 60
    table = tb.as_table({
        "id": [f"p{i}" for i in range(n)], "unit": ["A"] * n, "sex": ["f", "F", "m"] * 20,
        "age": [31.0, 45.0, 62.0, -99.0] * 15, "ill": ["no", "yes"] * 29 + ["?", "?"],
    })  # fmt: skip
    found = tb.remarks(table, "ill")
    assert found[:2] == ["unit has only one value", "id looks like an identifier"]
    assert "class '?' has 2 rows only" in found
    sex = "sex has categories that differ in capitals or blanks only: 'F' and 'f'; "
    assert f"{sex}in pandas, data['sex'].str.strip().str.casefold() merges them" in found
    age = "age: '-99' (15 rows) may be a missing value; in pandas, data['age'].mask(data['age'] == -99)"
    assert f"{age} makes it missing" in found
    assert [line for line in tb.remarks(table) if line.startswith("class")] == []
    dose = tb.remarks({"dose": [*map(str, range(20)), "high"] * 2})
    told = "dose is categorical, because 'high' (2 rows) is not a number; in pandas, pd.to_numeric(data['dose'],"
    assert dose == [f"{told} errors='coerce') makes it missing, and the others numbers"]


def test_hints_for_files_are_options_of_the_reader(tmp_path):
    (tmp_path / "d.csv").write_text("dose\n" + "".join(f"{i}\n" for i in range(20)) + "high\n")
    told = "dose is categorical, because 'high' (1 row) is not a number; missing=['high'] reads it so"
    assert tb.remarks(tb.read_table(tmp_path / "d.csv")) == ["dose looks like an identifier"]
    (tmp_path / "d.csv").write_text("dose\n" + "".join(f"{i}\n{i}\n" for i in range(20)) + "high\n")
    assert tb.remarks(tb.read_table(tmp_path / "d.csv")) == [told]


@pytest.mark.parametrize(
    ("form", "bad"), [("%Y-%m-%d", "05.06.2024"), ("%Y-%m-%d", "2024-02-31"), ("%d.%m.%Y", "2.2024"), ("%d %b %Y", "x")]
)
def test_a_text_among_dates(form, bad, tmp_path):
    days = pd.date_range("2024-01-01", periods=60).strftime(form).tolist()
    found = tb.remarks({"day": [bad, *days, *days]})
    told = f"day is categorical, because {bad!r} (1 row) is not a date; "
    remedy = f"in pandas, pd.to_datetime(data['day'], format={form!r}, errors='coerce') makes it missing"
    assert found == [f"{told}{remedy}, and the others dates"]
    assert pd.to_datetime(pd.Series([bad, *days]), format=form, errors="coerce").isna().sum() == 1
    (tmp_path / "d.csv").write_text("day;n\n" + "".join(f"{day};1\n" for day in [bad, *days, *days]))
    table = tb.read_table(tmp_path / "d.csv")
    assert tb.remarks(table.drop(["n"])) == [f"{told}missing=[{bad!r}] reads it so"]
    assert tb.read_table(tmp_path / "d.csv", missing=[bad]).variable("day").dates


def test_dates_and_decimal_commas_as_text_of_a_frame():
    n = range(1, 31)
    data = pd.DataFrame({
        "iso": [f"2024-03-{i:02}" for i in n], "day": [f"{i:02}.03.2024" for i in n],
        "price": [f"1.{i:03},5" for i in n], "share": [f"{i},5 %" for i in n], "code": [f"{i:04}" for i in n],
    })  # fmt: skip
    with pytest.warns(DataWarning) as caught:
        tb.as_table(data)
    remedies = [str(each.message).split("In pandas, ")[1].removesuffix(" converts them.") for each in caught]
    assert remedies == [
        "data['iso'] = pd.to_datetime(data['iso'])",
        "data['day'] = pd.to_datetime(data['day'], format='%d.%m.%Y')",
        "data['price'] = pd.to_numeric(data['price'].str.replace('.', '').str.replace(',', '.'))",
        "data['share'] = pd.to_numeric(data['share'].str.replace('%', '').str.replace(',', '.'))",
    ]
    for remedy in remedies:
        exec(remedy, {"data": data, "pd": pd})
    table = tb.as_table(data)
    assert [v.name for v in table.variables if v.is_categorical] == ["code"]
    assert table.floats("price")[0] == 1001.5
