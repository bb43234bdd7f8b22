"""From the attributes of a calibration-sharpness diagram to its artists."""

import numpy as np

from skcal.diagrams._curves import Curve, as_curves, as_list, check_lengths, find_supported
from skcal.diagrams._drawing import draw_bands
from skcal.diagrams._frame import cut_at_frame
from skcal.diagrams._style import merge_style

_DIVERGENCE_NAMES = {"brier": "Brier", "log": "log loss"}
# `find_supported` divides by the integral of the Gaussian kernel, which our density contains.
_UNSCALED = 1 / np.sqrt(2 * np.pi)
# The frame rises with the bands, but not above this; what is higher is cut.
_HIGHEST = 1.5
# Thinner than elsewhere, for the sake of narrow bands.
CURVE_STYLE = {"linewidth": 1.4}
# An infinite band is drawn with this length, beyond every frame.
_INFINITE = 1e3


# ------------------------------------------------------------------------- values and labels


def collect_curves(display):
    """One `Curve` for each curve of a display, with its band."""
    columns = {
        "prob_pred": as_curves(display.prob_pred),
        "prob_true": as_curves(display.prob_true),
        "sharpness_gap": as_curves(display.sharpness_gap),
        "density": as_curves(display.density),
        "n_samples": as_list(display.n_samples),
    }
    n_curves = len(columns["prob_pred"])
    numbers = {key: as_list(getattr(display, key)) for key in ("total", "calibration", "bandwidth")}
    check_lengths(n_curves, **columns, **numbers)
    filled = [[None] * n_curves if values is None else values for values in columns.values()]
    curves = []
    for pred, true, gap, density, n_samples in zip(*filled, strict=True):
        low, high = _find_band(true, gap, density)
        curves.append(Curve(pred, true, density, _UNSCALED, n_samples, low, high))
    return curves


def _find_band(prob_true, gap, density):
    """Lower and upper edge of a band; None for both if it is not known."""
    if gap is None or density is None:
        return None, None
    gap, density = np.asarray(gap, dtype=float), np.asarray(density, dtype=float)
    length = np.zeros(gap.shape)
    np.multiply(np.maximum(gap, 0.0), density, where=density > 0, out=length)
    half = np.minimum(length, _INFINITE) / 2
    prob_true = np.asarray(prob_true, dtype=float)
    return np.maximum(prob_true - half, 0.0), prob_true + half


def list_terms(display):
    """What the legend says of the numbers: a word, the values, and how many digits."""
    word = "divergence" if display.divergence is None else display.divergence
    terms = [
        (_DIVERGENCE_NAMES.get(word, word), as_list(display.total), 3),
        ("calibration", as_list(display.calibration), 4),
    ]
    return [term for term in terms if term[1] is not None]


def label_curves(names, terms, n_curves, *, separate):
    """Legend entries like "name (Brier = 0.123, calibration = 0.0045)".

    With `separate` every curve has its entry; else the first one speaks for all, with mean and
    standard deviation of the values.
    """
    names = names or [None]
    if not separate:
        shown = [f"{word} = {_show_spread(values, digits)}" for word, values, digits in terms]
        return [_join_label(names[0], shown)] + [None] * (n_curves - 1)
    if len(names) == 1:
        names = names * n_curves
    return [
        _join_label(name, [f"{word} = {values[i]:.{digits}f}" for word, values, digits in terms])
        for i, name in enumerate(names)
    ]


def _show_spread(values, digits):
    if np.isinf(values).any():
        return "inf"
    return f"{np.mean(values):.{digits}f} +/- {np.std(values):.{digits}f}"


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
