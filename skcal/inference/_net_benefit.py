"""Is one decision rule of more use than another: net benefits with a simultaneous band."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._decisions import (
    band_net_benefit,
    check_band,
    count_actions,
    find_base_rate,
    read_net_benefit_thresholds,
    reduce_to_decisions,
)
from skcal._input._validation import check_option
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike


@as_record
class NetBenefitDifference(NamedTuple):
    """Difference in net benefit between predictions and a baseline, with a band.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        In (0, 1).
    difference : ndarray of shape (n_thresholds,)
        Net benefit minus that of the baseline, in true positives per row.
    low, high : ndarray of shape (n_thresholds,)
        Ends of the band. All intervals hold at once.
    """

    thresholds: np.ndarray
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __str__(self) -> str:
        above, below = int((self.low > 0).sum()), int((self.high < 0).sum())
        return (
            f"The net benefit is above that of the baseline at {above} of {len(self.thresholds)} "
            f"thresholds, and below it at {below}, by a band that holds at all of them."
        )


def net_benefit_difference(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    baseline: ArrayLike | Literal["all", "none"],
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    act: Literal[">", ">="] = ">=",
    confidence_level: float = 0.95,
) -> NetBenefitDifference:
    r"""Difference in net benefit, with a simultaneous confidence band over thresholds.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    baseline : {"all", "none"} or array-like
        What is compared with: to act always, to act never, which has a net benefit of 0, or on
        other predictions for the same rows, in the form of `y_proba`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest; other predictions as a baseline need it then.
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
    thresholds : array-like of shape (n_thresholds,), default=None
        Thresholds strictly between 0 and 1, 1000 at most; by default those of
        :func:`~skcal.metrics.net_benefit_curve`. The fewer they are, the narrower is the band:
        name those that matter.
    act : {">", ">="}, default=">="
        Whether one acts at predictions v > t or v >= t; the latter is the custom in medicine.
    confidence_level : float, default=0.95
        Probability, in (0, 1), that the band covers the difference at all thresholds.

    Returns
    -------
    NetBenefitDifference
        Named tuple of ``thresholds``, ``difference``, ``low`` and ``high``.

    Raises
    ------
    ValueError
        If an argument is invalid, or if labels are soft.

    See Also
    --------
    skcal.metrics.net_benefit_curve : The net benefits; it has the definition.
    skcal.diagrams.DecisionCurveDisplay : The net benefits of models, drawn with bands.
    skcal.survival.at_horizon : Outcomes and weights of censored rows, which all three take.

    Notes
    -----
    Where ``low`` is above 0, decisions by the predictions are of more use than the baseline, at all
    these thresholds at once. Only decisions that differ count, so that the band is narrower than
    two bands of net benefits suggest.

    At a threshold t a row gains 1, -1, :math:`t/(1-t)`, :math:`-t/(1-t)` or nothing. From the
    shares of these, an interval for the mean contains what the likelihood ratio or the score test
    would accept, each at the probability of a mean under which the sample is most likely [1]_; both
    stay right where few rows are of one kind, or none. The critical value is the quantile of the
    largest of the standardised errors at all thresholds, taken as jointly normal with the
    covariances of the rows. All is computed without random numbers.

    In simulations (calibrated and over-confident models, a rare event of 2 %, a forest with
    predictions of 0 and 1, and clumped predictions; 100 to 5000 rows) the whole band covered in
    94 to 100 % of samples.

    Of censored rows the weights of :func:`~skcal.survival.at_horizon` make decision curves up to a
    horizon [3]_. The band takes them as known, which makes it slightly too wide, and covered in
    94 to 100 % of samples of 300 and 2000 rows, of which 20, 50 and 75 % were censored before the
    horizon; also with competing events, in clusters, and where three rows were left.

    Where rows of clusters depend on each other, covariances are those of the sums of
    :math:`w_i (d_i - \bar d)` over clusters, with the gain :math:`d_i` of row i, each divided by
    :math:`1 - h_c`, where :math:`h_c` is the share of cluster c in what rows with these decisions
    tell, the mean square of their :math:`d_i - \bar d` [2]_. At each threshold
    :math:`\sum w \sum w (d - \bar d)^2` over this variance is the effective number of independent
    rows, times the squared ratio of the quantiles of the normal and of Student's distribution with
    :math:`1 / \sum_c h_c^2 - 1` degrees of freedom. The mean gain of a cluster varies no more than
    that of a row, so each cluster counts as at least one row. Copies of one row count as that row.
    In simulations of 50 and 200 clusters of equal and of unequal sizes, with thresholds up to .97
    and events down to 2 %, bands of 95 % covered in 96 to 99 % of 400 samples, and bands that
    assume independent rows in 26 to 81 %.

    References
    ----------
    .. [1] A. B. Owen (1988). Empirical likelihood ratio confidence intervals for a single
       functional. Biometrika 75. :doi:`10.1093/biomet/75.2.237`
    .. [2] R. M. Bell, D. F. McCaffrey (2002). Bias reduction in standard errors for linear
       regression with multi-stage samples. Survey Methodology 28.
    .. [3] A. J. Vickers, A. M. Cronin, E. B. Elkin, M. Gonen (2008). Extensions to decision curve
       analysis, a novel method for evaluating diagnostic tests, prediction models and molecular
       markers. BMC Medical Informatics and Decision Making 8:53. :doi:`10.1186/1472-6947-8-53`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import net_benefit_difference
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(2000)
    >>> y_true = (rng.random(2000) < y_proba).astype(int)
    >>> found = net_benefit_difference(y_true, y_proba, "all", thresholds=[0.1, 0.5])
    >>> found.low > 0
    array([ True,  True])
    """
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    data["reduction"] = reduction
    sample = reduce_to_decisions(y_true, y_proba, **data)
    t = read_net_benefit_thresholds(thresholds, find_base_rate(sample))
    level = check_band(t, act, confidence_level)
    own = count_actions(sample, t, act)
    if isinstance(baseline, str):
        check_option("baseline", baseline, ("all", "none"))
        other = baseline
    else:
        sample = reduce_to_decisions(y_true, baseline, names=("y_true", "baseline"), **data)
        other = count_actions(sample, t, act)
        if not np.array_equal(other.sample.outcomes, own.sample.outcomes):
            raise ValueError(
                "baseline must predict the same outcomes; the most probable labels differ in "
                "some rows. Choose one class with pos_label."
            )
    return NetBenefitDifference(t, *band_net_benefit(own, other, t, level, clusters))
