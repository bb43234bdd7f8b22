"""The smoothed reliability curve as a piecewise linear function, with knots where it bends."""

import numpy as np

from skcal._numerics._smooth import cosine_moments, find_fixed_point, smoothed_error

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


def trace_curve(places, mass, positive, bandwidth):
    """Knots and values of the Nadaraya-Watson curve on [0, 1].

    Parameters
    ----------
    places : ndarray of shape (n_places,)
        Distinct and sorted, in [0, 1].
    mass, positive : ndarray of shape (n_places,)
        Masses at the places, of all rows and of the positive ones.
    bandwidth : float
        At least SMALLEST_BANDWIDTH.

    Returns
    -------
    knots, values : ndarray of shape (n_knots,)
        Linear interpolation errs by at most TOLERANCE where the curvature changes its sign once
        at most between two knots. Values are HARD away from 0 and 1.

    Notes
    -----
    With slopes a and b of the curve at the ends of an interval of length h, and c that of its
    chord, the difference from the chord has the slopes a - c and b - c at the ends and is 0 there.
    If its slope first rises and then falls, or the other way, it is smallest, or largest, at the
    ends, so that the difference is at most h max(|a - c|, |b - c|): intervals are halved until
    that is below TOLERANCE. The first ones are a sixteenth to an eighth of the bandwidth long, too
    short for a curve that bends twice to hide it from the ends.
    """
    bandwidth = min(bandwidth, _LARGEST_BANDWIDTH)
    # How many bandwidths an image matters beyond the nearest, the one light, the other heavy.
    log_range = np.log(mass.max()) - np.log(mass.min())
    reach = bandwidth * np.sqrt(2 * (_SMALLEST_LOG_SHARE + log_range))
    images = _reflect(places, mass, positive, reach)
    knots = np.linspace(0.0, 1.0, _next_power_of_two(8 / min(bandwidth, 0.25)) + 1)
    values, slopes = _evaluate(knots, images, bandwidth, reach)
    while True:
        step = np.diff(knots)
        chord = np.diff(values) / step
        bend = np.maximum(np.abs(slopes[:-1] - chord), np.abs(slopes[1:] - chord)) * step
        coarse = np.flatnonzero((bend > TOLERANCE) & (step > _SHORTEST_INTERVAL))
        if not len(coarse):
            return knots, values
        middle = knots[coarse] + step[coarse] / 2
        new_values, new_slopes = _evaluate(middle, images, bandwidth, reach)
        knots = np.insert(knots, coarse + 1, middle)
        values = np.insert(values, coarse + 1, new_values)
        slopes = np.insert(slopes, coarse + 1, new_slopes)


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
    first = np.flatnonzero(np.diff(np.floor(points / (2 * bandwidth)), prepend=-1))
    for block in map(slice, first, [*first[1:], len(points)]):
        t, limit = points[block], limits[block]
        low = np.searchsorted(places, np.min(t - limit))
        high = np.searchsorted(places, np.max(t + limit), side="right")
        x, mass, positive = images[:, low:high]
        exponent = (nearest[block, None] ** 2 - (t[:, None] - x) ** 2) / (2 * bandwidth**2)
        x = x - t.mean()
        total, hits, place, hit_place = (
            np.exp(exponent) @ np.stack([mass, positive, mass * x, positive * x], axis=1)
        ).T
        values[block] = hits / total
        slopes[block] = (hit_place - place * values[block]) / total / bandwidth**2
    return np.clip(values, HARD, 1 - HARD), slopes
