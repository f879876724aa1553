from __future__ import annotations

import math
from fractions import Fraction

from tunbridge.reasoning.derivation import Derivation, P, equation, number, product, rounded, symbol, words

A, B, C = symbol("a"), symbol("b"), symbol("c")


def test_brackets_stand_where_they_are_needed_and_nowhere_else() -> None:
    assert ((A + B) * C).text == "(a + b) × c"
    assert (A * B + C).text == "a × b + c"
    assert ((A + B) / (A * C)).text == "(a + b) / (a × c)"
    assert ((A + B) / (A * C)).latex == r"\frac{a + b}{a \times c}"
    assert (A - (B + C)).text == "a − (b + c)"
    assert ((A + B) ** 3).text == "(a + b)^3"
    assert A**1 == A
    assert (A * -0.5).text == "a × (-0.5)"
    assert (A + -0.5).text == "a + (-0.5)"


def test_names_are_safe_in_latex() -> None:
    assert words("two\n\nlines").latex == r"\text{two  lines}"  # an empty line ends a formula
    assert words("a_b & 5% {x} #1 $ ^ ~ \\").latex == (
        r"\text{a\_b \& 5\% \{x\} \#1 \$ \textasciicircum{} \textasciitilde{} \textbackslash{}}"
    )


def test_numbers_in_latex() -> None:
    assert number(Fraction(-1, 3)).latex == r"-\tfrac{1}{3}"
    assert number(1.5e-12).latex == r"1.5 \times 10^{-12}"
    assert number(math.inf).latex == r"\infty"
    assert number(-math.inf).text == "-∞"
    assert number(1 - 1e-9).text == "1 - 1e-09"
    assert number(1 - 1e-9).latex == r"1 - 1 \times 10^{-9}"
    assert number(Fraction(1234567)).latex == "1234567"


def test_a_power_of_a_power_has_brackets() -> None:
    """LaTeX stops at a double superscript."""
    assert (number(1e-9) ** 2).latex == r"\left(1 \times 10^{-9}\right)^{2}"
    assert (number(1e-9) ** 2).text == "(1e-09)^2"
    assert ((A**2) ** 3).text == "(a^2)^3"


def test_a_fraction_equals_its_decimals_only_when_it_does() -> None:
    assert str(equation(A, number(Fraction(1, 4)), rounded(Fraction(1, 4)))) == "a = 1/4 = 0.25"
    assert str(equation(A, number(Fraction(2, 3)), rounded(Fraction(2, 3)))) == "a = 2/3 ≈ 0.666667"
    assert str(equation(A, rounded(Fraction(1880, 497)))) == "a ≈ 3.7827"
    assert str(equation(A, number(Fraction(10**30, 7**40)), rounded(Fraction(10**30, 7**40)))) == "a ≈ 0.000157065"
    assert str(equation(A, number(Fraction(1234567)), rounded(Fraction(1234567)))) == "a = 1234567"
    assert equation(A, number(Fraction(2, 3)), rounded(Fraction(2, 3))).latex == r"a &= \tfrac{2}{3} \approx 0.666667"


def test_a_term_that_repeats_is_left_out() -> None:
    assert str(equation(A, number(0.5), rounded(0.5))) == "a = 0.5"


def test_long_equations_get_a_line_for_each_equals_sign() -> None:
    long = product(P(f"hypothesis {i}") for i in range(5))
    lines = str(equation(A, long, B)).splitlines()
    assert [line[:3] for line in lines] == ["a =", "  ="]
    assert equation(A, long, B).latex.count("\\\\\n&= ") == 1


def test_derivations_have_words_and_can_be_joined() -> None:
    first, second = Derivation(("So:", equation(A, B))), Derivation((equation(B, C),))
    joined = first + second
    assert str(joined) == "So:\na = b\nb = c" == repr(joined)
    assert joined.latex == "\\begin{aligned}\n& \\text{So:} \\\\\na &= b \\\\\nb &= c\n\\end{aligned}"
    assert joined._repr_latex_() == f"$$\n{joined.latex}\n$$"
