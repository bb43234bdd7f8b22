"""SKCE and UCME: published unit values, the definition summed directly, and blocks of rows."""

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import laplacian_kernel

from skcal._estimates import _kernel_blocks, _test_points
from skcal.metrics import calibration_mean_embedding_error, squared_kernel_calibration_error

every_kernel = pytest.mark.parametrize("kernel", ["total_variation", "euclidean", "gaussian"])
both_estimates = pytest.mark.parametrize("unbiased", [True, False])


@pytest.fixture
def rng():
    return np.random.default_rng(63)


def draw_vectors(rng, n, n_classes):
    """Predictions, some of them equal or certain, and labels that they do not fit."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    proba[: n // 5] = np.eye(n_classes)[rng.integers(0, n_classes, n // 5)]
    proba[n // 5 : n // 3] = 1 / n_classes
    below = rng.random((n, 1)) > np.cumsum(0.5 * proba + 0.5 / n_classes, axis=1)
    return np.minimum(below.sum(axis=1), n_classes - 1), proba


def evaluate_directly(kernel, bandwidth, rows, others):
    if kernel == "linear":
        return rows @ others.T
    gap = rows[:, None] - others
    if kernel == "total_variation":
        return np.exp(-0.5 * np.abs(gap).sum(axis=2) / bandwidth)
    square = (gap**2).sum(axis=2)
    if kernel == "euclidean":
        return np.exp(-np.sqrt(square) / bandwidth)
    return np.exp(-square / (2 * bandwidth**2))


def expect_directly(labels, proba, other_labels, other_proba, label_kernel):
    """k(y, y') - E k(Z, y') - E k(y, Z') + E k(Z, Z') of all pairs, Z drawn from a prediction."""
    return (
        label_kernel[np.ix_(labels, other_labels)]
        - proba @ label_kernel[:, other_labels]
        - label_kernel[labels] @ other_proba.T
        + proba @ label_kernel @ other_proba.T
    )


def estimate_directly(terms, weights, unbiased):
    total = weights @ terms @ weights
    mass = weights.sum()
    if not unbiased:
        return total / mass**2
    return (total - weights @ terms.diagonal()) / (mass * (mass - 1))


# ------------------------------------------------------------------------------------ SKCE


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
        assert value == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("kernel", ["total_variation", "euclidean", "gaussian", "linear"])
@both_estimates
@pytest.mark.parametrize(("n_classes", "n"), [(2, 80), (5, 80), (4, 700)])
def test_agrees_with_the_definition(rng, kernel, unbiased, n_classes, n):
    """The user's own kernels need not be 1 between equal rows, as the linear one."""
    y, proba = draw_vectors(rng, n, n_classes)
    root = rng.normal(size=(n_classes, 2))  # a singular label kernel
    for label_kernel, bandwidth in ((None, 1.0), (root @ root.T, 0.1)):
        matrix = np.eye(n_classes) if label_kernel is None else label_kernel
        terms = expect_directly(y, proba, y, proba, matrix)
        terms *= evaluate_directly(kernel, bandwidth, proba, proba)
        for weights in (None, rng.choice([0.0, 0.5, 1.0, 3.0], n)):
            options = {"sample_weight": weights, "bandwidth": bandwidth, "unbiased": unbiased}
            options |= {"labels": range(n_classes), "label_kernel": label_kernel}
            counts = np.ones(n) if weights is None else weights
            expected = estimate_directly(terms, counts, unbiased)
            own = partial(evaluate_directly, kernel, bandwidth)
            for function in (own,) if kernel == "linear" else (kernel, own):
                value = squared_kernel_calibration_error(y, proba, kernel=function, **options)
                assert value == pytest.approx(expected, abs=1e-13)


def test_kernels_may_work_in_place_on_what_they_get(rng):
    y, proba = draw_vectors(rng, 20, 3)
    before = proba.copy()

    def kernel(left, right):
        left *= 2
        return np.ones((len(left), len(right)))

    squared_kernel_calibration_error(y, proba, labels=[0, 1, 2], kernel=kernel)
    np.testing.assert_array_equal(proba, before)


def test_label_kernel_follows_the_columns(rng):
    y, proba = draw_vectors(rng, 100, 3)
    root, order = rng.normal(size=(3, 3)), [2, 0, 1]
    label_kernel = root @ root.T
    expected = squared_kernel_calibration_error(y, proba, label_kernel=label_kernel)
    value = squared_kernel_calibration_error(
        np.array(["a", "b", "c"])[y],
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
    root = rng.normal(size=(n_classes, n_classes))
    for kernel, label_kernel in (("total_variation", root @ root.T), ("gaussian", None)):
        options = {"kernel": kernel, "unbiased": unbiased, "label_kernel": label_kernel}
        value = squared_kernel_calibration_error(soft, proba, **options)
        labels, rows = np.tile(np.arange(n_classes), 60), np.repeat(proba, n_classes, axis=0)
        shared = squared_kernel_calibration_error(
            labels, rows, sample_weight=soft.ravel(), **options
        )
        assert value == pytest.approx(shared, abs=1e-13)
    # In expectation a model that predicts the soft labels themselves is calibrated.
    assert 0 <= squared_kernel_calibration_error(soft, soft, unbiased=False) < 1e-30


@pytest.mark.parametrize("unbiased", [True, False])
def test_columns_that_miss_a_sum_of_1_share_the_difference(rng, unbiased):
    """The sorted sum of two classes reads rounded columns as the sum over pairs does."""
    v, y, noise = rng.uniform(0.1, 0.9, 300), rng.integers(0, 2, 300), rng.uniform(-1, 1, (300, 2))
    both = np.column_stack([1 - v, v]) + 4e-4 * noise
    soft = np.column_stack([1 - v, v]) + 4e-4  # labels that miss it too
    options = {"unbiased": unbiased}
    for target, column in ((y, y), (soft, v)):
        value = squared_kernel_calibration_error(target, both, **options)
        shared = (both[:, 1] + 1 - both[:, 0]) / 2
        expected = squared_kernel_calibration_error(column, shared, **options)
        assert value == pytest.approx(expected, abs=1e-14)
    general = squared_kernel_calibration_error(
        y, both, kernel=lambda a, b: laplacian_kernel(a, b, gamma=0.5), **options
    )
    value = squared_kernel_calibration_error(y, both, **options)
    assert value == pytest.approx(general, abs=1e-6)


@every_kernel
def test_biased_estimates_are_not_negative(kernel):
    """Outcomes that fit their predictions exactly, where sums only round to 0."""
    y, proba = np.repeat([0, 1, 2], [1, 2, 7]), np.repeat([[0.1, 0.2, 0.7]], 10, axis=0)
    value = squared_kernel_calibration_error(y, proba, kernel=kernel, unbiased=False)
    assert 0 <= value < 1e-30


def test_single_row_says_nothing_about_the_error():
    assert squared_kernel_calibration_error([1], [0.3]) == 0
    biased = squared_kernel_calibration_error([1], [0.3], unbiased=False)
    assert biased == pytest.approx(2 * 0.7**2)
    # Weights that sum to 1.0000000000000002: what is divided by W - 1 was of the order of 1e15.
    rng = np.random.default_rng(0)
    for n in range(40, 60):
        y, proba = draw_vectors(rng, n, 3)
        weight = rng.random(n)
        weight /= weight.sum()
        for rows in ((y, proba), (y == 1, proba[:, 1])):
            assert abs(squared_kernel_calibration_error(*rows, sample_weight=weight)) <= 2


# ----------------------------------------------------------------------------------- blocks


@every_kernel
@both_estimates
def test_tiles_and_jobs_do_not_change_the_answer(rng, monkeypatch, kernel, unbiased):
    y, proba = draw_vectors(rng, 600, 3)
    options = {"kernel": kernel, "unbiased": unbiased, "sample_weight": rng.random(600)}
    with parallel_config(n_jobs=2, prefer="threads"):
        values = [squared_kernel_calibration_error(y, proba, **options)]
    for tile in (50, 5000):
        monkeypatch.setattr(_kernel_blocks, "TILE", tile)
        values.append(squared_kernel_calibration_error(y, proba, **options))
    np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-12)


@both_estimates
@pytest.mark.parametrize(
    ("n_classes", "size"), [(2, 2), (2, 60), (2, 150), (3, 7), (3, 150), (3, 520), (3, 1100)]
)
def test_blocks_are_averaged(rng, unbiased, n_classes, size):
    y, proba = draw_vectors(rng, 1100, n_classes)
    options = {"labels": range(n_classes), "unbiased": unbiased}
    blocks = [slice(start, start + size) for start in range(0, 1100 - size + 1, size)]
    expected = np.mean(
        [squared_kernel_calibration_error(y[b], proba[b], **options) for b in blocks]
    )
    for block_size in (np.int64(size), lambda n: n * size // 1100):
        value = squared_kernel_calibration_error(y, proba, block_size=block_size, **options)
        assert value == pytest.approx(expected, abs=1e-13)


@both_estimates
@pytest.mark.parametrize(("n_classes", "size"), [(2, 200), (3, 3)])
def test_weight_is_repetition_in_blocks(rng, unbiased, n_classes, size):
    y, proba = draw_vectors(rng, 400, n_classes)
    options = {"labels": range(n_classes), "unbiased": unbiased, "block_size": size}
    # Weights that are no integers: a half and a half are one.
    halves = np.repeat(np.arange(400), 2)
    weights = rng.integers(0, 5, 400)
    for rows, counts, repeated in (
        (np.arange(400), weights, np.repeat(np.arange(400), weights)),
        (halves, np.full(800, 0.5), np.arange(400)),
    ):
        value = squared_kernel_calibration_error(
            y[rows], proba[rows], sample_weight=counts, **options
        )
        expected = squared_kernel_calibration_error(y[repeated], proba[repeated], **options)
        assert value == pytest.approx(expected, abs=1e-12)


def test_weights_that_do_not_add_up_exactly(rng):
    rows, options = draw_vectors(rng, 10, 3), {"unbiased": False}
    weights = np.full(10, 0.1)  # one block of 1, though they sum to 0.9999999999999999
    value = squared_kernel_calibration_error(*rows, sample_weight=weights, block_size=1, **options)
    assert value == pytest.approx(squared_kernel_calibration_error(*rows, **options), abs=1e-12)


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
    y, proba = draw_vectors(rng, 60, n_classes)
    weights = rng.integers(0, 4, 60)
    repeated = [np.repeat(x, weights, axis=0) for x in (y, proba)]
    distances = factor * pdist(repeated[1], metric)
    options = {"kernel": kernel, "labels": range(n_classes)}
    value = squared_kernel_calibration_error(
        y, proba, sample_weight=weights, bandwidth="median", **options
    )
    median = np.median(distances[distances > 0])
    expected = squared_kernel_calibration_error(*repeated, bandwidth=median, **options)
    assert value == pytest.approx(expected, abs=1e-13)


def test_median_bandwidth_where_there_is_none(rng):
    y, equal = [0, 1, 2, 2], np.full((4, 3), [0.2, 0.3, 0.5])
    value = squared_kernel_calibration_error(y, equal, bandwidth="median")
    assert value == squared_kernel_calibration_error(y, equal)
    kernel = {"kernel": lambda a, b: a @ b.T}  # has no bandwidth
    value = squared_kernel_calibration_error(y, equal, bandwidth="median", **kernel)
    assert value == squared_kernel_calibration_error(y, equal, **kernel)


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
    """From the tests of CalibrationErrors.jl."""
    points = {"test_proba": [[1, 0], [0.5, 0.5], [0, 1]], "test_labels": [0, 0, 1]}
    value = calibration_mean_embedding_error(labels, np.eye(2), kernel="gaussian", **points)
    assert value == pytest.approx(expected, abs=1e-15)


@every_kernel
def test_mean_embedding_agrees_with_the_definition(rng, monkeypatch, kernel):
    y, proba = draw_vectors(rng, 50, 3)
    test_proba, test_labels = rng.dirichlet(np.ones(3), 7), rng.integers(0, 3, 7)
    root = rng.normal(size=(3, 3))
    for label_kernel, weights in ((None, None), (root @ root.T, rng.integers(0, 3, 50))):
        matrix = np.eye(3) if label_kernel is None else label_kernel
        terms = evaluate_directly(kernel, 0.4, test_proba, proba)
        terms *= matrix[np.ix_(test_labels, y)] - matrix[test_labels] @ proba.T
        expected = np.mean(np.average(terms, axis=1, weights=weights) ** 2)
        options = {"kernel": kernel, "bandwidth": 0.4, "label_kernel": label_kernel}
        for chunk in (1 << 18, 60):
            monkeypatch.setattr(_test_points, "_CHUNK", chunk)
            for outcomes, points in (
                (y, test_labels),
                (np.eye(3)[y], np.eye(3)[test_labels]),
                (np.eye(3)[y], test_labels),
            ):
                value = calibration_mean_embedding_error(
                    outcomes,
                    proba,
                    test_proba=test_proba,
                    test_labels=points,
                    sample_weight=weights,
                    **options,
                )
                assert value == pytest.approx(expected, abs=1e-14)


def test_mean_embedding_of_names_and_layouts(rng):
    y, both = draw_vectors(rng, 60, 2)
    points = rng.dirichlet([1, 1], 4)
    options = {"test_proba": points, "test_labels": [1, 1, 1, 1]}
    expected = calibration_mean_embedding_error(y, both, **options)
    text, options["test_labels"] = np.array(["no", "yes"])[y], ["yes"] * 4
    assert calibration_mean_embedding_error(text, both, **options) == expected
    options["test_proba"] = points[:, 1]
    value = calibration_mean_embedding_error(text, both[:, 1], pos_label="yes", **options)
    assert value == pytest.approx(expected, abs=1e-15)
    # The median is that of the rows, not of the test points.
    median = np.median(pdist(both, "cityblock")[pdist(both) > 0]) / 2
    options["test_proba"] = points
    values = [
        calibration_mean_embedding_error(text, both, bandwidth=bandwidth, **options)
        for bandwidth in ("median", median)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-14)
