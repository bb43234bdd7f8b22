"""Recalibrators: class scores in, calibrated probabilities out."""

from skcal.recalibration._base import BaseRecalibrator, NotClassScoresError
from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._cross_fit import CrossFitProba
from skcal.recalibration._dirichlet import DirichletCalibration
from skcal.recalibration._histogram import HistogramBinning
from skcal.recalibration._isotonic import IsotonicRecalibration
from skcal.recalibration._kernel import KernelRecalibration
from skcal.recalibration._matrix_scaling import MatrixScaling
from skcal.recalibration._mean_replacement import MeanReplacement
from skcal.recalibration._platt_scaling import PlattScaling
from skcal.recalibration._randomized_smoothing import RandomizedSmoothing
from skcal.recalibration._recalibrated_classifier import RecalibratedClassifierCV
from skcal.recalibration._scaling_binning import ScalingBinning
from skcal.recalibration._spline import SplineRecalibration
from skcal.recalibration._structured_matrix_scaling import StructuredMatrixScaling
from skcal.recalibration._temperature import TemperatureScaling
from skcal.recalibration._vector_scaling import VectorScaling
from skcal.recalibration._venn_abers import VennAbers

__all__ = [
    "BaseRecalibrator",
    "BetaCalibration",
    "CrossFitProba",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicRecalibration",
    "KernelRecalibration",
    "MatrixScaling",
    "MeanReplacement",
    "NotClassScoresError",
    "PlattScaling",
    "RandomizedSmoothing",
    "RecalibratedClassifierCV",
    "ScalingBinning",
    "SplineRecalibration",
    "StructuredMatrixScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
]
