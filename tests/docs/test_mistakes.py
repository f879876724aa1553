"""The sentences that people get for their mistakes are those of ``mistakes.md``, and the remedies in them work."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from page_runner import ROOT, blocks_of, run_page

PAGE = ROOT / "tests" / "docs" / "mistakes.md"
FEWEST = 40


def test_the_sentences_are_those_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", sys.executable)  # the page changes it, and an error may end the page
    differences = run_page(PAGE, tmp_path)
    assert not differences, "\n\n".join(map(str, differences)) + "\n\nmake mistakes writes what is said now."


def test_mistakes_are_numbered_and_no_traceback_reaches_a_person() -> None:
    text = PAGE.read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"(?m)^## (\d+)\. ", text)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= FEWEST
    shown = [block.text for block in blocks_of(text) if block.language == "console"]
    assert not [each for each in shown if "Traceback" in each or "should not happen" in each]
    raised = re.findall(r"(?m)^([\w.]+(?:Error|Warning)): ", text)
    assert {name.partition(".")[0] for name in raised} == {"tunbridge"}
