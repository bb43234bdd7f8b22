"""The C statistic of one binary problem, the area under the ROC curve, and its standard error."""

import numpy as np


def find_auc(positive, negative):
    """Share of the pairs of an event and another row whose predictions are in order; half of ties.

    Weights of both at each distinct prediction, from the smallest.
    """
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))


def find_concordance(predictions, outcomes, weights):
    """C statistic and the standard error of DeLong et al.; NaN where one row has an outcome.

    Each row of an outcome has the share of the rows of the other that it is rightly ordered with;
    ties count half. The mean of these shares is C, and their scatter tells how much it varies.
    """
    is_event = outcomes == 1
    events, others = (_Side(predictions[rows], weights[rows]) for rows in (is_event, ~is_event))
    shares = others.find_share_below(events.predictions)
    value = float(np.average(shares, weights=events.weights))
    variance = _square_error(shares, events.weights)
    variance += _square_error(1 - events.find_share_below(others.predictions), others.weights)
    return value, float(np.sqrt(variance))


class _Side:
    """Rows of one outcome."""

    def __init__(self, predictions, weights):
        self.predictions, self.weights = predictions, weights
        order = np.argsort(predictions, kind="stable")
        self._sorted = predictions[order]
        self._mass = np.append(0.0, np.cumsum(weights[order]))

    def find_share_below(self, places):
        below = self._mass[np.searchsorted(self._sorted, places, side="left")]
        up_to = self._mass[np.searchsorted(self._sorted, places, side="right")]
        return (below + up_to) / (2 * self._mass[-1])


def _square_error(shares, weights):
    """Squared standard error of a weighted mean; NaN for a single row."""
    weights = weights / weights.sum()
    n_rows = 1 / np.sum(weights**2)
    if len(shares) == 1:
        return np.nan
    mean = weights @ shares
    return np.sum((weights * (shares - mean)) ** 2) * n_rows / (n_rows - 1)
