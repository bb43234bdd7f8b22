"""Inductive Venn-Abers predictor: isotonic regression with one more row, at every score."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from skcal._tools._show_record import as_record

# Scores this near each other, relative to their size, are tied: the last digits of a score
# depend on how many rows a matrix product was asked for at once.
TIE_TOLERANCE = 1e-13
# In place of the number of a point.
_NONE = -1


@as_record
class VennAbersMap(NamedTuple):
    """Two non-decreasing step functions of the score, lower and upper probability.

    At every knot one of the two takes its next value: the upper one where `is_upper` is True. The
    first values are those below all knots.
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
    """Lower and upper probability as step functions of the score, `VennAbersMap`.

    The lower (upper) probability at a score is the value there of the isotonic regression of the
    rows with one more row, of weight 1, that has this score and outcome 0 (1). Outcomes lie in
    [0, 1]. Scores are tied if they differ by no more than 2e-13 max(abs(score), unit).
    """
    order = np.argsort(scores)
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
    return VennAbersMap(
        knots[order], order >= len(at), lower[np.append(0, at + 1)], upper[np.append(0, above + 1)]
    )


def find_upper_values(weight, positive):
    """Upper probability at each of m distinct scores, and in the gap below it.

    `weight` and `positive` are those of the rows at every score, in increasing order of the scores,
    and of those of them with outcome 1. Above the largest score the upper probability is 1.

    With cumulative sums A_i = (W_i, S_i) of both weights, i = 0, ..., m, and B_i = A_i + (1, 1),
    the value at score i + 1 is the largest over a <= i of the smallest over b > i of the slopes
    from A_a to B_b. The line of that slope leaves no A up to i and no B after i below it; it stays
    the same for the next i as long as A_i does not lie below it. If it does, the line is turned
    about A_i until it meets the lower convex hull of the later B. Its point of contact only moves
    right, along corners of the hull, so that the sweep takes O(m) steps.

    Stretches of scores with one outcome are taken at once. Where all outcomes are 1, no A falls
    below the line. Where all are 0, each A does that comes after one that does, bisections find
    those that share a point of contact, and only the last B can be a corner of the hull.
    """
    n_scores = len(weight)
    total, height = (np.append(0.0, np.cumsum(sums)) for sums in (weight, positive))
    starts, ends, corners = _find_stretches(weight, positive)
    successor = _link_hull_corners(total[corners].tolist(), height[corners].tolist())
    n_passed = np.searchsorted(corners, ends, side="right").tolist()
    # These give Python's numbers, on which it computes faster.
    x, y, places = memoryview(total), memoryview(height), corners.tolist()

    def slope(corner, i):
        place = places[corner]
        return (y[place] - y[i] + 1) / (x[place] - x[i] + 1)

    def is_passed(corner, i):
        """Whether the line about A_i that goes through the next corner is not steeper."""
        following = successor[corner]
        return following != corner and slope(following, i) <= slope(corner, i)

    turns, contacts = [0], [_NONE]  # each point of contact, and the first A that has it
    contact, pivot, steepness = 0, 0, np.inf
    n_below_one = n_scores
    for first, end, passed in zip((starts + 1).tolist(), ends.tolist(), n_passed, strict=True):
        stop = min(end + 1, n_scores)
        i = first
        if pivot < first:  # the first A of all is below any line
            i = bisect_left(
                range(stop), True, i, key=lambda j: y[j] - y[pivot] < steepness * (x[j] - x[pivot])
            )
            if i == stop:
                continue
        while i < end:
            contact = max(contact, passed - 1)
            while is_passed(contact, i):
                contact = successor[contact]
            turns.append(i)
            contacts.append(places[contact])
            i = bisect_left(range(end), True, i + 1, key=lambda j: is_passed(contact, j))
        if i == n_scores:
            break
        if passed == len(places):  # nothing but outcomes 1 follows
            n_below_one = i
            turns.append(i)
            contacts.append(_NONE)
            break
        contact, pivot = max(contact, passed), i
        while is_passed(contact, i):
            contact = successor[contact]
        steepness = slope(contact, i)
        turns += [i, i + 1]
        contacts += [places[contact], _NONE]

    place = np.repeat(contacts, np.diff(turns, append=n_scores))
    values = (height[place] - height[:-1] + 1) / (total[place] - total[:-1] + 1)
    values[place == _NONE] = 0.0
    values[n_below_one:] = 1.0
    return np.minimum(np.maximum.accumulate(values), 1)  # of rounding


def _find_stretches(weight, positive):
    """Stretches of scores with outcome 0 alone, and single scores with both outcomes.

    Returns the numbers of cumulative sums at both ends (the first stretch ends at 0, before all
    scores); and the corners, those ends that no outcome 0 follows immediately.
    """
    is_zero, is_one = positive == 0, positive == weight
    opens = np.append(True, ~(is_zero[1:] & is_zero[:-1] | is_one[1:] & is_one[:-1]))
    starts = np.flatnonzero(opens)
    ends = np.append(starts[1:], len(weight))
    is_corner = ~np.append(is_zero[ends[:-1]], False)
    other = ~is_one[starts]
    corners = ends[other & is_corner]
    return np.append(-1, starts[other]), np.append(0, ends[other]), corners


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
