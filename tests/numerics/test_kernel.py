"""Formulas of the kernel calibration error, against double sums."""

import numpy as np
import pytest

from skcal._numerics import _kernel
from skcal._numerics._kernel import estimate_by_pairs, gaussian_error, laplace_error
from tests import reference_distance as reference


def laplace_square(v, residual, bandwidth):
    return residual @ np.exp(-np.abs(v[:, None] - v) / bandwidth) @ residual


def gaussian_square(v, residual, bandwidth):
    return residual @ np.exp(-(((v[:, None] - v) / bandwidth) ** 2)) @ residual


def draw_residuals(rng, kind, n):
    v, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
    return v, positive - mass * v


def measure_gaussian(v, residual, bandwidth):
    return gaussian_error(lambda size: [(v, residual.copy())], bandwidth)


@pytest.mark.parametrize("kind", reference.KINDS)
def test_laplace(rng, kind):
    for bandwidth in (1e-5, 3e-4, 0.02, 1.0, 1e12):
        for n in (1, 2, 300):
            v, residual = draw_residuals(rng, kind, n)
            expected = np.sqrt(laplace_square(v, residual, bandwidth))
            assert laplace_error(v, residual, bandwidth) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("constant", "value", "bandwidth"),
    [("_CHUNK", 1, 0.01), ("_CHUNK", 7, 0.01), ("_SPAN", 1e-3, 1e-4), ("_SPAN", 600.0, 1e-4)],
)
def test_laplace_in_chunks_and_spans(rng, monkeypatch, constant, value, bandwidth):
    v, residual = draw_residuals(rng, "uniform", 300)
    monkeypatch.setattr(_kernel, constant, value)
    expected = np.sqrt(laplace_square(v, residual, bandwidth))
    assert laplace_error(v, residual, bandwidth) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("distance", [2.0**-10, 2.0**-50])
def test_laplace_where_the_double_sum_cancels(distance):
    """Opposite residuals next to each other: 2 c^2 (1 - exp(-distance)), to all digits."""
    v, residual = np.array([0.5, 0.5 + distance]), np.array([0.25, -0.25])
    assert laplace_error(v, residual, 1.0) == pytest.approx(
        0.25 * np.sqrt(-2 * np.expm1(-distance)), rel=1e-12
    )


@pytest.mark.parametrize("kind", reference.KINDS)
def test_gaussian(rng, kind):
    for bandwidth in (2e-3, 0.5, 1e12):
        for n in (1, 2, 300):
            v, residual = draw_residuals(rng, kind, n)
            expected = np.sqrt(max(gaussian_square(v, residual, bandwidth), 0))
            assert measure_gaussian(v, residual, bandwidth) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("cells", [2, 8])
def test_gaussian_error_stays_within_its_bound_and_uses_it(rng, monkeypatch, cells):
    """Opposite neighbours are the worst for interpolation; few cells show the order."""
    monkeypatch.setattr(_kernel, "_STEPS", cells)
    worst, residual = 0.0, np.array([0.25, -0.25, 0.25, -0.25])
    for _ in range(100):
        v = 0.5 + 0.1 * rng.random(4) / cells
        exact = np.sqrt(max(gaussian_square(v, residual, 0.1), 0))
        worst = max(worst, abs(measure_gaussian(v, residual, 0.1) - exact))
    bound = 9 / 384 * np.sqrt(1680) / cells**4
    assert bound / 1000 < worst <= bound + 1e-7


def test_gaussian_reads_chunks(rng):
    v, residual = draw_residuals(rng, "uniform", 300)

    def read_chunks(size):
        assert size >= 67 / 0.01
        for rows in (slice(0, 100), slice(100, 101), slice(101, None)):
            yield v[rows], residual[rows].copy()

    expected = measure_gaussian(v, residual, 0.01)
    assert gaussian_error(read_chunks, 0.01) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("weight", [np.ones(2), np.array([1.0, 3.0])], ids=["equal", "unequal"])
def test_one_pair_gives_the_product_of_its_residuals_and_its_kernel(kernel, weight):
    v, residual = np.array([0.2, 0.7]), np.array([0.8, -0.7])
    similar = np.exp(-1.25 if kernel == "laplace" else -(1.25**2))
    values = [
        estimate_by_pairs(v, weight, weight * [1, 0], kernel, 0.4, 1, np.random.default_rng(seed))
        for seed in range(40)
    ]
    expected = [residual[0] * residual[1] * similar, residual[1] ** 2, residual[0] ** 2]
    np.testing.assert_allclose(np.unique(np.round(values, 12)), expected, atol=1e-12)


@pytest.mark.parametrize("weight", [np.ones(5), np.arange(1.0, 6.0)], ids=["equal", "unequal"])
@pytest.mark.parametrize("n_terms", [1, 20])
def test_mean_of_equal_pairs_is_each_of_them(monkeypatch, weight, n_terms):
    """Also over several chunks, of which the last is not full."""
    monkeypatch.setattr(_kernel, "_CHUNK", 7)
    arguments = np.full(5, 0.3), weight, weight, "laplace", 1.0, n_terms
    value = estimate_by_pairs(*arguments, np.random.default_rng(0))
    assert value == pytest.approx(0.7**2, rel=1e-14)
