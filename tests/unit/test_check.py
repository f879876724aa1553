from __future__ import annotations

import difflib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tunbridge._core.check import (
    check_choice,
    check_integer,
    check_known,
    check_number,
    did_you_mean,
    listed,
    missing_file,
    repeated,
    shortened,
)
from tunbridge.errors import DataError, FileMissingError, UnknownVariableError


def test_shortened_cuts_long_text_only() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"


def test_listed_shows_the_first_values_and_counts_the_rest() -> None:
    assert listed([]) == ""
    assert listed(["a", 1]) == "'a', 1"
    assert listed(iter("abcd"), most=2) == "'a', 'b', … (4 in all)"


def test_listed_cuts_long_values() -> None:
    text = listed(["x" * 10_000])
    assert len(text) == 60
    assert text.endswith("…")


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("Smoke", ["Smoking", "Cancer"], "Did you mean 'Smoking'?"),
        ("smoking", ["Smoking"], "Did you mean 'Smoking'?"),
        ("zebra", ["a", "b"], "Known: 'a', 'b'."),
        (3, [1, 2], "Known: 1, 2."),
        ("a", [], "There are none."),
    ],
)
def test_did_you_mean(name: object, known: list, hint: str) -> None:
    assert did_you_mean(name, known) == hint


def test_did_you_mean_does_not_compare_with_a_million_names() -> None:
    assert did_you_mean("id7", [f"id{i}" for i in range(10**6)]).endswith("… (1000000 in all).")


def test_check_choice_accepts_a_choice() -> None:
    check_choice("kind", "a", ["a", "b"])
    check_choice("kind", None, ["a", None])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("continous", "kind must be one of 'continuous', 'other'; got 'continous'. Did you mean 'continuous'?"),
        ("x", "kind must be one of 'continuous', 'other'; got 'x'."),
        (None, "kind must be one of 'continuous', 'other'; got None."),
        (np.array(["other", "other"]), "kind must be one of 'continuous', 'other'; got array(['other', 'other']"),
    ],
)
def test_check_choice_refuses(value: object, message: str) -> None:
    with pytest.raises(DataError) as error:
        check_choice("kind", value, ["continuous", "other"])
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Decimal(1), Fraction(1)])
def test_check_number_returns_a_float(value: object) -> None:
    number = check_number("m", value, low=0, above=0, high=1)
    assert type(number) is float
    assert number == 1.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "m must be a number; got True."),
        (np.True_, f"m must be a number; got {np.True_!r}."),
        ("1", "m must be a number; got '1'."),
        (None, "m must be a number; got None."),
        (1j, "m must be a number; got 1j."),
        (np.ones(1), "m must be a number; got array([1.])."),
        (-1, "m must be at least 0; got -1."),
        (float("nan"), "m must be at least 0; got nan."),
        (11, "m must be at most 10; got 11."),
        (float("inf"), "m must be at most 10; got inf."),
    ],
)
def test_check_number_refuses(value: object, message: str) -> None:
    with pytest.raises(DataError) as error:
        check_number("m", value, low=0, high=10)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, Decimal("NaN")])
def test_check_number_wants_finite_numbers_even_without_bounds(value: object) -> None:
    with pytest.raises(DataError, match="m must be finite; got "):
        check_number("m", value)


def test_check_number_above_is_strict() -> None:
    with pytest.raises(DataError, match="m must be greater than 0; got 0"):
        check_number("m", 0, above=0)


def test_did_you_mean_finds_slips_among_thousands_of_names() -> None:
    known = [f"{word}_{i}" for i in range(1000) for word in ("temperature", "pressure", "humidity")]
    for slip in ("pressuer_731", "ressure_731", "Pressure_731", "pressure731"):
        assert did_you_mean(slip, known) == "Did you mean 'pressure_731'?"
    assert did_you_mean("zzz", known).startswith("Known: 'temperature_0', ")


def test_did_you_mean_compares_the_starts_of_long_names() -> None:
    known = [f"{'ab' * 100_000}{i}" for i in range(30)]
    assert did_you_mean("ba" * 100_000, known).startswith("Did you mean 'abab")
    assert did_you_mean("xy" * 100_000, known).startswith("Known: ")


def test_did_you_mean_compares_with_few_of_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def count(_: str, names: list[str], **__: object) -> list[str]:
        compared.append(sum(map(len, names)))
        return []

    monkeypatch.setattr(difflib, "get_close_matches", count)
    did_you_mean("b" * 1000, [f"{i}{'a' * 1000}" for i in range(9000)])
    assert compared[0] <= 200 * 100


def test_names_must_be_known() -> None:
    check_known("the names must be known", ["a", "b"], {"b": 1, "a": 2})
    with pytest.raises(UnknownVariableError) as error:
        check_known("evidence must name variables", ["age", "smoke"], ["age", "smoker"], UnknownVariableError)
    assert str(error.value) == "evidence must name variables; got 'smoke'. Did you mean 'smoker'?"


def test_repeated_values_come_once_in_the_order_of_their_first_occurrence() -> None:
    assert repeated("abcacb") == ["a", "b", "c"]
    assert repeated(range(3)) == []


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").touch()
    near = missing_file(tmp_path / "visit.csv")
    assert isinstance(near, FileMissingError)
    assert str(near).endswith(f"Did you mean {str(tmp_path / 'visits.csv')!r}?")
    assert str(missing_file(tmp_path / "xyz")) == f"path must be a file that exists; got {str(tmp_path / 'xyz')!r}."
    assert "there is no folder" in str(missing_file(tmp_path / "no" / "visits.csv"))


def test_an_integer_that_python_does_not_write_is_still_an_error_of_ours():
    with pytest.raises(DataError, match="n must be at least 1; got a larger integer than can be written"):
        check_integer("n", -(10**5000), low=1)


def test_long_messages_with_short_names_are_whole():
    message = f"column 'a' must be short; {'so it is said at length, ' * 20}or use --categorical 'a' instead."
    assert str(DataError(message)) == message
