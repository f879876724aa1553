"""The native model file: what it holds, how it is written, and what damaged and hostile files get."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import math
import os
import pickle
import stat
import struct
import tracemalloc
import zipfile
import zlib
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, FileMissingError, FormatError
from tunbridge.formats import native
from tunbridge.formats.native import read_model, write_model

REFERENCE = Path(__file__).parents[2] / "reference" / "native_v1.model"
UTC_PLUS = datetime.timezone(datetime.timedelta(hours=5, minutes=45))

SMALL = {
    "variable": Variable("Outlook", ["Sunny", "Rain"]),
    "counts": np.array([[3, 2], [4, 0]], np.int32),
    "labels": np.array(["no", "yes"]),
    "m": 1.5,
}


def same(a: object, b: object) -> bool:
    """Whether two contents are equal, types, dtypes, shapes and the order of keys included; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Variable):
        return same((a.name, a.states, a.ordered), (b.name, b.states, b.ordered))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float) and a == 0:
        return b == 0 and math.copysign(1, a) == math.copysign(1, b)
    return repr(a) == repr(b)


def back(folder: Path, value: object) -> object:
    path = folder / "value.tb"
    write_model(path, "test", {"value": value})
    return read_model(path)[1]["value"]


def put(path: Path, members: list[tuple[str, bytes]], **rest: int) -> Path:
    with zipfile.ZipFile(path, "w", **{"compression": zipfile.ZIP_DEFLATED, **rest}) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def model_json(content: object = (), **changes: object) -> bytes:
    header = {"format": "tunbridge", "version": 1, "kind": "test", "written_by": "tunbridge 0.1.0"}
    return json.dumps({**header, "content": content or {}, **changes}).encode()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def refused(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read_model(path)
    message = str(caught.value)
    assert repr(str(path)) in message
    assert "\n" not in message
    return message


# What comes back


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 2**53, 2**53 + 1, -(2**64), 10**5000, -(10**5000)),
        *(0.0, -0.0, 0.1, 1e-320, 1.7976931348623157e308, math.nan, math.inf, -math.inf),
        *("", "a b, c", "naïve 贝叶斯 😀", '\0\n"\\', "$array"),
        *([], (), {}, [1, (2, [3, ()])], ({"a": ()},), [[[]]]),
        {"$array": 0, "$": 1, "$$": 2, "$$x": {"$tuple": [1]}, "": 3, "plain": 4},
        {"$float": "nan"},
        {"z": 1, "a": 2},
        *(Decimal("0.10"), Decimal("-1E+400"), Decimal("NaN"), Decimal("-Infinity")),
        *(datetime.date(1761, 4, 7), datetime.datetime(2024, 2, 29, 23, 59, 59, 999999)),
        datetime.datetime(2024, 1, 1, tzinfo=UTC_PLUS),
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) else f"int of {value.bit_length()} bits",
)
def test_a_value_comes_back_equal_and_of_its_type(tmp_path, value):
    got = back(tmp_path, value)
    if type(value) is int:  # repr refuses whole numbers of thousands of digits
        assert type(got) is int
        assert got == value
    else:
        assert same(got, value)


@pytest.mark.parametrize(
    "scalar",
    [
        *(np.bool_(True), np.int8(-128), np.uint64(2**64 - 1), np.int64(-(2**63)), np.float16(0.1), np.float32(0.1)),
        *(np.float64(0.1), np.float32(np.nan), np.float64(-np.inf), np.float32(1e-45), np.str_("né"), np.str_("")),
    ],
)
def test_numpy_scalars_stay_numpy_scalars(tmp_path, scalar):
    got = back(tmp_path, scalar)
    assert type(got) is type(scalar)
    assert got == scalar or (got != got and scalar != scalar)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "U1", "U7"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 1, 2)])
def test_arrays_keep_dtype_and_shape(tmp_path, dtype, shape):
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    got = back(tmp_path, [array])[0]
    assert same(got, array)
    assert got.flags.c_contiguous
    assert got.flags.writeable
    assert got.flags.aligned


def test_order_in_memory_and_byte_order_are_normalised(tmp_path):
    array = np.arange(12, dtype=">f8").reshape(3, 4)
    fortran, strided, texts = np.asfortranarray(array), array[::2, ::-1], np.array(["a", "bc"], ">U2")
    got = back(tmp_path, [fortran, strided, texts])
    for one, original in zip(got, [fortran, strided, texts], strict=True):
        assert one.dtype.isnative
        assert one.flags.c_contiguous
        np.testing.assert_array_equal(one, original)


@pytest.mark.parametrize("size", [2**20 - 129, 2**20 - 128, 2**20 - 127, 3 * 2**20])
def test_arrays_around_the_size_of_the_pieces_that_are_read(tmp_path, size):
    array = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    assert same(back(tmp_path, array), array)


def test_an_array_that_stands_twice_comes_back_as_two(tmp_path):
    array = np.arange(3.0)
    first, second = back(tmp_path, [array, array])
    first[0] = 7
    assert second[0] == 0


def test_nan_and_infinity_in_arrays_survive(tmp_path):
    array = np.array([np.nan, np.inf, -np.inf, -0.0])
    assert same(back(tmp_path, array), array)


@pytest.mark.parametrize(
    "variable",
    [
        Variable("age"),
        Variable("all missing", []),
        Variable("severity, in words", ["low", "high"], ordered=True),
        Variable("mixed", [1, "1", 2.5, False, Decimal("1.10"), (1, "a"), np.int64(7), math.inf]),
        Variable("day", [datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2), datetime.datetime.max]),
    ],
    ids=lambda variable: variable.name,
)
def test_variables_keep_the_types_of_their_states(tmp_path, variable):
    assert same(back(tmp_path, {"x": (variable,)}), {"x": (variable,)})


def test_kind_and_top_level_keys(tmp_path):
    path = str(tmp_path / "m.tb")
    write_model(path, "naive-bayes", OrderedDict([("$array", 1), ("b", 2)]))
    assert read_model(path) == ("naive-bayes", {"$array": 1, "b": 2})


def test_the_deepest_nesting_that_is_written_is_read(tmp_path):
    value: object = Variable("x", ["a"])
    for level in range(61):
        value = [(value,), {"k": (value,)}][level % 2] if level % 3 else [value]
        try:
            write_model(tmp_path / "deep.tb", "test", {"value": value})
        except DataError:
            break
        assert same(read_model(tmp_path / "deep.tb")[1]["value"], value)
    else:
        pytest.fail("the nesting has no limit")
    assert level > 30


# What is in the file


def test_the_file_is_zip_json_and_npy(tmp_path):
    path = tmp_path / "m.tb"
    write_model(path, "test", {"a": np.arange(3), "b": (math.nan, {"$": 2**70}), "v": Variable("x", ["y"])})
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["model.json", "arrays/0.npy"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        model = json.loads(archive.read("model.json"), parse_constant=lambda name: pytest.fail(name))
    assert model == {
        "format": "tunbridge",
        "version": 1,
        "kind": "test",
        "written_by": f"tunbridge {native.__version__}",
        "content": {
            "a": {"$array": 0},
            "b": {"$tuple": [{"$float": "nan"}, {"$$": {"$int": hex(2**70)}}]},
            "v": {"$variable": {"name": "x", "states": ["y"], "ordered": False}},
        },
    }
    np.testing.assert_array_equal(np.load(path)["arrays/0"], np.arange(3))


def test_equal_content_gives_equal_bytes(tmp_path):
    write_model(tmp_path / "a.tb", "test", SMALL)
    write_model(tmp_path / "b.tb", "test", {**SMALL, "counts": np.asfortranarray(SMALL["counts"]).astype(">i4")})
    assert (tmp_path / "a.tb").read_bytes() == (tmp_path / "b.tb").read_bytes()


def test_version_1_is_read_for_ever():
    kind, content = read_model(REFERENCE)
    assert kind == "reference"
    expected = {
        "none": None,
        "numbers": [0, -7, 2**60, 0.1, -0.0, math.nan, math.inf, -math.inf, True],
        "text": {"$": "dollar", "": "naïve 贝叶斯"},
        "tuple": (1, ("a", [])),
        "dates": [datetime.date(1761, 4, 7), datetime.datetime(2024, 2, 29, 12, 30, tzinfo=UTC_PLUS)],
        "decimal": Decimal("0.10"),
        "scalars": [np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("é"), np.uint64(2**64 - 1)],
        "variables": (Variable("age"), Variable("dose", ["low", 2, 2.5, False, Decimal("3.0")], ordered=True)),
        "floats": np.array([[0.5, np.nan], [-np.inf, -0.0]]),
        "codes": np.array([[-1, 0, 3]], np.int8),
        "flags": np.array([True, False]),
        "labels": np.array(["no", "yes", "é"]),
        "empty": np.zeros((0, 4), np.float32),
        "point": np.array(2.5),
    }
    assert same(content, expected)


# Writing: what is refused, and that nothing is lost


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ({"a": [0, 1, 2, {3}]}, r"content\['a'\]\[3\] must .*; got set\."),
        ({"a": {"b": (object(),)}}, r"content\['a'\]\['b'\]\[0\] must .*; got object\."),
        ({"v": Variable("x", ["a", frozenset()])}, r"content\['v'\]\['states'\]\[1\] must .*; got frozenset\."),
        ({"a": b"bytes"}, r"content\['a'\] must .*; got bytes\."),
        ({"a": 1j}, r"content\['a'\] must .*; got complex\."),
        ({"a": OrderedDict()}, r"content\['a'\] must .*; got OrderedDict\."),
        ({"a": np.ma.array([1])}, r"content\['a'\] must .*; got MaskedArray\."),
        ({"a": np.array([None])}, r"content\['a'\] must hold .*; got the NumPy type object\."),
        ({"a": np.array([1j])}, r"content\['a'\] must hold .*complex128\."),
        ({"a": np.array(["2024"], "M8[D]")}, r"content\['a'\] must hold .*datetime64\[D\]\."),
        ({"a": np.array([b"x"])}, r"content\['a'\] must hold .*S1\."),
        ({"a": np.zeros(1, "i4,f8")}, r"content\['a'\] must hold"),
        ({"a": [np.complex64(1)]}, r"content\['a'\]\[0\] must hold .*complex64\."),
        ({"a": {1: 2}}, r"the keys of content\['a'\] must be strings; got 1\."),
        ({1: 2}, r"the keys of content must be strings; got 1\."),
        ({"a": "\ud800"}, r"content\['a'\] must be text that UTF-8 can encode"),
        ({"a": {"\ud800": 1}}, r"must be text that UTF-8 can encode"),
        ([1], r"content must be a mapping; got an object of type list\."),
    ],
)
def test_what_cannot_be_stored_is_named(tmp_path, content, where):
    with pytest.raises(DataError, match=where):
        write_model(tmp_path / "m.tb", "test", content)
    assert os.listdir(tmp_path) == []


def test_long_doubles_are_refused(tmp_path):
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is double on this machine")
    with pytest.raises(DataError, match="floats of at most 64 bits"):
        write_model(tmp_path / "m.tb", "test", {"a": np.zeros(2, np.longdouble)})


def test_a_list_that_holds_itself_is_refused(tmp_path):
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(DataError, match=r"at most 64 levels deep; got more in content\['a'\]\[0\]\[0\]"):
        write_model(tmp_path / "m.tb", "test", {"a": loop})


def test_too_many_arrays_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "_MOST_ARRAYS", 2)
    assert len(back(tmp_path, [np.zeros(1)] * 2)) == 2
    with pytest.raises(DataError, match="at most 2 arrays"):
        back(tmp_path, [np.zeros(1)] * 3)


@pytest.mark.parametrize("kind", ["", 3, None, "\ud800", "a\nb"])
def test_kind_must_be_a_text(tmp_path, kind):
    with pytest.raises(DataError, match="kind must be a non-empty printable string"):
        write_model(tmp_path / "m.tb", kind, {})


@pytest.mark.parametrize("path", [3, None, "", "a\0b", ["m.tb"]])
def test_path_must_name_a_file(path):
    for call in (lambda: write_model(path, "test", {}), lambda: read_model(path)):
        with pytest.raises(DataError, match="path must be the name of a file; got"):
            call()


def test_a_folder_is_no_file(tmp_path):
    for call in (lambda: write_model(tmp_path, "test", {}), lambda: read_model(tmp_path)):
        with pytest.raises(DataError, match=r"must be one file; got .*which is a folder or a device"):
            call()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a POSIX thing")
def test_a_pipe_is_neither_waited_for_nor_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for call in (lambda: write_model(tmp_path / "pipe", "test", {}), lambda: read_model(tmp_path / "pipe")):
        with pytest.raises(DataError, match="must be one file"):
            call()
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_a_missing_folder_and_a_missing_file_are_named(tmp_path):
    path = tmp_path / "nowhere" / "m.tb"
    with pytest.raises(DataError, match=r"must be written to a writable place; got '.*m\.tb' \(No such file"):
        write_model(path, "test", {})
    with pytest.raises(FileMissingError, match=r"a model must be a file that exists; got '.*m\.tb'\."):
        read_model(path)


def test_a_write_protected_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "m.tb"
    path.write_text("mine")
    monkeypatch.setattr(native.os, "access", lambda *_: False)  # the tests may run as root, who may write anything
    with pytest.raises(DataError, match=r"m\.tb' \(the existing file is write-protected\)"):
        write_model(path, "test", {})
    assert path.read_text() == "mine"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a POSIX user who is not root")
def test_permissions_are_named(tmp_path):
    (tmp_path / "m.tb").touch(mode=0o000)
    with pytest.raises(DataError, match="Permission denied"):
        read_model(tmp_path / "m.tb")


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "np.lib.format.write_array"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, failure):
    path = tmp_path / "m.tb"
    write_model(path, "test", {"old": 1})
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(f"tunbridge.formats.native.{step}", fail)
    expected = DataError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected, match=r"m\.tb' \(No space left on device\)" if expected is DataError else None):
        write_model(path, "test", SMALL)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.tb"]


@pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX thing")
def test_the_mode_is_that_of_a_new_file(tmp_path):
    old = os.umask(0o027)
    try:
        write_model(tmp_path / "m.tb", "test", {})
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(tmp_path / "m.tb").st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.tb").symlink_to(tmp_path / "there" / "m.tb")
    write_model(tmp_path / "link.tb", "test", {"a": 1})
    assert (tmp_path / "link.tb").is_symlink()
    assert read_model(tmp_path / "there" / "m.tb") == ("test", {"a": 1})


def test_the_longest_name_works(tmp_path):
    path = tmp_path / ("m" * 252 + ".tb")
    write_model(path, "test", {})
    assert read_model(path) == ("test", {})


# Reading: what is no model


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "an empty file"),
        (pickle.dumps({"a": 1}), "a pickle. Pickles can run code"),
        (gzip.compress(b"x", mtime=0), "a gzip file"),
        (b'  {"format": "tunbridge"}', "JSON text"),
        (b"network unknown {\n}\n", "another kind of file"),
        (b"\x80", "another kind of file"),
        (b"PK\x03\x04 and then nothing", "a damaged file"),
    ],
)
def test_other_files_are_recognised(tmp_path, data, what):
    path = tmp_path / "m.tb"
    path.write_bytes(data)
    message = refused(path)
    assert f"must be an undamaged Tunbridge model; got {what}" in message.replace("what looks like ", "")


def test_other_zip_files_are_recognised(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, a=np.arange(3))
    assert "a ZIP file without model.json" in refused(path)
    for text in (b'{"format": "other"}', b"[]", b"3", b"null"):
        assert "another model.json" in refused(put(tmp_path / "other.zip", [("model.json", text)]))


def test_a_newer_version_says_so_before_anything_else(tmp_path):
    newer = model_json({"x": {"$quaternion": 1}}, version=7, written_by="tunbridge 3.2.0")
    message = refused(put(tmp_path / "m.tb", [("model.json", newer), ("extra/thing.bin", b"?")]))
    assert "version 7 of the format, written by 'tunbridge 3.2.0'" in message
    assert "reads up to version 2; upgrade it" in message


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, [1]])
def test_a_version_must_be_a_whole_number(tmp_path, version):
    assert "a version that is not" in refused(put(tmp_path / "m.tb", [("model.json", model_json(version=version))]))


@pytest.mark.parametrize("change", ['"kind": 3', '"kind": null', '"content": []', '"content": null'])
def test_a_header_must_be_complete(tmp_path, change):
    text = model_json()[:-1] + f", {change}}}".encode()  # of a repeated key the last one counts
    assert "without kind or content" in refused(put(tmp_path / "m.tb", [("model.json", text)]))


@pytest.mark.parametrize(
    "content",
    [
        *({"a": {"$array": 5}}, {"a": {"$array": "0"}}, {"a": {"$array": True}}, {"a": {"$array": -1}}),
        *({"a": {"$tuple": 3}}, {"a": {"$tuple": {}}}, {"a": {"$tuple": [], "b": 1}}, {"a": {"$new": 1}}),
        *({"a": {"$float": "1.5"}}, {"a": {"$float": 1}}, {"a": {"$int": "x"}}, {"a": {"$int": 3}}, {"$tuple": [1]}),
        *({"a": {"$decimal": "x"}}, {"a": {"$date": "2024-02-30"}}, {"a": {"$datetime": "noon"}}),
        *({"a": {"$numpy": ["<f8"]}}, {"a": {"$numpy": ["|O", 1]}}, {"a": {"$numpy": ["|i1", 300]}}),
        *({"a": {"$numpy": ["|i1", 1.5]}}, {"a": {"$numpy": ["<f4", 1e300]}}, {"a": {"$numpy": ["<f8", "1"]}}),
        *({"a": {"$numpy": ["<f8", [1.0]]}}, {"a": {"$numpy": [1, 1]}}, {"a": {"$numpy": ["<U3", 1]}}),
        *({"a": {"$numpy": ["<U999999999999", "a"]}}, {"a": {"$numpy": ["|b1", 2]}}, {"a": {"$numpy": 3}}),
        *({"a": {"$variable": 3}}, {"a": {"$variable": {}}}),
        {"a": {"$variable": {"name": "", "states": [], "ordered": False}}},
        {"a": {"$variable": {"name": "x", "states": "abc", "ordered": False}}},
        {"a": {"$variable": {"name": "x", "states": [1, 1], "ordered": False}}},
        {"a": {"$variable": {"name": "x", "states": [[]], "ordered": False}}},
        {"a": {"$variable": {"name": "x", "states": [None], "ordered": False}}},
    ],
    ids=lambda content: json.dumps(content)[:50],
)
def test_wrong_tags_are_refused(tmp_path, content):
    refused(put(tmp_path / "m.tb", [("model.json", model_json(content))]))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe{}",
        model_json().decode().encode("utf-16"),
        model_json({"a": math.nan}),
        model_json({"a": -math.inf}),
        model_json() + b"x",
        model_json().replace(b"{}", b'{"a": ' + b"9" * 5000 + b"}"),
    ],
)
def test_wrong_json_is_refused(tmp_path, text):
    refused(put(tmp_path / "m.tb", [("model.json", text)]))


@pytest.mark.parametrize("depth", [70, 400, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'{"$tuple":[', b"]}")])
def test_deep_nesting_is_refused(tmp_path, depth, opening, closing):
    text = model_json({"a": None}).replace(b"null", opening * depth + b"1" + closing * depth)
    refused(put(tmp_path / "m.tb", [("model.json", text)]))


# Reading: members


ONE = ("arrays/0.npy", npy(np.arange(3.0)))
USES_ONE = ("model.json", model_json({"a": {"$array": 0}}))


@pytest.mark.parametrize(
    "members",
    [
        [USES_ONE],
        [ONE],
        [USES_ONE, ONE, ("arrays/1.npy", ONE[1])],
        [USES_ONE, ONE, ("arrays/2.npy", ONE[1])],
        [USES_ONE, ONE, ("../../evil.npy", ONE[1])],
        [USES_ONE, ONE, ("/etc/evil", b"")],
        [USES_ONE, ONE, ("arrays/", b"")],
        [USES_ONE, ("arrays/00.npy", ONE[1])],
        [USES_ONE, ("ARRAYS/0.npy", ONE[1])],
        [("model.json", model_json({"a": [{"$array": 0}, {"$array": 0}]})), ONE],
    ],
)
def test_members_must_be_those_of_the_content(tmp_path, members):
    path = put(tmp_path / "m.tb", members)
    refused(path)
    assert os.listdir(tmp_path) == ["m.tb"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("members", [[USES_ONE, ONE, ONE], [USES_ONE, USES_ONE, ONE]])
def test_repeated_members_are_refused(tmp_path, members):
    assert "repeated" in refused(put(tmp_path / "m.tb", members))


def test_the_order_of_the_members_is_free(tmp_path):
    assert read_model(put(tmp_path / "m.tb", [ONE, USES_ONE]))[1]["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path, compression):
    put(tmp_path / "m.tb", [("model.json", model_json({"a": "a" * 5000}))], compression=compression)
    refused(tmp_path / "m.tb")


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        ONE[1][:-1],
        ONE[1] + b"\0",
        ONE[1].replace(b"(3,)", b"(4,)"),
        ONE[1].replace(b"(3,)", b"(-3,)"),
        ONE[1].replace(b"(3,)", b"(inf,)"),
        ONE[1].replace(b"(3,)", b"(1e1,)"),
        ONE[1].replace(b"False", b"True "),
        ONE[1].replace(b"<f8", b">f8"),
        ONE[1].replace(b"<f8", b"|O8"),
        ONE[1].replace(b"<f8", b"|V8"),
        ONE[1].replace(b"<f8", b"\xff\xfe8"),
        ONE[1].replace(b"\x01\x00", b"\x02\x00", 1),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickle.dumps(None),
        header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }") + bytes(8),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 99), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9223372036854775807), }"),
        header("{'descr': '<U0', 'fortran_order': False, 'shape': (9223372036854775807,), }"),
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }") + b"\0\2",
        header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }") + struct.pack("<I", 0x110000),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "0, " * 70 + "), }"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path, data):
    refused(put(tmp_path / "m.tb", [USES_ONE, ("arrays/0.npy", data)]))


def test_the_header_of_the_wrong_arrays_is_itself_right(tmp_path):
    data = header("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }") + b"\0\1"
    got = read_model(put(tmp_path / "m.tb", [USES_ONE, ("arrays/0.npy", data)]))[1]["a"]
    assert got.tolist() == [False, True]


# Reading: memory


def test_what_would_not_fit_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "memory_limit", lambda: 2**20)
    write_model(tmp_path / "m.tb", "test", {"a": np.zeros(2**20)})
    put(tmp_path / "long.tb", [("model.json", model_json("a" * 2**24))])
    put(tmp_path / "lists.tb", [("model.json", model_json().replace(b"{}", b"[" + b"[]," * 50_000 + b"[]]"))])
    tracemalloc.start()
    try:
        for name in ("m.tb", "long.tb", "lists.tb"):
            message = refused(tmp_path / name)
            assert "above the memory limit of 1.0 MiB. If you trust it, set TUNBRIDGE_MEMORY_LIMIT" in message
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**21


def directory_entry(data: bytes, name: bytes) -> int:
    """Return where the directory describes a member: its CRC is 16 bytes on, its sizes 20 and 24."""
    return data.rindex(name) - 46


def test_no_more_is_unpacked_than_was_declared(tmp_path):
    bomb = put(tmp_path / "m.tb", [USES_ONE, ("arrays/0.npy", ONE[1] + bytes(50 * 2**20))])
    data = bytearray(bomb.read_bytes())
    entry = directory_entry(data, b"arrays/0.npy")
    data[entry + 24 : entry + 28] = struct.pack("<I", len(ONE[1]))
    data[entry + 16 : entry + 20] = struct.pack("<I", zlib.crc32(ONE[1]))
    bomb.write_bytes(data)
    tracemalloc.start()
    try:
        assert read_model(bomb)[1]["a"].tolist() == [0, 1, 2]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * 2**20


@pytest.mark.parametrize("size", [len(ONE[1]) + 1, 2**31, 2**32 - 2])
def test_a_declared_size_that_is_not_there_is_refused(tmp_path, size):
    path = put(tmp_path / "m.tb", [USES_ONE, ONE])
    data = bytearray(path.read_bytes())
    entry = directory_entry(data, b"arrays/0.npy")
    data[entry + 24 : entry + 28] = struct.pack("<I", size)
    path.write_bytes(data)
    assert size < 2**20 or "sizes that its bytes cannot have" in refused(path)
    refused(path)


def test_members_that_share_their_bytes_are_refused(tmp_path):
    path = put(
        tmp_path / "m.tb", [USES_ONE, *((f"arrays/{n}.npy", npy(np.random.default_rng(0).random(99))) for n in "01")]
    )
    data = bytearray(path.read_bytes())
    entry = directory_entry(data, b"arrays/0.npy")
    data[entry + 20 : entry + 24] = struct.pack("<I", len(data))
    path.write_bytes(data)
    refused(path)


def test_a_directory_of_very_many_members_is_refused(tmp_path):
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0) + b"m"
    directory = entry * 200_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, len(directory), 0, 0)
    (tmp_path / "m.tb").write_bytes(directory + end)
    del directory
    tracemalloc.start()
    try:
        assert "far too many members" in refused(tmp_path / "m.tb")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20


# Reading: damage


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("native") / "m.tb"
    write_model(path, "test", SMALL)
    return path.read_bytes()


def test_a_file_cut_short_anywhere_is_refused(tmp_path, whole):
    path = tmp_path / "m.tb"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path)


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_byte_changed_anywhere_is_refused_or_does_not_matter(tmp_path, whole, flip):
    path = tmp_path / "m.tb"
    n_refused = 0
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ flip]) + whole[i + 1 :])
        try:
            assert same(read_model(path), ("test", SMALL)), i
        except FormatError:
            n_refused += 1
    assert n_refused > len(whole) / 2


def test_a_changed_byte_of_the_data_fails_its_checksum(tmp_path):
    path = put(tmp_path / "m.tb", [USES_ONE, ONE])
    data = bytearray(path.read_bytes())
    data[directory_entry(data, b"arrays/0.npy") + 16] ^= 1
    path.write_bytes(data)
    assert "Bad CRC-32" in refused(path)
