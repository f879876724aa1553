"""What a score rests on."""

from __future__ import annotations

import numpy as np
import pandas as pd

import tunbridge as tb
from tunbridge.learning.scores.discrete import has_enough_rows


def test_all_rows_are_enough_whatever_their_weights_round_to():
    n = 3.0
    assert has_enough_rows(n * (1.0 - 1e-12), 2.0, 2, n)
    assert not has_enough_rows(n * (1.0 - 1e-6), 2.0, 2, n)
    assert not has_enough_rows(0.0, 2.0, 2, n)


def test_weights_that_do_not_add_up_exactly():
    weights = np.full(7, 0.7)  # in another order they add up to something else in the last digit
    frame = pd.DataFrame({"a": list("uvuvuvu"), "b": list("vvuuvuv"), "c": list("uuvvuvv")})
    table = tb.as_table(frame).with_weights(weights)
    assert np.isfinite(
        list(tb.score_structure(tb.DAG(arcs=[("a", "c"), ("b", "c")]), table, "nal", by_family=True).values())
    ).all()
