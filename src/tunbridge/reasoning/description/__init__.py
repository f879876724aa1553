"""Minimum description length: the hypothesis with which data are shortest to tell."""
