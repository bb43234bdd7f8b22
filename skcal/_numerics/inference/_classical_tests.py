"""Classical statistics of calibration, and p-values that are never 0.

Where nothing is left to chance, 0 / 0 is 0, and an outcome that was predicted to be impossible
makes a statistic infinite.
"""

import numpy as np
from scipy.special import chdtrc, ndtr

from skcal._numerics.inference._brownian import exceed_maximum, exceed_range

_SMALLEST = float(np.finfo(np.float64).tiny)


def clip_pvalue(pvalue):
    """The p-value; the smallest normal float stands for all that are smaller."""
    return float(np.clip(pvalue, _SMALLEST, 1.0))


def divide_by_error(difference, error):
    """difference / error, where 0 / 0 is 0 and any other difference over 0 is infinite."""
    difference = np.asarray(difference, dtype=np.float64)
    error = np.broadcast_to(error, difference.shape)
    ratio = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    return np.divide(difference, error, where=error > 0, out=ratio)


def compare_brier(predictions, outcomes, weights):
    """Brier score minus its mean given the predictions, and this over its standard deviation.

    With r = y - v: r^2 - v (1 - v) = r (1 - 2v), which has the variance (1 - 2v)^2 v (1 - v).
    """
    slope = weights * (1 - 2 * predictions)
    excess = slope @ (outcomes - predictions)
    error = np.sqrt(slope**2 @ (predictions * (1 - predictions)))
    return float(excess / weights.sum()), float(divide_by_error(excess, error))


def normal_pvalue(statistic):
    """P(|Z| >= |statistic|) of a standard normal Z."""
    return clip_pvalue(2 * ndtr(-abs(statistic)))


def chi_squared_pvalue(statistic, degrees):
    """P(X >= statistic) of a chi-squared X; 1 without degrees of freedom, unless infinite."""
    if degrees == 0:
        return 1.0 if statistic == 0 else _SMALLEST
    return clip_pvalue(chdtrc(degrees, statistic))


def sum_squared_groups(counts, mean_predictions, residual):
    """Hosmer-Lemeshow statistic, and the number of groups that are left to chance.

    Parameters
    ----------
    counts, mean_predictions, residual : ndarray of shape (n_groups,)
        Number of rows, mean prediction, and sum of outcomes minus predictions of groups.

    Returns
    -------
    statistic : float
        Sum of residual^2 / (counts * mean * (1 - mean)).
    n_groups : int
        Groups with a mean in (0, 1).
    """
    variance = counts * mean_predictions * (1 - mean_predictions)
    with np.errstate(over="ignore"):  # next to impossible outcomes make the statistic infinite
        statistic = float((divide_by_error(residual, np.sqrt(variance)) ** 2).sum())
    return statistic, int(np.count_nonzero(variance > 0))


def cumulative_error(predictions, weights):
    """Standard deviation of the sum of all residuals over the sum of weights."""
    variance = predictions * (1 - predictions)
    largest = weights[variance > 0].max(initial=0.0)
    if largest == 0:
        return 0.0
    # Squares of weights that are small beside those of certain rows would vanish.
    shares = np.where(variance > 0, weights / largest, 0.0)
    return float(np.sqrt(shares**2 @ variance) * (largest / weights.sum()))


def kolmogorov_smirnov_pvalue(statistic):
    """Asymptotic p-value of the largest cumulative residual over `cumulative_error`."""
    return clip_pvalue(exceed_maximum(statistic))


def kuiper_pvalue(statistic):
    """Asymptotic p-value of the range of the cumulative residuals over `cumulative_error`."""
    return clip_pvalue(exceed_range(statistic))
