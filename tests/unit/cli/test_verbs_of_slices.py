"""Dynamic networks on the command line: the answers are those of the library."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pytest

import tunbridge as tb

DAYS = "city,day,Umbrella\nBath,1,yes\nRye,1,no\nBath,2,yes\nBath,4,\nRye,2,yes\n"
PLACES = ("--sequence", "city", "--time", "day")


@pytest.fixture
def net() -> tb.DynamicBayesianNetwork:
    return tb.DynamicBayesianNetwork(
        {"Rain": ["no", "yes"], "Umbrella": ["no", "yes"]},
        first={"Rain": [0.5, 0.5]},
        arcs=[("Rain[t-1]", "Rain"), ("Rain", "Umbrella")],
        cpts={"Rain": [[0.7, 0.3], [0.3, 0.7]], "Umbrella": [[0.8, 0.2], [0.1, 0.9]]},
    )


@pytest.fixture
def rain(run, net, tmp_path):
    net.write(tmp_path / "rain.tb")
    (tmp_path / "days.csv").write_text(DAYS)
    return tmp_path / "rain.tb"


@pytest.fixture
def drawn(net, tmp_path):
    path = tmp_path / "drawn.csv"
    net.sample(30, 60, random_state=0).to_pandas().to_csv(path, index=False)
    return path


def columns(path):
    return pyarrow.csv.read_csv(path).to_pydict()


def yes(found):
    return [p["yes"] for p in found]


U = {"Umbrella": "yes"}
BATH, RYE = [U, U, {}, {}], [{"Umbrella": "no"}, U]


@pytest.mark.parametrize("question", ["filter", "smooth"])
def test_rows_come_out_with_posteriors(run, rain, net, question):
    told = run("network", question, rain, "days.csv", "-t", "Rain", "-t", "Umbrella", *PLACES, "-o", "out.csv").stdout
    assert told.startswith("5 rows in out.csv; P(Rain), P(Umbrella) given ")
    found, ask = columns("out.csv"), getattr(net, question)
    assert list(found)[:3] == ["city", "day", "Umbrella"]
    bath, rye = yes(ask(BATH, "Rain")), yes(ask(RYE, "Rain"))
    wanted = [bath[0], rye[0], bath[1], bath[3], rye[1]]
    np.testing.assert_allclose(found["P(Rain=yes)"], wanted, rtol=1e-12)
    assert found["P(Umbrella=yes)"][:3] == [1.0, 0.0, 1.0]
    assert 0.0 < found["P(Umbrella=yes)"][3] < 1.0


def test_the_column_of_the_target_is_evidence(run, rain, net, tmp_path):
    (tmp_path / "known.csv").write_text("Rain,Umbrella\nyes,no\n,yes\n")
    result = run("network", "smooth", rain, "known.csv", "-t", "Rain", "-o", "out.csv")
    assert "the 2 rows of known.csv are one sequence" in result.stderr
    wanted = yes(net.smooth([{"Rain": "yes", "Umbrella": "no"}, U], "Rain"))
    np.testing.assert_allclose(columns("out.csv")["P(Rain=yes)"], wanted, rtol=1e-12)


def test_forecasts(run, rain, net):
    run("network", "forecast", rain, "days.csv", "-t", "Rain", *PLACES, "--steps", 2, "-o", "ahead.csv")
    found = columns("ahead.csv")
    assert (found["city"], found["step"]) == (["Bath", "Bath", "Rye", "Rye"], [1, 2, 1, 2])
    wanted = [*yes(net.predict(BATH, "Rain", steps=2)), *yes(net.predict(RYE, "Rain", steps=2))]
    np.testing.assert_allclose(found["P(Rain=yes)"], wanted, rtol=1e-12)


def test_numbers(run, tmp_path):
    walk = tb.DynamicBayesianNetwork(
        {"level": None, "seen": None}, arcs=[("level[t-1]", "level"), ("level", "seen")],
        first={"level": {"variances": 100.0}},
        cpts={"level": {"coefficients": [1.0], "variances": 1.0}, "seen": {"coefficients": [1.0], "variances": 4.0}},
    )  # fmt: skip
    walk.write(tmp_path / "walk.tb")
    (tmp_path / "seen.csv").write_text("t,seen\n0,10\n1,11.5\n")
    run("network", "filter", "walk.tb", "seen.csv", "-t", "level", "--time", "t", "-o", "out.csv")
    run("network", "forecast", "walk.tb", "seen.csv", "-t", "level", "--time", "t", "-o", "ahead.csv")
    wanted = walk.filter([{"seen": 10.0}, {"seen": 11.5}, {}], "level").array
    found = np.column_stack([columns("out.csv")[name] for name in ("mean(level)", "std(level)")])
    np.testing.assert_allclose(found, np.column_stack([wanted[:2, 0], np.sqrt(wanted[:2, 1])]), rtol=1e-9)
    ahead = columns("ahead.csv")
    np.testing.assert_allclose([ahead["mean(level)"][0], ahead["std(level)"][0] ** 2], wanted[2], rtol=1e-9)


def test_fit(run, rain, net, drawn, tmp_path):
    told = run("network", "fit", rain, drawn, "--sequence", "sequence", "--time", "time", "-o", "fitted.tb").stdout
    assert "60 sequences of 30 rows" in told
    assert "counted" in told
    rows = tb.read_table(drawn)
    wanted = tb.fit_dynamic(net, rows, sequence="sequence", time="time")
    for name in net.nodes:
        np.testing.assert_allclose(tb.load("fitted.tb").cpts[name].table(), wanted.cpts[name].table(), rtol=1e-12)
    hidden = tmp_path / "hidden.csv"
    hidden.write_text(
        "".join(",".join(line.split(",")[i] for i in (0, 1, 3)) + "\n" for line in drawn.read_text().split())
    )
    told = run("network", "fit", rain, hidden, "--sequence", "sequence", "--time", "time", "-o", "em.tb").stdout
    assert "Hidden      Rain" in told
    seen, how = rows.select(["sequence", "time", "Umbrella"]), {"sequence": "sequence", "time": "time"}
    assert tb.load("em.tb").log_likelihood(seen, **how).sum() > net.log_likelihood(seen, **how).sum()


def test_learn(run, rain, drawn):
    how = ("--sequence", "sequence", "--time", "time", "--leaf", "Umbrella", "-o", "learned.tb")
    told = run("network", "learn", drawn, "--lags", 2, *how).stdout
    assert "Found   1 arc between slices, 1 in a slice" in told
    assert tb.load("learned.tb").arcs == (("Rain[t-1]", "Rain"), ("Rain", "Umbrella"))
    run("network", "learn", drawn, *how[:4], "--no-intra-slice", "-o", "apart.tb")
    assert all("[t-1]" in parent for parent, _ in tb.load("apart.tb").arcs)


def test_learn_from_numbers(run, drawn, tmp_path):
    lines = ["t,x,y"]
    rng, x = np.random.default_rng(0), 0.0
    for t in range(300):
        y, x = x + 0.1 * rng.normal(), 0.8 * x + rng.normal()
        lines.append(f"{t},{x:.4f},{y:.4f}")
    (tmp_path / "waves.csv").write_text("\n".join(lines) + "\n")
    run("network", "learn", "waves.csv", "--time", "t", "--cuts", "none", "-o", "waves.tb")
    assert ("x[t-1]", "y") in tb.load("waves.tb").arcs
    told = run("network", "learn", "waves.csv", "--time", "t", "--bins", 3, "-o", "bins.tb").stdout
    assert "Bins" in told
    assert ("x[t-1]", "y") in tb.load("bins.tb").arcs
    run("network", "forecast", "bins.tb", "waves.csv", "-t", "y", "--time", "t", "-o", "y.csv")
    assert sum(column[0] for name, column in columns("y.csv").items() if name.startswith("P(")) == pytest.approx(1.0)


def test_describe_draw_convert_and_sample(run, rain, net):
    told = run("describe", rain).stdout
    assert "rain.tb: dynamic network, 2 variables, 5 parameters" in told
    assert "Rain      no, yes  Rain[t-1]" in told
    run("network", "draw", rain, "-o", "rain.svg")
    run("network", "draw", rain, "--target", "Rain", "--against", rain, "-o", "same.svg")
    run("network", "convert", rain, "three.bif", "--slices", 3)
    assert tb.read_network("three.bif").nodes == net.unrolled(3).nodes
    told = run("network", "sample", rain, "-n", 4, "--slices", 5, "--seed", 7, "-o", "rows.csv").stdout
    assert told == "4 sequences of 5 slices in rows.csv; seed 7\n"
    assert columns("rows.csv") == net.sample(5, 4, random_state=7).to_arrow().to_pydict()
    assert set(run("network", "sample", rain, "-n", 2, "--slices", 9, "--do", "Rain=yes").stdout.split()[1:]) <= {
        f"{s},{t},yes,{u}" for s in range(2) for t in range(9) for u in ("yes", "no")
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("network", "query"), ("network", "update", "days.csv", "-o", "x.tb"), ("predict", "days.csv"),
        ("network", "impute", "days.csv", "-o", "x.csv"), ("explain", "days.csv"), ("evaluate", "days.csv"),
    ],
)  # fmt: skip
def test_other_verbs_say_what_to_use(run, rain, words):
    place = 2 if words[0] == "network" else 1
    told = run(*words[:place], rain, *words[place:], code=1).stderr
    assert "rain.tb' is a dynamic network. Use tunbridge network filter, smooth or forecast" in told
