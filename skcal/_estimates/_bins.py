"""Bins of a sample: their edges, their means, and how far means may be off by chance."""

import numpy as np

from skcal._numerics.errors._binned import (
    bin_index,
    count_bins,
    make_edges,
    percentile_edges,
    sweep_edges,
)
from skcal._numerics.errors._bregman import mean_outcome
from skcal._numerics.inference._poisson_binomial import find_law, find_quantiles
from skcal._tools._arrays import bincount, namespace

# Ways to find bins that do not look at the outcomes.
BLIND_STRATEGIES = ("uniform", "quantile")


def find_edges(sample, n_bins, strategy):
    """Edges of bins; `n_bins` may be "cube_root", of the rows that count, or edges themselves."""
    n_bins = count_bins(n_bins, sample.n_present)
    if strategy == "uniform" or isinstance(n_bins, tuple):
        return make_edges(n_bins)
    if strategy == "quantile" and sample.weights is None:
        ordered = namespace(sample.predictions).sort(sample.predictions)  # one copy, no more
        return percentile_edges(ordered, None, n_bins)
    ties = sample.sorted
    if len(ties.predictions) > 1 and sample.total_weight < 2:
        raise ValueError(
            "Bins of equal mass read sample_weight as counts, which must sum to at least 2; "
            f"got {sample.total_weight:g}. Scale them to sum to the number of rows."
        )
    if strategy == "sweep":
        return sweep_edges(ties.predictions, ties.weight, ties.positive)
    return percentile_edges(ties.predictions, ties.weight, n_bins)


def average_by_bin(sample, edges):
    """Mass, mean prediction and mean outcome of the bins that are not empty."""
    sums = np.zeros((4, len(edges) - 1))
    for predictions, outcomes, weights in sample.present_chunks():
        index = bin_index(predictions, edges)
        values = (weights, weights * predictions, *split_mass(outcomes, weights))
        for row, value in zip(sums, values, strict=True):
            row += bincount(index, value, len(row))
    mass, place, positive, negative = sums[:, sums[0] > 0]
    return mass, np.minimum(place / mass, 1.0), mean_outcome(positive, negative)


def split_mass(outcomes, weights):
    """Mass of outcome 1 and mass of outcome 0; a soft label has both."""
    return weights * outcomes, weights * (1.0 - outcomes)


def bound_bins(sample, edges, confidence_level):
    """Lower and upper ends of the range of each bin that holds rows, in their order.

    The rows are independent; each range has the probability `confidence_level`.
    """
    predictions = np.sort(sample.predictions.astype(np.float64, copy=False))
    starts = np.flatnonzero(np.diff(bin_index(predictions, edges), prepend=-1))
    ends = []
    for rows in np.split(predictions, starts[1:]):
        number = np.array(find_quantiles(*find_law(rows), 1 - confidence_level))
        ends.append(number / len(rows))
    return tuple(np.transpose(ends))
