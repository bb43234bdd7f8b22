"""SmoothECE: residuals smoothed by the reflected Gaussian kernel, in the cosine domain.

With a_k = E[r cos(k pi v)] the smoothed residual is f(t) = a_0 + 2 sum_k a_k g_k cos(k pi t),
g_k = exp(-(k pi s)^2 / 2), and smECE_s is the integral of |f| over [0, 1].
"""

from functools import cache

import numpy as np
from scipy.fft import dct, irfft, next_fast_len

from skcal._numerics._roots import find_root

# Each of the two discretisations may add this much to smECE_s; together they stay below 1e-6.
TOLERANCE = 4e-7
# Below this bandwidth the grid would outgrow memory; smECE_s < s <= 1e-5 pins s* to 1e-5.
SMALLEST_BANDWIDTH = 1e-5
# Modes beyond exp(-8.5^2 / 2) = 2e-16 vanish.
LAST_MODE = 8.5 / np.pi
# Who is as near to a fixed point as this need not look whether it lies within 1e-9 on either side.
_CLOSE = 1e-10


def count_cells(bandwidth, absolute_residual):
    """Grid cells that keep the error of `cubic_nodes` in smECE_s below TOLERANCE.

    Cubic interpolation errs by at most 9/384 h^4 |K''''|, and the integral of |K''''| is
    2.801 / s^4: the error is at most 0.0657 (h/s)^4 E|r|.
    """
    fineness = max(3.0, (0.0657 * absolute_residual / TOLERANCE) ** 0.25)
    return int(np.ceil(fineness / bandwidth))


def count_intervals(bandwidth, absolute_residual):
    """Intervals of a grid on which the integral of |f| is known to TOLERANCE.

    |f| integrates to the total variation of F, the antiderivative of f. Both are known exactly
    on a grid of step h, so F is replaced by its cubic Hermite interpolant, whose derivative errs
    by at most h^3/96 times the integral of |f'''|, that is 0.0158 (h/s)^3 E|r|. Modes that two
    intervals in a bandwidth cannot tell apart are below 3e-9 of E|r|.
    """
    fineness = max(2.0, (0.0158 * absolute_residual / TOLERANCE) ** (1 / 3))
    return next_fast_len(int(np.ceil(max(fineness / bandwidth, 32))), real=True)


def cosine_moments(nodes, axis=-1):
    """a_k = sum_j nodes_j cos(k pi j / M), k = 0..M, along one axis."""
    scaled = nodes / 2
    np.moveaxis(scaled, axis, -1)[..., [0, -1]] *= 2
    return dct(scaled, type=1, axis=axis, overwrite_x=True)


def evaluate_cosines(moments, bandwidth, n_intervals):
    """a_0 + 2 sum_k a_k g_k cos(k pi t) at t = 0, 1/n, ..., 1 for n = n_intervals, by rows of a."""
    n_modes = min(moments.shape[-1], int(LAST_MODE / bandwidth) + 2)
    refine = -(-n_modes // n_intervals)  # the transform must hold all modes
    damped = np.zeros((*moments.shape[:-1], refine * n_intervals + 1))
    damped[..., :n_modes] = moments[..., :n_modes] * _damping(n_modes, bandwidth)
    return dct(damped, type=1)[..., ::refine]


def smoothed_error(moments, bandwidth, absolute_residual):
    """smECE_s, the integral of |f|, to TOLERANCE."""
    n_intervals = count_intervals(bandwidth, absolute_residual)
    n_modes = min(len(moments), n_intervals, int(LAST_MODE / bandwidth) + 2)
    damped = np.zeros((1, n_intervals + 1))
    damped[0, :n_modes] = moments[:n_modes] * _damping(n_modes, bandwidth)
    return float(integrate_sizes(damped)[0])


def integrate_sizes(damped):
    """Integrals over [0, 1] of |f|, f = d_0 + 2 sum_k d_k cos(k pi t), for rows of d.

    The total variations of the cubic Hermite interpolants of the antiderivatives.
    """
    n_intervals = damped.shape[1] - 1
    numbers = np.arange(n_intervals + 1.0)
    waves = np.zeros(n_intervals + 1)
    np.divide(-0.5 / np.pi, numbers[1:-1], out=waves[1:-1])
    # One transform has the slopes, which are even in t, and the antiderivatives, which are odd.
    spectrum = np.empty(damped.shape, dtype=np.complex128)
    np.multiply(damped, 0.5 / n_intervals, out=spectrum.real)
    np.multiply(damped, waves, out=spectrum.imag)
    both = irfft(spectrum, 2 * n_intervals, axis=1, norm="forward", overwrite_x=True)
    ahead, back = both[:, : n_intervals + 1], both[:, : n_intervals - 1 : -1]
    slopes = ahead.copy()
    slopes[:, 0] *= 2
    slopes[:, 1:] += back
    values = damped[:, :1] * (numbers / n_intervals)
    values[:, 1:] += ahead[:, 1:]
    values[:, 1:] -= back
    return vary_hermite(values, slopes)


def find_fixed_point(error_at, upper, smallest):
    """The s with error_at(s) = s, or None where it lies below `smallest`.

    error_at never increases, so the root lies between s and error_at(s) for every s: walk down
    from `upper` in factors of 8 until it is bracketed, then close in.
    """
    error_at = cache(error_at)
    high = max(upper, smallest)
    while error_at(high) < high:
        if high == smallest:
            return None
        low = max(error_at(high), high / 8, smallest)
        if error_at(low) >= low:
            break
        high = low
    else:
        return high
    high = min(high, error_at(low))
    if high - low <= 1e-9 or error_at(high) >= high:
        return high

    def miss(s):
        gap = error_at(s) - s
        return gap if abs(gap) > _CLOSE else 0.0

    return find_root(miss, low, high, xtol=1e-9)


def _damping(n_modes, bandwidth):
    bandwidth = min(bandwidth, 1e100)  # whose square does not overflow
    return np.exp(-0.5 * (np.pi * bandwidth * np.arange(n_modes)) ** 2)


def vary_hermite(values, slopes):
    """Total variations of piecewise cubics with these values and slopes (per interval), by rows."""
    steps = values[:, 1:] - values[:, :-1]
    start, end = slopes[:, :-1], slopes[:, 1:]
    both = start + end
    bend = both - 3 * steps
    bend *= both
    # A cubic turns inside its interval if its slope changes sign, or falls far enough between
    # two of one sign; the last condition is necessary for this and hardly ever true.
    turns = np.flatnonzero((start * end < 0) | (bend > 0))
    row, step = turns // steps.shape[1], steps.ravel()[turns]
    start, end = slopes.ravel()[turns + row], slopes.ravel()[turns + row + 1]
    excess = _vary_cubics(start, end, step) - np.abs(step)
    return np.abs(steps, out=steps).sum(axis=1) + np.bincount(row, excess, len(values))


def _vary_cubics(start, end, step):
    """Total variation on [0, 1] of cubics with these slopes at the ends, that rise by `step`."""
    # The derivative is start + linear x + square x^2.
    square = 3 * (start + end) - 6 * step
    linear = end - start - square
    root = np.sqrt(np.maximum(linear**2 - 4 * square * start, 0.0))
    # The stable pair of roots; a root outside (0, 1), at infinity or double cuts nothing off, nor
    # does any place where there is no root.
    half = -0.5 * (linear + np.copysign(root, linear))
    roots, places = np.zeros((2, 2, len(half)))
    np.divide(half, square, out=roots[0], where=square != 0)
    np.divide(start, half, out=roots[1], where=half != 0)
    np.minimum(np.maximum(roots, 0.0, out=roots), 1.0, out=roots)
    np.minimum(*roots, out=places[0])
    np.maximum(*roots, out=places[1])
    first, second = places * (start + places * (linear / 2 + places * (square / 3)))
    return np.abs(first) + np.abs(second - first) + np.abs(step - second)
