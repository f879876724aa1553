"""Benchmarks: both sides measured in one run on the same data, printed as ratios, written to RESULTS.md."""
