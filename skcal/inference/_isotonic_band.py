"""Confidence band for a non-decreasing calibration curve."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._isotonic import bound_sample
from skcal._input._independent_rows import reduce_to_labelled_sample
from skcal._input._validation import check_confidence_level, check_unit_range
from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_band


@as_record
class IsotonicBand(NamedTuple):
    """Simultaneous confidence band for a non-decreasing calibration curve.

    It bounds the curve on all of [0, 1]: the lower end of the last knot at or before a prediction,
    0 before the first; and the upper end of the first knot at or after it, 1 after the last. See
    :meth:`evaluate`.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    prob_pred : ndarray of shape (n_knots,)
        Knots, increasing: distinct predictions, or the ends of blocks of them.
    low : ndarray of shape (n_knots,)
        Lower end of the band at the knots and up to the next one; it does not decrease.
    high : ndarray of shape (n_knots,)
        Upper end of the band at the knots and back to the one before; it does not decrease.
        Below `low` where no non-decreasing curve fits the outcomes.
    confidence_level : float
        Probability, at least, that the band holds the whole curve.
    """

    prob_pred: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence_level: float

    def __str__(self) -> str:
        is_inside = (self.low <= self.prob_pred) & (self.prob_pred <= self.high)
        return f"{show_band(self.prob_pred, is_inside, self.confidence_level)}."

    def evaluate(self, y_proba: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the band at any predictions.

        Parameters
        ----------
        y_proba : array-like of float
            Predictions in [0, 1], of any shape.

        Returns
        -------
        low, high : ndarray
            Ends of the band, in the shape of `y_proba`.

        Raises
        ------
        ValueError
            If a prediction lies outside [0, 1] or is not a number.
        """
        places = check_unit_range("y_proba", read_numbers("y_proba", y_proba)).astype(np.float64)
        before = np.searchsorted(self.prob_pred, places, side="right")
        after = np.searchsorted(self.prob_pred, places, side="left")
        return np.append(0.0, self.low)[before], np.append(self.high, 1.0)[after]

    def find_deviations(self) -> tuple[np.ndarray, np.ndarray]:
        """Regions where the diagonal leaves the band, so that the model is miscalibrated.

        Both arrays are empty where the band holds all of the diagonal, so that the outcomes do not
        contradict calibration. With the confidence of the band all regions are right; between two
        regions the outcomes do not decide.

        Returns
        -------
        too_low : ndarray of shape (n_regions, 2)
            First and last prediction of every region where outcomes are more frequent than
            predicted.
        too_high : ndarray of shape (n_regions, 2)
            First and last prediction of every region where outcomes are less frequent than
            predicted.
        """
        too_low = _find_regions(self.prob_pred, self.low)
        too_high = 1.0 - _find_regions(1.0 - self.prob_pred[::-1], 1.0 - self.high[::-1])
        return too_low, too_high[::-1, ::-1]


def isotonic_band(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    confidence_level: float = 0.95,
) -> IsotonicBand:
    r"""Simultaneous confidence band for a calibration curve, assumed non-decreasing.

    With a probability of at least `confidence_level` it holds the whole curve, for every number
    of rows. There is nothing to tune: no bins, no bandwidth, no resamples. Rows must be
    independent, see :ref:`without-clusters`, and the probability of the outcome must not fall as
    the prediction rises.

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
    confidence_level : float, default=0.95
        Probability, at least, that the band holds the curve, in (0, 1).

    Returns
    -------
    IsotonicBand
        Named tuple of ``prob_pred``, ``low``, ``high`` and ``confidence_level``, with the methods
        ``evaluate`` and ``find_deviations``; see :class:`IsotonicBand`.

    Raises
    ------
    ValueError
        If an argument is invalid, or if `y_true` holds soft labels.

    See Also
    --------
    consistency_band : Where the means of bins lie if the model is calibrated.
    skcal.diagrams.ReliabilityDisplay : Draws the band with ``band="isotonic"``.

    Notes
    -----
    Among m rows that follow each other by prediction, the number k of outcomes 1 is at least
    binomial with the probability at the first of them, and at most with that at the last. So the
    Clopper-Pearson bounds of the pooled rows hold there, and beyond [1]_. With :math:`\beta_q` the
    quantile of the Beta distribution, over intervals I that end at or before v, and J that start
    at or after v,

    .. math:: \mathrm{low}(v) = \max_I \beta_a(k_I, m_I - k_I + 1), \quad
       \mathrm{high}(v) = \min_J \beta_{1-a}(k_J + 1, m_J - k_J), \quad
       a = \frac{1 - \text{confidence\_level}}{B (B + 1)},

    where both ends of the B (B + 1) / 2 intervals share the error (Bonferroni). For one distinct
    prediction the band is the Clopper-Pearson interval.

    Up to 500 distinct predictions all intervals between them are used, as in [1]_, and B is their
    number. More are merged into blocks of neighbours, of at most 1/200 of the rows or one
    distinct prediction, with predictions at most 1/200 apart, and smaller towards both tails; B is
    the number of blocks, a few hundred. Blocks depend on the predictions alone, so that the band
    stays exact. It is even narrower than that of all intervals.

    There are no weights: the bounds are those of rows that count once. Repeat rows that stand for
    several.

    Where ``low > high`` no non-decreasing curve fits the outcomes: with the confidence of the
    band, the true curve decreases, and so the model is not calibrated. The band is not centred on
    any estimate. A smoothed or binned curve may leave it, because of chance or of its smoothing.

    References
    ----------
    .. [1] T. Dimitriadis, L. Dümbgen, A. Henzi, M. Puke, J. Ziegel (2023). Honest calibration
       assessment for binary outcome predictions. Biometrika 110. :doi:`10.1093/biomet/asac068`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import isotonic_band
    >>> band = isotonic_band([1] * 8 + [0] * 2, [0.7] * 10)
    >>> band.low.round(4), band.high.round(4)
    (array([0.4439]), array([0.9748]))

    These probabilities are too extreme. In which regions do the outcomes contradict them?

    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(20_000)
    >>> y_true = rng.random(20_000) < 0.25 + 0.5 * y_proba
    >>> too_low, too_high = isotonic_band(y_true, y_proba).find_deviations()
    >>> too_low.round(2), too_high.round(2)
    (array([[0.  , 0.34]]), array([[0.68, 1.  ]]))
    """
    level = check_confidence_level(confidence_level)
    sample = reduce_to_labelled_sample(
        y_true, y_proba, pos_label=pos_label, labels=labels, reduction=reduction
    )
    prob_pred, low, high = bound_sample(sample, level)
    return IsotonicBand(prob_pred, low, high, level)


def _find_regions(knots, low):
    """First and last place of regions where a step function from the left exceeds its place."""
    ends = np.minimum(low, np.append(knots[1:], 1.0))
    above = low > knots
    # A region goes on at the next knot if it reaches there.
    goes_on = np.append(above[:-1] & above[1:] & (ends[:-1] == knots[1:]), False)
    is_first = above & ~np.append(False, goes_on[:-1])
    is_last = above & ~goes_on
    return np.column_stack([knots[is_first], ends[is_last]])
