"""One scale for all densities on the same axes, also those of displays drawn one after another."""

from typing import Any, NamedTuple

from skcal.diagrams._curve import HIGHEST


class Kept(NamedTuple):
    """What an artist keeps of the density it shows."""

    unit: str  # densities of other units are not compared
    peak: float  # the highest density that it shows
    # Called with the artist and the highest density on the axes. A local function would keep
    # figures from being pickled.
    rescale: Any


def keep_density(artist, curve, density, rescale, kind):
    """Let `share_scale` rescale an artist that shows these values of a density of a curve.

    `kind` tells apart densities of different bandwidths.
    """
    unit = f"{type(curve).__name__}.{kind}"
    artist.skcal_density = Kept(unit, density.max(initial=0.0), rescale)


def share_scale(ax):
    """Rescale all densities on the axes by the highest of them."""
    shown = [artist for artist in ax.collections if hasattr(artist, "skcal_density")]
    for artist in shown:
        unit, _, rescale = artist.skcal_density
        peaks = [one.skcal_density.peak for one in shown if one.skcal_density.unit == unit]
        rescale(artist, max(*peaks, 1 / HIGHEST))
