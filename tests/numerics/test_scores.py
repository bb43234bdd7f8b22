"""Scales of class scores, against arithmetic of many digits; none saturates."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import expit

from skcal._numerics.recalibration import _scores as scores

LOGITS = np.array([[0.0, 1.0, -2.0], [40.0, -3.0, 1.0], [900.0, -700.0, 0.0], [5.0, 5.0, 5.0]])


def find_exact_logs():
    """Logarithms of p and 1 - p, to 1000 digits."""
    with localcontext(prec=1000):
        terms = np.array([[Decimal(value).exp() for value in row] for row in LOGITS])
        total, find_logs = terms.sum(axis=1, keepdims=True), np.vectorize(Decimal.ln)
        return [find_logs(part / total).astype(float) for part in (terms, total - terms)]


def test_log_odds_and_probabilities():
    exact, exact_others = find_exact_logs()
    np.testing.assert_allclose(scores.log_odds(LOGITS), exact - exact_others, rtol=1e-12)
    np.testing.assert_allclose(scores.find_probabilities(LOGITS), np.exp(exact), rtol=1e-13)
    inside = scores.combine_odds(exact - exact_others)
    np.testing.assert_allclose(inside, np.exp(exact), rtol=1e-13, atol=1e-300)
    assert ((inside > 0) & (inside < 1)).all()
    np.testing.assert_allclose(scores.combine_odds(np.array([[-3.0]])), expit([[3.0, -3.0]]))
    np.testing.assert_array_equal(scores.log_odds(np.array([[0.0, 900.0]])), [[900.0]])
    shifted = scores.find_probabilities(LOGITS + 1024 * np.arange(4)[:, None])
    np.testing.assert_allclose(shifted, np.exp(exact), rtol=1e-12)


def test_centred_logits_do_not_see_a_shift_of_rows(rng):
    centred = scores.centre_logits(LOGITS)
    np.testing.assert_allclose(centred.sum(axis=1), 0, atol=1e-12)
    shifted = scores.centre_logits(LOGITS + np.arange(4)[:, None])
    np.testing.assert_allclose(shifted, centred, atol=1e-12)
    alike = np.repeat(rng.normal(size=(50, 1)), 7, axis=1)
    np.testing.assert_array_equal(scores.centre_logits(alike), 0)


def test_rows_are_normalised_and_zeros_become_even():
    found = scores.normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 2.0], [0.125, 0.375]]))
    np.testing.assert_array_equal(found, [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75]])
    np.testing.assert_array_equal(scores.normalize_rows(np.zeros((50, 3))), np.full((50, 3), 1 / 3))


HALF_EPS = 2.0**-53


@pytest.mark.parametrize(
    ("proba", "n_classes", "expected"),
    [
        ([0.0, 0.01, 0.5], 2, 0.005),  # votes of hundred
        ([0.0, 0.2, 0.8], 10, 0.05),  # below 1 / n_classes, so that the largest stays above
        ([0.0, 1.0], 2, 0.25),
        ([0.0, 0.0], 4, 0.125),
        ([1e-9, 0.2], 2, 2 * HALF_EPS),  # no zeros
        ([2 * HALF_EPS, 4e-15, 0.2], 2, 2 * HALF_EPS),
        ([0.0, 1e-300, 1e-9, 0.2], 2, 2 * HALF_EPS),  # the end of a range
        ([0.0, 1e-9, 0.2], 2, 5e-10),
        ([1 - (1 - HALF_EPS), 0.2, 0.8], 2, 0.1),  # a complement that should be 0
        ([0.0, 1 - sum([0.1] * 10), 0.2, 0.8], 2, 0.1),
        ([0.0, 1 - 0.9 - 0.1, 0.2, 0.8], 2, 0.1),  # a quarter of the resolution
        ([0.0, 0.1 - 0.01 - 0.09, 0.2, 0.8], 2, 0.1),  # less, beside smaller numbers
    ],
)
def test_a_zero_stands_for_half_of_the_smallest_number_that_was_possible(
    proba, n_classes, expected
):
    column = np.array(proba)[:, None]
    assert scores.find_floor(column, n_classes) == pytest.approx(expected, rel=1e-15, abs=0)


def test_rounding_is_that_of_the_type():
    """1 - p - q of float32 leaves more where it should be 0."""
    p, q, resolution = np.float32(0.9), np.float32(0.1), float(np.finfo(np.float32).eps)
    rest = np.float32(1) - p - q
    assert 1e-9 < rest < 1e-7
    proba = np.array([[p, q, rest], [0.25, 0.75, 0.0]], dtype=np.float64)
    assert scores.find_floor(proba, 3, resolution) == pytest.approx(0.05)
    # Nothing as fine as this is left by rounding.
    proba[0, 2] = 1e-20
    assert scores.find_floor(proba, 3, resolution) == 2 * HALF_EPS
