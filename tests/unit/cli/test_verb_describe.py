from __future__ import annotations

import os


def test_a_classifier_is_described_with_its_features(run, model):
    text = run("describe", model).stdout
    assert "target     play: no 5, yes 9" in text
    assert "humidity     categorical, 2 states  High, Normal" in text


def test_the_date_is_that_of_the_file(run, model):
    os.utime(model, (0, 1_000_000_000))
    assert "written  2001-09-0" in run("describe", model).stdout
