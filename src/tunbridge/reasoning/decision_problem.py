"""Bayesian decision theory with known densities.

A class ω_i has the prior P(ω_i) and its points the density p(x | ω_i). Bayes' rule gives the posterior, the losses λ_ij
of choosing j when i is true give the risk of each choice, and the best rule takes the least:

    P(ω_i | x) = P(ω_i) p(x | ω_i) / Σ_k P(ω_k) p(x | ω_k),      R(j | x) = Σ_i λ_ij P(ω_i | x).

It cuts the line or the plane into regions, one or more for each choice. With two classes it compares the likelihood
ratio with a threshold that does not depend on x: ω₁ is chosen where

    p(x | ω₁) / p(x | ω₂)  >  θ = (λ₂₁ − λ₂₂) P(ω₂) / [(λ₁₂ − λ₁₁) P(ω₁)],

λ₂₁ being the loss when ω₂ is true and ω₁ chosen: true class first, as everywhere in this library. (Duda, Hart and Stork
write the choice first, λ(α₁ | ω₂).)

A rule is described by P(j | i), how often it chooses j when i is true. Its error and its risk are

    P(error) = Σ_i P(i) Σ_{j ≠ i} P(j | i),        R = Σ_i P(i) Σ_j λ_ij P(j | i).

The minimum-risk rule has the least R of all rules; with the 0–1 loss that is the Bayes error.

References
----------
R. O. Duda, P. E. Hart, D. G. Stork (2001). Pattern classification, 2nd edition. Wiley; sections 2.1–2.6.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, did_you_mean, listed, shortened
from tunbridge._core.grid import text_grid
from tunbridge.data.variable import Variable
from tunbridge.decisions.losses import Losses, loss_matrix
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.concept_rows import as_labels
from tunbridge.reasoning.densities import AnyDensity, Gaussian, as_density, as_points
from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    P,
    Term,
    equation,
    log,
    number,
    product,
    symbol,
    total,
    words,
)
from tunbridge.reasoning.numbers import Number, as_float, as_prior, exact_value, log_of, number_text
from tunbridge.reasoning.regions import (
    NOWHERE,
    Cells,
    Cut,
    Lines,
    Region,
    as_regions,
    choice_probabilities,
    cut_lines,
    least_risk,
    lines_of,
    shares_of,
)

_LEFT_OUT = 1e-9
_THETA = symbol("θ", r"\theta")


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class DecisionProblem:
    """Classes with known densities, prior probabilities, and losses.

    Parameters
    ----------
    densities : mapping of class to density
        p(x | ω) of each class, all in one or all in two dimensions. In one dimension a :class:`Gaussian`, a frozen
        continuous distribution of scipy.stats, or a :class:`Density`, which is a function and its support; in two
        dimensions a :class:`Gaussian` or ``scipy.stats.multivariate_normal``.
    prior : mapping of class to probability, or sequence; optional
        P(ω). A mapping may leave one class out. Default: all equal.
    loss : array-like or mapping, optional
        λ, as in :func:`tunbridge.decisions.loss_matrix`, true classes first. Default: 0 if right and 1 if wrong.
    actions : sequence, optional
        What can be chosen, if that is not a class.
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
        densities: Mapping[Any, object],
        prior: object = None,
        loss: Losses = None,
        *,
        actions: Sequence[Any] | None = None,
        reject: float | None = None,
    ) -> None:
        known = _class_densities(densities)
        losses, choices = _losses_and_choices(loss, tuple(known), actions, reject)
        shares = as_prior(prior, tuple(known))
        self.__dict__.update(densities=MappingProxyType(known), shares=shares, losses=losses, choices=choices)

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

    def with_prior(self, prior: object) -> DecisionProblem:
        """Return the same problem with another prior."""
        return self._changed(shares=as_prior(prior, self.classes))

    def with_loss(
        self, loss: Losses = None, *, actions: Sequence[Any] | None = None, reject: float | None = None
    ) -> DecisionProblem:
        """Return the same problem with other losses; default: 0 if right and 1 if wrong."""
        losses, choices = _losses_and_choices(loss, self.classes, actions, reject)
        return self._changed(losses=losses, choices=choices)

    # Points

    def posterior(self, x: ArrayLike) -> Any:
        """Return P(ω | x): a Distribution for one point, an array (n, n_classes) for many.

        Parameters
        ----------
        x : number or array-like
            A number or an array of them; in the plane two numbers, or an array of shape (n, 2).
        """
        shares, one = self._posteriors(x)
        return Distribution(Variable("class", self.classes), shares[0]) if one else shares

    def risks(self, x: ArrayLike) -> Any:
        """Return R(j | x), the expected loss of each choice: a dict for one point, an array (n, n_choices) for many."""
        shares, one = self._posteriors(x)
        found = shares @ self.losses
        return dict(zip(self.choices, found[0].tolist(), strict=True)) if one else found

    def decide(self, x: ArrayLike) -> Any:
        """Return the choice of least risk, for one point or an array of them; of equal ones the first.

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
        return self.choices[int(codes[0])] if one else as_labels(list(self.choices))[codes]

    def likelihood_ratio(self, x: ArrayLike, *, log: bool = False) -> Any:
        """Return p(x | ω₁) / p(x | ω₂) of two classes at a point or at an array of points, or its logarithm.

        Parameters
        ----------
        x : number or array-like
            As for :meth:`posterior`.
        log : bool
            Return the natural logarithm, which never overflows.
        """
        self._check_two("a likelihood ratio")
        points, one = self._points(x)
        first, second = (density.log_pdf(points) for density in self.densities.values())
        _check_possible(points, np.maximum(first, second))
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
        >>> people = {"diseased": Gaussian(2, variance=1), "healthy": Gaussian(0, variance=1)}
        >>> DecisionProblem(people, prior={"diseased": 0.2}, loss={"diseased": 8}).threshold
        0.5
        """
        self._check_two("a threshold of the likelihood ratio")
        if self.choices != self.classes:
            rule = "a threshold of the likelihood ratio must be between choices that are classes"
            raise DataError(f"{rule}; got {listed(_choice(choice) for choice in self.choices)}.")
        if not self._mistakes_cost_more:
            rule = "a threshold needs losses of mistakes that are greater than those of right choices"
            raise DataError(f"{rule}; got {self.losses.tolist()}.")
        loss = [[exact_value(value) for value in row] for row in self.losses.tolist()]
        below = (loss[0][1] - loss[0][0]) * exact_value(self.shares[0])
        above = (loss[1][0] - loss[1][1]) * exact_value(self.shares[1])
        return math.inf if below == 0 else as_float(above / below)

    # Regions

    def regions(self, x: float | None = None) -> tuple[Region, ...]:
        """Return which choice is best where, from low to high.

        Parameters
        ----------
        x : float, optional
            In the plane: the vertical line whose regions to return, as intervals of the second coordinate.

        Notes
        -----
        Exact for Gaussians, unless more than two classes enter the comparison of two choices; otherwise as accurate as
        the densities, but a region with less than about 1 % of the probability may be overlooked.
        """
        densities, place = tuple(self.densities.values()), None
        if x is None and self.n_dimensions == 2:
            hint = "Use regions(x), or plots.decision_regions to draw them all."
            raise DataError(f"regions in the plane need a vertical line; got no x. {hint}", parameter="x")
        if x is not None:
            if self.n_dimensions == 1:
                raise DataError(f"x must be left out for densities in one dimension; got {x!r}.", parameter="x")
            place = np.array([check_number("x", x)])
        supports: list[Any] = [density.support for density in densities]
        supports = supports if self.n_dimensions == 1 else [support[1] for support in supports]
        cells = self.cells(lines_of(densities, place))
        return as_regions(cells, self.choices, supports, "x" if x is None else "y")

    def boundaries(self, x: float | None = None) -> tuple[float, ...]:
        """Return the points between two regions; in the plane those on the vertical line at x."""
        found = self.regions(x)
        return tuple(a.high for a, b in pairwise(found) if a.high == b.low)

    # Performance

    def performance(self, rule: object = None) -> RulePerformance:
        """Return how often each choice is made, with error and risk, of the best rule or of another one.

        Parameters
        ----------
        rule : optional
            Default: the choice of least risk. Or another :class:`DecisionProblem`, whose choices are used; or, in one
            dimension, a number: a threshold between two choices, in the direction of less risk.
        """
        if rule is None:
            return self._own_performance
        return min((self._measured(cut) for cut in self._rule_cuts(rule)), key=lambda found: found.risk)

    def error(self, rule: object = None) -> float:
        """Return the probability of a wrong choice: with the 0–1 loss the Bayes error, the least possible.

        Parameters
        ----------
        rule : optional
            Another rule than the best, as for :meth:`performance`.
        """
        return self.performance(rule).error

    def risk(self, rule: object = None) -> float:
        """Return the expected loss: the Bayes risk of the best rule, or that of another one."""
        return self.performance(rule).risk

    def minimax(self) -> DecisionProblem:
        """Return the same problem with the prior of two classes at which the Bayes risk is largest.

        Use its rule if the prior is not known: unless one class is always the worse one, it has the same risk whichever
        class is true, so that no prior can make it worse.

        Examples
        --------
        >>> from tunbridge.reasoning import DecisionProblem, Gaussian
        >>> kinds = {"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)}
        >>> fish = DecisionProblem(kinds, loss={"bass": 3})
        >>> worst = fish.minimax()
        >>> worst.performance().class_risks.round(6).tolist(), round(worst.boundaries()[0], 4)
        ([0.260948, 0.260948], 3.6404)
        """
        from scipy.optimize import brentq

        self._check_two("a minimax rule")

        def slope(share: float) -> float:  # of the Bayes risk, which is concave in the prior
            first, second = self.with_prior((share, 1.0 - share)).performance().class_risks
            return float(first - second)

        if slope(0.0) <= 0.0:
            return self.with_prior((0, 1))
        share = 1.0 if slope(1.0) >= 0.0 else brentq(slope, 0.0, 1.0, xtol=1e-13)
        return self.with_prior((share, 1.0 - share))

    def cells(self, lines: Lines) -> Cells:
        """Return the cells of least risk on lines."""
        return cut_lines(lines, self._log_prior, self.losses)

    def _measured(self, cut: Cut) -> RulePerformance:
        found, error = choice_probabilities(tuple(self.densities.values()), len(self.choices), cut)
        found.setflags(write=False)
        return RulePerformance(self.classes, self.choices, self._prior, self.losses, found, error)

    def _rule_cuts(self, rule: object) -> list[Cut]:
        """Return how a rule cuts lines; for a threshold both directions."""
        if isinstance(rule, DecisionProblem):
            return [self._cut_of(rule)]
        if not isinstance(rule, numbers.Real) or isinstance(rule, bool):
            raise DataError(f"a rule must be a DecisionProblem or a threshold; got {shortened(repr(rule))}.")
        if self.n_dimensions == 2:
            raise DataError(f"a rule in the plane must be a DecisionProblem; got {rule!r}.")
        if len(self.choices) != 2:
            raise DataError(f"a threshold must be between two choices; got {listed(self.choices)}.")
        place = np.array([[check_number("a threshold", rule)]])
        both = [Cells(place, np.array([codes])) for codes in ([0, 1], [1, 0])]
        return [lambda lines, x, cells=cells: cells for cells in both]  # type: ignore[misc]

    def _cut_of(self, other: DecisionProblem) -> Cut:
        """Return how another problem, with another prior, loss or densities, cuts lines."""
        if other.n_dimensions != self.n_dimensions:
            rule = "a problem used as a rule must have as many dimensions as this one"
            raise DataError(f"{rule}; got {other.n_dimensions}, not {self.n_dimensions}.")
        for choice in other.choices:
            if choice not in self.choices:
                hint = did_you_mean(choice, self.choices)
                raise DataError(f"a rule must choose among {listed(self.choices)}; got {choice!r}. {hint}")
        codes = np.array([*map(self.choices.index, other.choices), NOWHERE])

        def cut(lines: Lines, x: np.ndarray | None) -> Cells:
            found = other.cells(lines_of(tuple(other.densities.values()), x))
            cells = Cells(found.cuts, codes[found.choices])
            nowhere = cells.choices == NOWHERE
            if nowhere.any():
                left = float(np.where(nowhere[:, None], lines.masses(cells)[0], 0.0).sum(axis=2).max())
                if left > _LEFT_OUT:
                    got = f"its regions leave out {left:.2g} of the probability of a class"
                    raise DataError(f"a rule must choose something wherever a class is possible; {got}.")
            return cells

        return cut

    # Derivation

    def derivation(self) -> Derivation:
        """Return how the regions and the error are computed, with the numbers in the formulas."""
        lines: list[Equation | str] = []
        if len(self.classes) == 2 and self.choices == self.classes and self._mistakes_cost_more:
            lines += self._threshold_lines()
            if 0.0 < self.threshold < math.inf:
                lines += self._boundary_lines(math.log(self.threshold))
        if self.n_dimensions == 1:
            lines += [str(region) for region in self.regions()]
        return Derivation((*lines, *self._cost_lines()))

    @property
    def _mistakes_cost_more(self) -> bool:
        return bool(self.losses[0, 1] > self.losses[0, 0] and self.losses[1, 0] > self.losses[1, 1])

    def _threshold_lines(self) -> list[Equation | str]:
        one, two = self.classes

        def lost(true: object, chosen: object) -> Term:
            return Term(f"λ({true}, {chosen})", rf"\lambda({words(true).latex}, {words(chosen).latex})")

        loss = [[number(value) for value in row] for row in self.losses.tolist()]
        named = (lost(two, one) - lost(two, two)) * P(two) / ((lost(one, two) - lost(one, one)) * P(one))
        shown = (loss[1][0] - loss[1][1]) * self.shares[1] / ((loss[0][1] - loss[0][0]) * self.shares[0])
        return [
            f"{one} is chosen where p(x | {one}) / p(x | {two}) > θ, with λ(true, chosen) the losses and",
            equation(_THETA, named, shown, number(self.threshold)),
        ]

    def _boundary_lines(self, log_theta: float) -> list[Equation | str]:
        """Return the boundary between two Gaussians: a point or a line for equal variances, else a quadratic."""
        first, second = self.densities.values()
        if not (isinstance(first, Gaussian) and isinstance(second, Gaussian)):
            return []
        (m, v), (n, w) = ((np.asarray(d.mean), np.asarray(d.variance)) for d in (first, second))
        equal = np.allclose(v, w, rtol=1e-12, atol=0)
        if equal and first.mean == second.mean:
            return []
        if equal and self.n_dimensions == 2:
            normal = np.linalg.solve(v, m - n)
            left = _polynomial([(float(normal[0]), symbol("x")), (float(normal[1]), symbol("y"))])
            return [
                "The covariances are equal, so the boundary is a line, (μ₁ − μ₂)ᵀ Σ⁻¹ (x − (μ₁ + μ₂)/2) = ln θ:",
                equation(left, number(float(normal @ (0.5 * (m + n))) + log_theta)),
            ]
        if self.n_dimensions == 2:
            return []
        return self._point_lines(float(m), float(n), float(v), float(w), equal, log_theta)

    def _point_lines(
        self, m: float, n: float, v: float, w: float, equal: bool, log_theta: float
    ) -> list[Equation | str]:
        if equal:
            names = symbol("μ₁", r"\mu_1"), symbol("μ₂", r"\mu_2"), symbol("σ²", r"\sigma^2"), _THETA
            values = number(m), number(n), number(v), number(self.threshold)
            sides = [(a + b) / 2.0 + (s / (a - b)) * log(theta) for a, b, s, theta in (names, values)]
            found = 0.5 * (m + n) + v / (m - n) * log_theta
            return ["The variances are equal, so the boundary is", equation(symbol("x"), *sides, number(found))]
        a, b = 0.5 * (1.0 / w - 1.0 / v), m / v - n / w
        c = 0.5 * (n * n / w - m * m / v + math.log(w / v)) - log_theta
        left = _polynomial([(a, Term("x²", "x^2")), (b, symbol("x")), (c, None)])
        return [
            "The variances differ, so ln p(x | ω₁) − ln p(x | ω₂) = ln θ is quadratic:",
            equation(left, number(0.0)),
        ]

    def _cost_lines(self) -> list[Equation | str]:
        """Return P(error) if the choices are classes, and the risk if it is something else."""
        found = self.performance()
        lines: list[Equation | str] = []
        if found.choices_are_classes:
            wrong = found.wrong.astype(float)
            if len(self.classes) == 2:
                lines.append(self._sum_line("P(error)", wrong, found.confusion, found.error))
            else:
                parts = zip(self.classes, self.shares, (wrong * found.confusion).sum(axis=1).tolist(), strict=True)
                terms = [(P(c) * P("wrong", c), number(as_float(p)) * value) for c, p, value in parts]
                named, shown = (total(list(side)) for side in zip(*terms, strict=True))
                lines.append(equation(words("P(error)"), named, shown, number(found.error)))
        if self.choices != self.classes or not np.array_equal(self.losses, 1.0 - np.eye(len(self.classes))):
            lines.append(self._sum_line("risk", self.losses, found.confusion, found.risk))
        return lines

    def _sum_line(self, what: str, costs: np.ndarray, chosen: np.ndarray, found: float) -> Equation:
        """Return Σ P(i) λ_ij P(j | i), with names and with numbers."""
        named, shown = [], []
        for i, j in np.argwhere(costs != 0.0).tolist():
            cost = [] if costs[i, j] == 1.0 else [number(float(costs[i, j]))]
            choice = P(f"choose {_choice(self.choices[j])}", self.classes[i])
            named.append(product([P(self.classes[i]), *cost, choice]))
            shown.append(product([number(as_float(self.shares[i])), *cost, number(float(chosen[i, j]))]))
        sums = [total(named), total(shown)] if named else []
        return equation(words(what), *sums, number(found))

    def __repr__(self) -> str:
        parts = zip(self.densities.items(), self.shares, strict=True)
        return "\n".join(f"P({name}) = {number_text(p)}, p(x | {name}) = {density}" for (name, density), p in parts)

    @cached_property
    def _prior(self) -> np.ndarray:
        return np.array([as_float(share) for share in self.shares])

    @cached_property
    def _log_prior(self) -> np.ndarray:
        return np.array([log_of(share) for share in self.shares])

    @cached_property
    def _own_performance(self) -> RulePerformance:
        return self._measured(lambda lines, x: self.cells(lines))

    def _changed(self, **parts: object) -> DecisionProblem:
        found = object.__new__(DecisionProblem)
        names = ("densities", "shares", "losses", "choices")
        found.__dict__.update({name: getattr(self, name) for name in names} | parts)
        return found

    def _points(self, x: ArrayLike) -> tuple[np.ndarray, bool]:
        """Return points with one axis, in the plane with a second one; and whether there was only one."""
        points = as_points(x, self.n_dimensions)
        one = points.ndim == self.n_dimensions - 1
        if not one and points.ndim != self.n_dimensions:
            what = "a number or an array of them" if self.n_dimensions == 1 else "two numbers, or an array (n, 2)"
            raise DataError(f"points must be {what}; got shape {points.shape}.")
        return (points[None] if one else points), one

    def _log_weights(self, points: np.ndarray) -> np.ndarray:
        """Return ln P(ω) p(x | ω); raise for a point that is impossible under each class."""
        logs = np.stack([np.asarray(density.log_pdf(points)) for density in self.densities.values()])
        weights = logs + self._log_prior[:, None]
        _check_possible(points, weights.max(axis=0))
        return weights

    def _posteriors(self, x: ArrayLike) -> tuple[np.ndarray, bool]:
        points, one = self._points(x)
        return np.ascontiguousarray(shares_of(self._log_weights(points))[0].T), one

    def _check_two(self, what: str) -> None:
        if len(self.classes) != 2:
            raise DataError(f"{what} must be between two classes; got {listed(self.classes)}.")


@final
@dataclass(frozen=True, eq=False, repr=False)
class RulePerformance:
    """How often a rule makes each choice, and its cost.

    Parameters
    ----------
    classes, choices : tuple
        The classes, and what can be chosen; None stands for no decision.
    prior : ndarray of shape (n_classes,)
        P(i).
    losses : ndarray of shape (n_classes, n_choices)
        λ_ij, the loss of choosing j when i is true.
    confusion : ndarray of shape (n_classes, n_choices)
        P(j | i), how often j is chosen when i is true.
    precision : float
        An estimate of the error of these probabilities.

    Examples
    --------
    >>> from tunbridge.reasoning import DecisionProblem, Gaussian
    >>> DecisionProblem({"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)}).performance()
    true    salmon    bass
    salmon  0.841345  0.158655
    bass    0.158655  0.841345
    error 0.158655, risk 0.158655
    """

    classes: tuple[Any, ...]
    choices: tuple[Any, ...]
    prior: np.ndarray
    losses: np.ndarray
    confusion: np.ndarray
    precision: float

    @property
    def choices_are_classes(self) -> bool:
        """Whether every choice is a class or no decision."""
        return all(choice is None or choice in self.classes for choice in self.choices)

    @property
    def wrong(self) -> np.ndarray:
        """Whether choosing j is wrong when i is true; no decision is not."""
        return np.array([[choice is not None and choice != true for choice in self.choices] for true in self.classes])

    @property
    def error(self) -> float:
        """The probability of choosing a wrong class; no decision is not an error."""
        if not self.choices_are_classes:
            strange = [choice for choice in self.choices if choice is not None and choice not in self.classes]
            raise DataError(f"an error needs choices that are classes; {listed(strange)} is none. Use the risk.")
        return float(self.prior @ np.where(self.wrong, self.confusion, 0.0).sum(axis=1))

    @property
    def risk(self) -> float:
        """The expected loss."""
        return float(self.prior @ self.class_risks)

    @property
    def class_risks(self) -> np.ndarray:
        """The expected loss when each class is true."""
        return np.asarray((self.losses * self.confusion).sum(axis=1))

    def __repr__(self) -> str:
        rows = [[name, *row] for name, row in zip(self.classes, self.confusion.tolist(), strict=True)]
        error = f"error {self.error:.6g}, " if self.choices_are_classes else ""
        precision = f" (within {self.precision:.1g})" if self.precision > 1e-7 else ""
        return f"{text_grid(['true', *map(_choice, self.choices)], rows)}\n{error}risk {self.risk:.6g}{precision}"


def _class_densities(given: object) -> dict[Any, AnyDensity]:
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"densities must be a mapping of class to density; got {shortened(repr(given))}.")
    known = {name: as_density(name, density) for name, density in given.items()}
    if None in known:
        raise DataError("a class must have a name; got None, which stands for no decision.")
    sizes = {density.n_dimensions: name for name, density in known.items()}
    if len(sizes) > 1:
        got = f"{sizes[1]!r} has one and {sizes[2]!r} has two"
        raise DataError(f"densities must all have one dimension or all two; {got}.", parameter="densities")
    return known


def _losses_and_choices(
    loss: Losses, classes: tuple[Any, ...], actions: Sequence[Any] | None, reject: float | None
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return λ and the choices, with a column for no decision if that can be chosen."""
    matrix = loss_matrix(loss, classes, actions=actions)
    if matrix.ndim != 2:
        raise DataError("the losses must be the same for all points; got some by row.", parameter="loss")
    choices = classes if actions is None else (actions,) if isinstance(actions, str) else tuple(actions)
    if reject is not None:
        cost = check_number("reject", reject)
        matrix, choices = np.column_stack([matrix, np.full(len(classes), cost)]), (*choices, None)
    matrix.setflags(write=False)
    return matrix, choices


def _check_possible(points: np.ndarray, logs: np.ndarray) -> None:
    bad = np.flatnonzero(np.isneginf(logs))
    if bad.size:
        point = np.ravel(points[bad[0]]).tolist()
        message = f"a point must be possible under some class; at {listed(point)} each density is 0, or underflows."
        raise ImpossibleEvidenceError(message, conflict={"x": point})


def _polynomial(parts: Sequence[tuple[float, Term | None]]) -> Term:
    """Return a sum of numbers times powers, without those that are 0."""
    kept = [
        (value, product([number(abs(value)), *([] if power is None else [power])])) for value, power in parts if value
    ]
    (first, found), *others = kept
    found = found if first > 0 else Term(f"-{found.text}", f"-{found.latex}", -1)
    for value, term in others:
        found = found + term if value > 0 else found - term
    return found


def _choice(choice: object) -> str:
    return "no decision" if choice is None else str(choice)
