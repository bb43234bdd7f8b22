"""A-calibration: events in bins of the survival probability beside those that are expected."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from skcal.survival import a_calibration, d_calibration, martingale_test


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, n=500, censoring=0.4, *, whole=False):
    """Rates, events and times, censored at a rate, in whole years or not."""
    rate = rng.uniform(0.05, 0.5, n)
    time, end = rng.exponential(1 / rate), rng.exponential(1 / censoring, n)
    if whole:
        time, end = np.ceil(time), np.ceil(end)
    return rate, time <= end, np.minimum(time, end)


@pytest.mark.parametrize("n_bins", [1, 2, 5, 10, "cube_root"])
def test_by_its_definition(rng, n_bins):
    rate, event, seen = draw(rng, 60)
    survival = np.exp(-rate * seen)
    found = a_calibration(event, survival, n_bins=n_bins)
    number = 4 if n_bins == "cube_root" else n_bins
    assert len(found.observed) == number
    assert found.observed.sum() == event.sum()
    assert (found.edges[0], found.edges[-1]) == (0, 1)
    for low, high, observed in zip(found.edges, found.edges[1:], found.observed, strict=False):
        assert observed == np.sum((survival[event] > low) & (survival[event] <= high))
        passed = np.log(np.maximum(high, survival)) - np.log(np.maximum(low, survival))
        assert passed.sum() == pytest.approx(found.expected)
    statistic = np.sum((found.observed - found.expected) ** 2) / found.expected
    assert found.statistic == pytest.approx(statistic)
    assert found.pvalue == pytest.approx(chi2.sf(statistic, number))


def test_expected_events_of_akritas(rng):
    """n int (1 - H) / (1 - F) dF over a bin, with H the distribution of the ends of follow-up."""
    rate, event, seen = draw(rng, 40)
    survival = np.exp(-rate * seen)
    found = a_calibration(event, survival, n_bins=4)
    for low, high in pairwise(found.edges):
        inner = survival[(survival > low) & (survival < high)]
        ends = np.concatenate([[max(low, survival.min())], np.sort(inner), [high]])
        parts = [quad(lambda u: np.sum(survival < u) / u, a, b)[0] for a, b in pairwise(ends)]
        assert sum(parts) == pytest.approx(found.expected, rel=1e-6)


def test_one_bin_is_the_martingale_test(rng):
    rate, event, seen = draw(rng, 100)
    survival = np.exp(-1.2 * rate * seen)
    found, one = a_calibration(event, survival, n_bins=1), martingale_test(event, survival)
    assert found.expected == pytest.approx(one.expected)
    assert found.statistic == pytest.approx(one.statistic**2)
    assert found.pvalue == pytest.approx(one.pvalue)


def test_early_and_late_errors(rng):
    """Twice the right hazard up to the median time, and none after it."""
    rate, event, seen = draw(rng, 2000)
    middle = np.median(seen)
    survival = np.exp(-2 * rate * np.minimum(seen, middle) - 1e-3 * np.maximum(seen - middle, 0))
    found = a_calibration(event, survival, n_bins=2)
    assert found.observed[0] > found.expected > found.observed[1]
    assert found.pvalue < 1e-6


def test_order_does_not_matter(rng):
    rate, event, seen = draw(rng, 80)
    survival, order = np.exp(-rate * seen), rng.permutation(80)
    found, again = a_calibration(event, survival), a_calibration(event[order], survival[order])
    np.testing.assert_array_equal(found.observed, again.observed)
    np.testing.assert_allclose(found.edges, again.edges)


def test_events_that_are_certain_or_impossible():
    tiny = np.finfo(float).tiny
    assert a_calibration([0, 0], [1, 1], n_bins=2)[:2] == (0, 1)
    assert a_calibration([1, 0], [1, 1], n_bins=2)[:2] == (np.inf, tiny)
    assert a_calibration([1, 0], [0.5, 0], n_bins=2)[:2] == (np.inf, tiny)
    # In discrete time, an event is certain in the end.
    found = a_calibration([1, 1], [0, 0], survival_before=[1, 1], n_bins=1, random_state=0)
    assert np.isfinite(found.statistic)


def test_draws_in_discrete_time(rng):
    rate, event, seen = draw(rng, whole=True)
    curve = {"survival": np.exp(-rate * seen), "survival_before": np.exp(-rate * (seen - 1))}
    one, again, other = (a_calibration(event, **curve, random_state=k) for k in (0, 0, 1))
    np.testing.assert_array_equal(one.observed, again.observed)
    assert one.statistic != other.statistic
    # An interval that is one point is continuous time.
    point = curve["survival"] * rng.uniform(0.9, 1, 500)
    settings = {"survival_before": point, "random_state": 0}
    found, plain = a_calibration(event, point, **settings), a_calibration(event, point)
    np.testing.assert_array_equal(found.observed, plain.observed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"survival": [0.5, 1.1]}, r"survival must lie in \[0, 1\]; got 1.1 at row 1"),
        ({"survival": [[0.5, 0.1]]}, "survival must be one-dimensional"),
        ({"event": [0, 3]}, "event must hold 0 and 1"),
        ({"event": [0]}, "event must have the shape"),
        ({"survival_before": [0.6, 0.3]}, "survival_before must not be below survival, 0.4 at row"),
        ({"n_bins": 0}, "n_bins"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        a_calibration(**{"event": [0, 1], "survival": [0.5, 0.4]} | change)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_level_and_power(whole):
    """With 60 % censored: right models, and the wrong shape S(t) = exp(-(r t)^1.25)."""
    rng, n_samples, rejected = np.random.default_rng(0), 600, np.zeros(3)
    for _ in range(n_samples):
        rate, event, seen = draw(rng, whole=whole)
        for k, power in enumerate((1, 1.25)):
            before = {"survival_before": np.exp(-((rate * (seen - 1)) ** power))} if whole else {}
            rows = {"event": event, "survival": np.exp(-((rate * seen) ** power))} | before
            rejected[k] += a_calibration(**rows, random_state=rng).pvalue <= 0.05
        rejected[2] += d_calibration(**rows).pvalue <= 0.05
    level, power, of_shares = rejected / n_samples
    assert abs(level - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n_samples)
    assert power > of_shares + 0.15
