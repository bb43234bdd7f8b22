"""From rows to a grid on [0, 1]: one pass over chunks of the data, no sort."""

import numpy as np


def sum_moments(chunks, n_cells, order):
    """Sums of value * a^k, k < order, in each of `n_cells` cells; a in [0, 1] is the place inside.

    Parameters
    ----------
    chunks : iterable of (predictions, values)
        Float arrays of one length; `values` may be overwritten.
    n_cells : int
    order : int

    Returns
    -------
    ndarray of shape (order, n_cells)
    """
    moments = np.zeros((order, n_cells))
    for predictions, values in chunks:
        place = predictions * n_cells
        cell = place.astype(np.intp)
        np.minimum(cell, n_cells - 1, out=cell)  # a prediction of 1 ends the last cell
        place -= cell
        for power in range(order):
            if power:
                values *= place
            moments[power] += np.bincount(cell, values, n_cells)
    return moments


def linear_nodes(moments):
    """Mass on the nodes j / n_cells when each row is shared between the two nodes beside it."""
    nodes = np.zeros(moments.shape[1] + 1)
    nodes[:-1] += moments[0] - moments[1]
    nodes[1:] += moments[1]
    return nodes


def cubic_nodes(moments):
    """Mass on the nodes j / n_cells when each row is shared by cubic Lagrange weights.

    A row at place a between two nodes is shared among the four nodes -1, 0, 1, 2 around it, so
    that sums of any smooth function over the nodes are those over the rows up to a fourth-order
    error. Nodes outside [0, 1] are reflected, as the functions to be summed are.
    """
    one, a, a2, a3 = moments
    n_cells = len(one)
    nodes = np.zeros(n_cells + 3)  # node j sits at index j + 1
    nodes[:-3] += (-a3 + 3 * a2 - 2 * a) / 6
    nodes[1:-2] += (a3 - 2 * a2 - a + 2 * one) / 2
    nodes[2:-1] += (-a3 + a2 + 2 * a) / 2
    nodes[3:] += (a3 - a) / 6
    nodes[2] += nodes[0]
    nodes[-3] += nodes[-1]
    return nodes[1:-1]
