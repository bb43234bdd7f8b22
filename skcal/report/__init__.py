"""One report that tells the whole story of a model's calibration."""

from skcal.report._records import ModelReport
from skcal.report._report import CalibrationReport, calibration_report

__all__ = ["CalibrationReport", "ModelReport", "calibration_report"]
