"""The model of a class, features that depend on it, and dependences between features.

    P(x, c) = P(c) Π_f P(x_f | parents of f, c)

A row in which every parent of a value that is seen is seen itself takes one look into a table for each feature. In the
others something has to be summed out: they are answered exactly by the network that the tables are
(:mod:`tunbridge.inference`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.dependence.family_statistics import FamilyStatistics, Structure, check_acyclic
from tunbridge.classifiers.explanation.contributions import conditional_terms
from tunbridge.classifiers.posteriors import Finish
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import Coding
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.data import Variable
from tunbridge.inference import Engine, batches
from tunbridge.learning.backoff import BackOff
from tunbridge.learning.priors import as_prior
from tunbridge.learning.tables import tables_of
from tunbridge.probability import CPT, ConditionalTable

_PIECE_ROWS = 8192

HIERARCHICAL = "hierarchical"


class _Flat(NamedTuple):
    """The tables end to end, as the kernel takes them."""

    members: np.ndarray
    strides: np.ndarray
    start: np.ndarray
    first: np.ndarray
    tables: np.ndarray


@dataclass(frozen=True, eq=False)
class FamilyModel:
    """A class, and features that depend on it and on each other.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    target : Variable
        The class, under a name that no feature has.
    coding : Coding
        How features become codes.
    parents : tuple
        The structure; see :class:`FamilyStatistics`.
    cpts : mapping of int to CPT
        P(x | class, parents) of each feature that is used.
    weights : ndarray of shape (n_features,), optional
        Exponents of the factors, where no feature has parents; 1 by default.
    """

    log_prior: np.ndarray
    target: Variable
    coding: Coding
    parents: Structure
    cpts: Mapping[int, CPT]
    weights: np.ndarray | None = None

    def joint(self, batch: Batch, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); what is missing is summed out."""
        out = np.empty((batch.n_rows, len(self.log_prior)))

        def fill(rows: tuple[int, int]) -> None:
            codes = self.coding.codes(batch.rows(*rows))
            out[rows[0] : rows[1]] = finish(self.log_joint(codes).T).T

        map_threads(fill, row_pieces(batch.n_rows, _PIECE_ROWS), n_jobs)
        return out

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        out = np.repeat(self.log_prior[None], codes.shape[1], axis=0)
        hidden = np.zeros(codes.shape[1], np.bool_)
        add = _add_families if codes.size <= SMALL_CELLS else _kernel()
        add(codes, *self.flat, out, hidden)
        if hidden.any():
            out[hidden] = self._summed_out(codes[:, hidden])
        return out

    def terms(self, batch: Batch) -> np.ndarray:
        """Return what each feature adds to log P(x, c), parents before children, (n_features, n_classes, n_rows)."""
        codes = self.coding.codes(batch)
        out = np.zeros((len(codes), len(self.log_prior), batch.n_rows))
        hidden = np.zeros(batch.n_rows, np.bool_)
        for f, j in enumerate(self.cpts):
            start, stop = self.flat.start[f : f + 2]
            family = self.flat._replace(
                members=self.flat.members[start:stop],
                strides=self.flat.strides[start:stop],
                start=np.array([0, stop - start]),
                first=self.flat.first[f : f + 1],
            )
            found = np.zeros((batch.n_rows, len(self.log_prior)))
            _add_families(codes, *family, found, hidden)
            out[j] = found.T
        if hidden.any():
            out[..., hidden] = conditional_terms(self, batch.take(hidden), check_acyclic(self.parents))
        return out

    @cached_property
    def flat(self) -> _Flat:
        """The logarithms of all tables, the class as the last axis, and where the cells of each are."""
        members, strides, start, first, tables = [], [], [0], [0], []
        for j, cpt in self.cpts.items():
            n_states = cpt.probabilities.shape[1:]
            steps = np.cumprod([1, *n_states[::-1]])[-2::-1].tolist()
            members += [j, *(self.parents[j] or ())]
            strides += [steps[-1], *steps[:-1]]
            start.append(len(members))
            with np.errstate(divide="ignore"):
                logs = np.log(np.moveaxis(cpt.probabilities, 0, -1).reshape(-1, len(self.log_prior)))
            tables.append(logs if self.weights is None else self.weights[j] * logs)
            first.append(first[-1] + len(logs))
        whole = np.concatenate(tables) if tables else np.empty((0, len(self.log_prior)))
        numbers = (np.array(a, np.int64) for a in (members, strides, start, first[:-1]))
        return _Flat(*numbers, np.ascontiguousarray(whole))  # type: ignore[call-arg]

    @cached_property
    def tables(self) -> tuple[ConditionalTable, ...]:
        """The tables of the network: the class's first, then those of the features that are used."""
        prior = np.exp(self.log_prior)
        return (CPT(self.target, [], prior / prior.sum()), *self.cpts.values())

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self.tables)

    def _summed_out(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) of rows with parents that are not seen: P(x) P(c | x), answered by the network."""
        used = list(self.cpts)
        rows = np.concatenate([np.full((1, codes.shape[1]), -1, codes.dtype), codes[used]])
        found = batches.answer(self._engine, rows, [0], n_jobs=1)
        with np.errstate(divide="ignore"):
            joint = found.log_evidence[:, None] + np.log(np.nan_to_num(found.marginals))
        return np.where(np.isneginf(found.log_evidence)[:, None], -np.inf, joint)


def family_model(
    statistics: FamilyStatistics, log_prior: np.ndarray, smoothing: Any, weights: np.ndarray | None = None
) -> FamilyModel:
    """Return the model whose tables are estimated from counts."""
    cpts = tables_of(list(statistics.counts.values()), as_table_prior(smoothing))
    return FamilyModel(
        log_prior,
        statistics.coding.class_variable(statistics.target),
        statistics.coding,
        statistics.parents,
        dict(zip(statistics.counts, cpts, strict=True)),  # type: ignore[arg-type]
        weights,
    )


def as_table_prior(smoothing: Any) -> Any:
    """Return the rule for class-conditional tables.

    ``"hierarchical"`` backs off from (class, parents) over ever fewer parents to the class, and from the class to the
    feature by itself; else anything that is a prior for the tables of a network.
    """
    if isinstance(smoothing, str) and smoothing == HIERARCHICAL:
        return BackOff(drop="last")
    return as_prior(smoothing)


def _kernel() -> Any:
    from tunbridge.kernels.augmented import add_families

    return add_families


def _add_families(
    codes: np.ndarray,
    members: np.ndarray,
    strides: np.ndarray,
    start: np.ndarray,
    first: np.ndarray,
    tables: np.ndarray,
    out: np.ndarray,
    hidden: np.ndarray,
) -> None:
    """Do in NumPy what the kernel of this name does."""
    for f in range(len(first)):
        family = slice(start[f], start[f + 1])
        of_family = codes[members[family]]
        seen, child = (of_family >= 0).all(axis=0), of_family[0] >= 0
        hidden |= child & ~seen
        cells = first[f] + strides[family] @ of_family[:, seen]
        out[seen] += tables[cells]
