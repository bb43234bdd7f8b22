"""How the classifiers of an ensemble are averaged: rates, losses, fits, and rows held out."""

from collections import Counter
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skcal._numerics.recalibration._fold_average import Pooled, fit_average
from skcal._numerics.recalibration._scores import average_log_odds
from skcal.recalibration import (
    IsotonicRecalibration,
    MulticalibratedClassifierCV,
    RandomizedSmoothing,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.recalibration import family
from tests.recalibration.family import NAMES, WEIGHTS, make_features

pytestmark = family.may_harm

X, Y = make_features()
TREE = DecisionTreeClassifier(random_state=0)


def list_members(model, X):
    """What each classifier says after recalibration."""
    return [
        recalibrator.predict_proba(classifier.predict_proba(X))
        for classifier, recalibrator in model.calibrated_classifiers_
    ]


def find_loss(y, proba):
    return -np.log(proba[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("leaf", [10, 50])
@pytest.mark.parametrize(("n_classes", "rate"), [(2, 0.03), (5, 0.02)])
def test_rare_events_stay_as_frequent(n_classes, rate, leaf):
    """The mean of log odds loses up to a quarter of them; trees together know more than one."""
    others = [(1 - rate) / (n_classes - 1)] * (n_classes - 1)
    X, y = make_classification(
        24_000,
        10,
        n_informative=8,
        n_classes=n_classes,
        n_clusters_per_class=2,
        weights=[rate, *others],
        flip_y=0,
        class_sep=0.7,
        random_state=0,
    )
    tree = DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=leaf, random_state=0)
    model = RecalibratedClassifierCV(tree).fit(X[:4000], y[:4000])
    members = list_members(model, X[4000:])
    mean, found = np.mean(members, axis=0), model.predict_proba(X[4000:])
    old = average_log_odds(members)
    lost, still_lost = (1 - one[:, 0].mean() / mean[:, 0].mean() for one in (old, found))
    assert lost > 0.04
    assert abs(still_lost) < max(0.03, lost / 3)
    losses = [find_loss(y[4000:], proba) for proba in (mean, old)]
    assert find_loss(y[4000:], found) < 0.99 * min(losses)


class Counted(DecisionTreeClassifier):
    """A tree that says how many rows it is fitted to."""

    sizes: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        Counted.sizes.append(len(y))
        return super().fit(X, y, sample_weight)


class Steady(GaussianNB):
    """Naive Bayes that does the same, and hardly changes with the rows."""

    def fit(self, X, y, sample_weight=None):
        Counted.sizes.append(len(y))
        return super().fit(X, y, sample_weight)


ALTERNATE = [(np.arange(150) % 2 == k).nonzero()[0] for k in range(2)]
RNG = np.random.default_rng(0)
UNDERSAMPLED = [
    (RNG.choice(train, 40, replace=False), test) for train, test in StratifiedKFold(5).split(X, Y)
]


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, {120: 5, 90: 5}),
        ({"average": "probabilities"}, {120: 5}),
        ({"average": "log_odds"}, {120: 5}),
        ({"ensemble": False}, {120: 5, 150: 1}),
        ({"recalibrator": RandomizedSmoothing(random_state=0)}, {120: 5}),
        ({"cv": 2}, {75: 2}),
        ({"cv": 3}, {100: 3, 50: 3}),
        ({"cv": 10}, {135: 10, 120: 5}),
        ({"cv": LeaveOneOut()}, {149: 150, 148: 5}),
        # Splits in which several models have not seen a row need no more.
        ({"cv": RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)}, {120: 10}),
        ({"cv": TimeSeriesSplit(4)}, {30: 1, 60: 1, 90: 1, 120: 1}),
        # Of splits that train on few rows too few are in common.
        ({"cv": UNDERSAMPLED}, {40: 5}),
        ({"cv": [ALTERNATE]}, {75: 1}),
        ({"cv": [ALTERNATE, ALTERNATE]}, {75: 2}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*are in no test fold")
def test_how_many_fits_there_are(options, sizes):
    Counted.sizes.clear()
    classifier = Counted(min_samples_leaf=2, random_state=0)
    model = RecalibratedClassifierCV(classifier, **{"recalibrator": "platt"} | options).fit(X, Y)
    assert Counter(Counted.sizes) == sizes
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_classifiers_that_agree_are_fitted_no_more_often():
    """And the mean of their probabilities is taken, which keeps the sums."""
    X, y = make_features(2, 2000)
    Counted.sizes.clear()
    model = RecalibratedClassifierCV(Steady(), "platt").fit(X, y)
    assert Counter(Counted.sizes) == {1600: 5}
    np.testing.assert_array_equal(model.average_.share, 1)
    expected = np.mean(list_members(model, X), axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)


def test_each_average_by_name():
    for average, combine in (
        ("probabilities", lambda parts: np.mean(parts, axis=0)),
        ("log_odds", average_log_odds),
    ):
        model = RecalibratedClassifierCV(TREE, "platt", average=average).fit(X, Y)
        np.testing.assert_allclose(model.predict_proba(X), combine(list_members(model, X)))
    for meta in (RecalibratedClassifierCV, MulticalibratedClassifierCV):
        with pytest.raises(ValueError, match=r"average must be one of 'auto', 'prob.*got 'mean'"):
            meta(TREE, average="mean").fit(X, Y)


def fit_by_hand(splits, classifier, model, X, y, weights=None, method="predict_proba", groups=None):
    """The average, by models that are fitted without the rows of a split, or of two neighbours.

    `groups` are the numbers of the splits that test the rows, where training rows do not tell.
    """
    sets = [train for train, _ in splits]
    sets += [np.intersect1d(sets[k], sets[(k + 1) % 5]) for k in range(5)]
    recalibrator, classes = model.calibrated_classifiers_[0].recalibrator, np.unique(y)
    held_out = [[] for _ in y]
    for number, train in enumerate(sets):
        fit = {} if weights is None else {"sample_weight": weights[train]}
        fitted = clone(classifier).fit(X[train], y[train], **fit)
        scores = getattr(fitted, method)(X)
        proba = recalibrator.predict_proba(scores.reshape(len(scores), -1))
        new = np.setdiff1d(np.arange(len(y)), train)
        if groups is not None:
            tested = [number] if number < 5 else [number - 5, (number - 4) % 5]
            new = new[np.isin(groups[new], tested)]
        for row in new:
            held_out[row].append(proba[row : row + 1])
    assert {len(parts) for parts in held_out} == {3}
    pooled = Pooled(
        np.concatenate([np.mean(parts, axis=0) for parts in held_out]),
        np.concatenate([average_log_odds(parts) for parts in held_out]),
        np.full(len(y), 3),
    )
    mass = np.ones(len(y)) if weights is None else weights.astype(float)
    return fit_average(pooled, np.searchsorted(classes, y), mass, 5)


def check(model, expected):
    assert 0 < model.average_.share < 1
    for one, other in zip(model.average_, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_rows_held_out_by_hand(n_classes, weights):
    """Labels may be strings, and weights reach all models and the rows."""
    rows = n_classes > Y
    own, y = X[rows], NAMES[Y[rows]]
    weights = None if weights is None else weights[rows]
    splits = list(StratifiedKFold(5).split(own, y))
    model = RecalibratedClassifierCV(TREE, IsotonicRecalibration(), cv=iter(splits))
    model.fit(own, y, sample_weight=weights)
    check(model, fit_by_hand(splits, TREE, model, own, y, weights))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_functions(n_classes):
    own, y = make_features(n_classes)
    svc = LinearSVC(C=100, random_state=0, max_iter=100_000)
    own = np.column_stack([own, np.random.default_rng(1).normal(scale=3, size=(150, 40))])
    splits = list(StratifiedKFold(5).split(own, y))
    model = RecalibratedClassifierCV(svc, TemperatureScaling(input="logits"), cv=splits)
    model.fit(own, y)
    check(model, fit_by_hand(splits, svc, model, own, y, method="decision_function"))


def test_groups_are_kept_apart():
    groups = np.random.default_rng(1).integers(0, 30, 150)
    splits = list(GroupKFold(5).split(X, Y, groups))
    with config_context(enable_metadata_routing=True):
        model = RecalibratedClassifierCV(TREE, "platt", cv=GroupKFold(5)).fit(X, Y, groups=groups)
    check(model, fit_by_hand(splits, TREE, model, X, Y))


def test_containers():
    """Tables, sparse matrices and several jobs give the same."""
    expected = RecalibratedClassifierCV(TREE, "platt").fit(X, Y)
    for own in (pd.DataFrame(X), sparse.csr_matrix(X), X.tolist()):
        with parallel_config("threading", n_jobs=2):
            check(RecalibratedClassifierCV(TREE, "platt").fit(own, Y), expected.average_)


def test_rows_of_weight_zero_do_not_count():
    """They only need to be in the same folds."""
    weights = np.where(np.arange(150) % 5 == 4, 0, WEIGHTS)
    counts = weights > 0
    splits = list(StratifiedKFold(5).split(X, Y))
    place = np.cumsum(counts) - 1
    fewer = [tuple(place[part[counts[part]]] for part in split) for split in splits]
    found = RecalibratedClassifierCV(TREE, IsotonicRecalibration(), cv=splits)
    found.fit(X, Y, sample_weight=weights)
    expected = RecalibratedClassifierCV(TREE, IsotonicRecalibration(), cv=fewer)
    expected.fit(X[counts], Y[counts], sample_weight=weights[counts])
    check(found, expected.average_)


def test_a_class_that_few_rows_have():
    """Models that would not know it are not asked, and nothing warns."""
    folds = np.arange(150) % 5
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    y = np.where(np.arange(150) < 2, 3, Y)  # without the folds 0 and 1 there is none
    model = RecalibratedClassifierCV(TREE, "platt", cv=splits).fit(X, NAMES[y])
    assert model.average_.intercepts.shape == (4,)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


class Demanding(DecisionTreeClassifier):
    """A tree that refuses few rows."""

    def fit(self, X, y, sample_weight=None):
        if len(y) < 100:
            raise ValueError("too few rows")
        return super().fit(X, y, sample_weight)


def test_where_no_smaller_model_can_be_fitted():
    """The mean of the probabilities has the right sums without it; the user reads why."""
    model = RecalibratedClassifierCV(Demanding(random_state=0), "platt")
    with pytest.warns(UserWarning, match="to fewer folds.*Got ValueError: too few rows"):
        model.fit(X, Y)
    np.testing.assert_array_equal([model.average_.share, model.average_.slope], 1)


def test_what_progress_raises_is_raised():
    """Also while the further classifiers are fitted."""
    bars = []

    def show(items):
        bars.append(len(items))
        if len(bars) == 2:
            raise RuntimeError("stopped by the user")
        return items

    with pytest.raises(RuntimeError, match="stopped by the user"):
        RecalibratedClassifierCV(TREE, "platt", progress=show).fit(X, Y)
    assert bars == [5, 5]


def test_rows_that_are_left_out_are_not_held_out():
    """Neighbours of tested rows, of the same group say, are neither trained on nor tested."""
    folds = np.arange(150) // 2 % 5
    splits = [
        (np.flatnonzero((folds != k) & (np.arange(150) % 2 == 0)), np.flatnonzero(folds == k))
        for k in range(5)
    ]
    model = RecalibratedClassifierCV(TREE, IsotonicRecalibration(), cv=splits).fit(X, Y)
    check(model, fit_by_hand(splits, TREE, model, X, Y, groups=folds))


def test_groups_of_a_multicalibrated_ensemble():
    """Rows held out keep their levels."""
    noise = np.random.default_rng(0).normal(size=(150, 4))
    own = np.column_stack([X + noise, np.arange(150) // 7 % 3])
    model = MulticalibratedClassifierCV(TREE, features=[4], ensemble=True).fit(own, Y)
    assert len(model.calibrated_classifiers_) == 5
    assert 0 < model.average_.share < 1
    np.testing.assert_allclose(model.predict_proba(own).sum(axis=1), 1)
