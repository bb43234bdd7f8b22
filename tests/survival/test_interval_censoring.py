"""Events that are only known to have come between two times, such as two visits."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from skcal._numerics.survival._censoring import expect_events
from skcal.survival import a_calibration, d_calibration, martingale_test
from tests.chance import most_of

TESTS = d_calibration, a_calibration, martingale_test


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# What d_cal_ic of SurvivalEVAL 0.8.0 gives for the example at the end of its module
# DistributionCalibration; bins are counted from 1 downwards. Intervals without an end are those of
# rows without an event.
LEFT, RIGHT = [0.84, 0.65, 0.42, 0.75, 1, 1], [0.72, 0.63, 0.03, 0, 0.24, 0]
EVENT, SURVIVAL = [1, 1, 1, 0, 1, 0], [0.72, 0.63, 0.03, 0.75, 0.24, 1]
D_CALIBRATION = {
    4: (0.4040807883232775, 0.9393982153265712),
    5: (1.4194686515590014, 0.8408043108286687),
    10: (1.6548254871928438, 0.9958269584511608),
}
COUNTS_OF_4 = [1.32894737, 2.1622807, 1.34817814, 1.16059379]


@pytest.mark.parametrize("n_bins", D_CALIBRATION)
def test_values_of_survival_eval(n_bins):
    found = d_calibration(EVENT, SURVIVAL, survival_before=LEFT, n_bins=n_bins)
    np.testing.assert_allclose(found[:2], D_CALIBRATION[n_bins], rtol=1e-12)
    if n_bins == 4:
        np.testing.assert_allclose(6 * found.shares[::-1], COUNTS_OF_4)


def test_shares_by_hand():
    """The first one lies by 8/12 and 4/12 in the bins around .8, and the second one in one bin."""
    found = d_calibration(EVENT, SURVIVAL, survival_before=LEFT, n_bins=10)
    ends = [Fraction(k, 10) for k in range(11)]
    expected = [Fraction(0)] * 10
    for low, high in zip(RIGHT, LEFT, strict=True):
        low, high = (Fraction(round(100 * end), 100) for end in (low, high))
        for k in range(10):
            overlap = min(high, ends[k + 1]) - max(low, ends[k])
            expected[k] += max(overlap, 0) / (high - low) / 6
    np.testing.assert_allclose(found.shares, np.array(expected, dtype=float), atol=1e-15)


def draw_curves(rng, n=200):
    """Events, and survival probabilities at the last two visits, or twice that at the last one."""
    low, high = np.sort(rng.random((2, n)), axis=0)
    event = rng.random(n) < 0.6
    return event, np.where(event, low, high), high


def test_no_end_is_right_censoring_exactly(rng):
    """What was before counts for events alone; at known times their intervals have no length."""
    event, survival, before = draw_curves(rng)
    for test, options in zip(TESTS, ({}, {"random_state": 0}, {}), strict=True):
        expected = test(event, survival, survival_before=before, **options)
        other = np.where(event, before, (1 + survival) / 2)
        found = test(event, survival, survival_before=other, **options)
        for one, same in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, same)
        found = test(event, before, survival_before=before, **options)
        for one, same in zip(found, test(event, before, **options), strict=True):
            np.testing.assert_array_equal(one, same)
    options = {"randomized": True, "random_state": 0}
    found = d_calibration(event, before, survival_before=before, **options)
    np.testing.assert_array_equal(found.shares, d_calibration(event, before, **options).shares)


def test_hard_zeros(rng):
    """Forests predict that nobody survives the next visit: the event is one, and counts as such."""
    event, survival, before = draw_curves(rng)
    survival = np.where(event, 0, survival)
    assert a_calibration(event, survival, survival_before=before).observed.sum() == event.sum()
    found = martingale_test(event, survival, survival_before=before)
    assert found.observed == event.sum()
    # Of -log U with U uniform on [0, b] the mean is 1 - log b.
    expected = event.sum() - np.log(np.where(event, before, survival)).sum()
    assert found.expected == pytest.approx(expected)
    # Such an event and a row that is censored are both spread over [0, before].
    for options in ({}, {"randomized": True, "random_state": 0}):
        found = d_calibration(event, survival, survival_before=before, **options)
        same = d_calibration(np.zeros(200), before, **options)
        np.testing.assert_allclose(found.shares, same.shares, atol=1e-15)


def test_late_entry(rng):
    """Of survivors of the entry the probabilities are those over that of the entry."""
    event, survival, before = draw_curves(rng)
    entry = before + (1 - before) * rng.random(200)
    for test in d_calibration, martingale_test:
        found = test(event, survival, survival_before=before, survival_entry=entry)
        expected = test(event, survival / entry, survival_before=before / entry)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)


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
        with pytest.raises(ValueError, match=r"event must hold 1 or 0 for each row.*; got None\."):
            test(None, [0.5, 0.2], survival_before=[0.6, 0.3])
        with pytest.raises(ValueError, match=r"survival_before must not be below survival, 0.5"):
            test([1, 1], [0.5, 0.2], survival_before=[0.4, 0.3])


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
    """At 5 % right models are not rejected more often, but with visits as times most are."""
    rng, n_samples, rejected = np.random.default_rng(0), 150, np.zeros(6)
    for _ in range(n_samples):
        rate, lower, upper = draw_visits(rng)
        event = np.isfinite(upper)
        seen = np.where(event, upper, lower)
        survival, before = np.exp(-rate * seen), np.exp(-rate * lower)
        both = {"survival_before": before}
        rejected += [
            test.pvalue <= 0.05
            for test in (
                d_calibration(event, survival, **both),
                d_calibration(event, survival, randomized=True, random_state=rng, **both),
                a_calibration(event, survival, random_state=rng, **both),
                martingale_test(event, survival, **both),
                d_calibration(event, survival),
                d_calibration(event, survival**1.5, survival_before=before**1.5),
            )
        ]
    shared, *others, late, wrong = rejected
    assert shared <= most_of(n_samples, 0.01)
    assert max(others) <= most_of(n_samples, 0.05)
    assert late > 0.9 * n_samples
    assert wrong > 0.5 * n_samples
