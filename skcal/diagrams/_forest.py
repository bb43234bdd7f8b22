"""Forest plot of centres: an estimate of each, their mean, and what to expect of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._input._validation import check_flag, check_number, check_option
from skcal._numerics.inference._random_effects import SCALES, find_intervals
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_kind
from skcal.diagrams._entries import check_alone, keep_shown
from skcal.diagrams._figure import open_figure, shorten_name
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options
from skcal.diagrams._style import CURVE_STYLES, check_look, merge_style
from skcal.inference import PooledEstimate, PooledValidation, pool_estimates

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches of a figure of its own.
_WIDTH, _HEIGHT, _HEIGHT_OF_A_ROW = 6.5, 1.2, 0.25
# What each quantity of a validation is called, its standard error, and its value if all is right.
_QUANTITIES = {
    "observed_expected": ("Observed / expected (O:E)", "ratio_error", 1.0),
    "calibration_in_the_large": ("Calibration in the large", "intercept_error", 0.0),
    "slope": ("Calibration slope", "slope_error", 1.0),
    "c_statistic": ("C statistic", "c_error", None),
}
# Half of the height of the diamond, and room beside the outermost ends.
_DIAMOND, _MARGIN = 0.28, 0.06


class ForestDisplay(ShownInNotebooks):
    """Forest plot of a meta-analysis.

    Each centre has a point with its confidence interval. Below them a diamond has the mean of all,
    as wide as its confidence interval, and a bar the prediction interval, where another centre is
    expected.

    It is recommended to use :meth:`from_validation` or :meth:`from_estimates` to create a display.

    Parameters
    ----------
    pooled : PooledEstimate
        Mean and prediction interval.
    names : list of str
        Names of the centres.
    estimates : ndarray of shape (n_groups,)
        Their estimates.
    errors : ndarray of shape (n_groups,)
        Standard errors of these.
    quantity : str, default="Estimate"
        What is estimated, for the x axis.
    reference : float, default=None
        Where a line is drawn, such as 1 for O:E.

    Attributes
    ----------
    points_ : matplotlib Artist
        Points of the centres.
    intervals_ : matplotlib Artist
        Their intervals.
    mean_ : matplotlib Artist
        The diamond.
    next_ : matplotlib Artist
        The prediction interval.
    beyond_ : list of matplotlib Artists
        Arrows at its ends that lie beyond the axes.
    ref_line_ : matplotlib Artist
        The vertical line, None without one.
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.

    See Also
    --------
    skcal.inference.pooled_validation : The numbers, from rows.
    skcal.inference.pool_estimates : The numbers, from published estimates.
    GroupAuditDisplay : Groups for which the model may be wrong, tested all at once.

    Examples
    --------
    >>> from skcal.diagrams import ForestDisplay
    >>> ratios, errors = [0.61, 1.21, 0.73, 0.92, 1.26], [0.11, 0.18, 0.05, 0.03, 0.08]
    >>> display = ForestDisplay.from_estimates(
    ...     ratios, errors, names=list("abcde"), scale="log", quantity="O:E", reference=1
    ... )
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['a', 'b', 'c', 'd', 'e', 'mean', 'another one']
    """

    points_: Artist
    intervals_: Artist
    mean_: Artist
    next_: Artist
    beyond_: list[Artist]
    ref_line_: Artist | None
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        pooled: PooledEstimate,
        names: list[str],
        estimates: np.ndarray,
        errors: np.ndarray,
        quantity: str = "Estimate",
        reference: float | None = None,
    ) -> None:
        self.pooled = pooled
        self.names = names
        self.estimates = estimates
        self.errors = errors
        self.quantity = quantity
        self.reference = reference

    @classmethod
    def from_validation(
        cls,
        validation: PooledValidation,
        quantity: Literal[
            "observed_expected", "calibration_in_the_large", "slope", "c_statistic"
        ] = "observed_expected",
        *,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> ForestDisplay:
        """Draw one quantity of a validation over groups.

        Parameters
        ----------
        validation : PooledValidation
            What :func:`~skcal.inference.pooled_validation` found.
        quantity : str, default="observed_expected"
            "observed_expected", "calibration_in_the_large", "slope" or "c_statistic". Groups that
            are not in its mean are not drawn.
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ForestDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, or if fewer than two groups are in the mean.

        Examples
        --------
        >>> import numpy as np
        >>> from skcal.diagrams import ForestDisplay
        >>> from skcal.inference import pooled_validation
        >>> rng = np.random.default_rng(0)
        >>> risk, site = rng.uniform(0.1, 0.9, 900), np.repeat(["a", "b", "c"], 300)
        >>> found = pooled_validation((rng.random(900) < risk).astype(int), risk, site)
        >>> display = ForestDisplay.from_validation(found, "slope")
        """
        if not isinstance(validation, PooledValidation):
            raise ValueError(f"validation must be a PooledValidation; got {show_kind(validation)}.")
        check_option("quantity", quantity, _QUANTITIES)
        check_plot_options(cls.plot, plot_kwargs, cls.from_validation)
        title, error, reference = _QUANTITIES[quantity]
        table, pooled = validation.table, getattr(validation, quantity)
        is_known = np.isfinite(table[quantity]) & np.isfinite(table[error])
        if np.isnan(pooled.estimate):
            raise ValueError(
                f"quantity must be known of at least two groups; {quantity!r} is of "
                f"{int(is_known.sum())}."
            )
        table = table[is_known]
        display = cls(
            pooled=pooled,
            names=[str(name) for name in table["group"]],
            estimates=table[quantity].to_numpy(),
            errors=table[error].to_numpy(),
            quantity=title,
            reference=reference,
        )
        return display.plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_estimates(
        cls,
        estimates: ArrayLike,
        errors: ArrayLike,
        *,
        names: list[str] | None = None,
        scale: Literal["identity", "log", "logit"] = "identity",
        quantity: str = "Estimate",
        reference: float | None = None,
        confidence_level: float = 0.95,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> ForestDisplay:
        """Pool published estimates, and draw them.

        Parameters
        ----------
        estimates, errors : array-like of shape (n_groups,)
            Estimates of at least two centres, and their standard errors, see
            :func:`~skcal.inference.pool_estimates`.
        names : list of str, default=None
            Names of the centres; None numbers them from 1.
        scale : {"identity", "log", "logit"}, default="identity"
            On which they are pooled: "log" for ratios, "logit" for C statistics.
        quantity : str, default="Estimate"
            What is estimated, for the x axis.
        reference : float, default=None
            Where a line is drawn, such as 1 for O:E. None draws none.
        confidence_level : float, default=0.95
            Level of each interval, in (0, 1).
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ForestDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from skcal.diagrams import ForestDisplay
        >>> display = ForestDisplay.from_estimates([0.8, 1.1, 0.9], [0.1, 0.1, 0.2], reference=1)
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_estimates)
        pooled = pool_estimates(estimates, errors, scale=scale, confidence_level=confidence_level)
        if reference is not None:
            reference = check_number("reference", reference, -np.inf)
            low, high = SCALES[scale].limits
            if not low < reference < high:
                raise ValueError(
                    f"reference must lie between {low:g} and {high:g} on the {scale} scale; got "
                    f"{reference:g}."
                )
        values = np.asarray(estimates, dtype=np.float64)
        shown = [str(place) for place in range(1, len(values) + 1)]
        if names is not None:
            shown = [str(name) for name in names]
        if len(shown) != len(values):
            raise ValueError(
                f"names must have one for each of the {len(values)} estimates; got {len(shown)}."
            )
        display = cls(
            pooled=pooled,
            names=shown,
            estimates=values,
            errors=np.asarray(errors, dtype=np.float64),
            quantity=quantity,
            reference=reference,
        )
        return display.plot(ax=ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        interval_kwargs: dict[str, Any] | None = None,
        mean_kwargs: dict[str, Any] | None = None,
        next_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> ForestDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure, as high as the centres need.
        interval_kwargs : dict, default=None
            Keyword arguments of matplotlib's `errorbar` for points and intervals.
        mean_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill` for the diamond.
        next_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the prediction interval.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axvline` for the line at `reference`.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_flag("despine", despine)
        check_look(
            interval_kwargs=interval_kwargs,
            mean_kwargs=mean_kwargs,
            next_kwargs=next_kwargs,
            ref_line_kwargs=ref_line_kwargs,
        )
        n_rows = len(self.names) + 2
        with open_figure(ax, 1, panels=False) as (axes,):
            check_alone([axes], "the y axis has the centres of one meta-analysis")
            if ax is None:
                axes.figure.set_size_inches(_WIDTH, _HEIGHT + _HEIGHT_OF_A_ROW * n_rows)
                axes.figure.set_layout_engine("constrained")
            self._draw(axes, interval_kwargs, mean_kwargs, next_kwargs, ref_line_kwargs)
            keep_shown([self.points_], ("Centre",))
            names = [shorten_name(name) for name in self.names]
            labels = [*names, "mean", "another one"]
            axes.set_yticks(np.arange(n_rows), labels, parse_math=False)
            axes.set_ylim(n_rows - 0.5, -0.5)
            level = f"{100 * self.pooled.confidence_level:g} %"
            axes.set_xlabel(f"{self.quantity}\n({level} intervals)")
            if despine:
                axes.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw(self, axes, interval_kwargs, mean_kwargs, next_kwargs, ref_line_kwargs):
        from matplotlib.lines import Line2D
        from matplotlib.patches import Polygon

        pooled, values = self.pooled, np.asarray(self.estimates)
        low, high = find_intervals(values, self.errors, pooled.scale, pooled.confidence_level)
        color, other = (style["color"] for style in CURVE_STYLES[:2])
        if pooled.scale == "log":
            axes.set_xscale("log")
        self.ref_line_ = None
        if self.reference is not None:
            style = {"color": axes.spines["bottom"].get_edgecolor(), "linewidth": 0.8}
            style = merge_style(style, ref_line_kwargs, Line2D)
            self.ref_line_ = axes.axvline(self.reference, **style)
        style = {"marker": "s", "markersize": 4, "linestyle": "none", "elinewidth": 1.2}
        style = merge_style(style | {"color": color}, interval_kwargs, Line2D)
        reach = np.maximum([values - low, high - values], 0)
        self.points_, _, (self.intervals_,) = axes.errorbar(
            values, np.arange(len(values)), xerr=reach, **style
        )
        place = len(values)
        corners = [pooled.low, pooled.estimate, pooled.high, pooled.estimate]
        heights = place + _DIAMOND * np.array([0, -1, 0, 1])
        style = merge_style({"color": other, "linewidth": 0}, mean_kwargs, Polygon)
        (self.mean_,) = axes.fill(corners, heights, **style)
        limits = self._find_limits(low, high)
        ends = np.array([pooled.low_of_next, pooled.high_of_next])
        shown = np.clip(ends, *limits)
        style = merge_style({"color": other, "linewidth": 3}, next_kwargs, Line2D)
        (self.next_,) = axes.plot(shown, [place + 1] * 2, **style)
        self.beyond_ = [
            axes.plot(end, place + 1, marker=marker, color=self.next_.get_color(), clip_on=False)[0]
            for end, marker, goes_on in zip(shown, "<>", ends != shown, strict=True)
            if goes_on
        ]
        axes.set_xlim(limits)
        if pooled.scale == "log":
            _place_ticks(axes.xaxis, limits[1] / limits[0])

    def _find_limits(self, low, high):
        """Ends of the x axis, on which a prediction interval takes two thirds at most."""
        pooled, is_log = self.pooled, self.pooled.scale == "log"
        shown = np.array([*low, *high, *self.estimates, *pooled[:3]])
        if self.reference is not None:
            shown = np.append(shown, self.reference)
        if is_log:
            shown = np.log(shown[shown > 0])
        shown = shown[np.isfinite(shown)]
        ends, size = np.array([shown.min(), shown.max()]), np.ptp(shown)
        with np.errstate(divide="ignore"):
            of_next = np.array([pooled.low_of_next, pooled.high_of_next])
            of_next = np.log(of_next) if is_log else of_next
        wide = np.clip(of_next, ends[0] - size, ends[1] + size)
        ends = np.array([min(ends[0], wide[0]), max(ends[1], wide[1])])
        margin = _MARGIN * np.ptp(ends) or _MARGIN
        ends += [-margin, margin]
        return np.exp(ends) if is_log else ends


def _place_ticks(axis, ratio):
    """Round numbers on a log scale, of which decades alone would leave few."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    decades = LogLocator(subs=(1, 2, 5)) if ratio < 1000 else LogLocator(numticks=6)
    axis.set_major_locator(MaxNLocator(6) if ratio < 4 else decades)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
