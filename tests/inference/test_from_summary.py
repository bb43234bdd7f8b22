"""The test of calibration and bootstrap intervals on summaries, beside those on rows."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from skcal._numerics._cell_moments import average_cells
from skcal.inference import (
    bootstrap_interval,
    bootstrap_interval_from_summary,
    calibration_test,
    calibration_test_from_summary,
)
from skcal.inference._from_summary import merge_by_outcome
from skcal.inference._statistic import check_statistic
from skcal.inference._summary_counts import count_rows
from skcal.metrics import kernel_calibration_error, smooth_calibration_error
from skcal.streaming import CalibrationSummary

MEASURES = [
    ("smooth_calibration_error", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("expected_calibration_error", {"n_bins": 10}),
    ("squared_calibration_error", {"strategy": "uniform"}),
    ("cumulative_calibration_error", {}),
    ("kernel_calibration_error", {}),
]
every_measure = pytest.mark.parametrize(
    ("name", "options"), MEASURES, ids=[f"{name}-{len(options)}" for name, options in MEASURES]
)


def make_rows(seed, n_rows=6000, *, change=0.0, digits=None):
    rng = np.random.default_rng(seed)
    v = rng.beta(1.5, 2.5, n_rows)
    v = v if digits is None else np.round(v, digits)
    return (rng.random(n_rows) < v + change * (0.5 - v)).astype(int), v


def summarize(y, v, **settings):
    return CalibrationSummary(**settings).update(y, v)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("smooth_calibration_error", smooth_calibration_error),
        ("kernel_calibration_error", kernel_calibration_error),
    ],
)
def test_pvalue_is_that_of_all_outcomes(name, function):
    """Predictions alone in their cells: the law of the rows themselves."""
    v = np.array([0.15, 0.15, 0.3, 0.3, 0.3, 0.7, 0.8, 0.8])
    y = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    observed, exact = function(y, v), 0.0
    for outcomes in product((0, 1), repeat=len(v)):
        outcomes = np.array(outcomes)
        if function(outcomes, v) >= observed - 1e-9:
            exact += np.where(outcomes, v, 1 - v).prod()
    result = calibration_test_from_summary(
        summarize(y, v), statistic=name, n_resamples=2999, random_state=0
    )
    assert 0.01 < exact < 0.99
    assert abs(result.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 2999)
    assert result.statistic == result.estimate == pytest.approx(observed, abs=1e-12)


@every_measure
def test_agrees_with_the_test_of_the_rows(name, options):
    y, v = make_rows(1, change=0.04)
    n_resamples = 199
    whole, rest = (
        function(*data, statistic=name, n_resamples=n_resamples, random_state=0, **options)
        for function, data in (
            (calibration_test, (y, v)),
            (calibration_test_from_summary, (summarize(y, v),)),
        )
    )
    bound = summarize(y, v).error_bound(name, **options)
    assert abs(rest.statistic - whole.statistic) <= bound
    # Two p-values of independent draws.
    error = np.sqrt(2 * max(whole.pvalue * (1 - whole.pvalue), 1 / n_resamples) / n_resamples)
    assert abs(rest.pvalue - whole.pvalue) < 4.5 * error


def test_level_with_wide_cells():
    """The binomial law is wider than the Poisson binomial one, hence at most the level."""
    rng, n_trials = np.random.default_rng(0), 200
    pvalues = []
    for _ in range(n_trials):
        v = rng.beta(1, 8, 600)
        summary = summarize(rng.random(600) < v, v, n_cells=16)
        result = calibration_test_from_summary(
            summary, statistic="cumulative_calibration_error", n_resamples=39, random_state=rng
        )
        pvalues.append(result.pvalue)
    for level in (0.05, 0.2, 0.5):
        assert np.sum(np.array(pvalues) <= level) <= binom(n_trials, level).ppf(0.9995)


@every_measure
def test_power(name, options):
    y, v = make_rows(2, change=0.25)
    result = calibration_test_from_summary(
        summarize(y, v), statistic=name, n_resamples=99, random_state=0, **options
    )
    assert result.pvalue == 0.01


def test_certain_predictions():
    right = summarize([0, 1, 1], [0.0, 1.0, 1.0])
    assert calibration_test_from_summary(right, n_resamples=9).pvalue == 1.0
    wrong = summarize([0, 0, 1], [0.0, 1.0, 1.0])
    assert calibration_test_from_summary(wrong, n_resamples=9, random_state=0).pvalue == 0.1


@every_measure
def test_interval_agrees_with_that_of_the_rows(name, options):
    """Ends are quantiles, of a sampling error below a fifth of the length of the interval."""
    y, v = make_rows(3, change=0.2)
    whole, rest = (
        function(name, *data, n_resamples=200, random_state=0, **options)
        for function, data in (
            (bootstrap_interval, (y, v)),
            (bootstrap_interval_from_summary, (summarize(y, v),)),
        )
    )
    length = whole.high - whole.low
    assert abs(rest.estimate - whole.estimate) <= summarize(y, v).error_bound(name, **options)
    assert abs(rest.low - whole.low) < length / 5
    assert abs(rest.high - whole.high) < length / 5


@pytest.mark.parametrize("name", ["smooth_ece", "cumulative_calibration_error"])
def test_interval_of_few_places_has_the_multinomial_law(name):
    """One prediction: the mean outcome is binomial, and the error its distance from it."""
    summary = summarize([1] * 80 + [0] * 20, [0.5] * 100)
    interval = bootstrap_interval_from_summary(
        name, summary, n_resamples=4000, confidence_level=0.8, random_state=0
    )
    low, high = binom(100, 0.8).ppf([0.1, 0.9]) / 100 - 0.5
    assert interval.estimate == pytest.approx(0.3, abs=1e-6)
    assert interval.low == pytest.approx(low, abs=0.01 + 1e-6)
    assert interval.high == pytest.approx(high, abs=0.01 + 1e-6)


def test_basic_interval():
    summary = summarize(*make_rows(4))
    options = {"n_resamples": 200, "random_state": 0}
    plain = bootstrap_interval_from_summary("smooth_ece", summary, **options)
    basic = bootstrap_interval_from_summary("smooth_ece", summary, method="basic", **options)
    assert basic.low == pytest.approx(2 * plain.estimate - plain.high, abs=1e-12)
    assert basic.high == pytest.approx(2 * plain.estimate - plain.low, abs=1e-12)


@pytest.mark.parametrize("method", ["percentile", "basic"])
@pytest.mark.parametrize("name", ["smooth_ece", "cumulative_calibration_error"])
def test_debiased_interval_agrees_with_that_of_the_rows(name, method):
    options = {"method": method, "debias": True, "n_resamples": 400, "random_state": 0}
    y, v = make_rows(4)
    debiased = bootstrap_interval_from_summary(name, summarize(y, v), **options)
    whole = bootstrap_interval(name, y, v, **options)
    length = whole.high - whole.low
    np.testing.assert_allclose(debiased, whole, atol=length / 5)
    assert debiased.low < debiased.estimate < debiased.high


@pytest.mark.parametrize("n_cells", [64, 2**14])
def test_resampled_rows_have_the_moments_of_the_rows(n_cells):
    """Rows of one outcome in a merged cell come and go with their own mean prediction."""
    y, v = make_rows(9, 20_000)
    cells = summarize(y, v, n_cells=n_cells)._cells[0]
    counts = count_rows("summary", cells)
    statistic = check_statistic("measure", "cumulative_calibration_error", {}, "auto", None)
    predictions, outcomes, numbers = merge_by_outcome(statistic, cells, counts)
    places = average_cells(*cells.moments_and_places)[0]
    if n_cells == 64:
        assert len(numbers) == np.count_nonzero(counts)
    else:
        assert len(numbers) < 2 * 2100 < 2 * len(places)
    for outcome in (0, 1):
        rows, own = v[y == outcome], outcomes == outcome
        assert numbers[own].sum() == len(rows)
        assert numbers[own] @ predictions[own] == pytest.approx(rows.sum(), rel=1e-12)
        # No prediction is moved by more than the width of a merged cell.
        width = max(1 / n_cells, 1 / 1024)
        moved = np.repeat(predictions[own], numbers[own].astype(int))
        assert np.abs(np.sort(moved) - np.sort(rows)).max() <= width
        assert len(np.unique(predictions[own])) == own.sum()


@pytest.mark.parametrize("name", ["smooth_ece", "kernel_calibration_error"])
def test_a_billion_rows_cost_no_more(name):
    summary = summarize(*make_rows(5, n_rows=500, digits=2))
    for _ in range(22):
        summary = summary + summary
    assert summary.n_samples_ > 2e9
    # What was chance among 500 rows is certain now.
    result = calibration_test_from_summary(summary, statistic=name, n_resamples=19, random_state=0)
    assert result.pvalue == 0.05
    low, high = bootstrap_interval_from_summary(name, summary, n_resamples=20, random_state=0)[1:]
    assert 0 < high - low < 1e-3


def test_answers_do_not_depend_on_jobs_or_order():
    parts = [summarize(*make_rows(seed, 500)) for seed in range(3)]
    one, two = parts[0] + parts[1] + parts[2], parts[2] + parts[0] + parts[1]
    options = {"n_resamples": 199, "random_state": 3}
    assert (
        calibration_test_from_summary(one, statistic="smooth_ece", **options).pvalue
        == calibration_test_from_summary(two, statistic="smooth_ece", n_jobs=2, **options).pvalue
    )


@pytest.mark.parametrize(
    "function",
    [calibration_test_from_summary, partial(bootstrap_interval_from_summary, "smooth_ece")],
    ids=["test", "interval"],
)
def test_summaries_that_are_refused(function):
    with pytest.raises(TypeError, match="summary must be a CalibrationSummary; got ndarray"):
        function(np.array([0.5]))
    with pytest.raises(ValueError, match="summary must hold rows; got an empty summary"):
        function(CalibrationSummary())
    with pytest.raises(ValueError, match="summary must hold labels without weights"):
        function(CalibrationSummary().update([0, 1], [0.5, 0.5], [1.5, 1]))
    with pytest.raises(ValueError, match="summary must hold labels without weights"):
        function(CalibrationSummary().update([0.5, 0.7], [0.5, 0.5]))
    # Sums that are whole do not make rows.
    with pytest.raises(ValueError, match="summary must hold labels without weights"):
        function(CalibrationSummary().update([0, 0], [0.5, 0.5], [0.5, 1.5]))
    with pytest.raises(ValueError, match="summary must hold labels without weights"):
        function(CalibrationSummary().update([0.25, 0.75], [0.5, 0.5]))
    with pytest.raises(ValueError, match="got reduction='full'"):
        function(summarize([0, 1], [0.5, 0.5], reduction="full"))


@pytest.mark.parametrize(
    "function",
    [calibration_test_from_summary, partial(bootstrap_interval_from_summary, "smooth_ece")],
    ids=["test", "interval"],
)
def test_weights_of_zero_and_one_select_rows(function):
    y, v = make_rows(8, 400)
    chosen = np.arange(400) % 3 > 0
    weighted = CalibrationSummary().update(y, v, chosen)
    assert function(weighted, random_state=0) == function(
        summarize(y[chosen], v[chosen]), random_state=0
    )


def test_arguments_that_are_refused():
    summary = summarize(*make_rows(6, 100))
    with pytest.raises(TypeError, match="statistic must be the name of a measure"):
        calibration_test_from_summary(summary, statistic=smooth_calibration_error)
    with pytest.raises(ValueError, match="statistic must be one of"):
        calibration_test_from_summary(summary, statistic="brier")
    with pytest.raises(TypeError, match="has no option 'bins'"):
        calibration_test_from_summary(summary, statistic="expected_calibration_error", bins=3)
    with pytest.raises(ValueError, match="cannot be answered"):
        calibration_test_from_summary(
            summarize([0, 1, 1], [0.5, 0.499999, 0.7]), statistic="interval_calibration_error"
        )
    with pytest.raises(ValueError, match="n_resamples must be"):
        calibration_test_from_summary(summary, n_resamples=0)
    with pytest.raises(ValueError, match="method must be"):
        bootstrap_interval_from_summary("smooth_ece", summary, method="bca")
    with pytest.raises(ValueError, match="confidence_level must"):
        bootstrap_interval_from_summary("smooth_ece", summary, confidence_level=1.0)
    with pytest.raises(ValueError, match="debias must be"):
        bootstrap_interval_from_summary("smooth_ece", summary, debias=1)


def test_interval_of_a_measure_of_rounded_and_unrounded_predictions():
    # Rows of 0.3 and of float32(0.3) share a cell: outcomes of both kinds must lie at one place, or
    # their numbers would differ by whole cells in the resamples, beyond the error bound.
    rng = np.random.default_rng(0)
    tenths = rng.integers(1, 10, 20_000) / 10
    y = rng.random(20_000) < tenths
    v = np.where(np.arange(20_000) % 2, tenths, tenths.astype(np.float32).astype(float))
    summary, name = summarize(y, v), "cumulative_calibration_error"
    for statistic in ("range", "max"):
        options = {"statistic": statistic, "random_state": 0, "n_resamples": 400}
        rest = bootstrap_interval_from_summary(name, summary, **options)
        whole = bootstrap_interval(name, y, v, **options)
        reach = summary.error_bound(name, statistic=statistic)
        assert rest.low <= whole.low
        assert rest.high - reach == pytest.approx(whole.high, abs=(whole.high - whole.low) / 5)


def test_interval_reaches_out_by_the_error_bound():
    # An edge of a bin cuts each heavy cell: the summary cannot know the error, and says so.
    rng = np.random.default_rng(1)
    v = rng.integers(1, 10, 20_000) / 10
    y = rng.random(20_000) < v
    v += rng.choice([-1e-9, 1e-9], 20_000)
    summary, options = summarize(y, v), {"n_bins": 10, "n_resamples": 200, "random_state": 0}
    name = "expected_calibration_error"
    whole = bootstrap_interval(name, y, v, **options)
    rest = bootstrap_interval_from_summary(name, summary, **options)
    assert summary.error_bound(name, n_bins=10) > 0.01
    assert rest.low <= whole.low
    assert rest.high >= whole.high
    assert rest.low >= 0
