"""A classifier that is wrong in groups, and its correction, for tests of multicalibration."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from skcal.recalibration import (
    MulticalibratedClassifierCV,
)

METHODS = ["scaling", "boosting"]
every_method = pytest.mark.parametrize("method", METHODS)
# Where both share the lines, and trees take time.
mostly_scaling = pytest.mark.parametrize(
    "method", ["scaling", pytest.param("boosting", marks=pytest.mark.slow)]
)
CLOSE = {"rtol": 0, "atol": 1e-6}


class Given(ClassifierMixin, BaseEstimator):
    """Reads logits of all classes but the first from the first columns of X."""

    def __init__(self, n_classes=2):
        self.n_classes = n_classes

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        for method in ("to_pandas", "toarray"):  # of polars and Arrow, of sparse matrices
            X = getattr(X, method)() if hasattr(X, method) else X
        X = pd.DataFrame(X)
        z = [X[f"z{k}"] if "z0" in X else X.iloc[:, k] for k in range(self.n_classes - 1)]
        return softmax(np.column_stack([np.zeros(len(X)), *z]).astype(float), axis=1)


def freeze(classes=(0, 1)):
    return FrozenEstimator(Given(len(classes)).fit(None, classes))


FEATURES = ["region", "age", "old", "new"]


def find_effect(kind, X):
    """What the classifier's log-odds miss."""
    north, even = X["region"] == "north", X["age"] % 2 == 0
    if kind == "level":
        return 1.2 * north
    if kind == "pair":  # no level alone shows it
        return 1.2 * np.where(X["old"] == X["new"], 1, -1)
    if kind == "slope":
        return 0.9 * north * X["z0"]
    if kind == "triple":
        return 3.0 * (X["old"] & X["new"] & even)
    return 0.0 * north


def make_rows(kind="none", n=2000, seed=0):
    """Columns, true probabilities and outcomes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "z0": 1.2 * rng.normal(size=n),
            "region": rng.choice(["north", "south", "west"], size=n),
            "age": rng.integers(20, 27, n),
            "old": rng.random(n) < 0.5,
            "new": rng.random(n) < 0.4,
        }
    )
    truth = expit(X["z0"] + find_effect(kind, X)).to_numpy()
    return X, truth, (rng.random(n) < truth).astype(int)


def correct(method="scaling", classes=(0, 1), **options):
    options = {"features": FEATURES, "cv": 3} | options
    return MulticalibratedClassifierCV(freeze(classes), method=method, **options)


def find_loss(model, X, truth):
    """The expected log loss."""
    q = model.predict_proba(X)
    return -np.mean(truth * np.log(q[:, 1]) + (1 - truth) * np.log(q[:, 0]))


def get_correction(model):
    ((_, correction),) = model.calibrated_classifiers_
    return correction


def is_inside(X, title):
    """Rows of X that a title names."""
    inside = np.ones(len(X), dtype=bool)
    if title == "all rows":
        return inside
    for part in title.split(" and "):
        name, sign, value = part.split(" ", 2)
        column = X[name]
        if sign == "=":
            inside &= (column.astype(str) == value).to_numpy()
        elif value == "missing":
            inside &= column.isna().to_numpy()
        else:
            low, high = map(float, value[1:-1].split(", "))
            inside &= ((column >= low) & (column < high + (value[-1] == "]"))).to_numpy()
    return inside


def find_proba(frame, X, mean):
    """By the table, whose intercepts hold at the mean log-odds."""
    z = X["z0"].to_numpy()
    effects = (
        is_inside(X, title) * (intercept + np.nan_to_num(slope) * (z - mean))
        for title, (intercept, slope) in frame.iterrows()
    )
    return expit(sum(effects, z))
