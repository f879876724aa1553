"""``tunbridge hmm``: what it writes is what the library answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import tunbridge as tb


@pytest.fixture
def visits(run, tmp_path) -> Path:
    rng, lines = np.random.default_rng(0), ["id,day,mood,pulse,note"]
    for s in range(3):
        state = 0
        for day in range(40):
            state = 1 - state if rng.random() < 0.15 else state
            mood = rng.choice(["good", "bad"], p=[[0.9, 0.1], [0.3, 0.7]][state])
            pulse = f"{rng.normal([60, 80][state], 4):.1f}" if rng.random() > 0.1 else ""
            lines.append(f"p{s},{day},{mood},{pulse},007")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def model(run, visits) -> Path:
    run("hmm", "learn", visits, "--sequence", "id", "--time", "day", "--column", "mood,pulse", "-o", "v.tb")
    return Path("v.tb")


def python_model(visits: Path) -> tuple[tb.HiddenMarkovModel, tb.Table]:
    table = tb.read_table(visits)
    hmm = tb.HiddenMarkovModel(None, sequence="id", time="day", columns=["mood", "pulse"], random_state=0)
    return hmm.fit(table), table


def test_learn_is_the_library(run, visits, model):
    hmm, _table = python_model(visits)
    loaded = tb.load(model)
    np.testing.assert_array_equal(loaded.transitions_, hmm.transitions_)
    assert (loaded.sequence, loaded.time, loaded.progress) == ("id", "day", None)
    assert [v.name for v in loaded.variables_] == ["mood", "pulse"]


def test_learn_says_what_it_found(run, visits):
    told = run(
        "hmm", "learn", visits, "--sequence", "id", "--time", "day", "--columns", "pulse", "--states", "auto"
    ).stdout
    assert "visits.csv: 120 rows, 3 sequences of 40 steps" in told
    assert "  *\n" in told
    assert "Model saved to visits.tb" in told
    best = next(line for line in told.splitlines() if line.endswith("*"))
    assert best.split()[0] == str(len(tb.load("visits.tb").start_)) == "2"


def test_decode_adds_the_path_and_probabilities(run, visits, model):
    run("hmm", "decode", model, visits, "-o", "out.csv")
    hmm, table = python_model(visits)
    given, out = visits.read_text().splitlines(), Path("out.csv").read_text().splitlines()
    assert out[0] == "id,day,mood,pulse,note,state,P(state=0),P(state=1)"
    assert [line.rsplit(",", 3)[0] for line in out[1:]] == given[1:]  # 007 and empty values as they were
    found = csv.read_csv("out.csv")
    assert found["state"].to_pylist() == hmm.predict(table).tolist()
    np.testing.assert_allclose(found["P(state=1)"].to_numpy(), hmm.predict_proba(table)[:, 1], atol=1e-12)


def test_filter_does_not_look_ahead(run, visits, model):
    run("hmm", "filter", model, visits, "-o", "out.parquet")
    hmm, table = python_model(visits)
    found = parquet.read_table("out.parquet")
    np.testing.assert_allclose(found["P(state=1)"].to_numpy(), hmm.filter(table)[:, 1], atol=1e-12)
    assert found["state"].to_pylist() == hmm.filter(table).argmax(axis=1).tolist()


def test_rows_in_another_order_keep_it(run, visits, model):
    lines = visits.read_text().splitlines()
    Path("mixed.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    run("hmm", "decode", model, visits, "-o", "a.csv")
    told = run("hmm", "decode", model, "mixed.csv", "-o", "b.csv").stderr
    assert "warning" not in told
    told = run("hmm", "learn", "mixed.csv", "--sequence", "id", "--time", "day", "-o", "again.tb").stderr
    assert "order of 'day'" in told
    assert Path("b.csv").read_text().splitlines()[:0:-1] == Path("a.csv").read_text().splitlines()[1:]


def test_a_model_without_a_sequence_column_takes_one(run, visits):
    run("hmm", "learn", visits, "--column", "pulse", "-o", "one.tb")
    run("hmm", "decode", "one.tb", visits, "--sequence", "id", "--time", "day", "-o", "out.csv")
    hmm, table = tb.load("one.tb"), tb.read_table(visits)
    hmm.sequence, hmm.time = "id", "day"
    assert csv.read_csv("out.csv")["state"].to_pylist() == hmm.predict(table).tolist()


def test_labels_are_states(run, visits):
    told = run("hmm", "learn", visits, "--sequence", "id", "--column", "pulse", "--labels", "mood", "-o", "l.tb").stdout
    assert "Labels    mood: bad, good" in told
    run("hmm", "decode", "l.tb", visits, "-o", "out.csv")
    assert set(csv.read_csv("out.csv")["state"].to_pylist()) <= {"bad", "good"}
    run("hmm", "decode", "l.tb", "out.csv", "-o", "again.csv", code=1)  # the probabilities are there already


def test_forecast_has_a_row_for_each_sequence_and_step(run, visits, model):
    run("hmm", "forecast", model, visits, "--steps", 4, "--interval", 0.5, "-o", "out.csv")
    hmm, table = python_model(visits)
    found, expected = csv.read_csv("out.csv"), hmm.forecast(table, 4)
    assert found["id"].to_pylist() == [f"p{s}" for s in range(3) for _ in range(4)]
    means = np.concatenate([each.means["pulse"] for each in expected])
    np.testing.assert_allclose(found["pulse"].to_numpy(), means, atol=1e-9)
    low = np.concatenate([each.quantile(0.25, "pulse") for each in expected])
    np.testing.assert_allclose(found["pulse 25 %"].to_numpy(), low, atol=1e-9)
    assert "P(mood=bad)" in found.column_names


def test_sample_is_the_library(run, visits, model):
    run("hmm", "sample", model, "-n", 5, "--sequences", 2, "--seed", 3, "-o", "out.csv")
    hmm, _ = python_model(visits)
    found, expected = csv.read_csv("out.csv"), hmm.sample(5, 2, random_state=3)
    assert found["id"].to_pylist() == [0] * 5 + [1] * 5
    assert found["day"].to_pylist() == [*range(5)] * 2
    assert found["state"].to_pylist() == np.concatenate(expected.states).tolist()
    moods = pa.concat_tables([x.to_arrow() for x in expected.observations])["mood"]
    assert found["mood"].to_pylist() == moods.to_pylist()
    assert "the seed was" in run("hmm", "sample", model, "-n", 1).stderr


def test_describe_reads_it_and_other_verbs_say_what_to_use(run, visits, model):
    assert "HiddenMarkovModel, 2 states" in run("describe", model).stdout
    for verb in ("predict", "explain", "evaluate"):
        assert "Use tunbridge hmm decode" in run(verb, model, visits, code=1).stderr
    assert "Did you mean 'decode'?" in run("hmm", "predict", code=2).stderr
    tb.HMMClassifier(1).fit(["ab", "b"], ["x", "y"]).save("c.tb")
    assert "classifies sequences of rows" in run("predict", "c.tb", visits, code=1).stderr
    assert "is a classifier" in run("hmm", "decode", "c.tb", visits, code=1).stderr
    tb.example_network("asia").write("asia.tb")
    assert "Use tunbridge network query" in run("hmm", "decode", "asia.tb", visits, code=1).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sequence", "patient"), "--sequence must name a column of visits.csv; got 'patient'."),
        (("--sequence", "id", "--time", "id"), "--sequence and --time must differ."),
        (("--states", "0"), "--states must be an integer of at least 1, or auto"),
        (("--emissions", "gausian"), "Did you mean 'gaussian'?"),
        (
            ("--emissions", "mod=poisson"),
            "--emissions must name a column of visits.csv; got 'mod'. Did you mean 'mood'?",
        ),
        (
            ("--sequence", "id", "--emissions", "poisson"),
            "must come with columns of numbers; 'mood' holds text.",
        ),
        (("--emissions", "auto", "--emissions", "poisson"), "--emissions must be given once"),
        (("--column", "mood", "--labels", "mood"), "--column must not name the column of --labels, 'mood'."),
        (("--sequence", "id", "--labels", "id"), "--labels must differ from --sequence"),
        (("--labels", "mood", "--states", "auto"), "--states auto must come without --labels"),
        (("--topology", "circle"), "--topology must be"),
        (("-o", "visits.csv"), "must not overwrite a file that is not a model"),
    ],
)
def test_mistakes(run, visits, words, message):
    with pytest.raises(AssertionError) as error:
        run("hmm", "learn", visits, *words)
    assert message in str(error.value)
    assert not Path("visits.tb").exists()


def test_every_emission_has_its_name_on_the_command_line():
    from tunbridge.cli.verbs.hmm import _FAMILIES

    assert set(_FAMILIES) == {"auto", *tb.emissions.FAMILIES} - {"independent"}
