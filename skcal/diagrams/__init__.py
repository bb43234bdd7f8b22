"""Displays: calibration to look at, in the manner of scikit-learn's Display classes."""

from skcal.diagrams._calibration_sharpness import CalibrationSharpnessDisplay
from skcal.diagrams._reliability import ReliabilityDisplay

__all__ = ["CalibrationSharpnessDisplay", "ReliabilityDisplay"]
