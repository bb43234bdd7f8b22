"""Inductive Venn-Abers predictor: isotonic regression with one more row, at every score."""

from typing import NamedTuple

import numpy as np

# Scores this near each other, relative to their size, are tied: the last digits of a score
# depend on how many rows a matrix product was asked for at once.
TIE_TOLERANCE = 1e-13


class VennAbersSteps(NamedTuple):
    """Two non-decreasing step functions of the score, lower and upper probability.

    At every knot one of the two takes its next value: the upper one where `is_upper` is True.
    """

    knots: np.ndarray
    is_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def tabulate(self):
        """Lower and upper probability below the first knot, between the knots, and above."""
        n_rises = np.append(0, np.cumsum(self.is_upper))
        lower, upper = self.lower[np.arange(len(n_rises)) - n_rises], self.upper[n_rises]
        return np.minimum(lower, upper), upper  # of rounding, where weights are huge

    def find(self, scores):
        """Row of the table for every score."""
        return np.searchsorted(self.knots, scores, side="right")


def fit_venn_abers(scores, outcomes, weights=None, *, unit=1e-290):
    """Lower and upper probability as step functions of the score.

    The lower (upper) probability at a score is the value there of the isotonic regression of the
    rows with one more row, of weight 1, that has this score and outcome 0 (1).

    Parameters
    ----------
    scores, outcomes : ndarray of shape (n_samples,)
        Outcomes lie in [0, 1].
    weights : ndarray of shape (n_samples,) or None
    unit : float
        Scores are tied if they differ by no more than 2e-13 max(abs(score), unit).

    Returns
    -------
    VennAbersSteps
    """
    order = np.argsort(scores, kind="stable")
    scores, outcomes = scores[order], outcomes[order]
    weights = np.ones(len(scores)) if weights is None else weights[order]
    reach = TIE_TOLERANCE * np.maximum(np.abs(scores), unit)
    starts = np.flatnonzero(np.append(True, np.diff(scores) > reach[1:] + reach[:-1]))
    weight = np.add.reduceat(weights, starts)
    positive = np.add.reduceat(weights * outcomes, starts)
    negative = np.add.reduceat(weights * (1 - outcomes), starts)

    # The lower probability is 1 minus the upper one of the other outcome, scores reversed. It
    # rises at scores, the upper one immediately above them.
    lower = np.append(0, 1 - find_upper_values(weight[::-1], negative[::-1])[::-1])
    upper = np.append(find_upper_values(weight, positive), 1)
    at, above = np.flatnonzero(np.diff(lower) > 0), np.flatnonzero(np.diff(upper) > 0)
    ends = np.append(starts[1:], len(scores)) - 1
    knots = np.append((scores - reach)[starts[at]], (scores + reach)[ends[above]])
    order = np.argsort(knots, kind="stable")
    return VennAbersSteps(
        knots[order], order >= len(at), lower[np.append(0, at + 1)], upper[np.append(0, above + 1)]
    )


def find_upper_values(weight, positive):
    r"""Upper probability at each of m distinct scores, and in the gap below it.

    Parameters
    ----------
    weight, positive : ndarray of shape (m,)
        Weight of the rows at every score, in increasing order of the scores, and of those of
        them with outcome 1.

    Returns
    -------
    ndarray of shape (m,)
        Above the largest score the upper probability is 1.

    Notes
    -----
    With cumulative sums :math:`A_i = (W_i, S_i)` of both weights, i = 0, ..., m, and
    :math:`B_i = A_i + (1, 1)`, the value at score i + 1 is the largest over a <= i of the
    smallest over b > i of the slopes from :math:`A_a` to :math:`B_b`. The line of that slope
    leaves no A up to i and no B after i below it; it stays the same for the next i as long as
    :math:`A_i` does not lie below it. If it does, the line is turned about :math:`A_i` until it
    meets the lower convex hull of the later B. Its point of contact only moves right, along
    corners of the hull, so that the sweep takes O(m) steps.
    """
    total = np.append(0, np.cumsum(weight)).tolist()
    height = np.append(0, np.cumsum(positive)).tolist()
    successor = _link_hull_corners(total, height)
    values = np.empty(len(weight))
    slope, contact = -np.inf, successor[0]
    pivot_total, pivot_height = 0.0, 0.0
    for i, (x, y) in enumerate(zip(total[:-1], height[:-1], strict=True)):
        if i == 0 or y - pivot_height < slope * (x - pivot_total):
            pivot_total, pivot_height = x, y
            if contact <= i:
                contact = successor[i]
            slope = (height[contact] - y + 1) / (total[contact] - x + 1)
            while contact != successor[contact]:
                following = successor[contact]
                next_slope = (height[following] - y + 1) / (total[following] - x + 1)
                if next_slope > slope:
                    break
                contact, slope = following, next_slope
        values[i] = slope
    return np.minimum(np.maximum.accumulate(values), 1)  # of rounding


def _link_hull_corners(x, y):
    """For every point the next corner of the lower convex hull of it and all later points."""
    last = len(x) - 1
    successor = [last] * (last + 1)
    for i in range(last - 1, -1, -1):
        following = i + 1
        while following != last:
            beyond = successor[following]
            # The corner is dropped where the chord that passes it by is not above it.
            if (y[following] - y[i]) * (x[beyond] - x[i]) < (y[beyond] - y[i]) * (
                x[following] - x[i]
            ):
                break
            following = beyond
        successor[i] = following
    return successor
