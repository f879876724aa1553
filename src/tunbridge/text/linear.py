"""The linear model of NB-SVM: softmax regression whose prior is what naive Bayes has learned.

A document with values x_f of its features has the score and the posterior

    s_c = b_c + Σ_f x_f v_fc,        P(c | x) ∝ exp s_c,

and naive Bayes proposes v_fc = r_fc, the log-count ratio of the feature (one class against the rest). Wang and Manning
(2012) give each feature a weight of its own, v_fc = w_fc r_fc, and learn w. Here w is found as the most probable one
under a Gaussian prior about μ, the same share of naive Bayes for every feature:

    minimise   Σ_d ω_d (−log P(y_d | x_d)) + λ/2 Σ_fc (w_fc − μ)² + λ/2 Σ_c (b_c − β_c)²,

with ω the weights of the documents and β_c the logarithm of a class's share of them, (n_c + 1) / (n + number of
classes). So v_fc has mean μ r_fc and spread |r_fc| / √λ: what tells the classes apart may weigh much, what does not
stays near 0, and what too few documents speak of stays near naive Bayes. μ = 0 pulls to nothing, as in the paper; there
the interpolation of w with its mean has the task that μ has here.

**The dual.** Give every document a distribution p_d over the classes, at first its own class for certain. They stand
for weights of the features, and those for scores:

    v_fc = μ r_fc + (r_fc² / λ) Σ_d ω_d x_df ([c = y_d] − p_dc),     b_c = β_c + (1 / λ) Σ_d ω_d ([c = y_d] − p_dc).

By the duality of Fenchel the objective of these weights is above its least possible value by no more than

    gap = Σ_d ω_d KL(p_d ‖ P(· | x_d)),

which is 0 when every p_d is the posterior that it brings about: at the optimum. Where it starts, at naive Bayes (times
μ), the gap is the log-loss of naive Bayes.

**The ascent.** One document after the other gets the p_d that is best while all others stay (Shalev-Shwartz and Zhang
2013; Yu, Huang and Lin 2011 for logistic losses): with κ_dc = (1 + Σ_f x_df² r_fc²) / λ it solves

    s'_c + ω κ_c softmax(s')_c = s_c + ω κ_c p_c,       p' = softmax(s'),

which Newton's method does in a few steps, each of which costs no more than the softmax. A visit needs no step length,
never lowers the dual objective, and changes only the features of its document. A handful of passes settle a corpus; a
quasi-Newton method makes ten times as many.

Passes visit the documents in an order drawn from a fixed seed, one after the other: equal input gives equal weights,
whatever the number of threads. These share what documents do not have in common: κ, and the gap.

References
----------
S. Wang, C. D. Manning (2012). Baselines and bigrams: simple, good sentiment and topic classification. ACL, 90–94.
S. Shalev-Shwartz, T. Zhang (2013). Stochastic dual coordinate ascent methods for regularized loss minimization. Journal
of Machine Learning Research 14, 567–599.
H.-F. Yu, F.-L. Huang, C.-J. Lin (2011). Dual coordinate descent methods for logistic regression and maximum entropy
models. Machine Learning 85, 41–75.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tunbridge._check import check_number, check_whole, counted, warn_user
from tunbridge._memory import check_memory
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.text.linear_passes import LinearProblem, LinearState, fill_curvatures, find_gap, improve

_NEAR = 4.0  # by about as much is the gap that a pass meets on its way above the one that it leaves


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """What a linear model has learned.

    Parameters
    ----------
    weights : ndarray of shape (n_features, n_classes)
        v: what a unit of each feature adds to the score of each class. Of the type of the ratios.
    intercept : ndarray of shape (n_classes,)
        b: the scores of a document without features.
    log_shares : ndarray of shape (n_classes,)
        β: under other priors π of the classes the intercept is b + log π − β.
    trace : tuple of float
        The dual objective after each pass. It never falls, and the objective cannot be lower than its last value.
    gap : float
        How far, at most, the objective of the weights is above the lowest one: in nats, all documents together.
    converged : bool
        Whether the gap is ``tol`` times the weight of the documents or less.
    """

    weights: np.ndarray
    intercept: np.ndarray
    log_shares: np.ndarray
    trace: tuple[float, ...]
    gap: float
    converged: bool

    @property
    def n_iter(self) -> int:
        """The number of passes over the documents."""
        return len(self.trace)

    @property
    def objective(self) -> float:
        """The objective of the weights: log-loss and penalties, all documents together."""
        return (self.trace[-1] if self.trace else 0.0) + self.gap


def fit_linear(
    documents: csr_array,
    ratios: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    penalty: float = 0.05,
    centre: float = 0.5,
    max_iter: int = 100,
    tol: float = 1e-3,
    n_jobs: int | None = None,
) -> LinearWeights:
    """Return the weights of softmax regression under the prior of naive Bayes.

    Parameters
    ----------
    documents : csr_array of shape (n_documents, n_features)
        The values of the features; documents of length 1 (Euclidean) suit the defaults.
    ratios : ndarray of shape (n_features, n_classes)
        r: the log-count ratios, float64, or float32 for half the memory. The weights of a feature are multiples of
        them, and 0 where they are 0.
    classes : ndarray of int of shape (n_documents,)
        The column of ``ratios`` that belongs to each document. A column may belong to none.
    weights : ndarray of shape (n_documents,), optional
        How often each document counts.
    penalty : float
        λ: how firmly w is held at ``centre``.
    centre : float
        μ: the share of naive Bayes that the prior has for its mean.
    max_iter : int
        The largest number of passes.
    tol : float
        The gap to end with: how many nats the posterior of a document may be away, on average, from the one of which
        the weights are made.
    n_jobs : int, optional
        The number of threads, which changes nothing but the time.

    Returns
    -------
    LinearWeights
        With a single class, or without documents of any weight, they are those of the prior.

    Raises
    ------
    DataError
        When arguments do not fit each other or hold no finite numbers.
    MemoryForecastError
        When the weights would not fit; nothing was allocated.

    Warns
    -----
    ConvergenceWarning
        When the gap is above ``tol`` after ``max_iter`` passes.

    Notes
    -----
    A pass takes time proportional to the stored values times the classes. Memory: the weights, and for every document
    two numbers a class.

    Examples
    --------
    >>> documents = csr_array(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]))
    >>> ratios = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> found = fit_linear(documents, ratios, np.array([0, 0, 1]), penalty=1.0, tol=1e-9)
    >>> found.weights.round(2).tolist()
    [[0.81, -0.81], [-0.65, 0.65]]
    """
    check_settings(penalty, centre, max_iter, tol)
    problem = _problem(documents, ratios, classes, weights, float(penalty))
    found = _ascend(problem, _naive(problem, classes, float(centre)), max_iter, float(tol), n_jobs)
    if not found.converged:
        warn_user(
            f"the linear model did not settle within {counted(max_iter, 'iteration')}: the gap is "
            f"{found.gap / problem.masses.sum():.2g} a document. Raise max_iter, tol or penalty.",
            ConvergenceWarning,
        )
    return found


def check_settings(penalty: float, centre: float, max_iter: int, tol: float) -> None:
    """Raise for settings of :func:`fit_linear` that cannot be."""
    check_number("penalty", penalty, above=0)
    check_number("centre", centre)
    check_whole("max_iter", max_iter, low=1)
    check_number("tol", tol, above=0)


def _problem(
    documents: csr_array, ratios: np.ndarray, classes: np.ndarray, weights: np.ndarray | None, penalty: float
) -> LinearProblem:
    """Return what is given after it has been checked."""
    n, n_features = documents.shape
    ratios = np.ascontiguousarray(ratios, np.float32 if ratios.dtype == np.float32 else np.float64)
    if ratios.ndim != 2 or len(ratios) != n_features or not ratios.shape[1]:
        rule = f"have {counted(n_features, 'row')}, one a feature, and a column a class"
        raise DataError(f"ratios must {rule}; got the shape {ratios.shape}.")
    _check_memory(n, ratios)
    masses = np.ones(n) if weights is None else np.ascontiguousarray(weights, np.float64)
    if masses.shape != (n,) or not (np.isfinite(masses).all() and (masses >= 0).all()):
        raise DataError(f"weights must be finite numbers, at least 0, one for each of {counted(n, 'document')}.")
    if np.shape(classes) != (n,) or (n and not 0 <= np.min(classes) <= np.max(classes) < ratios.shape[1]):
        raise DataError(f"classes must be columns of ratios, one for each of {counted(n, 'document')}.")
    if not documents.has_canonical_format:  # where a feature comes twice in a document, κ would be too small
        documents = documents.copy()
        documents.sum_duplicates()
    values = np.ascontiguousarray(documents.data, ratios.dtype)
    if not (np.isfinite(values).all() and np.isfinite(ratios).all()):
        raise DataError("documents and ratios must hold finite numbers only. Leave out features that do not.")
    return LinearProblem.of(documents.indptr, documents.indices, values, ratios, penalty, masses)


def _check_memory(n_documents: int, ratios: np.ndarray) -> None:
    n_features, n_classes = ratios.shape
    check_memory(
        f"the linear model of {counted(n_features, 'feature')} for {counted(n_documents, 'document')}",
        ratios.nbytes + 16.0 * n_documents * (n_classes + 2),
        ways_out="Use fewer features: leave out rare ones, or hash them into fewer buckets.",
    )


def _naive(problem: LinearProblem, classes: np.ndarray, centre: float) -> LinearState:
    """Return where the ascent starts: every document belongs to its class for certain, which stands for naive Bayes."""
    n, n_classes = len(problem.masses), problem.ratios.shape[1]
    totals = np.bincount(classes, problem.masses, n_classes)
    shares = np.zeros((n, n_classes))
    shares[np.arange(n), classes] = 1.0
    weights = problem.ratios * problem.ratios.dtype.type(centre)
    return LinearState(shares, np.zeros(n), weights, np.log((totals + 1.0) / (totals.sum() + n_classes)))


def _ascend(problem: LinearProblem, state: LinearState, max_iter: int, tol: float, n_jobs: int | None) -> LinearWeights:
    """Make passes, which fill the state in place, until the gap is closed."""
    log_shares, some, draw = state.intercept.copy(), np.flatnonzero(problem.masses), np.random.default_rng(0)
    allowed, dual, gap = tol * problem.masses.sum(), 0.0, 0.0
    trace: list[float] = []
    curvatures = fill_curvatures(problem, n_jobs)
    done = len(log_shares) == 1 or not len(some)
    while not done and len(trace) < max_iter:
        gap, gain = improve(problem, curvatures, draw.permutation(some), tol, state)
        dual += gain
        trace.append(dual)
        if gap <= _NEAR * allowed or len(trace) == max_iter:
            gap = find_gap(problem, state, n_jobs)
            done = gap <= allowed
    return LinearWeights(state.weights, state.intercept, log_shares, tuple(trace), gap, done)
