"""Laws of the classical tests by published points and series, and their p-values."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from skcal._numerics.inference import _brownian
from skcal._numerics.inference import _classical_tests as classical
from skcal._numerics.inference._brownian import exceed_maximum, exceed_range

TINY = np.finfo(float).tiny


def test_cumulative_error_is_a_standard_deviation_over_all_outcomes():
    v, w = np.array([0.1, 0.35, 0.5, 0.9, 1.0]), np.array([1, 2.5, 0.25, 3, 1])
    outcomes = np.array(list(product([0, 1], repeat=5)))
    chance = np.prod(np.where(outcomes == 1, v, 1 - v), axis=1)
    expected = np.sqrt(chance @ ((outcomes - v) @ w / w.sum()) ** 2)
    assert classical.cumulative_error(v, w) == pytest.approx(expected, rel=1e-12)


def test_published_five_percent_points():
    """Arrieta-Ibarra et al. 2022, to the digits printed there."""
    for law, point in (
        (classical.kolmogorov_smirnov_pvalue, 2.241403),
        (classical.kuiper_pvalue, 2.497672),
    ):
        assert law(point - 5e-7) > 0.05 > law(point + 5e-7)


def test_mean_of_the_maximum():
    """max |W| has the law of T^(-1/2), T the time to leave (-1, 1), and the mean sqrt(pi / 2)."""
    mean = quad(exceed_maximum, 0, 1)[0] + quad(exceed_maximum, 1, 40)[0]
    assert mean == pytest.approx(np.sqrt(np.pi / 2), abs=1e-12)


def test_mean_and_percent_points_of_the_range():
    """The mean is sqrt(8 / pi) (Feller 1951, Annals of Mathematical Statistics 22)."""
    mean = quad(exceed_range, 0, 1)[0] + quad(exceed_range, 1, 40)[0]
    assert mean == pytest.approx(np.sqrt(8 / np.pi), abs=1e-12)


@pytest.mark.parametrize("level", [0.8, 1.5, 2.5, 6.0])
def test_range_is_the_integral_of_fellers_density(level):
    k = np.arange(1, 60)
    tail, _ = quad(lambda x: 8 * -((-1.0) ** k * k**2) @ norm.pdf(k * x), level, 45, epsabs=1e-14)
    assert exceed_range(level) == pytest.approx(tail, rel=1e-8)


@pytest.mark.parametrize(
    ("law", "switch", "share"),
    [(exceed_maximum, "_SWITCH_MAXIMUM", 4), (exceed_range, "_SWITCH_RANGE", 8)],
)
def test_tails_of_brownian_motion_by_either_series(monkeypatch, law, switch, share):
    tail = law(np.array([0.0, 1e-300, 1e-9, *np.linspace(0.01, 37, 5000), np.inf]))
    assert (tail[:3] == 1).all()
    assert (np.diff(tail) <= 1e-15).all()
    assert tail[-2] > 0 == tail[-1]
    assert law(20.0) == pytest.approx(share * norm.sf(20), rel=1e-13)  # the first term remains
    level = getattr(_brownian, switch) * np.linspace(0.9, 1.1, 21)
    monkeypatch.setattr(_brownian, switch, 0.5)
    tails = law(level)
    monkeypatch.setattr(_brownian, switch, 3.0)
    np.testing.assert_allclose(law(level), tails, rtol=5e-15)


@pytest.mark.parametrize(
    ("find_pvalue", "tail"),
    [
        (classical.normal_pvalue, lambda z: 2 * norm.sf(z)),
        (lambda z: classical.normal_pvalue(-z), lambda z: 2 * norm.sf(z)),
        (lambda x: classical.chi_squared_pvalue(x, 2), lambda x: chi2.sf(x, 2)),
        (classical.kolmogorov_smirnov_pvalue, exceed_maximum),
        (classical.kuiper_pvalue, exceed_range),
    ],
)
def test_pvalues_are_tails_and_never_0(find_pvalue, tail):
    assert find_pvalue(1.5) == pytest.approx(tail(1.5))
    assert find_pvalue(np.inf) == TINY
    assert find_pvalue(0.0) == 1


def test_ends():
    assert classical.clip_pvalue(0.0) == classical.clip_pvalue(5e-324) == TINY
    assert classical.clip_pvalue(np.nextafter(1, 2)) == 1  # by the rounding of a sum
    # Without degrees of freedom only the impossible counts.
    assert classical.chi_squared_pvalue(0.0, 0) == 1
    assert classical.chi_squared_pvalue(np.inf, 0) == TINY
    ratio = classical.divide_by_error([0, 2, -2, 3], [0, 0, 0, 2])
    np.testing.assert_array_equal(ratio, [0, np.inf, -np.inf, 1.5])
