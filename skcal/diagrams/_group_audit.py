"""Forest plot of an audit: observed minus predicted, group by group."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from skcal._input._groups import take_columns
from skcal._input._validation import check_flag, check_integer, check_number
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_kind, show_pvalue
from skcal.diagrams._entries import check_alone, keep_shown
from skcal.diagrams._figure import open_figure, shorten_name
from skcal.diagrams._notebook import ShownInNotebooks
from skcal.diagrams._response import check_plot_options, predict_class_probabilities
from skcal.diagrams._style import CURVE_STYLES, check_look, merge_style
from skcal.inference import GroupAudit, audit_groups

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

# Inches of a figure of its own: wide, for the names, and high enough that they do not touch.
_WIDTH, _HEIGHT, _HEIGHT_OF_A_GROUP = 7.5, 1.2, 0.22
# The legend has a place of its own below the groups; room around it, in rows.
_ROOM_OF_LEGEND = 0.3
_MOST_TICKS, _TICK = 6, 0.5  # inches
# More values that have too few rows are counted; letters of a line of them.
_MOST_NAMES, _LINE = 3, 46
_KINDS = {"two-sided": "intervals", "greater": "lower bounds", "less": "upper bounds"}
_BEYOND = "miscalibrated, though the mean may be right"
# What lies beyond points and bounds where some intervals are open, as a share of their range.
_MARGIN = 0.15


class GroupAuditDisplay(ShownInNotebooks):
    """Forest plot of an audit of groups.

    Each group has a point, its mean outcome minus its mean prediction, and an interval; all
    intervals hold at once. Groups in which the model is miscalibrated, by their adjusted p-values,
    are on top and of another colour, larger differences first: filled points, or open diamonds
    where the interval contains 0, so that the test sees more than the mean.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_audit`
    to create a display.

    Parameters
    ----------
    audit : GroupAudit
        What is drawn.

    Attributes
    ----------
    points_ : list of matplotlib Artists
        Points of the groups that are rejected, of those of them whose interval contains 0, and of
        the others, as far as there are some.
    intervals_ : list of matplotlib Artists
        Their intervals.
    ref_line_ : matplotlib Artist
        Vertical line at 0.
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.

    See Also
    --------
    skcal.inference.audit_groups : The numbers.
    skcal.inference.audit_mean_groups : Those of predicted means, which :meth:`from_audit` draws.
    skcal.inference.audit_features : Rules found in features, whose ``slices`` it draws as well.

    Notes
    -----
    Where the mean is tested, interval and test agree. The statistics "slope" and "kuiper" also see
    errors that cancel out in the mean, so that a group may be rejected whose interval contains 0:
    the legend says so.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.diagrams import GroupAuditDisplay
    >>> from skcal.inference import audit_groups
    >>> rng = np.random.default_rng(0)
    >>> y_proba, site = rng.random(600), rng.choice(["north", "south"], size=600)
    >>> audit = audit_groups(rng.random(600) < y_proba, y_proba, site, random_state=0)
    >>> display = GroupAuditDisplay(audit).plot()
    >>> sorted(label.get_text() for label in display.ax_.get_yticklabels())
    ['north (298)', 'south (302)']
    """

    points_: list[Artist]
    intervals_: list[Artist]
    ref_line_: Artist
    ax_: Axes
    figure_: Figure

    def __init__(self, audit: GroupAudit) -> None:
        self.audit = audit

    @classmethod
    def from_audit(
        cls, audit: GroupAudit, *, ax: Axes | None = None, **plot_kwargs: Any
    ) -> GroupAuditDisplay:
        """Draw an audit.

        Parameters
        ----------
        audit : GroupAudit
            What :func:`~skcal.inference.audit_groups` or
            :func:`~skcal.inference.audit_mean_groups` found.
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        GroupAuditDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import GroupAuditDisplay
        >>> from skcal.inference import audit_groups
        >>> audit = audit_groups([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], ["a", "b", "b", "a"])
        >>> display = GroupAuditDisplay.from_audit(audit, despine=True)
        """
        return cls(audit).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        groups: Any,
        *,
        ax: Axes | None = None,
        plot_kwargs: dict[str, Any] | None = None,
        **options: Any,
    ) -> GroupAuditDisplay:
        """Audit given probabilities, and draw it.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        groups : data frame, dict, Groups, or array-like
            A table to make groups from, or groups, see :func:`~skcal.inference.audit_groups`.
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure and axes.
        plot_kwargs : dict, default=None
            Keyword arguments of :meth:`plot`.
        **options : dict
            Keyword arguments of :func:`~skcal.inference.audit_groups`, such as ``max_depth=1``.

        Returns
        -------
        GroupAuditDisplay
            The display, drawn.

        Examples
        --------
        >>> from skcal.diagrams import GroupAuditDisplay
        >>> display = GroupAuditDisplay.from_predictions(
        ...     [0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], ["a", "b", "b", "a"], random_state=0
        ... )
        >>> display.ax_.get_title()
        'Test of calibration in 2 groups: p = 1.00'
        """
        check_look(plot_kwargs=plot_kwargs)
        check_plot_options(cls.plot, plot_kwargs or {}, cls.from_predictions)
        audit = audit_groups(y_true, y_proba, groups, **options)
        return cls(audit).plot(ax=ax, **plot_kwargs or {})

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        groups: Any = None,
        ax: Axes | None = None,
        plot_kwargs: dict[str, Any] | None = None,
        **options: Any,
    ) -> GroupAuditDisplay:
        """Audit a fitted classifier, and draw it.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier with `predict_proba`, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the classifier was not fitted on.
        y : array-like of shape (n_samples,)
            True labels.
        groups : data frame, dict, Groups, or array-like, default=None
            A table to make groups from, or groups, see :func:`~skcal.inference.audit_groups`.
            None takes `X`, which must be a data frame then.
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure and axes.
        plot_kwargs : dict, default=None
            Keyword arguments of :meth:`plot`.
        **options : dict
            Keyword arguments of :func:`~skcal.inference.audit_groups`, such as ``max_depth=1``.

        Returns
        -------
        GroupAuditDisplay
            The display, drawn.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import GroupAuditDisplay
        >>> X, y = make_classification(n_samples=900, n_features=4, random_state=0)
        >>> X = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> classifier = GaussianNB().fit(X[:450], y[:450])
        >>> display = GroupAuditDisplay.from_estimator(
        ...     classifier, X[450:], y[450:], max_depth=1, random_state=0
        ... )
        >>> len(display.audit.names)
        17
        """
        y_proba, labels = predict_class_probabilities(estimator, X, y)
        options = {"labels": labels, **options}
        return cls.from_predictions(
            y,
            y_proba,
            take_columns(X) if groups is None else groups,
            ax=ax,
            plot_kwargs=plot_kwargs,
            **options,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_groups: int = 30,
        alpha: float = 0.05,
        interval_kwargs: dict[str, Any] | None = None,
        ref_line_kwargs: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> GroupAuditDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes that show no other display. None creates a new figure, as high as the groups need.
        n_groups : int, default=30
            How many groups are drawn at most, those that stand out most.
        alpha : float, default=0.05
            Groups with an adjusted p-value of at most this are rejected; at least 0 and below 1.
        interval_kwargs : dict, default=None
            Keyword arguments of matplotlib's `errorbar` for points and intervals.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axvline` for the line at 0.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        if not isinstance(self.audit, GroupAudit):
            raise ValueError(f"audit must be a GroupAudit; got {show_kind(self.audit)}.")
        n_groups = check_integer("n_groups", n_groups, minimum=1)
        alpha = check_number("alpha", alpha, 0, below=1)
        check_flag("despine", despine)
        check_look(interval_kwargs=interval_kwargs, ref_line_kwargs=ref_line_kwargs)
        order = self._order_groups(n_groups, alpha)
        n_shown = len(order)
        with open_figure(ax, 1, panels=False) as (axes,):
            check_alone([axes], "the y axis has the groups of one audit")
            self._draw_line(axes, ref_line_kwargs)
            self._draw_intervals(axes, order, alpha, interval_kwargs)
            keep_shown(self.points_, ("Group",))
            entries = axes.get_legend_handles_labels()[1]
            n_columns = 1 if _BEYOND in entries else 2
            n_rows = n_shown + -(-len(entries) // n_columns) + _ROOM_OF_LEGEND
            if ax is None:
                axes.figure.set_size_inches(_WIDTH, _HEIGHT + _HEIGHT_OF_A_GROUP * n_rows)
                axes.figure.set_layout_engine("constrained")
            self._label(axes, order, n_rows, n_columns)
            if despine:
                axes.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _order_groups(self, n_groups, alpha):
        """Those that stand out most: rejected ones before others, by the size of the error."""
        audit = self.audit
        gap = np.abs(audit.mean_outcome - audit.mean_prediction)[:n_groups]
        return np.lexsort([-gap, audit.adjusted_pvalues[:n_groups] > alpha])

    def _draw_line(self, axes, style):
        from matplotlib.lines import Line2D

        default = {"color": axes.spines["bottom"].get_edgecolor(), "linewidth": 0.8}
        self.ref_line_ = axes.axvline(0, **merge_style(default, style, Line2D))

    def _draw_intervals(self, axes, order, alpha, style):
        from matplotlib.lines import Line2D

        audit, place = self.audit, np.arange(len(order))
        gap = (audit.mean_outcome - audit.mean_prediction)[order]
        ends = np.stack([audit.low, audit.high])[:, order]
        is_bound = np.isfinite(ends)
        is_bound &= [[audit.alternative != "less"], [audit.alternative != "greater"]]
        known = np.concatenate([gap, ends[is_bound], [0.0]])
        margin = _MARGIN * np.ptp(known) or _MARGIN
        limits = known.min() - margin, known.max() + margin
        ends = np.where(np.isinf(ends), np.clip(ends, *limits), ends)
        reach = np.stack([gap - ends[0], ends[1] - gap])
        is_rejected = audit.adjusted_pvalues[order] <= alpha
        holds_zero = (ends[0] <= 0) & (ends[1] >= 0)
        found, other = CURVE_STYLES[1]["color"], CURVE_STYLES[0]["color"]
        wrong = f"miscalibrated (adjusted p ≤ {alpha:g})"
        self.points_, self.intervals_ = [], []
        looks = (
            (is_rejected & ~holds_zero, wrong, "o", 4, found, None),
            (is_rejected & holds_zero, _BEYOND, "D", 5.5, found, axes.get_facecolor()),
            (~is_rejected, "not rejected", "o", 4, other, axes.get_facecolor()),
        )
        for rows, label, marker, size, color, inside in looks:
            default = {"marker": marker, "markersize": size, "linestyle": "none", "elinewidth": 1.2}
            look = merge_style(default | {"color": color, "label": label}, style, Line2D)
            look.setdefault("markerfacecolor", inside or look["color"])
            if rows.any():
                lengths = np.maximum(reach[:, rows], 0)
                points, _, (bars,) = axes.errorbar(gap[rows], place[rows], xerr=lengths, **look)
                self.points_.append(points)
                self.intervals_.append(bars)
        if not is_bound.all():  # other ends leave the axes
            axes.set_xlim(limits)

    def _label(self, axes, order, n_rows, n_columns):
        from matplotlib.ticker import MaxNLocator

        audit, n_shown, n_groups = self.audit, len(order), len(self.audit.names)
        labels = [f"{shorten_name(audit.names[k])} ({audit.n_samples[k]})" for k in order]
        axes.set_yticks(np.arange(n_shown), labels, parse_math=False)
        axes.set_ylim(n_rows - 0.5, -0.5)
        level = f"{100 * audit.confidence_level:g} %"
        kind = _KINDS[audit.alternative]
        words = f"Observed minus predicted\n({level} {kind} of all groups at once)"
        if audit.left_out:
            words += f"\n{self._name_left_out()}"
        axes.set_xlabel(words, parse_math=not audit.left_out)
        # Beside long names, and on small axes, there is no room.
        n_ticks = int(axes.get_window_extent().width / (_TICK * axes.figure.dpi))
        axes.xaxis.set_major_locator(MaxNLocator(min(max(n_ticks, 2), _MOST_TICKS)))
        shown = "" if n_shown == n_groups else f" ({n_shown} shown)"
        groups = "1 group" if n_groups == 1 else f"{n_groups} groups"
        title = f"Test of calibration in {groups}{shown}: {show_pvalue(audit.pvalue)}"
        axes.set_title(title, fontsize="medium")
        # The line at 0 ends behind it.
        ground = {"facecolor": axes.get_facecolor(), "edgecolor": "none", "framealpha": 1}
        place = {"loc": "lower right", "borderaxespad": 0.1, "borderpad": 0.2}
        axes.legend(ncols=n_columns, fontsize="small", **place, **ground)

    def _name_left_out(self):
        """A few of the values that have too few rows, and how many more there are."""
        left_out = self.audit.left_out
        words = [*map(shorten_name, left_out[:_MOST_NAMES])]
        if len(left_out) > _MOST_NAMES:
            words.append(f"{len(left_out) - _MOST_NAMES} more")
        whole = (word.replace(" ", "\N{NO-BREAK SPACE}") for word in words)
        return fill(f"Too few rows: {', '.join(whole)}", _LINE)
