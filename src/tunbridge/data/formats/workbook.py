"""Sheets of workbooks, Excel and OpenDocument, by python-calamine (the extra ``excel``).

A sheet is read as text delimited by commas, so that titles above the header, empty columns, and numbers that are texts
are treated as in any export; dates, numbers and booleans of the sheet stay what they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa

from tunbridge._core.check import did_you_mean, install_hint, listed
from tunbridge._core.registry import table_format
from tunbridge.data.formats.delimited import CSV
from tunbridge.data.formats.request import Request
from tunbridge.data.formats.source import Source
from tunbridge.data.table import Table
from tunbridge.errors import DataError, FormatError


@table_format("excel", rank=8, suffixes=(".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), text=True, zipped=True)
class Workbook:
    """A sheet of a workbook: Excel or OpenDocument."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a sheet."""
        return CSV.read(_as_text(source), request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a sheet."""
        return CSV.batches(_as_text(source), request)


def _as_text(source: Source) -> Source:
    """Return a sheet as text delimited by commas."""
    name, others, rows = _sheet(source)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        texts = [_text(value) for value in row]
        if any(texts):
            writer.writerow(texts)
    content = out.getvalue().encode()
    if not content:
        raise FormatError(f"{source.named} must hold a table; its sheet {name!r} is empty.")
    notes = (f"Sheet: {name!r}; the others are {listed(others, most=4)}",) if others else ()
    return replace(
        source, content=pa.py_buffer(content), format="csv", encoding="utf-8", gzipped=False, detects=False,
        delimiter=",", notes=notes,
    )  # fmt: skip


def _sheet(source: Source) -> tuple[str, list[str], list[list[Any]]]:
    """Return the name of a sheet, those of the others, and its rows: of the first that holds anything, or the named."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        rule = f"{source.named} is a workbook; the package python-calamine must be installed to read it"
        hint = f"{install_hint('python-calamine')}, or save the sheet as a .csv file."
        raise DataError(f"{rule}. {hint}") from None
    try:
        book = CalamineWorkbook.from_path(str(source.path))
        names = [sheet.name for sheet in book.sheets_metadata]
        if source.part is not None and source.part not in names:
            hint = did_you_mean(source.part, names)
            raise DataError(f"{source.named} must have the sheet that is named; got {source.part!r}. {hint}")
        for name in names if source.part is None else [source.part]:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
            if rows or name == names[-1] or source.part is not None:
                break
    except DataError:
        raise
    except (CalamineError, OSError, ValueError) as error:
        raise FormatError(
            f"{source.named} must be a workbook; it is damaged or something else ({error}). "
            "If it is text in spite of its name, give format='csv'."
        ) from None
    return name, [other for other in names if other != name], rows


def _text(value: Any) -> str:
    """Return the value of a cell as delimited text has it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return str(value.date()) if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    return "" if value is None else str(value)
