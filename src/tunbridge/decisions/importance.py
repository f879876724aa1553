"""Importance: what the features tell about the class over all rows.

An explanation is about one row; importance is about the whole. The information that a feature shares with the class,

    I(X; C) = Σ_x,c P(x, c) log P(x, c)/(P(x) P(c)),

is the mean number of nats by which knowing X lessens the uncertainty about C, H(C). Where a feature depends on others
it is I(X; C | parents), what it tells beside them. The expected weight of evidence,

    Σ_c P(c) Σ_x P(x | c) log P(x | c)/P(x | not c),

is how far a value of the feature moves the log-odds of the true class on average.

References
----------
I. J. Good (1950). Probability and the Weighing of Evidence. Griffin, London.
T. M. Cover, J. A. Thomas (2006). Elements of Information Theory, chapter 2. Wiley.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

from tunbridge._check import counted, did_you_mean
from tunbridge.decisions.evidence import Evidence, json_value
from tunbridge.errors import DataError

_BAR, _SHOWN = 24, 40

METHODS = ("information", "weight")


class FeatureImportance(NamedTuple):
    """What one feature tells, in nats, and the features beside which it does."""

    feature: str
    value: float
    given: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The feature as it is shown: with what it is conditional on."""
        return Evidence(self.feature, None, 0.0, self.given).name


@dataclass(frozen=True, eq=False)
class Importance(Mapping[str, float]):
    """What each feature tells about the class: a mapping of features to nats, the most important first.

    Parameters
    ----------
    method : {"information", "weight"}
        Mutual information with the class, or expected weight of evidence.
    target : str
        The name of the class variable.
    entropy : float
        H(C), the uncertainty about the class before anything is known, in nats.
    features : tuple of FeatureImportance
        The most important first.

    Examples
    --------
    >>> import tunbridge as tb
    >>> found = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play").importance()
    >>> list(found), round(found["outlook"], 4)
    (['outlook', 'humidity', 'wind', 'temperature'], 0.171)
    """

    method: str
    target: str
    entropy: float
    features: tuple[FeatureImportance, ...]

    @cached_property
    def _values(self) -> dict[str, float]:
        return {feature.feature: feature.value for feature in reversed(self.features)}

    def __getitem__(self, name: str) -> float:
        if isinstance(name, str) and name in self._values:
            return self._values[name]
        raise DataError(f"an importance must be asked by feature; got {name!r}. {did_you_mean(name, list(self))}")

    def __iter__(self) -> Iterator[str]:
        return (feature.feature for feature in self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._values

    @property
    def shares(self) -> dict[str, float]:
        """Each feature's information as a share of H(C); they need not add up to one."""
        return {f.feature: f.value / self.entropy if self.entropy > 0 else 0.0 for f in self.features}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; infinite ones as text."""
        shares = self.shares if self.method == "information" else {}
        return {
            "method": self.method,
            "target": self.target,
            "entropy": self.entropy,
            "features": [
                {"feature": f.feature, "value": json_value(f.value)}
                | ({"share": shares[f.feature]} if shares else {})
                | ({"given": list(f.given)} if f.given else {})
                for f in self.features
            ],
        }

    def __str__(self) -> str:
        rows = self._rows()
        head = ("feature", self._measure(), *(["share"] if self.method == "information" else []))
        widths = [max(map(len, column)) for column in zip(head, *(cells for cells, _ in rows), strict=True)]
        lines = [self._headline(), "", _line(head, widths)]
        lines += [f"{_line(cells, widths)}  {bar}".rstrip() for cells, bar in rows]
        return "\n".join([*lines, *([self._left()] if self._left() else [])])

    __repr__ = __str__

    def _measure(self) -> str:
        return "nats" if self.method == "information" else "weight"

    def _headline(self) -> str:
        if self.method == "information":
            return f"What each feature tells about {self.target}: H({self.target}) = {self.entropy:.3g} nats"
        return f"How far each feature moves the log-odds of {self.target} on average"

    def _left(self) -> str:
        """Return how many features are not shown; nothing where all are."""
        left = len(self.features) - _SHOWN
        return f"… {counted(left, 'more feature')}" if left > 0 else ""

    def _rows(self) -> list[tuple[tuple[str, ...], str]]:
        """Return the cells and the bar of each line that is shown."""
        largest = max((f.value for f in self.features if isfinite(f.value)), default=0.0)
        found = []
        for f in self.features[:_SHOWN]:
            share = f.value / self.entropy if self.entropy > 0 else 0.0
            percent = [f"{share:.1%}".replace("%", " %")] if self.method == "information" else []
            length = _BAR if not isfinite(f.value) else round(_BAR * f.value / largest) if largest > 0 else 0
            value = f"{f.value:.4f}" if isfinite(f.value) else "∞"
            found.append(((f.name, value, *percent), "+" * length))
        return found

    def _repr_html_(self) -> str:
        head = ["feature", self._measure(), *(["share"] if self.method == "information" else [])]
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells, _ in self._rows()
        )
        titles = "".join(f"<th>{h}</th>" for h in head)
        left = f"<p>{self._left()}</p>" if self._left() else ""
        return f"<p>{html.escape(self._headline())}</p><table><tr>{titles}</tr>{rows}</table>{left}"


def importance(
    values: Iterable[tuple[str, float, Sequence[str]]], *, method: str, target: str, entropy: float
) -> Importance:
    """Return an Importance with the features sorted, the most important first (ties in the order given)."""
    found = [FeatureImportance(name, float(value), tuple(given)) for name, value, given in values]
    return Importance(method, target, float(entropy), tuple(sorted(found, key=lambda f: -f.value)))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    numbers = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "  ".join([cells[0].ljust(widths[0]), *numbers])
