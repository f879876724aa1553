"""Sequential updating: the tables of a network learn from rows as they arrive.

The counts α_jk behind a table are the parameters of a Dirichlet distribution for every configuration j of the parents,
and the table is its mean, P(k | j) = α_jk / α_j. Complete rows add to the counts,

    α_jk ← α_jk + n_jk,

which is exact: in whatever order and batches rows arrive, the tables are those of one fit to all of them. A row with
missing values adds its expected counts, α_jk ← α_jk + P(j, k | row), under the network before the batch: *fractional
updating*. It keeps the mean and treats an expected count like an observed one, so it depends on the order of the rows
and on the batches. (EM does not, but needs all rows at once.) Rows in which only barren variables are missing, with
nothing observed below them, are exact too; the tables of these variables do not change.

With a fading factor f < 1 old rows are forgotten, row by row:

    α ← f α + n,     after a batch of n rows   α ← fⁿ α + Σ_i f^(n−1−i) n_i,

so that a table is never worth more than 1 / (1 − f) rows.

*New states.* When a variable gets new states, and has r in all, each of them starts in configuration j of the parents
with α_j,new = min(1, α_j) / r: its share of one imagined row (of less, if the configuration is worth less). When a
parent gets a new state, the configurations with it start with one imagined row (at most what the others are worth on
average), α_new,k = min(1, ᾱ) · Σ_x α_xk / Σ_x α_x, distributed like the rows with the other states x of that parent. A
sparse table stores no rows for new configurations: its default row applies to them, and gets its share of the new
states too.

References
----------
D. J. Spiegelhalter, S. L. Lauritzen (1990). Sequential updating of conditional probabilities on directed graphical
structures. Networks 20, 579–605.
K. G. Olesen, S. L. Lauritzen, F. V. Jensen (1992). aHUGIN: a system creating adaptive causal probabilistic networks.
UAI 8, 223–229 (fractional updating and fading).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number, counted, did_you_mean, listed, warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import n_threads
from tunbridge.counts import Counts
from tunbridge.data import State, Variable
from tunbridge.errors import DataError, UnknownVariableError, ZeroProbabilityWarning
from tunbridge.inference.evidence import warn_unseen
from tunbridge.learning.arriving.batches import (
    NEW_STATES,
    Batch,
    Score,
    Unknown,
    check_discrete,
    count_batch,
    iter_frames,
    read_batch,
    score_batch,
)
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, SparseCPT
from tunbridge.probability.reading import numbers_of

_ONE_ROW = 1.0
_LEAST = 1e-300  # what was possible stays possible, however long ago it was


@dataclass(frozen=True, eq=False)
class NetworkUpdate:
    """An updated network and a summary of the rows.

    Attributes
    ----------
    network : BayesianNetwork
        The network after all rows.
    n_rows : int
        The number of rows.
    n_incomplete : int
        How many of them had a missing value of one of the network's variables.
    n_impossible : int
        How many had probability zero when they arrived. The complete ones among them were counted anyway.
    log_score : float
        The mean of ln P(row), each row under the network before its batch, without impossible rows; NaN without rows.
    new_states : dict of str to tuple of states
        The states that were added to variables.
    """

    network: BayesianNetwork
    n_rows: int = 0
    n_incomplete: int = 0
    n_impossible: int = 0
    log_score: float = float("nan")
    new_states: dict[str, tuple[State, ...]] = field(default_factory=dict)


def update_network(
    net: BayesianNetwork,
    rows: object,
    *,
    fading: float | Mapping[str, float] = 1.0,
    ess: float | Mapping[str, float] | None = None,
    fixed: str | Iterable[str] = (),
    new_states: str = "add",
    batch_rows: int | None = None,
    n_jobs: int | None = None,
) -> NetworkUpdate:
    """Return a network updated with new rows, and a summary of these rows.

    :meth:`BayesianNetwork.update` has the same parameters, documents them, and returns the network alone.

    Returns
    -------
    NetworkUpdate

    Examples
    --------
    >>> import tunbridge as tb
    >>> net = tb.fit_parameters(tb.DAG(["wind", "play"], [("wind", "play")]), tb.datasets.play_tennis())
    >>> seen = tb.update_network(net, [{"wind": "Weak", "play": "yes"}, {"wind": "Gale", "play": "no"}])
    >>> seen.n_rows, seen.new_states, round(seen.log_score, 3)
    (2, {'wind': ('Gale',)}, -2.862)
    """
    settings = _checked_settings(net.cpts, fading, ess, fixed, new_states=new_states, n_jobs=n_jobs)
    check_integer("batch_rows", batch_rows, low=1, optional=True)
    tally = _Tally(settings, _starting(tuple(net.cpts.values()), settings))
    for frame in iter_frames(rows):
        tally = tally.after(frame, batch_rows)
    tally.warn()
    network = type(net).of_valid(tally.tables, name=net.name, properties=net.properties, reading=net.reading)
    log_likelihood, weight, n_impossible, _ = tally.score
    mean = log_likelihood / weight if weight else float("nan")
    added = tally.unknown if new_states == "add" else {}
    return NetworkUpdate(network, tally.n_rows, tally.n_incomplete, n_impossible, mean, added)


# Settings


@dataclass(frozen=True, eq=False)
class _Settings:
    """The arguments of an update, checked: fading factor and ess by variable, and the variables whose tables stay."""

    fading: dict[str, float]
    ess: dict[str, float]
    fixed: frozenset[str]
    new_states: str
    n_jobs: int | None


def _checked_settings(
    cpts: Mapping[str, ConditionalTable],
    fading: float | Mapping[str, float],
    ess: float | Mapping[str, float] | None,
    fixed: str | Iterable[str],
    *,
    new_states: str,
    n_jobs: int | None,
) -> _Settings:
    check_choice("new_states", new_states, NEW_STATES)
    check_discrete(cpts, "updated")
    n_threads(n_jobs)
    kept = [fixed] if isinstance(fixed, str) or not isinstance(fixed, Iterable) else list(fixed)
    for name in kept:
        _check_known("fixed", name, cpts)
    factors = dict.fromkeys(cpts, 1.0) | _by_name("fading", fading, cpts, high=1.0)
    worth = {} if ess is None else _by_name("ess", ess, cpts, high=None)
    return _Settings(factors, worth, frozenset(kept), new_states, n_jobs)


def _by_name(
    what: str, given: float | Mapping[str, float], names: Mapping[str, object], *, high: float | None
) -> dict[str, float]:
    """Return a number for each variable, or for those that a mapping names."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, check_number(what, given, above=0.0, high=high))
    for name in given:
        _check_known(what, name, names)
    return {name: check_number(f"{what} of {name!r}", number, above=0.0, high=high) for name, number in given.items()}


def _check_known(what: str, name: object, names: Mapping[str, object]) -> None:
    if not isinstance(name, str) or name not in names:
        hint = did_you_mean(name, names)
        raise UnknownVariableError(f"{what} must name variables of the network; got {name!r}. {hint}", parameter=what)


def _starting(tables: tuple[ConditionalTable, ...], settings: _Settings) -> tuple[ConditionalTable, ...]:
    """Return tables that all have counts unless fixed; raise if ``ess`` does not give the weight of one without."""
    bare: dict[str, CPT | SparseCPT] = {}
    for name, cpt in ((cpt.variable.name, cpt) for cpt in tables):
        if name in settings.fixed or cpt.counts is not None:
            continue
        if not isinstance(cpt, CPT | SparseCPT):
            raise DataError(
                f"tables must store their rows to be updated; the one of {name!r} is a {type(cpt).__name__}. Keep it "
                f"with fixed=[{name!r}], or convert it to a CPT first: CPT(variable, parents, table.table())."
            )
        bare[name] = cpt
    absent = [name for name in bare if name not in settings.ess]
    if absent:
        raise DataError(
            "ess must give the number of rows that tables without counts are worth; "
            f"got none for {listed(absent, most=4)}. "
            "ess=100 makes every row of such a table worth 100 rows of data, ess={name: number} sets it by "
            "variable, and fixed=[name] leaves a table unchanged.",
            parameter="ess",
        )
    counted = {name: _with_counts(cpt, settings.ess[name]) for name, cpt in bare.items()}
    return tuple(counted.get(cpt.variable.name, cpt) for cpt in tables)


def _with_counts(cpt: CPT | SparseCPT, ess: float) -> ConditionalTable:
    counts = np.asarray(ess * cpt.probabilities)
    if isinstance(cpt, CPT):
        return CPT.of_valid(cpt.variable, cpt.parents, cpt.probabilities, counts)
    return SparseCPT.of_valid(cpt.variable, cpt.parents, cpt.configurations, cpt.probabilities, cpt.default, counts)


# Rows


@dataclass(frozen=True, eq=False)
class _Tally:
    """The tables so far, with their counts, and the summary of the rows so far."""

    settings: _Settings
    tables: tuple[ConditionalTable, ...]
    n_rows: int = 0
    n_incomplete: int = 0
    score: Score = field(default_factory=Score)
    unknown: Unknown = field(default_factory=dict)

    def after(self, frame: object, batch_rows: int | None) -> _Tally:
        """Return the tally after the rows of a frame."""
        settings = self.settings
        variables = [cpt.variable for cpt in self.tables]
        table, unknown = read_batch(frame, variables, new_states=settings.new_states, n_jobs=settings.n_jobs)
        tally = self._with_states(table.variables, unknown) if unknown else self
        with _no_overflow():
            for piece in Batch.of(table, tally.tables).pieces(batch_rows):
                tally = tally.plus(piece)
        return tally

    def plus(self, batch: Batch) -> _Tally:
        """Return the tally after a batch whose values are states."""
        return self._after_row(batch) if self._is_simple_row(batch) else self._after_batch(batch)

    def _with_states(self, variables: Iterable[Variable], unknown: Unknown) -> _Tally:
        """Return the tally with the states of these variables, of which some are new."""
        known = {v.name: v for v in variables}
        tables = tuple(grown(cpt, known, is_fixed=cpt.variable.name in self.settings.fixed) for cpt in self.tables)
        return replace(self, tables=tables, unknown=joined_states(self.unknown, unknown))

    def _after_batch(self, batch: Batch) -> _Tally:
        counts, n_rows = count_batch(batch, self.tables, self.settings.n_jobs), batch.table.n_rows
        scored = score_batch(batch, self.tables, counts, self.settings.n_jobs)
        weighed = self._faded(batch, counts.families)
        return replace(
            self,
            tables=tuple(self._raised(cpt, n, n_rows) for cpt, n in zip(self.tables, weighed, strict=True)),
            n_rows=self.n_rows + n_rows,
            n_incomplete=self.n_incomplete + int(np.count_nonzero(~batch.table.complete)),
            score=self.score.plus(scored),
        )

    def _raised(self, cpt: ConditionalTable, counts: Counts, n_rows: int) -> ConditionalTable:
        name, settings = cpt.variable.name, self.settings
        if name in settings.fixed:
            return cpt
        return _raised(cpt, counts, settings.fading[name] ** n_rows, settings.ess.get(name, _ONE_ROW))

    def _faded(self, batch: Batch, plain: list[Counts]) -> list[Counts]:
        """Return the counts of every family; for tables that fade, later rows weigh more."""
        factors = [self.settings.fading[cpt.variable.name] for cpt in self.tables]
        found = {1.0: plain}
        for factor in {*factors} - {1.0}:
            weights = _faded_weights(batch.table.n_rows, factor, batch.table.weights)
            faded = batch._replace(table=batch.table.with_weights(weights))
            found[factor] = count_batch(faded, self.tables, self.settings.n_jobs).families
        return [found[factor][v] for v, factor in enumerate(factors)]

    def _is_simple_row(self, batch: Batch) -> bool:
        """Whether this is a single row that adds to one cell of each table, so that nothing has to be counted."""
        return len(batch.countable) == 1 and batch.countable[0] and all(isinstance(cpt, CPT) for cpt in self.tables)

    def _after_row(self, batch: Batch) -> _Tally:
        """Return the tally after a single row; ten times as fast as counting a batch of one."""
        rows = batch.table
        weight = 1.0 if rows.weights is None else float(rows.weights[0])
        state = {name: int(codes[0]) for name, codes in zip(rows.names, rows.columns, strict=True)}
        tables = [cpt for cpt in self.tables if isinstance(cpt, CPT)]
        places = [tuple(state[v.name] for v in (*cpt.parents, cpt.variable)) for cpt in tables]
        chances = [cpt.probabilities[at] for cpt, at in zip(tables, places, strict=True) if weight and at[-1] >= 0]
        score = Score(weight * sum(map(math.log, chances)), weight) if all(chances) else Score(n_impossible=1)
        raised = tuple(self._raised_at(cpt, at, weight) for cpt, at in zip(tables, places, strict=True))
        n_incomplete = self.n_incomplete + (min(state.values()) < 0)
        return replace(
            self, tables=raised, n_rows=self.n_rows + 1, n_incomplete=n_incomplete, score=self.score.plus(score)
        )

    def _raised_at(self, cpt: CPT, place: tuple[int, ...], weight: float) -> CPT:
        """Return a table after a row in this cell of it, or in none (the last code is missing)."""
        name = cpt.variable.name
        if name in self.settings.fixed:
            return cpt
        assert cpt.counts is not None
        rows, alpha = cpt.probabilities, _faded(cpt.counts, self.settings.fading[name])
        if weight and place[-1] >= 0:
            rows, alpha = rows.copy(), alpha.copy()
            alpha[place] += weight
            rows[place[:-1]] = alpha[place[:-1]] / alpha[place[:-1]].sum()
        return CPT.of_valid(cpt.variable, cpt.parents, rows, alpha)

    def warn(self) -> None:
        """Warn of values that were treated as missing, and of rows that were left out."""
        if self.settings.new_states == "missing":
            warn_unseen(self.unknown)
        if n := self.score.n_left_out:
            some = f"{n} of {counted(self.n_rows, 'row')}"
            hint = "Missing values cannot be inferred in them; tables without zeros have no such rows."
            were = "was" if n == 1 else "were"
            warn_user(f"{some} cannot occur in the network and {were} left out. {hint}", ZeroProbabilityWarning)


def joined_states(old: Unknown, new: Unknown) -> Unknown:
    """Return the states of both mappings by variable, each once."""
    return {name: tuple(dict.fromkeys((*old.get(name, ()), *new.get(name, ())))) for name in {**old, **new}}


@contextmanager
def _no_overflow() -> Iterator[None]:
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        most, hint = np.finfo(float).max, "Divide the weights, and ess, by a constant."
        raise DataError(f"counts must stay below {most:.1e}; with these rows they exceed it. {hint}") from None


def _faded_weights(n_rows: int, factor: float, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the weight of each of n rows after the last of them.

    Examples
    --------
    >>> _faded_weights(3, 0.5).tolist()
    [0.25, 0.5, 1.0]
    """
    faded = factor ** np.arange(n_rows - 1, -1, -1, dtype=np.float64)
    return faded if weights is None else faded * weights


# Tables after new rows: α ← fⁿ α + n, P(k | j) = α_jk / α_j


def _raised(cpt: ConditionalTable, counts: Counts, factor: float, ess: float) -> ConditionalTable:
    """Return a table after new rows.

    Parameters
    ----------
    cpt : CPT or SparseCPT
        With counts.
    counts : Counts
        Those of the rows.
    factor : float
        The weight of the old counts, fⁿ.
    ess : float
        How many rows of its default row a configuration starts with that a sparse table does not store.
    """
    assert cpt.counts is not None
    if isinstance(cpt, CPT):
        rows, alpha = _raised_rows(cpt.probabilities, cpt.counts, counts.dense().table.reshape(cpt.shape), factor)
        return CPT.of_valid(cpt.variable, cpt.parents, rows, alpha)
    assert isinstance(cpt, SparseCPT)
    seen = np.flatnonzero(counts.table.any(axis=1))
    numbers = seen if counts.configurations is None else numbers_of(cpt.parents, counts.configurations[seen])
    both = np.union1d(cpt.configurations, numbers).astype(np.int64)
    size, ways_out = 24.0 * both.size * cpt.variable.n_states, "Give its variable fewer parents."
    check_memory(f"the sparse table of {cpt.variable.name!r}", size, ways_out=ways_out)
    rows, alpha = np.tile(cpt.default, (len(both), 1)), np.tile(ess * cpt.default, (len(both), 1))
    stored = np.searchsorted(both, cpt.configurations)
    rows[stored], alpha[stored] = cpt.probabilities, cpt.counts
    n = np.zeros(rows.shape)
    n[np.searchsorted(both, numbers)] = counts.table[seen]
    rows, alpha = _raised_rows(rows, alpha, n, factor)
    return SparseCPT.of_valid(cpt.variable, cpt.parents, both, rows, cpt.default, alpha)


def _raised_rows(rows: np.ndarray, alpha: np.ndarray, n: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (f α + n) / Σ and f α + n; a distribution without new rows does not change."""
    alpha = _faded(alpha, factor) + n
    touched = n.any(axis=-1, keepdims=True)
    totals = np.where(touched, alpha.sum(axis=-1, keepdims=True), 1.0)
    return np.where(touched, alpha / totals, rows), alpha


def _faded(alpha: np.ndarray, factor: float) -> np.ndarray:
    return np.where(alpha > 0.0, np.maximum(alpha * factor, _LEAST), 0.0) if factor < 1.0 else alpha


# Tables with new states


def grown(cpt: ConditionalTable, variables: Mapping[str, Variable], *, is_fixed: bool = False) -> ConditionalTable:
    """Return a table over the same variables with their new states, which follow the old ones.

    Parameters
    ----------
    cpt : ConditionalTable
        With Dirichlet counts, unless nothing has to be added.
    variables : mapping of str to Variable
        Its variables with their new states.
    is_fixed : bool
        Whether the table must not change; a new state then raises an error.
    """
    child, parents = variables[cpt.variable.name], tuple(variables[p.name] for p in cpt.parents)
    pairs = zip((*parents, child), (*cpt.parents, cpt.variable), strict=True)
    longer = [(new, old) for new, old in pairs if new != old]
    if not longer:
        return cpt
    if is_fixed or not isinstance(cpt, CPT | SparseCPT):
        new, old = longer[0]
        raise DataError(
            f"the table of {child.name!r} must not change, and has no row for new states; got "
            f"{listed((new.states or ())[old.n_states :])} of {new.name!r}. "
            "new_states='missing' treats such values as missing."
        )
    assert cpt.counts is not None
    rows, counts = _with_columns(cpt.probabilities, cpt.counts, child.n_states)
    n_configurations = math.prod(p.n_states for p in parents)
    if isinstance(cpt, CPT):
        size = 16.0 * n_configurations * child.n_states
        ways_out = "new_states='missing' adds none."
        check_memory(f"the table of {child.name!r} with its new states", size, ways_out=ways_out)
        for axis, parent in enumerate(parents):
            rows, counts = _with_configurations(rows, counts, axis, parent.n_states)
        return CPT.of_valid(child, parents, np.ascontiguousarray(rows), np.ascontiguousarray(counts))
    if n_configurations > 2**62:
        rule = f"the parents of {child.name!r} must have at most 2^62 configurations"
        raise DataError(f"{rule}; got about {n_configurations:.0e}.")
    default, _ = _with_columns(cpt.default, cpt.default, child.n_states)
    numbers = numbers_of(parents, cpt.codes().astype(np.int64))  # codes keep their order, and so do configurations
    return SparseCPT.of_valid(child, parents, numbers, rows, default, counts)


def _with_columns(rows: np.ndarray, counts: np.ndarray, n_states: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and counts with new states, each with its share of a row."""
    n_new = n_states - rows.shape[-1]
    if not n_new:
        return rows, counts
    totals = counts.sum(axis=-1, keepdims=True)
    share = np.repeat(np.minimum(1.0, totals) / n_states, n_new, axis=-1)
    weight = np.where(totals > 0.0, totals, 1.0)  # a row without counts keeps its probabilities
    raised = np.concatenate([rows * weight, share], axis=-1)
    return raised / raised.sum(axis=-1, keepdims=True), np.concatenate([counts, share], axis=-1)


def _with_configurations(
    rows: np.ndarray, counts: np.ndarray, axis: int, n_states: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and counts with new states of a parent, all with the same row."""
    n_old = rows.shape[axis]
    if n_old == n_states:
        return rows, counts
    pooled = counts.sum(axis=axis, keepdims=True)
    totals = pooled.sum(axis=-1, keepdims=True)
    row = np.where(totals > 0.0, pooled / np.where(totals > 0.0, totals, 1.0), rows.mean(axis=axis, keepdims=True))
    prior = np.minimum(1.0, totals / n_old) * row
    n_new = n_states - n_old
    return (
        np.concatenate([rows, np.repeat(row, n_new, axis=axis)], axis=axis),
        np.concatenate([counts, np.repeat(prior, n_new, axis=axis)], axis=axis),
    )
