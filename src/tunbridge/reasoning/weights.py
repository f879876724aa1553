"""The weight of each hypothesis: its prior times the probability it gave to what was seen.

With w_h = P(h) Π_d P(d | h), the posterior is w_h / Σ w and the sum itself is P(D), the probability of the data. The
products soon become too small for a float, so they are kept as logarithms; beside them, as long as that is cheap, they
are kept as exact fractions, and the answers are then correct to the last digit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tunbridge.reasoning.numbers import Number, as_float, bits, exact_sum, exact_value, log_of

MOST_BITS = 2**14
"""How many bits the exact weights may have together; with more of them only the logarithms are kept."""

_LARGEST_LOG, _SMALLEST_LOG = math.log(sys.float_info.max), math.log(sys.float_info.min)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of hypotheses, in logarithms and, where cheap, as fractions.

    Parameters
    ----------
    logs : ndarray
        ln w_h; −∞ for a hypothesis that what was seen rules out.
    fractions : tuple of Fraction or None
        w_h, or None where there are logarithms only.
    exact : bool
        Whether all numbers that went in were exact, so that fractions come out.
    """

    logs: np.ndarray
    fractions: tuple[Fraction, ...] | None
    exact: bool

    @classmethod
    def of(cls, prior: Sequence[Number]) -> Weights:
        """Return the weights before anything was seen."""
        logs = np.array([log_of(share) for share in prior])
        return cls(logs, _short([exact_value(p) for p in prior]), not any(isinstance(p, float) for p in prior))

    def times(self, likelihoods: Sequence[Number], repeats: int = 1) -> Weights:
        """Return the weights after an observation with these probabilities was made, once or several times."""
        logs = self.logs + _repeated(np.array([log_of(value) for value in likelihoods]), repeats)
        exact = self.exact and not any(isinstance(value, float) for value in likelihoods)
        return Weights(logs, self._multiplied(likelihoods, repeats), exact)

    def combined(self, other: Weights) -> Weights:
        """Return the products of two sets of weights of the same hypotheses."""
        products = None
        if self.fractions is not None and other.fractions is not None:
            products = _short([a * b for a, b in zip(self.fractions, other.fractions, strict=True)])
        return Weights(self.logs + other.logs, products, self.exact and other.exact)

    def plus_logs(self, log_likelihoods: np.ndarray, repeats: int = 1) -> Weights:
        """Return the weights after an observation whose probabilities or densities are known by their logarithms."""
        return Weights(self.logs + _repeated(log_likelihoods, repeats), None, False)

    def _multiplied(self, likelihoods: Sequence[Number], repeats: int) -> tuple[Fraction, ...] | None:
        if self.fractions is None:
            return None
        factors = tuple(map(exact_value, likelihoods))
        if bits(self.fractions) + repeats * bits(factors) > MOST_BITS:
            return None
        return _short([w * f**repeats for w, f in zip(self.fractions, factors, strict=True)])

    @property
    def possible(self) -> bool:
        """Whether any hypothesis is left."""
        return bool((self.logs > -math.inf).any())

    def possible_at(self, places: Sequence[int]) -> bool:
        """Whether any of the hypotheses at some places is left."""
        return bool((self.logs[list(places)] > -math.inf).any())

    @property
    def best(self) -> int:
        """The place of the largest weight; of equal ones the first."""
        if self.fractions is None:
            return int(self.logs.argmax())
        return self.fractions.index(max(self.fractions))

    @property
    def can_be_written(self) -> bool:
        """Whether :attr:`values` are worth showing: fractions, or floats of which none is too small for one."""
        if self.fractions is None or self.exact:
            return self.fractions is not None
        return bool((self.logs[self.logs > -math.inf] > _SMALLEST_LOG).all())

    @property
    def log_total(self) -> float:
        """The logarithm of Σ w."""
        if self.fractions is not None:
            return log_of(exact_sum(self.fractions))
        return _log_sum(self.logs)

    @property
    def total(self) -> Number:
        """Σ w: a fraction where all was exact; 0.0 where it is below what a float can hold, infinity where above."""
        if self.fractions is None:
            return math.exp(self.log_total) if self.log_total < _LARGEST_LOG else math.inf
        found = exact_sum(self.fractions)
        return found if self.exact else as_float(found)

    @property
    def values(self) -> tuple[Number, ...]:
        """The weights themselves, as :attr:`total` gives their sum."""
        if self.fractions is None:
            return tuple(np.exp(np.minimum(self.logs, _LARGEST_LOG)).tolist())
        return self.fractions if self.exact else tuple(map(as_float, self.fractions))

    @property
    def shares(self) -> tuple[Number, ...]:
        """w_h / Σ w: fractions where all was exact, floats otherwise."""
        if self.fractions is not None:
            whole = exact_sum(self.fractions)
            found = tuple(w / whole for w in self.fractions)
            return found if self.exact else tuple(map(as_float, found))
        scaled = np.exp(self.logs - self.logs.max())
        return tuple((scaled / scaled.sum()).tolist())

    def ratio(self, above: Sequence[int], below: Sequence[int]) -> Number:
        """Return the weight of some hypotheses over that of others; infinite where the others have none."""
        if self.fractions is None:
            low = _log_sum(self.logs[list(below)])
            high = _log_sum(self.logs[list(above)])
            return math.inf if math.isinf(low) or high - low > _LARGEST_LOG else math.exp(high - low)
        weight = exact_sum([self.fractions[i] for i in below])
        if weight == 0:
            return math.inf
        found = exact_sum([self.fractions[i] for i in above]) / weight
        return found if self.exact else as_float(found)


def _log_sum(logs: np.ndarray) -> float:
    top = logs.max(initial=-math.inf)
    return -math.inf if math.isinf(top) else float(top + math.log(np.exp(logs - top).sum()))


def _short(values: Sequence[Fraction]) -> tuple[Fraction, ...] | None:
    return tuple(values) if bits(values) <= MOST_BITS else None


def _repeated(logs: np.ndarray, repeats: int) -> np.ndarray:
    return logs if repeats == 1 else np.where(np.isneginf(logs), -math.inf, logs * repeats)
