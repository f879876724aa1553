"""Reading a CSV file into a Table, against pyarrow's own reading of the same file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.csv

import tunbridge as tb
from benchmarks.harness import Result, interleaved
from benchmarks.samples import alarm


def run() -> list[Result]:
    table, remark = alarm(1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alarm.csv"
        pyarrow.csv.write_csv(table.to_arrow(), path)
        ours, peer = interleaved(lambda: tb.read_table(path), lambda: pyarrow.csv.read_csv(path))
        size = path.stat().st_size / 2**20
    return [
        Result(
            "CSV, 1 000 000 × 37, into a Table",
            ours,
            peer,
            "pyarrow.csv.read_csv",
            "≤ 2 × its time",
            ours <= 2 * peer,
            f"{size:.0f} MiB, {remark}",
        )
    ]
