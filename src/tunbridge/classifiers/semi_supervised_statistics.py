"""What a semi-supervised classifier keeps: the classifier inside, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge.classifiers.base import BayesClassifier
from tunbridge.data import Variable
from tunbridge.errors import DataError


@dataclass(frozen=True, eq=False)
class SemiSupervisedStatistics:
    """A classifier that was learned from rows with and without a class.

    Parameters
    ----------
    fitted : BayesClassifier
        The classifier.
    unlabelled_weight : float
        λ, the weight of a row without a class.
    trace : tuple of float
        The objective at the start and after each iteration.
    losses : mapping of float to float
        The log-loss of held-out rows for each λ, where one was to be chosen.
    """

    fitted: BayesClassifier
    unlabelled_weight: float
    trace: tuple[float, ...]
    losses: Mapping[float, float]

    @property
    def target(self) -> Variable:
        """The class variable."""
        target: Variable = self.fitted.statistics_.target
        return target

    @property
    def class_weight(self) -> np.ndarray:
        """The weight of the rows of each class, with those expected to have it."""
        return np.asarray(self.fitted.class_count_)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features."""
        return self.fitted.variables_

    def merge(self, other: Any) -> Any:
        """Raise: the rows without a class are not kept, and would have to be looked at again."""
        raise DataError("a semi-supervised classifier must be learned from all rows at once; got further ones.")
