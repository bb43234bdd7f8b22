"""The exact test of rows and of summaries: its definition, level, power, and degenerate samples."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from skcal._numerics.inference._monte_carlo import find_pvalue
from skcal._numerics.inference._omnibus import IMPOSSIBLE, OmnibusOnPlaces
from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._draws import Draws
from skcal._sources._null_draws import NullCells
from skcal._sources._row_source import RowSource
from skcal.inference import calibration_test, calibration_test_from_summary
from skcal.metrics import MEASURES, cumulative_calibration_error
from tests.answers import list_numbers
from tests.inference.samples import (
    OF_SUMMARIES,
    bind_source,
    check_level,
    draw_binary,
    draw_classes,
    summarize,
)

FIVE = [f"{kind}_calibration_error" for kind in ("smooth", "expected", "cumulative", "squared")] + [
    "smooth_ece"
]


UNEVEN = np.array([3, 1, 0.5, 2, 1, 1, 4, 0.2])


@pytest.fixture
def many(rng):
    proba = rng.beta(1.2, 2.0, 12_000)
    return (rng.random(12_000) < proba).astype(int), proba


@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_every_reduction(reduction, rng):
    y, proba = draw_classes(rng, 80)
    for name in ("expected_calibration_error", "smooth_ece"):
        options = {"statistic": name, "reduction": reduction, "n_resamples": 39, "random_state": 0}
        expected = MEASURES[name].function(y, proba, reduction=reduction)
        assert calibration_test(y, proba, **options).estimate == pytest.approx(expected, abs=1e-12)
        assert calibration_test((y + 1) % 3, proba, **options).pvalue == 1 / 40


@pytest.mark.parametrize(
    ("name", "n_classes", "weights", "summarized"),
    [
        pytest.param("smooth_calibration_error", 2, None, False, marks=pytest.mark.slow),
        ("expected_calibration_error", 2, UNEVEN, False),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("squared_kernel_calibration_error", 3, None, False),
                ("expected_calibration_error", 2, None, False),
                ("smooth_calibration_error", 2, UNEVEN, False),
                ("smooth_calibration_error", 2, None, True),
                ("kernel_calibration_error", 2, None, True),
            )
        ),
    ],
)
def test_pvalue_is_the_probability_of_all_outcomes(rng, name, n_classes, weights, summarized):
    """With ties; the cells of the summary hold one prediction each."""
    v = np.array([0.1, 0.3, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9])
    y, proba = np.array([0, 1, 1, 0, 0, 1, 0, 1]), np.column_stack([1 - v, v])
    if n_classes == 3:
        y, proba = np.array([0, 2, 1, 1]), rng.dirichlet([1, 1, 1], 4)

    def measure(codes):
        return MEASURES[name].function(codes, proba, labels=range(n_classes), sample_weight=weights)

    outcomes = list(product(range(n_classes), repeat=len(y)))
    chance = np.array([proba[np.arange(len(y)), codes].prod() for codes in outcomes])
    values, observed = np.array([measure(codes) for codes in outcomes]), measure(y)
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


def draw_omnibus_case(kind):
    """Outcomes that can be listed: predictions by column, columns of problems, weights."""
    v = np.array([0.02, 0.3, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9])
    if kind in ("binary", "summary"):
        return np.column_stack([1 - v, v]), [[0, 1, 1, 0, 0, 1, 0, 1]], None
    if kind == "weights":
        return np.column_stack([1 - v, v]), [[0, 1, 1, 0, 0, 1, 0, 1]], UNEVEN
    return np.random.default_rng(0).dirichlet([1, 1, 1], 6), [[0, 2, 1, 1, 2, 0]], None


def find_omnibus(outcomes, v, weights):
    """The statistic of rows of outcomes of one binary problem, row by row."""
    order = np.argsort(v)
    v, outcomes = v[order], outcomes[:, order]
    weights = np.ones(len(v)) if weights is None else weights[order]
    starts = np.flatnonzero(np.diff(v, prepend=-1))
    mass, sums = (np.add.reduceat(x, starts, axis=-1) for x in (weights, weights * outcomes))
    variance = np.add.reduceat(weights**2 * v * (1 - v), starts)
    return OmnibusOnPlaces(v[starts], mass, variance, len(v)).measure(sums)


@pytest.mark.parametrize(
    "kind",
    [
        "binary",
        "weights",
        "summary",
        pytest.param("classwise", marks=pytest.mark.slow),
        pytest.param("full", marks=pytest.mark.slow),
        "top-label",
    ],
)
def test_omnibus_pvalue_is_the_probability_of_all_outcomes(kind):
    proba, (y,), weights = draw_omnibus_case(kind)
    n, n_classes = proba.shape
    codes = np.array(list(product(range(n_classes), repeat=n)))
    chance = proba[np.arange(n), codes].prod(axis=1)
    hits = codes[:, :, None] == np.arange(n_classes)
    top = proba.argmax(axis=1)
    if n_classes == 2:
        values = find_omnibus(hits[:, :, 1], proba[:, 1], weights)
    elif kind == "classwise":
        values = np.max([find_omnibus(hits[:, :, k], proba[:, k], None) for k in range(3)], axis=0)
    elif kind == "full":
        values = find_omnibus(hits.reshape(len(codes), -1), proba.ravel(), None)
    else:
        parts = [
            find_omnibus(hits[:, top == k, k], proba[top == k, k], None) for k in np.unique(top)
        ]
        values = np.max(parts, axis=0)
    observed = values[(codes == y).all(axis=1)][0]
    exact = chance @ (values >= observed - 1e-9)
    options = {"n_resamples": 2999, "random_state": 0}
    if kind == "summary":
        result = calibration_test_from_summary(summarize(y, proba[:, 1]), **options)
    else:
        options["reduction"] = kind if n_classes == 3 else "auto"
        result = calibration_test(y, proba, sample_weight=weights, **options)
    assert 0.01 < exact < 0.99
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2999))
    assert result.statistic == pytest.approx(observed, rel=1e-9)
    spread = np.sqrt(chance @ (values - chance @ values) ** 2 / 2999)
    assert result.null_mean == pytest.approx(chance @ values, abs=4 * spread)
    reduction = {"reduction": kind} if n_classes == 3 else {}
    error = cumulative_calibration_error(y, proba, sample_weight=weights, **reduction)
    assert result.estimate == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "kind"),
    [
        (60, "groups"),
        (30, "weights"),
        (30, "ties"),
        (60, "classwise"),
        (300, "rare"),
        pytest.param(3000, "plain", marks=pytest.mark.slow),
        pytest.param(5000, "summary", marks=pytest.mark.slow),
    ],
)
def test_level_of_the_omnibus(n, kind):
    """Which enumeration shows to be exact; `bench_coverage.py` draws hundreds of samples."""
    rng, pvalues = np.random.default_rng(n), []
    proba = rng.beta(0.2, 9.8, n) if kind == "rare" else rng.random(n)
    proba = proba.round(1) if kind == "ties" else proba
    options = {"n_resamples": 39}
    if kind == "weights":
        options["sample_weight"] = rng.exponential(size=n)
    if kind == "groups":
        options["groups"] = np.arange(n) % 3
    if kind == "classwise":
        options["reduction"], proba = kind, rng.dirichlet([0.5] * 4, n)
    for seed in range(50):
        options["random_state"] = seed
        if kind == "classwise":
            y = (rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1)
            result = calibration_test(y, proba, labels=range(4), **options)
        elif kind == "summary":
            y = rng.random(n) < proba
            result = calibration_test_from_summary(summarize(y, proba), **options)
        else:
            result = calibration_test(rng.random(n) < proba, proba, **options)
        pvalues.append(result.pvalue)
    check_level(pvalues)


@pytest.mark.parametrize("reduction", ["auto", "classwise", "top-label", "full"])
def test_an_impossible_outcome_stands_out_most(reduction):
    """However many other rows there are, whose outcomes of 1 are next to impossible."""
    proba = np.concatenate([[0.0], np.geomspace(1e-9, 1e-5, 5000)])
    y = np.zeros(5001, dtype=int)
    options = {"reduction": reduction, "n_resamples": 99, "random_state": 0}
    assert calibration_test(y, proba, **options).pvalue > 0.5
    y[0] = 1
    assert calibration_test(y, proba, **options).pvalue == 0.01
    if reduction == "auto":
        summary = summarize(y, proba**0.2)  # more cells than are kept
        result = calibration_test_from_summary(summary, n_resamples=99, random_state=0)
        assert (result.statistic, result.pvalue) == (IMPOSSIBLE, 0.01)


@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_few_rows_are_compared_by_their_measure(reduction, rng):
    """With weights, and with weights that differ between the predicted labels alone."""
    y, proba = draw_classes(rng, 100)
    for weights in (None, rng.random(100), np.array([0.1, 1, 3])[proba.argmax(axis=1)]):
        for name in ("expected_calibration_error", "squared_calibration_error", "smooth_ece"):
            bound = bind_for_rows("statistic", name, {}, reduction, weights)
            rows = {"sample_weight": weights, "pos_label": None, "labels": None}
            source = RowSource(*bind_rows(bound, y, proba, **rows))
            assert source.make_null().observed == pytest.approx(source.estimate, abs=1e-5)


def test_draws_of_several_problems_are_those_of_their_rows(rng):
    """The mean of a measure over draws on merged rows, and over draws of labels of all rows."""
    y, proba = draw_classes(rng, 3000)
    options = {"n_resamples": 99, "random_state": 0}
    for reduction in ("classwise", "top-label", "full"):
        for name in ("expected_calibration_error", "cumulative_calibration_error"):
            measure = partial(MEASURES[name].function, reduction=reduction, labels=range(3))
            by_rows = calibration_test(
                y, proba, statistic=lambda y, p, measure=measure: measure(y, p), **options
            )
            merged = calibration_test(y, proba, statistic=name, reduction=reduction, **options)
            assert merged.estimate == pytest.approx(by_rows.estimate)
            assert merged.null_mean == pytest.approx(by_rows.null_mean, rel=0.1)


@pytest.mark.parametrize(
    ("n", "kind", "names"),
    [
        *(pytest.param(50, kind, FIVE, marks=pytest.mark.slow) for kind in ("plain", "weights")),
        (50, "ties", FIVE),
        # Of merged rows.
        *((5000, kind, FIVE[1:2]) for kind in ("plain", "weights")),
    ],
)
def test_level(n, kind, names):
    """How many calibrated samples at the same predictions the same draws reject."""
    rng, n_samples, n_draws = np.random.default_rng(n), 300, 999
    proba = rng.random(n).round(1 if kind == "ties" else 16)
    weights = rng.exponential(size=n) if kind == "weights" else None
    samples = (rng.random((n_samples, n)) < proba).astype(int)
    for name in names:
        null, measure = bind_source(name, samples[0], proba, weights).make_null(), MEASURES[name]
        (drawn,) = Draws(n_draws, rng, None).run(null.draw)
        values = [measure.function(y, proba, sample_weight=weights) for y in samples]
        pvalues = np.array([find_pvalue(value, drawn) for value in values])
        for level in (0.05, 0.5):
            # Six standard errors: one in a million of samples as small as these exceeds them.
            noise = 6 * np.sqrt(level * (1 - level) * (1 / n_samples + 1 / n_draws))
            share = np.mean(pvalues <= level)
            assert share <= level + noise, name
            assert share >= level - noise or kind == "ties", name


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
        null = bind_source(name, y, proba, weights, **options).make_null()
        assert isinstance(null, NullCells)
        value = MEASURES[name].function(y, proba, sample_weight=weights, **options)
        assert abs(null.observed - value) <= bound


def test_weights_of_merged_rows(rng):
    """Their sums are exact, though float16 and int8 do not hold them; equal ones are none."""
    y, proba = draw_binary(rng, 6000, digits=1)
    weights = rng.integers(1, 100, 6000)
    for name in ("smooth_ece", "expected_calibration_error"):
        test = partial(calibration_test, y, proba, statistic=name, n_resamples=50, random_state=0)
        expected = list_numbers(test(sample_weight=weights.astype(float)))
        for dtype in (np.float16, np.float32, np.int8):
            found = list_numbers(test(sample_weight=weights.astype(dtype)))
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        equal = list_numbers(test(sample_weight=np.full(6000, 0.3)))
        np.testing.assert_allclose(equal, list_numbers(test()), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *OF_SUMMARIES[:2],
        OF_SUMMARIES[3],
        *(pytest.param(*OF_SUMMARIES[k], marks=pytest.mark.slow) for k in (2, 4, 5, 6)),
    ],
)
def test_summaries_give_nearly_the_test_of_their_rows(name, options):
    """Two p-values of independent draws, of a nearly calibrated model, and of one far off."""
    rng = np.random.default_rng(1)
    keywords = {"statistic": name, "n_resamples": 199, "random_state": 0} | options
    for slope in (0.96, 0.75):
        y, v = draw_binary(rng, 6000, slope=slope)
        rows, summary = calibration_test(y, v, **keywords), summarize(y, v)
        cells = calibration_test_from_summary(summary, **keywords)
        assert abs(cells.statistic - rows.statistic) <= summary.error_bound(name, **options)
        variance = max(rows.pvalue * (1 - rows.pvalue), 1 / 199)
        assert abs(cells.pvalue - rows.pvalue) < 4.5 * np.sqrt(2 * variance / 199)
        # Errors of draws vary by less than their mean: two means of 199 differ by about a tenth.
        assert cells.null_mean == pytest.approx(rows.null_mean, rel=0.25, abs=1e-4)
    assert cells.pvalue == 1 / 200


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["north", "south", "west"], marks=pytest.mark.slow),
        [1, 2, 3],
        pytest.param([1.5, 2.5, 3.5], marks=pytest.mark.slow),
    ],
    ids=str,
)
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
    lone = calibration_test(y[bad], proba[bad], groups=["all"] * 200, **options)
    assert lone == alone._replace(worst_group="all")
    order = rng.permutation(600)
    again = calibration_test(y[order], proba[order], groups=site[order].tolist(), **options)
    assert (again.worst_group, again.pvalue) == (result.worst_group, result.pvalue)


def test_groups_of_classes_and_groups_without_weight(rng):
    y, proba = draw_classes(rng, 90)
    site = np.repeat(["a", "b", "c"], 30)
    y[site == "a"] = (proba[site == "a"].argmax(axis=1) + 1) % 3
    names, weights = np.array(["ant", "bee", "cat"]), np.where(site == "c", 0.0, 1.0)
    options = {"statistic": "expected_calibration_error", "n_resamples": 99, "random_state": 0}
    options |= {"labels": names, "groups": site, "sample_weight": weights}
    result = calibration_test(names[y], proba, **options)
    assert (result.worst_group, result.pvalue) == ("a", 0.01)


@pytest.mark.parametrize("name", ["omnibus", *FIVE])
@pytest.mark.parametrize("n", [6, pytest.param(6000, marks=pytest.mark.slow)])
def test_certain_predictions(name, n):
    proba = np.tile([0.0, 1.0, 1.0], n // 3)
    options = {"statistic": name, "n_resamples": 19, "random_state": 0}
    assert calibration_test(proba, proba, **options)[:3] == (0, 1, 0)
    if name != "squared_calibration_error" or n > 6:
        assert calibration_test(1 - proba, proba, **options).pvalue == 1 / 20
    assert calibration_test(np.zeros(n), np.zeros(n), **options)[:3] == (0, 1, 0)
    for y, pvalue in ((proba, 1.0), (1 - proba, 1 / 20)):
        of_summary = calibration_test_from_summary(summarize(y, proba), **options)
        assert of_summary.pvalue == pvalue


@pytest.mark.parametrize("name", ["omnibus", *MEASURES])
def test_single_row(name):
    """The outcome against the odds has its own probability, 0.2."""
    options = {"statistic": name, "n_resamples": 99, "random_state": 0}
    surprising = calibration_test([1], [0.2], **options)
    assert calibration_test([0], [0.2], **options).pvalue == 1
    if name in MEASURES and MEASURES[name].is_signed:
        assert surprising[:3] == (0, 1, 0)  # one row says nothing about a square
    else:
        assert surprising.pvalue == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / 99))


def test_callable_is_given_what_it_takes(rng):
    y, proba = draw_classes(rng, 30)
    names, seen = np.array(["ant", "bee", "cat"]), []

    def count_last(y_true, y_proba, *, labels, power=1):
        seen.append((tuple(labels), y_proba.shape, power, set(y_true) <= set(names)))
        return np.mean(y_true == labels[-1]) ** power

    options = {"labels": names, "statistic": count_last, "power": 2, "n_resamples": 9}
    result = calibration_test(names[y], proba, **options)
    assert result.estimate == np.mean(y == 2) ** 2
    assert type(result.estimate) is float
    assert set(seen) == {(("ant", "bee", "cat"), (30, 3), 2, True)}

    def brier(y_true, y_proba, *, pos_label=1, sample_weight=None):
        return np.average(((y_true == pos_label) - y_proba) ** 2, weights=sample_weight)

    y, proba, options = y > 0, proba[:, 1], {"n_resamples": 99, "random_state": 0}
    result = calibration_test(y, proba, statistic=lambda y, v: brier(y, v), **options)
    assert result.estimate == brier(y, proba)
    rows, options["statistic"] = (np.where(y, "yes", "no"), proba), brier
    named = result._replace(name="Brier")  # after its function
    assert calibration_test(*rows, pos_label="yes", **options) == named
    weighted = calibration_test(*rows, pos_label="yes", sample_weight=np.ones(30), **options)
    assert weighted.pvalue == result.pvalue


@pytest.mark.parametrize("v", [1e-310, 5e-324, 1 - 2**-53])
def test_logits_of_predictions_next_to_certain(v):
    """Outcomes are certain up to what no number of draws shows: no warning, and a p-value."""
    y = [0, 1, 0, 0] if v < 0.5 else [0, 1, 1, 1]
    options = {"statistic": "smooth_ece", "scale": "logit", "random_state": 0}
    found = calibration_test(y, [v] * 4, **options)
    assert found.pvalue == pytest.approx(1 / 1000)
    assert found.estimate == pytest.approx(abs(np.mean(y) - v), abs=1e-6)
    assert calibration_test([round(v)] * 4, [v] * 4, **options).pvalue == 1
