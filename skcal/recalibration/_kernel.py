"""Kernel recalibration: the smoothed reliability curve as a map."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._sample import Sample
from skcal._input._validation import check_number
from skcal._numerics.curves._kernel_curve import (
    RESIDUAL_CELLS,
    SMALLEST_BANDWIDTH,
    find_bandwidth,
    share_mass,
    trace_curve,
)
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import KernelMap
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator
from skcal.recalibration._summary_fit import SummaryFitMixin

# Up to this number of distinct probabilities are used directly; more are binned on a grid.
_MOST_PLACES = 1 << 14


class KernelRecalibration(SummaryFitMixin, OneVsRestRecalibrator):
    r"""Replace each probability by the value of its class's kernel-smoothed reliability curve.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    bandwidth : float, default=None
        Standard deviation of the kernel, at least 0.001. None takes SmoothECE of the fitted rows,
        class by class, but not less than 0.001.
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        `bandwidth`, a float, `knots`, predictions in increasing order, and `values`, what the map
        returns at them, both of shape (n_knots,); it is straight in between. One for two classes,
        that of the second; else one for each class.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the log probabilities of more than two classes, which are then normalized again; 0
        unless a test calls for them (see Notes).
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    See Also
    --------
    skcal.metrics.smooth_ece_curve : The same curve, to be looked at.
    RandomizedSmoothing : The same curve, read at noisy probabilities.
    IsotonicRecalibration : A map that is constrained to increase instead of smoothed.

    Notes
    -----
    The map is the Nadaraya-Watson estimate

    .. math:: \mu(t) = \mathbb{E}[K_s(t, v)\, y] / \mathbb{E}[K_s(t, v)]

    over the fitted rows, v the probability of the class, y whether it came true, and
    :math:`K_s` the Gaussian kernel reflected at 0 and 1. SmoothECE is the bandwidth that equals
    the error left after smoothing [1]_. The map need not increase. It cannot distinguish rows
    within a bandwidth. Far from all fitted rows it tends to the outcome of the nearest ones; where
    those within some eight bandwidths all have one outcome, it stops at 2.2e-16 from 0 or 1. With
    few rows between many near 0 and many near 1 this increases the log loss, and a larger
    bandwidth helps. With more than two classes each class is mapped against the rest, and rows are
    divided by their sums.

    The curve is kept at knots, is straight between them and level beyond. Where rounding yields 0
    or 1, the nearest number inside is returned. There are about ten knots in a bandwidth, more
    where it is steep. The error is at most 4e-4: an interval is halved until its length times the
    difference between the slopes of the curve at its ends and that of the chord is below, which
    bounds the error where the curvature changes sign once at most. More than 16384 distinct
    probabilities are first shared linearly between the nodes of a grid finer than s / 256, which
    moves the curve by less than 1e-4 wherever some row is within ten bandwidths.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    >>> from skcal.recalibration import KernelRecalibration
    >>> X = [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8], [0.2, 0.8]]
    >>> recalibrator = KernelRecalibration(bandwidth=0.1).fit(X, [0, 0, 1, 0, 1, 1])
    >>> recalibrator.predict_proba([[0.8, 0.2], [0.5, 0.5]]).round(3)
    array([[0.667, 0.333],
           [0.5  , 0.5  ]])
    """

    maps_: list[KernelMap]

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        bandwidth: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, n_jobs=n_jobs)
        self.bandwidth = bandwidth

    def _check_options(self):
        if self.bandwidth is not None:
            check_number("bandwidth", self.bandwidth, SMALLEST_BANDWIDTH)

    def _fit_map(self, values, outcomes, sample_weight):
        sample = Sample(values, outcomes, sample_weight)
        if self.bandwidth is None:
            bandwidth = find_bandwidth(*sample.residual_on_grid(RESIDUAL_CELLS))
        else:
            bandwidth = float(self.bandwidth)
        return KernelMap(bandwidth, *trace_curve(*_place_mass(sample, bandwidth), bandwidth))

    def _apply_map(self, fitted, values):
        return np.interp(values, fitted.knots, fitted.values)


def _place_mass(sample, bandwidth):
    """Places, masses and positive masses of a sample."""
    ties = sample.sorted
    if len(ties.predictions) <= _MOST_PLACES:
        return ties.predictions, ties.weight, ties.positive
    mass, positive = ties.weight / ties.total_weight, ties.positive / ties.total_weight
    return share_mass(ties.predictions, mass, positive, bandwidth)
