"""Linear and logistic hypotheses: least squares and cross-entropy as maximum likelihood.

*Linear.* A hypothesis is a function h(x) = Σ_k w_k φ_k(x), and a measurement is y = h(x) + e with e ~ N(0, σ²). For n
points that are independent given the hypothesis,

    ln P(D | w) = −(n/2) ln(2πσ²) − (1 / 2σ²) Σ_i (y_i − h(x_i))²,

and w enters through the sum of squared errors SSE(w) only: least squares is maximum likelihood, whatever σ is, and the
likeliest σ² is SSE / n. A prior w ~ N(0, τ²) adds −Σ w_k² / 2τ²; the most probable hypothesis minimises
SSE(w) + λ Σ w_k² with λ = σ²/τ²: ridge regression. The prior is conjugate, and the posterior is

    w | D ~ N(ŵ, S),     S⁻¹ = I/τ² + ΦᵀΦ/σ²,     ŵ = S Φᵀ y / σ²;

a new value at x has mean φ(x)ᵀ ŵ and variance σ² + φ(x)ᵀ S φ(x).

*Logistic.* A hypothesis gives the probability that y is 1, p(x) = 1 / (1 + exp(−a(x))) with the log-odds
a(x) = Σ_k w_k φ_k(x). Then

    −ln P(D | w) = −Σ_i [y_i ln p(x_i) + (1 − y_i) ln(1 − p(x_i))],

the cross-entropy: least cross-entropy is maximum likelihood. A target may itself be a probability, the share of ones
among many cases at x. A prior w ~ N(0, τ²) adds Σ w_k² / 2τ². Both sums are convex and minimised by Newton's method.
If a hypothesis separates the ones from the zeros, larger weights always fit better and there is no maximum. That is so
exactly if there is a direction d with d·φ ≥ 0 wherever y > 0, d·φ ≤ 0 wherever y < 1, and d·φ ≠ 0 somewhere (Albert and
Anderson), which a linear program decides.

References
----------
T. M. Mitchell (1997). Machine Learning, sections 6.4 and 6.5.
C. M. Bishop (2006). Pattern Recognition and Machine Learning, eqs. 3.49–3.59.
A. Albert, J. A. Anderson (1984). On the existence of maximum likelihood estimates in logistic regression models.
Biometrika 71, 1–10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import expit, log_expit

from tunbridge._core.check import check_number, counted, shortened, warn_user
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.probability.reading import locked
from tunbridge.reasoning.basis import (
    Basis,
    GaussianPrior,
    as_basis,
    as_gaussian_prior,
    as_targets,
    check_finite,
    check_size,
    is_single,
    least_squares,
)
from tunbridge.reasoning.derivation import Derivation, Equation, Term, equation, log, number, symbol, total

_EXACT = 64 * 2.0**-52  # errors below this share of the values are rounding
_MOST_STEPS, _MOST_HALVINGS = 200, 60
_SUFFICIENT = 1e-4
_ROUNDING = 2.0**-52
_FAR = 1e4
_SURE = 15.0  # where weights have no limit, some log-odds are above 20 when the likelihood stops growing
_SHOWN, _SHOWN_WEIGHTS = 6, 8
_LOG_LIKELIHOOD = symbol("ln P(D | w)", r"\ln P(D \mid w)")


# Linear hypotheses


@final
@dataclass(frozen=True, init=False)
class LinearFamily:
    """The hypotheses Σ w_k φ_k(x) with Gaussian noise.

    Parameters
    ----------
    basis : int, sequence of functions, mapping of name to function, or Basis
        The degree of a polynomial; or the basis functions, each of a number x, or of a row of numbers.
    noise : float, optional
        The standard deviation σ of the noise, if it is known. Without it :meth:`ml` estimates it.

    Examples
    --------
    >>> line = LinearFamily(1)
    >>> fit = line.ml([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8])
    >>> fit
    ML fit of 2 weights to 4 points: 1 = 1.09, x = 1.94
    noise 0.143178, squared error 0.082, log-likelihood 2.09891
    >>> fit.predict([4, 5]).round(2).tolist()
    [8.85, 10.79]

    With a prior, and known noise:

    >>> LinearFamily(1, noise=0.2).map([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8], prior_variance=1.0)
    MAP fit of 2 weights to 4 points: 1 = 1.08293, x = 1.9375
    noise 0.2, squared error 0.0825005, log-likelihood 1.73074
    """

    basis: Basis
    noise: float | None

    def __init__(self, basis: object, *, noise: float | None = None) -> None:
        self.__dict__.update(basis=as_basis(basis), noise=None if noise is None else _checked_noise(noise))

    def squared_error(self, weights: object, x: object, y: object) -> float:
        """Return Σ (y − h(x))² of the hypothesis with these weights, given by name or in order."""
        return float(np.square(self._errors(weights, x, y)).sum())

    def log_likelihood(self, weights: object, x: object, y: object, *, noise: float | None = None) -> float:
        """Return ln P(D | w), the sum of the log-densities of the points.

        Parameters
        ----------
        weights : mapping of name to number, or sequence
        x, y : array-like
        noise : float, optional
            σ; default: that of the family.
        """
        sigma = self._known_noise("the likelihood") if noise is None else _checked_noise(noise)
        return _log_density(self._errors(weights, x, y), sigma)

    def ml(self, x: object, y: object) -> LinearFit:
        """Return the hypothesis of maximum likelihood, by least squares.

        Parameters
        ----------
        x : array-like
            Numbers, or rows of numbers.
        y : array-like
            A number for each of them.

        Raises
        ------
        DataError
            If the data do not determine the weights (fewer points than weights, or basis functions that are linearly
            dependent at these points), or if the points lie exactly on the curve and the noise is to be estimated: the
            likelihood then has no maximum.
        """
        design, target = self._read(x, y)
        return self._fitted(design, target, design[:0], None)

    def map(self, x: object, y: object, *, prior_variance: object) -> LinearFit:
        """Return the most probable hypothesis under a Gaussian prior, with its posterior.

        Parameters
        ----------
        x, y : array-like
            As in :meth:`ml`.
        prior_variance : float, or one for each weight as a mapping or sequence
            τ², the variance of a weight around 0; infinity leaves a weight free.

        Notes
        -----
        σ must be known, because it weighs the data against the prior. ``ml(x, y).noise`` is an estimate.
        """
        sigma, prior = self._known_noise("the posterior"), as_gaussian_prior(self.basis, prior_variance)
        design, target = self._read(x, y)
        return self._fitted(design, target, prior.rows * sigma, prior)

    def _fitted(
        self, design: np.ndarray, target: np.ndarray, pseudo: np.ndarray, prior: GaussianPrior | None
    ) -> LinearFit:
        """Return the least squares of the points, and of the points with y = 0 that a prior stands for."""
        rows = np.concatenate([design, pseudo])
        found = least_squares(rows, np.concatenate([target, np.zeros(len(pseudo))]))
        found.check_determined(self.basis.names, len(rows))
        errors = target - design @ found.weights
        sigma = self._estimated(errors, target) if self.noise is None else self.noise
        root = found.root * sigma
        check_size(found.weights, root)
        log_det = found.log_det + 2.0 * len(found.weights) * math.log(sigma)
        return LinearFit(self, locked(found.weights), locked(root), log_det, sigma, locked(errors), prior)

    def _read(self, x: object, y: object) -> tuple[np.ndarray, np.ndarray]:
        design = self.basis.design(x)
        target = as_targets(y, len(design))
        check_finite("y", target)
        return design, target

    def _errors(self, weights: object, x: object, y: object) -> np.ndarray:
        vector, (design, target) = self.basis.vector(weights), self._read(x, y)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = target - design @ vector
        check_finite("the errors y − h(x)", errors)
        return errors

    def _known_noise(self, what: str) -> float:
        if self.noise is None:
            hint = "Write LinearFamily(…, noise=σ); ml(x, y).noise is an estimate of it."
            raise DataError(f"the noise must be known for {what}; got none. {hint}", parameter="noise")
        return self.noise

    def _estimated(self, errors: np.ndarray, target: np.ndarray) -> float:
        largest = float(np.abs(errors).max())  # squares of the errors themselves may underflow
        sigma = largest * math.sqrt(float(np.square(errors / largest).mean())) if largest > 0.0 else 0.0
        if sigma <= _EXACT * float(np.abs(target).max()):
            hint = "Give the noise: LinearFamily(…, noise=σ)."
            raise DataError(f"the points must not lie exactly on the curve if the noise is estimated; they do. {hint}")
        return sigma


@final
@dataclass(frozen=True, eq=False, repr=False)
class LinearFit:
    """A fitted hypothesis of a :class:`LinearFamily`.

    Parameters
    ----------
    family : LinearFamily
    vector : ndarray
        The weights, in the order of the basis functions.
    root : ndarray
        A root of the posterior covariance of the weights.
    log_det : float
        The logarithm of the determinant of that covariance.
    noise : float
        The standard deviation σ of the noise, known or estimated.
    errors : ndarray
        y − h(x) of each point.
    prior : GaussianPrior or None
        None for a maximum-likelihood fit.
    """

    family: LinearFamily
    vector: np.ndarray
    root: np.ndarray
    log_det: float
    noise: float
    errors: np.ndarray
    prior: GaussianPrior | None

    @property
    def weights(self) -> dict[str, float]:
        """The weights by the names of their basis functions."""
        return dict(zip(self.family.basis.names, self.vector.tolist(), strict=True))

    @property
    def covariance(self) -> np.ndarray:
        """The posterior covariance of the weights; after :meth:`LinearFamily.ml` under a flat prior with this σ."""
        return self.root @ self.root.T

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.errors)

    @property
    def squared_error(self) -> float:
        """Σ (y − h(x))²."""
        return float(np.square(self.errors).sum())

    @property
    def log_likelihood(self) -> float:
        """The logarithm of P(D | w, σ)."""
        return _log_density(self.errors, self.noise)

    @property
    def log_evidence(self) -> float:
        """The logarithm of P(D), the likelihood averaged over the prior, which compares models.

        It is ln P(D | ŵ) + ln P(ŵ) − ln P(ŵ | D), which holds at any w and is easy at the most probable one.
        """
        if self.prior is None or not self.prior.is_proper:
            hint = "Use map(…, prior_variance=…), with finite variances."
            raise DataError(f"the evidence must have a prior over every weight; got none. {hint}")
        log_posterior = -0.5 * (len(self.vector) * math.log(2.0 * math.pi) + self.log_det)
        return self.log_likelihood + self.prior.log_density(self.vector) - log_posterior

    def predict(self, x: object) -> Any:
        """Return h(x): an array, or a number for a single number."""
        means = self.family.basis.design(x) @ self.vector
        return float(means[0]) if is_single(x) else means

    def predictive(self, x: object) -> tuple[Any, Any]:
        """Return mean and standard deviation of a new measurement at x, including the uncertainty of the weights.

        Examples
        --------
        >>> fit = LinearFamily(1, noise=0.2).map([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8], prior_variance=1.0)
        >>> mean, deviation = fit.predictive([1.5, 10])
        >>> mean.round(2).tolist(), deviation.round(2).tolist()
        ([3.99, 20.46], [0.22, 0.78])
        """
        design = self.family.basis.design(x)
        variances = np.square(design @ self.root).sum(axis=1)
        means, deviations = design @ self.vector, np.sqrt(self.noise**2 + variances)
        return (float(means[0]), float(deviations[0])) if is_single(x) else (means, deviations)

    def derivation(self) -> Derivation:
        """Return why this hypothesis is the best: the likelihood with the numbers in it.

        Examples
        --------
        >>> print(LinearFamily(1).ml([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8]).derivation())
        SSE = Σ (y − h(x))² = 0.01^2 + (-0.13)^2 + 0.23^2 + (-0.11)^2 = 0.082
        σ² = SSE / n = 0.082 / 4 = 0.0205
        ln P(D | w) = −(n/2) ln(2πσ²) − SSE / 2σ²
                    = −(4/2) ln(2π × 0.0205) − 0.082 / (2 × 0.0205)
                    = 2.09891
        The larger SSE, the smaller P(D | w): least squares is maximum likelihood.
        """
        n, sse, v = self.n_points, number(self.squared_error), number(self.noise**2)
        name, squares = symbol("SSE", r"\mathrm{SSE}"), [number(e) ** 2 for e in self.errors[: _SHOWN + 1].tolist()]
        lines: list[Equation | str] = [
            equation(name, symbol("Σ (y − h(x))²", r"\sum (y - h(x))^2"), total(squares, most=_SHOWN), sse)
        ]
        if self.family.noise is None:
            lines.append(equation(symbol("σ²", r"\sigma^2"), name / symbol("n"), sse / float(n), v))
        rule = symbol("−(n/2) ln(2πσ²) − SSE / 2σ²", r"-\tfrac{n}{2} \ln(2\pi\sigma^2) - \mathrm{SSE} / 2\sigma^2")
        filled = Term(
            f"−({n}/2) ln(2π × {v.text}) − {sse.text} / (2 × {v.text})",
            rf"-\tfrac{{{n}}}{{2}} \ln(2\pi \times {v.latex}) - {sse.latex} / (2 \times {v.latex})",
        )
        lines.append(equation(_LOG_LIKELIHOOD, rule, filled, number(self.log_likelihood)))
        if self.prior is None:
            closing: list[Equation | str] = [
                "The larger SSE, the smaller P(D | w): least squares is maximum likelihood."
            ]
        elif self.prior.common is None:
            distance = _distance(self.vector, self.prior)
            closing = [distance, "The most probable weights minimise SSE and σ² times that together."]
        else:
            closing = self._ridge(self.prior, self.prior.common)
        return Derivation((*lines, *closing))

    def _ridge(self, prior: GaussianPrior, common: float) -> list[Equation | str]:
        strength, squares = self.noise**2 / common, float(self.vector @ self.vector)
        penalised = symbol("SSE + λ Σ w²", r"\mathrm{SSE} + \lambda \sum w^2")
        found = number(self.squared_error + self.noise**2 * prior.distance(self.vector))
        rule = symbol("σ²", r"\sigma^2") / symbol("τ²", r"\tau^2")
        return [
            equation(symbol("λ", r"\lambda"), rule, number(self.noise**2) / common, number(strength)),
            equation(penalised, number(self.squared_error) + number(strength) * squares, found),
            "The larger that sum, the smaller P(w | D): a Gaussian prior is ridge regression.",
        ]

    def __repr__(self) -> str:
        details = f"squared error {self.squared_error:.6g}, log-likelihood {self.log_likelihood:.6g}"
        return f"{_fit_text(self.prior, self.weights, self.n_points)}\nnoise {self.noise:.6g}, {details}"


# Logistic hypotheses


@final
@dataclass(frozen=True, init=False)
class LogisticFamily:
    """The hypotheses P(y = 1 | x) = 1 / (1 + exp(−Σ w_k φ_k(x))).

    Parameters
    ----------
    basis : int, sequence of functions, mapping of name to function, or Basis
        As for :class:`LinearFamily`.

    Examples
    --------
    Hours of study, and whether the exam was passed:

    >>> hours, passed = [1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 1]
    >>> fit = LogisticFamily(1).ml(hours, passed)
    >>> fit
    ML fit of 2 weights to 6 points: 1 = -4.2491, x = 1.21403
    cross-entropy 2.47799 nats
    >>> fit.predict_proba([2, 5]).round(3).tolist()
    [0.139, 0.861]
    """

    basis: Basis

    def __init__(self, basis: object) -> None:
        self.__dict__.update(basis=as_basis(basis))

    def log_likelihood(self, weights: object, x: object, y: object) -> float:
        """Return ln P(D | w) = Σ [y ln p + (1 − y) ln(1 − p)] of the hypothesis with these weights."""
        return -self.cross_entropy(weights, x, y)

    def cross_entropy(self, weights: object, x: object, y: object) -> float:
        """Return −Σ [y ln p + (1 − y) ln(1 − p)] in nats, over all points: −ln P(D | w).

        Parameters
        ----------
        weights : mapping of name to number, or sequence
        x : array-like
            Numbers, or rows of numbers.
        y : array-like
            0 or 1, or a probability, for each of them.
        """
        vector, (design, target) = self.basis.vector(weights), self._read(x, y)
        return _cross_entropy(_log_odds(design, vector), target)

    def ml(self, x: object, y: object) -> LogisticFit:
        """Return the hypothesis of maximum likelihood, the one of least cross-entropy.

        Raises
        ------
        DataError
            If the data do not determine the weights, or if a hypothesis separates the ones from the zeros, completely
            or for some points while the others lie on the boundary: then no weights are the best.
        """
        design, target = self._read(x, y)
        return self._fitted(design, target, None)

    def map(self, x: object, y: object, *, prior_variance: object) -> LogisticFit:
        """Return the most probable hypothesis under a Gaussian prior; it exists if all variances are finite.

        Parameters
        ----------
        x, y : array-like
            As in :meth:`cross_entropy`.
        prior_variance : float, or one for each weight as a mapping or sequence
            τ², the variance of a weight around 0; infinity leaves a weight free.
        """
        prior = as_gaussian_prior(self.basis, prior_variance)
        return self._fitted(*self._read(x, y), prior)

    def _fitted(self, design: np.ndarray, target: np.ndarray, prior: GaussianPrior | None) -> LogisticFit:
        pseudo = design[:0] if prior is None else prior.rows
        rows = np.concatenate([design, pseudo])
        solved = least_squares(rows)
        may_diverge = prior is None or not prior.is_proper
        if may_diverge:
            solved.check_determined(self.basis.names, len(rows))
        problem = _Logistic(design @ solved.root, target, pseudo @ solved.root)
        found, converged = problem.minimise()
        if not converged:
            warn_user(f"Newton's method did not converge in {_MOST_STEPS} iterations.", ConvergenceWarning)
        weights, root = solved.root @ found, solved.root @ problem.newton(found)[2]
        check_size(weights, root)
        if may_diverge and not (converged and np.abs(problem.design @ found).max() < _SURE):
            _check_overlap(problem, found)
        log_odds = locked(_log_odds(design, weights))
        return LogisticFit(self, locked(weights), locked(root @ root.T), log_odds, locked(target), prior)

    def _read(self, x: object, y: object) -> tuple[np.ndarray, np.ndarray]:
        design = self.basis.design(x)
        rule, hint = "y must be 0, 1 or a probability between", "Write y == label for the labels of two classes."
        labels = [label for label in np.ravel(np.asarray(y, object))[:1] if isinstance(label, str)]
        if labels:
            raise DataError(f"{rule}; got {shortened(repr(labels[0]))}. {hint}", parameter="y")
        target = as_targets(y, len(design))
        wrong = ~((target >= 0.0) & (target <= 1.0))
        if wrong.any():
            i = int(wrong.argmax())
            raise DataError(f"{rule}; got {target[i]:g} at position {i}. {hint}", parameter="y")
        return design, target


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogisticFit:
    """A fitted hypothesis of a :class:`LogisticFamily`.

    Parameters
    ----------
    family : LogisticFamily
    vector : ndarray
        The weights, in the order of the basis functions.
    covariance : ndarray
        The inverse of the second derivatives: the covariance of Laplace's approximation of the posterior; after
        :meth:`LogisticFamily.ml` that of a flat prior.
    log_odds, targets : ndarray
        a(x) and y of each point.
    prior : GaussianPrior or None
        None for a maximum-likelihood fit.
    """

    family: LogisticFamily
    vector: np.ndarray
    covariance: np.ndarray
    log_odds: np.ndarray
    targets: np.ndarray
    prior: GaussianPrior | None

    @property
    def weights(self) -> dict[str, float]:
        """The weights by the names of their basis functions."""
        return dict(zip(self.family.basis.names, self.vector.tolist(), strict=True))

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.targets)

    @property
    def cross_entropy(self) -> float:
        """−Σ [y ln p + (1 − y) ln(1 − p)] in nats, over all points."""
        return _cross_entropy(self.log_odds, self.targets)

    @property
    def log_likelihood(self) -> float:
        """The logarithm of P(D | w), minus the cross-entropy."""
        return -self.cross_entropy

    def predict_proba(self, x: object) -> Any:
        """Return P(y = 1 | x): an array, or a number for a single number."""
        found = expit(_log_odds(self.family.basis.design(x), self.vector))
        return float(found[0]) if is_single(x) else found

    def derivation(self) -> Derivation:
        """Return why this hypothesis is the best: the likelihood with the numbers in it.

        Examples
        --------
        >>> print(LogisticFamily(0).ml([0, 0, 0, 0], [1, 1, 1, 0]).derivation())
        ln P(D | w) = Σ [y ln p(x) + (1 − y) ln(1 − p(x))] = ln 0.75 + ln 0.75 + ln 0.75 + ln 0.25 = -2.24934
        cross-entropy = −ln P(D | w) = 2.24934
        The larger the cross-entropy, the smaller P(D | w): least cross-entropy is maximum likelihood.
        """
        terms = []
        for odds, y in zip(self.log_odds[: _SHOWN + 1].tolist(), self.targets[: _SHOWN + 1].tolist(), strict=True):
            for share, a in ((y, odds), (1.0 - y, -odds)):
                term = log(number(max(float(expit(a)), 5e-324)))
                terms += [term if share == 1.0 else number(share) * term] if share > 0.0 else []
        rule = symbol("Σ [y ln p(x) + (1 − y) ln(1 − p(x))]", r"\sum [y \ln p(x) + (1 - y) \ln(1 - p(x))]")
        minus = symbol(f"−{_LOG_LIKELIHOOD.text}", f"-{_LOG_LIKELIHOOD.latex}")
        lines = (
            equation(_LOG_LIKELIHOOD, rule, total(terms, most=_SHOWN), number(self.log_likelihood)),
            equation(symbol("cross-entropy", r"\text{cross-entropy}"), minus, number(self.cross_entropy)),
        )
        if self.prior is None:
            closing = "The larger the cross-entropy, the smaller P(D | w): least cross-entropy is maximum likelihood."
            return Derivation((*lines, closing))
        closing = "The most probable weights minimise the cross-entropy and half of that together."
        return Derivation((*lines, _distance(self.vector, self.prior), closing))

    def __repr__(self) -> str:
        text = _fit_text(self.prior, self.weights, self.n_points)
        return f"{text}\ncross-entropy {self.cross_entropy:.6g} nats"


@dataclass(frozen=True, eq=False)
class _Logistic:
    """What is minimised: cross-entropy + ½ ‖R w‖², in weights for which the columns of Φ and R are orthonormal.

    Its gradient is Φᵀ (p − y) + RᵀR w, its curvature Φᵀ diag(p (1 − p)) Φ + RᵀR. Newton's method takes the same path in
    all coordinates; these keep digits if columns are nearly the same. It is written out because
    ``scipy.optimize.minimize(method="trust-exact")`` ends far from the minimum if one x is a billion times the others.
    """

    design: np.ndarray
    targets: np.ndarray
    root: np.ndarray

    def value(self, weights: np.ndarray) -> float:
        penalty = 0.5 * float(np.square(self.root @ weights).sum())
        return _cross_entropy(self.design @ weights, self.targets) + penalty

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        log_odds = self.design @ weights
        pulls = (1.0 - self.targets) * expit(log_odds) - self.targets * expit(-log_odds)
        return self.design.T @ pulls + self.root.T @ (self.root @ weights)

    def newton(self, weights: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Return a Newton step, the decrease that it promises, and a root of the inverse curvature.

        The step solves curvature · step = −gradient, by least squares on the rows √(p (1 − p)) φ and R.
        """
        log_odds = self.design @ weights
        bend = np.sqrt(expit(log_odds) * expit(-log_odds))
        root = least_squares(np.concatenate([self.design * bend[:, None], self.root])).root
        gradient = self.gradient(weights)
        step = -root @ (root.T @ gradient)
        return step, float(-gradient @ step), root

    def minimise(self) -> tuple[np.ndarray, bool]:
        """Return the minimum, and whether Newton's method converged. Steps are halved until they help."""
        weights = np.zeros(self.design.shape[1])
        value = self.value(weights)
        for _ in range(_MOST_STEPS):
            (step, promise, _), before = self.newton(weights), weights
            rounding = _ROUNDING * (1.0 + value)
            for share in 0.5 ** np.arange(_MOST_HALVINGS):
                tried = weights + share * step
                found = self.value(tried)
                if found <= value - _SUFFICIENT * share * promise + rounding:
                    weights, value = tried, found
                    break
            if promise <= rounding or not (weights != before).any():
                return weights, True
        return weights, False


# Separation


def _check_overlap(problem: _Logistic, weights: np.ndarray) -> None:
    """Raise if ones and zeros are separated, so that no weights have the greatest likelihood."""
    targets, n_points = problem.targets, len(problem.targets)
    apart = not len(problem.root) and bool((_signed(problem.design @ weights, targets)[0] > 0.0).all())
    n_separated = n_points if apart else n_separable(problem.design, targets, problem.root)
    if not n_separated:
        return
    part = f"{counted(n_separated, 'point')} of {n_points}, the rest on the boundary"
    which = "completely" if n_separated == n_points else part
    got = f"all are {targets[0]:g}" if np.ptp(targets) == 0.0 else f"ones and zeros are separated ({which})"
    hint = "map(…, prior_variance=1.0) always has a solution."
    raise DataError(f"the points must overlap for a maximum likelihood; {got}, and larger weights fit better. {hint}")


def n_separable(design: np.ndarray, targets: np.ndarray, fixed: np.ndarray | None = None) -> int:
    """Return how many points a direction d can separate without putting any point on the wrong side.

    With s = 1 for a point that is not certainly 0 and −1 for one that is not certainly 1, the linear program maximises
    Σ t_i under s_i d·φ_i ≥ t_i and 0 ≤ t_i ≤ T. Directions can be added and scaled, so in the best one t_i is T for
    every point that any direction separates. ``fixed`` has rows that d must be orthogonal to: what a prior keeps
    finite.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    fixed = design[:0] if fixed is None else fixed
    change = least_squares(np.concatenate([design, fixed])).root  # columns far from 0 would look the same
    design, fixed = design @ change, fixed @ change
    rows, points = _signed(design / np.abs(design).max(), targets)
    n_rows, n_weights = rows.shape
    held = np.hstack([fixed, np.zeros((len(fixed), n_rows))])
    found = linprog(
        np.concatenate([np.zeros(n_weights), -np.ones(n_rows)]),
        A_ub=hstack([csr_array(-rows), eye_array(n_rows)], format="csr"),
        b_ub=np.zeros(n_rows),
        A_eq=held if len(held) else None,
        b_eq=np.zeros(len(held)) if len(held) else None,
        bounds=[(None, None)] * n_weights + [(0.0, _FAR)] * n_rows,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return 0 if found.x is None else len(set(points[found.x[n_weights:] > 0.5 * _FAR].tolist()))


def _signed(design: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows s φ, and the point of each."""
    ones, zeros = np.flatnonzero(targets > 0.0), np.flatnonzero(targets < 1.0)
    return np.concatenate([design[ones], -design[zeros]]), np.concatenate([ones, zeros])


# Both


def _log_odds(design: np.ndarray, weights: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        found = design @ weights
    check_finite("the log-odds", found)
    return found


def _cross_entropy(log_odds: np.ndarray, targets: np.ndarray) -> float:
    return -float((targets * log_expit(log_odds) + (1.0 - targets) * log_expit(-log_odds)).sum())


def _log_density(errors: np.ndarray, sigma: float) -> float:
    """Return the sum of ln N(e; 0, σ²)."""
    constant = -len(errors) * (0.5 * math.log(2.0 * math.pi) + math.log(sigma))
    with np.errstate(over="ignore"):
        return constant - 0.5 * float(np.square(errors / sigma).sum())


def _checked_noise(noise: object) -> float:
    sigma = check_number("noise", noise, above=0)
    check_finite("noise", np.array([sigma]))
    return sigma


def _distance(weights: np.ndarray, prior: GaussianPrior) -> Equation:
    """Return Σ w² / τ², without the free weights."""
    pairs = zip(weights.tolist(), prior.variances.tolist(), strict=True)
    terms = [number(w) ** 2 / v for w, v in pairs if v < math.inf]
    numbers = [total(terms, most=_SHOWN)] if terms else []
    return equation(symbol("Σ w² / τ²", r"\sum w^2 / \tau^2"), *numbers, number(prior.distance(weights)))


def _fit_text(prior: GaussianPrior | None, weights: Mapping[str, float], n_points: int) -> str:
    shown = [f"{name} = {value:.6g}" for name, value in list(weights.items())[:_SHOWN_WEIGHTS]]
    shown += [f"… ({len(weights)} in all)"] if len(weights) > _SHOWN_WEIGHTS else []
    size = f"{counted(len(weights), 'weight')} to {counted(n_points, 'point')}"
    return f"{'ML' if prior is None else 'MAP'} fit of {size}: {', '.join(shown)}"
