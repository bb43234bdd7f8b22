"""Confidence intervals of rows and of summaries: what is drawn, and coverage."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, t
from sklearn.metrics import brier_score_loss

from skcal._estimates._measure import Measure
from skcal._numerics.inference._bootstrap import accelerated_interval
from skcal._sources import _cross_fit, _row_source
from skcal._sources._bound_measure import BoundMeasure, bind_for_rows, bind_rows
from skcal._sources._cell_source import CellSource, bind_for_cells
from skcal._sources._cross_fit import WeightedParts
from skcal._sources._resamples import CellResamples, RowResamples, SmoothResamples, Units
from skcal._sources._row_source import RowSource
from skcal.inference import (
    confidence_interval,
    confidence_interval_from_summary,
    observed_expected_ratio,
)
from skcal.inference._summaries import check_summary
from skcal.metrics import MEASURES, expected_calibration_error
from tests.cases import slow_among
from tests.chance import most_of
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
    options = {"n_resamples": 5000, "confidence_level": 0.8, "random_state": 0}
    for method, ends in (("percentile", (low, high)), ("basic", mirrored), ("bca", corrected)):
        found = confidence_interval(
            y, np.full(4, 0.5), measure=mean_outcome, method=method, **options
        )
        np.testing.assert_allclose(found, (y.mean(), *ends), atol=1e-12)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("percentile", marks=pytest.mark.slow),
        "basic",
        pytest.param("bca", marks=pytest.mark.slow),
    ],
)
def test_without_variation_intervals_have_no_length(rng, method):
    options = {"method": method, "n_resamples": 30, "random_state": 0}
    for n in (1, 30, 5000):
        rows = np.ones(n), np.full(n, 0.25)
        interval = confidence_interval(*rows, measure="expected_calibration_error", **options)
        np.testing.assert_allclose(interval, 0.75, atol=1e-12)
    y, proba = rng.random((2, 60))
    for name in ("smooth_ece", "cumulative_calibration_error"):
        # Soft labels that are equal to their predictions have no error in any resample.
        np.testing.assert_allclose(
            confidence_interval(proba, proba, measure=name, **options), 0, atol=1e-12
        )
        soft = confidence_interval(y, proba, measure=name, **options)
        assert soft.low < soft.high


COVERED = (
    "expected_calibration_error",
    "smooth_calibration_error",
    "kernel_calibration_error",
    "cumulative_calibration_error",
    "smooth_ece",
    "decision_calibration_error",
    "integrated_calibration_index",
)
# Probabilities of uniform predictions: calibrated, too extreme, and lower everywhere.
TRUTHS = lambda v: v, lambda v: 0.1 + 0.8 * v, np.square


@pytest.mark.parametrize(
    "name", slow_among(COVERED, "smooth_ece", "decision_calibration_error", COVERED[-1])
)
def test_cross_fitted_intervals_cover_the_population_value(name):
    """At 95 %; shares of hundreds of samples are in tables of `benchmarks/`."""
    places, misses, n_samples = (np.arange(2000) + 0.5) / 2000, 0, 8
    for find_truth in TRUTHS:
        true_value = (
            0 if find_truth is TRUTHS[0] else MEASURES[name].function(find_truth(places), places)
        )
        for seed in range(n_samples):
            rng = np.random.default_rng(seed)
            v = rng.random(100)
            y = (rng.random(100) < find_truth(v)).astype(int)
            found = confidence_interval(y, v, measure=name, random_state=seed)
            assert found.low <= found.estimate <= found.high
            misses += not found.low <= true_value <= found.high
    assert misses <= most_of(3 * n_samples, 0.05)


SQUARES = (
    "squared_calibration_error",
    "squared_kernel_calibration_error",
    "averaged_two_bin_calibration_error",
)


@pytest.mark.parametrize("name", slow_among(SQUARES, SQUARES[1]))
def test_intervals_of_squares_cover_them(name):
    """Also where the root is small by chance, and with it the derivative of the square."""
    misses, n_samples, unit = 0, 8, 2 if name == SQUARES[1] else 1
    options = {"measure": name, "labels": [0, 1], "pos_label": 1}
    for k, (predicted, true) in enumerate([(0.01, 0.03), (0.3, 0.34), (0.3, 0.45)]):
        for seed in range(n_samples):
            y = (np.random.default_rng([seed, k]).random(150) < true).astype(int)
            v = np.full(150, predicted)
            found = confidence_interval(y, v, random_state=seed, **options)
            misses += not found.low <= unit * (true - predicted) ** 2 <= found.high
    assert misses <= most_of(3 * n_samples, 0.05)


def test_intervals_of_squares_have_the_units_of_their_kernel():
    rng = np.random.default_rng(0)
    v = rng.random(150)
    options = {"measure": "squared_kernel_calibration_error", "random_state": 0, "labels": [0, 1]}
    rows = (rng.random(150) < v**2).astype(int), v
    plain = confidence_interval(*rows, pos_label=1, **options)
    for size in (0.01, 100.0):
        found = confidence_interval(*rows, pos_label=1, label_kernel=size * np.eye(2), **options)
        np.testing.assert_allclose(found, size * np.array(plain), rtol=1e-6)
        constant = {"kernel": lambda p, q, size=size: np.full((len(p), len(q)), size)}
        scaled = confidence_interval(*rows, pos_label=1, **constant, **options)
        constant = {"kernel": lambda p, q: np.ones((len(p), len(q)))}
        found = confidence_interval(*rows, pos_label=1, **constant, **options)
        np.testing.assert_allclose(scaled, size * np.array(found), rtol=1e-6)


@pytest.mark.parametrize("n_rows", [100, 1000])
def test_intervals_of_squares_of_soft_labels_hold_them(n_rows):
    """Estimates are freed of a bias that soft labels do not have."""
    v = np.random.default_rng(0).uniform(0.1, 0.8, n_rows)
    options = {"measure": "squared_calibration_error", "random_state": 0}
    found = confidence_interval(v + 0.05, v, **options)
    assert found.low < 0.05**2 <= found.high
    # No square of mean residuals is above 1.
    assert confidence_interval([1, 0, 1], [0.3, 0.2, 0.8], **options).high <= 1


def test_cross_fitted_interval_of_a_mean():
    """One prediction: ECE is the size of a mean residual, far from 0 a plain mean.

    Its interval is then Student's about that mean, with the variance of 50 batches, and Wilson's
    allowance at the upper end.
    """
    y, v, name = np.arange(5000) % 10 < 8, np.full(5000, 0.5), "expected_calibration_error"
    found = confidence_interval(y, v, measure=name, random_state=0)
    margin = t(49).ppf(0.975) * np.sqrt(0.8 * 0.2 / 5000)
    assert found.estimate == pytest.approx(0.3, abs=1e-12)
    # The deviation of a standard deviation of 50 batches is a tenth of it.
    assert found.estimate - found.low == pytest.approx(margin, rel=0.4)
    assert found.high - found.estimate == pytest.approx(margin, rel=0.4)


def test_no_event_still_leaves_room():
    """Nothing came true that had a probability of 1e-4: it may be right, or t^2/n too small."""
    found = confidence_interval(
        np.zeros(200), np.full(200, 1e-4), measure="expected_calibration_error", random_state=0
    )
    assert found.low == 0
    assert found.high - found.estimate == pytest.approx(t(49).ppf(0.975) ** 2 / 200, rel=1e-6)


@pytest.mark.parametrize("name", slow_among(MEASURES, "lower_calibration_distance"))
def test_cross_fitted_intervals_hold_their_estimate(name, rng):
    """With weights, clusters and rows of weight zero; of a single row the limits are known."""
    y, proba = draw_binary(rng, 40, slope=0.3)
    weights, cluster = rng.exponential(size=40), np.arange(40) // 2
    options = {"measure": name, "random_state": 0, "n_resamples": 5}
    for more in ({"sample_weight": weights}, {"clusters": cluster}):
        found = confidence_interval(y, proba, **more, **options)
        assert found.low <= found.estimate <= found.high
    kept = cluster % 2 == 0
    found = confidence_interval(y, proba, sample_weight=1.0 * kept, clusters=cluster, **options)
    alone = confidence_interval(y[kept], proba[kept], clusters=cluster[kept], **options)
    np.testing.assert_allclose(found, alone, atol=1e-9)
    low, high = confidence_interval([1], [0.7], **options)[1:]
    row = MEASURES[name]
    assert low == (-np.inf if row.is_signed else 0)
    assert high == (1 if row.reduces and not row.is_signed else np.inf)


@pytest.mark.parametrize(
    "reduction",
    [
        pytest.param("classwise", marks=pytest.mark.slow),
        pytest.param("top-label", marks=pytest.mark.slow),
        "full",
    ],
)
@pytest.mark.parametrize("name", ["smooth_calibration_error", "expected_calibration_error"])
def test_rows_of_several_problems_stay_together(name, reduction, rng):
    """Two labels as classes have the same residuals twice, so that nothing is known better."""
    y, proba = draw_binary(rng, 300, slope=0.5)
    options = {"measure": name, "random_state": 0, "n_bins": 2}
    if name == "smooth_calibration_error":
        del options["n_bins"]
    both = np.column_stack([1 - proba, proba])
    single = confidence_interval(y, proba, **options)
    found = confidence_interval(y, both, reduction=reduction, **options)
    if reduction == "classwise":
        np.testing.assert_allclose(found, single, atol=1e-6)
    else:
        assert found.low < found.estimate < found.high


@pytest.mark.parametrize(
    ("n_classes", "n_bins"), [(2, 200), pytest.param(5, 15, marks=pytest.mark.slow)]
)
def test_sparse_bins_of_calibrated_rows_are_no_error(rng, n_classes, n_bins):
    """Bins with rows of one half alone: whatever they show, nothing confirms it."""
    lows = []
    for seed in range(12):
        proba = rng.dirichlet(np.ones(n_classes), 100)
        y = (rng.random((100, 1)) > np.cumsum(proba, axis=1)[:, :-1]).sum(axis=1)
        options = {"measure": "expected_calibration_error", "n_bins": n_bins}
        if n_classes > 2:
            options = {"measure": "canonical_calibration_error"}
        lows.append(confidence_interval(y, proba, random_state=seed, **options).low)
    assert np.count_nonzero(lows) <= binom(12, 0.05).ppf(0.999)


@pytest.mark.parametrize(
    "name", [pytest.param("smooth_ece", marks=pytest.mark.slow), "expected_calibration_error"]
)
def test_certain_predictions_that_all_come_true(name):
    """Of n rows none is wrong; up to t^2 of them may be among as many others."""
    y = np.arange(300) % 2
    found = confidence_interval(y, y.astype(float), measure=name, random_state=0)
    assert found[:2] == (0, 0)
    assert found.high == pytest.approx(t(49).ppf(0.975) ** 2 / 300, rel=1e-3)
    # Soft labels are no outcomes of chance: nothing more may happen.
    soft = np.linspace(0, 1, 300)
    assert confidence_interval(soft, soft, measure=name, random_state=0).high < 1e-3


def test_measures_with_an_estimate(rng):
    """Ratios of observed to expected outcomes, whose clusters are drawn as a whole."""
    v = rng.uniform(0.2, 0.8, 300)
    y = (rng.random(300) < v).astype(int)
    options = {"method": "percentile", "n_resamples": 99, "random_state": 0}
    options["clusters"] = np.arange(300) // 3
    found = confidence_interval(y, v, measure=observed_expected_ratio, **options)
    assert found.estimate == pytest.approx(y.sum() / v.sum())

    def divide(y_true, y_proba, sample_weight=None):
        return np.average(y_true, weights=sample_weight) / np.average(
            y_proba, weights=sample_weight
        )

    expected = confidence_interval(y, v, measure=divide, **options)
    np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-9)


def test_impossible_outcomes_count_in_full():
    """Predictions of 0, a fifth of which is wrong: the interval is that of a mean of 0.2."""
    y, v = np.arange(2000) % 5 == 0, np.zeros(2000)
    found = confidence_interval(y, v, measure="expected_calibration_error", random_state=0)
    assert found.estimate == pytest.approx(0.2)
    deviation = np.sqrt(0.2 * 0.8 / 2000)
    assert 1.2 * deviation < found.estimate - found.low < 2.8 * deviation
    assert 1.2 * deviation < found.high - found.estimate < 2.8 * deviation


def test_the_first_row_may_be_alone():
    """As the only row of its predicted label it is a problem of its own."""
    proba = np.array([[0.1, 0.1, 0.8], *(30 * [[0.6, 0.3, 0.1]])])
    statistic = bind_for_rows("measure", "expected_calibration_error", {}, "top-label", None)
    data = {"sample_weight": None, "pos_label": None, "labels": None}
    bound = bind_rows(statistic, [2, *(29 * [0]), 1], proba, **data)
    residuals = RowSource(*bound, Units(31)).make_residuals()
    numbers = np.concatenate([problem.number for problem in residuals.problems])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(31))


def test_a_callable_may_take_any_keywords(rng):
    def measure(y_true, y_proba, **options):
        return np.array(expected_calibration_error(y_true, y_proba, **options))

    y, proba = draw_binary(rng, 100, slope=0.3)
    weights = rng.exponential(size=100)
    options = {"sample_weight": weights, "n_bins": 5, "method": "basic", "random_state": 0}
    found, named = (
        confidence_interval(y, proba, measure=one, **options)
        for one in (measure, "expected_calibration_error")
    )
    assert found == named


def test_a_callable_is_cross_fitted_if_it_takes_soft_labels(rng):
    y, proba = draw_binary(rng, 100, slope=0.3)
    options = {"method": "cross-fit", "random_state": 0, "n_bins": 5}
    named = confidence_interval(y, proba, measure="expected_calibration_error", **options)

    def measure(y_true, y_proba, *, n_bins, sample_weight=None):
        return expected_calibration_error(
            y_true, y_proba, n_bins=n_bins, sample_weight=sample_weight
        )

    # How much a row may add to a callable is not known.
    found = confidence_interval(y, proba, measure=measure, **options)
    np.testing.assert_allclose(found, named, rtol=0.1)

    def measure_percent(y_true, y_proba, *, n_bins):
        return 100 * measure(y_true, y_proba, n_bins=n_bins)

    found = confidence_interval(y, proba, measure=measure_percent, **options)
    assert found.low == pytest.approx(100 * named.low, rel=0.05)
    assert found.high == pytest.approx(100 * named.high, rel=0.05)


@pytest.mark.parametrize(
    ("name", "n", "weighted", "grouped"),
    [
        *(("expected_calibration_error", 6000, w, g) for w in (False, True) for g in (False, True)),
        *(("smooth_ece", 40_000, w, False) for w in (False, True)),
    ],
)
def test_merged_rows_vary_like_all_rows(rng, monkeypatch, name, n, weighted, grouped):
    """Mean and deviation of some hundred resamples of either kind, within 4 standard errors."""
    rows = *draw_binary(rng, n, slope=0.5), rng.exponential(size=n) if weighted else None
    units = Units(n, rng.integers(300, size=n)) if grouped else Units(n)
    merged = bind_source(name, *rows, units).make_resamples()
    monkeypatch.setattr(_row_source, "FEW_ROWS", 10**6)
    monkeypatch.setattr(BoundMeasure, "traits", Measure())
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


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_merged_rows_have_the_cross_fitted_interval_of_all_rows(
    rng, monkeypatch, weighted, grouped
):
    """But for the chance of 50 batches, by which lengths vary by a tenth."""
    y_true, y_proba = draw_binary(rng, 6000, slope=0.5)
    options = {
        "measure": "expected_calibration_error",
        "sample_weight": rng.exponential(size=6000) if weighted else None,
        "clusters": rng.integers(300, size=6000) if grouped else None,
        "method": "cross-fit",
        "random_state": 0,
    }
    merged = confidence_interval(y_true, y_proba, **options)
    monkeypatch.setattr(_row_source, "FEW_ROWS", 10**6)
    apart = confidence_interval(y_true, y_proba, **options)
    np.testing.assert_allclose(merged, apart, atol=0.3 * (apart.high - apart.low))


def test_random_parts_of_weighted_rows(rng):
    """Shares have the moments of a random part for every row: mean 1 / m, covariance as below."""
    kind, weights = np.repeat([0, 1, 2], [1, 2, 300]), rng.exponential(size=303)
    mass = np.bincount(kind, weights)
    squares = np.bincount(kind, weights**2) / mass**2
    parts = WeightedParts(mass, 1 / squares, 303)
    assert parts.unit == pytest.approx(np.sum(weights**2) / weights.sum() ** 2)
    shares = np.array([list(parts.split(4, rng)) for _ in range(4000)])
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert set(np.unique(shares[:, :, 0])) == {0, 1}
    for k in range(3):
        expected = squares[k] * (np.eye(4) / 4 - 1 / 16)
        np.testing.assert_allclose(shares[:, :, k].mean(axis=0), 0.25, atol=4 * 0.5 / 4000**0.5)
        np.testing.assert_allclose(np.cov(shares[:, :, k].T), expected, atol=0.1 * squares[k] / 4)


def test_whole_clusters_are_drawn(rng):
    """Rows repeated in groups carry no more information than one of them."""
    y, proba = draw_binary(rng, 300, slope=0.5)
    options = {"method": "bca", "n_resamples": 400, "random_state": 0}
    row = rng.permutation(np.repeat(np.arange(300), 5))
    first = row[np.sort(np.unique(row, return_index=True)[1])]
    single = confidence_interval(y[first], proba[first], measure=mean_outcome, **options)
    apart = confidence_interval(y[row], proba[row], measure=mean_outcome, **options)
    for clusters in (row, [f"site {999 - number}" for number in row]):
        whole = confidence_interval(
            y[row], proba[row], measure=mean_outcome, clusters=clusters, **options
        )
        np.testing.assert_allclose(whole, single, atol=1e-12)  # a seed draws the same groups
    assert whole.high - whole.low > 1.5 * (apart.high - apart.low)


@pytest.mark.parametrize(
    ("name", "options", "method"),
    [
        *((*case, "percentile") for case in OF_SUMMARIES[:2]),
        (*OF_SUMMARIES[3], "cross-fit"),
        (*OF_SUMMARIES[3], "basic"),
        *(pytest.param(*case, "percentile", marks=pytest.mark.slow) for case in OF_SUMMARIES[2:]),
        *(
            pytest.param(*OF_SUMMARIES[k], "cross-fit", marks=pytest.mark.slow)
            for k in (0, 1, 2, 4, 5, 6)
        ),
    ],
)
def test_summaries_give_nearly_the_interval_of_their_rows(name, options, method):
    """Ends are quantiles, of a sampling error below a fifth of the length of the interval."""
    y, v = draw_binary(np.random.default_rng(3), 6000, slope=0.8)
    options = options | {"n_resamples": 200, "random_state": 0, "method": method}
    rows = confidence_interval(y, v, measure=name, **options)
    cells = confidence_interval_from_summary(summarize(y, v), measure=name, **options)
    assert cells.low < cells.estimate < cells.high
    np.testing.assert_allclose(cells, rows, rtol=0, atol=(rows.high - rows.low) / 5)


@pytest.mark.parametrize(
    "name", [pytest.param("smooth_ece", marks=pytest.mark.slow), "cumulative_calibration_error"]
)
def test_interval_of_few_places_has_the_multinomial_law(name):
    """One prediction: the mean outcome is binomial, and the error its distance from it."""
    summary = summarize([1] * 80 + [0] * 20, [0.5] * 100)
    options = {"n_resamples": 1000, "confidence_level": 0.8, "random_state": 0}
    options["method"] = "percentile"
    interval = confidence_interval_from_summary(summary, measure=name, **options)
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
    options = options | {"random_state": 0, "n_resamples": 400, "method": "percentile"}
    cells = confidence_interval_from_summary(summary, measure=name, **options)
    rows = confidence_interval(y, v, measure=name, **options)
    assert 0 <= cells.low <= rows.low
    if "deviation" in options:
        assert cells.high - reach == pytest.approx(rows.high, abs=(rows.high - rows.low) / 5)
    else:
        assert reach > 0.01
        assert cells.high >= rows.high


ROWS = {"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.3, 0.6, 0.5]}
of_rows = partial(confidence_interval, **ROWS)
of_summary = partial(confidence_interval_from_summary, summarize(*ROWS.values()))


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        (of_rows, {"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        (of_rows, {"method": "bc"}, r"method must be one of .*Did you mean 'bca'\?"),
        (of_rows, {"n_resamples": 1001}, "n_resamples must be at most 1000; got 1001"),
        (of_rows, {"n_jobs": 0}, "n_jobs must be None or an integer other than 0; got 0"),
        (of_rows, {"n_jobs": "all"}, "n_jobs must be .*; got 'all'"),
        (
            of_rows,
            {"measure": brier_score_loss, "method": "cross-fit"},
            "must take soft labels for method='cross-fit'; brier_score_loss refused them",
        ),
        (of_rows, {"clusters": [1] * 4}, "clusters must hold at least two clusters with rows; got"),
        (
            of_rows,
            {"clusters": [1] * 3},
            "clusters must hold one label for each of the 4 rows; got",
        ),
        (of_summary, {"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        (
            of_summary,
            {"method": "bca"},
            "'cross-fit', 'percentile', 'basic'; got 'bca'",
        ),
    ],
)
def test_bad_values(call, options, message):
    with pytest.raises(ValueError, match=message):
        call(**options)


def test_halves_are_measured_only_where_the_lower_end_needs_them():
    y_true, y_proba = draw_binary(np.random.default_rng(0), 60)
    calls = []

    def curve(prob_pred, prob_true, weight):
        calls.append(weight)
        return (prob_pred + prob_true) / 2

    ends, counts = [], []
    for n_resamples in (2, 200):
        calls.clear()
        ends.append(
            confidence_interval(
                y_true,
                y_proba,
                measure="integrated_calibration_index",
                curve=curve,
                n_resamples=n_resamples,
                random_state=0,
            )
        )
        counts.append(len(calls))
    assert counts[0] == counts[1] < 60
    assert ends[0] == ends[1]
    assert ends[0].low == 0


@pytest.mark.parametrize("measure", ["integrated_calibration_index", "expected_calibration_error"])
def test_values_that_are_found_together_are_those_of_each(measure, monkeypatch):
    rng = np.random.default_rng(0)
    proba = np.append(rng.random(60), [0.0, 0.0, 1.0])  # the last ones have no other side
    y_true = np.append(rng.random(60) < 0.5, [1, 0, 0])
    arguments = {"measure": measure, "random_state": 0, "n_resamples": 4}
    together = confidence_interval(y_true, proba, **arguments)
    monkeypatch.setattr(_cross_fit, "_MOST_SHARES", 1)
    apart = confidence_interval(y_true, proba, **arguments)
    np.testing.assert_allclose(together, apart, rtol=0, atol=1e-11)
