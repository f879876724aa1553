"""Diagnostic tests: what a result means, and how sure one can be of it."""
