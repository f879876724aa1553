"""Features that depend on the class and on a few other features: trees, k-DB, multinets."""
