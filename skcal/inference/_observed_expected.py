"""Observed to expected: how many events there were for each that was predicted."""

from __future__ import annotations

from typing import Literal

from skcal._independent_rows import check_counts, list_weights, reduce_to_labelled_sample
from skcal._numerics.errors._bregman import mean_outcome
from skcal._numerics.inference._score_interval import find_exact_interval
from skcal._typing import ArrayLike
from skcal._validation import check_confidence_level
from skcal.inference._interval import Interval


def observed_expected_ratio(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
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
        If an argument is invalid, if labels are soft, if all predictions are 0, or if weights sum
        to less than 2 for more than one row.

    See Also
    --------
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

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934). The use of confidence or fiducial limits illustrated
       in the case of the binomial. Biometrika 26. :doi:`10.1093/biomet/26.4.404`
    .. [2] T. P. A. Debray, J. A. A. G. Damen, K. I. E. Snell, J. Ensor, L. Hooft, J. B. Reitsma,
       R. D. Riley, K. G. M. Moons (2017). A guide to systematic review and meta-analysis of
       prediction model performance. BMJ 356. :doi:`10.1136/bmj.i6460`

    Examples
    --------
    Two events where four were expected:

    >>> from skcal.inference import observed_expected_ratio
    >>> ratio = observed_expected_ratio([1, 1] + 14 * [0], 16 * [0.25])
    >>> ratio.estimate, round(ratio.low, 2), round(ratio.high, 2)
    (0.5, 0.06, 1.53)
    """
    confidence_level = check_confidence_level(confidence_level)
    sample = reduce_to_labelled_sample(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    check_counts(sample)
    weights = list_weights(sample)
    expected = float(sample.predictions @ weights) / sample.total_weight
    if expected == 0:
        raise ValueError("y_proba must not be 0 in all rows, or no event is expected; all are 0.")
    share = float(mean_outcome(sample.outcomes @ weights, (1 - sample.outcomes) @ weights))
    low, high = find_exact_interval(share, sample.total_weight, 1 - confidence_level)
    return Interval(share / expected, float(low) / expected, float(high) / expected)
