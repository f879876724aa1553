"""Exact inference by enumeration: every question answered from the table of the whole joint distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from tunbridge.probability import ConditionalTable


def joint_table(cpts: Sequence[ConditionalTable]) -> np.ndarray:
    """Return P(x₁ … x_n) as an array with one axis for each table, in their order."""
    names = [cpt.variable.name for cpt in cpts]
    joint = np.ones([cpt.variable.n_states for cpt in cpts])
    for cpt in cpts:
        axes = [names.index(v.name) for v in (*cpt.parents, cpt.variable)]
        by_axis = cpt.table().transpose(np.argsort(axes))
        joint = joint * by_axis.reshape([joint.shape[i] if i in axes else 1 for i in range(len(names))])
    return joint


def joint_table_by_loops(cpts: Sequence[ConditionalTable]) -> np.ndarray:
    """Return the same by asking every table for every configuration."""
    names = [cpt.variable.name for cpt in cpts]
    joint = np.ones([cpt.variable.n_states for cpt in cpts])
    for codes in product(*(range(n) for n in joint.shape)):
        for cpt in cpts:
            row = cpt.rows([[codes[names.index(p.name)] for p in cpt.parents]])[0]
            joint[codes] *= row[codes[names.index(cpt.variable.name)]]
    return joint


@dataclass(frozen=True, init=False)
class Enumeration:
    """A network written out as one table, with one axis for each variable."""

    names: list[str]
    states: list[list[Any]]
    joint: np.ndarray

    def __init__(self, cpts: Sequence[ConditionalTable]) -> None:
        names = [cpt.variable.name for cpt in cpts]
        states = [list(cpt.variable.states or ()) for cpt in cpts]
        self.__dict__.update(names=names, states=states, joint=joint_table(cpts))

    def likelihood(self, name: str, finding: Any) -> np.ndarray:
        """Return the likelihood of each state, by an array along the axis of the variable."""
        axis = self.names.index(name)
        if isinstance(finding, Mapping):
            values = [finding[state] for state in self.states[axis]]
        else:
            several = finding if isinstance(finding, list | set | tuple) else [finding]
            values = [float(state in several) for state in self.states[axis]]
        return np.reshape(values, [-1 if i == axis else 1 for i in range(self.joint.ndim)])

    def with_evidence(self, evidence: Mapping[str, Any]) -> np.ndarray:
        """Return P(x, e) for every x."""
        table = self.joint
        for name, finding in evidence.items():
            table = table * self.likelihood(name, finding)
        return table

    def probability_of(self, evidence: Mapping[str, Any]) -> float:
        """Return P(e)."""
        return float(self.with_evidence(evidence).sum())

    def unnormalised(self, targets: Sequence[str], evidence: Mapping[str, Any]) -> np.ndarray:
        """Return P(targets, e), one axis for each target in the order given."""
        axes = [self.names.index(name) for name in targets]
        rest = tuple(i for i in range(self.joint.ndim) if i not in axes)
        return self.with_evidence(evidence).sum(axis=rest).transpose(np.argsort(np.argsort(axes)))

    def posterior(self, targets: str | Sequence[str], evidence: Mapping[str, Any]) -> np.ndarray:
        """Return P(targets | e)."""
        table = self.unnormalised([targets] if isinstance(targets, str) else targets, evidence)
        return table / table.sum()

    def event(self, holds: Callable[[dict[str, Any]], bool], of: Sequence[str], evidence: Mapping[str, Any]) -> float:
        """Return the probability given evidence that something holds of the states of some variables."""
        table, wanted = self.unnormalised(of, evidence), 0.0
        states = [self.states[self.names.index(name)] for name in of]
        for codes in product(*(range(n) for n in table.shape)):
            if holds({name: states[i][codes[i]] for i, name in enumerate(of)}):
                wanted += table[codes]
        return float(wanted / table.sum())

    def smallest_conflict(self, evidence: Mapping[str, Any]) -> int:
        """Return the number of findings in a smallest impossible part of impossible evidence."""
        for size in range(1, len(evidence) + 1):
            if any(self.is_impossible(evidence, part) for part in combinations(evidence, size)):
                return size
        raise AssertionError("the evidence is possible")

    def is_impossible(self, evidence: Mapping[str, Any], names: Iterable[str]) -> bool:
        """Return whether the findings on these variables have probability zero together."""
        return self.probability_of({name: evidence[name] for name in names}) == 0.0
