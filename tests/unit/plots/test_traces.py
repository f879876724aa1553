from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge._core.grid import spaced
from tunbridge.errors import DataError
from tunbridge.learning import ArcStrengths, LearnedDAG, TracedMove
from tunbridge.plots.traces import curve_of

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _off_screen():
    tb.plots.draw_off_screen()
    yield
    matplotlib.pyplot.close("all")


def a_dag(steps: list[tuple[str, float, float]], search: str = "tabu") -> LearnedDAG:
    """Return a graph whose trace has these kinds, scores before and scores after, a move every tenth of a second."""
    trace = [
        TracedMove(kind, "A", "B", after - before, after, (i + 1) / 10) for i, (kind, before, after) in enumerate(steps)
    ]
    scores = {"A": -10.0, "B": -20.0}
    return LearnedDAG(["A", "B"], [("A", "B")], family_scores=scores, trace=trace, criterion="bic", search=search)


WALK = [
    ("add", -100.0, -60.0),
    ("add", -60.0, -40.0),
    ("reverse", -40.0, -45.0),
    ("remove", -45.0, -30.0),
    ("add", -100.0, -70.0),  # begun again
    ("add", -70.0, -35.0),
]


def marks(axes) -> dict[str, np.ndarray]:
    return {c.get_label(): np.asarray(c.get_offsets()) for c in axes.collections}


def test_every_move_is_a_mark_of_its_kind():
    axes = tb.plots.trace(a_dag(WALK))
    found = marks(axes)
    assert found["added (4)"].tolist() == [[1, -60], [2, -40], [5, -70], [6, -35]]
    assert found["removed (1)"].tolist() == [[4, -30]]
    assert found["turned round (1)"].tolist() == [[3, -45]]
    assert found["best"].tolist() == [[4, -30]]
    shapes = {c.get_paths()[0].vertices.tobytes() for c in axes.collections[:3]}
    colours = {tuple(c.get_facecolor()[0]) for c in axes.collections[:3]}
    assert len(shapes) == len(colours) == 3
    assert axes.get_xlabel() == "moves"
    assert axes.get_ylabel() == "score (bic)"
    assert axes.get_title(loc="left") == "tabu: 1 arc; best −30 after 4 moves"


def test_restarts_break_the_line_and_are_marked():
    axes = tb.plots.trace(a_dag(WALK))
    first, second, restart = axes.lines
    assert first.get_xydata().tolist() == [[0, -100], [1, -60], [2, -40], [3, -45], [4, -30]]
    assert second.get_xydata().tolist() == [[4, -100], [5, -70], [6, -35]]
    assert restart.get_xdata() == [4, 4]
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == ["began again", "added (4)", "removed (1)", "turned round (1)", "best"]
    assert curve_of(a_dag(WALK)).restarts.tolist() == [4]
    assert not curve_of(a_dag(WALK[:4])).restarts.size


def test_by_seconds():
    axes = tb.plots.trace(a_dag(WALK[:4]), by="seconds")
    assert axes.get_xlabel() == "seconds"
    np.testing.assert_allclose(marks(axes)["removed (1)"], [[0.4, -30]], rtol=1e-12, atol=0)
    assert axes.lines[0].get_xydata()[0].tolist() == [0, -100]


def test_skipped_moves_are_below_the_axis():
    axes = tb.plots.trace(a_dag(WALK), skip=1)
    low, high = axes.get_ylim()
    assert -60 < low < -45
    assert -30 < high < -28
    assert len(marks(axes)["added (4)"]) == 4


@pytest.mark.parametrize(
    "search",
    [
        tb.HillClimbing(restarts=2), tb.Tabu(restarts=0), tb.SparseCandidate(k=3), tb.GES(),
        tb.OrderSearch(patience=2), tb.ChowLiu(), tb.TAN("lung"), tb.FAN("lung"),
    ],
    ids=lambda search: search.name,
)  # fmt: skip
def test_the_trace_of_every_search_is_drawn(search, tmp_path):
    table = tb.example_network("asia").sample(500, random_state=0)
    dag = tb.learn_structure(table, search=search, random_state=0)
    axes = tb.plots.trace(dag)
    axes.figure.savefig(tmp_path / "p.png")
    n_marks = sum(len(points) for label, points in marks(axes).items() if label != "best")
    assert n_marks == len(dag.trace)
    assert "(" in axes.get_legend().get_texts()[-2].get_text()
    assert all(word not in str(marks(axes)) for word in ("insert", "delete", "reposition"))
    tree = search.name in ("chow-liu", "tan", "fan")
    assert axes.get_ylabel() == ("log-likelihood gained" if tree else "score (bic)")
    if not tree:
        np.testing.assert_allclose(marks(axes)["best"][0, 1], dag.score, rtol=1e-9, atol=0)


def test_unknown_kinds_are_shown_by_their_word():
    assert "swap (1)" in marks(tb.plots.trace(a_dag([("swap", -3.0, -2.0)])))


def test_one_move_that_gains_nothing_draws(tmp_path):
    axes = tb.plots.trace(a_dag([("add", 0.0, 0.0)]))
    axes.figure.savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_texts_stay_inside_the_figure():
    kinds = ("add", "delete", "turn", "reposition", "disturb", "order")
    steps = [(kind, -1e9 + i, -1e9 + i + 1) for i, kind in enumerate(kinds)]
    axes = tb.plots.trace(a_dag([*steps[:3], ("add", -5e9, -4e9)], "sparse-candidate"))
    figure = axes.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for artist in (axes.get_legend(), axes._left_title, *axes.get_yticklabels()):
        box = artist.get_window_extent(renderer)
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1


def test_given_axes_are_used():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert tb.plots.trace(a_dag(WALK), axes) is axes
    assert tb.plots.strengths(ArcStrengths.of([tb.DAG(arcs=[("A", "B")])]), axes) is axes


@pytest.mark.parametrize(
    ("dag", "options", "message"),
    [
        (tb.DAG(["A"]), {}, "must be a learned graph; got"),
        (a_dag([], "exact"), {}, "a trace must have moves; this one, of search 'exact', has none"),
        (a_dag(WALK), {"by": "hours"}, "by must be one of 'moves', 'seconds'; got 'hours'"),
        (a_dag(WALK), {"skip": -1}, "skip must be at least 0"),
        (a_dag(WALK), {"skip": 6}, "skip must leave moves to draw; got 6 of 6 moves"),
    ],
)
def test_bad_input(dag, options, message):
    with pytest.raises(DataError, match=message):
        tb.plots.trace(dag, **options)


@pytest.mark.parametrize(
    ("value", "text"), [(-218667.0979, "−218 667.1"), (-1234567.0, "−1 234 567"), (0.25, "0.25"), (0.0, "0")]
)
def test_numbers_on_the_axis(value, text):
    assert spaced(value) == text


# Strengths


def some_strengths() -> ArcStrengths:
    shares = np.zeros((4, 4))
    shares[0, 1], shares[1, 2], shares[2, 1], shares[0, 3] = 1.0, 0.5, 0.25, 0.25
    return ArcStrengths(("A", "B", "C", "D"), shares, 8)


def test_strengths_are_a_distribution_function():
    axes = tb.plots.strengths(some_strengths())
    x, y = axes.lines[0].get_data()
    assert x.tolist() == [0, 0, 0, 0, 0.25, 0.75, 1, 1]
    np.testing.assert_allclose(y, [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1, 1], rtol=1e-12, atol=0)
    np.testing.assert_allclose(axes.collections[0].get_offsets(), [[0.75, 5 / 6], [1, 1]], rtol=1e-12, atol=0)
    assert axes.get_title(loc="left") == "2 of 6 pairs are significant, at 0.75 or more (8 graphs)"


def test_nothing_significant():
    axes = tb.plots.strengths(ArcStrengths(("A", "B"), np.zeros((2, 2)), 3))
    assert axes.get_title(loc="left") == "0 of 1 pair are significant (3 graphs)"


@pytest.mark.parametrize(
    ("strengths", "message"),
    [(0.5, "must be the strengths of arcs; got 0.5"), (ArcStrengths(("A",), np.zeros((1, 1)), 1), "two nodes")],
)
def test_bad_strengths(strengths, message):
    with pytest.raises(DataError, match=message):
        tb.plots.strengths(strengths)
