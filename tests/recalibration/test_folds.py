"""What CrossFitProba and RecalibratedClassifierCV share: folds, metadata, labels, input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import get_tags

from skcal.recalibration import (
    CrossFitProba,
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.recalibration.family import CLASSES, make, make_features

# Ways to use the folds: both values of `ensemble`, and the scores themselves.
every_route = pytest.mark.parametrize("route", ["ensemble", "single", "cross-fit"])
both_estimators = pytest.mark.parametrize("meta", [CrossFitProba, RecalibratedClassifierCV])

NAMES = np.array(["ant", "bee", "cat"])
ISOTONIC = IsotonicRecalibration()
CLOSE = {"rtol": 0, "atol": 1e-8}


@pytest.fixture
def data():
    return make_features(3)


@pytest.fixture
def weights():
    return np.random.default_rng(1).integers(1, 4, 150)


def answer(route, classifier, X, y, *, recalibrator=ISOTONIC, cv=3, **params):
    """Probabilities of the rows, or their out-of-fold scores."""
    if route == "cross-fit":
        is_proba = getattr(recalibrator, "input", "proba") == "proba"
        method = "predict_proba" if is_proba else "decision_function"
        return CrossFitProba(classifier, cv=cv, method=method).fit_transform(X, y, **params)
    ensemble = route == "ensemble"
    model = RecalibratedClassifierCV(classifier, recalibrator, cv=cv, ensemble=ensemble)
    return model.fit(X, y, **params).predict_proba(X)


def answer_by_hand(
    route, classifier, X, y, *, recalibrator=ISOTONIC, cv=None, fit_weights=None, weights=None
):
    """The same in a plain loop; y holds the labels 0 to K - 1."""
    n_classes = y.max() + 1

    def score(rows):
        of_rows = {} if fit_weights is None else {"sample_weight": fit_weights[rows]}
        fitted = clone(classifier).fit(X[rows], y[rows], **of_rows)
        if getattr(recalibrator, "input", "proba") == "logits":
            return fitted.decision_function(X).reshape(len(X), -1)
        out = np.zeros((len(X), n_classes))
        out[:, fitted.classes_] = fitted.predict_proba(X)
        return out

    def recalibrate(scores, rows, new):
        of_rows = {} if weights is None else {"sample_weight": weights[rows]}
        known = clone(recalibrator).set_params(classes=np.arange(n_classes))
        return known.fit(scores[rows], y[rows], **of_rows).predict_proba(new)

    out_of_fold, members = None, []
    for train, test in cv or StratifiedKFold(3).split(X, y):
        scores = score(train)
        out_of_fold = np.full_like(scores, np.nan) if out_of_fold is None else out_of_fold
        out_of_fold[test] = scores[test]
        if route == "ensemble":
            members.append(recalibrate(scores, test, scores))
    if route == "cross-fit":
        return out_of_fold
    everything = np.arange(len(y))
    if route == "single":
        return recalibrate(out_of_fold, everything, score(everything))
    return np.mean(members, axis=0)


def check_by_hand(route, classifier, X, y, **options):
    np.testing.assert_allclose(
        answer(route, classifier, X, y, **options),
        answer_by_hand(route, classifier, X, y, **options),
        **CLOSE,
    )


@pytest.mark.parametrize("R", CLASSES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("route", ["ensemble", "single"])
def test_recalibrators_learn_from_rows_of_other_folds(route, n_classes, R):
    X, y = make_features(n_classes)
    found = answer(route, GaussianNB(), X, NAMES[y], recalibrator=make(R))
    expected = answer_by_hand(route, GaussianNB(), X, y, recalibrator=make(R))
    np.testing.assert_allclose(found, expected, **CLOSE)


@every_route
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_functions(route, n_classes):
    logits = TemperatureScaling(input="logits")
    check_by_hand(route, RidgeClassifier(), *make_features(n_classes), recalibrator=logits)


@pytest.mark.parametrize("labels", [NAMES, np.array([5, -7, 0])])
@every_route
def test_folds_see_the_labels_themselves(data, route, labels):
    """Encoded labels would meet the wrong class weights, or none."""
    X, y = data
    logits = TemperatureScaling(input="logits")
    model, plain = (
        RidgeClassifier(class_weight={name: 1 + 20 * k for k, name in enumerate(names)})
        for names in (labels.tolist(), range(3))
    )
    found = answer(route, model, X, labels[y], recalibrator=logits)
    expected = answer_by_hand(route, plain, X, y, recalibrator=logits)
    np.testing.assert_allclose(found[:, np.argsort(np.argsort(labels))], expected, **CLOSE)


# ------------------------------------------------------------------------------------- metadata


@every_route
@pytest.mark.parametrize("container", [list, np.asarray, pd.Series, pl.Series])
def test_weights_reach_classifier_and_recalibrator(data, weights, route, container):
    X, y = data
    found = answer(route, GaussianNB(), X, y, sample_weight=container(weights.tolist()))
    both = {"fit_weights": weights, "weights": weights}
    np.testing.assert_allclose(found, answer_by_hand(route, GaussianNB(), X, y, **both), **CLOSE)


@pytest.mark.parametrize("route", ["ensemble", "single"])
def test_what_a_classifier_takes_no_weights_by(data, weights, route):
    X, y = data
    for classifier, plain, params in (
        (KNeighborsClassifier(20), KNeighborsClassifier(20), {}),
        # Other arguments of fit are sliced.
        (make_pipeline(GaussianNB()), GaussianNB(), {"gaussiannb__sample_weight": weights}),
    ):
        with pytest.warns(UserWarning, match=f"{type(classifier).__name__} takes no sample_weight"):
            found = answer(route, classifier, X, y, sample_weight=weights, **params)
        fit_weights = weights if params else None
        expected = answer_by_hand(route, plain, X, y, weights=weights, fit_weights=fit_weights)
        np.testing.assert_allclose(found, expected, **CLOSE)


@every_route
def test_weights_and_groups_are_routed(data, weights, route):
    X, y = data
    groups = np.random.default_rng(1).integers(0, 6, 150)
    splits = list(GroupKFold(3).split(X, y, groups))
    params = {"sample_weight": weights, "groups": groups}
    both = {"fit_weights": weights, "weights": weights}
    for classifier in (GaussianNB(), None):  # the default one requests them
        plain = LogisticRegression() if classifier is None else GaussianNB()
        expected = answer_by_hand(route, plain, X, y, cv=splits, **both)
        with config_context(enable_metadata_routing=True):
            asks = classifier and classifier.set_fit_request(sample_weight=True)
            found = answer(route, asks, X, y, cv=GroupKFold(3), **params)
        np.testing.assert_allclose(found, expected, **CLOSE)
    with pytest.raises(ValueError, match=r"groups need metadata routing.*cv"):
        answer(route, GaussianNB(), X, y, cv=GroupKFold(3), groups=groups)


@every_route
def test_classifier_gets_the_weights_that_it_requests(data, weights, route):
    X, y = data
    own = np.random.default_rng(2).integers(1, 4, 150)
    of_recalibrator = {} if route == "cross-fit" else {"sample_weight": weights}
    with config_context(enable_metadata_routing=True):
        none = GaussianNB().set_fit_request(sample_weight=False)
        renamed = GaussianNB().set_fit_request(sample_weight="own")
        without = answer(route, none, X, y, **of_recalibrator)
        other = answer(route, renamed, X, y, own=own, **of_recalibrator)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            answer(route, GaussianNB(), X, y, sample_weight=weights)
    for found, fit_weights in ((without, None), (other, own)):
        expected = answer_by_hand(
            route, GaussianNB(), X, y, fit_weights=fit_weights, weights=weights
        )
        np.testing.assert_allclose(found, expected, **CLOSE)


# ---------------------------------------------------------------------------------------- folds


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
        found = answer(route, GaussianNB(), X, NAMES[y], **options)
    np.testing.assert_allclose(found, answer_by_hand(route, GaussianNB(), X, y, **options), **CLOSE)
    options["recalibrator"] = TemperatureScaling(input="logits")
    with pytest.raises(ValueError, match=r"Training fold 3 has no row of \['cat'\]"):
        answer(route, RidgeClassifier(), X, NAMES[y], **options)


@every_route
def test_training_folds_that_teach_nothing(data, route):
    """A single class would be sure, and always wrong."""
    X, y = np.arange(20.0)[:, None], np.repeat(["ant", "bee"], 10)
    train = np.arange(10)
    splits = [(train, np.arange(20)), (train + 10, np.arange(20))]
    cv = splits if route == "ensemble" else KFold(2)
    with pytest.raises(ValueError, match=r"Training fold 0 holds the single class \['(ant|bee)'\]"):
        answer(route, GaussianNB(), X, y, cv=cv)
    if route != "ensemble":
        X, y = (rows[np.argsort(data[1], kind="stable")] for rows in data)
        with pytest.raises(ValueError, match="Training folds miss the classes of all test rows"):
            answer(route, GaussianNB(), X, y, cv=KFold(3))


@every_route
def test_iterators_of_splits(data, route):
    X, y = data
    found = answer(route, GaussianNB(), X, y, cv=StratifiedKFold(3).split(X, y))
    np.testing.assert_array_equal(found, answer(route, GaussianNB(), X, y))


MASK = np.arange(150) < 20


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (200, "n_splits=200"),
        ([], "cv must give at least one pair"),
        ([0, 1], "cv must hold pairs of train and test rows; got 0 in it"),
        ([([0], [999])], r"cv must give numbers from 0 to 149 as test rows.* got \[999\]"),
        ([([0], [-1])], r"cv must give numbers from 0 to 149 as test rows.* got \[-1\]"),
        ([(MASK[:20], ~MASK), (~MASK, MASK)], "cv must give numbers from 0 to 149 as train rows"),
        ([(np.append(MASK, False), ~MASK)], "cv must give numbers from 0 to 149 as train rows"),
    ],
)
@both_estimators
def test_bad_splits(data, meta, cv, message):
    model = meta(GaussianNB(), cv=cv)
    with pytest.raises(ValueError, match=message):
        getattr(model, "fit_transform", model.fit)(*data)


@pytest.mark.parametrize("route", ["single", "cross-fit"])
def test_every_row_is_in_one_test_fold(data, route):
    rows = np.arange(150)
    for splits, message in (
        ([(rows, rows[:80]), (rows, rows[79:])], "exactly one test fold; row 79 is in 2"),
        ([(rows, rows[:80])], "exactly one test fold; row 80 is in 0"),
    ):
        with pytest.raises(ValueError, match=message):
            answer(route, GaussianNB(), *data, cv=splits)
    masks = [(rows < 75, rows >= 75), (rows >= 75, rows < 75)]
    numbers = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in masks]
    np.testing.assert_array_equal(
        answer(route, GaussianNB(), *data, cv=masks), answer(route, GaussianNB(), *data, cv=numbers)
    )


# ----------------------------------------------------------------------------- labels and features


@every_route
def test_input_passes_untouched(data, route):
    X, y = data
    words = [["tea cup", "red cup", "tea pot"][label] for label in y]
    found = answer(route, make_pipeline(CountVectorizer(), MultinomialNB()), words, y)
    np.testing.assert_array_equal(found.argmax(axis=1), y)
    counts = np.abs(X).round()
    dense = answer(route, MultinomialNB(), counts, y)
    for to_sparse in (sparse.csr_matrix, sparse.coo_array):
        found = answer(route, MultinomialNB(), to_sparse(counts), y)
        np.testing.assert_allclose(found, dense, **CLOSE)
    X[::7, 0] = np.nan
    check_by_hand(route, make_pipeline(SimpleImputer(), GaussianNB()), X, y)


@both_estimators
def test_frames(data, meta):
    X, y = data
    for make_frame in (pd.DataFrame, pl.DataFrame):
        frame = make_frame({name: X[:, k] for k, name in enumerate("abcd")})
        model = meta(GaussianNB()).fit(frame, y)
        inner = GaussianNB().fit(frame, y)  # old versions read no names from new polars
        assert hasattr(model, "feature_names_in_") == hasattr(inner, "feature_names_in_")
        assert model.n_features_in_ == 4
        if make_frame is pd.DataFrame:
            np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    assert not hasattr(meta(GaussianNB()).fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("route", ["single", "cross-fit"])
def test_pairwise_distances(data, route):
    """Columns of distances are training rows, too."""
    X, y = data
    distances = pairwise_distances(X)
    precomputed = KNeighborsClassifier(20, metric="precomputed")
    expected = answer(route, KNeighborsClassifier(20), X, y)
    for square in (distances, pd.DataFrame(distances), distances.tolist()):
        np.testing.assert_array_equal(answer(route, precomputed, square, y), expected)


@pytest.mark.parametrize("route", ["single", "cross-fit"])
def test_estimator_that_shows_its_methods_only_when_fitted(data, route):
    stacking = StackingClassifier([("nb", GaussianNB())], GaussianNB(), cv=2)
    hidden = clone(stacking).set_params(final_estimator=None)
    assert not hasattr(hidden, "predict_proba")
    check_by_hand(route, stacking, *data)
    assert np.isfinite(answer(route, hidden, *data)).all()


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


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("wrap", [lambda svc: svc, lambda svc: make_pipeline(SimpleImputer(), svc)])
@every_route
def test_scores_of_pairs_of_classes_are_refused(data, route, wrap):
    X, y = data
    svc = wrap(SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match=r"decision_function_shape='ovo' .* scores pairs"):
        answer(route, svc, X, y, recalibrator=TemperatureScaling(input="logits"))


@pytest.mark.parametrize("estimator", ["svc", GaussianNB, 3])
@both_estimators
def test_what_is_no_classifier_is_refused(meta, estimator):
    with pytest.raises(ValueError, match="estimator must be None or an instance of a classifier"):
        meta(estimator).fit(np.eye(10), [0, 1] * 5)


@both_estimators
def test_a_failed_fit_leaves_a_fitted_one_as_it_was(meta):
    X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)
    model = meta(GaussianNB(), cv=2).fit(X, y)
    answer = model.transform if meta is CrossFitProba else model.predict_proba
    before = answer(X)
    model.set_params(cv=[(np.arange(20), np.arange(10))])  # not every row is tested
    if meta is RecalibratedClassifierCV:
        model.set_params(ensemble=False)
    with pytest.raises(ValueError, match="exactly one test fold"):
        getattr(model, "fit_transform", model.fit)(np.hstack([X, X]), np.array(list("abcd") * 10))
    np.testing.assert_array_equal(answer(X), before)
    assert model.classes_.tolist() == [0, 1]


# --------------------------------------------------------------------------------- CrossFitProba


def test_transform_reads_the_classifier_of_all_rows(data, weights):
    X, y = data
    expected = GaussianNB().fit(X, y, sample_weight=weights).predict_proba(X)
    for fit in (CrossFitProba.fit, CrossFitProba.fit_transform):
        cross_fit = CrossFitProba(GaussianNB())
        fit(cross_fit, X, NAMES[y], sample_weight=weights)
        np.testing.assert_array_equal(cross_fit.classes_, NAMES)
        np.testing.assert_array_equal(cross_fit.transform(X), expected)


def test_names_of_the_output(data):
    X, y = data
    cross_fit = CrossFitProba(RidgeClassifier(), method="decision_function")
    assert cross_fit.fit_transform(X, y == 1).shape == (150, 1)
    assert list(cross_fit.get_feature_names_out()) == ["crossfitproba_True"]
    frame = pd.DataFrame(X, columns=list("abcd"))
    cross_fit = CrossFitProba(GaussianNB()).set_output(transform="pandas")
    out = cross_fit.fit_transform(frame, y)
    names = [f"crossfitproba_{k}" for k in range(3)]
    assert list(out.columns) == list(cross_fit.get_feature_names_out(list("abcd"))) == names
    with pytest.raises(ValueError, match=r"number of features \(4\), got 3"):
        cross_fit.get_feature_names_out(list("abc"))
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        cross_fit.get_feature_names_out(list("abdc"))


def test_frozen_estimator_is_not_fitted_again(data):
    X, y = data
    fitted = GaussianNB().fit(X[:60], y[:60])
    model = make_pipeline(CrossFitProba(FrozenEstimator(fitted)), TemperatureScaling())
    model.fit(X[60:], y[60:])
    direct = TemperatureScaling().fit(fitted.predict_proba(X[60:]), y[60:])
    expected = direct.predict_proba(fitted.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "predict"}, "method must be one of 'predict_proba', 'decision_function'"),
        ({"estimator": RidgeClassifier()}, "RidgeClassifier has no predict_proba"),
    ],
)
def test_bad_options(data, options, message):
    for method in ("fit", "fit_transform"):
        with pytest.raises(ValueError, match=message):
            getattr(CrossFitProba(**options), method)(*data)
