"""Sorts of packed integers against sorts of the rows themselves."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skcal._numerics.cells import _order as order
from skcal._tools._order import sort_rows

SPECIAL = [0.0, -0.0, 5e-324, 1e-310, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 1.0]
TYPES = ["float64", "float32", "float16", ">f8", ">f4", "longdouble", "int8"]


def draw_predictions(rng, n):
    return np.where(rng.random(n) < 0.5, rng.choice(SPECIAL, n), rng.random(n).round(4))


@pytest.mark.parametrize("prediction_type", TYPES)
def test_labelled_rows_are_sorted_by_prediction_then_outcome(rng, prediction_type):
    for outcome_type in ("int64", "bool", "uint8", ">f4", "float64"):
        for n in (1, 2, 1000, order._CHUNK + 10):
            predictions = draw_predictions(rng, n).astype(prediction_type)
            outcomes = rng.integers(0, 2, n).astype(outcome_type)
            given = predictions.copy(), outcomes.copy()
            found, labels = order.sort_labelled(predictions, outcomes)
            rows = np.lexsort((outcomes, predictions))
            assert_array_equal(found, predictions[rows].astype(float))
            assert_array_equal(labels, outcomes[rows])
            assert found.dtype == labels.dtype == float
            assert not np.signbit(found).any()
            assert_array_equal(predictions, given[0])
            assert_array_equal(outcomes, given[1])


@pytest.mark.parametrize(
    "draw",
    [
        draw_predictions,
        lambda rng, n: rng.random(n),
        lambda rng, n: rng.random(n) ** 300,
        # That differ in their last digits alone: all, and a few in each of some stretches.
        lambda rng, n: 0.5 + rng.integers(0, 100, n) * 2.0**-53,
        lambda rng, n: rng.choice([0.1, 0.2, 0.3], n) + rng.integers(0, 9, n) * 2.0**-53,
        lambda rng, n: np.where(rng.random(n) < 0.1, 1 - rng.random(n) * 2.0**-40, rng.random(n)),
    ],
)
def test_order_of_rows(rng, draw):
    for n in (1, 2, 3, 4, 100, 5000):
        predictions = draw(rng, n)
        found, rows = order.sort_with_order(predictions)
        assert_array_equal(found, np.sort(predictions))
        assert_array_equal(predictions[rows], found)
        assert_array_equal(np.sort(rows), np.arange(n))


def test_integers_are_sorted_and_their_rows_too(rng):
    for numbers in (rng.integers(0, 5, 1000), rng.integers(0, 1 << 50, 1000), np.zeros(1, int)):
        found, rows = order.sort_numbers(numbers)
        assert_array_equal(rows, np.argsort(numbers, kind="stable"))
        assert_array_equal(found, numbers[rows])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("values", [[0.2], [0.1, 0.4, 0.9], [0, 0, 0.3, 0.7, 0.7, 0.7], [1, 1]])
def test_ties_are_merged(rng, values, weighted):
    values = np.array(values, dtype=float)
    weights = rng.integers(1, 9, len(values)) / 4 if weighted else np.ones(len(values))
    positive = weights * rng.integers(0, 2, len(values))
    distinct, sums, hits = order.merge_ties(values, weights if weighted else None, positive)
    assert_array_equal(distinct, np.unique(values))
    assert_array_equal(sums, [weights[values == one].sum() for one in distinct])
    assert_array_equal(hits, [positive[values == one].sum() for one in distinct])
    assert sums.dtype == float


def test_values_below_places(rng):
    """As NumPy's searchsorted, for ties, 0, 1, neighbours and places below 0."""
    special = [0.0, 5e-324, 0.25, np.nextafter(0.25, 1), 0.5, 1.0]
    for n_values, n_places in ((0, 3), (1, 1), (50, 80), (300, 40)):
        values = np.sort(np.append(rng.random(n_values), rng.choice(special, n_values)))
        places = np.sort(np.concatenate([rng.uniform(-1, 1, n_places), special, values]))
        found = order.count_below(values, places)
        assert_array_equal(found, np.searchsorted(values, places))


def unite_one_by_one(predictions):
    """Each takes part in the stretch of the first within 32 floats below it; no 0 or 1 does."""
    firsts, stretches = [], {}
    for value in sorted(set(predictions.tolist())):
        steps = float.fromhex("0x1p-52") / 2 * 32  # relative to 1/2 <= value < 1, as all here
        is_alike = firsts and firsts[-1] > 0 and value < 1 and value - firsts[-1] <= steps
        if not is_alike:
            firsts.append(value)
        stretches[value] = firsts[-1]
    largest = {}
    for value, first in stretches.items():
        largest[first] = max(value, largest.get(first, 0.0))
    return np.array([largest[stretches[value]] for value in predictions.tolist()])


@pytest.mark.parametrize("steps", [1, 30, 40, 200])
def test_predictions_that_agree_to_rounding_are_united(rng, steps):
    near = rng.choice([0.5, 0.6, 1 - 2**-47], 500) + rng.integers(0, steps, 500) * 2.0**-53
    v = np.minimum(np.concatenate([near, [0.0, -0.0, 1.0, 5e-324, 0.5]]), 1.0)
    rng.shuffle(v)
    given = v.copy()
    united = order.unite_rounded(v)
    assert_array_equal(united, unite_one_by_one(v))
    assert_array_equal(v, given)
    weights = rng.random(len(v))
    places = np.argsort(v)
    merged = order.merge_ties(v[places] + 0.0, weights[places], weights[places] / 2)
    distinct, index = np.unique(united, return_inverse=True)
    assert_array_equal(merged[0], distinct)
    np.testing.assert_allclose(merged[1], np.bincount(index, weights))
    np.testing.assert_allclose(merged[2], np.bincount(index, weights) / 2)
    far = np.unique(rng.random(500).astype(np.float32)).astype(np.float64)
    assert order.unite_rounded(far) is far  # neighbours in float32 are not near in float64


@pytest.mark.parametrize("last", [[], [0.5], [3, 1, 2, 0], [1, 0, 1, 0], [-0.0, 0.0, 0.0, -0.0]])
def test_rows_are_sorted_by_the_last_column_first(last):
    columns = np.arange(len(last))[::-1], np.array(last)
    assert_array_equal(sort_rows(columns), np.lexsort(columns))
