"""What a reliability diagram shows beside its curve: density on the curve, rug, witness."""

import numpy as np

from skcal.diagrams._drawing import draw_bars
from skcal.diagrams._frame import STRIP, STRIP_ID
from skcal.diagrams._style import merge_style

# Widths in points of a curve whose width tells the density, and of one whose colour does.
_WIDTHS = (1.0, 12.0)
_WIDE = 8.0
# Length of a tick of the rug, in sides of the square.
_TICK = 0.025


def draw_curve_densities(ax, curves, lines, encoding):
    """Collections under the curves whose width or colour tells the density of the predictions.

    Parameters
    ----------
    ax : matplotlib Axes
    curves : list of Curve
    lines : list of matplotlib Line2D
    encoding : {"width", "color"}

    Returns
    -------
    list of matplotlib LineCollection
    """
    from matplotlib.collections import LineCollection

    collections = []
    for curve, line in zip(curves, lines, strict=True):
        places, values = np.asarray(line.get_xdata()), line.get_ydata()
        points = np.column_stack([places, np.ma.getdata(values)])
        shown = ~np.ma.getmaskarray(values)
        shown = shown[1:] & shown[:-1]
        share = curve.density_on_curve / np.max(curve.density)
        share = ((share[1:] + share[:-1]) / 2)[shown]
        low, high = _WIDTHS
        collection = LineCollection(
            np.stack([points[:-1], points[1:]], axis=1)[shown],
            colors=_pale(line.get_color(), 0.35 if encoding == "width" else 0.1 + 0.9 * share),
            linewidths=low + (high - low) * share if encoding == "width" else _WIDE,
            capstyle="round" if encoding == "width" else "butt",
            zorder=1.9,
        )
        collections.append(ax.add_collection(collection, autolim=False))
    return collections


def _pale(color, strength):
    """The colour mixed with white, which hides what lies under it, unlike transparency."""
    from matplotlib.colors import to_rgb

    strength = np.atleast_1d(strength)[:, None]
    return 1 - strength * (1 - np.array(to_rgb(color)))


def draw_rugs(ax, curves, lines, user_style, frame):
    """Ticks for single predictions, with outcome 0 at the bottom and 1 at the top of the square."""
    from matplotlib.collections import LineCollection

    rugs = []
    for curve, line in zip(curves, lines, strict=True):
        if curve.rug_pred is None:
            continue
        base = np.round(np.asarray(curve.rug_true, dtype=float))
        default = {"color": line.get_color(), "linewidth": 0.8, "alpha": 0.8, "zorder": 1.7}
        style = merge_style(default, user_style, LineCollection)
        ends = frame.place(base), frame.place(base + _TICK * (1 - 2 * base))
        rugs.append(draw_bars(ax, curve.rug_pred, *ends, style))
    return rugs


def draw_witnesses(ax, curves, lines, words, user_style, frame):
    """Strip above the square: where outcomes are more, and where less frequent than predicted.

    The weight function is drawn upwards and downwards from the middle of the strip, the largest
    weight as high as the strip.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    bottom, top = STRIP
    middle, height = (bottom + top) / 2, (top - bottom) / 2
    strips = []
    for curve, line in zip(curves, lines, strict=True):
        if curve.witness is None:
            continue
        places, values = np.asarray(curve.witness_pred), np.asarray(curve.witness)
        values = values / (np.max(np.abs(values)) or 1.0)
        default = {
            "facecolor": to_rgba(line.get_color(), 0.5),
            "edgecolor": line.get_color(),
            "linewidth": 0.8,
            "zorder": 1.7,
        }
        style = merge_style(default, user_style, PolyCollection)
        ends = 1 + np.full(len(places), middle), 1 + middle + height * values
        strip = ax.fill_between(places, *map(frame.place, ends), **style)
        strip.set_gid(STRIP_ID)
        strips.append(strip)
        _label_sides(ax, places, values, words, frame)
    return strips


def _label_sides(ax, places, values, words, frame):
    """Words at the largest weight of either sign, on the empty side of the strip's middle."""
    bottom, top = STRIP
    inside = (places >= frame.low) & (places <= frame.high)
    places, values = places[inside], values[inside]
    for text, sign in zip(words, (1, -1), strict=True):
        if (sign * values > 0).any():
            at = places[np.argmax(sign * values)]
            is_left = at < frame.place(0.5)
            ax.text(
                max(at, frame.place(0.02)) if is_left else min(at, frame.place(0.98)),
                frame.place(1 + (bottom + top) / 2 - sign * (top - bottom) / 4),
                text,
                fontsize="x-small",
                ha="left" if is_left else "right",
                va="center",
                zorder=1.8,
            )
