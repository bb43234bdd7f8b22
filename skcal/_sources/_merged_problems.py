"""Binary problems of rows, merged in small cells, with sources of the sums of their outcomes."""

from typing import NamedTuple

import numpy as np

from skcal._input._reduction import REDUCTIONS
from skcal._numerics.cells._merging import (
    N_CELLS,
    BernoulliSums,
    CategoricalSums,
    MergedRows,
    WeightedBernoulliSums,
    merge_rows,
)
from skcal._numerics.inference._cluster_signs import find_design_effect, sign_clusters
from skcal._sources._null_draws import IndependentSums, SharedHits, SharedSums

# Predictions of 0 and of 1, whose outcomes are certain, share no cell with others.
_CERTAIN = (0.0, np.nextafter(1.0, 0.0))

# Residuals are measured in no smaller part than this, which rounding leaves intact.
_LEAST_STEP = 1e-6
# With this many cells per row, the labels that are drawn hit few of them.
_MANY_CELLS = 4


class MergedProblem(NamedTuple):
    """One binary problem."""

    merged: MergedRows  # equal weights all count as 1
    variance: np.ndarray  # of the weighted sums of the outcomes of a calibrated model, by cell
    n_rows: int
    outcomes: np.ndarray  # their weighted sums, by cell
    unit: float  # the weight that counts as 1


def merge_for(statistic, predictions, weights, *, is_omnibus=False):
    """Merge rows, or cells of a summary, as a statistic allows; see `merge_rows`."""
    if is_omnibus:
        return merge_rows(predictions, weights, _CERTAIN)
    n_cells = statistic.traits.n_cells or N_CELLS
    return merge_rows(predictions, weights, statistic.inner_edges, n_cells)


def make_independent(rows, reduction, statistic, is_omnibus, truth=None):
    """Problems whose outcomes are independent given the predictions, and their `IndependentSums`.

    For the reductions "auto" and "top-label". `truth` are true probabilities of rows of one column,
    to draw outcomes from instead.
    """
    problems, sources = [], []
    for sample in REDUCTIONS[reduction](rows):
        problem, predictions, weights = _merge_sample(sample, statistic, is_omnibus)
        if truth is not None:
            predictions = truth[problem.merged.order]
        starts = problem.merged.starts
        problems.append(problem)
        sources.append(
            BernoulliSums(predictions, starts)
            if weights is None
            else WeightedBernoulliSums(predictions, starts, weights)
        )
    return problems, IndependentSums(sources)


def make_shared(rows, reduction, statistic, is_omnibus, truth=None):
    """Problems of the columns of the same rows, and their sums; see `make_independent`.

    For the reductions "classwise" and "full".
    """
    rows = rows.to_vectors()
    problems = [
        _merge_sample(sample, statistic, is_omnibus)[0] for sample in REDUCTIONS[reduction](rows)
    ]
    sizes = [len(problem.outcomes) for problem in problems]
    starts = np.cumsum([0, *sizes[:-1]])
    cells = np.concatenate(
        [
            (start + problem.merged.number_rows()).astype(np.int32)
            for start, problem in zip(starts, problems, strict=True)
        ]
    )
    proba = rows.proba if truth is None else np.column_stack([1 - truth, truth])
    source = CategoricalSums(proba, cells, sum(sizes), _list_unequal(rows.weights))
    are_few = len(sizes) > 1 and sum(sizes) > _MANY_CELLS * rows.n_rows
    return problems, (SharedHits if is_omnibus and are_few else SharedSums)(source, starts)


def make_signed(rows, statistic, member, *, is_omnibus):
    """One problem whose residuals change their signs by clusters, and the source of its sums.

    Variances are those of clusters. The third answer is the part of all residuals with which no sum
    of outcomes leaves what soft labels can be: norms are measured there.
    """
    (sample,) = REDUCTIONS["auto"](rows)
    problem, predictions, weights = _merge_sample(sample, statistic, is_omnibus)
    merged, member = problem.merged, member[problem.merged.order]
    weights = np.ones(len(predictions)) if weights is None else weights
    outcomes = sample.outcomes[merged.order]
    # Residuals of a cluster may sum to 0 by design, as those of all answers to a question do.
    effect = max(find_design_effect(weights * (outcomes - predictions), member), 1.0)
    sums = sign_clusters(predictions, outcomes, weights, merged.starts, member)
    room = np.minimum(merged.places, 1 - merged.places) * merged.mass
    moves = sums.sizes > room
    step = float((room[moves] / sums.sizes[moves]).min(initial=1.0))
    problem = problem._replace(variance=effect * problem.variance)
    return problem, IndependentSums([sums]), max(step, _LEAST_STEP)


def _merge_sample(sample, statistic, is_omnibus):
    """The problem of a Sample, and its predictions and weights in their order."""
    predictions = sample.predictions.astype(np.float64, copy=False)
    weights, n_rows = _list_unequal(sample.weights), len(predictions)
    statistic = statistic.fix_bins(n_rows)
    merged = merge_for(statistic, predictions, weights, is_omnibus=is_omnibus)
    predictions, outcomes = predictions[merged.order], sample.outcomes[merged.order]
    variance = predictions * (1 - predictions)
    if weights is None:
        outcomes = outcomes.astype(np.float64)
    else:
        weights = weights[merged.order]
        variance, outcomes = weights**2 * variance, weights * outcomes
    unit = float(sample.weights[0]) if weights is None and sample.weights is not None else 1.0
    sums = merged.sum_rows(variance), n_rows, merged.sum_rows(outcomes)
    return MergedProblem(merged, *sums, unit), predictions, weights


def _list_unequal(weights):
    """Weights whose sums are those of float64, None where all are equal."""
    if weights is None or (weights == weights[0]).all():
        return None
    return weights.astype(np.float64, copy=False)
