"""Comparison of summaries: the exact law, level, power and bad input."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from skcal.inference import compare_summaries
from skcal.streaming import CalibrationSummary
from tests.inference.samples import check_level, summarize

both = pytest.mark.parametrize("deviation", ["range", "max"])


def observe(rng, n_rows, *, law=(1, 1), digits=None):
    """Of a model that is not calibrated."""
    v = rng.beta(*law, n_rows)
    v = v if digits is None else np.round(v, digits)
    return summarize(rng.random(n_rows) < 0.1 + 0.6 * v**2, v)


def repeat(counts):
    """Summary of rows by prediction: prediction -> (outcomes 0, outcomes 1)."""
    summary = CalibrationSummary()
    for v, (negative, positive) in counts.items():
        summary.update([0] * negative + [1] * positive, [v] * (negative + positive))
    return summary


@both
def test_pvalue_is_that_of_all_ways_to_deal_out_the_outcomes(deviation):
    first = {0.1: (3, 1), 0.4: (1, 4), 0.6: (2, 2), 0.9: (0, 3)}
    second = {0.1: (5, 1), 0.4: (4, 2), 0.6: (1, 1), 0.9: (2, 2)}
    n, m = (np.sum(list(part.values()), axis=1) for part in (first, second))
    k, other = (np.array(list(part.values()))[:, 1] for part in (first, second))
    positive, weight = k + other, n * m / (n + m)

    def measure(dealt):
        sums = np.append(0.0, np.cumsum(weight * (dealt / n - (positive - dealt) / m)))
        return np.ptp(sums) if deviation == "range" else np.abs(sums).max()

    laws = [hypergeom(*law) for law in zip(n + m, positive, n, strict=True)]
    ways = np.array(list(product(*(range(count + 1) for count in n))))
    chance = np.prod([law.pmf(column) for law, column in zip(laws, ways.T, strict=True)], axis=0)
    values, observed = np.array([measure(dealt) for dealt in ways]), measure(k)
    exact, mean = chance @ (values >= observed - 1e-9), chance @ values
    options = {"deviation": deviation, "n_resamples": 40_000, "random_state": 0}
    result = compare_summaries(repeat(first), repeat(second), **options)
    assert 0.01 < exact < 0.99
    assert abs(result.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 40_000)
    assert result.estimate == pytest.approx(observed / weight.sum(), rel=1e-12)
    sd = np.sqrt(sum(law.var() for law in laws))
    assert result.statistic == pytest.approx(observed / sd, rel=1e-12)
    error = np.sqrt(chance @ (values - mean) ** 2 / 40_000)
    assert result.null_mean * sd == pytest.approx(mean, abs=4 * error)
    assert result.worst_group is None


@pytest.mark.parametrize(
    "digits", [1, pytest.param(None, marks=pytest.mark.slow)], ids=["alone in cells", "spread"]
)
@pytest.mark.parametrize("n_rows", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_level_with_other_predictions_and_no_change(digits, n_rows):
    """Also for a model that is not calibrated, and for predictions that are shifted."""
    rng, pvalues = np.random.default_rng(n_rows), []
    for _ in range(200):
        first = observe(rng, n_rows, law=(2, 4), digits=digits)
        second = observe(rng, 2 * n_rows, law=(4, 2), digits=digits)
        result = compare_summaries(first, second, n_resamples=39, random_state=rng)
        pvalues.append(result.pvalue)
    check_level(pvalues)
    if n_rows > 100:  # and no less often than that: the test is not idle
        assert np.sum(np.array(pvalues) <= 0.5) >= binom(200, 0.5).ppf(0.0005)


@both
def test_power_and_estimate(rng, deviation):
    """For a change everywhere, and for one that cancels on the whole; either way round."""
    v, options = rng.random(8000), {"deviation": deviation, "random_state": 0}
    for change in (0.1, 0.2 * np.sin(4 * np.pi * v)):
        first, second = (summarize(rng.random(8000) < 0.2 + v / 2 + c, v) for c in (0, change))
        result = compare_summaries(first, second, **options)
        assert result.pvalue <= 0.005
        if np.isscalar(change):
            assert result.estimate == pytest.approx(change, abs=0.03)
        back = compare_summaries(second, first, **options)
        np.testing.assert_allclose(back[:3], result[:3], rtol=1e-9)


def test_rows_of_one_period_only_and_equal_outcomes_add_nothing():
    first = repeat({0.1: (30, 0), 0.5: (3, 9), 0.9: (0, 50)})
    second = repeat({0.1: (20, 0), 0.5: (8, 5), 0.7: (40, 2)})
    middle = [repeat({0.5: counts}) for counts in ((3, 9), (8, 5))]
    options = {"n_resamples": 20_000, "random_state": 0}
    whole, part = (compare_summaries(*pair, **options) for pair in ((first, second), middle))
    assert whole.statistic == pytest.approx(part.statistic, rel=1e-12)
    assert abs(whole.pvalue - part.pvalue) < 6 * np.sqrt(0.25 / 20_000)
    # But the estimate is a mean over all predictions that the periods share.
    share = (12 * 13 / 25) / (12 * 13 / 25 + 12)
    assert whole.estimate == pytest.approx(part.estimate * share, rel=1e-12)


def test_no_difference_and_no_variation(rng):
    summary = observe(rng, 2000)
    assert compare_summaries(summary, summary, random_state=0)[:3] == (0.0, 1.0, 0.0)
    first, second = repeat({0.2: (12, 0)}), repeat({0.2: (30, 0)})
    assert compare_summaries(first, second, random_state=0)[:5] == (0.0, 1.0, 0.0, None, 0.0)
    lone = repeat({0.2: (1, 0)}), repeat({0.2: (0, 1)})
    assert compare_summaries(*lone, random_state=0).pvalue == 1.0


def test_numbers_of_a_billion_rows():
    """The cells of a summary are only numbers."""
    first = second = repeat({0.2: (70, 30), 0.6: (40, 60)})
    for _ in range(24):  # 200 * 2^24 rows, above 3 * 10^9
        first, second = first + first, second + second
    assert first.n_samples_ > 3e9
    assert compare_summaries(first, second, n_resamples=99, random_state=0).pvalue == 1.0
    more = second + repeat({0.6: (0, 600_000)})
    # The mean rises by 1.4e-4, with a standard deviation of sqrt(2 * 0.24 / 1.7e9) = 1.7e-5.
    assert compare_summaries(first, more, n_resamples=99, random_state=0).pvalue == 0.01


@pytest.mark.parametrize(
    ("settings", "others", "name"),
    [
        ({"n_cells": 64}, {"n_cells": 128}, "n_cells"),
        ({"labels": [0, 1], "pos_label": 0}, {"labels": [0, 1]}, "pos_label"),
        ({"labels": [0, 1]}, {}, "labels"),
        ({"reduction": "confidence"}, {}, "reduction"),
    ],
)
def test_other_settings_are_refused(settings, others, name):
    rows = [1, 0], [[0.2, 0.8], [0.6, 0.4]]
    with pytest.raises(ValueError, match=f"must have the same settings; {name} is"):
        compare_summaries(summarize(*rows, **settings), summarize(*rows, **others))
    # But what drops rows may differ.
    first, second = (summarize([0, 1], [0.5, 0.5], on_invalid=do) for do in ("drop", "raise"))
    assert compare_summaries(first, second, random_state=0).pvalue == 1.0


def test_bad_input():
    good = repeat({0.25: (3, 4)})
    with pytest.raises(ValueError, match="must hold predictions near each other"):
        compare_summaries(good, repeat({0.75: (3, 4)}))
    with pytest.raises(ValueError, match="deviation must be"):
        compare_summaries(good, good, deviation="chi2")
    with pytest.raises(ValueError, match="n_resamples must be"):
        compare_summaries(good, good, n_resamples=0)
