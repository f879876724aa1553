from __future__ import annotations

from tunbridge import decisions


def test_every_name_of_the_stub_can_be_loaded() -> None:
    assert {"REJECT", "Decisions", "Explanation", "calibration_table", "explanation"} <= set(decisions.__all__)
    assert all(hasattr(decisions, name) for name in decisions.__all__)
