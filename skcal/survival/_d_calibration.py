"""Is the predicted distribution of times right at all times?"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._censored_times import read_times
from skcal._input._validation import check_flag, check_n_bins, check_rng, check_unit_range
from skcal._numerics.errors._binned import count_bins
from skcal._numerics.inference._classical_tests import chi_squared_pvalue
from skcal._numerics.survival._censoring import share_survival
from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._warnings import warn
from skcal._tools._words import show_test

_EXPLAIN_ENTRY = (
    " All are predicted from time 0 on: give S(t), not S(t) / S(entry), and S(entry), not the time "
    "of entry."
)

# What chance is that of.
RIGHT_CURVES = "right survival curves"


@as_record
class DCalibration(NamedTuple):
    """Result of `d_calibration`: predicted survival probabilities at the event times.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    statistic : float
        Chi-squared statistic.
    pvalue : float
        Its p-value under the hypothesis that the predicted distributions are right on average.
    shares : ndarray of shape (n_bins,)
        Shares of the rows in equal bins of the survival probability, all alike if it is right.
    """

    statistic: float
    pvalue: float
    shares: np.ndarray

    def __str__(self) -> str:
        name = "D-calibration chi-squared"
        return f"{show_test(name, self.statistic, self.pvalue, RIGHT_CURVES)}."


def d_calibration(
    event: ArrayLike,
    survival: ArrayLike,
    *,
    survival_before: ArrayLike | None = None,
    survival_entry: ArrayLike | None = None,
    n_bins: int | Literal["cube_root"] = 10,
    randomized: bool = False,
    random_state: RandomState = None,
) -> DCalibration:
    r"""D-calibration test of predicted survival probabilities, at all times at once.

    Parameters
    ----------
    event : array-like of shape (n_samples,)
        1 or True where the event was seen, 0 or False where the row was censored.
    survival : array-like of shape (n_samples,)
        Predicted probability, in [0, 1], to survive the time of the event, or that at which the row
        was censored: :math:`S(t_i \mid x_i)`. :func:`survival_at` reads it from curves.
    survival_before : array-like of shape (n_samples,), default=None
        Predicted probability to survive up to just before this time, :math:`S(t_i - \mid x_i)`, not
        below `survival`. Needed in discrete time, such as whole weeks, and where events come
        between two visits, see Notes; None says that time is continuous, so that both are the same.
    survival_entry : array-like of shape (n_samples,), default=None
        For rows that came under observation late: the predicted probability of surviving up to
        then, above 0 and not below `survival` and `survival_before`. None says that all rows are
        observed from time 0 on.
    n_bins : int or "cube_root", default=10
        Number of equal bins; "cube_root" takes that of the number of rows, rounded up.
    randomized : bool, default=False
        Whether to draw the place of a row from its interval, see Notes, rather than to share the
        row among the bins.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    DCalibration
        Named tuple of ``statistic``, ``pvalue`` and ``shares``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Warns
    -----
    UserWarning
        If `survival_before` is not given although many events, five or more and over 5 %, have the
        same survival probability, or five events or more have each one on average: in discrete
        time, or where curves are read as steps.

    See Also
    --------
    survival_at : The probabilities that it takes, from curves that are known at some times.
    a_calibration : The same question, with more power where many rows are censored.
    martingale_test : A test of the number of events, with power where many rows are censored.
    survival_calibration : Calibration at horizons: whether high risks are right, and low ones.
    aj_calibration : Mean risks at many times, also of several kinds of events.

    Notes
    -----
    If the model is right, a survival probability is uniform on [0, 1] at the time of the event (the
    distribution calibration of Haider et al. [1]_). Of some rows only an interval is known in which
    it lies, evenly spread: of a row that is censored where survival is s, [0, s]; of an event in
    discrete time, :math:`[S(t), S(t-)]`, as for the :func:`probability integral transform
    <skcal.regression.probability_integral_transform>` of counts [2]_. Such a row is shared among
    the bins as its interval is. With :math:`N_k` rows in bin k of B,

    .. math:: \chi^2 = \frac{B}{n} \sum_k \Bigl(N_k - \frac{n}{B}\Bigr)^2,

    compared with the chi-squared distribution of B - 1 degrees of freedom. Shares vary less than
    rows, so that p is too large where many rows are censored, or times are few. With `randomized`
    each row is drawn, not shared: p has its level, and the test more power, but both depend on the
    draws.

    An event between two visits (interval censoring) lies between the probabilities of surviving up
    to the later one, its `survival`, and up to the earlier one, its `survival_before`. A row
    without an event so far is censored at its last visit, with this probability twice. The visits
    must not tell of the event what the features do not: those that are planned do not, and those of
    rows that fall ill do. With visits that are one to three years apart, the test rejected at 5 %
    one of 3000 right models of 500 rows, and 5 % of them with `randomized`.

    At equal times events come before censoring: `survival` of a censored row is that to survive its
    time.

    A row that was first observed at v > 0 has survived v, so that :math:`S(t) / S(v)` takes the
    place of :math:`S(t)`, see :ref:`delayed-entry`.

    References
    ----------
    .. [1] H. Haider, B. Hoehn, S. Davis, R. Greiner (2020). Effective ways to build and evaluate
       individual survival distributions. JMLR 21(85). :doi:`10.48550/arXiv.1811.11347`
    .. [2] C. Czado, T. Gneiting, L. Held (2009). Predictive model assessment for count data.
       Biometrics 65. :doi:`10.1111/j.1541-0420.2009.01191.x`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.survival import d_calibration
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=2000)
    >>> time, end = rng.exponential(1 / rate), rng.exponential(5, size=2000)
    >>> seen = np.minimum(time, end)
    >>> d_calibration(time <= end, np.exp(-rate * seen)).pvalue > 0.05
    True
    >>> d_calibration(time <= end, np.exp(-1.3 * rate * seen)).pvalue < 0.001
    True

    The same model is right in whole years, too:

    >>> year, last = np.ceil(time), np.ceil(end)
    >>> seen = np.minimum(year, last)
    >>> survival, before = np.exp(-rate * seen), np.exp(-rate * (seen - 1))
    >>> d_calibration(year <= last, survival, survival_before=before).pvalue > 0.05
    True
    """
    n_bins = check_n_bins(n_bins)
    check_flag("randomized", randomized)
    rng = check_rng(random_state)
    is_event, low, high, entry = read_survival(event, survival, survival_before, survival_entry)
    low, high = low / entry, high / entry
    low, high = np.where(is_event, low, 0.0), np.where(is_event, high, low)
    if randomized:
        low = high = low + (high - low) * rng.random(len(low))
    n_rows = len(low)
    number = count_bins(n_bins, n_rows)
    counts = share_survival(low, high, number)
    statistic = float(number / n_rows * ((counts - n_rows / number) ** 2).sum())
    return DCalibration(statistic, chi_squared_pvalue(statistic, number - 1), counts / n_rows)


def read_survival(event, survival, survival_before, survival_entry):
    """Events as booleans, and probabilities to survive a time, up to just before, and the entry."""
    values = _read_probabilities("survival", survival)
    is_event = _read_events(event, values)
    before, entry, lower = values, np.ones(len(values)), "survival"
    if survival_before is None:
        _warn_of_ties(values[is_event])
    else:
        before = _read_not_below("survival_before", survival_before, "survival", values)
        lower = "survival_before"
    if survival_entry is not None:
        entry = _read_not_below("survival_entry", survival_entry, lower, before, _EXPLAIN_ENTRY)
        if not entry.all():
            raise ValueError(
                "survival_entry must be above 0, because rows have survived up to their entry; got "
                f"0 at row {np.flatnonzero(entry == 0)[0]}."
            )
    return is_event, values, before, entry


def _read_events(event, values):
    """Events as booleans, one for each value."""
    if event is None:
        raise ValueError(
            "event must hold 1 or 0 for each row, whether its event was seen; got None. An event "
            "between two visits is 1: give the probabilities of surviving up to both as survival "
            "and survival_before."
        )
    event = read_numbers("event", event)
    if event.shape != values.shape:
        raise ValueError(
            f"event must have the shape of survival, {values.shape}; got shape {event.shape}."
        )
    return read_times(event, np.zeros(len(values)))[0]


def _read_not_below(name, given, lower, values, advice=""):
    """Probabilities of an argument, none of them below those of another, or an error."""
    found = _read_probabilities(name, given)
    if len(found) != len(values):
        raise ValueError(
            f"{name} must hold a number for each of the {len(values)} rows of survival; got "
            f"{len(found)}."
        )
    if (found < values).any():
        bad = np.flatnonzero(found < values)[0]
        raise ValueError(
            f"{name} must not be below {lower}, {values[bad]} at row {bad}; got {found[bad]}."
            f"{advice}"
        )
    return found


def _read_probabilities(name, given):
    values = read_numbers(name, given)
    if values.ndim != 1 or len(values) == 0:
        advice = " survival_at reads curves at the time of each row." if values.ndim == 2 else ""
        raise ValueError(
            f"{name} must be one-dimensional and not empty; got shape {values.shape}.{advice}"
        )
    is_large = values > 2
    if is_large.any():
        bad = np.flatnonzero(is_large)[0]
        raise ValueError(
            f"{name} must hold probabilities in [0, 1], neither times nor per cent; got "
            f"{values[bad]} at row {bad}."
        )
    return check_unit_range(name, values).astype(np.float64)


def _warn_of_ties(values):
    """In continuous time no two events have the same survival probability, up to rounding."""
    found, counts = np.unique(values[values > 0], return_counts=True)
    most = counts.max(initial=0)
    if most >= 5 and (most > len(values) / 20 or counts.mean() >= 5):
        warn(
            f"{most} of the {len(values)} events have the survival probability "
            f"{found[counts.argmax()]:g}. In discrete time also give survival_before, the "
            "probability of surviving up to just before; in continuous time read curves between "
            "the times of their grid, by survival_at. Else correct models are rejected."
        )
