"""Survival models with the interface of scikit-survival."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data


class Step:
    """A function of time that is constant after each of its times, up to the last one."""

    def __init__(self, x, y):
        self.x, self.y, self.domain = x, y, (0.0, float(x[-1]))

    def __call__(self, times):
        assert np.min(times) >= 0
        assert np.max(times) <= self.x[-1]
        return np.append(1.0, self.y)[np.searchsorted(self.x, times, side="right")]


class Constant(BaseEstimator):
    """Hazards are constant in time; their logarithm is the first feature times `slope`.

    The level is that of the fitted rows times `factor`. Curves are steps at the fitted times.
    """

    def __init__(self, factor=1.0, slope=1.0):
        self.factor = factor
        self.slope = slope

    def fit(self, X, y, sample_weight=None):
        X = validate_data(self, X)
        event, time = (y[name] for name in y.dtype.names) if y.dtype.names else np.asarray(y).T
        weights = np.ones(len(time)) if sample_weight is None else sample_weight
        expected = weights @ (time * self._find_hazard(X))
        self.level_ = self.factor * (weights @ event) / expected
        self.unique_times_ = np.unique(time)
        return self

    def predict_survival_function(self, X):
        check_is_fitted(self)
        hazards = self.level_ * self._find_hazard(validate_data(self, X, reset=False))
        curves = np.exp(-hazards[:, None] * self.unique_times_)
        return np.array([Step(self.unique_times_, curve) for curve in curves])

    def _find_hazard(self, X):
        return np.exp(self.slope * np.clip(X[:, 0], -20, 20))
