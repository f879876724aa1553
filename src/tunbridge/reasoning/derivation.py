r"""Formulas with the numbers in them, written once and shown as text and as LaTeX.

A :class:`Term` is a piece of a formula in both forms. Terms are combined with ``+``, ``-``, ``*``, ``/`` and ``**``,
which set brackets where they are needed; plain numbers are terms too. An :class:`Equation` chains terms with equals
signs, and a :class:`Derivation` is a list of equations and sentences.

>>> prior, likelihood = P("rain"), P("wet", "rain")
>>> print(equation(P("wet, rain"), likelihood * prior, number(0.9) * 0.25, number(0.225)))
P(wet, rain) = P(wet | rain) × P(rain) = 0.9 × 0.25 = 0.225
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tunbridge.reasoning.numbers import Number, decimal_text, number_text

_SUM, _RATIO, _PRODUCT, _ATOM = range(-1, 3)
_WIDTH = 80  # characters of an equation on one line
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\n": " ",
    **{character: "\\" + character for character in "&%$#_{}"},
}


@dataclass(frozen=True)
class Term:
    """A piece of a formula as text and as LaTeX.

    Parameters
    ----------
    text, latex : str
        The two forms.
    level : int
        How tightly it binds: −1 a sum, 0 a ratio, 1 a product, 2 anything that never needs brackets.
    approximate : bool
        Whether it shows fewer digits than its value has.
    """

    text: str
    latex: str
    level: int = _ATOM
    approximate: bool = False

    def within(self, level: int) -> Term:
        """Return the term as an operand of this level, in brackets if it binds less tightly."""
        if self.level >= level:
            return self
        if self.level == _RATIO and level == _PRODUCT:  # \frac needs no brackets in a product
            return replace(self.bracketed(), latex=self.latex)
        return self.bracketed()

    def bracketed(self) -> Term:
        """Return the term in brackets."""
        return Term(f"({self.text})", rf"\left({self.latex}\right)")

    def __add__(self, other: Term | Number) -> Term:
        second = _term(other)
        second = second.within(_PRODUCT) if second.text.startswith("-") else second
        return Term(f"{self.text} + {second.text}", f"{self.latex} + {second.latex}", _SUM)

    def __sub__(self, other: Term | Number) -> Term:
        second = _term(other).within(_PRODUCT)
        return Term(f"{self.text} − {second.text}", f"{self.latex} - {second.latex}", _SUM)

    def __mul__(self, other: Term | Number) -> Term:
        first, second = self.within(_PRODUCT), _term(other).within(_PRODUCT)
        return Term(f"{first.text} × {second.text}", rf"{first.latex} \times {second.latex}", _PRODUCT)

    def __truediv__(self, other: Term | Number) -> Term:
        below = _term(other)
        text = f"{self.within(_PRODUCT).text} / {below.within(_ATOM).text}"
        return Term(text, rf"\frac{{{self.latex}}}{{{below.latex}}}", _RATIO)

    def __pow__(self, exponent: int) -> Term:
        if exponent == 1:
            return self
        inside = self.bracketed() if "^" in self.latex else self.within(_ATOM)
        return Term(f"{inside.text}^{exponent}", f"{inside.latex}^{{{exponent}}}")


@dataclass(frozen=True)
class Equation:
    """Terms that are equal to each other.

    Parameters
    ----------
    terms : tuple of Term
    """

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        first, *others = self.terms
        parts = [f"{'≈' if term.approximate else '='} {term.text}" for term in others]
        between = f"\n{' ' * len(first.text)} " if self._is_long else " "
        return f"{first.text} {between.join(parts)}"

    @property
    def latex(self) -> str:
        """The equation as lines of an ``aligned`` environment."""
        first, *others = self.terms
        parts = [(r"\approx " if term.approximate else "= ") + term.latex for term in others]
        between = " \\\\\n&" if self._is_long else " "
        return f"{first.latex} &{between.join(parts)}"

    @property
    def _is_long(self) -> bool:
        return sum(len(term.text) + 3 for term in self.terms) - 3 > _WIDTH


@dataclass(frozen=True)
class Derivation:
    r"""How a result is computed: equations with the numbers in them, and sentences in between.

    ``str`` gives the text and ``latex`` the same in LaTeX, which a notebook shows.

    Parameters
    ----------
    lines : tuple of Equation or str

    Examples
    --------
    >>> lines = (equation(P("rain"), number(0.25) + 0.5, number(0.75)),)
    >>> print(Derivation(lines))
    P(rain) = 0.25 + 0.5 = 0.75
    >>> print(Derivation(lines).latex)
    \begin{aligned}
    P(\text{rain}) &= 0.25 + 0.5 = 0.75
    \end{aligned}
    """

    lines: tuple[Equation | str, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))

    __repr__ = __str__

    def __add__(self, other: Derivation) -> Derivation:
        return Derivation(self.lines + other.lines)

    @property
    def latex(self) -> str:
        """The derivation as an ``aligned`` environment, to put between ``$$`` or into an ``equation``."""
        lines = [line.latex if isinstance(line, Equation) else "& " + words(line).latex for line in self.lines if line]
        return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex}\n$$"


def equation(*terms: Term) -> Equation:
    """Return the equation of terms; a term that repeats the one before it is left out."""
    return Equation(tuple(term for i, term in enumerate(terms) if i == 0 or term.text != terms[i - 1].text))


def words(text: object) -> Term:
    r"""Return words, for example a name, as a term.

    Examples
    --------
    >>> words("50% of_it").latex
    '\\text{50\\% of\\_it}'
    """
    escaped = "".join(_ESCAPED.get(character, character) for character in str(text))
    return Term(str(text), rf"\text{{{escaped}}}")


def symbol(text: str, latex: str | None = None) -> Term:
    """Return a symbol; without ``latex`` it is the same in both forms."""
    return Term(text, text if latex is None else latex)


def number(value: Number) -> Term:
    r"""Return a number as a term: a fraction as it is, a float with up to six digits.

    Examples
    --------
    >>> number(Fraction(1, 3)).latex, number(0.25).text, number(1e-9).latex
    ('\\tfrac{1}{3}', '0.25', '1 \\times 10^{-9}')
    """
    text = number_text(value)
    if "/" not in text:
        return rounded(value)
    above, below = text.removeprefix("-").split("/")
    sign = "-" if value < 0 else ""
    return Term(text, rf"{sign}\tfrac{{{above}}}{{{below}}}", _SUM if sign else _PRODUCT)


def rounded(value: Number) -> Term:
    """Return a number as a decimal, marked as approximate where a fraction has more digits.

    Examples
    --------
    >>> print(equation(symbol("p"), number(Fraction(1, 3)), rounded(Fraction(1, 3))))
    p = 1/3 ≈ 0.333333
    """
    if isinstance(value, float) and math.isinf(value):
        return symbol("∞", r"\infty") if value > 0 else Term("-∞", r"-\infty", _SUM)
    text = number_text(value) if isinstance(value, int | Fraction) and value.denominator == 1 else decimal_text(value)
    latex = re.sub(r"e([+-]?\d+)", lambda found: rf" \times 10^{{{int(found[1])}}}", text)
    approximate = isinstance(value, Fraction) and (" " in text or Fraction(text) != value)
    return Term(text, latex, _SUM if text.startswith("-") or " " in text else _ATOM, approximate)  # 1 - 1e-09 is a sum


def result(value: Number) -> tuple[Term, Term]:
    """Return a number and its decimals, the last two terms of many equations."""
    return number(value), rounded(value)


def P(event: object, given: object = None) -> Term:  # noqa: N802
    r"""Return P(event) or P(event | given); events are words or terms.

    Examples
    --------
    >>> P("cancer", "+").text, P("cancer", "+").latex
    ('P(cancer | +)', 'P(\\text{cancer} \\mid \\text{+})')
    """
    return call("P", event, given)


def call(function: str, argument: object, given: object = None) -> Term:
    """Return f(argument) or f(argument | given)."""
    what, known = (part if isinstance(part, Term) else words(part) for part in (argument, given))
    if given is None:
        return Term(f"{function}({what.text})", f"{function}({what.latex})")
    return Term(f"{function}({what.text} | {known.text})", rf"{function}({what.latex} \mid {known.latex})")


def log(term: Term) -> Term:
    """Return the natural logarithm of a term."""
    inside = term.within(_ATOM)
    return Term(f"ln {inside.text}", rf"\ln {inside.latex}", _PRODUCT)


def exp(term: Term) -> Term:
    """Return e to the power of a term."""
    return Term(f"exp({term.text})", rf"\exp\left({term.latex}\right)")


def product(factors: Iterable[Term]) -> Term:
    """Return the product of terms, at least one."""
    first, *others = factors
    return math.prod(others, start=first)


def total(terms: Sequence[Term], *, most: int | None = None, last: bool = False) -> Term:
    """Return the sum of terms, at least one.

    Parameters
    ----------
    terms : sequence of Term
    most : int, optional
        The longest sum that is shown in full.
    last : bool
        Whether a longer one ends with its last term, and not with dots.
    """
    if most is not None and len(terms) > most:
        dots = symbol("…", r"\dots")
        terms = [*terms[:2], dots, terms[-1]] if last else [*terms[: most - 1], dots]
    return sum(terms[1:], start=terms[0])


def _term(value: Term | Number) -> Term:
    return value if isinstance(value, Term) else number(value)
