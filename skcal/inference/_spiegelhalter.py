"""Spiegelhalter's test: is the Brier score what the predictions promise."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._censoring_weights import refuse_censoring_weights
from skcal._input._independent_rows import list_weights, reduce_to_clustered_sample
from skcal._numerics.inference._classical_tests import (
    compare_brier,
    compare_clusters,
    normal_pvalue,
)
from skcal._tools._typing import ArrayLike
from skcal.inference._test_result import TestResult

_NAME = "Spiegelhalter's z"


def spiegelhalter_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
) -> TestResult:
    r"""Spiegelhalter's test of calibration, based on the Brier score.

    Predictions determine the expected Brier score of a calibrated model. Predictions that are too
    extreme have a larger Brier score than expected, predictions that are not extreme enough a
    smaller one. The test is two-sided; rows must be independent, or belong to independent
    `clusters`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights that do not depend on outcomes, see :ref:`weights-in-inference`. A
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

    Returns
    -------
    TestResult
        The statistic z, above 0 where the Brier score is larger than expected (predictions that
        are too extreme) and below 0 where it is smaller (not extreme enough); its p-value; and as
        estimate the Brier score minus its expectation.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, or if `sample_weight` comes from
        :func:`skcal.survival.at_horizon`.

    See Also
    --------
    cox_recalibration : Tells in which way predictions are wrong, and by how much.
    cumulative_calibration_test : Finds errors anywhere on [0, 1].

    Notes
    -----
    Given the predictions v, a calibrated model has independent outcomes y of probability v, so that

    .. math:: z = \frac{\sum_i w_i (y_i - v_i)(1 - 2 v_i)}
              {\sqrt{\sum_i w_i^2 (1 - 2 v_i)^2 v_i (1 - v_i)}}

    has mean 0 and variance 1, and tends to a standard normal variable as rows accrue [1]_.
    Rare events need many rows: at 1 % the test rejects 1.7 % of calibrated samples that expect two
    events, and every sample with an event where a tenth of one is expected. There use
    :func:`calibration_test`. Predictions of 1/2 count for nothing, and errors that do not change
    the expected Brier score are not detected: a large p-value does not prove calibration.

    Where all predictions are 0, 1/2 or 1, nothing is left to chance: z is 0 and the p-value 1, or,
    if a prediction of 0 or 1 was wrong, z is infinite and the p-value the smallest normal float, as
    are all smaller ones. Such an outcome refutes calibration, with or without a test; next to other
    predictions it enters z as any other row.

    Where rows of clusters depend on each other, z is divided by the root of the design effect

    .. math:: D = \frac{\sum_c \left( \sum_{i \in c} u_i \right)^2}{\sum_i u_i^2}, \qquad
              u_i = w_i (y_i - v_i)(1 - 2 v_i),

    and compared with Student's distribution with :math:`1 / \sum_c h_c^2 - 1` degrees of freedom,
    :math:`h_c` the share of cluster c in the variance above. A ratio of variances is stable where
    few clusters have events, unlike the variance of clusters itself.

    References
    ----------
    .. [1] D. J. Spiegelhalter (1986). Probabilistic prediction in patient management and clinical
       trials. Statistics in Medicine 5. :doi:`10.1002/sim.4780050506`

    Examples
    --------
    Of 100 forecasts of 90 %, 80 come true:

    >>> from skcal.inference import spiegelhalter_test
    >>> result = spiegelhalter_test([1] * 80 + [0] * 20, [0.9] * 100)
    >>> round(result.statistic, 3), round(result.pvalue, 5), round(result.estimate, 3)
    (3.333, 0.00086, 0.08)
    """
    refuse_censoring_weights(sample_weight)
    sample, member = reduce_to_clustered_sample(
        y_true,
        y_proba,
        clusters,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    rows = sample.predictions, sample.outcomes, list_weights(sample)
    estimate, statistic = compare_brier(*rows)
    if member is None or statistic == 0 or np.isinf(statistic):
        return TestResult(statistic, normal_pvalue(statistic), estimate, name=_NAME)
    effect, degrees = compare_clusters(*rows, member)
    statistic /= float(np.sqrt(effect))
    return TestResult(statistic, normal_pvalue(statistic, degrees), estimate, name=_NAME)
