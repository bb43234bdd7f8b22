"""Reliability diagram of predicted means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from skcal._input._predicted._estimators import predict_response
from skcal._input._predicted._means import read_means
from skcal._input._validation import check_confidence_level, check_number, check_option
from skcal._numerics.cells._merging import count_effectively
from skcal._numerics.curves._mean_curve import average_values, choose_bandwidth, smooth_means
from skcal._numerics.distributions._isotonic_functionals import regress_functional
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.diagrams._curves_display import keep_names, name_models
from skcal.diagrams._drawing import style_band, take_color
from skcal.diagrams._entries import check_shown, keep_shown, note_words
from skcal.diagrams._figure import open_figure
from skcal.diagrams._legend import Term, check_curves, label_curves, read_names
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import check_look, choose_styles, merge_style
from skcal.diagrams._value_axes import draw_value_diagonal, finish_values

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

_QUANTITIES = "Predicted mean", "Mean of the targets"
_KINDS, _SCALES = ("auto", "smooth", "isotonic", "values"), ("auto", "linear", "log")
# Up to this many distinct predictions are shown one by one.
_FEW = 20
# Positive curves that span more are drawn on a logarithmic scale.
_WIDE = 10.0
# Room for bands around the curves, in parts of what these span, or of its logarithm.
_ROOM = 0.25
# How high the marks of the deciles stand, in parts of the axes.
_MARK = 0.015


@as_record
class MeanReliabilityCurve(NamedTuple):
    """Curve of a :class:`MeanReliabilityDisplay`.

    Attributes
    ----------
    kind : {"smooth", "isotonic", "values"}
        How the means were found.
    y_pred : ndarray of shape (n_points,)
        Predicted means, in ascending order.
    y_mean : ndarray of shape (n_points,)
        Mean of the targets where these were predicted.
    band : tuple of three ndarray of shape (n_places,)
        Predicted means, and the lower and the upper ends of the band there; NaN where the targets
        nearby are all equal, so that nothing is known.
    deciles : ndarray of shape (9,)
        Deciles of the predictions.
    ratio : float
        Actual over expected: the sum of the targets over that of the predictions. NaN where some
        are negative.
    residual : float
        Mean of the targets minus that of the predictions.
    n_samples : int or float
        Number of rows; the effective number, a float, where weights differ.
    n_clusters : int or None
        Number of clusters that the rows are in.
    """

    kind: str
    y_pred: np.ndarray
    y_mean: np.ndarray
    band: tuple[np.ndarray, np.ndarray, np.ndarray]
    deciles: np.ndarray
    ratio: float
    residual: float
    n_samples: int | float
    n_clusters: int | None = None


class MeanReliabilityDisplay(ShownInNotebooks):
    r"""Reliability diagram of predicted means: counts, amounts, or any real target.

    For a predicted mean, the curve tells the mean of the targets. On the diagonal predictions are
    calibrated; above it they are too low.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    curves : list of MeanReliabilityCurve
        One curve for each model.
    name : str or list of str, default=None
        Name for the legend, or one for each curve.
    confidence_level : float, default=None
        Level of the bands, for the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Artists
        The curves.
    bands_ : list of matplotlib Artists
        The bands, or the intervals of single predictions.
    marks_ : list of matplotlib Artists
        Marks at the deciles of the predictions, one artist for each curve.
    ref_line_ : matplotlib Artist
        The diagonal.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    QuantileReliabilityDisplay : The same for predicted quantiles.
    ConcentrationDisplay : Whether means differ too much or too little, as actuaries see it.
    RegressionMurphyDisplay : Whether one model is better than another, by every score of means.
    SurvivalReliabilityDisplay : The same for risks of censored rows, at several horizons.
    skcal.regression.corp_regression_decomposition : How much recalibration would improve the score.

    Notes
    -----
    The smooth curve averages rows whose predictions are near each other in rank, with weights
    :math:`w_i`, ranks :math:`u_i` as shares of all rows, and a Gaussian kernel K that is reflected
    at 0 and 1. Its points are

    .. math:: \Big( \frac{\sum_i w_i K(t, u_i)\, v_i}{\sum_i w_i K(t, u_i)},\;
              \frac{\sum_i w_i K(t, u_i)\, y_i}{\sum_i w_i K(t, u_i)} \Big), \quad t \in [0, 1],

    for predictions v and targets y. As both coordinates have the same weights, the curve of
    calibrated predictions has no bias, whatever the bandwidth. By default that is
    :math:`0.15\, (n / 1000)^{-1/5}` of all rows, with the effective number n of rows.

    Bands use the variance that is seen, so that counts, amounts and clusters need no model. They
    hold for the whole curve at once, by the rate at which a Gaussian process crosses a level [1]_,
    and are corrected for skewness [2]_. They are approximate: at a level of 95 % they missed the
    diagonal somewhere in 4 to 8 % of 400 samples of 1000 calibrated rows, and in 6 to 13 % of those
    of 100 rows, most often for log-normal amounts, with and without 70 % zeros.

    Kind "isotonic" draws the isotonic regression of :func:`skcal.regression.corp_regression_curve`,
    which has nothing to tune, over the band of the smooth curve.

    References
    ----------
    .. [1] J. Sun, C. R. Loader (1994). Simultaneous confidence bands for linear regression and
       smoothing. Annals of Statistics 22. :doi:`10.1214/aos/1176325631`
    .. [2] P. Hall (1992). On the removal of skewness by transformation. Journal of the Royal
       Statistical Society B 54. :doi:`10.1111/j.2517-6161.1992.tb01876.x`

    Examples
    --------
    >>> from skcal.diagrams import MeanReliabilityDisplay
    >>> display = MeanReliabilityDisplay.from_predictions(
    ...     [0, 1, 2, 1, 4, 3], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    ... )
    >>> display.curves[0].y_mean.round(2)
    array([1.  , 2.67])
    >>> display.lines_[0].get_label()
    'Regressor (A/E = 1.222, n = 6)'
    """

    lines_: list[Artist]
    bands_: list[Artist]
    marks_: list[Artist]
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        curves: list[MeanReliabilityCurve],
        name: str | list[str] | None = None,
        confidence_level: float | None = None,
    ) -> None:
        self.curves = curves
        self.name = name
        self.confidence_level = confidence_level

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the diagram of a fitted regressor.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor whose `predict` returns means.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the regressor was not fitted on.
        y : array-like of shape (n_samples,)
            True targets.
        name : str, default=None
            Name for the legend. None takes the name of the class.
        **options : dict
            Keyword arguments of :meth:`from_predictions`.

        Returns
        -------
        MeanReliabilityDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import LinearRegression
        >>> from skcal.diagrams import MeanReliabilityDisplay
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = LinearRegression().fit(X[::2], y[::2])
        >>> display = MeanReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])
        >>> display.name
        'LinearRegression'
        """
        y_pred = predict_response(estimator, X, "predict", None)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, y_pred, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike | Mapping[str, ArrayLike],
        *,
        kind: Literal["auto", "smooth", "isotonic", "values"] = "auto",
        bandwidth: float | Literal["auto"] = "auto",
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        confidence_level: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, real numbers.
        y_pred : array-like of shape (n_samples,), or dict
            Predicted means, finite; or those of several models by name.
        kind : {"auto", "smooth", "isotonic", "values"}, default="auto"
            What is drawn: a smooth curve, an isotonic one, or a point with an interval for each
            distinct prediction. "auto" takes the last up to 20 of them, and else the first.
        bandwidth : float or "auto", default="auto"
            Bandwidth of smooth curves and of bands, as a share of all rows in [0.02, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true`
            is n / t and `sample_weight` is t.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a customer: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        confidence_level : float, default=0.95
            Level of the bands, in (0, 1).
        name : str, default=None
            Name for the legend. None takes "Regressor".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        MeanReliabilityDisplay
            The display, drawn.

        Examples
        --------
        Claims for each year that a policy was in force:

        >>> import numpy as np
        >>> from skcal.diagrams import MeanReliabilityDisplay
        >>> rng = np.random.default_rng(0)
        >>> rate, years = rng.gamma(2, 0.1, size=2000), rng.uniform(0.1, 1, size=2000)
        >>> claims = rng.poisson(1.5 * rate * years)
        >>> display = MeanReliabilityDisplay.from_predictions(
        ...     claims / years, rate, sample_weight=years, name="Tariff"
        ... )
        >>> 1.3 < display.curves[0].ratio < 1.7
        True
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        check_option("kind", kind, _KINDS)
        bandwidth = check_bandwidth(bandwidth)
        level = check_confidence_level(confidence_level)
        curves = []
        models = name_models(y_pred, name, "y_pred", "Regressor")
        for predictions in models.values():
            rows = read_means(y_true, predictions, sample_weight, clusters)
            curve = make_curve(rows, kind, bandwidth, level)
            if clusters is not None:  # of one row each where they are copies of it
                member = np.arange(len(rows.targets)) if rows.member is None else rows.member
                curve = curve._replace(n_clusters=len(np.unique(member)))
            curves.append(curve)
        display = cls(
            curves=curves,
            name=keep_names(models, y_pred),
            confidence_level=level,
        )
        return display.plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        scale: Literal["auto", "linear", "log"] = "auto",
        curve_kwargs: dict[str, Any] | None = None,
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
            Name for the legend, or one for each curve. None takes that of the display.
        scale : {"auto", "linear", "log"}, default="auto"
            Scale of both axes. "auto" is logarithmic if all curves are positive, and the largest
            value of one is more than ten times its smallest; on axes of yours it keeps their scale.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the bands, or `vlines` for the
            intervals of single predictions.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_option("scale", scale, _SCALES)
        check_look(
            curve_kwargs=curve_kwargs,
            band_kwargs=band_kwargs,
            ref_line_kwargs=ref_line_kwargs,
            despine=despine,
        )
        check_curves(self.curves, MeanReliabilityCurve)
        labels = self._label(read_names(self.name if name is None else name, len(self.curves)))
        with open_figure(ax) as (axes,):
            check_shown(axes, _QUANTITIES)
            if scale == "log" or (scale == "auto" and ax is None and _are_wide(self.curves)):
                _check_positive(self.curves)
                axes.set(xscale="log", yscale="log")
            elif scale == "linear":
                axes.set(xscale="linear", yscale="linear")
            styles = curve_kwargs, band_kwargs, ref_line_kwargs
            draw_means(self, axes, labels, styles)
            keep_shown(self.lines_, _QUANTITIES)
            finish_values(axes, _QUANTITIES, despine=despine)
        return self

    def _label(self, names):
        ratios = [curve.ratio for curve in self.curves]
        error = Term("A/E", ratios)
        if np.isnan(ratios).any():
            error = Term("mean residual", [curve.residual for curve in self.curves], form=".3g")
        word = "effective rows" if any(map(_is_weighted, self.curves)) else "n"
        terms = [error, Term(word, [curve.n_samples for curve in self.curves], form=",.0f")]
        terms.append(Term("clusters", [curve.n_clusters for curve in self.curves], form=",.0f"))
        return label_curves(names, terms, len(self.curves), separate=True)


def draw_means(display, axes, labels, styles):
    """Draw what a display of means shows, and keep the artists as its attributes."""
    from matplotlib.lines import Line2D

    curve_style, band_style, ref_line_style = styles
    is_log = axes.get_xscale() == "log"
    display.lines_, display.bands_, display.marks_ = [], [], []
    looks = choose_styles(axes, len(display.curves))
    for curve, label, look in zip(display.curves, labels, looks, strict=True):
        default = {"label": label, **look}
        if curve.kind == "values" or len(curve.y_pred) == 1:
            default |= {"marker": "o", "linestyle": "none"}
        style = merge_style(default, curve_style, Line2D)
        display.lines_ += axes.plot(curve.y_pred, curve.y_mean, **style)
        display.bands_.append(_draw_band(display, axes, curve, is_log, band_style))
        display.marks_.append(_mark_deciles(axes, curve, display.lines_[-1]))
    ends = _find_ends(display.curves, is_log)
    display.ref_line_ = draw_value_diagonal(axes, ends, ref_line_style)
    display.ax_, display.figure_ = axes, axes.figure


def _draw_band(display, axes, curve, is_log, style):
    """The band, cut where it is far from the curves, which it would press flat."""
    from matplotlib.collections import LineCollection, PolyCollection

    low, high = _find_ends(display.curves, is_log, room=_ROOM)
    places, *band = curve.band
    band = [np.clip(end, low, high) for end in band]
    color, style = take_color(display.lines_[-1], style)
    if curve.kind == "values":
        default = {"color": color, "linewidth": 1.2}
        area = axes.vlines(places, *band, **merge_style(default, style, LineCollection))
    else:
        style = merge_style(style_band(axes, color), style, PolyCollection)
        area = axes.fill_between(places, *band, **style)
    if display.confidence_level is not None:
        words = "intervals, all" if curve.kind == "values" else "band, all points"
        note_words([area], f"{100 * display.confidence_level:g} % {words} at once")
    return area


def check_bandwidth(bandwidth):
    """A share of the rows, or "auto"."""
    if isinstance(bandwidth, str):
        check_option("bandwidth", bandwidth, ("auto",))
        return bandwidth
    bandwidth = check_number("bandwidth", bandwidth, 0.02)
    if bandwidth > 1:
        raise ValueError(f"bandwidth must be at most 1, all rows; got {bandwidth:g}.")
    return bandwidth


def is_shown_by_value(n_values):
    """Whether so few distinct predictions are shown one by one."""
    return n_values <= _FEW


def make_curve(rows, kind, bandwidth, level):
    n_rows = len(rows.targets)
    if rows.weights is not None:
        n_rows = float(count_effectively(np.zeros(n_rows, dtype=np.intp), rows.weights, 1)[0])
    order = np.argsort(rows.predictions, kind="stable")
    x = rows.predictions[order]
    starts = np.flatnonzero(np.diff(x, prepend=np.nan) != 0)
    if kind == "auto":
        kind = "values" if is_shown_by_value(len(starts)) else "smooth"
    if kind == "values":
        curve = average_values(rows, level)
    else:
        width = choose_bandwidth(n_rows) if bandwidth == "auto" else bandwidth
        curve = smooth_means(rows, width, level)
    points = curve.predicted, curve.observed
    weights = None if rows.weights is None else rows.weights[order]
    if kind == "isotonic":
        y = rows.targets[order]
        points = x[starts], regress_functional("mean", y, weights, starts, 0.5)
    elif kind == "smooth" and len(starts) == 1:
        points = tuple(end[:1] for end in points)
    mass = np.cumsum(np.ones(len(x)) if weights is None else weights)
    # Sums of equal weights may be rounded to either side of their share.
    deciles = x[np.searchsorted(mass, np.arange(1, 10) / 10 * mass[-1] * (1 - 1e-12))]
    actual, expected = (
        float(np.average(values, weights=rows.weights))
        for values in (rows.targets, rows.predictions)
    )
    low = curve.low
    is_positive = min(rows.targets.min(), rows.predictions.min()) >= 0
    if is_positive:  # and so are all means
        low = np.maximum(low, 0.0)
    ratio = actual / expected if is_positive and expected > 0 else np.nan
    numbers = float(ratio), actual - expected, n_rows
    return MeanReliabilityCurve(
        kind, *points, (curve.predicted, low, curve.high), deciles, *numbers
    )


def _is_weighted(curve):
    return isinstance(curve.n_samples, float)


def _are_wide(curves):
    """Whether curves are positive, and one spans more than a linear scale shows well."""
    smallest, largest = zip(*map(_find_span, curves), strict=True)
    return min(smallest) > 0 and any(
        high > _WIDE * low for low, high in zip(smallest, largest, strict=True)
    )


def _find_span(curve):
    values = np.concatenate([curve.y_pred, curve.y_mean])
    return values.min(), values.max()


def _check_positive(curves):
    if not any(((curve.y_pred > 0) & (curve.y_mean > 0)).any() for curve in curves):
        raise ValueError('scale must be "linear" for curves without a positive point; got "log".')


def _find_ends(curves, is_log, room=0.0):
    """Smallest and largest value of all curves, with room around them; positive ones on logs."""
    values = np.concatenate([part for curve in curves for part in (curve.y_pred, curve.y_mean)])
    if is_log:
        values = values[values > 0]
        low, high = np.log(values.min()), np.log(values.max())
    else:
        low, high = values.min(), values.max()
    margin = room * (high - low if high > low else 1.0)
    ends = np.array([low - margin, high + margin])
    return np.exp(ends) if is_log else ends


def _mark_deciles(axes, curve, line):
    """Short marks at the bottom, between which lies a tenth of the predictions each."""
    from matplotlib.transforms import blended_transform_factory

    transform = blended_transform_factory(axes.transData, axes.transAxes)
    color, _ = take_color(line, None)
    style = {"color": color, "linewidth": 1, "zorder": 1.4, "transform": transform}
    marks = axes.vlines(curve.deciles, 0, _MARK, **style)
    note_words([marks], "Ticks: deciles of the predictions")
    return marks
