r"""Recalibration of means: targets on intercept + slope * link of the predictions.

Both coefficients minimise the mean Tweedie deviance. Their covariance is that of the one-step
jackknife (HC3 and, for clusters, CR3: R. M. Bell, D. F. McCaffrey, 2002, Survey Methodology 28):
without unit g, whose score is s_g and whose information is A_g, they move by (A - A_g)^{-1} s_g.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, logit, stdtr, stdtrit

from skcal._numerics.inference._classical_tests import clip_pvalue
from skcal._numerics.inference._effective_rows import find_degrees, find_shares
from skcal._numerics.recalibration._mean_scaling import LOGIT, half_deviance
from skcal._numerics.recalibration._newton import minimize_convex, solve_newton_step

# Where the others hold a smaller share of the determinant of the information, a unit is needed for
# the fit, and nothing tells how it varies.
_LEAST_REST = 1e-9
# Differences, relative to the spread of the links, and errors that are smaller are rounding.
_ROUNDING = 1e-12
_LEAST_DEGREES = 0.1


class Coefficients(NamedTuple):
    """Differences from the values under the hypothesis, and what is known of them.

    Both are in `units`, whose squares might vanish. `distance` is that of all together, which does
    not depend on coordinates. `degrees` are degrees of freedom of each, `joint_degrees` of all
    together; `loss` is the mean deviance of the fit, but for a constant.
    """

    differences: np.ndarray
    covariance: np.ndarray
    units: np.ndarray
    distance: float
    degrees: np.ndarray
    joint_degrees: float
    loss: float

    def bound(self, place, hypothesis, confidence_level):
        """A coefficient and the ends of its interval."""
        value = hypothesis + self.units[place] * self.differences[place]
        error = self.units[place] * np.sqrt(self.covariance[place, place])
        half = -error * stdtrit(self.degrees[place], (1 - confidence_level) / 2)
        return float(value), float(value - half), float(value + half)

    def test(self, place):
        """Squared t statistic of a coefficient, and its p-value."""
        statistic = measure_distance(
            self.differences[[place]], self.covariance[[place]][:, [place]]
        )
        return statistic, clip_pvalue(2 * stdtr(self.degrees[place], -np.sqrt(statistic)))

    def test_all(self):
        """Hotelling's statistic of both coefficients, and its p-value."""
        known = max(self.joint_degrees - 1, _LEAST_DEGREES)
        pvalue = fdtrc(2, known, self.distance * known / (2 * known + 2))
        return self.distance, clip_pvalue(pvalue)


def measure_distance(differences, covariance):
    """d' V^{-1} d; 0 where nothing is known, or where all d are 0, infinite where V is 0."""
    errors = np.sqrt(np.diag(covariance))
    if not differences.any() or np.isinf(errors).any():
        return 0.0
    if (errors == 0).any():
        return np.inf
    scaled, correlation = differences / errors, covariance / np.outer(errors, errors)
    return float(scaled @ np.linalg.pinv(correlation, hermitian=True) @ scaled)


class MeanRecalibrationModel:
    """Weighted rows, and how their deviance depends on intercept and slope.

    The deviance is the squared error (`power` 0, identity link), or one of a power from 1 to 2, at
    the log link; all are convex. With the log predictions are positive and the targets neither
    negative nor all 0, from a power of 2 on positive; below that, those above 0 do not all lie at
    the smallest or all at the largest prediction. A power of LOGIT is the deviance of
    probabilities, at their log odds, where `has_least_loss`. `member` are numbers of clusters, None
    where rows are independent. `has_slope` tells whether predictions differ.

    Coordinates are the level and the stretch of links that are centred and of spread 1, as
    differences from the hypothesis that no recalibration is needed.
    """

    def __init__(self, targets, predictions, weights, member, power):
        self._power, self._member, self._shares = power, member, find_shares(weights)
        if power == LOGIT:
            self._unit = self._loss_unit = 1.0
            self._offset, self._targets = logit(predictions), targets
            self._centre = float(self._shares @ self._offset)
        elif power:
            links, self._unit = np.log(predictions), 1.0
            self._centre = float(self._shares @ links)
            self._offset = links - self._centre
            self._targets = targets / np.exp(self._centre)
            self._loss_unit = np.exp((2 - power) * self._centre)
        else:
            self._unit = max(np.abs(targets).max(), np.abs(predictions).max())
            self._offset, self._targets = predictions / self._unit, targets / self._unit
            self._centre = float(self._shares @ self._offset)
            self._loss_unit = self._unit**2
        place = self._offset - (0.0 if power not in (0, LOGIT) else self._centre)
        self.has_slope = place.min() < place.max()
        self._spread = np.sqrt(self._shares @ place**2) if self.has_slope else 1.0
        self._columns = np.stack([np.ones(len(place)), place / self._spread])

    def measure(self):
        """Mean deviance of the predictions themselves, but for a constant."""
        return self._average_loss(self._expand_rows(np.zeros(1), self._columns[:1])[0])

    def fit_level(self):
        """`Coefficients` of the intercept at slope 1."""
        return self._describe(self._columns[:1], np.ones((1, 1)))

    def fit(self):
        """`Coefficients` of intercept and slope."""
        ratio = self._centre / self._spread
        to_own = np.array([[1.0, -ratio], [0.0, 1 / self._spread]])
        return self._describe(self._columns, to_own)

    def _expand_rows(self, point, columns):
        """Half the deviance of each row, its slope along the link, and its curvature."""
        return half_deviance(self._offset + point @ columns, self._targets, self._power)

    def _minimize(self, columns):
        """Newton's method, from the level that makes means equal."""
        start = np.zeros(len(columns))
        if self._power == LOGIT and not self.has_slope:  # and Newton's steps might be of any size
            start[0] = logit(self._shares @ self._targets) - self._offset[0]
        elif self._power not in (0, LOGIT):
            start[0] = np.log(self._shares @ self._targets / (self._shares @ np.exp(self._offset)))

        @np.errstate(over="ignore", invalid="ignore")  # of a step that is too long
        def evaluate(point):
            loss, slopes, curvatures = self._expand_rows(point, columns)
            hessian = (columns * (self._shares * curvatures)) @ columns.T

            def step(free):
                return solve_newton_step(hessian[np.ix_(free, free)], gradient[free])

            gradient = columns @ (self._shares * slopes)
            return self._shares @ loss, gradient, step

        return minimize_convex(evaluate, start)[0]

    def _describe(self, columns, to_own):
        """`Coefficients` that a matrix makes of the coordinates."""
        point = self._minimize(columns)
        point[np.abs(point) <= _ROUNDING] = 0.0
        loss, slopes, curvatures = self._expand_rows(point, columns)
        scores, parts = self._sum_units(columns, -self._shares * slopes, self._shares * curvatures)
        scale = np.trace(parts.sum(axis=2))
        scores, parts = scores / scale, parts / scale
        whole = parts.sum(axis=2)
        inverse = np.linalg.pinv(whole, hermitian=True)
        directions = inverse @ to_own.T
        told = np.einsum("ik,jk,ijg->kg", directions, directions, parts, optimize=True)
        totals = told.sum(axis=1, keepdims=True)
        told = np.divide(told, totals, where=totals > 0, out=np.ones(told.shape))
        jointly = np.tensordot(inverse, parts) / len(whole)
        squared, squared_jointly = (told**2).sum(axis=1), jointly @ jointly
        covariance, distance = np.full(whole.shape, np.inf), 0.0
        steps, rest = _solve(whole[:, :, None] - parts, scores)
        if (rest > _LEAST_REST * np.linalg.det(whole)).all():
            steps = (steps / rest).T
            own = _transform(steps, to_own)
            with np.errstate(over="ignore", invalid="ignore"):  # of what the rows hardly tell
                distance = measure_distance(point, steps.T @ steps)
                covariance = own.T @ own
            squared = np.maximum(squared, _square_shares(own))
            squared_jointly = max(squared_jointly, _square_shares(_project(steps, point)))
        degrees = find_degrees(squared), float(find_degrees(squared_jointly))
        units = np.array([self._unit, 1.0])
        differences = _transform(point, to_own)
        loss = self._average_loss(loss)
        return Coefficients(differences, covariance, units, distance, *degrees, loss)

    def _average_loss(self, losses):
        """Mean deviance, in the units of the targets."""
        return float(2 * self._loss_unit * (self._shares @ losses))

    def _sum_units(self, columns, pulls, curvature):
        """Scores and information of each row, or of each cluster, along the last axis."""
        scores, parts = columns * pulls, columns[:, None] * columns * curvature
        if self._member is None:
            return scores, parts
        return tuple(
            np.apply_along_axis(partial(np.bincount, self._member), -1, values)
            for values in (scores, parts)
        )


def has_least_loss(links, targets, weights):
    """Whether the deviance of probabilities has a least one over all lines, and is not endless.

    Along a direction of coefficients, whose values of the rows are x, it grows by the sum of
    w (max(x, 0) - t x) in the long run. That is linear between directions in which a row is 0.
    """
    order = np.argsort(links)
    links, targets, weights = links[order], targets[order], weights[order]
    if not 0 < weights @ targets < weights.sum():
        return False
    mass, moment = np.cumsum(weights), np.cumsum(weights * links)
    above = (moment[-1] - moment) - links * (mass[-1] - mass)
    tilt = weights @ (targets * links) - links * (weights @ targets)
    rise = moment[-1] - links * mass[-1]
    rounding = _ROUNDING * np.abs(links - links.mean()).max() * mass[-1]
    return bool(min((above - tilt).min(), (above - rise + tilt).min()) > rounding)


def _solve(matrices, sides):
    """Solutions of one or two equations, times the determinants; and these.

    The last axis has the number of the system.
    """
    if len(sides) == 1:
        return sides, matrices[0, 0]
    (first, second), (_, last) = matrices
    one, other = sides
    solutions = np.stack([last * one - second * other, first * other - second * one])
    return solutions, first * last - second**2


def _square_shares(steps):
    """Sum of the squared shares of units in the sum of squared steps, less 2 / n of n units.

    That is about 1 / n for normal steps, whose fourth moment is 3, and more for heavy tails.
    """
    sizes = np.abs(steps).max(axis=0)
    squares = np.divide(steps, sizes, where=sizes > 0, out=np.zeros(steps.shape)) ** 2
    return (squares**2).sum(axis=0) / np.maximum(squares.sum(axis=0), 1) ** 2 - 2 / len(steps)


def _project(steps, point):
    """Steps along the direction that makes `measure_distance` of the point."""
    units = np.abs(steps).max(axis=0)
    units[units == 0] = 1.0
    scaled = steps / units
    return scaled @ (np.linalg.pinv(scaled.T @ scaled, hermitian=True) @ (point / units))


def _transform(points, matrix):
    """A matrix times points, the last axis, without what is rounding beside its terms."""
    found = points @ matrix.T
    found[np.abs(found) <= _ROUNDING * np.abs(matrix).sum(axis=1)] = 0.0
    return found
