"""From the attributes of a reliability diagram to its artists."""

from types import SimpleNamespace
from typing import NamedTuple

from skcal.diagrams._curves import (
    Curve,
    as_curves,
    as_intervals,
    as_list,
    check_curve_kwargs,
    check_lengths,
    label_curves,
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
from skcal.diagrams._layers import draw_curve_densities, draw_rugs, draw_witnesses

# Attributes of a display that its curves have each, and that they share.
_ARRAYS = ("prob_pred", "prob_true", "density_grid", "density", "density_positive")
_ARRAYS += ("band_pred", "prob_true_low", "prob_true_high")
_ARRAYS += ("rug_pred", "rug_true", "witness_pred", "witness")
_NUMBERS = ("bandwidth", "n_samples")
_OTHERS = ("smooth_ece", "smooth_ece_interval", "pos_label")
_SHARED = ("kind", "band", "scale", "reduction")


class _Plan(NamedTuple):
    """What is known before anything is drawn."""

    display: object
    curves: list
    styles: list
    separate: bool
    labels: list


def plot_square(display, ax, name, options):
    """Draw all curves of a display on one axes."""
    plan = _plan_square(display, name, options)
    with open_figure(ax) as (ax,):
        _draw_square(plan, ax, options)


def plot_panels(display, ax, name, options):
    """Draw every curve of a display on axes of its own."""
    columns = {key: getattr(display, key) for key in (*_ARRAYS, *_NUMBERS, *_OTHERS)}
    shared = {key: getattr(display, key) for key in _SHARED}
    n_panels = len(as_curves(display.prob_pred))
    names, looks = as_list(display.name if name is None else name), options["curve_kwargs"]
    if names is None or len(names) == 1:
        names = (names or [None]) * n_panels
    looks = looks if isinstance(looks, list) else [looks] * n_panels
    check_lengths(n_panels, **columns, name=names, curve_kwargs=looks)
    plans = []
    for k in range(n_panels):
        own = {key: None if values is None else values[k] for key, values in columns.items()}
        panel = SimpleNamespace(**own, **shared, name=names[k])
        plans.append(_plan_square(panel, None, {**options, "curve_kwargs": looks[k]}))
    with open_figure(ax, n_panels) as axes:
        for plan, panel_ax in zip(plans, axes, strict=True):
            _draw_square(plan, panel_ax, options)
    for key in [key for key in vars(panel) if key.endswith("_")]:
        drawn = [getattr(plan.display, key) for plan in plans]
        setattr(display, key, None if all(artist is None for artist in drawn) else drawn)
    display.ax_, display.figure_ = axes, axes[0].figure


def _plan_square(display, name, options):
    rows = read_curves(display, _ARRAYS, _NUMBERS)
    curves = [Curve(kind=display.kind, band=display.band, **row) for row in rows]
    has_parts = curves[0].density is None or curves[0].density_positive is not None
    if options["split_density"] and not has_parts:
        raise ValueError("split_density needs density_positive, the part with outcome 1; got None.")
    names, errors = as_list(display.name if name is None else name), as_list(display.smooth_ece)
    intervals = as_intervals(display.smooth_ece_interval)
    check_lengths(
        len(curves),
        smooth_ece=errors,
        smooth_ece_interval=intervals,
        name=names if names and len(names) > 1 else None,
    )
    styles, separate = check_curve_kwargs(options["curve_kwargs"], names, len(curves))
    measure = "logit smECE" if display.scale == "logit" else "smECE"
    labels = label_curves(
        names, errors, measure, len(curves), separate=separate, intervals=intervals
    )
    return _Plan(display, curves, styles, separate, labels)


def _draw_square(plan, ax, options):
    display, curves = plan.display, plan.curves
    frame = find_frame(ax, display.scale, curves)
    display.ax_, display.figure_ = ax, ax.figure
    words = name_sides(display.reduction)
    display.ref_line_ = display.side_labels_ = None
    if options["ref_line"]:
        display.ref_line_ = draw_diagonal(ax, options["ref_line_kwargs"])
        if options["side_labels"]:
            display.side_labels_ = draw_side_labels(ax, *words, frame)
    lines = draw_curves(ax, curves, plan.labels, plan.styles, separate=plan.separate)
    display.line_ = unpack(lines)
    _draw_layers(plan, ax, lines, frame, words, options)
    labels = name_axes(display.reduction, display.pos_label)
    finish_axes(ax, labels, despine=options["despine"], frame=frame)


def _draw_layers(plan, ax, lines, frame, words, options):
    """Draw what accompanies the curves."""
    display, curves = plan.display, plan.curves
    strokes, hills, bands, rugs, strips = [], [], [], [], []
    if display.density is not None and options["curve_density"] is not None:
        strokes = draw_curve_densities(ax, curves, lines, options["curve_density"])
    if display.density is not None and options["plot_density"]:
        look = {"separate": plan.separate, "split": options["split_density"], "frame": frame}
        hills = draw_densities(ax, curves, lines, options["density_kwargs"], **look)
    if options["plot_band"]:
        bands = draw_bands(ax, curves, lines, options["band_kwargs"], as_edges=bool(strokes))
    if options["plot_rug"]:
        rugs = draw_rugs(ax, curves, lines, options["rug_kwargs"], frame)
    if options["plot_witness"]:
        strips = draw_witnesses(ax, curves, lines, words, options["witness_kwargs"], frame)
    if display.scale == "logit":
        cut_at_frame([*lines, *strokes, *hills, *bands])
    display.curve_density_, display.density_ = unpack(strokes), unpack(hills)
    display.band_, display.rug_, display.witness_ = unpack(bands), unpack(rugs), unpack(strips)
