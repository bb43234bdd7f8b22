"""How far a measure of rows can be from the same measure of what cells remember of them.

A cell that holds several predictions knows only sums of its rows; the bounds hold for all rows
with these sums. All sums are divided by the total weight. C is the cumulative residual, and D
the sum of |r_i| d_i, or more, d_i the distance of a row from the mean prediction of its cell. For
functions with slopes of at most 1, sum_i r_i w(v_i) changes by at most D when rows move there.
"""

from functools import cached_property

import numpy as np

from skcal._numerics._roots import find_root

# Sizes of derivatives: integrals of |phi'''| and |phi''''| of the standard normal density, and
# norms of those of the feature map of the kernel exp(-u^2).
_NORMAL = (1.5104, 2.801)
_FEATURES = (np.sqrt(120.0), np.sqrt(1680.0))
# What rounding may take off the variance of places, in squared cell widths.
_NOISE = 1e-13
# Steps in which a root is looked for from above.
_N_STEPS = 200


class CellFacts:
    """What is known of the rows of each cell, from `moments` and `places` of `fold_zero`.

    `spread` tells whether a cell holds several predictions. `mass` and `variance`, (2, n_cells),
    are by outcome; `variance` sums squared distances from the mean of cell and outcome. `above` and
    `below` sum the positive and the negative residuals (at most that for soft labels), `squares`
    the squared ones (a soft label counts in its proportion). `displaced` is each cell's part of D,
    by Cauchy and Schwarz; `distance` is the mean distance of rows from the mean prediction of their
    cell, or more.
    """

    def __init__(self, moments, places):
        self.n_cells = n_cells = moments.shape[2]
        self.total = float(moments[:, 0].sum())
        self.places, self.spread = places, np.isinf(places)
        self.mass, first, second = np.moveaxis(moments[:, :3], 1, 0) / self.total
        top = np.arange(1, n_cells + 1) / n_cells
        predicted = np.maximum(top * self.mass - first / n_cells, 0.0)
        self.above = np.maximum(self.mass[1] - predicted[1], 0.0)
        self.below = predicted[0]
        squared = top**2 * self.mass - 2 * top * first / n_cells + second / n_cells**2
        self.squares = np.maximum(squared.sum(axis=0) + self.mass[1] - 2 * predicted[1], 0.0)
        scale = self.spread / n_cells**2
        self.variance = scale * _center(self.mass, first, second)
        mass = self.mass.sum(axis=0)
        of_cell = scale * _center(mass, first.sum(axis=0), second.sum(axis=0))
        self.displaced = np.sqrt(of_cell * self.squares)
        self.distance = float(np.sqrt(of_cell * mass).sum())

    @cached_property
    def displacement(self):
        """D."""
        return float(self.displaced.sum())

    @cached_property
    def absolute(self):
        """Mean size of residuals; at most that for soft labels."""
        return float((self.above + self.below).sum())

    @cached_property
    def ends(self):
        """C where cells end."""
        return np.cumsum(self.above - self.below)

    @cached_property
    def wandering(self):
        """The lowest and the highest C that each cell allows."""
        start = np.append(0.0, self.ends[:-1])
        low = np.where(self.spread, start - self.below, np.minimum(start, self.ends))
        high = np.where(self.spread, start + self.above, np.maximum(start, self.ends))
        return low, high

    @cached_property
    def ranges(self):
        """Range of C read where cells end, and the largest range that C may have."""
        low, high = self.wandering
        ends = max(self.ends.max(), 0.0) - min(self.ends.min(), 0.0)
        return float(ends), float(max(high.max(), 0.0) - min(low.min(), 0.0))

    @cached_property
    def remainders(self):
        """What bounds on K''' and on K'''' are to be multiplied by, for sums of r K(v).

        Rows and the places that stand for them agree on cubics. A function with a fourth derivative
        of at most 1 is, on a cell of width w, within (w/2)^4 / (2^3 4!) of some cubic, and d^4 / 24
        from that about the mean, d^4 at most w^2 d^2: its sums differ by at most twice that. For
        (y - v) K(v) the fourth derivative is (y - v) K'''' - 4 K'''.
        """
        width = 1 / self.n_cells
        rest = np.minimum(self.spread * self.mass * width**4 / 1536, self.variance * width**2 / 12)
        top = np.arange(1, self.n_cells + 1) / self.n_cells
        return 4 * float(rest.sum()), float((rest[0] * top + rest[1] * (1 - top + width)).sum())


def _center(mass, first, second):
    """Sums of squares about the mean, not less than they are."""
    mean = np.divide(first, mass, out=np.zeros_like(mass), where=mass > 0)
    return np.maximum(second - mean * first, 0.0) + _NOISE * mass


# ----------------------------------------------------------------------------- cumulative sums


def bound_range(facts):
    """Bound for max C - min C, read where cells end: C may wander further inside."""
    ends, widest = facts.ranges
    return widest - ends


def bound_maximum(facts):
    """Bound for max |C|, read where cells end."""
    low, high = facts.wandering
    return float(max(-low.min(), high.max()) - np.abs(facts.ends).max())


def bound_two_bins(facts):
    """Bound for the integral of C^2 + (T - C)^2 = 2 (C - T/2)^2 + T^2/2, T the sum of residuals.

    In a cell |C - C'| integrates to at most its part of D, C' with all rows at the mean.
    """
    low, high = facts.wandering
    middle = facts.ends[-1] / 2
    return float(4 * facts.displaced @ np.maximum(np.abs(low - middle), np.abs(high - middle)))


def bound_decisions(facts):
    """Bound for the largest gain by recalibration, over max(t, 1 - t).

    A threshold in a cell decides otherwise about no other rows than those of the cell. Who may
    start to act inside a cell gains no more than one of its outcomes costs, since at the ends of
    the cell it is either that one or the other that is got wrong.
    """
    mass = facts.mass[:, facts.spread]
    return float(mass.sum(axis=0).max() + mass.min(axis=0).max())


def bound_intervals(facts, width):
    """Bound for the integral of |C(t + width) - C(t)| / width."""
    return 2 * facts.displacement / width


def bound_surrogate(facts, value, errors):
    """Bound for the infimum over k of the error in intervals of width 2^-k, plus 2^-k.

    `value` is that infimum, and `errors` are the errors for k = 0, 1, ..., for rows at the means of
    their cells. The errors of the rows as they were do not decrease with k.
    """
    widths = 0.5 ** np.arange(len(errors))
    slack = 2 * facts.displacement / widths
    at_least = np.maximum.accumulate(np.maximum(errors - slack, 0.0))
    lower = min((at_least + widths).min(), at_least[-1])
    upper = min((errors + slack + widths).min(), facts.absolute)
    return float(max(upper - value, value - lower))


# ------------------------------------------------------------------------------------- kernels


def bound_laplace(facts, value, bandwidth, squared):
    """Bound for the kernel calibration error, `value` for rows at the means of their cells.

    The squares differ by sum_i r_i [g(v_i) - g(v'_i)], g(v) the sum of sum_j r_j k(v_j, v) for
    the rows and for the cells. The slope of such a sum is a difference of two sums of residuals,
    times numbers between 0 and 1 / h that rise up to v, or fall from there: each is at most 1 / h
    times the range of C.
    """
    slope = sum(min(2 * size, facts.absolute) for size in facts.ranges) / bandwidth
    difference = facts.displacement * slope
    if squared:
        return difference
    below = np.sqrt(max(value**2 - difference, 0.0))
    return float(max(np.sqrt(value**2 + difference) - value, value - below))


def bound_gaussian(facts, bandwidth):
    """Bound for the norm of sum_i r_i phi(v_i), phi the feature map of the Gaussian kernel."""
    third, fourth = facts.remainders
    return _FEATURES[0] * third / bandwidth**3 + _FEATURES[1] * fourth / bandwidth**4


def bound_smoothed(facts, bandwidth):
    """Bound for smECE_s, the integral over t of |sum_i r_i K_s(t, v_i)|."""
    third, fourth = facts.remainders
    return _NORMAL[0] * third / bandwidth**3 + _NORMAL[1] * fourth / bandwidth**4


def bound_fixed_point(facts, value, accuracy):
    """Bound for the s with smECE_s = s, which for the places of the rows is near `value`.

    The two functions of s differ by at most b(s); neither they nor b increase. So the root for the
    rows is at most d above the other root s' where b(s' + d) <= d, and at most d below where
    b(s' - d) <= d. As s' is known to `accuracy`, b is read a little to the left.
    """
    root = value - accuracy

    def excess(step, sign):
        return bound_smoothed(facts, root + sign * step) - step

    above = max(-root, 0.0) + 1e-12
    if excess(above, 1) > 0:
        above = find_root(excess, above, 1.0, args=(1,), xtol=1e-12) if excess(1.0, 1) < 0 else 1.0
    below = value
    if root > 1e-9:
        steps = np.geomspace(1e-9, root, _N_STEPS)[:-1]
        enough = steps[excess(steps, -1) <= 0]
        below = enough[0] if len(enough) else value
    return float(max(above, below))
