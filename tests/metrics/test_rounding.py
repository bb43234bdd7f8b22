"""Accumulated rounding: small samples in exact arithmetic, large ones in long double.

U is the unit roundoff of float64. A sum of n terms, one after another, errs by at most n U times
the sum of their sizes; so does a sum over chunks by (rows of a chunk + number of chunks) U. All
measures here are sums of terms whose sizes sum to about 1, so that the bounds are absolute. The
rounding of random rows has no direction, and grows like the root of what the bounds count.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from skcal import metrics, regression
from skcal._input._sample import CHUNK
from skcal._numerics.errors._smooth_calibration import fit_path
from tests import reference_rounding as exact
from tests.reference_rounding import LongRows, Rows, U, assert_near, call, draw_large, draw_small

# With and without ties, weights and soft labels, in all combinations.
SEEDS = range(12)
N = 10**6

extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long double has no more digits than float64 here"
)
BOUNDS = "calibration_distance_bounds"
SQUARED, CUMULATIVE = "squared_calibration_error", "cumulative_calibration_error"
RANDOM, SURROGATE = "random_interval_calibration_error", "surrogate_interval_calibration_error"
MAXIMUM, ISOTONIC, BINS = {"deviation": "max"}, {"estimator": "isotonic"}, {"n_bins": 3}
ACE_OPTIONS = {"reduction": "auto", "n_bins": 4}


def cumulative_range(rows):
    return max(rows.cumulative()) - min(rows.cumulative())


def cumulative_maximum(rows):
    return max(map(abs, rows.cumulative()))


# Options, the exact value, and roundings a + b n of n rows: two or three of the residual and its
# weight, n of the sum over rows, n of the total weight, n of the sum over bins or gaps; twice as
# many where sums are squared. In an interval error every cumulative sum stands in two differences;
# a random one divides by the width, and is bounded by n + 1 times as much at any. The estimates
# without bias divide by n - 1 >= 1.
EXACT = [
    ("expected_calibration_error", {}, exact.exact_ece, (6, 3)),
    ("maximum_calibration_error", {}, exact.exact_mce, (6, 2)),
    ("adaptive_calibration_error", ACE_OPTIONS, exact.exact_ace, (6, 3)),
    (SQUARED, BINS | {"debias": False}, exact.exact_squared, (8, 6)),
    (SQUARED, BINS | {"debias": "outcomes"}, exact.exact_squared, (16, 12)),
    (SQUARED, BINS | {"debias": "residuals"}, exact.exact_squared, (16, 12)),
    ("smooth_calibration_error", {}, exact.exact_smooth_calibration, (8, 8)),
    ("interval_calibration_error", {}, exact.exact_interval, (8, 8)),
    (RANDOM, {"width": 0.125}, exact.exact_random_interval, (8 * 9, 4 * 9)),
    (SURROGATE, {}, exact.exact_surrogate, (8, 4)),
    (CUMULATIVE, {}, cumulative_range, (6, 4)),
    (CUMULATIVE, MAXIMUM, cumulative_maximum, (6, 2)),
    ("averaged_two_bin_calibration_error", {}, exact.exact_two_bins, (12, 8)),
    ("decision_calibration_error", {}, exact.exact_decision, (12, 8)),
    (BOUNDS, {"distance": "upper"}, exact.exact_upper_distance, (8, 4)),
    ("corp_decomposition", {}, exact.exact_miscalibration, (16, 12)),
    ("calibration_decomposition", ISOTONIC, exact.exact_isotonic_calibration, (12, 6)),
]
# Programs over all partitions or widths, which are slow.
FEW_ROWS = {SURROGATE: 8, BOUNDS: 6}


@pytest.mark.parametrize(("name", "options", "compute", "roundings"), EXACT)
def test_rational_measures_in_exact_arithmetic(name, options, compute, roundings):
    for seed in SEEDS:
        counts = "counts" if name.startswith(("adaptive", "squared")) else "any"
        sample = draw_small(seed, counts, n_most=FEW_ROWS.get(name, 12))
        rows = Rows(*sample)
        value = call(name, sample, **options)
        if isinstance(value, tuple):  # the calibration of a decomposition; equal bounds
            value = value[1]
        given = [options[key] for key in ("debias", "width") if key in options]
        widths = rows.n + 1 if name == SURROGATE else 1
        assert_near(value, compute(rows, *given), widths * (roundings[0] + roundings[1] * rows.n))


to_exact = np.vectorize(Fraction, otypes=[object])


def test_canonical_error_in_exact_arithmetic():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        proba, target, weights = (
            rng.dirichlet([0.5] * 3, 12),
            rng.integers(0, 3, 12),
            rng.random(12),
        )
        residual = to_exact(weights)[:, None] * (np.eye(3, dtype=int)[target] - to_exact(proba))
        cells = np.searchsorted(exact.uniform(4)[1:-1], proba, side="left")
        place = np.unique(cells, axis=0, return_inverse=True)[1].ravel()  # NumPy 2.0 keeps the axis
        sums = [np.abs(residual[place == k].sum(axis=0)).sum() for k in np.unique(place)]
        given = {"sample_weight": weights, "labels": [0, 1, 2]}
        value = metrics.canonical_calibration_error(target, proba, n_bins=4, **given)
        # A mean prediction and a mean outcome, each of n rows, are divided, then subtracted.
        assert_near(value, sum(sums) / 2 / to_exact(weights).sum(), 5 * 12 + 8)


@pytest.mark.parametrize("bandwidth", [1.0, 0.03125])
def test_laplace_kernel_in_sixty_digits(bandwidth):
    for seed in SEEDS:
        sample = draw_small(seed)
        value = call("kernel_calibration_error", sample, bandwidth=bandwidth)
        with localcontext(prec=60):
            rows = Rows(*sample, number=Decimal)
            expected = exact.decimal_kernel_square(rows, bandwidth).sqrt()
            # kCE is the norm of the sums T_i, weighted by numbers that sum to at most n. Each T_i
            # meets 2n + 8 roundings, and its exponentials, of numbers up to 1 / h, as many as that.
            assert_near(value, expected, np.sqrt(rows.n) * (2 * rows.n + 8 + 2 / bandwidth))


def test_coverage_and_area_in_exact_arithmetic():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        predicted, targets, weights = rng.random((12, 3)), rng.random(12), rng.random(12)
        given, shares = {"sample_weight": weights}, to_exact(weights) / to_exact(weights).sum()

        levels = np.array([0.2, 0.5, 0.9])
        value = regression.quantile_calibration_error(targets, predicted, quantiles=levels, **given)
        gaps = np.abs(shares @ (targets[:, None] <= predicted) - to_exact(levels))
        assert_near(value, gaps.sum() / 3, 2 * 12 + 8)

        law = SimpleNamespace(cdf=lambda y: y, ppf=lambda p: np.full(12, p))
        area = Fraction(0)
        for low, high in pairwise([Fraction(0), *np.sort(to_exact(targets)), Fraction(1)]):
            height = shares @ (to_exact(targets) <= low)
            turn = min(max(height, low), high)
            area += ((low - height) ** 2 + (high - height) ** 2) / 2 - (turn - height) ** 2
        assert_near(regression.miscalibration_area(targets, law, **given), area, 3 * 12 + 8)

        covered = regression.interval_coverage(targets, law, levels=[0.5, 0.8], **given)
        for level, result in zip([0.5, 0.8], covered, strict=True):
            inside = ((1 - level) / 2 <= targets) & (targets <= (1 + level) / 2)
            assert_near(result, shares @ inside, 2 * 12 + 2)


@lru_cache(maxsize=1)
def draw_rows(kind, n):
    sample = draw_large(kind, n)
    return sample, LongRows(*sample)


cases = pytest.mark.parametrize(
    ("kind", "n"),
    [(kind, N // 10) for kind in ("biased", "weighted", "alike")]
    + [pytest.param(kind, N, marks=pytest.mark.slow) for kind in ("calibrated", "weighted")]
    + [pytest.param(kind, 10 * N, marks=pytest.mark.slow) for kind in ("biased", "alike")],
)


@extended
@cases
def test_sums_over_chunks_in_long_double(kind, n):
    sample, rows = draw_rows(kind, n)
    mass, residual = rows.sum_bins(exact.uniform(15))
    # Residuals that are alike round alike; others at random.
    roundings = CHUNK + n / CHUNK if kind == "alike" else 8 * np.sqrt(CHUNK + n / CHUNK)
    error = roundings * np.abs(rows.c).sum() * U
    ece = call("expected_calibration_error", sample)
    assert abs(ece - np.abs(residual).sum()) <= error + 4 * U
    mce = call("maximum_calibration_error", sample)
    assert abs(mce - (np.abs(residual) / mass).max()) <= roundings * U + 4 * U
    root = call(SQUARED, sample, debias=False, strategy="uniform")
    assert abs(root - (residual**2 / mass).sum()) <= 2 * error + 4 * U
    # exp(v) is not rounded alike even where the residuals are.
    kce = call("kernel_calibration_error", sample)
    assert abs(kce - np.sqrt(rows.laplace())) <= 2 * error + 4 * U
    if kind != "alike":
        unbiased = call("squared_kernel_calibration_error", sample)
        square, total = rows.laplace(), rows.w.sum()
        own = (rows.w * (rows.y - rows.v) ** 2).sum()
        expected = 2 * (square * total**2 - own) / (total * (total - 1))
        # Twice the square of the number above, and the sum over single rows, smaller by n.
        assert abs(unbiased - expected) <= 8 * np.sqrt(square) * error + 4 * roundings * U / n


@extended
@cases
def test_sums_over_sorted_rows_in_long_double(kind, n):
    sample, rows = draw_rows(kind, n)
    sums = rows.cumulative()
    # Every partial sum is rounded: at most n U of the largest one, the root of n at random.
    error = (n if kind == "alike" else 8 * np.sqrt(n)) * np.abs(sums).max() * U + 4 * U
    assert abs(call(CUMULATIVE, sample) - (sums.max() - sums.min())) <= 2 * error
    assert abs(call(CUMULATIVE, sample, **MAXIMUM) - np.abs(sums).max()) <= error
    two_bins = call("averaged_two_bin_calibration_error", sample)
    assert abs(two_bins - rows.two_bins()) <= 6 * np.abs(sums).max() * error
    # Where C(t + width) and C(t) differ they are off by 2 * error at most, over (1 + width)/width.
    shifted = call(RANDOM, sample, width=0.125)
    assert abs(shifted - rows.random_interval(0.125)) <= 2 * error * (1 + 0.125) / 0.125


@extended
def test_smooth_calibration_between_bounds_in_long_double():
    n = 30_000
    sample, rows = draw_rows("biased", n)
    gaps, sums = np.diff(rows.v), np.cumsum(rows.c)
    path = fit_path(sums.astype(float), gaps.astype(float)).astype(np.longdouble)
    upper = (gaps * np.abs(sums - path)[:-1]).sum() + np.abs(np.diff(path, prepend=0)).sum()
    upper += abs(sums[-1] - path[-1])
    witness = metrics.smooth_calibration_witness(*sample[:2], pos_label=1).values
    # A 1-Lipschitz function is found by rounding up to n U of its slopes: what that costs.
    lower = (witness.astype(np.longdouble) * rows.c).sum() - n * U * np.abs(rows.c).sum()
    value = call("smooth_calibration_error", sample, method="exact")
    error = 2 * n * np.abs(sums).max() * U + 4 * U
    assert lower - error <= value <= upper + error
    assert upper - lower <= 2e-11


@pytest.mark.parametrize(
    ("name", "options", "rounding"),
    [
        ("smooth_ece", {"bandwidth": 0.01}, 1e-14),
        ("smooth_ece", {}, 1e-9),  # as far as the fixed point is searched
        ("kernel_calibration_error", {"kernel": "gaussian", "bandwidth": 0.1}, 1e-14),
        ("smooth_calibration_error", {"method": "grid"}, 1e-14),
        ("lower_calibration_distance", {}, 1e-9),  # the gap of the interior point method
    ],
)
def test_order_of_rows_is_nothing_but_rounding_on_grids(name, options, rounding):
    outcomes, predictions, _ = draw_large("biased", 150_000)
    order = np.argsort(predictions)
    value = call(name, (outcomes, predictions, None), **options)
    sorted_value = call(name, (outcomes[order], predictions[order], None), **options)
    assert sorted_value == pytest.approx(value, abs=rounding)
