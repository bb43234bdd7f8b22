"""Canonical calibration error: the whole vector of probabilities, binned on the simplex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from skcal._estimates._measure import Measure
from skcal._input._reduction import check_class_vectors
from skcal._input._validation import check_integer, check_n_bins, check_option
from skcal._numerics.errors._binned import count_bins
from skcal._numerics.errors._simplex_binning import (
    DISTANCES,
    average_over_bins,
    bin_by_median_variance,
    bin_uniformly,
    has_enough,
)
from skcal._tools._typing import ArrayLike


def canonical_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    strategy: Literal["uniform", "median_variance"] = "uniform",
    n_bins: int | Literal["cube_root"] = 10,
    min_samples: int = 10,
    max_bins: int | None = None,
    distance: str | Callable[..., Any] = "total_variation",
) -> float:
    r"""Canonical calibration error: ECE of the whole vector of probabilities.

    The mean distance, over bins of the simplex, between the mean prediction and the frequencies
    of the classes. It detects errors that the confidence or single classes hide.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or an array of
        shape (n_samples, n_classes) of soft labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; ``strategy="median_variance"`` reads them as counts.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    strategy : {"uniform", "median_variance"}, default="uniform"
        "uniform" takes bins of equal width for each component, and puts rows together whose
        components all share bins. "median_variance" halves the rows again and again, the bin
        with the largest variance first, at the median of its component with the largest variance.
    n_bins : int or "cube_root", default=10
        Number of bins of each component, at most 2^24, or "cube_root", see
        :func:`expected_calibration_error`. Not used by ``strategy="median_variance"``.
    min_samples : int, default=10
        Least number of rows in a bin. Not used by ``strategy="uniform"``.
    max_bins : int, default=None
        Largest number of bins; None sets no limit. Not used by ``strategy="uniform"``.
    distance : str or callable, default="total_variation"
        Distance of the mean prediction p from the mean outcome q of a bin: "total_variation" for
        :math:`\sum_k |p_k - q_k| / 2`, "cityblock" for :math:`\sum_k |p_k - q_k|`,
        "squared_euclidean" for :math:`\sum_k (p_k - q_k)^2`, or a function that takes the two
        arrays of shape (n_classes,) and returns a finite, non-negative number.

    Returns
    -------
    float
        The error; in [0, 1] for the total variation, in [0, 2] for the other two distances.

    Raises
    ------
    ValueError
        If an argument is invalid, or the rows are fewer than `min_samples`.

    See Also
    --------
    expected_calibration_error : The binned error of one number for each row.

    Notes
    -----
    With :math:`P_b` the mass of bin b, and :math:`\bar p_b` and :math:`\bar y_b` the means of its
    predictions and of its outcomes, as vectors with one component per class,

    .. math:: \mathrm{ECE} = \sum_b P_b\, d(\bar p_b, \bar y_b).

    The documentation of CalibrationErrors.jl prints a plain mean over bins; its program weights
    them by mass, as here, which is what estimates the expected distance of the predictions from
    the class frequencies given the predictions [1]_.

    Uniform bins are closed on the right, the first one on both sides; empty ones count for
    nothing. Each component is binned separately, even the second one of a binary problem: there a
    prediction on an inner edge, such as 0.5 if `n_bins` is even, shares a bin with those below it
    by one component and with those above it by the other, so it gets a cell of its own.

    Splits at the median separate the rows below it from the others, so equal predictions always
    share a bin [2]_. With two classes, the one with the smaller mean prediction is split. The
    first component wins where variances are equal (up to rounding). A bin stays whole when it
    holds fewer than twice `min_samples`, or when one of its sides would hold fewer than
    `min_samples`; no other component is tried. An integer weight equals repetition: the number of
    rows is the sum of the weights, the variance divides by that number less one, and the median is
    where the cumulative weight passes one half.

    Binning lets opposite errors of a bin cancel, and is biased upwards where bins hold few rows.
    With many classes nearly every row has a uniform bin of its own; then the error is the mean
    distance between predictions and outcomes, one minus the mean probability of the true label
    for the total variation, and says nothing about calibration.

    References
    ----------
    .. [1] J. Vaicenavicius, D. Widmann, C. Andersson, F. Lindsten, J. Roll, T. B. Schön (2019).
       Evaluating model calibration in classification. AISTATS 22.
       :doi:`10.48550/arXiv.1902.06977`
    .. [2] D. Widmann, F. Lindsten, D. Zachariah (2019). Calibration tests in multi-class
       classification: a unifying framework. NeurIPS 32. :doi:`10.48550/arXiv.1910.11385`

    Examples
    --------
    >>> from skcal.metrics import canonical_calibration_error
    >>> y_proba = [[0.5, 0.25, 0.25]] * 4
    >>> canonical_calibration_error([0, 0, 1, 2], y_proba)
    0.0
    >>> canonical_calibration_error([0, 0, 1, 1], y_proba, labels=[0, 1, 2])
    0.25
    >>> options = {"strategy": "median_variance", "min_samples": 2}
    >>> canonical_calibration_error([0, 0, 1, 2], y_proba, **options)
    0.0
    """
    measure = CanonicalCalibrationError(
        strategy=strategy,
        n_bins=n_bins,
        min_samples=min_samples,
        max_bins=max_bins,
        distance=distance,
    )
    vectors = check_class_vectors(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    return measure.measure(vectors)


class CanonicalCalibrationError(Measure, function=canonical_calibration_error):
    """Of bins of whole vectors."""

    reduces = False

    def __init__(self, *, strategy, n_bins, min_samples, max_bins, distance):
        check_option("strategy", strategy, ("uniform", "median_variance"))
        self.strategy, self.n_bins = strategy, check_n_bins(n_bins)
        self.min_samples = check_integer("min_samples", min_samples, 1, np.inf)
        self.limit = np.inf if max_bins is None else check_integer("max_bins", max_bins, 1, np.inf)
        if not callable(distance):
            check_option("distance", distance, DISTANCES)
        self.compare = _measure_each(distance) if callable(distance) else DISTANCES[distance]

    def measure(self, vectors):
        proba, weights = vectors.proba, vectors.weights
        if self.strategy == "uniform":
            n_rows = len(proba) if weights is None else np.count_nonzero(weights)
            bins = bin_uniformly(proba, weights, count_bins(self.n_bins, n_rows))
        elif has_enough(weights, len(proba), self.min_samples):
            rows = proba
            if proba.shape[1] == 2 and np.average(proba[:, 0], weights=weights) > 0.5:
                rows = proba[:, ::-1]  # whichever label is called positive, the same one is split
            bins = bin_by_median_variance(rows, weights, self.min_samples, self.limit)
        else:
            given = f"{len(proba)}" if weights is None else f"weights that sum to {weights.sum():g}"
            raise ValueError(
                f'strategy="median_variance" needs at least min_samples={self.min_samples} rows, '
                f"counting each by its weight; got {given}."
            )
        return average_over_bins(bins, proba, vectors.one_hot, weights, self.compare)


def _measure_each(distance):
    """Apply a user's distance to each pair of rows, and check what it returns."""

    def measure(predictions, outcomes):
        values = [
            _check_distance(distance(prediction, outcome))
            for prediction, outcome in zip(predictions, outcomes, strict=True)
        ]
        return np.array(values)

    return measure


def _check_distance(value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 <= number < np.inf:
        raise ValueError(f"distance must return a finite, non-negative number; got {value!r}.")
    return number
