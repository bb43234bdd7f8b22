"""For which groups of rows is a model wrong?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._estimates._counts import count_rows
from skcal._input._censoring_weights import refuse_censoring_weights
from skcal._input._groups import group_keys
from skcal._input._independent_rows import reduce_to_clustered_groups
from skcal._numerics.cells._cell_moments import average_cells
from skcal._sources._draws import Draws
from skcal.inference._group_atoms import (
    CountedCells,
    describe_cells,
    describe_rows,
    merge_cells_of_groups,
    merge_rows_of_groups,
)
from skcal.inference._group_comparison import compare_clusters, compare_groups
from skcal.inference._group_record import GroupAudit, check_draws, check_test, make_audit
from skcal.inference._summaries import check_summary
from skcal.streaming import GroupedSummary

if TYPE_CHECKING:
    from skcal._tools._typing import ArrayLike, RandomState


def audit_groups(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    groups: Any,
    *,
    max_depth: int = 2,
    min_samples: int = 100,
    n_bins: int | Literal["cube_root"] = 4,
    max_groups: int = 1000,
    statistic: Literal["mean", "slope", "kuiper"] = "slope",
    adjust: Literal["min-p", "holm"] = "min-p",
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> GroupAudit:
    r"""Find the groups, possibly overlapping, in which a model is miscalibrated.

    The p-value of "calibrated in all groups" is exact at every sample size, for any number of
    groups and any overlap. Rows must be independent, or belong to independent `clusters`, with
    which it is approximate; and groups must be chosen without their outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    groups : data frame, dict, Groups, or array-like
        A table, such as a data frame with names of columns, from which :func:`make_groups` forms
        groups; the groups that it returned; a label for each row; or a matrix of booleans of shape
        (n_samples, n_groups), dense or sparse, whose groups are called by the numbers of their
        columns.
    max_depth : int, default=2
        Largest number of columns of a table that make an intersection, see :func:`make_groups`.
    min_samples : int, default=100
        Smaller groups of a table are left out.
    n_bins : int or "cube_root", default=4
        Number of bins of numbers, dates and durations in a table.
    max_groups : int, default=1000
        More groups of a table are refused.
    statistic : {"slope", "mean", "kuiper"}, default="slope"
        "mean" compares the mean outcome with the mean prediction, "slope" sees predictions that are
        too high, too low, too extreme or not extreme enough, "kuiper" any error of one sign on a
        range of predictions.
    adjust : {"min-p", "holm"}, default="min-p"
        How p-values of groups account for all groups. "min-p": no group in which the model is
        calibrated is named, but with a probability of `alpha`, if outcomes of all rows of such
        groups together follow the predictions. "holm": the same, whatever outcomes of rows in
        several groups do; this has less power, and needs more draws than 20 times the groups.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        "greater" asks for groups with more outcomes 1 than predicted, such as grades whose default
        rate is underestimated, "less" for those with fewer; both need ``statistic="mean"``.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the statistics. A row has one outcome, whatever its weight: a
        weight of 2 is not the same as two rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    confidence_level : float, default=0.95
        Confidence of all intervals at once, in (0, 1); of one-sided ones above 0.5.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    GroupAudit
        The p-value, and a table of the groups.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, if a group has no rows, if there are too few
        draws for "holm", or if `sample_weight` is that of :func:`skcal.survival.at_horizon`.
    TypeError
        If a table is of no known kind.

    See Also
    --------
    audit_features : If you do not know which groups to ask for.
    make_groups : Groups from the columns of a table.
    audit_groups_from_summary : The same for summaries of a stream.
    audit_mean_groups : The same for predicted means, such as those of counts and amounts.
    calibration_test : One test of disjoint groups with any measure.

    Notes
    -----
    With residuals :math:`r_i = w_i (y_i - v_i)`, their variances :math:`s_i = w_i^2 v_i (1 - v_i)`
    and the log odds :math:`x_i` of the predictions, the statistics of a group g are

    .. math::
        Z = \frac{\sum_{i \in g} r_i}{\sqrt{\sum_{i \in g} s_i}}, \qquad
        S = U^\top I^{-1} U, \quad U = \sum_{i \in g} r_i \binom{1}{x_i}, \quad
        I = \sum_{i \in g} s_i \binom{1}{x_i} (1, x_i), \qquad
        K = \frac{\max_k C_k - \min_k C_k}{\sqrt{\sum_{i \in g} s_i}}

    with the running sums :math:`C_k` of :math:`r_i` by rising predictions, :math:`C_0 = 0`: the z
    test, the score test of Cox's model, and Kuiper's [1]_. By their asymptotic distributions
    (normal; chi-squared of 2 degrees of freedom, or 1 where all predictions are equal; the range of
    Brownian motion) they become p-values :math:`q_g`, so that groups of all sizes compare; a
    one-sided alternative takes one tail of the normal distribution. An outcome that was predicted
    to be impossible makes :math:`q_g` smaller than any other; one that speaks against a one-sided
    alternative is a residual like all others.

    The asymptotic distributions need not hold: labels are drawn from the predictions, once for all
    groups, and the smallest :math:`q_g` is compared with the smallest of each draw,

    .. math:: p = \frac{1 + \#\{\min_g q_g^* \le \min_g q_g\}}{1 + \mathrm{n\_resamples}}.

    "min-p" continues without the most significant group, then without two, and so on (step-down
    min-p of Westfall and Young [2]_). "holm" multiplies the p-values of the groups by themselves,
    the smallest one by the number of groups.

    Beyond 64 different predictions rows of the same groups are merged in cells of predictions with
    equal sums of :math:`v_i (1 - v_i)`, 64 of them for all rows together, the sample and the draws
    alike, so that p stays exact, and a draw costs the same for every number of rows. Statistics are
    those of the merged rows. With unequal weights labels are drawn row by row.

    Intervals of the difference are those of Clopper and Pearson for the share of outcomes 1, of the
    level :math:`1 - (1 - \mathrm{confidence\_level}) / \mathrm{n\_groups}` (Bonferroni), minus the
    mean prediction. With unequal weights they are approximate: the number of rows is
    :math:`W^2 / \sum w_i^2` then, :math:`W = \sum w_i`, or
    :math:`W^2 \bar v (1 - \bar v) / \sum s_i` if that is less.

    Where the mean of a group is what is tested, by "mean" or because all of its predictions are
    equal, as in a grade, the interval holds 0 if the adjusted p-value is above
    :math:`\alpha = 1 - \mathrm{confidence\_level}`, and only then: its end towards 0 is moved to 0,
    or to :math:`d\,(1 - z_\alpha / z_p)` for the difference d and the normal quantiles of
    :math:`\alpha` and of the adjusted p-value p [3]_. Elsewhere a group that is named may have an
    interval that holds 0: its errors cancel out in the mean. One-sided alternatives have one-sided
    intervals: those of "greater" end at the largest possible difference, 1 minus the mean
    prediction; a group with fewer outcomes than predicted counts as right.

    With `clusters` a sign is drawn for each cluster and multiplies the residuals of its rows in all
    groups, as in :func:`calibration_test`. All :math:`s_i` of a group are multiplied by its design
    effect

    .. math:: D = \frac{\sum_c (\sum_{i \in c \cap g} r_i)^2}{\sum_{i \in g} r_i^2},

    which signs leave as it is. Groups of fewer than 20 clusters, or with too few events by the
    condition given there, are tested exactly by one random row of each cluster, 20 times: their
    statistics are means, and their p-values twice the means. If some groups are tested one way and
    some the other, each way has half of the level: the p-values of "min-p" are doubled. Intervals
    use the effective number of rows of the clusters in a group, see
    :class:`skcal.diagrams.ReliabilityDisplay`. Clusters may have rows in several groups.

    Groups whose weights are all zero are left out, and weights below 1e-150 times the largest one
    count as zero in the statistics. With "holm" the p-value of all groups is the smallest adjusted
    one.

    A small p-value shows that a model is wrong for somebody, not why; a large one does not prove
    that it is right for everybody.

    References
    ----------
    .. [1] I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration
       for probabilistic predictions. JMLR 23(351). :doi:`10.48550/arXiv.2205.09680`
    .. [2] P. H. Westfall, S. S. Young (1993). Resampling-based multiple testing.
       Wiley.

    .. [3] D. G. Altman, J. M. Bland (2011). How to obtain the confidence interval from a P value.
       BMJ 343:d2090. :doi:`10.1136/bmj.d2090`

    Examples
    --------
    A model that is right on average, and wrong in two regions.

    >>> import numpy as np
    >>> from skcal.inference import audit_groups
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(0.2, 0.8, size=4000)
    >>> region = rng.choice(["east", "north", "south", "west"], size=4000)
    >>> shift = 0.15 * ((region == "north") - 1.0 * (region == "south"))
    >>> y_true = (rng.random(4000) < y_proba + shift).astype(int)
    >>> table = {"region": region, "age": rng.integers(20, 80, size=4000)}
    >>> audit = audit_groups(y_true, y_proba, table, max_depth=1, random_state=0)
    >>> audit.pvalue
    0.001
    >>> sorted(audit.find())
    ['region = north', 'region = south']
    """
    refuse_censoring_weights(sample_weight)
    level = check_test(statistic, adjust, alternative, confidence_level)
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    options = {"max_depth": max_depth, "min_samples": min_samples, "n_bins": n_bins}
    sample, groups, member = reduce_to_clustered_groups(
        y_true,
        y_proba,
        groups,
        clusters,
        data | {"reduction": reduction},
        options | {"max_groups": max_groups},
    )
    check_draws(adjust, draws.n_resamples, len(groups.names))
    tested = statistic, alternative
    statistics = merge_rows_of_groups(sample, groups, *tested, member)
    means = describe_rows(sample, groups, (1 - level) / len(groups.names), alternative, member)
    if member is None:
        found = compare_groups(statistics, draws)
    else:
        found = compare_clusters(statistics, sample, groups, member, draws, tested)
    return make_audit(groups, found, statistics.of_mean, means, *tested, adjust, level)


def audit_groups_from_summary(
    summary: GroupedSummary,
    *,
    key_names: ArrayLike | None = None,
    max_depth: int = 2,
    min_samples: int = 100,
    max_groups: int = 1000,
    statistic: Literal["mean", "slope", "kuiper"] = "slope",
    adjust: Literal["min-p", "holm"] = "min-p",
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> GroupAudit:
    r"""Find the groups in which a model is miscalibrated, from streaming summaries.

    This is :func:`audit_groups` without the rows, for data that come in batches, or from several
    places: summaries are merged, and audited when they are complete. Rows must be independent, see
    :ref:`without-clusters`.

    Parameters
    ----------
    summary : GroupedSummary
        Summaries of hard labels without weights, of one binary problem (`reduction` "auto" or
        "confidence"). Groups are all rows, the values of each part of the keys, and their
        intersections with the values of other parts.
    key_names : array-like of str of shape (n_parts,), default=None
        What the parts of the keys are called; by default "key", or "key 0", "key 1", ...
    max_depth : int, default=2
        Largest number of parts of the keys that make an intersection.
    min_samples : int, default=100
        Smaller groups are left out.
    max_groups : int, default=1000
        More groups are refused.
    statistic : {"slope", "mean", "kuiper"}, default="slope"
        What is tested in each group, see :func:`audit_groups`.
    adjust : {"min-p", "holm"}, default="min-p"
        How p-values of groups account for all groups, see :func:`audit_groups`.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        "greater" asks for groups with more outcomes 1 than predicted, "less" for fewer, see
        :func:`audit_groups`.
    confidence_level : float, default=0.95
        Confidence of all intervals at once, in (0, 1); of one-sided ones above 0.5.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    GroupAudit
        The p-value, and a table of the groups.

    Raises
    ------
    ValueError
        If an argument is invalid, if there are weights or soft labels, or if there are too few
        draws for "holm".
    TypeError
        If `summary` is not a GroupedSummary.

    See Also
    --------
    audit_groups : The same for rows.
    skcal.streaming.summarize_batches : Grouped summaries of batches of a table.

    Notes
    -----
    Outcomes of a cell of a summary are drawn from the binomial distribution with its number of rows
    and its mean prediction, see :func:`calibration_test_from_summary`: the law itself where
    predictions of the cell are equal, and else a little wider, so that the test is conservative. A
    draw takes a time in proportion to the cells that hold rows, in all groups together; summaries
    of ``n_cells=1024`` are enough for many groups.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import audit_groups_from_summary
    >>> from skcal.streaming import GroupedSummary
    >>> rng = np.random.default_rng(0)
    >>> summary = GroupedSummary(n_cells=1024)
    >>> for day in range(5):
    ...     y_proba = rng.uniform(0.2, 0.8, size=1000)
    ...     region = rng.choice(["east", "north", "south", "west"], size=1000)
    ...     y_true = rng.random(1000) < y_proba + 0.15 * (region == "north")
    ...     summary = summary.update(y_true, y_proba, by=region)
    >>> audit = audit_groups_from_summary(summary, key_names=["region"], random_state=0)
    >>> audit.find()
    ['region = north', 'all rows']
    """
    level = check_test(statistic, adjust, alternative, confidence_level)
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    keys, cells = _count_cells(summary)
    n_rows = np.bincount(cells.key, cells.n_rows)
    options = {"max_depth": max_depth, "min_samples": min_samples, "max_groups": max_groups}
    groups = group_keys(keys, key_names, n_rows, **options)
    statistics = merge_cells_of_groups(cells, groups, statistic, alternative)
    check_draws(adjust, draws.n_resamples, len(groups.names))
    means = describe_cells(cells, groups, (1 - level) / len(groups.names), alternative)
    found, of_mean = compare_groups(statistics, draws), statistics.of_mean
    return make_audit(groups, found, of_mean, means, statistic, alternative, adjust, level)


def _count_cells(summary):
    """Keys of a grouped summary that have rows, and their cells."""
    if not isinstance(summary, GroupedSummary):
        raise TypeError(f"summary must be a GroupedSummary; got {type(summary).__name__}.")
    keys, parts = [], []
    for key, own in summary.items():
        if own.total_weight_ == 0:
            continue
        cells = check_summary("summary", own)
        counts = count_rows("summary", cells)
        predictions, _, _, filled = average_cells(*cells.moments_and_places)
        number = np.full(len(filled), len(keys))
        parts.append((number, predictions, counts[:, filled].sum(axis=0), counts[1, filled]))
        keys.append(key)
    if not keys:
        raise ValueError("summary must hold rows; got an empty summary.")
    return keys, CountedCells(*map(np.concatenate, zip(*parts, strict=True)))
