"""SKCE and UCME: published unit values, the definition summed directly, and the laws of weights."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import laplacian_kernel

from skcal._estimates import _kernel_blocks
from skcal._estimates import _test_points as module
from skcal.metrics._squared_kernel import (
    calibration_mean_embedding_error,
    squared_kernel_calibration_error,
)

every_kernel = pytest.mark.parametrize("kernel", ["total_variation", "euclidean", "gaussian"])
both_estimates = pytest.mark.parametrize("unbiased", [True, False])


@pytest.fixture
def rng():
    return np.random.default_rng(63)


def draw_labels(rng, proba):
    below = rng.random((len(proba), 1)) > np.cumsum(proba, axis=1)
    return np.minimum(below.sum(axis=1), proba.shape[1] - 1)


def draw_vectors(rng, n, n_classes):
    """Predictions, some of them equal or certain, and labels that they do not fit."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    proba[: n // 5] = np.eye(n_classes)[rng.integers(0, n_classes, n // 5)]
    proba[n // 5 : n // 3] = 1 / n_classes
    return draw_labels(rng, 0.5 * proba + 0.5 / n_classes), proba


def evaluate_directly(kernel, bandwidth, one, other):
    gap = one - other
    if kernel == "total_variation":
        return np.exp(-0.5 * np.abs(gap).sum() / bandwidth)
    if kernel == "euclidean":
        return np.exp(-np.sqrt(gap @ gap) / bandwidth)
    return np.exp(-gap @ gap / (2 * bandwidth**2))


def list_terms(y, proba, kernel, bandwidth, label_kernel):
    """h of all pairs of rows by its definition, with expectations over both labels summed."""
    labels = np.eye(proba.shape[1]) if label_kernel is None else label_kernel
    terms = np.empty((len(y), len(y)))
    for i, p in enumerate(proba):
        for j, q in enumerate(proba):
            expected = (
                labels[y[i], y[j]]
                - sum(p[z] * labels[z, y[j]] for z in range(len(p)))
                - sum(q[z] * labels[y[i], z] for z in range(len(q)))
                + sum(p[z] * q[x] * labels[z, x] for z in range(len(p)) for x in range(len(q)))
            )
            terms[i, j] = evaluate_directly(kernel, bandwidth, p, q) * expected
    return terms


def estimate_directly(terms, weights, unbiased):
    total = weights @ terms @ weights
    mass = weights.sum()
    if not unbiased:
        return total / mass**2
    return (total - weights @ terms.diagonal()) / (mass * (mass - 1))


# ------------------------------------------------------------------------------ SKCE: values


@pytest.mark.parametrize(
    ("labels", "mean", "square"),
    [([0, 1], 0, 0), ([0, 0], 0, 0.5), ([1, 0], -2 / np.e, 1 - 1 / np.e)],
)
def test_unit_values(labels, mean, square):
    """From the tests of CalibrationErrors.jl."""
    for unbiased, expected in ((True, mean), (False, square)):
        value = squared_kernel_calibration_error(
            labels, np.eye(2), kernel="gaussian", unbiased=unbiased
        )
        assert type(value) is float
        assert value == pytest.approx(expected, abs=1e-15)


def test_real_predictions(shared_data):
    """DEFINITIONS.md and the issue, to the digits shown there."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz", nrows=2000)
    y, proba = table.pop("y_true"), table
    assert squared_kernel_calibration_error(y, proba) == pytest.approx(1.807003e-4, abs=5e-11)
    biased = squared_kernel_calibration_error(y, proba, unbiased=False)
    assert biased == pytest.approx(2.343191e-4, abs=5e-11)


@pytest.mark.parametrize("kernel", ["total_variation", "euclidean"])
def test_closed_form_of_shrunk_predictions(kernel):
    """Family B of DEFINITIONS.md, lam = 1/2: twice the square of kCE, one for each class."""
    v = (np.arange(20_000) + 0.5) / 20_000
    value = squared_kernel_calibration_error(
        0.5 + 0.5 * (v - 0.5),
        v,
        kernel=kernel,
        bandwidth=1.0 if kernel == "total_variation" else np.sqrt(2),
        unbiased=False,
    )
    assert value == pytest.approx(2 * 0.0028022955, abs=1e-9)


@every_kernel
@both_estimates
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_agrees_with_the_definition(rng, kernel, unbiased, n_classes):
    y, proba = draw_vectors(rng, 40, n_classes)
    root = rng.normal(size=(n_classes, 2))  # a singular label kernel
    for label_kernel in (None, root @ root.T):
        for bandwidth in (1.0, 0.1):
            terms = list_terms(y, proba, kernel, bandwidth, label_kernel)
            for weights in (None, rng.choice([0.0, 0.5, 1.0, 3.0], 40)):
                value = squared_kernel_calibration_error(
                    y,
                    proba,
                    sample_weight=weights,
                    labels=range(n_classes),
                    kernel=kernel,
                    bandwidth=bandwidth,
                    unbiased=unbiased,
                    label_kernel=label_kernel,
                )
                counts = np.ones(40) if weights is None else weights
                expected = estimate_directly(terms, counts, unbiased)
                assert value == pytest.approx(expected, abs=1e-14)


def test_label_kernel_of_the_identity_is_white(rng):
    y, proba = draw_vectors(rng, 30, 3)
    value = squared_kernel_calibration_error(y, proba)
    for factor in (1, 2.5):
        scaled = squared_kernel_calibration_error(y, proba, label_kernel=factor * np.eye(3))
        assert scaled == pytest.approx(factor * value, abs=1e-15)
    # Labels that the kernel takes for equal make no error.
    assert squared_kernel_calibration_error(
        y, proba, label_kernel=np.ones((3, 3))
    ) == pytest.approx(0, abs=1e-15)


def test_callable_kernel(rng):
    y, proba = draw_vectors(rng, 700, 4)
    value = squared_kernel_calibration_error(y, proba, bandwidth=0.3)
    called = squared_kernel_calibration_error(
        y, proba, kernel=lambda a, b: laplacian_kernel(a, b, gamma=0.5 / 0.3)
    )
    assert called == pytest.approx(value, abs=1e-14)
    # A kernel that is not 1 between equal rows: the pairs of a row with itself count too.
    linear = squared_kernel_calibration_error(y, proba, kernel=lambda a, b: a @ b.T, unbiased=False)
    residual = np.eye(4)[y] - proba
    direct = np.linalg.norm(np.einsum("ij,ik->jk", residual, proba) / 700) ** 2
    assert linear == pytest.approx(direct, abs=1e-14)
    unbiased = squared_kernel_calibration_error(y, proba, kernel=lambda a, b: a @ b.T)
    own = (residual**2).sum(axis=1) @ (proba**2).sum(axis=1)
    assert unbiased == pytest.approx((direct * 700**2 - own) / (700 * 699), abs=1e-14)


# ---------------------------------------------------------- SKCE: one answer by all routes


@pytest.mark.parametrize("kernel", ["total_variation", "euclidean"])
@both_estimates
@pytest.mark.parametrize("n", [2, 130, 1500])
def test_sorted_binary_sum_equals_the_sum_over_pairs(rng, kernel, unbiased, n):
    y, proba = draw_vectors(rng, n, 2)
    root = rng.normal(size=(2, 2))

    def evaluate(a, b):
        gap = a[:, None] - b
        if kernel == "total_variation":
            return np.exp(-0.5 * np.abs(gap).sum(axis=2) / 0.2)
        return np.exp(-np.sqrt((gap**2).sum(axis=2)) / 0.2)

    for weights in (None, rng.integers(0, 4, n), rng.random(n) + 0.1):
        for soft in (False, True):
            options = {
                "sample_weight": weights,
                "unbiased": unbiased,
                "label_kernel": root @ root.T,
            }
            target = rng.dirichlet([1, 1], n) if soft else y
            options |= {} if soft else {"labels": [0, 1]}
            value = squared_kernel_calibration_error(
                target, proba, kernel=kernel, bandwidth=0.2, **options
            )
            general = squared_kernel_calibration_error(target, proba, kernel=evaluate, **options)
            assert value == pytest.approx(general, abs=1e-12)


def test_columns_that_miss_a_sum_of_1(rng):
    """The sorted sum of two classes reads rounded columns as the sum over pairs does."""
    y, proba = draw_vectors(rng, 400, 2)
    rounded = proba.astype(np.float16).astype(np.float64)
    assert np.abs(rounded.sum(axis=1) - 1).max() > 1e-5
    value = squared_kernel_calibration_error(y, rounded)
    general = squared_kernel_calibration_error(
        y, rounded, kernel=lambda a, b: laplacian_kernel(a, b, gamma=0.5)
    )
    assert value == pytest.approx(general, abs=1e-6)


@every_kernel
@both_estimates
def test_tiles_and_jobs_do_not_change_the_answer(rng, monkeypatch, kernel, unbiased):
    y, proba = draw_vectors(rng, 1300, 3)
    weights = rng.random(1300)
    options = {"kernel": kernel, "unbiased": unbiased, "sample_weight": weights}
    with parallel_config(n_jobs=2, prefer="threads"):
        values = [squared_kernel_calibration_error(y, proba, **options)]
    for tile in (100, 512, 5000):
        monkeypatch.setattr(_kernel_blocks, "TILE", tile)
        values.append(squared_kernel_calibration_error(y, proba, **options))
    np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-12)


def test_processes(rng):
    y, proba = draw_vectors(rng, 1300, 3)
    expected = squared_kernel_calibration_error(y, proba)
    with parallel_config(backend="loky", n_jobs=2):
        assert squared_kernel_calibration_error(y, proba) == pytest.approx(expected, abs=1e-12)
        called = squared_kernel_calibration_error(
            y, proba, kernel=lambda a, b: laplacian_kernel(a, b, gamma=0.5)
        )
    assert called == pytest.approx(expected, abs=1e-12)


def test_memory_stays_far_below_the_kernel_matrix(rng):
    y, proba = draw_vectors(rng, 4000, 3)
    tracemalloc.start()
    squared_kernel_calibration_error(y, proba)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 4000**2


# --------------------------------------------------------------------------- SKCE: blocks


@both_estimates
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [2, 7, 60, 150, 520])
def test_blocks_are_averaged(rng, unbiased, n_classes, size):
    y, proba = draw_vectors(rng, 1100, n_classes)
    options = {"labels": range(n_classes), "unbiased": unbiased}
    blocks = [slice(start, start + size) for start in range(0, 1100 - size + 1, size)]
    expected = np.mean(
        [squared_kernel_calibration_error(y[b], proba[b], **options) for b in blocks]
    )
    for block_size in (size, np.int64(size), lambda n: n * size // 1100):
        value = squared_kernel_calibration_error(y, proba, block_size=block_size, **options)
        assert value == pytest.approx(expected, abs=1e-13)


@both_estimates
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [50, 600])
def test_one_block_of_all_rows_is_the_plain_estimator(rng, unbiased, n_classes, n):
    y, proba = draw_vectors(rng, n, n_classes)
    options = {"labels": range(n_classes), "unbiased": unbiased}
    value = squared_kernel_calibration_error(y, proba, block_size=lambda n: n, **options)
    assert value == squared_kernel_calibration_error(y, proba, **options)


def test_biased_blocks_of_one_row(rng):
    y, proba = draw_vectors(rng, 50, 3)
    value = squared_kernel_calibration_error(y, proba, unbiased=False, block_size=1)
    assert value == pytest.approx(((np.eye(3)[y] - proba) ** 2).sum(axis=1).mean())


@both_estimates
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [3, 200])
def test_weight_is_repetition_in_blocks(rng, unbiased, n_classes, size):
    y, proba = draw_vectors(rng, 400, n_classes)
    weights = rng.integers(0, 5, 400)
    options = {"labels": range(n_classes), "unbiased": unbiased, "block_size": size}
    value = squared_kernel_calibration_error(y, proba, sample_weight=weights, **options)
    repeated = [np.repeat(x, weights, axis=0) for x in (y, proba)]
    assert value == pytest.approx(squared_kernel_calibration_error(*repeated, **options), abs=1e-12)
    # Weights that are no integers: a half and a half are one.
    halved = [np.repeat(x, 2, axis=0) for x in (y, proba)]
    value = squared_kernel_calibration_error(*halved, sample_weight=np.full(800, 0.5), **options)
    assert value == pytest.approx(squared_kernel_calibration_error(y, proba, **options), abs=1e-12)


def test_weights_that_do_not_add_up_exactly(rng):
    y, proba = draw_vectors(rng, 30, 3)
    value = squared_kernel_calibration_error(
        y, proba, sample_weight=np.full(30, 0.1), block_size=3, unbiased=False
    )
    assert value == pytest.approx(
        squared_kernel_calibration_error(y, proba, unbiased=False), abs=1e-12
    )


# ------------------------------------------------------------------------ SKCE: statistics


@pytest.mark.parametrize(
    ("n_classes", "kernel"),
    [(2, "total_variation"), (2, "gaussian"), (10, "total_variation"), (100, "euclidean")],
)
@pytest.mark.parametrize("block_size", [None, 6])
def test_unbiased_estimates_of_calibrated_models_have_mean_0(rng, n_classes, kernel, block_size):
    """Within four standard errors; a normal mean is farther off once in 16 000 seeds."""
    values = []
    for _ in range(300):
        proba = rng.dirichlet(np.full(n_classes, 0.5), 60)
        values.append(
            squared_kernel_calibration_error(
                draw_labels(rng, proba),
                proba,
                labels=range(n_classes),
                kernel=kernel,
                bandwidth=0.5,
                block_size=block_size,
            )
        )
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert 0 < error < 1e-2
    assert abs(np.mean(values)) < 4 * error


@every_kernel
def test_biased_estimates_are_not_negative(rng, kernel):
    for n_classes in (2, 3, 20):
        for n in (1, 2, 30):
            y, proba = draw_vectors(rng, n, n_classes)
            for target in (y, draw_labels(rng, proba)):
                options = {"labels": range(n_classes), "kernel": kernel, "unbiased": False}
                assert squared_kernel_calibration_error(target, proba, **options) >= 0
    # Outcomes that fit their predictions exactly, where sums only round to 0.
    proba = np.repeat([[0.1, 0.2, 0.7]], 10, axis=0)
    y = np.repeat([0, 1, 2], [1, 2, 7])
    value = squared_kernel_calibration_error(y, proba, kernel=kernel, unbiased=False)
    assert 0 <= value < 1e-30


# --------------------------------------------------------------------- SKCE: rows and labels


@every_kernel
@both_estimates
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_and_order_of_rows(rng, kernel, unbiased, n_classes):
    y, proba = draw_vectors(rng, 150, n_classes)
    weights = rng.integers(0, 4, 150)
    options = {"kernel": kernel, "unbiased": unbiased, "labels": range(n_classes)}
    value = squared_kernel_calibration_error(y, proba, sample_weight=weights, **options)
    order = rng.permutation(150)
    repeated = [np.repeat(x, weights, axis=0) for x in (y, proba)]
    present = weights > 0
    for other in (
        squared_kernel_calibration_error(
            y[order], proba[order], sample_weight=weights[order], **options
        ),
        squared_kernel_calibration_error(*repeated, **options),
        squared_kernel_calibration_error(
            y[present], proba[present], sample_weight=weights[present], **options
        ),
    ):
        assert other == pytest.approx(value, abs=1e-13)
    if not unbiased:
        rescaled = squared_kernel_calibration_error(
            y, proba, sample_weight=0.01 * weights, **options
        )
        assert rescaled == pytest.approx(value, abs=1e-13)


@every_kernel
def test_one_column_or_two(rng, kernel):
    y, both = draw_vectors(rng, 150, 2)
    proba = both[:, 1]
    both = np.column_stack([1 - proba, proba])
    text = np.array(["no", "yes"])[y]
    expected = squared_kernel_calibration_error(y, proba, kernel=kernel)
    assert squared_kernel_calibration_error(y, proba[:, None], kernel=kernel) == expected
    assert squared_kernel_calibration_error(y, both, kernel=kernel) == expected
    assert squared_kernel_calibration_error(text, both, kernel=kernel) == expected
    assert squared_kernel_calibration_error(text, proba, pos_label="yes", kernel=kernel) == expected
    assert squared_kernel_calibration_error(
        y, both[:, ::-1], labels=[1, 0], kernel=kernel
    ) == pytest.approx(expected, abs=1e-15)


def test_label_kernel_follows_the_columns(rng):
    y, proba = draw_vectors(rng, 100, 3)
    root = rng.normal(size=(3, 3))
    label_kernel = root @ root.T
    text = np.array(["a", "b", "c"])[y]
    expected = squared_kernel_calibration_error(y, proba, label_kernel=label_kernel)
    order = [2, 0, 1]
    value = squared_kernel_calibration_error(
        text,
        proba[:, order],
        labels=["c", "a", "b"],
        label_kernel=label_kernel[np.ix_(order, order)],
    )
    assert value == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3])
@both_estimates
def test_soft_labels_are_labels_in_their_proportion(rng, n_classes, unbiased):
    _, proba = draw_vectors(rng, 60, n_classes)
    soft = rng.dirichlet(np.ones(n_classes), 60)
    for kernel in ("total_variation", "gaussian"):
        options = {"kernel": kernel, "unbiased": unbiased}
        value = squared_kernel_calibration_error(soft, proba, **options)
        labels = np.tile(np.arange(n_classes), 60)
        shared = squared_kernel_calibration_error(
            labels, np.repeat(proba, n_classes, axis=0), sample_weight=soft.ravel(), **options
        )
        assert value == pytest.approx(shared, abs=1e-13)
    y = draw_labels(rng, soft)
    one_hot = squared_kernel_calibration_error(np.eye(n_classes)[y], proba, unbiased=unbiased)
    hard = squared_kernel_calibration_error(y, proba, labels=range(n_classes), unbiased=unbiased)
    assert one_hot == pytest.approx(hard, abs=1e-14)
    # In expectation a model that predicts the soft labels themselves is calibrated.
    assert squared_kernel_calibration_error(soft, soft, unbiased=False) < 1e-30


def test_single_row_says_nothing_about_the_error():
    assert squared_kernel_calibration_error([1], [0.3]) == 0
    assert squared_kernel_calibration_error([1], [0.3], sample_weight=[0.5]) == 0
    biased = squared_kernel_calibration_error([1], [0.3], unbiased=False)
    assert biased == pytest.approx(2 * 0.7**2)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_other_float_types_are_computed_in_double_precision(rng, dtype):
    y, proba = draw_vectors(rng, 200, 3)
    proba = proba.astype(dtype)
    for kernel in ("total_variation", "gaussian"):
        value = squared_kernel_calibration_error(y, proba, kernel=kernel)
        assert value == squared_kernel_calibration_error(y, proba.astype(np.float64), kernel=kernel)


# ------------------------------------------------------------------------- median bandwidth


@pytest.mark.parametrize(
    ("kernel", "metric", "factor"),
    [
        ("total_variation", "cityblock", 0.5),
        ("euclidean", "euclidean", 1),
        ("gaussian", "euclidean", 1),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_median_bandwidth(rng, kernel, metric, factor, n_classes):
    proba = rng.dirichlet(np.ones(n_classes), 80)
    y = draw_labels(rng, proba)
    options = {"kernel": kernel, "labels": range(n_classes)}
    value = squared_kernel_calibration_error(y, proba, bandwidth="median", **options)
    median = factor * np.median(pdist(proba, metric))
    expected = squared_kernel_calibration_error(y, proba, bandwidth=median, **options)
    assert value == pytest.approx(expected, abs=1e-14)


@both_estimates
def test_median_bandwidth_with_weights_and_equal_rows(rng, unbiased):
    y, proba = draw_vectors(rng, 60, 3)
    weights = rng.integers(0, 4, 60)
    options = {"bandwidth": "median", "unbiased": unbiased}
    value = squared_kernel_calibration_error(y, proba, sample_weight=weights, **options)
    repeated = [np.repeat(x, weights, axis=0) for x in (y, proba)]
    assert value == pytest.approx(squared_kernel_calibration_error(*repeated, **options), abs=1e-13)
    distances = pdist(repeated[1], "cityblock") / 2
    median = np.median(distances[distances > 0])
    expected = squared_kernel_calibration_error(*repeated, bandwidth=median, unbiased=unbiased)
    assert value == pytest.approx(expected, abs=1e-13)


def test_median_bandwidth_of_many_rows(rng):
    """Of more than 3000 rows a part is read: always the same one, and close to all of them."""
    proba = rng.dirichlet(np.ones(3), 4000)
    y = draw_labels(rng, proba)
    options = {"bandwidth": "median", "block_size": 20}
    value = squared_kernel_calibration_error(y, proba, **options)
    assert squared_kernel_calibration_error(y, proba, **options) == value
    exact = np.median(pdist(proba, "cityblock")) / 2
    low, high = (
        squared_kernel_calibration_error(y, proba, bandwidth=exact * factor, block_size=20)
        for factor in (0.99, 1.01)
    )
    assert min(low, high) < value < max(low, high)
    order = rng.permutation(4000)
    assert squared_kernel_calibration_error(
        y[order], proba[order], bandwidth="median"
    ) == pytest.approx(squared_kernel_calibration_error(y, proba, bandwidth="median"), abs=1e-14)


def test_median_bandwidth_of_equal_rows():
    proba = np.full((4, 3), [0.2, 0.3, 0.5])
    value = squared_kernel_calibration_error([0, 1, 2, 2], proba, bandwidth="median")
    assert value == squared_kernel_calibration_error([0, 1, 2, 2], proba)


# -------------------------------------------------------------------------------- bad input


def drop_last(a, b):
    return np.ones((len(a), len(b) - 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "tv"}, r"kernel must be one of 'total_variation', 'euclidean', 'gaussian'"),
        ({"kernel": 3}, r"kernel must be one of .* or a function of two arrays of rows; got 3"),
        ({"kernel": drop_last}, r"kernel must return a matrix of shape \(4, 4\) .* shape \(4, 3\)"),
        ({"kernel": lambda a, b: 1.0}, r"kernel must return a matrix .* got shape \(\)"),
        ({"kernel": lambda a, b: "x"}, r"The value of kernel must hold real numbers"),
        ({"kernel": lambda a, b: np.full((4, 4), np.nan)}, r"kernel must return finite values"),
        (
            {"kernel": lambda a, b: np.exp(a[:, :1] - b[:, 0])},
            r"kernel must give a symmetric matrix .* got .* and .* for a pair of rows",
        ),
        ({"bandwidth": 0}, r"bandwidth must be at least 1e-05 and finite; got 0"),
        ({"bandwidth": -1.0}, r"bandwidth must be at least"),
        ({"bandwidth": np.inf}, r"bandwidth must be at least"),
        ({"bandwidth": np.nan}, r"bandwidth must be a number"),
        ({"bandwidth": None}, r"bandwidth must be a number"),
        ({"bandwidth": "mean"}, r"bandwidth must be one of 'median'"),
        ({"unbiased": "biased"}, r"unbiased must be True or False"),
        ({"block_size": 1}, r"block_size must be at least 2; got 1"),
        ({"block_size": 0, "unbiased": False}, r"block_size must be at least 1; got 0"),
        ({"block_size": 5}, r"block_size must be at most 4, .*; got 5"),
        ({"block_size": 2.0}, r"block_size must be an integer; got 2.0"),
        ({"block_size": lambda n: n + 1}, r"block_size\(n\) must be at most 4, .*; got 5"),
        ({"block_size": lambda n: n / 2}, r"block_size\(n\) must be an integer; got 2.0"),
        ({"block_size": 4, "sample_weight": [1, 1, 1, 0.9]}, r"block_size must be at most 3"),
        (
            {"label_kernel": np.eye(2)},
            r"label_kernel must have shape \(3, 3\).* got shape \(2, 2\)",
        ),
        ({"label_kernel": "white"}, r"label_kernel must hold real numbers"),
        ({"label_kernel": np.full((3, 3), np.inf)}, r"label_kernel must be finite"),
        ({"label_kernel": np.triu(np.ones((3, 3)))}, r"label_kernel must be symmetric"),
        (
            {"label_kernel": np.diag([1.0, 1.0, -0.5])},
            r"label_kernel must be positive semidefinite; .* eigenvalue -0.5",
        ),
        ({"sample_weight": [1, 1, 1, -1]}, r"sample_weight must be finite and not negative"),
    ],
)
def test_bad_options(options, message):
    proba = [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]
    with pytest.raises(ValueError, match=message):
        squared_kernel_calibration_error([0, 1, 2, 2], proba, **options)


def test_rows_off_the_simplex():
    with pytest.raises(ValueError, match=r"Rows of y_proba must sum to 1; got a sum of 1.1"):
        squared_kernel_calibration_error([0, 1, 2], [[0.2, 0.4, 0.5], [1, 0, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match=r"y_true and y_proba must have the same shape"):
        squared_kernel_calibration_error(np.eye(3), np.eye(3)[:2])


# -------------------------------------------------------------------------------------- UCME


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1], 0),
        ([0, 0], (np.exp(-2) + np.exp(-0.5) + 1) / 12),
        ([1, 0], (1 - np.exp(-1)) ** 2 / 6),
    ],
)
def test_unit_values_of_the_mean_embedding(labels, expected):
    """DEFINITIONS.md, section 10, from the tests of CalibrationErrors.jl."""
    value = calibration_mean_embedding_error(
        labels,
        np.eye(2),
        test_proba=[[1, 0], [0.5, 0.5], [0, 1]],
        test_labels=[0, 0, 1],
        kernel="gaussian",
    )
    assert type(value) is float
    assert value == pytest.approx(expected, abs=1e-15)


@every_kernel
def test_mean_embedding_agrees_with_the_definition(rng, monkeypatch, kernel):
    y, proba = draw_vectors(rng, 50, 3)
    test_proba, test_labels = rng.dirichlet(np.ones(3), 7), rng.integers(0, 3, 7)
    root = rng.normal(size=(3, 3))
    for label_kernel in (np.eye(3), root @ root.T):
        for weights in (None, rng.integers(0, 3, 50)):
            counts = np.ones(50) if weights is None else weights
            means = [
                sum(
                    w
                    * evaluate_directly(kernel, 0.4, t, p)
                    * (label_kernel[z, c] - sum(p[x] * label_kernel[z, x] for x in range(3)))
                    for w, p, c in zip(counts, proba, y, strict=True)
                )
                / counts.sum()
                for t, z in zip(test_proba, test_labels, strict=True)
            ]
            for chunk in (1 << 18, 60):
                monkeypatch.setattr(module, "_CHUNK", chunk)
                value = calibration_mean_embedding_error(
                    y,
                    proba,
                    test_proba=test_proba,
                    test_labels=test_labels,
                    sample_weight=weights,
                    kernel=kernel,
                    bandwidth=0.4,
                    label_kernel=label_kernel,
                )
                assert value == pytest.approx(np.mean(np.square(means)), abs=1e-14)


def test_mean_embedding_of_weights_order_and_soft_labels(rng):
    y, proba = draw_vectors(rng, 60, 3)
    weights = rng.integers(0, 3, 60)
    points = {"test_proba": rng.dirichlet(np.ones(3), 5), "test_labels": [0, 2, 2, 0, 0]}
    value = calibration_mean_embedding_error(y, proba, sample_weight=weights, **points)
    order = rng.permutation(60)
    repeated = [np.repeat(x, weights, axis=0) for x in (y, proba)]
    soft = {**points, "test_labels": np.eye(3)[points["test_labels"]]}
    for other in (
        calibration_mean_embedding_error(
            y[order], proba[order], sample_weight=7.5 * weights[order], **points
        ),
        calibration_mean_embedding_error(*repeated, **points),
        calibration_mean_embedding_error(np.eye(3)[y], proba, sample_weight=weights, **points),
        calibration_mean_embedding_error(y, proba, sample_weight=weights, **soft),
    ):
        assert other == pytest.approx(value, abs=1e-14)


def test_mean_embedding_of_names_and_layouts(rng):
    y, both = draw_vectors(rng, 60, 2)
    text = np.array(["no", "yes"])[y]
    points = rng.dirichlet([1, 1], 4)
    options = {"test_proba": points, "test_labels": [1, 1, 1, 1]}
    expected = calibration_mean_embedding_error(y, both, **options)
    options["test_labels"] = ["yes"] * 4
    assert calibration_mean_embedding_error(text, both, **options) == expected
    options["test_proba"] = points[:, 1]
    value = calibration_mean_embedding_error(text, both[:, 1], pos_label="yes", **options)
    assert value == pytest.approx(expected, abs=1e-15)
    # The median is that of the rows, not of the test points.
    median = calibration_mean_embedding_error(
        text, both[:, 1], pos_label="yes", bandwidth="median", **options
    )
    rows, labels = np.vstack([both, both]), np.append(text, text)
    assert median == pytest.approx(
        calibration_mean_embedding_error(
            labels, rows[:, 1], pos_label="yes", bandwidth="median", **options
        ),
        abs=1e-15,
    )


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (([[0.5, 0.5]], [0]), r"test_proba must have as many columns as the rows, 3; got 2"),
        (([0.5, 0.2], [0, 1]), r"test_proba must have as many columns as the rows, 3; got 1"),
        (([[0.5, 0.3, 0.3]], [0]), r"Rows of test_proba must sum to 1"),
        (([[0.5, 0.3, 0.2]], [0, 1]), r"test_labels and test_proba must have the same length"),
        (([[0.5, 0.3, 0.2]], [3]), r"test_labels has labels that no column of test_proba"),
        ((np.empty((0, 3)), []), r"test_proba must hold at least one row"),
    ],
)
def test_bad_test_points(points, message):
    with pytest.raises(ValueError, match=message):
        calibration_mean_embedding_error(
            [0, 1, 2], np.eye(3), test_proba=points[0], test_labels=points[1]
        )


def test_test_points_of_another_dimension(rng):
    y, both = draw_vectors(rng, 20, 2)
    with pytest.raises(ValueError, match=r"as many columns as the rows, 2; got 1"):
        calibration_mean_embedding_error(y, both, test_proba=[0.2], test_labels=[1])


def test_kernels_may_work_in_place_on_what_they_get(rng):
    y, proba = rng.integers(0, 3, 20), rng.dirichlet(np.ones(3), size=20)
    before = proba.copy()

    def kernel(left, right):
        left *= 2
        return np.ones((len(left), len(right)))

    squared_kernel_calibration_error(y, proba, labels=[0, 1, 2], kernel=kernel)
    np.testing.assert_array_equal(proba, before)


@pytest.mark.parametrize("kernel", [lambda a, b: 1j * (a @ b.T), lambda a, b: np.ma.ones(1)])
def test_kernels_of_odd_values(rng, kernel):
    y, proba = rng.integers(0, 2, 5), rng.random(5)
    with pytest.raises(ValueError, match=r"kernel must (hold real numbers|return a matrix)"):
        squared_kernel_calibration_error(y, proba, labels=[0, 1], kernel=kernel)


def test_label_kernels_of_odd_values():
    for matrix in (1j * np.eye(2), np.ma.array(np.eye(2), mask=np.eye(2))):
        with pytest.raises(ValueError, match="label_kernel must"):
            squared_kernel_calibration_error([0, 1], [0.2, 0.7], label_kernel=matrix)


def test_columns_that_miss_a_sum_of_1_share_the_difference(rng):
    v = rng.uniform(0.1, 0.9, 30)
    both = np.column_stack([1 - v, v]) + 4e-4 * rng.uniform(-1, 1, (30, 2))
    y = rng.integers(0, 2, 30)
    shared = (both[:, 1] + 1 - both[:, 0]) / 2
    for unbiased in (True, False):
        value = squared_kernel_calibration_error(y, both, unbiased=unbiased)
        expected = squared_kernel_calibration_error(y, shared, unbiased=unbiased)
        assert value == pytest.approx(expected, abs=1e-14)
