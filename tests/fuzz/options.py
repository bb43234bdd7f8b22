"""Values of every option, most of them valid: the one place that knows them."""

import inspect

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from skcal.metrics import MEASURES
from skcal.scorers import get_scorer_names
from tests.fuzz.strategies import INSIDE, PROBABILITIES, mostly
from tests.recalibration.family import LOGIT_CLASSES

HUGE = np.finfo(float).max
PENALTY = mostly([0, 5e-324, 1e-3, 1.0, HUGE], [-1.0, np.inf, np.nan, "x"])
FLAG = mostly([True, False], ["x", 1])
LEVELS = st.lists(PROBABILITIES | INSIDE, max_size=3) | st.sampled_from(
    [0.5, [0.25, 0.5, 0.9], [[0.5]], "x", None, [np.nan]]
)
LAYERS = mostly(
    [("density", "band"), ("density", "band", "rug", "witness"), [], ["split_density"]],
    [["curve_width", "band"], ["curve_color"], "rug", ["x"], 1],
)

FLAGS = [
    "bin_width_penalty",
    "clinical",
    "fair",
    "greater_is_better",
    "monotone",
    "panels",
    "randomized",
    "squared",
    "unbiased",
]
PENALTIES = ["curvature_penalty", "diagonal_penalty", "intercept_penalty", "off_diagonal_penalty"]
PENALTIES += ["penalty", "ridge"]
# By name, and where a function has values of its own, by its name too.
OPTIONS = {
    "act": mostly([">", ">="], ["<", None]),
    **dict.fromkeys(FLAGS, FLAG),
    **dict.fromkeys(PENALTIES, PENALTY),
    "reference": mostly([None], [[0], 7.5]),
    "alpha": mostly([0.05, 0.5, 1e-300, np.nextafter(1, 0)], [0, 1, np.nan, "x"]),
    "agreement": mostly([0.9, 0.6, np.nextafter(1, 0)], [None, 0, 1.5, "x"]),
    **dict.fromkeys(["label_cost", "verdict_cost"], mostly([1.0, 1.0, 0.1], [None, 0, "x"])),
    "n_rows": mostly([None, 50, 10_000], [0, 1.5, "x"]),
    "proxy_weight": mostly(["auto", "auto", 0, 1, 0.5], ["x", None, np.inf, [1, 2]]),
    "sampling_probability": mostly([None, None, 0.5, 0.9, 1e-9], [0, 1.5, "x", [0.5]]),
    "at_most": mostly([0.05, 0.5, 1e-300, np.nextafter(1, 0)], [0, 1, np.nan, "x"]),
    "band": mostly(["wilson", "isotonic", "belt", "consistency", None], ["x"]),
    "bandwidth": mostly([None, 1e-6, 0.01, 0.1, 1.0, 1e3, HUGE], [0.0, -1.0, np.nan, "x"]),
    "chunk_size": mostly([100, 1, 7], [0, -1, 1.5, "x", None]),
    "batch": mostly(["rows", "whole", "dependent"], ["x", None]),
    "block_size": mostly([None, 2, 3, 1], [0, 2.0, np.sqrt]),
    "confidence_level": mostly([0.95, 0.5, 1e-9, np.nextafter(1, 0)], [0, 1, np.nan]),
    "clip": mostly([None, 1, 10.0, np.inf], [0.5, np.nan, "x"]),
    "curve": mostly(["local", "spline", "isotonic", "smooth"], ["x"]),
    "data": mostly(["external", "training"], ["internal"]),
    "debias": mostly([True, False], ["outcomes", "residuals", 1]),
    "squared_calibration_error.debias": mostly([True, "outcomes", "residuals"], ["both"]),
    "calibration_distance_bounds.distance": mostly(["true", "lower", "upper", "smooth"], ["x"]),
    "design_effect": mostly([1, 3.5, 1e-9, 1e10], [0, -1, HUGE, np.nan, "x"]),
    "deviation": mostly(["range", "max"], ["x"]),
    "distance": mostly(["total_variation", "cityblock", "squared_euclidean"], ["x", np.sqrt]),
    "effect": mostly(
        [{"slope": 0.2}, {"intercept": 3.0}, {"slope": 4.0, "intercept": -1.0}, np.sqrt, [0.5]],
        [{}, {"slope": 0}, {"intercept": np.nan}, {"x": 1}, "x", None, np.negative],
    ),
    "ensemble": mostly(["auto", True, False], ["x"]),
    "estimator": mostly(["kernel", "binned", "isotonic"], ["x"]),
    "fdr": mostly([0.1, 1e-300, np.nextafter(1, 0)], [0, 1, np.nan]),
    "functional": mostly(["mean", "quantile", "expectile", "interval"], ["median", None]),
    "level": mostly([0.5, 0.1, 1e-300, [0.5]], [0, 1, np.nan, "x", [0.2, 0.7]]),
    "fit_slope": FLAG,
    "features": mostly([None, [0], (1, 0), ["x"]], [[], "x", 0, [9], [True], [0, 0], [["x"]]]),
    "group_size": mostly([0.5, [0.1, 1.0]], [0, 1.5, [], [[0.5]], np.nan, "x"]),
    "independent": FLAG,
    "k": mostly([1, 2], [0, 9, 1.5, "x"]),
    "average": mostly(["auto", "probabilities", "log_odds"], ["x", None, 1]),
    "by_label": FLAG,
    "kernel": mostly(["gaussian", "epanechnikov"], ["box", 3]),
    "kernel_calibration_error.kernel": mostly(["laplace", "gaussian"], ["box"]),
    "area_under_risk_coverage_curve.kind": mostly(["selective", "excess", "generalized"], ["x"]),
    "kernel_bound": mostly([None, 1.0], [0, "x"]),
    "kind": mostly(["smooth", "nadaraya-watson", "isotonic", "binned"], ["x"]),
    "label_kernel": mostly([None, np.eye(2), np.eye(3)], [-np.eye(2), "white"]),
    "lag": mostly([1, 1, 2, 7], [0, 1.0, "x"]),
    "layers": LAYERS,
    # The default takes long.
    "learner": mostly(
        [KNeighborsRegressor(1), DecisionTreeRegressor(random_state=0)],
        [LogisticRegression(), DecisionTreeRegressor, "x"],
    ),
    "prior_rows": mostly([1e-6, 0.1, 5.0, HUGE], [0.0, -1.0, np.nan, "x"]),
    "levels": LEVELS,
    "ConformalQuantiles.levels": mostly(
        [(0.1, 0.5, 0.9), [5e-324, 1e-9, 0.2], [0.5, 0.75, np.nextafter(1, 0)]],
        [0.5, [0.1, 0.9], [0.5, 0.1, 0.9], [0.1, 0.5, 0.5], [0, 0.5, 1], "x", None, [np.nan] * 3],
    ),
    "library": mostly(["lightgbm", "xgboost"], ["catboost", None]),
    "loss": mostly(["brier", "log"], ["x", None]),
    "StandardDeviationScaling.loss": mostly(["log", "crps"], ["brier"]),
    "max_bins": mostly([None, 1, 4], [0, 0.5]),
    "mean": mostly([None, 0.1, [0.25, 0.75], {0: 0.5, 1: 0.5}], [0, [1, 2], "x", np.nan, {}]),
    "measure": mostly([*MEASURES], ["ece", None, len]),
    "memories": mostly([(None, 5000, 500), (1,), [None], (3, 2)], [(), (0,), (2, 2), "x", None]),
    "metric": mostly(
        ["accuracy", "confusion", "log_loss", "brier_score", "roc_auc", "net_benefit", "recall"],
        ["f1", None],
    ),
    "method": mostly(["auto", "exact", "grid"], ["x"]),
    "confidence_interval.method": mostly(
        ["auto", "cross-fit", "percentile", "basic", "bca"], ["x"]
    ),
    "confidence_interval_from_summary.method": mostly(["auto", "percentile", "basic"], ["bca"]),
    "CrossFitProba.method": mostly(["predict_proba", "decision_function"], ["x"]),
    "kernel_calibration_error.method": mostly(
        ["exact", "subsample", "fourier", "binning"], ["auto"]
    ),
    "squared_kernel_calibration_test.method": mostly(
        ["bootstrap", "block", "distribution-free"], ["x"]
    ),
    **dict.fromkeys(
        ["MulticalibratedClassifierCV.method", "MulticalibratedRegressorCV.method"],
        mostly(["scaling", "boosting"], ["x", None]),
    ),
    "min_proba": mostly([0.0, 5e-324, 0.01, np.nextafter(0.5, 0)], [0.5, -1.0, np.nan]),
    "alternative": mostly(["two-sided", "greater", "less"], ["x", None]),
    "abstain_label": mostly([None, None, 7, "?"], [1, "yes", [1], np.inf]),
    "adjust": mostly(["min-p", "holm"], ["x"]),
    "max_depth": mostly([1, 2, 3], [0, 1.0]),
    "max_groups": mostly([1000, 20], [0, "x"]),
    "key_names": mostly([None, None, ["key"]], ["key", ["a", "b"], [None]]),
    "min_samples": mostly([1, 2, 10], [0, "x"]),
    "multiclass": mostly(["one-vs-rest", "top-label"], ["x"]),
    "n_slices": mostly([1, 5, 99], [0, 2.0, None]),
    "n_groups": mostly([1, 3], [0, 2.0, "x"]),
    "n_bins": mostly([1, 2, 10, 15, 1000, "cube_root"], [0, 2.0, None, 2**63]),
    "n_cells": mostly([16, 1024], [17, 0, 2.0, None]),
    "n_knots": mostly([2, 6, 100], [1, 2.0, 2**63]),
    "n_points": mostly([2, 3, 21], [1, 2.0]),
    "n_resamples": mostly([9], [1, 2, 0, 2.0]),
    "n_terms": mostly([None, 1, 30], [0, 0.5]),
    "name": mostly([None, "a"], [["a"], ["a", "b"], 1, []]),
    "get_scorer.name": mostly(get_scorer_names(), ["neg_ece", "neg_log_loss", 1]),
    "norm": mostly([1, 2, 3.5, 1e6, np.inf], [0.5, np.nan]),
    "distribution_calibration_test.norm": mostly([1, 2, np.inf], [3, np.nan]),
    "pit_calibration_error.norm": mostly([1, 2, np.inf], [3, np.nan]),
    "on_invalid": mostly(["raise", "drop"], ["x"]),
    "parameters": mostly(["abm", "am", "ab"], ["x"]),
    "population": mostly([True, False, np.True_], [1, None, "x"]),
    **dict.fromkeys(
        ["prior", "prior_train"],
        mostly(
            [None, 0.1, [0.25, 0.75], {0: 0.5, 1: 0.5}, pd.Series({1: 0.25, 0: 0.75})],
            [0, [1, 2], "x", np.nan, {}, [[1]], pd.Series({1: 0.5, 2: 0.5})],
        ),
    ),
    "proportion": mostly(["quantile", "interval"], ["x"]),
    "promise": mostly(
        [None, *({"threshold": 0.5, "at_most": 0.1, "side": side} for side in ("above", "below"))],
        ["x", {}, {"threshold": np.inf, "at_most": 0.1}, (0.5, 0.1), {"above": {}}],
    ),
    "quantile": mostly([None, 0.5, 1, 1e-300], [0, 1.5, "x"]),
    "quantiles": LEVELS,
    "recalibrators": mostly(
        [None, ["temperature"], ["isotonic", "venn_abers"], ["confidence_replacement", "platt"]],
        [[], "platt", ["plat"], [None]],
    ),
    "random_state": mostly([0, 2**32 - 1], [-1, 2**32, 0.5, "x"]),
    "response": mostly(["std", "predict"], ["x", 1]),
    "response_params": mostly([None, {}], [{"x": 1}, [1]]),
    "response_method": mostly(["auto", "predict_proba"], ["decision_function", "x"]),
    "run_length": mostly([None, 2, 10**15], [1, 2.0, "x"]),
    "scale": mostly(["probability", "logit"], ["x", np.negative]),
    "multicalibration_error.scale": mostly(["probability", "noise", "share"], ["logit"]),
    "mean_multicalibration_error.scale": mostly(["target", "noise", "share"], ["logit"]),
    "estimate_performance.shift": mostly(["covariate", "label", "label"], ["x", None]),
    "side": mostly(["above", "below", "both"], ["x"]),
    "simultaneous": FLAG,
    "split_every": mostly([2, 3], [1, 0, 2.0]),
    "statistic": mostly([*MEASURES], ["mean"]),
    "audit_groups.statistic": mostly(["mean", "slope", "kuiper"], ["x"]),
    "audit_mean_groups.statistic": mostly(["mean", "slope", "kuiper"], ["x"]),
    "strategy": mostly(["uniform", "quantile"], ["sweep", "equal"]),
    "expected_calibration_error.strategy": mostly(["uniform", "quantile", "sweep"], ["equal"]),
    "canonical_calibration_error.strategy": mostly(["uniform", "median_variance"], ["sweep"]),
    "target_bandwidth": mostly([1.0, 1e-5, 1e5, 1e-50, 1e300], [0.0, -1.0, np.inf, "x"]),
    "target_smoothing": FLAG,
    "threshold": mostly([None, None, 0.5, 1e-300, np.nextafter(1, 0)], [0, 1, np.nan, "x"]),
    "thresholds": mostly([None, [0.5], [0.25, 0.5, 0.9]], [[], 0.5, [1.5], "x", [np.nan]]),
    "murphy_curve.thresholds": mostly([None, [0.5], [-3, 1e99, 0]], [[], 0.5, "x", [np.nan]]),
    "tol": mostly([1e-3, 0.1], [0, 2]),
    "tolerance": mostly([0.05, 0.5], [0, "x"]),
    **dict.fromkeys(
        ["corp_regression_decomposition.power", "mean_recalibration.power"],
        mostly([0, 0, 1, 1.5, 2], [0.5, -1, "x", np.nan]),
    ),
    "link": mostly(["auto", "log", "identity"], ["logit", None]),
    **dict.fromkeys(
        ["MeanScaling.power", "AutoMeans.power", "MulticalibratedRegressorCV.power"],
        mostly([1, 1.5, 2], [0.5, 3, "x", np.nan]),
    ),
    **dict.fromkeys(["AutoMeans.cv", "AutoEnsemble.cv"], mostly([2, 5, None], [1, "x", 2.5])),
    "IsotonicMeans.prior_rows": mostly([0, 1e-300, 5.0, HUGE], [-1.0, np.nan, "x"]),
    "power": mostly([0.8, 0.5, np.nextafter(1, 0)], [0.01, 1, "x"]),
    "quantity": mostly(
        ["slope", "calibration_in_the_large", "observed_expected_ratio"], ["intercept"]
    ),
    "required_samples.statistic": mostly(["cox", "omnibus", "expected_calibration_error"], ["x"]),
    "width": mostly([0.1, 1.0, 0.7, 1e-6], [0, 2]),
}
EDGES = [[0, 0.25, 1], np.array([0, 5e-324, 0.5, 1]), [0.0, 1.0]]
NO_EDGES = [[0, 1, 1], [0.5, 1], [], [0, np.nan, 1], ["x"], [[0, 1]]]
WITH_EDGES = ["expected_calibration_error", "maximum_calibration_error", "HistogramBinning"]
WITH_EDGES += ["squared_calibration_error", "calibration_decomposition", "consistency_band"]
for name in [*WITH_EDGES, "hosmer_lemeshow_test"]:
    OPTIONS[f"{name}.n_bins"] = mostly([1, 2, 15, 1000, "cube_root", *EDGES], [0, None, *NO_EDGES])
for name in ("internal_validation", "internal_survival_validation"):
    OPTIONS[f"{name}.method"] = mostly(["auto", "optimism", "cv"], ["x", None])
OPTIONS["measures"] = mostly([["brier_score"], ["brier_score", "smooth_ece"]], [[], "x", [3]])
OPTIONS["stability"] = mostly([True, False], ["x"])
OPTIONS["stratify"] = mostly([None], ["x", [0]])
# Bins of monitors have no rule for their number; a tolerance is one of log odds.
for name in ("CalibrationMonitor", "GroupedMonitor"):
    OPTIONS[f"{name}.n_bins"] = mostly([1, 10, 1000], [0, "cube_root", 2.0, 1001])
    OPTIONS[f"{name}.tolerance"] = mostly([0.0, 0.1, 5e-324, 2.99], [-1, 3, np.nan, "x"])
# Functions with a kernel on predictions, of classes or of distributions.
OF_CLASSES = ["squared_kernel_calibration_error", "kernel_mean_embedding_error"]
OF_CLASSES += ["squared_kernel_calibration_test", "kernel_mean_embedding_test"]
for name in OF_CLASSES:
    kernels = ["total_variation", "euclidean", "gaussian"]
    OPTIONS[f"{name}.kernel"] = mostly(kernels, ["box", np.add.outer, 3])
for name in ("distribution_kernel_calibration_error", "distribution_kernel_mean_embedding_error"):
    OPTIONS[f"{name}.kernel"] = mostly(["wasserstein"], ["box", np.add.outer, 3])
# The floor of scores may be learned, that of answers may not.
FLOOR = mostly(["auto", 0.0, 5e-324, 0.01, 0.3], [0.5, -1.0, np.nan, "x"])
for R in LOGIT_CLASSES:
    OPTIONS[f"{R.__name__}.min_proba"] = FLOOR


def find_values(owner, name):
    """Values of an option of a function or class, or None where it is not known."""
    return OPTIONS.get(f"{owner.__name__}.{name}", OPTIONS.get(name))


@st.composite
def options(draw, owner, skip=(), **fixed):
    """Some options of a function or class; others keep their defaults, and some are fixed."""
    parameters = inspect.signature(owner).parameters
    found = {name: value for name, value in fixed.items() if name in parameters}
    for name, parameter in parameters.items():
        values = None if name in skip or name in fixed else find_values(owner, name)
        is_needed = parameter.default is parameter.empty
        if values is not None and (is_needed or draw(st.booleans())):
            found[name] = draw(values)
    return found
