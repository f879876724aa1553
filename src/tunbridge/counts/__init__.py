"""Counts: the engine that everything else is learned from."""
