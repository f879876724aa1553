"""Data sets: the small classics that come with the package, and a door to the larger public ones.

A method is learned fastest on a table small enough to count by hand, and trusted only after it has met a real one.
So the classics of the textbooks are bundled (:func:`play_tennis`, :func:`drug`, :func:`dating`,
:func:`flu_malaria_fever`, :func:`allergy`, :func:`enjoy_sport`), and :func:`load` finds any other set by its name,
looking in this order:

1. among the bundled ones;
2. in the folder that the environment variable ``TUNBRIDGE_DATA`` names, and its sub-folders: a file called like the set
   in any format that :func:`read_table` reads (``mushroom.csv``, ``mushroom.csv.gz``, ``mushroom.arff``, …). The file
   nearest to the top wins;
3. in the cache: the folder ``TUNBRIDGE_CACHE``, else ``tunbridge`` in the user's cache folder;
4. only with ``download=True``: at the UCI Machine Learning Repository (a few well-known sets), then at OpenML (by name;
   the oldest active version, because later ones are often binarised copies).

What was downloaded is kept in the cache once its length, its checksum (OpenML gives one) and its content have been
verified. Nothing is ever fetched without being asked for.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from tunbridge._core.check import check_number, did_you_mean
from tunbridge._core.memory import size_text
from tunbridge._version import __version__
from tunbridge.data.formats.source import table_suffixes
from tunbridge.data.readers import read_table
from tunbridge.data.table import Table
from tunbridge.errors import DataError

OPENML = "https://www.openml.org"
UCI = "https://archive.ics.uci.edu"
MAX_BYTES = 2**30
"""The largest file that is downloaded."""

_ENDINGS = tuple(suffix + packed for suffix in table_suffixes() for packed in ("", ".gz"))
_CHUNK = 2**18
_JSON_BYTES = 2**24
_NAME = re.compile(r"\w[\w.,()+ -]*")


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set before it is loaded.

    Parameters
    ----------
    name : str
        The name by which :func:`load` finds it.
    summary : str
        One line about it.
    target : str or None
        The column that is usually predicted.
    n_rows, n_columns : int or None
        Its size, where that is known without reading it; weights are no column.
    source : str
        ``"bundled"``, the path of a local file, or the address it is fetched from.
    """

    name: str
    summary: str
    target: str | None
    n_rows: int | None
    n_columns: int | None
    source: str


_BUNDLED = {
    record.name: record
    for record in (
        DataSet("play_tennis", "Is it a day for tennis? Four properties of the weather", "play", 14, 5, "bundled"),
        DataSet("drug", "Which of two drugs, by sex, age and blood pressure", "drug", 12, 4, "bundled"),
        DataSet("dating", "Height, hair and eyes of eight people, and a verdict", "class", 8, 4, "bundled"),
        DataSet("flu_malaria_fever", "Two causes of a fever: explaining away", "fever", 100, 3, "bundled"),
        DataSet("allergy", "A screening test for an allergy, as four weighted counts", "allergy", 4, 2, "bundled"),
        DataSet("enjoy_sport", "Is it a day to enjoy one's sport? Concept learning", "enjoy", 4, 7, "bundled"),
        DataSet("earthquakes", "Major earthquakes in each year, 1900 to 2006: a series", None, 107, 2, "bundled"),
    )
}

_UCI_SETS: dict[str, tuple[int, str, str, int, int]] = {  # number there, summary, target, rows, columns
    "adult": (2, "Census income; the labels of the test rows end in a full stop", "income", 48842, 15),
    "breast_cancer_wisconsin": (17, "Breast cancer, diagnostic; has an ID column", "Diagnosis", 569, 32),
    "car": (19, "How acceptable a car is, by six ordered properties", "class", 1728, 7),
    "heart_disease": (45, "Heart disease, Cleveland", "num", 303, 14),
    "iris": (53, "Fisher's irises", "class", 150, 5),
    "mushroom": (73, "Edible or poisonous mushrooms", "poisonous", 8124, 23),
    "vote": (105, "Votes in the U.S. House of Representatives, 1984", "Class", 435, 17),
    "wine": (109, "Three cultivars of wine by chemical analysis", "class", 178, 14),
}


# What there is


def describe(*, download: bool = False) -> tuple[DataSet, ...]:
    """Return a record of each data set that :func:`load` finds: the bundled ones, then local files.

    Parameters
    ----------
    download : bool
        List the well-known sets of the UCI repository too. (OpenML has thousands more; they are not listed.)

    Examples
    --------
    >>> import tunbridge as tb
    >>> record = tb.datasets.describe()[0]
    >>> record.name, record.target, record.n_rows
    ('play_tennis', 'play', 14)
    """
    records = dict(_BUNDLED)
    others = [DataSet(name, "A local file", None, None, None, str(path)) for name, path in _local_files().items()]
    if download:
        others += [
            DataSet(name, summary, target, n_rows, n_columns, _uci_address(name))
            for name, (_, summary, target, n_rows, n_columns) in _UCI_SETS.items()
        ]
    for record in others:
        records.setdefault(record.name, record)
    return tuple(records.values())


def names(*, download: bool = False) -> tuple[str, ...]:
    """Return the names of the data sets that :func:`describe` lists.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.datasets.names()[:3]
    ('play_tennis', 'drug', 'dating')
    """
    return tuple(record.name for record in describe(download=download))


def load(name: str, *, download: bool = False, timeout: float = 30.0) -> Table:
    """Return a data set by its name: bundled, from a local folder, from the cache or, if asked, from the network.

    Parameters
    ----------
    name : str
        The name, as :func:`names` lists it or as OpenML knows it.
    download : bool
        Whether to look at the UCI repository and at OpenML when there is no local copy.
    timeout : float
        Seconds to wait for a server that says nothing.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        When there is no such set; the message says where it was looked for, and what to do.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.datasets.load("dating")
    Table: 8 rows × 4 columns, 0 missing values
      height  categorical  s, t
      hair    categorical  b, d, r
      eyes    categorical  l, w
      class   categorical  +, -
    """
    _check_name(name)
    timeout = check_number("timeout", timeout, above=0)
    if name in _BUNDLED:
        return _bundled(name)
    path = _local_files().get(name)
    if path is not None:
        return read_table(path)
    if not download:
        raise DataError(_not_here(name))
    return _download(name, timeout)


# The classics


def play_tennis() -> Table:
    """Return fourteen days, their weather, and whether tennis was played.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1, table 1; with these column names in
    Mitchell (1997), Machine Learning, table 3.2.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.datasets.play_tennis()
    Table: 14 rows × 5 columns, 0 missing values
      outlook      categorical  Overcast, Rain, Sunny
      temperature  categorical  Cool, Hot, Mild
      humidity     categorical  High, Normal
      wind         categorical  Strong, Weak
      play         categorical  no, yes
    """
    return _bundled("play_tennis")


def drug() -> Table:
    """Return twelve patients by sex, age and blood pressure, and their drug, A or B: a teaching table of mixed kinds.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.drug()
    >>> table.names, float(table.floats("age").max())
    (('sex', 'age', 'blood_pressure', 'drug'), 73.0)
    """
    return _bundled("drug")


def dating() -> Table:
    """Return eight people by height (t, s), hair (d, b, r) and eyes (l, w), classed + or −: a teaching table.

    Without smoothing (t, r, w) has probability zero in both classes: red hair was never seen with +, nor eyes w with −.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.datasets.dating().n_rows
    8
    """
    return _bundled("dating")


def flu_malaria_fever() -> Table:
    """Return a hundred patients with or without flu, malaria and fever, for the network flu → fever ← malaria.

    The counts are made up, for teaching. Flu (25 patients) and malaria (20) are exactly independent; the relative
    frequencies of fever are 5/5 = 1.00 with both, 15/20 = 0.75 with flu alone, 12/15 = 0.80 with malaria alone and
    9/60 = 0.15 with neither. So a fever makes flu more probable (20/41), and malaria then explains the fever
    away (5/17).

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.flu_malaria_fever()
    >>> int((table.codes("fever") == table.variable("fever").code("yes")).sum())
    41
    """
    return _bundled("flu_malaria_fever")


def allergy() -> Table:
    """Return the outcomes of a screening test for an allergy: four cells with the number of people as weight.

    True positives 400, false positives 210, false negatives 310, true negatives 1200; made up, for teaching.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.allergy()
    >>> table.names, table.weights.tolist()
    (('allergy', 'test'), [400.0, 210.0, 310.0, 1200.0])
    """
    return _bundled("allergy")


def enjoy_sport() -> Table:
    """Return four days, six properties of their weather, and whether a person enjoyed the sport.

    The states are all that the attributes can be, seen or not: no day was cloudy, and the wind was never weak.

    References
    ----------
    Mitchell (1997), Machine Learning, table 2.1.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.datasets.enjoy_sport()
    Table: 4 rows × 7 columns, 0 missing values
      sky       categorical  Sunny, Cloudy, Rainy
      air_temp  categorical  Warm, Cold
      humidity  categorical  Normal, High
      wind      categorical  Strong, Weak          constant
      water     categorical  Warm, Cool
      forecast  categorical  Same, Change
      enjoy     categorical  no, yes
    """
    return _bundled("enjoy_sport")


def earthquakes() -> Table:
    """Return the number of earthquakes of magnitude 7 and above in each year from 1900 to 2006.

    References
    ----------
    U.S. Geological Survey; in W. Zucchini, I. L. MacDonald, R. Langrock (2016), Hidden Markov Models for Time Series,
    table 1.1.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.datasets.earthquakes()["count"][:5].tolist()
    [13, 14, 8, 10, 16]
    """
    return _bundled("earthquakes")


def _bundled(name: str) -> Table:
    file = f"{name}.arff" if name == "enjoy_sport" else f"{name}.csv"  # states that no row shows must be declared
    with resources.as_file(resources.files("tunbridge.data") / "bundled" / file) as path:
        return read_table(path, weights="count" if name == "allergy" else None)


# Local files


def cache_folder() -> Path:
    """Return the folder in which downloads are kept: TUNBRIDGE_CACHE, else the platform's folder for caches."""
    chosen = os.environ.get("TUNBRIDGE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tunbridge"
    variable, usual = ("LOCALAPPDATA", "AppData/Local") if os.name == "nt" else ("XDG_CACHE_HOME", ".cache")
    return Path(os.environ.get(variable) or Path.home() / usual) / "tunbridge"


def _data_folder() -> Path | None:
    chosen = os.environ.get("TUNBRIDGE_DATA")
    return Path(chosen).expanduser() if chosen else None


def _local_files() -> dict[str, Path]:
    """Return the data files of the data folder and of the cache by name; the first found goes before the others."""
    found: dict[str, Path] = {}
    for folder in (_data_folder(), cache_folder()):
        for path in _files_below(folder) if folder else ():
            found.setdefault(path.name[: -len(_ending(path))], path)
    return found


def _files_below(folder: Path) -> list[Path]:
    """Return the data files below a folder, those nearest to the top first; what starts with a dot is left out."""
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [path for name in files if _ending(path := Path(parent, name)) and not name.startswith(".")]
    return sorted(found, key=lambda path: (len(path.parts), _ENDINGS.index(_ending(path)), path))


def _ending(path: Path) -> str:
    return next((ending for ending in _ENDINGS if path.name.lower().endswith(ending)), "")


def _check_name(name: object) -> None:
    # The name becomes part of a path and of an address, so it must not lead anywhere else.
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DataError(
            f"the name of a data set must be letters, digits and any of _ . , ( ) + - or space; got {name!r}. "
            "Read a file by its path with read_table."
        )


def _not_here(name: str) -> str:
    known = names(download=True)
    hint = "" if name in known else did_you_mean(name, known) + " "
    return (
        f"the data set must be bundled, in the data folder or in the cache ({_looked_in()}); got {name!r}. {hint}"
        f"To look for it at UCI and OpenML, use download=True. {_by_hand(name)}"
    )


def _looked_in() -> str:
    folder = _data_folder()
    absent = "" if folder is None or folder.is_dir() else ", no such folder"
    return f"TUNBRIDGE_DATA: {folder or 'not set'}{absent}; cache: {cache_folder()}"


def _by_hand(name: str) -> str:
    return f"By hand: put {name}.csv or {name}.arff into a folder and set TUNBRIDGE_DATA to it."


# The network


def _download(name: str, timeout: float) -> Table:
    """Return the set from the first source that gives a file that can be read; keep that file in the cache."""
    from http.client import HTTPException

    sources = [("UCI", _from_uci)] if name in _UCI_SETS else []
    failures = []
    with _workshop() as folder:
        for source, fetch in [*sources, ("OpenML", _from_openml)]:
            try:
                path = fetch(name, Path(folder), timeout)
                table = _verified(path)
                os.replace(path, cache_folder() / path.name)
            except (OSError, HTTPException, DataError) as error:
                failures.append(f"{source}: {_reason(error)}".replace(folder + os.sep, "").rstrip("."))
            else:
                return table
    raise DataError(
        f"the data set must be found at UCI or OpenML; got {name!r} ({'; '.join(failures)}). {_by_hand(name)}"
    )


def _workshop() -> TemporaryDirectory[str]:
    """Return a new hidden folder inside the cache, from which a finished file can be moved in one step."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(dir=cache_folder(), prefix=".")
    except OSError as error:
        raise DataError(
            f"the cache must be a folder that can be written to; got {str(cache_folder())!r} ({error.strerror}). "
            "Set TUNBRIDGE_CACHE to another one."
        ) from None


def _from_uci(name: str, folder: Path, timeout: float) -> Path:
    return _save(_uci_address(name), folder / f"{name}.csv", timeout)


def _uci_address(name: str) -> str:
    return f"{UCI}/static/public/{_UCI_SETS[name][0]}/data.csv"


def _from_openml(name: str, folder: Path, timeout: float) -> Path:
    from urllib.parse import quote

    api = f"{OPENML}/api/v1/json/data"
    listing = _json(f"{api}/list/data_name/{quote(name.lower(), safe='')}/limit/100/status/active", timeout)
    number, file_number = _oldest_arff(listing)
    about = _json(f"{api}/{number}", timeout)
    path = _save(f"{OPENML}/data/v1/download/{file_number}", folder / f"{name}.arff", timeout)
    _check_md5(path, about)
    return path


def _oldest_arff(listing: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of the data set and of its file for the oldest version in ARFF that OpenML lists."""
    try:
        versions = [entry for entry in listing["data"]["dataset"] if entry["format"].lower() in ("arff", "sparse_arff")]
        oldest = min(versions, key=lambda entry: int(entry["version"]), default=None)
        numbers = oldest and (int(oldest["did"]), int(oldest["file_id"]))
    except (LookupError, TypeError, ValueError, AttributeError):
        raise DataError("the list of versions is not of the expected form") from None
    if numbers is None:
        raise DataError("no active version is an ARFF file")
    return numbers


def _check_md5(path: Path, about: Mapping[str, Any]) -> None:
    import hashlib

    try:
        expected = about["data_set_description"].get("md5_checksum")
    except (LookupError, TypeError, AttributeError):
        raise DataError("the description is not of the expected form") from None
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if expected and found != str(expected).lower():
        raise DataError(f"the file's MD5 is {found}, not {expected}: it was damaged on the way")


def _verified(path: Path) -> Table:
    """Return the table in a downloaded file; raise unless it is one."""
    with open(path, "rb") as file:
        head = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        raise DataError("the answer is a web page, not a data file")
    table = read_table(path)
    if table.n_rows == 0 or table.n_columns < 2:
        raise DataError(f"the answer has {table.n_rows} rows and {table.n_columns} columns, which is no data set")
    return table


def _json(url: str, timeout: float) -> Any:
    import io
    import json

    answer = io.BytesIO()
    _transfer(url, answer, limit=_JSON_BYTES, timeout=timeout)
    try:
        return json.loads(answer.getvalue())
    except (ValueError, RecursionError):
        raise DataError(f"{url} did not answer in JSON") from None


def _save(url: str, path: Path, timeout: float) -> Path:
    with open(path, "wb") as file:
        _transfer(url, file, limit=MAX_BYTES, timeout=timeout)
    return path


def _transfer(url: str, sink: IO[bytes], *, limit: int, timeout: float) -> None:
    """Write what the address answers to the sink; raise when it is larger than the limit or breaks off."""
    from urllib.request import Request, urlopen

    with urlopen(Request(url, headers={"User-Agent": f"tunbridge/{__version__}"}), timeout=timeout) as answer:
        announced, size = answer.length, 0
        _check_size(announced or 0, limit)
        while chunk := answer.read(_CHUNK):
            size += len(chunk)
            _check_size(size, limit)
            sink.write(chunk)
    # http.client itself lets a body that ends early pass when it is read in pieces.
    if announced is not None and size < announced:
        raise DataError(f"the transfer broke off after {size} of {announced} bytes")


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise DataError(f"the file is larger than the limit of {size_text(limit)}")


def _reason(error: Exception) -> str:
    """Return why a source failed, for people."""
    code = getattr(error, "code", None)
    if code is not None:  # OpenML answers 412 where others answer 404
        return "no data set of that name" if code == 412 else f"HTTP {code} {getattr(error, 'reason', '')}".rstrip()
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    return str(cause) or type(cause).__name__
