"""SmoothECE and its curve: the definition by quadrature and by direct sums, and its edges."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import logit
from scipy.stats import norm

from skcal.metrics import smooth_ece, smooth_ece_curve
from tests import reference


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def draw_case(rng, case, n):
    """Predictions, outcomes and weights."""
    v, y, w = rng.random(n), rng.integers(0, 2, n), None
    if case == "ends":
        v = rng.choice([0, 1e-300, 0.5, np.nextafter(1, 0), 1], n)
    elif case == "weights":
        v = rng.beta(0.2, 0.2, n).clip(0.01, 0.99)  # else the reference takes minutes
        w = rng.exponential(1, n) * rng.integers(0, 2, n) + 1e-9
    elif case == "slightly off":
        y = v + 0.01 * (rng.random(n) - v)
    elif case == "one rare error":
        v = rng.choice([0.0, 1.0], n)
        y = np.where(np.arange(n) == 0, 1 - v, v)
        w = np.where(np.arange(n) == 0, 2e-4 * n, 1)
    elif case == "cancelling neighbours":
        v = 0.5 + 2e-4 * np.arange(n)
        y = v + 0.3 * (-1) ** np.arange(n)
    return v, y, w


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize(
    "case", ["random", "ends", "weights", "slightly off", "one rare error", "cancelling neighbours"]
)
def test_agrees_with_direct_quadrature(rng, case, n):
    v, y, w = draw_case(rng, case, n)
    value = smooth_ece(y, v, sample_weight=w)
    assert value == pytest.approx(reference.smooth_ece(v, y, w), abs=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-3, 0.3, 5])
@pytest.mark.parametrize("case", ["ends", "weights"])
def test_given_bandwidth_agrees_with_direct_quadrature(rng, case, bandwidth):
    v, y, w = draw_case(rng, case, 15)
    mass = np.ones(15) if w is None else w
    expected = reference.smooth_error_at(v, mass / mass.sum() * (y - v), bandwidth)
    value = smooth_ece(y, v, sample_weight=w, bandwidth=bandwidth)
    assert value == pytest.approx(expected, abs=1e-6)


def test_residuals_of_one_sign_are_never_smoothed_away(rng):
    v = rng.random(50)
    for y in (np.zeros(50), np.ones(50)):
        for bandwidth in (None, 1e-4, 0.1, 3.0):
            value = smooth_ece(y, v, bandwidth=bandwidth)
            assert value == pytest.approx(abs(np.mean(y - v)), abs=1e-6)


def test_does_not_increase_with_the_bandwidth_and_is_the_fixed_point(rng):
    v, y = rng.random(200), rng.integers(0, 2, 200)
    values = [smooth_ece(y, v, bandwidth=s) for s in np.geomspace(1e-4, 10, 12)]
    assert (np.diff(values) <= 1e-6).all()
    assert values[0] <= np.mean(np.abs(y - v)) + 1e-6
    assert values[-1] == pytest.approx(abs(np.mean(y - v)), abs=1e-6)
    value = smooth_ece(y, v)
    assert smooth_ece(y, v, bandwidth=value) == pytest.approx(value, abs=1e-6)


def test_error_of_two_neighbours_vanishes_with_their_gap():
    """smECE is at most sqrt(2 sqrt(2 / pi) times the distance from calibration)."""
    assert smooth_ece([1, 0], [0.5, 0.5]) == 0
    value = smooth_ece([1, 0], [0.5 - 1e-6, 0.5 + 1e-6])
    assert 0 < value <= np.sqrt(2 * np.sqrt(2 / np.pi) * 1e-6)


class TestScale:
    @pytest.mark.parametrize("case", ["weights", "slightly off"])
    @pytest.mark.parametrize("n", [1, 7])
    @pytest.mark.parametrize("scale", [np.sqrt, lambda v: 10 * v])
    def test_agrees_with_direct_quadrature(self, rng, case, n, scale):
        v, y, w = draw_case(rng, case, n)
        value = smooth_ece(y, v, sample_weight=w, scale=scale)
        assert value == pytest.approx(reference.smooth_ece(v, y, w, scale), abs=1e-6)

    @pytest.mark.parametrize("bandwidth", [0.01, 0.3, 20])
    def test_given_bandwidth_of_logits(self, rng, bandwidth):
        v, y = rng.random(50), rng.integers(0, 2, 50)
        expected = reference.unreflected_error_at(logit(v), (y - v) / 50, bandwidth)
        value = smooth_ece(y, v, scale="logit", bandwidth=bandwidth)
        assert value == pytest.approx(expected, abs=1e-6)

    def test_hard_predictions_have_finite_logits(self):
        assert smooth_ece([0, 1, 1, 0], [0, 1, 0, 1], scale="logit") == pytest.approx(0.5, abs=1e-6)
        assert smooth_ece([0, 1], [0, 1 - 1e-9], scale="logit") <= 1e-3


class TestCurve:
    @pytest.mark.parametrize(
        ("scale", "bandwidth", "accuracy"),
        [("probability", 0.04, 1e-4), ("probability", 0.4, 1e-4), ("logit", 0.4, 1e-3)],
    )
    def test_agrees_with_direct_sums(self, rng, scale, bandwidth, accuracy):
        v, y, w = rng.beta(0.5, 2, 80), rng.integers(0, 2, 80), rng.integers(0, 3, 80)
        options = {"sample_weight": w, "bandwidth": bandwidth, "n_points": 41, "scale": scale}
        curve = smooth_ece_curve(y, v, **options)
        mass, seen = w / w.sum(), logit(v[w > 0])
        if scale == "probability":
            np.testing.assert_array_equal(curve.grid, np.linspace(0, 1, 41))
            density, positive = (
                reference.reflected_kernel_sum(curve.grid, v, weights, bandwidth)
                for weights in (mass, mass * y)
            )
        else:
            places = logit(curve.grid)
            np.testing.assert_allclose(places, np.linspace(seen.min(), seen.max(), 41), atol=1e-9)
            kernel = norm.pdf(places[:, None] - logit(v), scale=bandwidth) * mass
            density, positive = kernel.sum(axis=1), kernel @ y
        np.testing.assert_allclose(curve.density, density, rtol=accuracy, atol=1e-9)
        np.testing.assert_allclose(curve.prob_true, positive / density, rtol=0, atol=accuracy)
        assert curve.value == smooth_ece(y, v, sample_weight=w, bandwidth=bandwidth, scale=scale)
        assert curve.bandwidth == bandwidth

    def test_agrees_with_direct_sums_at_a_fine_bandwidth(self, rng):
        v, y = 0.3 + 0.02 * rng.random(50), rng.integers(0, 2, 50)
        curve = smooth_ece_curve(y, v, bandwidth=5e-4, n_points=2001)
        inside = (curve.grid > 0.3) & (curve.grid < 0.32)
        density, positive = (
            reference.reflected_kernel_sum(curve.grid[inside], v, mass / 50, 5e-4)
            for mass in (np.ones(50), y)
        )
        np.testing.assert_allclose(curve.prob_true[inside], positive / density, atol=1e-3)

    @pytest.mark.parametrize(("scale", "narrowest"), [("probability", 1e-3), ("logit", 0.25)])
    def test_bandwidth_is_the_error_but_not_too_narrow(self, rng, scale, narrowest):
        v = rng.beta(2, 20, 400)
        y = rng.random(400) < v
        for outcomes in (y, 1 - y, v):
            curve = smooth_ece_curve(outcomes, v, scale=scale, n_points=4001)
            assert curve.value == smooth_ece(outcomes, v, scale=scale)
            assert curve.bandwidth == max(curve.value, narrowest)
            assert ((curve.prob_true >= 0) & (curve.prob_true <= 1)).all()
            if scale == "probability":
                assert trapezoid(curve.density, curve.grid) == pytest.approx(1, abs=1e-3)
            else:  # what lies beyond the smallest and the largest prediction is missing
                assert 0.9 < trapezoid(curve.density, logit(curve.grid)) < 1

    def test_tends_to_the_nearest_outcome_far_from_the_data(self):
        curve = smooth_ece_curve([0, 1], [0.4, 0.5], bandwidth=0.001, n_points=11)
        np.testing.assert_allclose(curve.prob_true, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], atol=1e-12)
        assert curve.density[0] == 0

    @pytest.mark.parametrize("v", [[0.3], [0.3, 0.3], [0, 1], [1e-300, 1]])
    def test_odd_predictions(self, v):
        curve = smooth_ece_curve(np.ones(len(v)), v, scale="logit", bandwidth=0.1, n_points=5)
        np.testing.assert_allclose(curve.prob_true, 1, atol=1e-12)
        assert (np.diff(curve.grid) >= 0).all()
        assert np.ptp(logit(curve.grid[[0, -1]])) >= 0.2 - 1e-6
        curve = smooth_ece_curve(np.ones(len(v)), v, n_points=2)
        np.testing.assert_allclose(curve.prob_true, 1, atol=1e-12)
