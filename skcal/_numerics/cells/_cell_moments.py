"""Sums over the rows in each of equal cells of [0, 1], which rows can be added to forever.

Cell c = 0, 1, ... holds the predictions in (c / n, (c + 1) / n], the first one also 0: bins whose
edges are edges of cells are made up of whole cells. For n a power of two the place of a prediction
in its cell is known without rounding. It is measured from the upper edge, in cell widths.
"""

import numpy as np

# Powers of the place that are summed, from 0 on: two places and their masses match four of them.
ORDER = 4
# Rows worked on at a time: many enough that the sums over cells are cheap beside them.
CHUNK = 1 << 16
# Rows whose sums are added up before they are added to those of the rows before.
FLUSH = 1 << 18
# What stands for the one prediction of a cell that holds none, or more than one.
NONE, SEVERAL = np.nan, np.inf
# Variances of places, in squared cell widths, that rounding may leave behind.
_NIL_VARIANCE = 1e-14


def make_cells(n_cells):
    """Sums and places of no rows, for `add_rows` to fill.

    The sums, (ORDER / 2, n_cells + 1, 2), are those of weight * (place^k + i place^(k + 1)),
    k = 0, 2, by cell and outcome; a further cell, before the first, is for predictions of 0. They
    come in pairs because most of the time goes into finding the cells. The places, (n_cells + 1,),
    are the one prediction of each cell, `NONE` or `SEVERAL`.
    """
    sums = np.zeros((ORDER // 2, n_cells + 1, 2), dtype=np.complex128)
    return sums, np.full(n_cells + 1, NONE)


def add_rows(sums, places, chunks, kernel=None):
    """Add rows to the sums and places of `make_cells`, in place.

    Tells whether all outcomes are of type bool. The number of cells is a power of two. Chunks are
    (predictions, outcomes, weights) of at most `CHUNK` rows: predictions are float64, outcomes bool
    or float64 in [0, 1], weights positive float64 or None for ones. An outcome of 0.3 counts as an
    outcome 1 of weight 0.3 and an outcome 0 of weight 0.7. `kernel`, a compiled `add_chunk`, leaves
    the same sums in less time.
    """
    adder, is_hard = None, True
    for predictions, outcomes, weights in chunks:
        if adder is None or len(predictions) > adder.n_rows:
            # A chunk grows where the one before lost rows of weight zero.
            if adder is not None:
                adder.flush()
            adder = _Adder(sums, places, len(predictions), kernel)
        is_hard &= outcomes.dtype == bool
        adder.add(predictions, outcomes, weights)
    if adder is not None:
        adder.flush()
    return is_hard


class _Adder:
    """Adds chunks of rows to sums, by way of sums over some chunks only, which round less.

    Few rows go to the sums themselves: they should not cost a pass over all cells.
    """

    def __init__(self, sums, places, n_rows, kernel):
        self.n_rows = n_rows
        self._sums, self._places, self._kernel, self._n_pending = sums, places, kernel, 0
        self._partial = sums if 4 * n_rows < sums.shape[1] else np.zeros_like(sums)
        if kernel is None:
            self._slots = self._partial.reshape(len(sums), -1)
            self._buffers = [np.empty(n_rows, dtype) for dtype in (float, float, np.intp, complex)]
        else:
            self._floats = self._partial.view(np.float64).reshape(*sums.shape, 2)

    def add(self, predictions, outcomes, weights):
        is_hard = outcomes.dtype == bool
        if self._kernel is not None:
            self._kernel(self._floats, self._places, predictions, outcomes, weights, is_hard)
        else:
            self._add_chunk(predictions, outcomes, weights, is_hard)
        self._n_pending += len(predictions)
        if self._n_pending >= FLUSH:
            self.flush()

    def flush(self):
        if self._partial is not self._sums:
            self._sums += self._partial
            self._partial[...] = 0
        self._n_pending = 0

    def _add_chunk(self, predictions, outcomes, weights, is_hard):
        place, upper, slot, _ = (buffer[: len(predictions)] for buffer in self._buffers)
        np.multiply(predictions, len(self._places) - 1, out=place)
        np.ceil(place, out=upper)
        np.subtract(upper, place, out=place)
        np.copyto(slot, upper, casting="unsafe")
        note_places(self._places, slot, predictions)
        np.add(slot, slot, out=slot)
        if is_hard:
            np.add(slot, outcomes, out=slot)
            self._add_powers(slot, place, weights)
        else:
            weights = 1.0 if weights is None else weights
            self._add_powers(slot, place, weights * (1 - outcomes))
            slot += 1
            self._add_powers(slot, place, weights * outcomes)

    def _add_powers(self, slot, place, weights):
        pair = self._buffers[-1][: len(slot)]
        first, second = pair.real, pair.imag
        first[...] = 1.0 if weights is None else weights
        np.multiply(first, place, out=second)
        np.add.at(self._slots[0], slot, pair)
        for sums in self._slots[1:]:
            np.multiply(second, place, out=first)
            np.multiply(first, place, out=second)
            np.add.at(sums, slot, pair)


def split_pairs(sums):
    """Sums of weight * place^k, shape (ORDER, n_cells + 1, 2), from those of `make_cells`."""
    return np.stack([sums.real, sums.imag], axis=1).reshape(ORDER, *sums.shape[1:])


def fold_zero(sums, places):
    """Moments by outcome and the one prediction of each cell, with 0 in the first cell.

    The moments have shape (2, ORDER, n_cells).
    """
    powers = split_pairs(sums)
    moments = powers[:, 1:].transpose(2, 0, 1).copy()
    moments[:, :, 0] += powers[0, 0, :, None]  # 0 lies one width below the upper edge
    folded = places[1:].copy()
    folded[:1] = merge_places(places[:1], places[1:2])
    return moments, folded


def note_places(places, cell, predictions):
    """Enter predictions of some rows in the list of the one prediction of each cell."""
    undecided = (places != SEVERAL)[cell]
    if not undecided.any():
        return
    if not undecided.all():
        cell, predictions = cell[undecided], predictions[undecided]
    known = places[cell]
    new = np.isnan(known)
    if new.any():
        places[cell[new]] = predictions[new]
        known = places[cell]
    places[cell[known != predictions]] = SEVERAL


def merge_places(one, other):
    """The one prediction of each cell of two sets of rows together."""
    same = np.isnan(other) | (one == other)
    return np.where(np.isnan(one), other, np.where(same, one, SEVERAL))


def match_moments(moments, places):
    """Few predictions of hard outcomes that have the moments of the rows, with their weights.

    There are at most two for each outcome in each cell. With mean m, standard deviation s and
    skewness g of the places, the two places m + s (g -+ sqrt(g^2 + 4)) / 2 carry the moments
    0 to 3: this is the Gauss rule of the rows, whose nodes never leave their range.
    """
    n_cells = moments.shape[2]
    outcome, cell = np.nonzero(moments[:, 0])
    weight, *sums = moments[outcome, :, cell].T
    mean, second, third = (values / weight for values in sums)
    variance = second - mean**2
    alone = np.isfinite(places[cell]) | (variance <= _NIL_VARIANCE)
    deviation = np.sqrt(np.where(alone, 0.0, variance))
    central = third - 3 * mean * second + 2 * mean**3
    skewness = np.divide(central, deviation**3, out=np.zeros_like(mean), where=~alone)
    half = np.hypot(skewness, 2.0) / 2
    below, above = (
        np.clip(mean + deviation * (skewness / 2 + sign * half), 0.0, 1.0) for sign in (-1, 1)
    )
    share = np.divide(mean - below, above - below, out=np.zeros_like(mean), where=above > below)
    predictions = (cell + 1 - below) / n_cells
    known = np.isfinite(places[cell])
    predictions[known] = places[cell[known]]
    predictions = np.concatenate([predictions, (cell + 1 - above) / n_cells])
    weights = np.concatenate([weight * (1 - share), weight * share])
    outcomes = np.tile(outcome.astype(np.float64), 2)
    present = weights > 0
    return predictions[present], outcomes[present], weights[present]


def average_cells(moments, places):
    """Mean prediction, mean outcome, weight and number of every cell that is not empty."""
    n_cells = moments.shape[2]
    weights = moments[:, 0].sum(axis=0)
    cells = np.flatnonzero(weights)
    weights = weights[cells]
    place = moments[:, 1, cells].sum(axis=0) / weights  # at most 1: rounding keeps the order
    predictions = (cells + 1 - place) / n_cells
    known = np.isfinite(places[cells])
    predictions[known] = places[cells[known]]
    return predictions, moments[1, 0, cells] / weights, weights, cells
