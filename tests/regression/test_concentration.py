"""Concentration and Lorenz curves: the definition, closed forms, ties and weights."""

import numpy as np
import pytest

from skcal.regression import area_between_curves, concentration_curve


@pytest.fixture
def rows():
    """With many ties."""
    rng = np.random.default_rng(0)
    v = rng.integers(1, 8, 60) / 2
    return rng.poisson(v).astype(float), v, rng.integers(0, 4, 60)


def test_definition(rows):
    y, v, w = rows
    curve = concentration_curve(y, v, sample_weight=w)
    for k, place in enumerate(np.unique(v[w > 0]), start=1):
        below = v <= place
        assert curve.share[k] == pytest.approx(w[below].sum() / w.sum())
        assert curve.concentration[k] == pytest.approx((w * y)[below].sum() / (w @ y))
        assert curve.lorenz[k] == pytest.approx((w * v)[below].sum() / (w @ v))
    assert (curve.share[0], curve.concentration[0], curve.lorenz[0]) == (0, 0, 0)
    assert len(curve.share) == 1 + len(np.unique(v[w > 0]))
    area = np.trapezoid(curve.concentration - curve.lorenz, curve.share)
    assert area_between_curves(y, v, sample_weight=w) == pytest.approx(area, abs=1e-15)


def test_ties_are_the_mean_over_their_orders():
    """Of two rows that tie, one is first in half of the orders; by hand, over all six."""
    y, v = np.array([1.0, 4.0, 1.0]), np.array([2.0, 2.0, 3.0])
    areas = []
    for order in ([0, 1, 2], [1, 0, 2]):
        actual, expected = (np.append(0, np.cumsum(part[order])) / part.sum() for part in (y, v))
        areas.append(np.trapezoid(actual - expected, dx=1 / 3))
    assert area_between_curves(y, v) == pytest.approx(np.mean(areas))
    assert area_between_curves(y[::-1], v[::-1]) == area_between_curves(y, v)


def test_calibrated_predictions_have_one_curve(rows):
    _, v, w = rows
    noise = np.random.default_rng(1).normal(size=60)
    for place in np.unique(v):  # which leaves the mean of each prediction as it was
        tied = (v == place) & (w > 0)
        noise[tied] -= np.average(noise[tied], weights=w[tied])
    for factor in (1.0, 0.7):
        curve = concentration_curve(factor * v + noise, v, sample_weight=w)
        if factor == 1:
            np.testing.assert_allclose(curve.concentration, curve.lorenz, atol=1e-14)
        area = area_between_curves(factor * (v + noise), v, sample_weight=w)
        assert area == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("power", [2.0, 1.0, 0.5])
def test_powers_of_exponential_means(power):
    """The Gini index of the p-th power of an exponential variable is 1 - 2^-p."""
    ranks = (np.arange(200_000) + 0.5) / 200_000
    means = -np.log1p(-ranks)
    area = area_between_curves(means, means**power)
    assert area == pytest.approx(2.0**-1 / 2 - 2.0**-power / 2, abs=1e-4)


def test_predictions_without_a_relation_to_the_targets():
    """Of equal targets the area is half of the Gini index of predictions, 1/3 of uniform ones."""
    v = (np.arange(1000) + 0.5) / 1000
    assert area_between_curves(np.ones(1000), v) == pytest.approx(1 / 6, abs=1e-6)
    assert area_between_curves(np.arange(1000), np.full(1000, 3.0)) == 0


def test_weights_count_rows_in_any_order_and_unit(rows):
    y, v, w = rows
    expected = area_between_curves(np.repeat(y, w), np.repeat(v, w))
    order = np.random.default_rng(2).permutation(60)
    for unit in (1.0, 1e-90, 1e95):
        area = area_between_curves(unit * y[order], v[order] / unit, sample_weight=w[order] * unit)
        assert area == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("function", [area_between_curves, concentration_curve])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_pred": [1, -1]}, "y_pred must not be negative; got -1.0 at row"),
        ({"y_pred": [0, 0]}, "y_pred must not be 0 in all rows"),
        ({"y_true": [0, 0]}, "The sum of y_true must be above 0; got 0"),
        ({"y_true": [1, -3]}, "The sum of y_true must be above 0; got -2"),
        ({"y_pred": [1, np.nan]}, "y_pred must hold finite numbers"),
        ({"sample_weight": [1]}, "sample_weight must"),
    ],
)
def test_what_is_refused(function, options, message):
    with pytest.raises(ValueError, match=message):
        function(**{"y_true": [1, 2], "y_pred": [1, 2], **options})
