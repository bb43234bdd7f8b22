"""The median of distances, and columns of two classes, from their definitions."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from skcal._numerics.errors import _squared_kernel
from skcal._numerics.errors._squared_kernel import (
    find_median_distance,
    read_binary,
    square_residuals,
    sum_pairs,
)


def measure_median(proba, weights, name="euclidean"):
    """The median distance, from a list that holds each pair as often as its weights say."""
    distances = pdist(proba, "cityblock") / 2 if name == "total_variation" else pdist(proba)
    one, other = np.triu_indices(len(proba), 1)
    return np.median(np.repeat(distances, weights[one] * weights[other]))


@pytest.mark.parametrize("name", ["euclidean", "gaussian", "total_variation"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 12])
def test_weighted_median_distance(rng, monkeypatch, name, n):
    monkeypatch.setattr(_squared_kernel, "_MEDIAN_ROWS", n)  # which is not too many
    proba, weights = rng.dirichlet(np.ones(3), n), rng.integers(1, 6, n)
    found = find_median_distance(proba, weights, name)
    assert found == pytest.approx(measure_median(proba, weights, name), rel=1e-14)
    for scale in (2.0**-1000, 2.0**540, 2.0**1000):
        assert find_median_distance(proba, scale * weights, name) == found
    expected = measure_median(proba, np.ones(n, int), name)
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


def test_median_distance_of_a_part_of_the_rows(rng, monkeypatch):
    """The rows in the middle of each eighth of the weight, in lexicographic order."""
    monkeypatch.setattr(_squared_kernel, "_MEDIAN_ROWS", 8)
    rows = np.array(sorted(rng.dirichlet(np.ones(3), 16).tolist()))
    weights = np.array([1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 19])
    taken = np.repeat(np.arange(16), weights)[2::5]  # 40 units of weight: the middle of each 5
    part, counts = np.unique(taken, return_counts=True)
    order = rng.permutation(16)
    found = find_median_distance(rows[order], weights[order], "euclidean")
    assert found == pytest.approx(measure_median(rows[part], counts), rel=1e-14)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 3.0])])
def test_median_distance_of_equal_rows(weights):
    assert find_median_distance(np.full((4, 3), [0.2, 0.3, 0.5]), weights, "euclidean") == 0


def test_the_same_column_is_read_in_either_order(rng):
    for positive in (rng.random(20) * 0.5, 0.5 + rng.random(20) * 0.5):
        vectors = np.column_stack([1 - positive, positive]) + 1e-9 * rng.random((20, 1))
        chosen, column = read_binary(vectors)
        swapped, other = read_binary(vectors[:, ::-1])
        np.testing.assert_array_equal(chosen, swapped)
        assert other == 1 - column == vectors.mean(axis=0).argmax()
        np.testing.assert_allclose(chosen, [1 - positive, positive][column], atol=1e-15)


def test_sum_of_pairs_in_pieces(rng, monkeypatch):
    matrix, left, right = rng.random((50, 20)), rng.random((50, 3)), rng.random((20, 3))
    expected = np.einsum("ij,ik,jk->", matrix, left, right)
    for n_rows in (15, 16, 17, 49, 50):
        monkeypatch.setattr(_squared_kernel, "_FEW_MULTIPLICATIONS", n_rows * right.size)
        assert sum_pairs(matrix, left, right) == pytest.approx(expected, rel=1e-13)


def test_squared_residual_of_a_soft_label_is_the_mean_over_its_labels(rng):
    soft, proba = rng.dirichlet(np.ones(3), 10), rng.dirichlet(np.ones(3), 10)
    root = rng.random((3, 3))
    for kernel in (None, root @ root.T):
        full = np.eye(3) if kernel is None else kernel
        by_label = [np.einsum("ij,jk,ik->i", one - proba, full, one - proba) for one in np.eye(3)]
        expected = (soft * np.transpose(by_label)).sum(axis=1)
        np.testing.assert_allclose(square_residuals(soft, proba, kernel), expected)
