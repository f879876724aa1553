"""All pairwise counts: bit planes against a matrix product of 0/1 columns (BLAS) and pgmpy's Chow–Liu weights."""

from __future__ import annotations

import numpy as np

import tunbridge as tb
from benchmarks.harness import Result, best_of, interleaved, timed
from benchmarks.samples import alarm, table_of


def run() -> list[Result]:
    return [*alarm_pairs(), binary_pairs()]


def alarm_pairs() -> list[Result]:
    table, remark = alarm(100_000)
    counter = tb.Counter(table)
    warm, product = interleaved(counter.pairs, lambda: one_hot_product(table), 10)
    cold = best_of(lambda: tb.Counter(table).pairs(), 20)
    within = best_of(lambda: counter.pairs_within(table.names[0]), 10)
    extended, loop = interleaved(
        lambda: counter.extend(table.names[0], table.names[1:2]), lambda: extend_by_numpy(table), 10
    )
    results = [
        Result("all pairs, ALARM 100 000 × 37", warm, product, "NumPy 0/1 product", "≤ 2 ms", warm <= 2e-3, remark),
        Result("the same, planes built anew", cold, product, "NumPy 0/1 product", remark=remark),
        Result("all pairs within a class", within, remark=remark),
        Result("extend X ∣ P by 35 candidates", extended, loop, "np.bincount loop", remark=remark),
    ]
    return results + chow_liu(table, remark)


def chow_liu(table: tb.Table, remark: str) -> list[Result]:
    """All mutual informations, which is what a Chow–Liu tree is made of."""
    ours = best_of(lambda: tb.mutual_information(tb.Counter(table).pairs()), 10)
    try:
        from pgmpy.estimators import TreeSearch
    except ImportError:
        return [Result("mutual information of all pairs", ours, remark="pgmpy absent")]
    frame = table.take(np.arange(10_000)).to_pandas()
    small = tb.as_table(frame)
    ours = best_of(lambda: tb.mutual_information(tb.Counter(small).pairs()), 10)
    peer = timed(lambda: TreeSearch(frame, n_jobs=1).estimate(estimator_type="chow-liu", show_progress=False))
    return [
        Result(
            "mutual information of all pairs, 10 000 × 37",
            ours,
            peer,
            "pgmpy Chow–Liu",
            remark=f"{remark}; peer also spans the tree",
        )
    ]


def binary_pairs() -> Result:
    rng = np.random.default_rng(1)
    table = table_of([rng.integers(0, 2, 500_000, dtype=np.int8) for _ in range(2_000)], [2] * 2_000)
    counter = tb.Counter(table)
    counter.pairs(table.names[:2])
    rows = np.ascontiguousarray(np.array([table.codes(n)[:50_000] for n in table.names]).T, np.float32)
    ours, product = interleaved(counter.pairs, lambda: rows.T @ rows, 3)
    remark = "peer: sgemm on a tenth of the rows, times ten"
    return Result("all pairs, 500 000 × 2 000 binary", ours, 10 * product, "BLAS", "≤ 2.5 s", ours <= 2.5, remark)


def one_hot_product(table: tb.Table) -> np.ndarray:
    hot = [table.codes(v.name) == s for v in table.variables for s in range(v.n_states)]
    matrix = np.array(hot, np.float32)
    return matrix @ matrix.T


def extend_by_numpy(table: tb.Table) -> list[np.ndarray]:
    x, p, *candidates = (table.codes(n).astype(np.int64) for n in table.names)
    r = [v.n_states for v in table.variables]
    joint = p * r[0] + x
    return [np.bincount(joint * n + c, minlength=r[0] * r[1] * n) for c, n in zip(candidates, r[2:], strict=True)]
