"""The largest error of predicted means over groups of rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._input._predicted._means import read_grouped_means
from skcal._input._validation import check_option
from skcal._numerics.errors._cumulative import cumulative_range
from skcal._numerics.inference._classical_tests import divide_by_error
from skcal._tools._typing import ArrayLike


def mean_multicalibration_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    groups: Any,
    *,
    scale: Literal["target", "noise", "share"] = "target",
    max_depth: int = 2,
    min_samples: int = 100,
    n_bins: int | Literal["cube_root"] = 4,
    max_groups: int = 1000,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Multicalibration error of predicted means: the largest cumulative error over groups of rows.

    This is :func:`multicalibration_error` for regression: counts, amounts, demand. Small groups
    have large errors by chance, so that errors are compared in units of their noise, or by the
    share of the rows that a group has.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets. For counts with exposures, these are rates: the counts divided by the exposures.
    y_pred : array-like of shape (n_samples,)
        Predicted means, in the units of the targets.
    groups : data frame, dict, Groups, or array-like
        A table, of whose columns :func:`skcal.inference.make_groups` makes groups; the groups that
        it made; a label for each row; or a matrix of booleans of shape (n_samples, n_groups), dense
        or sparse.
    scale : {"target", "noise", "share"}, default="target"
        In which units errors are compared and given, see Notes.
    max_depth : int, default=2
        Largest number of columns of a table that make an intersection.
    min_samples : int, default=100
        Smaller groups of a table are left out.
    n_bins : int or "cube_root", default=4
        Number of bins of numbers, dates and durations in a table.
    max_groups : int, default=1000
        More groups of a table are refused.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, such as the exposures of rates.

    Returns
    -------
    float
        The error, at least 0.

    Raises
    ------
    ValueError
        If an argument is invalid, or if a group has no rows.

    See Also
    --------
    multicalibration_error : The same for probabilities.
    skcal.inference.audit_mean_groups : Which groups it is, and whether it is more than chance.

    Notes
    -----
    With the residuals :math:`r_i = w_i (y_i - v_i)` of the rows of a group g by rising predictions,
    those of equal ones added up, their running sums :math:`C_k` with :math:`C_0 = 0`, the
    weight :math:`W_g = \sum_{i \in g} w_i`, and W of all rows, let

    .. math::
        \mathrm{CE}_g = \frac{\max_k C_k - \min_k C_k}{W_g}, \qquad
        \sigma_g = \frac{\sqrt{\sum_{i \in g} r_i^2}}{W_g},

    and :math:`\sigma` the noise of all rows. Then

    - "noise" is :math:`\max_g \mathrm{CE}_g / \sigma_g`,
    - "target" is :math:`\sigma \max_g \mathrm{CE}_g / \sigma_g`, in the units of the targets: the
      error of a group of all rows that would stand out as much,
    - "share" is :math:`\max_g \mathrm{CE}_g W_g / W`, an error weighted by the share of the rows.

    With a single group of all rows "target" and "share" are its error. The first two are biased
    upwards, the more groups there are, see :func:`multicalibration_error`.

    :math:`\mathrm{CE}_g` is the error of [1]_, and of MCGrad for regression. The noise differs:
    theirs comes from differences between the residuals of neighbouring rows, which depend on the
    order of rows with equal predictions, and cancel errors that neighbours share. Here such errors
    count as noise, so that "noise" is at most :math:`\sqrt{n_g}` for :math:`n_g` rows of equal
    weight.

    References
    ----------
    .. [1] I. Guy, D. Haimovich, F. Linder, N. Okati, L. Perini, N. Tax, M. Tygert (2025). Measuring
       multi-calibration. arXiv. :doi:`10.48550/arXiv.2506.11251`

    Examples
    --------
    >>> from skcal.metrics import mean_multicalibration_error
    >>> demand, predicted = [3, 9, 4, 12], [4.0, 8.0, 5.0, 9.0]
    >>> mean_multicalibration_error(demand, predicted, ["a", "b", "a", "b"], scale="share")
    1.0
    """
    check_option("scale", scale, ("target", "noise", "share"))
    options = {"max_depth": max_depth, "min_samples": min_samples, "n_bins": n_bins}
    rows, groups = read_grouped_means(
        y_true, y_pred, groups, sample_weight, max_groups=max_groups, **options
    )
    weights = rows.list_weights()
    residuals = weights * (rows.targets - rows.predictions)
    place = np.unique(rows.predictions, return_inverse=True)[1]
    parts = [(place[inside], residuals[inside]) for inside in groups.list_rows()]
    if scale == "share":
        return max(_find_range(*part) for part in parts) / float(weights.sum())
    noises = [divide_by_error(_find_range(*part), _find_noise(part[1])) for part in parts]
    largest = float(max(noises))
    return largest if scale == "noise" else largest * _find_noise(residuals) / float(weights.sum())


def _find_range(place, residuals):
    return cumulative_range(np.bincount(place, residuals))


def _find_noise(residuals):
    unit = np.abs(residuals).max() or 1.0  # squares of small numbers would be zero
    return float(unit * np.linalg.norm(residuals / unit))
