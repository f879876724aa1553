"""The data that are measured: real ones from the development data where these are beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

import tunbridge as tb
from tunbridge.data import Column

ALARM_STATES = [
    2,
    3,
    4,
    3,
    2,
    3,
    3,
    4,
    2,
    2,
    3,
    3,
    2,
    4,
    3,
    2,
    2,
    3,
    3,
    2,
    4,
    2,
    3,
    3,
    2,
    3,
    2,
    4,
    3,
    3,
    2,
    3,
    3,
    4,
    2,
    3,
    3,
]


def shared() -> Path | None:
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TUNBRIDGE_SHARED_DATA", default))
    return folder if folder.is_dir() else None


def network_files() -> dict[str, Path]:
    """Return the files of the repository networks by name; none where the development data are absent."""
    folder = shared()
    return {} if folder is None else {path.stem: path for path in sorted((folder / "networks").glob("*.bif"))}


NO_NETWORKS = "the repository networks (networks/*.bif of the development data) are not beside the repository"


def alarm(n_rows: int) -> tuple[tb.Table, str]:
    """Return n_rows × 37 ALARM rows (the 20 000 of the bnlearn set repeated), or random ones of that shape."""
    folder = shared()
    if folder is None:
        rng = np.random.default_rng(0)
        return table_of(
            [rng.integers(0, r, n_rows) for r in ALARM_STATES], ALARM_STATES
        ), "random rows of ALARM's shape"
    table = tb.read_table(folder / "bnlearn" / "alarm.csv.gz")
    return table.take(np.arange(n_rows) % table.n_rows), "bnlearn's alarm rows, repeated"


def table_of(codes: list[np.ndarray], n_states: list[int]) -> tb.Table:
    columns = [
        Column(tb.Variable(f"v{j}", range(r)), c.astype(np.int8, copy=False), pa.int64())
        for j, (c, r) in enumerate(zip(codes, n_states, strict=True))
    ]
    return tb.Table.of(columns)


def sampled_columns(n_columns: int, n_rows: int, n_states: int, *, most_parents: int = 3, seed: int = 0) -> tb.Table:
    """Return rows of a random network: every column depends on up to some of the fifty before it.

    Drawn column by column, so that tables of any size can be made without a network object.
    """
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for i in range(n_columns):
        near = i - 1 - rng.permutation(min(i, 50))[: rng.integers(0, most_parents + 1)]
        configuration = np.zeros(n_rows, np.int32)
        for p in near:
            configuration = configuration * n_states + columns[p]
        rows = rng.dirichlet(np.full(n_states, 0.5), n_states ** len(near)).cumsum(axis=1).astype(np.float32)
        draw = rng.random(n_rows, dtype=np.float32)
        code = np.zeros(n_rows, np.int8)
        for k in range(n_states - 1):
            code += draw > rows[configuration, k]
        columns.append(code)
    return table_of(columns, [n_states] * n_columns)
