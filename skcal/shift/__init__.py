"""Another population: what changes where rows come from elsewhere."""

from skcal.shift._aj_calibration import AJCalibration, aj_calibration
from skcal.shift._at_horizon import HorizonOutcomes, at_horizon
from skcal.shift._d_calibration import DCalibration, d_calibration
from skcal.shift._domain_weights import domain_weights
from skcal.shift._estimate_performance import PerformanceEstimate, estimate_performance
from skcal.shift._estimate_prior import PriorEstimate, estimate_prior
from skcal.shift._martingale_test import MartingaleTest, martingale_test
from skcal.shift._prior_shift import PriorShift

__all__ = [
    "AJCalibration",
    "DCalibration",
    "HorizonOutcomes",
    "MartingaleTest",
    "PerformanceEstimate",
    "PriorEstimate",
    "PriorShift",
    "aj_calibration",
    "at_horizon",
    "d_calibration",
    "domain_weights",
    "estimate_performance",
    "estimate_prior",
    "martingale_test",
]
