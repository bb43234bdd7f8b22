"""Formulas of the kernel calibration error, against double sums."""

import numpy as np
import pytest

from skcal._numerics.errors import _kernel as kernels
from tests import reference_distance as reference
from tests.cases import slow_among

every_kind = pytest.mark.parametrize("kind", reference.KINDS)
every_weight = pytest.mark.parametrize("weight", [np.ones(5), np.arange(1.0, 6.0)])


def sum_pairs(v, residual, bandwidth, power):
    """Kernel calibration error; `power` is 1 for the Laplace kernel, 2 for the Gaussian one."""
    kernel = np.exp(-((np.abs(v[:, None] - v) / bandwidth) ** power))
    return np.sqrt(max(residual @ kernel @ residual, 0))


def draw_residuals(rng, kind, n):
    v, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
    return v, positive - mass * v


def measure_gaussian(v, residual, bandwidth):
    def read_chunks(size):
        assert size >= kernels._STEPS / bandwidth
        for rows in (slice(0, 100), slice(100, 101), slice(101, None)):
            yield v[rows], residual[rows].copy()

    return kernels.gaussian_error(read_chunks, bandwidth)


@pytest.mark.parametrize(
    "kind", slow_among(reference.KINDS, "all positives", "no positives", "shrunk", "reversed")
)
def test_laplace_in_chunks_and_spans(rng, monkeypatch, kind):
    for chunk, span in ((1, 600), (7, 600), (1 << 15, 600), (1 << 15, 1e-3)):
        monkeypatch.setattr(kernels, "_CHUNK", chunk)
        monkeypatch.setattr(kernels, "_SPAN", span)
        for bandwidth in (1e-5, 3e-4, 0.02, 1.0, 1e12):
            for n in (1, 2, 300):
                sample = *draw_residuals(rng, kind, n), bandwidth
                expected = sum_pairs(*sample, power=1)
                assert kernels.laplace_error(*sample) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("distance", [2.0**-10, 2.0**-50])
def test_laplace_where_the_double_sum_cancels(distance):
    """Opposite residuals next to each other: 2 c^2 (1 - exp(-distance)), to all digits."""
    v, residual = np.array([0.5, 0.5 + distance]), np.array([0.25, -0.25])
    expected = 0.25 * np.sqrt(-2 * np.expm1(-distance))
    assert kernels.laplace_error(v, residual, 1.0) == pytest.approx(expected, rel=1e-12)


@every_kind
def test_gaussian_reads_chunks(rng, kind):
    for bandwidth in (2e-3, 0.5, 1e12):
        for n in (1, 2, 300):
            sample = *draw_residuals(rng, kind, n), bandwidth
            expected = sum_pairs(*sample, power=2)
            assert measure_gaussian(*sample) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("cells", [2, 8])
def test_gaussian_error_stays_within_its_bound_and_uses_it(rng, monkeypatch, cells):
    """Opposite neighbours are the worst for interpolation; few cells show the order."""
    monkeypatch.setattr(kernels, "_STEPS", cells)
    worst, residual = 0.0, np.array([0.25, -0.25, 0.25, -0.25])
    for _ in range(100):
        sample = 0.5 + 0.1 * rng.random(4) / cells, residual, 0.1
        worst = max(worst, abs(measure_gaussian(*sample) - sum_pairs(*sample, power=2)))
    bound = 9 / 384 * np.sqrt(1680) / cells**4
    assert bound / 1000 < worst <= bound + 1e-7


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@every_weight
def test_one_pair_gives_the_product_of_its_residuals_and_its_kernel(kernel, weight):
    v, residual, weight = np.array([0.2, 0.7]), np.array([0.8, -0.7]), weight[[0, 2]]
    similar = np.exp(-1.25 if kernel == "laplace" else -(1.25**2))
    sample = v, weight, weight * [1, 0], kernel, 0.4, 1
    values = [kernels.estimate_by_pairs(*sample, np.random.default_rng(k)) for k in range(40)]
    expected = [residual[0] * residual[1] * similar, residual[1] ** 2, residual[0] ** 2]
    np.testing.assert_allclose(np.unique(np.round(values, 12)), expected, atol=1e-12)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    v, y, weight = rng.random(20), rng.random(20), rng.integers(1, 5, 20).astype(float)
    copies = np.repeat(np.arange(20), weight.astype(int))
    once = v, weight, weight * y
    often = v[copies], np.ones(len(copies)), y[copies]
    found, expected = (
        kernels.estimate_by_pairs(*sample, "laplace", 0.3, 500, np.random.default_rng(1))
        for sample in (once, often)
    )
    assert found == pytest.approx(expected, rel=1e-12)


@every_weight
@pytest.mark.parametrize("n_terms", [1, 20])
def test_mean_of_equal_pairs_is_each_of_them(rng, monkeypatch, weight, n_terms):
    """Also over several chunks, of which the last is not full."""
    monkeypatch.setattr(kernels, "_CHUNK", 7)
    sample = np.full(5, 0.3), weight, weight, "laplace", 1.0, n_terms
    assert kernels.estimate_by_pairs(*sample, rng) == pytest.approx(0.7**2, rel=1e-14)
