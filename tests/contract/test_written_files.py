"""What can be saved can be written, and the other way round; tables come back as they were."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, DataWarning

CLASSES = [each for name in dir(tb) if inspect.isclass(each := getattr(tb, name))]


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.__name__)
def test_save_and_write_are_one(each: type) -> None:
    assert getattr(each, "save", None) is getattr(each, "write", None)


def test_some_can_be_saved() -> None:
    names = {each.__name__ for each in CLASSES if hasattr(each, "save")}
    assert {"Table", "BayesianNetwork", "NaiveBayesClassifier", "TextClassifier"} <= names


TABLE = tb.as_table({
    "n": [1.5, -2.0, 1e300, None], "i": [1, 2, 3, 4], "c": ["a, b", 'say "x"', None, "ü\nz"], "d": ["x", "y", "x", "y"],
})  # fmt: skip


@pytest.mark.parametrize(
    "ending", ["csv", "csv.gz", "tsv", "TSV.GZ", "jsonl", "jsonl.gz", "parquet", "arrow", "feather"]
)
@pytest.mark.parametrize("how", ["save", "write"])
def test_tables_come_back(tmp_path: Path, ending: str, how: str) -> None:
    getattr(TABLE, how)(tmp_path / f"t.{ending}")
    found = tb.read_table(tmp_path / f"t.{ending}")
    assert found.variables == TABLE.variables
    for a, b in zip(found.columns, TABLE.columns, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the name of a table's file must end in '\.csv'.* got 't\.xlsx'"):
        TABLE.write(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r"got 't\.parquet\.gz'"):
        TABLE.write(tmp_path / "t.parquet.gz")
    with pytest.raises(DataError, match="must have no weights; got some"):
        tb.as_table(TABLE, weights=[1, 2, 1, 1]).write(tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["pkl", "pickle", "joblib"])
def test_a_model_called_a_pickle_says_that_it_is_none(tmp_path: Path, ending: str) -> None:
    model = tb.NaiveBayesClassifier().fit({"a": ["x", "y"], "b": ["u", "v"]}, "b")
    with pytest.warns(DataWarning, match=r"is no pickle, whatever its name says: tb\.load reads it\. Call it \.tb\."):
        model.save(tmp_path / f"m.{ending}")
    assert tb.load(tmp_path / f"m.{ending}").classes_.tolist() == ["u", "v"]
