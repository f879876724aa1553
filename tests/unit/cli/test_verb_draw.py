"""``tunbridge network draw``: the files it writes, what they show, and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

import tunbridge as tb


@pytest.fixture
def asia(tmp_path: Path) -> Path:
    path = tmp_path / "asia.bif"
    tb.example_network("asia").write(path)
    return path


def test_the_default_is_an_svg_beside(run, asia):
    assert run("network", "draw", asia).stderr == "The picture is in asia.svg.\n"
    svg = Path("asia.svg").read_text(encoding="utf-8")
    assert svg.count('class="node') == 8
    assert 'class="bar"' not in svg


def test_evidence_interventions_and_strengths(run, asia):
    run("network", "draw", asia, "-o", "a.svg", "--given", "xray=yes", "--target", "lung", "--strengths")
    svg = Path("a.svg").read_text(encoding="utf-8")
    assert "node evidence" in svg
    assert "node target" in svg
    assert "yes 48.9 %" in svg
    assert len({part.split('"')[0] for part in svg.split('stroke-width="')[1:]}) > 4
    run("network", "draw", asia, "-o", "b.svg", "--do", "tub=yes")
    assert "asia → tub" not in Path("b.svg").read_text(encoding="utf-8")


def test_two_networks_compared(run, asia, tmp_path):
    net = tb.example_network("asia")
    other = tb.fit_parameters(net.dag.remove_arc("asia", "tub"), net.sample(100, random_state=0))
    other.write(tmp_path / "other.bif")
    run("network", "draw", tmp_path / "other.bif", "--against", asia, "-o", "c.dot")
    assert '"asia" -> "tub" [color="#b35900", style=dotted];' in Path("c.dot").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "a.jpg"], "the name of the output must end in"),
        (["-o", "no/a.svg"], "folder"),
        (["--given", "xray=maybe"], "maybe"),
        (["--target", "lungs"], "got 'lungs'. Did you mean 'lung'?"),
    ],
)
def test_mistakes(run, asia, options, message):
    assert message in run("network", "draw", asia, *options, code=1).stderr
