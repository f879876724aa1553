"""Learning from rows with missing values: EM, gradient ascent, structural EM, hidden variables."""
