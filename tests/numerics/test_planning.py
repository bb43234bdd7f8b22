"""How much a row tells, and the search for a number of rows."""

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri
from scipy.stats import chi2, ncx2

from skcal._numerics.inference._planning import (
    find_best_size,
    find_chi_squared_power,
    find_divergence,
    find_noncentrality,
    find_shift,
    find_variances,
    search_size,
)


@pytest.mark.parametrize("slope", [1e-6, 0.8, 1.0, 3.0, 1e6])
def test_shift_to_a_mean(slope, rng):
    log_odds, weights = rng.normal(-3, 2, 50), rng.dirichlet(np.ones(50))
    for mean in (1e-6, 0.3, 0.99):
        shift = find_shift(log_odds, weights, slope, mean)
        assert weights @ expit(shift + slope * log_odds) == pytest.approx(mean, rel=1e-6)
    certain = np.array([-np.inf, 0.0, np.inf]), np.array([0.25, 0.25, 0.5])
    assert find_shift(*certain, slope, 0.625) == pytest.approx(0, abs=1e-12)
    assert find_shift(certain[0][[0, 2]], np.array([0.5, 0.5]), slope, 0.5) == 0


def test_variances_are_those_of_the_inverse_information(rng):
    log_odds, chances, weights = rng.normal(-1, 2, 40), rng.random(40), rng.dirichlet(np.ones(40))
    design = np.column_stack([log_odds, np.ones(40)])
    information = (design.T * weights * chances * (1 - chances)) @ design
    slope, alone = find_variances(log_odds, chances, weights)
    assert slope == pytest.approx(np.linalg.inv(information)[0, 0])
    assert alone == pytest.approx(1 / information[1, 1])
    assert find_variances(np.zeros(2), np.array([0.5, 0.5]), np.array([0.5, 0.5]))[0] == np.inf


@pytest.mark.parametrize("degrees", [1, 2, 5])
def test_noncentrality_and_power_are_inverse(degrees):
    for alpha, power in [(0.05, 0.8), (1e-6, 0.99), (0.5, 0.51)]:
        noncentrality = find_noncentrality(power, alpha, degrees)
        expected = ncx2.sf(chi2.isf(alpha, degrees), degrees, noncentrality)
        assert find_chi_squared_power(noncentrality, alpha, degrees) == pytest.approx(power)
        assert expected == pytest.approx(power)


def test_the_best_test_of_a_shift():
    """Of n normal variables with mean d, of which n d^2 / 2 is the divergence; here of rows."""
    v, truth, weights = np.array([0.5]), np.array([0.51]), np.ones(1)
    n = find_best_size(find_divergence(v, truth, weights), 0.8, 0.05)
    # The share of positive labels is nearly normal, with a standard deviation of .5 / sqrt(n).
    assert n == pytest.approx(((ndtri(0.8) - ndtri(0.05)) * 0.5 / 0.01) ** 2, rel=1e-3)
    assert find_divergence(np.zeros(1), truth, weights) == np.inf
    assert find_divergence(v, v, weights) > 0


@pytest.mark.parametrize("start", [1, 30, 10**5])
@pytest.mark.parametrize("needed", [1, 2, 7, 400, 30_000])
@pytest.mark.parametrize("slack", [0.0, 0.01])
def test_search(start, needed, slack):
    tried = []

    def find_power(n):
        tried.append(n)
        return ndtr((n / needed) ** 0.5 * (ndtri(0.8) - ndtri(0.05)) + ndtri(0.05))

    found = search_size(find_power, 0.8, 0.05, start, 10**6, slack)
    assert needed <= found <= max(needed + 1, 1.04 * needed)
    assert len(tried) == len(set(tried)) <= 12
    if slack and needed > 100:
        assert find_power(found) <= 0.8 + slack


def test_search_of_curves_that_are_not_smooth():
    for needed in (1, 2, 500, 10**6):
        found = search_size(lambda n, least=needed: float(n >= least), 0.8, 0.05, 40, 10**6, 0.0)
        assert needed <= found <= max(needed, 1.02 * needed)
    for flat in (0.0, 0.05, 0.3):
        assert search_size(lambda n, power=flat: power, 0.8, 0.05, 40, 10**6, 0.0) is None
    assert search_size(lambda n: 0.7, 0.8, 0.05, 40, 3, 0.0) is None
