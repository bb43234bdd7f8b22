"""Mean squared gap between predictions and their kernel regression, from the nodes of a grid.

The squared gap is a smooth function of the prediction, at 0 and 1 as well, so that it need not be
read at the rows: the rows are shared among nodes, and the function is summed there. One pass over
the data, without a sort. Sums over rows are those of outcome 1 and of outcome 0, in this order.
"""

import numpy as np

from skcal._numerics.cells._grid import cubic_nodes, linear_nodes
from skcal._numerics.errors._bregman import mean_outcome
from skcal._numerics.errors._decomposition import sum_gaussian

# The bandwidth of the Epanechnikov kernel in cells.
CELLS = 256


def average_gaussian(moments, bandwidth):
    """Mean squared gap with the Gaussian kernel.

    `moments` are two arrays of shape (4, n_cells + 2), on the grid of `place_on_grid`.

    On top of the error of the regression, see `count_cells`, the sum over the nodes errs by at most
    (3/128) h^4 F for a row, F the fourth derivative of the squared gap there. Derivatives of the
    regression are joint cumulants of the outcome and of z, the distance from the row, under the
    weights of the kernel: with central moments m_k of z, 4 m_3 and 11 m_4 bound the third and the
    fourth, so that F <= 60 m_4, and m_4 <= 16 max(z^4 K(z)) / D for a row of density D. With the
    mean of 1/D as in `count_cells` that is 2e-8 (1 + 1/s) in all.
    """
    nodes = [cubic_nodes(side) for side in moments]
    weight = nodes[0] + nodes[1]
    near = np.flatnonzero(weight)  # far from all rows the sums are noise
    mean = mean_outcome(*(sum_gaussian(side, bandwidth)[near] for side in nodes))
    places = (near - 1) / (len(weight) - 3)
    return float(weight[near] @ (mean - places) ** 2 / weight.sum())


def average_epanechnikov(moments, bandwidth):
    """Mean squared gap with the Epanechnikov kernel, and a bound of its error.

    `moments`, (2, 3, n_cells), has the sums of mass * a^k, k < 3, in cells from 0 on; CELLS of them
    are one bandwidth long.

    The reach of a node is made up of whole cells, so that the sums at the nodes are exact. In a
    cell of length h bandwidths, a row in reach throughout departs by h^2 / 4 at most from the chord
    between its ends, and a row that comes into reach by h / 2. That bounds the distance of the two
    sums from their chords, of the regression from its own, and so of its squared gap.
    """
    bandwidth = min(bandwidth, 1e100)  # whose square does not overflow
    step, places = 1 / CELLS, np.arange(moments.shape[2] + 1) * bandwidth / CELLS
    sums = sum_at_nodes(moments)
    density, mass = sums.sum(axis=0), moments.sum(axis=0)
    gap = mean_outcome(*sums) - places
    weight = linear_nodes(mass[:2])
    filled = np.flatnonzero(mass[0])
    padded = np.pad(mass[0], CELLS)
    up_to, first, last = np.cumsum(padded), padded[filled], padded[filled + 2 * CELLS]
    reach = first + up_to[filled + 2 * CELLS] - up_to[filled]
    edges = first + last
    slack = step**2 / 4 * reach + step / 2 * edges
    ends = density[filled], density[filled + 1]
    least = np.minimum(*ends) - slack
    turn = np.abs(gap[filled + 1] - gap[filled])
    bend = np.abs(ends[1] - ends[0]) / 4 * (turn + step * bandwidth)
    # Where nothing is known of the density, nor is it of the regression, which lies in [0, 1].
    known = least > 0
    off = np.divide(2 * slack + bend, least, where=known, out=np.ones_like(least))
    off = np.minimum(off, 1.0)
    largest = np.maximum(np.abs(gap[filled]), np.abs(gap[filled + 1]))
    error = mass[0, filled] @ (off * (2 * largest + off) + turn**2 / 4)
    total = weight.sum()
    return float(weight @ gap**2 / total), float(error / total)


def sum_at_nodes(moments):
    """Epanechnikov sums at the ends of cells; CELLS of them are one bandwidth long.

    `moments`, (n_columns, 3, n_cells), has the sums of mass * a^k, k < 3, in each cell. In reach of
    a node are the end of a block of CELLS cells, the block after it and the start of the next: sums
    from the ends of blocks, about them, do not cancel.
    """
    n_columns, _, n_cells = moments.shape
    n_blocks = n_cells // CELLS + 3
    blocks = np.zeros((3, n_columns, n_blocks * CELLS))
    blocks[:, :, CELLS : CELLS + n_cells] = np.swapaxes(moments, 0, 1)
    one, a, a2 = blocks.reshape(3, n_columns, n_blocks, CELLS)
    cell = np.arange(CELLS)
    powers = np.stack([one, cell * one + a, cell**2 * one + 2 * cell * a + a2])
    before = np.zeros_like(powers)
    np.cumsum(powers[..., :-1], axis=3, out=before[..., 1:])
    after = np.cumsum(powers[..., ::-1], axis=3)[..., ::-1]
    whole = after[..., :1]
    parts = (
        (after[:, :, :-2], -CELLS - cell),
        (whole[:, :, 1:-1], -cell),
        (before[:, :, 2:], CELLS - cell),
    )
    sums = sum(
        m0 - (m2 + shift * (2 * m1 + shift * m0)) / CELLS**2 for (m0, m1, m2), shift in parts
    )
    return sums.reshape(n_columns, -1)[:, : n_cells + 1]
