"""The bootstrap on grids: against the sample itself, redrawn rows and closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import erf, erfinv, expit
from scipy.stats import ks_2samp

from skcal._estimates._smooth import trace_curve
from skcal._numerics import _resampling
from skcal._numerics._kernel_regression import regress_on_kernel
from skcal._numerics._resampling import (
    CellResampler,
    RowResampler,
    bootstrap_bin_means,
    bootstrap_diagram,
    bootstrap_smooth_ece,
    choose_cells,
    find_fixed_points,
    find_percentile_band,
    regress_resamples,
    smoothed_errors,
)
from skcal._numerics._smooth import (
    TOLERANCE,
    cosine_moments,
    count_intervals,
    integrate_sizes,
    smoothed_error,
)
from skcal._sample import Sample
from skcal.metrics import smooth_ece, smooth_ece_curve


class IdentityDraws:
    """A random generator whose resample is the sample."""

    def choice(self, n_rows, size):
        assert n_rows == size
        return np.arange(n_rows)

    def multinomial(self, n_rows, shares):
        return np.round(n_rows * shares).astype(int)


def draw_sample(n, seed=0, low=0.0, high=1.0):
    rng = np.random.default_rng(seed)
    v = rng.uniform(low, high, n)
    return v, (rng.random(n) < v**1.3).astype(float)


def draw_curves(*arguments):
    """Curves of resamples alone."""
    return bootstrap_diagram(*arguments)[1]


def in_cells(v, y, n_groups, n_cells=1 << 14):
    return CellResampler(Sample(v, y).moments_by_outcome(n_cells), n_groups)


def in_rows(v, y, weights=None, n_cells=1 << 14):
    return RowResampler(v, y, weights, n_cells)


def sources(v, y, n_cells=1 << 14):
    return {"rows": in_rows(v, y, n_cells=n_cells), "cells": in_cells(v, y, 1 << 10, n_cells)}


CASES = {
    "many": draw_sample(3000),
    "narrow": draw_sample(3000, low=0.4, high=0.6),
    "ties": (np.tile([0.1, 0.25, 0.8], 20), np.tile([0.0, 1.0, 1.0, 1.0, 0.0], 12)),
    "hard": (np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0, 0.0])),
    "perfect": (np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0])),
    "single class": (np.linspace(0.1, 0.7, 30), np.ones(30)),
    "single row": (np.array([0.3]), np.array([1.0])),
    "last cell": (np.array([0.3, 1.0, 1.0]), np.array([1.0, 0.0, 0.0])),
}


@pytest.mark.parametrize("source", ["rows", "cells"])
@pytest.mark.parametrize("case", CASES)
def test_identity_resample_is_the_sample(case, source):
    v, y = CASES[case]
    resampler = sources(v, y)[source]
    (value,) = bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    # The bound of the docstring, and that of smooth_ece.
    assert value == pytest.approx(smooth_ece(y, v, labels=[0, 1]), abs=1e-6 + 1e-6)
    curve = smooth_ece_curve(y, v, labels=[0, 1], n_points=101)
    (resample,) = draw_curves(resampler, curve.bandwidth, 101, 1, IdentityDraws())
    np.testing.assert_allclose(resample, curve.prob_true, atol=1e-8)


def test_identity_with_weights_and_soft_labels():
    rng = np.random.default_rng(1)
    v, y, w = rng.random(200), rng.random(200), rng.exponential(size=200)
    resampler = in_rows(v, y, w)
    (value,) = bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    assert value == pytest.approx(smooth_ece(y, v, sample_weight=w), abs=2e-6)
    curve = smooth_ece_curve(y, v, sample_weight=w, bandwidth=0.03)
    (resample,) = draw_curves(resampler, 0.03, 201, 1, IdentityDraws())
    np.testing.assert_allclose(resample, curve.prob_true, atol=1e-8)


@pytest.mark.parametrize("bandwidth", [1.0, 1 / 128, 0.0077, 0.002, 1e-3, 2.3e-4])
def test_cells_are_as_many_as_documented(bandwidth):
    n_groups, n_cells = choose_cells(bandwidth)
    assert max(512, 4 / bandwidth) <= n_groups < max(512, 4 / bandwidth) + 1
    # Lengths of fast transforms are less than 1/15 apart from 3072 on.
    assert 6 * n_groups <= n_cells < 6.4 * n_groups


@pytest.mark.parametrize("source", ["rows", "cells", "weighted rows"])
def test_the_sample_itself_is_what_identical_draws_give(source):
    v, y = draw_sample(100, seed=26)
    if source == "weighted rows":
        resampler = in_rows(v, y, np.random.default_rng(27).exponential(size=100))
    else:
        resampler = sources(v, y)[source]
    kept, drawn = [resampler.keep()], [resampler.draw(IdentityDraws())]
    for nodes_of in (resampler.residual_nodes, resampler.mass_nodes):
        for ours, expected in zip(nodes_of(kept), nodes_of(drawn), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("source", ["rows", "cells"])
def test_one_resample_is_a_sample_of_repeated_rows(source):
    v, y = np.repeat(np.linspace(0.02, 0.98, 25), 8), np.tile([0.0, 1, 1, 0, 0, 0, 1, 0], 25)
    resampler = sources(v, y)[source]
    values = bootstrap_smooth_ece(resampler, 5, np.random.default_rng(3))
    curves = draw_curves(resampler, 0.04, 51, 5, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    for value, curve in zip(values, curves, strict=True):
        drawn = resampler.draw(rng)
        if source == "rows":
            counts = np.round(drawn * len(v))
        else:
            cells = np.minimum((v * 2**14).astype(int), 2**14 - 1)
            counts = drawn[y.astype(int), resampler.group[cells]]
        assert counts.sum() == pytest.approx(len(v))
        _, (size,) = resampler.residual_nodes([drawn])
        assert size == pytest.approx(np.average(np.abs(y - v), weights=counts), rel=1e-12)
        assert value == pytest.approx(smooth_ece(y, v, sample_weight=counts), abs=2e-6)
        expected = smooth_ece_curve(y, v, sample_weight=counts, bandwidth=0.04, n_points=51)
        np.testing.assert_allclose(curve, expected.prob_true, atol=1e-8)


@pytest.mark.parametrize("cells", [3.1, 3.5, 3.9, 6, 20])
def test_small_values_are_as_accurate_as_documented(cells):
    """Two opposite residuals, d apart: smECE_s = 0.1 erf(d / (2 sqrt(2) s))."""
    step, size = 1 / 4096, 0.1
    exact = cells * step
    distance = 2 * np.sqrt(2) * exact * erfinv(exact / size)
    v = 0.5 + 0.3 * step + np.array([0, distance])
    resampler = in_rows(v, v + np.array([size, -size]), n_cells=4096)
    (value,) = bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    assert value == pytest.approx(exact, abs=0.0657 / cells**4 * size + 1.4e-6)


@pytest.mark.slow
def test_law_is_that_of_redrawn_rows():
    v, y = draw_sample(1500, seed=4)
    rng = np.random.default_rng(5)
    drawn_rows = [rng.integers(1500, size=1500) for _ in range(600)]
    values = np.array([smooth_ece(y[rows], v[rows]) for rows in drawn_rows])
    curves = np.array(
        [
            smooth_ece_curve(y[rows], v[rows], bandwidth=0.05, n_points=11).prob_true
            for rows in drawn_rows[:300]
        ]
    )
    for resampler in (in_rows(v, y), in_cells(v, y, 1 << 10)):
        ours = bootstrap_smooth_ece(resampler, 2000, np.random.default_rng(6))
        assert_same_law(ours, values)
        ours = draw_curves(resampler, 0.05, 11, 2000, np.random.default_rng(6))
        for point in (0, 3, 5, 9):
            assert_same_law(ours[:, point], curves[:, point])


def assert_same_law(first, second):
    """Kolmogorov-Smirnov, and mean and standard deviation within four standard errors."""
    assert ks_2samp(first, second).pvalue > 1e-3
    shares = 1 / len(first) + 1 / len(second)
    assert abs(first.mean() - second.mean()) < 4 * second.std() * np.sqrt(shares)
    assert abs(np.log(first.std() / second.std())) < 4 * np.sqrt(shares / 2)


@pytest.mark.parametrize("source", ["rows", "cells"])
def test_variance_of_a_mean_is_the_bootstrap_variance(source):
    v, y = draw_sample(2000, seed=7)
    resampler = sources(v, y, n_cells=1 << 10)[source]
    wave = np.cos(3 * np.pi * np.linspace(0, 1, resampler.n_cells + 1))
    rng = np.random.default_rng(8)
    nodes, _ = resampler.residual_nodes([resampler.draw(rng) for _ in range(4000)])
    means = nodes @ wave
    rows = (y - v) * np.cos(3 * np.pi * v)
    assert np.mean(means) == pytest.approx(rows.mean(), abs=4 * rows.std() / np.sqrt(2000 * 4000))
    assert np.std(means) == pytest.approx(rows.std() / np.sqrt(2000), rel=4 / np.sqrt(2 * 4000))


@pytest.mark.parametrize("groups_in_bandwidth", [4, 16])
def test_variance_lost_in_groups_is_as_documented(groups_in_bandwidth):
    n, bandwidth = 200000, 0.1
    n_groups = int(groups_in_bandwidth / bandwidth)
    v, y = draw_sample(n, seed=9)
    smoothed = np.exp(-0.5 * ((0.5 - v) / bandwidth) ** 2) * (y - v)
    group = 2 * (v * n_groups).astype(int) + y.astype(int)
    counts = np.maximum(np.bincount(group), 1)
    means = np.bincount(group, smoothed) / counts
    lost = np.mean((smoothed - means[group]) ** 2) / np.mean(smoothed**2)
    # r = y - v varies inside a group as well, which adds to it at large bandwidths.
    assert lost == pytest.approx(1 / groups_in_bandwidth**2 / 24, rel=0.2)


def test_weighted_rows_keep_their_weights():
    v, y = draw_sample(300, seed=10)
    w = np.random.default_rng(11).exponential(size=300)
    rng = np.random.default_rng(12)
    resampler = in_rows(v, y, w, n_cells=256)
    ours = bootstrap_smooth_ece(resampler, 800, np.random.default_rng(13))
    drawn = [rng.integers(300, size=300) for _ in range(400)]
    redrawn = np.array([smooth_ece(y[i], v[i], sample_weight=w[i]) for i in drawn])
    assert_same_law(ours, redrawn)
    unweighted = bootstrap_smooth_ece(in_rows(v, y), 800, np.random.default_rng(13))
    assert ks_2samp(unweighted, redrawn).pvalue < 1e-3  # the weights matter here


def test_rows_of_weight_zero_are_absent_and_a_common_weight_does_not_matter():
    v, y = draw_sample(50, seed=14)
    w = np.full(50, 3.0)
    plain = bootstrap_smooth_ece(in_rows(v, y), 20, np.random.default_rng(0))
    np.testing.assert_allclose(
        bootstrap_smooth_ece(in_rows(v, y, w), 20, np.random.default_rng(0)), plain, atol=1e-9
    )
    padded = in_rows(np.append(v, 0.9), np.append(y, 0.0), np.append(w, 0.0))
    np.testing.assert_allclose(
        bootstrap_smooth_ece(padded, 20, np.random.default_rng(0)), plain, atol=1e-9
    )


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("source", ["rows", "cells"])
def test_seeds_and_batches(monkeypatch, make, source):
    v, y = draw_sample(400, seed=15)
    resampler = sources(v, y)[source]

    def run(seed):
        return (
            bootstrap_smooth_ece(resampler, 12, make(seed)),
            draw_curves(resampler, 0.05, 21, 12, make(seed)),
        )

    first, again, other = run(1), run(1), run(2)
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()
    assert len(np.unique(first[0])) == 12
    monkeypatch.setattr(_resampling, "_BUDGET", 5 * resampler.n_cells)
    for a, b in zip(first, run(1), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("source", ["rows", "cells"])
def test_diagram_has_values_and_curves_of_the_same_resamples(source):
    resampler = sources(*draw_sample(400, seed=24))[source]
    values, curves = bootstrap_diagram(resampler, 0.05, 21, 12, np.random.default_rng(1))
    expected = bootstrap_smooth_ece(resampler, 12, np.random.default_rng(1))
    np.testing.assert_allclose(values, expected, atol=1e-6)
    rng = np.random.default_rng(1)
    drawn = resampler.mass_nodes([resampler.draw(rng) for _ in range(12)])
    np.testing.assert_allclose(curves, regress_resamples(*drawn, 0.05, 21), atol=1e-9)


@pytest.mark.parametrize("source", ["rows", "cells"])
def test_degenerate_samples(source):
    def run(case):
        resampler = sources(*CASES[case])[source]
        values = bootstrap_smooth_ece(resampler, 30, np.random.default_rng(0))
        curves = draw_curves(resampler, 0.01, 21, 30, np.random.default_rng(0))
        assert np.isfinite(curves).all()
        assert ((curves >= 0) & (curves <= 1)).all()
        return values, curves

    values, _ = run("perfect")
    np.testing.assert_array_equal(values, 0.0)
    values, curves = run("single row")
    np.testing.assert_allclose(values, 0.7, atol=1e-6)
    np.testing.assert_allclose(curves, 1.0, atol=1e-12)
    values, curves = run("single class")  # residuals of one sign: the mean of 1 - v
    assert values.mean() == pytest.approx(0.6, abs=0.1)
    assert np.ptp(values) > 0.02
    np.testing.assert_allclose(curves, 1.0, atol=1e-12)
    run("hard")
    run("ties")


def test_tails_follow_the_nearest_rows_of_each_resample():
    rng = np.random.default_rng(16)
    masses = rng.random((6, 257)) * (rng.random((6, 257)) < 0.05)
    masses[:, 100:200] = 0.0
    positives = masses * rng.random((6, 257))
    curves = regress_resamples(masses, positives, 0.004, 65)
    for mass, positive, curve in zip(masses, positives, curves, strict=True):
        expected, _ = regress_on_kernel(mass, positive, 0.004, 65)
        np.testing.assert_allclose(curve, expected, atol=1e-7)


@pytest.mark.parametrize(
    ("bandwidth", "nodes", "n_points"),
    [(0.01, (512, 513), 1001), (0.02, (400, 402), 101), (0.05, (255, 258), 3)],
)
def test_curve_of_two_places_is_logistic(bandwidth, nodes, n_points):
    """Of one negative and one positive place: the ratio of two kernels is exp(a + b t)."""
    places, points = np.array(nodes) / 1024, np.linspace(0, 1, n_points)
    masses, positives = np.zeros((2, 3, 1025))
    odds = np.array([0.2, 1.0, 5.0])
    masses[:, nodes[0]], masses[:, nodes[1]] = 1 / (1 + odds), odds / (1 + odds)
    positives[:, nodes[1]] = masses[:, nodes[1]]
    # The kernel and its images at the two ends; others are further away than 1.
    negative, positive = (
        np.logaddexp.reduce([-0.5 * ((points - at) / bandwidth) ** 2 for at in (v, -v, 2 - v)])
        for v in places
    )
    expected = expit(np.log(odds)[:, None] + positive - negative)
    curves = regress_resamples(masses, positives, bandwidth, n_points)
    np.testing.assert_allclose(curves, expected, rtol=0, atol=1e-7)


def test_errors_of_opposite_residuals_have_a_closed_form():
    """K_s(t - a) - K_s(t - b) has one sign change, and its size integrates to 2 erf."""
    rng = np.random.default_rng(28)
    bandwidths = np.exp(rng.uniform(np.log(0.002), np.log(0.03), 80))
    sizes = np.tile([0.9, 0.4, 0.01, 1e-5], 20)
    middle, half = rng.integers(1700, 2400, 80), np.ceil(bandwidths * 2048).astype(int)
    nodes, each = np.zeros((80, 4097)), np.arange(80)
    nodes[each, middle - half], nodes[each, middle + half] = sizes / 2, -sizes / 2
    exact = sizes * erf(half / 4096 / np.sqrt(2) / bandwidths)
    errors = smoothed_errors(cosine_moments(nodes), bandwidths, sizes)
    np.testing.assert_allclose(errors, exact, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("bandwidth", [1.0, 0.11, 0.013])
@pytest.mark.parametrize("size", [0.97, 0.1, 0.013, 0.0])
def test_lengths_of_transforms_follow_from_the_own_bandwidth_and_size(monkeypatch, bandwidth, size):
    lengths = []

    def integrate(damped):
        lengths.append(damped.shape[1] - 1)
        return integrate_sizes(damped)

    monkeypatch.setattr(_resampling, "integrate_sizes", integrate)
    smoothed_errors(np.ones((1, 300)), np.array([bandwidth]), np.array([size]))
    least, step = count_intervals(bandwidth, size), 2**0.25
    assert least <= lengths[0] <= count_intervals(bandwidth / step, size * step)


def test_errors_of_many_are_those_of_each():
    rng = np.random.default_rng(17)
    bandwidths = np.array([0.9, 0.3, 0.05, 0.049, 0.004, 0.003])
    sizes = np.array([0.5, 0.01, 0.4, 0.4, 0.2, 0.3])
    nodes = np.zeros((6, 4097))
    for row, size in zip(nodes, sizes, strict=True):
        row[rng.integers(0, 4097, 300)] = rng.normal(size=300)
        row -= row[::-1].copy()  # of sum 0, so that what is smoothed changes its sign
        row *= size / np.abs(row).sum()
    moments = np.stack([cosine_moments(row) for row in nodes])
    alone = [smoothed_error(*row) for row in zip(moments, bandwidths, sizes, strict=True)]
    np.testing.assert_allclose(smoothed_errors(moments, bandwidths, sizes), alone, atol=8e-7)


@pytest.mark.parametrize("size", [0.9, 1.01, 1.1, 3.0])
def test_sign_changes_inside_an_interval_are_found(size):
    """f = 1 + size cos(2 pi t) dips below zero between two nodes for the sizes 1.01 and 1.1."""
    damped = np.zeros((2, 41))
    damped[0, :3], damped[1, :3] = [1, 0, size / 2], [-1, 0, -size / 2]
    dip = np.arccos(min(1 / size, 1)) / np.pi  # length of where f is negative
    exact = 1 - 2 * (dip - size * np.sin(np.pi * dip) / np.pi)
    np.testing.assert_allclose(integrate_sizes(damped), exact, atol=1e-6)
    if 1 < size < 1.2:
        assert exact > 1 + 1e-4  # what |f| at few nodes cannot see


def test_fixed_points_of_many_functions():
    roots = np.array([0.3, 0.5, 1e-3, 2e-4, 0.03, 0.1])
    steep = np.array([0, 0.7, 30, 2, 5, 1000])
    evaluations = []

    def errors_at(points, rows):
        evaluations.append(len(rows))
        return np.maximum(roots[rows] + steep[rows] * (roots[rows] - points), 0.0)

    for start in (1e-3, 0.5):
        found = find_fixed_points(errors_at, np.full(6, start), 1e-4)
        np.testing.assert_allclose(found, roots, atol=2e-7)
    assert len(evaluations) < 60

    def powers(points, rows):  # the noise of a calibrated sample: smECE_s ~ s^-1/2
        return 1e-3 * points**-0.5

    assert find_fixed_points(powers, np.array([0.9]), 1e-4)[0] == pytest.approx(
        brentq(lambda s: 1e-3 * s**-0.5 - s, 1e-4, 1), abs=2e-7
    )


@pytest.mark.parametrize(("power", "n_evaluations"), [(-0.5, 2), (-0.2, 3)])
def test_powers_take_few_evaluations(power, n_evaluations):
    """One step has the slope of noise, the next one that of the function: both exact here."""
    roots, evaluations = np.array([0.002, 0.03, 0.4]), []

    def errors_at(points, rows):
        evaluations.append(len(rows))
        return roots[rows] * (points / roots[rows]) ** power

    for factor in (0.5, 2.0):
        found = find_fixed_points(errors_at, factor * roots, 1e-4)
        np.testing.assert_allclose(found, roots, atol=1e-7)
    assert len(evaluations) == 2 * n_evaluations


@pytest.mark.parametrize("steep", [1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("tolerance", [1e-7, 1e-4])
def test_steep_functions_take_no_more_than_bisection_twice(steep, tolerance):
    roots = np.exp(np.random.default_rng(29).uniform(np.log(2e-4), np.log(0.9), 200))
    evaluations = []

    def errors_at(points, rows):
        evaluations.append(len(rows))
        return np.clip(roots[rows] + steep * (roots[rows] - points), 0.0, 1.0)

    for start in (1e-3, 0.5, 1.0):
        evaluations.clear()
        found = find_fixed_points(errors_at, np.full(200, start), 1e-4, tolerance)
        np.testing.assert_allclose(found, roots, rtol=0, atol=tolerance)
        # One more at `smallest`, and the first one gives the bracket.
        assert len(evaluations) <= 2 * np.ceil(np.log2(1 / tolerance)) + 2


def test_below_the_smallest_point_the_error_there_is_the_value():
    start = np.array([0.4, 1e-3, 1e-4 + 5e-8])
    found = find_fixed_points(lambda s, rows: np.full(len(s), 1e-6), start, 1e-4)
    np.testing.assert_array_equal(found, 1e-6)


@pytest.mark.slow
def test_percentile_band_covers_the_smoothed_target():
    """Population curve smoothed alike, v ~ U(0, 1) and E[y|v] = v^2 (3 - 2v)."""
    n, bandwidth, n_cells, n_points = 2000, 0.05, 256, 9
    centers = (np.arange(20000) + 0.5) / 20000
    law = in_rows(centers, centers**2 * (3 - 2 * centers), n_cells=n_cells)
    (mass,), (positive,) = law.mass_nodes([law.keep()])
    target, _ = regress_on_kernel(mass, positive, bandwidth, n_points)
    rng = np.random.default_rng(18)
    covered = []
    for _ in range(200):
        v = rng.random(n)
        y = (rng.random(n) < v**2 * (3 - 2 * v)).astype(float)
        curves = draw_curves(in_rows(v, y, n_cells=n_cells), bandwidth, n_points, 200, rng)
        low, high = find_percentile_band(curves, 0.95)
        covered.append((low <= target) & (target <= high))
    coverage = np.mean(covered, axis=0)[1:-1]
    assert (coverage > 0.90).all()
    assert (coverage < 0.98).all()


def test_percentile_band_is_pointwise():
    curves = np.array([np.arange(101.0), 2 * np.arange(101.0)]).T
    low, high = find_percentile_band(curves, 0.9)
    np.testing.assert_allclose(low, [5, 10])
    np.testing.assert_allclose(high, [95, 190])


def test_sample_chooses_cells_only_where_rows_are_many_and_alike():
    v, y = draw_sample(40000, seed=19)
    v, y = np.round(v, 4), y.astype(int)
    for sample in (
        Sample(v, y),
        Sample(v.astype(np.float32), y == 1),
        Sample(v, y, np.full(40000, 2.0)),
    ):
        resampler = sample.resampler(0.05)
        assert isinstance(resampler, CellResampler)
        assert resampler.counts.sum() == 40000
        assert resampler.counts[1].sum() == y.sum()
    for sample in (
        Sample(v[:1000], y[:1000]),
        Sample(v, y, 1.0 + v),
        Sample(v, 0.5 * y),
        Sample(v, y, (v > 0.1).astype(float)),
    ):
        assert isinstance(sample.resampler(0.05), RowResampler)
    for bandwidth in (0.3, 0.03, 0.003, 0.002):
        resampler = Sample(v, y).resampler(bandwidth)
        assert resampler.n_cells * bandwidth >= 24
        assert resampler.counts.shape[1] * bandwidth >= 4
    # Narrow groups outnumber these rows.
    assert isinstance(Sample(v, y).resampler(0.0002), RowResampler)


def test_identity_on_the_grid_that_a_sample_chooses():
    """Linear sharing moves a curve by (h/s)^2 / 8 of its scaled curvature at most."""
    v, y = draw_sample(40000, seed=23)
    for bandwidth in (0.3, 0.05, 0.012, 0.004):
        resampler = Sample(v, y).resampler(bandwidth)
        (resample,) = draw_curves(resampler, bandwidth, 201, 1, IdentityDraws())
        curve = smooth_ece_curve(y, v, bandwidth=bandwidth)
        np.testing.assert_allclose(resample, curve.prob_true, atol=1 / 24**2 / 8)
    (value,) = bootstrap_smooth_ece(Sample(v, y).resampler(0.03), 1, IdentityDraws())
    assert value == pytest.approx(smooth_ece(y, v), abs=2e-6)


def test_cells_match_rows_at_scale():
    v, y = draw_sample(60000, seed=20)
    cells, rows = Sample(v, y).resampler(0.03), in_rows(v, y)
    assert_same_law(
        bootstrap_smooth_ece(cells, 400, np.random.default_rng(21)),
        bootstrap_smooth_ece(rows, 150, np.random.default_rng(22)),
    )


class TestOtherScales:
    """Rows on a line of another length than 1, as those of logits."""

    def make(self, weights=None):
        v, y = draw_sample(400, seed=7, low=0.01, high=0.3)
        sample = Sample(v, y, weights)
        value = smooth_ece(y, v, sample_weight=weights, scale="logit")
        curve, line = trace_curve(sample, value, 0.3, 101, "logit")
        return v, y, curve, line, sample.resampler(min(0.3, value), line.place, line.width)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_identity_resample_is_the_sample(self, weighted):
        weights = np.random.default_rng(1).exponential(size=400) if weighted else None
        v, y, curve, line, resampler = self.make(weights)
        (value,), (resample,) = bootstrap_diagram(
            resampler, 0.3 / line.width, line.n_points, 1, IdentityDraws()
        )
        # The bounds of the docstrings times the range of the scale.
        expected = smooth_ece(y, v, sample_weight=weights, scale="logit")
        assert value == pytest.approx(expected, abs=2e-6 * line.width)
        np.testing.assert_allclose(resample[line.inside], curve.prob_true, atol=1e-6)

    def test_one_resample_is_a_sample_of_repeated_rows(self):
        v, y, _, _, resampler = self.make()
        values = bootstrap_smooth_ece(resampler, 5, np.random.default_rng(3))
        rng = np.random.default_rng(3)
        for value in values:
            counts = np.round(resampler.draw(rng) * len(v))
            expected = smooth_ece(y, v, sample_weight=counts, scale="logit")
            assert value == pytest.approx(expected, abs=2e-6 * resampler.width)


class TestBinMeans:
    def draw(self, weights=None):
        rng = np.random.default_rng(0)
        index = np.repeat([0, 1, 2], [200, 5, 795])
        y = (rng.random(1000) < 0.3).astype(float)
        weights = np.ones(1000) if weights is None else weights
        return index, y, weights

    def test_identity(self):
        index, y, w = self.draw(np.random.default_rng(1).exponential(size=1000))
        (means,) = bootstrap_bin_means(index, y, w, 3, 1, IdentityDraws())
        expected = [np.average(y[index == k], weights=w[index == k]) for k in range(3)]
        np.testing.assert_allclose(means, expected, rtol=1e-12)

    def test_identity_of_plain_rows_from_their_numbers(self):
        """Outcomes 0 and 1 of equal weight are never drawn one by one."""
        numbers = SimpleNamespace(multinomial=IdentityDraws().multinomial)
        index, y, w = self.draw()
        y[index == 2] = 0.0  # no positive row in the last bin that has rows, none in bin 3
        (means,) = bootstrap_bin_means(index, y, 2 * w, 4, 1, numbers)
        expected = [y[index == k].mean() for k in range(3)]
        np.testing.assert_allclose(means, [*expected, np.nan], rtol=1e-12)
        (mean,) = bootstrap_bin_means(np.zeros(1, int), np.ones(1), np.ones(1), 1, 1, numbers)
        assert mean == 1

    def test_last_bin_without_rows_is_unknown(self):
        index, y = np.array([0, 1, 1]), np.array([0.5, 0.25, 1.0])
        (means,) = bootstrap_bin_means(index, y, np.ones(3), 3, 1, IdentityDraws())
        np.testing.assert_array_equal(means, [0.5, 0.625, np.nan])

    @pytest.mark.parametrize("weighted", [False, True])
    def test_law_is_that_of_redrawn_rows(self, weighted):
        weights = np.random.default_rng(1).integers(1, 4, 1000).astype(float) if weighted else None
        index, y, w = self.draw(weights)
        means = bootstrap_bin_means(index, y, w, 3, 2000, np.random.default_rng(2))
        rng = np.random.default_rng(3)
        rows = [rng.integers(1000, size=1000) for _ in range(2000)]
        for k in (0, 2):
            redrawn = [np.average(y[i][index[i] == k], weights=w[i][index[i] == k]) for i in rows]
            assert_same_law(means[:, k], np.array(redrawn))

    def test_bins_that_are_not_drawn_are_unknown(self):
        index, y, w = self.draw()
        means = bootstrap_bin_means(index, y, w, 3, 2000, np.random.default_rng(2))
        # Five rows of a thousand are all left out with probability exp(-5).
        missing = np.isnan(means[:, 1]).mean()
        expected = (1 - 5 / 1000) ** 1000
        assert missing == pytest.approx(expected, abs=4 * np.sqrt(expected / 2000))
        band = find_percentile_band(means, 0.9)
        known = means[~np.isnan(means[:, 1]), 1]
        np.testing.assert_allclose(band[:, 1], np.quantile(known, [0.05, 0.95]))
        np.testing.assert_allclose(band[:, 2], np.quantile(means[:, 2], [0.05, 0.95]))
        unknown = np.array([[0.5, np.nan]])
        np.testing.assert_array_equal(find_percentile_band(unknown, 0.9), [[0.5, np.nan]] * 2)

    def test_outcomes_that_agree_stay(self):
        index = np.array([0, 0, 1, 1])
        means = bootstrap_bin_means(
            index,
            np.array([0.0, 0, 1, 1]),
            np.array([0.1, 0.3, 0.7, 0.1]),
            2,
            50,
            np.random.RandomState(0),
        )
        np.testing.assert_array_equal(np.unique(means[~np.isnan(means)]), [0, 1])
