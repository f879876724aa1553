"""How fitted hypotheses explain themselves: the likelihood with the numbers in it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    Term,
    equation,
    number,
    power,
    product,
    ratio,
    symbol,
    total,
)

if TYPE_CHECKING:
    from tunbridge.reasoning.likelihood.gaussian_prior import GaussianPrior
    from tunbridge.reasoning.likelihood.linear_family import LinearFit
    from tunbridge.reasoning.likelihood.logistic_family import LogisticFit

_SHOWN = 6
_SSE = symbol("SSE", r"\mathrm{SSE}")
_CROSS = symbol("cross-entropy", r"\text{cross-entropy}")
_LIKELIHOOD = symbol("ln P(D | w)", r"\ln P(D \mid w)")
_LINEAR_RULE = symbol("−(n/2) ln(2πσ²) − SSE / 2σ²", r"-\tfrac{n}{2} \ln(2\pi\sigma^2) - \mathrm{SSE} / 2\sigma^2")
_LOGISTIC_RULE = symbol("Σ [y ln p(x) + (1 − y) ln(1 − p(x))]", r"\sum [y \ln p(x) + (1 - y) \ln(1 - p(x))]")


def linear_lines(fit: LinearFit) -> Derivation:
    """Return the squared error, the noise, the likelihood, and what a prior adds."""
    sse, variance = number(fit.squared_error), number(fit.noise**2)
    squares = _sum(power(number(error), 2) for error in fit.errors[: _SHOWN + 1].tolist())
    lines = [equation(_SSE, symbol("Σ (y − h(x))²", r"\sum (y - h(x))^2"), squares, sse)]
    if fit.family.noise is None:
        divided = ratio(sse, number(float(fit.n_points)))
        lines.append(equation(symbol("σ²", r"\sigma^2"), ratio(_SSE, symbol("n")), divided, variance))
    n, v = fit.n_points, variance.latex
    filled = Term(
        f"−({n}/2) ln(2π × {variance.text}) − {sse.text} / (2 × {variance.text})",
        rf"-\tfrac{{{n}}}{{2}} \ln(2\pi \times {v}) - {sse.latex} / (2 \times {v})",
    )
    lines.append(equation(_LIKELIHOOD, _LINEAR_RULE, filled, number(fit.log_likelihood)))
    if fit.prior is None:
        return Derivation((*lines, "The larger SSE, the smaller P(D | w): least squares is maximum likelihood."))
    return Derivation((*lines, *_ridge(fit, fit.prior)))


def logistic_lines(fit: LogisticFit) -> Derivation:
    """Return the likelihood as a sum over points, the cross-entropy, and what a prior adds."""
    pairs = zip(fit.log_odds[: _SHOWN + 1].tolist(), fit.targets[: _SHOWN + 1].tolist(), strict=True)
    terms = [part for log_odds, target in pairs for part in _log_terms(log_odds, target)]
    entropy = number(fit.cross_entropy)
    lines = [
        equation(_LIKELIHOOD, _LOGISTIC_RULE, _sum(terms), number(fit.log_likelihood)),
        equation(_CROSS, symbol("−ln P(D | w)", r"-\ln P(D \mid w)"), entropy),
    ]
    if fit.prior is None:
        closing = "The larger the cross-entropy, the smaller P(D | w): least cross-entropy is maximum likelihood."
        return Derivation((*lines, closing))
    closing = "The most probable weights minimise the cross-entropy and half of that together."
    return Derivation((*lines, _distance_line(fit.vector, fit.prior), closing))


def _ridge(fit: LinearFit, prior: GaussianPrior) -> list[Equation | str]:
    """Return what the prior adds to the squared error."""
    if prior.common is None:
        return [_distance_line(fit.vector, prior), "The most probable weights minimise SSE and σ² times that together."]
    variance, tau = number(fit.noise**2), number(prior.common)
    strength, squares = number(fit.noise**2 / prior.common), number(float(fit.vector @ fit.vector))
    penalised = symbol("SSE + λ Σ w²", r"\mathrm{SSE} + \lambda \sum w^2")
    found = number(fit.squared_error + fit.noise**2 * prior.distance(fit.vector))
    rule = ratio(symbol("σ²", r"\sigma^2"), symbol("τ²", r"\tau^2"))
    return [
        equation(symbol("λ", r"\lambda"), rule, ratio(variance, tau), strength),
        equation(penalised, total(number(fit.squared_error), product(strength, squares)), found),
        "The larger that sum, the smaller P(w | D): a Gaussian prior is ridge regression.",
    ]


def _distance_line(weights: np.ndarray, prior: GaussianPrior) -> Equation:
    """Return Σ w² / τ², in which a weight that is free does not occur."""
    pairs = zip(weights.tolist(), prior.variances.tolist(), strict=True)
    terms = [ratio(power(number(w), 2), number(v)) for w, v in pairs if v < math.inf]
    distance = number(prior.distance(weights))
    rule = symbol("Σ w² / τ²", r"\sum w^2 / \tau^2")
    return equation(rule, _sum(terms), distance) if terms else equation(rule, distance)


def _log_terms(log_odds: float, target: float) -> list[Term]:
    """Return y ln p and (1 − y) ln(1 − p), without those that are 0."""
    found = []
    for share, odds in ((target, log_odds), (1.0 - target, -log_odds)):
        if share > 0.0:
            p = number(1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else math.exp(max(odds, -745.0)))
            text = Term(f"ln {p.within(2).text}", rf"\ln {p.within(2).latex}", 1)
            found.append(text if share == 1.0 else product(number(share), text))
    return found


def _sum(terms: Iterable[Term]) -> Term:
    """Return a sum, of many terms the first few and dots."""
    found = list(terms)
    shown = found if len(found) <= _SHOWN else [*found[: _SHOWN - 1], symbol("…", r"\dots")]
    return total(*shown)
