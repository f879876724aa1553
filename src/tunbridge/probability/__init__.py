"""Probability: distributions and the rules that turn counts into them."""
