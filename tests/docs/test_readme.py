"""The README's examples run: its Python blocks, and its ``tunbridge`` commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_runner import ROOT, blocks_of, run_page

README = ROOT / "README.md"


def test_examples_come_out_as_written(tmp_path: Path) -> None:
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    if not any(block.language in ("python", "pycon", "console") for block in blocks):
        pytest.skip("the README has no examples")
    differences = run_page(README, tmp_path, lenient=True)
    assert not differences, "\n\n".join(f"README.md, {d}" for d in differences)
