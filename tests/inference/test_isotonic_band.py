"""isotonic_band: its guarantee, published value, meaning between predictions, and input."""

import numpy as np
import pytest
from scipy.stats import binom

from skcal._numerics.curves._isotonic_band import bound_isotonic_curve
from skcal.inference import IsotonicBand, isotonic_band


def test_published_value():
    """Eight of ten: the Clopper-Pearson interval."""
    band = isotonic_band([1] * 8 + [0] * 2, [0.7] * 10)
    np.testing.assert_array_equal(band.prob_pred, [0.7])
    np.testing.assert_allclose([*band.low, *band.high], [0.443905, 0.974789], atol=5e-7)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_exact_coverage_for_one_prediction(level):
    """By the sum over all numbers of successes: never less, and not much more somewhere."""
    k, places = np.arange(21), np.linspace(0, 1, 501)
    bands = [isotonic_band(k[:20] < hits, [0.3] * 20, confidence_level=level) for hits in k]
    low, high = (np.stack([getattr(band, end) for band in bands]) for end in ("low", "high"))
    inside = (low <= places) & (places <= high)
    coverage = (binom.pmf(k[:, None], 20, places) * inside).sum(axis=0)
    assert level <= coverage.min() <= level + 0.05


LAWS = {
    "calibrated": (np.linspace(0, 1, 40), np.ones(40), lambda v: v),
    "step": (np.linspace(0, 1, 50), np.ones(50), lambda v: np.where(v < 0.5, 0.1, 0.9)),
    "constant": (np.linspace(0, 1, 30), np.ones(30), lambda v: np.full_like(v, 0.5)),
    "certain": (np.linspace(0, 1, 20), np.ones(20), lambda v: (v > 0.3).astype(float)),
    "ties": (np.array([0.1, 0.2, 0.6, 0.8]), np.array([1, 20, 5, 60]), lambda v: v**2),
    "three rows": (np.array([0.2, 0.5, 0.8]), np.ones(3), lambda v: v),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_simultaneous_coverage(rng, law):
    places, counts, curve = LAWS[law]
    truth, n_runs = curve(places), 2000
    hits = rng.binomial(counts.astype(int), truth, (n_runs, len(places))).astype(float)
    ends = [bound_isotonic_curve(counts.astype(float), row, 0.05) for row in hits]
    covered = [((low <= truth) & (truth <= high)).all() for low, high in ends]
    assert np.mean(covered) >= 0.95


@pytest.mark.slow
def test_simultaneous_coverage_of_merged_predictions(rng):
    """More distinct predictions than blocks; the curve is known everywhere."""
    places, covered = np.linspace(0, 1, 1001), []
    for _ in range(120):
        proba = rng.random(1000) ** 2
        low, high = isotonic_band(rng.random(1000) < proba**2, proba).evaluate(places)
        covered.append(((low <= places**2) & (places**2 <= high)).all())
    assert np.mean(covered) >= 0.95


def test_a_falling_curve_is_not_covered(rng):
    """The guarantee is for non-decreasing curves alone, and the band tells where it fails."""
    proba = rng.random(2000)
    band = isotonic_band(rng.random(2000) < 1 - proba, proba)
    assert (band.low > band.high).any()
    rising = isotonic_band(rng.random(2000) < proba, proba)
    assert (rising.low <= rising.high).all()


def test_few_predictions_are_not_merged(rng):
    proba = np.sort(rng.random(300))
    y = (rng.random(300) < proba**2).astype(float)
    expected = proba, *bound_isotonic_curve(np.ones(300), y, 0.05)
    np.testing.assert_allclose(isotonic_band(y, proba)[:3], expected, atol=1e-12)


def test_outcomes_of_one_kind():
    """All n rows succeed: p^n = share at the lower end."""
    band = isotonic_band(np.ones(50), np.linspace(0, 1, 50))
    np.testing.assert_array_equal(band.high, 1)
    assert band.low[-1] == pytest.approx((0.05 / (50 * 51)) ** (1 / 50), abs=1e-12)
    for outcome, ends in ((1, (0.025, 1)), (0, (0, 0.975))):
        band = isotonic_band([outcome], [0.4])
        np.testing.assert_allclose([*band.low, *band.high], ends, atol=1e-12)


def test_evaluate_between_and_beyond_knots():
    band = IsotonicBand(np.array([0.2, 0.6]), np.array([0.1, 0.3]), np.array([0.5, 0.8]), 0.95)
    low, high = band.evaluate([[0.0, 0.2, 0.4], [0.6, 0.7, 1.0]])
    np.testing.assert_array_equal(low, [[0, 0.1, 0.1], [0.3, 0.3, 0.3]])
    np.testing.assert_array_equal(high, [[0.5, 0.5, 0.8], [0.8, 1, 1]])
    assert band.evaluate(0.6) == (0.3, 0.8)
    for places in ([0.5, 1.5], [-0.1], [np.nan], ["a"]):
        with pytest.raises(ValueError, match="y_proba"):
            band.evaluate(places)


@pytest.mark.parametrize("n", [500, 5000])
def test_deviations_are_where_the_diagonal_is_outside(rng, n):
    proba = rng.random(n).round(4)
    band = isotonic_band(rng.random(n) < 0.5, proba)
    assert np.isin(band.prob_pred, proba).all()
    assert (np.diff(band.prob_pred) > 0).all()
    assert len(band.prob_pred) < 1000
    grid = np.linspace(0, 1, 20_011)
    low, high = band.evaluate(grid)
    for regions, outside in zip(band.find_deviations(), (low > grid, high < grid), strict=True):
        assert len(regions)
        assert (np.diff(regions.ravel()) > 0).all()
        inside = ((grid[:, None] >= regions[:, 0]) & (grid[:, None] <= regions[:, 1])).any(axis=1)
        on_edge = np.isclose(grid[:, None], regions.ravel(), atol=1e-12).any(axis=1)
        np.testing.assert_array_equal(inside[~on_edge], outside[~on_edge])


def test_deviations_by_hand():
    knots, low = np.array([0.1, 0.2, 0.5, 0.8, 0.9]), np.array([0.3, 0.3, 0.7, 0.85, 0.85])
    band = IsotonicBand(knots, low, np.array([0.05, 0.15, 0.3, 0.75, 0.75]), 0.95)
    too_low, too_high = band.find_deviations()
    np.testing.assert_allclose(too_low, [[0.1, 0.3], [0.5, 0.7], [0.8, 0.85]])
    np.testing.assert_allclose(too_high, [[0.05, 0.1], [0.15, 0.2], [0.3, 0.5], [0.75, 0.9]])
    calibrated = IsotonicBand(np.array([0.5]), np.array([0.4]), np.array([0.6]), 0.95)
    assert [regions.shape for regions in calibrated.find_deviations()] == [(0, 2), (0, 2)]
