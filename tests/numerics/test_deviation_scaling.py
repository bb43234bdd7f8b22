"""One factor for standard deviations: closed forms, and the minimum of the CRPS."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from skcal._numerics.distributions._deviation_scaling import scale_by_crps, scale_by_likelihood


def find_mean_crps(scale, ratios, mass):
    """Mean CRPS of N(0, scale) at the ratios; Gneiting and Raftery (2007), equation (21)."""
    z = ratios / scale
    crps = scale * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return mass @ crps / mass.sum()


def test_scale_has_the_least_crps(rng):
    ratios, mass = rng.standard_t(3, size=200), rng.random(200)
    ratios[:40] = 0.0
    best = minimize_scalar(find_mean_crps, bounds=(0.1, 10.0), args=(ratios, mass))
    assert scale_by_crps(ratios, mass) == pytest.approx(best.x, rel=1e-4)


@pytest.mark.parametrize("ratio", [1e-150, 1e-6, 1.0, -3.0, 1e6, 1e150])
def test_scale_of_equal_ratios(ratio):
    """exp(-z^2 / (2 s^2)) = 1 / sqrt(2) for s = |z| / sqrt(log 2), and the mean square is z^2."""
    ratios, mass = np.full(3, ratio), np.array([1.0, 2.0, 3.0])
    by_crps = abs(ratio) / np.sqrt(np.log(2))
    assert scale_by_crps(ratios, mass) == pytest.approx(by_crps, rel=1e-13)
    assert scale_by_likelihood(ratios, mass) == pytest.approx(abs(ratio), rel=1e-15)


def test_scale_reads_weights_as_counts(rng):
    ratios, counts = rng.normal(size=20), rng.integers(0, 4, 20)
    for scale in (scale_by_crps, scale_by_likelihood):
        repeated = np.repeat(ratios, counts)
        expected = scale(repeated, np.ones(len(repeated)))
        assert scale(ratios, counts) == pytest.approx(expected, rel=1e-13)


def test_enough_zeros_have_a_scale_of_zero():
    """Those of a share above sqrt(1/2); with a smaller share z of them the others decide."""
    ratios = np.array([0.0, 1.0])
    assert scale_by_crps(ratios, np.array([0.71, 0.29])) == 0
    wanted = (np.sqrt(0.5) - 0.7) / 0.3
    scale = np.sqrt(-0.5 / np.log(wanted))
    assert scale_by_crps(ratios, np.array([0.7, 0.3])) == pytest.approx(scale, rel=1e-13)
