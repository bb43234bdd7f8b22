"""Curves of a display: their values, and their entries in the legend."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from skcal._validation import as_numbers

# A mean of fewer predictions than this is not drawn: the usual count for a cell of a table.
ENOUGH = 5


# How long the arrays of a curve must be: as long as another one of it.
_AS_LONG_AS = {
    "prob_true": "prob_pred",
    "prob_true_low": "band_pred",
    "prob_true_high": "band_pred",
    "sharpness_gap": "prob_pred",
    "density": "density_grid",
    "density_positive": "density_grid",
    "rug_true": "rug_pred",
    "witness": "witness_pred",
}
# Arrays that make sense together only.
_PAIRS = (
    ("prob_true_low", "prob_true_high"),
    ("rug_pred", "rug_true"),
    ("witness_pred", "witness"),
)


# Where the numbers of an array lie, unless they are probabilities; larger ones cannot be drawn.
_RANGES = {
    "sharpness_gap": (-np.inf, np.inf),
    "density": (0.0, 1e100),
    "density_positive": (0.0, 1e100),
    "witness": (-1.0, 1.0),
    # Bands by a normal approximation may leave [0, 1].
    "prob_true_low": (-1e100, 1e100),
    "prob_true_high": (-1e100, 1e100),
}
# That of float32.
_ROUNDING = 1e-6
# Arrays that are not known everywhere.
_INCOMPLETE = ("prob_true", "prob_true_low", "prob_true_high", "sharpness_gap")


class Curve(NamedTuple):
    """One curve of a display; what is None is not known."""

    prob_pred: Any
    prob_true: Any
    density: Any
    bandwidth: Any
    n_samples: Any
    prob_true_low: Any = None
    prob_true_high: Any = None
    band_pred: Any = None
    density_grid: Any = None
    density_positive: Any = None
    rug_pred: Any = None
    rug_true: Any = None
    witness_pred: Any = None
    witness: Any = None
    kind: str = "smooth"
    band: str = "bootstrap"

    @property
    def band_places(self):
        """Where the band is known."""
        return self.prob_pred if self.band_pred is None else self.band_pred

    @property
    def density_places(self):
        """Where the density is known."""
        return self.prob_pred if self.density_grid is None else self.density_grid

    @property
    def density_on_curve(self):
        """The density at the points of the curve."""
        if self.density_grid is None:
            return self.density
        return np.interp(self.prob_pred, self.density_grid, self.density)


def find_dense(curve, density):
    """Where a kernel gathers enough predictions, as its density tells; None if that is not known.

    The kernel gathers n E[exp(-(t - v)^2 / 2 s^2)] = n s sqrt(2 pi) density(t) predictions at t.
    True where that is `ENOUGH`, or half of the most where the sample is too small for it, and at
    the two neighbours of such points, so that a lone point is a visible dash.
    """
    if any(values is None for values in (curve.density, curve.bandwidth, curve.n_samples)):
        return None
    scale = curve.n_samples * curve.bandwidth * np.sqrt(2 * np.pi)
    dense = scale * density >= min(ENOUGH, scale * curve.density.max() / 2)
    wider = dense.copy()
    wider[1:] |= dense[:-1]
    wider[:-1] |= dense[1:]
    return wider


def find_supported(curve):
    """Where a curve is drawn: all of it, unless it is smoothed and rests on too few predictions."""
    is_smooth = curve.kind == "smooth" and curve.density is not None
    supported = find_dense(curve, curve.density_on_curve) if is_smooth else None
    return np.ones(len(curve.prob_true), dtype=bool) if supported is None else supported


def read_curves(display, arrays, numbers):
    """Arrays and numbers of every curve of a display.

    Parameters
    ----------
    display : object
    arrays, numbers : tuple of str
        Attributes of the display: an array or a number, or a list with one for each curve.

    Returns
    -------
    list of dict

    Raises
    ------
    ValueError
        If the lists differ in length, or the arrays of a curve do.
    """
    columns = {name: as_curves(getattr(display, name)) for name in arrays}
    columns |= {name: as_list(getattr(display, name)) for name in numbers}
    for name in ("prob_pred", "prob_true"):
        if columns[name] is None:
            raise ValueError(f"{name} must hold the points of a curve; got None.")
    n_curves = len(columns["prob_pred"])
    check_lengths(n_curves, **columns)
    for one, other in _PAIRS:
        if one in columns and (columns[one] is None) != (columns[other] is None):
            raise ValueError(f"{one} and {other} must be given together; got only one of them.")
    rows = [
        {name: None if values is None else values[k] for name, values in columns.items()}
        for k in range(n_curves)
    ]
    for row in rows:
        _check_arrays(row, [name for name in arrays if row[name] is not None])
    return rows


def _check_arrays(row, names):
    """Make arrays of one curve of what is given, in place."""
    for name in names:
        values = as_numbers(name, row[name]).astype(np.float64)
        if values.ndim != 1 or len(values) == 0:
            raise ValueError(
                f"{name} must be a one-dimensional array, or a list of them for several curves; "
                f"got shape {values.shape}."
            )
        low, high = _RANGES.get(name, (0.0, 1.0))
        is_inside = (values >= low - _ROUNDING) & (values <= high + _ROUNDING)
        if not (is_inside | (name in _INCOMPLETE and np.isnan(values))).all():
            raise ValueError(
                f"{name} must lie in [{low:g}, {high:g}]; got {values[~is_inside][0]}."
            )
        row[name] = values
    for name in names:
        other = _AS_LONG_AS.get(name)
        other = "prob_pred" if row.get(other) is None else other
        if len(row[name]) != len(row[other]) and name in _AS_LONG_AS:
            raise ValueError(
                f"{name} must be as long as {other}; got {len(row[name])} and {len(row[other])}."
            )
    density = row.get("density")
    if density is not None and not density.max() > 1e-100:
        raise ValueError(
            f"density must be positive somewhere, above 1e-100; its maximum is {density.max():g}."
        )


def as_curves(values):
    """List with one entry per curve; None stays None.

    A list of numbers is one curve, a list of arrays is several.
    """
    if values is None:
        return None
    if isinstance(values, list) and np.ndim(values[0] if values else 0) > 0:
        return values
    return [values]


def as_list(values):
    """List with one number or string per curve; None stays None."""
    return values if values is None or isinstance(values, list) else [values]


def as_intervals(values):
    """List with one pair per curve; None stays None."""
    if values is None:
        return None
    pairs = [values] if np.shape(values) == (2,) else values
    if any(np.shape(pair) != (2,) for pair in pairs):
        raise ValueError(
            "smooth_ece_interval must be a pair of low and high, or a list of them for several "
            f"curves; got {values!r}."
        )
    return list(pairs)


def unpack(artists):
    """What a display shows of a list of artists: None, the only one, or the list."""
    return (artists if len(artists) > 1 else artists[0]) if artists else None


def check_lengths(n_curves, **lists):
    """Raise a ValueError unless every list that is not None has one entry per curve."""
    for name, values in lists.items():
        if values is not None and len(values) != n_curves:
            raise ValueError(
                f"{name} must have one entry for each of the {n_curves} curves; got {len(values)}."
            )


def check_curve_kwargs(curve_kwargs, names, n_curves):
    """One dictionary per curve, and whether every curve has its own."""
    if curve_kwargs is None or isinstance(curve_kwargs, Mapping):
        if names is not None and len(names) > 1:
            raise ValueError(
                f"name must be one string, or curve_kwargs a list of {n_curves} dictionaries: "
                f"curves that look the same cannot be told apart by {len(names)} names."
            )
        return [curve_kwargs or {}] * n_curves, n_curves == 1
    is_list = isinstance(curve_kwargs, list) and len(curve_kwargs) == n_curves
    if not is_list or not all(kw is None or isinstance(kw, Mapping) for kw in curve_kwargs):
        raise ValueError(
            f"curve_kwargs must be None, a dictionary or a list of {n_curves} dictionaries; "
            f"got {curve_kwargs!r}."
        )
    return [kwargs or {} for kwargs in curve_kwargs], True


def label_curves(names, values, measure, n_curves, *, separate, intervals=None):
    """Legend entries like "name (smECE = 0.034)", or "name (smECE = 0.034 [0.021, 0.050])".

    With `separate` every curve has its entry; else the first one speaks for all, with mean and
    standard deviation of the values.
    """
    names = names or [None]
    if not separate:
        value = None
        if values is not None:
            value = f"{np.mean(values):.3f} +/- {np.std(values):.3f}"
        return [_join_label(names[0], measure, value)] + [None] * (n_curves - 1)
    if len(names) == 1:
        names = names * n_curves
    shown = [None] * n_curves if values is None else [f"{value:.3f}" for value in values]
    if values is not None and intervals is not None:
        ends = [f" [{low:.3f}, {high:.3f}]" for low, high in intervals]
        shown = [value + end for value, end in zip(shown, ends, strict=True)]
    return [_join_label(name, measure, value) for name, value in zip(names, shown, strict=True)]


def _join_label(name, measure, value):
    if value is None:
        return name
    return f"{measure} = {value}" if name is None else f"{name} ({measure} = {value})"
