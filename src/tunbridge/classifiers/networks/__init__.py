"""Networks as classifiers, and numbers that stay numbers."""
