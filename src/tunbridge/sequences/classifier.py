"""Sequences of symbols, each class with its own chain of letters.

Which stretch of DNA is a promoter, which language is a name from, which log of events ends badly? Each class is given a
distribution of sequences, and Bayes' rule turns them round:

    P(c | x) ∝ P(c) Π_i P(x_i | context_i, c).

Three kinds of context make three models. Without any the letters are drawn from a bag (order 0). With the k letters
before each one they form a Markov chain of order k. With the place, sequences are aligned and of one length, and every
place has its own distribution, with ``order`` > 0 given the letters before it (the weight array model of splice sites).

What was seldom met is estimated from shorter contexts (:mod:`tunbridge.sequences.smoothing`); how many letters to look
back can be chosen from the counts (:mod:`tunbridge.sequences.orders`).

References
----------
R. Durbin, S. Eddy, A. Krogh, G. Mitchison (1998). Biological Sequence Analysis, chapter 3. Cambridge University Press.

R. Staden (1984). Computer methods to locate signals in nucleic acid sequences. Nucleic Acids Research 12, 505–519.

M. O. Zhang, T. G. Marr (1993). A weight array method for splicing signal analysis. Computer Applications in the
Biosciences 9, 499–509.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_choice, check_number, check_whole
from tunbridge.classifiers.base import BayesClassifier, difference
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.sequences.alphabets import Rules, rules_of
from tunbridge.sequences.explanation import log_ratios, sequence_explanation
from tunbridge.sequences.gathering import Settings, gather
from tunbridge.sequences.model import SequenceModel, model_of
from tunbridge.sequences.reader import SequenceReader
from tunbridge.sequences.sequence_rows import Sequences
from tunbridge.sequences.statistics import SequenceStatistics, statistics_content, statistics_of
from tunbridge.sequences.stream import SequenceStream

MODELS = ("markov", "position")
CHOICES = ("cv", "bic")
_AUTO = "auto"


class SequenceClassifier(BayesClassifier):
    """Bayesian classifier of sequences of symbols: Markov chains, bags of letters, or place by place.

    Parameters
    ----------
    model : {"markov", "position"}
        ``"markov"``: sequences of any length; each symbol depends on the ``order`` symbols before it, and with order 0
        on none (a bag of letters). ``"position"``: aligned sequences of one length; each place has its own
        distribution, given the ``order`` symbols before it.
    order : int, "cv" or "bic"
        The number of symbols to look back; ``"cv"`` and ``"bic"`` choose it, from 0 to ``max_order``: by how well the
        classes of sequences that are left out are predicted (5 folds, dealt by what the sequences hold), or by the
        Bayesian information criterion.
    max_order : int
        The highest order that is looked at where it is to be chosen.
    smoothing : "auto" or float
        How many imagined symbols m the estimate from a shorter context is worth,
        P_k(s | context) = (n(context, s) + m P_{k−1}(s | shorter context)) / (n(context) + m); ``"auto"`` chooses m for
        each level and class by leaving out each symbol in turn. 0 takes frequencies as they are.
    ends : bool
        Whether a chain knows where sequences begin and end: the first symbols then depend on being the first, and the
        end is one more outcome, so that lengths speak too. Without it sequences are pieces of something longer. The
        position-specific model takes no notice.
    column : str, optional
        Which column of a frame holds the sequences, where there are several.
    alphabet : text or list of symbols, optional
        The symbols; those of the training sequences by default. Others are unknown.
    gaps : text or list of symbols, optional
        Symbols that stand for what is unknown, such as ``"N-"`` in DNA.
    ignore_case : bool
        Whether capitals are small letters.
    class_prior : None, "uniform", mapping of class to probability, or array-like
        The prior of the classes; None takes their relative frequencies.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, statistics_
        As in :class:`NaiveBayesClassifier`.
    alphabet_ : tuple
        The symbols, sorted.
    order_ : int
        The order that is used.
    order_scores_ : dict of int to float
        The score of each order, where one was to be chosen: Σ log P(c | x) of what was left out, or BIC; in nats.
    strengths_ : dict
        For each class the strengths m of back-off, from the bag of letters upwards.

    Notes
    -----
    X is a list, array, Series or Arrow column of sequences, or a frame with such a column. A text is a sequence of its
    characters; anything else a sequence of the texts or whole numbers in it. At prediction X may also be one sequence
    that can be nothing else: a text, a list of whole numbers, or a row of a frame.

    A symbol that is unknown (None, a gap, or not in the alphabet; one warning names what was not learned) adds nothing.
    Symbols behind it depend on those that come after it only: their contexts are shorter. A sequence in which no symbol
    is known, an empty one among them, gets the prior, whatever ``ends`` says.

    In a stream the first symbols depend on being the first, and the end speaks when ``finish`` is called; for a stream
    that is looked into somewhere and has no end, learn with ``ends=False``.

    ``partial_fit`` gives what ``fit`` would have given with all sequences at once: everything follows from counts, also
    the choice of the order by ``"bic"``. Only ``"cv"`` needs the sequences themselves; the first ones settle it. New
    symbols and classes are welcome.

    Learning takes a few nanoseconds a symbol, a little more where contexts are too many for a table.

    References
    ----------
    R. Durbin, S. Eddy, A. Krogh, G. Mitchison (1998). Biological Sequence Analysis, chapter 3.

    Examples
    --------
    >>> import tunbridge as tb
    >>> names = ["anna", "hanna", "nina", "otto", "bruno", "hugo"]
    >>> clf = tb.SequenceClassifier(order=1).fit(names, ["f", "f", "f", "m", "m", "m"])
    >>> clf.predict(["nana", "bunto"]).tolist()
    ['f', 'm']
    """

    kind = "sequence"

    def __init__(
        self,
        model: str = "markov",
        order: Any = 1,
        *,
        max_order: int = 5,
        smoothing: Any = _AUTO,
        ends: bool = True,
        column: str | None = None,
        alphabet: Any = None,
        gaps: Any = None,
        ignore_case: bool = False,
        class_prior: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.order = order
        self.max_order = max_order
        self.smoothing = smoothing
        self.ends = ends
        self.column = column
        self.alphabet = alphabet
        self.gaps = gaps
        self.ignore_case = ignore_case
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    @property
    def alphabet_(self) -> tuple[Any, ...]:
        """The symbols, sorted."""
        return tuple(self._fitted.statistics.alphabet)

    @property
    def order_(self) -> int:
        """The order that is used."""
        return self._fitted.order

    @property
    def order_scores_(self) -> dict[int, float]:
        """The score of each order, where one was to be chosen."""
        return dict(enumerate(self._fitted.order_scores))

    @property
    def strengths_(self) -> dict[Any, tuple[float, ...]]:
        """For each class the strengths of back-off, from the bag of letters upwards."""
        return dict(zip(self.classes_.tolist(), self._fitted.strengths, strict=True))

    @property
    def _fitted(self) -> SequenceModel:
        check_is_fitted(self)
        model: SequenceModel = self._model
        return model

    def _check_parameters(self) -> None:
        check_choice("model", self.model, MODELS)
        if isinstance(self.order, str):
            check_choice("order", self.order, CHOICES)
            check_whole("max_order", self.max_order, low=0)
        else:
            check_whole("order (a number of symbols, 'cv' or 'bic')", self.order, low=0)
        if not (isinstance(self.smoothing, str) and self.smoothing == _AUTO):
            check_number("smoothing (a number of symbols, or 'auto')", self.smoothing, low=0)
        if not isinstance(self.ends, bool):
            raise DataError(f"ends must be True or False; got {self.ends!r}.")
        if self.column is not None and not isinstance(self.column, str):
            raise DataError(f"column must be the name of a column, or None; got {self.column!r}.")
        self._rules()

    def _rules(self) -> Rules:
        return rules_of(self.alphabet, self.gaps, ignore_case=self.ignore_case)

    def _reader(self) -> SequenceReader:
        learned = getattr(self, "statistics_", None)
        return SequenceReader(self.column, self._rules(), self.n_jobs, None if learned is None else learned.column)

    # Learning

    def _collect(
        self, batch: Sequences, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> SequenceStatistics:
        settings = Settings(
            rules=self._rules(),
            order=int(self.max_order if isinstance(self.order, str) else self.order),
            cross_validate=self.order == "cv",
            ends=self.ends,
            places=self.model == "position",
            strength=self._strength,
            class_prior=self.class_prior,
            n_jobs=self.n_jobs,
        )
        return gather(batch, classes, target, weights, before, settings)

    def _settled(self, batch: Sequences, weights: np.ndarray | None) -> Sequences:
        return batch.with_expected(weights, self.n_jobs)

    def _derive(self, statistics: SequenceStatistics, log_prior: np.ndarray) -> SequenceModel:
        by_bic, how = self.order == "bic", self._strength
        return model_of(statistics, log_prior, self._rules(), strength=how, by_bic=by_bic, n_jobs=self.n_jobs)

    @property
    def _strength(self) -> float | None:
        return None if isinstance(self.smoothing, str) else float(self.smoothing)

    # Answers

    def explain(self, X: Any, label: Any = None, against: Any = None) -> Any:
        """Return why each sequence is given its class: what every symbol adds to the log-odds.

        Parameters
        ----------
        X : text, list of whole numbers, or as in :meth:`fit`
            One sequence, or sequences. (A list of texts is a list of sequences.)
        label : class, optional
            The class to explain; the most probable one by default.
        against : class, optional
            The class to compare it with; the most probable of the others by default.

        Returns
        -------
        SequenceExplanation, or list of SequenceExplanation when X holds sequences

        Examples
        --------
        >>> import tunbridge as tb
        >>> names = ["anna", "hanna", "nina", "otto", "bruno", "hugo"]
        >>> clf = tb.SequenceClassifier(order=1, smoothing=2).fit(names, ["f", "f", "f", "m", "m", "m"])
        >>> print(clf.explain("hannah"))
        f rather than m: P(f) = 1, 6 symbols
        <BLANKLINE>
              1  hannah
                  ▲++▲-
        <BLANKLINE>
          place  symbol     weight
              2  a           +4.36
              5  a           +4.20
              4  n           +2.04
              3  n           +1.77
              6  h           -1.25
        <BLANKLINE>
                    prior    +0.00
                  symbols   +11.10
                      end    +0.00
                      sum   +11.10
        """
        return super().explain(X, label, against)

    def _reasons(self, batch: Any, compared: list[tuple[int, int]], probabilities: np.ndarray) -> list[Any]:
        model, classes = self._fitted, self.classes_.tolist()
        own, rows = set(model.statistics.alphabet), model.coded(batch)
        known = {s for s in batch.alphabet if model.rules.symbol(s) in own}
        found = []
        for row, (c, d) in enumerate(compared):
            terms, symbols = model.symbol_terms(rows, row), batch.symbols(row)
            told = sequence_explanation(
                (classes[c], classes[d]),
                prior=difference(self.class_log_prior_[c], self.class_log_prior_[d]),
                symbols=symbols,
                weights=log_ratios(terms[:, c], terms[:, d]),
                ends=model.statistics.ends,
                probabilities=dict(zip(classes, probabilities[row].tolist(), strict=True)),
                unknown=[i for i, s in enumerate(symbols, start=1) if s not in known],
            )
            found.append(told)
        return found

    def stream(self) -> SequenceStream:
        """Return the beginning of a sequence that will come in pieces.

        Examples
        --------
        >>> import tunbridge as tb
        >>> clf = tb.SequenceClassifier(ends=False).fit(["abab", "bbbb"], ["x", "y"])
        >>> stream = clf.stream().update("ab").update("a")
        >>> stream.n_symbols, bool(abs(stream.proba - clf.predict_proba(["aba"])[0]).max() < 1e-12)
        (3, True)
        """
        return SequenceStream(self._fitted, self.statistics_.target)

    def follow(self, pieces: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yield P(c | symbols so far), in the order of ``classes_``, after each piece of one sequence.

        Parameters
        ----------
        pieces : iterable of texts or lists of symbols
            The sequence as it comes in, for example the lines of a file or of a pipe; a text gives its letters.

        Examples
        --------
        >>> import tunbridge as tb
        >>> clf = tb.SequenceClassifier(order=0, ends=False, smoothing=1).fit(["aab", "abb"], ["x", "y"])
        >>> [float(p[0].round(2)) for p in clf.follow("aab")]
        [0.62, 0.74, 0.62]
        """
        stream = self.stream()
        for piece in pieces:
            yield stream.update(piece).proba

    def importance(self, method: str = "information") -> Any:
        """Raise: a sequence has no features; :meth:`explain` shows what each symbol adds."""
        raise DataError(
            "importance must have features in columns; a sequence has none. explain shows what symbols add."
        )

    # Files

    @staticmethod
    def _content(statistics: SequenceStatistics) -> dict[str, Any]:
        return statistics_content(statistics)

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> SequenceStatistics:
        return statistics_of(content)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags
