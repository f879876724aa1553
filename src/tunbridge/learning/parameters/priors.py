"""Priors for the tables of a network, and the tables that follow from counts and a prior.

Every prior adds pseudo-counts a_jk to the counts n_jk of a family (state k in configuration j of the parents),

    P(k | j) = (n_jk + a_jk) / (n_j + a_j),     a_j = Σ_k a_jk,

and they differ in how many, and where:

| prior | a_jk | pseudo-count of a configuration |
|---|---|---|
| ``"mle"`` | 0 | 0 |
| ``MEstimate(m, p)`` | m p_k | m |
| ``Laplace(γ)``, a number γ, ``"laplace"`` (1), ``"jeffreys"`` (½) | γ | γ r |
| ``K2()``, ``"k2"`` | 1 | r |
| ``BDeu(ess)``, ``"bdeu"`` | ess / (q r) | ess / q |
| ``BDs(ess)``, ``"bds"`` | ess / (q̃ r) where the configuration occurs, else 0 | ess / q̃ |
| ``Dirichlet(α)`` | as given, by variable and cell | Σ_k α_jk |
| ``BackOff(s)`` | s P(k given fewer parents) | s |

with r the number of the child's states, q the number of all configurations of the parents, and q̃ of those that occur.
A configuration without rows and pseudo-counts gets the uniform distribution.

A family that was counted sparsely becomes a sparse table: the configurations that never occur share one row. The
Dirichlet counts n_jk + a_jk stay with the table, for credible intervals and updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, shortened
from tunbridge.counts import Counts
from tunbridge.errors import DataError
from tunbridge.learning.parameters.backoff import BackOff
from tunbridge.learning.parameters.dirichlet import Dirichlet
from tunbridge.learning.scores.discrete import K2, BDeu, BDs, Score
from tunbridge.probability import CPT, ConditionalTable, Laplace, MEstimate, SparseCPT
from tunbridge.probability.smoothing import smooth

Rule = MEstimate | Laplace | Dirichlet | BDeu | BackOff
"""A prior as an object."""

Prior = Rule | K2 | float | str
"""A prior as an object, as Laplace's γ, or by name."""

DEFAULT_PRIOR = MEstimate(m=1.0)
"""A pseudo-count of one row, spread evenly over the states, for every configuration of the parents."""

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


def as_prior(prior: Prior, variables: Iterable[str] | None = None) -> Rule:
    """Return a prior as an object.

    Names are not case-sensitive, and may have hyphens, underscores or spaces.

    Parameters
    ----------
    prior : number, name, or object
        The prior.
    variables : iterable of str, optional
        The variables of the graph, for priors that name variables.

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
                rule_text = f"alpha must name variables of the graph; got {shortened(repr(name))}"
                raise DataError(f"{rule_text}. {did_you_mean(name, names)}", parameter="prior")
    return rule


def _read(prior: Prior) -> Rule:
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
    """Return a prior; raise if the sum of its pseudo-counts could overflow."""
    if isinstance(rule, MEstimate) and rule.m != "n_states":
        check_number("m of the m-estimate", rule.m, high=_MOST_ROWS)
    if isinstance(rule, Laplace):
        check_number("gamma of Laplace's rule", rule.gamma, high=_MOST_ROWS)
    return rule


# Pseudo-counts of a family


def pseudo_counts(rule: Rule, counts: Counts) -> np.ndarray:
    """Return the pseudo-counts of a family: a read-only array of the shape of ``counts.table``.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = tb.Counter(tb.datasets.play_tennis()).family("play", ["wind"])
    >>> pseudo_counts(tb.BDeu(ess=2), counts).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return np.broadcast_to(added_counts(rule, counts), counts.table.shape)


def added_counts(rule: Rule, counts: Counts) -> float | np.ndarray:
    """Return the pseudo-counts of a family as a number, a row, or an array, whichever is smallest."""
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
    if _adds_one_number(rule):
        r = max(1, counts.child.n_states)
        return 1.0 if rule.m == "n_states" else rule.m / r
    return rule.pseudo_counts(counts.child, rule.guess(counts.child, _marginal(counts)))


def _adds_one_number(rule: Rule) -> bool:
    """Return whether the pseudo-counts are equal in all cells of any family, whatever the data are."""
    if isinstance(rule, MEstimate):
        return isinstance(rule.p, str) and rule.p == "uniform"
    if isinstance(rule, Dirichlet):
        return not rule.variables
    return isinstance(rule, Laplace) or (isinstance(rule, BDeu) and not isinstance(rule, BDs))


def depends_on_counts(rule: Rule) -> bool:
    """Return whether the pseudo-counts depend on the data, and not on the family alone."""
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
    """Return the counts with a row for every configuration that has its own pseudo-counts in the prior."""
    return rule.completed(counts) if isinstance(rule, Dirichlet) else counts


def _marginal(counts: Counts) -> np.ndarray:
    return np.add.reduce(counts.table, axis=0, dtype=np.float64)


# Tables


def table_of(counts: Counts, rule: Rule) -> ConditionalTable:
    """Return the table of a family.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = tb.Counter(tb.datasets.play_tennis()).family("play", ["wind"])
    >>> print(table_of(counts, tb.Laplace(1.0)))
    play given wind
    wind    no   yes
    Strong  0.5  0.5
    Weak    0.3  0.7
    """
    child, parents = counts.child, counts.parents
    if not child.n_states:
        raise DataError(f"every column must have a state; {child.name!r} holds only missing values. Leave it out.")
    counts = completed(rule, counts)
    if counts.configurations is None:
        shape = (*(p.n_states for p in parents), child.n_states)
        rows, behind = _estimated(counts.table + added_counts(rule, counts), lambda: unseen_row(rule, counts))
        return CPT.of_valid(child, parents, rows.reshape(shape), behind.reshape(shape))
    added, default = added_and_unseen(rule, counts)
    rows, behind = _estimated(counts.table + added, lambda: default)
    return SparseCPT.from_codes(child, parents, counts.configurations, rows, default=default, counts=behind)


def tables_of(families: Sequence[Counts], rule: Rule) -> list[ConditionalTable]:
    """Return the tables of many families; those with the same pseudo-count in all cells are computed together."""
    plain = _adds_one_number(rule)
    alike = [i for i, c in enumerate(families) if plain and c.configurations is None and c.table.size]
    if len(alike) < 2:
        return [table_of(counts, rule) for counts in families]
    found = dict(zip(alike, _together([families[i] for i in alike], rule), strict=True))
    return [found[i] if i in found else table_of(counts, rule) for i, counts in enumerate(families)]


def _together(families: Sequence[Counts], rule: Rule) -> list[ConditionalTable]:
    sizes = np.array([counts.table.size for counts in families])
    n_states = np.array([counts.child.n_states for counts in families])
    n = np.concatenate([counts.table.ravel() for counts in families])
    raised = n + np.repeat(np.array([added_counts(rule, counts) for counts in families]), sizes)
    r = np.repeat(n_states, sizes // n_states)
    totals = np.add.reduceat(raised, np.cumsum(r) - r)
    if not totals.min() > 0.0:
        return [table_of(counts, rule) for counts in families]
    rows, ends = raised / np.repeat(totals, r), np.cumsum(sizes).tolist()
    tables: list[ConditionalTable] = []
    for counts, end, size in zip(families, ends, sizes.tolist(), strict=True):
        shape = (*(p.n_states for p in counts.parents), counts.child.n_states)
        part = slice(end - size, end)
        tables.append(
            CPT.of_valid(counts.child, counts.parents, rows[part].reshape(shape), raised[part].reshape(shape))
        )
    return tables


def _estimated(raised: np.ndarray, unseen: Callable[[], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows, and the Dirichlet counts behind them."""
    totals = np.add.reduce(raised, axis=1, keepdims=True)
    if not totals.size or np.minimum.reduce(totals, axis=None) > 0.0:
        return raised / totals, raised
    known = totals > 0.0
    rows = np.where(known, raised, unseen())
    return rows / rows.sum(axis=1, keepdims=True), raised
