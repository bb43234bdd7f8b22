"""Interval calibration errors: closed forms, ties and weights, continuity, invalid input."""

import numpy as np
import pytest

from skcal.metrics import (
    interval_calibration_error,
    random_interval_calibration_error,
    surrogate_interval_calibration_error,
)
from tests import reference_distance as reference

ERRORS = [
    interval_calibration_error,
    random_interval_calibration_error,
    surrogate_interval_calibration_error,
]
every_error = pytest.mark.parametrize("error", ERRORS)


@pytest.fixture
def rng():
    return np.random.default_rng(37)


def population(n=4000):
    """Midpoints of n equal cells of [0, 1]."""
    return (np.arange(n) + 0.5) / n


@every_error
def test_residuals_of_one_sign_are_all_that_counts(error):
    """Family A of DEFINITIONS.md: outcomes shifted by d, and the extreme case of always wrong."""
    for d in (0.3, 0.01):
        v = population() * (1 - d)
        assert error(v + d, v) == pytest.approx(d, abs=1e-12)
    assert error([1, 1], [0, 0]) == 1


def test_closed_form_of_shrunk_predictions():
    """Family B: mean outcome 1/2 + (1 - a) (v - 1/2)."""
    v, a = population(), 0.5
    y = 0.5 + (1 - a) * (v - 0.5)
    # To unite u on both sides of 1/2 saves a u^2 of residual and costs 4 u^2 of width.
    assert interval_calibration_error(y, v) == pytest.approx(a / 4, abs=1e-12)
    assert surrogate_interval_calibration_error(y, v) == pytest.approx(a / 4, abs=1e-6)
    # Only the interval around 1/2 holds residuals of both signs: it saves a width^2 / 12.
    for width in (0.5, 0.1, 0.025):
        value = random_interval_calibration_error(y, v, width=width)
        assert value == pytest.approx(a / 4 - a * width**2 / 12, abs=1e-6)


def test_closed_form_of_lemma_4_5():
    """Family D: mean outcomes of two predictions 1/2 -+ a exchanged."""
    for a in (0.01, 0.2):
        v = [0.5 - a, 0.5 + a]
        y = [0.5 + a, 0.5 - a]
        assert interval_calibration_error(y, v) == pytest.approx(2 * a, abs=1e-12)
        # The two share an interval unless its edge falls between them.
        for width in (0.1, 0.5, 3.0):
            assert random_interval_calibration_error(y, v, width=width) == pytest.approx(
                2 * a * min(1, 2 * a / width), abs=1e-12
            )
        expected = min(4 * a**2 * 2**k + 0.5**k for k in range(10) if 2 * a <= 0.5**k)
        assert surrogate_interval_calibration_error(y, v) == pytest.approx(
            min(expected, 2 * a), abs=1e-12
        )


def test_two_predictions_with_opposite_outcomes():
    for gap in (0.3, 0.02, 1e-9):
        v = [0.5 - gap / 2, 0.5 + gap / 2]
        together, apart = gap, 0.5 + gap / 2
        assert interval_calibration_error([1, 0], v) == pytest.approx(
            min(together, apart), abs=1e-12
        )


def test_shared_interval_of_different_residuals_by_hand():
    # Residuals .45 and -.2 in halves: |.25| / 2 + width .2, against .45 / 2 + .2 / 2 apart.
    assert interval_calibration_error([1, 0.55], [0.55, 0.75]) == pytest.approx(0.325)
    assert interval_calibration_error([1, 0.45], [0.55, 0.65]) == pytest.approx(0.125 + 0.1)


@pytest.mark.parametrize("kind", reference.KINDS)
def test_interval_error_of_samples_with_ties_and_weights(rng, kind):
    for n in (1, 4, 12):
        y, v, weights = reference.draw_sample(rng, kind, n)
        knots, mass, positive = reference.merge_ties(y, v, weights)
        if len(knots) > 10:
            knots, mass, positive = knots[:10], mass[:10], positive[:10]
            y, v, weights = positive / mass, knots, mass
            mass, positive = mass / mass.sum(), positive / mass.sum()
        residual = positive - mass * knots

        def cost(group, knots=knots, mass=mass, residual=residual):
            width = knots[group[-1]] - knots[group[0]]
            return abs(residual[group].sum()) + mass[group].sum() * width

        expected = min(
            sum(map(cost, partition))
            for partition in reference.list_interval_partitions(list(range(len(knots))))
        )
        assert interval_calibration_error(y, v, sample_weight=weights) == pytest.approx(
            expected, abs=1e-12
        )


def test_random_intervals_agree_with_many_shifts(rng):
    y, v, weights = rng.integers(0, 2, 40), np.round(rng.random(40), 2), rng.random(40)
    for width in (0.1, 0.37):
        # Midpoints of cells that no edge of an interval leaves: hundredths of ties and widths.
        shifts = (np.arange(round(100 * width)) + 0.5) / 100
        sums = [
            np.abs(np.bincount(((v - s) // width + 2).astype(int), weights * (y - v))).sum()
            for s in shifts
        ]
        value = random_interval_calibration_error(y, v, sample_weight=weights, width=width)
        assert value == pytest.approx(np.mean(sums) / weights.sum(), abs=1e-12)


def test_random_intervals_are_continuous_in_the_predictions(rng):
    y, v = rng.integers(0, 2, 50), np.round(rng.random(50), 1)
    value = random_interval_calibration_error(y, v)
    for shift in (1e-4, 1e-8):
        moved = np.clip(v + shift * rng.choice([-1, 1], 50), 0, 1)
        # As in Lemma 6.7 of the distance paper: residuals change by the shift, and an edge falls
        # between a row's old and new place with chance shift / width.
        assert abs(random_interval_calibration_error(y, moved) - value) <= (1 + 2 / 0.1) * shift


@pytest.mark.parametrize("width", [0, -1, 1e-16, np.nan, np.inf, "wide", None])
def test_bad_width(width):
    with pytest.raises(ValueError, match="width must be"):
        random_interval_calibration_error([0, 1], [0.2, 0.7], width=width)
