"""The square of diagrams whose values are those of a target: its diagonal, limits and legend."""

import numpy as np

from skcal.diagrams._entries import divide_handles, list_entries
from skcal.diagrams._figure import finish_axes
from skcal.diagrams._frame import Frame
from skcal.diagrams._style import merge_style

# Room around the curves, in parts of the side of the square.
_MARGIN = 0.05
# Logarithmic axes that span more have ticks at powers of ten.
_DECADES = 2.5


def draw_value_diagonal(axes, ends, style):
    """The line where predictions are right, between both ends."""
    from matplotlib.lines import Line2D

    default = {"color": axes.spines["bottom"].get_edgecolor(), "linewidth": 0.8}
    default |= {"linestyle": ":", "zorder": 1.9, "label": "_diagonal"}
    return axes.plot(ends, ends, **merge_style(default, style, Line2D))[0]


def finish_values(axes, quantities, *, despine, title=None, legend=True):
    """Labels, equal limits, spines and, if asked for, legend of axes that show values."""
    if axes.get_xscale() == axes.get_yscale() == "linear":
        options = {"despine": despine, "legend": legend, "title": title}
        finish_axes(axes, quantities, frame=_find_frame(axes), **options)
        return
    # No square that a legend could stand on.
    ends = np.array([axes.get_xlim(), axes.get_ylim()])
    limits = ends.min(), ends.max()
    axes.set(xlabel=quantities[0], ylabel=quantities[1], xlim=limits, ylim=limits, aspect="equal")
    if axes.get_xscale() == axes.get_yscale() == "log":
        _draw_log_ticks(axes, limits)
    if legend:
        look = {"fontsize": "small", "frameon": False, "title": title}
        axes.legend(*list_entries(axes), handler_map=divide_handles(), **look)
    if despine:
        axes.spines[["top", "right"]].set_visible(False)


def _draw_log_ticks(axes, limits):
    """Plain numbers, which do not touch, where powers of ten alone would be few."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    subs = (1.0,) if np.ptp(np.log10(limits)) > _DECADES else (1.0, 2.0, 5.0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())


def _find_frame(axes):
    """The square that holds all that is drawn, also on axes that share its limits."""
    low, high = axes.dataLim.get_points().min(), axes.dataLim.get_points().max()
    margin = _MARGIN * (high - low if high > low else max(abs(low), 1.0))
    first, last = sorted(axes.get_xlim())
    return Frame("value", min(low - margin, first), max(high + margin, last))
