"""RecalibratedClassifierCV: defaults, frozen classifiers, ensembles; see also test_folds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skcal.recalibration import (
    CrossFitProba,
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.recalibration.family import CLASSES, make, make_features
from tests.recalibration.test_folds import answer_by_hand

every_class = pytest.mark.parametrize("R", CLASSES)
both_ensembles = pytest.mark.parametrize("ensemble", [True, False])

NAMES = np.array(["ant", "bee", "cat"])
CLOSE = {"rtol": 0, "atol": 1e-8}


@pytest.fixture
def data():
    return make_features(3)


def fit_and_predict(model, X, y, **params):
    return model.fit(X, y, **params).predict_proba(X)


def test_attributes_and_untouched_parameters(data):
    X, y = data
    classifier, recalibrator = GaussianNB(), IsotonicRecalibration()
    model = RecalibratedClassifierCV(classifier, recalibrator, cv=3)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    proba = fit_and_predict(model, X, NAMES[y])
    np.testing.assert_array_equal(model.classes_, NAMES)
    np.testing.assert_array_equal(model.predict(X), NAMES[proba.argmax(axis=1)])
    assert model.response_method_ == "predict_proba"
    pairs = [
        pair.recalibrator.predict_proba(pair.estimator.predict_proba(X))
        for pair in model.calibrated_classifiers_
    ]
    assert len(pairs) == 3
    np.testing.assert_allclose(np.mean(pairs, axis=0), proba, **CLOSE)
    assert model.estimator is classifier
    assert not hasattr(classifier, "classes_")
    assert not hasattr(recalibrator, "classes_")
    assert recalibrator.classes is None


def test_defaults(data):
    explicit = RecalibratedClassifierCV(
        LogisticRegression(), TemperatureScaling(), cv=StratifiedKFold(5), ensemble=True
    )
    default = RecalibratedClassifierCV()
    np.testing.assert_array_equal(fit_and_predict(default, *data), fit_and_predict(explicit, *data))


def test_any_probabilistic_classifier_may_recalibrate(data):
    """It needs neither `input` nor `classes`; `ensemble=False` is a pipeline."""
    last = LogisticRegression()
    model = RecalibratedClassifierCV(GaussianNB(), last, cv=4, ensemble=False)
    pipeline = make_pipeline(CrossFitProba(GaussianNB(), cv=4), last)
    np.testing.assert_array_equal(fit_and_predict(model, *data), fit_and_predict(pipeline, *data))


# ---------------------------------------------------------------------------- frozen classifiers


@pytest.fixture
def frozen(data):
    """A classifier that was fitted on the first rows, and the other rows."""
    X, y = data
    return FrozenEstimator(GaussianNB().fit(X[:60], NAMES[y[:60]])), X[60:], NAMES[y[60:]]


@every_class
def test_frozen_estimator_is_not_fitted_again(frozen, R):
    estimator, X, y = frozen
    scores = estimator.predict_proba(X)
    weights = np.random.default_rng(1).integers(1, 4, 90)
    expected = make(R).fit(scores, y, weights).predict_proba(scores)
    for ensemble in ("auto", False):
        model = RecalibratedClassifierCV(estimator, make(R), ensemble=ensemble)  # nothing warns
        proba = fit_and_predict(model, X, y, sample_weight=weights)
        np.testing.assert_array_equal(proba, expected)
        assert len(model.calibrated_classifiers_) == 1


def test_frozen_ensemble_fits_recalibrators_on_the_test_folds(frozen):
    estimator, X, y = frozen
    model = RecalibratedClassifierCV(estimator, IsotonicRecalibration(), cv=3, ensemble=True)
    scores = estimator.predict_proba(X)
    members = [
        IsotonicRecalibration().fit(scores[test], y[test]).predict_proba(scores)
        for _, test in StratifiedKFold(3).split(X, y)
    ]
    np.testing.assert_allclose(fit_and_predict(model, X, y), np.mean(members, axis=0), **CLOSE)
    assert {id(pair.estimator) for pair in model.calibrated_classifiers_} == {id(estimator)}


def test_frozen_estimator_knows_its_classes(frozen):
    estimator, X, y = frozen
    present = y != "bee"
    model = RecalibratedClassifierCV(estimator).fit(X[present], y[present])
    np.testing.assert_array_equal(model.classes_, NAMES)
    assert model.predict_proba(X).shape == (90, 3)
    with pytest.raises(ValueError, match="not among the 3 classes"):
        RecalibratedClassifierCV(estimator).fit(X, np.where(y == "cat", "dog", y))
    with pytest.raises(NotFittedError):
        RecalibratedClassifierCV(FrozenEstimator(GaussianNB())).fit(X, y)
    # A recalibrator with classes="columns" would believe in two.
    single = FrozenEstimator(GaussianNB().fit(np.eye(4), [7] * 4))
    model = RecalibratedClassifierCV(single, TemperatureScaling(classes="columns"))
    with pytest.raises(ValueError, match=r"estimator must know at least two classes.* \[7\]"):
        model.fit(np.eye(4), [7] * 4)


def test_ensembles_of_pairwise_estimators(data):
    X, y = data
    distances = pairwise_distances(X)
    precomputed = KNeighborsClassifier(20, metric="precomputed")
    automatic, single = (
        RecalibratedClassifierCV(precomputed, IsotonicRecalibration(), ensemble=ensemble)
        for ensemble in ("auto", False)
    )
    np.testing.assert_array_equal(
        fit_and_predict(automatic, distances, y), fit_and_predict(single, distances, y)
    )
    with pytest.raises(ValueError, match="ensemble must be False for an estimator that takes pair"):
        RecalibratedClassifierCV(precomputed, ensemble=True).fit(distances, y)
    fitted = FrozenEstimator(clone(precomputed).fit(distances[:90, :90], y[:90]))
    model = RecalibratedClassifierCV(fitted, ensemble=True).fit(distances[90:, :90], y[90:])
    assert model.predict_proba(distances[:, :90]).shape == (150, 3)


# ------------------------------------------------------------------------- test folds of ensembles

# Recalibrators that learn nothing of single classes.
FEW_CLASSES = {"MeanReplacement", "RandomizedSmoothing", "TemperatureScaling"}


@every_class
def test_an_ensemble_on_test_folds_of_one_class_is_refused(R):
    """The mean of maps that know one class each would be nearly the same for every row."""
    X, y = make_features(2, 30)
    X, y = (rows[np.argsort(y, kind="stable")] for rows in (X, y))
    frozen = FrozenEstimator(GaussianNB().fit(X, NAMES[y]))
    message = r"^Every test fold must hold .* test fold 0 has \d row.*\['bee'.*ensemble=False"
    for cv in (LeaveOneOut(), KFold(15)):
        for estimator, ensemble in ((GaussianNB(), "auto"), (frozen, True)):
            with pytest.raises(ValueError, match=message):
                RecalibratedClassifierCV(estimator, make(R), cv=cv, ensemble=ensemble).fit(
                    X, NAMES[y]
                )


@every_class
def test_test_folds_that_lack_one_class_of_three(data, R):
    """A method that learns of each class by itself would say 0 for it, whatever the score."""
    X, y = data
    # Test fold k holds no row of class k, and every training fold all classes.
    folds = np.where(np.arange(150) // 3 % 2, y + 1, y + 2) % 3
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    for route in ("ensemble", "single"):
        options = {"recalibrator": make(R), "cv": splits}
        model = RecalibratedClassifierCV(GaussianNB(), ensemble=route == "ensemble", **options)
        if route == "ensemble" and R.__name__ not in FEW_CLASSES:
            with pytest.raises(ValueError, match=r"must hold .*fold 0 has 50 rows.* \['ant'\]"):
                model.fit(X, NAMES[y])
        else:
            expected = answer_by_hand(route, GaussianNB(), X, y, **options)
            np.testing.assert_allclose(fit_and_predict(model, X, y), expected, **CLOSE)


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
    model = RecalibratedClassifierCV(GaussianNB(), IsotonicRecalibration())
    with pytest.raises(ValueError, match=r"test fold 0 has 20 rows .* \[2\]"):
        model.fit(X, y, sample_weight=weights)
    nowhere = RecalibratedClassifierCV(KNeighborsClassifier(20), IsotonicRecalibration())
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        nowhere.fit(X, y, sample_weight=np.where(y == 2, 0, 1))  # a class that counts nowhere


def test_ensemble_takes_splits_that_overlap(data):
    X, y = data
    cv = ShuffleSplit(3, test_size=0.4, random_state=0)
    model = RecalibratedClassifierCV(GaussianNB(), cv=cv)
    options = {"recalibrator": TemperatureScaling(), "cv": list(cv.split(X))}
    expected = answer_by_hand("ensemble", GaussianNB(), X, y, **options)
    np.testing.assert_allclose(fit_and_predict(model, X, y), expected, **CLOSE)
    with pytest.raises(ValueError, match="cv must put every row into exactly one test fold"):
        model.set_params(ensemble=False).fit(X, y)


# -------------------------------------------------------------------------------- a good citizen


def test_boolean_labels_and_float32(data):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB()).fit(X, y == 1)
    assert model.predict(X).dtype == bool
    expected = fit_and_predict(RecalibratedClassifierCV(GaussianNB()), X, (y == 1).astype(int))
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    X = X.astype(np.float32)
    for ensemble in (True, False):
        proba = fit_and_predict(RecalibratedClassifierCV(ensemble=ensemble), X, y)
        assert proba.dtype == fit_and_predict(LogisticRegression(), X, y).dtype


def test_columns_may_be_named_by_the_user(data):
    expected = fit_and_predict(RecalibratedClassifierCV(GaussianNB()), *data)
    for classes in ("columns", [0, 1, 2]):
        model = RecalibratedClassifierCV(GaussianNB(), TemperatureScaling(classes=classes))
        np.testing.assert_array_equal(fit_and_predict(model, *data), expected)


LOGITS = TemperatureScaling(input="logits")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": RidgeClassifier()}, "RidgeClassifier has no predict_proba"),
        ({"recalibrator": LOGITS}, "GaussianNB has no decision_function"),
        ({"response_method": "decision_function"}, "response_method.*input='logits'"),
        (
            {"response_method": "predict_proba", "recalibrator": LOGITS},
            "response_method='predict_proba' gives probabilities, which are no logits",
        ),
        ({"response_method": "predict"}, "response_method must be one of 'auto', 'predict_proba'"),
        ({"ensemble": "yes"}, "ensemble must be 'auto', True or False; got 'yes'"),
        ({"ensemble": 1}, "ensemble must be 'auto', True or False; got 1"),
        ({"recalibrator": TemperatureScaling(input="odds")}, "input must be one of"),
        (
            {"recalibrator": TemperatureScaling(classes=[2, 1, 0])},
            "classes of the recalibrator must be None or the sorted",
        ),
        *(
            ({"recalibrator": other}, "recalibrator must be None or an instance of a recalibrator")
            for other in ("isotonic", TemperatureScaling, KFold(3))
        ),
    ],
)
@both_ensembles
def test_bad_options(data, options, message, ensemble):
    options = {"estimator": GaussianNB(), "ensemble": ensemble} | options
    with pytest.raises(ValueError, match=message):
        RecalibratedClassifierCV(**options).fit(*data)


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
    with pytest.raises(ValueError, match=f"sample_weight must.*{message}"):
        RecalibratedClassifierCV(GaussianNB(), cv=KFold(3)).fit(*data, sample_weight=weights)


def test_bad_numbers_of_classes_and_scores():
    with pytest.raises(ValueError, match=r"at least two classes; got only one class, \['ant'\]"):
        RecalibratedClassifierCV(GaussianNB()).fit([[1.0], [2.0]], ["ant", "ant"])

    class Pairs(GaussianNB):
        def decision_function(self, X):
            return np.ones((len(X), 6))  # one for each pair of classes

    with pytest.raises(ValueError, match="one score for each of the 4 classes"):
        RecalibratedClassifierCV(Pairs(), LOGITS).fit(*make_features(4))
