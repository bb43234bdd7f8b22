"""Survival models that are recalibrated on rows that they have not seen."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold

from skcal._numerics.survival._censoring import spread_times
from skcal._numerics.survival._risk_curves import follow_curve
from skcal.survival import RecalibratedSurvivalCV, RiskRecalibration, aj_calibration
from tests.survival.toy_models import Constant

TIMES = np.array([0.2, 0.5, 1.0, 1.5])


def draw(seed, n=300):
    """Two features, the second of which says nothing, and outcomes of constant hazards."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(1.5, size=n)
    y = np.array(
        list(zip(time <= end, np.minimum(time, end), strict=True)),
        dtype=[("event", "?"), ("time", "f8")],
    )
    return X, y


def find_gap(model, X, y, times=TIMES):
    survival = [curve(times) for curve in model.predict_survival_function(X)]
    return aj_calibration(y["event"], y["time"], survival=survival, times=times).value


@pytest.mark.parametrize("wrong", [Constant(1.6), Constant(0.6), Constant(slope=2.5)])
def test_wrong_models_are_repaired(wrong):
    (X, y), (X_new, y_new) = draw(0, 1000), draw(1, 4000)
    plain, model = clone(wrong).fit(X, y), RecalibratedSurvivalCV(wrong, times=TIMES).fit(X, y)
    truth = np.exp(-np.exp(X_new[:, :1]) * TIMES)
    before = np.array([curve(TIMES) for curve in plain.predict_survival_function(X_new)])
    after = model.predict_survival_function(X_new, return_array=True)
    assert np.mean((after - truth) ** 2) < 0.3 * np.mean((before - truth) ** 2)
    if wrong.slope == 1:
        assert find_gap(model, X_new, y_new) < 0.3 * find_gap(plain, X_new, y_new)


def test_a_right_model_keeps_its_curves():
    (X, y), (X_new, _) = draw(0), draw(1)
    plain, model = Constant().fit(X, y), RecalibratedSurvivalCV(Constant(), times=TIMES).fit(X, y)
    before = np.array([curve(TIMES) for curve in plain.predict_survival_function(X_new)])
    after = model.predict_survival_function(X_new, return_array=True)
    assert np.abs(after - before).max() < 0.03


@pytest.mark.parametrize("cv", [None, 3, KFold(4)])
def test_it_is_the_recalibrator_of_curves_of_other_rows(cv):
    X, y = draw(0)
    model = RecalibratedSurvivalCV(Constant(1.5), times=TIMES, cv=cv, n_jobs=2).fit(X, y)
    splitter = cv
    if not isinstance(cv, KFold):
        splitter = StratifiedKFold(cv or 5, shuffle=True, random_state=0)
    risks = np.empty((len(y), len(TIMES)))
    for train, test in splitter.split(X, y["event"]):
        fold = Constant(1.5).fit(X[train], y[train])
        # The fold may have seen no time as late as some of these.
        reached = np.minimum(TIMES, fold.unique_times_[-1])
        risks[test] = [1 - curve(reached) for curve in fold.predict_survival_function(X[test])]
    recalibrator = RiskRecalibration(TIMES).fit(risks, y)
    np.testing.assert_array_equal(model.recalibrator_.intercepts_, recalibrator.intercepts_)
    full = Constant(1.5).fit(X, y)
    assert model.estimator_.level_ == full.level_
    own = [1 - curve(TIMES) for curve in full.predict_survival_function(X)]
    expected = recalibrator.transform(own)
    found = model.predict_survival_function(X, return_array=True)
    np.testing.assert_allclose(found, 1 - expected)
    np.testing.assert_allclose(model.predict(X), expected.mean(axis=1))


def test_a_frozen_model_is_not_fitted_again():
    (X, y), (X_new, y_new) = draw(0), draw(1)
    frozen = FrozenEstimator(Constant(2.0).fit(X, y))
    model = RecalibratedSurvivalCV(frozen, times=TIMES).fit(X_new, y_new)
    assert model.estimator_ is frozen
    risks = [1 - curve(TIMES) for curve in frozen.predict_survival_function(X_new)]
    expected = RiskRecalibration(TIMES).fit(risks, y_new).intercepts_
    np.testing.assert_array_equal(model.recalibrator_.intercepts_, expected)


def test_a_recalibrator_with_options():
    X, y = draw(0)
    settled = RiskRecalibration(TIMES, prior_rows=1e6)
    model = RecalibratedSurvivalCV(Constant(2.0), recalibrator=settled).fit(X, y)
    np.testing.assert_array_equal(model.unique_times_, TIMES)
    assert model.recalibrator_.weights_[0] > 0.999
    assert not hasattr(settled, "weights_")


def moved(own, *, before, after):
    """Own risks whose log odds get the correction of one time."""
    return expit(logit(own) + logit(after) - logit(before))


def test_curves_keep_the_steps_of_the_model():
    X, y = draw(0)
    model = RecalibratedSurvivalCV(Constant(2.0), times=TIMES).fit(X, y)
    curve, other = model.predict_survival_function(X[:2])
    values = model.predict_survival_function(X[:2], return_array=True)
    np.testing.assert_allclose(curve(TIMES), values[0])
    own = model.estimator_.predict_survival_function(X[:2])[1]
    early = [0.0, 0.01, 0.1, 0.2]
    ends = {"before": 1 - own(0.2), "after": 1 - values[1, 0]}
    np.testing.assert_allclose(1 - other(early), moved(1 - own(early), **ends))
    # Just before and after each step of the model, and nowhere else, the curve falls.
    steps = own.x[own.x < 1.5]
    gaps = (steps[:-1] + steps[1:]) / 2
    np.testing.assert_allclose(other(steps[1:]), other(np.minimum(np.append(gaps[1:], 1.5), 1.5)))
    assert (np.diff(other(gaps)) < 0).all()
    assert curve(0.0) == 1
    assert curve.domain == (0, 1.5)
    np.testing.assert_array_equal(curve.x, np.unique([0, *TIMES, *steps]))
    np.testing.assert_array_equal(curve.y, curve(curve.x))
    assert isinstance(curve(1.0), float)
    assert curve(np.ones((2, 3))).shape == (2, 3)
    for outside in (1.6, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"x must lie in \[0, 1.5\]"):
            curve(outside)


class Bent(BaseEstimator):
    """A known function of time, whose hazards rise, with all of its odds multiplied."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        return self

    def predict_survival_function(self, X):
        return [
            lambda t, rate=rate: 1 / (1 + self.factor * rate * np.square(t))
            for rate in np.exp(X[:, 0])
        ]


@pytest.mark.parametrize("times", [3, [3], [1.5, 3], [0.5, 1, 2, 3]])
def test_curves_before_a_horizon_are_those_of_the_model(times):
    """All odds are three times too high: one correction of the log odds repairs all times."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    odds = 1 / rng.random(2000) - 1
    y = np.column_stack([np.ones(2000), np.sqrt(odds / np.exp(X[:, 0]))])
    model = RecalibratedSurvivalCV(Bent(3.0), times=times).fit(X, y)
    places, new = np.linspace(0, 3, 61), np.linspace(-1.5, 1.5, 7)[:, None]
    found = np.array([one(places) for one in model.predict_survival_function(new)])
    truth = np.array([one(places) for one in Bent().predict_survival_function(new)])
    assert np.abs(found - truth).max() < 0.05
    assert (np.diff(found) < 0).all()


def follow(places, own, before, after):
    return follow_curve(np.array(places), np.array(own), np.array([1.0, 2]), before, after)


def test_corrections_between_times():
    before, after = np.array([0.2, 0.6]), np.array([0.3, 0.5])
    own = np.array([0.0, 0.1, 0.2, 0.2, 0.4, 0.6])
    found = follow([0.1, 0.5, 0.8, 1.0, 1.5, 2.0], own, before, after)
    first, last = logit(after) - logit(before)
    share = (logit(0.4) - logit(0.2)) / (logit(0.6) - logit(0.2))
    changes = np.array([first] * 4 + [first + share * (last - first), last])
    np.testing.assert_allclose(found, expit(logit(own) + changes))
    # While the own curve stands still, corrections are interpolated in time.
    still = follow([1.0, 1.25, 2.0], [0.2] * 3, np.array([0.2, 0.2]), after)
    np.testing.assert_allclose(logit(still), np.interp([0, 0.25, 1], [0, 1], logit(after)))


def test_corrections_beside_risks_of_0_and_1():
    found = follow([0.5, 1, 1.5, 2], [0, 0, 0.2, 0.4], np.array([0, 0.4]), np.array([0, 0.6]))
    np.testing.assert_allclose(found, [0, 0, moved(0.2, before=0.4, after=0.6), 0.6])
    found = follow([0.5, 1, 1.5, 2], [0.3, 0.4, 0.7, 1], np.array([0.4, 1]), np.array([0.6, 1]))
    expected = [moved(one, before=0.4, after=0.6) for one in (0.3, 0.4, 0.7)]
    np.testing.assert_allclose(found, [*expected, 1])
    assert follow([0.0], [0.1], np.array([0.4, 1]), np.array([0.6, 1])) == 0
    found = follow([0.5, 1, 1.5, 2], [0, 0, 0.7, 1], np.array([0, 1]), np.array([0, 1]))
    np.testing.assert_allclose(found, [0, 0, 0.7, 1])


def test_repaired_curves_never_fall():
    rng, places = np.random.default_rng(0), np.linspace(0, 2, 101)
    for _ in range(100):
        own = np.sort(rng.choice([0, 0.1, 0.3, 0.5, 0.8, 1, *rng.random(5)], 101))
        before, after = own[[50, 100]], np.sort(rng.choice([0, 0.2, 0.2, 0.9, 1], 2))
        found = follow(places, own, before, after)
        assert (np.diff(found) > -1e-12).all()
        np.testing.assert_allclose(found[[50, 100]], after)


def test_times_lie_among_events_while_rows_are_followed():
    """Of 20 rows at the times 1, 2, ... all that are even have an event.

    From 16 on each row stands for more than a tenth of all: 20/19 18/17 ... 6/5 = 2.1.
    """
    time, event = np.arange(1.0, 21), np.arange(20) % 2 == 1
    assert spread_times(event, time, 3).tolist() == [6, 10, 14]
    assert spread_times(event, time, 100).tolist() == [2, 4, 6, 8, 10, 12, 14]
    assert spread_times(event | True, time, 100).tolist() == np.arange(1, 20).tolist()
    assert len(spread_times(event & False, time, 3)) == 0
    X, y = draw(0)
    times = RecalibratedSurvivalCV(Constant()).fit(X, y).unique_times_
    assert len(times) == 20
    assert np.isin(times, y["time"][y["event"]]).all()
    assert np.mean(y["time"] >= times[-1]) >= 0.05


def test_tables_of_features_and_of_outcomes():
    X, y = draw(0)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = RecalibratedSurvivalCV(Constant(), times=TIMES).fit(table, y)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "b"]
    expected = model.predict(table)
    columns = np.column_stack([y["event"], y["time"]])
    for other in (columns, pd.DataFrame(columns, columns=["event", "time"]), columns.tolist()):
        found = RecalibratedSurvivalCV(Constant(), times=TIMES).fit(table, other).predict(table)
        np.testing.assert_array_equal(found, expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table), expected)


class Unweighted(Constant):
    """A model whose fit takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_weights_reach_both():
    X, y = draw(0)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    model = RecalibratedSurvivalCV(Constant(), times=TIMES).fit(X, y, weights)
    assert model.estimator_.level_ == Constant().fit(X, y, weights).level_
    with pytest.warns(UserWarning, match="Unweighted takes no sample_weight in fit"):
        other = RecalibratedSurvivalCV(Unweighted(), times=TIMES).fit(X, y, weights)
    assert other.estimator_.level_ == Constant().fit(X, y).level_
    plain = RecalibratedSurvivalCV(Unweighted(), times=TIMES).fit(X, y)
    assert (other.recalibrator_.log_losses_ != plain.recalibrator_.log_losses_).all()


def test_metadata_routing():
    X, y = draw(0)
    groups, weights = np.arange(len(y)) // 3, np.random.default_rng(0).integers(1, 3, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Constant().set_fit_request(sample_weight=True)
        splitter = sklearn.model_selection.GroupKFold(3)
        model = RecalibratedSurvivalCV(inner, times=TIMES, cv=splitter)
        model.fit(X, y, sample_weight=weights, groups=groups)
    splits = list(splitter.split(X, groups=groups))
    other = RecalibratedSurvivalCV(Constant(), times=TIMES, cv=splits).fit(X, y, weights)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


class Bare(BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RecalibratedSurvivalCV(Bare()), "^estimator must be a survival model with predict_surviv"),
        (RecalibratedSurvivalCV(Constant), "^estimator must be a survival model with predict_surv"),
        (
            RecalibratedSurvivalCV(Constant(), times=[2, 1]),
            "^times must be positive and increasing",
        ),
        (RecalibratedSurvivalCV(Constant(), times=[1e6]), "^times must not be later than the last"),
        (RecalibratedSurvivalCV(Constant(), cv=1), "^cv must be at least 2"),
        (
            RecalibratedSurvivalCV(Constant(), recalibrator=Constant()),
            "^recalibrator must be None or a RiskRecalibration without causes; got Constant",
        ),
        (
            RecalibratedSurvivalCV(Constant(), recalibrator=RiskRecalibration([1], causes=[1])),
            "^recalibrator must be None or a RiskRecalibration without causes",
        ),
        (
            RecalibratedSurvivalCV(Constant(), times=[1], recalibrator=RiskRecalibration([1])),
            "^times must be None with a recalibrator, which has its own",
        ),
    ],
)
def test_bad_options(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*draw(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda curves: np.ones((len(curves), 3)), "function of time for each row .* got ndarray"),
        (lambda curves: None, "function of time for each row .* got NoneType"),
        (lambda curves: curves[1:], r"function of time for each of \d+ rows .* got \d+\.$"),
        (lambda curves: [lambda t: 3 + 0 * t] * len(curves), r"must lie in \[0, 1\]; got 3.0"),
    ],
)
def test_bad_curves(change, message):
    class Bad(Constant):
        def predict_survival_function(self, X):
            return change(super().predict_survival_function(X))

    model = RecalibratedSurvivalCV(Bad(), times=[0.5, 1])
    with pytest.raises(ValueError, match=f"estimator must .*{message}|^survival curves.*{message}"):
        model.fit(*draw(0))
    assert not hasattr(model, "estimator_")


def test_bad_outcomes():
    X, y = draw(0)
    censored = y.copy()
    censored["event"] = False
    with pytest.raises(ValueError, match=r"^y must hold events after time 0 while 5 %"):
        RecalibratedSurvivalCV(Constant()).fit(X, censored)
    with pytest.raises(ValueError, match=r"^y must have two columns, event and time"):
        RecalibratedSurvivalCV(Constant()).fit(X, y["time"])
    model = RecalibratedSurvivalCV(Constant()).fit(X, y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    assert vars(model) == before
