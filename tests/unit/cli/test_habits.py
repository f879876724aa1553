from __future__ import annotations

from pathlib import Path

import tunbridge as tb


def test_other_words_for_commands(run, tennis, model):
    assert "Classes   play" in run("train", tennis, "-t", "play", "-o", "other.tb").stdout
    assert run("info", model).stdout == run("describe", model).stdout
    assert "Pictures: network draw, --plot of evaluate" in run("plot", tennis, code=2).stderr
    assert "Did you mean 'impute'" in run("fill", tennis, code=2).stderr


def test_fit_with_a_target_is_learn_and_help_is_an_option(run, tennis):
    assert "Classes   play" in run("fit", tennis, "-t", "play", "--model", "nb", "-o", "other.tb").stdout
    assert "Usage: tunbridge learn" in run("help", "learn").stdout
    assert run("version").stdout == f"tunbridge {tb.__version__}\n"


def test_an_option_that_has_one_value_comes_once(run, tennis):
    told = run("learn", tennis, "--target=play", "-t", "wind", code=2).stderr
    assert told == "tunbridge: --target must be given once; got it 2 times. Leave one out.\n"
    run("learn", tennis, "-t", "play", "--model", "nb", "--ignore", "wind", "--ignore", "humidity")


def test_hc_is_hill_climbing(run, tennis):
    assert "arcs" in run("network", "learn", tennis, "--search", "hc", "-o", "n.bif").stdout


def test_a_pickle_by_name_warns(run, tennis):
    assert "is no pickle" in run("learn", tennis, "-t", "play", "-o", "model.pkl").stderr


def test_example_files_are_written(run, tmp_path: Path):
    result = run("datasets", "get", "titanic", "messages", "visits", "drug")
    assert "titanic: 1306 rows in passengers.csv" in result.stdout
    passengers = tb.read_table(tmp_path / "passengers.csv")
    assert passengers.names == ("Survived", "Pclass", "Name", "Sex", "Age")
    women = passengers["Survived"][passengers["Sex"] == "female"]
    assert (women == "yes").mean() > 0.7
    for name in ("new", "messages", "visits", "later", "drug"):
        assert (tmp_path / f"{name}.csv").exists()
    before = (tmp_path / "messages.csv").read_bytes()
    run("datasets", "get", "messages")
    assert (tmp_path / "messages.csv").read_bytes() == before
    (tmp_path / "visits.csv").write_text("a,b\n1,2\n")
    assert "the file to write must not exist yet; got 'visits.csv'" in run("datasets", "get", "visits", code=1).stderr
    assert (tmp_path / "visits.csv").read_text() == "a,b\n1,2\n"


def test_bad_data_sets(run):
    assert "get must name data sets, such as titanic" in run("datasets", "get", code=2).stderr
    assert "one data set must be named" in run("datasets", "drug", "dating", code=2).stderr
    assert "got 'titanc'. Did you mean 'titanic'?" in run("datasets", "get", "titanc", code=2).stderr
    assert "the data set must be bundled" in run("datasets", "get", "zebra", code=1).stderr
