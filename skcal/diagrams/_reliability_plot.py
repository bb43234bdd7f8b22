"""From the attributes of a reliability diagram to its artists."""

import inspect

import numpy as np

from skcal.diagrams._curves import (
    Curve,
    as_curves,
    as_list,
    check_curve_kwargs,
    check_lengths,
    label_curves,
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
)
from skcal.diagrams._layers import draw_curve_densities, draw_rugs, draw_witnesses

# Arguments of a display that make sense together only.
_PAIRS = (
    ("prob_true_low", "prob_true_high"),
    ("rug_pred", "rug_true"),
    ("witness_pred", "witness"),
)
# Arguments of a display that all of its curves share.
_SHARED = ("kind", "scale", "name", "reduction")


def plot_panels(display, ax, name, options):
    """Draw every curve of a display on axes of its own."""
    arguments = {key: getattr(display, key) for key in inspect.signature(type(display)).parameters}
    shared = {key: arguments.pop(key) for key in _SHARED}
    n_panels = len(as_curves(display.prob_pred))
    check_lengths(n_panels, **arguments)
    axes = _make_axes(ax, n_panels)
    panels = []
    for k in range(n_panels):
        own = {key: None if values is None else values[k] for key, values in arguments.items()}
        panels.append(type(display)(**own, **shared))
        plot_square(panels[-1], axes[k], name, options)
    artists = [key for key in vars(panels[0]) if key.endswith("_")]
    for key in artists:
        drawn = [getattr(panel, key) for panel in panels]
        setattr(display, key, None if all(artist is None for artist in drawn) else drawn)
    display.ax_, display.figure_ = axes, axes[0].figure


def _make_axes(ax, n_panels):
    """Axes for panels: those given, or those of a new figure."""
    import matplotlib.pyplot as plt

    if ax is not None:
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) != n_panels:
            raise ValueError(
                f"ax must be an array of {n_panels} axes, one for each class; got {len(axes)}."
            )
        return axes
    n_columns = int(np.ceil(np.sqrt(n_panels)))
    n_rows = -(-n_panels // n_columns)
    size = (4.6 * n_columns, 4.8 * n_rows)
    _, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    for spare in axes.ravel()[n_panels:]:
        spare.remove()
    return axes.ravel()[:n_panels]


def plot_square(display, ax, name, options):
    """Draw all curves of a display on one axes."""
    import matplotlib.pyplot as plt

    curves = _collect_curves(display)
    if (
        options["split_density"]
        and display.density is not None
        and display.density_positive is None
    ):
        raise ValueError("split_density needs density_positive, the part with outcome 1; got None.")
    styles, separate, labels = _label_curves(display, name, options["curve_kwargs"], len(curves))
    if ax is None:
        _, ax = plt.subplots()
    display.ax_, display.figure_ = ax, ax.figure
    frame = find_frame(ax, display.scale, curves)
    words = name_sides(display.reduction)
    display.ref_line_ = (
        draw_diagonal(ax, options["ref_line_kwargs"]) if options["ref_line"] else None
    )
    has_words = options["ref_line"] and options["side_labels"]
    display.side_labels_ = draw_side_labels(ax, *words, frame) if has_words else None
    lines = draw_curves(ax, curves, labels, styles, separate=separate)
    display.line_ = unpack(lines)
    _draw_layers(display, ax, curves, lines, separate, frame, words, options)
    labels = name_axes(display.reduction, display.pos_label)
    finish_axes(ax, labels, despine=options["despine"], frame=frame)


def _draw_layers(display, ax, curves, lines, separate, frame, words, options):
    """Draw what accompanies the curves."""
    strokes, hills, bands, rugs, strips = [], [], [], [], []
    if display.density is not None and options["curve_density"] is not None:
        strokes = draw_curve_densities(ax, curves, lines, options["curve_density"])
    if display.density is not None and options["plot_density"]:
        look = {"separate": separate, "split": options["split_density"], "frame": frame}
        hills = draw_densities(ax, curves, lines, options["density_kwargs"], **look)
    if options["plot_band"]:
        bands = draw_bands(ax, curves, lines, options["band_kwargs"])
    if options["plot_rug"]:
        rugs = draw_rugs(ax, curves, lines, options["rug_kwargs"], frame)
    if options["plot_witness"]:
        strips = draw_witnesses(ax, curves, lines, words, options["witness_kwargs"], frame)
    if display.scale == "logit":
        cut_at_frame([*lines, *strokes, *hills, *bands])
    display.curve_density_, display.density_ = unpack(strokes), unpack(hills)
    display.band_, display.rug_, display.witness_ = unpack(bands), unpack(rugs), unpack(strips)


def _label_curves(display, name, curve_kwargs, n_curves):
    """Keyword arguments of every curve, whether each has its own, and their legend entries."""
    names = as_list(display.name if name is None else name)
    errors = as_list(display.smooth_ece)
    intervals = display.smooth_ece_interval
    intervals = [intervals] if isinstance(intervals, tuple) else intervals
    check_lengths(
        n_curves,
        smooth_ece=errors,
        smooth_ece_interval=intervals,
        name=names if names and len(names) > 1 else None,
    )
    styles, separate = check_curve_kwargs(curve_kwargs, names, n_curves)
    return (
        styles,
        separate,
        label_curves(names, errors, "smECE", n_curves, separate=separate, intervals=intervals),
    )


def _collect_curves(display):
    """One `Curve` for each curve of a display."""
    arrays = ("prob_pred", "prob_true", "density_grid", "density", "density_positive")
    arrays += ("prob_true_low", "prob_true_high", "rug_pred", "rug_true", "witness_pred", "witness")
    columns = {name: as_curves(getattr(display, name)) for name in arrays}
    columns |= {name: as_list(getattr(display, name)) for name in ("bandwidth", "n_samples")}
    n_curves = len(columns["prob_pred"])
    check_lengths(n_curves, **columns)
    for one, other in _PAIRS:
        if (columns[one] is None) != (columns[other] is None):
            raise ValueError(f"{one} and {other} must be given together; got only one of them.")
    return [
        Curve(
            kind=display.kind,
            **{name: None if values is None else values[k] for name, values in columns.items()},
        )
        for k in range(n_curves)
    ]
