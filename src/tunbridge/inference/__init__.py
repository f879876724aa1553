"""Inference: questions put to a network, exactly or by sampling."""

from tunbridge.inference.conflicts import Conflict
from tunbridge.inference.engine import Engine
from tunbridge.inference.explaining import EvidenceExplanation, FindingWeight
from tunbridge.inference.forecasting import Forecast
from tunbridge.inference.queries import Event, MostProbable, Posteriors

__all__ = [
    "Conflict",
    "Engine",
    "Event",
    "EvidenceExplanation",
    "FindingWeight",
    "Forecast",
    "MostProbable",
    "Posteriors",
]
