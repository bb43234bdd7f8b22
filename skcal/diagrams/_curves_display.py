"""What diagrams of curves with bands do alike: name models, and draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from skcal._input._independent_rows import check_reduction
from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._input._sample import Sample
from skcal._input._validation import RowSumError, check_integer, check_option
from skcal._tools._arrays import list_column_names
from skcal.diagrams._drawing import take_color
from skcal.diagrams._entries import (
    check_shown,
    fit_legend,
    has_labels,
    keep_shown,
    list_entries,
)
from skcal.diagrams._figure import (
    break_labels,
    escape_math,
    name_label,
    open_figure,
    shorten_name,
)
from skcal.diagrams._legend import (
    check_curve_kwargs,
    check_curves,
    check_lengths,
    count_rows,
    find_effective_rows,
    label_curves,
    list_names,
    read_names,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import name_reduction, predict_folds
from skcal.diagrams._style import (
    check_look,
    choose_pale_color,
    choose_styles,
    make_transparent,
    merge_style,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Powers of ten between which values are written as they are.
_PLAIN = -2, 4
# Room beside the first and the last place.
_MARGIN = 0.01
# Room beside a single place, half of the width of its band, and what stands there for a line
# with such dashes.
_ROOM, _BAR, _MARKERS = 0.1, 0.002, {"--": "^", "-": "s", ":": "D"}
# Letters of the name of a model in the words for bands.
_MOST_OF_A_NAME = 24
# A legend is shortened, then smaller, if it takes more than this of the height for itself.
_MOST_OF_A_LEGEND = 0.5
_COMPACT = {"fontsize": "xx-small", "labelspacing": 0.2, "borderpad": 0.2}
# What curves have at least of the height, whatever the legend takes.
_LEAST_OF_CURVES = 0.2


def place_legend(ax, low, high):
    """Set the ends of the y axis, with room for a legend above all curves."""
    from matplotlib.collections import PolyCollection

    handles, entries = list_entries(ax)
    # One entry has the colours of all bands.
    bands = tuple(one for one in ax.collections if isinstance(one, PolyCollection))
    handles = [bands if one in bands else one for one in handles]
    models = [k for k, handle in enumerate(handles) if hasattr(handle, "skcal_shown")]
    choices = [(handles, entries, {})]
    if models:  # for small axes
        pairs = [handles[k] for k in models], [entries[k] for k in models]
        choices += [(*pairs, {}), (*pairs, _COMPACT)]
    inside = ax.get_window_extent()
    for *pairs, look in choices:
        legend = fit_legend(ax, *pairs, inside.width, loc="upper center", **look)
        share = (inside.y1 - legend.get_window_extent().y0) / inside.height
        if share <= _MOST_OF_A_LEGEND:
            break
    legend.set_in_layout(False)  # it stands inside, where a layout need not make room
    ax.set_ylim(low, low + (high - low) / max(1 - share, _LEAST_OF_CURVES))


class CurvesDisplay(ShownInNotebooks, ABC):
    """Base class of displays of curves with bands, one for each model.

    A subclass says what the curves are, and what is drawn beside them.
    """

    lines_: list[Artist]
    bands_: list[Artist]
    ref_lines_: list[Artist]
    ax_: Axes
    figure_: Figure
    # Class of the curves, its fields that are drawn, what the axes show, and where bands hold.
    _Curve: Any
    _places: str
    _field: str
    _x_label: str
    _y_label: str
    _at_once: str
    # Between which ends places lie.
    _limits = 0.0, 1.0

    def __init__(
        self,
        *,
        curves: list[Any],
        bands: list[Any] | None = None,
        name: str | list[str] | None = None,
        pos_label: int | float | bool | str | None = None,
        confidence_level: float | None = None,
        effective_rows: list[float | None] | None = None,
    ) -> None:
        self.curves = curves
        self.bands = bands
        self.name = name
        self.pos_label = pos_label
        self.confidence_level = confidence_level
        self.effective_rows = effective_rows

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        curve_kwargs: dict[str, Any] | list[dict[str, Any]] | None = None,
        band_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        name : str or list of str, default=None
            Name for the legend. None takes the name of the display.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves. With several curves of one
            name, a list gives every curve its own look and legend entry.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the bands.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the lines that models are compared with.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        return self._plot(ax, name, curve_kwargs, band_kwargs, ref_line_kwargs, despine)

    @abstractmethod
    def _list_lines(self, curve, unit):
        """Lines that belong to a curve: label, dashes and coordinates of each."""

    @abstractmethod
    def _finish(self, ax):
        """Set the ends of the y axis, and draw the legend where there is room."""

    def _list_points(self, curve, unit):
        """Coordinates of the line of a curve."""
        return getattr(curve, self._places), getattr(curve, self._field) / unit

    def _measure_places(self, places):
        """The length that room beside places is a part of."""
        return 1.0

    # --------------------------------------------------------------------- before drawing

    @classmethod
    def _choose_reduction(cls, models, reduction, pos_label):
        """What "auto" means for the predictions of models, unless all displays agree."""
        return reduction

    @classmethod
    def _read_models(cls, y_true, models, data, reduction):
        """`ModelRows` of each of several models, by their predictions for the same rows."""
        reduction = cls._choose_reduction(models, reduction, data["pos_label"])
        return [read_model(y_true, y_proba, data, reduction) for y_proba in models]

    @classmethod
    def _read_folds(cls, cv_results, X, y, reduction, **data):
        """`ModelRows` of each fold of a cross-validation, and the name of its estimators."""
        folds = predict_folds(cv_results, X, y, **data)
        models = [y_proba for _, _, y_proba, _ in folds]
        reduction = cls._choose_reduction(models, reduction, data["pos_label"])
        rows = [read_model(y_fold, y_proba, own, reduction) for _, y_fold, y_proba, own in folds]
        return rows, type(folds[0][0]).__name__

    @classmethod
    def _join(cls, rows, found, confidence_level, name, **more):
        """A display of `ModelRows`, of which pairs of a curve and its band, or None, are found."""
        labels = [one.label for one in rows]
        if len(set(map(str, labels))) > 1:
            raise ValueError(
                "cv_results must hold estimators that know the same classes, or pos_label must say "
                f"what to show; got the labels {labels}."
            )
        curves, bands = zip(*found, strict=True)
        return cls(
            curves=list(curves),
            bands=None if confidence_level is None else list(bands),
            name=name,
            pos_label=labels[0],
            confidence_level=confidence_level,
            effective_rows=[one.effective_rows for one in rows],
            **more,
        )

    # --------------------------------------------------------------------- drawing

    def _plot(
        self, ax, name, curve_kwargs, band_kwargs, ref_line_kwargs, despine, unit=None, y_label=None
    ):
        """Draw, with values in the unit that `unit` gives for a curve, and its name on the axis."""
        from matplotlib.lines import Line2D

        y_label = self._y_label if y_label is None else y_label
        check_look(band_kwargs=band_kwargs, ref_line_kwargs=ref_line_kwargs, despine=despine)
        self._check()
        n_curves = len(self.curves)
        names = read_names(self.name if name is None else name, n_curves)
        if len(names) > 1 and not isinstance(curve_kwargs, list):
            curve_kwargs = [curve_kwargs or {}] * n_curves
        styles, separate = check_curve_kwargs(curve_kwargs, names, n_curves)
        terms = [] if self.effective_rows is None else [count_rows(self.effective_rows)]
        labels = label_curves(names, terms, n_curves, separate=separate)
        units = [1.0 if unit is None else unit(curve) for curve in self.curves]
        label = name_label(None, self.pos_label)
        quantities = self._x_label, y_label
        with open_figure(ax) as (axes,):
            check_shown(axes, quantities)
            looks = choose_styles(axes, n_curves if separate else 1)
            if not separate:
                looks = [{**looks[0], "alpha": 0.5}] * n_curves
            self.lines_, self.bands_, self.ref_lines_ = [], [], []
            for k, curve in enumerate(self.curves):
                default = {"linewidth": 2, "label": labels[k], **looks[k]}
                x, y = self._list_points(curve, units[k])
                if len(x) == 1:  # no line has one point
                    default["marker"] = "o"
                self.lines_ += axes.plot(x, y, **merge_style(default, styles[k], Line2D))
            for k, band in enumerate(self.bands or []):
                if band is not None:
                    ends = [np.asarray(end) / units[k] for end in band]
                    n_alike = 1 if separate else n_curves
                    self._draw_band(axes, k, ends, self._name_band(names), band_kwargs, n_alike)
            for curve, size in zip(self.curves, units, strict=True):
                for line in self._list_lines(curve, size):
                    self._draw_line(axes, *line, looks[0].get("alpha"), ref_line_kwargs)
            keep_shown(self.lines_, quantities, label)
            info = "" if label is None or has_labels(axes) else f" ({label})"
            places = np.concatenate([line.get_xdata() for line in axes.lines])
            margin = (_MARGIN if np.ptp(places) else _ROOM) * self._measure_places(places)
            low, high = self._limits
            ends = max(places.min() - margin, low), min(places.max() + margin, high)
            axes.set(xlabel=f"{self._x_label}{info}", ylabel=y_label, xlim=ends)
            break_labels(axes)
            # Rare events have small values, whose many zeros would push the label off the figure.
            axes.ticklabel_format(axis="y", scilimits=_PLAIN)
            self._finish(axes)
            if despine:
                axes.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _check(self):
        curves = self.curves
        check_curves(curves, self._Curve)
        check_lengths(len(curves), bands=self.bands, effective_rows=self.effective_rows)

    def _name_band(self, names):
        """Words for what the bands are."""
        return "band"

    def _draw_band(self, ax, k, ends, words, style, n_alike):
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import to_rgba

        color, style = take_color(self.lines_[k], style)
        pale = make_transparent(ax, color, n_areas=n_alike)
        x = getattr(self.curves[k], self._places)
        if len(x) == 1:  # no area has one point
            x = x + self._measure_places(x) * np.array([-_BAR, _BAR])
            ends = np.repeat(ends, 2, axis=1)
        default = {"facecolor": pale, "edgecolor": to_rgba(color, 0.4)}
        default |= {"linewidth": 0.8, "zorder": 1.5}
        if self.confidence_level is not None:
            label = f"{100 * self.confidence_level:g} % {words} ({self._at_once})"
            is_first = all(area.get_label() != label for area in ax.collections)
            default["label"] = label if is_first else None
        look = merge_style(default, style, PolyCollection)
        self.bands_.append(ax.fill_between(x, *ends, **look))

    def _draw_line(self, ax, label, dashes, x, y, alpha, style):
        """A line that models are compared with; one that the axes have already is not repeated."""
        from matplotlib.lines import Line2D

        for line in ax.lines:
            if all(np.array_equal(*pair) for pair in zip(line.get_data(), (x, y), strict=True)):
                return
        is_first = all(line.get_label() != label for line in ax.lines)
        default = {"color": choose_pale_color(ax), "linestyle": dashes, "linewidth": 1.2}
        default |= {"zorder": 1.8}
        if len(x) == 1:  # no line has one point
            default |= {"marker": _MARKERS[dashes], "markersize": 5}
        default |= {"label": label if is_first else None, "alpha": alpha}
        self.ref_lines_ += ax.plot(x, y, **merge_style(default, style, Line2D))


class ComparedCurvesDisplay(CurvesDisplay):
    """Base class of displays whose bands may be those of differences from one of the curves."""

    baseline: int | None

    def _check(self):
        super()._check()
        if self.baseline is not None:
            most = len(self.curves) - 1
            check_integer("baseline", self.baseline, minimum=0, maximum=most)

    def _name_band(self, names):
        if self.baseline is None:
            return super()._name_band(names)
        name = names[self.baseline] if len(names) > 1 else "the first curve"
        return f"band of the difference from {escape_math(shorten_name(name, _MOST_OF_A_NAME))}"


def check_band_choice(band, n_models):
    """Raise a ValueError unless bands of so many models may be these."""
    check_option("band", band, ("auto", "curve", "difference"))
    if band == "difference" and n_models == 1:
        raise ValueError("band must be 'auto' or 'curve' for a single model; got 'difference'.")


def name_models(predictions, name, argument="y_proba", default="Classifier"):
    """Predictions of one model, or of several, by name; `argument` holds them."""
    if isinstance(predictions, Mapping):
        if name is not None:
            raise ValueError(f"name must be None: the keys of {argument} name its models.")
        if not predictions:
            raise ValueError(f"{argument} must hold one model at least; it is an empty dictionary.")
        return {str(key): values for key, values in predictions.items()}
    names = list_names(name) or [None]
    check_lengths(1, name=names)
    return {default if names[0] is None else names[0]: predictions}


def keep_names(models, given):
    """Names of `models` for a display: a list if a dictionary was given, else that of the model."""
    names = list(models)
    return names if isinstance(given, Mapping) else names[0]


class ModelRows(NamedTuple):
    """What one model predicts for the rows, read once."""

    sample: Sample  # of one binary problem
    label: Any  # the label whose probability is predicted; None where it is the predicted one
    effective_rows: float | None  # None where weights do not differ


def read_model(y_true, y_proba, data, reduction):
    """`ModelRows` of one model."""
    check_reduction(reduction)
    predictions = check_model(y_true, y_proba, data, reduction)
    (sample,) = REDUCTIONS[reduction](predictions)
    label = name_reduction(predictions, reduction)[1]
    return ModelRows(sample, label, find_effective_rows(predictions.weights))


def check_model(y_true, y_proba, data, reduction):
    """Checked predictions of one model; a table of those of several models gets advice."""
    try:
        return check_predictions(y_true, y_proba, **data, reduction=reduction, for_reduction=True)
    except RowSumError as error:
        names = list_column_names(y_proba)
        if not names:
            raise
        shown = ", ".join(f"{name!r}: ..." for name in names[:2])
        raise ValueError(
            f"{error} If its columns are models, pass a dictionary, {{{shown}}}."
        ) from None
