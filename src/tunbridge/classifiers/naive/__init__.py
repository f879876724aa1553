"""Naive Bayes and its relatives: features that are independent given the class, or made so."""
