"""Forward samples follow the joint distribution, and a sampler that is slightly wrong does not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from oracles.sampling import joint, random_network, sample_rows, xoshiro
from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.inference.flat import flatten
from tunbridge.inference.sampling import forward
from tunbridge.inference.sampling.forward import BLOCK, code_table, sample_codes
from tunbridge.kernels.compiled import plain
from tunbridge.kernels.inference.sampling import LANES, ROWS, _fill_draws, _pick, fill_limits
from tunbridge.probability import CPT

COIN = Variable("coin", ["head", "tail"])
WHOLE = 2**62


def deviance(columns, expected):
    """Return Pearson's statistic of the joint counts, the rows outside its support, and its 1 − 10⁻⁶ quantile."""
    n = len(columns[0])
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(columns), 1)
    possible = expected > 0
    statistic = float(((counts - n * expected)[possible] ** 2 / (n * expected[possible])).sum())
    return statistic, counts[~possible].sum(), chi2.isf(1e-6, possible.sum() - 1)


def limits_of(*row):
    limits = np.empty(len(row), np.int64)
    fill_limits(np.array(row), np.array([len(row)]), np.array([0, len(row)]), limits)
    return limits


# The generator


def test_generator_gives_the_published_numbers():
    known = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205, 9973669472204895162]
    stream = xoshiro([1, 2, 3, 4])
    assert [next(stream) for _ in known] == known
    state, draws = np.repeat(np.array([[1], [2], [3], [4]], np.uint64), LANES, axis=1), np.empty(6 * LANES, np.int64)
    plain(_fill_draws)(state, draws)
    np.testing.assert_array_equal(draws.reshape(6, LANES), np.array([[n >> 2] * LANES for n in known]))


def test_lanes_and_blocks_have_streams_of_their_own():
    words = np.concatenate([forward.stream(5, block).ravel() for block in range(50)])
    assert len(set(words.tolist())) == words.size


def test_draws_are_uniform():
    draws = np.empty(2**20, np.int64)
    plain(_fill_draws)(forward.stream(0, 0), draws)
    for low in (54, 27, 0):  # leading, middle and last bits
        counts = np.bincount((draws >> low) & 255, minlength=256)
        statistic = ((counts - 4096) ** 2 / 4096).sum()
        assert chi2.isf(1 - 1e-6, 255) < statistic < chi2.isf(1e-6, 255)


# The limits


@pytest.mark.parametrize("row", [[0.1, 0.2, 0.7], [1e-15, 1 - 1e-15], [1 / 3, 1 / 3, 1 / 3], [0.0, 1.0, 0.0], [1.0]])
def test_limits_keep_every_probability(row):
    limits = limits_of(*row)
    widths = np.diff(limits, prepend=0)
    assert limits[-1] == WHOLE
    assert all(w == 0 for w, p in zip(widths.tolist(), row, strict=True) if p == 0)
    np.testing.assert_allclose(widths / WHOLE, row, rtol=1e-15, atol=2e-16)  # the rest of rounding: an ulp of one
    rarest = min(p for p in row if p)
    assert widths[row.index(rarest)] == pytest.approx(rarest * WHOLE, rel=1e-3)


@pytest.mark.parametrize("row", [[0, 1], [1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0.5, 0, 0.5, 0], [1]])
def test_extreme_draws_never_give_an_impossible_state(row):
    draws = np.full(ROWS, WHOLE - 1)
    draws[: ROWS // 2] = 0
    out = np.empty(ROWS, np.int8)
    plain(_pick)(
        limits_of(*map(float, row)), len(row), (draws, np.zeros(ROWS, np.uint32), np.zeros(ROWS, np.uint32)), out
    )
    possible = np.flatnonzero(row)
    assert out[0] == possible[0]
    assert out[-1] == possible[-1]


# The rows


def test_rows_are_those_of_plain_loops():
    flat = flatten(random_network(3, 5, most_states=7, zeros=0.2))
    n = BLOCK + 40
    expected = sample_rows(flat, n, 11, rows=ROWS, lanes=LANES, tiles=BLOCK // ROWS)
    np.testing.assert_array_equal(np.stack(sample_codes(flat, n, 11), axis=1), expected)


@pytest.mark.parametrize("seed", range(6))
def test_rows_follow_the_joint_distribution(seed):
    cpts = random_network(seed, 5, zeros=0.25)
    statistic, impossible, limit = deviance(sample_codes(flatten(cpts), 300_000, seed), joint(cpts))
    assert statistic < limit
    assert impossible == 0


def test_a_slightly_wrong_sampler_would_be_found():
    right = random_network(1, 5)
    wrong = [CPT(c.variable, c.parents, 0.98 * c.table() + 0.02 / c.variable.n_states) for c in right]
    statistic, _, limit = deviance(sample_codes(flatten(wrong), 300_000, 1), joint(right))
    assert statistic > limit


def test_rows_are_independent():
    [codes] = sample_codes(flatten([CPT(COIN, table=[0.3, 0.7])]), 400_000, 2)
    for lag in (1, LANES, ROWS, BLOCK):
        assert abs(np.corrcoef(codes[:-lag], codes[lag:])[0, 1]) < 5 / np.sqrt(codes.size)


def test_rows_do_not_depend_on_threads():
    flat = flatten(random_network(4, 6))
    one, *others = (sample_codes(flat, 3 * BLOCK + 5, 7, n_jobs=n_jobs) for n_jobs in (1, 2, 4))
    for other in others:
        np.testing.assert_array_equal(np.stack(other), np.stack(one))


@pytest.mark.parametrize("n", [0, 1, ROWS - 1, ROWS, ROWS + 1, BLOCK, BLOCK + 1])
def test_fewer_rows_are_the_first_ones(n):
    flat = flatten(random_network(4, 6))
    every = np.stack(sample_codes(flat, 2 * BLOCK, 7))
    np.testing.assert_array_equal(np.stack(sample_codes(flat, n, 7)), every[:, :n])


def test_seeds():
    flat = flatten([CPT(COIN, table=[0.5, 0.5])])

    def drawn(random_state):
        return sample_codes(flat, 200, random_state)[0].tolist()

    assert drawn(1) == drawn(np.int64(1)) != drawn(2)
    assert drawn(np.random.default_rng(1)) == drawn(np.random.default_rng(1))
    rng = np.random.default_rng(1)
    assert drawn(rng) != drawn(rng)
    assert drawn(None) != drawn(None)


def test_types_of_codes():
    sizes = [1, 2, 127, 128, 300]
    cpts = [CPT(Variable(f"v{r}", range(r)), table=np.full(r, 1 / r)) for r in sizes]
    columns = sample_codes(flatten(cpts), 20_000, 0)
    assert [c.dtype for c in columns] == [np.int8, np.int8, np.int8, np.int16, np.int16]
    assert [int(c.max()) for c in columns] == [r - 1 for r in sizes]
    for r, codes in zip(sizes[1:], columns[1:], strict=True):
        counts = np.bincount(codes, minlength=r)
        assert ((counts - 20_000 / r) ** 2 / (20_000 / r)).sum() < chi2.isf(1e-6, r - 1)


def test_places_of_enormous_tables(monkeypatch):
    flat = flatten(random_network(8, 6, most_states=5))
    expected = np.stack(sample_codes(flat, 3000, 0))
    wide = (np.empty(ROWS, np.int64), np.empty(ROWS, np.uint64), np.empty(ROWS, np.uint64))
    monkeypatch.setattr(forward, "room_of", lambda flat: wide)
    np.testing.assert_array_equal(np.stack(sample_codes(flat, 3000, 0, n_jobs=1)), expected)


def test_a_table_of_samples():
    dose = Variable("dose", [0, 5, 10], ordered=True)
    cpts = [CPT(COIN, table=[0.5, 0.5]), CPT(dose, [COIN], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])]
    flat = flatten(cpts)
    table = code_table(flat.variables, sample_codes(flat, 1000, 3))
    assert table.variables == (COIN, dose)
    arrow = table.to_arrow()
    assert arrow.schema.field("coin").type == pa.dictionary(pa.int8(), pa.string())
    assert arrow.schema.field("dose").type == pa.dictionary(pa.int8(), pa.int64(), ordered=True)
    assert set(zip(*(arrow[name].to_pylist() for name in arrow.column_names), strict=True)) == {
        ("head", 5), ("head", 10), ("tail", 0),
    }  # fmt: skip


def test_a_network_without_variables():
    assert sample_codes(flatten([]), 10, 0) == []


# What is refused


@pytest.mark.parametrize("n", [-1, 1.5, True, "ten"])
def test_bad_numbers_of_rows(n):
    with pytest.raises(DataError, match=r"n must be (an integer|at least 0); got"):
        sample_codes(flatten([CPT(COIN, table=[0.5, 0.5])]), n)


@pytest.mark.parametrize("n", [2**63, 10**400, -(10**5000)], ids=["64 bits", "400 digits", "negative"])
def test_numbers_of_rows_that_no_array_has(n):
    with pytest.raises(DataError, match=r"n must be an integer from 0 to 2\*\*63 - 1; got one of \d+ bits"):
        sample_codes(flatten([CPT(COIN, table=[0.5, 0.5])]), n)


@pytest.mark.parametrize("random_state", [-1, 0.5, "seed", False])
def test_bad_seeds(random_state):
    with pytest.raises(DataError, match="random_state must be a non-negative integer, a numpy Generator or None; got"):
        sample_codes(flatten([CPT(COIN, table=[0.5, 0.5])]), 1, random_state)


def test_too_many_rows():
    with pytest.raises(MemoryForecastError, match=r"10000000000000 rows of 1 variables would need 9.1 TiB"):
        sample_codes(flatten([CPT(COIN, table=[0.5, 0.5])]), 10**13)
