"""Lines, areas and bars that more than one diagram or layer draws.

matplotlib is imported inside the functions only, so that importing skcal never does.
"""

import numpy as np

from skcal.diagrams._curve import SMOOTHED, find_supported
from skcal.diagrams._style import MARKERS, choose_styles, make_transparent, merge_style

# A piece of a curve that is shorter, in sides of the square, is drawn as a point.
_SHORTEST = 0.005

# What kinds of curves look like, apart from their colours and dashes.
_KIND_STYLES = {
    "smooth": {"linewidth": 2},
    "adaptive": {"linewidth": 2},
    "nadaraya-watson": {"linewidth": 2},
    "isotonic": {"linewidth": 1.5, "marker": "o", "markersize": 3},
    "binned": {"linewidth": 1, "marker": "o", "markersize": 5},
    "values": {"linestyle": "none", "markersize": 6},
}


def draw_curves(ax, curves, labels, styles, frame, *, separate):
    """A line for each curve, masked where no predictions support it.

    A piece that is too short to be seen is a point, such as that of equal predictions.
    """
    from matplotlib.lines import Line2D

    if separate:
        defaults = choose_styles(ax, len(curves))
    else:
        defaults = [{**choose_styles(ax, 1)[0], "alpha": 0.5}] * len(curves)
    lines = []
    for curve, label, default, style in zip(curves, labels, defaults, styles, strict=True):
        if curve.kind == "values":  # no dashes tell points apart
            default["marker"] = MARKERS[default["linestyle"]]
        default = {"label": label, **default, **_KIND_STYLES[curve.kind]}
        shown = find_supported(curve, scale=frame.scale)
        alone = find_alone(curve, frame, shown)
        if len(alone):
            default |= {"marker": "o", "markersize": 5, "markevery": alone.tolist()}
        lines += ax.plot(
            curve.prob_pred,
            np.ma.masked_array(curve.prob_true, mask=~shown),
            **merge_style(default, style, Line2D),
        )
    return lines


def find_alone(curve, frame, shown):
    """Numbers of points that stand for a shown piece of a smoothed curve too short to be seen."""
    if curve.kind not in (*SMOOTHED, "adaptive"):
        return np.empty(0, dtype=np.intp)
    shown = np.pad(shown, 1)
    starts = np.flatnonzero(shown[1:-1] & ~shown[:-2])
    ends = np.flatnonzero(shown[1:-1] & ~shown[2:])
    places = frame.measure(np.clip(curve.prob_pred, frame.low, frame.high))
    return (starts + ends)[places[ends] - places[starts] < _SHORTEST] // 2


def take_color(line, user_style):
    """Colour of an area, that of the curve unless the user gives one, and the rest of the style."""
    from matplotlib.collections import PolyCollection

    style = merge_style({"color": line.get_color()}, user_style, PolyCollection)
    return style.pop("color"), style


def style_band(ax, color, n_areas=1):
    """What an area around a curve looks like, or each of several of one colour that overlap."""
    return {
        "facecolor": make_transparent(ax, color, n_areas=n_areas),
        "edgecolor": "none",
        "linewidth": 0.8,
        "zorder": 1.5,
    }


def draw_bars(ax, places, low, high, style):
    """Vertical bars. Not matplotlib's `vlines`, which finds no limits on the scale of logits."""
    from matplotlib.collections import LineCollection

    ends = [np.column_stack([places, end]) for end in (low, high)]
    return ax.add_collection(LineCollection(np.stack(ends, axis=1), **style), autolim=False)
