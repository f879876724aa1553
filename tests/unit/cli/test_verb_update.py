"""``tunbridge update``: what it writes, what it tells, and what it says to mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.cli.verbs import update as update_module

EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture
def table(net) -> tb.Table:
    return net.sample(600, random_state=1)


@pytest.fixture
def fitted(run, net, table, tmp_path: Path) -> Path:
    """Return a network with counts, from the first 200 rows, as a file."""
    path = tmp_path / "fitted.tb"
    tb.fit_parameters(net, table.take(slice(0, 200))).write(path)
    return path


@pytest.fixture
def new(table, tmp_path: Path) -> Path:
    """Return the other rows as a file."""
    path = tmp_path / "new.csv"
    table.take(slice(200, None)).to_pandas().to_csv(path, index=False)
    return path


def assert_same(a, b):
    for name in a.nodes:
        np.testing.assert_allclose(a.cpt(name).counts, b.cpt(name).counts, **EXACT)
        np.testing.assert_allclose(a.cpt(name).table(), b.cpt(name).table(), **EXACT)


def write_rows(path, records):
    names = list(records[0])
    lines = [",".join("" if r[n] is None else str(r[n]) for n in names) for r in records]
    Path(path).write_text("\n".join([",".join(names), *lines]) + "\n")


def test_it_is_one_fit(run, net, table, fitted, new):
    told = run("network", "update", fitted, new, "-o", "out.tb").stdout
    assert_same(tb.read_network("out.tb"), tb.fit_parameters(net, table))
    lines = told.splitlines()
    assert lines[0] == f"Network    {fitted}: 8 variables, 8 arcs"
    assert lines[1] == f"Read       {new}: 400 rows"
    assert lines[2].startswith("Log-score  -2.")
    assert "before learning from the rows (expected by the network: -2." in lines[2]
    assert lines[3] == "Drift      none detected"
    assert lines[5:] == ["Network saved to out.tb. Next steps:", "  tunbridge describe out.tb"]


def test_in_place(run, net, table, fitted, new):
    before = fitted.read_bytes()
    run("network", "update", fitted, new, "-o", "out.tb")
    assert fitted.read_bytes() == before
    run("network", "update", fitted, new, "--in-place")
    assert_same(tb.read_network(fitted), tb.read_network("out.tb"))


def test_batches_of_the_file(run, fitted, new, monkeypatch):
    run("network", "update", fitted, new, "-o", "one.tb")
    monkeypatch.setattr(update_module, "BATCH_ROWS", 64)
    run("network", "update", fitted, new, "-o", "many.tb")
    assert_same(tb.read_network("one.tb"), tb.read_network("many.tb"))


def test_holes(run, fitted, new, table, tmp_path: Path):
    records = table.take(slice(200, 260)).to_arrow().to_pylist()
    for record in records[::2]:
        record["either"] = None
    write_rows("holes.csv", records)
    told = run("network", "update", fitted, "holes.csv", "-o", "out.tb").stdout
    assert "holes.csv: 60 rows, 30 with missing values\n" in told
    assert_same(tb.read_network("out.tb"), tb.read_network(fitted).update(records))
    run("network", "update", fitted, "holes.csv", "-o", "small.tb", "--batch-rows", "7")
    assert_same(tb.read_network("small.tb"), tb.read_network(fitted).update(records, batch_rows=7))


def test_weights_and_other_columns(run, fitted, tmp_path: Path):
    Path("w.csv").write_text("who,smoke,n,bronc\nAnn,yes,2.5,no\nBo,no,1,yes\n")
    run("network", "update", fitted, "w.csv", "-o", "out.tb", "--weights", "n")
    table = tb.as_table({"smoke": ["yes", "no"], "bronc": ["no", "yes"]}, weights=[2.5, 1])
    assert_same(tb.read_network("out.tb"), tb.read_network(fitted).update(table))


def test_expert_tables(run, asia, net, new, table):
    run("network", "update", asia, new, "--ess", "40", "-o", "out.tb")
    assert_same(tb.read_network("out.tb"), net.update(table.take(slice(200, None)), ess=40))
    each = [arg for name in net.nodes if name != "either" for arg in ("--ess", f"{name}=7")]
    run("network", "update", asia, new, *each, "--fixed", "either", "-o", "each.tb")
    found = tb.read_network("each.tb")
    assert found.cpt("either").counts is None
    assert found.cpt("smoke").counts.sum() == pytest.approx(407, rel=1e-12)


def test_fading(run, fitted, new, table):
    run("network", "update", fitted, new, "-o", "out.tb", "--fading", "0.99")
    assert_same(tb.read_network("out.tb"), tb.read_network(fitted).update(table.take(slice(200, None)), fading=0.99))
    run("network", "update", fitted, new, "-o", "out.tb", "--fading", "smoke=0.9", "--fading", "lung=0.99")
    found = tb.read_network("out.tb")
    expected = tb.read_network(fitted).update(table.take(slice(200, None)), fading={"smoke": 0.9, "lung": 0.99})
    assert_same(found, expected)


class TestNewStates:
    @pytest.fixture
    def odd(self, run, net, table):
        records = table.take(slice(0, 20)).to_arrow().to_pylist()
        records[3]["smoke"], records[5]["smoke"], records[7]["xray"] = "pipe", "cigar", "lost"
        write_rows("odd.csv", records)
        return Path("odd.csv")

    def test_added(self, run, fitted, odd):
        told = run("network", "update", fitted, odd, "-o", "out.tb").stdout
        assert "New states  smoke: cigar, pipe\n            xray: lost\n" in told
        assert "unknown states: 'pipe', 'cigar', since row 4 or so" in told or "unknown states: 'cigar', 'pipe'" in told
        assert tb.read_network("out.tb").variable("smoke").states == ("yes", "no", "cigar", "pipe")

    def test_missing(self, run, fitted, odd):
        told = run("network", "update", fitted, odd, "-o", "out.tb", "--new-states", "missing")
        assert told.stderr == (
            "warning: states that the network does not know count as missing: smoke: 'cigar', 'pipe'; xray: 'lost'.\n"
        )
        assert "New states" not in told.stdout
        assert tb.read_network("out.tb").variable("smoke").n_states == 2

    def test_error(self, run, fitted, odd):
        told = run("network", "update", fitted, odd, "-o", "out.tb", "--new-states", "error", code=1)
        assert "column 'smoke' must hold states of 'smoke'; got 'cigar', 'pipe'. Known: 'yes', 'no'." in told.stderr
        assert not Path("out.tb").exists()

    def test_numbers(self, run):
        """Numbers in a file are read as numbers where states are; a new one is of their type."""
        day = tb.CPT(tb.Variable("day", [1, 2]), [], [0.5, 0.5], counts=[1, 1])
        tb.BayesianNetwork.from_tables([day]).write("day.tb")
        Path("days.csv").write_text("day\n1\n3\n2.0\n")
        run("network", "update", "day.tb", "days.csv", "--in-place")
        assert tb.read_network("day.tb").variable("day").states == (1, 2, 3)

    def test_without_end(self, run):
        day = tb.CPT(tb.Variable("day", ["Mon", "Tue"]), [], [0.5, 0.5], counts=[1, 1])
        tb.BayesianNetwork.from_tables([day]).write("day.tb")
        Path("days.csv").write_text("day\n" + "\n".join(f"d{i}" for i in range(30)) + "\n")
        told = run("network", "update", "day.tb", "days.csv", "--in-place", code=1).stderr
        assert "--new-states missing treats such values as missing." in told


def test_drift(run, net, asia, new):
    run("network", "sample", asia, "-n", "500", "-o", "smokers.csv", "--seed", "0", "--do", "smoke=yes")
    told = run("network", "update", asia, "smokers.csv", "--ess", "100", "-o", "out.tb").stdout
    assert "Drift      smoke: 'yes' more often than expected, since about row 1 (11" in told
    assert told.endswith("  tunbridge network query out.tb --target smoke\n")
    quiet = run("network", "update", asia, "smokers.csv", "--ess", "100", "-o", "quiet.tb", "--no-drift").stdout
    assert "Drift" not in quiet
    assert_same(tb.read_network("out.tb"), tb.read_network("quiet.tb"))


def test_impossible_rows(run, net, asia):
    write_rows("odd.csv", [dict.fromkeys(net.nodes, "no") | {"either": "yes"}] * 2)
    told = run("network", "update", asia, "odd.csv", "--ess", "10", "-o", "out.tb").stdout
    assert "Impossible  2 rows could not occur in the network\n" in told
    assert "either: less probable than expected, since about row 1 (more than 999 nats)" in told
    assert "Log-score" not in told


def test_a_format_that_keeps_no_counts(run, fitted, new):
    told = run("network", "update", fitted, new, "-o", "out.bif")
    assert told.stderr == (
        "Note: out.bif does not keep the counts behind 8 tables. A .tb file keeps all, for the next update.\n"
    )


def test_interrupted(run, fitted, new, monkeypatch):
    before = fitted.read_bytes()

    def interrupted(*_: object, **__: object):
        raise KeyboardInterrupt

    monkeypatch.setattr(update_module, "iter_rows", interrupted)
    told = run("network", "update", fitted, new, "--in-place", code=130)
    assert told.stderr == "tunbridge: interrupted.\n"
    assert fitted.read_bytes() == before


class TestMistakes:
    @pytest.mark.parametrize(
        ("options", "code", "message"),
        [
            ([], 2, "one of --output FILE and --in-place must be given; got none."),
            (["-o", "out.tb", "--in-place"], 2, "one of --output FILE and --in-place must be given; got both."),
            (["-o", "out.csv"], 2, "the name of the network must end in '.bif', "),
            (["-o", "fitted.tb"], 2, "--output must not be the network itself; got 'fitted.tb'. Use --in-place."),
            (["-o", "no/out.tb"], 1, "the output must go to a folder that exists; there is no "),
            (["-o", "out.tb", "--ess", "much"], 2, "--ess must be a number or NAME=NUMBER; got 'much'."),
            (["-o", "out.tb", "--ess", "smoke=much"], 2, "--ess must be a number or NAME=NUMBER; got 'much'."),
            (
                ["-o", "out.tb", "--ess", "3", "--ess", "smoke=4"],
                2,
                "--ess must be a number or NAME=NUMBER; got '3, smoke=4'",
            ),
            (["-o", "out.tb", "--ess", "0"], 1, "--ess must be greater than 0.0; got 0.0."),
            (["-o", "out.tb", "--fading", "1.5"], 1, "--fading must be at most 1.0; got 1.5."),
            (["-o", "out.tb", "--fading", "smoke=2"], 1, "--fading of 'smoke' must be at most 1.0; got 2.0."),
            (
                ["-o", "out.tb", "--fading", "smoek=0.5"],
                1,
                "--fading must name variables of the network; got 'smoek'. D",
            ),
            (
                ["-o", "out.tb", "--fixed", "lungs"],
                1,
                "--fixed must name variables of the network; got 'lungs'. Did you",
            ),
            (["-o", "out.tb", "--weights", "n"], 1, "--weights must name a column of new.csv; got 'n'. Known: 'asia',"),
        ],
    )
    def test_options(self, run, fitted, new, options, code, message):
        assert f"tunbridge: {message}" in run("network", "update", "fitted.tb", "new.csv", *options, code=code).stderr
        assert not Path("out.tb").exists()

    def test_tables_without_counts(self, run, asia, new):
        told = run("network", "update", asia, new, "-o", "out.tb", code=1).stderr
        assert "--ess must give the number of rows that tables without counts are worth; got none for 'asia'" in told
        assert "--ess 100 makes every row of such a table worth 100 rows" in told
        assert "--fixed name leaves a table unchanged." in told

    def test_noisy_tables(self, run, new):
        smoke, bronc = tb.Variable("smoke", ["no", "yes"]), tb.Variable("bronc", ["no", "yes"])
        cpts = [tb.CPT(smoke, [], [0.5, 0.5]), tb.noisy_or(bronc, {smoke: 0.3})]
        tb.BayesianNetwork.from_tables(cpts).write("noisy.tb")
        told = run("network", "update", "noisy.tb", new, "-o", "out.tb", "--ess", "5", code=1).stderr
        assert "the one of 'bronc' is a NoisyMaxCPT. Keep it with --fixed bronc, or convert it" in told
        run("network", "update", "noisy.tb", new, "-o", "out.tb", "--ess", "5", "--fixed", "bronc")

    def test_files(self, run, fitted, new, tennis):
        assert (
            "Did you mean 'new.csv'?" in run("network", "update", "fitted.tb", "nwe.csv", "-o", "o.tb", code=1).stderr
        )
        assert (
            "the network must be a file that exists"
            in run("network", "update", "fittd.tb", "new.csv", "-o", "o.tb", code=1).stderr
        )
        swapped = run("network", "update", "new.csv", "fitted.tb", "-o", "o.tb", code=1).stderr
        assert "the network must come first; got 'new.csv' before 'fitted.tb'." in swapped
        assert (
            "must have columns that are variables"
            in run("network", "update", "fitted.tb", tennis, "-o", "o.tb", code=1).stderr
        )

    def test_a_column_that_is_nearly_a_variable(self, run, fitted, new):
        text = Path(new).read_text()
        Path("capital.csv").write_text(text.replace("smoke", "Smoke", 1))
        told = run("network", "update", fitted, "capital.csv", "-o", "o.tb", "--batch-rows", "100").stderr
        assert told.count("columns that are not named like a variable are ignored: 'Smoke' (the network has") == 1
