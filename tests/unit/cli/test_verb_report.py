"""``tunbridge report`` writes one page, and checks its options before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunbridge.network import BayesianNetwork


def test_the_page_has_the_name_of_the_table(run, tennis):
    told = run("report", tennis).stderr
    assert told == "The report is in tennis.html: open it in a browser.\n"
    html = Path("tennis.html").read_text("utf-8")
    assert "<h1>Report: tennis.csv</h1>" in html
    assert f"tennis.csv, {tennis.stat().st_size} bytes" in html
    assert "No target was given" in html


def test_a_target_is_classified(run, tennis):
    run(
        "report",
        tennis,
        "--target",
        "play",
        "-o",
        "out.html",
        "--title",
        "Days <1>",
        "--budget",
        "5",
        "--ignore",
        "wind",
    )
    html = Path("out.html").read_text("utf-8")
    assert "<h1>Report: Days &lt;1&gt;</h1>" in html
    assert "target play, seed 0: 14 rows" in html
    assert '"name":"humidity"' in html
    assert '"name":"wind"' not in html


def test_a_network_of_a_file_is_shown(run, tennis, asia: Path, net: BayesianNetwork):
    run("report", tennis, "--network", asia, "-o", "out.html")
    html = Path("out.html").read_text("utf-8")
    assert all(f'"name":"{name}"' in html for name in net.nodes)


def test_bins_make_classes_of_a_target_of_numbers(run, tmp_path):
    rows = "".join(f"{'ab'[i % 2]},{i / 7:.3f}\n" for i in range(60))
    (tmp_path / "n.csv").write_text("x,y\n" + rows)
    run("report", "n.csv", "-t", "y", "-o", "numbers.html")
    assert "holds numbers that are not integers" in Path("numbers.html").read_text("utf-8")
    run("report", "n.csv", "-t", "y", "--target-bins", "3", "-o", "bins.html")
    assert "Confusion matrix" in Path("bins.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-o", "x.pdf"], "the name of the output must end in '.html', '.htm'; got 'x.pdf'."),
        (["--target", "plai"], "Did you mean 'play'?"),
        (["--max-columns", "1"], "max"),
        (["--network", "absent.bif"], "absent.bif"),
    ],
)
def test_mistakes_are_answered_at_once(run, tennis, options, told):
    code = 2 if "--max-columns" in options else 1
    result = run("report", tennis, *options, code=code)
    assert told in result.stderr
    assert not Path("tennis.html").exists()
