"""Sums by cell: what they hold, and the few rows that have the same sums."""

import numpy as np
import pytest

from skcal._numerics._cell_bins import range_bins
from skcal._numerics._cell_bounds import CellFacts, bound_fixed_point, bound_smoothed
from skcal._numerics._cell_moments import (
    ORDER,
    SEVERAL,
    add_rows,
    average_cells,
    fold_zero,
    make_cells,
    match_moments,
    merge_places,
)

N_CELLS = 64


def sum_rows(predictions, outcomes, weights=None, n_cells=N_CELLS):
    sums, places = make_cells(n_cells)
    add_rows(sums, places, [(predictions, outcomes, weights)])
    return fold_zero(sums, places)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    lumps = np.array([0, 0, 1, 1, 0.5, 1e-300, 5 / 64, np.nextafter(5 / 64, 1)])
    predictions = np.concatenate([rng.random(2000), np.round(rng.random(300), 2), lumps])
    return predictions, rng.random(len(predictions)) < predictions, rng.exponential(size=2308)


def test_cells_are_closed_on_the_right(rows):
    predictions, outcomes, weights = rows
    moments, places = sum_rows(predictions, outcomes, weights)
    for cell in range(N_CELLS):
        low, high = cell / N_CELLS, (cell + 1) / N_CELLS
        inside = (predictions <= high) & ((predictions > low) | (cell == 0))
        for outcome in (0, 1):
            chosen = inside & (outcomes == outcome)
            place = cell + 1 - N_CELLS * predictions[chosen]
            expected = [weights[chosen] @ place**k for k in range(ORDER)]
            np.testing.assert_allclose(moments[outcome, :, cell], expected, atol=1e-12)
        distinct = np.unique(predictions[inside])
        assert places[cell] == (distinct[0] if len(distinct) == 1 else SEVERAL)


def test_few_rows_have_the_same_sums(rows):
    predictions, outcomes, weights = rows
    moments, places = sum_rows(predictions, outcomes, weights)
    few = match_moments(moments, places)
    assert len(few[0]) <= 4 * N_CELLS
    again, _ = sum_rows(few[0], few[1] == 1, few[2])
    np.testing.assert_allclose(again, moments, atol=1e-11)
    predictions, outcomes, weights, cells = average_cells(moments, places)
    assert (np.diff(cells) > 0).all()
    np.testing.assert_allclose(weights, moments[:, 0, cells].sum(axis=0))
    np.testing.assert_allclose(weights * outcomes, moments[1, 0, cells], atol=1e-12)


def test_soft_labels_are_two_rows(rows):
    predictions, _, weights = rows
    soft = np.linspace(0, 1, len(predictions))
    moments, _ = sum_rows(predictions, soft, weights)
    for outcome, share in enumerate((1 - soft, soft)):
        alone, _ = sum_rows(predictions, np.full(len(soft), outcome == 1), weights * share)
        np.testing.assert_allclose(moments[outcome], alone[outcome], atol=1e-12)


def test_places_merge_in_any_order():
    rng = np.random.default_rng(1)
    parts = rng.choice([np.nan, 0.25, 0.5, SEVERAL], (3, 200))
    one, two, three = parts
    expected = merge_places(merge_places(one, two), three)
    np.testing.assert_array_equal(merge_places(three, merge_places(two, one)), expected)
    for cell, values in zip(expected, parts.T, strict=True):
        distinct = set(values[~np.isnan(values)])
        if len(distinct) == 0:
            assert np.isnan(cell)
        else:
            assert cell == (distinct.pop() if len(distinct) == 1 else SEVERAL)


def test_nothing_is_unknown_where_cells_hold_one_prediction():
    predictions = np.array([0.0, 0.0, 0.3, 0.3, 1.0])
    facts = CellFacts(*sum_rows(predictions, np.array([True, False, True, False, True])))
    assert facts.displacement == facts.distance == 0
    assert bound_smoothed(facts, 1e-4) == 0
    assert bound_fixed_point(facts, 0.1, accuracy=1e-6) < 2e-6


def test_the_bound_of_a_fixed_point_holds_for_all_functions_within_the_slack():
    """The two extreme functions that the slack allows, for smECE_s = .0025 / s."""
    rng = np.random.default_rng(2)
    predictions = rng.random(500)
    outcomes = rng.random(500) < predictions
    facts = CellFacts(*sum_rows(predictions, outcomes, n_cells=16))
    value = 0.05
    points = np.linspace(1e-3, 1, 200_001)
    slack = bound_smoothed(facts, points)
    lowest = np.maximum.accumulate((value**2 / points - slack)[::-1])[::-1]  # it must not increase
    for function in (value**2 / points + slack, lowest):
        root = points[np.argmax(function <= points)]
        assert 1e-4 < abs(root - value) <= bound_fixed_point(facts, value, accuracy=1e-9) + 1e-5


def test_only_cells_that_an_edge_cuts_are_in_doubt():
    predictions = np.array([0.1, 0.11, 0.3, 0.31])  # 0.1 and 0.11 share a cell of 16
    outcomes = np.array([True, False, True, False])
    facts = CellFacts(*sum_rows(predictions, outcomes, n_cells=16))
    for edges, doubtful in (([0, 0.25, 1], False), ([0, 0.105, 1], True), ([0, 0.0625, 1], False)):
        ranges = range_bins(facts, np.array(edges))
        assert (ranges.mass[0] < ranges.mass[1]).any() == doubtful
        in_first = predictions <= edges[1]
        residual = (outcomes - predictions)[in_first].sum() / 4
        assert ranges.residual[0, 0] - 1e-15 <= residual <= ranges.residual[1, 0] + 1e-15
        squares = ((outcomes - predictions)[in_first] ** 2).sum() / 4
        assert ranges.squares[0, 0] - 1e-15 <= squares <= ranges.squares[1, 0] + 1e-15
