"""The density of the predictions at the bottom of the square, and by outcome."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skcal.diagrams._curve import HIGHEST, is_smooth, store_array
from skcal.diagrams._density_scale import keep_density
from skcal.diagrams._drawing import take_color
from skcal.diagrams._figure import keep_place
from skcal.diagrams._layer import Layer, LayerData
from skcal.diagrams._style import make_transparent

# The highest density fills this share of the height of the axes.
HEIGHT = 0.13


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Density(LayerData):
    """A density of the predictions that is known at some of them."""

    prob_pred: Any
    density: Any

    def __post_init__(self):
        store_array(self, "prob_pred")
        store_array(self, "density", 0.0, HIGHEST, like="prob_pred")


class DensityLayer(Layer):
    """Density of the predictions, filled, at the bottom of the diagram (`fill_between`).

    Data: `prob_pred`, and the `density` there, of a narrow bandwidth that all diagrams share.
    Without data it is the density behind the curve.
    """

    name = "density"
    Data = Density

    def is_known(self, curve):
        return self.name in curve.layers or curve.density is not None

    def compute(self, estimate):
        places, density = estimate.trace_fine_density()
        return Density(prob_pred=places, density=density)

    def draw(self, ax, curve, line, user_style, view):
        data = curve.layers.get(self.name)
        places, density, kind = curve.density_grid, curve.density, "curve"
        if data is not None:
            places, density, kind = data.prob_pred, data.density, "rows"
        shown = _find_inside(places, view.frame)
        places, density = places[shown], density[shown]
        style = _style_density(ax, line, user_style, view)
        # The height is a share of the axes, not a probability: it needs no y scale.
        area = ax.fill_between(places, density, transform=ax.get_xaxis_transform(), **style)
        rescale = partial(_rescale_height, axis=ax.get_xaxis_transform())
        keep_density(area, curve, density, rescale, kind)
        return [area]

    def describe(self, curve, view):
        words = "Density of the predictions"
        if "curve_width" not in view.layers or not is_smooth(curve):
            return words
        return f"{words}; thick curves err beyond chance"


def _rescale_height(area, peak, axis):
    from matplotlib.transforms import Affine2D

    area.set_transform(Affine2D().scale(1.0, HEIGHT / peak) + axis)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SplitDensity(LayerData):
    """Parts of the density that rows of outcome 0 and of outcome 1 make up."""

    prob_pred: Any
    negative: Any
    positive: Any

    def __post_init__(self):
        store_array(self, "prob_pred")
        store_array(self, "negative", 0.0, HIGHEST, like="prob_pred")
        store_array(self, "positive", 0.0, HIGHEST, like="prob_pred")


class SplitDensityLayer(Layer):
    """Density of outcome 0 at the bottom, and of outcome 1 upside down at the top (`fill_between`).

    Both have one scale. Data: `prob_pred`, and the two parts of the density there, `negative` and
    `positive`.
    """

    name = "split_density"
    Data = SplitDensity

    def compute(self, estimate):
        fine = estimate.trace_finely()
        positive = fine.density * fine.prob_true
        return SplitDensity(
            prob_pred=fine.grid,
            # Rounding may leave next to nothing below zero.
            negative=np.maximum(fine.density - positive, 0.0),
            positive=positive,
        )

    def draw(self, ax, curve, line, user_style, view):
        data, frame = curve.layers[self.name], view.frame
        shown = _find_inside(data.prob_pred, frame)
        negative, positive = data.negative[shown], data.positive[shown]
        unit = _find_unit(negative + positive)
        style = _style_density(ax, line, user_style, view)
        areas = [
            ax.fill_between(data.prob_pred[shown], frame.place(base), frame.place(top), **style)
            for base, top in ((0.0, unit * negative), (1.0, 1.0 - unit * positive))
        ]
        return keep_place(areas, frame)

    def describe(self, curve, view):
        return "Density of the predictions: outcome 0 below, 1 above"


def _find_inside(places, frame):
    """Matplotlib cannot place 0 and 1 on the scale of logits."""
    if frame.scale == "probability":  # whose square may grow
        return np.ones(len(places), dtype=bool)
    return (places >= frame.low) & (places <= frame.high)


def _find_unit(density):
    return HEIGHT / max(density.max(initial=0.0), 1 / HIGHEST)


def _style_density(ax, line, user_style, view):
    from matplotlib.colors import to_rgba

    color, style = take_color(line, user_style)
    default = {
        "facecolor": make_transparent(ax, color, n_areas=view.n_alike),
        "edgecolor": to_rgba(color, 0.5),
        "linestyle": line.get_linestyle(),
        "linewidth": 0.8 if view.separate else 0,
        "zorder": 0.5,
    }
    return {**default, **style}
