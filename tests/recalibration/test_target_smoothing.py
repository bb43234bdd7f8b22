"""Platt's targets, of every recalibrator that offers them."""

import numpy as np
import pytest

from skcal.recalibration import DirichletCalibration, PlattScaling, VectorScaling
from tests.recalibration import family
from tests.recalibration.family import make, make_scores

SMOOTHED = [R for R in family.CLASSES if family.fit_labels(R)]
JOINT = [VectorScaling, DirichletCalibration]  # which map all classes together
# Options without which a fit does not come near to its targets.
FREE = {
    "ClosedTestRecalibration": {"alpha": 1 - 1e-9},
    "DirichletCalibration": {"off_diagonal_penalty": 0, "intercept_penalty": 0},
    "SplineRecalibration": {"penalty": 1e-12},
}
over_smoothed = pytest.mark.parametrize(
    ("R", "n_classes"), [*((R, 2) for R in SMOOTHED), *((R, 4) for R in JOINT)]
)


def find_targets(y, n_classes, weights):
    """Each row of class k, of n_k, belongs to the other classes by 1 / (n_k + 2) in all."""
    missed = 1 / (np.bincount(y, weights, minlength=n_classes)[y] + 2)
    targets = np.repeat(missed[:, None] / (n_classes - 1), n_classes, axis=1)
    targets[np.arange(len(y)), y] = 1 - missed
    return targets


@over_smoothed
def test_targets_are_weights_of_labels(R, n_classes):
    X, y = make_scores(n_classes, 90)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    found = make(R).fit(X, y, weights).predict_proba(X)
    shares = weights[:, None] * find_targets(y, n_classes, weights)
    rows, labels = np.repeat(X, n_classes, axis=0), np.tile(np.arange(n_classes), len(y))
    expected = make(R, target_smoothing=False).fit(rows, labels, shares.ravel()).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


@over_smoothed
@pytest.mark.parametrize("n_each", [1, 10, 1000])
def test_scores_that_are_always_right_are_taken_for_right_once_less(R, n_classes, n_each):
    """The rule of succession, where labels alone would give a probability of 1."""
    y = np.tile(np.arange(n_classes), n_each)
    X = 0.8 * np.eye(n_classes)[y] + 0.2 / n_classes
    proba = make(R, **FREE.get(R.__name__, {})).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba, find_targets(y, n_classes, None), rtol=0, atol=1e-6)


@pytest.mark.parametrize("R", SMOOTHED)
def test_wrong_or_right_always_at_any_scale_of_logits(R):
    for scale in (1e-3, 1, 1e4, 1e9):
        y = np.arange(40) % 2
        for sign in (1, -1):
            if sign > 0 and R.__name__ == "ClosedTestRecalibration":
                continue  # it keeps what is always right
            X = sign * scale * np.where(y == 1, 1.0, -1.0)[:, None]
            proba = make(R, input="logits").fit(X, y).predict_proba(X)[:, 1]
            assert ((proba > 0) & (proba < 1)).all()
            assert (np.abs(np.log(proba / (1 - proba))) < 5).all()


@pytest.mark.parametrize("n_events", [1, 3, 30])
def test_rare_events_are_given_up_to_a_part_of_a_row_more(n_events):
    """Means of probabilities of a sigmoid are those of the targets."""
    scores = np.random.default_rng(0).normal(size=(300, 1))
    y = np.arange(300) < n_events
    proba = PlattScaling(input="logits").fit(scores, y).predict_proba(scores)[:, 1]
    excess = 2 / (n_events + 2) - 2 / (302 - n_events)
    assert proba.sum() == pytest.approx(n_events + excess)
    assert 0 < excess <= 2 / (n_events + 2)
