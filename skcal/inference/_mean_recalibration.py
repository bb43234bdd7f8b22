"""Recalibration of means: intercept and slope of their link, and the tests of 0 and 1."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._predicted._means import (
    check_power,
    read_recalibrated_means,
    read_recalibrated_risks,
)
from skcal._input._validation import check_confidence_level, check_option
from skcal._numerics.inference._mean_recalibration import MeanRecalibrationModel
from skcal._numerics.recalibration._mean_scaling import LOGIT
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal._tools._words import show_pvalue
from skcal.inference._interval_result import UNKNOWN, Interval
from skcal.inference._test_result import RECALIBRATION_HYPOTHESES, TestResult, tell_level

# Fewer targets that are not 0, among more that are, tell too little of how amounts vary.
_FEWEST_AMOUNTS = 10


@as_record
class MeanRecalibration(NamedTuple):
    """Intercept and slope of predicted means, with tests of the hypothesis of 0 and 1.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    intercept : Interval
        Intercept that goes with the slope; 0 for a calibrated model.
    slope : Interval
        Slope of the predictions, or of their logarithms or log odds: 1 if calibrated, below 1 for
        predictions that differ too much, above 1 where they do not differ enough.
    calibration_in_the_large : Interval
        Intercept at slope 1: above 0 for predictions that are too low as a whole.
    test : TestResult
        Test of intercept 0 and slope 1. Its estimate is the mean deviance that the fitted
        recalibration gains on these rows.
    intercept_test : TestResult
        Test of intercept 0 at slope 1: are predictions right as a whole?
    slope_test : TestResult
        Test of slope 1, with an intercept that is fitted.
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
            f"The slope of the means is {self.slope}, and 1 if calibrated "
            f"({show_pvalue(self.slope_test.pvalue)}); calibration in the large is "
            f"{self.calibration_in_the_large}, and 0 if calibrated "
            f"({show_pvalue(self.intercept_test.pvalue)}); of both together "
            f"{show_pvalue(self.test.pvalue)}."
        )


def mean_recalibration(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    power: float = 0,
    link: Literal["auto", "logit"] = "auto",
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> MeanRecalibration:
    r"""Calibration intercept and slope of predicted means, with robust intervals and tests.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_pred : array-like of shape (n_samples,)
        Predicted means, finite.
    power : float, default=0
        Power of the variance as a function of the mean, as in
        :class:`sklearn.linear_model.TweedieRegressor`: 0 for real targets, with means themselves on
        the line; 1 for counts (Poisson), 2 for amounts above 0 (gamma), between them for amounts
        with zeros, with logarithms of means on the line. Predictions must then be positive, and
        targets not negative.
    link : {"auto", "logit"}, default="auto"
        "logit" is for predicted probabilities whose targets are not labels, such as
        :func:`~skcal.survival.pseudo_values`: log odds are on the line. Targets may be any numbers,
        `power` must be 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. Exposures are weights of
        rates: for counts n of times t, `y_true` is n / t and `sample_weight` is t.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).

    Returns
    -------
    MeanRecalibration
        Named tuple of the intervals ``intercept``, ``slope`` and ``calibration_in_the_large``, and
        of ``test``, ``intercept_test`` and ``slope_test``, each a :class:`TestResult`; see
        :class:`MeanRecalibration`.

    Raises
    ------
    ValueError
        If an argument is invalid, if predictions are nearly equal beside targets that are
        1e100 times as large, if weights differ by more than a factor of 1e100, if all targets are
        equal, or, with a power above 0, if a prediction is below 1e-100, if a target is negative,
        or 0 with a power of 2, or if the targets above 0 all lie at the smallest, or all at the
        largest prediction. With link "logit", if a prediction is
        not between 0 and 1, or if no intercept and slope fit best.

    Warns
    -----
    UserWarning
        If fewer than ten targets, and less than half of them, are not 0: tests then reject right
        predictions too often. Not with link "logit".

    See Also
    --------
    cox_recalibration : The same for probabilities.
    actual_expected_ratio : The ratio of the sums, with an interval for skewed targets.
    mean_calibration_test : Finds errors of any form.
    skcal.survival.survival_calibration : The same for risks of censored rows, at several horizons.
    skcal.regression.corp_regression_decomposition : The miscalibration without a form.

    Notes
    -----
    The model is :math:`g(E\,y) = a + b\, g(v)` for predictions v [1]_, with the identity g for a
    power of 0, and the logarithm otherwise. Coefficients have the least mean Tweedie deviance of
    this power; that of calibration in the large has b = 1. With link "logit" they have the least
    mean of :math:`2 \log(1 + e^{\eta}) - 2 y \eta` for log odds :math:`\eta`, twice the log loss,
    which is convex for all real targets. With a power of 1 it is the logarithm of
    :func:`actual_expected_ratio`. Other powers give rows other weights, but wherever the model
    holds, they estimate the same coefficients.

    Only means are assumed: variances may be any, so that counts may be over-dispersed. With the
    score :math:`s_i` of row i at the estimate, its information :math:`A_i` (minus the derivative of
    the score) and the sum A, the covariance is that of the jackknife [2]_,

    .. math:: \sum_i d_i d_i^\top, \qquad d_i = (A - A_i)^{-1} s_i ,

    which is HC3 for a power of 0; A in place of :math:`A - A_i` would make it HC0. With `clusters`
    i runs over clusters (CR3). Intervals and tests of one coefficient have the quantiles of
    Student's distribution with

    .. math:: 1 \Big/ \max\Bigl(\sum_i h_i^2,\; \sum_i q_i^2 - \frac{2}{n}\Bigr) - 1

    degrees of freedom, with :math:`h_i` the share of i of n in the information on this coefficient,
    and :math:`q_i` its share in the variance :math:`\sum_i d_i^2`: a few large amounts make it that
    of a few rows. The second sum is :math:`3 / n - 2 / n` for normal :math:`d_i`. The test of both
    has Hotelling's distribution, with shares in the variance along the difference that is tested.
    Statistics are squared t ratios and Hotelling's :math:`T^2`. Where a fit is impossible without
    one row or cluster, intervals are infinite, and p-values are 1.

    If all predictions are equal, calibration in the large is all that can be known: intercept and
    slope have a NaN estimate and an interval of all numbers. The test of both is then that of the
    intercept, and the test of the slope has p = 1.

    All are approximations for many rows, and skewed targets need more of them. At the default power
    the three tests at 5 % rejected 1 to 7 % of calibrated samples of 100 rows, and 2 to 6 % of
    1000, of normal targets, counts, and log-normal amounts with a standard deviation of logarithms
    of 1; but 11 to 15 % and 6 to 10 % of amounts of which 70 % are 0, and 9 to 16 % of 1000 or 4000
    premiums of which 97 % are, with a standard deviation of 1.5. Nearly all slopes of amounts
    that are rejected are too low. With a power of 1 it was 5 to 11 %, 6 to 9 % and 4 to 7 %, so
    that this is the power for amounts with zeros.
    ``benchmarks/bench_mean_recalibration.py`` draws the samples.

    References
    ----------
    .. [1] B. De Cock Campo (2023). Towards reliable predictive analytics: a generalized calibration
       framework. :doi:`10.48550/arXiv.2309.08559`
    .. [2] R. M. Bell, D. F. McCaffrey (2002). Bias reduction in standard errors for linear
       regression with multi-stage samples. Survey Methodology 28.

    Examples
    --------
    Numbers of claims, and predictions with logarithms that are twice too large:

    >>> import numpy as np
    >>> from skcal.inference import mean_recalibration
    >>> rng = np.random.default_rng(0)
    >>> logarithm = rng.normal(size=2000)
    >>> y_true = rng.poisson(np.exp(logarithm))
    >>> result = mean_recalibration(y_true, np.exp(2 * logarithm), power=1)
    >>> result.slope.low < 0.5 < result.slope.high < 1
    True
    >>> result.slope_test.pvalue < 1e-6
    True
    """
    confidence_level = check_confidence_level(confidence_level)
    check_option("link", link, ("auto", LOGIT))
    power = check_power(power)
    if link == LOGIT:
        if power:
            raise ValueError(f"power must be 0 with link='logit'; got {power:g}.")
        rows = read_recalibrated_risks(y_true, y_pred, sample_weight, clusters)
    else:
        rows = read_recalibrated_means(y_true, y_pred, power, sample_weight, clusters)
        _warn_of_few_amounts(rows.targets)
    model = MeanRecalibrationModel(
        rows.targets,
        rows.predictions,
        rows.list_weights(),
        rows.member,
        LOGIT if link == LOGIT else power,
    )
    raw, level = model.measure(), model.fit_level()
    of_level = level.test(0), raw - level.loss
    intercept = slope = UNKNOWN
    tests = of_level, of_level, ((0.0, 1.0), 0.0)
    if model.has_slope:
        both = model.fit()
        intercept = Interval(*both.bound(0, 0.0, confidence_level))
        slope = Interval(*both.bound(1, 1.0, confidence_level))
        tests = (
            (both.test_all(), raw - both.loss),
            of_level,
            (both.test(1), level.loss - both.loss),
        )
    return MeanRecalibration(
        intercept,
        slope,
        Interval(*level.bound(0, 0.0, confidence_level)),
        *(
            TestResult(statistic, pvalue, max(float(gain), 0.0), name="Wald", hypothesis=hypothesis)
            for ((statistic, pvalue), gain), hypothesis in zip(
                tests, RECALIBRATION_HYPOTHESES, strict=True
            )
        ),
    )


def _warn_of_few_amounts(targets):
    n_amounts = np.count_nonzero(targets)
    if n_amounts < min(_FEWEST_AMOUNTS, len(targets) / 2):
        warn(
            f"y_true is 0 in all but {n_amounts} of {len(targets)} rows. With fewer than "
            f"{_FEWEST_AMOUNTS}, right predictions are rejected too often."
        )
