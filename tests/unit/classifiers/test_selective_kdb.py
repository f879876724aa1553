"""Selective k-dependence Bayes: against learning anew without each row, and in batches against all rows at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tunbridge as tb
from oracles import leave_one_out as oracle
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers.dependence import _leave_one_out as leave_one_out, _passes as several_passes
from tunbridge.classifiers.dependence._leave_one_out import best_model, left_out
from tunbridge.errors import DataError, FormatError, MemoryForecastError

SIZES = (2, 3, 2, 3, 2)
N_CLASSES = 3
SMOOTHINGS = [
    (0.5, oracle.laplace(0.5)),
    (tb.MEstimate(2), oracle.m_estimate(2)),
    (tb.MEstimate("n_states"), oracle.m_estimate(None)),
    (tb.MEstimate(5, "marginal"), oracle.m_estimate(5, marginal=True)),
    (tb.MEstimate("n_states", "marginal"), oracle.m_estimate(None, marginal=True)),
]


def random_rows(seed: int, n: int = 30, missing: float = 0.0) -> np.ndarray:
    """Return rows of related features, every state seen, and the class as the last column."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    columns = [rng.integers(0, size, n) for size in SIZES]
    columns[0] = np.where(rng.random(n) < 0.7, y % 2, columns[0])
    columns[1] = np.where(rng.random(n) < 0.7, (y + columns[0]) % 3, columns[1])
    columns[2] = np.where(rng.random(n) < 0.8, (columns[0] + columns[1]) % 2, columns[2])
    rows = np.column_stack([*columns, y])
    for j, size in enumerate(SIZES):
        rows[:size, j] = np.arange(size)
        rows[size:, j][rng.random(n - size) < missing] = -1
    return rows


def frame_of(rows: np.ndarray) -> dict[str, list[str | None]]:
    frame = {f"x{j}": [None if v < 0 else f"s{v}" for v in rows[:, j].tolist()] for j in range(len(SIZES))}
    return frame | {"y": [f"c{v}" for v in rows[:, -1].tolist()]}


def fitted(rows: np.ndarray, **settings) -> tb.SelectiveKDBClassifier:
    return tb.SelectiveKDBClassifier(**{"max_k": 3, **settings}).fit(frame_of(rows), "y")


def structure(rows: np.ndarray, max_k: int) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the order of the features and the parents of each, as k-dependence Bayes has them."""
    names = [f"x{j}" for j in range(len(SIZES))]
    parents = tb.KDBClassifier(k=max_k).fit(frame_of(rows), "y").parents_
    told = tb.Counter(frame_of(rows))
    information = [tb.mutual_information(told.family(name, ["y"])) for name in names]
    ranked = sorted(range(len(names)), key=lambda j: -information[j])
    return ranked, [tuple(names.index(u) for u in parents[names[j]]) for j in ranked]


def expected(rows: np.ndarray, max_k: int, estimate: oracle.Estimate, **settings) -> list[list[float]]:
    plain = [tuple(row) for row in rows.tolist()]
    return oracle.loss_table(plain, SIZES, N_CLASSES, *structure(rows, max_k), max_k, estimate, **settings)


# The losses


@pytest.mark.parametrize(("smoothing", "estimate"), SMOOTHINGS, ids=[str(s) for s, _ in SMOOTHINGS])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_losses_are_those_of_learning_without_the_row(smoothing, estimate, missing):
    rows = random_rows(1, missing=missing)
    found = fitted(rows, smoothing=smoothing).loss_table_
    np.testing.assert_allclose(found, expected(rows, 3, estimate), rtol=1e-9)


@pytest.mark.parametrize("criterion", ["log-loss", "rmse", "error"])
@pytest.mark.parametrize("uniform", [False, True])
def test_criteria_and_priors(criterion, uniform):
    rows = random_rows(2, 40)
    clf = fitted(rows, smoothing=0.3, criterion=criterion, class_prior="uniform" if uniform else None)
    wanted = expected(rows, 3, oracle.laplace(0.3), criterion=criterion, uniform=uniform)
    np.testing.assert_allclose(clf.loss_table_, wanted, rtol=1e-9)


def test_hierarchical_smoothing_leaves_the_row_out_of_every_level():
    rows = random_rows(3)
    found = fitted(rows, smoothing=tb.BackOff(strength=2.5, drop="last")).loss_table_
    np.testing.assert_allclose(found, expected(rows, 3, oracle.back_off(2.5)), rtol=1e-9)


@pytest.mark.parametrize("criterion", ["log-loss", "rmse", "error"])
@pytest.mark.parametrize("smoothing", ["hierarchical", 1.0, 0.0])
def test_kernel_and_numpy_agree(criterion, smoothing, monkeypatch):
    rows = random_rows(4, 300, missing=0.1)
    wanted = fitted(rows, smoothing=smoothing, criterion=criterion).loss_table_
    monkeypatch.setattr(leave_one_out, "SMALL_CELLS", 0)
    found = fitted(rows, smoothing=smoothing, criterion=criterion).loss_table_
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("criterion", ["log-loss", "error"])
def test_what_is_all_but_impossible_may_come_back(criterion, monkeypatch):
    """Hundreds of copies of one feature drive a row's class far below what a float can hold, and others back again."""
    rng = np.random.default_rng(5)
    y = np.arange(120) % 3
    X = np.repeat(np.where(rng.random((120, 2)) < 0.1, (y[:, None] + 1) % 3, y[:, None]), [300, 310], axis=1)
    clf = tb.SelectiveKDBClassifier(0, smoothing=1e-4, categorical="all", criterion=criterion)
    monkeypatch.setattr(leave_one_out, "SMALL_CELLS", 10**9)
    wanted = clf.fit(X, y).loss_table_
    monkeypatch.setattr(leave_one_out, "SMALL_CELLS", 0)
    np.testing.assert_allclose(clf.fit(X, y).loss_table_, wanted, rtol=1e-8)
    assert wanted[300, 0] > 2 * wanted[610, 0] > 0.0  # rows came back


def test_weights_are_replication():
    rows = random_rows(6)
    times = np.random.default_rng(6).integers(0, 4, len(rows))
    times[:3] = 1
    weighted = tb.SelectiveKDBClassifier(3).fit(frame_of(rows), "y", sample_weight=times)
    repeated = tb.SelectiveKDBClassifier(3).fit(frame_of(np.repeat(rows, times, axis=0)), "y")
    np.testing.assert_allclose(weighted.loss_table_, repeated.loss_table_, rtol=1e-10)
    assert (weighted.k_, weighted.selected_) == (repeated.k_, repeated.selected_)
    np.testing.assert_allclose(
        weighted.predict_proba(frame_of(rows)), repeated.predict_proba(frame_of(rows)), rtol=1e-10
    )


def test_a_class_with_one_row_is_not_asked():
    frame = {"x": ["a", "b", "a", "b", "c"], "y": ["p", "q", "p", "q", "r"]}
    clf = tb.SelectiveKDBClassifier(1, smoothing=1.0).fit(frame, "y")
    assert clf.loss_table_.max() < 2.0  # not −log of hardly anything
    alone = tb.SelectiveKDBClassifier(1).fit({"x": ["a", "b"], "y": ["p", "q"]}, "y")
    assert alone.loss_table_.tolist() == [[0.0, 0.0]] * 2
    assert (alone.selected_, alone.k_) == (["x"], 0)  # nothing to choose by: naive Bayes
    assert alone.predict({"x": "b"}).tolist() == ["q"]


def test_left_out_of_rows_that_nobody_else_has():
    counts = tb.Counter({"x": ["a", "b"], "c": ["u", "v"]}).family("x", ["c"])
    own, others = left_out(counts, tb.Laplace(0.0))
    np.testing.assert_array_equal(own, [[0.5, 0.0], [0.0, 0.5]])  # without its only row u has none
    np.testing.assert_array_equal(others, [[1.0, 0.0], [0.0, 1.0]])


# The choice


def test_the_least_loss_is_chosen_and_of_equals_the_fewest():
    assert best_model(np.array([[3.0, 3.0], [2.0, 1.0], [1.0 + 1e-14, 1.0]])) == (1, 1)
    assert best_model(np.array([[1.0, 1.0], [1.0, 1.0]])) == (0, 0)
    rows = random_rows(7, 60)
    clf = fitted(rows)
    a, k = len(clf.selected_), clf.k_
    assert clf.loss_table_[a, k] == clf.loss_table_.min() < clf.loss_table_[0, 0]


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_model_is_k_dependence_bayes_of_the_chosen_features(missing):
    rows = random_rows(8, 80, missing)
    clf, frame = fitted(rows, max_k=2), frame_of(rows)
    some = {name: frame[name] for name in [*sorted(clf.selected_), "y"]}
    plain = tb.KDBClassifier(clf.k_).fit(some, "y")
    assert clf.selected_
    assert clf.parents_ == plain.parents_
    np.testing.assert_allclose(clf.predict_proba(frame), plain.predict_proba(some), rtol=1e-12)


def test_noise_is_left_out_and_dependence_is_found():
    rng = np.random.default_rng(9)
    a, b = (rng.random((2, 2000)) < [[0.3], [0.2]]).astype(int)
    y = np.where(rng.random(2000) < 0.05, rng.integers(0, 2, 2000), a ^ b)
    X = np.column_stack([a, b, rng.integers(0, 3, (2000, 4))])
    clf = tb.SelectiveKDBClassifier(3, categorical="all").fit(X, y)
    assert set(clf.selected_[:2]) == {"x0", "x1"}
    assert len(clf.selected_) < 6
    assert clf.k_ > 0
    assert clf.score(X, y) > 0.95


def test_tables_that_would_be_too_large_lose_parents():
    rows = random_rows(10, 60)
    whole, small = fitted(rows, smoothing=1.0), fitted(rows, smoothing=1.0, max_cells=20)
    np.testing.assert_allclose(small.loss_table_[:, 0], whole.loss_table_[:, 0], rtol=1e-12)
    assert not np.allclose(small.loss_table_[:, 3], whole.loss_table_[:, 3])
    tiny = fitted(rows, smoothing=1.0, max_cells=1)
    np.testing.assert_array_equal(tiny.loss_table_[:, 3], tiny.loss_table_[:, 0])
    assert tiny.k_ == 0


def test_a_forecast_before_tables_are_made(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "9000")
    with pytest.raises(MemoryForecastError, match=r"the tables of all numbers of parents would need .* smaller max_k"):
        fitted(random_rows(11))


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(leave_one_out, "PIECE_ROWS", 64)
    rows = random_rows(12, 700)
    one, many = fitted(rows, n_jobs=1), fitted(rows, n_jobs=4)
    np.testing.assert_array_equal(one.loss_table_, many.loss_table_)


def test_odd_tables():
    frame = {"n": [None] * 6, "k": ["u"] * 6, "x": ["a", "b", "a", "b", "a", "b"], "y": ["p", "q"] * 3}
    clf = tb.SelectiveKDBClassifier().fit(frame, "y")
    assert clf.selected_ == ["x"]
    assert clf.loss_table_.shape == (3, 6)  # x and k; n has no value
    one = tb.SelectiveKDBClassifier().fit({"x": ["a", "b"], "y": ["p", "p"]}, "y")
    assert one.predict({"x": "b"}).tolist() == ["p"]
    nothing = tb.SelectiveKDBClassifier().fit({"n": [None, None], "y": ["p", "q"]}, "y")
    np.testing.assert_array_equal(nothing.predict_proba({"n": [None]}), [[0.5, 0.5]])


# Further rows and files


def test_partial_fit_keeps_the_choice_and_adds_counts():
    rows = random_rows(13, 120)
    first, rest = frame_of(rows[:90]), frame_of(rows[90:])
    clf = tb.SelectiveKDBClassifier(2).fit(first, "y")
    chosen, losses = clf.parents_, clf.loss_table_
    clf.partial_fit(rest)
    assert clf.parents_ == chosen
    np.testing.assert_array_equal(clf.loss_table_, losses)
    table = tb.as_table(frame_of(rows))
    for j, counts in clf.statistics_.families.counts.items():
        name = f"x{j}"
        wanted = tb.Counter(table).family(name, ["y", *chosen[name]]).dense()
        np.testing.assert_array_equal(counts.table, wanted.table)


def test_partial_fit_with_a_column_that_is_missing_altogether():
    frame = {"u": ["a", "b"] * 10, "v": ["x", "x", "y", "y"] * 5, "y": ["p", "q"] * 10}
    clf = tb.SelectiveKDBClassifier(smoothing=1.0).fit(frame, "y")
    again = clf.partial_fit({"u": [None, None], "v": ["x", "z"], "y": ["p", "r"]})
    assert again.classes_.tolist() == ["p", "q", "r"]
    np.testing.assert_allclose(again.predict_proba({"u": "a"}).sum(), 1.0, rtol=1e-12)


def test_a_saved_model_has_its_choice(tmp_path):
    clf = fitted(random_rows(14, 60))
    clf.save(tmp_path / "model.tb")
    same = tb.load(tmp_path / "model.tb")
    assert (same.k_, same.selected_, same.parents_) == (clf.k_, clf.selected_, clf.parents_)
    np.testing.assert_array_equal(same.loss_table_, clf.loss_table_)


@pytest.mark.parametrize("change", [{"selected": []}, {"k": -1}, {"losses": np.zeros((1, 1))}, {"losses": np.zeros(9)}])
def test_a_damaged_file_is_refused(change, tmp_path):
    from tunbridge.formats import write_model

    clf = fitted(random_rows(14, 60))
    content = clf.to_content()
    write_model(tmp_path / "model.tb", clf.kind, content | {"statistics": content["statistics"] | change})
    with pytest.raises(FormatError, match=r"does not (fit|belong)"):
        tb.load(tmp_path / "model.tb")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_k": -1}, "max_k must be at least 0; got -1."),
        ({"max_k": 1.5}, "max_k must be an integer; got 1.5."),
        ({"criterion": "logloss"}, "criterion must be one of 'log-loss', 'rmse', 'error'; got 'logloss'."),
        ({"max_cells": 0}, "max_cells must be at least 1; got 0."),
        ({"missing": "drop"}, "missing must be one of"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(DataError) as caught:
        fitted(random_rows(0), **settings)
    assert message in str(caught.value)


# In batches


def batches_of(frame: dict, size: int) -> list[dict]:
    n = len(next(iter(frame.values())))
    return [{name: column[i : i + size] for name, column in frame.items()} for i in range(0, n, size)]


def mixed_frame(n: int = 150, seed: int = 15) -> dict[str, list]:
    """Return columns of text, whole numbers, numbers, and a class that is sorted, so that batches miss classes."""
    rng = np.random.default_rng(seed)
    rows = random_rows(seed, n, missing=0.1)
    rows = rows[np.argsort(rows[:, -1], kind="stable")]
    ages = np.round(40 + 12 * rows[:, -1] + rng.normal(0, 6, n), 2).tolist()
    ages = [None if i % 11 == 3 else a for i, a in enumerate(ages)]
    return frame_of(rows) | {"age": ages, "flag": rng.integers(0, 2, n).tolist(), "count": rng.poisson(9, n).tolist()}


def assert_same(a: tb.SelectiveKDBClassifier, b: tb.SelectiveKDBClassifier, frame) -> None:
    np.testing.assert_array_equal(a.loss_table_, b.loss_table_)
    assert (a.k_, a.selected_, a.parents_) == (b.k_, b.selected_, b.parents_)
    assert a.classes_.tolist() == b.classes_.tolist()
    assert [v.states for v in a.variables_] == [v.states for v in b.variables_]
    assert a.statistics_.encoding.cuts == b.statistics_.encoding.cuts
    np.testing.assert_array_equal(a.predict_proba(frame), b.predict_proba(frame))
    np.testing.assert_array_equal(a.feature_names_in_, b.feature_names_in_)


@pytest.mark.parametrize("size", [10, 64, 1000])
@pytest.mark.parametrize("missing", ["marginal", "state"])
def test_batches_give_what_all_rows_give(size, missing, monkeypatch):
    monkeypatch.setattr(leave_one_out, "PIECE_ROWS", 32)
    frame = mixed_frame()
    whole = tb.SelectiveKDBClassifier(2, missing=missing).fit(frame, "y")
    parts = batches_of(frame, size)
    assert_same(tb.SelectiveKDBClassifier(2, missing=missing).fit_batches(parts, "y"), whole, frame)
    assert_same(tb.SelectiveKDBClassifier(2, missing=missing).fit_batches(lambda: iter(parts), "y"), whole, frame)


def test_batches_of_arrays_with_weights():
    rows = random_rows(16, 200)
    X, y, w = rows[:, :-1], rows[:, -1], np.random.default_rng(16).integers(0, 3, 200)
    clf = tb.SelectiveKDBClassifier(2, categorical="all")
    whole = tb.SelectiveKDBClassifier(2, categorical="all").fit(X, y, sample_weight=w)
    clf.fit_batches(lambda: ((X[i : i + 30], y[i : i + 30], w[i : i + 30]) for i in range(0, 200, 30)))
    np.testing.assert_allclose(clf.loss_table_, whole.loss_table_, rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_one_frame_is_one_batch_and_tables_bring_their_weights():
    frame = mixed_frame()
    table = tb.as_table(frame, weights=np.arange(150) % 3)
    whole = tb.SelectiveKDBClassifier(2).fit(table, "y")
    assert_same(tb.SelectiveKDBClassifier(2).fit_batches(table, "y"), whole, frame)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.parquet", "rows.arrow"])
def test_files(name, tmp_path):
    frame, path = mixed_frame(), tmp_path / name
    frame |= {"w": (np.arange(150) % 3).tolist()}
    table = pa.table(frame)
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, path)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    else:
        mark = "," if name.endswith("csv") else "\t"
        lines = [mark.join("" if v is None else str(v) for v in row.values()) for row in table.to_pylist()]
        path.write_text("\n".join([mark.join(frame), *lines]) + "\n")
    whole = tb.SelectiveKDBClassifier(2).fit(tb.read_table(path, weights="w"), "y")
    found = tb.SelectiveKDBClassifier(2).fit_batches(path, "y", weights="w", batch_rows=40)
    assert_same(found, whole, tb.read_table(path))
    assert [v.is_categorical for v in found.variables_] == [v.is_categorical for v in whole.variables_]


def test_classes_of_a_file_may_be_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{'ab'[i % 2]},{i % 2}\n" for i in range(20)))
    clf = tb.SelectiveKDBClassifier().fit_batches(path, "y", batch_rows=6)
    assert clf.classes_.tolist() == [0, 1]


def test_cut_points_come_from_a_sample_of_all_rows():
    """The rows are sorted by class, so that the first rows alone would give no cuts at all."""
    rng = np.random.default_rng(17)
    y = np.repeat(["a", "b"], 500)
    X = {"age": np.where(y == "a", 20.0, 60.0) + rng.normal(0, 3, 1000), "y": y}
    clf = tb.SelectiveKDBClassifier(0).fit_batches(batches_of(X, 100), "y", sample_rows=50)
    (cut,) = clf.statistics_.encoding.cuts[0].cuts
    assert 28 < cut < 52
    assert clf.score(X, "y") > 0.99
    same = tb.SelectiveKDBClassifier(0).fit_batches(batches_of(X, 1000), "y", sample_rows=50)
    assert same.statistics_.encoding.cuts[0].cuts == (cut,)


def test_a_sample_is_drawn_evenly():
    sample = several_passes._Sample(100)
    rows = tb.as_table({"x": np.arange(1000.0)})
    batch = Examples(rows, np.zeros(1000, np.intp), tb.Variable("class", ["a"]))
    for _ in range(10):
        sample.add(batch)
    sample._thin_out()
    (keys, _, _, numbers), *_ = sample.parts
    assert numbers.shape == (1, 100)
    assert keys.max() < 0.02
    assert len(set(numbers[0].tolist())) > 80


def test_what_was_learned_before_stays_when_batches_fail():
    rows = random_rows(18, 60)
    clf = fitted(rows, max_k=1)
    before = clf.predict_proba(frame_of(rows))
    with pytest.raises(DataError):
        clf.fit_batches([frame_of(rows), {"x0": ["s0"], "y": ["c0"]}], "y")
    np.testing.assert_array_equal(clf.predict_proba(frame_of(rows)), before)


def changing(frames):
    """Return a function that gives other frames each time."""
    calls = iter(frames)
    return lambda: [next(calls)]


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (iter([]), {}, "source must be readable several times; got a list_iterator. Give the function that makes it"),
        ([], {}, "source must give at least one batch of rows; got none."),
        (7, {}, "source must be a file, a list of batches, or a function that returns an iterable of them; got 7."),
        (lambda: 7, {}, "source must be a file, a list of batches, or a function"),
        (
            (np.zeros((4, 2)), [0, 1, 0, 1]),
            {"y": None},
            "a batch without classes must have y name their column; got None.",
        ),
        ([({}, [], [], [])], {}, "a batch must be a frame, (X, y) or (X, y, sample_weight); got 4 parts."),
        ([frame_of(random_rows(0))], {"y": "klass"}, "the target must be a column of the data; got 'klass'."),
        ([frame_of(random_rows(0))], {"weights": "w"}, "weights must be left out unless source is a file; got 'w'."),
        ([frame_of(random_rows(0))], {"sample_rows": 0}, "sample_rows must be at least 1; got 0."),
        ([frame_of(random_rows(0))], {"batch_rows": 0}, "batch_rows must be at least 1; got 0."),
        (
            changing([frame_of(random_rows(0)), frame_of(random_rows(0, 20))]),
            {},
            "source must give the same rows each time it is read; it had 30, then 20. A generator",
        ),
    ],
)
def test_bad_sources(source, settings, message):
    with pytest.raises(DataError) as caught:
        tb.SelectiveKDBClassifier(1).fit_batches(source, **{"y": "y", **settings})
    assert message in str(caught.value)


def test_a_generator_function_that_gives_the_same_generator():
    made = (frame for frame in [frame_of(random_rows(0))])
    with pytest.raises(DataError, match="it had 30, then 0"):
        tb.SelectiveKDBClassifier(1).fit_batches(lambda: made, "y")


def test_classes_that_change_between_readings():
    first, second = frame_of(random_rows(0)), frame_of(random_rows(0))
    second["y"] = ["other", *second["y"][1:]]
    with pytest.raises(DataError, match="source must give the same classes each time it is read; 'other' is new"):
        tb.SelectiveKDBClassifier(1).fit_batches(changing([first, second]), "y")


def test_bad_files(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\na,p\nb,q\n")
    for settings, message in [
        ({"y": None}, "y must name the column of the file that holds the classes; got None."),
        ({"y": "why"}, "y must name a column of the file; got 'why'. Known: 'x', 'y'."),
        ({"y": "y", "weights": "z"}, "weights must name a column of the file; got 'z'."),
    ]:
        with pytest.raises(DataError) as caught:
            tb.SelectiveKDBClassifier(1).fit_batches(path, **settings)
        assert message in str(caught.value)
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        tb.SelectiveKDBClassifier(1).fit_batches(tmp_path / "nowhere.csv", "y")


def test_a_column_that_turns_from_numbers_into_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{i},{'pq'[i % 2]}\n" for i in range(20)) + "many,p\n")
    with pytest.raises(DataError, match="column 'x' must hold"):
        tb.SelectiveKDBClassifier(1).fit_batches(path, "y", batch_rows=8)
