"""Risks over time that never fall, and whose sum over kinds of events is at most 1."""

import numpy as np
from scipy.optimize import isotonic_regression


def raise_curves(risks):
    """The nearest curves that never fall, in the mean square; times are on the last axis.

    Curves that do not fall are a convex set, to which the indicator of an event up to each time
    belongs: the projection lies nearer to each of its members, so that no Brier score grows.
    """
    raised = risks.copy()
    for place in np.argwhere((np.diff(risks) < 0).any(axis=-1)):
        raised[tuple(place)] = isotonic_regression(risks[tuple(place)]).x
    return raised


def cap_total(risks):
    """Risks of shape (n_rows, n_kinds, n_times) that do not grow further where their sum is 1.

    The step in which the sum would pass 1 is cut by the same factor for all kinds.
    """
    total = risks.sum(axis=1)
    over = total[:, -1] > 1
    steps = np.diff(total[over], prepend=0.0)
    left = np.diff(np.minimum(total[over], 1.0), prepend=0.0)
    share = np.divide(left, steps, where=steps > 0, out=np.zeros_like(steps))
    capped = risks.copy()
    capped[over] = np.cumsum(np.diff(risks[over], prepend=0.0) * share[:, None], axis=-1)
    return np.clip(capped, 0.0, 1.0)
