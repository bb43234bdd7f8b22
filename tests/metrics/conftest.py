"""Fixtures of the tests of measures."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(63)


@pytest.fixture
def binary(rng):
    """Miscalibrated predictions with ties, apart from 0 and 1."""
    v = np.concatenate([rng.uniform(0.01, 0.99, 150), np.round(rng.uniform(0.1, 0.9, 100), 1)])
    return (rng.random(250) < v**1.5).astype(int), v


@pytest.fixture
def multiclass(rng):
    proba = rng.dirichlet([0.5, 1, 1, 2], size=300)
    return np.array([rng.choice(4, p=p) for p in 0.6 * proba + 0.1]), proba
