"""Reading a CSV file into a Table, against pyarrow's own reading of the same file.

The file is written plain and with every field quoted. In a quoted file a field may hold line ends; read_table asks
Arrow to expect that, which costs about a third more, and the plain call of the peer does not.
"""

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
        return [
            measured(table, Path(folder) / "plain.csv", "none", remark),
            measured(table, Path(folder) / "quoted.csv", "all_valid", f"{remark}, every field quoted"),
        ]


def measured(table: tb.Table, path: Path, quoting: str, remark: str) -> Result:
    pyarrow.csv.write_csv(table.to_arrow(), path, pyarrow.csv.WriteOptions(quoting_style=quoting))
    ours, peer = interleaved(lambda: tb.read_table(path), lambda: pyarrow.csv.read_csv(path), 5)
    told = f"{ours / peer:.2f} × its time; {path.stat().st_size / 2**20:.0f} MiB, {remark}"
    work = "CSV, 1 000 000 × 37, into a Table"
    return Result(work, ours, peer, "pyarrow.csv.read_csv", "≤ 2 × its time", ours <= 2 * peer, told)
