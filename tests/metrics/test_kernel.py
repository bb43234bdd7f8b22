"""Kernel calibration error: closed forms, double sums, and estimates that are unbiased."""

import numpy as np
import pytest
from scipy.special import erf

from skcal.metrics import kernel_calibration_error
from tests import reference_distance as reference

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


def population(n=40_000):
    """Midpoints of n equal cells of [0, 1]."""
    return (np.arange(n) + 0.5) / n


def square_directly(y, v, weights=None, kernel="laplace", bandwidth=1.0):
    """The double sum over all pairs of rows."""
    weights = np.ones(len(v)) if weights is None else weights
    residual = weights / np.sum(weights) * (y - v)
    distance = np.abs(v[:, None] - v) / bandwidth
    return residual @ np.exp(-distance if kernel == "laplace" else -(distance**2)) @ residual


@pytest.mark.parametrize("d", [0.3, 0.01])
def test_closed_form_of_a_shift(d):
    """Family A of DEFINITIONS.md."""
    length = 1 - d
    v = population() * length
    square = kernel_calibration_error(v + d, v, squared=True)
    expected = 2 * d**2 * (length - 1 + np.exp(-length)) / length**2
    assert square == pytest.approx(expected, abs=1e-9)
    mean = np.sqrt(np.pi) * length * erf(length) + np.exp(-(length**2)) - 1
    assert kernel_calibration_error(v + d, v, kernel="gaussian") == pytest.approx(
        d / length * np.sqrt(mean), abs=1e-7
    )


def test_closed_form_of_shrunk_predictions():
    """Family B of DEFINITIONS.md for lam = 1/2."""
    v = population()
    square = kernel_calibration_error(0.5 + 0.5 * (v - 0.5), v, squared=True)
    assert square == pytest.approx(0.0028022955, abs=1e-9)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("bandwidth", [0.003, 0.2, 1.0, 30.0])
def test_agrees_with_the_double_sum(rng, kernel, bandwidth):
    accuracy = 1e-10 if kernel == "laplace" else 1e-7
    for kind in reference.KINDS:
        for n in (1, 3, 200):
            y, v, weights = reference.draw_sample(rng, kind, n)
            expected = square_directly(y, v, weights, kernel, bandwidth)
            options = {"kernel": kernel, "bandwidth": bandwidth, "sample_weight": weights}
            value = kernel_calibration_error(y, v, **options)
            assert value == pytest.approx(np.sqrt(max(expected, 0)), abs=accuracy)
            square = kernel_calibration_error(y, v, squared=True, **options)
            assert square == pytest.approx(value**2, abs=1e-15)


def test_gaussian_reads_large_samples_in_chunks(rng):
    v = np.tile(rng.random(100), 1000)
    y = np.repeat([0, 1], 50_000)
    weights = np.repeat(rng.random(1000), 100)
    merged = [np.bincount(np.tile(np.arange(100), 1000), x) for x in (weights, weights * y)]
    expected = square_directly(merged[1] / merged[0], v[:100], merged[0], "gaussian", 0.1)
    assert kernel_calibration_error(
        y, v, sample_weight=weights, kernel="gaussian", bandwidth=0.1
    ) == pytest.approx(np.sqrt(expected), abs=1e-7)


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
    generator = np.random.default_rng(1)
    estimates = [
        kernel_calibration_error(
            y, v, method=method, n_terms=100, random_state=generator, **options
        )
        for _ in range(runs)
    ]
    error = np.std(estimates, ddof=1) / np.sqrt(runs)
    assert error < 0.04 * exact  # a wrong factor would show
    assert abs(np.mean(estimates) - exact) < 4 * error


@every_estimate
def test_estimates_come_closer_with_more_terms(rng, method, kernel):
    v = rng.random(200)
    y = (rng.random(200) < 0.8 * v).astype(int)
    exact = square_directly(y, v, kernel=kernel)

    def spread(n_terms):
        values = [
            kernel_calibration_error(
                y, v, kernel=kernel, squared=True, method=method, n_terms=n_terms, random_state=seed
            )
            for seed in range(40)
        ]
        return np.sqrt(np.mean((np.array(values) - exact) ** 2))

    # Root mean square errors fall like 1 / sqrt(n_terms), within the noise of 40 runs.
    assert 5 < spread(10) / spread(1000) < 20


@every_estimate
def test_random_state(rng, method, kernel):
    y, v = rng.integers(0, 2, 50), rng.random(50)

    def estimate(random_state):
        return kernel_calibration_error(
            y, v, kernel=kernel, method=method, n_terms=5, squared=True, random_state=random_state
        )

    assert estimate(3) == estimate(3) == estimate(np.random.RandomState(3))
    assert estimate(3) != estimate(4)
    generator = np.random.default_rng(3)
    first, second = estimate(generator), estimate(generator)
    assert first == estimate(np.random.default_rng(3)) != second
    assert estimate(None) != estimate(None)
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        estimate("three")


@every_estimate
def test_order_repetition_and_absence_do_not_change_an_estimate(rng, method, kernel):
    y, v, weights = rng.integers(0, 2, 50), rng.random(50), rng.integers(0, 3, 50)
    options = {"kernel": kernel, "method": method, "n_terms": 7, "random_state": 0, "squared": True}
    expected = kernel_calibration_error(y, v, sample_weight=weights, **options)
    order = rng.permutation(50)
    repeated = [np.repeat(x, weights) for x in (y, v)]
    present = weights > 0
    for value in (
        kernel_calibration_error(y[order], v[order], sample_weight=weights[order], **options),
        kernel_calibration_error(*repeated, **options),
        kernel_calibration_error(y[present], v[present], sample_weight=weights[present], **options),
    ):
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("method", "kernel"), ESTIMATES[2:])
def test_features_give_estimates_between_0_and_1(rng, method, kernel):
    for y, v in (([1, 1], [0.0, 0.0]), (rng.integers(0, 2, 30), rng.random(30))):
        for seed in range(20):
            value = kernel_calibration_error(
                y, v, kernel=kernel, method=method, n_terms=1, random_state=seed
            )
            assert 0 <= value <= 1 + 1e-12


def test_root_of_a_negative_estimate_is_0():
    y, v = [1, 0], [0.45, 0.55]
    options = {"method": "subsample", "n_terms": 1}
    squares = [
        kernel_calibration_error(y, v, squared=True, random_state=seed, **options)
        for seed in range(20)
    ]
    roots = [kernel_calibration_error(y, v, random_state=seed, **options) for seed in range(20)]
    assert min(squares) == pytest.approx(-(0.55**2) * np.exp(-0.1))
    np.testing.assert_allclose(roots, np.sqrt(np.maximum(squares, 0)))


def test_default_number_of_terms(rng):
    y, v = rng.integers(0, 2, 30), np.round(rng.random(30), 1)
    for method, n_terms in (("subsample", 300), ("fourier", 100), ("binning", 100)):
        options = {"method": method, "random_state": 0}
        assert kernel_calibration_error(y, v, **options) == kernel_calibration_error(
            y, v, n_terms=n_terms, **options
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "gauss"}, r"kernel must be one of 'laplace', 'gaussian'; got 'gauss'"),
        ({"method": "exactly"}, r"method must be one of .* Did you mean 'exact'\?"),
        ({"method": "binning", "kernel": "gaussian"}, r'method="binning" needs kernel="laplace"'),
        ({"bandwidth": 0}, r"bandwidth must be at least 1e-05 and finite; got 0"),
        ({"bandwidth": -1.0}, r"bandwidth must be at least"),
        ({"bandwidth": np.inf}, r"bandwidth must be at least"),
        ({"bandwidth": np.nan}, r"bandwidth must be a number"),
        ({"bandwidth": "auto"}, r"bandwidth must be a number"),
        ({"squared": "yes"}, r"squared must be True or False; got 'yes'"),
        ({"n_terms": 0}, r"n_terms must be at least 1; got 0"),
        ({"n_terms": 2.5}, r"n_terms must be an integer; got 2.5"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        kernel_calibration_error([0, 1], [0.2, 0.7], **options)
