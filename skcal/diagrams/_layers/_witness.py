"""A strip above the square: where outcomes are more, and where less frequent than predicted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._numerics.cells._grid import linear_nodes
from skcal._numerics.errors._smooth_calibration import balance_witness, find_witness
from skcal.diagrams._curve import store_array
from skcal.diagrams._figure import STRIP, STRIP_ID, WORD_ID, keep_place
from skcal.diagrams._layer import Layer, LayerData
from skcal.diagrams._style import merge_style

# Share of the smooth calibration error that the function shown attains at least.
_KEPT = 0.9
# Cells that it is found on where there are more distinct predictions.
_N_CELLS = 1 << 14


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Witness(LayerData):
    """A weight function of the smooth calibration error, linear between predictions."""

    prob_pred: Any
    weight: Any

    def __post_init__(self):
        store_array(self, "prob_pred")
        store_array(self, "weight", -1.0, 1.0, like="prob_pred")


class WitnessLayer(Layer):
    """Strip above the square that rises where predictions are too low (`fill_between`).

    It shows a weight function of the smooth calibration error, see below. Data: `prob_pred` and
    `weight`, its values there.
    """

    name = "witness"
    Data = Witness

    def compute(self, estimate):
        sample = estimate.source.merged
        if sample.n_present <= _N_CELLS:
            knots, residual = sample.sorted.predictions, sample.sorted.residual
        else:
            moments, _ = sample.residual_in_cells(_N_CELLS)
            residual = linear_nodes(moments)
            knots = np.linspace(0.0, 1.0, _N_CELLS + 1)
        weight = balance_witness(find_witness(knots, residual), residual, _KEPT)
        return Witness(prob_pred=knots, weight=weight)

    def draw(self, ax, curve, line, user_style, view):
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import to_rgba

        witness, frame = curve.layers[self.name], view.frame
        # The largest weight is as high as the strip.
        values = witness.weight / (np.max(np.abs(witness.weight)) or 1.0)
        default = {
            "facecolor": to_rgba(line.get_color(), 0.5),
            "edgecolor": line.get_color(),
            "linewidth": 0.8,
            "zorder": 1.7,
        }
        style = merge_style(default, user_style, PolyCollection)
        middle, height = 1 + sum(STRIP) / 2, (STRIP[1] - STRIP[0]) / 2
        ends = np.full(len(values), middle), middle + height * values
        strip = ax.fill_between(witness.prob_pred, *map(frame.place, ends), **style)
        strip.set_gid(STRIP_ID)
        if not any(text.get_gid() == WORD_ID for text in ax.texts):
            for words, sign in zip(view.sides, (1, -1), strict=True):
                word = ax.text(
                    frame.place(-0.02),
                    frame.place(middle + sign * height / 2),
                    words.removeprefix("predicted "),
                    fontsize="x-small",
                    ha="right",
                    va="center",
                    gid=WORD_ID,
                )
                keep_place([word], frame)
        return keep_place([strip], frame)

    def describe(self, curve, view):
        return "Strip: where predictions are too low or too high"
