"""Scorers inside scikit-learn: values, unseen labels, shared predictions, weights, messages."""

import copy
import functools
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV
from sklearn.metrics import check_scoring, log_loss, make_scorer
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneGroupOut,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skcal.metrics import (
    MEASURES,
    area_under_risk_coverage_curve,
    expected_calibration_error,
    multicalibration_error,
    smooth_ece,
)
from skcal.recalibration import IsotonicRecalibration
from skcal.refinement import brier_refinement, log_loss_refinement
from skcal.scorers import get_scorer, get_scorer_names, make_calibration_scorer

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
# Two classes as 0 and 1 and as text, and three.
X, Y = make_classification(n_samples=240, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
NAMED = np.array(["no", "yes"])[Y]
X3, Y3 = load_iris(return_X_y=True)
X3 += np.random.default_rng(0).normal(size=X3.shape)
WEIGHT = np.random.default_rng(1).uniform(0.1, 3, len(Y))
FOLDS = StratifiedKFold(3)
# A fitted model of each.
BINARY, TEXT, TRIPLE = (GaussianNB().fit(*rows) for rows in ((X, Y), (X, NAMED), (X3, Y3)))

SMOOTH = get_scorer("neg_smooth_ece")
# No calibration errors, but scorers too.
REFINEMENTS = {f.__name__: f for f in (brier_refinement, log_loss_refinement)}
GROUPED, SELECTIVE = multicalibration_error.__name__, area_under_risk_coverage_curve.__name__
ece_scorer = functools.partial(get_scorer, "neg_expected_calibration_error")
LABELS = [[0, 1], [False, True], [1, 2], [-1, 1], ["no", "yes"]]
LABELS = [*map(np.array, LABELS), np.array(["no", "yes"], dtype=object)]
every_labels = pytest.mark.parametrize("labels", LABELS, ids=str)


def mean_of_positive(y_true, y_proba, *, labels=None, pos_label=None, sample_weight=None):
    """Mean probability of pos_label, or of the last label: which column a scorer talks about."""
    column = -1 if pos_label is None else np.flatnonzero(labels == pos_label)[0]
    return np.average(y_proba[:, column], weights=sample_weight)


def unweighted_gap(y_true, y_proba, *, labels=None):
    """A measure that takes no weights and no options."""
    return abs((y_true == labels[-1]).mean() - y_proba[:, -1].mean())


make_gain = functools.partial(make_calibration_scorer, mean_of_positive, greater_is_better=True)


@pytest.mark.parametrize("name", MEASURES)
def test_score_is_minus_the_measure(name):
    measure, scorer = MEASURES[name].function, get_scorer(f"neg_{name}")
    score = scorer(TEXT, X, NAMED)
    assert type(score) is float
    assert make_calibration_scorer(measure, greater_is_better=True)(TEXT, X, NAMED) == -score > 0
    for weights in (None, WEIGHT):
        expected = -measure(Y, TEXT.predict_proba(X)[:, 1], sample_weight=weights)
        found = scorer(TEXT, X, NAMED, sample_weight=weights)
        assert found == pytest.approx(expected, rel=1e-12)
    labels = np.array([5, 7, 11])[Y3]
    expected = -measure(Y3, TRIPLE.predict_proba(X3))
    assert scorer(GaussianNB().fit(X3, labels), X3, labels) == pytest.approx(expected, rel=1e-12)


def test_options_reach_the_measure():
    options = {"n_bins": 7, "strategy": "quantile", "reduction": "classwise"}
    expected = -expected_calibration_error(Y3, TRIPLE.predict_proba(X3), **options)
    assert ece_scorer(**options)(TRIPLE, X3, Y3) == expected
    expected = -smooth_ece(Y3 == 1, TRIPLE.predict_proba(X3)[:, 1])
    assert get_scorer("neg_smooth_ece", pos_label=1)(TRIPLE, X3, Y3) == pytest.approx(expected)
    for column, label in enumerate(["no", "yes"]):
        proba = TEXT.predict_proba(X)[:, column]
        assert make_gain(pos_label=label)(TEXT, X, NAMED) == proba.mean()
        expected = -expected_calibration_error(label == NAMED, proba, n_bins=3)
        assert ece_scorer(n_bins=3, pos_label=label)(TEXT, X, NAMED) == expected
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        get_scorer("neg_smooth_ece", pos_label="yes")(TRIPLE, X3, Y3)


class ExtremeNB(GaussianNB):
    """Probabilities with log odds multiplied."""

    def __init__(self, factor=1.0, var_smoothing=1e-9):
        super().__init__(var_smoothing=var_smoothing)
        self.factor = factor

    def predict_proba(self, X):
        parts = super().predict_proba(X) ** self.factor
        return parts / parts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", REFINEMENTS)
def test_a_search_by_refinement_sees_through_overconfidence(name):
    """Unlike a search by log loss it finds the same, whatever the log odds are multiplied by."""
    grid = {"factor": [1.0, 3.0], "var_smoothing": [1e-9, 0.3]}
    scoring = {"own": get_scorer(f"neg_{name}"), "log loss": "neg_log_loss"}
    search = GridSearchCV(ExtremeNB(), grid, scoring=scoring, refit="own", cv=FOLDS)
    results = search.fit(X, NAMED).cv_results_
    scores = results["mean_test_own"].reshape(2, 2)
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-3)
    assert np.ptp(results["mean_test_log loss"].reshape(2, 2), axis=0).min() > 0.1


@pytest.mark.parametrize("name", REFINEMENTS)
def test_scores_are_minus_the_refinement(name):
    measure, scorer = REFINEMENTS[name], get_scorer(f"neg_{name}")
    for model, X_test, y, codes in ((TEXT, X, NAMED, Y), (TRIPLE, X3, Y3, Y3)):
        proba, weights = model.predict_proba(X_test), np.linspace(1, 2, len(y))
        assert type(scorer(model, X_test, y)) is float
        assert scorer(model, X_test, y) == -measure(codes, proba)
        expected = -measure(codes, proba, sample_weight=weights)
        assert scorer(model, X_test, y, sample_weight=weights) == expected
        options = {"recalibrator": IsotonicRecalibration(min_proba=0.01), "cv": 3}
        found = get_scorer(f"neg_{name}", **options)(model, X_test, y)
        assert found == -measure(codes, proba, **options) != -measure(codes, proba)
        assert make_calibration_scorer(name, **options)(model, X_test, y) == found
    only = Y == 0  # nothing can be learned, so that nothing is changed
    proba = TEXT.predict_proba(X[only])
    losses = {"brier_refinement": proba[:, 1] ** 2, "log_loss_refinement": -np.log(proba[:, 0])}
    expected = pytest.approx(-losses[name].mean())
    assert scorer(TEXT, X[only], NAMED[only]) == expected
    model = DecisionTreeClassifier().fit(X[only], NAMED[only])
    with pytest.warns(UserWarning, match="was not fitted on"):
        assert np.isfinite(scorer(model, X, NAMED))


def test_any_function_can_be_a_measure():
    expected = -log_loss(NAMED, TEXT.predict_proba(X))
    assert make_calibration_scorer(log_loss)(TEXT, X, NAMED) == pytest.approx(expected)
    scorer = make_calibration_scorer(functools.partial(expected_calibration_error, n_bins=2))
    assert scorer(TEXT, X, NAMED) == ece_scorer(n_bins=2)(TEXT, X, NAMED)
    assert scorer.__name__ == "neg_expected_calibration_error"
    assert make_calibration_scorer(unweighted_gap)(TEXT, X, NAMED) <= 0
    for value in (None, "0.1", np.ones(1), np.nan):
        scorer = make_calibration_scorer(lambda y_true, y_proba, labels, value=value: value)
        with pytest.raises(ValueError, match="measure must return a number; <lambda> gave"):
            scorer(TEXT, X, NAMED)


@every_labels
def test_cross_validation_and_search(labels):
    y, scoring = labels[Y], {"cal": SMOOTH, "ll": "neg_log_loss"}
    expected = [
        -smooth_ece(Y[test], GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])[:, 1])
        for train, test in FOLDS.split(X, Y)
    ]
    scores = cross_validate(GaussianNB(), X, y, scoring=scoring, cv=FOLDS)
    np.testing.assert_allclose(scores["test_cal"], expected, rtol=1e-12)
    grid = {"var_smoothing": [1e-9, 1.0]}
    search = GridSearchCV(GaussianNB(), grid, scoring=scoring, refit="cal", cv=FOLDS).fit(X, y)
    assert search.cv_results_["mean_test_cal"][0] == pytest.approx(np.mean(expected))
    assert search.best_index_ == search.cv_results_["mean_test_cal"].argmax()
    assert search.score(X, y) == SMOOTH(search, X, y)


def test_plain_make_scorer():
    for name in ("expected_calibration_error", "canonical_calibration_error"):
        options = {"response_method": "predict_proba", "greater_is_better": False}
        plain, own = make_scorer(MEASURES[name].function, **options), get_scorer(f"neg_{name}")
        for rows in ((BINARY, X, Y), (TRIPLE, X3, Y3)):
            assert plain(*rows) == pytest.approx(own(*rows), rel=1e-12)


def test_thresholds_are_not_tuned_by_calibration():
    for y in (Y, NAMED):
        tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=SMOOTH)
        with pytest.raises(ValueError, match="smooth_ece measures probabilities; got predicted la"):
            tuned.fit(X, y)


def test_early_stopping():
    scorer = get_scorer("neg_squared_calibration_error", pos_label="no")
    options = {"early_stopping": True, "validation_fraction": None, "max_iter": 3}
    model = HistGradientBoostingClassifier(scoring=scorer, **options).fit(X, NAMED)
    assert model.train_score_[-1] == scorer(model, X, NAMED)


def test_path_of_logistic_regressions():
    """LogisticRegressionCV of scikit-learn 1.9 takes scorers apart whose function has labels."""
    options = {"use_legacy_attributes": False, "l1_ratios": (0.0,)} if SKLEARN >= (1, 8) else {}
    scorer = make_gain()
    model = LogisticRegressionCV(Cs=[1.0], cv=3, scoring=scorer, tol=1e-8, **options).fit(X, NAMED)
    alone = cross_val_score(LogisticRegression(tol=1e-8), X, NAMED, scoring=scorer, cv=3)
    scores = model.scores_ if SKLEARN >= (1, 8) else model.scores_["yes"]
    np.testing.assert_allclose(np.ravel(scores), alone, rtol=1e-5)
    assert model.score(X, NAMED) == scorer(model, X, NAMED)


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([0, 1, 2])])
def test_fold_that_misses_a_class(names):
    """Training rows without a class: its column is zero, as if the model had said so."""
    model = GaussianNB().fit(X3[Y3 != 1], names[Y3[Y3 != 1]])
    padded = np.insert(model.predict_proba(X3), 1, 0.0, axis=1)
    for reduction in ("auto", "classwise"):
        with pytest.warns(UserWarning, match="labels that GaussianNB was not fitted on"):
            score = ece_scorer(reduction=reduction)(model, X3, names[Y3])
        expected = -expected_calibration_error(Y3, padded, reduction=reduction)
        assert score == pytest.approx(expected, rel=1e-12)


def test_rows_of_an_unknown_class_count_as_wrong():
    """Only wrong rows: all residuals are negative, so that smECE is the mean confidence."""
    options = {"groups": Y3, "cv": LeaveOneGroupOut(), "error_score": "raise"}
    with pytest.warns(UserWarning, match="probability 0"):
        scores = cross_val_score(GaussianNB(), X3, Y3, scoring=SMOOTH, **options)
    for k, score in enumerate(scores):
        known = k != Y3
        confidence = GaussianNB().fit(X3[known], Y3[known]).predict_proba(X3[~known]).max(axis=1)
        assert score == pytest.approx(-confidence.mean(), abs=1e-6)


@every_labels
@pytest.mark.parametrize("known", [0, 1])
def test_binary_model_of_a_single_class(labels, known):
    """It is certain of its class: the error is the share of the other one.

    The last of the labels stays the positive one, whichever the model knows.
    """
    only = known == Y
    model = DecisionTreeClassifier().fit(X[only], labels[Y[only]])
    for pos_label in (None, labels[0], labels[1]):
        scorer = get_scorer("neg_smooth_ece", pos_label=pos_label)
        with pytest.warns(UserWarning, match="was not fitted on"):
            assert scorer(model, X, labels[Y]) == pytest.approx(-(~only).mean(), abs=1e-6)
        assert scorer(model, X[only], labels[Y[only]]) == 0
    with pytest.warns(UserWarning, match="was not fitted on"):
        assert make_gain()(model, X, labels[Y]) == known


def test_labels_of_another_kind_are_left_to_the_measure():
    for target, message in (
        (NAMED, "y_true has labels that no column"),
        (Y + 0.25, "y_true"),
        (np.where(Y == 1, np.nan, 0.0), "y_true must hold finite labels"),
    ):
        with pytest.raises(ValueError, match=message):
            SMOOTH(BINARY, X, target)


def check_scores(model, X, y, scoring):
    """Scores of several scorers in one run are those of each alone; the fitted models."""
    run = {"cv": 3, "error_score": "raise"}
    results = cross_validate(model, X, y, scoring=scoring, return_estimator=True, **run)
    for name, scorer in scoring.items():
        alone = cross_val_score(model, X, y, scoring=scorer, **run)
        np.testing.assert_array_equal(results[f"test_{name}"], alone)
    return results["estimator"]


class LaidOutNB(GaussianNB):
    """Probabilities in memory of any layout; counts how often it is asked for them."""

    layout = staticmethod(np.asarray)
    n_calls_ = 0

    def predict_proba(self, X):
        self.n_calls_ += 1
        return self.layout(super().predict_proba(X))


@pytest.mark.parametrize("order", [pytest.param(1, marks=pytest.mark.slow), -1])
@pytest.mark.parametrize(("X", "y"), [(X, Y), (X3, Y3)], ids=["two classes", "three classes"])
def test_scorers_share_one_call_of_predict_proba(X, y, order):
    scoring = {"smooth": SMOOTH, "log loss": "neg_log_loss", "own": make_gain()}
    for options in ({"pos_label": "a"}, {"reduction": "classwise"}, {"reduction": "confidence"}):
        scoring[str(options)] = ece_scorer(**options)
    y = np.array(["a", "b", "c"])[y]
    models = check_scores(LaidOutNB(), X, y, dict(list(scoring.items())[::order]))
    assert [model.n_calls_ for model in models] == [1, 1, 1]


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
def test_columns_of_two_classes_are_told_apart(layout, label):
    """scikit-learn keeps a single column, of the `pos_label` of the scorer that came first."""

    def first_probability(y_true, y_proba, *, pos_label=None):
        return y_proba[0]

    first = make_scorer(first_probability, response_method="predict_proba", pos_label=label)
    model = type("Model", (LaidOutNB,), {"layout": staticmethod(LAYOUTS[layout])})()
    check_scores(model, X, NAMED, {"first": first, "last": make_gain()})


@pytest.mark.parametrize("columns", [None, ["no", "yes"]])
def test_probabilities_in_a_frame(columns):
    layout = functools.partial(pd.DataFrame, columns=columns)
    model = type("Model", (LaidOutNB,), {"layout": staticmethod(layout)})()
    check_scores(model, X, NAMED, {"smooth": SMOOTH, "own": make_gain()})


def test_a_candidate_without_predict_proba_does_not_stop_a_search():
    pipeline, grid = Pipeline([("model", GaussianNB())]), {"model": [GaussianNB(), SVC()]}
    scoring = {"cal": SMOOTH, "acc": "accuracy"}
    with (
        pytest.warns(UserWarning, match="which Pipeline does not have"),
        pytest.warns(UserWarning, match="test scores are non-finite"),
    ):
        search = GridSearchCV(pipeline, grid, scoring=scoring, refit="acc", cv=2).fit(X, Y)
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_cal"]), [False, True])
    assert np.isfinite(search.cv_results_["mean_test_acc"]).all()


def fold_scores(measure):
    """Scores of GaussianNB fitted and measured with weights, fold by fold."""
    scores = []
    for train, test in FOLDS.split(X, Y):
        model = GaussianNB().fit(X[train], Y[train], sample_weight=WEIGHT[train])
        proba = model.predict_proba(X[test])[:, 1]
        scores.append(-measure(Y[test], proba, sample_weight=WEIGHT[test]))
    return scores


def test_grid_search_passes_weights_without_routing():
    scoring = {"ll": "neg_log_loss", "cal": SMOOTH}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="cal", cv=FOLDS)
    results = search.fit(X, Y, sample_weight=WEIGHT).cv_results_
    if SKLEARN < (1, 7):
        pytest.skip("before 1.7 GridSearchCV gives weights to fit alone")
    scores = [results[f"split{i}_test_cal"][0] for i in range(3)]
    np.testing.assert_allclose(scores, fold_scores(smooth_ece), rtol=1e-12)


@pytest.mark.skipif(SKLEARN < (1, 7), reason="scikit-learn asks scorers from 1.7 on")
def test_measure_without_weights_is_scored_without_them():
    scoring = {"gap": make_calibration_scorer(unweighted_gap), "ll": "neg_log_loss"}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="gap", cv=FOLDS)
    with pytest.warns(UserWarning, match="gap=.* does not support sample_weight"):
        search.fit(X, Y, sample_weight=WEIGHT)
    both = check_scoring(scoring=scoring)(search, X, Y, sample_weight=WEIGHT)
    assert both["gap"] == scoring["gap"](search, X, Y)


@pytest.mark.usefixtures("routing")
def test_routing_passes_requested_weights():
    model = GaussianNB().set_fit_request(sample_weight=True)

    def run(request, **params):
        scoring = {
            "cal": get_scorer("neg_smooth_ece").set_score_request(sample_weight=request),
            "ll": get_sklearn_scorer("neg_log_loss").set_score_request(sample_weight=True),
        }
        params["sample_weight"] = WEIGHT
        scores = cross_validate(model, X, Y, scoring=scoring, cv=FOLDS, params=params)
        np.testing.assert_allclose(scores["test_ll"], fold_scores(log_loss), rtol=1e-9)
        return scores["test_cal"]

    both, fit_only = run(True), run(False)
    np.testing.assert_allclose(both, fold_scores(smooth_ece), rtol=1e-12)
    assert not np.array_equal(both, fit_only)
    np.testing.assert_array_equal(run("test_weight", test_weight=WEIGHT), both)
    np.testing.assert_array_equal(run("test_weight", test_weight=np.ones(len(Y))), fit_only)
    # A scorer that is called takes weights whatever was requested.
    expected = -smooth_ece(Y, BINARY.predict_proba(X)[:, 1], sample_weight=WEIGHT)
    assert SMOOTH(BINARY, X, Y, sample_weight=WEIGHT) == expected
    if get_sklearn_scorer("accuracy").get_metadata_routing().score.requests:
        options = {"params": {"sample_weight": WEIGHT}, "error_score": "raise"}
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(model, X, Y, scoring=SMOOTH, cv=FOLDS, **options)


def test_names():
    names = get_scorer_names()
    assert names == sorted(f"neg_{name}" for name in [*MEASURES, *REFINEMENTS, GROUPED, SELECTIVE])
    assert [get_scorer(name).__name__ for name in names] == names
    gain = make_calibration_scorer(smooth_ece, greater_is_better=True)
    assert gain.__name__ == "smooth_ece"
    assert repr(gain) == "make_calibration_scorer(smooth_ece, greater_is_better=True)"
    text = "make_calibration_scorer(expected_calibration_error, n_bins=20, strategy='quantile')"
    assert repr(ece_scorer(n_bins=20, strategy="quantile")) == text
    assert eval(text) == ece_scorer(n_bins=20, strategy="quantile")


def test_get_scorer_returns_a_fresh_object(routing):
    others = [
        get_scorer("neg_smooth_ece").set_score_request(sample_weight=True),
        get_scorer("neg_smooth_ece", bandwidth=0.1),
        get_scorer("neg_canonical_calibration_error"),
        make_calibration_scorer(smooth_ece, greater_is_better=True),
        "neg_smooth_ece",
    ]
    assert get_scorer("neg_smooth_ece") not in others
    assert len({get_scorer("neg_smooth_ece"), get_scorer("neg_smooth_ece")}) == 1


def test_copies_keep_everything(routing):
    scorer = get_scorer("neg_smooth_ece", bandwidth=0.1).set_score_request(sample_weight="w")
    for twin in (
        copy.copy(scorer),
        copy.deepcopy(scorer),
        pickle.loads(pickle.dumps(scorer)),
        clone(GridSearchCV(GaussianNB(), {}, scoring=scorer)).scoring,
    ):
        assert twin is not scorer
        assert twin == scorer
        assert twin.__name__ == scorer.__name__
        assert twin(BINARY, X, Y) == scorer(BINARY, X, Y)


def test_names_and_options_are_checked_at_once():
    for name, message in (
        ("neg_smoth_ece", r"got 'neg_smoth_ece'\. Did you mean 'neg_smooth_e"),
        ("ece", r"got 'ece'\. Did you mean 'neg_expected_calibration_error'"),
        ("neg_skce", r"got 'neg_skce'\. Did you mean 'neg_squared_kernel_calibration_error'"),
        (7, "got 7"),
        ("neg_log_loss", r"sklearn\.metrics\.get_scorer"),
    ):
        with pytest.raises(ValueError, match=message):
            get_scorer(name)
    with pytest.raises(ValueError, match="Did you mean 'smooth_ece'"):
        make_calibration_scorer("neg_smooth_ece")
    for measure, options, message in (
        ("expected_calibration_error", {"nbins": 9}, "no option 'nbins'.*Did you mean 'n_bins'"),
        ("kernel_calibration_error", {"rng": 0}, "no option 'rng'.*Did you mean 'random_state'"),
        ("smooth_ece", {"y_true": [0, 1]}, "smooth_ece has no option 'y_true'"),
        ("smooth_ece", {"labels": [0, 1]}, "labels cannot be an option"),
        ("smooth_ece", {"sample_weight": [0, 1]}, "sample_weight cannot be an option"),
        (lambda y_true, y_proba: 0.0, {}, "must have an argument labels"),
        (3, {}, "measure must be a function"),
    ):
        with pytest.raises(TypeError, match=message):
            make_calibration_scorer(measure, **options)


class WithoutClasses:
    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


class OneColumn(GaussianNB):
    """Probabilities of the last class alone, as some libraries give them."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, -1]


def test_estimators_that_cannot_be_scored():
    two, hard = np.column_stack([Y, 1 - Y]), VotingClassifier([("nb", GaussianNB())], voting="hard")
    one_column = OneColumn().fit(X, Y)
    for model, target, error, message in (
        (SVC().fit(X, Y), Y, ValueError, "which SVC does not have.*RecalibratedClassifierCV"),
        (hard.fit(X, Y), Y, ValueError, "which VotingClassifier does not have"),
        (LinearRegression().fit(X, Y), Y, ValueError, "LinearRegression is a regressor"),
        (MultiOutputClassifier(GaussianNB()).fit(X, two), two, ValueError, "needs one output"),
        (KNeighborsClassifier().fit(X, two), two, ValueError, "needs one output"),
        (LogisticRegression(), Y, NotFittedError, "not fitted"),
        (WithoutClasses(), Y, ValueError, "WithoutClasses has none"),
        (one_column, Y, ValueError, "OneColumn must give a column for each of its 2"),
        # Labels that are added find their columns; of one column they did not.
        (one_column, Y + 1, ValueError, "OneColumn must give a column for each of its 2"),
    ):
        with pytest.raises(error, match=message):
            SMOOTH(model, X, target)
    assert SMOOTH(DummyClassifier().fit(X, Y), X, Y) == pytest.approx(0, abs=1e-6)


# ------------------------------------------------------------------------------ measures of groups

TABLE = pd.DataFrame(X, columns=list("abcdef"))
make_group_scorer = functools.partial(
    get_scorer, "neg_multicalibration_error", scale="noise", min_samples=20
)


def find_error(model, rows, groups):
    options = {"scale": "noise", "min_samples": 20}
    proba = model.predict_proba(TABLE.iloc[rows])[:, 1]
    return multicalibration_error(Y[rows], proba, groups, **options)


@pytest.mark.parametrize("columns", [None, ["a"], ["c", "b"]])
def test_groups_are_made_of_columns(columns):
    """In a search without metadata routing, where nothing but X reaches the scorer."""
    scorer = make_group_scorer() if columns is None else make_group_scorer(group_columns=columns)
    found = cross_val_score(GaussianNB(), TABLE, Y, scoring=scorer, cv=FOLDS)
    for (train, test), score in zip(FOLDS.split(TABLE, Y), found, strict=True):
        model = GaussianNB().fit(TABLE.iloc[train], Y[train])
        table = TABLE.iloc[test][columns or list(TABLE)]
        assert score == pytest.approx(-find_error(model, test, table), rel=1e-12)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_groups_are_routed(routing):
    groups = np.where(X[:, 2] > 0, "high", "low")
    scorer = make_group_scorer().set_score_request(groups=True)
    options = {"scoring": scorer, "cv": FOLDS, "params": {"groups": groups}}
    found = cross_val_score(GaussianNB(), TABLE.to_numpy(), Y, **options)
    for (train, test), score in zip(FOLDS.split(TABLE, Y), found, strict=True):
        model = GaussianNB().fit(TABLE.iloc[train], Y[train])
        assert score == pytest.approx(-find_error(model, test, groups[test]), rel=1e-12)


def test_groups_that_cannot_be_made():
    model = GaussianNB().fit(TABLE, Y)
    with pytest.raises(ValueError, match=r"groups must be given where X is no data frame; .*ndarr"):
        make_group_scorer()(BINARY, X, Y)
    with pytest.raises(ValueError, match=r"group_columns must hold columns of X; got 'z'\. X has"):
        make_group_scorer(group_columns=["a", "z"])(model, TABLE, Y)
    with pytest.raises(TypeError, match="smooth_ece has no groups, but group_columns was given"):
        get_scorer("neg_smooth_ece", group_columns=["a"])
