"""One slope of all logits and an intercept of each class, by maximum likelihood."""

from typing import NamedTuple

import numpy as np

from skcal._numerics.inference._classical_tests import chi_squared_pvalue
from skcal._numerics.inference._effective_rows import count_jointly
from skcal._numerics.recalibration._newton import (
    DAMPING,
    KeptHessian,
    centre_features,
    minimize_convex,
)
from skcal._numerics.recalibration._scores import find_probabilities

# The last step of intercepts promises twice this gain, or less, per share of the rarest class.
_LAST_DECREMENT = 1e-16
# Directions in which the information is a smaller share of the largest are not told apart.
_FLAT = 1e-12


class CommonSlope(NamedTuple):
    """Slope b and intercepts a of softmax(b z + a), which sum to 0, and its mean log loss."""

    slope: float
    intercepts: np.ndarray
    loss: float


def compare_updates(logits, outcomes, mass):
    """Each `CommonSlope` from the smallest to the largest, and p-values of tests against the last.

    They are without a change, with intercepts, and with a slope too where it is known. Rows of
    logits sum to 0, `mass` to 1.
    """
    n_classes = logits.shape[1]
    none = CommonSlope(1.0, np.zeros(n_classes), measure_loss(logits, outcomes, mass))
    shifted, stretched = (fit(logits, outcomes, mass) for fit in (fit_shift, fit_common_slope))
    fits = [none, shifted] if stretched is None else [none, shifted, stretched]
    n_parameters, shifts = (0, n_classes - 1, n_classes), (None, shifted.intercepts)
    pvalues = []
    for k, fit in enumerate(fits[:-1]):
        n_rows = count_for_gain(logits, outcomes, mass, shifts[k])
        statistic = 2 * n_rows * max(fit.loss - fits[-1].loss, 0.0)
        degrees = n_parameters[len(fits) - 1] - n_parameters[k]
        pvalues.append(chi_squared_pvalue(statistic, degrees))
    return fits, np.array(pvalues)


def fit_common_slope(logits, targets, mass):
    """The `CommonSlope` with the least mean log loss.

    Rows of logits sum to 0, rows of targets and `mass` to 1. None where log odds are the same in
    all rows, and nothing tells the slope.
    """
    places, offset = centre_features(logits - logits[:, :1], mass)
    if not places.any():
        return None
    problem = _Problem(places, targets, mass)
    found, _ = minimize_convex(problem.evaluate, np.append(1.0, offset[1:]))
    intercepts = np.append(0.0, found[1:]) - found[0] * offset
    loss = problem.evaluate(found)[0]
    return CommonSlope(float(found[0]), intercepts - intercepts.mean(), loss)


def fit_shift(logits, targets, mass):
    """The `CommonSlope` of slope 1 with the least mean log loss."""
    problem = _Problem(logits - logits[:, :1], targets, mass, slope=1.0)
    # Intercepts of rare classes are to be as exact as others.
    last = _LAST_DECREMENT * (mass @ targets).min()
    start = np.zeros(logits.shape[1] - 1)
    found, _ = minimize_convex(problem.evaluate, start, last_decrement=last)
    intercepts = np.append(0.0, found)
    return CommonSlope(1.0, intercepts - intercepts.mean(), problem.evaluate(found)[0])


def count_for_gain(logits, outcomes, mass, shift=None):
    """Rows of equal weight that tell as much of what a slope, and intercepts, gain.

    The gain is one over no recalibration, or, given the best `shift`, that of the slope over it.
    """
    if (mass == mass[0]).all():
        return float(len(mass))
    places, _ = centre_features(logits - logits[:, :1], mass)
    proba = find_probabilities(logits if shift is None else logits + shift)
    residuals = outcomes - proba
    pulls = (residuals * places).sum(axis=1, keepdims=True)
    if shift is None:
        pulls = np.hstack([residuals[:, 1:], pulls])
    else:  # what the slope adds to intercepts
        weighted = mass[:, None] * proba
        information = np.diag(weighted.sum(axis=0)) - weighted.T @ proba
        shared = weighted * (places - (proba * places).sum(axis=1, keepdims=True))
        own = np.linalg.pinv(information, rcond=_FLAT, hermitian=True) @ shared.sum(axis=0)
        pulls -= (residuals @ own)[:, None]
    rows = mass[:, None] * pulls
    n_rows = count_jointly(rows.sum(axis=0), rows.T @ pulls, rows.T @ rows)
    return 0.0 if np.isnan(n_rows) else n_rows


def measure_loss(logits, targets, mass):
    """Mean log loss of rows whose targets and mass sum to 1."""
    top = logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(axis=1))
    return float(mass @ (total + ((top - logits) * targets).sum(axis=1)))


class _Problem:
    """The mean log loss of the slope, unless it is given, and of all intercepts but the first."""

    def __init__(self, places, targets, mass, slope=None):
        self.places, self.targets, self.mass, self.slope = places, targets, mass, slope
        self.first = 0 if slope is None else 1
        self.bound = np.append(mass @ (places**2).max(axis=1), np.ones(places.shape[1] - 1))
        self.steps = KeptHessian()

    def evaluate(self, values):
        slope = values[0] if self.slope is None else self.slope
        scores = slope * self.places + np.append(0.0, values[1 - self.first :])
        proba = find_probabilities(scores)
        residuals = self.mass[:, None] * (proba - self.targets)
        gradient = np.append((residuals * self.places).sum(), residuals.sum(axis=0)[1:])
        gradient = gradient[self.first :]

        def step(_):  # all are free, as none has a bound
            return self.steps.solve(lambda: self.form_hessian(proba), gradient)

        return measure_loss(scores, self.targets, self.mass), gradient, step

    def form_hessian(self, proba):
        weighted = self.mass[:, None] * proba
        away = self.places - (proba * self.places).sum(axis=1, keepdims=True)
        hessian = np.diag(np.append(0.0, weighted.sum(axis=0)[1:]))
        hessian[1:, 1:] -= weighted[:, 1:].T @ proba[:, 1:]
        hessian[0, 0] = (weighted * away**2).sum()
        hessian[0, 1:] = hessian[1:, 0] = (weighted * away).sum(axis=0)[1:]
        hessian += np.diag(DAMPING * self.bound)
        return hessian[self.first :, self.first :]
