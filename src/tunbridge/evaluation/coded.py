"""scikit-learn's estimators on tables of text, numbers and missing cells, so that they can be compared with ours.

Most estimators of other makes take a matrix of numbers. :class:`Coded` gives them one: numbers as they are, and each
categorical column either as one column of zeros and ones a state (*one-hot*), or as one column of codes (*ordinal*). A
missing cell is NaN in a number and in a code, and a zero in every column of a one-hot state. So is a state that was not
there at learning.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tunbridge._check import check_choice, check_number
from tunbridge._memory import check_memory
from tunbridge.classifiers.rows.batch import Batch, known_batch, learn_batch
from tunbridge.classifiers.rows.target import encode_target, split_target
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError

CODES = ("one-hot", "ordinal")
_MOST_CATEGORIES = 255  # of a column that gradient boosting takes for categorical


class Coded(ClassifierMixin, BaseEstimator):
    """An estimator of another make, with rows of any make: frames, tables, text, missing cells.

    Parameters
    ----------
    estimator : scikit-learn classifier
        What learns from the matrix. Unless it takes NaN, the numbers must be complete.
    codes : {"one-hot", "ordinal"}
        What becomes of a categorical column. With "ordinal" an estimator that has ``categorical_features`` is told
        which columns are categories.
    class_share : float
        A share of the probability that goes to the frequencies of the classes. Above 0 no class is held impossible, as
        a forest does whose trees all agree; the log-loss of such a one would be infinite.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`tunbridge.NaiveBayesClassifier`.

    Attributes
    ----------
    classes_, class_count_, variables_, n_features_in_, feature_names_in_
        As in :class:`tunbridge.NaiveBayesClassifier`.
    estimator_ : scikit-learn classifier
        The fitted estimator, which knows the classes as whole numbers.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = Coded(DecisionTreeClassifier(random_state=0)).fit(tb.datasets.play_tennis(), "play")
    >>> tree.predict({"outlook": ["Overcast"], "temperature": ["Hot"], "humidity": ["High"], "wind": ["Weak"]}).tolist()
    ['yes']
    """

    def __init__(
        self, estimator: Any, *, codes: str = "one-hot", class_share: float = 0.0, categorical: Any = None
    ) -> None:
        self.estimator = estimator
        self.codes = codes
        self.class_share = class_share
        self.categorical = categorical

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : frame, dict of columns, Table, or array-like of shape (n_rows, n_features)
            The features; cells may be missing.
        y : array-like of shape (n_rows,), or str
            The classes, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_rows,), optional
            A weight for each row; the weights of a Table are used otherwise.
        """
        check_choice("codes", self.codes, CODES)
        check_number("class_share", self.class_share, low=0, high=1)
        X, y, sample_weight, name = split_target(X, y, sample_weight, None)
        batch = learn_batch(self, X, categorical=self.categorical, known=None, n_jobs=None)
        target, classes = encode_target(y, None, name or "class", batch.n_rows)
        weights = None if sample_weight is None else check_weights(np.asarray(sample_weight), batch.n_rows)
        self.target_name_, self.variables_ = name, batch.variables
        self.classes_ = np.array(target.states)
        self.class_count_ = np.bincount(classes, weights, len(self.classes_)).astype(np.float64)
        self.estimator_ = self._told(clone(self.estimator), batch)
        self.estimator_.fit(self._matrix(batch), classes, **weight_arguments(self.estimator_, weights))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(c | x) for each row and class, in the order of ``classes_``."""
        check_is_fitted(self)
        X = split_target(X, None, None, self.target_name_, required=False)[0] if self.target_name_ else X
        found = self.estimator_.predict_proba(self._matrix(known_batch(self, X, self.variables_, None)))
        full = np.zeros((len(found), len(self.classes_)))
        full[:, self.estimator_.classes_] = found
        frequencies = self.class_count_ / self.class_count_.sum()
        return (1 - self.class_share) * full + self.class_share * frequencies

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row (the first of equals)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _told(self, estimator: Any, batch: Batch) -> Any:
        """Return the estimator, told which columns of the matrix are categories where it wants to know."""
        if self.codes == "ordinal" and "categorical_features" in estimator.get_params():
            mask = [v.is_categorical and v.n_states <= _MOST_CATEGORIES for v in batch.variables]
            estimator.set_params(categorical_features=mask)
        return estimator

    def _matrix(self, batch: Batch) -> np.ndarray:
        """Return the rows as a matrix of numbers."""
        one_hot = self.codes == "one-hot"
        widths = [v.n_states if one_hot and v.is_categorical else 1 for v in batch.variables]
        size = batch.n_rows * sum(widths) * 8.0
        check_memory("the matrix for scikit-learn", size, ways_out="Use codes='ordinal', fewer rows or fewer columns.")
        out = np.zeros((batch.n_rows, sum(widths)))
        for j, stop in enumerate(np.cumsum(widths).tolist()):
            if not batch.variables[j].is_categorical:
                out[:, stop - 1] = batch.number_column(batch.numeric[j])
            elif one_hot:
                _fill_one_hot(batch.codes[j], out[:, stop - widths[j] : stop])
            else:
                out[:, stop - 1] = np.where(batch.codes[j] < 0, np.nan, batch.codes[j])
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def weight_arguments(estimator: Any, weights: Any) -> dict[str, Any]:
    """Return the argument of ``fit`` by which an estimator, or the last one of a pipeline, takes weights.

    Raises
    ------
    DataError
        When there are weights and it takes none.
    """
    if weights is None:
        return {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weights}
    if hasattr(estimator, "steps") and has_fit_parameter(estimator.steps[-1][1], "sample_weight"):
        return {f"{estimator.steps[-1][0]}__sample_weight": weights}
    raise DataError(
        f"a model must take weights where rows have them; {type(estimator).__name__} takes none. Leave it out, or the "
        "weights."
    )


def _fill_one_hot(codes: np.ndarray, out: np.ndarray) -> None:
    known = np.flatnonzero(codes >= 0)
    out[known, codes[known]] = 1.0
