"""Rows for all tests of summaries."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def rows(rng):
    """Labels, predictions (of which some are alone in their cells) and weights."""
    proba = np.concatenate([rng.random(3000), np.round(rng.random(1000), 2), [0, 0, 1, 1]])
    y = (rng.random(len(proba)) < proba**1.3).astype(int)
    return y, proba, rng.exponential(size=len(proba))


@pytest.fixture
def keys(rng, rows):
    return rng.choice(["x", "y", "z"], len(rows[0]))
