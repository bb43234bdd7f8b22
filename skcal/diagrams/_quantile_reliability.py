"""Reliability diagram of predicted quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._predicted._estimators import check_response, predict_response
from skcal._input._predicted._points import check_levels, read_quantiles
from skcal._input._predicted._response_rows import check_values
from skcal._input._validation import (
    check_confidence_level,
    check_flag,
    check_option,
    check_sample_weight,
)
from skcal._numerics.curves._uniform_bands import bound_curve
from skcal._tools._typing import ArrayLike
from skcal.diagrams._curves_display import keep_names, name_models
from skcal.diagrams._entries import check_shown, keep_shown
from skcal.diagrams._figure import open_figure
from skcal.diagrams._legend import find_effective_rows, read_names
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._quantile_coverage import COVERED, draw_coverage, split_models
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import check_look, choose_styles, merge_style
from skcal.diagrams._value_axes import draw_value_diagonal, finish_values
from skcal.metrics import CORPDecomposition
from skcal.regression import FunctionalCurve, corp_regression_curve, corp_regression_decomposition

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

# The legend of more levels stands beside the axes, where these are a figure of their own, whose
# size in inches leaves room for both.
_MOST_ABOVE, _SIZE_BESIDE = 3, (7.8, 4.6)
# More levels of a model have no line each.
_MOST_LINES = 10
_KINDS = "auto", "curves", "coverage"
_QUANTITIES = "Predicted quantile", "Quantile of the targets"


class QuantileReliabilityDisplay(ShownInNotebooks):
    r"""Reliability diagram of predicted quantiles, by isotonic regression (CORP).

    Each level has a curve: for a prediction, the quantile of the targets of the rows with that
    prediction. On the diagonal quantiles are calibrated. There are no bins, and nothing to tune.
    More than ten levels have one line for all: the share of the targets up to the predicted
    quantiles against their level.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    curves : list of FunctionalCurve
        Curves, see :func:`skcal.regression.corp_regression_curve`.
    quantiles : list of float
        Level of each curve.
    decompositions : list of CORPDecomposition, default=None
        Terms of the pinball loss of each level, for the legend.
    effective_rows : float, default=None
        Effective number of rows, for the title of the legend; None where weights do not differ.
    name : str or list of str, default=None
        Name of the model for the legend, or one for each curve.
    shares : list of float, default=None
        Share of the targets up to the predicted quantiles, for each curve.
    coverage_width : float, default=None
        Half of the width of the band around the levels. None draws none.
    confidence_level : float, default=None
        Level of this band, for the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Artists
        The curves.
    band_ : matplotlib Artist or None
        The band of shares.
    ref_line_ : matplotlib Artist
        The diagonal.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.regression.corp_regression_decomposition : The numbers of the legend.
    skcal.regression.quantile_calibration_error : Calibration of all rows together.
    PITDisplay : Calibration at all levels, of all rows together.

    Notes
    -----
    The legend has the miscalibration (MCB) and the discrimination (DSC) of the pinball loss [1]_.
    Where rows are few the curve is far from the diagonal by chance, at its ends above all.

    The shares look at all rows together, as
    :func:`~skcal.regression.quantile_calibration_error` does. If quantiles are calibrated and rows
    independent, all shares lie in the band with at least the probability `confidence_level`, by
    Kolmogorov's law [2]_; with weights this holds approximately, for the effective number of rows.
    Targets that tie with their quantiles raise the shares.

    References
    ----------
    .. [1] T. Gneiting, J. Resin (2023). Regression diagnostics meets forecast evaluation:
       conditional calibration, reliability diagrams, and coefficient of determination. Electronic
       Journal of Statistics 17. :doi:`10.1214/23-EJS2180`
    .. [2] G. Marsaglia, W. W. Tsang, J. Wang (2003). Evaluating Kolmogorov's distribution. Journal
       of Statistical Software 8. :doi:`10.18637/jss.v008.i18`

    Examples
    --------
    >>> from skcal.diagrams import QuantileReliabilityDisplay
    >>> display = QuantileReliabilityDisplay.from_predictions(
    ...     [1.0, 3.0, 2.0, 6.0], [0.0, 1.0, 2.0, 3.0], quantiles=0.5
    ... )
    >>> display.lines_[0].get_label()
    'Level 0.5 (MCB = 0.625, DSC = 0.625)'
    """

    lines_: list[Artist]
    band_: Artist | None
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        curves: list[FunctionalCurve],
        quantiles: list[float],
        decompositions: list[CORPDecomposition] | None = None,
        effective_rows: float | None = None,
        name: str | list[str] | None = None,
        shares: list[float] | None = None,
        coverage_width: float | None = None,
        confidence_level: float | None = None,
    ) -> None:
        self.curves = curves
        self.quantiles = quantiles
        self.decompositions = decompositions
        self.effective_rows = effective_rows
        self.name = name
        self.shares = shares
        self.coverage_width = coverage_width
        self.confidence_level = confidence_level

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        quantiles: ArrayLike,
        response: str = "predict",
        response_params: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Draw the diagram of a fitted regressor.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor that predicts quantiles.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the regressor was not fitted on.
        y : array-like of shape (n_samples,)
            True targets.
        quantiles : array-like of shape (n_levels,)
            Level of each predicted column, or one number.
        response : str, default="predict"
            Name of the method that returns the quantiles, such as "predict_quantiles".
        response_params : dict, default=None
            Keyword arguments of that method.
        **options : dict
            Keyword arguments of :meth:`from_predictions`.

        Returns
        -------
        QuantileReliabilityDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import QuantileRegressor
        >>> from skcal.diagrams import QuantileReliabilityDisplay
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = QuantileRegressor(quantile=0.9, alpha=0).fit(X[::2], y[::2])
        >>> display = QuantileReliabilityDisplay.from_estimator(
        ...     model, X[1::2], y[1::2], quantiles=0.9
        ... )
        """
        check_response(response, response_params)
        y_quantiles = predict_response(estimator, X, response, response_params)
        return cls.from_predictions(y, y_quantiles, quantiles=quantiles, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_quantiles: ArrayLike | Mapping[str, ArrayLike],
        *,
        quantiles: ArrayLike,
        sample_weight: ArrayLike | None = None,
        confidence_level: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given quantiles.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, real numbers.
        y_quantiles : array-like of shape (n_samples, n_levels) or (n_samples,), or dict
            Predicted quantiles, one column for each level; or those of several models by name.
            Infinite ones, such as conformal
            methods give where rows are few, have no place in the diagram, but count as the largest
            or smallest of all; their loss and miscalibration are infinite.
        quantiles : array-like of shape (n_levels,)
            Level of every column, distinct and strictly between 0 and 1; or one number.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        confidence_level : float, default=0.95
            Level of the band of shares, in (0, 1).
        name : str, default=None
            Name of the model for the legend. None names the levels alone, and models by their keys.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        QuantileReliabilityDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import QuantileReliabilityDisplay
        >>> display = QuantileReliabilityDisplay.from_predictions(
        ...     [1.0, 3.0, 2.0], [[0.0, 2.0], [1.0, 4.0], [2.0, 4.0]], quantiles=[0.1, 0.9]
        ... )
        >>> len(display.curves)
        2
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        targets = check_values("y_true", y_true)
        levels = check_levels("quantiles", quantiles)
        weights = check_sample_weight(sample_weight, len(targets))
        confidence_level = check_confidence_level(confidence_level)
        found, names, shares = [], [], []
        for model, values in name_models(y_quantiles, name, "y_quantiles", None).items():
            columns = read_quantiles("y_quantiles", values, len(targets), levels)
            for column, level in zip(columns.T, levels.tolist(), strict=True):
                found.append(_compare_column(targets, column, level, weights))
                names.append(model)
                shares.append(float(np.average(targets <= column, weights=weights)))
        n_rows = find_effective_rows(weights)
        n_counted = len(targets) if weights is None else np.count_nonzero(weights)
        curves, decompositions = map(list, zip(*found, strict=True))
        display = cls(
            curves=curves,
            quantiles=levels.tolist() * (len(curves) // len(levels)),
            decompositions=decompositions,
            effective_rows=n_rows,
            name=keep_names(names, y_quantiles),
            shares=shares,
            coverage_width=bound_curve(round(n_rows or n_counted), confidence_level),
            confidence_level=confidence_level,
        )
        return display.plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        kind: Literal["auto", "curves", "coverage"] = "auto",
        curve_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        name : str or list of str, default=None
            Name for the legend, or one for each curve. None takes that of the display.
        kind : {"auto", "curves", "coverage"}, default="auto"
            "curves" draws that of each level, "coverage" the shares of the targets against the
            levels. "auto" is the latter where a model has more than ten levels.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_flag("despine", despine)
        check_option("kind", kind, _KINDS)
        check_look(curve_kwargs=curve_kwargs, ref_line_kwargs=ref_line_kwargs)
        n_curves = len(self.curves)
        names = read_names(self.name if name is None else name, n_curves)
        names = names * n_curves if len(names) == 1 else names
        title = None
        if self.effective_rows is not None:
            title = f"Effective rows: {self.effective_rows:,.0f}"
        if kind == "auto":
            most = max(map(len, split_models(self.quantiles)))
            kind = "coverage" if self.shares is not None and most > _MOST_LINES else "curves"
        if kind == "coverage" and self.shares is None:
            raise ValueError("kind must be 'curves' for a display without shares; got 'coverage'.")
        quantities = COVERED if kind == "coverage" else _QUANTITIES
        with open_figure(ax, square=kind == "coverage") as (axes,):
            check_shown(axes, quantities)
            if kind == "coverage":
                looks = curve_kwargs, ref_line_kwargs
                draw_coverage(self, axes, names, looks, despine=despine, title=title)
            else:
                self._draw_curves(axes, names, curve_kwargs, ref_line_kwargs)
                self._finish_curves(axes, title, despine=despine, is_own=ax is None)
            keep_shown(self.lines_, quantities)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_curves(self, axes, names, curve_style, ref_line_style):
        from matplotlib.lines import Line2D

        self.lines_, self.band_ = [], None
        styles = choose_styles(axes, len(self.curves))
        for number, (curve, style) in enumerate(zip(self.curves, styles, strict=True)):
            look = style | {"label": self._label(number, names[number])}
            if len(curve.y_pred) == 1:  # no line has one point
                look["marker"] = "o"
            look = merge_style(look, curve_style, Line2D)
            self.lines_ += axes.plot(curve.y_pred, curve.y_recalibrated, **look)
        shown = np.concatenate([curve.y_pred for curve in self.curves])
        shown = shown if len(shown) else np.zeros(1)  # all are infinite
        ends = [float(shown.min()), float(shown.max())]
        self.ref_line_ = draw_value_diagonal(axes, ends, ref_line_style)

    def _finish_curves(self, axes, title, *, despine, is_own):
        are_many = len(self.curves) > _MOST_ABOVE
        finish_values(axes, _QUANTITIES, despine=despine, legend=not are_many, title=title)
        if are_many and not is_own:  # which have no room for so long a legend
            self._label_lines(axes)
        elif are_many:
            axes.figure.set(layout_engine="compressed", size_inches=_SIZE_BESIDE)
            look = {"fontsize": "small", "frameon": False, "title": title}
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), **look)

    def _label_lines(self, axes):
        """The levels of lines where they end: both outer ones, and others that do not touch."""
        pairs = zip(self.quantiles, self.lines_, strict=True)
        lines = [pair for pair in pairs if len(pair[1].get_xdata())]
        lines.sort(key=itemgetter(0))
        boxes = []
        for level, line in [*lines[:1], *lines[:0:-1]]:
            place = line.get_xdata()[-1], line.get_ydata()[-1]
            look = {"fontsize": "x-small", "color": line.get_color(), "va": "bottom"}
            text = axes.annotate(f"{level:g}", place, ha="center", **look)
            boxes.append(text.get_window_extent())
            if any(box.overlaps(boxes[-1]) for box in boxes[:-1]):
                text.remove()
                boxes.pop()

    def _label(self, number, name):
        label = f"Level {self.quantiles[number]:g}"
        if name is not None:
            label = f"{name}, {label[0].lower()}{label[1:]}"
        if self.decompositions is None:
            return label
        parts = self.decompositions[number]
        return f"{label} (MCB = {parts.miscalibration:.3g}, DSC = {parts.discrimination:.3g})"


def _compare_column(targets, column, level, weights):
    """Curve and decomposition of predicted quantiles of one level.

    Isotonic regression looks at the order of predictions alone, in which infinite ones come first
    or last.
    """
    rows = {"functional": "quantile", "level": level, "sample_weight": weights}
    is_finite = np.isfinite(column)
    if is_finite.all():
        curve = corp_regression_curve(targets, column, **rows)
        return curve, corp_regression_decomposition(targets, column, **rows)
    finite = column[is_finite] if is_finite.any() else np.zeros(1)
    ends = np.nextafter(finite.min(), -np.inf), np.nextafter(finite.max(), np.inf)
    replaced = np.clip(column, *ends)
    curve = corp_regression_curve(targets, replaced, **rows)
    parts = corp_regression_decomposition(targets, replaced, **rows)
    shown = (curve.y_pred > ends[0]) & (curve.y_pred < ends[1])
    if weights is None or (weights[~is_finite] > 0).any():
        parts = parts._replace(score=np.inf, miscalibration=np.inf)
    return FunctionalCurve(curve.y_pred[shown], curve.y_recalibrated[shown]), parts
