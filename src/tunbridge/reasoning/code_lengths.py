"""Code lengths in bits, and minimum description length.

A code that is short for likely things and long for unlikely ones takes, at best, −log₂ p bits for something of
probability p. Conversely, the lengths L of any prefix code obey Kraft's inequality Σ 2^−L ≤ 1, so every code is a
probability distribution with p = 2^−L (or slightly less than one). Code lengths here are ideal: they need not be
integers.

To describe data D, first describe a hypothesis h in L(h) bits, and then the data with its help in L(D | h) bits. A poor
hypothesis leaves much to describe; one that knows every accident of the data is long itself. In between lies

    h_MDL = argmin_h L(h) + L(D | h).

This is Bayes' rule in bits. With the prior P(h) ∝ 2^−L(h) and the likelihood P(D | h) = 2^−L(D | h),

    argmin_h L(h) + L(D | h) = argmax_h log₂ P(h) + log₂ P(D | h) = argmax_h P(h | D) = h_MAP:

the shortest description is that of the most probable hypothesis, and a code is a prior in another form.

References
----------
C. E. Shannon (1948). A mathematical theory of communication. Bell System Technical Journal 27, 379–423, 623–656.
J. Rissanen (1978). Modeling by shortest data description. Automatica 14, 465–471.
J. Rissanen (1983). A universal prior for integers and estimation by minimum description length. Annals of Statistics
11, 416–431.
J. R. Quinlan, R. L. Rivest (1989). Inferring decision trees using the minimum description length principle. Information
and Computation 80, 227–248.
A. Barron, J. Rissanen, B. Yu (1998). The minimum description length principle in coding and modeling. IEEE Transactions
on Information Theory 44, 2743–2760.
P. D. Grünwald (2007). The Minimum Description Length Principle. MIT Press.
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, section 6.6.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from tunbridge._core.check import check_integer, check_number, did_you_mean, shortened
from tunbridge._core.grid import text_grid
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, UnknownStateError
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.reading import as_floats
from tunbridge.reasoning.derivation import Derivation, Equation, call, equation, number, symbol, words
from tunbridge.reasoning.hypotheses import HypothesisSpace
from tunbridge.reasoning.numbers import as_float, as_probability, distinct, softmax

LOG_STAR = 2.8651084158399
"""Σ_n 2^−(log₂ n + log₂ log₂ n + …), which makes the universal code of the integers a probability.

It is the sum of the first terms plus an integral: with f(x) = 1/(x log₂ x log₂ log₂ x …) the integral from 2^a on is ln
2 times that from a on, so from 65536 = 2^2^2^2 on it is (ln 2)⁵/(1 − ln 2). Rissanen gives 2.865064, with which the
probabilities would sum to 1.0000155.
"""

_MOST_DECIMALS = 17
_LARGEST = 2**53
_SHOWN = 20
_MOST_BITS_APART = 10**6


def code_length(probability: object) -> float:
    """Return −log₂ p, the bits of something of probability p; infinite if it is impossible.

    Parameters
    ----------
    probability : number or str
        From 0 to 1: a float, a Fraction of any size, or a string such as "1/3".

    Examples
    --------
    >>> code_length(0.125), code_length("1/1024"), code_length(1), code_length(0)
    (3.0, 10.0, 0.0, inf)
    """
    p = as_probability("the probability", probability)
    if p == 0:
        return math.inf
    if p > Fraction(1, 2):
        return abs(math.log1p(as_float(p - 1)) / math.log(2))
    if isinstance(p, Fraction) and p < Fraction(1, 2**1000):
        return math.log2(p.denominator) - math.log2(p.numerator)
    return -math.log2(p)


def naming_bits(n: int) -> float:
    """Return log₂ n, the bits that name one of n equally likely things.

    Examples
    --------
    >>> naming_bits(8), naming_bits(1)
    (3.0, 0.0)
    """
    check_integer("n", n, low=1)
    return math.log2(n)


def whole_number_bits(n: int) -> float:
    """Return the bits of an integer ≥ 1 without any known limit.

    Rissanen's universal code first gives n, then how many digits n has, then how many digits that has, …:

        log* n = log₂ c + log₂ n + log₂ log₂ n + …,

    as long as the terms are positive. The constant c = 2.865108 makes Σ_n 2^−log* n = 1.

    Examples
    --------
    >>> [round(whole_number_bits(n), 3) for n in (1, 2, 16, 1000)]
    [1.519, 2.519, 8.519, 17.322]
    """
    check_integer("n", n, low=1)
    length, rest = math.log2(LOG_STAR), math.log2(n)
    while rest > 0:
        length, rest = length + rest, math.log2(rest)
    return length


def exception_bits(n: int, k: int, *, most: int | None = None, classes: int = 2) -> float:
    """Return the bits that tell which k of n rows are exceptions, and their classes.

    First their number, up to ``most``, then their places, then for each one of the other classes:

        log₂(most + 1) + log₂ C(n, k) + k log₂(classes − 1).

    Parameters
    ----------
    n, k : int
        The number of rows, and of exceptions among them.
    most : int, optional
        The largest possible number of exceptions. Default: n.
    classes : int
        The number of classes; with two, an exception is of the other one.

    References
    ----------
    Quinlan and Rivest (1989), where log₂(b + 1) + log₂ C(n, k) is called L(n, k, b).

    Examples
    --------
    Which five of fourteen days are different:

    >>> round(exception_bits(14, 5), 3)
    14.874
    """
    limit = n if most is None else most
    for name, value in (("n", n), ("k", k), ("most", limit)):
        check_integer(name, value, low=0)
        check_number(name, value, high=_LARGEST)
    check_integer("classes", classes, low=1)
    n, k, limit, classes = int(n), int(k), int(limit), int(classes)
    if k > min(n, limit) or (k and classes == 1):
        what = "n" if k > n else "most" if k > limit else "0 for one class"
        got = f"got k = {k}, n = {n}, most = {limit}, classes = {classes}"
        raise DataError(f"k must be at most {what}; {got}.", parameter="k")
    return math.log2(limit + 1) + float(log2_binomial(n, k)) + (k * math.log2(classes - 1) if k else 0.0)


def log2_binomial(n: ArrayLike, k: ArrayLike) -> np.ndarray:
    """Return log₂ C(n, k) for arrays of numbers.

    Examples
    --------
    >>> log2_binomial(5, [0, 2, 5]).round(6).tolist()
    [0.0, 3.321928, 0.0]
    """
    n, k = np.asarray(n, np.float64), np.asarray(k, np.float64)
    inside = (k > 0) & (k < n)
    some = np.where(inside, k, 0.0)
    found = -(betaln(n - some + 1.0, some + 1.0) + np.log(n + 1.0)) / math.log(2)
    return np.where(inside, found, 0.0)


def as_readings(what: str, values: object) -> np.ndarray:
    """Return recorded numbers as a new array; raise unless there is at least one and all are finite."""
    array = as_floats(what, values)
    if array.ndim != 1 or array.size == 0:
        raise DataError(f"{what} must be a list of at least one number; got an array of shape {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        hint = "Leave missing values out." if np.isnan(array[bad[0]]) else ""
        raise DataError(f"{what} must be finite numbers; number {bad[0] + 1} is {array[bad[0]]}. {hint}".rstrip())
    return array


def recorded_precision(values: object) -> float:
    """Return the precision of recorded numbers: the last decimal place of any of them.

    A number is described to some precision δ, and its probability is that of the numbers that are rounded to it, about
    density × δ. Another precision adds the same bits to every description, except where one is exact to that precision.

    Examples
    --------
    >>> recorded_precision([3.5, 4.25, 1]), recorded_precision([170, 182, 165])
    (0.01, 1.0)
    """
    array = as_readings("values", values)
    spacing = float(np.spacing(np.abs(array).max()))
    for decimals in range(_MOST_DECIMALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.round(array, decimals)
        if np.array_equal(rounded, array):
            return max(float(f"1e-{decimals}"), spacing)
    return spacing


def as_precision(given: object, values: np.ndarray) -> float:
    """Return the precision that was given, or that of the values."""
    return recorded_precision(values) if given is None else check_number("precision", given, above=0)


@dataclass(frozen=True)
class DescriptionLength:
    """The bits of a hypothesis, and of the data given the hypothesis.

    Parameters
    ----------
    name : hashable
        The name of the hypothesis.
    hypothesis_bits, data_bits : float
        L(h) and L(D | h), at least 0; infinite for what cannot be described.
    model : optional
        The hypothesis as an object, such as a fitted polynomial.

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
                raise DataError(f"{what} of {self.name!r} must be a number of bits of at least 0; got {shown}.")

    @property
    def total(self) -> float:
        """L(h) + L(D | h)."""
        return float(self.hypothesis_bits) + float(self.data_bits)

    def derivation(self) -> Derivation:
        """Return L(h) + L(D | h) with the numbers in it."""
        return Derivation((self.equation(),))

    def equation(self) -> Equation:
        """Return L(h) + L(D | h) as an equation."""
        asked = call("L", self.name) + call("L", symbol("D"), self.name)
        parts = number(float(self.hypothesis_bits)) + float(self.data_bits)
        return equation(asked, parts, number(self.total))

    def __repr__(self) -> str:
        return "{}: {} + {} = {} bits".format(self.name, *_rounded(self.hypothesis_bits, self.data_bits, self.total))


def shortest_description(candidates: object) -> DescriptionChoice:
    """Return the choice between hypotheses by the length of their descriptions.

    Parameters
    ----------
    candidates : sequence of DescriptionLength, or mapping of name to one or to (hypothesis_bits, data_bits)
        The hypotheses, with different names, at least one of finite length.

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
        raise DataError("there must be at least one candidate; got none.", parameter="candidates")
    distinct(candidate.name for candidate in found)
    if all(math.isinf(candidate.total) for candidate in found):
        raise DataError(f"at least one candidate must have a finite length; all {len(found)} are infinite.")
    return DescriptionChoice(tuple(found))


def _named(name: Hashable, value: object) -> DescriptionLength:
    if isinstance(value, DescriptionLength):
        return replace(value, name=name)
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise DataError(f"the length of {name!r} must be (hypothesis_bits, data_bits); got {shortened(repr(value))}.")
    return DescriptionLength(name, *value)


@final
@dataclass(frozen=True, eq=False, repr=False)
class DescriptionChoice(Mapping[Any, DescriptionLength]):
    """Hypotheses by name with the lengths of their descriptions; the shortest is chosen.

    It prints as a table, shortest first; ``above`` is the difference from the shortest in bits.

    Parameters
    ----------
    candidates : tuple of DescriptionLength
        In the given order.
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
        """The hypothesis with the shortest description as an object, such as a fitted polynomial."""
        return self.best.model

    @property
    def ranked(self) -> tuple[DescriptionLength, ...]:
        """The candidates, shortest description first."""
        return tuple(sorted(self.candidates, key=lambda candidate: candidate.total))

    @property
    def kraft_sum(self) -> float:
        """Σ_h 2^−L(h): at most 1 if the lengths L(h) are those of a prefix code."""
        return float(np.exp2(-self._lengths("hypothesis_bits")).sum())

    @property
    def prior(self) -> Distribution:
        """The prior that matches the code, P(h) = 2^−L(h) / Σ 2^−L(h)."""
        return self._distribution("hypothesis_bits")

    @property
    def posterior(self) -> Distribution:
        """P(h | D) under that prior, with P(D | h) = 2^−L(D | h)."""
        return self._distribution("total")

    def space(self) -> HypothesisSpace:
        """Return the hypothesis space with the prior that matches the code.

        The data are one observation of any name: ``choice.space().update("D").map`` is the name of the best hypothesis.
        """
        least = min(float(candidate.hypothesis_bits) for candidate in self.candidates)
        weights = {c.name: _half_to(c.hypothesis_bits - least) for c in self.candidates}  # fractions never underflow
        whole = sum(weights.values(), Fraction(0))
        prior = {name: weight / whole for name, weight in weights.items()}
        return HypothesisSpace(dict(self), prior, log_likelihood=lambda h, _: -h.data_bits * math.log(2))

    def _lengths(self, which: str) -> np.ndarray:
        return np.array([float(getattr(candidate, which)) for candidate in self.candidates])

    def _distribution(self, which: str) -> Distribution:
        return Distribution(Variable("hypothesis", tuple(self)), softmax(-self._lengths(which) * math.log(2)))

    def to_dict(self) -> dict[Any, dict[str, float]]:
        """Return L(h), L(D | h) and their sum by name, for example for ``pd.DataFrame(choice.to_dict()).T``.

        Examples
        --------
        >>> shortest_description({"fair": (1, 100)}).to_dict()
        {'fair': {'hypothesis_bits': 1.0, 'data_bits': 100.0, 'total': 101.0}}
        """
        parts = ("hypothesis_bits", "data_bits", "total")
        return {c.name: {part: float(getattr(c, part)) for part in parts} for c in self.candidates}

    def derivation(self) -> Derivation:
        """Return the length of each description with the numbers in it, and which is the shortest."""
        rule = symbol("argmin_h L(h) + L(D | h)", r"\operatorname*{argmin}_h L(h) + L(D \mid h)")
        chosen = equation(symbol("h_MDL", r"h_{\text{MDL}}"), rule, words(self.best.name))
        return Derivation((*(candidate.equation() for candidate in self.candidates), chosen))

    def __repr__(self) -> str:
        lines = [
            [c.name, *_rounded(c.hypothesis_bits, c.data_bits, c.total, c.total - self.best.total)]
            for c in self.ranked[:_SHOWN]
        ]
        more = f"\n… the {_SHOWN} shortest of {len(self)}" if len(self) > _SHOWN else ""
        return text_grid(["hypothesis", "L(h)", "L(D | h)", "total", "above"], lines) + more


def _rounded(*lengths: float) -> list[str]:
    return [f"{length:.6g}" if length < 1e6 or math.isinf(length) else f"{length:.0f}" for length in lengths]


def _half_to(bits: float) -> Fraction:
    """Return 2^−bits as a fraction."""
    if math.isinf(bits):
        return Fraction(0)
    if bits > _MOST_BITS_APART:
        rule = f"the lengths L(h) of a space must be within {_MOST_BITS_APART} bits of each other"
        raise DataError(f"{rule}; got {bits:.0f}.")
    whole = int(bits)
    return Fraction(2.0 ** (whole - bits)) / 2**whole
