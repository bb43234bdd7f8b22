"""Synthetic problems whose true calibration error is known."""

from skcal.datasets._linear import make_shifted, make_shrunk
from skcal.datasets._problem import CalibrationProblem, TrueValue
from skcal.datasets._temperature import make_temperature_family
from skcal.datasets._two_point import make_two_point_gap

__all__ = [
    "CalibrationProblem",
    "TrueValue",
    "make_shifted",
    "make_shrunk",
    "make_temperature_family",
    "make_two_point_gap",
]
