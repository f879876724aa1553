from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError

tb.plots.draw_off_screen()
SHINE, RAIN = {"Umbrella": "no"}, {"Umbrella": "yes"}


@pytest.fixture(scope="module")
def net():
    return tb.DynamicBayesianNetwork.hidden_markov(
        [0.5, 0.3, 0.2], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]],
        states=["none", "drizzle", "heavy"], symbols=["no", "yes"], hidden="Rain", observed="Umbrella",
    )  # fmt: skip


def heights(collection):
    """Return the top of an area in each slice."""
    return [path.vertices[:, 1].max() for path in collection.get_paths()]


def test_areas_of_all_states(net):
    found = net.smooth([SHINE, RAIN, {}], "Rain")
    axes = tb.plots.slices(found)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["heavy", "drizzle", "none"]
    tops = [heights(area)[0] for area in axes.collections]
    np.testing.assert_allclose(tops, np.cumsum(found.array, axis=1).max(axis=0), rtol=1e-12)
    assert axes.get_xlim() == (-0.5, 2.5)
    assert axes.get_ylabel() == "P(Rain)"


def test_many_states_are_put_together():
    many = tb.DynamicBayesianNetwork(
        {"x": list(range(10))}, arcs=[("x[t-1]", "x")], first={"x": np.full(10, 0.1)},
        cpts={"x": np.full((10, 10), 0.1)},
    )  # fmt: skip
    legend = tb.plots.slices(many.filter([{}, {"x": 9}], "x")).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["4 others", "9", "4", "3", "2", "1", "0"]


def test_lines_of_several_answers(net):
    days = [SHINE, RAIN, RAIN]
    answers = {"then": net.filter(days, "Rain"), "now": net.smooth(days, "Rain"), "next": net.predict(days, "Rain")}
    axes = tb.plots.slices(answers, state="heavy")
    for line, found in zip(axes.lines, answers.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), found.array[:, 2], rtol=1e-12)
    assert axes.lines[2].get_xdata().tolist() == [3]
    assert axes.get_ylabel() == "P(Rain = heavy)"
    assert tb.plots.slices(answers).get_ylabel() == "P(Rain = heavy)"
    drawn = net.filter(days, "Rain", method="particle", n_particles=200, random_state=0)
    assert len(tb.plots.slices(drawn, state="none").collections) == 1


def test_numbers_with_bands():
    walk = tb.DynamicBayesianNetwork(
        {"x": None}, arcs=[("x[t-1]", "x")], first={"x": {"variances": 4.0}},
        cpts={"x": {"coefficients": [1.0], "variances": 5.0}},
    )  # fmt: skip
    axes = tb.plots.slices(walk.predict([{"x": 1.0}], "x", steps=2))
    points = axes.collections[0].get_paths()[0].vertices
    assert points[:, 1].max() == pytest.approx(1.0 + 2.0 * np.sqrt(10.0))
    assert axes.lines[0].get_xdata().tolist() == [1, 2]


def test_joint_distributions(net):
    found = net.smooth([SHINE, {}], ["Rain", "Umbrella"])
    axes = tb.plots.slices(found, state=("heavy", "yes"))
    np.testing.assert_allclose(axes.lines[0].get_ydata(), found.array[:, 2, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda net: [0.5, 0.5], "found must be what filter, smooth or predict return for a variable; got"),
        (lambda net: net.filter([[{}], [{}]], "Rain"), "of one sequence"),
        (lambda net: net.filter([], "Rain"), "at least one slice"),
        (lambda net: net.filter([{}]), r"the same variables; got 'Rain', 'Umbrella'. Draw one: found\['Rain'\]"),
        (lambda net: {}, "one to 7 answers; got 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(net, make, message):
    with pytest.raises(DataError, match=message):
        tb.plots.slices(make(net))


def test_unknown_states(net):
    with pytest.raises(DataError, match=r"state must be a state of Rain; got 'Heavy'\. Did you mean 'heavy'"):
        tb.plots.slices(net.filter([{}], "Rain"), state="Heavy")


class TestTheTransition:
    def chain(self, order=2):
        arcs = [("x[t-1]", "x"), ("x", "y"), ("y", "z"), (f"z[t-{order}]", "w"), ("z", "w")]
        return tb.DynamicBayesianNetwork(
            dict.fromkeys("xyzw"), arcs=arcs,
            first={"x": {"variances": 1.0}, "w": {"coefficients": [1.0], "variances": 1.0}},
            cpts={name: {"coefficients": [0.5] * (1 + (name == "w")), "variances": 1.0} for name in "xyzw"},
        )  # fmt: skip

    def test_earlier_slices_are_above(self):
        net = self.chain()
        picture = tb.draw(net).picture
        y = {name: at[1] for name, at in picture.layout.centres.items()}
        assert y["z[t-2]"] < y["x[t-1]"] < min(y[name] for name in net.nodes)
        assert {node.name: node.mark for node in picture.nodes if node.mark} == {"x[t-1]": "past", "z[t-2]": "past"}
        assert net.lags == {"x[t-1]": 1, "z[t-2]": 2}
        assert repr(tb.draw(net)) == "Drawing: slice of a dynamic network with 6 nodes and 5 arcs"

    def test_in_notebooks_and_files(self, tmp_path):
        net = self.chain()
        assert net._repr_svg_().count('class="node past"') == 2
        assert "z[t-2], z" in net._repr_html_()
        for name in ("net.png", "net.dot", "net.html"):
            tb.draw(net).save(tmp_path / name)
        assert '"x[t-1]" -> "x"' in (tmp_path / "net.dot").read_text()

    def test_two_networks(self):
        compared = tb.draw(self.chain(), against=self.chain(order=1))
        kinds = {line.kind: (line.start, line.end) for line in compared.picture.lines if line.kind != "arc"}
        assert kinds == {"added": ("z[t-2]", "w"), "missing": ("z[t-1]", "w")}

    def test_what_needs_a_static_network(self):
        for how in ({"evidence": {"x": 1.0}}, {"monitors": True}, {"strengths": "information"}):
            with pytest.raises(DataError, match=r"must come with a static network\. net\.unrolled"):
                tb.draw(self.chain(), **how)
        strengths = {("x[t-1]", "x"): 2.0, ("x", "y"): 1.0}
        widths = {(x.start, x.end): x.width for x in tb.draw(self.chain(), strengths=strengths).picture.lines}
        assert widths["x[t-1]", "x"] > widths["x", "y"]
