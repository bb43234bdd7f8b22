"""Scaling-binning."""

from __future__ import annotations

from typing import Literal

from scipy.special import expit

from skcal._input._validation import check_flag, check_n_bins
from skcal._numerics.errors._binned import bin_index, count_bins
from skcal._numerics.recalibration._histogram import average_in_bins, equal_mass_edges, raise_edges
from skcal._numerics.recalibration._logistic import fit_logistic
from skcal._numerics.recalibration._target_smoothing import smooth_outcomes
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import BinnedSigmoidMap
from skcal.recalibration._histogram import check_counts, count_rows
from skcal.recalibration._logits import LogitRecalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator


class ScalingBinning(LogitRecalibrator, OneVsRestRecalibrator):
    r"""Scaling-binning: Platt scaling of each class, then averaging within equal-mass bins.

    The result takes few values, so that its calibration error can be measured from a moderate
    sample, and each value is a mean of the fitted sigmoid instead of the noisy frequency of a bin.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied. Logarithms of probabilities serve as logits.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    min_proba : "auto" or float, default="auto"
        Probabilities below it, such as the zeros of forests, are raised to it before logarithms
        are taken. "auto" takes half of the smallest positive probability of the fitted rows, at
        most 1 / (2 n_classes), if some of them are 0, and else 0. In [0, 1 / n_classes); 0 means
        2.2e-16. Logits are taken as they are.
    n_bins : int or "cube_root", default=100
        Number of bins of each map, at most 2^24; "cube_root" stands for
        :math:`\lceil n^{1/3} \rceil` with n the number of rows, counted by weight. Equal values are
        never split, so fewer bins may be filled. With few bins the differences within a bin are
        lost: with ten classes and ten bins, all positives may share one bin.
    target_smoothing : bool, default=True
        Whether to fit the sigmoid to Platt's targets, inside (0, 1), rather than to 0 and 1. They
        read weights as counts of rows. Those of a class of n rows sum to n + 2 / (n + 2) at most:
        mean probabilities of rare classes are higher than their rates by up to that.
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        `slope` and `intercept` of the sigmoid of the log-odds, `edges` of shape (n_bins + 1,) and
        `values` of shape (n_bins,): the map is ``values[b]`` where the sigmoid lies in
        ``(edges[b], edges[b + 1]]``. One for two classes, that of the second; else one for each
        class.
    min_proba_ : float
        Probabilities below it are raised to it; 0 for logits.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the log probabilities of more than two classes, which are then normalized again; 0
        unless a test calls for them (see Notes).
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warns
    -----
    RuntimeWarning
        If a fit does not converge, for instance because scores have very different scales.

    See Also
    --------
    PlattScaling : The sigmoid without bins.
    HistogramBinning : Frequencies of bins of the given probabilities.

    Notes
    -----
    Three steps for each class [1]_: the probability becomes :math:`g = 1 / (1 + e^{-(a s + b)})`
    of the log-odds s, with a and b that minimise the mean log loss; quantiles of g cut [0, 1] into
    bins; and the answer is the mean of g over the fitted rows in the bin. Bins are right-closed,
    the first and the last reach to 0 and 1, and the quantiles read `sample_weight` as counts of
    rows. A bin without rows, as
    with fewer rows than bins, takes its value from the straight line between the nearest filled
    bins. What is above an edge by no more than 1e-12 of it counts as on the edge. With more than
    two classes each class is mapped against the rest, and rows are divided by their sums, which
    the paper leaves out.

    All rows serve all three steps, as in the authors' own package. The theorem, by which of the
    order of :math:`1 / \varepsilon^2 + B` rows bring the calibration error within
    :math:`\varepsilon` of what sigmoids allow, up to constants, against
    :math:`B / \varepsilon^2` for B bins of frequencies, is for a separate third of the rows for
    each step.

    The sigmoid is fitted as that of :class:`PlattScaling`: the targets
    are 1 and 0, or with `target_smoothing` :math:`(n_1 + 1)/(n_1 + 2)` and :math:`1/(n_0 + 2)`
    for :math:`n_1` rows of the class and :math:`n_0` others [2]_, which
    keeps it moderate if the classes can be separated without an error. The theorem asks of the
    first step only that it comes close to the best sigmoid, from which these targets move it by
    the order of 1 / n. The authors' package has the targets 1 and 0.

    The log-odds of class k are :math:`z_k - \log \sum_{j \ne k} e^{z_j}`. Logits z are X, or the
    logarithms of its probabilities, after raising those below `min_proba_` to it. If rounding
    yields 0 or 1, the nearest number inside is returned.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma (2019). Verified uncertainty calibration. NeurIPS 32.
       :doi:`10.48550/arXiv.1909.10155`

    .. [2] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import ScalingBinning
    >>> scores = [[-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]]
    >>> recalibrator = ScalingBinning(input="logits", n_bins=2).fit(scores, [0, 0, 1, 0, 1, 1])
    >>> low, high = recalibrator.maps_[0].values
    >>> round(float(low + high), 6)  # half of the rows each, and half of the rows are positive
    1.0
    >>> bool(recalibrator.transform([[0.4]])[0, 0] == low)
    True
    """

    maps_: list[BinnedSigmoidMap]

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        n_bins: int | Literal["cube_root"] = 100,
        target_smoothing: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.n_bins = n_bins
        self.target_smoothing = target_smoothing
        self.n_jobs = n_jobs

    def _check_options(self):
        check_n_bins(self.n_bins)
        check_flag("target_smoothing", self.target_smoothing)

    def _read_scale(self, scores):
        return self._to_log_odds(scores)

    def _fit(self, scores, codes, sample_weight):
        check_counts(sample_weight)
        super()._fit(scores, codes, sample_weight)

    def _fit_map(self, values, outcomes, sample_weight):
        if self.target_smoothing:
            outcomes = smooth_outcomes(outcomes, sample_weight)
        fitted = fit_logistic(values[:, None], outcomes, sample_weight, fit_intercept=True, guess=1)
        slope, intercept = map(float, fitted)
        scaled = expit(slope * values + intercept)
        n_bins = count_bins(self.n_bins, count_rows(scaled, sample_weight))
        edges = equal_mass_edges(scaled, sample_weight, n_bins)
        index = bin_index(scaled, raise_edges(edges))
        means = average_in_bins(index, scaled, sample_weight, edges)
        return BinnedSigmoidMap(slope, intercept, edges, means)

    def _apply_map(self, fitted, values):
        scaled = expit(fitted.slope * values + fitted.intercept)
        return fitted.values[bin_index(scaled, raise_edges(fitted.edges))]
