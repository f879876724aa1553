"""Documents classified from their raw text: naive Bayes in its forms for words, and what can be built on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_choice, check_whole, shortened
from tunbridge._threads import n_threads
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.data import Variable
from tunbridge.decisions.importance import METHODS, Importance
from tunbridge.errors import DataError
from tunbridge.probability.smoothing import as_smoothing
from tunbridge.text.documents import Documents, TextReader, parts_of_batch
from tunbridge.text.importance import heaviest_words, word_importance
from tunbridge.text.nb_svm import LinearSettings
from tunbridge.text.reasons import text_explanations
from tunbridge.text.recipe import BERNOULLI, MODELS, MULTINOMIAL, NB_SVM, Recipe, usual_weighting
from tunbridge.text.selection import Selection
from tunbridge.text.statistics import TextStatistics, statistics_content, statistics_of
from tunbridge.text.tokens import Tokens
from tunbridge.text.weighting import Weighting
from tunbridge.text.word_scores import WordScores

AUTO = "auto"


class TextClassifier(BayesClassifier):
    r"""Documents classified from their raw text by the words in them.

    The text is cut into words (or characters, or n-grams of either), these are counted for each class, and a new
    document gets the class that is most probable given its words. Words that were never learned say nothing, so that a
    document that is empty, missing or all unknown gets the prior.

    Parameters
    ----------
    model : {"multinomial", "bernoulli", "complement", "normalised-complement", "nb-svm"}
        How words speak for classes. ``"multinomial"``: every position holds word w with P(w | c) = (n_wc + 1) / (n_c +
        \|vocabulary\|), as in the textbooks. ``"bernoulli"``: every known word is there or not. ``"complement"``: by
        how badly the words fit all other classes, the weights of which ``"normalised-complement"`` gives an equal sum.
        ``"nb-svm"``: a linear model that starts from the log-count ratios of naive Bayes; the most accurate.
    tokens : {"words", "letters", "words and marks", "characters"}
        What is counted: runs of letters, digits and underscores; runs of letters only; the former and every other
        character by itself, such as «!»; or characters, a run of white space counting as one.
    ngrams : int or (int, int)
        The most neighbouring tokens that are counted as one, or (fewest, most).
    lower_case : bool
        Whether capital letters count as small ones.
    shortest : int
        The fewest characters of a word.
    n_buckets : int
        With a number above 0 words are not kept: each counts for one of so many hash buckets, so that memory is
        bounded however many different ones there are.
    min_documents, min_count : float
        In how many documents a word must be, and how often it must occur, to be used.
    stop_words : int or collection of str
        How many of the commonest words are not used, or which are not.
    counts : {"auto", "raw", "log", "binary"}
        What n occurrences of a word in a document count: n, log(1 + n), or 1. ``"auto"`` is raw, for nb-svm log, for
        Bernoulli binary.
    length : "auto", None, float or "unit"
        Whether long documents have no more to say than short ones: their values are divided so that they add up to a
        number, or (``"unit"``) that their squares add up to one. ``"auto"`` is None, for nb-svm unit.
    idf : "auto" or bool
        Whether words weigh less the more documents have them. ``"auto"`` is False, for nb-svm True.
    smoothing : float, Laplace or MEstimate
        What is added to the count of every word in every class: a number, or m p_w with p_w equal for all words
        (``"uniform"``) or by how common they are in all classes (``"marginal"``).
    class_prior : None, "uniform", mapping or array-like
        P(c): the shares of the classes among the documents by default.
    penalty, centre, beta, max_iter, tol
        Of nb-svm: how firmly its weights are held near a share ``centre`` of the naive ones; the interpolation of Wang
        and Manning, 1 for what was learned, 0 for its mean; the most passes over the documents, and how far (in nats a
        document) from the best it may end.
    column : str, optional
        Which column of a frame holds the documents, where several are of text.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, statistics_
        As in :class:`NaiveBayesClassifier`; the statistics are sparse counts of words by class.

    Notes
    -----
    Words are found again by a 64-bit hash; that two of a million different ones are taken for one has a probability of
    3·10⁻⁸. Counts are sparse: memory follows the words that occur in each class, and ``partial_fit`` or an iterator of
    batches reads more documents than memory holds (nb-svm needs all at once). Further documents may bring new words
    and new classes; what is learned does not depend on how documents are dealt to batches.

    Posteriors of long documents are near 0 and 1, because the words of a document are counted as if each were evidence
    of its own; :class:`CalibratedClassifier` around it puts them right, ``length`` and nb-svm help. With
    :class:`SemiSupervisedClassifier` around it documents without a class are learned from as well (multinomial and
    Bernoulli).

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

    kind = "text"

    @property
    def _goes_on(self) -> bool:  # type: ignore[override]
        return self.model != NB_SVM

    @property
    def _has_joint(self) -> bool:  # type: ignore[override]
        return self.model in (MULTINOMIAL, BERNOULLI)

    def __init__(
        self,
        model: str = "multinomial",
        *,
        tokens: str = "words",
        ngrams: int | tuple[int, int] = 1,
        lower_case: bool = True,
        shortest: int = 2,
        n_buckets: int = 0,
        min_documents: float = 1,
        min_count: float = 1,
        stop_words: Any = 0,
        counts: str = "auto",
        length: float | str | None = "auto",
        idf: bool | str = "auto",
        smoothing: Any = 1.0,
        class_prior: Any = None,
        penalty: float = 0.05,
        centre: float = 0.5,
        beta: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-3,
        column: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.tokens = tokens
        self.ngrams = ngrams
        self.lower_case = lower_case
        self.shortest = shortest
        self.n_buckets = n_buckets
        self.min_documents = min_documents
        self.min_count = min_count
        self.stop_words = stop_words
        self.counts = counts
        self.length = length
        self.idf = idf
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.penalty = penalty
        self.centre = centre
        self.beta = beta
        self.max_iter = max_iter
        self.tol = tol
        self.column = column
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents and their classes, forgetting what was learned before.

        Parameters
        ----------
        X : documents
            A list of texts, an array, a Series, an Arrow column; a frame, dict or Table that has them in a column
            (``column`` says which, where there are several of text); a :class:`pathlib.Path` to a folder that has a
            subfolder for each class (:func:`tunbridge.read_documents`); or an iterator of batches, each ``(texts, y)``,
            ``(texts, y, weights)``, or a frame in which y names the classes: they are counted one after the other, so
            that there may be more than memory holds.
        y : array-like of shape (n_documents,), or str
            The classes, or the name of the column of X that holds them; nothing for folders and batches of pairs.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    # What the base asks for

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        if not hasattr(X, "__next__"):
            super()._learn_batch(X, y, classes, sample_weight)
            return
        n_threads(self.n_jobs)
        self._check_parameters()
        if self.model == NB_SVM:
            raise DataError("nb-svm must have all documents at once; got an iterator of batches. Put them into a list.")
        if sample_weight is not None:
            raise DataError("sample_weight must come with the batches, as (texts, y, weights); got it beside them.")
        statistics, name = getattr(self, "statistics_", None), getattr(self, "target_name_", None)
        for batch in X:
            given, labels, weights = parts_of_batch(batch, y)
            statistics, name = self._gathered(given, labels, classes, weights, statistics, name)
        if statistics is None:
            raise DataError("an iterator must give at least one batch of documents; got none.")
        self._adopt(statistics, name)

    def _check_parameters(self) -> None:
        check_choice("model", self.model, MODELS)
        check_choice("lower_case", self.lower_case, (True, False))
        check_choice("idf", self.idf, (AUTO, True, False))
        if self.column is not None and not isinstance(self.column, str):
            raise DataError(f"column must be the name of the column of documents; got {shortened(repr(self.column))}.")
        self._recipe()

    def _recipe(self) -> Recipe:
        """Return the parameters as what they stand for."""
        return Recipe(
            self.model,
            self._weighting(),
            Selection(self.min_documents, self.min_count, self.stop_words, self._tokens()),
            as_smoothing(self.smoothing),
            LinearSettings(self.penalty, self.centre, self.beta, self.max_iter, self.tol),
        )

    def _tokens(self) -> Tokens:
        low, high = _range(self.ngrams)
        return Tokens(self.tokens, low, high, bool(self.lower_case), self.shortest, self.n_buckets)

    def _weighting(self) -> Weighting:
        usual = usual_weighting(self.model)
        counts = usual.counts if self.counts == AUTO else self.counts
        length = usual.length if self.length == AUTO else self.length
        return Weighting(counts, length, usual.idf if self.idf == AUTO else bool(self.idf), usual.late)

    def _reader(self) -> TextReader:
        return TextReader(self._tokens(), self.column, self.n_jobs)

    def _settled(self, batch: Documents, weights: np.ndarray | None) -> Documents:
        return self._recipe().settled(batch, weights)

    def _collect(
        self, batch: Documents, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> TextStatistics:
        return self._recipe().collect(batch, classes, target, weights, self.n_jobs)

    def _derive(self, statistics: TextStatistics, log_prior: np.ndarray) -> WordScores:
        return self._recipe().derive(statistics, log_prior)

    # Reasons

    def explain(self, X: Any, label: Any = None, against: Any = None) -> Any:
        """Return why each document is given its class: the words that spoke for and against it, and where they stand.

        Parameters
        ----------
        X : as in :meth:`fit`, or one text
            The documents, or one.
        label : class, optional
            The class to explain; the most probable one by default.
        against : class, optional
            The class to compare it with; the most probable of the others by default.

        Returns
        -------
        TextExplanation, or list of TextExplanation when X holds documents

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

    def _reasons(self, batch: Documents, compared: list[tuple[int, int]], probabilities: np.ndarray) -> list[Any]:
        return text_explanations(
            self._model,
            self.statistics_.tokens,
            batch,
            compared,
            classes=self.classes_.tolist(),
            probabilities=probabilities,
            absence_speaks=self.model == BERNOULLI,
        )

    def importance(self, method: str = "information") -> Importance:
        """Return what each word tells about the class over all documents that were learned from.

        Parameters
        ----------
        method : {"information", "weight"}
            The mutual information of the class with whether the word is in a document; or, of the Bernoulli model, the
            expected weight of evidence, by which the word, being there or not, moves the log-odds of the true class on
            average.

        Returns
        -------
        Importance
            A mapping of words to nats, the most important first; as text it shows the first ones.

        Examples
        --------
        >>> import tunbridge as tb
        >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon now"]
        >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> {word: round(nats, 2) for word, nats in clf.importance().items() if nats > 0.5}
        {'cheap': 0.69, 'at': 0.69, 'noon': 0.69}
        """
        check_is_fitted(self)
        check_choice("method", method, METHODS)
        if method == "weight" and self.model != BERNOULLI:
            raise DataError(
                "the expected weight of evidence must come from how probable a word is in a document, which only "
                f"model='bernoulli' says; got {self.model!r}. Use method='information'."
            )
        return word_importance(self._model, self.statistics_, method)

    def top_words(self, label: Any, n: int = 10) -> dict[str, float]:
        """Return the words that speak most for a class, and by how much, the heaviest first.

        The weight is what a word adds to the score of the class in a text that holds nothing else, less the mean of
        what it adds to the scores of the others: with two classes, what it adds to the log-odds.

        Parameters
        ----------
        label : class
            The class.
        n : int
            How many words at most.

        Examples
        --------
        >>> import tunbridge as tb
        >>> texts = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon now"]
        >>> clf = tb.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> {word: round(weight, 2) for word, weight in clf.top_words("ham", 2).items()}
        {'at': 0.96, 'noon': 0.96}
        """
        check_is_fitted(self)
        check_whole("n", n, low=1)
        return heaviest_words(self._model, self.statistics_.target.code(label), n)

    def what_if(self, X: Any, *, to: Any = None, features: Any = None) -> Any:
        """Raise: a text has no features to change; :meth:`explain` shows what each word adds."""
        raise DataError("what_if must have features in columns; a text has none. explain shows what words add.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags

    @staticmethod
    def _content(statistics: TextStatistics) -> dict[str, Any]:
        return statistics_content(statistics)

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> TextStatistics:
        return statistics_of(content)


def _range(ngrams: Any) -> tuple[Any, Any]:
    """Return the fewest and the most units of an n-gram."""
    if isinstance(ngrams, (tuple, list)) and len(ngrams) == 2:
        return ngrams[0], ngrams[1]
    if isinstance(ngrams, (tuple, list)):
        raise DataError(f"ngrams must be a number or (fewest, most); got {shortened(repr(ngrams))}.")
    return 1, ngrams
