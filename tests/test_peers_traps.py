"""Errors that other calibration packages have made, one test each, with what went wrong there."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_ece
from skcal.recalibration import PlattScaling, RecalibratedClassifierCV, TemperatureScaling
from tests.recalibration.family import CLASSES, make, make_scores


def test_empty_bins_drawn_as_calibrated():
    # Bins without rows were drawn on the diagonal, as if somebody had looked.
    rows = [0, 1, 1], [0.05, 0.35, 0.95]
    display = ReliabilityDisplay.from_predictions(*rows, kind="binned", n_bins=10)
    np.testing.assert_allclose(display.prob_pred, [0.05, 0.35, 0.95])
    np.testing.assert_allclose(display.line_.get_xydata()[[0, -1]], [[0.05, 0], [0.95, 1]])
    assert len(display.line_.get_xdata()) == 3


@pytest.mark.parametrize("error", [0.3, 0.01, 0.0017, 0.0004])
def test_bisection_stopped_at_a_thousandth(error):
    # The search of the bandwidth ended at a width of 0.001, which is the size of the answer. Where
    # all predictions are equal it is the mean residual for every bandwidth.
    n = 10_000
    y = np.arange(n) < round(n * (0.5 + error))
    assert smooth_ece(y, np.full(n, 0.5)) == pytest.approx(error, abs=2e-6)


def test_logits_or_probabilities_guessed_batch_by_batch():
    # Inputs inside [0, 1] were taken for probabilities, others for logits, anew in each batch, so
    # that the answer for a row depended on its neighbours.
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3, size=(400, 1))
    y = (rng.random(400) < expit(logits[:, 0] / 2)).astype(int)
    predict = TemperatureScaling(input="logits").fit(logits, y).predict_proba
    alone, beside = predict([[0.75]])[0], predict([[0.75], [-7.0], [7.0]])[0]
    assert alone == pytest.approx(beside, abs=1e-15)


def test_platt_scaling_fitted_on_probabilities():
    # The logistic regression was fitted on probabilities, where Platt's method takes scores on the
    # scale of logits: it could then not even keep probabilities that were right.
    truth = np.linspace(0.002, 0.998, 400)
    rows = np.repeat(expit(0.5 * logit(truth) - 1), 2)[:, None]
    y, weight = np.tile([0, 1], 400), np.column_stack([1 - truth, truth]).ravel()
    fitted = PlattScaling(target_smoothing=False).fit(rows, y, sample_weight=weight)
    np.testing.assert_allclose(fitted.predict_proba(rows[::2])[:, 1], truth, atol=1e-6)


@pytest.mark.parametrize("R", CLASSES, ids=lambda R: R.__name__)
def test_training_rows_kept_in_the_estimator(R):
    # Fitted objects held the rows that they were fitted on, and went to production with them.
    n = 8000
    scores, y = make_scores(2, n_samples=n)
    scores = np.round(scores[:, :1], 3)  # at most 1001 distinct values, whatever the number of rows
    scores = np.column_stack([scores, 1 - scores])
    size = len(pickle.dumps(make(R).fit(scores, y)))
    assert size < scores.nbytes / 2


def test_a_class_without_calibration_rows_erased():
    # A class that the model knows and the rows for calibration lack came out with a probability of
    # about 0 for every row (scikit-learn pads it with zeros, its pull request 29449).
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) + 2 * np.eye(3, 2)[y := np.arange(600) % 3]
    model = FrozenEstimator(LogisticRegression().fit(X[:300], y[:300]))
    few = np.flatnonzero((y < 2) & (np.arange(600) >= 300))
    repaired = RecalibratedClassifierCV(model)
    with pytest.warns(UserWarning, match=r"No row is of .*\[2\]: its probability stays unchanged"):
        repaired.fit(X[few], y[few])
    before, after = (one.predict_proba(X)[:, 2] for one in (model, repaired))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_weights_that_sum_to_one_flatten_a_sigmoid(unit):
    # Platt's targets count rows: by weights with a sum of 1, .1 and .9 became .42 and .58.
    X, y = np.repeat([0.1, 0.9], 100)[:, None], np.tile(np.arange(10), 20) < np.repeat([1, 9], 100)
    expected = PlattScaling().fit(X, y).predict_proba([[0.1], [0.9]])[:, 1]
    for weights in (np.full(200, unit / 200), np.full(200, 1 / 3)):
        found = PlattScaling().fit(X, y, sample_weight=weights).predict_proba([[0.1], [0.9]])[:, 1]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(expected, [0.1, 0.9], atol=0.02)
