"""Sequential adaptation: the tables of a network follow the rows that keep arriving.

The counts α_jk behind a table are the parameters of a Dirichlet distribution for every configuration j of the parents,
and the table is its mean, P(k | j) = α_jk / α_j. Rows in which nothing is missing add to the counts,

    α_jk ← α_jk + n_jk,

which is exact: in whatever order and batches rows come, the tables are those of one fit to all of them. A row with
holes adds what is to be expected of it, α_jk ← α_jk + P(j, k | row), under the network as it stands before the batch:
*fractional updating*. It keeps the mean in view and treats a guessed count as if it were seen, so it depends on the
order of the rows, and on how they are cut into batches. (EM has no such dependence, and needs all rows at once.) Exact
are also rows in which only barren variables are missing, with nothing observed below them; their tables stay untouched.

With a fading factor f < 1 what is old is forgotten, row by row:

    α ← f α + n,     after a batch of n rows   α ← fⁿ α + Σ_i f^(n−1−i) n_i,

so that a table is never worth more than 1 / (1 − f) rows.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import check_whole, counted, warn_user
from tunbridge.counts import Counts
from tunbridge.data import State
from tunbridge.errors import DataError, ZeroProbabilityWarning
from tunbridge.inference.batches import warn_unseen
from tunbridge.network.arriving import Batch, iter_frames, read_batch
from tunbridge.network.growing import grown, raised, raised_at
from tunbridge.network.rules import Rules, checked_rules
from tunbridge.network.tallying import Part, countable_rows, cut_into_parts, faded_weights, family_counts, score
from tunbridge.probability import CPT, ConditionalTable

if TYPE_CHECKING:
    from tunbridge.network.network import BayesianNetwork


@dataclass(frozen=True, eq=False)
class NetworkUpdate:
    """An updated network, and what was seen on the way.

    Attributes
    ----------
    network : BayesianNetwork
        The network after all rows.
    n_rows : int
        How many rows there were.
    n_incomplete : int
        How many of them had holes that needed inference.
    n_impossible : int
        How many the network held for impossible when they came. Those without holes were counted all the same.
    log_score : float
        The mean of ln P(row), each row under the network before its batch, impossible ones left out; NaN without rows.
    new_states : dict of str to tuple of states
        The states that variables have got.
    """

    network: BayesianNetwork
    n_rows: int = 0
    n_incomplete: int = 0
    n_impossible: int = 0
    log_score: float = float("nan")
    new_states: dict[str, tuple[State, ...]] = field(default_factory=dict)


def update_network(
    net: BayesianNetwork,
    rows: Any,
    *,
    fading: float | Mapping[str, float] = 1.0,
    ess: float | Mapping[str, float] | None = None,
    fixed: str | Iterable[str] = (),
    new_states: str = "add",
    batch_rows: int | None = None,
    n_jobs: int | None = None,
) -> NetworkUpdate:
    """Return a network updated by new rows, with what was seen on the way.

    :meth:`BayesianNetwork.update` takes the same arguments, which are described there, and gives the network alone.

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
    rules = checked_rules(net.cpts, fading=fading, ess=ess, fixed=fixed, new_states=new_states, n_jobs=n_jobs)
    check_whole("batch_rows", batch_rows, low=1, optional=True)
    tally = Tally(rules.starting(tuple(net.cpts.values())))
    for frame in iter_frames(rows):
        tally = tally.absorbed(frame, rules, batch_rows)
    tally.warn(rules)
    network = type(net).from_tables(tally.tables, name=net.name, properties=net.properties)
    mean = tally.log_likelihood / tally.weight if tally.weight else float("nan")
    added = tally.unknown if rules.new_states == "add" else {}
    return NetworkUpdate(network, tally.n_rows, tally.n_incomplete, tally.n_impossible, mean, added)


@dataclass(frozen=True, eq=False)
class Tally:
    """The tables so far, with their counts, and what was seen."""

    tables: tuple[ConditionalTable, ...]
    n_rows: int = 0
    n_incomplete: int = 0
    n_impossible: int = 0
    n_left_out: int = 0
    weight: float = 0.0
    log_likelihood: float = 0.0
    unknown: dict[str, tuple[State, ...]] = field(default_factory=dict)

    def absorbed(self, frame: Any, rules: Rules, batch_rows: int | None) -> Tally:
        """Return the tally after the rows of a frame."""
        variables = [cpt.variable for cpt in self.tables]
        batch = read_batch(frame, variables, new_states=rules.new_states, n_jobs=rules.n_jobs)
        tally = self._knowing(batch, rules) if batch.unknown else self
        simple = countable_rows(batch, tally.tables)
        with _no_overflow():
            for part in cut_into_parts(batch, simple, batch_rows):
                tally = tally._after_one(part.batch, rules) if tally._is_plain(part) else tally._counted(part, rules)
        return tally

    def _knowing(self, batch: Batch, rules: Rules) -> Tally:
        """Return the tally with the states that a batch has, and which of them are new."""
        known = {v.name: v for v in batch.variables}
        tables = tuple(grown(cpt, known, is_fixed=cpt.variable.name in rules.fixed) for cpt in self.tables)
        unknown = {name: _joined(self.unknown, batch.unknown, name) for name in {**self.unknown, **batch.unknown}}
        return replace(self, tables=tables, unknown=unknown)

    def _counted(self, part: Part, rules: Rules) -> Tally:
        plain = family_counts(part, self.tables, part.batch.weights, rules.n_jobs)
        scored = score(part, self.tables, plain, rules.n_jobs)
        counts = self._faded(part, rules, plain.counts)
        return replace(
            self,
            tables=tuple(_raised(cpt, n, rules, part.batch.n_rows) for cpt, n in zip(self.tables, counts, strict=True)),
            n_rows=self.n_rows + part.batch.n_rows,
            n_incomplete=self.n_incomplete + int(np.count_nonzero(~part.simple)),
            n_impossible=self.n_impossible + scored.n_impossible,
            n_left_out=self.n_left_out + scored.n_left_out,
            weight=self.weight + scored.weight,
            log_likelihood=self.log_likelihood + scored.log_likelihood,
        )

    def _is_plain(self, part: Part) -> bool:
        """Whether there is a single row that adds to one cell of each table: then nothing has to be counted."""
        return part.batch.n_rows == 1 and bool(part.simple[0]) and all(isinstance(cpt, CPT) for cpt in self.tables)

    def _after_one(self, batch: Batch, rules: Rules) -> Tally:
        """Return the tally after a single row."""
        weight = 1.0 if batch.weights is None else float(batch.weights[0])
        state = {v.name: int(codes[0]) for v, codes in zip(batch.variables, batch.codes, strict=True)}
        tables = [cpt for cpt in self.tables if isinstance(cpt, CPT)]
        places = [tuple(state[v.name] for v in (*cpt.parents, cpt.variable)) for cpt in tables]
        chances = [cpt.probabilities[at] for cpt, at in zip(tables, places, strict=True) if weight and at[-1] >= 0]
        is_possible = all(chances)
        return replace(
            self,
            tables=tuple(_raised_at(cpt, at, rules, weight) for cpt, at in zip(tables, places, strict=True)),
            n_rows=self.n_rows + 1,
            n_impossible=self.n_impossible + (not is_possible),
            weight=self.weight + (weight if is_possible else 0.0),
            log_likelihood=self.log_likelihood + (weight * sum(map(math.log, chances)) if is_possible else 0.0),
        )

    def _faded(self, part: Part, rules: Rules, plain: list[Counts]) -> list[Counts]:
        """Return the counts of every family, in those of fading tables later rows weighing more."""
        factors = [rules.fading[cpt.variable.name] for cpt in self.tables]
        found = {1.0: plain}
        for factor in {*factors} - {1.0}:
            weights = faded_weights(part.batch.n_rows, factor, part.batch.weights)
            found[factor] = family_counts(part, self.tables, weights, rules.n_jobs).counts
        return [found[factor][v] for v, factor in enumerate(factors)]

    def warn(self, rules: Rules) -> None:
        """Warn of what was left out."""
        if rules.new_states == "missing":
            warn_unseen(self.unknown)
        if self.n_left_out:
            some = f"{self.n_left_out} of {counted(self.n_rows, 'row')}"
            were = "was" if self.n_left_out == 1 else "were"
            hint = "Holes cannot be filled there; tables without zeros have no such rows."
            warn_user(f"{some} cannot occur in the network and {were} left out. {hint}", ZeroProbabilityWarning)


def _raised(cpt: ConditionalTable, counts: Counts, rules: Rules, n_rows: int) -> ConditionalTable:
    name = cpt.variable.name
    return cpt if name in rules.fixed else raised(cpt, counts, rules.fading[name] ** n_rows, rules.ess_of(name))


def _raised_at(cpt: CPT, place: tuple[int, ...], rules: Rules, weight: float) -> CPT:
    name = cpt.variable.name
    return cpt if name in rules.fixed else raised_at(cpt, place, weight, rules.fading[name])


@contextmanager
def _no_overflow() -> Iterator[None]:
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        hint = "Divide the weights, and ess, by a constant."
        raise DataError(
            f"counts must stay below {np.finfo(float).max:.1e}; with these rows they do not. {hint}"
        ) from None


def _joined(old: Mapping[str, tuple[State, ...]], new: Mapping[str, tuple[State, ...]], name: str) -> tuple[State, ...]:
    return tuple(dict.fromkeys((*old.get(name, ()), *new.get(name, ()))))
