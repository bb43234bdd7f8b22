"""One report that tells the whole story of a model's calibration."""

from skcal.report._records import (
    Direction,
    MeasureSummary,
    ModelReport,
    RecalibrationSummary,
    SampleSummary,
    ScoreSummary,
)
from skcal.report._report import CalibrationReport, calibration_report

__all__ = [
    "CalibrationReport",
    "Direction",
    "MeasureSummary",
    "ModelReport",
    "RecalibrationSummary",
    "SampleSummary",
    "ScoreSummary",
    "calibration_report",
]
