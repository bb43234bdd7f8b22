"""A layer: what a diagram shows beside its curves, and how."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from skcal._input._validation import check_option


class View(NamedTuple):
    """What a layer needs to know of the axes that it is drawn on."""

    frame: Any  # the `Frame` of the square
    sides: tuple[str, str]  # what it means to lie above, and to lie below the diagonal
    n_curves: int
    separate: bool  # every curve has its own look
    layers: tuple[str, ...]  # names of all layers that are drawn

    @property
    def n_alike(self):
        """How many areas of one colour may overlap."""
        return 1 if self.separate else self.n_curves


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LayerData:
    """What a layer draws for one curve. Subclasses check their fields in `__post_init__`."""

    def __repr__(self):
        # Arrays would fill the screen.
        first = fields(self)[0].name
        return f"{type(self).__name__}({len(getattr(self, first))} x {first})"


class Layer(ABC):
    """What a diagram shows beside its curves, computed and drawn in one place.

    The docstring of a subclass is shown to users, with its name and the fields of its data.
    """

    # In the argument `layers`, and with an underscore at the end the attribute of the artists.
    name: str
    # Class of what is computed, kept as `ReliabilityCurve.layers[name]`; without one the layer
    # shows the density of the curve.
    Data: type[LayerData] | None = None
    # What the line of the curve looks like beside it.
    line_style: Mapping[str, Any] = {}
    # Whether it is drawn, where there is something to draw, unless other layers are named.
    by_default = True

    def compute(self, estimate):
        """Data of the layer for one curve, or None where it has none; see `Estimate`."""
        return None

    def is_known(self, curve):
        """Whether there is something to draw for a curve."""
        return curve.density is not None if self.Data is None else self.name in curve.layers

    @abstractmethod
    def draw(self, ax, curve, line, user_style, view):
        """Draw the layer of one curve, in the colour of its `line`, and return the artists.

        `user_style` has keyword arguments of the user for the artists, or is None.
        """

    def describe(self, curve, view):
        """What it shows of a curve, for the legend; None where another layer says so."""
        return None

    def find_top(self, curve):
        """Coordinate that the frame must rise to, where the layer needs more than the square."""
        return 0.0


def check_layers(layers, known):
    """Names of layers as a tuple, or a ValueError unless all are keys of `known`."""
    if isinstance(layers, str | Mapping) or not hasattr(layers, "__iter__"):
        raise ValueError(
            f"layers must be a sequence of names, such as ('density',); got {layers!r}."
        )
    names = tuple(dict.fromkeys(layers))
    for name in names:
        check_option("Each of layers", name, tuple(known))
    return names


def check_layer_kwargs(layer_kwargs, known):
    """Keyword arguments by name of the layer, or a ValueError."""
    if not isinstance(layer_kwargs, Mapping | None):
        raise ValueError(f"layer_kwargs must be None or a dictionary; got {layer_kwargs!r}.")
    for name, style in (layer_kwargs or {}).items():
        check_option("Each key of layer_kwargs", name, tuple(known))
        if not isinstance(style, Mapping | None):
            raise ValueError(f"layer_kwargs[{name!r}] must be None or a dictionary; got {style!r}.")
    return layer_kwargs or {}
