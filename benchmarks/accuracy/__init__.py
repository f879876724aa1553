"""How accurate the classifiers are, on real data, beside what others measured on the same files."""
