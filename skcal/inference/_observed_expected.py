"""Observed to expected: how many events there were for each that was predicted."""

from __future__ import annotations

from typing import Literal

from skcal._input._independent_rows import list_weights, reduce_to_clustered_sample
from skcal._input._validation import check_confidence_level
from skcal._numerics.errors._bregman import mean_outcome
from skcal._numerics.inference._effective_rows import (
    count_for_mean,
    count_in_clusters,
    count_telling,
    find_shares,
)
from skcal._numerics.inference._score_interval import find_exact_interval
from skcal._tools._typing import ArrayLike
from skcal.inference._interval_result import Interval


def observed_expected_ratio(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Ratio of the observed to the expected number of events (O:E), with an exact interval.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1], not all 0: of the positive label, or one column per
        label with rows that sum to 1.
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
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    confidence_level : float, default=0.95
        Level of the interval, in (0, 1).

    Returns
    -------
    Interval
        The ratio with its interval: 1 for predictions that are right as a whole, above 1 where
        they are too low.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, or if all predictions are 0.

    See Also
    --------
    actual_expected_ratio : The same for counts and amounts.
    prediction_powered_calibration : The same where few rows are labelled and all are judged.
    cox_recalibration : Its ``calibration_in_the_large`` is the same on the scale of log odds.
    skcal.metrics.integrated_calibration_index : Errors that cancel in the ratio count there.

    Notes
    -----
    The ratio is :math:`\sum_i y_i / \sum_i v_i` over outcomes y and predictions v. Its interval is
    that of Clopper and Pearson [1]_ for the share of events among n rows, divided by the mean
    prediction, which is taken as given. It covers in at least the share `confidence_level` of
    samples, also where events are rare and none is observed: with
    :math:`\alpha = 1 - \mathrm{confidence\_level}` the interval is then
    :math:`[0, (1 - (\alpha/2)^{1/n}) / \bar v]`. It is on the safe side, since the number of events
    varies less among rows with unequal probabilities than among such with equal ones.

    The usual interval [2]_ has the ends :math:`(O/E) \exp(\pm z \sqrt{(1 - O/n) / O})`, and does
    not exist without an event. Where one event is expected in 500 rows, it covers in 61 % of
    samples for a level of 95 %, Wilson's score interval in 92 %, and this one in 98 %; where 20
    are expected in 2000 rows, in 94.5, 94.5 and 95.8 %.

    With unequal weights w sums are weighted, and n is the effective number of rows [3]_, the
    smallest of: :math:`\sum w \sum w r^2 / \sum w^2 r^2` with the residuals :math:`r_i = y_i -
    (O/E) v_i`, and the sum of the weights over :math:`(1 - p) q_1 + p q_0`, where :math:`q_k` is
    :math:`\sum w^2 / \sum w` over rows of outcome k, and p the mean outcome or the mean prediction.

    Where rows of clusters depend on each other, the first of these numbers is
    :math:`\sum w \sum w r^2 / \sum_c (\sum_{i \in c} w_i r_i / (1 - h_c))^2`, with the share
    :math:`h_c` of cluster c in the expected events, times the squared ratio of the quantiles of the
    normal and of Student's distribution with :math:`1 / \sum_c h_c^2 - 1` degrees of freedom.
    Clusters of copies of one row give what these rows give.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934). The use of confidence or fiducial limits illustrated
       in the case of the binomial. Biometrika 26. :doi:`10.1093/biomet/26.4.404`
    .. [2] T. P. A. Debray, J. A. A. G. Damen, K. I. E. Snell, J. Ensor, L. Hooft, J. B. Reitsma,
       R. D. Riley, K. G. M. Moons (2017). A guide to systematic review and meta-analysis of
       prediction model performance. BMJ 356. :doi:`10.1136/bmj.i6460`
    .. [3] E. L. Korn, B. I. Graubard (1998). Confidence intervals for proportions with small
       expected number of positive counts estimated from survey data. Survey Methodology 24.

    Examples
    --------
    Two events where four were expected:

    >>> from skcal.inference import observed_expected_ratio
    >>> ratio = observed_expected_ratio([1, 1] + 14 * [0], 16 * [0.25])
    >>> ratio.estimate, round(ratio.low, 2), round(ratio.high, 2)
    (0.5, 0.06, 1.53)
    """
    confidence_level = check_confidence_level(confidence_level)
    sample, member = reduce_to_clustered_sample(
        y_true,
        y_proba,
        clusters,
        of_counts="actual_expected_ratio",
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    shares = find_shares(list_weights(sample))
    expected = float(sample.predictions @ shares)
    if expected == 0:
        raise ValueError("y_proba must not be 0 in all rows, or no event is expected; all are 0.")
    share = float(mean_outcome(sample.outcomes @ shares, (1 - sample.outcomes) @ shares))
    n_rows = min(
        count_for_mean(shares, sample.outcomes, share, expected),
        _count_telling(shares, sample, share, expected, member, confidence_level),
    )
    low, high = find_exact_interval(share, n_rows, 1 - confidence_level)
    return Interval(*(float(end) / expected for end in (share, low, high)))


def _count_telling(shares, sample, share, expected, member, confidence_level):
    """By the residuals y - (O / E) v, times E."""
    residuals = expected * sample.outcomes - share * sample.predictions
    if member is None:
        return count_telling(shares, residuals)
    pulls, information = shares * residuals, shares * sample.predictions
    telling = count_in_clusters(pulls @ residuals, pulls, information, shares, member)
    return telling.discount(confidence_level)
