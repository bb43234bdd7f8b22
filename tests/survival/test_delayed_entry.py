"""Rows that are observed from a later time on, unless they had the event before."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, chi2

from skcal._numerics.survival._censoring import expect_events
from skcal.survival import a_calibration, d_calibration, martingale_test, survival_calibration

TESTS = (martingale_test, a_calibration, d_calibration)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, n, *, whole=False):
    """Rates, entries that are later for low ones, events and times, in whole years or not."""
    rate = np.exp(rng.normal(-1.2, 0.5, 8 * n))
    entry = np.where(rng.random(8 * n) < 0.3, 0, rng.uniform(0, 2, 8 * n) / np.sqrt(rate))
    time, end = rng.exponential(1 / rate), entry + rng.exponential(3, 8 * n)
    if whole:
        entry, time, end = np.floor(entry), np.ceil(time), np.ceil(end)
    rows = np.flatnonzero(time > entry)[:n]
    assert len(rows) == n
    return rate[rows], entry[rows], (time <= end)[rows], np.minimum(time, end)[rows]


def test_expected_events_of_r():
    """Martingale residuals of `byhand(0)` in tests/book3.R of survival (Therneau, Grambsch)."""
    start = np.array([1, 2, 5, 2, 1, 7, 3, 4, 8, 8])
    stop = np.array([2, 3, 6, 7, 8, 9, 9, 9, 14, 17])
    event = np.arange(10) < 7
    # Of these times and hazards the rows have seen a part each.
    hazard = {2: 1 / 2, 3: 1 / 3, 6: 1 / 5, 7: 1 / 4, 8: 1 / 4, 9: 2 / 5}
    parts = [[2], [3], [6], [3, 6, 7], [2, 3, 6, 7, 8], [8, 9], *2 * [[6, 7, 8, 9]], [9], [9]]
    expected = [sum(hazard[t] for t in part) for part in parts]
    survival, entry = (
        np.exp([-sum(h for t, h in hazard.items() if t <= place) for place in places])
        for places in (stop, start)
    )
    found, variance = expect_events(event, survival / entry, survival / entry)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(variance, expected)
    # The estimated hazards expect as many events as there are.
    found = martingale_test(event, survival, survival_entry=entry)
    assert found.observed == 7
    assert found.expected == pytest.approx(7)
    assert found.statistic == pytest.approx(0, abs=1e-12)


def test_constant_hazards_begin_anew_at_entry(rng):
    rate, entry, event, seen = draw(rng, 200)
    survival, start = np.exp(-rate * seen), np.exp(-rate * entry)
    anew = np.exp(-rate * (seen - entry))
    for test in (martingale_test, d_calibration):
        found, expected = test(event, survival, survival_entry=start), test(event, anew)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("n_bins", [1, 2, 5, 10])
def test_events_in_bins_by_their_definition(rng, n_bins):
    rate, entry, event, seen = draw(rng, 60)
    survival, start = np.exp(-rate * seen), np.exp(-rate * entry)
    found = a_calibration(event, survival, survival_entry=start, n_bins=n_bins)
    assert found.observed.sum() == event.sum()
    for (low, high), observed in zip(pairwise(found.edges), found.observed, strict=True):
        assert observed == np.sum((survival[event] > low) & (survival[event] <= high))
        ends = (np.log(np.clip(end, survival, start)) for end in (high, low))
        assert np.subtract(*ends).sum() == pytest.approx(found.expected)
    statistic = np.sum((found.observed - found.expected) ** 2) / found.expected
    assert found.statistic == pytest.approx(statistic)
    assert found.pvalue == pytest.approx(chi2.sf(statistic, n_bins))


def test_one_bin_is_the_martingale_test(rng):
    rate, entry, event, seen = draw(rng, 100)
    rows = event, np.exp(-1.2 * rate * seen)
    start = {"survival_entry": np.exp(-1.2 * rate * entry)}
    found, one = a_calibration(*rows, **start, n_bins=1), martingale_test(*rows, **start)
    assert found.expected == pytest.approx(one.expected)
    assert found.statistic == pytest.approx(one.statistic**2)


def test_rows_may_be_cut_in_two(rng):
    """A row that is censored halfway, and comes back at once, is as one row."""
    rate, entry, event, seen = draw(rng, 100)
    middle = entry + rng.random(100) * (seen - entry)
    start, survival, half = (np.exp(-rate * t) for t in (entry, seen, middle))
    cut = np.append(np.zeros(100, dtype=bool), event), np.append(half, survival)
    for test in (martingale_test, a_calibration):
        found = test(*cut, survival_entry=np.append(start, half))
        for one, other in zip(found, test(event, survival, survival_entry=start), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_entry_at_0_is_none(rng):
    rate, entry, _, _ = draw(rng, 100)
    survival, event = np.exp(-rate), entry < 1
    for test in TESTS:
        found = test(event, survival, survival_entry=np.ones(100))
        for one, other in zip(found, test(event, survival), strict=True):
            np.testing.assert_array_equal(one, other)


def test_one_step_after_entry_is_a_first_step():
    """Years in which a fifth of those that are left have the event, seen from any year on."""
    event, year = np.arange(60) % 5 == 0, np.arange(60) % 7
    left, anew = 0.8**year, np.full(60, 0.8)
    rows = {"survival_before": left, "survival_entry": left}
    for test in (martingale_test, d_calibration):
        found = test(event, 0.8 * left, **rows)
        for one, other in zip(found, test(event, anew, survival_before=anew / 0.8), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"survival_entry": [0.5, 0.3]}, "^survival_entry must not be below survival, 0.4 at row"),
        (
            {"survival": [0.9, 0.4], "survival_entry": [0.8, 0.5]},
            r"got 0.8. All .* from time 0 on: give S\(t\), not S\(t\) / S\(entry\), and S",
        ),
        (
            {"survival_entry": [0.5, 3.0]},
            r"^survival_entry must hold probabilities in \[0, 1\], neither times .* 3.0 at row 1",
        ),
        (
            {"survival_before": [0.6, 0.5], "survival_entry": [0.5, 0.5]},
            "^survival_entry must not be below survival_before, 0.6 at row 0; got 0.5",
        ),
        ({"survival_entry": [0.5]}, "^survival_entry must hold a number for each of the 2 rows"),
        ({"survival_entry": [[0.5, 1]]}, "^survival_entry must be one-dimensional"),
        ({"survival_entry": [1.5, 1]}, r"^survival_entry must lie in \[0, 1\]; got 1.5 at row 0"),
        (
            {"survival": [0.5, 0], "survival_entry": [1, 0]},
            "^survival_entry must be above 0, .* up to their entry; got 0 at row 1",
        ),
    ],
)
def test_what_is_refused(test, change, message):
    with pytest.raises(ValueError, match=message):
        test(**{"event": [0, 1], "survival": [0.5, 0.4]} | change)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_level(whole):
    """Tests of all times, also of events up to a horizon; without entries most are rejected."""
    rng, n_samples, rejected = np.random.default_rng(0), 1000, np.zeros(5)
    for _ in range(n_samples):
        rate, entry, event, seen = draw(rng, 300, whole=whole)
        rows = event, np.exp(-rate * seen)
        before = {"survival_before": np.exp(-rate * (seen - 1))} if whole else {}
        start = {"survival_entry": np.exp(-rate * entry)}
        early, last = entry < 3, np.minimum(seen, 3)
        cut = {"survival_before": np.exp(-rate * (last - 1))[early]} if whole else {}
        found = (
            martingale_test(*rows, **before, **start),
            a_calibration(*rows, **before, **start, random_state=rng),
            d_calibration(*rows, **before, **start, randomized=True, random_state=rng),
            martingale_test(
                (event & (seen <= 3))[early],
                np.exp(-rate * last)[early],
                survival_entry=start["survival_entry"][early],
                **cut,
            ),
            martingale_test(*rows, **before),
        )
        rejected += [one.pvalue <= 0.05 for one in found]
    *levels, without = rejected / n_samples
    assert np.abs(np.array(levels) - 0.05).max() < 4 * np.sqrt(0.05 * 0.95 / n_samples), levels
    assert without > 0.9


@pytest.mark.slow
def test_risks_after_entry_are_outcomes_as_any_other():
    """Time since entry, and risks of those that have survived so far, with Weibull times."""
    rng, n_samples, covered = np.random.default_rng(0), 300, np.zeros(3)
    rejected = 0
    for _ in range(n_samples):
        rate = np.exp(rng.normal(-1.2, 0.5, 3000))
        entry = rng.uniform(0, 2, 3000) / np.sqrt(rate)
        time, end = rng.exponential(1 / rate) ** 0.7, entry + rng.exponential(3, 3000)
        rows = np.flatnonzero(time > entry)[:400]
        rate, entry, event = rate[rows], entry[rows], (time <= end)[rows]
        seen = np.minimum(time, end)[rows]
        hazard = rate * ((entry + 1) ** (1 / 0.7) - entry ** (1 / 0.7))
        risk = -np.expm1(-hazard)[:, None]
        found = survival_calibration(
            event, seen - entry, risk, times=[1], n_resamples=99, random_state=rng
        ).horizons[0]
        intervals = found.ratio, found.calibration_in_the_large, found.slope
        covered += [
            one.low <= truth <= one.high for one, truth in zip(intervals, (1, 0, 1), strict=True)
        ]
        rejected += found.pvalue <= 0.05
    assert (covered >= binom.ppf(0.001, n_samples, 0.94)).all(), covered
    assert rejected <= binom.ppf(0.999, n_samples, 0.05)
