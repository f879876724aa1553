"""Weights of evidence: why a row gets this class rather than that one, and which change would give it another.

Under naive Bayes the log-odds of class c against c′ are a sum with one term per feature,

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_f log P(x_f | c)/P(x_f | c′),

and each term is the weight of evidence (Good 1950) of the feature's value for c. A missing value has weight 0. A weight
of 0.69 doubles the odds, one of −0.69 halves them.

In a model with dependences between features a term is log P(x_f | parents, c)/P(x_f | parents, c′), the weight of the
value given the values of its parents. The terms still add up, and each names what it is conditional on.

A what-if analysis replaces one feature at a time by each of its other values, or by a missing value, and computes the
posterior P(c | x with x_f replaced by x′_f) again. The result describes the model, not the world: changing a symptom
does not cure the disease.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, isfinite, isinf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tunbridge._core.check import counted, shortened
from tunbridge._core.grid import data_frame, grid_lines, html_table, plain_number

if TYPE_CHECKING:
    import pandas

BAR = 12
"""The length of the longest bar in a printed explanation."""

_GIVEN_SHOWN = 3
_CHANGES_SHOWN = 12
_WORDS_SHOWN = 12  # of a column of texts
_VALUE_WIDTH = 30


class _Weight(NamedTuple):
    feature: str
    value: Any
    weight: float


class Evidence(_Weight):
    """The evidence of one feature: its name, its value (None when missing), and its weight in nats.

    It is a tuple of these three. ``given`` names the features that the weight is conditional on; empty for none.

    Examples
    --------
    >>> Evidence("humidity", "High", 0.88)
    Evidence(feature='humidity', value='High', weight=0.88)
    >>> Evidence("humidity", "High", 0.88, given=("temperature",)).given
    ('temperature',)
    """

    given: tuple[str, ...] = ()

    def __new__(cls, feature: str, value: object, weight: float, given: Sequence[str] = ()) -> Self:
        """Return the evidence of one feature."""
        self = super().__new__(cls, feature, value, weight)
        self.given = tuple(given)
        return self

    def __repr__(self) -> str:
        more = f", given={self.given!r}" if self.given else ""
        return f"Evidence(feature={self.feature!r}, value={self.value!r}, weight={self.weight!r}{more})"

    @property
    def name(self) -> str:
        """The feature with up to three of the features it is conditional on, such as ``humidity | temperature``."""
        if not self.given:
            return self.feature
        more = ", …" if len(self.given) > _GIVEN_SHOWN else ""
        return f"{self.feature} | {', '.join(self.given[:_GIVEN_SHOWN])}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; an infinite weight as text."""
        given = {"given": list(self.given)} if self.given else {}
        return {"feature": self.feature, "value": json_value(self.value), "weight": json_value(self.weight), **given}


@dataclass(frozen=True, repr=False)
class Explained:
    """What explanations of rows, texts and sequences have in common; :class:`Explanation` describes the fields."""

    label: Any
    against: Any
    prior: float
    evidence: tuple[Evidence, ...]
    probabilities: Mapping[Any, float]

    @property
    def log_odds(self) -> float:
        """The log of the posterior odds of ``label`` against ``against``.

        Where both classes are impossible, by the evidence or one of them by the prior, the prior odds remain.
        """
        terms = [self.prior, *(e.weight for e in self.evidence)]
        return self.prior if inf in terms and -inf in terms else float(sum(terms))

    @property
    def headline(self) -> str:
        """The two classes, and the probability of the explained one."""
        return f"{self.label!s} rather than {self.against!s}: P({self.label!s}) = {self.probabilities[self.label]:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; infinite weights as text."""
        return self._with_common(evidence=[e.to_dict() for e in self.evidence])

    def _with_common(self, **own: object) -> dict[str, Any]:
        """Return JSON values: the fields of every explanation around those of its own kind."""
        return {
            "label": json_value(self.label),
            "against": json_value(self.against),
            "prior": json_value(self.prior),
            **own,
            "log_odds": json_value(self.log_odds),
            "probabilities": {str(c): p for c, p in self.probabilities.items()},
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with the columns ``feature``, ``value``, ``weight`` and ``given``, the prior first.

        The weights add up to :attr:`log_odds`.
        """
        lines = [Evidence("prior", None, self.prior), *self.evidence]
        columns = {name: [getattr(e, name) for e in lines] for name in ("feature", "value", "weight")}
        return data_frame({**columns, "given": [", ".join(e.given) for e in lines]})

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Explanation(Explained):
    """Why a row is given one class rather than another.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        log P(label)/P(against) before any evidence.
    evidence : tuple of Evidence
        One per feature, the heaviest (in absolute value) first; ``prior`` plus all weights is ``log_odds``. A feature
        that is conditional on others is printed as ``humidity | temperature``.
    probabilities : mapping
        The posterior probability of every class.
    texts : mapping of str to TextExplanation
        For columns of free text the words in their places. Each word is among the evidence, with the column as its
        feature; printed are the heaviest words of a column, and the others together.
    """

    texts: Mapping[str, Any] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, str, float]]:
        """Return (feature, value, weight) for the prior, the evidence, and the sum."""
        found, others = list[tuple[str, str, float]](), dict[str, list[float]]()
        seen = dict.fromkeys(self.texts, 0)
        for e in self.evidence:
            if e.feature in seen and seen[e.feature] >= _WORDS_SHOWN:
                others.setdefault(e.feature, []).append(e.weight)
                continue
            if e.feature in seen:
                seen[e.feature] += 1
            found.append((e.name, value_text(e.value), e.weight))
        found += [(name, f"… {counted(len(rest), 'other word')}", sum(rest)) for name, rest in others.items()]
        return [("prior", "", self.prior), *found, ("sum", "", self.log_odds)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; infinite weights as text."""
        texts = {"texts": {name: each.to_dict() for name, each in self.texts.items()}} if self.texts else {}
        return {**super().to_dict(), **texts}

    def __str__(self) -> str:
        rows = self.rows()
        largest = max((abs(w) for _, _, w in rows[:-1] if not isinf(w)), default=0.0)
        bars = [*(weight_bar(w, largest) for _, _, w in rows[:-1]), ""]
        cells = [[f, v, _signed(w), _factor(w), bar] for (f, v, w), bar in zip(rows, bars, strict=True)]
        header = ["feature", "value", " weight", "  odds ×", ""]
        marked = [line for name, each in self.texts.items() for line in ("", f"{name}:", each.marked)]
        return "\n".join([self.headline, "", *grid_lines(header, cells, left=(0, 1, 4)), *marked])

    def _repr_html_(self) -> str:
        cells = [[f, v, _signed(w), _factor(w)] for f, v, w in self.rows()]
        table = html_table(["feature", "value", "weight", "odds ×"], cells, left=(0, 1))
        texts = "".join(f"<p>{html.escape(name)}:</p>{each.marked_html}" for name, each in self.texts.items())
        return f"<p>{html.escape(self.headline)}</p>{table}{texts}"


def explanation(
    label: object,
    against: object,
    *,
    prior: float,
    names: Sequence[str],
    values: Sequence[object],
    weights: Sequence[float],
    probabilities: Mapping[Any, float],
    given: Sequence[Sequence[str]] | None = None,
) -> Explanation:
    """Return an Explanation with the evidence sorted by absolute weight (ties in the order of the features)."""
    beside = [()] * len(names) if given is None else given
    evidence = [Evidence(n, v, float(w), g) for n, v, w, g in zip(names, values, weights, beside, strict=True)]
    ordered = sorted(evidence, key=lambda e: -abs(e.weight))
    return Explanation(label, against, float(prior), tuple(ordered), dict(probabilities))


# What if


@dataclass(frozen=True)
class Change:
    """One feature with another value, and the probability that results.

    Parameters
    ----------
    feature : str
        The feature that is changed.
    value, new_value : object
        Its value, and the one it would have instead; None for a missing value.
    label : object
        The class in question: the requested one, or the most probable class other than the row's.
    probability : float
        The probability of this class after the change.
    flips : bool
        Whether this class becomes the most probable one.
    interval : str, optional
        For a discretized number, the bin of the new value: any value in it gives the same result.
    """

    feature: str
    value: Any
    new_value: Any
    label: Any
    probability: float
    flips: bool
    interval: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        interval = {"interval": self.interval} if self.interval is not None else {}
        values = {name: json_value(getattr(self, name)) for name in ("feature", "value", "new_value")}
        rest = {name: json_value(getattr(self, name)) for name in ("label", "probability", "flips")}
        return {**values, **interval, **rest}

    def texts(self) -> tuple[str, ...]:
        """Return what a table shows: feature, value, new value, class, probability."""
        new = self.interval if self.interval is not None else "unknown" if self.new_value is None else self.new_value
        now = "unknown" if self.value is None else value_text(self.value)
        values = (shortened(" ".join(t.split()), _VALUE_WIDTH) for t in (now, value_text(new)))
        return (self.feature, *values, str(self.label), f"{self.probability:.3g}")


_HEADER = ("feature", "value", "instead", "other class", "probability", "")
_TO_THE_LEFT = (0, 1, 2, 3, 5)


@dataclass(frozen=True)
class WhatIf:
    """What single changes would do to the class of a row.

    Parameters
    ----------
    label : object
        The predicted class of the row.
    probability : float
        Its probability.
    changes : tuple of Change
        Those that change the predicted class first; then by probability.
    to : object, optional
        The requested class.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> found = clf.what_if({"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"})
    >>> [(change.feature, change.new_value) for change in found.flips]
    [('outlook', 'Overcast'), ('humidity', 'Normal')]
    """

    label: Any
    probability: float
    changes: tuple[Change, ...]
    to: Any = None

    @property
    def flips(self) -> tuple[Change, ...]:
        """The changes that change the predicted class."""
        return tuple(change for change in self.changes if change.flips)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "label": json_value(self.label),
            "probability": self.probability,
            "to": json_value(self.to),
            "changes": [change.to_dict() for change in self.changes],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per change and the fields of :class:`Change` as columns."""
        names = ("feature", "value", "new_value", "interval", "label", "probability", "flips")
        return data_frame({name: [getattr(change, name) for change in self.changes] for name in names})

    def text(self, most: int | None = None) -> str:
        """Return a table of the changes, all of them or the first ones."""
        if not self.changes:
            return self._headline()
        shown = self.changes[:most]
        left = self.changes[len(shown) :]
        rest = sum(change.flips for change in left)
        tail = "none of which flips it" if not rest else f"{rest} of which {'flips' if rest == 1 else 'flip'} it"
        more = [f"… {counted(len(left), 'more change')}, {tail}"] if left else []
        return "\n".join([self._headline(), "", *grid_lines(_HEADER, _cells(shown), left=_TO_THE_LEFT), *more])

    def __str__(self) -> str:
        return self.text(max(_CHANGES_SHOWN, min(len(self.flips), 2 * _CHANGES_SHOWN)))

    __repr__ = __str__

    def _headline(self) -> str:
        now = f"{self.label!s}: P({self.label!s}) = {self.probability:.3g}"
        if self.to is not None and self.to == self.label:
            return f"{now}. It is {self.to!s} already."
        aim = "another class" if self.to is None else str(self.to)
        n, flips = counted(len(self.changes), "single change"), len(self.flips)
        if not flips:
            return f"{now}. None of {n} gives {aim}."
        return f"{now}. {flips} of {n} {'gives' if flips == 1 else 'give'} {aim}."

    def _repr_html_(self) -> str:
        table = html_table(_HEADER, _cells(self.changes), left=_TO_THE_LEFT)
        return f"<p>{html.escape(self._headline())}</p>{table}"


def what_if(label: object, probability: float, changes: Iterable[Change], *, to: object = None) -> WhatIf:
    """Return a WhatIf with the changes sorted: flips first, then by probability (ties in the given order)."""
    ordered = sorted(changes, key=lambda change: (not change.flips, -change.probability))
    return WhatIf(label, float(probability), tuple(ordered), to)


def _cells(changes: Iterable[Change]) -> list[tuple[str, ...]]:
    return [(*change.texts(), "flips" if change.flips else "") for change in changes]


# Values as text


def json_value(value: object) -> object:
    """Return a value as JSON has it: infinities and values of other types as text, NaN as None."""
    if isinstance(value, float) and isnan(value):
        return None
    if isinstance(value, float) and not isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def value_text(value: object) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return "missing"
    return plain_number(value) if isinstance(value, float) else str(value)


def weight_bar(weight: float, largest: float) -> str:
    """Return a bar of plus or minus signs; ``largest`` is the weight of the longest one."""
    share = 1.0 if isinf(weight) else abs(weight) / largest if largest else 0.0
    return ("+" if weight > 0 else "-") * round(BAR * share)


def _signed(weight: float) -> str:
    """Return a weight with its sign, which what rounds to zero does not have twice."""
    text = f"{weight:+.2f}"
    return "+0.00" if text == "-0.00" else text


def _factor(weight: float) -> str:
    """Return what the odds are multiplied by."""
    if isinf(weight):
        return "∞" if weight > 0 else "0"
    if abs(weight) > 700.0:  # beyond the range of doubles
        return "> 1e304" if weight > 0 else "< 1e-304"
    return f"{exp(weight):.3g}"
