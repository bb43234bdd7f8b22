"""Elementary scores of predicted means, quantiles and expectiles, exact at any threshold.

A row has a loss at the thresholds between its prediction and its target, the larger one excluded.
For a quantile that is a constant, for an expectile the distance of the threshold to the target.
"""

import numpy as np


def weigh_sides(targets, predictions, functional, level):
    """What a row loses at a threshold; of an expectile for each unit of t - y, with its sign.

    Of means and expectiles that is twice what Ehm et al. (2016) have, so that the mean has 1.
    """
    is_over = targets < predictions
    size = np.where(is_over, 1 - level, level)
    return size if functional == "quantile" else 2 * np.where(is_over, size, -size)


def score_elementary(targets, predictions, weights, functional, level, thresholds, side="right"):
    """Mean elementary score at each threshold; with `side` "left" the limit from below.

    The losses at t are sums of rows that begin at t or below, less those that end there.
    """
    size = weigh_sides(targets, predictions, functional, level)
    size = size / len(size) if weights is None else size * (weights / weights.sum())
    origin = np.median(thresholds)  # far from 0 the sums would lose digits
    moments = [size] if functional == "quantile" else [size, -size * (targets - origin)]
    sums, n_rows = np.zeros((len(moments), len(thresholds))), np.zeros(len(thresholds), np.intp)
    for sign, ends in ((1, np.minimum), (-1, np.maximum)):
        ends = ends(targets, predictions)
        order = np.argsort(ends, kind="stable")
        place = np.searchsorted(ends[order], thresholds, side)
        n_rows += sign * place
        for total, moment in zip(sums, moments, strict=True):
            total += sign * np.append(0.0, np.cumsum(moment[order]))[place]
    score = sums[0] if len(sums) == 1 else (thresholds - origin) * sums[0] + sums[1]
    return np.where(n_rows > 0, np.maximum(score, 0.0), 0.0)


def list_losses(targets, predictions, functional, level, thresholds):
    """Elementary scores of each row, (n_rows, n_thresholds)."""
    size = weigh_sides(targets, predictions, functional, level)[:, None]
    low, high = np.minimum(targets, predictions), np.maximum(targets, predictions)
    losses = (low[:, None] <= thresholds) & (thresholds < high[:, None])
    if functional == "quantile":
        return losses * size
    return losses * (size * (thresholds - targets[:, None]))
