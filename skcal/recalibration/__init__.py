"""Recalibrators: class scores in, calibrated probabilities out."""

from skcal.recalibration._base import BaseRecalibrator, NotClassScoresError
from skcal.recalibration._cross_fit import CrossFitProba
from skcal.recalibration._isotonic import IsotonicRecalibration
from skcal.recalibration._temperature import TemperatureScaling

__all__ = [
    "BaseRecalibrator",
    "CrossFitProba",
    "IsotonicRecalibration",
    "NotClassScoresError",
    "TemperatureScaling",
]
