"""What recalibration would leave of a proper score, and what it would gain: by cross-fitting."""

from skcal.refinement._decomposition import refinement_decomposition
from skcal.refinement._recalibration_gain import RecalibrationGain, recalibration_gain
from skcal.refinement._scores import brier_refinement, log_loss_refinement

__all__ = [
    "RecalibrationGain",
    "brier_refinement",
    "log_loss_refinement",
    "recalibration_gain",
    "refinement_decomposition",
]
