"""Lets scikit-learn's unmodified checks, which send features, run on a bare recalibrator."""

from typing import ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tests.recalibration.family import lay_out


class OnValidInput(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Asks a recalibrator about features, which `_map` makes valid."""

    def transform(self, X):
        return self._ask("transform", X)

    def predict(self, X):
        return self._ask("predict", X)

    def score(self, X, y, sample_weight=None):
        return self._ask("score", X, y, sample_weight=sample_weight)

    def _ask(self, method, X, *others, **named):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=self._dtype)
        return getattr(self.recalibrator_, method)(self._map(X), *others, **named)


class OnValidScores(OnValidInput):
    """Map features row by row to class scores, by a map that never sees the data or y.

    The recalibrator gets y and the weights untouched, and its answers are handed back as they are.
    """

    _dtype: ClassVar = [np.float64, np.float32]

    def __init__(self, recalibrator, one_column=False, cv=None):
        self.recalibrator = recalibrator
        self.one_column = one_column
        self.cv = cv  # splits of a recalibrator that has folds, which checks of weights choose

    def __sklearn_tags__(self):
        tags = get_tags(self.recalibrator)
        tags.array_api_support = False  # the map is NumPy's
        tags.classifier_tags.poor_score = True  # the map keeps little of what the features tell
        return tags

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=self._dtype)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.recalibrator_ = clone(self.recalibrator)
        if self.cv is not None and hasattr(self.recalibrator, "cv"):
            self.recalibrator_.set_params(cv=self.cv)
        self.recalibrator_.fit(self._map(X), y, **weights)
        return self

    def predict_proba(self, X):
        return self._ask("predict_proba", X)

    def _map(self, X):
        n_classes = len(self.classes_)
        row, column = np.ogrid[: X.shape[1], :n_classes]
        # These numbers make the scores better than chance on all data of the checks but one.
        phase = 1.5 + 3.9 * row + 2.6 * column - 1.3 * row * column
        scores = np.cos(0.6 * X[:, :, np.newaxis] + phase.astype(X.dtype)).mean(axis=1)
        if self.recalibrator.input == "proba":
            scores = softmax(scores, axis=1)
        return scores[:, 1:] if self.one_column and n_classes == 2 else scores


class OnValidPredictions(OnValidInput):
    """The same for recalibrators of regressors: features are mapped to predictions."""

    _dtype = np.float64

    def __init__(self, recalibrator):
        self.recalibrator = recalibrator

    def __sklearn_tags__(self):
        tags = get_tags(self.recalibrator)
        tags.regressor_tags.poor_score = True
        tags.input_tags.allow_nan = False
        return tags

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=self._dtype, y_numeric=True)
        self.recalibrator_ = clone(self.recalibrator)
        self.recalibrator_.fit(self._map(X), y, sample_weight=sample_weight)
        return self

    def _map(self, X):
        mean, std = X.mean(axis=1), 0.1 + np.abs(np.sin(X)).mean(axis=1)
        return lay_out(type(self.recalibrator), mean, std)


class AllRows:
    """One split, to train and to test on all rows: what is learned is better than chance there."""

    def __repr__(self):
        return "AllRows()"  # the same in all processes, as it is part of names of tests

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1

    def split(self, X, y=None, groups=None):
        if len(y) < 2:
            raise ValueError(f"Two rows are needed to split them; got n_samples={len(y)}.")
        yield np.arange(len(y)), np.arange(len(y))
