"""Certified bounds of the distance from calibration, and of what is known of it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._reduction import list_shares, reduce_to_samples
from skcal._input._validation import check_number, check_option
from skcal._numerics.errors._distance import upper_distance
from skcal._numerics.errors._interval import (
    best_interval_postprocessing,
    bound_interval_postprocessing,
)
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, Reduction
from skcal.metrics._distance import NIL, SMALLEST_TOLERANCE, bracket_lower_distance
from skcal.metrics._smooth_calibration import bracket_smooth_error

# Distinct predictions up to which all partitions are looked at.
_MOST_DISTINCT = 10
# Distinct predictions up to which all interval partitions are looked at.
_MOST_INTERVALS = 2000


@as_record
class Bounds(NamedTuple):
    """Two numbers that a measure is proven to lie between.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    low : float
        The measure is not smaller.
    high : float
        The measure is not larger.
    """

    low: float
    high: float

    def __str__(self) -> str:
        low, high = np.floor(1e5 * self.low) / 1e5, np.ceil(1e5 * self.high) / 1e5
        return f"At least {low:g} and at most {high:g}."


def calibration_distance_bounds(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    distance: Literal["true", "lower", "upper", "smooth"] = "true",
    tol: float = 0.001,
) -> Bounds:
    r"""Certified bounds on the distance from calibration.

    The distance is the mean distance from the predictions to the nearest perfectly calibrated
    predictions that features allow. Without looking at features it is known to lie between the
    lower and the upper distance.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see :func:`expected_calibration_error`. Over
        several binary problems the bounds are averaged.
    distance : {"true", "lower", "upper", "smooth"}, default="true"
        What is bounded: the distance, whatever the features; the least distance that features
        might allow, that of :func:`lower_calibration_distance`; the distance of features that tell
        no more than the predictions; or :func:`smooth_calibration_error`.
    tol : float, default=0.001
        Largest error of the lower distance, at least 1e-5: its bounds are at most twice this apart.
        It has no effect for "smooth", nor for "upper" up to 10 distinct predictions.

    Returns
    -------
    Bounds
        Named tuple of ``low`` and ``high``, with the distance in between.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    lower_calibration_distance : A value between the bounds of "lower".
    smooth_calibration_error : The middle of the bounds of "smooth".
    interval_calibration_error : Another upper bound of the distance.

    Notes
    -----
    With predictions v, which are a function of features x, and outcomes y, the lower, true, upper
    and smooth distances are [1]_

    .. math:: \underline{\mathrm{dCE}} &= \min \, \mathbb{E} |u - v|
              \quad \text{over couplings } (u, v, y) \text{ with } \mathbb{E}[y \mid u] = u, \\
              \mathrm{dCE} &= \min \, \mathbb{E} |g(x) - v|
              \quad \text{over functions with } \mathbb{E}[y \mid g(x)] = g(x), \\
              \overline{\mathrm{dCE}} &= \min \, \mathbb{E} |\mathbb{E}[y \mid S(v)] - v|
              \quad \text{over partitions } S \text{ of the distinct predictions}, \\
              \mathrm{smCE} &= \max \, \mathbb{E}[w(v) (y - v)]
              \quad \text{over 1-Lipschitz } w: [0, 1] \to [-1, 1].

    They obey :math:`\underline{\mathrm{dCE}} \le \mathrm{dCE} \le \overline{\mathrm{dCE}}`, where
    the first may be as small as the square of the last, and
    :math:`\frac{1}{2} \underline{\mathrm{dCE}} \le \mathrm{smCE} \le 2\, \underline{\mathrm{dCE}}`.

    - "lower": ``low`` is the value of a feasible solution of the dual linear program, or the bias
      :math:`|\mathbb{E}[y - v]|`, whichever is larger; ``high`` is the cost of a coupling. They are
      at most twice `tol` apart.
    - "upper": up to 10 distinct predictions all partitions are searched, and both bounds are the
      distance. No efficient algorithm is known; beyond, the bounds are those of "true".
    - "true": ``low`` is that of "lower". ``high`` is that of "upper" up to 10 distinct predictions.
      Beyond, it is the minimum over partitions into intervals: the cost of the best recalibration
      that merges neighbours, which the upper distance may undercut. Above 2000 distinct predictions
      intervals end at selected places only, which leaves ``high`` a little above this minimum.
    - "smooth": up to 16384 rows both are the error, to rounding. Beyond, the weight functions are
      linear in the cells of a grid, and bounds by duality are at most 2e-5 apart.

    All are evaluated on the data, so that they hold whatever the data are.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    >>> from skcal.metrics import calibration_distance_bounds
    >>> for distance in ("lower", "true", "upper", "smooth"):
    ...     low, high = calibration_distance_bounds([0, 1], [0.4, 0.6], distance=distance)
    ...     print(f"{distance:6} {low:.4f} {high:.4f}")
    lower  0.0800 0.0800
    true   0.0800 0.1000
    upper  0.1000 0.1000
    smooth 0.0400 0.0400
    """
    check_option("distance", distance, tuple(_BRACKETS))
    tol = check_number("tol", tol, minimum=SMALLEST_TOLERANCE)
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    brackets = np.array([_BRACKETS[distance](sample, tol) for sample in samples])
    return Bounds(*(list_shares(samples) @ brackets).tolist())


def _bracket_lower(sample, tol):
    result = bracket_lower_distance(sample, tol)
    return result.lower, result.upper


def _bracket_true(sample, tol):
    ties = sample.sorted
    high = _find_upper(ties) if _has_few(ties) else _merge_neighbours(ties)
    return min(_bracket_lower(sample, tol)[0], high), high


def _bracket_upper(sample, tol):
    ties = sample.sorted
    return (_find_upper(ties),) * 2 if _has_few(ties) else _bracket_true(sample, tol)


def _bracket_smooth(sample, tol):
    return bracket_smooth_error(sample, "auto")


_BRACKETS = {
    "true": _bracket_true,
    "lower": _bracket_lower,
    "upper": _bracket_upper,
    "smooth": _bracket_smooth,
}


def _has_few(ties):
    return len(ties.predictions) <= _MOST_DISTINCT


def _find_upper(ties):
    return upper_distance(ties.predictions, ties.weight, ties.positive)


def _merge_neighbours(ties):
    """The cost of the best, or nearly the best, recalibration that merges neighbours."""
    # Predictions of negligible mass keep their own outcomes: in sums they would drown.
    heavy = ties.weight > NIL * ties.total_weight
    few = np.count_nonzero(heavy) <= _MOST_INTERVALS
    bound_above = best_interval_postprocessing if few else bound_interval_postprocessing
    cost = bound_above(*(values[heavy] for values in ties[:3]))
    upper = cost * ties.weight[heavy].sum() / ties.total_weight
    return float(upper + np.abs(ties.residual[~heavy]).sum())
