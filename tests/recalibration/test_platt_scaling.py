"""PlattScaling: closed forms, the optimum, agreement with scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skcal.recalibration import BetaCalibration, PlattScaling, SplineRecalibration
from tests.recalibration.family import make_scores


def test_known_sigmoid_is_found():
    """Labels in the exact proportions of expit(2 s - 1)."""
    s = np.linspace(-2, 2, 9)
    proba = expit(2 * s - 1)
    X, y, weights = np.repeat(s, 2)[:, None], np.tile([0, 1], 9), np.c_[1 - proba, proba].ravel()
    fitted = PlattScaling(input="logits", target_smoothing=False).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(fitted.maps_[0], [2, -1], rtol=1e-9)
    np.testing.assert_allclose(fitted.transform(s[:, None]).ravel(), proba, atol=1e-10)


def test_smoothed_targets_have_a_closed_form_for_two_scores():
    """Two distinct scores are fitted exactly: each gets its mean target."""
    s, y = np.repeat([-1.0, 1.0], [4, 6])[:, None], np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
    high, low = (6 + 1) / (6 + 2), 1 / (4 + 2)
    expected = [(3 * low + high) / 4, (low + 5 * high) / 6]
    fitted = PlattScaling(input="logits").fit(s, y)
    np.testing.assert_allclose(fitted.transform([[-1], [1]]).ravel(), expected, atol=1e-10)
    plain = PlattScaling(input="logits", target_smoothing=False).fit(s, y)
    np.testing.assert_allclose(plain.transform([[-1], [1]]).ravel(), [1 / 4, 5 / 6], atol=1e-10)


def test_minimises_the_log_loss():
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    fitted = PlattScaling(target_smoothing=False).fit(X, y, sample_weight=weights)

    def loss(parameters):
        proba = expit(parameters[0] * logit(X[:, 1]) + parameters[1])
        return log_loss(y, proba, sample_weight=weights)

    best = minimize(loss, [1, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert loss(fitted.maps_[0]) <= best.fun + 1e-14
    np.testing.assert_allclose(fitted.maps_[0], best.x, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_agrees_with_scikit_learn(n_classes):
    """Sigmoids of scikit-learn on decision functions, that is on each class's own logit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.integers(0, n_classes, 600)
    X[:, 0] += y
    model = LogisticRegression().fit(X[:100], y[:100])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(X[100:], y[100:])
    scores = model.decision_function(X).reshape(len(X), -1)
    if n_classes == 2:
        ours = PlattScaling(input="logits").fit(scores[100:], y[100:])
        np.testing.assert_allclose(ours.predict_proba(scores), theirs.predict_proba(X), atol=1e-6)
        return
    parts = [
        PlattScaling(input="logits")
        .fit(column[100:, None], y[100:] == k)
        .transform(column[:, None])
        for k, column in enumerate(scores.T)
    ]
    parts = np.hstack(parts)
    expected = theirs.predict_proba(X)
    np.testing.assert_allclose(parts / parts.sum(axis=1, keepdims=True), expected, atol=1e-6)


def test_several_classes_are_mapped_by_their_log_odds_against_the_rest():
    X, y = make_scores(3)
    parts = np.hstack(
        [PlattScaling().fit(X[:, [k]], y == k).transform(X[:, [k]]) for k in range(3)]
    )
    np.testing.assert_allclose(
        PlattScaling().fit(X, y).predict_proba(X),
        parts / parts.sum(axis=1, keepdims=True),
        atol=1e-9,
    )


def test_target_smoothing_keeps_separable_classes_moderate():
    scores, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    smooth = PlattScaling(input="logits").fit(scores, y).transform(scores)
    assert smooth.max() < 0.95
    hard = PlattScaling(input="logits", target_smoothing=False).fit(scores, y)
    np.testing.assert_allclose(hard.transform(scores).ravel(), y, atol=1e-12)
    assert np.isfinite(hard.maps_[0]).all()


def test_bad_option():
    with pytest.raises(ValueError, match="target_smoothing must be True or False; got 'yes'"):
        PlattScaling(target_smoothing="yes").fit([[0.2], [0.8]], [0, 1])


@pytest.mark.parametrize("R", [PlattScaling, BetaCalibration, SplineRecalibration])
def test_small_probabilities_of_either_class_are_exact(R):
    """1 - p has no digits left where p is next to 1."""
    s = np.linspace(-4, 4, 41)
    X = np.concatenate([s, s])[:, None]
    weights = np.concatenate([expit(s), expit(-s)])
    fitted = R(input="logits").fit(X, np.repeat([1, 0], 41), sample_weight=weights)
    proba = fitted.predict_proba([[60.0], [-60.0]])
    smallest = proba.min(axis=1)
    np.testing.assert_array_equal(proba.argmin(axis=1), [0, 1])
    np.testing.assert_allclose(np.log(smallest[0]), np.log(smallest[1]), rtol=1e-6)
    assert (np.log(smallest) > -70).all()
