"""Points in a plane, one for each model, whose x may be infinite."""

import numpy as np

from skcal.diagrams._entries import draw_above
from skcal.diagrams._figure import NUMBERS
from skcal.diagrams._legend import (
    check_curve_kwargs,
    check_lengths,
    count_rows,
    label_curves,
    list_names,
)
from skcal.diagrams._style import MARKERS, choose_styles, merge_style

# Where the place is beyond the axes.
_BEYOND = ">"
# A legend that takes more of the height of the axes keeps the names of models alone.
_MOST_OF_LEGEND = 0.4
# Ticks of the x axis, most of all, and the width of one with the space beside it, in letters.
_MOST_TICKS, _LETTERS_OF_A_TICK = 6, 6


def check_points(**numbers):
    """Raise a ValueError unless there are as many numbers of one kind as of another."""
    shapes = {name: np.shape(values) for name, values in numbers.items()}
    (first, shape), *others = shapes.items()
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(f"{first} must hold a number for each model; got shape {shape}.")
    for name, other in others:
        if other != shape:
            raise ValueError(
                f"{first} and {name} must have one number for each model; got the shapes {shape} "
                f"and {other}."
            )
    return shape[0]


def label_points(n_models, name, point_kwargs, terms, effective_rows):
    """Legend entry and look of each model."""
    names = list_names(name) or [None] * n_models
    check_lengths(n_models, name=names)
    styles, _ = check_curve_kwargs(point_kwargs, names, n_models, "point_kwargs")
    terms = [*terms, count_rows([effective_rows] * n_models)]
    return label_curves(names, terms, n_models, separate=True), styles


def draw_points(ax, x, y, labels, styles):
    """Points of models; one that is infinitely far to the right is an arrow at the right edge."""
    from matplotlib.lines import Line2D

    points = []
    for *place, label, look, style in zip(
        x, y, labels, choose_styles(ax, len(labels)), styles, strict=True
    ):
        default = {"color": look["color"], "marker": MARKERS[look["linestyle"]]}
        default |= {"linestyle": "none", "markersize": 7}
        default |= {"label": label, "zorder": 3, "clip_on": False}
        shown = place
        if np.isinf(place[0]):
            default |= {"marker": _BEYOND, "transform": ax.get_yaxis_transform()}
            shown = 1.0, place[1]
        points += ax.plot(*([value] for value in shown), **merge_style(default, style, Line2D))
        points[-1].skcal_place = tuple(map(float, place))
    return points


def list_places(ax):
    """Finite x, and y, of all points of models on the axes."""
    places = np.array([line.skcal_place for line in ax.lines if hasattr(line, "skcal_place")])
    return places[np.isfinite(places[:, 0]), 0], places[:, 1]


def finish_points(ax, *, despine):
    """Ticks with room for their words, legend (of models alone on small axes), and spines."""
    letter = ax.xaxis.label.get_fontsize() * ax.figure.dpi / 72
    room = ax.get_window_extent().width / (_LETTERS_OF_A_TICK * letter)
    ax.locator_params(axis="x", nbins=int(np.clip(room, 2, _MOST_TICKS)))
    draw_above(ax)
    most = _MOST_OF_LEGEND * ax.get_window_extent().height
    if ax.get_legend().get_window_extent().height > most:
        models = [line for line in ax.lines if hasattr(line, "skcal_place")]
        draw_above(ax, [models, [NUMBERS.sub("", str(line.get_label())) for line in models]])
    if despine:
        ax.spines[["top", "right"]].set_visible(False)
