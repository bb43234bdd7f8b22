"""Statistics of groups among draws under the hypothesis, of independent rows or of clusters."""

from typing import NamedTuple

import numpy as np

from skcal._input._independent_rows import list_weights
from skcal._input._sample import Sample
from skcal._numerics.inference._cluster_signs import (
    FEWEST_CLUSTERS,
    N_CHOICES,
    ClustersOfGroups,
    are_nearly_normal,
    list_moments,
)
from skcal._numerics.inference._monte_carlo import (
    adjust_by_holm,
    find_marginal_pvalues,
    step_down,
)
from skcal._sources._resamples import Units
from skcal.inference._group_atoms import merge_rows_of_groups

# Logarithms of smaller chances might be infinite.
_TINY = 1e-300


class Comparison(NamedTuple):
    """Statistics of groups, their asymptotic log p-values, p-values, and those of min-p.

    `least` and `least_adjusted` are the smallest p-values of both kinds that draws could give.
    """

    statistics: np.ndarray
    log_pvalues: np.ndarray
    pvalues: np.ndarray
    adjusted: np.ndarray
    least: np.ndarray
    least_adjusted: np.ndarray


def compare_groups(statistics, draws):
    """The `Comparison` of `GroupStatistics` with their draws."""
    observed, log_pvalues = statistics.find_observed()
    drawn = draws.collect(statistics.draw).T
    pvalues = find_marginal_pvalues(log_pvalues, drawn)
    least = np.full(len(pvalues), 1 / (1 + drawn.shape[1]))
    adjusted = step_down(log_pvalues, drawn)
    return Comparison(observed, log_pvalues, pvalues, adjusted, least, least)


def lower_pvalues(found, others):
    """The `Comparison` with p-values of other tests of the groups, where these are smaller."""
    log_pvalues = np.minimum(found.log_pvalues, np.log(np.maximum(others, _TINY)))
    return found._replace(
        log_pvalues=log_pvalues,
        pvalues=np.minimum(found.pvalues, others),
        adjusted=np.minimum(found.adjusted, adjust_by_holm(others)),
    )


def raise_pvalues(found, least):
    """The `Comparison` with p-values of groups that are at least those given."""
    pvalues = np.maximum(found.pvalues, least)
    return found._replace(pvalues=pvalues, adjusted=np.maximum(found.adjusted, pvalues))


def compare_clusters(statistics, sample, groups, member, draws, options):
    """The `Comparison` of groups of clusters: by their signs, or by single rows of them.

    `options` are statistic and alternative, with which `statistics` of all groups were made. Where
    groups of both kinds come, each kind has half of the level.
    """
    is_signed = statistics.is_extreme | _have_known_law(sample, groups, member)
    if is_signed.all():
        return compare_groups(statistics, draws)
    if not is_signed.any():
        return _compare_single_rows(sample, groups, member, draws, options)
    signed, single = (_choose_groups(groups, kind) for kind in (is_signed, ~is_signed))
    both = (
        compare_groups(merge_rows_of_groups(sample, signed, *options, member), draws),
        _compare_single_rows(sample, single, member, draws, options),
    )
    found = Comparison(*np.zeros((len(Comparison._fields), len(is_signed))))
    for kind, own in zip((is_signed, ~is_signed), both, strict=True):
        for values, part in zip(found, own, strict=True):
            values[kind] = part
    return found._replace(
        adjusted=np.minimum(2 * found.adjusted, 1.0), least_adjusted=2 * found.least_adjusted
    )


def _have_known_law(sample, groups, member):
    """Groups of enough clusters, whose sums of residuals are nearly normal.

    Rows that are certain to come true or not have no residuals.
    """
    weights = list_weights(sample)
    predictions, weights = sample.predictions, weights / weights.max()
    pulls = weights * (sample.outcomes - predictions)
    moving = np.flatnonzero((predictions > 0) & (predictions < 1))
    if len(moving) == 0:
        return np.ones(len(groups.names), dtype=bool)
    rows = groups.pattern[moving], member[moving], pulls[moving]
    clusters = ClustersOfGroups(groups.members, *rows)
    moments = (groups.sum_rows(moment) for moment in list_moments(predictions, weights))
    is_normal = are_nearly_normal(*moments, clusters.find_design_effects())
    return is_normal & (clusters.count() >= FEWEST_CLUSTERS)


def _choose_groups(groups, kind):
    """Some of the groups, with all rows."""
    chosen = np.flatnonzero(kind)
    names = [groups.names[k] for k in chosen]
    n_samples, members = groups.n_samples[chosen], groups.members[chosen]
    return groups._replace(names=names, n_samples=n_samples, members=members)


def _compare_single_rows(sample, groups, member, draws, options):
    """Exact comparisons of one random row of each cluster, many times.

    Statistics are means over the choices; p-values twice their means.
    """
    inside = np.flatnonzero(np.isin(groups.pattern, groups.members.indices))
    member = np.unique(member[inside], return_inverse=True)[1]
    units, found = Units(len(inside), member), []
    for _ in range(N_CHOICES):
        rows = inside[units.choose_rows(draws.rng)]
        weights = None if sample.weights is None else sample.weights[rows]
        single = Sample(sample.predictions[rows], sample.outcomes[rows], weights)
        own = groups._replace(pattern=groups.pattern[rows])
        found.append(compare_groups(merge_rows_of_groups(single, own, *options), draws))
    means = Comparison(*np.mean(found, axis=0))
    return Comparison(*means[:2], *(np.minimum(2 * values, 1.0) for values in means[2:]))
