"""The curves of calibration-sharpness diagrams: definition, identities, infinities."""

import numpy as np
import pytest

from skcal.metrics import BregmanDivergence, calibration_sharpness_curve, smooth_ece
from tests.metrics.scores import diverge, score_vectors

every_kernel = pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
every_loss = pytest.mark.parametrize("loss", ["brier", "log"])


def compute_slowly(y, v, values, loss, *, weights, bandwidth=0.05, kernel, n_points=201):
    """Mean outcome, gap and density from all pairs of a point and a row.

    `values` are the divergences of the rows. Gaussian kernel values are divided by the largest at
    each point, so that they never underflow.
    """
    grid = np.linspace(0, 1, n_points)
    z = (grid[:, None] - v) / bandwidth
    if kernel == "gaussian":
        exponent = -0.5 * z**2
        largest = exponent.max(axis=1, keepdims=True)
        weight, scale = np.exp(exponent - largest), np.exp(largest[:, 0])
    else:
        weight, scale = np.maximum(1 - z**2, 0), 1.0
        weight[weight < 1e-12] = 0  # one bandwidth away, but for rounding
    mass = weight @ weights
    with np.errstate(invalid="ignore"):
        eta = np.clip(weight @ (weights * y) / mass, 0, 1)
        gap = weight @ (weights * values) / mass - diverge(loss, eta, grid)
    return eta, gap, scale * mass / weights.sum()


def assert_near(curve, expected):
    """A curve and three arrays; nodes and the Fourier transform err by 1e-8 at most."""
    eta, gap, density = expected
    np.testing.assert_allclose(curve.prob_true, eta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(curve.sharpness_gap, gap, rtol=0, atol=1e-8)
    np.testing.assert_allclose(curve.density, density, rtol=1e-6, atol=1e-10)


@every_loss
@every_kernel
@pytest.mark.parametrize("bandwidth", [0.001, 0.05, 2.0])
@pytest.mark.parametrize("n_points", [2, 201])
def test_binary_rows(binary, rng, loss, kernel, bandwidth, n_points):
    """Also a grid that misses all predictions by many bandwidths."""
    y, v = binary
    w, values = rng.exponential(1, len(y)), diverge(loss, y, v)
    options = {"bandwidth": bandwidth, "kernel": kernel, "n_points": n_points}
    curve = calibration_sharpness_curve(y, v, sample_weight=w, loss=loss, **options)
    assert_near(curve, compute_slowly(y, v, values, loss, weights=w, **options))
    assert curve.bandwidth == bandwidth
    np.testing.assert_array_equal(curve.grid, np.linspace(0, 1, n_points))


@every_loss
@every_kernel
def test_confidences_but_the_loss_of_all_classes(multiclass, rng, loss, kernel):
    y, proba = multiclass
    w, v, hit = rng.integers(0, 3, len(y)), proba.max(axis=1), proba.argmax(axis=1) == y
    options = {"loss": loss, "kernel": kernel}
    curve = calibration_sharpness_curve(y, proba, sample_weight=w, **options)
    values = score_vectors(loss, y, proba)
    assert_near(curve, compute_slowly(hit, v, values, weights=w, **options))


@every_kernel
def test_users_divergence(binary, multiclass, kernel):
    square = BregmanDivergence(np.square, lambda v: 2 * v)
    for data in (binary, multiclass):
        curve = calibration_sharpness_curve(*data, loss=square, kernel=kernel)
        assert_near(curve, calibration_sharpness_curve(*data, kernel=kernel)[1:4])


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_in_several_chunks(rng, kernel, n_classes):
    """Divergences keep to their rows, over chunks and absent rows."""
    n, options = 70_000, {"kernel": kernel, "n_points": 7}
    proba = rng.dirichlet([2, 3, 4][:n_classes], n)
    y, w = rng.integers(0, n_classes, n), rng.integers(0, 3, n)
    v, hit, values = proba[:, 1], y, (y - proba[:, 1]) ** 2
    if n_classes == 3:
        v, hit, values = (
            proba.max(axis=1),
            proba.argmax(axis=1) == y,
            score_vectors("brier", y, proba),
        )
    curve = calibration_sharpness_curve(y, proba, sample_weight=w, **options)
    assert_near(curve, compute_slowly(hit, v, values, "brier", weights=w, **options))


def test_bandwidth_none_takes_smooth_ece(rng):
    v = rng.random(500)
    y = (rng.random(500) < v**3).astype(int)
    curve = calibration_sharpness_curve(y, v, bandwidth=None)
    assert curve.bandwidth == pytest.approx(smooth_ece(y, v), abs=1e-5)
    assert_near(curve, calibration_sharpness_curve(y, v, bandwidth=curve.bandwidth)[1:4])


@every_loss
@every_kernel
@pytest.mark.parametrize(("label", "n"), [(0, 1), (1, 3000)])
def test_one_class(rng, loss, kernel, label, n):
    v, options = np.append(0.3, rng.uniform(0.05, 0.95, n - 1)), {"kernel": kernel, "n_points": 11}
    curve = calibration_sharpness_curve(np.full(n, label), v, loss=loss, **options)
    known = curve.density > 0
    assert known[3]
    np.testing.assert_array_equal(curve.prob_true[known], label)


@every_kernel
def test_a_huge_divergence_stays_where_it_is(kernel):
    """Rounding of what is enormous elsewhere must not reach the rest of the curve."""
    root = BregmanDivergence(lambda v: -np.sqrt(v), lambda v: -0.5 / np.sqrt(v))
    y, v = np.array([1, 0, 1]), np.array([1e-300, 0.5, 0.5])
    options = {"loss": root, "kernel": kernel, "bandwidth": 0.01}
    curve = calibration_sharpness_curve(y, v, **options)
    near = np.abs(curve.grid - 0.5) < 0.01
    expected = calibration_sharpness_curve(y[1:], v[1:], **options).sharpness_gap[near]
    np.testing.assert_allclose(curve.sharpness_gap[near], expected, rtol=0, atol=1e-8)
    assert curve.sharpness_gap[1] > 1e140


@pytest.mark.parametrize(
    ("options", "reached", "not_reached"),
    [
        ({}, (0, 1), (2, 3)),
        ({"kernel": "epanechnikov"}, (0, 0.0499), (0.7501, 0.8499)),
        ({"bandwidth": 0.01}, (0, 0.38), (0.6, 0.999)),
    ],
)
def test_certain_and_wrong_is_infinite_as_far_as_the_kernel_reaches(options, reached, not_reached):
    y, v = [1, 0, 1, 1], [0.0, 0.0, 0.8, 0.8]
    curve = calibration_sharpness_curve(y, v, loss="log", **options)
    for (low, high), check in ((reached, np.isposinf), (not_reached, np.isfinite)):
        inside = (low <= curve.grid) & (curve.grid <= high)
        assert check(curve.sharpness_gap[inside]).all()
    assert not np.isinf(calibration_sharpness_curve(y, v, **options).sharpness_gap).any()


@pytest.mark.parametrize(
    ("kernel", "bandwidth"),
    # 0.5 is exactly one bandwidth away in the last case: out of reach.
    [("gaussian", 0.01), ("epanechnikov", 0.01), ("epanechnikov", 0.5)],
)
def test_rounding_does_not_decide_between_certain_and_not(rng, kernel, bandwidth):
    """Weights like 0.1 cancel exactly where all outcomes within reach agree."""
    v, y = np.repeat([0.0, 0.5, 1.0], 50), np.repeat([0, 1, 0, 1], [50, 25, 25, 50])
    options = {"loss": "log", "kernel": kernel, "bandwidth": bandwidth}
    options["sample_weight"] = rng.choice([0.1, 0.3, 0.7], 150)
    curve = calibration_sharpness_curve(y, v, **options)
    assert curve.sharpness_gap[0] == curve.sharpness_gap[-1] == 0


def test_true_class_of_probability_0():
    """Though the confidence is not 1."""
    proba = [[0.0, 0.4, 0.6], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]]
    options = {"loss": "log", "kernel": "epanechnikov"}
    curve = calibration_sharpness_curve([0, 2, 1], proba, bandwidth=0.05, **options)
    reached = np.abs(curve.grid - 0.6) < 0.05 - 1e-12
    np.testing.assert_array_equal(curve.sharpness_gap == np.inf, reached)
