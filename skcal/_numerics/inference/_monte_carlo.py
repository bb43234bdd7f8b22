"""p-values of statistics among draws under the hypothesis, of one and of several at once."""

from typing import NamedTuple

import numpy as np

from skcal._tools._least_pvalue import mark_least

# Statistics that differ by less, relative to the largest, are equal up to rounding.
_ROUNDING = 1e-7
# Logarithms of p-values that differ by less, relative to their size, are equal up to rounding.
_LOG_ROUNDING = 1e-9


def find_pvalue(observed, drawn):
    """(1 + #{drawn >= observed}) / (1 + n): the observed value counts as one of the draws."""
    (pvalue,) = find_pvalues(np.array([observed]), drawn)
    return mark_least(pvalue, 1 / (len(drawn) + 1))


def find_pvalues(observed, drawn):
    """The same for each of several observed values, compared with the same draws."""
    slack = _ROUNDING * np.maximum(np.abs(observed), np.abs(drawn).max())
    smaller = np.searchsorted(np.sort(drawn), observed - slack)
    return (1 + len(drawn) - smaller) / (len(drawn) + 1)


class SmallestPValue(NamedTuple):
    """What `find_smallest_pvalue` finds.

    pvalue takes into account that it belongs to the smallest; place is the statistic that the
    observed draw stands out by; smallest are the smallest p-values of all draws by themselves.
    """

    pvalue: float
    place: int
    smallest: np.ndarray


def find_smallest_pvalue(values):
    """p-value of the first draw for the smallest of the p-values of several statistics.

    `values` has a row for each statistic and a column for each draw; the first is the observed one.
    The smallest p-value of each draw is compared with that of all draws (Westfall and Young's
    min-p). Several draws have the smallest p-value that is possible, each with another statistic;
    the scores of `rank_draws` tell them apart. Both depend on the set of all draws alone, not on
    which of them was observed, so that the test is exact.
    """
    pvalues, scores = np.stack([rank_draws(row) for row in values], axis=1)
    smallest = pvalues.min(axis=0)
    leading = np.where(pvalues == smallest, scores, -np.inf)
    highest = leading.max(axis=0)
    slack = _ROUNDING * np.abs(highest).max()
    ties = (smallest == smallest[0]) & (highest >= highest[0] - slack)
    exceeding = (smallest < smallest[0]) | ties
    pvalue = mark_least(exceeding.mean(), 1 / len(exceeding))
    return SmallestPValue(pvalue, int(leading[:, 0].argmax()), smallest)


def rank_draws(values):
    """p-value of each draw among all of them, and how far it stands out.

    The first is the share of the draws that are at least as large, itself counted; the second the
    distance from the mean of the draws in standard deviations, 0 where all are equal.
    """
    values = values / (np.abs(values).max() or 1.0)  # their squares could overflow or vanish
    smaller = np.searchsorted(np.sort(values), values - _ROUNDING, side="left")
    spread = values.std()
    scores = np.zeros(len(values))
    if spread > _ROUNDING:
        scores = (values - values.mean()) / spread
    return (len(values) - smaller) / len(values), scores


def _count_at_most(drawn, observed):
    """How many of the draws are at most as large as what was observed, for each group."""
    slack = _LOG_ROUNDING * np.maximum(np.abs(observed), 1.0)
    return np.count_nonzero(~(drawn > (observed + slack)[:, None]), axis=1)  # NaN is no finding


def find_marginal_pvalues(observed, drawn):
    """p-value of each group by itself, (1 + #{drawn <= observed}) / (1 + n_draws).

    Both are logarithms of asymptotic p-values; `drawn`, (n_groups, n_draws), is under the
    hypothesis.
    """
    return (1 + _count_at_most(drawn, observed)) / (1 + drawn.shape[1])


def step_down(observed, drawn):
    """p-value of each group, adjusted for all of them by the smallest statistics of draws.

    Each group is compared with the smallest statistic among those that are no more extreme than
    itself (Westfall and Young). Parameters are those of `find_marginal_pvalues`.
    """
    order = np.argsort(observed, kind="stable")
    smallest = np.minimum.accumulate(drawn[order][::-1], axis=0)[::-1]
    return _spread(find_marginal_pvalues(observed[order], smallest), order)


def adjust_by_holm(pvalues):
    """p-values that are adjusted for the number of groups, whatever their dependence (Holm)."""
    order = np.argsort(pvalues, kind="stable")
    factors = len(pvalues) - np.arange(len(pvalues))
    return _spread(np.minimum(pvalues[order] * factors, 1.0), order)


def _spread(sorted_pvalues, order):
    """No group is more significant than one before it; in the order of the groups."""
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(sorted_pvalues)
    return adjusted
