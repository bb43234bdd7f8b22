"""Confidence intervals by the bootstrap, of rows and of summaries: what is drawn, and coverage."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from skcal._bound_measure import BoundMeasure, bind_for_rows, bind_rows
from skcal.datasets import make_shrunk
from skcal.inference import (
    Interval,
    _row_source,
    bootstrap_interval,
    bootstrap_interval_from_summary,
)
from skcal.inference._cell_source import CellSource, bind_for_cells, check_summary
from skcal.inference._resamples import CellResamples, RowResamples, SmoothResamples, Units
from skcal.inference._row_source import RowSource
from skcal.metrics import MEASURES
from tests.inference.samples import OF_SUMMARIES, draw_binary, draw_classes, summarize

every_method = pytest.mark.parametrize("method", ["percentile", "basic", "bca"])


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def mean_outcome(y_true, y_proba, *, sample_weight=None):
    return float(np.average(y_true, weights=sample_weight))


# --------------------------------------------------------------------------- definition


@pytest.mark.parametrize("name", MEASURES)
@every_method
def test_every_measure_for_two_and_more_classes(name, method, rng):
    for y, proba in (draw_binary(rng, 40), draw_classes(rng, 40)):
        interval = bootstrap_interval(
            name, y, proba, method=method, n_resamples=10, random_state=0, reduction="auto"
        )
        assert isinstance(interval, Interval)
        assert interval.estimate == pytest.approx(MEASURES[name].function(y, proba), abs=1e-12)
        assert interval.low <= interval.high
        assert all(type(value) is float for value in interval)


def test_quantiles_of_all_resamples():
    """A mean of 4 rows: all 4^4 resamples, read in two ways."""
    y = np.array([0.0, 0.1, 0.2, 0.9])
    means = [np.mean(rows) for rows in itertools.product(y, repeat=4)]
    options = {"n_resamples": 20_000, "confidence_level": 0.8, "random_state": 0}
    low, high = np.quantile(means, [0.1, 0.9])
    percentile = bootstrap_interval(mean_outcome, y, np.full(4, 0.5), **options)
    np.testing.assert_allclose(percentile, (0.3, low, high), atol=1e-12)
    basic = bootstrap_interval(mean_outcome, y, np.full(4, 0.5), method="basic", **options)
    np.testing.assert_allclose(basic, (0.3, 0.6 - high, 0.6 - low), atol=1e-12)


@every_method
def test_interval_of_a_mean_is_the_normal_one(method):
    """For many rows of a symmetric mean all methods tend to the mean +- 1.96 standard errors."""
    y, proba = np.tile([0, 1], 800), np.full(1600, 0.5)
    error = 1.96 * 0.5 / np.sqrt(1600)
    interval = bootstrap_interval(
        mean_outcome, y, proba, method=method, n_resamples=4000, random_state=1
    )
    np.testing.assert_allclose(interval, [0.5, 0.5 - error, 0.5 + error], atol=0.0025)


def test_bca_moves_towards_the_longer_tail():
    """The mean of a right-skewed sample: both ends move up, as Efron (1987) shows."""
    y = np.where(np.arange(60) < 54, 0.0, 1.0)
    plain, corrected = (
        bootstrap_interval(
            mean_outcome, y, np.full(60, 0.1), method=method, n_resamples=4000, random_state=0
        )
        for method in ("percentile", "bca")
    )
    assert corrected.low > plain.low
    assert corrected.high > plain.high


@every_method
def test_equal_rows_give_no_length(method):
    for n in (1, 30, 5000):
        interval = bootstrap_interval(
            "expected_calibration_error",
            np.ones(n),
            np.full(n, 0.25),
            method=method,
            n_resamples=10,
            random_state=0,
        )
        np.testing.assert_allclose(interval, 0.75, atol=1e-12)


def test_soft_labels(rng):
    """Outcomes that are equal to their predictions have no error in any resample."""
    y, proba = rng.random(60), rng.random(60)
    options = {"n_resamples": 30, "random_state": 0}
    for name in ("smooth_ece", "cumulative_calibration_error"):
        soft = bootstrap_interval(name, y, proba, **options)
        assert 0 < soft.low < soft.high
        np.testing.assert_allclose(bootstrap_interval(name, proba, proba, **options), 0, atol=1e-12)


# --------------------------------------------------------------------------- debiasing


def test_debias_subtracts_the_mean_of_calibrated_labels():
    """One prediction: ECE is |mean - v|, whose mean over Bernoulli(1/2) labels is known."""
    y, v, name = np.arange(64) < 48, np.full(64, 0.5), "expected_calibration_error"
    options = {"n_resamples": 4000, "random_state": 0}
    plain = bootstrap_interval(name, y, v, **options)
    debiased = bootstrap_interval(name, y, v, debias=True, **options)
    # E|S/n - 1/2| of a binomial S is binom(n, n/2) / 2^(n + 1).
    chance = np.prod((np.arange(1, 33) + 32) / (4 * np.arange(1, 33))) / 2
    shift = plain.estimate - debiased.estimate
    assert shift == pytest.approx(chance, abs=4 * 0.04 / np.sqrt(4000))
    # Resampled values of 1/4 with a standard deviation of .054 hardly ever change sign: their
    # mean is the estimate, so that both ends move as it does, but for the noise of that mean.
    ends = np.subtract(plain[1:], debiased[1:])
    np.testing.assert_allclose(ends, shift, atol=4 * 0.055 / np.sqrt(4000))


@pytest.mark.parametrize(
    ("n", "n_samples", "name"),
    [
        (100, 40, "expected_calibration_error"),
        *(
            # Beyond 4096 rows chance is that of merged rows, and so is the value it is taken off.
            pytest.param(6000, 12, f"{name}_calibration_error", marks=pytest.mark.slow)
            for name in ("interval", "expected")
        ),
    ],
)
def test_debiased_estimate_of_calibrated_rows_has_mean_zero(rng, n, n_samples, name):
    options = {"debias": True, "n_resamples": 50, "random_state": 0}
    estimates = [
        bootstrap_interval(name, *draw_binary(rng, n), **options).estimate for _ in range(n_samples)
    ]
    assert min(estimates) < 0 < max(estimates)
    assert abs(np.mean(estimates)) <= 3.5 * np.std(estimates, ddof=1) / np.sqrt(n_samples)


# --------------------------------------------------------------------------- coverage


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2000])
def test_debiased_interval_of_calibrated_rows_covers_zero(n):
    """Far more often than a share of .85: 100 samples of a share of .95 hardly show less."""
    hits = 0
    for seed in range(100):
        p = make_shrunk(n, slope=1.0, random_state=seed)
        options = {"debias": True, "n_resamples": 100, "random_state": seed}
        low, high = bootstrap_interval("smooth_ece", p.y_true, p.y_proba, **options)[1:]
        hits += low <= 0 <= high
    assert hits >= 85


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaged_two_bin_calibration_error", "smooth_ece"])
def test_coverage_of_the_population_value(name):
    """A closed form, far from calibrated: 95 % up to 3.5 standard errors."""
    hits = []
    for seed in range(120):
        p = make_shrunk(600, slope=0, random_state=seed)
        options = {"n_resamples": 100, "random_state": 0}
        low, high = bootstrap_interval(name, p.y_true, p.y_proba, **options)[1:]
        hits.append(low <= p.true_value(name) <= high)
    assert np.mean(hits) >= 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 120)


# --------------------------------------------------------------------------- many rows


def make_resamples(name, y, proba, weights, units):
    statistic = bind_for_rows("measure", name, {}, "auto", weights)
    bound = bind_rows(statistic, y, proba, sample_weight=weights, pos_label=None, labels=None)
    return RowSource(*bound, units).make_resamples()


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
    units = Units(n, np.arange(n) // 20) if grouped else Units(n)
    merged = make_resamples(name, *rows, units)
    monkeypatch.setattr(_row_source, "FEW_ROWS", 10**6)
    monkeypatch.setattr(BoundMeasure, "is_plain_smooth_ece", False)
    apart = make_resamples(name, *rows, units)
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


# --------------------------------------------------------------------------- groups


def test_whole_groups_are_drawn(rng):
    """Rows repeated in groups carry no more information than one of them."""
    y, proba = draw_binary(rng, 300, slope=0.5)
    options = {"n_resamples": 400, "random_state": 0}
    single = bootstrap_interval(mean_outcome, y, proba, **options)
    repeated = np.repeat(y, 5), np.repeat(proba, 5)
    groups = np.repeat(np.arange(300), 5)
    whole = bootstrap_interval(mean_outcome, *repeated, groups=groups, **options)
    np.testing.assert_allclose(whole, single, atol=1e-12)  # the same seed draws the same groups
    apart = bootstrap_interval(mean_outcome, *repeated, **options)
    assert whole.high - whole.low > 1.5 * (apart.high - apart.low)


def test_groups_may_have_any_size_and_name(rng):
    y, proba = draw_binary(rng, 90)
    sizes = np.repeat(np.arange(12), rng.multinomial(90, np.ones(12) / 12))
    by_number, by_name = (
        bootstrap_interval(
            "kernel_calibration_error", y, proba, groups=groups, n_resamples=50, random_state=0
        )
        for groups in (sizes, [f"site {number:02}" for number in sizes])
    )
    assert by_number == by_name


# --------------------------------------------------------------------------- summaries


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
    interval = bootstrap_interval_from_summary(
        name,
        summarize([1] * 80 + [0] * 20, [0.5] * 100),
        n_resamples=4000,
        confidence_level=0.8,
        random_state=0,
    )
    low, high = binom(100, 0.8).ppf([0.1, 0.9]) / 100 - 0.5
    np.testing.assert_allclose(interval, [0.3, low, high], atol=0.01 + 1e-6)
    assert interval.estimate == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("name", ["smooth_ece", "kernel_calibration_error"])
def test_a_billion_rows_cost_no_more(name):
    summary = summarize(*draw_binary(np.random.default_rng(5), 500, digits=2))
    for _ in range(22):
        summary = summary + summary
    low, high = bootstrap_interval_from_summary(name, summary, n_resamples=20, random_state=0)[1:]
    assert 0 < high - low < 1e-3


@pytest.mark.parametrize("n_cells", [64, 2**14])
@pytest.mark.parametrize("name", ["expected_calibration_error", "cumulative_calibration_error"])
def test_resampled_rows_have_the_moments_of_the_rows(name, n_cells):
    """Rows of a merged cell come and go with their mean prediction, those of either outcome with
    its own where the answer of the summary knows the two apart: with bins, not with sums."""
    y, v = draw_binary(np.random.default_rng(9), 20_000)
    bound = bind_for_cells("measure", name, {})
    source = CellSource(bound, check_summary("summary", summarize(y, v, n_cells=n_cells)))
    outcomes, places, numbers = source._merge_by_outcome()
    assert len(numbers) == 2 * n_cells if n_cells == 64 else len(numbers) < 2 * 2100
    width = max(1 / n_cells, 1 / 1024)
    assert numbers @ places == pytest.approx(v.sum(), rel=1e-12)
    for outcome in (0, 1):
        rows, own = v[y == outcome], outcomes == outcome
        assert numbers[own].sum() == len(rows)
        moved = np.repeat(places[own], numbers[own].astype(int))
        assert np.abs(np.sort(moved) - np.sort(rows)).max() <= width
        is_own = numbers[own] @ places[own] == pytest.approx(rows.sum(), rel=1e-12)
        assert is_own == (name == "expected_calibration_error")


def test_rounded_and_unrounded_predictions_share_a_place():
    # Rows of 0.3 and of float32(0.3) share a cell: outcomes of both kinds must lie at one place, or
    # their numbers would differ by whole cells in the resamples, beyond the error bound.
    rng = np.random.default_rng(0)
    tenths = rng.integers(1, 10, 20_000) / 10
    y = rng.random(20_000) < tenths
    v = np.where(np.arange(20_000) % 2, tenths, tenths.astype(np.float32).astype(float))
    summary, name = summarize(y, v), "cumulative_calibration_error"
    for deviation in ("range", "max"):
        options = {"deviation": deviation, "random_state": 0, "n_resamples": 400}
        cells = bootstrap_interval_from_summary(name, summary, **options)
        rows = bootstrap_interval(name, y, v, **options)
        reach = summary.error_bound(name, deviation=deviation)
        assert cells.low <= rows.low
        assert cells.high - reach == pytest.approx(rows.high, abs=(rows.high - rows.low) / 5)


def test_interval_reaches_out_by_the_error_bound():
    # An edge of a bin cuts each heavy cell: the summary cannot know the error, and says so.
    rng = np.random.default_rng(1)
    v = rng.integers(1, 10, 20_000) / 10
    y = rng.random(20_000) < v
    v += rng.choice([-1e-9, 1e-9], 20_000)
    summary, options = summarize(y, v), {"n_bins": 10, "n_resamples": 200, "random_state": 0}
    name = "expected_calibration_error"
    rows = bootstrap_interval(name, y, v, **options)
    cells = bootstrap_interval_from_summary(name, summary, **options)
    assert summary.error_bound(name, n_bins=10) > 0.01
    assert cells.low <= rows.low
    assert cells.high >= rows.high
    assert cells.low >= 0


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        ({"method": "bc"}, r"method must be one of .*Did you mean 'bca'\?"),
        ({"debias": True, "groups": [0, 0, 1, 1]}, "groups must be None for debias=True"),
        ({"debias": "yes"}, "debias must be True or False"),
        ({"groups": [1, 1, 1, 1]}, "groups must hold at least two groups with rows; got 1"),
        ({"y_true": [0.5, 1, 1, 0], "debias": True}, "y_true must hold labels for debias=True"),
    ],
)
def test_bad_values(options, message):
    arguments = {"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.3, 0.6, 0.5]}
    with pytest.raises(ValueError, match=message):
        bootstrap_interval("smooth_ece", **{**arguments, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        ({"method": "bca"}, "method must be one of 'percentile', 'basic'; got 'bca'"),
        ({"confidence_level": 1.0}, "confidence_level must be at least 0 and below 1; got 1"),
        ({"debias": 1}, "debias must be True or False"),
    ],
)
def test_bad_values_for_summaries(options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_interval_from_summary("smooth_ece", summarize([0, 1], [0.5, 0.7]), **options)
