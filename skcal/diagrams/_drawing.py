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
    """Bands of the curves, where they are known.

    A bootstrap band is masked as its curve is. Bins are apart, and so are their bands: vertical
    bars. `as_edges` draws edges alone, for curves that have a stroke of their own.
    """
    bands = []
    for curve, line in zip(curves, lines, strict=True):
        if curve.prob_true_low is None:
            continue
        color, share = line.get_color(), max(0.25 / len(curves), 0.08)
        if curve.kind == "binned" and curve.band != "isotonic":
            bands.append(_draw_bin_ranges(ax, curve, color, share, user_style))
            continue
        ends = curve.band_places, curve.prob_true_low, curve.prob_true_high
        if curve.band == "isotonic":
            ends = _trace_steps(*ends)
            # The band has a gap where no non-decreasing curve fits.
            shown = ends[1] <= ends[2]
        else:
            shown = find_supported(curve)
        style = _style_band(color, share, user_style, as_edges, is_stepped=curve.band == "isotonic")
        bands.append(ax.fill_between(*ends, where=shown, **style))
    return bands


def _draw_bin_ranges(ax, curve, color, share, user_style):
    """Bars at bins: thin ones on the points, or wide pale ones that the points may leave."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    if curve.band == "consistency":
        default = {"color": to_rgba(color, 1.4 * share), "linewidth": 7, "zorder": 1.7}
    else:
        default = {"color": color, "linewidth": 1.2, "zorder": 1.9}
    style = merge_style(default, user_style, LineCollection)
    return draw_bars(ax, curve.band_places, curve.prob_true_low, curve.prob_true_high, style)


def _style_band(color, share, user_style, as_edges, *, is_stepped):
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    style = merge_style({"color": color}, user_style, PolyCollection)
    color = style.pop("color")
    edge = to_rgba(color, 0.5) if is_stepped else "none"  # also a lone prediction has an edge
    default = {
        "facecolor": "none" if as_edges else to_rgba(color, share),
        "edgecolor": color if as_edges else edge,
        "linewidth": 0.8,
        "zorder": 1.95 if as_edges else 1.5,
    }
    return {**default, **style}


def _trace_steps(places, low, high):
    """Corners of an isotonic band: between places the lower end of the left one, the upper end of
    the right one.
    """
    at = np.arange(len(places))
    before, after = np.maximum(at - 1, 0), np.minimum(at + 1, len(at) - 1)
    lower, upper = np.column_stack([before, at, at]), np.column_stack([at, at, after])
    return np.repeat(places, 3), low[lower.ravel()], high[upper.ravel()]


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
        # Matplotlib cannot place 0 and 1 on the scale of logits.
        inside = (curve.density_places >= frame.low) & (curve.density_places <= frame.high)
        places, density = curve.density_places[inside], curve.density[inside]
        unit = DENSITY_HEIGHT / max(density.max(initial=0.0), 1e-100)
        height = unit * density
        if split:
            positive = unit * curve.density_positive[inside]
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
