from __future__ import annotations

import json

from tunbridge.decisions.evidence import Change, WhatIf, what_if


def example(n: int = 3, **rest) -> WhatIf:
    changes = [Change("a", "x", "y", "yes", 0.4, False), Change("<b>", 3.5, 1.25, "yes", 0.6, True, "≤ 2")]
    changes += [Change(f"c{i}", None, "s\nt", "yes", 0.3 / (i + 1), False) for i in range(n - 2)]
    return what_if("no", 0.7, changes, **rest)


def test_flips_come_first_then_the_most_probable():
    found = example(5)
    assert [c.feature for c in found.changes] == ["<b>", "a", "c0", "c1", "c2"]
    assert [c.feature for c in found.flips] == ["<b>"]


def test_text():
    lines = str(example()).splitlines()
    assert lines[0] == "no: P(no) = 0.7. 1 of 3 single changes gives another class."
    assert lines[3].split() == ["<b>", "3.5", "≤", "2", "yes", "0.6", "flips"]
    assert lines[5].split() == ["c0", "unknown", "s", "t", "yes", "0.3"]
    assert repr(example()) == str(example())


def test_long_lists_are_cut():
    text = str(example(40))
    assert len(text.splitlines()) == 1 + 1 + 1 + 12 + 1
    assert text.endswith("… 28 more changes, none of which flips it")
    assert len(example(40).text().splitlines()) == 3 + 40


def test_headlines():
    assert str(what_if("no", 1.0, [])).endswith("None of 0 single changes gives another class.")
    assert example(to="no")._headline() == "no: P(no) = 0.7. It is no already."
    assert example(to="yes")._headline().endswith("1 of 3 single changes gives yes.")
    only = what_if("no", 0.7, [Change("a", "x", None, "yes", 0.4, False)])
    assert only._headline().endswith("None of 1 single change gives another class.")
    assert "unknown" in str(only)


def test_json_and_html():
    told = json.loads(json.dumps(example().to_dict()))
    assert told["changes"][0] == {
        "feature": "<b>", "value": 3.5, "new_value": 1.25, "interval": "≤ 2", "label": "yes", "probability": 0.6,
        "flips": True,
    }  # fmt: skip
    assert (told["label"], told["to"]) == ("no", None)
    assert "&lt;b&gt;" in example()._repr_html_()
    assert "<b>" not in example()._repr_html_()
