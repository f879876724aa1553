"""The data sets of the accuracy benchmarks, and the figures of others that stand beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import tunbridge as tb

UCI = (
    "australian", "breast", "chess", "cleve", "corral", "crx", "flare", "german", "glass", "glass2", "heart",
    "hepatitis", "iris", "letter", "lymphography", "mofn-3-7-10", "pima", "satimage", "segment", "shuttle",
    "soybean-large", "vehicle", "vote", "waveform-21",
)  # fmt: skip
"""The sets of Friedman, Geiger & Goldszmidt (1997); diabetes and pima are one, shuttle is the whole of it."""

_ALL_NOMINAL = {"corral", "flare", "mofn-3-7-10"}
_CODED = {"australian": ("A1", "A4", "A5", "A6", "A8", "A9", "A11", "A12")}


class Labelled(NamedTuple):
    """A table and the name of its class column."""

    name: str
    table: tb.Table
    target: str


def uci_set(data: Path, name: str) -> Labelled:
    """Return one of the sets; numbers are numeric, except where they are codes, as in the measurements with Weka."""
    file = data / "uci" / f"{name}.csv"
    file = file if file.exists() else file.with_suffix(".csv.gz")
    plain = tb.read_table(file)
    target = plain.names[-1]
    kinds = {c: "categorical" for c in plain.names if c == target or name in _ALL_NOMINAL or c in _CODED.get(name, ())}
    return Labelled(name, tb.read_table(file, kinds=kinds), target)


def categorical_sets(data: Path) -> list[Labelled]:
    """Return all sets of categories alone that have a class and 1 000 rows or more."""
    found = [uci_set(data, name) for name in ("chess", "flare", "mofn-3-7-10")]
    for name, target in (("mushroom", "class"), ("titanic", "survived")):
        found.append(Labelled(name, tb.read_table(data / "tabular" / f"{name}.csv", kinds="categorical"), target))
    return [*found, _splice(data / "sequences" / "splice.csv")]


def _splice(file: Path) -> Labelled:
    """Return the splice junctions with a column for each of the 60 positions."""
    table = tb.read_table(file)
    text = table.to_pandas()
    sequence = next(c for c in text.columns if text[c].astype(str).str.len().eq(60).all())
    columns = {f"p{i + 1:02}": text[sequence].str[i] for i in range(60)}
    return Labelled("splice", tb.as_table({**columns, "class": text["class"]}), "class")


def published(file: Path) -> dict[str, dict[str, float]]:
    """Return the figures of the first table of a page whose head begins with «data set», by set and column."""
    lines = iter(file.read_text(encoding="utf-8").splitlines())
    head = next(_cells(line) for line in lines if line.startswith("| data set"))[1:]
    found: dict[str, dict[str, float]] = {}
    for line in lines:
        if not line.startswith("|"):
            break
        name, *figures = _cells(line)
        numbers = {c: float(f) for c, f in zip(head, figures, strict=True) if f.replace(".", "", 1).isdigit()}
        if numbers and not name.startswith("**"):
            found[name] = numbers
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
