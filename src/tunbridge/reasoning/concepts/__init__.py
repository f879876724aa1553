"""Concept learning: conjunctions that agree with examples."""
