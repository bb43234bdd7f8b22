"""The exact test of calibration, of rows and of summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from skcal._input._censoring_weights import refuse_censoring_weights
from skcal._input._independent_rows import ADVISE_MEANS
from skcal._input._reduction import REDUCTIONS
from skcal._input._validation import check_option, refuse_unknown_options
from skcal._numerics.inference._cluster_signs import N_CHOICES
from skcal._numerics.inference._monte_carlo import find_pvalue, find_smallest_pvalue
from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._cell_source import CellSource, bind_for_cells
from skcal._sources._clusters import split_clusters
from skcal._sources._draws import Draws
from skcal._sources._row_source import RowSource, check_groups
from skcal._tools._least_pvalue import carry_least
from skcal._tools._typing import ArrayLike, ClassReduction, RandomState
from skcal._tools._words import name_statistic
from skcal.inference._summaries import check_summary
from skcal.inference._test_result import TestResult

if TYPE_CHECKING:
    from skcal.streaming import CalibrationSummary

# The statistic that is no measure: the smallest of three p-values, see `calibration_test`.
OMNIBUS = "omnibus"


def calibration_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    statistic: str | Callable[..., Any] = "omnibus",
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: ClassReduction = "auto",
    groups: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> TestResult:
    r"""Exact finite-sample test of calibration.

    Under the hypothesis labels are drawn from the predictions. So labels are drawn many times, and
    the statistic of the sample is compared with those of the draws. Rows must be independent, or
    belong to independent `clusters`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    statistic : str or callable, default="omnibus"
        "omnibus", the smallest p-value of three tests that see different errors, see Notes; a name
        in :data:`skcal.metrics.MEASURES`; or a function
        ``f(y_true, y_proba, *, sample_weight=None, labels=None, pos_label=None, ...)`` that
        returns a float, the larger the less calibrated. It is given those of these arguments
        that it has.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the measure. They are fixed: a label is drawn once for each row,
        whatever its weight, so that they must not depend on outcomes and a weight of 2 is not the
        same as two rows, see :ref:`weights-in-inference`.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`skcal.metrics.expected_calibration_error`. "auto" takes the default of the measure;
        for the omnibus that is the positive label, or the confidence if there are more than two.
    groups : array-like of shape (n_samples,), default=None
        Name of the group of each row. The hypothesis is then that the model is calibrated in every
        group, and the error over all groups is controlled, see Notes.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    TestResult
        The statistic of the sample, the p-value, an estimate of the error, and the mean of the
        statistic over the draws, ``null_mean``. A measure is statistic and estimate; the omnibus
        statistic is :math:`-\log` of the smallest of its p-values, and its estimate is
        :func:`skcal.metrics.cumulative_calibration_error`, in units of probability. With `groups`
        all fields except the p-value describe the most significant group, ``worst_group``.

    Raises
    ------
    ValueError
        If an argument is invalid, if there are soft labels, if a callable does not return a finite
        float, or if `sample_weight` comes from :func:`skcal.survival.at_horizon`.
    TypeError
        If the measure has no argument of the name of an option.

    See Also
    --------
    calibration_test_from_summary : The same for a summary of a stream.
    audit_groups : Which of many overlapping groups a model is miscalibrated in.
    required_samples : How many rows the test needs.
    squared_kernel_calibration_test : Tests of the whole predicted vector without draws of labels.

    Notes
    -----
    Under the hypothesis the labels given the predictions are independent draws, from
    Bernoulli(v_i) or from Categorical(p_i) (rows of p_i are divided by their sum). With T the
    statistic of the sample and T* those of the draws,

    .. math:: p = \frac{1 + \#\{T^* \ge T\}}{1 + \mathrm{n\_resamples}},

    so that p is at most u with probability at most u, for every measure, at every sample size [1]_
    [2]_: T is one of n_resamples + 1 values that are equally likely to be the largest. Statistics
    equal up to rounding count as ties. "confidence" reads whether the largest probability comes
    true, which is Bernoulli with that probability; so does "top-label" for the rows of each label.

    **Omnibus.** With the residuals :math:`r_i = w_i (y_i - v_i)`, their variances
    :math:`s_i = w_i^2 v_i (1 - v_i)` and the log odds :math:`x_i` of the predictions, it is
    :math:`-\log` of the smallest of the asymptotic p-values of

    - the score test of Cox's model [4]_, intercept 0 and slope 1: :math:`U^\top I^{-1} U` with
      :math:`U = \sum_i r_i (1, x_i)`, :math:`I = \sum_i s_i (1, x_i) (1, x_i)^\top`, and the
      chi-squared distribution with 2 degrees of freedom, or 1 if all predictions are equal; it sees
      predictions that are too high, too low, too extreme or not extreme enough,
    - a chi-squared over at most :math:`\lceil n^{1/3} \rceil` bins of sorted predictions with
      equal sums of :math:`s_i`, cut from the rarer label on: the sum of the squared sums of
      residuals over these; it sees bumps and waves,
    - :func:`cumulative_calibration_test` (Kuiper), which sees errors of one sign on a long range.

    Bins have equal variance rather than equal numbers of rows, so that no bin exists in which a
    nearly impossible outcome decides alone. The asymptotic distributions need not hold, as the
    smallest p-value is compared with those of draws. Other statistics find one kind of error more
    often, and some other kind hardly ever, see :ref:`power`. With several binary problems it is the
    smallest p-value of all; with "full" rows count as independent in it, but are drawn as they are.
    An outcome with the predicted probability 0 gives the largest statistic that there is,
    :math:`-\log` of the smallest float; p-values below the smallest normal float count as that.

    **Merged rows.** The omnibus, and measures that make binary problems, are compared on merged
    rows: equal predictions are merged, and beyond 2048 different ones also those that lie in one of
    about 2000 small cells, none of them wider than 1/1024, nor with more than 1/1024 of the rows
    (unless they are equal), nor across the edge of one of `n_bins` equal bins. A prediction is
    moved by less than 1/1024, to the mean of its cell. (For the smooth calibration error cells are
    four times as large.) The sample and the draws are merged alike, so that p stays exact; the
    measure that is returned is that of the sample itself. With equal weights the sum of the labels
    of a cell is drawn from its exact law, the Poisson binomial distribution, so that the cost of a
    draw does not depend on the number of rows. Where problems share labels ("classwise", "full"),
    for whole vectors and for a callable labels are drawn for all rows.

    **Groups.** Each group has a statistic of its own. Its p-value among its own draws is computed
    for the sample and for every draw; the smallest of the p-values over groups is compared with
    those of the draws (min-p of Westfall and Young [3]_). Equal p-values, such as the smallest
    possible one, are ordered by the distance of the statistic from the mean of its draws in
    standard deviations. The p-value is exact for the hypothesis that all groups are calibrated; it
    says nothing about the worst group alone (weak control), see :func:`audit_groups`. Groups in
    which all weights are zero are left out. The cost is that of one test for each group.

    **Clusters.** Rows of a cluster may depend on each other in any way; under the hypothesis the
    residuals :math:`r_i` of all rows have mean 0 given the predictions. Instead of labels, a sign
    :math:`s_c` is drawn for each cluster and the statistic is that of the residuals
    :math:`s_{c(i)} r_i`, so that dependence within clusters is preserved (a wild bootstrap under
    the null hypothesis [5]_). That is exact for symmetric residuals, and an approximation for many
    clusters otherwise. It is taken for the omnibus, for norms of the residuals such as the
    (adaptive, maximum, kernel, smooth) calibration errors, and for SmoothECE, if there are 20
    clusters at least and

    .. math:: \sqrt D\, \frac{\sum_i w_i^3 v_i (1 - v_i) |1 - 2 v_i|}
              {\left( \sum_i w_i^2 v_i (1 - v_i) \right)^{3/2}} \le 0.2, \qquad
              D = \frac{\sum_c (\sum_{i \in c} w_i r_i)^2}{\sum_i w_i^2 r_i^2},

    which bounds the skewness of the sum of all residuals: with rare events that come D at a time it
    asks for 25 such times. Otherwise, and for all other statistics, one row of each cluster is
    chosen at random, 20 times, and the p-value is twice the mean of those of the exact test [6]_:
    that is valid at every number of clusters, but blind for much of what the rows tell. Statistic
    and ``null_mean`` are then means over the choices. Where each cluster holds copies of one row,
    these rows are tested exactly. No cluster may have rows in several `groups`.

    **Degenerate samples.** If the draws can give one value only and the sample has it, p is 1, for
    instance for predictions of 0 and 1 that all come true. If one of these does not come true, p
    is the smallest possible one. In other samples a label with the predicted probability 0 counts
    only through the statistic. A single row, or labels of a single class, are tested like all
    others.

    Small p-values show that a model is not calibrated; large ones do not prove that it is.

    References
    ----------
    .. [1] A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application, chapter
       4. Cambridge University Press. :doi:`10.1017/CBO9780511802843`
    .. [2] J. Vaicenavicius, D. Widmann, C. Andersson, F. Lindsten, J. Roll, T. B. Schön (2019).
       Evaluating model calibration in classification. AISTATS 22.
       :doi:`10.48550/arXiv.1902.06977`
    .. [3] P. H. Westfall, S. S. Young (1993). Resampling-based multiple testing.
       Wiley.
    .. [4] D. R. Cox (1958). Two further applications of a model for binary regression. Biometrika
       45. :doi:`10.1093/biomet/45.3-4.562`
    .. [5] A. C. Cameron, J. B. Gelbach, D. L. Miller (2008). Bootstrap-based improvements for
       inference with clustered errors. Review of Economics and Statistics 90.
       :doi:`10.1162/rest.90.3.414`
    .. [6] V. Vovk, R. Wang (2020). Combining p-values via averaging. Biometrika 107.
       :doi:`10.1093/biomet/asaa027`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(1000)
    >>> calibrated = (rng.random(1000) < y_proba).astype(int)
    >>> calibration_test(calibrated, y_proba, random_state=0).pvalue > 0.05
    True
    >>> overconfident = (rng.random(1000) < 0.25 + 0.5 * y_proba).astype(int)
    >>> calibration_test(overconfident, y_proba, random_state=0).pvalue
    0.001
    >>> site = np.where(np.arange(1000) < 500, "north", "south")
    >>> y_true = np.where(site == "north", calibrated, overconfident)
    >>> calibration_test(y_true, y_proba, groups=site, random_state=0).worst_group
    'south'
    """
    check_option("reduction", reduction, REDUCTIONS)
    refuse_censoring_weights(sample_weight)
    name = name_statistic(statistic)
    is_omnibus, statistic, options = find_measure(statistic, options, calibration_test)
    statistic = bind_for_rows(
        "statistic", statistic, options, reduction, sample_weight, calibration_test, (OMNIBUS,)
    )
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    statistic, rows, is_binary = bind_rows(
        statistic,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    if rows.is_soft:
        raise ValueError(
            f"y_true must hold labels; a test cannot draw from soft labels.{ADVISE_MEANS}"
        )
    names, parts = split_groups(rows, groups)
    if clusters is not None:
        found = _test_clusters(
            statistic, rows, is_binary, clusters, parts, draws, names, is_omnibus
        )
        return found._replace(name=name)
    sources = [RowSource(statistic, rows.take(part), is_binary) for part in parts]
    found = compare_with_draws(sources, draws, names, is_omnibus=is_omnibus)
    return found._replace(name=name)


def calibration_test_from_summary(
    summary: CalibrationSummary,
    *,
    statistic: str = "omnibus",
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> TestResult:
    r"""Test of calibration from a streaming summary.

    This is :func:`calibration_test` without the rows: exact for predictions rounded to their
    cells. Rows must be independent, see
    :ref:`without-clusters`.

    Parameters
    ----------
    summary : CalibrationSummary
        Summary of hard labels without weights, of one binary problem (`reduction` "auto" or
        "confidence").
    statistic : str, default="omnibus"
        "omnibus", see :func:`calibration_test`, or a name in :data:`skcal.metrics.MEASURES` of a
        measure that summaries answer.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    TestResult
        The statistic, the p-value, an estimate of the error, and the mean of the statistic over
        the draws, ``null_mean``. The answer of the summary (see
        :meth:`skcal.streaming.CalibrationSummary.measure`) is statistic and estimate of a measure;
        the omnibus has those of :func:`calibration_test`.

    Raises
    ------
    ValueError
        If an argument is invalid, if there are weights or soft labels, or if the summary cannot
        answer the measure.
    TypeError
        If `summary` is not a summary, or if the measure has no argument of the name of an option.

    See Also
    --------
    calibration_test : The same for rows, and for groups of them.
    compare_summaries : Whether two summaries differ.

    Notes
    -----
    Let a cell hold n rows with the mean prediction v, which the summary knows. If the model is
    calibrated, the number of outcomes 1 is a sum of Bernoulli variables whose mean is n v, and it
    is drawn from the binomial distribution with n and v. That has the mean of the true law, and is
    the law itself where all predictions of the cell are equal. Else it is wider (Hoeffding [1]_:
    larger in the convex order, by a variance of n times the variance of the predictions in the
    cell, at most :math:`h^2 / 4` for cells of width h), so that draws of a measure that is a
    convex function of the residuals are larger on average and the test is conservative. With 16384
    cells the excess is a share of :math:`10^{-9} / (v (1 - v))` of the variance, at most.

    As in :func:`calibration_test` the statistic is compared on merged cells, about 2000 of them,
    the sample and the draws alike, and

    .. math:: p = \frac{1 + \#\{T^* \ge T\}}{1 + \mathrm{n\_resamples}}.

    A draw costs the same for every number of rows.

    References
    ----------
    .. [1] W. Hoeffding (1956). On the distribution of the number of successes in independent
       trials. Annals of Mathematical Statistics 27. :doi:`10.1214/aoms/1177728178`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import calibration_test_from_summary
    >>> from skcal.streaming import CalibrationSummary
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(20_000)
    >>> uniform = rng.random(20_000)
    >>> calibrated = CalibrationSummary().update(uniform < y_proba, y_proba)
    >>> calibration_test_from_summary(calibrated, n_resamples=99, random_state=0).pvalue > 0.05
    True
    >>> off = CalibrationSummary().update(uniform < 0.1 + 0.8 * y_proba, y_proba)
    >>> calibration_test_from_summary(off, n_resamples=99, random_state=0).pvalue
    0.01
    """
    name = name_statistic(statistic)
    is_omnibus, statistic, options = find_measure(statistic, options, calibration_test_from_summary)
    statistic = bind_for_cells(
        "statistic", statistic, options, calibration_test_from_summary, (OMNIBUS,)
    )
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    source = CellSource(statistic, check_summary("summary", summary))
    return compare_with_draws([source], draws, is_omnibus=is_omnibus)._replace(name=name)


def find_measure(statistic, options, caller):
    """Whether the statistic is the omnibus one, and the measure and options of the estimate."""
    if not (isinstance(statistic, str) and statistic == OMNIBUS):
        return False, statistic, options
    refuse_unknown_options(OMNIBUS, options, [], caller)
    return True, "cumulative_calibration_error", {}


def compare_with_draws(sources, draws, names=None, *, is_omnibus=False):
    """The test of one source of rows or cells, or of several with the names of their groups.

    It compares the measure, or the omnibus statistic instead.
    """
    nulls = [source.make_null(is_omnibus=is_omnibus) for source in sources]
    drawn = draws.run(*(null.draw for null in nulls))
    observed = np.array([null.observed for null in nulls])
    if names is None:
        worst, pvalue = 0, find_pvalue(observed[0], drawn[0])
    else:
        pvalue, worst, _ = find_smallest_pvalue(np.column_stack([observed, drawn]))
    estimate = sources[worst].estimate
    chance = float(drawn[worst].mean())
    statistic = float(observed[worst]) if is_omnibus else estimate
    return TestResult(statistic, pvalue, estimate, names and names[worst], chance)


def split_groups(rows, groups):
    """Names of groups, and masks of their rows without those of weight zero; None for no groups."""
    present = np.ones(rows.n_rows, dtype=bool) if rows.weights is None else rows.weights > 0
    if groups is None:
        return None, [present]
    names, member = check_groups("groups", groups, rows.n_rows)
    parts = {name: (member == k) & present for k, name in enumerate(names)}
    parts = {name: part for name, part in parts.items() if part.any()}
    return list(parts), list(parts.values())


def _test_clusters(statistic, rows, is_binary, clusters, parts, draws, names, is_omnibus):
    """The test by signs of clusters, or by single rows of them where that may not hold."""
    problems = split_clusters(rows, clusters, parts)
    sources = [RowSource(statistic, own, is_binary, units) for own, units in problems]
    if all(source.has_known_law(is_omnibus=is_omnibus) for source in sources):
        return compare_with_draws(sources, draws, names, is_omnibus=is_omnibus)
    found = []
    for _ in range(N_CHOICES):
        chosen = [own.take(units.choose_rows(draws.rng)) for own, units in problems]
        single = [RowSource(statistic, own, is_binary) for own in chosen]
        found.append(compare_with_draws(single, draws, names, is_omnibus=is_omnibus))
    statistic, pvalue, chance = np.mean([(one[0], one[1], one.null_mean) for one in found], 0)
    worst = min(found, key=lambda one: one.pvalue).worst_group
    estimate = sources[0 if names is None else names.index(worst)].estimate
    pvalue = carry_least(min(1.0, 2 * pvalue), *(one.pvalue for one in found))
    return TestResult(float(statistic), pvalue, estimate, worst, float(chance))
