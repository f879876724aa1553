"""The bundled classics, the search for local files, and the download, against a server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from tunbridge.data import Table, datasets
from tunbridge.errors import DataError

CLASSICS = ("play_tennis", "drug", "dating", "flu_malaria_fever", "allergy", "enjoy_sport", "earthquakes")
CSV = b"odour,spots,class\nnone,1.5,e\nfoul,2.5,p\nnone,4.0,e\n"
ARFF = b"% a comment\n@relation small\n@attribute a {x,y}\n@attribute b numeric\n@data\nx,1.5\ny,2.5\n?,3.5\n"


def rows(table: Table) -> list[tuple[object, ...]]:
    return list(zip(*table.to_arrow().to_pydict().values(), strict=True))


@pytest.fixture(autouse=True)
def no_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Leave the environment's own folders and proxies out of the tests; return the cache, which is not yet there."""
    monkeypatch.delenv("TUNBRIDGE_DATA", raising=False)
    monkeypatch.setenv("TUNBRIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


# The classics


@pytest.mark.parametrize("record", datasets.describe()[:6], ids=lambda record: record.name)
def test_a_record_says_what_the_table_is(record: datasets.DataSet) -> None:
    table = datasets.load(record.name)
    assert (table.n_rows, table.n_columns) == (record.n_rows, record.n_columns)
    assert record.target in table.names
    assert record.summary
    assert record.source == "bundled"
    assert table.missing == {}


@pytest.mark.parametrize("name", CLASSICS)
def test_each_classic_has_a_function_of_its_own(name: str) -> None:
    table, loaded = getattr(datasets, name)(), datasets.load(name)
    assert rows(table) == rows(loaded)
    assert table.names == loaded.names


def test_every_bundled_file_is_listed_and_nothing_else() -> None:
    folder = Path(datasets.__file__).parent / "bundled"
    assert sorted(path.stem for path in folder.iterdir()) == sorted(CLASSICS)
    assert datasets.names() == CLASSICS


def test_records_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        datasets.describe()[0].name = "other"  # type: ignore[misc]


def test_play_tennis_gives_the_worked_products() -> None:
    table = datasets.play_tennis()
    assert table.names == ("outlook", "temperature", "humidity", "wind", "play")
    assert rows(table)[0] == ("Sunny", "Hot", "High", "Weak", "no")
    assert rows(table)[-1] == ("Rain", "Mild", "High", "Strong", "no")
    product = {}
    for play in ("yes", "no"):
        days = [row for row in rows(table) if row[-1] == play]
        product[play] = len(days) / 14
        for j, state in enumerate(("Sunny", "Cool", "High", "Strong")):
            product[play] *= sum(day[j] == state for day in days) / len(days)
    assert round(product["yes"], 4) == 0.0053
    assert round(product["no"], 4) == 0.0206
    assert round(product["no"] / sum(product.values()), 3) == 0.795


def test_play_tennis_has_the_textbook_margins() -> None:
    columns = datasets.play_tennis().to_arrow().to_pydict()
    assert Counter(columns["outlook"]) == {"Sunny": 5, "Overcast": 4, "Rain": 5}
    assert Counter(columns["temperature"]) == {"Hot": 4, "Mild": 6, "Cool": 4}
    assert Counter(columns["humidity"]) == {"High": 7, "Normal": 7}
    assert Counter(columns["wind"]) == {"Weak": 8, "Strong": 6}
    assert Counter(columns["play"]) == {"yes": 9, "no": 5}
    assert len(set(rows(datasets.play_tennis()))) == 14


def test_drug_gives_the_worked_moments() -> None:
    table = datasets.drug()
    ages = {label: [row[1] for row in rows(table) if row[-1] == label] for label in "AB"}
    assert [round(float(np.mean(ages[label])), 1) for label in "AB"] == [36.3, 47.8]
    assert [round(float(np.var(ages[label], ddof=1)), 1) for label in "AB"] == [161.9, 311.0]
    assert table.variable("age").is_continuous
    assert Counter((sex, pressure) for sex, _, pressure, label in rows(table) if label == "A") == {
        ("male", "normal"): 2, ("female", "high"): 2, ("female", "normal"): 1, ("male", "high"): 1
    }  # fmt: skip


def test_dating_gives_the_worked_likelihoods() -> None:
    table = datasets.dating()

    def likelihood(case: str, label: str) -> float:
        people = [row for row in rows(table) if row[-1] == label]
        return float(np.prod([np.mean([p[j] == state for p in people]) for j, state in enumerate(case)]))

    assert likelihood("tbl", "+") == pytest.approx(12 / 125, rel=1e-12)
    assert likelihood("tbl", "-") == pytest.approx(4 / 9, rel=1e-12)
    assert likelihood("trw", "+") == likelihood("trw", "-") == 0
    assert table.variable("class").states == ("+", "-")


def test_fever_has_the_relative_frequencies_of_the_network() -> None:
    cases = Counter(rows(datasets.flu_malaria_fever()))
    assert sum(cases.values()) == 100

    def fever(flu: str, malaria: str) -> float:
        with_fever, without = cases[flu, malaria, "yes"], cases[flu, malaria, "no"]
        return with_fever / (with_fever + without)

    assert fever("yes", "yes") == 1.0
    assert fever("yes", "no") == 0.75
    assert fever("no", "yes") == 0.8
    assert fever("no", "no") == 0.15


def test_flu_and_malaria_are_independent_until_fever_is_seen() -> None:
    patients = rows(datasets.flu_malaria_fever())
    both = sum(flu == malaria == "yes" for flu, malaria, _ in patients)
    flu, malaria = (sum(p[j] == "yes" for p in patients) for j in (0, 1))
    assert both * len(patients) == flu * malaria
    feverish = [p for p in patients if p[2] == "yes"]
    assert (len(feverish), sum(p[0] == "yes" for p in feverish)) == (41, 20)
    with_malaria = [p for p in feverish if p[1] == "yes"]
    assert (len(with_malaria), sum(p[0] == "yes" for p in with_malaria)) == (17, 5)


def test_allergy_counts_are_weights() -> None:
    table = datasets.allergy()
    assert table.names == ("allergy", "test")
    assert table.weights is not None
    assert dict(zip(rows(table), table.weights.tolist(), strict=True)) == {
        ("yes", "positive"): 400.0, ("no", "positive"): 210.0, ("yes", "negative"): 310.0, ("no", "negative"): 1200.0
    }  # fmt: skip


def test_enjoy_sport_declares_states_that_no_day_shows() -> None:
    table = datasets.enjoy_sport()
    assert rows(table) == [
        ("Sunny", "Warm", "Normal", "Strong", "Warm", "Same", "yes"),
        ("Sunny", "Warm", "High", "Strong", "Warm", "Same", "yes"),
        ("Rainy", "Cold", "High", "Strong", "Warm", "Change", "no"),
        ("Sunny", "Warm", "High", "Strong", "Cool", "Change", "yes"),
    ]
    assert [v.n_states for v in table.variables] == [3, 2, 2, 2, 2, 2, 2]
    assert table.variable("sky").states == ("Sunny", "Cloudy", "Rainy")


# Names


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("play_tenis", "'play_tennis'"),
        ("Drug", "'drug'"),
        ("mushrom", "'mushroom'"),
        ("flu-malaria", "'flu_malaria_fever'"),
    ],
)
def test_near_misses_get_a_hint(name: str, hint: str) -> None:
    with pytest.raises(DataError, match=f"got '{name}'.* Did you mean {hint}"):
        datasets.load(name)


def test_an_unknown_name_says_where_it_was_looked_for_and_what_to_do(no_folders: Path) -> None:
    with pytest.raises(DataError) as caught:
        datasets.load("zzzz")
    message = str(caught.value)
    for part in (
        "'zzzz'",
        "TUNBRIDGE_DATA: not set",
        str(no_folders),
        "Known: 'play_tennis'",
        "download=True",
        "zzzz.csv",
    ):
        assert part in message


def test_a_set_that_could_be_downloaded_is_no_near_miss_of_itself() -> None:
    with pytest.raises(DataError, match="download=True") as caught:
        datasets.load("mushroom")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", ["../drug", "a/b", "a\\b", "", ".hidden", "c:x", "a\nb", "a?b", "a%2f", 3, None])
def test_names_cannot_lead_elsewhere(name: object) -> None:
    with pytest.raises(DataError, match="name of a data set must be letters"):
        datasets.load(name, download=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "soon"])
def test_the_timeout_must_be_a_positive_number(timeout: object) -> None:
    with pytest.raises(DataError, match="timeout must be"):
        datasets.load("drug", timeout=timeout)  # type: ignore[arg-type]


def test_downloadable_sets_are_listed_on_request() -> None:
    assert "mushroom" not in datasets.names()
    records = {record.name: record for record in datasets.describe(download=True)}
    assert records["mushroom"].source == "https://archive.ics.uci.edu/static/public/73/data.csv"
    assert (records["mushroom"].target, records["mushroom"].n_rows, records["mushroom"].n_columns) == (
        "poisonous",
        8124,
        23,
    )
    assert datasets.names(download=True)[:7] == CLASSICS


# Local files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that TUNBRIDGE_DATA names."""
    path = tmp_path / "my data"
    path.mkdir()
    monkeypatch.setenv("TUNBRIDGE_DATA", str(path))
    return path


def put(path: Path, content: bytes = CSV) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("file", ["toadstools.csv", "deep/er/toadstools.csv", "toadstools.csv.gz", "toadstools.CSV"])
def test_a_file_in_the_data_folder_is_found(folder: Path, file: str) -> None:
    put(folder / file)
    table = datasets.load("toadstools")
    assert table.names == ("odour", "spots", "class")
    assert table.n_rows == 3


def test_other_formats_are_found(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    put(folder / "small.arff", ARFF)
    pq.write_table(pa.table({"a": ["x", "y"]}), folder / "columns.parquet")
    assert datasets.load("small").missing == {"a": 1}
    assert rows(datasets.load("columns")) == [("x",), ("y",)]


def test_names_with_dots_and_dashes_are_found(folder: Path) -> None:
    put(folder / "mofn-3-7-10.csv")
    put(folder / "clgaussian.test.csv")
    assert datasets.load("mofn-3-7-10").n_rows == datasets.load("clgaussian.test").n_rows == 3


def test_the_file_nearest_to_the_top_wins_then_the_first_format(folder: Path) -> None:
    put(folder / "a" / "fungi.csv", b"x,y\n1,2\n")
    put(folder / "fungi.arff", ARFF)
    assert datasets.load("fungi").n_rows == 3
    put(folder / "fungi.csv", b"x,y\n1,2\n3,4\n")
    assert datasets.load("fungi").n_rows == 2


def test_the_data_folder_goes_before_the_cache_and_the_classics_before_both(folder: Path, no_folders: Path) -> None:
    put(no_folders / "fungi.csv", b"x,y\n1,2\n")
    assert datasets.load("fungi").n_rows == 1
    put(folder / "fungi.csv")
    assert datasets.load("fungi").n_rows == 3
    put(folder / "drug.csv")
    assert datasets.load("drug").n_rows == 12


def test_hidden_and_other_files_are_left_out(folder: Path) -> None:
    put(folder / ".git" / "secret.csv")
    put(folder / ".unfinished.csv")
    put(folder / "notes.txt")
    put(folder / "seen.csv")
    assert datasets.names() == (*CLASSICS, "seen")


def test_local_files_are_listed_once_with_their_path(folder: Path) -> None:
    path = put(folder / "sub" / "mushroom.csv")
    put(folder / "sub" / "deep" / "mushroom.csv")
    found = [record for record in datasets.describe(download=True) if record.name == "mushroom"]
    assert found == [datasets.DataSet("mushroom", "A local file", None, None, None, str(path))]


def test_near_misses_of_local_files_get_a_hint(folder: Path) -> None:
    put(folder / "toadstools.csv")
    with pytest.raises(DataError, match="Did you mean 'toadstools'"):
        datasets.load("toadstool")


def test_a_data_folder_that_is_not_there_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_DATA", str(folder / "gone"))
    with pytest.raises(DataError, match="gone, no such folder"):
        datasets.load("toadstools")
    assert datasets.load("drug").n_rows == 12


def test_a_damaged_local_file_is_an_error_of_ours(folder: Path) -> None:
    put(folder / "bad.csv", b"a,b\n1,2\n3\n")
    with pytest.raises(DataError):
        datasets.load("bad")


@pytest.mark.shared
def test_real_sets_are_found_by_name(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_DATA", str(shared_data))
    assert (datasets.load("mushroom").n_rows, datasets.load("mushroom").n_columns) == (8124, 23)
    assert datasets.load("vote").n_rows == 435
    assert datasets.load("insurance").missing == {}
    assert {"mushroom", "vote", "insurance", "letter"} <= set(datasets.names())


@pytest.mark.parametrize(
    ("platform", "expected"), [("linux", ".cache/tunbridge"), ("darwin", "Library/Caches/tunbridge")]
)
def test_the_cache_is_where_the_platform_keeps_caches(
    platform: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TUNBRIDGE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", platform)
    assert datasets.cache_folder() == tmp_path / expected


def test_the_cache_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert datasets.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("TUNBRIDGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert datasets.cache_folder() == tmp_path / "xdg" / "tunbridge"


# The network, played by a server on this machine

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers given paths, and remembers what was asked of it."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.answers.get(self.path, lambda handler: handler.send_error(404))(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self.http.shutdown()
        self.http.server_close()

    def give(self, path: str, body: bytes, *, length: int | None = -1, status: int = 200) -> None:
        """Answer a path with a body; ``length`` is announced instead of the true one (``None``: no announcement)."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            if length is not None:
                handler.send_header("Content-Length", str(len(body) if length < 0 else length))
            handler.end_headers()
            handler.wfile.write(body)

        self.answers[path] = answer

    def openml(
        self, name: str, body: bytes = ARFF, *, md5: str | None = None, versions: list[dict] | None = None
    ) -> None:
        """Play OpenML with one data set: number 61, file 1000."""
        entry = {"did": 61, "name": name, "version": 1, "status": "active", "format": "ARFF", "file_id": 1000}
        listing = {"data": {"dataset": versions if versions is not None else [entry]}}
        about = {"data_set_description": {"id": "61", "md5_checksum": md5 or hashlib.md5(body).hexdigest()}}
        self.give(LIST.format(name), json.dumps(listing).encode())
        self.give("/api/v1/json/data/61", json.dumps(about).encode())
        self.give("/data/v1/download/1000", body)


LIST = "/api/v1/json/data/list/data_name/{}/limit/100/status/active"
UCI_MUSHROOM = "/static/public/73/data.csv"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Return a server that plays both UCI and OpenML."""
    playing = Server()
    monkeypatch.setattr(datasets, "UCI", playing.address)
    monkeypatch.setattr(datasets, "OPENML", playing.address)
    yield playing
    playing.close()


def failure(name: str, **options: float) -> str:
    with pytest.raises(DataError) as caught:
        datasets.load(name, download=True, **options)
    return str(caught.value)


def test_nothing_is_fetched_unasked(server: Server) -> None:
    server.give(UCI_MUSHROOM, CSV)
    with pytest.raises(DataError):
        datasets.load("mushroom")
    assert server.asked == []


def test_a_known_set_comes_from_uci_once(server: Server, no_folders: Path) -> None:
    server.give(UCI_MUSHROOM, CSV)
    table = datasets.load("mushroom", download=True)
    assert rows(table) == [("none", 1.5, "e"), ("foul", 2.5, "p"), ("none", 4.0, "e")]
    assert rows(datasets.load("mushroom")) == rows(table)
    assert rows(datasets.load("mushroom", download=True)) == rows(table)
    assert server.asked == [UCI_MUSHROOM]
    assert [path.name for path in no_folders.iterdir()] == ["mushroom.csv"]
    assert (no_folders / "mushroom.csv").read_bytes() == CSV


def test_local_and_bundled_sets_are_not_fetched(server: Server, folder: Path) -> None:
    put(folder / "mushroom.csv")
    assert datasets.load("mushroom", download=True).n_rows == 3
    assert datasets.load("drug", download=True).n_rows == 12
    assert server.asked == []


def test_other_sets_come_from_openml(server: Server, no_folders: Path) -> None:
    server.openml("small-set")
    table = datasets.load("small-set", download=True)
    assert table.names == ("a", "b")
    assert table.missing == {"a": 1}
    assert (no_folders / "small-set.arff").read_bytes() == ARFF
    assert server.asked == [LIST.format("small-set"), "/api/v1/json/data/61", "/data/v1/download/1000"]


def test_openml_is_asked_in_lower_case_and_names_are_escaped(server: Server) -> None:
    server.openml("bng%28vote%29")
    assert datasets.load("BNG(vote)", download=True).n_rows == 3
    assert datasets.load("BNG(vote)").n_rows == 3


def test_the_oldest_active_arff_version_is_taken(server: Server) -> None:
    def entry(did: int, version: object, file_id: object, kind: str = "ARFF") -> dict:
        return {"did": did, "name": "small", "version": version, "format": kind, "file_id": file_id}

    server.openml("small", versions=[entry(7, 3, 2), entry(8, 1, 3, "parquet"), entry(61, "2", "1000", "Sparse_ARFF")])
    assert datasets.load("small", download=True).n_rows == 3
    assert "/data/v1/download/1000" in server.asked


def test_openml_is_the_second_source_of_a_known_set(server: Server, no_folders: Path) -> None:
    server.give(UCI_MUSHROOM, b"moved", status=500)
    server.openml("mushroom")
    assert datasets.load("mushroom", download=True).names == ("a", "b")
    assert [path.name for path in no_folders.iterdir()] == ["mushroom.arff"]


def test_redirects_are_followed(server: Server) -> None:
    def moved(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere.csv")
        handler.end_headers()

    server.answers[UCI_MUSHROOM] = moved
    server.give("/elsewhere.csv", CSV)
    assert datasets.load("mushroom", download=True).n_rows == 3


def test_a_redirect_to_a_local_file_is_refused(server: Server, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret.csv")

    def moved(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", secret.as_uri())
        handler.end_headers()

    server.answers[UCI_MUSHROOM] = moved
    assert "UCI: HTTP 302" in failure("mushroom")


def assert_nothing_kept(cache: Path) -> None:
    assert list(cache.rglob("*")) == []


def test_not_found_names_every_source_and_the_way_out(server: Server, no_folders: Path) -> None:
    server.give(LIST.format("mushroom"), b'{"error":{"code":"372","message":"No results"}}', status=412)
    message = failure("mushroom")
    assert "UCI: HTTP 404 Not Found" in message
    assert "OpenML: no data set of that name" in message
    assert "put mushroom.csv" in message
    assert "TUNBRIDGE_DATA" in message
    assert_nothing_kept(no_folders)


def test_no_network(monkeypatch: pytest.MonkeyPatch, server: Server, no_folders: Path) -> None:
    server.close()
    message = failure("mushroom")
    assert message.count("refused") == 2
    assert "UCI: " in message
    assert "OpenML: " in message
    assert_nothing_kept(no_folders)


def silent(server: Server, *, after: bytes) -> Answer:
    """Return an answer that stops after its first bytes and keeps the line open."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(after)
        handler.wfile.flush()
        server.over.wait(30)

    return answer


def test_a_server_that_says_nothing(server: Server, no_folders: Path) -> None:
    server.answers[UCI_MUSHROOM] = lambda handler: server.over.wait(30) and None
    assert "UCI: no answer in time" in failure("mushroom", timeout=0.2)
    assert_nothing_kept(no_folders)


def test_a_server_that_falls_silent(server: Server, no_folders: Path) -> None:
    server.answers[UCI_MUSHROOM] = silent(server, after=CSV)
    assert "UCI: no answer in time" in failure("mushroom", timeout=0.2)
    assert_nothing_kept(no_folders)


def test_a_truncated_body_is_not_kept_though_it_would_parse(server: Server, no_folders: Path) -> None:
    server.give(UCI_MUSHROOM, CSV, length=len(CSV) + 100)
    assert f"UCI: the transfer broke off after {len(CSV)} of {len(CSV) + 100} bytes" in failure("mushroom")
    assert_nothing_kept(no_folders)


def test_a_truncated_body_without_a_length_fails_by_its_checksum(server: Server, no_folders: Path) -> None:
    server.openml("small", ARFF, md5=hashlib.md5(ARFF + b"x,9\n").hexdigest())
    server.give("/data/v1/download/1000", ARFF, length=None)
    assert "OpenML: the file's MD5 is" in failure("small")
    assert_nothing_kept(no_folders)


def test_a_body_over_the_limit_is_refused_before_it_is_read(
    server: Server, no_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "MAX_BYTES", 1000)
    server.give(UCI_MUSHROOM, b"", length=2**40)
    assert "UCI: the file is larger than the limit of 1000 bytes" in failure("mushroom")
    assert_nothing_kept(no_folders)


def test_a_body_over_the_limit_is_refused_while_it_is_read(
    server: Server, no_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "MAX_BYTES", len(CSV) - 1)
    server.give(UCI_MUSHROOM, CSV, length=None)
    assert "UCI: the file is larger than the limit" in failure("mushroom")
    monkeypatch.setattr(datasets, "MAX_BYTES", len(CSV))
    assert datasets.load("mushroom", download=True).n_rows == 3


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html>\n<html>\n<p>Sorry\n</html>\n", b"\xef\xbb\xbf \n <html>a\n<p>b\n</html>"]
)
def test_a_web_page_is_no_data_set(server: Server, no_folders: Path, page: bytes) -> None:
    server.give(UCI_MUSHROOM, page)
    server.openml("mushroom", page)
    message = failure("mushroom")
    assert message.count("the answer is a web page, not a data file") == 2
    assert_nothing_kept(no_folders)


@pytest.mark.parametrize("body", [b"", b"a,b\n", b"Not found\n", b"word\nword\n", b"a,b\n1,2\n3\n", b"\xff\xfe,\x00\n"])
def test_what_does_not_parse_is_not_kept(server: Server, no_folders: Path, body: bytes) -> None:
    server.give(UCI_MUSHROOM, body)
    message = failure("mushroom")
    assert "UCI: " in message
    assert str(no_folders) not in message  # the file named there is gone by now
    assert_nothing_kept(no_folders)


@pytest.mark.parametrize(
    "body", [b"@relation x\n@data\n", b"@relation x\n@attribute a {p,q}\n@data\nz\n", b"a,b\n1,2\n"]
)
def test_broken_arff_is_not_kept(server: Server, no_folders: Path, body: bytes) -> None:
    server.openml("small", body)
    assert "OpenML: " in failure("small")
    assert_nothing_kept(no_folders)


@pytest.mark.parametrize(
    ("listing", "reason"),
    [
        (b"<html>", "did not answer in JSON"),
        (b"\xff\xfe", "did not answer in JSON"),
        (b"[" * 100_000, "did not answer in JSON"),
        (b"[]", "not of the expected form"),
        (b"null", "not of the expected form"),
        (b'{"data": {"dataset": [3]}}', "not of the expected form"),
        (b'{"data": {"dataset": [{"format": null}]}}', "not of the expected form"),
        (
            b'{"data": {"dataset": [{"format": "ARFF", "version": 1, "did": "../x", "file_id": 1}]}}',
            "not of the expected",
        ),
        (b'{"data": {"dataset": []}}', "no active version is an ARFF file"),
        (b'{"data": {"dataset": [{"format": "parquet"}]}}', "no active version is an ARFF file"),
    ],
)
def test_strange_answers_of_openml_are_refused(server: Server, listing: bytes, reason: str, no_folders: Path) -> None:
    server.give(LIST.format("small"), listing)
    assert reason in failure("small")
    assert_nothing_kept(no_folders)


@pytest.mark.parametrize("about", [b"[]", b"{}", b'{"data_set_description": null}'])
def test_a_strange_description_is_refused(server: Server, about: bytes, no_folders: Path) -> None:
    server.openml("small")
    server.give("/api/v1/json/data/61", about)
    assert "the description is not of the expected form" in failure("small")
    assert_nothing_kept(no_folders)


def test_a_missing_checksum_is_no_obstacle(server: Server) -> None:
    server.openml("small")
    server.give("/api/v1/json/data/61", b'{"data_set_description": {}}')
    assert datasets.load("small", download=True).n_rows == 3


def test_a_long_list_of_versions_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "_JSON_BYTES", 10)
    server.openml("small")
    assert "OpenML: the file is larger than the limit of 10 bytes" in failure("small")


def test_a_server_that_does_not_speak_http(server: Server) -> None:
    server.answers[UCI_MUSHROOM] = lambda handler: handler.wfile.write(b"hello\r\n\r\n") and None
    assert "UCI: hello" in failure("mushroom")


def test_a_cache_that_cannot_be_written_to(server: Server, no_folders: Path) -> None:
    no_folders.write_text("a file, not a folder")
    with pytest.raises(DataError, match=r"the cache must be a folder that can be written to; .* Set TUNBRIDGE_CACHE"):
        datasets.load("mushroom", download=True)
    assert server.asked == []


def test_an_interrupted_download_leaves_nothing(
    server: Server, no_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path) -> Table:
        raise KeyboardInterrupt

    server.give(UCI_MUSHROOM, CSV)
    monkeypatch.setattr(datasets, "read_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        datasets.load("mushroom", download=True)
    assert_nothing_kept(no_folders)


def test_the_module_loads_nothing_heavy() -> None:
    heavy = {"http.client", "pandas", "sklearn", "numba"}
    code = f"import sys, tunbridge.data.datasets; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
