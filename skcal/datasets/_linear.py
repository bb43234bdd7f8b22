"""Uniform predictions whose mean outcome is a straight line: shifted, or shrunk towards 1/2."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import hyp1f1

from skcal._tools._typing import RandomState
from skcal.datasets._problem import CalibrationProblem, Rows, TrueValue, check_between

# Terms of the series of SmoothECE of shrunk outcomes; what is left out is below 1e-12.
_N_TERMS = 5000


def make_shifted(
    n_samples: int, *, shift: float, population: bool = False, random_state: RandomState = None
) -> CalibrationProblem:
    r"""Draw predictions that are too low by the same amount everywhere.

    Parameters
    ----------
    n_samples : int
        Number of rows, at most 10^12.
    shift : float
        Amount d in [0, 1] by which the mean outcome exceeds the prediction.
    population : bool, default=False
        Whether to return the population instead of a random sample: the predictions at the
        midpoints of `n_samples` cells of equal mass, and mean outcomes in place of labels.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random sample; not used for a population.

    Returns
    -------
    CalibrationProblem
        Named tuple of ``y_true``, ``y_proba``, ``sample_weight`` and ``true_values``; see
        :class:`CalibrationProblem`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    make_shrunk : Residuals of both signs.

    Notes
    -----
    Predictions v are uniform on [0, 1 - d], and :math:`\mathbb{E}[y | v] = v + d`. All residuals
    have the same sign, so that every measure of distance agrees: it is d, whatever the bins,
    the bandwidth or the norm.

    Examples
    --------
    >>> from skcal.datasets import make_shifted
    >>> from skcal.metrics import smooth_ece
    >>> problem = make_shifted(1000, shift=0.1, population=True)
    >>> problem.true_value("smooth_ece")
    0.1
    >>> round(smooth_ece(problem.y_true, problem.y_proba), 6)
    0.1
    """
    shift = check_between("shift", shift, 0, 1)
    rows = Rows(n_samples, population, random_state)
    y_proba = rows.draw_ranks() * (1 - shift)
    # Their sum is at most 1 up to rounding.
    y_true = rows.draw_labels(np.minimum(y_proba + shift, 1.0))
    return CalibrationProblem(
        y_true, y_proba, np.ones(rows.n_samples), _find_values_of_shift(shift)
    )


def make_shrunk(
    n_samples: int, *, slope: float, population: bool = False, random_state: RandomState = None
) -> CalibrationProblem:
    r"""Draw over-confident predictions: true probabilities are shrunk towards 1/2.

    Parameters
    ----------
    n_samples : int
        Number of rows, at most 10^12.
    slope : float
        Slope in [-1, 1] of the mean outcome as a function of the prediction; 1 is calibrated.
    population : bool, default=False
        Whether to return the population instead of a random sample: the predictions at the
        midpoints of `n_samples` cells of equal mass, and mean outcomes in place of labels.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random sample; not used for a population.

    Returns
    -------
    CalibrationProblem
        Named tuple of ``y_true``, ``y_proba``, ``sample_weight`` and ``true_values``; see
        :class:`CalibrationProblem`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    make_temperature_family : Over-confidence that grows in the manner of a softmax.

    Notes
    -----
    Predictions v are uniform on [0, 1], and
    :math:`\mathbb{E}[y | v] = \frac{1}{2} + \lambda (v - \frac{1}{2})` with the slope
    :math:`\lambda`. With :math:`a = 1 - \lambda` the expected calibration error is a/4. An even
    number of equal bins returns it; an odd number B returns :math:`(1 - B^{-2})\, a/4`, because
    the middle bin holds residuals of both signs. In cosines the residual is
    :math:`\frac{4a}{\pi^2} \sum_{k\,\mathrm{odd}} k^{-2} \cos(k \pi v)`, so that

    .. math:: \mathrm{smECE}_s = \frac{8a}{\pi^3} \sum_{j \ge 0} \frac{(-1)^j}{(2j+1)^3}
        e^{-((2j+1) \pi s)^2 / 2},

    whose fixed point is found numerically.

    Examples
    --------
    >>> from skcal.datasets import make_shrunk
    >>> from skcal.metrics import expected_calibration_error
    >>> problem = make_shrunk(100_000, slope=0.6, random_state=0)
    >>> problem.true_value("expected_calibration_error", n_bins=2)
    0.1
    >>> round(expected_calibration_error(problem.y_true, problem.y_proba, n_bins=2), 2)
    0.1
    """
    slope = check_between("slope", slope, -1, 1)
    rows = Rows(n_samples, population, random_state)
    y_proba = rows.draw_ranks()
    y_true = rows.draw_labels(0.5 + slope * (y_proba - 0.5))
    return CalibrationProblem(
        y_true, y_proba, np.ones(rows.n_samples), _find_values_of_shrinkage(1 - slope)
    )


def _find_values_of_shift(shift):
    """True values where the mean outcome exceeds every prediction by `shift`."""
    equal_to_shift = (
        ("expected_calibration_error", {}),
        ("expected_calibration_error", {"n_bins": 2}),
        ("maximum_calibration_error", {}),
        ("adaptive_calibration_error", {}),
        ("smooth_ece", {}),
        ("smooth_calibration_error", {}),
        ("lower_calibration_distance", {}),  # at least |E r|, at most the calibration error
        ("interval_calibration_error", {}),
        ("random_interval_calibration_error", {}),
        ("surrogate_interval_calibration_error", {}),
        ("cumulative_calibration_error", {}),
        ("cumulative_calibration_error", {"deviation": "max"}),
    )
    # The mean of exp(-|u - v|) over two predictions is 2 (L - 1 + exp(-L)) / L^2 with L = 1 - d,
    # written without the cancellation near L = 0.
    kernel_error = shift * float(np.sqrt(hyp1f1(1, 3, shift - 1)))
    return [
        *(TrueValue(measure, options, shift) for measure, options in equal_to_shift),
        TrueValue("squared_calibration_error", {}, shift**2),
        TrueValue("kernel_calibration_error", {}, kernel_error),
        TrueValue("averaged_two_bin_calibration_error", {}, shift**2 * (2 + shift) / 3),
    ]


def _find_values_of_shrinkage(a):
    """True values where the residual is a (1/2 - v) and v is uniform."""
    middle = 1 / 15**2  # the part that cancels in the middle one of 15 bins
    kernel_error = a * float(np.sqrt(5 / 3 - 4.5 / np.e))
    return [
        TrueValue("expected_calibration_error", {}, a / 4 * (1 - middle)),
        TrueValue("expected_calibration_error", {"n_bins": 2}, a / 4),
        TrueValue("maximum_calibration_error", {}, a / 2 * (1 - 1 / 15)),
        TrueValue("adaptive_calibration_error", {}, a / 4 * (1 - middle)),
        TrueValue("squared_calibration_error", {}, a**2 / 12 * (1 - middle)),
        TrueValue("smooth_ece", {}, _find_smooth_ece_of_shrinkage(a)),
        TrueValue("smooth_calibration_error", {}, a / 12),
        TrueValue("kernel_calibration_error", {}, kernel_error),
        TrueValue("cumulative_calibration_error", {}, a / 8),
        TrueValue("cumulative_calibration_error", {"deviation": "max"}, a / 8),
        TrueValue("averaged_two_bin_calibration_error", {}, a**2 / 60),
    ]


def _find_smooth_ece_of_shrinkage(a):
    """The bandwidth at which the smoothed error of `make_shrunk` equals the bandwidth."""
    k = 2 * np.arange(_N_TERMS) + 1
    terms = 8 * a / np.pi**3 * (-1.0) ** np.arange(_N_TERMS) / k**3

    def excess(bandwidth):
        return terms @ np.exp(-((k * np.pi * bandwidth) ** 2) / 2) - bandwidth

    # Without smoothing the error is a/4, which the truncated series may miss by 1e-12.
    return float(brentq(excess, 0, a / 4 + 1e-9, xtol=1e-13)) if a > 0 else 0.0
