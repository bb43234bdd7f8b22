"""Diagram of the probability integral transform: histogram and cumulative distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from skcal._input._predicted._estimators import check_response, predict_response
from skcal._input._predicted._response_rows import (
    check_values,
    is_grouped,
    make_pit_source,
    read_pit,
)
from skcal._input._validation import (
    check_confidence_level,
    check_flag,
    check_integer,
    check_n_bins,
    check_rng,
    check_sample_weight,
)
from skcal._numerics.curves._uniform_bands import bound_curve, bound_draws, bound_histogram
from skcal._numerics.distributions._regression import (
    measure_spread,
    share_among_bins,
    spread_evenly,
)
from skcal._numerics.errors._binned import count_bins
from skcal._tools._progress import read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.diagrams._entries import (
    check_shown,
    draw_above,
    fit_legend,
    keep_shown,
    list_entries,
)
from skcal.diagrams._figure import choose_n_panels, open_figure
from skcal.diagrams._legend import (
    check_lengths,
    count_rows,
    find_effective_rows,
    label_curves,
    list_names,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import GREY, check_look, choose_styles, make_transparent, merge_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

# What the curve shows, and room above and below a difference, in parts of the largest.
_SHARE, _DIFFERENCE = "Share of the rows up to it", "Share of the rows minus the PIT"
_ROOM = 1.1


class PITDisplay(ShownInNotebooks):
    r"""Histogram and cumulative distribution of the probability integral transform (PIT).

    For calibrated predictions both follow the uniform distribution: the histogram is flat, and the
    curve is the diagonal. Each has a band that holds it everywhere at once.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    levels : ndarray of shape (n_points,)
        Places of the curve, from 0 to 1; one twice where the curve jumps.
    share : ndarray of shape (n_points,)
        Share of the rows whose PIT is at most `levels`.
    density : ndarray of shape (n_bins,)
        Heights of the histogram of equal bins, 1 on average.
    curve_width : float, default=None
        Half of the width of the band around the diagonal. None draws none.
    histogram_width : float, default=None
        Half of the width of the band around the height 1. None draws none.
    confidence_level : float, default=None
        Level of the bands, for the legend.
    name : str, default=None
        Name of the model for the legend.
    effective_rows : float, default=None
        Effective number of rows, for the legend; None where weights do not differ.

    Attributes
    ----------
    bars_ : matplotlib Artist or None
        The histogram; None without axes for it.
    line_ : matplotlib Artist
        The curve.
    bands_ : list of matplotlib Artists
        The bands of both, or of the curve.
    ref_lines_ : list of matplotlib Artists
        The height 1 and the diagonal, or this alone.
    ax_ : ndarray of matplotlib Axes
        Axes with the histogram, if there are any, and with the curve.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.regression.probability_integral_transform : The values.
    skcal.regression.pit_calibration_error : Their distance from uniform.
    skcal.regression.distribution_calibration_test : Whether it is more than chance.

    Notes
    -----
    A histogram that is high at both ends belongs to predictions that are too narrow, one that is
    high in the middle to predictions that are too wide, and a slope to a bias.

    If predictions are calibrated and rows independent, each band holds all of its curve or bars
    with at least the probability `confidence_level`, at every sample size. For continuous
    distributions without weights it is computed: by Kolmogorov's law of the distance of the curve
    [1]_, and by the law of the counts of all bins, which are independent Poisson variables given
    their sum. Otherwise it is taken from draws of the predictions, see
    :func:`~skcal.regression.distribution_calibration_test`. Rows whose PIT is an interval are
    spread over it, as in :func:`~skcal.regression.pit_calibration_error`.

    References
    ----------
    .. [1] G. Marsaglia, W. W. Tsang, J. Wang (2003). Evaluating Kolmogorov's distribution. Journal
       of Statistical Software 8. :doi:`10.18637/jss.v008.i18`

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skcal.diagrams import PITDisplay
    >>> display = PITDisplay.from_predictions([-1.2, 0.3, 0.1, 1.0], norm(0, 1), n_bins=2)
    >>> display.density
    array([0.5, 1.5])
    """

    bars_: Artist | None
    line_: Artist
    bands_: list[Artist]
    ref_lines_: list[Artist]
    ax_: np.ndarray
    figure_: Figure

    def __init__(
        self,
        *,
        levels: np.ndarray,
        share: np.ndarray,
        density: np.ndarray,
        curve_width: float | None = None,
        histogram_width: float | None = None,
        confidence_level: float | None = None,
        name: str | None = None,
        effective_rows: float | None = None,
    ) -> None:
        self.levels = levels
        self.share = share
        self.density = density
        self.curve_width = curve_width
        self.histogram_width = histogram_width
        self.confidence_level = confidence_level
        self.name = name
        self.effective_rows = effective_rows

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        response: str = "std",
        response_params: dict[str, Any] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the diagram of a fitted regressor.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the regressor was not fitted on.
        y : array-like of shape (n_samples,)
            True targets.
        response : str, default="std"
            What is predicted: "std" for ``predict(X, return_std=True)``, or the name of a method
            that returns distributions, see :func:`~skcal.scorers.make_distribution_scorer`.
        response_params : dict, default=None
            Keyword arguments of that method.
        name : str, default=None
            Name for the legend. None takes the name of the class.
        **options : dict
            Keyword arguments of :meth:`from_predictions`.

        Returns
        -------
        PITDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import BayesianRidge
        >>> from skcal.diagrams import PITDisplay
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = BayesianRidge().fit(X[::2], y[::2])
        >>> display = PITDisplay.from_estimator(model, X[1::2], y[1::2])
        >>> display.name
        'BayesianRidge'
        """
        check_response(response, response_params)
        prediction = predict_response(estimator, X, response, response_params)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, prediction, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        distribution: Any,
        *,
        sample_weight: ArrayLike | None = None,
        n_bins: int | Literal["cube_root"] = 10,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        progress: bool | Callable[..., Any] | None = None,
        random_state: RandomState = None,
        name: str | None = None,
        ax: Any = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, real numbers.
        distribution : object
            The predictions, as in :func:`skcal.regression.probability_integral_transform`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        n_bins : int or "cube_root", default=10
            Number of bins of the histogram, at most 2^24, or "cube_root", see
            :func:`skcal.metrics.expected_calibration_error`.
        confidence_level : float, default=0.95
            Level of the bands, in (0, 1).
        n_resamples : int, default=999
            Number of draws, where the bands need some.
        progress : bool or callable, default=None
            A progress bar over these draws: True for a tqdm bar (tqdm must be installed), or a
            function that takes an iterable and returns one, such as ``tqdm.tqdm``.
        random_state : int, RandomState, Generator or None, default=None
            Source of these draws.
        name : str, default=None
            Name for the legend. None takes "Regressor".
        ax : matplotlib axes or array of two, default=None
            Axes of the histogram and of the curve, or of the curve alone. None creates a new
            figure with both.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        PITDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import PITDisplay
        >>> from skcal.regression import Ensemble
        >>> members = Ensemble([[0.0, 1.0, 2.0], [1.0, 3.0, 5.0]])
        >>> display = PITDisplay.from_predictions([0.5, 2.0], members, n_bins=2, random_state=0)
        >>> display.density
        array([2., 0.])
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        n_bins = check_n_bins(n_bins)
        level = check_confidence_level(confidence_level)
        n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
        rng, show = check_rng(random_state), read_progress(progress)
        targets = check_values("y_true", y_true)
        weights = check_sample_weight(sample_weight, len(targets))
        low, high = read_pit(targets, distribution)
        n_bins = count_bins(n_bins, len(targets) if weights is None else np.count_nonzero(weights))
        nodes, before, after = spread_evenly(low, high, weights)
        if weights is None and not is_grouped(distribution):
            curve_width = bound_curve(len(targets), level)
            width = bound_histogram(len(targets), n_bins, level) * n_bins / len(targets)
        else:
            source = make_pit_source(targets, distribution)
            drawn = (source(rng.random(len(targets))) for _ in show(range(n_resamples)))
            curve_width, width = _bound_by_draws(drawn, weights, n_bins, level)
        return cls(
            levels=np.repeat(nodes, 2),
            share=np.column_stack([before, after]).ravel(),
            density=n_bins * share_among_bins(nodes, before, after, n_bins),
            curve_width=curve_width,
            histogram_width=width,
            confidence_level=level,
            name="Regressor" if name is None else name,
            effective_rows=find_effective_rows(weights),
        ).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        difference: bool = False,
        histogram_kwargs: dict[str, Any] | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        band_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes or array of two, default=None
            Axes of the histogram and of the curve, or of the curve alone. None creates a new
            figure with both.
        name : str, default=None
            Name for the legend. None takes the name of the display.
        difference : bool, default=False
            Whether to draw the curve minus the diagonal, whose band is level, so that small
            deviations of many rows are seen.
        histogram_kwargs : dict, default=None
            Keyword arguments of matplotlib's `stairs` for the histogram.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curve.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the bands.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the uniform distribution.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        from matplotlib.lines import Line2D

        check_flag("despine", despine)
        check_flag("difference", difference)
        looks = {"histogram_kwargs": histogram_kwargs, "curve_kwargs": curve_kwargs}
        looks |= {"band_kwargs": band_kwargs, "ref_line_kwargs": ref_line_kwargs}
        check_look(**looks)
        names = list_names(self.name if name is None else name)
        check_lengths(1, name=names)
        (label,) = label_curves(names, [count_rows([self.effective_rows])], 1, separate=True)
        with open_figure(ax, choose_n_panels(ax, 2, 1), panels=True) as axes:
            *left, right = axes
            quantities = "PIT", _DIFFERENCE if difference else _SHARE
            check_shown(right, quantities)
            slope = 0.0 if difference else 1.0  # of the line of calibrated predictions
            (style,) = choose_styles(right, 1)
            self.bands_ = self._draw_bands(axes, style["color"], names, band_kwargs, slope)
            self.ref_lines_ = _draw_uniform(axes, ref_line_kwargs, slope)
            self.bars_ = None
            for one in left:
                self.bars_ = self._draw_bars(one, style, histogram_kwargs)
            look = style | {"label": label, "zorder": 2.5}
            look = merge_style(look, curve_kwargs, Line2D)
            heights = self.share - (1 - slope) * self.levels
            (self.line_,) = right.plot(self.levels, heights, **look)
            keep_shown([self.line_], quantities)
            _label(axes, quantities)
            if despine:
                for one in axes:
                    one.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_bars(self, ax, style, histogram_style):
        from matplotlib.patches import StepPatch

        edges = np.linspace(0, 1, len(self.density) + 1)
        look = merge_style({"color": style["color"]}, histogram_style, StepPatch)
        color = look.pop("color")
        # Pale, so that the band is seen below, with an outline that is seen on the band.
        look = {
            "facecolor": make_transparent(ax, color),
            "edgecolor": color,
            "linewidth": 1.5,
        } | look
        look = {"fill": True, "linestyle": style["linestyle"], "zorder": 2.1} | look
        return ax.stairs(self.density, edges, **look)

    def _draw_bands(self, axes, color, names, style, slope):
        """Bands of all axes; beside another one in the colour of the curve, and with its name."""
        from matplotlib.collections import PolyCollection

        drawn, ends = [], np.array([0.0, 1.0])
        level = "Band"
        if self.confidence_level is not None:
            level = f"{100 * self.confidence_level:g} % band"
        name = names[0] if names else None
        parts = (self.histogram_width, np.ones(2)), (self.curve_width, slope * ends)
        for one, (width, middle) in zip(axes, parts[-len(axes) :], strict=True):
            if width is None or not np.isfinite(width):
                continue
            others = [area for area in one.collections if hasattr(area, "skcal_band")]
            is_new = all(area.skcal_band.width != width for area in others)
            band = _Band(width, f"{level} if calibrated", name)
            pale = make_transparent(one, color if others else GREY)
            if not is_new:  # it would be darker, not more certain
                pale = (*pale[:3], 0.0)
            look = {"color": pale, "linewidth": 0, "zorder": 2, "label": None}
            if one is axes[-1] and is_new:
                look["label"] = band.describe() if others else band.words
                for area in others:
                    if area.get_label() == area.skcal_band.words:
                        area.set_label(area.skcal_band.describe())
            look = merge_style(look, style, PolyCollection)
            lowest = middle - width if one is axes[-1] else np.maximum(middle - width, 0.0)
            area = one.fill_between(ends, lowest, middle + width, **look)
            area.skcal_band = band
            drawn.append(area)
        return drawn


class _Band(NamedTuple):
    """What a band keeps, for the sake of others on its axes."""

    width: float
    words: str
    name: str | None

    def describe(self):
        return self.words if self.name is None else f"{self.words} ({self.name})"


def _bound_by_draws(drawn, weights, n_bins, level):
    """Half of the widths of both bands, from an iterable of both ends of drawn PITs."""
    farthest = [
        (
            measure_spread(*spread, np.inf),
            np.abs(n_bins * share_among_bins(*spread, n_bins) - 1).max(),
        )
        for spread in (spread_evenly(low, high, weights) for low, high in drawn)
    ]
    return [bound_draws(np.array(column), level) for column in zip(*farthest, strict=True)]


def _draw_uniform(axes, style, slope):
    from matplotlib.lines import Line2D

    lines = []
    for one, heights in zip(axes, ([1, 1], [0, slope])[-len(axes) :], strict=True):
        default = {"color": one.spines["bottom"].get_edgecolor(), "linewidth": 0.8}
        default |= {"linestyle": ":", "zorder": 2.2, "label": "_uniform"}
        lines += one.plot([0, 1], heights, **merge_style(default, style, Line2D))
    return lines


def _label(axes, quantities):
    *left, curve = axes
    for histogram in left:
        histogram.set(xlabel="PIT", ylabel="Density", xlim=(0, 1))
        histogram.set_ylim(bottom=0)
    curve.set(xlabel=quantities[0], ylabel=quantities[1], xlim=(0, 1))
    for one in axes:
        one.set_box_aspect(1)
        one.apply_aspect()
    if quantities[1] == _DIFFERENCE:
        farthest = np.abs(curve.dataLim.intervaly).max()
        curve.set_ylim(-_ROOM * farthest, _ROOM * farthest)
        draw_above(curve)
        return
    curve.set_ylim(0, 1)
    # On the side of the diagonal from which curves keep away.
    gaps = np.concatenate([np.subtract(*line.get_data()) for line in curve.lines])
    place = "upper left" if gaps.max() >= -gaps.min() else "lower right"
    fit_legend(curve, *list_entries(curve), curve.get_window_extent().width, loc=place)
