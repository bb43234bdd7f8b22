"""KernelRecalibration: the curve of the definition at the bandwidth of SmoothECE."""

import numpy as np
import pandas as pd
import pytest

from skcal._numerics._kernel_curve import TOLERANCE
from skcal.metrics import smooth_ece, smooth_ece_curve
from skcal.recalibration import KernelRecalibration
from tests.recalibration.family import make_scores
from tests.reference import reflected_kernel_sum


def regress_directly(points, values, outcomes, weights, bandwidth):
    return reflected_kernel_sum(
        points, values, weights * outcomes, bandwidth
    ) / reflected_kernel_sum(points, values, weights, bandwidth)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bandwidth_is_smooth_ece_of_each_class(n_classes):
    X, y = make_scores(n_classes)
    weights = np.random.default_rng(0).random(len(y))
    maps = KernelRecalibration().fit(X, y, sample_weight=weights).maps_
    for k, fitted in enumerate(maps, start=n_classes - len(maps)):
        value = smooth_ece(y == k, X[:, k], sample_weight=weights)
        assert value > 0.01
        assert fitted.bandwidth == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize("bandwidth", [None, 0.02, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_agree_with_direct_computation(bandwidth, weighted):
    X, y = make_scores(2)
    weights = np.random.default_rng(0).exponential(size=len(y)) if weighted else np.ones(len(y))
    fitted = KernelRecalibration(bandwidth=bandwidth).fit(
        X, y, sample_weight=weights if weighted else None
    )
    grid = np.linspace(0, 1, 5001)
    exact = regress_directly(grid, X[:, 1], y, weights, fitted.maps_[0].bandwidth)
    proba = fitted.predict_proba(np.column_stack([1 - grid, grid]))
    np.testing.assert_allclose(proba[:, 1], exact, rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(proba[:, 0], 1 - proba[:, 1])


def test_several_classes_are_mapped_one_against_the_rest_and_normalised():
    X, y = make_scores(3)
    fitted = KernelRecalibration().fit(X, y)
    parts = np.column_stack(
        [
            regress_directly(X[:, k], X[:, k], y == k, np.ones(len(y)), fitted.maps_[k].bandwidth)
            for k in range(3)
        ]
    )
    np.testing.assert_allclose(
        fitted.predict_proba(X),
        parts / parts.sum(axis=1, keepdims=True),
        rtol=0,
        atol=3 * TOLERANCE,
    )


@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.2])
def test_is_the_curve_that_the_measure_shows(bandwidth):
    X, y = make_scores(2)
    curve = smooth_ece_curve(y, X, bandwidth=bandwidth, n_points=301)
    proba = (
        KernelRecalibration(bandwidth=bandwidth)
        .fit(X, y)
        .predict_proba(np.column_stack([1 - curve.grid, curve.grid]))
    )
    np.testing.assert_allclose(proba[:, 1], curve.prob_true, rtol=0, atol=TOLERANCE + 1e-4)


@pytest.mark.parametrize("bandwidth", [0.001, 0.03])
def test_more_distinct_probabilities_than_are_kept(bandwidth):
    rng = np.random.default_rng(0)
    v = rng.beta(0.3, 0.3, 40_000)
    y = (rng.random(len(v)) < v).astype(int)
    fitted = KernelRecalibration(bandwidth=bandwidth).fit(v[:, None], y)
    points = np.concatenate([v[:50], [0, 1]])
    exact = regress_directly(points, v, y, np.ones(len(v)), bandwidth)
    np.testing.assert_allclose(
        fitted.transform(points[:, None]).ravel(), exact, rtol=0, atol=TOLERANCE + 1e-4
    )


def test_known_distortion_is_undone():
    """Outcomes of probability v^2: a large sample brings v to v^2."""
    rng = np.random.default_rng(0)
    v = rng.random(100_000)
    fitted = KernelRecalibration(bandwidth=0.02).fit(v[:, None], rng.random(len(v)) < v**2)
    points = np.linspace(0.05, 0.95, 19)
    # v^2 smoothed is v^2 + s^2; some 5000 rows lie within the kernel, one sigma is below .007.
    np.testing.assert_allclose(
        fitted.transform(points[:, None]).ravel(), points**2 + 0.02**2, rtol=0, atol=0.03
    )


def test_perfect_scores_keep_the_smallest_bandwidth_and_stay_inside():
    X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 5, axis=0)
    fitted = KernelRecalibration().fit(X, np.repeat([0, 1], 5))
    assert fitted.maps_[0].bandwidth == 0.001
    proba = fitted.predict_proba(X)
    assert proba.min() > 0
    assert proba.max() < 1
    np.testing.assert_allclose(proba, X, rtol=0, atol=1e-15)


def test_outcomes_that_cancel_within_ties_leave_the_scores_where_they_are():
    v = np.repeat([0.25, 0.75], 4)
    fitted = KernelRecalibration().fit(v[:, None], [0, 0, 0, 1, 0, 1, 1, 1])
    assert fitted.maps_[0].bandwidth == 0.001
    np.testing.assert_allclose(fitted.transform(v[:, None]).ravel(), v, rtol=1e-12)


@pytest.mark.parametrize(("label", "expected"), [(0, 2.2e-16), (1, 1 - 2.2e-16)])
def test_single_class_gives_its_label_and_stays_inside(label, expected):
    fitted = KernelRecalibration(classes=[0, 1]).fit([[0.2], [0.9]], [label, label])
    proba = fitted.predict_proba([[0.0], [0.5], [1.0]])
    np.testing.assert_allclose(proba[:, 1], expected, rtol=1e-2)
    assert proba.min() > 0
    assert proba.max() < 1


def test_wide_kernel_gives_the_base_rate():
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    fitted = KernelRecalibration(bandwidth=1e8).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        fitted.transform(X)[:, 1], np.average(y, weights=weights), rtol=1e-12
    )


def test_smooth_ece_of_the_fitted_rows_falls():
    X, y = make_scores(2)
    assert smooth_ece(y, KernelRecalibration().fit(X, y).transform(X)) < 0.5 * smooth_ece(y, X)


@pytest.mark.parametrize(
    ("bandwidth", "message"),
    [
        (9e-4, "bandwidth must be at least 0.001"),
        (np.inf, "bandwidth must be at least 0.001 and finite"),
        (np.nan, "bandwidth must be a number"),
        ("smECE", "bandwidth must be a number; got 'smECE'"),
    ],
)
def test_bad_bandwidth(bandwidth, message):
    with pytest.raises(ValueError, match=message):
        KernelRecalibration(bandwidth=bandwidth).fit([[0.5], [0.6]], [0, 1])


def test_real_network(shared_data):
    """Kumar et al. 2019, VGG16 on CIFAR-10: SmoothECE of held-out rows falls."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    after = KernelRecalibration().fit(X[:5000], y[:5000]).predict_proba(X[5000:])
    for reduction in ("confidence", "classwise"):
        assert smooth_ece(y[5000:], after, reduction=reduction) < smooth_ece(
            y[5000:], X[5000:], reduction=reduction
        )
