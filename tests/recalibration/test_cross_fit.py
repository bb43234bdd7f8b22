"""CrossFitProba: a transformer whose training output is out-of-fold; see also test_folds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.recalibration import CrossFitProba, TemperatureScaling
from tests.recalibration.family import make_features


@pytest.fixture
def data():
    return make_features(3)


def test_training_output_is_out_of_fold(data):
    X, y = data
    names = np.array(["ant", "bee", "cat"])
    weights = np.random.default_rng(1).integers(1, 4, 150)
    cross_fit = CrossFitProba(GaussianNB(), cv=4)
    out = cross_fit.fit_transform(X, names[y], sample_weight=weights)
    params = {"sample_weight": weights}
    expected = cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba", params=params)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(cross_fit.classes_, names)
    on_all = GaussianNB().fit(X, y, sample_weight=weights).predict_proba(X)
    np.testing.assert_array_equal(cross_fit.transform(X), on_all)
    again = CrossFitProba(GaussianNB()).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(again.transform(X), on_all)


def test_names_of_the_output(data):
    X, y = data
    cross_fit = CrossFitProba(RidgeClassifier(), method="decision_function")
    assert cross_fit.fit_transform(X, y == 1).shape == (150, 1)
    assert list(cross_fit.get_feature_names_out()) == ["crossfitproba_True"]
    frame = pd.DataFrame(X, columns=list("abcd"))
    cross_fit = CrossFitProba(GaussianNB()).set_output(transform="pandas")
    out = cross_fit.fit_transform(frame, y)
    names = [f"crossfitproba_{k}" for k in range(3)]
    assert list(out.columns) == list(cross_fit.get_feature_names_out(list("abcd"))) == names
    with pytest.raises(ValueError, match=r"number of features \(4\), got 3"):
        cross_fit.get_feature_names_out(list("abc"))
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        cross_fit.get_feature_names_out(list("abdc"))


def test_frozen_estimator_is_not_fitted_again(data):
    X, y = data
    fitted = GaussianNB().fit(X[:60], y[:60])
    model = make_pipeline(CrossFitProba(FrozenEstimator(fitted)), TemperatureScaling())
    model.fit(X[60:], y[60:])
    direct = TemperatureScaling().fit(fitted.predict_proba(X[60:]), y[60:])
    expected = direct.predict_proba(fitted.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "predict"}, "method must be one of 'predict_proba', 'decision_function'"),
        ({"estimator": RidgeClassifier()}, "RidgeClassifier has no predict_proba"),
    ],
)
def test_bad_options(data, options, message):
    for method in ("fit", "fit_transform"):
        with pytest.raises(ValueError, match=message):
            getattr(CrossFitProba(**options), method)(*data)
