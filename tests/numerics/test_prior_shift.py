"""Rates of maximum likelihood: Newton's method, EM and a generic solver agree."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.special import softmax

from skcal._numerics.shift._prior_shift import (
    find_factors,
    fit_prior,
    shift_logits,
    shift_probabilities,
)


def shift_by_em(proba, old, weights, n_steps=100_000):
    """Saerens, Latinne, Decaestecker (2002), equation 2.8."""
    rates = old
    for _ in range(n_steps):
        posterior = proba * (rates / old)
        posterior /= posterior.sum(axis=1, keepdims=True)
        before, rates = rates, weights @ posterior / weights.sum()
        if abs(rates - before).max() < 1e-14:
            break
    return rates


def shift_by_solver(proba, old, weights):
    """SLSQP of SciPy."""
    ratios, share = proba / old, weights / weights.sum()
    found = minimize(
        lambda rates: -share @ np.log(ratios @ rates),
        old,
        jac=lambda rates: -(share / (ratios @ rates)) @ ratios,
        method="SLSQP",
        bounds=[(1e-12, 1)] * len(old),
        constraints=LinearConstraint(np.ones(len(old)), 1, 1),
        options={"ftol": 1e-20, "maxiter": 1000},
    )
    return found.x


def make_rows(n_classes, scale, seed=0, n_rows=1500):
    """Scores of a population with other rates than those for which they are made."""
    rng = np.random.default_rng(seed)
    proba = softmax(scale * rng.normal(size=(n_rows, n_classes)), axis=1)
    old = proba.mean(axis=0)
    return proba[rng.random(n_rows) < proba[:, 0] ** 0.3], old


def test_rates_of_zero_and_next_to_it():
    """Only probabilities over rates matter; a class that there was none of is left out."""
    proba, old = make_rows(3, 2.0)
    expected = fit_prior(proba, old)
    without = fit_prior(np.insert(proba, 1, 0.1, axis=1), np.insert(old, 1, 0.0))
    np.testing.assert_allclose(without, np.insert(expected, 1, 0.0), rtol=1e-12)
    tiny = old * [1e-200, 1, 1]
    rare = proba * (tiny / old)
    np.testing.assert_allclose(fit_prior(rare, tiny), expected, rtol=1e-9)
    # A step to a rate of 0 leaves the last row a likelihood of 5e-323.
    sure = np.array([[1, 0.0]] * 4 + [[5e-323, 1]])
    np.testing.assert_allclose(fit_prior(sure, np.array([0.8, 0.2])), [0.8, 0.2])


# SciPy before 1.14 says so of steps that it mends itself.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("n_classes", [2, 3, pytest.param(10, marks=pytest.mark.slow)])
def test_newton_em_and_a_generic_solver_agree(n_classes, scale, weighted):
    proba, old = make_rows(n_classes, scale)
    weights = np.random.default_rng(1).integers(1, 4, len(proba)) if weighted else None
    found = fit_prior(proba, old, weights)
    weights = np.ones(len(proba)) if weights is None else weights
    np.testing.assert_allclose(found, shift_by_em(proba, old, weights), atol=1e-8, rtol=0)
    np.testing.assert_allclose(found, shift_by_solver(proba, old, weights), atol=1e-8, rtol=0)


def test_first_order_conditions_at_the_boundary():
    """With a rate of 0 EM takes for ever; the slope of the likelihood says that 0 is right."""
    proba = np.array([[0.1, 0.6, 0.3], [0.05, 0.15, 0.8], [0.1, 0.5, 0.4]])
    old = np.array([0.5, 0.25, 0.25])
    rates = fit_prior(proba, old)
    slopes = ((proba / old) / (proba @ (rates / old))[:, None]).mean(axis=0)
    assert rates[0] == 0
    np.testing.assert_allclose(slopes[1:], 1, atol=1e-10)
    assert slopes[0] < 1
    assert rates.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("n_rows", [7, 100_000])  # the second starts from a part of the rows
def test_closed_form_of_two_different_scores(n_rows):
    """A share c of scores a and the rest b: the estimate of Rogan and Gladen, cut to [0, 1]."""
    low, high, old = 0.2, 0.7, 0.4
    # The law of the scores in each class, by Bayes' rule, where their mean is the old rate.
    share = (old - low) / (high - low)
    sensitivity, false_alarms = share * high / old, share * (1 - high) / (1 - old)
    for n_high in (0, n_rows // 3, n_rows // 2, n_rows):
        scores = np.where(np.arange(n_rows) < n_high, high, low)
        found = fit_prior(np.column_stack([1 - scores, scores]), np.array([1 - old, old]))
        expected = (n_high / n_rows - false_alarms) / (sensitivity - false_alarms)
        assert found[1] == pytest.approx(np.clip(expected, 0, 1), abs=1e-10)


def test_sure_scores_are_counted():
    proba = np.eye(3)[[0, 0, 1, 2, 2, 2]]
    np.testing.assert_allclose(fit_prior(proba, np.array([0.2, 0.2, 0.6])), [1 / 3, 1 / 6, 1 / 2])


def test_rates_of_the_scores_themselves_stay():
    """Where the rates are the mean scores, these are the maximum."""
    proba, _ = make_rows(4, 2.0)
    np.testing.assert_allclose(fit_prior(proba, proba.mean(axis=0)), proba.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_class_without_a_rate_has_none(weighted):
    proba, old = make_rows(3, 1.0)
    weights = np.arange(len(proba)) % 4 if weighted else None
    padded = np.column_stack([np.zeros(len(proba)), proba])
    found = fit_prior(padded, np.append(0.0, old), weights)
    assert found[0] == 0
    np.testing.assert_allclose(found[1:], fit_prior(proba, old, weights))


@pytest.mark.parametrize("tiny", [1.0, 1e-150])
def test_the_factor_of_a_row_makes_no_difference(tiny):
    proba, old = make_rows(3, 2.0)
    expected = fit_prior(proba, old)
    factors = 10.0 ** -(np.arange(len(proba)) % 140.0)[:, None]
    unlike = old * [tiny, 1, 1]
    np.testing.assert_allclose(fit_prior(factors * proba * (unlike / old), unlike), expected)


def test_weights_are_counts_and_labels_have_no_order():
    proba, old = make_rows(3, 2.0, n_rows=300)
    weights = np.random.default_rng(2).integers(0, 4, len(proba))
    found = fit_prior(proba, old, weights.astype(float))
    np.testing.assert_allclose(fit_prior(np.repeat(proba, weights, axis=0), old), found, atol=1e-10)
    turned = fit_prior(proba[:, ::-1], old[::-1], weights.astype(float))
    np.testing.assert_allclose(turned[::-1], found, atol=1e-10)


def test_rows_of_no_weight_are_absent():
    """They may exclude what is right for the others."""
    proba = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]])
    found = fit_prior(proba, np.full(3, 1 / 3), np.array([1, 0, 1, 0]))
    np.testing.assert_allclose(found, [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("shift", [shift_probabilities, shift_logits])
def test_shifts_compose_and_follow_bayes(shift):
    proba, old = make_rows(3, 3.0)
    give = (lambda p: p) if shift is shift_probabilities else np.log
    new, last = np.array([0.5, 0.1, 0.4]), np.array([0.01, 0.98, 0.01])
    once = shift(give(proba), old, new)
    joint = proba / old * new
    np.testing.assert_allclose(once, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(
        shift(give(once), new, last), shift(give(proba), old, last), rtol=1e-10
    )


def test_a_class_that_neither_rate_has_is_left_out():
    old, new = np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.8, 0.2])
    np.testing.assert_array_equal(find_factors(old, new), [0, 1.6, 0.4])
    shifted = shift_probabilities(np.array([[0.2, 0.4, 0.4]]), old, new)
    np.testing.assert_allclose(shifted, [[0, 0.8, 0.2]], rtol=1e-15)
    # Rates that are next to 0 have ratios whose products with each other would overflow.
    shifted = shift_probabilities(np.full((1, 2), 0.5), np.array([1e-200, 1.0]), np.full(2, 0.5))
    np.testing.assert_allclose(shifted, [[1, 1e-200]], rtol=1e-12)


def test_sure_scores_stay_and_excluded_ones_too():
    old, new = np.array([0.5, 0.3, 0.2]), np.array([0.7, 0.3, 0.0])
    rows = np.array([[0, 0, 1.0], [1, 0, 0], [0, 0.5, 0.5]])
    expected = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    np.testing.assert_array_equal(shift_probabilities(rows, old, new), expected)
