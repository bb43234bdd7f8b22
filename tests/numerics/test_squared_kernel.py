"""The median of distances, and columns of two classes, from their definitions."""

import numpy as np
import pytest

from skcal._numerics import _squared_kernel
from skcal._numerics._squared_kernel import find_median_distance, read_binary


def measure_median(proba, weights, name="euclidean"):
    """The median distance, from a list that holds each pair as often as its weights say."""
    distances = []
    for i, (row, weight) in enumerate(zip(proba, weights, strict=True)):
        for other, other_weight in zip(proba[:i], weights[:i], strict=True):
            gap = np.abs(row - other)
            distance = gap.sum() / 2 if name == "total_variation" else np.sqrt((gap**2).sum())
            distances += [distance] * int(weight * other_weight)
    return np.median(distances)


@pytest.mark.parametrize("name", ["euclidean", "gaussian", "total_variation"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 12])
def test_weighted_median_distance(rng, monkeypatch, name, n):
    monkeypatch.setattr(_squared_kernel, "_MEDIAN_ROWS", n)  # which is not too many
    proba, weights = rng.dirichlet(np.ones(3), n), rng.integers(1, 6, n)
    expected = measure_median(proba, weights, name)
    assert find_median_distance(proba, weights, name) == pytest.approx(expected, rel=1e-14)
    expected = measure_median(proba, np.ones(n), name)
    assert find_median_distance(proba, None, name) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("weights", "distance"),
    [([10, 10, 1], 0.3), ([1, 10, 10], 0.6), ([10, 1, 10], 0.9), ([2, 2, 1], (0.3 + 0.6) / 2)],
)
def test_median_distance_where_one_pair_has_most_of_the_weight_or_half_of_it(weights, distance):
    """Three rows on a line, the pairs of which have the distances 0.3, 0.6 and 0.9."""
    proba = np.array([[0.0, 1.0], [0.3, 0.7], [0.9, 0.1]])
    found = find_median_distance(proba, np.array(weights), "total_variation")
    assert found == pytest.approx(distance, rel=1e-14)


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**540, 2.0**1000])
def test_scale_of_weights_does_not_move_the_median(scale):
    rng = np.random.default_rng(0)
    proba, weights = rng.dirichlet(np.ones(3), 12), rng.integers(1, 6, 12)
    expected = find_median_distance(proba, weights, "euclidean")
    assert find_median_distance(proba, scale * weights, "euclidean") == expected


def test_median_distance_of_a_part_of_the_rows(monkeypatch):
    """The rows in the middle of each eighth of the weight, in lexicographic order."""
    monkeypatch.setattr(_squared_kernel, "_MEDIAN_ROWS", 8)
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), 16)
    rows = rows[np.lexsort(rows.T[::-1])]
    weights = np.array([1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 19])
    taken = np.repeat(np.arange(16), weights)[2::5]  # 40 units of weight: the middle of each 5
    part, counts = np.unique(taken, return_counts=True)
    order = rng.permutation(16)
    found = find_median_distance(rows[order], weights[order], "euclidean")
    assert found == pytest.approx(measure_median(rows[part], counts), rel=1e-14)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 3.0])])
def test_median_distance_of_equal_rows(weights):
    proba = np.full((4, 3), [0.2, 0.3, 0.5])
    assert find_median_distance(proba, weights, "euclidean") == 0


def test_the_same_column_is_read_in_either_order():
    rng = np.random.default_rng(0)
    for positive in (rng.random(20) * 0.5, 0.5 + rng.random(20) * 0.5):
        vectors = np.column_stack([1 - positive, positive]) + 1e-9 * rng.random((20, 1))
        chosen, column = read_binary(vectors)
        swapped, other = read_binary(vectors[:, ::-1])
        np.testing.assert_array_equal(chosen, swapped)
        assert other == 1 - column == vectors.mean(axis=0).argmax()
        np.testing.assert_allclose(chosen, [1 - positive, positive][column], atol=1e-15)
