"""Filtering one slice after another, with the memory of one slice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge.errors import DataError
from tunbridge.probability import Distribution
from tunbridge.temporal.dynamic.evidence import Asked, Findings, read_findings
from tunbridge.temporal.dynamic.slices import Messages, impossible, joint, message_factors

if TYPE_CHECKING:
    from tunbridge.temporal.dynamic.network import DynamicBayesianNetwork


class SliceStream:
    """A filter that takes one slice after another; what it keeps does not grow.

    Attributes
    ----------
    n_slices : int
        How many slices were observed.
    log_likelihood : float
        ln P(their evidence).

    Examples
    --------
    >>> from tunbridge.temporal.dynamic import DynamicBayesianNetwork
    >>> sky = DynamicBayesianNetwork(
    ...     {"Rain": ["no", "yes"]}, arcs=[("Rain[t-1]", "Rain")], first={"Rain": [0.5, 0.5]},
    ...     cpts={"Rain": [[0.7, 0.3], [0.3, 0.7]]},
    ... )
    >>> stream = sky.stream()
    >>> stream.observe({"Rain": "yes"}).observe().posterior("Rain")["yes"]
    0.7
    """

    def __init__(self, net: DynamicBayesianNetwork) -> None:
        net._check_categorical("a stream")
        self._net, self._model = net, net._model
        self._clusters = self._model.everything()
        self._before: np.ndarray | None = None
        self._now: np.ndarray | None = None
        self._found: Findings | None = None
        self.n_slices, self.log_likelihood = 0, 0.0

    def observe(self, evidence: Mapping[str, Any] | None = None, *, do: Mapping[str, Any] | None = None) -> SliceStream:
        """Take the evidence of the next slice; where that is impossible, nothing changes but an error is raised."""
        found = read_findings(self._net._names, [evidence], Asked(do=do))
        rows = found.rows
        factors = self._model.following(found, rows) if self.n_slices else self._model.starting(found, rows)
        if self._now is not None:
            factors += message_factors(self._model.before, self._clusters, [self._now])
        made, logs = self._model.run(factors, self._model.after, 1)
        total = float(made.sum())
        if not total > 0.0:
            raise impossible(found._replace(rows=np.zeros(self.n_slices + 1, np.int64),
                                            offsets=np.array([0, self.n_slices + 1])), self.n_slices)  # fmt: skip
        self._before, self._now, self._found = self._now, made / total, found
        self.log_likelihood += math.log(total) + float(logs[0]) + float(found.logs[rows[0]])
        self.n_slices += 1
        return self

    def posterior(self, targets: Any) -> Distribution:
        """Return the distribution of a variable, or the joint one of several, in the last slice."""
        if self._now is None or self._found is None:
            raise DataError("a stream must have observed a slice first. Call observe.")
        (own,) = self._net._questions(targets).values()
        is_later = self._before is not None
        alpha = self._now if self._before is None else np.concatenate([self._before, self._now])
        found = self._found._replace(
            rows=np.repeat(self._found.rows, 1 + is_later), offsets=np.array([0, 1 + is_later])
        )
        table = joint(
            self._model, found, Messages(np.zeros(1), self._clusters, [alpha]), own, np.array([int(is_later)])
        )
        return Distribution.of_valid(tuple(self._net._names.variables[v] for v in own), table[0].copy())

    def predict(self, targets: Any, steps: int = 1) -> Distribution:
        """Return the distribution of a variable ``steps`` slices after the last one; the stream stays as it is."""
        check_integer("steps", steps, low=1)
        ahead = SliceStream(self._net)
        ahead.__dict__.update(self.__dict__)
        for _ in range(steps):
            ahead.observe()
        return ahead.posterior(targets)

    def __repr__(self) -> str:
        return f"SliceStream: {self.n_slices} slices, log-likelihood {self.log_likelihood:.6g}"
