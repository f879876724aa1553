"""A finite space of hypotheses: what data say about each, and what all of them together say about the next case.

With P(h) the prior and P(D | h) = Π_d P(d | h) the likelihood of the data,

    P(h | D) = P(D | h) P(h) / P(D),        P(D) = Σ_h P(D | h) P(h)   (the evidence).

h_MAP is the hypothesis with the largest posterior, h_ML the one with the largest likelihood; with equal priors they are
the same. To go through all hypotheses is brute-force MAP learning: always right, where the space is small.

The most probable hypothesis is not the best answer about a new case x. That is the value which all hypotheses together
make most probable, each with the weight of its posterior (the **Bayes-optimal** classifier):

    argmax_v Σ_h P(v | x, h) P(h | D).

No other method that knows the same space and prior errs less often. Cheaper is the **Gibbs** classifier: draw one
hypothesis from the posterior and let it say. If the truth itself is drawn from the prior, it errs on average at most
twice as often as the Bayes-optimal one: with p_v the probability of value v, 1 − Σ p_v² ≤ 2 (1 − max p_v).

References
----------
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, sections 6.3, 6.7 and 6.8.
D. Haussler, M. Kearns, R. E. Schapire (1994). Bounds on the sample complexity of Bayesian learning using information
theory and the VC dimension. Machine Learning 14, 83–113.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, final

import numpy as np

from tunbridge._check import counted, did_you_mean, listed, shortened
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.grid import text_grid
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.evolution import Evolution
from tunbridge.reasoning.models import Likelihoods, Models, Outcomes, Predictions, as_observations
from tunbridge.reasoning.numbers import Number, as_float, exact_sum, exact_value
from tunbridge.reasoning.priors import as_prior, distinct
from tunbridge.reasoning.steps import BayesStep, Factor, likelihood_lines, log_lines, rule_lines
from tunbridge.reasoning.weights import Weights

_SHOWN = 10
_MOST_FACTORS = 8  # different observations that a derivation shows as a product


@final
@dataclass(frozen=True, eq=False, repr=False, init=False)
class HypothesisSpace:
    """Hypotheses with their probabilities, which data change: :meth:`update` returns the space after them.

    Parameters
    ----------
    hypotheses : mapping of name to hypothesis, or iterable of hypotheses
        A hypothesis is whatever the functions below take; of an iterable the hypotheses are their own names.
    prior : None, "uniform", mapping of name to probability, pandas Series, or iterable of numbers
        P(h); ``None`` or ``"uniform"`` makes all alike. In a mapping one may be left out and gets what the others
        leave. A :class:`BayesUpdate` is a mapping, and so is a Series with names as its index.
    likelihood : function (hypothesis, observation) → number, optional
        P(d | h), a probability or a density.
    log_likelihood : function (hypothesis, observation) → float, optional
        Its natural logarithm, instead.
    predict : function (hypothesis, case) → value, or mapping of value to probability, optional
        What a hypothesis says about a case. Without a likelihood, observations are pairs (case, value).

        With none of the three every hypothesis must be the probabilities of outcomes, ``{"H": 0.5, "T": 0.5}``.

    Notes
    -----
    Probabilities are kept as logarithms, so that any number of observations can come, and beside them as exact
    fractions as long as these are short: then posteriors are correctly rounded, and where all numbers are exact
    (fractions, whole numbers) :attr:`shares` and :attr:`evidence` are fractions.

    Examples
    --------
    A coin comes up heads with probability 1/3, 1/2 or 2/3. Heads, heads, tails:

    >>> from fractions import Fraction
    >>> coins = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
    >>> space = HypothesisSpace(coins, likelihood=lambda p, side: p if side == "H" else 1 - p)
    >>> seen = space.update("HHT")
    >>> seen.shares
    {Fraction(1, 3): Fraction(16, 75), Fraction(1, 2): Fraction(9, 25), Fraction(2, 3): Fraction(32, 75)}
    >>> seen.map, seen.evidence
    (Fraction(2, 3), Fraction(25, 216))
    """

    names: tuple[Hashable, ...]
    n_observed: int
    _models: Models
    _predictor: Models
    _prior: tuple[Number, ...]
    _seen: Weights
    _factors: tuple[Factor, ...] | None

    def __init__(
        self,
        hypotheses: Mapping[Any, Any] | Iterable[Any],
        prior: Any = None,
        *,
        likelihood: Callable[[Any, Any], Any] | None = None,
        log_likelihood: Callable[[Any, Any], Any] | None = None,
        predict: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        names = distinct(hypotheses)
        values = tuple(hypotheses.values()) if isinstance(hypotheses, Mapping) else names
        for what, function in (("likelihood", likelihood), ("log_likelihood", log_likelihood), ("predict", predict)):
            if function is not None and not callable(function):
                raise DataError(f"{what} must be a function; got {shortened(repr(function))}.")
        if likelihood is not None and log_likelihood is not None:
            raise DataError("a space must have a likelihood or a log-likelihood; got both.")
        given = likelihood or log_likelihood
        predictor = None if predict is None else Predictions(names, values, predict)
        models: Models
        if given is not None:
            models = Likelihoods(names, values, given, log_likelihood is not None)
        else:
            models = predictor or Outcomes.of(names, values)
        self.__dict__.update(names=names, n_observed=0, _models=models, _predictor=predictor or models)
        self.__dict__.update(_prior=as_prior(prior, names), _seen=Weights.of([Fraction(1)] * len(names)), _factors=())

    # Learning

    def update(self, data: Any) -> HypothesisSpace:
        """Return the space after more observations.

        Parameters
        ----------
        data : iterable of observations
            Outcomes, or pairs (case, value), or whatever the likelihood takes. A text is read letter by letter, unless
            it is one of the outcomes.
        """
        observations = as_observations(data, self._models)
        seen, factors = self._seen, list(self._factors or ())
        for observation, repeats in _repeats(observations):
            likelihoods = self._models.likelihoods(observation)
            seen = self._after(seen, likelihoods, repeats)
            factors = [*factors[:_MOST_FACTORS], (tuple(likelihoods), repeats)]
        found = object.__new__(HypothesisSpace)
        kept = tuple(factors) if self._factors is not None and len(factors) <= _MOST_FACTORS else None
        n_observed = self.n_observed + len(observations)
        found.__dict__.update({**self._fields, "_seen": seen, "_factors": kept, "n_observed": n_observed})
        if not found._weights.possible:
            self._raise_impossible(observations)
        return found

    def evolution(self, data: Any) -> Evolution:
        """Return the probability of each hypothesis before and after each further observation.

        Examples
        --------
        >>> coins = {"fair": {"H": 0.5, "T": 0.5}, "two-headed": {"H": 1.0}}
        >>> HypothesisSpace(coins).evolution("HHT")
           seen  fair      two-headed
        0        0.5       0.5
        1  H     0.333333  0.666667
        2  H     0.2       0.8
        3  T     1         0
        """
        observations = as_observations(data, self._models)
        logs = np.vstack([self._weights.logs, *self._log_likelihoods(observations)]).cumsum(axis=0)
        top = logs.max(axis=1, keepdims=True)
        if np.isneginf(top).any():
            self._raise_impossible(observations)
        scaled = np.exp(logs - top)
        return Evolution(self.names, tuple(observations), scaled / scaled.sum(axis=1, keepdims=True))

    # What is known

    @property
    def shares(self) -> dict[Any, Number]:
        """P(h | D) by hypothesis: fractions where all numbers were exact."""
        return dict(zip(self.names, self._weights.shares, strict=True))

    @property
    def prior(self) -> Distribution:
        """The distribution of the hypotheses before any data."""
        return self._distribution(self._prior)

    @property
    def posterior(self) -> Distribution:
        """The distribution of the hypotheses after the data."""
        return self._distribution(self._weights.shares)

    @property
    def map(self) -> Any:
        """The most probable hypothesis (maximum a posteriori); of equal ones the first."""
        return self.names[self._weights.best]

    @property
    def ml(self) -> Any:
        """The hypothesis that makes the data most probable (maximum likelihood); of equal ones the first."""
        return self.names[self._seen.best]

    @property
    def evidence(self) -> Number:
        """P(D), the probability of the data under the whole space; 0.0 where that is below what a float can hold."""
        return self._weights.total

    @property
    def log_evidence(self) -> float:
        """Ln P(D)."""
        return self._weights.log_total

    @property
    def log_likelihoods(self) -> dict[Any, float]:
        """Ln P(D | h) by hypothesis."""
        return dict(zip(self.names, self._seen.logs.tolist(), strict=True))

    def derivation(self, hypothesis: Any = None) -> Derivation:
        """Return the posterior of a hypothesis as formulas with the numbers in them.

        Parameters
        ----------
        hypothesis : optional
            The hypothesis in question, by its name; by default all, of many the ten most probable.

        Examples
        --------
        >>> coins = {"fair": {"H": "1/2", "T": "1/2"}, "bent": {"H": "2/3", "T": "1/3"}}
        >>> print(HypothesisSpace(coins).update("HHT").derivation())
        P(D | fair) = (1/2)^2 × 1/2 = 1/8
        P(D | bent) = (2/3)^2 × 1/3 = 4/27
        P(D) = P(D | fair) × P(fair) + P(D | bent) × P(bent)
             = 1/8 × 1/2 + 4/27 × 1/2
             = 1/16 + 2/27
             = 59/432
             ≈ 0.136574
        P(fair | D) = P(D | fair) × P(fair) / P(D) = 1/16 / (59/432) = 27/59 ≈ 0.457627
        P(bent | D) = P(D | bent) × P(bent) / P(D) = 2/27 / (59/432) = 32/59 ≈ 0.542373
        """
        shown = self._leading(_SHOWN) if hypothesis is None else [self._place(hypothesis)]
        if not self._weights.can_be_written:
            return Derivation(tuple(log_lines(self.names, shown, self._prior, self._seen.logs, self._weights)))
        step = BayesStep("D", self._prior, self._seen.values, self._weights.shares)
        products = likelihood_lines(self.names, shown, self._factors, step.likelihood)
        return Derivation((*products, *rule_lines(self.names, step, shown, "", "D")))

    # What comes next

    def predictive(self, case: Any = None) -> Distribution:
        """Return the probabilities of the values of a case, Σ_h P(v | x, h) P(h | D), or of the next outcome.

        Its mode is the Bayes-optimal answer.

        Examples
        --------
        >>> votes = {"h1": "+", "h2": "-", "h3": "-"}
        >>> space = HypothesisSpace(votes, [0.4, 0.3, 0.3], predict=lambda vote, x: vote)
        >>> space.predictive("x")
        value
        +   0.4
        -   0.6
        """
        number, total = (exact_value, exact_sum) if self._weights.fractions is not None else (as_float, math.fsum)
        parts: dict[Any, list[Any]] = {}
        for place, share in enumerate(self._weights.shares):
            for value, p in self._predictor.values(place, case).items():
                parts.setdefault(value, []).append(number(share) * number(p))
        return Distribution(Variable("value", list(parts)), [as_float(total(terms)) for terms in parts.values()])

    def bayes_optimal(self, case: Any = None) -> Any:
        """Return the value of a case that all hypotheses together make most probable; of equal ones the first."""
        return self.predictive(case).mode

    def map_prediction(self, case: Any = None) -> Any:
        """Return the value of a case that the most probable hypothesis predicts."""
        table = self._predictor.values(self._weights.best, case)
        return max(table, key=lambda value: table[value])

    def gibbs(self, case: Any = None, *, random_state: Any = None) -> Any:
        """Return the value of a case that a hypothesis drawn from the posterior says.

        A hypothesis that gives probabilities says a value drawn from them.

        Parameters
        ----------
        case : optional
            What is to be judged.
        random_state : int or numpy Generator, optional
            What decides the draw; equal seeds give equal answers.
        """
        random = np.random.default_rng(random_state)
        shares = np.array([as_float(share) for share in self._weights.shares])
        table = self._predictor.values(_drawn(shares, random), case)
        chances = np.array([as_float(p) for p in table.values()])
        return list(table)[_drawn(chances, random)]

    def expected_errors(self, case: Any = None) -> dict[str, float]:
        """Return how often each way to answer is wrong about a case, if the truth is drawn from the space.

        With p_v the probability of value v: 1 − max p_v for the Bayes-optimal answer, 1 − p of the value that the most
        probable hypothesis predicts, and 1 − Σ p_v² for Gibbs, which is at most twice the first.

        Examples
        --------
        >>> votes = {"h1": "+", "h2": "-", "h3": "-"}
        >>> space = HypothesisSpace(votes, [0.4, 0.3, 0.3], predict=lambda vote, x: vote)
        >>> {way: round(error, 2) for way, error in space.expected_errors("x").items()}
        {'bayes_optimal': 0.4, 'map': 0.6, 'gibbs': 0.48}
        """
        chances = self.predictive(case)
        p = chances.probabilities
        return {
            "bayes_optimal": 1.0 - float(p.max()),
            "map": 1.0 - chances[self.map_prediction(case)],
            "gibbs": max(0.0, 1.0 - float(p @ p)),
        }

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        shares = self._weights.shares
        rows = [[self.names[i], as_float(self._prior[i]), as_float(shares[i])] for i in self._leading(_SHOWN)]
        more = f", the {_SHOWN} most probable" if len(self) > _SHOWN else ""
        seen = f"{counted(self.n_observed, 'observation')}, ln P(D) = {self.log_evidence:.6g}"
        head = f"{len(self)} hypotheses{more}; {seen}"
        return f"{head}\n{text_grid(['hypothesis', 'prior', 'posterior'], rows)}"

    # Inside

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self._prior).combined(self._seen)

    @property
    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def _after(self, weights: Weights, likelihoods: Sequence[Number], repeats: int) -> Weights:
        if self._models.in_logs:
            return weights.plus_logs(np.array(likelihoods, np.float64), repeats)
        return weights.times(likelihoods, repeats)

    def _log_likelihoods(self, observations: list[Any]) -> list[np.ndarray]:
        """Return ln P(d | h) of each observation; equal ones are asked for once."""
        none = Weights.of([Fraction(1)] * len(self))
        rows = [(d, self._after(none, self._models.likelihoods(d), 1).logs) for d, _ in _repeats(observations)]
        if len(rows) == len(observations):
            return [logs for _, logs in rows]
        known = dict(rows)
        return [known[d] for d in observations]

    def _raise_impossible(self, observations: list[Any]) -> NoReturn:
        """Raise, naming the first observation after which no hypothesis is left."""
        before, i = self._weights, 0
        while (after := self._after(before, self._models.likelihoods(observations[i]), 1)).possible:
            before, i = after, i + 1
        left = [name for name, log in zip(self.names, before.logs, strict=True) if log > -math.inf]
        rule = "data must be possible under a hypothesis of the space"
        raise ImpossibleEvidenceError(
            f"{rule}; observation {i + 1}, {shortened(repr(observations[i]))}, has probability 0 under each that was "
            f"left: {listed(left)}.",
            conflict={f"observation {i + 1}": observations[i]},
        )

    def _leading(self, most: int) -> list[int]:
        """Return the places of all hypotheses, or of many the most probable ones, best first."""
        if len(self) <= most:
            return list(range(len(self)))
        return np.argsort(-self._weights.logs, kind="stable")[:most].tolist()

    def _place(self, hypothesis: Any) -> int:
        if hypothesis not in self.names:
            hint = did_you_mean(hypothesis, self.names)
            raise DataError(f"the hypothesis must be one of the space; got {hypothesis!r}. {hint}")
        return self.names.index(hypothesis)

    def _distribution(self, shares: Iterable[Number]) -> Distribution:
        return Distribution(Variable("hypothesis", self.names), [as_float(share) for share in shares])


def _repeats(observations: list[Any]) -> Iterable[tuple[Any, int]]:
    """Return each different observation with how often it is there; each by itself where they cannot be compared."""
    try:
        return list(Counter(observations).items())
    except TypeError:
        return [(observation, 1) for observation in observations]


def _drawn(chances: np.ndarray, random: np.random.Generator) -> int:
    """Return a place drawn with these chances, which sum to one but for rounding."""
    running = np.cumsum(chances)
    return int(np.searchsorted(running, random.random() * running[-1], side="right"))
