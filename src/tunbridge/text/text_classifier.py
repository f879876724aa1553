"""Classification of documents from their raw text: naive Bayes for words, and NB-SVM.

Documents are counted class by class; counts of further documents can be added. Everything else follows from the counts
whenever a model is derived: which words are common enough, idf factors, smoothing. So it does not matter in how many
batches the documents came. Only NB-SVM needs all documents at once, and is learned while they are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from tunbridge._core.check import check_choice, check_fitted, check_integer, check_number, shortened
from tunbridge._core.registry import classifier
from tunbridge._core.threads import at_once
from tunbridge.classifiers._rows import ClassPrior, Examples, Frame, Labels, SampleWeight
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Compared
from tunbridge.classifiers.explanation.what_if import Changeable
from tunbridge.data import State
from tunbridge.decisions.importance import METHODS, Importance
from tunbridge.errors import DataError
from tunbridge.probability.smoothing import Laplace, MEstimate, as_smoothing
from tunbridge.text.documents import Background, Documents
from tunbridge.text.explanation import TextExplanation, text_explanations
from tunbridge.text.naive import (
    DenseWeights,
    Weights,
    WordScores,
    bernoulli,
    complement,
    heaviest_words,
    multinomial,
    scaled,
)
from tunbridge.text.nb_svm import check_settings, features, fit_linear, linear_weights, log_count_ratios
from tunbridge.text.reader import TextReader, parts_of_batch
from tunbridge.text.statistics import TextStatistics, collect, overall_of, word_importance
from tunbridge.text.tokens import Tokens
from tunbridge.text.weighting import Selection, Weighting

MULTINOMIAL, BERNOULLI, NB_SVM = "multinomial", "bernoulli", "nb-svm"
COMPLEMENT, NORMALISED = "complement", "normalised-complement"
MODELS = (MULTINOMIAL, BERNOULLI, COMPLEMENT, NORMALISED, NB_SVM)
AUTO = "auto"
_AUTO_WEIGHTING = {BERNOULLI: Weighting("binary"), NB_SVM: Weighting("log", "unit", idf=True, late=True)}


@classifier("text", compared=False)
@dataclass(eq=False, repr=False)
class TextClassifier(BayesClassifier[TextStatistics]):
    r"""Classifier of documents by the words of their raw text.

    The text is split into words (or characters, or n-grams of either), these are counted for each class, and a new
    document gets the class that is most probable given its words. Unseen words are ignored, so that a document that is
    empty, missing or has only unseen words gets the prior.

    Parameters
    ----------
    model : {"multinomial", "bernoulli", "complement", "normalised-complement", "nb-svm"}
        ``"multinomial"``: every position holds word w with P(w | c) = (n_wc + 1) / (n_c + \|vocabulary\|), as in the
        textbooks. ``"bernoulli"``: presence or absence of every known word. ``"complement"``: how badly the words fit
        all other classes; ``"normalised-complement"`` gives the weights of all classes an equal sum. ``"nb-svm"``: a
        linear model that starts from the log-count ratios of naive Bayes; the most accurate.
    tokens : {"words", "letters", "words and marks", "characters"}
        What is counted: runs of letters, digits and underscores; runs of letters; the former and every other character
        such as «!»; or characters, a run of white space counting as one.
    ngrams : int or (int, int)
        The largest number of neighbouring tokens that are counted as one, or the smallest and the largest.
    lower_case : bool
        Whether to convert text to lower case.
    shortest : int
        The smallest number of characters of a word.
    n_buckets : int
        If above 0, words are not kept but hashed into so many buckets, which bounds the memory.
    min_documents : float
        The minimum number of documents that contain a word for it to be used.
    min_count : float
        The minimum number of occurrences of a word for it to be used.
    stop_words : int or collection of str
        How many of the most common words are ignored, or which words.
    counts : {"auto", "raw", "log", "binary"}
        The value of n occurrences of a word in a document: n, log(1 + n), or 1. ``"auto"``: raw, for nb-svm log, for
        Bernoulli binary.
    length : "auto", None, float or "unit"
        Normalisation of document lengths: values are scaled so that they add up to a number, or (``"unit"``) that their
        squares add up to one. ``"auto"``: None, for nb-svm unit.
    idf : "auto" or bool
        Whether words weigh less the more documents contain them. ``"auto"``: False, for nb-svm True.
    smoothing : float, Laplace or MEstimate
        What is added to the count of every word in every class: a number, or m p_w with p_w equal for all words
        (``"uniform"``) or proportional to their frequency in all classes (``"marginal"``).
    class_prior : None, "uniform", mapping or array-like
        P(c); default: the relative frequencies of the classes.
    penalty, centre, beta, max_iter, tol
        For nb-svm: how strongly its weights are held near a share ``centre`` of those of naive Bayes; the interpolation
        of Wang and Manning, 1 for the learned weights, 0 for their mean; the largest number of passes over the
        documents, and the tolerance in nats per document.
    column : str, optional
        The column of a frame that holds the documents, if several columns hold text.
    n_jobs : int, optional
        Threads; ``None`` for all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, statistics_
        As in :class:`NaiveBayesClassifier`; the statistics are sparse counts of words by class.

    Notes
    -----
    Words are looked up by a 64-bit hash; the probability that two of a million different ones collide is 3·10⁻⁸.
    Counts are sparse: memory is proportional to the words that occur in each class, and ``partial_fit`` or an iterator
    of batches reads more documents than fit into memory (nb-svm needs all at once). Further documents may have new
    words and new classes; the result does not depend on how documents are divided into batches.

    Posteriors of long documents are near 0 and 1, because the words of a document are treated as independent;
    :class:`CalibratedClassifier` calibrates them, ``length`` and nb-svm help. :class:`SemiSupervisedClassifier` also
    learns from documents without a class (multinomial and Bernoulli).

    References
    ----------
    T. M. Mitchell (1997). Machine Learning. McGraw-Hill, section 6.10.
    A. McCallum, K. Nigam (1998). A comparison of event models for naive Bayes text classification. AAAI workshop,
    41–48.
    J. D. M. Rennie, L. Shih, J. Teevan, D. R. Karger (2003). Tackling the poor assumptions of naive Bayes text
    classifiers. ICML, 616–623.
    S. Wang, C. D. Manning (2012). Baselines and bigrams: simple, good sentiment and topic classification. ACL, 90–94.

    Examples
    --------
    >>> import tunbridge as tb
    >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon"]
    >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> clf.predict(["cheap lunch meeting"]).tolist()
    ['ham']
    """

    model: str = "multinomial"
    _: KW_ONLY
    tokens: str = "words"
    ngrams: int | tuple[int, int] = 1
    lower_case: bool = True
    shortest: int = 2
    n_buckets: int = 0
    min_documents: float = 1
    min_count: float = 1
    stop_words: int | Collection[str] = 0
    counts: str = "auto"
    length: float | str | None = "auto"
    idf: bool | str = "auto"
    smoothing: float | Laplace | MEstimate = 1.0
    class_prior: ClassPrior = None
    penalty: float = 0.05
    centre: float = 0.5
    beta: float = 1.0
    max_iter: int = 100
    tol: float = 1e-3
    column: str | None = None
    n_jobs: int | None = None

    @property
    def can_continue(self) -> bool:  # type: ignore[override]
        """Whether it can learn from further documents."""
        return self.model != NB_SVM

    @property
    def has_joint(self) -> bool:  # type: ignore[override]
        """Whether the model is a joint distribution of class and words."""
        return self.model in (MULTINOMIAL, BERNOULLI)

    def fit(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> Self:
        """Learn from documents and their classes; earlier results are discarded.

        Parameters
        ----------
        X : documents
            A list of texts, an array, a Series, an Arrow column; a frame, dict or Table with a column of them
            (``column``, if there are several of text); a :class:`pathlib.Path` to a folder that has a subfolder for
            each class (:func:`tunbridge.read_documents`); or an iterator of batches, each ``(texts, y)``,
            ``(texts, y, weights)``, or a frame in which y names the classes: they are counted one after the other, so
            that there may be more than fit into memory.
        y : array-like of shape (n_documents,), or str
            The classes, or the name of the column of X that holds them; None for folders and batches of pairs.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    # Learning

    def _learn(self, X: Frame, y: Labels, classes: Labels, sample_weight: SampleWeight) -> None:
        if not isinstance(X, Iterator):
            super()._learn(X, y, classes, sample_weight)
            return
        self.check_parameters()
        if self.model == NB_SVM:
            raise DataError("nb-svm must have all documents at once; got an iterator of batches. Put them into a list.")
        if sample_weight is not None:
            raise DataError(
                "sample_weight must come with the batches, as (texts, y, weights); got it separately.",
                parameter="sample_weight",
            )
        statistics, name = getattr(self, "statistics_", None), getattr(self, "target_name_", None)
        for batch in X:
            given, labels, weights = parts_of_batch(batch, y)
            statistics, name = self._all_rows(given, labels, classes, weights, statistics, name)
        if statistics is None:
            raise DataError("an iterator must have at least one batch of documents; got none.")
        self.adopt(statistics, name)

    def _described(self) -> dict[str, str]:
        kept = self.statistics_
        column = {"column": kept.column} if kept.column else {}
        return {**column, "model": self.model, "words": f"{kept.amounts.shape[0]} different ones"}

    def _check_parameters(self) -> None:
        check_choice("model", self.model, MODELS)
        check_choice("lower_case", self.lower_case, (True, False))
        check_choice("idf", self.idf, (AUTO, True, False))
        if self.column is not None and not isinstance(self.column, str):
            got = shortened(repr(self.column))
            raise DataError(f"column must be the name of the column of documents; got {got}.", parameter="column")
        self._selection()
        if self._weighting() != _AUTO_WEIGHTING[BERNOULLI] and self.model == BERNOULLI:
            raise DataError("counts, length and idf must be 'auto' for bernoulli, which uses only presence or absence.")
        _check_smoothing(as_smoothing(self.smoothing), self.model)
        check_settings(self.penalty, self.centre, self.max_iter, self.tol)
        check_number("beta", self.beta, low=0, high=1)

    def _tokens(self) -> Tokens:
        low, high = _range(self.ngrams)
        return Tokens(self.tokens, low, high, bool(self.lower_case), self.shortest, self.n_buckets)

    def _selection(self) -> Selection:
        return Selection(self.min_documents, self.min_count, self.stop_words, self._tokens())

    def _weighting(self) -> Weighting:
        auto = _AUTO_WEIGHTING.get(self.model, Weighting())
        counts = auto.counts if self.counts == AUTO else self.counts
        length = auto.length if self.length == AUTO else self.length
        return Weighting(counts, length, auto.idf if self.idf == AUTO else bool(self.idf), auto.late)

    def reader(self) -> TextReader:
        """Return how documents are read."""
        return TextReader(self._tokens(), self.column, self.n_jobs)

    def settled(self, batch: Documents, weights: np.ndarray | None) -> Documents:
        """Return documents with the background of all of them."""
        return replace(batch, background=overall_of(batch, weights, self._weighting()))

    def collect(self, examples: Examples, before: TextStatistics | None) -> TextStatistics:
        """Return the counts of the words of documents."""
        weighting = self._weighting()
        statistics = collect(examples, weighting, self._tokens())
        if self.model != NB_SVM:
            return statistics
        words, overall = self._used(statistics)
        factors = weighting.factors(overall.documents, overall.n_documents)
        linear = fit_linear(
            features(examples.rows, statistics.vocabulary.take(words), weighting, factors),
            self._ratios(statistics, words, overall),
            examples.classes,
            examples.weights,
            penalty=self.penalty,
            centre=self.centre,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
        )
        return replace(statistics, linear=linear)

    def derive(self, statistics: TextStatistics, log_prior: np.ndarray) -> WordScores:
        """Return the scores of the words."""
        words, overall = self._used(statistics)
        weighting = self._weighting() if self.model == BERNOULLI else statistics.weighting  # that of the counts
        factors = weighting.factors(overall.documents, overall.n_documents)
        weights = self._weights(statistics, words, overall, factors)
        return WordScores(statistics.vocabulary.take(words), weights, weighting, log_prior, factors)

    def _used(self, statistics: TextStatistics) -> tuple[np.ndarray, Background]:
        """Return the numbers of the words that the model uses, and what is known of them."""
        overall = statistics.overall
        words = self._selection().words(statistics.vocabulary, overall)
        return words, overall.take(words)

    def _weights(
        self, statistics: TextStatistics, words: np.ndarray, overall: Background, factors: np.ndarray | None
    ) -> Weights | DenseWeights:
        if self.model == NB_SVM:
            if statistics.linear is None or len(statistics.linear.weights) != len(words):
                raise ValueError("its linear weights do not belong to its words")
            ratios = None if self.beta == 1 else self._ratios(statistics, words, overall)
            return linear_weights(statistics.linear, ratios, self.beta)
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
        """Return what smoothing adds to the count of each word, given its count in all classes."""
        rule = as_smoothing(self.smoothing)
        if isinstance(rule, Laplace):
            return np.full(len(totals), float(rule.gamma))
        m = float(len(totals) if rule.m == "n_states" else rule.m)
        share = totals / totals.sum() if rule.p == "marginal" else np.full(len(totals), 1.0 / max(1, len(totals)))
        return m * share

    # Explanations

    def explain(self, X: Frame, label: State | None = None, against: State | None = None) -> Any:
        """Return why each document gets its class: the words for and against it, and their places in the text.

        Parameters
        ----------
        X : as in :meth:`fit`, or one text
            The documents, or one.
        label : class, optional
            The class to explain; default: the most probable one.
        against : class, optional
            The class to compare it with; default: the most probable of the others.

        Returns
        -------
        TextExplanation, or list of TextExplanation if X is several documents

        Examples
        --------
        >>> import tunbridge as tb
        >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon now"]
        >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> print(clf.explain("Cheap lunch, cheap watches!"))
        spam rather than ham: P(spam) = 0.941
        <BLANKLINE>
          [Cheap +1.2] lunch, [cheap +1.2] [watches +0.84]!
        <BLANKLINE>
        word     times   weight    odds ×
        prior             +0.00         1
        cheap        2    +2.48        12  ++++++++++++
        watches      1    +0.84      2.31  ++++
        lunch        1    -0.55     0.577  ---
        sum               +2.77        16
        """
        return super().explain(X, label, against)

    def reasons(self, batch: Documents, compared: list[Compared]) -> list[TextExplanation]:
        """Return why each document has one class rather than another."""
        absence = self.model == BERNOULLI
        return text_explanations(self._model, self.statistics_.tokens, batch, compared, absence_counts=absence)

    @at_once
    def importance(self, method: str = "information") -> Importance:
        """Return how much each word says about the class over all training documents.

        Parameters
        ----------
        method : {"information", "weight"}
            The mutual information of the class and the presence of the word in a document; or, for the Bernoulli model,
            the expected weight of evidence: how far the presence or absence of the word moves the log-odds of the true
            class on average.

        Returns
        -------
        Importance
            A mapping of words to nats, the most important first; printed, it shows the first ones.

        Examples
        --------
        >>> import tunbridge as tb
        >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon now"]
        >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> {word: round(nats, 2) for word, nats in clf.importance().items() if nats > 0.5}
        {'cheap': 0.69, 'at': 0.69, 'noon': 0.69}
        """
        check_fitted(self)
        check_choice("method", method, METHODS)
        if method == "weight" and self.model != BERNOULLI:
            raise DataError(
                "method='weight' needs the probability that a word is in a document, which only model='bernoulli' has; "
                f"got {self.model!r}. Use method='information'.",
                parameter="method",
            )
        return word_importance(self._model, self.statistics_, method)

    def top_words(self, label: object, n: int = 10) -> dict[str, float]:
        """Return the words with the largest weights for a class, the heaviest first.

        The weight is what a word adds to the score of the class in a text of this word alone, minus the mean of what it
        adds to the scores of the other classes: with two classes, what it adds to the log-odds.

        Parameters
        ----------
        label : class
            The class.
        n : int
            The largest number of words.

        Examples
        --------
        >>> import tunbridge as tb
        >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon now"]
        >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> {word: round(weight, 2) for word, weight in clf.top_words("ham", 2).items()}
        {'at': 0.96, 'noon': 0.96}
        """
        check_fitted(self)
        check_integer("n", n, low=1)
        return heaviest_words(self._model, self.statistics_.target.code(label), n)

    def what_if(self, X: Frame, *, to: State | None = None, features: Changeable = None) -> NoReturn:
        """Raise an error: a text has no features to change; :meth:`explain` shows what each word adds."""
        raise DataError("what_if must have features in columns; a text has none. explain shows what words add.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags

    @classmethod
    def _statistics(cls, content: Mapping[str, Any]) -> TextStatistics:
        return TextStatistics.from_content(content)


def _range(ngrams: int | tuple[int, int]) -> tuple[int, int]:
    """Return the smallest and the largest number of units of an n-gram."""
    if isinstance(ngrams, (tuple, list)) and len(ngrams) == 2:
        return ngrams[0], ngrams[1]
    if isinstance(ngrams, (tuple, list)):
        got = shortened(repr(ngrams))
        raise DataError(f"ngrams must be a number or (fewest, most); got {got}.", parameter="ngrams")
    return 1, ngrams


def _check_smoothing(rule: Laplace | MEstimate, model: str) -> None:
    if (rule.gamma if isinstance(rule, Laplace) else rule.m) == 0:
        raise DataError(
            "smoothing must be above 0 for words: most documents have some that are new to their class; got 0.",
            parameter="smoothing",
        )
    if isinstance(rule, Laplace) or rule.p == "uniform":
        return
    if isinstance(rule.p, Mapping) or model == BERNOULLI:
        allowed = "'uniform' for bernoulli" if model == BERNOULLI else "'uniform' or 'marginal' for words"
        got = shortened(repr(rule.p))
        raise DataError(f"p of the m-estimate must be {allowed}; got {got}.", parameter="smoothing")
