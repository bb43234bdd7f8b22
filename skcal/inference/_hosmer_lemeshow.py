"""The Hosmer-Lemeshow test: observed and expected numbers in groups of predictions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._independent_rows import (
    list_unequal_weights,
    list_weights,
    reduce_to_present_rows,
)
from skcal._input._validation import check_bins, check_option
from skcal._numerics.errors._binned import bin_index, count_bins, gap_norm, make_edges
from skcal._numerics.inference._classical_tests import (
    bar_chi_squared_pvalue,
    chi_squared_pvalue,
    predict_level,
    sum_positive_scores,
    sum_squared_groups,
)
from skcal._numerics.inference._effective_rows import count_by_group
from skcal._numerics.inference._risk_groups import number_groups
from skcal._sources._row_source import check_groups
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.inference._test_result import TestResult

# Degrees of freedom that a logistic model takes from the data that it was fitted on.
_FITTED_DEGREES = {"external": 0, "training": 2}
# What the test is expected to reject at most of calibrated samples, at 5 %, without a word.
_LARGEST_LEVEL = 0.075


def hosmer_lemeshow_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    n_bins: int | Literal["cube_root"] | ArrayLike = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    groups: ArrayLike | None = None,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
    data: Literal["external", "training"] = "external",
) -> TestResult:
    r"""Hosmer-Lemeshow test: observed against expected numbers of events in risk groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows.
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
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=10
        Number of groups, at most 2^24; "cube_root" stands for :math:`\lceil n^{1/3} \rceil` with n
        the number of rows. An array holds the edges of the groups, which rise from 0 to 1, and
        `strategy` is not used.
    strategy : {"quantile", "uniform"}, default="quantile"
        Groups of equal mass, or of equal width; equal predictions always share a group. Those of
        equal mass end at the quantiles of the predictions, linear between ranks, as in
        ``hoslem.test`` of R: n rows in g groups where (n - 1) / g is whole make groups of that
        size, the first with one more. Where ties leave fewer groups, the heaviest ones of different
        predictions are split: no two of them share a group while there are groups left.
    groups : array-like of shape (n_samples,), default=None
        Name of the group of each row, such as a grade, in place of `n_bins` and `strategy`. Groups
        must be chosen without a look at the outcomes.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        "greater" asks whether outcomes are more frequent than predicted in any group, such as more
        defaults than a grade promises, "less" whether they are less frequent.
    data : {"external", "training"}, default="external"
        "external" for data that the model has not seen: one degree of freedom for each group.
        "training" for the data that a logistic regression with an intercept was fitted on: two
        degrees less.

    Returns
    -------
    TestResult
        The statistic, its p-value, as estimate the mean gap between predictions and outcomes over
        the groups (the ECE of these bins), and in ``n_groups`` the number of groups that count.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, if ``data="training"`` leaves no degree of
        freedom, or if that comes with another `alternative` than "two-sided".

    Warns
    -----
    UserWarning
        If so few outcomes are expected that the two-sided test at 5 % would reject more than 7.5 %
        of calibrated samples.

    See Also
    --------
    skcal.metrics.expected_calibration_error : The estimate.
    cumulative_calibration_test : Needs no groups.

    Notes
    -----
    With :math:`n_g` rows, the share :math:`\bar y_g` of positive outcomes and the mean prediction
    :math:`\bar v_g` in group g,

    .. math:: \sum_g \frac{n_g (\bar y_g - \bar v_g)^2}{\bar v_g (1 - \bar v_g)}

    is compared with the chi-squared distribution with as many degrees of freedom as there are
    groups, or two less for training data [1]_. Groups that no row falls in do not count, nor do
    those with a mean prediction of 0 or 1: they add nothing, or infinity if one of their
    predictions was wrong. The p-value is then the smallest normal float, as are all smaller ones.
    Without any group that counts, it is 1.

    With unequal weights w means are weighted, and :math:`n_g` is the effective number of rows, the
    sum of the weights over :math:`(1 - \bar v_g) q_1 + \bar v_g q_0`. Here :math:`q_k` is
    :math:`\sum w^2 / \sum w` over rows of outcome k nearby, 30 or more.

    This approximation needs about five expected outcomes of each kind in a group. What is expected
    is known, and so is the variance of each term, :math:`2 + 1 / (n_g \bar v_g (1 - \bar v_g)) - 6
    / n_g`: where their sum has too long a tail, the test warns. With mean log odds of -4 of
    standard deviation 1 it rejects 10 % of samples of 300 rows, and 8 % of 1000. The variance is
    that of equal predictions, a little too large where they differ within a group, as in wide
    groups of equal width: the test is then conservative. The result depends on the number of groups
    and how they are cut.

    With another `alternative` the statistic is :math:`\sum_g \max(z_g, 0)^2`, where :math:`z_g` is
    the normal score of the mid-p-value of the one-sided binomial test of group g. Its distribution
    is chi-squared with a random number of degrees of freedom: the number of heads in one coin toss
    per group [2]_. Calibrated samples of the same log odds are rejected in 2 to 5 %.

    References
    ----------
    .. [1] D. W. Hosmer, S. Lemeshow (1980). Goodness of fit tests for the multiple logistic
       regression model. Communications in Statistics - Theory and Methods 9.
       :doi:`10.1080/03610928008827941`
    .. [2] A. Kudo (1963). A multivariate analogue of the one-sided test. Biometrika 50.
       :doi:`10.1093/biomet/50.3-4.403`

    Examples
    --------
    Two groups of 100 rows, with 20 instead of 10, and 85 instead of 90 positive outcomes:

    >>> import numpy as np
    >>> from skcal.inference import hosmer_lemeshow_test
    >>> y_true = [1] * 20 + [0] * 80 + [1] * 85 + [0] * 15
    >>> result = hosmer_lemeshow_test(y_true, [0.1] * 100 + [0.9] * 100)
    >>> round(result.statistic, 3), round(result.pvalue, 6), round(result.estimate, 3)
    (13.889, 0.000964, 0.075)

    Three rating grades; the worst defaults more often than it should:

    >>> grade = np.repeat(["A", "B", "C"], [300, 200, 100])
    >>> risk = np.repeat([0.01, 0.03, 0.1], [300, 200, 100])
    >>> defaults = np.concatenate([np.arange(300) < 2, np.arange(200) < 7, np.arange(100) < 18])
    >>> result = hosmer_lemeshow_test(
    ...     defaults, risk, pos_label=True, groups=grade, alternative="greater"
    ... )
    >>> result.n_groups, result.pvalue < 0.05
    (3, True)
    """
    n_bins = check_bins(n_bins, strategy, ("quantile", "uniform"), default="quantile")
    check_option("data", data, _FITTED_DEGREES)
    check_option("alternative", alternative, ("two-sided", "greater", "less"))
    if alternative != "two-sided" and data == "training":
        raise ValueError(
            'alternative must be "two-sided" for data="training", on which residuals cancel; got '
            f"{alternative!r}."
        )
    sample, present = reduce_to_present_rows(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    if groups is None:
        index = _cut_groups(sample, count_bins(n_bins, len(sample.predictions)), strategy)
    else:
        index = check_groups("groups", groups, len(present))[1][present]
    shares, means, outcomes, counts = _describe_groups(sample, index, groups is not None)
    statistic, pvalue, n_groups = _compare(counts, means, outcomes, alternative, data)
    estimate = gap_norm(shares, shares * (outcomes - means), 1)
    name = "Hosmer-Lemeshow chi-squared"
    return TestResult(statistic, pvalue, estimate, n_groups=n_groups, name=name)


def _cut_groups(sample, n_bins, strategy):
    """Number of the group of each row."""
    if strategy == "uniform" or isinstance(n_bins, tuple):
        return bin_index(sample.predictions, make_edges(n_bins))
    return number_groups(sample.predictions, list_unequal_weights(sample), n_bins)


def _describe_groups(sample, index, is_given):
    """Of groups that hold rows: shares, mean predictions and outcomes, and numbers of rows.

    Groups that were given may differ in their weights wherever their predictions are.
    """
    rows, weights = np.bincount(index), list_weights(sample)
    filled, weights = rows > 0, weights / weights.max()
    mass, predicted, observed = (
        np.bincount(index, weights * values)[filled]
        for values in (np.ones(len(index)), sample.predictions, sample.outcomes)
    )
    counts = rows.astype(np.float64)
    if list_unequal_weights(sample) is not None:
        if is_given:
            weights = weights / (np.bincount(index, weights) / np.maximum(rows, 1))[index]
        counts = count_by_group(index, weights, sample.predictions, sample.outcomes)
    means, outcomes = (np.minimum(part / mass, 1.0) for part in (predicted, observed))
    return mass / mass.sum(), means, outcomes, counts[filled]


def _compare(counts, means, outcomes, alternative, data):
    """Statistic, p-value and number of the groups that are left to chance."""
    is_open = (means > 0) & (means < 1)
    n_groups = int(np.count_nonzero(is_open))
    if alternative != "two-sided":
        if alternative == "less":
            means, outcomes = 1 - means, 1 - outcomes
        statistic = sum_positive_scores(counts, means, outcomes)
        return statistic, bar_chi_squared_pvalue(statistic, n_groups), n_groups
    degrees = n_groups - _FITTED_DEGREES[data]
    if data == "training" and degrees < 1:
        raise ValueError(
            'data="training" needs at least 3 groups with a mean prediction between 0 and 1; '
            f"got {n_groups}."
        )
    if n_groups:
        _check_counts(counts[is_open], means[is_open])
    statistic = sum_squared_groups(counts, means, counts * (outcomes - means))
    return statistic, chi_squared_pvalue(statistic, degrees), n_groups


def _check_counts(counts, means):
    """Warn where too few outcomes are expected for the chi-squared law."""
    level = predict_level(counts, means)
    if level > _LARGEST_LEVEL:
        fewest = (counts * np.minimum(means, 1 - means)).min()
        warn(
            f"hosmer_lemeshow_test expects few outcomes in a group, {fewest:.2g} in one of them: "
            f"at 5 % it rejects about {level:.0%} of calibrated samples. Take fewer groups, or "
            "calibration_test, which is exact."
        )
