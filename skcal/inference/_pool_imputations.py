"""Intervals of several imputed data sets as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from skcal._input._validation import check_confidence_level, check_option
from skcal._numerics.inference._random_effects import pool_estimates
from skcal._tools._arrays import read_numbers
from skcal.inference._interval_result import Interval

_SCALES = {
    "identity": (lambda x: x, lambda x: x),
    "log": (np.log, np.exp),
    "logit": (logit, expit),
}
_RANGES = {"identity": "finite", "log": "above 0", "logit": "between 0 and 1, both excluded"}


def pool_imputations(
    intervals: Sequence[Interval] | Sequence[Sequence[float]],
    *,
    scale: Literal["identity", "log", "logit"] = "identity",
    confidence_level: float = 0.95,
) -> Interval:
    r"""Pool the intervals of several imputed data sets by Rubin's rules.

    Where missing values were imputed several times, compute an interval from each of the completed
    data sets, whatever it is of, and pool them here.

    Parameters
    ----------
    intervals : sequence of Interval, or array-like of shape (n_imputations, 3)
        Estimate, lower and upper end from each data set; two at least.
    scale : {"identity", "log", "logit"}, default="identity"
        Scale on which the intervals are about symmetric: "log" for ratios, such as observed over
        expected, "logit" for probabilities.
    confidence_level : float, default=0.95
        Level of the given intervals, and of the result, in (0, 1).

    Returns
    -------
    Interval
        The mean of the estimates on this scale, with its interval.

    Raises
    ------
    ValueError
        If an argument is invalid, or if an interval has no place on the scale, such as a ratio of 0
        on that of logarithms, or is not finite there.

    See Also
    --------
    observed_expected_ratio : Intervals of a ratio, to be pooled on the scale of logarithms.
    cox_recalibration : Intervals of intercept and slope.
    skcal.survival.survival_calibration : Intervals of censored outcomes.

    Notes
    -----
    The standard error :math:`u_k` of data set k is half the length of its interval on the scale,
    divided by the quantile z of the normal distribution. With m estimates :math:`q_k`, their mean
    has about the variance [1]_

    .. math:: T = \frac{1}{m} \sum_k u_k^2 + B, \qquad
              B = \Bigl(1 + \frac{1}{m}\Bigr) \frac{1}{m - 1} \sum_k (q_k - \bar q)^2 ,

    and the interval the quantiles of Student's distribution with
    :math:`(m - 1) (1 + (T - B) / B)^2` degrees of freedom. The second term is what is not known
    because values are missing. Impute with the outcome among the variables, or the pooled
    calibration is wrong.

    Do not pool the smooth calibration error this way where it is near 0: its interval ends there.

    References
    ----------
    .. [1] D. B. Rubin (1987). Multiple imputation for nonresponse in surveys. Wiley.
       :doi:`10.1002/9780470316696`

    Examples
    --------
    >>> from skcal.inference import pool_imputations
    >>> found = pool_imputations([(1.0, 0.8, 1.25), (1.1, 0.9, 1.35)], scale="log")
    >>> print(found)
    1.05 (0.76 to 1.44)
    """
    check_option("scale", scale, tuple(_SCALES))
    level = check_confidence_level(confidence_level)
    table = read_numbers("intervals", [tuple(one) for one in intervals]).astype(np.float64)
    if table.ndim != 2 or table.shape[1] != 3 or len(table) < 2:
        raise ValueError(
            "intervals must hold two intervals at least, each with estimate, low and high; got "
            f"shape {table.shape}."
        )
    to_scale, back = _SCALES[scale]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = to_scale(table)
    for k, (estimate, low, high) in enumerate(values):
        if not (np.isfinite(values[k]).all() and low <= estimate <= high):
            raise ValueError(
                f"Estimate and ends of intervals must be {_RANGES[scale]} for scale={scale!r}, and "
                f"in order; got {tuple(table[k].tolist())} at place {k}."
            )
    halves = values[:, 2] / 2 - values[:, 1] / 2
    mean, half = pool_estimates(values[:, 0], halves, level)
    return Interval(*(float(back(value)) for value in (mean, mean - half, mean + half)))
