"""``query``: what is asked of a network, how findings are written, and what is told when they are wrong."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import tunbridge as tb
from tunbridge.cli.networks import Findings, finding_text, read_findings
from tunbridge.cli.usage import in_options
from tunbridge.errors import DataError


@pytest.fixture
def odd() -> tb.BayesianNetwork:
    """Return a network whose names and states hold all the marks that findings are written with."""
    return tb.BayesianNetwork(
        {
            "A": ["x", "y", "x|y", "x:1,y:0", "b=c"],
            "A=b": ["c", "d"],
            "a|b, c": ["=", "|", ",", ":", "1:2"],
            "flag": [True, False],
            "n": [1, 2, 3],
        },
        [],
        {"A": [0.2] * 5, "A=b": [0.5] * 2, "a|b, c": [0.2] * 5, "flag": [0.5] * 2, "n": [0.2, 0.3, 0.5]},
    )


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


# Answers


def test_a_posterior(run, asia, net):
    expected = net.posterior("lung", {"dysp": "yes", "xray": "yes"})
    told = run("network", "query", asia, "--target", "lung", "--given", "dysp=yes", "--given", "xray=yes").stdout
    head, *lines = rows_of(told)
    assert head == ["lung", "probability"]
    assert {state: float(p) for state, p in lines} == pytest.approx(dict(expected), rel=1e-5)


def test_several_targets_have_a_table_each(run, asia, net):
    told = run("network", "query", asia, "-t", "lung", "-t", "bronc", "--given", "dysp=yes").stdout
    first, second = told.split("\n\n")
    assert first.startswith("lung")
    assert second.startswith("bronc")
    assert float(rows_of(second)[1][1]) == pytest.approx(net.posterior("bronc", {"dysp": "yes"})["yes"], rel=1e-5)


def test_the_joint_distribution(run, asia, net):
    expected = net.posterior(["lung", "bronc"], {"dysp": "yes"})
    told = run("network", "query", asia, "-t", "lung", "-t", "bronc", "--joint", "--given", "dysp=yes", "--json").stdout
    found = {(d["states"]["lung"], d["states"]["bronc"]): d["probability"] for d in json.loads(told)["joint"]}
    assert found == pytest.approx(dict(expected), rel=1e-12)
    lines = rows_of(run("network", "query", asia, "-t", "lung", "-t", "bronc", "--joint", "--given", "dysp=yes").stdout)
    assert [tuple(line[:2]) for line in lines[1:]] == list(expected)


def test_the_most_probable_states_of_a_target(run, asia, net):
    told = run(
        "network", "query", asia, "-t", "lung", "-t", "bronc", "--joint", "--top", "2", "--given", "dysp=yes"
    ).stdout
    best = net.posterior(["lung", "bronc"], {"dysp": "yes"}).top(2)
    assert [tuple(line[:2]) for line in rows_of(told)[1:]] == [states for states, _ in best]


def test_without_a_target_all_variables_are_shown(run, asia, net):
    expected = net.posteriors({"dysp": "yes"})
    lines = rows_of(run("network", "query", asia, "--given", "dysp=yes").stdout)[1:]
    assert [(name, state) for name, state, _ in lines] == [(name, d.mode) for name, d in expected.items()]
    data = json.loads(run("network", "query", asia, "--given", "dysp=yes", "--json").stdout)["posteriors"]
    assert list(data) == list(net.nodes)
    assert data["tub"] == pytest.approx(dict(expected["tub"]), rel=1e-12)


def test_the_most_probable_explanation(run, asia, net):
    whole = json.loads(run("network", "query", asia, "--most-probable", "--given", "dysp=yes", "--json").stdout)
    assert whole["most_probable"] == dict(net.most_probable({"dysp": "yes"}))
    some = run("network", "query", asia, "--most-probable", "--given", "dysp=yes", "-t", "lung", "-t", "smoke").stdout
    expected = net.most_probable({"dysp": "yes"}, of=["lung", "smoke"])
    assert [tuple(line) for line in rows_of(some)[1:3]] == list(expected.items())
    assert f"probability {expected.probability:.6g}." in some


def test_an_explanation(run, asia, net):
    evidence = {"dysp": "yes", "smoke": "no"}
    words = ["query", asia, "-t", "lung", "-t", "tub", "--given", "dysp=yes", "--given", "smoke=no", "--explain"]
    told = run(*words).stdout
    expected = net.explain("lung", evidence)
    assert told.startswith(f"P(lung = no) = {expected.posterior['no']:.6g}; without evidence 0.945")
    assert "P(tub = no)" in told
    found = json.loads(run(*words, "--json").stdout)["explanations"][0]
    assert [f["variable"] for f in found["findings"]] == [f.name for f in expected.findings]
    assert [f["weight"] for f in found["findings"]] == pytest.approx([f.weight for f in expected.findings], rel=1e-9)


def test_an_explanation_of_a_state(run, asia, net):
    words = ("query", asia, "-t", "lung", "--given", "dysp=yes", "--given", "xray=no", "--explain")
    assert net.explain("lung", {"dysp": "yes", "xray": "no"}).state == "no"
    told = run(*words, "--state", "yes").stdout
    expected = net.explain("lung", {"dysp": "yes", "xray": "no"}, state="yes")
    assert told.startswith("P(lung = yes) = ")
    assert f"{expected.findings[0].weight:+.2f}" in told
    assert json.loads(run(*words, "--state", "yes", "--json").stdout)["explanations"][0]["state"] == "yes"


def test_states_of_other_types_are_explained(run, odd, tmp_path: Path):
    odd.write(tmp_path / "odd.tb")
    told = run("network", "query", "odd.tb", "-t", "n", "--given", "flag=True", "--explain", "--state", "1").stdout
    assert told.startswith("P(n = 1) = 0.2;")


def test_infinite_weights_are_shown(run, asia):
    words = ["query", asia, "-t", "either", "--given", "lung=yes", "--explain"]
    assert "+∞" in run(*words).stdout
    assert json.loads(run(*words, "--json").stdout)["explanations"][0]["findings"][0]["weight"] == "Infinity"


def test_the_probability_of_findings(run, asia, net):
    data = json.loads(run("network", "query", asia, "--given", "dysp=yes", "--probability", "--json").stdout)
    assert data["probability"] == pytest.approx(net.probability({"dysp": "yes"}), rel=1e-12)
    assert math.exp(data["log_probability"]) == pytest.approx(data["probability"], rel=1e-12)
    told = run("network", "query", asia, "--given", "either=no", "--given", "lung=yes", "--probability").stdout
    assert told.split() == ["probability", "0", "logarithm", "-∞"]


def test_a_probability_too_small_for_a_number(run, tmp_path: Path):
    names = [f"x{i}" for i in range(200)]
    net = tb.BayesianNetwork(dict.fromkeys(names, ("a", "b")), [], {name: [0.001, 0.999] for name in names})
    net.write(tmp_path / "long.bif")
    given = [word for name in names for word in ("--given", f"{name}=a")]
    told = run("network", "query", "long.bif", "--probability", *given).stdout
    assert "too small for a number" in told
    assert f"{200 * math.log(0.001):.6g}" in told


def test_interventions(run, asia, net):
    data = json.loads(run("network", "query", asia, "-t", "smoke", "--do", "lung=yes", "--json").stdout)
    assert data["posteriors"]["smoke"] == pytest.approx(dict(net.do({"lung": "yes"}).posterior("smoke")), rel=1e-12)
    data = json.loads(run("network", "query", asia, "-t", "xray", "--do", "either=yes:0.3,no:0.7", "--json").stdout)
    expected = net.do({"either": {"yes": 0.3, "no": 0.7}}).posterior("xray")
    assert data["posteriors"]["xray"] == pytest.approx(dict(expected), rel=1e-12)


@pytest.mark.parametrize("method", ["likelihood-weighting", "gibbs", "forward"])
def test_sampled_answers_have_errors_and_a_seed(run, tmp_path: Path, method):
    net = tb.example_network("sprinkler")
    net.write(tmp_path / "lawn.bif")
    words = ["query", "lawn.bif", "-t", "Cloudy", "--given", "WetGrass=yes", "--method", method, "--precision", "0.01"]
    told = run(*words, "--json").stdout
    data = json.loads(told)
    error = data["standard_errors"]["Cloudy"]["yes"]
    assert 0.0 < error <= 0.01
    exact = net.posterior("Cloudy", {"WetGrass": "yes"})["yes"]
    assert abs(data["posteriors"]["Cloudy"]["yes"] - exact) < 5.0 * error
    assert abs(exact - net.posterior("Cloudy")["yes"]) > 0.06  # so that findings that are ignored would be noticed
    assert run(*words, "--json").stdout == told
    assert run(*words, "--json", "--seed", "1").stdout != told
    assert "± 0.0" in run(*words).stdout


def test_a_precision_that_is_not_reached(run, asia):
    words = ["query", asia, "-t", "bronc", "--method", "likelihood-weighting", "--precision", "1e-9"]
    result = run(*words, "--max-samples", "1000")
    assert result.stderr.startswith("warning: the precision of 1e-09 was not reached")
    assert "Raise --max-samples" in result.stderr


def test_credible_intervals(run, tmp_path: Path):
    coin = tb.Variable("Coin", ["heads", "tails"])
    net = tb.BayesianNetwork.from_tables([tb.CPT(coin, [], [0.3, 0.7], counts=[3.0, 7.0])])
    net.write(tmp_path / "coin.tb")
    data = json.loads(run("network", "query", "coin.tb", "-t", "Coin", "--interval", "0.9", "--json").stdout)
    low, high = data["interval"]["Coin"]["heads"]
    assert 0.05 < low < 0.3 < high < 0.6
    assert rows_of(run("network", "query", "coin.tb", "-t", "Coin", "--interval", "0.9").stdout)[0][2:] == [
        "from",
        "to",
    ]
    net.write(tmp_path / "coin.bif")
    assert "a .tb file keeps" in run("network", "query", "coin.bif", "-t", "Coin", "--interval", "0.9", code=1).stderr


def test_a_forecast_runs_nothing(run, asia, net, monkeypatch):
    monkeypatch.setattr("tunbridge.inference.engine.Engine.run", None)
    data = json.loads(run("network", "query", asia, "--forecast", "--json").stdout)
    assert data["fits"] is True
    assert data["entries"] == pytest.approx(net.forecast().n_entries)
    assert len(data["largest_clique"]) == 3
    told = run("network", "query", asia, "--forecast", "-t", "asia", "-t", "tub", "--joint").stdout
    assert "it fits" in told
    assert "asia, tub" in told


def test_what_does_not_fit_is_told_with_the_way_out(run, tmp_path: Path, monkeypatch):
    names = [f"x{i}" for i in range(14)]
    child = tb.Variable("y", ["a", "b"])
    parents = [tb.Variable(name, ["a", "b", "c"]) for name in names]
    effect = [[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]
    cpts = [tb.CPT(p, [], [0.2, 0.3, 0.5]) for p in parents]
    net = tb.BayesianNetwork.from_tables([*cpts, tb.NoisyMaxCPT(child, parents, [effect] * 14, [0.9, 0.1])])
    net.write(tmp_path / "wide.tb")
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "5000000")
    words = ["query", "wide.tb", "--joint", *[word for name in names for word in ("-t", name)]]
    assert "Ask for fewer variables at once." in run(*words, "--given", "y=a", code=1).stderr
    assert "it does not fit" in run(*words, "--given", "y=a", "--forecast").stdout


def test_what_is_too_large_for_exact_answers_is_told_in_options(run, tmp_path: Path, monkeypatch):
    roots = [tb.Variable(f"x{i}", ["a", "b", "c"]) for i in range(14)]
    rows = [[0.1 + 0.08 * k, 0.9 - 0.08 * k] for k in range(9)]
    pairs = [(tb.Variable(f"{p.name}{q.name}", ["no", "yes"]), [p, q]) for p, q in itertools.combinations(roots, 2)]
    cpts = [tb.CPT(p, [], [0.2, 0.3, 0.5]) for p in roots] + [tb.CPT(v, parents, rows) for v, parents in pairs]
    tb.BayesianNetwork.from_tables(cpts).write(tmp_path / "dense.tb")
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "5000000")
    given = [word for v, _ in pairs for word in ("--given", f"{v.name}=yes")]
    told = run("network", "query", "dense.tb", "-t", "x0", *given, code=1).stderr
    assert "ask for one variable approximately, with --method likelihood-weighting." in told
    told = run("network", "query", "dense.tb", "-t", "x0", *given, "--forecast").stdout
    assert "it does not fit: observe more, or use --method likelihood-weighting" in told


def test_a_forecast_without_a_number(run, asia, monkeypatch):
    forecast = dataclasses.replace(tb.example_network("asia").forecast(), n_entries=math.inf, n_bytes=math.inf)
    monkeypatch.setattr("tunbridge.BayesianNetwork.forecast", lambda *_: forecast)
    told = run("network", "query", asia, "--forecast").stdout
    assert "too many entries to count in" in told
    assert "inf " not in told


def test_python_is_told_as_options():
    names = {"of": "--target", "method": "--method", "target": "--target"}
    some = "Ask for some of the variables with of=[…], or observe more."
    assert in_options(some, names) == "Ask for some of the variables with --target, or observe more."
    one = "ask for one variable approximately, with method='likelihood-weighting'."
    assert in_options(one, names) == "ask for one variable approximately, with --method likelihood-weighting."
    assert in_options("target must name at most 60 variables", names) == "--target must name at most 60 variables"


def test_all_formats_are_asked_alike(run, asia, tmp_path: Path):
    told = run("network", "query", asia, "-t", "lung", "--given", "dysp=yes").stdout
    for name in ("asia.xmlbif", "asia.net", "asia.dsc", "asia.tb", "asia.bif.gz"):
        run("network", "convert", asia, name)
        assert run("network", "query", name, "-t", "lung", "--given", "dysp=yes").stdout == told
    (tmp_path / "asia.txt").write_bytes(asia.read_bytes())
    assert run("network", "query", "asia.txt", "--format", "bif", "-t", "lung", "--given", "dysp=yes").stdout == told


def test_a_query_does_without_scikit_learn(asia):
    code = (
        "import sys\nfrom tunbridge.cli.app import app as main\n"
        f"sys.argv = ['tunbridge', 'network', 'query', {str(asia)!r}, '-t', 'lung', '--given', 'dysp=yes']\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    print(end.code, [m for m in ('sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


# Findings


@pytest.mark.parametrize(
    ("text", "name", "finding"),
    [
        ("A=x", "A", "x"),
        ("A=x|y", "A", "x|y"),
        ("A=x|b=c", "A", ["x", "b=c"]),
        ("A=y|x|y", "A", ["y", "x|y"]),
        ("A= y", "A", "y"),
        ("A=x:1,y:0", "A", "x:1,y:0"),
        ("A=x:0.5,y:1,x|y:0,x:1,y:0:2,b=c:0", "A", {"x": 0.5, "y": 1.0, "x|y": 0.0, "x:1,y:0": 2.0, "b=c": 0.0}),
        ("A=b=c", "A=b", "c"),
        ("A=b=c|d", "A=b", ["c", "d"]),
        ("a|b, c==", "a|b, c", "="),
        ("a|b, c=|", "a|b, c", "|"),
        ("a|b, c=|||", "a|b, c", ["|", "|"]),
        ("a|b, c=1:2", "a|b, c", "1:2"),
        ("a|b, c==:1,|:0,,:2,::3,1:2:4", "a|b, c", {"=": 1.0, "|": 0.0, ",": 2.0, ":": 3.0, "1:2": 4.0}),
        ("flag=true", "flag", True),
        ("flag=True|false", "flag", [True, False]),
        ("n=2", "n", 2),
        ("n=1:0.5,2:0.5,3:1", "n", {1: 0.5, 2: 0.5, 3: 1.0}),
    ],
)
def test_findings_are_read(odd, text, name, finding):
    found = read_findings(odd, [text])
    assert found == {name: finding}
    assert odd.posterior("n", found).mode is not None


def test_findings_are_written_as_they_are_read(odd):
    for text in ("A=y|b=c", "n=1:0.5,2:0.5,3:1", "flag=True"):
        ((name, finding),) = read_findings(odd, [text]).items()
        assert f"{name}={finding_text(finding)}" == text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("dysq=yes", "--given must name a variable of the network; got 'dysq'. Did you mean 'dysp'?"),
        ("dysp=yess", "--given must give a state of 'dysp'; got 'yess'. Did you mean 'yes'?"),
        ("dysp=maybe", "--given must give a state of 'dysp'; got 'maybe'. Known: 'yes', 'no'."),
        ("dysp=yes|mabye", "--given must give a state of 'dysp'; got 'mabye'."),
        ("dysp=yes:0.5,np:0.5", "--given must give a state of 'dysp'; got 'np'. Known: 'yes', 'no'."),
        ("dysp=yes:0.5,no:x", "--given must give likelihoods as in dysp=x:0.8,y:0.2; got 'yes:0.5,no:x'."),
        ("dysp=yes:0.5,yes:0.5", "--given must give likelihoods as in"),
        ("dysp=yes:0.5", "the likelihoods of 'dysp' must name all of its states; 'no' is missing."),
        ("dysp=yes:0,no:0", "--given must leave a state of 'dysp' possible"),
        (
            "dysp=yes,xray=no",
            "--given must be evidence about one variable; got 'dysp=yes,xray=no'. Repeat --given for 'xray'.",
        ),
        ("dysp=", "--given must give a state of 'dysp'; got ''. Known: 'yes', 'no'."),
    ],
)
def test_wrong_findings(run, asia, given, told):
    assert f"tunbridge: {told}" in run("network", "query", asia, "-t", "lung", "--given", given, code=1).stderr


def test_settings_are_one_state(odd):
    assert Findings(do=["A=x|y"]).applied(odd)[0].posterior("A")["x|y"] == 1.0
    with pytest.raises(DataError, match=r"--do must set 'n' to one state; got '1\|2'\. A distribution is written n=x"):
        Findings(do=["n=1|2"]).applied(odd)


# Mistakes


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--given", "dysp"], "--given must be NAME=STATE; got 'dysp'. Write dysp=yes, for example."),
        (["--given", "dys"], "--given must be NAME=STATE; got 'dys'. Did you mean 'dysp'?"),
        (["--joint", "-t", "lung"], "--joint must come with several --target; got 1."),
        (["--explain", "-t", "lung"], "--explain must come with a --target and with evidence"),
        (["--explain", "--given", "dysp=yes"], "--explain must come with a --target and with evidence"),
        (["--state", "yes", "-t", "lung"], "--state must come with --explain and a single --target."),
        (
            ["--explain", "--state", "yes", "-t", "lung", "-t", "tub", "--given", "dysp=yes"],
            "--state must come with --explain and a single --target.",
        ),
        (["--probability"], "--probability must come with evidence"),
        (["--forecast", "--explain"], "a query must ask for one thing; got --explain and --forecast."),
        (["--joint", "--most-probable"], "a query must ask for one thing; got --joint and --most-probable."),
        (["--top", "2"], "--top must come with --target"),
        (["--precision", "0.1", "-t", "lung"], "--precision must come with a --method of sampling"),
        (["--max-samples", "10", "-t", "lung"], "--max-samples must come with a --method of sampling"),
        (["--seed", "1", "-t", "lung"], "--seed must come with a --method of sampling, or with --interval."),
        (["--method", "gibbs"], "--method gibbs must come with --target"),
        (["--method", "gibbs", "-t", "lung", "--interval", "0.9"], "--interval must come with exact answers"),
        (["--interval", "0.9", "--joint", "-t", "lung", "-t", "tub"], "--interval must come with --target"),
        (["--method", "gibs"], "--method must be one of"),
    ],
)
def test_wrong_usage(run, asia, words, told):
    assert told in run("network", "query", asia, *words, code=2).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-t", "lnug"], "--target must name a variable of asia.bif; got 'lnug'. Did you mean 'lung'?"),
        (["-t", "lung", "-t", "lung"], "--target must name a variable once; got 'lung' twice."),
        (["--given", "dysp=yes", "--given", "dysp=no"], "--given must name a variable once; got 'dysp' twice."),
        (["--do", "dysp=yes", "--do", "dysp=no"], "--do must name a variable once; got 'dysp' twice."),
        (["--do", "dyspp=yes"], "--do must name a variable of the network; got 'dyspp'. Did you mean 'dysp'?"),
        (["--given", "either=no", "--given", "lung=yes"], "either='no' and lung='yes' have probability zero together."),
        (["-t", "lung", "--method", "gibbs", "--precision", "0"], "--precision must be greater than 0; got 0.0."),
        (
            ["-t", "lung", "--given", "dysp=yes", "--explain", "--state", "yess"],
            "--state must be a state of 'lung'; got 'yess'. Did you mean 'yes'?",
        ),
        (["-t", "lung", "--interval", "2"], "--interval must be at most 1; got 2.0."),
    ],
)
def test_wrong_questions(run, asia, words, told):
    assert told in run("network", "query", asia, *words, code=1).stderr


def test_a_table_is_no_network(run, tennis):
    for verb in (["query"], ["sample", "-n", "5"]):
        told = run(*verb, tennis, code=1).stderr
        assert "'tennis.csv' looks like a table. For tables there are tunbridge learn, evaluate" in told


@pytest.mark.parametrize("words", [[], ["--target", "lung"]])
def test_a_network_is_not_evaluated_alone(run, asia, words):
    told = run("evaluate", asia, *words, code=2).stderr
    assert "must be a classifier or a table; 'asia.bif' is a network. Query it with tunbridge network query." in told


def test_a_network_is_explained_by_query(run, asia):
    told = run("explain", asia, "--target", "lung", code=2).stderr
    assert "For a network use tunbridge network query --target NAME --explain." in told


def test_wrong_files(run, asia, model, tmp_path: Path):
    assert "Did you mean 'asia.bif'?" in run("network", "query", "asai.bif", code=1).stderr
    assert "Did you mean 'asia.bif'?" in run("network", "query", "asia.bfi", code=1).stderr
    assert "There is no folder 'nowhere'" in run("network", "query", "nowhere/asia.bif", code=1).stderr
    assert "tunbridge predict and explain" in run("network", "query", model, code=1).stderr
    (tmp_path / "asia.txt").write_bytes(asia.read_bytes())
    assert "as in --format bif" in run("network", "query", "asia.txt", code=1).stderr
    assert "--format must be one of" in run("network", "query", "asia.txt", "--format", "bfi", code=1).stderr
    (tmp_path / "broken.bif").write_text("network x { }\nvariable a { type discrete [ 2 ] { x, y } }\n")
    assert "line 2, column" in run("network", "query", "broken.bif", code=1).stderr


def test_evidence_is_read_as_the_table_was(run, tmp_path):
    lines = [f"{1 + i % 28:02d}.0{1 + i % 9}.2025;{i % 40},5;{'no' if i % 40 < 20 else 'yes'}" for i in range(200)]
    (tmp_path / "d.csv").write_text("\n".join(["seen;dose;ill", *lines]) + "\n")
    run("network", "learn", "d.csv", "--cuts", "frequency", "-o", "n.tb")
    texts = [run("network", "query", "n.tb", "--target", "ill", "--given", f"dose={x}").stdout for x in ("3,5", "3.5")]
    assert texts[0] == texts[1]
    shown = run("network", "query", "n.tb", "--target", "seen", "--given", "seen=03.04.2025").stdout
    assert shown == run("network", "query", "n.tb", "--target", "seen", "--given", "seen=2025-04-03").stdout
    assert "≤ 2025-0" in shown
    told = run("network", "query", "n.tb", "--target", "ill", "--given", "seen=soon", code=1).stderr
    assert "A date such as 2025-12-24 will do too." in told
    run("network", "learn", "d.csv", "--cuts", "frequency", "-o", "n.bif")
    told = run("network", "query", "n.bif", "--target", "ill", "--given", "dose=3,5", code=1).stderr
    assert "got '3,5'. Write 3.5, with a decimal point." in told
    run("network", "learn", "d.csv", "--cuts", "none", "-o", "g.tb")
    assert " days" in run("network", "query", "g.tb", "--target", "seen").stdout
    told = run("network", "query", "g.tb", "--target", "ill", "--given", "dose=x", code=1).stderr
    assert "must give a number such as 12.5 for 'dose'" in told
