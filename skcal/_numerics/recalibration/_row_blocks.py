"""Logits that are read a few rows at a time."""

import numpy as np

from skcal._tools._arrays import list_slices, move_to, namespace

# Numbers that are read at a time: the few float64 arrays of this size stay in the cache.
_CELLS = 3 << 14


class RowBlocks:
    """Some rows and columns of a matrix of logits, float64 wherever rows are read.

    ``blocks[rows]`` reads a slice of rows. `rows` and `columns` are places in `values`, None for
    all. `top` and `depth` say how far `floor_logits` raises what is read.
    """

    def __init__(self, values, rows=None, columns=None, top=None, depth=np.inf):
        self.values, self.rows, self.columns = values, rows, columns
        self.top, self.depth, self.xp = top, depth, namespace(values)
        n_rows, n_columns = values.shape
        self.shape = (
            n_rows if rows is None else rows.shape[0],
            n_columns if columns is None else columns.shape[0],
        )

    def __getitem__(self, rows):
        xp, columns = self.xp, self.columns
        if self.rows is None:
            part = self.values[rows, ...]
        else:
            part = xp.take(self.values, self.rows[rows], axis=0)
        if columns is not None:
            part = xp.take(part, columns, axis=1)
        part = xp.astype(part, xp.float64, copy=False)
        if self.top is None:
            return part
        return floor_logits(part, self.depth, self.top[rows, ...])

    def list_slices(self):
        """Slices of the rows to read, one after the other."""
        return list_slices(self.values, max(_CELLS // self.shape[1], 1), self.shape[0])

    def take_rows(self, rows):
        """The same for some of the rows, by their places, or by True for each that is taken."""
        if self.xp.isdtype(rows.dtype, "bool"):
            if self.xp.all(rows):
                return self
            rows = self.xp.nonzero(rows)[0]
        top = None if self.top is None else self.xp.take(self.top, rows, axis=0)
        rows = rows if self.rows is None else self.xp.take(self.rows, rows)
        return RowBlocks(self.values, rows, self.columns, top, self.depth)

    def take_columns(self, columns):
        """The same for some of the columns."""
        columns = move_to(columns, self.values)
        if self.columns is not None:
            columns = self.xp.take(self.columns, columns)
        return RowBlocks(self.values, self.rows, columns, self.top, self.depth)

    def floor(self, depth):
        """The same, raised to `depth` below the largest logit of each row; itself where none is."""
        xp, is_low, tops = self.xp, False, []
        for rows in self.list_slices():
            part = self[rows]
            tops.append(xp.max(part, axis=1, keepdims=True))
            is_low = is_low or not xp.all((part >= tops[-1] - depth) | (part == -np.inf))
        if not is_low:
            return self
        return RowBlocks(self.values, self.rows, self.columns, xp.concat(tops), depth)


def take_rows(scores, rows):
    """Some rows of an array or of `RowBlocks`."""
    return scores.take_rows(rows) if isinstance(scores, RowBlocks) else scores[rows]


def floor_logits(logits, depth, top=None):
    """Logits that are nowhere further than `depth` below the largest of their row.

    Those of impossible classes stay -inf. `top` is the largest of each row where `logits` are not
    those of all classes.
    """
    if not np.isfinite(depth):
        return logits
    if isinstance(logits, RowBlocks):
        return logits.floor(depth)
    xp = namespace(logits)
    top = xp.max(logits, axis=1, keepdims=True) if top is None else top
    low = top - depth
    if xp.all(low < top):
        if xp.all(logits >= low):
            return logits
        raised = xp.maximum(logits, low)
    else:  # the depth is lost beside scores that are far larger: there the largest becomes 0
        lost = xp.maximum(logits - top, -depth + 0 * top)
        raised = xp.where(low < top, xp.maximum(logits, low), lost)
    return xp.where(logits == -np.inf, logits, raised)
