"""Confidence intervals by the bootstrap, of rows and of summaries: what is drawn, and coverage."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from skcal._bound_measure import BoundMeasure
from skcal._numerics._bootstrap import accelerated_interval
from skcal.datasets import make_shrunk
from skcal.inference import _row_source, bootstrap_interval, bootstrap_interval_from_summary
from skcal.inference._cell_source import CellSource, bind_for_cells, check_summary
from skcal.inference._resamples import CellResamples, RowResamples, SmoothResamples, Units
from tests.inference.samples import OF_SUMMARIES, bind_source, draw_binary, summarize


def mean_outcome(y_true, y_proba, *, sample_weight=None):
    return float(np.average(y_true, weights=sample_weight))


def test_quantiles_of_all_resamples():
    """A mean of 4 skewed rows: all 4^4 resamples, read in three ways; BCa moves both ends up."""
    y = np.array([0, 2, 4, 14]) / 16
    means = np.array([np.mean(rows) for rows in product(y, repeat=4)])
    low, high = np.quantile(means, [0.1, 0.9])
    corrected = accelerated_interval(means, 0.8, y.mean(), (y.sum() - y) / 3)
    assert (corrected > np.array([low, high])).all()
    mirrored = 2 * y.mean() - high, 2 * y.mean() - low
    options = {"n_resamples": 20_000, "confidence_level": 0.8, "random_state": 0}
    for method, ends in (("percentile", (low, high)), ("basic", mirrored), ("bca", corrected)):
        found = bootstrap_interval(mean_outcome, y, np.full(4, 0.5), method=method, **options)
        np.testing.assert_allclose(found, (y.mean(), *ends), atol=1e-12)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_without_variation_intervals_have_no_length(rng, method):
    options = {"method": method, "n_resamples": 30, "random_state": 0}
    for n in (1, 30, 5000):
        rows = np.ones(n), np.full(n, 0.25)
        interval = bootstrap_interval("expected_calibration_error", *rows, **options)
        np.testing.assert_allclose(interval, 0.75, atol=1e-12)
    y, proba = rng.random((2, 60))
    for name in ("smooth_ece", "cumulative_calibration_error"):
        # Soft labels that are equal to their predictions have no error in any resample.
        np.testing.assert_allclose(bootstrap_interval(name, proba, proba, **options), 0, atol=1e-12)
        soft = bootstrap_interval(name, y, proba, **options)
        assert soft.low < soft.high


def test_debias_subtracts_the_mean_of_calibrated_labels():
    """One prediction: ECE is |mean - v|, whose mean over Bernoulli(1/2) labels is known."""
    y, v, name = np.arange(64) < 48, np.full(64, 0.5), "expected_calibration_error"
    options = {"n_resamples": 4000, "random_state": 0}
    plain = bootstrap_interval(name, y, v, **options)
    debiased = bootstrap_interval(name, y, v, debias=True, **options)
    shift = plain.estimate - debiased.estimate
    chance = binom(64, 0.5).expect(lambda hits: np.abs(hits / 64 - 0.5))
    assert shift == pytest.approx(chance, abs=4 * 0.04 / np.sqrt(4000))
    # Resampled values of 1/4 with a standard deviation of .054 hardly ever change sign: their
    # mean is the estimate, so that both ends move as it does, but for the noise of that mean.
    ends = np.subtract(plain[1:], debiased[1:])
    np.testing.assert_allclose(ends, shift, atol=4 * 0.055 / np.sqrt(4000))


@pytest.mark.parametrize(
    ("n", "n_samples", "name"),
    [
        (100, 40, "expected_calibration_error"),
        # Beyond 4096 rows chance is that of merged rows, and so is the value it is taken off.
        pytest.param(6000, 12, "interval_calibration_error", marks=pytest.mark.slow),
        pytest.param(6000, 12, "expected_calibration_error", marks=pytest.mark.slow),
    ],
)
def test_debiased_estimate_of_calibrated_rows_has_mean_zero(rng, n, n_samples, name):
    options = {"debias": True, "n_resamples": 50, "random_state": 0}
    estimates = [
        bootstrap_interval(name, *draw_binary(rng, n), **options).estimate for _ in range(n_samples)
    ]
    assert min(estimates) < 0 < max(estimates)
    assert abs(np.mean(estimates)) <= 3.5 * np.std(estimates, ddof=1) / np.sqrt(n_samples)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "slope", "debias", "n_samples"),
    [
        ("averaged_two_bin_calibration_error", 600, 0, False, 120),
        ("smooth_ece", 600, 0, False, 120),
        # Of calibrated rows it hits far more often: 100 samples of .95 hardly show less than .85.
        ("smooth_ece", 200, 1, True, 100),
        ("smooth_ece", 2000, 1, True, 100),
    ],
)
def test_coverage_of_the_population_value(name, n, slope, debias, n_samples):
    """A closed form, far from calibrated, and 0 of calibrated rows: 95 % up to the noise."""
    hits = []
    for seed in range(n_samples):
        p = make_shrunk(n, slope=slope, random_state=seed)
        options = {"n_resamples": 100, "random_state": seed if debias else 0, "debias": debias}
        low, high = bootstrap_interval(name, p.y_true, p.y_proba, **options)[1:]
        hits.append(low <= (0 if debias else p.true_value(name)) <= high)
    noise = 0.1 if debias else 3.5 * np.sqrt(0.95 * 0.05 / n_samples)
    assert np.mean(hits) >= 0.95 - noise


@pytest.mark.parametrize(
    ("name", "n", "weighted", "grouped"),
    [
        *(("expected_calibration_error", 6000, w, g) for w in (False, True) for g in (False, True)),
        ("smooth_ece", 40_000, False, False),
    ],
)
def test_merged_rows_vary_like_all_rows(rng, monkeypatch, name, n, weighted, grouped):
    """Mean and deviation of some hundred resamples of either kind, within 4 standard errors."""
    rows = *draw_binary(rng, n, slope=0.5), rng.exponential(size=n) if weighted else None
    units = Units(n, rng.integers(300, size=n)) if grouped else Units(n)
    merged = bind_source(name, *rows, units).make_resamples()
    monkeypatch.setattr(_row_source, "FEW_ROWS", 10**6)
    monkeypatch.setattr(BoundMeasure, "is_plain_smooth_ece", False)
    apart = bind_source(name, *rows, units).make_resamples()
    assert isinstance(merged, SmoothResamples if name == "smooth_ece" else CellResamples)
    assert isinstance(apart, RowResamples)
    assert merged.observed == pytest.approx(apart.observed, abs=1e-12)  # bins keep their sums
    sizes = (200, 60) if name == "smooth_ece" else (300, 300)
    first, second = (one.draw(rng, k) for one, k in zip((merged, apart), sizes, strict=True))
    error = np.sqrt(1 / sizes[0] + 1 / sizes[1])
    assert first.mean() == pytest.approx(second.mean(), abs=4 * error * second.std())
    assert first.std() / second.std() == pytest.approx(1, abs=4 * error / np.sqrt(2))
    if name != "smooth_ece":
        mask = np.arange(n) % 7 > 0
        # Predictions stay at the means of their cells, which are narrower than 1/1024.
        assert merged.measure(mask) == pytest.approx(apart.measure(mask), abs=1 / 1024)


def test_whole_groups_are_drawn(rng):
    """Rows repeated in groups carry no more information than one of them."""
    y, proba = draw_binary(rng, 300, slope=0.5)
    options = {"method": "bca", "n_resamples": 400, "random_state": 0}
    single = bootstrap_interval(mean_outcome, y, proba, **options)
    row = rng.permutation(np.repeat(np.arange(300), 5))
    apart = bootstrap_interval(mean_outcome, y[row], proba[row], **options)
    for groups in (row, [f"site {number:03}" for number in row]):
        whole = bootstrap_interval(mean_outcome, y[row], proba[row], groups=groups, **options)
        np.testing.assert_allclose(whole, single, atol=1e-12)  # a seed draws the same groups
    assert whole.high - whole.low > 1.5 * (apart.high - apart.low)


@pytest.mark.parametrize("debias", [False, True])
@pytest.mark.parametrize("method", ["percentile", "basic"])
@pytest.mark.parametrize(("name", "options"), OF_SUMMARIES)
def test_summaries_give_nearly_the_interval_of_their_rows(name, options, method, debias):
    """Ends are quantiles, of a sampling error below a fifth of the length of the interval."""
    y, v = draw_binary(np.random.default_rng(3), 6000, slope=0.8)
    options = options | {"n_resamples": 200, "random_state": 0, "method": method, "debias": debias}
    rows = bootstrap_interval(name, y, v, **options)
    cells = bootstrap_interval_from_summary(name, summarize(y, v), **options)
    assert cells.low < cells.estimate < cells.high
    np.testing.assert_allclose(cells, rows, rtol=0, atol=(rows.high - rows.low) / 5)


@pytest.mark.parametrize("name", ["smooth_ece", "cumulative_calibration_error"])
def test_interval_of_few_places_has_the_multinomial_law(name):
    """One prediction: the mean outcome is binomial, and the error its distance from it."""
    summary = summarize([1] * 80 + [0] * 20, [0.5] * 100)
    options = {"n_resamples": 4000, "confidence_level": 0.8, "random_state": 0}
    interval = bootstrap_interval_from_summary(name, summary, **options)
    low, high = binom(100, 0.8).ppf([0.1, 0.9]) / 100 - 0.5
    np.testing.assert_allclose(interval, [0.3, low, high], atol=0.01 + 1e-6)
    assert interval.estimate == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("n_cells", [64, 2**14])
@pytest.mark.parametrize("name", ["expected_calibration_error", "cumulative_calibration_error"])
def test_resampled_rows_have_the_moments_of_the_rows(name, n_cells):
    """Rows of a merged cell come and go with their mean prediction, those of either outcome with
    its own where the answer of the summary knows the two apart: with bins, not with sums."""
    y, v = draw_binary(np.random.default_rng(9), 20_000)
    cells = check_summary("summary", summarize(y, v, n_cells=n_cells))
    source = CellSource(bind_for_cells("measure", name, {}), cells)
    outcomes, places, numbers = source._merge_by_outcome()
    assert len(numbers) == 2 * n_cells if n_cells == 64 else len(numbers) < 2 * 2100
    assert numbers @ places == pytest.approx(v.sum(), rel=1e-12)
    for outcome in (0, 1):
        rows, own = v[y == outcome], outcomes == outcome
        moved = np.repeat(places[own], numbers[own].astype(int))
        assert np.abs(np.sort(moved) - np.sort(rows)).max() <= max(1 / n_cells, 1 / 1024)
        is_own = numbers[own] @ places[own] == pytest.approx(rows.sum(), rel=1e-12)
        assert is_own == (name == "expected_calibration_error")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("cumulative_calibration_error", {"deviation": kind}) for kind in ("range", "max")),
        ("expected_calibration_error", {"n_bins": 10}),
    ],
)
def test_interval_reaches_out_by_the_error_bound(name, options):
    # Rows of 0.3 and of float32(0.3) share a cell. Outcomes of both kinds must lie at one place, or
    # their numbers would differ by whole cells in the resamples, beyond the error bound. Where an
    # edge of a bin cuts each heavy cell, the summary cannot know the error, and says so.
    rng = np.random.default_rng(0)
    tenths = rng.integers(1, 10, 20_000) / 10
    y = rng.random(20_000) < tenths
    v = np.where(np.arange(20_000) % 2, tenths, tenths.astype(np.float32).astype(float))
    summary = summarize(y, v)
    reach = summary.error_bound(name, **options)
    options = options | {"random_state": 0, "n_resamples": 400}
    cells = bootstrap_interval_from_summary(name, summary, **options)
    rows = bootstrap_interval(name, y, v, **options)
    assert 0 <= cells.low <= rows.low
    if "deviation" in options:
        assert cells.high - reach == pytest.approx(rows.high, abs=(rows.high - rows.low) / 5)
    else:
        assert reach > 0.01
        assert cells.high >= rows.high


ROWS = {"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.3, 0.6, 0.5]}
of_rows = partial(bootstrap_interval, "smooth_ece", **ROWS)
of_summary = partial(bootstrap_interval_from_summary, "smooth_ece", summarize(*ROWS.values()))


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        (of_rows, {"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        (of_rows, {"method": "bc"}, r"method must be one of .*Did you mean 'bca'\?"),
        (of_rows, {"debias": True, "groups": [0, 0, 1, 1]}, "groups must be None for debias=True"),
        (of_rows, {"groups": [1] * 4}, "groups must hold at least two groups with rows; got 1"),
        (of_rows, {"debias": True, "y_true": [0.5, 1, 1, 0]}, "must hold labels for debias=True"),
        (of_summary, {"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        (of_summary, {"method": "bca"}, "must be one of 'percentile', 'basic'; got 'bca'"),
    ],
)
def test_bad_values(call, options, message):
    with pytest.raises(ValueError, match=message):
        call(**options)
