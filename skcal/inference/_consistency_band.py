"""Where the mean outcomes of bins lie if the model is calibrated."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._bins import BLIND_STRATEGIES, average_by_bin, bound_bins, find_edges
from skcal._input._independent_rows import reduce_to_labelled_sample
from skcal._input._validation import (
    check_bins,
    check_confidence_level,
    check_flag,
)
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_band


@as_record
class ConsistencyBand(NamedTuple):
    """Range of the mean outcome in each non-empty bin if the model is calibrated.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    prob_pred : ndarray of shape (n_filled_bins,)
        Mean prediction of each bin.
    prob_true : ndarray of shape (n_filled_bins,)
        Mean outcome of each bin.
    low : ndarray of shape (n_filled_bins,)
        Lower end of the range.
    high : ndarray of shape (n_filled_bins,)
        Upper end of the range.
    confidence_level : float
        Probability, at least, that a mean outcome lies in the range if the model is calibrated.
    """

    prob_pred: np.ndarray
    prob_true: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence_level: float

    def __str__(self) -> str:
        is_inside = (self.low <= self.prob_true) & (self.prob_true <= self.high)
        level, where = self.confidence_level, "at each point by itself"
        return f"{show_band(self.prob_pred, is_inside, level, where)}."


def consistency_band(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    n_bins: int | Literal["cube_root"] | ArrayLike = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    confidence_level: float = 0.95,
    simultaneous: bool = False,
) -> ConsistencyBand:
    r"""Exact range of the mean outcome in each bin if the model is calibrated (consistency band).

    A mean outcome outside of its range is more than chance. The ranges lie around the diagonal and
    depend on the predictions alone. Rows must be independent, see
    :ref:`without-clusters`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`skcal.metrics.expected_calibration_error`. The other reductions give several
        problems, or rows that are not independent.
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=15
        Number of bins, at most 2^24, "cube_root", or their edges, see
        :func:`skcal.metrics.expected_calibration_error`.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal mass. Bins must not be chosen by a look at the outcomes.
    confidence_level : float, default=0.95
        Probability, at least, of each range, or of all together, in (0, 1).
    simultaneous : bool, default=False
        Whether all mean outcomes together lie in their ranges with that probability, rather than
        each of them.

    Returns
    -------
    ConsistencyBand
        Named tuple of ``prob_pred``, ``prob_true``, ``low``, ``high`` and ``confidence_level``;
        see :class:`ConsistencyBand`.

    Raises
    ------
    ValueError
        If an argument is invalid, or if `y_true` holds soft labels.

    See Also
    --------
    isotonic_band : Where the calibration curve itself lies, without bins.
    skcal.diagrams.ReliabilityDisplay : Draws the ranges with ``band="consistency"``.

    Notes
    -----
    If the model is calibrated, the number of outcomes 1 in a bin is Poisson-binomial: the sum of
    independent Bernoulli variables with the predictions of its rows as probabilities. The range
    holds all numbers q, divided by the number of rows, with

    .. math:: P(S \le q) > \alpha / 2 \quad\text{and}\quad P(S \ge q) > \alpha / 2,

    :math:`\alpha = 1 - \text{confidence\_level}`. S lies below the range with a probability of at
    most :math:`\alpha / 2`, and above it likewise, hence in the range with a probability of
    confidence_level or more; numbers are whole. [1]_ resamples the outcomes instead; here the law
    is exact.

    Bins are independent given the predictions, so that with `simultaneous` each of B ranges has
    the level :math:`\text{confidence\_level}^{1/B}`.

    References
    ----------
    .. [1] J. Bröcker, L. A. Smith (2007). Increasing the reliability of reliability diagrams.
       Weather and Forecasting 22. :doi:`10.1175/WAF993.1`

    Examples
    --------
    >>> from skcal.inference import consistency_band
    >>> band = consistency_band([0, 1] * 5 + [1] * 10, [0.2] * 10 + [0.9] * 10, n_bins=2)
    >>> band.prob_true
    array([0.5, 1. ])
    >>> band.low, band.high
    (array([0. , 0.7]), array([0.5, 1. ]))
    """
    n_bins = check_bins(n_bins, strategy, BLIND_STRATEGIES)
    level = check_confidence_level(confidence_level)
    check_flag("simultaneous", simultaneous)
    sample = reduce_to_labelled_sample(
        y_true, y_proba, pos_label=pos_label, labels=labels, reduction=reduction
    )
    edges = find_edges(sample, n_bins, strategy)
    _, prob_pred, prob_true = average_by_bin(sample, edges)
    each = level ** (1 / len(prob_pred)) if simultaneous else level
    low, high = bound_bins(sample, edges, each)
    return ConsistencyBand(prob_pred, prob_true, low, high, level)
