"""Kernel tests of calibration: their definitions, extremes, test points, and input."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from skcal._estimates._class_kernels import ClassKernel
from skcal._numerics.inference._kernel_tests import (
    compare_degenerate,
    find_chi_squared,
    sum_resampled_pairs,
)
from skcal.inference import (
    _kernel_tests,
    kernel_mean_embedding_test,
    squared_kernel_calibration_test,
)
from skcal.metrics import kernel_mean_embedding_error, squared_kernel_calibration_error
from tests.inference.samples import draw_classes


def gaussian(left, right):
    return np.exp(-((left[:, None] - right) ** 2).sum(axis=2))


@pytest.mark.parametrize("shrink", [0.0, 1.0])
@pytest.mark.parametrize("unbiased", [True, False])
def test_distribution_free_bounds(rng, shrink, unbiased):
    """Hoeffding's and McDiarmid's bounds of Widmann, Lindsten, Zachariah (2019), with B = 2."""
    n = 401
    y, proba = draw_classes(rng, n, 3, shrink)
    options = {"method": "distribution-free", "unbiased": unbiased}
    result = squared_kernel_calibration_test(y, proba, **options)
    estimate = squared_kernel_calibration_error(y, proba, unbiased=unbiased)
    assert result.statistic == result.estimate == pytest.approx(estimate, abs=1e-15)
    if unbiased:
        expected = np.exp(-200 * max(estimate, 0) ** 2 / 8)
    else:
        expected = np.exp(-(max(0, np.sqrt(n * estimate / 2) - 1) ** 2) / 2)
    assert result.pvalue == pytest.approx(expected, rel=1e-12)
    assert result.null_mean is None


def test_bound_follows_the_kernels(rng):
    """B = sup k times the largest |e_a - e_b|^2 in the label kernel bounds every term."""
    y, proba = draw_classes(rng, 100, 3, 1.0)
    options = {"method": "distribution-free", "unbiased": False, "kernel_bound": 5}
    options |= {"kernel": lambda a, b: 5 * gaussian(a, b), "label_kernel": 1.5 * np.eye(3) - 0.5}
    result = squared_kernel_calibration_test(y, proba, **options)
    root = np.sqrt(100 * result.estimate / (5 * 3))
    assert result.pvalue == pytest.approx(np.exp(-(max(0, root - 1) ** 2) / 2), rel=1e-12)
    assert result.pvalue < 1
    with pytest.raises(ValueError, match=r"kernel_bound must be given .* callable kernel"):
        squared_kernel_calibration_test(y, proba, **options | {"kernel_bound": None})


def test_negative_estimates_are_no_evidence():
    options = {"method": "distribution-free"}
    result = squared_kernel_calibration_test([0, 1], [0.6, 0.4], **options)
    assert result.estimate < 0
    assert result.pvalue == 1
    # A biased estimate that rounding makes negative.
    options |= {"unbiased": False, "kernel": gaussian, "kernel_bound": 1.0}
    assert (
        squared_kernel_calibration_test([0, 0, 1, 1, 1, 1, 1], [5 / 7] * 7, **options).pvalue == 1
    )


@pytest.mark.parametrize("block_size", [2, 5, lambda n: n // 20])
def test_block_test_standardizes_the_mean_of_blocks(rng, block_size):
    y, proba = draw_classes(rng, 203, 3, 0.3)
    result = squared_kernel_calibration_test(y, proba, method="block", block_size=block_size)
    size = block_size(203) if callable(block_size) else block_size
    blocks = [slice(start, start + size) for start in range(0, 203 - size + 1, size)]
    values = [squared_kernel_calibration_error(y[b], proba[b], labels=range(3)) for b in blocks]
    z = np.mean(values) / (np.std(values, ddof=1) / np.sqrt(len(values)))
    assert result.statistic == pytest.approx(z, rel=1e-12)
    assert result.pvalue == pytest.approx(norm.sf(z), rel=1e-10)
    assert result.estimate == pytest.approx(np.mean(values), abs=1e-15)


def test_bootstrap_agrees_with_its_definition(rng, monkeypatch):
    """From the full matrix of terms, for the same counts."""
    y, proba = draw_classes(rng, 60, 3, 0.4)
    residual = np.eye(3)[y] - proba
    distance = np.abs(proba[:, None] - proba).sum(axis=2) / 2
    h = np.exp(-distance / 0.3) * (residual @ residual.T)
    counts = rng.multinomial(60, np.full(60, 1 / 60), size=99).T
    pairs, sums, own = sum_resampled_pairs(h, counts, counts), h.sum(axis=0), h.diagonal()
    expected = compare_degenerate(sums, own, pairs, own @ counts, sums @ counts)
    statistic, resampled, estimate, null_mean = expected
    monkeypatch.setattr(_kernel_tests, "draw_counts", lambda *args: iter(counts.T))
    for tile in (7, 512):
        monkeypatch.setattr(_kernel_tests, "TILE", tile)
        result = squared_kernel_calibration_test(y, proba, bandwidth=0.3, n_resamples=99)
        assert (result.statistic, result.estimate, result.null_mean) == pytest.approx(
            (statistic, estimate, null_mean), abs=1e-14
        )
        assert result.pvalue == (1 + np.sum(resampled >= statistic)) / 100
    assert 0.01 < result.pvalue < 1  # both sides of the count are tried


@pytest.mark.parametrize("kernel", ["total_variation", "euclidean"])
@pytest.mark.parametrize("label_kernel", [None, [[2.0, 0.5], [0.5, 1.0]]])
@pytest.mark.parametrize("bandwidth", [1.0, 0.01])
def test_two_classes_without_pairs(rng, kernel, label_kernel, bandwidth):
    """The same as from all pairs, which a callable kernel takes, with ties, 0 and 1."""
    proba = np.round(rng.random(80), 2)
    proba[:4] = 0.0, 1.0, 0.5, 0.5
    y, norm = (rng.random(80) < proba).astype(int), {"total_variation": 1, "euclidean": 2}[kernel]

    def by_pairs(left, right):
        size = np.linalg.norm(left[:, None] - right, ord=norm, axis=2)
        return np.exp(-size / (2 if norm == 1 else 1) / bandwidth)

    options = {"label_kernel": label_kernel, "n_resamples": 99}
    found, expected = (
        squared_kernel_calibration_test(y, proba, random_state=0, **options, **one)
        for one in ({"kernel": kernel, "bandwidth": bandwidth}, {"kernel": by_pairs})
    )
    assert found.pvalue == expected.pvalue
    values = [(one.statistic, one.estimate, one.null_mean) for one in (found, expected)]
    assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-15)


def test_two_classes_take_no_pairs(rng, monkeypatch):
    """Many rows have too many; `progress` and `n_jobs` count resamples."""
    monkeypatch.setattr(_kernel_tests, "_sum_strip", None)
    proba, seen = rng.random(20_000), []
    y = (rng.random(20_000) < proba**1.2).astype(int)
    options = {"n_resamples": 49, "random_state": 0, "progress": lambda x: seen.append(len(x)) or x}
    results = [
        squared_kernel_calibration_test(y, proba, n_jobs=n_jobs, **options) for n_jobs in (None, 2)
    ]
    assert results[0] == results[1]
    assert results[0].pvalue == 0.02
    assert seen == [49, 49]


@pytest.mark.parametrize(
    "label_kernel", [None, [[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]]]
)
def test_expected_squares_over_all_labels(rng, label_kernel):
    matrix = None if label_kernel is None else np.array(label_kernel)
    kernel = ClassKernel("total_variation", 1.0, matrix)
    proba, others = rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(3), 5)
    found = kernel.expect_squares(proba, others)
    inner = np.eye(3) if matrix is None else matrix
    for i, j in np.ndindex(4, 5):
        expected = sum(
            proba[i, a] * others[j, b]
            * ((np.eye(3)[a] - proba[i]) @ inner @ (np.eye(3)[b] - others[j])) ** 2
            for a, b in np.ndindex(3, 3)
        )  # fmt: skip
        assert found[i, j] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n_rows", [50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", ["constant", "uniform", "nearly certain"])
def test_calibrated_rare_events_are_not_rejected(n_rows, law):
    """A sample without a single event is the most likely one of 50 rows."""
    rejected, options = 0, {"n_resamples": 99, "labels": [0, 1], "pos_label": 1}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        v = np.full(n_rows, 0.01) if law == "constant" else 0.02 * rng.random(n_rows)
        v = 1 - v if law == "nearly certain" else v
        y = (rng.random(n_rows) < v).astype(int)
        rejected += (
            squared_kernel_calibration_test(y, v, random_state=seed, **options).pvalue <= 0.05
        )
    assert rejected <= binom(60, 0.05).ppf(0.999)


def test_bootstrap_counts_are_multinomial(rng):
    counts = np.stack(list(_kernel_tests.draw_counts(50, 2000, rng)), axis=1)
    assert (counts.sum(axis=0) == 50).all()
    # Mean 1 and variance 1 - 1/50, within four standard errors of 100 000 numbers.
    assert abs(counts.var() - 0.98) < 4 * np.sqrt(2 / 100_000) * 1.2
    assert np.abs(counts.mean(axis=1) - 1).max() < 5 / np.sqrt(2000)


def test_mean_embedding_agrees_with_its_definition(rng):
    y, proba = draw_classes(rng, 300, 3, 0.3)
    points = {"test_proba": rng.dirichlet(np.ones(3), 4), "test_labels": [0, 1, 2, 1]}
    result = kernel_mean_embedding_test(y, proba, **points)
    distance = np.abs(proba[:, None] - points["test_proba"]).sum(axis=2) / 2
    features = np.exp(-distance) * (np.eye(3)[y] - proba)[:, points["test_labels"]]
    statistic, pvalue, _ = find_chi_squared(features)
    assert result.statistic == pytest.approx(statistic, rel=1e-10)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-9)
    expected = kernel_mean_embedding_error(y, proba, **points)
    assert result.estimate == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("method", ["bootstrap", "block", "distribution-free"])
def test_certain_predictions(rng, method, unbiased):
    """Always wrong, which bounds need to see, and always right."""
    y = rng.integers(0, 3, 300)
    options = {"method": method, "unbiased": unbiased, "random_state": 0, "n_resamples": 99}
    assert squared_kernel_calibration_test(y, np.eye(3)[(y + 1) % 3], **options).pvalue < 0.05
    result = squared_kernel_calibration_test(y, np.eye(3)[y], **options)
    assert result.statistic == 0
    assert result.pvalue >= 0.5


def test_pvalues_are_never_0(rng):
    y = rng.integers(0, 2, 20_000)
    proba = np.where(y == 1, 0.001, 0.999)
    proba[::7] = 0.5
    assert squared_kernel_calibration_test(y[:300], proba[:300], n_resamples=19).pvalue == 1 / 20
    for method in ("block", "distribution-free"):
        assert squared_kernel_calibration_test(y, proba, method=method).pvalue > 0
    result = kernel_mean_embedding_test(y, proba, test_proba=[0.1, 0.8], test_labels=[1, 1])
    assert 0 < result.pvalue < 1e-20


def test_dependent_test_points(rng):
    y, proba = draw_classes(rng, 50, 2)
    for test_proba, test_labels, rank in (
        ([0.3, 0.3], [1, 1], 1),  # the same point twice
        ([0.3, 0.3], [0, 1], 1),  # the two labels sum up to nothing
        ([0.3, 0.6, 0.6], [1, 0, 1], 2),
    ):
        with pytest.raises(ValueError, match=rf"linearly independent; their rank is {rank}"):
            kernel_mean_embedding_test(
                y, proba[:, 1], test_proba=test_proba, test_labels=test_labels
            )
    y, proba = draw_classes(rng, 50)
    points = {"test_proba": [[0.2, 0.3, 0.5]] * 3, "test_labels": [0, 1, 2], "bandwidth": 0.1}
    for decimals, dtype in product((4, 16), (np.float32, np.float64)):
        # The labels of one prediction sum up to nothing where rows are rounded, too.
        with pytest.raises(ValueError, match="linearly independent; their rank is 2"):
            kernel_mean_embedding_test(y, proba.round(decimals).astype(dtype), **points)


def test_points_of_a_wide_kernel_are_independent():
    """Ten random points: their functions of a prediction differ in slopes and kinks."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (y, proba), points = draw_classes(rng, 500, 2), rng.dirichlet([1, 1], 10)
        options = {"test_proba": points, "test_labels": [1] * 10, "kernel": "euclidean"}
        wide = kernel_mean_embedding_test(y, proba, bandwidth=10, **options)
        # For the bandwidth of each a rank of 10, and nearly the same space of functions.
        narrow = kernel_mean_embedding_test(y, proba, bandwidth=1, **options)
        assert wide.pvalue == pytest.approx(narrow.pvalue, abs=0.1)


FREE = {"method": "distribution-free"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "boot"}, r"method must be one of .* Did you mean 'bootstrap'\?"),
        ({"label_kernel": np.eye(2)}, r"label_kernel must have shape \(3, 3\)"),
        ({"label_kernel": np.ones((3, 3))}, "label_kernel must tell at least two labels apart"),
        ({"label_kernel": np.zeros((3, 3))}, "label_kernel must tell at least two labels apart"),
        ({"method": "block", "block_size": 1}, r"block_size must be at least 2; got 1"),
        ({"method": "block", "block_size": 16}, r"at least two blocks; got 16 for 30 rows"),
        ({"method": "block", "block_size": None}, r"block_size must be an integer or a callable"),
        ({**FREE, "kernel_bound": -1}, r"kernel_bound must be at least"),
        ({**FREE, "kernel_bound": 0.9}, r"kernel_bound must be the largest value .* got 0.9, but"),
    ],
)
def test_bad_options(rng, options, message):
    with pytest.raises(ValueError, match=message):
        squared_kernel_calibration_test(*draw_classes(rng, 30), **options)


def test_bad_rows():
    with pytest.raises(ValueError, match=r"y_proba must hold at least 2 rows .*; got 1"):
        squared_kernel_calibration_test([1], [0.2])
    p, q = 0.3, 0.3 * (1 + 8e-16)
    with pytest.raises(ValueError, match=r"blocks with different estimates; all 2 are 0.98"):
        squared_kernel_calibration_test([1] * 4, [p, p, q, q], method="block")
    with pytest.raises(ValueError, match=r"blocks with different estimates; all 5 are 0.5"):
        squared_kernel_calibration_test([1] * 10, [0.5] * 10, method="block")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (([0, 1] * 25, [0.0, 1.0] * 25), {}, "rank is 0"),  # no residual varies
        (([0, 1], [0.2, 0.7]), {}, "y_proba must hold at least 3 rows"),
        (([0, 1, 1], [0.2, 0.7, 0.3]), {"label_kernel": np.ones((2, 2))}, "tell at least two"),
        (([0, 1], [0.2, 0.7]), {"test_proba": [0.3, 1.2]}, r"test_proba must lie in \[0, 1\]; got"),
        (([0.2, 0.7], [0.2, 0.7]), {}, "y_true must hold labels; .* soft labels"),
    ],
)
def test_bad_mean_embedding(rows, options, message):
    points = {"test_proba": [0.3, 0.6], "test_labels": [1, 1]}
    with pytest.raises(ValueError, match=message):
        kernel_mean_embedding_test(*rows, **{**points, **options})
