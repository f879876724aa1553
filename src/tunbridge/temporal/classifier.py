"""Classification of sequences, each class with its own hidden Markov model.

Which word was spoken, which gesture, which machine is about to fail? Each class has a hidden Markov model, and Bayes'
rule gives

    P(c | x) ∝ P(c) P(x | c),      ln P(x | c) = Σ_t ln p(x_t | x_1..t−1, c).

The log-odds of two classes are thus a sum over the steps of a sequence: what each observation adds, given those before
it, is how much better one model predicted it than the other.

References
----------
L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech recognition. Proceedings of
the IEEE 77, 257–286, section VI.
"""

from __future__ import annotations

import hashlib
import html
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from tunbridge._core.check import check_integer, check_number, counted, listed, shortened, warn_user
from tunbridge._core.grid import grid_lines, html_table
from tunbridge._core.registry import classifier
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import at_once
from tunbridge.classifiers._classes import Finish
from tunbridge.classifiers._parameters import parameters_content
from tunbridge.classifiers._rows import ClassPrior, Examples, Frame, Labels, SampleWeight, Split
from tunbridge.classifiers._statistics import class_counts, inner_statistics
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Compared
from tunbridge.data import State, Variable, encode
from tunbridge.data.table import warn_unseen
from tunbridge.decisions.evidence import Evidence, Explained
from tunbridge.errors import DataError
from tunbridge.temporal.answers import observed_text
from tunbridge.temporal.chain import dense_pairs
from tunbridge.temporal.emissions import Categorical, Emission, Independent
from tunbridge.temporal.hmm import Emissions, HiddenMarkovModel
from tunbridge.temporal.panel import Panel, frame_column, is_single, read_panel

_AUTO = "auto"
_HEAVIEST = 12  # steps that an explanation prints
_OF_MODELS = (
    "emissions", "topology", "start", "alpha", "start_alpha", "sticky", "hard", "tolerance", "max_iterations",
    "restarts", "sequence", "time", "columns", "time_unit", "n_jobs",
)  # fmt: skip
"""Parameters that all models of the classes have."""


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """Sequences as rows of a classifier."""

    panel: Panel
    variables: tuple[Variable, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of sequences."""
        return self.panel.n_sequences

    @property
    def row_bytes(self) -> float:
        """The bytes of a sequence, roughly."""
        return 8.0 * self.panel.table.n_columns * self.panel.table.n_rows / max(1, self.n_rows)

    def take(self, rows: np.ndarray) -> Self:
        """Return the sequences of a mask or of positions."""
        return replace(self, panel=self.panel.take(np.arange(self.n_rows)[rows]))

    def keys(self, seed: int) -> np.ndarray:
        """Return a key for each sequence, equal for equal ones."""
        gaps = self.panel.gaps
        x = self.panel.values() if gaps is None else np.column_stack([self.panel.values(), gaps])
        parts = np.split(x + 0.0, self.panel.offsets[1:-1]) if self.n_rows else []
        salt = seed.to_bytes(8, "little", signed=True)
        keys = (hashlib.blake2b(part.tobytes(), digest_size=8, salt=salt).digest() for part in parts)
        return np.frombuffer(b"".join(keys), np.uint64).copy()

    def as_known_to(self, learned: Self) -> Self:
        """Return the same sequences: the symbols are those of all."""
        return self


@dataclass(frozen=True)
class SequenceReader:
    """How sequences are read: as a hidden Markov model with the same settings reads them."""

    hmm: HiddenMarkovModel

    def split(self, X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None) -> Split:
        """Return sequences, their classes and weights, and the name of the target."""
        name = y if isinstance(y, str) else known if y is None else None
        if y is None and name is None:
            raise DataError("y must be the class of each sequence, or the column of the frame that holds it; got None.")
        rows = self._read(X, [] if name is None else [name])
        classes = _by_sequence("y", y if name is None else frame_column(X, name), rows.panel)
        weights = None if sample_weight is None else _by_sequence("sample_weight", sample_weight, rows.panel)
        return rows, classes, weights, name

    def learned(self, estimator: Any, X: Any, before: Any) -> SequenceRows:
        """Return sequences to learn from."""
        return self._read(X)

    def known(self, estimator: Any, X: Any) -> SequenceRows:
        """Return sequences to predict; unseen symbols are missing, with one warning."""
        learned = inner_statistics(estimator.statistics_).models[0]
        if not isinstance(X, SequenceRows):
            return SequenceRows(learned._read(_texts_apart(X)))
        table, unseen = encode(X.panel.table, learned.variables_)
        warn_unseen(unseen)
        return SequenceRows(replace(X.panel, table=table))

    def is_one(self, X: object) -> bool:
        """Return whether X is one sequence rather than several."""
        return is_single(_texts_apart(X))

    def _read(self, X: Any, ignored: Sequence[str] = ()) -> SequenceRows:
        if isinstance(X, SequenceRows):
            return X
        X = _texts_apart(X)
        return SequenceRows(read_panel(X, self.hmm._layout(), kinds=self.hmm._kinds(), ignored=ignored))


def _texts_apart(X: Any) -> Any:
    """Return an array or Series of texts as a list of them: each is a sequence that has a class."""
    values = X.to_numpy() if type(X).__name__ == "Series" and hasattr(X, "to_numpy") else X
    if isinstance(values, np.ndarray) and values.ndim == 1 and len(values) and values.dtype.kind in "OU":
        texts = values.tolist()
        return texts if all(isinstance(text, str) for text in texts) else X
    return X


def _by_sequence(what: str, values: Any, panel: Panel) -> Any:
    """Return a value for each sequence, where there may be one for each row that is the same within sequences."""
    n, n_rows = panel.n_sequences, panel.table.n_rows
    got = 1 if np.ndim(values) == 0 else len(values)
    if got == n:
        return values
    if panel.form == "one" and got == n_rows:
        raise DataError(
            f"X must be a list of sequences; got an array, which is one sequence of {counted(n_rows, 'step')}, and "
            f"{got} values of {what}. Pass list(X) if its rows are sequences."
        )
    if got != n_rows or panel.form == "list":
        of = f" or for each of the {n_rows} rows" if panel.form == "frame" else ""
        raise DataError(f"{what} must have a value for each of the {counted(n, 'sequence')}{of}; got {got}.")
    rows = panel.aligned(what, np.asarray(values, object))
    found = []
    for s, (a, b) in enumerate(zip(panel.offsets[:-1].tolist(), panel.offsets[1:].tolist(), strict=True)):
        distinct = list(dict.fromkeys(rows[a:b].tolist()))
        if len(distinct) > 1:
            raise DataError(
                f"{what} must be the same in all rows of a sequence; {panel.keys[s]!r} has {listed(distinct)}. "
                "Labels of steps are for HiddenMarkovModel."
            )
        found.append(distinct[0])
    return found


@dataclass(frozen=True, eq=False)
class HMMStatistics:
    """What is learned of sequences: a hidden Markov model for each class.

    Parameters
    ----------
    target : Variable
        The class variable.
    class_weight : ndarray
        The number (or weight) of the sequences of each class.
    models : tuple of HiddenMarkovModel
        The model of each class.
    """

    target: Variable
    class_weight: np.ndarray
    models: tuple[HiddenMarkovModel, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """No features: a sequence is not a row of a table."""
        return ()

    def merge(self, other: HMMStatistics) -> NoReturn:
        """Raise: all sequences are needed at once."""
        raise DataError("hidden Markov models must be learned from all sequences at once; got further ones. Use fit.")

    def content(self) -> dict[str, Any]:
        """Return the models as content of a file."""
        models = [model.to_content() for model in self.models]
        return {"target": self.target, "class_weight": self.class_weight, "models": models}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> HMMStatistics:
        """Return what a file holds; raise ValueError if its parts do not belong together."""
        target, weight = class_counts(content)
        models = tuple(HiddenMarkovModel.from_content(each) for each in content["models"])
        if len(models) != target.n_states or any(m.variables_ != models[0].variables_ for m in models):
            raise ValueError("its models do not belong to its classes")
        return cls(target, weight, models)


@dataclass(frozen=True, eq=False)
class HMMModel:
    """P(c) P(x | c)."""

    log_prior: np.ndarray
    models: tuple[HiddenMarkovModel, ...]

    def joint(self, rows: SequenceRows, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(ln P(x, c))`` for each sequence, (n_sequences, n_classes)."""
        logs = np.stack([model.log_likelihood(rows.panel) for model in self.models])
        return finish(logs + self.log_prior[:, None]).T.copy()


def step_log_densities(hmm: HiddenMarkovModel, panel: Panel) -> np.ndarray:
    """Return ln p(x_t | x_1..t−1) of each step of one sequence; their sum is ln P(x).

    From the first impossible step on it is −∞ once, and then 0.

    Examples
    --------
    >>> import tunbridge as tb
    >>> ice = tb.HiddenMarkovModel.from_parameters(
    ...     [0.2, 0.8], [[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]], symbols=[1, 2, 3])
    >>> x = read_panel([[3, 1, 3]], variables=ice.variables_)
    >>> found = step_log_densities(ice, x)
    >>> found.round(3).tolist(), bool(abs(found.sum() - ice.log_likelihood(x)[0]) < 1e-12)
    ([-1.079, -1.134, -1.343], True)
    """
    _, chain, frames = hmm._framed(panel)
    matrices = dense_pairs(chain.matrices, chain.arcs)
    found, weights = np.zeros(len(frames.rows)), chain.start
    for t, row in enumerate(frames.rows.tolist()):
        if t:
            weights = weights @ matrices[0 if frames.steps is None else int(frames.steps[t])]
        logs = frames.logs[row]
        top = logs.max()
        weights = weights * np.exp(logs - top) if np.isfinite(top) else np.zeros_like(weights)
        total = float(weights.sum())
        if not total > 0.0:
            found[t] = -np.inf
            break
        found[t], weights = np.log(total) + top, weights / total
    return found


@dataclass(frozen=True, eq=False, repr=False)
class HMMExplanation(Explained):
    """Why a sequence is given one class rather than another: what each step adds to the log-odds.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        ln P(label)/P(against) before the sequence.
    evidence : tuple of Evidence
        One for each step in order: its number, from 0, what was observed, and ln p(x_t | x_1..t−1) of the one model
        less that of the other. ``prior`` plus all weights is ``log_odds``.
    probabilities : mapping
        The posterior probability of every class.

    Examples
    --------
    >>> import tunbridge as tb
    >>> beats = ["ababab", "bababa", "aabbaabb", "bbaabbaa"]
    >>> clf = tb.HMMClassifier(2, random_state=0).fit(beats, ["x", "x", "y", "y"])
    >>> found = clf.explain("abab")
    >>> found.label, len(found.weights), bool(abs(found.prior + found.weights.sum() - found.log_odds) < 1e-9)
    ('x', 4, True)
    """

    @property
    def weights(self) -> np.ndarray:
        """What each step adds to the log-odds, in nats."""
        return np.array([e.weight for e in self.evidence], np.float64)

    def _rows(self) -> list[list[str]]:
        order = sorted(range(len(self.evidence)), key=lambda t: -abs(self.evidence[t].weight))[:_HEAVIEST]
        shown = [self.evidence[t] for t in sorted(order)]
        rest = [e.weight for t, e in enumerate(self.evidence) if t not in set(order)]
        others = [["", f"{counted(len(rest), 'other step')}", f"{sum(rest):+.2f}"]] if rest else []
        return [
            ["", "prior", f"{self.prior:+.2f}"],
            *([e.feature, shortened(str(e.value), 40), f"{e.weight:+.2f}"] for e in shown),
            *others,
            ["", "sum", f"{self.log_odds:+.2f}"],
        ]

    @property
    def headline(self) -> str:
        """The two classes, the probability of the explained one, and the number of steps."""
        return f"{super().headline}, {counted(len(self.evidence), 'step')}"

    def __str__(self) -> str:
        return "\n".join([self.headline, "", *grid_lines(["step", "observed", "weight"], self._rows(), left=(0, 1))])

    def _repr_html_(self) -> str:
        table = html_table(["step", "observed", "weight"], self._rows(), left=(0, 1))
        return f"<p>{html.escape(self.headline)}</p>{table}"


@classifier("hmm", compared=False)
@dataclass(eq=False, repr=False)
class HMMClassifier(BayesClassifier[HMMStatistics]):
    """Classifier of sequences of symbols or numbers, with a hidden Markov model for each class.

    Parameters
    ----------
    n_states : int, "auto" or mapping of class to int
        The number of hidden states of each class; ``"auto"`` chooses it for each class by BIC, from 1 to 6.
    emissions, topology, start, alpha, start_alpha, sticky, hard, tolerance, max_iterations, restarts
        As in :class:`HiddenMarkovModel`, for all classes.
    smoothing : float
        The number of imagined observations of each symbol in each state, where ``emissions`` is a name: a symbol that a
        class has not shown yet must not be impossible in it.
    sequence, time : str, optional
        The columns of a frame that name the sequence and give the time.
    columns : list of str, optional
        The observed columns of a frame; default: all others.
    time_unit : float, optional
        The time between two steps; default: found from the data.
    class_prior : None, "uniform", mapping of class to probability, or array-like
        P(c); default: the relative frequencies of the classes.
    random_state : int, Generator or None
        Random seed of the starts.
    n_jobs : int, optional
        Threads; ``None`` for all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, statistics_
        As in :class:`NaiveBayesClassifier`.
    models_ : dict of class to HiddenMarkovModel
        The model of each class.

    Notes
    -----
    X has the forms that :class:`HiddenMarkovModel` takes: a list of arrays or texts, or a frame with the column
    ``sequence``. y has one class for each sequence, in the order of the list or in that in which sequences appear in
    the frame; or one for each row, or a column of the frame, which must then be the same in all rows of a sequence.
    Predictions have one entry for each sequence.

    Missing values are marginalized. An empty sequence gets the prior; the length of a sequence is no evidence. A class
    without a step to learn from gets the model of all classes together.

    Hidden states are estimated from all sequences of a class together, so there is no ``partial_fit``: use ``fit``.

    Examples
    --------
    >>> import tunbridge as tb
    >>> beats = ["ababab", "bababa", "abababab", "aabbaabb", "bbaabbaa", "abbaabba"]
    >>> clf = tb.HMMClassifier(2, random_state=0).fit(beats, ["fast"] * 3 + ["slow"] * 3)
    >>> clf.predict(["bababab", "aabbaa"]).tolist()
    ['fast', 'slow']
    """

    n_states: Any = 2
    emissions: Emissions = _AUTO
    _: KW_ONLY
    topology: Any = "full"
    start: str = "free"
    alpha: float = 1.0
    start_alpha: float = 1.0
    sticky: float = 0.0
    smoothing: float = 0.5
    hard: bool = False
    tolerance: float = 1e-6
    max_iterations: int = 1000
    restarts: int | None = None
    sequence: str | None = None
    time: str | None = None
    columns: Sequence[str] | None = None
    time_unit: float | None = None
    class_prior: ClassPrior = None
    random_state: RandomState = None
    n_jobs: int | None = None

    can_continue = False

    @property
    def models_(self) -> dict[State, HiddenMarkovModel]:
        """The model of each class."""
        return dict(zip(self.classes_.tolist(), self.model_.models, strict=True))

    def _described(self) -> dict[str, str]:
        models = self.models_
        observed = next(iter(models.values())).variables_
        sizes = ", ".join(f"{label} {counted(len(m.start_), 'state')}" for label, m in models.items())
        return {"observed": listed([v.name for v in observed]), "models": sizes}

    def _check_parameters(self) -> None:
        sizes = self.n_states.values() if isinstance(self.n_states, Mapping) else [self.n_states]
        for n in sizes:
            if not (isinstance(n, str) and n == _AUTO):
                check_integer("n_states (a number, 'auto', or a mapping of class to number)", n, low=1)
        check_number("smoothing", self.smoothing, low=0)
        self._hmm(1)._check_parameters()

    def _hmm(self, n_states: int | None) -> HiddenMarkovModel:
        """Return the model of a class, unfitted."""
        return HiddenMarkovModel(n_states, **{name: getattr(self, name) for name in _OF_MODELS})

    def reader(self) -> SequenceReader:
        """Return how sequences are read."""
        learned = getattr(self, "statistics_", None)
        return SequenceReader(self._hmm(None) if learned is None else learned.models[0])

    # Learning

    def fit(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> Self:
        """Learn from sequences and their classes; what was learned before is forgotten.

        Parameters
        ----------
        X : list of arrays or texts, ragged Arrow column, or frame
            The sequences; values may be missing.
        y : array-like of shape (n_sequences,), or str
            The class of each sequence, or the column of the frame that holds it.
        sample_weight : array-like of shape (n_sequences,), optional
            A weight for each sequence.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def collect(self, examples: Examples, before: HMMStatistics | None) -> HMMStatistics:
        """Return a hidden Markov model for each class."""
        rows, mass = examples.rows, examples.mass
        used = (mass > 0.0) & (rows.panel.lengths > 0)
        if not used.any():
            raise DataError("there must be a step to learn from; all sequences are empty, or have no weight.")
        seed, models, shared = entropy_of(self.random_state), [], None
        self._check_classes(examples.target)
        for code, label in enumerate(examples.target.states or ()):
            own = used & (examples.classes == code)
            if own.any():
                models.append(self._fitted(label, rows.panel, own, mass, seed))
                continue
            shared = shared or self._fitted(label, rows.panel, used, mass, seed)
            models.append(shared)
        return HMMStatistics(examples.target, examples.class_weight, tuple(models))

    def _check_classes(self, target: Variable) -> None:
        sizes = self.n_states if isinstance(self.n_states, Mapping) else {}
        absent = [label for label in target.states or () if sizes and label not in sizes]
        if absent:
            raise DataError(f"n_states must have a number for every class; got none for {listed(absent)}.")

    def _fitted(self, label: State, whole: Panel, own: np.ndarray, mass: np.ndarray, seed: int) -> HiddenMarkovModel:
        """Return the model of some sequences; its warnings name the class."""
        n = self.n_states[label] if isinstance(self.n_states, Mapping) else self.n_states
        panel = whole.take(np.flatnonzero(own))
        hmm = self._hmm(None if n == _AUTO else n)
        hmm.random_state = seed
        if isinstance(self.emissions, (str, Mapping)):
            hmm.emissions = _smoothed(hmm._emission(panel), self.smoothing)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if n == _AUTO:
                hmm.n_states = hmm.choose_states(panel).n_states
            hmm.fit(panel, sample_weight=mass[own])
        for text, kind in dict.fromkeys((str(each.message), each.category) for each in caught):
            warn_user(f"class {label!r}: {text}", kind)
        return hmm

    def derive(self, statistics: HMMStatistics, log_prior: np.ndarray) -> HMMModel:
        """Return the joint distribution of class and sequence."""
        return HMMModel(log_prior, statistics.models)

    # Answers

    def explain(self, X: Frame, label: State | None = None, against: State | None = None) -> Any:
        """Return why each sequence is given its class: what every step adds to the log-odds.

        Parameters
        ----------
        X : as in :meth:`fit`
            One sequence, or several.
        label : class, optional
            The class to explain; default: the most probable one.
        against : class, optional
            The class to compare it with; default: the most probable of the others.

        Returns
        -------
        HMMExplanation, or list of HMMExplanation when X holds several sequences

        Examples
        --------
        >>> import tunbridge as tb
        >>> noise = [[1.2, -0.8, 0.3, -0.5], [0.1, 0.9, -1.1, 0.4]]
        >>> drift = [[0.1, 2.2, 3.9, 6.1], [-0.2, 1.8, 4.2, 5.8]]
        >>> clf = tb.HMMClassifier(1, random_state=0).fit([*noise, *drift], ["noise", "noise", "drift", "drift"])
        >>> print(clf.explain([0.4, 5.0]))
        drift rather than noise: P(drift) = 1, 2 steps
        <BLANKLINE>
        step  observed  weight
              prior      +0.00
        0     0.4        -1.65
        1     5         +19.81
              sum       +18.16
        """
        return super().explain(X, label, against)

    def reasons(self, rows: SequenceRows, compared: list[Compared]) -> list[HMMExplanation]:
        """Return why each sequence has one class rather than another."""
        found, models = [], self.model_.models
        for s, two in enumerate(compared):
            panel = rows.panel.take(np.array([s]))
            one, other = (step_log_densities(models[k], panel) for k in (two.c, two.d))
            with np.errstate(invalid="ignore"):
                weights = np.where(one == other, 0.0, one - other)  # also where a step is impossible in both
            texts = [", ".join(observed_text(c, t) for c in panel.table) for t in range(len(one))]
            pairs = zip(texts, weights.tolist(), strict=True)
            evidence = tuple(Evidence(str(t), text, weight) for t, (text, weight) in enumerate(pairs))
            found.append(HMMExplanation(two.label, two.against, two.prior, evidence, two.probabilities))
        return found

    @at_once
    def importance(self, method: str = "information") -> Any:
        """Raise an error: a sequence has no features; :meth:`explain` shows what each step adds."""
        raise DataError("importance must have features in columns; a sequence has none. explain shows what steps add.")

    # Files

    def to_content(self) -> dict[str, Any]:
        """Return what a file holds of the classifier."""
        found, parameters = super().to_content(), self.get_params(deep=False)
        if not isinstance(parameters["emissions"], str):
            parameters["emissions"] = _AUTO  # the models have their own
        return {**found, "parameters": parameters_content(parameters)}

    @classmethod
    def _statistics(cls, content: Mapping[str, Any]) -> HMMStatistics:
        return HMMStatistics.from_content(content)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags


def _smoothed(emission: Emission, smoothing: float) -> Emission:
    """Return an emission whose symbols have been observed a further number of times in each state."""
    if isinstance(emission, Independent):
        return replace(emission, parts=tuple((own, _smoothed(part, smoothing)) for own, part in emission.parts))
    return replace(emission, alpha=1.0 + smoothing) if isinstance(emission, Categorical) else emission
