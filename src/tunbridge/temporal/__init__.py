"""Models of sequences: hidden Markov models and dynamic Bayesian networks."""
