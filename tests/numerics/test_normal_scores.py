"""Piecewise linear functions of a normal variable, where they are straight lines."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from skcal._numerics.distributions._normal_scores import NormalScores

# Levels next to 0 and 1 count as so far from them.
FARTHEST = -ndtri(2.0**-53)


def assert_normal(found, mean, std):
    law = norm(mean, std)
    assert (found.mean(), found.std()) == (pytest.approx(mean), pytest.approx(std, rel=1e-12))
    x, q = law.ppf([0.001, 0.3, 0.6, 0.9]), np.array([0.01, 0.5, 0.999])
    for method in ("cdf", "sf", "pdf"):
        np.testing.assert_allclose(getattr(found, method)(x), getattr(law, method)(x), rtol=1e-9)
    np.testing.assert_allclose(found.ppf(q), law.ppf(q), rtol=1e-12)


@pytest.mark.parametrize("step", [9e-4, 0.5])  # segments that are taken to be straight, and not
def test_straight_lines_are_normal(step):
    scores = np.arange(-1, 3, step)
    assert_normal(NormalScores(2 + 3 * scores, ndtr(scores)), 2, 3)


def test_one_knot_has_the_slope_1():
    assert_normal(NormalScores(np.array([3.0]), np.array([0.5])), 3, 1)
    both = NormalScores(np.array([3.0, 4.0]), np.ones(2))
    np.testing.assert_allclose(both.ppf([0.1, 0.5]), 3 + ndtri([0.1, 0.5]) - FARTHEST)


def test_levels_of_0_and_1():
    found = NormalScores(np.array([3.0, 4.0]), np.array([0.0, 1.0]))
    assert_normal(found, 3.5, 0.5 / FARTHEST)
