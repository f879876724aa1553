"""Sampling: forward, likelihood weighting, Gibbs."""
