"""How a table was read from a file: the settings, and a report of what was detected.

:func:`~tunbridge.read_table` detects delimiter, encoding, header, the form of numbers and dates, and missing markers. A
:class:`Reading` records all of it, so that another file of the same origin is read in exactly the same way:
``read_table(path, reading=table.reading)``. Models keep the reading of the table that they were learned from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

DEFAULT_MISSING = ("", "?", "NA", "NaN", "null")
"""The texts that are missing by default in delimited files: exactly these, and so not ``None``, ``nan`` or ``-``."""


ODD_MARKERS = frozenset({
    "-", "--", "---", "–", "—", ".", "..", "...", "n/a", "n.a.", "n.a", "na", "#n/a", "#na", "#n/a!", "#div/0!",
    "#value!", "#ref!", "#name?", "#num!", "#null!", "#nv", "#wert!", "null", "none", "nil", "nan", "<na>", "nat",
    "\\n", "unknown", "unk", "missing", "undefined", "(null)", "(none)", "(blank)", "[null]", "k.a.", "k. a.", "k.a",
    "keine angabe", "s/d", "n/d", "nd", "n.d.", "-nan", "1.#qnan", "1.#ind", "-1.#ind", "*", "**", "***", "??", "???",
    "not available", "not applicable", "no data", "nodata", "tbd",
})  # fmt: skip
"""Texts, in lower case and without blanks, that mean a missing value where all other values are numbers or dates."""

SUSPECT_MARKERS = ODD_MARKERS - {"*", "**", "***", ".", "..", "...", "none"}
"""Those that the report names in columns of text."""

_SEARCHED = 10_000


class NumberForm(NamedTuple):
    """How the numbers of a column are written: ``NumberForm(",", ".", "%")`` is ``1.234,5 %``.

    Parameters
    ----------
    decimal : {".", ","}
        The decimal mark.
    thousands : str
        The character between groups of three digits; empty if there is none.
    unit : str
        A currency or percent sign before or after the number.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __str__(self) -> str:
        parts = [
            "decimal commas" if self.decimal == "," else "",
            f"{_GROUPED.get(self.thousands, repr(self.thousands))} between thousands" if self.thousands else "",
            f"{self.unit} left out" if self.unit else "",
        ]
        return ", ".join(part for part in parts if part) or "decimal points"


_GROUPED = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}


@dataclass(frozen=True)
class Reading:
    r"""How a table was read from a file; ``str()`` returns the report, a line for each detected setting.

    Parameters
    ----------
    encoding : str
        The text encoding.
    delimiter : str, optional
        The delimiter of delimited text; None in other formats.
    header : bool
        Whether the file has a header.
    names : tuple of str
        The names of all columns of the file, in its order.
    missing : tuple of str
        The missing markers of all columns.
    markers : mapping of str to tuple of str
        Further missing markers, by column: texts such as ``n/a`` in a column of numbers.
    numbers : mapping of str to NumberForm
        The columns of numbers that are written with decimal commas, separators of thousands or units.
    decimal : {".", ",", ""}, optional
        The decimal mark of the file; None if no column tells, the empty text if columns differ. In a file with decimal
        commas, points are between thousands.
    day_first : bool, optional
        Whether the day comes before the month in dates such as 03/04/2025; None if no column tells.
    dates : mapping of str to str
        The columns of dates that are not in ISO form, with the directives of ``strptime``.
    date_parts : tuple of str
        The columns of dates of which year, month, weekday and hour were derived.
    text : tuple of str
        The columns that were read as text.
    kinds : mapping of str to {"categorical", "continuous"}
        The kinds of the columns.
    dropped : tuple of str
        The columns that were left out: an index, or empty columns without a name.
    spellings : mapping of str to mapping of str to tuple of str
        The categories that were merged, by column: other spellings of each.
    notes : tuple of str
        The report.

    Examples
    --------
    >>> import tempfile, pathlib, tunbridge as tb
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "export.csv").write_text("Datum;Umsatz\n24.12.2025;1.200,50\n06.01.2026;-\n31.01.2026;980,00\n")
    >>> table = tb.read_table(folder / "export.csv")
    >>> print(table.reading)
    Delimiter: ';'
    Numbers in 'Umsatz': decimal commas, points between thousands
    Missing in 'Umsatz': '-' (1 row), because all other values are numbers
    Dates in 'Datum': day.month.year
    >>> table.reading.numbers["Umsatz"].decimal
    ','
    >>> _ = (folder / "next.csv").write_text("Datum;Umsatz\n02.03.2026;-\n03.03.2026;1.100\n")
    >>> tb.read_table(folder / "next.csv", reading=table.reading).floats("Umsatz").tolist()
    [nan, 1100.0]
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    header: bool = True
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = DEFAULT_MISSING
    markers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, NumberForm] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    date_parts: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    spellings: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    decimal: str | None = None
    day_first: bool | None = None

    def __str__(self) -> str:
        return "\n".join(self.notes)


def is_odd(text: str) -> bool:
    """Return whether a text is a missing marker where all other values are numbers.

    Examples
    --------
    >>> is_odd(" N/A "), is_odd("keine Angabe"), is_odd("none of these")
    (True, True, False)
    """
    plain = text.strip().lower()
    return plain in ODD_MARKERS or plain in _DEFAULTS


_DEFAULTS = frozenset(marker.lower() for marker in DEFAULT_MISSING)


def known_text(texts: Collection[str]) -> list[str]:
    """Return the texts that are usual missing markers, to be named in the report."""
    if len(texts) > _SEARCHED:
        return []
    signs = sum(not any(map(str.isalnum, text)) for text in texts)  # "-" beside "+" is a sign
    found = [t for t in texts if t.strip().lower() in SUSPECT_MARKERS]
    return [t for t in found if signs < 2 or any(map(str.isalnum, t))]
