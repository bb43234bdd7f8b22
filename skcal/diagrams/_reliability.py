"""Reliability diagram: mean outcome as a function of the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._numerics.curves._adaptive import ENOUGH_EVENTS
from skcal._tools._words import show_kind
from skcal.diagrams._estimated_reliability import EstimatedReliability
from skcal.diagrams._layers import LAYERS, document_layers
from skcal.diagrams._legend import Term, count_rows
from skcal.diagrams._reliability_curve import ReliabilityCurve
from skcal.diagrams._response import check_plot_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skcal.model_selection import InternalValidation

# Events below this rate are rare; reductions to events, not to answers or all classes together.
_RARE = 0.1
_OF_EVENTS = (None, "classwise", "multilabel")


@document_layers
class ReliabilityDisplay(EstimatedReliability):
    r"""Reliability diagram: smoothed, isotonic or binned.

    The curve shows the mean outcome of rows with similar predictions against the mean of these
    predictions. A model is calibrated where the curve lies on the diagonal; below the diagonal its
    probabilities are too high, above they are too low. The filled area at the bottom is the density
    of the predictions. A smooth curve is thickest where it stands for many rows: there it matters.
    It is thin throughout where smECE is no more than chance gives. By default that of SmoothECE is
    drawn, whose mean distance from the diagonal, weighted by the density behind it, is the smECE of
    the legend, where that is clearly more than chance; else one that gathers events enough at each
    point.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions`,
    :meth:`from_cv_results`, :meth:`from_summary` or :meth:`from_internal_validation` to create a
    display. All parameters are stored
    as attributes, unchanged.

    Parameters
    ----------
    curves : list of ReliabilityCurve
        What is drawn, with the data of layers beside it.
    name : str or list of str, default=None
        Name of the model for the legend. A list names every curve, which has its own look then.
        None shows no name.
    scale : {"probability", "logit"}, default="probability"
        Scale of the axes, of the bandwidth and of the density.
    reduction : str, default=None
        What the probabilities stand for: "confidence" is the largest probability of every
        row, None the probability of one label.
    panels : bool, default=False
        Whether every curve has axes of its own.
    layers : sequence of str, default=None
        What is drawn beside the curves, see Notes. None draws the density, at the bottom and as
        the width of smooth curves, and all layers that the curves hold.

    Attributes
    ----------
    prob_pred, prob_true : ndarray of shape (n_points,) or list of ndarrays
        Points of the curve; lists for several curves or panels.
    smooth_ece : float or list of floats
        SmoothECE; a list for several curves or panels.
    pos_label : int, float, bool, str, list of labels or None
        The label whose probability is shown; a list for panels.
    line_ : matplotlib Artist or list of matplotlib Artists
        Curves. Their y data are masked arrays that hold all of `prob_true`.
    density_, band_, ... : matplotlib Artist, list of matplotlib Artists or None
        Each layer by its name and an underscore; None if not drawn.
    ref_line_ : matplotlib Artist, list of matplotlib Artists or None
        Diagonal; None if not asked for. Displays that share axes share it.
    side_labels_ : list of matplotlib Artists or None
        Words on both sides of the diagonal; None if not drawn.
    ax_ : matplotlib Axes or ndarray of matplotlib Axes
        Axes with the diagram; with panels the axes of each.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    ReliabilityCurve : What a display holds.
    CalibrationSharpnessDisplay : Shows how good the predictions are besides.
    skcal.metrics.smooth_ece : The number in the legend.
    skcal.metrics.smooth_ece_curve : The arrays behind the smoothed diagram.
    skcal.metrics.smooth_calibration_witness : The function in the strip.

    Notes
    -----
    The argument `layers` names what is shown beside the curves, and ``layer_kwargs`` of
    :meth:`plot` takes keyword arguments of the function or class of matplotlib in parentheses.
    What is computed for a layer is kept in ``curves[0].layers``.

    %(layers)s

    All densities on the same axes have one scale, also those of displays that were drawn one after
    another: the highest of them fills 13 % of the axes, and adds 1.2 % of the side of the axes to
    the width of its curve.

    A Wilson band is drawn from Wilson's score interval [2]_ of the mean outcome at each point, with
    the effective number of rows behind it: :math:`(\sum_i w_i K_i)^2 / \sum_i (w_i K_i)^2` for
    weights w and the kernel K, or the bin. Each point is covered with about the given confidence,
    not all at once, however rare an outcome is; what is covered is the mean outcome of the rows
    that the point stands for. Where they depend on each other the band is too narrow unless
    `clusters` are given, and for soft labels it is too wide. An isotonic curve [3]_ has none, since
    its steps are chosen by the outcomes. Its legend has the parts of the Brier score, which is
    MCB - DSC + UNC [3]_: what isotonic recalibration of these rows would save (miscalibration), how
    much better than their base rate they would be then (discrimination), and the score of the base
    rate (uncertainty). The legend shows the number n of rows of positive weight, that of classes
    where all are pooled, that of clusters, and where weights differ the effective number of all
    rows.

    With `clusters` that number is divided by the ratio of the variance between clusters to that of
    independent rows,

    .. math:: D = \frac{\sum_c \bigl( \sum_{i \in c} w_i K_i (r_i - \bar r) / (1 - h_c) \bigr)^2}
              {\sum_i (w_i K_i)^2 (r_i - \bar r)^2},

    with the residuals r, their mean :math:`\bar r` under the kernel, and the share :math:`h_c` that
    cluster c has of :math:`\sum_i w_i K_i`, and by the squared ratio of the quantiles of Student's
    distribution with :math:`1 / \sum_c h_c^2 - 1` degrees of freedom and of the normal one. Both
    sums have one event more than came, whose cluster comes true as a whole. The number is at least
    :math:`1 / \sum_c h_c^2`, as each cluster tells as much as one row, and no larger than that of
    independent rows. The interval of smECE deals out whole clusters.

    The interval of smECE is that of :func:`skcal.inference.confidence_interval`: it contains 0
    where the rows may come from a calibrated model.

    The isotonic band is a simultaneous confidence band for the mean outcome, if that increases
    with the prediction [5]_. Where the diagonal leaves it, the model is not calibrated. It has a
    gap where no increasing curve fits. The GiViTI belt is one for polynomials of the log odds [7]_,
    for all predictions at once too: narrower, and only as right as that shape is. Bars of
    consistency lie around the diagonal [6]_: a bin outside of its own bar is more than chance.

    With ``kind="nadaraya-watson"`` the mean outcome is drawn at the center of the kernel instead,
    as in the paper [1]_. Beside a steep peak of the density, such as confidences near 1, that curve
    shows the outcomes of the peak at predictions that few rows have, and even a calibrated model
    leaves the diagonal.

    A smooth curve and the density behind it are kernel estimates with the bandwidth s = smECE, the
    scale below which the calibration error cannot be distinguished from noise [1]_. Unless
    smECE is above m + 4 d (see below) so narrow a kernel draws chance: the spikes of a rare event.
    An adaptive curve lays the same kernel, reflected at 0 and 1, on a scale of evidence,

    .. math:: u(v) = \frac{1}{2} \frac{\sum_{v_i \leq v} w_i}{\sum_i w_i}
              + \frac{1}{2} \frac{\sum_{v_i \leq v} w_i v_i (1 - v_i)}{\sum_i w_i v_i (1 - v_i)},

    with rows of the same prediction in the middle of their part, and the bandwidth
    :math:`25 / (2 \sqrt{\pi}\, I)`, but 0.05 at least and 0.5 at most, with which it gathers 25
    events, or non-events where these are fewer. I is n times the mean of
    :math:`v_i (1 - v_i)` or of :math:`(y_i - v_i)^2`, whichever is larger, for the effective number
    n of rows or of clusters. The legend shows the events per point where they are no more than 25.
    Such a curve is drawn as far as it goes, and its distance from the diagonal is not smECE. The
    density at the
    bottom has a bandwidth of 0.02, or 0.1 on the scale of logits, for every curve: it shows where
    predictions are, and those of several models compare. A smoothed curve has a value
    everywhere, also where there is nothing to average. It is drawn only where the kernel covers
    the equivalent of at least five predictions,

    .. math:: n\,\mathbb{E}\bigl[e^{-(t - v)^2 / 2 s^2}\bigr] = n\,s\,\sqrt{2\pi}\,\delta(t) \geq 5

    with the density :math:`\delta`, or half of the maximum, whichever is less. The attributes hold
    all values. Without `density`, `bandwidth` or `n_samples` the whole curve is drawn. On the scale
    of logits the curve ends, besides, where the mean outcome stands for less than half a
    prediction of either outcome: there it would fall or rise without end. The Wilson band goes on
    where it leaves the diagonal: more of the missing outcome were predicted.

    SmoothECE of a calibrated model is not zero either. Its mean by chance, where outcomes are drawn
    from the predictions v, is computed, not simulated: the smoothed residual at t is nearly normal,
    with the variance :math:`\sum_i w_i^2 K_i(t)^2 v_i (1 - v_i)` for weights w that sum to 1, and
    the mean of smECE at a bandwidth s is :math:`\sqrt{2 / \pi}` times the integral of its standard
    deviation. Where that is equal to s is the mean by chance, m. Its standard deviation d follows
    from the correlation of residuals at a distance u, about :math:`e^{-u^2 / 4 s^2}`. A smooth
    curve is thin throughout unless smECE is above m + 2 d, as it seldom is for a calibrated model.
    Titles of panels show m, and of many classes those with the largest (smECE - m) / d have panels.
    With `clusters`, and for a summary with weights, m is not known; for soft labels, and for
    kernels on the scale of logits that hold less than an event, it is too large.

    Of an event of which there are less than 10 % the legend shows O/E, the number of observed
    events over that of expected ones, :math:`\sum_i w_i y_i / \sum_i w_i v_i`.

    The strip shows a weight function w of the smooth calibration error, the maximum of
    :math:`\mathbb{E}[w(v)\,(y - v)]` over functions with values in [-1, 1] and slopes of size 1 at
    most [4]_: above zero outcomes are more frequent than predicted, below zero less. A maximiser
    is -1 or 1 somewhere unless the mean residual is exactly zero; the one drawn is moved by a
    constant towards equal extremes of both signs, as far as it attains 90 % of the maximum. For
    more than 16384 rows it is found on a grid of 16384 cells.

    Where all but 1 % of the predictions, and the curve there, span less than 0.3, the square shows
    that part of the probabilities only, and the labels of the axes tell which. A curve that is
    added to it widens it. Axes that share their limits, or show lines of others, have all of
    [0, 1]. Where 90 % of the predictions are near 0, near 1 or both, in less than 5 % of the side
    of the square, words tell how near.

    On the scale of logits the square ends at 1e-9 and 1 - 1e-9 at most, and earlier at the top if
    it is very long: points further out, such as predictions of 0 and 1, are not shown, and words at
    the edge tell if they are more than one row in 200.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`
    .. [2] E. B. Wilson (1927). Probable inference, the law of succession, and statistical
       inference. Journal of the American Statistical Association 22(158).
       :doi:`10.1080/01621459.1927.10502953`
    .. [3] T. Dimitriadis, T. Gneiting, A. I. Jordan (2021). Stable reliability diagrams for
       probabilistic classifiers. Proceedings of the National Academy of Sciences 118.
       :doi:`10.1073/pnas.2016191118`
    .. [4] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`
    .. [5] T. Dimitriadis, L. Dümbgen, A. Henzi, M. Puke, J. Ziegel (2023). Honest calibration
       assessment for binary outcome predictions. Biometrika 110. :doi:`10.1093/biomet/asac068`
    .. [6] J. Bröcker, L. A. Smith (2007). Increasing the reliability of reliability diagrams.
       Weather and Forecasting 22. :doi:`10.1175/WAF993.1`
    .. [7] G. Nattino, S. Finazzi, G. Bertolini (2014). A new calibration test and a reappraisal of
       the calibration belt for the assessment of prediction models based on dichotomous outcomes.
       Statistics in Medicine 33. :doi:`10.1002/sim.6100`

    Examples
    --------
    >>> from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
    >>> from skcal.metrics import smooth_ece_curve
    >>> smooth = smooth_ece_curve([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9])
    >>> curve = ReliabilityCurve(prob_pred=smooth.prob_pred, prob_true=smooth.prob_true)
    >>> display = ReliabilityDisplay(curves=[curve], name="by hand")
    >>> display.plot().line_.get_label()
    'by hand'
    """

    curve_width_: Any
    curve_color_: Any
    split_density_: Any
    rug_: Any
    witness_: Any
    _Curve = ReliabilityCurve
    _known_layers = LAYERS

    def __init__(
        self,
        *,
        curves: list[ReliabilityCurve],
        name: str | list[str] | None = None,
        scale: Literal["probability", "logit"] = "probability",
        reduction: str | None = None,
        panels: bool = False,
        layers: Sequence[str] | None = None,
    ) -> None:
        self.curves = curves
        self.name = name
        self.scale = scale
        self.reduction = reduction
        self.panels = panels
        self.layers = layers

    @classmethod
    def from_internal_validation(
        cls,
        validation: InternalValidation,
        *,
        name: list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the apparent and the corrected calibration curve of a model without a test set.

        Parameters
        ----------
        validation : InternalValidation
            What :func:`~skcal.model_selection.internal_validation` returned.
        name : list of str, default=None
            Names of both curves for the legend. None takes "apparent" and "corrected".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn. The band is the interval of the corrected curve at each point.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> from skcal.model_selection import internal_validation
        >>> X, y = make_classification(n_samples=100, random_state=0)
        >>> validation = internal_validation(
        ...     LogisticRegression(), X, y, n_resamples=20, random_state=0
        ... )
        >>> display = ReliabilityDisplay.from_internal_validation(validation)
        >>> [line.get_label() for line in display.line_]
        ['apparent', 'corrected']
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_internal_validation)
        found = getattr(validation, "curve", None)
        if found is None:
            raise ValueError(
                "validation must be what internal_validation returned of a classifier; got "
                f"{show_kind(validation)} without curve."
            )
        names = ["apparent", "corrected"] if name is None else name
        if np.shape(names) != (2,):
            raise ValueError(f"name must be a list of two strings or None; got {name!r}.")
        places, label = found.prob_pred, validation.pos_label
        band = {"prob_pred": places, "low": found.low, "high": found.high}
        curves = [
            ReliabilityCurve(prob_pred=places, prob_true=height, pos_label=label, layers=layers)
            for height, layers in ((found.apparent, None), (found.corrected, {"band": band}))
        ]
        return cls(curves=curves, name=names).plot(ax, **plot_kwargs)

    @property
    def smooth_ece(self) -> float | list[float] | None:
        """SmoothECE, or None; a list for several curves."""
        return self._share("smooth_ece")

    def _compare_events(self, curve):
        """Ratio of observed to expected events where these are rare, else None."""
        predicted, observed = curve.mean_pred, curve.mean_true
        if self.reduction not in _OF_EVENTS or not predicted or observed is None:
            return None
        return observed / predicted if observed < _RARE else None

    def _list_terms(self, curves):
        return [
            Term("ECE", [curve.binned_ece for curve in curves]),
            Term(
                "logit smECE" if self.scale == "logit" else "smECE",
                [curve.smooth_ece for curve in curves],
                intervals=[curve.smooth_ece_interval for curve in curves],
                errors=[curve.smooth_ece_error for curve in curves],
            ),
            Term("MCB", [curve.miscalibration for curve in curves]),
            Term("DSC", [curve.discrimination for curve in curves]),
            Term("UNC", [curve.uncertainty for curve in curves]),
            Term("in the large", [curve.in_the_large for curve in curves], form=".2f"),
            Term("slope", [curve.slope for curve in curves], form=".2f"),
            Term("AUC", [curve.auc for curve in curves], form=".2f"),
            Term("O/E", [self._compare_events(curve) for curve in curves], form=".2f"),
            _count("n", [_count_once(curve, curve.n_rows) for curve in curves]),
            _count("classes", [curve.n_classes for curve in curves]),
            _count("clusters", [curve.n_clusters for curve in curves]),
            Term("events per point", [_tell_few(curve) for curve in curves], form=",.0f"),
            count_rows([_count_once(curve, curve.effective_rows) for curve in curves]),
        ]

    def _list_panel_terms(self, curve):
        chance = curve.smooth_ece_chance
        terms = self._list_terms([curve])
        # Behind smECE.
        terms.insert(2, Term("by chance", [None if chance is None else chance[0]]))
        return terms


def _count(name, values):
    return Term(name, values, form=",.0f", is_count=True)


def _count_once(curve, number):
    """A number of rows, of which those of pooled classes count once, not once for each class."""
    return number if number is None or curve.n_classes is None else number / curve.n_classes


def _tell_few(curve):
    """Events behind each point of a curve that needs a wide kernel, where there is any."""
    count = curve.n_gathered
    return count if count is not None and 1 <= count < ENOUGH_EVENTS + 0.5 else None
