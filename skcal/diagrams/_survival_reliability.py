"""Reliability diagrams of predicted risks up to several horizons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from skcal._input._censored_times import read_horizons, read_risks, read_row_times
from skcal._input._predicted._means import read_means
from skcal._input._predicted_risks import read_predicted_risks
from skcal._input._validation import (
    check_confidence_level,
    check_sample_weight,
    show_labels,
)
from skcal._numerics.survival._horizon_risk import bound_horizon
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.diagrams._entries import write_apart
from skcal.diagrams._figure import choose_n_panels, open_figure
from skcal.diagrams._mean_reliability import (
    MeanReliabilityCurve,
    MeanReliabilityDisplay,
    check_bandwidth,
    draw_means,
    make_curve,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import check_look, choose_styles, merge_style
from skcal.diagrams._value_axes import finish_values

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_QUANTITIES = "Predicted risk", "Observed risk"
# Times that differ by less, in parts of them, differ by rounding.
_SAME = 1e-9


@as_record
class HorizonCurve(NamedTuple):
    """One horizon of a :class:`SurvivalReliabilityDisplay`.

    Attributes
    ----------
    horizon : float
        Risks are those of the event up to this time.
    curve : MeanReliabilityCurve
        Observed against predicted risk; its targets are pseudo-values.
    expected : float
        Mean of the predicted risks.
    observed : tuple of three float
        Kaplan-Meier or Aalen-Johansen estimate of the risk, and the ends of its interval.
    ratio : tuple of three float
        Observed over expected, and the ends of its interval.
    """

    horizon: float
    curve: MeanReliabilityCurve
    expected: float
    observed: tuple[float, float, float]
    ratio: tuple[float, float, float]


class SurvivalReliabilityDisplay(ShownInNotebooks):
    r"""Reliability diagrams of predicted risks, one for each horizon, and mean risks over time.

    Rows may be censored. A curve above the diagonal says that risks there are too low.

    It is recommended to use :meth:`from_predictions` to create a display. All parameters are stored
    as attributes, unchanged.

    Parameters
    ----------
    curves : list of HorizonCurve
        One for each horizon, in ascending order.
    confidence_level : float, default=None
        Level of bands and intervals, for the legend.
    expected_curve : tuple of two ndarray of shape (n_times,), default=None
        Times, and the mean of the predicted risks up to each. None knows those of the horizons
        alone, which a dotted line joins.

    Attributes
    ----------
    panels_ : list of MeanReliabilityDisplay
        The diagrams of single horizons, drawn.
    observed_ : matplotlib Artist
        Intervals of the observed risk over time; None without axes for it.
    expected_ : matplotlib Artist
        Mean predicted risk over time; None without axes for it.
    axes_ : ndarray of matplotlib Axes
        Axes of the horizons, and of time.
    figure_ : matplotlib Figure
        Figure with the diagrams.

    See Also
    --------
    skcal.survival.survival_calibration : The same in numbers, with tests.
    MeanReliabilityDisplay : The diagram of one horizon; it takes pseudo-values.

    Notes
    -----
    The targets are :func:`~skcal.survival.pseudo_values`. Curves and bands are those of
    :class:`MeanReliabilityDisplay`, which take the variance from the rows, so that they allow
    for what censoring loses. Intervals over time, and of the ratio, are those of
    :func:`~skcal.survival.survival_calibration`, also where all or no rows have the event.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.diagrams import SurvivalReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=1000)
    >>> time, end = rng.exponential(1 / rate) ** 0.7, rng.exponential(5, size=1000)
    >>> event, seen, times = time <= end, np.minimum(time, end), [1, 2, 3]
    >>> risk = 1 - np.exp(-rate[:, None] * times)
    >>> display = SurvivalReliabilityDisplay.from_predictions(event, seen, risk, times=times)
    >>> [round(curve.ratio[0], 1) for curve in display.curves]
    [1.0, 1.2, 1.3]
    """

    panels_: list[MeanReliabilityDisplay]
    observed_: Artist | None
    expected_: Artist | None
    axes_: np.ndarray
    figure_: Figure

    def __init__(
        self,
        *,
        curves: list[HorizonCurve],
        confidence_level: float | None = None,
        expected_curve: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.curves = curves
        self.confidence_level = confidence_level
        self.expected_curve = expected_curve

    @classmethod
    def from_predictions(
        cls,
        event: ArrayLike,
        time: ArrayLike,
        risk: ArrayLike | None = None,
        *,
        times: ArrayLike,
        survival: ArrayLike | None = None,
        horizons: ArrayLike | None = None,
        cause: int | None = None,
        censored: int | None = None,
        strata: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        bandwidth: float | Literal["auto"] = "auto",
        confidence_level: float = 0.95,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        r"""Draw the diagrams of given risks.

        Parameters
        ----------
        event : array-like of shape (n_samples,)
            1 or True if `time` is the time of the event, 0 or False if the row was censored then.
            With `cause` the kind of the event, a positive integer, or `censored`.
        time : array-like of shape (n_samples,)
            Times until the event, or until a row was censored, not negative.
        risk : array-like of shape (n_samples, n_times) or (n_samples,), default=None
            Predicted probabilities of the event up to each of the times, whose mean does not fall.
        times : float or array-like of shape (n_times,)
            Times of the predictions, positive and increasing. The horizons among them must not be
            later than the last time, or that of a stratum, unless the last rows had an event.
        survival : array-like of shape (n_samples, n_times) or (n_samples,), default=None
            In place of `risk`, predicted probabilities to have no event up to each of the times,
            whose mean does not rise. There is one kind of event.
        horizons : float or array-like, default=None
            Those of `times` that have a diagram each; all of them draw the mean predicted risk
            over time. None takes all as horizons.
        cause : int, default=None
            Kind of event whose risk is predicted, where an event of another kind makes it
            impossible. None says that there is one kind.
        censored : int, default=None
            Code of censored rows, used with `cause`, see :func:`skcal.survival.at_horizon`.
        strata : array-like of shape (n_samples,), default=None
            Labels of parts of the rows in which censoring is alike; by default it is alike in all.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sampling weights of any scale, such as those of a case-cohort design, see
            :ref:`weights-in-inference`.
        bandwidth : float or "auto", default="auto"
            Bandwidth of the curves, as a share of all rows in [0.02, 1].
        confidence_level : float, default=0.95
            Level of bands and intervals, in (0, 1).
        ax : matplotlib axes or array of them, default=None
            Axes to draw on: one for each horizon, the same and one for time, or of several
            horizons one for time alone. None creates a new figure, with that for time if there are
            several horizons.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        SurvivalReliabilityDisplay
            The display, drawn.
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        width = check_bandwidth(bandwidth)
        level = check_confidence_level(confidence_level)
        known = None
        if horizons is not None:
            given = time, times, horizons, risk, survival, cause, sample_weight
            times, risk, known = _choose_horizons(*given)
            survival = None
        rows = read_predicted_risks(
            event,
            time,
            risk,
            times,
            survival=survival,
            cause=cause,
            censored=censored,
            strata=strata,
            clusters=clusters,
            sample_weight=sample_weight,
        )
        columns = rows.horizons, rows.values.T, rows.risks.T, rows.telling
        shared = rows.weights, rows.clusters
        curves = [
            _make_horizon(horizon, read_means(target, predicted, *shared), told, width, level)
            for horizon, target, predicted, told in zip(*columns, strict=True)
        ]
        display = cls(curves=curves, confidence_level=level, expected_curve=known)
        return display.plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | np.ndarray | None = None,
        *,
        curve_kwargs: dict[str, Any] | None = None,
        band_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the diagrams.

        Parameters
        ----------
        ax : matplotlib axes or array of them, default=None
            Axes to draw on: one for each horizon, the same and one for time, or of several
            horizons one for time alone. None creates a new figure, with that for time if there are
            several horizons.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the bands, or `vlines` for the
            intervals of single predictions.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonals.
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
        n_horizons = len(self.curves)
        n_panels = choose_n_panels(ax, n_horizons + (n_horizons > 1), n_horizons, 1)
        n_diagrams = n_horizons if n_panels >= n_horizons else 0
        with open_figure(ax, n_panels, panels=n_panels > 1, square=n_panels == 1) as axes:
            self.panels_ = []
            horizons = [found.horizon for found in self.curves]
            whole = all(float(horizon).is_integer() for horizon in horizons)
            words = [f"{horizon:.0f}" for horizon in horizons] if whole else write_apart(horizons)
            shown = axes[:n_diagrams], self.curves[:n_diagrams], words[:n_diagrams]
            for one, found, until in zip(*shown, strict=True):
                panel = MeanReliabilityDisplay(
                    curves=[found.curve], confidence_level=self.confidence_level
                )
                draw_means(panel, one, [None], styles)
                finish_values(one, _QUANTITIES, despine=despine, legend=False)
                one.set_title(_title(found, until), fontsize="medium")
                self.panels_.append(panel)
            self.observed_ = self.expected_ = None
            if n_panels > n_diagrams:
                self._draw_time(axes[-1], curve_kwargs, despine)
            self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_time(self, ax, style, despine):
        """Mean risks: intervals of the observed ones beside the line of the predicted ones."""
        from matplotlib.lines import Line2D

        places = [found.horizon for found in self.curves]
        risks, low, high = np.array([found.observed for found in self.curves]).T
        level = "" if self.confidence_level is None else f", {100 * self.confidence_level:g} %"
        color = ax.spines["bottom"].get_edgecolor()
        self.observed_ = ax.errorbar(
            places,
            risks,
            [risks - low, high - risks],
            fmt="o",
            color=color,
            markersize=4,
            linewidth=1.2,
            label=f"observed{level}",
        )
        default = {"color": choose_styles(ax, 1)[0]["color"], "label": "predicted"}
        if self.expected_curve is None:  # nothing is known of the model between the horizons
            expected = [found.expected for found in self.curves]
            default |= {
                "linestyle": ":",
                "marker": "s",
                "markersize": 4,
                "markevery": slice(1, None),
            }
        else:
            places, expected = self.expected_curve
        (self.expected_,) = ax.plot(
            [0.0, *places], [0.0, *expected], **merge_style(default, style, Line2D)
        )
        ax.set(xlabel="Time", ylabel="Mean risk", xlim=(0, None), ylim=(0, None), box_aspect=1)
        ax.set_title("Over time", fontsize="medium")
        ax.legend(fontsize="small", frameon=False)
        if despine:
            ax.spines[["top", "right"]].set_visible(False)


def _choose_horizons(time, times, horizons, risk, survival, cause, sample_weight):
    """Horizons, the risks up to them, and all times with the means of the risks."""
    known, wanted = read_horizons("times", times), read_horizons("horizons", horizons)
    columns = np.abs(np.subtract.outer(wanted, known)).argmin(axis=1)
    is_known = np.isclose(wanted, known[columns], rtol=_SAME, atol=0)
    if not is_known.all():
        missing = wanted[~is_known][0]
        raise ValueError(f"horizons must be among times, {show_labels(known)}; got {missing:g}.")
    n_rows = len(read_row_times(time))
    risks = read_risks(risk, survival, cause, (n_rows, len(known)))
    weights = check_sample_weight(sample_weight, n_rows)
    return wanted, risks[:, columns], (known, np.average(risks, axis=0, weights=weights))


def _make_horizon(horizon, rows, telling, bandwidth, level):
    curve = make_curve(rows, "auto", bandwidth, level)
    places, *ends = curve.band
    unknown = telling is not None and len(telling) == 0
    low, high = (np.full(len(end), np.nan) if unknown else np.clip(end, 0.0, 1.0) for end in ends)
    curve = curve._replace(band=(places, low, high))
    sums = map(rows.sum_units, (rows.targets, rows.predictions, np.ones(len(rows.targets))))
    observed, ratio, _ = bound_horizon(*sums, level, telling)
    expected = float(np.average(rows.predictions, weights=rows.weights))
    return HorizonCurve(float(horizon), curve, expected, observed, ratio)


def _title(found, until):
    ratio, low, high = found.ratio
    return f"Up to {until}\nO/E {ratio:.2f} ({low:.2f} to {high:.2f})"
