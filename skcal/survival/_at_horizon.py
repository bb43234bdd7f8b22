"""Censored times as outcomes at a horizon, with weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._censored_times import check_horizon, read_causes
from skcal._input._censoring_weights import CensoringWeights
from skcal._input._strata import read_others, read_strata
from skcal._input._validation import check_sample_weight
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike


@as_record
class HorizonOutcomes(NamedTuple):
    """Outcomes at a time horizon, with weights; see `at_horizon`.

    Attributes
    ----------
    y_true : ndarray of int of shape (n_samples,)
        1 where the event came up to the horizon; 0 where it did not, or where that is not known.
    sample_weight : ndarray of shape (n_samples,)
        0 where it is not known, and else at least 1, or the sampling weight of the row. The array
        knows that it depends on the outcomes: tests that cannot allow for it refuse it, and parts
        of it.
    """

    y_true: np.ndarray
    sample_weight: np.ndarray


def at_horizon(
    event: ArrayLike,
    time: ArrayLike,
    *,
    horizon: float,
    strata: ArrayLike | None = None,
    cause: int | None = None,
    censored: int | None = None,
    censoring: ArrayLike | tuple[ArrayLike, ...] | None = None,
    sample_weight: ArrayLike | None = None,
) -> HorizonOutcomes:
    r"""Outcomes at a time horizon, with weights that correct for censoring (IPCW).

    With them every measure, diagram and recalibrator of predicted risks works for survival models.

    Parameters
    ----------
    event : array-like of shape (n_samples,)
        1 or True if `time` is the time of the event, 0 or False if the row was censored then. With
        `cause` the kind of the event, a positive integer, or `censored`.
    time : array-like of shape (n_samples,)
        Times until the event, or until a row was censored, not negative.
    horizon : float
        The event up to this time is the outcome. Positive; it may be later than all times only if
        the last rows had an event.
    strata : array-like of shape (n_samples,), default=None
        Labels of parts of the rows in which censoring is alike; by default it is alike in all.
    cause : int, default=None
        Kind of event whose risk is predicted, where an event of another kind makes it impossible.
        None says that there is one kind.
    censored : int, default=None
        Code of censored rows, used with `cause`: 1 where R has 1 = censored, 2 = dead. None is 0,
        which must then occur; 0 says that it need not, because all rows may have had an event.
    censoring : tuple (event, time) or (event, time, strata), or array-like, default=None
        Other rows, such as those on which the model was fitted, from which it is learned how rows
        are censored. Also in the form of ``y`` in :class:`RiskRecalibration`: a structured array of
        scikit-survival, or two columns. Events are coded as in `event`; with `strata` give theirs.
        None learns it from the rows themselves.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sampling weights of any scale, by which weights are multiplied, such as those
        of a case-cohort design.

    Returns
    -------
    HorizonOutcomes
        Named tuple of ``y_true`` and ``sample_weight``.

    Raises
    ------
    ValueError
        If an argument is invalid, if the last rows of a stratum are censored before the horizon, so
        that nobody knows what comes then, or if a row is followed for longer, up to the horizon,
        than all rows of `censoring`.

    Warns
    -----
    UserWarning
        If no event is of the kind `cause`, or if a row that is left at the horizon stands for more
        than a tenth of all, or of its stratum, because others were censored.

    See Also
    --------
    pseudo_values : Targets for functions of predicted means, whose intervals allow for censoring.
    survival_calibration : Calibration of predicted risks at several horizons, with tests.
    skcal.inference.net_benefit_difference : Decisions up to the horizon, with a band.
    aj_calibration : Mean risks at many times.

    Notes
    -----
    With :math:`G(t)` the Kaplan-Meier estimate of the probability not to be censored before t, the
    weight of a row with time t is [1]_ [2]_

    .. math:: \frac{1\{t \le h,\ \mathrm{event}\}}{G(t)} + \frac{1\{t \ge h\} - 1\{t = h,\
              \mathrm{event}\}}{G(h)},

    with events of all kinds, and 0 for rows that were censored before the horizon h. At equal times
    events come before censoring, so that a row that is censored at h is known to have no event up
    to h: follow-up may end at the horizon. Weighted means are then consistent for the means of all
    rows, if censoring depends neither on the event nor on the predictions, or only through the
    strata.

    The weights sum to the number of rows, or to the sum of `sample_weight` (of a moderate scale).
    Without strata the weighted mean of the outcomes is the Kaplan-Meier estimate of the risk, and
    with `cause` that of Aalen and Johansen.

    With `censoring` G is that of the other rows, and the weight of a row depends on no other row of
    its sample. The weights then sum to the number of rows only on average. Weighted means divide by
    the sum of the weights w, and ``brier_score`` of scikit-survival by the number of rows: it is
    the weighted mean times the mean of w. Rows must be censored as the others are; if they were
    recruited later, and followed for a shorter time, they are not.

    Whether censoring depends on a covariate x can be seen: the weighted mean of x is then another
    than its mean over all rows, also where x is the predicted risk. Then make strata of x.

    An event that comes late has a larger weight, and no event the largest one: weights depend on
    the outcomes. Intervals and the tests of :func:`~skcal.inference.cox_recalibration`,
    :func:`~skcal.inference.calibration_belt_test` and
    :func:`~skcal.inference.hosmer_lemeshow_test` allow for it, see :ref:`weights-in-inference`.
    They treat the weights as known, and take the mean of weighted predictions, so that they are
    longer than those of :func:`survival_calibration`: that of observed over expected by a third
    with 75 % of the rows censored. Tests that draw outcomes from the predictions, such as
    :func:`~skcal.inference.calibration_test`, and with them the report, refuse these weights;
    :func:`martingale_test` and :func:`d_calibration` need none. The array carries a mark for that,
    which a data frame or another library does not keep.

    An event of another kind is not censoring: who died of something else has not had this event at
    any later time, and counts with the outcome 0. Say so with `cause`.

    References
    ----------
    .. [1] J. M. Robins, D. M. Finkelstein (2000). Correcting for noncompliance and dependent
       censoring in an AIDS clinical trial with inverse probability of censoring weighted (IPCW)
       log-rank tests. Biometrics 56. :doi:`10.1111/j.0006-341X.2000.00779.x`
    .. [2] E. Graf, C. Schmoor, W. Sauerbrei, M. Schumacher (1999). Assessment and comparison of
       prognostic classification schemes for survival data. Statistics in Medicine 18.
       :doi:`10.1002/(SICI)1097-0258(19990915/30)18:17/18<2529::AID-SIM274>3.0.CO;2-5`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.metrics import smooth_ece
    >>> from skcal.survival import at_horizon
    >>> at_horizon([1, 0, 1, 0], [1, 2, 3, 4], horizon=3)
    HorizonOutcomes(y_true=array([1, 0, 1, 0]), sample_weight=array([1. , 0. , 1.5, 1.5]))

    Other rows, of which one in four is censored before the horizon:

    >>> known = [0, 1, 1, 0], [1, 2, 3, 4]
    >>> at_horizon([1, 0, 1, 0], [1, 2, 3, 4], horizon=3, censoring=known).sample_weight.round(2)
    array([1.  , 0.  , 1.33, 1.33])

    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=5000)
    >>> time, end = rng.exponential(1 / rate), rng.exponential(5, size=5000)
    >>> outcomes = at_horizon(time <= end, np.minimum(time, end), horizon=2)
    >>> risk = 1 - np.exp(-2 * rate)
    >>> smooth_ece(outcomes.y_true, risk, sample_weight=outcomes.sample_weight) < 0.02
    True
    """
    is_event, is_outcome, times = read_causes(event, time, cause, censored)
    horizon = check_horizon(horizon)
    given = check_sample_weight(sample_weight, len(times))
    others = None if censoring is None else read_others(censoring, cause, censored)
    parts = read_strata(strata, is_event, times, given, others)
    parts.check_followed("horizon", horizon)
    parts.warn_of_few(np.array([horizon]))
    is_over = is_event & (times <= horizon)
    numbers = np.where(is_over | (times >= horizon), 1.0 if given is None else given, 0.0)
    followed = parts.find_followed(np.minimum(times, horizon))
    weights = np.divide(numbers, followed, where=numbers > 0, out=np.zeros(len(times)))
    y_true = (is_over & is_outcome).astype(np.intp)
    return HorizonOutcomes(y_true, weights.view(CensoringWeights))
