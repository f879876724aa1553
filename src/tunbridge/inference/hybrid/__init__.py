"""Inference in networks with continuous variables."""
