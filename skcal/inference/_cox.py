"""Cox's recalibration: intercept and slope of the log odds, and the tests of 0 and 1."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._independent_rows import (
    check_log_odds,
    list_weights,
    reduce_to_clustered_sample,
)
from skcal._input._validation import check_confidence_level
from skcal._numerics.inference._classical_tests import chi_squared_pvalue
from skcal._numerics.inference._cox import CoxLikelihood
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_pvalue
from skcal.inference._interval_result import UNKNOWN, Interval
from skcal.inference._test_result import RECALIBRATION_HYPOTHESES, TestResult, tell_level


@as_record
class CoxRecalibration(NamedTuple):
    """Logistic recalibration (Cox), with tests of the hypothesis that none is needed.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    intercept : Interval
        Intercept that goes with the slope; 0 for a calibrated model.
    slope : Interval
        Slope of the log odds: 1 for a calibrated model, below 1 for predictions that are too
        extreme, above 1 where they are not extreme enough.
    calibration_in_the_large : Interval
        Intercept at slope 1: above 0 for predictions that are too low as a whole.
    test : TestResult
        Likelihood-ratio test of intercept 0 and slope 1. Its estimate is the log loss that the
        fitted recalibration gains on these rows.
    intercept_test : TestResult
        The part of it that tests the intercept, at slope 1: are predictions right as a whole?
    slope_test : TestResult
        The rest of it, which tests the slope, with an intercept that is fitted.
    """

    intercept: Interval
    slope: Interval
    calibration_in_the_large: Interval
    test: TestResult
    intercept_test: TestResult
    slope_test: TestResult

    def __str__(self) -> str:
        if np.isnan(self.slope.estimate):
            return tell_level(self.calibration_in_the_large, self.intercept_test)
        return (
            f"The slope of the log odds is {self.slope}, and 1 if calibrated "
            f"({show_pvalue(self.slope_test.pvalue)}); calibration in the large is "
            f"{self.calibration_in_the_large}, and 0 if calibrated "
            f"({show_pvalue(self.intercept_test.pvalue)}); of both together "
            f"{show_pvalue(self.test.pvalue)}."
        )


def cox_recalibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> CoxRecalibration:
    r"""Calibration intercept and slope (Cox), with confidence intervals and tests.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities, neither 0 nor 1: of the positive label, or one column per label
        with rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows. Those above 0 must lie within a factor of 1e250 of each other.
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
        Level of each interval, in (0, 1).

    Returns
    -------
    CoxRecalibration
        Named tuple of the intervals ``intercept``, ``slope`` and ``calibration_in_the_large``, and
        of ``test``, ``intercept_test`` and ``slope_test``, each a :class:`TestResult`; see
        :class:`CoxRecalibration`.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, if weights
        differ by more than a factor of 1e250, or if all outcomes are equal.

    See Also
    --------
    spiegelhalter_test : A test that takes predictions of 0 and 1.
    skcal.recalibration.PlattScaling : The recalibration itself.

    Notes
    -----
    The model is :math:`\mathrm{logit}\, P(y = 1) = a + b\, \mathrm{logit}\, v`, fitted by maximum
    likelihood without a penalty. The test compares twice the gain in log-likelihood over a = 0,
    b = 1 with the chi-squared distribution with 2 degrees of freedom [1]_. It is the sum of two
    statistics of 1 degree each: for a = 0 while b = 1, and for b = 1 while a is free [3]_. The
    first asks whether predictions are too high or too low as a whole, the second whether they are
    too extreme, or not extreme enough.

    Each interval holds the values whose profile likelihood, maximised over the other coefficient,
    is within the quantile of 1 degree of freedom [2]_; unlike estimate plus and minus a multiple of
    the standard error, it allows for skewed likelihoods. All are approximations for many rows: with
    100 the tests at 5 % reject 5 to 6 % of calibrated samples, with 20 7 to 13 %, and with 10 16 %.
    Only errors of this form are seen: a large p-value does not prove calibration.

    Where the slope is below 1, outcomes vary more than the model of calibration in the large says,
    whose slope is 1. Its interval is then made longer: the deviance is multiplied by I / V, where
    this is below 1, with the information I of the model and the mean square V of the residuals
    [4]_.

    With `clusters` the likelihood is scaled to the effective number of independent rows, from the
    variance between clusters, which the jackknife corrects for their leverage [5]_; quantiles are
    those of Student's and of the F distribution with :math:`1 / \sum_c h_c^2 - 1` degrees of
    freedom, :math:`h_c` the share of cluster c in the information. Clusters of copies of one row
    give what these rows give.

    With unequal weights w the likelihood is scaled to the effective number of rows for a
    coefficient, :math:`\sum w \sum w u^2 / \sum w^2 u^2`, with :math:`u_i` how the coefficient
    moves with row i: near the estimate intervals have the length of the sandwich variance [4]_. The
    test of both reads as many rows as make the score statistic chi-squared, so that it is the sum
    of the two others no longer.

    If all predictions are equal, calibration in the large is all that can be known: the slope, and
    the intercept that goes with it unless log odds are 0, have a NaN estimate and an interval of
    all numbers. The test of both is then that of the intercept, with 1 degree of freedom, and the
    test of the slope has p = 1.

    Log odds of predictions of 0 and 1 are infinite, and to clip them would decide the slope.

    Where a threshold of the predictions separates the outcomes, the slope is infinite. Its interval
    is bounded on one side only; so is that of the intercept, unless the threshold may be below 1/2
    as well as above it, when all values are possible. The intercept is then the limit for the
    middle threshold: infinite, or finite where that is 1/2.

    References
    ----------
    .. [1] D. R. Cox (1958). Two further applications of a model for binary regression. Biometrika
       45. :doi:`10.1093/biomet/45.3-4.562`
    .. [2] D. J. Venzon, S. H. Moolgavkar (1988). A method for computing profile-likelihood-based
       confidence intervals. Applied Statistics 37. :doi:`10.2307/2347496`
    .. [3] M. E. Miller, S. L. Hui, W. M. Tierney (1991). Validation techniques for logistic
       regression models. Statistics in Medicine 10. :doi:`10.1002/sim.4780100805`
    .. [4] D. A. Freedman (2006). On the so-called "Huber sandwich estimator" and "robust standard
       errors". The American Statistician 60. :doi:`10.1198/000313006X152207`
    .. [5] R. M. Bell, D. F. McCaffrey (2002). Bias reduction in standard errors for linear
       regression with multi-stage samples. Survey Methodology 28.

    Examples
    --------
    Predictions with log odds that are twice too large:

    >>> import numpy as np
    >>> from skcal.inference import cox_recalibration
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=2000)
    >>> y_true = (rng.random(2000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    >>> result = cox_recalibration(y_true, 1 / (1 + np.exp(-2 * log_odds)))
    >>> result.slope.low < 0.5 < result.slope.high < 1
    True
    >>> result.intercept.low < 0 < result.intercept.high
    True
    >>> result.test.pvalue < 1e-6
    True
    >>> result.intercept_test.pvalue > 0.05 > result.slope_test.pvalue
    True
    """
    confidence_level = check_confidence_level(confidence_level)
    sample, member = reduce_to_clustered_sample(
        y_true,
        y_proba,
        clusters,
        of_counts="mean_recalibration",
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    check_log_odds(sample, needs_slope=False)
    rows = sample.predictions, sample.outcomes, list_weights(sample)
    likelihood = CoxLikelihood(*rows, member)
    if len(likelihood.log_odds) == 1:
        return _describe_level(likelihood, confidence_level)
    fit = likelihood.fit()
    gains = likelihood.compare(fit), *likelihood.split_gain(fit)
    telling = likelihood.count_for_gains()
    return CoxRecalibration(
        Interval(*likelihood.bound_intercept(fit, confidence_level)),
        Interval(*likelihood.bound_slope(fit, confidence_level)),
        Interval(*likelihood.bound_level(confidence_level)),
        *(
            _test_gain(gain, own, degrees, hypothesis)
            for gain, own, degrees, hypothesis in zip(
                gains, telling, (2, 1, 1), RECALIBRATION_HYPOTHESES, strict=True
            )
        ),
    )


def _describe_level(likelihood, confidence_level):
    """What equal predictions tell: calibration in the large alone."""
    level = Interval(*likelihood.bound_level(confidence_level))
    gain, _ = likelihood.split_gain(likelihood.fit())
    _, telling, _ = likelihood.count_for_gains()
    pairs = zip((gain, gain, 0.0), RECALIBRATION_HYPOTHESES, strict=True)
    tests = [_test_gain(one, telling, 1, hypothesis) for one, hypothesis in pairs]
    intercept = level if likelihood.log_odds[0] == 0 else UNKNOWN
    return CoxRecalibration(intercept, UNKNOWN, level, *tests)


def _test_gain(gain, telling, degrees, hypothesis):
    """Likelihood-ratio test of what a recalibration takes off the mean log loss."""
    statistic = float(2 * telling.n_rows * gain)
    pvalue = chi_squared_pvalue(statistic, degrees, telling.degrees)
    name = "Likelihood ratio"
    return TestResult(statistic, pvalue, gain, name=name, hypothesis=hypothesis)
