"""Kernels of hidden Markov chains."""
