"""Models, networks, tables and pictures as files: which is which, how they are loaded and written; never half a file.

Every file is written by :mod:`tunbridge._core.replacing`: until all is written, and after Ctrl-C, what was there before
stays.

Delimited text is composed by Arrow, column by column: a field is quoted only if it holds the delimiter, a quote or a
line end.
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tunbridge as tb
from tunbridge._core.check import listed
from tunbridge._core.replacing import replacing as whole_or_nothing
from tunbridge.cli.output import counted, note
from tunbridge.cli.usage import refuse
from tunbridge.data.formats.places import check_address
from tunbridge.data.formats.source import table_suffixes
from tunbridge.errors import DataError, FormatError
from tunbridge.formats import NetworkParts, is_other_file
from tunbridge.formats.network_files import SUFFIXES as NETWORK_FORMATS
from tunbridge.probability import NoisyMaxCPT, SparseCPT

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.network import BayesianNetwork

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_WRITTEN = (";", "|")  # delimiters of CSV files that are written like the input, beside the comma
_WORKBOOKS = (".xlsx", ".xls", ".ods")
_PICTURES = (".png", ".svg", ".pdf")
_PARQUET = (".parquet", ".pq")
_TABLES = (*_DELIMITERS, *_PARQUET)
_KEEPS_SPARSE = ("bif", "tb")

# Any file


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file that becomes ``path`` in the end, or goes away when something fails."""
    check_place(path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target  # a device or a pipe cannot be replaced, only written to
        return
    try:
        with whole_or_nothing(path) as temporary:
            yield temporary
    except OSError as error:
        if os.path.basename(str(error.filename)).startswith(".tunbridge-"):
            error.filename = str(path)
        raise


def check_place(path: Path) -> None:
    """Raise unless a file can be made, or replaced, under this name."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"the output must be a file; {str(path)!r} is a folder.")
    if not target.parent.is_dir():
        raise DataError(f"the output must go to a folder that exists; there is no {str(target.parent)!r}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is write-protected", str(path))


def check_output(path: Path, inputs: Iterable[Path] = (), suffixes: Iterable[str] = ()) -> None:
    """Raise unless a file can be written: its suffix is known, it has a place, and it is not one of the inputs."""
    if path.is_dir():
        check_place(path)
    if suffixes and _ending(path) not in suffixes:
        hint = " Excel opens .csv files." if _ending(path) in _WORKBOOKS else ""
        raise DataError(f"the name of the output must end in {listed(suffixes)}; got {path.name!r}.{hint}")
    for file in inputs:
        if path.exists() and file.exists() and path.samefile(file):
            raise DataError(f"the output must not replace the input; got {str(path)!r} for both. Name another file.")
    check_place(path)


def _ending(path: Path) -> str:
    """Return the end of a file's name in lower case, the one before ``.gz`` included.

    Examples
    --------
    >>> _ending(Path("Predicted.CSV.gz")), _ending(Path("2025.05.parquet"))
    ('.csv.gz', '.parquet')
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() + suffix if suffix == ".gz" else suffix


def check_picture(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Raise unless a picture can be drawn and written under this name."""
    if path is not None:
        check_output(path, inputs, _PICTURES)
        tb.plots.draw_off_screen()


def write_picture(path: Path, draw: Callable[[Any], Any], *, called: str = "picture") -> None:
    """Write what a function draws with :mod:`tunbridge.plots`, and print where it is."""
    tb.plots.draw_off_screen()
    figure: Any = draw(tb.plots).figure
    with replacing(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:].lower())
    note(f"The {called} is in {path}.")


# Models and networks, in


def suffix_of(path: Path) -> str:
    """Return the end of a file's name, before ``.gz``, in lower case.

    Examples
    --------
    >>> suffix_of(Path("asia.BIF.gz"))
    '.bif'
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix


def is_network_name(path: Path) -> bool:
    """Return whether a file's name is one that only networks have; a ``.tb`` file may hold any model.

    Examples
    --------
    >>> is_network_name(Path("asia.BIF.gz")), is_network_name(Path("asia.tb")), is_network_name(Path("asia.csv"))
    (True, False, False)
    """
    return suffix_of(path) in NETWORK_FORMATS and suffix_of(path) != ".tb"


def is_model(path: Path) -> bool:
    """Return whether there is a file that begins like a model."""
    return path.is_file() and path.stat().st_size > 0 and not is_other_file(path)


def load_network(path: Path, format: str | None = None) -> BayesianNetwork:
    """Return the network in a file; raise with a hint for a dynamic one."""
    found: BayesianNetwork = load_either(path, format)
    _check_static(path, found, "a static network")
    return found


def _check_static(path: Path, model: object, wanted: str) -> None:
    """Raise with what to do for a dynamic network."""
    if is_a("DynamicBayesianNetwork", model):
        hint = "Use tunbridge network filter, smooth or forecast; network convert --slices N makes a static one."
        raise DataError(f"the model must be {wanted}; {str(path)!r} is a dynamic network. {hint}")


def load_either(path: Path, format: str | None = None) -> Any:
    """Return the network in a file, a static or a dynamic one."""
    check_exists("the network", path)
    if format is None and suffix_of(path) in table_suffixes():
        hint = "For tables there are tunbridge learn, evaluate, predict and describe."
        raise DataError(f"the network must be a network file; {path.name!r} looks like a table. {hint}")
    try:
        return tb.read_network(path, format)
    except FormatError:
        model = tb.load(path) if format in (None, "tb") and is_model(path) else None
        if is_a("HiddenMarkovModel", model):
            hint = "Use tunbridge hmm filter, decode or forecast."
            raise DataError(f"the model must be a network; {str(path)!r} is a hidden Markov model. {hint}") from None
        if not is_a("DynamicBayesianNetwork", model):
            raise
        return model


def load_model(path: Path, *, swapped_with: Path | None = None) -> BayesClassifier:
    """Return the classifier in a file; raise with a hint if there is none."""
    model: BayesClassifier = load_any(path, swapped_with=swapped_with)
    if is_a("BayesianNetwork", model):
        hint = "Query it with tunbridge network query."
        raise DataError(f"the model must be a classifier; {str(path)!r} is a network. {hint}")
    check_reads_rows(path, model)
    return model


def check_reads_rows(path: Path, model: object) -> None:
    """Raise with a hint for a model whose rows are steps of sequences."""
    _check_static(path, model, "a classifier or a static network")
    if is_a("HiddenMarkovModel", model):
        hint = "Use tunbridge hmm decode, filter or forecast."
        raise DataError(f"the model must be a classifier; {str(path)!r} is a hidden Markov model. {hint}")
    inner: Any = model
    while hasattr(inner, "estimator_"):
        inner = inner.estimator_
    if is_a("HMMClassifier", inner):
        hint = f"Use it in Python: tb.load({str(path)!r}).predict(…)."
        raise DataError(f"the model must classify rows; {str(path)!r} classifies sequences of rows. {hint}")


def is_a(kind: str, model: object) -> bool:
    """Return whether a model is of a class, which is not imported for this question."""
    return kind in {each.__name__ for each in type(model).__mro__}


def load_any(path: Path, *, swapped_with: Path | None) -> Any:
    """Return the classifier or the network in a file; raise with a hint if there is none, or it comes second."""
    check_exists("the model", path, "Make one with tunbridge learn.")
    if path.is_dir():
        raise DataError(f"the model must be a file; {str(path)!r} is a folder. Make one with tunbridge learn.")
    try:
        return load_network(path) if is_network_name(path) else tb.load(path)
    except FormatError:
        is_second = swapped_with is not None and (is_model(swapped_with) or is_network_name(swapped_with))
        if is_second and not is_model(path):
            raise DataError(f"the model must come first; got {str(path)!r} before {str(swapped_with)!r}.") from None
        if suffix_of(path) in table_suffixes() and not is_model(path):
            hint = f"Learn one from it: tunbridge learn {quote(str(path))} --target COL."
            raise DataError(f"the model must be a model file; {str(path)!r} is a table. {hint}") from None
        raise


def check_order(network: Path, rows: Path) -> None:
    """Raise if the rows come before the network."""
    if (is_network_name(rows) or is_model(rows)) and not (is_network_name(network) or is_model(network)):
        raise DataError(f"the network must come first; got {str(network)!r} before {str(rows)!r}.")


def check_table(path: Path, what: str = "the table") -> None:
    """Raise with a hint if a folder, a model or a network stands where a table is expected."""
    if path.is_dir():
        tables = sorted(file for file in path.iterdir() if suffix_of(file) in table_suffixes() and file.is_file())
        hint = f"Name a table in it, such as {str(tables[0])!r}." if tables else "No table is in it."
        raise DataError(f"{what} must be a file; {str(path)!r} is a folder. {hint}")
    if is_network_name(path) or is_model(path):
        kind = "network" if is_network_name(path) else "model"
        hint = f"tunbridge describe {quote(str(path))} shows what is in it"
        hint += (
            f", and tunbridge network draw {quote(str(path))} -o net.html its picture." if kind == "network" else "."
        )
        raise DataError(f"{what} must be a file of rows; {str(path)!r} is a {kind}. {hint}")


def check_exists(what: str, path: Path, hint: str = "") -> None:
    """Raise if there is no such file, with a hint: one of nearly that name, or that there is no such folder."""
    if path.exists():
        return
    check_address(path)
    try:
        near = difflib.get_close_matches(path.name, [file.name for file in path.parent.iterdir()], n=1, cutoff=0.6)
    except OSError:
        near, hint = [], f"There is no folder {str(path.parent)!r}."
    hint = f"Did you mean {str(path.with_name(near[0]))!r}?" if near else hint
    raise DataError(f"{what} must be a file that exists; got {str(path)!r}. {hint}".rstrip())


# Models and networks, out


def model_name(data: Path) -> Path:
    """Return the default name of a model: that of the table, with .tb, in the working folder.

    Examples
    --------
    >>> print(model_name(Path("data/adult.csv.gz")))
    adult.tb

    Examples of other places are a table in a database, several files, and standard input:

    >>> print(model_name(Path("clinic.db::visits")), model_name(Path("2025/visits-*.csv")), model_name(Path("-")))
    visits.tb visits.tb model.tb
    """
    name = data.name.partition("?")[0].removesuffix(".gz") if "=" in data.name else data.name.removesuffix(".gz")
    stem = name.rpartition("::")[2] if "::" in name else Path(name).stem
    return Path((re.sub(r"[-_.]*[*?\[].*", "", stem).strip("-_. ") or "model") + ".tb")


def check_model_output(file: Path) -> None:
    """Raise if a model would take the place of something else, such as the data."""
    if file.is_file() and file.stat().st_size and not is_model(file):
        hint = "Name another one with -o."
        raise DataError(f"the output must not overwrite a file that is not a model; got {str(file)!r}. {hint}")


def check_network_output(file: Path, inputs: list[Path]) -> None:
    """Raise unless a network can be written under this name."""
    check_output(file, inputs)
    is_known = suffix_of(file) in NETWORK_FORMATS and not file.name.lower().endswith(".tb.gz")
    refuse((not is_known, f"the name of the network must end in {listed(NETWORK_FORMATS)}; got {file.name!r}."))


def lost_in_file(net: BayesianNetwork, file: Path) -> str:
    """Return, in words, what the file of a network does not keep."""
    format = NETWORK_FORMATS[suffix_of(file)]
    return "" if format == "tb" else "; ".join(losses(NetworkParts(net.name, tuple(net.cpts.values())), format))


def losses(parts: NetworkParts, format: str) -> list[str]:
    """Return, in words, what a format does not keep of a network."""
    if format == "tb":
        return []
    lost = ["the names of variables and states, which become numbers"] if format == "uai" else []
    if format == "uai" and parts.properties:
        lost.append("the properties")
    if format == "uai" and (cut := [v.name for v in parts.variables if v.cuts is not None]):
        lost.append(f"the bin edges of {listed(cut)}")
    if n := sum(cpt.counts is not None for cpt in parts.cpts):
        lost.append(f"the counts behind {counted(n, 'table')}")
    odd = {type(state).__name__ for v in parts.variables for state in v.states or () if not isinstance(state, str)}
    if odd and format != "uai":
        lost.append(f"the type of states ({', '.join(sorted(odd))}), which become text")
    for kind, name, formats in ((NoisyMaxCPT, "noisy-MAX", ()), (SparseCPT, "sparse", _KEEPS_SPARSE)):
        n = sum(isinstance(cpt, kind) for cpt in parts.cpts)
        if n and format not in formats:
            lost.append(f"the form of {counted(n, f'{name} table')}, written out in full")
    return lost


# Tables, out


def table_output(path: Path | None, inputs: Iterable[Path]) -> Path | None:
    """Return the file to which a table is written, None for stdout; raise unless it can be written."""
    if path is None or path == Path("-"):
        return None
    check_output(path, inputs, _TABLES)
    return path


def write_batches(path: Path | None, batches: Iterator[pa.Table], dialect: tuple[str, str] | None = None) -> None:
    """Write batches of equal columns to a file, by its suffix, or as CSV to stdout.

    ``dialect`` is the delimiter and the decimal mark of the file from which columns come: a CSV file gets them, too,
    and a mark by which Excel knows UTF-8, unless the delimiter is a comma.
    """
    delimiter, decimal = dialect or (",", ".")
    delimiter, decimal = (delimiter, decimal) if delimiter in _WRITTEN else (",", ".")
    if path is None:
        sys.stdout.flush()
        _write_text(sys.stdout.buffer, batches, delimiter, decimal)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as file:
        if _ending(path) in _PARQUET:
            _write_parquet(file, batches)
        else:
            with open(file, "wb") as stream, _packed(stream, path) as out:
                is_csv = _ending(path).startswith(".csv") and delimiter != ","
                if is_csv:
                    out.write(codecs.BOM_UTF8)
                how = (delimiter, decimal) if is_csv else (_DELIMITERS[_ending(path)], ".")
                _write_text(out, batches, *how)


def is_typed(path: Path | None) -> bool:
    """Return whether a file keeps types and nulls, unlike delimited text."""
    return path is not None and _ending(path) not in _DELIMITERS


@contextmanager
def _packed(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Give a stream that packs what is written, if the file's name ends in ``.gz``."""
    if not path.name.lower().endswith(".gz"):
        yield stream
        return
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def null_if_blank(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text whose empty values are null."""
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _write_text(stream: BinaryIO, batches: Iterator[pa.Table], delimiter: str, decimal: str) -> None:
    for n, batch in enumerate(batches):
        batch = batch if delimiter in ",\t" else _with_short_numbers(batch, decimal)
        if n == 0:
            header = pa.table({f"c{j}": [name] for j, name in enumerate(batch.column_names)})
            stream.write(text_lines(header, delimiter))
        stream.write(text_lines(batch, delimiter))


def _with_short_numbers(batch: pa.Table, decimal: str) -> pa.Table:
    """Return a table with its floats as texts of six digits with this decimal mark."""
    for j, column in enumerate(batch.columns):
        if pa.types.is_floating(column.type):
            texts = [None if x is None else f"{x:.6g}".replace(".", decimal) for x in column.to_pylist()]
            batch = batch.set_column(j, batch.column_names[j], pa.array(texts, pa.string()))
    return batch


def text_lines(batch: pa.Table, delimiter: str = ",") -> bytes:
    """Return the rows of a batch as lines of delimited text in UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(text_lines(pa.table({"name": ["Ann", "Bo, the cat", None], "age": [31, None, 62]})).decode().rstrip())
    Ann,31
    "Bo, the cat",
    ,62
    """
    if not batch.num_rows:
        return b""
    fields = [_fields(column, delimiter) for column in batch.columns]
    if len(fields) == 1:  # an empty line would be no row
        fields = [pc.if_else(pc.equal(fields[0], ""), '""', fields[0])]
    end = pa.scalar("\n", pa.large_string())
    fields[-1] = pc.binary_join_element_wise(fields[-1], end, pa.scalar("", pa.large_string()))
    lines = pc.binary_join_element_wise(*fields, pa.scalar(delimiter, pa.large_string())) if fields[1:] else fields[0]
    return _bytes(lines)


def _fields(column: pa.ChunkedArray, delimiter: str) -> pa.Array:
    """Return values as the texts of fields, quoted if that is needed; missing ones are empty."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks()
    words = _bytes(texts)  # searching all of them at once is far cheaper than one by one
    if not any(mark.encode() in words for mark in (delimiter, '"', "\r", "\n")):
        return texts
    odd = pc.match_substring_regex(texts, f'[{delimiter}"\r\n]')
    doubled = pc.replace_substring(texts, '"', '""')
    quote = pa.scalar('"', pa.large_string())
    return pc.if_else(odd, pc.binary_join_element_wise(quote, doubled, quote, pa.scalar("", pa.large_string())), texts)


def _bytes(lines: pa.Array) -> bytes:
    """Return the bytes of all texts of an array one after the other, as Arrow holds them already."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)[[lines.offset, lines.offset + len(lines)]]
    return b"" if data is None else bytes(memoryview(data)[int(ends[0]) : int(ends[1])])


def _write_parquet(file: Path, batches: Iterator[pa.Table]) -> None:
    from pyarrow import parquet

    writer: Any = None
    try:
        for batch in batches:
            writer = writer or parquet.ParquetWriter(str(file), batch.schema)
            writer.write_table(batch.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
