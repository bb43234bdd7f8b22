"""Piecewise linear functions of a normal variable, where they are straight lines."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from skcal._numerics.distributions._normal_scores import NormalScores
from skcal._numerics.distributions._predictive_scores import score_normal

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


def test_score_is_that_of_the_normal_law_and_of_its_definition():
    law = NormalScores(ndtri(np.array([0.2, 0.5, 0.9])), np.array([0.2, 0.5, 0.9]))
    for y in (-9.0, -0.5, 0.0, 0.7, 9.0):
        found = law.score(np.array([y]), np.array([1.0]), np.array([6.0]))
        assert found == pytest.approx(6 * score_normal((y - 1) / 6), rel=1e-9)
    law = NormalScores(np.array([-1.0, 0.0, 0.5, 4.0]), np.array([0.1, 0.3, 0.8, 0.8]))
    for y in (-3.0, -0.5, 0.2, 3.0, 5.0):
        below = quad(lambda x: law.cdf(x) ** 2, -60, y, points=[-1, 0, 0.5, 4], limit=200)[0]
        above = quad(lambda x: law.sf(x) ** 2, y, 60, points=[-1, 0, 0.5, 4], limit=200)[0]
        found = law.score(np.array([y]), 0.0, 1.0)
        assert found == pytest.approx(below + above, rel=1e-6)


def test_quantiles_from_above():
    law = NormalScores(np.array([0.0, 1.0, 3.0]), np.array([0.2, 0.5, 0.9]))()
    for level in (1e-300, 1e-17, 0.05, 0.4, 0.9):
        assert law.sf(law.isf(level)) == pytest.approx(level, rel=1e-10)
    assert law.isf(0.25) == pytest.approx(law.ppf(0.75), rel=1e-12)


def test_levels_of_0_and_1():
    found = NormalScores(np.array([3.0, 4.0]), np.array([0.0, 1.0]))
    assert_normal(found, 3.5, 0.5 / FARTHEST)
