"""A runner for the command line, and small files to run it on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tunbridge.cli.app import app
from tunbridge.data import datasets
from tunbridge.network import BayesianNetwork, example_network

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command line in an empty folder and checks its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUNBRIDGE_DATA", raising=False)
    monkeypatch.setenv("TUNBRIDGE_CACHE", str(tmp_path / "cache"))

    def invoke(*args: object, code: int = 0) -> Any:
        result = CliRunner().invoke(app, [str(a) for a in args], prog_name="tunbridge")
        first, _, rest = result.stderr_bytes.partition(b"\n")
        if first.endswith(b"the old spelling still works."):
            result.stderr_bytes = rest
        told = result.stdout + result.stderr
        assert result.exit_code == code, told
        assert "Traceback" not in told
        if code:
            assert result.stderr.count("\n") == 1, result.stderr
            assert result.stderr.startswith("tunbridge: ")
        return result

    return invoke


@pytest.fixture
def tennis(run: Run, tmp_path: Path) -> Path:
    """Return the play-tennis table as a CSV file."""
    path = tmp_path / "tennis.csv"
    run("datasets", "play_tennis", "-o", path)
    assert path.read_text().count("\n") == datasets.play_tennis().n_rows + 1
    return path


@pytest.fixture
def model(run: Run, tennis: Path, tmp_path: Path) -> Path:
    """Return a model of the play-tennis table, learned without smoothing."""
    path = tmp_path / "tennis.tb"
    run("learn", tennis, "--target", "play", "-o", path, "--smoothing", "0")
    return path


@pytest.fixture
def net() -> BayesianNetwork:
    """Return the Asia network."""
    return example_network("asia")


@pytest.fixture
def asia(run: Run, net: BayesianNetwork, tmp_path: Path) -> Path:
    """Return it as a file."""
    path = tmp_path / "asia.bif"
    net.write(path)
    return path
