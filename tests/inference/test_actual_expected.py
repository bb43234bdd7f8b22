"""Actual to expected: closed forms, units, exact intervals of counts, and coverage."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2, t

from skcal.inference import actual_expected_ratio, mean_recalibration

INF = np.inf
Y = np.array([0.4, 2.1, 0.0, 3.5, 1.2, 16.0, 2.2, 4.4, 8.1, 3.0, 9.7, 5.2])
P = np.array([0.5, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0])


def leave_out(actual, expected):
    """What each unit changes of the logarithm of the ratio, by a one-step jackknife.

    The intercept of mean_recalibration has the same: score over the information of the others.
    """
    ratio = actual.sum() / expected.sum()
    return (actual - ratio * expected) / (ratio * (expected.sum() - expected))


def find_ends(actual, expected, level):
    """Both ends by their definition; Hall's transformation is inverted by a search for its root."""
    moves, shares = leave_out(actual, expected), expected / expected.sum()
    error = np.sqrt(np.sum(moves**2))
    skewness = np.sum(moves**3) / error**3
    quantile = t.isf((1 - level) / 2, 1 / np.sum(shares**2) - 1)

    def transform(x, target):
        return x + skewness * (x**2 / 3 + 1 / 6) + skewness**2 * x**3 / 27 - target

    below, above = (
        1 - error * brentq(transform, -1e3, 1e3, args=(side * quantile,)) for side in (1, -1)
    )
    ends = min(np.exp(-quantile * error), below), max(np.exp(quantile * error), above)
    return np.array(ends) * actual.sum() / expected.sum()


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99, np.nextafter(1, 0)])
def test_definition(level, rng):
    weights, member = rng.uniform(0.5, 2, 12), np.arange(12) % 10
    for options, actual, expected in (
        ({}, Y, P),
        ({"sample_weight": weights}, weights * Y, weights * P),
        ({"clusters": member}, *(np.bincount(member, values) for values in (Y, P))),
        (
            {"clusters": member, "sample_weight": weights},
            *(np.bincount(member, weights * values) for values in (Y, P)),
        ),
    ):
        found = actual_expected_ratio(Y, P, confidence_level=level, **options)
        assert found.estimate == pytest.approx(actual.sum() / expected.sum())
        ends = find_ends(actual, expected, level)
        np.testing.assert_allclose(found[1:], np.maximum(ends, 0), rtol=1e-7)


def test_half_length_is_that_of_the_intercept_where_targets_are_not_skewed():
    """At predictions all alike but for one weightless row, u is antisymmetric."""
    y, p = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), np.full(8, 4.0)
    found = actual_expected_ratio(y, p)
    p[0] *= 1 + 1e-9
    level = mean_recalibration(y, p, power=1).calibration_in_the_large
    np.testing.assert_allclose(np.log(found.high), level.high, rtol=1e-6)
    assert found.low == pytest.approx(find_ends(y, p, 0.95)[0], rel=1e-6)
    assert found.low < np.exp(level.low)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 30])
def test_counts_of_rare_claims(count):
    """The interval holds that of the Poisson law, whose ends are exact (Garwood), or nearly."""
    y = np.zeros(5000)
    y[:count] = 1
    found = actual_expected_ratio(y, np.full(5000, count / 5000))
    exact = chi2.ppf(0.025, 2 * count) / 2 / count, chi2.ppf(0.975, 2 * count + 2) / 2 / count
    assert found.low == pytest.approx(exact[0], abs=0.1)
    assert exact[1] * 0.95 < found.high < exact[1] * 2.1


def test_units_order_weights_and_copies(rng):
    found, order = actual_expected_ratio(Y, P), rng.permutation(12)
    np.testing.assert_allclose(actual_expected_ratio(Y[order], P[order]), found, rtol=1e-12)
    for scale in (1e-300, 1e-80, 1e80):
        scaled = actual_expected_ratio(scale * Y, scale * P, sample_weight=np.full(12, 7.0))
        np.testing.assert_allclose(scaled, found, rtol=1e-12)
    rows = np.append(Y, 1e9), np.append(P, 1e-9)
    absent = actual_expected_ratio(*rows, sample_weight=np.append(np.ones(12), 0))
    np.testing.assert_allclose(absent, found, rtol=1e-12)
    twice = actual_expected_ratio(np.tile(Y, 2), np.tile(P, 2), clusters=np.tile(np.arange(12), 2))
    np.testing.assert_allclose(twice, found, rtol=1e-12)
    # Counts over exposures are rates, with exposures as weights.
    time = rng.uniform(0.1, 1, 12)
    rates = actual_expected_ratio(Y / time, P / time, sample_weight=time)
    np.testing.assert_allclose(rates, found, rtol=1e-12)


def test_where_nothing_is_known():
    assert actual_expected_ratio([0, 0], [1, 2]) == (0, 0, INF)
    assert actual_expected_ratio([3], [2]) == (1.5, 0, INF)
    assert actual_expected_ratio([1, 2, 4], [0.5, 1, 2]) == (2, 2, 2)
    assert actual_expected_ratio([1e100, 1], [1e-300, 1e-300]) == (INF, 0, INF)


def test_refusals():
    for y, p, message in (
        ([1, -2], [1, 2], r"^The sum of y_true must not be negative; got -1"),
        ([1, 1], [1, -1], r"^y_pred must not be negative; got -1\.0 at row 1"),
        ([1, 1], [0, 0], r"^y_pred must not be 0 in all rows"),
        ([1, 1], [1, 2, 3], "^y_true and y_pred must have the same length; got 2 and 3"),
        ([1, np.nan], [1, 2], "^y_true must hold finite numbers"),
        ([1, 1e200], [1, 2], "^y_true must be at most 1e100"),
    ):
        with pytest.raises(ValueError, match=message):
            actual_expected_ratio(y, p)
    with pytest.raises(ValueError, match=r"^sample_weight must hold at least one positive weight"):
        actual_expected_ratio([1, 2], [1, 2], sample_weight=[0, 0])


def draw(kind, n, rng):
    """Calibrated rows, as arguments of the function."""
    p, options = np.exp(rng.normal(0, 0.5, n)), {}
    amounts = np.exp(rng.normal(-0.5, 1, n))
    if kind == "counts":
        options["sample_weight"] = rng.uniform(0.1, 1, n)
        y = rng.poisson(p * options["sample_weight"]) / options["sample_weight"]
    elif kind == "amounts":
        y = p * amounts
    elif kind == "amounts with zeros":
        y = p * amounts * (rng.random(n) < 0.2) / 0.2
    else:
        options["clusters"] = np.arange(n) // 5
        y = rng.poisson(2 * p * rng.gamma(4, 1 / 4, n)[options["clusters"]]) / 2
    return {"y_true": y, "y_pred": p} | options


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["counts", "amounts", "amounts with zeros", "clusters"])
@pytest.mark.parametrize(("n", "most"), [(50, 0.075), (100, 0.065), (1000, 0.055)])
def test_coverage(kind, n, most, rng):
    n_samples, misses = 2000, 0
    for _ in range(n_samples):
        found = actual_expected_ratio(**draw(kind, n, rng))
        misses += not found.low <= 1 <= found.high
    assert misses <= binom(n_samples, most).ppf(0.999)
