"""Rows merged in cells, and the exact law of their sums."""

import numpy as np
import pytest

from skcal._numerics._merging import (
    N_CELLS,
    BernoulliSums,
    WeightedBernoulliSums,
    _find_laws,
    merge_rows,
)


def read_laws(predictions, starts):
    """Law of each cell as a dict of its values."""
    ends = np.append(starts[1:], len(predictions))
    laws = {}
    for cells, first, table in _find_laws(predictions, starts, ends):
        for cell, law in zip(cells, table, strict=True):
            assert cell not in laws
            laws[cell] = dict(enumerate(law, start=first))
    return laws


def test_laws_are_those_of_one_convolution_after_the_other(rng):
    """Cells on either side of the limit of the batches, and certain outcomes."""
    sizes = [1, 2, 3, 5, 11, 1, 7, 40, 128, 129, 300]
    predictions = rng.random(sum(sizes))
    predictions[:1], predictions[-1:], predictions[30:70] = 0.0, 1.0, 0.3
    starts = np.cumsum([0, *sizes[:-1]])
    laws = read_laws(predictions, starts)
    for cell, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        expected = np.ones(1)
        for p in predictions[start : start + size]:
            expected = np.convolve(expected, [1 - p, p])
        found = [laws[cell].get(value, 0.0) for value in range(size + 1)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert sum(laws[cell].values()) == pytest.approx(1, abs=1e-12)
        assert max(laws[cell]) < 2 * size  # short tables


class Scripted:
    """Generator that returns one number in [0, 1), or its part of 256 and the place inside."""

    def __init__(self, uniform, part=None):
        self.part = np.floor(uniform * 256) if part is None else part
        self.inside = uniform * 256 - self.part if part is None else uniform

    def integers(self, high, size, dtype):
        assert high == 256
        return np.full(size, self.part, dtype=dtype)

    def random(self, size):
        return np.full(size, self.inside)


LAST = np.nextafter(1.0, 0.0)  # the largest uniform number


@pytest.mark.parametrize("sizes", [[1], [100, 6, 1, 300, 7, 120]])
def test_draws_invert_the_distribution(sizes, rng):
    """A sum is the number of values whose cumulative probability is at most u."""
    predictions = rng.random(sum(sizes))
    starts = np.cumsum([0, *sizes[:-1]])
    sums, laws = BernoulliSums(predictions, starts), read_laws(predictions, starts)
    distributions = [
        np.cumsum([laws[cell].get(value, 0.0) for value in range(size + 1)])
        for cell, size in enumerate(sizes)
    ]
    for uniform in np.concatenate([rng.random(100), np.arange(256) / 256]):
        drawn = sums.draw(Scripted(uniform), 2)
        assert drawn.shape == (2, len(sizes))
        for distribution, pair in zip(distributions, drawn.T, strict=True):
            near = np.abs(distribution - uniform).min() < 1e-12
            expected = np.searchsorted(distribution, uniform, side="right")
            assert pair[0] == pair[1]
            assert pair[0] == expected or (near and abs(pair[0] - expected) <= 1)


def test_first_and_last_uniform_numbers():
    """Their sums are the least and the greatest possible, though 255 + u may round to 256."""
    sums = BernoulliSums(np.array([0.5] * 20 + [0.0, 0.5, 1.0]), np.array([0, 20]))
    np.testing.assert_array_equal(sums.draw(Scripted(0.0, 0), 1), [[0, 1]])
    np.testing.assert_array_equal(sums.draw(Scripted(LAST, 255), 1), [[20, 2]])
    weights = np.array([2.0, 4.0, 8.0])
    sums = WeightedBernoulliSums(np.array([0.0, 0.5, 1.0]), np.array([0]), weights)
    assert [sums.draw(Scripted(u), 1).item() for u in (0.0, LAST)] == [12, 8]


def test_weighted_draws_have_the_law_of_their_cells(rng):
    predictions, weights = np.sort(rng.random(600)), rng.random(600)
    cells = np.array([0, 1, 5, 50, 200])
    sums = WeightedBernoulliSums(predictions, cells, weights).draw(rng, 4000)
    variance = np.add.reduceat(weights**2 * predictions * (1 - predictions), cells)
    score = sums.mean(axis=0) - np.add.reduceat(weights * predictions, cells)
    assert np.abs(score / np.sqrt(variance / 4000)).max() < 4
    np.testing.assert_allclose(sums.var(axis=0), variance, rtol=0.15, atol=1e-3)
    assert np.abs(np.corrcoef(sums[:, 1:].T) - np.eye(4)).max() < 4 / np.sqrt(4000)


def test_few_places_are_kept(rng):
    predictions = rng.choice([0.0, 1.0, *np.round(rng.random(50), 2)], 5000)
    weights = rng.random(5000)
    cells = merge_rows(predictions, weights)
    np.testing.assert_array_equal(cells.places, np.unique(predictions))
    for place, mass in zip(cells.places, cells.mass, strict=True):
        assert mass == pytest.approx(weights[predictions == place].sum())
    outcomes = rng.integers(0, 2, 5000)
    sums = cells.sum_rows(outcomes[cells.order])
    expected = [outcomes[predictions == place].sum() for place in cells.places]
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("n_places", [2 * N_CELLS, 2 * N_CELLS + 1])
def test_the_most_places_that_are_kept(n_places):
    predictions = 0.5001 + 1e-7 * np.arange(n_places)
    cells = merge_rows(predictions)
    if n_places == 2 * N_CELLS:
        np.testing.assert_array_equal(cells.places, predictions)
    else:  # all in one cell of equal width, hence in those of equal numbers of rows
        assert len(cells.places) == N_CELLS


@pytest.mark.parametrize("kind", ["even", "rare", "tied"])
def test_cells_are_small(kind, rng):
    n = 50_000
    predictions = {
        "even": rng.random(n),
        "rare": rng.random(n) ** 8 * 1e-2,
        "tied": np.where(rng.random(n) < 0.5, 0.25, rng.random(n)),
    }[kind]
    edges = np.linspace(0, 1, 16)[1:-1]
    weights = np.ones(n) if kind == "even" else rng.random(n)
    cells = merge_rows(predictions, None if kind == "even" else weights, edges)
    ordered = predictions[cells.order]
    ends = np.append(cells.starts[1:], n)
    low, high = ordered[cells.starts], ordered[ends - 1]
    assert (np.diff(ordered) >= 0).all()
    assert ((low <= cells.places) & (cells.places <= high)).all()
    assert (high - low < 1 / N_CELLS).all()
    assert ((ends - cells.starts <= n / N_CELLS + 1) | (low == high)).all()
    assert len(cells.starts) <= 2 * N_CELLS + 15
    assert cells.mass.sum() == pytest.approx(weights.sum(), rel=1e-12)
    assert cells.mass @ cells.places == pytest.approx(weights @ predictions, rel=1e-12)
    # Right-closed bins: both ends of a cell lie in the same one, and ties are never split.
    for bins in (edges, np.arange(1, N_CELLS) / N_CELLS):
        assert (np.searchsorted(bins, low) == np.searchsorted(bins, high)).all()
    assert (high[:-1] < low[1:]).all()
