"""Pictures of networks: what is in the SVG, in every look; and other formats."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.graph.drawing import STYLE

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    'quo"te & <b>',
    "ש".join("שלום עולם"),
    "x" * 200,
    " ",
    "line\nbreak",
    "\x01bell",
]


@pytest.fixture(scope="module")
def asia():
    return tb.example_network("asia")


def parsed(drawing):
    return ElementTree.fromstring(drawing.svg)


def groups(root, kind):
    return [g for g in root.iter(f"{SVG}g") if kind in g.get("class", "").split()]


def titles(root, kind):
    return [g.find(f"{SVG}title").text for g in groups(root, kind) if "sample" not in g.get("class")]


def test_the_picture_holds_nodes_and_arcs(asia):
    root = parsed(tb.draw(asia))
    assert titles(root, "node") == list(asia.nodes)
    assert titles(root, "arc") == [f"{a} → {b}" for a, b in asia.arcs]
    assert [t.text for t in root.iter(f"{SVG}text")] == list(asia.nodes)
    assert root.find(f"{SVG}title").text == "network with 8 nodes and 8 arcs"
    assert len(list(root.iter(f"{SVG}rect"))) == 8


def test_monitors_show_posteriors_and_evidence(asia):
    evidence = {"xray": "yes", "smoke": "no"}
    root = parsed(tb.draw(asia, evidence=evidence))
    assert {t.partition(";")[0] for t in titles(root, "evidence")} == set(evidence)
    posteriors = asia.posteriors(evidence)
    for group in groups(root, "node"):
        name, *states = group.find(f"{SVG}title").text.split("; ")
        shares = [float(s.split()[-2]) for s in states]
        expected = [1.0, 0.0] if name == "xray" else [0.0, 1.0] if name == "smoke" else posteriors[name].probabilities
        assert shares == pytest.approx([100 * p for p in expected], abs=0.051)
        bars = [r for r in group.iter(f"{SVG}rect") if r.get("class") == "bar"]
        widths = [float(r.get("width")) for r in bars]
        assert widths == pytest.approx([64 * p for p in expected], abs=0.051)


def test_numbers_have_a_mean_and_a_deviation():
    rows = {"a": ["x", "y"] * 20, "v": [float(i % 7 + 3 * (i % 2)) for i in range(40)]}
    net = tb.fit_parameters(tb.DAG(arcs=[("a", "v")]), rows)
    found = net.posteriors({"a": "x"})["v"]
    (title,) = [t for t in titles(parsed(tb.draw(net, evidence={"a": "x"})), "node") if t.startswith("v")]
    assert title == f"v; {found.mean:.4g} ± {found.std:.3g}"
    assert "v; 2.5" in titles(parsed(tb.draw(net, evidence={"v": 2.5})), "evidence")


def test_strengths_are_widths(asia):
    def widths(drawing):
        return {
            tuple(g.find(f"{SVG}title").text.split(" → ")): float(g.find(f"{SVG}path").get("stroke-width"))
            for g in groups(parsed(drawing), "arc")
        }

    found = widths(tb.draw(asia, strengths="information"))
    assert found["bronc", "dysp"] == max(found.values())
    assert found["asia", "tub"] == min(found.values())
    given = widths(tb.draw(asia, strengths={("asia", "tub"): 2.0, ("smoke", "lung"): 1.0}))
    assert given["asia", "tub"] > given["smoke", "lung"] > 0.6


def test_differences_between_graphs(asia):
    other = asia.dag.reverse_arc("asia", "tub").remove_arc("smoke", "lung").add_arc("smoke", "dysp")
    root = parsed(tb.draw(other, against=asia))
    assert titles(root, "added") == ["smoke → dysp: added"]
    assert titles(root, "missing") == ["smoke → lung: missing"]
    assert titles(root, "reversed") == ["tub → asia: reversed"]
    assert len(titles(root, "arc")) == 6
    with pytest.raises(DataError, match="must have the same nodes; 'extra' differ"):
        tb.draw(asia.dag.add_nodes(["extra"]), against=asia)


def other_graph(asia):
    return asia.dag.reverse_arc("asia", "tub").remove_arc("smoke", "lung").add_arc("smoke", "dysp")


def test_a_comparison_has_a_legend(asia):
    drawing = tb.draw(other_graph(asia), against=asia)
    (legend,) = groups(parsed(drawing), "legend")
    texts = [t.text for t in legend.iter(f"{SVG}text")]
    assert texts == ["in both graphs (6)", "added (1)", "missing (1)", "reversed (1)"]
    assert repr(drawing) == "Drawing: graph with 8 nodes and 8 arcs; 1 added, 1 missing, 1 reversed"
    box = legend.find(f"{SVG}rect")
    left, top, width, height = (float(v) for v in parsed(drawing).get("viewBox").split())
    assert float(box.get("y")) > max(y for _, y in drawing.picture.layout.centres.values())
    assert float(box.get("y")) + float(box.get("height")) <= top + height
    assert float(box.get("x")) + float(box.get("width")) <= left + width
    axes = tb.plots.network(drawing)
    assert set(texts) <= {t.get_text() for t in axes.texts}
    assert axes.get_ylim()[0] > float(box.get("y")) + float(box.get("height"))


def test_lines_differ_without_colours(asia):
    """Every kind of line has dashes or a width of its own, also beside edges without a direction."""
    root = parsed(tb.draw(other_graph(asia).cpdag(), against=asia.dag.cpdag()))
    root.extend(parsed(tb.draw(other_graph(asia), against=asia)))
    looks = {}
    for kind in ("arc", "edge", "added", "missing", "reversed"):
        for group in groups(root, kind):
            (path,) = [p for p in group if p.get("class") == "line"]
            looks.setdefault(kind, set()).add((path.get("stroke-dasharray"), path.get("stroke-width")))
    assert len(looks) == 5
    assert all(len(look) == 1 for look in looks.values())
    assert len(set.union(*looks.values())) == 5
    assert {dashes for dashes, _ in looks["arc"] | looks["added"]} == {None}


def test_equal_graphs_have_no_legend(asia):
    drawing = tb.draw(asia, against=asia.dag)
    assert not groups(parsed(drawing), "legend")
    assert repr(drawing).endswith("8 arcs; no difference")
    assert not groups(parsed(tb.draw(asia)), "legend")


def test_undecided_directions_compared():
    chain, collider = tb.DAG(arcs=[("a", "b"), ("b", "c")]), tb.DAG(arcs=[("a", "b"), ("c", "b")])
    root = parsed(tb.draw(collider, against=chain.cpdag()))
    assert titles(root, "reversed") == [f"{x} → b: undecided in the other graph" for x in "ac"]
    root = parsed(tb.draw(chain.cpdag(), against=collider))
    assert {t.partition(": ")[2] for t in titles(root, "reversed")} == {"directed in the other graph"}
    assert not any(path.get("class") == "tip" for group in groups(root, "reversed") for path in group)
    missing = parsed(tb.draw(tb.DAG(["a", "b", "c"]), against=chain.cpdag()))
    assert not any(path.get("class") == "tip" for group in groups(missing, "missing") for path in group)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_colours_have_contrast(look):
    """WCAG AA: 4.5 for texts in their boxes, 3 for lines and bars on the page."""
    light, _, dark = STYLE.partition("@media (prefers-color-scheme:dark)")
    rules = re.findall(r"\.tb-graph ([^{]*)\{[^}]*?(?:fill|stroke):(#[0-9a-f]+)", light if look == "light" else dark)
    page = "#ffffff" if look == "light" else re.search(r"background:(#[0-9a-f]{6})", dark)[1]

    def contrast(a, b):
        high, low = sorted((luminance(a), luminance(b)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    whole = {name: "#ffffff" if colour == "#fff" else colour for name, colour in rules}
    faces = [whole[".box"], whole[".evidence .box"]]
    assert min(contrast(whole[text], face) for text in ("text", ".number") for face in faces) >= 4.5
    lines = [name for name in whole if name.endswith(".line")]
    assert len(lines) == 4
    assert min(contrast(whole[name], page) for name in lines) >= 3.0


def test_nodes_have_room_for_the_ends_of_their_lines():
    dag = tb.DAG(arcs=[(f"p{i}", "x") for i in range(12)])
    layout = tb.draw(dag).picture.layout
    tips = sorted(layout.routes[arc][-1][0] for arc in dag.arcs)
    assert min(b - a for a, b in pairwise(tips)) >= 6.9


def test_undecided_directions_have_no_tip(asia):
    root = parsed(tb.draw(asia.dag.cpdag()))
    edges = groups(root, "edge")
    assert len(edges) == asia.dag.cpdag().n_edges > 0
    assert not any(path.get("class") == "tip" for group in edges for path in group)
    assert asia.dag.cpdag()._repr_svg_() == tb.draw(asia.dag.cpdag()).svg


@pytest.mark.parametrize("form", ["svg", "html", "dot"])
def test_hostile_names_are_texts(tmp_path, form):
    dag = tb.DAG(HOSTILE, [(HOSTILE[0], name) for name in HOSTILE[1:]])
    drawing = tb.draw(dag)
    root = parsed(drawing)
    assert len(groups(root, "node")) == len(HOSTILE)
    assert HOSTILE[0] in titles(root, "node")
    drawing.save(tmp_path / f"g.{form}")
    text = (tmp_path / f"g.{form}").read_text(encoding="utf-8")
    if form != "dot":
        assert "<script" not in text
    else:
        assert text.count(" -> ") == len(HOSTILE) - 1
        assert '"quo\\"te & <b>"' in text


def test_many_nodes_are_an_overview():
    arcs = [(f"n{(i - 1) // 3}", f"n{i}") for i in range(1, 150)]
    root = parsed(tb.draw(tb.DAG(arcs=arcs)))
    assert not list(root.iter(f"{SVG}text"))
    assert len(groups(root, "node")) == 150
    assert len(list(parsed(tb.draw(tb.DAG(arcs=arcs), labels=True)).iter(f"{SVG}text"))) == 150


def test_an_overview_can_be_searched(tmp_path):
    arcs = [(f"n{(i - 1) // 3}", f"n{i}") for i in range(1, 150)]
    tb.draw(tb.DAG(arcs=arcs)).save(tmp_path / "large.html")
    page = (tmp_path / "large.html").read_text(encoding="utf-8")
    assert '<input type="search">' in page
    assert "max-width:100%" not in page
    tb.draw(tb.DAG(arcs=arcs[:9])).save(tmp_path / "small.html")
    assert "<input" not in (tmp_path / "small.html").read_text(encoding="utf-8")


def test_many_states_are_abridged():
    net = tb.BayesianNetwork({"v": [f"s{i}" for i in range(30)]}, [], {"v": [1 / 30] * 30})
    shown = [t.text for t in parsed(tb.draw(net, monitors=True)).iter(f"{SVG}text")]
    assert shown[-1] == "… 23 others"
    assert len(shown) == 1 + 2 * 7 + 1


def test_a_number_and_its_text_are_two_states():
    net = tb.BayesianNetwork({"v": [1, "1"]}, [], {"v": [0.3, 0.7]})
    assert titles(parsed(tb.draw(net, monitors=True)), "node") == ["v; 1 30.0 %; '1' 70.0 %"]


def test_missing_values_are_no_evidence(asia):
    drawing = tb.draw(asia, evidence={"xray": None, "smoke": "yes"})
    assert [t.partition(";")[0] for t in titles(parsed(drawing), "evidence")] == ["smoke"]
    assert repr(drawing).endswith("given smoke = yes")


def test_a_classifier_with_a_network_is_drawn():
    model = tb.BayesNetClassifier().fit(tb.datasets.play_tennis(), "play")
    assert set(titles(parsed(tb.draw(model)), "node")) == set(model.network_.nodes)


def test_wide_pictures_stay_legible_in_narrow_pages():
    svg = tb.draw(tb.DAG(arcs=[(f"n{i}", f"m{j}") for i in range(20) for j in range(20)])).svg
    width = float(re.search(r' width="(\d+)"', svg)[1])
    assert float(re.search(r"min-width:(\d+)px", svg)[1]) == pytest.approx(0.7 * width, abs=1.0)


def test_degenerate_graphs():
    assert "graph with 0 nodes" in tb.draw(tb.DAG()).svg
    assert "graph with 1 nodes and 0 arcs" in tb.draw(tb.DAG(["x"])).svg


def test_notebooks_show_pictures(asia):
    assert asia.dag._repr_svg_().startswith("<svg")
    assert tb.draw(asia)._repr_svg_().startswith("<svg")
    assert asia._repr_html_().startswith("<svg")
    assert "<details>" in asia._repr_html_()


def test_the_style_is_that_of_the_page(asia):
    svg = tb.draw(asia).svg
    assert "prefers-color-scheme:dark" in svg
    assert not re.search(r"(?:href|src|url\()", svg)


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_pictures_for_print(asia, tmp_path, suffix):
    tb.draw(asia, evidence={"xray": "yes"}, target="lung").save(tmp_path / f"asia.{suffix}")
    head = (tmp_path / f"asia.{suffix}").read_bytes()[:4]
    assert head == {"png": b"\x89PNG", "pdf": b"%PDF"}[suffix]


def test_on_axes(asia):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert tb.plots.network(asia, ax=axes, monitors=True) is axes
    texts = [t.get_text() for t in axes.texts]
    assert set(asia.nodes) <= set(texts)
    assert tb.plots.network(asia.dag).patches


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target": "lungs"}, "target must name a node; got 'lungs'. Did you mean 'lung'"),
        ({"strengths": "width"}, "strengths must be"),
        ({"evidence": {"xray": "maybe"}}, "maybe"),
        (
            {"strengths": {("asia", "xray"): 1.0}},
            "must be those of arcs of the graph; got .'asia', 'xray'.",
        ),
        ({"strengths": {("asia", "tub"): float("nan")}}, "the strength of"),
        ({"strengths": [1.0]}, "strengths must be 'information' or a mapping of arcs to numbers; got list"),
        ({"evidence": ["xray"]}, "evidence must be a dict from variable to state; got .'xray'."),
        ({"evidence": {"xry": "yes"}, "monitors": False}, "got 'xry'. Did you mean 'xray'"),
        ({"before": 3}, "before must be a picture from tb.draw; got int"),
        ({"against": "asia.bif"}, "against must be a graph or a network; got str. Read it first"),
        ({"strengths": {("asia", "tub"): -1.0}}, "the strength of"),
    ],
)
def test_wrong_settings(asia, how, message):
    with pytest.raises(tb.errors.TunbridgeError, match=message):
        tb.draw(asia, **how)


@pytest.mark.parametrize(
    ("classifier", "arcs"),
    [
        (tb.TANClassifier(), {("outlook", "temperature"), ("temperature", "humidity"), ("outlook", "wind")}),
        (tb.KDBClassifier(k=2), {("outlook", "temperature"), ("humidity", "temperature"), ("outlook", "humidity")}),
        (tb.SelectiveKDBClassifier(), set()),
    ],
)
def test_the_structure_of_a_classifier_is_drawn(classifier, arcs):
    """The class is a parent of every feature that is used."""
    fitted = classifier.fit(tb.datasets.play_tennis(), "play")
    picture = tb.draw(fitted, target="play").picture
    found = {(line.start, line.end) for line in picture.lines}
    assert {end for start, end in found if start == "play"} == set(fitted.parents_)
    assert {node.name for node in picture.nodes} == {"play", *fitted.parents_}
    assert arcs <= found


def test_classifiers_without_one_structure_are_not_drawn():
    days = tb.datasets.play_tennis()
    for classifier in (tb.TANClassifier(), tb.AODEClassifier().fit(days, "play")):
        with pytest.raises(DataError, match="Classifiers with one structure, such as a TANClassifier"):
            tb.draw(classifier)


def test_a_long_path_is_a_tall_picture(tmp_path):
    """Its nodes are as large as those of other pictures; of a longer one they are smaller, and a warning says so."""
    path = [(f"n{i}", f"n{i + 1}") for i in range(999)]
    assert tb.plots.network(tb.DAG(arcs=path[:99])).figure.get_size_inches()[1] > 70
    with pytest.warns(tb.errors.DataWarning, match=r"drawn at 5\d% of its size; SVG and HTML files keep it"):
        tb.draw(tb.DAG(arcs=path)).save(tmp_path / "path.pdf")


def test_what_needs_a_network(asia, tmp_path):
    with pytest.raises(DataError, match="must come with a network; got a graph"):
        tb.draw(asia.dag, evidence={"xray": "yes"})
    with pytest.raises(DataError, match="graph must be a graph or a network; got int"):
        tb.draw(3)
    with pytest.raises(DataError, match=r"got list. Arcs make a graph: tb.DAG\(arcs="):
        tb.draw([("a", "b")])
    networkx = pytest.importorskip("networkx")
    with pytest.raises(DataError, match=r"got DiGraph. Convert it first: tb.DAG.from_networkx"):
        tb.draw(networkx.DiGraph([("a", "b")]))
    with pytest.raises(DataError, match="the file of a picture must be a path; got int"):
        tb.draw(asia).save(3)
    with pytest.raises(DataError, match=r"must go to a file that ends in '.svg'.*; got 'x.jpg'"):
        tb.draw(asia).save(tmp_path / "x.jpg")
    with pytest.raises(DataError, match="must go to a folder that exists"):
        tb.draw(asia).save(tmp_path / "no" / "x.svg")
    with pytest.raises(DataError, match=r"got str. Read it first: tb.read_network\('asia.bif'\)"):
        tb.draw("asia.bif")
