"""How certain a learned structure is: bootstrap, posterior sampling, arc strengths."""
