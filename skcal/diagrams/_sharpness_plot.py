"""From the attributes of a calibration-sharpness diagram to its artists."""

import numpy as np

from skcal.diagrams._curves import (
    Curve,
    as_list,
    check_curve_kwargs,
    check_lengths,
    find_supported,
    read_curves,
    unpack,
)
from skcal.diagrams._drawing import draw_bands, draw_curves, draw_densities
from skcal.diagrams._frame import (
    cut_at_frame,
    draw_diagonal,
    draw_side_labels,
    find_frame,
    finish_axes,
    name_axes,
    name_sides,
    open_figure,
)
from skcal.diagrams._style import merge_style

_ARRAYS = ("prob_pred", "prob_true", "sharpness_gap", "density")
_NUMBERS = ("n_samples", "total", "calibration", "bandwidth")
_DIVERGENCE_NAMES = {"brier": "Brier", "log": "log loss"}
# `find_supported` divides by the integral of the Gaussian kernel, which our density contains.
_UNSCALED = 1 / np.sqrt(2 * np.pi)
# The frame rises with the bands, but not above this; what is higher is cut.
_HIGHEST = 1.5
# Thinner than elsewhere, for the sake of narrow bands.
_CURVE_STYLE = {"linewidth": 1.4}
# An infinite band is drawn with this length, beyond every frame.
_INFINITE = 1e3


def plot_diagram(display, ax, name, curve_kwargs, look):
    """Draw all curves of a display, with their bands and densities."""
    from matplotlib.lines import Line2D

    curves = collect_curves(display)
    names = as_list(display.name if name is None else name)
    check_lengths(len(curves), name=names if names and len(names) > 1 else None)
    styles, separate = check_curve_kwargs(curve_kwargs, names, len(curves))
    labels = label_curves(names, list_terms(display), len(curves), separate=separate)
    styles = [merge_style(_CURVE_STYLE, style, Line2D) for style in styles]
    with open_figure(ax) as (ax,):
        find_frame(ax, "probability", curves)
        display.ax_, display.figure_ = ax, ax.figure
        display.ref_line_ = display.side_labels_ = None
        if look["ref_line"]:
            display.ref_line_ = draw_diagonal(ax, look["ref_line_kwargs"])
            if look["side_labels"]:
                display.side_labels_ = draw_side_labels(ax, *name_sides(display.reduction))
        lines = draw_curves(ax, curves, labels, styles, separate=separate)
        bands, hills = [], []
        if look["plot_band"]:
            bands = draw_sharpness_bands(ax, curves, lines, look["band_kwargs"], separate=separate)
        if look["plot_density"] and display.density is not None:
            hills = draw_densities(ax, curves, lines, look["density_kwargs"], separate=separate)
        display.line_, display.band_, display.density_ = map(unpack, (lines, bands, hills))
        labels = name_axes(display.reduction, display.pos_label)
        top = find_top(curves if look["plot_band"] else [])
        finish_axes(ax, labels, despine=look["despine"], top=top)


# ------------------------------------------------------------------------- values and labels


def collect_curves(display):
    """One `Curve` for each curve of a display, with its band."""
    rows = read_curves(display, _ARRAYS, _NUMBERS)
    curves = []
    for row in rows:
        low, high = _find_band(row["prob_true"], row["sharpness_gap"], row["density"])
        known = [row[name] for name in ("prob_pred", "prob_true", "density")]
        curves.append(Curve(*known, _UNSCALED, row["n_samples"], low, high))
    return curves


def _find_band(prob_true, gap, density):
    """Lower and upper edge of a band; None for both if it is not known."""
    if gap is None or density is None:
        return None, None
    length = np.zeros(gap.shape)
    with np.errstate(over="ignore"):
        np.multiply(np.maximum(gap, 0.0), density, where=density > 0, out=length)
    half = np.minimum(length, _INFINITE) / 2
    return np.maximum(prob_true - half, 0.0), prob_true + half


def list_terms(display):
    """What the legend says of the numbers: a word, the values, and their format."""
    word = "divergence" if display.divergence is None else display.divergence
    terms = [
        (_DIVERGENCE_NAMES.get(word, word), as_list(display.total), ".3f"),
        ("calibration", as_list(display.calibration), "#.2g"),
    ]
    return [term for term in terms if term[1] is not None]


def label_curves(names, terms, n_curves, *, separate):
    """Legend entries like "name (Brier = 0.123, calibration = 0.0045)".

    With `separate` every curve has its entry; else the first one speaks for all, with mean and
    standard deviation of the values.
    """
    names = names or [None]
    if not separate:
        shown = [f"{word} = {_show_spread(values, form)}" for word, values, form in terms]
        return [_join_label(names[0], shown)] + [None] * (n_curves - 1)
    if len(names) == 1:
        names = names * n_curves
    return [
        _join_label(name, [f"{word} = {values[i]:{form}}" for word, values, form in terms])
        for i, name in enumerate(names)
    ]


def _show_spread(values, form):
    if np.isinf(values).any():
        return "inf"
    return f"{np.mean(values):{form}} +/- {np.std(values):{form}}"


def _join_label(name, shown):
    if not shown:
        return name
    return ", ".join(shown) if name is None else f"{name} ({', '.join(shown)})"


# ------------------------------------------------------------------------- drawing


def draw_sharpness_bands(ax, curves, lines, user_style, *, separate):
    """Bands of the sharpness gap; with thin edges in the dashes of the curve if it stands alone."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    if not separate:
        bands = draw_bands(ax, curves, lines, user_style)
    else:
        bands = []
        for curve, line in zip(curves, lines, strict=True):
            default = {
                "edgecolor": to_rgba(line.get_color(), 0.6),
                "linestyle": line.get_linestyle(),
                "linewidth": 0.7,
            }
            style = merge_style(default, user_style, PolyCollection)
            bands += draw_bands(ax, [curve], [line], style)
    cut_at_frame(bands)
    return bands


def find_top(curves):
    """How high the frame must be for the bands."""
    tops = [0.0]
    for curve in curves:
        if curve.prob_true_high is not None:
            high = curve.prob_true_high[find_supported(curve)]
            tops += high[high < _INFINITE / 2].tolist()
    return min(max(tops), _HIGHEST)
