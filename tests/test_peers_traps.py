"""Errors that other calibration packages have made, one test each, with what went wrong there."""

import pickle
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from scipy.special import expit, logit

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import bootstrap_interval
from skcal.metrics import smooth_ece
from skcal.recalibration import PlattScaling, TemperatureScaling
from tests.recalibration.family import CLASSES, make, make_scores


def make_rows(seed=0, n=500):
    rng = np.random.default_rng(seed)
    proba = rng.random(n)
    return (rng.random(n) < proba**1.5).astype(int), proba


def test_empty_bins_drawn_as_calibrated():
    # Bins without rows were drawn on the diagonal, as if somebody had looked.
    display = ReliabilityDisplay.from_predictions(
        [0, 1, 1], [0.05, 0.35, 0.95], kind="binned", n_bins=10
    )
    np.testing.assert_allclose(display.prob_pred, [0.05, 0.35, 0.95])
    assert set(zip(*display.line_.get_data(), strict=True)) >= {(0.05, 0.0), (0.95, 1.0)}
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
    model = TemperatureScaling(input="logits").fit(logits, y)
    row = np.array([[0.75]])
    batch = np.concatenate([row, [[-7.0], [7.0]]])
    assert model.predict_proba(row)[0] == pytest.approx(model.predict_proba(batch)[0], abs=1e-15)


def test_platt_scaling_fitted_on_probabilities():
    # The logistic regression was fitted on probabilities, where Platt's method takes scores on the
    # scale of logits: it could then not even keep probabilities that were right.
    truth = np.linspace(0.002, 0.998, 400)
    rows = np.repeat(expit(0.5 * logit(truth) - 1), 2)[:, None]
    y, weight = np.tile([0, 1], 400), np.column_stack([1 - truth, truth]).ravel()
    fitted = PlattScaling(target_smoothing=False).fit(rows, y, sample_weight=weight)
    np.testing.assert_allclose(fitted.predict_proba(rows[::2])[:, 1], truth, atol=1e-6)


def test_settings_of_the_process_changed():
    # Importing or drawing changed rcParams and the warning filters of everybody else.
    before = (
        dict(mpl.rcParams),
        list(warnings.filters),
        np.geterr(),
        np.random.get_state()[1].copy(),  # noqa: NPY002
    )
    display = ReliabilityDisplay.from_predictions(*make_rows(), n_resamples=20, random_state=0)
    bootstrap_interval("smooth_ece", *make_rows(), n_resamples=10)
    assert dict(mpl.rcParams) == before[0]
    assert list(warnings.filters) == before[1]
    assert np.geterr() == before[2]
    np.testing.assert_array_equal(np.random.get_state()[1], before[3])  # noqa: NPY002
    mpl.pyplot.close(display.figure_)


@pytest.mark.parametrize("R", CLASSES, ids=lambda R: R.__name__)
def test_training_rows_kept_in_the_estimator(R):
    # Fitted objects held the rows that they were fitted on, and went to production with them.
    n = 8000
    scores, y = make_scores(2, n_samples=n)
    scores = np.round(scores[:, :1], 3)  # at most 1001 distinct values, whatever the number of rows
    scores = np.column_stack([scores, 1 - scores])
    size = len(pickle.dumps(make(R).fit(scores, y)))
    assert size < scores.nbytes / 2
