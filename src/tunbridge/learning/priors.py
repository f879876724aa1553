"""Priors for the tables of a network: how many imagined rows stand behind each cell before the data come.

Every prior here adds pseudo-counts a_jk to the counts n_jk of a family (state k in configuration j of the parents),

    P(k | j) = (n_jk + a_jk) / (n_j + a_j),     a_j = Σ_k a_jk,

and they differ in how many, and where:

| prior | a_jk | imagined rows a configuration |
|---|---|---|
| ``"mle"`` | 0 | 0 |
| ``MEstimate(m, p)`` | m p_k | m |
| ``Laplace(γ)``, a number γ, ``"laplace"`` (1), ``"jeffreys"`` (½) | γ | γ r |
| ``K2()``, ``"k2"`` | 1 | r |
| ``BDeu(ess)``, ``"bdeu"`` | ess / (q r) | ess / q |
| ``BDs(ess)``, ``"bds"`` | ess / (q̃ r) where the configuration occurs, else 0 | ess / q̃ |
| ``Dirichlet(α)`` | as given, by variable and cell | Σ_k α_jk |
| ``BackOff(s)`` | s P(k given fewer parents) | s |

with r the child's states, q all configurations of the parents, also where a family is counted sparsely, and q̃ those
that occur. A configuration without rows and pseudo-counts gets the uniform distribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tunbridge._check import check_number, did_you_mean, shortened
from tunbridge.counts import Counts
from tunbridge.errors import DataError
from tunbridge.learning.backoff import BackOff
from tunbridge.learning.dirichlet import Dirichlet
from tunbridge.learning.scores import K2, BDeu, BDs, Score
from tunbridge.probability import Laplace, MEstimate
from tunbridge.probability.smoothing import smooth

Rule = MEstimate | Laplace | Dirichlet | BDeu | BackOff
"""What a prior is once its short forms are read."""

Prior = Rule | K2 | float | str
"""A rule for pseudo-counts, Laplace's γ, or the name of a rule."""

DEFAULT_PRIOR = MEstimate(m=1.0)
"""One row's worth of the uniform distribution for every configuration of the parents."""

NAMES: dict[str, Rule] = {
    "mle": Laplace(0.0),
    "laplace": Laplace(1.0),
    "jeffreys": Laplace(0.5),
    "bdeu": BDeu(),
    "bds": BDs(),
    "k2": Laplace(1.0),
    "backoff": BackOff(),
}
"""The priors by name."""

_ACCEPTED = (
    "'mle', a number (Laplace's γ), 'laplace', 'jeffreys', 'bdeu', 'bds', 'k2', 'backoff', "
    "MEstimate, Laplace, Dirichlet, BDeu, BDs, K2 or BackOff"
)
_MOST_CONFIGURATIONS = 10**300
_MOST_ROWS = 1e100


def as_prior(prior: Any, variables: Iterable[str] | None = None) -> Rule:
    """Return the rule that a prior stands for.

    Names may be written in capitals, and with hyphens, underscores or spaces.

    Parameters
    ----------
    prior : number, name, or rule
        What was given.
    variables : iterable of str, optional
        The variables that a prior may name.

    Examples
    --------
    >>> as_prior("mle"), as_prior(0.5), as_prior("BDeu"), as_prior("back-off")
    (Laplace(gamma=0.0), Laplace(gamma=0.5), BDeu(ess=1.0), BackOff(strength='auto', drop='least'))
    """
    rule = _read(prior)
    if variables is not None and isinstance(rule, Dirichlet):
        known = set(names := list(variables))
        for name in rule.variables:
            if name not in known:
                raise DataError(
                    f"alpha must name variables of the graph; got {shortened(repr(name))}. {did_you_mean(name, names)}"
                )
    return rule


def _read(prior: Any) -> Rule:
    if isinstance(prior, MEstimate | Laplace | Dirichlet | BDeu | BackOff):
        return _checked(prior)
    if isinstance(prior, K2):
        return Laplace(1.0)
    if isinstance(prior, str):
        key = "".join(c for c in prior.casefold() if c not in "-_ ")
        if key in NAMES:
            return NAMES[key]
        raise DataError(f"prior must be {_ACCEPTED}; got {shortened(repr(prior))}. {did_you_mean(key, NAMES)}")
    if isinstance(prior, type):
        raise DataError(f"prior must be an object; got the class {prior.__name__}. Write tb.{prior.__name__}().")
    if isinstance(prior, Score):
        hint = "It has no pseudo-counts: use 'mle', or BDeu."
        raise DataError(f"prior must be {_ACCEPTED}; got the score {prior!r}. {hint}")
    try:
        return Laplace(check_number("prior", prior, low=0, high=_MOST_ROWS))
    except DataError as error:
        if "must be a number" not in str(error):
            raise
        hint = " Pseudo-counts by variable are tb.Dirichlet({…})." if isinstance(prior, dict) else ""
        raise DataError(f"prior must be {_ACCEPTED}; got {shortened(repr(prior))}.{hint}") from None


def _checked(rule: Rule) -> Rule:
    """Return a rule; raise where its pseudo-counts could add up to more than a float can hold."""
    if isinstance(rule, MEstimate) and rule.m != "n_states":
        check_number("m of the m-estimate", rule.m, high=_MOST_ROWS)
    if isinstance(rule, Laplace):
        check_number("gamma of Laplace's rule", rule.gamma, high=_MOST_ROWS)
    return rule


# What a rule means for a family


def pseudo_counts(rule: Rule, counts: Counts) -> np.ndarray:
    """Return what a prior adds to the counts of a family: a read-only array of the shape of ``counts.table``.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = tb.Counter(tb.datasets.play_tennis()).family("play", ["wind"])
    >>> pseudo_counts(tb.BDeu(ess=2), counts).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return np.broadcast_to(added_counts(rule, counts), counts.table.shape)


def added_counts(rule: Rule, counts: Counts) -> float | np.ndarray:
    """Return the pseudo-counts of a family as briefly as they can be told: a number, a row, or all of them."""
    if isinstance(rule, Dirichlet | BackOff):
        return rule.added(counts)
    if isinstance(rule, BDs):
        occurs = counts.table.sum(axis=1, keepdims=True) > 0
        n_occurring = max(1, int(occurs.sum()))
        return occurs * (rule.ess / n_occurring / max(1, counts.child.n_states))
    if isinstance(rule, BDeu):
        q = float(min(math.prod(max(1, p.n_states) for p in counts.parents), _MOST_CONFIGURATIONS))
        return rule.ess / q / max(1, counts.child.n_states)
    if isinstance(rule, Laplace):
        return float(rule.gamma)
    if adds_one_number(rule):
        r = max(1, counts.child.n_states)
        return 1.0 if rule.m == "n_states" else rule.m / r
    return rule.pseudo_counts(counts.child, rule.guess(counts.child, _marginal(counts)))


def adds_one_number(rule: Rule) -> bool:
    """Whether a rule's pseudo-counts are alike in all cells of any family, whatever the data."""
    if isinstance(rule, MEstimate):
        return isinstance(rule.p, str) and rule.p == "uniform"
    if isinstance(rule, Dirichlet):
        return not rule.variables
    return isinstance(rule, Laplace) or (isinstance(rule, BDeu) and not isinstance(rule, BDs))


def depends_on_counts(rule: Rule) -> bool:
    """Whether a rule's pseudo-counts depend on the data, and not on the family alone."""
    return isinstance(rule, BackOff | BDs) or (isinstance(rule, MEstimate) and rule.p == "marginal")


def unseen_row(rule: Rule, counts: Counts) -> np.ndarray:
    """Return the distribution for configurations of the parents that never occur."""
    if isinstance(rule, Dirichlet | BackOff):
        return rule.unseen(counts)
    if isinstance(rule, BDeu):
        return np.full(counts.child.n_states, 1.0 / max(1, counts.child.n_states))
    return smooth(np.zeros(counts.child.n_states), rule, counts.child, _marginal(counts))


def added_and_unseen(rule: Rule, counts: Counts) -> tuple[float | np.ndarray, np.ndarray]:
    """Return the pseudo-counts of a family, and the distribution for configurations that never occur."""
    if isinstance(rule, BackOff):
        return rule.added_and_unseen(counts)
    return added_counts(rule, counts), unseen_row(rule, counts)


def completed(rule: Rule, counts: Counts) -> Counts:
    """Return the counts with a row for every configuration about which the prior has an opinion of its own."""
    return rule.completed(counts) if isinstance(rule, Dirichlet) else counts


def _marginal(counts: Counts) -> np.ndarray:
    return np.add.reduce(counts.table, axis=0, dtype=np.float64)
