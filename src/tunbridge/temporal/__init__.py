<<<<<<< HEAD
"""Time: hidden Markov models and dynamic Bayesian networks."""
=======
"""Time: hidden Markov models and dynamic networks."""
>>>>>>> wt-emissions
