"""Predictive regression: closed forms, exact integrals, the laws of a measure, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.stats import norm

from skcal._numerics._regression import area_to_diagonal
from skcal.metrics import (
    expected_normalized_calibration_error,
    interval_coverage,
    miscalibration_area,
    probability_integral_transform,
    quantile_calibration_error,
)

N = 20_000
LEVELS = (np.arange(N) + 0.5) / N  # midpoints of N equal cells


@pytest.fixture
def rng():
    return np.random.default_rng(63)


def draw_problem(rng, n=200):
    """Targets, and the parameters of normal distributions that are not quite theirs."""
    loc, scale = rng.normal(size=n), rng.uniform(0.5, 2, n)
    return loc + scale * rng.standard_t(4, n) + 0.2, loc, scale


def area_slowly(levels, weights=None, n_points=200_001):
    """The integral by the midpoint rule; each step of the share costs half a cell at most."""
    grid = (np.arange(n_points) + 0.5) / n_points
    weights = np.ones(len(levels)) if weights is None else weights
    share = sum(w * (u <= grid) for u, w in zip(levels, weights, strict=True)) / weights.sum()
    return np.abs(share - grid).mean()


# --------------------------------------------------------------------------- PIT


def test_transform_is_the_cdf_of_each_row(rng):
    y, loc, scale = draw_problem(rng)
    values = probability_integral_transform(y, norm(loc, scale))
    assert values.shape == (200,)
    np.testing.assert_allclose(values, norm.cdf((y - loc) / scale), rtol=0, atol=1e-15)
    alone = [
        probability_integral_transform(y[i : i + 1], norm(loc[i], scale[i]))[0] for i in range(200)
    ]
    np.testing.assert_array_equal(values, alone)
    # One prediction for all rows.
    np.testing.assert_array_equal(probability_integral_transform(y, norm(1, 3)), norm.cdf(y, 1, 3))


@pytest.mark.parametrize(
    "distribution",
    [
        norm(np.linspace(-1, 1, N), np.linspace(0.1, 3, N)),
        stats.gamma(a=np.linspace(0.5, 4, N)),
        stats.laplace(0, np.linspace(1, 2, N)),
        stats.t(df=np.linspace(2, 9, N), loc=5),
    ],
    ids=["norm", "gamma", "laplace", "t"],
)
def test_transform_is_uniform_for_the_true_law(rng, distribution):
    """Moments and shares within five standard errors of those of the uniform distribution."""
    y = distribution.rvs(size=N, random_state=rng)
    values = probability_integral_transform(y, distribution)
    for power in (1, 2, 3):
        mean, square = 1 / (power + 1), 1 / (2 * power + 1)
        error = np.sqrt((square - mean**2) / N)
        assert abs(np.mean(values**power) - mean) < 5 * error
    levels = np.array([0.05, 0.3, 0.5, 0.9])
    error = np.sqrt(levels * (1 - levels) / N)
    assert (np.abs(interval_coverage(y, distribution, levels=levels) - levels) < 5 * error).all()
    # The mean of both areas is sqrt(pi / 32 / n), that is, 0.31 / sqrt(n).
    for proportion in ("quantile", "interval"):
        area = miscalibration_area(y, distribution, proportion=proportion)
        assert 0.05 / np.sqrt(N) < area < 1 / np.sqrt(N)


def test_any_object_with_the_methods_will_do():
    class Uniform:
        """Uniform on [0, width]."""

        def __init__(self, width):
            self.width = width

        def cdf(self, y):
            return np.clip(y / self.width, 0, 1)

        def icdf(self, p):
            return p * self.width

    y, distribution = [0.5, 3.0, 1.0], Uniform(np.array([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(probability_integral_transform(y, distribution), [0.5, 1, 0.25])
    coverage = interval_coverage(y, distribution, levels=[0.1, 0.5])
    np.testing.assert_allclose(coverage, [1 / 3, 2 / 3])  # both ends belong to the interval


# --------------------------------------------------------------------------- coverage


def test_coverage_by_hand():
    y = [-2.0, -0.5, 0.5, 1.0, 3.0]
    # Half-widths of the standard normal intervals: .674, 1.282, 1.645, 1.960.
    np.testing.assert_allclose(interval_coverage(y, norm(0, 1)), [0.4, 0.6, 0.6, 0.6])
    np.testing.assert_allclose(interval_coverage(y, norm(0, 1), levels=[0.97]), [0.8])
    np.testing.assert_allclose(
        interval_coverage(y, norm(0, 1), levels=0.97, sample_weight=[1, 0, 0, 0, 3]), [0.25]
    )


@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
def test_coverage_of_wrong_spreads(s):
    """Intervals s times too wide cover 2 Phi(s z) - 1, z the normal quantile."""
    y = norm.ppf(LEVELS) * 3 + 1
    levels = np.array([0.1, 0.5, 0.9, 0.99])
    expected = 2 * norm.cdf(s * norm.ppf((1 + levels) / 2)) - 1
    coverage = interval_coverage(y, norm(1, 3 * s), levels=levels)
    np.testing.assert_allclose(coverage, expected, rtol=0, atol=1.01 / N)


def test_coverage_agrees_with_the_transform(rng):
    y, loc, scale = draw_problem(rng)
    centered = np.abs(2 * probability_integral_transform(y, norm(loc, scale)) - 1)
    levels = [0.2, 0.5, 0.8]
    expected = (centered[:, None] <= levels).mean(axis=0)
    np.testing.assert_allclose(interval_coverage(y, norm(loc, scale), levels=levels), expected)


def test_coverage_of_discrete_distributions():
    """Poisson with mean 1: the interval of level 0.5 is [0, 2]."""
    y = [0, 1, 2, 3]
    np.testing.assert_array_equal(interval_coverage(y, stats.poisson(1), levels=[0.5]), [0.75])


# --------------------------------------------------------------------------- area


def test_area_by_hand():
    assert area_to_diagonal(np.array([0.5]), None) == 0.25
    assert area_to_diagonal(np.array([0.0]), None) == 0.5
    assert area_to_diagonal(np.array([1.0]), None) == 0.5
    # Share 0 up to 1/4, 1/2 up to 3/4, then 1: four triangles of area 1/32.
    assert area_to_diagonal(np.array([0.75, 0.25]), None) == 4 / 32
    # A quarter of the mass at 0: |1/4 - p| up to 1/2 and 1 - p beyond.
    assert area_to_diagonal(np.array([0.5, 0.0]), np.array([3, 1])) == 2 / 32 + 1 / 8


@pytest.mark.parametrize("n", [1, 2, 10, 1001])
def test_area_of_equally_spaced_levels(n):
    """2 n triangles of base and height 1 / (2 n)."""
    assert area_to_diagonal((np.arange(n) + 0.5) / n, None) == pytest.approx(1 / (4 * n), rel=1e-12)


def test_area_is_an_exact_integral(rng):
    for levels in (rng.random(7), np.round(rng.random(30), 1), np.array([0.0, 0.0, 1.0])):
        for weights in (None, rng.exponential(size=len(levels))):
            assert area_to_diagonal(levels, weights) == pytest.approx(
                area_slowly(levels, weights), abs=len(levels) / 2e5
            )


@pytest.mark.parametrize("s", [0.25, 0.5, 1.0, 2.0, 5.0])
def test_area_of_wrong_spreads(s):
    """The curve is Phi(s Phi^-1(p)), and its area |arctan(s) / pi - 1/4|; twice for intervals."""
    y = norm.ppf(LEVELS)
    curve = quad(lambda p: abs(norm.cdf(s * norm.ppf(p)) - p), 0, 1, points=[0.5])[0]
    closed = abs(np.arctan(s) / np.pi - 0.25)
    assert closed == pytest.approx(curve, abs=1e-8)
    assert miscalibration_area(y, norm(0, s)) == pytest.approx(closed, abs=1 / N)
    assert miscalibration_area(y, norm(0, s), proportion="interval") == pytest.approx(
        2 * closed, abs=1 / N
    )


def test_area_of_a_bias():
    """Normal targets whose mean is predicted too low by d: the curve is Phi(z_p - d).

    The area is E[U] - 1/2 with U = Phi(z + d), which is Phi(d / sqrt(2)) - 1/2.
    """
    y = norm.ppf(LEVELS)
    for d in (0.1, 1.0, -1.0):
        assert miscalibration_area(y + d, norm(0, 1)) == pytest.approx(
            abs(norm.cdf(d / np.sqrt(2)) - 0.5), abs=1 / N
        )


def test_tails_cancel_in_intervals():
    """All targets in the upper half: their intervals are right, their quantiles are not."""
    levels = (1 + LEVELS) / 2
    y = norm.ppf(levels)
    assert miscalibration_area(y, norm(0, 1), proportion="interval") < 1 / N
    assert miscalibration_area(y, norm(0, 1)) == pytest.approx(0.25, abs=1 / N)


# --------------------------------------------------------------------------- ENCE


@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_ence_of_errors_in_proportion(rng, s, n_bins):
    """Errors of one predicted deviation each, times 1 / s: |1 - 1/s| in every bin."""
    deviations = rng.uniform(0.1, 5, 103)
    y = 2.0 + deviations / s * rng.choice([-1, 1], 103)
    value = expected_normalized_calibration_error(
        y, np.full(103, 2.0), y_std=deviations, n_bins=n_bins
    )
    assert value == pytest.approx(abs(1 - 1 / s), abs=1e-12)


def test_ence_by_hand():
    y, zero, deviations = [3.0, 1.0, 2.0, 5.0], np.zeros(4), [1.0, 2.0, 3.0, 4.0]

    def gap(errors, deviations):
        return abs(1 - np.sqrt(np.sum(np.square(errors)) / np.sum(np.square(deviations))))

    value = expected_normalized_calibration_error(y, zero, y_std=deviations, n_bins=2)
    assert value == pytest.approx((gap([3, 1], [1, 2]) + gap([2, 5], [3, 4])) / 2)
    value = expected_normalized_calibration_error(y, zero, y_std=deviations, n_bins=1)
    assert value == pytest.approx(gap(y, deviations))
    # One row in each bin, the mean of |1 - |error| / deviation|.
    for n_bins in (4, 99):
        value = expected_normalized_calibration_error(y, zero, y_std=deviations, n_bins=n_bins)
        assert value == pytest.approx((2 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    # Three equal deviations are never split; the bins weigh 3 and 1.
    value = expected_normalized_calibration_error(y, zero, y_std=[1.0, 1.0, 1.0, 4.0], n_bins=4)
    assert value == pytest.approx((3 * gap([3, 1, 2], [1, 1, 1]) + 1 / 4) / 4)


def test_ence_of_calibrated_predictions(rng):
    """|RMSE / RMV - 1| of m rows has mean 1 / sqrt(pi m) for large m: 20 bins of 5000 rows."""
    n, n_bins = 100_000, 20
    deviations = rng.uniform(1, 2, n)
    y = rng.normal(0, deviations)
    value = expected_normalized_calibration_error(y, np.zeros(n), y_std=deviations, n_bins=n_bins)
    # Half-normal gaps have the deviation sqrt(pi / 2 - 1) = .76 of their mean.
    mean = np.sqrt(n_bins / n / np.pi)
    assert abs(value / mean - 1) < 5 * 0.76 / np.sqrt(n_bins)


def test_ence_does_not_depend_on_units(rng):
    y, loc, scale = draw_problem(rng)
    expected = expected_normalized_calibration_error(y, loc, y_std=scale)
    for factor in (1e-6, 1e9):
        assert expected_normalized_calibration_error(
            y * factor, loc * factor, y_std=scale * factor
        ) == pytest.approx(expected, abs=1e-12)


# --------------------------------------------------------------------------- quantiles


@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
def test_quantiles_of_wrong_spreads(s):
    """The share below the quantile of level p is Phi(s Phi^-1(p))."""
    levels = np.array([0.05, 0.25, 0.5, 0.9])
    y = norm.ppf(LEVELS)
    y_quantiles = np.broadcast_to(s * norm.ppf(levels), (N, 4))
    gap = np.abs(norm.cdf(s * norm.ppf(levels)) - levels)
    for q, expected in (
        (1, gap.mean()),
        (2, np.sqrt(np.mean(gap**2))),
        (np.inf, gap.max()),
    ):
        value = quantile_calibration_error(y, y_quantiles, quantiles=levels, norm=q)
        assert value == pytest.approx(expected, abs=1 / N)


def test_quantiles_by_hand():
    y = [1.0, 2.0, 3.0, 4.0]
    assert quantile_calibration_error(y, [2.0] * 4, quantiles=[0.5]) == 0  # a tie is below
    assert quantile_calibration_error(y, [2.0] * 4, quantiles=0.75) == 0.25
    assert quantile_calibration_error(
        y, [[2.0]] * 4, quantiles=[0.5], sample_weight=[1, 1, 0, 0]
    ) == (0.5)
    # Infinite quantiles, as conformal intervals have them.
    infinite = [[-np.inf, np.inf]] * 4
    assert quantile_calibration_error(y, infinite, quantiles=[0.25, 0.5]) == 0.375
    assert quantile_calibration_error(y, infinite, quantiles=[0.25, 0.5], norm=np.inf) == 0.5
    assert quantile_calibration_error(y, infinite, quantiles=[0.25, 0.5], norm=2) == pytest.approx(
        np.sqrt((1 / 16 + 1 / 4) / 2)
    )


def test_quantiles_are_read_column_by_column(rng):
    """Columns in any order, and quantiles that cross."""
    y = rng.normal(size=100)
    levels = np.array([0.1, 0.4, 0.6, 0.9])
    y_quantiles = norm.ppf(levels) + rng.normal(size=(100, 4))
    assert (np.diff(y_quantiles) < 0).any()
    expected = np.mean(
        [
            quantile_calibration_error(y, y_quantiles[:, k], quantiles=levels[k])
            for k in range(len(levels))
        ]
    )
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        assert quantile_calibration_error(
            y, y_quantiles[:, order], quantiles=levels[order]
        ) == pytest.approx(expected, abs=1e-15)


def test_a_large_norm_does_not_underflow():
    y, y_quantiles = np.arange(1000), np.full((1000, 2), 500)  # shares of .501
    value = quantile_calibration_error(y, y_quantiles, quantiles=[0.5, 0.4], norm=2000)
    assert value == pytest.approx(0.101 * 0.5 ** (1 / 2000))


# --------------------------------------------------------------------------- common laws

MEASURES = {
    "coverage": lambda y, loc, scale, w: interval_coverage(y, norm(loc, scale), sample_weight=w),
    "area": lambda y, loc, scale, w: miscalibration_area(y, norm(loc, scale), sample_weight=w),
    "area of intervals": lambda y, loc, scale, w: miscalibration_area(
        y, norm(loc, scale), sample_weight=w, proportion="interval"
    ),
    "ENCE": lambda y, loc, scale, w: expected_normalized_calibration_error(
        y, loc, y_std=scale, sample_weight=w, n_bins=7
    ),
    "quantiles": lambda y, loc, scale, w: quantile_calibration_error(
        y, np.column_stack([loc - scale, loc + scale]), quantiles=[0.16, 0.84], sample_weight=w
    ),
}
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


@every_measure
def test_order_repetition_and_absence(rng, measure):
    problem = [np.round(x, 1) for x in draw_problem(rng)]  # with ties
    weights = rng.integers(0, 4, 200)
    expected = measure(*problem, weights)
    order, rows = rng.permutation(200), np.repeat(np.arange(200), weights)
    present = np.flatnonzero(weights)
    for value in (
        measure(*(x[order] for x in problem), weights[order]),
        measure(*(x[rows] for x in problem), None),
        measure(*(x[present] for x in problem), weights[present]),
        measure(*(x[present] for x in problem), weights[present].astype(np.float32)),
    ):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        measure(*problem, np.ones(200)), measure(*problem, None), rtol=0, atol=1e-13
    )


@every_measure
def test_containers(rng, measure):
    problem = [np.round(x, 2) for x in draw_problem(rng, 50)]
    expected = measure(*problem, None)
    y, loc, scale = problem
    np.testing.assert_array_equal(measure(y.tolist(), loc, scale, None), expected)
    np.testing.assert_array_equal(measure(y[:, None], loc, scale, None), expected)
    series = pd.Series(y, index=np.arange(50)[::-1])
    np.testing.assert_array_equal(measure(series, loc, scale, None), expected)
    np.testing.assert_array_equal(measure(y.astype(object), loc, scale, None), expected)


@every_measure
def test_float32_accumulates_in_float64(measure):
    """Residuals of 1/4 of a deviation of 1/2 are exact in float32, their long sums are not."""
    y = np.tile([0.75, 1.25], 50_000).astype(np.float32)
    loc, scale = np.ones_like(y), np.full_like(y, 0.5)
    np.testing.assert_allclose(
        measure(y, loc, scale, None),
        measure(*(x.astype(np.float64) for x in (y, loc, scale)), None),
        rtol=0,
        atol=1e-12,
    )


@every_measure
def test_single_row(measure):
    assert np.isfinite(measure([1.0], np.array([0.5]), np.array([2.0]), None)).all()


# --------------------------------------------------------------------------- bad input

DISTRIBUTION = norm([0.0, 1.0, 2.0], 1.0)
by_distribution = pytest.mark.parametrize(
    "function", [probability_integral_transform, interval_coverage, miscalibration_area]
)


@by_distribution
@pytest.mark.parametrize(
    ("y_true", "message"),
    [
        ([0.0, np.nan, 1.0], "y_true must hold finite numbers; got nan at row 1"),
        ([0.0, 1.0, np.inf], "y_true must hold finite numbers; got inf at row 2"),
        (["a", "b", "c"], "y_true must hold real numbers"),
        ([0.0, None, 1.0], "y_true must hold finite numbers; got nan at row 1"),
        ([[0.0, 1.0], [2.0]], "y_true must hold real numbers in a regular array"),
        ([[0.0, 1.0]] * 3, r"y_true must be one-dimensional.*; got shape \(3, 2\)"),
        ([], "y_true must be one-dimensional, with at least one row"),
        (3.0, "y_true must be one-dimensional"),
        (csr_array([[0.0, 1.0, 1.0]]), "y_true must be a dense array; got a sparse one"),
        (np.ma.masked_equal([0.0, 1.0, 2.0], 1.0), "y_true must not be masked"),
        ([0.0, 1.0], "distribution must predict one number for each of the 2 rows"),
    ],
)
def test_bad_targets(function, y_true, message):
    with pytest.raises(ValueError, match=message):
        function(y_true, DISTRIBUTION)


@by_distribution
@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (norm(np.zeros(3), [1.0, -1.0, 1.0]), "got nan at row 1"),
        (norm(np.zeros((3, 1)), 1.0), r"each of the 3 rows of y_true; .* shape \(3, .\)"),
        (np.zeros(3), r"distribution must have a method (cdf|ppf).*; got ndarray"),
        (None, r"distribution must have a method (cdf|ppf).*; got NoneType"),
    ],
)
def test_bad_distributions(function, distribution, message):
    with pytest.raises(ValueError, match=message):
        function([0.0, 1.0, 2.0], distribution)


@pytest.mark.parametrize("function", [probability_integral_transform, miscalibration_area])
def test_discrete_distributions_have_no_uniform_transform(function):
    for distribution in (
        stats.poisson([1.0, 2.0]),
        stats.rv_discrete(values=([0, 1], [0.5, 0.5])),
    ):
        with pytest.raises(ValueError, match="distribution must be continuous"):
            function([0.0, 1.0], distribution)


def test_cdf_outside_0_and_1():
    class Wrong:
        def cdf(self, y):
            return np.asarray(y)

    with pytest.raises(ValueError, match=r"cdf must lie in \[0, 1\]; got 2.0 at row 1"):
        probability_integral_transform([1.0, 2.0], Wrong())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": [0.5, 1.0]}, r"levels must lie strictly between 0 and 1; got \[0.5, 1.0\]"),
        ({"levels": [0.0]}, "levels must lie strictly between 0 and 1"),
        ({"levels": [np.nan]}, "levels must lie strictly between 0 and 1"),
        ({"levels": []}, "levels must be one-dimensional, with at least one level"),
        ({"levels": [[0.5]]}, r"levels must be one-dimensional.*; got shape \(1, 1\)"),
        ({"levels": "95%"}, "levels must hold real numbers"),
        ({"sample_weight": [1, 1]}, r"sample_weight must have shape \(3,\)"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be finite and not negative"),
    ],
)
def test_bad_options_of_the_coverage(options, message):
    with pytest.raises(ValueError, match=message):
        interval_coverage([0.0, 1.0, 2.0], DISTRIBUTION, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"proportion": "quantiles"}, "proportion must be one of .* Did you mean 'quantile'"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight must hold at least one positive weight"),
    ],
)
def test_bad_options_of_the_area(options, message):
    with pytest.raises(ValueError, match=message):
        miscalibration_area([0.0, 1.0, 2.0], DISTRIBUTION, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_std": [1.0, 0.0, 1.0]}, "y_std must be positive; got 0.0 at row 1"),
        ({"y_std": [1.0, 1.0, -2.0]}, "y_std must be positive; got -2.0 at row 2"),
        (
            {"y_std": [1.0, 1e-200, 1.0], "y_pred": [0.0, 2.0, 2.0]},
            r"y_true must lie within 1e\+100 standard deviations .* got 1e\+200 at row 1",
        ),
        ({"y_pred": [0.0, -1.7e308, 2.0], "y_true": [0.0, 1.7e308, 2.0]}, "got inf at row 1"),
        ({"y_std": [1.0, np.nan, 1.0]}, "y_std must hold finite numbers; got nan at row 1"),
        ({"y_std": [1.0, 1.0]}, "y_true and y_std must have the same length; got 3 and 2"),
        ({"y_std": 1.0}, "y_std must be one-dimensional"),
        ({"y_pred": [1.0]}, "y_true and y_pred must have the same length; got 3 and 1"),
        ({"y_pred": [1.0, np.inf, 1.0]}, "y_pred must hold finite numbers; got inf at row 1"),
        ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
        ({"n_bins": "auto"}, "n_bins must be an integer; got 'auto'"),
        ({"sample_weight": [0.2, 0.2, 0.2]}, "read sample_weight as counts.* got 0.6"),
    ],
)
def test_bad_input_of_ence(change, message):
    given = {"y_true": [0.0, 1.0, 2.0], "y_pred": [0.0, 1.0, 1.0], "y_std": [1.0, 2.0, 3.0]}
    with pytest.raises(ValueError, match=message):
        expected_normalized_calibration_error(**(given | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantiles": [0.5]}, r"y_quantiles must have shape \(3, 1\).*; got \(3, 2\)"),
        ({"quantiles": [0.5, 0.5]}, r"quantiles must be distinct; got \[0.5, 0.5\]"),
        ({"quantiles": [0.5, 95]}, "quantiles must lie strictly between 0 and 1"),
        ({"quantiles": None}, "quantiles must lie strictly between 0 and 1"),
        (
            {"y_quantiles": [[0.0, 1.0]] * 2},
            r"y_quantiles must have shape \(3, 2\).*; got \(2, 2\)",
        ),
        ({"y_quantiles": [0.0, 1.0, 2.0]}, r"y_quantiles must have shape \(3, 2\).*; got \(3,\)"),
        ({"y_quantiles": [[0, 1], [0, np.nan], [0, 1]]}, "y_quantiles must not hold NaN; .* row 1"),
        ({"norm": 0.5}, "norm must be at least 1"),
        ({"sample_weight": [1, np.nan, 1]}, "sample_weight must be finite"),
    ],
)
def test_bad_input_of_quantiles(change, message):
    given = {"y_quantiles": [[0.0, 1.0]] * 3, "quantiles": [0.2, 0.8]} | change
    with pytest.raises(ValueError, match=message):
        quantile_calibration_error([0.0, 1.0, 2.0], **given)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_ence_does_not_depend_on_the_unit(unit):
    """Squares of errors and of deviations neither overflow nor vanish."""
    errors, deviations = np.array([1.0, -1.0, 2.0, -2.0]), np.array([1.0, 1.0, 4.0, 4.0])
    error = expected_normalized_calibration_error(
        unit * errors, np.zeros(4), y_std=unit * deviations, n_bins=2
    )
    assert error == pytest.approx(0.25)  # |1 - 1 / 1| and |4 - 2| / 4
    error = expected_normalized_calibration_error(  # bins of very different units
        [1.0, 1.0, unit, unit], np.zeros(4), y_std=[2.0, 2.0, 4 * unit, 4 * unit], n_bins=2
    )
    assert error == pytest.approx((0.5 + 0.75) / 2)


def test_ence_reads_no_row_without_weight():
    """A huge deviation of weight 0 does not decide the unit of its bin."""
    error = expected_normalized_calibration_error(
        [1.0, 1.0, 0.0], [0.0, 0.0, 0.0], y_std=[2.0, 2.0, 1e250], sample_weight=[1, 1, 0], n_bins=1
    )
    assert error == 0.5
    error = expected_normalized_calibration_error(  # a bin of next to no weight
        [1.0, 1.0], [0.0, 0.0], y_std=[2.0, 1e75], sample_weight=[2.0, 5e-324]
    )
    assert error == 0.5


def test_distributions_far_away_do_not_warn():
    """What overflows inside of a distribution of SciPy ends at 0 or 1."""
    y_true, distribution = [1.7e308, -1.7e308], norm(0.0, 0.5)
    assert probability_integral_transform(y_true, distribution).tolist() == [1.0, 0.0]
    assert miscalibration_area(y_true, distribution) == 0.25
    with pytest.raises(ValueError, match=r"cdf must lie in \[0, 1\]; got nan at row 0"):
        probability_integral_transform([1.0], norm(0.0, 0.0))
    assert interval_coverage([1.0], norm([np.inf], 1.0), levels=0.5).tolist() == [0.0]


def test_multivariate_distributions_have_no_transform():
    """SciPy meets shapes that do not fit with an IndexError."""
    with pytest.raises(ValueError, match="must predict one number for each of the 1 rows"):
        probability_integral_transform([0.0], stats.multivariate_normal([0.0, 0.0]))
