"""Likelihood of Cox's recalibration: outcomes on intercept + slope * log odds."""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, logit

from skcal._numerics._newton import DAMPING, minimize_convex, solve_newton_step


class Bounds(NamedTuple):
    """Estimate of a coefficient and the ends of its interval, infinite ones included."""

    estimate: float
    low: float
    high: float


class CoxFit(NamedTuple):
    """Maximum of the likelihood.

    Attributes
    ----------
    intercept, slope : float
        May be infinite where a threshold separates the outcomes.
    loss : float
        Mean log loss there.
    is_open : tuple of two pairs of bool
        Whether the likelihood of intercept and slope tends to its maximum towards minus and plus
        infinity.
    """

    intercept: float
    slope: float
    loss: float
    is_open: tuple


class CoxLikelihood:
    """Log-likelihood of weighted rows; weights are counts.

    Parameters
    ----------
    predictions, outcomes, weights : ndarray of shape (n_samples,)
        Predictions in (0, 1), not all equal; outcomes of both kinds.
    """

    def __init__(self, predictions, outcomes, weights):
        self.log_odds = logit(predictions)
        self.outcomes = outcomes
        self.total_weight = weights.sum()
        self.mass = weights / self.total_weight
        self._is_positive = outcomes > 0
        self._signed_mass = np.where(self._is_positive, -self.mass, self.mass)

    def fit(self):
        """Intercept and slope of the largest likelihood, a `CoxFit`."""
        centre = self.mass @ self.log_odds
        features = np.column_stack([np.ones_like(self.log_odds), self.log_odds - centre])
        (level, slope), loss = self._minimize(features, 0.0, np.array([0.0, 1.0]))
        limits = self._find_limits()
        if limits is None:
            return CoxFit(level - slope * centre, slope, loss, ((False, False), (False, False)))
        return CoxFit(*limits[:2], loss, limits[2])

    def compare(self, fit):
        """Likelihood-ratio statistic of intercept 0 and slope 1, and the loss gained per row."""
        gain = max(self._evaluate_loss(self.log_odds) - fit.loss, 0.0)
        return float(2 * self.total_weight * gain), float(gain)

    def bound_intercept(self, fit, confidence_level):
        """`Bounds` of the intercept by its profile likelihood."""
        deviance = self._profile(self.log_odds[:, None], lambda value: value, fit)
        return self._bound(deviance, fit.intercept, fit.is_open[0], confidence_level)

    def bound_slope(self, fit, confidence_level):
        """`Bounds` of the slope by its profile likelihood."""
        ones = np.ones((len(self.log_odds), 1))
        deviance = self._profile(ones, lambda value: value * self.log_odds, fit)
        return self._bound(deviance, fit.slope, fit.is_open[1], confidence_level)

    def bound_level(self, confidence_level):
        """`Bounds` of the intercept at slope 1, always finite."""
        ones = np.ones((len(self.log_odds), 1))
        (level,), least = self._minimize(ones, self.log_odds, np.zeros(1))

        def deviance(value):
            excess = self._evaluate_loss(value + self.log_odds) - least
            return 2 * self.total_weight * max(excess, 0.0)

        return self._bound(deviance, level, (False, False), confidence_level)

    def _evaluate(self, scores):
        """Mean log loss, its derivative by each score, and a function for the second ones."""
        size = np.abs(scores)
        is_right = (scores > 0) == self._is_positive
        small = np.exp(-size)
        loss = self.mass @ (np.log1p(small) + np.where(is_right, 0.0, size))
        likely = 1 / (1 + small)
        slope = self._signed_mass * np.where(is_right, small * likely, likely)
        return loss, slope, lambda: self.mass * (small * likely**2)

    def _evaluate_loss(self, scores):
        return self._evaluate(scores)[0]

    def _minimize(self, features, offset, start):
        """Coefficients that minimise the mean log loss of features @ coefficients + offset."""
        bound = self.mass @ features**2 / 4
        least = np.inf

        def evaluate(coefficients):
            nonlocal least
            loss, slope, find_spread = self._evaluate(features @ coefficients + offset)
            least = min(least, loss)
            gradient = features.T @ slope

            def step(_):  # all coordinates are free
                hessian = features.T @ (find_spread()[:, None] * features)
                return solve_newton_step(hessian + np.diag(DAMPING * bound), gradient)

            return loss, gradient, step

        return minimize_convex(evaluate, start)[0], least

    def _profile(self, feature, offset_at, fit):
        """Function of one coefficient: its deviance once the other one, of `feature`, is fitted."""
        last = np.zeros(1)

        def deviance(value):
            nonlocal last
            last, loss = self._minimize(feature, offset_at(value), last)
            return 2 * self.total_weight * max(loss - fit.loss, 0.0)

        return deviance

    def _find_limits(self):
        """Intercept, slope and open ends where a threshold of log odds separates the outcomes.

        Coefficients of size 1 / t that separate tend to the maximum as t falls to 0. Of all
        thresholds the middle one is taken, which a vanishing ridge penalty on the slope would
        choose. None where no threshold separates.
        """
        negative, positive = (self.log_odds[self.outcomes == outcome] for outcome in (0.0, 1.0))
        if negative.max() <= positive.min():
            low, high, sign = negative.max(), positive.min(), 1.0
        elif positive.max() <= negative.min():
            low, high, sign = positive.max(), negative.min(), -1.0
        else:
            return None
        # The intercept is -slope * threshold, with a threshold from low to high.
        middle = low / 2 + high / 2
        intercept = -sign * np.copysign(np.inf, middle) if middle else self._find_log_odds_at_zero()
        falls, rises = high > 0, low < 0
        ends = (falls, rises) if sign > 0 else (rises, falls)
        return intercept, sign * np.inf, (ends, (sign < 0, sign > 0))

    def _find_log_odds_at_zero(self):
        """Log odds of the outcomes where the predicted ones are 0; 0 without such rows."""
        rows = self.log_odds == 0
        if not rows.any():
            return 0.0
        return float(logit(self.mass[rows] @ self.outcomes[rows] / self.mass[rows].sum()))

    def _bound(self, deviance, estimate, is_open, confidence_level):
        critical = chdtri(1, 1 - confidence_level)
        scale = 4 / np.sqrt(self.total_weight)  # about the length of the interval
        ends = (
            side * np.inf if opened else find_crossing(deviance, estimate, side * scale, critical)
            for side, opened in zip((-1.0, 1.0), is_open, strict=True)
        )
        return Bounds(float(estimate), *map(float, ends))


def find_crossing(deviance, estimate, step, critical):
    """Where a convex deviance reaches a critical value on one side of its minimum.

    Parameters
    ----------
    deviance : callable
        Zero at the estimate, or in the limit where that is infinite.
    estimate : float
    step : float
        First step, towards that side.
    critical : float

    Returns
    -------
    float
    """

    # The square root of the deviance is nearly linear.
    @cache
    def excess(value):
        return np.sqrt(deviance(value)) - np.sqrt(critical)

    within, first, back = estimate, step, step
    if np.isinf(estimate):
        within = 0.0
        while excess(within) > 0:
            within -= back
            back *= 2
    elif excess(within) >= 0:  # the arithmetic resolves no interval of so many rows
        return estimate
    beyond = within + step
    while excess(beyond) < 0:
        within = beyond
        step *= 2
        beyond += step
    return brentq(excess, within, beyond, xtol=1e-9 * abs(first), rtol=1e-12)
