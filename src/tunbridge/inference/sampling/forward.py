"""Rows drawn from a network: forward, parents before children, or exactly from its distribution given evidence.

Every variable is drawn from the row of its table that its parents' states select, so that rows are independent and
follow the joint distribution exactly. Rows come in blocks of a fixed size, each with a random stream of its own that
NumPy's ``SeedSequence`` derives from the seed and the number of the block. Hence equal seeds give equal rows for any
number of threads, and the first m of n rows are the rows of a sample of size m. The generator is described in
:mod:`tunbridge.kernels.inference.sampling`.

Given evidence, the joint distribution of the other variables is again that of a network: in the order opposite to that
of elimination, every variable has the other members of its clique as parents, and the product of the clique's inputs,
normalised, as its table. So evidence costs one run of the junction tree, and then rows are drawn as fast as without.

Continuous variables are drawn after the categorical ones, for each row in the configuration it has. Those that the
evidence matters for are drawn from their conditional distribution, component by component,

    u = E[u | observed] + R⁻¹ ε,     ε ~ N(0, 1),

and the others from their tables, parents before children.

References
----------
M. Henrion (1988). Propagating uncertainty in Bayesian networks by probabilistic logic sampling. UAI 2, 149–163.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from tunbridge._core.check import check_integer, listed
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import entropy_of
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.counts.radix import configuration_numbers
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type, state_type
from tunbridge.errors import DataError
from tunbridge.graph.walks import topological_order
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, Given
from tunbridge.inference.flat import FlatNetwork, starts_of
from tunbridge.inference.hybrid.components import Solution, solve, too_far_apart
from tunbridge.inference.hybrid.evidence import Absorbed, absorb
from tunbridge.inference.queries import impossible
from tunbridge.inference.tree import Plan, Tree, compile_tree
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.inference.rows import Network
from tunbridge.kernels.inference.sampling import LANES, ROWS, fill_limits, fill_samples

BLOCK = 16 * ROWS
"""Rows that share a random stream; a multiple of the size of a tile."""

RandomState = int | np.random.Generator | None

_WAYS_OUT = "Draw the rows in several parts, each with a seed of its own."
_CONDITIONED_WAYS_OUT = "Draw without evidence and keep the rows that agree with it, or observe more variables."
_PIECE = 2**14  # rows that are drawn at a time where a table is too large to be written out
_NUMBERS_BLOCK, _NUMBERS = 2**14, 1  # rows that share a stream of continuous values, and the key of these streams


def sample(
    engine: Engine, n: int, *, random_state: RandomState = None, evidence: Given = None, n_jobs: int | None = None
) -> Table:
    """Return n rows drawn from the joint distribution given evidence, columns in the order of the variables."""
    absorbed, entropy = absorb(engine, evidence), entropy_of(random_state)
    n = checked_size(n)
    size = 8.0 * len(engine.part.numbers) + sum(np.dtype(code_type(int(r))).itemsize for r in engine.n_states)
    check_memory(f"{n} rows of {len(engine.variables)} variables", size * n, ways_out=_WAYS_OUT)
    codes = _draw_categories(absorbed.engine, absorbed.evidence, n, entropy, n_jobs)[: engine.n_variables]
    drawn = code_table(engine.variables[: engine.n_variables], codes)
    if not engine.part.numbers:
        return drawn
    values = _draw_numbers(engine, absorbed, codes, n, entropy, n_jobs)
    return Table.of(
        Column(engine.variables[v], values[v], pa.float64()) if v in values else drawn.column(name)
        for name in engine.names
        for v in [engine.index[name]]
    )


# Categorical variables


def _draw_categories(engine: Engine, findings: Evidence, n: int, entropy: int, n_jobs: int | None) -> list[np.ndarray]:
    """Return n rows of the categorical variables as columns of codes."""
    if not engine.n_variables:
        return []
    if not findings and engine.needs_reduction:
        return _draw_by_rows(engine, n, entropy)
    if not findings:
        return sample_codes(engine.flat, n, entropy, n_jobs)
    if engine.log_probability(findings) == -np.inf:
        raise impossible(engine, findings)
    variables, flat = conditioned(engine, findings)
    drawn = dict(zip(variables.tolist(), sample_codes(flat, n, entropy, n_jobs), strict=True))
    return [
        drawn[v] if v in drawn else np.full(n, findings.hard[v], code_type(int(r)))
        for v, r in enumerate(engine.n_states)
    ]


def sample_codes(
    flat: FlatNetwork, n: int, random_state: RandomState = None, n_jobs: int | None = None
) -> list[np.ndarray]:
    """Return n rows drawn from the network as one column of codes a variable.

    Parameters
    ----------
    flat : FlatNetwork
        The network.
    n : int
        The number of rows.
    random_state : int or numpy.random.Generator, optional
        The random seed. A generator gives other rows every time, and so does ``None``.
    n_jobs : int, optional
        The number of threads (default: all cores). It does not change the rows.

    Returns
    -------
    list of ndarray
        Codes in the smallest of int8, int16 and int32 that holds the variable's states.

    Notes
    -----
    The cost is O(n Σ_v log r_v) for r_v states, one to two nanoseconds a cell and core for few states.
    """
    n = checked_size(n)
    check_states(flat)
    widest = code_type(int(flat.n_states.max(initial=0)))
    padded = -(-n // ROWS) * ROWS  # full tiles, so that the first rows do not depend on how many follow
    check_memory(
        f"{n} rows of {flat.n_variables} variables", padded * flat.n_variables * np.dtype(widest).itemsize,
        ways_out=_WAYS_OUT,
    )  # fmt: skip
    announce(fill_samples, "sampling", 1)
    codes = np.empty((flat.n_variables, padded), widest)
    network, entropy = limits_of(flat, flat.tables), entropy_of(random_state)

    def fill(piece: tuple[int, int]) -> None:
        state = stream(entropy, piece[0] // BLOCK)
        fill_samples(codes, network, state, room_of(flat), *piece)

    map_threads(fill, row_pieces(padded, BLOCK), n_jobs)
    return [codes[v, :n].astype(code_type(r), copy=False) for v, r in enumerate(flat.n_states.tolist())]


def code_table(variables: Sequence[Variable], columns: Sequence[np.ndarray]) -> Table:
    """Return columns of codes as a table, which exports them as Arrow dictionaries."""
    return Table.of(Column(v, codes, _dictionary_type(v, codes)) for v, codes in zip(variables, columns, strict=True))


def limits_of(flat: FlatNetwork, tables: np.ndarray) -> Network:
    """Return the network with the integers that draws are compared with, for tables of its shape."""
    check_memory("the limits of the tables", 8.0 * tables.size, ways_out="Give the largest table fewer parents.")
    limits = np.empty(tables.size, np.int64)
    fill_limits(tables, flat.n_states, flat.table_start, limits)
    return flat.network._replace(tables=limits)


def room_of(flat: FlatNetwork) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays that a thread works in."""
    kind = np.uint32 if flat.tables.size < 2**32 else np.uint64
    return np.empty(ROWS, np.int64), np.empty(ROWS, kind), np.empty(ROWS, kind)


def stream(entropy: int, block: int) -> np.ndarray:
    """Return the state of the generators for a block."""
    words = np.random.SeedSequence(entropy, spawn_key=(block,)).generate_state(4 * LANES, np.uint64)
    return words.reshape(4, LANES)


def check_states(flat: FlatNetwork) -> None:
    """Raise unless every variable has a state to be in."""
    empty = [flat.variables[v].name for v in np.flatnonzero(flat.n_states == 0)]
    if empty:
        raise DataError(f"every variable must have a state to draw; got {listed(empty)} without any.")


def checked_size(n: object, what: str = "n", *, low: int = 0) -> int:
    """Return a number of rows or draws; raise unless it is an integer of at most 63 bits, at least ``low``."""
    if isinstance(n, int) and n.bit_length() > 63:  # Python may refuse to write it, and no array is that large
        rule = f"{what} must be an integer from {low} to 2**63 - 1"
        raise DataError(f"{rule}; got one of {n.bit_length()} bits.", parameter=what)
    check_integer(what, n, low=low)
    return int(n)  # type: ignore[call-overload]


def _dictionary_type(variable: Variable, codes: np.ndarray) -> pa.DataType:
    return pa.dictionary(pa.from_numpy_dtype(codes.dtype), state_type(variable), ordered=variable.ordered)


def _draw_by_rows(engine: Engine, n: int, entropy: int) -> list[np.ndarray]:
    """Return columns of codes where some table is too large to be written out: it is evaluated row by row."""
    kinds = [code_type(int(r)) for r in engine.n_states]
    size = sum(np.dtype(kind).itemsize for kind in kinds)
    check_memory(f"{n} rows of {engine.n_variables} variables", float(size) * n, ways_out=_WAYS_OUT)
    columns = [np.empty(n, kind) for kind in kinds]
    order = topological_order(engine.parents, engine.children)
    seeds = np.random.SeedSequence(entropy)
    for start, stop in row_pieces(n, _PIECE):
        rng = np.random.default_rng(seeds.spawn(1)[0])
        for v in order:
            given = np.array([columns[u][start:stop] for u in engine.parents[v]], np.int64).reshape(-1, stop - start)
            limits = np.cumsum(engine.tables[v].rows(given.T), axis=1)
            below = rng.random(stop - start)[:, None] * limits[:, -1:] >= limits
            columns[v][start:stop] = np.minimum(below.sum(axis=1), engine.n_states[v] - 1)
    return columns


def conditioned(engine: Engine, evidence: Evidence) -> tuple[np.ndarray, FlatNetwork]:
    """Return the variables that are not observed, and the network of their distribution given the evidence.

    Auxiliary variables of noisy tables come last among them.
    """
    sketch = engine.sketch(evidence, None)
    check_memory("sampling given evidence", 3 * 8.0 * sketch.found.n_entries, ways_out=_CONDITIONED_WAYS_OUT)
    n = len(sketch.variables)
    found = sketch.found._replace(group=np.arange(n))  # one variable a clique
    tree = compile_tree(sketch.potentials, found)
    plan = Plan(tree, sketch.potentials, sketch.variables, sketch.log_factor)
    findings = plan.findings(evidence, plan.places(engine.n_variables))
    flat = _empty_network(engine, tree, sketch.variables, sketch.potentials.n_states)
    largest = int(np.diff(flat.table_start).max(initial=0))
    with tree.borrow(sketch.potentials, extra=largest) as run:
        log_evidence = tree.condition(run, findings, flat.table_start, flat.tables)
    if log_evidence + sketch.log_factor == -np.inf:
        raise impossible(engine, evidence)
    return sketch.variables, flat


def _empty_network(engine: Engine, tree: Tree, numbers: np.ndarray, n_states: np.ndarray) -> FlatNetwork:
    """Return a network in which the separator of every clique is the parents of the variable eliminated in it."""
    cliques = [tree.clique(c) for c in range(len(n_states))]
    families: list[list[int]] = [[] for _ in n_states]
    for v, *separator in cliques:
        families[v] = separator
    sizes = [int(n_states[v]) * math.prod(n_states[family].tolist()) for v, family in enumerate(families)]
    table_start = starts_of(sizes)
    return FlatNetwork(
        tuple(_variable(engine, int(number), int(k)) for number, k in zip(numbers, n_states, strict=True)),
        n_states,
        np.array([clique[0] for clique in reversed(cliques)], np.int64),
        starts_of(map(len, families)),
        np.array([v for family in families for v in family], np.int64),
        table_start,
        np.empty(int(table_start[-1])),
    )


def _variable(engine: Engine, number: int, n_states: int) -> Variable:
    if number < engine.n_variables:
        return engine.variables[number]
    return Variable(f"auxiliary {number}", range(n_states))


# Continuous variables


def _draw_numbers(
    engine: Engine, absorbed: Absorbed, codes: Sequence[np.ndarray], n: int, entropy: int, n_jobs: int | None
) -> dict[int, np.ndarray]:
    """Return a column for each continuous variable."""
    part, known = engine.part, absorbed.values
    order = sorted(part.numbers, key=part.order.__getitem__)
    values = {v: np.full(n, known.get(v, np.nan)) for v in order}
    solutions = [solve(part, c, absorbed.evidence.hard) for c in part.cut(known)]

    def fill(piece: tuple[int, int]) -> None:
        block = slice(*piece)
        seeds = np.random.SeedSequence(entropy, spawn_key=(_NUMBERS, piece[0] // _NUMBERS_BLOCK))
        noise = np.random.default_rng(seeds).standard_normal((piece[1] - piece[0], len(order)))
        noises = dict(zip(order, noise.T, strict=True))
        own = [column[block].astype(np.int64) for column in codes]
        here = {v: column[block] for v, column in values.items()}
        done = set(known)
        for solution in solutions:
            _fill_conditioned(engine, solution, absorbed, own, noises, here)
            done |= set(solution.component.hidden)
        for v in order:
            if v not in done:
                _fill_forward(engine, v, own, noises[v], here)

    map_threads(fill, row_pieces(n, _NUMBERS_BLOCK), n_jobs)
    return values


def _configurations(engine: Engine, scope: tuple[int, ...], codes: Sequence[np.ndarray], n: int) -> np.ndarray:
    if not scope:
        return np.zeros(n, np.int64)
    return configuration_numbers(np.array([codes[d] for d in scope]).T, engine.part.shape(scope))


def _fill_conditioned(
    engine: Engine,
    solution: Solution,
    absorbed: Absorbed,
    codes: Sequence[np.ndarray],
    noises: Mapping[int, np.ndarray],
    values: Mapping[int, np.ndarray],
) -> None:
    """Draw the unobserved variables of a component given the observed ones."""
    hidden = solution.component.hidden
    if not hidden:
        return
    n = len(next(iter(noises.values())))
    z = absorbed.z(solution.component)[0]
    j = _configurations(engine, solution.scope, codes, n)
    noise = np.array([noises[u] for u in solution.unknowns]).reshape(len(solution.unknowns), n)
    drawn = (solution.means @ z)[j] + np.einsum("nuw,wn->nu", solution.roots[j], noise)
    for v in hidden:
        own = solution.expressions[v]
        values[v][:] = (own[:, : len(z)] @ z)[j] + (own[j, len(z) :] * drawn).sum(axis=1)


def _fill_forward(
    engine: Engine,
    v: int,
    codes: Sequence[np.ndarray],
    noise: np.ndarray,
    values: Mapping[int, np.ndarray],
) -> None:
    """Draw a variable from its table, its parents being known."""
    table, causes = engine.part.tables[v], engine.part.causes[v]
    j = _configurations(engine, engine.part.categories[v], codes, len(noise))
    coefficients = table.coefficients.reshape(table.n_configurations, len(causes))
    values[v][:] = table.intercepts.ravel()[j] + np.sqrt(table.variances.ravel())[j] * noise
    with np.errstate(over="ignore", invalid="ignore"):
        for i, cause in enumerate(causes):
            values[v][:] += coefficients[j, i] * values[cause]
    if not np.isfinite(values[v]).all():
        raise DataError(too_far_apart(engine.part.names([v, *causes])))
