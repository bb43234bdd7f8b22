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
    """Others draw cases of which the reference takes minutes."""
    return np.random.default_rng(11)


def draw_case(rng, case, n):
    """Predictions, outcomes and weights."""
    v, y, w = rng.random(n), rng.integers(0, 2, n), None
    if case == "ends":
        v = rng.choice([0, 1e-300, 0.5, np.nextafter(1, 0), 1], n)
    elif case == "weights":
        v = rng.beta(0.2, 0.2, n).clip(0.01, 0.99)
        w = rng.exponential(1, n) * rng.integers(0, 2, n) + 1e-9
    elif case == "slightly off":
        y = v + 0.01 * (rng.random(n) - v)
    elif case == "one rare error":
        v, is_first = rng.choice([0.0, 1.0], n), np.arange(n) == 0
        y, w = np.where(is_first, 1 - v, v), np.where(is_first, 2e-4 * n, 1)
    elif case == "cancelling neighbours":
        v = 0.5 + 2e-4 * np.arange(n)
        y = v + 0.3 * (-1) ** np.arange(n)
    return v, y, w


@pytest.mark.parametrize("n", [1, 2, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case",
    [
        "random",
        "ends",
        "weights",
        "slightly off",
        pytest.param("one rare error", marks=pytest.mark.slow),
        "cancelling neighbours",
    ],
)
def test_agrees_with_direct_quadrature(rng, case, n):
    v, y, w = draw_case(rng, case, n)
    value = smooth_ece(y, v, sample_weight=w)
    assert value == pytest.approx(reference.smooth_ece(v, y, w), abs=1e-6)
    for scale in (np.sqrt, lambda v: 10 * v) if case in ("weights", "slightly off") else ():
        value = smooth_ece(y, v, sample_weight=w, scale=scale)
        assert value == pytest.approx(reference.smooth_ece(v, y, w, scale), abs=1e-6)


@pytest.mark.parametrize("bandwidth", [pytest.param(1e-3, marks=pytest.mark.slow), 0.3, 5])
def test_given_bandwidth_agrees_with_direct_quadrature(rng, bandwidth):
    for case in ("ends", "weights"):
        v, y, w = draw_case(rng, case, 15)
        mass = np.ones(15) if w is None else w
        expected = reference.smooth_error_at(v, mass / mass.sum() * (y - v), bandwidth)
        value = smooth_ece(y, v, sample_weight=w, bandwidth=bandwidth)
        assert value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bandwidth", [pytest.param(0.01, marks=pytest.mark.slow), 0.3, 20])
def test_given_bandwidth_of_logits(rng, bandwidth):
    v, y = rng.random(50), rng.integers(0, 2, 50)
    expected = reference.unreflected_error_at(logit(v), (y - v) / 50, bandwidth)
    value = smooth_ece(y, v, scale="logit", bandwidth=bandwidth)
    assert value == pytest.approx(expected, abs=1e-6)


def test_hard_predictions_have_finite_logits():
    assert smooth_ece([0, 1, 1, 0], [0, 1, 0, 1], scale="logit") == pytest.approx(0.5, abs=1e-6)
    assert smooth_ece([0, 1], [0, 1 - 1e-9], scale="logit") <= 1e-3


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


@pytest.mark.parametrize(
    ("scale", "bandwidth", "accuracy"),
    [("probability", 0.04, 1e-4), ("probability", 0.4, 1e-4), ("logit", 0.4, 1e-3)],
)
def test_curve_agrees_with_direct_sums(rng, scale, bandwidth, accuracy):
    v, y, w = rng.beta(0.5, 2, 80), rng.integers(0, 2, 80), rng.integers(0, 3, 80)
    options = {"sample_weight": w, "bandwidth": bandwidth, "scale": scale}
    curve = smooth_ece_curve(y, v, n_points=41, **options)
    mass, seen = w / w.sum(), logit(v[w > 0])
    if scale == "probability":
        np.testing.assert_array_equal(curve.grid, np.linspace(0, 1, 41))
        density, predicted, positive = (
            reference.reflected_kernel_sum(curve.grid, v, weights, bandwidth)
            for weights in (mass, mass * v, mass * y)
        )
    else:
        places, reach = logit(curve.grid), 9 * bandwidth
        ends = seen.min() - reach, seen.max() + reach
        np.testing.assert_allclose(places, np.linspace(*ends, 41), atol=1e-9)
        kernel = norm.pdf(places[:, None] - logit(v), scale=bandwidth) * mass
        density, predicted, positive = kernel.sum(axis=1), kernel @ v, kernel @ y
    np.testing.assert_allclose(curve.density, density, rtol=accuracy, atol=1e-9)
    near = density > 1e-9
    for found, sums in ((curve.prob_pred, predicted), (curve.prob_true, positive)):
        np.testing.assert_allclose(found[near], (sums / density)[near], rtol=0, atol=accuracy)
    assert curve.value == smooth_ece(y, v, **options)
    assert curve.bandwidth == bandwidth


def test_curve_agrees_with_direct_sums_at_a_fine_bandwidth(rng):
    v, y = 0.3 + 0.02 * rng.random(50), rng.integers(0, 2, 50)
    curve = smooth_ece_curve(y, v, bandwidth=5e-4, n_points=2001)
    inside = (curve.grid > 0.3) & (curve.grid < 0.32)
    density, positive = (
        reference.reflected_kernel_sum(curve.grid[inside], v, mass, 5e-4)
        for mass in (np.ones(50), y)
    )
    np.testing.assert_allclose(curve.prob_true[inside], positive / density, atol=1e-3)


@pytest.mark.parametrize(
    ("scale", "narrowest"),
    [pytest.param("probability", 1e-3, marks=pytest.mark.slow), ("logit", 0.25)],
)
def test_bandwidth_of_a_curve_is_the_error_but_not_too_narrow(rng, scale, narrowest):
    v = rng.beta(2, 20, 400)
    y = rng.random(400) < v
    for outcomes in (y, 1 - y, v):
        curve = smooth_ece_curve(outcomes, v, scale=scale, n_points=4001)
        assert curve.value == smooth_ece(outcomes, v, scale=scale)
        assert curve.bandwidth == max(curve.value, narrowest)
        assert ((curve.prob_true >= 0) & (curve.prob_true <= 1)).all()
        if scale == "probability":
            assert trapezoid(curve.density, curve.grid) == pytest.approx(1, abs=1e-3)
        else:
            assert trapezoid(curve.density, logit(curve.grid)) == pytest.approx(1, abs=1e-3)


def test_curve_tends_to_the_nearest_outcome_far_from_the_data():
    curve = smooth_ece_curve([0, 1], [0.4, 0.5], bandwidth=0.001, n_points=11)
    np.testing.assert_allclose(curve.prob_true, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], atol=1e-12)
    assert curve.density[0] == 0


@pytest.mark.parametrize("v", [[0.3], [0.3, 0.3], [0, 1], [1e-300, 1]])
def test_curve_of_odd_predictions(v):
    on_logits = {"scale": "logit", "bandwidth": 0.1, "n_points": 5}
    for options in (on_logits, {"n_points": 2}):
        curve = smooth_ece_curve(np.ones(len(v)), v, **options)
        np.testing.assert_allclose(curve.prob_true, 1, atol=1e-12)
        assert (np.diff(curve.grid) >= 0).all()
        assert np.ptp(logit(curve.grid[[0, -1]])) >= 0.2 - 1e-6


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("bandwidth", [0.02, 0.3, 1])
def test_area_between_curve_and_diagonal_is_smooth_ece(rng, scale, bandwidth):
    """Weighted by the density; an average over the grid, whose ends count half."""
    v, y, w = rng.beta(0.5, 2, 300).round(2), rng.random(300), rng.integers(0, 3, 300)
    v = v.clip(0.001, 0.999) if scale == "logit" else v
    for outcomes in (y.round(), y):
        options = {"sample_weight": w, "bandwidth": bandwidth, "scale": scale}
        curve = smooth_ece_curve(outcomes, v, n_points=20_001, **options)
        places = curve.grid
        if scale == "logit":
            ends = logit(v[w > 0].min()) - 9 * bandwidth, logit(v[w > 0].max()) + 9 * bandwidth
            places = np.linspace(*ends, 20_001)
        area = trapezoid(curve.density * np.abs(curve.prob_true - curve.prob_pred), places)
        assert area == pytest.approx(smooth_ece(outcomes, v, **options), abs=1e-6)
        assert (np.diff(curve.prob_pred) >= 0).all()


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_calibrated_population_lies_on_the_diagonal(rng, scale):
    for v in (rng.random(500), rng.beta(0.1, 0.1, 500), np.r_[np.full(99, 0.995), 0.4]):
        curve = smooth_ece_curve(v, v, scale=scale, bandwidth=0.3)
        np.testing.assert_allclose(curve.prob_true, curve.prob_pred, rtol=0, atol=1e-12)


def test_widest_bandwidth_gives_the_overall_means():
    curve = smooth_ece_curve([0, 1, 1], [0.1, 0.3, 0.5], bandwidth=np.finfo(float).max)
    np.testing.assert_allclose(curve.prob_pred, 0.3)
    np.testing.assert_allclose(curve.prob_true, 2 / 3)


@pytest.mark.parametrize("v", [[0, 1e-20, 1e-30, 1e-17], [1, 1 - 2**-53, 1, 1]])
def test_logits_that_are_clipped_to_one_place(v):
    """All residuals are at one place: their kernel integrates to |E r|, whatever its bandwidth."""
    y = [0, 0, 1, 0]
    expected = abs(np.mean(y) - np.mean(v))
    for options in ({}, {"bandwidth": 0.1}):
        assert smooth_ece(y, v, scale="logit", **options) == pytest.approx(expected, abs=1e-6)
    assert smooth_ece_curve(y, v, scale="logit").value == pytest.approx(expected, abs=1e-6)


def test_a_class_that_softmax_rules_out():
    proba = np.array([[0.5, 0.5, 0.0], [0.3, 0.7, 1e-18], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0]])
    options = {"scale": "logit", "labels": [0, 1, 2]}
    found = smooth_ece([0, 1, 0, 2], proba, reduction="classwise", **options)
    parts = [smooth_ece([0, 1, 0, 2], proba, pos_label=k, **options) for k in range(3)]
    assert parts[2] == pytest.approx(0.25, abs=1e-6)
    assert found == pytest.approx(np.mean(parts), abs=1e-9)


def test_scales_are_not_asked_where_no_row_has_weight():
    y, v, weights = [0, 1, 1, 0, 1], [0.0, 1.0, 0.2, 0.3, 0.5], [0, 0, 1, 1, 2]
    found = smooth_ece(y, v, sample_weight=weights, scale=lambda v: np.log(v) - np.log1p(-v))
    assert found == pytest.approx(
        smooth_ece(y[2:], v[2:], sample_weight=weights[2:], scale="logit")
    )
