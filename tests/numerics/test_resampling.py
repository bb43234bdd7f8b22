"""The bootstrap on grids: against the sample itself, samples of repeated rows and closed forms."""

import numpy as np
import pytest
from scipy.special import erf, erfinv

from skcal._input._sample import Sample
from skcal._numerics.errors._smooth import TOLERANCE, cosine_moments, count_intervals
from skcal._numerics.inference import _resampling as resampling
from skcal._numerics.inference._resampling import CellResampler, RowResampler, find_fixed_points
from skcal.metrics import smooth_ece


class IdentityDraws:
    """A random generator whose resample is the sample."""

    def choice(self, n_rows, size):
        assert n_rows == size
        return np.arange(n_rows)

    def multinomial(self, n_rows, shares):
        return np.round(n_rows * shares).astype(int)

    def poisson(self, means):
        return means


def draw_sample(n, seed=0, low=0.0, high=1.0):
    rng = np.random.default_rng(seed)
    v = rng.uniform(low, high, n)
    return v, (rng.random(n) < v**1.3).astype(float)


def make_resampler(source, v, y, n_cells=1 << 14):
    """A resampler, and the weights of the rows."""
    weights = None
    if source.startswith("weighted"):
        weights = np.random.default_rng(1).exponential(size=len(v))
    if source.endswith("rows"):
        return RowResampler(v, y, weights, n_cells), weights
    moments, squares = (Sample(v, y, weights).moments_by_outcome(n_cells, k) for k in (1, 2))
    squares = None if weights is None else squares[:, 0]
    return CellResampler(moments, min(1 << 10, n_cells), squares), weights


every_source = pytest.mark.parametrize(
    "source", ["rows", "cells", "weighted rows", "weighted cells"]
)
CASES = {
    "many": draw_sample(3000),
    "ties": (np.tile([0.1, 0.25, 0.8], 20), np.tile([0.0, 1.0, 1.0, 1.0, 0.0], 12)),
    "hard": (np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0, 0.0])),
    "perfect": (np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0])),
    "single row": (np.array([0.3]), np.array([1.0])),
    "soft": tuple(np.random.default_rng(1).random((2, 200))),
}


@every_source
@pytest.mark.parametrize("case", CASES)
def test_identity_resample_is_the_sample(case, source):
    if case == "soft":
        source = source.replace("cells", "rows")  # cells hold outcomes 0 and 1
    v, y = CASES[case]
    resampler, w = make_resampler(source, v, y)
    sample = {"sample_weight": w, "labels": None if case == "soft" else [0, 1]}
    (value,) = resampling.bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    # The bound of the docstring, and that of smooth_ece.
    assert value == pytest.approx(smooth_ece(y, v, **sample), abs=1e-6 + 1e-6)
    # The sample itself, where the search begins, is what these draws give.
    resamples = resampler.keep(), resampler.draw(IdentityDraws())
    kept, drawn = (resampler.residual_nodes([resample]) for resample in resamples)
    for ours, expected in zip(kept, drawn, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-15)


@every_source
def test_one_resample_is_a_sample_of_repeated_rows(source):
    v, y = np.repeat(np.linspace(0.02, 0.98, 25), 8), np.tile([0.0, 1, 1, 0, 0, 0, 1, 0], 25)
    resampler, w = make_resampler(source, v, y)
    values = resampling.bootstrap_smooth_ece(resampler, 5, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    for value in values:
        counts = drawn = resampler.draw(rng)
        if source.endswith("cells"):
            cells = np.minimum((v * 2**14).astype(int), 2**14 - 1)
            share = np.full(200, 1 / 200) if w is None else w / w.sum()
            counts = drawn[y.astype(int), resampler.group[cells]] * share
        else:
            times = drawn / (1 if w is None else w)
            assert (times == 0).any()
            times /= times[times > 0].min()
            np.testing.assert_allclose(times, np.round(times), atol=1e-9)
        assert counts.sum() == pytest.approx(1)
        _, (size,) = resampler.residual_nodes([drawn])
        assert size == pytest.approx(counts @ np.abs(y - v), rel=1e-12)
        assert value == pytest.approx(smooth_ece(y, v, sample_weight=counts), abs=2e-6)


@pytest.mark.parametrize("cells", [3.1, 3.9, 6, 20])
def test_small_values_are_as_accurate_as_documented(cells):
    """Two opposite residuals, d apart: smECE_s = 0.1 erf(d / (2 sqrt(2) s))."""
    step, size = 1 / 4096, 0.1
    exact = cells * step
    distance = 2 * np.sqrt(2) * exact * erfinv(exact / size)
    v = 0.5 + 0.3 * step + np.array([0, distance])
    resampler = RowResampler(v, v + np.array([size, -size]), None, 4096)
    (value,) = resampling.bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    assert value == pytest.approx(exact, abs=0.0657 / cells**4 * size + 1.4e-6)


def find_standard_error(rows, weights):
    """Bootstrap error of a weighted mean, by the linear part of the ratio of sums."""
    share = weights / weights.sum()
    return np.sqrt(share**2 @ (rows - share @ rows) ** 2)


@every_source
def test_variance_of_a_mean_is_the_bootstrap_variance(rng, source):
    v, y = draw_sample(2000, seed=7)
    resampler, w = make_resampler(source, v, y, n_cells=128)
    w = np.ones(2000) if w is None else w
    wave = np.cos(3 * np.pi * np.linspace(0, 1, 129))
    nodes, sizes = resampler.residual_nodes([resampler.draw(rng) for _ in range(1500)])
    for means, rows in ((nodes @ wave, (y - v) * np.cos(3 * np.pi * v)), (sizes, np.abs(y - v))):
        error, expected = find_standard_error(rows, w), np.average(rows, weights=w)
        assert np.mean(means) == pytest.approx(expected, abs=4 * error / np.sqrt(1500) + 1e-5)
        assert np.std(means) == pytest.approx(error, rel=4 / np.sqrt(2 * 1500))


def test_weights_too_small_to_be_squared():
    moments, squares = np.ones((2, 5, 64)), np.zeros((2, 64))
    moments[0], squares[1] = 1e-200, 0.5
    drawn = CellResampler(moments, 64, squares).draw(np.random.default_rng(0))
    assert np.isfinite(drawn).all()


def test_rows_of_weight_zero_are_never_drawn():
    rows = np.linspace(0, 1, 9), np.tile([0.0, 1.0, 0.0], 3), np.tile([1.0, 3.0, 0.0], 3)
    kept = [values[rows[2] > 0] for values in rows]
    with_zeros, without = (
        resampling.bootstrap_smooth_ece(RowResampler(*v, 256), 5, np.random.default_rng(0))
        for v in (rows, kept)
    )
    np.testing.assert_array_equal(with_zeros, without)


@pytest.mark.parametrize(
    ("source", "make"), [("rows", np.random.default_rng), ("cells", np.random.RandomState)]
)
def test_batches_change_nothing(monkeypatch, source, make):
    resampler, _ = make_resampler(source, *draw_sample(400, seed=15), 512)
    values = resampling.bootstrap_smooth_ece(resampler, 12, make(1))
    assert len(np.unique(values)) == 12
    monkeypatch.setattr(resampling, "_BUDGET", 5 * resampler.n_cells)
    again = resampling.bootstrap_smooth_ece(resampler, 12, make(1))
    np.testing.assert_allclose(again, values, atol=1e-6)


def test_errors_of_opposite_residuals_have_a_closed_form(rng):
    """K_s(t - a) - K_s(t - b) has one sign change, and its size integrates to 2 erf."""
    bandwidths = np.exp(rng.uniform(np.log(0.002), np.log(0.03), 80))
    sizes, nodes = np.tile([0.9, 0.4, 0.01, 1e-5], 20), np.zeros((80, 4097))
    middle, half = rng.integers(1700, 2400, 80), np.ceil(bandwidths * 2048).astype(int)
    for sign in (-1, 1):
        nodes[range(80), middle + sign * half] = sign * sizes / 2
    errors = resampling.smoothed_errors(cosine_moments(nodes), bandwidths, sizes)
    exact = sizes * erf(half / 4096 / np.sqrt(2) / bandwidths)
    np.testing.assert_allclose(errors, exact, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("bandwidth", "size"), [(1.0, 0.97), (0.11, 0.1), (0.013, 0)])
def test_lengths_of_transforms_follow_from_the_own_bandwidth_and_size(record, bandwidth, size):
    calls, step = record(resampling, "integrate_sizes"), 2**0.25
    resampling.smoothed_errors(np.ones((1, 300)), np.array([bandwidth]), np.array([size]))
    most = count_intervals(bandwidth / step, size * step)
    assert count_intervals(bandwidth, size) <= calls[0][0][0].shape[1] - 1 <= most


def find_and_count(errors_at, start, *options):
    """Fixed points, and the number of evaluations."""
    calls = []
    found = find_fixed_points(lambda *at: calls.append(at) or errors_at(*at), start, 1e-4, *options)
    return found, len(calls)


@pytest.mark.parametrize("steep", [0, 0.7, 30, 1e4, 1e9])
@pytest.mark.parametrize("tolerance", [1e-7, 1e-4])
def test_steep_functions_take_no_more_than_bisection_twice(rng, steep, tolerance):
    roots = np.exp(rng.uniform(np.log(2e-4), np.log(0.9), 200))

    def errors_at(points, rows):
        return np.clip(roots[rows] + steep * (roots[rows] - points), 0.0, 1.0)

    for start in (1e-3, 0.5, 1.0):
        found, n_evaluations = find_and_count(errors_at, np.full(200, start), tolerance)
        np.testing.assert_allclose(found, roots, rtol=0, atol=tolerance)
        # One more at `smallest`, and the first one gives the bracket.
        assert n_evaluations <= 2 * np.ceil(np.log2(1 / tolerance)) + 2


@pytest.mark.parametrize(("power", "expected"), [(-0.5, 2), (-0.2, 3)])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_powers_take_few_evaluations(power, expected, factor):
    """One step has the slope of noise, the next one that of the function: both exact here."""
    roots = np.array([0.002, 0.03, 0.4])
    found, n_evaluations = find_and_count(
        lambda points, rows: roots[rows] * (points / roots[rows]) ** power, factor * roots
    )
    np.testing.assert_allclose(found, roots, atol=1e-7)
    assert n_evaluations == expected


def test_fixed_points_far_away_and_below_the_smallest_point():
    found, _ = find_and_count(lambda points, rows: 1e-3 * points**-0.5, np.array([0.9]))
    assert found[0] == pytest.approx(1e-2, abs=2e-7)
    start = np.array([0.4, 1e-3, 1e-4 + 5e-8])
    found, _ = find_and_count(lambda points, rows: np.full(len(points), 1e-6), start)
    np.testing.assert_array_equal(found, 1e-6)  # the error at the smallest point


@pytest.mark.parametrize("bandwidth", [0.3, 0.03, 0.004])
def test_grid_that_a_sample_chooses(bandwidth):
    v, y = draw_sample(40000, seed=23)
    resampler = Sample(v, y).resampler(bandwidth)
    n_groups, n_cells = resampler.counts.shape[1], resampler.n_cells
    assert max(512, 4 / bandwidth) <= n_groups < max(512, 4 / bandwidth) + 1
    # Lengths of fast transforms are less than 1/15 apart from 3072 on.
    assert 6 * n_groups <= n_cells < 6.4 * n_groups
    (value,) = resampling.bootstrap_smooth_ece(resampler, 1, IdentityDraws())
    if bandwidth < 0.1:
        assert value == pytest.approx(smooth_ece(y, v), abs=2e-6)
