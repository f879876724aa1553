"""Rows as classifiers take them: features as codes and numbers, classes, folds, streams."""
