"""Weights of a mixture do not depend on the unit of the masses, nor on rows of next to no mass."""

import numpy as np
import pytest

from skcal._numerics.recalibration._mixture import fit_mixture, fit_mixture_weights

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


@pytest.mark.parametrize("mass", [1e-19, 1e-300])
def test_row_of_next_to_no_mass(mass):
    expected = fit_mixture_weights(LIKELIHOODS[:, 1:], PRIOR, MASS[1:])
    light = np.append(mass, MASS[1:])
    np.testing.assert_allclose(fit_mixture_weights(LIKELIHOODS, PRIOR, light), expected, **CLOSE)


def test_the_only_rows_of_a_member_have_next_to_no_mass():
    """Their member gets next to nothing, and their likelihood is not 0."""
    likelihoods = np.array([[1.0, 1e-16], [0.1, 1.0], [1.0, 0.0]])
    weights = fit_mixture(likelihoods, np.array([1.0, 1e-300, 1e-300]))
    np.testing.assert_allclose(weights, [1.0, 0.0], atol=1e-15)
    assert (likelihoods @ weights > 0).all()
