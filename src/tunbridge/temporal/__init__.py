"""Time: hidden Markov models and dynamic networks."""
