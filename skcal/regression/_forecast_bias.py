"""Whether predictions are too high or too low, by their own distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from skcal._input._predicted._distributions import unwrap
from skcal._input._predicted._points import (
    Ensemble,
    Quantiles,
    find_level,
    read_member_weights,
    read_members,
    sort_quantiles,
)
from skcal._input._predicted._response_rows import check_values, read_pit
from skcal._input._validation import check_sample_weight
from skcal._numerics.distributions._regression import bias_of_quantiles
from skcal._tools._typing import ArrayLike


def forecast_bias(
    y_true: ArrayLike, distribution: Any, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Bias of probabilistic forecasts: whether they are too high or too low, without units.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: an :class:`Ensemble`, :class:`Quantiles` with the median among them, or
        what else :func:`probability_integral_transform` takes.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    float
        The mean bias in [-1, 1]: 1 if all forecasts lie above their targets, -1 if all lie below.
        That of right forecasts is 0 on average.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there are quantiles that cross or have no median.

    See Also
    --------
    weighted_interval_score_decomposition : What forecasts cost that are too high, or too low.
    pit_calibration_error : All errors of the distributions.
    skcal.inference.mean_calibration_test : Whether predicted means are wrong beyond chance.

    Notes
    -----
    With the predicted cumulative distribution function F, that of the members for an ensemble, and
    :math:`F(y^-)` its limit from below, the bias of a row is [1]_

    .. math:: 1 - F(y) - F(y^-) ,

    which is :math:`1 - 2 F(y)` for a continuous distribution, and :math:`1 - F(y) - F(y - 1)` for
    whole numbers. Members that equal the target count half on each side, and those that are NaN
    are left out. With quantiles of the levels :math:`\tau_k` and the median m, and 0 and 1 among
    the levels, it is 0 for y = m and

    .. math:: 1 - 2 \max \{\tau_k : q_k \le y\} \text{ if } y < m, \qquad
              1 - 2 \min \{\tau_k : q_k \ge y\} \text{ if } y > m.

    If the levels are symmetric about 1/2, right quantiles have mean 0.

    References
    ----------
    .. [1] S. Funk, A. Camacho, A. J. Kucharski, R. Lowe, R. M. Eggo, W. J. Edmunds (2019).
       Assessing the performance of real-time epidemic forecasts: A case study of Ebola in the
       Western Area region of Sierra Leone, 2014-15. PLOS Computational Biology 15.
       :doi:`10.1371/journal.pcbi.1006785`

    Examples
    --------
    >>> from scipy.stats import poisson
    >>> from skcal.regression import Ensemble, Quantiles, forecast_bias
    >>> forecast_bias([2.0], Ensemble([[1.0, 3.0, 4.0, 5.0]]))
    0.5
    >>> round(forecast_bias([2.0], Quantiles([[0.0, 1.0, 2.0]], [0.1, 0.5, 0.9])), 3)
    -0.8
    >>> round(forecast_bias([2, 5], poisson([2.0, 9.0])), 3)
    0.373
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    distribution = unwrap(distribution)
    if isinstance(distribution, Quantiles):
        values, levels = sort_quantiles("distribution", distribution, len(targets))
        median = find_level("The levels of distribution", levels, 0.5)
        bias = bias_of_quantiles(targets, values, levels, median)
    elif isinstance(distribution, Ensemble):
        members = read_members(
            "distribution", distribution, len(targets), missing=True, weighted=True
        )
        own, at = read_member_weights("distribution", distribution, members), targets[:, None]
        below, up_to = (own.sum(axis=1, where=side) for side in (members < at, members <= at))
        bias = 1 - (below + up_to) / own.sum(axis=1)
    else:
        low, high = read_pit(targets, distribution)
        bias = 1 - low - high
    return float(np.average(bias, weights=weights))
