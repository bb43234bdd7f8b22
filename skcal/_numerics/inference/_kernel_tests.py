"""Null distributions of the squared kernel calibration error and of mean embeddings.

p-values are kept above 0: the smallest normal float stands for all that are smaller.
"""

import numpy as np
from scipy.special import chdtri, fdtrc, ndtr

from skcal._numerics.errors._kernel import laplace_error, laplace_sums
from skcal._numerics.inference._classical_tests import clip_pvalue
from skcal._tools._least_pvalue import mark_least

# What varies less than this, of columns with a largest entry of 1 or a length of 1, is rounding:
# that of exponentials is some hundred times the rounding of numbers near 1.
_SINGULAR = 1e-12
# Resamples of ordinary samples vary by this part of what is expected, or more.
_MUCH_LESS = 0.5


def bound_unbiased(estimate, n_rows, bound):
    """Hoeffding's bound of the p-value for the mean over pairs of terms in [-bound, bound]."""
    exponent = (n_rows // 2) * (max(estimate, 0.0) / bound) ** 2 / 2
    return clip_pvalue(np.exp(-exponent))


def bound_biased(estimate, n_rows, bound):
    """Bounded-differences bound of the p-value for the mean over all pairs, itself included."""
    exponent = max(0.0, np.sqrt(n_rows * max(estimate, 0.0) / bound) - 1) ** 2 / 2
    return clip_pvalue(np.exp(-exponent))


def standardize_mean(values):
    """Mean over its standard error, and the upper tail of the normal distribution."""
    mean = values.mean()
    error = values.std(ddof=1) / np.sqrt(len(values))
    statistic = 0.0 if mean == 0 else mean / error
    return float(statistic), clip_pvalue(ndtr(-statistic))


def draw_counts(n_rows, n_resamples, rng):
    """Yield how often each row is drawn in each bootstrap resample."""
    for _ in range(n_resamples):
        rows = (rng.random(n_rows) * n_rows).astype(np.intp)
        yield np.bincount(rows, minlength=n_rows)


class BinaryTerms:
    """Sums over terms h_ij = x_i x_j exp(-|v_i - v_j| / bandwidth), without a look at pairs.

    x are residuals. `row_sums` and `own` are sum_j h_ij and h_ii.
    """

    def __init__(self, predictions, residual, bandwidth):
        self._order, self._residual, self._bandwidth = np.argsort(predictions), residual, bandwidth
        self._places = predictions[self._order]
        self.own, self.row_sums = residual**2, np.empty(len(residual))
        self.row_sums[self._order] = laplace_sums(
            self._places, residual[self._order], self._bandwidth
        )
        self.row_sums *= residual

    def resample(self, counts):
        """The sums of C_i C_j h_ij, of C_i h_ii and of C_i sum_j h_ij with counts C."""
        drawn = (counts * self._residual)[self._order]
        pairs = laplace_error(self._places, drawn, self._bandwidth) ** 2
        return pairs, counts @ self.own, counts @ self.row_sums

    def find_variance(self):
        """Variance of terms of different rows, summed, if labels come true as predicted."""
        spread = self._places * (1 - self._places)
        # The square of the kernel has half the bandwidth.
        pairs = laplace_error(self._places, spread, self._bandwidth / 2) ** 2
        return max(pairs - spread @ spread, 0.0)


def sum_resampled_pairs(terms, left_counts, right_counts):
    """Sums of C_i C_j h_ij over a matrix h, for each column of counts C."""
    return np.einsum("ib,ib->b", left_counts, terms @ right_counts)


def compare_degenerate(row_sums, own, resampled_pairs, resampled_own, resampled_rows):
    """Statistic of the degenerate bootstrap, and its resamples under calibration.

    Also returns the unbiased estimate of the squared error, and the expected value of a resample.

    `row_sums` and `own` are sum_j h_ij and h_ii. The resampled sums are those of C_i C_j h_ij, of
    C_i h_ii, and of C_i sum_j h_ij with the counts C of a resample. The terms of a calibrated model
    have mean 0 given either row, so that resamples are centred by the row means of h: Arcones and
    Giné (1992), :doi:`10.1214/aos/1176348650`. With E[C_i C_j] = 1 - 1/n, and E[C_i^2] = 2 - 1/n,
    their expected value is minus the mean of h, so that statistic - null_mean = n / (n - 1)
    estimate.
    """
    n = len(own)
    total = row_sums.sum()
    estimate = (total - own.sum()) / (n * (n - 1))
    null_mean = -total / n**2
    statistic = n / (n - 1) * estimate + null_mean
    resampled = (n / (n - 1) * (resampled_pairs - resampled_own) - 2 * resampled_rows) / n**2
    return statistic, resampled, estimate, null_mean


def widen(resampled, null_mean, deviation):
    """Resamples with the standard deviation of a calibrated model, if they vary much less.

    Without an event all terms of a rare event are nearly alike, and resamples hardly vary. Where
    they do not at all, they have the law of a single square of a normal number.
    """
    away = resampled - null_mean
    spread = away.std()
    if spread >= _MUCH_LESS * deviation:
        return resampled
    if spread <= _SINGULAR * max(deviation, np.abs(resampled).max()):
        levels = (np.arange(len(away)) + 0.5) / len(away)
        away, spread = chdtri(1, levels) - 1, np.sqrt(2)
    return null_mean + away * (deviation / spread)


def count_exceedances(statistic, resampled):
    """p-value of a statistic among its resamples, itself counted."""
    least = 1 / (len(resampled) + 1)
    return mark_least((1 + np.count_nonzero(resampled >= statistic)) * least, least)


def find_chi_squared(features):
    """n m' S^-1 m for the mean m and covariance S of rows, its p-value, and the rank of S.

    The p-value is that of Hotelling's F distribution, which tends to the chi-squared one with a
    degree for each column as n grows. Both are NaN where S is singular: where columns are constant
    or depend on each other, up to rounding. S is not formed, as its condition is the square of that
    of the rows.
    """
    n, degrees = features.shape
    largest = np.abs(features).max(axis=0)
    features = features / np.where(largest > 0, largest, 1.0)  # squares could vanish or overflow
    mean = features.mean(axis=0)
    centered = features - mean
    length = np.linalg.norm(centered, axis=0)
    varying = length > _SINGULAR * np.sqrt(n)
    triangle = np.linalg.qr(centered[:, varying] / length[varying], mode="r")
    _, values, vectors = np.linalg.svd(triangle)
    rounding = _SINGULAR * np.linalg.norm(features, axis=0)[varying] / length[varying]
    rank = np.count_nonzero(values > rounding.max(initial=0) * values.max(initial=0))
    if rank < degrees:
        return np.nan, np.nan, rank
    projected = vectors @ (mean / length) / values
    statistic = float(n * (n - 1) * (projected @ projected))
    left = n - degrees
    pvalue = fdtrc(degrees, left, statistic * left / (degrees * (n - 1)))
    return statistic, clip_pvalue(pvalue), rank
