"""Kernel measures of predicted distributions: exact values, laws, and bad input."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.stats import laplace, norm
from sklearn.metrics.pairwise import rbf_kernel

from skcal._numerics import _distribution_kernels
from skcal.metrics import (
    Mixture,
    MultivariateNormal,
    distribution_kernel_calibration_error,
    distribution_mean_embedding_error,
)

PAIR_OF_STANDARD_NORMALS = 1 - np.sqrt(2) + 1 / np.sqrt(3)
KINDS = ["normal", "laplace", "multivariate", "even mixture", "mixture", "multivariate mixture"]
every_kind = pytest.mark.parametrize("kind", KINDS)
both_estimates = pytest.mark.parametrize("unbiased", [True, False])


@pytest.fixture
def rng():
    return np.random.default_rng(23)


def draw_problem(rng, kind, n):
    """Arrays of a prediction, all with a first axis of n rows, and targets that follow it."""
    if kind in ("normal", "laplace"):
        arrays = {"loc": rng.normal(size=n), "scale": np.exp(0.5 * rng.normal(size=n))}
        noise = rng.normal(size=n) if kind == "normal" else rng.laplace(size=n)
        return arrays, arrays["loc"] + arrays["scale"] * noise
    if kind == "multivariate":
        root = rng.normal(size=(n, 2, 2)) + np.eye(2)
        arrays = {"mean": rng.normal(size=(n, 2)), "cov": root @ np.swapaxes(root, 1, 2)}
        return arrays, arrays["mean"] + np.einsum("nij,nj->ni", root, rng.normal(size=(n, 2)))
    parts = [
        draw_problem(rng, "multivariate" if kind.startswith("multi") else "normal", n)
        for _ in range(2)
    ]
    arrays = {name: np.stack([part[0][name] for part in parts], axis=1) for name in parts[0][0]}
    share = np.full((n, 2), 0.5) if kind == "even mixture" else rng.dirichlet([2, 2], n)
    arrays["weights"] = share
    chosen = (rng.random(n) > share[:, 0]).astype(int)
    return arrays, np.stack([part[1] for part in parts], axis=1)[np.arange(n), chosen]


def build(kind, arrays):
    """The public object that holds these arrays."""
    if "weights" in arrays:
        inner = {name: values for name, values in arrays.items() if name != "weights"}
        family = "multivariate" if "cov" in arrays else "normal"
        return Mixture(arrays["weights"], build(family, inner))
    if "cov" in arrays:
        return MultivariateNormal(arrays["mean"], arrays["cov"])
    return (laplace if kind == "laplace" else norm)(arrays["loc"], arrays["scale"])


def take(arrays, rows):
    return {name: values[rows] for name, values in arrays.items()}


def measure(kind, arrays, y, **options):
    return distribution_kernel_calibration_error(y, build(kind, arrays), **options)


def embed(kind, arrays, y, tests, test_targets, **options):
    return distribution_mean_embedding_error(
        y, build(kind, arrays), test_distribution=tests, test_targets=test_targets, **options
    )


NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(32)


def integrate_expectation(function, distribution, kinks=()):
    """Expectation of a function with the given kinks, by Gauss's rule between them."""
    mean, deviation = distribution.mean(), distribution.std()
    points = mean + deviation * np.array([-30, -12, -5, -2, 0, 2, 5, 12, 30])
    points = np.sort([*points, *np.clip(kinks, points[0], points[-1])])
    total = 0.0
    for low, high in pairwise(points):
        z = (low + high) / 2 + (high - low) / 2 * NODES
        values = np.array([function(x) for x in z]) * distribution.pdf(z)
        total += (high - low) / 2 * (NODE_WEIGHTS @ values)
    return total


def integrate_residual(kernel, y, distribution):
    """The function t -> k(t, y) - E k(t, Z), the expectation by numerical integration."""
    mean, deviation = distribution.mean(), distribution.std()
    points = mean + deviation * np.array([-30, -12, -5, -2, 0, 2, 5, 12, 30])

    def residual(t):
        ends = np.sort([*points, np.clip(t, points[0], points[-1])])
        half = np.diff(ends)[:, None] / 2
        z = (ends[:-1, None] + ends[1:, None]) / 2 + half * NODES
        return kernel(t, y) - np.sum(half * NODE_WEIGHTS * kernel(t, z) * distribution.pdf(z))

    return residual


# --------------------------------------------------------------------------- exact values


@both_estimates
def test_two_standard_normals(unbiased):
    """DEFINITIONS.md, section 10: N(0, 1) twice, y = 0, 0."""
    for distribution in (
        norm(0, 1),
        norm([0, 0], [1.0, 1.0]),
        norm(loc=[0, 0]),
        norm(),
        norm(0.0, scale=np.ones(2)),
        MultivariateNormal(np.zeros((2, 1)), np.ones((1, 1))),
        MultivariateNormal([0.0], [[1.0]]),
        Mixture([1.0], [norm(0, 1)]),
        Mixture([0.25, 0.75], [norm(0, 1), norm([0, 0], 1)]),
    ):
        value = distribution_kernel_calibration_error([0, 0], distribution, unbiased=unbiased)
        assert value == pytest.approx(PAIR_OF_STANDARD_NORMALS, abs=1e-15)


@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_values_by_integration(rng, kind):
    """Every closed form at once: the residuals of all rows by quadrature, to 1e-8."""
    arrays, y = draw_problem(rng, kind, 3)
    arrays["scale"][0] = 1.0
    bandwidth, target_bandwidth = 1.7, 0.8
    if kind == "normal":
        kernel = lambda t, z: np.exp(-(((t - z) / target_bandwidth) ** 2) / 2)  # noqa: E731
        stretch = 1.0
    else:
        kernel = lambda t, z: np.exp(-np.abs(t - z) / target_bandwidth)  # noqa: E731
        stretch = np.sqrt(2)
    rows = [build(kind, take(arrays, i)) for i in range(3)]
    residuals = [integrate_residual(kernel, y[i], row) for i, row in enumerate(rows)]
    h = np.empty((3, 3))
    for i, row in enumerate(rows):
        for j in range(3):
            # <k(y_i, .) - E k(Z_i, .), residual_j> = residual_j(y_i) - E residual_j(Z_i)
            h[i, j] = residuals[j](y[i]) - integrate_expectation(
                residuals[j], row, kinks=[y[j], rows[j].mean()]
            )
    shift, spread = (np.subtract.outer(arrays[name], arrays[name]) for name in ("loc", "scale"))
    h *= np.exp(-np.hypot(shift, stretch * spread) / bandwidth)
    options = {"bandwidth": bandwidth, "target_bandwidth": target_bandwidth}
    assert measure(kind, arrays, y, unbiased=False, **options) == pytest.approx(h.mean(), abs=1e-8)
    assert measure(kind, arrays, y, **options) == pytest.approx(
        (h.sum() - np.trace(h)) / 6, abs=1e-8
    )
    weights = np.array([2.0, 0.5, 1.0])
    expected = (weights @ h @ weights - weights @ np.diag(h)) / (3.5 * 2.5)
    assert measure(kind, arrays, y, sample_weight=weights, **options) == pytest.approx(
        expected, abs=1e-8
    )


def test_mean_embedding_by_integration(rng):
    arrays, y = draw_problem(rng, "laplace", 4)
    weights = np.array([1.0, 3.0, 0.0, 0.5])
    loc, scale, targets = np.array([0.0, 1.0]), np.array([1.0, 0.3]), np.array([0.2, -1.0])
    expected = 0.0
    for m, b, t in zip(loc, scale, targets, strict=True):
        terms = [
            np.exp(-np.hypot(m - arrays["loc"][j], np.sqrt(2) * (b - arrays["scale"][j])) / 2)
            * integrate_residual(
                lambda t, z: np.exp(-np.abs(t - z)), y[j], laplace(**take(arrays, j))
            )(t)
            for j in range(4)
        ]
        expected += np.average(terms, weights=weights) ** 2 / 2
    actual = embed(
        "laplace", arrays, y, laplace(loc, scale), targets, sample_weight=weights, bandwidth=2
    )
    assert actual == pytest.approx(expected, abs=1e-10)


def test_mean_embedding_in_closed_form():
    """One standard normal, y = 0, seen from itself and from a target far away."""
    value = distribution_mean_embedding_error(
        [0.0], norm(), test_distribution=norm(), test_targets=[0.0, 1e200]
    )
    assert value == pytest.approx((1 - 1 / np.sqrt(2)) ** 2 / 2, abs=1e-15)


# --------------------------------------------------------------------------- calibration


@pytest.mark.slow
@every_kind
def test_unbiased_estimate_is_zero_on_average_if_calibrated(kind):
    n, n_draws = 12, 250
    if kind == "mixture":  # linear programs
        n, n_draws = 8, 150
    rng = np.random.default_rng(5)
    values = np.array([measure(kind, *draw_problem(rng, kind, n)) for _ in range(n_draws)])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(n_draws)
    assert values.min() < 0 < values.max()


@pytest.mark.parametrize("kind", ["normal", "laplace", "multivariate"])
def test_miscalibration_is_seen(rng, kind):
    arrays, y = draw_problem(rng, kind, 300)
    calibrated = measure(kind, arrays, y)
    assert measure(kind, arrays, y + 1) > 20 * abs(calibrated)
    name = "cov" if kind == "multivariate" else "scale"
    assert measure(kind, arrays | {name: arrays[name] / 9}, y) > 10 * abs(calibrated)
    tests = build(kind, take(arrays, slice(0, 9)))
    seen = [embed(kind, arrays, y + shift, tests, y[:9]) for shift in (0, 1)]
    assert seen[1] > 10 * seen[0]


@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_biased_estimate_is_not_negative(rng, kind):
    for n in (1, 2, 5, 20):
        for bandwidth in (1e-3, 1.0, 1e6):
            arrays, y = draw_problem(rng, kind, n)
            assert measure(kind, arrays, y, unbiased=False, bandwidth=bandwidth) >= 0
    # Hardly anything to tell: targets and predictions are the same for the kernel.
    tiny = {"loc": y, "scale": np.full(n, 1e-9)}
    assert 0 <= measure(kind, tiny, y, unbiased=False) < 1e-8


# --------------------------------------------------------------------------- laws


@every_kind
@both_estimates
def test_weights_are_repetition(rng, kind, unbiased):
    arrays, y = draw_problem(rng, kind, 9)
    counts = np.array([1, 2, 0, 1, 3, 1, 0, 1, 2])
    rows = np.repeat(np.arange(9), counts)
    tests, test_targets = build(kind, take(arrays, slice(0, 4))), y[:4] + 0.3
    for weights in (counts, counts.astype(np.float32), list(counts)):
        for block_size in (None, 4):
            options = {"unbiased": unbiased, "block_size": block_size}
            value = measure(kind, arrays, y, sample_weight=weights, **options)
            repeated = measure(kind, take(arrays, rows), y[rows], **options)
            assert value == pytest.approx(repeated, abs=1e-12)
    assert embed(kind, arrays, y, tests, test_targets, sample_weight=counts) == pytest.approx(
        embed(kind, take(arrays, rows), y[rows], tests, test_targets), abs=1e-12
    )


@every_kind
def test_order_of_rows(rng, kind):
    arrays, y = draw_problem(rng, kind, 12)
    weights, order = rng.random(12) + 0.5, rng.permutation(12)
    assert measure(kind, arrays, y, sample_weight=weights) == pytest.approx(
        measure(kind, take(arrays, order), y[order], sample_weight=weights[order]), abs=1e-12
    )


@every_kind
@both_estimates
def test_chunks(rng, kind, unbiased, monkeypatch):
    arrays, y = draw_problem(rng, kind, 13)
    tests, test_targets = build(kind, take(arrays, slice(0, 7))), y[:7]
    weights = rng.random(13)
    expected = measure(kind, arrays, y, sample_weight=weights, unbiased=unbiased)
    embedded = embed(kind, arrays, y, tests, test_targets, sample_weight=weights)
    for cells in (1, 40, 200):
        monkeypatch.setattr(_distribution_kernels, "_CELLS", cells)
        value = measure(kind, arrays, y, sample_weight=weights, unbiased=unbiased)
        assert value == pytest.approx(expected, abs=1e-12)
        value = embed(kind, arrays, y, tests, test_targets, sample_weight=weights)
        assert value == pytest.approx(embedded, abs=1e-12)


@every_kind
@pytest.mark.parametrize("factor", [1e-4, 30.0])
def test_units_do_not_matter(rng, kind, factor):
    arrays, y = draw_problem(rng, kind, 15)
    powers = {"loc": 1, "scale": 1, "mean": 1, "cov": 2, "weights": 0}
    scaled = {name: factor ** powers[name] * values for name, values in arrays.items()}
    tests, scaled_tests = (build(kind, take(a, slice(0, 4))) for a in (arrays, scaled))
    options = {"bandwidth": 0.7, "target_bandwidth": 1.3}
    scaled_options = {name: factor * value for name, value in options.items()}
    assert measure(kind, arrays, y, **options) == pytest.approx(
        measure(kind, scaled, factor * y, **scaled_options), abs=1e-12
    )
    assert embed(kind, arrays, y, tests, y[:4], **options) == pytest.approx(
        embed(kind, scaled, factor * y, scaled_tests, factor * y[:4], **scaled_options), abs=1e-12
    )


@both_estimates
def test_blocks(rng, unbiased):
    arrays, y = draw_problem(rng, "normal", 11)
    options = {"unbiased": unbiased}
    parts = [
        measure("normal", take(arrays, rows), y[rows], **options)
        for rows in (slice(0, 3), slice(3, 6), slice(6, 9))
    ]
    value = measure("normal", arrays, y, block_size=3, **options)
    assert value == pytest.approx(np.mean(parts), abs=1e-14)
    assert measure("normal", arrays, y, block_size=lambda n: n // 3, **options) == value
    whole = measure("normal", arrays, y, **options)
    assert measure("normal", arrays, y, block_size=11, **options) == whole


def test_smallest_input():
    """A row makes no pair with others; its own is that of the biased estimate."""
    assert distribution_kernel_calibration_error([0.0], norm()) == 0
    assert distribution_kernel_calibration_error([0.0, 5.0], norm(), sample_weight=[1, 0]) == 0
    value = distribution_kernel_calibration_error([0.0], norm(), unbiased=False)
    assert value == pytest.approx(PAIR_OF_STANDARD_NORMALS, abs=1e-15)
    # A weight of 2 stands for two rows.
    value = distribution_kernel_calibration_error([0.0], norm(), sample_weight=[2])
    assert value == pytest.approx(PAIR_OF_STANDARD_NORMALS, abs=1e-15)


def test_huge_values_do_not_overflow():
    y = np.array([0.0, 1e200, -1e200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for family in (norm, laplace):
            value = distribution_kernel_calibration_error(y, family(y, 1.0))
            assert value == pytest.approx(0, abs=1e-15)


# --------------------------------------------------------------------------- forms of input


@pytest.mark.parametrize("family", [norm, laplace])
def test_ways_to_write_a_distribution(rng, family):
    loc, scale, y = rng.normal(size=6), rng.random(6) + 0.5, rng.normal(size=6)
    expected = distribution_kernel_calibration_error(y, family(loc, scale))
    for targets, distribution in (
        (y, family(loc=loc, scale=scale)),
        (y, family(loc, scale=list(scale))),
        (y[:, None], family(loc, scale)),
        (list(y), family(list(loc), list(scale))),
    ):
        assert distribution_kernel_calibration_error(targets, distribution) == expected
    shared = distribution_kernel_calibration_error(y, family(loc, 0.7))
    assert shared == distribution_kernel_calibration_error(y, family(loc, np.full(6, 0.7)))


def test_containers(rng):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    loc, y = rng.normal(size=(2, 6))
    expected = distribution_kernel_calibration_error(y, norm(loc, 1.0))
    for library in (pandas, polars):
        series = [library.Series(values) for values in (y, loc)]
        assert distribution_kernel_calibration_error(series[0], norm(series[1], 1.0)) == expected
    single = distribution_kernel_calibration_error(np.float32(y), norm(np.float32(loc), 1.0))
    assert single == pytest.approx(expected, abs=1e-6)
    double = np.float64(np.float32([y, loc]))
    assert single == distribution_kernel_calibration_error(double[0], norm(double[1], 1.0))


@pytest.mark.skipif(not hasattr(stats, "Normal"), reason="SciPy has no new distributions yet")
def test_new_distributions_of_scipy(rng):
    loc, scale, y = rng.normal(size=6), rng.random(6) + 0.5, rng.normal(size=6)
    new = stats.Normal(mu=loc, sigma=scale)
    expected = distribution_kernel_calibration_error(y, norm(loc, scale))
    assert distribution_kernel_calibration_error(y, new) == expected


def test_one_dimension_is_univariate(rng):
    arrays, y = draw_problem(rng, "normal", 10)
    multivariate = MultivariateNormal(arrays["loc"][:, None], arrays["scale"][:, None, None] ** 2)
    expected = measure("normal", arrays, y)
    for targets in (y, y[:, None]):
        value = distribution_kernel_calibration_error(targets, multivariate)
        assert value == pytest.approx(expected, abs=1e-13)


def test_shared_covariance(rng):
    arrays, y = draw_problem(rng, "multivariate", 6)
    cov = arrays["cov"][0]
    assert distribution_kernel_calibration_error(
        y, MultivariateNormal(arrays["mean"], cov)
    ) == measure("multivariate", arrays | {"cov": np.tile(cov, (6, 1, 1))}, y)


@pytest.mark.parametrize("kind", ["normal", "laplace", "multivariate"])
def test_mixtures_of_equal_components(rng, kind):
    """One component, equal halves, and components without weight change nothing."""
    arrays, y = draw_problem(rng, kind, 8)
    distribution = build(kind, arrays)
    other = build(kind, draw_problem(rng, kind, 8)[0])
    expected = distribution_kernel_calibration_error(y, distribution)
    for mixture in (
        Mixture([1.0], [distribution]),
        Mixture(np.full((8, 2), 0.5), [distribution, distribution]),
        Mixture([0.3, 0.7], (distribution, distribution)),
        Mixture([1.0, 0.0], [distribution, other]),
    ):
        value = distribution_kernel_calibration_error(y, mixture)
        assert value == pytest.approx(expected, abs=1e-12)


def test_component_split_into_halves(rng):
    arrays, y = draw_problem(rng, "mixture", 6)
    first, second = (norm(arrays["loc"][:, j], arrays["scale"][:, j]) for j in range(2))
    weights = arrays["weights"]
    halves = np.column_stack([weights[:, 0] / 2, weights[:, 0] / 2, weights[:, 1]])
    split = Mixture(halves, [first, first, second])
    assert distribution_kernel_calibration_error(y, split) == pytest.approx(
        measure("mixture", arrays, y), abs=1e-12
    )
    # Test points may have another number of components.
    value = embed("mixture", arrays, y, split, y)
    expected = embed("mixture", arrays, y, Mixture(weights, [first, second]), y)
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["mixture", "multivariate mixture"])
def test_components_as_list_or_as_axis(rng, kind):
    arrays, y = draw_problem(rng, kind, 5)
    weights = arrays.pop("weights")
    parts = [build(kind, take(arrays, (slice(None), j))) for j in range(2)]
    listed = distribution_kernel_calibration_error(y, Mixture(weights, parts))
    assert listed == measure(kind, arrays | {"weights": weights}, y)


def test_kernels_of_the_user(rng):
    arrays, y = draw_problem(rng, "normal", 10)

    def wasserstein(a, b):
        return np.exp(-np.sqrt(np.square(a[:, None] - b).sum(axis=-1)))

    expected = measure("normal", arrays, y)
    assert measure("normal", arrays, y, kernel=wasserstein) == pytest.approx(expected, abs=1e-14)
    tests = build("normal", take(arrays, slice(0, 3)))
    assert embed("normal", arrays, y, tests, y[:3], kernel=wasserstein) == pytest.approx(
        embed("normal", arrays, y, tests, y[:3]), abs=1e-14
    )
    for kind, width in (("multivariate", 2 + 4), ("mixture", 2 * 3)):
        shapes = []

        def remember(a, b, shapes=shapes):
            shapes.append((a.shape, b.shape))
            return rbf_kernel(a, b)

        value = measure(kind, *draw_problem(rng, kind, 10), kernel=remember, unbiased=False)
        assert value > 0
        assert shapes == [((10, width), (10, width))]


def test_rounded_input(rng):
    """Weights that miss 1 by a rounding, and covariances that miss symmetry."""
    arrays, y = draw_problem(rng, "even mixture", 6)
    expected = measure("mixture", arrays, y)
    rounded = arrays | {"weights": 1.0004 * arrays["weights"]}
    assert measure("mixture", rounded, y) == pytest.approx(expected, abs=1e-15)
    arrays, y = draw_problem(rng, "multivariate", 6)
    largest = arrays["cov"].max(axis=(1, 2), keepdims=True)
    asymmetric = arrays["cov"] + 8e-6 * largest * np.array([[0, 1], [0, 0]])
    symmetric = (asymmetric + np.swapaxes(asymmetric, 1, 2)) / 2
    small = {"cov": 1e-12 * asymmetric, "mean": 1e-6 * arrays["mean"]}
    options = {"bandwidth": 1e-6, "target_bandwidth": 1e-6}
    assert measure("multivariate", small, 1e-6 * y, **options) == pytest.approx(
        measure("multivariate", arrays | {"cov": symmetric}, y), abs=1e-12
    )


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0}, "^bandwidth must be at least"),
        ({"bandwidth": "median"}, "^bandwidth must be a number"),
        ({"target_bandwidth": -1.0}, "^target_bandwidth must be at least"),
        ({"target_bandwidth": np.nan}, "^target_bandwidth must be a number"),
        ({"unbiased": "exact"}, "^unbiased must be True or False"),
        ({"kernel": "waserstein"}, "Did you mean 'wasserstein'"),
        ({"kernel": 3}, "^kernel must be 'wasserstein' or a function"),
        ({"kernel": lambda a, b: np.ones(3)}, r"^kernel must return a matrix of shape \(3, 3\)"),
        ({"kernel": lambda a, b: np.full((3, 3), np.nan)}, "^kernel must return finite values"),
        ({"kernel": lambda a, b: np.tri(3)}, "^kernel must give a symmetric matrix"),
        ({"block_size": 1}, "^block_size must be at least 2; got 1"),
        ({"block_size": 0, "unbiased": False}, "^block_size must be at least 1; got 0"),
        ({"block_size": 4}, "^block_size must be at most 3, .*; got 4"),
        ({"block_size": 2.0}, "^block_size must be an integer"),
        ({"block_size": lambda n: n + 1}, r"^block_size\(n\) must be at most 3"),
        ({"block_size": 3, "sample_weight": [1, 0, 1]}, "^block_size must be at most 2"),
        ({"sample_weight": [1, 1]}, "^sample_weight must have shape"),
        ({"sample_weight": [1, -1, 1]}, "^sample_weight must be finite and not negative"),
        ({"sample_weight": [0, 0, 0]}, "^sample_weight must hold at least one positive"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        distribution_kernel_calibration_error([0.0, 1.0, 2.0], norm([0, 1, 2], 1), **options)


@pytest.mark.parametrize("scale", [1e150, 1e-160])
def test_scales_that_no_bandwidth_can_match(scale):
    with pytest.raises(ValueError, match="The scale of distribution must lie within a factor of"):
        distribution_kernel_calibration_error([0.0, 1.0, 3.0], laplace([0, 0.5, 1], scale))
    for far in (1e60, 1e-60):
        value = distribution_kernel_calibration_error([0.0, 1.0, 3.0], laplace([0, 0.5, 1], far))
        assert np.isfinite(value)
    with pytest.raises(ValueError, match=r"y_true must be at most .* when divided by target_"):
        distribution_kernel_calibration_error([1e300, 0.0], norm(), target_bandwidth=1e-50)
    with pytest.raises(ValueError, match=r"parameters of distribution must be at most .* when"):
        distribution_kernel_calibration_error([0.0], norm(1e300, 1), target_bandwidth=1e-50)
