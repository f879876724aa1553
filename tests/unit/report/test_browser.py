"""The report in a real browser, opened from disk: clicks and keys set evidence, and the posteriors are exact."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import tunbridge as tb
from networks import random_network, random_rows
from tunbridge.probability import CPT

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

ODD_NAMES = ["<script>alert(1)</script>", "\"quoted\" & 'so'", "שלום \u200fabc", "x" * 200, "__proto__"]
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # Tests run as root in containers, where Chromium's own sandbox cannot start; the pages are ours.
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens HTML from disk; in the end, fail for messages of the console and for requests."""
    told: list[str] = []
    pages = []

    def opened(html: str, *, is_checked: bool = True, **how: Any) -> Any:
        file = tmp_path / f"page{len(pages)}.html"
        file.write_text(html, encoding="utf-8")
        page = browser.new_page(**how)
        page.on("console", lambda message: told.append(message.text) if is_checked else None)
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: told.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert told == []


@pytest.fixture(scope="module")
def net() -> tb.BayesianNetwork:
    return tb.example_network("asia")


@pytest.fixture(scope="module")
def html(net: tb.BayesianNetwork) -> str:
    return tb.report(net.sample(400, random_state=0), "bronc", network=net, progress=False).html


@pytest.fixture(scope="module")
def long_chain() -> tuple[tb.BayesianNetwork, str]:
    """Return a network of 120 nodes and its report, which is an overview."""
    pairs = [(f"node {i}", f"node {i + 1}") for i in range(119)]
    tables = {"node 0": [0.5, 0.5]} | {child: [[0.9, 0.1], [0.2, 0.8]] for _, child in pairs}
    net = tb.BayesianNetwork({name: ["yes", "no"] for name in tables}, pairs, tables)
    return net, tb.report(net.sample(20, random_state=0), "node 7", network=net, progress=False).html


def state(net: tb.BayesianNetwork, name: str, label: str) -> str:
    """Return the selector of a state's control."""
    variable = net.variable(name)
    return f'[data-v="{net.nodes.index(name)}"][data-s="{[*map(str, variable.states)].index(label)}"]'


def assert_shown(page: Any, net: tb.BayesianNetwork, evidence: dict[str, str]) -> None:
    """Compare the posteriors of the page with those of the package: the numbers to 1e-9, and the shown digits."""
    expected = net.posteriors(evidence)
    found = json.loads(page.evaluate("() => JSON.stringify(window.tunbridge.posteriors())"))
    shown = page.evaluate(
        "() => [...document.querySelectorAll('[data-s]')].map(e => [e.dataset.v, e.dataset.s, "
        "e.querySelector('.number').textContent, e.getAttribute('aria-pressed'), e.getAttribute('aria-label')])"
    )
    for v in net.variables:
        for s, p in zip(v.states, expected[v.name].probabilities, strict=True):
            assert found[v.name][str(s)] == pytest.approx(p, rel=1e-9, abs=1e-12)
    for number, code, text, pressed, label in shown:
        v = net.variables[int(number)]
        p = expected[v.name].probabilities[int(code)]
        assert float(text.lstrip("<>")) == pytest.approx(100 * p, abs=0.1000001)
        assert text in label
        assert (pressed == "true") == (evidence.get(v.name) == v.states[int(code)])


def test_clicks_set_and_clear_evidence(open_page, net, html):
    page = open_page(html)
    assert_shown(page, net, {})
    page.click(f"#picture {state(net, 'xray', 'yes')}")
    assert_shown(page, net, {"xray": "yes"})
    page.click(f"#picture {state(net, 'smoke', 'no')}")
    assert_shown(page, net, {"xray": "yes", "smoke": "no"})
    assert "xray = yes, smoke = no" in page.text_content("#status")
    page.click(f"#picture {state(net, 'xray', 'no')}")
    assert_shown(page, net, {"xray": "no", "smoke": "no"})
    page.click(f"#picture {state(net, 'xray', 'no')}")
    assert_shown(page, net, {"smoke": "no"})
    page.click("#clear")
    assert_shown(page, net, {})
    assert page.is_disabled("#clear")


def test_many_random_clicks_give_exact_posteriors(open_page):
    rng = random.Random(3)
    for seed in range(2):
        tables = random_network(np.random.default_rng(2), zeros=0.1)
        net = tb.BayesianNetwork.from_tables(tables) if seed else tb.example_network("asia")
        page = open_page(tb.report(net.sample(20, random_state=0), network=net, progress=False).html)
        evidence: dict[str, str] = {}
        for _ in range(60):
            v = rng.choice(net.variables)
            label = rng.choice(v.states)
            before = dict(evidence)
            if evidence.get(v.name) == label:
                del evidence[v.name]
            else:
                evidence[v.name] = label
            page.evaluate(f"document.querySelector('#picture {state(net, v.name, str(label))}')"
                          ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")  # fmt: skip
            if net.log_probability(evidence) == -float("inf"):
                assert page.evaluate("window.tunbridge.posteriors()") is None
                page.evaluate("window.tunbridge.clearEvidence()")
                for name, given in before.items():
                    page.evaluate("([n, s]) => window.tunbridge.setEvidence(n, s)", [name, str(given)])
                evidence = before
            else:
                assert_shown(page, net, evidence)


CLICKS = """([seed, n]) => {
  const controls = [...document.querySelectorAll("[data-s]")];
  const found = [];
  const click = () => {
    seed = (seed * 48271) % 2147483647;
    controls[seed % controls.length].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  };
  for (let i = 0; i < n; i++) {
    click();
    if (window.tunbridge.posteriors() === null || i % 12 === 11) window.tunbridge.clearEvidence();
    if (i % 20 !== 19) continue;
    const pressed = controls.filter((e) => e.getAttribute("aria-pressed") === "true");
    const given = pressed.map((e) => [e.dataset.v, e.dataset.s]);
    found.push([given, window.tunbridge.posteriors()]);
  }
  return JSON.stringify(found);
}"""


@pytest.mark.shared
@pytest.mark.parametrize("name", ["asia", "child", "alarm", "insurance", "hailfinder", "win95pts"])
def test_a_thousand_clicks_on_a_repository_network(open_page, shared_data, name):
    net = tb.read_network(shared_data / "networks" / f"{name}.bif")
    page = open_page(tb.report(net.sample(30, random_state=0), network=net, progress=False).html)
    for given, found in json.loads(page.evaluate(CLICKS, [7, 1000])):
        evidence = {net.nodes[int(v)]: net.variables[int(v)].states[int(s)] for v, s in given}
        for each, expected in net.posteriors(evidence).items():
            numbers = [found[each][str(s)] for s in net.variable(each).states]
            np.testing.assert_allclose(numbers, expected.probabilities, rtol=1e-9, atol=1e-15)


def test_impossible_evidence_names_the_findings_that_contradict_each_other(open_page, net, html):
    page = open_page(html)
    for name, label in (("lung", "yes"), ("smoke", "no"), ("either", "no")):
        page.click(f"#picture {state(net, name, label)}")
    told = page.text_content("#status")
    assert "The evidence has probability 0: lung = yes, either = no are impossible together." in told
    assert "smoke" not in told.partition(":")[2]
    assert page.evaluate("window.tunbridge.posteriors()") is None
    page.click(f"#picture {state(net, 'either', 'no')}")
    assert_shown(page, net, {"lung": "yes", "smoke": "no"})


def test_the_keyboard_suffices(open_page, net, html):
    page = open_page(html)
    page.focus("#fit")
    for _ in range(3):  # the picture, the name of the first node, its first state
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first = net.variables[0]
    assert_shown(page, net, {first.name: first.states[0]})
    page.keyboard.press(" ")
    assert_shown(page, net, {})
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert page.is_visible("#dialog")
    assert page.text_content("#detail-name") == first.name
    page.keyboard.press("Escape")
    assert not page.is_visible("#dialog")
    page.focus("#list summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    assert_shown(page, net, {first.name: first.states[0]})


def test_a_name_opens_its_table_with_controls_of_its_states(open_page, net, html):
    page = open_page(html)
    page.click(f'#picture [data-t="{net.nodes.index("dysp")}"]')
    assert page.locator("#dialog tbody tr").count() == 4
    page.click(f"#dialog {state(net, 'dysp', 'yes')}")
    assert_shown(page, net, {"dysp": "yes"})
    page.click("#close")
    page.wait_for_selector("#dialog [data-s]", state="detached")
    assert_shown(page, net, {"dysp": "yes"})


def test_what_would_tell_most_follows_the_evidence(open_page, net, html):
    page = open_page(html)
    page.wait_for_selector("#tells li")
    assert page.eval_on_selector("#about", "e => e.selectedOptions[0].text") == "bronc"
    page.select_option("#about", label="lung")
    page.click(f"#picture {state(net, 'either', 'yes')}")
    page.locator("#tells .label", has_text="either").wait_for(state="detached")
    names = page.eval_on_selector_all("#tells .label", "all => all.map(e => e.textContent)")
    bits = [float(x) for x in page.eval_on_selector_all("#tells .number", "all => all.map(e => e.textContent)")]
    assert bits == sorted(bits, reverse=True)
    joint = net.posterior(["lung", names[0]], {"either": "yes"}).probabilities
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    expected = sum(p * np.log2(p / q) for p, q in zip(joint.flat, outer.flat, strict=True) if p > 0)
    assert bits[0] == pytest.approx(expected, abs=5.1e-5)
    assert_shown(page, net, {"either": "yes"})


def test_the_slider_moves_the_threshold(open_page, html):
    page = open_page(html)
    first = page.text_content("#cost-text")
    page.eval_on_selector("#cost", "e => { e.value = 20; e.dispatchEvent(new Event('input')); }")
    assert page.text_content("#ratio") == "100"
    assert page.text_content("#cost-text") != first
    found = float(re.search(r"finds ([\d.]+) % of the rows", page.text_content("#cost-text"))[1])
    assert found > 50


COUNTS = """() => [...document.querySelectorAll("#matrix tbody tr")].map(
  (row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent)))"""


def test_the_confusion_matrix_follows_the_slider(open_page, net):
    """For all its positions, by keys; the numbers are scikit-learn's, of the predictions of the same folds."""
    rows = net.sample(400, random_state=0)
    made = tb.report(rows, "bronc", network=net, progress=False)
    seen = {"folds": 5, "keep_predictions": True, "random_state": 0}
    p = tb.compare_classifiers(rows, "bronc", made.choice.name, **seen).predictions()
    positive = p.code_of(None)
    page = open_page(made.html)
    assert page.evaluate(COUNTS) == confusion_matrix(p.true, p.predicted).tolist()
    page.focus("#cost")
    page.keyboard.press("Home")
    matrices = []
    for step in range(-20, 21):
        called = p.proba[:, positive] >= 1.0 / (1.0 + 10.0 ** (step / 10.0))
        expected = confusion_matrix(p.true == positive, called)
        matrices.append(page.evaluate(COUNTS))
        assert matrices[-1] == (expected if positive else expected[::-1, ::-1]).tolist()
        assert page.text_content("#threshold") in page.text_content("#cost-text")
        page.keyboard.press("ArrowRight")
    assert matrices[0] != matrices[20] != matrices[40]
    assert page.get_attribute("#cost-text", "role") == "status"
    assert page.get_attribute("#cost", "aria-valuetext") == "100 times"


def test_an_overview_is_searched_and_clicked(open_page, long_chain):
    """Every control works: the search, nodes, the found names by keys, the list, evidence, and fitting."""
    net, html = long_chain
    page = open_page(html)
    page.fill("#search", "node 11")
    assert page.text_content("#matches-text") == "11 found"
    assert page.locator("#picture .found").count() == 11
    assert page.locator("#matches button").all_text_contents() == ["node 11", *(f"node {i}" for i in range(110, 120))]
    assert page.evaluate(IN_FRAME)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.text_content("#detail-name") == "node 11"
    page.click(f"#dialog {state(net, 'node 11', 'no')}")
    assert_shown(page, net, {"node 11": "no"})
    page.keyboard.press("Escape")
    assert page.locator("#picture .evidence").count() == 1
    page.fill("#search", "nothing like it")
    assert page.text_content("#matches-text") == "0 found"
    assert page.locator("#picture .found, #matches button").count() == 0
    page.click('#picture [data-t="60"]')
    assert page.text_content("#detail-name") == "node 60"
    page.click("#close")
    pressed = page.get_attribute("#fit", "aria-pressed")
    page.click("#fit")
    assert page.get_attribute("#fit", "aria-pressed") != pressed
    page.click("#clear")
    assert_shown(page, net, {})
    page.click("#list summary")
    page.click(f"#list {state(net, 'node 5', 'yes')}")
    assert_shown(page, net, {"node 5": "yes"})


def large_network(n: int, n_parents: int) -> tb.BayesianNetwork:
    """Return a network of binary variables: a tree, or one whose parents are so far apart that its cliques are huge."""
    rng = np.random.default_rng(4)
    given = [[(i - 1) // 2] if n_parents == 1 else rng.permutation(i)[:n_parents].tolist() for i in range(1, n)]
    arcs = [(f"node {p}", f"node {i}") for i, parents in enumerate(given, 1) for p in parents]
    rows = [random_rows(rng, (2,) * (len(parents) + 1), 0.0) for parents in ([], *given)]
    tables = {f"node {i}": row for i, row in enumerate(rows)}
    return tb.BayesianNetwork({name: ["yes", "no"] for name in tables}, arcs, tables)


def assert_overview(page: Any, net: tb.BayesianNetwork) -> None:
    """Find a variable by its name, open its table, and press some of all controls: none is without an effect."""
    assert f"The network has {len(net.nodes)} variables: this is an overview." in page.text_content("#network")
    assert page.locator("#picture .node").count() == len(net.nodes)
    wanted = net.nodes[len(net.nodes) // 2]
    page.fill("#search", wanted)
    page.locator("#matches button", has_text=wanted).first.click()
    assert page.text_content("#detail-name") == wanted
    assert page.locator("#dialog tbody tr").count() > 0
    page.click("#close")
    assert page.evaluate(DEAD, 40) == []
    is_live = page.evaluate("window.tunbridge !== undefined")
    for name in ("#clear", "#status", "#about"):
        assert page.locator(name).count() == is_live
    assert (page.locator("[data-s]").count() > 0) == is_live
    if is_live:
        page.evaluate("window.tunbridge.clearEvidence()")
        assert_shown(page, net, {})


DEAD = """(most) => {
  const changes = new MutationObserver(() => {});
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const all = [...document.querySelectorAll("button, [role=button], #picture [data-t]")];
  const step = Math.ceil(all.length / most);
  const some = all.filter((e, i) => (i % step === 0 || e.id) && !e.disabled && e.checkVisibility());
  return some.filter((e) => {
    e.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const isDead = changes.takeRecords().length === 0;
    document.querySelector("dialog[open]")?.close();
    changes.takeRecords();
    return isDead;
  }).map((e) => e.outerHTML.slice(0, 100));
}"""


@pytest.mark.parametrize("n_parents", [1, 4])
def test_large_networks_have_no_control_without_effect(open_page, n_parents):
    """A tree of 440 nodes, and 150 nodes whose junction tree is too large for the page, which a sentence says."""
    net = large_network(440 if n_parents == 1 else 150, n_parents)
    page = open_page(tb.report(net.sample(20, random_state=0), network=net, progress=False).html)
    assert_overview(page, net)
    reason = "Evidence cannot be set in this page, because the junction tree of the network is too large for a page"
    assert (reason in page.text_content("#network")) == (n_parents == 4)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pigs", "munin1", "link"])
def test_large_repository_networks_have_no_control_without_effect(open_page, shared_data, name):
    net = tb.read_network(shared_data / "networks" / f"{name}.bif")
    page = open_page(tb.report(net.sample(20, random_state=0), network=net, progress=False).html)
    assert_overview(page, net)
    assert ("is too large for a page" in page.text_content("#network")) == (name != "pigs")


IN_FRAME = """() => {
  const inner = document.querySelector("#picture .found").getBoundingClientRect();
  const outer = document.querySelector(".scroll").getBoundingClientRect();
  return inner.top >= outer.top && inner.bottom <= outer.bottom
    && inner.left >= outer.left && inner.right <= outer.right;
}"""


def test_a_network_that_is_too_large_opens_without_evidence(open_page, monkeypatch):
    monkeypatch.setattr(import_module("tunbridge.report.export"), "MOST_ENTRIES", 3)
    net = tb.example_network("asia")
    page = open_page(tb.report(net.sample(20, random_state=0), network=net, progress=False).html)
    assert page.evaluate("window.tunbridge") is None
    assert page.locator("[data-s]").count() == 0
    page.click('#picture [data-t="0"]')
    assert page.locator("#dialog tbody tr").count() == 1
    page.click("#close")
    page.click("#fit")
    assert page.get_attribute("#fit", "aria-pressed") == "true"


def test_the_policy_blocks_other_scripts_and_styles(open_page, html):
    """The page itself runs without a violation; scripts and styles that are put into it do not run."""
    intruder = "<script>window.intruder = 1</script><p style='color:red'>x</p>"
    page = open_page(html.replace("</main>", intruder + "</main>"), is_checked=False)
    assert page.evaluate("window.intruder") is None
    assert page.evaluate("getComputedStyle(document.querySelector('main > p')).color") != "rgb(255, 0, 0)"
    assert page.evaluate("window.tunbridge.posteriors() !== null")


def test_hostile_names_are_shown_and_clicked(open_page):
    rng = np.random.default_rng(9)
    variables = [tb.Variable(name, [*ODD_NAMES[i:], "hasOwnProperty"]) for i, name in enumerate(ODD_NAMES)]
    rows = [random_rows(rng, (*(p.n_states for p in variables[i - 1 : i]), v.n_states), 0.0)
            for i, v in enumerate(variables)]  # fmt: skip
    named = tb.BayesianNetwork.from_tables([CPT(v, variables[i - 1 : i], rows[i]) for i, v in enumerate(variables)])
    page = open_page(tb.report(named.sample(60, random_state=0), network=named, progress=False).html)
    for v in named.variables:
        page.click(f"#picture {state(named, v.name, v.states[-1])}")
        assert_shown(page, named, {v.name: v.states[-1]})
        page.click("#clear")
        page.click(f'#picture [data-t="{named.nodes.index(v.name)}"]')
        page.click("#close")


def test_a_picture_that_is_a_little_too_wide_is_fitted(open_page, html):
    assert page_width(open_page(html, viewport={"width": 1200, "height": 800})) == ("false", False)
    page = open_page(html, viewport={"width": 400, "height": 800})
    assert page_width(page) in (("true", False), ("false", True))
    page.click("#fit")
    page.click("#fit")
    assert page_width(page) in (("true", False), ("false", True))


def test_a_picture_that_is_too_wide_opens_at_the_target(open_page):
    names = [f"a rather long name {i}" for i in range(20)]
    tables = {"root": [0.5, 0.5]} | {name: [[0.9, 0.1], [0.1, 0.9]] for name in names}
    net = tb.BayesianNetwork({name: ["yes", "no"] for name in tables}, [("root", name) for name in names], tables)
    rows = net.sample(30, random_state=0)
    for target in (names[0], names[19]):
        made = tb.report(rows, target, network=net, budget=0.1, progress=False)
        page = open_page(made.html, viewport={"width": 500, "height": 700})
        assert page.evaluate(IN_FRAME.replace(".found", ".target .box"))


def page_width(page: Any) -> tuple[str, bool]:
    """Return whether the picture is fitted, and whether it is wider than its frame."""
    is_wider = page.eval_on_selector("#picture", "e => e.clientWidth > e.parentElement.clientWidth")
    return page.get_attribute("#fit", "aria-pressed"), is_wider


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 600, "height": 800}}])
def test_a_page_is_no_wider_than_the_window_and_has_contrast(open_page, html, how):
    page = open_page(html, **how)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, html, long_chain, scheme):
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text("utf-8")
    page = open_page(html, color_scheme=scheme)
    page.evaluate(script)  # which the policy of the page does not forbid
    page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true; })")
    page.click("#picture [data-s]")
    rules = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]
    found = page.evaluate(AXE, rules)
    assert [(each["id"], each["nodes"][0]["html"][:100]) for each in found] == []
    page = open_page(long_chain[1], color_scheme=scheme)
    page.evaluate(script)
    page.fill("#search", "node 3")
    found = page.evaluate(AXE, rules)
    assert [(each["id"], each["nodes"][0]["html"][:100]) for each in found] == []


AXE = "async (runOnly) => (await axe.run(document, { runOnly })).violations"


def test_it_can_be_printed(open_page, html):
    page = open_page(html)
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert page.is_visible("#picture")


CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((x) => x / 255).map((x) =>
      x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    if (e.ownerSVGElement) {
      const box = e.closest(".node")?.querySelector(".box");
      if (box) return getComputedStyle(box).fill;
    }
    for (let at = e; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.startsWith("rgba(0, 0, 0, 0")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = [];
  for (const e of document.querySelectorAll("main *, header *")) {
    if (e.closest(":disabled")) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (!e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(e.ownerSVGElement ? style.fill : style.color), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${e.tagName} ${e.className} ${e.textContent.slice(0, 30)}`);
  }
  return bad;
}"""
