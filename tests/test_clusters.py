"""Everything that takes clusters treats them alike: rows, copies and names."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

from skcal import diagrams, inference, model_selection, refinement, regression, report, survival
from tests.public_objects import list_functions_and_classes, list_methods

# Of few labels in few clusters, which is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:The verdicts do not help")

FEW = {"random_state": 0, "n_resamples": 19}
GROUPS = {"min_samples": 2}
FEATURES = {"cv": 2, "learner": DecisionTreeRegressor(max_depth=2, random_state=0)}


class Rows:
    """Probabilities, outcomes, amounts and times of the same rows, and what is done with them."""

    def __init__(self, rng, n_rows, n_clusters):
        self.clusters = np.arange(n_rows) % n_clusters
        self.v = rng.choice([0.1, 0.3, 0.45, 0.6, 0.9], n_rows)  # many rows are alike
        shared = rng.normal(size=n_clusters)[self.clusters]
        self.y = (shared + rng.normal(size=n_rows) < 3 * (self.v - 0.5)).astype(int)
        self.amount = np.round(5 * self.v * rng.gamma(2, 0.5, n_rows), 1)
        self.time = np.ceil(6 * rng.exponential(1, n_rows) / (0.5 + self.v))
        self.event = (rng.random(n_rows) < 0.7).astype(int)
        self.group = np.where(self.v > 0.5, "a", "b")
        self.weights = rng.integers(1, 4, n_rows).astype(float)
        self.verdict = np.where(np.arange(n_rows) % 11, self.y, 1 - self.y)
        self.seen = np.where(np.arange(n_rows) * 7 % 5 < 3, self.y, np.nan)

    def take(self, rows):
        taken = object.__new__(Rows)
        taken.__dict__ = {name: values[rows] for name, values in self.__dict__.items()}
        return taken


def of_labels(function, **options):
    return lambda rows, **given: function(rows.y, rows.v, **options, **given)


def of_amounts(function, **options):
    return lambda rows, **given: function(rows.amount, 5 * rows.v, **options, **given)


def of_times(function, **options):
    def call(rows, **given):
        risks = np.column_stack([1 - (1 - rows.v) ** 0.5, rows.v])
        return function(rows.event, rows.time, risks, times=[3, 8], **options, **given)

    return call


def of_few_labels(function, **options):
    options = {"sampling_probability": 0.6} | options
    return lambda rows, **given: function(rows.seen, rows.v, rows.verdict, **options, **given)


def list_numbers(answer, *, but=()):
    """All numbers of an answer, or of a display before it is drawn, but those of some names."""
    if hasattr(answer, "to_dict"):
        answer = answer.to_dict()
    if (hasattr(answer, "curves") or hasattr(answer, "curve")) and not hasattr(answer, "_asdict"):
        answer = {name: part for name, part in vars(answer).items() if not name.endswith("_")}
    if hasattr(answer, "_asdict"):
        answer = answer._asdict()
    if isinstance(answer, dict):
        answer = [part for name, part in answer.items() if name not in but]
    if isinstance(answer, list | tuple):
        return [number for part in answer for number in list_numbers(part, but=but)]
    if answer is None or isinstance(answer, str):
        return []
    values = np.asarray(answer)
    return [*values.astype(float).ravel()] if values.dtype.kind in "biuf" else []


CALLS = {
    inference.certified_threshold: of_labels(inference.certified_threshold, at_most=0.3),
    inference.net_benefit_difference: of_labels(
        inference.net_benefit_difference, thresholds=[0.25, 0.45], baseline="none"
    ),
    inference.calibration_belt: of_labels(inference.calibration_belt),
    inference.calibration_belt_test: of_labels(inference.calibration_belt_test),
    inference.cox_recalibration: of_labels(inference.cox_recalibration),
    inference.multinomial_recalibration: of_labels(inference.multinomial_recalibration),
    inference.choose_update: of_labels(inference.choose_update),
    # A test of it does not take clusters.
    inference.audit_grades: lambda rows, **given: inference.audit_grades(
        rows.y, rows.v, rows.group, **given
    )._replace(hosmer_lemeshow=None),
    inference.observed_expected_ratio: of_labels(inference.observed_expected_ratio),
    inference.spiegelhalter_test: of_labels(inference.spiegelhalter_test),
    inference.calibration_test: of_labels(inference.calibration_test, **FEW),
    inference.confidence_interval: of_labels(
        inference.confidence_interval, method="percentile", **FEW
    ),
    inference.compare_calibration: lambda rows, **given: inference.compare_calibration(
        rows.y, rows.v, rows.v**2, **FEW, **given
    ),
    refinement.recalibration_gain: of_labels(
        refinement.recalibration_gain, recalibrator="platt", random_state=0
    ),
    inference.audit_groups: lambda rows, **given: inference.audit_groups(
        rows.y, rows.v, rows.group, **GROUPS, **FEW, **given
    ),
    inference.audit_mean_groups: lambda rows, **given: inference.audit_mean_groups(
        rows.amount, 5 * rows.v, rows.group, **GROUPS, **FEW, **given
    ),
    inference.audit_features: lambda rows, **given: inference.audit_features(
        rows.y, rows.v, {"time": rows.time, "group": rows.group}, **FEATURES, **FEW, **given
    ),
    inference.audit_mean_features: lambda rows, **given: inference.audit_mean_features(
        rows.amount,
        5 * rows.v,
        {"time": rows.time, "group": rows.group},
        **FEATURES,
        **FEW,
        **given,
    ),
    inference.mean_calibration_test: of_amounts(inference.mean_calibration_test, **FEW),
    inference.mean_recalibration: of_amounts(inference.mean_recalibration),
    inference.actual_expected_ratio: of_amounts(inference.actual_expected_ratio),
    inference.concentration_test: of_amounts(inference.concentration_test),
    inference.prediction_powered_calibration: of_few_labels(
        inference.prediction_powered_calibration, **FEW
    ),
    refinement.brier_refinement: of_labels(refinement.brier_refinement),
    refinement.log_loss_refinement: of_labels(refinement.log_loss_refinement),
    refinement.refinement_decomposition: of_labels(
        refinement.refinement_decomposition, recalibrator="platt"
    ),
    survival.survival_calibration: of_times(survival.survival_calibration, **FEW),
    survival.aj_calibration: lambda rows, **given: survival.aj_calibration(
        rows.event, rows.time, rows.v[:, None], times=[8], **FEW, **given
    ),
    regression.distribution_calibration_test: lambda rows, **given: (
        regression.distribution_calibration_test(
            rows.amount, stats.norm(5 * rows.v, 3), **FEW, **given
        )
    ),
    report.calibration_report: of_labels(report.calibration_report, **FEW),
    diagrams.ReliabilityDisplay: of_labels(diagrams.ReliabilityDisplay.estimate),
    diagrams.DecisionCurveDisplay: of_labels(diagrams.DecisionCurveDisplay.from_predictions),
    diagrams.MurphyDisplay: of_labels(diagrams.MurphyDisplay.from_predictions),
    diagrams.RiskCoverageDisplay: of_labels(
        diagrams.RiskCoverageDisplay.from_predictions, at_most=0.3
    ),
    diagrams.PredictionPoweredReliabilityDisplay: of_few_labels(
        diagrams.PredictionPoweredReliabilityDisplay.from_predictions
    ),
    diagrams.MeanReliabilityDisplay: of_amounts(diagrams.MeanReliabilityDisplay.from_predictions),
    diagrams.RegressionMurphyDisplay: of_amounts(diagrams.RegressionMurphyDisplay.from_predictions),
    diagrams.ConcentrationDisplay: of_amounts(diagrams.ConcentrationDisplay.from_predictions),
    diagrams.SurvivalReliabilityDisplay: of_times(
        diagrams.SurvivalReliabilityDisplay.from_predictions
    ),
}


def takes_weights(function):
    # Which certify, or choose, rows that count once each.
    if function in (diagrams.RiskCoverageDisplay, inference.audit_grades):
        return False
    function = getattr(function, "from_predictions", function)
    return "sample_weight" in inspect.signature(function).parameters


every_function = pytest.mark.parametrize("function", CALLS, ids=lambda one: one.__name__)
WEIGHTED = [one for one in CALLS if takes_weights(one)]
every_weighting = pytest.mark.parametrize(
    ("function", "is_weighted"),
    [(one, False) for one in CALLS] + [(one, True) for one in WEIGHTED],
    ids=lambda one: getattr(one, "__name__", "weighted" if one else "unweighted"),
)
# What counts rows, and not what they stand for; reports tell of clusters beside.
COUNTS = {
    "n_rows",
    "n_samples",
    "n_events",
    "n_clusters",
    "n_required",
    "n_accepted",
    "design_effect",
}
COUNTS |= {"effective_sample_size", "effective_rows", "n_labels", "n_verdicts", "n_judged"}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def assert_same(found, expected, but=()):
    found, expected = list_numbers(found, but=but), list_numbers(expected, but=but)
    assert len(found) > 0
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


def test_everything_that_takes_clusters_is_among_them():
    objects, methods = list_functions_and_classes(), list_methods()
    takes = {
        name.rpartition(".")[0] if name in methods else name
        for name, one in {**objects, **methods}.items()
        if inspect.isroutine(one) and "clusters" in inspect.signature(one).parameters
    }
    found = {objects[name] for name in takes}
    # What a classifier promises is a certified threshold; a report is made by its function.
    others = {model_selection.AbstainingClassifierCV, report.CalibrationReport}
    # A number for each row, which clusters change by the judge's weight alone: test_few_labels.py.
    others.add(inference.prediction_powered_targets)
    # Rows that models are fitted to are drawn by number: test_internal_validation.py.
    others |= {model_selection.internal_validation, model_selection.internal_survival_validation}
    assert found == {*CALLS, *others}


@every_weighting
def test_clusters_of_one_row_are_rows(function, is_weighted, rng):
    rows, options = Rows(rng, 60, 60), {}
    if is_weighted:
        options = {"sample_weight": rows.weights}
    found = CALLS[function](rows, clusters=rng.permutation(60), **options)
    assert_same(found, CALLS[function](rows, **options), but=COUNTS)


@every_function
def test_copies_of_a_row_are_that_row(function, rng):
    rows, clusters = Rows(rng, 60, 60), np.repeat(np.arange(60), 3)
    found = CALLS[function](rows.take(clusters), clusters=rng.permutation(60)[clusters])
    assert_same(found, CALLS[function](rows), but=COUNTS)


@pytest.mark.parametrize("function", WEIGHTED, ids=lambda one: one.__name__)
def test_unequal_copies_weigh_as_much(function, rng):
    rows = Rows(rng, 60, 60)
    clusters = np.repeat(np.arange(60), rows.weights.astype(int))
    found = CALLS[function](rows.take(clusters), clusters=clusters)
    assert_same(found, CALLS[function](rows, sample_weight=rows.weights), but=COUNTS)


@every_weighting
def test_names_and_order_change_nothing(function, is_weighted, rng):
    rows = Rows(rng, 90, 30)
    order, names = rng.permutation(90), rng.permutation(30).astype(str)
    other = rows.take(order)
    options, others = (
        {"sample_weight": one.weights} if is_weighted else {} for one in (rows, other)
    )
    found = CALLS[function](rows, clusters=rows.clusters, **options)
    assert_same(CALLS[function](other, clusters=names[other.clusters], **others), found)
