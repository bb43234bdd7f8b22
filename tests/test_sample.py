"""`Sample` against slow programs: sums over cells, rows that are present, and resamplers."""

import numpy as np
import pytest

from skcal._estimates._isotonic import regress_isotonically
from skcal._input._sample import CHUNK, FEW_ROWS, Sample
from skcal._numerics.inference._resampling import CellResampler, RowResampler

every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
# Few cells, and more than a chunk has rows.
every_number_of_cells = pytest.mark.parametrize("n_cells", [4, 5 * CHUNK // 4])


def make_sample(n_rows, *, weighted=False, soft=False):
    rng = np.random.default_rng(0)
    predictions = np.round(rng.random(n_rows), 3)  # with ties, 0 and 1
    outcomes = rng.random(n_rows) if soft else (rng.random(n_rows) < 0.4).astype(float)
    weights = rng.integers(0, 4, n_rows) / 4 if weighted else None
    return Sample(predictions, outcomes, weights)


def read_weights(sample):
    return np.ones(len(sample.outcomes)) if sample.weights is None else sample.weights


def sum_cells(sample, values, n_cells, order):
    """Sums of weight * value * a^k in each cell, by the definition."""
    sums = np.zeros((order, n_cells))
    scaled = sample.predictions * n_cells
    cells = np.minimum(scaled.astype(int), n_cells - 1)
    for power in range(order):
        np.add.at(sums[power], cells, read_weights(sample) * values * (scaled - cells) ** power)
    return sums


@every_weighting
@every_number_of_cells
def test_sums_in_cells(weighted, n_cells):
    sample = make_sample(CHUNK + 1000, weighted=weighted, soft=True)
    y, p = sample.outcomes.copy(), sample.predictions.copy()
    moments, absolute = sample.residual_in_cells(n_cells)
    mass, positive = sample.mass_in_cells(n_cells)
    for found, values, order in (
        (moments, y - p, 2),
        (absolute[np.newaxis], np.abs(y - p), 1),
        (mass, np.ones_like(y), 3),
        (positive, y, 2),
    ):
        expected = sum_cells(sample, values, n_cells, order) / sample.total_weight
        np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_array_equal((sample.outcomes, sample.predictions), (y, p))


@every_weighting
def test_squares_by_bin(weighted):
    """A soft label is outcomes 1 and 0 in its proportion."""
    sample = make_sample(CHUNK + 1000, weighted=weighted, soft=True)
    p, y = sample.predictions, sample.outcomes
    found = sample.squares_by_bin(lambda p: (p * 3.99).astype(int), 4)
    squares = y * (1 - p) ** 2 + (1 - y) * p**2
    parts = read_weights(sample) * [np.ones_like(y), y, y - p, squares]
    expected = parts @ np.eye(4)[(p * 3.99).astype(int)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@every_weighting
@pytest.mark.parametrize("soft", [False, True])
def test_sorted_sample(weighted, soft):
    """Ties hold exact sums: of weights that are quarters, and of outcomes that are eighths."""
    sample = make_sample(CHUNK + 1000, weighted=weighted, soft=soft)
    p, y, w = sample.predictions, np.round(sample.outcomes * 8) / 8, read_weights(sample)
    ties = Sample(p, y, sample.weights).sorted
    distinct, place = np.unique(p[w > 0], return_inverse=True)
    weight, positive = (np.bincount(place, values[w > 0]) for values in (w, w * y))
    np.testing.assert_array_equal(ties.predictions, distinct)
    np.testing.assert_array_equal(ties.weight, weight)
    np.testing.assert_array_equal(ties.positive, positive)
    residual = (positive - weight * distinct) / w.sum()
    np.testing.assert_allclose(ties.residual, residual, rtol=0, atol=1e-17)


@pytest.mark.parametrize("outcomes", ["bool", "int8", "float32"])
def test_sorted_sample_without_ties(outcomes):
    """Of more rows than are worked on at a time; predictions are left as they were."""
    predictions = np.random.default_rng(0).permutation(CHUNK + 1000) / (CHUNK + 1000)
    given = predictions.copy()
    ties = Sample(predictions, (predictions < 0.3).astype(outcomes)).sorted
    np.testing.assert_array_equal(ties.predictions, np.sort(given))
    np.testing.assert_array_equal(ties.positive, ties.predictions < 0.3)
    np.testing.assert_array_equal(ties.weight, np.ones(len(given)))
    np.testing.assert_allclose(
        ties.residual * len(given), ties.positive - ties.predictions, atol=1e-15
    )
    np.testing.assert_array_equal(predictions, given)


@every_weighting
def test_residual_by_bin(weighted):
    sample = make_sample(CHUNK + 1000, weighted=weighted, soft=True)
    rows = (lambda p: (p * 3.99).astype(int)), 4
    _, residual = sample.sum_by_bin(*rows)
    np.testing.assert_array_equal(sample.residual_by_bin(*rows), residual)
    expected = sum_cells(sample, sample.outcomes - sample.predictions, 1, 1) / sample.total_weight
    assert residual.sum() == pytest.approx(expected.item(), abs=1e-13)


@every_weighting
def test_arrays_of_another_library_become_numpy(weighted):
    xp = pytest.importorskip("array_api_strict")
    sample = make_sample(10, weighted=weighted)
    rows = (sample.predictions, sample.outcomes, sample.weights)
    moved = Sample(*(None if one is None else xp.asarray(one) for one in rows)).to_numpy()
    for name, one in zip(("predictions", "outcomes", "weights"), rows, strict=True):
        assert type(getattr(moved, name)) is type(one)
        np.testing.assert_array_equal(getattr(moved, name), one)
    assert moved.to_numpy() is moved


@every_number_of_cells
@every_weighting
@pytest.mark.parametrize("power", [0, 1, 2])
def test_moments_by_outcome(n_cells, weighted, power):
    sample = make_sample(CHUNK + 1000, weighted=weighted)
    weights = read_weights(sample)
    weights = (weights > 0) * (weights / weights.max()) ** power
    rows = Sample(sample.predictions, sample.outcomes)
    expected = [sum_cells(rows, weights * (sample.outcomes == y), n_cells, 5) for y in (0, 1)]
    np.testing.assert_allclose(sample.moments_by_outcome(n_cells, power), expected, atol=1e-9)


@every_weighting
def test_rows_that_are_present(weighted):
    sample = make_sample(500, weighted=weighted)
    chunks = list(sample.present_chunks(size=64))
    assert len(chunks) == 8
    present = read_weights(sample) > 0
    for found, given in zip(
        zip(*chunks, strict=True),
        (sample.predictions, sample.outcomes, read_weights(sample)),
        strict=True,
    ):
        np.testing.assert_array_equal(np.concatenate(found), given[present])
    assert sample.n_present == present.sum()


def test_range_of_rows_that_are_present():
    """Whole chunks without a row that counts are no obstacle."""
    predictions = np.linspace(0, 1, 3 * CHUNK)
    weights = np.zeros(3 * CHUNK)
    weights[[CHUNK + 1, CHUNK + 7]] = 0.5
    span = Sample(predictions, predictions, weights).find_range()
    assert span == (predictions[CHUNK + 1], predictions[CHUNK + 7])


MANY = FEW_ROWS + 1
PLAIN = make_sample(MANY)
# The last row weighs more, or has a soft label.
UNEQUAL = Sample(PLAIN.predictions, PLAIN.outcomes, np.r_[np.full(MANY - 1, 0.5), 1.0])
SOFT = Sample(PLAIN.predictions, np.r_[PLAIN.outcomes[:-1], 0.5])


@pytest.mark.parametrize(
    ("sample", "options", "kind"),
    [
        (PLAIN, {}, CellResampler),
        (make_sample(FEW_ROWS), {}, RowResampler),
        (UNEQUAL, {}, CellResampler),
        (Sample(PLAIN.predictions, PLAIN.outcomes, np.full(MANY, 0.5)), {}, CellResampler),
        (SOFT, {}, RowResampler),
        # 40,000 groups, which the rows would not fill
        (make_sample(2 * 40_000), {"bandwidth": 1e-4}, RowResampler),
        (make_sample(2 * 40_000 + 1), {"bandwidth": 1e-4}, CellResampler),
    ],
)
def test_rows_are_drawn_in_groups_where_they_are_many_labels(sample, options, kind):
    assert type(sample.resampler(**({"bandwidth": 0.1} | options))) is kind


@pytest.mark.parametrize("sample", [PLAIN, UNEQUAL])
def test_groups_hold_the_rows_of_the_sample(sample):
    resampler = sample.resampler(0.1)
    assert resampler.n_cells >= 6 * 512
    assert resampler.group[-1] == 511
    (nodes,), (size,) = resampler.residual_nodes([resampler.keep()])
    expected_nodes, expected_size = sample.residual_on_grid(resampler.n_cells)
    np.testing.assert_allclose(nodes, expected_nodes, atol=1e-15)
    assert size == pytest.approx(expected_size, rel=1e-12)


def test_stretches_that_do_not_rise_keep_every_outcome():
    """A mean is 1 only where no row disagrees, however small its weight is."""
    v, y, w = np.array([0.2, 0.3, 0.4, 0.5]), np.array([0, 1, 1, 0]), np.array([1, 1, 1, 1e-30])
    found = regress_isotonically(Sample(v, y, w).sorted)
    assert found[0] == 0
    assert (found[1:] == np.nextafter(1, 0)).all()
    assert regress_isotonically(Sample(v[:3], y[:3], w[:3]).sorted).tolist() == [0, 1, 1]
