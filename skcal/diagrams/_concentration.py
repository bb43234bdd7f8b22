"""Concentration and Lorenz curves of predicted means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from skcal._input._predicted._estimators import predict_response
from skcal._input._predicted._response_rows import check_values
from skcal._input._validation import check_sample_weight
from skcal._tools._typing import ArrayLike
from skcal.diagrams._curves_display import keep_names, name_models
from skcal.diagrams._drawing import style_band, take_color
from skcal.diagrams._entries import check_shown, keep_shown, note_words
from skcal.diagrams._figure import finish_axes, open_figure
from skcal.diagrams._legend import (
    Term,
    check_curves,
    check_lengths,
    count_rows,
    find_effective_rows,
    label_curves,
    read_names,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import check_look, choose_styles, merge_style
from skcal.diagrams._value_axes import draw_value_diagonal
from skcal.inference import TestResult, concentration_test
from skcal.regression import ConcentrationCurve, concentration_curve

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

_QUANTITIES = "Share of the rows (smallest predictions first)", "Their share of the targets"
_WORDS = "Area up to their share of the predictions (Lorenz curve)"


class ConcentrationDisplay(ShownInNotebooks):
    """Concentration and Lorenz curves of predicted means, such as pure premiums.

    Rows are sorted by their predictions. The thick line is the share of the targets up to each of
    them, the thin one that of the predictions, and the area between both the ABC. They are one line
    if means are proportional to predictions. Where predictions differ too much the thick line is
    above the thin one: small predictions are too small, and large ones too large.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.
    All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    curves : list of ConcentrationCurve
        Both curves of each model, see :func:`skcal.regression.concentration_curve`.
    tests : list of TestResult, default=None
        Area and p-value of each model for the legend, see
        :func:`skcal.inference.concentration_test`.
    name : str or list of str, default=None
        Name for the legend, or one for each model.
    effective_rows : list of float or None, default=None
        Effective number of rows of each model, for the legend; None where weights do not differ.

    Attributes
    ----------
    lines_ : list of matplotlib Artists
        The concentration curves.
    lorenz_ : list of matplotlib Artists
        The Lorenz curves.
    areas_ : list of matplotlib Artists
        The areas between them.
    ref_line_ : matplotlib Artist
        The diagonal, the Lorenz curve of equal predictions.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    MeanReliabilityDisplay : At which predictions means are wrong, and by how much.
    skcal.regression.area_between_curves : The area, with its definition.

    Notes
    -----
    The lower the concentration curve, the better the predictions order the rows: the area above it,
    up to the diagonal, is half of the Gini index of the targets by predictions. That alone says
    nothing of calibration: any increasing function of the predictions has the same curve [1]_.

    References
    ----------
    .. [1] M. Denuit, D. Sznajder, J. Trufin (2019). Model selection based on Lorenz and
       concentration curves, Gini indices and convex order. Insurance: Mathematics and Economics 89.
       :doi:`10.1016/j.insmatheco.2019.09.001`

    Examples
    --------
    >>> from skcal.diagrams import ConcentrationDisplay
    >>> display = ConcentrationDisplay.from_predictions([2, 2, 1, 3], [1, 1, 3, 3], name="tariff")
    >>> display.lines_[0].get_label()
    'tariff (ABC = 0.125, p = 0.3)'
    """

    lines_: list[Artist]
    lorenz_: list[Artist]
    areas_: list[Artist]
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        curves: list[ConcentrationCurve],
        tests: list[TestResult] | None = None,
        name: str | list[str] | None = None,
        effective_rows: list[float | None] | None = None,
    ) -> None:
        self.curves = curves
        self.tests = tests
        self.name = name
        self.effective_rows = effective_rows

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
        ConcentrationDisplay
            The display, drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import PoissonRegressor
        >>> from skcal.diagrams import ConcentrationDisplay
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = PoissonRegressor(alpha=0).fit(X[::2], y[::2])
        >>> display = ConcentrationDisplay.from_estimator(model, X[1::2], y[1::2])
        >>> display.name
        'PoissonRegressor'
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
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True targets, whose sum is above 0.
        y_pred : array-like of shape (n_samples,), or dict
            Predicted means, not negative, and not all 0; or those of several models by name.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true`
            is n / t and `sample_weight` is t.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a customer, for the p-value: rows of a cluster
            may depend on each other in any way, see :ref:`clusters`. None means independent rows.
        name : str, default=None
            Name for the legend. None takes "Regressor".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ConcentrationDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import ConcentrationDisplay
        >>> models = {"flat": [2, 2, 2, 2], "steep": [1, 1, 3, 3]}
        >>> display = ConcentrationDisplay.from_predictions([2, 2, 1, 3], models)
        >>> [test.estimate for test in display.tests]
        [0.0, 0.125]
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        models = name_models(y_pred, name, "y_pred", "Regressor")
        curves, tests, targets = [], [], check_values("y_true", y_true)
        for predictions in models.values():
            rows = targets, predictions
            curves.append(concentration_curve(*rows, sample_weight=sample_weight))
            tests.append(concentration_test(*rows, sample_weight=sample_weight, clusters=clusters))
        weights = check_sample_weight(sample_weight, len(targets))
        display = cls(
            curves=curves,
            tests=tests,
            name=keep_names(models, y_pred),
            effective_rows=len(models) * [find_effective_rows(weights)],
        )
        return display.plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        area_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        name : str or list of str, default=None
            Name for the legend, or one for each model. None takes that of the display.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the concentration curves.
        area_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the areas.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_look(
            curve_kwargs=curve_kwargs,
            area_kwargs=area_kwargs,
            ref_line_kwargs=ref_line_kwargs,
            despine=despine,
        )
        check_curves(self.curves, ConcentrationCurve)
        check_lengths(len(self.curves), tests=self.tests, effective_rows=self.effective_rows)
        labels = self._label(read_names(self.name if name is None else name, len(self.curves)))
        with open_figure(ax, square=True) as (axes,):
            check_shown(axes, _QUANTITIES)
            self.lines_, self.lorenz_, self.areas_ = [], [], []
            for curve, label, look in zip(
                self.curves, labels, choose_styles(axes, len(self.curves)), strict=True
            ):
                self._draw(axes, curve, look | {"label": label}, curve_kwargs, area_kwargs)
            self.ref_line_ = draw_value_diagonal(axes, [0.0, 1.0], ref_line_kwargs)
            keep_shown(self.lines_, _QUANTITIES)
            finish_axes(axes, _QUANTITIES, despine=despine)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _label(self, names):
        terms = []
        if self.tests is not None:
            terms.append(Term("ABC", [test.estimate for test in self.tests]))
            terms.append(Term("p", [test.pvalue for test in self.tests], form=".2g"))
        if self.effective_rows is not None:
            terms.append(count_rows(self.effective_rows))
        return label_curves(names, terms, len(self.curves), separate=True)

    def _draw(self, axes, curve, look, curve_style, area_style):
        from matplotlib.collections import PolyCollection
        from matplotlib.lines import Line2D

        style = merge_style({"linewidth": 2, **look}, curve_style, Line2D)
        self.lines_ += axes.plot(curve.share, curve.concentration, **style)
        color, area_style = take_color(self.lines_[-1], area_style)
        thin = {"color": self.lines_[-1].get_color(), "linewidth": 0.8, "linestyle": "-"}
        self.lorenz_ += axes.plot(curve.share, curve.lorenz, **thin)
        area_style = merge_style(style_band(axes, color), area_style, PolyCollection)
        ends = curve.lorenz, curve.concentration
        self.areas_.append(axes.fill_between(curve.share, *ends, **area_style))
        note_words(self.areas_[-1:], _WORDS)
