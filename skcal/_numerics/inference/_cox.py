"""Likelihood of Cox's recalibration: outcomes on intercept + slope * log odds."""

from copy import copy
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, expit, logit, xlogy

from skcal._numerics._roots import find_root
from skcal._numerics.inference._clustered_rows import ClusteredRows
from skcal._numerics.inference._effective_rows import (
    Telling,
    count_jointly,
    divide_squares,
    find_shares,
)

# Log odds that are worked on at a time: their arrays stay in the cache, and BLAS in one thread.
_CHUNK = 1 << 13
# Newton steps end where they promise to gain this share of the loss, which is below its rounding.
_LAST_DECREMENT = 1e-15
_MAX_STEPS = 500
# A step that is too long is cut by this factor.
_CUT = 4.0
# Where outcomes are all but certain the curvature vanishes: it counts as this share of the
# gradient, which limits the length of a step.
_FLAT = 1e-18
# Share of a curvature that is lost by a change of the centre: more calls for a new computation.
_CANCELLED = 1e-6
# Newton steps to the end of an interval, and where they stop: the next error is the square of it.
_MAX_CROSSING_STEPS = 8
_CROSSING_ERROR = 1e-6


class ProfileInterval(NamedTuple):
    """Estimate of a coefficient and the ends of its interval, infinite ones included."""

    estimate: float
    low: float
    high: float


class CoxFit(NamedTuple):
    """Maximum of the likelihood.

    Intercept and slope may be infinite where a threshold separates the outcomes. `loss` is the mean
    log loss there. `is_open` has two pairs, of the intercept and of the slope: whether the
    likelihood tends to its maximum towards minus and towards plus infinity.
    """

    intercept: float
    slope: float
    loss: float
    is_open: tuple[tuple[bool, bool], ...] = ((False, False), (False, False))
    centre: float = 0.0  # log odds about which outcomes are uncertain


class CoxLikelihood:
    """Log-likelihood of weighted rows, scaled to their effective number.

    Predictions lie in (0, 1), and not all log odds are equal; there are outcomes of both kinds;
    weights have any scale. How many rows of equal weight tell as much depends on the coefficient,
    see `_effective_rows`. `member` are numbers of clusters, None where rows are independent.

    Scores are level + slope * (log odds - centre). A point is the array of level and slope, and the
    level at centre 0 is the intercept. Rows of equal log odds are merged.
    """

    def __init__(self, predictions, outcomes, weights, member=None):
        shares = find_shares(weights)
        self.log_odds, (self._positive, self._negative), self._squares = sum_by_log_odds(
            predictions, outcomes, shares, shares**2
        )
        self._rows = None
        if member is not None:
            place = np.searchsorted(self.log_odds, logit(predictions))
            self._rows = ClusteredRows(place, outcomes, shares, member)
        self._thresholds = find_thresholds(
            *(self.log_odds[part > 0] for part in (self._negative, self._positive))
        )

    def fit(self):
        """Intercept and slope of the largest likelihood, a `CoxFit`."""
        if self._thresholds:
            return self._find_limits()
        centre = (self._positive + self._negative) @ self.log_odds
        (level, slope), centre, loss = self._minimize([centre, 1.0], (0, 1), centre)[:3]
        return CoxFit(level - slope * centre, slope, loss, centre=centre)

    def compare(self, fit):
        """What the fit takes off the mean log loss."""
        return float(max(self._expand((0.0, 1.0))[0] - fit.loss, 0.0))

    def split_gain(self, fit):
        """What a shift of all log odds takes off the mean log loss, and a stretch after that."""
        raw, shifted = self._expand((0.0, 1.0))[0], self._minimize([0.0, 1.0], (0,))[2]
        return float(max(raw - shifted, 0.0)), float(max(shifted - fit.loss, 0.0))

    def count_for_gains(self):
        """Rows of equal weight that would tell as much of each gain if the model is calibrated.

        There is a `Telling` of both gains together, of the shift and of the stretch.
        """
        point, centre = (0.0, 1.0), float((self._positive + self._negative) @ self.log_odds)
        matrices = self._list_matrices((centre, 1.0), centre)
        both = count_jointly(self._expand((centre, 1.0), centre)[1], *matrices)
        shifted = self._minimize([0.0, 1.0], (0,))[0]
        shift, stretch = self._count_rows(point, 0, ()), self._count_rows(shifted, 1, (0,))
        if np.isnan(both):
            return self._tell(point, 0.0, np.zeros(2), 0.0, 0.0), shift, stretch
        return shift._replace(n_rows=both), shift, stretch

    def bound_intercept(self, fit, confidence_level):
        """`ProfileInterval` of the intercept by its profile likelihood."""
        if self._thresholds and self._thresholds[0] <= 0 <= self._thresholds[1]:
            # The slope that fits any intercept best is infinite: rows at log odds 0 alone are left.
            rows, point = self._select(self.log_odds == 0), (fit.intercept, 0.0)
            n_rows = 1.0
            if len(rows.log_odds):
                n_rows = rows._count_rows(point, 0, ()).discount(confidence_level)
            return rows._bound(0, (), point, fit, confidence_level, n_rows)
        point = fit.intercept, fit.slope
        n_rows = self._count_rows(point, 0, (1,)).discount(confidence_level)
        return self._bound(0, (1,), point, fit, confidence_level, n_rows)

    def bound_slope(self, fit, confidence_level):
        """`ProfileInterval` of the slope by its profile likelihood."""
        is_finite = np.isfinite(fit.slope)
        level = fit.intercept + fit.slope * fit.centre if is_finite else 0.0
        point = level, fit.slope
        n_rows = self._count_rows(point, 1, (0,), fit.centre).discount(confidence_level)
        return self._bound(1, (0,), point, fit, confidence_level, n_rows, fit.centre)

    def bound_level(self, confidence_level):
        """`ProfileInterval` of the intercept at slope 1, always finite."""
        point, _, loss, _, hessian = self._minimize([0.0, 1.0], (0,))
        n_rows = self._count_for_level(point, hessian).discount(confidence_level)
        return self._bound(0, (), point, CoxFit(*point, loss), confidence_level, n_rows)

    def estimate_level(self):
        """Intercept at slope 1 and its standard error."""
        point, _, _, _, hessian = self._minimize([0.0, 1.0], (0,))
        n_rows = self._count_for_level(point, hessian).n_rows
        return float(point[0]), float((n_rows * hessian[0, 0]) ** -0.5)

    def estimate_slope(self):
        """Slope and its standard error; None where outcomes are separated."""
        if self._thresholds:
            return None
        centre = (self._positive + self._negative) @ self.log_odds
        point, _, _, _, hessian = self._minimize([centre, 1.0], (0, 1), centre)
        information = hessian[1, 1] - hessian[0, 1] ** 2 / hessian[0, 0]
        n_rows = self._count_rows(point, 1, (0,), centre).n_rows
        return float(point[1]), float((n_rows * information) ** -0.5)

    def _count_rows(self, point, place, free, centre=0.0):
        """A `Telling` of the coefficient at a place: rows of equal weight that would tell as much.

        Where a coefficient is infinite nothing moves.
        """
        if not np.isfinite(point).all():
            return self._tell((0.0, 0.0), centre, np.zeros(2), 0.0, 0.0)
        direction = np.eye(2)[place]
        if free:
            hessian = self._expand(point, centre)[2]
            direction = np.array([hessian[1, 1], hessian[0, 0]]) * direction
            direction[1 - place] = -hessian[0, 1]
        place = self.log_odds - centre
        moves = (direction[0] + direction[1] * place) ** 2
        sums = (squares @ moves for squares in self._list_squares(point, place))
        return self._tell(point, centre, direction, *sums)

    def _count_for_level(self, point, hessian):
        """The same of the level at slope 1, where outcomes may vary more than the model says.

        One at least: where next to no row is uncertain the curvature says nothing.
        """
        mean_square, variance = (
            squares.sum() for squares in self._list_squares(point, self.log_odds)
        )
        least = min(
            self._tell(point, 0.0, np.array([1.0, 0.0]), one, variance)
            for one in (mean_square, hessian[0, 0])
        )
        return least._replace(n_rows=max(least.n_rows, 1.0))

    def _tell(self, point, centre, direction, mean_square, variance):
        """A `Telling` of a direction, along which rows move by direction @ (1, log odds)."""
        if self._rows is not None:
            columns, scores = self._lay_columns(point, centre)
            return self._rows.tell(columns, scores, [direction], [mean_square])[0]
        shares, squares = self._positive + self._negative, sum(self._squares)
        return Telling(divide_squares(mean_square, variance, shares, squares))

    def _lay_columns(self, point, centre):
        """What level and slope multiply, and the log odds at a point."""
        columns = np.stack([np.ones(len(self.log_odds)), self.log_odds - centre])
        return columns, np.asarray(point) @ columns

    def _list_squares(self, point, place):
        """Sums of the squared residuals at each place, with shares and with squared ones."""
        scores = point[0] + point[1] * place
        up, down = expit(-scores) ** 2, expit(scores) ** 2
        for positive, negative in ((self._positive, self._negative), self._squares):
            yield positive * up + negative * down

    def _list_matrices(self, point, centre):
        """Mean square of the score, and its variance."""
        place = self.log_odds - centre
        one, other = (
            np.array([[squares.sum(), squares @ place], [squares @ place, squares @ place**2]])
            for squares in self._list_squares(point, place)
        )
        if self._rows is not None:
            sums, _ = self._rows.sum_scores(*self._lay_columns(point, centre))
            other = sums @ sums.T
        return one, other

    def _expand(self, point, centre=0.0):
        """Mean log loss at a point, its gradient and its Hessian."""
        level, slope = point
        loss, gradient, hessian = 0.0, np.zeros(2), np.zeros(3)
        for start in range(0, len(self.log_odds), _CHUNK):
            rows = slice(start, start + _CHUNK)
            positive, negative = self._positive[rows], self._negative[rows]
            mass = positive + negative
            place = self.log_odds[rows] - centre
            scores = slope * place + level
            size, is_up = np.abs(scores), scores > 0
            small = np.exp(-size)
            likely = 1 / (1 + small)
            unlikely = small * likely
            loss += mass @ np.log1p(small) + np.where(is_up, negative, positive) @ size
            pull = negative * np.where(is_up, likely, unlikely)
            pull -= positive * np.where(is_up, unlikely, likely)
            gradient += pull.sum(), pull @ place
            mass *= likely
            mass *= unlikely
            moment = mass * place
            hessian += mass.sum(), moment.sum(), moment @ place
        return loss, gradient, hessian[[[0, 1], [1, 2]]]

    def _minimize(self, point, free, centre=0.0):
        """Newton's method over some coordinates, without those that are fixed.

        Returns the point, the centre, and loss, gradient and Hessian there. The centre moves to
        where the outcomes are uncertain if both coordinates are free.
        """
        point = np.array(point)
        best = move = None
        for _ in range(_MAX_STEPS):
            loss, gradient, hessian = self._expand(point, centre)
            if best is not None and _is_too_long(move, best, loss, gradient):
                move = move / _CUT
                point = best[0] + move
                if (point == best[0]).all():  # the arithmetic resolves no smaller decrease
                    break
                continue
            best = point, centre, loss, gradient, hessian
            if len(free) == 2 and hessian[1, 1] * hessian[0, 0] > 0:
                shift = hessian[0, 1] / hessian[0, 0]
                if hessian[1, 1] - shift * hessian[0, 1] < _CANCELLED * hessian[1, 1]:
                    moved = np.array([point[1] * shift, 0.0])
                    point, centre, best = point + moved, centre + shift, None
                    continue
            move, decrement = _find_step(gradient, hessian, free)
            point = best[0] + move
            if decrement <= _LAST_DECREMENT * loss:
                return point, centre, loss - decrement / 2, gradient, hessian
        return best

    def _bound(self, place, free, start, fit, confidence_level, n_rows, centre=0.0):
        """`ProfileInterval` of the coordinate at a place while others are free."""
        critical = chdtri(1, 1 - confidence_level)
        point = np.where(np.isfinite(start), start, 0.0)
        hessian = self._expand(point, centre)[2]
        step = 4 / np.sqrt(n_rows)  # about the length of the interval
        if np.isfinite(start[place]):
            curvature = hessian[place, place]
            for k in free if curvature > 0 else ():
                curvature -= hessian[place, k] ** 2 / hessian[k, k]
            if curvature > 0:
                step = np.sqrt(critical / (n_rows * curvature))

        def find_end(side):
            deviance = self._profile(place, free, point, hessian, fit.loss, n_rows, centre)
            return find_crossing(deviance, start[place], side * step, critical)

        ends = (
            side * np.inf if opened else find_end(side)
            for side, opened in zip((-1.0, 1.0), fit.is_open[place], strict=True)
        )
        return ProfileInterval(float(start[place]), *map(float, ends))

    def _profile(self, place, free, point, hessian, least, n_rows, centre):
        """Function of the coordinate at a place: deviance once others are fitted, and its slope.

        The fit begins at the tangent of the last one.
        """

        def deviance(value):
            nonlocal point, hessian
            guess = point.copy()
            guess[place] = value
            for k in free:
                if hessian[k, k] > 0:
                    guess[k] -= hessian[place, k] / hessian[k, k] * (value - point[place])
            point, _, loss, gradient, hessian = self._minimize(guess, free, centre)
            scale = 2 * n_rows
            return scale * max(loss - least, 0.0), scale * gradient[place]

        return deviance

    def _select(self, rows):
        """The likelihood of some rows, as a part of all of them."""
        part = copy(self)
        part.log_odds = self.log_odds[rows]
        part._positive, part._negative = self._positive[rows], self._negative[rows]
        part._squares = tuple(squares[rows] for squares in self._squares)
        if self._rows is not None:
            part._rows = self._rows.take(rows)
        return part

    def _find_limits(self):
        """A `CoxFit` where a threshold of log odds separates the outcomes.

        Coefficients of size 1 / t that separate tend to the maximum as t falls to 0. The
        middle one of these thresholds is taken, which a vanishing ridge penalty on the slope would
        choose. What is left is the loss of rows at the threshold itself.
        """
        low, high, sign = self._thresholds
        middle = low / 2 + high / 2
        level, loss = self._fit_rows_at(middle) if low == high else (0.0, 0.0)
        # The intercept is level - slope * threshold, with a threshold from low to high.
        intercept = -sign * np.copysign(np.inf, middle) if middle else level
        falls, rises = high > 0, low < 0
        ends = (falls, rises) if sign > 0 else (rises, falls)
        return CoxFit(intercept, sign * np.inf, loss, (ends, (sign < 0, sign > 0)), middle)

    def _fit_rows_at(self, place):
        """Log odds of the outcomes at a place, of both kinds, and their part of the mean loss."""
        rows = self.log_odds == place
        positive, negative = self._positive[rows].sum(), self._negative[rows].sum()
        mass = positive + negative
        loss = -(xlogy(positive, positive / mass) + xlogy(negative, negative / mass))
        return float(np.log(positive) - np.log(negative)), float(loss)


def sum_by_log_odds(predictions, outcomes, *weights):
    """Distinct log odds in ascending order, and pairs of the weights of outcomes 1 and 0 there."""
    log_odds = logit(predictions)
    order = np.argsort(log_odds)
    log_odds, outcomes = log_odds[order], outcomes[order]
    starts = np.flatnonzero(np.diff(log_odds, prepend=-np.inf))
    # Each summed by itself: a difference of sums may lose a row.
    sums = (
        tuple(np.add.reduceat(own[order] * part, starts) for part in (outcomes, 1 - outcomes))
        for own in weights
    )
    return log_odds[starts], *sums


def find_thresholds(negative, positive):
    """Smallest and largest threshold that separates sorted numbers, and the sign of the slope.

    The slope is negative where the numbers of positive outcomes lie below. None where no threshold
    separates.
    """
    if negative[-1] <= positive[0]:
        return negative[-1], positive[0], 1.0
    if positive[-1] <= negative[0]:
        return positive[-1], negative[0], -1.0
    return None


def _is_too_long(move, best, loss, gradient):
    """Whether a move ends too high, or far beyond the minimum along it, where all is certain."""
    return loss > best[2] or gradient @ move > -(best[3] @ move) / 2


def _find_step(gradient, hessian, free):
    """The Newton step over some coordinates, and the decrement: twice what it promises to gain."""
    move, gradient, curvature = np.zeros(2), gradient.copy(), np.diag(hessian).copy()
    shift = 0.0
    if len(free) == 2 and curvature[0] > 0:  # the slope goes about where outcomes are uncertain
        shift = hessian[0, 1] / hessian[0, 0]
        gradient[1] -= shift * gradient[0]
        curvature[1] -= shift * hessian[0, 1]
    for k in free:
        if gradient[k]:
            move[k] = -gradient[k] / (curvature[k] + _FLAT * abs(gradient[k]))
    decrement = -gradient @ move
    move[0] -= shift * move[1]
    return move, decrement


def find_crossing(deviance, estimate, step, critical):
    """Where a convex deviance reaches a critical value on one side of its minimum.

    `deviance` returns also its derivative, and is zero at the estimate, or in the limit where that
    is infinite. `step` is the first step, towards that side.
    """
    if np.isfinite(estimate):
        end = _step_to_crossing(deviance, estimate, step, critical)
        if end is not None:
            return end

    # The square root of the deviance is nearly linear.
    @cache
    def excess(value):
        return np.sqrt(deviance(value)[0]) - np.sqrt(critical)

    within, back = estimate, step
    if np.isinf(estimate):
        within = 0.0
        while excess(within) > 0:
            within -= back
            back *= 2
    elif excess(within) >= 0:  # floats resolve no interval with this many rows
        return estimate
    beyond = within + step
    while excess(beyond) < 0:
        within = beyond
        step *= 2
        beyond += step
    # The first step may be far too long: accuracy is relative to the distance that is found.
    return within + find_root(
        lambda distance: excess(within + distance),
        0.0,
        beyond - within,
        xtol=np.spacing(max(abs(within), 1e-290)),
        rtol=1e-9,
        maxiter=2000,
    )


def _step_to_crossing(deviance, estimate, step, critical):
    """`find_crossing` by Newton's method for the square root; None where that does not converge."""
    target, value = np.sqrt(critical), estimate + step
    for _ in range(_MAX_CROSSING_STEPS):
        height, slope = deviance(value)
        root = np.sqrt(height)
        if root == 0 or slope * np.sign(step) <= 0:
            return None
        value += 2 * root * (target - root) / slope
        if (value - estimate) * np.sign(step) <= 0:
            return None
        if abs(root - target) <= _CROSSING_ERROR * target:
            return value
    return None
