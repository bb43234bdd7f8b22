"""Calibration measures: y_true and y_proba in, a float out.

`MEASURES` is the one table of measures: scorers, common tests and reports follow from its rows.
"""

from skcal._estimates._divergences import BregmanDivergence
from skcal.metrics import (
    _binned,
    _calibration_index,
    _canonical,
    _cumulative,
    _decision,
    _distance,
    _interval,
    _kernel,
    _smooth,
    _smooth_calibration,
    _squared_kernel,
)
from skcal.metrics._binned import (
    adaptive_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    squared_calibration_error,
)
from skcal.metrics._calibration_index import integrated_calibration_index
from skcal.metrics._canonical import canonical_calibration_error
from skcal.metrics._cumulative import (
    averaged_two_bin_calibration_error,
    cumulative_calibration_error,
)
from skcal.metrics._decision import (
    DecisionCalibrationWitness,
    ElementaryScoreCurve,
    NetBenefitCurve,
    decision_calibration_error,
    decision_calibration_witness,
    elementary_score_curve,
    net_benefit_curve,
)
from skcal.metrics._decomposition import (
    CORPDecomposition,
    Decomposition,
    calibration_decomposition,
    corp_decomposition,
)
from skcal.metrics._distance import lower_calibration_distance
from skcal.metrics._distance_bounds import Bounds, calibration_distance_bounds
from skcal.metrics._interval import (
    interval_calibration_error,
    random_interval_calibration_error,
    surrogate_interval_calibration_error,
)
from skcal.metrics._kernel import kernel_calibration_error
from skcal.metrics._mean_multicalibration import mean_multicalibration_error
from skcal.metrics._multicalibration import multicalibration_error
from skcal.metrics._ordered import cumulative_predictions, ranked_probability_score
from skcal.metrics._risk_coverage import (
    RiskCoverageCurve,
    area_under_risk_coverage_curve,
    risk_coverage_curve,
)
from skcal.metrics._sharpness_curve import (
    CalibrationSharpnessCurve,
    calibration_sharpness_curve,
)
from skcal.metrics._smooth import SmoothECECurve, smooth_ece, smooth_ece_curve
from skcal.metrics._smooth_calibration import (
    SmoothCalibrationWitness,
    smooth_calibration_error,
    smooth_calibration_witness,
)
from skcal.metrics._squared_kernel import (
    kernel_mean_embedding_error,
    squared_kernel_calibration_error,
)
from skcal.metrics._top_k import ReducedPredictions, top_k_predictions

#: Every measure by its name. A row has this ``name`` and the ``function``; ``reduces`` says whether
#: that takes `reduction`, and otherwise reads whole vectors of probabilities; ``is_signed`` whether
#: it is an unbiased estimate of a square, which may be negative and tells nothing of a single row.
MEASURES = {
    row.name: row
    for row in (
        _binned.ExpectedCalibrationError,
        _binned.MaximumCalibrationError,
        _binned.AdaptiveCalibrationError,
        _binned.SquaredCalibrationError,
        _smooth.SmoothECE,
        _smooth_calibration.SmoothCalibrationError,
        _distance.LowerCalibrationDistance,
        _interval.IntervalCalibrationError,
        _interval.RandomIntervalCalibrationError,
        _interval.SurrogateIntervalCalibrationError,
        _kernel.KernelCalibrationError,
        _cumulative.CumulativeCalibrationError,
        _cumulative.AveragedTwoBinCalibrationError,
        _calibration_index.IntegratedCalibrationIndex,
        _decision.DecisionCalibrationError,
        _canonical.CanonicalCalibrationError,
        _squared_kernel.SquaredKernelCalibrationError,
    )
}

__all__ = [
    "MEASURES",
    "Bounds",
    "BregmanDivergence",
    "CORPDecomposition",
    "CalibrationSharpnessCurve",
    "DecisionCalibrationWitness",
    "Decomposition",
    "ElementaryScoreCurve",
    "NetBenefitCurve",
    "ReducedPredictions",
    "RiskCoverageCurve",
    "SmoothCalibrationWitness",
    "SmoothECECurve",
    "adaptive_calibration_error",
    "area_under_risk_coverage_curve",
    "averaged_two_bin_calibration_error",
    "calibration_decomposition",
    "calibration_distance_bounds",
    "calibration_sharpness_curve",
    "canonical_calibration_error",
    "corp_decomposition",
    "cumulative_calibration_error",
    "cumulative_predictions",
    "decision_calibration_error",
    "decision_calibration_witness",
    "elementary_score_curve",
    "expected_calibration_error",
    "integrated_calibration_index",
    "interval_calibration_error",
    "kernel_calibration_error",
    "kernel_mean_embedding_error",
    "lower_calibration_distance",
    "maximum_calibration_error",
    "mean_multicalibration_error",
    "multicalibration_error",
    "net_benefit_curve",
    "random_interval_calibration_error",
    "ranked_probability_score",
    "risk_coverage_curve",
    "smooth_calibration_error",
    "smooth_calibration_witness",
    "smooth_ece",
    "smooth_ece_curve",
    "squared_calibration_error",
    "squared_kernel_calibration_error",
    "surrogate_interval_calibration_error",
    "top_k_predictions",
]
