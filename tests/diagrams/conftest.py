"""Fixtures for tests that draw."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test has drawn."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="session")
def binary():
    """Fitted classifier, features and string labels."""
    X, y = make_classification(n_samples=300, random_state=0)
    y = np.array(["no", "yes"])[y]
    return LogisticRegression().fit(X[:150], y[:150]), X[150:], y[150:]


@pytest.fixture(scope="session")
def multiclass():
    """The same with three labels."""
    X, y = make_classification(n_samples=400, n_classes=3, n_informative=5, random_state=0)
    y = np.array(["a", "b", "c"])[y]
    return LogisticRegression().fit(X[:200], y[:200]), X[200:], y[200:]


@pytest.fixture(scope="session")
def rows():
    """Outcomes that are rarer than predicted, and predictions."""
    rng = np.random.default_rng(0)
    y_proba = rng.beta(2, 4, 500)
    return (rng.random(500) < y_proba**1.5).astype(int), y_proba
