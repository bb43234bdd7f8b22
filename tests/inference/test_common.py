"""What all functions share: layouts, labels, reductions, weights, randomness, and refusals."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest

from skcal import inference
from skcal.inference import (
    TestResult,
    bootstrap_interval,
    bootstrap_interval_from_summary,
    calibration_test,
    calibration_test_from_summary,
    compare_summaries,
    consistency_band,
    cox_recalibration,
    cumulative_calibration_test,
    hosmer_lemeshow_test,
    isotonic_band,
    kernel_calibration_test,
    mean_embedding_test,
    spiegelhalter_test,
    t_cal_test,
)
from skcal.streaming import CalibrationSummary
from tests.answers import list_numbers
from tests.inference.samples import draw_classes, summarize

DRAWN = {"n_resamples": 39, "random_state": 0}
# Tests and bands of one binary problem whose rows are independent.
BINARY = {
    "consistency_band": consistency_band,
    "cox": cox_recalibration,
    "cumulative": cumulative_calibration_test,
    "hosmer_lemeshow": hosmer_lemeshow_test,
    "isotonic_band": isotonic_band,
    "spiegelhalter": spiegelhalter_test,
    "t_cal": partial(t_cal_test, **DRAWN),
}
# All functions of labels and probabilities; a mean embedding also takes points.
CALLS = BINARY | {
    "bootstrap": partial(bootstrap_interval, "smooth_ece", **DRAWN),
    "calibration_test": partial(calibration_test, **DRAWN),
    "kernel_bootstrap": partial(kernel_calibration_test, **DRAWN),
    "kernel_blocks": partial(kernel_calibration_test, method="block"),
    "kernel_bound": partial(kernel_calibration_test, method="distribution-free"),
}
# Weights are read as counts of rows, or as importance of rows with one outcome each.
COUNTING = ("cox", "hosmer_lemeshow")
IMPORTANCE = ("bootstrap", "calibration_test", "cumulative", "spiegelhalter", "t_cal")


def parametrize(names):
    return pytest.mark.parametrize("call", [CALLS[name] for name in names], ids=names)


def takes(call, argument):
    return argument in inspect.signature(call).parameters


every_call = parametrize(list(CALLS))


@pytest.fixture
def sample():
    rng = np.random.default_rng(3)
    v = np.round(rng.uniform(0.02, 0.98, 120), 2)
    return (rng.random(120) < v).astype(int), v


def assert_same(result, expected, rtol=1e-9):
    for one, other in zip(list_numbers(result), list_numbers(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


def test_every_function_of_rows_is_called():
    called = {getattr(call, "func", call) for call in CALLS.values()} | {mean_embedding_test}
    functions = [getattr(inference, name) for name in inference.__all__]
    assert called == {f for f in functions if inspect.isroutine(f) and takes(f, "y_proba")}


@every_call
def test_forms_of_binary_input(call, sample):
    y, v = sample
    expected, names = call(y, v), np.where(y == 1, "yes", "no")
    both = np.column_stack([1 - v, v])
    assert_same(call(names, v, pos_label="yes"), expected)
    assert_same(call(names, v[:, None], labels=["no", "yes"]), expected)
    assert_same(call(names, both), expected)
    assert_same(call(names, both[:, ::-1], labels=["yes", "no"], pos_label="yes"), expected)
    assert_same(call(y.astype(bool), pd.Series(v)), expected)
    assert_same(call(1 - y, v, pos_label=0, labels=[1, 0]), expected)
    if isinstance(expected, TestResult):
        assert [type(value) for value in expected[:3]] == [float] * 3
        assert 0 < expected.pvalue <= 1
        assert expected.worst_group is None


@every_call
def test_several_classes(call):
    y, proba = draw_classes(np.random.default_rng(5), 200)
    assert_same(call(y, proba, pos_label=1), call((y == 1).astype(int), proba[:, 1]))
    if takes(call, "reduction"):
        confidence = call((proba.argmax(axis=1) == y).astype(int), proba.max(axis=1))
        assert_same(call(y, proba), confidence)
        assert_same(call(y, proba, reduction="confidence"), confidence)


@parametrize(list(BINARY))
def test_order_of_rows_does_not_matter(call, sample):
    y, v = sample
    order = np.random.default_rng(0).permutation(len(y))
    assert_same(call(y[order], v[order]), call(y, v))
    if takes(call, "sample_weight"):
        weights = 1 + np.arange(len(y)) % 3 / 10
        expected = call(y, v, sample_weight=weights)
        assert_same(call(y[order], v[order], sample_weight=weights[order]), expected)


# ------------------------------------------------------------------------------ weights


def test_every_function_with_weights_is_known():
    weighted = {name for name, call in CALLS.items() if takes(call, "sample_weight")}
    assert weighted == {*COUNTING, *IMPORTANCE}


@parametrize([*COUNTING, *IMPORTANCE])
def test_weight_zero_is_absence(call, sample):
    y, v = sample
    weights = np.tile([1.0, 0.0], 60)
    # Of absent rows anything may be wrong, such as log odds that are infinite.
    y_rest, v_rest = np.where(weights, y, 1), np.where(weights, v, 0.0)
    assert_same(call(y_rest, v_rest, sample_weight=weights), call(y[::2], v[::2]))


@parametrize(COUNTING)
def test_weights_are_counts(call, sample):
    y, v = sample
    weights = 1 + np.arange(len(y)) % 3
    expected = call(np.repeat(y, weights), np.repeat(v, weights))
    assert_same(call(y, v, sample_weight=weights), expected)
    with pytest.raises(ValueError, match=r"sample_weight is read as counts .* at least 2; got 1"):
        call([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7], sample_weight=[0.25] * 4)


@parametrize(COUNTING)
@pytest.mark.parametrize("power", [99, 101, 200])
def test_counts_of_any_size(call, power):
    """Many rows are not few, and next to none not many."""
    y, v = [0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7]
    result = call(y, v, sample_weight=[10.0**power, 1, 1, 1])
    assert getattr(result, "test", result).pvalue == np.finfo(float).tiny
    with pytest.raises(ValueError, match="at least 2; got 4e-"):
        call(y, v, sample_weight=10.0**-power * np.ones(4))


@parametrize(IMPORTANCE)
@pytest.mark.parametrize("scale", [7.0, 1e-90, 1e90])
def test_scale_of_importance_weights_does_not_matter(call, sample, scale):
    weights = 1 + np.arange(120) % 3
    expected = call(*sample, sample_weight=weights)
    assert_same(call(*sample, sample_weight=scale * weights), expected)


# ------------------------------------------------------------------------------ randomness


def list_random_calls():
    """Calls of all functions that draw, with numbers that differ between draws."""
    rng = np.random.default_rng(1)
    v = np.round(rng.random(150), 2)
    rows = (rng.random(150) < v).astype(int), v
    first, second = summarize(*rows), summarize(rows[0][:70], v[:70])
    return {
        bootstrap_interval: partial(bootstrap_interval, "smooth_ece", *rows),
        bootstrap_interval_from_summary: partial(
            bootstrap_interval_from_summary, "smooth_ece", first
        ),
        calibration_test: partial(calibration_test, *rows),
        calibration_test_from_summary: partial(calibration_test_from_summary, first),
        compare_summaries: partial(compare_summaries, first, second),
        kernel_calibration_test: partial(kernel_calibration_test, *rows),
        t_cal_test: partial(t_cal_test, *rows),
    }


RANDOM = list_random_calls()


def test_every_function_that_draws_is_known():
    functions = [getattr(inference, name) for name in inference.__all__]
    assert {f for f in functions if inspect.isroutine(f) and takes(f, "random_state")} == {*RANDOM}


@pytest.mark.parametrize("call", RANDOM.values(), ids=[f.__name__ for f in RANDOM])
def test_random_state(call):
    call = partial(call, n_resamples=50)
    assert call(random_state=3) == call(random_state=np.int64(3))
    assert len({call(random_state=seed) for seed in range(5)}) > 1
    assert len({call() for _ in range(5)}) > 1
    for make in (np.random.default_rng, np.random.RandomState):
        source = make(3)
        assert call(random_state=source) == call(random_state=make(3))
        assert len({call(random_state=source) for _ in range(5)}) > 1  # it moves on


@pytest.mark.parametrize("call", RANDOM.values(), ids=[f.__name__ for f in RANDOM])
@pytest.mark.parametrize("random_state", ["seed", -1, 1.5])
def test_bad_random_state(call, random_state):
    with pytest.raises(ValueError, match=r"random_state must be None, an? .*integer"):
        call(random_state=random_state)


@pytest.mark.parametrize("function", [f for f in RANDOM if takes(f, "options")])
@pytest.mark.parametrize("name", ["rng", "seed"])
def test_what_may_have_been_meant(function, name):
    with pytest.raises(TypeError, match=f"no option '{name}'.*Did you mean 'random_state'"):
        RANDOM[function](**{name: 0})


# ------------------------------------------------------------------------------ refusals

REFUSED = {
    "confidence_level": [
        (0, "confidence_level must be above 0 and below 1; got 0"),
        (1.0, "confidence_level must be at least 0 and below 1; got 1"),
        (95, "confidence_level must be at least 0 and below 1; got 95"),
        ("95 %", "confidence_level must be a number; got '95 %'"),
    ],
    "groups": [
        (["a", "b"], "groups must hold one name for each of the 4 rows; got 2"),
        (["a", None, "b", "a"], "groups must hold numbers, .*none missing"),
        ([1.0, np.nan, 2.0, 1.0], "groups must hold finite labels; got nan at row 1"),
    ],
    "n_bins": [(0, "n_bins must be at least 1; got 0")],
    "n_resamples": [
        (0, "n_resamples must be at least [12]; got 0"),
        (9.5, "n_resamples must be an integer; got 9.5"),
    ],
    "reduction": [("confidenc", "Did you mean 'confidence'")],
    "sample_weight": [
        ([1, 1], r"sample_weight must have shape \(4,\)"),
        ([-1.0] * 4, "sample_weight must be finite"),
    ],
    "strategy": [("sweep", "strategy must be one of .*'uniform'.*; got 'sweep'")],
    "y_proba": [([0.2, 0.3, 1.6, 0.5], r"y_proba must lie in \[0, 1\]; got 1.6 at row 2")],
    "y_true": [([0, 1, 1], "y_true and y_proba must have the same length; got 3 labels and 4")],
}


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, key) for name, call in CALLS.items() for key in REFUSED if takes(call, key)],
)
def test_arguments_that_are_refused(name, argument):
    for value, message in REFUSED[argument]:
        with pytest.raises(ValueError, match=message):
            CALLS[name](**{**ROWS, argument: value})


def ignore(y_true, y_proba):
    return 0.0


ROWS = {"y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.3, 0.6, 0.5]}
ANSWERED = {
    "statistic": partial(calibration_test_from_summary, summarize(*ROWS.values())),
    "measure": partial(bootstrap_interval_from_summary, summary=summarize(*ROWS.values())),
}
MEASURED = {
    "statistic": partial(calibration_test, **ROWS),
    "measure": partial(bootstrap_interval, **ROWS),
}
ECE = "expected_calibration_error"
# A measure, its options, and how a message about them goes on after the name of the argument.
BAD_MEASURES = [
    ("smooth_ec", {}, ValueError, r"{} must be one of .*Did you mean 'smooth_ece'\?"),
    (ECE, {"n_bins": 0}, ValueError, "n_bins must be at least 1; got 0"),
    ("smooth_ece", {"n_bins": 5}, TypeError, "smooth_ece has no option 'n_bins'"),
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
    ("squared_kernel_calibration_error", {}, ValueError, "reads whole vectors"),
]


@pytest.mark.parametrize("argument", MEASURED)
@pytest.mark.parametrize(("measure", "options", "error", "message"), BAD_MEASURES + BAD_FOR_ROWS)
def test_measures_that_are_refused(argument, measure, options, error, message):
    with pytest.raises(error, match=message.format(argument)):
        MEASURED[argument](**{argument: measure}, **options)


@pytest.mark.parametrize("argument", ANSWERED)
@pytest.mark.parametrize(
    ("measure", "options", "error", "message"), BAD_MEASURES + BAD_FOR_SUMMARIES
)
def test_measures_that_are_refused_for_summaries(argument, measure, options, error, message):
    with pytest.raises(error, match=message.format(argument)):
        ANSWERED[argument](**{argument: measure}, **options)


@parametrize(list(BINARY))
@pytest.mark.parametrize("reduction", ["classwise", "top-label", "full"])
def test_several_or_dependent_problems_are_refused(call, sample, reduction):
    with pytest.raises(ValueError, match=f"reduction must give one binary .*; got '{reduction}'"):
        call(*sample, reduction=reduction)


@parametrize([name for name in CALLS if name != "bootstrap"])
def test_soft_labels_are_refused(call):
    with pytest.raises(ValueError, match="y_true must hold labels; "):
        call([0, 0.25, 1], [0.2, 0.3, 0.7])
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    with pytest.raises(ValueError, match="y_true must "):
        call(proba, proba)


@pytest.mark.parametrize("call", [spiegelhalter_test, cumulative_calibration_test])
def test_nothing_left_to_chance(call):
    assert call([0, 1, 1], [0.0, 1.0, 1.0])[:3] == (0.0, 1.0, 0.0)
    result = call([0, 1, 1], [0.0, 1.0, 0.0])
    assert result[:2] == (np.inf, np.finfo(float).tiny)
    assert result.estimate == pytest.approx(1 / 3)
    assert call(np.ones(10**4, dtype=int), np.full(10**4, 0.01)).pvalue == np.finfo(float).tiny


# ------------------------------------------------------------------------------ summaries

GOOD = summarize([0, 1] * 10, [0.25, 0.75] * 10)
OF_SUMMARIES = {
    "calibration_test": ("summary", partial(calibration_test_from_summary, **DRAWN)),
    "bootstrap": ("summary", partial(bootstrap_interval_from_summary, "smooth_ece", **DRAWN)),
    "compare_first": ("first", lambda summary: compare_summaries(summary, GOOD, **DRAWN)),
    "compare_second": ("second", lambda summary: compare_summaries(GOOD, summary, **DRAWN)),
}
of_summaries = pytest.mark.parametrize(
    ("argument", "call"), OF_SUMMARIES.values(), ids=[*OF_SUMMARIES]
)
WEIGHTS = "{} must hold labels without weights, .*; got soft labels, or weights other than 0 and 1"


@of_summaries
@pytest.mark.parametrize(
    ("rows", "settings", "error", "message"),
    [
        (None, {}, TypeError, "{} must be a CalibrationSummary; got ndarray"),
        ([], {}, ValueError, "{} must hold rows; got an empty summary"),
        ([[0, 1], [0.25, 0.5], [1.5, 1]], {}, ValueError, WEIGHTS),
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
def test_shards_their_order_and_weights_of_zero_and_one(argument, call, sample):
    y, v = sample
    chosen = np.arange(120) % 3 > 0
    one, two = summarize(y[chosen][:30], v[chosen][:30]), summarize(y[chosen][30:], v[chosen][30:])
    weighted = CalibrationSummary().update(y, v, chosen)
    assert call(one + two) == call(two + one) == call(weighted)
