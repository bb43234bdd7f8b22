"""Models chosen by calibration or refinement, and what they are worth in cross-validation."""

from skcal.model_selection._one_se import calibrated_within_one_se
from skcal.model_selection._pooled import PooledScore, pooled_cross_val_score
from skcal.model_selection._refinement import (
    StagedRefinement,
    refinement_metric,
    stop_by_refinement,
)

__all__ = [
    "PooledScore",
    "StagedRefinement",
    "calibrated_within_one_se",
    "pooled_cross_val_score",
    "refinement_metric",
    "stop_by_refinement",
]
