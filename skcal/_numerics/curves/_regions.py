r"""Regions of predictions whose outcomes are certainly more or less frequent than predicted.

Sorted rows are merged in cells. For an interval of neighbouring cells let R be the sum of w (y - v)
over its rows, and V the sum of w^2 v (1 - v), the variance of R if they are calibrated, or that of
w^2 (y - v)^2 if it is larger, as it is if they are not. The score of the interval is

    |R| / sqrt(V) - sqrt(2 log(e V_all / V))

where the second term is what chance gives to the largest of many short intervals. Regions have a
score above what samples exceed nowhere, with the given confidence, whose outcomes are drawn from
the predictions. An interval of calibrated rows has the law of such a sample, whatever others do.
Where rows of a cluster depend on each other, residuals of whole clusters change their signs
instead, and V is as many times as large as the variance of the sum of all residuals.
"""

from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._merging import BernoulliSums, WeightedBernoulliSums, merge_rows
from skcal._numerics.inference._cluster_signs import (
    find_design_effect,
    has_known_law,
    sign_clusters,
)

# Cells of equal width, and again as many of equal numbers of rows.
_N_CELLS = 1 << 6
# The number of draws that may exceed the threshold must not lose one to rounding.
_ROUNDING = 1e-9
# Rows that weigh less, beside the heaviest one, say nothing, and their squares vanish.
_LIGHTEST = 1e-100


class Stretch(NamedTuple):
    """First and last prediction of a region, means over its rows, and their share."""

    low: float
    high: float
    mean_prediction: float
    mean_outcome: float
    share: float


def find_regions(predictions, outcomes, weights, member=None, *, confidence_level, n_draws, rng):
    """Regions that do not touch others of the same sign, in the order of the predictions.

    Weights are positive; None where all are equal. `member` are numbers of clusters, None where
    rows are independent. Where signs of clusters do not have the law of calibrated outcomes nothing
    is certain, and there are no regions.
    """
    is_equal = weights is None
    weights = np.ones(len(outcomes)) if is_equal else weights / weights.max()
    heavy = weights > _LIGHTEST
    predictions, outcomes, weights = predictions[heavy], outcomes[heavy], weights[heavy]
    merged = merge_rows(predictions, None if is_equal else weights, n_cells=_N_CELLS)
    predictions, outcomes = predictions[merged.order], outcomes[merged.order]
    weights, effect = weights[merged.order], 1.0
    if member is not None:
        member = np.unique(member[heavy][merged.order], return_inverse=True)[1]
        effect = find_design_effect(weights * (outcomes - predictions), member)
        if not has_known_law(predictions, weights, effect, member):
            return []
        source = sign_clusters(predictions, outcomes, weights, merged.starts, member)
    elif is_equal:
        source = BernoulliSums(predictions, merged.starts)
    else:
        source = WeightedBernoulliSums(predictions, merged.starts, weights)
    intervals = Intervals(
        *(merged.sum_rows(values) for values in (weights, weights * predictions)),
        effect * merged.sum_rows(weights**2),
        effect * merged.sum_rows(weights**2 * predictions * (1 - predictions)),
    )
    drawn = intervals.find_largest(source.draw(rng, n_draws))
    threshold = find_quantile(drawn, confidence_level)
    chosen = intervals.choose(merged.sum_rows(weights * outcomes), threshold)
    ends = np.append(merged.starts, len(outcomes))
    return [
        _describe(weights, predictions, outcomes, slice(ends[first], ends[last]))
        for first, last in chosen
    ]


class Intervals:
    """Scores of all intervals of cells, as functions of the sums of w y in the cells alone.

    `mass`, `moment`, `squares` and `variance` are the sums of w, w v, w^2 and w^2 v (1 - v) by
    cell.
    """

    def __init__(self, mass, moment, squares, variance):
        self._moment, self._mean = moment, moment / mass
        self._unit = squares / mass
        self._variance = _cumulate(variance[None])

    def find_largest(self, sums):
        """The largest score of each row of an array of sums."""
        cumulated = self._cumulate_cells(sums)
        largest = np.full(len(sums), -np.inf)
        for length in range(1, sums.shape[1] + 1):
            np.maximum(largest, self._score(cumulated, length).max(axis=1), out=largest)
        return largest

    def choose(self, sums, threshold):
        """The best intervals that have scores above a threshold and do not meet, in their order.

        Pairs of the first cell and of the one behind the last; neighbours of one sign are put
        together.
        """
        n_cells = len(sums)
        cumulated = self._cumulate_cells(sums[None])
        scores = np.full((n_cells, n_cells + 1), -np.inf)
        for length in range(1, n_cells + 1):
            first = np.arange(n_cells + 1 - length)
            scores[first, first + length] = self._score(cumulated, length)[0]
        chosen = []
        while scores.max() > threshold:
            first, last = np.unravel_index(scores.argmax(), scores.shape)
            chosen.append((int(first), int(last)))
            scores[:last, first + 1 :] = -np.inf  # all that meet it
        residual = cumulated[0][0]
        joined = []
        for first, last in sorted(chosen):
            sign = residual[last] > residual[first]
            if joined and joined[-1][1:] == (first, sign):
                first = joined.pop()[0]
            joined.append((first, last, sign))
        return [(first, last) for first, last, _ in joined]

    def _cumulate_cells(self, sums):
        """Running sums of residuals and of their squares; rows of a cell count as equal."""
        squares = sums * (1 - 2 * self._mean) + self._moment * self._mean
        return _cumulate(sums - self._moment), _cumulate(np.maximum(squares, 0) * self._unit)

    def _score(self, cumulated, length):
        """Scores of all intervals of this many cells."""
        residual, square, variance = (
            sums[:, length:] - sums[:, :-length] for sums in (*cumulated, self._variance)
        )
        variance = np.maximum(square, variance)
        total = np.maximum(cumulated[1], self._variance)[:, -1:]
        # Differences of running sums leave some rounding where nothing is.
        empty = variance <= _ROUNDING * total
        variance[empty] = 1.0
        scores = np.abs(residual) / np.sqrt(variance)
        scores -= np.sqrt(2 * (1 + np.log(np.maximum(total / variance, 1))))
        scores[empty] = -np.inf
        return scores


def _cumulate(values):
    return np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))


def find_quantile(drawn, confidence_level):
    """What another draw exceeds with a probability of 1 - confidence_level at most."""
    n_above = int((1 - confidence_level) * (len(drawn) + 1) + _ROUNDING)
    return np.sort(drawn)[-n_above] if n_above else np.inf


def _describe(weights, predictions, outcomes, rows):
    mass = weights[rows].sum()
    means = (float(weights[rows] @ values[rows] / mass) for values in (predictions, outcomes))
    low, high = float(predictions[rows][0]), float(predictions[rows][-1])
    return Stretch(low, high, *means, float(mass / weights.sum()))
