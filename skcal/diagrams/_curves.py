"""Curves of a display: their values, and their entries in the legend."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

# A mean of fewer predictions than this is not drawn: the usual count for a cell of a table.
ENOUGH = 5


class Curve(NamedTuple):
    """One curve of a display; what is None is not known."""

    prob_pred: Any
    prob_true: Any
    density: Any
    bandwidth: Any
    n_samples: Any
    prob_true_low: Any = None
    prob_true_high: Any = None
    density_grid: Any = None
    density_positive: Any = None
    rug_pred: Any = None
    rug_true: Any = None
    witness_pred: Any = None
    witness: Any = None
    kind: str = "smooth"

    @property
    def density_places(self):
        """Where the density is known."""
        return self.prob_pred if self.density_grid is None else self.density_grid

    @property
    def density_on_curve(self):
        """The density at the points of the curve."""
        if self.density_grid is None:
            return np.asarray(self.density)
        return np.interp(self.prob_pred, self.density_grid, self.density)

    @property
    def is_dense(self):
        """Where a smoothed curve rests on enough predictions; None if that is not known.

        The kernel gathers n E[exp(-(t - v)^2 / 2 s^2)] = n s sqrt(2 pi) density(t) predictions at
        t. True where that is `ENOUGH`, or half of the most where the sample is too small for it,
        and at the two neighbours of such points, so that a lone point is a visible dash.
        """
        if any(values is None for values in (self.density, self.bandwidth, self.n_samples)):
            return None
        gathered = self.n_samples * self.bandwidth * np.sqrt(2 * np.pi) * np.asarray(self.density)
        dense = gathered >= min(ENOUGH, gathered.max() / 2)
        wider = dense.copy()
        wider[1:] |= dense[:-1]
        wider[:-1] |= dense[1:]
        return wider


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
    if not isinstance(curve_kwargs, list) or len(curve_kwargs) != n_curves:
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


def find_supported(curve):
    """Where a curve is drawn: all of it, unless it is smoothed and rests on too few predictions."""
    supported = curve.is_dense if curve.kind == "smooth" else None
    if supported is None or np.shape(supported) != np.shape(curve.prob_true):
        return np.ones(np.shape(curve.prob_true), dtype=bool)
    return supported
