"""Do as many events happen as predicted hazards say, early and late?"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._validation import check_n_bins, check_rng
from skcal._numerics.errors._binned import count_bins
from skcal._numerics.inference._classical_tests import chi_squared_pvalue, divide_by_error
from skcal._numerics.survival._censoring import split_hazard
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._words import show_test
from skcal.survival._d_calibration import RIGHT_CURVES, read_survival


@as_record
class ACalibration(NamedTuple):
    """Result of `a_calibration`: observed and expected events by survival probability.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    statistic : float
        Chi-squared statistic.
    pvalue : float
        Its p-value under the hypothesis that the predicted distributions are right.
    observed : ndarray of int of shape (n_bins,)
        Number of events in bins of the survival probability, from the latest events to the
        earliest.
    expected : float
        Number of events that is expected in each bin.
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins, from 0 to 1.
    """

    statistic: float
    pvalue: float
    observed: np.ndarray
    expected: float
    edges: np.ndarray

    def __str__(self) -> str:
        name = "A-calibration chi-squared"
        return f"{show_test(name, self.statistic, self.pvalue, RIGHT_CURVES)}."


def a_calibration(
    event: ArrayLike,
    survival: ArrayLike,
    *,
    survival_before: ArrayLike | None = None,
    survival_entry: ArrayLike | None = None,
    n_bins: int | Literal["cube_root"] = 10,
    random_state: RandomState = None,
) -> ACalibration:
    r"""A-calibration test of predicted survival probabilities, with power under censoring.

    It asks the same as :func:`d_calibration`, and counts what is known of censored rows: that they
    had no event so far. Nothing is guessed of what came later.

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
        Number of bins; "cube_root" takes that of the number of rows, rounded up. Four events or
        more should be expected in each.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws in discrete time.

    Returns
    -------
    ACalibration
        Named tuple of ``statistic``, ``pvalue``, ``observed``, ``expected`` and ``edges``.

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
    martingale_test : A test of the number of all events, with more power if hazards are all wrong.
    d_calibration : Shares of all rows, censored or not, in equal bins.
    survival_calibration : Calibration at horizons: whether high risks are right, and low ones.
    aj_calibration : Mean risks at many times, also of several kinds of events.

    Notes
    -----
    Of a row that is followed up to where survival is :math:`s_i`, the number of events that is
    expected while survival falls from b to a is the hazard that it goes through,

    .. math:: E_i(a, b) = \log \max(b, s_i) - \log \max(a, s_i),

    and the number of events minus this is a martingale if the model is right. Differences in
    different bins are uncorrelated, and have the variance that is expected of events. With
    :math:`N_k` events in bin k of B, and the edges chosen such that :math:`E = \sum_i E_i` is the
    same in all, the statistic

    .. math:: \chi^2 = \sum_{k=1}^B \frac{(N_k - E)^2}{E}

    is compared with the chi-squared distribution of B degrees of freedom. With given bins this is
    the test of Akritas [1]_, whose estimate of the distribution of censoring under the hypothesis
    amounts to these expected numbers; for predictions it is called A-calibration [2]_. Equal bins
    expect next to no events at low survival probabilities if many rows are censored, and the test
    then rejects too often: 14 to 17 % of right models of 500 rows with 62 and 85 % censored.
    Censoring may depend on the predictions, but given these not on the event.

    At 5 % the test rejected 5 to 6 % of right models of 100, 500 and 2000 rows, up to 85 % of them
    censored, where four events or more were expected in each bin, and 7 % where 1.5 were. Of 500
    rows, 62 % of them censored, it found hazards that were 30 % too high in 58 % of samples, and
    :func:`d_calibration` in 14 %; a wrong shape of the curve in 89 % and 42 %.

    In discrete time the survival probability at the time of an event is only known to lie between
    :math:`S(t)` and :math:`S(t-)`, where right models spread it evenly; it is drawn from there. An
    event between two visits lies between the probabilities of surviving up to these, likewise, see
    :func:`d_calibration`. At equal times events come before censoring.

    A row that was first observed at v > 0 goes through the bins from :math:`S(v)` on: where a or b
    is above that, :math:`S(v)` takes its place. Entry may depend on the predictions, but given
    these not on the event. The test rejected 5 to 6 % of 3000 right models of 100, 300 and 1000
    rows whose entry was later for low risks. Bins of :math:`S(t) / S(v)` found a wrong shape of the
    curve in 33 % of samples of 300 rows, and these in 52 %. See :ref:`delayed-entry`.

    References
    ----------
    .. [1] M. G. Akritas (1988). Pearson-type goodness-of-fit tests: the univariate case. Journal
       of the American Statistical Association 83.
    .. [2] M. R. Simonsen, R. P. Waagepetersen (2025). A-calibration: assessment of prediction
       models for survival data under censoring. BMC Medical Research Methodology 25.
       :doi:`10.1186/s12874-025-02671-6`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.survival import a_calibration, d_calibration
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=1000)
    >>> time, end = rng.exponential(1 / rate), rng.exponential(2, size=1000)
    >>> event, seen = time <= end, np.minimum(time, end)
    >>> a_calibration(event, np.exp(-rate * seen)).pvalue > 0.05
    True
    >>> too_high = np.exp(-1.3 * rate * seen)
    >>> a_calibration(event, too_high).pvalue < 0.01 < d_calibration(event, too_high).pvalue
    True
    """
    n_bins = check_n_bins(n_bins)
    rng = check_rng(random_state)
    is_event, values, before, entry = read_survival(
        event, survival, survival_before, survival_entry
    )
    number = count_bins(n_bins, len(values))
    if survival_before is not None:
        drawn = values + (before - values) * rng.random(len(values))
        values = np.where(is_event, drawn, values)
    observed, expected, edges = split_hazard(is_event, entry, values, number)
    if np.isinf(expected):
        statistic = np.inf
    else:
        ratios = divide_by_error(observed - expected, np.sqrt(expected))
        statistic = float((ratios**2).sum())
    return ACalibration(statistic, chi_squared_pvalue(statistic, number), observed, expected, edges)
