"""Every example of the documentation runs, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tunbridge as tb
from page_runner import ROOT, Block, blocks_of, run_page
from tunbridge._core.registry import entries
from tunbridge.cli.app import command_of
from tunbridge.data import columns

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LANGUAGES = {"python", "pycon", "console", "text", "json", "csv", "dockerfile"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_come_out_as_written(page: Path, tmp_path: Path) -> None:
    differences = run_page(page, tmp_path)
    assert not differences, "\n\n".join(f"{name_of(page)}, {d}" for d in differences)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    """A block without a language, or with a misspelt one, would not be run and nobody would notice."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    odd = [(block.line, block.language) for block in blocks if block.language not in LANGUAGES]
    assert not odd


def test_every_option_of_the_command_line_is_on_its_page() -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    for name, verb in entries("verb").items():
        parameters = command_of(verb).params
        options = [o for p in parameters for o in (*p.opts, *p.secondary_opts) if o.startswith("--")]
        absent = [name for name in options if f"`{name}" not in page and name not in ("--help", "--help-all")]
        assert f"\n## {name}\n" in page
        assert not absent, f"{name}: {absent}"


def test_every_public_name_is_in_the_reference() -> None:
    shown = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    names = set(tb.__all__) - {"__version__", *vars(tb.errors)}  # the page of errors shows their whole module
    absent = [name for name in names if not re.search(rf"(?m)^::: tunbridge[\w.]*\.{name}\b", shown)]
    assert "\n::: tunbridge.errors\n" in shown
    assert not absent


def test_rules_of_kinds_are_those_that_the_code_states() -> None:
    stated = re.search(r"\n1\. .*\n5\. [^\n]*\n", columns.__doc__ or "", re.DOTALL)
    assert stated is not None
    assert stated[0] in (DOCS / "tables.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_wrong_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n\n```console\n$ echo a\nb\n$ false\n```\n")
    found = run_page(page, tmp_path)
    assert [(d.first, d.expected, d.got) for d in found] == [
        (3, "3\n", "2\n"),
        (8, "b\n", "a\n"),
        (10, "", "(exit code 1)\n"),
    ]


def test_failing_plain_code_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nraise LookupError\n```\n")
    with pytest.raises(LookupError):
        run_page(page, tmp_path)


def test_blocks_are_found_in_lists_and_tabs() -> None:
    text = '=== "Python"\n\n    ```python\n    >>> 2\n    2\n    ```\n'
    assert blocks_of(text) == [Block("python", "", 3, 4, ">>> 2\n2\n")]
