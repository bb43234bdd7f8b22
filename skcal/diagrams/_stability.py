"""How much predictions, curves and decisions change with the rows that a model was fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._estimates._curves import find_gaps, read_curve
from skcal._input._sample import Sample
from skcal._input._validation import check_inside, check_option
from skcal._tools._words import show_kind
from skcal.diagrams._entries import check_alone, keep_shown
from skcal.diagrams._figure import name_label, open_figure
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import CURVE_STYLES, check_look, choose_pale_color, merge_style
from skcal.metrics import net_benefit_curve

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skcal.model_selection import InternalValidation

Kind = Literal["predictions", "errors", "calibration", "classification", "decision"]

_PROBABILITY = "Predicted probability"
# Of each kind the labels of the axes.
_LABELS = {
    "predictions": (_PROBABILITY, "Predicted by models of resamples"),
    "errors": (_PROBABILITY, "Mean absolute prediction error"),
    "calibration": (_PROBABILITY, "Fraction of positives"),
    "classification": (_PROBABILITY, "Share of models that decide otherwise"),
    "decision": ("Threshold probability", "Net benefit"),
}
_N_POINTS = 101
# What net benefit below no action is worth seeing, as a share of the highest one.
_DEPTH = 0.2


class StabilityDisplay(ShownInNotebooks):
    r"""How much a model depends on the rows that it was fitted on.

    Each picture compares the model of all rows with those of resamples. It is recommended to use
    :meth:`from_internal_validation` to create a display. All parameters are stored as attributes,
    unchanged.

    Parameters
    ----------
    kind : {"predictions", "errors", "calibration", "classification", "decision"}
        What is shown.
    places : ndarray of shape (n_points,)
        Predictions of the model of all rows, or thresholds.
    own : ndarray of shape (n_points,), default=None
        What the model of all rows has there: its calibration curve or net benefit.
    others : ndarray of shape (n_points,) or (n_points, n_curves)
        What models of resamples have there: one number for all of them, their lower and their upper
        quantile, or a curve of each.
    treat_all : ndarray of shape (n_points,), default=None
        Net benefit of acting always.
    pos_label : int, float, bool or str, default=None
        The label whose probability is shown; part of the axis labels unless None.
    confidence_level : float, default=None
        Share of the models between the quantiles, for the legend.

    Attributes
    ----------
    points_ : matplotlib Artist or None
        One point for each row, of "errors" and "classification".
    ranges_ : matplotlib Artist or None
        A vertical line for each row, of "predictions".
    lines_ : list of matplotlib Artists
        Curves of models of resamples.
    line_ : matplotlib Artist or None
        Curve of the model of all rows.
    ref_lines_ : list of matplotlib Artists
        The diagonal, or the lines of acting always and never.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.model_selection.internal_validation : Fits the models.
    ReliabilityDisplay.from_internal_validation : Apparent and corrected calibration curve.

    Notes
    -----
    The pictures are those of Riley and Collins [1]_: "predictions" has for each row the range in
    which models of resamples predict; "errors" their mean distance from the prediction of the model
    of all rows; "calibration" and "decision" the calibration curves, by local lines, and the
    net benefit of all models for the rows of the data; "classification" the share of models that
    are on the other side of a threshold (classification instability index).

    References
    ----------
    .. [1] R. D. Riley, G. S. Collins (2023). Stability of clinical prediction models developed
       using statistical or machine learning methods. Biometrical Journal 65.
       :doi:`10.1002/bimj.202200302`

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcal.diagrams import StabilityDisplay
    >>> from skcal.model_selection import internal_validation
    >>> X, y = make_classification(n_samples=100, random_state=0)
    >>> validation = internal_validation(
    ...     LogisticRegression(), X, y, stability=True, n_resamples=20, random_state=0
    ... )
    >>> display = StabilityDisplay.from_internal_validation(validation, kind="errors")
    >>> display.ax_.get_ylabel()
    'Mean absolute prediction error'
    """

    points_: Artist | None
    ranges_: Artist | None
    lines_: list[Artist]
    line_: Artist | None
    ref_lines_: list[Artist]
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        kind: Kind,
        places: np.ndarray,
        own: np.ndarray | None = None,
        others: np.ndarray,
        treat_all: np.ndarray | None = None,
        pos_label: int | float | bool | str | None = None,
        confidence_level: float | None = None,
    ) -> None:
        self.kind = kind
        self.places = places
        self.own = own
        self.others = others
        self.treat_all = treat_all
        self.pos_label = pos_label
        self.confidence_level = confidence_level

    @classmethod
    def from_internal_validation(
        cls,
        validation: InternalValidation,
        *,
        kind: Kind = "predictions",
        threshold: float | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw what an internal validation found.

        Parameters
        ----------
        validation : InternalValidation
            What :func:`~skcal.model_selection.internal_validation` returned with
            ``stability=True``.
        kind : str, default="predictions"
            One of "predictions", "errors", "calibration", "classification" and "decision", see
            Notes of :class:`StabilityDisplay`.
        threshold : float, default=None
            Of ``kind="classification"``: where one acts at predictions of so much or more, in
            (0, 1).
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        StabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, or if the validation has no ``stability``.
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_internal_validation)
        check_option("kind", kind, tuple(_LABELS))
        found = getattr(validation, "stability", None)
        if found is None:
            raise ValueError(
                "validation must come from internal_validation(..., stability=True); got "
                f"{show_kind(validation)} without stability."
            )
        if (threshold is None) == (kind == "classification"):
            raise ValueError(
                f"threshold must be given for kind='classification' and for no other; got "
                f"threshold={threshold!r} for kind={kind!r}."
            )
        if threshold is not None:
            threshold = check_inside("threshold", threshold)
        display = cls(
            kind=kind,
            pos_label=validation.pos_label,
            confidence_level=found.confidence_level,
            **_compute(found, kind, threshold),
        )
        return display.plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        curve_kwargs: dict[str, Any] | None = None,
        others_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curve of the model of all rows.
        others_kwargs : dict, default=None
            Keyword arguments of matplotlib for what models of resamples have: of `scatter` for
            points, of `vlines` for ranges, of `plot` for curves.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the lines that are compared with.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_look(
            curve_kwargs=curve_kwargs,
            others_kwargs=others_kwargs,
            ref_line_kwargs=ref_line_kwargs,
            despine=despine,
        )
        with open_figure(ax) as (axes,):
            check_alone([axes], "stability is that of one model")
            self._draw_others(axes, others_kwargs)
            self._draw_own(axes, curve_kwargs)
            self._draw_ref_lines(axes, ref_line_kwargs)
            drawn = self.points_, self.ranges_, self.line_
            keep_shown([one for one in drawn if one is not None], _LABELS[self.kind])
            self._finish(axes, despine)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_others(self, ax, style):
        from matplotlib.collections import LineCollection, PathCollection
        from matplotlib.lines import Line2D

        self.points_, self.ranges_, self.lines_ = None, None, []
        color = CURVE_STYLES[0]["color"]
        if self.kind == "predictions":
            default = {"color": color, "alpha": 0.4, "linewidth": 1}
            if self.confidence_level is not None:
                default["label"] = f"{100 * self.confidence_level:g} % of models"
            look = merge_style(default, style, LineCollection)
            self.ranges_ = ax.vlines(self.places, *self.others.T, **look)
        elif self.others.ndim == 1:
            default = {"color": color, "alpha": 0.5, "s": 12, "linewidth": 0}
            look = merge_style(default, style, PathCollection)
            self.points_ = ax.scatter(self.places, self.others, **look)
        else:
            default = {"color": choose_pale_color(ax), "alpha": 0.15, "linewidth": 0.8}
            look = merge_style(default, style, Line2D)
            self.lines_ = ax.plot(self.places, self.others, **look)
            self.lines_[0].set_label(f"{len(self.lines_)} models of resamples")

    def _draw_own(self, ax, style):
        from matplotlib.lines import Line2D

        self.line_ = None
        if self.own is not None:
            default = {**CURVE_STYLES[0], "linewidth": 2, "label": "model of all rows"}
            look = merge_style(default, style, Line2D)
            (self.line_,) = ax.plot(self.places, self.own, **look)

    def _draw_ref_lines(self, ax, style):
        from matplotlib.lines import Line2D

        default = {"color": ax.spines["bottom"].get_edgecolor(), "linewidth": 0.8, "linestyle": ":"}
        look = merge_style(default, style, Line2D)
        self.ref_lines_ = []
        if self.kind in ("predictions", "calibration"):
            self.ref_lines_ = ax.plot([0, 1], [0, 1], **look)
        elif self.kind == "decision":
            for name, dashes, values in (
                ("Treat all", "--", self.treat_all),
                ("Treat none", "-", np.zeros(len(self.places))),
            ):
                line = {"linestyle": dashes, "label": name}
                self.ref_lines_ += ax.plot(
                    self.places, values, **merge_style({**default, **line}, style, Line2D)
                )

    def _finish(self, ax, despine):
        x_label, y_label = _LABELS[self.kind]
        label = name_label(None, self.pos_label)
        ax.set(xlabel=x_label if label is None else f"{x_label} ({label})", ylabel=y_label)
        if self.kind in ("predictions", "calibration"):
            ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        elif self.kind == "decision":
            top = max(float(np.max([self.own.max(), self.others.max()])), 1e-6)
            ax.set(ylim=(-_DEPTH * top, 1.05 * top))
        else:
            ax.set(xlim=(0, 1), ylim=(0, None))
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize="small", frameon=False)
        if despine:
            ax.spines[["top", "right"]].set_visible(False)


def _compute(found, kind, threshold):
    """What a display of this kind holds, of a `PredictionStability`."""
    if kind == "predictions":
        return {"places": found.predictions, "others": np.column_stack([found.low, found.high])}
    if kind == "errors":
        return {"places": found.predictions, "others": found.errors}
    if kind == "classification":
        acts = found.predictions >= threshold
        others = (found.resampled >= threshold) != acts[:, None]
        return {"places": found.predictions, "others": others.mean(axis=1)}
    models = [found.predictions, *found.resampled.T]
    if kind == "calibration":
        places = np.linspace(0, 1, _N_POINTS)
        curves = [_trace(found, predictions, places) for predictions in models]
        return {"places": places, "own": curves[0], "others": np.column_stack(curves[1:])}
    curves = [
        net_benefit_curve(found.outcomes, predictions, sample_weight=found.weights)
        for predictions in models
    ]
    return {
        "places": curves[0].thresholds,
        "own": curves[0].net_benefit,
        "others": np.column_stack([curve.net_benefit for curve in curves[1:]]),
        "treat_all": curves[0].treat_all,
    }


def _trace(found, predictions, places):
    """The calibration curve of a model, NaN beyond its predictions."""
    sample = Sample(predictions, found.outcomes.astype(np.float64), found.weights)
    return read_curve(sample, find_gaps(sample, "local"), places)
