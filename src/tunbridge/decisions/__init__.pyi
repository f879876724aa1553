from tunbridge.decisions.calibration import (
    CalibrationTable as CalibrationTable,
    calibration_table as calibration_table,
    expected_calibration_error as expected_calibration_error,
)
from tunbridge.decisions.evidence import (
    Change as Change,
    Evidence as Evidence,
    Explanation as Explanation,
    WhatIf as WhatIf,
    explanation as explanation,
)
from tunbridge.decisions.importance import FeatureImportance as FeatureImportance, Importance as Importance
from tunbridge.decisions.losses import (
    loss_matrix as loss_matrix,
    threshold_from_costs as threshold_from_costs,
    threshold_from_loss as threshold_from_loss,
    utility_losses as utility_losses,
)
from tunbridge.decisions.risk import (
    REJECT as REJECT,
    Decisions as Decisions,
    decide as decide,
    minimum_risk as minimum_risk,
)
