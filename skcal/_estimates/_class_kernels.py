"""Kernels on predicted vectors and on labels, checked and evaluated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._input._validation import check_number, check_option
from skcal._numerics.errors._squared_kernel import evaluate_kernel, find_median_distance
from skcal._tools._arrays import read_numbers

KERNELS = ("total_variation", "euclidean", "gaussian")
# The same as for kernel_calibration_error.
_SMALLEST_BANDWIDTH = 1e-5
# Relative rounding that a matrix may miss symmetry or a negative eigenvalue by.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class ClassKernel:
    """A kernel on vectors of probabilities times a kernel on labels.

    The function is one of `KERNELS`, or a callable of two arrays of rows, which needs no bandwidth.
    The label kernel None stands for the identity: the white kernel.
    """

    function: str | Callable[..., Any]
    bandwidth: float
    label_kernel: np.ndarray | None

    def __call__(self, left, right):
        """Kernel on predictions between the rows of two float64 arrays."""
        if not callable(self.function):
            return evaluate_kernel(self.function, self.bandwidth, left, right)
        # Copies, as the rows may be the user's own.
        return check_matrix(self.function(left.copy(), right.copy()), (len(left), len(right)))

    def evaluate_square(self, rows):
        """Kernel between rows and themselves; a symmetric matrix, or a ValueError."""
        matrix = self(rows, rows)
        if callable(self.function):
            size = np.abs(matrix).max()
            error = np.abs(matrix - matrix.T)
            if error.max() > _ROUNDING * size:
                i, j = np.unravel_index(error.argmax(), error.shape)
                raise ValueError(
                    "kernel must give a symmetric matrix between rows and themselves; "
                    f"got {matrix[i, j]} and {matrix[j, i]} for a pair of rows."
                )
        return matrix

    def project(self, residual):
        """Residuals times the label kernel."""
        return residual if self.label_kernel is None else residual @ self.label_kernel

    def expect_squares(self, proba, others):
        """Means of squared products of residuals of two rows, whose labels come true as predicted.

        The trace of L S L S' with the label kernel L and the covariances S = diag(p) - p p'.
        """
        projected, others_projected = self.project(proba), self.project(others)
        squared = proba if self.label_kernel is None else proba @ self.label_kernel**2
        expected = (projected @ others.T) ** 2 + squared @ others.T
        expected -= projected**2 @ others.T
        expected -= proba @ (others_projected**2).T
        return np.maximum(expected, 0.0)  # certain rows have none, up to rounding

    def largest_step(self, n_classes):
        """Largest square L_aa + L_bb - 2 L_ab of a residual; of all r' L r' it is the supremum."""
        matrix = np.eye(n_classes) if self.label_kernel is None else self.label_kernel
        own = matrix.diagonal()
        return float((own[:, None] + own - 2 * matrix).max())

    def binary_bandwidth(self, n_classes):
        """Scale of exp(-|u - v| / scale) that the kernel is for two classes, or None."""
        if n_classes > 2 or callable(self.function) or self.function == "gaussian":
            return None
        return self.bandwidth / (np.sqrt(2) if self.function == "euclidean" else 1.0)


def check_class_kernel(kernel, bandwidth, label_kernel, vectors):
    """Check the options of a `ClassKernel` for these rows of vectors, and make it."""
    if not callable(kernel):
        if not isinstance(kernel, str):
            raise ValueError(
                f"kernel must be one of {', '.join(map(repr, KERNELS))} or a function of two "
                f"arrays of rows; got {kernel!r}."
            )
        check_option("kernel", kernel, KERNELS)
    if isinstance(bandwidth, str):
        check_option("bandwidth", bandwidth, ("median",))
        bandwidth = 1.0 if callable(kernel) else _choose_bandwidth(kernel, vectors)
    else:
        bandwidth = check_number("bandwidth", bandwidth, minimum=_SMALLEST_BANDWIDTH)
    label_kernel = _check_label_kernel(label_kernel, vectors.proba.shape[1])
    return ClassKernel(kernel, bandwidth, label_kernel)


def _choose_bandwidth(kernel, vectors):
    weights = vectors.weights
    weights = None if weights is None else weights.astype(np.float64, copy=False)
    proba = vectors.proba.astype(np.float64, copy=False)
    return max(find_median_distance(proba, weights, kernel), _SMALLEST_BANDWIDTH)


def _check_label_kernel(label_kernel, n_classes):
    if label_kernel is None:
        return None
    matrix = read_numbers("label_kernel", label_kernel).astype(np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"label_kernel must have shape ({n_classes}, {n_classes}), a row and a column for each "
            f"class; got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("label_kernel must be finite; it holds NaN or infinity.")
    size = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > _ROUNDING * size:
        raise ValueError("label_kernel must be symmetric; it is not.")
    smallest = np.linalg.eigvalsh(matrix)[0]
    if smallest < -_ROUNDING * n_classes * size:
        raise ValueError(
            "label_kernel must be positive semidefinite; "
            f"got a matrix with the eigenvalue {smallest:.6g}."
        )
    return (matrix + matrix.T) / 2


def check_matrix(matrix, shape):
    """What a callable kernel has returned, as a finite float64 array of this shape."""
    matrix = read_numbers("The value of kernel", matrix).astype(np.float64, copy=False)
    if matrix.shape != shape:
        raise ValueError(
            f"kernel must return a matrix of shape {shape} for {shape[0]} and {shape[1]} rows; "
            f"got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("kernel must return finite values; got NaN or infinity.")
    return matrix
