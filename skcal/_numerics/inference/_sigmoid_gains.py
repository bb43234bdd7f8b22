"""What a sigmoid of the log odds takes off the log loss of models, on rows that they share.

Log odds and outcomes have a column for each binary problem of a model, and gains are sums over
columns. A sigmoid has a slope and an intercept, which are 1 and 0 for calibrated rows. Weights are
positive; `member` are numbers of clusters, None where rows are independent.
"""

import numpy as np
from scipy.special import expit, logit

from skcal._numerics.inference._classical_tests import (
    chi_squared_pvalue,
    divide_by_error,
    normal_pvalue,
)
from skcal._numerics.inference._cluster_signs import sum_clusters
from skcal._numerics.inference._effective_rows import (
    LEAST_REST,
    count_jointly,
    find_degrees,
    find_shares,
)
from skcal._numerics.recalibration._logistic import fit_logistic
from skcal._numerics.recalibration._scores import find_floor


def find_log_odds(predictions):
    """Finite log odds: a 0 stands for half of the smallest positive probability."""
    floor = find_floor(np.stack([predictions, 1 - predictions]), 2)
    return logit(np.clip(predictions, floor, 1 - floor))


def cross_fit_gains(log_odds, outcomes, weights, folds):
    """Log loss of each row minus that by the sigmoids of the rows in other folds.

    `folds` are masks of the rows outside each fold.
    """
    gains = np.zeros(len(log_odds))
    for train in folds:
        for scores, target in zip(log_odds.T, outcomes.T, strict=True):
            slope, intercept = _fit_moderately(scores[train], target[train], weights[train])
            scores, target = scores[~train], target[~train]
            after = _find_losses(slope * scores + intercept, target)
            gains[~train] += _find_losses(scores, target) - after
    return gains


def _fit_moderately(scores, outcomes, weights):
    """Slope and intercept for Platt's targets, finite whatever the outcomes are."""
    shares = find_shares(weights)
    counts = shares / (shares @ shares)
    one, zero = counts @ outcomes, counts @ (1 - outcomes)
    targets = outcomes * (one + 1) / (one + 2) + (1 - outcomes) / (zero + 2)
    return _fit(scores, targets, shares)


def _fit(scores, targets, shares):
    """Slope and intercept."""
    return fit_logistic(scores[:, None], targets, shares, fit_intercept=True, guess=1)


def _find_losses(scores, outcomes):
    return np.logaddexp(0, scores) - outcomes * scores


def find_sigmoid_pvalue(log_odds, outcomes, weights, member=None):
    """p-value of calibration by the likelihood ratio of sigmoids of all rows.

    The least one of the columns, times their number (Bonferroni).
    """
    shares, pvalues = find_shares(weights), []
    for scores, target in zip(log_odds.T, outcomes.T, strict=True):
        slope, intercept = _fit(scores, target, shares)
        after = _find_losses(slope * scores + intercept, target)
        gain = max(shares @ (_find_losses(scores, target) - after), 0.0)
        n_rows, degrees = _count_rows(scores, target, shares, member)
        pvalues.append(chi_squared_pvalue(2 * n_rows * gain, 2, degrees))
    return min(1.0, len(pvalues) * min(pvalues))


def _count_rows(scores, outcomes, shares, member):
    """How many rows of equal weight tell as much, and with how many degrees of freedom."""
    chance, columns = expit(scores), np.stack([np.ones(len(scores)), scores])
    pulls, degrees = columns * shares * (outcomes - chance), np.inf
    mean_squares, sums = pulls / shares @ pulls.T, pulls
    if member is not None:
        sums = np.array([sum_clusters(pull, member) for pull in pulls])
        masses = np.bincount(member, shares * chance * (1 - chance))
        degrees = float(find_degrees(np.sum((masses / masses.sum()) ** 2)))
    n_rows = count_jointly(pulls.sum(axis=1), mean_squares, sums @ sums.T)
    return 1 / (shares @ shares) if np.isnan(n_rows) else n_rows, degrees


def compare_gains(first, second, weights, member=None):
    """Mean difference of gains, and the p-value of Student's test of it over rows or clusters.

    The p-value is no smaller than that of equal signs of all rows or clusters: a few of them may
    agree by chance.
    """
    shares = find_shares(weights)
    difference = first - second
    mean = float(shares @ difference)
    sums, masses = shares * (difference - mean), shares
    if member is not None:
        sums, masses = np.bincount(member, sums), np.bincount(member, masses)
    sums = sums / np.sqrt(np.maximum(1 - masses, LEAST_REST))
    statistic = divide_by_error(mean, np.sqrt(sums @ sums))
    pvalue = normal_pvalue(statistic, float(find_degrees(masses @ masses)))
    return mean, max(pvalue, 2.0 ** (1 - min(len(masses), 1000)))
