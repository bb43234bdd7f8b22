"""Rows in the order of their predictions, by one sort of integers in place.

Floats in [0, 1] are ordered like the integers with the same bits, and the two highest bits are
zero. That leaves room for an outcome below them or, in place of the last digits, for the number of
the row.
"""

import numpy as np

# Rows that are packed at a time.
_CHUNK = 1 << 15
# Predictions that are no more than this many ulps of float64 apart are tied: averages of the same
# hundreds of numbers in another order differ by no more.
_ROUNDING_STEPS = 32


def sort_labelled(predictions, outcomes):
    """Sorted predictions and, of equal ones the zeros first, their outcomes; both as float64.

    Predictions are numbers in [0, 1] of any real type, outcomes 0 or 1.
    """
    is_short = predictions.dtype.kind == "f" and predictions.dtype.itemsize <= 4
    real, whole = (np.float32, np.uint32) if is_short else (np.float64, np.uint64)
    keys = np.empty(len(predictions), whole)
    chunks = [slice(start, start + _CHUNK) for start in range(0, len(keys), _CHUNK)]
    for rows in chunks:
        packed = _read_bits(predictions[rows], keys[rows].view(real)).view(whole)
        packed <<= 1
        packed |= outcomes[rows].astype(whole)
    keys.sort()
    sorted_outcomes = np.empty(len(keys))
    for rows in chunks:
        sorted_outcomes[rows] = keys[rows] & 1
        keys[rows] >>= 1
    return keys.view(real).astype(np.float64, copy=False), sorted_outcomes


def sort_with_order(predictions):
    """Sorted predictions, which are float64, and the numbers of their rows."""
    n_rows = len(predictions)
    n_digits = n_rows.bit_length()
    keys = np.empty(n_rows, np.uint64)
    for start in range(0, n_rows, _CHUNK):
        packed = keys[start : start + _CHUNK]
        _read_bits(predictions[start : start + _CHUNK], packed.view(np.float64))
        packed <<= 2
        packed >>= n_digits
        packed <<= n_digits
        packed |= np.arange(start, start + len(packed), dtype=np.uint64)
    keys.sort()
    keys &= (1 << n_digits) - 1
    order = keys.view(np.int64)
    found = predictions.take(order)
    _sort_stretches(found, order, n_digits - 2)
    return found, order


def sort_numbers(numbers):
    """Sorted integers, which are not negative, and the numbers of their rows, of equal ones too.

    The product of the largest of both numbers must be below 2^61.
    """
    n_digits = len(numbers).bit_length()
    keys = numbers.astype(np.int64) << n_digits
    keys |= np.arange(len(keys))
    keys.sort()
    return keys >> n_digits, keys & ((1 << n_digits) - 1)


def _sort_stretches(predictions, order, n_digits):
    """Sort, in place, the stretches of predictions that differ in their last digits alone."""
    falls = np.flatnonzero(predictions[1:] < predictions[:-1])
    if not len(falls):
        return
    heads = np.unique(predictions[falls].view(np.uint64) >> n_digits)
    lowest, beyond = (((heads + k) << n_digits).view(np.float64) for k in (0, 1))
    starts, ends = np.searchsorted(predictions, lowest), np.searchsorted(predictions, beyond)
    sizes = ends - starts
    rows = np.arange(sizes.sum()) + np.repeat(ends - np.cumsum(sizes), sizes)
    moved = rows[np.argsort(predictions[rows])]
    predictions[rows], order[rows] = predictions[moved], order[moved]


def find_begins(predictions):
    """Whether each of sorted predictions is apart from the one before, or the first of all.

    Those that agree to rounding, to 32 steps of float64 from the first of them, are one. Only 0
    itself and 1 itself count as 0 and 1, which are certain. Predictions are float64 in [0, 1],
    without -0.0.
    """
    keys, n_near = predictions.view(np.int64), 0
    begins = np.ones(len(keys), dtype=bool)
    for start in range(1, len(keys), _CHUNK):
        chunk = begins[start : start + _CHUNK]
        steps = np.diff(keys[start - 1 : start + len(chunk)])
        np.greater(steps, _ROUNDING_STEPS, out=chunk)
        n_near += np.count_nonzero(steps) - np.count_nonzero(chunk)
    if n_near:
        for certain in (
            np.searchsorted(predictions, 0.0, side="right"),
            np.searchsorted(predictions, 1.0, side="left"),
        ):
            begins[certain : certain + 1] = True
        _split_stretches(keys, begins)
    return begins


def _split_stretches(keys, begins):
    """Begin again, in place, where a stretch of predictions next to each other is too long."""
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(keys))
    long = keys[ends - 1] - keys[starts] > _ROUNDING_STEPS
    starts, ends = starts[long], ends[long]
    while len(starts):
        begins[starts] = True
        starts = np.searchsorted(keys, keys[starts] + _ROUNDING_STEPS, side="right")
        inside = starts < ends
        starts, ends = starts[inside], ends[inside]


def unite_rounded(predictions):
    """Predictions, equal if they agree up to rounding, as in `merge_ties`.

    They are float64 in [0, 1]; the array itself comes back where they are equal already.
    """
    order = np.argsort(predictions)
    found = predictions[order] + 0.0
    begins = find_begins(found)
    starts = np.flatnonzero(begins)
    sizes = np.diff(starts, append=len(found))
    united = np.repeat(found[starts + sizes - 1], sizes)
    if (united == found).all():
        return predictions
    answer = np.empty_like(found)
    answer[order] = united
    return answer


def merge_ties(predictions, weights, positive):
    """Distinct ones of sorted predictions, and the sums of weights (None for ones) and positive.

    Each argument is an array of shape (n,); without ties, see `find_begins`, they are returned as
    they are.
    """
    begins = find_begins(predictions)
    if begins.all():
        ones = np.broadcast_to(1.0, len(predictions))  # which takes no memory
        return predictions, ones if weights is None else weights, positive
    starts = np.flatnonzero(begins)
    if weights is None:
        sums = np.diff(starts, append=len(predictions)).astype(np.float64)
    else:
        sums = np.add.reduceat(weights, starts)
    # The largest stands for all, so that none lies above an edge that is one of them.
    lasts = np.append(starts[1:], len(predictions)) - 1
    return predictions.take(lasts), sums, np.add.reduceat(positive, starts)


def count_below(values, places):
    """How many of the values are below each place; both are sorted float64, the values in [0, 1].

    As np.searchsorted, which takes longer where there are about as many places as values.
    """
    n_places = len(places)
    merged = np.empty(n_places + len(values))
    np.maximum(places, 0.0, out=merged[:n_places])
    merged[n_places:] = values
    keys = merged.view(np.uint64)
    keys <<= 1
    keys[n_places:] |= 1  # a place comes before the values that equal it
    keys.sort()
    keys &= 1
    return np.flatnonzero(keys == 0) - np.arange(n_places)


def _read_bits(predictions, out):
    """Predictions as floats, with -0.0 replaced by 0.0."""
    return np.add(predictions, 0.0, out=out, casting="same_kind")


def rank_by_weight(predictions, weights):
    """Share of the weight below each prediction, and half of that of equal ones, in (0, 1)."""
    _, place = np.unique(predictions, return_inverse=True)
    mass = np.bincount(place, weights)
    return ((np.cumsum(mass) - mass / 2) / mass.sum())[place]
