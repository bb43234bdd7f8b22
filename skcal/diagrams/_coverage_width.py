"""Coverage of prediction intervals against their width, a point for each model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skcal._input._predicted._estimators import check_response, predict_response
from skcal._input._predicted._response_rows import check_values, read_intervals
from skcal._input._validation import (
    check_confidence_level,
    check_integer,
    check_rng,
    check_sample_weight,
)
from skcal._numerics.curves._uniform_bands import bound_shares, bound_weighted_shares
from skcal._tools._progress import read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.diagrams._curves_display import name_models
from skcal.diagrams._drawing import style_band
from skcal.diagrams._entries import check_shown, keep_shown
from skcal.diagrams._figure import open_figure
from skcal.diagrams._legend import find_effective_rows
from skcal.diagrams._model_points import (
    check_points,
    draw_points,
    finish_points,
    label_points,
    list_places,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import GREY, check_look, merge_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_X_LABEL, _Y_LABEL = "Mean width of the intervals", "Coverage"
# Room beside the points, in parts of the range that they span; and the range of a single width, in
# parts of it.
_ROOM, _SINGLE = 0.2, 0.5
# How the line of the level and its band are found again.
_LEVEL_ID, _BAND_ID = "skcal level", "skcal level band"


class CoverageWidthDisplay(ShownInNotebooks):
    """Coverage of prediction intervals against their mean width, a point for each model.

    Of the models that cover their level the one farthest to the left says most. The band tells how
    far a coverage may lie from the level by chance.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    coverage : ndarray of shape (n_models,)
        Share of the targets in their intervals.
    width : ndarray of shape (n_models,)
        Mean width of the intervals, which may be infinite.
    level : float
        Probability of the intervals.
    low, high : float, default=None
        Ends of the band. None draws none.
    confidence_level : float, default=None
        Level of the band, for the legend.
    name : str or list of str, default=None
        Name of each model for the legend.
    effective_rows : float, default=None
        Effective number of rows, for the legend, where weights differ.

    Attributes
    ----------
    points_ : list of matplotlib Artist
        A point for each model; one of infinite width is an arrow at the right edge.
    band_ : matplotlib Artist or None
        The band around the level.
    ref_line_ : matplotlib Artist
        Horizontal line at the level.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    IntervalCoverageDisplay : Coverage of one model by the width of its intervals or by a feature.
    skcal.regression.interval_score : Coverage and width in one number, a proper score.
    skcal.regression.interval_coverage : Coverage at several levels.

    Notes
    -----
    If the targets of all rows lie in their intervals with the probability `level`, independently,
    their number is binomial. The band reaches from one quantile of this distribution to another,
    with at most half of 1 - `confidence_level` beyond each. It holds for each model by itself: of
    20 models that are right, one is expected outside at 95 %. With weights the band is taken from
    draws.

    A model may cover its level on average, and too few targets where they are hard to predict: see
    :class:`IntervalCoverageDisplay`.

    Examples
    --------
    >>> from skcal.diagrams import CoverageWidthDisplay
    >>> y_true = [1.0, 2.0, 3.0, 9.0]
    >>> models = {"narrow": [[0, 1], [1, 2], [2, 3], [3, 4]], "wide": [[0, 9]] * 4}
    >>> display = CoverageWidthDisplay.from_predictions(y_true, models)
    >>> display.coverage, display.width
    (array([0.75, 1.  ]), array([1., 9.]))
    """

    points_: list[Artist]
    band_: Artist | None
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        coverage: np.ndarray,
        width: np.ndarray,
        level: float,
        low: float | None = None,
        high: float | None = None,
        confidence_level: float | None = None,
        name: str | list[str] | None = None,
        effective_rows: float | None = None,
    ) -> None:
        self.coverage = coverage
        self.width = width
        self.level = level
        self.low = low
        self.high = high
        self.confidence_level = confidence_level
        self.name = name
        self.effective_rows = effective_rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        response: str = "predict_interval",
        response_params: dict[str, Any] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the diagram of fitted regressors.

        Parameters
        ----------
        estimator : estimator instance or dict of estimator instances
            Fitted regressor that predicts intervals. A dictionary has several, by name.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that no regressor was fitted on.
        y : array-like of shape (n_samples,)
            True targets.
        response : str, default="predict_interval"
            Name of the method that returns low and high in two columns.
        response_params : dict, default=None
            Keyword arguments of that method.
        name : str, default=None
            Name of a single regressor for the legend. None takes the name of its class.
        **options : dict
            Keyword arguments of :meth:`from_predictions`.

        Returns
        -------
        CoverageWidthDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import LinearRegression
        >>> from skcal.diagrams import CoverageWidthDisplay
        >>> from skcal.regression import RecalibratedRegressorCV
        >>> X, y = load_diabetes(return_X_y=True)
        >>> models = {
        ...     "one feature": RecalibratedRegressorCV(LinearRegression()).fit(X[::2, 2:3], y[::2])
        ... }
        >>> display = CoverageWidthDisplay.from_estimator(models, X[1::2, 2:3], y[1::2])
        >>> display.ax_.get_ylabel()
        'Coverage'
        """
        check_response(response, response_params)
        models = name_models(estimator, name, "estimator", type(estimator).__name__)
        y_interval = {
            key: predict_response(model, X, response, response_params)
            for key, model in models.items()
        }
        return cls.from_predictions(y, y_interval, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_interval: ArrayLike | Mapping[str, ArrayLike],
        *,
        level: float = 0.9,
        sample_weight: ArrayLike | None = None,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        progress: bool | Callable[..., Any] | None = None,
        random_state: RandomState = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given intervals.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, real numbers.
        y_interval : array-like of shape (n_samples, 2), or dict of array-like
            Lower and upper ends, which may be infinite; or those of several models, by name.
        level : float, default=0.9
            Probability of the intervals, strictly between 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        confidence_level : float, default=0.95
            Level of the band, in (0, 1).
        n_resamples : int, default=999
            Number of draws, where the band needs some.
        progress : bool or callable, default=None
            A progress bar over these draws: True for a tqdm bar (tqdm must be installed), or a
            function that takes an iterable and returns one, such as ``tqdm.tqdm``.
        random_state : int, RandomState, Generator or None, default=None
            Source of these draws.
        name : str, default=None
            Name of a single model for the legend. None takes "Regressor".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        CoverageWidthDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from skcal.diagrams import CoverageWidthDisplay
        >>> display = CoverageWidthDisplay.from_predictions(
        ...     [1.0, 2.0, 9.0], [[0, 2], [1, 3], [2, 8]], level=0.8
        ... )
        >>> display.points_[0].get_label()
        'Regressor'
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        confidence_level = check_confidence_level(confidence_level)
        n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
        rng, show = check_rng(random_state), read_progress(progress)
        models = name_models(y_interval, name, "y_interval", "Regressor")
        targets = check_values("y_true", y_true)
        weights = check_sample_weight(sample_weight, len(targets))
        ends = [read_intervals(targets, one, level)[1] for one in models.values()]
        if weights is not None:
            kept = weights > 0
            targets, weights = targets[kept], weights[kept]
            ends = [(low[kept], high[kept]) for low, high in ends]
        if weights is None:
            low, high = bound_shares(np.array([len(targets)]), level, confidence_level)
        else:
            one_bin = np.zeros(len(targets), dtype=np.intp)
            low, high = bound_weighted_shares(
                one_bin, weights, level, confidence_level, rng, n_resamples, show
            )
        is_covered = [(lower <= targets) & (targets <= upper) for lower, upper in ends]
        return cls(
            coverage=np.array([np.average(one, weights=weights) for one in is_covered]),
            width=np.array([_average_width(lower, upper, weights) for lower, upper in ends]),
            level=float(level),
            low=float(low[0]),
            high=float(high[0]),
            confidence_level=confidence_level,
            name=list(models),
            effective_rows=find_effective_rows(weights),
        ).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        point_kwargs: dict[str, Any] | list[dict[str, Any]] | None = None,
        band_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on, such as those of other models. None creates a new figure and axes.
        name : str or list of str, default=None
            Name of each model for the legend. None takes those of the display.
        point_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the points, of all models or of each.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the band around the level.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axhline` for the level.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_look(band_kwargs=band_kwargs, ref_line_kwargs=ref_line_kwargs, despine=despine)
        n_models = check_points(coverage=self.coverage, width=self.width)
        name = self.name if name is None else name
        labels, styles = label_points(n_models, name, point_kwargs, [], self.effective_rows)
        quantities = _X_LABEL, f"{_Y_LABEL} of intervals of {100 * self.level:g} %"
        with open_figure(ax) as (axes,):
            check_shown(axes, quantities)
            if ax is None:  # the legend stands above
                axes.figure.set_layout_engine("constrained")
            self.points_ = draw_points(axes, self.width, self.coverage, labels, styles)
            keep_shown(self.points_, quantities)
            self.ref_line_ = self._draw_level(axes, ref_line_kwargs)
            self.band_ = self._draw_band(axes, band_kwargs)
            axes.set(xlabel=_X_LABEL, ylabel=_Y_LABEL)
            _set_limits(axes)
            finish_points(axes, despine=despine)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_level(self, ax, style):
        from matplotlib.lines import Line2D

        for line in ax.lines:
            if line.get_gid() == _LEVEL_ID:
                return line
        look = {"color": ax.spines["bottom"].get_edgecolor(), "linewidth": 0.8, "linestyle": ":"}
        look |= {"zorder": 1.9, "label": f"Level: {100 * self.level:g} %", "gid": _LEVEL_ID}
        return ax.axhline(self.level, **merge_style(look, style, Line2D))

    def _draw_band(self, ax, style):
        """The band; one that the axes have already is not repeated."""
        from matplotlib.collections import PolyCollection

        if self.low is None or self.high is None:
            return None
        for area in ax.collections:
            if area.get_gid() == _BAND_ID and area.skcal_ends == (self.low, self.high):
                return area
        share = f"{100 * self.confidence_level:g} %" if self.confidence_level else "Band"
        words = f"{share} of models that cover {100 * self.level:g} %, each by itself"
        look = {"label": words, "gid": _BAND_ID, "transform": ax.get_yaxis_transform()}
        look = merge_style(style_band(ax, GREY) | look, style, PolyCollection)
        area = ax.fill_between([0, 1], self.low, self.high, **look)
        area.skcal_ends = self.low, self.high
        return area


def _average_width(low, high, weights):
    """Mean width, infinite where that of some row is."""
    width = np.full(len(low), np.inf)
    is_finite = np.isfinite(low) & np.isfinite(high)
    with np.errstate(over="ignore"):  # which is infinite, too
        width[is_finite] = high[is_finite] - low[is_finite]
        return np.average(width, weights=weights)


def _set_limits(ax):
    x, y = list_places(ax)
    bands = [area.skcal_ends for area in ax.collections if area.get_gid() == _BAND_ID]
    levels = [line.get_ydata()[0] for line in ax.lines if line.get_gid() == _LEVEL_ID]
    y = np.concatenate([y, levels, *bands])
    room = _ROOM * (np.ptp(y) or 1.0)
    ax.set_ylim(max(y.min() - room, 0.0), min(y.max() + room, 1.0))
    x = x if len(x) else np.zeros(1)  # no width is negative
    room = _ROOM * (np.ptp(x) or _SINGLE * x.max() or 1.0)
    ax.set_xlim(max(x.min() - room, 0.0), x.max() + room)
