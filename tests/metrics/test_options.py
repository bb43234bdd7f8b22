"""Options that no function takes: each is refused before anything is computed, with its name."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal import metrics

TWO = {"y_true": [0, 1], "y_proba": [0.2, 0.7]}
FOUR = {
    "y_true": [0, 1, 2, 2],
    "y_proba": [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]],
}
CLASSES = {"y_true": [0, 1, 2], "y_proba": np.eye(3)}
LAWS = {"y_true": [0.0, 1.0, 2.0], "distribution": norm([0, 1, 2], 1)}
SPREADS = {"y_true": [0.0, 1.0, 2.0], "y_pred": [0.0, 1.0, 1.0], "y_std": [1.0, 2.0, 3.0]}
LEVELS = {"y_true": [0.0, 1.0, 2.0], "y_quantiles": [[0.0, 1.0]] * 3, "quantiles": [0.2, 0.8]}
POINT = {"test_proba": [[0.5, 0.3, 0.2]], "test_labels": [0]}

# Of each function its arguments, and what is changed in them.
BAD = {
    "expected_calibration_error": (
        TWO,
        [
            ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
            ({"strategy": "quantiles"}, "Did you mean 'quantile'"),
            (
                {"strategy": "quantile", "sample_weight": [0.5, 0.5]},
                r"sample_weight as counts.* 1\.",
            ),
            ({"bin_width_penalty": "yes"}, "bin_width_penalty must be True or False; got 'yes'"),
            ({"bin_width_penalty": True, "norm": 2}, "bin_width_penalty needs norm=1"),
            ({"norm": 0.5}, "norm must be at least 1; got 0.5"),
        ],
    ),
    "adaptive_calibration_error": (TWO, [({"n_bins": 2.5}, "n_bins must be an integer; got 2.5")]),
    "squared_calibration_error": (
        TWO,
        [
            ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
            ({"strategy": "equal"}, "strategy must be one of"),
            ({"debias": "residual"}, "Did you mean 'residuals'"),
        ],
    ),
    "smooth_ece": (
        TWO,
        [
            ({"bandwidth": 1e-7}, "bandwidth must be at least"),
            ({"bandwidth": np.inf}, "bandwidth must be at least"),
            ({"scale": "logits"}, "Did you mean 'logit'"),
            ({"scale": np.negative}, "scale must be an increasing function"),
            ({"scale": np.zeros_like}, "scale must be an increasing function"),
            (
                {"scale": lambda v: np.where(v > 0.5, np.nan, v)},
                "scale must map .* NaN or infinity",
            ),
            ({"scale": lambda v: v[:1]}, "scale must map an array of predictions"),
            # Scales too wide to resolve.
            ({"scale": lambda v: 1e8 * v}, "over a range above 100; got 5e"),
            ({"scale": "logit", "bandwidth": 1e-5}, "must be at least 1e-5 times the range"),
        ],
    ),
    "smooth_ece_curve": (
        TWO,
        [
            ({"bandwidth": 0}, "bandwidth must be"),
            ({"bandwidth": 100, "scale": "logit"}, "bandwidth must be"),
            ({"n_points": 1}, "n_points must be at least 2; got 1"),
            ({"scale": np.sqrt}, "scale must be one of 'probability', 'logit'"),
            (CLASSES | {"reduction": "classwise"}, "must give one binary problem.*got 'classwise"),
        ],
    ),
    "smooth_calibration_error": (TWO, [({"method": "exakt"}, "method must be one of .*'exact'")]),
    "smooth_calibration_bounds": (TWO, [({"method": "exakt"}, "method must be one of .*'exact'")]),
    "smooth_calibration_witness": (
        CLASSES,
        [({"reduction": "classwise"}, "reduction must give one binary problem.*'classwise")],
    ),
    "lower_calibration_distance": (TWO, [({"tol": 9e-6}, "tol must be")]),
    "lower_calibration_bounds": (TWO, [({"tol": 0}, "tol must be")]),
    "calibration_distance_bounds": (TWO, [({"tol": np.inf}, "tol must be")]),
    "random_interval_calibration_error": (TWO, [({"width": 1e-16}, "width must be")]),
    "cumulative_calibration_error": (
        TWO,
        [({"deviation": "maximum"}, "deviation must be one of 'range', 'max'; got 'maximum'")],
    ),
    "kernel_calibration_error": (
        TWO,
        [
            ({"kernel": "gauss"}, "kernel must be one of 'laplace', 'gaussian'; got 'gauss'"),
            ({"method": "exactly"}, r"method must be one of .* Did you mean 'exact'\?"),
            ({"method": "binning", "kernel": "gaussian"}, '"binning" needs kernel="laplace"'),
            ({"bandwidth": 0}, "bandwidth must be at least 1e-05 and finite; got 0"),
            ({"squared": "yes"}, "squared must be True or False; got 'yes'"),
            ({"n_terms": 0}, "n_terms must be at least 1; got 0"),
            ({"random_state": "three"}, "random_state must be None, an integer"),
        ],
    ),
    "canonical_calibration_error": (
        FOUR,
        [
            ({"strategy": "quantile"}, "strategy must be one of 'uniform', 'median_variance'"),
            ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
            ({"min_samples": 0}, "min_samples must be at least 1; got 0"),
            ({"max_bins": 0}, "max_bins must be at least 1; got 0"),
            ({"distance": "total"}, "distance must be one of .* Did you mean 'total_variation'"),
            ({"distance": lambda p, q: -1.0}, r"finite, non-negative number; got -1\.0"),
            ({"distance": lambda p, q: np.inf}, "finite, non-negative number; got inf"),
            ({"distance": lambda p, q: p - q}, "distance must return .* got array"),
            ({"strategy": "median_variance"}, r"at least min_samples=10 rows.*; got 4\."),
            (
                {"strategy": "median_variance", "sample_weight": [0.25] * 4},
                r"min_samples=10 rows.*; got weights that sum to 1\.",
            ),
        ],
    ),
    "squared_kernel_calibration_error": (
        FOUR,
        [
            ({"kernel": "tv"}, "kernel must be one of 'total_variation', 'euclidean', 'gaussian'"),
            ({"kernel": 3}, "kernel must be one of .* or a function of two arrays of rows; got 3"),
            (
                {"kernel": lambda a, b: np.ones((len(a), len(b) - 1))},
                r"kernel must return a matrix of shape \(4, 4\) .* shape \(4, 3\)",
            ),
            ({"kernel": lambda a, b: 1j * (a @ b.T)}, "The value of kernel must hold real numbers"),
            ({"kernel": lambda a, b: np.full((4, 4), np.nan)}, "kernel must return finite values"),
            (
                {"kernel": lambda a, b: np.exp(a[:, :1] - b[:, 0])},
                "kernel must give a symmetric matrix .* got .* and .* for a pair of rows",
            ),
            ({"bandwidth": 0}, "bandwidth must be at least 1e-05 and finite; got 0"),
            ({"bandwidth": "mean"}, "bandwidth must be one of 'median'"),
            ({"unbiased": "biased"}, "unbiased must be True or False"),
            ({"block_size": 1}, "block_size must be at least 2; got 1"),
            ({"block_size": 0, "unbiased": False}, "block_size must be at least 1; got 0"),
            ({"block_size": 5}, "block_size must be at most 4, .*; got 5"),
            ({"block_size": lambda n: n + 1}, r"block_size\(n\) must be at most 4, .*; got 5"),
            ({"block_size": lambda n: n / 2}, r"block_size\(n\) must be an integer; got 2.0"),
            ({"block_size": 4, "sample_weight": [1, 1, 1, 0.9]}, "block_size must be at most 3"),
            ({"label_kernel": np.eye(2)}, r"must have shape \(3, 3\).* got shape \(2, 2\)"),
            ({"label_kernel": np.ma.array(np.eye(3), mask=np.eye(3))}, "label_kernel must"),
            ({"label_kernel": np.full((3, 3), np.inf)}, "label_kernel must be finite"),
            ({"label_kernel": np.triu(np.ones((3, 3)))}, "label_kernel must be symmetric"),
            (
                {"label_kernel": np.diag([1.0, 1.0, -0.5])},
                "label_kernel must be positive semidefinite; .* eigenvalue -0.5",
            ),
        ],
    ),
    "calibration_mean_embedding_error": (
        CLASSES | POINT,
        [
            ({"test_proba": [[0.5, 0.5]]}, "as many columns as the rows, 3; got 2"),
            ({"test_proba": [0.5]}, "test_proba must have as many columns as the rows, 3; got 1"),
            ({"test_proba": [[0.5, 0.3, 0.3]]}, "Rows of test_proba must sum to 1"),
            ({"test_labels": [0, 1]}, "test_labels and test_proba must have the same length"),
            ({"test_labels": [3]}, "test_labels has labels that no column of test_proba"),
            (
                {"test_proba": np.empty((0, 3)), "test_labels": []},
                "test_proba must hold at least one row",
            ),
        ],
    ),
    "calibration_decomposition": (
        TWO,
        [
            ({"divergence": "briar"}, "divergence must be .* Did you mean 'brier'"),
            ({"divergence": np.square}, "divergence must be 'brier', 'log' or a BregmanDiverg"),
            ({"estimator": "kernels"}, "estimator must be .* Did you mean 'kernel'"),
            ({"kernel": "box"}, "kernel must be one of 'gaussian', 'epanechnikov'; got 'box'"),
            ({"bandwidth": 0}, "bandwidth must be at least 0.001 and finite; got 0"),
            ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
            ({"strategy": "equal"}, "strategy must be one of"),
        ],
    ),
    "calibration_sharpness_curve": (
        TWO,
        [
            ({"divergence": "briar"}, "divergence must be one of .* Did you mean 'brier'"),
            ({"kernel": "gauss"}, "kernel must be one of .* Did you mean 'gaussian'"),
            ({"bandwidth": np.inf}, "bandwidth must be at least 0.001 and finite; got inf"),
            ({"n_points": 1}, "n_points must be at least 2; got 1"),
        ],
    ),
    "corp_decomposition": (
        TWO,
        [({"score": "crps"}, "score must be one of 'brier', 'log'; got 'crps'")],
    ),
    "distribution_kernel_calibration_error": (
        LAWS,
        [
            ({"bandwidth": 0}, "^bandwidth must be at least"),
            ({"target_bandwidth": -1.0}, "^target_bandwidth must be at least"),
            ({"unbiased": "exact"}, "^unbiased must be True or False"),
            ({"kernel": "waserstein"}, "Did you mean 'wasserstein'"),
            ({"kernel": 3}, "^kernel must be 'wasserstein' or a function"),
            (
                {"kernel": lambda a, b: np.ones(3)},
                r"^kernel must return a matrix of shape \(3, 3\)",
            ),
            ({"kernel": lambda a, b: np.tri(3)}, "^kernel must give a symmetric matrix"),
            ({"block_size": 1}, "^block_size must be at least 2; got 1"),
            ({"block_size": 3, "sample_weight": [1, 0, 1]}, "^block_size must be at most 2"),
            ({"sample_weight": [1, 1]}, "^sample_weight must have shape"),
        ],
    ),
    "interval_coverage": (
        LAWS,
        [
            ({"levels": [0.5, 1.0]}, r"must lie strictly between 0 and 1; got \[0.5, 1.0\]"),
            ({"levels": [0.0]}, "levels must lie strictly between 0 and 1"),
            ({"levels": [np.nan]}, "levels must lie strictly between 0 and 1"),
            ({"levels": []}, "levels must be one-dimensional, with at least one level"),
            ({"levels": [[0.5]]}, r"levels must be one-dimensional.*; got shape \(1, 1\)"),
            ({"levels": "95%"}, "levels must hold real numbers"),
            ({"sample_weight": [1, -1, 1]}, "sample_weight must be finite and not negative"),
        ],
    ),
    "miscalibration_area": (
        LAWS,
        [
            ({"proportion": "quantiles"}, "proportion must be one of .* Did you mean 'quantile'"),
            ({"sample_weight": [0, 0, 0]}, "sample_weight must hold at least one positive weight"),
        ],
    ),
    "expected_normalized_calibration_error": (
        SPREADS,
        [
            ({"y_std": [1.0, 0.0, 1.0]}, "y_std must be positive; got 0.0 at row 1"),
            (
                {"y_std": [1.0, 1e-200, 1.0], "y_pred": [0.0, 2.0, 2.0]},
                r"y_true must lie within 1e\+100 standard deviations .* got 1e\+200 at row 1",
            ),
            ({"y_pred": [0, -1.7e308, 2], "y_true": [0, 1.7e308, 2]}, "got inf at row 1"),
            ({"y_std": [1.0, 1.0]}, "y_true and y_std must have the same length; got 3 and 2"),
            ({"y_std": 1.0}, "y_std must be one-dimensional"),
            ({"y_pred": [1.0]}, "y_true and y_pred must have the same length; got 3 and 1"),
            ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
            ({"sample_weight": [0.2, 0.2, 0.2]}, "read sample_weight as counts.* got 0.6"),
        ],
    ),
    "quantile_calibration_error": (
        LEVELS,
        [
            ({"quantiles": [0.5]}, r"y_quantiles must have shape \(3, 1\).*; got \(3, 2\)"),
            ({"quantiles": [0.5, 0.5]}, r"quantiles must be distinct; got \[0.5, 0.5\]"),
            ({"quantiles": [0.5, 95]}, "quantiles must lie strictly between 0 and 1"),
            ({"y_quantiles": [0, 1, 2]}, r"y_quantiles must have shape \(3, 2\).*; got \(3,\)"),
            ({"y_quantiles": [[0, 1], [0, np.nan], [0, 1]]}, "must not hold NaN; .* row 1"),
            ({"norm": 0.5}, "norm must be at least 1"),
            ({"sample_weight": [1, np.nan, 1]}, "sample_weight must be finite"),
        ],
    ),
}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [(name, *case) for name, (_, cases) in BAD.items() for case in cases],
)
def test_is_refused(name, change, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(**(BAD[name][0] | change))
