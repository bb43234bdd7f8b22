"""Squared kernel calibration error of blocks of rows, in tasks of bounded memory."""

import numpy as np

from skcal._input._sample import Sample
from skcal._input._validation import check_integer
from skcal._numerics.errors._binned import TWO_ROWS
from skcal._numerics.errors._squared_kernel import (
    read_binary,
    scale_binary,
    square_residuals,
    sum_binary_pairs,
    sum_pairs,
    sum_pairs_by_block,
)
from skcal._tools._parallel import run_parallel

# Rows and columns of the kernel matrix that are held at a time: 2 MB.
TILE = 512
# Number of rows in small blocks that are evaluated together, with the pairs between them.
_GROUP = 128
# Rows of small blocks that make one task.
_TASK_ROWS = 1 << 14


def split_into_blocks(n_rows, weights, block_size, *, unbiased):
    """Blocks of consecutive rows that have `block_size` rows or units of weight each.

    A row whose weight spans the end of a block is split, so that a weight equals repetition; an
    incomplete block at the end is dropped. Returns the row and the weight of each piece, in the
    order of the blocks, and the first piece of each block with the end, of shape (n_blocks + 1,).
    """
    if block_size is None:
        return slice(None), weights, np.array([0, n_rows])
    minimum = 2 if unbiased else 1
    if weights is None:
        size = _check_block_size(block_size, n_rows, minimum)
        return slice(None), None, np.arange(0, n_rows + 1, size)
    cumulative = np.cumsum(weights, dtype=np.float64)
    total = int(cumulative[-1] * (1 + 1e-12))
    size = _check_block_size(block_size, total, minimum)
    ends = np.minimum(size * np.arange(1.0, total // size + 1), cumulative[-1])
    points = np.union1d(np.append(0.0, ends), cumulative[cumulative < ends[-1]])
    rows = np.searchsorted(cumulative, points[:-1], side="right")
    return rows, np.diff(points), np.append(0, np.searchsorted(points, ends))


def split_vectors(vectors, block_size, *, unbiased):
    """`split_into_blocks` of class vectors: those of all blocks, and their bounds."""
    rows, weights, bounds = split_into_blocks(
        len(vectors.proba), vectors.weights, block_size, unbiased=unbiased
    )
    return vectors.take(rows)._replace(weights=weights), bounds


def _check_block_size(block_size, n_rows, minimum):
    name = "block_size"
    if callable(block_size):
        name, block_size = "block_size(n)", block_size(n_rows)
    size = check_integer(name, block_size, minimum, np.inf)
    if size > n_rows:
        raise ValueError(
            f"{name} must be at most {n_rows}, the number of rows or their total weight; "
            f"got {size}."
        )
    return size


def estimate_blocks(vectors, bounds, kernel, *, unbiased, n_jobs=None, show=iter):
    """Estimate of the squared error in each block; `bounds` are from `split_into_blocks`."""
    n_blocks = len(bounds) - 1
    pairs, own = np.zeros((2, n_blocks))
    tasks = list(_list_tasks(vectors, bounds, kernel))
    calls = [(function, vectors, kernel, *rows) for _, function, rows in tasks]
    sums = run_parallel(calls, n_jobs, show)
    for (blocks, _, _), (task_pairs, task_own) in zip(tasks, sums, strict=True):
        pairs[blocks] += task_pairs
        own[blocks] += task_own
    if vectors.weights is None:
        mass = np.diff(bounds).astype(np.float64)
    else:
        mass = np.add.reduceat(vectors.weights, bounds[:-1], dtype=np.float64)
    if not unbiased:
        # Rounding must not turn the square of a norm negative; a callable is what it is.
        return pairs / mass**2 if callable(kernel.function) else np.maximum(pairs, 0) / mass**2
    enough = mass >= TWO_ROWS  # less than two rows make no pair
    return np.where(enough, pairs - own, 0.0) / np.where(enough, mass * (mass - 1), 1.0)


def _list_tasks(vectors, bounds, kernel):
    """Yield the blocks that a task adds to, its function and its rows."""
    largest = np.diff(bounds).max()
    n_blocks = len(bounds) - 1
    is_binary = kernel.binary_bandwidth(vectors.proba.shape[1]) is not None
    if is_binary and (n_blocks == 1 or largest > _GROUP):
        for block in range(n_blocks):
            yield block, _sum_binary_block, (bounds[block], bounds[block + 1])
    elif largest <= TILE:
        step = max(1, _TASK_ROWS // largest)
        for first in range(0, n_blocks, step):
            blocks = slice(first, min(first + step, n_blocks))
            yield blocks, _sum_small_blocks, (bounds[first : blocks.stop + 1],)
    else:
        for block in range(n_blocks):
            for start in range(bounds[block], bounds[block + 1], TILE):
                yield block, _sum_strip, (start, bounds[block + 1])


def read_rows(vectors, rows):
    """Predictions, outcomes and weighted residuals of some rows as float64, and the weights."""
    proba = vectors.proba[rows].astype(np.float64, order="C", copy=False)
    outcomes = vectors.one_hot(rows)
    residual, weights = outcomes - proba, None
    if vectors.weights is not None:
        weights = vectors.weights[rows].astype(np.float64, copy=False)
        residual *= weights[:, None]
    return proba, outcomes, residual, weights


def _sum_own(matrix, proba, outcomes, weights, kernel):
    """Terms of the pairs of a row with itself, each times the weight."""
    own = matrix.diagonal() * square_residuals(outcomes, proba, kernel.label_kernel)
    return own if weights is None else own * weights


def _sum_strip(vectors, kernel, start, end):
    """Sums over the pairs of `TILE` rows with themselves and, twice, with all later rows."""
    proba, outcomes, residual, weights = read_rows(vectors, slice(start, min(start + TILE, end)))
    projected = kernel.project(residual)
    matrix = kernel.evaluate_square(proba)
    own = _sum_own(matrix, proba, outcomes, weights, kernel).sum()
    total = sum_pairs(matrix, projected, residual)
    for other in range(start + TILE, end, TILE):
        columns = slice(other, min(other + TILE, end))
        other_proba, _, other_residual, _ = read_rows(vectors, columns)
        total += 2 * sum_pairs(kernel(proba, other_proba), projected, other_residual)
    return total, own


def _sum_small_blocks(vectors, kernel, bounds):
    """Sums over the pairs of each of some small blocks, several blocks at a time."""
    n_blocks = len(bounds) - 1
    pairs, own = np.empty((2, n_blocks))
    first = 0
    while first < n_blocks:
        fitting = np.searchsorted(bounds, bounds[first] + _GROUP, side="right") - 1
        last = max(first + 1, fitting)
        proba, outcomes, residual, weights = read_rows(vectors, slice(bounds[first], bounds[last]))
        matrix = kernel.evaluate_square(proba)
        starts = bounds[first:last] - bounds[first]
        projected = kernel.project(residual)
        pairs[first:last] = sum_pairs_by_block(matrix, projected, residual, starts)
        own_rows = _sum_own(matrix, proba, outcomes, weights, kernel)
        own[first:last] = np.add.reduceat(own_rows, starts)
        first = last
    return pairs, own


def _sum_binary_block(vectors, kernel, start, end):
    """Sums over the pairs of one block of two classes and an exponential kernel; one sort."""
    proba, outcomes, _, weights = read_rows(vectors, slice(start, end))
    predictions, column = read_binary(proba)
    positive = outcomes[:, column] - (outcomes.sum(axis=1) - 1) / 2
    sample = Sample(predictions, positive, weights)
    ties = sample.sorted
    residual = ties.residual * ties.total_weight
    bandwidth = kernel.binary_bandwidth(2)
    total = sum_binary_pairs(ties.predictions, residual, bandwidth, kernel.label_kernel)
    squares = positive * (1 - predictions) ** 2 + (1 - positive) * predictions**2
    own = squares.sum() if weights is None else np.dot(weights, squares)
    return total, own * scale_binary(kernel.label_kernel)
