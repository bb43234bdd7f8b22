"""RecalibratedRegressorCV: what is fitted on which rows, against a loop by hand."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_regression
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_predict,
    train_test_split,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal.recalibration import TemperatureScaling
from skcal.regression import (
    ConformalInterval,
    QuantileRecalibration,
    RecalibratedRegressorCV,
    StandardDeviationScaling,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = X[:, 0] + rng.normal(size=90)
WEIGHTS = rng.integers(1, 4, 90)
PAST, NEW = slice(60), slice(60, None)


class Band(RegressorMixin, BaseEstimator):
    """Predicts as many columns as told, the first two a band around the first feature."""

    def __init__(self, n_columns=2):
        self.n_columns = n_columns

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.column_stack([X[:, 0] + k for k in range(self.n_columns)])

    def __sklearn_is_fitted__(self):
        return True


class Shortened(BayesianRidge):
    """Has no answer for the last row."""

    def predict(self, X, return_std=False):
        return super().predict(X[:-1], return_std)


def test_recalibrator_learns_from_out_of_fold_predictions():
    splits = KFold(4, shuffle=True, random_state=0)
    model = RecalibratedRegressorCV(Ridge(), ConformalInterval(0.8), cv=splits).fit(X, Y)
    held_out = cross_val_predict(Ridge(), X, Y, cv=splits)
    by_hand, final = ConformalInterval(0.8).fit(held_out[:, None], Y), Ridge().fit(X, Y)
    assert model.recalibrator_.margin_ == by_hand.margin_
    np.testing.assert_array_equal(model.predict(X), final.predict(X))
    expected = by_hand.predict_interval(final.predict(X)[:, None])
    np.testing.assert_array_equal(model.predict_interval(X), expected)
    assert model.n_features_in_ == 3


def test_width_and_coverage_of_mapie():
    """Strategy "split" of WIDTHS and COVERAGES in mapie/tests/test_regression.py of MAPIE 1."""
    features, y = make_regression(n_samples=500, n_features=10, noise=1.0, random_state=1)
    halves = ShuffleSplit(n_splits=1, test_size=0.5, random_state=1).split(features)
    fit, held_out = next(halves)
    regressor = FrozenEstimator(LinearRegression().fit(features[fit], y[fit]))
    model = RecalibratedRegressorCV(regressor, ConformalInterval(0.95))
    low, high = model.fit(features[held_out], y[held_out]).predict_interval(features).T
    assert np.mean(high - low) == pytest.approx(3.89, abs=5e-3)
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.956)


class TwoQuantiles(RegressorMixin, BaseEstimator):
    """Linear quantiles at both ends of an interval of this level."""

    def __init__(self, level):
        self.level = level

    def fit(self, X, y):
        ends = (1 - self.level) / 2, (1 + self.level) / 2
        self.models_ = [QuantileRegressor(quantile=q, alpha=0).fit(X, y) for q in ends]
        return self

    def predict(self, X):
        return np.column_stack([model.predict(X) for model in self.models_])


@pytest.mark.parametrize(
    ("level", "width", "coverage"),
    [
        (0.8, 2.7360884795455576, 0.834),
        (0.7, 2.185652142101473, 0.738),
        (0.6, 1.731718678152845, 0.646),
    ],
)
def test_quantile_regression_of_mapie(level, width, coverage):
    """WIDTHS and COVERAGES in mapie/tests/test_quantile_regression.py of MAPIE 1.5.

    Left out: the level of 0.2, where quantiles cross, which is an error here.
    """
    features, y = make_regression(n_samples=500, n_features=10, noise=1.0, random_state=1)
    X_fit, X_held_out, y_fit, y_held_out = train_test_split(
        features, y, test_size=0.5, random_state=1
    )
    regressor = FrozenEstimator(TwoQuantiles(level).fit(X_fit, y_fit))
    model = RecalibratedRegressorCV(regressor, ConformalInterval(level, input="interval"))
    low, high = model.fit(X_held_out, y_held_out).predict_interval(features).T
    assert np.mean(high - low) == pytest.approx(width, rel=1e-8)
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(coverage)


@pytest.mark.parametrize(
    "recalibrator", [StandardDeviationScaling("crps"), QuantileRecalibration()]
)
def test_distributions_of_a_frozen_regressor(recalibrator):
    fitted = BayesianRidge().fit(X[PAST], Y[PAST])
    coefficients = fitted.coef_.copy()
    model = RecalibratedRegressorCV(FrozenEstimator(fitted), recalibrator).fit(X[NEW], Y[NEW])
    columns = np.column_stack(fitted.predict(X, return_std=True))
    by_hand = recalibrator.fit(columns[NEW], Y[NEW])
    for found, expected in (
        (model.predict(X, return_std=True), by_hand.predict(columns, return_std=True)),
        (model.predict_quantiles(X, [0.2, 0.7]), by_hand.predict_quantiles(columns, [0.2, 0.7])),
        (model.predict_interval(X, 0.5), by_hand.predict_interval(columns, 0.5)),
        (model.predict_distribution(X).mean(), by_hand.predict_distribution(columns).mean()),
    ):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(fitted.coef_, coefficients)


def test_intervals_of_a_regressor_with_two_columns():
    model = RecalibratedRegressorCV(Band(), ConformalInterval(input="interval")).fit(X, Y)
    bare = ConformalInterval(input="interval").fit(Band().predict(X), Y)
    np.testing.assert_array_equal(model.predict_interval(X), bare.transform(Band().predict(X)))


def test_default_depends_on_what_the_regressor_predicts():
    process = GaussianProcessRegressor(alpha=1.0)
    for regressor in (process, make_pipeline(StandardScaler(), process), FrozenEstimator(process)):
        model = RecalibratedRegressorCV(regressor)
        assert hasattr(model, "predict_quantiles")
        assert hasattr(model, "predict_distribution")
    model = RecalibratedRegressorCV(make_pipeline(StandardScaler(), process)).fit(X, Y)
    assert type(model.recalibrator_) is StandardDeviationScaling
    for regressor in (None, Ridge()):
        model = RecalibratedRegressorCV(regressor).fit(X, Y)
        assert type(model.recalibrator_) is ConformalInterval
        assert not hasattr(model, "predict_quantiles")
        assert not hasattr(model, "predict_distribution")
    assert type(RecalibratedRegressorCV().fit(X, Y).estimator_) is LinearRegression


def test_weights_go_to_both_or_to_the_recalibrator_with_a_warning():
    splits = KFold(3)
    model = RecalibratedRegressorCV(Ridge(), cv=splits).fit(X, Y, sample_weight=WEIGHTS)
    held_out = np.concatenate(
        [
            Ridge().fit(X[train], Y[train], sample_weight=WEIGHTS[train]).predict(X[test])
            for train, test in splits.split(X)
        ]
    )
    by_hand = ConformalInterval().fit(held_out[:, None], Y, sample_weight=WEIGHTS)
    assert model.recalibrator_.margin_ == by_hand.margin_
    np.testing.assert_array_equal(model.predict(X), Ridge().fit(X, Y, WEIGHTS).predict(X))
    neighbours = RecalibratedRegressorCV(KNeighborsRegressor(), cv=splits)
    with pytest.warns(UserWarning, match="KNeighborsRegressor takes no sample_weight in fit"):
        neighbours.fit(X, Y, sample_weight=WEIGHTS)
    held_out = cross_val_predict(KNeighborsRegressor(), X, Y, cv=splits)
    by_hand = ConformalInterval().fit(held_out[:, None], Y, sample_weight=WEIGHTS)
    assert neighbours.recalibrator_.margin_ == by_hand.margin_


def test_groups_come_to_the_splitter():
    groups = np.arange(90) % 4
    model = RecalibratedRegressorCV(Ridge(), cv=GroupKFold(4))
    with config_context(enable_metadata_routing=True):
        model.fit(X, Y, groups=groups)
    held_out = cross_val_predict(Ridge(), X, Y, cv=[*GroupKFold(4).split(X, Y, groups)])
    assert model.recalibrator_.margin_ == ConformalInterval().fit(held_out[:, None], Y).margin_
    with pytest.raises(ValueError, match="groups need metadata routing"):
        model.fit(X, Y, groups=groups)


def test_tables_searches_and_copies():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    options = {"recalibrator": [ConformalInterval(0.5), ConformalInterval(0.8)]}
    search = GridSearchCV(RecalibratedRegressorCV(Ridge(), n_jobs=1), options, cv=2).fit(table, Y)
    model = search.best_estimator_
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(table), model.predict_interval(table))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": Ridge}, "estimator must be None or an instance of a regressor"),
        ({"recalibrator": "conformal"}, "recalibrator must be None or a recalibrator of regress"),
        ({"recalibrator": TemperatureScaling()}, "recalibrator must be None or a recalibrator of"),
        ({"cv": [([0, 1], [2, 3])]}, "cv must put every row into exactly one test fold"),
        (
            {"recalibrator": QuantileRecalibration()},
            r"QuantileRecalibration needs a regressor with predict\(X, return_std=True\), which L",
        ),
        (
            {"recalibrator": ConformalInterval(input="interval")},
            r"LinearRegression must give low and high, two columns.*shape \(18, 1\)",
        ),
        ({"estimator": PCA()}, r"estimator must be a regressor; got PCA\(\), which has no predict"),
        (
            {"estimator": Shortened(), "recalibrator": ConformalInterval()},
            r"for each of the 18 rows of X; got .* shape \(17,\) from Shortened",
        ),
        (
            {"estimator": Shortened(), "recalibrator": StandardDeviationScaling()},
            r"for each of the 18 rows of X; got .* shape \(17, 2\) from Shortened",
        ),
        ({"estimator": Band(3)}, r"predict of Band must give one number .* got .* shape \(18, 3\)"),
    ],
)
def test_what_cannot_be_recalibrated(options, message):
    with pytest.raises(ValueError, match=message):
        RecalibratedRegressorCV(**options).fit(X, Y)


def test_targets_and_arguments_of_predictions():
    for y, message in (
        (np.append(Y[:-1], np.nan), "y contains NaN"),
        ([np.inf, -np.inf] * 45, "y contains infinity"),
        (["a"] * 90, "y must hold .*numbers"),
        (Y[:-1], "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message):
            RecalibratedRegressorCV().fit(X, y)
    model = RecalibratedRegressorCV().fit(X, Y)
    with pytest.raises(ValueError, match=r"return_std must be False for .* ConformalInterval; got"):
        model.predict(X, return_std=True)
    with pytest.raises(ValueError, match="confidence_level must be None for ConformalInterval"):
        model.predict_interval(X, confidence_level=0.5)


@pytest.mark.slow
def test_conformal_intervals_of_a_frozen_regressor_cover_their_level():
    """In 1000 splits: on average at least the level, over held-out and new rows."""
    draws, found = np.random.default_rng(1), []
    regressor = FrozenEstimator(Ridge().fit(X, Y))
    for _ in range(1000):
        features = draws.normal(size=(50, 3))
        y = features[:, 0] + draws.standard_t(2, size=50)
        model = RecalibratedRegressorCV(regressor, ConformalInterval(0.8)).fit(features[1:], y[1:])
        low, high = model.predict_interval(features[:1])[0]
        found.append(low <= y[0] <= high)
    assert abs(np.mean(found) - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 1000)
