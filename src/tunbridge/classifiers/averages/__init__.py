"""Averages of many models: AODE and A2DE, Bayes forests, Bayes-optimal classification."""
