"""Files: models written and read as data."""
