"""Scales of class scores, against arithmetic of many digits."""

import numpy as np
import pytest
from scipy.special import logit

from skcal._numerics._scores import (
    centre_logits,
    find_probabilities,
    log_odds,
    log_probabilities,
    normalize_rows,
)

LOGITS = np.array([[0.0, 1.0, -2.0], [40.0, -3.0, 1.0], [700.0, -700.0, 0.0], [5.0, 5.0, 5.0]])


def exact_logs(row):
    """Logarithms of p and 1 - p by sums in long double that do not cancel."""
    terms = np.exp(row.astype(np.longdouble) - row.max())
    pairs = []
    for k, own in enumerate(terms):
        others = np.delete(terms, k).sum()
        small = np.log1p(-min(own, others) / terms.sum())
        large = np.log(min(own, others) / terms.sum())
        pairs.append((small, large) if own > others else (large, small))
    return np.array(pairs, dtype=np.float64).T


def test_logarithms_of_probabilities_and_complements():
    log_proba, log_complement = log_probabilities(LOGITS)
    for row, ours, others in zip(LOGITS, log_proba, log_complement, strict=True):
        exact, exact_others = exact_logs(row)
        np.testing.assert_allclose(ours, exact, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(others, exact_others, rtol=1e-13, atol=1e-300)


def test_probabilities_are_those_of_the_logarithms():
    proba = [np.exp(exact_logs(row)[0]) for row in LOGITS]
    np.testing.assert_allclose(find_probabilities(LOGITS), proba, rtol=1e-13)
    shifted = LOGITS + 1024 * np.arange(4)[:, None]
    np.testing.assert_allclose(find_probabilities(shifted), proba, rtol=1e-12)


def test_log_odds_are_logits_of_probabilities_and_do_not_saturate():
    values = np.random.default_rng(0).normal(size=(50, 4))
    proba = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(log_odds(values), logit(proba), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(log_odds(np.array([[0.0, 900.0]])), [[900.0]])
    assert log_odds(np.array([[900.0, 0.0, 0.0]]))[0, 0] == pytest.approx(900 - np.log(2))


def test_centred_logits_do_not_see_a_shift_of_rows():
    centred = centre_logits(LOGITS)
    np.testing.assert_allclose(centred.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(centre_logits(LOGITS + np.arange(4)[:, None]), centred, atol=1e-12)
    alike = np.repeat(np.random.default_rng(0).normal(size=(50, 1)), 7, axis=1)
    np.testing.assert_array_equal(centre_logits(alike), 0)


def test_rows_are_normalised_and_zeros_become_even():
    np.testing.assert_array_equal(
        normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 2.0], [0.125, 0.375]])),
        [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75]],
    )
    np.testing.assert_array_equal(normalize_rows(np.zeros((50, 3))), np.full((50, 3), 1 / 3))
