"""Logistic regression with penalties and bounds: closed forms, and a general minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
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
    assert ((targets > 0) & (targets < 1)).all()
    options = {"penalty": penalty, "centre": centre}
    found = fit_logistic(np.eye(4), targets, weights, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    found = fit_logistic(np.eye(4), targets, weights, lower=lower, **options)
    np.testing.assert_allclose(found, np.maximum(wanted, lower), rtol=1e-7)


def make_problem(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 3)) * [1, 10, 0.1] + [0, 5, -1]
    targets = np.append(rng.integers(0, 2, 30), rng.random(10))
    return features, targets, rng.exponential(size=40)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_minimises_the_penalised_log_loss(fit_intercept, weighted, bounded, seed):
    features, targets, weights = make_problem(seed)
    penalty, centre = np.array([0.05, 0.0, 0.001]), np.array([-0.5, 3.0, 2.0])
    lower = np.array([0.1, UNBOUNDED, -1.0]) if bounded else np.full(3, UNBOUNDED)

    def objective(coefficients):
        scores = features @ coefficients[:3] + (coefficients[3] if fit_intercept else 0)
        losses = -targets * np.log(expit(scores)) - (1 - targets) * np.log(expit(-scores))
        loss = np.average(losses, weights=weights if weighted else None)
        return loss + penalty @ (coefficients[:3] - centre) ** 2

    found = fit_logistic(
        features,
        targets,
        weights if weighted else None,
        penalty=penalty,
        centre=centre,
        lower=lower,
        fit_intercept=fit_intercept,
    )
    bounds = [(low, None) for low in lower] + [(None, None)] * fit_intercept
    start = np.maximum(np.zeros(len(bounds)), np.append(lower, UNBOUNDED)[: len(bounds)])
    options = {"ftol": 1e-15, "gtol": 1e-9}
    best = minimize(objective, start, method="L-BFGS-B", bounds=bounds, options=options)
    assert objective(found) <= best.fun + 1e-14
    np.testing.assert_allclose(found, best.x, rtol=1e-2, atol=1e-3)
    assert (found[:3] >= lower).all()


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_weights_count_by_their_ratios_and_whole_ones_as_repeats(scale):
    features, targets, _ = make_problem(0)
    times = np.arange(40) % 4
    options = {"penalty": 0.1, "fit_intercept": True}
    np.testing.assert_allclose(
        fit_logistic(features, targets, scale * times, **options),
        fit_logistic(np.repeat(features, times, axis=0), np.repeat(targets, times), **options),
        rtol=1e-7,
    )


def test_a_constant_feature_says_nothing_beside_an_intercept():
    """Its coefficient stays at its centre, and the intercept gives the mean of the targets."""
    _, targets, weights = make_problem(0)
    for value in (0.1, 1.5e6):
        coefficient, intercept = fit_logistic(
            np.full((40, 1), value), targets, weights, penalty=0.2, centre=-0.5, fit_intercept=True
        )
        assert coefficient == -0.5
        rate = np.average(targets, weights=weights)
        assert coefficient * value + intercept == pytest.approx(logit(rate), abs=1e-7)


def test_a_large_penalty_leaves_the_centre_and_that_is_0_unless_told():
    features, targets, _ = make_problem(0)
    np.testing.assert_allclose(fit_logistic(features, targets, penalty=1e9), 0, atol=1e-7)
    found = fit_logistic(features, targets, penalty=1e9, centre=[3, -2, 1])
    np.testing.assert_allclose(found, [3, -2, 1], atol=1e-7)


def test_options_may_be_whole_numbers():
    features, targets, weights = make_problem(0)
    np.testing.assert_array_equal(
        fit_logistic(features, targets, weights, penalty=1, centre=0, lower=0),
        fit_logistic(features, targets, weights, penalty=1.0, centre=0.0, lower=0.0),
    )


@pytest.mark.parametrize("centre", [-1e3, 1e3])
def test_a_centre_without_penalty_means_nothing(centre):
    """Not even where all probabilities are 0 or 1 there, and the loss has no curvature."""
    features, targets, weights = make_problem(0)
    expected = fit_logistic(features, targets, weights)
    found = fit_logistic(features, targets, weights, centre=centre)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
