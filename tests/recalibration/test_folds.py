"""CrossFitProba and RecalibratedClassifierCV: folds, metadata, labels, input, against a loop."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import get_tags

from skcal import recalibration
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.recalibration import family
from tests.recalibration.family import NAMES, WEIGHTS, every_class, make, make_features

# Ways to use the folds: both values of `ensemble`, and the scores themselves.
every_route = pytest.mark.parametrize("route", ["ensemble", "single", "cross-fit"])
all_at_once = pytest.mark.parametrize("route", ["single", "cross-fit"])
both_estimators = pytest.mark.parametrize("meta", [CrossFitProba, RecalibratedClassifierCV])

pytestmark = family.may_harm

X, Y = make_features()
OWN = np.random.default_rng(2).integers(1, 4, 150)  # weights for the classifier alone
# A classifier that was fitted on the first rows, and the other rows.
FROZEN = FrozenEstimator(GaussianNB().fit(X[:60], NAMES[Y[:60]]))
OTHERS, LABELS = X[60:], NAMES[Y[60:]]
SORTED = np.argsort(Y, kind="stable")
ISOTONIC = recalibration.IsotonicRecalibration()
LOGITS = recalibration.TemperatureScaling(input="logits")


def answer(route, classifier, X, y, *, recalibrator=ISOTONIC, cv=3, **params):
    """Probabilities of the rows, or their out-of-fold scores."""
    if route == "cross-fit":
        method = "decision_function" if recalibrator.input == "logits" else "predict_proba"
        return CrossFitProba(classifier, cv=cv, method=method).fit_transform(X, y, **params)
    ensemble = {"ensemble": True, "single": False, "auto": "auto"}[route]
    options = {"ensemble": ensemble, "average": "log_odds"}
    model = RecalibratedClassifierCV(classifier, recalibrator, cv=cv, **options)
    return model.fit(X, y, **params).predict_proba(X)


def answer_by_hand(
    route, classifier, X, y, *, recalibrator=ISOTONIC, cv=None, sample_weight=None, fit_weights=...
):
    """The same; weights go to the recalibrator, and to the classifier where it has no others."""
    classes, fit_weights = np.unique(y), sample_weight if fit_weights is ... else fit_weights

    def fit(model, X, rows, weights):
        weights = {} if weights is None else {"sample_weight": weights[rows]}
        return clone(model).fit(X[rows], y[rows], **weights)

    def score(rows):
        fitted = fit(classifier, X, rows, fit_weights)
        if recalibrator.input == "logits":
            return fitted.decision_function(X).reshape(len(X), -1)
        out = np.zeros((len(X), len(classes)))
        out[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X)
        return out

    def recalibrate(scores, rows, new):
        known = clone(recalibrator).set_params(classes=classes)
        return fit(known, scores, rows, sample_weight).predict_proba(new)

    splits = cv or StratifiedKFold(3).split(X, y)
    folds = [(test, score(train)) for train, test in splits]
    out_of_fold = np.empty_like(folds[0][1])
    for test, scores in folds:
        out_of_fold[test] = scores[test]
    if route == "cross-fit":
        return out_of_fold
    tested = np.unique(np.concatenate([test for test, _ in folds]))
    if route == "single":
        return recalibrate(out_of_fold, tested, score(np.arange(len(y))))
    parts = [recalibrate(out_of_fold, tested, scores) for _, scores in folds]
    # No part counts for less than a hundredth of the mean.
    parts = np.maximum(parts, np.mean(parts, axis=0) / 100)
    with np.errstate(divide="ignore"):
        means = np.exp(np.mean(np.log(parts), axis=0))
    return means / means.sum(axis=1, keepdims=True)


def check(found, *rows, **options):
    np.testing.assert_allclose(found, answer_by_hand(*rows, **options), rtol=0, atol=1e-8)


def check_by_hand(*rows, **options):
    check(answer(*rows, **options), *rows, **options)


def fit_and_predict(model, X, y, **params):
    return model.fit(X, y, **params).predict_proba(X)


@every_class
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("route", [pytest.param("ensemble", marks=pytest.mark.slow), "single"])
def test_recalibrators_learn_from_rows_of_other_folds(route, n_classes, R):
    check_by_hand(route, GaussianNB(), *make_features(n_classes), recalibrator=make(R))


@pytest.mark.parametrize("labels", [NAMES[:2], NAMES[:3], np.array([5, -7, 0])])
@every_route
def test_folds_see_the_labels_themselves(route, labels):
    """Encoded labels would meet the wrong class weights, or none."""
    X, y = make_features(len(labels))
    weight = {label: 1 + 20 * k for k, label in enumerate(labels.tolist())}
    check_by_hand(route, RidgeClassifier(class_weight=weight), X, labels[y], recalibrator=LOGITS)


@every_route
def test_weights_reach_classifier_and_recalibrator(route):
    splits = StratifiedKFold(3).split(X, Y)  # an iterator
    found = answer(route, GaussianNB(), X, Y, cv=splits, sample_weight=WEIGHTS.tolist())
    check(found, route, GaussianNB(), X, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("route", ["ensemble", "single"])
def test_what_a_classifier_takes_no_weights_by(route):
    """Other arguments of fit are sliced."""
    for classifier, plain, params, used in (
        (nearest := KNeighborsClassifier(20), nearest, {}, None),
        (make_pipeline(GaussianNB()), GaussianNB(), {"gaussiannb__sample_weight": OWN}, OWN),
    ):
        with pytest.warns(UserWarning, match=f"{type(classifier).__name__} takes no sample_weight"):
            found = answer(route, classifier, X, Y, sample_weight=WEIGHTS, **params)
        check(found, route, plain, X, Y, sample_weight=WEIGHTS, fit_weights=used)


@every_route
@pytest.mark.parametrize("plain", [GaussianNB(), None])
def test_weights_and_groups_are_routed(route, plain):
    """The classifier that is taken by default requests weights."""
    groups = np.random.default_rng(1).integers(0, 6, 150)
    with config_context(enable_metadata_routing=True):
        asks = GaussianNB().set_fit_request(sample_weight=True) if plain else None
        params = {"cv": GroupKFold(3), "sample_weight": WEIGHTS, "groups": groups}
        found = answer(route, asks, X, Y, **params)
    splits = list(GroupKFold(3).split(X, Y, groups))
    check(found, route, plain or LogisticRegression(), X, Y, cv=splits, sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match=r"groups need metadata routing.*cv"):
        answer(route, GaussianNB(), X, Y, cv=GroupKFold(3), groups=groups)


@every_route
def test_classifier_gets_the_weights_that_it_requests(route):
    of_recalibrator = {} if route == "cross-fit" else {"sample_weight": WEIGHTS}
    with config_context(enable_metadata_routing=True):
        for request, params in ((False, {}), ("own", {"own": OWN})):
            classifier = GaussianNB().set_fit_request(sample_weight=request)
            found = answer(route, classifier, X, Y, **params, **of_recalibrator)
            used = {"sample_weight": WEIGHTS, "fit_weights": params.get("own")}
            check(found, route, GaussianNB(), X, Y, **used)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            answer(route, GaussianNB(), X, Y, sample_weight=WEIGHTS)


@every_route
def test_training_fold_that_misses_a_class(route):
    """The score of the class is 0 there, and the recalibrator learns from that."""
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.arange(60)[:, None] % 2
    y = np.append(np.arange(56) % 2, [2, 2, 2, 2])
    folds = np.append(np.arange(56) // 2 % 4, [3, 3, 3, 3])
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    options = {"cv": splits, "recalibrator": TemperatureScaling()}
    message = r"Training folds miss the class of 4 test rows, \['cat'\]"
    with pytest.warns(UserWarning, match=message):
        check_by_hand(route, GaussianNB(), X, NAMES[y], **options)
    with pytest.raises(ValueError, match=r"Training fold 3 has no row of \['cat'\]"):
        answer(route, RidgeClassifier(), X, NAMES[y], cv=splits, recalibrator=LOGITS)


@every_route
def test_training_folds_that_teach_nothing(route):
    """A single class would be sure, and always wrong."""
    train = np.arange(10)
    cv = [(train, np.arange(20)), (train + 10, np.arange(20))] if route == "ensemble" else KFold(2)
    with pytest.raises(ValueError, match=r"Training fold 0 holds the single class \['(ant|bee)'\]"):
        answer(route, GaussianNB(), np.arange(20.0)[:, None], NAMES[np.arange(20) // 10], cv=cv)
    if route != "ensemble":
        with pytest.raises(ValueError, match="Training folds miss the classes of all test rows"):
            answer(route, GaussianNB(), X[SORTED], Y[SORTED], cv=KFold(3))


MASK = np.arange(150) < 20


class Triples(KFold):
    def split(self, X, y=None, groups=None):
        return ((*pair, pair[0]) for pair in super().split(X, y, groups))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 200}, "n_splits=200"),
        ({"cv": "prefit"}, r"got 'prefit'\. Instead wrap .*=FrozenEstimator\(classifier\), from"),
        ({"cv": "five"}, r"cv must be None, an integer, .* train and test rows; got 'five'\.$"),
        ({"cv": []}, "cv must give at least one pair"),
        ({"cv": Triples(2)}, "cv must give pairs of train and test rows; split 0 has 3 parts"),
        ({"cv": [0, 1]}, "cv must hold pairs of train and test rows; got 0 in it"),
        ({"cv": [([0], [999])]}, r"cv must give numbers from 0 to 149 as test rows.* got \[999\]"),
        ({"cv": [([0], [-1])]}, r"cv must give numbers from 0 to 149 as test rows.* got \[-1\]"),
        ({"cv": [(MASK[:20], ~MASK)]}, "cv must give numbers from 0 to 149 as train rows"),
        ({"estimator": "svc"}, "estimator must be None or an instance of a classifier"),
        ({"estimator": GaussianNB}, "estimator must be None or an instance of a classifier"),
        (
            {"estimator": VotingClassifier([("nb", GaussianNB())])},
            "has no predict_proba",
        ),
    ],
)
@both_estimators
def test_bad_options_of_both(meta, options, message):
    model = meta(**{"estimator": GaussianNB()} | options)
    with pytest.raises(ValueError, match=message):
        getattr(model, "fit_transform", model.fit)(X, Y)
    if meta is CrossFitProba and ("estimator" in options or isinstance(options["cv"], str)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


@pytest.mark.parametrize("route", ["ensemble", pytest.param("single", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("cv", "n_untested"),
    [(TimeSeriesSplit(3), 39), (ShuffleSplit(3, test_size=0.4, random_state=0), 31)],
)
def test_rows_without_a_test_fold_teach_nothing(route, cv, n_untested):
    """scikit-learn's cross_val_predict, and so its calibrated classifiers, refuse these splits."""
    splits = list(cv.split(X))
    message = f"^{n_untested} of 150 rows are in no test fold of cv"
    with pytest.warns(UserWarning, match=message):
        found = answer(route, GaussianNB(), X, Y, cv=cv, sample_weight=WEIGHTS)
    check(found, route, GaussianNB(), X, Y, cv=splits, sample_weight=WEIGHTS)
    with pytest.warns(UserWarning, match=f"{message}: their scores are those of a classifier"):
        found = answer("cross-fit", GaussianNB(), X, Y, cv=cv)
    tested = np.unique(np.concatenate([test for _, test in splits]))
    splits.append((tested, np.setdiff1d(np.arange(150), tested)))
    check(found, "cross-fit", GaussianNB(), X, Y, cv=splits)


@every_route
def test_the_last_test_fold_of_a_row_counts(route):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    options = {"cv": list(cv.split(X, Y)), "recalibrator": TemperatureScaling()}
    check_by_hand(route, GaussianNB(), X, Y, **options)
    if route != "ensemble":
        options["cv"] = options["cv"][3:]
        check_by_hand(route, GaussianNB(), X, Y, **options)


@every_route
def test_input_passes_untouched(route):
    words = [["tea cup", "red cup", "tea pot"][label] for label in Y]
    found = answer(route, make_pipeline(CountVectorizer(), MultinomialNB()), words, Y)
    np.testing.assert_array_equal(found.argmax(axis=1), Y)
    counts = np.abs(X).round()
    dense = answer(route, MultinomialNB(), counts, Y)
    for to_sparse in (sparse.csr_matrix, sparse.coo_array):
        found = answer(route, MultinomialNB(), to_sparse(counts), Y)
        np.testing.assert_allclose(found, dense, rtol=0, atol=1e-8)
    with_gaps = np.where(np.arange(600).reshape(150, 4) % 28, X, np.nan)
    check_by_hand(route, make_pipeline(SimpleImputer(), GaussianNB()), with_gaps, Y)


@pytest.mark.parametrize(
    "route", ["single", pytest.param("auto", marks=pytest.mark.slow), "cross-fit"]
)
def test_pairwise_distances(route):
    """Columns of distances are training rows, too, of which each member would need others."""
    distances = pairwise_distances(X)
    nearest, precomputed = KNeighborsClassifier(20), KNeighborsClassifier(20, metric="precomputed")
    expected = answer("single" if route == "auto" else route, nearest, X, Y)
    for square in (distances, pd.DataFrame(distances), distances.tolist()):
        np.testing.assert_array_equal(answer(route, precomputed, square, Y), expected)
    with pytest.raises(ValueError, match="ensemble must be False for an estimator that takes pair"):
        answer("ensemble", precomputed, distances, Y)
    fitted = FrozenEstimator(precomputed.fit(distances[:90, :90], Y[:90]))
    model = RecalibratedClassifierCV(fitted, ensemble=True).fit(distances[90:, :90], Y[90:])
    assert model.predict_proba(distances[:, :90]).shape == (150, 3)


@all_at_once
def test_estimator_that_shows_its_methods_only_when_fitted(route):
    stacking = StackingClassifier([("nb", GaussianNB())], GaussianNB(), cv=2)
    check_by_hand(route, stacking, X, Y)
    hidden = clone(stacking).set_params(final_estimator=None)
    assert not hasattr(hidden, "predict_proba")
    assert np.isfinite(answer(route, hidden, X, Y)).all()


class Reversed(ClassifierMixin, BaseEstimator):
    """A classifier whose labels are in no order."""

    def fit(self, X, y):
        self.fitted_ = LogisticRegression().fit(X, y)
        self.classes_ = self.fitted_.classes_[::-1]
        return self

    def predict_proba(self, X):
        return self.fitted_.predict_proba(X)[:, ::-1]

    def decision_function(self, X):
        scores = self.fitted_.decision_function(X)
        return -scores if scores.ndim == 1 else scores[:, ::-1]


@every_route
@pytest.mark.parametrize("recalibrator", [ISOTONIC, LOGITS])
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_labels_in_no_order(route, recalibrator, n_classes):
    rows = n_classes > Y
    options = {"recalibrator": recalibrator}
    found = answer(route, Reversed(), X[rows], NAMES[Y[rows]], **options)
    expected = answer(route, LogisticRegression(), X[rows], NAMES[Y[rows]], **options)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_transform_has_the_columns_of_sorted_labels(method):
    found, expected = (
        CrossFitProba(classifier, method=method).fit(X, NAMES[Y])
        for classifier in (Reversed(), LogisticRegression())
    )
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_allclose(found.transform(X), expected.transform(X))


class Tagged(ClassifierMixin, BaseEstimator):
    """A classifier with tags that few have."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = tags.input_tags.sparse = True
        return tags


def test_tags_are_passed_on():
    precomputed = KNeighborsClassifier(metric="precomputed")
    for estimator in (HistGradientBoostingClassifier(), precomputed, Tagged()):
        inner = get_tags(estimator)
        for meta in (RecalibratedClassifierCV, CrossFitProba):
            for model in (meta(estimator), meta(RecalibratedClassifierCV(estimator))):
                tags = get_tags(model)
                assert tags.non_deterministic == inner.non_deterministic
                for name in ("sparse", "allow_nan", "pairwise"):
                    assert getattr(tags.input_tags, name) == getattr(inner.input_tags, name)
    assert get_tags(RecalibratedClassifierCV(recalibrator=Tagged())).non_deterministic


@every_route
def test_scores_of_pairs_of_classes_are_refused(route):
    svc = SVC(decision_function_shape="ovo")
    for classifier in (svc, make_pipeline(SimpleImputer(), svc)):
        with pytest.raises(ValueError, match=r"decision_function_shape='ovo' .* scores pairs"):
            answer(route, classifier, X, Y, recalibrator=LOGITS)


@both_estimators
def test_a_failed_fit_leaves_a_fitted_one_as_it_was(meta):
    model = meta(GaussianNB(), cv=2).fit(X, Y)
    predict = model.transform if meta is CrossFitProba else model.predict_proba
    before = predict(X)
    model.set_params(cv=[(np.arange(20), np.arange(200))])
    with pytest.raises(ValueError, match="cv must give numbers from 0 to 149"):
        getattr(model, "fit_transform", model.fit)(np.hstack([X, X]), NAMES[Y])
    np.testing.assert_array_equal(predict(X), before)
    assert model.classes_.tolist() == [0, 1, 2]


def test_transform_reads_the_classifier_of_all_rows():
    expected = GaussianNB().fit(X, Y, sample_weight=WEIGHTS).predict_proba(X)
    for fit in (CrossFitProba.fit, CrossFitProba.fit_transform):
        cross_fit = CrossFitProba(GaussianNB())
        fit(cross_fit, X, NAMES[Y], sample_weight=WEIGHTS)
        np.testing.assert_array_equal(cross_fit.classes_, NAMES[:3])
        np.testing.assert_array_equal(cross_fit.transform(X), expected)
        with pytest.raises(ValueError, match="method must be one of 'predict_proba', 'decision_f"):
            fit(CrossFitProba(method="predict"), X, Y)
    frozen = CrossFitProba(FROZEN).fit_transform(X, Y)
    np.testing.assert_array_equal(frozen, FROZEN.predict_proba(X))


def test_names_of_the_output():
    cross_fit = CrossFitProba(RidgeClassifier(), method="decision_function")
    assert cross_fit.fit_transform(X, Y == 1).shape == (150, 1)
    assert list(cross_fit.get_feature_names_out()) == ["crossfitproba_True"]
    cross_fit = CrossFitProba(GaussianNB()).set_output(transform="pandas")
    out = cross_fit.fit_transform(pd.DataFrame(X, columns=list("abcd")), Y)
    names = [f"crossfitproba_{k}" for k in range(3)]
    assert list(out.columns) == list(cross_fit.get_feature_names_out(list("abcd"))) == names
    with pytest.raises(ValueError, match=r"number of features \(4\), got 3"):
        cross_fit.get_feature_names_out(list("abc"))
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        cross_fit.get_feature_names_out(list("abdc"))


def test_attributes_and_untouched_parameters():
    classifier, recalibrator = GaussianNB(), clone(ISOTONIC)
    model = RecalibratedClassifierCV(classifier, recalibrator, cv=3)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    proba = fit_and_predict(model, X, NAMES[Y])
    np.testing.assert_array_equal(model.classes_, NAMES[:3])
    np.testing.assert_array_equal(model.predict(X), NAMES[proba.argmax(axis=1)])
    assert model.response_method_ == "predict_proba"
    assert len(model.calibrated_classifiers_) == 3
    assert model.estimator is classifier
    assert not hasattr(classifier, "classes_")
    assert not hasattr(recalibrator, "classes_")
    assert recalibrator.classes is None


def test_defaults():
    """The columns of the recalibrator may also be named by the user."""
    expected = fit_and_predict(RecalibratedClassifierCV(), X, Y)
    for classes in ("columns", [0, 1, 2]):
        parts = LogisticRegression(), AutoRecalibration(classes=classes)
        explicit = RecalibratedClassifierCV(*parts, cv=StratifiedKFold(5))
        np.testing.assert_array_equal(fit_and_predict(explicit, X, Y), expected)


def test_any_probabilistic_classifier_may_recalibrate():
    """It needs neither `input` nor `classes`; `ensemble=False` is a pipeline."""
    last = LogisticRegression()
    model = RecalibratedClassifierCV(GaussianNB(), last, cv=4, ensemble=False)
    pipeline = make_pipeline(CrossFitProba(GaussianNB(), cv=4), last)
    np.testing.assert_array_equal(fit_and_predict(model, X, Y), fit_and_predict(pipeline, X, Y))


def test_scores_are_what_a_pipeline_or_a_search_reads():
    steps = make_pipeline("passthrough", LOGITS, ISOTONIC)
    for recalibrator in (steps, GridSearchCV(steps, {}), LOGITS):
        model = RecalibratedClassifierCV(LogisticRegression(), recalibrator).fit(X, Y)
        assert model.response_method_ == "decision_function"
        model.set_params(response_method="predict_proba")
        with pytest.raises(ValueError, match="are no logits: give the recalibrator input='proba'"):
            model.fit(X, Y)


@pytest.mark.parametrize("R", [type(ISOTONIC), TemperatureScaling])
@pytest.mark.parametrize("route", ["ensemble", "single"])
def test_frozen_classifier_is_not_fitted_again(R, route):
    """Weights go to the recalibrator alone, and nothing warns."""
    options = {"recalibrator": make(R), "sample_weight": WEIGHTS[60:]}
    check_by_hand(route, FROZEN, OTHERS, LABELS, **options)


@pytest.mark.parametrize("ensemble", ["auto", False, True])
def test_frozen_estimator_is_in_one_pair(ensemble):
    model = RecalibratedClassifierCV(FROZEN, cv=3, ensemble=ensemble).fit(OTHERS, LABELS)
    assert [pair.estimator for pair in model.calibrated_classifiers_] == [FROZEN]


def test_frozen_estimator_knows_its_classes():
    present = LABELS != "bee"
    model = RecalibratedClassifierCV(FROZEN)
    with pytest.warns(UserWarning, match=r"No row is of .* \['bee'\]: its probability stays"):
        model.fit(OTHERS[present], LABELS[present])
    np.testing.assert_array_equal(model.classes_, NAMES[:3])
    assert model.predict_proba(X).shape == (150, 3)
    with pytest.raises(ValueError, match="not among the 3 classes"):
        RecalibratedClassifierCV(FROZEN).fit(OTHERS, np.where(LABELS == "cat", "dog", LABELS))
    with pytest.raises(NotFittedError):
        RecalibratedClassifierCV(FrozenEstimator(GaussianNB())).fit(X, Y)
    # A recalibrator with classes="columns" would believe in two.
    single = FrozenEstimator(GaussianNB().fit(np.eye(4), [7] * 4))
    model = RecalibratedClassifierCV(single, TemperatureScaling(classes="columns"))
    with pytest.raises(ValueError, match=r"estimator must know at least two classes.* \[7\]"):
        model.fit(np.eye(4), [7] * 4)


@pytest.mark.parametrize("cv", [pytest.param(LeaveOneOut(), marks=pytest.mark.slow), KFold(15)])
@pytest.mark.parametrize("route", [pytest.param("ensemble", marks=pytest.mark.slow), "single"])
def test_test_folds_of_one_class(route, cv):
    """The recalibrator learns from all of them together."""
    splits = list(cv.split(X[SORTED]))
    options = {"cv": splits, "recalibrator": recalibration.BetaCalibration()}
    check_by_hand(route, GaussianNB(), X[SORTED], Y[SORTED], **options)


def test_boolean_labels_and_float32():
    model = RecalibratedClassifierCV(GaussianNB(), TemperatureScaling())
    expected = fit_and_predict(model, X, (Y == 1).astype(int))
    assert model.fit(X, Y == 1).predict(X).dtype == bool
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    for ensemble in (True, False):
        model = RecalibratedClassifierCV(None, TemperatureScaling(), ensemble=ensemble)
        proba = fit_and_predict(model, X.astype("f4"), Y)
        assert proba.dtype == fit_and_predict(LogisticRegression(), X.astype("f4"), Y).dtype


NO_RECALIBRATOR = "recalibrator must be an instance of a recalibrator"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recalibrator": LOGITS}, "GaussianNB has no decision_function"),
        (
            {"response_method": "decision_function", "recalibrator": TemperatureScaling()},
            "response_method.*input='logits'",
        ),
        (
            {"response_method": "predict_proba", "recalibrator": LOGITS},
            "response_method='predict_proba' gives probabilities, which are no logits",
        ),
        ({"response_method": "predict"}, "response_method must be one of 'auto', 'predict_proba'"),
        ({"ensemble": "yes"}, "ensemble must be 'auto', True or False; got 'yes'"),
        ({"ensemble": 1}, "ensemble must be 'auto', True or False; got 1"),
        ({"recalibrator": TemperatureScaling(input="odds")}, "input must be one of"),
        ({"recalibrator": TemperatureScaling(classes=[2, 1, 0])}, "classes of the recalibrator"),
        ({"recalibrator": TemperatureScaling}, NO_RECALIBRATOR),
        ({"recalibrator": KFold(3)}, NO_RECALIBRATOR),
    ],
)
@pytest.mark.parametrize("ensemble", [True, False])
def test_bad_options_of_recalibrated_classifiers(options, message, ensemble):
    options = {"estimator": GaussianNB(), "ensemble": ensemble} | options
    with pytest.raises(ValueError, match=message):
        RecalibratedClassifierCV(**options).fit(X, Y)


def test_bad_weights():
    for weights, message in ((-np.ones(150), "negative"), (np.zeros(150), "all are zero")):
        with pytest.raises(ValueError, match=f"sample_weight must.*{message}"):
            RecalibratedClassifierCV(GaussianNB(), cv=KFold(3), ensemble=True).fit(
                X, Y, sample_weight=weights
            )


class Pairs(GaussianNB):
    def decision_function(self, X):
        return np.ones((len(X), 6))  # one for each pair of classes


def test_bad_numbers_of_classes_and_scores():
    with pytest.raises(ValueError, match=r"at least two classes; got only one class, \['ant'\]"):
        RecalibratedClassifierCV(GaussianNB()).fit([[1.0], [2.0]], ["ant", "ant"])
    with pytest.raises(ValueError, match="one score for each of the 4 classes"):
        RecalibratedClassifierCV(Pairs(), LOGITS).fit(*make_features(4))


class Unsure(GaussianNB):
    """A classifier that has no answer for one row."""

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        proba[3] = np.nan
        return proba


@both_estimators
def test_scores_that_are_no_numbers(meta):
    model = meta(Unsure())
    with pytest.raises(
        ValueError, match="predict_proba must give numbers; got nan at row 3 from Uns"
    ):
        getattr(model, "fit_transform", model.fit)(X, Y)


@pytest.mark.parametrize("recalibrator", [AutoRecalibration(["isotonic"]), ISOTONIC])
def test_a_zero_of_one_classifier_does_not_decide(recalibrator):
    """The mean of five probabilities that one of them holds for 0 is no loss of hundreds."""
    X, y = make_classification(1500, n_informative=6, n_classes=4, flip_y=0.1, random_state=2)
    model = RecalibratedClassifierCV(RandomForestClassifier(10, random_state=0), recalibrator)
    model.fit(X[:750], y[:750])
    parts = [
        one.predict_proba(classifier.predict_proba(X[750:]))
        for classifier, one in model.calibrated_classifiers_
    ]
    found, means = model.predict_proba(X[750:]), np.mean(parts, axis=0)
    assert (found >= 0.02 * means).all()
