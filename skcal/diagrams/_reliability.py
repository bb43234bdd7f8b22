"""Reliability diagram: mean outcome as a function of the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._input._validation import check_option
from skcal._tools._typing import ArrayLike, RandomState, Reduction
from skcal.diagrams._display import CurveDisplay
from skcal.diagrams._estimate import check_options, estimate_rows, estimate_summary
from skcal.diagrams._layers import LAYERS, document_layers
from skcal.diagrams._legend import Term, count_rows
from skcal.diagrams._reliability_curve import ReliabilityCurve
from skcal.diagrams._response import (
    check_plot_options,
    join_folds,
    predict_class_probabilities,
    predict_folds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

    from skcal.streaming import CalibrationSummary


@document_layers
class ReliabilityDisplay(CurveDisplay):
    r"""Reliability diagram: smoothed, isotonic or binned.

    The curve shows the mean outcome of rows with similar predictions against the mean of these
    predictions. A model is calibrated where the curve lies on the diagonal; below the diagonal its
    probabilities are too high, above they are too low. The filled area at the bottom is the density
    of the predictions. A smooth curve is thick where it stands for many rows: there it matters. Its
    mean distance from the diagonal, weighted by the density behind it, is smECE, at the bandwidth
    of the curve.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions`,
    :meth:`from_cv_results` or :meth:`from_summary` to create a display. All parameters are stored
    as attributes, unchanged.

    Parameters
    ----------
    curves : list of ReliabilityCurve
        What is drawn, with the data of layers beside it.
    name : str or list of str, default=None
        Name of the model for the legend. A list names every curve and needs a list as
        `curve_kwargs`. None shows no name.
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
    that the point stands for. Where they depend on each other the band is too narrow, and for soft
    labels it is too wide. An isotonic curve [3]_ has none, since its steps are chosen by the
    outcomes. Where weights differ, the legend shows the effective number of all rows.

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

    The curve and the density behind it are kernel estimates with the bandwidth s = smECE, the scale
    below which the calibration error cannot be distinguished from noise [1]_. The density at the
    bottom has a bandwidth of 0.02, or 0.1 on the scale of logits, for every curve: it shows where
    predictions are, and those of several models compare. A smoothed curve has a value
    everywhere, also where there is nothing to average. It is drawn only where the kernel covers
    the equivalent of at least five predictions,

    .. math:: n\,\mathbb{E}\bigl[e^{-(t - v)^2 / 2 s^2}\bigr] = n\,s\,\sqrt{2\pi}\,\delta(t) \geq 5

    with the density :math:`\delta`, or half of the maximum, whichever is less. The attributes hold
    all values. Without `density`, `bandwidth` or `n_samples` the whole curve is drawn. On the scale
    of logits the curve ends, besides, where the mean outcome stands for less than half a
    prediction of either outcome: there it would fall or rise without end. The Wilson band goes on,
    and tells how frequent the missing outcome may be.

    The strip shows a weight function w of the smooth calibration error, the maximum of
    :math:`\mathbb{E}[w(v)\,(y - v)]` over functions with values in [-1, 1] and slopes of size 1 at
    most [4]_: above zero outcomes are more frequent than predicted, below zero less. A maximiser
    is -1 or 1 somewhere unless the mean residual is exactly zero; the one drawn is moved by a
    constant towards equal extremes of both signs, as far as it attains 90 % of the maximum. For
    more than 16384 rows it is found on a grid of 16384 cells.

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

    @property
    def smooth_ece(self) -> float | list[float] | None:
        """SmoothECE, or None; a list for several curves."""
        return self._share("smooth_ece")

    def _list_terms(self, curves):
        return [
            Term("ECE", [curve.binned_ece for curve in curves]),
            Term(
                "logit smECE" if self.scale == "logit" else "smECE",
                [curve.smooth_ece for curve in curves],
                intervals=[curve.smooth_ece_interval for curve in curves],
                errors=[curve.smooth_ece_error for curve in curves],
            ),
            count_rows([curve.effective_rows for curve in curves]),
        ]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        reduction: Reduction = "auto",
        kind: Literal["smooth", "nadaraya-watson", "isotonic", "binned"] = "smooth",
        n_bins: int | Literal["cube_root"] = 15,
        strategy: Literal["uniform", "quantile", "sweep"] = "uniform",
        scale: Literal["probability", "logit"] = "probability",
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic", "belt", "consistency"] = "wilson",
        interval: bool = False,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        layers: Sequence[str] = ("density", "band", "curve_width"),
        name: str | None = None,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of a fitted classifier.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier with `predict_proba`, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, of data that the classifier was not fitted on.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label whose probability is shown; by default the last class of two. With more
            than two classes it selects that class against the rest.
        reduction : str, default="auto"
            One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how
            class probabilities become binary predictions, see :meth:`from_predictions`.
            "multilabel" is for classifiers of several labels, such as
            :class:`~sklearn.multioutput.MultiOutputClassifier`; their names are those of the
            columns of y.
        kind : {"smooth", "nadaraya-watson", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated, see :meth:`from_predictions`.
        n_bins : int or "cube_root", default=15
            Number of bins, at most 2^24, or "cube_root", if they are needed; see
            :func:`skcal.metrics.expected_calibration_error`.
        strategy : {"uniform", "quantile", "sweep"}, default="uniform"
            Where the edges of the bins lie, see :meth:`from_predictions`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel, see :meth:`from_predictions`.
        band : {"wilson", "isotonic", "belt", "consistency"}, default="wilson"
            What the band shows, see :meth:`from_predictions`.
        interval : bool, default=False
            Whether the legend has the interval of smECE, see
            :func:`skcal.inference.confidence_interval`.
        confidence_level : float, default=0.95
            Confidence of the band and of the interval, in (0, 1).
        random_state : int, RandomState, Generator or None, default=None
            Source of the halves behind the interval; an integer gives the same at every call.
        layers : sequence of str, default=("density", "band", "curve_width")
            What is shown beside the curve, see :meth:`from_predictions`.
        name : str, default=None
            Name for the legend. None takes the class name of the estimator.
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each class. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `layer_kwargs`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid or the estimator has no `predict_proba`.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        See Also
        --------
        ReliabilityDisplay.from_predictions : The same for given probabilities.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import train_test_split
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
        >>> classifier = GaussianNB().fit(X_train, y_train)
        >>> display = ReliabilityDisplay.from_estimator(classifier, X_test, y_test)
        >>> display.ax_.get_xlabel()
        'Predicted probability (Positive label: 1)'
        """
        y_proba, labels = predict_class_probabilities(estimator, X, y, reduction)
        return cls.from_predictions(
            y,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            reduction=reduction,
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            scale=scale,
            bandwidth=bandwidth,
            band=band,
            interval=interval,
            confidence_level=confidence_level,
            random_state=random_state,
            layers=layers,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **plot_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Reduction = "auto",
        kind: Literal["smooth", "nadaraya-watson", "isotonic", "binned"] = "smooth",
        n_bins: int | Literal["cube_root"] = 15,
        strategy: Literal["uniform", "quantile", "sweep"] = "uniform",
        scale: Literal["probability", "logit"] = "probability",
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic", "belt", "consistency"] = "wilson",
        interval: bool = False,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        layers: Sequence[str] = ("density", "band", "curve_width"),
        name: str | None = None,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1]: of the positive label, or one column per label
            with rows that sum to 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label whose probability is shown; by default 1 where the labels are {0, 1} or
            {-1, 1}, else the last label. Others with one column of probabilities need it, or
            `labels`. With more than two classes it selects that class against the rest.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, in the order of the columns; by default the
            sorted labels of `y_true`.
        reduction : str, default="auto"
            One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how
            class probabilities become binary predictions. "auto" takes the positive label of two,
            and "confidence" for more classes: the largest probability of every row, against whether
            the predicted class is true. "classwise" and "top-label" draw a panel for each class, of
            its probability, and of the confidence where it is predicted; "full" pools the
            probabilities of all classes. "multilabel" draws a panel for each label of an indicator
            `y_true` of shape (n_samples, n_labels), whose labels do not exclude one another, see
            :func:`skcal.metrics.expected_calibration_error`.
        kind : {"smooth", "nadaraya-watson", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated. "smooth" are the means under a kernel of
            :func:`skcal.metrics.smooth_ece_curve`; "nadaraya-watson" the same mean outcomes at the
            center of the kernel, the curve of the paper, see Notes of :class:`ReliabilityDisplay`;
            "isotonic" the increasing step function that fits best (CORP), at the ends of its steps;
            "binned" the mean of the outcomes at the mean of the predictions of every bin that is
            not empty, with the expected calibration error (ECE) of these bins in the legend.
        n_bins : int or "cube_root", default=15
            Number of bins, at most 2^24, or "cube_root", if they are needed; see
            :func:`skcal.metrics.expected_calibration_error`.
        strategy : {"uniform", "quantile", "sweep"}, default="uniform"
            Bins of equal width, of equal mass, or as many of equal mass as keep the mean outcomes
            sorted, see :func:`skcal.metrics.expected_calibration_error`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curve and the density; None
            takes smECE, but not less than 0.001, or 0.25 on the scale of logits. The smECE in the
            legend does not depend on it.
        band : {"wilson", "isotonic", "belt", "consistency"}, default="wilson"
            What the band shows. "wilson" is a confidence interval at each point of a smooth curve
            and at each bin; "isotonic" where the whole curve of mean outcomes lies if it does not
            decrease, see :func:`skcal.inference.isotonic_band`; "belt" where it lies if its log
            odds are a polynomial, see :func:`skcal.inference.calibration_belt`; "consistency" where
            each bin of ``kind="binned"`` lies if the model is calibrated, see
            :func:`skcal.inference.consistency_band`. Isotonic and consistency bands are exact and
            take no weights; a belt takes them as counts, and no predictions of 0 and 1.
        interval : bool, default=False
            Whether the legend has the interval of smECE, see
            :func:`skcal.inference.confidence_interval`.
        confidence_level : float, default=0.95
            Confidence of the band and of the interval, in (0, 1).
        random_state : int, RandomState, Generator or None, default=None
            Source of the halves behind the interval; an integer gives the same at every call.
        layers : sequence of str, default=("density", "band", "curve_width")
            What is computed and drawn beside the curve, see Notes of
            :class:`ReliabilityDisplay`. An isotonic curve has no Wilson band.
        name : str, default=None
            Name for the legend. None takes "Classifier".
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each class. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `layer_kwargs`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        See Also
        --------
        ReliabilityDisplay.from_estimator : The same for a fitted classifier.

        Examples
        --------
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> display = ReliabilityDisplay.from_predictions(
        ...     ["no", "yes", "yes", "yes"], [0.1, 0.4, 0.7, 0.9], pos_label="yes"
        ... )
        >>> display.line_.get_label()
        'Classifier (smECE = 0.225)'
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        display = cls.estimate(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            reduction=reduction,
            name="Classifier" if name is None else name,
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            scale=scale,
            bandwidth=bandwidth,
            band=band,
            interval=interval,
            confidence_level=confidence_level,
            random_state=random_state,
            layers=layers,
        )
        return display.plot(ax=ax, **plot_kwargs)

    @classmethod
    def estimate(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Reduction = "auto",
        name: str | None = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Compute a reliability diagram without drawing it, for example where there is no screen.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, or soft labels.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label whose probability is shown, see :meth:`from_predictions`.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, see :meth:`from_predictions`.
        reduction : str, default="auto"
            One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how
            class probabilities become binary predictions, see :meth:`from_predictions`.
        name : str, default=None
            Name for the legend. None shows no name.
        **options : dict
            Other arguments of :meth:`from_predictions` that say what is computed, from `kind` to
            `layers`.

        Returns
        -------
        ReliabilityDisplay
            The display; :meth:`plot` draws it.

        Raises
        ------
        ValueError
            If an argument is invalid.

        See Also
        --------
        ReliabilityDisplay.from_predictions : Draws what is computed.

        Examples
        --------
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> display = ReliabilityDisplay.estimate([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9], n_bins=2,
        ...     kind="binned", layers=())
        >>> display.prob_pred, display.prob_true
        (array([0.25, 0.8 ]), array([0.5, 1. ]))
        """
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        found = estimate_rows(y_true, y_proba, data, reduction, check_options(**options))
        return cls(**found, name=name)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: dict[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        reduction: Literal["auto", "confidence", "full"] = "auto",
        kind: Literal["smooth", "nadaraya-watson", "isotonic", "binned"] = "smooth",
        n_bins: int | Literal["cube_root"] = 15,
        strategy: Literal["uniform", "quantile", "sweep"] = "uniform",
        scale: Literal["probability", "logit"] = "probability",
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic", "belt", "consistency"] = "wilson",
        confidence_level: float = 0.95,
        layers: Sequence[str] = ("density", "curve_width"),
        name: str | list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw a reliability diagram with a curve for each fold of a cross-validation.

        Parameters
        ----------
        cv_results : dict
            What :func:`sklearn.model_selection.cross_validate` returns with
            ``return_estimator=True`` and ``return_indices=True``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as they were given to `cross_validate`.
        y : array-like of shape (n_samples,)
            True labels, as they were given to `cross_validate`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label whose probability is shown; by default the last class of two. With more
            than two classes it selects that class against the rest.
        reduction : {"auto", "confidence", "full"}, default="auto"
            How class probabilities become one binary problem, see :meth:`from_predictions`.
        kind : {"smooth", "nadaraya-watson", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated, see :meth:`from_predictions`.
        n_bins : int or "cube_root", default=15
            Number of bins, at most 2^24, or "cube_root", if they are needed; see
            :func:`skcal.metrics.expected_calibration_error`.
        strategy : {"uniform", "quantile", "sweep"}, default="uniform"
            Where the edges of the bins lie, see :meth:`from_predictions`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel, see :meth:`from_predictions`.
        band : {"wilson", "isotonic", "belt", "consistency"}, default="wilson"
            What the bands show if `layers` names "band", see :meth:`from_predictions`.
        confidence_level : float, default=0.95
            Confidence of the bands, in (0, 1).
        layers : sequence of str, default=("density", "curve_width")
            What is shown beside the curves, see :meth:`from_predictions`. The folds show what
            changes with the sample, so that there is no band unless "band" is named.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold and needs a list as `curve_kwargs`.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `layer_kwargs`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if `cv_results` lacks estimators or indices, if an
            estimator has no `predict_proba`, or if some know other classes than others.

        See Also
        --------
        ReliabilityDisplay.from_estimator : The same for one fitted classifier.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> results = cross_validate(
        ...     GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True
        ... )
        >>> display = ReliabilityDisplay.from_cv_results(results, X, y)
        >>> len(display.line_)
        3
        """
        check_option("reduction", reduction, ("auto", "confidence", "full"))
        check_plot_options(cls.plot, plot_kwargs, cls.from_cv_results)
        options = check_options(
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            scale=scale,
            bandwidth=bandwidth,
            band=band,
            confidence_level=confidence_level,
            layers=layers,
        )
        folds = predict_folds(cv_results, X, y, sample_weight, pos_label)
        if name is None:
            name = type(folds[0][0]).__name__
        found = [
            estimate_rows(y_fold, y_proba, data, reduction, options)
            for _, y_fold, y_proba, data in folds
        ]
        return cls(**join_folds(found), name=name).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_summary(
        cls,
        summary: CalibrationSummary,
        *,
        kind: Literal["smooth", "nadaraya-watson", "isotonic", "binned"] = "smooth",
        n_bins: int | Literal["cube_root"] = 15,
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic"] = "wilson",
        interval: bool = False,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        layers: Sequence[str] = ("density", "band", "curve_width"),
        name: str | None = None,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of a summary of a stream.

        Parameters
        ----------
        summary : CalibrationSummary
            Summary of the rows. Its reduction decides what is shown; "classwise" and "top-label"
            draw a panel for each class.
        kind : {"smooth", "nadaraya-watson", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated, see :meth:`from_predictions`.
        n_bins : int or "cube_root", default=15
            Number of bins of equal width, at most 2^24, or "cube_root", if they are needed; see
            :func:`skcal.metrics.expected_calibration_error`.
        bandwidth : float, default=None
            Standard deviation of the kernel, see :meth:`from_predictions`.
        band : {"wilson", "isotonic"}, default="wilson"
            What the band shows, see :meth:`from_predictions`. Both need numbers of rows, a summary
            of hard labels without weights: of others there is no Wilson band, and "isotonic" is
            refused.
        interval : bool, default=False
            Whether the legend has the interval of smECE, see
            :func:`skcal.inference.confidence_interval`.
        confidence_level : float, default=0.95
            Confidence of the band and of the interval, in (0, 1).
        random_state : int, RandomState, Generator or None, default=None
            Source of the halves behind the interval; an integer gives the same at every call.
        layers : sequence of str, default=("density", "band", "curve_width")
            What is shown beside the curve, see :meth:`from_predictions`.
        name : str, default=None
            Name for the legend. None takes "Classifier".
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each class. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `layer_kwargs`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if the summary is empty, or if an isotonic band or an
            interval is asked for and it holds weights or soft labels.
        TypeError
            If `summary` is no summary.

        See Also
        --------
        ReliabilityDisplay.from_predictions : The same for rows, with more kinds of bands and bins.
        skcal.streaming.CalibrationSummary : What is drawn.

        Notes
        -----
        Curves, bins and smECE are those of few rows that have the same sums in each cell as the
        rows of the stream. For "smooth" the difference is far below what can be seen, as it is for
        :func:`skcal.metrics.smooth_ece`; the legend has the bound of
        :meth:`skcal.streaming.CalibrationSummary.error_bound` where it changes the digits shown.
        Bins whose edges are edges of cells, 2, 4, 8, ... of them, hold exactly their own rows;
        otherwise the rows of a cell that is cut by an edge are divided between two bins. The
        isotonic curve and its band are those of predictions moved to the mean of their cell.

        With weights `n_samples` is the number of rows, as their effective number is not known.

        Examples
        --------
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> from skcal.streaming import CalibrationSummary
        >>> summary = CalibrationSummary().update([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9])
        >>> display = ReliabilityDisplay.from_summary(summary, name="Monday")
        >>> display.line_.get_label()
        'Monday (smECE = 0.225)'
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_summary)
        options = check_options(
            kind=kind,
            n_bins=n_bins,
            bandwidth=bandwidth,
            band=band,
            interval=interval,
            confidence_level=confidence_level,
            random_state=random_state,
            layers=layers,
        )
        found = estimate_summary(summary, options)
        display = cls(**found, name="Classifier" if name is None else name)
        return display.plot(ax=ax, **plot_kwargs)
