"""SmoothECE that chance alone gives: outcomes are drawn from the predictions."""

import numpy as np

from skcal._numerics.curves._kernel_regression import sum_squares_on_kernel
from skcal._numerics.errors._smooth import SMALLEST_BANDWIDTH

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


def find_chance(find_variances, width):
    """Mean and standard deviation of SmoothECE for calibrated rows, on a scale of this width.

    `find_variances` maps a number of cells, a power of two, to the sums of w^2 v (1 - v) on their
    nodes, for weights w that sum to 1 and predictions v. The smoothed residual at t is nearly
    normal with the variance sum_i w_i^2 K_i^2 v_i (1 - v_i), and its correlation at a distance d
    about exp(-d^2 / 4 s^2). So smECE_s has the mean A(s), the integral of sqrt(2 / pi) times the
    standard deviation, and a variance of `_OVERLAP` times s times the integral of the variance. The
    fixed point A(s) = s is found by secants of log A(s), whose slope there tells how much of a
    change of A is one of s. Below `SMALLEST_BANDWIDTH` SmoothECE is its value there.
    """
    total = find_variances(_FEWEST_CELLS).sum()
    if not total > 0:
        return 0.0, 0.0
    fixed = max(find_widest(total, width), SMALLEST_BANDWIDTH)
    for _ in range(_N_SECANTS):
        bandwidth = fixed
        n_cells = max(1 << int(np.ceil(np.log2(_N_IN_BANDWIDTH / bandwidth))), _FEWEST_CELLS)
        variances = find_variances(n_cells)
        size, variance = _integrate(variances, bandwidth)
        slope = np.clip(np.log2(size / _integrate(variances, bandwidth / 2)[0]), -1.0, 0.0)
        # Where the power law through both is `width` times the bandwidth.
        crossing = bandwidth * (size / (width * bandwidth)) ** (1 / (1 - slope))
        fixed = max(crossing, SMALLEST_BANDWIDTH)
        if fixed == bandwidth:
            break
    share = 1 / (1 - slope) if crossing == fixed else 1.0
    return float(size * (fixed / bandwidth) ** slope), float(share * np.sqrt(variance))


def _integrate(variances, bandwidth):
    """Mean and variance of smECE_s."""
    squares = sum_squares_on_kernel(variances, bandwidth, len(variances))
    squares = np.maximum(squares, 0.0)  # after rounding
    mean = np.sqrt(2 / np.pi) * np.trapezoid(np.sqrt(squares)) / (len(variances) - 1)
    return mean, _OVERLAP * bandwidth * np.trapezoid(squares) / (len(variances) - 1)
