"""The density of the predictions on the curve itself."""

import numpy as np

from skcal.diagrams._curve import read_density
from skcal.diagrams._layer import Layer
from skcal.diagrams._style import merge_style

# Widths in points of a curve whose width tells the density, and of one whose colour does.
_THINNEST, _THICKEST = 1.0, 12.0
_WIDE = 8.0
# Names of the layers below: a band that is drawn with one of them leaves it visible.
ON_CURVE = ("curve_width", "curve_color")


class CurveWidthLayer(Layer):
    """Broad line under the curve, whose width shows the density (`LineCollection`)."""

    name = "curve_width"
    by_default = False

    def draw(self, ax, curve, line, user_style, view):
        segments, share = _cut_in_segments(curve, line)
        default = {
            "colors": _mix(line.get_color(), ax.get_facecolor(), 0.35),
            "linewidths": _THINNEST + (_THICKEST - _THINNEST) * share,
            "capstyle": "round",
        }
        return _draw_segments(ax, segments, default, user_style)


class CurveColorLayer(Layer):
    """Broad line under the curve, whose strength of colour shows the density (`LineCollection`)."""

    name = "curve_color"
    by_default = False

    def draw(self, ax, curve, line, user_style, view):
        segments, share = _cut_in_segments(curve, line)
        default = {
            "colors": _mix(line.get_color(), ax.get_facecolor(), 0.1 + 0.9 * share),
            "linewidths": _WIDE,
            "capstyle": "butt",
        }
        return _draw_segments(ax, segments, default, user_style)


def _cut_in_segments(curve, line):
    """Segments of the visible curve, and their densities as shares of the highest."""
    places, values = np.asarray(line.get_xdata()), line.get_ydata()
    points = np.column_stack([places, np.ma.getdata(values)])
    shown = ~np.ma.getmaskarray(values)
    shown = shown[1:] & shown[:-1]
    share = read_density(curve, curve.prob_pred) / np.max(curve.density)
    share = ((share[1:] + share[:-1]) / 2)[shown]
    return np.stack([points[:-1], points[1:]], axis=1)[shown], share


def _draw_segments(ax, segments, default, user_style):
    from matplotlib.collections import LineCollection

    style = merge_style({"zorder": 1.9, **default}, user_style, LineCollection)
    return [ax.add_collection(LineCollection(segments, **style), autolim=False)]


def _mix(color, background, strength):
    """The colour mixed with the background: it hides what lies under it, unlike transparency."""
    from matplotlib.colors import to_rgb

    strength = np.atleast_1d(strength)[:, None]
    return strength * np.array(to_rgb(color)) + (1 - strength) * np.array(to_rgb(background))
