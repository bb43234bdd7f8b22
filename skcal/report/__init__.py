"""One report that tells the whole story of a model's calibration."""

from skcal.report._calibration_report import calibration_report
from skcal.report._records import ModelReport
from skcal.report._report import CalibrationReport

__all__ = ["CalibrationReport", "ModelReport", "calibration_report"]
