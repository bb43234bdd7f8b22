"""What all functions share: layouts, labels, reductions, weights, randomness, and refusals."""

import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import log_loss

from skcal import inference
from skcal.inference import (
    audit_features,
    audit_groups,
    audit_groups_from_summary,
    calibration_test,
    calibration_test_from_summary,
    compare_calibration,
    compare_summaries,
    confidence_interval,
    confidence_interval_from_summary,
    required_samples,
    squared_kernel_calibration_test,
    t_cal_test,
)
from skcal.metrics import MEASURES
from skcal.refinement import recalibration_gain
from skcal.streaming import CalibrationSummary, GroupedSummary
from skcal.survival import at_horizon
from tests.answers import list_numbers
from tests.cases import slow_among
from tests.inference.samples import draw_binary, draw_classes, summarize

DRAWN = {"n_resamples": 39, "random_state": 0}
# How much an estimate varies is found from the residuals, or what outcomes are is taken from the
# predictions, so that weights must not depend on them.
ROBUST = (
    *("calibration_belt", "calibration_belt_test", "cox_recalibration"),
    *("hosmer_lemeshow_test", "observed_expected_ratio"),
)
CERTAIN = ("cumulative_calibration_test", "spiegelhalter_test")
OF_PREDICTIONS = (*CERTAIN, "t_cal", "calibration_test", "audit_groups", "audit_features")
OF_PREDICTIONS += ("audit_grades",)
WEIGHTED = (*ROBUST, *OF_PREDICTIONS, "choose_update", "confidence_interval")
WEIGHTED += ("net_benefit_difference",)


def bind_third(function, choose, **options):
    """A function of labels and predictions alone; `choose` makes the third argument."""

    def call(y_true, y_proba, **given):
        return function(y_true, y_proba, choose(len(y_proba)), **options | given)

    first, second, _, *others = inspect.signature(function).parameters.values()
    call.__signature__ = inspect.Signature([first, second, *others])
    call.func = function
    return call


# Tests and bands of one binary problem whose rows are independent.
BINARY = {
    name: getattr(inference, name)
    for name in (*ROBUST, *CERTAIN, "choose_update", "consistency_band", "isotonic_band")
} | {
    "t_cal": partial(t_cal_test, **DRAWN),
    "audit_groups": bind_third(audit_groups, lambda n: ["all"] * n, **DRAWN),
}
# All functions of labels and probabilities; mean embeddings take points, a pooled recalibration
# takes groups, and a comparison takes models, which have tests of their own.
CALLS = BINARY | {
    "confidence_interval": partial(confidence_interval, **DRAWN),
    "calibration_test": partial(calibration_test, **DRAWN),
    "kernel_bootstrap": partial(squared_kernel_calibration_test, **DRAWN),
    "kernel_blocks": partial(squared_kernel_calibration_test, method="block"),
    "certified_threshold": partial(inference.certified_threshold, at_most=0.2),
    "audit_grades": bind_third(inference.audit_grades, lambda n: ["all"] * n),
    "net_benefit_difference": bind_third(inference.net_benefit_difference, lambda n: "all"),
    "kernel_bound": partial(squared_kernel_calibration_test, method="distribution-free"),
    "recalibration_gain": partial(recalibration_gain, recalibrator="temperature", random_state=0),
    "audit_features": bind_third(
        audit_features, lambda n: {"x": np.arange(n) * 120 // n}, **DRAWN, cv=2
    ),
}
V = np.round(np.random.default_rng(3).uniform(0.02, 0.98, 120), 2)
Y = (np.random.default_rng(4).random(120) < V).astype(int)
FIRST, SECOND = summarize(Y, V), summarize(Y[:70], V[:70])
GROUPED = GroupedSummary().update(Y, V, by=V > 0.5)
# Functions that draw, with rows that make other numbers of other draws.
FEW, ECE = {"n_resamples": 50}, "expected_calibration_error"
RANDOM = {
    audit_groups_from_summary: lambda **options: audit_groups_from_summary(
        GROUPED, min_samples=1, **FEW | options
    )[:1],
    audit_groups: lambda **options: audit_groups(Y, V, V > 0.5, **FEW | options)[:1],
    inference.audit_mean_groups: lambda **options: inference.audit_mean_groups(
        Y, V, V > 0.5, **FEW | options
    )[:1],
    audit_features: lambda **options: audit_features(Y, V, {"x": np.arange(120)}, **FEW | options)[
        :3
    ],
    inference.audit_mean_features: lambda **options: inference.audit_mean_features(
        Y, V, {"x": np.arange(120)}, **FEW | options
    )[:3],
    confidence_interval: partial(confidence_interval, Y, V, measure=ECE),
    confidence_interval_from_summary: partial(confidence_interval_from_summary, FIRST, measure=ECE),
    calibration_test: partial(calibration_test, Y, V, **FEW),
    calibration_test_from_summary: partial(calibration_test_from_summary, FIRST, **FEW),
    compare_summaries: partial(compare_summaries, FIRST, SECOND, **FEW),
    inference.compare_calibration: lambda **options: inference.compare_calibration(
        Y, V, V**2, measure=ECE, **FEW | options
    )[2],
    squared_kernel_calibration_test: partial(squared_kernel_calibration_test, Y, V, **FEW),
    inference.mean_calibration_test: partial(inference.mean_calibration_test, Y, V, **FEW),
    recalibration_gain: partial(recalibration_gain, 1 - Y, V, recalibrator="temperature"),
    inference.choose_rows_to_label: lambda **options: list(
        inference.choose_rows_to_label(V, 20, **options).rows
    ),
    inference.prediction_powered_calibration: lambda **options: (
        inference.prediction_powered_calibration(Y, V, **FEW | options).test
    ),
    required_samples: partial(required_samples, V, effect={"slope": 0.3}, **FEW),
    t_cal_test: partial(t_cal_test, Y, V, **FEW),
}


def parametrize(names):
    return pytest.mark.parametrize("call", [CALLS[name] for name in names], ids=names)


def takes(call, argument):
    return argument in inspect.signature(call).parameters


def assert_same(result, expected, rtol=1e-9):
    for one, other in zip(list_numbers(result), list_numbers(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


def test_every_function_is_among_them():
    functions = [
        f for name in inference.__all__ if inspect.isroutine(f := getattr(inference, name))
    ]
    functions.append(recalibration_gain)
    called = {getattr(call, "func", call) for call in CALLS.values()}
    labelled = {f for f in functions if takes(f, "y_true")}
    apart = {inference.kernel_mean_embedding_test, inference.pooled_validation}
    apart.add(inference.multinomial_recalibration)  # of all classes, none of which is positive
    apart |= {inference.audit_mean_groups, inference.concentration_test}  # of no labels
    apart |= {inference.actual_expected_ratio, inference.mean_calibration_test}
    apart |= {inference.mean_recalibration, inference.audit_mean_features}
    apart.add(inference.compare_calibration)  # of several models
    apart |= {inference.prediction_powered_targets, inference.prediction_powered_calibration}
    apart.add(inference.required_labels)  # of few labels, as the two above: test_few_labels.py
    assert labelled == {*called, *apart}
    assert {f for f in functions if takes(f, "random_state")} == {*RANDOM}
    weighted = {name for name, call in CALLS.items() if takes(call, "sample_weight")}
    assert weighted == {*WEIGHTED}


@parametrize(list(CALLS))
def test_forms_of_binary_input(call):
    expected, names = call(Y, V), np.where(Y == 1, "yes", "no")
    both = np.column_stack([1 - V, V])
    assert_same(call(names, V, pos_label="yes"), expected)
    assert_same(call(names, V[:, None], labels=["no", "yes"]), expected)
    assert_same(call(names, both[:, ::-1], labels=["yes", "no"], pos_label="yes"), expected)
    assert_same(call(1 - Y, V, pos_label=0, labels=[1, 0]), expected)
    if isinstance(expected, inference.TestResult):
        assert [type(value) for value in expected[:3]] == [float] * 3
        assert 0 < expected.pvalue <= 1
        assert expected.worst_group is None


@parametrize(list(CALLS))
def test_several_classes(call):
    y, proba = draw_classes(np.random.default_rng(5), 200)
    assert_same(call(y, proba, pos_label=1), call((y == 1).astype(int), proba[:, 1]))
    if takes(call, "reduction"):
        confidence = call((proba.argmax(axis=1) == y).astype(int), proba.max(axis=1))
        assert_same(call(y, proba), confidence)
        assert_same(call(y, proba, reduction="confidence"), confidence)


@parametrize(list(BINARY))
def test_order_of_rows_does_not_matter(call):
    order = np.random.default_rng(0).permutation(120)
    assert_same(call(Y[order], V[order]), call(Y, V))
    if takes(call, "sample_weight"):
        weights = 1 + np.arange(120) % 3 / 10
        expected = call(Y, V, sample_weight=weights)
        assert_same(call(Y[order], V[order], sample_weight=weights[order]), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_function_is_given_rows_of_float32_as_they_are(n_classes, rng):
    """As float64 they no longer sum to 1, and scikit-learn warns."""
    y_true, y_proba = rng.integers(n_classes, size=200), rng.dirichlet(np.ones(n_classes), 200)
    y_proba, flat = y_proba.astype(np.float32), np.full_like(y_proba, 1 / n_classes, np.float32)
    options = {"n_resamples": 9, "random_state": 0}
    loss, of_flat = log_loss(y_true, y_proba), log_loss(y_true, flat)
    assert confidence_interval(y_true, y_proba, measure=log_loss, **options).estimate == loss
    assert calibration_test(y_true, y_proba, statistic=log_loss, **options).statistic == loss
    models = {"drawn": y_proba, "flat": flat}
    (difference,) = compare_calibration(y_true, models, measure=log_loss, **options).difference
    assert difference == pytest.approx(loss - of_flat, rel=1e-12)


@pytest.mark.parametrize("name", slow_among(MEASURES, "lower_calibration_distance"))
def test_every_measure_for_two_and_more_classes(name, rng):
    options = {"n_resamples": 9, "random_state": 0, "reduction": "auto"}
    methods = "percentile", "basic", "bca"
    for rows, n_methods in ((draw_binary(rng, 30), 3), (draw_classes(rng, 30), 1)):
        value = pytest.approx(MEASURES[name].function(*rows), abs=1e-12)
        test = calibration_test(*rows, statistic=MEASURES[name].function, **options)
        assert test.estimate == test.statistic == value
        assert test.pvalue * 10 == pytest.approx(round(test.pvalue * 10))
        for method in methods[:n_methods]:
            interval = confidence_interval(*rows, measure=name, method=method, **options)
            assert interval.estimate == value
            assert interval.low <= interval.high
            assert {type(number) for number in (*interval, test.null_mean)} == {float}


@parametrize(WEIGHTED)
def test_weight_zero_is_absence(call):
    weights = np.tile([1.0, 0.0], 60)
    # Of absent rows anything may be wrong, such as log odds that are infinite.
    y_rest, v_rest = np.where(weights, Y, 1), np.where(weights, V, 0.0)
    assert_same(call(y_rest, v_rest, sample_weight=weights), call(Y[::2], V[::2]))


@parametrize(WEIGHTED)
def test_scale_of_weights_does_not_matter(call):
    """Some were read as numbers of rows."""
    plain = call(Y, V)
    weights = 1 + np.arange(120) % 3
    expected = call(Y, V, sample_weight=weights)
    for scale in (7.0, 1e-90, 1e90):
        assert_same(call(Y, V, sample_weight=np.full(120, scale)), plain)
        assert_same(call(Y, V, sample_weight=scale * weights), expected)


@parametrize([name for name in ROBUST if name != "calibration_belt"])
def test_weights_are_no_counts(call):
    """Four rows are four, whatever they weigh; a heavy one is less than two."""
    rows = [0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7]
    for power in (0, 1, 10, 30, 99, 200):
        if power > 1 and call is inference.calibration_belt_test:
            continue  # which fits polynomials to so few rows
        result = call(*rows, sample_weight=[10.0**power, 1, 1, 1])
        if isinstance(result, inference.Interval):
            assert result.low <= result.estimate <= result.high
            assert result.high > 1
        else:
            assert getattr(result, "test", result).pvalue > 0.05


def follow(rng, n, rate):
    """Outcomes at time 1, and weights that make up for the rows that were censored before."""
    time, end = rng.exponential(1 / rate), rng.exponential(0.8, n)
    return at_horizon(time <= end, np.minimum(time, end), horizon=1)


@parametrize(OF_PREDICTIONS)
def test_weights_that_depend_on_outcomes_are_refused(call):
    """The null law would be wrong: calibration_test rejected the truth in 12 %."""
    rng = np.random.default_rng(0)
    rate = np.exp(rng.normal(-0.5, 0.5, 120))
    y, weights = follow(rng, 120, rate)
    risk = 1 - np.exp(-rate)
    for given in (weights, weights[:100], weights / weights.sum(), weights.astype(np.float32)):
        with pytest.raises(ValueError, match=r"^sample_weight must not depend on .*pseudo_values"):
            call(y[: len(given)], risk[: len(given)], sample_weight=given)
    kept = weights >= weights.max()  # equal weights depend on nothing
    assert_same(call(y[kept], risk[kept], sample_weight=weights[kept]), call(y[kept], risk[kept]))


@pytest.mark.parametrize("name", [*ROBUST, "choose_update", "confidence_interval"])
def test_weights_that_depend_on_outcomes_are_allowed_for(name):
    rng = np.random.default_rng(0)
    rate = np.exp(rng.normal(-0.5, 0.5, 300))
    y, weights = follow(rng, 300, rate)
    CALLS[name](y, 1 - np.exp(-rate), sample_weight=weights)


@pytest.mark.parametrize("call", RANDOM.values(), ids=[f.__name__ for f in RANDOM])
def test_random_state(call):
    found = call(random_state=3)
    assert call(random_state=np.int64(3)) == found
    assert any(call(random_state=seed) != found for seed in range(5))
    assert any(call() != found for _ in range(5))
    for make in (np.random.default_rng, np.random.RandomState):
        source = make(3)
        found = call(random_state=source)
        assert call(random_state=make(3)) == found
        assert any(call(random_state=source) != found for _ in range(5))  # it moves on
    for random_state in ("seed", -1, 1.5):
        with pytest.raises(ValueError, match=r"random_state must be None, an? .*integer"):
            call(random_state=random_state)


REFUSED = [
    ("confidence_level", 0, "must be above 0 and below 1; got 0"),
    ("confidence_level", 1.0, "must be above 0 and below 1; got 1"),
    ("confidence_level", "95 %", "must be a number; got '95 %'"),
    ("data", "extern", "must be one of .* Did you mean 'external'"),
    ("debias", 1, "must be True or False"),
    ("deviation", "kuiper", r"must be 'range' \(Kuiper\) or 'max' \(Kolmogorov-Smirnov\); got"),
    ("deviation", ["max"], r"must be 'range' \(Kuiper\) or 'max' \(Kolmogorov-Smirnov\); got"),
    ("groups", ["a", "b"], "must hold one name for each of the 4 rows; got 2"),
    ("groups", ["a", None, "b", "a"], "must hold numbers, .*none missing"),
    ("groups", [1.0, np.nan, 2.0, 1.0], "must hold finite labels; got nan at row 1"),
    ("n_bins", 0, "must be at least 1; got 0"),
    ("n_resamples", 0, "must be at least [12]; got 0"),
    ("n_resamples", 9.5, "must be an integer; got 9.5"),
    ("simultaneous", 1, "must be True or False; got 1"),
    ("strategy", "sweep", "must be one of .*'uniform'.*; got 'sweep'"),
    ("unbiased", "best", "must be True or False"),
]
ROWS = {"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.3, 0.6, 0.5]}


@parametrize(list(CALLS))
def test_arguments_that_are_refused(call):
    for argument, value, message in REFUSED:
        if takes(call, argument):
            with pytest.raises(ValueError, match=f"{argument} {message}"):
                call(**{**ROWS, argument: value})


def ignore(y_true, y_proba):
    return 0.0


ECE = "expected_calibration_error"
# A measure, its options, and how a message about them goes on after the name of the argument.
BAD_MEASURES = [
    ("smooth_ec", {}, ValueError, r"{} must be one of .*Did you mean 'smooth_ece'\?"),
    ("ECE", {}, ValueError, rf"{{}} must be one of .*Did you mean '{ECE}'\?"),
    (ECE, {"n_bins": 0}, ValueError, "n_bins must be at least 1; got 0"),
    ("smooth_ece", {"n_bins": 5}, TypeError, "smooth_ece has no option 'n_bins'"),
    (ECE, {"rng": 0}, TypeError, "no option 'rng'.*Did you mean 'random_state'"),
    (ECE, {"seed": 0}, TypeError, "no option 'seed'.*Did you mean 'random_state'"),
    (ECE, {"n_bin": 5}, TypeError, r"has no option 'n_bin'; .* Did you mean 'n_bins'\?"),
]
BAD_FOR_ROWS = [
    (3, {}, TypeError, "{} must be a function or the name of a measure; got 3"),
    (ignore, {"sample_weight": [1] * 4}, TypeError, "no argument sample_weight"),
    (ignore, {"power": 2}, TypeError, "no option 'power'"),
    ("canonical_calibration_error", {"reduction": "full"}, TypeError, "no argument reduction"),
    *(
        (lambda y_true, y_proba, value=value: value, {}, ValueError, "{} must return a .*; .*gave")
        for value in ("0.1", None, np.nan, np.inf, np.zeros(2), 1j)
    ),
]
BAD_FOR_SUMMARIES = [
    (ignore, {}, TypeError, "{} must be the name of a measure"),
    ("squared_kernel_calibration_error", {}, ValueError, "needs whole vectors"),
]


@pytest.mark.parametrize(
    ("argument", "of_rows", "of_summary"),
    [
        ("statistic", calibration_test, calibration_test_from_summary),
        ("measure", confidence_interval, confidence_interval_from_summary),
    ],
)
@pytest.mark.parametrize(
    ("with_rows", "measure", "options", "error", "message"),
    [
        *((True, *case) for case in BAD_MEASURES + BAD_FOR_ROWS),
        *((False, *case) for case in BAD_MEASURES + BAD_FOR_SUMMARIES),
    ],
)
def test_measures_that_are_refused(
    argument, of_rows, of_summary, with_rows, measure, options, error, message
):
    function, given = (of_rows, ROWS) if with_rows else (of_summary, {"summary": FIRST})
    with pytest.raises(error, match=message.format(argument)):
        function(**given, **{argument: measure}, **options)


@parametrize(list(BINARY))
def test_several_or_dependent_problems_are_refused(call):
    for reduction in ("classwise", "top-label", "full"):
        with pytest.raises(
            ValueError, match=f"reduction must give one binary .*; got '{reduction}'"
        ):
            call(Y, V, reduction=reduction)


@parametrize([name for name in CALLS if name != "confidence_interval"])
def test_soft_labels_are_refused(call):
    with pytest.raises(ValueError, match="y_true must hold labels; "):
        call([0, 0.25, 1], [0.2, 0.3, 0.7])
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    with pytest.raises(ValueError, match="y_true must "):
        call(proba, proba)


@parametrize(CERTAIN)
def test_nothing_left_to_chance(call):
    assert call([0, 1, 1], [0.0, 1.0, 1.0])[:3] == (0.0, 1.0, 0.0)
    result = call([0, 1, 1], [0.0, 1.0, 0.0])
    assert result[:2] == (np.inf, np.finfo(float).tiny)
    assert result.estimate == pytest.approx(1 / 3)
    assert call(np.ones(10**4, dtype=int), np.full(10**4, 0.01)).pvalue == np.finfo(float).tiny


of_summaries = pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("summary", partial(calibration_test_from_summary, **DRAWN)),
        ("summary", partial(confidence_interval_from_summary, **DRAWN)),
        ("first", lambda summary: compare_summaries(summary, FIRST, **DRAWN)),
        ("second", lambda summary: compare_summaries(FIRST, summary, **DRAWN)),
    ],
)
WEIGHTS = "{} must hold labels without weights, .*; got soft labels, or weights other than 0 and 1"


def test_clusters_and_groups_are_told_apart():
    with pytest.raises(TypeError, match=r"'groups'.*given as clusters"):
        confidence_interval(**ROWS, groups=[0, 0, 1, 1])


@of_summaries
@pytest.mark.parametrize(
    ("rows", "settings", "error", "message"),
    [
        (None, {}, TypeError, "{} must be a CalibrationSummary; got ndarray"),
        ([], {}, ValueError, "{} must hold rows; got an empty summary"),
        ([[0, 1], [0.25, 0.5], [2, 2]], {}, ValueError, WEIGHTS),
        ([[0.5, 0.7], [0.25, 0.25]], {}, ValueError, WEIGHTS),
        # Sums that are whole do not make rows.
        ([[0, 0], [0.25, 0.25], [0.5, 1.5]], {}, ValueError, WEIGHTS),
        ([[0.25, 0.75], [0.25, 0.25]], {}, ValueError, WEIGHTS),
        *(
            ([[0, 1], [0.25, 0.5]], {"reduction": name}, ValueError, "{} must hold one.*" + name)
            for name in ("classwise", "top-label", "full")
        ),
    ],
)
def test_summaries_that_are_refused(argument, call, rows, settings, error, message):
    summary = CalibrationSummary(**settings)
    if rows:
        summary.update(*rows)
    with pytest.raises(error, match=message.format(argument)):
        call(np.array([0.5]) if rows is None else summary)


@of_summaries
def test_shards_their_order_and_weights_of_zero_and_one(argument, call):
    chosen = np.arange(120) % 3 > 0
    one, two = (summarize(Y[chosen][part], V[chosen][part]) for part in (slice(30), slice(30, 80)))
    weighted = CalibrationSummary().update(Y, V, chosen)
    assert call(one + two) == call(two + one) == call(weighted)


@pytest.mark.parametrize("name", ["smooth_ece", "kernel_calibration_error"])
def test_a_billion_rows_cost_no_more(name):
    summary = summarize(*draw_binary(np.random.default_rng(5), 500, digits=2))
    for _ in range(22):
        summary = summary + summary
    assert summary.n_samples_ > 2e9
    # What was chance among 500 rows is certain now.
    result = calibration_test_from_summary(summary, statistic=name, n_resamples=19, random_state=0)
    assert result.pvalue == 0.05
    low, high = confidence_interval_from_summary(
        summary, measure=name, n_resamples=20, random_state=0
    )[1:]
    assert 0 < high - low < 1e-3
