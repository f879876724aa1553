"""Time: hidden Markov models and dynamic Bayesian networks."""
