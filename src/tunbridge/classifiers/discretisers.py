"""A scikit-learn transformer that discretizes numbers.

It wraps the functions of :mod:`tunbridge.data.discretisation`, so that a discretisation is learned inside each
fold of a cross-validation and its method is a parameter that a grid search can vary. On a whole table
:func:`tunbridge.data.discretisation.discretise` is the shorter way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from tunbridge._core.check import check_choice, check_fitted, counted, did_you_mean, listed
from tunbridge._core.memory import check_memory
from tunbridge.classifiers._classes import encode_target
from tunbridge.classifiers._reading import validated
from tunbridge.classifiers._rows import Frame, Labels, SampleWeight
from tunbridge.data.columns import Column, column_to_arrow, to_floats
from tunbridge.data.discretisation import METHODS, Cuts, Discretisation, Method, at_cuts, learn_cuts
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError

ENCODINGS = ("codes", "labels")


@dataclass(eq=False, repr=False)
class Discretiser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer from numbers to bins, column by column.

    Parameters
    ----------
    method : {"mdl", "frequency", "width"}, or sequence or mapping of bin edges
        "mdl" is the minimum-description-length discretisation of Fayyad and Irani, which needs the classes y; the two
        others look at X alone. Bin edges may be given: one list of them (or a ``Discretisation``) for each column, in
        order or by name (``x0``, ``x1``, … where the columns have no names).
    n_bins : int
        For "frequency" and "width": the maximum number of bins.
    encode : {"codes", "labels"}
        The output: the number of the bin, from 0, as a float with NaN for missing; or its label ("≤ 2.45") with None
        for missing. Classifiers that treat numbers as measurements need the labels.

    Attributes
    ----------
    discretisations_ : list of Discretisation
        One a column.
    cut_points_ : list of ndarray
        Their bin edges. A column without any is constant after the transformation.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        Their names, where X had text for names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> discretiser = Discretiser().fit(X, y)
    >>> discretiser.discretisations_[3].labels
    ('≤ 0.8', '0.8 – 1.75', '> 1.75')
    >>> discretiser.transform(X.iloc[[0, 149]])
    array([[0., 2., 0., 0.],
           [1., 1., 2., 2.]])
    """

    method: Method | Sequence[Cuts] | Mapping[str, Cuts] = "mdl"
    _: KW_ONLY
    n_bins: int = 10
    encode: Literal["codes", "labels"] = "codes"

    def fit(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> Discretiser:
        """Learn the bin edges of each column.

        Parameters
        ----------
        X : frame, Table, dict of columns, or array-like of shape (n_samples, n_features)
            Numbers; NaN is missing.
        y : array-like of shape (n_samples,), optional
            The classes, which "mdl" needs and the other methods ignore.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row.

        Returns
        -------
        Discretiser
            The fitted transformer itself.
        """
        check_choice("encode", self.encode, ENCODINGS)
        if self._by_class and y is None:
            raise DataError(
                "method 'mdl' must know the classes: it requires y to be passed, but the target y is None. "
                "Pass y, or use method='frequency'."
            )
        numbers = self._checked(X, reset=True)
        classes = encode_target(y, None, "class", len(numbers))[1] if self._by_class else None
        weights = None if sample_weight is None else check_weights(np.asarray(sample_weight), len(numbers))
        if weights is not None and not weights.any():
            raise DataError("some row must have a weight above zero; all sample weights are zero.")
        if isinstance(self.method, str):
            self.discretisations_ = [
                learn_cuts(column, self.method, classes=classes, weights=weights, n_bins=self.n_bins)
                for column in numbers.T
            ]
        else:
            self.discretisations_ = _given_cuts(self.method, list(self.get_feature_names_out()))
        self.cut_points_ = [np.array(each.cuts) for each in self.discretisations_]
        return self

    def transform(self, X: Frame) -> Any:
        """Return the interval of each value, as ``encode`` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN is missing. Values beyond those of the fit are in the first and the last interval.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or a frame where ``set_output`` asks for one
            Floats, or texts (dtype object).
        """
        check_fitted(self)
        numbers = self._checked(X, reset=False)
        what = f"the bins of {counted(len(numbers), 'row')} × {counted(numbers.shape[1], 'column')}"
        check_memory(what, 8.0 * numbers.size, ways_out="Pass the rows in parts.")
        out = np.empty(numbers.shape, object if self.encode == "labels" else np.float64)
        for j, discretisation in enumerate(self.discretisations_):
            out[:, j] = _encoded(discretisation, discretisation.codes(numbers[:, j]), self.encode)
        return out

    @property
    def _by_class(self) -> bool:
        return isinstance(self.method, str) and self.method == "mdl"

    def _checked(self, X: Frame, *, reset: bool) -> np.ndarray:
        data = validated(self, X, reset=reset)
        if not isinstance(data, np.ndarray):
            names = getattr(self, "feature_names_in_", list(data))
            columns = [column_to_arrow(c) if isinstance(c := data[name], Column) else c for name in names]
        else:
            names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(data.shape[1])])
            columns = list(data.T)
        return np.column_stack([to_floats(str(name), each) for name, each in zip(names, columns, strict=True)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True  # text that spells numbers is read
        tags.target_tags.required = self._by_class
        return tags


def _given_cuts(method: Sequence[Cuts] | Mapping[str, Cuts], names: list[str]) -> list[Discretisation]:
    """Return the discretisations that were given for the columns of these names."""
    if isinstance(method, Mapping):
        unknown = [name for name in method if name not in names]
        if unknown:
            raise DataError(f"method must name columns of X; got {unknown[0]!r}. {did_you_mean(unknown[0], names)}")
        absent = [name for name in names if name not in method]
        if absent:
            raise DataError(f"method must give bin edges for every column; it has none for {listed(absent)}.")
        method = [method[name] for name in names]
    if not isinstance(method, (Sequence, np.ndarray)):
        raise DataError(f"method must be one of {listed(METHODS)}, or bin edges for each column; got {method!r}.")
    if len(method) != len(names):
        raise DataError(f"method must give bin edges for each of {len(names)} columns; got {len(method)} lists.")
    return [at_cuts(cuts) for cuts in method]


def _encoded(discretisation: Discretisation, codes: np.ndarray, encode: str) -> np.ndarray:
    """Return codes as floats or labels, with NaN or None for missing."""
    states = (*discretisation.labels, None) if encode == "labels" else (*range(len(discretisation.cuts) + 1), np.nan)
    return np.array(states, object if encode == "labels" else np.float64)[codes]  # code −1 picks the last entry
