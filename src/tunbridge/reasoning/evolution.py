"""How the probabilities of hypotheses change as observations come in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from tunbridge._check import shortened
from tunbridge.probability.grid import text_grid

_SHOWN = 20
_MOST = 8


@dataclass(frozen=True, eq=False, repr=False)
class Evolution:
    """The probability of each hypothesis before and after each observation.

    Parameters
    ----------
    hypotheses : tuple
        The hypotheses.
    observations : tuple
        What was seen, in its order.
    probabilities : ndarray of shape (n_observations + 1, n_hypotheses)
        The prior in the first row, then the posterior after each observation.
    """

    hypotheses: tuple[Hashable, ...]
    observations: tuple[object, ...]
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        self.probabilities.setflags(write=False)

    def __len__(self) -> int:
        return len(self.observations)

    def __repr__(self) -> str:
        best = np.argsort(-self.probabilities[-1], kind="stable")[:_MOST]
        shown = sorted(best.tolist()) if len(self.hypotheses) > _MOST else range(len(self.hypotheses))
        rows = range(len(self) + 1)
        kept = [*rows] if len(self) < _SHOWN else [*rows[: _SHOWN // 2], *rows[-_SHOWN // 2 :]]
        lines: list[list[object]] = [
            [i, "" if i == 0 else shortened(str(self.observations[i - 1])), *self.probabilities[i, shown].tolist()]
            for i in kept
        ]
        if len(kept) < len(rows):
            lines.insert(_SHOWN // 2, ["…", *[""] * (1 + len(shown))])
        return text_grid(["", "seen", *(self.hypotheses[j] for j in shown)], lines)
