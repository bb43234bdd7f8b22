"""RecalibratedClassifierCV: three routes to one answer, ensembles, routing, hard cases."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
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
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags

from skcal.recalibration import (
    CrossFitProba,
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.scorers import get_scorer
from tests.recalibration.family import CLASSES, make

every_class = pytest.mark.parametrize("R", CLASSES)
both_counts = pytest.mark.parametrize("n_classes", [2, 3])
both_ensembles = pytest.mark.parametrize("ensemble", [True, False])

NAMES = np.array(["ant", "bee", "cat"])
CLOSE = {"rtol": 0, "atol": 1e-8}


def make_data(n_classes, n_samples=150):
    """Features that repeat each other, with which naive Bayes is over-confident."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % n_classes
    X = rng.normal(size=(n_samples, 1)) + rng.normal(scale=0.5, size=(n_samples, 4)) + y[:, None]
    return X, y


@pytest.fixture
def data():
    return make_data(3)


def pad_columns(proba, columns, n_classes):
    out = np.zeros((len(proba), n_classes))
    out[:, columns] = proba
    return out


def average_over_folds(classifier, recalibrator, X, y, splits, weights=None, on_classifier=True):
    """The ensemble, computed in a plain loop; y holds the labels 0 to K - 1."""
    n_classes = y.max() + 1
    members = []
    for train, test in splits:
        weighted = weights is not None and on_classifier
        fold_weights = {"sample_weight": weights[train]} if weighted else {}
        fitted = clone(classifier).fit(X[train], y[train], **fold_weights)
        scores = pad_columns(fitted.predict_proba(X), fitted.classes_, n_classes)
        fold_weights = {} if weights is None else {"sample_weight": weights[test]}
        member = clone(recalibrator).set_params(classes=np.arange(n_classes))
        members.append(member.fit(scores[test], y[test], **fold_weights).predict_proba(scores))
    return np.mean(members, axis=0)


# --------------------------------------------------------------------------- what it computes


@every_class
@both_counts
def test_three_routes_agree(R, n_classes):
    X, y = make_data(n_classes)
    cv = StratifiedKFold(4)
    recalibrator = make(R)
    pipeline = make_pipeline(CrossFitProba(GaussianNB(), cv=cv), recalibrator)
    stacking = StackingClassifier(
        [("nb", GaussianNB())], recalibrator, cv=cv, stack_method="predict_proba"
    )
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator, cv=cv, ensemble=False)
    proba = model.fit(X, NAMES[y]).predict_proba(X)
    for other in (pipeline, stacking):
        other.fit(X, NAMES[y])
        np.testing.assert_array_equal(model.classes_, other.classes_)
        np.testing.assert_allclose(proba, other.predict_proba(X), **CLOSE)
        np.testing.assert_array_equal(model.predict(X), other.predict(X))


@every_class
@both_counts
def test_ensemble_is_the_mean_over_folds(R, n_classes):
    X, y = make_data(n_classes)
    recalibrator = make(R)
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator, cv=3).fit(X, NAMES[y])
    expected = average_over_folds(GaussianNB(), recalibrator, X, y, StratifiedKFold(3).split(X, y))
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)
    np.testing.assert_array_equal(model.classes_, NAMES[:n_classes])
    np.testing.assert_array_equal(model.predict(X), NAMES[model.predict_proba(X).argmax(axis=1)])
    assert len(model.calibrated_classifiers_) == 3
    assert model.response_method_ == "predict_proba"


@both_counts
@both_ensembles
def test_isotonic_agrees_with_scikit_learn(n_classes, ensemble):
    X, y = make_data(n_classes)
    options = {"cv": 3, "ensemble": ensemble}
    ours = RecalibratedClassifierCV(GaussianNB(), IsotonicRecalibration(), **options)
    theirs = CalibratedClassifierCV(GaussianNB(), method="isotonic", **options)
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    for fit_params in ({}, {"sample_weight": weights}):
        np.testing.assert_allclose(
            ours.fit(X, y, **fit_params).predict_proba(X + 0.1),
            theirs.fit(X, y, **fit_params).predict_proba(X + 0.1),
            **CLOSE,
        )


@both_ensembles
def test_a_memorising_classifier_shows_no_leak(ensemble):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    model = RecalibratedClassifierCV(KNeighborsClassifier(1), ensemble=ensemble).fit(X, y)
    # The labels are noise, and recalibrated predictions say so, also on the training rows.
    assert np.abs(model.predict_proba(X) - 0.5).max() < 0.2


@both_counts
@both_ensembles
def test_decision_function_of_a_logistic_model_tells_the_same(n_classes, ensemble):
    """Softmax of its decision function is its predict_proba."""
    X, y = make_data(n_classes)
    by_proba, by_logits = (
        RecalibratedClassifierCV(recalibrator=TemperatureScaling(input=input), ensemble=ensemble)
        for input in ("proba", "logits")
    )
    by_proba.fit(X, y)
    by_logits.fit(X, y)
    assert (by_proba.response_method_, by_logits.response_method_) == (
        "predict_proba",
        "decision_function",
    )
    np.testing.assert_allclose(by_logits.predict_proba(X), by_proba.predict_proba(X), **CLOSE)


def test_classifier_without_probabilities(data):
    X, y = data
    logits = TemperatureScaling(input="logits")
    model = RecalibratedClassifierCV(LinearSVC(), logits, ensemble=False).fit(X, y)
    cross_fit = CrossFitProba(LinearSVC(), method="decision_function")
    expected = make_pipeline(cross_fit, logits).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_defaults(data):
    X, y = data
    model, explicit = (
        RecalibratedClassifierCV(),
        RecalibratedClassifierCV(
            LogisticRegression(), TemperatureScaling(), cv=StratifiedKFold(5), ensemble=True
        ),
    )
    np.testing.assert_array_equal(
        model.fit(X, y).predict_proba(X), explicit.fit(X, y).predict_proba(X)
    )


def test_any_probabilistic_classifier_may_recalibrate(data):
    """It needs neither `input` nor `classes`."""
    X, y = data
    second = LogisticRegression()
    model = RecalibratedClassifierCV(GaussianNB(), second, ensemble=False).fit(X, y)
    expected = make_pipeline(CrossFitProba(GaussianNB()), second).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


# --------------------------------------------------------------------------- frozen classifiers


@every_class
def test_frozen_estimator_is_not_fitted_again(data, R):
    X, y = data
    fitted = GaussianNB().fit(X[:60], NAMES[y[:60]])
    recalibrator = make(R)
    direct = clone(recalibrator).fit(fitted.predict_proba(X[60:]), NAMES[y[60:]])
    expected = direct.predict_proba(fitted.predict_proba(X))
    for ensemble in ("auto", False):
        model = RecalibratedClassifierCV(
            FrozenEstimator(fitted), recalibrator, ensemble=ensemble
        ).fit(X[60:], NAMES[y[60:]])
        np.testing.assert_array_equal(model.predict_proba(X), expected)
        assert len(model.calibrated_classifiers_) == 1


def test_frozen_ensemble_fits_recalibrators_on_the_test_folds(data):
    X, y = data
    fitted = GaussianNB().fit(X[:60], y[:60])
    frozen, X, y = FrozenEstimator(fitted), X[60:], y[60:]
    model = RecalibratedClassifierCV(frozen, IsotonicRecalibration(), cv=3, ensemble=True)
    model.fit(X, y)
    scores = fitted.predict_proba(X)
    members = [
        IsotonicRecalibration().fit(scores[test], y[test]).predict_proba(scores)
        for _, test in StratifiedKFold(3).split(X, y)
    ]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(members, axis=0), **CLOSE)
    assert {id(pair.estimator) for pair in model.calibrated_classifiers_} == {id(frozen)}


def test_frozen_estimator_knows_its_classes(data):
    X, y = data
    frozen = FrozenEstimator(GaussianNB().fit(X, NAMES[y]))
    present = y != 1
    model = RecalibratedClassifierCV(frozen).fit(X[present], NAMES[y[present]])
    np.testing.assert_array_equal(model.classes_, NAMES)
    assert model.predict_proba(X).shape == (150, 3)
    with pytest.raises(ValueError, match="not among the 3 classes"):
        RecalibratedClassifierCV(frozen).fit(X, np.array(["ant", "bee", "dog"])[y])
    with pytest.raises(NotFittedError):
        RecalibratedClassifierCV(FrozenEstimator(GaussianNB())).fit(X, y)


def test_weights_with_a_frozen_estimator_reach_the_recalibrator(data):
    X, y = data
    fitted = GaussianNB().fit(X[:60], y[:60])
    weights = np.random.default_rng(1).integers(1, 4, 90)
    model = RecalibratedClassifierCV(FrozenEstimator(fitted))  # and nothing warns
    model.fit(X[60:], y[60:], sample_weight=weights)
    direct = TemperatureScaling().fit(fitted.predict_proba(X[60:]), y[60:], weights)
    np.testing.assert_array_equal(
        model.predict_proba(X), direct.predict_proba(fitted.predict_proba(X))
    )


# --------------------------------------------------------------------------- metadata


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series, pl.Series])
def test_weights_reach_classifier_and_recalibrator(data, container):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 150)
    model = RecalibratedClassifierCV(GaussianNB(), IsotonicRecalibration(), cv=3)
    model.fit(X, y, sample_weight=container(weights))
    splits = list(StratifiedKFold(3).split(X, y))
    expected = average_over_folds(GaussianNB(), IsotonicRecalibration(), X, y, splits, weights)
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)
    model.set_params(ensemble=False).fit(X, y, sample_weight=container(weights))
    expected = make_pipeline(CrossFitProba(GaussianNB(), cv=3), IsotonicRecalibration()).fit(
        X, y, crossfitproba__sample_weight=weights, isotonicrecalibration__sample_weight=weights
    )
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_classifier_without_weights(data):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 150)
    nearest = KNeighborsClassifier(20)
    model = RecalibratedClassifierCV(nearest, IsotonicRecalibration(), cv=3)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(X, y, sample_weight=weights)
    splits = list(StratifiedKFold(3).split(X, y))
    expected = average_over_folds(
        nearest, IsotonicRecalibration(), X, y, splits, weights, on_classifier=False
    )
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)


def test_other_arguments_of_fit_are_sliced(data):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 150)
    model = RecalibratedClassifierCV(make_pipeline(GaussianNB()), IsotonicRecalibration(), cv=3)
    with pytest.warns(UserWarning, match="Pipeline takes no sample_weight"):
        model.fit(X, y, sample_weight=weights, gaussiannb__sample_weight=weights)
    splits = list(StratifiedKFold(3).split(X, y))
    expected = average_over_folds(GaussianNB(), IsotonicRecalibration(), X, y, splits, weights)
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)


@both_ensembles
def test_weights_and_groups_are_routed(data, ensemble):
    X, y = data
    rng = np.random.default_rng(1)
    weights, groups = rng.integers(1, 4, 150), rng.integers(0, 6, 150)
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = RecalibratedClassifierCV(GaussianNB(), cv=splits, ensemble=ensemble)
    expected.fit(X, y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        weighted = GaussianNB().set_fit_request(sample_weight=True)
        model = RecalibratedClassifierCV(weighted, cv=GroupKFold(3), ensemble=ensemble)
        model.fit(X, y, sample_weight=weights, groups=groups)
        in_pipeline = make_pipeline(clone(model).set_fit_request(sample_weight=True))
        in_pipeline.fit(X, y, sample_weight=weights, groups=groups)
        default = RecalibratedClassifierCV(cv=GroupKFold(3), ensemble=ensemble)
        default.fit(X, y, sample_weight=weights, groups=groups)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(in_pipeline.predict_proba(X), expected.predict_proba(X))
    expected.set_params(estimator=None).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(default.predict_proba(X), expected.predict_proba(X))


def test_classifier_gets_the_weights_that_it_requests(data):
    X, y = data
    rng = np.random.default_rng(1)
    first, second = rng.integers(1, 4, 150), rng.integers(1, 4, 150)
    splits = list(StratifiedKFold(3).split(X, y))
    isotonic = IsotonicRecalibration()
    with config_context(enable_metadata_routing=True):
        model = RecalibratedClassifierCV(
            GaussianNB().set_fit_request(sample_weight=False), isotonic, cv=3
        ).fit(X, y, sample_weight=second)
        own = RecalibratedClassifierCV(
            GaussianNB().set_fit_request(sample_weight="first"), isotonic, cv=3
        ).fit(X, y, sample_weight=second, first=first)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            RecalibratedClassifierCV(GaussianNB()).fit(X, y, sample_weight=second)
    expected = average_over_folds(GaussianNB(), isotonic, X, y, splits, second, on_classifier=False)
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)
    members = []
    for train, test in splits:
        scores = GaussianNB().fit(X[train], y[train], first[train]).predict_proba(X)
        members.append(isotonic.fit(scores[test], y[test], second[test]).predict_proba(scores))
    np.testing.assert_allclose(own.predict_proba(X), np.mean(members, axis=0), **CLOSE)


def test_groups_need_routing(data):
    X, y = data
    with pytest.raises(ValueError, match=r"groups need metadata routing.*cv"):
        RecalibratedClassifierCV(GaussianNB(), cv=GroupKFold(3)).fit(X, y, groups=np.arange(150))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(149), r"shape \(150,\)"),
        (-np.ones(150), "not negative"),
        (np.zeros(150), "all are zero"),
        (np.repeat([0, 1], [50, 100]), "in fold 0 all are zero"),
    ],
)
def test_bad_weights(data, weights, message):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB(), cv=KFold(3))
    with pytest.raises(ValueError, match=f"sample_weight must.*{message}"):
        model.fit(X, y, sample_weight=weights)


# --------------------------------------------------------------------------- folds


# Recalibrators that learn nothing of single classes.
FEW_CLASSES = {"MeanReplacement", "RandomizedSmoothing", "TemperatureScaling"}


@every_class
@both_counts
@pytest.mark.parametrize("cv", [LeaveOneOut(), KFold(75)], ids=["one-row", "two-rows"])
def test_an_ensemble_on_test_folds_of_one_class_is_refused(R, n_classes, cv):
    """The mean of maps that know one class each would be nearly the same for every row."""
    X, y = make_data(n_classes)
    X, y = (rows[np.argsort(y, kind="stable")] for rows in (X, y))
    frozen = FrozenEstimator(GaussianNB().fit(X, NAMES[y]))
    for estimator, ensemble in ((GaussianNB(), "auto"), (GaussianNB(), True), (frozen, True)):
        model = RecalibratedClassifierCV(estimator, make(R), cv=cv, ensemble=ensemble)
        message = r"^Every test fold must hold .* test fold 0 has \d row.*\['bee'.*ensemble=False"
        with pytest.raises(ValueError, match=message):
            model.fit(X, NAMES[y])


@every_class
def test_test_folds_that_lack_one_class_of_three(R):
    """A method that learns of each class by itself would say 0 for it, whatever the score."""
    X, y = make_data(3)
    # Test fold k holds no row of class k, and every training fold all classes.
    folds = np.where(np.arange(150) // 3 % 2, y + 1, y + 2) % 3
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    model = RecalibratedClassifierCV(GaussianNB(), make(R), cv=splits)
    if R.__name__ in FEW_CLASSES:
        expected = average_over_folds(GaussianNB(), make(R), X, y, splits)
        np.testing.assert_allclose(model.fit(X, y).predict_proba(X), expected, **CLOSE)
    else:
        with pytest.raises(ValueError, match=r"must hold .*test fold 0 has 50 rows.* \['ant'\]"):
            model.fit(X, NAMES[y])
    pipeline = make_pipeline(CrossFitProba(GaussianNB(), cv=splits), make(R)).fit(X, y)
    model.set_params(ensemble=False).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), pipeline.predict_proba(X), **CLOSE)


def test_any_classifier_as_a_recalibrator_needs_every_class(data):
    X, y = data
    splits = [(np.arange(150), np.flatnonzero(y != 1)), (np.arange(150), np.arange(150))]
    model = RecalibratedClassifierCV(GaussianNB(), LogisticRegression(), cv=splits)
    with pytest.raises(ValueError, match="because LogisticRegression is fitted on each"):
        model.fit(X, y)


def test_rows_of_weight_zero_are_not_in_a_test_fold(data):
    X, y = data
    weights = np.ones(150)
    test = next(StratifiedKFold(5).split(X, y))[1]
    weights[test[y[test] == 2]] = 0
    model = RecalibratedClassifierCV(LogisticRegression(), IsotonicRecalibration())
    with pytest.raises(ValueError, match=r"test fold 0 has 20 rows .* \[2\]"):
        model.fit(X, y, sample_weight=weights)
    model.fit(X, y, sample_weight=np.where(y == 2, 0, 1))  # a class that counts nowhere


@both_ensembles
def test_training_fold_that_misses_a_class(ensemble):
    """The score of the class is 0 there, and the recalibrator learns from that."""
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.arange(60)[:, None] % 2
    y = np.append(np.arange(56) % 2, [2, 2, 2, 2])
    folds = np.append(np.arange(56) // 2 % 4, [3, 3, 3, 3])
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    model = RecalibratedClassifierCV(GaussianNB(), cv=splits, ensemble=ensemble)
    with pytest.warns(
        UserWarning, match=r"Training folds miss the class of 4 test rows, \['cat'\]"
    ):
        model.fit(X, NAMES[y])
    if ensemble:
        expected = average_over_folds(GaussianNB(), TemperatureScaling(), X, y, splits)
    else:
        recalibrator = TemperatureScaling().fit(score_by_hand(X, y, splits), y)
        expected = recalibrator.predict_proba(GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)
    logits = TemperatureScaling(input="logits")
    with pytest.raises(ValueError, match=r"Training fold 3 has no row of \['cat'\]"):
        RecalibratedClassifierCV(RidgeClassifier(), logits, cv=splits, ensemble=ensemble).fit(
            X, NAMES[y]
        )


def score_by_hand(X, y, splits):
    """Out-of-fold probabilities of naive Bayes, 0 for what it does not know."""
    scores = np.zeros((len(y), y.max() + 1))
    for train, test in splits:
        fitted = GaussianNB().fit(X[train], y[train])
        scores[np.ix_(test, fitted.classes_)] = fitted.predict_proba(X[test])
    return scores


@pytest.mark.parametrize("ensemble", ["auto", False])
def test_training_folds_of_a_single_class(ensemble):
    """Each would be sure of its class, which is always wrong."""
    X, y = np.arange(20.0)[:, None], np.repeat(["ant", "bee"], 10)
    splits = [(np.arange(10), np.arange(20)), (np.arange(10, 20), np.arange(20))]
    cv = splits if ensemble else KFold(2)
    model = RecalibratedClassifierCV(GaussianNB(), cv=cv, ensemble=ensemble)
    with pytest.raises(ValueError, match=r"Training fold 0 holds the single class \['(ant|bee)'\]"):
        model.fit(X, y)


def test_training_folds_that_know_no_class_of_their_test_folds(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    model = RecalibratedClassifierCV(GaussianNB(), cv=KFold(3), ensemble=False)
    with pytest.raises(ValueError, match="Training folds miss the classes of all test rows"):
        model.fit(X[order], y[order])


def test_ensemble_takes_splits_that_overlap(data):
    X, y = data
    cv = ShuffleSplit(3, test_size=0.4, random_state=0)
    model = RecalibratedClassifierCV(GaussianNB(), cv=cv).fit(X, y)
    expected = average_over_folds(GaussianNB(), TemperatureScaling(), X, y, cv.split(X))
    np.testing.assert_allclose(model.predict_proba(X), expected, **CLOSE)
    with pytest.raises(ValueError, match="cv must put every row into exactly one test fold"):
        RecalibratedClassifierCV(GaussianNB(), cv=cv, ensemble=False).fit(X, y)


@both_ensembles
def test_same_answer_with_any_n_jobs_and_generator_of_splits(data, ensemble):
    X, y = data
    options = {"ensemble": ensemble}
    expected = RecalibratedClassifierCV(GaussianNB(), cv=3, **options).fit(X, y).predict_proba(X)
    parallel = RecalibratedClassifierCV(GaussianNB(), cv=3, n_jobs=2, **options)
    np.testing.assert_array_equal(parallel.fit(X, y).predict_proba(X), expected)
    splits = StratifiedKFold(3).split(X, y)
    generated = RecalibratedClassifierCV(GaussianNB(), cv=splits, **options)
    np.testing.assert_array_equal(generated.fit(X, y).predict_proba(X), expected)


# --------------------------------------------------------------------------- labels and features


@pytest.mark.parametrize("names", [["ant", "bee", "cat"], [1, 2, 3], [5, -7, 0]])
@both_ensembles
def test_folds_see_the_labels_themselves(data, names, ensemble):
    """Encoded labels would meet the wrong class weights, or none."""
    X, y = data
    labels = np.array(names)[y]
    model = RecalibratedClassifierCV(
        LogisticRegression(class_weight={name: 1 + 20 * k for k, name in enumerate(names)}),
        ensemble=ensemble,
    ).fit(X, labels)
    plain = LogisticRegression(class_weight={k: 1 + 20 * k for k in range(3)})
    expected = RecalibratedClassifierCV(plain, ensemble=ensemble).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.classes_, np.sort(names))
    np.testing.assert_allclose(
        model.predict_proba(X)[:, np.argsort(np.argsort(names))], expected, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize(
    "convert",
    [
        lambda labels: labels.astype(object),
        lambda labels: labels.tolist(),
        lambda labels: pd.Series(labels, dtype="category"),
        lambda labels: pl.Series(labels.tolist()),
    ],
)
def test_containers_of_labels(data, convert):
    X, y = data
    expected = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    model = RecalibratedClassifierCV(GaussianNB()).fit(X, convert(NAMES[y]))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), NAMES[expected.predict(X)])


def test_boolean_labels(data):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB()).fit(X, y == 1)
    assert model.predict(X).dtype == bool
    expected = RecalibratedClassifierCV(GaussianNB()).fit(X, (y == 1).astype(int))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@both_ensembles
def test_input_passes_untouched(data, ensemble):
    X, y = data
    words = [["tea cup", "red cup", "tea pot"][label] for label in y]
    text_model = make_pipeline(CountVectorizer(), MultinomialNB())
    model = RecalibratedClassifierCV(text_model, ensemble=ensemble).fit(words, y)
    np.testing.assert_array_equal(model.predict(words), y)
    assert not hasattr(model, "n_features_in_")
    counts = np.abs(X).round()
    nb = RecalibratedClassifierCV(MultinomialNB(), ensemble=ensemble)
    dense = nb.fit(counts, y).predict_proba(counts)
    for to_sparse in (sparse.csr_matrix, sparse.coo_array):
        model = clone(nb).fit(to_sparse(counts), y)
        np.testing.assert_allclose(model.predict_proba(to_sparse(counts)), dense, **CLOSE)
    holes = X.copy()
    holes[::7, 0] = np.nan
    imputed = make_pipeline(SimpleImputer(), GaussianNB())
    model = RecalibratedClassifierCV(imputed, ensemble=ensemble).fit(holes, y)
    assert np.isfinite(model.predict_proba(holes)).all()


@pytest.mark.parametrize("make_frame", [pd.DataFrame, pl.DataFrame])
def test_frames(data, make_frame):
    X, y = data
    frame = make_frame({name: X[:, k] for k, name in enumerate("abcd")})
    model = RecalibratedClassifierCV(GaussianNB()).fit(frame, y)
    inner = GaussianNB().fit(frame, y)  # old versions read no names from new polars
    assert hasattr(model, "feature_names_in_") == hasattr(inner, "feature_names_in_")
    if make_frame is pd.DataFrame:
        np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    assert model.n_features_in_ == 4
    expected = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(X))
    assert not hasattr(expected, "feature_names_in_")


def test_pairwise_distances(data):
    X, y = data
    distances = pairwise_distances(X)
    precomputed = KNeighborsClassifier(20, metric="precomputed")
    options = {"recalibrator": IsotonicRecalibration(), "cv": 3}
    expected = RecalibratedClassifierCV(KNeighborsClassifier(20), ensemble=False, **options)
    expected = expected.fit(X, y).predict_proba(X)
    for square in (distances, pd.DataFrame(distances), distances.tolist()):
        model = RecalibratedClassifierCV(precomputed, **options).fit(square, y)
        np.testing.assert_array_equal(model.predict_proba(square), expected)
    with pytest.raises(ValueError, match="ensemble must be False for an estimator that takes pair"):
        RecalibratedClassifierCV(precomputed, ensemble=True).fit(distances, y)
    fitted = FrozenEstimator(clone(precomputed).fit(distances[:90, :90], y[:90]))
    frozen = RecalibratedClassifierCV(fitted, ensemble=True).fit(distances[90:, :90], y[90:])
    assert frozen.predict_proba(distances[:, :90]).shape == (150, 3)


@both_ensembles
def test_float_type_is_that_of_the_classifier(data, ensemble):
    X, y = data
    X = X.astype(np.float32)
    expected = LogisticRegression().fit(X, y).predict_proba(X).dtype
    model = RecalibratedClassifierCV(ensemble=ensemble).fit(X, y)
    assert model.predict_proba(X).dtype == expected


# --------------------------------------------------------------------------- a good citizen


def test_grid_search(data):
    X, y = data
    model = RecalibratedClassifierCV(LogisticRegression(), TemperatureScaling(), cv=2)
    grid = [
        {"recalibrator": [TemperatureScaling(), IsotonicRecalibration()], "ensemble": [True]},
        {"recalibrator__input": ["proba", "logits"], "estimator__C": [0.1, 1]},
    ]
    scorer = get_scorer("neg_smooth_ece")
    search = GridSearchCV(model, grid, scoring=scorer, cv=2).fit(X, NAMES[y])
    assert len(search.cv_results_["params"]) == 6
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        again = clone(model).set_params(**clone_values(params))
        scores = cross_val_score(again, X, NAMES[y], scoring=scorer, cv=2)
        np.testing.assert_allclose(scores.mean(), score, **CLOSE)
    assert search.best_estimator_.predict_proba(X).shape == (150, 3)


def clone_values(params):
    return {name: clone(value, safe=False) for name, value in params.items()}


def test_weights_and_groups_through_cross_validation(data):
    X, y = data
    rng = np.random.default_rng(1)
    weights, groups = rng.integers(1, 4, 150), rng.integers(0, 12, 150)
    with config_context(enable_metadata_routing=True):
        model = RecalibratedClassifierCV(
            GaussianNB().set_fit_request(sample_weight=True), cv=GroupKFold(2)
        ).set_fit_request(sample_weight=True)
        scorer = get_scorer("neg_smooth_ece").set_score_request(sample_weight=True)
        results = cross_validate(
            model,
            X,
            y,
            cv=GroupKFold(3),
            scoring=scorer,
            params={"sample_weight": weights, "groups": groups},
            return_estimator=True,
            return_indices=True,
        )
    for k, train in enumerate(results["indices"]["train"]):
        inner = list(GroupKFold(2).split(X[train], y[train], groups[train]))
        expected = RecalibratedClassifierCV(GaussianNB(), cv=inner)
        expected.fit(X[train], y[train], sample_weight=weights[train])
        np.testing.assert_array_equal(
            results["estimator"][k].predict_proba(X), expected.predict_proba(X)
        )


def test_fit_leaves_parameters_alone(data):
    X, y = data
    classifier, recalibrator = GaussianNB(), TemperatureScaling()
    model = RecalibratedClassifierCV(classifier, recalibrator).fit(X, y)
    assert model.estimator is classifier
    assert not hasattr(classifier, "classes_")
    assert not hasattr(recalibrator, "classes_")
    assert recalibrator.classes is None
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    for pair in copied.calibrated_classifiers_:
        np.testing.assert_array_equal(
            pair.recalibrator.predict_proba(pair.estimator.predict_proba(X)).argmax(axis=1),
            pair.estimator.predict(X),
        )
    with pytest.raises(NotFittedError):
        clone(model).predict_proba(X)


def test_columns_may_be_named_by_the_user(data):
    X, y = data
    expected = RecalibratedClassifierCV(GaussianNB()).fit(X, y).predict_proba(X)
    for classes in ("columns", [0, 1, 2]):
        model = RecalibratedClassifierCV(GaussianNB(), TemperatureScaling(classes=classes))
        np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)
    wrong = RecalibratedClassifierCV(GaussianNB(), TemperatureScaling(classes=[2, 1, 0]))
    with pytest.raises(ValueError, match="classes of the recalibrator must be None or the sorted"):
        wrong.fit(X, y)


def test_estimator_that_shows_its_methods_only_when_fitted(data):
    X, y = data
    stacking = StackingClassifier([("nb", GaussianNB())], cv=2)
    assert not hasattr(stacking, "predict_proba")
    model = RecalibratedClassifierCV(stacking, cv=2, ensemble=False).fit(X, y)
    expected = make_pipeline(CrossFitProba(stacking, cv=2), TemperatureScaling()).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


class Stochastic(ClassifierMixin, BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class TakesSparse(ClassifierMixin, BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def test_passes_on_that_it_is_not_deterministic():
    for model in (
        RecalibratedClassifierCV(Stochastic()),
        RecalibratedClassifierCV(recalibrator=Stochastic()),
        RecalibratedClassifierCV(RecalibratedClassifierCV(recalibrator=Stochastic())),
        CrossFitProba(RecalibratedClassifierCV(recalibrator=Stochastic())),
    ):
        assert get_tags(model).non_deterministic
    assert not get_tags(RecalibratedClassifierCV()).non_deterministic


@pytest.mark.parametrize(
    ("estimator", "has_tag"),
    [
        (HistGradientBoostingClassifier(), "allow_nan"),
        (KNeighborsClassifier(metric="precomputed"), "pairwise"),
        (TakesSparse(), "sparse"),
    ],
)
def test_tags_of_the_input(estimator, has_tag):
    for meta in (RecalibratedClassifierCV, CrossFitProba):
        tags = get_tags(meta(estimator)).input_tags
        for name in ("sparse", "allow_nan", "pairwise"):
            assert getattr(tags, name) == getattr(get_tags(estimator).input_tags, name)
        assert getattr(tags, has_tag)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": RidgeClassifier()}, "RidgeClassifier has no predict_proba"),
        (
            {"estimator": GaussianNB(), "recalibrator": TemperatureScaling(input="logits")},
            "GaussianNB has no decision_function",
        ),
        ({"response_method": "decision_function"}, "response_method.*input='logits'"),
        ({"response_method": "predict"}, "response_method must be one of 'auto', 'predict_proba'"),
        ({"ensemble": "yes"}, "ensemble must be 'auto', True or False; got 'yes'"),
        ({"ensemble": 1}, "ensemble must be 'auto', True or False; got 1"),
        ({"recalibrator": TemperatureScaling(input="odds")}, "input must be one of"),
        ({"cv": 200}, "n_splits=200"),
        ({"cv": []}, "cv must give at least one pair"),
    ],
)
@both_ensembles
def test_bad_parameters(data, options, message, ensemble):
    with pytest.raises(ValueError, match=message):
        RecalibratedClassifierCV(**{"ensemble": ensemble} | options).fit(*data)


def test_one_class():
    with pytest.raises(ValueError, match=r"at least two classes; got only one class, \['ant'\]"):
        RecalibratedClassifierCV(GaussianNB()).fit([[1.0], [2.0]], ["ant", "ant"])


def test_odd_numbers_of_scores(data):
    """One score for each pair of classes: 6 for 4 classes."""

    class Pairs(GaussianNB):
        def decision_function(self, X):
            return np.ones((len(X), 6))

    X, y = make_data(4)
    with pytest.raises(ValueError, match="one score for each of the 4 classes"):
        RecalibratedClassifierCV(Pairs(), TemperatureScaling(input="logits")).fit(X, y)


@pytest.mark.parametrize("cls", [CrossFitProba, RecalibratedClassifierCV])
def test_a_failed_fit_leaves_a_fitted_one_as_it_was(cls):
    X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)
    model = cls(GaussianNB(), cv=2)
    model.fit(X, y)
    answer = model.transform if cls is CrossFitProba else model.predict_proba
    before, state = answer(X), vars(model).copy()
    model.set_params(cv=[(np.arange(20), np.arange(10))])  # not every row is tested
    options = {"ensemble": False} if cls is RecalibratedClassifierCV else {}
    model.set_params(**options)
    fit = model.fit_transform if cls is CrossFitProba else model.fit
    with pytest.raises(ValueError, match="exactly one test fold"):
        fit(np.hstack([X, X]), np.array(["a", "b", "c", "d"] * 10))
    assert {name for name in vars(model) if name.endswith("_")} == {
        name for name in state if name.endswith("_")
    }
    np.testing.assert_array_equal(answer(X), before)


@pytest.mark.parametrize("recalibrator", ["isotonic", TemperatureScaling, KFold(3)])
def test_what_is_no_recalibrator_is_refused(recalibrator):
    with pytest.raises(ValueError, match=r"recalibrator must be None or an instance of a recal"):
        RecalibratedClassifierCV(GaussianNB(), recalibrator).fit(np.eye(10), [0, 1] * 5)


@pytest.mark.parametrize("wrap", [lambda svc: svc, lambda svc: make_pipeline(SimpleImputer(), svc)])
def test_scores_of_pairs_of_classes_are_refused(wrap):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.tile([0, 1, 2], 20)
    svc = wrap(SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match=r"decision_function_shape='ovo' .* scores pairs"):
        RecalibratedClassifierCV(svc, TemperatureScaling(input="logits")).fit(X, y)
    with pytest.raises(ValueError, match=r"decision_function_shape='ovo' .* scores pairs"):
        CrossFitProba(svc, method="decision_function").fit_transform(X, y)


def test_probabilities_are_no_logits():
    model = RecalibratedClassifierCV(
        GaussianNB(), TemperatureScaling(input="logits"), response_method="predict_proba"
    )
    with pytest.raises(
        ValueError, match=r"response_method='predict_proba' gives probabilities, wh"
    ):
        model.fit(np.eye(10), [0, 1] * 5)


@pytest.mark.parametrize("estimator", ["svc", GaussianNB, 3])
@pytest.mark.parametrize("model", [RecalibratedClassifierCV, CrossFitProba])
def test_what_is_no_classifier_is_refused(model, estimator):
    with pytest.raises(ValueError, match="estimator must be None or an instance of a classifier"):
        model(estimator).fit(np.eye(10), [0, 1] * 5)


def test_a_frozen_classifier_of_one_class_is_refused():
    """A recalibrator with classes="columns" would believe in two."""
    frozen = FrozenEstimator(GaussianNB().fit(np.eye(4), [7] * 4))
    model = RecalibratedClassifierCV(frozen, TemperatureScaling(classes="columns"))
    with pytest.raises(ValueError, match=r"estimator must know at least two classes.* \[7\]"):
        model.fit(np.eye(4), [7] * 4)
