"""Coverage of prediction intervals among rows that are alike: by width, or by a feature."""

from __future__ import annotations

from collections.abc import Callable
from reprlib import repr as shorten
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._predicted._estimators import check_response, predict_response
from skcal._input._predicted._response_rows import check_values, read_intervals
from skcal._input._validation import (
    check_confidence_level,
    check_flag,
    check_integer,
    check_n_bins,
    check_rng,
    check_sample_weight,
)
from skcal._numerics.curves._uniform_bands import bound_shares, bound_weighted_shares
from skcal._numerics.errors._binned import bin_index, count_bins, quantile_edges
from skcal._tools._arrays import list_column_names, read_numbers
from skcal._tools._progress import read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.diagrams._entries import draw_above, write_apart
from skcal.diagrams._figure import open_figure, shorten_name
from skcal.diagrams._legend import check_lengths, label_curves, list_names
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import GREY, check_look, choose_styles, make_transparent, merge_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

# What makes the groups.
_WIDTH = "Width of the interval"
_SAME_WIDTH = f"{_WIDTH}: the same for all rows.\nby= tells coverage by other values"
# Names of more groups, or of more letters in all, are written upwards.
_MOST_LEVEL_NAMES, _MOST_LETTERS = 6, 60
# Points of one display stand so far to the right of those of the one before.
_STEP = 0.12
# Widths that differ by less than this many last digits of the ends differ by rounding.
_ROUNDING = 8
# How points and bars are found again.
_POINTS_ID, _BARS_ID = "skcal coverage", "skcal coverage bars"


class IntervalCoverageDisplay(ShownInNotebooks):
    r"""Coverage of prediction intervals by their width or by a feature.

    Each group of rows has a point: the share of its targets that their intervals hold. Intervals
    may cover their level on average, and too few targets where they are narrow, or for some kind of
    rows. The bars hold all points at once if intervals cover their level in every group.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    groups : list of str
        Names of the groups, of bins their mean value.
    coverage : ndarray of shape (n_groups,)
        Share of the targets in their intervals.
    n_rows : ndarray of shape (n_groups,)
        Number of rows of each group.
    level : float
        Probability of the intervals.
    low, high : ndarray of shape (n_groups,), default=None
        Ends of the bars. None draws none.
    confidence_level : float, default=None
        Level of the bars, for the legend.
    by_name : str, default=None
        What makes the groups, for the axis.
    name : str, default=None
        Name of the model for the legend.

    Attributes
    ----------
    points_ : matplotlib Artist
        The points.
    bars_ : matplotlib Artist or None
        The bars.
    ref_line_ : matplotlib Artist
        Horizontal line at the level.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.regression.interval_coverage : Coverage of all rows together, at several levels.
    skcal.inference.audit_groups : Many groups, also overlapping ones, of what is covered or not.
    skcal.regression.ConformalInterval : Intervals whose coverage is guaranteed on average.

    Notes
    -----
    Coverage by width is the size-stratified coverage of [1]_. Bins hold about as many rows each,
    and rows with equal values share a bin.

    If the targets of all rows lie in their intervals with the probability `level`, independently,
    the counts of the groups are binomial. A bar reaches from one quantile of this distribution to
    another; the tails outside are small enough that with at least the probability
    `confidence_level` all points lie on their bars, at every sample size. With weights the bars
    are taken from draws. The intervals of discrete distributions may cover more than their level,
    those of :class:`~skcal.regression.ConformalInterval` do so on average over the rows that
    they were fitted on: with few of them all points may be higher, or lower.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, J. Malik, M. I. Jordan (2021). Uncertainty sets for image
       classifiers using conformal prediction. ICLR 9. :doi:`10.48550/arXiv.2009.14193`

    Examples
    --------
    >>> from skcal.diagrams import IntervalCoverageDisplay
    >>> y_true, y_interval = [1.0, 2.0, 3.0, 9.0], [[0, 2], [1, 3], [2, 8], [3, 8]]
    >>> display = IntervalCoverageDisplay.from_predictions(y_true, y_interval, n_bins=2)
    >>> display.groups, display.coverage
    (['2', '5.5'], array([1. , 0.5]))
    """

    points_: Artist
    bars_: Artist | None
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        groups: list[str],
        coverage: np.ndarray,
        n_rows: np.ndarray,
        level: float,
        low: np.ndarray | None = None,
        high: np.ndarray | None = None,
        confidence_level: float | None = None,
        by_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self.groups = groups
        self.coverage = coverage
        self.n_rows = n_rows
        self.level = level
        self.low = low
        self.high = high
        self.confidence_level = confidence_level
        self.by_name = by_name
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        by: int | str | ArrayLike | None = None,
        response: str = "predict_interval",
        response_params: dict[str, Any] | None = None,
        by_name: str | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the diagram of a fitted regressor.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor that predicts intervals.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the regressor was not fitted on.
        y : array-like of shape (n_samples,)
            True targets.
        by : int, str or array-like of shape (n_samples,), default=None
            Place or name of a column of X that makes the groups, or values of another one. None
            takes the width of the intervals.
        response : str, default="predict_interval"
            Name of the method that returns low and high in two columns.
        response_params : dict, default=None
            Keyword arguments of that method.
        by_name : str, default=None
            What makes the groups, for the axis. None takes the name of the column.
        name : str, default=None
            Name for the legend. None takes the name of the class.
        **options : dict
            Keyword arguments of :meth:`from_predictions`.

        Returns
        -------
        IntervalCoverageDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skcal.diagrams import IntervalCoverageDisplay
        >>> from skcal.regression import RecalibratedRegressorCV
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = RecalibratedRegressorCV().fit(X[::2], y[::2])
        >>> display = IntervalCoverageDisplay.from_estimator(
        ...     model, X[1::2], y[1::2], by="bmi", n_bins=4
        ... )
        >>> len(display.coverage)
        4
        """
        check_response(response, response_params)
        y_interval = predict_response(estimator, X, response, response_params)
        if isinstance(by, str | int):
            by_name = by_name or (by if isinstance(by, str) else f"Feature {by}")
            by = _take_column(X, by)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, y_interval, by=by, by_name=by_name, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_interval: ArrayLike,
        *,
        level: float = 0.9,
        by: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int | Literal["cube_root"] = 10,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        progress: bool | Callable[..., Any] | None = None,
        random_state: RandomState = None,
        by_name: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given intervals.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, real numbers.
        y_interval : array-like of shape (n_samples, 2)
            Lower and upper ends, which may be infinite.
        level : float, default=0.9
            Probability of the intervals, strictly between 0 and 1.
        by : array-like of shape (n_samples,), default=None
            What makes the groups: finite numbers, which are binned, or names of groups. None
            takes the width of the intervals.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        n_bins : int or "cube_root", default=10
            Number of bins of equally many rows, at most 2^24, or "cube_root", see
            :func:`skcal.metrics.expected_calibration_error`.
        confidence_level : float, default=0.95
            Level of the bars, in (0, 1).
        n_resamples : int, default=999
            Number of draws, where the bars need some.
        progress : bool or callable, default=None
            A progress bar over these draws: True for a tqdm bar (tqdm must be installed), or a
            function that takes an iterable and returns one, such as ``tqdm.tqdm``.
        random_state : int, RandomState, Generator or None, default=None
            Source of these draws.
        by_name : str, default=None
            What makes the groups, for the axis. None takes "Width of the interval", and
            says so where all widths are the same, or "Group".
        name : str, default=None
            Name for the legend. None takes "Regressor".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        IntervalCoverageDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import IntervalCoverageDisplay
        >>> display = IntervalCoverageDisplay.from_predictions(
        ...     [1.0, 2.0, 9.0], [[0, 2], [1, 3], [2, 8]], by=["b", "a", "b"]
        ... )
        >>> display.groups, display.coverage
        (['a', 'b'], array([1. , 0.5]))
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        n_bins = check_n_bins(n_bins)
        confidence_level = check_confidence_level(confidence_level)
        n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
        rng, show = check_rng(random_state), read_progress(progress)
        targets = check_values("y_true", y_true)
        weights = check_sample_weight(sample_weight, len(targets))
        level, bounds = read_intervals(targets, y_interval, level)
        is_covered = (bounds[0] <= targets) & (targets <= bounds[1])
        if by_name is None:
            by_name = _WIDTH if by is None else "Group"
        if by is None:
            low, high = bounds
            kind = read_numbers("y_interval", y_interval).dtype
            values = _measure_widths(low, high, _find_resolution(kind))
            if (
                values == values[0]
            ).all():  # coverage of all rows together hides where it is too low
                by_name = _SAME_WIDTH if by_name == _WIDTH else by_name
        else:
            values = _read_groups(by, len(targets))
        if weights is not None:
            counts = weights > 0
            is_covered, values, weights = is_covered[counts], values[counts], weights[counts]
        groups, place = _make_groups(values, n_bins)
        n_rows = np.bincount(place)
        mass = np.ones(len(place)) if weights is None else weights.astype(np.float64)
        coverage = np.bincount(place, np.where(is_covered, mass, 0.0)) / np.bincount(place, mass)
        if weights is None:
            low, high = bound_shares(n_rows, level, confidence_level)
        else:
            low, high = bound_weighted_shares(
                place, weights, level, confidence_level, rng, n_resamples, show
            )
        return cls(
            groups=groups,
            coverage=coverage,
            n_rows=n_rows,
            level=level,
            low=low,
            high=high,
            confidence_level=confidence_level,
            by_name=by_name,
            name="Regressor" if name is None else name,
        ).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        point_kwargs: dict[str, Any] | None = None,
        bar_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        name : str, default=None
            Name for the legend. None takes the name of the display.
        point_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the points.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `vlines` for the bars.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axhline` for the level.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        check_flag("despine", despine)
        check_look(
            point_kwargs=point_kwargs, bar_kwargs=bar_kwargs, ref_line_kwargs=ref_line_kwargs
        )
        names = list_names(self.name if name is None else name)
        check_lengths(1, name=names)
        (label,) = label_curves(names, [], 1, separate=True)
        with open_figure(ax) as (axes,):
            if ax is None:  # names of groups may be long, and are written upwards
                axes.figure.set_layout_engine("constrained")
            offset = _STEP * self._count_others(axes)
            places = np.arange(len(self.groups)) + offset
            look = {"color": axes.spines["bottom"].get_edgecolor(), "linewidth": 0.8}
            look |= {"linestyle": ":", "zorder": 1.9, "label": "_level"}
            look = merge_style(look, ref_line_kwargs, Line2D)
            self.ref_line_ = axes.axhline(self.level, **look)
            color = choose_styles(axes, 1)[0]["color"]
            self.bars_ = None
            if self.low is not None and self.high is not None:
                share = f"{100 * self.confidence_level:g} %" if self.confidence_level else "Bars"
                look = {"color": make_transparent(axes, GREY), "linewidth": 8, "zorder": 2}
                words = f"{share} if all cover {100 * self.level:g} %"
                others = [bar for bar in axes.collections if bar.get_gid() == _BARS_ID]
                alike = [bar for bar in others if bar.get_label() == words]
                if alike:
                    look["color"] = alike[0].get_color()
                elif others:  # bars of another level, for these points
                    look["color"] = make_transparent(axes, color)
                look |= {"label": None if alike else words, "gid": _BARS_ID}
                look = merge_style(look, bar_kwargs, LineCollection)
                self.bars_ = axes.vlines(places, self.low, self.high, **look)
            look = {"color": color, "marker": "o"}
            look |= {"linestyle": "none", "label": label, "zorder": 2.5, "gid": _POINTS_ID}
            look = merge_style(look, point_kwargs, Line2D)
            (self.points_,) = axes.plot(places, self.coverage, **look)
            names = list(map(shorten_name, self.groups))
            longest = max(map(len, names))
            many = len(names) > _MOST_LEVEL_NAMES or len(names) * longest > _MOST_LETTERS
            axes.set_xticks(
                np.arange(len(places)),
                names,
                rotation=45 if many else 0,
                ha="right" if many else "center",
                rotation_mode="anchor",
                parse_math=False,
            )
            # Names of columns are no formulas.
            axes.set_xlabel(self.by_name, parse_math=False)
            axes.set(ylabel="Coverage", xlim=(-0.6, len(places) - 0.4 + offset))
            draw_above(axes)
            if despine:
                axes.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _count_others(self, axes):
        """Displays of the same groups that the axes show already."""
        others = sum(line.get_gid() == _POINTS_ID for line in axes.lines)
        if others:
            shown = [text.get_text() for text in axes.get_xticklabels()]
            if shown != list(map(shorten_name, self.groups)):
                raise ValueError(
                    "ax must be empty, or show the same groups; got axes with the groups "
                    f"{shorten(shown)} for {shorten(self.groups)}. Name groups with by=, or use "
                    "other axes."
                )
        return others


def _take_column(X, by):
    """Column of X of this place or name."""
    names = list_column_names(X)
    places = range(np.shape(X)[1]) if names is None else range(len(names))
    if by not in places and (names is None or by not in names):
        raise ValueError(
            "by must be the name of a column of X, its place, or values of all rows; got "
            f"{by!r}. X has {'no names' if names is None else names}."
        )
    return np.asarray(X)[:, by] if names is None else X[by if by in names else names[by]]


def _read_groups(by, n_samples):
    """Numbers, or names as strings; one for each row."""
    values = np.asarray(by)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise ValueError(
            f"by must have shape ({n_samples},), a value for each target; got {values.shape}."
        )
    if values.dtype.kind == "b":
        return values.astype(str)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return values.astype(str)
    return check_values("by", numbers)


def _find_resolution(kind):
    """Relative distance of numbers of a type; whole ones are computed with as float64."""
    return np.finfo(np.result_type(kind, np.float32)).eps


def _measure_widths(low, high, resolution):
    """Widths of intervals; those that differ by the rounding of the ends alone are made the same.

    A longer chain of such neighbours is left as it is: its ends do differ.
    """
    widths = np.full(len(low), np.inf)
    is_finite = np.isfinite(low) & np.isfinite(high)
    widths[is_finite] = _merge_widths(low[is_finite], high[is_finite], resolution)
    return widths


def _merge_widths(low, high, resolution):
    widths = high - low
    order = np.argsort(widths)
    reach = _ROUNDING * resolution * np.maximum(abs(low), abs(high))[order]
    ordered = widths[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > reach)
    counts = np.diff(starts, append=len(ordered))
    first, last = (np.repeat(ordered[k], counts) for k in (starts, starts + counts - 1))
    widths[order] = np.where(last - first <= reach, first, ordered)
    return widths


def _make_groups(values, n_bins):
    """Names of the groups, and the place of the group of each row among them."""
    if values.dtype.kind == "U":
        names, place = np.unique(values, return_inverse=True)
        return names.tolist(), place
    is_infinite = np.isinf(values)  # widths, which have a group of their own
    if is_infinite.any():
        names, place = [], np.zeros(len(values), dtype=np.intp)
        if not is_infinite.all():
            names, place[~is_infinite] = _make_groups(values[~is_infinite], n_bins)
        place[is_infinite] = len(names)
        return [*names, "inf"], place
    distinct, counts = np.unique(values, return_counts=True)
    edges = quantile_edges(distinct, counts, count_bins(n_bins, len(values)))
    _, place = np.unique(bin_index(values, edges), return_inverse=True)
    means = np.bincount(place, values) / np.bincount(place)
    return write_apart(means), place
