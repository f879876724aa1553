"""Rules of decision, and how good they are.

Whatever the rule, all that matters is P(j | i), how often it chooses j when i is true. With the prior P(i) and the
losses λ_ij its error and its risk are

    P(error) = Σ_i P(i) Σ_{j ≠ i} P(j | i),        R = Σ_i P(i) Σ_j λ_ij P(j | i).

The minimum-risk rule has the least R that any rule can have; with the 0–1 loss that is the Bayes error. A threshold
put elsewhere, or a rule made for another prior, can be measured against it.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tunbridge._check import check_number, did_you_mean, listed, shortened
from tunbridge.errors import DataError
from tunbridge.probability.grid import text_grid
from tunbridge.reasoning.numbers import as_float
from tunbridge.reasoning.regions.lines import NOWHERE, Cells, Cut, Lines, choice_probabilities, lines_of

if TYPE_CHECKING:
    from tunbridge.reasoning.regions.decision_problem import DecisionProblem

_LEFT_OUT = 1e-9


@final
@dataclass(frozen=True, eq=False, repr=False)
class RulePerformance:
    """How often a rule makes which choice, and what that costs.

    Parameters
    ----------
    classes, choices : tuple
        The labels of the classes, and of what can be chosen; None stands for no decision.
    prior : ndarray of shape (n_classes,)
        P(i).
    losses : ndarray of shape (n_classes, n_choices)
        λ_ij, the loss of choosing j when i is true.
    confusion : ndarray of shape (n_classes, n_choices)
        P(j | i), how often j is chosen when i is true.
    precision : float
        An estimate of how far these probabilities may be off, all together.

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
    def error(self) -> float:
        """The probability of choosing a wrong class; no decision is not an error."""
        strange = [choice for choice in self.choices if choice is not None and choice not in self.classes]
        if strange:
            raise DataError(f"errors must be of choices that are classes; {listed(strange)} is none. Ask for the risk.")
        wrong = [[choice is not None and choice != true for choice in self.choices] for true in self.classes]
        return float(self.prior @ np.where(wrong, self.confusion, 0.0).sum(axis=1))

    @property
    def risk(self) -> float:
        """The expected loss."""
        return float(self.prior @ self.class_risks)

    @property
    def class_risks(self) -> np.ndarray:
        """The expected loss when each class is true."""
        return np.asarray((self.losses * self.confusion).sum(axis=1))

    def __repr__(self) -> str:
        header = ["true", *("no decision" if choice is None else choice for choice in self.choices)]
        rows = [[name, *row] for name, row in zip(self.classes, self.confusion.tolist(), strict=True)]
        classes_only = all(choice is None or choice in self.classes for choice in self.choices)
        error = f"error {self.error:.6g}, " if classes_only else ""
        doubt = f" (within {self.precision:.1g})" if self.precision > 1e-7 else ""
        return f"{text_grid(header, rows)}\n{error}risk {self.risk:.6g}{doubt}"


def measured(problem: DecisionProblem, cut: Cut) -> RulePerformance:
    """Return how good a rule is for a problem."""
    densities = tuple(problem.densities.values())
    found, doubt = choice_probabilities(densities, len(problem.choices), cut)
    found.setflags(write=False)
    prior = np.array([as_float(share) for share in problem.shares])
    return RulePerformance(problem.classes, problem.choices, prior, problem.losses, found, doubt)


def rule_cuts(problem: DecisionProblem, rule: Any) -> list[Cut]:
    """Return how a rule cuts lines; of a threshold both ways to take it."""
    if hasattr(rule, "densities"):
        return [_problem_cut(rule, problem)]
    if not isinstance(rule, numbers.Real) or isinstance(rule, bool):
        raise DataError(f"a rule must be a DecisionProblem or a threshold; got {shortened(repr(rule))}.")
    if problem.n_dimensions == 2:
        raise DataError(f"a rule must be a DecisionProblem where densities are in the plane; got {rule!r}.")
    if len(problem.choices) != 2:
        raise DataError(f"a threshold must be between two choices; got {listed(problem.choices)}.")
    place = np.array([[check_number("a threshold", rule)]])
    return [_always(Cells(place, np.array([codes]))) for codes in ([0, 1], [1, 0])]


def _always(cells: Cells) -> Cut:
    return lambda lines, x: cells


def _problem_cut(other: DecisionProblem, problem: DecisionProblem) -> Cut:
    """Return how another problem, with another prior, loss or densities, cuts lines."""
    if other.n_dimensions != problem.n_dimensions:
        rule = "must have as many dimensions as this one"
        raise DataError(f"a problem used as a rule {rule}; got {other.n_dimensions}, not {problem.n_dimensions}.")
    codes = np.array([*(_code(choice, problem.choices) for choice in other.choices), NOWHERE])

    def cut(lines: Lines, x: np.ndarray | None) -> Cells:
        found = other._cells(lines_of(tuple(other.densities.values()), x))
        cells = Cells(found.cuts, codes[found.choices])
        _check_covering(cells, lines)
        return cells

    return cut


def _code(choice: Any, options: Sequence[Any]) -> int:
    """Return the number of a choice; raise for what cannot be chosen."""
    for code, option in enumerate(options):
        if option is choice or option == choice:
            return code
    raise DataError(f"a rule must choose among {listed(options)}; got {choice!r}. {did_you_mean(choice, options)}")


def _check_covering(cells: Cells, lines: Lines) -> None:
    """Raise where classes are possible and nothing is chosen."""
    if (cells.choices == NOWHERE).any():
        masses = np.where((cells.choices == NOWHERE)[:, None], lines.masses(cells)[0], 0.0)
        if (left := float(masses.sum(axis=2).max())) > _LEFT_OUT:
            rule = "must choose something wherever a class is possible"
            raise DataError(f"a rule {rule}; its regions leave out {left:.2g} of the probability of a class.")
