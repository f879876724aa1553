"""The README's examples run: its Python blocks, and its ``tunbridge`` commands."""

from __future__ import annotations

from pathlib import Path

import pytest

import tunbridge as tb
from page_runner import ROOT, blocks_of, run_page

README = ROOT / "README.md"

# The README speaks of files that its reader has; these stand for them.
PASSENGERS = """Survived,Pclass,Name,Sex,Age
no,3,Braund,male,22
yes,1,Cumings,female,38
yes,3,Heikkinen,female,26
yes,1,Futrelle,female,35
no,3,Allen,male,35
no,3,Moran,male,
no,1,McCarthy,male,54
yes,2,Nasser,female,14
"""
NEW = "Pclass,Name,Sex,Age\n3,Kelly,male,34\n2,Wilkes,female,\n"
MESSAGES = """label,text
spam,"You have won a prize, call now"
spam,Win free tickets now
ham,Are you free for lunch?
ham,"Lunch at noon, see you"
"""


def run_readme(readme: Path, folder: Path) -> list[str]:
    (folder / "passengers.csv").write_text(PASSENGERS)
    (folder / "new.csv").write_text(NEW)
    (folder / "messages.csv").write_text(MESSAGES)
    asia = tb.example_network("asia")
    asia.write(folder / "asia.bif")
    for name, n in (("visits", 50), ("later", 10)):
        rows = asia.sample(n, random_state=n).to_pandas()
        rows.loc[::3, "lung"] = None
        rows.to_csv(folder / f"{name}.csv", index=False)
    return [str(difference) for difference in run_page(readme, folder, lenient=True)]


def test_examples_come_out_as_written(tmp_path: Path) -> None:
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    if not any(block.language in ("python", "pycon", "console") for block in blocks):
        pytest.fail("the README has no examples")
    assert run_readme(README, tmp_path) == []


def test_failing_command_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ tunbridge learn passengers.csv --target Drowned\n```\n")
    (found,) = run_readme(page, tmp_path)
    assert "--target must name a column of passengers.csv; got 'Drowned'" in found
