"""Internal validation of survival models beside survival_calibration of their risks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skcal._sources._refits import deal_folds
from skcal.model_selection import internal_survival_validation
from skcal.survival import RecalibratedSurvivalCV, survival_calibration
from tests.survival.toy_models import Constant

TIMES = np.array([0.5, 1.0])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
_TIME, _END = RNG.exponential(np.exp(-X[:, 0])), RNG.uniform(0.3, 6, size=150)
Y = np.column_stack([_TIME <= _END, np.minimum(_TIME, _END)])
# The first event alone.
LONE = np.column_stack([np.arange(150) == np.flatnonzero(Y[:, 0])[0], np.ones(150)])
MODEL, FEW = Constant(factor=1.3), {"times": TIMES, "n_resamples": 10, "random_state": 0}


def predict(model, features):
    return np.array([1 - curve(TIMES) for curve in model.predict_survival_function(features)])


def list_values(risk, rows=slice(None)):
    """By name of the measure, as `survival_calibration` has them."""
    event, time = Y[rows].T
    horizons = survival_calibration(
        event, time, risk, times=TIMES, n_resamples=19, random_state=0
    ).horizons
    names = {"slope": "slope", "observed_expected_ratio": "ratio", "smooth_ece": "smooth_ece"}
    return {
        f"{name}_at_{one.horizon:g}": getattr(one, field).estimate
        for one in horizons
        for name, field in names.items()
    }


@pytest.fixture(scope="module")
def validation():
    return internal_survival_validation(MODEL, X, Y, method="cv", **FEW)


def test_measures_are_those_of_survival_calibration(validation):
    """Apparent of the model of all rows, corrected of the pooled risks of one set of folds."""
    apparent = {name: one.apparent for name, one in validation.measures.items()}
    assert apparent == pytest.approx(list_values(predict(clone(MODEL).fit(X, Y), X)))
    kinds = ((Y[:, 0] == 1) & (Y[:, 1] <= 1)).astype(int)
    risk = np.empty((150, 2))
    rng = np.random.default_rng(np.random.RandomState(0)._bit_generator)
    for train, test in deal_folds(kinds, None, None, 10, rng):
        risk[test] = predict(clone(MODEL).fit(X[train], Y[train]), X[test])
    corrected = {name: one.corrected.estimate for name, one in validation.measures.items()}
    assert corrected == pytest.approx(list_values(risk))


def test_optimism_by_hand():
    found = internal_survival_validation(
        MODEL, X, Y, times=TIMES, method="optimism", n_resamples=2, random_state=3
    )
    rng, optimism = np.random.default_rng(np.random.RandomState(3)._bit_generator), []
    for _ in range(2):
        rows = rng.integers(150, size=150)
        rng.integers(150, size=150)
        risk = predict(clone(MODEL).fit(X[rows], Y[rows]), X)
        own, others = list_values(risk[rows], rows), list_values(risk)
        optimism.append([own[name] - others[name] for name in own])
    values = [one.optimism for one in found.measures.values()]
    np.testing.assert_allclose(values, np.mean(optimism, axis=0))


def test_the_record(validation):
    assert list(validation.to_frame().index[:3]) == [
        "slope_at_0.5",
        "observed_expected_ratio_at_0.5",
        "smooth_ece_at_0.5",
    ]
    assert str(validation).startswith("No test set was used: 10 models of folds of the same 150")
    assert "slope_at_1" in validation._repr_html_()
    for one in validation.measures.values():
        assert one.corrected.low < one.corrected.estimate < one.corrected.high


def test_recalibrated_models_are_validated_as_a_whole():
    model = RecalibratedSurvivalCV(Constant(factor=3.0), times=TIMES)
    found = internal_survival_validation(model, X, Y, **FEW)
    assert found.method == "cv"
    # Three times the hazard is far off; what is left of it is not.
    raw = internal_survival_validation(Constant(factor=3.0), X, Y, **FEW).measures
    assert raw["observed_expected_ratio_at_1"].corrected.high < 0.8
    assert found.measures["observed_expected_ratio_at_1"].corrected.low < 1
    assert found.measures["observed_expected_ratio_at_1"].corrected.high > 1


@pytest.mark.parametrize(
    ("model", "y", "options", "error"),
    [
        (None, Y, {}, "estimator must be an instance of a survival model with predict_surv"),
        (FrozenEstimator(clone(MODEL).fit(X, Y)), Y, {}, "estimator must hold no FrozenEstimator"),
        (MODEL, Y, {"times": [9.0]}, "times must not be later than the last time"),
        (MODEL, Y, {"times": [-1.0]}, "times must be positive"),
        (MODEL, Y, {"method": "boot"}, "method must be one of"),
        (MODEL, Y * [0, 1], {"times": [0.2]}, "y must hold rows with the event"),
        (MODEL, Y[:, 0], {}, "y must have two columns"),
        *(
            (MODEL, Y * LONE, {"method": method}, "y must hold each outcome in two")
            for method in ("cv", "optimism")
        ),
    ],
)
def test_bad_arguments(model, y, options, error):
    with pytest.raises(ValueError, match=rf"^{error}"):
        internal_survival_validation(model, X, y, **FEW | options)
