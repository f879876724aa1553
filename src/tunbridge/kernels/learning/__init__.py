"""Kernels of structure searches."""
