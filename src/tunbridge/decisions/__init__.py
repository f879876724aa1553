"""Decisions: losses, risks, and the evidence behind a prediction."""

from tunbridge.decisions.evidence import Evidence, Explanation, explanation
from tunbridge.decisions.risk import REJECT, Decisions, loss_matrix, minimum_risk

__all__ = ["REJECT", "Decisions", "Evidence", "Explanation", "explanation", "loss_matrix", "minimum_risk"]
