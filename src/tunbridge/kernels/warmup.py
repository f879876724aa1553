"""Compile every kernel for the types that the library calls it with.

Numba compiles a kernel when it is first called and keeps the result on disk. Calling this once, after installation or
when an image is built, moves that wait (some seconds) away from the first real work.
"""

from __future__ import annotations

import numpy as np

from tunbridge.kernels import counts, encode, likelihood, moments, planes

_CODES = (np.int8, np.int16, np.int32)


def warm_up() -> int:
    """Call every kernel on a few rows; return how many kernels there are."""
    _warm_planes()
    _warm_counts()
    _warm_moments()
    _warm_encode()
    _warm_likelihood()
    modules = (counts, encode, likelihood, moments, planes)
    return sum(hasattr(f, "signatures") for m in modules for n, f in vars(m).items() if not n.startswith("_"))


def _warm_planes() -> None:
    codes = np.zeros(70, np.int8)
    words = np.zeros((2, 2), np.uint64)
    planes.fill_planes(codes, words)
    planes.cross_planes(words, words, np.zeros((4, 2), np.uint64))
    planes.count_planes(words, np.zeros(2, np.int64))
    counted = np.zeros((2, 2), np.int64)
    planes.add_tiles(words, words, np.array([[0, 2, 0, 2]], np.intp), counted)
    planes.expand_pairs(
        counted, np.array([0, 1, 2], np.intp), np.array([2, 2], np.intp), 70, np.zeros((4, 4), np.int64)
    )


def _warm_counts() -> None:
    ones = np.ones(8)
    for kind in _CODES:
        codes = np.zeros(8, kind)
        rows = np.zeros(8, np.int32)
        counts.fold_codes(rows, codes, np.int32(2))
        counts.count_joint(rows, codes, 2, np.zeros((counts.LANES, 5), np.int64))
        counts.weigh_joint(rows, codes, 2, ones, np.zeros((counts.LANES, 5)))
    keys = np.zeros(8, np.int64)
    slots = np.empty(8, np.int64)
    counts.assign_slots(keys, np.empty(16, np.int64), np.full(16, -1, np.int32), slots, np.empty(8, np.int64))


def _warm_moments() -> None:
    block, groups, ones = np.zeros((2, 8)), np.zeros(8, np.int32), np.ones(8)
    moments.fill_block(np.zeros((8, 2)), block)
    moments.fill_moments(block, groups, ones, *(np.zeros((1, 2)) for _ in range(3)))
    moments.fill_row_moments(np.zeros((8, 2)), groups, ones, *(np.zeros((1, 2)) for _ in range(3)))


def _warm_encode() -> None:
    values, low, high = np.zeros((8, 2), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    encode.fill_ranges(values, low, high)
    encode.mark_present(values, low, np.zeros((2, 1), np.bool_))
    for kind in _CODES:
        encode.look_up(values, low, high, np.zeros((2, 1), kind), np.zeros((2, 8), kind))


def _warm_likelihood() -> None:
    out, block, parameter = np.zeros((2, 8)), np.zeros((1, 8)), np.ones((2, 1))
    for kind in _CODES:
        likelihood.add_categorical(np.zeros(8, kind), np.zeros((2, 3)), out)
    likelihood.add_gaussian(block, parameter, parameter, parameter, out)
    likelihood.add_kernel_density(np.zeros(8), np.zeros(3), np.zeros(3), 1.0, np.zeros(8))
