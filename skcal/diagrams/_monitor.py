"""The course of the evidence of a monitor, and calibration before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binomtest
from sklearn.utils.validation import check_is_fitted

from skcal._input._validation import check_flag
from skcal._numerics.monitoring._betting_evidence import find_price
from skcal._tools._words import show_kind, show_moment
from skcal.diagrams._entries import check_alone, draw_above, keep_shown
from skcal.diagrams._estimate import name_problem
from skcal.diagrams._figure import (
    choose_n_panels,
    draw_diagonal,
    finish_axes,
    name_axes,
    name_label,
    open_figure,
)
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._online import OnlineView, draw_map
from skcal.diagrams._style import (
    CURVE_STYLES,
    check_look,
    choose_pale_color,
    choose_word_color,
    merge_style,
)
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import OnlineRecalibration

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

# Inches of a figure of its own, without and with the detector of changes.
_SIZE, _SIZE_WITH_DETECTOR = (9.5, 4.6), (9.5, 6.2)
_MARKERS = "os^"
# Powers of ten that the evidence is shown up to, in those of its threshold: far beyond it a course
# would leave no room for the rest.
_MOST_POWERS = 4.0
# Rows that a point needs, so that its interval reaches less than 0.2 to either side.
_LEAST_ROWS = 25
# Room beyond what is shown of it, in parts of its range.
_MARGIN = 0.05


class MonitorDisplay(ShownInNotebooks):
    r"""Evidence of a monitor over rows or dates, and calibration before and after a change.

    On the left the evidence against calibration, as powers of ten, with the line that it crosses
    at an alarm, the alarm, and the estimated change point; of many rows, and of those of one date,
    the largest evidence. Where it goes far beyond that line the axes end, and words tell how far.
    Below it the detector of changes of a monitor with `run_length`, with its
    threshold and its alarms. On the right the mean outcome of the rows in each bin over their mean
    prediction, before and after the change point (or before, during and after a deviation that is
    over), each with a 95 % interval of Wilson for itself alone; neighbouring bins with fewer than
    25 rows of a period are drawn as one. For a promise there is the error rate of the accepted rows
    in these periods. Of an `OnlineRecalibration`, on the right, how the slope and the intercept of
    its map moved.

    It is recommended to use :meth:`from_monitor` to create a display.

    Parameters
    ----------
    monitor : CalibrationMonitor or OnlineRecalibration
        What is drawn, as it is when `plot` is called.

    Attributes
    ----------
    line_ : matplotlib Artist
        Course of the evidence.
    detector_line_ : matplotlib Artist or None
        Course of the detector of changes, of a monitor with `run_length`.
    threshold_line_ : matplotlib Artist
        Line at 1 / `alpha`; with a lag of h that times :math:`e \log h` (2 for h = 2), where an
        alarm may come a little before the line is crossed.
    alarm_line_ : matplotlib Artist or None
        Vertical line at the alarm of the evidence, if there is one.
    change_alarm_points_ : matplotlib Artist or None
        Points at the alarms of the detector, if there are any, at the height of its threshold.
    change_line_ : matplotlib Artist or None
        Vertical line at the estimated change point, if there is one.
    points_ : list of matplotlib Artists
        Points of the bins, for each period; lines of slope and intercept.
    ref_line_ : matplotlib Artist or None
        The diagonal, or a line at the error rate that was promised, or at no repair; None without
        these axes.
    axes_ : ndarray of matplotlib Axes
        Axes of the evidence, of the bins, and of the detector if there is one, or of the evidence
        alone.
    figure_ : matplotlib Figure
        Figure with all of them.

    See Also
    --------
    skcal.monitoring.CalibrationMonitor : The numbers, and `describe`, which tells them in words.

    Notes
    -----
    The change point was chosen from the same rows. Points before it look a little better, and
    points after it a little worse than they are; the evidence alone says whether there is a change.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.diagrams import MonitorDisplay
    >>> from skcal.monitoring import CalibrationMonitor
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(4000)
    >>> truth = np.where(np.arange(4000) < 2000, y_proba, y_proba**1.5)
    >>> monitor = CalibrationMonitor().update(rng.random(4000) < truth, y_proba)
    >>> display = MonitorDisplay.from_monitor(monitor)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['Row', 'Predicted probability (Positive label: 1)']
    """

    line_: Artist
    detector_line_: Artist | None
    threshold_line_: Artist
    alarm_line_: Artist | None
    change_alarm_points_: Artist | None
    change_line_: Artist | None
    points_: list[Artist]
    ref_line_: Artist | None
    axes_: np.ndarray
    figure_: Figure

    def __init__(self, monitor: CalibrationMonitor | OnlineRecalibration) -> None:
        self.monitor = monitor

    @classmethod
    def from_monitor(
        cls,
        monitor: CalibrationMonitor | OnlineRecalibration,
        *,
        ax: Any = None,
        **plot_kwargs: Any,
    ) -> MonitorDisplay:
        """Draw a monitor.

        Parameters
        ----------
        monitor : CalibrationMonitor or OnlineRecalibration
            A monitor that has taken in some rows.
        ax : matplotlib axes or array-like of them, default=None
            As many axes as `axes_` has, which show no other display, or one for the evidence
            alone. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        MonitorDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import MonitorDisplay
        >>> from skcal.monitoring import CalibrationMonitor
        >>> monitor = CalibrationMonitor().update([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4])
        >>> display = MonitorDisplay.from_monitor(monitor, despine=True)
        >>> display.axes_[0].get_title()
        'No alarm in 4 rows'
        """
        return cls(monitor).plot(ax=ax, **plot_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        line_kwargs: dict[str, Any] | None = None,
        threshold_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> MonitorDisplay:
        """Draw all panels.

        Parameters
        ----------
        ax : matplotlib axes or array-like of them, default=None
            As many axes as `axes_` has, which show no other display, or one for the evidence
            alone. None creates a new figure.
        line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the course of the evidence.
        threshold_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axhline` for the line at 1 / `alpha`.
        point_kwargs : dict, default=None
            Keyword arguments of matplotlib's `errorbar` for the points and intervals of the bins,
            or of its `plot` for slope and intercept.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal, or of its `axhline` for a
            promise.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        if not isinstance(self.monitor, CalibrationMonitor | OnlineRecalibration):
            raise ValueError(
                "monitor must be a CalibrationMonitor or an OnlineRecalibration; got "
                f"{show_kind(self.monitor)}."
            )
        self._shown: Any = self.monitor
        if isinstance(self.monitor, OnlineRecalibration):
            check_is_fitted(self.monitor)
            self._shown = OnlineView(self.monitor)
        if self._shown.n_samples_ == 0:
            raise ValueError("monitor holds no rows; update it with some first.")
        check_flag("despine", despine)
        check_look(
            line_kwargs=line_kwargs,
            threshold_kwargs=threshold_kwargs,
            point_kwargs=point_kwargs,
            ref_line_kwargs=ref_line_kwargs,
        )
        n_panels = choose_n_panels(ax, 2 if self._shown.run_length is None else 3, 1)
        has_detector = n_panels == 3
        with open_figure(ax, n_panels, panels=ax is None) as axes:
            check_alone(axes, "the title tells the alarms of one monitor")
            left, *others = axes
            right, below = others[:1], others[1:]
            if ax is None:
                _arrange(*axes)
            self._draw_evidence(left, line_kwargs, threshold_kwargs)
            self.detector_line_ = self.change_alarm_points_ = None
            if has_detector:
                self._draw_detector(*below)
            for one in (left, *below):
                # Below the panel and its labels no line passes through it.
                place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": 2}
                place["borderaxespad"] = 0.8 if one is left and below else 4.8
                look = place | {"frameon": False} if ax is None else {"edgecolor": "none"}
                one.legend(**look, fontsize="small")
            keep_shown([self.line_], ("Evidence",))
            self.points_, self.ref_line_ = [], None
            for one in right:
                if isinstance(self.monitor, OnlineRecalibration):
                    course = self._shown.history_, point_kwargs, ref_line_kwargs
                    self.ref_line_, self.points_ = draw_map(one, *course, despine=despine)
                    one.set_xlim(left.get_xlim())
                    continue
                draw = self._draw_bins if self._shown.promise is None else self._draw_rates
                draw(one, point_kwargs, ref_line_kwargs, despine)
            if despine:
                for one in (left, *below):
                    one.spines[["top", "right"]].set_visible(False)
            if ax is None and below:  # the rows are named below the detector
                left.tick_params(labelbottom=False)
                left.set_xlabel("")
                left.xaxis.offsetText.set_visible(False)
            self.axes_, self.figure_ = axes, left.figure
        return self

    def _draw_evidence(self, ax, line_style, threshold_style):
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        monitor = self._shown
        axis, history = self._list_history()
        what = "calibration" if monitor.promise is None else "the promise"
        look = {**CURVE_STYLES[0], "linewidth": 1.5, "label": f"Evidence against {what}"}
        if len(history) == 1:  # no line has one point
            look["marker"] = "o"
        look = merge_style(look, line_style, Line2D)
        (self.line_,) = ax.plot(history[axis], history["log_e_value"] / np.log(10), **look)
        look = {"color": CURVE_STYLES[1]["color"], "linestyle": "--", "linewidth": 1.2}
        threshold = find_price(monitor.lag) / monitor.alpha
        look["label"] = f"Threshold {threshold:.4g}"
        look = merge_style(look, threshold_style, Line2D)
        self.threshold_line_ = ax.axhline(np.log10(threshold), **look)
        _cut_powers(ax, self.line_, np.log10(threshold))
        self._mark_alarm(ax, axis, history[axis].iloc[0])
        ax.set_title(self._tell_alarms(axis), fontsize="medium")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self._label(ax, "Evidence")

    def _draw_detector(self, ax):
        """Course of the detector, its threshold, and points at its alarms."""
        from matplotlib.ticker import MaxNLocator

        monitor, (axis, history) = self._shown, self._list_history()
        look = {"color": CURVE_STYLES[2]["color"], "linewidth": 1.5, "label": "Detector of changes"}
        if len(history) == 1:
            look["marker"] = "o"
        heights = history["log_detector"].replace(-np.inf, np.nan) / np.log(10)
        (self.detector_line_,) = ax.plot(history[axis], heights, **look)
        threshold, alarms = np.log10(monitor.run_length), monitor.change_alarms_
        look = {"color": CURVE_STYLES[1]["color"], "linestyle": "--", "linewidth": 1.2}
        ax.axhline(threshold, label=f"Threshold {monitor.run_length:,}", **look)
        _cut_powers(ax, self.detector_line_, threshold)
        if len(alarms):
            look = {"color": CURVE_STYLES[1]["color"], "marker": "v", "markersize": 5}
            look |= {"linestyle": "none", "label": "Alarm at a change"}
            places = np.full(len(alarms), threshold)
            (self.change_alarm_points_,) = ax.plot(alarms[axis], places, **look)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        self._label(ax, "Detector")
        keep_shown([self.detector_line_], ("Detector",))

    def _list_history(self):
        """Whether rows or times are counted, and the largest values of each."""
        history = self._shown.history_
        axis = "time" if "time" in history else "row"
        # Rows of one date would make a vertical line.
        return axis, history.groupby(axis, as_index=False).max()

    def _label(self, ax, quantity):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        axis, history = self._list_history()
        ax.yaxis.set_major_formatter(FuncFormatter(_write_power))
        counted = "Row" if self._shown.promise is None else "Accepted row"
        ax.set(xlabel="Time" if axis == "time" else counted, ylabel=quantity)
        if history[axis].dtype.kind == "M":
            ticks = AutoDateLocator(maxticks=8)
            ax.xaxis.set_major_locator(ticks)
            ax.xaxis.set_major_formatter(ConciseDateFormatter(ticks))
        else:
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=axis == "row"))
            write = _write_row if axis == "row" else _write_moment
            ax.xaxis.set_major_formatter(FuncFormatter(write))
            if axis == "row" and len(history) == 1:
                row = history[axis].iloc[0]
                ax.set_xlim(row - 1, row + 1)

    def _mark_alarm(self, ax, axis, start):
        """Lines at the alarm and the change point."""
        monitor, has_times = self._shown, axis == "time"
        self.alarm_line_ = self.change_line_ = None
        if monitor.alarm_ is not None:
            look = {"color": CURVE_STYLES[1]["color"], "linewidth": 1.0, "label": "Alarm"}
            place = monitor.alarm_time_ if has_times else monitor.alarm_
            self.alarm_line_ = ax.axvline(place, **look)
        if monitor.change_point_ is not None:
            look = {"color": choose_pale_color(ax), "linestyle": ":", "linewidth": 1.2}
            look["label"] = "Estimated change"
            since = monitor.change_time_ if has_times else monitor.change_point_
            self.change_line_ = ax.axvline(start if since is None else since, **look)

    def _tell_alarms(self, axis):
        """The title: the alarm, and the last one at a change."""
        monitor, found = self._shown, []
        for name, row, time in (
            ("", monitor.alarm_, monitor.alarm_time_),
            ("at a change ", monitor.change_alarm_, monitor.change_alarm_time_),
        ):
            if row is not None:
                place = f"row {row:,}" if axis == "row" else show_moment(time)
                found.append(f"{name}at {place}")
        rows = "row" if monitor.promise is None else "accepted row"
        rows = f"1 {rows}" if monitor.n_samples_ == 1 else f"{monitor.n_samples_:,} {rows}s"
        return "Alarm " + "; last ".join(found) if found else f"No alarm in {rows}"

    def _draw_bins(self, ax, style, ref_style, despine):
        """Mean outcomes in bins over their mean predictions."""
        self.ref_line_ = draw_diagonal(ax, ref_style)
        self._draw_points(ax, style)
        reduction, pos_label = name_problem(self._shown, None)
        label = name_label(reduction, pos_label)
        keep_shown(self.points_, name_axes(reduction), label)
        finish_axes(ax, name_axes(reduction, label), despine=despine)

    def _draw_rates(self, ax, style, ref_style, despine):
        """Error rates of the accepted rows in each period, and the one that was promised."""
        from matplotlib.lines import Line2D

        at_most = self._shown.promise["at_most"]
        look = {"color": choose_pale_color(ax), "linestyle": ":", "linewidth": 1.2, "zorder": 1.8}
        look["label"] = f"Promised: at most {100 * at_most:.3g} %"
        self.ref_line_ = ax.axhline(at_most, **merge_style(look, ref_style, Line2D))
        self._draw_points(ax, style)
        keep_shown(self.points_, ("Period", "Error rate"))
        ax.set(ylabel="Error rate of accepted rows", xticks=[], ylim=(0, None))
        ax.set_xlim(-0.5, len(self.points_) - 0.5)
        draw_above(ax)
        if despine:
            ax.spines[["top", "right"]].set_visible(False)

    def _draw_points(self, ax, style):
        from matplotlib.lines import Line2D

        self.points_ = []
        table = self._shown.to_frame()
        what = "deviation" if "during" in set(table["period"]) else "change"
        for k, (period, part) in enumerate(table.groupby("period", sort=False)):
            sizes, predictions, means = _merge_bins(part)
            hits = (sizes * means).round().astype(int)
            ends = np.array(
                [
                    binomtest(hit, size).proportion_ci(method="wilson")
                    for hit, size in zip(hits, sizes, strict=True)
                ]
            )
            reach = np.maximum([means - ends[:, 0], ends[:, 1] - means], 0)
            name = "all rows" if period == "all" else f"{period} the {what}"
            look = {"marker": _MARKERS[k], "markersize": 5, "linestyle": "none", "elinewidth": 1}
            look |= {"color": CURVE_STYLES[k]["color"], "label": f"{name} ({sizes.sum():,})"}
            look = merge_style(look, style, Line2D)
            places = predictions if self._shown.promise is None else [k]
            points, _, _ = ax.errorbar(places, means, yerr=reach, **look)
            self.points_.append(points)


def _arrange(left, right, *below):
    """Give the panels of a new figure their places: the detector has the times of the evidence."""
    figure = left.figure
    figure.set_size_inches(_SIZE_WITH_DETECTOR if below else _SIZE)
    for detector in below:
        grid = figure.add_gridspec(2, 2, height_ratios=(3, 2))
        for one, place in ((left, grid[0, 0]), (right, grid[:, 1]), (detector, grid[1, 0])):
            one.set_subplotspec(place)
        detector.sharex(left)


def _merge_bins(part):
    """Sizes, mean predictions and mean outcomes, of neighbouring bins with a few rows as one."""
    sizes = part["n_samples"].to_numpy()
    starts, held = [0], 0
    for k, size in enumerate(sizes):
        if held >= _LEAST_ROWS and sizes[k:].sum() >= _LEAST_ROWS:
            starts.append(k)
            held = 0
        held += size
    merged = np.add.reduceat(sizes, starts)
    columns = (part[name].to_numpy() for name in ("mean_prediction", "mean_outcome"))
    return merged, *(np.add.reduceat(sizes * column, starts) / merged for column in columns)


def _cut_powers(ax, line, threshold):
    """End the axes a little beyond the threshold, and say how far the course goes."""
    heights, most = line.get_ydata(), _MOST_POWERS * threshold
    ends = np.nanmin(heights, initial=0.0), np.nanmax(heights, initial=threshold)
    shown = np.clip(ends, -most, most)
    if (shown == ends).all():
        return
    ax.set_ylim(*(shown + _MARGIN * np.ptp(shown) * np.array([-1, 1])))
    look = {"transform": ax.transAxes, "color": choose_word_color(ax), "fontsize": "small"}
    for end, arrow, place in zip(ends, "\u2193\u2191", (0.02, 0.98), strict=True):
        if abs(end) > most:
            words = {-np.inf: "0", np.inf: "\u221e"}.get(end, _write_power(np.trunc(end), None))
            ax.text(
                0.02, place, f"{arrow} to {words}", va="bottom" if place < 0.5 else "top", **look
            )


# Displays can be pickled with their figures, which no lambda can.
def _write_power(exponent, _):
    return f"$10^{{{exponent:g}}}$"


def _write_row(row, _):
    return f"{row:,.0f}"


def _write_moment(time, _):
    return show_moment(time)
