"""Rows in the order of their predictions, by one sort of integers in place.

Floats in [0, 1] have the order of the integers that are their bits, of which the two highest are
zero. That leaves room for an outcome below them or, in place of the last digits, for the number
of the row.
"""

import numpy as np

# Rows that are packed at a time.
_CHUNK = 1 << 15
# Fewer than one row in so many is left out of order by the digits that are missing.
_SELDOM = 64


def sort_labelled(predictions, outcomes):
    """Sorted predictions and, of equal ones the zeros first, their outcomes; both as float64.

    Parameters
    ----------
    predictions : ndarray of shape (n,)
        Numbers in [0, 1] of any real type.
    outcomes : ndarray of shape (n,)
        Each 0 or 1.
    """
    is_short = predictions.dtype.kind == "f" and predictions.dtype.itemsize <= 4
    real, whole = (np.float32, np.uint32) if is_short else (np.float64, np.uint64)
    keys = np.empty(len(predictions), whole)
    for start in range(0, len(keys), _CHUNK):
        rows = slice(start, start + _CHUNK)
        packed = _read_bits(predictions[rows], keys[rows].view(real)).view(whole)
        packed <<= 1
        packed |= outcomes[rows].astype(whole)
    keys.sort()
    sorted_outcomes = (keys & 1).astype(np.float64)
    keys >>= 1
    return keys.view(real).astype(np.float64, copy=False), sorted_outcomes


def find_order(predictions):
    """Numbers of the rows in the order of their predictions, which are float64."""
    n_rows = len(predictions)
    n_bits = n_rows.bit_length()
    keys = _read_bits(predictions, np.empty(n_rows)).view(np.uint64)
    keys <<= 2
    keys >>= n_bits
    keys <<= n_bits
    keys |= np.arange(n_rows, dtype=np.uint64)
    keys.sort()
    keys &= (1 << n_bits) - 1
    order = keys.view(np.int64)
    found = predictions.take(order)
    n_falls = np.count_nonzero(found[1:] < found[:-1])
    if n_falls > n_rows // _SELDOM:
        return np.argsort(predictions)
    return order[np.argsort(found, kind="stable")] if n_falls else order


def merge_ties(predictions, weights, positive):
    """Distinct ones of sorted predictions, and the sums of weights (None for ones) and positive.

    Each argument is an array of shape (n,); without ties they are returned as they are.
    """
    rises = predictions[1:] > predictions[:-1]
    if rises.all():
        return predictions, np.ones(len(predictions)) if weights is None else weights, positive
    starts = np.flatnonzero(np.concatenate([[True], rises]))
    if weights is None:
        sums = np.diff(starts, append=len(predictions)).astype(np.float64)
    else:
        sums = np.add.reduceat(weights, starts)
    return predictions[starts], sums, np.add.reduceat(positive, starts)


def _read_bits(predictions, out):
    """Predictions as floats of which -0.0 has become 0.0."""
    return np.add(predictions, 0.0, out=out, casting="same_kind")
