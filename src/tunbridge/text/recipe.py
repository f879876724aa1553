"""From documents to a model: which words are taken, what their counts become, and what the model makes of these.

Documents are counted first, class by class; counts of further documents can be added to that. Everything else follows
from the counts whenever a model is derived: which words are common enough, how much less a word weighs the more
documents have it, what smoothing adds. So it does not matter in how many parts the documents came. Only NB-SVM has to
see all documents at once, and learns from them while they are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tunbridge._check import check_choice, shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.smoothing import Laplace, MEstimate
from tunbridge.text.documents import Background, Documents
from tunbridge.text.naive import bernoulli, complement, multinomial, scaled
from tunbridge.text.nb_svm import LinearSettings, features, linear_of_words, linear_weights, log_count_ratios
from tunbridge.text.selection import Selection
from tunbridge.text.statistics import TextStatistics, collect, overall_of
from tunbridge.text.weighting import Weighting
from tunbridge.text.word_scores import DenseWeights, Weights, WordScores

MULTINOMIAL, BERNOULLI, NB_SVM = "multinomial", "bernoulli", "nb-svm"
COMPLEMENT, NORMALISED = "complement", "normalised-complement"
MODELS = (MULTINOMIAL, BERNOULLI, COMPLEMENT, NORMALISED, NB_SVM)
_USUAL = {BERNOULLI: Weighting("binary"), NB_SVM: Weighting("log", "unit", idf=True, late=True)}


def usual_weighting(model: str) -> Weighting:
    """Return what counts of words become for a model, if nothing else is said."""
    return _USUAL.get(model, Weighting())


@dataclass(frozen=True)
class Recipe:
    """How a text classifier learns.

    Parameters
    ----------
    model : {"multinomial", "bernoulli", "complement", "normalised-complement", "nb-svm"}
        How words speak for classes.
    weighting : Weighting
        What their counts become.
    selection : Selection
        Which of them are used, and how documents are cut into them.
    smoothing : Laplace or MEstimate
        What is added to the count of every word in every class.
    linear : LinearSettings
        How the linear model of NB-SVM is learned.
    """

    model: str
    weighting: Weighting
    selection: Selection
    smoothing: Laplace | MEstimate
    linear: LinearSettings

    def __post_init__(self) -> None:
        check_choice("model", self.model, MODELS)
        if self.model == BERNOULLI and self.weighting != usual_weighting(BERNOULLI):
            raise DataError("counts, length and idf must be 'auto' for bernoulli: to it a word is there, or it is not.")
        rule = self.smoothing
        if (rule.gamma if isinstance(rule, Laplace) else rule.m) == 0:
            raise DataError(
                "smoothing must be above 0 for words: most documents have some that their class has not had; got 0."
            )
        if isinstance(rule, Laplace) or rule.p == "uniform":
            return
        if isinstance(rule.p, Mapping) or self.model == BERNOULLI:
            allowed = "'uniform' here" if self.model == BERNOULLI else "'uniform' or 'marginal' for words"
            raise DataError(f"p of the m-estimate must be {allowed}; got {shortened(repr(rule.p))}.")

    def settled(self, batch: Documents, weights: np.ndarray | None) -> Documents:
        """Return documents, some of them without a class, with what all of them say of words."""
        return replace(batch, background=overall_of(batch, weights, self.weighting))

    def collect(
        self,
        batch: Documents,
        classes: np.ndarray,
        target: Variable,
        weights: np.ndarray | None,
        n_jobs: int | None = None,
    ) -> TextStatistics:
        """Return the statistics of documents, for NB-SVM with the linear model that is learned from them."""
        statistics = collect(batch, classes, target, weights, self.weighting, self.selection.tokens)
        if self.model != NB_SVM:
            return statistics
        words, overall = self._used(statistics)
        factors = self.weighting.factors(overall.documents, overall.n_documents)
        found = features(batch.counts, statistics.vocabulary.take(words), self.weighting, factors)
        ratios = self._ratios(statistics, words, overall)
        return replace(statistics, linear=self.linear.learn(found, ratios, classes, weights, n_jobs))

    def derive(self, statistics: TextStatistics, log_prior: np.ndarray) -> WordScores:
        """Return the model that follows from statistics, by the weighting with which these were collected."""
        words, overall = self._used(statistics)
        weighting = statistics.weighting if self.model != BERNOULLI else self.weighting
        factors = weighting.factors(overall.documents, overall.n_documents)
        weights = self._weights(statistics, words, overall, factors)
        return WordScores(statistics.vocabulary.take(words), weights, weighting, log_prior, factors)

    def _used(self, statistics: TextStatistics) -> tuple[np.ndarray, Background]:
        """Return the numbers of the words that the model knows, and what is known of them."""
        overall = statistics.overall
        words = self.selection.words(statistics.vocabulary, overall)
        return words, overall.take(words)

    def _weights(
        self, statistics: TextStatistics, words: np.ndarray, overall: Background, factors: np.ndarray | None
    ) -> Weights | DenseWeights:
        if self.model == NB_SVM:
            found, beta = linear_of_words(statistics.linear, len(words)), self.linear.beta
            return linear_weights(found, None if beta == 1 else self._ratios(statistics, words, overall), beta)
        if self.model == BERNOULLI:
            return bernoulli(statistics.documents[words], statistics.class_weight, self._added(np.ones(2))[0])
        amounts, totals = statistics.amounts[words], overall.amounts
        if factors is not None:
            amounts, totals = scaled(amounts, factors), totals * factors
        added = self._added(totals)
        if self.model == MULTINOMIAL:
            return multinomial(amounts, added)
        return complement(amounts, added, normalise=self.model == NORMALISED)

    def _ratios(self, statistics: TextStatistics, words: np.ndarray, overall: Background) -> np.ndarray:
        return log_count_ratios(statistics.documents[words], self._added(overall.documents))

    def _added(self, totals: np.ndarray) -> np.ndarray:
        """Return what smoothing adds to the count of each word, given the counts in all classes."""
        rule = self.smoothing
        if isinstance(rule, Laplace):
            return np.full(len(totals), float(rule.gamma))
        m = float(len(totals) if rule.m == "n_states" else rule.m)
        share = totals / totals.sum() if rule.p == "marginal" else np.full(len(totals), 1.0 / max(1, len(totals)))
        return m * share
