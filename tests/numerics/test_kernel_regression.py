"""Kernel regression: direct sums, and the laws of its means."""

import tracemalloc

import numpy as np
import pytest

from skcal._input._sample import Sample
from skcal._numerics.curves._kernel_regression import (
    average_on_kernel,
    count_on_kernel,
    log_reflected_kernel,
    regress_on_kernel,
    sum_squares_on_kernel,
)
from tests.reference import reflected_kernel_sum

N_POINTS = 41
POINTS = np.linspace(0, 1, N_POINTS)


def make_sample(places, seed=0):
    """Weighted rows with ties, at 0 and at 1, some of weight zero."""
    rng = np.random.default_rng(seed)
    v = np.concatenate([[0, 0, 1, 1], places])
    y = (rng.random(len(v)) < v**2).astype(float)
    return Sample(v, y, rng.integers(0, 4, len(v)).astype(float))


SAMPLES = {
    "many": make_sample(np.random.default_rng(1).beta(0.4, 0.3, 500)),
    "clumps": make_sample(np.repeat([0.2, 0.21, 0.9], 50)),
}


def regress(sample, bandwidth, n_points=N_POINTS):
    return regress_on_kernel(sample.curve_moments(1 << 14), bandwidth, n_points)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("bandwidth", [0.01, 0.05, 0.3, 2.5])
def test_means_and_counts_are_direct_sums(sample, bandwidth):
    v, y, w = sample.predictions, sample.outcomes, sample.weights
    rows = [np.array([pair]).T for pair in zip(v, w, strict=True)]
    kernel = np.stack([reflected_kernel_sum(POINTS, *row, bandwidth) for row in rows], axis=1)
    total = kernel.sum(axis=1)
    # At d bandwidths linear sharing in cells of h bandwidths errs by (d h)^2 / 8, and twice that
    # distance counts in squares.
    near = total > 1e-6 * total.max()
    kernel, total = kernel[near], total[near]
    density, expected = regress(sample, bandwidth).density, total / w.sum()
    np.testing.assert_allclose(density[near], expected, rtol=1e-6)
    alone, means = average_on_kernel(
        sample.curve_moments(1 << 14, n_functions=1), bandwidth, N_POINTS
    )
    np.testing.assert_allclose(alone, density, rtol=1e-12)
    assert means == []
    for found, values in zip(regress(sample, bandwidth), (v, y), strict=False):
        np.testing.assert_allclose(found[near], kernel @ values / total, rtol=0, atol=1e-6)
    mass, squares = (sample.weights_on_grid(1 << 14, power) for power in (1, 2))
    counts = count_on_kernel(mass, squares, bandwidth, N_POINTS)
    np.testing.assert_allclose(counts[near], total**2 / (kernel**2).sum(axis=1), rtol=1e-3)


@pytest.mark.parametrize("outcome", [0, 1])
def test_far_from_all_rows_means_are_exact_odds_of_kernels(outcome):
    """Also where both kernels are far below the smallest double."""
    sample = Sample(np.array([0.3, 0.302]), np.array([1.0 - outcome, outcome]))
    found = regress_on_kernel(sample.curve_moments(1000), 0.01, 101)
    points = np.linspace(0, 1, 101)
    odds = ((0.3 - points) ** 2 - (0.302 - points) ** 2) / (2 * 0.01**2)
    inside = points > 0.1  # before the reflected images matter
    share = 1 / (1 + np.exp(-odds[inside] * (2 * outcome - 1)))
    np.testing.assert_allclose(found.prob_true[inside], share, atol=1e-6)
    assert found.density[100] == 0


def test_outcomes_of_one_kind_far_from_the_other_leave_a_probability():
    v = np.array([0.2, 0.203, 0.5, 0.811])
    sample, mirrored = (Sample(v, y) for y in (np.eye(4)[3], 1 - np.eye(4)[3]))
    curves = [regress(one, 0.04, n_points=501).prob_true for one in (sample, mirrored)]
    assert min(curve.min() for curve in curves) >= 0
    np.testing.assert_allclose(np.add(*curves), 1, rtol=0, atol=1e-6)
    assert max(curves[0][100], curves[1][410]) < 1e-7


@pytest.mark.parametrize("point", [0.0, 0.02, 0.5, 0.97, 1.0])
def test_log_kernel_has_the_images_on_both_sides(point):
    nodes = np.array([0.0, 0.03, 0.4, 0.95, 1.0])
    direct = [
        reflected_kernel_sum(np.array([point]), nodes[[k]], np.ones(1), 0.1)[0] for k in range(5)
    ]
    np.testing.assert_allclose(np.exp(log_reflected_kernel(point, nodes, 0.1)), direct, rtol=1e-12)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("bandwidth", [1e-3, 0.02, 0.5])
def test_mean_predictions_increase_and_calibrated_rows_lie_on_the_diagonal(sample, bandwidth):
    calibrated = Sample(sample.predictions, sample.predictions, sample.weights)
    found = regress(calibrated, bandwidth, n_points=2001)
    assert (np.diff(found.prob_pred) >= 0).all()
    np.testing.assert_allclose(found.prob_true, found.prob_pred, rtol=0, atol=1e-12)


@pytest.mark.parametrize("bandwidth", [0.3, 0.5, 1.0])
def test_counts_of_rows_on_nodes_are_direct_sums(rng, bandwidth):
    mass, places = rng.exponential(size=33), np.linspace(0, 1, 33)
    rows = [np.array([pair]).T for pair in zip(places, mass, strict=True)]
    terms = np.stack([reflected_kernel_sum(POINTS, *row, bandwidth) for row in rows], axis=1)
    found = count_on_kernel(mass, mass**2, bandwidth, N_POINTS)
    np.testing.assert_allclose(found, terms.sum(axis=1) ** 2 / (terms**2).sum(axis=1), rtol=1e-9)


def test_counts_are_numbers_of_rows_where_all_have_one_prediction():
    mass = np.zeros(1 << 10 | 1)
    mass[300] = 1
    counts = count_on_kernel(mass, mass / 25, 0.05, N_POINTS)
    np.testing.assert_allclose(counts, 25, rtol=1e-6)


@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 0.8, 2.0])
def test_sums_of_squares_are_direct_sums(rng, bandwidth):
    squares, places = rng.exponential(size=129), np.linspace(0, 1, 129)
    rows = [np.array([place]) for place in places]
    kernels = np.stack(
        [reflected_kernel_sum(POINTS, row, np.ones(1), bandwidth) for row in rows], axis=1
    )
    found = sum_squares_on_kernel(squares, bandwidth, N_POINTS)
    np.testing.assert_allclose(found, kernels**2 @ squares, rtol=1e-12)


def test_sums_of_squares_need_no_more_terms_for_smaller_bandwidths():
    tracemalloc.start()
    try:
        sum_squares_on_kernel(np.ones(65), 1e-6, N_POINTS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1e6
