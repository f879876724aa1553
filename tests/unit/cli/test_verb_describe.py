from __future__ import annotations

import os
import re


def test_a_classifier_is_described_with_its_features(run, model):
    text = run("describe", model).stdout
    assert "target     play: no 5, yes 9" in text
    assert "humidity     categorical, 2 states  High, Normal" in text


def test_the_date_is_that_of_the_file(run, model):
    os.utime(model, (0, 1_000_000_000))
    assert "written  2001-09-0" in run("describe", model).stdout


def test_dates_and_ranges_are_shown(run, tmp_path):
    rows = [f"2024-{1 + i % 12:02}-{1 + i % 28:02},{i % 7 * i},{'pq'[i * i % 5 % 2]}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["day,n,y", *rows]) + "\n")
    assert re.search(r"\n  day +date +2024-01-01 … 2024-12-24", run("describe", "d.csv").stdout)
    run("learn", "d.csv", "-t", "y", "--numeric", "kernel", "-o", "m.tb")
    told = run("describe", "m.tb").stdout
    assert re.search(r"\nday +date +2024-01-01 … 2024-12-24\n", told)
    assert re.search(r"\nn +number +0 … \d+\n", told)
