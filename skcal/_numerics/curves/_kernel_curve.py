"""The smoothed reliability curve as a piecewise linear function, with knots where it bends."""

import numpy as np

from skcal._numerics.cells._grid import find_cells
from skcal._numerics.errors._smooth import cosine_moments, find_fixed_point, smoothed_error

# Curves with a smaller bandwidth would need very many knots.
SMALLEST_BANDWIDTH = 1e-3
# Between its knots the curve is this near to a straight line.
TOLERANCE = 4e-4
# Cells that resolve the residuals for every bandwidth from the smallest on.
RESIDUAL_CELLS = 1 << 15
# Values keep this distance from 0 and 1, which they reach by rounding alone or with one outcome.
HARD = np.finfo(np.float64).eps
# Kernels of larger bandwidth are constant on [0, 1] to all digits.
_LARGEST_BANDWIDTH = 3.0
# Images whose share in the curve is below exp(-40) of that of the nearest are left out.
_SMALLEST_LOG_SHARE = 40.0
# No curve is steep enough for shorter intervals; they would be the work of rounding.
_SHORTEST_INTERVAL = 1e-11
# Number of pairs of a point and an image handled at a time, unless one window has more.
_PAIRS = 1 << 16


def find_bandwidth(residual, absolute_residual):
    """smECE of residuals on RESIDUAL_CELLS cells, but at least SMALLEST_BANDWIDTH."""
    moments = cosine_moments(residual)
    bandwidth = find_fixed_point(
        lambda s: smoothed_error(moments, s, absolute_residual),
        upper=absolute_residual,
        smallest=SMALLEST_BANDWIDTH,
    )
    return SMALLEST_BANDWIDTH if bandwidth is None else float(bandwidth)


def count_mass_cells(bandwidth):
    """Cells, a power of two, that are at most a 256th of the bandwidth, and of 1, wide."""
    return _next_power_of_two(256 / min(bandwidth, 1.0))


def share_mass(places, mass, positive, bandwidth):
    """The same masses at fewer places: those of sorted places, shared linearly between the nodes
    beside them, of a grid that is fine enough for the bandwidth.
    """
    n_cells = count_mass_cells(bandwidth)
    cell, inside = find_cells(places, n_cells)
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    nodes, index = np.unique(cell[starts] + [[0], [1]], return_inverse=True)
    index, shared = index.ravel(), []
    for values in (mass, positive):
        upper = np.add.reduceat(values * inside, starts)
        lower = np.add.reduceat(values, starts) - upper
        shared.append(np.bincount(index, np.concatenate([lower, upper])))
    filled = shared[0] > 0
    return nodes[filled] / n_cells, shared[0][filled], shared[1][filled]


def trace_curve(places, mass, positive, bandwidth):
    """Knots and values of the Nadaraya-Watson curve on [0, 1].

    Places are distinct and sorted, `mass` is that of all rows there and `positive` that of the
    positive ones; the bandwidth is at least SMALLEST_BANDWIDTH. Linear interpolation errs by at
    most TOLERANCE where the curvature changes its sign once at most between two knots. Values keep
    a distance of HARD from 0 and 1.

    With slopes a and b of the curve at the ends of an interval of length h, and c that of its
    chord, the difference from the chord has the slopes a - c and b - c at the ends and is 0 there.
    If its slope first rises and then falls, or the other way, it is smallest, or largest, at the
    ends, so that the difference is at most h max(|a - c|, |b - c|): intervals are halved until that
    is below TOLERANCE. The first ones are a sixteenth to an eighth of the bandwidth long, too short
    for a curve that bends twice to hide it from the ends.
    """
    bandwidth = min(bandwidth, _LARGEST_BANDWIDTH)
    # How many bandwidths an image matters beyond the nearest, the one light, the other heavy.
    log_range = np.log(mass.max()) - np.log(mass.min())
    reach = bandwidth * np.sqrt(2 * (_SMALLEST_LOG_SHARE + log_range))
    images = _reflect(places, mass, positive, reach)
    knots = np.linspace(0.0, 1.0, _next_power_of_two(8 / min(bandwidth, 0.25)) + 1)
    curve = np.array([knots, *_evaluate(knots, images, bandwidth, reach)])
    found = [curve]
    low, high = curve[:, :-1], curve[:, 1:]  # the ends of intervals that may be too long
    while True:
        step, rise = high[:2] - low[:2]
        chord = rise / step
        bend = np.maximum(np.abs(low[2] - chord), np.abs(high[2] - chord)) * step
        coarse = (bend > TOLERANCE) & (step > _SHORTEST_INTERVAL)
        if not coarse.any():
            break
        low, high = low[:, coarse], high[:, coarse]
        knots = low[0] + step[coarse] / 2
        middle = np.array([knots, *_evaluate(knots, images, bandwidth, reach)])
        found.append(middle)
        low, high = (
            np.stack(ends, axis=2).reshape(3, -1) for ends in ((low, middle), (middle, high))
        )
    knots, values, _ = np.concatenate(found, axis=1)
    order = np.argsort(knots, kind="stable")  # which is fast with sorted parts
    return knots[order], values[order]


def _next_power_of_two(number):
    return 1 << (int(np.ceil(number)) - 1).bit_length()


def _reflect(places, mass, positive, reach):
    """Places, masses and positive masses of all images that matter on [0, 1], in order."""
    margin = 2 + reach  # images within 2 surround every point
    last = int(np.ceil(margin / 2))
    parts = []
    for shift in range(-2 * last, 2 * last + 4, 2):
        parts.append((shift - places[::-1], mass[::-1], positive[::-1]))
        parts.append((shift + places, mass, positive))
    images = np.concatenate(parts, axis=1)
    return images[:, (images[0] >= -margin) & (images[0] <= 1 + margin)]


def _evaluate(points, images, bandwidth, reach):
    """Curve and its slope at sorted points.

    Kernels are divided by that of the nearest image, so that nothing underflows, and only the
    images that matter beside it are summed. With kernel weights w and places x the slope is the
    covariance of outcome and x under w, divided by the squared bandwidth.
    """
    places = images[0]
    after = np.searchsorted(places, points)
    nearest = np.minimum(points - places[after - 1], places[after] - points)
    limits = np.hypot(nearest, reach)
    values, slopes = np.empty_like(points), np.empty_like(points)
    # Neighbouring points share a window.
    first = np.flatnonzero(np.diff(np.floor(points / (4 * bandwidth)), prepend=-1))
    n_points = np.diff(first, append=len(points))
    low = np.searchsorted(places, np.minimum.reduceat(points - limits, first))
    high = np.searchsorted(places, np.maximum.reduceat(points + limits, first), side="right")
    n_images = high - low
    for block in _batch_blocks(n_points, n_images):
        # Windows of few points or images have their last ones repeated, which count nothing.
        numbers = np.arange(n_points[block].max())
        rows = first[block, None] + np.minimum(numbers, n_points[block, None] - 1)
        numbers = np.arange(n_images[block].max())
        columns = low[block, None] + np.minimum(numbers, n_images[block, None] - 1)
        counts = numbers < n_images[block, None]
        x, mass, positive = images[:, columns]
        t, mass, positive = points[rows], mass * counts, positive * counts
        kernel = t[:, :, None] - x[:, None]
        kernel *= kernel  # in place, and so in the cache
        np.subtract(nearest[rows][:, :, None] ** 2, kernel, out=kernel)
        kernel /= 2 * bandwidth**2
        np.exp(kernel, out=kernel)
        x = x - t.mean(axis=1, keepdims=True)
        sums = kernel @ np.stack([mass, positive, mass * x, positive * x], axis=2)
        total, hits, place, hit_place = np.moveaxis(sums, 2, 0)
        values[rows] = hits / total
        slopes[rows] = (hit_place - place * values[rows]) / total / bandwidth**2
    return np.clip(values, HARD, 1 - HARD), slopes


def _batch_blocks(n_points, n_images):
    """Yield blocks that are evaluated at once, of about as many images each."""
    order = np.argsort(n_images)
    sizes = n_images[order] * n_points.max()
    start = 0
    while start < len(order):
        fits = sizes[start:] * np.arange(1, len(order) - start + 1) <= _PAIRS
        stop = start + max(1, np.count_nonzero(fits))
        yield order[start:stop]
        start = stop
