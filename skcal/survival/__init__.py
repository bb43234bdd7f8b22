"""Times until an event: predicted risks of censored rows, at one horizon and over time."""

from skcal.survival._a_calibration import ACalibration, a_calibration
from skcal.survival._aj_calibration import AJCalibration, aj_calibration
from skcal.survival._at_horizon import HorizonOutcomes, at_horizon
from skcal.survival._d_calibration import DCalibration, d_calibration
from skcal.survival._martingale_test import MartingaleTest, martingale_test
from skcal.survival._pseudo_values import pseudo_values
from skcal.survival._recalibrated_survival import RecalibratedSurvivalCV
from skcal.survival._risk_recalibration import RiskRecalibration
from skcal.survival._survival_at import survival_at
from skcal.survival._survival_calibration import (
    HorizonCalibration,
    SurvivalCalibration,
    survival_calibration,
)

__all__ = [
    "ACalibration",
    "AJCalibration",
    "DCalibration",
    "HorizonCalibration",
    "HorizonOutcomes",
    "MartingaleTest",
    "RecalibratedSurvivalCV",
    "RiskRecalibration",
    "SurvivalCalibration",
    "a_calibration",
    "aj_calibration",
    "at_horizon",
    "d_calibration",
    "martingale_test",
    "pseudo_values",
    "survival_at",
    "survival_calibration",
]
