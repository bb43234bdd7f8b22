"""Intercepts that give classes their shares, where some are far from others."""

import numpy as np
import pytest
from scipy.special import logsumexp

from skcal._numerics.recalibration import _intercepts
from skcal._numerics.recalibration._intercepts import (
    _Problem,
    add_intercepts,
    find_holding_intercept,
    fit_intercepts,
)

PROBA = np.array([[1, 0, 0], [0, 0.5, 0.5], [0.25, 0.25, 0.5], [0, 0, 1], [1e-310, 1, 0]])
CODES = np.array([0, 1, 2, 2, 1])


@pytest.mark.parametrize("far", [1.0, 30.0, 1400.0, 1e200])
def test_the_loss_of_far_intercepts(far):
    """By logarithms of sums, which do not underflow."""
    shares = np.bincount(CODES) / 5
    problem = _Problem(PROBA, np.full(5, 0.2), shares, np.arange(3))
    for values in ([far, 0], [0, -far], [-far, far / 2]):
        intercepts = np.append(0, values)
        value, gradient, _ = problem.evaluate(np.array(values))
        with np.errstate(divide="ignore"):
            logs = np.log(PROBA) + intercepts
        total = logsumexp(logs, axis=1)
        assert value == pytest.approx(total.mean() - shares @ intercepts, rel=1e-12, abs=1e-12)
        means = np.exp(logs - total[:, None]).mean(axis=0)
        np.testing.assert_allclose(gradient, (means - shares)[1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("far", [1.0, 1400.0, 1e200])
def test_what_is_certain_stays_certain(far):
    for intercepts in ([-far, 0, far], [far, -far, 0]):
        found = add_intercepts(PROBA, np.array(intercepts))
        np.testing.assert_array_equal(found[[0, 3]], PROBA[[0, 3]])
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_rows_that_are_nearly_certain():
    """The mean of each probability is the share of its class, whatever the others are."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1e-3] * 3, 500)
    codes = np.array([rng.choice(3, p=row) for row in proba])
    fitted = fit_intercepts(proba, codes, None)
    told = proba[np.arange(500), codes] > 0
    means = add_intercepts(proba[told], fitted.values).mean(axis=0)
    np.testing.assert_allclose(means, np.bincount(codes[told]) / told.sum(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 301)])
@pytest.mark.parametrize("concentration", [0.02, 1.0])
def test_many_classes_reach_their_shares_without_a_hessian(monkeypatch, concentration, weights):
    monkeypatch.setattr(_intercepts, "LARGEST_HESSIAN", 0)
    monkeypatch.setattr(_intercepts.KeptHessian, "solve", None)
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(30, concentration), 300)
    codes = np.array([rng.choice(30, p=row / row.sum()) for row in proba**0.7])
    fitted = fit_intercepts(proba, codes, weights)
    told = proba[np.arange(300), codes] > 0
    mass = (np.ones(300) if weights is None else weights) * told
    means = np.average(add_intercepts(proba, fitted.values), axis=0, weights=mass)
    shares = np.bincount(codes, mass) / mass.sum()
    np.testing.assert_allclose(means, shares, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 41)])
def test_classes_that_hold_their_rows(weights):
    """As many are expected of them after the intercepts of the others as before."""
    proba = np.random.default_rng(0).dirichlet([1, 2, 0.1, 0.2], 40)
    intercepts, columns = np.array([1.5, -2.0, 0, 0]), np.array([2, 3])
    mass = np.ones(40) if weights is None else weights
    expected = mass @ proba[:, columns].sum(axis=1)
    held = find_holding_intercept(proba, intercepts, columns, expected, weights)
    intercepts[columns] = held
    found = mass @ add_intercepts(proba, intercepts)[:, columns].sum(axis=1)
    assert held != 0
    assert found == pytest.approx(expected, rel=1e-11)
