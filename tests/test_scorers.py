"""Scorers inside scikit-learn: values, unseen labels, shared predictions, weights, messages."""

import copy
import functools
import pickle
from itertools import product

import numpy as np
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

from skcal.metrics import MEASURES, expected_calibration_error, smooth_ece
from skcal.scorers import get_scorer, get_scorer_names, make_calibration_scorer

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
UNSET_REQUESTS_ARE_ERRORS = bool(
    get_sklearn_scorer("accuracy").get_metadata_routing().score.requests
)
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
SMOOTH = get_scorer("neg_smooth_ece")


@pytest.fixture(scope="module")
def binary():
    return make_classification(
        n_samples=240, n_features=6, n_informative=4, flip_y=0.2, random_state=0
    )


@pytest.fixture
def named(binary):
    X, y = binary
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def three_classes():
    X, y = load_iris(return_X_y=True)
    return X + np.random.default_rng(0).normal(size=X.shape), y


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def mean_of_positive(y_true, y_proba, *, labels=None, pos_label=None, sample_weight=None):
    """Mean probability of pos_label, or of the last label: which column a scorer talks about."""
    column = -1 if pos_label is None else np.flatnonzero(labels == pos_label)[0]
    return np.average(y_proba[:, column], weights=sample_weight)


def unweighted_gap(y_true, y_proba, *, labels=None):
    """A measure that takes no weights and no options."""
    return abs((y_true == labels[-1]).mean() - y_proba[:, -1].mean())


def make_gain(**options):
    return make_calibration_scorer(mean_of_positive, greater_is_better=True, **options)


# --------------------------------------------------------------------------- values


@every_measure
def test_score_is_minus_the_measure(name, named, three_classes):
    X, y = named
    measure, scorer = MEASURES[name].function, get_scorer(f"neg_{name}")
    model = GaussianNB().fit(X, y)
    proba, weight = model.predict_proba(X)[:, 1], np.random.default_rng(0).uniform(0, 4, len(y))
    score = scorer(model, X, y)
    assert type(score) is float
    assert make_calibration_scorer(measure, greater_is_better=True)(model, X, y) == -score > 0
    for weights in (None, weight):
        expected = -measure(y == "yes", proba, sample_weight=weights)
        assert scorer(model, X, y, sample_weight=weights) == pytest.approx(expected, rel=1e-12)
    X, y = three_classes
    model = GaussianNB().fit(X, np.array([5, 7, 11])[y])
    expected = -measure(y, model.predict_proba(X))
    assert scorer(model, X, np.array([5, 7, 11])[y]) == pytest.approx(expected, rel=1e-12)


def test_options_reach_the_measure(three_classes):
    X, y = three_classes
    model = GaussianNB().fit(X, y)
    options = {"n_bins": 7, "strategy": "quantile", "reduction": "classwise"}
    expected = -expected_calibration_error(y, model.predict_proba(X), **options)
    assert get_scorer("neg_expected_calibration_error", **options)(model, X, y) == expected
    expected = -smooth_ece(y == 1, model.predict_proba(X)[:, 1])
    assert get_scorer("neg_smooth_ece", pos_label=1)(model, X, y) == pytest.approx(expected)
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        get_scorer("neg_smooth_ece", pos_label="yes")(model, X, y)


@pytest.mark.parametrize(("pos_label", "column"), [("no", 0), ("yes", 1)])
def test_pos_label_names_the_column(pos_label, column, named):
    X, y = named
    model = GaussianNB().fit(X, y)
    proba = model.predict_proba(X)[:, column]
    assert make_gain(pos_label=pos_label)(model, X, y) == proba.mean()
    ece = get_scorer("neg_expected_calibration_error", n_bins=3, pos_label=pos_label)
    assert ece(model, X, y) == -expected_calibration_error(y == pos_label, proba, n_bins=3)


def test_any_function_can_be_a_measure(named):
    X, y = named
    model = GaussianNB().fit(X, y)
    expected = -log_loss(y, model.predict_proba(X))
    assert make_calibration_scorer(log_loss)(model, X, y) == pytest.approx(expected)
    scorer = make_calibration_scorer(functools.partial(expected_calibration_error, n_bins=2))
    same = get_scorer("neg_expected_calibration_error", n_bins=2)
    assert scorer(model, X, y) == same(model, X, y)
    assert scorer.__name__ == "neg_expected_calibration_error"
    assert make_calibration_scorer(unweighted_gap)(model, X, y) <= 0
    for value in (None, "0.1", np.ones(1), np.nan):
        scorer = make_calibration_scorer(lambda y_true, y_proba, labels, value=value: value)
        with pytest.raises(ValueError, match="measure must return a number; <lambda> gave"):
            scorer(model, X, y)


# --------------------------------------------------------------------------- inside scikit-learn


@every_labels
def test_cross_validation_and_search(labels, binary):
    X, y = binary
    folds, scoring = StratifiedKFold(3), {"cal": SMOOTH, "ll": "neg_log_loss"}
    expected = [
        -smooth_ece(y[test], GaussianNB().fit(X[train], y[train]).predict_proba(X[test])[:, 1])
        for train, test in folds.split(X, y)
    ]
    scores = cross_validate(GaussianNB(), X, labels[y], scoring=scoring, cv=folds)
    np.testing.assert_allclose(scores["test_cal"], expected, rtol=1e-12)
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, scoring=scoring, refit="cal", cv=folds
    ).fit(X, labels[y])
    results = search.cv_results_
    assert results["mean_test_cal"][0] == pytest.approx(np.mean(expected))
    assert search.best_index_ == results["mean_test_cal"].argmax()
    assert search.score(X, labels[y]) == SMOOTH(search, X, labels[y])


@pytest.mark.parametrize("name", ["expected_calibration_error", "canonical_calibration_error"])
def test_plain_make_scorer(name, binary, three_classes):
    function = MEASURES[name].function
    plain = make_scorer(function, response_method="predict_proba", greater_is_better=False)
    for X, y in (binary, three_classes):
        scores = [
            cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=3, error_score="raise")
            for scorer in (plain, get_scorer(f"neg_{name}"))
        ]
        np.testing.assert_allclose(*scores, rtol=1e-12)


# --------------------------------------------------------------------------- missing classes


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([0, 1, 2])])
def test_fold_that_misses_a_class(names, three_classes):
    """Training rows without a class: its column is zero, as if the model had said so."""
    X, y = three_classes
    train = y != 1
    model = GaussianNB().fit(X[train], names[y[train]])
    padded = np.insert(model.predict_proba(X), 1, 0.0, axis=1)
    for reduction in ("auto", "classwise"):
        scorer = get_scorer("neg_expected_calibration_error", reduction=reduction)
        with pytest.warns(UserWarning, match="labels that GaussianNB was not fitted on"):
            score = scorer(model, X, names[y])
        expected = -expected_calibration_error(y, padded, reduction=reduction)
        assert score == pytest.approx(expected, rel=1e-12)


def test_rows_of_an_unknown_class_count_as_wrong(three_classes):
    """Only wrong rows: all residuals are negative, so that smECE is the mean confidence."""
    X, y = three_classes
    options = {"groups": y, "cv": LeaveOneGroupOut(), "error_score": "raise"}
    with pytest.warns(UserWarning, match="probability 0"):
        scores = cross_val_score(GaussianNB(), X, y, scoring=SMOOTH, **options)
    for k, score in enumerate(scores):
        model = GaussianNB().fit(X[y != k], y[y != k])
        confidence = model.predict_proba(X[y == k]).max(axis=1)
        assert score == pytest.approx(-confidence.mean(), abs=1e-6)


@every_labels
@pytest.mark.parametrize("known", [0, 1])
def test_binary_model_of_a_single_class(labels, known, binary):
    """It is certain of its class: the error is the share of the other one.

    The last of the labels stays the positive one, whichever the model knows.
    """
    X, y = binary
    only = y == known
    model = DecisionTreeClassifier().fit(X[only], labels[y[only]])
    for pos_label in (None, labels[0], labels[1]):
        scorer = get_scorer("neg_smooth_ece", pos_label=pos_label)
        with pytest.warns(UserWarning, match="was not fitted on"):
            assert scorer(model, X, labels[y]) == pytest.approx(-(~only).mean(), abs=1e-6)
        assert scorer(model, X[only], labels[y[only]]) == 0
    with pytest.warns(UserWarning, match="was not fitted on"):
        assert make_gain()(model, X, labels[y]) == known


def test_labels_of_another_kind_are_left_to_the_measure(binary):
    X, y = binary
    model = GaussianNB().fit(X, y)
    for target, message in (
        (np.array(["no", "yes"])[y], "y_true has labels that no column"),
        (y + 0.25, "y_true"),
        (np.where(y == 1, np.nan, 0.0), "y_true must hold finite labels"),
    ):
        with pytest.raises(ValueError, match=message):
            SMOOTH(model, X, target)


# --------------------------------------------------------------------------- several at once


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

    def __init__(self, layout=np.asarray):
        super().__init__()
        self.layout = layout

    def predict_proba(self, X):
        self.n_calls_ = getattr(self, "n_calls_", 0) + 1
        return self.layout(super().predict_proba(X))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("problem", ["binary", "three_classes"])
def test_scorers_share_one_call_of_predict_proba(problem, order, request):
    X, y = request.getfixturevalue(problem)
    y = np.array(["a", "b", "c"])[y]
    scoring = {"smooth": SMOOTH, "log loss": "neg_log_loss", "own": make_gain()}
    for options in ({"pos_label": "a"}, {"reduction": "classwise"}, {"reduction": "confidence"}):
        scoring[str(options)] = get_scorer("neg_expected_calibration_error", **options)
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
def test_columns_of_two_classes_are_told_apart(layout, label, named):
    """scikit-learn keeps a single column, of the `pos_label` of the scorer that came first."""

    def first_probability(y_true, y_proba, *, pos_label=None):
        return y_proba[0]

    first = make_scorer(first_probability, response_method="predict_proba", pos_label=label)
    check_scores(LaidOutNB(LAYOUTS[layout]), *named, {"first": first, "last": make_gain()})


def test_a_candidate_without_predict_proba_does_not_stop_a_search(binary):
    search = GridSearchCV(
        Pipeline([("model", GaussianNB())]),
        {"model": [GaussianNB(), SVC()]},
        scoring={"cal": SMOOTH, "acc": "accuracy"},
        refit="acc",
        cv=2,
    )
    with (
        pytest.warns(UserWarning, match="which Pipeline does not have"),
        pytest.warns(UserWarning, match="test scores are non-finite"),
    ):
        results = search.fit(*binary).cv_results_
    np.testing.assert_array_equal(np.isnan(results["mean_test_cal"]), [False, True])
    assert np.isfinite(results["mean_test_acc"]).all()


# --------------------------------------------------------------------------- whatever takes scoring


def test_thresholds_are_not_tuned_by_calibration(binary, named):
    for X, y in (binary, named):
        tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=SMOOTH)
        with pytest.raises(ValueError, match="smooth_ece measures probabilities; got predicted la"):
            tuned.fit(X, y)


def test_early_stopping(named):
    X, y = named
    scorer = get_scorer("neg_squared_calibration_error", pos_label="no")
    model = HistGradientBoostingClassifier(
        scoring=scorer, early_stopping=True, validation_fraction=None, max_iter=3
    ).fit(X, y)
    assert model.train_score_[-1] == scorer(model, X, y)


def test_path_of_logistic_regressions(named):
    """LogisticRegressionCV of scikit-learn 1.9 takes scorers apart whose function has labels."""
    X, y = named
    options = {"use_legacy_attributes": False, "l1_ratios": (0.0,)} if SKLEARN >= (1, 8) else {}
    scorer = make_gain()
    model = LogisticRegressionCV(Cs=[1.0], cv=3, scoring=scorer, tol=1e-8, **options).fit(X, y)
    alone = cross_val_score(LogisticRegression(tol=1e-8), X, y, scoring=scorer, cv=3)
    scores = model.scores_ if SKLEARN >= (1, 8) else model.scores_["yes"]
    np.testing.assert_allclose(np.ravel(scores), alone, rtol=1e-5)
    assert model.score(X, y) == scorer(model, X, y)


# --------------------------------------------------------------------------- weights


@pytest.fixture
def weighted(binary):
    X, y = binary
    return X, y, np.random.default_rng(1).uniform(0.1, 3, len(y)), StratifiedKFold(3)


def fold_scores(measure, X, y, weight, cv):
    """Scores of GaussianNB fitted and measured with weights, fold by fold."""
    scores = []
    for train, test in cv.split(X, y):
        model = GaussianNB().fit(X[train], y[train], sample_weight=weight[train])
        proba = model.predict_proba(X[test])[:, 1]
        scores.append(-measure(y[test], proba, sample_weight=weight[test]))
    return scores


def test_grid_search_passes_weights_without_routing(weighted):
    X, y, weight, cv = weighted
    scoring = {"ll": "neg_log_loss", "cal": SMOOTH}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="cal", cv=cv)
    results = search.fit(X, y, sample_weight=weight).cv_results_
    assert np.isfinite(search.best_score_)
    if SKLEARN < (1, 7):
        pytest.skip("before 1.7 GridSearchCV gives weights to fit alone")
    scores = [results[f"split{i}_test_cal"][0] for i in range(3)]
    np.testing.assert_allclose(scores, fold_scores(smooth_ece, X, y, weight, cv), rtol=1e-12)


@pytest.mark.skipif(SKLEARN < (1, 7), reason="scikit-learn asks scorers from 1.7 on")
def test_measure_without_weights_is_scored_without_them(weighted):
    X, y, weight, cv = weighted
    scoring = {"gap": make_calibration_scorer(unweighted_gap), "ll": "neg_log_loss"}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="gap", cv=cv)
    with pytest.warns(UserWarning, match="gap=.* does not support sample_weight"):
        search.fit(X, y, sample_weight=weight)
    both = check_scoring(scoring=scoring)(search, X, y, sample_weight=weight)
    assert both["gap"] == scoring["gap"](search, X, y)


@pytest.mark.usefixtures("routing")
def test_routing_passes_requested_weights(weighted):
    X, y, weight, cv = weighted
    model = GaussianNB().set_fit_request(sample_weight=True)

    def run(request, **params):
        scoring = {
            "cal": get_scorer("neg_smooth_ece").set_score_request(sample_weight=request),
            "ll": get_sklearn_scorer("neg_log_loss").set_score_request(sample_weight=True),
        }
        params["sample_weight"] = weight
        scores = cross_validate(model, X, y, scoring=scoring, cv=cv, params=params)
        np.testing.assert_allclose(scores["test_ll"], log_losses, rtol=1e-9)
        return scores["test_cal"]

    fitted = GaussianNB().fit(X, y)
    expected = -smooth_ece(y, fitted.predict_proba(X)[:, 1], sample_weight=weight)
    assert SMOOTH(fitted, X, y, sample_weight=weight) == expected
    log_losses = fold_scores(log_loss, X, y, weight, cv)
    both, fit_only = run(True), run(False)
    np.testing.assert_allclose(both, fold_scores(smooth_ece, X, y, weight, cv), rtol=1e-12)
    assert not np.array_equal(both, fit_only)
    np.testing.assert_array_equal(run("test_weight", test_weight=weight), both)
    np.testing.assert_array_equal(run("test_weight", test_weight=np.ones_like(weight)), fit_only)
    if UNSET_REQUESTS_ARE_ERRORS:
        options = {"params": {"sample_weight": weight}, "error_score": "raise"}
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(model, X, y, scoring=SMOOTH, cv=cv, **options)


def test_request_needs_routing():
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        get_scorer("neg_smooth_ece").set_score_request(sample_weight=True)


# --------------------------------------------------------------------------- objects


def test_scorer_names():
    names = get_scorer_names()
    assert names == sorted(names)
    assert {name.removeprefix("neg_") for name in names} == set(MEASURES)
    for name in names:
        assert get_scorer(name).__name__ == name
    assert make_calibration_scorer(smooth_ece, greater_is_better=True).__name__ == "smooth_ece"


def test_get_scorer_returns_a_fresh_object(routing):
    first = get_scorer("neg_smooth_ece").set_score_request(sample_weight=True)
    second = get_scorer("neg_smooth_ece")
    others = (
        get_scorer("neg_smooth_ece", bandwidth=0.1),
        get_scorer("neg_canonical_calibration_error"),
    )
    assert all(second != other for other in (first, *others, "neg_smooth_ece"))
    assert second != make_calibration_scorer(smooth_ece, greater_is_better=True)
    assert len({second, get_scorer("neg_smooth_ece")}) == 1


def test_repr():
    scorer = get_scorer("neg_expected_calibration_error", n_bins=20, strategy="quantile")
    text = "make_calibration_scorer(expected_calibration_error, n_bins=20, strategy='quantile')"
    assert repr(scorer) == text
    names = {f.__name__: f for f in (make_calibration_scorer, expected_calibration_error)}
    assert eval(text, names) == scorer
    gain = make_calibration_scorer(smooth_ece, greater_is_better=True)
    assert repr(gain) == "make_calibration_scorer(smooth_ece, greater_is_better=True)"


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda scorer: pickle.loads(pickle.dumps(scorer)),
        lambda scorer: clone(GridSearchCV(GaussianNB(), {}, scoring=scorer)).scoring,
    ],
)
def test_copies_keep_everything(duplicate, routing, binary):
    model = GaussianNB().fit(*binary)
    scorer = get_scorer("neg_smooth_ece", bandwidth=0.1).set_score_request(sample_weight="w")
    twin = duplicate(scorer)
    assert twin is not scorer
    assert twin == scorer
    assert twin.__name__ == scorer.__name__
    assert twin(model, *binary) == scorer(model, *binary)


# --------------------------------------------------------------------------- errors


def test_unknown_names():
    for call, message in (
        (lambda: get_scorer("neg_smoth_ece"), r"got 'neg_smoth_ece'\. Did you mean 'neg_smooth_e"),
        (lambda: get_scorer(7), "got 7"),
        (lambda: get_scorer("neg_log_loss"), r"sklearn\.metrics\.get_scorer"),
        (lambda: make_calibration_scorer("neg_smooth_ece"), "Did you mean 'smooth_ece'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("expected_calibration_error", {"nbins": 9}, r"no option 'nbins'.*Did you mean 'n_bins'"),
        ("kernel_calibration_error", {"rng": 0}, "no option 'rng'.*Did you mean 'random_state'"),
        ("smooth_ece", {"y_true": [0, 1]}, "smooth_ece has no option 'y_true'"),
        ("smooth_ece", {"labels": [0, 1]}, "labels cannot be an option"),
        ("smooth_ece", {"sample_weight": [0, 1]}, "sample_weight cannot be an option"),
        (lambda y_true, y_proba: 0.0, {}, "must have an argument labels"),
        (3, {}, "measure must be a function"),
    ],
)
def test_options_are_checked_at_once(name, options, message):
    with pytest.raises(TypeError, match=message):
        make_calibration_scorer(name, **options)


class WithoutClasses:
    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


class OneColumn(GaussianNB):
    """Probabilities of the last class alone, as some libraries give them."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, -1]


def test_estimators_that_cannot_be_scored(binary):
    X, y = binary
    two, hard = np.column_stack([y, 1 - y]), VotingClassifier([("nb", GaussianNB())], voting="hard")
    for model, target, error, message in (
        (SVC().fit(X, y), y, ValueError, "which SVC does not have.*CalibratedClassifierCV"),
        (hard.fit(X, y), y, ValueError, "which VotingClassifier does not have"),
        (LinearRegression().fit(X, y), y, ValueError, "LinearRegression is a regressor"),
        (MultiOutputClassifier(GaussianNB()).fit(X, two), two, ValueError, "needs one output"),
        (KNeighborsClassifier().fit(X, two), two, ValueError, "needs one output"),
        (LogisticRegression(), y, NotFittedError, "not fitted"),
        (WithoutClasses(), y, ValueError, "WithoutClasses has none"),
        (OneColumn().fit(X, y), y, ValueError, "OneColumn must give a column for each of its 2"),
        # Labels that are added find their columns; of one column they did not.
        (OneColumn().fit(X, y), y + 1, ValueError, "OneColumn must give a column for each of its"),
    ):
        with pytest.raises(error, match=message):
            SMOOTH(model, X, target)
    assert SMOOTH(DummyClassifier().fit(X, y), X, y) == pytest.approx(0, abs=1e-6)
