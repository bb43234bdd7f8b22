"""The bin of a prediction: computed for equal bins, searched for others, and the same."""

import numpy as np
import pytest

from skcal._numerics._binned import bin_index, uniform_edges


@pytest.mark.parametrize(
    ("n_bins", "dtype"),
    [
        (1, float),
        (3, np.float16),
        *((n, float) for n in (10, 15, 49, 64)),
        (1000, np.float32),
        (12_345, float),
    ],
)
def test_equal_bins_are_found_as_a_search_finds_them(n_bins, dtype):
    edges = uniform_edges(n_bins)
    beside = [edges, np.nextafter(edges, 0), np.nextafter(edges, 1), edges.astype(np.float32)]
    ends = [0.0, 5e-324, 1e-300, np.nextafter(1.0, 0), 1.0]
    draws = np.random.default_rng(0).random(2000)
    predictions = np.clip(np.concatenate([*beside, ends, draws]), 0, 1).astype(dtype)
    expected = np.searchsorted(edges[1:-1], predictions, side="left")
    np.testing.assert_array_equal(bin_index(predictions, edges), expected)
    matrix = predictions[: len(predictions) // 2 * 2].reshape(-1, 2)
    np.testing.assert_array_equal(bin_index(matrix, edges).ravel(), expected[: matrix.size])


def test_other_edges_are_searched_and_ends_are_open():
    edges, predictions = np.array([0.0, 0.1, 0.5, 1.0]), np.array([0.1, np.nextafter(0.1, 1), 0.5])
    np.testing.assert_array_equal(bin_index(predictions, edges), [0, 1, 1])
    for either in (edges, uniform_edges(3)):
        beyond = np.array([-0.5, 0, 1, 1.5])
        np.testing.assert_array_equal(bin_index(beyond, either), [0, 0, 2, 2])


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long double has no more digits than float64 here"
)
@pytest.mark.parametrize("n_bins", [15, 1000])
def test_long_double_predictions_beside_edges(n_bins):
    """A step above an edge that float64 does not see is in the next bin."""
    edges = uniform_edges(n_bins)
    inner = edges[1:-1].astype(np.longdouble)
    above, below = (np.nextafter(inner, np.longdouble(end)) for end in (1, 0))
    many = np.tile(np.concatenate([above, inner, below]), 2)
    expected = np.concatenate([np.arange(1, n_bins), np.arange(n_bins - 1), np.arange(n_bins - 1)])
    np.testing.assert_array_equal(bin_index(many, edges), np.tile(expected, 2))
