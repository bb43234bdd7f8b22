"""What fitted recalibrators hold: named tuples of plain arrays and numbers."""

from typing import Any, NamedTuple

import numpy as np

from skcal._numerics.monitoring._online import OnlineState
from skcal._numerics.recalibration._fold_average import FoldAverage
from skcal._numerics.recalibration._venn_abers import VennAbersMap
from skcal._tools._show_record import as_record


@as_record
class FittedPair(NamedTuple):
    """A classifier and the recalibrator of its scores.

    Attributes
    ----------
    estimator : classifier
        The fitted classifier.
    recalibrator : recalibrator
        The fitted recalibrator.
    """

    estimator: Any
    recalibrator: Any


@as_record
class SigmoidMap(NamedTuple):
    """The fitted map of :class:`PlattScaling`, expit(slope * score + intercept).

    Attributes
    ----------
    slope : float
        Factor of the log-odds, or of the probability with ``scale="probability"``.
    intercept : float
        Constant.
    """

    slope: float
    intercept: float


@as_record
class BetaMap(NamedTuple):
    """The fitted map of :class:`BetaCalibration`, expit(a log p - b log(1 - p) + c).

    Attributes
    ----------
    a : float
        Factor of log p; not negative.
    b : float
        Factor of -log(1 - p); not negative.
    c : float
        Constant.
    """

    a: float
    b: float
    c: float


@as_record
class SplineMap(NamedTuple):
    """The fitted map of :class:`SplineRecalibration`, from log-odds to log-odds.

    ``scipy.interpolate.PPoly(*spline_map)`` is this function.

    Attributes
    ----------
    coefficients : ndarray of shape (4, n_pieces) or (2, 1)
        Coefficients of the polynomial of each piece, in powers of the distance from its left end,
        the highest power first. A single straight piece has two.
    breakpoints : ndarray of shape (n_pieces + 1,)
        Ends of the pieces; the outer ones go on to infinity.
    """

    coefficients: np.ndarray
    breakpoints: np.ndarray


@as_record
class KernelMap(NamedTuple):
    """The fitted map of :class:`KernelRecalibration`, the smoothed mean outcome.

    It is straight between the knots.

    Attributes
    ----------
    bandwidth : float
        Standard deviation of the kernel.
    knots : ndarray of shape (n_knots,)
        Predictions, in increasing order.
    values : ndarray of shape (n_knots,)
        What the map returns at the knots.
    """

    bandwidth: float
    knots: np.ndarray
    values: np.ndarray


@as_record
class BinMap(NamedTuple):
    """The fitted map of :class:`HistogramBinning`, a step function.

    It is ``values[b]`` on ``(edges[b], edges[b + 1]]``, and level outside.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins.
    values : ndarray of shape (n_bins,)
        What the map returns in each bin.
    """

    edges: np.ndarray
    values: np.ndarray


@as_record
class BinnedSigmoidMap(NamedTuple):
    """The fitted map of :class:`ScalingBinning`, a sigmoid that is rounded to its means in bins.

    It is ``values[b]`` where expit(slope * log_odds + intercept) is in (edges[b], edges[b + 1]].

    Attributes
    ----------
    slope : float
        Factor of the log-odds.
    intercept : float
        Constant.
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins.
    values : ndarray of shape (n_bins,)
        What the map returns in each bin.
    """

    slope: float
    intercept: float
    edges: np.ndarray
    values: np.ndarray


@as_record
class QuadraticMap(NamedTuple):
    """The fitted map of :class:`QuadraticScaling`, of log-odds z.

    The probability is expit(intercept + slope * z + curvature * z^2).

    Attributes
    ----------
    intercept : float
        Constant.
    slope : float
        Factor of the log-odds.
    curvature : float
        Factor of their square.
    """

    intercept: float
    slope: float
    curvature: float


# All of them, for what saves and loads.


FITTED = (
    FittedPair,
    FoldAverage,
    SigmoidMap,
    BetaMap,
    SplineMap,
    KernelMap,
    BinMap,
    BinnedSigmoidMap,
    QuadraticMap,
    VennAbersMap,
    OnlineState,
)
