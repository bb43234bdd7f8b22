"""Weights of a mixture do not depend on the unit of the masses, nor on rows of next to no mass."""

import numpy as np
import pytest

from skcal._numerics.recalibration._mixture import fit_mixture_weights

LIKELIHOODS = np.random.default_rng(0).random((3, 50))
PRIOR = np.array([1.0, 2.0, 0.5])
MASS = np.random.default_rng(1).random(50)
CLOSE = {"rtol": 1e-7}


def test_gradient_is_equal_where_the_weights_are_best():
    """There sum_i m_i p_ki / (p_i @ w) + a_k / w_k is the whole mass, for each k."""
    weights = fit_mixture_weights(LIKELIHOODS, PRIOR, MASS)
    gradient = LIKELIHOODS @ (MASS / (weights @ LIKELIHOODS)) + PRIOR / weights
    np.testing.assert_allclose(gradient, MASS.sum() + PRIOR.sum(), **CLOSE)
    assert weights.sum() == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_unit_of_the_masses(unit):
    expected = fit_mixture_weights(LIKELIHOODS, PRIOR, MASS)
    found = fit_mixture_weights(LIKELIHOODS, unit * PRIOR, unit * MASS)
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_row_of_next_to_no_mass():
    expected = fit_mixture_weights(LIKELIHOODS[:, 1:], PRIOR, MASS[1:])
    light = np.append(1e-19, MASS[1:])
    np.testing.assert_allclose(fit_mixture_weights(LIKELIHOODS, PRIOR, light), expected, **CLOSE)
