"""User-visible text uses the words of the glossary: strings of the package, the documentation, the README."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from page_runner import ROOT

WORDS = {
    r"unless (?:said|given|told|asked)|when nobody says|where nobody says": "default: …",
    r"(?<!--)\bholes?\b|cells? that (?:is|are) not there": "missing values",
    r"chance does|decided by chance": "random seed",
    r"stands between fields": "delimiter",
    r"\bput (?:the )?probabilities right|\bput right\b": "calibrate",
    r"held out in turns|parts of (?:that|the) cross-validation": "cross-validation, folds",
    r"\bwhole[- ]numbers?\b": "integer",
    r"\btruth values?\b": "boolean",
    r"\bcut points?\b|numbers? that (?:is|are) cut|\bcut into (?:intervals|bins)\b": "bins, bin edges, discretize",
    r"(?:was|were) not there (?:at|when|before)": "unseen categories",
    r"\bmanners\b|\b(?:is|are|was|were|be|been) told\b|\basked of\b|\bspeaks?\b": "say what it does",
    r"(?<!the )\brests? on\b|who has to wait|(?<!author = )\b(?:some|no)body\b": "say what it does",
    r"\bthe (?:well|ill)\b(?!-)|P\(\+ \| (?:well|ill)\)": "healthy, diseased",
    r"must settle|had not settled|until it settles|has settled": "did not converge in … iterations",
    r"other letters than small ones": "case-sensitive",
    r"\ba word to\b": "delete it",
}
BANNED = re.compile("|".join(f"(?:{pattern})" for pattern in WORDS), re.IGNORECASE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "src").rglob("*.py"))


def texts_of(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module, docstrings and the parts of f-strings included."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def found_in(lines: Iterator[tuple[int, str]]) -> list[str]:
    return [f"line {number}: {m[0]!r} in {text[max(0, m.start() - 30) : m.end() + 30]!r}"
            for number, text in lines for m in BANNED.finditer(text)]  # fmt: skip


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_strings_of_a_module(module: Path) -> None:
    assert not found_in(texts_of(module))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_of_a_page(page: Path) -> None:
    if page.name == "glossary.md":
        pytest.skip("it lists the words that are not used")
    assert not found_in(enumerate(page.read_text("utf-8").splitlines(), start=1))


def test_the_test_finds_what_it_is_for() -> None:
    assert found_in(iter([(1, "A whole number, 0 unless said"), (2, "an integer, default: 0")])) != []
    assert found_in(iter([(2, "an integer, default: 0")])) == []
