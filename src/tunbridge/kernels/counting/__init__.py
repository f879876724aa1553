"""Kernels that count: bit planes, histograms, families, pairs, moments."""
