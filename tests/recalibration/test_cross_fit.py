"""CrossFitProba: out-of-fold scores, routing, hard cases."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from skcal.recalibration import CrossFitProba, IsotonicRecalibration, TemperatureScaling


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 4)) + y[:, None]
    return X, y


def test_training_output_is_out_of_fold(data):
    X, y = data
    names = np.array(["ant", "bee", "cat"])
    cross_fit = CrossFitProba(GaussianNB(), cv=4)
    out = cross_fit.fit_transform(X, names[y])
    np.testing.assert_array_equal(
        out, cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba")
    )
    np.testing.assert_array_equal(cross_fit.classes_, names)
    np.testing.assert_array_equal(cross_fit.transform(X), GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(
        CrossFitProba(GaussianNB()).fit(X, y).transform(X), cross_fit.transform(X)
    )


@pytest.mark.parametrize("names", [["ant", "bee", "cat"], [1, 2, 3], [5, -7, 0]])
def test_folds_see_the_labels_themselves(data, names):
    """Encoded labels would meet the wrong class weights, or none."""
    X, y = data
    labels = np.array(names)[y]
    model = LogisticRegression(class_weight={name: 1 + 20 * k for k, name in enumerate(names)})
    splits = list(StratifiedKFold(3).split(X, labels))
    out = CrossFitProba(model, cv=splits).fit_transform(X, labels)
    for train, test in splits:
        expected = model.fit(X[train], labels[train]).predict_proba(X[test])
        np.testing.assert_array_equal(out[test], expected)


def test_every_row_is_in_one_test_fold(data):
    X, y = data
    splits = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(59, 120))]
    with pytest.raises(ValueError, match="exactly one test fold; row 59 is in 2"):
        CrossFitProba(GaussianNB(), cv=splits).fit_transform(X, y)


@pytest.mark.parametrize("request_name", [True, "my_weights"])
def test_routing_with_and_without_metadata(data, request_name):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 120)
    with config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=request_name)
        plain = CrossFitProba(model, cv=3).fit_transform(X, y)
        name = "sample_weight" if request_name is True else request_name
        weighted = CrossFitProba(model, cv=3).fit_transform(X, y, **{name: weights})
        CrossFitProba(cv=3).fit_transform(X, y, sample_weight=weights)
    np.testing.assert_array_equal(plain, CrossFitProba(GaussianNB(), cv=3).fit_transform(X, y))
    np.testing.assert_array_equal(
        weighted,
        CrossFitProba(GaussianNB(), cv=3).fit_transform(X, y, sample_weight=weights),
    )


def test_a_memorising_classifier_shows_no_leak():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    nearest = KNeighborsClassifier(1)
    model = make_pipeline(CrossFitProba(nearest), TemperatureScaling()).fit(X, y)
    # The labels are noise, and recalibrated predictions say so, also on the training rows.
    assert np.abs(model.predict_proba(X) - 0.5).max() < 0.1
    leak = TemperatureScaling().fit(nearest.fit(X, y).predict_proba(X), y)
    assert leak.predict_proba(nearest.predict_proba(X)).max() > 0.99


def test_decision_function(data):
    X, y = data
    cross_fit = CrossFitProba(RidgeClassifier(), method="decision_function")
    assert cross_fit.fit_transform(X, y).shape == (120, 3)
    assert cross_fit.fit_transform(X, y == 1).shape == (120, 1)
    assert list(cross_fit.get_feature_names_out()) == ["crossfitproba_True"]
    model = make_pipeline(cross_fit, IsotonicRecalibration(input="logits")).fit(X, y == 1)
    assert model.predict_proba(X).shape == (120, 2)


def test_fold_that_misses_a_class():
    X = np.arange(30.0)[:, None]
    y = np.repeat([0, 1, 2], [14, 14, 2])
    folds = KFold(15)  # the last training fold has no row of class 2
    with pytest.warns(UserWarning, match=r"Training folds miss the class of 2 test rows, \[2\]"):
        out = CrossFitProba(GaussianNB(), cv=folds).fit_transform(X, y)
    np.testing.assert_array_equal(out[-2:, 2], 0)
    np.testing.assert_allclose(out.sum(axis=1), 1)
    with pytest.raises(ValueError, match=r"Training fold 14 has no row of \[2\]"):
        CrossFitProba(RidgeClassifier(), cv=folds, method="decision_function").fit_transform(X, y)


def test_training_folds_of_a_single_class():
    """Each would be sure of its own class, which is always wrong."""
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match=r"Training fold 0 holds the single class \[1\]"):
        CrossFitProba(GaussianNB(), cv=KFold(2)).fit_transform(X, y)


def test_training_folds_that_know_no_class_of_their_test_folds(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    blocks = [np.flatnonzero(y[order] == k) for k in range(3)]
    splits = [(np.setdiff1d(np.arange(120), block), block) for block in blocks]
    with pytest.raises(ValueError, match="Training folds miss the classes of all test rows"):
        CrossFitProba(GaussianNB(), cv=splits).fit_transform(X[order], y[order])


def test_pairwise_distances(data):
    """Columns of distances are training rows, too."""
    X, y = data
    distances = pairwise_distances(X)
    cross_fit = CrossFitProba(KNeighborsClassifier(metric="precomputed"))
    assert get_tags(cross_fit).input_tags.pairwise
    expected = CrossFitProba(KNeighborsClassifier()).fit_transform(X, y)
    for square in (distances, pd.DataFrame(distances), distances.tolist()):
        np.testing.assert_array_equal(cross_fit.fit_transform(square, y), expected)


def test_estimator_that_shows_its_methods_only_when_fitted(data):
    X, y = data
    stacking = StackingClassifier([("nb", GaussianNB())], cv=2)
    assert not hasattr(stacking, "predict_proba")
    explicit = StackingClassifier([("nb", GaussianNB())], LogisticRegression(), cv=2)
    np.testing.assert_array_equal(
        CrossFitProba(stacking, cv=3).fit_transform(X, y),
        cross_val_predict(explicit, X, y, cv=3, method="predict_proba"),
    )


def test_frozen_estimator_is_not_fitted_again(data):
    X, y = data
    fitted = GaussianNB().fit(X[:60], y[:60])
    model = make_pipeline(CrossFitProba(FrozenEstimator(fitted)), TemperatureScaling())
    model.fit(X[60:], y[60:])
    direct = TemperatureScaling().fit(fitted.predict_proba(X[60:]), y[60:])
    np.testing.assert_array_equal(
        model.predict_proba(X), direct.predict_proba(fitted.predict_proba(X))
    )


def test_input_passes_untouched(data):
    X, y = data
    words = np.array(["tea cup", "red cup", "tea pot"])[y]
    text_model = make_pipeline(CountVectorizer(), MultinomialNB())
    assert CrossFitProba(text_model).fit_transform(words, y).shape == (120, 3)
    counts = sparse.csr_matrix(np.abs(X).astype(int))
    assert CrossFitProba(MultinomialNB()).fit_transform(counts, y).shape == (120, 3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    cross_fit = CrossFitProba(GaussianNB()).set_output(transform="pandas")
    out = cross_fit.fit_transform(frame, y)
    assert list(out.columns) == [f"crossfitproba_{k}" for k in range(3)]
    assert list(cross_fit.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series])
def test_weights_reach_every_fit(data, container):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 120)
    out = CrossFitProba(GaussianNB(), cv=3).fit_transform(X, y, sample_weight=container(weights))
    expected = cross_val_predict(
        GaussianNB(), X, y, cv=3, method="predict_proba", params={"sample_weight": weights}
    )
    np.testing.assert_array_equal(out, expected)
    fitted = CrossFitProba(GaussianNB()).fit(X, y, sample_weight=container(weights))
    np.testing.assert_array_equal(
        fitted.transform(X), GaussianNB().fit(X, y, sample_weight=weights).predict_proba(X)
    )


def test_weights_and_groups_are_routed(data):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 120)
    groups = np.arange(120) % 6
    with config_context(enable_metadata_routing=True):
        weighted = GaussianNB().set_fit_request(sample_weight=True)
        model = make_pipeline(
            CrossFitProba(weighted, cv=GroupKFold(3)),
            TemperatureScaling().set_fit_request(sample_weight=True),
        )
        model.fit(X, y, sample_weight=weights, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = make_pipeline(CrossFitProba(GaussianNB(), cv=splits), TemperatureScaling()).fit(
        X, y, crossfitproba__sample_weight=weights, temperaturescaling__sample_weight=weights
    )
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_groups_need_routing(data):
    X, y = data
    with pytest.raises(ValueError, match=r"groups need metadata routing.*cv"):
        CrossFitProba(GaussianNB(), cv=GroupKFold(3)).fit_transform(X, y, groups=np.arange(120))


def test_same_answer_with_any_n_jobs_and_generator_of_splits(data):
    X, y = data
    expected = CrossFitProba(GaussianNB(), cv=3).fit_transform(X, y)
    np.testing.assert_array_equal(
        CrossFitProba(GaussianNB(), cv=3, n_jobs=2).fit_transform(X, y), expected
    )
    splits = StratifiedKFold(3).split(X, y)
    np.testing.assert_array_equal(
        CrossFitProba(GaussianNB(), cv=splits).fit_transform(X, y), expected
    )


class Stochastic(ClassifierMixin, BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


def test_passes_on_that_it_is_not_deterministic():
    assert get_tags(CrossFitProba(Stochastic())).non_deterministic
    assert not get_tags(CrossFitProba(LogisticRegression())).non_deterministic


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "predict"}, "method must be one of 'predict_proba', 'decision_function'"),
        ({"estimator": RidgeClassifier()}, "RidgeClassifier has no predict_proba"),
        ({"cv": 200}, "n_splits=200"),
        ({"cv": []}, "cv must give at least one pair"),
        ({"cv": [0, 1]}, "cv must hold pairs of train and test rows; got 0 in it"),
        ({"cv": [([0], [999])]}, r"cv must give numbers from 0 to \d+ as test rows.* got \[999\]"),
    ],
)
def test_bad_parameters(data, options, message):
    with pytest.raises(ValueError, match=message):
        CrossFitProba(**options).fit_transform(*data)


def test_a_mask_of_another_length_is_no_split():
    X, y = np.arange(40.0)[:, np.newaxis], np.arange(40) % 2
    mask = np.arange(40) < 20
    for train in (mask[:20], np.append(mask, False)):
        splits = [(train, ~mask), (~mask, mask)]
        with pytest.raises(ValueError, match="cv must give numbers from 0 to 39 as train rows"):
            CrossFitProba(GaussianNB(), cv=splits).fit_transform(X, y)
