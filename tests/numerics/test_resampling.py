"""The bootstrap on grids: against the sample itself, samples of repeated rows and closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import erf, erfinv

from skcal._estimates._smooth import trace_curve
from skcal._numerics import _resampling
from skcal._numerics._kernel_regression import regress_on_kernel
from skcal._numerics._resampling import (
    CellResampler,
    RowResampler,
    bootstrap_bin_means,
    bootstrap_diagram,
    bootstrap_smooth_ece,
    find_fixed_points,
    find_percentile_band,
    regress_resamples,
    smoothed_errors,
)
from skcal._numerics._smooth import TOLERANCE, cosine_moments, count_intervals
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


def make_resampler(source, v, y, n_cells=1 << 14):
    """A resampler, and the weights of the rows."""
    if source == "cells":
        moments = Sample(v, y).moments_by_outcome(n_cells)
        return CellResampler(moments, min(1 << 10, n_cells)), None
    weights = None if source == "rows" else np.random.default_rng(1).exponential(size=len(v))
    return RowResampler(v, y, weights, n_cells), weights


every_source = pytest.mark.parametrize("source", ["rows", "cells", "weighted rows"])
CASES = {
    "many": draw_sample(3000),
    "ties": (np.tile([0.1, 0.25, 0.8], 20), np.tile([0.0, 1.0, 1.0, 1.0, 0.0], 12)),
    "hard": (np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0, 0.0])),
    "perfect": (np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0])),
    "single row": (np.array([0.3]), np.array([1.0])),
}
HARD_CASES = [*CASES]
CASES["soft"] = tuple(np.random.default_rng(1).random((2, 200)))


@pytest.mark.parametrize(
    ("case", "source"),
    [
        *((case, source) for case in HARD_CASES for source in ("rows", "cells")),
        ("many", "weighted rows"),
        ("soft", "rows"),
        ("soft", "weighted rows"),
    ],
)
def test_identity_resample_is_the_sample(case, source):
    v, y = CASES[case]
    resampler, w = make_resampler(source, v, y)
    sample = {"sample_weight": w, "labels": None if case == "soft" else [0, 1]}
    curve = smooth_ece_curve(y, v, n_points=101, **sample)
    (value,), (resample,) = bootstrap_diagram(resampler, curve.bandwidth, 101, 1, IdentityDraws())
    # The bound of the docstring, and that of smooth_ece.
    assert value == pytest.approx(smooth_ece(y, v, **sample), abs=1e-6 + 1e-6)
    np.testing.assert_allclose(resample, curve.prob_true, atol=1e-8)
    # The sample itself, where the search begins, is what these draws give.
    kept, drawn = [resampler.keep()], [resampler.draw(IdentityDraws())]
    for nodes_of in (resampler.residual_nodes, resampler.mass_nodes):
        for ours, expected in zip(nodes_of(kept), nodes_of(drawn), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-15)


@every_source
def test_one_resample_is_a_sample_of_repeated_rows(source):
    v, y = np.repeat(np.linspace(0.02, 0.98, 25), 8), np.tile([0.0, 1, 1, 0, 0, 0, 1, 0], 25)
    resampler, w = make_resampler(source, v, y)
    values, curves = bootstrap_diagram(resampler, 0.04, 51, 5, np.random.default_rng(3))
    again = bootstrap_smooth_ece(resampler, 5, np.random.default_rng(3))
    np.testing.assert_allclose(values, again, atol=1e-6)
    rng = np.random.default_rng(3)
    for value, curve in zip(values, curves, strict=True):
        counts = drawn = resampler.draw(rng)
        if source == "cells":
            cells = np.minimum((v * 2**14).astype(int), 2**14 - 1)
            counts = drawn[y.astype(int), resampler.group[cells]] / 200
        else:
            times = drawn / (1 if w is None else w)
            assert (times == 0).any()
            times /= times[times > 0].min()
            np.testing.assert_allclose(times, np.round(times), atol=1e-9)
        assert counts.sum() == pytest.approx(1)
        _, (size,) = resampler.residual_nodes([drawn])
        assert size == pytest.approx(counts @ np.abs(y - v), rel=1e-12)
        assert value == pytest.approx(smooth_ece(y, v, sample_weight=counts), abs=2e-6)
        expected = smooth_ece_curve(y, v, sample_weight=counts, bandwidth=0.04, n_points=51)
        np.testing.assert_allclose(curve, expected.prob_true, atol=1e-8)


@pytest.mark.parametrize("cells", [3.1, 3.9, 6, 20])
def test_small_values_are_as_accurate_as_documented(cells):
    """Two opposite residuals, d apart: smECE_s = 0.1 erf(d / (2 sqrt(2) s))."""
    step, size = 1 / 4096, 0.1
    exact = cells * step
    distance = 2 * np.sqrt(2) * exact * erfinv(exact / size)
    v = 0.5 + 0.3 * step + np.array([0, distance])
    resampler = RowResampler(v, v + np.array([size, -size]), None, 4096)
    (value,) = bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    assert value == pytest.approx(exact, abs=0.0657 / cells**4 * size + 1.4e-6)


@every_source
def test_variance_of_a_mean_is_the_bootstrap_variance(source):
    """That of a ratio of sums over rows, by its linear part, where rows have weights."""
    v, y = draw_sample(2000, seed=7)
    resampler, w = make_resampler(source, v, y, n_cells=128)
    wave = np.cos(3 * np.pi * np.linspace(0, 1, 129))
    rng = np.random.default_rng(8)
    nodes, sizes = resampler.residual_nodes([resampler.draw(rng) for _ in range(1500)])
    share = np.full(2000, 1 / 2000) if w is None else w / w.sum()
    for means, rows in (
        (nodes @ wave, (y - v) * np.cos(3 * np.pi * v)),
        (sizes, np.abs(y - v)),
    ):
        error = np.sqrt(share**2 @ (rows - share @ rows) ** 2)
        assert np.mean(means) == pytest.approx(share @ rows, abs=4 * error / np.sqrt(1500) + 1e-5)
        assert np.std(means) == pytest.approx(error, rel=4 / np.sqrt(2 * 1500))


def test_rows_of_weight_zero_are_never_drawn():
    v, y, w = np.linspace(0, 1, 9), np.tile([0.0, 1.0, 0.0], 3), np.tile([1.0, 3.0, 0.0], 3)
    resamplers = [RowResampler(*rows, 256) for rows in ((v, y, w), (v[w > 0], y[w > 0], w[w > 0]))]
    results = [bootstrap_diagram(r, 0.1, 9, 5, np.random.default_rng(0)) for r in resamplers]
    for with_zeros, without in zip(*results, strict=True):
        np.testing.assert_array_equal(with_zeros, without)


@pytest.mark.parametrize(
    ("source", "make"), [("rows", np.random.default_rng), ("cells", np.random.RandomState)]
)
def test_batches_change_nothing(monkeypatch, source, make):
    v, y = draw_sample(400, seed=15)
    resampler, _ = make_resampler(source, v, y, 512)
    first = bootstrap_diagram(resampler, 0.05, 21, 12, make(1))
    assert len(np.unique(first[0])) == 12
    monkeypatch.setattr(_resampling, "_BUDGET", 5 * resampler.n_cells)
    for a, b in zip(first, bootstrap_diagram(resampler, 0.05, 21, 12, make(1)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_tails_follow_the_nearest_rows_of_each_resample(rng):
    masses = rng.random((6, 257)) * (rng.random((6, 257)) < 0.05)
    masses[:, 100:200] = 0.0
    positives = masses * rng.random((6, 257))
    curves = regress_resamples(masses, positives, 0.004, 65)
    for mass, positive, curve in zip(masses, positives, curves, strict=True):
        expected, _ = regress_on_kernel(mass, positive, 0.004, 65)
        np.testing.assert_allclose(curve, expected, atol=1e-7)


# --------------------------------------------------------------------------- errors of many


def test_errors_of_opposite_residuals_have_a_closed_form(rng):
    """K_s(t - a) - K_s(t - b) has one sign change, and its size integrates to 2 erf."""
    bandwidths = np.exp(rng.uniform(np.log(0.002), np.log(0.03), 80))
    sizes = np.tile([0.9, 0.4, 0.01, 1e-5], 20)
    middle, half = rng.integers(1700, 2400, 80), np.ceil(bandwidths * 2048).astype(int)
    nodes, each = np.zeros((80, 4097)), np.arange(80)
    nodes[each, middle - half], nodes[each, middle + half] = sizes / 2, -sizes / 2
    exact = sizes * erf(half / 4096 / np.sqrt(2) / bandwidths)
    errors = smoothed_errors(cosine_moments(nodes), bandwidths, sizes)
    np.testing.assert_allclose(errors, exact, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("bandwidth", "size"), [(1.0, 0.97), (0.11, 0.1), (0.013, 0)])
def test_lengths_of_transforms_follow_from_the_own_bandwidth_and_size(record, bandwidth, size):
    calls = record(_resampling, "integrate_sizes")
    smoothed_errors(np.ones((1, 300)), np.array([bandwidth]), np.array([size]))
    length = calls[0][0][0].shape[1] - 1
    least, step = count_intervals(bandwidth, size), 2**0.25
    assert least <= length <= count_intervals(bandwidth / step, size * step)


# --------------------------------------------------------------------------- fixed points


@pytest.mark.parametrize("steep", [0, 0.7, 30, 1e4, 1e9])
@pytest.mark.parametrize("tolerance", [1e-7, 1e-4])
def test_steep_functions_take_no_more_than_bisection_twice(rng, steep, tolerance):
    roots, evaluations = np.exp(rng.uniform(np.log(2e-4), np.log(0.9), 200)), []

    def errors_at(points, rows):
        evaluations.append(len(rows))
        return np.clip(roots[rows] + steep * (roots[rows] - points), 0.0, 1.0)

    for start in (1e-3, 0.5, 1.0):
        evaluations.clear()
        found = find_fixed_points(errors_at, np.full(200, start), 1e-4, tolerance)
        np.testing.assert_allclose(found, roots, rtol=0, atol=tolerance)
        # One more at `smallest`, and the first one gives the bracket.
        assert len(evaluations) <= 2 * np.ceil(np.log2(1 / tolerance)) + 2


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


def test_fixed_points_of_curves_and_below_the_smallest_point():
    found = find_fixed_points(lambda s, rows: 1e-3 * s**-0.5, np.array([0.9]), 1e-4)
    expected = brentq(lambda s: 1e-3 * s**-0.5 - s, 1e-4, 1)
    assert found[0] == pytest.approx(expected, abs=2e-7)
    start = np.array([0.4, 1e-3, 1e-4 + 5e-8])
    found = find_fixed_points(lambda s, rows: np.full(len(s), 1e-6), start, 1e-4)
    np.testing.assert_array_equal(found, 1e-6)  # the error at the smallest point


# --------------------------------------------------------------------------- choice of the grid


def test_sample_chooses_cells_only_where_rows_are_many_and_alike():
    v, y = draw_sample(40000, seed=19)
    v, y = np.round(v, 4), y.astype(int)
    for sample in (Sample(v.astype(np.float32), y == 1), Sample(v, y, np.full(40000, 2.0))):
        resampler = sample.resampler(0.05)
        assert isinstance(resampler, CellResampler)
        np.testing.assert_array_equal(resampler.counts.sum(axis=1), np.bincount(y))
    for sample in (
        Sample(v[:1000], y[:1000]),
        Sample(v, y, 1.0 + v),
        Sample(v, 0.5 * y),
        Sample(v, y, (v > 0.1).astype(float)),
    ):
        assert isinstance(sample.resampler(0.05), RowResampler)
    # Narrow groups outnumber these rows.
    assert isinstance(Sample(v, y).resampler(0.0002), RowResampler)


def test_identity_on_the_grid_that_a_sample_chooses():
    """Linear sharing moves a curve by (h/s)^2 / 8 of its scaled curvature at most."""
    v, y = draw_sample(40000, seed=23)
    for bandwidth in (0.3, 0.03, 0.004):
        resampler = Sample(v, y).resampler(bandwidth)
        n_groups, n_cells = resampler.counts.shape[1], resampler.n_cells
        assert max(512, 4 / bandwidth) <= n_groups < max(512, 4 / bandwidth) + 1
        # Lengths of fast transforms are less than 1/15 apart from 3072 on.
        assert 6 * n_groups <= n_cells < 6.4 * n_groups
        (value,), (resample,) = bootstrap_diagram(resampler, bandwidth, 201, 1, IdentityDraws())
        curve = smooth_ece_curve(y, v, bandwidth=bandwidth)
        np.testing.assert_allclose(resample, curve.prob_true, atol=1 / 24**2 / 8)
        if bandwidth == 0.03:
            assert value == pytest.approx(smooth_ece(y, v), abs=2e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_on_a_line_of_another_length(weighted):
    """As those of logits; bounds of the docstrings times the range of the scale."""
    v, y = draw_sample(400, seed=7, low=0.01, high=0.3)
    weights = np.random.default_rng(1).exponential(size=400) if weighted else None
    sample, options = Sample(v, y, weights), {"sample_weight": weights, "scale": "logit"}
    expected = smooth_ece(y, v, **options)
    curve, line = trace_curve(sample, expected, 0.3, 101, "logit")
    resampler = sample.resampler(min(0.3, expected), line.place, line.width)
    arguments = resampler, 0.3 / line.width, line.n_points
    (value,), (resample,) = bootstrap_diagram(*arguments, 1, IdentityDraws())
    assert value == pytest.approx(expected, abs=2e-6 * line.width)
    np.testing.assert_allclose(resample[line.inside], curve.prob_true, atol=1e-6)
    values = bootstrap_smooth_ece(resampler, 3, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    for value in values:
        options["sample_weight"] = resampler.draw(rng)
        assert value == pytest.approx(smooth_ece(y, v, **options), abs=2e-6 * line.width)


# --------------------------------------------------------------------------- bins and bands


@pytest.mark.parametrize("kind", ["plain", "weighted", "soft"])
def test_bin_means_of_the_sample_and_of_resamples(rng, kind):
    """Identity, the bootstrap variance of a mean, and a bin that is not drawn: exp(-5) of them."""
    index = np.repeat([0, 1, 2], [200, 5, 795])
    y, w = (rng.random(1000) < 0.3).astype(float), np.ones(1000)
    if kind == "weighted":
        w = rng.exponential(size=1000)
    elif kind == "soft":
        y = rng.random(1000)
    generator = IdentityDraws()
    if kind == "plain":  # outcomes 0 and 1 of equal weight are never drawn one by one
        generator = SimpleNamespace(multinomial=generator.multinomial)
    (means,) = bootstrap_bin_means(index, y, 2 * w, 4, 1, generator)
    expected = [np.average(y[index == k], weights=w[index == k]) for k in range(3)]
    np.testing.assert_allclose(means, [*expected, np.nan], rtol=1e-12)
    means = bootstrap_bin_means(index, y, w, 3, 2000, np.random.default_rng(2))
    for k in (0, 2):
        rows, share = y[index == k], w[index == k] / w[index == k].sum()
        error = np.sqrt(share**2 @ (rows - share @ rows) ** 2)
        assert means[:, k].mean() == pytest.approx(expected[k], abs=4 * error / np.sqrt(2000))
        assert means[:, k].std() == pytest.approx(error, rel=0.1)
    missing, expected = np.isnan(means[:, 1]).mean(), (1 - 5 / 1000) ** 1000
    assert missing == pytest.approx(expected, abs=4 * np.sqrt(expected / 2000))


def test_percentile_band_is_pointwise_and_leaves_out_what_is_unknown():
    curves = np.array([np.arange(101.0), 2 * np.arange(101.0)]).T
    np.testing.assert_allclose(find_percentile_band(curves, 0.9), [[5, 10], [95, 190]])
    unknown = np.full((30, 1), np.nan)
    some = np.vstack([np.hstack([unknown, np.ones((30, 1))]), curves])
    band = find_percentile_band(np.hstack([some, np.full((131, 1), np.nan)]), 0.9)
    np.testing.assert_allclose(band[:, 0], [5, 95])
    np.testing.assert_allclose(band[:, 1], np.quantile(some[:, 1], [0.05, 0.95]))
    assert np.isnan(band[:, 2]).all()
