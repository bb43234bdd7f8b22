"""Cox's recalibration over groups: what holds on average, and what to expect of another group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skcal._input._independent_rows import (
    check_log_odds,
    list_weights,
    reduce_to_grouped_sample,
)
from skcal._input._validation import check_confidence_level
from skcal._numerics.inference._cox import CoxLikelihood
from skcal._numerics.inference._random_effects import pool_effects
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_interval

# Options for tables of columns, which are refused: groups made of them overlap.
_GROUP_OPTIONS = {"max_depth": 1, "min_samples": 1, "n_bins": 2, "max_groups": 1 << 20}


@as_record
class PooledEstimate(NamedTuple):
    """Pooled estimate of a coefficient that varies between groups.

    ``print`` shows it as a phrase.

    Attributes
    ----------
    estimate : float
        Mean over groups.
    low, high : float
        Confidence interval of the mean.
    low_of_next, high_of_next : float
        Prediction interval: where the coefficient of another group is expected. Infinite for two
        groups.
    heterogeneity : float
        Standard deviation of the true coefficients among groups.
    """

    estimate: float
    low: float
    high: float
    low_of_next: float
    high_of_next: float
    heterogeneity: float

    def __str__(self) -> str:
        return (
            f"{show_interval(self.estimate, self.low, self.high)} on average, and "
            f"{self.low_of_next:.3g} to {self.high_of_next:.3g} expected in another group"
        )


@as_record
class PooledCoxRecalibration(NamedTuple):
    """Logistic recalibration pooled over groups (random-effects meta-analysis).

    ``print`` shows it as a sentence.

    Attributes
    ----------
    calibration_in_the_large : PooledEstimate
        Intercept at slope 1: above 0 for predictions that are too low as a whole.
    slope : PooledEstimate
        Slope of the log odds: below 1 for predictions that are too extreme. NaN where fewer than
        two groups have one; the table says why.
    table : DataFrame
        A row for each group, in the order of `groups`: ``group``, ``n_samples``, ``n_events``,
        ``calibration_in_the_large`` and ``slope`` with the standard errors ``intercept_error`` and
        ``slope_error``, and ``left_out``, which says why a group is not in a mean, or is empty.
    """

    calibration_in_the_large: PooledEstimate
    slope: PooledEstimate
    table: pd.DataFrame

    def __str__(self) -> str:
        return (
            f"The slope of the log odds is {self.slope} (1 if calibrated); calibration in the "
            f"large is {self.calibration_in_the_large} (0 if calibrated)."
        )


def pooled_cox_recalibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PooledCoxRecalibration:
    r"""Calibration intercept and slope pooled over groups, with prediction intervals.

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
    PooledCoxRecalibration
        Named tuple of ``calibration_in_the_large`` and ``slope``, each a
        :class:`PooledEstimate`, and of a ``table`` of the groups.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, or if fewer than
        two groups have both outcomes.

    See Also
    --------
    cox_recalibration : The same for all rows at once.
    audit_groups : In which groups is the model wrong, with guarantees for small ones.

    Notes
    -----
    Each group has its own :math:`\mathrm{logit}\, P(y = 1) = a + b\, \mathrm{logit}\, v`, fitted by
    maximum likelihood, with standard errors as in :func:`cox_recalibration`. The coefficients of
    groups are pooled as normal variables with these standard errors and a variance among groups, by
    restricted maximum likelihood [1]_. Intervals of the mean are those of Hartung and Knapp [2]_,
    no narrower than with the usual standard error.
    Prediction intervals average over the variance among groups, weighed by its restricted
    likelihood. In simulations of normal estimates (3 to 30 groups, from equal ones to variances far
    above their errors) they held another group in 92 to 100 % of samples; with the most likely
    variance in place of an average [3]_ it was 81 to 100 %. All are approximations for groups with
    many rows of both outcomes: a standard error from few events says little.

    Groups with one outcome have no coefficients and are left out of both means, groups in which a
    threshold separates the outcomes, or with equal predictions, out of that of the slope. The
    column ``left_out`` of the table names the reason. That favours groups with more events. Where
    fewer than two slopes are known, the numbers of the mean slope are NaN.

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

    Examples
    --------
    Six hospitals whose patients are more and less ill than the model knows:

    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.inference import pooled_cox_recalibration
    >>> rng = np.random.default_rng(0)
    >>> hospital = np.repeat(["a", "b", "c", "d", "e", "f"], 500)
    >>> log_odds = rng.normal(-1, 1, size=3000)
    >>> shift = np.repeat([0.5, -0.5, 0.3, 0.0, -0.4, 0.6], 500)
    >>> y_true = (rng.random(3000) < expit(log_odds + shift)).astype(int)
    >>> found = pooled_cox_recalibration(y_true, expit(log_odds), hospital)
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
    check_log_odds(sample)
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
    return PooledCoxRecalibration(
        _pool(table, "calibration_in_the_large", "intercept_error", level),
        _pool(table, "slope", "slope_error", level),
        table,
    )


def _describe(predictions, outcomes, weights):
    """Row of the table."""
    level = slope = (np.nan, np.nan)
    reason, has_both = "", outcomes.min() < outcomes.max()
    if not has_both:
        reason = "one outcome"
    elif predictions.min() == predictions.max():
        reason = "slope: equal predictions"
        level = CoxLikelihood(predictions, outcomes, weights).estimate_level()
    else:
        likelihood = CoxLikelihood(predictions, outcomes, weights)
        level, slope = likelihood.estimate_level(), likelihood.estimate_slope()
        if slope is None:
            reason, slope = "slope: outcomes are separated", (np.nan, np.nan)
    return {
        "n_samples": float(len(outcomes)),
        "n_events": float(outcomes.sum()),
        "calibration_in_the_large": level[0],
        "intercept_error": level[1],
        "slope": slope[0],
        "slope_error": slope[1],
        "left_out": reason,
    }


def _pool(table, name, error, level):
    values, errors = table[name].to_numpy(), table[error].to_numpy()
    is_known = np.isfinite(values) & np.isfinite(errors)
    if np.count_nonzero(is_known) < 2:
        return PooledEstimate(*[np.nan] * len(PooledEstimate._fields))
    return PooledEstimate(*pool_effects(values[is_known], errors[is_known], level))
