"""Kernels of text and symbol sequences."""
