"""The report: which parts a page has, that hostile names stay text, and what is said where a part is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, roc_auc_score

import tunbridge as tb
from tunbridge.data.datasets import flu_malaria_fever, play_tennis
from tunbridge.errors import DataError
from tunbridge.report import page

making = import_module("tunbridge.report.report")  # the package has the function of that name

HOSTILE = ["<script>alert(1)</script>", "</script><!--", "\"'&amp;", "שלום \u200fabc", "__proto__", "x" * 200]


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and the text of each section."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.where = self.script = ""
        self.scripts: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag == "section":
            self.where = found["id"] or ""
        self.script = (found.get("id") or "script") if tag == "script" else ""

    def handle_data(self, data: str) -> None:
        if self.script:
            self.scripts[self.script] = self.scripts.get(self.script, "") + data
        else:
            self.texts[self.where] = self.texts.get(self.where, "") + data + " "

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        names = {key.rstrip("_").replace("_", "-"): value for key, value in wanted.items()}
        return [found for name, found in self.elements if name == tag and names.items() <= found.items()]

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.scripts["facts"])
        return found


@pytest.fixture(scope="module")
def fever() -> tb.DataReport:
    return tb.report(flu_malaria_fever(), "fever", progress=False)


@pytest.fixture(scope="module")
def parsed(fever: tb.DataReport) -> Parsed:
    return Parsed(fever.html)


def hostile_table(n: int = 60) -> dict[str, list[str]]:
    names = ["plain", *HOSTILE]
    return {name: [HOSTILE[(i + k) % (2 + k % 3)] for i in range(n)] for k, name in enumerate(names)}


def plain(html: str) -> str:
    return re.sub(r'<time id="made">[^<]*</time>', "", html)


# What is there


def test_a_page_has_its_sections(parsed):
    assert [s["id"] for s in parsed.all("section")] == ["data", "network", "classes", "rows", "recipe"]
    assert len(parsed.all("h1")) == 1
    assert parsed.all("html", lang="en")


def test_the_network_has_a_control_for_every_state(fever, parsed):
    net = fever.network
    expected = [(str(v), str(s)) for v, each in enumerate(net.variables) for s in range(each.n_states)]
    in_picture = [(g["data-v"], g["data-s"]) for g in parsed.all("g", role="button") if "data-s" in g]
    in_list = [(b["data-v"], b["data-s"]) for b in parsed.all("button", class_="state")]
    assert sorted(in_picture) == sorted(in_list) == sorted(expected)
    for g in parsed.all("g", role="button"):
        assert g["tabindex"] == "0"
        assert g["aria-label"]
    assert [v["name"] for v in parsed.facts["network"]["variables"]] == list(net.nodes)
    assert len(parsed.all("template")) == len(net.nodes)
    assert parsed.facts["target"] == net.nodes.index("fever")


def test_the_classifiers_have_a_table_charts_and_a_matrix(fever, parsed):
    assert fever.choice.reason in parsed.texts["classes"]
    labels = [str(svg["aria-label"]) for svg in parsed.all("svg", class_="chart")]
    assert labels[0].startswith("ROC curve: fever = yes")
    assert labels[1].startswith("Calibration: fever = yes")
    assert parsed.all("table", class_="matrix")
    costs = parsed.facts["costs"]
    assert len(costs["thresholds"]) == len(costs["recall"]) == len(costs["falseAlarms"])
    assert costs["recall"][0] == 0.0
    assert costs["recall"][-1] == 1.0


def test_costs_are_the_least_of_all_thresholds():
    """Of any cost of a miss, on a rare class; the matrix and the AUC are scikit-learn's."""
    rng = np.random.default_rng(0)
    rare = rng.random(4000) < 0.03
    rows = {"x": (rng.normal(size=4000) + 1.5 * rare).tolist(), "y": np.where(rare, "yes", "no").tolist()}
    p = tb.compare_classifiers(rows, "y", ["nb"], keep_predictions=True, random_state=0).predictions()
    at, costs = p.thresholds("yes"), making._costs(p, "y")
    assert len(costs["recall"]) < 60
    for ratio in np.geomspace(0.1, 1000, 25):
        n = costs["positives"] + costs["negatives"]
        missed, alarms = 1 - np.array(costs["recall"]), np.array(costs["falseAlarms"])
        least = (ratio * costs["positives"] * missed + costs["negatives"] * alarms).min() / n
        assert least == pytest.approx(at.cost(ratio, 1.0).min(), rel=1e-9)
    (roc,) = making._roc(p, "y")
    came = p.true == list(p.classes).index("yes")
    assert f"AUC {roc_auc_score(came, p.proba[:, list(p.classes).index('yes')]):.3f}" in roc.title


def test_the_call_has_what_was_given():
    table = tb.datasets.flu_malaria_fever()
    asia = tb.example_network("asia")
    call = making._call(None, 3, target="fever", title="T", network="network", budget=15.0, max_columns=2)
    assert call == "tunbridge.report(data, target='fever', title='T', network=network, max_columns=2, random_state=3)"
    assert "budget=2.0" in tb.report(table, "fever", budget=2.0, progress=False).html
    assert "network=network" in tb.report(asia.sample(50, random_state=0), network=asia, progress=False).html


@pytest.mark.parametrize("x", [[0.3, 0.1 + 0.2], [1e308, -1e308], [1e16, 1e16 + 2], [5.0, 5.0]])
def test_numbers_of_any_size_have_a_histogram(x):
    table = tb.as_table({"x": x * 20, "y": list("ab") * 20})
    assert len(making._fact(table.column("x"), table, {}).heights) == (24 if x[0] != x[1] else 0)
    assert "The data at a glance" in tb.report(table, progress=False).html


def test_copies_determine_each_other():
    column = list("abcde") * 10
    ((_, _, _, share),) = making._pairs(tb.as_table({"a": column, "b": column}))
    assert share == pytest.approx(1.0)


def test_everything_needed_to_make_it_again_is_there(parsed):
    told = parsed.texts["recipe"]
    for part in ("target='fever'", "random_state=0", "tunbridge 0.", "Python 3.", "NumPy", "100 rows, 3 columns"):
        assert part in told


def test_nothing_is_loaded_from_anywhere(fever, parsed):
    assert set(re.findall(r"https?://[^\"' <)]*", fever.html)) <= {"http://www.w3.org/2000/svg"}
    for _, attributes in parsed.elements:
        assert not {"src", "srcset", "action", "formaction", "ping"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")


def test_only_the_scripts_and_styles_of_the_page_may_run(fever, parsed):
    (policy,) = parsed.all("meta", http_equiv="Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy["content"]).split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in str(policy["content"])
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(f"<{element}>(.*?)</{element}>", fever.html, re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert rules[rule].split() == hashes
        assert len(hashes) == (2 if element == "script" else 1)
    assert not [name for name, attributes in parsed.elements if "style" in attributes]


def test_equal_seeds_give_equal_pages(fever):
    again = tb.report(flu_malaria_fever(), "fever", progress=False)
    assert plain(again.html) == plain(fever.html)
    assert again.html != plain(again.html)


def test_a_file_is_named_with_its_size_and_how_it_was_read(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("a;b;n\n" + "x;u;1,5\ny;v;2,25\n" * 20)
    found = Parsed(tb.report(path, output=tmp_path / "out.html", progress=False).html)
    assert "Report: visits.csv" in found.texts[""]
    assert "Delimiter: ';'" in found.texts["data"]
    assert f"visits.csv, {path.stat().st_size} bytes" in found.texts["recipe"]
    assert (tmp_path / "out.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_given_network_is_shown():
    net = tb.example_network("asia")
    found = tb.report(net.sample(50, random_state=0), network=net, progress=False)
    assert found.network is net
    assert Parsed(found.html).facts["network"]["variables"][0]["name"] == net.nodes[0]


def test_it_is_shown_in_notebooks_and_named_in_a_line(fever):
    assert repr(fever).startswith("DataReport: 0.0")
    shown = fever._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert "<!doctype" not in shown


def test_the_package_is_its_function_whatever_was_imported_before():
    code = "import tunbridge.report, tunbridge as tb; print(callable(tb.report), callable(tunbridge.report))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_progress_goes_from_0_to_1():
    steps: list[float] = []
    tb.report(play_tennis(), "play", progress=lambda _, share: steps.append(share))
    assert steps == sorted(steps)
    assert 0.0 <= steps[0] < 0.1
    assert 0.9 < steps[-1] <= 1.0


@pytest.mark.shared
def test_a_page_with_alarm_is_small(shared_data):
    rows = tb.read_network(shared_data / "networks" / "alarm.bif").sample(10_000, random_state=0)
    found = tb.report(rows, progress=False)
    assert len(found.network.nodes) == 37
    assert len(found.html.encode()) < 1_000_000


# Names


def test_hostile_names_stay_text():
    found = tb.report(hostile_table(), "plain", title="<b>&", progress=False)
    parsed = Parsed(found.html)
    assert len(parsed.all("script")) == 3
    assert not parsed.all("b")
    assert "<script>alert" not in found.html
    assert [v["name"] for v in parsed.facts["network"]["variables"]] == list(found.network.nodes)
    assert "\u200f" not in re.sub(r'<script type="application/json".*?</script>', "", found.html)


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "&lt;", '"><img src=x>'])
def test_names_cannot_end_the_element_that_holds_the_facts(text):
    table = {"a": [text, "x"] * 20, text: ["u", "v", "v", "u"] * 10}
    found = Parsed(tb.report(table, progress=False).html)
    assert text in json.dumps(found.facts["network"]["variables"], ensure_ascii=False).replace('\\"', '"')
    assert not found.all("img")


def test_attributes_are_escaped_and_may_be_left_out():
    assert page.tag("p", "x", title='"<', hidden=False, data_v=None) == '<p title="&quot;&lt;">x</p>'


# Parts that are missing


def sections(data: Any, target: str | None = None, **how: Any) -> tuple[str, str]:
    found = Parsed(tb.report(data, target, progress=False, **how).html)
    return found.texts["network"], found.texts["classes"]


def test_without_a_target_there_is_no_comparison():
    assert "No target was given" in sections(play_tennis())[1]


@pytest.mark.parametrize(
    ("data", "target", "network", "classes"),
    [
        ({"a": [None] * 9, "b": [None] * 9}, None, "No column is left from which", "No target was given"),
        ({"a": ["x"], "b": ["u"]}, "b", "two columns and two rows at least", "at least two classes"),
        ({"a": ["x", "y"] * 10}, "a", "there are 1 column and 20 rows", "a column to learn from"),
        ({"a": [None] * 20, "b": ["x", "y"] * 10}, "b", "a (has only missing values)", "least log-loss"),
        ({"a": ["x", "y"] * 10, "b": [None] * 20}, "b", "b (has only missing values)", "every cell of column 'b'"),
        ({"a": ["x", "y"] * 20, "b": np.arange(40) / 7}, "b", "Click a state", "holds numbers that are not integers"),
        ({"a": ["x", "y"] * 20, "b": ["k"] * 40, "c": ["u", "v"] * 20}, "b", "Click", "at least two classes"),
    ],
)
def test_small_and_odd_tables_have_reasons(data, target, network, classes):
    found = sections(data, target)
    assert network in found[0]
    assert classes in found[1]


def test_a_table_without_rows_is_reported():
    empty = tb.as_table({"a": ["x", "y"], "b": ["u", "v"]}).take(slice(0, 0))
    assert "2 columns and 0 rows" in sections(empty, "b")[0]


def test_columns_that_cannot_be_learned_from_are_named():
    rng = np.random.default_rng(0)
    table = {
        "id": [f"p{i}" for i in range(200)],
        "ticket": [f"t{i}" for i in rng.integers(0, 120, 200)],
        "note": [f"It was day {i} of the trial." for i in range(200)],
        "a": ["x", "y"] * 100,
        "b": ["u", "u", "v", "v"] * 50,
    }
    told = sections(tb.as_table(table))[0]
    for part in ("id (looks like an identifier)", "ticket (has ", "note ("):
        assert part in told


def test_classifiers_leave_out_identifiers_too():
    table = {"id": [f"p{i}" for i in range(60)], "x": ["u", "v", "v"] * 20, "y": ["a", "b", "b", "b", "a", "b"] * 10}
    found = tb.report(table, "y", progress=False)
    assert "id (looks like an identifier)" in Parsed(found.html).texts["classes"]
    assert "p17" not in Parsed(found.html).texts["classes"]
    assert list(found.choice.feature_names_in_) == ["x"]


def test_a_wide_table_has_a_network_of_its_most_informative_columns():
    rng = np.random.default_rng(0)
    signal = rng.integers(0, 2, 300)
    copy = np.where(rng.random(300) < 0.9, signal, 1 - signal)
    columns = {f"n{i}": rng.integers(0, 2, 300) for i in range(150)} | {"y": signal, "copy": copy}
    table = {name: np.where(values == 1, "yes", "no") for name, values in columns.items()}
    found = tb.report(table, max_columns=10, progress=False)
    assert len(found.network.nodes) == 10
    assert {"y", "copy"} <= set(found.network.nodes)
    parsed = Parsed(found.html)
    assert "10 of 152 columns" in parsed.texts["network"]
    assert "32 further columns" in parsed.texts["data"]


def test_a_network_that_is_too_large_for_a_page_is_shown_without_evidence(monkeypatch):
    monkeypatch.setattr(import_module("tunbridge.report.export"), "MOST_ENTRIES", 3)
    found = Parsed(tb.report(flu_malaria_fever(), progress=False).html)
    assert "Evidence cannot be set in this page" in found.texts["network"]
    assert "These are the probabilities without evidence, in per cent." in found.texts["network"]
    assert "8 entries; the limit is 3" in found.texts["network"]
    assert found.facts["network"] is None
    assert not [g for g in found.all("g", role="button") if "data-s" in g]
    assert not found.all("button", id="clear")


def test_a_large_table_of_probabilities_is_abridged():
    net = tb.BayesianNetwork(
        {name: [f"s{i}" for i in range(n)] for name, n in (("a", 10), ("b", 10), ("c", 2))},
        [("a", "c"), ("b", "c")],
        {"a": [0.1] * 10, "b": [0.1] * 10, "c": np.full((10, 10, 2), 0.5)},
    )
    found = tb.report(net.sample(20, random_state=0), network=net, progress=False)
    assert "… and 52 more lines" in found.html


def test_probabilities_of_the_page_are_those_of_the_network(fever):
    labels = [str(g["aria-label"]) for g in Parsed(fever.html).all("g", role="button") if "data-s" in g]
    posteriors = fever.network.posteriors({})
    for label in labels:
        name, state, share = re.fullmatch(r"(.*): (.*), (.*) %", label).groups()
        assert float(share) == pytest.approx(100 * posteriors[name][state], abs=0.051)


# The figures of the best classifier


@pytest.fixture(scope="module")
def held_out() -> Any:
    """Predictions of weighted rows with three classes, whose probabilities are too sure, and of two of them."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=1500)
    x = z + rng.normal(size=1500)
    y = np.array(["low", "middle", "high"])[np.digitize(z, [-0.3, 0.9])]
    rows = {"x": x.tolist(), "copy": (x + 0.01 * rng.normal(size=1500)).tolist(), "y": y.tolist()}
    weights = rng.integers(1, 4, 1500).astype(float)
    two = {**rows, "y": np.where(y == "high", "yes", "no").tolist()}
    how = {"keep_predictions": True, "random_state": 0, "folds": 5, "weights": weights}
    return [tb.compare_classifiers(each, "y", "nb", **how).predictions() for each in (rows, two)]


def test_calibration_is_that_of_scikit_learn(held_out):
    for p in held_out:
        k = p.code_of(None)
        binary = len(p.classes) == 2
        came = p.true == k if binary else p.true == p.predicted
        shares = p.proba[:, k] if binary else p.proba.max(axis=1)
        whole = np.repeat(np.arange(len(p)), p.weights.astype(int))  # its function takes no weights
        observed, predicted = calibration_curve(came[whole], np.clip(shares, 0, 1)[whole], n_bins=10)
        ((_, line),) = making._reliability(p, "y").curves
        np.testing.assert_allclose(line, np.transpose([predicted, observed]), rtol=1e-9)
        assert np.abs(predicted - observed).max() > 0.02  # a wrong axis would not pass


def test_the_confusion_matrix_is_that_of_scikit_learn(held_out):
    for p in held_out:
        expected = confusion_matrix(p.true, p.predicted, sample_weight=p.weights)
        names, counts = making._confusion(p)
        assert names == tuple(map(str, p.classes))
        np.testing.assert_allclose(counts, expected, rtol=1e-12)
        assert not np.allclose(expected, expected.T)


def test_the_slider_has_the_counts_of_every_threshold(held_out):
    p = held_out[1]
    costs, positive = making._costs(p, "y"), list(p.classes).index("yes")
    assert costs["code"] == positive
    for ratio, at in zip(making._RATIOS, costs["rule"], strict=True):
        called = p.proba[:, positive] >= 1.0 / (1.0 + ratio)
        (_, alarms), (_, found) = confusion_matrix(p.true == positive, called, sample_weight=p.weights)
        assert costs["recall"][at] * costs["positives"] == pytest.approx(found, rel=1e-12)
        assert costs["falseAlarms"][at] * costs["negatives"] == pytest.approx(alarms, rel=1e-12)


def test_the_figures_are_of_the_rows_of_the_table(monkeypatch):
    """Also where the time budget suffices for one fold only: the matrix has as many rows as the table says."""
    monkeypatch.setattr("tunbridge.evaluation.choice._Race._has_time", lambda race: False)
    found = tb.report(tb.example_network("asia").sample(200, random_state=0), "bronc", progress=False)
    (only,) = found.choice.comparison.baseline
    parsed = Parsed(found.html)
    assert only.n_rows == 40
    for told in (": 40 rows", "its 40 held-out rows", "sufficed for 1 fold of 5"):
        assert told in parsed.texts["classes"]
    assert parsed.facts["costs"]["positives"] + parsed.facts["costs"]["negatives"] == 40
    assert "mean over folds" not in parsed.texts["classes"]


def test_no_row_is_explained_by_a_model_that_was_trained_on_it():
    """The explained probabilities are those of the folds, which differ from those of a model of all rows."""
    rows = tb.datasets.play_tennis()
    rows = {name: rows.to_arrow()[name].to_pylist() * 3 for name in rows.names}
    rows["number"] = np.random.default_rng(0).normal(size=42).tolist()
    rows["play"][5] = None
    choice = tb.classify(tb.as_table(rows), "play", "nb", random_state=0, budget=10)
    p = choice.comparison.predictions()
    assert set(p.rows.tolist()) == set(range(42)) - {5}
    whys = list(making._whys(choice, p, tb.as_table(rows)))
    assert len(whys) > 2
    for why in whys:
        row = int(re.match(r"Row (\d+):", why.title)[1]) - 1
        (place,) = np.flatnonzero(p.rows == row)
        log_odds = why.rows[-1][2]
        mine = p.log_proba[place]
        own = choice.classifier.predict_log_proba({name: [values[row]] for name, values in rows.items()})[0]
        assert abs(log_odds) == pytest.approx(abs(mine[1] - mine[0]), abs=1e-6)
        assert abs(abs(own[1] - own[0]) - abs(log_odds)) > 1e-3


# Arcs


def test_undecided_directions_are_dashed_and_explained():
    found = tb.report(tb.example_network("asia").sample(4000, random_state=0), progress=False)
    cpdag = found.network.dag.cpdag()
    assert cpdag.edges
    parsed = Parsed(found.html)
    assert len(parsed.all("g", class_="undecided")) == cpdag.n_edges
    told = parsed.texts["network"]
    assert f"{cpdag.n_edges} of the {len(found.network.arcs)} arc" in told
    assert "Markov equivalence" in told
    assert "dashed arc: direction undecided" in told


def test_directions_of_a_given_network_are_not_questioned():
    net = tb.example_network("asia")
    found = Parsed(tb.report(net.sample(50, random_state=0), network=net, progress=False).html)
    assert not found.all("g", class_="undecided")
    assert "Markov" not in found.texts["network"]
    assert "dashed" not in found.texts["network"]


def test_directions_that_are_decided_are_not_dashed():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 3000))
    c = np.where(rng.random(3000) < 0.9, a | b, 1 - (a | b))
    table = {name: np.where(values == 1, "yes", "no") for name, values in (("a", a), ("b", b), ("c", c))}
    found = tb.report(table, progress=False)
    assert set(found.network.arcs) == {("a", "c"), ("b", "c")}
    parsed = Parsed(found.html)
    assert not parsed.all("g", class_="undecided")
    assert "Markov" not in parsed.texts["network"]


# Overviews


def chain_of(n: int) -> tb.BayesianNetwork:
    names = [f"node {i}" for i in range(n)]
    tables = {"node 0": [0.5, 0.5]} | {name: [[0.9, 0.1], [0.2, 0.8]] for name in names[1:]}
    return tb.BayesianNetwork({name: ["yes", "no"] for name in names}, list(pairwise(names)), tables)


@pytest.fixture(scope="module")
def overview() -> str:
    net = chain_of(120)
    return tb.report(net.sample(20, random_state=0), network=net, progress=False).html


def test_an_overview_has_a_search_and_clickable_nodes(overview):
    parsed = Parsed(overview)
    assert "The network has 120 variables: this is an overview." in parsed.texts["network"]
    assert parsed.all("input", id="search")
    assert parsed.all("svg", id="picture", role="img")
    assert {path["stroke-width"] for path in parsed.all("path", class_="line")} == {"1.30"}
    assert "wider arc" not in parsed.texts["network"]
    assert len([g for g in parsed.all("g") if "data-t" in g]) == 120
    assert not [g for g in parsed.all("g") if "data-s" in g]
    assert len(parsed.all("button", class_="state")) == 240
    assert not [name for name, attributes in parsed.elements if "style" in attributes]


def test_an_overview_that_is_too_large_has_no_controls_of_evidence(monkeypatch):
    monkeypatch.setattr(import_module("tunbridge.report.export"), "MOST_ENTRIES", 3)
    net = chain_of(120)
    parsed = Parsed(tb.report(net.sample(20, random_state=0), network=net, progress=False).html)
    told = parsed.texts["network"]
    assert "Evidence cannot be set in this page, because" in told
    assert "sets it as evidence" not in told
    assert "orange frame" not in told
    assert parsed.all("input", id="search")
    for name in ("clear", "about", "status"):
        assert not [attributes for _, attributes in parsed.elements if attributes.get("id") == name]
    assert not [attributes for _, attributes in parsed.elements if "data-s" in attributes]


# Rows


def test_far_values_and_repeated_rows_are_named():
    rng = np.random.default_rng(0)
    values = rng.normal(40.0, 5.0, 100)
    values[17] = 4000.0
    table = {"age": values.tolist() + values[:1].tolist(), "b": ["x", "y"] * 50 + ["x"]}
    told = Parsed(tb.report(table, progress=False).html).texts["rows"]
    assert "Row 18: age = 4000" in told
    assert "1 row (0.99 %) equals an earlier one" in told


def test_worst_mistakes_are_counted_in_rows_of_the_data():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 200)
    labels = np.where(x == 1, "yes", "no").tolist()
    labels[:20] = [None] * 20
    labels[150] = "no" if x[150] else "yes"
    table = {"x": np.where(x == 1, "p", "q"), "z": ["u", "v", "w", "v"] * 50, "y": labels}
    told = Parsed(tb.report(table, "y", progress=False).html)
    assert "Row 151:" in told.texts["rows"]
    assert "Row 151:" in told.texts["classes"]


# Errors


def test_a_target_that_is_not_there_is_an_error():
    with pytest.raises(DataError, match=r"target must name a column of the data; got 'plai'. Did you mean 'play'\?"):
        tb.report(play_tennis(), "plai")


def test_the_output_is_an_html_file(tmp_path):
    with pytest.raises(DataError, match=r"a report must go to a file that ends in '\.html'; got 'x\.pdf'\."):
        tb.report(play_tennis(), output=tmp_path / "x.pdf")


def test_a_network_has_two_columns_at_least():
    with pytest.raises(DataError, match="max_columns must be"):
        tb.report(play_tennis(), max_columns=1)
