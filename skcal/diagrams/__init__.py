"""Displays: calibration to look at, in the manner of scikit-learn's Display classes."""

from skcal.diagrams._reliability import ReliabilityDisplay

__all__ = ["ReliabilityDisplay"]
