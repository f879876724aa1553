"""The front door for model files: what it says to files that are no models."""

from __future__ import annotations

from pathlib import Path

import pytest

import tunbridge as tb
from tunbridge.errors import FileMissingError, FormatError


@pytest.mark.parametrize("name", ["asia.bif", "asia.BIF.gz", "asia.net"])
def test_the_files_of_other_programs_have_a_reader_of_their_own(tmp_path: Path, name):
    tb.example_network("asia").write(tmp_path / name)
    with pytest.raises(FormatError, match=f"save\\(\\) wrote; got '.*{name}'. read_network reads network files"):
        tb.load(tmp_path / name)


def test_other_files_keep_their_message(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(FormatError, match=r"got another kind of file\. A model is written by save"):
        tb.load(tmp_path / "notes.txt")


@pytest.mark.parametrize("name", ["tennis.tb", "asia.bif"])
def test_a_missing_file(tmp_path: Path, name):
    with pytest.raises(FileMissingError, match=f"a model must be a file that exists; got '.*{name}'"):
        tb.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        tb.load(tmp_path / name)
