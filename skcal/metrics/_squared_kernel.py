"""Calibration of the whole predicted vector by kernels: SKCE, and mean embeddings (UCME)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from skcal._estimates._class_kernels import check_class_kernel
from skcal._estimates._kernel_blocks import estimate_blocks, split_vectors
from skcal._estimates._measure import Measure
from skcal._estimates._test_points import check_test_points, embed_rows
from skcal._input._reduction import check_class_vectors
from skcal._input._validation import check_flag
from skcal._tools._typing import ArrayLike


def squared_kernel_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    kernel: Literal["total_variation", "euclidean", "gaussian"]
    | Callable[..., Any] = "total_variation",
    bandwidth: float | Literal["median"] = 1.0,
    unbiased: bool = True,
    block_size: int | Callable[[int], int] | None = None,
    label_kernel: ArrayLike | None = None,
) -> float:
    r"""Squared kernel calibration error (SKCE) of the whole vector of class probabilities.

    The mean product of the residual vectors of all pairs of rows, weighted by how close their
    predicted vectors are. It is zero in expectation only for a model that is calibrated in the
    strongest sense: whatever vector is predicted, the classes come true as often as it says.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each. A soft label counts as labels in its proportion.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1. One column p stands for the vectors (1 - p, p).
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. The unbiased estimator reads them as counts of rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    kernel : {"total_variation", "euclidean", "gaussian"} or callable, default="total_variation"
        Kernel on predictions: exp(-TV(p, p') / h) with the total variation distance, half the sum
        of absolute differences; exp(-\|p - p'\| / h); or exp(-\|p - p'\|^2 / (2 h^2)). A function
        of two arrays of rows returns the matrix of kernel values between them, such as
        :func:`sklearn.metrics.pairwise.laplacian_kernel`. It is called with a few hundred rows at a
        time and should be positive definite.
    bandwidth : float or "median", default=1.0
        Scale h >= 1e-5 of the kernel, or the median distance between two different rows of
        `y_proba`; see Notes. Not used by a callable.
    unbiased : bool, default=True
        Whether to leave out the pairs of a row with itself: the mean is then 0 for calibrated
        models, and the estimate may be negative. The biased one never is.
    block_size : int, callable or None, default=None
        Average the estimates of blocks of that many rows, in their order; an incomplete last
        block is dropped. A callable computes it from the number of rows. None stands for one
        block of all rows. At least 2, or 1 for the biased estimate.
    label_kernel : array-like of shape (n_classes, n_classes), default=None
        Symmetric positive semidefinite matrix of a kernel on labels, in the order of the columns
        (for one column: the other label, the positive label). None is the white kernel, the
        identity.

    Returns
    -------
    float
        The estimate of the squared error, at most 2 with the white kernel on labels.

    Raises
    ------
    ValueError
        If an argument is invalid, or if a callable kernel returns a wrong shape, values that are
        not finite, or a matrix of rows against themselves that is not symmetric.

    See Also
    --------
    kernel_mean_embedding_error : Compares at chosen test points; linear in the rows.
    kernel_calibration_error : The same for one probability per row, as a root.

    Notes
    -----
    With residual vectors :math:`r_i = e_{y_i} - p_i`, the matrix L of the kernel on labels, and
    the kernel k on predictions [1]_ [2]_,

    .. math:: h_{ij} = k(p_i, p_j)\, r_i^\top L\, r_j, \qquad
        \mathrm{SKCE}_u = \frac{\sum_{ij} w_i w_j h_{ij} - \sum_i w_i h_{ii}}{W (W - 1)}, \qquad
        \mathrm{SKCE}_b = \frac{1}{W^2} \sum_{ij} w_i w_j h_{ij},

    where W is the sum of the weights, the number of rows without weights. Less than two rows
    (W below 2) make no pair: their unbiased estimate is 0. A soft label stands for labels
    that share the weight of the row.

    With weights a block holds `block_size` units of weight in place of rows, and a row that spans
    the end of a block is split: an integer weight equals repetition at that place. Estimates by
    blocks depend on the order of rows. Their number of kernel values is `n_samples` times
    `block_size`, against the square of `n_samples` (half of it is computed). Memory stays bounded
    for any number of rows.

    Two classes with ``kernel="total_variation"`` or ``"euclidean"`` take one sort. There, if the
    two columns do not sum to 1, they share the difference.

    ``bandwidth="median"`` is the median over all pairs of different rows, each counted by the
    product of its weights, of their total variation distance, for the other kernels of their
    Euclidean distance; equal rows are merged first. If there are more than 3000 different rows,
    3000 are taken, at even steps of weight in the lexicographic order of the rows: nothing is
    random.

    References
    ----------
    .. [1] D. Widmann, F. Lindsten, D. Zachariah (2019). Calibration tests in multi-class
       classification: a unifying framework. NeurIPS 32. :doi:`10.48550/arXiv.1910.11385`
    .. [2] D. Widmann, F. Lindsten, D. Zachariah (2021). Calibration tests beyond classification.
       ICLR 9. :doi:`10.48550/arXiv.2210.13355`

    Examples
    --------
    >>> from skcal.metrics import squared_kernel_calibration_error
    >>> y_true = ["cat", "bird", "cat", "dog"]
    >>> y_proba = [[0.2, 0.8, 0.0], [0.9, 0.1, 0.0], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]
    >>> round(squared_kernel_calibration_error(y_true, y_proba), 4)
    -0.028
    >>> round(squared_kernel_calibration_error(y_true, y_proba, unbiased=False), 4)
    0.0352
    """
    measure = SquaredKernelCalibrationError(
        kernel=kernel,
        bandwidth=bandwidth,
        unbiased=unbiased,
        block_size=block_size,
        label_kernel=label_kernel,
    )
    vectors = check_class_vectors(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    return measure.measure(vectors)


def kernel_mean_embedding_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    test_proba: ArrayLike,
    test_labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    kernel: Literal["total_variation", "euclidean", "gaussian"]
    | Callable[..., Any] = "total_variation",
    bandwidth: float | Literal["median"] = 1.0,
    label_kernel: ArrayLike | None = None,
) -> float:
    r"""Squared unnormalized calibration mean embedding (UCME) at chosen test points.

    At each test point, a predicted vector with a label, it compares how often that label came
    true near that vector with how often it was predicted to. The cost is linear in the rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1. One column p stands for the vectors (1 - p, p).
    test_proba : array-like of shape (n_points,), (n_points, 1) or (n_points, n_classes)
        Predictions of the test points, with the columns of `y_proba`.
    test_labels : array-like of shape (n_points,) or (n_points, n_classes)
        Labels of the test points, or soft labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`, or the column numbers if `y_true` has a column for each class.
    kernel : {"total_variation", "euclidean", "gaussian"} or callable, default="total_variation"
        Kernel on predictions, see :func:`squared_kernel_calibration_error`.
    bandwidth : float or "median", default=1.0
        Scale h >= 1e-5 of the kernel, or the median distance between two different rows of
        `y_proba`. Not used by a callable.
    label_kernel : array-like of shape (n_classes, n_classes), default=None
        Symmetric positive semidefinite matrix of a kernel on labels, in the order of the columns.
        None is the white kernel, the identity.

    Returns
    -------
    float
        The squared error, at least 0. It is a biased estimate: for a calibrated model it falls
        like 1 / n_samples.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    squared_kernel_calibration_error : The same without test points.

    Notes
    -----
    With test points :math:`(t_l, z_l)`, probabilities :math:`\pi_j` of the rows, the kernel k on
    predictions and the matrix L of the kernel on labels [1]_,

    .. math:: \mathrm{UCME}^2 = \frac{1}{m} \sum_{l=1}^m \Bigl( \sum_j \pi_j\, k(t_l, p_j)
        \Bigl( L_{z_l y_j} - \sum_c p_{jc} L_{z_l c} \Bigr) \Bigr)^2.

    A model may be miscalibrated and the error small, if the test points lie elsewhere.

    References
    ----------
    .. [1] D. Widmann, F. Lindsten, D. Zachariah (2021). Calibration tests beyond classification.
       ICLR 9. :doi:`10.48550/arXiv.2210.13355`

    Examples
    --------
    >>> from skcal.metrics import kernel_mean_embedding_error
    >>> round(kernel_mean_embedding_error(
    ...     [0, 1, 1, 1], [0.1, 0.4, 0.5, 0.6], test_proba=[0.2, 0.5], test_labels=[1, 1]
    ... ), 4)
    0.0897
    """
    vectors, points, kernel = check_test_points(
        y_true,
        y_proba,
        test_proba,
        test_labels,
        pos_label,
        labels,
        kernel,
        bandwidth,
        label_kernel,
        sample_weight,
    )
    total = np.zeros(len(points.proba))
    for features, weights in embed_rows(vectors, points, kernel):
        total += features.sum(axis=0) if weights is None else weights @ features
    mass = len(vectors.proba) if vectors.weights is None else vectors.weights.sum(dtype=float)
    return float(np.mean((total / mass) ** 2))


class SquaredKernelCalibrationError(Measure, function=squared_kernel_calibration_error):
    """The mean of blocks of pairs of rows."""

    is_signed = is_square = True
    reduces = False

    def __init__(self, *, kernel, bandwidth, unbiased, block_size, label_kernel):
        check_flag("unbiased", unbiased)
        self.kernel = kernel, bandwidth, label_kernel
        self.unbiased, self.block_size = unbiased, block_size
        self.biased = {"unbiased": False} if unbiased else None
        self.alone = {"unbiased": False, "block_size": 1}

    def measure(self, vectors):
        chosen = check_class_kernel(*self.kernel, vectors)
        kept, bounds = split_vectors(vectors, self.block_size, unbiased=self.unbiased)
        return float(estimate_blocks(kept, bounds, chosen, unbiased=self.unbiased).mean())
