"""Scorers of regressors: values, searches, weights, messages."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal import regression
from skcal.scorers import make_distribution_scorer

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = X[:, 0] + rng.normal(size=90)
WEIGHT = rng.uniform(0.1, 3, 90)
LEVELS = [0.1, 0.5, 0.9]
CRPS = regression.continuous_ranked_probability_score


class Spread(RegressorMixin, BaseEstimator):
    """Standard normal distributions of another width, in all ways of saying so."""

    def __init__(self, std=1.0):
        self.std = std

    def fit(self, X, y):
        self.n_ = len(y)
        return self

    def predict(self, X, return_std=False):
        mean = X[:, 0]
        return (mean, np.full(len(X), self.std)) if return_std else mean

    def pred_dist(self, X):
        return norm(X[:, 0], self.std)

    def predict_quantiles(self, X, levels=(0.5,)):
        return np.column_stack([self.pred_dist(X).ppf(level) for level in levels])


MODEL = Spread(0.5).fit(X, Y)
LAW = MODEL.pred_dist(X)


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        (make_distribution_scorer(CRPS), -CRPS(Y, LAW)),
        (make_distribution_scorer(CRPS, greater_is_better=True), CRPS(Y, LAW)),
        (make_distribution_scorer("pit_calibration_error", response="pred_dist", norm=2),
         -regression.pit_calibration_error(Y, LAW, norm=2)),
        (make_distribution_scorer("pinball_loss", response="predict_quantiles",
                                  response_params={"levels": LEVELS}, quantiles=LEVELS),
         -regression.pinball_loss(Y, LAW.ppf(np.reshape(LEVELS, (3, 1))).T, quantiles=LEVELS)),
        (make_distribution_scorer("expected_normalized_calibration_error", n_bins=1),
         -regression.expected_normalized_calibration_error(Y, X[:, 0], y_std=[0.5] * 90, n_bins=1)),
        (make_distribution_scorer(lambda y, v, **more: np.mean(v) * more["k"], response="predict",
                                  k=3), -3 * X[:, 0].mean()),
    ],
)  # fmt: skip
def test_a_score_is_the_measure_of_what_is_predicted(scorer, expected):
    assert scorer(MODEL, X, Y) == pytest.approx(expected, rel=1e-12)


def test_weights_reach_the_measure():
    scorer = make_distribution_scorer(CRPS)
    expected = -CRPS(Y, LAW, sample_weight=WEIGHT)
    assert scorer(MODEL, X, Y, sample_weight=WEIGHT) == pytest.approx(expected)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = make_distribution_scorer(CRPS).set_score_request(sample_weight=True)
        folds = cross_validate(
            Spread(), X, Y, scoring=asked, cv=3, params={"sample_weight": WEIGHT}
        )
    plain = cross_val_score(Spread(), X, Y, scoring=make_distribution_scorer(CRPS), cv=3)
    assert np.all(folds["test_score"] != plain)


def test_a_search_finds_the_right_spread():
    scorers = {"crps": make_distribution_scorer(CRPS), "r2": "r2"}
    grid = {"std": [0.2, 1.0, 4.0]}
    search = GridSearchCV(Spread(), grid, scoring=scorers, refit="crps", cv=3).fit(X, Y)
    assert search.best_params_ == {"std": 1.0}
    assert len(set(search.cv_results_["mean_test_r2"])) == 1
    for model in (BayesianRidge(), make_pipeline(StandardScaler(), BayesianRidge())):
        values = cross_val_score(model, X, Y, scoring=scorers["crps"], cv=3)
        assert np.all((values > -1) & (values < -0.3))  # 0.56 for the true spread
    quantile = GradientBoostingRegressor(loss="quantile", alpha=0.9, n_estimators=2)
    scorer = make_distribution_scorer("pinball_loss", response="predict", quantiles=0.9)
    assert np.all(cross_val_score(quantile, X, Y, scoring=scorer, cv=3) < 0)


def test_copies():
    scorer = make_distribution_scorer("pit_calibration_error", response="pred_dist", norm=2)
    expected = "make_distribution_scorer(pit_calibration_error, response='pred_dist', norm=2)"
    assert repr(scorer) == expected
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)):
        assert copy(MODEL, X, Y) == scorer(MODEL, X, Y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"measure": "crps"}, ValueError, "measure must be one of"),
        ({"measure": 3}, ValueError, "measure must be a function or its name; got 3"),
        ({"response": None}, ValueError, 'response must be "std" or the name of a method; got'),
        ({"response_params": [1]}, ValueError, "response_params must be None or a dictionary"),
        ({"greater_is_better": 1}, ValueError, "greater_is_better must be True or False; got 1"),
        ({"norm": 2}, TypeError, "has no option 'norm'"),
        ({"sample_weight": WEIGHT}, TypeError, "cannot be options of a scorer"),
    ],
)
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        make_distribution_scorer(**{"measure": CRPS} | options)


def test_estimators_without_the_method():
    model = LinearRegression().fit(X, Y)
    with pytest.raises(TypeError, match=r"LinearRegression.predict must take X and .*return_std"):
        make_distribution_scorer(CRPS)(model, X, Y)
    with pytest.raises(TypeError, match="LinearRegression has no method pred_dist"):
        make_distribution_scorer(CRPS, response="pred_dist")(model, X, Y)
    scorer = make_distribution_scorer("expected_normalized_calibration_error", response="predict")
    with pytest.raises(ValueError, match="needs a mean and a standard deviation; predict gave nda"):
        scorer(model, X, Y)
