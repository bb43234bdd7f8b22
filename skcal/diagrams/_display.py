"""What all displays do alike: hold curves, and draw them with their layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from skcal._estimates._smooth import CURVE_SCALES
from skcal._input._validation import check_flag, check_integer, check_option
from skcal.diagrams._curve import MOST_BY_CHANCE
from skcal.diagrams._density_scale import share_scale
from skcal.diagrams._drawing import draw_curves
from skcal.diagrams._entries import check_shown, has_labels, keep_shown, list_notes, note_words
from skcal.diagrams._figure import (
    cut_at_frame,
    draw_beyond,
    draw_crowded,
    draw_diagonal,
    draw_side_labels,
    finish_axes,
    finish_panels,
    name_axes,
    name_label,
    name_sides,
    open_figure,
    tell_crowded,
)
from skcal.diagrams._frame import Frame, find_ends, find_frame
from skcal.diagrams._layer import Layer, View, check_layer_kwargs, check_layers
from skcal.diagrams._legend import (
    check_curve_kwargs,
    check_curves,
    check_lengths,
    label_curves,
    list_names,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._style import check_look, merge_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class CurveDisplay(ShownInNotebooks, ABC):
    """Base class of displays: curves on a square, with a diagonal, layers and a legend.

    A subclass has the attributes `curves`, `name` and `reduction`, and says what they are by those
    below.
    """

    line_: Any
    band_: Any
    density_: Any
    ref_line_: Any
    side_labels_: Any
    ax_: Any
    figure_: Figure
    scale = "probability"
    panels = False
    layers: Sequence[str] | None = None
    curves: Any
    reduction: Any

    # Class of the curves, layers by name, what curves look like if not as usual, and up to which
    # coordinate the frame follows layers that rise above the square.
    _Curve: type
    _known_layers: Mapping[str, Layer]
    _curve_style: Mapping[str, Any] = {}
    _highest = 1.0

    @property
    def prob_pred(self) -> Any:
        """Predicted probabilities at which the curve is known; a list for several curves."""
        return self._share("prob_pred")

    @property
    def prob_true(self) -> Any:
        """Mean outcome at `prob_pred`; a list for several curves."""
        return self._share("prob_true")

    @property
    def pos_label(self) -> Any:
        """The label whose probability is shown, or None; a list for panels."""
        labels = [curve.pos_label for curve in self.curves]
        return labels if self.panels else labels[0]

    def plot(
        self,
        ax: Axes | np.ndarray | None = None,
        *,
        name: str | list[str] | None = None,
        curve_kwargs: dict[str, Any] | list[dict[str, Any]] | None = None,
        layers: Sequence[str] | None = None,
        layer_kwargs: dict[str, Any] | None = None,
        ref_line: bool = True,
        ref_line_kwargs: dict[str, Any] | None = None,
        side_labels: bool = True,
        despine: bool = False,
        max_panels: int | None = 12,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each, whatever `max_panels` is. None creates a new
            figure and axes.
        name : str or list of str, default=None
            Name for the legend. None takes the name of the display.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves. With several curves, a
            list gives every curve its own look and legend entry; else all look the same and
            share one entry with means and standard deviations.
        layers : sequence of str, default=None
            What is drawn beside the curves, see Notes of the class. None draws the layers that the
            display was made with; if it was made by hand all that the curves hold.
        layer_kwargs : dict, default=None
            Keyword arguments of matplotlib for layers, by name of the layer, such as
            ``{"density": {"color": "gray"}}``.
        ref_line : bool, default=True
            Whether to draw the diagonal, unless the axes have one already.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        side_labels : bool, default=True
            Whether to label the two sides of the diagonal, where it is drawn, with their meaning,
            and to tell where nearly all predictions are, if that is at the edge of the square.
        despine : bool, default=False
            Whether to remove the top and right spines.
        max_panels : int or None, default=12
            How many panels a new figure of a reliability diagram by class has at most: those whose
            smECE exceeds its mean by chance by the most standard deviations, in this order, or
            those with the largest smECE where chance is not known. None draws all.

        Returns
        -------
        self : object
            The display itself.
        """
        look = {
            "ref_line": ref_line,
            "ref_line_kwargs": ref_line_kwargs,
            "side_labels": side_labels,
            "despine": despine,
        }
        check_look(**look)
        look["layer_kwargs"] = check_layer_kwargs(layer_kwargs, self._known_layers)
        if max_panels is not None:
            max_panels = check_integer("max_panels", max_panels, minimum=1)
        squares = self._plan(name, curve_kwargs, layers)
        is_own = self.panels and ax is None
        if is_own and max_panels is not None and len(squares) > max_panels:
            find_rank = _find_excess if self._is_ranked else _find_error
            squares = sorted(squares, key=find_rank, reverse=True)[:max_panels]
        look["together"] = squares if is_own else None
        with open_figure(ax, len(squares), panels=is_own, square=True) as axes:
            for one in axes:
                check_shown(one, name_axes(self.reduction))
            drawn = [self._draw(*pair, look) for pair in zip(squares, axes, strict=True)]
            if is_own:
                self._finish_panels(axes, squares, drawn, side_labels)
            self.ax_ = axes if self.panels else axes[0]
            self.figure_ = axes[0].figure
        for key in drawn[0]:
            artists = [square[key] for square in drawn]
            of_panels = None if all(one is None for one in artists) else artists
            setattr(self, f"{key}_", of_panels if self.panels else artists[0])
        return self

    # --------------------------------------------------------------------- before drawing

    def _plan(self, name, curve_kwargs, layers):
        """What is on each axes, checked."""
        n_curves = self._check_curves()
        layers = self._choose_layers(layers)
        names = list_names(self.name if name is None else name)
        if not self.panels:
            check_lengths(n_curves, name=names if names and len(names) > 1 else None)
            return [self._plan_square(self.curves, names, curve_kwargs, layers)]
        if names is None or len(names) == 1:
            names = (names or [None]) * n_curves
        looks = curve_kwargs if isinstance(curve_kwargs, list) else [curve_kwargs] * n_curves
        check_lengths(n_curves, name=names, curve_kwargs=looks)
        return [
            self._plan_square([curve], list_names(name), look, layers)
            for curve, name, look in zip(self.curves, names, looks, strict=True)
        ]

    def _plan_square(self, curves, names, curve_kwargs, layers):
        styles, separate = check_curve_kwargs(curve_kwargs, names, len(curves))
        terms = self._list_terms(curves)
        labels = label_curves(names, terms, len(curves), separate=separate)
        return Square(curves, names, labels, styles, separate, layers)

    def _check_curves(self):
        """Number of curves, or a ValueError if they cannot be drawn together."""
        check_option("scale", self.scale, tuple(CURVE_SCALES))
        check_flag("panels", self.panels)
        check_curves(self.curves, self._Curve)
        labels = [curve.pos_label for curve in self.curves]
        if not self.panels and any(label != labels[0] for label in labels):
            raise ValueError(
                f"curves on one axes must have one pos_label; got {labels}. Others need panels."
            )
        return len(self.curves)

    def _choose_layers(self, layers):
        """Names of the layers that are drawn."""
        known = self._known_layers
        held = [
            name
            for name, layer in known.items()
            if any(layer.is_known(curve) for curve in self.curves)
        ]
        if layers is None and self.layers is None:
            return tuple(name for name in held if known[name].by_default)
        if layers is None:
            return tuple(name for name in check_layers(self.layers, known) if name in held)
        layers = check_layers(layers, known)
        missing = [name for name in layers if name not in held]
        if missing:
            raise ValueError(
                f"layers must name what the curves hold, {tuple(held)}; got {missing[0]!r}. Name "
                "it where the display is made."
            )
        return layers

    @abstractmethod
    def _list_terms(self, curves):
        """Numbers that the legend shows, each a `Term`."""

    def _list_panel_terms(self, curve):
        """Numbers that the title of a panel shows, each a `Term`."""
        return self._list_terms([curve])

    @property
    def _is_ranked(self):
        """Whether it is known of all curves how far their smECE exceeds what chance gives."""
        return all(curve.excess is not None for curve in self.curves)

    def _name_order(self, squares):
        """How the panels that are drawn were chosen."""
        if not self._is_ranked:
            return "with the largest smECE"
        words = "whose smECE stands out most from chance"
        is_clear = _find_excess(squares[0]) > MOST_BY_CHANCE
        return words if is_clear else f"{words}, none of them clearly"

    def _share(self, name):
        """Values of an attribute of the curves: the only one, or a list."""
        values = [getattr(curve, name) for curve in self.curves]
        return values if self.panels or len(values) > 1 else values[0]

    # --------------------------------------------------------------------- drawing

    def _draw(self, square, ax, look):
        """Draw one square; return its artists by name."""
        from matplotlib.lines import Line2D

        curves, sides = square.curves, name_sides(self.reduction)
        is_own = look["together"] is not None
        together = look["together"] or [square]
        frame = find_frame(ax, self.scale, [curve for one in together for curve in one.curves])
        drawn = {"ref_line": None, "side_labels": None}
        if look["ref_line"]:
            drawn["ref_line"] = draw_diagonal(ax, look["ref_line_kwargs"])
            if look["side_labels"]:
                drawn["side_labels"] = draw_side_labels(ax, *sides, frame)
        styles = [
            merge_style(self._style_line(curve, square.layers), style, Line2D)
            for curve, style in zip(curves, square.styles, strict=True)
        ]
        lines = draw_curves(ax, curves, square.labels, styles, frame, separate=square.separate)
        label = name_label(self.reduction, curves[0].pos_label)
        keep_shown(lines, name_axes(self.reduction), label)
        view = View(frame, sides, len(curves), square.separate, square.layers)
        artists = self._draw_layers(ax, square, lines, view, look["layer_kwargs"])
        share_scale(ax)
        for curve, line in zip(curves, lines, strict=True):
            line.skcal_ends = find_ends(curve)
        if self.scale == "probability":
            draw_crowded(ax, frame, curves, lines, is_shown=look["side_labels"] and not is_own)
        if self.scale == "logit" or frame.is_part:
            cut_at_frame([*lines, *(artist for group in artists.values() for artist in group)])
        if self.scale == "logit":
            draw_beyond(ax, frame, curves)
        drawn["line"] = _unpack(lines)
        drawn |= {name: _unpack(group) for name, group in artists.items()}
        top = min(self._find_top(square), self._highest)
        labels = name_axes(self.reduction, None if is_own or has_labels(ax) else label)
        options = {"despine": look["despine"], "legend": not is_own}
        finish_axes(ax, labels, frame=frame, top=top, **options)
        return drawn

    def _finish_panels(self, axes, squares, drawn, side_labels):
        """What stands at the panels of a new figure: which they are, and what all have alike."""
        titles, legend = [], {}
        for square, artists in zip(squares, drawn, strict=True):
            (curve,) = square.curves
            label = name_label(self.reduction, curve.pos_label)
            numbers = label_curves(None, self._list_panel_terms(curve), 1, separate=True)[0]
            titles.append((label, numbers))
            if artists["ref_line"] is not None:
                legend.setdefault(artists["ref_line"].get_label(), artists["ref_line"])
            if square.names and square.names[0] is not None:
                legend.setdefault(square.names[0], artists["line"])
            for note, (artist,) in list_notes(artists["line"].axes).items():
                legend.setdefault(note, artist)
        words = []
        if len(squares) < len(self.curves):
            words.append(
                f"The {len(squares)} of {len(self.curves)} classes {self._name_order(squares)} "
                "(max_panels=None shows all)"
            )
        if side_labels and self.scale == "probability":
            low, high = axes[0].get_xlim()
            near = [(square.curves[0].near_ends, square.curves[0].prob_range) for square in squares]
            crowded = tell_crowded(near, Frame(self.scale, low, high))
            if crowded is not None:
                words.append(crowded.replace("\n", " "))
        finish_panels(axes, titles, legend, "\n".join(words) or None)

    def _style_line(self, curve, layers):
        """What a curve looks like if not as usual."""
        layers = [self._known_layers[name] for name in layers]
        found = dict(self._curve_style)
        for layer in layers:
            found |= layer.line_style if layer.is_known(curve) else {}
        return found

    def _draw_layers(self, ax, square, lines, view, layer_kwargs):
        """Artists of all layers, drawn or not, by name."""
        artists = {name: [] for name in self._known_layers}
        for name in square.layers:
            layer, style = self._known_layers[name], layer_kwargs.get(name)
            for curve, line in zip(square.curves, lines, strict=True):
                if layer.is_known(curve):
                    drawn = layer.draw(ax, curve, line, style, view)
                    note_words(drawn, layer.describe(curve, view))
                    artists[name] += drawn
        return artists

    def _find_top(self, square):
        """How high the frame must be for the layers."""
        layers = [self._known_layers[name] for name in square.layers]
        return max(
            (layer.find_top(curve) for layer in layers for curve in square.curves), default=0.0
        )


class Square(NamedTuple):
    """What is drawn on one axes, checked: names, and a legend entry and a look for each curve."""

    curves: list[Any]
    names: list[str | None] | None
    labels: list[str]
    styles: list[dict[str, Any]]
    separate: bool
    layers: tuple[str, ...]


def _find_excess(square):
    return square.curves[0].excess


def _find_error(square):
    """smECE of a panel; one that is not known comes last."""
    error = square.curves[0].smooth_ece
    return -1.0 if error is None else error


def _unpack(artists):
    """What a display shows of a list of artists: None, the only one, or the list."""
    return (artists if len(artists) > 1 else artists[0]) if artists else None
