"""Displays: calibration to look at, in the manner of scikit-learn's Display classes."""

from skcal.diagrams._calibration_sharpness import CalibrationSharpnessDisplay
from skcal.diagrams._concentration import ConcentrationDisplay
from skcal.diagrams._coverage_width import CoverageWidthDisplay
from skcal.diagrams._decision_curve import DecisionCurveDisplay
from skcal.diagrams._forest import ForestDisplay
from skcal.diagrams._group_audit import GroupAuditDisplay
from skcal.diagrams._interval_coverage import IntervalCoverageDisplay
from skcal.diagrams._mean_reliability import MeanReliabilityCurve, MeanReliabilityDisplay
from skcal.diagrams._monitor import MonitorDisplay
from skcal.diagrams._murphy import MurphyDisplay
from skcal.diagrams._pit import PITDisplay
from skcal.diagrams._prediction_powered import PredictionPoweredReliabilityDisplay
from skcal.diagrams._quantile_reliability import QuantileReliabilityDisplay
from skcal.diagrams._regression_murphy import RegressionMurphyDisplay
from skcal.diagrams._reliability import ReliabilityDisplay
from skcal.diagrams._reliability_curve import ReliabilityCurve
from skcal.diagrams._risk_coverage import RiskCoverageDisplay
from skcal.diagrams._score_decomposition import ScoreDecompositionDisplay
from skcal.diagrams._sharpness_curve import SharpnessCurve
from skcal.diagrams._stability import StabilityDisplay
from skcal.diagrams._survival_reliability import HorizonCurve, SurvivalReliabilityDisplay

__all__ = [
    "CalibrationSharpnessDisplay",
    "ConcentrationDisplay",
    "CoverageWidthDisplay",
    "DecisionCurveDisplay",
    "ForestDisplay",
    "GroupAuditDisplay",
    "HorizonCurve",
    "IntervalCoverageDisplay",
    "MeanReliabilityCurve",
    "MeanReliabilityDisplay",
    "MonitorDisplay",
    "MurphyDisplay",
    "PITDisplay",
    "PredictionPoweredReliabilityDisplay",
    "QuantileReliabilityDisplay",
    "RegressionMurphyDisplay",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "ScoreDecompositionDisplay",
    "SharpnessCurve",
    "StabilityDisplay",
    "SurvivalReliabilityDisplay",
]
