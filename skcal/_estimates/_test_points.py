"""Rows seen from a few test points, by a kernel: the mean embedding."""

import numpy as np

from skcal._estimates._class_kernels import check_class_kernel
from skcal._estimates._kernel_blocks import read_rows
from skcal._input._reduction import check_class_vectors
from skcal._input._validation import check_labels
from skcal._tools._arrays import read_numbers

# Values of features at test points that are computed at a time.
_CHUNK = 1 << 18


def embed_rows(vectors, points, kernel):
    """Yield the differences at all test points of some rows at a time, and the rows' weights."""
    test_proba = points.proba.astype(np.float64, copy=False)
    selected = kernel.project(points.one_hot(slice(None)))
    step = max(1, _CHUNK // max(len(test_proba), test_proba.shape[1]))
    unweighted = vectors._replace(weights=None)
    for start in range(0, len(vectors.proba), step):
        rows = slice(start, start + step)
        proba, _, residual, _ = read_rows(unweighted, rows)
        features = kernel(proba, test_proba) * (residual @ selected.T)
        yield features, None if vectors.weights is None else vectors.weights[rows]


def check_test_points(
    y_true,
    y_proba,
    test_proba,
    test_labels,
    pos_label,
    labels,
    kernel,
    bandwidth,
    label_kernel,
    sample_weight=None,
):
    """Check the user input of a mean embedding: rows, test points and the kernel."""
    vectors = check_class_vectors(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    if np.ndim(test_labels) == 2 and np.shape(test_labels)[1] > 1:
        pos_label = labels = None
    elif labels is None:
        labels = _find_labels(y_true, vectors)
    _check_columns(y_proba, test_proba)
    points = check_class_vectors(
        test_labels,
        test_proba,
        pos_label=pos_label,
        labels=labels,
        names=("test_labels", "test_proba"),
    )
    return vectors, points, check_class_kernel(kernel, bandwidth, label_kernel, vectors)


def _check_columns(y_proba, test_proba):
    given = read_numbers("y_proba", y_proba), read_numbers("test_proba", test_proba)
    rows, points = (proba.shape[1:] or (1,) for proba in given)
    if rows != points:
        raise ValueError(
            f"test_proba must have as many columns as the rows, {rows[0]}; got {points[0]}."
        )


def _find_labels(y_true, vectors):
    """Labels of the columns where the rows tell; test points need not hold all of them."""
    n_classes = vectors.proba.shape[1]
    if vectors.target.ndim == 2:
        return np.arange(n_classes)
    found = np.unique(check_labels("y_true", y_true))
    return found if len(found) == n_classes else None
