"""Observed to expected: published values, rare events, and coverage."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from skcal.inference import cox_recalibration, observed_expected_ratio


def test_published_validation():
    """predRupdate 0.2.1: ``pred_validate`` of the first model of SYNPM on its 20000 rows.

    It prints the ends of the usual interval of the ratio, from which the exact one is known to
    differ by half a row, of which each is worth 1 / 1488.99. The file rounds log odds to 0.005,
    which moves nothing by more than 3e-5.
    """
    file = Path(__file__).with_name("predrupdate_synpm.csv")
    log_odds, n_rows, n_events = np.loadtxt(file, delimiter=",", skiprows=4, unpack=True)
    counts = np.concatenate([n_events, n_rows - n_events]).astype(int)
    y = np.repeat(np.repeat([1, 0], len(log_odds)), counts)
    v = np.repeat(np.tile(expit(log_odds), 2), counts)
    ratio = observed_expected_ratio(y, v)
    assert round(ratio.estimate, 4) == 1.9006
    np.testing.assert_allclose(ratio[1:], [1.8368, 1.9666], atol=2 / 1488.99)
    cox = cox_recalibration(y, v)
    assert round(cox.calibration_in_the_large.estimate, 4) == 0.7323
    assert round(cox.slope.estimate, 4) == 0.6484


@pytest.mark.parametrize("confidence_level", [0.5, 0.95])
def test_without_an_event_and_with_events_alone(confidence_level):
    alpha = 1 - confidence_level
    none = observed_expected_ratio(
        np.zeros(300), np.full(300, 0.01), confidence_level=confidence_level
    )
    expected = 0, 0, (1 - (alpha / 2) ** (1 / 300)) / 0.01
    np.testing.assert_allclose(none, expected, rtol=1e-12)
    every = observed_expected_ratio(
        np.ones(10), np.full(10, 0.8), confidence_level=confidence_level
    )
    np.testing.assert_allclose(every, [1.25, (alpha / 2) ** 0.1 / 0.8, 1.25], rtol=1e-12)


@pytest.mark.parametrize(("n", "rate"), [(500, 0.002), (500, 0.006), (200, 0.015), (300, 0.05)])
def test_coverage_of_rare_events(n, rate):
    """Summed over all numbers of events: 95 % at least, and at most .025 on either side."""
    v = np.full(n, rate / 2)
    counts = np.arange(binom(n, rate).isf(1e-9) + 1, dtype=int)
    ends = [observed_expected_ratio(np.arange(n) < k, v, pos_label=True)[1:] for k in counts]
    low, high = np.transpose(ends)
    chance = binom(n, rate).pmf(counts)
    assert chance[low > 2].sum() <= 0.025
    assert chance[high < 2].sum() <= 0.025


@pytest.mark.slow
def test_coverage_of_unequal_probabilities():
    """Rows of a rare event whose sum varies less than a binomial one."""
    rng, misses, n_samples = np.random.default_rng(0), 0, 2000
    v = rng.beta(0.2, 10, 400)
    for _ in range(n_samples):
        found = observed_expected_ratio(rng.random(400) < v, v, pos_label=True)
        misses += not found.low <= 1 <= found.high
    assert misses <= binom(n_samples, 0.05).ppf(0.999)


def test_nothing_expected():
    with pytest.raises(ValueError, match=r"^y_proba must not be 0 in all rows"):
        observed_expected_ratio([0, 1, 1], [0.0, 0.0, 0.5], sample_weight=[1, 1, 0])
