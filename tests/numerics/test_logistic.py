"""Logistic regression with penalties and bounds: closed forms, and conditions of the optimum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, logit

from skcal._numerics._logistic import fit_logistic

UNBOUNDED = -np.inf


@pytest.mark.parametrize("weighted", [False, True])
def test_coordinates_apart_have_a_closed_form(weighted):
    """Each row has a feature of its own; the derivative of each coordinate is then 0 where

    mass (expit(b) - y) + 2 penalty (b - centre) = 0, and b below its bound goes to the bound.
    """
    penalty, centre = np.array([0.0, 0.005, 0.02, 0.01]), np.array([5.0, 1.0, -2.0, 0.5])
    wanted, lower = np.array([-1.0, 2.0, -0.5, 1.5]), np.array([UNBOUNDED, 0.0, 0.0, 0.0])
    weights = np.array([3.0, 2.0, 4.0, 6.0]) if weighted else None
    mass = weights / 15 if weighted else np.full(4, 1 / 4)
    targets = expit(wanted) + 2 * penalty * (wanted - centre) / mass
    options = {"penalty": penalty, "centre": centre}
    found = fit_logistic(np.eye(4), targets, weights, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    found = fit_logistic(np.eye(4), targets, weights, lower=lower, **options)
    np.testing.assert_allclose(found, np.maximum(wanted, lower), rtol=1e-7)


def make_problem(seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 3)) * [1, 10, 0.1] + [0, 5, -1]
    targets = np.append(rng.integers(0, 2, 30), rng.random(10))
    return features, targets, rng.exponential(size=40)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_minimises_the_penalised_log_loss(fit_intercept, bounded):
    """A convex function is smallest where its slope is 0, or leads out of the bounds."""
    features, targets, weights = make_problem(fit_intercept)
    penalty, centre = np.array([0.05, 0.0, 0.001]), np.array([-0.5, 3.0, 2.0])
    lower = np.array([0.1, UNBOUNDED, -1.0]) if bounded else np.full(3, UNBOUNDED)

    def objective(coefficients):
        scores = features @ coefficients[:3] + (coefficients[3] if fit_intercept else 0)
        losses = -targets * np.log(expit(scores)) - (1 - targets) * np.log(expit(-scores))
        return np.average(losses, weights=weights) + penalty @ (coefficients[:3] - centre) ** 2

    options = {"penalty": penalty, "centre": centre, "lower": lower}
    found = fit_logistic(features, targets, weights, fit_intercept=fit_intercept, **options)
    assert (found[:3] >= lower).all()
    slope = approx_fprime(found, objective, 1e-7)
    at_end = found == np.append(lower, [UNBOUNDED] * fit_intercept)
    assert np.abs(slope[~at_end]).max() < 1e-5
    assert (slope[at_end] > 0).all()
    assert at_end.any() == bounded


def test_a_constant_feature_says_nothing_beside_an_intercept():
    """Its coefficient stays at its centre, and the intercept gives the mean of the targets."""
    _, targets, weights = make_problem()
    for value in (0.1, 1.5e6):
        coefficient, intercept = fit_logistic(
            np.full((40, 1), value), targets, weights, penalty=0.2, centre=-0.5, fit_intercept=True
        )
        assert coefficient == -0.5
        rate = np.average(targets, weights=weights)
        assert coefficient * value + intercept == pytest.approx(logit(rate), abs=1e-7)


def test_options_are_numbers_or_one_for_each_feature_whole_ones_too():
    features, targets, weights = make_problem()
    for centre in (0.0, [3, -2, 1]):
        found = fit_logistic(features, targets, penalty=1e9, centre=centre)
        np.testing.assert_allclose(found, np.broadcast_to(centre, 3), atol=1e-7)
    np.testing.assert_array_equal(
        fit_logistic(features, targets, weights, penalty=1, centre=0, lower=0),
        fit_logistic(features, targets, weights, penalty=1.0, lower=0.0),
    )


@pytest.mark.parametrize("centre", [-1e3, 1e3])
def test_a_centre_without_penalty_means_nothing(centre):
    """Not even where all probabilities are 0 or 1 there, and the loss has no curvature."""
    features, targets, weights = make_problem()
    expected = fit_logistic(features, targets, weights)
    found = fit_logistic(features, targets, weights, centre=centre)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    apart = np.repeat([[36.0], [3.5]], 20, axis=0)
    found = fit_logistic(apart, np.tile([0.0, 1.0], 20), centre=1.0, fit_intercept=True)
    np.testing.assert_allclose(found, 0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_separable_classes_get_finite_coefficients(scale):
    features = np.column_stack([scale * np.array([-3.0, -1.0, 1.0, 4.0]), np.ones(4)])
    slope, intercept = fit_logistic(features, np.array([0.0, 0.0, 1.0, 1.0]))
    assert 10 < scale * slope < 100
    assert abs(intercept) < 10


@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (750.0, 1e-3), (0.0, 1e6)])
def test_intercepts_make_up_for_offsets(rng, offset, scale):
    feature = 3 * rng.normal(size=(400, 1))
    rows = (rng.random(400) < expit(feature[:, 0])).astype(float), rng.random(400)
    near = fit_logistic(feature, *rows, fit_intercept=True)
    far = fit_logistic(offset + scale * feature, *rows, fit_intercept=True)
    np.testing.assert_allclose(far[0] * scale, near[0], rtol=1e-7)
    np.testing.assert_allclose(far[1] + far[0] * offset, near[1], atol=1e-7)
