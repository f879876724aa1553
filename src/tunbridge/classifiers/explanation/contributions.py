"""Explanations: what each feature adds to log P(x, c), for any model, as the features are added one after another.

    log P(x, c) = log P(c) + Σ_i [log P(x₁ … x_i, c) − log P(x₁ … x_{i−1}, c)]

A feature that has not been added yet is missing, so every term is what a feature adds given those before it,
log P(x_i | x₁ … x_{i−1}, c), and the terms add up whatever the model is. In a model whose features depend on parents,
with parents before children, a term is log P(x_i | parents, c). Where a parent is missing, others take its place: the
features before x_i that are linked with it through missing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.threads import row_pieces
from tunbridge.classifiers._reading import seen_values, value_of
from tunbridge.classifiers._statistics import parents_first
from tunbridge.data import Table, Variable
from tunbridge.decisions import Explanation, explanation
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier

Given = list[tuple[int, ...]]
"""For each feature the features that its term is conditional on."""

_CELLS_AT_ONCE = 4_000_000


def explanations(
    classifier: BayesClassifier, rows: Table, compared: Sequence[tuple[int, int]], probabilities: np.ndarray
) -> list[Explanation]:
    """Return why each row has one class rather than another: the weight of evidence of every feature."""
    model, prior = classifier.model_, classifier.class_log_prior_
    terms, given = model.terms(rows), conditions(model, rows)
    classes, names = classifier.classes_.tolist(), [v.name for v in rows.variables]
    return [
        explanation(
            classes[c],
            classes[d],
            prior=difference(prior[c], prior[d]),
            names=names,
            values=[value_of(rows, j, row) for j in range(len(names))],
            weights=[difference(t[c, row], t[d, row]) for t in terms],
            probabilities=dict(zip(classes, probabilities[row].tolist(), strict=True)),
            given=None if given is None else [[names[u] for u in each] for each in given[row]],
        )
        for row, (c, d) in enumerate(compared)
    ]


def compared_classes(target: Variable, probabilities: np.ndarray, label: Any, against: Any) -> tuple[int, int]:
    """Return the positions of the class to explain and of the one to compare it with.

    By default these are the most probable class and the most probable of the others.
    """
    if len(probabilities) < 2:
        raise DataError(f"an explanation must compare two classes; the model knows only {(target.states or ())[0]!r}.")
    ranked = np.argsort(-probabilities, kind="stable").tolist()
    other = None if against is None else target.code(against)
    c = target.code(label) if label is not None else next(k for k in ranked if k != other)
    d = other if other is not None else next(k for k in ranked if k != c)
    if c == d:
        raise DataError(f"an explanation must compare two different classes; got {label!r} against {against!r}.")
    return c, d


def difference(a: float, b: float) -> float:
    """Return a − b, 0 where both are −∞ (a value that neither class can have says nothing between them)."""
    return 0.0 if a == b else float(a - b)


def conditional_terms(model: Any, rows: Table, order: Sequence[int]) -> np.ndarray:
    """Return what each feature adds given those before it in the order, (n_features, n_classes, n_rows).

    Features that are not in the order add nothing. A model that has an ``encoding`` and ``log_joint(codes)`` is asked
    in codes, because there a missing value may be a state, which differs from a feature that was not added. Any other
    model is asked with the features missing that were not added.
    """
    encoding = getattr(model, "encoding", None)
    if encoding is None or not hasattr(model, "log_joint"):
        return terms_in_order(seen_values(rows), order, lambda which, known: _joint_of_rows(model, rows, which, known))
    codes = encoding.codes(rows)

    def joint(which: np.ndarray, known: np.ndarray) -> np.ndarray:
        return np.asarray(model.log_joint(np.where(known, codes[:, which], np.int32(-1))))

    return terms_in_order(codes >= 0, order, joint)


def terms_in_order(
    seen: np.ndarray, order: Sequence[int], joint: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the terms; ``joint(rows, known)`` gives log P(x, c) of rows of which some features are known.

    A missing value changes nothing when its turn comes, so each row is asked for once with nothing known, and once more
    for each value that it has: all of them in one stack.
    """
    turns = np.asarray(order, np.intp)
    place = np.full(len(seen), len(turns), np.intp)
    place[turns] = np.arange(len(turns))
    rows, known = np.nonzero(np.concatenate([np.ones((seen.shape[1], 1), np.bool_), seen[turns].T], axis=1))
    size = max(1, _CELLS_AT_ONCE // max(1, len(seen)))
    found = np.concatenate(
        [joint(rows[a:b], place[:, None] < known[None, a:b]) for a, b in row_pieces(len(rows), size)]
    )
    out = np.zeros((len(seen), found.shape[1], seen.shape[1]))
    later = np.flatnonzero(known)
    out[turns[known[later] - 1], :, rows[later]] = difference_of(found[later], found[later - 1])
    return out


def difference_of(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return now − before, 0 where both are −∞."""
    same = now == before
    return np.where(same, 0.0, np.where(same, 0.0, now) - np.where(same, 0.0, before))


def _joint_of_rows(model: Any, rows: Table, which: np.ndarray, known: np.ndarray) -> np.ndarray:
    some = rows.take(which)
    return np.asarray(model.joint(hidden(some, ~known), lambda joint: joint, 1))


def hidden(rows: Table, where: np.ndarray) -> Table:
    """Return rows with the values missing that a mask names, (n_features, n_rows)."""
    columns = []
    for column, gone in zip(rows, where, strict=True):
        missing = -1 if column.variable.is_categorical else np.nan
        values = np.where(gone, missing, column.values)
        if column.variable.is_categorical:
            values = values.astype(column.values.dtype)
        columns.append(column._replace(values=values))
    return Table.of_valid(columns, rows)


def conditions(model: Any, rows: Table) -> list[Given] | None:
    """Return for each row what the term of each feature is conditional on; None when terms are independent.

    A model that has a structure, ``parents``, is explained by it; one that is explained in some other way may have a
    method ``conditions(rows)``.
    """
    if hasattr(model, "conditions"):
        return list(model.conditions(rows))
    structure = getattr(model, "parents", None)
    if structure is None or not any(structure):
        return None
    encoding = getattr(model, "encoding", None)
    seen = seen_values(rows) if encoding is None else encoding.codes(rows) >= 0
    known: dict[bytes, Given] = {}
    keys = [column.tobytes() for column in seen.T]
    for key, column in zip(keys, seen.T, strict=True):
        if key not in known:
            known[key] = _row_conditions(structure, column)
    return [known[key] for key in keys]


def given_before(seen: np.ndarray, order: Sequence[int]) -> Given:
    """Return for each feature of a row the features before it in an order that are not missing."""
    before = [j for j in order if seen[j]]
    out: Given = [()] * len(seen)
    for i, j in enumerate(before):
        out[j] = tuple(before[:i])
    return out


def _row_conditions(structure: Sequence[Sequence[int] | None], seen: np.ndarray) -> Given:
    """Return the parents of each feature that is seen; where one is missing, what takes its place."""
    order = parents_first(structure)
    out: Given = [()] * len(structure)
    for i, j in enumerate(order):
        parents = tuple(structure[j] or ())
        if seen[j]:
            before = {u for u in order[:i] if seen[u]}
            out[j] = parents if before.issuperset(parents) else _linked(structure, j, before)
    return out


def _linked(structure: Sequence[Sequence[int] | None], feature: int, known: set[int]) -> tuple[int, ...]:
    """Return the known features that a feature depends on: the ends of paths through features that are not known.

    The paths are those of the moral graph over the feature, the known ones and their ancestors (Lauritzen et al. 1990).
    """
    ancestors, todo = set(), [feature, *known]
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
            if v not in known:
                todo.append(v)
    parents = [u for u in structure[feature] or () if u in known]
    return (*parents, *sorted((reached & known) - set(parents)))
