"""Murphy diagrams: elementary scores over thresholds."""

from __future__ import annotations

import numpy as np

from skcal._estimates._decision_curves import trace_elementary_score
from skcal._estimates._decisions import (
    band_elementary_score,
    find_base_rate,
    read_net_benefit_thresholds,
)
from skcal.diagrams._curves_display import place_legend
from skcal.diagrams._threshold_display import ThresholdDisplay
from skcal.metrics import ElementaryScoreCurve

# As many have the finest default thresholds, and more than rounding.
_N_DECIMALS = 12


class MurphyDisplay(ThresholdDisplay):
    r"""Murphy diagram: the mean loss of those who act above a threshold.

    Whoever loses t by a false alarm and 1 - t by a miss acts at probabilities above t. A model
    whose curve is lower everywhere is better by every proper score; the area under the curve is
    half of its Brier score.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or
    :meth:`from_cv_results` to create a display.

    Parameters
    ----------
    curves : list of ElementaryScoreCurve
        The curves, see :func:`skcal.metrics.elementary_score_curve`.
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
        Losses of those who predict the base rate.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    RegressionMurphyDisplay : The same for means, quantiles and expectiles.
    DecisionCurveDisplay : The same decisions, as net benefit.
    skcal.metrics.elementary_score_curve : The numbers.
    skcal.metrics.decision_calibration_error : The largest part of the loss that recalibration
        would save.

    Notes
    -----
    The band of a single model covers its curve at all thresholds at once, with the probability
    `confidence_level`. Several models are compared with the first one, which has no band: that of
    another one is the band of the difference between the two, around the curve of the first. It
    covers the difference at all thresholds at once, and is narrower than two bands suggest, because
    the rows are the same. Where the curve of the first model lies outside of it, the models differ.
    Bands of several models hold one by one.

    References
    ----------
    .. [1] W. Ehm, T. Gneiting, A. I. Jordan, F. Krüger (2016). Of quantiles and expectiles:
       consistent scoring functions, Choquet representations and forecast rankings. Journal of the
       Royal Statistical Society B 78. :doi:`10.1111/rssb.12154`

    Examples
    --------
    >>> from skcal.diagrams import MurphyDisplay
    >>> display = MurphyDisplay.from_predictions([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.8])
    >>> display.ax_.get_ylabel()
    'Mean loss (elementary score)'
    """

    _Curve = ElementaryScoreCurve
    _field = "score"
    _y_label = "Mean loss (elementary score)"
    _act = ">"

    @classmethod
    def _trace(cls, sample, thresholds, act):
        if thresholds is None:  # a rare event has its losses at thresholds near its base rate
            base_rate = find_base_rate(sample)
            fine = read_net_benefit_thresholds(None, min(base_rate, 1 - base_rate))
            fine = fine if base_rate <= 0.5 else np.round(1 - fine, _N_DECIMALS)
            thresholds = np.union1d(np.arange(201) / 200, fine)
        return ElementaryScoreCurve(*trace_elementary_score(sample, thresholds, act))

    @classmethod
    def _compute_band(cls, actions, baseline, thresholds, level, clusters):
        return band_elementary_score(actions, baseline, thresholds, level, clusters)

    def _list_lines(self, curve, unit):
        yield "Base rate", ":", curve.thresholds, curve.base_rate_score

    def _finish(self, ax):
        ax.autoscale(axis="y")
        place_legend(ax, 0.0, ax.get_ylim()[1])
