"""Losses of decisions: acting above a threshold, and the most that a recalibration can save.

Predictions are sorted and distinct; weight and positive are the sums of their rows, over all and
over outcomes.
"""

import numpy as np

from skcal._numerics.cells._grid import cumulate

# Predictions worked on at a time, which stay in the cache.
_CHUNK = 1 << 15


def sum_before(values, places, *, is_counted):
    """Sums of the values before each place, an index from 0 to n or a slice of them.

    `is_counted` tells that the sums are numbers of rows, which add up exactly.
    """
    return _sum_before(values, is_counted)[places]


def sum_from(values, places, *, is_counted):
    """Sums of the values from each place on, small ones without the rounding of large ones.

    Arguments are those of `sum_before`.
    """
    return _sum_before(values[::-1], is_counted)[::-1][places]


def find_worst_threshold(predictions, weight, positive, starts, levels, *, is_counted):
    """Largest gain of a decision maker from the isotonic regression, and where it is.

    `starts` and `levels` are first places and values of the blocks of the regression. Returns the
    gain, a mass as `weight` is, its threshold, and whether one acts at predictions equal to the
    threshold.

    Acting from the k-th prediction on loses P_k - t W_k and a constant, P and W the sums of
    positive and weight of those before. The regression acts where its levels exceed t. Let P and W
    be the sums of the rows on which the two differ. Either the regression alone acts on them, with
    the gain (P - t W) / max(t, 1 - t), which falls in t; or it alone does not, with the gain
    (t W - P) / max(t, 1 - t), which never falls. Where t passes a level, the rows that come or go
    gain nothing. So the maximum is at a prediction, from either side.
    """
    levels = np.maximum.accumulate(levels)  # which may be off by rounding
    below = np.searchsorted(predictions, levels)  # predictions below each level
    sums = _sum_before(positive, is_counted), _sum_before(weight, is_counted)
    fitted = [values[np.append(starts, len(predictions))] for values in sums]

    best = 0.0, 0.5, False
    for start in range(0, len(predictions), _CHUNK):
        rows = slice(start, min(start + _CHUNK, len(predictions)))
        thresholds = predictions[rows]
        one, last = np.searchsorted(below, [start, rows.stop - 1], side="right")
        runs = np.diff(below[one:last], prepend=start, append=rows.stop)
        gains, mass = (
            values[rows] - np.repeat(best_sums[one : last + 1], runs)
            for values, best_sums in zip(sums, fitted, strict=True)
        )
        mass *= thresholds
        gains -= mass
        # What those lose beyond it who do not act at the threshold itself.
        more = positive[rows] - thresholds * weight[rows]
        gains += np.maximum(more, 0.0)
        gains /= np.maximum(thresholds, 1 - thresholds)
        worst = gains.argmax()
        if gains[worst] > best[0]:
            best = float(gains[worst]), float(thresholds[worst]), bool(more[worst] <= 0)
    return best


def _sum_before(values, is_counted):
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    (np.cumsum if is_counted else cumulate)(values, out=sums[1:])
    return sums
