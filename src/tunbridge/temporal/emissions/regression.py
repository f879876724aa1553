"""Linear regressions with Gaussian noise by state: what Gaussian and autoregressive emissions are computed by.

A row x has its values y (d columns) and q columns that these depend on; in state k

    y = a_k + B_k (the q columns) + e,     e ~ N(0, Σ_k).

A Gaussian with a full covariance matrix has q = 0. Of a row with missing values the others are observed: their density
has the corresponding part of a_k, B_k and Σ_k. The M step takes expected moments, in which the missing values (m) have
their means and covariances given the observed ones (o) in state k,

    E y_m = ŷ_m + Σ_mo Σ_oo⁻¹ (y_o − ŷ_o),     cov y_m = Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om,     ŷ = a_k + B_k (the q columns).

References
----------
R. J. A. Little, D. B. Rubin (2019). Statistical Analysis with Missing Data, 3rd ed., section 11.2.
J. D. Hamilton (1994). Time Series Analysis, chapter 22 (regimes of autoregressions).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple, Self, final

import numpy as np

from tunbridge._core.check import check_integer, warn_user
from tunbridge.errors import DataError, DataWarning
from tunbridge.temporal.emissions.base import (
    Emission,
    Values,
    as_parameters,
    as_positive,
    as_rows,
    as_weights,
    check_known,
    check_settings,
    put,
)
from tunbridge.temporal.emissions.moments import Moments, cross_moments, quadratic_logs, scatters_of

LEAST = 1e-280  # a smaller total weight counts as none


class Regressions(NamedTuple):
    """Intercepts (K, d), coefficients (K, d, q) and covariance matrices of the noise (K, d, d)."""

    intercepts: np.ndarray
    coefficients: np.ndarray
    covariances: np.ndarray


def patterns(missing: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows of each pattern of missing values, and the columns that are not missing."""
    _, first, which = np.unique(np.packbits(missing, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1]) if len(first) else ():
        yield rows, np.flatnonzero(~missing[rows[0]])


def regression_logs(
    x: np.ndarray, missing: np.ndarray | None, given: Regressions, *, normalized: bool = True
) -> np.ndarray:
    """Return ln p(y | the other columns, k), shape (n, K); only values y are missing."""
    d = given.intercepts.shape[1]
    if missing is None:
        return _complete_logs(x, given, np.arange(d), normalized)
    out = np.zeros((len(x), len(given.intercepts)))
    for rows, seen in patterns(missing[:, :d]):
        if len(seen):
            columns = np.concatenate([seen, np.arange(d, x.shape[1])])
            out[rows] = _complete_logs(x[np.ix_(rows, columns)], given, seen, normalized)
    return out


def _complete_logs(x: np.ndarray, given: Regressions, seen: np.ndarray, normalized: bool) -> np.ndarray:
    roots = np.linalg.inv(np.linalg.cholesky(given.covariances[:, seen[:, None], seen]))
    own = np.broadcast_to(np.eye(len(seen)), (len(roots), len(seen), len(seen)))
    maps = roots @ np.concatenate([own, -given.coefficients[:, seen]], axis=2)
    ends = np.einsum("krs,ks->kr", roots, given.intercepts[:, seen])
    logs = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(1) - 0.5 * len(seen) * np.log(2.0 * np.pi)
    return quadratic_logs(x, logs if normalized else np.zeros(len(roots)), maps, ends)


def expected_moments(
    x: np.ndarray, missing: np.ndarray | None, weights: np.ndarray, given: Regressions, spread: np.ndarray | None = None
) -> Moments:
    """Return the moments of rows whose missing values have their distribution in each state.

    ``spread`` are weights for the covariances of missing values, where they differ from those of the means.
    """
    if missing is None:
        return cross_moments(x, weights)
    d = given.intercepts.shape[1]
    some = ~missing[:, :d].all(1)
    spread = (weights if spread is None else spread)[some]
    x, missing, weights = x[some], missing[some], weights[some]
    groups = [group for group in patterns(missing[:, :d]) if len(group[1]) < d]
    parts = []
    for k in range(weights.shape[1]):
        means, added = _completed(x, groups, spread[:, k], Regressions(*(each[k] for each in given)))
        part = cross_moments(means, weights[:, k : k + 1])
        part.scatters[0, :d, :d] += added
        parts.append(part)
    return Moments(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _completed(
    x: np.ndarray, groups: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray, given: Regressions
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with the expected values of missing ones in a state, and the weighted sum of their covariances."""
    x, d = x.copy(), len(given.intercepts)
    added = np.zeros((d, d))
    for rows, seen in groups:
        gone = np.setdiff1d(np.arange(d), seen)
        expected = given.intercepts + x[rows, d:] @ given.coefficients.T
        cross = given.covariances[np.ix_(seen, gone)]
        slopes = np.linalg.solve(given.covariances[np.ix_(seen, seen)], cross)
        x[np.ix_(rows, gone)] = expected[:, gone] + (x[np.ix_(rows, seen)] - expected[:, seen]) @ slopes
        added[np.ix_(gone, gone)] += weights[rows].sum() * (given.covariances[np.ix_(gone, gone)] - cross.T @ slopes)
    return x, added


def pooled(x: np.ndarray, missing: np.ndarray | None, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of each column over all states; a constant column has a small variance."""
    totals = weights.sum(1, keepdims=True)
    if not totals.sum() > LEAST:
        totals = np.ones_like(totals)
    found = scatters_of(x, totals, has_missing=missing is not None)
    n = found.totals[0]
    means = np.where(n > 0.0, found.means[0], 0.0)
    variances = found.scatters[0] / np.where(n > 0.0, n, 1.0)
    least = 1e-6 * np.maximum(1.0, means**2)
    variances = np.where(variances > 1e-20 * np.maximum(means**2, 1e-280), variances, least)
    return means, np.where(n > 0.0, variances, 1.0)


def floored(covariances: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the likeliest covariances that are at least diag(least), and which ones were not.

    In units in which ``least`` is one, eigenvalues below one become one.
    """
    roots = np.sqrt(least)
    scales = roots[:, None] * roots
    values, vectors = np.linalg.eigh(covariances / scales)
    low = values[..., 0] < 1.0
    if not low.any():
        return covariances, low
    raised = (vectors * np.maximum(values, 1.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2) * scales
    return np.where(low[..., None, None], raised, covariances), low


def warn_of_floor(
    name: str, low: np.ndarray, before: np.ndarray | None, least: np.ndarray, *, is_matrix: bool = True
) -> None:
    """Warn that variances became too low, unless those before were at the floor: then it was said already."""
    if not low.any():
        return
    if before is not None:
        scaled = np.linalg.eigvalsh(before / np.sqrt(least[:, None] * least)) if is_matrix else before / least
        if scaled.min() <= 1.0 + 1e-6:
            return
    warn_user(
        f"the rows of each state must vary; the variance of a {name} emission became nearly 0, and was raised to the "
        "floor. Use fewer states, a simpler covariance, prior_weight, or drop constant columns.",
        DataWarning,
    )


def as_covariances(what: str, values: object, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return a read-only copy of covariance matrices; raise unless they are symmetric and positive definite."""
    array = as_parameters(what, values, shape)
    off = np.abs(array - np.swapaxes(array, -1, -2))
    if array.size and (off > 1e-8 * np.abs(array).max()).any():
        raise DataError(f"{what} must be symmetric; got entries that differ by {off.max():g}.", parameter=what)
    if array.size and not np.linalg.eigvalsh(array).min() > 0.0:
        least = np.linalg.eigvalsh(array).min()
        raise DataError(f"{what} must be positive definite; got the eigenvalue {least:g}.", parameter=what)
    return array


@final
@dataclass(frozen=True, eq=False)
class Autoregressive(Emission):
    """A Gaussian whose mean depends on the previous rows, with coefficients of its own in each state.

    x_t = a_k + B_k1 x_{t−1} + … + B_kp x_{t−p} + e,  e ~ N(0, Σ_k). Rows are [x_t, x_{t−1}, …, x_{t−p}]; a row with a
    missing value among the earlier ones, as at the beginning of a sequence, says nothing: its log-likelihood is 0.

    Parameters
    ----------
    order : int
        The number p of previous rows.
    floor : float
        The least variance, as a fraction of a column's variance in the data.
    intercepts, coefficients, covariances : arrays (K, d), (K, d, d · p), (K, d, d), optional
        Known parameters; coefficients are for x_{t−1} first.
    variances : array (d,), optional
        The variances in the data, of the first ``fit``.

    References
    ----------
    J. D. Hamilton (1994). Time Series Analysis, chapter 22.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 3.0, 7.0, 15.0, 31.5, 63.5])
    >>> now_and_before = np.column_stack([x[1:], x[:-1]])
    >>> Autoregressive().fit(now_and_before, np.ones((5, 1))).coefficients.round(2).tolist()
    [[[1.99]]]
    """

    order: int = 1
    floor: float = 1e-6
    _: KW_ONLY
    intercepts: Values = None
    coefficients: Values = None
    covariances: Values = None
    variances: Values = None

    def __post_init__(self) -> None:
        check_integer("order", self.order, low=1)
        check_settings(floor=self.floor)
        if self.intercepts is not None:
            a = as_parameters("intercepts", self.intercepts, (None, None))
            k, d = a.shape
            if self.coefficients is None or self.covariances is None:
                raise DataError("intercepts must come with coefficients and covariances; got them alone.")
            b = as_parameters("coefficients", self.coefficients, (k, d, d * self.order))
            put(
                self,
                intercepts=a,
                coefficients=b,
                covariances=as_covariances("covariances", self.covariances, (k, d, d)),
            )
        if self.variances is not None:
            put(self, variances=as_positive("variances", self.variances, (None,)))

    @property
    def lags(self) -> int:
        """The order."""
        return self.order

    def _regressions(self) -> Regressions:
        check_known(self, self.intercepts)
        return Regressions(self.intercepts, self.coefficients, self.covariances)

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return the log-density of each row given the previous ones, in each state."""
        given = self._regressions()
        x, missing = as_rows(x, given.intercepts.shape[1] * (1 + self.order))
        if missing is None:
            return regression_logs(x, None, given)
        out = np.zeros((len(x), len(given.intercepts)))
        rows = ~missing[:, given.intercepts.shape[1] :].any(1)
        out[rows] = regression_logs(x[rows], missing[rows], given)
        return out

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with the weighted least-squares regression of each state."""
        x, missing = as_rows(x)
        weights = as_weights(weights, len(x), None if self.intercepts is None else len(self.intercepts))
        if x.shape[1] % (1 + self.order):
            raise DataError(f"x must have {1 + self.order} columns for each one observed; got {x.shape[1]}.")
        d = x.shape[1] // (1 + self.order)
        if missing is not None:
            rows = ~missing[:, d:].any(1)
            x, missing, weights = x[rows], missing[rows] if missing[rows].any() else None, weights[rows]
        means, variances = pooled(x[:, :d], None if missing is None else missing[:, :d], weights)
        variances = variances if self.variances is None else self.variances
        k = weights.shape[1]
        known = Regressions(*map(np.array, self._regressions())) if self.intercepts is not None else None
        known = known or Regressions(
            np.tile(means, (k, 1)), np.zeros((k, d, d * self.order)), np.tile(np.diag(variances), (k, 1, 1))
        )
        found = expected_moments(x, missing, weights, known)
        return self._estimated(found, known, variances)

    def _estimated(self, found: Moments, known: Regressions, variances: np.ndarray) -> Self:
        """Return the emission with the regressions that moments of all columns give."""
        d, least = len(variances), self.floor * variances
        used = found.totals > LEAST
        n = np.where(used, found.totals, 1.0)[:, None, None]
        s = found.scatters / n
        b = s[:, :d, d:] @ _inverses(s[:, d:, d:])
        a = found.means[:, :d] - np.einsum("kdq,kq->kd", b, found.means[:, d:])
        noise = s[:, :d, :d] - b @ s[:, d:, :d]
        noise, low = floored((noise + noise.transpose(0, 2, 1)) / 2.0, least)
        warn_of_floor("autoregressive", low & used, self.covariances, least)
        old = (known.intercepts, known.coefficients, known.covariances)
        new = [
            np.where(used.reshape(-1, *[1] * (each.ndim - 1)), each, before)
            for each, before in zip((a, b, noise), old, strict=True)
        ]
        return replace(self, intercepts=new[0], coefficients=new[1], covariances=new[2], variances=variances)

    def sample(self, states: np.ndarray, rng: np.random.Generator, earlier: np.ndarray | None = None) -> np.ndarray:
        """Return a row for each state in turn, after the ``earlier`` ones (p, d), the last one last.

        Without them, the sequence starts at the level where the first state stays, as far as there is one.
        """
        given = self._regressions()
        d, p = given.intercepts.shape[1], self.order
        out = np.empty((p + len(states), d))
        if len(states):
            out[:p] = self._level(int(states[0])) if earlier is None else earlier
        roots = np.linalg.cholesky(given.covariances)
        noise = rng.standard_normal((len(states), d))
        for t, k in enumerate(states):
            before = out[t : t + p][::-1].ravel()
            out[t + p] = given.intercepts[k] + given.coefficients[k] @ before + roots[k] @ noise[t]
        return out[p:]

    def _level(self, k: int) -> np.ndarray:
        """Return the m with m = a + (Σ B_i) m, the shortest one if there are many."""
        given = self._regressions()
        d = given.intercepts.shape[1]
        total = given.coefficients[k].reshape(d, self.order, d).sum(1)
        return np.linalg.lstsq(np.eye(d) - total, given.intercepts[k], rcond=None)[0]

    @property
    def n_parameters(self) -> int:
        """K (d + d² p + d (d + 1) / 2)."""
        if self.intercepts is None or self.coefficients is None:
            return 0
        k, d = self.intercepts.shape
        return self.intercepts.size + self.coefficients.size + k * d * (d + 1) // 2


def _inverses(matrices: np.ndarray) -> np.ndarray:
    """Return the inverses of covariance matrices; of singular ones the pseudo-inverses of their correlations."""
    roots = np.sqrt(np.maximum(np.diagonal(matrices, axis1=1, axis2=2), 0.0))
    roots = np.where(roots > 0.0, roots, 1.0)
    scales = roots[:, :, None] * roots[:, None, :]
    return np.linalg.pinv(matrices / scales, rcond=1e-12, hermitian=True) / scales
