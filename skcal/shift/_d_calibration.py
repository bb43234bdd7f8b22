"""Is the predicted distribution of times right at all times?"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._arrays import read_numbers
from skcal._numerics.errors._binned import count_bins
from skcal._numerics.inference._classical_tests import chi_squared_pvalue
from skcal._numerics.shift._censoring import share_survival
from skcal._records import show_record
from skcal._typing import ArrayLike
from skcal._validation import check_n_bins
from skcal.shift._at_horizon import read_times


class DCalibration(NamedTuple):
    """Distribution of predicted survival probabilities at the times of the events.

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

    def __repr__(self) -> str:
        return show_record(self)


def d_calibration(
    event: ArrayLike, survival: ArrayLike, *, n_bins: int | Literal["cube_root"] = 10
) -> DCalibration:
    r"""Test whether predicted survival probabilities are right on average, at all times at once.

    Parameters
    ----------
    event : array-like of shape (n_samples,)
        1 or True where the event was seen, 0 or False where the row was censored.
    survival : array-like of shape (n_samples,)
        Predicted probability, in [0, 1], to survive the time of the event, or that at which the row
        was censored: :math:`S(t_i \mid x_i)`.
    n_bins : int or "cube_root", default=10
        Number of equal bins; "cube_root" takes that of the number of rows, rounded up.

    Returns
    -------
    DCalibration
        Named tuple of ``statistic``, ``pvalue`` and ``shares``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    at_horizon : Outcomes at one time, for all measures and diagrams.
    aj_calibration : Mean risks at many times, also of several kinds of events.

    Notes
    -----
    If the model is right, the survival probability at the time of the event is uniform on [0, 1]
    (the distribution calibration of Haider et al. [1]_). A row that is censored where it is s is
    shared among bins: a bin below gets :math:`1 / (B s)`, its own with the lower end l gets
    :math:`(s - l) / s`. With :math:`N_k` rows in bin k of B,

    .. math:: \chi^2 = \frac{B}{n} \sum_k \Bigl(N_k - \frac{n}{B}\Bigr)^2,

    compared with the chi-squared distribution of B - 1 degrees of freedom. Shares vary less than
    rows, so that with many censored rows p is too large.

    References
    ----------
    .. [1] H. Haider, B. Hoehn, S. Davis, R. Greiner (2020). Effective ways to build and evaluate
       individual survival distributions. JMLR 21(85). :doi:`10.48550/arXiv.1811.11347`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.shift import d_calibration
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=2000)
    >>> time, end = rng.exponential(1 / rate), rng.exponential(5, size=2000)
    >>> seen = np.minimum(time, end)
    >>> d_calibration(time <= end, np.exp(-rate * seen)).pvalue > 0.05
    True
    >>> d_calibration(time <= end, np.exp(-1.3 * rate * seen)).pvalue < 0.001
    True
    """
    n_bins = check_n_bins(n_bins)
    values = read_numbers("survival", survival).astype(np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            f"survival must be one-dimensional and not empty; got shape {values.shape}."
        )
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        bad = np.flatnonzero(~inside)[0]
        raise ValueError(f"survival must lie in [0, 1]; got {values[bad]} at row {bad}.")
    is_event, _ = read_times(event, np.zeros(len(values)))
    n_rows = len(values)
    number = count_bins(n_bins, n_rows)
    counts = share_survival(is_event, values, number)
    statistic = float(number / n_rows * ((counts - n_rows / number) ** 2).sum())
    return DCalibration(statistic, chi_squared_pvalue(statistic, number - 1), counts / n_rows)
