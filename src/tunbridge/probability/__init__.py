"""Probability: distributions and the rules that turn counts into them."""

from tunbridge.probability.smoothing import Laplace, MEstimate, Smoothing, as_smoothing, smooth

__all__ = ["Laplace", "MEstimate", "Smoothing", "as_smoothing", "smooth"]
