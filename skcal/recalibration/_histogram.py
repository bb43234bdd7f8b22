"""Histogram binning."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_bins, check_number, check_option
from skcal._numerics.errors._binned import bin_index, count_bins, make_edges
from skcal._numerics.recalibration._histogram import (
    average_in_bins,
    equal_mass_edges,
    raise_edges,
    share_in_proportion,
)
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import BinMap
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator
from skcal.recalibration._summary_fit import SummaryFitMixin


class HistogramBinning(SummaryFitMixin, OneVsRestRecalibrator):
    r"""Histogram binning: replace each probability by the frequency of the class in its bin.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=15
        Number of bins of each map, at most 2^24; "cube_root" stands for
        :math:`\lceil n^{1/3} \rceil` with n the number of rows of the map, counted by weight. An
        array holds the edges of the bins, which rise from 0 to 1, and `strategy` is not used.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal mass; the latter never split equal probabilities, and
        read `sample_weight` as counts of rows.
    multiclass : {"one-vs-rest", "top-label"}, default="one-vs-rest"
        What the maps read. "one-vs-rest" maps the probability of each class, for two classes that
        of the second alone. "top-label" maps the probability of the predicted class, by bins of
        the rows with the same predicted class; the other classes share the rest in proportion to
        their probabilities.
    min_proba : float, default=0.0
        Maps stay within [min_proba, 1 - min_proba], before rows are divided by their sums. Any
        positive number, such as 1 / (n_samples + 2), keeps the log loss finite, with "top-label"
        unless X itself gives another class the probability 0. In [0, 0.5).
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        `edges` of shape (n_bins + 1,) and `values` of shape (n_bins,): the map is ``values[b]`` on
        ``(edges[b], edges[b + 1]]``, and level outside. With "one-vs-rest" one for two classes,
        that of the second, else one for each class; with "top-label" one for each class, and None
        for a class that was never predicted.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the logarithms of the probabilities of more than two classes, which then sum to 1
        again; 0 with "top-label" and where a test does not ask for them (see Notes).
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    See Also
    --------
    ScalingBinning : Bins of a fitted sigmoid, which need fewer rows.
    IsotonicRecalibration : Bins that the data choose, with values in order.
    skcal.metrics.expected_calibration_error : The error in the same bins.

    Notes
    -----
    Bins are right-closed, as in the binned measures: bin b holds probabilities in
    :math:`(e_{b-1}, e_b]`, the first also those up to :math:`e_0`, the last those above
    :math:`e_{B-1}`. Its value is the weighted mean outcome of its rows [1]_. An empty bin takes
    its value from the straight line between the nearest filled bins, drawn through the midpoints
    of the bins, and that of the nearest filled bin where there is one on one side only. With more
    than two classes "one-vs-rest" divides rows by their sums; a row that all maps send to 0
    becomes uniform.

    "top-label" [2]_ groups rows by the class with the largest probability, the first of several,
    and does not change a row whose predicted class was never predicted in `fit`. The mapped
    probability may be so small that another class is predicted afterwards.

    On the fitted rows of two classes the bins are calibrated: the expected calibration error in
    the same bins of the given probabilities becomes 0. The map returns exact zeros and ones, with
    which a single row may have an infinite log loss; `min_proba` prevents this. Edges
    of bins of equal mass, for which weights count rows, are often the value of a row: what is above
    an edge by no more than 1e-12 of it, with logits for any bins, counts as on the edge, so that
    rounding moves no row.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan (2001). Obtaining calibrated probability estimates from decision
       trees and naive Bayesian classifiers. ICML 18, 609-616.
    .. [2] C. Gupta, A. Ramdas (2022). Top-label calibration and multiclass-to-binary reductions.
       ICLR. :doi:`10.48550/arXiv.2107.08353`

    Examples
    --------
    >>> from skcal.recalibration import HistogramBinning
    >>> X = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]]
    >>> recalibrator = HistogramBinning(n_bins=2).fit(X, [0, 0, 1, 0, 1, 1])
    >>> recalibrator.predict_proba([[0.5, 0.5], [0.49, 0.51]])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    maps_: list[BinMap]
    _gives_hard_probabilities = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        n_bins: int | Literal["cube_root"] | ArrayLike = 15,
        strategy: Literal["uniform", "quantile"] = "uniform",
        multiclass: Literal["one-vs-rest", "top-label"] = "one-vs-rest",
        min_proba: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, n_jobs=n_jobs)
        self.n_bins = n_bins
        self.strategy = strategy
        self.multiclass = multiclass
        self.min_proba = min_proba

    def _check_options(self):
        check_bins(self.n_bins, self.strategy, ("uniform", "quantile"))
        check_option("multiclass", self.multiclass, ("one-vs-rest", "top-label"))
        check_number("min_proba", self.min_proba, 0, below=0.5)

    def _fit(self, scores, codes, sample_weight):
        if self.strategy == "quantile":
            check_counts(sample_weight)
        if self.multiclass == "one-vs-rest":
            super()._fit(scores, codes, sample_weight)
            return
        proba = self._to_probabilities(scores)
        top, confidence = proba.argmax(axis=1), proba.max(axis=1)
        correct = (top == codes).astype(np.float64)
        self.maps_, self.intercepts_ = [], np.zeros(len(self.classes_))
        for k in range(len(self.classes_)):
            rows = top == k
            weights = None if sample_weight is None else sample_weight[rows]
            self.maps_.append(
                self._fit_map(confidence[rows], correct[rows], weights) if rows.any() else None
            )

    def _list_reductions(self, n_classes):
        if self.multiclass == "top-label":
            return ("top-label",)
        return super()._list_reductions(n_classes)

    def _fit_samples(self, samples):
        if self.strategy == "quantile":
            disjoint = samples if self.multiclass == "top-label" else samples[:1]
            check_counts(np.concatenate([sample.weights for sample in disjoint]))
        if self.multiclass == "one-vs-rest":
            super()._fit_samples(samples)
            return
        self.intercepts_ = np.zeros(len(self.classes_))
        self.maps_ = [
            self._fit_map(sample.predictions, sample.outcomes, sample.weights)
            if len(sample.predictions)
            else None
            for sample in samples
        ]

    def _recalibrate(self, scores):
        if self.multiclass == "one-vs-rest":
            return super()._recalibrate(scores)
        proba = self._to_probabilities(scores)
        top, confidence = proba.argmax(axis=1), proba.max(axis=1)
        for k, fitted in enumerate(self.maps_):
            if fitted is not None:
                rows = top == k
                confidence[rows] = self._apply_map(fitted, confidence[rows])
        return share_in_proportion(proba, top, confidence)

    def _fit_map(self, values, outcomes, sample_weight):
        if self.strategy == "uniform" and isinstance(self.n_bins, str):
            edges = make_edges(count_bins(self.n_bins, count_rows(values, sample_weight)))
        elif self.strategy == "uniform":
            edges = make_edges(self.n_bins)
        else:
            n_bins = count_bins(self.n_bins, count_rows(values, sample_weight))
            edges = equal_mass_edges(values, sample_weight, n_bins)
        means = average_in_bins(self._find_bin(values, edges), outcomes, sample_weight, edges)
        return BinMap(edges, np.clip(means, self.min_proba, 1 - self.min_proba))

    def _apply_map(self, fitted, values):
        return fitted.values[self._find_bin(values, fitted.edges)]

    def _find_bin(self, values, edges):
        is_exact = self.input == "proba" and self.strategy == "uniform"
        return bin_index(values, edges if is_exact else raise_edges(edges))


def count_rows(values, sample_weight):
    """Number of rows, counted by weight."""
    return len(values) if sample_weight is None else float(sample_weight.sum())


def check_counts(sample_weight):
    """Raise a ValueError for weights that cannot be read as counts of rows."""
    if sample_weight is not None and len(sample_weight) > 1 and sample_weight.sum() < 2:
        raise ValueError(
            "sample_weight must sum to at least 2, because bins of equal mass read it as counts; "
            f"got {sample_weight.sum():g}. Scale it to sum to the number of rows."
        )
