"""Averages of calibrated members: normal log odds, for which the best average is known."""

import numpy as np
import pytest
from scipy.special import expit, logit

from skcal._numerics.recalibration._fold_average import (
    FoldAverage,
    Pooled,
    average_probabilities,
    find_disagreement,
    find_slope,
    fit_average,
)
from skcal._numerics.recalibration._scores import average_log_odds

RATE = 0.1


def draw(n_members, correlation, n_samples=20_000, seed=0):
    """Outcomes, and members each of which knows the log odds given its own normal evidence."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_samples) < RATE).astype(int)
    noise = np.sqrt(correlation) * rng.normal(size=n_samples)
    noise = noise + np.sqrt(1 - correlation) * rng.normal(size=(n_members, n_samples))
    odds = logit(RATE) + 2 * (2 * y - 1) + 2 * noise  # evidence of mean 2 and variance 4
    return y, [np.column_stack([expit(-own), expit(own)]) for own in odds]


def pool(members):
    counts = np.full(len(members[0]), len(members))
    return Pooled(average_probabilities(members), average_log_odds(members), counts)


def find_loss(y, proba):
    return -np.log(proba[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("correlation", [0.3, 0.6, 0.9])
def test_normal_members(correlation):
    """Three members tell the right average of five: its odds are those of the sum of evidence."""
    y, three = draw(3, correlation)
    average = fit_average(pool(three), y, np.ones(len(y)), 5)
    slope = find_slope(5, correlation)
    # Their errors have standard deviations of .026 and .045 at most, in 60 draws.
    assert abs(average.slope / slope - 1) < 0.15
    shift = average.intercepts[1] - average.intercepts[0]
    assert abs(shift - (1 - slope) * logit(RATE)) < 0.3 * slope
    new, five = draw(5, correlation, seed=1)
    z = np.mean([logit(one[:, 1]) for one in five], axis=0)
    best = expit(logit(RATE) + slope * (z - logit(RATE)))
    found = average.apply(five)
    assert find_loss(new, found) < find_loss(new, np.column_stack([1 - best, best])) * 1.01
    assert find_loss(new, found) < min(
        find_loss(new, average_probabilities(five)), find_loss(new, average_log_odds(five))
    )
    assert abs(found[:, 1].mean() / average_probabilities(five)[:, 1].mean() - 1) < 0.03


def test_slopes_of_members_that_are_independent_or_the_same():
    assert find_slope(5, 0.0) == 5
    assert find_slope(5, 1.0) == 1


def test_members_that_are_the_same():
    """Any average of them is what they say."""
    y, (one,) = draw(1, 0.5)
    average = fit_average(pool([one, one, one]), y, np.ones(len(y)), 5)
    np.testing.assert_allclose(average.apply([one] * 5), one, rtol=0, atol=0.01)
    assert find_disagreement([one, one], np.ones(len(y))) == pytest.approx(0, abs=1e-12)


def test_sums_are_those_of_the_mean():
    """Of as many members as the average was fitted for, in its rows, of each of four classes."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(2000, 4)) + np.array([-4.0, -1, 0, 1])
    parts = [np.exp(truth + rng.normal(scale=0.8, size=truth.shape)) for _ in range(3)]
    members = [part / part.sum(axis=1, keepdims=True) for part in parts]
    proba = average_probabilities(members)
    y = (rng.random((2000, 1)) >= proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    for mass in (np.ones(2000), rng.integers(1, 4, 2000).astype(float)):
        average = fit_average(pool(members), y, mass, 3)
        wanted = mass @ proba
        np.testing.assert_allclose(mass @ average.apply(members), wanted, rtol=1e-8)
        assert (mass @ average_log_odds(members))[0] < 0.93 * wanted[0]


def test_weights_are_copies():
    y, three = draw(3, 0.5, 500)
    copies = np.random.default_rng(1).integers(1, 4, 500)
    found = fit_average(pool(three), y, copies.astype(float), 5)
    repeated = [np.repeat(one, copies, axis=0) for one in three]
    expected = fit_average(pool(repeated), np.repeat(y, copies), np.ones(copies.sum()), 5)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_rows_may_have_different_numbers_of_members():
    """Such rows say the same: half of them by two members, half by four."""
    y, members = draw(4, 0.5)
    two, four = pool(members[:2]), pool(members)
    first = np.arange(len(y)) % 2 == 0
    both = [np.where(first[:, None], *pair) for pair in zip(two[:2], four[:2], strict=True)]
    mixed = Pooled(*both, np.where(first, 2, 4))
    slopes = [fit_average(part, y, np.ones(len(y)), 5).slope for part in (two, four, mixed)]
    assert min(slopes[:2]) - 0.02 < slopes[2] < max(slopes[:2]) + 0.02


def test_certain_rows():
    """Hard zeros, classes that no member holds for possible, and rows that are all right."""
    sure = np.tile([[1.0, 0, 0], [0, 1, 0]], (20, 1))
    y = np.tile([0, 1], 20)
    average = fit_average(pool([sure, sure, sure]), y, np.ones(40), 5)
    np.testing.assert_array_equal(average.apply([sure] * 5), sure)
    split = np.tile([[0.9, 0.1, 0], [0.1, 0.9, 0]], (20, 1))
    average = fit_average(pool([sure, split, sure]), y, np.ones(40), 5)
    found = average.apply([split] * 5)
    assert np.isfinite(found).all()
    assert (found[:, 2] == 0).all()
    # One error is expected among some hundred rows, not one in a million.
    assert 1e-4 < found[0, 1] < 0.1
    wrong = fit_average(pool([sure, sure, split]), 1 - y, np.ones(40), 5)
    assert np.isfinite(wrong.apply([sure] * 5)).all()


def test_the_mean_of_log_odds_is_one_of_them():
    _, parts = draw(5, 0.95, 100)  # none is near a hundredth of the mean
    mean = FoldAverage(0.0, 1.0, np.zeros(2)).apply(parts)
    np.testing.assert_allclose(
        logit(mean[:, 1]), np.mean([logit(one[:, 1]) for one in parts], axis=0), atol=1e-9
    )
