"""What each feature adds to log P(x, c), for any model: the features are told one after another.

    log P(x, c) = log P(c) + Σ_i [log P(x₁ … x_i, c) − log P(x₁ … x_{i−1}, c)]

What is not told yet is missing, so every term is what a feature says beside those told before it, and the terms add up
whatever the model is. In a model whose features depend on parents, with parents told before children, a term is
log P(x_i | parents, c).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tunbridge.classifiers.batch import Batch

if TYPE_CHECKING:
    from tunbridge.classifiers.base import Model


def conditional_terms(model: Model, batch: Batch, order: Sequence[int]) -> np.ndarray:
    """Return what each feature adds beside those before it in the order, (n_features, n_classes, n_rows).

    Features that are not in the order add nothing.
    """
    told = [_joint(model, batch.without(_rest(batch, order[:i]))) for i in range(len(order) + 1)]
    out = np.zeros((len(batch.variables), *told[0].shape))
    for i, feature in enumerate(order):
        same = told[i] == told[i + 1]  # −∞ and −∞ too
        out[feature] = np.where(same, 0.0, np.where(same, 0.0, told[i + 1]) - np.where(same, 0.0, told[i]))
    return out


def _rest(batch: Batch, told: Sequence[int]) -> list[int]:
    return [j for j in range(len(batch.variables)) if j not in set(told)]


def _joint(model: Model, batch: Batch) -> np.ndarray:
    return model.joint(batch, lambda joint: joint, 1).T
