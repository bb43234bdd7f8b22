"""Kernel calibration error: the square is sum_ij c_i c_j k(v_i, v_j), c the residuals.

Laplace k(u, v) = exp(-|u - v| / h), Gaussian k(u, v) = exp(-((u - v) / h)^2). Exact values are
computed as norms, which stay accurate where the double sum cancels.
"""

import numpy as np
from scipy.fft import next_fast_len, rfft

from skcal._numerics.cells._grid import cubic_nodes, sum_moments

# Predictions worked on at a time, and the exponent that they may span without overflow.
_CHUNK = 1 << 15
_SPAN = 600.0
# Grid steps in one bandwidth of the Gaussian kernel, for an error below 5e-8.
_STEPS = 67
# exp(-7^2) = 5e-22 is nothing beside the residuals, which sum to 1 at most.
_REACH = 7


# ------------------------------------------------------------------------------ exact values


def laplace_error(predictions, residual, bandwidth):
    """Kernel calibration error of the Laplace kernel, for sorted predictions; exact.

    The kernel is the covariance of a Markov process, and the double sum the variance of sums of
    its independent steps: with T_i = sum_{j <= i} c_j exp(-(v_i - v_j) / h) it equals
    sum_i T_i^2 (1 - exp(-2 (v_{i+1} - v_i) / h)), where the last factor is 1.
    """
    square = 0.0
    for before, gap in _sum_before(predictions, residual, bandwidth):
        # 1 - exp(-2 g) = 2 tanh g / (1 + tanh g), which is accurate for small g, too
        slope = np.tanh(gap)
        before *= before
        before *= slope
        slope += 1
        before /= slope
        square += 2 * before.sum()
    return float(np.sqrt(square))


def laplace_sums(predictions, residual, bandwidth):
    """sum_j c_j exp(-|v_i - v_j| / h) for each of the sorted predictions."""
    before, after = (
        np.concatenate([part for part, _ in _sum_before(*rows, bandwidth)])
        for rows in ((predictions, residual), (-predictions[::-1], residual[::-1]))
    )
    return before + after[::-1] - residual


def _sum_before(predictions, residual, bandwidth):
    """Yield T_i = sum_{j <= i} c_j exp(-(v_i - v_j) / h), and (v_{i+1} - v_i) / h, part by part."""
    carry, start = 0.0, 0
    while start < len(predictions):
        place = (predictions[start : start + _CHUNK] - predictions[start]) / bandwidth
        size = np.searchsorted(place, _SPAN, side="right")
        growth = np.exp(place[:size])
        decayed = residual[start : start + size] * growth
        decayed[0] += carry
        np.cumsum(decayed, out=decayed)
        decayed /= growth
        gap = np.diff(predictions[start : start + size + 1], append=np.inf)[:size] / bandwidth
        carry = decayed[-1] * np.exp(-gap[-1])
        start += size
        yield decayed, gap


def gaussian_error(read_chunks, bandwidth):
    """Kernel calibration error of the Gaussian kernel to 5e-8 of the mean |residual|; no sort.

    `read_chunks` returns an iterable of pairs of predictions and residuals, about as many as it is
    asked for.

    Residuals are shared by cubic weights between the nodes of a grid of step d = h / 67. The
    feature map of the kernel has a fourth derivative of norm sqrt(1680) / h^4, so that this errs by
    at most 9/384 sqrt(1680) (d/h)^4. On the nodes, the norm is summed over the frequencies of the
    kernel, repeated with a period that keeps the copies apart.
    """
    step = bandwidth / _STEPS
    n_cells = int(1 / step) + 3  # the outer cells stay empty: nothing is reflected
    chunks = read_chunks(max(_CHUNK, n_cells))
    scaled = (((predictions / step + 1) / n_cells, residual) for predictions, residual in chunks)
    nodes = cubic_nodes(sum_moments(scaled, n_cells, order=4))
    period = next_fast_len(n_cells + 1 + _REACH * _STEPS, real=True)
    frequency = np.pi * _STEPS / period * np.arange(period // 2 + 1)
    frequency = frequency[frequency <= _REACH]
    power = np.abs(rfft(nodes, period)[: len(frequency)]) ** 2 * np.exp(-(frequency**2))
    return float(np.sqrt(np.sqrt(np.pi) * _STEPS / period * (2 * power.sum() - power[0])))


# -------------------------------------------------------------- unbiased estimates of the square


def estimate_by_pairs(predictions, weight, positive, kernel, bandwidth, n_terms, rng):
    """Mean over random ordered pairs, drawn by weight with replacement."""
    residual = positive / weight - predictions
    cumulative = None if weight.min() == weight.max() else np.cumsum(weight)
    total = 0.0
    for start in range(0, n_terms, _CHUNK):
        uniform = rng.random((2, min(_CHUNK, n_terms - start)))
        if cumulative is None:
            one, other = (uniform * len(weight)).astype(np.intp)
        else:
            one, other = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
        distance = np.abs(predictions[one] - predictions[other]) / bandwidth
        value = np.exp(-distance if kernel == "laplace" else -(distance**2))
        total += (residual[one] * residual[other] * value).sum()
    return float(total / n_terms)


def estimate_by_frequencies(predictions, residual, kernel, bandwidth, n_terms, rng):
    """Mean over random frequencies of the power of the residuals; random Fourier features.

    The characteristic functions of the Cauchy and of the normal distribution are the kernels.
    """
    if kernel == "laplace":
        frequencies = rng.standard_cauchy(n_terms) / bandwidth
    else:
        frequencies = rng.standard_normal(n_terms) * (np.sqrt(2) / bandwidth)
    total = 0.0
    for frequency in frequencies:
        angle = frequency * predictions
        total += (residual * np.cos(angle)).sum() ** 2 + (residual * np.sin(angle)).sum() ** 2
    return float(total / n_terms)


def estimate_by_bins(predictions, residual, bandwidth, n_terms, rng):
    """Mean over random bins of the sum of squared residuals, for the Laplace kernel.

    Bins of width d with a uniform shift hold two predictions together with probability
    max(0, 1 - |u - v| / d); for d of a Gamma(2) distribution the mean of that is the kernel.
    """
    total = 0.0
    for width, shift in zip(rng.gamma(2.0, bandwidth, n_terms), rng.random(n_terms), strict=True):
        bins = np.floor(predictions / width + shift)
        starts = np.flatnonzero(np.diff(bins, prepend=-1.0))
        total += (np.add.reduceat(residual, starts) ** 2).sum()
    return float(total / n_terms)
