"""A distribution whose quantiles are piecewise linear in those of the standard normal one."""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import norm, rv_continuous

# Levels next to 0 and 1 would have infinite normal quantiles.
_MARGIN = 2.0**-53
# Segments of the normal density shorter than this are taken to be straight, with an error of its
# square; on longer ones the exact formulas lose as little.
_SHORT = 1e-3


class NormalScores(rv_continuous):
    """The distribution of z(N) for a standard normal N, with z linear between knots.

    `values` are those of z at the quantiles of N at `levels`, both sorted, values distinct. Beyond
    the outermost knots z has the slope of the line through them; of a single knot it is 1.
    """

    def __init__(self, values, levels, **options):
        self.values, self.levels = values, levels
        self._scores = scores = ndtri(np.clip(levels, _MARGIN, 1 - _MARGIN))
        is_line = len(values) > 1 and scores[-1] > scores[0]
        self._slope = (values[-1] - values[0]) / (scores[-1] - scores[0]) if is_line else 1.0
        super().__init__(**options)

    def _updated_ctor_param(self):
        # SciPy makes frozen distributions from this.
        return super()._updated_ctor_param() | {"values": self.values, "levels": self.levels}

    def _ppf(self, q):
        return _interpolate(ndtri(q), self._scores, self.values, self._slope)

    def _isf(self, q):
        return _interpolate(-ndtri(q), self._scores, self.values, self._slope)

    def _to_scores(self, x):
        return _interpolate(x, self.values, self._scores, 1 / self._slope)

    def _cdf(self, x):
        return ndtr(self._to_scores(x))

    def _sf(self, x):
        return ndtr(-self._to_scores(x))

    def _pdf(self, x):
        rises = np.diff(self._scores) / np.diff(self.values)
        slopes = np.concatenate([[1 / self._slope], rises, [1 / self._slope]])
        return norm.pdf(self._to_scores(x)) * slopes[np.searchsorted(self.values, x)]

    def score(self, targets, location, scale):
        r"""CRPS of each row, of the distributions of location + scale * z(N).

        The integral of the square of the distribution function up to the target, and of that of
        the survival function from there on.
        """
        z = (targets - location) / scale
        below = _integrate_squares(z, self.values, self._scores, self._slope)
        above = _integrate_squares(-z, -self.values[::-1], -self._scores[::-1], self._slope)
        return scale * (below + above)

    def _stats(self):
        mass, first, second = _moments_of_segments(self._scores)
        widths = np.concatenate([[-self._slope], np.diff(self.values), [self._slope]])
        starts = np.concatenate([self.values[:1], self.values])
        mean = np.sum(mass * starts) + np.sum(widths * first)
        starts = starts - mean
        parts = mass * starts**2 + 2 * starts * widths * first + widths**2 * second
        return mean, np.sum(parts), None, None


def _interpolate(x, knots, values, slope):
    beyond = np.minimum(x - knots[0], 0) + np.maximum(x - knots[-1], 0)
    return np.interp(x, knots, values) + slope * beyond


def _integrate_squares(x, values, scores, slope):
    """Integrals up to x of Phi(u)^2 over the places whose scores are u."""
    steps, rises = np.diff(values), np.diff(scores)
    # Levels that are clipped at the same end have one score.
    rates = np.divide(steps, rises, out=np.zeros(len(steps)), where=rises > 0)
    flat = np.where(rises > 0, 0.0, ndtr(scores[:-1]) ** 2)
    pieces = rates * np.diff(_square_integral(scores)) + flat * steps
    sums = slope * _square_integral(scores[0]) + np.append(0.0, np.cumsum(pieces))
    reached = _square_integral(_interpolate(x, values, scores, 1 / slope))
    place = np.searchsorted(values, x, side="right") - 1
    knot = np.maximum(place, 0)
    rates, flat = np.append(rates, slope), np.append(flat, 0.0)
    inside = sums[knot] + rates[knot] * (reached - _square_integral(scores[knot]))
    inside += flat[knot] * (x - values[knot])
    return np.where(place < 0, slope * reached, inside)


def _square_integral(u):
    """The integral of Phi^2 up to u."""
    tail = ndtr(u)
    return u * tail**2 + 2 * tail * norm.pdf(u) - ndtr(np.sqrt(2) * u) / np.sqrt(np.pi)


def _moments_of_segments(scores):
    """Mass of each segment of the normal density, and the moments of the place in it times mass.

    The place is 0 at the knot where the segment starts and 1 at its other end. In the tails it is
    the distance from the knot.
    """
    low, high = scores[:-1], scores[1:]
    mass = ndtr(high) - ndtr(low)
    length = high - low
    divisor = np.where(length > _SHORT, length, 1.0)
    fall = norm.pdf(low) - norm.pdf(high)
    edge = (2 * low - high) * norm.pdf(high) - low * norm.pdf(low)
    exact = (fall - low * mass) / divisor, (mass * (1 + low**2) + edge) / divisor**2
    tilt = (low + high) / 2 * length / 12
    straight = mass * (1 / 2 - tilt), mass * (1 / 3 - tilt)
    first, second = (np.where(length > _SHORT, *pair) for pair in zip(exact, straight, strict=True))
    ends = np.array([-scores[0], scores[-1]])
    tails = ndtr(-ends)
    excess = norm.pdf(ends) - ends * tails
    squares = (1 + ends**2) * tails - ends * norm.pdf(ends)
    return tuple(
        np.concatenate([outer[:1], inner, outer[1:]])
        for outer, inner in ((tails, mass), (excess, first), (squares, second))
    )
