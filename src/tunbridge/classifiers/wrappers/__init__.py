"""Classifiers around other classifiers: calibration, rows without a class."""
