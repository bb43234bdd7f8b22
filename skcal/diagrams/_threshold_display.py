"""What diagrams over decision thresholds do alike: read models, and draw curves with bands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._estimates._decisions import check_act, check_band, count_actions, reduce_to_decisions
from skcal._input._independent_rows import check_reduction
from skcal._input._reduction import check_predictions
from skcal._tools._arrays import list_column_names
from skcal._tools._typing import ArrayLike
from skcal.diagrams._drawing import take_color
from skcal.diagrams._entries import (
    check_shown,
    fit_legend,
    has_labels,
    keep_shown,
    list_entries,
)
from skcal.diagrams._figure import break_labels, name_label, open_figure
from skcal.diagrams._legend import (
    check_curve_kwargs,
    check_lengths,
    count_rows,
    find_effective_rows,
    label_curves,
    list_names,
)
from skcal.diagrams._response import (
    check_plot_options,
    name_reduction,
    predict_class_probabilities,
    predict_folds,
)
from skcal.diagrams._style import check_look, choose_pale_color, choose_styles, merge_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

# Powers of ten between which values are written as they are.
_PLAIN = -2, 4
# Room beside the first and the last threshold.
_MARGIN = 0.01
# Room beside a single threshold, half of the width of its band, and what stands there for a line
# with such dashes.
_ROOM, _BAR, _MARKERS = 0.1, 0.002, {"--": "^", "-": "s", ":": "D"}
# A legend takes no more than this of the height for itself.
_MOST_OF_A_LEGEND = 0.5


def place_legend(ax, low, high):
    """Set the ends of the y axis, with room for a legend above all curves."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    handles, entries = list_entries(ax)
    if sum(isinstance(artist, PolyCollection) for artist in ax.collections) > 1:
        # The band of one model stands for those of all.
        gray = Patch(facecolor="0.8", edgecolor="none")
        handles = [gray if isinstance(one, PolyCollection) else one for one in handles]
    legend = fit_legend(ax, handles, entries, ax.get_window_extent().width, loc="upper center")
    legend.set_in_layout(False)  # it stands inside, where a layout need not make room
    share = legend.get_window_extent().height / ax.get_window_extent().height
    ax.set_ylim(low, low + (high - low) / (1 - min(share, _MOST_OF_A_LEGEND)))


class ThresholdDisplay(ABC):
    """Base class of displays of curves over decision thresholds.

    A subclass says what the curves are, and what is drawn beside them.
    """

    lines_: list[Artist]
    bands_: list[Artist]
    ref_lines_: list[Artist]
    ax_: Axes
    figure_: Figure
    # Class of the curves, the field that is drawn, what the y axis shows, and the default of `act`.
    _Curve: Any
    _field: str
    _y_label: str
    _act: str

    def __init__(
        self,
        *,
        curves: list[Any],
        bands: list[Any] | None = None,
        name: str | list[str] | None = None,
        pos_label: Any = None,
        confidence_level: float | None = None,
        effective_rows: list[float | None] | None = None,
    ) -> None:
        self.curves = curves
        self.bands = bands
        self.name = name
        self.pos_label = pos_label
        self.confidence_level = confidence_level
        self.effective_rows = effective_rows

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        reduction: Literal["auto", "confidence"] = "auto",
        clusters: ArrayLike | None = None,
        thresholds: ArrayLike | None = None,
        act: Literal[">", ">="] | None = None,
        confidence_level: float | None = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier with `predict_proba`, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the classifier was not fitted on.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label at whose probability one acts; by default the last class of two. With more
            than two classes it selects that class against the rest.
        reduction : {"auto", "confidence"}, default="auto"
            See :meth:`from_predictions`.
        clusters : array-like of shape (n_samples,), default=None
            See :meth:`from_predictions`.
        thresholds : array-like of shape (n_thresholds,), default=None
            See :meth:`from_predictions`.
        act : {">", ">="}, default=None
            See :meth:`from_predictions`.
        confidence_level : float, default=0.95
            See :meth:`from_predictions`.
        name : str, default=None
            Name for the legend. None takes the class name of the estimator.
        ax : matplotlib axes, default=None
            Axes to draw on, such as those of the curve of another model. None creates a new
            figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid or the estimator has no `predict_proba`.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import DecisionCurveDisplay
        >>> X, y = make_classification(n_samples=900, random_state=0)
        >>> classifier = GaussianNB().fit(X[:450], y[:450])
        >>> display = DecisionCurveDisplay.from_estimator(classifier, X[450:], y[450:])
        >>> display.ax_.get_xlabel()
        'Threshold probability (Positive label: 1)'
        """
        y_proba, labels = predict_class_probabilities(estimator, X, y)
        return cls.from_predictions(
            y,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            reduction=reduction,
            clusters=clusters,
            thresholds=thresholds,
            act=act,
            confidence_level=confidence_level,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **plot_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: Any,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Literal["auto", "confidence"] = "auto",
        clusters: ArrayLike | None = None,
        thresholds: ArrayLike | None = None,
        act: Literal[">", ">="] | None = None,
        confidence_level: float | None = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the curves of given probabilities, of one model or of several.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels; with ``confidence_level=None`` also soft ones.
        y_proba : array-like or dict of array-like
            Predicted probabilities in [0, 1] of shape (n_samples,), (n_samples, 1) or
            (n_samples, n_classes): of the positive label, or one column per label with rows that
            sum to 1. A dictionary has those of several models for the same rows, by name.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label at whose probability one acts; by default 1 where the labels are {0, 1} or
            {-1, 1}, else the last label. Others with one column of probabilities need it, or
            `labels`. With more than two classes it selects that class against the rest.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, in the order of the columns; by default the
            sorted labels of `y_true`.
        reduction : {"auto", "confidence"}, default="auto"
            How class probabilities become one binary problem: "confidence" takes the largest
            probability and whether its label came true, "auto" the positive label of a binary
            problem (or `pos_label`) and the confidence otherwise.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None takes rows for independent.
        thresholds : array-like of shape (n_thresholds,), default=None
            Thresholds at which the curve is computed, between 0 and 1; 1000 at most with a band.
            By default steps of 0.01 of a decision curve, and of 0.005 of a Murphy diagram, with
            finer ones around the base rate of an event that is rarer than 1/10 (of a Murphy diagram
            also of one that is missing as rarely).
        act : {">", ">="}, default=None
            Whether one acts at predictions v > t or v >= t. None stands for ">=" in a decision
            curve, and for ">" in a Murphy diagram.
        confidence_level : float or None, default=0.95
            Probability, in (0, 1), that the band of a curve covers at all thresholds; see
            :func:`~skcal.inference.net_benefit_difference`. None draws no bands.
        name : str, default=None
            Name of a single model for the legend. None takes "Classifier".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from skcal.diagrams import MurphyDisplay
        >>> models = {"sharp": [0.1, 0.4, 0.7, 0.8], "dull": [0.5, 0.5, 0.5, 0.5]}
        >>> display = MurphyDisplay.from_predictions([0, 1, 1, 1], models)
        >>> [line.get_label() for line in display.lines_]
        ['sharp', 'dull']
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        if isinstance(y_proba, Mapping):
            if name is not None:
                raise ValueError("name must be None: the keys of y_proba name its models.")
            if not y_proba:
                raise ValueError("y_proba must hold the probabilities of one model at least.")
            models = {str(key): proba for key, proba in y_proba.items()}
        else:
            names = list_names(name) or [None]
            check_lengths(1, name=names)
            (name,) = names
            models = {"Classifier" if name is None else name: y_proba}
        check_reduction(reduction)
        if confidence_level is None and clusters is not None:
            raise ValueError("clusters must be None where no band is drawn: curves need none.")
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        found = [
            cls._estimate(
                y_true, proba, data, reduction, thresholds, act, confidence_level, clusters
            )
            for proba in models.values()
        ]
        return cls._join(found, confidence_level, list(models)).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: dict[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        reduction: Literal["auto", "confidence"] = "auto",
        thresholds: ArrayLike | None = None,
        act: Literal[">", ">="] | None = None,
        confidence_level: float | None = None,
        name: str | list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw a curve for each fold of a cross-validation.

        Parameters
        ----------
        cv_results : dict
            What :func:`sklearn.model_selection.cross_validate` returns with
            ``return_estimator=True`` and ``return_indices=True``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as they were given to `cross_validate`.
        y : array-like of shape (n_samples,)
            True labels, as they were given to `cross_validate`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            See :meth:`from_estimator`.
        reduction : {"auto", "confidence"}, default="auto"
            See :meth:`from_predictions`.
        thresholds : array-like of shape (n_thresholds,), default=None
            See :meth:`from_predictions`.
        act : {">", ">="}, default=None
            See :meth:`from_predictions`.
        confidence_level : float or None, default=None
            Level of a band for each fold. None draws no bands.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold and needs a list as `curve_kwargs`.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if `cv_results` lacks estimators or indices, if an
            estimator has no `predict_proba`, or if some know other classes than others.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import DecisionCurveDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> results = cross_validate(
        ...     GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True
        ... )
        >>> display = DecisionCurveDisplay.from_cv_results(results, X, y)
        >>> len(display.lines_)
        3
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_cv_results)
        check_reduction(reduction)
        folds = predict_folds(cv_results, X, y, sample_weight, pos_label)
        if name is None:
            name = type(folds[0][0]).__name__
        found = [
            cls._estimate(y_fold, y_proba, data, reduction, thresholds, act, confidence_level)
            for _, y_fold, y_proba, data in folds
        ]
        return cls._join(found, confidence_level, name).plot(ax=ax, **plot_kwargs)

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

    # --------------------------------------------------------------------- before drawing

    @classmethod
    @abstractmethod
    def _compute(cls, y_true, y_proba, **options):
        """The curve."""

    @classmethod
    @abstractmethod
    def _compute_band(cls, actions, thresholds, level, clusters):
        """Curve and ends of its band, arrays."""

    @abstractmethod
    def _list_lines(self, curve, unit):
        """Lines that belong to a curve: label, dashes and coordinates of each."""

    @abstractmethod
    def _finish(self, ax):
        """Set the ends of the y axis, and draw the legend where there is room."""

    @classmethod
    def _estimate(
        cls, y_true, y_proba, data, reduction, thresholds, act, confidence_level, clusters=None
    ):
        """Curve, band or None, what they are of (the reduction, or the label), effective rows."""
        act = cls._act if act is None else act
        check_act(act)
        predictions = _check_model(y_true, y_proba, data)
        data = data | {"reduction": reduction}
        curve = cls._compute(y_true, y_proba, thresholds=thresholds, act=act, **data)
        band = None
        if confidence_level is not None:
            level = check_band(curve.thresholds, act, confidence_level)
            sample = reduce_to_decisions(y_true, y_proba, **data)
            actions = count_actions(sample, curve.thresholds, act)
            _, *band = cls._compute_band(actions, curve.thresholds, level, clusters)
        label = name_reduction(predictions, reduction)[1]
        return curve, band, label, find_effective_rows(predictions.weights)

    @classmethod
    def _join(cls, found, confidence_level, name):
        curves, bands, pos_labels, rows = zip(*found, strict=True)
        if len({str(label) for label in pos_labels}) > 1:
            raise ValueError(
                "cv_results must hold estimators that know the same classes, or pos_label must say "
                f"what to show; got the labels {list(pos_labels)}."
            )
        return cls(
            curves=list(curves),
            bands=None if confidence_level is None else list(bands),
            name=name,
            pos_label=pos_labels[0],
            confidence_level=confidence_level,
            effective_rows=list(rows),
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
        names = list_names(self.name if name is None else name) or [None]
        if len(names) > 1:
            check_lengths(n_curves, name=names)
            if not isinstance(curve_kwargs, list):
                curve_kwargs = [curve_kwargs or {}] * n_curves
        styles, separate = check_curve_kwargs(curve_kwargs, names, n_curves)
        terms = [] if self.effective_rows is None else [count_rows(self.effective_rows)]
        labels = label_curves(names, terms, n_curves, separate=separate)
        units = [1.0 if unit is None else unit(curve) for curve in self.curves]
        label = name_label(None, self.pos_label)
        place = "Threshold probability"
        quantities = place, y_label
        with open_figure(ax) as (axes,):
            check_shown(axes, quantities)
            looks = choose_styles(axes, n_curves if separate else 1)
            if not separate:
                looks = [{**looks[0], "alpha": 0.5}] * n_curves
            self.lines_, self.bands_, self.ref_lines_ = [], [], []
            for k, curve in enumerate(self.curves):
                default = {"linewidth": 2, "label": labels[k], **looks[k]}
                if len(curve.thresholds) == 1:  # no line has one point
                    default["marker"] = "o"
                values = getattr(curve, self._field) / units[k]
                self.lines_ += axes.plot(
                    curve.thresholds, values, **merge_style(default, styles[k], Line2D)
                )
            for k, band in enumerate(self.bands or []):
                if band is not None:
                    ends = [np.asarray(end) / units[k] for end in band]
                    self._draw_band(axes, k, ends, band_kwargs)
            for curve, size in zip(self.curves, units, strict=True):
                for line in self._list_lines(curve, size):
                    self._draw_line(axes, *line, looks[0].get("alpha"), ref_line_kwargs)
            keep_shown(self.lines_, quantities, label)
            info = "" if label is None or has_labels(axes) else f" ({label})"
            places = np.concatenate([line.get_xdata() for line in axes.lines])
            margin = _MARGIN if np.ptp(places) else _ROOM
            ends = max(places.min() - margin, 0.0), min(places.max() + margin, 1.0)
            axes.set(xlabel=f"{place}{info}", ylabel=y_label, xlim=ends)
            break_labels(axes)
            # Rare events have small values, whose many zeros would push the label off the figure.
            axes.ticklabel_format(axis="y", scilimits=_PLAIN)
            self._finish(axes)
            if despine:
                axes.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _check(self):
        curves, kind = self.curves, self._Curve.__name__
        if not isinstance(curves, list | tuple) or not curves:
            raise ValueError(f"curves must be a list of one {kind} at least; got {curves!r}.")
        for curve in curves:
            if not isinstance(curve, self._Curve):
                raise ValueError(
                    f"curves must be a list of {kind}; got a {type(curve).__name__} in it."
                )
        check_lengths(len(curves), bands=self.bands, effective_rows=self.effective_rows)

    def _draw_band(self, ax, k, ends, style):
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import to_rgba

        color, style = take_color(self.lines_[k], style)
        share = max(0.25 / len(self.curves), 0.08)
        thresholds = self.curves[k].thresholds
        if len(thresholds) == 1:  # no area has one point
            thresholds = thresholds + np.array([-_BAR, _BAR])
            ends, share = np.repeat(ends, 2, axis=1), 2 * share
        default = {"facecolor": to_rgba(color, share), "edgecolor": "none", "zorder": 1.5}
        if self.confidence_level is not None:
            label = f"{100 * self.confidence_level:g} % band (all thresholds at once)"
            is_first = all(area.get_label() != label for area in ax.collections)
            default["label"] = label if is_first else None
        look = merge_style(default, style, PolyCollection)
        self.bands_.append(ax.fill_between(thresholds, *ends, **look))

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


def _check_model(y_true, y_proba, data):
    """Checked predictions of one model; a table of those of several models gets advice."""
    try:
        return check_predictions(y_true, y_proba, **data)
    except ValueError as error:
        names = list_column_names(y_proba)
        if not names or "must sum to 1" not in str(error):
            raise
        shown = ", ".join(f"{name!r}: ..." for name in names[:2])
        raise ValueError(
            f"{error} If its columns are models, pass a dictionary, {{{shown}}}."
        ) from None
