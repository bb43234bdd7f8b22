"""Tests of calibration of the whole predicted vector, by kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from skcal._estimates._class_kernels import check_class_kernel
from skcal._estimates._kernel_blocks import TILE, estimate_blocks, read_rows, split_vectors
from skcal._estimates._test_points import check_test_points, embed_rows
from skcal._input._reduction import check_class_vectors
from skcal._input._validation import (
    check_flag,
    check_integer,
    check_number,
    check_option,
    check_rng,
)
from skcal._numerics.errors._squared_kernel import (
    read_binary,
    scale_binary,
    square_residuals,
)
from skcal._numerics.inference._kernel_tests import (
    BinaryTerms,
    bound_biased,
    bound_unbiased,
    compare_degenerate,
    count_exceedances,
    draw_counts,
    find_chi_squared,
    standardize_mean,
    sum_resampled_pairs,
    widen,
)
from skcal._tools._parallel import run_parallel
from skcal._tools._progress import count_steps, read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.inference._test_result import TestResult

# Estimates of blocks that differ by this share are equal up to rounding.
_ROUNDING = 1e-12
_NAME = "Squared kernel calibration error"


def squared_kernel_calibration_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    method: Literal["bootstrap", "block", "distribution-free"] = "bootstrap",
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    kernel: Literal["total_variation", "euclidean", "gaussian"]
    | Callable[..., Any] = "total_variation",
    bandwidth: float | Literal["median"] = 1.0,
    label_kernel: ArrayLike | None = None,
    unbiased: bool = True,
    kernel_bound: float | None = None,
    block_size: int | Callable[[int], int] = 2,
    n_resamples: int = 1000,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> TestResult:
    r"""Test of calibration based on the squared kernel calibration error (SKCE).

    The hypothesis is calibration in the strongest sense: whatever vector of probabilities is
    predicted, the classes come true as often as it says. Rows must be independent, see
    :ref:`without-clusters`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    method : {"bootstrap", "block", "distribution-free"}, default="bootstrap"
        "bootstrap" resamples the estimate from all pairs of rows and is the most powerful;
        "block" takes the mean over blocks of rows for normal; "distribution-free" bounds the
        p-value at every sample size, with little power.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    kernel : {"total_variation", "euclidean", "gaussian"} or callable, default="total_variation"
        Kernel on predictions, see :func:`skcal.metrics.squared_kernel_calibration_error`.
    bandwidth : float or "median", default=1.0
        Scale h >= 1e-5 of the kernel, or the median distance between two different rows of
        `y_proba`. It may depend on the predictions, not on the labels.
    label_kernel : array-like of shape (n_classes, n_classes), default=None
        Symmetric positive semidefinite matrix of a kernel on labels, in the order of the columns.
        None is the white kernel, the identity.
    unbiased : bool, default=True
        Whether ``method="distribution-free"`` bounds the p-value of the unbiased estimate, or of
        the biased one. Not used by others.
    kernel_bound : float, default=None
        Largest value of the kernel on predictions, 1 by default. ``method="distribution-free"``
        needs it for a callable kernel. Not used by others.
    block_size : int or callable, default=2
        Number of rows in a block, at least 2, or a function that computes it from the number of
        rows. An incomplete last block is dropped. Only used by ``method="block"``.
    n_resamples : int, default=1000
        Number of bootstrap resamples, at most 2^24. Only used by ``method="bootstrap"``.
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over blocks of pairs of rows, or over resamples of two classes: True for a
        tqdm bar (tqdm must be installed), or a function that takes an iterable and returns one,
        such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the bootstrap.

    Returns
    -------
    TestResult
        The statistic that `method` compares, its p-value, and the estimate of the SKCE.

    Raises
    ------
    ValueError
        If an argument is invalid, or if all blocks give the same estimate.

    See Also
    --------
    kernel_mean_embedding_test : A test at chosen points, linear in the rows.
    skcal.metrics.squared_kernel_calibration_error : The error itself.

    Notes
    -----
    With the terms :math:`h_{ij}` of the SKCE, its estimate T, and :math:`B = \sup k \cdot
    \max_{ab} (L_{aa} + L_{bb} - 2 L_{ab})` (2 for the white kernel on labels) [1]_ [2]_:

    - "distribution-free": :math:`p = \exp(-\lfloor n/2 \rfloor (\max(T, 0) / B)^2 / 2)`
      (unbiased) or :math:`\exp(-\max(0, \sqrt{n T / B} - 1)^2 / 2)` (biased); at every n, p is at
      most u with probability at most u. The statistic is T.
    - "block": the statistic is the mean of the unbiased estimates of all blocks over its standard
      error; p is the upper tail of the normal distribution. Larger blocks have more power, but
      the normal approximation needs many blocks, with events in most of them: samples of a rare
      event without a single one are rejected.
    - "bootstrap": under calibration the unbiased estimate is degenerate, so that it is not normal.
      The statistic :math:`\frac{n}{n-1} \mathrm{SKCE}_u - \mathrm{SKCE}_b` is compared with
      :math:`n^{-2} \sum_i C_i \sum_j (\frac{n}{n-1} (C_j - \delta_{ij}) - 2)\, h_{ij}` for
      multinomial counts C; :math:`p = (1 + \#\{T^* \ge T\}) / (1 + \text{n\_resamples})`. Only
      differences between statistics have a meaning. For two classes and the kernel
      "total_variation" or "euclidean" the cost is n times `n_resamples`. For others it is n^2
      times `n_resamples`; the memory, 2 bytes times n times `n_resamples` besides a small part of
      the matrix h. Where resamples vary less than half as much as the statistic does if labels
      come true as predicted, because hardly any event was seen, they are spread to that standard
      deviation.

    "block" and "bootstrap" are approximations for many rows. With 50 rows of up to three classes
    they reject 6 % of calibrated samples at 5 %, with ten 7 to 10 %, and with four up to 25 %. With
    many classes, and "bootstrap" with rare events, they reject too few. With few rows take
    :func:`calibration_test` with ``statistic="squared_kernel_calibration_error"``, which is exact.

    A p-value that is too small for a float is given as the smallest normal float. Small p-values
    show that a model is not calibrated; large ones do not prove that it is.

    References
    ----------
    .. [1] D. Widmann, F. Lindsten, D. Zachariah (2019). Calibration tests in multi-class
       classification: a unifying framework. NeurIPS 32. :doi:`10.48550/arXiv.1910.11385`
    .. [2] D. Widmann, F. Lindsten, D. Zachariah (2021). Calibration tests beyond classification.
       ICLR 9. :doi:`10.48550/arXiv.2210.13355`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import squared_kernel_calibration_test
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(200)
    >>> calibrated = (rng.random(200) < y_proba).astype(int)
    >>> squared_kernel_calibration_test(calibrated, y_proba, random_state=0).pvalue > 0.05
    True
    >>> overconfident = (rng.random(200) < 0.25 + 0.5 * y_proba).astype(int)
    >>> squared_kernel_calibration_test(overconfident, y_proba, random_state=0).pvalue < 0.05
    True
    """
    check_option("method", method, ("bootstrap", "block", "distribution-free"))
    check_flag("unbiased", unbiased)
    show = read_progress(progress)
    n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
    vectors = check_class_vectors(y_true, y_proba, pos_label=pos_label, labels=labels)
    _check_rows(vectors, minimum=2)
    kernel = check_class_kernel(kernel, bandwidth, label_kernel, vectors)
    _check_tells_apart(kernel, vectors.proba.shape[1])
    if method == "bootstrap":
        rng = check_rng(random_state)
        return _test_by_bootstrap(vectors, kernel, n_resamples, rng, n_jobs, show)
    if method == "block":
        return _test_by_blocks(vectors, kernel, block_size, n_jobs, show)
    return _test_by_bound(vectors, kernel, unbiased, kernel_bound, n_jobs, show)


def _check_rows(vectors, minimum):
    vectors.refuse_one_hot()
    if vectors.target.ndim == 2:
        raise ValueError("y_true must hold labels; a test cannot draw from soft labels.")
    if len(vectors.proba) < minimum:
        raise ValueError(
            f"y_proba must hold at least {minimum} rows for this test; got {len(vectors.proba)}."
        )


def _check_tells_apart(kernel, n_classes):
    matrix = kernel.label_kernel
    if matrix is not None and kernel.largest_step(n_classes) <= 1e-10 * np.abs(matrix).max():
        raise ValueError("label_kernel must tell at least two labels apart; all rows are alike.")


def _check_bound(vectors, kernel, largest):
    """The largest value of a positive definite kernel is one of a row with itself."""
    for start in range(0, len(vectors.proba), TILE):
        proba, *_ = read_rows(vectors, slice(start, start + TILE))
        found = kernel.evaluate_square(proba).diagonal().max()
        if found > largest * (1 + 1e-10):
            raise ValueError(
                f"kernel_bound must be the largest value of the kernel; got {largest:g}, but the "
                f"kernel takes the value {found:g}."
            )


def _test_by_bound(vectors, kernel, unbiased, kernel_bound, n_jobs, show):
    if kernel_bound is not None:
        largest = check_number("kernel_bound", kernel_bound, minimum=np.finfo(float).tiny)
    elif callable(kernel.function):
        raise ValueError(
            'kernel_bound must be given for method="distribution-free" with a callable kernel: '
            "the largest value that the kernel can take; got None."
        )
    else:
        largest = 1.0
    _check_bound(vectors, kernel, largest)
    n_rows = len(vectors.proba)
    (estimate,) = estimate_blocks(
        vectors, np.array([0, n_rows]), kernel, unbiased=unbiased, n_jobs=n_jobs, show=show
    )
    bound = largest * kernel.largest_step(vectors.proba.shape[1])
    find_bound = bound_unbiased if unbiased else bound_biased
    pvalue = find_bound(estimate, n_rows, bound)
    return TestResult(float(estimate), pvalue, float(estimate), name=_NAME)


def _test_by_blocks(vectors, kernel, block_size, n_jobs, show):
    if block_size is None:
        raise ValueError("block_size must be an integer or a callable; got None.")
    vectors, bounds = split_vectors(vectors, block_size, unbiased=True)
    values = estimate_blocks(vectors, bounds, kernel, unbiased=True, n_jobs=n_jobs, show=show)
    if len(values) < 2:
        raise ValueError(
            "block_size must leave at least two blocks; "
            f"got {bounds[1]} for {len(vectors.proba)} rows."
        )
    if values[0] != 0 and np.ptp(values) <= _ROUNDING * np.abs(values).max():
        raise ValueError(
            'method="block" needs blocks with different estimates; '
            f"all {len(values)} are {values[0]:.6g}."
        )
    return TestResult(
        *standardize_mean(values), float(values.mean()), name=f"{_NAME} over its error"
    )


def _test_by_bootstrap(vectors, kernel, n_resamples, rng, n_jobs, show):
    n_rows, n_classes = vectors.proba.shape
    is_binary = kernel.binary_bandwidth(n_classes) is not None
    resample = _resample_binary if is_binary else _resample_pairs
    counts = draw_counts(n_rows, n_resamples, rng)
    *sums, variance = resample(vectors, kernel, counts, n_resamples, n_jobs, show)
    statistic, resampled, estimate, null_mean = compare_degenerate(*sums)
    resampled = widen(resampled, null_mean, np.sqrt(2 * variance) / n_rows**2)
    pvalue = count_exceedances(statistic, resampled)
    chance = float(null_mean)
    return TestResult(float(statistic), pvalue, float(estimate), null_mean=chance, name=_NAME)


def _resample_binary(vectors, kernel, counts, n_resamples, n_jobs, show):
    """What `compare_degenerate` takes, and the variance of terms, of an exponential kernel."""
    proba, outcomes, *_ = read_rows(vectors, slice(None))
    predictions, column = read_binary(proba)
    scale = scale_binary(kernel.label_kernel)
    residual = np.sqrt(scale) * (outcomes[:, column] - predictions)
    terms = BinaryTerms(predictions, residual, kernel.binary_bandwidth(2))
    tasks = ((terms.resample, one) for one in counts)
    resampled = run_parallel(
        tasks, n_jobs, lambda tasks: count_steps(show, tasks, n_resamples * [1])
    )
    return terms.row_sums, terms.own, *np.array(resampled).T, scale**2 * terms.find_variance()


def _resample_pairs(vectors, kernel, counts, n_resamples, n_jobs, show):
    """The same from all pairs of rows."""
    n_rows = len(vectors.proba)
    drawn = np.empty((n_rows, n_resamples), dtype=np.uint16)
    for resample, one in enumerate(counts):
        drawn[:, resample] = one
    strips = run_parallel(
        [(_sum_strip, vectors, kernel, drawn, start) for start in range(0, n_rows, TILE)],
        n_jobs,
        show,
    )
    row_sums, own = np.zeros((2, n_rows))
    pairs, variance = np.zeros(n_resamples), 0.0
    for start, (strip_sums, strip_own, strip_pairs, strip_variance) in zip(
        range(0, n_rows, TILE), strips, strict=True
    ):
        row_sums[start:] += strip_sums
        own[start : start + TILE] = strip_own
        pairs += strip_pairs
        variance += strip_variance
    return row_sums, own, pairs, _sum_counts(drawn, own), _sum_counts(drawn, row_sums), variance


def _sum_counts(counts, values):
    """Sums of C_i x_i for each resample, without a float copy of all counts."""
    total = np.zeros(counts.shape[1])
    for start in range(0, len(values), TILE):
        total += values[start : start + TILE] @ counts[start : start + TILE]
    return total


def _sum_strip(vectors, kernel, counts, start):
    """Sums over the terms h of `TILE` rows, from `start` on, with themselves and all later rows.

    Returns the sums of all rows from `start` on (pairs with earlier rows belong to other strips);
    the rows' terms with themselves; the sums over pairs of each resample; and, summed over pairs of
    different rows, the variance that a term has if labels come true as predicted.
    """
    n_rows = len(vectors.proba)
    strip = slice(start, min(start + TILE, n_rows))
    proba, outcomes, residual, _ = read_rows(vectors, strip)
    projected = kernel.project(residual)
    strip_counts = counts[strip].astype(np.float64)
    terms = kernel.evaluate_square(proba)
    expected = terms**2 * kernel.expect_squares(proba, proba)
    variance = expected.sum() - expected.diagonal().sum()
    own = terms.diagonal() * square_residuals(outcomes, proba, kernel.label_kernel)
    terms *= projected @ residual.T
    row_sums = np.zeros(n_rows - start)
    row_sums[: len(proba)] = terms.sum(axis=1)
    pairs = sum_resampled_pairs(terms, strip_counts, strip_counts)
    for other in range(strip.stop, n_rows, TILE):
        columns = slice(other, min(other + TILE, n_rows))
        other_proba, _, other_residual, _ = read_rows(vectors, columns)
        terms = kernel(proba, other_proba)
        variance += 2 * (terms**2 * kernel.expect_squares(proba, other_proba)).sum()
        terms *= projected @ other_residual.T
        row_sums[: len(proba)] += terms.sum(axis=1)
        row_sums[columns.start - start : columns.stop - start] += terms.sum(axis=0)
        pairs += 2 * sum_resampled_pairs(terms, strip_counts, counts[columns].astype(np.float64))
    return row_sums, own, pairs, variance


def kernel_mean_embedding_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    test_proba: ArrayLike,
    test_labels: ArrayLike,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    kernel: Literal["total_variation", "euclidean", "gaussian"]
    | Callable[..., Any] = "total_variation",
    bandwidth: float | Literal["median"] = 1.0,
    label_kernel: ArrayLike | None = None,
) -> TestResult:
    r"""Test of calibration based on the mean embedding at chosen test points (UCME).

    At each test point, a predicted vector with a label, it compares how often that label came
    true near that vector with how often it was predicted to. The cost is linear in the rows.
    Rows must be independent, see :ref:`without-clusters`, and test points chosen without a look at
    `y_true`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    test_proba : array-like of shape (n_points,), (n_points, 1) or (n_points, n_classes)
        Predictions of the test points, with the columns of `y_proba`.
    test_labels : array-like of shape (n_points,) or (n_points, n_classes)
        Labels of the test points, or soft labels.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    kernel : {"total_variation", "euclidean", "gaussian"} or callable, default="total_variation"
        Kernel on predictions, see :func:`skcal.metrics.squared_kernel_calibration_error`.
    bandwidth : float or "median", default=1.0
        Scale h >= 1e-5 of the kernel, or the median distance between two different rows of
        `y_proba`.
    label_kernel : array-like of shape (n_classes, n_classes), default=None
        Symmetric positive semidefinite matrix of a kernel on labels, in the order of the columns.
        None is the white kernel, the identity.

    Returns
    -------
    TestResult
        The statistic, its p-value, and the estimate of UCME^2.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the differences at the test points depend on each other
        linearly.

    See Also
    --------
    squared_kernel_calibration_test : A test without test points.
    skcal.metrics.kernel_mean_embedding_error : The error itself.

    Notes
    -----
    With the vectors :math:`f_j` of the differences of a row at all m test points, their mean
    :math:`\bar f` and covariance S, the statistic :math:`n \bar f^\top S^{-1} \bar f` is about
    chi-squared with m degrees of freedom for a calibrated model [1]_. The p-value is that of
    Hotelling's F distribution, which has the same limit and is nearer at a finite n. The
    approximation needs a few hundred rows for each test point, and of a rare label a few dozen
    events near it: without an event S is that of the predictions alone, and p-values next to 0 say
    nothing. With ten rows, a test at 5 % rejects a calibrated model in up to a quarter of samples.
    Points close to each other need more: ten random ones between two classes reject in 25 % of
    samples of 1000 rows, and in 7 % of 10 000, at any bandwidth. Rows are divided by their sums.
    The differences of all labels at one prediction sum to 0. So leave out one class where test
    points share a prediction; with two classes use one label only. Spread the points among the
    predictions: beyond all of them the differences at two points are multiples of each other with
    the kernel "total_variation" or "euclidean".

    References
    ----------
    .. [1] D. Widmann, F. Lindsten, D. Zachariah (2021). Calibration tests beyond classification.
       ICLR 9. :doi:`10.48550/arXiv.2210.13355`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import kernel_mean_embedding_test
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(200)
    >>> overconfident = (rng.random(200) < 0.25 + 0.5 * y_proba).astype(int)
    >>> points = {"test_proba": [0.1, 0.9], "test_labels": [1, 1]}
    >>> kernel_mean_embedding_test(overconfident, y_proba, **points).pvalue < 0.05
    True
    """
    vectors, points, kernel = check_test_points(
        y_true, y_proba, test_proba, test_labels, pos_label, labels, kernel, bandwidth, label_kernel
    )
    n_points = len(points.proba)
    _check_rows(vectors, minimum=n_points + 1)
    _check_tells_apart(kernel, vectors.proba.shape[1])
    # Sums that are 1 only nearly would hide that the labels of one prediction depend on each other.
    proba = vectors.proba.astype(np.float64)
    vectors = vectors._replace(proba=proba / proba.sum(axis=1, keepdims=True))
    features = np.concatenate([part for part, _ in embed_rows(vectors, points, kernel)])
    statistic, pvalue, rank = find_chi_squared(features)
    if rank < n_points:
        raise ValueError(
            f"The differences at the {n_points} test points must be linearly independent; their "
            f"rank is {rank}. Take fewer test_proba, or other ones."
        )
    estimate = float(np.mean(features.mean(axis=0) ** 2))
    return TestResult(statistic, pvalue, estimate, name="Chi-squared at test points")
