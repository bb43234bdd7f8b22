"""isotonic_band: its guarantee, published value, meaning between predictions, and input."""

import numpy as np
import pytest
from scipy.stats import binom

from skcal._numerics._isotonic_band import bound_isotonic_curve
from skcal.inference import IsotonicBand, isotonic_band


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def data(rng):
    proba = rng.random(300)
    return (rng.random(300) < proba**2).astype(int), proba


# ------------------------------------------------------------------------------ guarantee


def test_published_value():
    """Eight of ten: the Clopper-Pearson interval."""
    band = isotonic_band([1] * 8 + [0] * 2, [0.7] * 10)
    np.testing.assert_array_equal(band.prob_pred, [0.7])
    np.testing.assert_allclose([*band.low, *band.high], [0.443905, 0.974789], atol=5e-7)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_exact_coverage_for_one_prediction(level):
    """By the sum over all numbers of successes: never less, and not much more somewhere."""
    n = 20
    ends = [isotonic_band([1] * k + [0] * (n - k), [0.3] * n, confidence_level=level)
            for k in range(n + 1)]  # fmt: skip
    low, high = (np.concatenate([getattr(band, end) for band in ends]) for end in ("low", "high"))
    coverage = [
        binom.pmf(np.arange(n + 1), n, p)[(low <= p) & (p <= high)].sum()
        for p in np.linspace(0, 1, 501)
    ]
    assert min(coverage) >= level
    assert min(coverage) <= level + 0.05


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
    places = np.linspace(0, 1, 1001)
    covered = []
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


# ------------------------------------------------------------------------------ shape


@pytest.mark.parametrize("n", [50, 5000])
def test_ends_are_monotone_probabilities(rng, n):
    proba = rng.random(n).round(4)
    band = isotonic_band(rng.random(n) < proba, proba)
    assert (np.diff(band.prob_pred) > 0).all()
    for end in (band.low, band.high):
        assert (np.diff(end) >= 0).all()
        assert ((end >= 0) & (end <= 1)).all()
    assert np.isin(band.prob_pred, proba).all()


def test_mirrored(data):
    y, proba = data
    band, mirror = isotonic_band(y, proba), isotonic_band(1 - y, 1 - proba)
    np.testing.assert_allclose(mirror.prob_pred, 1 - band.prob_pred[::-1], atol=1e-15)
    np.testing.assert_allclose(mirror.low, 1 - band.high[::-1], atol=1e-12)


def test_blocks_do_not_depend_on_outcomes(rng):
    proba = rng.random(3000)
    one, other = (isotonic_band(rng.random(3000) < p, proba) for p in (0.1, proba))
    np.testing.assert_array_equal(one.prob_pred, other.prob_pred)
    assert len(one.prob_pred) < 1000


# ------------------------------------------------------------------------------ methods


def test_evaluate_between_and_beyond_knots():
    band = IsotonicBand(np.array([0.2, 0.6]), np.array([0.1, 0.3]), np.array([0.5, 0.8]), 0.95)
    low, high = band.evaluate([[0.0, 0.2, 0.4], [0.6, 0.7, 1.0]])
    np.testing.assert_array_equal(low, [[0, 0.1, 0.1], [0.3, 0.3, 0.3]])
    np.testing.assert_array_equal(high, [[0.5, 0.5, 0.8], [0.8, 1, 1]])
    assert band.evaluate(0.6) == (0.3, 0.8)


@pytest.mark.parametrize("places", [[0.5, 1.5], [-0.1], [np.nan], ["a"]])
def test_evaluate_refuses_what_is_no_prediction(data, places):
    with pytest.raises(ValueError, match="y_proba"):
        isotonic_band(*data).evaluate(places)


@pytest.mark.parametrize("n", [500, 5000])
def test_deviations_are_where_the_diagonal_is_outside(rng, n):
    proba = rng.random(n).round(4)
    band = isotonic_band(rng.random(n) < 0.5, proba)
    grid = np.linspace(0, 1, 20_011)
    low, high = band.evaluate(grid)
    too_low, too_high = band.find_deviations()
    assert len(too_low)
    assert len(too_high)
    for regions, outside in ((too_low, low > grid), (too_high, high < grid)):
        assert (regions[:, 0] < regions[:, 1]).all()
        assert (np.diff(regions, axis=0)[:, 0] > 0).all()
        inside = ((grid[:, None] >= regions[:, 0]) & (grid[:, None] <= regions[:, 1])).any(axis=1)
        on_edge = np.isclose(grid[:, None], regions.ravel(), atol=1e-12).any(axis=1)
        np.testing.assert_array_equal(inside[~on_edge], outside[~on_edge])


def test_deviations_by_hand():
    band = IsotonicBand(
        np.array([0.1, 0.2, 0.5, 0.9]), np.array([0.3, 0.3, 0.4, 0.4]),
        np.array([0.6, 0.6, 0.6, 0.6]), 0.95,
    )  # fmt: skip
    too_low, too_high = band.find_deviations()
    np.testing.assert_allclose(too_low, [[0.1, 0.3]])
    np.testing.assert_allclose(too_high, [[0.6, 0.9]])
    calibrated = IsotonicBand(np.array([0.5]), np.array([0.4]), np.array([0.6]), 0.95)
    assert [regions.shape for regions in calibrated.find_deviations()] == [(0, 2), (0, 2)]


# ------------------------------------------------------------------------------ input


@pytest.mark.parametrize(("outcome", "ends"), [(1, (0.025, 1)), (0, (0, 0.975))])
def test_single_row(outcome, ends):
    band = isotonic_band([outcome], [0.4])
    np.testing.assert_allclose([*band.low, *band.high], ends, atol=1e-12)


def test_one_class_only():
    n = 50
    band = isotonic_band(np.ones(n), np.linspace(0, 1, n))
    share = 0.05 / (n * (n + 1))
    np.testing.assert_array_equal(band.high, 1)
    # All n rows succeed: p^n = share at the lower end.
    assert band.low[-1] == pytest.approx(share ** (1 / n), abs=1e-12)


def test_there_are_no_weights():
    with pytest.raises(TypeError, match="sample_weight"):
        isotonic_band([0, 1], [0.2, 0.7], sample_weight=[1, 2])
