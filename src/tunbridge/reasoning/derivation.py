"""Formulas with the numbers in them, written once and shown as text and as LaTeX.

A :class:`Term` is a piece of a formula in both forms. Terms are put together by functions named after what they mean,
:func:`product`, :func:`ratio`, :func:`total`, :func:`probability`, which set brackets where they are needed; an
:class:`Equation` chains them with equals signs, and a :class:`Derivation` is a list of equations with words between
them. It prints as text, and a notebook shows it as mathematics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tunbridge.reasoning.numbers import Number, decimal_text, number_text

_SUM, _RATIO, _PRODUCT, _ATOM = range(-1, 3)
_WIDTH = 80  # letters of an equation that is kept on one line
_SPECIAL = {
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
        How tightly it holds together: −1 a sum, 0 a ratio, 1 a product, 2 anything that never needs brackets.
    approximate : bool
        Whether it stands for its value with less digits than that has.
    """

    text: str
    latex: str
    level: int = _ATOM
    approximate: bool = False

    def within(self, level: int) -> Term:
        """Return the term as it stands inside a formula of this level, in brackets where it holds less tightly."""
        if self.level >= level:
            return self
        if self.level == _RATIO and level == _PRODUCT:  # a fraction that is set as one needs no brackets there
            return replace(self.bracketed(), latex=self.latex)
        return self.bracketed()

    def bracketed(self) -> Term:
        """Return the term in brackets."""
        return Term(f"({self.text})", rf"\left({self.latex}\right)")


@dataclass(frozen=True)
class Equation:
    """Terms that are equal to each other, the first one what is asked for.

    Parameters
    ----------
    terms : tuple of Term
    """

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        first, *others = self.terms
        parts = [f"{'≈' if term.approximate else '='} {term.text}" for term in others]
        between = f"\n{' ' * len(first.text)} " if self._long else " "
        return f"{first.text} {between.join(parts)}"

    @property
    def latex(self) -> str:
        """The equation as lines of an ``aligned`` environment."""
        first, *others = self.terms
        parts = [(r"\approx " if term.approximate else "= ") + term.latex for term in others]
        between = " \\\\\n&" if self._long else " "
        return f"{first.latex} &{between.join(parts)}"

    @property
    def _long(self) -> bool:
        """Whether a line has no room for all of it, so that each equals sign gets one."""
        return sum(len(term.text) + 3 for term in self.terms) - 3 > _WIDTH


@dataclass(frozen=True)
class Derivation:
    r"""How an answer comes about: equations with the numbers in them, and words where they help.

    ``str`` gives the text, ``latex`` the same in LaTeX; a notebook shows the latter.

    Parameters
    ----------
    lines : tuple of Equation or str

    Examples
    --------
    >>> lines = (equation(probability("rain"), total(number(0.25), number(0.5)), number(0.75)),)
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
        """The derivation as an ``aligned`` environment, to stand between ``$$`` or in an ``equation``."""
        lines = [line.latex if isinstance(line, Equation) else "& " + words(line).latex for line in self.lines if line]
        return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex}\n$$"


def equation(*terms: Term) -> Equation:
    """Return the equation of terms; one that would only repeat the term before it is left out."""
    kept = [term for i, term in enumerate(terms) if i == 0 or term.text != terms[i - 1].text]
    return Equation(tuple(kept))


def words(text: object) -> Term:
    r"""Return words, a name for example, as a term.

    Examples
    --------
    >>> words("50% of_it").latex
    '\\text{50\\% of\\_it}'
    """
    escaped = "".join(_SPECIAL.get(character, character) for character in str(text))
    return Term(str(text), rf"\text{{{escaped}}}")


def symbol(text: str, latex: str | None = None) -> Term:
    """Return a symbol, which LaTeX knows by another name or by the same."""
    return Term(text, text if latex is None else latex)


def number(value: Number) -> Term:
    r"""Return a number as a term: a fraction stays one, a float has up to six digits.

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
    """Return a number as a decimal; of a fraction that is more than its decimals the approximation.

    Examples
    --------
    >>> str(equation(symbol("p"), number(Fraction(1, 3)), rounded(Fraction(1, 3))))
    'p = 1/3 ≈ 0.333333'
    """
    if isinstance(value, float) and math.isinf(value):
        return symbol("∞", r"\infty") if value > 0 else Term("-∞", r"-\infty", _SUM)
    text = number_text(value) if isinstance(value, int | Fraction) and value.denominator == 1 else decimal_text(value)
    latex = re.sub(r"e([+-]?\d+)", lambda found: rf" \times 10^{{{int(found[1])}}}", text)
    less = isinstance(value, Fraction) and (" " in text or Fraction(text) != value)
    return Term(text, latex, _SUM if text.startswith("-") or " " in text else _ATOM, less)  # 1 - 1e-09 is a sum


def probability(event: object, given: object = None) -> Term:
    r"""Return P(event) or P(event | given); events are words, or terms of their own.

    Examples
    --------
    >>> probability("cancer", "+").text, probability("cancer", "+").latex
    ('P(cancer | +)', 'P(\\text{cancer} \\mid \\text{+})')
    """
    what = event if isinstance(event, Term) else words(event)
    if given is None:
        return Term(f"P({what.text})", f"P({what.latex})")
    known = given if isinstance(given, Term) else words(given)
    return Term(f"P({what.text} | {known.text})", rf"P({what.latex} \mid {known.latex})")


def product(*factors: Term) -> Term:
    """Return a product.

    Examples
    --------
    >>> product(number(0.5), total(number(0.25), number(0.5))).text
    '0.5 × (0.25 + 0.5)'
    """
    inside = [factor.within(_PRODUCT) for factor in factors]
    return _joined(inside, " × ", r" \times ", _PRODUCT)


def ratio(above: Term, below: Term) -> Term:
    """Return a ratio, which LaTeX sets as a fraction.

    Examples
    --------
    >>> ratio(number(0.5), product(number(0.5), number(0.5))).text
    '0.5 / (0.5 × 0.5)'
    """
    text = f"{above.within(_PRODUCT).text} / {below.within(_ATOM).text}"
    return Term(text, rf"\frac{{{above.latex}}}{{{below.latex}}}", _RATIO)


def power(base: Term, exponent: int) -> Term:
    """Return a power, of exponent 1 the base itself.

    Examples
    --------
    >>> power(number(Fraction(1, 3)), 2).text
    '(1/3)^2'
    """
    if exponent == 1:
        return base
    inside = base.bracketed() if "^" in base.latex else base.within(_ATOM)
    return Term(f"{inside.text}^{exponent}", f"{inside.latex}^{{{exponent}}}")


def logarithm(term: Term) -> Term:
    """Return the natural logarithm of a term."""
    inside = term.within(_ATOM)
    return Term(f"ln {inside.text}", rf"\ln {inside.latex}", _PRODUCT)


def exponential(term: Term) -> Term:
    """Return e to the power of a term."""
    return Term(f"exp({term.text})", rf"\exp\left({term.latex}\right)")


def total(*terms: Term) -> Term:
    """Return a sum."""
    inside = [terms[0], *(term if not term.text.startswith("-") else term.within(_PRODUCT) for term in terms[1:])]
    return _joined(inside, " + ", " + ", _SUM)


def difference(first: Term, second: Term) -> Term:
    """Return first − second."""
    return _joined([first, second.within(_PRODUCT)], " − ", " - ", _SUM)


def _joined(terms: Sequence[Term], text: str, latex: str, level: int) -> Term:
    if len(terms) == 1:
        return terms[0]
    return Term(text.join(term.text for term in terms), latex.join(term.latex for term in terms), level)
