"""Calibration errors of binned predictions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._estimates._bins import find_edges
from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows
from skcal._input._validation import (
    check_bins,
    check_flag,
    check_n_bins,
    check_number,
    check_option,
)
from skcal._numerics.cells._cell_bins import limit_gap_norm, limit_squared_gaps, range_bins
from skcal._numerics.errors._binned import (
    debias_squared_gaps,
    gap_norm,
    make_bin_index,
    make_edges,
    mean_gap,
    residual_noise,
    squared_gaps,
)
from skcal._tools._typing import ArrayLike, Reduction


def expected_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    n_bins: int | Literal["cube_root"] | ArrayLike = 15,
    strategy: Literal["uniform", "quantile", "sweep"] = "uniform",
    norm: float = 1,
    bin_width_penalty: bool = False,
) -> float:
    r"""Expected calibration error (ECE): mean gap between predictions and outcomes over bins.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; bins of equal mass read them as counts.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`. A table whose columns bear the names of the labels in another order
        is an error.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions: "confidence" takes the largest probability and
        whether its label came true, "top-label" does so for each predicted label apart and averages
        by mass, "classwise" averages over the classes one against the rest, "full" pools all pairs
        of row and class, "auto" takes the positive label of a binary problem (or `pos_label`) and
        the confidence otherwise. "multilabel" averages over labels that do not exclude one another:
        `y_true` is an indicator of shape (n_samples, n_labels), of 0 and 1 or of soft labels, dense
        or sparse; `y_proba` has the same shape, or is a list of n_labels arrays of shape
        (n_samples, 2); rows need not sum to 1, and `labels` are names of columns. Entries of the
        indicator may be missing, or `sample_weight` may have its shape: each label is measured in
        the rows where it is known, and counts as much as any other.
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=15
        Number of bins, at most 2^24; not used by ``strategy="sweep"``. "cube_root" stands for
        :math:`\lceil n^{1/3} \rceil` with n the number of rows whose weight is not zero, as in
        scikit-learn from version 1.10. An array holds the edges of bins, which rise from 0 to 1,
        and `strategy` is not used; a prediction on an edge belongs to the bin below it.
    strategy : {"uniform", "quantile", "sweep"}, default="uniform"
        Bins of equal width, or of equal mass; equal predictions always share a bin. "sweep"
        takes as many bins of equal mass as keep the mean outcome from falling between bins [3]_,
        up to one for each row; with ties and weights, up to 4096 or one for each prediction.
    norm : float, default=1
        Exponent q >= 1 of the norm over bins; `numpy.inf` gives the maximum calibration error.
    bin_width_penalty : bool, default=False
        Whether to add the mean width of the bins, which makes the error (with ``norm=1``) an
        upper bound on the distance from calibration [4]_.

    Returns
    -------
    float
        The error in [0, 1], in units of probability; up to 2 with `bin_width_penalty`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    maximum_calibration_error : The largest gap.
    smooth_ece : A measure that does not depend on bins.

    Notes
    -----
    With :math:`P_b` the mass of bin b and :math:`g_b` the distance between its mean outcome and
    its mean prediction [1]_,

    .. math:: \mathrm{ECE}_q = \Bigl(\sum_b P_b\, g_b^q\Bigr)^{1/q}.

    With `bin_width_penalty`, :math:`\sum_b P_b\, w_b` is added, :math:`w_b` the widths.

    Bins are closed on the right, the first one on both sides, exactly as in
    :func:`sklearn.calibration.calibration_curve`, and with the rounding of its percentiles: of
    equal mass, a bin may lose a row at its end to the next one. Empty bins count for nothing. The
    value depends on the bins, jumps when a prediction crosses an edge, and is biased upwards [2]_:
    a calibrated model shows about .04 at n = 1000 with 15 bins.

    Under scikit-learn's ``array_api_dispatch`` arrays of other libraries stay on their device, and
    only sums over bins are moved to NumPy. "sweep" and bins of equal mass with weights need the
    rows in order with their weights, and move all rows to NumPy. The other measures of bins do the
    same.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated
       probabilities using Bayesian binning. AAAI 29. :doi:`10.1609/aaai.v29i1.9602`
    .. [2] A. Kumar, P. Liang, T. Ma (2019). Verified uncertainty calibration. NeurIPS 32.
       :doi:`10.48550/arXiv.1909.10155`
    .. [3] R. Roelofs, N. Cain, J. Shlens, M. C. Mozer (2022). Mitigating bias in calibration
       error estimation. AISTATS 25. :doi:`10.48550/arXiv.2012.08668`
    .. [4] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC 55. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> from skcal.metrics import expected_calibration_error
    >>> expected_calibration_error([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.25
    """
    return average_over_rows(
        ExpectedCalibrationError(
            n_bins=n_bins, strategy=strategy, norm=norm, bin_width_penalty=bin_width_penalty
        ).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )


def maximum_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    n_bins: int | Literal["cube_root"] | ArrayLike = 15,
    strategy: Literal["uniform", "quantile", "sweep"] = "uniform",
) -> float:
    r"""Maximum calibration error (MCE): largest gap between predictions and outcomes of a bin.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; bins of equal mass read them as counts.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see :func:`expected_calibration_error`; "classwise"
        is the mean of the largest gaps.
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=15
        Number of bins, at most 2^24, "cube_root", or their edges, see
        :func:`expected_calibration_error`; not used by ``strategy="sweep"``.
    strategy : {"uniform", "quantile", "sweep"}, default="uniform"
        Bins of equal width, or of equal mass; equal predictions always share a bin. For "sweep"
        see :func:`expected_calibration_error`.

    Returns
    -------
    float
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    expected_calibration_error : The mean gap; this is its norm for q = infinity.

    Notes
    -----
    :math:`\mathrm{MCE} = \max_b g_b` over the bins that hold any mass [1]_. A bin with few rows has
    a large gap by chance, so that the value grows with the number of bins.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated
       probabilities using Bayesian binning. AAAI 29. :doi:`10.1609/aaai.v29i1.9602`

    Examples
    --------
    >>> from skcal.metrics import maximum_calibration_error
    >>> maximum_calibration_error([0, 0, 1, 1], [0.1, 0.25, 0.5, 0.75], n_bins=2)
    0.25
    """
    return average_over_rows(
        MaximumCalibrationError(n_bins=n_bins, strategy=strategy).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )


def adaptive_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "classwise",
    n_bins: int | Literal["cube_root"] = 15,
) -> float:
    r"""Adaptive calibration error (ACE): unweighted mean gap over equal-mass bins of each class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, read as counts.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="classwise"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see :func:`expected_calibration_error`. ACE is
        defined for each class against the rest.
    n_bins : int or "cube_root", default=15
        Number of bins of equal mass, at most 2^24, or "cube_root", see
        :func:`expected_calibration_error`; equal predictions always share a bin.

    Returns
    -------
    float
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    expected_calibration_error : With ``strategy="quantile"`` it weights bins by their mass.

    Notes
    -----
    With :math:`g_{kb}` the gap between mean outcome and mean prediction of class k in bin b [1]_,

    .. math:: \mathrm{ACE} = \frac{1}{K} \sum_k \frac{1}{B_k} \sum_b g_{kb},

    :math:`B_k \le B` the number of bins that hold any row: ties may leave some of the bins
    empty, and others with more than their share.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019). Measuring calibration
       in deep learning. CVPR workshops. :doi:`10.48550/arXiv.1904.01685`

    Examples
    --------
    >>> from skcal.metrics import adaptive_calibration_error
    >>> adaptive_calibration_error([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.25
    """
    return average_over_rows(
        AdaptiveCalibrationError(n_bins=n_bins).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )


def squared_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    n_bins: int | Literal["cube_root"] | ArrayLike = 15,
    strategy: Literal["uniform", "quantile", "sweep"] = "quantile",
    debias: bool | Literal["outcomes", "residuals"] = True,
) -> float:
    r"""Debiased squared calibration error of binned predictions.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, read as counts.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see :func:`expected_calibration_error`.
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=15
        Number of bins, at most 2^24, "cube_root", or their edges, see
        :func:`expected_calibration_error`; not used by ``strategy="sweep"``.
    strategy : {"uniform", "quantile", "sweep"}, default="quantile"
        Bins of equal width or of equal mass, see :func:`expected_calibration_error`.
    debias : bool or {"outcomes", "residuals"}, default=True
        What is subtracted from each squared gap: the estimated variance of the mean outcome
        ("outcomes", or True), the squared residuals of the rows ("residuals"), or nothing (False).

    Returns
    -------
    float
        The squared error in [-1, 1]. A debiased estimate may be negative; it is returned as it
        is, since clipping would bring the bias back.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    expected_calibration_error : With ``norm=2`` the root of the plain estimate.

    Notes
    -----
    With :math:`g_b` the gap, :math:`\bar y_b` the mean outcome and :math:`n_b` the rows of bin b,

    .. math:: \sum_b P_b \Bigl[ g_b^2 - \frac{\bar y_b (1 - \bar y_b)}{n_b - 1} \Bigr]
              \quad\text{or}\quad
              \sum_b P_b \Bigl[ g_b^2 - \sum_{i \in b} \frac{r_i^2}{n_b^2} \Bigr].

    The first [1]_ has, given the predictions, a bias of minus the variance within bins of the
    true probabilities, over :math:`n_b`; a bin of one row counts as 0. The second [2]_ has mean
    zero for every calibrated model. A soft label counts as outcomes 1 and 0 in its proportion.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma (2019). Verified uncertainty calibration. NeurIPS 32.
       :doi:`10.48550/arXiv.1909.10155`
    .. [2] D. Lee, X. Huang, H. Hassani, E. Dobriban (2023). T-Cal: an optimal test for the
       calibration of predictive models. JMLR 24(335). :doi:`10.48550/arXiv.2203.01850`

    Examples
    --------
    >>> from skcal.metrics import squared_calibration_error
    >>> y_true, y_proba = [0, 0, 1, 1, 1, 1], [0.25, 0.25, 0.25, 0.75, 0.75, 0.75]
    >>> round(squared_calibration_error(y_true, y_proba, n_bins=2, debias=False), 4)
    0.0347
    >>> round(squared_calibration_error(y_true, y_proba, n_bins=2), 4)
    -0.0208
    """
    return average_over_rows(
        SquaredCalibrationError(n_bins=n_bins, strategy=strategy, debias=debias).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )


class ExpectedCalibrationError(Measure, function=expected_calibration_error):
    """Also without a norm or a penalty."""

    def __init__(self, *, n_bins, strategy, norm, bin_width_penalty):
        self.n_bins = check_bins(n_bins, strategy, ("uniform", "quantile", "sweep"))
        self.strategy = strategy
        self.norm = check_number("norm", norm, minimum=1, allow_infinity=True)
        check_flag("bin_width_penalty", bin_width_penalty)
        self.has_penalty = bin_width_penalty
        if bin_width_penalty and norm != 1:
            raise ValueError(f"bin_width_penalty must be False unless norm=1; got norm={norm:g}.")

    def measure(self, sample):
        edges = find_edges(sample, self.n_bins, self.strategy)
        rows = make_bin_index(edges), len(edges) - 1
        if self.norm == 1 and not self.has_penalty:
            return float(np.abs(sample.residual_by_bin(*rows)).sum())
        mass, residual = sample.sum_by_bin(*rows)
        penalty = float(mass @ np.diff(edges)) if self.has_penalty else 0.0
        return gap_norm(mass, residual, self.norm) + penalty

    def choose_rows(self, cells):
        return cells.matched

    def bound(self, cells, value):
        ranges = range_bins(cells.facts, make_edges(self.n_bins))
        lower, upper = limit_gap_norm(ranges, self.norm)
        value = value - (1 / self.n_bins if self.has_penalty else 0.0)
        return max(upper - value, value - lower)

    def refuse(self):
        if self.has_penalty and self.strategy == "uniform" and hasattr(self.n_bins, "__len__"):
            return "the penalty of bins of several widths depends on the bin of each prediction."
        return _refuse_unequal_bins(self.strategy)


class MaximumCalibrationError(ExpectedCalibrationError, function=maximum_calibration_error):
    """Of the norm that takes the largest gap."""

    def __init__(self, *, n_bins, strategy):
        super().__init__(n_bins=n_bins, strategy=strategy, norm=np.inf, bin_width_penalty=False)


class AdaptiveCalibrationError(Measure, function=adaptive_calibration_error):
    """Every bin counts alike."""

    def __init__(self, *, n_bins):
        self.n_bins = check_n_bins(n_bins)

    def measure(self, sample):
        edges = find_edges(sample, self.n_bins, "quantile")
        return mean_gap(*sample.sum_by_bin(make_bin_index(edges), len(edges) - 1))

    def refuse(self):
        return (
            "the edges of bins of equal mass depend on the order of single predictions; "
            'use expected_calibration_error with strategy="uniform" instead.'
        )


class SquaredCalibrationError(Measure, function=squared_calibration_error):
    """Freed of the part that is due to chance unless told otherwise."""

    is_signed = is_square = True

    def __init__(self, *, n_bins, strategy, debias):
        strategies = ("uniform", "quantile", "sweep")
        self.n_bins = check_bins(n_bins, strategy, strategies, default="quantile")
        self.strategy, self.debias = strategy, debias
        if not isinstance(debias, bool | np.bool_):
            check_option("debias", debias, ("outcomes", "residuals"))
        self.biased = {"debias": False} if debias else None

    def measure(self, sample):
        edges = find_edges(sample, self.n_bins, self.strategy)
        counts, positive, residual, squares = sample.squares_by_bin(
            make_bin_index(edges), len(edges) - 1
        )
        if self.debias == "residuals":
            return squared_gaps(counts, residual) - residual_noise(counts, squares)
        if self.debias:
            return debias_squared_gaps(counts, positive, residual)
        return squared_gaps(counts, residual)

    def choose_rows(self, cells):
        return cells.matched

    def bound(self, cells, value):
        ranges = range_bins(cells.facts, make_edges(self.n_bins))
        lower, upper = limit_squared_gaps(ranges, cells.facts.total, self.debias)
        return max(upper - value, value - lower)

    def refuse(self):
        return _refuse_unequal_bins(self.strategy)


def _refuse_unequal_bins(strategy):
    if strategy == "uniform":
        return None
    return (
        f"the edges of bins with strategy={strategy!r} depend on the order of single "
        'predictions; use strategy="uniform" instead.'
    )
