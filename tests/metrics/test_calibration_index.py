"""Integrated calibration index: published values, closed forms, and what each curve promises."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from skcal._input._sample import Sample
from skcal._numerics.curves._local_lines import fit_local_lines
from skcal.metrics import (
    MEASURES,
    corp_decomposition,
    integrated_calibration_index,
    smooth_ece_curve,
)
from tests.r_random import RRandom

CURVES = ["local", "spline", "isotonic", "smooth"]
QUANTILES = [None, 0.5, 0.9, 1]


def list_indices(y, v, **options):
    return [integrated_calibration_index(y, v, quantile=q, **options) for q in QUANTILES]


@pytest.fixture(scope="module")
def published():
    """The first example of the R package pmcalibration 0.2.0, in its README."""
    random = RRandom(2345)
    x, other = random.rnorm(1000), random.rnorm(1000)
    y = random.rbinom_1(expit(-1 + x + other + x * other))
    # As it is printed there.
    np.testing.assert_allclose(x[:2], [-1.19142464, 0.54930055], atol=5e-9)
    assert y[:6].tolist() == [0, 0, 1, 1, 0, 0]
    return y, expit(-1 + x + other)


def test_published_spline(published):
    """Eavg, E50, E90 and Emax of ``smooth="rcs", nk=5, transf="logit"``, as printed."""
    found = list_indices(*published, curve="spline")
    np.testing.assert_array_equal(np.round(found, 3), [0.054, 0.059, 0.083, 0.138])


def test_published_local_lines(published):
    """Eavg, E90 and Emax of ``rms::val.prob`` there: R's ``lowess``, whose span is 2/3."""
    y, v = published
    order = np.argsort(v)
    heights = fit_local_lines(v[order], np.ones(1000), 1.0 * (y - v)[order], 2 / 3)
    found = [np.abs(heights).mean(), *np.quantile(np.abs(heights), [0.9, 1])]
    np.testing.assert_array_equal(np.round(found, 3), [0.044, 0.073, 0.145])


def test_lines_are_their_own_curve():
    """Mean outcomes .1 + .8 v: distances |.1 - .2 v|, whose quantiles are known."""
    v = (np.arange(1001)) / 1000
    found = list_indices(0.1 + 0.8 * v, v, pos_label=1)
    np.testing.assert_allclose(found, [0.05, 0.05, 0.09, 0.1], atol=1e-4)


def test_lines_on_log_odds_are_their_own_spline():
    v = expit(np.linspace(-3, 2, 300))
    mean = expit(0.3 + 0.6 * logit(v))
    found = list_indices(mean, v, pos_label=1, curve="spline")
    distance = np.abs(mean - v)
    np.testing.assert_allclose(found[::3], [distance.mean(), distance.max()], rtol=1e-4)


def test_isotonic_curve_is_that_of_corp(rng):
    v = rng.random(200)
    y = rng.random(200) < v**2
    # Emax is the largest distance; the mean one cannot exceed the root of the mean square.
    low, _, _, high = list_indices(y, v, curve="isotonic")
    assert low**2 <= corp_decomposition(y, v).miscalibration <= high**2 + 1e-12


@pytest.mark.parametrize("decimals", [2, 16])
def test_smooth_curve_is_read_where_it_has_the_prediction(rng, decimals):
    v = np.round(rng.random(400) ** 2, decimals)
    y = rng.random(400) < v**1.5
    curve = smooth_ece_curve(y, v, n_points=20_001)
    gaps = np.interp(v, curve.prob_pred, curve.prob_true - curve.prob_pred)
    distance = np.abs(np.clip(gaps, -v, 1 - v))
    expected = distance.mean(), distance.max()
    np.testing.assert_allclose(list_indices(y, v, curve="smooth")[::3], expected, atol=1e-4)


@pytest.mark.parametrize("curve", CURVES)
def test_weights_count_rows(curve, rng):
    v = np.round(rng.random(60), 1)
    y, counts = (rng.random(60) < v**2).astype(int), rng.integers(0, 4, 60)
    weighted = list_indices(y, v, curve=curve, sample_weight=counts, pos_label=1)
    repeated = list_indices(np.repeat(y, counts), np.repeat(v, counts), curve=curve, pos_label=1)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("curve", CURVES)
def test_impossible_values_and_single_outcomes(curve):
    """Curves stay in [0, 1]; outcomes that all agree are the curve, whatever the predictions."""
    v = np.array([0, 0, 0.1, 0.4, 0.4, 0.8, 1])
    for y in (np.zeros(7), np.ones(7)):
        found = list_indices(y, v, curve=curve, pos_label=1)
        if curve != "smooth":  # which is as wide as the error, and mixes predictions
            expected = np.abs(y - v).mean(), np.abs(y - v).max()
            np.testing.assert_allclose(found[::3], expected, atol=1e-12)
        assert 0 < found[0] <= 1
    assert integrated_calibration_index([1], [0.3], curve=curve, pos_label=1) == pytest.approx(0.7)
    steep = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    found = list_indices(*steep, curve=curve)
    assert max(found) <= 0.4 + 1e-12  # at .4 the curve is not below 0


@pytest.mark.parametrize("curve", ["local", "spline", "isotonic"])
def test_hard_predictions_have_their_mean_outcome(curve):
    """Predictions of 0 and 1 alone: the index is the mean distance of two means."""
    y, v = np.repeat([1, 0, 1, 0], [1, 9, 6, 2]), np.repeat([0.0, 1.0], [10, 8])
    found = integrated_calibration_index(y, v, curve=curve)
    assert found == pytest.approx((10 * 0.1 + 8 * 0.25) / 18)


def test_spline_leaves_hard_predictions_apart(rng):
    v = expit(rng.normal(size=100))
    y = (rng.random(100) < v).astype(int)
    alone = integrated_calibration_index(y, v, curve="spline")
    both = np.r_[y, [0, 1, 1, 1]], np.r_[v, [0.0, 0.0, 1.0, 1.0]]
    found = integrated_calibration_index(*both, curve="spline")
    assert found == pytest.approx((100 * alone + 2 * 0.5) / 104, abs=1e-12)


def test_curve_of_the_user(rng):
    """A function of the distinct predictions, their mean outcomes and their weights."""
    v = np.array([0.5, 0.2, 0.5, 0.8, 0.2])
    y, weights = [1, 0, 0, 1, 1], [1, 2, 3, 4, 0]
    seen = []

    def curve(*arrays):
        seen.extend(arrays)
        return np.array([0.3, -1.0, 0.9])  # kept in [0, 1]

    found = list_indices(y, v, sample_weight=weights, curve=curve)
    np.testing.assert_allclose(found, [0.26, 0.1, 0.5, 0.5])
    np.testing.assert_allclose(seen[:3], [[0.2, 0.5, 0.8], [0, 0.25, 1], [2, 4, 4]])

    v = rng.random(50)
    y = rng.random(50) < v
    own = list_indices(y, v, curve=lambda v, y, w: IsotonicRegression().fit(v, y, w).predict(v))
    np.testing.assert_allclose(own, list_indices(y, v, curve="isotonic"), atol=1e-14)
    linear = list_indices(y, v, curve=lambda v, y, w: 0.2 + 0.6 * v)
    np.testing.assert_allclose(linear[0], np.abs(0.2 - 0.4 * v).mean())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.5, r"each distinct prediction, an array of shape \(2,\); got \(\)"),
        ([0.5], r"of shape \(2,\); got \(1,\)"),
        ([[0.5, 0.5]], r"of shape \(2,\); got \(1, 2\)"),
        ([0.5, np.nan], "curve must return finite numbers; got NaN"),
        (["a", "b"], "The value of curve must hold"),
        ([1j, 1j], "The value of curve must hold"),
    ],
)
def test_curve_of_the_user_returns_numbers(value, message):
    with pytest.raises(ValueError, match=message):
        integrated_calibration_index([0, 1], [0.2, 0.8], curve=lambda *arrays: value)


@pytest.mark.parametrize("curve", ["local", "isotonic", lambda x, y, w: (x + y) / 2])
@pytest.mark.parametrize("quantile", [None, 0.5, 1])
def test_values_of_several_outcomes_are_those_of_each(curve, quantile, rng):
    row = MEASURES["integrated_calibration_index"](curve=curve, quantile=quantile)
    predictions, weights = rng.random(80).round(2), rng.exponential(size=80)
    samples = [Sample(predictions, rng.random(80), weights) for _ in range(3)]
    found = row.measure_each(samples)
    assert found == pytest.approx([row.measure(sample) for sample in samples], abs=1e-13)
