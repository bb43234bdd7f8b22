"""SmoothECE that chance alone gives: outcomes are drawn from the predictions."""

import numpy as np

from skcal._numerics.curves._kernel_regression import sum_squares_on_kernel

# Integral over u of the covariance of |X| and |Y|, standard normal with correlation exp(-u^2 / 4).
_OVERLAP = 0.86715775
# Each finds the fixed point to about the square of the error before.
_N_SECANTS = 2
# Points in the larger bandwidth of a secant, and cells on [0, 1] at least.
_N_IN_BANDWIDTH, _FEWEST_CELLS = 8, 64


def find_widest(variance, width):
    """A bandwidth that no fixed point exceeds, as a part of a scale of this width.

    `variance` is that of the mean residual. By Jensen's inequality the mean of smECE_s is largest
    where the variance is spread evenly.
    """
    return (variance / (np.pi**1.5 * width**2)) ** (1 / 3)


def find_chance(variances, width):
    """Mean and standard deviation of SmoothECE for calibrated rows, on a scale of this width.

    `variances`, (n_cells + 1,), are the sums of w^2 v (1 - v) on nodes, for weights w that sum to 1
    and predictions v. The smoothed residual at t is nearly normal with the variance
    sum_i w_i^2 K_i^2 v_i (1 - v_i), and its correlation at a distance d about exp(-d^2 / 4 s^2). So
    smECE_s has the mean A(s), the integral of sqrt(2 / pi) times the standard deviation, and a
    variance of `_OVERLAP` times s times the integral of the variance. The fixed point A(s) = s is
    found by secants of log A(s), whose slope there tells how much of a change of A is one of s.
    """
    fixed = find_widest(variances.sum(), width)
    for _ in range(_N_SECANTS):
        coarse = _gather(variances, _N_IN_BANDWIDTH / fixed)
        bandwidth = fixed
        size, variance = _integrate(coarse, bandwidth)
        slope = np.clip(np.log2(size / _integrate(coarse, bandwidth / 2)[0]), -1.0, 0.0)
        # Where the power law through both is `width` times the bandwidth.
        fixed = bandwidth * (size / (width * bandwidth)) ** (1 / (1 - slope))
    return float(width * fixed), float(np.sqrt(variance) / (1 - slope))


def _gather(variances, n_wanted):
    """Sums on fewer nodes, a power of two of cells."""
    n_cells = len(variances) - 1
    n_fewer = min(max(1 << int(np.ceil(np.log2(n_wanted))), _FEWEST_CELLS), n_cells)
    nearest = np.rint(np.arange(n_cells + 1) * (n_fewer / n_cells)).astype(np.intp)
    return np.bincount(nearest, variances)


def _integrate(variances, bandwidth):
    """Mean and variance of smECE_s."""
    squares = sum_squares_on_kernel(variances, bandwidth, len(variances))
    squares = np.maximum(squares, 0.0)  # after rounding
    mean = np.sqrt(2 / np.pi) * np.trapezoid(np.sqrt(squares)) / (len(variances) - 1)
    return mean, _OVERLAP * bandwidth * np.trapezoid(squares) / (len(variances) - 1)
