"""Kernel tests of calibration: their definitions, levels, power, and input."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2, f, norm

from skcal.inference import _kernel_tests, kernel_calibration_test, mean_embedding_test
from skcal.metrics import calibration_mean_embedding_error, squared_kernel_calibration_error
from tests.inference.samples import draw_classes

every_method = pytest.mark.parametrize("method", ["bootstrap", "block", "distribution-free"])


@pytest.fixture
def rng():
    return np.random.default_rng(64)


def list_terms(y, proba, bandwidth=1.0):
    residual = np.eye(proba.shape[1])[y] - proba
    distance = np.abs(proba[:, None] - proba).sum(axis=2) / 2
    return np.exp(-distance / bandwidth) * (residual @ residual.T)


# ------------------------------------------------------------------------------ definitions


@pytest.mark.parametrize("shrink", [0.0, 1.0])
@pytest.mark.parametrize("unbiased", [True, False])
def test_distribution_free_bounds(rng, shrink, unbiased):
    """Hoeffding's and McDiarmid's bounds of Widmann, Lindsten, Zachariah (2019), with B = 2."""
    n = 401
    y, proba = draw_classes(rng, n, 3, shrink)
    options = {"method": "distribution-free", "unbiased": unbiased}
    result = kernel_calibration_test(y, proba, **options)
    estimate = squared_kernel_calibration_error(y, proba, unbiased=unbiased)
    assert result.statistic == result.estimate == pytest.approx(estimate, abs=1e-15)
    if unbiased:
        expected = np.exp(-200 * max(estimate, 0) ** 2 / 8)
    else:
        expected = np.exp(-(max(0, np.sqrt(n * estimate / 2) - 1) ** 2) / 2)
    assert result.pvalue == pytest.approx(expected, rel=1e-12)
    assert result.null_mean is None


def test_negative_estimates_are_no_evidence():
    result = kernel_calibration_test([0, 1], [0.6, 0.4], method="distribution-free")
    assert result.estimate < 0
    assert result.pvalue == 1


def test_bound_follows_the_kernels(rng):
    """B = sup k times the largest |e_a - e_b|^2 in the label kernel bounds every term."""
    y, proba = draw_classes(rng, 100, 3, 1.0)
    label_kernel = np.array([[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]])
    options = {"method": "distribution-free", "unbiased": False}
    options["kernel"] = lambda a, b: 5 * np.exp(-((a[:, None] - b) ** 2).sum(axis=2))
    result = kernel_calibration_test(y, proba, label_kernel=label_kernel, kernel_bound=5, **options)
    root = np.sqrt(100 * result.estimate / (5 * 3))
    assert result.pvalue == pytest.approx(np.exp(-(max(0, root - 1) ** 2) / 2), rel=1e-12)
    assert result.pvalue < 1
    with pytest.raises(ValueError, match=r"kernel_bound must be given .* callable kernel"):
        kernel_calibration_test(y, proba, **options)


@pytest.mark.parametrize("block_size", [2, 5, lambda n: n // 20])
def test_block_test_standardizes_the_mean_of_blocks(rng, block_size):
    y, proba = draw_classes(rng, 203, 3, 0.3)
    result = kernel_calibration_test(y, proba, method="block", block_size=block_size)
    size = block_size(203) if callable(block_size) else block_size
    blocks = [slice(start, start + size) for start in range(0, 203 - size + 1, size)]
    values = [squared_kernel_calibration_error(y[b], proba[b], labels=range(3)) for b in blocks]
    z = np.mean(values) / (np.std(values, ddof=1) / np.sqrt(len(values)))
    assert result.statistic == pytest.approx(z, rel=1e-12)
    assert result.pvalue == pytest.approx(norm.sf(z), rel=1e-10)
    assert result.estimate == pytest.approx(np.mean(values), abs=1e-15)


def test_bootstrap_agrees_with_its_definition(rng, monkeypatch):
    """The statistic of Arcones and Giné (1992) from the full matrix h, for the same counts."""
    n, n_resamples = 60, 99
    y, proba = draw_classes(rng, n, 3, 0.5)
    h = list_terms(y, proba, 0.3)
    unbiased = (h.sum() - h.trace()) / (n * (n - 1))
    statistic = n / (n - 1) * unbiased - h.mean()
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).T.astype(np.uint16)
    monkeypatch.setattr(_kernel_tests, "draw_counts", lambda *args: counts)
    resampled = np.array(
        [
            np.sum(h * c[:, None] * (n / (n - 1) * (c - np.eye(n)) - 2)) / n**2
            for c in counts.T.astype(float)
        ]
    )
    for tile in (7, 512):
        monkeypatch.setattr(_kernel_tests, "TILE", tile)
        result = kernel_calibration_test(y, proba, bandwidth=0.3, n_resamples=n_resamples)
        assert result.statistic == pytest.approx(statistic, abs=1e-14)
        assert result.estimate == pytest.approx(unbiased, abs=1e-14)
        assert result.pvalue == (1 + np.sum(resampled >= statistic)) / 100
        assert result.null_mean == pytest.approx(-h.mean(), abs=1e-14)
    assert 0.01 < result.pvalue < 1  # both sides of the count are tried


def test_bootstrap_counts_are_multinomial(rng):
    counts = _kernel_tests.draw_counts(50, 2000, rng)
    assert (counts.sum(axis=0) == 50).all()
    # Mean 1 and variance 1 - 1/50, within four standard errors of 100 000 numbers.
    assert abs(counts.var() - 0.98) < 4 * np.sqrt(2 / 100_000) * 1.2
    assert np.abs(counts.mean(axis=1) - 1).max() < 5 / np.sqrt(2000)


def test_mean_embedding_agrees_with_its_definition(rng):
    y, proba = draw_classes(rng, 300, 3, 0.3)
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
    expected = calibration_mean_embedding_error(y, proba, **points)
    assert result.estimate == pytest.approx(expected, abs=1e-15)


# ------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("unbiased", [True, False])
@every_method
def test_certain_predictions(rng, method, unbiased):
    """Always wrong, which bounds need to see, and always right."""
    y = rng.integers(0, 3, 300)
    options = {"method": method, "unbiased": unbiased, "random_state": 0, "n_resamples": 99}
    assert kernel_calibration_test(y, np.eye(3)[(y + 1) % 3], **options).pvalue < 0.05
    result = kernel_calibration_test(y, np.eye(3)[y], **options)
    assert result.statistic == 0
    assert result.pvalue >= 0.5


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


def test_biased_estimates_that_rounding_makes_negative():
    result = kernel_calibration_test(
        [0, 0, 1, 1, 1, 1, 1],
        [5 / 7] * 7,
        method="distribution-free",
        unbiased=False,
        kernel=lambda left, right: np.exp(-((left[:, None] - right) ** 2).sum(axis=-1)),
        kernel_bound=1.0,
    )
    assert result.pvalue == 1


# ------------------------------------------------------------------------- test points


@pytest.mark.parametrize(
    ("test_proba", "test_labels", "rank"),
    [
        ([0.3, 0.3], [1, 1], 1),  # the same point twice
        ([0.3, 0.3], [0, 1], 1),  # the two labels sum up to nothing
        ([0.3, 0.6, 0.6], [1, 0, 1], 2),
    ],
)
def test_dependent_test_points(rng, test_proba, test_labels, rank):
    y, proba = draw_classes(rng, 50, 2)
    with pytest.raises(ValueError, match=rf"linearly independent; their rank is {rank}"):
        mean_embedding_test(y, proba[:, 1], test_proba=test_proba, test_labels=test_labels)


def test_points_of_a_wide_kernel_are_independent():
    """Ten random points: their functions of a prediction differ in slopes and kinks."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        proba, points = rng.dirichlet([1, 1], 500), rng.dirichlet([1, 1], 10)
        y = (rng.random(500) < proba[:, 1]).astype(int)
        options = {"test_proba": points, "test_labels": [1] * 10, "kernel": "euclidean"}
        wide = mean_embedding_test(y, proba, bandwidth=10, **options)
        # For the bandwidth of each a rank of 10, and nearly the same space of functions.
        narrow = mean_embedding_test(y, proba, bandwidth=1, **options)
        assert wide.pvalue == pytest.approx(narrow.pvalue, abs=0.1)


@pytest.mark.parametrize("decimals", [4, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_of_one_prediction_are_dependent_where_sums_are_rounded(rng, decimals, dtype):
    y, proba = draw_classes(rng, 50)
    points = {"test_proba": [[0.2, 0.3, 0.5]] * 3, "test_labels": [0, 1, 2]}
    with pytest.raises(ValueError, match="linearly independent; their rank is 2"):
        mean_embedding_test(y, proba.round(decimals).astype(dtype), bandwidth=0.1, **points)


# ------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "boot"}, r"method must be one of .* Did you mean 'bootstrap'\?"),
        ({"unbiased": "best"}, r"unbiased must be True or False"),
        ({"kernel": "laplace"}, r"kernel must be one of"),
        ({"bandwidth": -1}, r"bandwidth must be at least"),
        ({"label_kernel": np.eye(2)}, r"label_kernel must have shape \(3, 3\)"),
        ({"label_kernel": np.ones((3, 3))}, "label_kernel must tell at least two labels apart"),
        ({"label_kernel": np.zeros((3, 3))}, "label_kernel must tell at least two labels apart"),
        ({"method": "block", "block_size": 1}, r"block_size must be at least 2; got 1"),
        ({"method": "block", "block_size": 40}, r"block_size must be at most 30"),
        ({"method": "block", "block_size": 16}, r"at least two blocks; got 16 for 30 rows"),
        ({"method": "block", "block_size": None}, r"block_size must be an integer or a callable"),
        ({"method": "distribution-free", "kernel_bound": -1}, r"kernel_bound must be at least"),
        (
            {
                "method": "distribution-free",
                "kernel": lambda a, b: 100 * a @ b.T,
                "kernel_bound": 1.0,
            },
            r"kernel_bound must be the largest value .* got 1, but",
        ),
    ],
)
def test_bad_options(rng, options, message):
    with pytest.raises(ValueError, match=message):
        kernel_calibration_test(*draw_classes(rng, 30), **options)


def test_bad_rows(rng):
    y, proba = draw_classes(rng, 30)
    with pytest.raises(ValueError, match=r"y_true must hold labels; .* soft labels"):
        kernel_calibration_test(np.eye(3)[y], proba)
    with pytest.raises(ValueError, match=r"y_proba must hold at least 2 rows .*; got 1"):
        kernel_calibration_test([1], [0.2])
    with pytest.raises(ValueError, match=r"blocks with different estimates; all 5 are 0.5"):
        kernel_calibration_test([1] * 10, [0.5] * 10, method="block")
    with pytest.raises(TypeError, match="sample_weight"):
        kernel_calibration_test(y, proba, sample_weight=np.ones(30))


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
        mean_embedding_test(*rows, **{**points, **options})


def test_metrics_do_not_import_inference():
    code = "import sys, skcal.metrics; assert 'skcal.inference' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
