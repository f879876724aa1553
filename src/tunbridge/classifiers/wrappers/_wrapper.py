"""Base class of classifiers around another one: what they take from the classifier inside."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np

from tunbridge._core.check import check_fitted, shortened
from tunbridge._core.threads import at_once
from tunbridge.classifiers._estimator import unfitted_copy
from tunbridge.classifiers._rows import Categorical, Labels, Reader, Rows, TextColumns
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Compared
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
from tunbridge.data import Variable
from tunbridge.decisions.importance import Importance
from tunbridge.errors import DataError


@dataclass(frozen=True, eq=False)
class Wrapped(metaclass=ABCMeta):
    """What a classifier around another one keeps: the inner classifier, fitted; subclasses add to it."""

    fitted: BayesClassifier

    @property
    def target(self) -> Variable:
        """The class variable."""
        target: Variable = self.fitted.statistics_.target
        return target

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""
        return np.asarray(self.fitted.class_count_)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features."""
        return self.fitted.variables_

    def merge(self, other: Self) -> NoReturn:
        """Raise: all rows are needed at once."""
        raise DataError("the classifier must be learned from all rows at once; got further ones. Use fit.")

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a file."""


W = TypeVar("W", bound=Wrapped)


class WrapperClassifier(BayesClassifier[W]):
    """A classifier around another one, its parameter ``estimator``; naive Bayes where that is None."""

    estimator: BayesClassifier | None
    can_continue = False
    default_settings: ClassVar[dict[str, Any]] = {}  # of naive Bayes

    @property
    def estimator_(self) -> BayesClassifier:
        """The classifier inside, fitted."""
        return self.statistics_.fitted

    def unfitted(self) -> BayesClassifier:
        """Return a new copy of the estimator."""
        default = NaiveBayesClassifier(**self.default_settings)
        copy: BayesClassifier = default if self.estimator is None else unfitted_copy(self.estimator)
        return copy.set_params(n_jobs=self.n_jobs)

    def check_estimator(self, hint: str = "") -> BayesClassifier:
        """Return a new copy of the estimator; raise unless it is a classifier of Tunbridge with valid parameters."""
        if self.estimator is not None and not isinstance(self.estimator, BayesClassifier):
            if isinstance(self.estimator, type):
                hint = f"Make one: {self.estimator.__name__}()."
            message = f"estimator must be a classifier of Tunbridge; got {shortened(repr(self.estimator))}. {hint}"
            raise DataError(message.rstrip(), parameter="estimator")
        inner = self.unfitted()
        inner.check_parameters()
        return inner

    def reader(self) -> Reader:
        """Return how the estimator reads X."""
        return self.unfitted().reader()

    def categorical_columns(self) -> Categorical:
        """Return which columns the estimator takes as categorical."""
        return self.unfitted().categorical_columns()

    @property
    def needs_columns(self) -> bool:  # type: ignore[override]
        """Whether the estimator must have a column beside those of free text."""
        return self.unfitted().needs_columns

    def text_setting(self) -> TextColumns:
        """Return which columns the estimator takes as text."""
        return self.unfitted().text_setting()

    def encode_classes(self, y: Labels, classes: Labels, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
        """Return the class variable and the code of each row."""
        return self.unfitted().encode_classes(y, classes, name, n_rows)

    def log_prior(self, statistics: W) -> np.ndarray:
        """Return log P(c) of the estimator."""
        return statistics.fitted.class_log_prior_

    def reasons(self, rows: Rows, compared: list[Compared]) -> list[Any]:
        """Return why each row has one class rather than another, as the estimator explains it."""
        return self.estimator_.reasons(rows, compared)

    @at_once
    def importance(self, method: str = "information") -> Importance:
        """Return what each feature tells about the class: :meth:`importance` of the estimator inside."""
        check_fitted(self)
        return self.estimator_.importance(method)

    def adopt(self, statistics: W, target_name: str | None) -> Self:
        """Take the statistics; the estimator inside gets the names of the columns."""
        if type(statistics.fitted) is not type(self.unfitted()):
            raise ValueError("its estimator is of another kind than its parameter")
        super().adopt(statistics, target_name)
        statistics.fitted.target_name_ = target_name
        if hasattr(self, "feature_names_in_"):
            statistics.fitted.feature_names_in_ = self.feature_names_in_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.unfitted().__sklearn_tags__().input_tags
        return tags
