"""Corrections of log-odds that are linear in the groups of a row."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from skcal._numerics._group_scaling import GroupDesign, fit_group_scaling
from skcal._numerics._newton import centre_features
from skcal.recalibration._group_correction import GroupCorrection

# Groups of two columns have at least so many rows, and of those the largest are taken.
_FEWEST_ROWS = 20
_MOST_PAIRS = 1000
# With more columns there are no groups of two.
_MOST_COLUMNS = 12


class GroupScalingMap(NamedTuple):
    """The correction of one class: intercepts and slopes of the standardised log-odds."""

    coefficients: np.ndarray
    centre: float
    scale: float
    pairs: list[tuple[int, int, np.ndarray]]


class GroupScaling(GroupCorrection):
    """An intercept and a slope for each level, and an intercept for each pair of levels.

    Those of all rows apart, all are shrunk to 0, those of each column, and of each pair of columns,
    by a penalty of their own, which is estimated.
    """

    def _fit_class(self, odds, outcomes, mass, numbers, splits):
        share = mass / mass.sum()
        centred, (centre,) = centre_features(odds[:, None], share)
        scale = np.sqrt(share @ centred[:, 0] ** 2)
        pairs = list(self._find_pairs(numbers))
        start = GroupScalingMap(np.empty(0), centre, scale if scale > 0 else 1.0, pairs)
        design = self._make_design(start, odds, numbers)
        coefficients, _, held_out = fit_group_scaling(design, odds, outcomes, mass, splits)
        return start._replace(coefficients=coefficients), held_out

    def _apply(self, fitted, odds, numbers):
        return self._make_design(fitted, odds, numbers).correct(fitted.coefficients)

    def to_frame(self):
        """Corrections by group, those of several classes side by side.

        Returns
        -------
        DataFrame
            Columns "intercept", at the mean log-odds, and "slope"; NaN where there is none.
        """
        names = self.classes_[-len(self.maps_) :].tolist()
        frames = [self._show(fitted) for fitted in self.maps_]
        return frames[0] if len(frames) == 1 else pd.concat(frames, axis=1, keys=names)

    def _show(self, fitted):
        titles = [["all rows"], *(own.titles for own in self.levels)]
        sloped = sum(map(len, titles))
        for j, k, places in fitted.pairs:
            first, second = np.divmod(np.flatnonzero(places < places[-1]), self._width(k))
            titles.append(
                [
                    f"{self.levels[j].titles[a]} and {self.levels[k].titles[b]}"
                    for a, b in zip(first, second, strict=True)
                ]
            )
        index = [title for own in titles for title in own]
        effects = self.factor_ * fitted.coefficients
        slope = np.full(len(index), np.nan)
        slope[:sloped] = effects[len(index) :] / fitted.scale
        return pd.DataFrame({"intercept": effects[: len(index)], "slope": slope}, index)

    def _width(self, k):
        return len(self.levels[k].titles) + 1

    def _find_pairs(self, numbers):
        """Yield pairs of columns, and the number of the group of each pair of levels."""
        n_columns = len(self.levels)
        if not 2 <= n_columns <= _MOST_COLUMNS:
            return
        counts = {
            (j, k): self._count_pairs(numbers, j, k) for j, k in combinations(range(n_columns), 2)
        }
        sizes = np.sort(np.concatenate([own.ravel() for own in counts.values()]))[::-1]
        fewest = _FEWEST_ROWS
        if len(sizes) > _MOST_PAIRS:  # larger than the first that is too many
            fewest = max(fewest, sizes[_MOST_PAIRS] + 1)
        for (j, k), own in counts.items():
            kept = np.pad(own >= fewest, ((0, 1), (0, 1))).ravel()
            if kept.any():
                yield j, k, np.where(kept, np.cumsum(kept) - 1, kept.sum())

    def _count_pairs(self, numbers, j, k):
        shape = self._width(j), self._width(k)
        pair = numbers[:, j] * shape[1] + numbers[:, k]
        return np.bincount(pair, minlength=shape[0] * shape[1]).reshape(shape)[:-1, :-1]

    def _make_design(self, fitted, odds, numbers):
        codes = [np.zeros(len(odds), dtype=np.intp), *numbers.T]
        sizes = [1, *(len(own.titles) for own in self.levels)]
        for j, k, places in fitted.pairs:
            codes.append(places[numbers[:, j] * self._width(k) + numbers[:, k]])
            sizes.append(int(places[-1]))
        scores = (odds - fitted.centre) / fitted.scale
        return GroupDesign(codes, sizes, scores, 1 + len(self.levels))
