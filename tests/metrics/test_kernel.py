"""Kernel calibration error: chunks of rows, and estimates that are unbiased."""

import numpy as np
import pytest

from skcal.metrics import kernel_calibration_error

ESTIMATES = [
    ("subsample", "laplace"),
    ("subsample", "gaussian"),
    ("fourier", "laplace"),
    ("fourier", "gaussian"),
    ("binning", "laplace"),
]
every_estimate = pytest.mark.parametrize(("method", "kernel"), ESTIMATES)


@pytest.fixture
def rng():
    return np.random.default_rng(41)


def square_directly(y, v, weights=None, kernel="laplace", bandwidth=1.0):
    """The double sum over all pairs of rows."""
    weights = np.ones(len(v)) if weights is None else weights
    residual = weights / np.sum(weights) * (y - v)
    distance = np.abs(v[:, None] - v) / bandwidth
    return residual @ np.exp(-distance if kernel == "laplace" else -(distance**2)) @ residual


def test_gaussian_reads_large_samples_in_chunks(rng):
    v, y = np.tile(rng.random(100), 1000), np.repeat([0, 1], 50_000)
    weights = np.repeat(rng.random(1000), 100)
    merged = [np.bincount(np.tile(np.arange(100), 1000), x) for x in (weights, weights * y)]
    expected = square_directly(merged[1] / merged[0], v[:100], merged[0], "gaussian", 0.1)
    options = {"sample_weight": weights, "kernel": "gaussian", "bandwidth": 0.1}
    assert kernel_calibration_error(y, v, **options) == pytest.approx(np.sqrt(expected), abs=1e-7)


@pytest.mark.slow
@every_estimate
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bandwidth", [1.0, 0.1])
def test_estimates_are_unbiased_for_the_square(rng, method, kernel, weighted, bandwidth):
    """The mean of many estimates lies within four standard errors of the exact square.

    A normal mean is off by more once in 16 000 seeds; this seed is fixed.
    """
    n, runs = 60, 300
    v = np.concatenate([rng.random(n - 10), np.round(rng.random(10), 1)])
    y = (rng.random(n) < 0.2 + 0.2 * v).astype(int)
    weights = rng.exponential(size=n) if weighted else None
    options = {"sample_weight": weights, "kernel": kernel, "bandwidth": bandwidth, "squared": True}
    exact = square_directly(y, v, weights, kernel, bandwidth)
    options |= {"method": method, "n_terms": 100, "random_state": np.random.default_rng(1)}
    estimates = [kernel_calibration_error(y, v, **options) for _ in range(runs)]
    error = np.std(estimates, ddof=1) / np.sqrt(runs)
    assert error < 0.04 * exact  # a wrong factor would show
    assert abs(np.mean(estimates) - exact) < 4 * error


@every_estimate
def test_estimates_come_closer_with_more_terms(rng, method, kernel):
    v = rng.random(100)
    y = (rng.random(100) < 0.8 * v).astype(int)
    exact = square_directly(y, v, kernel=kernel, bandwidth=0.5)
    options = {"kernel": kernel, "bandwidth": 0.5, "squared": True, "method": method}

    def spread(n_terms):
        values = [
            kernel_calibration_error(y, v, n_terms=n_terms, random_state=seed, **options)
            for seed in range(40)
        ]
        return np.sqrt(np.mean((np.array(values) - exact) ** 2))

    # Root mean square errors fall like 1 / sqrt(n_terms), within the noise of 40 runs.
    assert 5 < spread(10) / spread(1000) < 20


@every_estimate
def test_order_repetition_and_absence_do_not_change_an_estimate(rng, method, kernel):
    y, v, weights = rng.integers(0, 2, 50), rng.random(50), rng.integers(0, 3, 50)
    options = {"kernel": kernel, "method": method, "n_terms": 7, "random_state": 0, "squared": True}
    expected = kernel_calibration_error(y, v, sample_weight=weights, **options)
    rows = rng.permutation(np.repeat(np.arange(50), weights))
    value = kernel_calibration_error(y[rows], v[rows], **options)
    assert value == pytest.approx(expected, abs=1e-12)
    generators = [np.random.default_rng(3) for _ in range(2)]
    first, again, second = (
        kernel_calibration_error(y, v, **(options | {"random_state": generator}))
        for generator in (*generators, generators[0])
    )
    assert first == again != second


@pytest.mark.parametrize(("method", "kernel"), ESTIMATES[2:])
def test_features_give_estimates_between_0_and_1(rng, method, kernel):
    for y, v in (([1, 1], [0.0, 0.0]), (rng.integers(0, 2, 30), rng.random(30))):
        for seed in range(20):
            value = kernel_calibration_error(
                y, v, kernel=kernel, method=method, n_terms=1, random_state=seed
            )
            assert 0 <= value <= 1 + 1e-12


def test_root_of_a_negative_estimate_is_0():
    y, v, options = [1, 0], [0.45, 0.55], {"method": "subsample", "n_terms": 1}
    squares, roots = (
        [
            kernel_calibration_error(y, v, squared=squared, random_state=seed, **options)
            for seed in range(20)
        ]
        for squared in (True, False)
    )
    assert min(squares) == pytest.approx(-(0.55**2) * np.exp(-0.1))
    np.testing.assert_allclose(roots, np.sqrt(np.maximum(squares, 0)))


@pytest.mark.parametrize(
    ("method", "n_terms"), [("subsample", 300), ("fourier", 100), ("binning", 100)]
)
def test_default_number_of_terms(rng, method, n_terms):
    y, v = rng.integers(0, 2, 30), np.round(rng.random(30), 1)
    options = {"method": method, "random_state": 0}
    expected = kernel_calibration_error(y, v, n_terms=n_terms, **options)
    assert kernel_calibration_error(y, v, **options) == expected
