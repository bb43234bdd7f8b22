"""Likelihood of Cox's recalibration on hard samples: direct sums, closed forms, other scales."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2

from skcal._numerics import _cox
from skcal._numerics._cox import CoxLikelihood, find_crossing, find_thresholds

INF = np.inf


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


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_loss_and_derivatives_are_direct_sums(rng, monkeypatch, chunk):
    monkeypatch.setattr(_cox, "_CHUNK", chunk)
    x, y, w = rng.normal(size=8), rng.integers(0, 2, 8), rng.uniform(0.5, 2, 8)
    x[[2, 5]] = 0.0
    level, slope, centre = 0.3, -1.7, 0.4
    likelihood = CoxLikelihood(expit(x), y, w)
    assert len(likelihood.log_odds) == 7  # equal predictions are merged
    loss, gradient, hessian = likelihood._expand((level, slope), centre)
    probability = expit(level + slope * (x - centre))
    design = np.stack([np.ones(8), x - centre])
    share = w / w.sum()
    assert loss == pytest.approx(compute_deviance((level, slope), x, y, share, centre) / 2)
    np.testing.assert_allclose(gradient, design @ (share * (probability - y)), atol=1e-12)
    curvature = design * (share * probability * (1 - probability)) @ design.T
    np.testing.assert_allclose(hessian, curvature, atol=1e-12)


@pytest.mark.parametrize(
    ("centre", "scale"),
    [(2.0, 1e-3), (-2.5, 1e-5), (3.0, 1e-9), (-2.0, 1e-9), (-30.0, 1.0)],
)
def test_slopes_of_log_odds_on_another_scale(rng, centre, scale):
    """A shift of all log odds changes no slope, and a factor divides it and its interval."""
    for _ in range(8):
        z = rng.normal(size=rng.integers(6, 40))
        y = draw_outcomes(rng, expit(z))
        v = expit(centre + scale * z)
        rounded = (logit(v) - centre) / scale
        plain, moved = (CoxLikelihood(p, y, np.ones(len(z))) for p in (expit(rounded), v))
        fit, expected = moved.fit(), plain.fit()
        assert fit.loss == pytest.approx(expected.loss, rel=1e-6)
        np.testing.assert_allclose(
            np.multiply(moved.bound_slope(fit, 0.95), scale),
            plain.bound_slope(expected, 0.95),
            rtol=1e-5,
            atol=1e-6,
        )


@pytest.mark.parametrize(("centre", "scale"), [(2.0, 1e-2), (-2.5, 1e-5), (0.5, 1e-7)])
def test_intercept_far_from_all_log_odds(rng, centre, scale):
    """At the ends of its interval the best line through them reaches the critical deviance."""
    for _ in range(5):
        x = centre + scale * rng.normal(size=30)
        y = draw_outcomes(rng, expit((x - centre) / scale))
        likelihood = CoxLikelihood(expit(x), y, np.ones(30))
        fit = likelihood.fit()
        for end in likelihood.bound_intercept(fit, 0.95)[1:]:

            def profile(level, end=end, x=x, y=y):
                return compute_deviance((level, (level - end) / centre), x, y, 1.0, centre)

            least = minimize_scalar(profile, bracket=(-1, 1), options={"xtol": 1e-12}).fun
            assert least - 60 * fit.loss == pytest.approx(chi2.isf(0.05, 1), rel=1e-4)


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
        least = compute_deviance((level.estimate, 1), x, y)
        for end in level[1:]:
            deviance = compute_deviance((end, 1), x, y) - least
            assert deviance == pytest.approx(chi2.isf(0.05, 1), rel=1e-5)


def test_slope_where_nearly_all_outcomes_are_certain(rng):
    """Separated or not: at the ends the best intercept reaches the critical deviance."""
    for _ in range(20):
        v = expit(np.clip(300 * rng.normal(size=8), -690, 36))
        x, y = logit(v), np.append(rng.random(6) < 0.5, [False, True]).astype(float)
        likelihood = CoxLikelihood(v, y, np.ones(8))
        fit = likelihood.fit()
        ends = np.array(likelihood.bound_slope(fit, 0.95)[1:])
        assert np.isfinite(ends).any()
        for end in ends[np.isfinite(ends)]:
            most = abs(end) * np.abs(x).max() + 60
            least = minimize_scalar(
                lambda level, end=end, x=x, y=y: compute_deviance((level, end), x, y),
                bounds=(-most, most),
                method="bounded",
                options={"xatol": 1e-10},
            ).fun
            assert least - 16 * fit.loss == pytest.approx(chi2.isf(0.05, 1), rel=1e-5)


def test_smallest_predictions():
    """Of log odds from -744, equally spaced, and outcomes symmetric about the middle one.

    The slope that fits best is 0, and the chance 2 / 5; the fit begins where outcomes are all but
    certain.
    """
    v = 5e-324 * np.array([1, 3, 9, 27, 81])
    likelihood = CoxLikelihood(v, np.array([0, 1, 0, 1, 0]), np.ones(5))
    fit = likelihood.fit()
    assert fit.slope == pytest.approx(0, abs=1e-9)
    assert fit.intercept == pytest.approx(np.log(2 / 3), abs=1e-6)
    assert fit.loss == pytest.approx(-(2 * np.log(0.4) + 3 * np.log(0.6)) / 5, rel=1e-12)
    slope = likelihood.bound_slope(fit, 0.95)
    assert slope.low == pytest.approx(-slope.high, rel=1e-6)


def test_outcomes_uncertain_far_from_the_mean_of_the_log_odds(rng):
    for _ in range(10):
        x = 2 - 10 * rng.exponential(size=40)
        x[0] = 3.0
        y = draw_outcomes(rng, expit(x))
        w = rng.uniform(0.5, 2, 40)
        fit = CoxLikelihood(expit(x), y, w).fit()
        residual = w * (y - expit(fit.intercept + fit.slope * x))
        np.testing.assert_allclose([residual.sum(), residual @ x], 0, atol=1e-5)


def test_few_passes_where_intercept_and_slope_are_nearly_collinear(rng, record):
    """A few Newton steps for each end, from a first guess along the best line."""
    fits = []
    for centre, scale in ((3.0, 0.3), (-2.0, 0.1)) * 4:
        z = rng.normal(size=1000)
        y = (rng.random(1000) < expit(0.2 + 0.8 * z)).astype(float)
        likelihood = CoxLikelihood(expit(centre + scale * z), y, np.ones(1000))
        fits.append((likelihood, likelihood.fit()))
    passes = record(CoxLikelihood, "_expand")
    for bound in (CoxLikelihood.bound_intercept, CoxLikelihood.bound_slope):
        passes.clear()
        for likelihood, fit in fits:
            bound(likelihood, fit, 0.95)
        assert len(passes) <= 8 * 2 * len(fits)


def test_middle_threshold_of_symmetric_log_odds():
    """It is 0, where the intercept stays 0 while the slope grows without bounds."""
    for outcomes, sign in (([0, 1], 1), ([1, 0], -1)):
        fit = CoxLikelihood(np.array([0.25, 0.75]), np.array(outcomes), np.ones(2)).fit()
        assert fit[:3] == (0.0, sign * INF, 0.0)


@pytest.mark.parametrize(
    ("negative", "positive", "expected"),
    [
        ([1, 2], [3, 4], (2, 3, 1)),
        ([1, 2], [2, 4], (2, 2, 1)),
        ([3, 4], [1, 2], (2, 3, -1)),
        ([2, 4], [1, 2], (2, 2, -1)),
        ([1, 4], [2, 3], None),
        ([2, 3], [1, 4], None),
    ],
)
def test_thresholds(negative, positive, expected):
    assert find_thresholds(np.array(negative), np.array(positive)) == expected


# --------------------------------------------------------------------------- crossings


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("step", "width"), [(1e-8, 1.0), (1e-3, 1e3), (1.0, 1e-6), (1e4, 1.0)])
def test_crossing_of_a_parabola(side, step, width):
    """The square root of the deviance is linear: two steps end there, whatever the first one."""
    calls = []

    def deviance(value):
        calls.append(value)
        return ((value - 3) / width) ** 2, 2 * (value - 3) / width**2

    assert find_crossing(deviance, 3.0, side * step, 4.0) - 3 == pytest.approx(
        2 * side * width, rel=1e-5, abs=1e-14
    )
    assert len(calls) <= 3


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("step", "unit"), [(1e-9, 1.0), (1e-3, 1e3), (1.0, 1e-6), (1e4, 1.0)])
def test_crossing_behind_a_flat_bottom(side, step, unit):
    """Newton's method has no start there."""

    def deviance(value):
        beyond = max(abs(value) / unit - 1, 0.0)
        return beyond**2, 2 * np.sign(value) * beyond / unit

    end = find_crossing(deviance, 0.0, side * step * unit, 4.0)
    assert end == pytest.approx(3 * side * unit, rel=1e-8)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    ("end", "step"), [(-1e6, 1.0), (-3.0, 0.01), (0.0, 1.0), (0.5, 50.0), (40.0, 1.0)]
)
def test_crossing_before_an_infinite_estimate(side, end, step):
    def deviance(value):
        height = 2 * np.logaddexp(0, side * (value - end))
        return height, 2 * side * expit(side * (value - end))

    critical = 2 * np.log(2)
    assert find_crossing(deviance, -side * INF, side * step, critical) == pytest.approx(
        end, rel=1e-9, abs=1e-8
    )


def test_crossing_that_the_arithmetic_does_not_resolve():
    """By rounding the deviance is too large at the estimate already, by little or by much."""
    for height in (4.0, 4.1, 100.0):
        assert find_crossing(lambda x, h=height: (h, 0.0), 0.5, 1e-3, 4.0) == 0.5
