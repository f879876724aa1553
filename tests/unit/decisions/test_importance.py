from __future__ import annotations

import json
from math import inf

import pytest

from tunbridge.decisions.importance import importance
from tunbridge.errors import DataError


def example(method: str = "information", values=(0.1, 0.4, 0.0), entropy: float = 0.5):
    rows = zip(["a", "<b>", "c"], values, [(), ("a",), ()], strict=True)
    return importance(rows, method=method, target="y", entropy=entropy)


def test_it_is_a_mapping_in_order():
    found = example()
    assert list(found) == ["<b>", "a", "c"]
    assert dict(found) == {"<b>": 0.4, "a": 0.1, "c": 0.0} == found
    assert len(found) == 3
    assert "a" in found
    assert "z" not in found
    assert found.get("a") == 0.1
    assert found.shares == pytest.approx({"<b>": 0.8, "a": 0.2, "c": 0.0}, rel=1e-12)


def test_what_is_not_there():
    with pytest.raises(DataError, match=r"an importance must be looked up by feature; got 'z'. Known: '<b>', 'a', 'c'"):
        example()["z"]


def test_text():
    lines = str(example()).splitlines()
    assert lines[0] == "What each feature tells about y: H(y) = 0.5 nats"
    assert lines[3] == "<b> | a  0.4000  80.0 %  ++++++++++++++++++++++++"
    assert lines[5] == "c        0.0000   0.0 %"
    weight = str(example("weight", (0.1, inf, 0.0)))
    assert "∞" in weight
    assert "%" not in weight
    assert "nan" not in str(example(values=(0.0, 0.0, 0.0), entropy=0.0))


def test_long_lists_are_cut():
    many = importance([(f"f{i}", 1.0, ()) for i in range(100)], method="information", target="y", entropy=1.0)
    assert str(many).endswith("… 60 more features")


def test_json_and_html():
    told = json.loads(json.dumps(example().to_dict()))
    assert told["features"][0] == {"feature": "<b>", "value": 0.4, "share": 0.8, "given": ["a"]}
    weight = json.loads(json.dumps(example("weight", (0.1, inf, 0.0)).to_dict()))
    assert weight["features"][0] == {"feature": "<b>", "value": "Infinity", "given": ["a"]}
    assert "&lt;b&gt;" in example()._repr_html_()
    assert "<b>" not in example()._repr_html_()
