"""Rows in cells, for the tests of what is known of them."""

from skcal._numerics._cell_bounds import CellFacts
from skcal._numerics._cell_moments import add_rows, fold_zero, make_cells


def sum_rows(predictions, outcomes, weights=None, n_cells=16):
    """Moments and places of cells."""
    sums, places = make_cells(n_cells)
    add_rows(sums, places, [(predictions, outcomes, weights)])
    return fold_zero(sums, places)


def find_facts(*rows):
    return CellFacts(*sum_rows(*rows))
