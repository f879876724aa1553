"""Numba kernels: arrays in, arrays out; the caller checks, encodes and allocates."""
