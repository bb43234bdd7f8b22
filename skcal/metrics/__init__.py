"""Calibration measures: y_true and y_proba in, a float out.

`MEASURES` is the one table of measures: scorers, common tests and reports follow from its rows.
"""

from skcal.metrics._binned import (
    adaptive_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    squared_calibration_error,
)
from skcal.metrics._measure import Measure
from skcal.metrics._smooth import SmoothECECurve, smooth_ece, smooth_ece_curve

MEASURES = {
    measure.name: measure
    for measure in (
        Measure(expected_calibration_error),
        Measure(maximum_calibration_error),
        Measure(adaptive_calibration_error, reads_counts=True),
        Measure(squared_calibration_error, reads_counts=True, is_signed=True),
        Measure(smooth_ece, accuracy=1e-6),
    )
}

__all__ = ["MEASURES", "Measure", "SmoothECECurve", "smooth_ece_curve", *MEASURES]
