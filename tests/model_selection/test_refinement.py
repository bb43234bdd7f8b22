"""Where to stop: stages of a training, and metrics called as boosting libraries call them."""

import inspect
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import brier_score_loss, log_loss

from skcal.model_selection import refinement_metric, stop_by_refinement
from skcal.recalibration import (
    IsotonicRecalibration,
    PlattScaling,
    TemperatureScaling,
)
from skcal.refinement import brier_refinement, log_loss_refinement, refinement_decomposition

rng = np.random.default_rng(0)
V = rng.uniform(0.02, 0.98, 2000)
Y = (rng.random(2000) < V).astype(int)
WEIGHTS = rng.uniform(0.5, 2, 2000)
NAMED = np.where(Y == 1, "yes", "no")
NOISE = rng.normal(size=2000)


def two_columns(v):
    return np.column_stack([1 - v, v])


# More and more is learned, and log odds grow: the log loss is smallest in the middle.
STAGES = [
    expit(factor * (logit(V) + noise * NOISE))
    for factor, noise in [(0.5, 2.0), (1.0, 1.0), (2.0, 0.5), (4.0, 0.0), (4.0, 0.4)]
]


@pytest.mark.parametrize("loss", [pytest.param("log", marks=pytest.mark.slow), "brier"])
@pytest.mark.parametrize("cv", [None, 5])
def test_stages_of_known_quality(loss, cv):
    score, refinement = {
        "log": (log_loss, log_loss_refinement),
        "brier": (brier_score_loss, brier_refinement),
    }[loss]
    stop = stop_by_refinement(STAGES, Y, loss=loss, cv=cv)
    assert stop.best_stage == 3
    assert type(stop.best_stage) is int
    np.testing.assert_allclose(stop.losses, [score(Y, v) for v in STAGES], rtol=1e-12)
    assert stop.losses.argmin() < 3
    crossed = [refinement(Y, v) for v in STAGES]
    if cv is None:
        fitted = [PlattScaling().fit(two_columns(v), Y) for v in STAGES]
        found = [m.predict_proba(two_columns(v))[:, 1] for m, v in zip(fitted, STAGES, strict=True)]
        np.testing.assert_allclose(stop.refinements, [score(Y, v) for v in found], rtol=1e-9)
        assert (stop.refinements < crossed).all()
    else:
        np.testing.assert_allclose(stop.refinements, crossed, rtol=1e-12)


def test_stages_are_read_one_by_one():
    """No stage but the last is held while the next one is predicted."""
    seen = []

    def predict_stages():
        for v in STAGES:
            assert all(stage() is None for stage in seen[:-1])
            proba = two_columns(v)
            seen.append(weakref.ref(proba))
            yield proba
            del proba

    stop = stop_by_refinement(predict_stages(), NAMED, labels=["no", "yes"])
    assert stop.best_stage == stop_by_refinement(STAGES, Y).best_stage
    assert stop_by_refinement([STAGES[0]] * 3, Y).best_stage == 0
    assert stop_by_refinement(np.array(STAGES), Y).best_stage == 3


def test_weights_labels_and_classes():
    expected = stop_by_refinement(STAGES, Y, sample_weight=WEIGHTS)
    named = [two_columns(v)[:, ::-1] for v in STAGES]
    found = stop_by_refinement(
        named, NAMED, sample_weight=WEIGHTS, labels=["yes", "no"], pos_label="yes"
    )
    np.testing.assert_allclose(found.refinements, expected.refinements, rtol=1e-9)
    losses = [log_loss(Y, v, sample_weight=WEIGHTS) for v in STAGES]
    np.testing.assert_allclose(expected.losses, losses, rtol=1e-12)
    assert (expected.refinements != stop_by_refinement(STAGES, Y).refinements).all()
    X, y = make_classification(1000, 10, n_informative=6, n_classes=3, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=30, learning_rate=0.5).fit(X[:400], y[:400])
    stop = stop_by_refinement(model.staged_predict_proba(X[400:]), y[400:])
    assert len(stop.losses) == 30
    assert stop.losses[-1] == pytest.approx(log_loss(y[400:], model.predict_proba(X[400:])))
    assert (stop.refinements <= stop.losses + 1e-9).all()


def test_a_row_of_hardly_any_weight_may_be_refuted():
    """Its loss is infinite, and so is the mean, however small the weight."""
    y, v, weights = np.arange(40) % 2, np.linspace(0.1, 0.9, 40), np.ones(40)
    v[-1], weights[[0, -1]] = 0, (1e200, 1e-200)
    assert stop_by_refinement([v], y, sample_weight=weights).losses[0] == np.inf
    cross = refinement_decomposition(y, v, sample_weight=weights, loss="log")
    assert cross.total == np.inf


def test_recalibrators():
    isotonic = IsotonicRecalibration(min_proba=1e-3)
    reversed_stages = [1 - v for v in STAGES]
    platt = stop_by_refinement(reversed_stages, Y)
    found = stop_by_refinement(reversed_stages, Y, recalibrator=isotonic)
    assert found.refinements.min() > platt.refinements.min() + 0.1  # it cannot turn round
    assert platt.best_stage == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"staged_proba": []}, "staged_proba must hold at least one stage; it is empty"),
        ({"staged_proba": iter(())}, "staged_proba must hold at least one stage; it is empty"),
        ({"staged_proba": 0.5}, "staged_proba must be an iterable of arrays .*; got 0.5"),
        ({"staged_proba": "proba"}, "staged_proba must be an iterable of arrays .*; got 'proba'"),
        ({"staged_proba": {"a": [0.5]}}, "staged_proba must be an iterable of arrays .*; got {'a'"),
        (
            {"staged_proba": pd.DataFrame({"a": [0.5]})},
            "staged_proba must be an iterable of arrays",
        ),
        ({"staged_proba": [[0.1, 0.2, 0.3], [0.1, 1.2, 0.3]]}, "Stage 1 of staged_proba must lie"),
        ({"staged_proba": [[0.1, np.nan, 0.3]]}, "Stage 0 of staged_proba must lie .* got nan"),
        ({"staged_proba": [[0.1, 0.2, 0.3], [0.1, 0.2]]}, "y and Stage 1 .* the same length"),
        ({"staged_proba": [[[0.2, 0.3, 0.5]] * 3]}, "y has 2 labels, .* Stage 0 .* has 3 columns"),
        ({"y": [0, 1]}, "y and Stage 0 of staged_proba must have the same length"),
        ({"y": [1, 1, 1]}, "y must hold at least two different labels"),
        ({"y": [0, 0.5, 1], "pos_label": 1}, "y must hold labels; soft labels"),
        ({"loss": "auc"}, "loss must be one of 'brier', 'log'; got 'auc'"),
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"recalibrator": PlattScaling}, "recalibrator must be None, a name"),
    ],
)
def test_stages_that_are_refused(arguments, message):
    given = {"staged_proba": [[0.1, 0.2, 0.3]], "y": [0, 1, 1]}
    with pytest.raises(ValueError, match=message):
        stop_by_refinement(**given | arguments)


# ------------------------------------------------------------------------------------- metrics


class DataSet:
    """What `xgboost.train` and `lightgbm.train` hand over beside the predictions."""

    def __init__(self, label, weight):
        self.label, self.weight = label, weight

    def get_label(self):
        return self.label

    def get_weight(self):
        return self.weight


# Labels are float32 in both libraries, predictions float32 in XGBoost and float64 in LightGBM.
LABELS = Y.astype(np.float32)
P3 = np.random.default_rng(1).dirichlet(np.ones(3), 500)
Y3 = np.array([np.random.default_rng(k).choice(3, p=p) for k, p in enumerate(P3)])


def test_metric_of_xgboost():
    """XGBClassifier calls metric(y_true, y_score) or (y_true, y_score, sample_weight=...)."""
    metric = refinement_metric("xgboost")
    assert metric.__name__ == "log_loss_refinement"
    assert refinement_metric("xgboost", loss="brier").__name__ == "brier_refinement"
    proba = STAGES[2].astype(np.float32)
    expected = stop_by_refinement([proba], Y).refinements[0]
    assert metric(LABELS, proba) == expected
    assert type(metric(LABELS, proba)) is float
    weighted = stop_by_refinement([proba], Y, sample_weight=WEIGHTS).refinements[0]
    assert metric(LABELS, proba, sample_weight=WEIGHTS) == weighted
    # xgboost.train calls metric(predictions, data), with empty weights where there are none.
    for weight, value in ((np.empty(0, np.float32), expected), (WEIGHTS, weighted)):
        found = metric(proba, DataSet(LABELS, weight))
        assert found == ("log_loss_refinement", value)
    expected = stop_by_refinement([P3], Y3).refinements[0]
    assert metric(Y3.astype(np.float32), P3) == expected


def test_metric_of_lightgbm():
    """LGBMClassifier counts the arguments, and calls metric(y_true, y_pred, weight)."""
    metric = refinement_metric("lightgbm", loss="brier")
    assert len(inspect.signature(metric).parameters) == 3
    expected = stop_by_refinement([STAGES[2]], Y, loss="brier").refinements[0]
    assert metric(LABELS, STAGES[2], None) == ("brier_refinement", expected, False)
    weighted = stop_by_refinement([P3], Y3, loss="brier", sample_weight=WEIGHTS[:500])
    found = metric(Y3.astype(np.float32), P3, WEIGHTS[:500])
    assert found == ("brier_refinement", weighted.refinements[0], False)
    assert metric(P3, DataSet(Y3.astype(np.float32), WEIGHTS[:500])) == found
    assert metric(STAGES[2], DataSet(LABELS, None))[1] == expected


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_metrics_have_options_and_are_copied(library):
    options = {"recalibrator": TemperatureScaling(), "cv": 5}
    metric = refinement_metric(library, **options)
    (expected,) = stop_by_refinement([P3], Y3, **options).refinements
    for twin in (metric, pickle.loads(pickle.dumps(metric)), clone(metric, safe=False)):
        found = twin(Y3, P3)
        assert (found if library == "xgboost" else found[1]) == expected
    # An evaluation set may miss classes, or hold a single one.
    found = refinement_metric(library)(Y3[Y3 != 1], P3[Y3 != 1])
    assert np.isfinite(found if library == "xgboost" else found[1])
    alone = refinement_metric(library)(np.zeros(9), np.full(9, 0.25))
    assert (alone if library == "xgboost" else alone[1]) == pytest.approx(-np.log(0.75))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"library": "catboost"}, "library must be one of 'lightgbm', 'xgboost'; got 'catboost'"),
        ({"loss": "auc"}, "loss must be one of 'brier', 'log'; got 'auc'"),
        ({"cv": 0}, "cv must be at least 2; got 0"),
        ({"recalibrator": "plat"}, r"recalibrator must be one of.*Did you mean 'platt'"),
    ],
)
def test_metrics_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        refinement_metric(**{"library": "xgboost"} | arguments)


def test_raw_margins_are_refused():
    with pytest.raises(ValueError, match=r"y_proba must lie in \[0, 1\]"):
        refinement_metric("xgboost")(LABELS, logit(V))
