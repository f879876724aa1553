from tunbridge.plots.axes import draw_off_screen as draw_off_screen
from tunbridge.plots.curves import (
    confusion as confusion,
    cost_curve as cost_curve,
    lift as lift,
    performance as performance,
    precision_recall as precision_recall,
    roc as roc,
)
from tunbridge.plots.dynamic import slices as slices
from tunbridge.plots.evaluation import learning_curve as learning_curve, reliability as reliability, versus as versus
from tunbridge.plots.evidence import explanation as explanation, importance as importance, log_odds as log_odds
from tunbridge.plots.hidden import (
    durations as durations,
    forecast as forecast,
    state_choice as state_choice,
    states as states,
    transitions as transitions,
)
from tunbridge.plots.hypotheses import (
    description_lengths as description_lengths,
    evolution as evolution,
    updates as updates,
)
from tunbridge.plots.networks import Drawing as Drawing, draw as draw, network as network
from tunbridge.plots.nomograms import nomogram as nomogram
from tunbridge.plots.predictive import predictive_values as predictive_values
from tunbridge.plots.probabilities import (
    cpt as cpt,
    landscape as landscape,
    posterior as posterior,
    strength_matrix as strength_matrix,
)
from tunbridge.plots.regions import boundaries as boundaries, decision_regions as decision_regions
from tunbridge.plots.traces import iterations as iterations, strengths as strengths, trace as trace
