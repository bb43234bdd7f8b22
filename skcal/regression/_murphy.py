"""Murphy curves of predicted means, quantiles and expectiles: elementary scores over thresholds."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._predicted._response_rows import check_values, refuse_rows
from skcal._numerics.distributions._elementary_scores import score_elementary
from skcal._numerics.distributions._isotonic_functionals import regress_functional
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.regression._decomposition import read_column


@as_record
class MurphyCurve(NamedTuple):
    """Elementary scores of predicted means, quantiles or expectiles, over thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        In the units of the targets.
    score : ndarray of shape (n_thresholds,)
        Mean elementary score at each threshold.
    score_below : ndarray of shape (n_thresholds,)
        Its limit from below, which differs where the curve jumps.
    constant_score : ndarray of shape (n_thresholds,)
        Score of the best constant prediction at each threshold.
    constant_score_below : ndarray of shape (n_thresholds,)
        Its limit from below.
    """

    thresholds: np.ndarray
    score: np.ndarray
    score_below: np.ndarray
    constant_score: np.ndarray
    constant_score_below: np.ndarray


def murphy_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    functional: Literal["mean", "quantile", "expectile"] = "mean",
    level: float = 0.5,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> MurphyCurve:
    r"""Elementary scores of predicted means, quantiles or expectiles (Murphy diagram).

    A model whose curve is lower everywhere is better by every score that is consistent for what is
    predicted. Where curves cross, the score decides.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_pred : array-like of shape (n_samples,)
        Predictions, finite.
    functional : {"mean", "quantile", "expectile"}, default="mean"
        What is predicted.
    level : float, default=0.5
        Level of the quantile or expectile, strictly between 0 and 1. The mean has none.
    thresholds : array-like of shape (n_thresholds,), default=None
        Thresholds in the units of the targets; by default all targets and predictions, between
        which the curve is a line.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true` is
        n / t and `sample_weight` is t.

    Returns
    -------
    MurphyCurve
        Named tuple of ``thresholds``, ``score`` and its limit from below, ``score_below``, and of
        both for the best constant prediction, ``constant_score`` and ``constant_score_below``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    skcal.diagrams.RegressionMurphyDisplay : Draws curves, and bands of their differences.
    skcal.metrics.elementary_score_curve : The same for probabilities.
    pinball_loss : The area under the curve of a quantile.
    corp_regression_decomposition : Scores and what they are made of.

    Notes
    -----
    At the threshold t, a prediction x of a target y loses [1]_

    .. math:: S_t(x, y) = \begin{cases}
                  |1\{y < x\} - \tau| & \text{for a quantile of level } \tau, \\
                  2\, |1\{y < x\} - \tau|\, |y - t| & \text{for an expectile of level } \tau,
              \end{cases}
              \qquad \min(x, y) \le t < \max(x, y),

    and nothing at other thresholds. The mean is the expectile of level 1/2. Whoever decides between
    two actions by whether the prediction exceeds t has such losses. Every score that is consistent
    for the quantile, or the expectile, is a mixture of them. The area under the curve is the
    pinball loss of a quantile, and half of the squared error of a mean, or of the asymmetric
    squared error of an expectile as in :func:`corp_regression_decomposition`.

    The factor 2 gives probabilities of an event the curve of
    :func:`~skcal.metrics.elementary_score_curve`; [1]_ has expectiles without it.

    All values are sums over sorted rows, exact at every threshold, and take O(n log n).

    References
    ----------
    .. [1] W. Ehm, T. Gneiting, A. I. Jordan, F. Krüger (2016). Of quantiles and expectiles:
       consistent scoring functions, Choquet representations and forecast rankings. Journal of the
       Royal Statistical Society B 78. :doi:`10.1111/rssb.12154`

    Examples
    --------
    A mean of 3 for a target of 1 costs most just below the prediction, and nothing from there on:

    >>> from skcal.regression import murphy_curve
    >>> curve = murphy_curve([1.0], [3.0])
    >>> curve.thresholds, curve.score, curve.score_below
    (array([1., 3.]), array([0., 0.]), array([0., 2.]))
    """
    targets, predictions, weights, tau = read_column(
        y_true, y_pred, functional, level, sample_weight
    )
    if weights is not None:
        present = weights > 0
        targets, predictions = targets[present], predictions[present]
        weights = weights[present] / weights.max()
    if thresholds is None:
        t = np.unique(np.concatenate([targets, predictions]))
    else:
        t = check_values("thresholds", thresholds)
        needed = "thresholds must be at most 1e100 in absolute value"
        refuse_rows(needed, t, np.abs(t) > 1e100)
    whole = np.zeros(1, dtype=np.intp)
    constant = regress_functional(functional, targets, weights, whole, tau)
    scores = [
        score_elementary(targets, x, weights, functional, tau, t, side)
        for x in (predictions, np.broadcast_to(constant, targets.shape))
        for side in ("right", "left")
    ]
    return MurphyCurve(t, *scores)
