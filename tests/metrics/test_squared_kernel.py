"""SKCE and UCME: published unit values, the definition summed directly, and the laws of weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import laplacian_kernel

from skcal.metrics._squared_kernel import (
    squared_kernel_calibration_error,
)

every_kernel = pytest.mark.parametrize("kernel", ["total_variation", "euclidean", "gaussian"])
every_estimator = pytest.mark.parametrize("estimator", ["unbiased", "biased"])


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


def estimate_directly(terms, weights, estimator):
    total = weights @ terms @ weights
    mass = weights.sum()
    if estimator == "biased":
        return total / mass**2
    return (total - weights @ terms.diagonal()) / (mass * (mass - 1))


# ------------------------------------------------------------------------------ SKCE: values


@pytest.mark.parametrize(
    ("labels", "unbiased", "biased"),
    [([0, 1], 0, 0), ([0, 0], 0, 0.5), ([1, 0], -2 / np.e, 1 - 1 / np.e)],
)
def test_unit_values(labels, unbiased, biased):
    """DEFINITIONS.md, section 10, from the tests of CalibrationErrors.jl."""
    for estimator, expected in (("unbiased", unbiased), ("biased", biased)):
        value = squared_kernel_calibration_error(
            labels, np.eye(2), kernel="gaussian", estimator=estimator
        )
        assert type(value) is float
        assert value == pytest.approx(expected, abs=1e-15)


def test_real_predictions(shared_data):
    """DEFINITIONS.md and the issue, to the digits shown there."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz", nrows=2000)
    y, proba = table.pop("y_true"), table
    assert squared_kernel_calibration_error(y, proba) == pytest.approx(1.807003e-4, abs=5e-11)
    biased = squared_kernel_calibration_error(y, proba, estimator="biased")
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
        estimator="biased",
    )
    assert value == pytest.approx(2 * 0.0028022955, abs=1e-9)


@every_kernel
@every_estimator
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_agrees_with_the_definition(rng, kernel, estimator, n_classes):
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
                    estimator=estimator,
                    label_kernel=label_kernel,
                )
                counts = np.ones(40) if weights is None else weights
                expected = estimate_directly(terms, counts, estimator)
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
    linear = squared_kernel_calibration_error(
        y, proba, kernel=lambda a, b: a @ b.T, estimator="biased"
    )
    residual = np.eye(4)[y] - proba
    direct = np.linalg.norm(np.einsum("ij,ik->jk", residual, proba) / 700) ** 2
    assert linear == pytest.approx(direct, abs=1e-14)
    unbiased = squared_kernel_calibration_error(y, proba, kernel=lambda a, b: a @ b.T)
    own = (residual**2).sum(axis=1) @ (proba**2).sum(axis=1)
    assert unbiased == pytest.approx((direct * 700**2 - own) / (700 * 699), abs=1e-14)


# ---------------------------------------------------------- SKCE: one answer by all routes


@pytest.mark.parametrize("kernel", ["total_variation", "euclidean"])
@every_estimator
@pytest.mark.parametrize("n", [2, 130, 1500])
def test_sorted_binary_sum_equals_the_sum_over_pairs(rng, kernel, estimator, n):
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
                "estimator": estimator,
                "label_kernel": root @ root.T,
            }
            target = rng.dirichlet([1, 1], n) if soft else y
            options |= {} if soft else {"labels": [0, 1]}
            value = squared_kernel_calibration_error(
                target, proba, kernel=kernel, bandwidth=0.2, **options
            )
            general = squared_kernel_calibration_error(target, proba, kernel=evaluate, **options)
            assert value == pytest.approx(general, abs=1e-12)


def test_columns_that_miss_a_sum_of_1_share_the_difference(rng):
    v = rng.uniform(0.1, 0.9, 30)
    both = np.column_stack([1 - v, v]) + 4e-4 * rng.uniform(-1, 1, (30, 2))
    y = rng.integers(0, 2, 30)
    shared = (both[:, 1] + 1 - both[:, 0]) / 2
    for estimator in ("unbiased", "biased"):
        value = squared_kernel_calibration_error(y, both, estimator=estimator)
        expected = squared_kernel_calibration_error(y, shared, estimator=estimator)
        assert value == pytest.approx(expected, abs=1e-14)
