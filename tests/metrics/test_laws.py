"""Weights, order and soft labels, for the functions and options beyond tests/test_common.py."""

import numpy as np
import pytest

from skcal import metrics
from tests.answers import list_numbers

DECOMPOSITION, CURVE = "calibration_decomposition", "calibration_sharpness_curve"
BOUNDS = "calibration_distance_bounds"
CANONICAL, KERNEL = "canonical_calibration_error", "kernel_calibration_error"
SKCE, UCME = "squared_kernel_calibration_error", "kernel_mean_embedding_error"
BINNED = {"estimator": "binned"}
KERNELS = [{"kernel": "gaussian"}, {"kernel": "epanechnikov"}]
TERMS = {"n_terms": 7, "random_state": 0, "squared": True}
SCORES = ("brier", "log")
POINTS = {"test_proba": [[0.2, 0.3, 0.5], [1, 0, 0]], "test_labels": [2, 0]}

ESTIMATORS = [*KERNELS, {"estimator": "isotonic"}, BINNED]
ESTIMATORS += [BINNED | {"strategy": strategy, "n_bins": 7} for strategy in ("quantile", "sweep")]
BINARY = [
    *((name, {}) for name in ("smooth_calibration_witness", "smooth_ece_curve")),
    *((BOUNDS, {"distance": name}) for name in ("true", "lower", "upper", "smooth")),
    *((SKCE, {"unbiased": unbiased}) for unbiased in (True, False)),
    *(("expected_calibration_error", {"strategy": name}) for name in ("quantile", "sweep")),
    *((KERNEL, TERMS | {"method": name}) for name in ("subsample", "fourier", "binning")),
    (KERNEL, KERNELS[0]),
    *((KERNEL, KERNELS[0] | TERMS | {"method": name}) for name in ("subsample", "fourier")),
]
EITHER = [
    *((DECOMPOSITION, {"loss": name} | kind) for name in SCORES for kind in ESTIMATORS),
    *((CURVE, {"loss": name} | kernel) for name in SCORES for kernel in KERNELS),
    *(("corp_decomposition", {"loss": name}) for name in SCORES),
]
VECTORS = [
    (CANONICAL, {"n_bins": 4}),
    (CANONICAL, {"strategy": "median_variance", "min_samples": 5}),
    (SKCE, KERNELS[0]),
    (SKCE, {"kernel": "euclidean", "unbiased": False, "label_kernel": np.diag([1, 2, 3])}),
    (UCME, POINTS),
]


def assert_same(name, found, expected):
    error = 1e-8 if name in (CURVE, "smooth_ece_curve") else 1e-12  # sums on grids
    for number, other in zip(list_numbers(found), list_numbers(expected), strict=True):
        np.testing.assert_allclose(number, other, rtol=0, atol=error)


@pytest.mark.parametrize(
    ("name", "options", "n_classes"),
    [*((*case, 2) for case in BINARY + EITHER), *((*case, 3) for case in EITHER + VECTORS)],
)
def test_weights_are_repetitions_and_order_is_nothing(rng, name, options, n_classes):
    """What has no weight is absent, be its divergence infinite."""
    for n in (60, 3000):
        function = getattr(metrics, name)
        proba = np.tile(rng.dirichlet(np.ones(n_classes), n // 2), (2, 1))  # with ties
        y, weights = rng.integers(0, n_classes, n), rng.integers(0, 3, n)
        proba[:2], y[:2], weights[:2] = np.eye(n_classes)[[0, 1]], [1, 0], 0
        proba = proba[:, 1] if n_classes == 2 else proba
        rows = rng.permutation(np.repeat(np.arange(n), weights))
        value = function(y, proba, sample_weight=weights, **options)
        assert_same(name, value, function(y[rows], proba[rows], **options))


@pytest.mark.parametrize(
    ("name", "options", "n_classes"),
    [*((*case, 2) for case in BINARY + EITHER), *((*case, 3) for case in VECTORS)],
)
def test_soft_labels_are_labels_in_their_proportion(rng, name, options, n_classes):
    function, n = getattr(metrics, name), 60
    counts = rng.multinomial(4, np.full(n_classes, 1 / n_classes), n)
    soft, proba = counts / 4, rng.multinomial(16, rng.dirichlet(np.ones(n_classes)), n) / 16
    if n_classes == 2:
        soft, proba = soft[:, 1], rng.uniform(0.05, 0.95, n).round(2)
    labels, rows = np.tile(np.arange(n_classes), n), np.repeat(proba, n_classes, axis=0)
    value = function(soft, proba, sample_weight=np.full(n, 4), **options)
    assert_same(name, value, function(labels, rows, sample_weight=counts.ravel(), **options))


@pytest.mark.parametrize(("name", "options"), EITHER + VECTORS[:3])
def test_labels_name_the_columns(rng, name, options):
    function, names = getattr(metrics, name), np.array(["d", "b", "c"])
    proba, y, order = rng.dirichlet([1, 1, 1], 60), rng.integers(0, 3, 60), [2, 0, 1]
    value = function(names[y], proba[:, order], labels=names[order], **options)
    assert_same(name, value, function(y, proba, **options))
    if (name, options) in EITHER:
        one = function(names[y], proba, labels=names, pos_label="c", **options)
        assert_same(name, one, function(y == 2, proba[:, 2], **options))
