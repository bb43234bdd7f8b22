"""Bins of the simplex: worked examples, and slow programs that follow the definition."""

import numpy as np
import pytest

from skcal._numerics.errors import _simplex_binning as binning
from skcal._numerics.errors._simplex_binning import (
    bin_by_median_variance,
    bin_uniformly,
    has_enough,
)

FIVE = np.array(
    [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]]
)


def list_bins(bins):
    order, sizes = bins
    return sorted(sorted(rows.tolist()) for rows in np.split(order, np.cumsum(sizes)[:-1]))


def draw_lattice(rng, n, n_classes, parts=16):
    """Probabilities that are multiples of 1 / parts: exact in binary, with many ties."""
    return rng.multinomial(parts, np.full(n_classes, 1 / n_classes), n) / parts


def find_cells_slowly(proba, n_bins):
    """Rows with the same bins of all components; right-closed, 0 in the first."""
    bins = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:], proba)
    _, cell = np.unique(bins, axis=0, return_inverse=True)
    return sorted(np.flatnonzero(cell == k).tolist() for k in range(cell.max() + 1))


def split_slowly(proba, min_samples, max_bins=np.inf):
    """The definition; all sums of multiples of 1 / 1024 are exact, and equal quotients equal."""
    final, waiting = [], []

    def add(rows):
        (final if len(rows) < 2 * min_samples else waiting).append(rows)

    def find_variances(rows):
        parts, n = 1024 * proba[rows], len(rows)
        return (n * (parts**2).sum(axis=0) - parts.sum(axis=0) ** 2) / (n * (n - 1))

    add(np.arange(len(proba)))
    while waiting and len(waiting) + len(final) < max_bins:
        rows = waiting.pop(np.argmax([find_variances(rows).max() for rows in waiting]))
        values = proba[rows, find_variances(rows).argmax()]
        left = values < np.median(values)
        if min(left.sum(), (~left).sum()) < min_samples:
            final.append(rows)
        else:
            add(rows[left])
            add(rows[~left])
    return sorted(sorted(rows.tolist()) for rows in final + waiting)


@pytest.mark.parametrize(
    ("n", "min_samples", "max_bins", "bins"),
    [
        (3, 1, 3, [[1], [2], [3]]),
        (3, 2, 9, [[1, 2, 3]]),
        (5, 1, 2, [[3, 5], [1, 2, 4]]),
        (5, 1, 4, [[5], [3], [2], [1, 4]]),
        (5, 1, 9, [[5], [3], [2], [1], [4]]),
        (5, 2, 9, [[3, 5], [1, 2, 4]]),
        (5, 3, 9, [[1, 2, 3, 4, 5]]),
    ],
)
def test_worked_examples_of_median_variance(n, min_samples, max_bins, bins):
    """Rows from 1, bins and steps as in test/binning/medianvariance.jl of CalibrationErrors.jl.

    (Version 0.6.4.) Of the five rows the last component has the largest variance, and the median
    0.2: below it lie the rows 3 and 5. Finished bins come first, in the order in which they were
    finished.
    """
    order, sizes = bin_by_median_variance(FIVE[:n], None, min_samples, max_bins)
    found = [(rows + 1).tolist() for rows in np.split(order, np.cumsum(sizes)[:-1])]
    assert found == bins or (max_bins < n and sorted(found) == sorted(bins))


@pytest.mark.parametrize(
    ("n_classes", "n_bins"),
    [(2, 1), (2, 10), (3, 8), (10, 2), (10, 1000), (22, 8), (70, 2), (70, 10)],
)
def test_uniform_bins_against_a_slow_program(rng, n_classes, n_bins):
    """Of 70 classes more than one 64-bit number is needed, and 2^63 and 8^21 are just too large."""
    tenths = np.round(rng.dirichlet(np.ones(n_classes), 60), 1)  # many values on edges
    # Few distinct values in the first columns, and all combinations in the last ones.
    corners = rng.integers(0, 2, (4, n_classes))[rng.integers(0, 4, 60)]
    corners[:, -8:] = rng.integers(0, 2, corners[:, -8:].shape)
    for proba in (draw_lattice(rng, 60, n_classes, parts=10), tenths, tenths[:1], corners * 1.0):
        assert list_bins(bin_uniformly(proba, None, n_bins)) == find_cells_slowly(proba, n_bins)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("min_samples", [1, 2, 5])
def test_median_variance_against_a_slow_program(rng, n_classes, min_samples):
    for n, parts in ((5, 4), (12, 16), (41, 4), (61, 1024)):
        proba, order = draw_lattice(rng, n, n_classes, parts), rng.permutation(n)
        # The widest first, where none tie.
        for max_bins in (np.inf, 1, 3, 6) if parts == 1024 else (np.inf,):
            bins = bin_by_median_variance(proba[order], None, min_samples, max_bins)
            expected = split_slowly(proba, min_samples, max_bins)
            assert list_bins((order[bins[0]], bins[1])) == expected


def test_rounding_does_not_choose_the_component(rng):
    """The components of a binary problem have equal variances; the first is split."""
    v = np.array([0.1, 0.3, 0.3, 0.3, 0.7, 0.9])  # a tie at the median
    for order in (np.arange(6), np.arange(6)[::-1], *(rng.permutation(6) for _ in range(20))):
        for first, left in ((v, [0]), (1 - v, [4, 5])):
            proba = np.column_stack([first, 1 - first])[order]
            bins = list_bins(bin_by_median_variance(proba, None, 1, max_bins=2))
            assert sorted(order[bins[0]]) == left or sorted(order[bins[1]]) == left


@pytest.mark.parametrize("min_samples", [1, 10])
def test_weights_repeat_rows(rng, min_samples):
    proba = draw_lattice(rng, 60, 3, parts=32)
    weights = rng.integers(0, 5, 60)
    rows = np.repeat(np.arange(60), weights)
    for bin_rows, option in ((bin_by_median_variance, min_samples), (bin_uniformly, 4)):
        repeated = list_bins(bin_rows(proba[rows], None, option))
        expected = sorted(sorted(set(rows[b].tolist())) for b in repeated)
        assert list_bins(bin_rows(proba, weights, option)) == expected


def test_rounding_does_not_move_the_median():
    """Half of ten equal weights lies at or below the fifth, whatever their binary sum.

    Single precision cannot hold the sum of 2^24, 1, 1, 1 and 2^24: the median is the third.
    """
    single = np.array([2**24, 1, 1, 1, 2**24], dtype=np.float32)
    for counts in (single, *(np.full(10, weight) for weight in (0.2, 0.7, 1.1, 2.9))):
        n, v = len(counts), np.arange(1, len(counts) + 1) / 16
        bins = bin_by_median_variance(np.column_stack([v, 1 - v]), counts, 1, max_bins=2)
        assert list_bins(bins) == [[*range(n // 2)], [*range(n // 2, n)]]


@pytest.mark.parametrize("n", [3, 49, 1000])
def test_rounding_does_not_move_a_threshold(n):
    """n weights of 1 / n, or n + 1 of 1 / (n + 1), are one row."""
    for m in (n, n + 1, n + 2):
        proba = np.repeat([[0.25, 0.75], [0.5, 0.5]], m, axis=0)
        weights = np.full(2 * m, 1 / m)
        assert len(bin_by_median_variance(proba, weights, 1)[1]) == 2
        assert has_enough(weights, 2 * m, 2)
        assert not has_enough(weights, 2 * m, 3)
    counts = np.array([2**24, 1], dtype=np.float32)
    assert has_enough(counts, 2, 2**24 + 1)
    assert not has_enough(counts, 2, 2**24 + 2)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_chunks_do_not_change_anything(rng, monkeypatch, chunk):
    proba = draw_lattice(rng, 100, 3, parts=8)
    outcomes, weights = np.eye(3)[rng.integers(0, 3, 100)], rng.integers(0, 3, 100)
    monkeypatch.setattr(binning, "_CHUNK", chunk)
    assert list_bins(bin_uniformly(proba, None, 3)) == find_cells_slowly(proba, 3)
    assert list_bins(bin_by_median_variance(proba, None, 4)) == split_slowly(proba, 4)
    for bins in (bin_uniformly(proba, weights, 2), bin_by_median_variance(proba, weights, 9)):
        sums = [weights[rows] @ (proba - outcomes)[rows] for rows in list_bins(bins)]
        value = binning.average_over_bins(
            bins, proba, lambda rows: outcomes[rows], weights, binning.cityblock
        )
        assert value == pytest.approx(np.abs(sums).sum() / weights.sum(), abs=1e-13)
