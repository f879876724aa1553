"""Decisions: losses, risks, thresholds, calibration, and the evidence behind a prediction."""

from tunbridge.decisions.calibration import CalibrationTable, calibration_table, expected_calibration_error
from tunbridge.decisions.evidence import Change, Evidence, Explanation, WhatIf, explanation
from tunbridge.decisions.importance import FeatureImportance, Importance
from tunbridge.decisions.losses import loss_matrix, threshold_from_costs, threshold_from_loss, utility_losses
from tunbridge.decisions.risk import REJECT, Decisions, decide, minimum_risk

__all__ = [
    "REJECT",
    "CalibrationTable",
    "Change",
    "Decisions",
    "Evidence",
    "Explanation",
    "FeatureImportance",
    "Importance",
    "WhatIf",
    "calibration_table",
    "decide",
    "expected_calibration_error",
    "explanation",
    "loss_matrix",
    "minimum_risk",
    "threshold_from_costs",
    "threshold_from_loss",
    "utility_losses",
]
