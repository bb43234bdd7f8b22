"""Coverage of `confidence_interval` over all outcomes of few rows, without chance."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from skcal.inference import confidence_interval, confidence_interval_from_summary
from skcal.metrics import MEASURES
from tests.inference.samples import summarize

BINARY = {"labels": [0, 1], "pos_label": 1}
PLAIN = {
    "squared_calibration_error": {"debias": False},
    "squared_kernel_calibration_error": {"unbiased": False},
}
EVERY_FIFTH = np.linspace(0, 1, 21)


def find_population(name, true, places, counts):
    """The value where rows of each prediction have these probabilities."""
    rows = np.repeat(true, counts), np.repeat(places, counts)
    return MEASURES[name].function(*rows, **BINARY, **PLAIN.get(name, {}))


def find_coverages(name, places, counts, grid):
    """Probability that the interval holds the value, for all true probabilities on a grid."""
    events = list(product(*(range(count + 1) for count in counts)))
    rows = np.repeat(places, counts)
    ends = np.array(
        [
            confidence_interval(
                np.concatenate([np.arange(n) < k for n, k in zip(counts, numbers, strict=True)]),
                rows,
                measure=name,
                random_state=0,
            )
            for numbers in events
        ]
    )[:, 1:]
    found = []
    for true in product(grid, repeat=len(places)):
        chances = np.prod(binom(counts, true).pmf(events), axis=1)
        value = find_population(name, true, places, counts)
        holds = (ends[:, 0] <= value + 1e-9) & (value - 1e-9 <= ends[:, 1])
        found.append(chances @ holds)
    return found


@pytest.mark.parametrize(
    ("name", "place", "n"),
    [
        ("expected_calibration_error", 0.5, 10),
        pytest.param("expected_calibration_error", 0.05, 20, marks=pytest.mark.slow),
        ("smooth_ece", 0.4, 5),
        pytest.param("smooth_ece", 0.5, 20, marks=pytest.mark.slow),
        pytest.param("smooth_ece", 0.3, 60, marks=pytest.mark.slow),
    ],
)
def test_coverage_of_one_prediction(name, place, n):
    assert min(find_coverages(name, [place], [n], np.linspace(0, 1, 101))) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.9])
def test_coverage_of_one_prediction_at_many_numbers_of_rows(place):
    name, grid = "expected_calibration_error", np.linspace(0, 1, 101)
    coverages = [
        min(find_coverages(name, [place], [n], grid)) for n in (5, 6, 7, 8, 10, 13, 20, 35, 60)
    ]
    assert min(coverages) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"lower_calibration_distance"}))
@pytest.mark.parametrize(
    ("places", "counts"),
    [([0.3], [10]), ([0.05], [20]), ([0.45, 0.55], [5, 5])],
)
def test_coverage_of_all_measures(name, places, counts):
    assert min(find_coverages(name, places, counts, EVERY_FIFTH)) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expected_calibration_error", "smooth_ece"])
@pytest.mark.parametrize(
    ("places", "counts"),
    [([0.3, 0.7], [8, 8]), ([0.1, 0.5], [14, 8]), ([0.5, 0.6], [10, 10])],
)
def test_coverage_of_two_predictions(name, places, counts):
    assert min(find_coverages(name, places, counts, EVERY_FIFTH)) > 0.95


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    ("n", "place"),
    [
        (10, 0.5),
        pytest.param(40, 0.5, marks=pytest.mark.slow),
        pytest.param(20, 0.1, marks=pytest.mark.slow),
    ],
)
def test_outcomes_as_predicted_leave_room(name, n, place):
    """As many events as were predicted: Wilson's interval of their share lies inside."""
    k = round(n * place)
    y, v = np.arange(n) < k, np.full(n, place)
    found = confidence_interval(y, v, measure=name, random_state=0)
    wilson = binomtest(k, n).proportion_ci(method="wilson").high
    assert found.high >= find_population(name, [wilson], [place], [n])
    assert found.low <= 1e-9


@pytest.mark.parametrize(
    "name", ["expected_calibration_error", pytest.param("smooth_ece", marks=pytest.mark.slow)]
)
def test_room_of_outcomes_as_predicted_depends_on_what_is_independent(name):
    """1 / sqrt(n) of independent rows, whether they are merged, counted, or come in clusters."""
    y, v = np.arange(40) % 2, np.full(40, 0.5)
    options = {"measure": name, "random_state": 0}
    once = confidence_interval(y, v, **options)
    many = confidence_interval(np.tile(y, 200), np.full(8000, 0.5), **options)
    summary = summarize(np.tile(y, 200), np.full(8000, 0.5))
    counted = confidence_interval_from_summary(summary, **options)
    # Student's quantile of 40 batches is 0.7 % above that of 50.
    assert many.high == pytest.approx(once.high / np.sqrt(200), rel=0.01)
    assert counted.high == pytest.approx(many.high, rel=0.01)
    rows = np.repeat(y, 5), np.full(200, 0.5)
    whole = confidence_interval(*rows, clusters=np.repeat(np.arange(40), 5), **options)
    assert whole.high == pytest.approx(once.high, rel=1e-6)
    weighted = confidence_interval(*rows, sample_weight=np.tile([5, 0, 0, 0, 0], 40), **options)
    assert weighted.high == pytest.approx(once.high, rel=1e-6)


@pytest.mark.parametrize("reduction", ["classwise", "full"])
def test_room_of_outcomes_as_predicted_in_several_columns(reduction):
    """Both columns are wrong by the same number, and the mean error of the two is that of one."""
    y, v = np.arange(20) % 5 < 2, np.full(20, 0.4)
    options = {"measure": "expected_calibration_error", "random_state": 0}
    one = confidence_interval(y, v, **options)
    two = confidence_interval(y, np.column_stack([1 - v, v]), reduction=reduction, **options)
    assert two.high == pytest.approx(one.high, rel=1e-6)


def test_room_has_the_scale_of_the_measure():
    y, v = np.arange(20) % 2, np.full(20, 0.5)

    def find_percent(y_true, y_proba):
        return 100 * abs(np.mean(y_true) - np.mean(y_proba))

    options = {"method": "cross-fit", "random_state": 0}
    one = confidence_interval(y, v, measure="expected_calibration_error", **options)
    found = confidence_interval(y, v, measure=find_percent, **options)
    assert found.high == pytest.approx(100 * one.high, rel=1e-6)
