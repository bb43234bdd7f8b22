"""Errors that other calibration packages have made, one test each, with what went wrong there."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, logit

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_ece
from skcal.recalibration import PlattScaling, TemperatureScaling
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
