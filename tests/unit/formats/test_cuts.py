"""Cut points in network files and in native files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import FormatError
from tunbridge.formats import NetworkParts, read_network_parts, write_network_parts
from tunbridge.formats.bif import read_bif, write_bif
from tunbridge.formats.dsc import write_dsc
from tunbridge.formats.native import FORMAT_VERSION, read_model, write_model
from tunbridge.formats.net import write_net
from tunbridge.formats.xmlbif import write_xmlbif
from tunbridge.probability import CPT

REFERENCE = Path(__file__).parents[2] / "reference" / "native_v2.model"
FEVER = Variable("fever", ["none", "mild", "high"], cuts=[37.5, 38.5])
AGE = Variable("age at visit?", cuts=[0.1 + 0.2, 1e300])
ONE = Variable("one", cuts=[])
ILL = Variable("ill", ["no", "yes"])
PARTS = NetworkParts(
    "ward",
    [
        CPT(AGE, [], [0.2, 0.3, 0.5]),
        CPT(ONE, [], [1.0]),
        CPT(FEVER, [AGE], [[0.5, 0.25, 0.25]] * 3),
        CPT(ILL, [FEVER, ONE], [[[0.9, 0.1]], [[0.5, 0.5]], [[0.125, 0.875]]]),
    ],
    {"fever": ["unit = degrees"]},
)


@pytest.mark.parametrize("suffix", ["tb", "bif", "xmlbif", "net", "dsc", "xdsl", "dsl", "bif.gz"])
def test_cut_points_come_back(tmp_path, suffix):
    write_network_parts(tmp_path / f"ward.{suffix}", PARTS)
    parts = read_network_parts(tmp_path / f"ward.{suffix}")
    assert parts == PARTS
    assert [v.cuts for v in parts.variables] == [(0.1 + 0.2, 1e300), (), (37.5, 38.5), None]
    assert parts.properties["fever"] == ("unit = degrees",)


def test_they_stand_in_a_property():
    assert "  property tunbridge_cuts = 37.5 38.5;\n" in write_bif(PARTS)
    assert "  property tunbridge_cuts = %;\n" in write_bif(PARTS)
    assert "<PROPERTY>tunbridge_cuts = 0.30000000000000004 1e+300</PROPERTY>" in write_xmlbif(PARTS)
    assert 'tunbridge_cuts = "37.5 38.5";' in write_net(PARTS)
    assert 'tunbridge_cuts = "37.5 38.5";' in write_dsc(PARTS)


def test_networks_without_cuts_are_written_as_before():
    plain = NetworkParts("coin", [CPT(ILL, [], [0.5, 0.5])])
    assert all("cuts" not in write(plain) for write in (write_bif, write_xmlbif, write_net, write_dsc))


def test_uai_keeps_numbers_only(tmp_path):
    write_network_parts(tmp_path / "ward.uai", PARTS)
    assert all(v.cuts is None for v in read_network_parts(tmp_path / "ward.uai").variables)


BIF = """network ward {{ }}
variable fever {{ type discrete [ 3 ] {{ {states} }}; property tunbridge_cuts = {cuts}; }}
probability ( fever ) {{ table 0.5, 0.25, 0.25; }}
"""


def test_a_file_written_by_hand():
    parts = read_bif(BIF.format(states="none, mild, high", cuts="37.5   38.5"))
    assert parts.variables == (FEVER,)
    assert not parts.properties


@pytest.mark.parametrize(
    ("states", "cuts", "message"),
    [
        ("a, b, c", "1", "the cuts of 'fever' must be one fewer than its states, 3; got 1."),
        (
            "a, b, c",
            "2 1",
            "the cuts of 'fever' must be strictly increasing; got 1.0 after 2.0. Sort them, drop repeats.",
        ),
        ("a, b, c", "1 high", "the bin edges of 'fever' must be numbers; got 'high'."),
        ("a, b, c", "1, 2", "the bin edges of 'fever' must be numbers; got '1,'."),
        ("a, b, c", "1 nan", "a bin edge of 'fever' must be finite; got nan."),
        ("a, b, c", "1 1e999", "a bin edge of 'fever' must be finite; got inf."),
        ("a, b, 3", "1 2", "the states of 'fever', which has cuts, must be no numbers; got '3'."),
        ("a, b, c", "1 %ff", "a percent-encoded name must be UTF-8; got other bytes."),
    ],
)
def test_wrong_cut_points_are_told_with_their_place(states, cuts, message):
    with pytest.raises(FormatError) as error:
        read_bif(BIF.format(states=states, cuts=cuts))
    assert str(error.value).startswith(f"line 2, column 10: {message}")


# Native files


def version(path):
    return json.loads(zipfile.ZipFile(path).read("model.json"))["version"]


def test_the_version_is_the_oldest_that_can_say_it(tmp_path):
    cases = {
        "plain": ({"variables": [ILL, Variable("x")]}, 1),
        "cut": ({"variables": [ILL, FEVER]}, 2),
        "deep": ({"a": [{"b": (1, [ONE])}]}, 2),
        "array": ({"a": np.zeros(3), "b": "cuts"}, 1),
    }
    for name, (content, expected) in cases.items():
        write_model(tmp_path / name, "test", content)
        assert version(tmp_path / name) == expected
        assert read_model(tmp_path / name)[0] == "test"
    assert FORMAT_VERSION == 2


def test_version_2_is_read_for_ever():
    kind, content = read_model(REFERENCE)
    assert (kind, version(REFERENCE)) == ("reference", 2)
    assert content == {"variables": [FEVER, AGE, ONE, ILL], "n": 3}


@pytest.mark.parametrize("cuts", [[2, 1], ["a", "b"], "ab", {"1": 2}, [1], 3, [1, {"$float": "nan"}]])
def test_damaged_cut_points_are_refused(tmp_path, cuts):
    inner = {"name": "x", "states": ["a", "b", "c"], "ordered": True, "cuts": cuts}
    model = {
        "format": "tunbridge",
        "version": 2,
        "kind": "test",
        "written_by": "",
        "content": {"v": {"$variable": inner}},
    }
    with zipfile.ZipFile(tmp_path / "m.tb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(model))
    with pytest.raises(FormatError, match="must be an undamaged Tunbridge model"):
        read_model(tmp_path / "m.tb")
