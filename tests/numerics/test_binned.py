"""Edges, middles and what is read off bins: slow direct computations and NumPy's percentiles."""

import numpy as np
import pytest

from skcal._numerics._binned import (
    bin_index,
    debias_squared_gaps,
    find_middles,
    gap_norm,
    mean_gap,
    percentile_edges,
    quantile_edges,
    residual_noise,
    squared_gaps,
    sweep_edges,
    uniform_edges,
)


def sweep_directly(predictions, counts, positive):
    """Bins of the predictions by the words: 2, 3, ... bins until a mean outcome falls."""
    if (np.diff(positive / counts) >= 0).all():
        return np.arange(len(predictions))
    last = np.zeros(len(predictions), dtype=int)
    for n_bins in range(2, int(counts.sum() + 1e-9) + 1):
        index = bin_index(predictions, percentile_edges(predictions, counts, n_bins))
        mass = np.bincount(index, counts, n_bins)
        means = np.bincount(index, positive, n_bins)[mass > 0] / mass[mass > 0]
        if (np.diff(means) < -1e-12).any():
            break
        last = index
    return last


@pytest.mark.parametrize("weights", [[1], [1, 2, 3, 10], [0.25, 0.5, 1, 1.5, 3, 8.5]])
def test_sweep_looks_at_all_bins(rng, weights):
    for _ in range(120):
        n = rng.integers(1, 10)
        predictions, counts = np.sort(rng.random(n)), rng.choice(weights, n).astype(float)
        mean = np.clip(predictions + rng.normal(0, 0.3, n), 0, 1).round(rng.integers(0, 3))
        edges = sweep_edges(predictions, counts, mean * counts)
        index = np.unique(bin_index(predictions, edges), return_inverse=True)[1]
        expected = sweep_directly(predictions, counts, mean * counts)
        np.testing.assert_array_equal(index, np.unique(expected, return_inverse=True)[1])


@pytest.mark.parametrize("weight", [0.3, 1e6, 1e300])
def test_sweep_of_outcomes_that_never_fall_has_a_bin_for_each_prediction(weight):
    """With 1e6 of each prediction, millions of bins took seconds; with 1e300 they ended in NumPy's
    `Maximum allowed size exceeded`."""
    predictions = np.array([0.1, 0.2, np.nextafter(0.2, 1), 0.9])
    edges = sweep_edges(predictions, np.full(4, weight), weight * np.array([0.3, 0.3, 0.5, 1]))
    np.testing.assert_array_equal(bin_index(predictions, edges), range(4))
    np.testing.assert_array_equal(edges, [0.1, *predictions])


@pytest.mark.parametrize("heavy", [1e10])
def test_sweep_comes_to_an_end_where_light_rows_alone_are_out_of_order(heavy):
    """The bins were to become as small as the light rows, after days."""
    predictions = np.array([0.1, 0.2, 0.3, 0.4])
    edges = sweep_edges(predictions, np.array([heavy, 1e-5, 1e-5, heavy]), np.eye(4)[1] * 1e-5)
    assert len(edges) - 1 <= 4096


@pytest.mark.parametrize(
    ("predictions", "counts", "means", "n_bins"),
    [
        ([0.1, 0.2, 0.3, 0.4], [100, 1, 1, 100], [0, 0.6, 0.4, 1], range(51, 203)),  # light rows
        # Two bins have the means .35 and 1.225 / 3; without the last row the second had .29.
        ([0.2, 0.4, 0.6, 0.8], [3, 1, 1.5, 0.5], [0.35, 0.17, 0.37, 1], [2]),
        ([0.2, 0.7], [1e5, 1e5], [0.5, 0.5 - 1e-6], [1]),  # a small fall of heavy rows
        ([0.0, 5e-324, 0.5], [7, 7e-300, 7], [0.5, 0, 0.4], [1]),  # a bin had the mean 0 / 0
    ],
)
def test_sweep_sees_every_fall(predictions, counts, means, n_bins):
    edges = sweep_edges(np.array(predictions), np.array(counts), np.multiply(counts, means))
    assert len(edges) - 1 in n_bins


def test_sweep_sees_no_fall_in_the_rounding_of_sums(rng):
    """Two bins of the same mean outcome, a heavy and a light one; three have .4, .23 and .3."""
    predictions = np.array([0.2, 0.4, 0.6])
    for _ in range(10):
        heavy, light = rng.uniform(1e6, 2e6), rng.uniform(1.1, 2)
        counts = np.array([0.4 * heavy, 0.6 * heavy, light])
        positive = np.array([0.16, 0.14, 0.3]) * [heavy, heavy, light]
        assert len(sweep_edges(predictions, counts, positive)) == 3


@pytest.mark.parametrize("n_bins", [1, 3, 10, 49, 98])
def test_percentile_edges_are_percentiles_to_the_bit(rng, n_bins):
    for n in (1, *[2] * 6, 3, 10, 20, 33, 64, 101, 1000):  # two rows often, where halves round
        predictions = np.sort(rng.random(n)) ** 3
        expected = np.percentile(predictions, np.linspace(0, 1, n_bins + 1) * 100)
        for counts in (None, np.ones(n)):
            edges = percentile_edges(predictions, counts, n_bins)
            np.testing.assert_array_equal(edges, expected)
            exact = quantile_edges(predictions, counts, n_bins)
            np.testing.assert_allclose(exact, expected, rtol=1e-13, atol=1e-15)
        assert exact[-1] == expected[-1] == predictions[-1]


@pytest.mark.parametrize("n", [2, 61, 100, 1000])
def test_whole_ranks_are_edges(rng, n):
    """Where (n - 1) / g is whole, the first group has a row more than the others."""
    predictions = np.sort(rng.random(n))
    for n_bins in range(1, n):
        if (n - 1) % n_bins:
            continue
        size = (n - 1) // n_bins
        for counts in (None, np.ones(n), np.full(n, 3.0)):
            edges = quantile_edges(predictions, counts, n_bins)
            if counts is None or counts[0] == 1:
                np.testing.assert_array_equal(edges, predictions[::size])
            index = bin_index(predictions, edges)
            np.testing.assert_array_equal(np.bincount(index), [size + 1] + [size] * (n_bins - 1))


@pytest.mark.parametrize(("count", "size"), [(1, 1), (1, 7), (5, 1), (4, 3), (6, 5)])
def test_middles_are_the_middle_rows_of_equal_shares(rng, count, size):
    rows = np.sort(rng.integers(0, 12, count * size)) / 12
    places, mass = np.unique(rows, return_counts=True)
    expected = rows.reshape(count, size)[:, size // 2]
    np.testing.assert_array_equal(find_middles(places, mass, count), expected)
    np.testing.assert_array_equal(find_middles(places, mass / 128, count), expected)
    assert find_middles(places, np.zeros(len(places)), 0).shape == (0,)


def test_norms_and_squares_of_gaps_by_the_rows_of_bins(rng):
    """Bins that are empty count for nothing, and masses need not sum to 1."""
    index = np.repeat([0, 1, 3, 5], [4, 7, 2, 1])
    y, v = rng.integers(0, 2, 14), rng.random(14)
    rows = [np.flatnonzero(index == b) for b in (0, 1, 3, 5)]
    gap = np.array([abs(np.mean(y[r]) - np.mean(v[r])) for r in rows])
    share = np.array([4, 7, 2, 1]) / 14
    counts, positive = np.bincount(index), np.bincount(index, y)
    residual, squares = np.bincount(index, y - v), np.bincount(index, (y - v) ** 2)

    for norm in (1, 2, 3.5):
        expected = (share @ gap**norm) ** (1 / norm)
        assert gap_norm(counts, residual, norm) == pytest.approx(expected, rel=1e-13)
    assert gap_norm(counts, residual, np.inf) == pytest.approx(gap.max(), rel=1e-13)
    assert mean_gap(counts, residual) == pytest.approx(gap.mean(), rel=1e-13)
    assert squared_gaps(counts, residual) == pytest.approx(share @ gap**2, rel=1e-13)
    noise = [np.sum((y[r] - v[r]) ** 2) / len(r) ** 2 for r in rows]
    assert residual_noise(counts, squares) == pytest.approx(share @ noise, rel=1e-13)
    # The variance of a mean of the n rows, from their variance with n - 1; none of a single row.
    variance = np.array([np.var(y[r], ddof=1) / len(r) for r in rows[:3]])
    expected = share[:3] @ (gap[:3] ** 2 - variance)
    assert debias_squared_gaps(counts, positive, residual) == pytest.approx(expected, rel=1e-12)


# --------------------------------------------------------------------------- bins of predictions


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
