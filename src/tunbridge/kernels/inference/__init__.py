"""Kernels of exact inference and sampling."""
