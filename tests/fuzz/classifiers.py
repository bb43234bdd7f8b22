"""Classifiers that take whatever rows they get, and never warn."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Echo(ClassifierMixin, BaseEstimator):
    """A classifier that predicts what it is handed over."""

    def __init__(self, labels=None):
        self.labels = labels

    def fit(self, X, y):
        self.classes_ = _find_classes(y) if self.labels is None else np.asarray(self.labels)
        return self

    def predict_proba(self, X):
        X = np.asarray(X)
        is_column = X.ndim == 1 or X.shape[1] == 1
        if len(self.classes_) == 2 and is_column and X.dtype.kind == "f":
            X = np.column_stack([1 - X.ravel(), X.ravel()])
        return X


def _find_classes(y):
    """What a classifier says of labels of several types is not ours."""
    try:
        return np.unique(y)
    except TypeError as error:
        raise ValueError("the classifier cannot be fitted") from error


class FirstColumns(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are columns of X, the same in turn, whatever X holds."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        scores = np.resize(_read_first(X), (len(self.classes_), _count_rows(X))).T
        scores = scores * (1 + np.arange(len(self.classes_)))
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict_proba(self, X):
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        shares = 1 / (1 + np.exp(-np.clip(scores, -50, 50)))
        return shares / shares.sum(axis=1, keepdims=True)


def _read_first(X):
    """A number for each row of whatever X is, near 0."""
    first = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    first = first if first.ndim == 1 else first[:, 0]
    try:
        first = np.nan_to_num(first.astype(float))
    except ValueError:
        first = np.array([len(str(value)) for value in first], dtype=float)
    return np.clip(first, -1e3, 1e3)


def _count_rows(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


class Hard(FirstColumns):
    """One that is certain, and takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)

    def predict_proba(self, X):
        scores = super().predict_proba(X)
        return (scores == scores.max(axis=1, keepdims=True)).cumsum(axis=1).cumsum(axis=1) == 1.0
