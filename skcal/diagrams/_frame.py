"""The square of a diagram: its scale, where it ends, and its ticks."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skcal.diagrams._curve import find_dense, find_missing, find_supported, place_density

DIAGONAL = np.array([0.0, 1.0])
# Means of equal predictions differ from these by less.
_ROUNDING = 1e-9
# Ticks, fine sets first; on the scale of logits 1 minus each of them too.
_TICKS = ((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.0, 0.5, 1.0), (0.0, 1.0))
_LOGIT_TICKS = (
    (0.5, *(float(f"{m}e-{k}") for k in range(1, 10) for m in (4, 3, 2, 1))),
    (0.5, *(float(f"{m}e-{k}") for k in range(1, 10) for m in (3, 1))),
    (0.5, *(10.0**-k for k in range(1, 10))),
    (0.5, 1e-2, 1e-4, 1e-6, 1e-8),
    (0.5, 1e-3, 1e-6),
    (0.5, 1e-2),
    (0.5, 1e-4),
    (0.5,),
)
# Characters that the ticks of an axis may have in all.
_MOST_LETTERS = 30
# Where a square on the scale of logits ends at most, and the largest logit of a double below 1:
# it must leave room for as much again above the square.
_FIRST, _LAST = 1e-9, 1 - 1e-9
_HIGHEST = 36.0
# Where predictions and curves span less than this, the square ends there, but is as wide as this at
# least; room beside them, ends beyond the first and the last tick, and ticks of the narrow square.
NEAR, _NARROWEST = 0.3, 0.01
_ROOM, _MARGIN, _N_TICKS = 0.04, 0.02, 5


class Frame(NamedTuple):
    """A square from low to high in both directions, of probabilities, logits or other values."""

    scale: str
    low: float
    high: float

    def place(self, share):
        """Coordinate at this share of the side of the square."""
        if self.scale == "logit":
            low, high = logit(self.low), logit(self.high)
            return expit(low + np.asarray(share) * (high - low))
        return self.low + np.asarray(share) * (self.high - self.low)

    def clip(self, values):
        """Coordinates that matplotlib can draw: on the scale of logits not 0 and 1."""
        return np.clip(values, _FIRST, _LAST) if self.scale == "logit" else values

    def measure(self, coordinate):
        """Share of the side of the square at a coordinate."""
        if self.scale == "logit":
            low, high = logit(self.low), logit(self.high)
            return (logit(coordinate) - low) / (high - low)
        return (coordinate - self.low) / (self.high - self.low)

    def list_ticks(self, room=np.inf):
        """The finest set of ticks whose labels do not touch; this many letters fill a side."""
        found = np.empty(0)
        for ticks in self._list_sets():
            if not len(ticks):  # too coarse for the square
                break
            found, sizes = ticks, np.array([len(label) for label in self.write(ticks)])
            gaps = np.diff(self.measure(ticks)) * room
            if sizes.sum() <= _MOST_LETTERS and (gaps >= (sizes[1:] + sizes[:-1]) / 2).all():
                break
        return found

    @property
    def is_part(self):
        """Whether probabilities lie outside of the square."""
        return self.scale == "probability" and self.high - self.low < 1

    @property
    def ends(self):
        """First and last tick of probabilities."""
        if not self.is_part:
            return 0.0, 1.0
        margin = _MARGIN / (1 + 2 * _MARGIN) * (self.high - self.low)
        return round(self.low + margin, 9) + 0.0, round(self.high - margin, 9)  # 0, not -0

    def _list_sets(self):
        if self.is_part:
            first, last = self.ends
            steps = (_find_step(last - first) * np.array([1, 2, 5])).tolist()
            return (_list_multiples(first, last, step) for step in steps)
        if self.scale == "probability":
            return map(np.array, _TICKS)
        every = (np.unique([*some, *(1 - np.array(some))]) for some in _LOGIT_TICKS)
        return (ticks[(ticks > self.low) & (ticks < self.high)] for ticks in every)

    def write(self, ticks):
        """Labels of ticks."""
        form = {"probability": ".6g" if self.is_part else ".1f", "logit": ".15g"}[self.scale]
        return [f"{tick:{form}}" for tick in ticks]


UNIT_SQUARE = Frame("probability", -0.01, 1.01)
# With room for points at 0 and 1.
_WIDE_SQUARE = Frame("probability", -_MARGIN, 1 + _MARGIN)


def _find_step(width):
    """1, 2 or 5 times a power of ten, so that about `_N_TICKS` steps fill a width."""
    power = 10.0 ** np.floor(np.log10(width / _N_TICKS))
    return power * min(m for m in (1, 2, 5, 10) if m * power >= width / _N_TICKS * (1 - 1e-9))


def _list_multiples(first, last, step):
    numbers = np.arange(np.ceil(first / step - 1e-6), np.floor(last / step + 1e-6) + 1)
    return np.round(numbers * step, 12) + 0.0  # 0, not -0


def find_frame(ax, scale, curves):
    """The square for these curves and what is on the axes already.

    A ValueError if the axes show another scale, or have a twin.
    """
    related = {*ax.get_shared_x_axes().get_siblings(ax), *ax.get_shared_y_axes().get_siblings(ax)}
    place = ax.get_position(original=True).bounds
    if any(one is not ax and one.get_position(original=True).bounds == place for one in related):
        raise ValueError("ax must not be twin axes: a diagram sets both limits. Use other axes.")
    has_data = any(one.has_data() for one in related)
    wanted = "logit" if scale == "logit" else "linear"
    if (has_data or wanted == "linear") and {ax.get_xscale(), ax.get_yscale()} != {wanted}:
        raise ValueError(
            f"ax must show both axes on the scale of this display, {wanted!r}; got "
            f"{ax.get_xscale()!r} and {ax.get_yscale()!r}. Use other axes."
        )
    if scale == "probability":
        is_free = len(related) == 1 and not (has_data and _has_others(ax))
        ends = [line.skcal_ends for line in ax.lines if hasattr(line, "skcal_ends")]
        return _set_limits(ax, _fit_square([*ends, *map(find_ends, curves)], is_free))
    bottom, top = logit(np.array([_find_ends(curve) for curve in curves])).T
    bottom, top = bottom.min(), top.max()
    margin = 0.03 * (top - bottom)
    bottom, top = max(bottom - margin, logit(_FIRST)), min(top + margin, logit(_LAST))
    if has_data:
        bottom, top = min(bottom, logit(ax.get_xlim()[0])), max(top, logit(ax.get_xlim()[1]))
    else:
        # At 0 and 1 lines leave the axes.
        ax.set_xscale("logit", nonpositive="clip")
        ax.set_yscale("logit", nonpositive="clip")
    low, high = expit([bottom, min(top, (bottom + _HIGHEST) / 2)]).tolist()
    return _set_limits(ax, Frame("logit", low, high))


def _set_limits(ax, frame):
    """Show the square before anything is drawn on it, so that matplotlib looks for no limits.

    That takes time, and on the scale of logits it finds none for lines that leave the axes.
    """
    ax.set_xlim(frame.low, frame.high)
    ax.set_ylim(frame.low, frame.high)
    return frame


def _has_others(ax):
    """Whether axes show what is not of a display that keeps its ends."""
    own = [hasattr(line, "skcal_ends") for line in ax.lines if not is_diagonal(line)]
    return not own or not all(own) or bool(ax.patches or ax.images)


def is_diagonal(line):
    return all(np.array_equal(data, DIAGONAL) for data in line.get_data())


def _fit_square(ends, is_free):
    """The square of probabilities for curves with these ends, small where that `is_free`."""
    lows, highs, have_points = zip(*ends, strict=True)
    low, high = min(lows), max(highs)
    if not is_free or high - low >= NEAR:
        return _WIDE_SQUARE if any(have_points) else UNIT_SQUARE
    room = max(_ROOM * (high - low), (_NARROWEST - high + low) / 2)
    low, high = max(low - room, 0.0), min(high + room, 1.0)
    step = _find_step(high - low)
    low = max(step * np.floor(low / step + 1e-6), 0.0)
    high = min(step * np.ceil(high / step - 1e-6), 1.0)
    margin = _MARGIN * (high - low)
    return Frame("probability", float(low - margin), float(high + margin))


def find_ends(curve):
    """Smallest and largest coordinate of predictions and of the curve, and whether it is of points.

    All of [0, 1] where it is not known where the predictions lie.
    """
    is_points = curve.kind == "values"
    if curve.prob_range is None:
        return 0.0, 1.0, is_points
    points = np.concatenate(_list_points(curve, "probability"))
    return float(points.min()), float(points.max()), is_points


def _list_points(curve, scale):
    """Places and heights of what is drawn of a curve, among all but the rarest predictions."""
    (low, high), places, heights = curve.prob_range, curve.prob_pred, curve.prob_true
    first, last = low - _ROUNDING, high + _ROUNDING
    if scale == "logit":  # which has no place for 0 and 1
        first, last = np.clip([first, last], _FIRST, _LAST)
    inside = (places > first) & (places < last)
    shown = inside & find_supported(curve, scale=scale) & ~np.isnan(heights)
    drawn = heights[shown]
    if scale == "logit":
        missing = find_missing(curve)[inside]
        drawn = np.append(drawn, missing[~np.isnan(missing)])
    return np.concatenate([[low, high], places[shown]]), drawn


def _find_ends(curve):
    """Smallest and largest coordinate of a curve on the scale of logits.

    From predictions that are many enough, and mean outcomes as far from 0 and 1 as one row in the
    sample can tell.
    """
    places, means, shown = curve.prob_pred, curve.prob_true, curve.prob_pred
    if curve.prob_range is not None:
        shown, means = _list_points(curve, "logit")
    elif curve.density is not None:
        dense = find_dense(curve, curve.density)
        shown = shown if dense is None else place_density(curve)[dense]
    inside = (shown > _FIRST) & (shown < _LAST)
    shown = shown[inside] if inside.any() else shown
    if curve.prob_range is None:
        means = means[(places >= shown.min()) & (places <= shown.max())]
    least = 1e-3 if curve.n_samples is None else 0.5 / max(curve.n_samples, 1.0)
    values = np.concatenate([shown, np.clip(means, least, 1 - least)])
    low, high = np.clip([values.min(), values.max()], _FIRST, _LAST)
    # A square of some width, also for a single point.
    return expit(min(logit(low), logit(high) - 1)), expit(max(logit(high), logit(low) + 1))
