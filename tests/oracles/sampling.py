"""Slow and obvious sampling: the joint by enumeration, the generator and the rows it gives by plain loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from tunbridge.data import Variable
from tunbridge.inference.flat import FlatNetwork
from tunbridge.probability import CPT

_WORD = 2**64


def random_network(seed: int, n_variables: int, *, most_states: int = 4, zeros: float = 0.0) -> list[CPT]:
    """Return a random network of up to three parents a variable, a share of its probabilities being zero."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{i}", range(rng.integers(1, most_states + 1))) for i in range(n_variables)]
    cpts = []
    for i, variable in enumerate(variables):
        chosen = rng.permutation(i)[: rng.integers(0, 4)]
        parents = [variables[p] for p in chosen]
        table = rng.random((*(p.n_states for p in parents), variable.n_states)) + 0.02
        hit = rng.random(table.shape) < zeros
        table[hit & ~hit.all(axis=-1, keepdims=True)] = 0.0
        cpts.append(CPT(variable, parents, table / table.sum(axis=-1, keepdims=True)))
    shuffled = rng.permutation(n_variables)  # so that the order of the tables is not the topological one
    return [cpts[i] for i in shuffled]


def joint(cpts: Sequence[CPT]) -> np.ndarray:
    """Return P(x₁ … x_n) as an array with one axis a variable, in the order of the tables."""
    axis = {cpt.variable.name: i for i, cpt in enumerate(cpts)}
    out = np.ones([cpt.variable.n_states for cpt in cpts])
    for row in product(*(range(n) for n in out.shape)):
        for cpt in cpts:
            where = [row[axis[v.name]] for v in (*cpt.parents, cpt.variable)]
            out[row] *= cpt.table()[tuple(where)]
    return out


def posterior(joint: np.ndarray, likelihoods: Mapping[int, np.ndarray], target: int) -> tuple[np.ndarray, float]:
    """Return P(target | evidence), not a number where that is impossible, and the probability of the evidence."""
    weighted = joint.copy()
    for v, likelihood in likelihoods.items():
        weighted *= np.reshape(likelihood, [-1 if axis == v else 1 for axis in range(joint.ndim)])
    rest = tuple(axis for axis in range(joint.ndim) if axis != target)
    total = float(weighted.sum())
    return (weighted.sum(axis=rest) / total if total else np.full(joint.shape[target], np.nan)), total


def xoshiro(words: Sequence[int]) -> Iterator[int]:
    """Give the numbers of xoshiro256++ from a state of four words."""
    a, b, c, d = words
    while True:
        yield (_rotated((a + d) % _WORD, 23) + a) % _WORD
        shifted = (b << 17) % _WORD
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = _rotated(d, 45)


def sample_rows(flat: FlatNetwork, n: int, seed: int, *, rows: int, lanes: int, tiles: int) -> np.ndarray:
    """Return rows × variables: every block of tiles has its stream, a tile is drawn variable by variable."""
    found: list[np.ndarray] = []
    for block in range(-(-n // (rows * tiles))):
        words = np.random.SeedSequence(seed, spawn_key=(block,)).generate_state(4 * lanes, np.uint64).reshape(4, lanes)
        streams = [xoshiro([int(w) for w in words[:, lane]]) for lane in range(lanes)]
        while len(found) < min((block + 1) * tiles, -(-n // rows)):
            found.append(_tile(flat, streams, rows))
    return np.concatenate(found)[:n]


def _tile(flat: FlatNetwork, streams: list[Iterator[int]], rows: int) -> np.ndarray:
    codes = np.zeros((rows, flat.n_variables), np.int64)
    for v in flat.order.tolist():
        draws = [next(streams[i % len(streams)]) >> 2 for i in range(rows)]
        for i in range(rows):
            configuration = 0
            for p in flat.parents_of(v).tolist():
                configuration = configuration * int(flat.n_states[p]) + int(codes[i, p])
            codes[i, v] = _state(flat.table_of(v)[configuration].tolist(), draws[i])
    return codes


def _state(row: list[float], draw: int) -> int:
    widths = [int(Fraction(p) * 2**62) for p in row]
    widths[row.index(max(row))] += 2**62 - sum(widths)
    state = 0
    while draw >= widths[state]:
        draw -= widths[state]
        state += 1
    return state


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) % _WORD
