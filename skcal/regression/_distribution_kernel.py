"""Kernel measures of calibration for predicted distributions, beyond classification."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from skcal._estimates._class_kernels import check_matrix
from skcal._estimates._kernel_blocks import split_into_blocks
from skcal._input._predicted._distributions import LARGEST, read_predictions
from skcal._input._validation import check_flag, check_number, check_option, check_sample_weight
from skcal._numerics.distributions._distribution_kernels import (
    Laplaces,
    Mixtures,
    MultivariateNormals,
    Normals,
    embed_residuals,
    estimate_square,
    find_chunk_size,
    residual_kernel,
)
from skcal._tools._typing import ArrayLike

# Relative rounding that the matrix of a callable may miss symmetry by.
_ROUNDING = 1e-10
# Laplace scales and the bandwidth of targets may differ by so much.
_LARGEST_RATIO = 1e70
_SMALLEST_BANDWIDTH = 1e-50
# Differences of larger numbers might overflow.
_LARGEST_UNIVARIATE = 1e300
# Families whose Wasserstein-2 distance is a Euclidean distance of parameters.
_EUCLIDEAN = (Normals, Laplaces)


def distribution_kernel_calibration_error(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    kernel: Literal["wasserstein"] | Callable[..., Any] = "wasserstein",
    bandwidth: float = 1.0,
    target_bandwidth: float = 1.0,
    unbiased: bool = True,
    block_size: int | Callable[[int], int] | None = None,
) -> float:
    r"""Squared kernel calibration error (SKCE) of predicted distributions, as in regression.

    A model that predicts a distribution for each row is calibrated if, among the rows with
    the same prediction, the targets have the predicted distribution. This compares targets and
    predictions by the kernels of all pairs of rows, without bins, samples or quantiles.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_dimensions)
        True targets.
    distribution : frozen scipy.stats.norm or scipy.stats.laplace, MultivariateNormal or Mixture
        Predicted distributions: ``scipy.stats.norm(loc, scale)`` or
        ``scipy.stats.laplace(loc, scale)`` with arrays of shape (n_samples,), a
        :class:`MultivariateNormal` for targets of several dimensions, or a :class:`Mixture` of
        these. Numbers in place of arrays predict the same for all rows. The same families of
        NGBoost and skpro are accepted.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. The unbiased estimator reads them as counts.
    kernel : {"wasserstein"} or callable, default="wasserstein"
        Kernel on predictions: exp(-W / bandwidth) with W the Wasserstein-2 distance, or a function
        ``kernel(A, B)`` of two arrays of parameters that returns a matrix with a row for
        each row of A and a column for each row of B, such as those of
        :mod:`sklearn.metrics.pairwise`. The parameters are the mean and the standard deviation,
        or the scale of a Laplace distribution; the mean and all entries of the covariance; and of
        a mixture, for each component, its weight and its parameters.
    bandwidth : float, default=1.0
        Scale of the kernel on predictions, in the units of the targets. Not used by a callable.
    target_bandwidth : float, default=1.0
        Scale h of the kernel on targets, in their units: the Gaussian
        exp(-\|y - y'\|^2 / (2 h^2)), or exp(-\|y - y'\| / h) for Laplace predictions.
    unbiased : bool, default=True
        Whether to leave out the pairs of a row with itself: the mean is then 0 for calibrated
        models, and the estimate may be negative. The biased one never is.
    block_size : int or callable, default=None
        Average the estimates of blocks of that many rows, in their order; an incomplete last
        block is dropped. A callable computes it from the number of rows. None stands for one
        block of all rows. At least 2, or 1 for the biased estimate.

    Returns
    -------
    float
        The estimate of the squared error, at most 2 unless the kernel on predictions exceeds 1.
        The biased one is not negative if the kernel on predictions is positive definite, see
        Notes.

    Raises
    ------
    ValueError
        If an argument is invalid; if a target or a parameter of a distribution exceeds 1e100 times
        `target_bandwidth` (1e300 times for normal and Laplace distributions, whose scales must lie
        within a factor of 1e70 of it), so that differences would overflow.

    See Also
    --------
    distribution_kernel_mean_embedding_error : The same residuals at test points, in linear time.
    skcal.metrics.kernel_calibration_error : For probabilities of a binary event.

    Notes
    -----
    With the kernel K on predictions P and k on targets, the error is the mean over pairs of rows
    [1]_ of

    .. math:: h_{ij} = K(P_i, P_j) \left( k(y_i, y_j) - \mathrm{E}\, k(Z_i, y_j)
        - \mathrm{E}\, k(y_i, Z_j) + \mathrm{E}\, k(Z_i, Z_j) \right),

    Z being independent draws from the predictions. All expectations are closed forms. With weights
    w that sum to W, the unbiased estimate is :math:`(\sum_{ij} w_i w_j h_{ij} - \sum_i w_i h_{ii})
    / (W (W - 1))`, and 0 if there is no pair, the biased one :math:`\sum_{ij} w_i w_j h_{ij} /
    W^2`. A block then holds `block_size` units of weight in place of rows. Memory stays bounded for
    any number of rows; the time is quadratic in that of a block, by default of all.

    The Wasserstein-2 distance of normal distributions is :math:`(\Delta\mu^2 +
    \Delta\sigma^2)^{1/2}`, of Laplace distributions :math:`(\Delta\mu^2 + 2 \Delta b^2)^{1/2}`, of
    multivariate normal distributions it is made of the distance of the means and the Bures distance
    of the covariances. There is no formula for mixtures. Their components are transported to each
    other at least cost, which gives the metric of [2]_, no smaller than the Wasserstein distance.
    Components with equal weights are cheap, others cost a linear program for each pair of rows.

    For univariate distributions without mixtures, exp(-W / bandwidth) is positive definite, because
    W is a Euclidean distance of two parameters. For multivariate distributions it need not be: the
    biased estimate may then be slightly negative. The unbiased one has mean 0 under calibration
    whatever the kernel.

    Both kernels have the units of the targets: if these are multiplied by a number, together with
    the predictions and both bandwidths, the error stays the same. If the bandwidths are much
    smaller than the spread of the predictions or of the targets, hardly any pair counts.

    References
    ----------
    .. [1] D. Widmann, F. Lindsten, D. Zachariah (2021). Calibration tests beyond classification.
       ICLR 9. https://openreview.net/forum?id=-bxf89v3Nx
    .. [2] J. Delon, A. Desolneux (2020). A Wasserstein-type distance in the space of Gaussian
       mixture models. SIAM Journal on Imaging Sciences 13. :doi:`10.1137/19M1301047`

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skcal.regression import distribution_kernel_calibration_error
    >>> y_true = np.random.default_rng(0).normal(size=500)
    >>> calibrated = distribution_kernel_calibration_error(y_true, norm(0, 1))
    >>> overconfident = distribution_kernel_calibration_error(y_true, norm(0, 0.3))
    >>> print(f"{calibrated:.4f} {overconfident:.4f}")
    -0.0005 0.1159
    """
    check_flag("unbiased", unbiased)
    compare, target_bandwidth = _check_kernels(kernel, bandwidth, target_bandwidth)
    targets, predictions = read_predictions("y_true", y_true, "distribution", distribution)
    weights = check_sample_weight(sample_weight, len(targets))
    weights = np.ones(len(targets)) if weights is None else weights.astype(np.float64)
    present = np.flatnonzero(weights)  # a row without weight need not be compared
    rows, weights, bounds = split_into_blocks(
        len(present), weights[present], block_size, unbiased=unbiased
    )
    targets, predictions = targets[present[rows]], predictions.take(present[rows])
    scaled, (targets,) = _rescale(predictions, target_bandwidth, y_true=targets)

    @np.errstate(over="ignore")  # a kernel of a huge distance is 0
    def evaluate(rows, others):
        first = predictions.take(rows)
        values = compare(first, first if others is rows else predictions.take(others))
        values *= residual_kernel(
            scaled.take(rows), targets[rows], scaled.take(others), targets[others]
        )
        return values

    size = find_chunk_size(predictions)
    squares = [
        estimate_square(evaluate, weights, start, stop, size, unbiased=unbiased)
        for start, stop in pairwise(bounds)
    ]
    square = float(np.mean(squares))
    # Rounding must not turn the square of a norm negative; see Notes for what is none.
    is_norm = not unbiased and kernel == "wasserstein" and isinstance(predictions, _EUCLIDEAN)
    return max(square, 0.0) if is_norm else square


def distribution_kernel_mean_embedding_error(
    y_true: ArrayLike,
    distribution: Any,
    *,
    test_distribution: Any,
    test_targets: ArrayLike,
    sample_weight: ArrayLike | None = None,
    kernel: Literal["wasserstein"] | Callable[..., Any] = "wasserstein",
    bandwidth: float = 1.0,
    target_bandwidth: float = 1.0,
) -> float:
    r"""Squared calibration mean embedding (UCME) of predicted distributions at test points.

    Targets and predictions are compared at a few pairs of a distribution and a target, in a time
    that is linear in the number of rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_dimensions)
        True targets.
    distribution : frozen scipy.stats.norm or scipy.stats.laplace, MultivariateNormal or Mixture
        Predicted distributions, see :func:`distribution_kernel_calibration_error`.
    test_distribution : same kind as `distribution`
        Distributions of the test points, of the same family and dimension.
    test_targets : array-like of shape (n_tests,) or (n_tests, n_dimensions)
        Targets of the test points.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    kernel : {"wasserstein"} or callable, default="wasserstein"
        Kernel on predictions, see :func:`distribution_kernel_calibration_error`.
    bandwidth : float, default=1.0
        Scale of the kernel on predictions, in the units of the targets. Not used by a callable.
    target_bandwidth : float, default=1.0
        Scale h of the kernel on targets, in their units: the Gaussian
        exp(-\|y - y'\|^2 / (2 h^2)), or exp(-\|y - y'\| / h) for Laplace predictions.

    Returns
    -------
    float
        The squared error, not negative.

    Raises
    ------
    ValueError
        If an argument is invalid; if a target or a parameter of a distribution exceeds 1e100 times
        `target_bandwidth` (1e300 times for normal and Laplace distributions, whose scales must lie
        within a factor of 1e70 of it), so that differences would overflow.

    See Also
    --------
    distribution_kernel_calibration_error : The comparison of all pairs of rows.

    Notes
    -----
    With m test points of predictions T and targets t, and p the weights of the rows over their sum
    [1]_,

    .. math:: \mathrm{UCME}^2 = \frac{1}{m} \sum_{i=1}^{m} \left( \sum_j p_j\, K(T_i, P_j)
        \left( k(t_i, y_j) - \mathrm{E}\, k(t_i, Z_j) \right) \right)^2 ,

    Z being independent draws from the predictions. It is a biased estimate. Test points should be
    chosen apart from the rows, say by drawing from the predictions for other data, or as a grid.

    References
    ----------
    .. [1] D. Widmann, F. Lindsten, D. Zachariah (2021). Calibration tests beyond classification.
       ICLR 9. https://openreview.net/forum?id=-bxf89v3Nx

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skcal.regression import distribution_kernel_mean_embedding_error
    >>> y_true = np.random.default_rng(0).normal(size=500)
    >>> tests = {"test_distribution": norm(0, [0.5, 1, 1.5]), "test_targets": [-1, 0, 1]}
    >>> calibrated = distribution_kernel_mean_embedding_error(y_true, norm(0, 1), **tests)
    >>> overconfident = distribution_kernel_mean_embedding_error(y_true, norm(0, 0.3), **tests)
    >>> print(f"{calibrated:.5f} {overconfident:.5f}")
    0.00002 0.00581
    """
    compare, target_bandwidth = _check_kernels(kernel, bandwidth, target_bandwidth)
    targets, predictions = read_predictions("y_true", y_true, "distribution", distribution)
    at, tests = read_predictions(
        "test_targets", test_targets, "test_distribution", test_distribution
    )
    _check_same_kind(predictions, tests)
    weights = check_sample_weight(sample_weight, len(targets))
    share = np.ones(len(targets)) if weights is None else weights.astype(np.float64)
    share /= share.sum()
    scaled, (targets, at) = _rescale(predictions, target_bandwidth, y_true=targets, test_targets=at)

    @np.errstate(over="ignore")  # a kernel of a huge distance is 0
    def evaluate(test_rows, rows):
        part = scaled.take(rows)
        values = part.compare(at[test_rows], targets[rows])
        values -= part.expect(at[test_rows]).T
        values *= compare(tests.take(test_rows), predictions.take(rows))
        return values

    size = find_chunk_size(predictions, tests)
    means = embed_residuals(evaluate, share, len(at), size)
    return float(np.mean(means**2))


def _check_kernels(kernel, bandwidth, target_bandwidth):
    """Function of two families that returns a matrix, and the scale of the other kernel."""
    target_bandwidth = check_number("target_bandwidth", target_bandwidth, _SMALLEST_BANDWIDTH)
    bandwidth = check_number("bandwidth", bandwidth, _SMALLEST_BANDWIDTH)
    if callable(kernel):
        return lambda first, second: _call_kernel(kernel, first, second), target_bandwidth
    if not isinstance(kernel, str):
        raise ValueError(
            f"kernel must be 'wasserstein' or a function of two arrays of rows; got {kernel!r}."
        )
    check_option("kernel", kernel, ("wasserstein",))

    def compare(first, second):
        return np.exp(-first.measure_distance(second) / bandwidth)

    return compare, target_bandwidth


def _rescale(predictions, target_bandwidth, **targets):
    """Predictions, and arrays of targets by their name, in units of the bandwidth, checked."""
    with np.errstate(over="ignore"):
        scaled = predictions.rescale(1 / target_bandwidth)
        targets = {name: values / target_bandwidth for name, values in targets.items()}
    family = scaled.components if isinstance(scaled, Mixtures) else scaled
    limit = _LARGEST_UNIVARIATE if isinstance(scaled, _EUCLIDEAN) else LARGEST
    parameters = [("All parameters of distribution", values) for values in family]
    for name, values in (*parameters, *targets.items()):
        largest = np.abs(values).max()
        if not largest <= limit:
            raise ValueError(
                f"{name} must be at most {limit:g} in absolute value when divided by "
                f"target_bandwidth; got {largest:.3g}."
            )
    if isinstance(family, Laplaces):
        low, high = family.scale.min(), family.scale.max()
        if not 1 / _LARGEST_RATIO < low <= high < _LARGEST_RATIO:
            raise ValueError(
                f"The scale of distribution must lie within a factor of {_LARGEST_RATIO:g} of "
                f"target_bandwidth; got scales from {low:.3g} to {high:.3g} times it."
            )
    return scaled, targets.values()


def _call_kernel(kernel, first, second):
    parameters, others = first.list_parameters(), second.list_parameters()
    # A copy, which the residuals are multiplied into.
    values = check_matrix(kernel(parameters, others), (len(parameters), len(others))).copy()
    if first is second and np.abs(values - values.T).max() > _ROUNDING * np.abs(values).max():
        raise ValueError(
            "kernel must give a symmetric matrix between rows and themselves; it is not symmetric."
        )
    return values


def _check_same_kind(predictions, tests):
    """Both must be of one family and dimension; mixtures may differ in their components."""
    kind, needed = _name_kind(tests), _name_kind(predictions)
    if kind != needed:
        raise ValueError(
            "test_distribution must hold distributions of the kind and dimension of distribution, "
            f"{needed}; got {kind}."
        )


def _name_kind(family):
    if isinstance(family, Mixtures):
        return f"mixtures of {_name_kind(family.components)} distributions"
    if isinstance(family, MultivariateNormals):
        return f"{family.mean.shape[-1]}-dimensional normal"
    return "normal" if isinstance(family, Normals) else "Laplace"
