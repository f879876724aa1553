"""Importance: how much each feature says about the class over all rows.

An explanation is about one row; importance is about all of them. The mutual information of a feature and the class,

    I(X; C) = Σ_x,c P(x, c) log P(x, c)/(P(x) P(c)),

is the mean number of nats by which knowing X reduces the uncertainty about C, H(C). For a feature that depends on
others it is I(X; C | parents), what it adds to them. The expected weight of evidence,

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
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge._core.check import counted, did_you_mean
from tunbridge._core.grid import data_frame, grid_lines, html_table
from tunbridge.decisions.evidence import Evidence, json_value
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas

_BAR, _SHOWN = 24, 40

METHODS = ("information", "weight")


class FeatureImportance(NamedTuple):
    """The importance of one feature, in nats, and the features that it is conditional on."""

    feature: str
    value: float
    given: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The feature with what it is conditional on, such as ``humidity | temperature``."""
        return Evidence(self.feature, None, 0.0, self.given).name


@dataclass(frozen=True, eq=False)
class Importance(Mapping[str, float]):
    """How much each feature says about the class: a mapping of features to nats, the most important first.

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
        raise DataError(f"an importance must be looked up by feature; got {name!r}. {did_you_mean(name, list(self))}")

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
        """Return everything as JSON values; infinite ones as text."""
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

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with the columns ``feature``, ``value`` (nats), ``share`` (of H(C)) and ``given``.

        ``share`` is there for the method ``"information"`` only.
        """
        names, values, given = zip(*self.features, strict=True) if self.features else ((), (), ())
        shares = {"share": [*self.shares.values()]} if self.method == "information" else {}
        return data_frame({"feature": names, "value": values, **shares, "given": [", ".join(g) for g in given]})

    def __str__(self) -> str:
        lines = grid_lines(self._header(), self._rows(), left=(0, len(self._header()) - 1))
        return "\n".join([self._headline(), "", *lines, *self._left()])

    __repr__ = __str__

    def _header(self) -> list[str]:
        return ["feature", "nats", "share", ""] if self.method == "information" else ["feature", "weight", ""]

    def _headline(self) -> str:
        if self.method == "information":
            return f"What each feature tells about {self.target}: H({self.target}) = {self.entropy:.3g} nats"
        return f"How far each feature moves the log-odds of {self.target} on average"

    def _left(self) -> list[str]:
        left = len(self.features) - _SHOWN
        return [f"… {counted(left, 'more feature')}"] if left > 0 else []

    def _rows(self) -> list[list[str]]:
        """Return the cells of each line that is shown, the bar last."""
        largest = max((f.value for f in self.features if isfinite(f.value)), default=0.0)
        shares, found = self.shares, []
        for f in self.features[:_SHOWN]:
            percent = f"{shares[f.feature]:.1%}".replace("%", " %")
            length = _BAR if not isfinite(f.value) else round(_BAR * f.value / largest) if largest > 0 else 0
            value = f"{f.value:.4f}" if isfinite(f.value) else "∞"
            found.append([f.name, value, *([percent] if self.method == "information" else []), "+" * length])
        return found

    def _repr_html_(self) -> str:
        table = html_table(self._header()[:-1], [row[:-1] for row in self._rows()])
        left = "".join(f"<p>{line}</p>" for line in self._left())
        return f"<p>{html.escape(self._headline())}</p>{table}{left}"


def importance(
    values: Iterable[tuple[str, float, Sequence[str]]], *, method: str, target: str, entropy: float
) -> Importance:
    """Return an Importance with the features sorted, the most important first (ties in the given order)."""
    found = [FeatureImportance(name, float(value), tuple(given)) for name, value, given in values]
    return Importance(method, target, float(entropy), tuple(sorted(found, key=lambda f: -f.value)))
