"""Regions are where errors are, and calibrated predictions have none."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

from skcal._numerics.curves._regions import Intervals, find_quantile, find_regions
from skcal.inference import isotonic_band
from tests.cases import slow_among

# Predictions of calibrated models, from a generator and a number of rows.
CALIBRATED = {
    "uniform": lambda rng, n: rng.random(n),
    "at both ends": lambda rng, n: rng.beta(0.2, 0.2, n),
    "in clumps": lambda rng, n: rng.choice([0.05, 0.3, 0.31, 0.9], n),
    "rare": lambda rng, n: rng.beta(0.3, 30, n),
    "certain": lambda rng, n: rng.choice([0.0, 0.5, 1.0], n),
}


def find(y_proba, truth, seed, weights=None, n_draws=99):
    rng = np.random.default_rng(seed)
    y_true = (rng.random(len(y_proba)) < truth).astype(float)
    options = {"confidence_level": 0.95, "n_draws": n_draws, "rng": rng}
    return find_regions(y_proba, y_true, weights, **options)


def count_false(case, n_samples, n_times, *, weighted=False):
    found = 0
    for seed in range(n_times):
        rng = np.random.default_rng([seed, 1])
        y_proba = CALIBRATED[case](rng, n_samples)
        weights = rng.exponential(size=n_samples) if weighted else None
        found += bool(find(y_proba, y_proba, seed, weights))
    return found


@pytest.mark.parametrize("case", slow_among(CALIBRATED, "uniform", "at both ends"))
def test_calibrated_predictions_have_no_region(case):
    """With the given confidence, exactly: 30 samples have more than 6 with one in 10^4."""
    assert count_false(case, 300, 30) <= binom.ppf(1 - 1e-4, 30, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_samples", [200, 2000, 20_000])
@pytest.mark.parametrize("case", CALIBRATED)
def test_level_is_exact(case, n_samples, weighted):
    n_times = 100 if n_samples < 20_000 else 50
    most = binom.ppf(1 - 1e-4, n_times, 0.05)
    assert count_false(case, n_samples, n_times, weighted=weighted) <= most


def test_error_of_a_part_is_found_there():
    """The other rows are calibrated; a region may reach beyond its end by chance."""
    for seed in range(5):
        y_proba = np.random.default_rng([seed, 2]).random(5000)
        wrong = (y_proba > 0.6) & (y_proba < 0.7)
        (region,) = find(y_proba, np.where(wrong, y_proba - 0.25, y_proba), seed)
        assert 0.55 < region.low < 0.63
        assert 0.67 < region.high < 0.75
        assert region.mean_outcome < region.mean_prediction


@pytest.mark.parametrize("seed", range(3))
def test_signs_alternate_with_the_error(seed):
    y_proba = np.random.default_rng([seed, 3]).random(4000)
    regions = find(y_proba, expit(logit(y_proba) / 2), seed)
    assert [region.mean_outcome > region.mean_prediction for region in regions] == [True, False]
    assert regions[0].high < 0.6
    assert regions[1].low > 0.4


@pytest.mark.parametrize("weighted", [False, True])
def test_means_are_those_of_the_rows(weighted):
    rng = np.random.default_rng(0)
    y_proba, weights = rng.random(1000), rng.exponential(size=1000) if weighted else None
    y_true = (rng.random(1000) < 0.3 + 0.4 * y_proba).astype(float)
    options = {"confidence_level": 0.95, "n_draws": 99}
    regions = find_regions(y_proba, y_true, weights, **options, rng=np.random.default_rng(0))
    assert regions
    for region in regions:
        rows = (y_proba >= region.low) & (y_proba <= region.high)
        own = np.ones(1000) if weights is None else weights
        for values, mean in ((y_proba, region.mean_prediction), (y_true, region.mean_outcome)):
            assert mean == pytest.approx(np.average(values[rows], weights=own[rows]))
        assert region.share == pytest.approx(own[rows].sum() / own.sum())
    if weighted:  # whose unit does not matter
        rng = np.random.default_rng(0)
        again = find_regions(y_proba, y_true, 1e200 * weights, **options, rng=rng)
        np.testing.assert_allclose(again, regions)


def test_rows_of_next_to_no_weight_are_as_good_as_absent():
    rng = np.random.default_rng(0)
    y_proba = rng.random(500)
    y_true = (rng.random(500) < 0.3 + 0.4 * y_proba).astype(float)
    weights = np.where(np.arange(500) % 5, rng.random(500) + 0.5, 1e-300)
    options = {"confidence_level": 0.95, "n_draws": 99}
    found, without = (
        find_regions(*rows, **options, rng=np.random.default_rng(0))
        for rows in (
            (y_proba, y_true, weights),
            [values[weights > 0.1] for values in (y_proba, y_true, weights)],
        )
    )
    assert found == without != []


def test_outcomes_that_were_impossible():
    y_proba = np.repeat([0.0, 0.5, 1.0], 100)
    wrong = np.arange(300) < 20
    y_true = np.where(wrong, 1.0, np.where(y_proba == 0.5, np.arange(300) % 2, y_proba))
    options = {"confidence_level": 0.95, "n_draws": 99, "rng": np.random.default_rng(0)}
    (region,) = find_regions(y_proba, y_true, None, **options)
    assert region == (0, 0, 0, pytest.approx(0.2), pytest.approx(1 / 3))
    assert find_regions(y_proba, np.where(wrong, 0, y_true), None, **options) == []
    certain = np.repeat([0.0, 1.0], 50)
    assert find_regions(certain, certain, None, **options) == []


def test_scores_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    v, y, w = np.sort(rng.random(7)), rng.integers(0, 2, 7), rng.exponential(size=7)
    intervals = Intervals(w, w * v, w**2, w**2 * v * (1 - v))
    # Cells of a row each.
    variance, square = w**2 * v * (1 - v), w**2 * (y - v) ** 2
    total = max(variance.sum(), square.sum())
    scores = []
    for first in range(7):
        for last in range(first + 1, 8):
            rows = slice(first, last)
            own = max(variance[rows].sum(), square[rows].sum())
            residual = abs((w * (y - v))[rows].sum())
            expected = residual / np.sqrt(own) - np.sqrt(2 * np.log(np.e * total / own))
            scores.append((expected, first, last))
    best, first, last = max(scores)
    assert intervals.find_largest((w * y)[None])[0] == pytest.approx(best)
    assert intervals.choose(w * y, best + 1e-6) == []
    assert (first, last) in intervals.choose(w * y, best - 1e-6)


def test_quantile_is_exact():
    """Of 20 values in any order the largest is the last one once in 20 times."""
    drawn = np.random.default_rng(0).permutation(19)
    assert find_quantile(drawn, 0.95) == 18
    assert find_quantile(drawn, 0.9) == 17
    assert find_quantile(drawn[:18], 0.95) == np.inf


def test_regions_where_the_isotonic_band_is_too_wide():
    """Confidences of many classes, of which 300 rows are 6 points too high."""
    regions = bands = 0
    for seed in range(10):
        rng = np.random.default_rng([seed, 4])
        confidence = 0.04 + 0.96 * rng.beta(4, 1.2, 300)
        truth = confidence - 0.3 * (1 - confidence)
        right = (rng.random(300) < truth).astype(int)
        options = {"confidence_level": 0.95, "n_draws": 99, "rng": rng}
        regions += bool(find_regions(confidence, right.astype(float), None, **options))
        bands += any(map(len, isotonic_band(right, confidence).find_deviations()))
    assert regions >= bands + 3


@pytest.mark.parametrize("is_weighted", [False, True])
def test_regions_of_clusters(is_weighted):
    """Rows that come true together make regions by chance; many clusters show one, few do not."""
    options = {"confidence_level": 0.95, "n_draws": 99}
    found = {"rows": 0, "clusters": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        member = np.repeat(np.arange(60), 10)
        predictions = np.repeat(rng.uniform(0.2, 0.8, 60), 10) + rng.uniform(-0.01, 0.01, 600)
        outcomes = np.repeat(rng.random(60), 10) < predictions
        weights = rng.uniform(0.5, 2, 600) if is_weighted else None
        rows = predictions, outcomes.astype(float), weights
        found["rows"] += bool(find_regions(*rows, rng=rng, **options))
        found["clusters"] += bool(find_regions(*rows, member, rng=rng, **options))
    assert found["rows"] > 15
    assert found["clusters"] <= 4  # 1 of 20 is expected
    shifted = predictions, (rng.random(600) < predictions / 3).astype(float), weights
    assert find_regions(*shifted, member, rng=rng, **options)
    assert find_regions(*shifted, member // 6, rng=rng, **options) == []
