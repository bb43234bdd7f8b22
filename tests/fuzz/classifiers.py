"""Classifiers that take whatever rows they get, and never warn."""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin


class Echo(ClassifierMixin, BaseEstimator):
    """A classifier that predicts what it is handed over."""

    def __init__(self, labels=None):
        self.labels = labels

    def fit(self, X, y):
        try:
            self.classes_ = np.unique(y) if self.labels is None else np.asarray(self.labels)
        except TypeError as error:  # what a classifier says of labels of several types is not ours
            raise ValueError("the classifier cannot be fitted") from error
        return self

    def predict_proba(self, X):
        X = np.asarray(X)
        is_column = X.ndim == 1 or X.shape[1] == 1
        if len(self.classes_) == 2 and is_column and X.dtype.kind == "f":
            X = np.column_stack([1 - X.ravel(), X.ravel()])
        return X


class Scores(Echo):
    """One with logits, the same in turn, and with weights that it does not need."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)

    def decision_function(self, X):
        X = np.asarray(X, dtype=float)
        first = np.clip(np.nan_to_num(X if X.ndim == 1 else X[:, 0]), -1e3, 1e3)
        scores = np.outer(first, 1 + np.arange(len(self.classes_)))
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict_proba(self, X):
        scores = self.decision_function(X)
        return softmax(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores, axis=1)


class Counts(Scores):
    """One that learns from parts how many rows each class has."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not hasattr(self, "classes_"):
            self.classes_, self.counts_ = np.asarray(classes), np.ones(len(classes))
        self.counts_ = self.counts_ + (np.asarray(y)[:, None] == self.classes_).sum(axis=0)
        return self

    def decision_function(self, X):
        scores, logs = super().decision_function(X), np.log(self.counts_)
        return scores + (logs[1] - logs[0] if scores.ndim == 1 else logs)
