"""Slow, direct computations of the definitions, to test against."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr


def reflected_kernel_sum(points, predictions, residuals, bandwidth, antiderivative=False):
    """sum_i residual_i K_s(t, v_i) at every point t, or its integral from 0 to t."""
    reach = int(np.ceil(5 * bandwidth)) + 1
    images = np.concatenate(
        [sign * predictions + 2 * k for k in range(-reach, reach + 1) for sign in (-1, 1)]
    )
    weights = np.tile(residuals, len(images) // len(residuals))
    total = np.zeros(len(points))
    for start in range(0, len(points), 1000):
        block = slice(start, start + 1000)
        z = (points[block, None] - images) / bandwidth
        if antiderivative:
            total[block] = (ndtr(z) - ndtr(-images / bandwidth)) @ weights
        else:
            total[block] = np.exp(-0.5 * z**2) @ weights / (bandwidth * np.sqrt(2 * np.pi))
    return total


def unreflected_error_at(places, residuals, bandwidth):
    """Integral over the real line of |sum_i residual_i phi_s(t - place_i)|.

    The places are moved far inside [0, 1], where the reflected kernel is the plain one.
    """
    start, width = places.min() - 10 * bandwidth, np.ptp(places) + 20 * bandwidth
    return smooth_error_at((places - start) / width, residuals, bandwidth / width)


def smooth_error_at(predictions, residuals, bandwidth):
    """smECE_s: the antiderivative in closed form between the sign changes of the integrand."""
    points = np.linspace(0, 1, int(max(2000, 40 / bandwidth)))
    values = reflected_kernel_sum(points, predictions, residuals, bandwidth)
    points, values = points[values != 0], values[values != 0]  # far from the rows it underflows
    changes = np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
    zeros = [
        brentq(
            lambda t: reflected_kernel_sum(np.array([t]), predictions, residuals, bandwidth)[0],
            points[i],
            points[i + 1],
            xtol=1e-14,
        )
        for i in changes
    ]
    ends = np.array([0.0, *zeros, 1.0])
    integral = reflected_kernel_sum(ends, predictions, residuals, bandwidth, antiderivative=True)
    return np.abs(np.diff(integral)).sum()


def smooth_ece(predictions, outcomes, weights=None, scale=None):
    """The fixed point of smooth_error_at, or of unreflected_error_at on another scale."""
    mass = np.full(len(predictions), 1 / len(predictions)) if weights is None else weights
    residuals = mass / np.sum(mass) * (outcomes - predictions)
    size = np.abs(residuals).sum()

    def excess(bandwidth):
        if scale is not None:
            return unreflected_error_at(scale(predictions), residuals, bandwidth) - bandwidth
        return smooth_error_at(predictions, residuals, bandwidth) - bandwidth

    if size == 0:
        return 0.0
    low = size
    while excess(low) < 0:
        low /= 4
    return brentq(excess, low, 4 * low, xtol=1e-9)
