from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge.errors import UnseenStateWarning

DAY = ["--given", "outlook=Sunny", "--given", "temperature=Cool", "--given", "humidity=High", "--given", "wind=Strong"]


def test_the_worked_example(run, model):
    told = run("explain", model, *DAY).stdout
    assert told.startswith("no rather than yes: P(no) = 0.795")
    assert "P(no) = 0.795, P(yes) = 0.205" in told
    case = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    assert str(tb.load(model).explain(case)) in told


def test_what_is_not_given_is_missing(run, model):
    found = json.loads(run("explain", model, "--given", "outlook=Sunny", "--json").stdout)
    assert {e["feature"]: e["value"] for e in found["evidence"]} == {
        "outlook": "Sunny", "temperature": None, "humidity": None, "wind": None,
    }  # fmt: skip
    assert found["prior"] + found["evidence"][0]["weight"] == pytest.approx(found["log_odds"], rel=1e-12)


def test_a_row_of_a_table(run, model, tennis):
    third = json.loads(run("explain", model, tennis, "--row", "3", "--json", "--against", "no").stdout)
    assert (third["label"], third["against"]) == ("yes", "no")
    assert third["evidence"][0] == {"feature": "outlook", "value": "Overcast", "weight": "Infinity"}
    assert third["log_odds"] == "Infinity"
    first = run("explain", model, tennis).stdout
    assert first == run("explain", model, tennis, "--row", "1").stdout


def test_label_and_against(run, model):
    found = json.loads(run("explain", model, *DAY, "--label", "yes", "--json").stdout)
    assert (found["label"], found["against"]) == ("yes", "no")
    assert found["log_odds"] < 0


def test_numbers_and_names_with_signs(run, tmp_path: Path):
    (tmp_path / "d.csv").write_text("a=b,a,y\n1.5,u,no\n2.5,v,yes\n0.5,u,no\n3.5,v,yes\n")
    run("learn", "d.csv", "-t", "y")
    found = json.loads(run("explain", "d.tb", "--given", "a=b=2.25", "--given", "a=u", "--json").stdout)
    assert {e["feature"]: e["value"] for e in found["evidence"]} == {"a=b": 2.25, "a": "u"}
    assert "for 'a=b'; got 'x'" in run("explain", "d.tb", "--given", "a=b=x", code=1).stderr
    assert "must have a number" in run("explain", "d.tb", "--given", "a=b=1e999", code=1).stderr


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_pictures(run, model, tmp_path: Path, suffix):
    pytest.importorskip("matplotlib")
    result = run("explain", model, *DAY, "--json", "--plot", f"why.{suffix}")
    json.loads(result.stdout)
    start = (tmp_path / f"why.{suffix}").read_bytes()[:5]
    assert start in (b"\x89PNG\r", b"<?xml", b"%PDF-")


def test_wrong_use(run, model, tennis):
    assert "nothing to explain: give a table with --row" in run("explain", model, code=2).stderr
    assert "--given must come without a table" in run("explain", model, tennis, *DAY, code=2).stderr
    assert "--row must come with a table" in run("explain", model, *DAY, "--row", "1", code=2).stderr
    assert "--given must be NAME=VALUE" in run("explain", model, "--given", "outlook", code=2).stderr
    assert "Did you mean 'outlook'?" in run("explain", model, "--given", "outlok=Sunny", code=1).stderr
    assert "Did you mean 'Sunny'?" in run("explain", model, "--given", "outlook=Suny", code=1).stderr
    twice = ["--given", "wind=Weak", "--given", "wind=Strong"]
    assert "'wind' twice" in run("explain", model, *twice, code=1).stderr
    assert "which has 14 rows; got 99" in run("explain", model, tennis, "--row", "99", code=1).stderr
    assert "--row" in run("explain", model, tennis, "--row", "0", code=2).stderr
    assert "Did you mean 'yes'?" in run("explain", model, tennis, "--label", "yess", code=1).stderr
    assert "two different classes" in run("explain", model, *DAY, "--label", "no", "--against", "no", code=1).stderr
    assert "must end in '.png'" in run("explain", model, *DAY, "--plot", "why.bmp", code=1).stderr
    assert "Did you mean 'tennis.csv'?" in run("explain", model, "tenis.csv", code=1).stderr
    assert "is a table. Learn one from it" in run("explain", tennis, *DAY, code=1).stderr


class TestWhatIf:
    def test_changes(self, run, model, tennis):
        case = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
        told = run("explain", model, *DAY, "--what-if").stdout
        assert told == f"{tb.load(model).what_if(case)}\n"
        found = json.loads(run("explain", model, tennis, "--row", "1", "--what-if", "--json").stdout)
        assert found["label"] == "no"
        assert all(
            {"feature", "value", "new_value", "label", "probability", "flips"} <= c.keys() for c in found["changes"]
        )

    def test_to_and_change(self, run, model):
        found = json.loads(
            run(
                "explain", model, *DAY, "--what-if", "--to", "yes", "--change", "wind", "--change", "humidity", "--json"
            ).stdout
        )
        assert found["to"] == "yes"
        assert {c["feature"] for c in found["changes"]} == {"wind", "humidity"}

    def test_wrong_use(self, run, model, tennis):
        assert "--to and --change must come with --what-if" in run("explain", model, *DAY, "--to", "yes", code=2).stderr
        assert (
            "--plot must come without --what-if"
            in run("explain", model, *DAY, "--what-if", "--plot", "a.png", code=2).stderr
        )
        assert "--to names the class" in run("explain", model, *DAY, "--what-if", "--label", "yes", code=2).stderr
        assert "nothing to explain: give a table with --row" in run("explain", model, "--what-if", code=2).stderr
        assert "Did you mean 'wind'?" in run("explain", model, *DAY, "--what-if", "--change", "wnd", code=1).stderr
        assert "Did you mean 'yes'?" in run("explain", model, *DAY, "--what-if", "--to", "yess", code=1).stderr


class TestAllRows:
    def test_importance(self, run, model, tmp_path: Path):
        found = tb.load(model).importance()
        assert run("explain", model, "--importance").stdout == f"{found}\n"
        told = json.loads(run("explain", model, "--importance", "--json").stdout)
        assert told == json.loads(json.dumps(found.to_dict()))
        pytest.importorskip("matplotlib")
        assert "The picture is in i.png." in run("explain", model, "--importance", "--plot", "i.png").stderr
        assert (tmp_path / "i.png").read_bytes()[:4] == b"\x89PNG"

    def test_nomogram(self, run, model, tmp_path: Path):
        pytest.importorskip("matplotlib")
        result = run("explain", model, "--nomogram", "n.svg")
        assert result.stdout == ""
        assert "The nomogram is in n.svg." in result.stderr
        assert b"<svg" in (tmp_path / "n.svg").read_bytes()
        both = run("explain", model, *DAY, "--nomogram", "n.svg", "--label", "no", "--against", "yes")
        assert both.stdout.startswith("no rather than yes")

    def test_wrong_use(self, run, model, tennis):
        assert "--importance must come alone" in run("explain", model, tennis, "--importance", code=2).stderr
        assert "--importance must come alone" in run("explain", model, "--importance", "--what-if", code=2).stderr
        assert "about all classes" in run("explain", model, "--importance", "--label", "yes", code=2).stderr
        assert "--plot must have something to draw" in run("explain", model, "--plot", "a.png", code=2).stderr
        assert "must end in '.png'" in run("explain", model, "--nomogram", "n.bmp", code=1).stderr
        assert "--row must come with a table" in run("explain", model, "--importance", "--row", "2", code=2).stderr


def test_values_are_written_as_in_the_table(run, tmp_path):
    pays = [1000 + 37 * i for i in range(40)]
    days = [f"0{1 + i % 9}.0{1 + i % 8}.2024;{'no' if i % 3 else 'yes'}" for i in range(40)]
    text = "".join(f"{pay // 1000}.{pay % 1000:03},50;{rest}\n" for pay, rest in zip(pays, days, strict=True))
    (tmp_path / "d.csv").write_text(f"pay;since;left\n{text}")
    run("learn", "d.csv", "--target", "left", "--model", "nb", "--numeric", "gaussian", "-o", "m.tb")
    told = run("explain", "m.tb", "--given", "pay=1.500,50", "--given", "since=03.04.2024")
    assert "1500.5" in told.stdout
    assert told.stdout == run("explain", "m.tb", "--given", "pay=1500,50", "--given", "since=2024-04-03").stdout
    far = run("explain", "m.tb", "--given", "pay=9000000").stderr
    assert "1 row holds a number far outside of what was learned: pay is 9 000 000, learned were 1000.5 to" in far
    wrong = run("explain", "m.tb", "--given", "since=soon", code=1).stderr
    assert "--given must have a date such as 2025-12-24 for 'since'; got 'soon'" in wrong


@pytest.fixture
def shops(run, tmp_path):
    """A model of categories, dates of days, and a number in one bin; and rows beyond what it knows."""
    rng = np.random.default_rng(0)
    days = [f"{2020 + i % 4}-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(120)]
    rows = [
        f"{'uvw'[i % 3]},{day},{rng.integers(100, 900)},{'q' if day > '2022' else 'p'}" for i, day in enumerate(days)
    ]
    rows[5], rows[6] = rows[5][:-1] + "p", rows[6][:-1] + "q"
    (tmp_path / "d.csv").write_text("\n".join(["kind,day,size,y", *rows]) + "\n")
    run("learn", "d.csv", "-t", "y", "--model", "nb", "-o", "m.tb")
    far = ["Premium,2021-03-04,99999999", "u,2099-01-01,500", "u,2022-01-01,88888888", "u,2022-01-02,77777777"]
    (tmp_path / "far.csv").write_text("\n".join(["kind,day,size", *far]) + "\n")
    return "m.tb"


def test_an_unseen_category_is_named(run, shops):
    told = run("explain", shops, "far.csv", "--row", "1")
    assert re.search(r"\nkind +Premium \(unseen\) +\+0\.00 +1\n", told.stdout)
    assert "-0.00" not in told.stdout
    given = run("explain", shops, "--given", "kind=Premium")
    assert given.stderr == "warning: unseen categories are treated as missing: 'kind' holds 'Premium'.\n"
    assert "Premium (unseen)" in given.stdout
    clf = tb.load(shops)
    frames = pd.DataFrame({"kind": ["u", "Premium"], "day": [0.0, 1.0], "size": [500.0, 1e8]})
    with pytest.warns(UnseenStateWarning):
        one, two = clf.explain(frames)
    assert {e.feature: e.value for e in one.evidence}["kind"] == "u"
    assert {e.feature: e.value for e in two.evidence}["kind"] == "Premium (unseen)"
    assert "100 000 000" in str(two)
    with pytest.warns(UnseenStateWarning):
        table = clf.explain(tb.as_table(frames))[1]
    assert {e.feature: e.value for e in table.evidence}["kind"] == "Premium (unseen)"


def test_a_what_if_gives_days_for_dates(run, shops):
    run("learn", "d.csv", "-t", "y", "--numeric", "gaussian", "-o", "days.tb")
    told = run("explain", "days.tb", "--given", "day=2021-03-04", "--what-if", "--change", "day").stdout
    assert "instead     other class  probability" in told
    assert re.search(r"\nday +2021-03-04  \d{4}-\d\d-\d\d  q", told)


def test_far_numbers_are_named_row_by_row(run, shops):
    told = run("predict", shops, "far.csv", "-o", "p.csv").stderr
    ends = r"learned were \d+ to \d+"
    first = rf"in row 1 size is 99 999 999, {ends}; in row 2 day is 2099-01-01, learned were \S+ to \S+; "
    rest = rf"in row 3 size is 88 888 888, {ends}; and 1 more row\.\n"
    assert re.search(rf"Note: 4 rows hold numbers far outside of what was learned: {first}{rest}", told)
