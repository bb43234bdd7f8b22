"""Refinements: proper scores of a calibrated model, on fixed folds, in which all rows take part."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from skcal.recalibration import IsotonicRecalibration, PlattScaling, TemperatureScaling
from skcal.refinement import brier_refinement, log_loss_refinement

REFINEMENTS = {
    "brier": (brier_refinement, brier_score_loss),
    "log": (log_loss_refinement, log_loss),
}
each = pytest.mark.parametrize(("refinement", "score"), REFINEMENTS.values(), ids=REFINEMENTS)
V = np.random.default_rng(0).uniform(0.02, 0.98, 4000)
Y = (np.random.default_rng(1).random(4000) < V).astype(int)


@each
def test_what_recalibration_leaves(refinement, score):
    """Of distorted log odds the score of the calibrated model, but for what is learned."""
    best = score(Y, V)
    for distorted in (expit(3 * logit(V)), expit(0.3 * logit(V) + 1), 1 - V):
        proba = np.column_stack([1 - distorted, distorted])
        assert refinement(Y, proba) == pytest.approx(best, rel=2e-3)
        assert score(Y, distorted) > 1.02 * best
    assert type(refinement(Y, V)) is float
    # A constant leaves the uncertainty.
    assert refinement(Y, np.full(4000, 0.2)) == pytest.approx(
        score(Y, np.full(4000, Y.mean())), rel=2e-3
    )


@each
def test_it_is_a_cross_fit(refinement, score):
    """Near that of scikit-learn's folds; in-sample isotonic regression would find much less."""
    y, v = Y[:300], V[:300]
    proba, out = np.column_stack([1 - v, v]), np.empty(300)
    for train, test in KFold(5, shuffle=True, random_state=0).split(proba, y):
        out[test] = PlattScaling().fit(proba[train], y[train]).predict_proba(proba[test])[:, 1]
    assert refinement(y, v) == pytest.approx(score(y, out), rel=0.03)
    isotonic = IsotonicRecalibration(min_proba=1e-3)
    in_sample = score(y, isotonic.fit(proba, y).predict_proba(proba)[:, 1])
    assert refinement(y, v, recalibrator=isotonic) > 1.03 * in_sample
    assert refinement(y, v, cv=10) == pytest.approx(refinement(y, v), rel=0.03)


@each
def test_rows_and_weights(refinement, score):
    """The order of rows does not matter, weight zero is absence, and weights count in the score."""
    y, v, weights = Y[:300], V[:300], np.tile([1.0, 2.0, 3.0], 100)
    order = np.random.default_rng(2).permutation(300)
    expected = refinement(y, v, sample_weight=weights)
    found = refinement(y[order], v[order], sample_weight=weights[order])
    assert found == pytest.approx(expected, rel=1e-9)
    assert expected != refinement(y, v)
    half = np.tile([1.0, 0.0], 150)
    rest = np.where(half, y, 1), np.where(half, v, 0.0)
    assert refinement(*rest, sample_weight=half) == refinement(y[::2], v[::2])
    temperature = {"recalibrator": TemperatureScaling()}  # Platt's targets read counts of rows
    found = refinement(y, v, sample_weight=np.full(300, 7.0), **temperature)
    assert found == pytest.approx(refinement(y, v, **temperature), rel=1e-9)


@each
def test_labels_and_classes(refinement, score):
    y, v = Y[:300], V[:300]
    names, expected = np.where(y == 1, "yes", "no"), refinement(y, v)
    assert refinement(names, v, pos_label="yes") == expected
    both = np.column_stack([v, 1 - v])
    assert refinement(names, both, labels=["yes", "no"], pos_label="yes") == expected
    rng = np.random.default_rng(3)
    logits = 2 * rng.normal(size=(3000, 3))
    y3 = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    best = softmax(logits, axis=1)
    squares = ((best - np.eye(3)[y3]) ** 2).sum(axis=1).mean()
    expected = log_loss(y3, best) if score is log_loss else squares
    found = refinement(y3, softmax(2 * logits, axis=1))
    assert found == pytest.approx(expected, rel=2e-3)
    found = refinement(y3, best, recalibrator=TemperatureScaling(), pos_label=2)
    assert found == refinement((y3 == 2).astype(int), best[:, 2], recalibrator=TemperatureScaling())


@each
def test_what_cannot_be_learned_stays(refinement, score):
    """From one class, or one row, nothing is learned."""
    v = np.array([0.5, 0.8, 0.9])
    losses = (1 - v) ** 2 if score is brier_score_loss else -np.log(v)
    assert refinement([1, 1, 1], v, labels=[0, 1]) == pytest.approx(losses.mean())
    assert refinement([1], v[1:2]) == pytest.approx(losses[1])
    # The fold of the only 1 learns from a single class; all others learn from both.
    found = refinement([0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.9])
    assert np.isfinite(found)


@each
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"cv": 2.5}, "cv must be an integer; got 2.5"),
        ({"recalibrator": PlattScaling}, "recalibrator must be None, a name"),
        ({"recalibrator": PlattScaling(input="logits")}, "recalibrator must read probabilities"),
        (
            {"recalibrator": make_pipeline(PlattScaling(input="logits"))},
            "recalibrator must read probabilities",
        ),
        ({"y_true": [0, 0.5, 1], "pos_label": 1}, "y_true must hold labels; soft labels"),
        ({"y_proba": [0.1, np.nan, 0.2]}, r"y_proba must lie in \[0, 1\]; got nan at row 1"),
    ],
)
def test_arguments_that_are_refused(refinement, score, options, message):
    with pytest.raises(ValueError, match=message):
        refinement(**{"y_true": [0, 1, 1], "y_proba": [0.2, 0.4, 0.7]} | options)
