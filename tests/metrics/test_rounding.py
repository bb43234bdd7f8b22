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
from scipy.stats import norm as normal

from skcal import metrics
from skcal._numerics._smooth_calibration import fit_path
from skcal._sample import CHUNK, Sample
from skcal.metrics import MEASURES
from tests.measures import ACCURACY, READ_COUNTS
from tests.reference_rounding import (
    LongRows,
    Rows,
    U,
    assert_near,
    call,
    decimal_kernel_square,
    draw_large,
    draw_small,
    exact_ace,
    exact_ece,
    exact_interval,
    exact_isotonic_calibration,
    exact_mce,
    exact_miscalibration,
    exact_random_interval,
    exact_regression_calibration,
    exact_smooth_calibration,
    exact_squared,
    exact_surrogate,
    exact_two_bins,
    exact_upper_distance,
    uniform,
)

DIGITS = 60
SEEDS = range(40)
N = 10**6

extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long double has no more digits than float64 here"
)

# Factors count the roundings that the terms meet, for n rows: two or three of the residual and
# its weight, n of the sum over rows, n of the total weight, n of the sum over bins or gaps; twice
# as many where sums are squared. In an interval error every cumulative sum stands in two
# differences; a random one divides by the width, and is bounded by n times as much at any width.
# The estimates without bias divide by n - 1 >= 1.
EXACT = {
    "expected_calibration_error": ({}, exact_ece, lambda n: 3 * n + 6),
    "maximum_calibration_error": ({}, exact_mce, lambda n: 2 * n + 6),
    "adaptive_calibration_error": (
        {"reduction": "auto", "n_bins": 4},
        exact_ace,
        lambda n: 3 * n + 6,
    ),
    "squared_calibration_error": (
        {"n_bins": 3, "debias": False},
        lambda rows: exact_squared(rows, None),
        lambda n: 6 * n + 8,
    ),
    "squared_calibration_error, outcomes": (
        {"n_bins": 3},
        lambda rows: exact_squared(rows, "outcomes"),
        lambda n: 12 * n + 16,
    ),
    "squared_calibration_error, residuals": (
        {"n_bins": 3, "debias": "residuals"},
        lambda rows: exact_squared(rows, "residuals"),
        lambda n: 12 * n + 16,
    ),
    "smooth_calibration_error": ({}, exact_smooth_calibration, lambda n: 8 * n + 8),
    "interval_calibration_error": ({}, exact_interval, lambda n: 8 * n + 8),
    "random_interval_calibration_error": (
        {"width": 0.125},
        lambda rows: exact_random_interval(rows, 0.125),
        lambda n: (4 * n + 8) * 9,
    ),
    "surrogate_interval_calibration_error": (
        {},
        exact_surrogate,
        lambda n: (4 * n + 8) * (n + 1),
    ),
    "cumulative_calibration_error": (
        {},
        lambda rows: max(rows.cumulative()) - min(rows.cumulative()),
        lambda n: 4 * n + 6,
    ),
    "cumulative_calibration_error, max": (
        {"deviation": "max"},
        lambda rows: max(map(abs, rows.cumulative())),
        lambda n: 2 * n + 6,
    ),
    "averaged_two_bin_calibration_error": ({}, exact_two_bins, lambda n: 8 * n + 12),
}
RECORDS = {
    "upper_calibration_distance": ({}, None, exact_upper_distance, lambda n: 4 * n + 8),
    "corp_decomposition": ({}, "miscalibration", exact_miscalibration, lambda n: 12 * n + 16),
    "calibration_decomposition": (
        {"estimator": "isotonic"},
        "calibration",
        exact_isotonic_calibration,
        lambda n: 6 * n + 12,
    ),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", EXACT)
def test_rational_measures_in_exact_arithmetic(name, seed):
    options, exact, roundings = EXACT[name]
    counts = "counts" if name.startswith(("adaptive", "squared")) else "any"
    sample = draw_small(seed, counts, n_most=8 if "surrogate" in name else 12)
    rows = Rows(*sample)
    assert_near(call(name, sample, **options), exact(rows), roundings(rows.n))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", RECORDS)
def test_rational_parts_in_exact_arithmetic(name, seed):
    options, field, exact, roundings = RECORDS[name]
    sample = draw_small(seed, n_most=6 if name.startswith("upper") else 12)
    rows = Rows(*sample)
    value = call(name, sample, **options)
    value = value if field is None else getattr(value, field)
    assert_near(value, exact(rows), roundings(rows.n))


@pytest.mark.parametrize("seed", SEEDS)
def test_canonical_error_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    n = 12
    proba = rng.dirichlet([0.5, 0.5, 0.5], n)
    target, weights = rng.integers(0, 3, n), rng.random(n)
    edges = [Fraction(float(edge)) for edge in uniform(4)[1:-1]]
    sums = {}
    for row, label, w in zip(proba.tolist(), target, weights.tolist(), strict=True):
        cell = tuple(sum(edge < Fraction(p) for edge in edges) for p in row)
        total = sums.setdefault(cell, [Fraction(0)] * 3)
        for k in range(3):
            total[k] += Fraction(w) * (int(label == k) - Fraction(row[k]))
    exact = sum(sum(map(abs, total)) for total in sums.values()) / 2 / sum(map(Fraction, weights))
    value = metrics.canonical_calibration_error(
        target, proba, sample_weight=weights, labels=[0, 1, 2], n_bins=4
    )
    # A mean prediction and a mean outcome, each of n rows, are divided before they are subtracted.
    assert_near(value, exact, 5 * n + 8)


# ------------------------------------------------------------------- roots and exponentials


@pytest.fixture
def digits():
    with localcontext(prec=DIGITS):
        yield


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("bandwidth", [1.0, 0.03125])
@pytest.mark.parametrize("seed", SEEDS)
def test_laplace_kernel_in_sixty_digits(seed, bandwidth):
    sample = draw_small(seed)
    rows = Rows(*sample, number=Decimal)
    value = call("kernel_calibration_error", sample, bandwidth=bandwidth)
    exact = decimal_kernel_square(rows, bandwidth).sqrt()
    # kCE is the norm of the sums T_i, weighted by numbers that sum to at most n. Each T_i meets
    # 2n + 8 roundings, and its exponentials, of numbers up to 1 / h, as many as that.
    assert_near(value, exact, np.sqrt(rows.n) * (2 * rows.n + 8 + 2 / bandwidth))


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("seed", SEEDS)
def test_gaussian_kernel_in_sixty_digits(seed):
    sample = draw_small(seed)
    exact = decimal_kernel_square(Rows(*sample, number=Decimal), 0.25, power=2).sqrt()
    value = call("kernel_calibration_error", sample, bandwidth=0.25, kernel="gaussian")
    assert value == pytest.approx(float(exact), abs=1e-7)  # the documented error of the grid


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("kernel", ["total_variation", "gaussian"])
@pytest.mark.parametrize("seed", SEEDS)
def test_squared_kernel_error_in_sixty_digits(seed, kernel):
    rng = np.random.default_rng(seed)
    n, n_classes = 10, 2 + seed % 2
    proba = rng.dirichlet(np.ones(n_classes), n)
    if n_classes == 2:
        proba[:, 1] = 1 - proba[:, 0]
    target = rng.integers(0, n_classes, n)
    rows = [[Decimal(p) for p in row] for row in proba.tolist()]
    pairs = zip(target, rows, strict=True)
    residual = [[int(label == k) - p for k, p in enumerate(row)] for label, row in pairs]
    total = Decimal(0)
    for i in range(n):
        for j in range(n):
            gaps = [abs(a - b) for a, b in zip(rows[i], rows[j], strict=True)]
            exponent = sum(gaps) if kernel == "total_variation" else sum(g**2 for g in gaps)
            product = sum(a * b for a, b in zip(residual[i], residual[j], strict=True))
            total += (i != j) * product * (-exponent / 2).exp()
    value = metrics.squared_kernel_calibration_error(
        target, proba, labels=list(range(n_classes)), kernel=kernel
    )
    # Terms sum to at most 2 n^2 before the division by n (n - 1) >= 0.9 n^2; squares of sums.
    assert_near(value, total / (n * (n - 1)), 2.3 * (4 * n + 24))


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("seed", SEEDS)
def test_mean_embedding_in_sixty_digits(seed):
    outcomes, predictions, _ = draw_small(seed)
    rng = np.random.default_rng(seed)
    tests = rng.random(3)
    rows = Rows(outcomes, predictions, None, number=Decimal)
    squares = []
    for point in tests.tolist():
        terms = [
            (y - v) * (-abs(v - Decimal(point))).exp() for y, v in zip(rows.y, rows.v, strict=True)
        ]
        squares.append((sum(terms) / rows.n) ** 2)
    value = metrics.calibration_mean_embedding_error(
        np.column_stack([1 - outcomes, outcomes]),
        np.column_stack([1 - predictions, predictions]),
        test_proba=np.column_stack([1 - tests, tests]),
        test_labels=[[0.0, 1.0]] * 3,
    )
    assert_near(value, sum(squares) / 3, 4 * rows.n + 24)


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_kernel_decomposition_in_sixty_digits(kernel, seed):
    outcomes, predictions, _ = draw_small(seed)
    rows = Rows(outcomes, predictions, None, number=Decimal)
    bandwidth = Decimal("0.125")

    def evaluate(distance):
        square = (distance / bandwidth) ** 2
        return (-square / 2).exp() if kernel == "gaussian" else max(1 - square, Decimal(0))

    value = metrics.calibration_decomposition(
        outcomes, predictions, pos_label=1, kernel=kernel, bandwidth=0.125
    ).calibration
    # A regression is a ratio of sums of at most n terms; the kernel of the row itself is 1, and
    # running sums within three bandwidths, of powers up to 1.5^2, stay below 10 n.
    amplification = 20 * rows.n if kernel == "epanechnikov" else 2
    exact = exact_regression_calibration(rows, evaluate)
    assert_near(value, exact, amplification * (4 * rows.n + 16))


# ------------------------------------------------------------------- regression


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_and_area_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    n, levels = 12, np.array([0.2, 0.5, 0.9])
    predicted, targets, weights = rng.random((n, 3)), rng.random(n), rng.random(n)
    shares = [
        sum(
            Fraction(w) for w, y, q in zip(weights, targets, predicted[:, k], strict=True) if y <= q
        )
        / sum(map(Fraction, weights))
        for k in range(3)
    ]
    value = metrics.quantile_calibration_error(
        targets, predicted, quantiles=levels, sample_weight=weights
    )
    gaps = zip(shares, levels.tolist(), strict=True)
    exact = sum(abs(share - Fraction(level)) for share, level in gaps) / 3
    assert_near(value, exact, 2 * n + 8)

    distribution = SimpleNamespace(cdf=lambda y: y, ppf=lambda p: np.full(n, p))
    total, nodes = sum(map(Fraction, weights)), sorted(map(Fraction, targets))
    by_level = dict(zip(map(Fraction, targets), map(Fraction, weights), strict=True))
    area, share = Fraction(0), Fraction(0)
    for low, high in pairwise([Fraction(0), *nodes, Fraction(1)]):
        share += by_level.get(low, 0) / total
        turn = min(max(share, low), high)
        area += ((low - share) ** 2 + (high - share) ** 2) / 2 - (turn - share) ** 2
    value = metrics.miscalibration_area(targets, distribution, sample_weight=weights)
    assert_near(value, area, 3 * n + 8)

    covered = metrics.interval_coverage(
        targets, distribution, sample_weight=weights, levels=[0.5, 0.8]
    )
    for level, result in zip([0.5, 0.8], covered, strict=True):
        inside = [(1 - level) / 2 <= y <= (1 + level) / 2 for y in targets]
        exact = sum(Fraction(w) for w, is_in in zip(weights, inside, strict=True) if is_in) / total
        assert_near(result, exact, 2 * n + 2)


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("seed", SEEDS)
def test_normalized_error_in_sixty_digits(seed):
    rng = np.random.default_rng(seed)
    n = 12
    targets, means, deviations = rng.normal(size=n), rng.normal(size=n), rng.random(n) + 0.1
    error, variance = (
        sum(Decimal(x) ** 2 for x in values)
        for values in (
            [Decimal(a) - Decimal(b) for a, b in zip(targets, means, strict=True)],
            deviations,
        )
    )
    ratio = (error / variance).sqrt()
    value = metrics.expected_normalized_calibration_error(
        targets, means, y_std=deviations, n_bins=1
    )
    # Sums of squares of either side, their ratio and its root, relative to which 1 is subtracted.
    assert_near(value, abs(1 - ratio), float(1 + ratio) * (n + 6))


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("seed", SEEDS)
def test_normal_distributions_in_sixty_digits(seed):
    rng = np.random.default_rng(seed)
    n = 6
    y, mean, scale = rng.normal(size=n), rng.normal(size=n), rng.random(n) + 0.1
    rows = [tuple(map(Decimal, row)) for row in zip(y.tolist(), mean, scale, strict=True)]

    def smooth(distance, variance):
        return (-(distance**2) / (2 * (1 + variance))).exp() / (1 + variance).sqrt()

    total = Decimal(0)
    for a, m, s in rows:
        for b, c, t in rows:
            near = (-((m - c) ** 2 + (s - t) ** 2).sqrt()).exp()
            total += near * (
                smooth(a - b, Decimal(0))
                - smooth(m - b, s**2)
                - smooth(a - c, t**2)
                + smooth(m - c, s**2 + t**2)
            )
    value = metrics.distribution_kernel_calibration_error(y, normal(mean, scale), unbiased=False)
    # The four terms of a pair are at most 1, their exponents below 20.
    assert_near(value, total / n**2, 4 * (2 * n + 40))


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
    [(kind, N // 10) for kind in ("calibrated", "biased", "weighted", "alike")]
    + [pytest.param(kind, N, marks=pytest.mark.slow) for kind in ("calibrated", "weighted")]
    + [pytest.param(kind, 10 * N, marks=pytest.mark.slow) for kind in ("biased", "alike")],
)


def chunked(n):
    """Roundings of a sum over chunks."""
    return CHUNK + n / CHUNK


@extended
@cases
def test_sums_over_chunks_in_long_double(large, kind, n):
    sample, rows = large(kind, n)
    mass, residual = rows.sum_bins(uniform(15))
    size = np.abs(rows.c).sum()
    # Residuals that are alike round alike; others at random.
    roundings = chunked(n) if kind == "alike" else 8 * np.sqrt(chunked(n))
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
        exact = 2 * (square * total**2 - own) / (total * (total - 1))
        # Twice the square of the number above, and the sum over single rows, smaller by n.
        error = 8 * np.sqrt(square) * roundings * size * U + 4 * roundings * U / n
        assert abs(unbiased - exact) <= error


@extended
@cases
def test_sums_over_sorted_rows_in_long_double(large, kind, n):
    sample, rows = large(kind, n)
    sums = rows.cumulative()
    # Every partial sum is rounded: at most n U of the largest one, the root of n at random.
    error = (n if kind == "alike" else 8 * np.sqrt(n)) * np.abs(sums).max() * U + 4 * U
    kuiper = call("cumulative_calibration_error", sample)
    assert abs(kuiper - (sums.max() - sums.min())) <= 2 * error
    largest = call("cumulative_calibration_error", sample, deviation="max")
    assert abs(largest - np.abs(sums).max()) <= error
    two_bins = call("averaged_two_bin_calibration_error", sample)
    assert abs(two_bins - rows.two_bins()) <= 6 * np.abs(sums).max() * error
    # Where C(t + width) and C(t) differ they are off by 2 * error at most, over (1 + width)/width.
    width = 0.125
    shifted = call("random_interval_calibration_error", sample, width=width)
    assert abs(shifted - rows.random_interval(width)) <= 2 * error * (1 + width) / width


@extended
@pytest.mark.parametrize("kind", ["calibrated", "biased", "alike"])
def test_smooth_calibration_between_bounds_in_long_double(kind):
    n = 10**5
    sample = draw_large(kind, n)
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


@extended
def test_interval_error_in_long_double():
    """The plain program over all partitions, of a size that it can do."""
    n = 3000
    sample = draw_large("biased", n)
    rows = LongRows(*sample)
    sums, mass = (np.concatenate([[0], np.cumsum(x)]) for x in (rows.c, rows.p))
    least = np.zeros(n + 1, dtype=np.longdouble)
    for j in range(1, n + 1):
        width = rows.v[j - 1] - rows.v[:j]
        least[j] = (least[:j] + np.abs(sums[j] - sums[:j]) + (mass[j] - mass[:j]) * width).min()
    error = 2 * n * (np.abs(sums).max() + least[-1]) * U
    assert abs(call("interval_calibration_error", sample) - least[-1]) <= error


@extended
@cases
def test_nodes_of_grids_in_long_double(large, kind, n):
    """What smooth_ece, the Gaussian kernel and the lower distance see of the rows."""
    sample, rows = large(kind, n)
    n_cells = 1 << 14
    nodes, _ = Sample(sample[1], sample[0], sample[2]).residual_on_grid(n_cells)
    place = rows.v * n_cells
    cell = np.minimum(place.astype(np.intp), n_cells - 1)
    place -= cell
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    moments = np.zeros((4, n_cells), dtype=np.longdouble)
    for power in range(4):
        moments[power, cell[starts]] = np.add.reduceat(rows.c * place**power, starts)
    one, a, a2, a3 = moments
    exact = np.zeros(n_cells + 1, dtype=np.longdouble)
    for shift, share in enumerate(
        (
            (-a3 + 3 * a2 - 2 * a) / 6,
            (a3 - 2 * a2 - a + 2 * one) / 2,
            (-a3 + a2 + 2 * a) / 2,
            (a3 - a) / 6,
        )
    ):
        node = np.abs(np.arange(n_cells) + shift - 1)
        np.add.at(exact, np.where(node > n_cells, 2 * n_cells - node, node), share)
    # The shares of a row are made of numbers of size 11/3 at most. A chunk puts few rows into each
    # of so many cells: what counts is the number of chunks.
    size = 11 / 3 * np.abs(rows.c).sum()
    roundings = 8 + (n / CHUNK if kind == "alike" else 8 * np.sqrt(n / CHUNK))
    assert np.abs(nodes - exact).sum() <= roundings * size * U


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
    outcomes, predictions, _ = draw_large("biased", 300_000)
    order = np.argsort(predictions)
    value = call(name, (outcomes, predictions, None), **options)
    sorted_value = call(name, (outcomes[order], predictions[order], None), **options)
    assert sorted_value == pytest.approx(value, abs=rounding)


@extended
@pytest.mark.parametrize("score", ["brier", "log"])
def test_decompositions_in_long_double(score):
    n = 10**5
    outcomes, predictions, weights = sample = draw_large("weighted", n)
    rows = LongRows(*sample)
    parts = call("corp_decomposition", sample, score=score)
    rate = (rows.p * rows.y).sum()
    if score == "brier":
        own, constant = (rows.p * (rows.y - rows.v) ** 2).sum(), rate * (1 - rate)
    else:
        own = -(rows.p * np.log(np.where(rows.y == 1, rows.v, 1 - rows.v))).sum()
        constant = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    error = 16 * np.log2(n) * U  # sums by pairs
    assert abs(parts.score - own) <= error
    assert abs(parts.uncertainty - constant) <= error
    value = metrics.calibration_decomposition(
        outcomes, predictions, sample_weight=weights, divergence=score, estimator="binned"
    )
    assert abs(value.total - own) <= 8 * np.sqrt(chunked(n)) * U


@extended
@pytest.mark.parametrize("weights", ["none", "random", "alike"])
def test_area_in_long_double(weights):
    rng = np.random.default_rng(0)
    levels = np.sort(rng.beta(2, 2, N))
    given = {"none": None, "random": rng.random(N), "alike": np.full(N, 0.1)}[weights]
    mass = np.ones(N) if given is None else given
    sums = np.concatenate([[np.longdouble(0)], np.cumsum(mass.astype(np.longdouble))])
    share = sums / sums[-1]
    nodes = np.concatenate([[0.0], levels, [1.0]]).astype(np.longdouble)
    turn = np.clip(share, nodes[:-1], nodes[1:])
    halves = ((nodes[:-1] - share) ** 2 + (nodes[1:] - share) ** 2) / 2
    value = metrics.miscalibration_area(
        levels, SimpleNamespace(cdf=lambda y: y), sample_weight=given
    )
    roundings = {"none": 8, "random": 8 * np.sqrt(N), "alike": N}[weights]
    assert abs(value - (halves - (turn - share) ** 2).sum()) <= roundings * U


# ------------------------------------------------------------ weights and dtypes


@pytest.mark.parametrize("name", MEASURES)
def test_a_weight_of_hundred_is_a_hundred_rows(name):
    outcomes, predictions, _ = draw_large("biased", 300)
    function = MEASURES[name].function
    repeated = function(np.repeat(outcomes, 100), np.repeat(predictions, 100))
    weighted = function(outcomes, predictions, sample_weight=np.full(300, 100))
    # The two may take different ways to a value within the documented accuracy of it; those that
    # are exact differ by rounding alone.
    rounding = chunked(30_000) * U
    accuracy = ACCURACY.get(name, 1e-12)
    assert weighted == pytest.approx(repeated, abs=2 * accuracy if accuracy > 1e-12 else rounding)
    if name not in READ_COUNTS:
        plain = function(outcomes, predictions)
        assert plain == pytest.approx(weighted, abs=rounding)


@pytest.mark.parametrize("scale", [1e-280, 0.1, 3.0, 1e280])
@pytest.mark.parametrize("name", [name for name in MEASURES if name not in READ_COUNTS])
def test_scale_of_weights_is_nothing_but_rounding(name, scale):
    outcomes, predictions, weights = draw_large("weighted", 300)
    function = MEASURES[name].function
    value = function(outcomes, predictions, sample_weight=weights)
    scaled = function(outcomes, predictions, sample_weight=scale * weights)
    # The fixed point of smooth_ece is found to 1e-9, the linear program solved to 1e-12.
    rounding = {"smooth_ece": 1e-9, "lower_calibration_distance": 1e-9}.get(name, 1e-13)
    assert scaled == pytest.approx(value, abs=rounding)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", MEASURES)
def test_short_floats_are_the_numbers_that_they_hold(name, dtype):
    outcomes, predictions, _ = draw_large("biased", 5000)
    short = predictions.astype(dtype)
    function = MEASURES[name].function
    assert function(outcomes, short) == function(outcomes, short.astype(np.float64))


@extended
def test_short_floats_are_summed_in_float64():
    outcomes, predictions, _ = draw_large("biased")
    short = predictions.astype(np.float32)
    rows = LongRows(outcomes, short.astype(np.float64), None)
    _, residual = rows.sum_bins(uniform(15))
    value = metrics.expected_calibration_error(outcomes, short)
    assert abs(value - np.abs(residual).sum()) <= 8 * np.sqrt(chunked(N)) * U
    sums = rows.cumulative()
    value = metrics.cumulative_calibration_error(outcomes, short)
    assert abs(value - (sums.max() - sums.min())) <= 16 * np.sqrt(N) * U
