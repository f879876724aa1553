"""Evidence: what is known of some variables, as people write it and as kernels read it.

A finding is a state (hard evidence), a list of states that are possible, or a mapping from states to likelihoods (soft
evidence: how probable what was seen would be in each state; only ratios matter for posteriors). A list or likelihoods
that leave one state possible are hard evidence too; None and NaN are none, so that a row with holes can be given as it
is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_number, did_you_mean, listed, shortened
from tunbridge.data import Variable
from tunbridge.data.arrow import is_pandas
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, UnknownVariableError


@dataclass(frozen=True)
class Evidence:
    """Findings by the number of their variable.

    Parameters
    ----------
    hard : dict of int to int
        The code of the state a variable is in.
    soft : dict of int to ndarray
        The likelihood of each state, the largest being 1.
    log_factor : float
        The logarithm of what the likelihoods were divided by.
    """

    hard: dict[int, int]
    soft: dict[int, np.ndarray]
    log_factor: float = 0.0

    def __len__(self) -> int:
        return len(self.hard) + len(self.soft)

    def __iter__(self) -> Any:
        yield from self.hard
        yield from self.soft

    def codes(self, n: int) -> np.ndarray:
        """Return the codes of n variables, −1 where there is no hard evidence."""
        codes = np.full(n, -1, np.int64)
        for v, code in self.hard.items():
            codes[v] = code
        return codes

    def only(self, variables: Iterable[int]) -> Evidence:
        """Return the findings on these variables."""
        kept = set(variables)
        hard = {v: code for v, code in self.hard.items() if v in kept}
        return Evidence(hard, {v: likelihood for v, likelihood in self.soft.items() if v in kept})

    def without(self, variables: Iterable[int]) -> Evidence:
        """Return the findings on all other variables."""
        return self.only(set(self) - set(variables))


NO_EVIDENCE = Evidence({}, {})

_SMALLEST = 1e-300  # what is possible stays so, however small beside the largest likelihood


def read_evidence(
    variables: Sequence[Variable], index: Mapping[str, int], given: Mapping[str, Any] | None, what: str = "evidence"
) -> Evidence:
    """Return evidence by number; raise an error that names what is wrong with it."""
    if given is None:
        return NO_EVIDENCE
    if is_pandas(given, "Series"):
        given = dict(given.items())
    if not isinstance(given, Mapping):
        shown = shortened(" ".join(repr(given).split()))
        raise DataError(f"{what} must be a dict from variable to state; got {shown}.")
    if not given:
        return NO_EVIDENCE
    hard: dict[int, int] = {}
    soft: dict[int, np.ndarray] = {}
    log_factor = 0.0
    for name, finding in given.items():
        v = find_variable(index, name, what)
        if is_missing(finding):  # of a row with a hole in it the rest still speaks
            continue
        code = variables[v].find(finding)
        if code >= 0:
            hard[v] = code
            continue
        likelihood = _likelihood(variables[v], finding, what)
        largest = float(likelihood.max())
        log_factor += math.log(largest)
        possible = np.flatnonzero(likelihood)
        if len(possible) == 1:
            hard[v] = int(possible[0])
        else:
            soft[v] = np.where(likelihood > 0.0, np.maximum(likelihood / largest, _SMALLEST), 0.0)
    return Evidence(hard, soft, log_factor)


def find_variable(index: Mapping[str, int], name: object, what: str) -> int:
    """Return the number of a variable; raise an error with the nearest name when there is none."""
    try:
        return index[name]  # type: ignore[index]
    except (KeyError, TypeError):
        hint = did_you_mean(name, index)
        raise UnknownVariableError(f"{what} must name variables of the network; got {name!r}. {hint}") from None


def _likelihood(variable: Variable, finding: Any, what: str) -> np.ndarray:
    """Return the likelihood of each state, as a list of possible states or a mapping gives it."""
    likelihood = np.zeros(variable.n_states)
    if isinstance(finding, Mapping):
        for state, value in finding.items():
            code = state_of(variable, state, what)
            likelihood[code] = check_number(f"the likelihood of {variable.name!r}={state!r}", value, low=0)
        absent = [s for s in variable.states or () if not any(variable.find(k) == variable.find(s) for k in finding)]
        if absent:
            hint = "Give 0 for those that are impossible."
            what = f"the likelihoods of {variable.name!r}"
            raise DataError(f"{what} must name all of its states; {listed(absent)} is not there. {hint}")
    elif isinstance(finding, list | tuple | set | frozenset) or np.ndim(finding) == 1:
        for state in finding:
            likelihood[state_of(variable, state, what)] = 1.0
    else:
        state_of(variable, finding, what)
    if not likelihood.any():
        raise DataError(f"{what} must leave a state of {variable.name!r} possible; got {finding!r}.")
    return likelihood


def state_of(variable: Variable, state: object, what: str) -> int:
    """Return the code of a state; raise an error with the nearest state when it is none."""
    code = variable.find(state)
    if code < 0:
        hint = "Leave out what is not known." if is_missing(state) else variable.near_states(state)
        raise DataError(f"{what} must give a state of {variable.name!r}; got {shortened(repr(state))}. {hint}")
    return code
