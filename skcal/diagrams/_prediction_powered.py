"""Reliability diagram by few labels and many verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._few_labels import arrange_clusters, read_few_labels, read_proxy_weight
from skcal._input._predicted._means import MeanRows
from skcal._input._validation import check_confidence_level
from skcal._numerics.curves._mean_curve import choose_bandwidth
from skcal._numerics.inference._few_labels import count_effective_labels, make_targets
from skcal._tools._typing import ArrayLike
from skcal.diagrams._entries import check_shown, keep_shown
from skcal.diagrams._figure import open_figure
from skcal.diagrams._mean_reliability import (
    MeanReliabilityCurve,
    MeanReliabilityDisplay,
    check_bandwidth,
    draw_means,
    is_shown_by_value,
    make_curve,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import check_look
from skcal.diagrams._value_axes import finish_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_QUANTITIES = "Predicted probability", "How often it came true"
# A Gaussian kernel averages about as many ranks as a window of this many bandwidths.
_WINDOW = 2 * np.sqrt(np.pi)


class PredictionPoweredReliabilityDisplay(ShownInNotebooks):
    r"""Reliability diagram where few rows are labelled and all are judged.

    It is recommended to use :meth:`from_predictions` to create a display. All parameters are stored
    as attributes, unchanged.

    Parameters
    ----------
    curve : MeanReliabilityCurve
        Observed against predicted probability; its targets are prediction-powered.
    n_labels : int, default=None
        Number of labelled rows, for the title.
    effective_labels : float, default=None
        How many labels would tell as much without a judge, for the title.
    confidence_level : float, default=None
        Level of the band, for the legend.

    Attributes
    ----------
    panel_ : MeanReliabilityDisplay
        The diagram, drawn.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.inference.prediction_powered_calibration : The same in numbers, with a test.
    MeanReliabilityDisplay : The diagram of any predicted means.

    Notes
    -----
    The targets are :func:`~skcal.inference.prediction_powered_targets`, and curve and band are
    those of :class:`MeanReliabilityDisplay`. The bandwidth is that of as many rows as the labels
    are worth, see :func:`~skcal.inference.prediction_powered_calibration`. Where labels and
    verdicts hardly ever disagree, their variance is too small: the band counts a pair of labels
    more that differ from the verdict by 1, one each way, in each window of the kernel, or at each
    prediction if there are few. It is cut off at 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.diagrams import PredictionPoweredReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.beta(5, 1.5, size=5000)
    >>> y = rng.random(5000) < proba**1.5
    >>> verdict = np.where(rng.random(5000) < 0.9, y, ~y)
    >>> label = np.where(rng.random(5000) < 0.04, y, np.nan)
    >>> display = PredictionPoweredReliabilityDisplay.from_predictions(label, proba, verdict)
    >>> display.n_labels, round(display.effective_labels)
    (214, 450)
    """

    panel_: MeanReliabilityDisplay
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        curve: MeanReliabilityCurve,
        n_labels: int | None = None,
        effective_labels: float | None = None,
        confidence_level: float | None = None,
    ) -> None:
        self.curve = curve
        self.n_labels = n_labels
        self.effective_labels = effective_labels
        self.confidence_level = confidence_level

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        proxy: ArrayLike | None = None,
        *,
        sampling_probability: float | ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        proxy_weight: float | ArrayLike | Literal["auto"] = "auto",
        bandwidth: float | Literal["auto"] = "auto",
        confidence_level: float = 0.95,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        r"""Draw the diagram of given predictions, labels and verdicts.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels; NaN, None or masked where there is none.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities.
        proxy : array-like of shape (n_samples,) or (n_samples, n_proxies), default=None
            Verdicts of a judge, or of several: labels of `y_true`, or probabilities of the positive
            label. None means that there is no judge.
        sampling_probability : float or array-like of shape (n_samples,), default=None
            Probability that each row was to be labelled, above 0. None means a simple random sample
            of the rows.
        pos_label : int, float, bool or str, default=None
            The label that `y_proba` is the probability of. Needed unless labels are {0, 1} or
            {-1, 1}.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`; the labels of both classes for a single column, that
            of the event last.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of any scale.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        proxy_weight : "auto", float or array-like of shape (n_proxies,), default="auto"
            How much verdicts count, see :func:`skcal.inference.prediction_powered_targets`.
        bandwidth : float or "auto", default="auto"
            Bandwidth of the curve, as a share of all rows in [0.02, 1].
        confidence_level : float, default=0.95
            Level of the band, in (0, 1).
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        PredictionPoweredReliabilityDisplay
            The display, drawn.
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        width = check_bandwidth(bandwidth)
        level = check_confidence_level(confidence_level)
        given, _ = read_few_labels(
            y_true,
            y_proba,
            proxy,
            sampling_probability=sampling_probability,
            pos_label=pos_label,
            labels=labels,
            sample_weight=sample_weight,
            clusters=clusters,
        )
        rows = arrange_clusters(given)
        targets, _ = make_targets(rows, read_proxy_weight(proxy_weight, rows))
        worth = count_effective_labels(rows, targets)
        width = choose_bandwidth(worth) if isinstance(width, str) else width
        curve = _make_curve(rows, targets, width, level)
        n_labels = int(given.is_labelled.sum())
        display = cls(
            curve=curve, n_labels=n_labels, effective_labels=worth, confidence_level=level
        )
        return display.plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
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
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curve.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the band, or `vlines` for the
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
        check_look(
            curve_kwargs=curve_kwargs,
            band_kwargs=band_kwargs,
            ref_line_kwargs=ref_line_kwargs,
            despine=despine,
        )
        styles = curve_kwargs, band_kwargs, ref_line_kwargs
        with open_figure(ax, 1, square=True) as (axes,):
            check_shown(axes, _QUANTITIES)
            self.panel_ = MeanReliabilityDisplay(
                curves=[self.curve], confidence_level=self.confidence_level
            )
            draw_means(self.panel_, axes, [None], styles)
            keep_shown(self.panel_.lines_, _QUANTITIES)
            finish_values(axes, _QUANTITIES, despine=despine)
            if self.n_labels is not None and self.effective_labels is not None:
                axes.set_title(
                    f"{self.n_labels} labels, worth {self.effective_labels:.0f}", fontsize="medium"
                )
            self.ax_, self.figure_ = axes, axes.figure
        return self


def _make_curve(rows, targets, width, level):
    """The curve of the targets, with the band of rows with pairs."""
    places = np.unique(rows.predictions)
    if is_shown_by_value(len(places)):
        padded = rows.pad(targets, places=places, n_pairs=len(places))
    else:
        n_pairs = max(1.0, 1 / (_WINDOW * width))
        padded = rows.pad(targets, n_places=int(np.ceil(2 * n_pairs)), n_pairs=n_pairs)
    plain = _make_rows(targets, rows.predictions, rows.weights, rows.member)
    found = make_curve(plain, "auto", width, level)
    places, *ends = make_curve(_make_rows(*padded), "auto", width, level).band
    return found._replace(band=(places, *(np.clip(end, 0.0, 1.0) for end in ends)))


def _make_rows(targets, predictions, weights, member):
    return MeanRows(targets, predictions, None if (weights == 1).all() else weights, member)
