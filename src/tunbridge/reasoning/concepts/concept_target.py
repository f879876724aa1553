"""The two classes of concept learning: that of the concept, and the other one.

The positive class is named, or recognised when it is called yes, true, 1, + or the like. Where rows have one class
only, the other one gets a name that fits, until a row brings the true one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge._check import did_you_mean, listed
from tunbridge.data import Column, State, Variable
from tunbridge.data.columns import infer_column
from tunbridge.errors import DataError

_OPPOSITES = {
    "yes": "no", "Yes": "No", "YES": "NO", "y": "n", "Y": "N", "true": "false", "True": "False", "TRUE": "FALSE",
    "t": "f", "T": "F", "+": "-", "1": "0", "positive": "negative", "Positive": "Negative", "pos": "neg",
}  # fmt: skip
_POSITIVES = {no: yes for yes, no in _OPPOSITES.items()}


@dataclass(frozen=True)
class Target:
    """The two classes: that of the concept, and the other one.

    Parameters
    ----------
    name : str
        The name of the class column.
    positive, negative : state
        The labels.
    assumed : bool
        Whether the negative label was made up, because no row has one.
    """

    name: str
    positive: State
    negative: State
    assumed: bool = False

    @property
    def classes(self) -> list[Any]:
        """Both labels, sorted where they can be."""
        both: list[Any] = [self.negative, self.positive]
        try:
            return sorted(both)
        except TypeError:
            return both


def as_labels(labels: list[Any]) -> np.ndarray:
    """Return labels as an array that keeps their types."""
    return np.array(labels, None if len(set(map(type, labels))) == 1 else object)


def find_target(labels: Column, kept: np.ndarray, positive: Any, before: Target | None, classes: Any) -> Target:
    """Return which class is the concept, and what the other one is called."""
    name, states = labels.variable.name, labels.variable.states or ()
    codes = labels.values[kept]
    if (codes < 0).any():
        row = int(np.flatnonzero(kept)[int((codes < 0).argmax())]) + 1
        raise DataError(f"every row must have a class; row {row} has none. Leave such rows out.")
    present = [states[code] for code in np.unique(codes)]
    if before is not None:
        return _continued(before, present)
    known = _labels(present, list(states) if classes is None else _declared(classes, present))
    chosen = _positive(positive, known, name)
    others = [label for label in known if Variable(name, [label]).find(chosen) < 0]
    if not others:
        return Target(name, chosen, _opposite(chosen), assumed=True)
    return Target(name, chosen, others[0])


def _declared(classes: Any, present: list[State]) -> list[State]:
    """Return the two classes that were given; raise unless the rows have no others."""
    declared = list(infer_column("classes", classes, "categorical").variable.states or ())
    if len(declared) != 2 or not set(present) <= set(declared):
        raise DataError(f"classes must be the two labels of y; got {listed(declared)}, and rows of {listed(present)}.")
    return declared


def _labels(present: list[State], declared: list[State]) -> list[State]:
    """Return the classes: those of the rows, and the other one of two that were declared."""
    known = declared if len(present) < 2 and len(declared) == 2 and set(present) <= set(declared) else present
    if len(known) > 2:
        raise DataError(
            f"y must have two classes, in the concept or not; got {listed(known)}. Learn one class against the "
            "others: make a column of truth values, such as y == 'a'."
        )
    return known


def _positive(positive: Any, known: list[State], name: str) -> State:
    if positive is not None:
        code = Variable(name, known).find(positive)
        if code < 0 and len(known) == 2:
            raise DataError(f"positive must be one of the classes; got {positive!r}. {did_you_mean(positive, known)}")
        return known[code] if code >= 0 else positive
    looks = [label for label in known if _text(label) in _OPPOSITES]
    if len(known) == 1 and _text(known[0]) in _POSITIVES:
        return _opposite(known[0])
    if len(looks) != 1:
        raise DataError(
            f"it must be clear which class the concept is about; the classes of {name!r} are {listed(known)}. "
            f"Say it: positive={known[-1]!r}."
        )
    return looks[0]


def _text(label: State) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _opposite(positive: Any) -> State:
    """Return a label for the other class."""
    if isinstance(positive, bool):
        return not positive
    if isinstance(positive, int | float):
        return type(positive)(positive == 0)
    text = str(positive)
    return _OPPOSITES.get(text) or _POSITIVES.get(text) or f"not {positive}"


def _continued(before: Target, present: list[State]) -> Target:
    """Return the classes that earlier rows had, with the negative label that has come since."""
    known = Variable(before.name, [before.positive, before.negative])
    new = [label for label in present if known.find(label) < 0]
    if not new:
        seen = any(known.find(label) == 1 for label in present)
        return replace(before, assumed=before.assumed and not seen)
    if len(new) > 1 or not before.assumed:
        raise DataError(f"y must have the classes {listed(before.classes)}, as the rows before; got {new[-1]!r}.")
    return Target(before.name, before.positive, new[0])
