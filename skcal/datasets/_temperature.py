"""Calibrated uniform predictions sharpened or flattened by a temperature."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.special import expit, logit

from skcal._tools._typing import RandomState
from skcal.datasets._problem import CalibrationProblem, Rows, TrueValue, check_between

# Beyond this logit a uniform probability has no mass left in double precision.
_LARGEST_LOGIT = 40.0


def make_temperature_family(
    n_samples: int,
    *,
    inverse_temperature: float,
    population: bool = False,
    random_state: RandomState = None,
) -> CalibrationProblem:
    r"""Draw the softmax-temperature family of the paper on the distance from calibration.

    Parameters
    ----------
    n_samples : int
        Number of rows, at most 10^12.
    inverse_temperature : float
        Factor :math:`\beta` in [1e-6, 1e6] on the logits of calibrated predictions: above 1 the
        predictions are over-confident, below 1 under-confident.
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
    make_shrunk : Over-confidence that is linear in the prediction.

    Notes
    -----
    With f uniform on [0, 1] and y of mean f, the prediction is [1]_

    .. math:: v = \frac{f^\beta}{f^\beta + (1-f)^\beta}.

    The residual changes sign at 1/2 only. So two bins give the expected calibration error
    :math:`\mathbb{E}|f - v|`, the cumulative residual peaks at half of it, and the best
    1-Lipschitz weight is a straight line: the smooth calibration error is
    :math:`|\mathbb{E}[(v - \frac{1}{2})(f - v)]|`. Both are integrals over the logit of f, and at
    :math:`\beta = 2` they are :math:`\frac{\ln 2}{2} - \frac{1}{4}` and
    :math:`\frac{\pi}{4} - \frac{3}{4}`.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> from skcal.datasets import make_temperature_family
    >>> from skcal.metrics import expected_calibration_error
    >>> problem = make_temperature_family(1000, inverse_temperature=2, population=True)
    >>> round(problem.true_value("expected_calibration_error", n_bins=2), 6)
    0.096574
    >>> round(expected_calibration_error(problem.y_true, problem.y_proba, n_bins=2), 6)
    0.096574
    """
    inverse_temperature = check_between("inverse_temperature", inverse_temperature, 1e-6, 1e6)
    rows = Rows(n_samples, population, random_state)
    mean_outcome = rows.draw_ranks()
    y_proba = expit(inverse_temperature * logit(mean_outcome))
    return CalibrationProblem(
        rows.draw_labels(mean_outcome),
        y_proba,
        np.ones(rows.n_samples),
        _find_true_values(inverse_temperature),
    )


def _find_true_values(inverse_temperature):
    def find_gap(score):
        return abs(expit(inverse_temperature * score) - expit(score))

    def find_weighted_gap(score):
        return find_gap(score) * (expit(inverse_temperature * score) - 0.5)

    expected_error = _average_over_logits(find_gap, inverse_temperature)
    smooth_error = _average_over_logits(find_weighted_gap, inverse_temperature)
    return [
        TrueValue("expected_calibration_error", {"n_bins": 2}, expected_error),
        TrueValue("smooth_calibration_error", {}, smooth_error),
        TrueValue("cumulative_calibration_error", {}, expected_error / 2),
        TrueValue("cumulative_calibration_error", {"deviation": "max"}, expected_error / 2),
    ]


def _average_over_logits(function, inverse_temperature):
    """Mean of an even function of the logit of a uniform probability."""
    # Both the density, of scale 1, and the predictions, of scale 1 / beta, need resolving.
    steps = np.array([0, 1, 4, 10, _LARGEST_LOGIT])
    ends = np.unique(np.minimum([steps, steps / inverse_temperature], _LARGEST_LOGIT))
    parts = [
        quad(lambda x: function(x) * expit(x) * expit(-x), low, high, epsabs=1e-13)[0]
        for low, high in pairwise(ends)
    ]
    return 2 * float(sum(parts))
