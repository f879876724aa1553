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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import check_whole, counted, listed, warn_user
from tunbridge.counts import Counts
from tunbridge.data import State
from tunbridge.errors import UnseenStateWarning, ZeroProbabilityWarning
from tunbridge.network.arriving import iter_frames, read_batch
from tunbridge.network.growing import grown
from tunbridge.network.raising import raised
from tunbridge.network.rules import Rules, checked_rules
from tunbridge.network.tallying import Part, countable_rows, cut_into_parts, faded_weights, family_counts, score
from tunbridge.probability import ConditionalTable

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
        known = {v.name: v for v in batch.variables}
        tables = tuple(grown(cpt, known, is_fixed=cpt.variable.name in rules.fixed) for cpt in self.tables)
        unknown = {name: _joined(self.unknown, batch.unknown, name) for name in {**self.unknown, **batch.unknown}}
        tally = replace(self, tables=tables, unknown=unknown)
        simple = countable_rows(batch, tables)
        for part in cut_into_parts(batch, simple, batch_rows):
            tally = tally._counted(part, rules)
        return tally

    def _counted(self, part: Part, rules: Rules) -> Tally:
        plain = family_counts(part, self.tables, part.batch.weights, rules.n_jobs)
        scored = score(part, self.tables, plain, rules.n_jobs)
        counts = self._faded(part, rules, plain.counts)
        tables = tuple(
            cpt if cpt.variable.name in rules.fixed else raised(cpt, n, rules, part.batch.n_rows)
            for cpt, n in zip(self.tables, counts, strict=True)
        )
        return replace(
            self,
            tables=tables,
            n_rows=self.n_rows + part.batch.n_rows,
            n_incomplete=self.n_incomplete + int(np.count_nonzero(~part.simple)),
            n_impossible=self.n_impossible + scored.n_impossible,
            n_left_out=self.n_left_out + scored.n_left_out,
            weight=self.weight + scored.weight,
            log_likelihood=self.log_likelihood + scored.log_likelihood,
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
        if self.unknown and rules.new_states == "missing":
            told = "; ".join(f"{name}: {listed(states, most=3)}" for name, states in list(self.unknown.items())[:5])
            warn_user(f"states that the network does not know count as missing: {told}.", UnseenStateWarning)
        if self.n_left_out:
            some = f"{self.n_left_out} of {counted(self.n_rows, 'row')}"
            hint = "They have holes that cannot be filled; tables without zeros have no such rows."
            warn_user(f"{some} cannot occur in the network and were left out. {hint}", ZeroProbabilityWarning)


def _joined(old: Mapping[str, tuple[State, ...]], new: Mapping[str, tuple[State, ...]], name: str) -> tuple[State, ...]:
    return tuple(dict.fromkeys((*old.get(name, ()), *new.get(name, ()))))
