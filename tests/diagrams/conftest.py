"""Fixtures for tests that draw."""

import matplotlib
import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

matplotlib.use("Agg")


def fit(labels, n_samples, **options):
    """Classifier that was fitted on half of the rows, features and labels of the others."""
    X, y = make_classification(n_samples, n_classes=len(labels), random_state=0, **options)
    y, half = np.array(labels)[y], n_samples // 2
    return LogisticRegression().fit(X[:half], y[:half]), X[half:], y[half:]


@pytest.fixture(scope="session")
def binary():
    return fit(["no", "yes"], 300)


@pytest.fixture(scope="session")
def multiclass():
    return fit(["a", "b", "c"], 400, n_informative=5)


@pytest.fixture(scope="session")
def rare():
    """Outcomes of a rare event, and predictions that are too low."""
    rng = np.random.default_rng(0)
    proba = expit(rng.normal(-4, 1.5, 800))
    return (rng.random(800) < proba**0.8).astype(int), proba


@pytest.fixture(scope="session")
def rows():
    """Outcomes that are rarer than predicted, and predictions."""
    rng = np.random.default_rng(0)
    y_proba = rng.beta(2, 4, 500)
    return (rng.random(500) < y_proba**1.5).astype(int), y_proba


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def normals(rng):
    """Targets, and normal distributions that are too narrow."""
    mean = rng.normal(size=80)
    return rng.normal(mean), (mean, np.full(80, 0.7))
