"""Sums by cell: what they hold, and the few rows that have the same sums."""

from itertools import permutations

import numpy as np
import pytest

from skcal._numerics import _cell_moments
from skcal._numerics._cell_moments import (
    ORDER,
    SEVERAL,
    add_rows,
    average_cells,
    make_cells,
    match_moments,
    merge_places,
    split_pairs,
)
from tests.numerics.cells import sum_rows

N_CELLS = 64


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    lumps = np.array([0, 0, 1, 1, 0.5, 1e-300, 5 / 64, np.nextafter(5 / 64, 1)])
    predictions = np.concatenate([rng.random(2000), np.round(rng.random(300), 2), lumps])
    return predictions, rng.random(len(predictions)) < predictions, rng.exponential(size=2308)


def test_cells_are_closed_on_the_right(rows):
    """Sums, the one place, means, and few rows that have the same sums."""
    predictions, outcomes, weights = rows
    moments, places = sum_rows(predictions, outcomes, weights, N_CELLS)
    means, shares, masses, cells = average_cells(moments, places)
    np.testing.assert_array_equal(cells, range(N_CELLS))
    for cell in range(N_CELLS):
        low, high = cell / N_CELLS, (cell + 1) / N_CELLS
        inside = (predictions <= high) & ((predictions > low) | (cell == 0))
        for outcome in (0, 1):
            chosen = inside & (outcomes == outcome)
            place = cell + 1 - N_CELLS * predictions[chosen]
            expected = [weights[chosen] @ place**k for k in range(ORDER)]
            np.testing.assert_allclose(moments[outcome, :, cell], expected, atol=1e-12)
        distinct, w = np.unique(predictions[inside]), weights[inside]
        assert places[cell] == (distinct[0] if len(distinct) == 1 else SEVERAL)
        found, expected = (means[cell], shares[cell]), (predictions[inside], outcomes[inside])
        np.testing.assert_allclose(found, np.average(expected, axis=1, weights=w), rtol=1e-12)
        assert masses[cell] == pytest.approx(w.sum())
    few = match_moments(moments, places)
    assert len(few[0]) <= 4 * N_CELLS
    again, _ = sum_rows(few[0], few[1] == 1, few[2], N_CELLS)
    np.testing.assert_allclose(again, moments, atol=1e-11)


@pytest.mark.parametrize(("n_cells", "weighted"), [(16, True), (2048, False)])
def test_chunks_add_up(n_cells, weighted, monkeypatch):
    """Whatever the sizes of chunks, and whenever their sums are carried over."""
    monkeypatch.setattr(_cell_moments, "FLUSH", 150)
    rng = np.random.default_rng(4)
    rows, (sums, places) = [], make_cells(n_cells)
    for sizes, is_soft in (((100, 50, 120, 50, 40), False), ((60, 100, 120), True), ((9,), False)):
        chunks = []
        for size in sizes:
            predictions = rng.random(size)
            outcomes = rng.random(size) if is_soft else rng.random(size) < predictions
            chunks.append((predictions, outcomes, rng.random(size) if weighted else None))
        assert add_rows(sums, places, chunks) is not is_soft
        rows += chunks
    predictions, outcomes = (np.concatenate(parts) for parts in list(zip(*rows, strict=True))[:2])
    weights = np.concatenate([chunk[2] for chunk in rows]) if weighted else 1.0
    upper = np.ceil(predictions * n_cells)
    powers = split_pairs(sums)
    for k in range(ORDER):
        for outcome, share in enumerate((1 - outcomes, outcomes)):
            parts = weights * share * (upper - predictions * n_cells) ** k
            expected = np.bincount(upper.astype(int), parts, n_cells + 1)
            np.testing.assert_allclose(powers[k, :, outcome], expected, atol=1e-12)
    count = np.bincount(upper.astype(int), minlength=n_cells + 1)
    np.testing.assert_array_equal(places == SEVERAL, count > 1)
    alone = (count == 1)[upper.astype(int)]
    np.testing.assert_array_equal(places[count == 1], np.sort(predictions[alone]))


def test_light_rows_after_heavy_ones_are_not_lost(monkeypatch):
    """Beside 1e16 a weight of 0.4 is rounded away, but not the sum of many of them."""
    monkeypatch.setattr(_cell_moments, "FLUSH", 150)
    sums, places = make_cells(16)
    predictions, outcomes, light = np.full(100, 0.3), np.ones(100, dtype=bool), np.full(100, 0.4)
    add_rows(
        sums,
        places,
        [(predictions, outcomes, light * (2.5e14 if k == 0 else 1)) for k in range(12)],
    )
    # Those that are carried over together with the heavy ones may be lost.
    assert abs(sums[0].real.sum() - (1e16 + 11 * 40)) <= 40 + 2


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([np.nan, np.nan, np.nan], np.nan),
        ([0.25, np.nan, 0.25], 0.25),
        ([0.25, np.nan, 0.5], SEVERAL),
        ([SEVERAL, np.nan, 0.5], SEVERAL),
    ],
)
def test_places_merge_in_any_order(parts, expected):
    for one, two, three in permutations(np.array(parts)[:, None]):
        np.testing.assert_equal(merge_places(merge_places(one, two), three), [expected])


@pytest.mark.parametrize(("kind", "end"), [("close", 0), ("close", 1), ("light", 0), ("light", 1)])
def test_few_rows_stay_in_their_cells_and_keep_the_mean(end, kind):
    """Rows close together, or a light one at an end: rounding garbles the third moment."""
    rng = np.random.default_rng(end)
    for _ in range(40):
        cell = int(rng.choice([0, 5, N_CELLS - 1]))
        edge, inwards = (cell + end) / N_CELLS, (1 - 2 * end) / N_CELLS
        if kind == "close":
            predictions = edge + inwards * 10 ** rng.uniform(-10, -6, 3)
            weights = rng.random(3) ** 4
        else:
            predictions = edge + inwards * np.array([1e-12, rng.random(), 1e-12])
            weights = np.array([1, 1e13, 1]) * 10 ** rng.uniform(-0.5, 2, 3)
        few, outcomes, masses = match_moments(
            *sum_rows(predictions, np.zeros(3, dtype=bool), weights, N_CELLS)
        )
        assert (few >= cell / N_CELLS).all()
        assert (few <= (cell + 1) / N_CELLS).all()
        assert (masses > 0).all()
        assert (outcomes == 0).all()
        expected = np.average(predictions, weights=weights)
        np.testing.assert_allclose(
            np.average(few, weights=masses), expected, rtol=4e-16, atol=1e-16
        )
        np.testing.assert_allclose(masses.sum(), weights.sum(), rtol=1e-15)


def test_one_prediction_in_a_cell_is_kept_to_the_bit():
    rng = np.random.default_rng(3)
    predictions = (np.arange(N_CELLS) + rng.random(N_CELLS)) / N_CELLS
    predictions[7] = 8 / N_CELLS  # an edge
    weights = rng.random(2 * N_CELLS)
    outcomes = np.repeat([False, True], N_CELLS)
    moments, places = sum_rows(np.tile(predictions, 2), outcomes, weights, N_CELLS)
    few, labels, masses = match_moments(moments, places)
    np.testing.assert_array_equal(few, np.tile(predictions, 2))
    np.testing.assert_array_equal(labels, outcomes)
    np.testing.assert_array_equal(masses, weights)
    means, shares, *_ = average_cells(moments, places)
    np.testing.assert_array_equal(means, predictions)
    assert (shares <= 1).all()
