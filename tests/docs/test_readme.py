"""The README's examples run: its Python blocks, and its ``tunbridge`` commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_runner import ROOT, blocks_of, run_page

README = ROOT / "README.md"


def run_readme(readme: Path, folder: Path) -> list[str]:
    return [str(difference) for difference in run_page(readme, folder, lenient=True)]


def test_examples_come_out_as_written(tmp_path: Path) -> None:
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    if not any(block.language in ("python", "pycon", "console") for block in blocks):
        pytest.fail("the README has no examples")
    assert run_readme(README, tmp_path) == []


def test_failing_command_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ tunbridge datasets get titanic\n$ tunbridge learn passengers.csv --target Drowned\n```\n"
    )
    (found,) = run_readme(page, tmp_path)
    assert "--target must name a column of passengers.csv; got 'Drowned'" in found
