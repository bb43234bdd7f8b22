"""Bounds of a non-decreasing curve: blocks, and all intervals of them one by one."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.stats import beta

from skcal._numerics.curves._isotonic_band import MOST_BLOCKS, bound_isotonic_curve, find_blocks


def bound_slowly(counts, positive, alpha):
    """Every interval of blocks, by the quantiles of its two Beta distributions (or NaN)."""
    n_blocks = len(counts)
    share = alpha / (n_blocks * (n_blocks + 1))
    low, high = np.zeros(n_blocks), np.ones(n_blocks)
    for i, j in combinations_with_replacement(range(n_blocks), 2):
        n, k = counts[i : j + 1].sum(), positive[i : j + 1].sum()
        low[j:] = np.fmax(low[j:], beta.ppf(share, k, n - k + 1))
        high[: i + 1] = np.fmin(high[: i + 1], beta.isf(share, k + 1, n - k))
    return low, high


@pytest.mark.parametrize(
    ("n_blocks", "most", "alpha"), [(1, 20, 0.5), (2, 1, 0.01), (5, 20, 0.01), (20, 20, 0.5)]
)
def test_against_every_interval(rng, n_blocks, most, alpha):
    counts = rng.integers(1, most + 1, n_blocks).astype(float)
    for probabilities in (np.linspace(0, 1, n_blocks), np.full(n_blocks, 0.9)):
        positive = rng.binomial(counts.astype(int), probabilities).astype(float)
        found = bound_isotonic_curve(counts, positive, alpha)
        np.testing.assert_allclose(found, bound_slowly(counts, positive, alpha), atol=1e-12)


@pytest.mark.parametrize("power", [1, 6])
def test_blocks_are_small_in_mass_and_width(rng, power):
    places = np.sort(rng.random(30_000) ** power)
    counts = rng.integers(1, 4, 30_000).astype(float)
    starts = find_blocks(places, counts)
    ends = np.append(starts[1:], len(places))
    mass = np.add.reduceat(counts, starts) / counts.sum()
    # One prediction has up to three rows, on both sides of the ends of a cell.
    assert mass.max() <= 1 / 200 + 6 / counts.sum()
    assert (places[ends - 1] - places[starts]).max() <= 1 / 200
    # Tails are fine: the first and the last row are alone, as long as they are few.
    assert (starts[1], starts[-1]) == (1, len(places) - 1)
    assert len(starts) <= 2 * 200 + 2 * np.log2(counts.sum())
    few = places[:MOST_BLOCKS] * 1e-9  # are not merged
    np.testing.assert_array_equal(find_blocks(few, counts[:MOST_BLOCKS]), range(MOST_BLOCKS))


def test_mirrored_predictions_have_mirrored_blocks():
    """The rows of one prediction stand around their middle, so that no end is preferred."""
    rng = np.random.default_rng(1)
    half, rows = np.sort(rng.random(3000)) / 2, rng.integers(1, 40, 3000).astype(float)
    places, counts = np.append(half, 1 - half[::-1]), np.append(rows, rows[::-1])
    middle = (np.cumsum(counts) - counts / 2) / counts.sum() * 200
    assert np.abs(middle - np.rint(middle)).min() > 1e-9  # cells are half open: none on an edge
    starts = find_blocks(places, counts)
    np.testing.assert_array_equal(starts[1:], len(places) - starts[:0:-1])
