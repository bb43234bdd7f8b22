"""AutoRecalibration tells what it could not fit, and which map may do harm."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from skcal.recalibration import (
    AutoRecalibration,
    BetaCalibration,
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.recalibration.family import make_features, make_scores
from tests.recalibration.fixed import Fixed


def test_members_that_cannot_be_fitted_are_left_out():
    X, y = make_scores(3)
    with pytest.warns(UserWarning, match=r"left out .*Fixed: no power"):
        fitted = AutoRecalibration([Fixed(0.0), "temperature"]).fit(X, y)
    assert fitted.weights_[1] == 0
    assert np.isnan(fitted.log_losses_[1])
    assert fitted.recalibrators_[0] is None
    expected = AutoRecalibration(["temperature"]).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("y", "weight", "options", "message"),
    [
        ([0, 1, 0], None, {}, "3 rows for 5 folds"),
        ([0] * 9, None, {"classes": [0, 1]}, "one class"),
        ([0, 1] * 9, [1.0] + [1e-9] * 17, {}, "weights, which count rows, with a sum of 1"),
    ],
)
def test_too_little_to_learn_from(y, weight, options, message):
    X = make_scores(2, len(y))[0]
    with pytest.warns(UserWarning, match=f"{message}: the scores are left unchanged"):
        fitted = AutoRecalibration(**options).fit(X, y, weight)
    np.testing.assert_array_equal(fitted.predict_proba(X), X)
    assert fitted.gain_ == 0


def test_certain_scores_that_are_wrong_cannot_be_gained_on_by_certain_maps():
    X, y = np.tile([[1.0, 0.0]], (20, 1)), np.r_[np.zeros(19, dtype=int), 1]
    fitted = AutoRecalibration([Fixed()]).fit(X, y)
    assert fitted.gain_ == 0


def test_a_few_rows_of_a_class_and_hard_zeros():
    """Folds without a class, certain scores that are wrong: probabilities stay in (0, 1)."""
    rng = np.random.default_rng(0)
    X = np.eye(3)[rng.integers(0, 3, 60)]
    y = np.r_[np.arange(59) % 2, 2]
    proba = AutoRecalibration().fit(X, y).predict_proba(X)
    assert ((proba > 0) & (proba < 1)).all()


@pytest.mark.parametrize(("n_classes", "ensemble"), [(2, True), (3, False)])
def test_classifiers_without_probabilities(n_classes, ensemble):
    X, y = make_features(n_classes)
    by_name = RecalibratedClassifierCV(LinearSVC(), ensemble=ensemble).fit(X, y)
    assert by_name.response_method_ == "decision_function"
    explicit = AutoRecalibration(input="logits")
    expected = RecalibratedClassifierCV(LinearSVC(), explicit, ensemble=ensemble).fit(X, y)
    np.testing.assert_array_equal(by_name.predict_proba(X), expected.predict_proba(X))


class Probabilities(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_map_that_harms_is_told(ensemble):
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([1, 1], 500)
    y = (rng.random(500) < truth[:, 1]).astype(int)
    extreme = truth**4 / (truth**4).sum(axis=1, keepdims=True)

    def fit(recalibrator, X):
        RecalibratedClassifierCV(Probabilities(), recalibrator, ensemble=ensemble).fit(X, y)

    with pytest.warns(UserWarning, match="Fixed raises the log loss .* AutoRecalibration"):
        fit(Fixed(4.0), truth)
    with pytest.warns(UserWarning, match="IsotonicRecalibration raises the Brier score"):
        fit(IsotonicRecalibration(), truth)
    for recalibrator in (None, TemperatureScaling(), BetaCalibration(), IsotonicRecalibration()):
        fit(recalibrator, extreme)  # they help, and warnings are errors
    fit(None, truth)


class Choosy(Fixed):
    """Cannot be fitted to some numbers of rows."""

    def __init__(self, refused=(), *, power=1.0, input="proba", classes=None):
        super().__init__(power, input=input, classes=classes)
        self.refused = refused

    def _fit(self, scores, codes, sample_weight):
        if len(codes) in self.refused:
            raise ValueError(f"{len(codes)} rows")


def test_a_member_that_fails_at_last():
    X, y = make_scores(2, 100)
    with pytest.warns(UserWarning, match="left out .*Choosy: 100 rows"):
        fitted = AutoRecalibration([Choosy((100,), power=0.5), "temperature"]).fit(X, y)
    assert fitted.weights_[1] == 0
    assert fitted.weights_.sum() == pytest.approx(1)
    assert fitted.recalibrators_[0] is None
    with pytest.warns(UserWarning, match="left out .*Choosy: 100 rows"):
        fitted = AutoRecalibration([Choosy((100,), power=0.5)], prior_rows=1e-6).fit(X, y)
    np.testing.assert_array_equal(fitted.weights_, [1, 0])  # though the rows refute the scores


def test_harm_is_not_told_where_a_map_cannot_be_fitted_to_a_part():
    X, y = make_scores(2, 100)
    map_of_all = Choosy((80,), power=4.0)
    RecalibratedClassifierCV(Probabilities(), map_of_all, ensemble=False).fit(X, y)
    with pytest.warns(UserWarning, match="raises the log loss"):
        RecalibratedClassifierCV(Probabilities(), Fixed(4.0), ensemble=False).fit(X, y)


@pytest.mark.slow
def test_folds_know_nothing_of_the_outcomes():
    """Equal shares of classes in all folds would make maps of a constant gain p (1 - p) / n."""
    rng = np.random.default_rng(0)
    X, gains = np.full((100, 2), 0.5), []
    for _ in range(80):
        y = (rng.random(100) < 0.5).astype(int)
        gains.append(AutoRecalibration(["platt"], prior_rows=1e-6).fit(X, y).gain_)
    gains = np.array(gains)
    assert gains.mean() < 2 * gains.std() / np.sqrt(80)


def test_recalibrators_without_weights_are_tried_for_harm_too():
    X, y = make_features(2)
    model = RecalibratedClassifierCV(GaussianNB(), KNeighborsClassifier(25), ensemble=False)
    assert model.fit(X, y).predict_proba(X).shape == (150, 2)
