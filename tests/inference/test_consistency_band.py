"""consistency_band: against all outcomes, the binomial law, its level, and input."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from skcal.inference import consistency_band


def count_outcomes(probabilities):
    """Law of the number of ones, by the probability of every outcome."""
    outcomes = np.array(list(product([0, 1], repeat=len(probabilities))))
    chance = np.where(outcomes, probabilities, 1 - probabilities).prod(axis=1)
    return np.bincount(outcomes.sum(axis=1), chance)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_against_all_outcomes(rng, level, simultaneous):
    """The shortest range whose two sides are missed by at most half of the error each."""
    proba = np.sort(rng.random(30))
    y = rng.random(30) < proba
    options = {"confidence_level": level, "simultaneous": simultaneous, "n_bins": 4}
    band = consistency_band(y, proba, **options)
    bins = np.array_split(proba, np.searchsorted(proba, [0.25, 0.5, 0.75]))
    alpha = 1 - (level ** (1 / 4) if simultaneous else level)
    coverage = 1.0
    for rows, low, high in zip(bins, band.low, band.high, strict=True):
        pmf, counts = count_outcomes(rows), np.arange(len(rows) + 1)
        low, high = round(low * len(rows)), round(high * len(rows))
        assert pmf[counts < low].sum() <= alpha / 2 < pmf[counts <= low].sum()
        assert pmf[counts > high].sum() <= alpha / 2 < pmf[counts >= high].sum()
        coverage *= pmf[low : high + 1].sum()
    assert coverage >= level or not simultaneous


def test_levels_next_to_one_and_next_to_zero():
    """Beyond what the arithmetic resolves, ranges grow no further than all rows."""
    band = consistency_band(np.ones(10**5), np.ones(10**5), n_bins=1, confidence_level=1 - 1e-12)
    assert band.low[0] == band.high[0] == 1
    band = consistency_band(np.zeros(33), np.full(33, 0.03), confidence_level=1 - 2e-16)
    alpha, q = 1 - (1 - 2e-16), np.arange(34)
    assert band.high[0] * 33 == q[binom.sf(q - 1, 33, 0.03) > alpha / 2].max()
    # 1 minus it is 1, at which the two medians of a fair trial were in the wrong order.
    band = consistency_band([1], [0.5], n_bins=1, confidence_level=1e-300)
    assert (band.low[0], band.high[0]) == (0, 1)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_level_on_calibrated_samples(rng, simultaneous):
    proba, n_runs = rng.beta(0.7, 2, 200), 2000
    band = consistency_band(np.zeros(200), proba, n_bins=8, simultaneous=simultaneous)
    y = rng.random((n_runs, 200)) < proba
    index = np.ceil(8 * proba) - 1
    means = np.stack([y[:, index == b].mean(axis=1) for b in np.unique(index)], axis=1)
    inside = (means >= band.low) & (means <= band.high)
    found = inside.all(axis=1).mean() if simultaneous else inside.mean(axis=0).min()
    assert found >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_runs)
    assert inside.mean() < 0.999  # ranges are no wider than whole numbers make them


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_are_those_of_the_diagram_and_ranges_do_not_depend_on_outcomes(rng, strategy):
    proba = rng.random(500)
    edges = (
        np.arange(1, 5) / 5 if strategy == "uniform" else np.quantile(proba, np.arange(1, 5) / 5)
    )
    index, bands = np.searchsorted(edges, proba), []
    for y in (rng.random(500) < proba**2, rng.random(500) < 0.9):
        bands.append(consistency_band(y, proba, n_bins=5, strategy=strategy))
        for found, rows in ((bands[-1].prob_pred, proba), (bands[-1].prob_true, y)):
            expected = [rows[index == b].mean() for b in range(5)]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert (bands[0].prob_true < bands[0].low).any()  # over-confident, and seen to be
    np.testing.assert_array_equal([bands[0].low, bands[0].high], [bands[1].low, bands[1].high])


def test_few_rows():
    certain = consistency_band([0, 1, 1], [0.0, 1.0, 1.0])  # they allow no other outcome
    np.testing.assert_array_equal([certain.low, certain.high], [[0, 1], [0, 1]])
    for proba, ends in ((0.4, (0, 1)), (0.02, (0, 0)), (0.98, (1, 1))):
        band = consistency_band([1], [proba])
        assert (band.low[0], band.high[0], band.prob_true[0]) == (*ends, 1)
