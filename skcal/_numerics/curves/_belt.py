"""The calibration belt: polynomials of the log odds, of a degree that the outcomes choose."""

from math import acos, asin, exp, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import chdtrc, chdtri, expit, xlogy

from skcal._numerics._roots import find_root
from skcal._numerics.cells._cell_moments import (
    CHUNK,
    add_rows,
    fold_zero,
    make_cells,
    match_moments,
)
from skcal._numerics.inference._cox import find_crossing
from skcal._numerics.inference._effective_rows import (
    Telling,
    count_jointly,
    divide_squares,
)
from skcal._numerics.recalibration._newton import DAMPING, minimize_convex, solve_newton_step

MAX_DEGREE = 4
# A further power must lower the deviance by so much, which it does by chance in this share.
_SHARE = 0.05
_LEAST_GAIN = float(chdtri(1, _SHARE))
# Beyond the p-value is 0 in float64; and where exp(-y^2 / 2) is none of a sum.
_FARTHEST, _NEGLIGIBLE = 1500.0, 12.0
# Cells of log odds in which many places are merged.
_N_CELLS = 1024
# Newton steps to the ends of all intervals at once, and the share of their length and of the
# critical deviance where they stop: the next error is about the square of it.
_MAX_CLIMBS, _CLIMBED = 8, 1e-5


# ------------------------------------------------------------------- the law of the statistic


def exceed_selected(statistic, n_selected, n_free):
    """P(T >= statistic) of a likelihood ratio whose last terms were selected for being large.

    T is the sum of a chi-squared variable of `n_free` (1 or 2) degrees of freedom and of
    `n_selected` (0 to 3) of one degree each, given that each of these is at least c^2, which has
    the chance p.

    The vector of roots has the density (2 / pi)^(n/2) exp(-r^2 / 2) in the corner where each
    selected root is above c and the free one above 0, over p^k for k selected ones. So the tail is
    an integral over spheres: of the area of each in the corner. Two free degrees have an
    exponential law, and integration by parts turns the integral into that of the volume V_k of the
    ball,

        P(T >= t) = (sqrt(2 / pi) / p)^k int_sqrt(t)^inf r exp(-r^2 / 2) V_k(r) dr.
    """
    if n_selected == 0 or statistic > _FARTHEST:
        return float(chdtrc(n_free, statistic))
    start = max(statistic, n_selected * _LEAST_GAIN)
    measure = _CORNERS[n_free][n_selected]
    scale = exp(-start / 2) * sqrt(2 / pi) ** (n_selected + 2 - n_free) / _SHARE**n_selected

    def integrand(y):
        return y * exp(-y * y / 2) * measure(start + y * y)

    # With its full output SciPy does not warn where rounding is all that is left to improve.
    options = {"epsabs": 0.0, "epsrel": 1e-11, "limit": 200, "full_output": True}
    tail = quad(integrand, 0.0, _NEGLIGIBLE, **options)[0]
    return min(scale * tail, 1.0)


def find_critical(level, n_selected, n_free):
    """The statistic that is exceeded with the probability 1 - level."""

    def excess(statistic):
        return exceed_selected(statistic, n_selected, n_free) - (1 - level)

    low = n_selected * _LEAST_GAIN
    high = low + 1.0
    while excess(high) > 0:
        high *= 2
    return float(find_root(excess, low, high, xtol=1e-12, rtol=1e-12))


def _interval_length(squared):
    return sqrt(squared) - sqrt(_LEAST_GAIN)


def _disc_area(squared):
    """Area of the part of a disc where both coordinates are above c."""
    c, height = sqrt(_LEAST_GAIN), sqrt(squared - _LEAST_GAIN)
    return squared * (pi / 4 - asin(c / sqrt(squared))) - c * (height - c)


def _ball_volume(squared):
    """Volume of the part of a ball where all three coordinates are above c.

    The cone over its part of the sphere, whose area is that of Gauss and Bonnet, less the cones
    over its three flat sides.
    """
    c, inner = sqrt(_LEAST_GAIN), squared - _LEAST_GAIN
    radius, turn = sqrt(squared), pi / 2 - 2 * asin(c / sqrt(inner))
    angle = 3 * (acos(_LEAST_GAIN / inner) - c / radius * turn) - pi
    return radius * squared * angle / 3 - c * _disc_area(inner)


def _arc(squared):
    """Angle of the part of a circle where one coordinate is above c and one above 0."""
    return acos(sqrt(_LEAST_GAIN / squared))


def _sphere_area(squared):
    """Area of a part of a sphere, over its radius: two coordinates above c and one above 0."""
    ratio = min(_LEAST_GAIN / (squared - _LEAST_GAIN), 1.0)
    return sqrt(squared) * acos(ratio) - 2 * sqrt(_LEAST_GAIN) * acos(sqrt(ratio))


# By the degrees that are free and the number of those selected; of the squared radius.
_CORNERS = {
    2: {1: _interval_length, 2: _disc_area, 3: _ball_volume},
    1: {1: _arc, 2: _sphere_area},
}


# ------------------------------------------------------------------- the likelihood of polynomials


class PolynomialFit(NamedTuple):
    """Maximum of the likelihood over polynomials of a degree.

    The coefficients are factors of the orthonormal polynomials. They are None where the degree
    separates the outcomes, so that they are infinite.
    """

    degree: int
    coefficients: np.ndarray | None
    loss: float  # mean log loss there
    statistic: float = np.nan


class PolynomialLikelihood:
    """Log-likelihood of outcomes whose log odds are a polynomial of the predicted ones.

    There are at least two `log_odds`, all distinct, and numbers or weights of outcomes 1 and 0 at
    each. `places` are the log odds at which polynomials are evaluated. With weights, `squares` has
    the sums of their squares for outcomes 1 and 0, and `n_rarer` is the number of rows of the rarer
    outcome, or of clusters that have it. `most_telling` is the largest degree whose polynomials do
    not separate the outcomes wherever they are. `rows` are `ClusteredRows`, None where rows are
    independent.

    Polynomials are sums of those that are orthonormal over the rows. With weights, a gain and the
    distance to a bound count as they would in the number of rows of equal weight that tell as much,
    see `_effective_rows`.
    """

    def __init__(
        self, log_odds, positive, negative, places=(), squares=None, n_rarer=None, rows=None
    ):
        self.log_odds, self._rows = log_odds, rows
        total = positive.sum() + negative.sum()
        self._positive, self._negative = positive / total, negative / total
        self._squares = [part / total**2 for part in squares or (positive, negative)]
        self._n_turns = count_turns(positive, negative)
        self.max_degree = min(MAX_DEGREE, len(log_odds) - 1)
        n_rarer = min(positive.sum(), negative.sum()) if n_rarer is None else n_rarer
        self.most_telling = max(2 * int(n_rarer) - 1, 1)
        basis = _find_basis(log_odds, self._positive + self._negative, places, self.max_degree)
        self._columns, self._directions = np.split(basis, [len(log_odds)], axis=1)

    def fit(self, degree):
        """The `PolynomialFit` of a degree."""
        if degree >= self._n_turns:  # every place has its own mean outcome, in the limit
            shares = self._positive, self._negative
            loss = -sum(xlogy(share, share / sum(shares)).sum() for share in shares)
            return PolynomialFit(degree, None, float(loss))
        columns, whole = self._columns[: degree + 1], np.eye(degree + 1)
        coefficients, (loss, *_) = self._minimize(np.zeros(degree + 1), whole, columns)
        return PolynomialFit(degree, coefficients, float(loss))

    def choose(self, first):
        """The `PolynomialFit` that forward selection from a first degree ends at.

        Polynomials of degree 2 k separate any k events from the others. What they gain says nothing
        against the predictions, so that they are not chosen.
        """
        fit = self.fit(first)
        mass = self._positive + self._negative
        raw = np.append(self._columns[:2] @ (mass * self.log_odds), [0.0] * (first - 1))
        telling = self._count_jointly(raw) if first == 1 else self._count_for_last(raw)
        n_terms = 2 if first == 1 else 1
        fit = fit._replace(statistic=telling.find_statistic(self.find_gain(fit), n_terms))
        largest = min(self.max_degree, self.most_telling)
        while fit.degree < largest and fit.coefficients is not None:
            wider = self.fit(fit.degree + 1)
            telling = self._count_for_last(np.append(fit.coefficients, 0.0))
            gain = telling.find_statistic(fit.loss - wider.loss, 1)
            if gain < _LEAST_GAIN:
                break
            fit = wider._replace(statistic=fit.statistic + gain)
        return fit

    def count_rows(self, fit):
        """A `Telling` of the log odds at each place: rows of equal weight that tell as much."""
        hessian = self._expand(fit.coefficients, self._columns[: fit.degree + 1])[2]
        hessian += DAMPING / 4 * np.eye(len(hessian))
        along = np.linalg.solve(hessian, self._directions[: fit.degree + 1])
        return self._count_along(fit.coefficients, along)

    def _count_for_last(self, coefficients):
        """The same of the last coefficient, if it is 0."""
        hessian = self._expand(coefficients, self._columns[: len(coefficients)])[2]
        along = solve_newton_step(hessian, np.eye(len(coefficients))[-1])
        return self._count_along(coefficients, along[:, None])[0]

    def _count_jointly(self, coefficients):
        """The same of all coefficients at a time, with the degrees of freedom of the first."""
        columns = self._columns[: len(coefficients)]
        mean_squares, variances = self._sum_squares(coefficients)
        telling = self._count_along(coefficients, np.eye(len(coefficients))[:, :1])[0]
        if self._rows is not None:
            sums, _ = self._rows.sum_scores(columns, coefficients @ columns)
            variances = sums @ sums.T
        found = count_jointly(self._expand(coefficients, columns)[1], mean_squares, variances)
        return telling._replace(n_rows=self._count_all() if np.isnan(found) else found)

    def _count_along(self, coefficients, along):
        """The same of linear functions of the score, with these directions as columns."""
        mean_squares, variances = (
            ((along.T @ matrix) * along.T).sum(axis=1) for matrix in self._sum_squares(coefficients)
        )
        if self._rows is None:
            squares = sum(map(np.sum, self._squares))
            pairs = zip(mean_squares, variances, strict=True)
            return [Telling(divide_squares(*pair, 1.0, squares)) for pair in pairs]
        columns = self._columns[: len(coefficients)]
        return self._rows.tell(columns, coefficients @ columns, along.T, mean_squares)

    def _count_all(self):
        """Rows of equal weight that tell as much where nothing moves."""
        if self._rows is not None:
            return self._rows.count()
        return divide_squares(0.0, 0.0, 1.0, sum(map(np.sum, self._squares)))

    def _sum_squares(self, coefficients):
        """Covariances of the scores of rows, with their shares and with squared ones."""
        columns = self._columns[: len(coefficients)]
        scores = coefficients @ columns
        up, down = expit(-scores) ** 2, expit(scores) ** 2
        for positive, negative in ((self._positive, self._negative), self._squares):
            yield (columns * (positive * up + negative * down)) @ columns.T

    def find_gain(self, fit):
        """What a fit takes off the mean log loss of the predictions themselves."""
        size = np.abs(self.log_odds)
        wrong = np.where(self.log_odds > 0, self._negative, self._positive)
        loss = (self._positive + self._negative) @ np.log1p(np.exp(-size)) + wrong @ size
        return float(max(loss - fit.loss, 0.0))

    def evaluate(self, fit):
        """Log odds of a fit at the places."""
        return fit.coefficients @ self._directions[: fit.degree + 1]

    def bound(self, fit, critical, n_rows):
        """Smallest and largest log odds at the places within a critical deviance of a fit.

        The coefficients must be finite. `n_rows` has a number of rows for each place.
        """
        columns, directions = self._columns[: fit.degree + 1], self._directions[: fit.degree + 1].T
        hessian = self._expand(fit.coefficients, columns)[2]
        bounds = []
        for side in (-1, 1):
            ends = self._climb(fit, critical / n_rows, side * directions, columns) * side
            for k in np.flatnonzero(np.isnan(ends)):
                direction = directions[k]
                ends[k] = self._find_end(
                    fit, critical, n_rows[k], direction, side, columns, hessian
                )
            bounds.append(ends)
        return np.array(bounds)

    def _climb(self, fit, rooms, directions, columns):
        """Largest values of linear functions of the coefficients within a deviance for each.

        By Newton's method for all of them at once; NaN where it does not converge. Each step goes
        to the farthest point of the ellipsoid that the region looks like from the last point.
        """
        ends, open_ = np.full(len(directions), np.nan), np.arange(len(directions))
        points = np.tile(fit.coefficients, (len(directions), 1))
        estimates = values = directions @ fit.coefficients
        squares = (columns[:, None] * columns).reshape(-1, columns.shape[1]).T
        for _ in range(_MAX_CLIMBS):
            losses, pulls, curvatures = self._weigh_rows(points @ columns)
            hessians = (curvatures @ squares).reshape(-1, len(columns), len(columns))
            hessians += DAMPING / 4 * np.eye(len(columns))
            gradients = pulls @ columns.T
            up, down = np.moveaxis(
                np.linalg.solve(hessians, np.stack([directions, gradients], axis=-1)), -1, 0
            )
            excess = 2 * (losses - fit.loss) - rooms
            left = (gradients * down).sum(axis=1) - excess
            inside = left > 0
            length = np.sqrt(np.where(inside, left, 0) / (directions * up).sum(axis=1))
            points = points + length[:, None] * up - down
            before, values = values, (points * directions).sum(axis=1)
            done = inside & (np.abs(values - before) <= _CLIMBED * (values - estimates))
            done &= np.abs(excess) <= _CLIMBED * rooms
            ends[open_[done]] = values[done]
            kept = (open_, points, directions, values, estimates, rooms)
            open_, points, directions, values, estimates, rooms = (
                part[inside & ~done] for part in kept
            )
        return ends

    def _find_end(self, fit, critical, n_rows, direction, side, columns, hessian):
        """End of the interval of a linear function of the coefficients, by profile likelihood."""
        others = np.linalg.qr(direction[:, None], mode="complete")[0][:, 1:]
        scale = 2 * n_rows
        estimate = direction @ fit.coefficients
        point, along = fit.coefficients, _find_tangent(hessian, direction)
        step = side * np.sqrt(critical / (n_rows * (along @ hessian @ along)))

        def deviance(value):
            nonlocal point, along
            guess = point + (value - direction @ point) * along
            point, (loss, gradient, hessian) = self._minimize(guess, others, columns)
            along = _find_tangent(hessian, direction)
            return scale * max(loss - fit.loss, 0.0), scale * (gradient @ along)

        return find_crossing(deviance, estimate, step, critical)

    def _minimize(self, origin, directions, columns):
        """The point of the smallest loss that can be reached, and its loss and derivatives."""
        last = None

        def evaluate(steps):
            nonlocal last
            loss, gradient, hessian = found = self._expand(origin + directions @ steps, columns)
            last, slope = (steps, found), directions.T @ gradient

            def step(free):
                bent = directions.T @ hessian @ directions
                # The curvature of orthonormal features is 1/4 at most.
                bent += DAMPING / 4 * np.eye(len(slope))
                return solve_newton_step(bent, slope)

            return loss, slope, step

        steps, _ = minimize_convex(evaluate, np.zeros(directions.shape[1]))
        point = origin + directions @ steps
        return point, last[1] if last[0] is steps else self._expand(point, columns)

    def _expand(self, coefficients, columns):
        """Mean log loss, its gradient and its Hessian."""
        loss, pull, curvature = self._weigh_rows(coefficients @ columns)
        return loss, columns @ pull, (columns * curvature) @ columns.T

    def _weigh_rows(self, scores):
        """Mean log loss of scores on the last axis, and its derivatives by each of them."""
        size, is_up = np.abs(scores), scores > 0
        small = np.exp(-size)
        likely = 1 / (1 + small)
        unlikely = small * likely
        mass = self._positive + self._negative
        wrong = np.where(is_up, self._negative, self._positive)
        loss = np.log1p(small) @ mass + (wrong * size).sum(axis=-1)
        pull = self._negative * np.where(is_up, likely, unlikely)
        pull -= self._positive * np.where(is_up, unlikely, likely)
        return loss, pull, mass * likely * unlikely


def _find_basis(log_odds, mass, places, degree):
    """Values of the first orthonormal polynomials at log odds, then at further places."""
    at, n_rows = np.append(log_odds, places), len(log_odds)
    basis = [np.ones(len(at))]
    for k in range(degree):
        further = (at - mass @ (log_odds * basis[k][:n_rows] ** 2)) * basis[k]
        for known in 2 * basis:  # twice, for what rounding has left
            further = further - mass @ (further[:n_rows] * known[:n_rows]) * known
        basis.append(further / np.sqrt(mass @ further[:n_rows] ** 2))
    return np.array(basis)


def _find_tangent(hessian, direction):
    """How a point of least loss moves with the value of a linear function."""
    along = solve_newton_step(hessian, -direction)
    return along / (direction @ along)


def merge_places(log_odds, positive, negative):
    """At most four places in each of many cells, with the moments of those of either outcome."""
    low, width = log_odds[0], log_odds[-1] - log_odds[0]
    scaled, cells = (log_odds - low) / width, make_cells(_N_CELLS)
    for outcome, counts in enumerate((negative, positive)):
        for start in range(0, len(scaled), CHUNK):
            rows = start + np.flatnonzero(counts[start : start + CHUNK])
            outcomes = np.full(len(rows), outcome == 1)
            add_rows(*cells, [(scaled[rows], outcomes, counts[rows])])
    scaled, outcomes, counts = match_moments(*fold_zero(*cells))
    scaled, index = np.unique(scaled, return_inverse=True)
    sums = (np.bincount(index, counts * (outcomes == k)) for k in (1, 0))
    return low + width * scaled, *sums


def count_turns(positive, negative):
    """Smallest degree of a polynomial that separates outcomes at increasing places.

    It is nowhere negative at outcomes 1, nowhere positive at outcomes 0, hence 0 where there are
    both, and it is not 0 at all places.
    """
    sign = np.sign(positive * (negative == 0) - negative * (positive == 0))
    pure = np.flatnonzero(sign)
    if not len(pure):
        return len(sign)
    # Each root at a place with both outcomes changes the sign; one more may be needed.
    mixed, differ = np.diff(pure) - 1, np.diff(sign[pure]) != 0
    between = mixed + (differ != (mixed % 2 == 1))
    return int(pure[0] + between.sum() + len(sign) - 1 - pure[-1])
