"""What a person would notice in a table before learning from it."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.data.readers import iter_batches
from tunbridge.data.remarks import giveaways, merged_spellings, rare_classes, spellings


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
    assert "sex has categories that differ in capitals or blanks only: 'F' and 'f' (merge_categories=True)" in found
    assert "age: '-99' (15 rows) may be a missing value; missing=['-99'] reads it so" in found
    assert [line for line in tb.remarks(table) if line.startswith("class")] == []
    dose = tb.remarks({"dose": [*map(str, range(20)), "high"] * 2})
    assert dose == ["dose is categorical, because 'high' (2 rows) is not a number; missing=['high'] reads it so"]
