"""Observed against nominal coverage of predicted quantiles, level by level."""

from itertools import pairwise

import numpy as np

from skcal.diagrams._drawing import style_band
from skcal.diagrams._entries import note_words
from skcal.diagrams._figure import draw_diagonal, finish_axes
from skcal.diagrams._style import GREY, choose_styles, merge_style

COVERED = "Level of the quantile", "Share of the targets up to it"
# Up to this many levels have a point each.
_FEW = 20


def split_models(quantiles):
    """Numbers of the curves of each model, which begin anew where a level comes again."""
    starts, seen = [0], set()
    for number, level in enumerate(quantiles):
        if level in seen:
            starts.append(number)
            seen = set()
        seen.add(level)
    return [range(*ends) for ends in pairwise([*starts, len(quantiles)])]


def draw_coverage(display, axes, names, styles, *, despine, title):
    """Lines of the shares of all models, and the band around the diagonal; keep the artists."""
    from matplotlib.lines import Line2D

    curve_style, ref_line_style = styles
    models = split_models(display.quantiles)
    display.ref_line_ = draw_diagonal(axes, ref_line_style)
    display.band_ = _draw_band(axes, display)
    display.lines_ = []
    for numbers, style in zip(models, choose_styles(axes, len(models)), strict=True):
        order = sorted(numbers, key=display.quantiles.__getitem__)
        levels, shares = (
            [values[k] for k in order] for values in (display.quantiles, display.shares)
        )
        look = style | {"label": names[numbers[0]] or "Quantiles", "linewidth": 2}
        if len(order) <= _FEW:
            look |= {"marker": "o", "markersize": 4}
        display.lines_ += axes.plot(levels, shares, **merge_style(look, curve_style, Line2D))
    finish_axes(axes, COVERED, despine=despine, title=title)


def _draw_band(axes, display):
    """Where all shares of calibrated quantiles lie; one that is there already is not repeated."""
    width = display.coverage_width
    if width is None:
        return None
    for area in axes.collections:
        if getattr(area, "skcal_width", None) == width:
            return area
    places = np.unique([0.0, min(width, 1.0), max(1 - width, 0.0), 1.0])  # where it is cut off
    ends = [np.clip(places + sign * width, 0, 1) for sign in (-1, 1)]
    area = axes.fill_between(places, *ends, **style_band(axes, GREY))
    area.skcal_width = width
    level = "" if display.confidence_level is None else f"{100 * display.confidence_level:g} % "
    words = f"{level}band if calibrated, all levels at once"
    note_words([area], words[0].upper() + words[1:])
    return area
