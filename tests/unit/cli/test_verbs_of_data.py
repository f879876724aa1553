"""``describe``, ``datasets`` and ``warmup``."""

from __future__ import annotations

from pathlib import Path

import pytest

import tunbridge as tb


def test_describe_shows_every_column(run, tmp_path: Path):
    names = [f"column_{i}" for i in range(60)]
    (tmp_path / "wide.csv").write_text(
        ",".join(names) + "\n" + ",".join(["-9"] * 60) + "\n" + ",".join(["b"] * 60) + "\n"
    )
    told = run("describe", "wide.csv", "--missing", "-9").stdout
    assert "2 rows, 60 columns, 60 missing values" in told
    assert all(f"  {name} " in told for name in names)
    assert "1 missing (-9)" in told


def test_describe_bad_files(run, tmp_path: Path):
    assert "must be a file that exists" in run("describe", "no.csv", code=1).stderr
    (tmp_path / "d.csv").write_text("a,b\n1\n")
    assert "as many fields in every row" in run("describe", "d.csv", code=1).stderr
    (tmp_path / "d.weird").write_text("a\n1\n")
    assert "as in --format csv" in run("describe", "d.weird", code=1).stderr


def test_datasets_are_listed_and_shown(run):
    told = run("datasets").stdout
    assert all(name in told for name in tb.datasets.names())
    shown = run("datasets", "play_tennis").stdout
    assert "Usual target: play" in shown
    assert "14 rows × 5 columns" in shown
    assert "Sunny" in shown
    assert "… and 9 more rows" in shown


def test_datasets_are_written(run, tmp_path: Path):
    for name, suffix in (("drug", "csv"), ("drug", "tsv"), ("drug", "parquet")):
        run("datasets", name, "-o", f"{name}.{suffix}")
        table = tb.read_table(tmp_path / f"{name}.{suffix}")
        assert table.to_arrow().to_pylist() == tb.datasets.drug().to_arrow().to_pylist()
    run("datasets", "allergy", "-o", "allergy.csv")
    weighted = tb.read_table(tmp_path / "allergy.csv", weights="weight")
    assert weighted.weights.tolist() == tb.datasets.allergy().weights.tolist()


def test_datasets_bad_input(run, tmp_path: Path):
    told = run("datasets", "pley_tennis", code=1).stderr
    assert "Did you mean 'play_tennis'?" in told
    assert "use --download" in told
    assert "must end in" in run("datasets", "drug", "-o", "drug.xlsx", code=1).stderr
    assert "-o must come with the name" in run("datasets", "-o", "drug.csv", code=2).stderr
    assert "is a folder" in run("datasets", "drug", "-o", _folder(tmp_path), code=1).stderr


def _folder(tmp_path: Path) -> Path:
    (tmp_path / "folder.csv").mkdir()
    return tmp_path / "folder.csv"


def test_warmup_compiles_and_says_so(run, monkeypatch):
    calls: list[int | None] = []
    monkeypatch.setattr("tunbridge.cli.verbs.warmup.warm_up", lambda report, n_jobs: calls.append(n_jobs))
    assert "All kernels are compiled; that took" in run("warmup").stdout
    assert calls == [None]  # every core


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Write a table in two files, and a third one that lacks a column."""
    lines = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 3 else 'no'}" for i in range(60)]
    lines[5] = "3,,yes"
    (tmp_path / "part-1.csv").write_text("x,y,ill\n" + "\n".join(lines[:30]) + "\n")
    (tmp_path / "part-2.csv").write_text("x,y,ill\n" + "\n".join(lines[30:]) + "\n")
    (tmp_path / "part-3.csv").write_text("x,ill\n1,yes\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("learn", "@", "-t", "ill", "--model", "nb", "-o", "z.tb"),
        ("evaluate", "@", "-t", "ill", "--model", "nb", "--folds", "2"),
        ("evaluate", "m.tb", "@"),
        ("describe", "@"),
        ("predict", "m.tb", "@", "-o", "p.csv"),
        ("explain", "m.tb", "@", "--row", "41"),
        ("impute", "@", "-o", "f.csv"),
        ("network", "learn", "@", "--cuts", "frequency", "-o", "z.tb"),
        ("network", "fit", "n.tb", "@", "-o", "z.tb"),
        ("network", "update", "n.tb", "@", "-o", "z.tb"),
        ("network", "impute", "n.tb", "@", "-o", "f.csv"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_every_verb_reads_several_files_as_a_pattern(run, parts: Path, command: tuple[str, ...]) -> None:
    run("learn", "part-1.csv", "-t", "ill", "--model", "nb", "-o", "m.tb")
    run("network", "learn", "part-1.csv", "--cuts", "frequency", "-o", "n.tb")
    told = run(*("part-[12].csv" if word == "@" else word for word in command)).stdout
    assert "60 rows" in told or command[0] == "explain"
    if command[0] != "explain":  # which reads no further than its row
        wrong = run(*("part-*.csv" if word == "@" else word for word in command), code=1).stderr
        assert "part-3.csv" in wrong
        assert "'y'" in wrong


@pytest.mark.parametrize("command", [("learn", "-t", "ill"), ("describe",), ("network", "learn")])
def test_a_second_file_is_answered_by_the_pattern(run, parts: Path, command: tuple[str, ...]) -> None:
    told = run(*command, "part-1.csv", "part-2.csv", code=2).stderr
    assert "Several files are one pattern in quotes, such as 'visits-*.csv'." in told
