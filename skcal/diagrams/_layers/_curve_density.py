"""The density of the predictions on the curve itself."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from skcal.diagrams._curve import is_smooth, may_be_chance, read_density
from skcal.diagrams._density_scale import keep_density
from skcal.diagrams._layer import Layer
from skcal.diagrams._style import merge_style

# What the highest density adds to the width of the curve, in sides of the axes, and the part of it
# that any density adds: a curve that errs beyond chance must not look thin where rows are few.
_BROADER, _LEAST = 0.012, 0.3
# Share of its colour in the line under it: the dashes of a curve must stand out against it.
_PALE = 0.55


class CurveWidthLayer(Layer):
    """Line under a smooth curve that is the wider the higher the density (`LineCollection`).

    It is thin throughout if smECE is no more than chance gives, see below, and thin nowhere else.
    """

    name = "curve_width"
    # Of a curve whose error may be chance; others are wider everywhere.
    line_style: Mapping[str, Any] = {"linewidth": 1.2}

    def is_known(self, curve):
        return is_smooth(curve)

    def draw(self, ax, curve, line, user_style, view):
        strength = 1.0 if line.get_linestyle() == "-" else _PALE
        default = {"color": _mix(line, ax, strength), "capstyle": "round"}
        added = 0.0 if may_be_chance(curve) else _measure_width(ax)
        widen = partial(_widen, thin=line.get_linewidth(), added=added)
        return [_draw_ribbon(ax, curve, line, default, user_style, widen, "linewidth")]

    def describe(self, curve, view):
        if "density" in view.layers:  # whose words are of the width, too
            return None
        return "Thick curve: an error beyond chance, thickest where predictions are many"


class CurveColorLayer(Layer):
    """Line under a smooth curve that is the darker the higher the density (`LineCollection`)."""

    name = "curve_color"
    by_default = False

    def is_known(self, curve):
        return is_smooth(curve)

    def draw(self, ax, curve, line, user_style, view):
        default = {"linewidth": line.get_linewidth() + _measure_width(ax), "capstyle": "butt"}
        shade = partial(_shade, ends=(_mix(line, ax, 0.1), _mix(line, ax, 1.0)))
        return [_draw_ribbon(ax, curve, line, default, user_style, shade, "color")]

    def describe(self, curve, view):
        return "Dark curve: many predictions"


def _draw_ribbon(ax, curve, line, default, user_style, rescale, told):
    """Segments of the visible curve, whose look tells the density unless the user gives that."""
    from matplotlib.collections import LineCollection

    places, values = np.asarray(line.get_xdata()), line.get_ydata()
    points = np.column_stack([places, np.ma.getdata(values)])
    shown = ~np.ma.getmaskarray(values)
    shown = shown[1:] & shown[:-1]
    density = read_density(curve, curve.prob_pred)
    density = ((density[1:] + density[:-1]) / 2)[shown]
    segments = np.stack([points[:-1], points[1:]], axis=1)[shown]
    given = merge_style({}, user_style, LineCollection)
    ribbon = LineCollection(segments, **{"zorder": 1.9, **default, **given})
    if told not in given:
        keep_density(ribbon, curve, density, partial(rescale, density=density), "curve")
    return ax.add_collection(ribbon, autolim=False)


def _measure_width(ax):
    """`_BROADER` in points, so that a band is seen beside the curve of a small panel too."""
    space = ax.get_position(original=True).transformed(ax.figure.transSubfigure)
    return _BROADER * min(space.width, space.height) * 72 / ax.figure.dpi


def _widen(ribbon, peak, thin, added, density):
    ribbon.set_linewidth(thin + added * (_LEAST + (1 - _LEAST) * density / peak))


def _shade(ribbon, peak, ends, density):
    share = (density / peak)[:, None]
    ribbon.set_color((1 - share) * ends[0] + share * ends[1])


def _mix(line, ax, strength):
    """Colour of the line mixed with the background: it hides what lies under it, unlike alpha."""
    from matplotlib.colors import to_rgb

    strength = strength * (1.0 if line.get_alpha() is None else line.get_alpha())
    color, background = (np.array(to_rgb(one)) for one in (line.get_color(), ax.get_facecolor()))
    return strength * color + (1 - strength) * background
