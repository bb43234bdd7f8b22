"""Local lines: straight lines that are fitted to the rows near each place, by tricube weights."""

import numpy as np
from numpy.polynomial import Polynomial

from skcal._numerics.curves._spline import SHARE_TOLERANCE

# Up to this many places, all pairs of them are faster than moments.
_FEW_PLACES = 1 << 10
# Moments of orders up to 11: the tricube weight has degree 9, and squares of distances 2 more.
_N_MOMENTS = 12
# Below this part of what they are made of, sums are not trusted to moments.
_CANCELLED = 1e-6
# Reaches of one pass differ by a factor of up to 2^64, whose 11th power does not overflow.
_OCTAVES = 64
# Of weights, so that what is next to nothing beside the largest is still more than 0.
_TINY = np.finfo(np.float64).tiny
# Pairs of places and rows that are worked on at a time.
_PAIRS = 1 << 17


def _expand(kernel):
    """Derivatives of a polynomial divided by factorials, as coefficients for np.polyval."""
    found = []
    for order in range(kernel.degree() + 1):
        found.append(kernel.coef[::-1])
        kernel = kernel.deriv() / (order + 1)
    return found


# The tricube weight (1 - u^3)^3 in powers of w = 1 - u, and times u and u^2.
_KERNELS = [_expand(Polynomial([0, 3, -3, 1]) ** 3 * Polynomial([1, -1]) ** k) for k in range(3)]


def fit_local_lines(places, weight, total, span):
    """Heights at all places of the lines that are fitted to the rows near them.

    Places are distinct and sorted, in [0, 1]; `total` has the sums of weight times value there.

    The window of a place reaches as far as it must to hold the share `span`, in (0, 1), of the
    weight. A row at a distance of u < 1, in units of that reach, counts (1 - u^3)^3 times its
    weight. Where all other places count nothing, the height is the mean value of the place.

    On either side of a place this is a polynomial, so that sums over the rows of a window follow
    from their moments. Differences of cumulative moments would lose all digits. Instead the rows
    from a to b are split at the multiple of the largest power of two that lies between, where the
    cumulative sums start, towards both sides: only rows of the window are added up. With one pass
    for each power of two this takes O(n log n). What cancels all the same, next to isolated places,
    is summed row by row.
    """
    unit = weight.max()
    mass, heavy = weight / unit, weight >= unit * _TINY
    mass, total = mass.clip(_TINY), np.where(heavy, total / unit, _TINY * (total / weight))
    reach = find_reach(places, mass, span)
    if len(places) <= _FEW_PLACES:
        return _fit_row_by_row(np.arange(len(places)), places, mass, total, reach)
    sums = _sum_onwards(places, mass, total, reach, own=True)
    backwards = _sum_onwards(-places[::-1], mass[::-1], total[::-1], reach[::-1], own=False)
    backwards[[1, 4]] *= -1  # distances to the left
    sums += backwards[:, ::-1]
    s0, s1, s2, t0, t1 = sums
    spread = s0 * s2 - s1 * s1
    is_safe = (s0 > _CANCELLED * mass.sum()) & (s2 > _CANCELLED * s0)
    is_safe &= spread > _CANCELLED * s0 * s2
    heights = np.divide(s2 * t0 - s1 * t1, spread, out=np.zeros_like(s0), where=is_safe)
    rest = np.flatnonzero(~is_safe)
    heights[rest] = _fit_row_by_row(rest, places, mass, total, reach)
    return heights


def find_reach(places, weight, span):
    """Smallest distance from each place within which lies this part of the weight.

    Take the stretches of places that hold so much weight and cannot do without their last place.
    The window of a place is the one whose farther end is nearest. First and last ends rise
    together, so the best stretch is the first whose middle is not below the place, or the one
    before it.
    """
    cumulative = np.cumsum(weight)
    cumulative /= cumulative[-1]
    needed = span - SHARE_TOLERANCE + np.append(0.0, cumulative[:-1])
    firsts = places[: np.searchsorted(needed, 1.0, side="right")]
    lasts = places[np.searchsorted(cumulative, needed[: len(firsts)])]
    after = np.searchsorted(firsts + lasts, 2 * places)
    reach = np.inf
    for near in (np.maximum(after - 1, 0), np.minimum(after, len(firsts) - 1)):
        reach = np.minimum(reach, np.maximum(places - firsts[near], lasts[near] - places))
    return reach


def _sum_onwards(places, mass, total, reach, *, own):
    """Sums over the rows from each place on (or after it) that lie within its reach.

    There are five for each place: of mass, times distance and times its square, and of totals, and
    times distance; all of them times the tricube weight, with distances in units of the reach.
    """
    sums = np.zeros((5, len(places)))
    first = np.arange(len(places)) + (not own)
    last = np.searchsorted(places, places + reach) - 1
    level = np.maximum(np.frexp((first ^ last).astype(np.float64))[1], 1)
    octave = (1 - np.frexp(reach)[1]) // _OCTAVES
    some = np.flatnonzero(first <= last)
    for key in np.unique(level[some] + _OCTAVES * octave[some]):
        at = some[(level[some] == key % _OCTAVES) & (octave[some] == key // _OCTAVES)]
        half = 1 << int(key % _OCTAVES - 1)
        middle = last[at] // half * half
        starts, block = np.unique(middle, return_inverse=True)
        index = starts[:, None] + np.arange(-half, half)
        is_row = (index >= 0) & (index < len(places))
        index = np.clip(index, 0, len(places) - 1)
        longest = np.zeros(len(starts))
        np.maximum.at(longest, block, reach[at])
        # Rows beyond all windows of their block may be anywhere: they are in no sum that is read.
        away = places[index] - places[starts][:, None]
        away = np.clip(away, -longest[:, None], longest[:, None]) / longest[:, None]
        ends = block * 2 * half + half + [first[at] - middle, last[at] - middle]
        ratio = -longest[block] / reach[at]
        left = (places[at] + reach[at] - places[middle]) / reach[at]
        terms, factor = np.stack([mass[index], total[index]]) * is_row, np.ones(len(at))
        added = np.zeros((5, len(at)))
        for order in range(_N_MOMENTS):
            moments = _accumulate(terms, half, ends, first[at] < middle) * factor
            for row, (power, of_total) in enumerate(((0, 0), (1, 0), (2, 0), (0, 1), (1, 1))):
                if order < len(_KERNELS[power]):
                    added[row] += np.polyval(_KERNELS[power][order], left) * moments[of_total]
            terms *= away
            factor *= ratio
        sums[:, at] = added
    return sums


def _accumulate(terms, half, ends, has_left):
    """Sums of the terms from the first to the last row of windows, from the middle of blocks on."""
    sums = np.empty_like(terms)
    np.cumsum(terms[..., half:], axis=-1, out=sums[..., half:])
    np.cumsum(terms[..., half - 1 :: -1], axis=-1, out=sums[..., half - 1 :: -1])
    sums = sums.reshape(len(terms), -1)
    return sums[:, ends[1]] + sums[:, ends[0]] * has_left


def _fit_row_by_row(chosen, places, mass, total, reach):
    """Heights at the chosen places, from all rows within their reach."""
    heights = np.empty(len(chosen))
    size = max(1, _PAIRS // len(places))
    for some in (slice(start, start + size) for start in range(0, len(chosen), size)):
        at, unit = places[chosen[some], None], reach[chosen[some], None]
        distance = places - at
        near = np.abs(distance) <= unit  # quotients of the others may overflow
        distance = np.divide(distance, unit, where=near & (unit > 0), out=np.zeros_like(distance))
        counts = near * (1.0 - np.abs(distance) ** 3) ** 3
        shares = counts * mass
        shares /= shares.sum(axis=1, keepdims=True)
        means = np.where(shares > 0, total / mass, 0.0)
        distance -= (shares * distance).sum(axis=1, keepdims=True)
        height = (shares * means).sum(axis=1)
        spread = (shares * distance**2).sum(axis=1)
        along = (shares * distance * (means - height[:, None])).sum(axis=1)
        slope = np.divide(along, spread, out=np.zeros_like(along), where=spread > 0)
        own = np.take_along_axis(distance, chosen[some, None], axis=1)[:, 0]
        heights[some] = height + slope * own
    return heights
