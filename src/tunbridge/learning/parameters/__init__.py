"""Conditional tables from counts and a prior."""
