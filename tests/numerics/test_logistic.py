"""Logistic regression with penalties and bounds: closed forms, and conditions of the optimum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, logit

from skcal._numerics.recalibration._logistic import fit_logistic, fit_logistics


@pytest.fixture
def problem(rng):
    """Features, targets and weights."""
    features = rng.normal(size=(40, 3)) * [1, 10, 0.1] + [0, 5, -1]
    return features, np.append(rng.integers(0, 2, 30), rng.random(10)), rng.exponential(size=40)


@pytest.mark.parametrize("weights", [None, np.array([3.0, 2.0, 4.0, 6.0])])
def test_coordinates_apart_have_a_closed_form(weights):
    """Each row has a feature of its own; the derivative of each coordinate is then 0 where

    mass (expit(b) - y) + 2 penalty (b - centre) = 0, and b below its bound goes to the bound.
    """
    options = {"penalty": np.array([0.0, 0.005, 0.02, 0.01]), "centre": np.array([5.0, 1, -2, 0.5])}
    wanted, lower = np.array([-1.0, 2.0, -0.5, 1.5]), np.array([-np.inf, 0.0, 0.0, 0.0])
    mass = np.full(4, 1 / 4) if weights is None else weights / 15
    targets = expit(wanted) + 2 * options["penalty"] * (wanted - options["centre"]) / mass
    found = fit_logistic(np.eye(4), targets, weights, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    found = fit_logistic(np.eye(4), targets, weights, lower=lower, **options)
    np.testing.assert_allclose(found, np.maximum(wanted, lower), rtol=1e-7)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("lower", [np.full(3, -np.inf), np.array([0.1, -np.inf, -1.0])])
def test_minimises_the_penalised_log_loss(problem, fit_intercept, lower):
    """A convex function is smallest where its slope is 0, or leads out of the bounds."""
    features, targets, weights = problem
    penalty, centre = np.array([0.05, 0.0, 0.001]), np.array([-0.5, 3.0, 2.0])

    def objective(coefficients):
        scores = features @ coefficients[:3] + coefficients[3:].sum()
        losses = -targets * np.log(expit(scores)) - (1 - targets) * np.log(expit(-scores))
        return np.average(losses, weights=weights) + penalty @ (coefficients[:3] - centre) ** 2

    options = {"penalty": penalty, "centre": centre, "lower": lower}
    found = fit_logistic(*problem, fit_intercept=fit_intercept, **options)
    assert (found[:3] >= lower).all()
    slope, at_end = approx_fprime(found, objective, 1e-7), np.isin(found, lower)
    assert np.abs(slope[~at_end]).max() < 1e-5
    assert (slope[at_end] > 0).all()
    assert at_end.any() == np.isfinite(lower).any()


@pytest.mark.parametrize("value", [0.1, 1.5e6])
def test_a_constant_feature_says_nothing_beside_an_intercept(problem, value):
    """Its coefficient stays at its centre, and the intercept gives the mean of the targets."""
    options = {"penalty": 0.2, "centre": -0.5, "fit_intercept": True}
    coefficient, intercept = fit_logistic(np.full((40, 1), value), *problem[1:], **options)
    assert coefficient == -0.5
    rate = np.average(problem[1], weights=problem[2])
    assert coefficient * value + intercept == pytest.approx(logit(rate), abs=1e-7)


def test_options_are_numbers_whole_ones_too(problem):
    found = fit_logistic(*problem, penalty=1, centre=0, lower=0)
    np.testing.assert_array_equal(found, fit_logistic(*problem, penalty=1.0, lower=0.0))


@pytest.mark.parametrize("centre", [-1e3, 1e3])
def test_a_centre_without_penalty_means_nothing(problem, centre):
    """Not even where all probabilities are 0 or 1 there, and the loss has no curvature."""
    found = fit_logistic(*problem, centre=centre)
    np.testing.assert_allclose(found, fit_logistic(*problem), rtol=1e-5)
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


@pytest.mark.parametrize("base_rate", [0.5, 0.01])
def test_many_rows_start_from_a_part_and_end_at_the_optimum(rng, base_rate):
    feature, weights = rng.normal(size=40_000), rng.random(40_000)
    targets = (rng.random(40_000) < expit(feature + logit(base_rate))).astype(float)
    slope, intercept = fit_logistic(feature[:, None], targets, weights, fit_intercept=True)
    residual = weights / weights.sum() * (expit(slope * feature + intercept) - targets)
    np.testing.assert_allclose([residual.sum(), residual @ feature], 0, atol=1e-9)


def test_a_part_may_be_a_poor_start(rng):
    """Every 16th row of each outcome separates the outcomes; all rows do not."""
    targets = np.repeat([0.0, 1.0], 16384)
    feature = rng.normal(size=32768)
    feature[::16] = np.where(targets[::16] > 0, 1e3, -1e3)
    slope, intercept = fit_logistic(feature[:, None], targets, fit_intercept=True)
    residual = (expit(slope * feature + intercept) - targets) / 32768
    np.testing.assert_allclose([residual.sum(), residual @ feature], 0, atol=1e-7)


def test_a_search_does_not_end_just_above_a_bound():
    """If the first coefficient is best at its bound, the others are those without its feature."""
    v = np.array([1e-300, 5e-324, 1 - 1e-8, 1 - 1e-16, 1 - 1e-8, 1 - 1e-8])
    targets = np.array([1.5, 5, 1.5, 5, 5, 5]) / 6
    weights = [3.9686337652774015, 0.0654799745984699, 1.480708159660447]
    weights = np.array([*weights, 0.010926035273914243, 20.6392167527495, 11.014540608558127])
    features, options = np.column_stack([np.log(v), -np.log1p(-v)]), {"fit_intercept": True}
    found = fit_logistic(features, targets, weights, lower=0.0, guess=1.0, **options)
    without = fit_logistic(features[:, 1:], targets, weights, lower=0.0, guess=1.0, **options)
    np.testing.assert_allclose(found, [0, *without], rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_problems_together_have_the_answers_of_each_alone(rng, weighted):
    """Some at their bounds, some with steps that are too long, and one without a finite answer."""
    features = rng.normal(size=(12, 60, 3)) * [1, 10, 0.1] + [0, 5, -1]
    targets = (rng.random((12, 60)) < expit(features[:, :, 0])).astype(float)
    targets[0], targets[1] = features[0, :, 0] > 0, 0
    features[2] *= 1e4
    weights = rng.exponential(size=60) if weighted else None
    options = {
        "penalty": np.broadcast_to([1e-4, 1e-2, 1e-6], (12, 3)),
        "centre": rng.normal(size=(12, 3)),
        "lower": np.where(rng.random((12, 3)) < 0.5, 0.0, -np.inf),
    }
    found = fit_logistics(features.transpose(0, 2, 1).copy(), targets, weights, **options)
    assert (found == options["lower"]).any()
    for k, answer in enumerate(found):
        own = {name: values[k] for name, values in options.items()}
        alone = fit_logistic(features[k], targets[k], weights, **own)
        np.testing.assert_allclose(answer, alone, rtol=1e-6, atol=1e-9)
