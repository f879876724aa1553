"""The regret of the multinomial: what normalised maximum likelihood pays for r states and n rows.

Normalised maximum likelihood divides the largest likelihood of the data by the sum of the largest likelihoods of all
data sets of the same size. For n draws from r states that sum is

    C(n, r) = Σ_{h₁ + … + h_r = n} n!/(h₁! … h_r!) Π_k (h_k/n)^{h_k},

and log C(n, r) is called the regret. It is computed here without the sum over data sets:

* C(n, 1) = 1, and C(n, 2) = 1 + Q(n) with Ramanujan's Q(n) = Σ_{k ≥ 1} n!/((n − k)! n^k), summed up for small n and
  taken from Q(n) = ½ (n! eⁿ/nⁿ − D(n)), D(n) = 2/3 + 8/(135 n) − …, from there on;
* C(n, r + 2) = C(n, r + 1) + (n/r) C(n, r), as ratios of neighbours: ρ₁ = C(n, 2) and ρ_{i+1} = 1 + n/(i ρ_i), so that
  nothing overflows and only positive numbers are added;
* for many states, C(n, r) = Σ_k [n!/((n − k)! n^k)] Γ(r − 1 + k)/(Γ(r − 1) k!), which has n + 1 positive terms, or,
  where n is large too, the saddle point of its generating function n! n⁻ⁿ [uⁿ] (1 − u)^{1−r} e^{nu} with the first
  correction. (The leading term is the approximation of Szpankowski and Weinberger; its error is about 1/(6 r).)

Relative errors of C are below 1e-12, and below 1e-7 by the saddle point (more than a thousand rows and states). Between
integers, which weights may lead to, the regret is interpolated linearly.

References
----------
P. Kontkanen, P. Myllymäki (2007). A linear-time algorithm for computing the multinomial stochastic complexity.
Information Processing Letters 103, 227–233.

T. Mononen, P. Myllymäki (2008). Computing the multinomial stochastic complexity in sub-linear time. Proceedings of the
4th European Workshop on Probabilistic Graphical Models, 209–216.

P. Flajolet, P. J. Grabner, P. Kirschenhofer, H. Prodinger (1995). On Ramanujan's Q-function. Journal of Computational
and Applied Mathematics 58, 103–116.

W. Szpankowski, M. J. Weinberger (2012). Minimax pointwise redundancy for memoryless models over large alphabets. IEEE
Transactions on Information Theory 58, 4094–4104.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tunbridge._core.lazy import LazyModule

special = LazyModule("scipy.special")

_SUMMED = 64
"""Below so many rows C(n, 2) is summed up; the series is exact to the last digit from here on."""
_FEW_STATES = 1000
_FEW_ROWS = 1000


def log_regret(n: np.ndarray | float, r: int) -> np.ndarray:
    """Return log C(n, r) for each number of rows.

    Parameters
    ----------
    n : array of float
        Numbers of rows, 0 or more.
    r : int
        The number of states.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_regret(np.array([0, 1, 2, 3]), 2)).round(4).tolist()
    [1.0, 2.0, 2.5, 2.8889]
    """
    n = np.asarray(n, np.float64)
    whole = np.floor(n)
    rest = n - whole
    low = _by_rows(whole, r)
    return low + rest * (_by_rows(whole + 1.0, r) - low) if rest.any() else low


def log_regret_of_states(n: float, r: np.ndarray | float) -> np.ndarray:
    """Return log C(n, r) for each number of states.

    Parameters
    ----------
    n : float
        The number of rows.
    r : array of float
        Numbers of states, 1 or more; they may be huge.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_regret_of_states(2, np.array([1, 2, 3]))).round(4).tolist()
    [1.0, 2.5, 4.5]
    """
    r = np.asarray(r, np.float64)
    whole = int(n)
    rest = n - whole
    low = _by_states(whole, r)
    return low + rest * (_by_states(whole + 1, r) - low) if rest else low


@lru_cache(maxsize=16)
def log_regret_table(n_rows: int, r: int) -> np.ndarray:
    """Return log C(n, r) for n = 0 … n_rows; the array is shared and must not be changed."""
    table = log_regret(np.arange(n_rows + 1.0), r)
    table.flags.writeable = False
    return table


def _by_rows(n: np.ndarray, r: int) -> np.ndarray:
    out = np.zeros(n.shape)
    if r > 1:
        ratio = _two_states(n)
        out += np.log(ratio)
        for i in range(1, r - 1):
            ratio = 1.0 + n / (i * ratio)
            out += np.log(ratio)
    return out


def _two_states(n: np.ndarray) -> np.ndarray:
    """Return C(n, 2) for integers n."""
    few = n < _SUMMED
    m = np.where(few, _SUMMED, n)
    stirling = 1 / (12 * m) - 1 / (360 * m**3) + 1 / (1260 * m**5)
    rest = 2 / 3 + 8 / (135 * m) - 16 / (2835 * m**2) - 32 / (8505 * m**3) + 17984 / (12629925 * m**4)
    series = 1.0 + 0.5 * (np.sqrt(2 * np.pi * m) * np.exp(stirling) - rest)
    return np.where(few, _summed()[np.where(few, n, 0).astype(np.intp)], series)


@lru_cache(maxsize=1)
def _summed() -> np.ndarray:
    """Return C(n, 2) for the small n."""
    return np.array([1.0] + [float(np.cumprod(1.0 - np.arange(n) / n).sum()) + 1.0 for n in range(1, _SUMMED)])


def _by_states(n: int, r: np.ndarray) -> np.ndarray:
    few = r <= _FEW_STATES
    out = np.empty(r.shape)
    out[few] = _few_states(n)[r[few].astype(np.intp)]
    many = r[~few]
    out[~few] = _summed_over_terms(n, many) if n <= _FEW_ROWS else _saddle_point(n, many)
    return out


@lru_cache(maxsize=64)
def _few_states(n: int) -> np.ndarray:
    """Return log C(n, r) for r = 0 … 1000 (none is as good as one)."""
    ratios = np.ones(_FEW_STATES)
    ratio = float(_two_states(np.array(float(n))))
    for i in range(1, _FEW_STATES):
        ratios[i] = ratio
        ratio = 1.0 + n / (i * ratio)
    return np.concatenate([[0.0], np.cumsum(np.log(ratios))])


def _summed_over_terms(n: int, r: np.ndarray) -> np.ndarray:
    k = np.arange(n, dtype=np.float64)[:, np.newaxis]
    steps = np.log1p(-k / max(n, 1)) + np.log((r - 1.0 + k) / (k + 1.0))
    terms = np.concatenate([np.zeros((1, r.size)), np.cumsum(steps, axis=0)])
    return special.logsumexp(terms, axis=0)


def _saddle_point(n: int, r: np.ndarray) -> np.ndarray:
    """Return log C(n, r) from the maximum of F(u) = n u − (r − 1) log(1 − u) − (n + 1) log u along its path."""
    u = 2.0 * (n + 1.0) / (2.0 * n + r + np.sqrt(r * r + 4.0 * n * (r - 1.0)))
    w = 2.0 * (r - 1.0) / (r + np.sqrt(r * r + 4.0 * n * (r - 1.0)))  # 1 − u
    second = (r - 1.0) / w**2 + (n + 1.0) / u**2
    third = 2.0 * (r - 1.0) / w**3 - 2.0 * (n + 1.0) / u**3
    fourth = 6.0 * (r - 1.0) / w**4 + 6.0 * (n + 1.0) / u**4
    correction = np.log1p(fourth / (8.0 * second**2) - 5.0 * third**2 / (24.0 * second**3))
    log_u = np.where(u < 0.5, np.log(u), np.log1p(-np.minimum(w, 0.5)))
    log_w = np.where(u < 0.5, np.log1p(-np.minimum(u, 0.5)), np.log(w))
    integral = n * u - (r - 1.0) * log_w - (n + 1.0) * log_u - 0.5 * np.log(2.0 * np.pi * second) + correction
    return integral + 0.5 * np.log(2.0 * np.pi * n) - n + 1.0 / (12.0 * n)  # Stirling's n! n⁻ⁿ
