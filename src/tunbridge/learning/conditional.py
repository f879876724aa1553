"""The conditional likelihood of a class: how well a network tells one variable from the rest of a row.

Tables that make the rows likely need not make the *class* likely given the rest. What a classifier is judged by is

    Σ_rows w ln P(class | rest) = Σ_rows w ln P(class, rest) − Σ_rows w ln P(rest),

the log-likelihood of the rows less that of the rows with the class hidden. Both terms have the derivatives of
log-likelihoods, so the difference of their expected counts is all that an ascent needs to know,

    n_jk = Σ_rows w [P(j, k | class, rest) − P(j, k | rest)].

Rows without a class tell nothing and are left out. A family may be barren in one term alone, as the class's own table
is when nothing below the class is observed; it is then counted nowhere in that term, and rightly, for its row there is
n_jk = n_j θ_jk, a derivative of zero.

References
----------
R. Greiner, X. Su, B. Shen, W. Zhou (2005). Structural extension to logistic regression: discriminative parameter
learning of belief net classifiers. Machine Learning 59, 297–322.
T. Roos, H. Wettig, P. Grünwald, P. Myllymäki, H. Tirri (2005). On discriminative Bayesian network classifiers and
logistic regression. Machine Learning 59, 267–296.
"""

from __future__ import annotations

import numpy as np

from tunbridge.data.variable import MISSING
from tunbridge.inference.expectations import ExpectedCounts, IncompleteRows
from tunbridge.inference.flat import FlatNetwork


class ClassifiedRows:
    """Rows prepared for the conditional likelihood of a class under many settings of the tables.

    Parameters
    ----------
    flat : FlatNetwork
        The network; only its structure is looked at.
    codes : ndarray of shape (n_variables, n_rows)
        The states, −1 where a cell is missing.
    weights : ndarray of shape (n_rows,), optional
        The weight of each row.
    target : int
        The index of the class.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """

    def __init__(
        self,
        flat: FlatNetwork,
        codes: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        target: int,
        n_jobs: int | None = None,
    ) -> None:
        codes, weights = classified(codes, weights, target)
        hidden = codes.copy()
        hidden[target] = MISSING
        self.seen = IncompleteRows(flat, codes, weights, n_jobs=n_jobs)
        self.unseen = IncompleteRows(flat, hidden, weights, n_jobs=n_jobs)

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        """Return the difference of the expected counts, and the conditional log-likelihood."""
        with_class, without = self.seen.expected_counts(tables), self.unseen.expected_counts(tables)
        log_likelihood = with_class.log_likelihood
        if np.isfinite(log_likelihood):  # the rest of a row is at least as likely as the row
            log_likelihood -= without.log_likelihood
        return ExpectedCounts(with_class.counts - without.counts, log_likelihood)


def classified(codes: np.ndarray, weights: np.ndarray | None, target: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows whose class is known."""
    known = codes[target] != MISSING
    if known.all():
        return codes, weights
    return np.ascontiguousarray(codes[:, known]), None if weights is None else weights[known]
