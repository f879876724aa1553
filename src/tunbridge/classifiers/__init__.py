"""Classifiers: scikit-learn estimators on top of the counts."""
