"""Decision curves: net benefit over thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skcal._estimates._decision_curves import trace_net_benefit
from skcal._estimates._decisions import band_net_benefit
from skcal._input._validation import check_flag
from skcal.diagrams._curves_display import place_legend
from skcal.diagrams._threshold_display import ThresholdDisplay
from skcal.metrics import NetBenefitCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How far below 0 the axes go at most, in parts of the highest value; lines leave them there.
_DEPTH, _MARGIN = 0.35, 0.08
# How high above the highest value of a curve: bands of differences widen without end towards 1.
_HEIGHT = 1.1
# A net benefit below this part of the highest one is nothing to look at. The axes end this many
# times as far out as all that is above.
_NOTHING, _BEYOND = 0.01, 1.2


class DecisionCurveDisplay(ThresholdDisplay):
    r"""Decision curves: the net benefit of acting on the predictions of models.

    Beside them is the net benefit of those who always act ("treat all"), and of those who never do
    ("treat none"), which is 0. A model is of use at the thresholds where its curve is above both.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or
    :meth:`from_cv_results` to create a display.

    Parameters
    ----------
    curves : list of NetBenefitCurve
        The curves, see :func:`skcal.metrics.net_benefit_curve`.
    bands : list of (low, high) or None, default=None
        Ends of the band of each curve, arrays of shape (n_thresholds,); None for one that has no
        band.
    name : str or list of str, default=None
        Name for the legend, or one for each curve.
    pos_label : int, float, bool or str, default=None
        The label at whose probability one acts; part of the label of the x axis unless None.
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
        Net benefit of those who always act, and of those who never do.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    MurphyDisplay : The same decisions, as losses on the scale of every proper score.
    skcal.metrics.net_benefit_curve : The numbers.
    skcal.inference.net_benefit_difference : Whether one model is of more use than another.

    Notes
    -----
    The band of a single model covers its curve at all thresholds at once, with the probability
    `confidence_level`. Several models are compared with the first one, which has no band: that of
    another one is the band of the difference between the two, around the curve of the first, see
    :func:`~skcal.inference.net_benefit_difference`. It covers the difference at all thresholds at
    once, and is narrower than two bands suggest, because the rows are the same. Where the curve of
    the first model lies outside of it, the models differ. Bands of several models hold one by one.
    Whether a model is better than acting always is told by the same function.

    The x axis ends a little beyond the last threshold at which a model or acting always is above
    acting never: early where the outcome is rare. Set its limits to see the rest, and choose
    `thresholds` to see those alone at which somebody would act.

    References
    ----------
    .. [1] A. J. Vickers, E. B. Elkin (2006). Decision curve analysis: a novel method for evaluating
       prediction models. Medical Decision Making 26. :doi:`10.1177/0272989X06295361`

    Examples
    --------
    >>> from skcal.diagrams import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     ["no", "yes", "yes", "yes"], [0.1, 0.4, 0.7, 0.8], pos_label="yes"
    ... )
    >>> [line.get_label() for line in display.ref_lines_]
    ['Treat all', 'Treat none']
    """

    _Curve = NetBenefitCurve
    _field = "net_benefit"
    _y_label = "Net benefit"
    _act = ">="

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | list[str] | None = None,
        standardized: bool = False,
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
        standardized : bool, default=False
            Whether to divide by the base rate of the rows, which is the highest net benefit that
            is possible, so that 1 is perfect.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves. With several curves of one
            name, a list gives every curve its own look and legend entry.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the bands.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the lines that models are compared with.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        self : object
            The display itself.
        """
        check_flag("standardized", standardized)
        units = (_find_base_rate, "Net benefit / base rate") if standardized else ()
        return self._plot(ax, name, curve_kwargs, band_kwargs, ref_line_kwargs, despine, *units)

    @classmethod
    def _trace(cls, sample, thresholds, act):
        return NetBenefitCurve(*trace_net_benefit(sample, thresholds, act))

    @classmethod
    def _compute_band(cls, actions, baseline, thresholds, level, clusters):
        baseline = "none" if baseline is None else baseline
        return band_net_benefit(actions, baseline, thresholds, level, clusters)

    def _list_lines(self, curve, unit):
        yield "Treat all", "--", curve.thresholds, curve.treat_all / unit
        yield "Treat none", "-", curve.thresholds, curve.treat_none

    def _finish(self, ax):
        values = [line.get_ydata() for line in ax.lines]
        ends = [path.vertices[:, 1] for band in ax.collections for path in band.get_paths()]
        top = max(max(part.max() for part in values), 1e-6)
        if self.baseline is not None:
            top *= _HEIGHT  # towards 1 the band of a difference is as wide as the odds are large
        else:
            top = max([top, *(part.max() for part in ends)])
        lowest = min(part.min() for part in values)
        shown = (
            np.asarray(line.get_xdata())[line.get_ydata() > _NOTHING * top] for line in ax.lines
        )
        (first, last), useful = ax.get_xlim(), np.concatenate(list(shown))
        end = useful.max(initial=first) if len(useful) else last
        if ax.dataLim.width:
            ax.set_xlim(first, min(first + _BEYOND * (end - first), last))
        low = max(lowest - _MARGIN * top, -_DEPTH * top)
        models = np.concatenate([line.get_ydata() for line in self.lines_])
        if models.max() <= 0:  # what is nowhere better than acting never is to be seen
            low = min(low, (1 + _MARGIN) * models.min())
            top = max(top, -_MARGIN * models.min())
        place_legend(ax, low, (1 + _MARGIN) * top)


def _find_base_rate(curve):
    """From the net benefit of acting always, at the first threshold."""
    t = curve.thresholds[0]
    rate = (1 - t) * curve.treat_all[0] + t
    if rate <= 4 * np.finfo(np.float64).eps:  # which rounding leaves of 0
        raise ValueError("standardized must be False where no row has the positive label.")
    return rate
