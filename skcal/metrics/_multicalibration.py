"""The largest calibration error over groups of rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._input._independent_rows import list_weights, reduce_to_grouped_sample
from skcal._input._sample import Sample
from skcal._input._validation import check_option
from skcal._numerics.errors._cumulative import cumulative_range
from skcal._numerics.inference._classical_tests import cumulative_error, divide_by_error
from skcal._tools._typing import ArrayLike


def multicalibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    groups: Any,
    *,
    scale: Literal["probability", "noise", "share"] = "probability",
    max_depth: int = 2,
    min_samples: int = 100,
    n_bins: int | Literal["cube_root"] = 4,
    max_groups: int = 1000,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
) -> float:
    r"""Multicalibration error: the largest cumulative calibration error over groups of rows.

    Small groups have large errors by chance, so that errors are compared in units of their noise,
    or by the share of the rows that a group has.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    groups : data frame, dict, Groups, or array-like
        A table, of whose columns :func:`skcal.inference.make_groups` makes groups; the groups that
        it made; a label for each row; or a matrix of booleans of shape (n_samples, n_groups), dense
        or sparse.
    scale : {"probability", "noise", "share"}, default="probability"
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
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.

    Returns
    -------
    float
        The error, at least 0; infinite, except with "share", if an impossible outcome occurs in a
        group whose other rows are certain as well.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, or if a group has no rows.

    See Also
    --------
    cumulative_calibration_error : The error of all rows.
    mean_multicalibration_error : The same for predicted means, such as those of counts.
    skcal.inference.audit_groups : Which groups it is, and whether it is more than chance.

    Notes
    -----
    With :func:`cumulative_calibration_error` :math:`\mathrm{CE}_g` of the rows of a group g, its
    weight :math:`W_g = \sum_{i \in g} w_i`, the noise of a calibrated model
    :math:`\sigma_g = \sqrt{\sum_{i \in g} w_i^2 v_i (1 - v_i)} / W_g`, and :math:`\sigma` and W of
    all rows,

    - "noise" is :math:`\max_g \mathrm{CE}_g / \sigma_g`,
    - "probability" is :math:`\sigma \max_g \mathrm{CE}_g / \sigma_g`, as in [1]_: the error of a
      group of all rows that would stand out as much,
    - "share" is :math:`\max_g \mathrm{CE}_g W_g / W`, an error weighted by the share of the rows.

    With a single group of all rows "probability" and "share" are its error, unless it is without
    noise. The first two are biased upwards, the more groups there are: by chance "noise" is
    :math:`\sqrt{8 / \pi} = 1.6` on average with one large group (the range of Brownian motion), and
    above 3.1 every other time with a hundred that do not overlap.

    References
    ----------
    .. [1] I. Guy, D. Haimovich, F. Linder, N. Okati, L. Perini, N. Tax, M. Tygert (2025). Measuring
       multi-calibration. arXiv. :doi:`10.48550/arXiv.2506.11251`

    Examples
    --------
    >>> from skcal.metrics import cumulative_calibration_error, multicalibration_error
    >>> y_true, y_proba = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.7]
    >>> round(cumulative_calibration_error(y_true, y_proba), 4)
    0.125
    >>> round(multicalibration_error(y_true, y_proba, ["a", "b", "a", "b"]), 4)
    0.1682
    """
    check_option("scale", scale, ("probability", "noise", "share"))
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    options = {"max_depth": max_depth, "min_samples": min_samples, "n_bins": n_bins}
    sample, groups = reduce_to_grouped_sample(
        y_true,
        y_proba,
        groups,
        data | {"reduction": reduction},
        options | {"max_groups": max_groups},
    )
    parts = [_take(sample, rows) for rows in groups.list_rows()]
    errors = np.array([cumulative_range(part.sorted.residual) for part in parts])
    if scale == "share":
        weights = list_weights(sample) / sample.total_weight
        return float((errors * groups.sum_rows(weights)).max())
    noise = divide_by_error(errors, np.array([_find_noise(part) for part in parts])).max()
    if scale == "noise" or noise == 0:
        return float(noise)
    return float(noise * _find_noise(sample)) if np.isfinite(noise) else np.inf


def _take(sample, rows):
    weights = None if sample.weights is None else sample.weights[rows]
    if weights is not None:  # their squares should not vanish
        weights = weights / weights.max()
    return Sample(sample.predictions[rows], sample.outcomes[rows], weights)


def _find_noise(sample):
    return cumulative_error(sample.predictions, list_weights(sample))
