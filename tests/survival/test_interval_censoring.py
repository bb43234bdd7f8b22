"""Events that are only known to have come between two times, such as two visits."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from skcal._numerics.survival._censoring import expect_events
from skcal.survival import a_calibration, d_calibration, martingale_test, survival_at
from tests.chance import most_of

TESTS = d_calibration, a_calibration, martingale_test


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# What d_cal_ic of SurvivalEVAL 0.8.0 gives for the example at the end of its module
# DistributionCalibration; bins are counted from 1 downwards.
LEFT, RIGHT = [0.84, 0.65, 0.42, 0.75, 1, 1], [0.72, 0.63, 0.03, 0, 0.24, 0]
D_CALIBRATION = {
    4: (0.4040807883232775, 0.9393982153265712),
    5: (1.4194686515590014, 0.8408043108286687),
    10: (1.6548254871928438, 0.9958269584511608),
}
COUNTS_OF_4 = [1.32894737, 2.1622807, 1.34817814, 1.16059379]


@pytest.mark.parametrize("n_bins", D_CALIBRATION)
def test_values_of_survival_eval(n_bins):
    found = d_calibration(None, RIGHT, survival_before=LEFT, n_bins=n_bins)
    np.testing.assert_allclose(found[:2], D_CALIBRATION[n_bins], rtol=1e-12)
    if n_bins == 4:
        np.testing.assert_allclose(6 * found.shares[::-1], COUNTS_OF_4)


def test_shares_by_hand():
    """The first one lies by 8/12 and 4/12 in the bins around .8, and the second one in one bin."""
    found = d_calibration(None, RIGHT, survival_before=LEFT, n_bins=10)
    ends = [Fraction(k, 10) for k in range(11)]
    expected = [Fraction(0)] * 10
    for low, high in zip(RIGHT, LEFT, strict=True):
        low, high = (Fraction(round(100 * end), 100) for end in (low, high))
        for k in range(10):
            overlap = min(high, ends[k + 1]) - max(low, ends[k])
            expected[k] += max(overlap, 0) / (high - low) / 6
    np.testing.assert_allclose(found.shares, np.array(expected, dtype=float), atol=1e-15)


def draw_curves(rng, n=200):
    """Survival probabilities at the ends of intervals, and which of them never end."""
    low, high = np.sort(rng.random((2, n)), axis=0)
    is_open = rng.random(n) < 0.4
    return np.where(is_open, 0, low), high, is_open


def test_no_end_is_right_censoring_exactly(rng):
    """S(infinity) = 0, and events at known times are intervals without a length."""
    low, high, is_open = draw_curves(rng)
    survival = np.where(is_open, high, low)
    for test, options in zip(TESTS, ({}, {"random_state": 0}, {}), strict=True):
        found = test(None, low, survival_before=high, **options)
        expected = test(~is_open, survival, survival_before=high, **options)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    low = np.where(is_open, 0, high)
    for test, options in zip(TESTS, ({}, {"random_state": 0}, {}), strict=True):
        found = test(None, low, survival_before=high, **options)
        for one, other in zip(found, test(~is_open, high, **options), strict=True):
            np.testing.assert_array_equal(one, other)
    found = d_calibration(None, low, survival_before=high, randomized=True, random_state=0)
    expected = d_calibration(~is_open, high, randomized=True, random_state=0)
    np.testing.assert_array_equal(found.shares, expected.shares)


def test_late_entry(rng):
    low, high, is_open = draw_curves(rng)
    entry = high + (1 - high) * rng.random(200)
    for test, options in zip(TESTS, ({}, {"random_state": 0}, {}), strict=True):
        found = test(None, low, survival_before=high, survival_entry=entry, **options)
        survival = np.where(is_open, high, low)
        expected = test(~is_open, survival, survival_before=high, survival_entry=entry, **options)
        assert found[:2] == expected[:2]


def test_curves_at_the_end_of_time():
    grid, curves = [1.0, 2.0], [[0.5, 0.25]] * 4
    found = survival_at([0, 1.5, 2, np.inf], curves, times=grid)
    np.testing.assert_allclose(found, [1, np.sqrt(0.125), 0.25, 0])
    np.testing.assert_array_equal(survival_at(np.inf, curves, times=grid), 0)
    for time, message in (
        ([1, 2, np.nan, np.inf], "time must be a number, not negative; got nan at row 2"),
        ([1, 2, -np.inf, np.inf], "time must be a number, not negative; got -inf at row 2"),
        ([1, 2, 3, np.inf], "time must not be later than the last of times, 2; got 3 at row 2"),
    ):
        with pytest.raises(ValueError, match=message):
            survival_at(time, curves, times=grid)


@pytest.mark.parametrize("visits", [[0.7], [0.9, 0.5, 0.45], [0.99, 0.3, 0.01]])
def test_events_between_visits_are_a_martingale(visits):
    """Given when the visits are, all that may come is enumerated: mean 0, and the variance."""
    ends = np.array([1.0, *visits])
    chances = np.append(-np.diff(ends), ends[-1])  # of each interval, and of no event
    event = np.append(np.ones(len(visits), dtype=bool), False)
    expected, variance = expect_events(event, ends[[*range(1, len(ends)), -1]], ends)
    residuals = event - expected
    assert chances @ residuals == pytest.approx(0, abs=1e-12)
    assert chances @ residuals**2 == pytest.approx(chances @ variance)
    mean = quad(lambda u: -np.log(u), visits[0], 1)[0] / (1 - visits[0])
    assert expected[0] == pytest.approx(mean)


def test_what_is_refused():
    for test in TESTS:
        with pytest.raises(ValueError, match="survival_before must be given if event is None"):
            test(None, [0.5, 0.2])
        with pytest.raises(ValueError, match=r"survival_before must not be below survival, 0.5"):
            test(None, [0.5, 0.2], survival_before=[0.4, 0.3])


def draw_visits(rng, n=300):
    """Rates, and the times of the visits before and after the event, one to three years apart."""
    rate = rng.uniform(0.05, 0.5, n)
    time, end = rng.exponential(1 / rate), np.minimum(rng.exponential(8, n), 12)
    lower, upper, now = np.zeros(n), np.full(n, np.inf), np.zeros(n)
    for _ in range(13):
        now = now + rng.uniform(1, 3, n)
        is_seen = (now <= end) & np.isinf(upper)
        upper = np.where(is_seen & (time <= now), now, upper)
        lower = np.where(is_seen & (time > now), now, lower)
    return rate, lower, upper


def test_levels():
    """At 5 % right models are not rejected more often; visits or middles as times reject most."""
    rng, n_samples, rejected = np.random.default_rng(0), 150, np.zeros(6)
    for _ in range(n_samples):
        rate, lower, upper = draw_visits(rng)
        event = np.isfinite(upper)
        seen = np.where(event, upper, lower)
        both = {"survival_before": np.exp(-rate * lower)}
        survival = np.where(event, np.exp(-rate * seen), 0)
        rejected += [
            test.pvalue <= 0.05
            for test in (
                d_calibration(None, survival, **both),
                d_calibration(None, survival, randomized=True, random_state=rng, **both),
                a_calibration(None, survival, random_state=rng, **both),
                martingale_test(None, survival, **both),
                d_calibration(event, np.exp(-rate * seen)),
                d_calibration(None, survival**1.5, survival_before=np.exp(-1.5 * rate * lower)),
            )
        ]
    shared, *others, late, wrong = rejected
    assert shared <= most_of(n_samples, 0.01)
    assert max(others) <= most_of(n_samples, 0.05)
    assert late > 0.9 * n_samples
    assert wrong > 0.5 * n_samples
