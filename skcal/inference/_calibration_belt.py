"""The GiViTI calibration belt: a curve of the log odds that is tested and bounded."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._belt import FIRST_DEGREES, LARGEST_RATIO, find_belt, measure_deviance
from skcal._input._independent_rows import check_log_odds, reduce_to_clustered_sample
from skcal._input._validation import check_confidence_level, check_option
from skcal._numerics.inference._classical_tests import clip_pvalue
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_band
from skcal.inference._test_result import TestResult


@as_record
class CalibrationBelt(NamedTuple):
    """Confidence band for a calibration curve that is a polynomial of the log odds.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    prob_pred : ndarray of shape (n_points,)
        Predictions, increasing, from the smallest to the largest that came.
    prob_true : ndarray of shape (n_points,)
        The fitted curve there.
    low : ndarray of shape (n_points,)
        Lower end of the band there.
    high : ndarray of shape (n_points,)
        Upper end of the band there.
    degree : int
        Degree of the polynomial, 1 to 4.
    confidence_level : float
        Level of the band, for all predictions at once.
    """

    prob_pred: np.ndarray
    prob_true: np.ndarray
    low: np.ndarray
    high: np.ndarray
    degree: int
    confidence_level: float

    def __str__(self) -> str:
        is_inside = (self.low <= self.prob_pred) & (self.prob_pred <= self.high)
        return f"{show_band(self.prob_pred, is_inside, self.confidence_level)}."

    def find_deviations(self) -> tuple[np.ndarray, np.ndarray]:
        """Predictions where the diagonal leaves the band, so that the model is miscalibrated.

        Both arrays are empty where the band holds all of the diagonal. Ends of regions are found
        on the straight lines between neighbours in `prob_pred`.

        Returns
        -------
        too_low : ndarray of shape (n_regions, 2)
            First and last prediction of every region where outcomes are more frequent than
            predicted.
        too_high : ndarray of shape (n_regions, 2)
            First and last prediction of every region where outcomes are less frequent than
            predicted.
        """
        return (
            _find_regions(self.prob_pred, self.low - self.prob_pred),
            _find_regions(self.prob_pred, self.prob_pred - self.high),
        )


def calibration_belt_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
    data: Literal["external", "training"] = "external",
) -> TestResult:
    r"""Test calibration against a polynomial of the log odds of data-driven degree (GiViTI).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities, neither 0 nor 1: of the positive label, or one column per label
        with rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows. Those above 0 must lie within a factor of 1e12 of each other.
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
    data : {"external", "training"}, default="external"
        "external" for data that the model has not seen. "training" for the data that a logistic
        regression with an intercept was fitted on, by maximum likelihood: intercept and slope are
        then 0 and 1, and degrees start at 2.

    Returns
    -------
    TestResult
        The likelihood-ratio statistic, its p-value, and as estimate the mean log loss that the
        polynomial gains on these rows.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, if weights
        differ by more than a factor of 1e12, if all outcomes are equal, or
        if there are fewer than two different predictions, three for training data, or fewer than
        two rows of an outcome for these.

    See Also
    --------
    calibration_belt : Where the curve lies.
    cox_recalibration : The same for degree 1, with intervals of intercept and slope.

    Notes
    -----
    The model is a polynomial of the log odds,

    .. math:: \mathrm{logit}\, P(y = 1) = \sum_{k=0}^m a_k\, (\mathrm{logit}\, v)^k.

    From m = 1 on, or 2 for training data, the degree grows as long as the next power lowers the
    deviance by the quantile .95 of the chi-squared distribution with 1 degree of freedom, up to m =
    4; and up to 2 k - 1 with k rows of the rarer outcome, as polynomials of degree 2 k separate any
    k. The statistic is twice the gain in log-likelihood over the predictions themselves. As the
    powers were selected, it is larger than chi-squared: for a calibrated model and many rows, given
    m, it is the sum of a chi-squared variable of 2 degrees of freedom (1 for training data) and one
    of 1 degree for each further power, each of these given that it passed the quantile [1]_, [2]_.
    The p-value is the tail of that law, by integration.

    With unequal weights each step is scaled to its effective number of rows, see
    :func:`cox_recalibration`, so that the statistic is the sum of its steps.

    With `clusters` the effective number is that of the clusters. What a step gains is then compared
    with the F distribution of that function, and the chi-squared variable that is exceeded as often
    is added to the statistic. Degrees go up to 2 k - 1 with k clusters that have the rarer outcome.

    All are approximations for many rows. With 100 to 1000 calibrated rows that expect two to five
    events, the test at 5 % rejects 5 to 6 % of samples, at 1 % 1.5 to 3 %; with 20 rows of any
    probabilities 9 % and 3 %. Waves beyond degree 4 are hardly seen.

    References
    ----------
    .. [1] G. Nattino, S. Finazzi, G. Bertolini (2014). A new calibration test and a reappraisal of
       the calibration belt for the assessment of prediction models based on dichotomous outcomes.
       Statistics in Medicine 33. :doi:`10.1002/sim.6100`
    .. [2] G. Nattino, S. Finazzi, G. Bertolini (2016). A new test and graphical tool to assess the
       goodness of fit of logistic regression models. Statistics in Medicine 35.
       :doi:`10.1002/sim.6744`

    Examples
    --------
    Log odds that are wrong at both ends, which intercept and slope do not show:

    >>> import numpy as np
    >>> from skcal.inference import calibration_belt_test, cox_recalibration
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=2000)
    >>> true_log_odds = log_odds + 0.3 * (log_odds**2 - 1)
    >>> y_true = (rng.random(2000) < 1 / (1 + np.exp(-true_log_odds))).astype(int)
    >>> y_proba = 1 / (1 + np.exp(-log_odds))
    >>> calibration_belt_test(y_true, y_proba).pvalue < 0.001
    True
    >>> cox_recalibration(y_true, y_proba).test.pvalue > 0.05
    True
    """
    check_option("data", data, FIRST_DEGREES)
    sample, member = _read_sample(
        y_true, y_proba, sample_weight, pos_label, labels, reduction, clusters
    )
    statistic, pvalue, gain = measure_deviance(sample, data, member)
    return TestResult(statistic, clip_pvalue(pvalue), gain, name="Calibration belt")


def calibration_belt(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
    data: Literal["external", "training"] = "external",
    confidence_level: float = 0.95,
) -> CalibrationBelt:
    r"""Confidence band for a calibration curve that is a polynomial of the log odds (GiViTI).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities, neither 0 nor 1: of the positive label, or one column per label
        with rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows. Those above 0 must lie within a factor of 1e12 of each other.
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
    data : {"external", "training"}, default="external"
        "external" for data that the model has not seen. "training" for the data that a logistic
        regression with an intercept was fitted on, by maximum likelihood: intercept and slope are
        then 0 and 1, and degrees start at 2.
    confidence_level : float, default=0.95
        Level of the band, in (0, 1).

    Returns
    -------
    CalibrationBelt
        Named tuple of ``prob_pred``, ``prob_true``, ``low``, ``high``, ``degree`` and
        ``confidence_level``, with the method ``find_deviations``; see :class:`CalibrationBelt`.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, if weights
        differ by more than a factor of 1e12, if all outcomes are equal, if
        there are fewer than two different predictions, three for training data, or if a polynomial
        of the chosen degree separates the outcomes, as it always does for training data with a
        single row of an outcome.

    See Also
    --------
    calibration_belt_test : The test that the belt inverts.
    isotonic_band : A band that is exact, for curves that do not decrease.
    skcal.diagrams.ReliabilityDisplay : Draws the belt with ``band="belt"``.

    Notes
    -----
    The degree of the polynomial is chosen as in :func:`calibration_belt_test`. All coefficients
    whose deviance from the best ones is within the quantile of the statistic of that test, given
    the degree, make a confidence region [1]_; at each of some 100 predictions the belt is the range
    of its curves. So it holds for all predictions at once. It leaves the diagonal only where the
    test rejects at that level; where the test rejects, it may still hold the diagonal. With unequal
    weights the deviance is scaled to the effective number of rows for the log odds at the
    prediction. With `clusters` the effective number is that of the clusters, and the quantile that
    of the F distribution for as many terms, see :func:`cox_recalibration`.

    A degree that is too low makes a curve too simple, and the belt is narrow all the same: unlike
    :func:`isotonic_band` it relies on the shape of the curve. In return it needs fewer rows. The
    choice of the degree is not allowed for: of samples with the true log odds
    :math:`x + 0.3\, (x^2 - 1)`, x normal, a belt of 95 % holds the curve in 52 % at 200 rows, where
    degree 1 is chosen in 48 %, in 85 % at 500, and in all at 1500 (400, 200 and 200 samples). All
    are approximations for many rows.

    More than 4096 distinct predictions are merged in 1024 cells of log odds for the ends of the
    belt, not for the choice of the degree. Moments are kept, so that the ends change by less
    than 1e-6 of their distance.

    References
    ----------
    .. [1] G. Nattino, S. Finazzi, G. Bertolini (2014). A new calibration test and a reappraisal of
       the calibration belt for the assessment of prediction models based on dichotomous outcomes.
       Statistics in Medicine 33. :doi:`10.1002/sim.6100`

    Examples
    --------
    Predictions that are right in the middle and too high at both ends:

    >>> import numpy as np
    >>> from skcal.inference import calibration_belt
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=2000)
    >>> true_log_odds = log_odds - 0.3 * log_odds**2
    >>> y_true = (rng.random(2000) < 1 / (1 + np.exp(-true_log_odds))).astype(int)
    >>> belt = calibration_belt(y_true, 1 / (1 + np.exp(-log_odds)))
    >>> belt.degree
    2
    >>> too_low, too_high = belt.find_deviations()
    >>> len(too_low), len(too_high)
    (0, 2)
    """
    level = check_confidence_level(confidence_level)
    check_option("data", data, FIRST_DEGREES)
    sample, member = _read_sample(
        y_true, y_proba, sample_weight, pos_label, labels, reduction, clusters
    )
    return CalibrationBelt(
        **find_belt(sample, level, data, member)._asdict(), confidence_level=level
    )


def _read_sample(y_true, y_proba, sample_weight, pos_label, labels, reduction, clusters):
    sample, member = reduce_to_clustered_sample(
        y_true,
        y_proba,
        clusters,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    check_log_odds(sample, LARGEST_RATIO)
    return sample, member


def _find_regions(places, excess):
    """First and last place of regions where a piecewise linear function is positive."""
    above = np.concatenate([[False], excess > 0, [False]])
    firsts, lasts = np.flatnonzero(np.diff(above)).reshape(-1, 2).T
    return np.column_stack(
        [_find_zeros(places, excess, firsts, -1), _find_zeros(places, excess, lasts - 1, 1)]
    )


def _find_zeros(places, excess, inside, step):
    """Where the function reaches 0 beyond places at which it is positive."""
    outside = np.clip(inside + step, 0, len(places) - 1)
    fall = np.where(outside == inside, 1.0, excess[inside] - excess[outside])
    way = np.where(outside == inside, 0.0, excess[inside] / fall)
    return places[inside] + way * (places[outside] - places[inside])
