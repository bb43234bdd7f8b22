"""Accumulated rounding: small samples in exact arithmetic, large ones in long double.

U is the unit roundoff of float64. A sum of n terms, one after another, errs by at most n U times
the sum of their sizes; so does a sum over chunks by (rows of a chunk + number of chunks) U. All
measures here are sums of terms whose sizes sum to about 1, so that the bounds are absolute. The
rounding of random rows has no direction, and grows like the root of what the bounds count.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from skcal import metrics
from skcal._numerics._smooth_calibration import fit_path
from skcal._sample import CHUNK
from tests import reference_rounding as exact
from tests.reference_rounding import LongRows, Rows, U, assert_near, call, draw_large, draw_small

# With and without ties, weights and soft labels, in all combinations.
SEEDS = range(12)
N = 10**6

extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long double has no more digits than float64 here"
)
MAXIMUM, BINS = {"deviation": "max"}, {"n_bins": 3}

# Options, the exact value, and roundings a + b n of n rows: two or three of the residual and its
# weight, n of the sum over rows, n of the total weight, n of the sum over bins or gaps; twice as
# many where sums are squared. In an interval error every cumulative sum stands in two differences;
# a random one divides by the width, and is bounded by n + 1 times as much at any. The estimates
# without bias divide by n - 1 >= 1.
EXACT = [
    ("expected_calibration_error", {}, exact.exact_ece, (6, 3)),
    ("maximum_calibration_error", {}, exact.exact_mce, (6, 2)),
    ("adaptive_calibration_error", {"reduction": "auto", "n_bins": 4}, exact.exact_ace, (6, 3)),
    *(
        (
            "squared_calibration_error",
            {**BINS, "debias": debias},
            lambda rows, debias=debias: exact.exact_squared(rows, debias),
            (8, 6) if debias is False else (16, 12),
        )
        for debias in (False, "outcomes", "residuals")
    ),
    ("smooth_calibration_error", {}, exact.exact_smooth_calibration, (8, 8)),
    ("interval_calibration_error", {}, exact.exact_interval, (8, 8)),
    (
        "random_interval_calibration_error",
        {"width": 0.125},
        lambda rows: exact.exact_random_interval(rows, 0.125),
        (8 * 9, 4 * 9),
    ),
    ("surrogate_interval_calibration_error", {}, exact.exact_surrogate, (8, 4)),
    (
        "cumulative_calibration_error",
        {},
        lambda rows: max(rows.cumulative()) - min(rows.cumulative()),
        (6, 4),
    ),
    (
        "cumulative_calibration_error",
        MAXIMUM,
        lambda rows: max(map(abs, rows.cumulative())),
        (6, 2),
    ),
    ("averaged_two_bin_calibration_error", {}, exact.exact_two_bins, (12, 8)),
    ("upper_calibration_distance", {}, exact.exact_upper_distance, (8, 4)),
    ("corp_decomposition", {}, exact.exact_miscalibration, (16, 12)),
    (
        "calibration_decomposition",
        {"estimator": "isotonic"},
        exact.exact_isotonic_calibration,
        (12, 6),
    ),
]
# Programs over all partitions or widths, which are slow.
FEW_ROWS = {"surrogate_interval_calibration_error": 8, "upper_calibration_distance": 6}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "options", "compute", "roundings"), EXACT)
def test_rational_measures_in_exact_arithmetic(name, options, compute, roundings, seed):
    counts = "counts" if name.startswith(("adaptive", "squared")) else "any"
    sample = draw_small(seed, counts, n_most=FEW_ROWS.get(name, 12))
    rows = Rows(*sample)
    value = call(name, sample, **options)
    if isinstance(value, tuple):  # a decomposition, whose second term is that of calibration
        value = value[1]
    widths = rows.n + 1 if name.startswith("surrogate") else 1
    assert_near(value, compute(rows), widths * (roundings[0] + roundings[1] * rows.n))


@pytest.mark.parametrize("seed", SEEDS)
def test_canonical_error_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    n = 12
    proba = rng.dirichlet([0.5, 0.5, 0.5], n)
    target, weights = rng.integers(0, 3, n), rng.random(n)
    edges = [Fraction(float(edge)) for edge in exact.uniform(4)[1:-1]]
    sums = {}
    for row, label, w in zip(proba.tolist(), target, weights.tolist(), strict=True):
        cell = tuple(sum(edge < Fraction(p) for edge in edges) for p in row)
        total = sums.setdefault(cell, [Fraction(0)] * 3)
        for k in range(3):
            total[k] += Fraction(w) * (int(label == k) - Fraction(row[k]))
    expected = (
        sum(sum(map(abs, total)) for total in sums.values()) / 2 / sum(map(Fraction, weights))
    )
    value = metrics.canonical_calibration_error(
        target, proba, sample_weight=weights, labels=[0, 1, 2], n_bins=4
    )
    # A mean prediction and a mean outcome, each of n rows, are divided before they are subtracted.
    assert_near(value, expected, 5 * n + 8)


@pytest.mark.parametrize("bandwidth", [1.0, 0.03125])
@pytest.mark.parametrize("seed", SEEDS)
def test_laplace_kernel_in_sixty_digits(seed, bandwidth):
    sample = draw_small(seed)
    value = call("kernel_calibration_error", sample, bandwidth=bandwidth)
    with localcontext(prec=60):
        rows = Rows(*sample, number=Decimal)
        expected = exact.decimal_kernel_square(rows, bandwidth).sqrt()
        # kCE is the norm of the sums T_i, weighted by numbers that sum to at most n. Each T_i meets
        # 2n + 8 roundings, and its exponentials, of numbers up to 1 / h, as many as that.
        assert_near(value, expected, np.sqrt(rows.n) * (2 * rows.n + 8 + 2 / bandwidth))


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_and_area_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    n, levels = 12, np.array([0.2, 0.5, 0.9])
    predicted, targets, weights = rng.random((n, 3)), rng.random(n), rng.random(n)
    total = sum(map(Fraction, weights))

    def share(is_counted):
        return sum(Fraction(w) for w, one in zip(weights, is_counted, strict=True) if one) / total

    given = {"sample_weight": weights}
    value = metrics.quantile_calibration_error(targets, predicted, quantiles=levels, **given)
    gaps = [
        abs(share(targets <= column) - Fraction(level))
        for column, level in zip(predicted.T, levels, strict=True)
    ]
    assert_near(value, sum(gaps) / 3, 2 * n + 8)

    law = SimpleNamespace(cdf=lambda y: y, ppf=lambda p: np.full(n, p))
    area = Fraction(0)
    for low, high in pairwise([Fraction(0), *sorted(map(Fraction, targets)), Fraction(1)]):
        height = share(Fraction(y) <= low for y in targets)
        turn = min(max(height, low), high)
        area += ((low - height) ** 2 + (high - height) ** 2) / 2 - (turn - height) ** 2
    assert_near(metrics.miscalibration_area(targets, law, **given), area, 3 * n + 8)

    covered = metrics.interval_coverage(targets, law, levels=[0.5, 0.8], **given)
    for level, result in zip([0.5, 0.8], covered, strict=True):
        inside = ((1 - level) / 2 <= targets) & (targets <= (1 + level) / 2)
        assert_near(result, share(inside), 2 * n + 2)


# --------------------------------------------------------------------------- large samples


@pytest.fixture(scope="module")
def large():
    found = {}

    def get(kind, n=N):
        if (kind, n) not in found:
            found.clear()
            sample = draw_large(kind, n)
            found[kind, n] = sample, LongRows(*sample)
        return found[kind, n]

    return get


cases = pytest.mark.parametrize(
    ("kind", "n"),
    [(kind, N // 10) for kind in ("biased", "weighted", "alike")]
    + [pytest.param(kind, N, marks=pytest.mark.slow) for kind in ("calibrated", "weighted")]
    + [pytest.param(kind, 10 * N, marks=pytest.mark.slow) for kind in ("biased", "alike")],
)


@extended
@cases
def test_sums_over_chunks_in_long_double(large, kind, n):
    sample, rows = large(kind, n)
    mass, residual = rows.sum_bins(exact.uniform(15))
    size = np.abs(rows.c).sum()
    # Residuals that are alike round alike; others at random.
    chunked = CHUNK + n / CHUNK
    roundings = chunked if kind == "alike" else 8 * np.sqrt(chunked)
    ece = call("expected_calibration_error", sample)
    assert abs(ece - np.abs(residual).sum()) <= roundings * size * U + 4 * U
    mce = call("maximum_calibration_error", sample)
    assert abs(mce - (np.abs(residual) / mass).max()) <= roundings * U + 4 * U
    root = call("squared_calibration_error", sample, debias=False, strategy="uniform")
    assert abs(root - (residual**2 / mass).sum()) <= 2 * roundings * size * U + 4 * U
    # exp(v) is not rounded alike even where the residuals are.
    kce = call("kernel_calibration_error", sample)
    assert abs(kce - np.sqrt(rows.laplace())) <= 2 * roundings * size * U + 4 * U
    if kind != "alike":
        unbiased = call("squared_kernel_calibration_error", sample)
        square, total = rows.laplace(), rows.w.sum()
        own = (rows.w * (rows.y - rows.v) ** 2).sum()
        expected = 2 * (square * total**2 - own) / (total * (total - 1))
        # Twice the square of the number above, and the sum over single rows, smaller by n.
        error = 8 * np.sqrt(square) * roundings * size * U + 4 * roundings * U / n
        assert abs(unbiased - expected) <= error


@extended
@cases
def test_sums_over_sorted_rows_in_long_double(large, kind, n):
    sample, rows = large(kind, n)
    sums = rows.cumulative()
    # Every partial sum is rounded: at most n U of the largest one, the root of n at random.
    error = (n if kind == "alike" else 8 * np.sqrt(n)) * np.abs(sums).max() * U + 4 * U
    kuiper = call("cumulative_calibration_error", sample)
    assert abs(kuiper - (sums.max() - sums.min())) <= 2 * error
    largest = call("cumulative_calibration_error", sample, **MAXIMUM)
    assert abs(largest - np.abs(sums).max()) <= error
    two_bins = call("averaged_two_bin_calibration_error", sample)
    assert abs(two_bins - rows.two_bins()) <= 6 * np.abs(sums).max() * error
    # Where C(t + width) and C(t) differ they are off by 2 * error at most, over (1 + width)/width.
    width = 0.125
    shifted = call("random_interval_calibration_error", sample, width=width)
    assert abs(shifted - rows.random_interval(width)) <= 2 * error * (1 + width) / width


@extended
def test_smooth_calibration_between_bounds_in_long_double():
    n = 30_000
    sample = draw_large("biased", n)
    rows = LongRows(*sample)
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
