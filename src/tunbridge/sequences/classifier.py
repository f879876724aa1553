"""Classification of sequences of symbols, each class with its own Markov chain.

Is this piece of DNA a promoter, which language is this name from, does this log of events end in a failure? Each class
has a distribution of sequences, and Bayes' rule gives

    P(c | x) ∝ P(c) Π_i P(x_i | context_i, c).

Three kinds of context make three models. Without any the letters are drawn from a bag (order 0). With the k letters
before each one they form a Markov chain of order k. With the position, sequences are aligned and of one length, and
every position has its own distribution, with ``order`` > 0 given the letters before it (the weight array model of
splice sites).

Rare contexts are estimated from shorter ones (:mod:`tunbridge.sequences.smoothing`); the number of letters to look back
can be chosen from the data (:mod:`tunbridge.sequences.statistics`).

References
----------
R. Durbin, S. Eddy, A. Krogh, G. Mitchison (1998). Biological Sequence Analysis, chapter 3. Cambridge University Press.

R. Staden (1984). Computer methods to locate signals in nucleic acid sequences. Nucleic Acids Research 12, 505–519.

M. O. Zhang, T. G. Marr (1993). A weight array method for splicing signal analysis. Computer Applications in the
Biosciences 9, 499–509.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from tunbridge._core.check import check_choice, check_fitted, check_integer, check_number, listed
from tunbridge._core.registry import classifier
from tunbridge._core.threads import at_once
from tunbridge.classifiers._rows import ClassPrior, Examples, Frame
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Compared
from tunbridge.data import State
from tunbridge.errors import DataError
from tunbridge.sequences.explanation import SequenceExplanation, log_ratios, sequence_explanation
from tunbridge.sequences.model import SequenceModel, SequenceStream, model_of
from tunbridge.sequences.reader import SequenceReader
from tunbridge.sequences.statistics import SequenceStatistics, Settings, gather
from tunbridge.sequences.symbols import Sequences, rules_of

MODELS = ("markov", "position")
CHOICES = ("cv", "bic")
_AUTO = "auto"


@classifier("sequence", compared=False)
@dataclass(eq=False, repr=False)
class SequenceClassifier(BayesClassifier[SequenceStatistics]):
    """Bayesian classifier of sequences of symbols: Markov chains, bags of letters, or position-specific models.

    Parameters
    ----------
    model : {"markov", "position"}
        ``"markov"``: sequences of any length; each symbol depends on the ``order`` symbols before it, and with order 0
        on none (a bag of letters). ``"position"``: aligned sequences of one length; each position has its own
        distribution, given the ``order`` symbols before it.
    order : int, "cv" or "bic"
        The number of symbols to look back; ``"cv"`` and ``"bic"`` choose it: by 5-fold cross-validation
        of the class probabilities, or by the Bayesian information criterion.
    max_order : int
        The highest order to choose from.
    smoothing : "auto" or float
        The number of imagined symbols m that the estimate from a shorter context counts for,
        P_k(s | context) = (n(context, s) + m P_{k−1}(s | shorter context)) / (n(context) + m); ``"auto"`` chooses m for
        each level and class by leave-one-out likelihood. 0 uses relative frequencies.
    ends : bool
        Whether a chain models where sequences begin and end: the first symbols then depend on being the first, and the
        end is one more outcome, so that lengths are evidence too. With False sequences are pieces of something longer.
        The position-specific model ignores it.
    column : str, optional
        The column of a frame that holds the sequences, if there are several.
    alphabet : text or list of symbols, optional
        The symbols; default: those of the training sequences. Others are unknown.
    gaps : text or list of symbols, optional
        Symbols that mean «unknown», such as ``"N-"`` in DNA.
    ignore_case : bool
        Ignore case.
    class_prior : None, "uniform", mapping of class to probability, or array-like
        P(c); default: the relative frequencies of the classes.
    n_jobs : int, optional
        Threads; ``None`` for all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, statistics_
        As in :class:`NaiveBayesClassifier`.
    alphabet_ : tuple
        The symbols, sorted.
    order_ : int
        The order that is used.
    order_scores_ : dict of int to float
        The score of each order, if it was chosen: Σ log P(c | x) of held-out sequences, or BIC; in nats.
    strengths_ : dict
        For each class the strengths m of back-off, from the bag of letters upwards.

    Notes
    -----
    X is a list, array, Series or Arrow column of sequences, or a frame with such a column. A text is a sequence of its
    characters; anything else a sequence of the texts or integers in it. At prediction X may also be a single sequence:
    a text, a list of integers, or a row of a frame.

    An unknown symbol (None, a gap, or not in the alphabet; one warning names unseen ones) adds nothing. The contexts of
    symbols behind it are shorter: they contain only symbols after it. A sequence without known symbols, such as an
    empty one, gets the prior, also with ``ends=True``.

    In a stream the first symbols depend on being the first, and the end is evidence when ``finish`` is called; for a
    stream without beginning and end use ``ends=False``.

    ``partial_fit`` gives the same as ``fit`` with all sequences at once: everything follows from counts, including the
    choice of the order by ``"bic"``. Only ``"cv"`` needs the sequences themselves; it uses those of the first call. New
    symbols and classes may appear.

    Learning takes a few nanoseconds per symbol, a little more if there are too many contexts for a table.

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

    model: str = "markov"
    order: int | str = 1
    _: KW_ONLY
    max_order: int = 5
    smoothing: float | str = _AUTO
    ends: bool = True
    column: str | None = None
    alphabet: Iterable[str | int] | None = None
    gaps: Iterable[str | int] | None = None
    ignore_case: bool = False
    class_prior: ClassPrior = None
    n_jobs: int | None = None

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
        """The score of each order, if it was chosen."""
        return dict(enumerate(self._fitted.order_scores))

    @property
    def strengths_(self) -> dict[Any, tuple[float, ...]]:
        """For each class the strengths of back-off, from the bag of letters upwards."""
        return dict(zip(self.classes_.tolist(), self._fitted.strengths, strict=True))

    @property
    def _fitted(self) -> SequenceModel:
        check_fitted(self)
        model: SequenceModel = self._model
        return model

    def _described(self) -> dict[str, str]:
        column = {"column": self.statistics_.column} if self.statistics_.column else {}
        return {**column, "model": f"{self.model}, order {self.order_}", "alphabet": listed(self.alphabet_)}

    def _check_parameters(self) -> None:
        check_choice("model", self.model, MODELS)
        if isinstance(self.order, str):
            check_choice("order", self.order, CHOICES)
            check_integer("max_order", self.max_order, low=0)
        else:
            check_integer("order (a number of symbols, 'cv' or 'bic')", self.order, low=0)
        if not (isinstance(self.smoothing, str) and self.smoothing == _AUTO):
            check_number("smoothing (a number of symbols, or 'auto')", self.smoothing, low=0)
        if not isinstance(self.ends, bool):
            raise DataError(f"ends must be True or False; got {self.ends!r}.", parameter="ends")
        if self.column is not None and not isinstance(self.column, str):
            raise DataError(f"column must be the name of a column, or None; got {self.column!r}.", parameter="column")
        self._settings()

    def _settings(self) -> Settings:
        chosen = isinstance(self.order, str)
        return Settings(
            rules=rules_of(self.alphabet, self.gaps, ignore_case=self.ignore_case),
            order=int(self.max_order if chosen else self.order),
            choose_by=str(self.order) if chosen else None,
            ends=self.ends,
            places=self.model == "position",
            strength=None if isinstance(self.smoothing, str) else float(self.smoothing),
            class_prior=self.class_prior,
            n_jobs=self.n_jobs,
        )

    def reader(self) -> SequenceReader:
        """Return how sequences are read."""
        learned = getattr(self, "statistics_", None)
        column = None if learned is None else learned.column
        return SequenceReader(self.column, self._settings().rules, self.n_jobs, column)

    # Learning

    def collect(self, examples: Examples, before: SequenceStatistics | None) -> SequenceStatistics:
        """Return the counts of symbols in contexts."""
        return gather(examples, before, self._settings())

    def settled(self, batch: Sequences, weights: np.ndarray | None) -> Sequences:
        """Return sequences with what is expected of all of them."""
        return batch.with_expected(weights, self.n_jobs)

    def derive(self, statistics: SequenceStatistics, log_prior: np.ndarray) -> SequenceModel:
        """Return the model that follows from the counts."""
        return model_of(statistics, log_prior, self._settings())

    # Answers

    def explain(self, X: Frame, label: State | None = None, against: State | None = None) -> Any:
        """Return why each sequence is given its class: what every symbol adds to the log-odds.

        Parameters
        ----------
        X : text, list of integers, or as in :meth:`fit`
            One sequence, or sequences. (A list of texts is a list of sequences.)
        label : class, optional
            The class to explain; default: the most probable one.
        against : class, optional
            The class to compare it with; default: the most probable of the others.

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

    def reasons(self, batch: Sequences, compared: list[Compared]) -> list[SequenceExplanation]:
        """Return why each sequence has one class rather than another."""
        model = self._fitted
        own, rows = set(model.statistics.alphabet), model.coded(batch)
        known = {s for s in batch.alphabet if model.rules.symbol(s) in own}
        found = []
        for row, two in enumerate(compared):
            terms, symbols = model.symbol_terms(rows, row), batch.symbols(row)
            one = sequence_explanation(
                (two.label, two.against),
                prior=two.prior,
                symbols=symbols,
                weights=log_ratios(terms[:, two.c], terms[:, two.d]),
                ends=model.statistics.ends,
                probabilities=two.probabilities,
                unknown=[i for i, s in enumerate(symbols, start=1) if s not in known],
            )
            found.append(one)
        return found

    @at_once
    def stream(self) -> SequenceStream:
        """Return an empty sequence that is going to arrive in pieces.

        Examples
        --------
        >>> import tunbridge as tb
        >>> clf = tb.SequenceClassifier(ends=False).fit(["abab", "bbbb"], ["x", "y"])
        >>> stream = clf.stream().update("ab").update("a")
        >>> stream.n_symbols, bool(abs(stream.proba - clf.predict_proba(["aba"])[0]).max() < 1e-12)
        (3, True)
        """
        return SequenceStream(self._fitted, self.statistics_.target)

    def follow(self, pieces: Iterable[str | int | Iterable[Any]]) -> Iterator[np.ndarray]:
        """Yield P(c | symbols so far), in the order of ``classes_``, after each piece of one sequence.

        Parameters
        ----------
        pieces : iterable of texts or lists of symbols
            The sequence as it arrives, for example the lines of a file or of a pipe; a text gives its letters.

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

    @at_once
    def importance(self, method: str = "information") -> Any:
        """Raise an error: a sequence has no features; :meth:`explain` shows what each symbol adds."""
        raise DataError(
            "importance must have features in columns; a sequence has none. explain shows what symbols add."
        )

    # Files

    @classmethod
    def _statistics(cls, content: Mapping[str, Any]) -> SequenceStatistics:
        return SequenceStatistics.from_content(content)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags
