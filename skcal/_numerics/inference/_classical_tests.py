"""Classical statistics of calibration, and p-values that are never 0.

Where nothing is left to chance, 0 / 0 is 0, and an outcome that was predicted to be impossible
makes a statistic infinite.
"""

import numpy as np
from scipy.special import bdtr, betainc, chdtrc, chdtri, fdtrc, gammaincc, ndtr, ndtri, stdtr

from skcal._numerics.inference._brownian import exceed_maximum, exceed_range
from skcal._numerics.inference._cluster_signs import find_design_effect
from skcal._numerics.inference._effective_rows import find_degrees
from skcal._tools._least_pvalue import carry_least

_SMALLEST = float(np.finfo(np.float64).tiny)
# A sum that is less, in parts of that of the sizes of its terms, is 0.
_ROUNDING = 1e-14


def unite_pvalues(*pvalues):
    """The p-value of the hypotheses of several tests together (Bonferroni)."""
    least = min(pvalues)
    return carry_least(min(len(pvalues) * least, 1.0), least)


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
    parts = slope * (outcomes - predictions)
    excess = parts.sum()
    if abs(excess) <= _ROUNDING * np.abs(parts).sum():
        return 0.0, 0.0
    error = np.sqrt(slope**2 @ (predictions * (1 - predictions)))
    return float(excess / weights.sum()), float(divide_by_error(excess, error))


def compare_clusters(predictions, outcomes, weights, member):
    """How much more clusters vary than independent rows in what `compare_brier` sums.

    And the degrees of freedom with which that is known. A ratio of the variance between clusters to
    that of single rows is stable where few outcomes are events, unlike the variance itself.
    """
    slope = weights / weights.max() * (1 - 2 * predictions)
    variances = np.bincount(member, slope**2 * predictions * (1 - predictions))
    shares = variances / variances.sum()
    effect = find_design_effect(slope * (outcomes - predictions), member)
    return effect, float(find_degrees(shares @ shares))


def normal_pvalue(statistic, known=np.inf):
    """P(|Z| >= |statistic|) for a standard normal Z, or Student's t with these degrees."""
    if np.isinf(known):
        return clip_pvalue(2 * ndtr(-abs(statistic)))
    return clip_pvalue(2 * stdtr(known, -abs(statistic)))


def chi_squared_pvalue(statistic, degrees, known=np.inf):
    """P(X >= statistic) of a chi-squared X; 1 without degrees of freedom, unless infinite.

    For an F-distributed X / degrees if the variance has this many degrees of freedom.
    """
    if degrees == 0:
        return 1.0 if statistic == 0 else _SMALLEST
    if np.isinf(known):
        return clip_pvalue(chdtrc(degrees, statistic))
    return clip_pvalue(fdtrc(degrees, known, statistic / degrees))


def bar_chi_squared_pvalue(statistic, n_groups):
    """P(X >= statistic) of the sum of the squares of those of n standard normals that are positive.

    Of them k are positive with the binomial probability of k heads.
    """
    if statistic == 0:
        return 1.0
    heads = np.arange(n_groups + 1)
    shares = np.diff(bdtr(heads, n_groups, 0.5), prepend=0.0)
    return clip_pvalue(shares[1:] @ chdtrc(heads[1:], statistic)) if n_groups else _SMALLEST


def sum_squared_groups(counts, mean_predictions, residual):
    """Hosmer-Lemeshow statistic of groups: sum of residual^2 / (counts * mean * (1 - mean)).

    `residual` is the number of outcomes 1 minus the predicted one.
    """
    variance = counts * mean_predictions * (1 - mean_predictions)
    with np.errstate(over="ignore"):  # next to impossible outcomes make the statistic infinite
        return float((divide_by_error(residual, np.sqrt(variance)) ** 2).sum())


def sum_positive_scores(counts, mean_predictions, shares):
    """Sum of the squared normal scores of groups with more outcomes than predicted.

    `shares` are the mean outcomes. The score belongs to the mid-p-value of the binomial test,
    P(K > k) + P(K = k) / 2, which a normal variable has instead of a skewed one where outcomes are
    rare.
    """
    ones, zeros = counts * shares, counts * (1 - shares)
    with np.errstate(invalid="ignore"):  # where one of them is 0
        reached = np.where(ones > 0, betainc(ones, zeros + 1, mean_predictions), 1.0)
        passed = np.where(zeros > 0, betainc(ones + 1, zeros, mean_predictions), 0.0)
    return float((np.maximum(-ndtri((reached + passed) / 2), 0.0) ** 2).sum())


def predict_level(counts, mean_predictions, alpha=0.05):
    """How often the Hosmer-Lemeshow test of the level `alpha` rejects calibrated samples.

    The square of a standardised binomial variable of n, p and the variance V = n p q has itself the
    variance 2 + (1 - 6 p q) / V. Their sum is taken as a gamma variable of the same mean and
    variance. NaN where a group is next to certain; mean predictions are neither 0 nor 1.
    """
    n_groups, spread = len(counts), mean_predictions * (1 - mean_predictions)
    critical = chdtri(n_groups, alpha)
    with np.errstate(over="ignore"):
        excess = 1 + np.sum((1 - 6 * spread) / (counts * spread)) / (2 * n_groups)
    if excess <= 0:  # every square is 1, as that of a single row with a prediction of 1/2
        return float(n_groups > critical)
    return float(gammaincc(n_groups / 2 / excess, critical / 2 / excess))


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


def correct_pvalues(pvalues):
    """p-values that hold at once, by the procedure of S. Holm (1979)."""
    pvalues = np.array(pvalues)
    order = np.argsort(pvalues, kind="stable")
    corrected = np.empty(len(pvalues))
    raised = pvalues[order] * np.arange(len(pvalues), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return corrected
