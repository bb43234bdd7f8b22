"""What the displays draw in common: styles, legend labels, curves, bands, densities.

matplotlib is imported inside the functions only, so that importing skcal never does.
"""

import numpy as np

from skcal.diagrams._curves import find_supported
from skcal.diagrams._frame import UNIT_SQUARE
from skcal.diagrams._style import choose_styles, merge_style

# The highest density fills this share of the height of the axes.
DENSITY_HEIGHT = 0.13
# What kinds of curves look like, but for their colours and dashes.
_KIND_STYLES = {
    "smooth": {"linewidth": 2},
    "isotonic": {"linewidth": 1.5, "marker": "o", "markersize": 3},
    "binned": {"linewidth": 1, "marker": "o", "markersize": 5},
}


def draw_curves(ax, curves, labels, styles, *, separate):
    """A line for each curve, masked where no predictions support it."""
    from matplotlib.lines import Line2D

    if separate:
        defaults = choose_styles(ax, len(curves))
    else:
        defaults = [{**choose_styles(ax, 1)[0], "alpha": 0.5}] * len(curves)
    lines = []
    for curve, label, default, style in zip(curves, labels, defaults, styles, strict=True):
        default = {"label": label, **_KIND_STYLES[curve.kind], **default}
        lines += ax.plot(
            curve.prob_pred,
            np.ma.masked_array(curve.prob_true, mask=~find_supported(curve)),
            **merge_style(default, style, Line2D),
        )
    return lines


def draw_bands(ax, curves, lines, user_style, *, as_edges=False):
    """Bands around the curves, where they are known, masked as the curves are.

    Bins are apart, and so are their bands: vertical bars. `as_edges` draws edges alone, for curves
    that have a stroke of their own.
    """
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import to_rgba

    bands = []
    for curve, line in zip(curves, lines, strict=True):
        if curve.prob_true_low is None:
            continue
        if curve.kind == "binned":
            default = {"color": line.get_color(), "linewidth": 1.2, "zorder": 1.9}
            style = merge_style(default, user_style, LineCollection)
            ends = curve.prob_true_low, curve.prob_true_high
            bands.append(draw_bars(ax, curve.prob_pred, *ends, style))
            continue
        style = merge_style({"color": line.get_color()}, user_style, PolyCollection)
        color = style.pop("color")
        default = {
            "facecolor": "none" if as_edges else to_rgba(color, max(0.25 / len(curves), 0.08)),
            "edgecolor": color if as_edges else "none",
            "linewidth": 0.8,
            "zorder": 1.95 if as_edges else 1.5,
        }
        band = ax.fill_between(
            curve.prob_pred,
            curve.prob_true_low,
            curve.prob_true_high,
            where=find_supported(curve),
            **{**default, **style},
        )
        bands.append(band)
    return bands


def draw_bars(ax, places, low, high, style):
    """Vertical bars. Not matplotlib's `vlines`, which finds no limits on the scale of logits."""
    from matplotlib.collections import LineCollection

    ends = [np.column_stack([places, end]) for end in (low, high)]
    return ax.add_collection(LineCollection(np.stack(ends, axis=1), **style), autolim=False)


def draw_densities(ax, curves, lines, user_style, *, separate, split=False, frame=UNIT_SQUARE):
    """Densities of the predictions as low filled hills at the bottom of the axes.

    With `split` there are two for each curve, on one scale: that of the rows with outcome 0 at
    the bottom, and that of the rows with outcome 1 hanging from the top of the square.
    """
    hills = []
    for curve, line in zip(curves, lines, strict=True):
        style = _style_hill(line, len(curves), separate, user_style)
        places, density = curve.density_places, curve.density
        inside = (places >= frame.low) & (places <= frame.high)
        unit = DENSITY_HEIGHT / (density[inside].max(initial=0.0) or density.max())
        height = unit * density
        if split:
            positive = unit * curve.density_positive
            for base, top in ((0.0, height - positive), (1.0, 1.0 - positive)):
                ends = frame.place(base), frame.place(top)
                hills.append(ax.fill_between(places, *ends, **style))
        else:
            # The height is a share of the axes, not a probability: it needs no y scale.
            transform = ax.get_xaxis_transform()
            hills.append(ax.fill_between(places, height, transform=transform, **style))
    return hills


def _style_hill(line, n_curves, separate, user_style):
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    style = merge_style({"color": line.get_color()}, user_style, PolyCollection)
    color = style.pop("color")
    default = {
        "facecolor": to_rgba(color, max(0.2 / n_curves, 0.05)),
        "edgecolor": to_rgba(color, 0.5),
        "linestyle": line.get_linestyle(),
        "linewidth": 0.8 if separate else 0,
        "zorder": 0.5,
    }
    return {**default, **style}
