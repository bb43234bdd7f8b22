"""SKCE and UCME: published unit values, the definition summed directly, and blocks of rows."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from skcal._estimates import _test_points
from skcal.metrics import kernel_mean_embedding_error, squared_kernel_calibration_error

KERNELS = {
    "total_variation": lambda a, b, s=1.0: np.exp(-cdist(a, b, "cityblock") / 2 / s),
    "euclidean": lambda a, b, s=1.0: np.exp(-cdist(a, b) / s),
    "gaussian": lambda a, b, s=1.0: np.exp(-cdist(a, b, "sqeuclidean") / 2 / s**2),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
both_estimates = pytest.mark.parametrize("unbiased", [True, False])


def draw_vectors(rng, n, n_classes):
    """Predictions, some of them equal or certain, and labels that they do not fit."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    proba[: n // 5] = np.eye(n_classes)[rng.integers(0, n_classes, n // 5)]
    proba[n // 5 : n // 3] = 1 / n_classes
    below = rng.random((n, 1)) > np.cumsum(0.5 * proba + 0.5 / n_classes, axis=1)
    return np.minimum(below.sum(axis=1), n_classes - 1), proba


@pytest.mark.parametrize(
    ("labels", "mean", "square", "embedded"),
    [
        ([0, 1], 0, 0, 0),
        ([0, 0], 0, 0.5, (np.exp(-2) + np.exp(-0.5) + 1) / 12),
        ([1, 0], -2 / np.e, 1 - 1 / np.e, (1 - np.exp(-1)) ** 2 / 6),
    ],
)
def test_unit_values(labels, mean, square, embedded):
    """From the tests of CalibrationErrors.jl."""
    rows, options = (labels, np.eye(2)), {"kernel": "gaussian"}
    value = squared_kernel_calibration_error(*rows, **options)
    assert value == pytest.approx(mean, abs=1e-15)
    value = squared_kernel_calibration_error(*rows, unbiased=False, **options)
    assert value == pytest.approx(square, abs=1e-15)
    points = {"test_proba": [[1, 0], [0.5, 0.5], [0, 1]], "test_labels": [0, 0, 1]}
    value = kernel_mean_embedding_error(*rows, **options, **points)
    assert value == pytest.approx(embedded, abs=1e-15)


@pytest.mark.parametrize("kernel", [*KERNELS, "linear"])
@pytest.mark.parametrize(("n_classes", "n"), [(2, 80), (5, 80), (4, 700)])
def test_agrees_with_the_definition(rng, kernel, n_classes, n):
    """The user's own kernels need not be 1 between equal rows, as the linear one."""
    y, proba = draw_vectors(rng, n, n_classes)
    root, residual = rng.normal(size=(n_classes, 2)), np.eye(n_classes)[y] - proba
    for label_kernel, s in ((None, 1.0), (root @ root.T, 0.1)):  # a singular label kernel
        own = (lambda a, b: a @ b.T) if kernel == "linear" else partial(KERNELS[kernel], s=s)
        matrix = np.eye(n_classes) if label_kernel is None else label_kernel
        terms = residual @ matrix @ residual.T * own(proba, proba)
        options = {"labels": range(n_classes), "label_kernel": label_kernel, "bandwidth": s}
        for weights in (np.ones(n), rng.choice([0.0, 0.5, 1.0, 3.0], n)):
            total, mass = weights @ terms @ weights, weights.sum()
            mean = (total - weights @ terms.diagonal()) / (mass * (mass - 1))
            for unbiased, expected in ((True, mean), (False, total / mass**2)):
                options |= {"sample_weight": weights, "unbiased": unbiased}
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
    matrix, names = root @ root.T, np.array(["a", "b", "c"])
    expected = squared_kernel_calibration_error(y, proba, label_kernel=matrix)
    options = {"labels": names[order], "label_kernel": matrix[np.ix_(order, order)]}
    value = squared_kernel_calibration_error(names[y], proba[:, order], **options)
    assert value == pytest.approx(expected, abs=1e-14)


@both_estimates
def test_columns_that_miss_a_sum_of_1_share_the_difference(rng, unbiased):
    """The sorted sum of two classes reads rounded columns as the sum over pairs does."""
    v, y, noise = rng.uniform(0.1, 0.9, 300), rng.integers(0, 2, 300), rng.uniform(-1, 1, (300, 2))
    exact = np.column_stack([1 - v, v])
    both, soft = exact + 4e-4 * noise, exact + 4e-4  # labels that miss it too
    for target, column in ((y, y), (soft, v)):
        value = squared_kernel_calibration_error(target, both, unbiased=unbiased)
        shared = (both[:, 1] + 1 - both[:, 0]) / 2
        expected = squared_kernel_calibration_error(column, shared, unbiased=unbiased)
        assert value == pytest.approx(expected, abs=1e-14)
    options = {"kernel": KERNELS["total_variation"], "unbiased": unbiased}
    value = squared_kernel_calibration_error(y, both, unbiased=unbiased)
    assert value == pytest.approx(squared_kernel_calibration_error(y, both, **options), abs=1e-6)


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_biased_estimates_are_not_negative(rng, kernel, n_classes):
    """Outcomes that fit their predictions exactly, where sums only round to 0."""
    soft = rng.dirichlet(np.ones(n_classes), 60)
    hard = np.repeat([0, 1, 2], [1, 2, 7]), np.repeat([[0.1, 0.2, 0.7]], 10, axis=0)
    for y, proba in ((soft, soft), hard):
        value = squared_kernel_calibration_error(y, proba, kernel=kernel, unbiased=False)
        assert 0 <= value < 1e-30


def test_single_row_says_nothing_about_the_error(rng):
    assert squared_kernel_calibration_error([1], [0.3]) == 0
    biased = squared_kernel_calibration_error([1], [0.3], unbiased=False)
    assert biased == pytest.approx(2 * 0.7**2)
    # Weights that sum to 1.0000000000000002: what is divided by W - 1 was of the order of 1e15.
    for n in range(40, 60):
        y, proba = draw_vectors(rng, n, 3)
        weight = rng.random(n)
        weight /= weight.sum()
        for rows in ((y, proba), (y == 1, proba[:, 1])):
            assert abs(squared_kernel_calibration_error(*rows, sample_weight=weight)) <= 2


@both_estimates
@pytest.mark.parametrize(
    ("n_classes", "size"),
    [
        pytest.param(2, 2, marks=pytest.mark.slow),
        (2, 60),
        (2, 150),
        (3, 7),
        (3, 150),
        (3, 520),
        (3, 1100),
    ],
)
def test_blocks_are_averaged(rng, unbiased, n_classes, size):
    y, proba = draw_vectors(rng, 1100, n_classes)
    options = {"labels": range(n_classes), "unbiased": unbiased}
    blocks = [slice(start, start + size) for start in range(0, 1100 - size + 1, size)]
    values = [squared_kernel_calibration_error(y[b], proba[b], **options) for b in blocks]
    for block_size in (np.int64(size), lambda n: n * size // 1100):
        value = squared_kernel_calibration_error(y, proba, block_size=block_size, **options)
        assert value == pytest.approx(np.mean(values), abs=1e-13)


@both_estimates
@pytest.mark.parametrize(("n_classes", "size"), [(2, 200), (3, 3)])
def test_weight_is_repetition_in_blocks(rng, unbiased, n_classes, size):
    y, proba = draw_vectors(rng, 400, n_classes)
    options = {"labels": range(n_classes), "unbiased": unbiased, "block_size": size}
    counts = rng.integers(0, 5, 400)
    for rows, weights, repeated in (
        (np.arange(400), counts, np.repeat(np.arange(400), counts)),
        (np.repeat(np.arange(400), 2), np.full(800, 0.5), np.arange(400)),  # two halves are one
    ):
        found = squared_kernel_calibration_error(
            y[rows], proba[rows], sample_weight=weights, **options
        )
        expected = squared_kernel_calibration_error(y[repeated], proba[repeated], **options)
        assert found == pytest.approx(expected, abs=1e-12)


def test_weights_that_do_not_add_up_exactly(rng):
    rows, options = draw_vectors(rng, 10, 3), {"unbiased": False}
    weights = np.full(10, 0.1)  # one block of 1, though they sum to 0.9999999999999999
    value = squared_kernel_calibration_error(*rows, sample_weight=weights, block_size=1, **options)
    assert value == pytest.approx(squared_kernel_calibration_error(*rows, **options), abs=1e-12)


def test_median_bandwidth(rng):
    y, proba = draw_vectors(rng, 60, 4)
    weights, options = rng.integers(0, 4, 60), {"kernel": "gaussian", "labels": range(4)}
    repeated = [np.repeat(x, weights, axis=0) for x in (y, proba)]
    distances = pdist(repeated[1])
    median = np.median(distances[distances > 0])
    expected = squared_kernel_calibration_error(*repeated, bandwidth=median, **options)
    options |= {"sample_weight": weights, "bandwidth": "median"}
    value = squared_kernel_calibration_error(y, proba, **options)
    assert value == pytest.approx(expected, abs=1e-13)
    # Where there is none it is 1.
    y, equal = [0, 1, 2, 2], np.full((4, 3), [0.2, 0.3, 0.5])
    for options in ({}, {"kernel": lambda a, b: a @ b.T}):  # has no bandwidth
        value = squared_kernel_calibration_error(y, equal, bandwidth="median", **options)
        assert value == squared_kernel_calibration_error(y, equal, **options)


@every_kernel
@pytest.mark.parametrize("chunk", [1 << 18, 60])
def test_mean_embedding_agrees_with_the_definition(rng, monkeypatch, kernel, chunk):
    monkeypatch.setattr(_test_points, "_CHUNK", chunk)
    (y, proba), one_hot = draw_vectors(rng, 50, 3), np.eye(3)
    points, at, root = rng.dirichlet(np.ones(3), 7), rng.integers(0, 3, 7), rng.normal(size=(3, 3))
    for label_kernel, weights in ((None, None), (root @ root.T, rng.integers(0, 3, 50))):
        matrix = np.eye(3) if label_kernel is None else label_kernel
        terms = KERNELS[kernel](points, proba, 0.4) * (matrix[at] @ (one_hot[y] - proba).T)
        expected = np.mean(np.average(terms, axis=1, weights=weights) ** 2)
        options = {"kernel": kernel, "bandwidth": 0.4, "label_kernel": label_kernel}
        options |= {"test_proba": points, "sample_weight": weights}
        for labels, at_points in ((y, at), (one_hot[y], one_hot[at]), (one_hot[y], at)):
            value = kernel_mean_embedding_error(labels, proba, test_labels=at_points, **options)
            assert value == pytest.approx(expected, abs=1e-14)


def test_mean_embedding_of_names_and_layouts(rng):
    y, both = draw_vectors(rng, 60, 2)
    points = rng.dirichlet([1, 1], 4)
    given = {"test_proba": points, "test_labels": [1, 1, 1, 1]}
    expected = kernel_mean_embedding_error(y, both, **given)
    text, given["test_labels"] = np.array(["no", "yes"])[y], ["yes"] * 4
    assert kernel_mean_embedding_error(text, both, **given) == expected
    column = given | {"test_proba": points[:, 1], "pos_label": "yes"}
    value = kernel_mean_embedding_error(text, both[:, 1], **column)
    assert value == pytest.approx(expected, abs=1e-15)
    # The median is that of the rows, not of the test points.
    median = np.median(pdist(both, "cityblock")[pdist(both) > 0]) / 2
    value = kernel_mean_embedding_error(text, both, bandwidth="median", **given)
    expected = kernel_mean_embedding_error(text, both, bandwidth=median, **given)
    assert value == pytest.approx(expected, abs=1e-14)
