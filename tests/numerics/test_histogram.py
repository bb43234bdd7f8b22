"""Means in bins and shares of the rest, against arithmetic by hand."""

import numpy as np
import pytest

from skcal._numerics._histogram import average_in_bins, equal_mass_edges, share_in_proportion


def test_empty_bins_lie_on_the_line_between_filled_ones():
    edges = np.array([0.0, 0.1, 0.2, 0.5, 0.6, 1.0])  # midpoints .05, .15, .35, .55, .8
    means = average_in_bins(np.array([1, 1, 3]), np.array([0.0, 1.0, 0.9]), None, edges)
    np.testing.assert_allclose(means, [0.5, 0.5, 0.7, 0.9, 0.9], rtol=0, atol=1e-15)


def test_means_are_weighted():
    means = average_in_bins(
        np.array([0, 0, 1]), np.array([0.0, 1.0, 1.0]), np.array([3.0, 1.0, 2.0]), np.arange(3.0)
    )
    np.testing.assert_array_equal(means, [0.25, 1.0])


@pytest.mark.parametrize("n_bins", [1, 4, 30])
def test_edges_of_weighted_rows_are_percentiles_of_repeated_rows(n_bins):
    rng = np.random.default_rng(0)
    values, counts = np.round(rng.random(20), 1), rng.integers(1, 5, 20)
    repeated = np.repeat(values, counts)
    expected = np.percentile(repeated, np.linspace(0, 100, n_bins + 1))
    weighted = equal_mass_edges(values, counts.astype(float), n_bins)
    np.testing.assert_allclose(weighted, expected, rtol=1e-14)
    np.testing.assert_array_equal(equal_mass_edges(repeated, None, n_bins), weighted)


def test_rest_is_shared_in_proportion():
    proba = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.2, 0.0, 0.8], [5e-324, 0.0, 1.0]])
    shared = share_in_proportion(proba, np.array([0, 1, 2, 2]), np.array([0.9, 0.4, 0.0, 0.5]))
    expected = [[0.9, 0.06, 0.04], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]
    np.testing.assert_allclose(shared, expected, rtol=0, atol=1e-15)
