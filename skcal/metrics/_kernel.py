"""Kernel calibration error, exact and by the estimators of the literature."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows
from skcal._input._validation import (
    check_flag,
    check_integer,
    check_number,
    check_option,
    check_rng,
)
from skcal._numerics.cells._cell_bounds import bound_gaussian, bound_laplace
from skcal._numerics.errors._kernel import (
    estimate_by_bins,
    estimate_by_frequencies,
    estimate_by_pairs,
    gaussian_error,
    laplace_error,
)
from skcal._tools._typing import ArrayLike, RandomState, Reduction

# The grid of the Gaussian kernel has 67 cells in a bandwidth: some million for this one.
_SMALLEST_BANDWIDTH = 1e-5
# Features that "fourier" and "binning" average by default; each costs a pass over the data.
_FEATURES = 100
# How far the error of the Gaussian kernel is from its definition, of residuals of size 1.
_GAUSSIAN_ACCURACY = 2e-7


def kernel_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    kernel: Literal["laplace", "gaussian"] = "laplace",
    bandwidth: float = 1.0,
    squared: bool = False,
    method: Literal["exact", "subsample", "fourier", "binning"] = "exact",
    n_terms: int | None = None,
    random_state: RandomState = None,
) -> float:
    r"""Kernel calibration error (kCE, MMCE), a consistent calibration measure with one kernel.

    It is the root of the mean product of the residuals of all pairs of rows, weighted by how close
    their predictions are.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
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
    kernel : {"laplace", "gaussian"}, default="laplace"
        exp(-\|u - v\| / h) or exp(-((u - v) / h)^2). Only the Laplace kernel gives a measure
        that cannot be small far from calibration.
    bandwidth : float, default=1.0
        Scale h >= 1e-5 of the kernel.
    squared : bool, default=False
        Whether to return the square, whose estimates are unbiased.
    method : {"exact", "subsample", "fourier", "binning"}, default="exact"
        "exact" sorts once for the Laplace kernel and passes once over the rows for the Gaussian.
        The others estimate the square at random: from pairs of rows, from random frequencies, or
        (for the Laplace kernel) from random bins.
    n_terms : int, default=None
        Number of pairs, by default 10 for each row; or of frequencies or binnings, by default 100
        and at most 2^24. Not used by ``method="exact"``.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the estimates. Not used by ``method="exact"``. Tests and intervals
        take the same random numbers for all samples, and at every call.

    Returns
    -------
    float
        The error in [0, 1], or its square. With ``method="exact"`` exact for the Laplace kernel
        and, before squaring, within 1e-7 for the Gaussian. The estimate "subsample" of the
        square may be negative: it is returned as it is, and its root is taken as 0.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    smooth_ece : Another consistent measure, in units of probability.

    Notes
    -----
    With residuals :math:`r = y - v` and probabilities p of the rows [2]_,

    .. math:: \mathrm{kCE}^2 = \sum_{ij} p_i\, p_j\, r_i\, r_j\, k(v_i, v_j).

    For the Laplace kernel with h = 1, :math:`\mathrm{smCE} / 3 \le \mathrm{kCE}
    \le \sqrt{\mathrm{smCE}}`: it is consistent, that is, polynomially related to the distance
    from calibration. The error with the Gaussian kernel can be exponentially small for a model
    that is far from calibrated (Theorem 8.6 of [1]_).

    The exact methods sum squares in place of products, which keeps small errors accurate. The
    estimates are those of [1]_: "subsample" averages products over pairs of rows drawn by weight,
    the two others average the power of the residuals over random Fourier or binning features
    [3]_. (Algorithm 2 of [1]_ lacks the division by the squared number of rows.) Equal predictions
    are merged first, which keeps the mean and lowers the variance: given `n_terms`, an estimate
    does not depend on the order of rows, and an integer weight equals repetition.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC 55. :doi:`10.1145/3564246.3585182`
    .. [2] A. Kumar, S. Sarawagi, U. Jain (2018). Trainable calibration measures for neural
       networks from kernel mean embeddings. ICML 35.
       https://proceedings.mlr.press/v80/kumar18a.html
    .. [3] A. Rahimi, B. Recht (2007). Random features for large-scale kernel machines.
       NeurIPS 20.

    Examples
    --------
    >>> from skcal.metrics import kernel_calibration_error
    >>> round(kernel_calibration_error([1, 0], [0.49, 0.51]), 4)
    0.0507
    >>> kernel_calibration_error([0, 1], [0.25, 0.25], squared=True)
    0.0625
    """
    return average_over_rows(
        KernelCalibrationError(
            kernel=kernel,
            bandwidth=bandwidth,
            squared=squared,
            method=method,
            n_terms=n_terms,
            random_state=random_state,
        ).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


class KernelCalibrationError(Measure, function=kernel_calibration_error):
    """Exact, or the root of an unbiased estimate of its square."""

    def __init__(self, *, kernel, bandwidth, squared, method, n_terms, random_state):
        check_option("kernel", kernel, ("laplace", "gaussian"))
        self.kernel, self.squared, self.method, self.n_terms = kernel, squared, method, n_terms
        self.bandwidth = check_number("bandwidth", bandwidth, minimum=_SMALLEST_BANDWIDTH)
        check_flag("squared", squared)
        check_option("method", method, ("exact", "subsample", "fourier", "binning"))
        if method == "binning" and kernel != "laplace":
            raise ValueError(
                'method="binning" needs kernel="laplace"; no random bins give the Gaussian kernel.'
            )
        if n_terms is not None:
            # Pairs are drawn in chunks, the others are lengths of arrays.
            limit = {"maximum": np.inf} if method == "subsample" else {}
            self.n_terms = check_integer("n_terms", n_terms, minimum=1, **limit)
        draws_nothing = method == "exact" and type(random_state) is int and random_state == 0
        # Tests make the measure for each of their draws, and a generator takes as long as they do.
        self.rng = None if draws_nothing else check_rng(random_state)

    def measure(self, sample):
        if self.method == "exact":
            error = _measure_exactly(sample, self.kernel, self.bandwidth)
            return error**2 if self.squared else error
        options = self.kernel, self.bandwidth, self.method, self.n_terms, self.rng
        square = _estimate_square(sample, *options)
        return square if self.squared else np.sqrt(max(square, 0.0))

    def choose_rows(self, cells):
        return cells.averaged if self.kernel == "laplace" else cells.matched

    def bound(self, cells, value):
        if self.kernel == "laplace":
            return bound_laplace(cells.facts, value, self.bandwidth, self.squared)
        return self._bound_power(min(bound_gaussian(cells.facts, self.bandwidth), 1.0), value)

    def find_accuracy(self, cells, value):
        if self.kernel == "laplace":
            return 0.0
        return self._bound_power(_GAUSSIAN_ACCURACY * cells.facts.absolute, value)

    def _bound_power(self, error, value):
        return error * (2 * np.sqrt(value) + error) if self.squared else error


def _measure_exactly(sample, kernel, bandwidth):
    if kernel == "laplace":
        ties = sample.sorted
        return laplace_error(ties.predictions, ties.residual, bandwidth)

    def read_chunks(size):
        for predictions, outcomes, weights in sample.chunks(size):
            residual = outcomes - predictions
            if weights is not None:
                residual *= weights
            residual /= sample.total_weight
            yield predictions, residual

    return gaussian_error(read_chunks, bandwidth)


def _estimate_square(sample, kernel, bandwidth, method, n_terms, rng):
    """Unbiased estimate of the squared kCE of one sample."""
    predictions, weight, positive, _ = sample.sorted
    if method == "subsample":
        n_terms = n_terms or 10 * len(sample.predictions)
        return estimate_by_pairs(predictions, weight, positive, kernel, bandwidth, n_terms, rng)
    residual = sample.sorted.residual
    n_terms = n_terms or _FEATURES
    if method == "fourier":
        return estimate_by_frequencies(predictions, residual, kernel, bandwidth, n_terms, rng)
    return estimate_by_bins(predictions, residual, bandwidth, n_terms, rng)
