"""Families of hypotheses with weights, fitted by maximum likelihood or MAP."""
