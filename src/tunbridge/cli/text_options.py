"""Options about texts and sequences: what is read, and what it is cut into."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tunbridge.cli.documents import SEQUENCE, TEXT
from tunbridge.cli.failures import UsageError

_PANEL = "Texts and sequences"
_OF = {
    TEXT: (
        *(
            "characters",
            "tokens",
            "ngrams",
            "keep_case",
            "shortest",
            "stop_words",
            "min_documents",
            "min_count",
            "buckets",
        ),
        *("counts", "length", "idf"),
    ),
    SEQUENCE: ("order", "max_order", "no_ends", "alphabet", "gaps", "ignore_case"),
}


class Counts(StrEnum):
    """What an occurrence of a word counts."""

    raw = "raw"
    log = "log"
    binary = "binary"


class Units(StrEnum):
    """What documents are cut into."""

    words = "words"
    letters = "letters"
    marks = "marks"
    characters = "characters"


@dataclass(frozen=True)
class Texts:
    """What is read as text or as sequences, and how."""

    text: Annotated[
        bool,
        typer.Option("--text", help="Learn from raw text. A folder means text anyway.", rich_help_panel=_PANEL),
    ] = False
    sequence: Annotated[
        bool, typer.Option("--sequence", help="Learn from sequences of letters.", rich_help_panel=_PANEL)
    ] = False
    column: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="The column of the texts or sequences; otherwise the one called so, or the only one that it can be.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    ngrams: Annotated[
        str | None,
        typer.Option(
            metavar="N|A-B", help="Runs of up to N words, or of A to B; 1 unless said.", rich_help_panel=_PANEL
        ),
    ] = None
    characters: Annotated[
        bool,
        typer.Option(
            "--characters",
            help="Runs of characters, not words; of 1 to 4 unless said.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    tokens: Annotated[
        Units | None,
        typer.Option(
            help="What is counted: words, letters only, words and marks such as «!», or characters.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    keep_case: Annotated[
        bool, typer.Option("--keep-case", help="Capitals are other letters than small ones.", rich_help_panel=_PANEL)
    ] = False
    shortest: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="The fewest letters of a word; 2 unless said.", rich_help_panel=_PANEL),
    ] = None
    stop_words: Annotated[
        str | None,
        typer.Option(
            metavar="N|A,B|FILE",
            help="Leave out the N commonest words, these words, or those in a file.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    min_documents: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Leave out words of fewer documents.", rich_help_panel=_PANEL),
    ] = None
    min_count: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Leave out words that occur less often.", rich_help_panel=_PANEL),
    ] = None
    buckets: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Keep no words, but N buckets into which they fall: any vocabulary takes the same memory.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    counts: Annotated[
        Counts | None,
        typer.Option(
            help="A word that occurs n times counts n, log(1 + n), or 1; otherwise what suits the model.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    length: Annotated[
        str | None,
        typer.Option(
            metavar="N|unit|none",
            help="Every document says as much as one of N words, or has the length 1 as a vector.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    idf: Annotated[
        bool | None,
        typer.Option("--idf/--no-idf", help="Words of many documents count less, or not.", rich_help_panel=_PANEL),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            metavar="N|cv|bic",
            help="How many letters of a sequence to look back, or what chooses it; 1 unless said.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    max_order: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="The most that cv and bic try; 5 unless said.", rich_help_panel=_PANEL),
    ] = None
    no_ends: Annotated[
        bool,
        typer.Option(
            "--no-ends", help="Sequences are pieces: where they begin and end says nothing.", rich_help_panel=_PANEL
        ),
    ] = False
    alphabet: Annotated[
        str | None,
        typer.Option(metavar="LETTERS", help="The letters of sequences, such as acgt.", rich_help_panel=_PANEL),
    ] = None
    gaps: Annotated[
        str | None,
        typer.Option(metavar="LETTERS", help="Letters for what is unknown, such as N-.", rich_help_panel=_PANEL),
    ] = None
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", help="Capitals in sequences are small letters.", rich_help_panel=_PANEL)
    ] = False

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are written."""
        return [f"--{f.name.replace('_', '-')}" for f in fields(self) if self._is_given(f.name)]

    def _is_given(self, name: str) -> bool:
        value = getattr(self, name)
        return value is not None and (value is not False or name == "idf")

    def kind(self, path: Path) -> str:
        """Return what a path holds: texts, sequences, or, as nothing to be named, a table; raise for what does not fit.

        Examples
        --------
        >>> Texts(text=True).kind(Path("mails.csv")), Texts().kind(Path("patients.csv"))
        ('text', '')
        """
        if self.text and self.sequence:
            raise UsageError("--text and --sequence must not come together.")
        kind = SEQUENCE if self.sequence else TEXT if self.text or path.is_dir() else ""
        for option in self.given:
            owners = [k for k in _OF if option[2:].replace("-", "_") in _OF[k]] or list(_OF)
            if option[2:] not in _OF and kind not in owners:
                raise UsageError(f"{option} must come with {' or '.join(f'--{k}' for k in owners)}.")
        return kind
