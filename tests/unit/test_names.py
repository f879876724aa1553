"""The names of the package."""

from __future__ import annotations

import tunbridge as tb
from tunbridge import errors


def test_names_are_listed_without_what_makes_the_list():
    assert "lazy_names" not in dir(tb)
    assert "lazy_names" not in dir(tb.reasoning)
    assert {"BayesianNetwork", "TANClassifier", "__version__"} <= set(dir(tb))


def test_every_error_and_warning_is_a_name():
    ours = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert ours <= set(tb.__all__)
