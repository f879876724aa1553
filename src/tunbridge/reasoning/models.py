"""What a hypothesis says: the probability it gives to an observation, and to each value that may come next.

Hypotheses come in three forms: as probabilities of outcomes, ``{"H": 1/3, "T": 2/3}``; as a function that gives
P(d | h) or its logarithm, a density for example; and as a function that predicts a value, or the probabilities of
values, for a case x. An observation is then a pair of a case and its value (x, v), and P(d | h) = P(v | x, h).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from tunbridge._check import did_you_mean, shortened
from tunbridge.errors import DataError
from tunbridge.reasoning.numbers import Number, as_float, as_number, as_probability
from tunbridge.reasoning.priors import normalised


class Models(Protocol):
    """What the hypotheses of a space say."""

    @property
    def in_logs(self) -> bool:
        """Whether likelihoods come as logarithms."""
        ...

    def likelihoods(self, observation: Any) -> Sequence[Number]:
        """Return P(d | h), or its logarithm where ``in_logs``, for each hypothesis."""
        ...

    def values(self, place: int, case: Any) -> dict[Any, Number]:
        """Return the probabilities of the values of a case, P(v | x, h), for the hypothesis at a place."""
        ...

    def is_observation(self, data: Any) -> bool:
        """Whether what looks like several observations is one."""
        ...


@dataclass(frozen=True)
class Outcomes:
    """Hypotheses that are probabilities of outcomes."""

    tables: tuple[dict[Any, Number], ...]
    known: dict[Any, None]
    in_logs = False

    @classmethod
    def of(cls, names: Sequence[Hashable], models: Sequence[Any]) -> Outcomes:
        """Return the outcomes that each hypothesis knows, checked."""
        for name, model in zip(names, models, strict=True):
            if not isinstance(model, Mapping):
                rule = f"the outcomes of {name!r} must be a mapping of value to probability"
                hint = "Otherwise give a likelihood(h, d) or predict(h, x)."
                raise DataError(f"{rule}; got {shortened(repr(model))}. {hint}")
        tables = tuple(value_table(f"the outcomes of {name!r}", m) for name, m in zip(names, models, strict=True))
        return cls(tables, {outcome: None for table in tables for outcome in table})

    def likelihoods(self, observation: Any) -> list[Number]:
        """Return the probability of an outcome under each hypothesis."""
        if not _has_hash(observation) or observation not in self.known:
            hint = did_you_mean(observation, self.known)
            got = shortened(repr(observation))
            raise DataError(f"an observation must be an outcome that a hypothesis knows; got {got}. {hint}")
        return [table.get(observation, Fraction(0)) for table in self.tables]

    def values(self, place: int, case: Any) -> dict[Any, Number]:
        """Return the probabilities of the next outcome, which has no case to depend on."""
        if case is not None:
            raise DataError(f"these hypotheses must predict without a case; got {shortened(repr(case))}.")
        return self.tables[place]

    def is_observation(self, data: Any) -> bool:
        """Whether data are one outcome, a text of several letters for example."""
        return isinstance(data, str) and data in self.known


@dataclass(frozen=True)
class Likelihoods:
    """Hypotheses with a function that gives P(d | h), or its logarithm."""

    names: tuple[Hashable, ...]
    models: tuple[Any, ...]
    function: Callable[[Any, Any], Any]
    in_logs: bool

    def likelihoods(self, observation: Any) -> list[Number]:
        """Return what the function gives for each hypothesis, checked."""
        check = _checked_log if self.in_logs else _checked
        pairs = zip(self.names, self.models, strict=True)
        return [check(name, self.function(model, observation)) for name, model in pairs]

    def values(self, place: int, case: Any) -> dict[Any, Number]:
        """Raise: a likelihood says nothing about which values there are."""
        raise DataError("hypotheses must say what they predict; give HypothesisSpace a function predict(h, x).")

    def is_observation(self, data: Any) -> bool:
        """Whether data are one observation: never, they come one after the other."""
        return False


@dataclass(frozen=True)
class Predictions:
    """Hypotheses with a function that predicts the value of a case."""

    names: tuple[Hashable, ...]
    models: tuple[Any, ...]
    function: Callable[[Any, Any], Any]
    in_logs = False

    def likelihoods(self, observation: Any) -> list[Number]:
        """Return P(v | x, h) of a pair (x, v) for each hypothesis."""
        if not isinstance(observation, tuple | list) or len(observation) != 2:
            rule = "an observation must be a pair of a case and its value"
            raise DataError(f"{rule}; got {shortened(repr(observation))}.")
        case, value = observation
        if not _has_hash(value):
            raise DataError(f"the value of a case must be a plain one; got {shortened(repr(value))}.")
        return [self.values(place, case).get(value, Fraction(0)) for place in range(len(self.names))]

    def values(self, place: int, case: Any) -> dict[Any, Number]:
        """Return the probabilities of the values of a case under a hypothesis."""
        return _predicted(self.names[place], self.function(self.models[place], case))

    def is_observation(self, data: Any) -> bool:
        """Whether data are one pair of a case and its value: a list of pairs is not."""
        return _is_pair(data) and not all(map(_is_pair, data))


def as_observations(data: Any, models: Models) -> list[Any]:
    """Return data as a list of observations; raise for what is none, such as a table or counts by outcome.

    Examples
    --------
    >>> coin = Outcomes.of(["fair"], [{"H": 0.5, "T": 0.5}])
    >>> as_observations("HHT", coin), as_observations("H", coin)
    (['H', 'H', 'T'], ['H'])
    """
    if models.is_observation(data):
        return [data]
    if hasattr(data, "to_pylist"):  # of Arrow
        data = data.to_pylist()
    one = isinstance(data, Mapping) or not isinstance(data, Iterable) or getattr(data, "ndim", 1) == 0
    if one or hasattr(data, "columns"):
        hint = "One is [x]; of a table take a column."
        got = shortened(" ".join(repr(data).split()))
        raise DataError(f"data must be a list of observations; got {got}. {hint}")
    return list(data)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_pair(data: Any) -> bool:
    return isinstance(data, tuple) and len(data) == 2


def value_table(what: str, given: Any) -> dict[Any, Number]:
    """Return probabilities by value that sum to one; raise for what is not that.

    Examples
    --------
    >>> value_table("the coin", {"H": "1/3", "T": "2/3"})
    {'H': Fraction(1, 3), 'T': Fraction(2, 3)}
    """
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"{what} must be a mapping of value to probability; got {shortened(repr(given))}.")
    found = [as_probability(f"the probability of {value!r} in {what}", p) for value, p in given.items()]
    return dict(zip(given, normalised(what, found), strict=True))


def _predicted(name: Hashable, given: Any) -> dict[Any, Number]:
    """Return a prediction as probabilities: a mapping as it is, a value as certain."""
    if isinstance(given, Mapping):
        return value_table(f"what {name!r} predicts", given)
    if given is None or not _has_hash(given):
        rule = "must predict a value, or a mapping of value to probability"
        raise DataError(f"{name!r} {rule}; got {shortened(repr(given))}.")
    return {given: Fraction(1)}


def _checked(name: Hashable, value: Any) -> Number:
    if isinstance(value, float) and 0.0 <= value < math.inf:  # as most are
        return float(value)
    found = as_number(f"the likelihood of {name!r}", value)
    if found < 0:
        raise DataError(f"the likelihood of {name!r} must be at least 0; got {value!r}.")
    return found


def _checked_log(name: Hashable, value: Any) -> float:
    if isinstance(value, float | np.floating) and value < math.inf:
        return float(value)
    return as_float(as_number(f"the log-likelihood of {name!r}", value))
