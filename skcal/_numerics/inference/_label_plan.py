"""Which rows to label, and how many, where all have verdicts."""

import numpy as np
from scipy.special import stdtrit

# The part of all labels that is spread evenly, so that no row is nearly sure to have none.
EVEN = 0.5
# More labels than this are not planned.
MOST = 10**7
_FEWEST = 5
_ROUNDING = 1e-9


def spread_labels(sizes, even, budget):
    """Probabilities that sum to `budget`, at most 1.

    One part of them is `even`, on any scale, the other proportional to `sizes`.
    """
    shares = EVEN * even / even.sum()
    total = sizes.sum()
    shares = shares + (1 - EVEN) * (sizes / total if total > 0 else even / even.sum())
    found = np.zeros(len(shares))
    is_sure = np.zeros(len(shares), dtype=bool)
    while True:
        left = budget - np.count_nonzero(is_sure)
        found = np.where(is_sure, 1.0, shares * (left / max(shares[~is_sure].sum(), 1e-300)))
        is_more = (found >= 1 - _ROUNDING) & ~is_sure
        if not is_more.any() or left == 0:
            return np.minimum(found, 1.0)
        is_sure |= is_more


def sample_systematically(probability, order, budget, start):
    """Numbers of exactly `budget` rows, at equal steps of the sums of their probabilities."""
    sums = np.cumsum(probability[order])
    sums *= budget / sums[-1]
    places = np.searchsorted(sums, start + np.arange(budget), side="right")
    return np.sort(order[np.minimum(places, len(order) - 1)])


def expect_variances(predictions, agreement):
    """Variance of the residual of a label, and what is left of it by the best use of a verdict.

    Predictions are calibrated, and verdicts are right in the share `agreement` of all rows.
    """
    spread = predictions * (1 - predictions)
    share = predictions * agreement + (1 - predictions) * (1 - agreement)
    square = np.mean(share * (1 - predictions) ** 2 + (1 - share) * predictions**2)
    variance = square - np.mean(share - predictions) ** 2
    shared = (2 * agreement - 1) * spread.mean()
    return float(spread.mean()), float(spread.mean() - shared**2 / variance)


@np.errstate(over="ignore")  # of the ratio of the rarest events
def find_width(whole, left, n_labels, n_rows, mean, confidence_level):
    """Length of the interval of observed over expected, with a pair of disagreements more."""
    unseen = 1 - n_labels / n_rows
    variance = whole / n_rows + unseen * (left / n_labels + 2 / n_labels**2)
    quantile = -stdtrit(n_labels - 1, (1 - confidence_level) / 2)
    return 2 * quantile * np.sqrt(variance) / mean


def count_labels_alone(whole, mean, width, confidence_level):
    """The smallest number of labels without a judge; None if too many are needed."""
    found = count_labels(whole, whole, None, mean, width, confidence_level)
    return None if found is None else found[0]


def count_labels(whole, left, n_rows, mean, width, confidence_level):
    """The smallest number of labels of so many rows, and these; None if they are too few.

    Without a number of rows all of them are labelled.
    """
    most = MOST if n_rows is None else n_rows

    def is_enough(n):
        return find_width(whole, left, n, n_rows or n, mean, confidence_level) <= width

    return (_search(is_enough, most), most) if is_enough(most) else None


def find_cheapest(whole, left, mean, width, costs, alone, most, confidence_level):
    """Numbers of labels and of rows with the least cost; a label and a verdict have `costs`.

    Labels are at most those that do without a judge, `alone`.
    """
    labels = np.unique(np.geomspace(_FEWEST, min(alone, most), 1 << 14).astype(np.int64))
    quantiles = -stdtrit(labels - 1, (1 - confidence_level) / 2)
    by_labels = left / labels + 2 / labels**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        allowed = (width * mean / (2 * quantiles)) ** 2
        rows = np.ceil((whole - left - 2 / labels) / (allowed - by_labels))
    rows = np.where(allowed > by_labels, np.maximum(rows, labels), np.inf)
    is_enough = find_width(whole, left, labels, rows, mean, confidence_level) <= width * (1 + 1e-6)
    rows = np.where(is_enough & (rows <= most), rows, np.inf)
    total = costs[0] * labels + costs[1] * rows
    best = int(np.argmin(total))
    return (int(labels[best]), int(rows[best])) if np.isfinite(total[best]) else None


def _search(is_enough, most):
    """The smallest number for which a growing condition holds, at most `most`."""
    low, high = _FEWEST - 1, _FEWEST
    while high < most and not is_enough(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
