"""Scores of discrete families, each a short function of counts.

With n_jk the rows in which the parents have configuration j and the child state k, n_j their sum over k, r the child's
states and q the parents' configurations, every score here has the form

    score(X | Pa) = Σ_jk cell(n_jk) − Σ_j row(n_j) − penalty(q, r),

in natural logarithms, where an empty cell or row adds nothing: so a sparse table, which has only the configurations
that occur, gives the same score. The score of a graph is the sum over its families; larger is better.

| name | cell(n) − row(n) | penalty | equal for equivalent graphs |
|---|---|---|---|
| loglik | n log n | 0 | yes |
| aic, bic, nal | n log n | 1, ½ log N, N^{1−α}/variables for each of q (r − 1) parameters | yes |
| bdeu, bds | log Γ(n + a)/Γ(a), a = ess/(q r) and ess/q | 0 | bdeu only |
| k2 | log Γ(n + a)/Γ(a), a = 1 and r | 0 | no |
| fnml | n log n, and the regret log C(n_j, r) of each row | 0 | no |
| qnml | n log n | log C(N, q r) − log C(N, q) | yes |

**Missing values.** The likelihood of a family can be averaged over the rows in which it is complete, and multiplied by
the number N of all rows. But averages over different rows differ by chance, and only the penalty of nal allows for
that: so searches use nal for incomplete tables.

**A new score** is one class, here or in any file of this folder: a subclass of :class:`Score` with ``cell``, ``row``
and ``penalty``, under ``@score("its name")``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, shortened
from tunbridge._core.lazy import LazyModule
from tunbridge._core.registry import Entry, entries, score
from tunbridge.errors import DataError
from tunbridge.learning.scores.complexity import log_regret, log_regret_of_states, log_regret_table

if TYPE_CHECKING:
    from tunbridge.kernels.counting.scores import Terms

special = LazyModule("scipy.special")

Sizes = float | np.ndarray
"""A number of configurations, or several."""

MOST_CONFIGURATIONS = 10**150
"""More configurations than these make no difference to a score."""

_ROWS_A_PARAMETER = 5
_ROUNDING = 1e-9
_MOST_REGRETTED = 1e70
_LEAST_ESS, _MOST_ESS = 1e-100, 1e8  # beyond these log Γ(n + a) − log Γ(a) is lost in rounding


class RegisteredName:
    """The name by which a score or a search, or the class it extends, is registered; otherwise that of the class."""

    def __get__(self, instance: object, kind: type) -> str:
        entry: Entry | None = getattr(kind, "registry_entry", None)
        return kind.__name__ if entry is None else entry.name


@dataclass(frozen=True)
class Score(ABC):
    """A decomposable score of families of categorical variables."""

    name = RegisteredName()
    is_average: ClassVar[bool] = False
    """Whether values may be missing: the likelihood is then the node average times the number of all rows."""
    is_dirichlet: ClassVar[bool] = False
    """Whether the terms depend on the number of configurations q; such a score has an ``ess``."""
    is_equivalent: ClassVar[bool] = False
    """Whether graphs that imply the same independences have equal scores (without missing values)."""
    is_of_occurring: ClassVar[bool] = False
    """Whether q is the number of the configurations that occur, not of all."""

    @abstractmethod
    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return the terms of the counts n_jk."""

    @abstractmethod
    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return the terms of the sums n_j."""

    def penalty(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return what a family of q configurations and r states costs, whatever the counts."""
        return 0.0 * q

    def ceiling(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return an upper bound of the score of any family of q configurations and r states, whatever the counts."""
        return -self.penalty(q, r, n_rows)

    def cell_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return the terms of the counts 0 … n_rows, for a score whose terms do not depend on q; do not change it."""
        return self.cell(np.arange(n_rows + 1.0), 1.0, r)

    def row_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return the terms of the sums 0 … n_rows, for a score whose terms do not depend on q; do not change it."""
        return self.row(np.arange(n_rows + 1.0), 1.0, r)

    def for_variables(self, n: int) -> Score:
        """Return the score for a table of n variables: itself, unless the penalty depends on their number."""
        return self

    def family(self, table: np.ndarray, q: float, n_rows: float) -> float:
        """Return the score of a family from its table n_jk; configurations that do not occur may be left out.

        Parameters
        ----------
        table : ndarray of shape (configurations, r)
            The counts.
        q : float
            The number of all configurations of the parents.
        n_rows : float
            The number (or weight) of all rows of the data, incomplete ones too.
        """
        return self.of_counts(table, table.sum(axis=1), q, table.shape[1], n_rows)

    def of_counts(self, cells: np.ndarray, rows: np.ndarray, q: float, r: int, n_rows: float) -> float:
        """Return the score of a family from its counts n_jk and their sums n_j, those that are zero left out or not."""
        q = max(1, int(np.count_nonzero(rows))) if self.is_of_occurring else min(q, MOST_CONFIGURATIONS)
        value = float(self.cell(cells, q, r).sum() - self.row(rows, q, r).sum())
        if self.is_average:
            total = float(rows.sum())
            value = value * (n_rows / total) if has_enough_rows(total, q, r, n_rows) else -np.inf
        return value - float(self.penalty(q, r, n_rows))

    def terms(self, n_rows: int, r: int) -> Terms:
        """Return the terms for families of r states as kernels read them."""
        from tunbridge.kernels.counting.scores import Terms

        if self.is_dirichlet:
            return Terms(np.zeros(1), np.zeros(1), float(getattr(self, "ess", 0.0)), self.is_of_occurring)
        return Terms(self.cell_table(n_rows, r), self.row_table(n_rows, r), 0.0, False)


def has_enough_rows(total: Sizes, q: Sizes, r: int, n_rows: float) -> np.ndarray:
    """Return whether the average of a family over its complete rows may be used for all rows.

    An average over a handful of rows, which so many parameters fit perfectly, would be multiplied as if all rows were
    like these. So an incomplete family needs at least five rows for each parameter.

    Examples
    --------
    >>> bool(has_enough_rows(3.0, 2.0, 2, 1000.0)), bool(has_enough_rows(3.0, 2.0, 2, 3.0))
    (False, True)
    """
    all_rows = (1.0 - _ROUNDING) * n_rows  # weights added up in another order differ in their last digits
    many = (total >= _ROWS_A_PARAMETER * q * max(r - 1, 1)) | (total >= all_rows)
    return (total > 0) & (many | (np.asarray(q) <= 1))


# The likelihood and its penalties


@dataclass(frozen=True)
class LikelihoodScore(Score, ABC):
    """A score whose terms are those of the maximised log-likelihood, Σ n_jk log n_jk − Σ n_j log n_j."""

    is_average: ClassVar[bool] = True
    is_equivalent: ClassVar[bool] = True

    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return n log n."""
        return special.xlogy(n, n)

    def cell_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return n log n for n = 0 … n_rows."""
        return _n_log_n_table(n_rows)

    row, row_table = cell, cell_table


@lru_cache(maxsize=4)
def _n_log_n_table(n_rows: int) -> np.ndarray:
    """Return n log n for n = 0 … n_rows; the array is shared."""
    n = np.arange(n_rows + 1.0)
    return special.xlogy(n, n)


@score("loglik", rank=9)
@dataclass(frozen=True)
class LogLikelihood(LikelihoodScore):
    """The maximised log-likelihood Σ n_jk log(n_jk / n_j): parameters cost nothing, so denser graphs score higher.

    Examples
    --------
    >>> import numpy as np
    >>> round(LogLikelihood().family(np.array([[3, 1], [0, 2]]), 2, 6), 4)
    -2.2493
    """

    def price(self, n_rows: float) -> float:
        """Return what one free parameter costs."""
        return 0.0

    def penalty(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return the price of the q (r − 1) free parameters."""
        return self.price(n_rows) * (max(r - 1, 0) * q)


@score("aic", rank=2)
@dataclass(frozen=True)
class AIC(LogLikelihood):
    """Akaike's criterion: the log-likelihood less k for every free parameter, q (r − 1) of them.

    Parameters
    ----------
    k : float
        The price of a parameter.

    References
    ----------
    H. Akaike (1974). A new look at the statistical model identification. IEEE Transactions on Automatic Control 19,
    716–723.

    Examples
    --------
    >>> import numpy as np
    >>> round(AIC().family(np.array([[3, 1], [0, 2]]), 2, 6), 4)
    -4.2493
    """

    k: float = 1.0

    def __post_init__(self) -> None:
        check_number("k", self.k, low=0)

    def price(self, n_rows: float) -> float:
        """Return k."""
        return self.k


@score("bic", rank=1, aliases=["mdl"])
@dataclass(frozen=True)
class BIC(LogLikelihood):
    """The Bayesian information criterion, or minimum description length: ½ log N for every free parameter.

    Parameters
    ----------
    k : float, optional
        The price of a parameter, in place of ½ log N (N: all rows, incomplete ones too).

    References
    ----------
    G. Schwarz (1978). Estimating the dimension of a model. Annals of Statistics 6, 461–464.

    W. Lam, F. Bacchus (1994). Learning Bayesian belief networks: an approach based on the MDL principle. Computational
    Intelligence 10, 269–293.

    Examples
    --------
    >>> import numpy as np
    >>> round(BIC().family(np.array([[3, 1], [0, 2]]), 2, 6), 4)
    -4.0411
    """

    k: float | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            check_number("k", self.k, low=0)

    def price(self, n_rows: float) -> float:
        """Return k, or ½ log N (0 for less than one row)."""
        return 0.5 * float(np.log(max(n_rows, 1.0))) if self.k is None else self.k


@score("nal", rank=8, aliases=["pnal"])
@dataclass(frozen=True)
class NodeAverage(LogLikelihood):
    """The penalised node-average likelihood: consistent with values missing completely at random, where BIC is not.

    Each family's log-likelihood is averaged over the rows in which it is complete, and every free parameter costs

        λ_N = N^{−α}/n,

    with N the number of rows and n the number of variables. On incomplete data the likelihoods of two families come
    from different rows and differ by chance in the order of N^{−½}, so λ_N must fall more slowly than that: α < ½. The
    score is given times N, on the scale of BIC: a parameter costs N^{1−α}/n. (With the default α that is more than
    under BIC, and fewer arcs are found, unless the table is very wide: n above 2 N^¾ / log N.) A family with
    fewer than five complete rows for each parameter is not considered.

    Parameters
    ----------
    alpha : float
        The exponent α.
    n_variables : int, optional
        The number n; searches fill in that of the table (default: 1).

    References
    ----------
    N. Balov (2013). Consistent model selection of discrete Bayesian networks from incomplete data. Electronic Journal
    of Statistics 7, 1047–1077.

    T. Bodewes, M. Scutari (2021). Learning Bayesian networks from incomplete data with the node-average likelihood.
    International Journal of Approximate Reasoning 138, 145–160. The default penalty is that of bnlearn's «pnal».

    Examples
    --------
    >>> import numpy as np
    >>> score = NodeAverage().for_variables(2)
    >>> round(score.family(np.array([[30, 10], [0, 20]]), 2, 80), 4)  # twenty of eighty rows are incomplete
    -56.7408
    """

    alpha: float = 0.25
    n_variables: int | None = None

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, above=0, high=1)
        if self.n_variables is not None:
            check_number("n_variables", self.n_variables, low=1)

    def price(self, n_rows: float) -> float:
        """Return N^{1−α}/n."""
        return float(n_rows ** (1.0 - self.alpha)) / (self.n_variables or 1)

    def for_variables(self, n: int) -> Score:
        """Return the score with the number of variables filled in if it was not given."""
        return self if self.n_variables is not None or n < 1 else replace(self, n_variables=n)


# Marginal likelihoods


@score("bdeu", rank=3)
@dataclass(frozen=True)
class BDeu(Score):
    """The marginal likelihood of the data under a uniform Dirichlet prior worth ``ess`` rows in all.

        Σ_j [log Γ(a)/Γ(a + n_j) + Σ_k log Γ(b + n_jk)/Γ(b)],   a = ess/q,  b = ess/(q r).

    Parameters
    ----------
    ess : float
        The equivalent sample size: how many imaginary rows the prior is worth. A larger one gives denser graphs.

    References
    ----------
    W. Buntine (1991). Theory refinement on Bayesian networks. Proceedings of the 7th Conference on Uncertainty in
    Artificial Intelligence, 52–60.

    D. Heckerman, D. Geiger, D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
    statistical data. Machine Learning 20, 197–243.

    Examples
    --------
    >>> import numpy as np
    >>> round(BDeu(ess=1).family(np.array([[3, 1], [0, 2]]), 2, 6), 4)
    -4.4954
    """

    is_dirichlet: ClassVar[bool] = True
    is_equivalent: ClassVar[bool] = True

    ess: float = 1.0

    def __post_init__(self) -> None:
        check_number("ess", self.ess, low=_LEAST_ESS, high=_MOST_ESS)

    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return log Γ(b + n)/Γ(b)."""
        return _log_rising(n, self.ess / q / max(r, 1))

    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return log Γ(a + n)/Γ(a)."""
        return _log_rising(n, self.ess / q)


@score("bds", rank=4)
@dataclass(frozen=True)
class BDs(BDeu):
    """The sparse relative of BDeu: the prior is spread over the configurations that occur, q̃ of them, not over all q.

    So the prior is worth ``ess`` rows whatever the data, and a family does not gain by configurations that do not
    occur. Graphs that imply the same independences need not have equal scores.

    Parameters
    ----------
    ess : float
        The equivalent sample size: how many imaginary rows the prior is worth.

    References
    ----------
    M. Scutari (2016). An empirical-Bayes score for discrete Bayesian networks. Proceedings of Machine Learning Research
    52 (PGM 2016), 438–448.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[3, 1], [0, 2], [0, 0], [0, 0]])
    >>> round(BDs(ess=1).family(table, 4, 6), 4), round(BDeu(ess=1).family(table, 4, 6), 4)
    (-4.4954, -4.9123)
    """

    is_equivalent: ClassVar[bool] = False
    is_of_occurring: ClassVar[bool] = True


@score("k2", rank=5)
@dataclass(frozen=True)
class K2(Score):
    """The marginal likelihood under a prior of one imaginary row for each cell.

        Σ_j [log (r − 1)!/(n_j + r − 1)! + Σ_k log n_jk!].

    References
    ----------
    G. F. Cooper, E. Herskovits (1992). A Bayesian method for the induction of probabilistic networks from data. Machine
    Learning 9, 309–347.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(np.exp(K2().family(np.array([[3, 1], [0, 2]]), 2, 6))), 6)  # 1/20 · 1/3
    0.016667
    """

    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return log n!."""
        return special.gammaln(np.asarray(n, np.float64) + 1.0)

    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return log (n + r − 1)!/(r − 1)!."""
        return _log_rising(n, float(max(r, 1)))


# Normalised maximum likelihood


@score("fnml", rank=6)
@dataclass(frozen=True)
class FNML(LikelihoodScore):
    """The factorised normalised maximum likelihood: the likelihood less the regret log C(n_j, r) of each row.

    It has no parameter to choose. See :mod:`tunbridge.learning.scores.complexity` for C.

    References
    ----------
    T. Silander, T. Roos, P. Kontkanen, P. Myllymäki (2008). Factorized normalized maximum likelihood criterion for
    learning Bayesian network structures. Proceedings of the 4th European Workshop on Probabilistic Graphical Models,
    257–264.

    Examples
    --------
    >>> import numpy as np
    >>> round(FNML().family(np.array([[3, 1], [0, 2]]), 2, 6), 4)
    -4.3346
    """

    is_average: ClassVar[bool] = False
    is_equivalent: ClassVar[bool] = False

    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return n log n + log C(n, r)."""
        return special.xlogy(n, n) + log_regret(n, r)

    def row_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return the terms of the sums 0 … n_rows."""
        n = np.arange(n_rows + 1.0)
        return special.xlogy(n, n) + log_regret_table(n_rows, r)


@score("qnml", rank=7)
@dataclass(frozen=True)
class QNML(LikelihoodScore):
    """The quotient normalised maximum likelihood: the likelihood less log C(N, q r) − log C(N, q).

    The normalised maximum likelihood of child and parents together, as one variable of q r states, divided by that of
    the parents. It has no parameter to choose, and graphs that imply the same independences have equal scores.

    References
    ----------
    T. Silander, J. Leppä-aho, E. Jääsaari, T. Roos (2018). Quotient normalized maximum likelihood criterion for
    learning Bayesian network structures. Proceedings of Machine Learning Research 84 (AISTATS 2018), 948–957.

    Examples
    --------
    >>> import numpy as np
    >>> round(QNML().family(np.array([[3, 1], [0, 2]]), 2, 6), 4)
    -3.9702
    """

    def penalty(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return log C(N, q r) − log C(N, q)."""
        q = np.minimum(np.asarray(q, np.float64), _MOST_REGRETTED)
        return log_regret_of_states(n_rows, q * max(r, 1)) - log_regret_of_states(n_rows, q)


def score_names() -> dict[str, Entry]:
    """Return the registered scores by name, and by their other names.

    Examples
    --------
    >>> list(score_names())
    ['bic', 'aic', 'bdeu', 'bds', 'k2', 'fnml', 'qnml', 'nal', 'loglik', 'mdl', 'pnal']
    """
    known = entries("score")
    return known | {alias: found for found in known.values() for alias in found.details.get("aliases", ())}


def as_score(score: str | Score) -> Score:
    """Return a score: the one given, or the registered one of that name with its default options.

    Names are not case-sensitive, and may be written with hyphens, underscores or spaces.

    Examples
    --------
    >>> as_score("BIC"), as_score("log-lik"), as_score(BDeu(ess=10))
    (BIC(k=None), LogLikelihood(), BDeu(ess=10))
    """
    if isinstance(score, Score):
        return score
    if isinstance(score, type) and issubclass(score, Score):
        name = score.__name__
        raise DataError(f"score must be an object; got the class {name}. Write tb.{name}().", parameter="score")
    key = "".join(c for c in score.casefold() if c not in "-_ ") if isinstance(score, str) else ""
    known = score_names()
    if key not in known:
        hint = did_you_mean(key if key else score, known)
        got = shortened(repr(score))
        raise DataError(
            f"score must be a name or a score object such as tb.BDeu(10); got {got}. {hint}", parameter="score"
        )
    found: Score = known[key].load()()
    return found


def _log_rising(n: np.ndarray, a: float) -> np.ndarray:
    """Return log Γ(a + n)/Γ(a)."""
    return special.gammaln(np.asarray(n, np.float64) + a) - special.gammaln(a)
