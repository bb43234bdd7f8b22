"""Rows merged in cells, and the exact law of their sums."""

from functools import reduce

import numpy as np
import pytest

from skcal._numerics.cells._merging import (
    N_CELLS,
    BernoulliSums,
    CategoricalSums,
    WeightedBernoulliSums,
    count_effectively,
    draw_labels,
    find_label_edges,
    merge_rows,
)


class Scripted:
    """Generator of one uniform number: which of 256 parts of [0, 1), and the place inside."""

    def __init__(self, part, inside):
        self.part, self.inside = part, inside

    def integers(self, high, size, dtype):
        assert high == 256
        return np.full(size, self.part, dtype=dtype)

    def random(self, size):
        return np.full(size, self.inside)


def test_draws_invert_the_distribution(rng):
    """A sum is the number of values whose cumulative probability is at most u.

    Of cells on either side of the limit of the batches, and certain outcomes.
    """
    sizes = [1, 100, 6, 1, 300, 7, 120, 40, 128, 129, 2, 1]
    ends, predictions = np.cumsum(sizes), rng.random(sum(sizes))
    predictions[:1], predictions[-1:], predictions[30:70] = 0.0, 1.0, 0.3
    laws = []
    for rows in np.split(predictions, ends[:-1]):
        laws.append(np.cumsum(reduce(np.convolve, np.column_stack([1 - rows, rows]))))
    sums = BernoulliSums(predictions, ends - sizes)
    for uniform in np.concatenate([rng.random(100), np.arange(1, 256) / 256]):
        drawn, again = sums.draw(Scripted(*divmod(256 * uniform, 1)), 2)
        np.testing.assert_array_equal(drawn, again)
        for value, law in zip(drawn, laws, strict=True):
            least, most = np.searchsorted(law, uniform + np.array([-1e-12, 1e-12]), side="right")
            assert least <= value <= most


def test_first_and_last_uniform_numbers():
    """Their sums are the least and the greatest possible, though 255 + u may round to 256."""
    first, last = Scripted(0, 0.0), Scripted(255, np.nextafter(1.0, 0.0))
    sums = BernoulliSums(np.array([0.5] * 20 + [0.0, 0.5, 1.0]), np.array([0, 20]))
    np.testing.assert_array_equal(sums.draw(first, 1), [[0, 1]])
    np.testing.assert_array_equal(sums.draw(last, 1), [[20, 2]])
    weights = np.array([2.0, 4.0, 8.0])
    sums = WeightedBernoulliSums(np.array([0.0, 0.5, 1.0]), np.array([0]), weights)
    assert [sums.draw(generator, 1).item() for generator in (first, last)] == [12, 8]


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
    weights, outcomes = rng.random(5000), rng.integers(0, 2, 5000)
    cells = merge_rows(predictions, weights)
    places, index = np.unique(predictions, return_inverse=True)
    np.testing.assert_array_equal(cells.places, places)
    np.testing.assert_allclose(cells.mass, np.bincount(index, weights), rtol=1e-6)
    sums = cells.sum_rows(outcomes[cells.order])
    np.testing.assert_array_equal(sums, np.bincount(index, outcomes))


def test_the_most_places_that_are_kept():
    """One more, all in one cell of equal width, are in those of equal numbers of rows."""
    predictions = 0.5001 + 1e-7 * np.arange(2 * N_CELLS + 1)
    np.testing.assert_array_equal(merge_rows(predictions[:-1]).places, predictions[:-1])
    assert len(merge_rows(predictions).places) == N_CELLS


@pytest.mark.parametrize("kind", ["even", "rare", "tied"])
def test_cells_are_small(kind, rng):
    n = 50_000
    predictions = rng.random(n)
    if kind == "rare":
        predictions = predictions**8 * 1e-2
    elif kind == "tied":
        predictions[::2] = 0.25
    edges, weights = np.linspace(0, 1, 16)[1:-1], np.ones(n) if kind == "even" else rng.random(n)
    cells = merge_rows(predictions, None if kind == "even" else weights, edges)
    ordered, ends = predictions[cells.order], np.append(cells.starts[1:], n)
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


@pytest.mark.parametrize(
    ("n_classes", "n_draws"),
    [(2, 4000), (3, 4000), pytest.param(300, 1000, marks=pytest.mark.slow)],
)
def test_labels_have_the_probabilities_of_their_columns(rng, n_classes, n_draws):
    """Rows miss a sum of 1 by rounding; columns of 0 are never drawn."""
    proba = rng.dirichlet(np.full(n_classes, 0.5), 4) * 1.0004
    proba[0] = 0
    proba[0, -1] = 1
    edges = find_label_edges(proba)
    labels = draw_labels(rng, edges, n_draws)
    assert (labels[:, 0] == n_classes - 1).all()
    for column, row in zip(labels.T, proba, strict=True):
        counts, expected = np.bincount(column, minlength=n_classes), n_draws * row / row.sum()
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 5).all()
        assert not counts[row == 0].any()


@pytest.mark.parametrize("weighted", [False, True])
def test_categorical_sums_are_those_of_the_labels(rng, monkeypatch, weighted):
    """A row counts in the cell of its label alone; classes may share cells."""
    proba, cells = rng.dirichlet([1, 1, 1], 50), rng.integers(7, size=(3, 50))
    weights = rng.random(50) if weighted else None
    source, drawn = CategoricalSums(proba, cells.ravel(), 8, weights), []

    def note_labels(*arguments):
        drawn.append(draw_labels(*arguments))
        return drawn[-1]

    monkeypatch.setattr("skcal._numerics.cells._merging.draw_labels", note_labels)
    sums = source.draw(rng, 5)
    for row, labels in zip(sums, *drawn, strict=True):
        expected = np.zeros(8)
        for i, label in enumerate(labels):
            expected[cells[label, i]] += 1 if weights is None else weights[i]
        np.testing.assert_allclose(row, expected)


@pytest.mark.parametrize("n_classes", [3, 60])
def test_categorical_sums_do_not_depend_on_the_draws_at_a_time(rng, monkeypatch, n_classes):
    proba, cells = rng.dirichlet(np.ones(n_classes), 50), rng.integers(7, size=(n_classes, 50))
    source = CategoricalSums(proba, cells.ravel(), 7)
    expected = source.draw(np.random.default_rng(0), 20)
    monkeypatch.setattr("skcal._numerics.cells._merging._N_DRAWN", 150)
    np.testing.assert_array_equal(source.draw(np.random.default_rng(0), 20), expected)


@pytest.mark.parametrize("n_classes", [2, 47, 50, 64, 65, 300])
def test_a_label_has_as_many_edges_below_it_as_its_number(rng, n_classes):
    proba = rng.dirichlet(np.full(n_classes, 0.1), 40)  # some are 0 but for rounding
    proba[:5], proba[:5, 1] = 0, 1
    edges = find_label_edges(proba)
    labels, same = draw_labels(np.random.default_rng(3), edges, 500), np.random.default_rng(3)
    for row in labels:  # whatever the number of draws at a time
        np.testing.assert_array_equal(row, (same.random(40) >= edges).sum(axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_hits_add_up_to_the_sums(rng, weighted):
    """Classes have cells of their own; one is never drawn, and one has a single cell."""
    proba, starts, sizes = rng.dirichlet([1, 1, 1], 50), np.array([0, 4, 5, 11]), (4, 1, 6, 3)
    proba = np.insert(proba, 2, 0.0, axis=1)
    cells = np.stack(
        [start + rng.integers(size, size=50) for start, size in zip(starts, sizes, strict=True)]
    )
    source = CategoricalSums(proba, cells.ravel(), 14, rng.random(50) if weighted else None)
    sums = source.draw(np.random.default_rng(0), 5)
    hits = source.draw_hits(np.random.default_rng(0), 5)
    assert (np.diff(14 * hits.group + hits.cell) >= 0).all()
    label, sample = np.divmod(hits.group, 5)
    np.testing.assert_array_equal(label, np.searchsorted(starts, hits.cell, side="right") - 1)
    found = np.bincount(14 * sample + hits.cell, hits.weights, sums.size).reshape(sums.shape)
    np.testing.assert_allclose(found, sums)


@pytest.mark.parametrize("scale", [1.0, 1e-250, 1e250])
def test_effective_counts(scale):
    """(1 + 2)^2 / (1 + 4) = 1.8; k equal weights are k rows."""
    kind, weights = np.array([3, 0, 3, 1, 1, 1, 1]), np.array([1.0, 7, 2, 3, 3, 3, 3])
    found = count_effectively(kind, scale * weights, 5)
    np.testing.assert_allclose(found, [1, 4, 0, 1.8, 0], rtol=1e-15)
