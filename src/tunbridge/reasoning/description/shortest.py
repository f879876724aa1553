"""Minimum description length: of several hypotheses that which makes hypothesis and data together shortest to tell.

To tell somebody the data D, one can first tell a hypothesis h, in L(h) bits, and then the data with its help, in
L(D | h) bits. A poor hypothesis leaves much to tell; one that knows every accident of the data is long itself. Between
the two lies

    h_MDL = argmin_h L(h) + L(D | h).

This is Bayes' rule in bits. Code lengths are logarithms of probabilities, so with the prior P(h) ∝ 2^−L(h) and the
likelihood P(D | h) = 2^−L(D | h),

    argmin_h L(h) + L(D | h) = argmax_h log₂ P(h) + log₂ P(D | h) = argmax_h P(h | D) = h_MAP:

the shortest description is that of the most probable hypothesis, and a code is a prior written in another way.

References
----------
J. Rissanen (1978). Modeling by shortest data description. Automatica 14, 465–471.

A. Barron, J. Rissanen, B. Yu (1998). The minimum description length principle in coding and modeling. IEEE Transactions
on Information Theory 44, 2743–2760.

P. D. Grünwald (2007). The Minimum Description Length Principle. MIT Press.

T. M. Mitchell (1997). Machine Learning. McGraw-Hill, section 6.6.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from tunbridge._check import did_you_mean, shortened
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, UnknownStateError
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.grid import text_grid
from tunbridge.reasoning.derivation import Derivation, Equation, Term, equation, number, symbol, total, words
from tunbridge.reasoning.hypotheses import HypothesisSpace
from tunbridge.reasoning.priors import distinct
from tunbridge.reasoning.weights import Weights

_SHOWN = 20
_MOST_APART = 10**6


@dataclass(frozen=True)
class DescriptionLength:
    """How many bits tell a hypothesis, and how many the data once it is known.

    Parameters
    ----------
    name : hashable
        What the hypothesis is called.
    hypothesis_bits, data_bits : float
        L(h) and L(D | h), 0 or more; infinite for what cannot be told at all.
    model : optional
        The hypothesis itself, where it is an object that can do something.

    Examples
    --------
    >>> DescriptionLength("a fair coin", 1, 100)
    a fair coin: 1 + 100 = 101 bits
    """

    name: Hashable
    hypothesis_bits: float
    data_bits: float
    model: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for what, value in (("L(h)", self.hypothesis_bits), ("L(D | h)", self.data_bits)):
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not value >= 0:
                shown = shortened(repr(value))
                raise DataError(f"{what} of {self.name!r} must be a number of bits, 0 or more; got {shown}.")

    @property
    def total(self) -> float:
        """L(h) + L(D | h)."""
        return float(self.hypothesis_bits) + float(self.data_bits)

    def derivation(self) -> Derivation:
        """Return L(h) + L(D | h) with the numbers in it."""
        return Derivation((self._equation(),))

    def _equation(self) -> Equation:
        name = words(self.name)
        asked = total(_length(name), _length(name, given=True))
        return equation(asked, total(_bits(self.hypothesis_bits), _bits(self.data_bits)), _bits(self.total))

    def __repr__(self) -> str:
        return "{}: {} + {} = {} bits".format(self.name, *_rounded(self.hypothesis_bits, self.data_bits, self.total))


def shortest_description(candidates: Any) -> DescriptionChoice:
    """Return the choice between hypotheses by the length of their descriptions.

    Parameters
    ----------
    candidates : sequence of DescriptionLength, or mapping of name to one or to (hypothesis_bits, data_bits)
        The hypotheses, one at least, with different names, and one at least of finite length.

    Returns
    -------
    DescriptionChoice

    Examples
    --------
    Ninety heads in a hundred throws: is it worth two bits more to say that the coin shows heads nine times in ten?

    >>> from tunbridge.reasoning import code_length
    >>> fair, bent = 100 * code_length("1/2"), 90 * code_length("0.9") + 10 * code_length("0.1")
    >>> choice = shortest_description({"fair": (1, fair), "bent": (3, bent)})
    >>> print(choice)
    hypothesis  L(h)  L(D | h)  total    above
    bent        3     46.8996   49.8996  0
    fair        1     100       101      51.1004
    >>> print(choice.derivation())
    L(fair) + L(D | fair) = 1 + 100 = 101
    L(bent) + L(D | bent) = 3 + 46.8996 = 49.8996
    h_MDL = argmin_h L(h) + L(D | h) = bent
    >>> choice.posterior.mode == choice.best.name  # the shortest description is that of the most probable hypothesis
    True
    """
    if isinstance(candidates, Mapping):
        found = [_named(name, value) for name, value in candidates.items()]
    elif isinstance(candidates, Sequence) and all(isinstance(c, DescriptionLength) for c in candidates):
        found = list(candidates)
    else:
        raise DataError(f"candidates must be a sequence of DescriptionLengths; got {shortened(repr(candidates))}.")
    if not found:
        raise DataError("there must be one candidate at least; got none.")
    distinct(candidate.name for candidate in found)
    if all(math.isinf(candidate.total) for candidate in found):
        raise DataError(f"one candidate at least must have a finite length; that of all {len(found)} is infinite.")
    return DescriptionChoice(tuple(found))


def _named(name: Hashable, value: Any) -> DescriptionLength:
    if isinstance(value, DescriptionLength):
        return value if value.name == name else DescriptionLength(name, *_parts(value))
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise DataError(f"the length of {name!r} must be (hypothesis_bits, data_bits); got {shortened(repr(value))}.")
    return DescriptionLength(name, *value)


def _parts(length: DescriptionLength) -> tuple[float, float, Any]:
    return length.hypothesis_bits, length.data_bits, length.model


@final
@dataclass(frozen=True, eq=False, repr=False)
class DescriptionChoice(Mapping[Any, DescriptionLength]):
    """Hypotheses by name with the lengths of their descriptions, the shortest of which is chosen.

    It prints as a table, the shortest first; ``above`` is how many bits more than the shortest a description has.

    Parameters
    ----------
    candidates : tuple of DescriptionLength
        In the order in which they were given.
    """

    candidates: tuple[DescriptionLength, ...]

    def __getitem__(self, name: object) -> DescriptionLength:
        found = next((candidate for candidate in self.candidates if candidate.name == name), None)
        if found is None:
            raise UnknownStateError(f"the name must be that of a candidate; got {name!r}. {did_you_mean(name, self)}")
        return found

    def __iter__(self) -> Iterator[Any]:
        return (candidate.name for candidate in self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    @cached_property
    def best(self) -> DescriptionLength:
        """The shortest description; of equal ones the first."""
        return min(self.candidates, key=lambda candidate: candidate.total)

    @property
    def model(self) -> Any:
        """The hypothesis with the shortest description, where it is an object that can do something."""
        return self.best.model

    @property
    def ranked(self) -> tuple[DescriptionLength, ...]:
        """The candidates, the shortest description first."""
        return tuple(sorted(self.candidates, key=lambda candidate: candidate.total))

    # As probabilities

    @property
    def kraft_sum(self) -> float:
        """Σ_h 2^−L(h): at most 1 where the lengths L(h) are those of a code, in which no word begins another."""
        return float(np.exp2(-self._lengths("hypothesis_bits")).sum())

    @property
    def prior(self) -> Distribution:
        """The prior that matches the code, P(h) = 2^−L(h) / Σ 2^−L(h)."""
        return self._distribution(self._lengths("hypothesis_bits"))

    @property
    def posterior(self) -> Distribution:
        """P(h | D) under that prior, with P(D | h) = 2^−L(D | h)."""
        return self._distribution(self._lengths("total"))

    def space(self) -> HypothesisSpace:
        """Return the hypothesis space with the prior that matches the code.

        The data are one observation, whatever it is called: ``choice.space().update("D").map`` is the name of the best.
        """
        return HypothesisSpace(dict(self), self._exact_prior(), log_likelihood=lambda h, _: -h.data_bits * math.log(2))

    def _exact_prior(self) -> dict[Any, Fraction]:
        """Return the prior as fractions, which are never too small to be told from 0."""
        least = min(float(candidate.hypothesis_bits) for candidate in self.candidates)
        weights = {c.name: _half_to(c.hypothesis_bits - least) for c in self.candidates}
        whole = sum(weights.values(), Fraction(0))
        return {name: weight / whole for name, weight in weights.items()}

    def _lengths(self, which: str) -> np.ndarray:
        return np.array([float(getattr(candidate, which)) for candidate in self.candidates])

    def _distribution(self, lengths: np.ndarray) -> Distribution:
        weights = Weights(-lengths * math.log(2), None, False)
        return Distribution(Variable("hypothesis", tuple(self)), list(weights.shares))

    # For people

    def to_dict(self) -> dict[Any, dict[str, float]]:
        """Return L(h), L(D | h) and their sum by name, for ``pd.DataFrame(choice.to_dict()).T`` and the like.

        Examples
        --------
        >>> shortest_description({"fair": (1, 100)}).to_dict()
        {'fair': {'hypothesis_bits': 1.0, 'data_bits': 100.0, 'total': 101.0}}
        """
        parts = ("hypothesis_bits", "data_bits", "total")
        return {c.name: {part: float(getattr(c, part)) for part in parts} for c in self.candidates}

    def derivation(self) -> Derivation:
        """Return the length of each description with the numbers in it, and which is the shortest."""
        chosen = equation(
            symbol("h_MDL", r"h_{\text{MDL}}"),
            symbol("argmin_h L(h) + L(D | h)", r"\operatorname*{argmin}_h L(h) + L(D \mid h)"),
            words(self.best.name),
        )
        return Derivation((*(candidate._equation() for candidate in self.candidates), chosen))

    def __repr__(self) -> str:
        shown = self.ranked[:_SHOWN]
        lines = [[c.name, *_rounded(*_parts(c)[:2], c.total, c.total - self.best.total)] for c in shown]
        more = f"\n… the {_SHOWN} shortest of {len(self)}" if len(self) > _SHOWN else ""
        return text_grid(["hypothesis", "L(h)", "L(D | h)", "total", "above"], lines) + more


def _rounded(*lengths: float) -> list[str]:
    return [f"{length:.6g}" if length < 1e6 or math.isinf(length) else f"{length:.0f}" for length in lengths]


def _half_to(bits: float) -> Fraction:
    """Return 2^−bits as a fraction."""
    if math.isinf(bits):
        return Fraction(0)
    if bits > _MOST_APART:
        raise DataError(f"the lengths L(h) of a space must be within {_MOST_APART} bits of each other; got {bits:.0f}.")
    whole = int(bits)
    return Fraction(2.0 ** (whole - bits)) / 2**whole


def _length(name: Term, *, given: bool = False) -> Term:
    return (
        Term(f"L(D | {name.text})", rf"L(D \mid {name.latex})")
        if given
        else Term(f"L({name.text})", f"L({name.latex})")
    )


def _bits(value: float) -> Term:
    return symbol("∞", r"\infty") if math.isinf(value) else number(float(value))
