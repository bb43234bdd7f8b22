"""Ticks for single predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._numerics.errors._binned import find_middles
from skcal.diagrams._curve import store_array
from skcal.diagrams._drawing import draw_bars
from skcal.diagrams._figure import keep_place
from skcal.diagrams._layer import Layer, LayerData
from skcal.diagrams._style import merge_style

# Ticks stand for single rows up to this number.
_MOST_TICKS = 100
# Length of a tick, in sides of the square.
_LENGTH = 0.025


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Rug(LayerData):
    """Predictions and outcomes of ticks."""

    prob_pred: Any
    prob_true: Any

    def __post_init__(self):
        store_array(self, "prob_pred")
        store_array(self, "prob_true", like="prob_pred")


class RugLayer(Layer):
    """Ticks at predictions, at the bottom for outcome 0 and at the top for 1 (`LineCollection`).

    Every row has one if they are 100 at most; of more rows, of soft labels and of a summary there
    are 100 ticks that stand for equal masses. Data: `prob_pred` and `prob_true`.
    """

    name = "rug"
    Data = Rug

    def compute(self, estimate):
        rows = estimate.source.list_rows(_MOST_TICKS)
        if rows is not None:
            return Rug(prob_pred=rows[0], prob_true=rows[1])
        ties = estimate.source.merged.sorted
        share = ties.positive.sum() / ties.total_weight
        # A rare outcome has one tick at least.
        n_positive = int(np.clip(round(_MOST_TICKS * share), share > 0, _MOST_TICKS - (share < 1)))
        counts = (_MOST_TICKS - n_positive, n_positive)
        masses = (ties.weight - ties.positive, ties.positive)
        picked = [
            find_middles(ties.predictions, mass, count)
            for mass, count in zip(masses, counts, strict=True)
        ]
        return Rug(prob_pred=np.concatenate(picked), prob_true=np.repeat([0.0, 1.0], counts))

    def draw(self, ax, curve, line, user_style, view):
        from matplotlib.collections import LineCollection

        rug = curve.layers[self.name]
        base = np.round(rug.prob_true)
        ends = (view.frame.place(end) for end in (base, base + _LENGTH * (1 - 2 * base)))
        default = {"color": line.get_color(), "linewidth": 0.8, "alpha": 0.8, "zorder": 1.7}
        style = merge_style(default, user_style, LineCollection)
        return keep_place([draw_bars(ax, rug.prob_pred, *ends, style)], view.frame)

    def describe(self, curve, view):
        return "Ticks: outcome 0 below, 1 above"
