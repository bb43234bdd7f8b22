"""Two predictions on both sides of 1/2: where continuous measures and the others part."""

from __future__ import annotations

import numpy as np

from skcal._tools._typing import RandomState
from skcal.datasets._problem import CalibrationProblem, Rows, TrueValue, check_between


def make_two_point_gap(
    n_samples: int,
    *,
    alpha: float,
    upper_outcome: float | None = None,
    population: bool = False,
    random_state: RandomState = None,
) -> CalibrationProblem:
    r"""Draw two predictions a small gap apart, with opposite residuals.

    By default the outcomes are crossed: the lower prediction has the higher mean outcome. With
    ``upper_outcome=1`` they are certain, and the calibrated prediction 1/2 is split into one that
    is always too high and one that is always too low.

    Parameters
    ----------
    n_samples : int
        Number of rows, at most 10^12; a population needs at least 2.
    alpha : float
        Distance in [0, 1/2] of both predictions from 1/2.
    upper_outcome : float, default=None
        Mean outcome in [0, 1] at the upper prediction; at the lower one it is the complement.
        None means ``0.5 - alpha``.
    population : bool, default=False
        Whether to return the population instead of a random sample: `n_samples` rows, half of
        the mass at either prediction, and mean outcomes in place of labels.
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
    make_shifted : Residuals of one sign.

    Notes
    -----
    Half of the mass is at :math:`\frac{1}{2} - \alpha` with mean outcome :math:`1 - q`, half at
    :math:`\frac{1}{2} + \alpha` with mean outcome q, the `upper_outcome`. The residuals
    :math:`\pm g,\ g = q - \frac{1}{2} - \alpha`, cancel, and the cheapest way to calibration
    depends on their sign. In the lower distance, predictions that are too extreme
    (:math:`g < 0`) send rows of both sides to 1/2, at a cost of
    :math:`2\alpha|g| / (1 + 2\alpha)`; predictions that are not extreme enough exchange rows, at
    a cost of :math:`2\alpha g`. The upper distance is :math:`\min(|g|, \alpha)`.

    Lemma 4.5 of [1]_ has the crossed outcomes, :math:`g = -2\alpha`: the interval calibration
    error is :math:`2\alpha` and the lower distance :math:`4\alpha^2 / (1 + 2\alpha)`, the
    quadratic gap of Lemma 6.8. With certain outcomes, :math:`g = \frac{1}{2} - \alpha`, the
    expected calibration error jumps from 1/2 to 0 as the gap closes, and the distances are
    continuous.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> from skcal.datasets import make_two_point_gap
    >>> problem = make_two_point_gap(4, alpha=0.1, population=True)
    >>> problem.y_true, problem.y_proba
    (array([0.6, 0.6, 0.4, 0.4]), array([0.4, 0.4, 0.6, 0.6]))
    >>> round(problem.true_value("smooth_calibration_error"), 6)
    0.02
    """
    alpha = check_between("alpha", alpha, 0, 0.5)
    if upper_outcome is None:
        upper_outcome = 0.5 - alpha
    upper_outcome = check_between("upper_outcome", upper_outcome, 0, 1)
    rows = Rows(n_samples, population, random_state, minimum=2)
    is_upper = rows.draw_ranks() >= 0.5
    y_proba = np.where(is_upper, 0.5 + alpha, 0.5 - alpha)
    y_true = rows.draw_labels(np.where(is_upper, upper_outcome, 1 - upper_outcome))
    sample_weight = np.ones(rows.n_samples)
    if rows.population:  # an odd number of rows is not split evenly
        n_upper = is_upper.sum()
        n_rows = np.where(is_upper, n_upper, rows.n_samples - n_upper)
        sample_weight = rows.n_samples / 2 / n_rows
    return CalibrationProblem(
        y_true, y_proba, sample_weight, _find_true_values(alpha, upper_outcome)
    )


def _find_true_values(alpha, upper_outcome):
    excess = upper_outcome - (0.5 + alpha)
    if 0.5 + alpha == 0.5 - alpha:
        excess = 0.0  # one prediction, whose residuals cancel
    gap, distance = abs(excess), 2 * alpha  # between outcome and prediction; between predictions
    too_extreme = excess < 0

    def measure_shifted_bins(width):
        return gap * min(1.0, distance / width)

    surrogate = min([gap, *(measure_shifted_bins(2.0**-k) + 2.0**-k for k in range(60))])
    return [
        TrueValue("expected_calibration_error", {"n_bins": 2}, gap),
        TrueValue("maximum_calibration_error", {"n_bins": 2}, gap),
        TrueValue("adaptive_calibration_error", {}, gap),
        TrueValue("squared_calibration_error", {}, gap**2),
        TrueValue("smooth_calibration_error", {}, alpha * gap),
        TrueValue("lower_calibration_distance", {}, distance * gap / (1 + distance * too_extreme)),
        TrueValue("interval_calibration_error", {}, min(gap, distance)),
        TrueValue("random_interval_calibration_error", {}, measure_shifted_bins(0.1)),
        TrueValue("surrogate_interval_calibration_error", {}, surrogate),
        TrueValue("kernel_calibration_error", {}, gap * float(np.sqrt(-np.expm1(-distance) / 2))),
        TrueValue("cumulative_calibration_error", {}, gap / 2),
        TrueValue("cumulative_calibration_error", {"deviation": "max"}, gap / 2),
        TrueValue("averaged_two_bin_calibration_error", {}, gap**2 * alpha),
    ]
