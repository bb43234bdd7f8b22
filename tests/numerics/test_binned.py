"""Bins and what is read off them: slow direct computations, and NumPy's percentiles and means."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skcal._numerics.errors import _binned as binned
from skcal._numerics.errors._binned import bin_index, sweep_edges, uniform_edges
from skcal._numerics.recalibration import _histogram as histogram


def sweep_directly(predictions, counts, positive):
    """Bins of the predictions by the words: 2, 3, ... bins until a mean outcome falls."""
    if (np.diff(positive / counts) >= 0).all():
        return np.arange(len(predictions))
    last = np.zeros(len(predictions), dtype=int)
    for n_bins in range(2, int(counts.sum() + 1e-9) + 1):
        index = bin_index(predictions, binned.percentile_edges(predictions, counts, n_bins))
        mass, hits = (np.bincount(index, values, n_bins) for values in (counts, positive))
        if (np.diff(hits[mass > 0] / mass[mass > 0]) < -1e-12).any():
            break
        last = index
    return last


@pytest.mark.parametrize("weights", [[1], [1, 2, 3, 10], [0.25, 0.5, 1, 1.5, 3, 8.5]])
def test_sweep_looks_at_all_bins(rng, weights):
    for _ in range(120):
        n = rng.integers(1, 10)
        predictions, counts = np.sort(rng.random(n)), rng.choice(weights, n).astype(float)
        mean = np.clip(predictions + rng.normal(0, 0.3, n), 0, 1).round(rng.integers(0, 3))
        found = bin_index(predictions, sweep_edges(predictions, counts, mean * counts))
        expected = sweep_directly(predictions, counts, mean * counts)
        assert_array_equal(*(np.unique(b, return_inverse=True)[1] for b in (found, expected)))


@pytest.mark.parametrize("weight", [0.3, 1e6, 1e300])
def test_sweep_of_outcomes_that_never_fall_has_a_bin_for_each_prediction(weight):
    """With 1e6 of each prediction, millions of bins took seconds; with 1e300 they ended in NumPy's
    `Maximum allowed size exceeded`."""
    predictions = np.array([0.1, 0.2, np.nextafter(0.2, 1), 0.9])
    edges = sweep_edges(predictions, np.full(4, weight), weight * np.array([0.3, 0.3, 0.5, 1]))
    assert_array_equal(bin_index(predictions, edges), range(4))
    assert_array_equal(edges, [0.1, *predictions])


@pytest.mark.parametrize(
    ("predictions", "counts", "means", "n_bins"),
    [
        ([0.1, 0.2, 0.3, 0.4], [100, 1, 1, 100], [0, 0.6, 0.4, 1], range(51, 203)),  # light rows
        # The bins were to become as small as the light rows, after days.
        ([0.1, 0.2, 0.3, 0.4], [1e10, 1e-5, 1e-5, 1e10], [0, 1, 0, 0], range(1, 4097)),
        # Two bins have the means .35 and 1.225 / 3; without the last row the second had .29.
        ([0.2, 0.4, 0.6, 0.8], [3, 1, 1.5, 0.5], [0.35, 0.17, 0.37, 1], [2]),
        ([0.2, 0.7], [1e5, 1e5], [0.5, 0.5 - 1e-6], [1]),  # a small fall of heavy rows
        ([0.0, 5e-324, 0.5], [7, 7e-300, 7], [0.5, 0, 0.4], [1]),  # a bin had the mean 0 / 0
        # Two bins have the same mean outcome but for rounding; three have .4, .23 and .3.
        *(
            ([0.2, 0.4, 0.6], [0.4 * heavy, 0.6 * heavy, 1.3], [0.4, 0.14 / 0.6, 0.3], [2])
            for heavy in (1.1e6, 1.3e6, 1.5e6, 1.7e6, 1.9e6)
        ),
    ],
)
def test_sweep_sees_every_fall_and_no_other(predictions, counts, means, n_bins):
    edges = sweep_edges(np.array(predictions), np.array(counts), np.multiply(counts, means))
    assert len(edges) - 1 in n_bins


@pytest.mark.parametrize("n_bins", [1, 3, 10, 49, 98])
def test_edges_are_percentiles_and_whole_ranks_are_edges(rng, n_bins):
    """Those of NumPy to the bit. The first group of whole ranks has a row more than the others."""
    for n in (1, *[2] * 6, 3, 10, 20, 33, 50, 61, 64, 99, 101, 1000):  # halves of two rows round
        predictions = np.sort(rng.random(n)) ** 3
        expected = np.percentile(predictions, np.linspace(0, 1, n_bins + 1) * 100)
        size, rest = divmod(n - 1, n_bins)
        for counts in (None, np.ones(n)):
            assert_array_equal(binned.percentile_edges(predictions, counts, n_bins), expected)
            exact = binned.quantile_edges(predictions, counts, n_bins)
            assert_allclose(exact, expected, rtol=1e-13, atol=1e-15)
            assert exact[-1] == predictions[-1]
            if size > rest == 0:
                assert_array_equal(exact, predictions[::size])
        if size > rest == 0:
            edges = binned.quantile_edges(predictions, np.full(n, 3.0), n_bins)
            sizes = np.bincount(bin_index(predictions, edges))
            assert_array_equal(sizes, [size + 1] + [size] * (n_bins - 1))


@pytest.mark.parametrize(("count", "size"), [(1, 7), (5, 1), (4, 3), (6, 5)])
def test_middles_are_the_middle_rows_of_equal_shares(rng, count, size):
    rows = np.sort(rng.integers(0, 12, count * size)) / 12
    places, mass = np.unique(rows, return_counts=True)
    expected = rows.reshape(count, size)[:, size // 2]
    assert_array_equal(binned.find_middles(places, mass, count), expected)
    assert_array_equal(binned.find_middles(places, mass / 128, count), expected)
    assert binned.find_middles(places, 0.0 * mass, 0).shape == (0,)


@pytest.mark.parametrize("norm", [1, 2, 3.5, np.inf])
def test_norms_of_gaps(norm):
    """Bins that are empty count for nothing, and masses need not sum to 1."""
    mass, residual = np.array([4, 7, 0, 2, 0, 1.0]), np.array([1.5, -0.1, 0, -1, 0, 0.3])
    gap = np.array([1.5 / 4, 0.1 / 7, 0.5, 0.3])
    share = np.array([4, 7, 2, 1]) / 14
    expected = gap.max() if norm == np.inf else (share @ gap**norm) ** (1 / norm)
    assert binned.gap_norm(mass, residual, norm) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("edges", "dtype"),
    [
        (np.array([0.0, 0.1, 0.5, 1.0]), float),
        *((uniform_edges(n_bins), float) for n_bins in (1, 10, 49, 12_345)),
        (uniform_edges(3), np.float16),
        (uniform_edges(1000), np.float32),
        # A step above an edge that float64 does not see is in the next bin.
        *((uniform_edges(n_bins), np.longdouble) for n_bins in (15, 1000)),
    ],
)
def test_bins_are_found_as_a_search_finds_them_and_ends_are_open(rng, edges, dtype):
    beside = [
        np.nextafter(edges.astype(kind), kind(end)).astype(dtype)
        for kind in (np.float32, np.float64, dtype)
        for end in (-1, 0.2, 0.5, 2)
    ]
    ends = [-0.5, 0, 5e-324, 1e-300, 1.5]
    predictions = np.concatenate(
        [*beside, edges.astype(dtype), ends, rng.random(2000)], dtype=dtype
    )
    expected = np.searchsorted(edges[1:-1], predictions, side="left")
    assert_array_equal(bin_index(predictions, edges), expected)
    assert_array_equal(bin_index(predictions[:, None], edges)[:, 0], expected)


@pytest.mark.parametrize("n_bins", [1, 2, 15, 65, 66])
def test_bins_of_many_rows_are_those_of_a_search(rng, n_bins):
    """Few edges are compared with all rows."""
    edges = np.sort(rng.choice(rng.random(n_bins), n_bins + 1))  # some are equal
    predictions = rng.choice(np.concatenate([edges, rng.random(100)]), 5000)
    found = bin_index(predictions, edges)
    assert_array_equal(found, np.searchsorted(edges[1:-1], predictions))
    assert found.dtype == np.intp


def test_uniform_edges_are_those_of_linspace():
    for n_bins in (*range(1, 100), 1000, 12_345, 1 << 20):
        assert_array_equal(uniform_edges(n_bins), np.linspace(0, 1, n_bins + 1))


def test_empty_bins_lie_on_the_line_between_filled_ones_and_means_are_weighted():
    edges = np.array([0.0, 0.1, 0.2, 0.5, 0.6, 1.0])  # midpoints .05, .15, .35, .55, .8
    means = histogram.average_in_bins(np.array([1, 1, 3]), np.array([0.0, 1, 0.9]), None, edges)
    assert_allclose(means, [0.5, 0.5, 0.7, 0.9, 0.9], rtol=0, atol=1e-15)
    rows = np.array([0, 0, 1]), np.array([0.0, 1, 1]), np.array([3.0, 1, 2])
    assert histogram.average_in_bins(*rows, np.arange(3.0)).tolist() == [0.25, 1.0]


@pytest.mark.parametrize("n_bins", [1, 4, 30])
def test_edges_of_weighted_rows_are_percentiles_of_repeated_rows(rng, n_bins):
    values, counts = np.round(rng.random(20), 1), rng.integers(1, 5, 20)
    repeated = np.repeat(values, counts)
    weighted = histogram.equal_mass_edges(values, counts.astype(float), n_bins)
    expected = np.percentile(repeated, np.linspace(0, 100, n_bins + 1))
    assert_allclose(weighted, expected, rtol=1e-14)
    assert (histogram.equal_mass_edges(repeated, None, n_bins) == weighted).all()


def test_rest_is_shared_in_proportion():
    proba = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.2, 0.0, 0.8], [5e-324, 0.0, 1.0]])
    columns, confidence = np.array([0, 1, 2, 2]), np.array([0.9, 0.4, 0.0, 0.5])
    expected = [[0.9, 0.06, 0.04], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]
    shared = histogram.share_in_proportion(proba, columns, confidence)
    assert_allclose(shared, expected, rtol=0, atol=1e-15)
