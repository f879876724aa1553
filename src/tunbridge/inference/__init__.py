"""Inference: answers to questions about a network, exact or by sampling."""

from tunbridge.inference.engine import Engine
from tunbridge.inference.explaining import Conflict, EvidenceExplanation, FindingWeight
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
