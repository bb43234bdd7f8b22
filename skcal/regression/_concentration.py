"""Concentration and Lorenz curves of predicted means, and the area between them (ABC)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._predicted._means import read_shares
from skcal._numerics.distributions._concentration import cumulate_shares, list_parts
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike


@as_record
class ConcentrationCurve(NamedTuple):
    """Concentration and Lorenz curve of predicted means.

    Attributes
    ----------
    share : ndarray of shape (n_points,)
        Share of the rows, or exposures, of the smallest predictions: 0, and that up to each
        distinct prediction.
    concentration : ndarray of shape (n_points,)
        Their share of the sum of the targets.
    lorenz : ndarray of shape (n_points,)
        Their share of the sum of the predictions.
    """

    share: np.ndarray
    concentration: np.ndarray
    lorenz: np.ndarray


def concentration_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> ConcentrationCurve:
    r"""Concentration and Lorenz curve of predicted means, such as pure premiums.

    Rows are sorted by their predictions. The Lorenz curve is the share of the premiums that those
    of the smallest premiums pay, the concentration curve the share of the claims that they cause.
    Both are the same if every premium is the mean of its claims, up to a factor for all.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, whose sum is above 0.
    y_pred : array-like of shape (n_samples,)
        Predicted means, not negative, and not all 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true` is
        n / t and `sample_weight` is t.

    Returns
    -------
    ConcentrationCurve
        Named tuple of ``share``, ``concentration`` and ``lorenz``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    area_between_curves : The area between both.
    skcal.diagrams.MeanReliabilityDisplay : At which predictions means are wrong.

    Notes
    -----
    With predictions v, their distribution function F, and :math:`\alpha` the share of rows [1]_,

    .. math:: \mathrm{CC}(\alpha) =
              \frac{\mathbb{E}[y\, 1\{v \le F^{-1}(\alpha)\}]}{\mathbb{E}[y]}, \qquad
              \mathrm{LC}(\alpha) =
              \frac{\mathbb{E}[v\, 1\{v \le F^{-1}(\alpha)\}]}{\mathbb{E}[v]} .

    Rows that tie are in no order: both curves are lines over their share, whatever the order of the
    rows.

    References
    ----------
    .. [1] M. Denuit, D. Sznajder, J. Trufin (2019). Model selection based on Lorenz and
       concentration curves, Gini indices and convex order. Insurance: Mathematics and Economics 89.
       :doi:`10.1016/j.insmatheco.2019.09.001`

    Examples
    --------
    Premiums of 1 and 3 where the mean claims are 2 and 2:

    >>> from skcal.regression import concentration_curve
    >>> curve = concentration_curve([2, 2, 1, 3], [1, 1, 3, 3])
    >>> curve.share, curve.concentration, curve.lorenz
    (array([0. , 0.5, 1. ]), array([0. , 0.5, 1. ]), array([0.  , 0.25, 1.  ]))
    """
    rows = read_shares(y_true, y_pred, sample_weight)
    return ConcentrationCurve(*cumulate_shares(rows.targets, rows.predictions, rows.list_weights()))


def area_between_curves(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Area between the concentration and the Lorenz curve (ABC) of predicted means.

    It is positive where predictions differ too much, so that small ones are too small and large
    ones too large, and negative where they differ too little. Their level does not matter.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, whose sum is above 0.
    y_pred : array-like of shape (n_samples,)
        Predicted means, not negative, and not all 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true` is
        n / t and `sample_weight` is t.

    Returns
    -------
    float
        The area, 0 for calibrated predictions but for chance.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    concentration_curve : The curves.
    skcal.inference.concentration_test : Whether the area is more than chance.
    corp_regression_decomposition : A miscalibration that is 0 for calibrated predictions alone.

    Notes
    -----
    The area is :math:`\int_0^1 \mathrm{CC}(\alpha) - \mathrm{LC}(\alpha)\, d\alpha` [1]_, with the
    curves of :func:`concentration_curve`, and exact. With the mean rank :math:`F_i` of row i, as a
    share of all weights, it is

    .. math:: \sum_i \left(\frac{w_i v_i}{\sum_j w_j v_j} - \frac{w_i y_i}{\sum_j w_j y_j}\right)
              F_i .

    Calibrated predictions have the area 0, as both curves are the same [2]_. Others may have it,
    too: where curves cross areas cancel.

    References
    ----------
    .. [1] M. Denuit, D. Sznajder, J. Trufin (2019). Model selection based on Lorenz and
       concentration curves, Gini indices and convex order. Insurance: Mathematics and Economics 89.
       :doi:`10.1016/j.insmatheco.2019.09.001`
    .. [2] M. Denuit, A. Charpentier, J. Trufin (2021). Autocalibration and Tweedie-dominance for
       insurance pricing with machine learning. Insurance: Mathematics and Economics 101.
       :doi:`10.1016/j.insmatheco.2021.09.001`

    Examples
    --------
    >>> from skcal.regression import area_between_curves
    >>> area_between_curves([2, 2, 1, 3], [1, 1, 3, 3])
    0.125
    >>> area_between_curves([2, 2, 1, 3], [5, 5, 5, 5])
    0.0
    """
    rows = read_shares(y_true, y_pred, sample_weight)
    parts, _ = list_parts(rows.targets, rows.predictions, rows.list_weights())
    return float(parts.sum())
