"""Squared kernel calibration error: sums of k(p_i, p_j) r_i' L r_j over pairs of rows.

p_i is the predicted vector of a row, r_i = outcome - p_i its residual (times its weight), k a
kernel on predictions and L the matrix of a kernel on labels. With h of the literature,
h_ij = k_ij (L[y_i, y_j] - p_i' L[:, y_j] - L[y_i, :] p_j + p_i' L p_j) = k_ij r_i' L r_j: the
products of residuals need no label kernel of K x K terms for each pair.
"""

import numpy as np
from scipy.spatial.distance import cdist, pdist

from skcal._numerics.errors._kernel import laplace_error

# Waking the threads of BLAS costs more than a product of fewer multiplications.
_FEW_MULTIPLICATIONS = 200_000
# Rows that the median of pairwise distances is taken over at most: 4.5 million pairs.
_MEDIAN_ROWS = 3000


# --------------------------------------------------------------------------------- kernels


def evaluate_kernel(name, bandwidth, left, right):
    """Matrix of the kernel between the rows of two arrays.

    Distances are summed class by class, not expanded into products: equal rows have distance 0.
    """
    if name == "gaussian":
        matrix = cdist(left, right, "sqeuclidean")
        matrix *= -0.5 * (1 / bandwidth) ** 2  # the square of the bandwidth may overflow
    elif name == "euclidean":
        matrix = cdist(left, right, "euclidean")
        matrix *= -1 / bandwidth
    else:  # total variation
        matrix = cdist(left, right, "cityblock")
        matrix *= -0.5 / bandwidth
    return np.exp(matrix, out=matrix)


def find_median_distance(proba, weights, name):
    """Median distance between two different rows, each pair counted by its weights' product.

    Distances are those of the kernel: total variation, else Euclidean. Equal rows are merged
    first. If more than 3000 differ, 3000 are taken, in lexicographic order at even steps of
    weight. Zero where all rows are equal.
    """
    proba, weights = _merge_rows(proba, weights)
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # so that products do not overflow
    if len(proba) > _MEDIAN_ROWS:
        cumulative = np.cumsum(weights)
        steps = (np.arange(_MEDIAN_ROWS) + 0.5) / _MEDIAN_ROWS * cumulative[-1]
        rows, weights = np.unique(np.searchsorted(cumulative, steps), return_counts=True)
        proba = proba[rows]
    if len(proba) < 2:
        return 0.0
    if name == "total_variation":
        distances = pdist(proba, "cityblock") / 2
    else:
        distances = pdist(proba, "euclidean")
    if (weights == weights[0]).all():
        return float(np.median(distances))
    one, other = np.triu_indices(len(proba), 1)
    return _find_weighted_median(distances, weights[one] * weights[other])


def _merge_rows(proba, weights):
    """Different rows in lexicographic order, and their weights."""
    if weights is None:
        return np.unique(proba, axis=0, return_counts=True)
    proba, inverse = np.unique(proba[weights > 0], axis=0, return_inverse=True)
    return proba, np.bincount(inverse.ravel(), weights[weights > 0])


def _find_weighted_median(values, weights):
    """Mean of the smallest values that have at least, and more than, half the weight below."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    half = cumulative[-1] / 2
    low = np.searchsorted(cumulative, half, side="left")
    high = np.searchsorted(cumulative, half, side="right")
    return float((values[order[low]] + values[order[min(high, len(values) - 1)]]) / 2)


# ------------------------------------------------------------------------------------ sums


def sum_pairs(matrix, left, right):
    """Sum of k_ij <left_i, right_j> over all entries of the matrix k."""
    return np.vdot(left, _multiply(matrix, right))


def _multiply(matrix, right):
    """Matrix product, in pieces too small for the threads of BLAS if that leaves pieces at all."""
    size = _FEW_MULTIPLICATIONS // right.size
    if size < 16 or size >= len(matrix):
        return matrix @ right
    product = np.empty((len(matrix), right.shape[1]))
    for start in range(0, len(matrix), size):
        rows = slice(start, start + size)
        np.matmul(matrix[rows], right, out=product[rows])
    return product


def sum_pairs_by_block(matrix, left, right, starts):
    """Sums of k_ij <left_i, right_j> over the pairs within blocks of rows.

    Blocks are given by their first rows. All pairs are evaluated: that is cheaper than many small
    matrices.
    """
    terms = matrix * (left @ right.T)
    rows = np.add.reduceat(terms, starts, axis=0)
    return np.add.reduceat(rows, starts, axis=1).diagonal()


def square_residuals(outcomes, proba, label_kernel):
    """Mean of (e - p)' L (e - p) over a row's label e; for a soft label over its distribution."""
    residual = outcomes - proba
    if label_kernel is None:
        return (residual**2).sum(axis=1) + (outcomes - outcomes**2).sum(axis=1)
    spread = outcomes @ label_kernel.diagonal() - (outcomes @ label_kernel * outcomes).sum(axis=1)
    return (residual @ label_kernel * residual).sum(axis=1) + spread


def read_binary(vectors):
    """One column of vectors of two classes, so that order and rounding of columns do not matter.

    The column is that of the smaller sum; what rows miss of 1 is shared by both columns.
    """
    column = int(vectors[:, 1].sum() < vectors[:, 0].sum())
    chosen = vectors[:, column]
    return chosen - (vectors.sum(axis=1) - 1) / 2, column


def sum_binary_pairs(predictions, residual, bandwidth, label_kernel):
    """Sum over all pairs for two classes and k = exp(-|u - v| / bandwidth), for sorted rows.

    The two residuals of a row are x and -x, so that r_i' L r_j = x_i x_j (L00 + L11 - 2 L01).
    """
    return laplace_error(predictions, residual, bandwidth) ** 2 * scale_binary(label_kernel)


def scale_binary(label_kernel):
    """L00 + L11 - 2 L01, the size of the step between two labels."""
    if label_kernel is None:
        return 2.0
    return float(label_kernel.trace() - 2 * label_kernel[0, 1])
