"""Information of a row on the intercept of each class."""

import numpy as np
import pytest

from skcal._numerics.recalibration._information import measure_information


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_it_is_the_curvature_of_the_mean_log_loss_relative_to_even_classes(n_classes):
    """The second derivative of log sum_j exp(z_j) by z_k is p_k (1 - p_k)."""
    shares = np.random.default_rng(0).dirichlet(np.ones(n_classes))

    def curve(proba):
        z, step = np.log(proba), 1e-3 * np.eye(len(proba))
        sums = [np.log(np.exp(z + sign * step).sum(axis=1)) for sign in (-1, 1)]
        return (sum(sums) - 2 * np.log(np.exp(z).sum())) / 1e-6

    expected = curve(shares) / curve(np.full(n_classes, 1 / n_classes))
    np.testing.assert_allclose(measure_information(shares), expected, rtol=1e-4)
    even = measure_information(np.full(n_classes, 1 / n_classes))
    np.testing.assert_allclose(even, 1, rtol=1e-12)
