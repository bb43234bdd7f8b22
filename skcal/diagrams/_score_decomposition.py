"""Miscalibration and discrimination of several models in one plane, with lines of equal scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._validation import check_number, check_option
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_kind
from skcal.diagrams._curves_display import check_model, name_models
from skcal.diagrams._entries import check_shown, keep_shown
from skcal.diagrams._figure import break_labels, name_label, open_figure
from skcal.diagrams._legend import Term, find_effective_rows
from skcal.diagrams._model_points import (
    check_points,
    draw_points,
    finish_points,
    label_points,
    list_places,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import (
    check_plot_options,
    name_reduction,
    predict_class_probabilities,
)
from skcal.diagrams._style import check_look, choose_pale_color, choose_word_color, merge_style
from skcal.metrics import CORPDecomposition, corp_decomposition

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

_X_LABEL, _Y_LABEL = "Miscalibration", "Discrimination"
# Reductions whose outcomes, and so their uncertainty, are the same for all models.
_REDUCTIONS = "auto", "classwise", "full"
_SCORES = {"brier": "Brier score", "log": "log loss"}
# Uncertainties of one data set differ by rounding alone.
_ROUNDING = 1e-9
# Room beyond the last point, in parts of its coordinate; the side where all of them are zero, in
# parts of the uncertainty.
_ROOM, _LEAST = 0.15, 0.05
# Lines of equal scores: about how many there are, how near the line of the constant they may come,
# in parts of their distance, and how they are found again. Their words stand so far from the frame,
# in pixels, and need a line that is so much longer.
_N_LINES, _NEAR, _ISOLINES_ID = 8, 0.3, "skcal isolines"
_PAD, _LEAST_LENGTH = 9.0, 1.6


class ScoreDecompositionDisplay(ShownInNotebooks):
    r"""Plane of miscalibration and discrimination: why one model has a better score than another.

    Each model is a point: to the right lie models that recalibration would help, at the top those
    that tell the rows apart. Models on the same line have the same score, and lines farther up and
    to the left have better ones. The paper [1]_ draws it beside its triptych of a reliability
    diagram, a ROC curve and a Murphy diagram.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or
    :meth:`from_decompositions` to create a display. All parameters are stored as attributes,
    unchanged.

    Parameters
    ----------
    miscalibration : ndarray of shape (n_models,)
        What isotonic recalibration removes of each score (MCB); it may be infinite.
    discrimination : ndarray of shape (n_models,)
        How much better than a constant the recalibrated predictions are (DSC).
    uncertainty : float
        Score of the best constant prediction (UNC), the same for all models.
    name : str or list of str, default=None
        Name of each model for the legend.
    score_name : str, default="score"
        What the score is called.
    pos_label : int, float, bool or str, default=None
        The label whose probability is predicted, for the axis.
    effective_rows : float, default=None
        Effective number of rows, for the legend, where weights differ.

    Attributes
    ----------
    points_ : list of matplotlib Artist
        A point for each model; one that is infinitely miscalibrated is an arrow at the right edge.
    isolines_ : matplotlib Artist
        Lines of equal scores.
    ref_line_ : matplotlib Artist
        The line of the score of the best constant.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.metrics.corp_decomposition : The numbers.
    ReliabilityDisplay : ``kind="isotonic"`` shows where a model is miscalibrated.
    MurphyDisplay : The mean loss at every threshold.

    Notes
    -----
    The score S of a model is :math:`\mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}`. UNC depends on the
    outcomes alone, so that the lines of equal scores have slope 1. Below the line through the
    origin a constant prediction is better than the model.

    Isotonic regression fits some chance, too: MCB of a calibrated model is above zero, the more so
    the fewer rows there are. Whether it is more than chance is a question for
    :func:`~skcal.inference.calibration_test`.

    References
    ----------
    .. [1] T. Dimitriadis, T. Gneiting, A. I. Jordan, P. Vogel (2024). Evaluating probabilistic
       classifiers: the triptych. International Journal of Forecasting 40.
       :doi:`10.1016/j.ijforecast.2023.09.007`

    Examples
    --------
    >>> from skcal.diagrams import ScoreDecompositionDisplay
    >>> y_true = [0, 0, 1, 0, 1, 1]
    >>> models = {"sharp": [0.1, 0.1, 0.1, 0.8, 0.8, 0.8], "constant": [0.5] * 6}
    >>> display = ScoreDecompositionDisplay.from_predictions(y_true, models)
    >>> display.miscalibration.round(3), display.discrimination.round(3), display.uncertainty
    (array([0.036, 0.   ]), array([0.028, 0.   ]), 0.25)
    """

    points_: list[Artist]
    isolines_: Artist
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        miscalibration: np.ndarray,
        discrimination: np.ndarray,
        uncertainty: float,
        name: str | list[str] | None = None,
        score_name: str = "score",
        pos_label: int | float | bool | str | None = None,
        effective_rows: float | None = None,
    ) -> None:
        self.miscalibration = miscalibration
        self.discrimination = discrimination
        self.uncertainty = uncertainty
        self.name = name
        self.score_name = score_name
        self.pos_label = pos_label
        self.effective_rows = effective_rows

    @property
    def score(self) -> np.ndarray:
        """Mean score of each model, an ndarray of shape (n_models,)."""
        return self.miscalibration - self.discrimination + self.uncertainty

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Mapping[str, BaseEstimator],
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        reduction: Literal["auto", "classwise", "full"] = "auto",
        loss: Literal["brier", "log"] = "brier",
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of fitted classifiers.

        Parameters
        ----------
        estimator : estimator instance or dict of estimator instances
            Fitted classifier with `predict_proba`, or a pipeline that ends in one. A dictionary has
            several, by name.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that no classifier was fitted on.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            See :meth:`from_predictions`.
        reduction : {"auto", "classwise", "full"}, default="auto"
            See :meth:`from_predictions`.
        loss : {"brier", "log"}, default="brier"
            See :meth:`from_predictions`.
        name : str, default=None
            Name of a single classifier for the legend. None takes its class name.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ScoreDecompositionDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid or an estimator has no `predict_proba`.
        sklearn.exceptions.NotFittedError
            If an estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import ScoreDecompositionDisplay
        >>> X, y = make_classification(n_samples=900, random_state=0)
        >>> models = {"Bayes": GaussianNB(), "logistic": LogisticRegression()}
        >>> fitted = {name: model.fit(X[:450], y[:450]) for name, model in models.items()}
        >>> display = ScoreDecompositionDisplay.from_estimator(fitted, X[450:], y[450:])
        >>> bool(display.miscalibration[0] > display.miscalibration[1])
        True
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_estimator)
        found = {}
        default = type(estimator).__name__
        for key, model in name_models(estimator, name, "estimator", default).items():
            y_proba, labels = predict_class_probabilities(model, X, y)
            data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
            found[key] = _decompose(y, y_proba, data, reduction, loss)
        return cls._join(found, loss).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike | Mapping[str, ArrayLike],
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Literal["auto", "classwise", "full"] = "auto",
        loss: Literal["brier", "log"] = "brier",
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
            True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
            probabilities each.
        y_proba : array-like or dict of array-like
            Predicted probabilities in [0, 1] of shape (n_samples,), (n_samples, 1) or
            (n_samples, n_classes): of the positive label, or one column per label with rows that
            sum to 1. A dictionary has those of several models for the same rows, by name.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The positive label; by default the last label. A single column needs it, or `labels`,
            unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
            against the rest.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, in the order of the columns; by default the
            sorted labels of `y_true`.
        reduction : {"auto", "classwise", "full"}, default="auto"
            How class probabilities become binary predictions, see
            :func:`~skcal.metrics.expected_calibration_error`. "auto" takes the positive label of
            two, and "classwise" for more. The outcomes of "confidence" and "top-label" differ from
            model to model, and with them the uncertainty.
        loss : {"brier", "log"}, default="brier"
            Squared error or log loss of the binary predictions.
        name : str, default=None
            Name of a single model for the legend. None takes "Classifier".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ScoreDecompositionDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from skcal.diagrams import ScoreDecompositionDisplay
        >>> models = {"sharp": [0.1, 0.4, 0.7, 0.8], "dull": [0.5, 0.5, 0.5, 0.5]}
        >>> display = ScoreDecompositionDisplay.from_predictions([0, 1, 1, 1], models, loss="log")
        >>> [point.get_label() for point in display.points_]
        ['sharp (log loss = 0.4)', 'dull (log loss = 0.693)']
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        models = name_models(y_proba, name)
        found = {
            key: _decompose(y_true, proba, data, reduction, loss) for key, proba in models.items()
        }
        return cls._join(found, loss).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_decompositions(
        cls,
        decompositions: Mapping[str, CORPDecomposition],
        *,
        score_name: str = "score",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the diagram of given decompositions, such as those of predicted means.

        Parameters
        ----------
        decompositions : dict of CORPDecomposition
            By name of the model, what :func:`~skcal.metrics.corp_decomposition`,
            :func:`~skcal.regression.corp_regression_decomposition` or
            :func:`~skcal.regression.corp_distribution_decomposition` found, for the same rows.
        score_name : str, default="score"
            What the score is called.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ScoreDecompositionDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, or if uncertainties differ.

        Examples
        --------
        >>> from skcal.diagrams import ScoreDecompositionDisplay
        >>> from skcal.regression import corp_regression_decomposition
        >>> y, models = [1.0, 2.0, 4.0], {"good": [1.5, 2.0, 3.5], "high": [4.0, 5.0, 7.0]}
        >>> found = {name: corp_regression_decomposition(y, v) for name, v in models.items()}
        >>> display = ScoreDecompositionDisplay.from_decompositions(
        ...     found, score_name="squared error"
        ... )
        >>> display.miscalibration.round(3)
        array([0.167, 9.   ])
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_decompositions)
        if not isinstance(decompositions, Mapping) or not decompositions:
            raise ValueError(
                "decompositions must be a dictionary of one CORPDecomposition at least, by name of "
                f"the model; got {decompositions!r}."
            )
        for one in decompositions.values():
            if not isinstance(one, CORPDecomposition):
                raise ValueError(
                    f"decompositions must hold CORPDecomposition; got {show_kind(one)}."
                )
        if not isinstance(score_name, str):
            raise ValueError(f"score_name must be a string; got {score_name!r}.")
        display = cls(**_arrange(decompositions), score_name=score_name)
        return display.plot(ax=ax, **plot_kwargs)

    @classmethod
    def _join(cls, found, loss):
        """A display of a decomposition, the label and the number of rows of each model."""
        parts, labels, rows = zip(*found.values(), strict=True)
        if len(set(map(str, labels))) > 1:
            raise ValueError(
                "All models must predict the same classes, or pos_label must say which of them is "
                f"shown; got the labels {list(labels)}."
            )
        return cls(
            **_arrange(dict(zip(found, parts, strict=True))),
            score_name=_SCORES[loss],
            pos_label=labels[0],
            effective_rows=rows[0],
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        point_kwargs: dict[str, Any] | list[dict[str, Any]] | None = None,
        isoline_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on, such as those of other models for the same rows. None creates a new
            figure and axes.
        name : str or list of str, default=None
            Name of each model for the legend. None takes those of the display.
        point_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the points, of all models or of each.
        isoline_kwargs : dict, default=None
            Keyword arguments of matplotlib's `LineCollection` for the lines of equal scores.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axline` for the score of the best constant.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        looks = {"isoline_kwargs": isoline_kwargs, "ref_line_kwargs": ref_line_kwargs}
        check_look(despine=despine, **looks)
        check_number("uncertainty", self.uncertainty, -np.inf)
        x, y = self.miscalibration, self.discrimination
        n_models = check_points(miscalibration=x, discrimination=y)
        name = self.name if name is None else name
        terms = [Term(self.score_name, self.score.tolist(), form=".3g")]
        labels, styles = label_points(n_models, name, point_kwargs, terms, self.effective_rows)
        words = f"{_Y_LABEL} of a {self.score_name} with UNC = {self.uncertainty:.6g}"
        quantities = _X_LABEL, words
        with open_figure(ax, square=True) as (axes,):
            check_shown(axes, quantities)
            self.points_ = draw_points(axes, x, y, labels, styles)
            label = name_label(None, self.pos_label)
            keep_shown(self.points_, quantities, label)
            info = "" if label is None else f" ({label})"
            axes.set(xlabel=f"{_X_LABEL}{info}", ylabel=_Y_LABEL)
            _set_limits(axes, self.uncertainty)
            self.ref_line_ = self._draw_reference(axes, ref_line_kwargs)
            break_labels(axes)
            finish_points(axes, despine=despine)
            self.isolines_ = _draw_isolines(axes, self.uncertainty, isoline_kwargs)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_reference(self, ax, style):
        from matplotlib.lines import Line2D

        for line in ax.lines:
            if line.get_gid() == _ISOLINES_ID:
                return line
        words = f"{self.score_name} of a constant (UNC = {self.uncertainty:.3g})"
        default = {"color": choose_pale_color(ax), "linestyle": ":", "linewidth": 1.2}
        default |= {"zorder": 1.8, "label": f"{words[0].upper()}{words[1:]}", "gid": _ISOLINES_ID}
        return ax.axline((0, 0), slope=1, **merge_style(default, style, Line2D))


def _decompose(y_true, y_proba, data, reduction, loss):
    """Decomposition of one model, the label that it predicts, and the effective number of rows."""
    check_option("reduction", reduction, _REDUCTIONS)
    predictions = check_model(y_true, y_proba, data, reduction)
    if reduction == "auto" and predictions.proba.ndim == 2 and predictions.proba.shape[1] > 2:
        reduction = "classwise"
    label = None if reduction != "auto" else name_reduction(predictions, reduction)[1]
    parts = corp_decomposition(y_true, y_proba, **data, reduction=reduction, loss=loss)
    return parts, label, find_effective_rows(predictions.weights)


def _arrange(decompositions):
    """Arguments of a display of decompositions by name."""
    _, miscalibration, discrimination, uncertainty = np.array(list(decompositions.values())).T
    first = float(uncertainty[0])
    if not np.allclose(uncertainty, first, rtol=_ROUNDING, atol=0):
        raise ValueError(
            "All models must have the same uncertainty, that of the outcomes of the same rows; "
            f"got {uncertainty.tolist()}."
        )
    return {
        "miscalibration": miscalibration,
        "discrimination": discrimination,
        "uncertainty": first,
        "name": [str(name) for name in decompositions],
    }


# --------------------------------------------------------------------------- lines


def _set_limits(ax, uncertainty):
    x, y = list_places(ax)
    least = _LEAST * uncertainty or _LEAST
    right, top = ((1 + _ROOM) * max(values.max(initial=0.0), least) for values in (x, y))
    ax.set(xlim=(0.0, right), ylim=(0.0, top))


def _draw_isolines(ax, uncertainty, style):
    """Lines of equal scores across the axes, with the scores at their ends."""
    from matplotlib.collections import LineCollection
    from matplotlib.ticker import MaxNLocator

    for artist in [*ax.collections, *ax.texts]:  # of fewer models
        if artist.get_gid() == _ISOLINES_ID:
            artist.remove()
    (_, right), (_, top) = ax.get_xlim(), ax.get_ylim()
    low, high = max(uncertainty - top, 0.0), uncertainty + right
    scores = MaxNLocator(_N_LINES, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    is_apart = np.abs(scores - uncertainty) > _NEAR * (scores[1] - scores[0])
    scores = scores[(scores > low) & (scores < high) & is_apart]
    rise = uncertainty - scores  # of a line where it crosses the y axis
    starts = np.column_stack([np.maximum(-rise, 0), np.maximum(rise, 0)])
    ends = np.minimum(right, top - rise)
    ends = np.column_stack([ends, ends + rise])
    look = {"color": choose_pale_color(ax), "linewidth": 0.5, "zorder": 1.2, "gid": _ISOLINES_ID}
    look = merge_style(look, style, LineCollection)
    lines = ax.add_collection(
        LineCollection(np.stack([starts, ends], axis=1), **look), autolim=False
    )
    for score, start, end in zip(scores, starts, ends, strict=True):
        _write_score(ax, f"{score:.6g}", start, end)
    return lines


def _write_score(ax, words, start, end):
    """A score on its line, near the end, unless the line is too short for it."""
    text = ax.text(
        *end,
        words,
        rotation=45,
        rotation_mode="anchor",
        transform_rotates_text=True,
        ha="right",
        va="center",
        fontsize="x-small",
        color=choose_word_color(ax),
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.8},
        zorder=1.3,
        clip_on=True,
        gid=_ISOLINES_ID,
    )
    text.set_in_layout(False)
    start, end = ax.transData.transform([start, end])
    length, box, frame = np.hypot(*(end - start)), text.get_window_extent(), ax.get_window_extent()
    if length < _LEAST_LENGTH * np.hypot(box.width, box.height):
        text.remove()
        return
    # Back along the line, until the corners are inside.
    along = (end - start) / length
    beyond = np.array([box.x1 - frame.x1, box.y1 - frame.y1]) + _PAD
    place = end - along * np.max(beyond / along)
    text.set_position(ax.transData.inverted().transform(place))
