"""Conjugate priors: beliefs about a number that data move by adding up."""
