"""Searches for structures, one file each."""
