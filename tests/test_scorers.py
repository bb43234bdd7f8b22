"""Scorers inside scikit-learn: values, folds that miss a class, shared predictions, messages."""

import functools
from itertools import product

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFECV
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneGroupOut,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skcal.metrics import MEASURES, expected_calibration_error, smooth_ece
from skcal.recalibration import CrossFitProba, IsotonicRecalibration, TemperatureScaling
from skcal.scorers import get_scorer, get_scorer_names, make_calibration_scorer

SINCE_1_8 = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 8)
BINARY_LABELS = {
    "zero-one": np.array([0, 1]),
    "bool": np.array([False, True]),
    "one-two": np.array([1, 2]),
    "minus-plus": np.array([-1, 1]),
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
}
every_measure = pytest.mark.parametrize("name", list(MEASURES))
every_labels = pytest.mark.parametrize("labels", BINARY_LABELS.values(), ids=BINARY_LABELS)


@pytest.fixture(scope="module")
def binary():
    return make_classification(
        n_samples=240, n_features=6, n_informative=4, flip_y=0.2, random_state=0
    )


@pytest.fixture(scope="module")
def three_classes():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    return X + rng.normal(size=X.shape), y


class CountingNB(GaussianNB):
    """Counts the calls of predict_proba."""

    def predict_proba(self, X):
        self.n_calls_ = getattr(self, "n_calls_", 0) + 1
        return super().predict_proba(X)


def mean_of_positive(y_true, y_proba, *, labels=None, pos_label=None, sample_weight=None):
    """Mean probability of pos_label: shows which column a scorer talks about."""
    return np.average(y_proba[:, labels == pos_label][:, 0], weights=sample_weight)


def mean_of_last(y_true, y_proba, *, labels=None):
    """Mean probability of the last label, the default positive one."""
    return y_proba[:, -1].mean()


def first_probability(y_true, y_proba, *, pos_label=None):
    """A score for scikit-learn's make_scorer: of the column of pos_label."""
    return y_proba[0]


def unweighted_gap(y_true, y_proba, *, labels=None):
    """A measure that takes no weights and no options."""
    return abs((y_true == labels[-1]).mean() - y_proba[:, -1].mean())


# --------------------------------------------------------------------------- values


@every_measure
@every_labels
def test_score_is_minus_the_measure_of_the_last_class(name, labels, binary):
    X, y = binary
    model = GaussianNB().fit(X, labels[y])
    measure = MEASURES[name].function
    expected = -measure(y == 1, model.predict_proba(X)[:, 1])
    score = get_scorer(f"neg_{name}")(model, X, labels[y])
    assert type(score) is float
    assert score == pytest.approx(expected, rel=1e-12)


@every_measure
@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([5, 7, 11])])
def test_score_of_three_classes(name, names, three_classes):
    X, y = three_classes
    model = GaussianNB().fit(X, names[y])
    expected = -MEASURES[name].function(y, model.predict_proba(X))
    assert get_scorer(f"neg_{name}")(model, X, names[y]) == pytest.approx(expected, rel=1e-12)


def test_sign_of_the_score(binary):
    X, y = binary
    model = GaussianNB().fit(X, y)
    loss = make_calibration_scorer(smooth_ece)(model, X, y)
    gain = make_calibration_scorer(smooth_ece, greater_is_better=True)(model, X, y)
    assert gain == -loss > 0


def test_options_reach_the_measure(three_classes):
    X, y = three_classes
    model = GaussianNB().fit(X, y)
    options = {"n_bins": 7, "strategy": "quantile", "reduction": "classwise"}
    expected = -expected_calibration_error(y, model.predict_proba(X), **options)
    scorer = get_scorer("neg_expected_calibration_error", **options)
    assert scorer(model, X, y) == expected
    assert get_scorer("neg_expected_calibration_error")(model, X, y) != expected


@pytest.mark.parametrize(("pos_label", "column"), [("no", 0), ("yes", 1)])
def test_pos_label_names_the_column(pos_label, column, binary):
    X, y = binary
    y = np.array(["no", "yes"])[y]
    model = GaussianNB().fit(X, y)
    proba = model.predict_proba(X)[:, column]
    scorer = make_calibration_scorer(mean_of_positive, pos_label=pos_label, greater_is_better=True)
    assert scorer(model, X, y) == proba.mean()
    ece = get_scorer("neg_expected_calibration_error", n_bins=3, pos_label=pos_label)
    assert ece(model, X, y) == -expected_calibration_error(y == pos_label, proba, n_bins=3)


def test_pos_label_of_three_classes_is_one_against_the_rest(three_classes):
    X, y = three_classes
    model = GaussianNB().fit(X, y)
    expected = -smooth_ece(y == 1, model.predict_proba(X)[:, 1])
    assert get_scorer("neg_smooth_ece", pos_label=1)(model, X, y) == pytest.approx(expected)


def test_unknown_pos_label_is_an_error(binary):
    X, y = binary
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        get_scorer("neg_smooth_ece", pos_label="yes")(GaussianNB().fit(X, y), X, y)


def test_any_function_can_be_a_measure(binary):
    X, y = binary
    y = np.array(["no", "yes"])[y]
    model = GaussianNB().fit(X, y)
    expected = -log_loss(y, model.predict_proba(X))
    assert make_calibration_scorer(log_loss)(model, X, y) == pytest.approx(expected)
    coarse = functools.partial(expected_calibration_error, n_bins=2)
    scorer = make_calibration_scorer(coarse)
    assert scorer(model, X, y) == get_scorer("neg_expected_calibration_error", n_bins=2)(
        model, X, y
    )
    assert scorer.__name__ == "neg_expected_calibration_error"
    assert make_calibration_scorer(unweighted_gap)(model, X, y) <= 0


@pytest.mark.parametrize("value", [None, "0.1", np.ones(1), np.nan])
def test_a_measure_must_return_a_number(binary, value):
    X, y = binary
    scorer = make_calibration_scorer(lambda y_true, y_proba, labels: value)
    with pytest.raises(ValueError, match="measure must return a number; <lambda> gave"):
        scorer(GaussianNB().fit(X, y), X, y)


# --------------------------------------------------------------------------- inside scikit-learn


@every_labels
def test_cross_val_score(labels, binary):
    X, y = binary
    cv = StratifiedKFold(4)
    scores = cross_val_score(
        GaussianNB(), X, labels[y], scoring=get_scorer("neg_smooth_ece"), cv=cv
    )
    expected = [
        -smooth_ece(y[test], GaussianNB().fit(X[train], y[train]).predict_proba(X[test])[:, 1])
        for train, test in cv.split(X, y)
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@every_labels
def test_cross_validate_and_grid_search(labels, binary):
    X, y = binary
    scoring = {"cal": get_scorer("neg_smooth_ece"), "ll": "neg_log_loss"}
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(15))
    scores = cross_validate(model, X, labels[y], scoring=scoring, cv=3)
    assert {"test_cal", "test_ll"} < set(scores)
    search = GridSearchCV(
        model, {"kneighborsclassifier__n_neighbors": [15, 30]}, scoring=scoring, refit="cal", cv=3
    ).fit(X, labels[y])
    results = search.cv_results_
    first = [results[f"split{i}_test_cal"][0] for i in range(3)]
    np.testing.assert_array_equal(first, scores["test_cal"])
    assert search.best_index_ == results["mean_test_cal"].argmax()
    assert search.score(X, labels[y]) == scoring["cal"](search, X, labels[y])


def test_recalibrated_pipeline_in_a_search(three_classes):
    X, y = three_classes
    y = np.array(["a", "b", "c"])[y]
    pipeline = make_pipeline(CrossFitProba(GaussianNB()), TemperatureScaling())
    search = GridSearchCV(
        pipeline,
        {"temperaturescaling": [TemperatureScaling(), IsotonicRecalibration()]},
        scoring={"cal": get_scorer("neg_smooth_ece"), "ll": "neg_log_loss"},
        refit="cal",
        cv=3,
    ).fit(X, y)
    expected = cross_val_score(pipeline, X, y, scoring=get_scorer("neg_smooth_ece"), cv=3)
    assert search.cv_results_["mean_test_cal"][0] == expected.mean()
    assert np.isfinite(search.best_score_)


def test_two_processes(binary):
    X, y = binary
    scoring = {"cal": get_scorer("neg_smooth_ece"), "acc": "accuracy"}
    one = cross_validate(GaussianNB(), X, y, scoring=scoring, cv=2)
    two = cross_validate(GaussianNB(), X, y, scoring=scoring, cv=2, n_jobs=2)
    for key in ("test_cal", "test_acc"):
        np.testing.assert_array_equal(one[key], two[key])


@every_measure
def test_plain_make_scorer(name, binary, three_classes):
    function = MEASURES[name].function
    plain = make_scorer(function, response_method="predict_proba", greater_is_better=False)
    own = get_scorer(f"neg_{name}")
    for X, y in (binary, three_classes):
        cv = StratifiedKFold(3)
        np.testing.assert_allclose(
            cross_val_score(GaussianNB(), X, y, scoring=plain, cv=cv, error_score="raise"),
            cross_val_score(GaussianNB(), X, y, scoring=own, cv=cv, error_score="raise"),
            rtol=1e-12,
        )


# --------------------------------------------------------------------------- missing classes


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([0, 1, 2])])
def test_fold_that_misses_a_class(names, three_classes):
    """Training rows without a class: its column is zero, as if the model had said so."""
    X, y = three_classes
    train = y != 1
    model = GaussianNB().fit(X[train], names[y[train]])
    padded = np.insert(model.predict_proba(X), 1, 0.0, axis=1)
    for reduction in ("auto", "confidence", "classwise"):
        scorer = get_scorer("neg_expected_calibration_error", reduction=reduction)
        with pytest.warns(UserWarning, match="labels that GaussianNB was not fitted on"):
            score = scorer(model, X, names[y])
        expected = -expected_calibration_error(y, padded, reduction=reduction)
        assert score == pytest.approx(expected, rel=1e-12)


def test_rows_of_an_unknown_class_count_as_wrong(three_classes):
    """Only wrong rows: all residuals are negative, so that smECE is the mean confidence."""
    X, y = three_classes
    with pytest.warns(UserWarning, match="probability 0"):
        scores = cross_val_score(
            GaussianNB(),
            X,
            y,
            groups=y,
            cv=LeaveOneGroupOut(),
            scoring=get_scorer("neg_smooth_ece"),
            error_score="raise",
        )
    for k, score in enumerate(scores):
        model = GaussianNB().fit(X[y != k], y[y != k])
        confidence = model.predict_proba(X[y == k]).max(axis=1)
        assert score == pytest.approx(-confidence.mean(), abs=1e-6)


@every_labels
@pytest.mark.parametrize("known", [0, 1])
def test_binary_model_of_a_single_class(labels, known, binary):
    """It is certain of its class: the error is the share of the other one."""
    X, y = binary
    only = y == known
    model = DecisionTreeClassifier().fit(X[only], labels[y[only]])
    share = (~only).mean()
    for pos_label in (None, labels[0], labels[1]):
        scorer = get_scorer("neg_smooth_ece", pos_label=pos_label)
        with pytest.warns(UserWarning, match="was not fitted on"):
            assert scorer(model, X, labels[y]) == pytest.approx(-share, abs=1e-6)
        assert scorer(model, X[only], labels[y[only]]) == 0


@every_labels
@pytest.mark.parametrize("known", [0, 1])
def test_added_labels_are_sorted(labels, known, binary):
    """The last label stays the positive one, whichever the model knows."""
    X, y = binary
    only = y == known
    model = DecisionTreeClassifier().fit(X[only], labels[y[only]])
    scorer = make_calibration_scorer(mean_of_last, greater_is_better=True)
    with pytest.warns(UserWarning, match="was not fitted on"):
        assert scorer(model, X, labels[y]) == known


def test_labels_of_another_kind_are_left_to_the_measure(binary):
    X, y = binary
    model = GaussianNB().fit(X, y)
    scorer = get_scorer("neg_smooth_ece")
    with pytest.raises(ValueError, match="y_true has labels that no column"):
        scorer(model, X, np.array(["no", "yes"])[y])
    with pytest.raises(ValueError, match="y_true"):
        scorer(model, X, y + 0.25)
    with pytest.raises(ValueError, match="y_true must hold finite labels"):
        scorer(model, X, np.where(y == 1, np.nan, 0.0))


# --------------------------------------------------------------------------- several at once


def check_scores(model, X, y, scoring):
    """Scores of several scorers in one run are those of each alone; the fitted models."""
    run = {"cv": 3, "error_score": "raise"}
    results = cross_validate(model, X, y, scoring=scoring, return_estimator=True, **run)
    for name, scorer in scoring.items():
        alone = cross_val_score(model, X, y, scoring=scorer, **run)
        np.testing.assert_array_equal(results[f"test_{name}"], alone)
    return results["estimator"]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("problem", ["binary", "three_classes"])
def test_scorers_share_one_call_of_predict_proba(problem, order, request):
    X, y = request.getfixturevalue(problem)
    y = np.array(["a", "b", "c"])[y]
    scoring = {name: get_scorer(name) for name in get_scorer_names()} | {"log loss": "neg_log_loss"}
    for options in ({"pos_label": "a"}, {"reduction": "classwise"}, {"reduction": "confidence"}):
        scoring[str(options)] = get_scorer("neg_expected_calibration_error", **options)
    scoring["own"] = make_calibration_scorer(mean_of_last)
    models = check_scores(CountingNB(), X, y, dict(list(scoring.items())[::order]))
    assert [model.n_calls_ for model in models] == [1, 1, 1]


class LaidOutNB(GaussianNB):
    """Probabilities in memory of any layout."""

    def __init__(self, layout=None):
        super().__init__()
        self.layout = layout

    def predict_proba(self, X):
        return self.layout(super().predict_proba(X))


LAYOUTS = {
    "as it is": np.asarray,
    "columns": np.asfortranarray,
    "rows": lambda proba: np.ascontiguousarray(proba.T).T,
    "part": lambda proba: np.tile(proba, 2)[:, :2],
    "rows reversed": lambda proba: proba[::-1].copy()[::-1],
    "float32": lambda proba: proba.astype(np.float32),
    "columns reversed": lambda proba: proba[:, ::-1].copy()[:, ::-1],
}


@pytest.mark.parametrize(
    ("layout", "label"), [*product(LAYOUTS, ["yes"]), *product(list(LAYOUTS)[:-1], ["no"])]
)
def test_columns_of_two_classes_are_told_apart(layout, label, binary):
    """scikit-learn keeps a single column, of the `pos_label` of the scorer that came first."""
    X, y = binary
    y = np.array(["no", "yes"])[y]
    first = make_scorer(first_probability, response_method="predict_proba", pos_label=label)
    scoring = {"first": first, "last": make_calibration_scorer(mean_of_last)}
    check_scores(LaidOutNB(LAYOUTS[layout]), X, y, scoring)


def test_a_candidate_without_predict_proba_does_not_stop_a_search(binary):
    X, y = binary
    scoring = {"cal": get_scorer("neg_smooth_ece"), "acc": "accuracy"}
    search = GridSearchCV(
        Pipeline([("model", GaussianNB())]),
        {"model": [GaussianNB(), SVC()]},
        scoring=scoring,
        refit="acc",
        cv=2,
    )
    with (
        pytest.warns(UserWarning, match="which Pipeline does not have"),
        pytest.warns(UserWarning, match="test scores are non-finite"),
    ):
        results = search.fit(X, y).cv_results_
    np.testing.assert_array_equal(np.isnan(results["mean_test_cal"]), [False, True])
    assert np.isfinite(results["mean_test_acc"]).all()


# --------------------------------------------------------------------------- whatever takes scoring


@pytest.fixture
def named(binary):
    X, y = binary
    return X, np.array(["no", "yes"])[y]


def test_scorers_are_those_of_scikit_learn():
    """The class has no public name: that of scikit-learn's own scorers is found by make_scorer."""
    module = pytest.importorskip("sklearn.metrics._scorer")
    assert isinstance(get_scorer("neg_smooth_ece"), module._BaseScorer)


def test_thresholds_are_not_tuned_by_calibration(binary, named):
    for X, y in (binary, named):
        tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=get_scorer("neg_smooth_ece"))
        with pytest.raises(ValueError, match="smooth_ece measures probabilities; got predicted la"):
            tuned.fit(X, y)


def test_early_stopping(named):
    X, y = named
    scorer = get_scorer("neg_squared_calibration_error", pos_label="no")
    model = HistGradientBoostingClassifier(
        scoring=scorer, early_stopping=True, validation_fraction=None, max_iter=5
    ).fit(X, y)
    assert model.train_score_[-1] == scorer(model, X, y)


def test_path_of_logistic_regressions(named):
    """LogisticRegressionCV of scikit-learn 1.9 takes scorers apart whose function has labels."""
    X, y = named
    scorer = make_calibration_scorer(mean_of_last, greater_is_better=True)
    options = {"use_legacy_attributes": False, "l1_ratios": (0.0,)} if SINCE_1_8 else {}
    model = LogisticRegressionCV(Cs=[1.0], cv=3, scoring=scorer, tol=1e-8, **options).fit(X, y)
    alone = cross_val_score(LogisticRegression(tol=1e-8), X, y, scoring=scorer, cv=3)
    scores = model.scores_ if SINCE_1_8 else model.scores_["yes"]
    np.testing.assert_allclose(np.ravel(scores), alone, rtol=1e-5)
    assert model.score(X, y) == scorer(model, X, y)


def test_selection_of_features_and_curves(named):
    X, y = named
    scorer = get_scorer("neg_smooth_ece", reduction="classwise")
    model = LogisticRegression()
    alone = cross_val_score(model, X, y, scoring=scorer, cv=3)
    selection = RFECV(model, scoring=scorer, cv=3).fit(X, y)
    assert selection.cv_results_["mean_test_score"][-1] == pytest.approx(alone.mean())
    _, _, scores = learning_curve(model, X, y, scoring=scorer, cv=3, train_sizes=[0.5, 1.0])
    np.testing.assert_allclose(scores[-1], alone)
    both = {"cal": scorer, "ll": "neg_log_loss"}
    model.fit(X, y)
    found = permutation_importance(model, X, y, scoring=both, n_repeats=2, random_state=0)
    alone = permutation_importance(model, X, y, scoring=scorer, n_repeats=2, random_state=0)
    np.testing.assert_array_equal(found["cal"].importances, alone.importances)


def test_scores_of_iterations(named):
    callback = pytest.importorskip("sklearn.callback")  # from scikit-learn 1.9 on
    X, y = named
    scorer = get_scorer("neg_smooth_ece")
    monitor = callback.ScoringMonitor(scoring=scorer)
    model = LogisticRegression().set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs().data[-1]["score"] == pytest.approx(scorer(model, X, y))


def test_metrics_of_skore(named):
    skore = pytest.importorskip("skore")
    X, y = named
    report = skore.EstimatorReport(
        GaussianNB(), X_train=X, y_train=y, X_test=X, y_test=y, pos_label="no"
    )
    report.metrics.add(get_scorer("neg_expected_calibration_error", n_bins=3))
    proba = GaussianNB().fit(X, y).predict_proba(X)
    expected = expected_calibration_error(y, proba, n_bins=3, pos_label="no")
    assert report.metrics.expected_calibration_error() == pytest.approx(expected)


# --------------------------------------------------------------------------- errors


def test_unknown_names():
    with pytest.raises(ValueError, match=r"got 'neg_smoth_ece'\. Did you mean 'neg_smooth_ece'\?"):
        get_scorer("neg_smoth_ece")
    with pytest.raises(ValueError, match="got 7"):
        get_scorer(7)
    with pytest.raises(ValueError, match=r"sklearn\.metrics\.get_scorer"):
        get_scorer("neg_log_loss")
    with pytest.raises(ValueError, match="Did you mean 'smooth_ece'"):
        make_calibration_scorer("neg_smooth_ece")


def test_options_are_checked_at_once():
    with pytest.raises(TypeError, match=r"no option 'nbins'.*Did you mean 'n_bins'"):
        get_scorer("neg_expected_calibration_error", nbins=20)
    with pytest.raises(TypeError, match=r"no option 'rng'.*Did you mean 'random_state'"):
        get_scorer("neg_kernel_calibration_error", method="subsample", rng=0)
    with pytest.raises(TypeError, match=r"smooth_ece has no option 'y_true'"):
        get_scorer("neg_smooth_ece", y_true=[0, 1])
    with pytest.raises(TypeError, match="labels cannot be an option"):
        get_scorer("neg_smooth_ece", labels=[0, 1])
    with pytest.raises(TypeError, match="sample_weight cannot be an option"):
        get_scorer("neg_smooth_ece", sample_weight=[0, 1])
    with pytest.raises(TypeError, match="must have an argument labels"):
        make_calibration_scorer(lambda y_true, y_proba: 0.0)
    with pytest.raises(TypeError, match="measure must be a function"):
        make_calibration_scorer(3)


@pytest.mark.parametrize(
    "classifier", [SVC(), VotingClassifier([("nb", GaussianNB())], voting="hard")]
)
def test_classifier_without_predict_proba(classifier, binary):
    X, y = binary
    scorer = get_scorer("neg_smooth_ece")
    name = type(classifier).__name__
    with pytest.raises(ValueError, match=f"which {name} does not have.*CalibratedClassifierCV"):
        scorer(classifier.fit(X, y), X, y)


def test_estimators_that_cannot_be_scored(binary):
    X, y = binary
    scorer = get_scorer("neg_smooth_ece")
    with pytest.raises(ValueError, match="LinearRegression is a regressor"):
        scorer(LinearRegression().fit(X, y), X, y)
    two = np.column_stack([y, 1 - y])
    for model in (MultiOutputClassifier(GaussianNB()), KNeighborsClassifier()):
        with pytest.raises(ValueError, match="needs one output"):
            scorer(model.fit(X, two), X, two)
    with pytest.raises(NotFittedError):
        scorer(LogisticRegression(), X, y)

    class WithoutClasses:
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(ValueError, match="WithoutClasses has none"):
        scorer(WithoutClasses(), X, y)


def test_dummy_classifier_has_no_calibration_error(binary):
    X, y = binary
    score = get_scorer("neg_smooth_ece")(DummyClassifier().fit(X, y), X, y)
    assert score == pytest.approx(0, abs=1e-6)


class OneColumn(GaussianNB):
    """Probabilities of the last class alone, as some libraries give them."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, -1]


@pytest.mark.parametrize("label", [0, 1])
def test_probabilities_need_a_column_for_each_class(binary, label):
    """Labels that are added find their columns; of one column they did not."""
    X, y = binary
    estimator = OneColumn().fit(X, y)
    with pytest.raises(ValueError, match="OneColumn must give a column for each of its 2 classes"):
        get_scorer("neg_smooth_ece")(estimator, X, np.where(y == 1, 1, 2 * label))
