"""The exact test of rows and of summaries: its definition, level, power, and degenerate samples."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from skcal._bound_measure import BoundMeasure, bind_for_rows, bind_rows
from skcal._numerics._monte_carlo import find_pvalue
from skcal.inference import _row_source, calibration_test, calibration_test_from_summary
from skcal.inference._draws import Draws
from skcal.inference._null_draws import NullCells, NullRows
from skcal.inference._row_source import RowSource
from skcal.metrics import MEASURES
from tests.inference.samples import OF_SUMMARIES, draw_binary, draw_classes, summarize

every_measure = pytest.mark.parametrize("name", MEASURES)
FIVE = (
    "smooth_calibration_error",
    "expected_calibration_error",
    "smooth_ece",
    "cumulative_calibration_error",
    "squared_calibration_error",
)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def find_null(name, y, proba, weights=None, **options):
    """The source of draws that `calibration_test` uses."""
    statistic = bind_for_rows("statistic", name, options, "auto", weights)
    bound = bind_rows(statistic, y, proba, sample_weight=weights, pos_label=None, labels=None)
    return RowSource(*bound).make_null()


# --------------------------------------------------------------------------- definition


@every_measure
def test_every_measure_for_two_and_more_classes(name, rng):
    measure = MEASURES[name].function
    for y, proba in (draw_binary(rng, 60), draw_classes(rng, 60)):
        result = calibration_test(y, proba, statistic=name, n_resamples=19, random_state=0)
        assert result.estimate == result.statistic == pytest.approx(measure(y, proba), abs=1e-12)
        assert result.pvalue * 20 == pytest.approx(round(result.pvalue * 20))
        assert type(result.null_mean) is float


@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_every_reduction(reduction, rng):
    y, proba = draw_classes(rng, 80)
    for name in ("expected_calibration_error", "smooth_ece"):
        options = {"statistic": name, "reduction": reduction, "n_resamples": 39, "random_state": 0}
        expected = MEASURES[name].function(y, proba, reduction=reduction)
        assert calibration_test(y, proba, **options).estimate == pytest.approx(expected, abs=1e-12)
        assert calibration_test((y + 1) % 3, proba, **options).pvalue == 1 / 40


UNEVEN = np.array([3, 1, 0.5, 2, 1, 1, 4, 0.2])


@pytest.mark.parametrize(
    ("name", "n_classes", "weights", "summarized"),
    [
        ("smooth_calibration_error", 2, None, False),
        ("smooth_calibration_error", 2, UNEVEN, False),
        ("expected_calibration_error", 2, None, False),
        ("expected_calibration_error", 2, UNEVEN, False),
        ("squared_kernel_calibration_error", 3, None, False),
        ("smooth_calibration_error", 2, None, True),
        ("kernel_calibration_error", 2, None, True),
    ],
)
def test_pvalue_is_the_probability_of_all_outcomes(rng, name, n_classes, weights, summarized):
    """With ties; the cells of the summary hold one prediction each."""
    v = np.array([0.1, 0.3, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9])
    y, proba = np.array([0, 1, 1, 0, 0, 1, 0, 1]), np.column_stack([1 - v, v])
    if n_classes == 3:
        y, proba = np.array([0, 2, 1, 1]), rng.dirichlet([1, 1, 1], 4)
    options = {"labels": range(n_classes), "sample_weight": weights}
    measure = MEASURES[name].function
    observed = measure(y, proba, **options)
    outcomes = list(itertools.product(range(n_classes), repeat=len(y)))
    chance = np.array([proba[np.arange(len(y)), codes].prod() for codes in outcomes])
    values = np.array([measure(codes, proba, **options) for codes in outcomes])
    exact, mean = chance @ (values >= observed - 1e-9), chance @ values
    options = {"statistic": name, "n_resamples": 2999, "random_state": 0}
    if summarized:
        result = calibration_test_from_summary(summarize(y, v), **options)
    else:
        result = calibration_test(y, proba, sample_weight=weights, **options)
    assert 0.01 < exact < 0.99
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2999))
    assert result.statistic == result.estimate == pytest.approx(observed, abs=1e-12)
    error = np.sqrt(chance @ (values - mean) ** 2 / 2999)
    assert result.null_mean == pytest.approx(mean, abs=4 * error)


def test_pvalue_counts_draws_at_least_as_large(rng):
    """The p-value is that of the draws, which do not depend on the labels."""
    y, proba = draw_binary(rng, 100, digits=1)
    for name in FIVE:
        result = calibration_test(y, proba, statistic=name, n_resamples=200, random_state=3)
        (drawn,) = Draws(200, 3, None).run(find_null(name, 1 - y, proba).draw)
        assert result.pvalue == find_pvalue(result.statistic, drawn)
        assert result.null_mean == drawn.mean()


# --------------------------------------------------------------------------- level and power


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500])
@pytest.mark.parametrize("kind", ["plain", "ties", "weights"])
def test_level_of_2000_samples(n, kind):
    """2000 samples at the same predictions, compared with the same 4999 draws."""
    rng = np.random.default_rng(n)
    _, proba = draw_binary(rng, n, digits=1 if kind == "ties" else None)
    weights = rng.exponential(size=n) if kind == "weights" else None
    samples = (rng.random((2000, n)) < proba).astype(int)
    for name in FIVE:
        (drawn,) = Draws(4999, rng, None).run(find_null(name, samples[0], proba, weights).draw)
        measure = MEASURES[name].function
        values = [measure(y, proba, sample_weight=weights) for y in samples]
        level = np.mean([find_pvalue(value, drawn) <= 0.05 for value in values])
        assert level <= 0.065, name
        assert level >= 0.035 or kind == "ties", name


def test_level_with_wide_cells():
    """The binomial law is wider than the Poisson binomial one, hence at most the level."""
    rng, n_trials = np.random.default_rng(0), 200
    options = {"statistic": "cumulative_calibration_error", "n_resamples": 39, "random_state": rng}
    pvalues = []
    for _ in range(n_trials):
        v = rng.beta(1, 8, 600)
        summary = summarize(rng.random(600) < v, v, n_cells=16)
        pvalues.append(calibration_test_from_summary(summary, **options).pvalue)
    for level in (0.05, 0.2, 0.5):
        assert np.sum(np.array(pvalues) <= level) <= binom(n_trials, level).ppf(0.9995)


# --------------------------------------------------------------------------- many rows


@pytest.fixture
def many(rng):
    proba = rng.beta(1.2, 2.0, 12_000)
    return (rng.random(12_000) < proba).astype(int), proba


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_rows_give_nearly_the_statistic_of_all_rows(many, rng, weighted):
    y, proba = many
    weights = rng.random(len(y)) if weighted else None
    # (measure, options, what a move of all predictions by less than 1/1024 can change it by)
    bounds = [
        *(("expected_calibration_error", {"n_bins": n}, 1e-12) for n in (7, 15, 100)),
        ("maximum_calibration_error", {}, 1e-12),  # bins keep their sums
        ("smooth_calibration_error", {}, 2 / 1024),
        ("cumulative_calibration_error", {}, 2 * 120 / 12_000),  # rows that two cells may hold
    ]
    for name, options, bound in bounds:
        null = find_null(name, y, proba, weights, **options)
        assert isinstance(null, NullCells)
        value = MEASURES[name].function(y, proba, sample_weight=weights, **options)
        assert abs(null.observed - value) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_merged_rows_give_nearly_the_pvalue_of_all_rows(many, name, monkeypatch):
    """Two p-values of 299 draws each; their standard error is at most sqrt(2 * .25 / 299)."""
    y, proba = many[0][:4200], many[1][:4200]
    merged = calibration_test(y, proba, statistic=name, n_resamples=299, random_state=0)
    monkeypatch.setattr(_row_source, "FEW_ROWS", 10**6)
    monkeypatch.setattr(BoundMeasure, "is_plain_smooth_ece", False)
    assert isinstance(find_null(name, y, proba), NullRows)
    apart = calibration_test(y, proba, statistic=name, n_resamples=299, random_state=1)
    assert merged.estimate == apart.estimate
    assert merged.pvalue == pytest.approx(apart.pvalue, abs=3.5 * 0.041)


def test_level_of_merged_rows(many):
    """500 samples against 999 draws, with all rows alike and with weights."""
    rng = np.random.default_rng(3)
    proba, measure = many[1][:5000], MEASURES["expected_calibration_error"].function
    for weights in (None, rng.exponential(size=5000)):
        samples = (rng.random((500, 5000)) < proba).astype(int)
        null = find_null("expected_calibration_error", samples[0], proba, weights)
        (drawn,) = Draws(999, rng, None).run(null.draw)
        values = [measure(y, proba, sample_weight=weights) for y in samples]
        level = np.mean([find_pvalue(value, drawn) <= 0.05 for value in values])
        assert level == pytest.approx(0.05, abs=3.5 * 0.012)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_sums_of_weights_are_exact_whatever_their_type(rng, dtype):
    """The sum of the weights of equal rows is beyond what float16 and int8 hold."""
    y, proba = draw_binary(rng, 6000, digits=1)
    weights = rng.integers(1, 100, 6000)
    for name in ("smooth_ece", "expected_calibration_error"):
        options = {"statistic": name, "n_resamples": 20, "random_state": 0}
        expected = calibration_test(y, proba, sample_weight=weights.astype(float), **options)
        found = calibration_test(y, proba, sample_weight=weights.astype(dtype), **options)
        np.testing.assert_allclose([*found[:3], found[4]], [*expected[:3], expected[4]], rtol=1e-12)


def test_equal_weights_are_no_weights(many):
    options = {"n_resamples": 50, "random_state": 0, "statistic": "expected_calibration_error"}
    weighted = calibration_test(*many, sample_weight=np.full(12_000, 0.3), **options)
    plain = calibration_test(*many, **options)
    assert weighted.pvalue == plain.pvalue
    assert weighted.estimate == pytest.approx(plain.estimate, abs=1e-12)


# --------------------------------------------------------------------------- summaries


@pytest.mark.parametrize(("name", "options"), OF_SUMMARIES)
def test_summaries_give_nearly_the_test_of_their_rows(name, options):
    """Two p-values of independent draws, of a model that is nearly calibrated, and of one far off.

    Errors of draws vary by less than their mean, so that two means of 199 differ by about a tenth.
    """
    rng, n_resamples = np.random.default_rng(1), 199
    for slope in (0.96, 0.75):
        y, v = draw_binary(rng, 6000, slope=slope)
        summary = summarize(y, v)
        keywords = {"statistic": name, "n_resamples": n_resamples, "random_state": 0} | options
        rows = calibration_test(y, v, **keywords)
        cells = calibration_test_from_summary(summary, **keywords)
        assert abs(cells.statistic - rows.statistic) <= summary.error_bound(name, **options)
        variance = max(rows.pvalue * (1 - rows.pvalue), 1 / n_resamples)
        assert abs(cells.pvalue - rows.pvalue) < 4.5 * np.sqrt(2 * variance / n_resamples)
        assert cells.null_mean == pytest.approx(rows.null_mean, rel=0.25, abs=1e-4)
    assert cells.pvalue == 1 / 200


@pytest.mark.parametrize("name", ["smooth_ece", "kernel_calibration_error"])
def test_a_billion_rows_cost_no_more(name):
    summary = summarize(*draw_binary(np.random.default_rng(5), 500, digits=2))
    for _ in range(22):
        summary = summary + summary
    assert summary.n_samples_ > 2e9
    # What was chance among 500 rows is certain now.
    result = calibration_test_from_summary(summary, statistic=name, n_resamples=19, random_state=0)
    assert result.pvalue == 0.05


# --------------------------------------------------------------------------- groups


@pytest.mark.parametrize("names", [["north", "south", "west"], [1, 2, 3], [1.5, 2.5, 3.5]], ids=str)
def test_worst_group_is_named(names, rng):
    y, proba = draw_binary(rng, 600)
    site = np.repeat(names, 200)
    bad = site == names[1]
    y[bad] = rng.random(200) < 0.5
    options = {"statistic": "expected_calibration_error", "n_resamples": 199, "random_state": 0}
    result = calibration_test(y, proba, groups=site, **options)
    assert result.worst_group == names[1]
    assert result.pvalue == 1 / 200  # groups do not raise the smallest possible p-value
    alone = calibration_test(y[bad], proba[bad], **options)
    assert (result.estimate, result.statistic) == (alone.estimate, alone.estimate)
    # The mean of other draws, whose error is that of 199 of them.
    assert result.null_mean == pytest.approx(alone.null_mean, rel=0.1)
    order = rng.permutation(600)
    again = calibration_test(y[order], proba[order], groups=site[order].tolist(), **options)
    assert (again.worst_group, again.pvalue) == (result.worst_group, result.pvalue)


def test_one_group_is_no_group(rng):
    y, proba = draw_binary(rng, 80, digits=1)
    options = {"n_resamples": 99, "random_state": 0}
    result = calibration_test(y, proba, groups=["all"] * 80, **options)
    assert result == calibration_test(y, proba, **options)._replace(worst_group="all")


def test_groups_of_classes_and_groups_without_weight(rng):
    y, proba = draw_classes(rng, 90)
    site = np.repeat(["a", "b", "c"], 30)
    y[site == "a"] = (proba[site == "a"].argmax(axis=1) + 1) % 3
    names = np.array(["ant", "bee", "cat"])
    result = calibration_test(
        names[y],
        proba,
        labels=names,
        groups=site,
        sample_weight=np.where(site == "c", 0.0, 1.0),
        statistic="expected_calibration_error",
        n_resamples=99,
        random_state=0,
    )
    assert result.worst_group == "a"
    assert result.pvalue == 0.01


# --------------------------------------------------------------------------- degenerate samples


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("n", [6, 6000])
def test_certain_predictions(name, n):
    proba = np.tile([0.0, 1.0, 1.0], n // 3)
    options = {"statistic": name, "n_resamples": 19, "random_state": 0}
    assert calibration_test(proba, proba, **options)[:3] == (0, 1, 0)
    if name != "squared_calibration_error" or n > 6:
        assert calibration_test(1 - proba, proba, **options).pvalue == 1 / 20
    assert calibration_test(np.zeros(n), np.zeros(n), **options)[:3] == (0, 1, 0)


def test_certain_predictions_of_summaries():
    for y, pvalue in (([0, 1, 1], 1.0), ([0, 0, 1], 0.1)):
        summary = summarize(y, [0.0, 1.0, 1.0])
        assert calibration_test_from_summary(summary, n_resamples=9).pvalue == pvalue


@every_measure
def test_single_row(name):
    """The outcome against the odds has its own probability, 0.2."""
    options = {"statistic": name, "n_resamples": 999, "random_state": 0}
    surprising = calibration_test([1], [0.2], **options)
    assert calibration_test([0], [0.2], **options).pvalue == 1
    if MEASURES[name].is_signed:
        assert surprising[:3] == (0, 1, 0)  # one row says nothing about a square
    else:
        assert surprising.pvalue == pytest.approx(0.2, abs=4 * 0.0127)


@pytest.mark.parametrize("name", FIVE)
def test_single_class(name, rng):
    proba = rng.uniform(0.4, 0.6, 40)
    result = calibration_test(np.zeros(40), proba, statistic=name, n_resamples=99, random_state=0)
    assert result.pvalue == 0.01


def test_rows_that_nearly_sum_to_one(rng):
    y, proba = draw_classes(rng, 100)
    half = proba.astype(np.float16)
    assert (half.sum(axis=1, dtype=float) != 1).any()
    for name in ("canonical_calibration_error", "smooth_ece"):
        result = calibration_test(y, half, statistic=name, n_resamples=99, random_state=0)
        exact = calibration_test(y, proba, statistic=name, n_resamples=99, random_state=0)
        assert result.pvalue == pytest.approx(exact.pvalue, abs=0.1)


# --------------------------------------------------------------------------- callables


def test_callable_is_given_what_it_takes(rng):
    y, proba = draw_classes(rng, 30)
    names = np.array(["ant", "bee", "cat"])
    seen = []

    def count_last(y_true, y_proba, *, labels, power=1):
        seen.append((set(y_true), tuple(labels), y_proba.shape, power))
        return np.mean(y_true == labels[-1]) ** power

    options = {"labels": names, "statistic": count_last, "power": 2, "n_resamples": 9}
    result = calibration_test(names[y], proba, **options)
    assert result.estimate == np.mean(y == 2) ** 2
    assert type(result.estimate) is float
    assert {row[1:] for row in seen} == {(("ant", "bee", "cat"), (30, 3), 2)}
    assert set.union(*(row[0] for row in seen)) == set(names)


def test_callable_of_two_arrays_and_of_names(rng):
    y, proba = draw_binary(rng, 50)
    options = {"n_resamples": 99, "random_state": 0}

    def brier(y_true, y_proba):
        return np.mean((y_true - y_proba) ** 2)

    def brier_of_text(y_true, y_proba, *, pos_label, sample_weight=None):
        return np.average(((y_true == pos_label) - y_proba) ** 2, weights=sample_weight)

    result = calibration_test(y, proba, statistic=brier, **options)
    assert result.estimate == brier(y, proba)
    options |= {"statistic": brier_of_text, "pos_label": "yes"}
    text = np.array(["no", "yes"])[y]
    assert calibration_test(text, proba, **options) == result
    weighted = calibration_test(text, proba, sample_weight=np.ones(50), **options)
    assert weighted.pvalue == result.pvalue


def test_function_of_the_table_is_its_name(rng):
    y, proba = draw_binary(rng, 5000)
    name = "expected_calibration_error"
    by_function, by_name = (
        calibration_test(y, proba, statistic=statistic, n_bins=5, n_resamples=20, random_state=0)
        for statistic in (MEASURES[name].function, name)
    )
    assert by_function == by_name
