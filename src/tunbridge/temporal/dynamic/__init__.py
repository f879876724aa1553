"""Dynamic Bayesian networks: a first slice, and a transition that repeats from slice to slice."""

from tunbridge.temporal.dynamic.network import DynamicBayesianNetwork

__all__ = ["DynamicBayesianNetwork"]
