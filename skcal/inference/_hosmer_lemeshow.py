"""The Hosmer-Lemeshow test: observed and expected numbers in groups of predictions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._independent_rows import (
    check_counts,
    list_weights,
    reduce_to_labelled_sample,
)
from skcal._numerics.errors._binned import bin_index, count_bins, gap_norm, uniform_edges
from skcal._numerics.inference._classical_tests import chi_squared_pvalue, sum_squared_groups
from skcal._numerics.recalibration._histogram import equal_mass_edges
from skcal._typing import ArrayLike
from skcal._validation import check_n_bins, check_option
from skcal.inference._test_result import TestResult

# Degrees of freedom that a logistic model takes from the data that it was fitted on.
_FITTED_DEGREES = {"external": 0, "training": 2}


def hosmer_lemeshow_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    n_bins: int | Literal["cube_root"] = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    data: Literal["external", "training"] = "external",
) -> TestResult:
    r"""Test calibration by observed and expected numbers in groups (Hosmer-Lemeshow).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, read as counts: a weight of 2 is the same as two rows.
    pos_label : label, default=None
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
    n_bins : int or "cube_root", default=10
        Number of groups, at most 2^24; "cube_root" stands for :math:`\lceil n^{1/3} \rceil` with n
        the number of rows, of which weights are counts.
    strategy : {"quantile", "uniform"}, default="quantile"
        Groups of equal mass, or of equal width; equal predictions always share a group. Those of
        equal mass end at the quantiles of the predictions, linear between ranks, as in
        ``hoslem.test`` of R: n rows in g groups where (n - 1) / g is whole make groups of that
        size, the first with one more.
    data : {"external", "training"}, default="external"
        "external" for data that the model has not seen: one degree of freedom for each group.
        "training" for the data that a logistic regression with an intercept was fitted on: two
        degrees less.

    Returns
    -------
    TestResult
        The chi-squared statistic, its p-value, and as estimate the mean gap between predictions
        and outcomes over the groups (the ECE of these bins).

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, if weights sum to less than 2, or if
        ``data="training"`` leaves no degree of freedom.

    See Also
    --------
    skcal.metrics.expected_calibration_error : The estimate.
    cumulative_calibration_test : Needs no groups.

    Notes
    -----
    With :math:`n_g` rows, :math:`O_g` positive outcomes and the mean prediction
    :math:`\bar v_g` in group g,

    .. math:: \sum_g \frac{(O_g - n_g \bar v_g)^2}{n_g \bar v_g (1 - \bar v_g)}

    is compared with the chi-squared law of as many degrees of freedom as there are groups, or two
    less for training data [1]_. Groups that no row falls in do not count, nor do those with a
    mean prediction of 0 or 1: they add nothing, or infinity if one of their predictions was wrong.
    The p-value is then the smallest normal float, which also stands for all that are smaller.
    Without any group that counts, it is 1.

    The law is an approximation that needs about five expected outcomes of each kind in a group. The
    variance is that of equal predictions, a little too large where they differ within a group, as
    in wide groups of equal width: the test is then conservative. The result depends on the number
    of groups and how they are cut.

    References
    ----------
    .. [1] D. W. Hosmer, S. Lemeshow (1980). Goodness of fit tests for the multiple logistic
       regression model. Communications in Statistics - Theory and Methods 9.
       :doi:`10.1080/03610928008827941`

    Examples
    --------
    Two groups of 100 rows, with 20 instead of 10, and 85 instead of 90 positive outcomes:

    >>> from skcal.inference import hosmer_lemeshow_test
    >>> y_true = [1] * 20 + [0] * 80 + [1] * 85 + [0] * 15
    >>> result = hosmer_lemeshow_test(y_true, [0.1] * 100 + [0.9] * 100)
    >>> round(result.statistic, 3), round(result.pvalue, 6), round(result.estimate, 3)
    (13.889, 0.000964, 0.075)
    """
    n_bins = check_n_bins(n_bins)
    check_option("strategy", strategy, ("quantile", "uniform"))
    check_option("data", data, _FITTED_DEGREES)
    sample = reduce_to_labelled_sample(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    check_counts(sample)
    n_bins = count_bins(n_bins, sample.total_weight)
    if strategy == "uniform":
        edges = uniform_edges(n_bins)
    else:
        edges = equal_mass_edges(sample.predictions, sample.weights, n_bins)
    index = bin_index(sample.predictions, edges)
    weights = list_weights(sample)
    counts, predicted, observed = (
        np.bincount(index, weights * values)
        for values in (np.ones(len(index)), sample.predictions, sample.outcomes)
    )
    filled = counts > 0
    counts, residual = counts[filled], (observed - predicted)[filled]
    statistic, n_groups = sum_squared_groups(counts, predicted[filled] / counts, residual)
    degrees = n_groups - _FITTED_DEGREES[data]
    if data == "training" and degrees < 1:
        raise ValueError(
            'data="training" needs at least 3 groups with a mean prediction between 0 and 1; '
            f"got {n_groups}."
        )
    pvalue = chi_squared_pvalue(statistic, degrees)
    return TestResult(
        statistic, pvalue, gap_norm(counts / counts.sum(), residual / counts.sum(), 1)
    )
