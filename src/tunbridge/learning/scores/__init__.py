"""Scores of families: how well a variable is explained by its parents."""
