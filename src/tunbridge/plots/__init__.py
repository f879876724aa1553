"""Pictures of what the library computes.

Each function draws one picture into Matplotlib axes and returns them, so that it can be changed, combined and saved
like any other. Matplotlib is optional: ``pip install tunbridge[plots]``. Colour-blind people can tell the colours
apart, and no colour says anything that a number, a shape or a side does not say as well.
"""

from tunbridge.plots.axes import draw_off_screen
from tunbridge.plots.calibration import reliability
from tunbridge.plots.comparisons import versus
from tunbridge.plots.conjugate import updates
from tunbridge.plots.descriptions import description_lengths
from tunbridge.plots.evidence import explanation
from tunbridge.plots.evolutions import evolution
from tunbridge.plots.fits import iterations
from tunbridge.plots.importances import importance
from tunbridge.plots.learning_curves import learning_curve
from tunbridge.plots.nomograms import nomogram
from tunbridge.plots.predictive import predictive_values
from tunbridge.plots.regions import boundaries, decision_regions
from tunbridge.plots.sequences import log_odds
from tunbridge.plots.traces import strengths, trace

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
