"""Compile every kernel for the types that the library calls it with.

Numba compiles a kernel when it is first called with arrays of certain types and keeps the result on disk. Calling this
once, after installation or when an image is built, moves that wait away from the first real work. The columns of a
table are read-only, which is a type of its own; arrays that users pass may be either.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np

from tunbridge.kernels import (
    ande,
    augmented,
    buffer,
    climbing,
    completions,
    component_programs,
    components,
    counts,
    elimination,
    encode,
    expectations,
    exponents,
    extensions,
    families,
    forests,
    groups,
    information,
    junction,
    leave_one_out,
    likelihood,
    linear,
    moments,
    orders,
    pair_measures,
    partitions,
    planes,
    potentials,
    propagation,
    rows,
    sampling,
    sequences,
    subsets,
    text,
    tokens,
    trees,
    triples,
)

_MODULES = (
    ande, triples,
    augmented, buffer, climbing, component_programs, components, completions, counts, elimination, encode, expectations,
    exponents, extensions, families, forests, groups, information, junction, leave_one_out, likelihood, linear, moments,
    orders, pair_measures, partitions, planes, potentials, propagation, rows, sampling, sequences, subsets, text,
    tokens, trees,
)  # fmt: skip

_CODES = (np.int8, np.int16, np.int32)
_FLOATS = (np.float64, np.float32)


def warm_up() -> int:
    """Call every kernel on a few rows; return how many kernels there are."""
    _warm_planes()
    _warm_counts()
    _warm_moments()
    _warm_encode()
    _warm_likelihood()
    _warm_leave_one_out()
    _warm_averages()
    _warm_forests()
    _warm_inference()
    _warm_rows()
    _warm_expectations()
    _warm_sampling()
    _warm_text()
    _warm_tokens()
    _warm_sequences()
    _warm_linear()
    _warm_families()
    _warm_pair_measures()
    _warm_climbing()
    _warm_exact()
    _warm_trees()
    _warm_orders()
    return len(kernels())


def kernels() -> dict[str, object]:
    """Return the kernels by name."""
    return {n: f for m in _MODULES for n, f in vars(m).items() if _is_kernel_of(m, f) and not n.startswith("_")}


def _is_kernel_of(module: ModuleType, value: object) -> bool:
    return hasattr(value, "signatures") and value.py_func.__module__ == module.__name__  # type: ignore[attr-defined]


def _both(array: np.ndarray) -> Iterator[np.ndarray]:
    """Give an array that can be written to, then one that cannot."""
    yield array
    locked = array.copy(order="K")
    locked.flags.writeable = False
    yield locked


def _warm_planes() -> None:
    words = np.zeros((2, 2), np.uint64)
    for codes in _both(np.zeros(70, np.int8)):
        planes.fill_planes(codes, words)
    planes.cross_planes(words, words, np.zeros((4, 2), np.uint64))
    planes.count_planes(words, np.zeros(2, np.int64))
    counted, first, start = np.zeros((2, 2), np.int64), np.array([0, 1, 2]), np.array([0, 2, 4])
    margins = np.zeros(4, np.int64)
    planes.add_tiles(words, words, np.array([[0, 2, 0, 2]]), counted)
    planes.fill_margins(counted, first, start, 70, margins)
    planes.expand_pairs(counted, first, start, margins, 0, 2, np.zeros((4, 4), np.int64))
    one, joint, cells = np.zeros(1, np.int64), np.zeros((2, 1, 2), np.uint64), np.array([0, 2])
    families.count_families(words, cells, one, np.arange(2), cells, 0, 1, joint, np.zeros(2, np.int64))


def _warm_counts() -> None:
    rows = np.zeros(8, np.int32)
    for kind in _CODES:
        for codes in _both(np.zeros(8, kind)):
            counts.fold_codes(rows, codes, np.int32(2))
            counts.count_joint(rows, codes, 2, np.zeros((counts.LANES, 5), np.int64))
            for weights in _both(np.ones(8)):
                counts.weigh_joint(rows, codes, 2, weights, np.zeros((counts.LANES, 5)))
    for matrix in (np.ones((2, 2), np.int64), np.ones((2, 2))):
        information.fill_information(matrix, np.array([0, 1, 2]), 0, 2, np.zeros((2, 2)), np.zeros((2, 2)))
    slots, found = np.empty(8, np.int64), np.empty(8, np.int64)
    counts.assign_slots(np.zeros(8, np.int64), np.empty(16, np.int64), np.full(16, -1, np.int32), slots, found)


def _warm_moments() -> None:
    groups, block = np.zeros(8, np.int32), np.zeros((2, 8))
    for kind in (*_FLOATS, np.int64):
        for weights in _both(np.ones(8)):
            for source in _both(np.zeros((8, 2), kind)):
                moments.fill_block(source, block)
                moments.fill_row_moments(source, groups, weights, *(np.zeros((1, 2)) for _ in range(3)))
            moments.fill_block(np.zeros((8, 2), kind, order="F"), block)
            moments.fill_block(np.zeros((16, 2), kind, order="F")[:8], block)
            moments.fill_moments(block, groups, weights, *(np.zeros((1, 2)) for _ in range(3)))


def _warm_encode() -> None:
    low, first = np.zeros(2, np.int64), np.array([0, 1, 2])
    for values in _both(np.zeros((8, 2), np.int64)):
        encode.fill_ranges(values, np.zeros(2, np.int64), np.zeros(2, np.int64))
        encode.mark_present(values, low, first, np.zeros(2, np.bool_))
        for kind in _CODES:
            for out in (np.zeros((2, 8), kind), np.zeros((2, 16), kind)[:, :8]):
                encode.look_up(values, low, first, np.zeros(2, kind), out)


def _warm_likelihood() -> None:
    out, block, parameter = np.zeros((2, 8)), np.zeros((1, 8)), np.ones((2, 1))
    for kind in _CODES:
        for codes in _both(np.zeros(8, kind)):
            likelihood.add_categorical(codes, np.zeros((2, 3)), out)
    likelihood.add_gaussian(block, parameter, parameter, parameter, out)
    some, out = np.zeros((2, 8), np.int32), np.zeros((8, 2))
    one, ends = np.zeros(2, np.int64), np.array([0, 2])
    augmented.add_families(some, one, one, ends, one[:1], np.zeros((1, 2)), out, np.zeros(8, np.bool_))
    likelihood.add_kernel_density(np.zeros(8), np.zeros(3), np.zeros(3), 1.0, 1e150, np.zeros(8))


def _warm_leave_one_out() -> None:
    """Leave out rows of one feature with one state."""
    codes, classes, one = np.zeros((1, 8), np.int32), np.zeros(8, np.int64), np.zeros(1, np.int64)
    layout = (one, np.arange(2), np.ones(1, np.int64), np.zeros((1, 1), np.int64))
    room = (np.empty((8, 1, 2)), np.empty((8, 1, 2), np.int32), np.empty((8, 1), np.bool_))
    tables, prior = np.ones((1, 2)), np.full((2, 2), 0.5)
    leave_one_out.add_losses(codes, classes, np.ones(8), *layout, tables, tables, prior, 0, *room, np.zeros((2, 1)))


def _warm_forests() -> None:
    codes, classes, weights = np.zeros((2, 8), np.int32), np.zeros(8, np.int64), np.ones(8)
    forests.cut_histogram(np.ones((4, 2)), 0.5, 1.0, 3, np.zeros(4, np.bool_))
    forests.count_pairs_within(codes, np.arange(3), classes, weights, np.zeros((2, 2, 2)))
    node, child, cell, row_cell = (
        np.zeros(8, np.int64),
        np.empty(1, np.int32),
        np.empty(1, np.int32),
        np.zeros(8, np.int64),
    )
    forests.grow_level(node, codes[0], 1, weights, 2.0, child)
    forests.number_cells(node, codes[0], 1, cell, row_cell)
    totals, counts, estimate = np.zeros((1, 2)), np.zeros((1, 2)), np.full((8, 2), 0.5)
    forests.add_by_class(node, classes, weights, totals)
    forests.add_by_class(row_cell, classes, weights, counts)
    known = (node, row_cell, classes, weights, totals, counts)
    forests.best_strength(*known, estimate, np.ones(1), 1)
    forests.leave_rows_out(*known, 1.0, estimate)
    one, two, entry = np.zeros(1, np.int64), np.array([0, 1]), np.zeros(1, np.int32)
    trie = (one, np.ones(1), two, np.ones(1), two, one - 1, one + 1, np.ones(1), two, entry, two, entry, one + 1, two)
    forests.add_log_estimates(codes, *trie, two, entry, np.ones(1), two, entry, np.ones(1), np.zeros((8, 2)))
    terms, shares = np.zeros((8, 2, 2)), np.full((8, 2), 0.5)
    exponents.fill_shares(terms, np.zeros(2), classes, weights, np.ones(2), shares)
    exponents.add_derivatives(terms, classes, weights, shares, np.zeros(2), np.zeros((2, 2)))


def _warm_averages() -> None:
    """Average over the super-parents of rows of three features with one state each, and count their triples."""
    codes, first, lost = np.zeros((3, 8), np.int32), np.arange(4), np.zeros(8, np.bool_)
    tables, shares, prior, out = np.zeros((3, 3, 2)), np.zeros(3), np.zeros(2), np.zeros((8, 2))
    ande.average_one(codes, first, tables, shares, prior, out)
    ande.average_two(codes, first, np.zeros((3, 3), np.int64), tables, shares, prior, out, lost)
    ande.drop_implied(codes, first, np.zeros((3, 3), np.bool_))
    rows, classes = np.zeros((8, 3), np.int32), np.zeros(8, np.int32)
    triples.add_triples(rows, classes, np.ones(8, np.int64), first, 0, 1, 2, np.zeros(2, np.int64))
    for weights in _both(np.ones(8)):
        triples.add_triples(rows, classes, weights, first, 0, 1, 2, np.zeros(2))


def _warm_inference() -> None:
    """Ask a network of two variables everything."""
    n_states, starts, scopes, tables = np.full(2, 2), np.array([0, 1, 3]), np.array([0, 0, 1]), np.full(6, 0.5)
    none, group, codes = np.empty(0, np.int64), np.zeros(2, np.int64), np.full((2, 1), -1)
    first, neighbours = elimination.join_scopes(2, starts, scopes)
    graph = (np.log(n_states), group, first, neighbours)
    elimination.eliminate(*graph, elimination.MIN_FILL, 0.0, np.int64(0), np.inf)
    elimination.best_order(*graph, 1)
    _, order, clique_start, nodes = elimination.find_order(n_states, group, starts, scopes, 1)
    potentials.reduce_potentials(n_states, starts, scopes, tables, np.arange(2), codes[:, 0], np.ones(2, np.int64))
    potentials.reduce_potentials(n_states, starts, scopes, tables, np.arange(2), np.full(2, -1), np.ones(2, np.int64))
    program = junction.compile_program(n_states, np.arange(2), starts, scopes, 2, order, clique_start, nodes)
    parts = buffer.layout(program, 1)
    memory, soft, is_soft = np.empty(parts[-1] + 4), np.empty((4, 1)), np.zeros(2, np.int64)
    buffer.load_potentials(program, starts, scopes, tables, memory)
    propagation.propagate(program, parts, memory, codes, soft, is_soft, np.ones(2, np.int64), none, np.empty(1))
    propagation.maximise(program, parts, memory, codes, soft, is_soft, group, np.empty(2, np.int64))
    propagation.condition(program, parts, memory, codes, soft, is_soft, np.array([0, 2, 6]), np.empty(6))


def _warm_rows() -> None:
    """Answer for one row in which the only variable is missing, and complete it."""
    one, starts, none = np.zeros(1, np.int64), np.array([0, 2]), np.empty(0, np.int64)
    network = (np.full(1, 2), one, np.zeros(2, np.int64), none, starts, np.full(2, 0.5), np.zeros(2, np.int64), none)
    for kind in (np.int16, np.int32):
        codes = np.full((1, 1), -1, kind)
        rows.distinct_rows(codes, np.empty(1, np.int64))
        answers = (np.empty((1, 2)), np.empty(1), np.empty(1, np.int8))
        rows.answer_rows(*network, codes, one, np.ones(1, np.uint8), 256, one, *answers)
        completions.complete_rows(*network, codes, 0, one, np.zeros(2, np.uint64), True, 256, answers[-1])


def _warm_expectations() -> None:
    """Expect the states of a hidden cause of one observed effect."""
    two, starts, one = np.full(2, 2), np.array([0, 0, 1]), np.zeros(1, np.int64)
    network = (two, np.arange(2), starts, one, np.array([0, 2, 6]), np.array([0, 1, 1]), np.ones(1, np.int64))
    counts, codes = np.zeros(6), np.array([[-1, 0]], np.int32)
    found = components.find_components(*network, np.arange(2), codes, np.ones(1), 1e6, counts)
    code_starts, code, _ = component_programs.compile_programs(two, starts, one, found[0], found[1], 1e6)
    tables = np.full(6, 0.5)
    expectations.expect(code_starts, code, found[2], found[3], found[4], 0, 1, tables, tables, counts)


def _warm_sampling() -> None:
    """Draw from one variable of two states, and make a sweep over it."""
    one, two, none, starts = np.zeros(1, np.int64), np.full(1, 2), np.empty(0, np.int64), np.array([0, 2])
    rows, state = sampling.ROWS, np.ones((4, sampling.LANES), np.uint64)
    room = (np.empty(rows, np.int64), np.empty(rows, np.uint32), np.empty(rows, np.uint32))
    tables, limits, sums = np.full(2, 0.5), np.empty(2, np.int64), np.zeros((2, 3))
    network = (one, two, np.zeros(2, np.int64), none, starts, limits)
    sampling.fill_draws(state, room[0])
    sampling.fill_limits(tables, two, starts, limits)
    for kind in _CODES:
        sampling.fill_samples(np.zeros((1, rows), kind), *network, state, room, 0, rows)
    weighted = (np.zeros((1, rows), np.int32), *network, np.full(1, -1), np.empty(0), state, room, np.empty(rows))
    sampling.fill_weighted(*weighted)
    sampling.sum_weighted(*weighted, 1, one, one, sums)
    family = (starts, one, two, np.zeros(2, np.int64), none, none)  # likelihoods, scan, sizes; it has no children
    chain = (np.zeros(1, np.int64), np.zeros(1, np.int64), state, room[0], np.empty(2))
    sampling.sweep(tables, tables, *family, *chain, 1, one, np.zeros(2))


def _warm_families() -> None:
    """Score a family of two binary variables in every way."""
    words, first, states = np.zeros((2, 1), np.uint64), np.array([0, 1, 2]), np.full(2, 2)
    terms, found = (np.zeros(3), np.zeros(3), 0.0, False), (np.empty(1), np.empty(1, np.int64))
    one, own, counts_of = np.zeros(1, np.int64), np.array([0, 2]), np.array([1, 0])
    matrix, pairs = np.zeros((4, 4), np.int64), np.zeros(4, np.int32)
    extensions.count_joint_states(words, first, states, one, 2, counts_of)
    family = (words, first, states, np.zeros((2, 2), np.int8), 2, one, 2, np.array([1, 0]), 1)
    extensions.extend_family(*family, pairs, one, np.ones(1, np.int64), own[:1], np.zeros(4, np.int32), *terms, *found)
    extensions.score_crossed(np.zeros(4, np.int64), 2, 2, *terms)
    extensions.score_margins(np.zeros(4, np.int64), states[:1], 2, *terms, np.zeros(4, np.int64), *_twice(found))
    extensions.take_pairs(matrix, np.array([0, 2, 4]), 0, np.ones(1, np.int64), own, pairs)
    extensions.score_pairs(matrix, np.array([0, 2, 4]), 0, *terms, np.empty(2), np.empty(2, np.int64))
    order, child = np.zeros(2, np.int32), np.zeros(2, np.int32)
    for kind in _CODES:
        for slot_kind in (np.int32, np.int64):
            for codes in _both(np.zeros(2, kind)):
                starts = np.zeros(2, np.int64)
                groups.sort_by_slot(np.zeros(2, slot_kind), codes, starts, order, child)
        for codes in _both(np.zeros(2, kind)):
            sums, table = np.zeros(1, np.int64), np.zeros(2, np.int64)
            groups.count_configurations(order, starts, codes, sums)
            groups.score_groups(order, starts, child, codes, 2, *terms[:2], 0.0, 0.0, table, sums)


def _twice(found: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.concatenate([a, a]) for a in found)


def _warm_pair_measures() -> None:
    """Measure one pair of binary variables."""
    block, start, out = np.ones((2, 4), np.int64), np.array([0, 2, 4]), np.zeros((2, 2), np.float32)
    kept, first, margins = np.zeros((2, 2), np.int64), np.array([0, 1, 2]), np.zeros(4, np.int64)
    pair_measures.expand_block(kept, first[:2], first, start[:2], start, margins[:2], margins, 0, 1, block)
    pair_measures.fill_block_information(block, start[:2], start, 0, 0, out)
    pair_measures.fill_block_discrepancy(block, block, start[:2], start, 0, 0, out)


def _warm_climbing() -> None:
    """Look for a move between two nodes."""
    parents, n_parents, none = np.zeros((2, 1), np.int64), np.zeros(2, np.int64), np.empty((0, 2), np.int64)
    gains, dirty = np.full((2, 2), -np.inf), np.ones(2, np.bool_)
    best = (np.zeros(2), np.full(2, -1))
    work = (np.empty(3, np.int64), np.empty(1, np.int64), np.zeros(3, np.int64), np.empty(2, np.int64))
    graph = (parents, n_parents, gains, np.empty((0, 0), np.int64), gains)
    climbing.best_move(*graph, none, np.inf, 0.0, dirty, best, work, np.empty(3, np.int64))


def _warm_exact() -> None:
    """Find the best graph of one variable, and sample its only one."""
    one = np.zeros(1, np.int64)
    data = np.zeros((1, 2), np.int16), np.ones(2, np.int32), np.ones(1, np.int64)
    room = np.empty((2, 2), np.int32), np.empty(64, np.int32), np.empty(64, np.int32)
    ranks = np.array([[1, 0]]), np.array([0, 1, 2])
    subsets.fill_terms(data, one, 1, np.inf, np.empty((0, 0)), 1.0, *ranks, room, np.empty((1, 2)))
    sets = (np.arange(2), one, np.arange(2), one, np.zeros(1))
    subsets.fill_best_graphs(one, 1, sets, np.empty((1, 2)), np.empty((1, 2)))
    families = np.arange(2), one, np.zeros(1), np.ones(1), one, np.zeros(1)
    chain = np.zeros(1, np.int64), np.empty(1, np.int64), np.zeros(4, np.int64), np.zeros(4, np.int64)
    partitions.run_sweeps(families, np.zeros((1, 6)), 1, *chain, np.empty((1, 1), np.int64), np.empty(1))


def _warm_trees() -> None:
    """Find the information of two variables of two states over 70 rows, and join them."""
    words, starts, first, kept = np.zeros(16, np.uint64), np.array([0, 4]), np.array([0, 2, 4]), np.ones(2, np.int64)
    codes, order, ends, known = np.zeros(70, np.int8), np.arange(70, dtype=np.uint32), np.array([0, 70]), np.zeros(4)
    for some in _both(codes):
        trees.sort_codes(some, order, ends, starts, np.zeros(256, np.int8))
        trees.fill_class_planes(some, 1, 4, 0, words)
    trees.fill_n_log_n(known)
    margins = np.zeros((1, 4), np.int64), np.zeros((1, 2)), np.zeros((1, 2), np.int64)
    trees.fill_class_margins(words, 4, starts, first, kept, ends, known, *margins)
    layout, information = (words, starts, first, np.array([0, 1, 2]), np.array([0, 8])), np.zeros((2, 2))
    trees.fill_pair_information(*layout, *margins, known, np.array([[0, 2, 0, 2]]), information, np.zeros((0, 0)))
    trees.span(information, np.zeros(2, np.int64))


def _warm_orders() -> None:
    """Walk along the order of one variable."""
    one, need = np.zeros(1, np.int64), np.empty(2, np.int64)
    tree = (one, *(np.zeros(1, np.int32) for _ in range(4)))
    orders.walk_order(one, 0, one, tree, np.empty(1, np.int64), need)
    known = (tree, np.zeros(1), np.zeros((1, 1), np.bool_))
    orders.walk_places(0, one[:0], 0, 0, 0, np.zeros(1, np.int64), *known, np.empty(1), np.empty(0), need)


def _warm_tokens() -> None:
    """Read, count and score one document of one character; what is read is locked."""
    *_, data = _both(np.full(1, 97, np.uint8))
    *_, offsets = _both(np.array([0, 1]))
    *_, hashes = _both(np.zeros(1, np.uint64))
    kinds, buffer, ends, starts = np.ones(128, np.uint8), np.empty(2, np.uint8), np.zeros(1, np.int32), np.array([0, 1])
    tokens.split_words(data, offsets, kinds, True, 1, buffer, ends, starts)
    tokens.split_characters(data, offsets, kinds, True, buffer, ends, starts)
    tokens.hash_ngrams(buffer, ends, starts, 1, 1, 1, np.empty(1, np.uint64), np.empty((1, 2), np.int32), starts)
    one, numbers, values = np.zeros(1, np.int64), np.zeros(1, np.int32), np.ones(1)
    tokens.hash_slices(data, one, one, np.empty(1, np.uint64))
    tokens.copy_slices(data, one, one, buffer)
    table = np.empty(2, np.uint64), np.full(2, -1, np.int32)
    tokens.number_hashes(hashes, np.zeros(2, np.int64), *table, one, numbers)
    tokens.index_hashes(hashes, *table)
    tokens.find_hashes(*table, hashes, numbers)
    tokens.count_numbers(numbers, starts, one - 1, numbers, np.zeros(1, np.int32), starts)
    sums = np.zeros(1, np.int32), np.zeros(1), np.zeros(1)
    tokens.add_by_class(one, starts, starts, numbers, values, values, one - 1, np.zeros(2, np.int64), *sums)
    rows = np.array([0, 1], np.int32), np.zeros(1, np.int32), values
    tokens.add_scores(starts, numbers, values, *rows, values, np.zeros((2, 1)), np.zeros((1, 1)))
    for kind in _FLOATS:
        tokens.add_dense_scores(starts, numbers, values, np.zeros((1, 1), kind), np.zeros((1, 1)))


def _warm_sequences() -> None:
    """Read, count and score a sequence of two symbols, in codes of both types."""
    bits, offsets = np.zeros(2, np.uint8), np.array([0, 2])
    *_, data = _both(bits)
    for some in (data, bits):
        sequences.mark_bytes(some, np.zeros(256, np.bool_))
        sequences.translate_bytes(some, np.zeros(256, np.uint8), np.zeros(2, np.uint8))
    sequences.decode_points(data, offsets, np.zeros(2, np.int32), np.zeros(2, np.int64))
    known, spans, one = np.zeros(1, np.bool_), np.array([[0, 0, 2]]), np.zeros(1, np.int64)
    dense, sparse = (1, 1, 0, np.array([0, 1]), -1, 0), (1, 0, False, 0)
    pairs = np.zeros((1, 2), np.int64)
    tree = np.zeros((1, 1)), np.zeros((1, 3), np.int64), one, pairs, pairs, np.zeros(1)
    for codes in (bits, np.zeros(2, np.int32)):
        rows = codes, offsets, known, spans
        sequences.gather_rows(codes, one, offsets, np.empty_like(codes))
        sequences.mark_known(codes, offsets, 1, known)
        sequences.hash_rows(codes, offsets, np.zeros(2, np.uint64), np.zeros(1, np.uint64))
        for kind in (np.int64, np.float64):
            sequences.fill_counts(*rows, *dense, one, np.ones(1, kind), np.zeros((1, 1), kind))
        sequences.fill_keys(*rows, 1, 1, 0, 3, False, 0, np.zeros(3, np.int64), np.zeros(3, np.int64))
        sequences.add_scores(*rows, *dense, np.zeros((1, 1)), False, np.zeros((1, 1)))
        sequences.add_sparse_scores(*rows, *sparse, *tree, one, np.zeros(1), False, np.zeros((1, 1)))


def _warm_linear() -> None:
    """Visit one document that has the only feature."""
    *_, indptr = _both(np.array([0, 1]))
    *_, indices = _both(np.zeros(1, np.int32))
    *_, masses = _both(np.ones(1))
    for kind in _FLOATS:
        *_, data = _both(np.ones(1, kind))
        *_, ratios = _both(np.ones((1, 2), kind))
        curvatures, shares = np.empty((1, 2)), np.array([[1.0, 0.0]])
        state = (shares, np.zeros(1), np.zeros((1, 2), kind), np.zeros(2))
        linear.fill_curvatures(indptr, indices, data, ratios, 1.0, 0, 1, curvatures)
        given = (indptr, indices, data, ratios, 1.0, masses, curvatures)
        linear.improve_documents(*given, np.zeros(1, np.int64), 1e-3, *state)
        linear.sum_divergences(indptr, indices, data, masses, *state, 0, 1)


def _warm_text() -> None:
    *_, offsets = _both(np.array([0, 1], np.int32))
    *_, data = _both(np.zeros(8, np.uint8))
    keys, slots = np.zeros(text.SLOTS, np.uint64), np.full(text.SLOTS, -1, np.int16)
    ends, known = np.zeros(4, np.int64), np.zeros(1, np.int64)
    text.encode_texts(offsets, data, keys, slots, np.zeros(16, np.uint8), ends, known, np.zeros(1, np.int16))
