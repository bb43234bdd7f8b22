r"""How many rows of equal weight tell as much as weighted ones.

Let row i have the share s_i of all weights, and let an estimate move by s_i u_i with its outcome.
The variance of the estimate is then about sum s_i^2 u_i^2 (P. J. Huber, 1967), whatever the weights
depend on. Of m rows of equal weight with the same mean square of u it is sum s_i u_i^2 / m, so that

    m = sum s_i u_i^2 / sum s_i^2 u_i^2

of them tell as much. With u_i that are all alike m is Kish's number, 1 / sum s_i^2, and with equal
weights it is the number of rows, whatever u is. A method for rows of equal weight reads weighted
ones as m rows (E. L. Korn, B. I. Graubard, 1998, Survey Methodology 24, for a share).

Where rows of a cluster depend on each other, the variance is the sum over clusters of the squares
of the sums of s_i u_i, each divided by 1 minus the share h_c of the cluster in the information,
because the estimate follows its own rows (the jackknife, CR3: R. M. Bell, D. F. McCaffrey, 2002,
Survey Methodology 28). That variance has about 1 / sum h_c^2 - 1 degrees of freedom, so that m is
multiplied by the squared ratio of the quantiles of the normal and of Student's distribution.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, fdtri, ndtri, stdtrit

# A variance that is smaller is none: its inverse would overflow.
_LEAST = 1e-300
# If one cluster has all the information, nothing is known, up to rounding.
LEAST_REST = 1e-3
# Degrees of freedom where a single part matters, which tells nothing of the variance.
_LEAST_DEGREES = 0.1
# Rows of one outcome whose weights tell what weights near them are.
_NEAREST = 30


class Telling(NamedTuple):
    """How many rows of equal weight tell as much, and how well that is known."""

    n_rows: float
    degrees: float = np.inf  # degrees of freedom of the variance that it is found from

    def discount(self, confidence_level):
        """The number for intervals of this level that a normal law makes of it."""
        if np.isinf(self.degrees):
            return self.n_rows
        tail = (1 - confidence_level) / 2  # the other one would be 1 for levels near 1
        return float(self.n_rows * (ndtri(tail) / stdtrit(self.degrees, tail)) ** 2)

    def find_statistic(self, gain, n_terms):
        """The chi-squared variable that exceeds what it is by chance as often as twice a gain.

        Twice the gain in log-likelihood of this many rows, over its `n_terms` degrees of freedom,
        has the F distribution.
        """
        statistic = float(2 * self.n_rows * gain)
        if np.isinf(self.degrees):
            return statistic
        tail = fdtrc(n_terms, self.degrees, statistic / n_terms)
        return float(chdtri(n_terms, max(tail, np.finfo(np.float64).tiny)))

    def discount_region(self, critical, n_terms):
        """The number for regions of deviances below a critical value of this many terms."""
        if np.isinf(self.degrees):
            return self.n_rows
        # The inverse of an F-distributed variable is one, too.
        quantile = n_terms / max(fdtri(self.degrees, n_terms, chdtrc(n_terms, critical)), _LEAST)
        return float(self.n_rows * critical / quantile)


def count_in_clusters(mean_square, pulls, information, shares, member):
    """A `Telling` of rows in clusters.

    `pulls` are s u of the rows, `information` is what each tells of the estimate, on any scale.
    Where nothing moves each cluster counts as one row.
    """
    sums = (np.bincount(member, values) for values in (pulls, information, shares))
    return count_clusters(mean_square, *sums)


def count_clusters(mean_square, sums, parts, of_all):
    """The same from the sums of the rows of each cluster."""
    total = parts.sum()
    parts = parts / total if total > 0 else of_all / of_all.sum()
    sums = sums / np.maximum(1 - parts, LEAST_REST)
    n_rows = divide_squares(mean_square, sums @ sums, of_all, of_all**2)
    return Telling(n_rows, float(find_degrees(parts @ parts)))


def find_degrees(squared_shares):
    """Degrees of freedom, by the sum of the squared shares of clusters in the information."""
    return np.maximum(1 / squared_shares - 1, _LEAST_DEGREES)


def find_shares(weights):
    """Weights that sum to 1."""
    shares = weights / weights.max()  # whose sum does not overflow
    return shares / shares.sum()


def count_telling(shares, influence):
    """Rows of equal weight that would tell as much of an estimate.

    `influence` is how the estimate moves with each row, on any scale.
    """
    squares = (influence / (np.abs(influence).max() or 1.0)) ** 2
    return divide_squares(shares @ squares, shares**2 @ squares, shares, shares**2)


def count_for_mean(shares, outcomes, *chances):
    """Rows of equal weight that would tell as much of the mean outcome.

    Let q_k be the sum of squared shares over the sum of shares of the rows of outcome k. The
    weighted mean has the variance p (1 - p) ((1 - p) q_1 + p q_0) if p is the probability of
    outcome 1. Of several `chances` p, the one with the fewest rows counts.
    """
    positive = outcomes == 1
    parts = shares[positive], shares[~positive]
    one, zero = _list_ratios(*(part @ part / part.sum() if len(part) else None for part in parts))
    return float(1 / max((1 - p) * one + p * zero for p in chances))


def count_by_group(index, weights, predictions, outcomes):
    """The same for the mean outcome of each group, at the mean prediction.

    Groups without rows have 0. A group may hold few rows of an outcome: q is a mean over the 30
    nearest ones or more, for any prediction on a line between such means.
    """
    mass = np.bincount(index, weights)
    filled = mass > 0
    means = np.bincount(index, weights * predictions)[filled] / mass[filled]
    positive = outcomes == 1
    ratios = (
        _average_weights(weights[rows], predictions[rows], means) for rows in (positive, ~positive)
    )
    one, zero = _list_ratios(*ratios)
    counts = np.zeros(len(mass))
    counts[filled] = mass[filled] / ((1 - means) * one + means * zero)
    return counts


def _average_weights(weights, predictions, places):
    """sum w^2 / sum w of the rows near each place; None without rows."""
    if len(weights) == 0:
        return None
    order = np.lexsort((weights, predictions))  # whatever the order of the rows
    predictions, weights = predictions[order], weights[order]
    n_parts = min(max(len(order) // _NEAREST, 1), 2 * len(places))
    starts = np.arange(n_parts) * len(order) // n_parts
    largest = np.maximum.reduceat(weights, starts)
    weights = weights / np.repeat(largest, np.diff(starts, append=len(order)))
    mass, square, moment = (
        np.add.reduceat(values, starts)  # of weights whose squares do not vanish
        for values in (weights, weights**2, weights * predictions)
    )
    return np.interp(places, moment / mass, largest * square / mass)


def _list_ratios(*ratios):
    """Each of two ratios, that of the other outcome where one has no rows."""
    return (other if own is None else own for own, other in (ratios, ratios[::-1]))


def divide_squares(mean_square, variance, shares, squared_shares):
    """sum s u^2 / sum s^2 u^2, or Kish's number where nothing moves."""
    if variance > _LEAST:
        return float(mean_square / variance)
    return float(np.sum(shares) / np.sum(squared_shares))


def count_jointly(score, mean_squares, variances):
    """The same for several sums at a time, whose quadratic form is to be chi-squared.

    `score`, `mean_squares` and `variances` are the sums over rows of s u, of s u u' and of
    s^2 u u'. With the covariance matrix V of the score U, and M that of one row, U' V^{-1} U is
    chi-squared, and so is the number times U' M^{-1} U. NaN where the score is 0.
    """
    one, other = (_standardize(score, matrix) for matrix in (variances, mean_squares))
    return float(one / other) if other > 0 else np.nan


def _standardize(score, covariance):
    """U' V^{-1} U, whatever the scales of the sums are."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    score = score / scale
    inverse = np.linalg.pinv(covariance / np.outer(scale, scale), rcond=1e-12, hermitian=True)
    return score @ inverse @ score
