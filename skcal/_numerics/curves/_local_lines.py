"""Local lines: straight lines that are fitted to the rows near each place, by tricube weights."""

import numpy as np
from numpy.polynomial import Polynomial

from skcal._numerics.cells._order import count_below
from skcal._numerics.curves._spline import SHARE_TOLERANCE

# Up to this many places, all pairs of them are faster than moments.
_FEW_PLACES = 1 << 9
# From this many places on, heights are interpolated where that pays.
_MANY_PLACES = 1 << 14
# Cells to a reach, and to all of the mass: those whose heights are a cubic, and whose rows are.
_N_CELLS, _N_FINE_CELLS = 128, 1024
# Nodes of cubics in a cell, and the matrix from values at them to coefficients.
_NODES = np.array([0.0, 0.25, 0.75, 1.0])
_COEFFICIENTS = np.linalg.inv(np.vander(_NODES, increasing=True))
# Cells of fewer places than their cubics have nodes are not interpolated.
_N_NODES = len(_NODES) ** 2
# Cubics with cubic terms c below this err by at most .2 c, as where (1 - u)^3 ends in their cell.
_CUBIC_TERMS = 4e-6
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
# Places that are worked on at a time.
_CHUNK = 1 << 14


def _expand(kernel):
    """Derivatives of a polynomial divided by factorials, a row of coefficients for each."""
    found = np.zeros((_N_MOMENTS, _N_MOMENTS))
    for order in range(kernel.degree() + 1):
        found[order, : len(kernel.coef)] = kernel.coef
        kernel = kernel.deriv() / (order + 1)
    return found


# The tricube weight (1 - u^3)^3 in powers of w = 1 - u, and times u and u^2, for each derivative.
_KERNELS = np.stack(
    [_expand(Polynomial([0, 3, -3, 1]) ** 3 * Polynomial([1, -1]) ** k) for k in range(3)], axis=1
)


def fit_local_lines(places, weight, total, span):
    """Heights at all places of the lines that are fitted to the rows near them.

    Places are distinct and sorted, in [0, 1]; `total` has the sums of weight times value there, of
    shape (n_places,), or (n_values, n_places) for several values of the same rows, which take
    little longer than one.

    The window of a place reaches as far as it must to hold the share `span`, in (0, 1), of the
    weight. A row at a distance of u < 1, in units of that reach, counts (1 - u^3)^3 times its
    weight. Where all other places count nothing, the height is the mean value of the place.

    On either side of a place this is a polynomial, so that sums over the rows of a window follow
    from their moments. Differences of cumulative moments would lose all digits. Instead the rows
    from a to b are split at the multiple of the largest power of two that lies between, where the
    cumulative sums start, towards both sides: only rows of the window are added up. With one pass
    for each power of two this takes O(n log n). What cancels all the same, next to isolated places,
    is summed row by row. Many places are interpolated, see `_interpolate`.
    """
    unit, values = weight.max(), np.atleast_2d(total)
    mass, totals, light = weight / unit, values / unit, weight < unit * _TINY
    mass[light], totals[:, light] = _TINY, _TINY * (values[:, light] / weight[light])
    reach = find_reach(places, mass, span)
    if len(places) <= _FEW_PLACES:
        return _fit_row_by_row(places, mass, totals, places, reach).reshape(total.shape)
    cells, fine = _find_cells(places, mass, reach)
    if len(places) <= max(_MANY_PLACES, len(_NODES) * len(fine)):
        heights = _fit_by_moments(places, mass, totals, places, reach)
    else:
        rows = (_merge_rows(places, mass, one, fine) for one in totals)
        heights = np.stack([_interpolate(places, reach, cells, merged) for merged in rows])
    rest = np.flatnonzero(np.isnan(heights).any(axis=0))
    heights[:, rest] = _fit_row_by_row(places, mass, totals, places[rest], reach[rest])
    return heights.reshape(total.shape)


def find_reach(places, weight, span):
    """Smallest distance from each place within which lies this part of the weight.

    Take the stretches of places that hold so much weight and cannot do without their last place.
    The window of a place is the one whose farther end is nearest. First and last ends rise
    together, so the best stretch is the first whose middle is not below the place, or the one
    before it.
    """
    cumulative = np.cumsum(weight)
    cumulative /= cumulative[-1]
    needed = np.append(0.0, cumulative[:-1])
    needed += span - SHARE_TOLERANCE
    firsts = places[: np.searchsorted(needed, 1.0, side="right")]
    lasts = places[np.searchsorted(cumulative, needed[: len(firsts)])]
    middles, reach = (firsts + lasts) / 2, np.full(len(places), np.inf)
    for start in range(0, len(places), _CHUNK):
        here, found = places[start : start + _CHUNK], reach[start : start + _CHUNK]
        low, high = np.searchsorted(middles, here[[0, -1]])
        after = low + count_below(middles[low:high], here)
        for near in (after - 1, after):
            first, last = firsts.take(near, mode="clip"), lasts.take(near, mode="clip")
            np.minimum(found, np.maximum(here - first, last - here), out=found)
    return reach


def _find_cells(places, mass, reach):
    """First rows of cells, and of fine ones: they are short beside the reach and hold little mass.

    A single row may hold more, and ends its cell. The reach changes no faster than the place. So a
    place within the reach h of another has a reach of at most 2 h itself, and its cell is short
    beside h.
    """
    gaps = np.diff(places)
    steps = gaps / np.maximum(np.maximum(reach[1:], reach[:-1]), gaps)
    lengths = [np.cumsum(steps), np.cumsum(mass[:-1] / mass.sum())]
    found = []
    for n in (_N_CELLS, _N_FINE_CELLS):
        starts = [1 + np.searchsorted(ends, np.arange(1, ends[-1] * n) / n) for ends in lengths]
        found.append(np.unique(np.concatenate([[0], *starts])))
    return found


def _merge_rows(places, mass, total, starts):
    """Fewer rows: each cell has four nodes that share its rows, so that cubics keep their sums."""
    sizes = np.diff(starts, append=len(places))
    nodes, inside = _scale(places, places[starts], places[starts + sizes - 1], sizes)
    merged = [nodes.T.ravel()]
    for values in (mass.copy(), total.copy()):
        moments = np.empty((len(_NODES), len(starts)))
        for row in moments:
            np.add.reduceat(values, starts, out=row)
            values *= inside
        merged.append((moments.T @ _COEFFICIENTS).ravel())
    return merged


def _interpolate(places, reach, starts, rows):
    """Heights from cells that begin at these places, and merged rows; NaN where only all rows do.

    The height is a smooth function of place and reach, as if both were free: the tricube weight has
    two continuous derivatives. In each cell a cubic in both replaces it. Where that is not accurate
    enough, next to isolated places, the function itself is read.
    """
    sizes = np.diff(starts, append=len(places))
    nodes, along = _scale(places, places[starts], places[starts + sizes - 1], sizes)
    ends = np.minimum.reduceat(reach, starts), np.maximum.reduceat(reach, starts)
    reaches, across = _scale(reach, *ends, sizes)
    full = np.flatnonzero(sizes > _N_NODES)
    grid = np.broadcast_arrays(nodes[:, full], reaches[:, None, full])
    values = np.full((len(_NODES), len(_NODES), len(starts)), np.nan)
    *known, total = rows
    rows = *known, total[None]
    values[..., full] = _fit_by_moments(*rows, *map(np.ravel, grid)).reshape(grid[0].shape)
    cubics = np.einsum("ki,lj,ijc->klc", _COEFFICIENTS, _COEFFICIENTS, values)
    bend = np.abs(cubics[-1]).sum(axis=0) + np.abs(cubics[:, -1]).sum(axis=0)
    cubics[..., ~(bend < _CUBIC_TERMS)] = np.nan
    cell, heights = np.repeat(np.arange(len(starts)), sizes), np.empty(len(places))
    for start in range(0, len(places), _CHUNK):
        some = slice(start, start + _CHUNK)
        terms = cubics.take(cell[some], axis=2)
        for x in (across[some], along[some]):
            *terms, value = terms
            for term in reversed(terms):
                value *= x
                value += term
            terms = value
        heights[some] = value
    rest = np.flatnonzero(np.isnan(heights))
    heights[rest] = _fit_by_moments(*rows, places[rest], reach[rest])[0]
    return heights


def _scale(values, low, high, sizes):
    """Nodes of all cells, from low to high, and where between these the values are, in [0, 1]."""
    width = high - low
    inverse = np.divide(1.0, width, out=np.zeros_like(width), where=width > _TINY)
    inside = values - np.repeat(low, sizes)
    inside *= np.repeat(inverse, sizes)
    return low + width * _NODES[:, None], inside


def _fit_by_moments(places, mass, totals, points, reach):
    """Heights at points with a reach; NaN where next to no mass counts."""
    rows = np.vstack([mass, totals])
    sums = _sum_onwards(places, rows, points, reach, side="left")
    backwards = _sum_onwards(-places[::-1], rows[:, ::-1], -points, reach, side="right")
    backwards[1] *= -1  # distances to the left
    sums += backwards
    (s0, s1, s2), (t0, t1, _) = sums[:, 0], sums[:, 1:]
    spread, counts = s0 * s2 - s1 * s1, s0 > _CANCELLED * mass.sum()
    is_safe = counts & (s2 > _CANCELLED * s0) & (spread > _CANCELLED * s0 * s2)
    products = s2 * t0 - s1 * t1
    heights = np.divide(products, spread, out=np.full_like(products, np.nan), where=is_safe)
    rest = np.flatnonzero(counts & ~is_safe)
    heights[:, rest] = _fit_row_by_row(places, mass, totals, points[rest], reach[rest])
    return heights


def _sum_onwards(places, values, points, reach, *, side):
    """Sums over the rows from each point on that lie within its reach, of shape (3, n_values, n).

    Rows at the point itself are among them with "left" as the side. Values are summed, times
    distance, and the first of them times its square; all of them times the tricube weight, with
    distances in units of the reach.
    """
    sums = np.zeros((3, len(values), len(points)))
    first = np.searchsorted(places, points, side)
    last = np.searchsorted(places, points + reach) - 1
    level = np.maximum(np.frexp((first ^ last).astype(np.float64))[1], 1)
    octave = (1 - np.frexp(reach)[1]) // _OCTAVES
    some = np.flatnonzero(first <= last)
    for key in np.unique(level[some] + _OCTAVES * octave[some]):
        at = some[(level[some] == key % _OCTAVES) & (octave[some] == key // _OCTAVES)]
        half = 1 << int(key % _OCTAVES - 1)
        middle = last[at] // half * half
        starts, block = np.unique(middle, return_inverse=True)
        ends = np.stack([first[at], last[at]]) - middle
        n_left, n_right = -ends[0].min(), 1 + ends[1].max()
        index = starts[:, None] + np.arange(-n_left, n_right)
        is_row = (index >= 0) & (index < len(places))
        index = np.clip(index, 0, len(places) - 1)
        longest = np.zeros(len(starts))
        np.maximum.at(longest, block, reach[at])
        # Rows beyond all windows of their block may be anywhere: they are in no sum that is read.
        away = places.take(index) - places[starts][:, None]
        away = np.clip(away, -longest[:, None], longest[:, None]) / longest[:, None]
        has_left = ends[0] < 0
        ends += block * (n_left + n_right) + n_left
        ratio = -longest[block] / reach[at]
        left = (points[at] + reach[at] - places[middle]) / reach[at]
        powers = np.ones((_N_MOMENTS, len(at)))
        np.cumprod(np.broadcast_to(left, powers[1:].shape), axis=0, out=powers[1:])
        terms, factor = values.take(index, axis=1) * is_row, np.ones(len(at))
        added = np.zeros((3, len(values), len(at)))
        for kernels in _KERNELS:
            moments = _accumulate(terms, n_left, ends, has_left)
            moments *= factor
            by_power = kernels @ powers
            added[:2] += by_power[:2, None] * moments
            added[2, 0] += by_power[2] * moments[0]
            terms *= away
            factor *= ratio
        sums[..., at] = added
    return sums


def _accumulate(terms, n_left, ends, has_left):
    """Sums of the terms from the first to the last row of windows, from the middle of blocks on."""
    sums = np.empty_like(terms)
    np.cumsum(terms[..., n_left:], axis=-1, out=sums[..., n_left:])
    np.cumsum(terms[..., :n_left][..., ::-1], axis=-1, out=sums[..., :n_left][..., ::-1])
    left, right = (sums.reshape(len(terms), -1).take(end, axis=1) for end in ends)
    left *= has_left
    right += left
    return right


def _fit_row_by_row(places, mass, totals, points, reach):
    """Heights at points with a reach, from all rows within it, for several totals."""
    heights = np.empty((len(totals), len(points)))
    size = max(1, _PAIRS // len(places))
    for some in (slice(start, start + size) for start in range(0, len(points), size)):
        unit = reach[some, None]
        distance = places - points[some, None]
        near = np.abs(distance) <= unit  # quotients of the others may overflow
        distance = np.divide(distance, unit, where=near & (unit > 0), out=np.zeros_like(distance))
        far = np.abs(distance)
        counts = 1.0 - far * far * far  # some times as fast as powers
        counts *= near * counts * counts
        shares = counts * mass
        whole = shares.sum(axis=1, keepdims=True)
        shares /= whole
        counts /= whole
        middle = (shares * distance).sum(axis=1)
        distance -= middle[:, None]
        spread = (shares * distance**2).sum(axis=1)
        height = totals @ counts.T
        counts *= distance
        along = totals @ counts.T - height * (shares * distance).sum(axis=1)
        slope = np.divide(along, spread, out=np.zeros_like(along), where=spread > 0)
        heights[:, some] = height - slope * middle
    return heights
