"""Rows drawn from a network, or exactly from what evidence leaves of it.

Given evidence, the joint distribution of the other variables is again that of a network: in the order opposite to that
of elimination, every variable has the other members of its clique as parents, and the product of the clique's inputs,
normalised, as its table. So evidence costs one run of the junction tree, and then rows are drawn as fast as without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.data import Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.graph.walks import topological_order
from tunbridge.inference.conflicts import impossible
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, read_evidence
from tunbridge.inference.flat import FlatNetwork
from tunbridge.inference.forward import checked_size, code_table, entropy_of, sample_codes
from tunbridge.inference.plans import Plan
from tunbridge.inference.tree import Tree, compile_tree
from tunbridge.kernels import program, propagation

_NOBODY = np.empty(0, np.int64)
_PIECE = 2**14
_WAYS_OUT = "Draw without evidence and keep the rows that agree with it, or observe more variables."


def sample(
    engine: Engine,
    n: int,
    *,
    random_state: Any = None,
    evidence: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Table:
    """Return n rows drawn from the joint distribution given evidence, columns in the order of the variables."""
    findings = read_evidence(engine.variables, engine.index, evidence)
    if not findings and engine.needs_reduction:
        return code_table(engine.variables, _draw_by_rows(engine, n, random_state))
    if not findings:
        columns = sample_codes(engine.flat, n, random_state, n_jobs)
        return code_table(engine.variables, columns[: engine.n_variables])
    if engine.log_probability(findings) == -np.inf:
        raise impossible(engine, findings)
    variables, flat = conditioned(engine, findings)
    drawn = dict(zip(variables.tolist(), sample_codes(flat, n, random_state, n_jobs), strict=True))
    columns = [
        drawn[v] if v in drawn else np.full(n, findings.hard[v], code_type(variable.n_states))
        for v, variable in enumerate(engine.variables)
    ]
    return code_table(engine.variables, columns)


def _draw_by_rows(engine: Engine, n: int, random_state: Any) -> list[np.ndarray]:
    """Return columns of codes where some table is too large to be written out: it is asked row by row."""
    n = checked_size(n)
    size = sum(code_type(v.n_states)().itemsize for v in engine.variables)
    check_memory(f"{n} rows of {engine.n_variables} variables", float(size) * n, ways_out="Draw fewer rows at a time.")
    columns = [np.empty(n, code_type(v.n_states)) for v in engine.variables]
    order = topological_order(engine.parents, engine.children)
    seeds = np.random.SeedSequence(entropy_of(random_state))
    for start, stop in row_pieces(n, _PIECE):
        rng = np.random.default_rng(seeds.spawn(1)[0])
        for v in order:
            given = np.array([columns[u][start:stop] for u in engine.parents[v]], np.int64).reshape(-1, stop - start)
            limits = np.cumsum(engine.cpts[v].rows(given.T), axis=1)
            below = rng.random(stop - start)[:, None] * limits[:, -1:] >= limits
            columns[v][start:stop] = np.minimum(below.sum(axis=1), engine.n_states[v] - 1)
    return columns


def conditioned(engine: Engine, evidence: Evidence) -> tuple[np.ndarray, FlatNetwork]:
    """Return the variables that are not observed, and the network of their distribution given the evidence.

    Auxiliary variables of noisy tables come last among them.
    """
    sketch = engine.sketch(evidence, None)
    check_memory("sampling given evidence", 3 * 8.0 * sketch.found.n_entries, ways_out=_WAYS_OUT)
    n = len(sketch.variables)
    found = sketch.found._replace(group=np.arange(n))  # one variable a clique
    tree = compile_tree(sketch.potentials, found)
    plan = Plan(tree, sketch.potentials, sketch.variables, sketch.log_factor)
    findings, soft, is_soft = plan.findings(evidence, plan.places(engine.n_variables))
    flat = _empty_network(engine, tree, sketch.variables, sketch.potentials.n_states)
    largest = int(np.diff(flat.table_start).max(initial=0))
    with tree.borrow(sketch.potentials, extra=largest) as (parts, buffer, _):
        log_evidence = propagation.condition(
            tree.program, parts, buffer, findings, soft, is_soft, flat.table_start, flat.tables
        )
    if log_evidence + sketch.log_factor == -np.inf:
        raise impossible(engine, evidence)
    return sketch.variables, flat


def _empty_network(engine: Engine, tree: Tree, numbers: np.ndarray, n_states: np.ndarray) -> FlatNetwork:
    """Return a network in which the separator of every clique is the parents of the variable eliminated in it."""
    starts, members = tree.section(program.CLIQUE_START), tree.section(program.CLIQUE_VARS)
    own = members[starts[:-1]]
    families: list[np.ndarray] = [_NOBODY] * len(n_states)
    for c, v in enumerate(own.tolist()):
        families[v] = members[starts[c] + 1 : starts[c + 1]]
    sizes = [int(n_states[v]) * math.prod(n_states[family].tolist()) for v, family in enumerate(families)]
    table_start = np.cumsum([0, *sizes], dtype=np.int64)
    return FlatNetwork(
        tuple(_variable(engine, int(number), int(k)) for number, k in zip(numbers, n_states, strict=True)),
        n_states,
        own[::-1].copy(),
        np.cumsum([0, *map(len, families)], dtype=np.int64),
        np.concatenate([*families, _NOBODY]).astype(np.int64),
        table_start,
        np.empty(int(table_start[-1])),
    )


def _variable(engine: Engine, number: int, n_states: int) -> Variable:
    if number < engine.n_variables:
        return engine.variables[number]
    return Variable(f"auxiliary {number}", range(n_states))
