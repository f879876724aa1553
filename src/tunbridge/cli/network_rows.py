"""A network and one of its variables in the part of a classifier: what ``tunbridge predict`` asks of either."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge._check import did_you_mean, listed, warn_user
from tunbridge.cli.failures import UsageError
from tunbridge.cli.findings import check_targets
from tunbridge.cli.output import counted, note, shortlist
from tunbridge.errors import DataError, ZeroProbabilityWarning

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tunbridge.cli.options import Reading
    from tunbridge.data import Variable
    from tunbridge.network import BayesianNetwork

_SHOWN = 6


@dataclass(frozen=True)
class NetworkTarget:
    """A network that predicts one of its variables from those of the others that a row knows."""

    net: BayesianNetwork
    target_name_: str

    @classmethod
    def of(cls, net: BayesianNetwork, target: str | None, path: Path) -> NetworkTarget:
        """Return the network in a file with its target; raise unless the target is one of its variables."""
        if target is None:
            raise UsageError(f"--target must name the variable to predict; {path.name} is a network.")
        check_targets(net, [target], path)
        return cls(net, target)

    @property
    def variables_(self) -> tuple[Variable, ...]:
        """The variables that a prediction may rest on."""
        return tuple(v for v in self.net.variables if v.name != self.target_name_)

    @property
    def classes_(self) -> np.ndarray:
        """The states of the target; those of different types as text."""
        import numpy as np

        states = self.net.variable(self.target_name_).states or ()
        alike = len({type(state) for state in states}) == 1
        return np.array(states if alike else list(map(str, states)), object)

    def predict_proba(self, features: pa.Table) -> np.ndarray:
        """Return the posterior of the target for every row; NaN where the row is impossible, of which nobody warns."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)
            return self.net.predict_proba(features, self.target_name_)

    @property
    def is_number(self) -> bool:
        """Whether the target is continuous."""
        return self.net.variable(self.target_name_).is_continuous

    def predict_numbers(self, features: pa.Table) -> np.ndarray:
        """Return the expected value of a continuous target for every row; NaN where the row is impossible."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)
            return self.net.predict(features, self.target_name_)

    def reading(self, reading: Reading) -> Reading:
        """Return how rows are read: a marker of missing values that is the name of a state is that state."""
        from tunbridge.data.readers import DEFAULT_MISSING

        states = {str(state) for v in self.net.variables for state in v.states or ()} - set(reading.missing or ())
        kept = [*(reading.not_missing or ()), *(mark for mark in DEFAULT_MISSING if mark in states)]
        return replace(reading, not_missing=kept)


def check_some_columns(model: Any, path: Path, names: Iterable[str]) -> None:
    """Raise unless a file has columns of the network; tell which variables are unknown in all of its rows."""
    columns = set(names)
    absent = [v.name for v in model.variables_ if v.name not in columns]
    if absent and len(absent) == len(model.variables_):
        hint = did_you_mean(next(iter(names)), absent)
        raise DataError(f"{path.name} must have columns that are variables of the network; got {listed(names)}. {hint}")
    if absent:
        note(f"Note: unknown, because {path.name} has no such column: {shortlist(absent, most=_SHOWN)}.")


class ImpossibleRows:
    """The rows of a stream that a network holds for impossible: how many, and the first of them."""

    def __init__(self) -> None:
        self.seen = self.n = self.first = 0

    def add(self, impossible: np.ndarray) -> None:
        """Count the rows of a batch."""
        if not self.n and impossible.any():
            self.first = self.seen + int(impossible.argmax()) + 1
        self.n += int(impossible.sum())
        self.seen += len(impossible)

    def tell(self) -> None:
        """Warn of them, if there are any."""
        if self.n:
            which = f"row {self.first}" if self.n == 1 else f"the first is row {self.first}"
            told = f"{self.n} of {counted(self.seen, 'row')} ({which}) cannot occur in the network"
            warn_user(f"{told}, and no class is predicted there.", ZeroProbabilityWarning)
