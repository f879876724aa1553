"""Selective k-dependence Bayes: the number of features and of parents are chosen by leave-one-out.

k-dependence Bayes has two settings. More parents k make it less biased and hungrier for rows; and features at the end
of the ranking by I(X; C) may do more harm than good. All settings share one order of the features and one order of the
parents, so their leave-one-out losses are found together, in one pass over the rows
(:mod:`tunbridge.classifiers.dependence._leave_one_out`); the setting with the least loss is kept.

Nothing but counts is kept between the passes, so rows need not be in memory: they are read once for their states, once
for the counts of pairs, once for those of the families, and once to be left out.

References
----------
A. M. Martínez, G. I. Webb, S. Chen, N. A. Zaidi (2016). Scalable learning of Bayesian network classifiers. Journal of
Machine Learning Research 17 (44), 1–35.
M. Sahami (1996). Learning limited dependence Bayesian classifiers. KDD, 335–338.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.registry import classifier
from tunbridge._core.threads import replacing_state
from tunbridge.classifiers._classes import log_class_prior
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Statistics, learn_encoding
from tunbridge.classifiers.dependence._families import (
    CountedClassifier,
    Families,
    as_table_prior,
    collect_families,
    named_parents,
)
from tunbridge.classifiers.dependence._leave_one_out import (
    CRITERIA,
    Problem,
    Selection,
    aligned,
    best_model,
    candidates_of,
    count_candidates,
    factor_tables,
    mean_losses,
    prefix_counts,
    prior_without,
    sum_losses,
)
from tunbridge.classifiers.dependence._passes import BATCH_ROWS, SAMPLE_ROWS, Source, look, rereadable, sum_pairs
from tunbridge.classifiers.dependence.kdb import class_pairs
from tunbridge.learning.searches.trees import pairs_within


@classifier(
    "skdb",
    file="selective-kdb",
    rank=22,
    default="skdb",
    help="selective k-dependence Bayes: chooses k and the features",
)
@dataclass(eq=False, repr=False)
class SelectiveKDBClassifier(CountedClassifier):
    """k-dependence Bayes with the number of features and of parents chosen by leave-one-out.

    Parameters
    ----------
    max_k : int
        The most features that a feature may depend on beside the class.
    criterion : {"log-loss", "rmse", "error"}
        What the choice makes small: the mean of −log P(c | x) of the rows' own classes, the root of the mean
        (1 − P(c | x))² (the paper's), or the share of rows that get another class. Features that repeat each other make
        a model too sure of itself, which costs nats but no decisions: the log-loss then takes fewer features than the
        other two. Of equal models the one with fewer features is taken, then the one with fewer parents.
    max_cells : int
        A feature does without the parents with which its table would have more cells than this; the most telling ones
        are tried first.
    categorical, text, smoothing, class_prior, missing, n_jobs
        As in :class:`KDBClassifier`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    k_ : int
        The number of parents that was chosen.
    selected_ : list of str
        The features that were chosen, the most telling about the class first.
    loss_table_ : ndarray of shape (n_features + 1, max_k + 1)
        The leave-one-out losses of the first 0, 1, … n features, with 0, 1, … max_k parents. Features without any value
        have no row.
    parents_ : dict
        The features on which each chosen feature depends beside the class, the most telling first.

    Notes
    -----
    :meth:`fit_batches` learns from rows that need not fit into memory. ``partial_fit`` keeps the choice of the first
    batch, and adds to its counts.

    Leaving a row out takes it away from the counts of its class, at every level of the smoothing; what is learned from
    all rows together (order, parents, bins, strengths of the smoothing) stays. A row of weight w counts like w
    rows, each of them left out singly. Where a parent is missing, it and those after it are left out of that factor
    while choosing; the model that is chosen sums missing values out.

    References
    ----------
    A. M. Martínez, G. I. Webb, S. Chen, N. A. Zaidi (2016). Scalable learning of Bayesian network classifiers. Journal
    of Machine Learning Research 17 (44), 1–35.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.SelectiveKDBClassifier(max_k=2).fit(tb.datasets.play_tennis(), "play")
    >>> clf.selected_, clf.k_
    (['outlook', 'humidity', 'wind'], 1)
    >>> clf.loss_table_[3].round(3).tolist()  # of three features, with no, one and two parents
    [0.642, 0.536, 0.563]
    """

    parts = (Families, Selection)

    max_k: int = 5
    _: KW_ONLY
    criterion: str = "log-loss"
    max_cells: int = 1_000_000

    @property
    def k_(self) -> int:
        """The number of parents that was chosen."""
        return int(self.statistics_.selection.k)

    @property
    def selected_(self) -> list[str]:
        """The features that were chosen, the most telling about the class first."""
        return [self.variables_[j].name for j in self.statistics_.selection.selected]

    @property
    def loss_table_(self) -> np.ndarray:
        """The leave-one-out losses of all numbers of features and of parents."""
        losses: np.ndarray = self.statistics_.selection.losses
        return losses

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The features on which each chosen feature depends beside the class, the most telling first."""
        return named_parents(self.variables_, self.model_.parents)

    def fit_batches(
        self,
        source: Source,
        y: str | None = None,
        *,
        weights: str | None = None,
        batch_rows: int = BATCH_ROWS,
        sample_rows: int = SAMPLE_ROWS,
    ) -> Self:
        """Learn from rows that come in batches and need not fit into memory, forgetting what was learned before.

        The rows are read four times. The result is that of :meth:`fit` with all rows at once, given the same bins and
        kinds of columns.

        Parameters
        ----------
        source : path, list of batches, or function without arguments that returns an iterable of them
            A file that :func:`read_table` can read, or batches: frames with the class in column ``y``, or
            pairs (X, y) or triples (X, y, sample_weight). They must be the same each time they are read: instead of
            an iterator give the function that makes it.
        y : str, optional
            The name of the column that holds the classes.
        weights : str, optional
            The name of the column of a file that holds the rows' weights.
        batch_rows : int
            The rows of a batch of a file.
        sample_rows : int
            The number of rows, drawn evenly from all of them, from which the bins of numeric columns are found.

        Returns
        -------
        self

        Notes
        -----
        The first batch decides which columns are categorical. The memory that is needed depends on the batches and on
        the tables (``max_cells``), not on the number of rows.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.play_tennis()
        >>> halves = [table.take(range(7)), table.take(range(7, 14))]
        >>> clf = tb.SelectiveKDBClassifier(max_k=2).fit_batches(halves, "play")
        >>> clf.selected_
        ['outlook', 'humidity', 'wind']
        """
        with replacing_state(self) as learner:
            learner._forget()
            learner.check_parameters()
            check_integer("batch_rows", batch_rows, low=1)
            check_integer("sample_rows", sample_rows, low=1)
            batches = rereadable(source, y, weights=weights, batch_rows=batch_rows)
            seen = look(learner, batches, missing=self.missing, sample_rows=sample_rows, n_jobs=self.n_jobs)
            pairs = pairs_within(sum_pairs(seen, self.n_jobs))
            found = learner._selected(Problem(seen.statistics, seen.tables, pairs, seen.missing))
            learner.adopt(found, seen.target_name)
        return self

    def _check_parameters(self) -> None:
        check_integer("max_k", self.max_k, low=0)
        check_choice("criterion", self.criterion, CRITERIA)
        check_integer("max_cells", self.max_cells, low=1)
        super()._check_parameters()

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the features and parents of least leave-one-out loss; further rows keep the choice."""
        encoding = learn_encoding(examples, before, missing=self.missing)
        table = encoding.table(examples)
        if before is not None:
            further = collect_families(table, before.families.parents, settled=True, n_jobs=self.n_jobs)
            return Statistics.of(examples, encoding, further, before.selection)
        missing = frozenset(j for j, codes in enumerate(table.columns[1:]) if (codes < 0).any())
        pairs = class_pairs(table, self.n_jobs)
        return self._selected(Problem(Statistics.of(examples, encoding), lambda: [table], pairs, missing))

    def _selected(self, problem: Problem) -> Statistics:
        """Return the model of least leave-one-out loss: two passes, one to count and one to leave out.

        Where no class has more than one row, there is nothing to choose by: all features without parents.
        """
        statistics, weight = problem.statistics, problem.statistics.class_weight
        log_prior = log_class_prior(self.class_prior, statistics.target, weight)
        candidates = candidates_of(problem, self.max_k, self.max_cells)
        counts = prefix_counts(candidates, count_candidates(problem, candidates, self.n_jobs))
        losses, alone = np.zeros((1, self.max_k + 1)), weight <= 1.0
        if candidates.ranked:
            factors = factor_tables(candidates, counts, as_table_prior(self.smoothing), self.max_k, self.n_jobs)
            prior = prior_without(weight, log_prior, counted=self.class_prior is None)
            sums = sum_losses(aligned(problem.tables(), alone), factors, prior, self.criterion, self.n_jobs)
            losses = mean_losses(sums, float(weight[~alone].sum()), self.criterion)
        a, k = best_model(losses) if candidates.ranked and not alone.all() else (len(candidates.ranked), 0)
        chosen = dict(list(zip(candidates.ranked, candidates.parents, strict=True))[:a])
        structure = tuple(chosen[j][:k] if j in chosen else None for j in range(len(statistics.variables)))
        kept = {j: counts[j][len(p)] for j, p in enumerate(structure) if p is not None}
        parts = Families(structure, kept), Selection(tuple(chosen), k, losses)
        return replace(statistics, parts={part.name: part for part in parts})
