"""Wilson's interval and the exact one: published values, and what tests accept."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from skcal._numerics.inference._score_interval import find_exact_interval, find_score_interval


@pytest.mark.parametrize("count", [1e9, 1e15, 1e30, 1e101])
@pytest.mark.parametrize("share", [1e-9, 0.3, 1 - 1e-9])
def test_very_many_rows(share, count):
    """A normal law, or next to no row of an outcome and Poisson's."""
    low, high = find_exact_interval(np.array(share), np.array(count), 0.05)
    assert low <= share <= high
    if min(share, 1 - share) * count > 1e5:
        half = norm.ppf(0.975) * np.sqrt(share * (1 - share) / count)
        np.testing.assert_allclose(
            [low, high], [share - half, share + half], atol=0.01 * half + 1e-15
        )


# R. G. Newcombe (1998), Statistics in Medicine 17, Table I, methods 3 and 5.
@pytest.mark.parametrize(
    ("hits", "rows", "score", "exact"),
    [
        (81, 263, [0.2553, 0.3662], [0.2527, 0.3676]),
        (15, 148, [0.0624, 0.1605], [0.0578, 0.1617]),
        (0, 20, [0, 0.1611], [0, 0.1684]),
        (1, 29, [0.0061, 0.1718], [0.0009, 0.1776]),
        (20, 20, [0.8389, 1], [0.8316, 1]),  # the third, of the other outcome
    ],
)
def test_intervals_have_published_values_and_hold_what_tests_accept(hits, rows, score, exact):
    share, count = np.array(hits / rows), np.array(rows)
    ends = np.array(find_score_interval(share, count, 0.95))
    np.testing.assert_allclose(ends, score, atol=5e-5)
    within = ends[(ends > 0) & (ends < 1)]
    distance = np.abs(within - share) / np.sqrt(within * (1 - within) / rows)
    np.testing.assert_allclose(distance, norm.ppf(0.975))
    low, high = find_exact_interval(share, count, 0.05)
    np.testing.assert_allclose([low, high], exact, atol=5e-5)
    if hits > 0:
        assert binom.sf(hits - 1, rows, low) == pytest.approx(0.025)
    if hits < rows:
        assert binom.cdf(hits, rows, high) == pytest.approx(0.025)
