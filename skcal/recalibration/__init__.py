"""Recalibrators: class scores or predictions of regressors in, calibrated ones out."""

from skcal.recalibration._auto import AutoRecalibration
from skcal.recalibration._auto_ensemble import AutoEnsemble
from skcal.recalibration._auto_means import AutoMeans
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._base_regression import NotPredictionsError
from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._class_scores import NotClassScoresError
from skcal.recalibration._conformal_interval import ConformalInterval
from skcal.recalibration._conformal_quantiles import ConformalQuantiles
from skcal.recalibration._cross_fit_proba import CrossFitProba
from skcal.recalibration._dirichlet import DirichletCalibration
from skcal.recalibration._ensemble_scaling import EnsembleScaling
from skcal.recalibration._fitted import FITTED as _FITTED
from skcal.recalibration._histogram import HistogramBinning
from skcal.recalibration._isotonic import IsotonicRecalibration
from skcal.recalibration._isotonic_distributional import IsotonicDistributionalRegression
from skcal.recalibration._isotonic_means import IsotonicMeans
from skcal.recalibration._kernel import KernelRecalibration
from skcal.recalibration._matrix_scaling import MatrixScaling
from skcal.recalibration._mean_replacement import MeanReplacement
from skcal.recalibration._mean_scaling import MeanScaling
from skcal.recalibration._multicalibrated_classifier import PARTS as _PARTS
from skcal.recalibration._multicalibrated_classifier import MulticalibratedClassifierCV
from skcal.recalibration._multicalibrated_regressor import PARTS as _MEAN_PARTS
from skcal.recalibration._multicalibrated_regressor import MulticalibratedRegressorCV
from skcal.recalibration._names import get_recalibrator, get_recalibrator_names
from skcal.recalibration._platt_scaling import PlattScaling
from skcal.recalibration._quadratic_scaling import QuadraticScaling
from skcal.recalibration._quantile_recalibration import QuantileRecalibration
from skcal.recalibration._randomized_smoothing import RandomizedSmoothing
from skcal.recalibration._recalibrated_classifier import RecalibratedClassifierCV
from skcal.recalibration._recalibrated_regressor import RecalibratedRegressorCV
from skcal.recalibration._scaling_binning import ScalingBinning
from skcal.recalibration._spline import SplineRecalibration
from skcal.recalibration._standard_deviation_scaling import StandardDeviationScaling
from skcal.recalibration._structured_matrix_scaling import StructuredMatrixScaling
from skcal.recalibration._structured_vector_scaling import StructuredVectorScaling
from skcal.recalibration._temperature import TemperatureScaling
from skcal.recalibration._vector_scaling import VectorScaling
from skcal.recalibration._venn_abers import VennAbers

__all__ = [
    "TRUSTED_TYPES",
    "AutoEnsemble",
    "AutoMeans",
    "AutoRecalibration",
    "BaseRecalibrator",
    "BetaCalibration",
    "ConformalInterval",
    "ConformalQuantiles",
    "CrossFitProba",
    "DirichletCalibration",
    "EnsembleScaling",
    "HistogramBinning",
    "IsotonicDistributionalRegression",
    "IsotonicMeans",
    "IsotonicRecalibration",
    "KernelRecalibration",
    "MatrixScaling",
    "MeanReplacement",
    "MeanScaling",
    "MulticalibratedClassifierCV",
    "MulticalibratedRegressorCV",
    "NotClassScoresError",
    "NotPredictionsError",
    "PlattScaling",
    "QuadraticScaling",
    "QuantileRecalibration",
    "RandomizedSmoothing",
    "RecalibratedClassifierCV",
    "RecalibratedRegressorCV",
    "ScalingBinning",
    "SplineRecalibration",
    "StandardDeviationScaling",
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
    for kind in (*map(globals().get, __all__), *_FITTED, *_PARTS, *_MEAN_PARTS)
    if isinstance(kind, type) and not issubclass(kind, Exception)
]
