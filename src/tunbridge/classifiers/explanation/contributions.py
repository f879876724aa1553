"""What each feature adds to log P(x, c), for any model: the features are told one after another.

    log P(x, c) = log P(c) + Σ_i [log P(x₁ … x_i, c) − log P(x₁ … x_{i−1}, c)]

What is not told yet is missing, so every term is what a feature says beside those told before it, log P(x_i | x₁ …
x_{i−1}, c), and the terms add up whatever the model is. In a model whose features depend on parents, with parents told
before children, a term is log P(x_i | parents, c). Where a parent is missing, others stand in for it: what was told of
the features that are linked with x_i through features that are not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._threads import row_pieces
from tunbridge.classifiers.rows.batch import Batch

if TYPE_CHECKING:
    from tunbridge.classifiers.base import Model

Given = list[tuple[int, ...]]
"""For each feature the features that its term is conditional on."""

_CELLS_AT_ONCE = 4_000_000


def conditional_terms(model: Model, batch: Batch, order: Sequence[int]) -> np.ndarray:
    """Return what each feature adds beside those before it in the order, (n_features, n_classes, n_rows).

    Features that are not in the order add nothing. A model that has a ``coding`` and ``log_joint(codes)`` is asked in
    codes, because there a missing cell may be a state: not to be told is something else. Any other model is asked with
    the cells that are not told missing.
    """
    coding = getattr(model, "coding", None)
    if coding is None or not hasattr(model, "log_joint"):
        return terms_in_order(seen_cells(batch), order, lambda rows, told: _joint_of_rows(model, batch, rows, told))
    codes = coding.codes(batch)

    def joint(rows: np.ndarray, told: np.ndarray) -> np.ndarray:
        return np.asarray(model.log_joint(np.where(told, codes[:, rows], np.int32(-1))))

    return terms_in_order(codes >= 0, order, joint)


def seen_cells(batch: Batch) -> np.ndarray:
    """Return which cells are not missing, (n_features, n_rows)."""
    out = np.empty((len(batch.variables), batch.n_rows), np.bool_)
    for j, codes in batch.codes.items():
        out[j] = codes >= 0
    for j, i in batch.numeric.items():
        out[j] = ~np.isnan(batch.number_column(i))
    return out


def terms_in_order(
    seen: np.ndarray, order: Sequence[int], joint: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the terms; ``joint(rows, told)`` gives log P(x, c) of rows of which some features are told.

    A missing cell changes nothing when its turn comes, so the rows asked for are one with nothing told, and one more
    for each cell that is seen: all of them in one stack.
    """
    turns = np.asarray(order, np.intp)
    place = np.full(len(seen), len(turns), np.intp)
    place[turns] = np.arange(len(turns))
    rows, told = np.nonzero(np.concatenate([np.ones((seen.shape[1], 1), np.bool_), seen[turns].T], axis=1))
    size = max(1, _CELLS_AT_ONCE // max(1, len(seen)))
    found = np.concatenate([joint(rows[a:b], place[:, None] < told[None, a:b]) for a, b in row_pieces(len(rows), size)])
    out = np.zeros((len(seen), found.shape[1], seen.shape[1]))
    later = np.flatnonzero(told)
    out[turns[told[later] - 1], :, rows[later]] = _differences(found[later], found[later - 1])
    return out


def _differences(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return now − before, 0 where both are −∞: what has been excluded stays so."""
    same = now == before
    return np.where(same, 0.0, np.where(same, 0.0, now) - np.where(same, 0.0, before))


def _joint_of_rows(model: Model, batch: Batch, rows: np.ndarray, told: np.ndarray) -> np.ndarray:
    some = batch.take(rows)
    codes = {j: np.where(told[j], c, -1).astype(c.dtype) for j, c in some.codes.items()}
    numbers = [np.where(told[j], some.number_column(i), np.nan) for j, i in some.numeric.items()]
    return model.joint(Batch(some.variables, codes, numbers, some.n_rows), lambda joint: joint, 1)


def conditions(model: Any, batch: Batch) -> list[Given] | None:
    """Return for each row what the term of each feature is conditional on; None when each stands by itself.

    A model that has a structure, ``parents``, is explained by it; one that is explained in some other way may say so
    by a method ``conditions(batch)``.
    """
    if hasattr(model, "conditions"):
        return list(model.conditions(batch))
    structure = getattr(model, "parents", None)
    if structure is None or not any(structure):
        return None
    coding = getattr(model, "coding", None)
    seen = seen_cells(batch) if coding is None else coding.codes(batch) >= 0
    known: dict[bytes, Given] = {}
    keys = [column.tobytes() for column in seen.T]
    for key, column in zip(keys, seen.T, strict=True):
        if key not in known:
            known[key] = _row_conditions(structure, column)
    return [known[key] for key in keys]


def _row_conditions(structure: Sequence[Sequence[int] | None], seen: np.ndarray) -> Given:
    """Return the parents of each feature that is seen; where one is missing, what stands in for it."""
    order = _parents_first(structure)
    out: Given = [()] * len(structure)
    for i, j in enumerate(order):
        parents = tuple(structure[j] or ())
        if seen[j]:
            before = {u for u in order[:i] if seen[u]}
            out[j] = parents if before.issuperset(parents) else _linked(structure, j, before)
    return out


def _parents_first(structure: Sequence[Sequence[int] | None]) -> list[int]:
    left = {j: set(p) for j, p in enumerate(structure) if p is not None}
    order: list[int] = []
    while left:
        free = [j for j, p in left.items() if p.issubset(order)]
        order += free
        left = {j: p for j, p in left.items() if j not in free}
    return order


def _linked(structure: Sequence[Sequence[int] | None], feature: int, told: set[int]) -> tuple[int, ...]:
    """Return the told features that matter beside the others: the ends of paths through features that are not told.

    The paths are those of the moral graph over the feature, the told ones and their ancestors (Lauritzen et al. 1990).
    """
    ancestors, todo = set(), [feature, *told]
    while todo:
        if (u := todo.pop()) not in ancestors:
            ancestors.add(u)
            todo += structure[u] or ()
    near: dict[int, set[int]] = {u: set() for u in ancestors}
    for u in ancestors:
        family = {u, *(structure[u] or ())}
        for v in family:
            near[v] |= family
    reached, todo = {feature}, [feature]
    while todo:
        for v in near[todo.pop()] - reached:
            reached.add(v)
            if v not in told:
                todo.append(v)
    parents = [u for u in structure[feature] or () if u in told]
    return (*parents, *sorted((reached & told) - set(parents)))
