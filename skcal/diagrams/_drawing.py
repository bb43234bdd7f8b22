"""What the displays draw in common: styles, legend labels, diagonal, density, axes.

matplotlib is imported inside the functions only, so that importing skcal never does.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

# Hues of Okabe and Ito, which colour-blind readers tell apart, ordered so that neighbours differ
# in lightness or dash pattern: in greyscale the dashes alone still tell the curves apart.
CURVE_STYLES = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": "--"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    {"color": "#000000", "linestyle": (0, (7, 2))},
)
# The highest density fills this share of the height of the axes.
DENSITY_HEIGHT = 0.13
# A mean of fewer predictions than this is not drawn: the usual count for a cell of a table.
ENOUGH = 5
_DIAGONAL = np.array([0.0, 1.0])
_LIMITS = (-0.01, 1.01)
_TICKS = np.linspace(0.0, 1.0, 6)


class Curve(NamedTuple):
    """One curve of a display; what is None is not known."""

    prob_pred: Any
    prob_true: Any
    density: Any
    bandwidth: Any
    n_samples: Any
    low: Any = None
    high: Any = None


# ------------------------------------------------------------------------- values and labels


def as_curves(values):
    """List with one entry per curve; None stays None.

    A list of numbers is one curve, a list of arrays is several.
    """
    if values is None:
        return None
    if isinstance(values, list) and np.ndim(values[0] if values else 0) > 0:
        return values
    return [values]


def as_list(values):
    """List with one number or string per curve; None stays None."""
    return values if values is None or isinstance(values, list) else [values]


def check_lengths(n_curves, **lists):
    """Raise a ValueError unless every list that is not None has one entry per curve."""
    for name, values in lists.items():
        if values is not None and len(values) != n_curves:
            raise ValueError(
                f"{name} must have one entry for each of the {n_curves} curves; got {len(values)}."
            )


def check_curve_kwargs(curve_kwargs, names, n_curves):
    """One dictionary per curve, and whether every curve has its own."""
    if curve_kwargs is None or isinstance(curve_kwargs, Mapping):
        if names is not None and len(names) > 1:
            raise ValueError(
                f"name must be one string, or curve_kwargs a list of {n_curves} dictionaries: "
                f"curves that look the same cannot be told apart by {len(names)} names."
            )
        return [curve_kwargs or {}] * n_curves, n_curves == 1
    if not isinstance(curve_kwargs, list) or len(curve_kwargs) != n_curves:
        raise ValueError(
            f"curve_kwargs must be None, a dictionary or a list of {n_curves} dictionaries; "
            f"got {curve_kwargs!r}."
        )
    return [kwargs or {} for kwargs in curve_kwargs], True


def label_curves(names, values, measure, n_curves, *, separate, intervals=None):
    """Legend entries like "name (smECE = 0.034)", or "name (smECE = 0.034 [0.021, 0.050])".

    With `separate` every curve has its entry; else the first one speaks for all, with mean and
    standard deviation of the values.
    """
    names = names or [None]
    if not separate:
        value = None
        if values is not None:
            value = f"{np.mean(values):.3f} +/- {np.std(values):.3f}"
        return [_join_label(names[0], measure, value)] + [None] * (n_curves - 1)
    if len(names) == 1:
        names = names * n_curves
    shown = [None] * n_curves if values is None else [f"{value:.3f}" for value in values]
    if values is not None and intervals is not None:
        ends = [f" [{low:.3f}, {high:.3f}]" for low, high in intervals]
        shown = [value + end for value, end in zip(shown, ends, strict=True)]
    return [_join_label(name, measure, value) for name, value in zip(names, shown, strict=True)]


def _join_label(name, measure, value):
    if value is None:
        return name
    return f"{measure} = {value}" if name is None else f"{name} ({measure} = {value})"


# ------------------------------------------------------------------------- styles


def merge_style(default, user, artist_class):
    """Keyword arguments of an artist: the user's win, under any of matplotlib's aliases."""
    from matplotlib.cbook import normalize_kwargs

    return {**default, **normalize_kwargs(dict(user or {}), artist_class)}


def choose_styles(ax, n_styles):
    """The next styles of `CURVE_STYLES` whose colours no line on the axes has yet."""
    from matplotlib.colors import to_hex

    taken = {to_hex(line.get_color()).upper() for line in ax.lines}
    free = [style for style in CURVE_STYLES if style["color"] not in taken] or list(CURVE_STYLES)
    return [free[i % len(free)] for i in range(n_styles)]


# ------------------------------------------------------------------------- drawing


def find_supported(curve):
    """Where a smoothed curve rests on enough predictions to be drawn.

    The kernel gathers n E[exp(-(t - v)^2 / 2 s^2)] = n s sqrt(2 pi) density(t) predictions at t.
    True where that is `ENOUGH`, or half of the most where the sample is too small for it, and at
    the two neighbours of such points, so that a lone point is a visible dash.
    """
    if curve.density is None or curve.bandwidth is None or curve.n_samples is None:
        return np.ones(np.shape(curve.prob_true), dtype=bool)
    scale = curve.n_samples * curve.bandwidth * np.sqrt(2 * np.pi)
    gathered = scale * np.asarray(curve.density)
    supported = gathered >= min(ENOUGH, gathered.max() / 2)
    wider = supported.copy()
    wider[1:] |= supported[:-1]
    wider[:-1] |= supported[1:]
    return wider


def draw_diagonal(ax, user_style):
    """The line of perfect calibration; a diagonal that the axes have already is not repeated."""
    from matplotlib.lines import Line2D

    for line in ax.lines:
        if all(np.array_equal(data, _DIAGONAL) for data in line.get_data()):
            return line
    default = {
        "color": "0.3",
        "linestyle": ":",
        "linewidth": 1.2,
        "zorder": 1.8,
        "label": "Perfectly calibrated",
    }
    return ax.plot(_DIAGONAL, _DIAGONAL, **merge_style(default, user_style, Line2D))[0]


def draw_side_labels(ax, above, below):
    """Pale words on the two sides of the diagonal, once per axes."""
    style = {
        "color": "0.55",
        "fontsize": "small",
        "fontstyle": "italic",
        "ha": "center",
        "va": "center",
        "zorder": 1,
    }
    present = {text.get_text(): text for text in ax.texts}
    return [
        present[words] if words in present else ax.text(x, y, words, **style)
        for words, x, y in ((above, 0.25, 0.72), (below, 0.75, 0.28))
    ]


def draw_curves(ax, curves, labels, styles, *, separate):
    """A line for each curve, masked where no predictions support it."""
    from matplotlib.lines import Line2D

    if separate:
        defaults = choose_styles(ax, len(curves))
    else:
        defaults = [{**choose_styles(ax, 1)[0], "alpha": 0.5}] * len(curves)
    lines = []
    for curve, label, default, style in zip(curves, labels, defaults, styles, strict=True):
        default = {"label": label, "linewidth": 2, **default}
        lines += ax.plot(
            curve.prob_pred,
            np.ma.masked_array(curve.prob_true, mask=~find_supported(curve)),
            **merge_style(default, style, Line2D),
        )
    return lines


def draw_bands(ax, curves, lines, user_style):
    """Bands around the curves, where they are known, masked as the curves are."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    bands = []
    for curve, line in zip(curves, lines, strict=True):
        if curve.low is None:
            continue
        style = merge_style({"color": line.get_color()}, user_style, PolyCollection)
        default = {
            "facecolor": to_rgba(style.pop("color"), max(0.25 / len(curves), 0.08)),
            "edgecolor": "none",
            "zorder": 1.5,
        }
        band = ax.fill_between(
            curve.prob_pred,
            curve.low,
            curve.high,
            where=find_supported(curve),
            **{**default, **style},
        )
        bands.append(band)
    return bands


def draw_densities(ax, curves, lines, user_style, *, separate):
    """Densities of the predictions as low filled hills at the bottom of the axes."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    hills = []
    for curve, line in zip(curves, lines, strict=True):
        style = merge_style({"color": line.get_color()}, user_style, PolyCollection)
        color = style.pop("color")
        default = {
            "facecolor": to_rgba(color, max(0.2 / len(curves), 0.05)),
            "edgecolor": to_rgba(color, 0.5),
            "linestyle": line.get_linestyle(),
            "linewidth": 0.8 if separate else 0,
            "zorder": 0.5,
        }
        density = np.asarray(curve.density)
        # The height is a share of the axes, not a probability: it needs no y scale.
        hill = ax.fill_between(
            curve.prob_pred,
            DENSITY_HEIGHT * density / density.max(),
            transform=ax.get_xaxis_transform(),
            **{**default, **style},
        )
        hills.append(hill)
    return hills


def finish_axes(ax, xlabel, ylabel, *, despine):
    """Labels, limits, aspect, spines and legend of a diagram on the unit square."""
    low, high = _LIMITS
    ax.set(xlabel=xlabel, xlim=_LIMITS, xticks=_TICKS, yticks=_TICKS, aspect="equal")
    room = _draw_legend(ax) if ax.get_legend_handles_labels()[1] else 0.0
    # The frame stays a square around the data, the legend stands on top of it.
    ax.set_ylim(low, high + room)
    ax.set_ylabel(ylabel, y=(high - low) / 2 / (high - low + room))
    for side in ("left", "right"):
        ax.spines[side].set_bounds(low, high)
    ax.spines["top"].set_position(("data", high))
    if despine:
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("bottom", "left"):
            ax.spines[side].set_bounds(0, 1)


def _draw_legend(ax):
    """Draw the legend above the unit square; return the height it needs there, in data units.

    Inside the square a legend with the name of an estimator hides a curve, the diagonal or the
    density sooner or later; outside of the axes it hides the title or leaves the figure.
    """
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(_LIMITS[0], _LIMITS[1]),
        bbox_transform=ax.transData,
        borderaxespad=0,
        frameon=False,
        fontsize="small",
    )
    space = ax.get_position(original=True).transformed(ax.figure.transSubfigure)
    size = _LIMITS[1] - _LIMITS[0]
    height = min(legend.get_window_extent().height, space.height / 2)
    # Pixels for one unit follow from the direction that is short of space.
    return size * height / min(space.width, space.height - height)
