"""Decisions: losses, risks, and the evidence behind a prediction."""
