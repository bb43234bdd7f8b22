"""Options that no function takes: each is refused before anything is computed, with its name."""

import inspect

import numpy as np
import pytest
from scipy.stats import norm

from skcal import metrics, refinement, regression

TWO = {"y_true": [0, 1], "y_proba": [0.2, 0.7]}
FOUR = {
    "y_true": [0, 1, 2, 2],
    "y_proba": [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]],
}
CLASSES = {"y_true": [0, 1, 2], "y_proba": np.eye(3)}
GIVEN = TWO | {
    "test_proba": [0.5],
    "test_labels": [0],
    "distribution": norm(),
    "test_distribution": norm(),
    "test_targets": [0.0],
    "y_pred": [0.0, 1.0],
    "y_std": [1.0, 2.0],
    "y_quantiles": [0.0, 1.0],
    "y_interval": [[0.0, 1.0]] * 2,
    "groups": [0, 1],
    "quantiles": [0.2],
}
# A value of each option that no function takes.
BAD = {
    "act": (">>", "must be one of '>', '>='; got '>>'"),
    "bandwidth": (np.inf, "must be at least .* and finite|must be at least .* below"),
    "bin_width_penalty": ("yes", "must be True or False; got 'yes'"),
    "block_size": (1, "must be at least 2; got 1"),
    "clusters": ([0], "must hold one label for each|must be None"),
    "curve": ("spline5", "must be one of .* Did you mean 'spline'.* It may be a function, too"),
    "debias": ("residual", "Did you mean 'residuals'"),
    "cv": (1, "must be at least 2; got 1"),
    "deviation": ("maximum", "must be one of 'range', 'max'; got 'maximum'"),
    "distance": ("total", "Did you mean 'total_variation'|must be one of 'true', .*'smooth'; got"),
    "estimator": ("kernels", "must be .* Did you mean 'kernel'"),
    "fair": ("yes", "must be True or False; got 'yes'"),
    "functional": ("median", "must be one of 'mean', .* got 'median'"),
    "group_size": (0.0, "must lie above 0 and up to 1; got"),
    "kernel": ("box", "must be one of"),
    "kind": ("excessive", "must be one of 'selective', .* Did you mean 'excess'"),
    "label_kernel": ("white", "must hold real numbers"),
    "level": ("95%", "must be a number|must hold real numbers"),
    "levels": ("95%", "must hold real numbers"),
    "loss": ("briar", "must be one of .* Did you mean 'brier'"),
    "max_bins": (0, "must be at least 1; got 0"),
    "max_depth": (0, "must be at least 1; got 0"),
    "max_groups": (0, "must be at least 1; got 0"),
    "method": ("exakt", "must be one of .* Did you mean 'exact'"),
    "min_samples": (0, "must be at least 1; got 0"),
    "n_bins": (0, "must be at least 1; got 0"),
    "n_groups": (0, "must be at least 1; got 0"),
    "n_points": (1, "must be at least 2; got 1"),
    "n_resamples": (0, "must be at least 1; got 0"),
    "n_terms": (0, "must be at least 1; got 0"),
    "power": (0.5, "must be 0 or at least 1; got 0.5"),
    "norm": (0.5, "must be at least 1; got 0.5"),
    "progress": ("yes", "must be a bool, a function or None; got 'yes'"),
    "proportion": ("quantiles", "must be one of .* Did you mean 'quantile'"),
    "quantile": (1.5, "must be above 0 and at most 1; got 1.5"),
    "quantiles": ("95%", "must hold real numbers"),
    "random_state": ("three", "must be None, an integer"),
    "randomized": ("yes", "must be True or False; got 'yes'"),
    "recalibrator": ("plat", "must be one of .* Did you mean 'platt'"),
    "reduction": (
        "class-wise",
        "Did you mean 'classwise'|must be one of 'auto', 'confidence'; got",
    ),
    "risk": ("miss", "must be 'error' or an array of losses; got 'miss'"),
    "sample_weight": ([1, -1], "must be finite and not negative"),
    "scale": (
        "logits",
        "Did you mean 'logit'|must be one of '(probability|target)', 'noise', 'share'",
    ),
    "squared": ("yes", "must be True or False; got 'yes'"),
    "strategy": ("equal", "must be one of"),
    "target_bandwidth": (-1.0, "must be at least"),
    "thresholds": ("10%", "must hold real numbers"),
    "tol": (9e-6, "must be at least"),
    "unbiased": ("biased", "must be True or False"),
    "width": (1e-16, "must be at least"),
}


DATA = ("pos_label", "labels", "y_std", "test_proba", "test_labels")
DATA += ("test_distribution", "test_targets")


def test_bad_values():
    found = vars(metrics) | vars(regression) | vars(refinement)
    drawn = {regression.distribution_calibration_test, refinement.recalibration_gain}
    for function in {*filter(inspect.isroutine, found.values())} - drawn:
        parameters = inspect.signature(function).parameters
        arguments = {key: given for key, given in GIVEN.items() if key in parameters}
        for option, parameter in parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and option not in DATA:
                value, message = BAD[option]
                with pytest.raises(ValueError, match=f"^{option}.* {message}"):
                    function(**(arguments | {option: value}))


# What one function alone refuses: the function and arguments that fit, those that do not, and what
# is said.
POINT = {"test_proba": [[0.5, 0.3, 0.2]], "test_labels": [0]}
LAWS = {"y_true": [0.0, 1.0, 2.0], "distribution": norm([0, 1, 2], 1)}
SPREADS = {"y_true": [0.0, 1.0, 2.0], "y_pred": [0.0, 1.0, 1.0], "y_std": [1.0, 2.0, 3.0]}
LEVELS = {"y_true": [0.0, 1.0, 2.0], "y_quantiles": [[0.0, 1.0]] * 3, "quantiles": [0.2, 0.8]}
ECE, SMOOTH = (metrics.expected_calibration_error, TWO), (metrics.smooth_ece, TWO)
CURVE, KERNEL = (metrics.smooth_ece_curve, TWO), (metrics.kernel_calibration_error, TWO)
WITNESS = metrics.smooth_calibration_witness, CLASSES
CANONICAL = metrics.canonical_calibration_error, FOUR
SKCE = metrics.squared_kernel_calibration_error, FOUR
UCME = metrics.kernel_mean_embedding_error, CLASSES | POINT
PARTS = metrics.calibration_decomposition, TWO
LAW = regression.distribution_kernel_calibration_error, LAWS
COVERAGE = regression.interval_coverage, LAWS
ENCE = regression.expected_normalized_calibration_error, SPREADS
QUANTILES = regression.quantile_calibration_error, LEVELS
SCORES, BENEFIT = (metrics.elementary_score_curve, TWO), (metrics.net_benefit_curve, TWO)
DECISION = metrics.decision_calibration_witness, CLASSES
MEDIAN, CLASSWISE = {"strategy": "median_variance"}, {"reduction": "classwise"}


def skip_last(rows, others):
    return np.ones((len(rows), len(others) - 1))


def has_nan(v):
    return np.where(v > 0.5, np.nan, v)


OWN = [
    (ECE, {"strategy": "quantile", "sample_weight": [0.5, 0.5]}, r"as counts.* 1\."),
    (ECE, {"bin_width_penalty": True, "norm": 2}, "bin_width_penalty must be False unless norm=1"),
    (SMOOTH, {"scale": np.negative}, "scale must be an increasing function"),
    (SMOOTH, {"scale": np.zeros_like}, "scale must be an increasing function"),
    (SMOOTH, {"scale": has_nan}, "scale must map .* NaN or infinity"),
    (SMOOTH, {"scale": lambda v: v[:1]}, "scale must map an array of predictions"),
    # Scales too wide to resolve.
    (SMOOTH, {"scale": lambda v: 1e8 * v}, "over a range above 100; got 5e"),
    (SMOOTH, {"scale": "logit", "bandwidth": 1e-5}, "must be at least 1e-5 times the range"),
    (CURVE, {"bandwidth": 100, "scale": "logit"}, "bandwidth must be"),
    (CURVE, {"scale": np.sqrt}, "scale must be one of 'probability', 'logit'"),
    (CURVE, CLASSES | CLASSWISE, "must give one binary problem.*got 'classwise"),
    (WITNESS, CLASSWISE, "reduction must give one binary problem.*'classwise"),
    (DECISION, CLASSWISE, "reduction must give one binary problem.*'classwise"),
    (SCORES, {"thresholds": [0.5, 1.5]}, r"thresholds must lie in \[0, 1\]; got 1.5"),
    (SCORES, {"thresholds": [np.nan]}, r"thresholds must lie in \[0, 1\]; got nan"),
    (SCORES, {"thresholds": []}, r"thresholds must be one-dimensional.*; got shape \(0,\)"),
    (BENEFIT, {"thresholds": [0.0]}, r"thresholds must lie strictly between 0 and 1; got 0\."),
    (BENEFIT, {"thresholds": 0.5}, r"thresholds must be one-dimensional.*; got shape \(\)"),
    (KERNEL, {"method": "binning", "kernel": "gaussian"}, '"binning" needs kernel="laplace"'),
    (CANONICAL, {"distance": lambda p, q: -1.0}, r"finite, non-negative number; got -1\.0"),
    (CANONICAL, {"distance": lambda p, q: np.inf}, "finite, non-negative number; got inf"),
    (CANONICAL, {"distance": lambda p, q: p - q}, "distance must return .* got array"),
    (CANONICAL, MEDIAN, r"at least min_samples=10 rows.*; got 4\."),
    (CANONICAL, MEDIAN | {"sample_weight": [0.25] * 4}, r"rows.*; got weights that sum to 1\."),
    (SKCE, {"kernel": 3}, "kernel must be one of .* or a function of two arrays of rows; got 3"),
    (SKCE, {"kernel": skip_last}, r"a matrix of shape \(4, 4\) .* shape \(4, 3\)"),
    (SKCE, {"kernel": lambda a, b: 1j * (a @ b.T)}, "The value of kernel must hold real numbers"),
    (SKCE, {"kernel": lambda a, b: np.full((4, 4), np.nan)}, "kernel must return finite values"),
    (SKCE, {"kernel": lambda a, b: np.exp(a[:, :1] - b[:, 0])}, "must .* symmetric .* for a pair"),
    (SKCE, {"bandwidth": "mean"}, "bandwidth must be one of 'median'"),
    (SKCE, {"block_size": 0, "unbiased": False}, "block_size must be at least 1; got 0"),
    (SKCE, {"block_size": 5}, "block_size must be at most 4, .*; got 5"),
    (SKCE, {"block_size": lambda n: n + 1}, r"block_size\(n\) must be at most 4, .*; got 5"),
    (SKCE, {"block_size": lambda n: n / 2}, r"block_size\(n\) must be an integer; got 2.0"),
    (SKCE, {"block_size": 4, "sample_weight": [1, 1, 1, 0.9]}, "block_size must be at most 3"),
    (SKCE, {"label_kernel": np.eye(2)}, r"must have shape \(3, 3\).* got shape \(2, 2\)"),
    (SKCE, {"label_kernel": np.ma.array(np.eye(3), mask=np.eye(3))}, "label_kernel must"),
    (SKCE, {"label_kernel": np.full((3, 3), np.inf)}, "label_kernel must be finite"),
    (SKCE, {"label_kernel": np.triu(np.ones((3, 3)))}, "label_kernel must be symmetric"),
    (SKCE, {"label_kernel": np.diag([1.0, 1.0, -0.5])}, "semidefinite; .* eigenvalue -0.5"),
    (UCME, {"test_proba": [[0.5, 0.5]]}, "as many columns as the rows, 3; got 2"),
    (UCME, {"test_proba": [0.5]}, "test_proba must have as many columns as the rows, 3; got 1"),
    (UCME, {"test_proba": [[0.5, 0.3, 0.3]]}, "Rows of test_proba must sum to 1"),
    (UCME, {"test_labels": [0, 1]}, "test_labels and test_proba must have the same length"),
    (UCME, {"test_labels": [3]}, "test_labels has labels that no column of test_proba"),
    (UCME, {"test_proba": np.empty((0, 3)), "test_labels": []}, "must hold at least one row"),
    (PARTS, {"loss": np.square}, "loss must be .* or a BregmanDiverg"),
    (LAW, {"kernel": "waserstein"}, "Did you mean 'wasserstein'"),
    (LAW, {"kernel": 3}, "^kernel must be 'wasserstein' or a function"),
    (LAW, {"kernel": lambda a, b: np.ones(3)}, r"^kernel must return .* \(3, 3\)"),
    (LAW, {"kernel": lambda a, b: np.tri(3)}, "^kernel must give a symmetric matrix"),
    (LAW, {"block_size": 3, "sample_weight": [1, 0, 1]}, "^block_size must be at most 2"),
    (COVERAGE, {"levels": [0.5, 1.0]}, r"must lie strictly between 0 and 1; got \[0.5, 1.0\]"),
    (COVERAGE, {"levels": [0.0]}, "levels must lie strictly between 0 and 1"),
    (COVERAGE, {"levels": []}, "levels must be one-dimensional, with at least one level"),
    (COVERAGE, {"levels": [[0.5]]}, r"levels must be one-dimensional.*; got shape \(1, 1\)"),
    (ENCE, {"y_std": [1.0, 0.0, 1.0]}, "y_std must be positive; got 0.0 at row 1"),
    (ENCE, {"y_std": [1, 1e-200, 1], "y_pred": [0, 2, 2]}, r"1e\+100 .* got 1e\+200 at row 1"),
    (ENCE, {"y_pred": [0, -1.7e308, 2], "y_true": [0, 1.7e308, 2]}, "got inf at row 1"),
    (ENCE, {"y_std": [1.0, 1.0]}, "y_true and y_std must have the same length; got 3 and 2"),
    (ENCE, {"y_std": 1.0}, "y_std must be one-dimensional"),
    (ENCE, {"y_pred": [1.0]}, "y_true and y_pred must have the same length; got 3 and 1"),
    (ENCE, {"sample_weight": [0.2, 0.2, 0.2]}, "read sample_weight as counts.* got 0.6"),
    (QUANTILES, {"quantiles": [0.5]}, r"y_quantiles must have shape \(3, 1\).*; got \(3, 2\)"),
    (QUANTILES, {"quantiles": [0.5, 0.5]}, r"quantiles must be distinct; got \[0.5, 0.5\]"),
    (QUANTILES, {"quantiles": [0.5, 95]}, "quantiles must lie strictly between 0 and 1"),
    (QUANTILES, {"y_quantiles": [0, 1, 2]}, r"y_quantiles must have shape \(3, 2\).*; got \(3,\)"),
    (QUANTILES, {"y_quantiles": [[0, 1], [0, np.nan], [0, 1]]}, "must not hold NaN; .* row 1"),
]


def test_what_does_not_fit():
    for call, change, message in OWN:
        function, arguments = call
        with pytest.raises(ValueError, match=message):
            function(**(arguments | change))


@pytest.mark.parametrize("bandwidth", [1e155, np.finfo(float).max])
def test_widest_bandwidths_leave_the_mean_residual(bandwidth):
    y, v = [0, 1, 1], [0.2, 0.7, 0.9]
    mean = np.mean(np.subtract(y, v))
    given = {"bandwidth": bandwidth}
    for scale in ("probability", "logit"):
        assert metrics.smooth_ece(y, v, scale=scale, **given) == pytest.approx(mean, rel=1e-9)
    curve = metrics.calibration_sharpness_curve(y, v, n_points=3, **given)
    np.testing.assert_allclose(curve.prob_true, 2 / 3)
    given |= {"kernel": "gaussian", "unbiased": False}
    square = metrics.squared_kernel_calibration_error(y, v, **given)
    assert square == pytest.approx(2 * mean**2)
