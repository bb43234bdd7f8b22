"""Kernel measures of predicted distributions: definitions in closed form, laws, forms of input."""

from unittest.mock import Mock

import numpy as np
import pytest
from scipy import stats
from scipy.stats import laplace, norm
from sklearn.metrics.pairwise import rbf_kernel

from skcal.regression import (
    Mixture,
    MultivariateNormal,
    distribution_kernel_calibration_error,
    distribution_kernel_mean_embedding_error,
)

PAIR_OF_STANDARD_NORMALS = 1 - np.sqrt(2) + 1 / np.sqrt(3)
KINDS = ["normal", "laplace", "multivariate", "even mixture", "mixture", "multivariate mixture"]
every_kind = pytest.mark.parametrize("kind", KINDS)
both_estimates = pytest.mark.parametrize("unbiased", [True, False])


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
    inner = "multivariate" if kind.startswith("multi") else "normal"
    parts, targets = zip(*(draw_problem(rng, inner, n) for _ in range(2)), strict=True)
    arrays = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
    share = np.full((n, 2), 0.5) if kind == "even mixture" else rng.dirichlet([2, 2], n)
    chosen = (rng.random(n) > share[:, 0]).astype(int)
    return arrays | {"weights": share}, np.stack(targets, axis=1)[np.arange(n), chosen]


def build(kind, arrays):
    """The public object that holds these arrays."""
    if "weights" in arrays:
        inner = {name: values for name, values in arrays.items() if name != "weights"}
        return Mixture(arrays["weights"], build("normal", inner))
    if "cov" in arrays:
        return MultivariateNormal(**arrays)
    return (laplace if kind == "laplace" else norm)(**arrays)


def take(arrays, rows):
    return {name: values[rows] for name, values in arrays.items()}


def measure(kind, arrays, y, **options):
    return distribution_kernel_calibration_error(y, build(kind, arrays), **options)


def embed(kind, arrays, y, tests, test_targets, **options):
    options |= {"test_distribution": tests, "test_targets": test_targets}
    return distribution_kernel_mean_embedding_error(y, build(kind, arrays), **options)


NORMALS = [
    norm(),
    norm([0, 0], [1.0, 1.0]),
    norm(loc=[0, 0]),
    norm(0.0, scale=np.ones(2)),
    MultivariateNormal(np.zeros((2, 1)), np.ones((1, 1))),
    MultivariateNormal([0.0], [[1.0]]),
    Mixture([0.25, 0.75], [norm(0, 1), norm([0, 0], 1)]),
]


@both_estimates
@pytest.mark.parametrize(
    ("distribution", "expected"),
    # |Z| has the mean kernel 1 / 2, and |Z - Z'| the density (1 + x) e^-x / 2.
    [*((law, PAIR_OF_STANDARD_NORMALS) for law in NORMALS), (laplace(), 1 - 2 / 2 + 3 / 8)],
)
def test_two_standard_distributions(unbiased, distribution, expected):
    """Twice, y = 0, 0: 1 - 2 E k(0, Z) + E k(Z, Z')."""
    value = distribution_kernel_calibration_error([0, 0], distribution, unbiased=unbiased)
    assert value == pytest.approx(expected, abs=1e-15)


def test_normal_distributions_agree_with_the_definition(rng):
    arrays, y = draw_problem(rng, "normal", 4)
    weights, bandwidth, unit = np.array([2.0, 0.5, 0.0, 1.0]), 1.7, 0.8
    loc, scale = arrays.values()

    def compare(m, s):
        return np.exp(-np.hypot(np.subtract.outer(m, loc), np.subtract.outer(s, scale)) / bandwidth)

    def expect(points, others, variance):
        """Mean kernel of two numbers whose noise has a variance."""
        square = np.square(np.subtract.outer(points, others))
        return unit / np.sqrt(unit**2 + variance) * np.exp(-square / (2 * (unit**2 + variance)))

    own, both = scale**2, np.add.outer(scale**2, scale**2)
    h = (
        expect(y, y, 0)
        - expect(loc, y, own[:, None])
        - expect(y, loc, own)
        + expect(loc, loc, both)
    )
    h *= compare(loc, scale)
    options = {"bandwidth": bandwidth, "target_bandwidth": unit, "sample_weight": weights}
    total, pairs = weights @ h @ weights, weights @ h @ weights - weights @ np.diag(h)
    for unbiased, expected in ((False, total / 3.5**2), (True, pairs / (3.5 * 2.5))):
        value = measure("normal", arrays, y, unbiased=unbiased, **options)
        assert value == pytest.approx(expected, abs=1e-14)
    places, points = {"loc": np.array([0.0, 1.0]), "scale": np.array([1.3, 0.3])}, [0.2, -1.0]
    residual = expect(points, y, 0) - expect(points, loc, own)
    means = np.average(compare(*places.values()) * residual, axis=1, weights=weights)
    value = embed("normal", arrays, y, build("normal", places), points, **options)
    assert value == pytest.approx(np.mean(means**2), abs=1e-13)


@pytest.mark.slow
@every_kind
def test_unbiased_estimate_is_zero_on_average_if_calibrated(kind):
    n, n_draws = (8, 150) if kind == "mixture" else (12, 250)  # linear programs are slow
    rng = np.random.default_rng(5)
    values = np.array([measure(kind, *draw_problem(rng, kind, n)) for _ in range(n_draws)])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(n_draws)
    assert values.min() < 0 < values.max()


@pytest.mark.parametrize(("kind", "tiny"), [("normal", 1e-5), ("laplace", 1e-9)])
def test_biased_estimate_is_not_negative(rng, kind, tiny):
    for n in (1, 5):
        for bandwidth in (1e-3, 1e6):
            arrays, y = draw_problem(rng, kind, n)
            assert measure(kind, arrays, y, unbiased=False, bandwidth=bandwidth) >= 0
    # Hardly anything to tell: targets and predictions are the same for the kernel.
    for _ in range(8):
        y = rng.normal(size=5)
        arrays = {"loc": y, "scale": np.full(5, tiny)}
        assert 0 <= measure(kind, arrays, y, unbiased=False) < 1e-8


@every_kind
@both_estimates
def test_weights_are_repetition_and_order_is_nothing(rng, kind, unbiased):
    arrays, y = draw_problem(rng, kind, 9)
    counts = np.array([1, 2, 0, 1, 3, 1, 0, 1, 2])
    rows = np.repeat(np.arange(9), counts)
    for block_size in (None, 4):
        options = {"unbiased": unbiased, "block_size": block_size}
        value = measure(kind, arrays, y, sample_weight=list(counts), **options)
        repeated = measure(kind, take(arrays, rows), y[rows], **options)
        assert value == pytest.approx(repeated, abs=1e-12)
    rows = rng.permutation(rows)
    tests = build(kind, take(arrays, slice(0, 4))), y[:4] + 0.3
    value = embed(kind, arrays, y, *tests, sample_weight=counts)
    assert value == pytest.approx(embed(kind, take(arrays, rows), y[rows], *tests), abs=1e-12)


@both_estimates
def test_blocks(rng, unbiased):
    arrays, y = draw_problem(rng, "normal", 11)
    options = {"unbiased": unbiased}
    blocks = slice(0, 3), slice(3, 6), slice(6, 9)
    parts = [measure("normal", take(arrays, rows), y[rows], **options) for rows in blocks]
    for block_size in (3, lambda n: n // 3):
        value = measure("normal", arrays, y, block_size=block_size, **options)
        assert value == pytest.approx(np.mean(parts), abs=1e-14)


def test_a_row_makes_no_pair_with_others():
    for y, options, expected in (
        ([0.0], {}, 0),
        ([0.0, 5.0], {"sample_weight": [1, 0]}, 0),
        ([0.0], {"unbiased": False}, PAIR_OF_STANDARD_NORMALS),
        ([0.0], {"sample_weight": [2]}, PAIR_OF_STANDARD_NORMALS),  # a weight of 2 is two rows
        # Weights that sum to 1.0000000000000002, as these do: of the order of 1e15 once.
        ([0.0, 5.0, 1.0], {"sample_weight": [0.1, 0.2, 0.7 + 2**-52]}, 0),
    ):
        value = distribution_kernel_calibration_error(y, norm(), **options)
        assert value == pytest.approx(expected, abs=1e-15)


def test_huge_values_do_not_overflow():
    y = np.array([0.0, 1e200, -1e200])
    for family in (norm, laplace):
        value = distribution_kernel_calibration_error(y, family(y, 1.0))
        assert value == pytest.approx(0, abs=1e-15)
    points = {"test_distribution": norm(), "test_targets": [0.0, 1e200]}  # near and far away
    value = distribution_kernel_mean_embedding_error([0.0], norm(), **points)
    assert value == pytest.approx((1 - 1 / np.sqrt(2)) ** 2 / 2, abs=1e-15)


@pytest.mark.parametrize("family", [norm, laplace])
def test_ways_to_write_a_distribution(rng, family):
    loc, scale, y = rng.normal(size=6), rng.random(6) + 0.5, rng.normal(size=6)
    expected = distribution_kernel_calibration_error(y, family(loc, scale))
    laws = [family(loc=loc, scale=scale), family(list(loc), scale=list(scale))]
    if family is norm and hasattr(stats, "Normal"):  # of SciPy 1.15
        laws.append(stats.Normal(mu=loc, sigma=scale))
    for law in laws:
        for targets in (y, y[:, None], list(y)):
            assert distribution_kernel_calibration_error(targets, law) == expected
    shared = distribution_kernel_calibration_error(y, family(loc, 0.7))
    assert shared == distribution_kernel_calibration_error(y, family(loc, np.full(6, 0.7)))


@every_kind
def test_other_forms_of_the_same_distribution(rng, kind):
    """Components of equal distributions, or without weight, change nothing."""
    arrays, y = draw_problem(rng, kind, 8)
    law, other = build(kind, arrays), build(kind, draw_problem(rng, kind, 8)[0])
    forms = [Mixture([1.0], [law]), Mixture(np.full((8, 2), 0.5), [law] * 2)]
    forms += [Mixture([1.0, 0.0], (law, other))]
    if kind == "normal":
        forms += [MultivariateNormal(arrays["loc"][:, None], arrays["scale"][:, None, None] ** 2)]
    elif kind == "multivariate":  # one covariance for all rows
        law = MultivariateNormal(arrays["mean"], arrays["cov"][0])
        forms = [MultivariateNormal(arrays["mean"], np.tile(arrays["cov"][0], (8, 1, 1)))]
    elif "weights" in arrays:  # whose test points may have another number of components
        weights = arrays.pop("weights")
        first, second = (build(kind, take(arrays, (slice(None), j))) for j in range(2))
        split = weights[:, [0, 0, 1]] * [0.5, 0.5, 1]
        forms = [Mixture(weights, [first, second]), Mixture(split, [first, first, second])]
    expected = distribution_kernel_calibration_error(y, law)
    values = [distribution_kernel_calibration_error(y, form) for form in forms]
    assert values == pytest.approx([expected] * len(forms), abs=1e-12)
    if "mixture" in kind:
        expected, *values = (
            distribution_kernel_mean_embedding_error(y, law, test_distribution=form, test_targets=y)
            for form in (law, *forms)
        )
        assert values == pytest.approx([expected] * len(forms), abs=1e-12)


def test_kernels_of_the_user(rng):
    arrays, y = draw_problem(rng, "normal", 10)

    def wasserstein(a, b):
        return np.exp(-np.sqrt(np.square(a[:, None] - b).sum(axis=-1)))

    tests = build("normal", take(arrays, slice(0, 3)))
    for function, rest in ((measure, ()), (embed, (tests, y[:3]))):
        expected = function("normal", arrays, y, *rest)
        value = function("normal", arrays, y, *rest, kernel=wasserstein)
        assert value == pytest.approx(expected, abs=1e-14)
    for kind, width in (("multivariate", 2 + 4), ("mixture", 2 * 3)):
        kernel = Mock(side_effect=rbf_kernel)
        assert measure(kind, *draw_problem(rng, kind, 10), kernel=kernel, unbiased=False) > 0
        assert [array.shape for array in kernel.call_args.args] == [(10, width)] * 2


def test_rounded_input(rng):
    """Weights that miss 1 by a rounding, and covariances that miss symmetry."""
    arrays, y = draw_problem(rng, "even mixture", 6)
    rounded = arrays | {"weights": 1.0004 * arrays["weights"]}
    expected = measure("mixture", arrays, y)
    assert measure("mixture", rounded, y) == pytest.approx(expected, abs=1e-15)
    arrays, y = draw_problem(rng, "multivariate", 6)
    cov = arrays["cov"] + 8e-6 * arrays["cov"].max(axis=(1, 2), keepdims=True) * np.eye(2, k=1)
    expected = measure("multivariate", arrays | {"cov": (cov + np.swapaxes(cov, 1, 2)) / 2}, y)
    value = measure("multivariate", arrays | {"cov": cov}, y)
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", [1e150, 1e-160])
def test_scales_that_no_bandwidth_can_match(scale):
    y, loc = [0.0, 1.0, 3.0], [0, 0.5, 1]
    with pytest.raises(ValueError, match="The scale of distribution must lie within a factor of"):
        distribution_kernel_calibration_error(y, laplace(loc, scale))
    for far in (1e60, 1e-60):
        assert np.isfinite(distribution_kernel_calibration_error(y, laplace(loc, far)))
