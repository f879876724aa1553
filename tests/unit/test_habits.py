"""What people who come from other libraries expect."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import tunbridge as tb
from tunbridge.errors import DataError, DataWarning


@pytest.fixture
def table() -> tb.Table:
    return tb.as_table({"sky": ["clear", "grey", None, "clear"], "wind": [2.5, 7.0, 4.1, 9.0], "n": [3, 1, None, 2]})


def test_a_table_is_taken_apart_like_a_frame(table):
    assert table.shape == (4, 3)
    assert table["sky"].tolist() == ["clear", "grey", None, "clear"]
    assert table["wind"].mean() == pytest.approx(5.65)
    assert table[["wind", "sky"]].names == ("wind", "sky")
    assert table[1:3].shape == (2, 3)
    assert table[table["wind"] > 4].n_rows == 3
    assert table[0] == {"sky": "clear", "wind": 2.5, "n": 3}
    assert table[-1]["wind"] == 9.0
    assert (table.head(2).n_rows, table.tail(1)["wind"].tolist()) == (2, [9.0])
    assert table[:2, "wind"].tolist() == [2.5, 7.0]
    assert table[[0, 1], ["wind", "n"]].shape == (2, 2)
    assert table[[0, 3], ...].n_rows == 2
    assert "sky" in table
    assert "skyy" not in table
    with pytest.raises(DataError, match="Did you mean 'sky'"):
        table["skyy"]
    with pytest.raises(DataError, match="rows must be numbers below 4"):
        table[9]


def test_scikit_learn_divides_a_table():
    days = tb.datasets.play_tennis()
    scores = cross_val_score(tb.NaiveBayesClassifier(), days.drop(["play"]), days["play"], cv=3)
    frame = days.to_pandas()
    expected = cross_val_score(tb.NaiveBayesClassifier(), frame.drop(columns="play"), frame["play"], cv=3)
    assert scores.tolist() == expected.tolist()


def test_a_table_shows_its_first_rows_in_a_notebook():
    many = tb.as_table({"<x>": ["<b>"] * 30, "y": np.arange(30) / 4})
    shown = many._repr_html_()
    assert "<b>" not in shown.replace("<br>", "")
    assert "and 20 more rows" in shown


def test_some_rows_of_a_table_are_printed(table):
    assert repr(table).splitlines()[1].startswith("  sky   categorical")
    assert repr(table.tail(3)).splitlines() == [
        "Table: 3 rows × 3 columns, 2 missing values",
        "sky      wind        n",
        "grey        7        1",
        "missing   4.1  missing",
        "clear       9        2",
    ]
    assert repr(table[:0]).splitlines()[1].startswith("  sky   categorical")
    wide = tb.as_table({f"column {i}": [i] * 30 for i in range(50)})
    assert repr(wide.head()).splitlines()[-1] == "… and 40 more columns"
    assert max(map(len, repr(wide.head()).splitlines())) <= 100
    assert repr(wide.head(25)).splitlines()[1].startswith("  column 0")
    assert "2025-12-24" in repr(tb.as_table({"seen": [date(2025, 12, 24)] * 3}).head())


def test_a_table_describes_itself(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1,5;a\n2,5;b\n")
    assert tb.read_table(tmp_path / "a.csv").describe().splitlines() == [
        "Table: 2 rows × 2 columns, 0 missing values",
        "  x  continuous   1.5 … 2.5",
        "  y  categorical  a, b",
        "",
        "Detected:",
        "  Delimiter: ';'",
        "  Numbers in 'x': decimal commas",
    ]


def test_one_row_is_a_mapping_everywhere():
    tennis = tb.datasets.play_tennis()
    row = {"outlook": "Sunny", "temperature": "Mild", "humidity": "High", "wind": "Weak"}
    clf = tb.NaiveBayesClassifier().fit(tennis, "play")
    assert clf.score({**row, "play": "no"}, "play") in (0.0, 1.0)
    net = tb.learn_network(tennis)
    for result in (net.predict_proba(row, "play"), net.predict(row, "play"), net.log_likelihood(row)):
        assert len(result) == 1
    assert net.impute({**row, "play": None}).n_rows == 1
    text = tb.TextClassifier().fit(["cheap pills", "lunch at noon"], ["spam", "ham"])
    assert text.predict({"text": "cheap pills"}).tolist() == text.predict(["cheap pills"]).tolist()
    assert tb.as_table(row).shape == (1, 4)


def test_synonyms(tmp_path: Path):
    net = tb.example_network("asia")
    assert net.query("lung", {"xray": "yes"}) == net.posterior("lung", {"xray": "yes"})
    clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    clf.write(tmp_path / "m.tb")
    net.save(tmp_path / "n.bif")
    assert tb.load(tmp_path / "m.tb").classes_.tolist() == ["no", "yes"]
    tennis = tb.datasets.play_tennis()
    assert tb.learn_structure(tennis, search="hc") == tb.learn_structure(tennis, search="hill-climbing")


def test_a_model_called_like_a_pickle_warns(tmp_path: Path):
    clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    with pytest.warns(DataWarning, match=r"is no pickle, whatever its name says: tb\.load reads it"):
        clf.save(tmp_path / "model.pkl")
    assert tb.load(tmp_path / "model.pkl").classes_.tolist() == ["no", "yes"]


def test_a_file_name_is_no_data():
    with pytest.raises(DataError) as error:
        tb.NaiveBayesClassifier().fit("wine.csv", "class")
    assert str(error.value) == (
        "X must be a frame or an array; got the name of a file, 'wine.csv'. Read it first: tb.read_table('wine.csv')."
    )


def test_a_target_of_numbers_is_told_what_there_is():
    data = {"x": np.arange(50) / 3, "y": np.arange(50) / 7}
    with pytest.raises(
        DataError, match=r"A network predicts numbers: tb\.learn_network\(table\)\.predict\(rows, 'y'\)"
    ):
        tb.compare_classifiers(data, "y", "nb")


def test_answers_become_frames():
    net = tb.example_network("asia")
    frame = net.posteriors({"xray": "yes"}).to_pandas()
    assert frame.columns.tolist() == ["variable", "state", "probability"]
    assert len(frame) == 16
    assert net.most_probable({"xray": "yes"}).to_pandas().loc[0, "xray"] == "yes"
    mixed = tb.learn_network({"a": [1.0, 2, 3, 4.5] * 5, "b": list("xyxy") * 5})
    assert mixed.posteriors({}).to_pandas().columns.tolist() == ["variable", "state", "probability", "mean", "std"]
    update = tb.bayes_rule({"a": 0.1, "b": 0.9}, {"a": 0.5, "b": 0.2}).to_pandas()
    assert update.loc["a", "posterior"] == pytest.approx(0.05 / 0.23)
    test = tb.DiagnosticTest(prevalence=0.008, sensitivity=0.98, specificity=0.97).to_pandas()
    assert test.loc["ppv", "value"] == pytest.approx(0.2085, abs=1e-4)
