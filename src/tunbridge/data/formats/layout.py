"""The layout of delimited text: its delimiter, its header, and the lines before it.

Only the first lines are looked at. A file is ordinary if its first line that is not blank is a header of distinct names
and the next rows have as many fields; everything else here is for the others:

- Excel's first line ``sep=;``, and lines before the header, such as a title;
- no header, which shows in more numbers, dates and values of the rows than names; the columns are ``x0``, ``x1``, …;
- empty and repeated names, which become ``column_3`` and ``price_2``;
- a delimiter at the end of every row, or a first column without a name in the header (row names of R, an index of
  pandas): such columns are left out if they hold nothing, or only number the rows.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import counted, listed
from tunbridge.data.formats.source import HEAD, Scan, Source, check_decodes, reading
from tunbridge.data.reading import Reading, is_odd
from tunbridge.errors import DataError, FormatError

_SNIFFED = (",", ";", "\t", "|")
_LOOK, _ROWS, _FIELDS = 1 << 12, 16, 4096  # what is looked at
_MANY_ROWS, _MANY_FIELDS = 400, 40_000  # where something looks unusual
_PREAMBLE = 30
_SURE_ROWS = 3
_SEP = re.compile(r'\ufeff?"?sep=([\t -~])"?\s*', re.IGNORECASE)
_NUMBER = re.compile(r"\s*[-+]?[$€£]?\s*(?:\d[\d.,' ]*|[.,]\d+)(?:[eE][-+]?\d+)?\s*[%€]?\s*")
_DATE = re.compile(r"\s*(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?)\s*")
_SPACED = re.compile(r"[-+]?[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?\s*")
_YEARS = range(1900, 2101)
_UNNAMED = re.compile(r"Unnamed: \d+(_level_\d+)?")


class Record(NamedTuple):
    """A row of text: the line it starts on, its fields, and whether its last quote is closed."""

    line: int
    fields: list[str]
    closed: bool


@dataclass(frozen=True)
class Layout:
    """What must be known of a delimited file before its rows are read.

    Parameters
    ----------
    names : tuple of str
        The names of the columns.
    delimiter : str
        The character between fields.
    scan : Scan
        What one pass over the bytes has found.
    skipped : int, optional
        The lines before the first row, if ``names`` are not simply those of the header.
    header : bool
        Whether the file has a header.
    unnamed : tuple of str
        The columns without a name in the file.
    rows : list of list of str
        The first rows.
    led : bool
        Whether one of the first fields is a number with a leading zero or plus.
    notes : tuple of str
        Lines of the report.
    """

    names: tuple[str, ...]
    delimiter: str
    scan: Scan
    skipped: int | None = None
    header: bool = True
    unnamed: tuple[str, ...] = ()
    rows: list[list[str]] = field(default_factory=list)
    led: bool = False
    notes: tuple[str, ...] = ()

    def body(self, source: Source) -> Iterator[Record]:
        """Yield the records after the header."""
        done = self.skipped or 0
        with source.text() as lines:
            left = records(islice(lines, done, None), self.delimiter)
            if self.skipped is None:
                next(left, None)
            try:
                for record in left:
                    yield record._replace(line=record.line + done)
            except UnicodeError:
                check_decodes(source)  # tells the line
                raise

    def columns_where(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """Return the columns whose values in the first rows, missing ones left out, have a property."""
        found = []
        for name, values in zip(self.names, zip(*self.rows, strict=False), strict=False):
            some = [v.strip() for v in values if not is_odd(v)]
            if some and holds(some):
                found.append(name)
        return found


def find_layout(
    source: Source, found: Scan, delimiter: str | None, *, header: bool | None = None, known: Reading | None = None
) -> Layout:
    """Return the layout of a file, by its first lines and by how another file was read; raise for an unclosed quote."""
    if delimiter is not None:
        _check_delimiter(delimiter)
    lines, sep = _first_lines(source, found, _LOOK)
    choices = (delimiter,) if delimiter else (sep,) if sep else ("\t",) if source.format == "tsv" else _SNIFFED
    sniffs, before = choices is _SNIFFED, None if known is None else known.delimiter
    if sniffs and before is not None and before not in (*choices, " "):
        choices = (*choices, before)
    firsts = {choice: next(records(lines, choice), None) for choice in choices}
    sizes = {choice: len(first.fields) for choice, first in firsts.items() if first is not None}
    if not sizes:
        raise FormatError(f"{source.named} must hold a table; it holds nothing but blank lines.")
    n_comments = 0 if header is False else _comments(lines, choices)
    if n_comments:
        lines[:n_comments], n_comments = ["\n"] * n_comments, sum(map(bool, map(str.strip, lines[:n_comments])))
        sizes = {choice: len(next(records(lines, choice)).fields) for choice in sizes}
    chosen = _chosen(lines, sizes)
    if before is not None and sizes.get(before, 0) > 1:
        chosen = before
    if sizes[chosen] == 1 and sniffs and before in (None, " ") and _has_blanks(lines):
        chosen, sizes = " ", {" ": lines[0].count(" ") + 1}
    some = _sample(lines, chosen, max(3, min(_ROWS, _FIELDS // sizes[chosen])))
    if not some[0].closed:
        raise unclosed(source, some[0].line)
    notes = ("First line: 'sep=' gives the delimiter",) if sep else ()
    if n_comments:
        notes = (*notes, f"Before the header: {counted(n_comments, 'line')} left out")
    rows = [record.fields for record in some[1:]]
    is_one = sizes[chosen] == 1 and sniffs and any(mark in line for line in lines for mark in _SNIFFED)
    is_usual = not is_one and header is not False and (known is None or known.header)
    if is_usual and _is_usual(some[0].fields, rows, header, known):
        skipped = _lines_before(some, 1, lines) if sep or n_comments else None
        layout = Layout(tuple(some[0].fields), chosen, found, skipped, rows=rows, notes=notes)
    else:
        lines = _first_lines(source, found)[0]
        lines[:n_comments] = ["\n"] * n_comments
        layout = _unusual(lines, (chosen, *(c for c in sizes if c != chosen)), found, header, known, notes)
    if _led(found, source.encoding, layout.delimiter):
        more = _sample(
            _first_lines(source, found)[0], layout.delimiter, max(3, min(_MANY_ROWS, _MANY_FIELDS // len(layout.names)))
        )
        rows = [r.fields for r in more if r.line > (some[0].line if layout.skipped is None else layout.skipped)]
        layout = replace(layout, rows=rows, led=True)
    if layout.header and header is None and known is None and (numbers := [*filter(_is_value, layout.names)]):
        told = f"Header: {listed(numbers, most=3)} taken as names (header=False if they are values)"
        layout = replace(layout, notes=(*layout.notes, told))
    is_news = layout.delimiter not in (",", "\t") and not sep and delimiter is None
    return replace(layout, notes=(f"Delimiter: {layout.delimiter!r}", *layout.notes)) if is_news else layout


def records(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    r"""Yield the records of delimited text, one by one: slow, and exact about lines.

    Examples
    --------
    >>> for record in records(['a,b\n', '1,"x\n', 'y"\n'], ","):
    ...     print(record.line, record.fields)
    1 ['a', 'b']
    2 ['1', 'x\ny']
    """
    fields: list[list[str]] = []
    start, quoted = 0, False
    for number, line in enumerate(lines, start=1):
        if not quoted:
            body = line.rstrip("\r\n")
            if '"' not in body:
                if body:
                    yield Record(number, body.split(delimiter), True)
                continue
            start, fields = number, []
        quoted = _split(line, delimiter, fields, quoted)
        if not quoted:
            yield Record(start, ["".join(parts) for parts in fields], True)
    if quoted:
        yield Record(start, ["".join(parts) for parts in fields], False)


def _split(line: str, delimiter: str, fields: list[list[str]], quoted: bool) -> bool:
    """Append the fields of a line, each as a list of parts; return whether the last one's quote is still open."""
    body, at = line.rstrip("\r\n"), 0
    if not quoted:
        fields.append([])
        quoted = body.startswith('"')
        at = int(quoted)
    while True:
        while quoted:
            close = line.find('"', at)
            if close < 0:
                fields[-1].append(line[at:])
                return True
            quoted = line.startswith('"', close + 1)  # doubled: one quote, and on within the field
            fields[-1].append(line[at : close + quoted])
            at = close + 1 + quoted
        stop = body.find(delimiter, at)
        if stop < 0:
            fields[-1].append(body[at:])
            return False
        fields[-1].append(body[at:stop])
        fields.append([])
        quoted = body.startswith('"', stop + 1)
        at = stop + 1 + quoted


def unclosed(source: Source, line: int) -> FormatError:
    """Return the error about a quote that is opened on a line and never closed."""
    return FormatError(
        f"{source.named} must close every quote; the row that starts here opens one, and the file ends in it.",
        line=line,
    )


def _check_delimiter(delimiter: str) -> None:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
        raise DataError(f"delimiter must be one ASCII character such as ',' or ';'; got {delimiter!r}.")


# The first lines


def _first_lines(source: Source, found: Scan, size: int = HEAD) -> tuple[list[str], str | None]:
    """Return the first lines of a file, all of them whole, and the delimiter that Excel's ``sep=`` gives."""
    head = found.head[:size]
    with reading(source):
        while len(head) == size and (not _has_record(head) or (size < HEAD and head.count(b"\n") <= _ROWS)):
            size *= 4
            head = found.head[:size] if size <= HEAD else _head(source, size)
        encoding = "utf-8-sig" if source.encoding == "utf-8" else source.encoding
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=len(head) < size)
    lines = list(io.StringIO(text, newline=""))
    if len(head) == size and len(lines) > 1:
        lines.pop()
    sep = _SEP.fullmatch(lines[0].rstrip("\r\n")) if lines and "sep=" in lines[0][:6].lower() else None
    if sep:
        lines[0] = "\n"
    return lines, sep[1] if sep else None


def _head(source: Source, size: int) -> bytes:
    with source.open() as stream:
        return bytes(stream.read(size))


def _has_record(head: bytes) -> bool:
    """Return whether bytes hold a whole first line that is not blank, with its quotes closed, and what follows."""
    end = head.find(b"\n")
    if head[:end].strip() and b'"' not in head[:end] and end > 0:
        return True
    *whole, _ = head.decode("latin-1").splitlines(keepends=True)
    first = next(records(whole, ","), None)
    return first is not None and first.closed


def _sample(lines: list[str], delimiter: str, most: int) -> list[Record]:
    """Return the first records, without the last one if the look at the file ends within it."""
    found = list(islice(records(lines, delimiter), most))
    return found[:-1] if len(found) > 1 and not found[-1].closed else found


def _comments(lines: list[str], choices: Sequence[str]) -> int:
    """Return how many lines before the header start with a ``#``: none, if the first of them is the header itself."""
    n = next((i for i, line in enumerate(lines[: _PREAMBLE + 1]) if not line.startswith("#") and line.strip()), 0)
    if not any(line.startswith("#") for line in lines[:n]):
        return 0
    for choice in choices:
        names, *rows = [record.fields for record in _sample(lines[n:], choice, _ROWS)]
        if _looks_like_names(names) and _hold_numbers(rows):
            return n
    return 0


def _chosen(lines: list[str], sizes: dict[str, int]) -> str:
    """Return the delimiter: the one that cuts the header into the most fields, or the rows into as many as the header.

    Where several cut all rows evenly, those that leave columns of numbers or dates come first; of these the comma comes
    last, which is also in decimals and in names.
    """
    most = max(sizes, key=lambda choice: sizes[choice])
    several = [choice for choice, size in sizes.items() if size > 1]
    if len(several) < 2:
        return most
    found = {c: [r.fields for r in _sample(lines, c, max(3, min(_ROWS, _FIELDS // sizes[c])))] for c in several}
    even = [c for c in several if len(found[c]) > 1 and {*map(len, found[c])} == {sizes[c]}]
    typed = {c: sum(_are_values(column) for column in zip(*found[c][1:], strict=True)) / sizes[c] for c in even}
    return max(even, key=lambda c: (typed[c] > 0, c != ",", typed[c], sizes[c])) if even else most


def _are_values(column: Iterable[str]) -> bool:
    some = [text for text in column if not is_odd(text)]
    return bool(some) and all(map(_is_value, some))


def _hold_numbers(rows: list[list[str]]) -> bool:
    """Return whether one of the columns holds numbers, or dates, only."""
    return any(map(_are_values, zip(*rows, strict=False)))


def _has_blanks(lines: list[str]) -> bool:
    """Return whether single blanks are the delimiter: as many in each line, with numbers in most columns.

    Blanks between thousands are not: ``12 345``.
    """
    if all(map(_SPACED.fullmatch, filter(str.strip, lines[1:_MANY_ROWS]))):
        return False
    rows = [line.rstrip("\r\n").split(" ") for line in lines[:_MANY_ROWS] if line.strip()]
    width = len(rows[0]) if rows else 0
    if width < 2 or len(rows) <= _SURE_ROWS or any(len(row) != width or not all(row) for row in rows):
        return False
    numbers = sum(all(map(_NUMBER.fullmatch, column)) for column in zip(*rows[1:], strict=True))
    return 2 * numbers > width


def _lines_before(found: list[Record], first: int, lines: list[str]) -> int:
    """Return the number of lines before a record; of all lines, if there is none."""
    return found[first].line - 1 if first < len(found) else len(lines)


def _led(found: Scan, encoding: str, delimiter: str) -> bool:
    """Return whether some of the first fields starts with a zero, or a plus, and another digit."""
    head = found.head.decode(encoding, "ignore").encode() if encoding.startswith(("utf-16", "utf-32")) else found.head
    data = np.frombuffer(head, np.uint8)
    before, at, after = data[:-2], data[1:-1], data[2:]
    found = ((at == ord("0")) | (at == ord("+"))) & (after - np.uint8(ord("0")) < 10)
    return bool((found & ((before == ord(delimiter)) | (before == ord("\n")) | (before == ord('"')))).any())


# What is unusual


def _is_usual(names: list[str], rows: list[list[str]], header: bool | None, known: Reading | None) -> bool:
    """Return whether a first record is a header of distinct names, and the next ones have as many fields."""
    n = len(names)
    if len(set(names)) < n or not all(map(str.strip, names)) or any(len(row) != n for row in rows):
        return False
    if _UNNAMED.fullmatch(names[0]):
        return False
    if header or known:
        return True
    if any(map(_is_value, names)):
        return _has_header(names, rows)
    if len(rows) < _SURE_ROWS or not any(map(_holds, names, zip(*rows, strict=False))):
        return True
    return _has_header(names, rows)


def _holds(name: str, values: tuple[str, ...]) -> bool:
    return name in values


def _unusual(
    lines: list[str],
    choices: Sequence[str],
    found: Scan,
    header: bool | None,
    known: Reading | None,
    notes: tuple[str, ...],
) -> Layout:
    """Return the layout of a file with anything unusual; the first choice is the likeliest delimiter."""
    chosen, records_, first = _table_start(lines, choices, header)
    width = len(records_[first].fields)
    rows = [record.fields for record in records_[first + 1 :]]
    fields = _fitted(records_[first].fields, rows)
    has_header = _header_of(fields, rows, header, known)
    if first and (before := [r for r in records_[:first] if r.fields]):
        notes = (*notes, f"Before the header: {counted(len(before), 'line')} left out")
    if not has_header:
        names = [f"x{j}" for j in range(width)]
        names = list(known.names) if known and len(known.names) == width else names
        told = f"No header: the columns are called {listed(names, most=3)}"
        rows = [record.fields for record in records_[first:]]
        skipped = _lines_before(records_, first, lines)
        return Layout(tuple(names), chosen, found, skipped, False, rows=rows, notes=(*notes, told))
    names, unnamed, told_names = _distinct(fields)
    skipped = _lines_before(records_, first + 1, lines)
    return Layout(tuple(names), chosen, found, skipped, True, tuple(unnamed), rows, notes=(*notes, *told_names))


def _table_start(lines: list[str], choices: Sequence[str], header: bool | None) -> tuple[str, list[Record], int]:
    """Return the delimiter, the first records, and which of them is the header, or the first row."""
    many = {c: _sample(lines, c, _MANY_ROWS) for c in choices}
    chosen = choices[0]
    starts = {c: at for c, found in many.items() if (at := _start(found, header, bare=c != ",")) is not None}
    if _is_even(many[chosen]):
        starts = {c: at for c, at in starts.items() if _is_title(c, many[c], at)}
        if not starts:
            return chosen, many[chosen], 0 if header is False else _padded_lines(many[chosen])
    if starts:
        chosen = max(starts, key=lambda c: (len(many[c][-1].fields), -starts[c]))
        return chosen, many[chosen], starts[chosen]
    even = [c for c in choices if len(many[c][0].fields) > 1 and _is_even(many[c]) and len(many[c]) > _SURE_ROWS]
    chosen = even[0] if even else chosen
    return chosen, many[chosen], 0


def _is_even(found: list[Record]) -> bool:
    """Return whether all rows have the number of fields that the header has, or differ from it in one known way."""
    sizes = {len(record.fields) for record in found[1:]}
    rows = [record.fields for record in found[1:]]
    return not sizes or sizes == {len(_fitted(found[0].fields, rows))}


def _fitted(names: list[str], rows: list[list[str]]) -> list[str]:
    """Return a header with as many fields as the rows: with one more if they end in a delimiter or have row names."""
    sizes = {len(row) for row in rows}
    if sizes == {len(names) - 1} and not names[-1].strip():
        return names[:-1]
    if sizes == {len(names) + 1} and not any(row[-1].strip() for row in rows):
        return [*names, ""]
    return ["", *names] if sizes == {len(names) + 1} and _are_row_names([row[0] for row in rows]) else names


def _are_row_names(values: list[str]) -> bool:
    if values in (_integers(0, len(values)), _integers(1, len(values) + 1)):
        return True
    distinct = len(values) >= _SURE_ROWS and len(set(values)) == len(values)
    return distinct and not any(map(_NUMBER.fullmatch, values))


def _integers(start: int, stop: int) -> list[str]:
    return [str(i) for i in range(start, stop)]


def _start(found: list[Record], header: bool | None, *, bare: bool) -> int | None:
    """Return which record is the header below other lines, which have other numbers of fields; None if none is.

    If the table may be ``bare``, a row of numbers is the first one of a table without a header.
    """
    sizes = [len(record.fields) for record in found]
    at = len(sizes) - 1
    while at and sizes[at - 1] == sizes[-1]:
        at -= 1
    if not 0 < at <= _PREAMBLE or sizes[-1] < 2 or len(sizes) - at < _SURE_ROWS or sizes[-1] in sizes[:at]:
        return None
    is_bare = bare and header is None and all(map(_is_value, found[at].fields))
    return at if header is False or is_bare or _looks_like_names(found[at].fields) else None


def _is_title(delimiter: str, found: list[Record], at: int) -> bool:
    """Return whether lines above a header are a title, though they might be the name of the only column, or of some."""
    if _hold_numbers([record.fields for record in found[at + 1 :]]):
        return True
    return delimiter != "," and len(found[0].fields) == 1 and len(found[at].fields) >= _SURE_ROWS


def _padded_lines(found: list[Record]) -> int:
    """Return which record is the header below lines that hold little but delimiters."""
    n = len(found[0].fields)
    for at, record in enumerate(found[:_PREAMBLE]):
        filled = sum(bool(text.strip()) for text in record.fields)
        if n < _SURE_ROWS or filled > n / 2:
            return at if at == 0 or _looks_like_names(record.fields) else 0
    return 0


def _looks_like_names(fields: list[str]) -> bool:
    names = [text.strip() for text in fields]
    while len(names) > 2 and not names[-1]:
        names.pop()
    return all(names) and len(set(names)) == len(names) and not any(map(_NUMBER.fullmatch, names))


# The header


def _header_of(names: list[str], rows: list[list[str]], header: bool | None, known: Reading | None) -> bool:
    """Return whether a record is a header: as is given, as it was, or as it looks."""
    if header is not None:
        return header
    if known is not None:
        return known.header or tuple(names) == known.names
    return _has_header(names, rows)


def _has_header(names: list[str], rows: list[list[str]]) -> bool:
    """Return whether a first record holds names rather than values.

    A number above numbers, a date above dates, or a text that the rows hold as well, is a value; a text above numbers,
    which counts twice, or above a few categories to which it does not belong, is a name. The more votes win.
    Years and consecutive integers are names, unless the rows hold the like.
    """
    rows = [row for row in rows if row != names]
    values = names_ = 0
    for name, column in zip(names, zip(*rows, strict=False), strict=False):
        some = [v for v in column if not is_odd(v)]
        if is_odd(name) or not some:
            continue
        if _is_value(name):
            values += _are_values(some) and {_is_date(name)} == {*map(_is_date, some)}
        elif _are_values(some):
            names_ += 2
        elif len(some) >= 2 * _SURE_ROWS and name not in some and len(set(some)) <= len(some) / 2:
            names_ += 1
        else:
            values += name in some and len(some) >= _SURE_ROWS
    return values == 0 or names_ > values or _are_labels(names, rows)


def _is_value(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text) or _DATE.fullmatch(text))


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text))


def _are_labels(names: list[str], rows: list[list[str]]) -> bool:
    """Return whether the numbers among names are years, or three and more that count on, and the rows are not alike."""
    places = [at for at, name in enumerate(names) if _is_value(name)]
    found = _as_integers([names[at] for at in places])
    if not found or len(set(found)) < len(found):
        return False
    is_cross_table = places == [*range(1, len(names))] and not any(row[0] == names[0] for row in rows)
    below = [_as_integers([row[at] for at in places if at < len(row)]) for row in rows]
    if all(n in _YEARS for n in found) and not all(row and all(n in _YEARS for n in row) for row in below):
        return True
    if len(found) < 3 or not _count_on(found) or (any(map(_count_on, below)) and not is_cross_table):
        return False
    first, last = min(found), max(found)
    in_range = all(row and all(2 * first - last <= n <= 2 * last - first for n in row) for row in below)
    return not in_range or first == 0 or len(found) > 4 or is_cross_table


def _as_integers(texts: list[str]) -> list[int]:
    """Return texts as integers; nothing if one of them is none."""
    return [int(text) for text in texts] if all(text.strip().isdecimal() for text in texts) else []


def _count_on(numbers: list[int]) -> bool:
    steps = {b - a for a, b in pairwise(numbers)}
    return len(steps) == 1 and steps != {0}


def _distinct(fields: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return distinct names, those that are not in the file, and lines of the report."""
    names, unnamed, notes = list[str](), list[str](), list[str]()
    taken, seen, last = set(fields), set[str](), dict[str, int]()
    for at, text in enumerate(fields, start=1):
        name = text
        if not text.strip():
            name = _free(f"column_{at}", taken, last)
            notes.append(f"Column {at} has no name: read as {name!r}")
        elif text in seen:
            last.setdefault(text, 1)
            name = _free(text, taken, last)
            notes.append(f"Column {at} has the name {text!r} again: read as {name!r}")
        if not text.strip() or _UNNAMED.fullmatch(text):
            unnamed.append(name)
        seen.add(name)
        taken.add(name)
        names.append(name)
    return names, unnamed, notes


def _free(name: str, taken: Collection[str], last: dict[str, int]) -> str:
    """Return a name that is not taken: with the number after the last one that was used for it."""
    tried = name
    while tried in taken or (name in last and tried == name):
        last[name] = last.get(name, 1) + 1
        tried = f"{name}_{last[name]}"
    return tried
