"""Validation over groups: what holds on average, and what to expect of another group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skcal._input._independent_rows import (
    check_log_odds,
    list_weights,
    reduce_to_grouped_sample,
)
from skcal._input._validation import check_confidence_level
from skcal._numerics.inference._concordance import find_concordance
from skcal._numerics.inference._cox import CoxLikelihood
from skcal._numerics.inference._few_events import compare_events, correct_level, correct_ratio
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.inference._pool_estimates import PooledEstimate, pool

# Options for tables of columns, which are refused: groups made of them overlap.
_GROUP_OPTIONS = {"max_depth": 1, "min_samples": 1, "n_bins": 2, "max_groups": 1 << 20}


@as_record
class PooledValidation(NamedTuple):
    """Calibration and discrimination pooled over groups (random-effects meta-analysis).

    ``print`` shows it as sentences.

    Attributes
    ----------
    observed_expected : PooledEstimate
        Ratio of observed to expected events: above 1 for predictions that are too low as a whole.
    calibration_in_the_large : PooledEstimate
        Intercept at slope 1: above 0 for predictions that are too low as a whole.
    slope : PooledEstimate
        Slope of the log odds: below 1 for predictions that are too extreme. NaN where fewer than
        two groups have one; the table says why.
    c_statistic : PooledEstimate
        Area under the ROC curve; NaN where fewer than two groups have one.
    table : DataFrame
        A row for each group, in the order of `groups`: ``group``, ``n_samples``, ``n_events``,
        ``observed_expected``, ``calibration_in_the_large``, ``slope`` and ``c_statistic`` with the
        standard errors ``ratio_error``, ``intercept_error``, ``slope_error`` and ``c_error``, and
        ``left_out``, which says why a group is not in a mean, or is empty.
    """

    observed_expected: PooledEstimate
    calibration_in_the_large: PooledEstimate
    slope: PooledEstimate
    c_statistic: PooledEstimate
    table: pd.DataFrame

    def __str__(self) -> str:
        slope = f"The slope of the log odds is {self.slope} (1 if calibrated)"
        if np.isnan(self.slope.estimate):
            slope = "Too few groups have a slope of the log odds"
        return (
            f"O:E is {self.observed_expected}. {slope}; calibration in the large is "
            f"{self.calibration_in_the_large} (0 if calibrated). The C statistic is "
            f"{self.c_statistic}."
        )


def pooled_validation(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PooledValidation:
    r"""O:E, intercept, slope and C statistic pooled over groups, with prediction intervals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities, neither 0 nor 1: of the positive label, or one column per label
        with rows that sum to 1.
    groups : array-like of shape (n_samples,)
        The group of each row: a hospital, a site, a year.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest; by default predictions are then the confidences, and outcomes whether
        their labels came true.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).

    Returns
    -------
    PooledValidation
        Named tuple of ``observed_expected``, ``calibration_in_the_large``, ``slope`` and
        ``c_statistic``, each a :class:`PooledEstimate`, and of a ``table`` of the groups.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, or if fewer than
        two groups have both outcomes.

    See Also
    --------
    pool_estimates : The same from estimates that are published.
    cox_recalibration, observed_expected_ratio : The same for all rows at once.
    audit_groups : In which groups is the model wrong, with guarantees for small ones.

    Notes
    -----
    Each group has its own :math:`\mathrm{logit}\, P(y = 1) = a + b\, \mathrm{logit}\, v`, fitted by
    maximum likelihood, with standard errors as in :func:`cox_recalibration`; its ratio of observed
    to expected events, with the standard error of its logarithm :math:`\sqrt{(1 - O/n) / O}`; and
    its C statistic with the standard error of DeLong et al. [4]_. Ratios are pooled on the log
    scale, C statistics on the logit scale [5]_, as :func:`pool_estimates` does: with a variance
    among groups by restricted maximum likelihood [1]_ and intervals of the mean by Hartung and
    Knapp [2]_, no narrower than with the usual standard error.
    Logarithms of ratios, and intercepts of rare events, are too low by about half their variance,
    which is added before they are pooled. Where many events came by chance the error is small, and
    would give a group too much weight: the mean takes the error of the events to expect if all
    groups had one intercept, within a factor of two. The table has what was seen.
    Prediction intervals average over the variance among groups, weighed by its restricted
    likelihood. In simulations of normal estimates (3 to 30 groups, from equal ones to variances far
    above their errors) they held another group in 92 to 100 % of samples; with the most likely
    variance in place of an average [3]_ it was 81 to 100 %. All are approximations for groups with
    many rows of both outcomes: a standard error from few events says little.

    Groups with one outcome are left out of all means, groups in which a threshold separates the
    outcomes, or with equal predictions, out of those of the slope and of the C statistic. The
    column ``left_out`` of the table names the reason. That favours groups with more events: with
    three in each on average, a ratio of 1 comes out about a tenth too high. Where fewer than two
    slopes or C statistics are known, the numbers of their mean are NaN.

    References
    ----------
    .. [1] W. Viechtbauer (2005). Bias and efficiency of meta-analytic variance estimators in the
       random-effects model. Journal of Educational and Behavioral Statistics 30.
       :doi:`10.3102/10769986030003261`
    .. [2] J. Hartung, G. Knapp (2001). A refined method for the meta-analysis of controlled
       clinical trials with binary outcome. Statistics in Medicine 20. :doi:`10.1002/sim.1009`
    .. [3] J. P. T. Higgins, S. G. Thompson, D. J. Spiegelhalter (2009). A re-evaluation of
       random-effects meta-analysis. Journal of the Royal Statistical Society A 172.
       :doi:`10.1111/j.1467-985X.2008.00552.x`
    .. [4] E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988). Comparing the areas under two or
       more correlated receiver operating characteristic curves: a nonparametric approach.
       Biometrics 44. :doi:`10.2307/2531595`
    .. [5] K. I. E. Snell, J. Ensor, T. P. A. Debray, K. G. M. Moons, R. D. Riley (2018).
       Meta-analysis of prediction model performance across multiple studies: which scale helps
       ensure between-study normality for the C-statistic and calibration measures? Statistical
       Methods in Medical Research 27. :doi:`10.1177/0962280217705678`

    Examples
    --------
    Six hospitals whose patients are more and less ill than the model knows:

    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.inference import pooled_validation
    >>> rng = np.random.default_rng(0)
    >>> hospital = np.repeat(["a", "b", "c", "d", "e", "f"], 500)
    >>> log_odds = rng.normal(-1, 1, size=3000)
    >>> shift = np.repeat([0.5, -0.5, 0.3, 0.0, -0.4, 0.6], 500)
    >>> y_true = (rng.random(3000) < expit(log_odds + shift)).astype(int)
    >>> found = pooled_validation(y_true, expit(log_odds), hospital)
    >>> found.slope.low < 1 < found.slope.high
    True

    On average the model is right, but in another hospital it may be off by a factor of the odds:

    >>> mean = found.calibration_in_the_large
    >>> mean.low < 0 < mean.high
    True
    >>> mean.low_of_next < -0.5, mean.high_of_next > 0.5
    (True, True)
    """
    level = check_confidence_level(confidence_level)
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    sample, found = reduce_to_grouped_sample(y_true, y_proba, groups, data, _GROUP_OPTIONS)
    if found.n_samples.sum() != len(sample.predictions):
        raise ValueError(
            "groups must hold one label for each row; got groups that overlap or leave out rows."
        )
    check_log_odds(sample, needs_slope=False)
    weights = list_weights(sample)
    table = pd.DataFrame(
        [
            {"group": name}
            | _describe(sample.predictions[rows], sample.outcomes[rows], weights[rows])
            for name, rows in zip(found.names, found.list_rows(), strict=True)
        ]
    )
    n_known = np.isfinite(table["intercept_error"]).sum()
    if n_known < 2:
        raise ValueError(
            "groups must hold at least two groups with both outcomes; "
            f"got {n_known} of {len(table)}."
        )
    corrected = _correct(table, sample, weights, found.list_rows())
    return PooledValidation(
        _pool(corrected, "observed_expected", "ratio_error", "log", level),
        _pool(corrected, "calibration_in_the_large", "intercept_error", "identity", level),
        _pool(table, "slope", "slope_error", "identity", level),
        _pool(table, "c_statistic", "c_error", "logit", level),
        table,
    )


def _describe(predictions, outcomes, weights):
    """Row of the table."""
    unknown = np.nan, np.nan
    ratio, level, slope, concordance, reasons = unknown, unknown, unknown, unknown, []
    if outcomes.min() == outcomes.max():
        reasons = ["one outcome"]
    else:
        likelihood = CoxLikelihood(predictions, outcomes, weights)
        ratio = compare_events(predictions, outcomes, weights)
        level = likelihood.estimate_level()
        is_equal = predictions.min() == predictions.max()
        slope = None if is_equal else likelihood.estimate_slope()
        if slope is None:
            slope = unknown
            reasons.append("slope: " + ("equal predictions" if is_equal else "separated outcomes"))
        concordance, reason = _order(predictions, outcomes, weights)
        if reason:
            reasons.append(f"C statistic: {reason}")
    return {
        "n_samples": float(len(outcomes)),
        "n_events": float(outcomes.sum()),
        "observed_expected": ratio[0],
        "ratio_error": ratio[1],
        "calibration_in_the_large": level[0],
        "intercept_error": level[1],
        "slope": slope[0],
        "slope_error": slope[1],
        "c_statistic": concordance[0],
        "c_error": concordance[1],
        "left_out": "; ".join(reasons),
    }


def _correct(table, sample, weights, rows):
    """Ratios and intercepts without the bias of few events, and errors that do not know these."""
    log_odds = logit(sample.predictions)
    usual, _ = CoxLikelihood(sample.predictions, sample.outcomes, weights).estimate_level()
    corrected = table.copy()
    for group, own in zip(table.itertuples(), rows, strict=True):
        if np.isnan(group.intercept_error):
            continue
        shares = weights[own] / weights[own].sum()
        observed, expected = shares @ sample.outcomes[own], shares @ expit(log_odds[own] + usual)
        corrected.loc[group.Index, ["observed_expected", "ratio_error"]] = correct_ratio(
            group.observed_expected, group.ratio_error, observed, expected
        )
        corrected.loc[group.Index, ["calibration_in_the_large", "intercept_error"]] = correct_level(
            group.calibration_in_the_large, group.intercept_error, log_odds[own], shares, usual
        )
    return corrected


def _order(predictions, outcomes, weights):
    """The C statistic with its standard error, and why it has none."""
    events, others = predictions[outcomes == 1], predictions[outcomes == 0]
    value, error = find_concordance(predictions, outcomes, weights)
    reason = ""
    if predictions.min() == predictions.max():
        reason = "equal predictions"
    elif events.min() > others.max() or events.max() < others.min():
        reason = "separated outcomes"
    elif min(len(events), len(others)) == 1:
        reason = "an outcome has a single row"
    return (value, np.nan if reason else error), reason


def _pool(table, name, error, scale, level):
    values, errors = table[name].to_numpy(), table[error].to_numpy()
    is_known = np.isfinite(values) & np.isfinite(errors)
    if np.count_nonzero(is_known) < 2:
        return PooledEstimate(*[np.nan] * 6, scale, level)
    return pool(values[is_known], errors[is_known], scale, level)
