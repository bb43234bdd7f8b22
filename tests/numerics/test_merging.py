"""Rows merged in cells, and the exact law of their sums."""

import itertools

import numpy as np
import pytest

from skcal._numerics._merging import (
    N_CELLS,
    BernoulliSums,
    WeightedBernoulliSums,
    _find_laws,
    merge_rows,
)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def enumerate_sums(probabilities):
    """Law of the number of successes, over all outcomes."""
    law = np.zeros(len(probabilities) + 1)
    for outcomes in itertools.product([0, 1], repeat=len(probabilities)):
        drawn = np.array(outcomes)
        law[drawn.sum()] += np.prod(np.where(drawn == 1, probabilities, 1 - probabilities))
    return law


def read_laws(predictions, starts):
    """Law of each cell as a dict of its values."""
    ends = np.append(starts[1:], len(predictions))
    laws = {}
    for cells, first, table in _find_laws(predictions, starts, ends):
        for cell, law in zip(cells, table, strict=True):
            laws[cell] = dict(enumerate(law, start=first))
    return laws


def test_laws_are_those_of_all_outcomes(rng):
    sizes = [1, 2, 3, 5, 8, 11, 1, 7]
    predictions = np.sort(rng.random(sum(sizes)))
    predictions[:1], predictions[-1:] = 0.0, 1.0
    starts = np.cumsum([0, *sizes[:-1]])
    laws = read_laws(predictions, starts)
    for cell, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        expected = enumerate_sums(predictions[start : start + size])
        found = [laws[cell].get(value, 0.0) for value in range(size + 1)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert sum(laws[cell].values()) == pytest.approx(1, abs=1e-12)


def test_laws_of_equal_and_of_many_rows(rng):
    """Binomials by their recurrence, for cells on either side of the limit of the batches."""
    sizes = [40, 128, 129, 300]
    starts = np.cumsum([0, *sizes[:-1]])
    laws = read_laws(np.full(sum(sizes), 0.3), starts)
    for cell, size in enumerate(sizes):
        expected = np.ones(1)
        for _ in range(size):
            expected = np.convolve(expected, [0.7, 0.3])
        found = [laws[cell].get(value, 0.0) for value in range(size + 1)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


class Scripted:
    """Generator that returns given parts and uniform numbers."""

    def __init__(self, uniform):
        self.part = np.floor(uniform * 256)
        self.inside = uniform * 256 - self.part

    def integers(self, high, size, dtype):
        assert high == 256
        self.shape = size
        return self.part.reshape(size).astype(dtype)

    def random(self, size):
        return np.full(size, self.inside)


@pytest.mark.parametrize("size", [1, 6, 100, 1000])
def test_draws_invert_the_distribution(size, rng):
    """A sum is the number of values whose cumulative probability is at most u."""
    predictions = np.sort(rng.random(size))
    sums = BernoulliSums(predictions, np.array([0]))
    law = read_laws(predictions, np.array([0]))[0]
    distribution = np.cumsum([law.get(value, 0.0) for value in range(size + 1)])
    for uniform in np.concatenate([rng.random(300), np.arange(256) / 256]):
        (drawn,) = sums.draw(Scripted(np.array([uniform])), 1)
        near = np.abs(distribution - uniform).min() < 1e-12
        expected = np.searchsorted(distribution, uniform, side="right")
        assert drawn[0] == expected or (near and abs(drawn[0] - expected) <= 1)


def test_draws_have_the_law_of_their_cells(rng):
    predictions = np.sort(rng.random(600))
    cells = np.array([0, 1, 5, 50, 200])
    drawn = BernoulliSums(predictions, cells).draw(rng, 4000)
    weighted = WeightedBernoulliSums(predictions, cells, np.full(600, 2.0)).draw(rng, 4000) / 2
    for sums in (drawn, weighted):
        assert sums.shape == (4000, 5)
        mean = np.add.reduceat(predictions, cells)
        variance = np.add.reduceat(predictions * (1 - predictions), cells)
        score = (sums.mean(axis=0) - mean) / np.sqrt(variance / 4000)
        assert np.abs(score).max() < 4
        np.testing.assert_allclose(sums.var(axis=0), variance, rtol=0.15, atol=1e-3)
        correlation = np.corrcoef(sums[:, 1:].T) - np.eye(4)
        assert np.abs(correlation).max() < 4 / np.sqrt(4000)


def test_certain_rows_are_certain(rng):
    sums = BernoulliSums(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0, 2])).draw(rng, 500)
    assert (sums == [0, 3]).all()


def test_few_places_are_kept(rng):
    predictions = rng.choice(np.round(rng.random(50), 2), 5000)
    weights = rng.random(5000)
    cells = merge_rows(predictions, weights)
    np.testing.assert_array_equal(cells.places, np.unique(predictions))
    for place, mass in zip(cells.places, cells.mass, strict=True):
        assert mass == pytest.approx(weights[predictions == place].sum())
    outcomes = rng.integers(0, 2, 5000)
    sums = cells.sum_rows(outcomes[cells.order])
    expected = [outcomes[predictions == place].sum() for place in cells.places]
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("kind", ["even", "rare", "tied"])
def test_cells_are_small(kind, rng):
    n = 50_000
    predictions = {
        "even": rng.random(n),
        "rare": rng.random(n) ** 8 * 1e-2,
        "tied": np.where(rng.random(n) < 0.5, 0.25, rng.random(n)),
    }[kind]
    edges = np.linspace(0, 1, 16)[1:-1]
    cells = merge_rows(predictions, edges=edges)
    ordered = predictions[cells.order]
    ends = np.append(cells.starts[1:], n)
    low, high = ordered[cells.starts], ordered[ends - 1]
    assert (np.diff(ordered) >= 0).all()
    assert ((low <= cells.places) & (cells.places <= high)).all()
    assert (high - low < 1 / N_CELLS).all()
    assert ((ends - cells.starts <= n / N_CELLS + 1) | (low == high)).all()
    assert len(cells.starts) <= 2 * N_CELLS + 15
    assert cells.mass.sum() == n
    assert cells.mass @ cells.places == pytest.approx(predictions.sum())
    # Right-closed bins: both ends of a cell lie in the same one, and ties are never split.
    assert (np.searchsorted(edges, low) == np.searchsorted(edges, high)).all()
    assert (high[:-1] < low[1:]).all()
