"""Labels that do not exclude one another: `reduction="multilabel"`, wherever there is one."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skcal.diagrams import DecisionCurveDisplay, ReliabilityDisplay
from skcal.inference import (
    calibration_test,
    confidence_interval,
    cox_recalibration,
    spiegelhalter_test,
)
from skcal.metrics import (
    MEASURES,
    calibration_distance_bounds,
    canonical_calibration_error,
    corp_decomposition,
    expected_calibration_error,
    smooth_ece,
    squared_kernel_calibration_error,
)
from skcal.model_selection import pooled_cross_val_score
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import (
    CrossFitProba,
    MulticalibratedClassifierCV,
    PlattScaling,
    RecalibratedClassifierCV,
)
from skcal.report import calibration_report
from skcal.scorers import get_scorer, make_calibration_scorer
from skcal.streaming import CalibrationSummary

MULTI = {"reduction": "multilabel"}
REDUCING = [measure for measure in MEASURES.values() if measure.reduces]
every_measure = pytest.mark.parametrize("measure", REDUCING, ids=lambda measure: measure.name)

rng = np.random.default_rng(5)
P = rng.random((200, 3)).round(2)
Y = (rng.random(P.shape) < P**1.5).astype(int)
WEIGHTS = rng.integers(0, 4, len(P))
P3 = rng.dirichlet([1, 1, 1], 200)
Y3 = np.array([rng.choice(3, p=p) for p in 0.5 * P3 + 0.5 / 3])


# ----------------------------------------------------------------------------------------- measures


@every_measure
def test_the_mean_over_the_labels(measure):
    for weights in (None, WEIGHTS):
        single = [
            measure.function(Y[:, k], P[:, k], sample_weight=weights, reduction="auto")
            for k in range(3)
        ]
        found = measure.function(Y, P, sample_weight=weights, **MULTI)
        assert found == pytest.approx(np.mean(single), rel=1e-12)
    assert measure.function(Y[:, :1], P[:, :1], **MULTI) == measure.function(
        Y[:, 0], P[:, 0], reduction="auto"
    )


HOLES = np.random.default_rng(6).random(Y.shape) < 0.5
UNKNOWN = np.where(HOLES, np.nan, Y)
HOLED = {
    "array": UNKNOWN,
    "objects": np.where(HOLES, None, Y.astype(object)),
    "list": np.where(HOLES, None, Y.astype(object)).tolist(),
    "frame": pd.DataFrame(UNKNOWN, columns=["a", "b", "c"]),
    "nullable": pd.DataFrame(UNKNOWN, columns=["a", "b", "c"]).convert_dtypes(),
    "polars": pl.DataFrame(UNKNOWN, schema=["a", "b", "c"]).fill_nan(None),
}


def measure_labels(function, weights=None, **options):
    """The mean over the labels, each on the rows where it is known."""
    weights = np.ones(Y.shape) if weights is None else weights
    weights = np.broadcast_to(weights.reshape(len(Y), -1), Y.shape)
    rows = [(Y[~holes, k], P[~holes, k], weights[~holes, k]) for k, holes in enumerate(HOLES.T)]
    return np.mean([function(y, p, sample_weight=w, **options) for y, p, w in rows], axis=0)


@every_measure
def test_labels_that_are_not_known_in_all_rows(measure):
    """Leaving out all rows with a hole would leave an eighth of them."""
    entry_weights = np.random.default_rng(7).integers(0, 4, Y.shape)
    for weights in (None, WEIGHTS, entry_weights):
        found = measure.function(UNKNOWN, P, sample_weight=weights, **MULTI)
        expected = measure_labels(measure.function, weights, reduction="auto")
        assert found == pytest.approx(expected, rel=1e-9)
    found = measure.function(Y, P, sample_weight=np.where(HOLES, 0, entry_weights), **MULTI)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("y_true", HOLED.values(), ids=HOLED)
def test_forms_of_holes(y_true):
    expected = measure_labels(corp_decomposition)
    np.testing.assert_allclose(corp_decomposition(y_true, P, **MULTI), expected, atol=1e-12)
    bounds = calibration_distance_bounds(y_true, P, **MULTI)
    np.testing.assert_allclose(bounds, measure_labels(calibration_distance_bounds), rtol=1e-9)


def test_diagrams_of_labels_with_holes():
    display = ReliabilityDisplay.from_predictions(UNKNOWN, P, **MULTI)
    for k, curve in enumerate(display.curves):
        known = ~HOLES[:, k]
        expected = smooth_ece(Y[known, k], P[known, k])
        assert curve.smooth_ece == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("y_true", "weights", "message"),
    [
        (np.where([1, 0, 0], np.nan, Y), None, "y_true must have a row .* column 0 has none"),
        (Y, np.tile([1, 0, 1], (200, 1)), "y_true must have a row .* column 1 has none"),
        (UNKNOWN, np.isnan(UNKNOWN) * 1.0, "y_true must have a row .* column 0 has none"),
        (np.where(HOLES, np.inf, Y), None, "y_true must lie in"),
        (np.ma.array(Y, mask=HOLES), None, "y_true must not be masked"),
        (Y, np.ones((200, 2)), r"sample_weight must have shape \(200,\).* or \(200, 3\)"),
        (Y, -np.ones((200, 3)), "sample_weight must be finite and not negative"),
        (np.where(HOLES, "x", "y"), None, "y_true must hold real numbers"),
    ],
)
def test_holes_that_are_refused(y_true, weights, message):
    with pytest.raises(ValueError, match=message):
        smooth_ece(y_true, P, sample_weight=weights, **MULTI)
    with pytest.raises(ValueError, match="y_proba must lie in"):
        smooth_ece(Y, np.where(HOLES, np.nan, P), **MULTI)


@every_measure
def test_classes_as_labels_are_the_classwise_reduction(measure):
    found = measure.function(np.eye(3)[Y3], P3, sample_weight=WEIGHTS, **MULTI)
    assert found == measure.function(Y3, P3, sample_weight=WEIGHTS, reduction="classwise")


@every_measure
def test_forms_of_the_same_rows(measure):
    """The same number, whatever holds them, and soft labels as everywhere."""
    expected = measure.function(Y, P, **MULTI)
    outputs = [np.column_stack([1 - column, column]) for column in P.T]
    names = ["rain", "wind", "snow"]
    for y_true in (
        Y.astype(bool),
        Y.astype(float),
        Y.tolist(),
        sparse.csr_matrix(Y),
        sparse.coo_array(Y),
        pd.DataFrame(Y, columns=names),
    ):
        for y_proba in (P, P.tolist(), pd.DataFrame(P), outputs, tuple(outputs)):
            assert measure.function(y_true, y_proba, **MULTI) == expected
    assert measure.function(Y, P, labels=names, **MULTI) == expected
    soft = 0.25 + 0.5 * Y
    single = [measure.function(soft[:, k], P[:, k], reduction="auto") for k in range(3)]
    assert measure.function(soft, P, **MULTI) == pytest.approx(np.mean(single), rel=1e-12)


def test_other_functions_with_a_reduction():
    single = np.array([corp_decomposition(Y[:, k], P[:, k]) for k in range(3)])
    np.testing.assert_allclose(corp_decomposition(Y, P, **MULTI), single.mean(axis=0), rtol=1e-12)
    for distance in ("true", "lower", "upper", "smooth"):
        bound = partial(calibration_distance_bounds, distance=distance)
        single = np.array([bound(Y[:, k], P[:, k]) for k in range(3)])
        np.testing.assert_allclose(bound(Y, P, **MULTI), single.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("cross-fit", marks=pytest.mark.slow),
        "percentile",
        pytest.param("bca", marks=pytest.mark.slow),
    ],
)
def test_intervals_keep_the_labels_of_a_row_together(method):
    """They are those of classes, where the labels are classes: rows are drawn in the same way."""
    options = {"method": method, "n_resamples": 20, "random_state": 0}
    for measure in ("smooth_ece", "expected_calibration_error", "squared_calibration_error"):
        data = {"measure": measure, "sample_weight": WEIGHTS, **options}
        found = confidence_interval(np.eye(3)[Y3], P3, **data, **MULTI)
        assert found == confidence_interval(Y3, P3, **data, reduction="classwise")
    # Labels that are copies of one another tell no more than one.
    copies = (np.repeat(values[:, :1], 4, axis=1) for values in (Y, P))
    data = {"measure": "expected_calibration_error", **options}
    found = confidence_interval(*copies, **data, **MULTI)
    expected = confidence_interval(Y[:, 0], P[:, 0], **data)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_an_interval_of_a_function_of_the_user():
    def find_gap(y_true, y_proba, *, sample_weight=None, reduction="auto"):
        assert (np.shape(y_true), reduction) == (np.shape(y_proba), "multilabel")
        return np.abs(np.average(y_true - y_proba, axis=0, weights=sample_weight)).mean()

    for method in ("percentile", "cross-fit"):
        options = {"measure": find_gap, "method": method, "random_state": 0, "n_resamples": 20}
        found = confidence_interval(Y, P, **options, **MULTI)
        assert found.estimate == pytest.approx(find_gap(Y, P, **MULTI))
        assert found.low < found.estimate < found.high


@pytest.mark.slow
def test_intervals_of_dependent_labels_cover():
    """300 samples of 400 rows with about the same outcomes of all labels: .95, error .0126.

    Outcomes are .1 more probable than predicted everywhere, so that the range of the cumulative
    residuals is .1 for each label, and in the mean.
    """
    generator, n_covered = np.random.default_rng(0), 0
    for _ in range(300):
        proba = generator.uniform(0.2, 0.7, (400, 1)) + generator.uniform(-0.05, 0.05, (400, 3))
        outcomes = (generator.random((400, 1)) < proba + 0.1).astype(int)
        interval = confidence_interval(
            outcomes,
            proba,
            measure="cumulative_calibration_error",
            n_resamples=10,
            random_state=generator,
            **MULTI,
        )
        n_covered += interval.low <= 0.1 <= interval.high
    assert n_covered / 300 > 0.95 - 4 * 0.0126


# ---------------------------------------------------------------------------------- what is refused

SINGLE = r"one label at a time[:,] y_true\[:, k\] and y_proba\[:, k\]"
BAD = [
    (Y[:, 0], P, {}, r"must be an indicator .* got shape \(200,\)\. .*MultiLabelBinarizer"),
    ([["a"], ["a", "b"]], P[:2], {}, "must be an indicator .* got rows of several lengths"),
    (np.array([["a", "b"]]), P[:1, :2], {}, "y_true must hold real numbers"),
    (Y * 2, P, {}, r"y_true must lie in \[0, 1\]; got 2"),
    (np.where(Y == 1, np.inf, 0), P, {}, r"y_true must lie in \[0, 1\]; got inf"),
    (Y, P + 0.5, {}, r"y_proba must lie in \[0, 1\]"),
    (Y, P[:, :2], {}, r"must have the same shape .* got \(200, 3\) and \(200, 2\)"),
    (Y, P[:, 0], {}, r"must have the same shape .* got \(200, 3\) and \(200,\)"),
    (Y, [np.column_stack([P[:, 0]] * 2)] * 3, {}, r"Rows of y_proba\[0\] must sum to 1"),
    (Y, [P3] * 3, {}, r"y_proba\[0\] must have shape \(200, 2\), .* got shape \(200, 3\)"),
    (Y, [1 - Y[:, :2] * 0.5, Y[:9, :2] * 0.5] * 2, {}, r"y_proba\[0\] must sum|Rows of y_proba"),
    (Y, sparse.csr_array(P), {}, "y_proba must be a dense array"),
    (Y, P, {"pos_label": 1}, "pos_label must be None .*" + SINGLE),
    (Y, P, {"labels": ["a", "b"]}, "labels must name each of the 3"),
    (Y, P, {"labels": ["a", "b", "b"]}, "labels must be distinct"),
    (Y, P, {"sample_weight": WEIGHTS[:9]}, "sample_weight must have shape"),
    (Y[:0], P[:0], {}, "must hold at least one row"),
]


@pytest.mark.parametrize(("y_true", "y_proba", "options", "message"), BAD)
def test_bad_input(y_true, y_proba, options, message):
    with pytest.raises(ValueError, match=message):
        smooth_ece(y_true, y_proba, **options, **MULTI)


def test_names_of_columns_must_not_be_in_another_order():
    names = ["rain", "wind", "snow"]
    y_true, y_proba = pd.DataFrame(Y, columns=names), pd.DataFrame(P, columns=names)
    assert smooth_ece(y_true, y_proba, **MULTI) == smooth_ece(Y, P, **MULTI)
    with pytest.raises(ValueError, match="must have the same order"):
        smooth_ece(y_true, y_proba[names[::-1]], **MULTI)
    for data in ((y_true, P), (Y, y_proba)):
        with pytest.raises(ValueError, match="'snow', 'wind', 'rain'"):
            smooth_ece(*data, labels=names[::-1], **MULTI)


def test_an_indicator_without_the_word_is_pointed_to_it():
    """A matrix of outcomes is one of soft labels, or refused."""
    for function in (smooth_ece, spiegelhalter_test, confidence_interval, calibration_test):
        with pytest.raises(ValueError, match=r"one-dimensional.*reduction='multilabel'.*" + SINGLE):
            function(Y, P)
    for function in (canonical_calibration_error, squared_kernel_calibration_error):
        with pytest.raises(ValueError, match=r"Rows of y_\w+ must sum to 1.*'multilabel'"):
            function(Y, P)
        with pytest.raises(ValueError, match=r"Rows of y_true must sum to 1.*'multilabel'"):
            function(1 - np.eye(3)[Y3], P3)
        assert np.isfinite(function(np.eye(3)[Y3], P3))


def test_where_there_is_no_such_reduction():
    """Each function says what to do instead."""
    for call in (
        lambda: calibration_test(Y, P, **MULTI),
        lambda: spiegelhalter_test(Y, P, **MULTI),
        lambda: cox_recalibration(Y, P, **MULTI),
        lambda: CalibrationSummary(**MULTI),
        lambda: CalibrationMonitor(**MULTI),
        lambda: DecisionCurveDisplay.from_predictions(Y, P, **MULTI),
        lambda: ReliabilityDisplay.from_cv_results({}, P, Y, **MULTI),
    ):
        with pytest.raises(ValueError, match=r"got 'multilabel'.*" + SINGLE):
            call()
    with pytest.raises(ValueError, match=r"Rows of y_proba must sum to 1.*'multilabel'"):
        calibration_report(Y, P)
    with pytest.raises(TypeError, match=r"no option 'reduction'|no argument reduction"):
        confidence_interval(Y, P, measure="canonical_calibration_error", **MULTI)


def test_recalibrators_take_one_label():
    X, advice = rng.normal(size=(len(Y), 2)), r"got shape \(200, 3\)\. .*multilabel indicator "
    for model in (RecalibratedClassifierCV, MulticalibratedClassifierCV):
        wrap = rf"wrap it: sklearn\.multioutput\.MultiOutputClassifier\({model.__name__}"
        with pytest.raises(ValueError, match=advice + wrap):
            model(GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match=advice + r"fit one for each label, on y\[:, k\]"):
        CrossFitProba(GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match=advice + "fit one for each label, on its probabilities"):
        PlattScaling().fit(P3, Y)
    with pytest.raises(ValueError, match=advice + r"measure what cross_val_predict\(..., method"):
        pooled_cross_val_score(GaussianNB(), X, Y, measure="smooth_ece")


# ---------------------------------------------------------------------- classifiers of scikit-learn

X = rng.normal(size=(240, 4))
LABELS = (rng.random((240, 3)) < 1 / (1 + np.exp(-2 * X[:, :3]))).astype(int)
NAMES = ["rain", "wind", "snow"]
MODELS = [
    OneVsRestClassifier(LogisticRegression()),
    MultiOutputClassifier(LogisticRegression()),
    ClassifierChain(LogisticRegression(), order="random", random_state=1),
    RandomForestClassifier(5, random_state=0),
    make_pipeline(StandardScaler(), MultiOutputClassifier(GaussianNB())),
    MultiOutputClassifier(RecalibratedClassifierCV(GaussianNB(), "platt")),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
SCORER = get_scorer("neg_expected_calibration_error", **MULTI)


def stack(proba):
    """Probabilities of 1, a column for each label."""
    return np.column_stack([p[:, 1] for p in proba]) if isinstance(proba, list) else proba


@every_model
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.filterwarnings("ignore:PlattScaling raises the log loss")
def test_scorers_of_every_kind_of_classifier(model, n_labels):
    """Two labels are the case in which scikit-learn's scorers share a single column."""
    y = LABELS[:, :n_labels]
    fitted = model.fit(X, y)
    proba = stack(fitted.predict_proba(X))
    expected = -expected_calibration_error(y, proba, **MULTI)
    for target in (y, pd.DataFrame(y, columns=NAMES[:n_labels])):
        assert SCORER(fitted, X, target) == pytest.approx(expected, rel=1e-12)
    assert pickle.loads(pickle.dumps(SCORER))(fitted, X, y) == pytest.approx(expected, rel=1e-12)
    weights = np.arange(len(X))
    found = SCORER(fitted, X, y, sample_weight=weights)
    expected = -expected_calibration_error(y, proba, sample_weight=weights, **MULTI)
    assert found == pytest.approx(expected, rel=1e-12)


def test_cross_validation_and_search():
    model = MultiOutputClassifier(LogisticRegression())
    scores = cross_val_score(model, X, LABELS, scoring=SCORER, cv=3)
    assert len(scores) == 3
    assert (scores < 0).all()
    sparse_y = sparse.csr_matrix(LABELS)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, sparse_y)
    assert SCORER(model, X, sparse_y) == SCORER(model, X, LABELS)
    chain = ClassifierChain(LogisticRegression())
    (option,) = (name for name in chain.get_params() if name.endswith("estimator__C"))
    search = GridSearchCV(
        chain,
        {option: [1e-4, 1.0]},
        scoring={"ece": SCORER, "brier": make_calibration_scorer(corp_score, **MULTI)},
        refit="brier",
        cv=3,
    ).fit(X, LABELS)
    assert search.best_params_ == {option: 1.0}
    proba = cross_val_predict(
        MultiOutputClassifier(GaussianNB()), X, LABELS, cv=3, method="predict_proba"
    )
    assert 0 < smooth_ece(LABELS, proba, **MULTI) < 0.2


def corp_score(y_true, y_proba, *, labels=None, sample_weight=None, reduction="auto"):
    """Mean Brier score over the labels."""
    options = {"labels": labels, "sample_weight": sample_weight, "reduction": reduction}
    return corp_decomposition(y_true, y_proba, **options).score


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(max_depth=2), MultiOutputClassifier(DummyClassifier())]
)
@pytest.mark.parametrize("constant", [0, 1])
def test_labels_that_were_always_or_never_seen(model, constant):
    """Such an output has one column, of 0 or of 1; scikit-learn's scorers take the last one."""
    train = LABELS.copy()
    train[:, 1] = constant
    model.fit(X, train)
    proba = model.predict_proba(X)
    assert proba[1].shape[1] == 1
    columns = np.column_stack([proba[0][:, 1], np.full(len(X), constant), proba[2][:, 1]])
    expected = -expected_calibration_error(LABELS, columns, **MULTI)
    assert SCORER(model, X, LABELS) == pytest.approx(expected, rel=1e-12)


def test_outputs_that_are_no_labels():
    several = np.column_stack([LABELS[:, 0], LABELS.sum(axis=1)])
    model = MultiOutputClassifier(GaussianNB()).fit(X, several)
    with pytest.raises(ValueError, match=r"output 1 of .* has the classes \[0, 1, 2, 3\]"):
        SCORER(model, X, several)
    model = MultiOutputClassifier(GaussianNB()).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"predicts several.*reduction='multilabel'"):
        get_scorer("neg_smooth_ece")(model, X, LABELS)
    with pytest.raises(ValueError, match=r"predicts several.*reduction='multilabel'"):
        ReliabilityDisplay.from_estimator(model, X, LABELS)
    with pytest.raises(ValueError, match="must be an indicator"):
        SCORER(GaussianNB().fit(X, LABELS[:, 0]), X, LABELS[:, 0])


# ----------------------------------------------------------------------------------------- diagrams


def test_a_panel_for_each_label():
    options = {"interval": True, "random_state": 0, "name": "model"}
    display = ReliabilityDisplay.from_predictions(Y, P, labels=NAMES, **MULTI, **options)
    assert (display.pos_label, display.reduction) == (NAMES, "multilabel")
    for k, name in enumerate(NAMES):
        expected = ReliabilityDisplay.from_predictions(Y[:, k], P[:, k], **options)
        np.testing.assert_array_equal(display.prob_true[k], expected.prob_true)
        assert display.line_[k].get_label() == expected.line_.get_label()
        assert display.ax_[k].get_title().startswith(f"Label: {name}\n")
        assert display.ax_[k].get_xlabel() == "Predicted probability"


@pytest.mark.parametrize(
    "model",
    [
        MODELS[0],
        pytest.param(MODELS[1], marks=pytest.mark.slow),
        MLPClassifier(3, max_iter=5000, tol=0.01),
    ],
)
def test_panels_of_a_classifier_have_the_names_of_the_columns(model):
    model = model.fit(X, LABELS)
    frame = pd.DataFrame(LABELS, columns=NAMES)
    display = ReliabilityDisplay.from_estimator(model, X, frame, layers=(), **MULTI)
    proba = stack(model.predict_proba(X))
    expected = ReliabilityDisplay.estimate(LABELS, proba, layers=(), **MULTI)
    assert (display.pos_label, expected.pos_label) == (NAMES, [0, 1, 2])
    np.testing.assert_allclose(display.smooth_ece, expected.smooth_ece, rtol=1e-9)


def test_weights_of_entries_are_named_by_row_and_column():
    weights = np.ones((4, 3))
    weights[2, 1] = -1
    with pytest.raises(ValueError, match=r"^sample_weight .* got -1\.0 at row 2, column 1\.$"):
        expected_calibration_error(
            np.eye(4, 3, dtype=int),
            np.full((4, 3), 0.5),
            sample_weight=weights,
            reduction="multilabel",
        )
