"""All conjunctions, weighed: brute-force MAP learning of a concept when labels may be wrong.

A version space has no room for error: one wrong label and nothing is left. If each label is wrong with probability ε,
independently of the others, a hypothesis that agrees with k of n labels has

    P(D | h) = (1 − ε)^k ε^(n − k),

and every hypothesis keeps some probability. The space of conjunctions is then a :class:`tunbridge.HypothesisSpace` like
any other. With ε = 0 its posterior is 1 / |VS| on the version space.

Rows that are alike are looked at once. Which of all conjunctions cover a row is an outer product over the attributes:
of what may be demanded of each, its value in the row is met, and so is nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tunbridge._check import counted
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.reasoning.concepts.concept_evidence import cells_of
from tunbridge.reasoning.concepts.concept_rows import ConceptRows, read_rows
from tunbridge.reasoning.concepts.conjunctions import Conjunction, all_conjunctions, count_conjunctions
from tunbridge.reasoning.concepts.row_sets import row_keys
from tunbridge.reasoning.hypotheses import HypothesisSpace
from tunbridge.reasoning.numbers import Number, as_float, as_probability, complement
from tunbridge.reasoning.weights import MOST_BITS

MOST_HYPOTHESES = 50_000
"""The largest space that is gone through hypothesis by hypothesis."""

MOST_LOOKS = 4_000_000
"""How often a hypothesis may be held against a row."""


def concept_space(
    X: Any,
    y: Any = None,
    *,
    noise: Any = 0,
    prior: Any = None,
    positive: Any = None,
    states: Mapping[str, Iterable[State]] | None = None,
) -> HypothesisSpace:
    """Return the space of all conjunctions after rows whose labels may be wrong.

    Parameters
    ----------
    X, y
        As in :meth:`tunbridge.VersionSpace.fit`.
    noise : number
        The probability that a label is wrong, below 1/2. With 0 the answers are those of the version space.
    prior : None, mapping of Conjunction to probability, or sequence
        P(h); ``None`` makes all alike. A sequence is in the order of :func:`tunbridge.reasoning.all_conjunctions`.
    positive, states
        As in :class:`tunbridge.VersionSpace`.

    Returns
    -------
    HypothesisSpace
        Its hypotheses are conjunctions, its observations pairs of the cells of a row and its label, and its cases
        cells, or mappings of attribute to value. What it predicts is whether a case is in the concept, not the label
        that it would be given.

    Notes
    -----
    Every conjunction is held against every different row. There may be 50 000 conjunctions at most, and 4 000 000 such
    looks, whatever the number of rows that are alike; a million of them take about a second, without noise about four.

    Examples
    --------
    Fourteen days of tennis are no conjunction of the weather. With one label in five wrong the best one is:

    >>> import tunbridge as tb
    >>> space = tb.reasoning.concept_space(tb.datasets.play_tennis(), "play", noise="1/5")
    >>> len(space), space.map
    (145, ⟨?, ?, Normal, ?⟩)
    """
    wrong = as_probability("noise", noise)
    if wrong >= Fraction(1, 2):
        raise DataError(f"noise must be below 1/2, the share at which labels say nothing; got {noise!r}.")
    rows, target, _ = read_rows(X, y, None, positive=positive, states=states)
    first, kinds = _different(rows)
    n_hypotheses = _checked_size(rows.variables, len(first))
    cells = [cells_of(rows.variables, rows.codes(i)) for i in first.tolist()]
    coverage = {case: _covered(rows.variables, rows.codes(i)) for case, i in zip(cells, first.tolist(), strict=True)}
    labels = {True: target.positive, False: target.negative}
    right, wrong = _chances(wrong, n_hypotheses * len(first))

    def likelihood(h: tuple[int, Conjunction], seen: tuple[Any, State]) -> Any:
        known = coverage.get(seen[0]) if isinstance(seen[0], tuple) else None
        covers = h[1].covers(seen[0]) if known is None else known[h[0]] == 1
        return right if labels[covers] == seen[1] else wrong

    def predict(h: tuple[int, Conjunction], case: Any) -> State:
        return labels[h[1].covers(case)]

    hypotheses = {h: (place, h) for place, h in enumerate(all_conjunctions(rows.variables))}
    space = HypothesisSpace(hypotheses, prior, likelihood=likelihood, predict=predict)
    return space.update([(cells[k], labels[p]) for k, p in zip(kinds.tolist(), rows.positive.tolist(), strict=True)])


def _different(rows: ConceptRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of the first row of each kind, labels aside, and of which kind each row is."""
    keys, _ = row_keys(rows.columns, [v.n_states for v in rows.variables], len(rows.positive))
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    return first, kinds


def _checked_size(variables: tuple[Variable, ...], n_different: int) -> int:
    """Return how many conjunctions there are; raise where they are too many to go through."""
    n_hypotheses = count_conjunctions(variables)
    if n_hypotheses > MOST_HYPOTHESES or n_hypotheses * n_different > MOST_LOOKS:
        raise DataError(
            f"the space must be small enough to go through: at most {counted(MOST_HYPOTHESES, 'conjunction')}, and "
            f"{counted(MOST_LOOKS, 'pair')} of a conjunction and a different row; got "
            f"{counted(n_hypotheses, 'conjunction')} and {counted(n_different, 'different row')}. Leave attributes "
            "out, join rare states, or use VersionSpace, which lists nothing."
        )
    return n_hypotheses


def _covered(variables: tuple[Variable, ...], codes: np.ndarray) -> bytes:
    """Return 1 for each conjunction that covers a row and 0 for the others, in the order of all conjunctions."""
    covered = np.ones(1, bool)
    for variable, code in zip(variables, codes.tolist(), strict=True):
        demands = np.arange(variable.n_states + 1)  # the last demands nothing
        covered = np.logical_and.outer(covered, (demands == code) | (demands == variable.n_states)).ravel()
    return b"\0" + covered.tobytes()


def _chances(wrong: Number, looks: int) -> tuple[Number, Number]:
    """Return the probabilities of a right and a wrong label, as floats where exact weights would be given up anyway.

    A factor of a weight that is neither 0 nor 1 takes more than one bit.
    """
    right = complement(wrong)
    return (as_float(right), as_float(wrong)) if wrong and looks > MOST_BITS else (right, wrong)
