"""Corrections that are linear in the groups of a row."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from skcal._numerics.recalibration._group_scaling import MOST_CELLS, GroupDesign, fit_group_scaling
from skcal._numerics.recalibration._newton import centre_features

# Smallest number of rows in a cell of two columns; the largest cells are used.
_FEWEST_ROWS = 20
# For pairs of columns, bins of numbers are merged into this many.
_N_MERGED = 4


class GroupScalingMap(NamedTuple):
    """A correction: intercepts and slopes of the standardised scores, on the scale of a link."""

    coefficients: np.ndarray
    centre: float
    scale: float
    pairs: list[tuple[int, int, np.ndarray]]


class LinearInGroups:
    """An intercept and a slope for each level, and an intercept for some pairs of levels.

    Those of all rows apart, all are shrunk to 0, those of each column, and of each pair of columns,
    by a penalty of their own, which is estimated.
    """

    def _fit_map(self, loss, mass, numbers, splits):
        odds, share = loss.offset, mass / mass.sum()
        centred, (centre,) = centre_features(odds[:, None], share)
        scale = np.sqrt(share @ centred[:, 0] ** 2)
        start = GroupScalingMap(np.empty(0), centre, scale if scale > 0 else 1.0, [])
        merged = self._merge(numbers)
        design = self._make_design(start, odds, merged)
        pairs = list(self._find_pairs(merged))
        coefficients, _, held_out, chosen = fit_group_scaling(
            design, loss, mass, splits, merged, pairs
        )
        return start._replace(coefficients=coefficients, pairs=chosen), held_out

    def _apply(self, fitted, odds, numbers):
        design = self._make_design(fitted, odds, self._merge(numbers))
        return design.correct(fitted.coefficients)

    def _show(self, fitted, unit=1.0):
        titles = [["all rows"], *(own.titles for own in self.levels)]
        sloped = sum(map(len, titles))
        _, levels = self._list_columns()
        for j, k, cells in fitted.pairs:
            inside = np.argwhere(cells < cells[-1, -1])
            titles.append([f"{levels[j][a]} and {levels[k][b]}" for a, b in inside])
        index = [title for own in titles for title in own]
        effects = self.factor_ * fitted.coefficients
        slope = np.full(len(index), np.nan)
        slope[:sloped] = effects[len(index) :] / fitted.scale
        frame = pd.DataFrame({"intercept": unit * effects[: len(index)], "slope": slope}, index)
        # Missing values are a level of a column and of its merged bins.
        return frame.groupby(level=0, sort=False).sum(min_count=1)

    def _list_merged(self):
        """Columns of merged bins, and what `Levels.merge` tells."""
        found = ((k, own.merge(_N_MERGED)) for k, own in enumerate(self.levels))
        return [(k, *merged) for k, merged in found if merged is not None]

    def _list_columns(self):
        """Columns, then those of merged bins: which they are of, and titles of levels."""
        columns = [(k, own.titles) for k, own in enumerate(self.levels)]
        return zip(*columns, *((k, titles) for k, titles, _ in self._list_merged()), strict=True)

    def _merge(self, numbers):
        """Levels of rows in columns, then in those of merged bins."""
        merged = [numbers_of[numbers[:, k]] for k, _, numbers_of in self._list_merged()]
        return np.array([*numbers.T, *merged]).T  # one column after another, which are read alone

    def _find_pairs(self, merged):
        """Yield pairs of columns, and the number of the cell of each pair of levels."""
        columns, titles = self._list_columns()
        for j, k in combinations(range(len(columns)), 2):
            if columns[j] == columns[k]:
                continue
            shape = len(titles[j]) + 1, len(titles[k]) + 1
            places = merged[:, j] * shape[1] + merged[:, k]
            counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
            counts[-1], counts[:, -1] = 0, 0  # of rows in none
            sizes, fewest = np.sort(counts, axis=None)[::-1], _FEWEST_ROWS
            if len(sizes) > MOST_CELLS:  # larger than the first that is too many
                fewest = max(fewest, sizes[MOST_CELLS] + 1)
            inside = counts >= fewest
            if inside.any():
                numbered = np.cumsum(inside).reshape(shape) - 1
                yield j, k, np.where(inside, numbered, inside.sum())

    def _make_design(self, fitted, odds, merged):
        codes = [np.zeros(len(odds), dtype=np.intp), *merged.T[: len(self.levels)]]
        sizes = [1, *(len(own.titles) for own in self.levels)]
        scores = (odds - fitted.centre) / fitted.scale
        design = GroupDesign(codes, sizes, scores, 1 + len(self.levels))
        return design.add(merged, fitted.pairs)
