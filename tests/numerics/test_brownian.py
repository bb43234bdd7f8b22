"""Extremes of Brownian motion: published points and moments, and both series."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from skcal._numerics import _brownian
from skcal._numerics._brownian import exceed_maximum, exceed_range


def test_published_five_percent_points():
    """Arrieta-Ibarra et al. 2022, to the digits printed there."""
    for law, point in ((exceed_maximum, 2.241403), (exceed_range, 2.497672)):
        assert law(point - 5e-7) > 0.05 > law(point + 5e-7)


def test_mean_of_the_maximum():
    """max |W| has the law of T^(-1/2), T the time to leave (-1, 1), and the mean sqrt(pi / 2)."""
    mean = quad(exceed_maximum, 0, 1)[0] + quad(exceed_maximum, 1, 40)[0]
    assert mean == pytest.approx(np.sqrt(np.pi / 2), abs=1e-12)


@pytest.mark.parametrize("level", [0.8, 1.5, 2.5, 6.0])
def test_range_is_the_integral_of_fellers_density(level):
    k = np.arange(1, 60)

    def density(x):
        return 8 * np.sum((-1.0) ** (k - 1) * k**2 * norm.pdf(k * x))

    assert exceed_range(level) == pytest.approx(quad(density, level, 45, epsabs=1e-14)[0], rel=1e-8)


@pytest.mark.parametrize(
    ("law", "switch"), [(exceed_maximum, "_SWITCH_MAXIMUM"), (exceed_range, "_SWITCH_RANGE")]
)
def test_both_series_agree(monkeypatch, law, switch):
    level = getattr(_brownian, switch) * np.linspace(0.9, 1.1, 21)
    monkeypatch.setattr(_brownian, switch, 0.5)
    tails = law(level)
    monkeypatch.setattr(_brownian, switch, 3.0)
    np.testing.assert_allclose(law(level), tails, rtol=5e-15)


@pytest.mark.parametrize("law", [exceed_maximum, exceed_range])
def test_tails(law):
    level = np.concatenate([[0.0, 1e-300, 1e-9], np.linspace(0.01, 37, 5000)])
    tail = law(level)
    assert tail[0] == tail[1] == tail[2] == 1
    assert (np.diff(tail) <= 1e-15).all()
    assert (tail > 0).all()
    assert law(np.inf) == 0
    # Far out the first term alone remains.
    share = {exceed_maximum: 4, exceed_range: 8}[law]
    assert law(20.0) == pytest.approx(share * norm.sf(20), rel=1e-13)
    assert law(2.0).shape == ()
