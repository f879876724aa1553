"""What is kept of sequences: how often each outcome was met in its longest context, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.sequences.counting import NOTHING, Counted, merged
from tunbridge.sequences.layout import Layout
from tunbridge.sequences.sequence_rows import Symbol
from tunbridge.sequences.symbols import symbol_kind


@dataclass(frozen=True, eq=False)
class SequenceStatistics:
    """The counts of symbols in contexts.

    Parameters
    ----------
    target : Variable
        The class variable.
    class_weight : ndarray
        The number (or weight) of the sequences of each class.
    alphabet : tuple of str or int
        The symbols, sorted.
    counted : tuple of Counted
        For each class how often outcomes were met in their longest contexts.
    order : int
        The most letters of a context.
    ends : bool
        Whether the beginning is part of contexts, and the end an outcome.
    length : int, optional
        In the position-specific model the length of the sequences; 0 as long as none has been met.
    column : str, optional
        What the column of the sequences was called.
    order_scores : tuple of float
        The cross-validated score of each order, where one was chosen so.
    """

    target: Variable
    class_weight: np.ndarray
    alphabet: tuple[Symbol, ...]
    counted: tuple[Counted, ...]
    order: int
    ends: bool
    length: int | None = None
    column: str | None = None
    order_scores: tuple[float, ...] = ()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """No features: a sequence is not a row of cells."""
        return ()

    @property
    def layout(self) -> Layout:
        """The contexts that are counted."""
        return Layout(len(self.alphabet), self.order, self.ends, self.length)

    def merge(self, other: SequenceStatistics) -> SequenceStatistics:
        """Return what would have been learned from the sequences of both."""
        self._check_alike(other)
        target = sorted_target(self.target, other.target)
        symbol_kind({*self.alphabet, *other.alphabet})
        alphabet = tuple(sorted({*self.alphabet, *other.alphabet}))
        length = self.length or other.length if self.length is not None else None
        a, b = (each.in_terms_of(target, alphabet, length) for each in (self, other))
        counted = tuple(merged(list(pair)) for pair in zip(a.counted, b.counted, strict=True))
        weight = a.class_weight + b.class_weight
        return replace(a, class_weight=weight, counted=counted, column=self.column or other.column)

    def in_terms_of(
        self, target: Variable, alphabet: tuple[Symbol, ...], length: int | None = None
    ) -> SequenceStatistics:
        """Return the same counts with more classes and a larger alphabet."""
        place = {symbol: code for code, symbol in enumerate(alphabet)}
        lookup = np.array([place[symbol] for symbol in self.alphabet], np.int64)
        new = Layout(len(alphabet), self.order, self.ends, length)
        new.check()
        old, counted = self.layout, [NOTHING] * target.n_states
        weight = np.zeros(target.n_states)
        for c, state in enumerate(self.target.states or ()):
            code, each = target.code(state), self.counted[c]
            weight[code] = self.class_weight[c]
            keys = each.keys if new == old else old.recoded(each.keys, new, lookup)
            counted[code] = Counted(keys, each.counts)  # sorted alphabets keep the order of keys
        return replace(
            self, target=target, class_weight=weight, alphabet=alphabet, counted=tuple(counted), length=length
        )

    def _check_alike(self, other: SequenceStatistics) -> None:
        mine = (self.order, self.ends, self.length is None)
        theirs = (other.order, other.ends, other.length is None)
        if mine != theirs:
            raise DataError(
                "model, order, max_order and ends must stay as they were when further sequences are learned from; got "
                "others. Call fit to begin anew."
            )
        if self.length and other.length and self.length != other.length:
            raise DataError(
                f"sequences of a position-specific model must all have one length; got {other.length} symbols, "
                f"{self.length} before."
            )


def statistics_content(statistics: SequenceStatistics) -> dict[str, Any]:
    """Return statistics as content of a native file."""
    counted = statistics.counted
    return {
        "target": statistics.target,
        "class_weight": statistics.class_weight,
        "alphabet": list(statistics.alphabet),
        "order": statistics.order,
        "ends": statistics.ends,
        "length": statistics.length,
        "column": statistics.column,
        "order_scores": list(statistics.order_scores),
        "ends_of_classes": np.cumsum([len(each.keys) for each in counted], dtype=np.int64),
        "keys": np.concatenate([np.empty(0, np.int64), *(each.keys for each in counted)]),
        "counts": np.concatenate([np.empty(0), *(each.counts for each in counted)]),
    }


def statistics_of(content: Mapping[str, Any]) -> SequenceStatistics:
    """Return the statistics that a native file holds; raise ValueError where its parts do not belong together."""
    ends, keys, counts = (content[name] for name in ("ends_of_classes", "keys", "counts"))
    counted = [Counted(*pair) for pair in zip(np.split(keys, ends[:-1]), np.split(counts, ends[:-1]), strict=True)]
    found = SequenceStatistics(
        content["target"],
        content["class_weight"],
        tuple(content["alphabet"]),
        tuple(counted),
        content["order"],
        content["ends"],
        content["length"],
        content["column"],
        tuple(content["order_scores"]),
    )
    if not _belongs_together(found, ends, keys, counts):
        raise ValueError("its counts do not belong to its alphabet and classes")
    return found


def _belongs_together(found: SequenceStatistics, ends: np.ndarray, keys: np.ndarray, counts: np.ndarray) -> bool:
    layout, n_classes = found.layout, found.target.n_states
    layout.check()
    return bool(
        _is_layout(found)
        and len(found.counted) == n_classes == len(found.class_weight)
        and list(found.alphabet) == sorted(set(found.alphabet))
        and len(keys) == len(counts) == (ends[-1] if n_classes else 0)
        and all((each >= 0).all() and np.isfinite(each).all() for each in (counts, found.class_weight))
        and all((np.diff(each.keys) > 0).all() for each in found.counted)
        and (counts > 0).all()
        and layout.are_contexts(keys // max(1, layout.n_outcomes))
    )


def _is_layout(found: SequenceStatistics) -> bool:
    """Return whether the parts of a layout are what they must be."""
    symbol_kind(found.alphabet)
    has_length = type(found.length) is int and found.length >= 0
    by_place = found.length is None or (has_length and not found.ends)
    return type(found.order) is int and found.order >= 0 and type(found.ends) is bool and by_place
