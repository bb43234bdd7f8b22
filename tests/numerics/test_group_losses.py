"""Losses of corrections, by their definitions."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import mean_tweedie_deviance

from skcal._numerics.recalibration._group_losses import LogLoss, MeanLoss
from skcal._numerics.recalibration._group_scaling import GroupDesign, fit_group_scaling

POWERS = [0.0, 1.0, 1.5, 2.0]


def draw_means(power, n=500, seed=0):
    """Means on the scale of the link, and targets about them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(scale=0.5, size=n)
    if power == 0:
        return values, values + rng.normal(size=n)
    return values, np.exp(values) * rng.gamma(2.0, 0.5, n)


def list_losses():
    rng = np.random.default_rng(1)
    odds = rng.normal(size=500)
    yield LogLoss(odds, (rng.random(500) < expit(odds)) + 0.0)
    for power in POWERS:
        yield MeanLoss(*draw_means(power), power, 1.7)


@pytest.mark.parametrize("loss", [*list_losses()], ids=["log", *map(str, POWERS)])
def test_slopes_and_curvatures(rng, loss):
    corrections, step = rng.normal(size=500), 1e-5
    _, slopes, curvatures = loss.evaluate(corrections)
    low, high = (loss.evaluate(corrections + move) for move in (-step, step))
    np.testing.assert_allclose((high[0] - low[0]) / (2 * step), slopes, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose((high[1] - low[1]) / (2 * step), curvatures, rtol=1e-5, atol=1e-7)
    residuals, variances = loss.find_residuals(corrections)
    np.testing.assert_allclose(residuals, -slopes)
    assert (variances > 0).all()
    rows = rng.permutation(500)[:20]
    np.testing.assert_array_equal(loss.take(rows).evaluate(corrections[rows])[1], slopes[rows])


@pytest.mark.parametrize("power", POWERS)
def test_losses_of_means_are_half_deviances_over_the_dispersion(rng, power):
    values, targets = draw_means(power)
    first, second = rng.normal(size=(2, 500))
    loss = MeanLoss(values, targets, power, 0.3)
    found = loss.evaluate(second)[0].sum() - loss.evaluate(first)[0].sum()
    means = [np.exp(values + own) if power else values + own for own in (first, second)]
    deviances = [500 * mean_tweedie_deviance(targets, own, power=power) for own in means]
    assert found == pytest.approx((deviances[1] - deviances[0]) / 2 / 0.3, rel=1e-9)


@pytest.mark.parametrize("power", POWERS)
def test_variances_of_residuals(power):
    """With the variance phi mean^p of targets, that of a slope (mean - y) mean^(1 - p) / phi."""
    values, targets = draw_means(power)
    means = np.exp(values) if power else np.ones(500)
    of_targets = 0.3 * means**power
    expected = of_targets * (means ** (1 - power) / 0.3) ** 2
    found = MeanLoss(values, targets, power, 0.3).find_residuals(np.zeros(500))[1]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("power", POWERS)
def test_constants_have_the_least_loss(rng, power):
    values, targets = draw_means(power)
    mass = rng.uniform(0.5, 2, 500)
    loss = MeanLoss(values, targets + (1.0 if power == 0 else targets), power)
    best = loss.fit_constant(mass)
    _, slopes, curvatures = loss.evaluate(np.full(500, best))
    # Half an event more moves the constant by a thousandth.
    assert abs(mass @ slopes / (mass @ curvatures)) < (2e-3 if power else 1e-12)
    assert best == pytest.approx(np.log(2) if power else 1, abs=0.15)


def test_a_constant_where_all_targets_are_0():
    """Half an event as predicted is all there is: log(1/2 / (100 + 1/2))."""
    found = MeanLoss(np.zeros(100), np.zeros(100), 1.0).fit_constant(np.ones(100))
    assert found == pytest.approx(np.log(0.5 / 100.5))


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_constants_of_predictions_in_another_unit(power):
    """An excess of a million is found as exactly as one of two, and so is a deficit."""
    values, targets = draw_means(power)
    mass = np.ones(500)
    near = MeanLoss(values, 2 * targets, power).fit_constant(mass)
    far = MeanLoss(values, 1e6 * targets, power, 1e6 ** (2 - power)).fit_constant(mass)
    assert far - near == pytest.approx(np.log(1e6 / 2), abs=2e-3)
    low = MeanLoss(values, 1e-2 * targets, power, 1e-2 ** (2 - power)).fit_constant(mass)
    assert near - low == pytest.approx(np.log(2e2), rel=0.1)


def test_dispersion(rng):
    """Four times Poisson numbers of a quarter of the mean: the variance is four times the mean."""
    values = rng.normal(scale=0.3, size=100_000)
    targets = 4 * rng.poisson(np.exp(values) / 4) + 0.0
    mass, loss = np.ones(100_000), MeanLoss(values, targets, 1.0)
    found = loss.measure_dispersion(np.zeros(100_000), mass)
    assert found.dispersion == pytest.approx(4, rel=0.05)
    assert found.find_information(mass) == 1 / found.dispersion
    # As for an unbiased variance, with one row less for each number that was fitted.
    fewer = loss.measure_dispersion(np.zeros(100_000), mass, 20_000.0)
    assert fewer.dispersion == pytest.approx(found.dispersion / 0.8)


def test_squared_errors_have_the_ridge_solution(rng):
    """All penalties given; solved densely, and the dispersion is that of the residuals."""
    n = 300
    codes = [np.zeros(n, dtype=int), rng.integers(0, 4, n)]
    design = GroupDesign(codes, [1, 4], rng.normal(size=n), n_sloped=2)
    offset, mass = rng.normal(size=n), rng.integers(1, 4, n) + 0.0
    targets = offset + (codes[1] == 2) + rng.normal(size=n)
    splits = [(np.arange(n) % 2 == k).nonzero()[0] for k in range(2)]
    loss = MeanLoss(offset, targets, 0.0)
    coefficients, penalties, *_ = fit_group_scaling(design, loss, mass, [splits])
    levels = codes[1][:, None] == np.arange(4)
    columns = np.column_stack([np.ones(n), levels, design.scores, levels * design.scores[:, None]])
    # The dispersion is not told, but in the equation of each coefficient.
    residuals = targets - offset - columns @ coefficients
    dispersion = mass[levels[:, 2]] @ residuals[levels[:, 2]] / (penalties[0] * coefficients[3])
    spread = np.repeat([40 / dispersion, penalties[0], 40 / dispersion, penalties[1]], [1, 4, 1, 4])
    hessian = (columns.T * mass) @ columns / dispersion + np.diag(spread)
    expected = np.linalg.solve(hessian, columns.T @ (mass * (targets - offset)) / dispersion)
    np.testing.assert_allclose(coefficients, expected, atol=1e-6)
    assert dispersion == pytest.approx(mass @ residuals**2 / mass.sum(), rel=0.05)
