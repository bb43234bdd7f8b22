"""scikit-learn's estimator checks, whose y is one column: events and times are made of it."""

import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skcal.survival import RecalibratedSurvivalCV, RiskRecalibration
from tests.recalibration.test_estimator_checks import (
    for_each,
    list_causes,
    list_failures,
    run_checks,
)
from tests.survival.toy_models import Constant

pytestmark = pytest.mark.filterwarnings("ignore")  # the checks try odd input on purpose
TIMES = np.array([0.2, 0.5, 0.8])


def make_outcomes(y):
    """Events from 0.4 to 1.4, and rows that are censored before."""
    y = np.asarray(y, dtype=np.float64)
    is_event = np.sin(5 * y) < 0.5
    return np.column_stack([is_event, np.where(is_event, 0.4, 0) + np.abs(np.sin(3 * y)) / 4 + 0.1])


class OnValidRisks(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Features are mapped row by row to risks, and y to outcomes."""

    def __init__(self, recalibrator):
        self.recalibrator = recalibrator

    def __sklearn_tags__(self):
        tags = get_tags(self.recalibrator)
        tags.target_tags.one_d_labels, tags.target_tags.two_d_labels = True, False
        return tags

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self.recalibrator_ = clone(self.recalibrator)
        self.recalibrator_.fit(self._map(X), make_outcomes(y), sample_weight)
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.recalibrator_.transform(self._map(X))

    def _map(self, X):
        risks = 0.3 + 0.2 * np.sin(X).mean(axis=1, keepdims=True) * np.ones(3)
        risks = np.cumsum(risks, axis=1) / 2
        n_kinds = 1 if self.recalibrator.causes is None else len(self.recalibrator.causes)
        return np.tile(risks / n_kinds, n_kinds)


class OnOutcomes(MetaEstimatorMixin, BaseEstimator):
    """The estimator gets X as it is, and outcomes that are made of y."""

    def __init__(self, estimator, cv=2):
        self.estimator = estimator
        self.cv = cv  # which checks of weights choose

    def __sklearn_tags__(self):
        tags = get_tags(self.estimator)
        tags.target_tags.one_d_labels, tags.target_tags.two_d_labels = True, False
        return tags

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, y_numeric=True)
        estimator = clone(self.estimator).set_params(cv=self.cv)
        self.estimator_ = estimator.fit(X, make_outcomes(y), sample_weight)
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.estimator_.predict(X)


@for_each(
    [OnValidRisks(RiskRecalibration(TIMES)), OnValidRisks(RiskRecalibration(TIMES, causes=[1, 2]))]
)
def test_on_valid_risks(estimator):
    run_checks(estimator)


@for_each([OnOutcomes(RecalibratedSurvivalCV(Constant(), times=TIMES))])
def test_on_outcomes(estimator):
    run_checks(estimator)


REASON = re.compile("(X|y) must (have|hold|lie)|Complex data not supported")


@pytest.mark.parametrize(
    ("estimator", "n_passed"),
    [
        (RiskRecalibration(TIMES), 16),
        (RecalibratedSurvivalCV(Constant(), times=TIMES, cv=2), 12),
    ],
)
def test_bare_objects_fail_for_one_cause(estimator, n_passed):
    """Checks send features for risks, and one column for outcomes, which are refused."""
    for exception in list_failures(estimator, at_least=n_passed)[1]:
        assert any(REASON.search(str(cause)) for cause in list_causes(exception)), exception
