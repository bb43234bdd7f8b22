"""Models chosen by calibration or refinement, what they are worth, and where they may answer."""

from skcal.model_selection._abstaining_classifier import AbstainingClassifierCV
from skcal.model_selection._one_se import calibrated_within_one_se
from skcal.model_selection._pooled import PooledScore, pooled_cross_val_score
from skcal.model_selection._refinement import (
    StagedRefinement,
    refinement_metric,
    stop_by_refinement,
)

__all__ = [
    "AbstainingClassifierCV",
    "PooledScore",
    "StagedRefinement",
    "calibrated_within_one_se",
    "pooled_cross_val_score",
    "refinement_metric",
    "stop_by_refinement",
]
