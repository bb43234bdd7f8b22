"""Losses of rows against scikit-learn's, and how much they may grow."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from skcal._numerics.recalibration._losses import find_largest_rise, find_losses


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("loss", ["brier", "log"])
def test_losses_and_the_largest_rise(n_classes, loss, rng):
    proba, changed = rng.dirichlet(np.ones(n_classes), (2, 40))
    codes = rng.integers(n_classes, size=40)
    found = find_losses(proba, codes, loss)
    if loss == "log":
        expected = log_loss(codes, proba, labels=np.arange(n_classes))
    elif n_classes == 2:
        expected = brier_score_loss(codes, proba[:, 1])
    else:
        expected = ((proba - np.eye(n_classes)[codes]) ** 2).sum(axis=1).mean()
    assert found.mean() == pytest.approx(expected, rel=1e-12)
    rises = [
        find_losses(changed, np.full(40, k), loss) - find_losses(proba, np.full(40, k), loss)
        for k in range(n_classes)
    ]
    found = find_largest_rise(proba, changed, loss)
    np.testing.assert_allclose(found, np.max(rises, axis=0), atol=1e-12)


def test_probabilities_of_zero():
    proba, even = np.array([[0.0, 1.0], [0.5, 0.5]]), np.full((2, 2), 0.5)
    np.testing.assert_array_equal(find_losses(proba, np.array([0, 0]), "log"), [np.inf, np.log(2)])
    # The first class of the first row does not come true.
    np.testing.assert_allclose(find_largest_rise(proba, even, "log"), [np.log(2), 0])
    np.testing.assert_array_equal(find_largest_rise(even, proba, "log"), [np.inf, 0])
    np.testing.assert_array_equal(find_largest_rise(proba, proba, "log"), [0, 0])
