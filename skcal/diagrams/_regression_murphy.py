"""Murphy diagrams of predicted means, quantiles and expectiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._estimates._decisions import check_many
from skcal._input._clusters import unite_copies
from skcal._input._predicted._estimators import predict_response
from skcal._input._predicted._means import read_present_means
from skcal._input._predicted._response_rows import check_values
from skcal._input._validation import check_confidence_level
from skcal._numerics.curves._loss_band import band_losses
from skcal._numerics.distributions._elementary_scores import list_losses
from skcal._tools._typing import ArrayLike
from skcal.diagrams._curves_display import (
    ComparedCurvesDisplay,
    check_band_choice,
    keep_names,
    name_models,
    place_legend,
)
from skcal.diagrams._legend import find_effective_rows
from skcal.diagrams._response import check_plot_options
from skcal.regression import MurphyCurve, murphy_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

# More targets and predictions are no thresholds each: so many equal steps, and as many quantiles of
# them, take their place. They lie between quantiles of this level and of one minus it, and no
# further beyond those of predictions than this part of their range: there all models lose alike.
_MOST_THRESHOLDS, _N_STEPS, _TAIL, _BESIDE = 200, 100, 0.005, 0.5
# Height of the axes in parts of the highest curve, at most, and room above.
_HEIGHT, _MARGIN = 2.0, 0.05


class RegressionMurphyDisplay(ComparedCurvesDisplay):
    r"""Murphy diagram of predicted means, quantiles or expectiles.

    For every threshold it shows the mean loss of those who decide by whether the prediction is
    above. A model whose curve is lower everywhere is better by every score that is consistent for
    what is predicted.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    curves : list of MurphyCurve
        The curves, see :func:`skcal.regression.murphy_curve`.
    bands : list of (low, high) or None, default=None
        Ends of the band of each curve, arrays of shape (n_thresholds,); None for one that has no
        band.
    name : str or list of str, default=None
        Name for the legend, or one for each curve.
    functional : {"mean", "quantile", "expectile"}, default="mean"
        What is predicted, for the label of the y axis.
    level : float, default=0.5
        Level of the quantile or expectile, for the same label.
    confidence_level : float, default=None
        Level of the bands, for the legend.
    effective_rows : list of float or None, default=None
        Effective number of rows of each curve, for the legend; None where weights do not differ.
    baseline : int, default=None
        Number of the curve that others are compared with: bands are those of the difference from
        it, around it. None says that each band is that of its own curve.

    Attributes
    ----------
    lines_ : list of matplotlib Artists
        The curves.
    bands_ : list of matplotlib Artists
        Their bands.
    ref_lines_ : list of matplotlib Artists
        The curve of the best constant prediction.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    MurphyDisplay : The same for probabilities.
    MeanReliabilityDisplay : Where predicted means are wrong.
    skcal.regression.murphy_curve : The numbers, with a definition.

    Notes
    -----
    As in :class:`MurphyDisplay`, the band of a single model is that of its curve, and of several
    models those of the difference from the first, around its curve [1]_: where that lies outside,
    the models differ. A band covers at all thresholds at once, and bands of several models hold one
    by one.

    The band is :math:`\bar d(t) \pm q(t)\, s(t)` around the mean of losses, or of differences of
    losses. The standard error s is that which is seen, of rows or of clusters; q belongs to the
    largest absolute value of a Gaussian process with the covariance of :math:`\bar d`, by Student's
    distribution with :math:`(\sum p^2)^2 / \sum p^4` degrees of freedom, where p is what a row
    contributes to :math:`\bar d(t)`. Four more rows count, with the size of losses where these vary
    most, as bands would be too narrow where hardly any row has a loss: the band is widest in parts
    of the curve that few rows know.

    Bands are approximate: at a level of 95 % they missed the difference somewhere in 0 to 3 % of
    200 samples of 100 rows, and in 0 to 7 % of 1000 rows, of the means of counts, those of
    log-normal amounts with a standard deviation of logarithms of 1, and quantiles and expectiles of
    normal targets. Where 80 % of such amounts are 0, it was 12 % at 1000 rows, as no band learns
    what no row shows. ``benchmarks/bench_murphy_bands.py`` draws the samples.

    References
    ----------
    .. [1] W. Ehm, T. Gneiting, A. I. Jordan, F. Krüger (2016). Of quantiles and expectiles:
       consistent scoring functions, Choquet representations and forecast rankings. Journal of the
       Royal Statistical Society B 78. :doi:`10.1111/rssb.12154`

    Examples
    --------
    >>> from skcal.diagrams import RegressionMurphyDisplay
    >>> models = {"sharp": [0.1, 1.4, 2.0, 3.8], "dull": [2.0, 2.0, 2.0, 2.0]}
    >>> display = RegressionMurphyDisplay.from_predictions([0.0, 1.0, 3.0, 4.0], models)
    >>> display.ax_.get_ylabel()
    'Mean elementary score (mean)'
    """

    pos_label = None  # which the base class names on the axis, if there is one
    _Curve = MurphyCurve
    _places = "thresholds"
    _field = "score"
    _x_label = "Threshold"
    _at_once = "all thresholds at once"
    _limits = -np.inf, np.inf

    def __init__(
        self,
        *,
        curves: list[MurphyCurve],
        bands: list[Any] | None = None,
        name: str | list[str] | None = None,
        functional: Literal["mean", "quantile", "expectile"] = "mean",
        level: float = 0.5,
        confidence_level: float | None = None,
        effective_rows: list[float | None] | None = None,
        baseline: int | None = None,
    ) -> None:
        self.curves = curves
        self.bands = bands
        self.name = name
        self.functional = functional
        self.level = level
        self.confidence_level = confidence_level
        self.effective_rows = effective_rows
        self.baseline = baseline

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
            Fitted regressor whose `predict` returns means, or quantiles or expectiles of a level.
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
        RegressionMurphyDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import QuantileRegressor
        >>> from skcal.diagrams import RegressionMurphyDisplay
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = QuantileRegressor(quantile=0.9, alpha=0).fit(X[::2], y[::2])
        >>> display = RegressionMurphyDisplay.from_estimator(
        ...     model, X[1::2], y[1::2], functional="quantile", level=0.9
        ... )
        >>> display.lines_[0].get_label()
        'QuantileRegressor'
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
        functional: Literal["mean", "quantile", "expectile"] = "mean",
        level: float = 0.5,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        thresholds: ArrayLike | None = None,
        band: Literal["auto", "curve", "difference"] = "auto",
        confidence_level: float | None = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given predictions, of one model or of several.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, real numbers.
        y_pred : array-like of shape (n_samples,), or dict
            Predictions, finite; or those of several models for the same rows, by name.
        functional : {"mean", "quantile", "expectile"}, default="mean"
            What is predicted.
        level : float, default=0.5
            Level of the quantile or expectile, strictly between 0 and 1. The mean has none.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true`
            is n / t and `sample_weight` is t.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a customer: rows of a cluster may depend on
            each other in any way, see :ref:`clusters`. None means independent rows.
        thresholds : array-like of shape (n_thresholds,), default=None
            Thresholds at which the curves are computed, in the units of the targets; 1000 at most
            with a band. By default all targets and predictions. If these are more than 200, there
            are 100 equal steps and 100 quantiles, over the range of the predictions and half of it
            beyond each end, where targets lie; 0.5 % at each end are left out.
        band : {"auto", "curve", "difference"}, default="auto"
            What a band covers: "curve" the curve of its model, "difference" its difference from
            that of the first model, around which it is drawn. "auto" is the latter for several
            models.
        confidence_level : float or None, default=0.95
            Probability, in (0, 1), that a band covers at all thresholds. None draws no bands.
        name : str, default=None
            Name of a single model for the legend. None takes "Regressor".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        RegressionMurphyDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from skcal.diagrams import RegressionMurphyDisplay
        >>> models = {"high": [2.0, 3.0, 5.0], "low": [0.0, 1.0, 2.0]}
        >>> display = RegressionMurphyDisplay.from_predictions(
        ...     [1.0, 3.0, 2.0], models, functional="quantile", level=0.9
        ... )
        >>> [line.get_label() for line in display.lines_]
        ['high', 'low']
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        models = name_models(y_pred, name, "y_pred", "Regressor")
        check_band_choice(band, len(models))
        if confidence_level is None and clusters is not None:
            raise ValueError("clusters must be None where no band is drawn: curves need none.")
        data: dict[str, Any] = {"functional": functional, "level": level}
        data["sample_weight"] = sample_weight
        first, *others = models.values()
        rows = [read_present_means(y_true, first, sample_weight, clusters)[0]]
        rows += [read_present_means(y_true, x, sample_weight)[0] for x in others]
        t = _choose_thresholds(rows, thresholds)
        curves = [murphy_curve(y_true, x, thresholds=t, **data) for x in models.values()]
        level, bands = float(np.ravel(level)[0]), None
        baseline = 0 if others and band != "curve" and confidence_level is not None else None
        if confidence_level is not None:
            confidence_level = check_confidence_level(confidence_level)
            check_many(t)
            options = (functional, level, t), confidence_level
            bands = [_find_band(rows, k, baseline, curves, *options) for k in range(len(rows))]
        display = cls(
            curves=curves,
            bands=bands,
            name=keep_names(models, y_pred),
            functional=functional,
            level=level,
            confidence_level=confidence_level,
            effective_rows=len(rows) * [find_effective_rows(rows[0].weights)],
            baseline=baseline,
        )
        return display.plot(ax, **plot_kwargs)

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
            Keyword arguments of matplotlib's `plot` for the best constant.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        functional = "mean" if self.functional == "mean" else f"{self.functional} {self.level:g}"
        label = f"Mean elementary score ({functional})"
        looks = curve_kwargs, band_kwargs, ref_line_kwargs
        return self._plot(ax, name, *looks, despine, y_label=label)

    def _list_points(self, curve, unit):
        return _trace(curve.thresholds, curve.score_below, curve.score)

    def _measure_places(self, places):
        return np.ptp(places) or max(np.abs(places).max(), 1.0)

    def _list_lines(self, curve, unit):
        points = _trace(curve.thresholds, curve.constant_score_below, curve.constant_score)
        yield "Best constant", ":", *points

    def _finish(self, ax):
        """Bands that are wider than the curves are high leave the axes."""
        lines = max(line.get_ydata().max() for line in ax.lines)
        bands = [path.vertices[:, 1].max() for one in ax.collections for path in one.get_paths()]
        top = min(max([lines, *bands]), _HEIGHT * lines) or 1.0
        place_legend(ax, 0.0, (1 + _MARGIN) * top)


def _trace(thresholds, below, score):
    """A line through thresholds, upright where it jumps at one."""
    if len(thresholds) == 1:
        return thresholds, score
    return np.repeat(thresholds, 2), np.column_stack([below, score]).ravel()


def _choose_thresholds(rows, thresholds):
    """Given ones in ascending order, or all targets and predictions, or some between them."""
    if thresholds is not None:
        return np.unique(check_values("thresholds", thresholds))
    values = np.concatenate([rows[0].targets, *(one.predictions for one in rows)])
    t = np.unique(values)
    if len(t) <= _MOST_THRESHOLDS:
        return t
    predicted = np.concatenate([one.predictions for one in rows])
    ends = [np.quantile(part, [_TAIL, 1 - _TAIL]) for part in (values, predicted)]
    (first, last), (low, high) = ends
    room = _BESIDE * (high - low)
    if room > 0:
        first, last = max(first, low - room), min(last, high + room)
    inside = values[(values >= first) & (values <= last)]
    quantiles = np.quantile(inside, np.linspace(0, 1, _N_STEPS), method="inverted_cdf")
    return np.union1d(np.linspace(first, last, _N_STEPS), quantiles)


def _find_band(rows, number, baseline, curves, options, confidence_level):
    """Ends of the band of one of several curves; None of that which others are compared with."""
    if number == baseline:
        return None
    functional, level, t = options
    used = [number] if baseline is None else [number, baseline]
    predictions = np.column_stack([rows[k].predictions for k in used])
    targets, _, weights, member = rows[0]
    if member is not None:
        member, kept, weights = unite_copies(member, predictions, targets, weights)
        targets, predictions = targets[kept], predictions[kept]

    def list_differences(chosen):
        own, *other = (
            list_losses(targets[chosen], x[chosen], functional, level, t) for x in predictions.T
        )
        return own - other[0] if other else own

    middle = 0.0 if baseline is None else curves[baseline].score
    weights = np.ones(len(targets)) if weights is None else weights
    unit = 1.0 if functional == "quantile" else np.abs(predictions - targets[:, None]).max() or 1.0
    mean = curves[number].score - middle
    low, high = band_losses(list_differences, mean, unit, weights, member, confidence_level)
    return np.maximum(low, 0.0) if baseline is None else middle + low, middle + high
