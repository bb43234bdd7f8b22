"""Numbers of rows in cells, and resamples of them."""

import numpy as np

from skcal._numerics.cells._grid import sum_moments
from skcal._numerics.inference._resampling import CellResampler, choose_cells


def count_rows(argument, cells):
    """Numbers of rows by outcome and cell, or a ValueError if the cells hold other weights."""
    if not cells.is_counted:
        raise ValueError(
            f"{argument} must hold labels without weights, because the test counts rows; "
            f"got soft labels, or weights other than 0 and 1: {cells.n_rows} rows with a total "
            f"weight of {cells.total_weight:g}."
        )
    return cells.moments_and_places[0][:, 0].astype(np.int64)


def make_resampler(predictions, outcomes, counts, bandwidth):
    """Source of resamples of counted rows, for statistics smoothed at about this bandwidth.

    Outcomes are 0 or 1. Counts need not be whole, only their sum does.
    """
    n_groups, n_cells = choose_cells(bandwidth)
    moments = [
        sum_moments([(predictions[chosen], counts[chosen].copy())], n_cells, order=5)
        for chosen in (outcomes == 0, outcomes == 1)
    ]
    return CellResampler(np.stack(moments), n_groups)
