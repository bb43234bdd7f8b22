"""What a reliability diagram shows beside its curve: density on the curve, rug, witness."""

import numpy as np

from skcal.diagrams._drawing import draw_bars
from skcal.diagrams._frame import STRIP, STRIP_ID, WORD_ID
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
            colors=_mix(
                line.get_color(),
                ax.get_facecolor(),
                0.35 if encoding == "width" else 0.1 + 0.9 * share,
            ),
            linewidths=low + (high - low) * share if encoding == "width" else _WIDE,
            capstyle="round" if encoding == "width" else "butt",
            zorder=1.9,
        )
        collections.append(ax.add_collection(collection, autolim=False))
    return collections


def _mix(color, background, strength):
    """The colour mixed with the background: it hides what lies under it, unlike transparency."""
    from matplotlib.colors import to_rgb

    strength = np.atleast_1d(strength)[:, None]
    return strength * np.array(to_rgb(color)) + (1 - strength) * np.array(to_rgb(background))


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
    weight as high as the strip. Words beside it say what the two halves stand for.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    bottom, top = STRIP
    middle, height = (bottom + top) / 2, (top - bottom) / 2
    strips = []
    for curve, line in zip(curves, lines, strict=True):
        if curve.witness is None:
            continue
        values = curve.witness / (np.max(np.abs(curve.witness)) or 1.0)
        default = {
            "facecolor": to_rgba(line.get_color(), 0.5),
            "edgecolor": line.get_color(),
            "linewidth": 0.8,
            "zorder": 1.7,
        }
        style = merge_style(default, user_style, PolyCollection)
        ends = 1 + np.full(len(values), middle), 1 + middle + height * values
        strip = ax.fill_between(curve.witness_pred, *map(frame.place, ends), **style)
        strip.set_gid(STRIP_ID)
        strips.append(strip)
    if strips and not any(text.get_gid() == WORD_ID for text in ax.texts):
        for text, sign in zip(words, (1, -1), strict=True):
            ax.text(
                frame.place(-0.02),
                frame.place(1 + middle + sign * height / 2),
                text.removeprefix("predicted "),
                fontsize="x-small",
                ha="right",
                va="center",
                gid=WORD_ID,
            )
    return strips
