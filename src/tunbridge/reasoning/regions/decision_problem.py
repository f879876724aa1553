"""Bayesian decision theory with known densities.

A class ω_i has the prior P(ω_i) and its points the density p(x | ω_i). Bayes' rule gives the posterior, the losses λ_ij
of choosing j when i is true give the risk of each choice, and the best rule takes the least:

    P(ω_i | x) = P(ω_i) p(x | ω_i) / Σ_k P(ω_k) p(x | ω_k),      R(j | x) = Σ_i λ_ij P(ω_i | x).

It cuts the line or the plane into regions, one or more for each choice. Between two classes it compares the ratio of
likelihoods with a number that does not depend on x: ω₁ is chosen where

    p(x | ω₁) / p(x | ω₂)  >  θ = (λ₂₁ − λ₂₂) P(ω₂) / [(λ₁₂ − λ₁₁) P(ω₁)],

λ₂₁ being the loss when ω₂ is true and ω₁ chosen: true class first, as everywhere in this library. (Duda, Hart and Stork
write the choice first, λ(α₁ | ω₂); there the two indices change places.) A prior or a loss that speaks for ω₂ raises θ,
and the boundary moves into the region of ω₁.

References
----------
R. O. Duda, P. E. Hart, D. G. Stork (2001). Pattern classification, 2nd edition. Wiley; sections 2.1–2.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, final

import numpy as np
from scipy.optimize import brentq

from tunbridge._check import check_number, listed
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.numbers import Number, as_float, log_of, number_text
from tunbridge.reasoning.priors import as_prior
from tunbridge.reasoning.regions.decision_lines import derivation_of, threshold_of
from tunbridge.reasoning.regions.decision_parts import class_densities, impossible_point, labels_of, losses_and_choices
from tunbridge.reasoning.regions.decision_rules import RulePerformance, measured, rule_cuts
from tunbridge.reasoning.regions.densities import as_points
from tunbridge.reasoning.regions.density_adapters import AnyDensity
from tunbridge.reasoning.regions.lines import Cells, Lines, lines_of
from tunbridge.reasoning.regions.regions import Region, as_regions, cut_lines, least_risk, shares_of


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class DecisionProblem:
    """Classes with known densities, their prior probabilities, and what mistakes cost. It never changes.

    Parameters
    ----------
    densities : mapping of class to density
        p(x | ω) of each class, all of one or all of two dimensions: a :class:`Gaussian`, a frozen continuous
        distribution of scipy.stats, or a :class:`Density`, which is a function and its support.
    prior : mapping of class to probability, or sequence; optional
        P(ω); one class may be left out of a mapping. By default all are alike.
    loss : array-like or mapping, optional
        λ, as in :func:`tunbridge.decisions.loss_matrix`, true classes first; by default 0 if right and 1 if wrong.
    actions : sequence, optional
        What can be chosen, where that is not a class.
    reject : float, optional
        The loss of no decision, which is then one more choice, None.

    Examples
    --------
    >>> from tunbridge.reasoning import DecisionProblem, Gaussian
    >>> kinds = {"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)}
    >>> fish = DecisionProblem(kinds, prior={"salmon": 0.7})
    >>> fish.decide(4.2), round(fish.posterior(4.2)["salmon"], 4)
    ('salmon', 0.61)
    >>> fish.regions()
    (Region(low=-inf, high=4.42364893019..., choice='salmon'), Region(low=4.42364893019..., high=inf, choice='bass'))
    >>> round(fish.error(), 6), round(fish.error(rule=4.0), 6)
    (0.138749, 0.158655)
    """

    densities: Mapping[Any, AnyDensity]
    shares: tuple[Number, ...]
    losses: np.ndarray
    choices: tuple[Any, ...]

    def __init__(
        self,
        densities: Mapping[Any, Any],
        prior: Any = None,
        loss: Any = None,
        *,
        actions: Sequence[Any] | None = None,
        reject: float | None = None,
    ) -> None:
        known = class_densities(densities)
        shares = as_prior(prior, tuple(known))
        losses, choices = losses_and_choices(loss, tuple(known), actions, reject)
        self.__dict__.update(densities=MappingProxyType(known), shares=shares, losses=losses, choices=choices)

    # What it consists of

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes."""
        return tuple(self.densities)

    @property
    def prior(self) -> Distribution:
        """The prior probabilities."""
        return Distribution(Variable("class", self.classes), self._prior)

    @property
    def n_dimensions(self) -> int:
        """1 or 2."""
        return next(iter(self.densities.values())).n_dimensions

    def with_prior(self, prior: Any) -> DecisionProblem:
        """Return the same problem with another prior."""
        return self._changed(shares=as_prior(prior, self.classes))

    def with_loss(
        self, loss: Any = None, *, actions: Sequence[Any] | None = None, reject: float | None = None
    ) -> DecisionProblem:
        """Return the same problem with other losses; without any, 0 if right and 1 if wrong."""
        losses, choices = losses_and_choices(loss, self.classes, actions, reject)
        return self._changed(losses=losses, choices=choices)

    # One point, or many

    def posterior(self, x: Any) -> Any:
        """Return P(ω | x): a Distribution for one point, an array (n, n_classes) for many.

        Parameters
        ----------
        x : number or array-like
            A number or an array of them; in the plane two numbers, or an array of shape (n, 2).
        """
        shares, one = self._posteriors(x)
        return Distribution(Variable("class", self.classes), shares[0]) if one else shares

    def risks(self, x: Any) -> Any:
        """Return R(j | x), the expected loss of each choice: a dict for one point, an array (n, n_choices) for many."""
        shares, one = self._posteriors(x)
        found = shares @ self.losses
        return dict(zip(self.choices, found[0].tolist(), strict=True)) if one else found

    def decide(self, x: Any) -> Any:
        """Return the choice of least risk: for one point, or an array of them for many; of equal ones the first.

        Examples
        --------
        >>> from tunbridge.reasoning import DecisionProblem, Gaussian
        >>> kinds = {"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)}
        >>> fish = DecisionProblem(kinds, loss={"bass": 10})
        >>> fish.decide(3.5), fish.decide([0.0, 4.0, 1e6]).tolist()
        ('bass', ['salmon', 'bass', 'bass'])
        """
        points, one = self._points(x)
        codes = least_risk(self._log_weights(points), self.losses)
        found = labels_of(self.choices)[codes]
        return self.choices[int(codes[0])] if one else found

    def likelihood_ratio(self, x: Any, *, log: bool = False) -> Any:
        """Return p(x | ω₁) / p(x | ω₂) of two classes at a point, or at each of many; or its natural logarithm.

        Parameters
        ----------
        x : number or array-like
            As for :meth:`posterior`.
        log : bool
            Return the logarithm, which never overflows.
        """
        self._check_two("a likelihood ratio")
        points, one = self._points(x)
        first, second = (density.log_pdf(points) for density in self.densities.values())
        if (bad := np.flatnonzero(np.isneginf(first) & np.isneginf(second))).size:
            raise impossible_point(points[bad[0]])
        found = np.where(first == second, 0.0, first - np.where(first == second, 0.0, second))
        if not log:
            with np.errstate(over="ignore"):
                found = np.exp(found)
        return float(found[0]) if one else found

    @property
    def threshold(self) -> float:
        """θ, the likelihood ratio above which the first of two classes is chosen.

        Examples
        --------
        >>> from tunbridge.reasoning import DecisionProblem, Gaussian
        >>> people = {"ill": Gaussian(2, variance=1), "well": Gaussian(0, variance=1)}
        >>> DecisionProblem(people, prior={"ill": 0.2}, loss={"ill": 8}).threshold
        0.5
        """
        self._check_two("a threshold of the likelihood ratio")
        return threshold_of(self)

    # Regions

    def regions(self, x: float | None = None) -> tuple[Region, ...]:
        """Return which choice is best where, from low to high.

        Parameters
        ----------
        x : float, optional
            In the plane: the vertical line on which to tell, as intervals of the second coordinate.

        Notes
        -----
        Exact for Gaussians, unless more than two classes enter the comparison of two choices; otherwise as accurate as
        the densities, but a region with less than about a hundredth of the probability may be overlooked.
        """
        cells = self._cells(self._line(x))
        return as_regions(cells, self.choices, self._supports(), "x" if x is None else "y")

    def boundaries(self, x: float | None = None) -> tuple[float, ...]:
        """Return the points between two regions; in the plane those on the vertical line at x."""
        found = self.regions(x)
        return tuple(a.high for a, b in pairwise(found) if a.high == b.low)

    # How good it is

    def performance(self, rule: Any = None) -> RulePerformance:
        """Return how often which choice is made, with error and risk, of the best rule or of another one.

        Parameters
        ----------
        rule : optional
            By default the choice of least risk. Or another :class:`DecisionProblem`, whose choices are then made; or,
            on the line, a number: a threshold between two choices, whichever way round risks less.
        """
        if rule is None:
            return self._own_performance
        return min((measured(self, cut) for cut in rule_cuts(self, rule)), key=lambda found: found.risk)

    def error(self, rule: Any = None) -> float:
        """Return the probability of a wrong choice: with the 0–1 loss the Bayes error, the least there can be.

        Parameters
        ----------
        rule : optional
            Another rule than the best, as for :meth:`performance`.
        """
        return self.performance(rule).error

    def risk(self, rule: Any = None) -> float:
        """Return the expected loss: of the best rule the Bayes risk, or of another one."""
        return self.performance(rule).risk

    def minimax(self) -> DecisionProblem:
        """Return the same problem with the prior of two classes at which the Bayes risk is largest.

        Its rule is the one to take when the prior is not known: unless one class is the worse one whatever is done, it
        has the same risk whichever class is true, so that no prior can make it worse.

        Examples
        --------
        >>> from tunbridge.reasoning import DecisionProblem, Gaussian
        >>> kinds = {"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)}
        >>> fish = DecisionProblem(kinds, loss={"bass": 3})
        >>> worst = fish.minimax()
        >>> worst.performance().class_risks.round(6).tolist(), round(worst.boundaries()[0], 4)
        ([0.260948, 0.260948], 3.6404)
        """
        self._check_two("a minimax rule")

        def slope(share: float) -> float:  # of the Bayes risk, which is concave in the prior
            first, second = self.with_prior((share, 1.0 - share)).performance().class_risks
            return float(first - second)

        if slope(0.0) <= 0.0:
            return self.with_prior((0, 1))
        share = 1.0 if slope(1.0) >= 0.0 else brentq(slope, 0.0, 1.0, xtol=1e-13)
        return self.with_prior((share, 1.0 - share))

    def derivation(self) -> Derivation:
        """Return how the regions and the error come about, with the numbers in the formulas."""
        return derivation_of(self)

    def __repr__(self) -> str:
        parts = zip(self.densities.items(), self.shares, strict=True)
        return "\n".join(f"P({name}) = {number_text(p)}, p(x | {name}) = {density}" for (name, density), p in parts)

    # Inside

    @cached_property
    def _prior(self) -> np.ndarray:
        return np.array([as_float(share) for share in self.shares])

    @cached_property
    def _log_prior(self) -> np.ndarray:
        return np.array([log_of(share) for share in self.shares])

    @cached_property
    def _own_performance(self) -> RulePerformance:
        return measured(self, lambda lines, x: self._cells(lines))

    def _changed(self, **parts: Any) -> DecisionProblem:
        found = object.__new__(DecisionProblem)
        names = ("densities", "shares", "losses", "choices")
        found.__dict__.update({name: getattr(self, name) for name in names} | parts)
        return found

    def _line(self, x: float | None) -> Lines:
        """Return the line, or the section at x."""
        if x is None and self.n_dimensions == 2:
            hint = "regions(x) tells those on a vertical line, and plots.decision_regions draws them all."
            raise DataError(f"the regions of densities in the plane must be asked for along a line; got no x. {hint}")
        if x is not None:
            if self.n_dimensions == 1:
                raise DataError(f"x must be left out where the densities have one dimension; got {x!r}.")
            return lines_of(tuple(self.densities.values()), np.array([check_number("x", x)]))
        return lines_of(tuple(self.densities.values()))

    def _cells(self, lines: Lines) -> Cells:
        return cut_lines(lines, self._log_prior, self.losses)

    def _supports(self) -> list[tuple[float, float]]:
        ends: list[Any] = [density.support for density in self.densities.values()]
        return ends if self.n_dimensions == 1 else [end[1] for end in ends]

    def _points(self, x: Any) -> tuple[np.ndarray, bool]:
        """Return points with one axis, and a second one in the plane; and whether there was one only."""
        points = as_points(x, self.n_dimensions)
        one = points.ndim == self.n_dimensions - 1
        if not one and points.ndim != self.n_dimensions:
            what = "a number or an array of them" if self.n_dimensions == 1 else "two numbers, or an array (n, 2)"
            raise DataError(f"points must be {what}; got shape {points.shape}.")
        return (points[None] if one else points), one

    def _log_weights(self, points: np.ndarray) -> np.ndarray:
        """Return ln P(ω) p(x | ω); raise for a point that no class can have."""
        logs = np.stack([np.asarray(density.log_pdf(points)) for density in self.densities.values()])
        weights = logs + self._log_prior[:, None]
        if (bad := np.flatnonzero(np.isneginf(weights.max(axis=0)))).size:
            raise impossible_point(points[bad[0]])
        return weights

    def _posteriors(self, x: Any) -> tuple[np.ndarray, bool]:
        points, one = self._points(x)
        return np.ascontiguousarray(shares_of(self._log_weights(points))[0].T), one

    def _check_two(self, what: str) -> None:
        if len(self.classes) != 2:
            raise DataError(f"{what} must be between two classes; got {listed(self.classes)}.")
