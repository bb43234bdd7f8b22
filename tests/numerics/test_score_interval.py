"""Wilson's interval and the exact one: published values, and what tests accept."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from skcal._numerics._score_interval import find_exact_interval, find_score_interval


# R. G. Newcombe (1998), Statistics in Medicine 17, Table I, method 3.
@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_score_interval_has_published_values_and_holds_what_a_score_test_accepts(
    hits, rows, low, high
):
    ends = np.array(find_score_interval(np.array(hits / rows), np.array(rows), 0.95))
    np.testing.assert_allclose(ends, [low, high], atol=5e-5)
    within = ends[ends > 0]
    distance = np.abs(within - hits / rows) / np.sqrt(within * (1 - within) / rows)
    np.testing.assert_allclose(distance, norm.ppf(0.975))


# The same table, method 5.
@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0, 0.1684),
        (1, 29, 0.0009, 0.1776),
        (20, 20, 0.8316, 1),  # and of the other outcome
    ],
)
def test_exact_interval_has_published_values_and_tails(hits, rows, low, high):
    ends = np.array(find_exact_interval(np.array(hits / rows), np.array(rows), 0.05))
    np.testing.assert_allclose(ends, [low, high], atol=5e-5)
    if low > 0:
        assert binom.sf(hits - 1, rows, ends[0]) == pytest.approx(0.025)
    if high < 1:
        assert binom.cdf(hits, rows, ends[1]) == pytest.approx(0.025)
