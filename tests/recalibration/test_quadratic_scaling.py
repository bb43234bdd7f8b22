"""Quadratic scaling: optimum, truths that are quadratic, open directions and extreme scores."""

import numpy as np
import pytest
from scipy.special import expit

from skcal.recalibration import PlattScaling, QuadraticScaling
from tests.recalibration.family import make_scores


def differentiate(found, z, targets, weights, penalty):
    """Derivatives of the penalised loss by intercept, slope and curvature."""
    shares = weights / weights.sum()
    variance = shares @ (z - shares @ z) ** 2
    residual = expit(np.polyval(found[::-1], z)) - targets
    slopes = (shares * residual) @ z[:, None] ** np.arange(3)
    slopes[2] += 2 * penalty / weights.sum() * variance**2 * found.curvature
    return slopes


@pytest.mark.parametrize("smoothed", [False, True])
@pytest.mark.parametrize("penalty", [0.3, 100.0])
def test_optimum_is_where_the_convex_loss_is_level(smoothed, penalty):
    X, y = make_scores(2, 90)
    weights = np.random.default_rng(0).integers(0, 4, 90)
    fitted = QuadraticScaling(target_smoothing=smoothed, curvature_penalty=penalty)
    found = fitted.fit(X, y, sample_weight=weights).maps_[0]
    targets = y.astype(float)
    if smoothed:
        missed = 1 / (np.bincount(y, weights) + 2)
        targets = np.where(y == 1, 1 - missed[1], missed[0])
    z = np.log(X[:, 1] / X[:, 0])
    np.testing.assert_allclose(differentiate(found, z, targets, weights, penalty), 0, atol=1e-8)
    assert found.curvature != 0


@pytest.mark.parametrize("curvature", [-0.2, 0.0, 0.3])
def test_the_truth_is_found_where_it_is_quadratic(curvature):
    """Every score comes with both labels, weighed by their probabilities."""
    z = np.linspace(-5, 3, 41)
    chance = expit(0.4 + 0.8 * z + curvature * z**2)
    weights = 100 * np.concatenate([chance, 1 - chance])
    fitted = QuadraticScaling(input="logits", target_smoothing=False, curvature_penalty=0)
    fitted.fit(np.tile(z, 2)[:, None], np.repeat([1, 0], 41), weights)
    np.testing.assert_allclose(fitted.maps_[0], [0.4, 0.8, curvature], atol=1e-7)
    proba = fitted.predict_proba([[8.0]])[0, 1]
    assert proba == pytest.approx(expit(0.4 + 8 * 0.8 + 64 * curvature), abs=1e-7)


@pytest.mark.parametrize("smoothed", [False, True])
def test_large_penalties_leave_platt_scaling(smoothed):
    X, y = make_scores(3, 90)
    for penalty in (1e12, np.finfo(float).max):
        fitted = QuadraticScaling(target_smoothing=smoothed, curvature_penalty=penalty).fit(X, y)
        expected = PlattScaling(target_smoothing=smoothed).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-90, 1e-3, 1e6, 1e90])
def test_scale_of_logits_is_no_obstacle(scale):
    X, y = make_scores(2, 100)
    z = np.log(X[:, 1:] / X[:, :1])
    found, expected = (
        QuadraticScaling(input="logits").fit(values, y).predict_proba(values)
        for values in (scale * z, z)
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("new", [1e99, -1e99])
def test_scores_may_be_far_beyond_those_of_the_fit(new):
    """The factor of the squares of tiny scores is huge; scores are cut before they are squared."""
    z, y = 1e-90 * np.linspace(-1, 1, 40)[:, None], np.tile([0, 1], 20)
    fitted = QuadraticScaling(input="logits").fit(z, y)
    proba = fitted.predict_proba([[new], [0.0]])
    assert fitted.maps_[0].slope > 0
    assert proba[0, int(new > 0)] > 0.99
    assert 0.4 < proba[1, 1] < 0.6


@pytest.mark.parametrize("options", [{}, {"curvature_penalty": 0}])
def test_two_values_are_mapped_to_their_targets(options):
    """Any curvature would do where slope and intercept reach the targets alone."""
    X, y = np.repeat([[0.1], [0.7]], 20, axis=0), np.resize([0, 0, 1, 0, 1], 40)
    fitted = QuadraticScaling(target_smoothing=False, **options).fit(X, y)
    np.testing.assert_allclose(fitted.transform(X).ravel(), 0.4, atol=1e-7)
    assert np.abs(fitted.maps_[0]).max() < 10


@pytest.mark.parametrize("options", [{}, {"curvature_penalty": 0}])
@pytest.mark.parametrize("smoothed", [False, True])
def test_separable_classes_and_hard_zeros_stay_finite(options, smoothed):
    X = np.concatenate([np.linspace(0, 0.4, 20), np.linspace(0.6, 1, 20)])[:, None]
    fitted = QuadraticScaling(target_smoothing=smoothed, **options).fit(X, X[:, 0] > 0.5)
    assert np.isfinite(fitted.maps_[0]).all()
    proba = fitted.predict_proba(X)[:, 1]
    assert ((proba > 0.5) == (X[:, 0] > 0.5)).all()
    assert ((proba > 0) & (proba < 1)).all()


def test_a_row_beside_which_the_others_weigh_nothing():
    """Scores over a standard deviation next to 0 overflowed when they were squared."""
    z, y = [[-1.0], [0.5], [2.0], [3.0]], [0, 1, 0, 1]
    fitted = QuadraticScaling(input="logits").fit(z, y, sample_weight=[1, 1e300, 1, 1e-300])
    assert fitted.predict_proba(z)[1, 1] == pytest.approx(1, abs=1e-6)
    assert np.isfinite(fitted.maps_[0]).all()
