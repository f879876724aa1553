"""Plots of results.

Each function draws into Matplotlib axes and returns them, so that the plot can be changed, combined and saved like any
other. Matplotlib is optional: ``pip install tunbridge[plots]``. The colours suit colour-blind people, and everything
that a colour shows is also shown by a number, a shape or a side.
"""

from tunbridge.plots.axes import draw_off_screen
from tunbridge.plots.evaluation import learning_curve, reliability, versus
from tunbridge.plots.evidence import explanation, importance, log_odds
from tunbridge.plots.hypotheses import description_lengths, evolution, updates
from tunbridge.plots.nomograms import nomogram
from tunbridge.plots.predictive import predictive_values
from tunbridge.plots.regions import boundaries, decision_regions
from tunbridge.plots.traces import iterations, strengths, trace

__all__ = [
    "boundaries",
    "decision_regions",
    "description_lengths",
    "draw_off_screen",
    "evolution",
    "explanation",
    "importance",
    "iterations",
    "learning_curve",
    "log_odds",
    "nomogram",
    "predictive_values",
    "reliability",
    "strengths",
    "trace",
    "updates",
    "versus",
]
