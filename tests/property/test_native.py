"""Invariants of the native model file: what is written comes back, and no file whatever breaks the reader."""

from __future__ import annotations

import datetime
import io
import json
import math
import zipfile
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tunbridge.data import Variable
from tunbridge.errors import DataError, FormatError
from tunbridge.formats.native import read_model, write_model


def shown(value: object) -> object:
    """Return what tells two contents apart: values, types, dtypes, shapes, the order of keys; NaN is like NaN."""
    kind = type(value).__name__
    if isinstance(value, dict):
        return kind, [(key, shown(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return kind, [shown(each) for each in value]
    if isinstance(value, Variable):
        return kind, value.name, shown(value.states), value.ordered
    if isinstance(value, np.ndarray):
        return kind, value.dtype.newbyteorder("=").str, value.shape, shown(value.tolist())
    return kind, repr(value)


DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.unicode_string_dtypes(endianness="?", min_len=1, max_len=5),
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
UTF_8 = st.characters(codec="utf-8")  # half a surrogate pair is refused
SCALARS = st.one_of(
    DTYPES.filter(lambda dtype: dtype.kind != "U").flatmap(hnp.from_dtype).map(np.asarray).map(lambda array: array[()]),
    st.text(UTF_8).map(lambda text: np.str_(text.rstrip("\0"))),
)
OFFSETS = st.integers(-1439, 1439).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
TIMES = st.datetimes(timezones=st.none() | OFFSETS).map(lambda time: time.replace(fold=0))
STATES = st.one_of(
    *(st.booleans(), st.integers(), st.text(), st.dates(), TIMES),
    *(st.floats(allow_nan=False), st.decimals(allow_nan=False)),
)
VARIABLES = st.builds(
    Variable,
    st.text(min_size=1),
    st.none() | st.lists(STATES, max_size=4, unique=True),
    st.booleans(),
)
LEAVES = st.one_of(st.none(), st.floats(), st.decimals(), STATES, ARRAYS, SCALARS, VARIABLES)
KEYS = st.text(max_size=5) | st.text("$at", max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple), st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)
CONTENT = st.dictionaries(KEYS, VALUES, max_size=4)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("native") / "model.tb"


@pytest.fixture(scope="module")
def whole(path) -> bytes:
    content = {"v": Variable("x", ["a", 1]), "a": np.arange(40.0), "b": [np.array(["u", "v"])], "t": (math.nan, 2**60)}
    write_model(path, "test", content)
    return path.read_bytes()


@settings(max_examples=200, deadline=None)
@given(content=CONTENT)
def test_what_is_written_comes_back(path, content):
    write_model(path, "test", content)
    kind, got = read_model(path)
    assert kind == "test"
    assert shown(got) == shown(content)


@settings(max_examples=50, deadline=None)
@given(content=CONTENT)
def test_what_was_read_gives_the_same_bytes(path, content):
    write_model(path, "test", content)
    before = path.read_bytes()
    write_model(path, *read_model(path))
    assert path.read_bytes() == before


def read_or_refuse(path: Path, data: bytes) -> object:
    """Return what is read, or None when the file is refused; any other exception is a failure of the test."""
    path.write_bytes(data)
    try:
        return shown(read_model(path)[1])
    except FormatError:
        return None


@settings(max_examples=300, deadline=None)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=4)), min_size=1, max_size=4))
def test_damage_is_refused_or_does_not_matter(path, whole, changes):
    expected = read_or_refuse(path, whole)
    assert expected is not None
    data = whole
    for at, patch in changes:
        i = int(at * len(data))
        data = data[:i] + patch + data[i + len(patch) :]
    assert read_or_refuse(path, data) in (expected, None)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_bytes_cut_out_moved_or_put_in_are_refused_or_do_not_matter(path, whole, data):
    expected = read_or_refuse(path, whole)
    i, j = sorted((data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, len(whole)))))
    filling = data.draw(st.binary(max_size=40) | st.just(whole[i:j] * 2) | st.just(whole))
    assert read_or_refuse(path, whole[:i] + filling + whole[j:]) in (expected, None)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200) | st.binary(max_size=100).map(lambda tail: b"PK\x05\x06" + tail))
def test_bytes_that_are_no_model_are_refused(path, data):
    assert read_or_refuse(path, data) is None


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text("$a", max_size=3), inner, max_size=2),
        st.builds(
            lambda tag, value: {tag: value},
            st.sampled_from(["$array", "$tuple", "$float", "$int", "$decimal", "$date", "$numpy", "$variable", "$x"]),
            inner,
        ),
        st.tuples(st.sampled_from(["<f8", "|b1", "<U3", "|i1", "<f2", "|O"]), inner).map(lambda t: {"$numpy": t}),
        st.fixed_dictionaries({"name": inner | st.text(), "states": inner, "ordered": inner}).map(
            lambda v: {"$variable": v}
        ),
    ),
    max_leaves=10,
)


def archive_of(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


@settings(max_examples=300, deadline=None)
@given(content=st.dictionaries(st.text("$a", max_size=2), JSON, max_size=3))
def test_a_hostile_content_with_right_checksums_is_read_or_refused(path, content):
    text = json.dumps({"format": "tunbridge", "version": 1, "kind": "k", "written_by": "", "content": content})
    read_or_refuse(path, archive_of({"model.json": text.encode()}))


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, 130), patch=st.binary(min_size=1, max_size=6))
def test_a_hostile_array_with_right_checksums_is_read_or_refused(path, whole, at, patch):
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in ("arrays/0.npy", "arrays/1.npy"):
        members[name] = members[name][:at] + patch + members[name][at + len(patch) :]
    read_or_refuse(path, archive_of(members))


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(), max_size=5))
def test_any_text_is_stored_or_refused_with_its_place(path, text):
    try:
        text.encode()
    except UnicodeEncodeError:
        with pytest.raises(DataError, match="content"):
            write_model(path, "test", {"a": text})
    else:
        write_model(path, "test", {"a": text})
        assert read_model(path)[1] == {"a": text}
