"""Predicted means, quantiles, ensembles and distributions: measures, tests and repairs."""

from skcal._input._predicted._distributions import Mixture, MultivariateNormal
from skcal._input._predicted._points import Ensemble, Quantiles
from skcal.regression._adversarial_groups import (
    AdversarialGroupCurve,
    adversarial_group_calibration,
)
from skcal.regression._auto_ensemble import AutoEnsemble
from skcal.regression._auto_means import AutoMeans
from skcal.regression._base_regression import NotPredictionsError
from skcal.regression._concentration import (
    ConcentrationCurve,
    area_between_curves,
    concentration_curve,
)
from skcal.regression._conformal_interval import ConformalInterval
from skcal.regression._conformal_quantiles import ConformalQuantiles
from skcal.regression._coverage import (
    expected_normalized_calibration_error,
    interval_coverage,
    quantile_calibration_error,
)
from skcal.regression._decomposition import (
    FunctionalCurve,
    corp_regression_curve,
    corp_regression_decomposition,
)
from skcal.regression._distribution_decomposition import corp_distribution_decomposition
from skcal.regression._distribution_kernel import (
    distribution_kernel_calibration_error,
    distribution_kernel_mean_embedding_error,
)
from skcal.regression._distribution_test import distribution_calibration_test
from skcal.regression._ensemble_scaling import EnsembleScaling
from skcal.regression._forecast_bias import forecast_bias
from skcal.regression._interval_scores import (
    IntervalScoreDecomposition,
    interval_score,
    interval_score_decomposition,
    weighted_interval_score,
    weighted_interval_score_decomposition,
)
from skcal.regression._isotonic_distributional import IsotonicDistributionalRegression
from skcal.regression._isotonic_means import IsotonicMeans
from skcal.regression._mean_scaling import MeanScaling
from skcal.regression._multicalibrated_regressor import PARTS as _PARTS
from skcal.regression._multicalibrated_regressor import MulticalibratedRegressorCV
from skcal.regression._murphy import MurphyCurve, murphy_curve
from skcal.regression._pit import (
    miscalibration_area,
    pit_calibration_error,
    probability_integral_transform,
)
from skcal.regression._predictive_scores import (
    continuous_ranked_probability_score,
    pinball_loss,
)
from skcal.regression._quantile_recalibration import QuantileRecalibration
from skcal.regression._recalibrated_regressor import RecalibratedRegressorCV
from skcal.regression._standard_deviation_scaling import StandardDeviationScaling

__all__ = [
    "TRUSTED_TYPES",
    "AdversarialGroupCurve",
    "AutoEnsemble",
    "AutoMeans",
    "ConcentrationCurve",
    "ConformalInterval",
    "ConformalQuantiles",
    "Ensemble",
    "EnsembleScaling",
    "FunctionalCurve",
    "IntervalScoreDecomposition",
    "IsotonicDistributionalRegression",
    "IsotonicMeans",
    "MeanScaling",
    "Mixture",
    "MulticalibratedRegressorCV",
    "MultivariateNormal",
    "MurphyCurve",
    "NotPredictionsError",
    "QuantileRecalibration",
    "Quantiles",
    "RecalibratedRegressorCV",
    "StandardDeviationScaling",
    "adversarial_group_calibration",
    "area_between_curves",
    "concentration_curve",
    "continuous_ranked_probability_score",
    "corp_distribution_decomposition",
    "corp_regression_curve",
    "corp_regression_decomposition",
    "distribution_calibration_test",
    "distribution_kernel_calibration_error",
    "distribution_kernel_mean_embedding_error",
    "expected_normalized_calibration_error",
    "forecast_bias",
    "interval_coverage",
    "interval_score",
    "interval_score_decomposition",
    "miscalibration_area",
    "murphy_curve",
    "pinball_loss",
    "pit_calibration_error",
    "probability_integral_transform",
    "quantile_calibration_error",
    "weighted_interval_score",
    "weighted_interval_score_decomposition",
]

#: Full names of all types of skcal that a saved recalibrator of a regressor, or a recalibrated
#: regressor, may hold beside those of `skcal.recalibration.TRUSTED_TYPES`.
TRUSTED_TYPES = [
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (*map(globals().get, __all__), *_PARTS)
    if isinstance(kind, type) and not issubclass(kind, Exception)
]
