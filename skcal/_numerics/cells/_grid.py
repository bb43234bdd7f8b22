"""From rows to a grid on [0, 1]: one pass over chunks of the data, no sort."""

import numpy as np
from scipy.sparse import csc_array

from skcal._tools._arrays import as_float64, as_index, bincount, is_numpy, namespace

# Values that are summed one after another.
_BLOCK = 1 << 13
# Six times the cubic Lagrange weights of the nodes -1, 0, 1 and 2, by powers of the place.
_CUBICS = np.array([[0.0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]])
# Nodes around a place between 0 and 1, and the denominators of their Lagrange weights.
_AROUND = np.arange(-3, 5)
_WEIGHTS = np.array([np.prod(k - _AROUND[k != _AROUND]) for k in _AROUND])


def sum_moments(chunks, n_cells, order):
    """Sums of value * a^k, k < order, in each of `n_cells` cells; a in [0, 1] is the place inside.

    Chunks are (predictions, values), float arrays of any one library; `values` may be overwritten.
    """
    moments = np.zeros((order, n_cells))
    for predictions, values in chunks:
        cell, place = find_cells(predictions, n_cells)
        for power in range(order):
            if power:
                values *= place
            moments[power] += bincount(cell, values, n_cells)
    return moments


def cumulate(values, out=None):
    """Running sums, whose rounding does not add up over all of many values; in `out` if given.

    Sums start anew in blocks, and blocks are added to what is before them: the error is that of
    some 10^4 additions for 10^8 values, where values that are all alike would round alike 10^8
    times.
    """
    sums, before = np.empty(len(values)) if out is None else out, 0.0
    for start in range(0, len(values), _BLOCK):
        block = np.cumsum(values[start : start + _BLOCK], out=sums[start : start + _BLOCK])
        block += before
        before = block[-1]
    return sums


def find_cells(predictions, n_cells):
    """Cell of every prediction among `n_cells` equal ones, and its place in [0, 1] there."""
    place = predictions * n_cells
    if is_numpy(place):
        whole = np.trunc(place)
        np.minimum(whole, n_cells - 1, out=whole)  # a prediction of 1 ends the last cell
        place -= whole
        return as_index(whole), place
    cell = as_index(place)
    cell = namespace(cell).clip(cell, max=n_cells - 1)
    return cell, place - as_float64(cell)


def share_by_cubics(moments):
    """Mass that each cell gives by cubic Lagrange weights to four nodes, and their numbers.

    Both have shape (4, n_cells), as the moments. A row at place a between two nodes is shared among
    the four nodes -1, 0, 1, 2 around it. So the sum of any smooth function over the nodes is that
    over the rows up to a fourth-order error. Nodes outside [0, 1] are reflected, as are the
    functions to be summed.
    """
    n_cells = moments.shape[1]
    nodes = np.arange(-1, 3)[:, None] + np.arange(n_cells)
    nodes[0, 0], nodes[3, -1] = 1, n_cells - 1
    return _weigh_by_cubics(moments), nodes


def _weigh_by_cubics(moments):
    shares = _CUBICS @ moments
    shares /= 6
    return shares


def share_places(places, n_cells):
    """Sparse matrix that takes masses at places on [0, 1] to the nodes of a grid.

    As in `share_by_cubics`, but by polynomials of degree 7 and so among the eight nodes around a
    place: sums of smooth functions have an error of eighth order. Three cells are the least.
    """
    place = places * n_cells
    cell = np.minimum(place.astype(np.intp), n_cells - 1)
    away = (place - cell) - _AROUND[:, None]
    shares, after = np.empty(away.shape), np.ones(away.shape)
    shares[0] = 1.0
    for k in range(1, len(away)):  # products of what is before each node, and after it
        np.multiply(shares[k - 1], away[k - 1], out=shares[k])
        np.multiply(after[-k], away[-k], out=after[-k - 1])
    shares *= after
    shares /= _WEIGHTS[:, None]
    nodes = cell + _AROUND[:, None]
    nodes = n_cells - np.abs(n_cells - np.abs(nodes))  # reflected at both ends
    index = np.int32 if max(n_cells, nodes.size) < np.iinfo(np.int32).max else np.int64
    starts = np.arange(len(place) + 1, dtype=index) * len(_AROUND)
    entries = shares.T.ravel(), nodes.T.astype(index).ravel(), starts
    return csc_array(entries, shape=(n_cells + 1, len(place)))


def linear_nodes(moments):
    """Mass on the nodes j / n_cells when each row is shared between the two nodes beside it."""
    one, a = moments
    nodes = np.zeros(len(one) + 1)
    nodes[:-1] += one - a
    nodes[1:] += a
    return nodes


def cubic_nodes(moments):
    """Mass on the nodes j / n_cells when rows are shared as in `share_by_cubics`."""
    shares = _weigh_by_cubics(moments)
    nodes = np.zeros(moments.shape[1] + 1)
    nodes[:-2] += shares[0, 1:]
    nodes[:-1] += shares[1]
    nodes[1:] += shares[2]
    nodes[2:] += shares[3, :-1]
    nodes[1] += shares[0, 0]  # reflected
    nodes[-2] += shares[3, -1]
    return nodes
