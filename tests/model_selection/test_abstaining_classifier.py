"""A classifier that abstains: what it promises, on which rows, and what it answers."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skcal.inference import CertifiedThreshold, certified_threshold
from skcal.model_selection import AbstainingClassifierCV
from skcal.recalibration import RecalibratedClassifierCV
from tests.recalibration.test_estimator_checks import EXPECTED, list_failures, run_checks

X, Y = make_classification(
    1200, n_features=6, n_informative=4, n_classes=3, class_sep=1.2, random_state=0
)
HALVES = [(np.arange(600), np.arange(600, 1200))]
NAMES = np.array(["ant", "bee", "cow"])


class Given(ClassifierMixin, BaseEstimator):
    """Takes the features for probabilities."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.n_rows_ = np.unique(y), len(X)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


def test_rows_that_did_not_fit_certify():
    model = AbstainingClassifierCV(GaussianNB(), at_most=0.15, cv=HALVES).fit(X, Y)
    other = GaussianNB().fit(X[:600], Y[:600])
    proba = other.predict_proba(X[600:])
    expected = certified_threshold(Y[600:], proba, at_most=0.15)
    assert model.promise_ == expected
    assert 0 < expected.coverage < 1
    np.testing.assert_array_equal(model.thresholds_, np.full(3, expected.threshold))
    np.testing.assert_array_equal(model.predict_proba(X[600:]), proba)
    accepted = model.accepts(X[600:])
    np.testing.assert_array_equal(accepted, proba.max(axis=1) >= expected.threshold)
    assert accepted.mean() == expected.coverage
    answers = model.predict(X[600:])
    np.testing.assert_array_equal(answers[accepted], other.predict(X[600:])[accepted])
    assert (answers[~accepted] == -1).all()
    assert model.score(X[600:], Y[600:]) == pytest.approx(np.mean(answers == Y[600:]))
    assert model.n_features_in_ == 6


def test_a_promise_for_each_label():
    options = {"at_most": 0.25, "cv": HALVES, "by_label": True}
    model = AbstainingClassifierCV(GaussianNB(), **options).fit(X, NAMES[Y])
    proba = model.predict_proba(X[600:])
    labels = NAMES[proba.argmax(axis=1)]
    expected = certified_threshold(Y[600:], proba, at_most=0.25, groups=labels)
    assert isinstance(model.promise_, CertifiedThreshold)
    assert model.promise_.coverage == expected.coverage == model.accepts(X[600:]).mean()
    parts = model.promise_.parts
    assert parts == {  # all rows may be answered, or a part of them
        name: one._replace(threshold=0.0) if one.coverage == 1 else one
        for name, one in expected.parts.items()
    }
    for name, threshold in zip(NAMES, model.thresholds_, strict=True):
        assert threshold == parts[name].threshold
        rows = labels == name
        answered = proba[rows].max(axis=1) >= threshold
        np.testing.assert_array_equal(model.accepts(X[600:])[rows], answered)


def test_a_label_that_is_never_predicted_is_never_answered():
    proba = np.tile([0.9, 0.1], (200, 1))
    y = np.zeros(200, dtype=int)
    y[:5] = 1
    model = AbstainingClassifierCV(Given(), at_most=0.2, by_label=True, random_state=0)
    model.fit(proba, y)
    assert model.promise_.parts.keys() == {0}
    assert model.thresholds_.tolist() == [0, np.inf]
    assert model.predict([[0.9, 0.1], [0.51, 0.49], [0, 1]]).tolist() == [0, 0, -1]


def test_a_class_that_no_row_of_the_fit_has_counts_as_wrong():
    y = np.where(np.arange(1200) < 600, Y > 0, Y)
    model = AbstainingClassifierCV(GaussianNB(), at_most=0.6, cv=HALVES).fit(X, y)
    proba = model.predict_proba(X)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (proba[:, 2] == 0).all()
    accepted = model.accepts(X[600:])
    wrong = y[600:] != proba[600:].argmax(axis=1)
    assert model.promise_.risk == pytest.approx(wrong[accepted].mean())


def test_a_frozen_classifier_is_certified_by_all_rows():
    frozen = FrozenEstimator(GaussianNB().fit(X[:600], Y[:600]))
    model = AbstainingClassifierCV(frozen, at_most=0.15).fit(X[600:], Y[600:])
    split = AbstainingClassifierCV(GaussianNB(), at_most=0.15, cv=HALVES).fit(X, Y)
    assert model.promise_ == split.promise_
    np.testing.assert_array_equal(model.predict(X), split.predict(X))
    with pytest.raises(NotFittedError):
        AbstainingClassifierCV(FrozenEstimator(GaussianNB())).fit(X, Y)


def test_where_all_rows_may_be_answered_new_ones_may_too():
    proba = np.column_stack([np.linspace(0.2, 0.8, 400), np.linspace(0.8, 0.2, 400)])
    y = (proba[:, 0] < 0.5).astype(int)
    model = AbstainingClassifierCV(Given(), at_most=0.2, random_state=0).fit(proba, y)
    assert model.promise_.coverage == 1
    assert str(model.promise_).startswith("Accept at 0 or above: 100 % of rows")
    assert model.accepts([[0.5, 0.5]]).all()


LABELS = {
    "integers": ([0, 1, 2], None, -1, "i"),
    "integers below zero": ([-1, 0, 1], None, -2, "i"),
    "bytes": (np.array([-128, 0, 127], dtype=np.int8), None, -129, "i"),
    "the smallest int64": ([-(2**63), 0, 1], None, -(2**63) - 1, "O"),
    "bytes without a sign": (np.array([1, 2, 3], dtype=np.uint8), None, -1, "i"),
    "floats": ([0.0, 1.0, 2.0], None, -1, "f"),
    "floats and nan": ([0.0, 1.0, 2.0], np.nan, np.nan, "f"),
    "strings": (NAMES, None, "abstain", "U"),
    "objects": (NAMES.astype(object), None, "abstain", "OU"),
    "strings by name": (NAMES, "?", "?", "U"),
    "numbers and a word": ([0, 1, 2], "human", "human", "O"),
    "words and a number": (NAMES, -1, -1, "O"),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_of_any_kind(case):
    labels, given, expected, kind = LABELS[case]
    y = np.asarray(labels)[Y]
    model = AbstainingClassifierCV(GaussianNB(), at_most=0.15, cv=HALVES, abstain_label=given)
    answers, accepted = model.fit(X, y).predict(X), model.accepts(X)
    assert answers.dtype.kind in kind
    assert set(answers[accepted].tolist()) == set(np.unique(y).tolist())
    left = answers[~accepted].tolist()
    assert left
    assert all(one == expected or one != one for one in left)
    right = GaussianNB().fit(X[:600], Y[:600]).predict(X) == Y
    assert model.score(X, y) == pytest.approx(np.mean(accepted & right))


def test_two_labels_that_are_true_and_false():
    model = AbstainingClassifierCV(GaussianNB(), at_most=0.1, cv=HALVES).fit(X, Y > 0)
    assert set(model.predict(X).tolist()) == {-1, 0, 1}


def test_clusters_are_not_cut_and_are_certified():
    rng = np.random.default_rng(0)
    member = rng.integers(150, size=1200)
    model = AbstainingClassifierCV(Given(), at_most=0.5, cv=0.25, random_state=3)
    proba = GaussianNB().fit(X, Y).predict_proba(X)
    model.fit(proba, Y, clusters=member)
    split = GroupShuffleSplit(1, test_size=0.25, random_state=3)
    train, test = next(split.split(X, Y, member))
    assert model.estimator_.n_rows_ == len(train)
    options = {"at_most": 0.5, "clusters": member[test]}
    expected = certified_threshold(Y[test], proba[test], **options)
    assert model.promise_ == expected._replace(threshold=model.thresholds_[0])
    with pytest.raises(ValueError, match="rows of the same cluster"):
        AbstainingClassifierCV(Given(), cv=HALVES).fit(proba, Y, clusters=member)


def test_rows_of_weight_zero_do_not_count():
    weights = np.ones(1200)
    weights[::3] = 0
    model = AbstainingClassifierCV(GaussianNB(), at_most=0.2, cv=HALVES)
    model.fit(X, Y, sample_weight=weights)
    rows = np.flatnonzero(weights)
    left = [tuple(np.searchsorted(rows, np.intersect1d(part, rows)) for part in HALVES[0])]
    other = clone(model).set_params(cv=left).fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X))
    assert model.promise_.n_accepted == other.promise_.n_accepted
    with pytest.raises(ValueError, match="positive for some of the rows that certify"):
        model.fit(X, Y, sample_weight=np.where(np.arange(1200) < 600, 1.0, 0.0))
    one = np.where(Y == 0, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"positive sample_weight; got only one class, \[0\]"):
        model.fit(X, Y, sample_weight=one)


def test_a_seed_makes_it_repeatable():
    first, second = (
        AbstainingClassifierCV(GaussianNB(), at_most=0.2, random_state=1).fit(X, Y) for _ in "ab"
    )
    assert first.promise_ == second.promise_
    for seeds in ([3, 3], map(np.random.default_rng, (3, 3))):
        one, two = (clone(first).set_params(random_state=seed).fit(X, Y) for seed in seeds)
        assert one.promise_ == two.promise_
    third = clone(first).set_params(random_state=2).fit(X, Y)
    assert third.promise_ != first.promise_
    copy = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(copy.predict(X), first.predict(X))


def test_searches_and_pipelines():
    models = [GaussianNB(), RecalibratedClassifierCV(GaussianNB(), "temperature")]
    search = GridSearchCV(
        AbstainingClassifierCV(at_most=0.25, random_state=0), {"estimator": models}, cv=3
    ).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() > 0.2
    pipeline = make_pipeline(StandardScaler(), clone(search.best_estimator_))
    assert cross_val_score(pipeline, X, Y, cv=3).mean() == pytest.approx(scores.max(), abs=0.05)
    inside = make_pipeline(StandardScaler(), LogisticRegression())
    model = AbstainingClassifierCV(inside, at_most=0.3, cv=HALVES)
    model.fit(X, Y, logisticregression__sample_weight=np.ones(1200))
    assert model.promise_.feasible


def test_metadata_are_routed():
    member, weights = np.arange(1200) // 4, np.ones(1200)
    weights[:600] = 2
    with sklearn.config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=True)
        split = GroupShuffleSplit(1, test_size=0.5, random_state=0).set_split_request(groups=True)
        model = AbstainingClassifierCV(inner, at_most=0.15, cv=split)
        model.set_fit_request(clusters=True).set_score_request(sample_weight=True)
        params = {"sample_weight": weights, "groups": member, "clusters": member}
        search = GridSearchCV(model, {"at_most": [0.3, 0.4]}, cv=2).fit(X, Y, **params)
        found = search.best_estimator_
    train, test = next(split.split(X, Y, member))
    other = GaussianNB().fit(X[train], Y[train], sample_weight=weights[train])
    options = {"at_most": found.at_most, "clusters": member[test]}
    proba = other.predict_proba(X[test])
    expected = certified_threshold(Y[test], proba, **options)
    assert found.promise_ == expected._replace(threshold=found.thresholds_[0])


def test_a_warning_where_nothing_can_be_promised():
    model = AbstainingClassifierCV(GaussianNB(), at_most=0.001, random_state=0)
    with pytest.warns(UserWarning, match="abstains from all rows. No threshold: a risk of at most"):
        model.fit(X, Y)
    assert not model.accepts(X).any()
    assert (model.predict(X) == -1).all()
    assert model.score(X, Y) == 0


BAD = {
    "a limit": ({"at_most": 5}, {}, "at_most must be above 0 and below 1; got 5"),
    "a level": ({"confidence_level": 0.4}, {}, "confidence_level must be above 0.5"),
    "folds": ({"cv": 5}, {}, "cv must give a single split, .* promise; got 5"),
    "a share": ({"cv": 1.5}, {}, "cv must be above 0 and below 1; got 1.5"),
    "text": ({"cv": "prefit"}, {}, "estimator=FrozenEstimator"),
    "rows in both": ({"cv": [(np.arange(700), np.arange(600, 1200))]}, {}, "cv must not let"),
    "a label that is used": ({"abstain_label": 2}, {}, "must be none of the labels of y; got 2"),
    "a list": ({"abstain_label": [1]}, {}, r"a number or a string; got \[1\]"),
    "no flag": ({"by_label": "yes"}, {}, "by_label must be True or False; got 'yes'"),
    "few clusters": ({}, {"clusters": [1, 2]}, "one label for each of the 1200 rows; got 2"),
    "weights": ({}, {"sample_weight": [1, 2]}, "sample_weight must have shape"),
    "groups": ({}, {"groups": Y}, "groups need metadata routing"),
    "no probabilities": ({"estimator": SVC()}, {}, "needs predict_proba"),
    "a class": ({"estimator": GaussianNB}, {}, "instance of a classifier"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    settings, params, message = BAD[case]
    model = AbstainingClassifierCV(**({"estimator": GaussianNB()} | settings))
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, **params)


def test_a_single_class():
    with pytest.raises(ValueError, match=r"at least two classes; got only one class, \[1.0\]"):
        AbstainingClassifierCV().fit(X, np.ones(1200))
    with pytest.raises(NotFittedError):
        AbstainingClassifierCV().predict(X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The classifier abstains")
def test_the_promise_holds_for_new_rows():
    """At most 5 % of 400 promises are broken, and 3 standard errors."""
    rng, broken = np.random.default_rng(0), 0
    for seed in range(400):
        x = rng.normal(size=(900, 2))
        y = (rng.random(900) < 1 / (1 + np.exp(-3 * x[:, 0]))).astype(int)
        model = AbstainingClassifierCV(GaussianNB(), at_most=0.1, random_state=seed).fit(x, y)
        if model.promise_.feasible:
            x = rng.normal(size=(100_000, 2))
            chance = 1 / (1 + np.exp(-3 * x[:, 0]))
            answers, accepted = model.predict(x), model.accepts(x)
            broken += np.where(answers == 1, 1 - chance, chance)[accepted].mean() > 0.1
    assert broken / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.filterwarnings("ignore")  # the checks try odd input on purpose
class TestEstimatorChecks:
    @pytest.mark.parametrize("by_label", [False, True])
    def test_where_all_rows_are_answered(self, by_label):
        run_checks(
            AbstainingClassifierCV(
                GaussianNB(), at_most=0.45, confidence_level=0.55, by_label=by_label
            )
        )

    def test_where_none_is(self):
        names, exceptions = list_failures(AbstainingClassifierCV(), at_least=50)
        assert names == set(EXPECTED["abstaining_checks"])
        assert all("Arrays are not equal" in str(exception) for exception in exceptions)
