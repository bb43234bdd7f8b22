"""consistency_band: against all outcomes, the binomial law, its level, and input."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from skcal.inference import consistency_band


@pytest.fixture
def rng():
    return np.random.default_rng(9)


def count_outcomes(probabilities):
    """Law of the number of ones, by the probability of every outcome."""
    pmf = np.zeros(len(probabilities) + 1)
    for outcome in product([0, 1], repeat=len(probabilities)):
        hits = np.array(outcome)
        pmf[hits.sum()] += np.where(hits, probabilities, 1 - probabilities).prod()
    return pmf


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
    if simultaneous:
        assert coverage >= level


def test_equal_predictions_are_binomial():
    n = 4000
    band = consistency_band(np.ones(n), np.full(n, 0.3))
    expected = binom.ppf(0.025, n, 0.3), binom.isf(0.025, n, 0.3)
    np.testing.assert_array_equal([band.low[0] * n, band.high[0] * n], expected)


def test_levels_next_to_one():
    """Beyond what the arithmetic resolves, ranges grow no further than all rows."""
    n = 10**5
    band = consistency_band(np.ones(n), np.ones(n), n_bins=1, confidence_level=1 - 1e-12)
    assert band.low[0] == band.high[0] == 1
    band = consistency_band(np.zeros(33), np.full(33, 0.03), confidence_level=1 - 2e-16)
    alpha, q = 1 - (1 - 2e-16), np.arange(34)
    assert band.high[0] * 33 == q[binom.sf(q - 1, 33, 0.03) > alpha / 2].max()


def test_smallest_confidence_level():
    """1 minus it is 1, at which the two medians of a fair trial were in the wrong order."""
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


def test_bins_are_those_of_the_diagram(rng):
    proba = rng.random(500)
    y = rng.random(500) < proba**2
    band = consistency_band(y, proba, n_bins=5)
    index = np.ceil(5 * proba).astype(int)
    for b in range(1, 6):
        assert band.prob_pred[b - 1] == pytest.approx(proba[index == b].mean())
        assert band.prob_true[b - 1] == pytest.approx(y[index == b].mean())
    assert (band.prob_true < band.low).any()  # over-confident, and seen to be


def test_ranges_do_not_depend_on_outcomes(rng):
    proba = rng.random(200)
    for strategy in ("uniform", "quantile"):
        one, other = (
            consistency_band(rng.random(200) < p, proba, strategy=strategy) for p in (0.1, 0.9)
        )
        for name in ("prob_pred", "low", "high"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_certain_predictions_allow_no_other_outcome():
    band = consistency_band([0, 1, 1], [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(band.low, [0, 1])
    np.testing.assert_array_equal(band.high, [0, 1])


@pytest.mark.parametrize(("proba", "ends"), [(0.4, (0, 1)), (0.02, (0, 0)), (0.98, (1, 1))])
def test_single_row(proba, ends):
    band = consistency_band([1], [proba])
    assert (band.low[0], band.high[0]) == ends
    assert band.prob_true[0] == 1


def test_simultaneous_is_a_flag():
    with pytest.raises(ValueError, match="simultaneous must be True or False; got 1"):
        consistency_band([0, 1], [0.2, 0.7], simultaneous=1)
