"""Models chosen by calibration or refinement, what they are worth, and where they may answer."""

from skcal.model_selection._abstaining_classifier import AbstainingClassifierCV
from skcal.model_selection._internal_validation import internal_validation
from skcal.model_selection._one_se import calibrated_within_one_se
from skcal.model_selection._pooled import PooledScore, pooled_cross_val_score
from skcal.model_selection._refinement import (
    StagedRefinement,
    refinement_metric,
    stop_by_refinement,
)
from skcal.model_selection._survival_validation import internal_survival_validation
from skcal.model_selection._validated import (
    InternalValidation,
    PredictionStability,
    ValidatedCurve,
    ValidatedMeasure,
)

__all__ = [
    "AbstainingClassifierCV",
    "InternalValidation",
    "PooledScore",
    "PredictionStability",
    "StagedRefinement",
    "ValidatedCurve",
    "ValidatedMeasure",
    "calibrated_within_one_se",
    "internal_survival_validation",
    "internal_validation",
    "pooled_cross_val_score",
    "refinement_metric",
    "stop_by_refinement",
]
