"""The band around a curve: by points, of curves of some kind, or of calibrated bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._estimates._belt import LARGEST_RATIO, find_belt
from skcal._estimates._bins import bound_bins
from skcal._estimates._isotonic import bound_sample
from skcal._estimates._smooth import bound_curve
from skcal._input._independent_rows import check_log_odds, select_labelled_rows
from skcal._input._validation import check_option
from skcal._numerics.inference._score_interval import find_score_interval
from skcal.diagrams._curve import HIGHEST, find_supported, is_off, store_array
from skcal.diagrams._drawing import draw_bars, find_alone, style_band, take_color
from skcal.diagrams._layer import Layer, LayerData
from skcal.diagrams._style import make_transparent, merge_style

BANDS = ("wilson", "isotonic", "belt", "consistency")
# What is drawn, where it holds with the level, by kind; and as bars, one for each bin or value.
_WORDS = {
    "wilson": "band, each point by itself",
    "isotonic": "band, all points at once",
    "belt": "GiViTI belt, all points at once",
    "consistency": "of calibrated bins, each by itself",
}
_BAR_WORDS = "intervals, each by itself"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Band(LayerData):
    """Ends of a band, NaN where they are not known."""

    prob_pred: Any
    low: Any
    high: Any
    kind: str = "wilson"
    confidence_level: float | None = None

    def __post_init__(self):
        check_option("kind of a band", self.kind, BANDS)
        store_array(self, "prob_pred")
        # Bands by hand may leave [0, 1].
        for name in ("low", "high"):
            store_array(self, name, -HIGHEST, HIGHEST, like="prob_pred", allow_nan=True)


class BandLayer(Layer):
    """Band around the curve, bars for bins (`fill_between`, `LineCollection` for bars).

    Data: `prob_pred`, `low` and `high`, its ends there, and `kind`, one of "wilson", "isotonic",
    "belt" and "consistency"; `confidence_level`, for the legend.
    """

    name = "band"
    Data = Band

    def compute(self, estimate):
        source, level = estimate.source, estimate.options.confidence_level
        kind, places = estimate.options.band, estimate.prob_pred
        if kind == "wilson":
            if estimate.options.kind == "isotonic" or not source.is_counted:
                return None
            low, high = _bound_points(estimate, level)
        elif kind == "belt":
            sample, _ = select_labelled_rows(source.known)
            check_log_odds(sample, LARGEST_RATIO)
            places, _, low, high, _ = find_belt(sample, level, member=source.member)
        else:
            source.check_counts()
            if kind == "isotonic":
                places, low, high = bound_sample(source.merged, level)
            else:
                low, high = bound_bins(source.rows, estimate.edges, level)
        return Band(prob_pred=places, low=low, high=high, kind=kind, confidence_level=level)

    def draw(self, ax, curve, line, user_style, view):
        band = curve.layers[self.name]
        # Bins and values are apart, and so are their bands.
        if _is_barred(curve, band):
            return [_draw_bars(ax, band, line, user_style, view)]
        alone = ()
        ends = band.prob_pred, band.low, band.high
        if band.kind == "isotonic":
            ends = _trace_steps(*ends)
            # The band has a gap where no non-decreasing curve fits.
            shown = ends[1] <= ends[2]
        elif band.kind == "belt":
            shown = None
        else:
            dense = find_supported(curve, band.prob_pred)
            # Beyond the curve it tells something where it leaves the diagonal: more were expected.
            shown = find_supported(curve, band.prob_pred, view.frame.scale)
            shown |= dense & is_off(band)
            ends = band.prob_pred, *(view.frame.clip(end) for end in ends[1:])
            if len(band.prob_pred) == len(curve.prob_pred):
                alone = find_alone(curve, view.frame, dense)
        style = _style_area(ax, band, line, user_style, view)
        area = ax.fill_between(*ends, where=shown, **style)
        if not len(alone):
            return [area]
        return [area, _draw_bars(ax, band, line, user_style, view, alone)]

    def describe(self, curve, view):
        band = curve.layers[self.name]
        is_interval = band.kind == "wilson" and _is_barred(curve, band)
        words = _BAR_WORDS if is_interval else _WORDS[band.kind]
        if band.confidence_level is None:
            return words[:1].upper() + words[1:]
        return f"{100 * band.confidence_level:.4g} % {words}"


def _is_barred(curve, band):
    return curve.kind in ("binned", "values") and band.kind not in ("isotonic", "belt")


def _bound_points(estimate, level):
    """Wilson's intervals of the mean outcome behind each point."""
    source = estimate.source
    if estimate.edges is None:
        return bound_curve(source, estimate.curve, estimate.curve_line, level)
    count = source.count_in_bins(estimate.edges, level)
    return find_score_interval(estimate.prob_true, count, level)


def _style_area(ax, band, line, user_style, view):
    from matplotlib.colors import to_rgba

    color, style = take_color(line, user_style)
    default = style_band(ax, color, view.n_alike)
    if band.kind == "isotonic":  # that of a lone prediction is seen by its edge
        default |= {"edgecolor": to_rgba(color, 0.5)}
    return {**default, **style}


def _draw_bars(ax, band, line, user_style, view, points=slice(None)):
    """Bars at points: thin ones on the points, or wide pale ones that the points may leave."""
    from matplotlib.collections import LineCollection

    color = line.get_color()
    if band.kind == "consistency":
        pale = make_transparent(ax, color, n_areas=view.n_alike)
        default = {"color": pale, "linewidth": 7, "zorder": 1.7}
    else:
        default = {"color": color, "linewidth": 1.2, "zorder": 1.92}
    style = merge_style(default, user_style, LineCollection)
    return draw_bars(ax, band.prob_pred[points], band.low[points], band.high[points], style)


def _trace_steps(places, low, high):
    """Corners of an isotonic band: between places the lower end of the left one, the upper end of
    the right one.
    """
    at = np.arange(len(places))
    before, after = np.maximum(at - 1, 0), np.minimum(at + 1, len(at) - 1)
    lower, upper = np.column_stack([before, at, at]), np.column_stack([at, at, after])
    return np.repeat(places, 3), low[lower.ravel()], high[upper.ravel()]
