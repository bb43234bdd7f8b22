"""Likelihood of Cox's recalibration on hard samples: direct sums, closed forms, other scales."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2

from skcal._numerics.inference import _cox
from skcal._numerics.inference._cox import CoxLikelihood, find_crossing, find_thresholds

CRITICAL = chi2.isf(0.05, 1)


def compute_deviance(point, log_odds, outcomes, weights=1.0, centre=0.0):
    scores = point[0] + point[1] * (log_odds - centre)
    return 2 * np.sum(weights * np.logaddexp(0, np.where(outcomes, -scores, scores)))


def draw_outcomes(rng, chance):
    """Until both are there and no threshold separates them."""
    while True:
        outcomes = (rng.random(len(chance)) < chance).astype(float)
        kinds = [np.sort(chance[outcomes == kind]) for kind in (0, 1)]
        if all(map(len, kinds)) and find_thresholds(*kinds) is None:
            return outcomes


def fit(log_odds, outcomes):
    likelihood = CoxLikelihood(expit(log_odds), outcomes, np.ones(len(log_odds)))
    return likelihood, likelihood.fit()


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_loss_and_derivatives_are_direct_sums(rng, monkeypatch, chunk):
    monkeypatch.setattr(_cox, "_CHUNK", chunk)
    x, y, w = rng.normal(size=8), rng.integers(0, 2, 8), rng.uniform(0.5, 2, 8)
    x[[2, 5]] = 0.0
    level, slope, centre = 0.3, -1.7, 0.4
    likelihood = CoxLikelihood(expit(x), y, w)
    assert len(likelihood.log_odds) == 7  # equal predictions are merged
    loss, gradient, hessian = likelihood._expand((level, slope), centre)
    probability, design = expit(level + slope * (x - centre)), np.stack([np.ones(8), x - centre])
    share = w / w.sum()
    assert loss == pytest.approx(compute_deviance((level, slope), x, y, share, centre) / 2)
    assert_allclose(gradient, design @ (share * (probability - y)), atol=1e-12)
    curvature = design * (share * probability * (1 - probability)) @ design.T
    assert_allclose(hessian, curvature, atol=1e-12)


@pytest.mark.parametrize(
    ("centre", "scale"), [(2.0, 1e-3), (-2.5, 1e-5), (3.0, 1e-9), (-30.0, 1.0)]
)
def test_slopes_of_log_odds_on_another_scale(rng, centre, scale):
    """A shift of all log odds changes no slope, and a factor divides it and its interval."""
    for _ in range(8):
        z = rng.normal(size=rng.integers(6, 40))
        y = draw_outcomes(rng, expit(z))
        x = logit(expit(centre + scale * z))
        (plain, expected), (moved, found) = fit((x - centre) / scale, y), fit(x, y)
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        slopes = np.multiply(moved.bound_slope(found, 0.95), scale)
        assert_allclose(slopes, plain.bound_slope(expected, 0.95), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("centre", "scale"), [(2.0, 1e-2), (-2.5, 1e-5), (0.5, 1e-7)])
def test_intercept_far_from_all_log_odds(rng, centre, scale):
    """At the ends of its interval the best line through them reaches the critical deviance."""
    for _ in range(5):
        x = centre + scale * rng.normal(size=30)
        y = draw_outcomes(rng, expit((x - centre) / scale))
        likelihood, found = fit(x, y)
        for end in likelihood.bound_intercept(found, 0.95)[1:]:
            least = minimize_scalar(
                lambda a, end=end, *data: compute_deviance((a, (a - end) / centre), *data),
                args=(end, x, y, 1.0, centre),
                bracket=(-1, 1),
                options={"xtol": 1e-12},
            ).fun
            assert least - 60 * found.loss == pytest.approx(CRITICAL, rel=1e-4)


@pytest.mark.parametrize("seed", [17, 31])
def test_log_odds_of_any_size(seed):
    """Where nearly all outcomes are certain: the score equation, and deviances at the ends."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x = np.clip(rng.normal(size=15) * rng.choice([10, 100, 300]), -690, 36)
        x = logit(expit(x))
        y = draw_outcomes(rng, rng.permutation(expit(x / 20)))
        level = CoxLikelihood(expit(x), y, np.ones(15)).bound_level(0.95)
        assert expit(level.estimate + x).sum() == pytest.approx(y.sum(), rel=1e-6)
        least, *ends = (compute_deviance((value, 1), x, y) for value in level)
        chance = expit(level.estimate + x)
        worth = np.sum(chance * (1 - chance)) / np.sum((y - chance) ** 2)  # of each row
        count = max(15 * min(worth, 1), 1)
        assert_allclose(np.subtract(ends, least) * count / 15, CRITICAL, rtol=1e-5)


def test_slope_where_nearly_all_outcomes_are_certain(rng):
    """Separated or not: at the ends the best intercept reaches the critical deviance."""
    for _ in range(20):
        x = np.clip(300 * rng.normal(size=8), -690, 36)
        y = np.append(rng.random(6) < 0.5, [False, True]).astype(float)
        likelihood, found = fit(x, y)
        x, ends = logit(expit(x)), np.array(likelihood.bound_slope(found, 0.95)[1:])
        assert np.isfinite(ends).any()
        for end in ends[np.isfinite(ends)]:
            most = abs(end) * np.abs(x).max() + 60
            least = minimize_scalar(
                lambda level, end=end, x=x, y=y: compute_deviance((level, end), x, y),
                bounds=(-most, most),
                options={"xatol": 1e-10},
            ).fun
            assert least - 16 * found.loss == pytest.approx(CRITICAL, rel=1e-5)


def test_smallest_predictions():
    """Equally spaced log odds from -744 with symmetric outcomes: slope 0, and the chance 2 / 5."""
    predictions = 5e-324 * np.array([1, 3, 9, 27, 81])
    likelihood = CoxLikelihood(predictions, np.array([0, 1, 0, 1, 0]), np.ones(5))
    found = likelihood.fit()
    assert found.slope == pytest.approx(0, abs=1e-9)
    assert found.intercept == pytest.approx(np.log(2 / 3), abs=1e-6)
    assert found.loss == pytest.approx(-(2 * np.log(0.4) + 3 * np.log(0.6)) / 5, rel=1e-12)
    slope = likelihood.bound_slope(found, 0.95)
    assert slope.low == pytest.approx(-slope.high, rel=1e-6)


def test_few_passes_where_intercept_and_slope_are_nearly_collinear(rng, record):
    """A few Newton steps for each end, from a first guess along the best line."""
    passes = record(CoxLikelihood, "_expand")
    for centre, scale in ((3.0, 0.3), (-2.0, 0.1)) * 4:
        z = rng.normal(size=1000)
        y = (rng.random(1000) < expit(0.2 + 0.8 * z)).astype(float)
        likelihood, found = fit(centre + scale * z, y)
        passes.clear()
        likelihood.bound_intercept(found, 0.95)
        likelihood.bound_slope(found, 0.95)
        assert len(passes) <= 8 * 4


def test_middle_threshold_of_symmetric_log_odds():
    """It is 0, where the intercept stays 0 while the slope grows without bounds."""
    for outcomes, sign in (([0, 1], 1), ([1, 0], -1)):
        assert fit(logit([0.25, 0.75]), np.array(outcomes))[1][:3] == (0.0, sign * np.inf, 0.0)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("step", "width"), [(1e-8, 1.0), (1e-3, 1e3), (1.0, 1e-6), (1e4, 1.0)])
def test_crossing_of_a_parabola_and_of_one_with_a_flat_bottom(side, step, width):
    """The root of the first is linear: two steps end there. Newton's method has no other start."""
    calls = []

    def deviance(value, bottom=0.0):
        calls.append(value)
        beyond = max(abs(value - 3) / width - bottom, 0.0)
        return beyond**2, 2 * np.sign(value - 3) * beyond / width

    end = find_crossing(deviance, 3.0, side * step, 4.0)
    assert end - 3 == pytest.approx(2 * side * width, rel=1e-5, abs=1e-14)
    assert len(calls) <= 3
    end = find_crossing(lambda value: deviance(value, 1.0), 3.0, side * step * width, 4.0)
    assert end - 3 == pytest.approx(3 * side * width, rel=1e-8)
    # By rounding the deviance may be too large at the estimate already, by little or by much.
    for height in (4.0, 4.1, 100.0):
        assert find_crossing(lambda _, height=height: (height, 0.0), 0.5, step, 4.0) == 0.5


def test_crossing_of_steps_whose_product_overflows():
    def deviance(value):
        return (value / 1e200) ** 2, 2 * value / 1e200 / 1e200

    assert find_crossing(deviance, 0.0, 1e160, 4.0) == pytest.approx(2e200)
