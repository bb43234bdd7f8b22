"""The pass over rows of `add_rows`, compiled where numba is installed."""

from functools import cache

import numpy as np

from skcal._numerics.cells._cell_moments import ORDER, SEVERAL

# Rows from which on a stream is likely to go on, so that compiled code is worth loading: it takes
# as long as it saves in 5 10^7 rows.
MANY_ROWS = 10**6


@cache
def load_kernel():
    """`add_chunk` compiled by numba, or None where it cannot be.

    It is compiled when it is called with arguments of new types, and kept on disk for later
    processes.
    """
    try:
        import numba

        return numba.njit(cache=True, nogil=True)(add_chunk)
    except (ImportError, RuntimeError):
        # It is not installed, or not for this NumPy; or no folder could keep the compiled code.
        return None


def add_chunk(sums, places, predictions, outcomes, weights, is_hard):
    """Add rows to sums and places, in the order and with the products of `add_rows`.

    The sums are those of `make_cells` as floats, real and imaginary parts last:
    (ORDER / 2, n_cells + 1, 2, 2). `is_hard` tells whether outcomes are booleans.
    """
    n_cells = len(places) - 1
    for row in range(len(predictions)):
        prediction = predictions[row]
        place = prediction * n_cells
        upper = np.ceil(place)
        cell = np.uint32(upper)  # numba looks whether an index with a sign is negative
        place = upper - place
        if places[cell] != SEVERAL and places[cell] != prediction:
            places[cell] = prediction if np.isnan(places[cell]) else SEVERAL
        weight = 1.0 if weights is None else weights[row]
        if is_hard:
            outcome = np.uint32(outcomes[row])
            for pair in range(ORDER // 2):
                sums[pair, cell, outcome, 0] += weight
                weight *= place
                sums[pair, cell, outcome, 1] += weight
                weight *= place
        else:
            positive, negative = weight * outcomes[row], weight * (1 - outcomes[row])
            for pair in range(ORDER // 2):
                sums[pair, cell, 0, 0] += negative
                sums[pair, cell, 1, 0] += positive
                negative *= place
                positive *= place
                sums[pair, cell, 0, 1] += negative
                sums[pair, cell, 1, 1] += positive
                negative *= place
                positive *= place
