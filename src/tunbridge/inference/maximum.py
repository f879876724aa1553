"""Most probable states: the same junction tree with maxima for sums.

For the most probable explanation every variable is maximised. For marginal MAP the variables that were not asked for
are summed out first, which restricts the elimination order (all of them go before the others) and makes larger tables:
the problem is harder than either alone.

References
----------
A. P. Dawid (1992). Applications of a general propagation algorithm for probabilistic expert systems. Statistics and
Computing 2, 25–36.
J. D. Park, A. Darwiche (2004). Complexity results and approximation strategies for MAP explanations. JAIR 21, 101–133.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunbridge.errors import MemoryForecastError
from tunbridge.graph.walks import closure
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence
from tunbridge.inference.plans import Plan, Sketch
from tunbridge.inference.potentials import gather_potentials
from tunbridge.inference.tree import triangulate
from tunbridge.kernels import propagation
from tunbridge.kernels.compiled import announce


def most_probable_codes(engine: Engine, evidence: Evidence, wanted: Sequence[int] | None) -> tuple[list[int], float]:
    """Return the most probable state of each wanted variable (None: of all), and log P(these states, evidence).

    Of equally probable ones any may come back, but always the same. Entries of other variables are −1. The evidence
    must be possible.
    """
    asked = range(engine.n_variables) if wanted is None else wanted
    codes = [evidence.hard.get(v, -1) for v in range(engine.n_variables)]
    if all(codes[v] >= 0 for v in asked):
        return codes, engine.log_probability(evidence)
    plan, is_maximised = _plan(engine, evidence, None if wanted is None else set(wanted))
    places = plan.places(engine.n_variables)
    findings, soft, is_soft = plan.findings(evidence, places)
    chosen = np.empty(len(findings), np.int64)
    announce(propagation.maximise, "the search for most probable states")
    with plan.tree.borrow(plan.potentials) as (parts, buffer, _):
        log_largest = propagation.maximise(
            plan.tree.program, parts, buffer, findings, soft, is_soft, is_maximised, chosen
        )
    for v in asked:
        if codes[v] < 0:
            codes[v] = int(chosen[places[v]])
    return codes, log_largest + plan.log_factor + evidence.log_factor


def _plan(engine: Engine, evidence: Evidence, wanted: set[int] | None) -> tuple[Plan, np.ndarray]:
    """Return a tree of what matters without the observed variables, and which of its variables are maximised."""
    needed = np.ones(engine.n_variables, np.int64)
    if wanted is not None:
        needed[:] = 0
        needed[list(closure(engine.parents, [*wanted, *evidence]))] = 1
    try:
        whole = gather_potentials(
            engine.cpts, engine.parents, engine.n_states, fixed=evidence.hard, needed=needed, chains=wanted is not None
        )
    except MemoryForecastError as error:
        reason = str(error).partition(", and the limit")[0]
        hint = "Ask for some of the variables with of=[…], or observe more."
        raise MemoryForecastError(
            f"the most probable states of all variables cannot be found: {reason}. {hint}"
        ) from None
    variables, potentials, log_factor = whole.observed(evidence.codes(len(whole.n_states)), needed[whole.owner])
    last = np.array([wanted is None or int(v) in wanted for v in variables], np.int64)
    sketch = Sketch(potentials, variables, log_factor, triangulate(potentials, last=last), np.empty(0, np.int64))
    return Plan(engine.compile(sketch), potentials, variables, log_factor), last
