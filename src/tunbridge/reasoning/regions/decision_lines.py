"""How decision regions and their error come about, in formulas with numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import listed
from tunbridge.errors import DataError
from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    Term,
    difference,
    equation,
    number,
    probability,
    product,
    ratio,
    symbol,
    total,
    words,
)
from tunbridge.reasoning.numbers import as_float, exact_value
from tunbridge.reasoning.regions.densities import Gaussian

if TYPE_CHECKING:
    from tunbridge.reasoning.regions.decision_problem import DecisionProblem

_X, _Y = symbol("x"), symbol("y")
_THETA = symbol("θ", r"\theta")


def threshold_of(problem: DecisionProblem) -> float:
    """Return θ of two classes; raise unless one of them is chosen, and a mistake costs more than a right choice."""
    if problem.choices != problem.classes:
        rule = "a threshold of the likelihood ratio must be between choices that are classes"
        raise DataError(f"{rule}; got {listed(_choice(choice) for choice in problem.choices)}.")
    if not _mistakes_cost_more(problem.losses):
        rule = "must come from losses of mistakes that are greater than those of right choices"
        raise DataError(f"a threshold {rule}; got {problem.losses.tolist()}.")
    loss = [[exact_value(value) for value in row] for row in problem.losses.tolist()]
    below = (loss[0][1] - loss[0][0]) * exact_value(problem.shares[0])
    above = (loss[1][0] - loss[1][1]) * exact_value(problem.shares[1])
    return math.inf if below == 0 else as_float(above / below)


def derivation_of(problem: DecisionProblem) -> Derivation:
    """Return the threshold and the boundary where they have formulas, then the regions and what they cost."""
    lines: list[Equation | str] = []
    if len(problem.classes) == 2 and problem.choices == problem.classes and _mistakes_cost_more(problem.losses):
        lines += _threshold_lines(problem)
        if 0.0 < problem.threshold < math.inf:
            lines += _boundary_lines(problem)
    if problem.n_dimensions == 1:
        lines += [str(region) for region in problem.regions()]
    return Derivation((*lines, *_cost_lines(problem)))


def _mistakes_cost_more(losses: np.ndarray) -> bool:
    return bool(losses[0, 1] > losses[0, 0] and losses[1, 0] > losses[1, 1])


def _threshold_lines(problem: DecisionProblem) -> list[Equation | str]:
    one, two = problem.classes
    named = [
        _side(_lost(two, one), _lost(two, two), probability(two)),
        _side(_lost(one, two), _lost(one, one), probability(one)),
    ]
    p, loss = problem.shares, problem.losses
    shown = [
        _side(number(float(loss[1, 0])), number(float(loss[1, 1])), number(p[1])),
        _side(number(float(loss[0, 1])), number(float(loss[0, 0])), number(p[0])),
    ]
    return [
        f"{one} is chosen where p(x | {one}) / p(x | {two}) > θ, with λ(true, chosen) the losses and",
        equation(_THETA, ratio(*named), ratio(*shown), number(problem.threshold)),
    ]


def _side(wrong: Term, right: Term, share: Term) -> Term:
    return product(difference(wrong, right), share)


def _lost(true: Any, chosen: Any) -> Term:
    return Term(f"λ({true}, {chosen})", rf"\lambda({words(true).latex}, {words(chosen).latex})")


def _boundary_lines(problem: DecisionProblem) -> list[Equation | str]:
    """Return the boundary between two Gaussians: a point or a line for equal variances, else roots of a quadratic."""
    first, second = problem.densities.values()
    if not (isinstance(first, Gaussian) and isinstance(second, Gaussian)):
        return []
    log_theta = math.log(problem.threshold)
    equal = np.allclose(first.variance, second.variance, rtol=1e-12, atol=0)
    if first.n_dimensions == 2:
        return _line_lines(first, second, log_theta) if equal and first.mean != second.mean else []
    if not equal:
        return _quadratic_lines(first, second, log_theta)
    return _point_lines(first, second, problem.threshold) if first.mean != second.mean else []


def _point_lines(first: Gaussian, second: Gaussian, theta: float) -> list[Equation | str]:
    m, n, v = (float(np.asarray(value)) for value in (first.mean, second.mean, first.variance))

    def right_side(m: Term, n: Term, v: Term, theta: Term) -> Term:
        log = Term(f"ln {theta.within(2).text}", rf"\ln {theta.within(2).latex}")
        return total(ratio(total(m, n), number(2.0)), product(ratio(v, difference(m, n)), log))

    names = symbol("μ₁", r"\mu_1"), symbol("μ₂", r"\mu_2"), symbol("σ²", r"\sigma^2"), _THETA
    values = (number(m), number(n), number(v), number(theta))
    found = 0.5 * (m + n) + v / (m - n) * math.log(theta)
    return [
        "The variances are equal, so the boundary is",
        equation(_X, right_side(*names), right_side(*values), number(found)),
    ]


def _quadratic_lines(first: Gaussian, second: Gaussian, log_theta: float) -> list[Equation | str]:
    (m, v), (n, w) = ((float(np.asarray(d.mean)), float(np.asarray(d.variance))) for d in (first, second))
    a, b = 0.5 * (1.0 / w - 1.0 / v), m / v - n / w
    c = 0.5 * (n * n / w - m * m / v + math.log(w / v)) - log_theta
    left = _polynomial([(a, Term("x²", "x^2")), (b, _X)], c)
    return ["The variances differ, so ln p(x | ω₁) − ln p(x | ω₂) = ln θ is quadratic:", equation(left, number(0.0))]


def _line_lines(first: Gaussian, second: Gaussian, log_theta: float) -> list[Equation | str]:
    apart, middle = np.subtract(first.mean, second.mean), 0.5 * np.add(first.mean, second.mean)
    w = np.linalg.solve(np.asarray(first.variance), apart)
    left = _polynomial([(float(w[0]), _X), (float(w[1]), _Y)], 0.0)
    return [
        "The covariances are equal, so the boundary is a line, (μ₁ − μ₂)ᵀ Σ⁻¹ (x − (μ₁ + μ₂)/2) = ln θ:",
        equation(left, number(float(w @ middle) + log_theta)),
    ]


def _polynomial(parts: Sequence[tuple[float, Term]], constant: float) -> Term:
    kept = [(value, [number(abs(value)), power]) for value, power in parts if value]
    kept += [(constant, [number(abs(constant))])] if constant else []
    found = product(*kept[0][1])
    found = found if kept[0][0] > 0 else Term(f"-{found.text}", f"-{found.latex}", 0)
    for value, factors in kept[1:]:
        found = (total if value > 0 else difference)(found, product(*factors))
    return found


def _cost_lines(problem: DecisionProblem) -> list[Equation | str]:
    """Return P(error) where the choices are classes, and the risk where it is something else."""
    found = problem.performance()
    plain = problem.choices == problem.classes and np.array_equal(problem.losses, 1.0 - np.eye(len(problem.classes)))
    lines: list[Equation | str] = []
    if all(choice is None or choice in problem.classes for choice in problem.choices):
        wrong = [[choice is not None and choice != true for choice in problem.choices] for true in problem.classes]
        if len(problem.classes) == 2:
            lines.append(_sum_line(words("P(error)"), problem, np.where(wrong, 1.0, 0.0), found.confusion, found.error))
        else:
            lines.append(_error_line(problem, np.where(wrong, found.confusion, 0.0).sum(axis=1), found.error))
    if not plain:
        lines.append(_sum_line(words("risk"), problem, problem.losses, found.confusion, found.risk))
    return lines


def _error_line(problem: DecisionProblem, wrong: np.ndarray, found: float) -> Equation:
    """Return Σ P(i) P(wrong | i), with names and with numbers."""
    named = [product(probability(name), probability("wrong", name)) for name in problem.classes]
    parts = zip(problem.shares, wrong.tolist(), strict=True)
    shown = [product(number(as_float(share)), number(value)) for share, value in parts]
    return equation(words("P(error)"), total(*named), total(*shown), number(found))


def _sum_line(what: Term, problem: DecisionProblem, costs: np.ndarray, chosen: np.ndarray, found: float) -> Equation:
    """Return Σ P(i) λ_ij P(j | i), with names and with numbers."""
    named, shown = [], []
    for i, j in np.argwhere(costs != 0.0).tolist():
        true, cost = problem.classes[i], [] if costs[i, j] == 1.0 else [number(float(costs[i, j]))]
        choice = probability(f"choose {_choice(problem.choices[j])}", true)
        named.append(product(probability(true), *cost, choice))
        shown.append(product(number(as_float(problem.shares[i])), *cost, number(float(chosen[i, j]))))
    if not named:
        return equation(what, number(found))
    return equation(what, total(*named), total(*shown), number(found))


def _choice(choice: Any) -> str:
    return "no decision" if choice is None else str(choice)
