"""Numbers as they are typed: 0.008, 1/125 and 0.8 % are the same, and none of them is rounded.

A decimal stands for itself, and what is computed from decimals is shown as decimals. With a slash, or where exact
answers are asked for, a number is a fraction, and what is computed from fractions alone is one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.reasoning.numbers import Number

Exact = Annotated[bool, typer.Option("--exact", help="Show exact fractions too.")]
WithDerivation = Annotated[
    bool, typer.Option("--derivation", help="Show the formulas with the numbers in them as well.")
]
AsLatex = Annotated[bool, typer.Option("--latex", help="Write these formulas in LaTeX, and nothing else.")]


def read_probability(what: str, text: str, *, exact: bool) -> Number:
    """Return a typed probability.

    Examples
    --------
    >>> read_probability("--prior", "0.8 %", exact=False), read_probability("--prior", "1/3", exact=False)
    (0.008, Fraction(1, 3))
    """
    from tunbridge.reasoning.numbers import as_probability, exact_value

    try:
        value = as_probability(what, text)
    except DataError as error:
        raise UsageError(str(error)) from None
    short = exact_value(float(value)) == value  # otherwise no float stands for it
    return float(value) if short and not exact and "/" not in text else value


def exact_text(value: object) -> str:
    """Return a fraction as text; no text for what is none.

    Examples
    --------
    >>> exact_text(Fraction(49, 235)), exact_text(0.25)
    ('49/235', '')
    """
    return str(value) if isinstance(value, Fraction) else ""


def check_forms(*, derivation: bool, latex: bool, as_json: bool) -> None:
    """Raise for ways of writing an answer that exclude each other."""
    chosen = [name for name, wanted in (("--latex", latex), ("--json", as_json)) if wanted]
    if len(chosen) > 1 or (latex and derivation):
        raise UsageError(
            f"an answer must have one form; got {' and '.join([*chosen, *['--derivation'] * derivation])}."
        )
