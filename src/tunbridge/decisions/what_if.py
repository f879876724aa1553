"""What if: which single change of a row would change its class.

An explanation says what speaks for a class; a what-if says what it would have taken to get another one. One feature at
a time is given every other value it may have, or taken away, and the posterior asked for again:

    P(c | x with x_f replaced by x′_f).

These are statements about the model, not about the world: to change a symptom is not to cure the disease.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tunbridge._check import counted, shortened
from tunbridge.decisions.evidence import json_value, value_text

_SHOWN = 12
_VALUE_WIDTH = 30


@dataclass(frozen=True)
class Change:
    """One feature with another value, and what comes of it.

    Parameters
    ----------
    feature : str
        The feature that is changed.
    value, new_value : object
        What it is, and what it would be instead; None stands for unknown.
    label : object
        The class in question: the one that was asked for, or the most probable of those that the row has not.
    probability : float
        The probability that this class reaches.
    flips : bool
        Whether the class becomes the row's class.
    interval : str, optional
        Of a number that is cut into intervals, the one in which the new value lies: any value in it will do.
    """

    feature: str
    value: Any
    new_value: Any
    label: Any
    probability: float
    flips: bool
    interval: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows."""
        return {
            "feature": self.feature,
            "value": json_value(self.value),
            "new_value": json_value(self.new_value),
            **({"interval": self.interval} if self.interval is not None else {}),
            "label": json_value(self.label),
            "probability": self.probability,
            "flips": self.flips,
        }

    def texts(self) -> tuple[str, ...]:
        """Return what a table shows: feature, value, new value, class, probability."""
        new = self.interval if self.interval is not None else "unknown" if self.new_value is None else self.new_value
        now = "unknown" if self.value is None else value_text(self.value)
        values = (shortened(" ".join(t.split()), _VALUE_WIDTH) for t in (now, value_text(new)))
        return (self.feature, *values, str(self.label), f"{self.probability:.3g}")


@dataclass(frozen=True)
class WhatIf:
    """What single changes would do to the class of a row.

    Parameters
    ----------
    label : object
        The class that the row has.
    probability : float
        Its probability.
    changes : tuple of Change
        Those that give the row another class first; then by the probability that is reached.
    to : object, optional
        The class that was asked for.

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
        """The changes that give the row another class."""
        return tuple(change for change in self.changes if change.flips)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows."""
        return {
            "label": json_value(self.label),
            "probability": self.probability,
            "to": json_value(self.to),
            "changes": [change.to_dict() for change in self.changes],
        }

    def text(self, most: int | None = None) -> str:
        """Return a table of the changes, all of them or the first ones."""
        shown = self.changes if most is None else self.changes[:most]
        head = ("feature", "value", "instead", "class", "probability")
        rows = [head, *(change.texts() for change in shown)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*(t.ljust(w) for t, w in zip(row[:-1], widths, strict=False)), row[-1].rjust(widths[-1])])
            for row in rows
        ]
        marks = ["", *("  flips" if change.flips else "" for change in shown)]
        lines = [line + mark for line, mark in zip(lines, marks, strict=True)]
        left = self.changes[len(shown) :]
        rest = sum(change.flips for change in left)
        tail = "none of which flips it" if not rest else f"{rest} of which {'flips' if rest == 1 else 'flip'} it"
        more = [f"… {counted(len(left), 'more change')}, {tail}"] if left else []
        return "\n".join([self._headline(), *(["", *lines, *more] if self.changes else [])])

    def __str__(self) -> str:
        return self.text(max(_SHOWN, min(len(self.flips), 2 * _SHOWN)))

    __repr__ = __str__

    def _headline(self) -> str:
        now = f"{self.label!s}: P({self.label!s}) = {self.probability:.3g}"
        if self.to is not None and self.to == self.label:
            return f"{now}. It is {self.to!s} already."
        aim = "another class" if self.to is None else str(self.to)
        n, flips = len(self.changes), len(self.flips)
        if not flips:
            return f"{now}. None of {counted(n, 'single change')} gives {aim}."
        return f"{now}. {flips} of {counted(n, 'single change')} {'gives' if flips == 1 else 'give'} {aim}."

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{t}</th>" for t in ("feature", "value", "instead", "class", "probability", ""))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(t)}</td>" for t in (*c.texts(), "flips" if c.flips else "")) + "</tr>"
            for c in self.changes
        )
        return f"<p>{html.escape(self._headline())}</p><table><tr>{head}</tr>{rows}</table>"


def what_if(label: Any, probability: float, changes: Iterable[Change], *, to: Any = None) -> WhatIf:
    """Return a WhatIf with the changes sorted: flips first, then by probability (ties in the order given)."""
    ordered = sorted(changes, key=lambda change: (not change.flips, -change.probability))
    return WhatIf(label, float(probability), tuple(ordered), to)
