"""Recalibrators: class scores in, calibrated probabilities out."""

from skcal.recalibration._auto import AutoRecalibration
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._class_scores import NotClassScoresError
from skcal.recalibration._closed_test import ClosedTestRecalibration
from skcal.recalibration._confidence_replacement import ConfidenceReplacement
from skcal.recalibration._cross_fit_proba import CrossFitProba
from skcal.recalibration._dirichlet import DirichletCalibration
from skcal.recalibration._fitted import FITTED as _FITTED
from skcal.recalibration._histogram import HistogramBinning
from skcal.recalibration._isotonic import IsotonicRecalibration
from skcal.recalibration._kernel import KernelRecalibration
from skcal.recalibration._matrix_scaling import MatrixScaling
from skcal.recalibration._multicalibrated_classifier import PARTS as _PARTS
from skcal.recalibration._multicalibrated_classifier import MulticalibratedClassifierCV
from skcal.recalibration._names import get_recalibrator, get_recalibrator_names
from skcal.recalibration._online import OnlineRecalibration
from skcal.recalibration._online_classifier import OnlineRecalibratedClassifier
from skcal.recalibration._platt_scaling import PlattScaling
from skcal.recalibration._quadratic_scaling import QuadraticScaling
from skcal.recalibration._randomized_smoothing import RandomizedSmoothing
from skcal.recalibration._recalibrated_classifier import RecalibratedClassifierCV
from skcal.recalibration._scaling_binning import ScalingBinning
from skcal.recalibration._spline import SplineRecalibration
from skcal.recalibration._structured_matrix_scaling import StructuredMatrixScaling
from skcal.recalibration._structured_vector_scaling import StructuredVectorScaling
from skcal.recalibration._temperature import TemperatureScaling
from skcal.recalibration._vector_scaling import VectorScaling
from skcal.recalibration._venn_abers import VennAbers

__all__ = [
    "TRUSTED_TYPES",
    "AutoRecalibration",
    "BaseRecalibrator",
    "BetaCalibration",
    "ClosedTestRecalibration",
    "ConfidenceReplacement",
    "CrossFitProba",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicRecalibration",
    "KernelRecalibration",
    "MatrixScaling",
    "MulticalibratedClassifierCV",
    "NotClassScoresError",
    "OnlineRecalibratedClassifier",
    "OnlineRecalibration",
    "PlattScaling",
    "QuadraticScaling",
    "RandomizedSmoothing",
    "RecalibratedClassifierCV",
    "ScalingBinning",
    "SplineRecalibration",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "get_recalibrator",
    "get_recalibrator_names",
]

#: Full names of all types of skcal that a saved recalibrator, recalibrated classifier or
#: `CrossFitProba` may hold, for the argument ``trusted`` of ``skops.io.load`` and for
#: ``skops_trusted_types`` of MLflow.
TRUSTED_TYPES = [
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (*map(globals().get, __all__), *_FITTED, *_PARTS)
    if isinstance(kind, type) and not issubclass(kind, Exception)
]
