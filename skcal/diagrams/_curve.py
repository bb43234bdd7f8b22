"""What the curves of all diagrams share: checked arrays, and where there is enough to draw."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from skcal._input._validation import check_number
from skcal._tools._arrays import read_numbers
from skcal.diagrams._legend import differs

# A mean of fewer predictions than this is not drawn: the usual count for a cell of a table.
ENOUGH = 5
# On the scale of logits a mean is not drawn either with fewer predictions than this of one outcome.
_SOME = 0.5
# Larger numbers cannot be drawn: they overflow inside of matplotlib.
HIGHEST = 1e100
# Standard deviations of smECE by chance that a calibrated model hardly exceeds: 1 to 4 % of samples
# do. At 5 %, many figures of several models would show an error that is none.
MOST_BY_CHANCE = 2.5
# Kinds of curves whose points stand for the rows that a kernel gathers.
SMOOTHED = ("smooth", "nadaraya-watson")
# How far a probability may leave [0, 1]: the rounding of float32.
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Curve:
    """One curve of a diagram; what is None is not known."""

    prob_pred: Any
    prob_true: Any
    density: Any = None
    n_samples: Any = None
    pos_label: int | float | bool | str | None = None
    n_rows: Any = None

    # What a subclass may say otherwise: how the curve was estimated, data of layers, and the
    # integral of the kernel in units of its maximum, by which the density was divided; None if that
    # is not known. Between the ends of `prob_range` lie nearly all predictions, and within
    # `near_ends` of 0 or 1 most.
    kind = "smooth"
    layers = MappingProxyType[str, Any]({})
    prob_range = None
    near_ends = None
    _kernel_width: ClassVar[float | None] = None

    @property
    def density_grid(self) -> Any:
        """Predictions at which the density is known."""
        return self.prob_pred

    @property
    def excess(self) -> float | None:
        """How far the error exceeds chance, in standard deviations; None if that is not known."""
        return None

    @property
    def effective_rows(self) -> float | None:
        """Effective number of rows, where it is known and not the number of rows."""
        if self.n_rows is None or self.n_samples is None:
            return None
        return self.n_samples if differs(self.n_samples, self.n_rows) else None

    def __post_init__(self):
        store_array(self, "prob_pred")
        store_array(self, "prob_true", like="prob_pred", allow_nan=True)
        store_array(self, "density", 0.0, HIGHEST, like="density_grid", optional=True)
        if self.density is not None and not self.density.max() > 1 / HIGHEST:
            raise ValueError(
                f"density must be positive somewhere, above {1 / HIGHEST:g}; its maximum is "
                f"{self.density.max():g}."
            )
        store_number(self, "n_samples")
        store_number(self, "n_rows")

    def __repr__(self):
        facts = [(name, value) for name, value in self._list_facts() if value is not None]
        known = [
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in facts
        ]
        return f"{type(self).__name__}({', '.join(known)})"

    def _list_facts(self):
        """Names and values that `repr` shows."""
        return [("n_points", len(self.prob_pred)), ("pos_label", self.pos_label)]


# ------------------------------------------------------------------------- checks


def store_array(record, name, low=0.0, high=1.0, *, like=None, allow_nan=False, optional=False):
    """Replace a field of a frozen record by an array of float64, or raise a ValueError.

    Such an array stays the same object. It has one dimension, numbers from `low` to `high` (or
    unknown, with `allow_nan`) and the length of the field `like`. None passes if `optional`.
    """
    values = getattr(record, name)
    if values is None and optional:
        return
    values = read_numbers(name, values).astype(np.float64, copy=False)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            f"{name} must be a one-dimensional array that is not empty; got shape {values.shape}."
        )
    inside = (values >= low - _ROUNDING) & (values <= high + _ROUNDING)
    if not (inside | (allow_nan & np.isnan(values))).all():
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}]; got {values[~inside][0]}.")
    if like is not None and len(values) != len(getattr(record, like)):
        raise ValueError(
            f"{name} must be as long as {like}; got {len(values)} and {len(getattr(record, like))}."
        )
    object.__setattr__(record, name, values)


def store_number(record, name, minimum=0.0):
    """Replace a field of a frozen record by a float, or raise a ValueError; None stays None."""
    value = getattr(record, name)
    if value is not None:
        value = check_number(name, value, minimum, allow_infinity=True)
        object.__setattr__(record, name, value)


# ------------------------------------------------------------------------- support


def place_density(curve):
    """Predictions that the values of the density belong to.

    A kernel at a point of the grid gathers rows around it, whose mean prediction is a point of the
    curve: the density there tells how many they are.
    """
    is_paired = curve.kind in SMOOTHED and len(curve.density) == len(curve.prob_pred)
    return curve.prob_pred if is_paired else curve.density_grid


def read_density(curve, places):
    """The density behind a curve at any places, linear between its points.

    Where several points are at one place, as those around a prediction that many rows share, it is
    the largest of theirs, except for the points themselves.
    """
    known = place_density(curve)
    if np.array_equal(places, known):
        return curve.density
    known, first = np.unique(known, return_index=True)
    return np.interp(places, known, np.maximum.reduceat(curve.density, first))


def find_dense(curve, density):
    """Where a kernel gathers enough predictions, as its density tells; None if that is not known.

    The kernel gathers n E[K(t, v)] / max K predictions at t: the density times n times the integral
    of the kernel. True where that is `ENOUGH`, or half of the most where the sample is too small
    for it, and at the two neighbours of such points, so that a lone point is a visible dash.
    """
    if any(value is None for value in (curve.density, curve._kernel_width, curve.n_samples)):
        return None
    scale = curve.n_samples * curve._kernel_width
    dense = scale * density >= min(ENOUGH, scale * curve.density.max() / 2)
    wider = dense.copy()
    wider[1:] |= dense[:-1]
    wider[:-1] |= dense[1:]
    return wider


def find_supported(curve, places=None, scale="probability"):
    """Where a curve is drawn, or what lies at other `places` with it.

    Everywhere, unless it is smoothed and rests on too few predictions. On the scale of logits it
    also needs predictions of both outcomes: without any it would fall, or rise, without end.
    """
    places = curve.prob_pred if places is None else places
    is_known = curve.kind in SMOOTHED and curve.density is not None
    supported = find_dense(curve, read_density(curve, places)) if is_known else None
    if supported is None:
        return np.ones(len(places), dtype=bool)
    if scale == "logit":
        count = curve.n_samples * curve._kernel_width * read_density(curve, places)
        means = np.interp(places, curve.prob_pred, curve.prob_true)
        supported &= count * np.minimum(means, 1 - means) >= _SOME
    return supported


def is_off(band):
    """Where a band leaves the diagonal."""
    return (band.low > band.prob_pred) | (band.high < band.prob_pred)


def find_missing(curve):
    """Ends of a band beyond a curve on the scale of logits, towards the diagonal that it leaves.

    NaN at points where there is none.
    """
    band = curve.layers.get("band")
    if band is None or curve.kind not in SMOOTHED or len(band.low) != len(curve.prob_pred):
        return np.full(len(curve.prob_pred), np.nan)
    beyond = find_supported(curve) & ~find_supported(curve, scale="logit") & is_off(band)
    ends = np.where(band.high < band.prob_pred, band.high, band.low)
    return np.where(beyond, ends, np.nan)


def may_be_chance(curve):
    """Whether smECE is what a calibrated model may have, by its interval where no more is known."""
    if curve.excess is None:
        return curve.smooth_ece_interval is not None and curve.smooth_ece_interval[0] <= 0
    return curve.excess <= MOST_BY_CHANCE


def is_smooth(curve):
    """Between bins, and along a step, a width or a colour would not tell where predictions are."""
    return curve.density is not None and curve.kind in (*SMOOTHED, "adaptive")
