from __future__ import annotations

import json

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.counts import Counter, counter
from tunbridge.counts.information import pair_divergence, pair_information
from tunbridge.errors import DataError
from tunbridge.learning.searches.sparse_candidate import _exact_discrepancy


def columns_of(table: tb.Table) -> Counter:
    return Counter(table.select(sorted(table.names)), n_jobs=2)


def pair_discrepancy(data: Counter, model: Counter) -> np.ndarray:
    return pair_divergence(data, model, lambda share: None)


def random_table(seed: int, *, missing: float = 0.0, n: int = 9, rows: int = 700) -> tb.Table:
    rng = np.random.default_rng(seed)
    frame = {}
    for i in range(n):
        states = [1, 2, 3, 5, 25][int(rng.integers(5))]
        codes = rng.integers(0, states, rows)
        frame[f"v{i}"] = np.where(rng.random(rows) < missing * (i % 2), None, np.char.add("s", codes.astype(str)))
    return tb.as_table(frame, kinds="categorical")


@pytest.fixture(params=[1 << 23, 300])
def block_cells(request, monkeypatch):
    """All variables in one block, or hardly more than one variable in each."""
    monkeypatch.setattr(counter, "_BLOCK_CELLS", request.param)


@pytest.mark.usefixtures("block_cells")
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_information_in_blocks_is_information(missing: float) -> None:
    for seed in range(5):
        table = random_table(seed, missing=missing)
        expected = tb.mutual_information(tb.Counter(table.select(sorted(table.names))).pairs())
        found = pair_information(columns_of(table), dtype=np.float32).information
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("block_cells")
def test_discrepancy_in_blocks_is_the_divergence_of_tables() -> None:
    data, model = random_table(1), random_table(1).take(np.arange(300))
    found = pair_discrepancy(columns_of(data), columns_of(model))
    names = sorted(data.names)
    for a in range(len(names)):
        for b in range(a):
            ours, theirs = (tb.Counter(t).pairs().table(names[a], names[b]).astype(float) for t in (data, model))
            p, q = ours / ours.sum(), (theirs + 1 / theirs.size) / (theirs.sum() + 1)
            expected = float((p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum())
            assert found[a, b] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_exact_and_sampled_discrepancy_agree() -> None:
    net = tb.example_network("asia")
    columns = columns_of(net.sample(5_000, random_state=1))
    exact = _exact_discrepancy(columns, net)
    sampled = pair_discrepancy(columns, columns_of(net.sample(400_000, random_state=2)))
    assert exact.max() < 0.01  # the network is the true one
    np.testing.assert_allclose(sampled, exact, atol=2e-4)  # sampling error


@pytest.mark.parametrize("measure", [None, "discrepancy", "shielding", "score", "information"])
def test_the_score_never_falls_and_candidates_are_kept_to(measure: str | None) -> None:
    table = tb.example_network("asia").sample(4_000, random_state=3)
    search = tb.SparseCandidate(k=2, measure=measure, inner=tb.Tabu(patience=20))
    one = tb.learn_structure(table, search=tb.SparseCandidate(k=2, max_rounds=1), random_state=0)
    dag = tb.learn_structure(table, search=search, random_state=0)
    assert dag.score >= one.score - 1e-9
    assert max(len(dag.parents(node)) for node in dag.nodes) <= 2


def test_enough_candidates_find_what_a_climb_finds() -> None:
    table = tb.example_network("asia").sample(4_000, random_state=3)
    dag = tb.learn_structure(table, search=tb.SparseCandidate(k=7, inner=tb.HillClimbing()), random_state=0)
    assert dag.score >= tb.learn_structure(table).score - 1e-9


def test_a_later_round_finds_what_information_misses() -> None:
    """Parity: each parent alone tells nothing, so that information ranks the noisy copies of the child higher."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4_000))
    c = (a ^ b) ^ (rng.random(4_000) < 0.05)
    frame = {"a": a, "b": b, "c": c} | {f"n{i}": c ^ (rng.random(4_000) < 0.4) for i in range(4)}
    table = tb.as_table({name: column.astype(int).astype(str) for name, column in frame.items()})
    first = tb.learn_structure(table, search=tb.SparseCandidate(k=4, max_rounds=1))
    assert not first.has_arc("a", "c")
    known = tb.Constraints(required=["a->c"])
    later = tb.learn_structure(table, search=tb.SparseCandidate(k=2, measure="score"), constraints=known)
    assert set(later.parents("c")) >= {"a", "b"}


def test_checkpoints(tmp_path) -> None:
    table = tb.example_network("asia").sample(4_000, random_state=3)
    file = tmp_path / "run.json"
    search = tb.SparseCandidate(k=3, checkpoint=file)
    whole = tb.learn_structure(table, search=search, random_state=0)
    assert {tuple(arc) for arc in json.loads(file.read_text())["arcs"]} == set(whole.arcs)
    again = tb.learn_structure(table, search=search, random_state=0)
    assert again.score >= whole.score - 1e-9
    assert len(again.trace) < len(whole.trace)
    with pytest.raises(DataError, match=r"the checkpoint must have the same columns; .* Delete it"):
        tb.learn_structure(table.drop(["xray"]), search=search)
    with pytest.raises(DataError, match="the checkpoint must satisfy the constraints"):
        tb.learn_structure(table, search=search, constraints=tb.Constraints(leaves=[whole.arcs[0][0]]))
    file.write_text("{")
    with pytest.raises(DataError, match="the checkpoint must be a file written by a search"):
        tb.learn_structure(table, search=search)


def test_continuous_columns_are_ranked_by_score() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    frame = {"a": a, "b": a + rng.normal(size=500), "c": rng.normal(size=500)}
    dag = tb.learn_structure(frame, search=tb.SparseCandidate(k=1))
    assert dag.skeleton().edges == (("a", "b"),)
    with pytest.raises(DataError, match="measure must be 'score' or 'information' if columns are continuous"):
        tb.learn_structure(frame, search=tb.SparseCandidate(k=1, measure="discrepancy"))


def test_weighted_rows_are_ranked_by_score() -> None:
    table = tb.example_network("asia").sample(3_000, random_state=3)
    search = tb.SparseCandidate(k=3)
    weighted = tb.learn_structure(table.with_weights(np.ones(3_000)), search=search)
    assert weighted == tb.learn_structure(table, search=tb.SparseCandidate(k=3, measure="score"))


def test_seconds_go_on_from_round_to_round() -> None:
    table = tb.example_network("asia").sample(3_000, random_state=3)
    dag = tb.learn_structure(table, search=tb.SparseCandidate(k=2), random_state=0)
    assert (np.diff([move.seconds for move in dag.trace]) >= 0).all()


def test_a_checkpoint_that_cannot_be_written_is_told_of(tmp_path, monkeypatch) -> None:
    for file in (tmp_path / "none" / "x.json", tmp_path):
        with pytest.raises(DataError, match="checkpoint must be a file in a folder that exists"):
            tb.SparseCandidate(checkpoint=file)
    for file in ("", 3):
        with pytest.raises(DataError, match="checkpoint must be the name of a file"):
            tb.SparseCandidate(checkpoint=file)  # type: ignore[arg-type]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    table = tb.example_network("asia").sample(500, random_state=3)
    dag = tb.learn_structure(table, search=tb.SparseCandidate(checkpoint=tmp_path / "run.json", max_rounds=1))
    assert "the checkpoint could not be written" in dag.note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1; got 0"),
        ({"k": 2.5}, "k must be an integer; got 2.5"),
        ({"measure": "mutual"}, "measure must be one of"),
        ({"inner": "tabu"}, "inner must be HillClimbing or Tabu; got 'tabu'"),
        ({"max_rounds": 0}, "max_rounds must be at least 1"),
    ],
)
def test_options_are_checked(options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tb.SparseCandidate(**options)
