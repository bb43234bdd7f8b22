"""Do as many events happen as predicted hazards say?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._numerics.inference._classical_tests import divide_by_error, normal_pvalue
from skcal._numerics.survival._censoring import expect_events
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_test
from skcal.survival._d_calibration import read_survival


@as_record
class MartingaleTest(NamedTuple):
    """Result of `martingale_test`: observed and expected numbers of events.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    statistic : float
        Observed minus expected events over the standard deviation; above 0 where the model predicts
        too few.
    pvalue : float
        Its two-sided p-value under the hypothesis that the predicted hazards are right.
    observed : int
        Number of events.
    expected : float
        Number of events that is expected of the time that each row was followed.
    """

    statistic: float
    pvalue: float
    observed: int
    expected: float

    def __str__(self) -> str:
        found = show_test("z", self.statistic, self.pvalue, "right hazards")
        return f"{self.observed} events where {self.expected:.4g} were expected; {found}."


def martingale_test(
    event: ArrayLike,
    survival: ArrayLike,
    *,
    survival_before: ArrayLike | None = None,
    survival_entry: ArrayLike | None = None,
) -> MartingaleTest:
    r"""One-sample log-rank test: observed against expected numbers of events.

    It has power against hazards that are all too high or too low, however many rows are censored.
    It sees no error that evens out: too many early events and too few late ones, or high risks that
    are too high and low ones that are too low.

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

    Returns
    -------
    MartingaleTest
        Named tuple of ``statistic``, ``pvalue``, ``observed`` and ``expected``.

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
    a_calibration : The same in bins of the predicted survival probability.
    survival_calibration : The ratio of observed to expected events up to horizons.
    d_calibration : A test of the whole distribution of times.
    aj_calibration : Mean risks at many times.

    Notes
    -----
    Of a row that is followed up to the time t, :math:`-\log S(t \mid x)` events are expected, its
    cumulative hazard, and the difference is a martingale if the model is right. With O events, and
    E of them expected of all rows, the statistic is [1]_

    .. math:: z = \frac{O - E}{\sqrt E},

    compared with the standard normal distribution. Hazards multiplied by O / E would give as many
    events as there were. Censoring may depend on the predictions, but given these not on the event.

    In discrete time the survival probability at the time of an event is only known to lie between
    :math:`S(t)` and :math:`S(t-)`, where right models spread it evenly, as they do the
    :func:`probability integral transform <skcal.regression.probability_integral_transform>` of
    counts. With U uniform on this interval the row counts with the mean of :math:`-\log U` in E,
    and the variance is E minus the variances of :math:`-\log U`, summed over events. An event
    between two visits lies between the probabilities of surviving up to these, likewise, see
    :func:`d_calibration`.

    A row that was first observed at v > 0 has survived v, or it would not be among the rows. From
    then on, :math:`\log S(v \mid x) - \log S(t \mid x)` events are expected of it [2]_. Entry may
    depend on the predictions, but given these not on the event. At 5 % the test rejected 4 to 6 %
    of 3000 right models of 100, 300 and 1000 rows, whose entry was later for low risks; without
    `survival_entry` it rejected all of those of 300. A row is at risk after its entry: in discrete
    time v is a time that it has survived. See :ref:`delayed-entry`.

    References
    ----------
    .. [1] N. E. Breslow (1975). Analysis of survival data under the proportional hazards model.
       International Statistical Review 43. :doi:`10.2307/1402659`
    .. [2] J. Hyde (1977). Testing survival under right censoring and left truncation. Biometrika
       64. :doi:`10.1093/biomet/64.2.225`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.survival import martingale_test
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=500)
    >>> time, end = rng.exponential(1 / rate), rng.exponential(2, size=500)
    >>> event, seen = time <= end, np.minimum(time, end)
    >>> found = martingale_test(event, np.exp(-rate * seen))
    >>> found.observed, round(found.expected), found.pvalue > 0.05
    (174, 169, True)
    >>> martingale_test(event, np.exp(-1.3 * rate * seen)).pvalue < 0.01
    True

    Rows that are observed from a later time on, unless they had the event before:

    >>> entry = rng.exponential(1, size=500)
    >>> late = seen > entry
    >>> survival, start = np.exp(-rate * seen)[late], np.exp(-rate * entry)[late]
    >>> found = martingale_test(event[late], survival, survival_entry=start)
    >>> found.observed, round(found.expected), found.pvalue > 0.05
    (87, 97, True)
    >>> round(martingale_test(event[late], survival).expected)
    131
    """
    is_event, after, before, entry = read_survival(event, survival, survival_before, survival_entry)
    expected, variance = expect_events(is_event, after / entry, before / entry)
    total = float(expected.sum()) + 0.0  # -log 1 is -0
    if np.isinf(total):
        statistic = -np.inf
    else:
        statistic = float(divide_by_error((is_event - expected).sum(), np.sqrt(variance.sum())))
    return MartingaleTest(statistic, normal_pvalue(statistic), int(is_event.sum()), total)
