"""Pseudo-values: numbers that stand for outcomes of censored rows."""

from __future__ import annotations

from numbers import Real

import numpy as np

from skcal._input._censored_times import check_horizon, read_causes, read_horizons
from skcal._input._strata import read_others, read_strata
from skcal._input._validation import check_sample_weight
from skcal._tools._typing import ArrayLike


def pseudo_values(
    event: ArrayLike,
    time: ArrayLike,
    *,
    horizon: float | ArrayLike,
    strata: ArrayLike | None = None,
    cause: int | None = None,
    censored: int | None = None,
    censoring: ArrayLike | tuple[ArrayLike, ...] | None = None,
    sample_weight: ArrayLike | None = None,
) -> np.ndarray:
    r"""Pseudo-values: numbers that stand for the outcomes of censored rows at a horizon.

    For given features their mean is the risk of the event up to the horizon. So all functions of
    predicted means take them as targets, and predicted risks as predictions. Intervals and tests
    then allow for the estimated censoring.

    Parameters
    ----------
    event : array-like of shape (n_samples,)
        1 or True if `time` is the time of the event, 0 or False if the row was censored then. With
        `cause` the kind of the event, a positive integer, or `censored`.
    time : array-like of shape (n_samples,)
        Times until the event, or until a row was censored, not negative.
    horizon : float or array-like of shape (n_horizons,)
        The event up to this time is the outcome. Positive; several ones must increase. It may be
        later than all times only if the last rows had an event.
    strata : array-like of shape (n_samples,), default=None
        Labels of parts of the rows in which censoring is alike; by default it is alike in all.
    cause : int, default=None
        Kind of event whose risk is predicted, where an event of another kind makes it impossible.
        None says that there is one kind.
    censored : int, default=None
        Code of censored rows, used with `cause`, see :func:`at_horizon`.
    censoring : tuple (event, time) or (event, time, strata), or array-like, default=None
        Other rows, such as those on which the model was fitted, of which the estimate is, see
        Notes; in the forms of :func:`at_horizon`. None takes the rows themselves.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sampling weights of any scale, such as those of a case-cohort design: a row of
        weight 2 counts as two rows. Give the same weights to what takes the pseudo-values. It
        must be None with `censoring`: the estimate is that of the other rows.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_horizons)
        Real numbers: 0 and 1 where no row was censored before the horizon, and else also below 0
        and above 1.

    Raises
    ------
    ValueError
        If an argument is invalid, if the last rows of a stratum are censored before a horizon, or
        if a row is followed for longer, up to a horizon, than all rows of `censoring`.

    Warns
    -----
    UserWarning
        If no event is of the kind `cause`, or if a row that is left at a horizon stands for more
        than a tenth of all, or of its stratum, because others were censored.

    See Also
    --------
    survival_calibration : All that these tell of predicted risks at several horizons.
    at_horizon : Outcomes of 0 and 1 with weights, for measures and diagrams of classes.
    skcal.inference.mean_calibration_test : A test that takes them, with clusters.
    skcal.inference.audit_mean_groups : Groups in which predicted risks are wrong.
    skcal.inference.prediction_powered_targets : The same for rows without a label, by verdicts.

    Notes
    -----
    Let :math:`\hat F(h; w)` be the Aalen-Johansen estimate of the risk from rows with weights w.
    The pseudo-value of row i is that of the infinitesimal jackknife [2]_,

    .. math:: \theta_i = \hat F(h) + n \frac{\partial \hat F(h; w)}{\partial w_i}
              \Big|_{w = 1},

    up to a term of order 1 / n the jackknife's :math:`n \hat F - (n - 1) \hat F_{-i}` of [1]_. The
    mean of the pseudo-values is :math:`\hat F(h)`. If censoring depends neither on the event nor on
    the features, or only through the strata, within which all is computed, the mean given the
    features converges to the risk given these [3]_. At equal times events come before censoring.

    With `sample_weight` v the estimate is that of these weights, n is their sum, and the derivative
    is taken at w = v, so that the weighted mean of the pseudo-values is :math:`\hat F(h)`. Rows
    with whole weights have the values of repeated rows.

    With `censoring` the estimate is that of the other rows, to which the row is added with a weight
    that tends to 0. A pseudo-value then depends on no other row of its sample, and its mean given
    the features is the risk if rows are censored as the others are, whatever the risks of the
    others: events of each row are divided by the probability not to be censored before, and what is
    added for a censored row has the mean 0. Where censoring is not the same, the mean of all
    pseudo-values is wrong, too; without `censoring` it is not.

    Each pseudo-value depends on all rows, but so little that they may be treated as independent:
    variances are then not too small for many rows [3]_. They are those of the actual rows, however
    many are censored, so that functions which estimate the variance from the targets, as those of
    means do, give valid intervals and tests.

    Where rows come under observation late, count their times from then on, and take risks given
    survival up to then, see :ref:`delayed-entry`. Pseudo-values of an estimate with delayed entry
    would not have the risk as their mean given the features.

    References
    ----------
    .. [1] P. K. Andersen, J. P. Klein, S. Rosthøj (2003). Generalised linear models for correlated
       pseudo-observations, with applications to multi-state models. Biometrika 90.
       :doi:`10.1093/biomet/90.1.15`
    .. [2] E. T. Parner, P. K. Andersen, M. Overgaard (2023). Regression models for censored
       time-to-event data using infinitesimal jack-knife pseudo-observations, with applications to
       left-truncation. Lifetime Data Analysis 29. :doi:`10.1007/s10985-023-09597-5`
    .. [3] M. Overgaard, E. T. Parner, J. Pedersen (2017). Asymptotic theory of generalized
       estimating equations based on jack-knife pseudo-observations. Annals of Statistics 45.
       :doi:`10.1214/16-AOS1516`

    Examples
    --------
    The second row leaves before the horizon. Of the two that were followed further, one had the
    event in time:

    >>> from skcal.survival import pseudo_values
    >>> pseudo_values([1, 0, 1, 0], [1, 2, 3, 4], horizon=3).round(3)
    array([ 1.  ,  0.5 ,  1.25, -0.25])

    Of other rows one was censored before the horizon, and one had the event:

    >>> known = [0, 1, 1, 0], [1, 2, 4, 5]
    >>> pseudo_values([1, 0, 1, 0], [1, 2, 3, 4], horizon=3, censoring=known).round(3)
    array([ 1.   , -0.111,  1.222, -0.111])

    >>> import numpy as np
    >>> from skcal.inference import mean_calibration_test
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=1000)
    >>> time, end = rng.exponential(1 / rate), rng.exponential(5, size=1000)
    >>> risk = 1 - np.exp(-2 * rate)
    >>> y = pseudo_values(time <= end, np.minimum(time, end), horizon=2)
    >>> mean_calibration_test(y, risk, random_state=0).pvalue > 0.05
    True
    >>> mean_calibration_test(y, 1.5 * risk, random_state=0).pvalue < 0.01
    True
    """
    is_event, is_kind, seen = read_causes(event, time, cause, censored)
    is_one = isinstance(horizon, Real)
    horizons = np.array([check_horizon(horizon)]) if is_one else read_horizons("horizon", horizon)
    weights = check_sample_weight(sample_weight, len(seen))
    others = None if censoring is None else read_others(censoring, cause, censored)
    if weights is not None and others is not None:
        raise ValueError(
            "sample_weight must be None with censoring, of whose rows the estimate is; give the "
            "weights to what takes the pseudo-values."
        )
    parts = read_strata(strata, is_event, seen, weights, others)
    parts.check_followed("horizon", horizons[-1])
    values = parts.find_pseudo_values(is_kind, horizons)
    return values[:, 0] if is_one else values
