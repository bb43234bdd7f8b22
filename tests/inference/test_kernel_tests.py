"""Kernel tests of calibration: their definitions, levels, power, and input."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2, f, norm

from skcal.inference import TestResult, _kernel_tests, kernel_calibration_test, mean_embedding_test
from skcal.metrics._squared_kernel import (
    calibration_mean_embedding_error,
    squared_kernel_calibration_error,
)

every_method = pytest.mark.parametrize("method", ["bootstrap", "block", "distribution-free"])


@pytest.fixture
def rng():
    return np.random.default_rng(64)


def draw_sample(rng, n, n_classes, shrink=0.0):
    """Predictions, and labels drawn from them after shrinking towards equal probabilities."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    truth = (1 - shrink) * proba + shrink / n_classes
    labels = (rng.random((n, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    return np.minimum(labels, n_classes - 1), proba


def find_level(test, rng, n_runs, n, n_classes, shrink=0.0):
    """Share of samples with a p-value of at most 5 %."""
    pvalues = [test(*draw_sample(rng, n, n_classes, shrink)).pvalue for _ in range(n_runs)]
    return np.mean(np.array(pvalues) <= 0.05)


def list_terms(y, proba, bandwidth=1.0):
    residual = np.eye(proba.shape[1])[y] - proba
    distance = np.abs(proba[:, None] - proba).sum(axis=2) / 2
    return np.exp(-distance / bandwidth) * (residual @ residual.T)


# ------------------------------------------------------------------------------ definitions


@pytest.mark.parametrize("shrink", [0.0, 1.0])
def test_distribution_free_bounds(rng, shrink):
    """DEFINITIONS.md, section 5, with B = 2."""
    n = 401
    y, proba = draw_sample(rng, n, 3, shrink)
    result = kernel_calibration_test(y, proba, method="distribution-free")
    estimate = squared_kernel_calibration_error(y, proba)
    assert result.statistic == result.estimate == pytest.approx(estimate, abs=1e-15)
    expected = np.exp(-200 * max(estimate, 0) ** 2 / 8)
    assert result.pvalue == pytest.approx(expected, rel=1e-12)
    result = kernel_calibration_test(y, proba, method="distribution-free", estimator="biased")
    estimate = squared_kernel_calibration_error(y, proba, estimator="biased")
    assert result.statistic == result.estimate == pytest.approx(estimate, abs=1e-15)
    expected = np.exp(-(max(0, np.sqrt(n * estimate / 2) - 1) ** 2) / 2)
    assert result.pvalue == pytest.approx(expected, rel=1e-12)


def test_negative_estimates_are_no_evidence(rng):
    y, proba = [0, 1], [0.4, 0.6]
    result = kernel_calibration_test(y, [0.6, 0.4], method="distribution-free")
    assert result.estimate < 0
    assert result.pvalue == 1
    assert kernel_calibration_test(y, proba, method="distribution-free").estimate < 0


def test_bound_follows_the_kernels(rng):
    """B = sup k times the largest |e_a - e_b|^2 in the label kernel bounds every term."""
    y, proba = draw_sample(rng, 100, 3, 1.0)
    label_kernel = np.array([[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]])
    options = {"method": "distribution-free", "estimator": "biased"}
    options["kernel"] = lambda a, b: 5 * np.exp(-((a[:, None] - b) ** 2).sum(axis=2))
    result = kernel_calibration_test(y, proba, label_kernel=label_kernel, kernel_bound=5, **options)
    root = np.sqrt(100 * result.estimate / (5 * 3))
    assert result.pvalue == pytest.approx(np.exp(-(max(0, root - 1) ** 2) / 2), rel=1e-12)
    assert result.pvalue < 1
    with pytest.raises(ValueError, match=r"kernel_bound must be given .* callable kernel"):
        kernel_calibration_test(y, proba, **options)


@pytest.mark.parametrize("block_size", [2, 5, lambda n: n // 20])
def test_block_test_standardizes_the_mean_of_blocks(rng, block_size):
    y, proba = draw_sample(rng, 203, 3, 0.3)
    result = kernel_calibration_test(y, proba, method="block", block_size=block_size)
    size = block_size(203) if callable(block_size) else block_size
    blocks = [slice(start, start + size) for start in range(0, 203 - size + 1, size)]
    values = [squared_kernel_calibration_error(y[b], proba[b], labels=range(3)) for b in blocks]
    z = np.mean(values) / (np.std(values, ddof=1) / np.sqrt(len(values)))
    assert result.statistic == pytest.approx(z, rel=1e-12)
    assert result.pvalue == pytest.approx(norm.sf(z), rel=1e-10)
    assert result.estimate == pytest.approx(
        squared_kernel_calibration_error(y, proba, block_size=block_size), abs=1e-15
    )


def test_bootstrap_agrees_with_its_definition(rng, monkeypatch):
    """DEFINITIONS.md, section 5: both statistics from the full matrix h, for the same counts."""
    n, n_resamples = 60, 99
    y, proba = draw_sample(rng, n, 3, 0.5)
    h = list_terms(y, proba, 0.3)
    unbiased = (h.sum() - h.trace()) / (n * (n - 1))
    statistic = n / (n - 1) * unbiased - h.mean()
    counts = np.empty((n, n_resamples))
    monkeypatch.setattr(
        _kernel_tests,
        "draw_counts",
        lambda *args: counts.astype(np.uint16),
    )
    counts[:] = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).T
    resampled = np.array(
        [
            sum(
                c[i] * (n / (n - 1) * (c[j] - (i == j)) - 2) * h[i, j]
                for i in range(n)
                for j in range(n)
            )
            / n**2
            for c in counts.T
        ]
    )
    for tile in (7, 512):
        monkeypatch.setattr(_kernel_tests, "TILE", tile)
        for n_jobs in (None, 2):
            result = kernel_calibration_test(
                y, proba, bandwidth=0.3, n_resamples=n_resamples, n_jobs=n_jobs
            )
            assert result.statistic == pytest.approx(statistic, abs=1e-14)
            assert result.estimate == pytest.approx(unbiased, abs=1e-14)
            assert result.pvalue == (1 + np.sum(resampled >= statistic)) / 100
    assert 0.01 < result.pvalue < 1  # both sides of the count are tried


def test_bootstrap_counts_are_multinomial(rng):
    counts = _kernel_tests.draw_counts(50, 2000, rng)
    assert (counts.sum(axis=0) == 50).all()
    # Mean 1 and variance 1 - 1/50, within four standard errors of 100 000 numbers.
    assert abs(counts.var() - 0.98) < 4 * np.sqrt(2 / 100_000) * 1.2
    assert np.abs(counts.mean(axis=1) - 1).max() < 5 / np.sqrt(2000)


def test_mean_embedding_agrees_with_its_definition(rng):
    y, proba = draw_sample(rng, 300, 3, 0.3)
    points = {"test_proba": rng.dirichlet(np.ones(3), 4), "test_labels": [0, 1, 2, 1]}
    result = mean_embedding_test(y, proba, **points)
    distance = np.abs(proba[:, None] - points["test_proba"]).sum(axis=2) / 2
    features = np.exp(-distance) * (np.eye(3)[y] - proba)[:, points["test_labels"]]
    mean = features.mean(axis=0)
    statistic = 300 * mean @ np.linalg.solve(np.cov(features.T), mean)
    assert result.statistic == pytest.approx(statistic, rel=1e-10)
    hotelling = f.sf(statistic * (300 - 4) / (4 * (300 - 1)), 4, 300 - 4)
    assert result.pvalue == pytest.approx(hotelling, rel=1e-9)
    # The limit of many rows.
    assert result.pvalue == pytest.approx(chi2.sf(statistic, 4), rel=0.2)
    assert result.estimate == pytest.approx(
        calibration_mean_embedding_error(y, proba, **points), abs=1e-15
    )


# ------------------------------------------------------------------------- level and power

# The standard error of a level of 5 % among 800 samples is 0.8 %.


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "bandwidth"), [(2, 1.0), (3, "median"), (10, 1.0)])
def test_level_of_the_bootstrap(rng, n_classes, bandwidth):
    def test(y, proba):
        return kernel_calibration_test(
            y,
            proba,
            labels=range(n_classes),
            bandwidth=bandwidth,
            n_resamples=199,
            random_state=rng,
        )

    assert 0.03 <= find_level(test, rng, 800, 150, n_classes) <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "block_size"), [(2, 2), (3, 2), (10, 5)])
def test_level_of_blocks(rng, n_classes, block_size):
    def test(y, proba):
        return kernel_calibration_test(
            y, proba, labels=range(n_classes), method="block", block_size=block_size
        )

    assert 0.03 <= find_level(test, rng, 1000, 400, n_classes) <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_level_of_the_mean_embedding(rng, n_classes):
    points = {
        "test_proba": 0.6 * np.eye(n_classes)[:2] + 0.4 / n_classes,
        "test_labels": [n_classes - 1, 0] if n_classes > 2 else [1, 1],
    }

    def test(y, proba):
        return mean_embedding_test(y, proba, labels=range(n_classes), **points)

    assert 0.03 <= find_level(test, rng, 2000, 400, n_classes) <= 0.07


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("n", [2, 20, 100])
def test_bounds_hold_at_every_number_of_rows(rng, estimator, n):
    """A bound of 5 % is never exceeded; four standard errors are left for noise."""

    def test(y, proba):
        return kernel_calibration_test(
            y, proba, labels=range(2), method="distribution-free", estimator=estimator
        )

    assert find_level(test, rng, 500, n, 2) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)


def test_power(rng):
    """Labels that have nothing to do with the predictions are found by every test."""
    points = {"test_proba": 0.6 * np.eye(3) + 0.4 / 3, "test_labels": [0, 1, 2]}
    tests = {
        "bootstrap": lambda y, p: kernel_calibration_test(
            y, p, n_resamples=99, random_state=rng, bandwidth=0.2
        ),
        "block": lambda y, p: kernel_calibration_test(y, p, method="block", block_size=60),
        "embedding": lambda y, p: mean_embedding_test(y, p, **points),
    }
    for name, test in tests.items():
        assert find_level(test, rng, 50, 600, 3, shrink=1.0) > 0.95, name
    # Certain and always wrong: what bounds need to see.
    y = rng.integers(0, 3, 300)
    for estimator in ("unbiased", "biased"):
        result = kernel_calibration_test(
            y, np.eye(3)[(y + 1) % 3], method="distribution-free", estimator=estimator
        )
        assert result.pvalue < 0.05


@every_method
def test_pvalues_are_never_0(rng, method):
    n = 20_000 if method != "bootstrap" else 300
    y = rng.integers(0, 2, n)
    proba = np.where(y == 1, 0.001, 0.999)
    proba[::7] = 0.5
    result = kernel_calibration_test(y, proba, method=method, n_resamples=19)
    assert result.pvalue > 0
    if method == "bootstrap":
        assert result.pvalue == 1 / 20
    result = mean_embedding_test(y, proba, test_proba=[0.1, 0.8], test_labels=[1, 1])
    assert 0 < result.pvalue < 1e-20


# ------------------------------------------------------------------------- seeds and input


@every_method
def test_result_is_a_record_of_floats(rng, method):
    y, proba = draw_sample(rng, 50, 3)
    result = kernel_calibration_test(y, proba, method=method, random_state=0)
    assert isinstance(result, TestResult)
    assert [type(value) for value in result[:3]] == [float, float, float]
    assert result.worst_group is None
    assert result == kernel_calibration_test(y, proba, method=method, random_state=0)


def test_random_state(rng):
    y, proba = draw_sample(rng, 80, 3, 0.3)

    def find_pvalue(random_state):
        return kernel_calibration_test(y, proba, random_state=random_state).pvalue

    assert find_pvalue(3) == find_pvalue(3) == find_pvalue(np.random.RandomState(3))
    assert len({find_pvalue(seed) for seed in range(5)}) > 1
    generator = np.random.default_rng(3)
    assert find_pvalue(generator) == find_pvalue(np.random.default_rng(3))
    assert len({find_pvalue(generator) for _ in range(5)}) > 1
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        find_pvalue("three")


@every_method
def test_layouts_and_names(rng, method):
    y, proba = draw_sample(rng, 90, 2, 0.3)
    both = np.column_stack([1 - proba[:, 1], proba[:, 1]])
    text = np.array(["no", "yes"])[y]
    options = {"method": method, "random_state": 0}
    expected = kernel_calibration_test(y, both[:, 1], **options)
    assert kernel_calibration_test(text, both, **options) == expected
    assert kernel_calibration_test(text, both[:, 1], pos_label="yes", **options) == expected
    value = kernel_calibration_test(text, both[:, ::-1], labels=["yes", "no"], **options)
    assert value.statistic == pytest.approx(expected.statistic, abs=1e-12)


def test_certain_predictions_that_come_true_are_no_evidence():
    y = np.tile([0, 1], 20)
    for method in ("bootstrap", "block", "distribution-free"):
        result = kernel_calibration_test(y, y.astype(float), method=method, random_state=0)
        assert result.statistic == 0
        assert result.pvalue >= 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "boot"}, r"method must be one of .* Did you mean 'bootstrap'\?"),
        ({"estimator": "best"}, r"estimator must be one of"),
        ({"kernel": "laplace"}, r"kernel must be one of"),
        ({"bandwidth": -1}, r"bandwidth must be at least"),
        ({"label_kernel": np.eye(2)}, r"label_kernel must have shape \(3, 3\)"),
        ({"n_resamples": 0}, r"n_resamples must be at least 1; got 0"),
        ({"n_resamples": 9.5}, r"n_resamples must be an integer; got 9.5"),
        ({"method": "block", "block_size": 1}, r"block_size must be at least 2; got 1"),
        ({"method": "block", "block_size": 40}, r"block_size must be at most 30"),
        ({"method": "block", "block_size": 16}, r"at least two blocks; got 16 for 30 rows"),
        ({"method": "block", "block_size": None}, r"block_size must be an integer or a callable"),
        ({"method": "distribution-free", "kernel_bound": -1}, r"kernel_bound must be at least"),
    ],
)
def test_bad_options(rng, options, message):
    y, proba = draw_sample(rng, 30, 3)
    with pytest.raises(ValueError, match=message):
        kernel_calibration_test(y, proba, **options)


def test_bad_rows(rng):
    y, proba = draw_sample(rng, 30, 3)
    with pytest.raises(ValueError, match=r"y_true must hold labels; .* soft labels"):
        kernel_calibration_test(np.eye(3)[y], proba)
    with pytest.raises(ValueError, match=r"y_true must hold labels; .* soft labels"):
        kernel_calibration_test([0.2, 0.7], [0.2, 0.7])
    with pytest.raises(ValueError, match=r"y_proba must hold at least 2 rows .*; got 1"):
        kernel_calibration_test([1], [0.2])
    with pytest.raises(ValueError, match=r"blocks with different estimates; all 5 are 0.5"):
        kernel_calibration_test([1] * 10, [0.5] * 10, method="block")
    with pytest.raises(TypeError):
        kernel_calibration_test(y, proba, sample_weight=np.ones(30))


@pytest.mark.parametrize(
    ("test_proba", "test_labels", "rank"),
    [
        ([0.3, 0.3], [1, 1], 1),  # the same point twice
        ([0.3, 0.3], [0, 1], 1),  # the two labels sum up to nothing
        ([0.3, 0.6, 0.6], [1, 0, 1], 2),
    ],
)
def test_dependent_test_points(rng, test_proba, test_labels, rank):
    y, proba = draw_sample(rng, 50, 2)
    with pytest.raises(ValueError, match=rf"linearly independent; their rank is {rank}"):
        mean_embedding_test(y, proba[:, 1], test_proba=test_proba, test_labels=test_labels)


def test_bad_mean_embedding(rng):
    y, proba = draw_sample(rng, 50, 2)
    points = {"test_proba": [0.3, 0.6], "test_labels": [1, 1]}
    with pytest.raises(ValueError, match=r"rank is 0"):
        mean_embedding_test(y, y, **points)  # no residual varies
    with pytest.raises(ValueError, match=r"y_proba must hold at least 3 rows"):
        mean_embedding_test([0, 1], [0.2, 0.7], **points)
    with pytest.raises(ValueError, match=r"test_proba must lie in \[0, 1\]; got 1.2 at row 1"):
        mean_embedding_test(y, proba[:, 1], test_proba=[0.3, 1.2], test_labels=[1, 1])


def test_metrics_do_not_import_inference():
    code = "import sys, skcal.metrics; assert 'skcal.inference' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("matrix", [np.ones((3, 3)), np.zeros((3, 3))])
def test_label_kernels_that_tell_no_labels_apart(matrix):
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    y = np.arange(12) % 3
    points = {"test_proba": proba[:1], "test_labels": [1]}
    for test, options in ((kernel_calibration_test, {}), (mean_embedding_test, points)):
        with pytest.raises(ValueError, match="label_kernel must tell at least two labels apart"):
            test(y, proba, label_kernel=matrix, **options)


def test_biased_estimates_that_rounding_makes_negative():
    def kernel(left, right):
        return np.exp(-((left[:, None] - right) ** 2).sum(axis=-1))

    result = kernel_calibration_test(
        [0, 0, 1, 1, 1, 1, 1],
        [5 / 7] * 7,
        method="distribution-free",
        estimator="biased",
        kernel=kernel,
        kernel_bound=1.0,
    )
    assert result.pvalue == 1


def test_bound_below_a_value_of_the_kernel(rng):
    proba = rng.random(700)
    with pytest.raises(ValueError, match=r"kernel_bound must be the largest value .* got 1, but"):
        kernel_calibration_test(
            rng.random(700) < proba,
            proba,
            method="distribution-free",
            kernel=lambda a, b: 100 * a @ b.T,
            kernel_bound=1.0,
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "block"])
def test_many_classes_make_tests_cautious(rng, method):
    def test(y, proba):
        return kernel_calibration_test(
            y, proba, labels=range(50), method=method, n_resamples=99, random_state=0
        )

    assert find_level(test, rng, 200, 100, 50) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
