"""Calibration-sharpness diagram: a reliability curve in a band of what recalibration leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._tools._typing import ArrayLike
from skcal.diagrams._display import CurveDisplay
from skcal.diagrams._layer import Layer
from skcal.diagrams._layers._density import DensityLayer
from skcal.diagrams._legend import Term, count_rows
from skcal.diagrams._response import (
    check_plot_options,
    join_folds,
    name_reduction,
    predict_class_probabilities,
    predict_folds,
)
from skcal.diagrams._sharpness_curve import HIGHEST, SharpnessBandLayer, SharpnessCurve
from skcal.diagrams._source import DiagramRows
from skcal.metrics import (
    BregmanDivergence,
    calibration_decomposition,
    calibration_sharpness_curve,
)
from skcal.refinement import refinement_decomposition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

_LOSS_NAMES = {None: "loss", "brier": "Brier", "log": "log loss"}


class CalibrationSharpnessDisplay(CurveDisplay):
    r"""Calibration-sharpness diagram.

    The curve shows the mean outcome as a function of the prediction, as in a reliability diagram:
    a model is calibrated where it lies on the diagonal. The band around it shows the sharpness
    gap, the score that would remain after recalibration, times the density of the predictions: a
    model with a thinner band says more about the outcomes. The filled area at the bottom is the
    density itself: it shows how much the distance from the diagonal matters.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or
    :meth:`from_cv_results` to create a display. All parameters are stored as attributes,
    unchanged.

    Parameters
    ----------
    curves : list of SharpnessCurve
        What is drawn.
    loss : str, default=None
        What the loss is called in the legend; "brier" and "log" become "Brier" and "log loss",
        None becomes "loss".
    name : str or list of str, default=None
        Name of the model for the legend. A list names every curve and needs a list as
        `curve_kwargs`. None shows no name.
    reduction : str, default=None
        What the probabilities stand for: "confidence" is the largest probability of every
        row, None the probability of one label.

    Attributes
    ----------
    prob_pred, prob_true : ndarray of shape (n_points,) or list of ndarrays
        Points of the curve; lists for several curves.
    total, calibration : float or list of floats
        Mean loss of the model, and the part of it that recalibration removes from rows that
        it was not fitted on; lists for several curves. For more than two classes `total` is of the
        whole vector of probabilities, and `calibration` of the confidence alone.
    pos_label : int, float, bool, str or None
        The label whose probability is shown.
    line_ : matplotlib Artist or list of matplotlib Artists
        Curves. Their y data are masked arrays that hold all of `prob_true`.
    band_ : matplotlib Artist, list of matplotlib Artists or None
        Bands; None if not drawn.
    density_ : matplotlib Artist, list of matplotlib Artists or None
        Densities; None if not drawn.
    ref_line_ : matplotlib Artist or None
        Diagonal; None if not asked for. Displays that share axes share it.
    side_labels_ : list of matplotlib Artists or None
        Words on both sides of the diagonal; None if not drawn.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    SharpnessCurve : What a display holds.
    ReliabilityDisplay : The curve without the band, smoothed at its own scale.
    skcal.refinement.refinement_decomposition : The numbers in the legend.
    skcal.metrics.calibration_sharpness_curve : The arrays behind the diagram.

    Notes
    -----
    The argument `layers` of :meth:`plot` names what is drawn beside the curves: "density", and
    "band", the sharpness gap. ``layer_kwargs`` takes keyword arguments of matplotlib's
    `fill_between` for both.

    The band has the length :math:`g(t)\,\delta(t)` with the sharpness gap g and the density
    :math:`\delta`, the mean of kernel values, half of it above the curve and half below [1]_. Its
    area is about the gap of the whole sample times the integral of the kernel over [0, 1]. So
    compare the bands of models at one bandwidth; only the numbers are exact. Where g is negative
    there is no band. Its lower edge stops at 0. Its upper edge does not stop at 1: the frame rises
    above 1 to show it, up to 1.5, where it is cut. An infinite gap fills the frame.

    The paper draws the density with a maximum of 1. Here it is so low that it hides neither
    curves nor bands.

    For more than two classes the curve is that of the confidence, but the loss is that of the
    whole vector of probabilities.

    The calibration in the legend is that of :func:`~skcal.refinement.refinement_decomposition`,
    which is not biased upwards and may be a little below 0; for more than two classes it is that of
    the confidence, and for soft labels that of :func:`~skcal.metrics.calibration_decomposition`,
    the curve that is drawn.

    Curve and band are drawn only where the kernel covers the equivalent of at least five
    predictions, :math:`n\,\delta(t) \geq 5`, or half of the maximum, whichever is less. The
    attributes hold all values. Without `density` or `n_samples` the whole curve is drawn.

    References
    ----------
    .. [1] M. Chidambaram, R. Ge (2024). Reassessing how to compare and improve the calibration of
       machine learning models. :doi:`10.48550/arXiv.2406.04068`

    Examples
    --------
    >>> from skcal.diagrams import CalibrationSharpnessDisplay, SharpnessCurve
    >>> from skcal.metrics import calibration_sharpness_curve
    >>> found = calibration_sharpness_curve([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9])
    >>> curve = SharpnessCurve(
    ...     prob_pred=found.grid,
    ...     prob_true=found.prob_true,
    ...     sharpness_gap=found.sharpness_gap,
    ...     density=found.density,
    ... )
    >>> display = CalibrationSharpnessDisplay(curves=[curve], name="by hand")
    >>> display.plot().line_.get_label()
    'by hand'
    """

    _Curve = SharpnessCurve
    _known_layers: Mapping[str, Layer] = {"density": DensityLayer(), "band": SharpnessBandLayer()}
    # Thinner than elsewhere, for the sake of narrow bands.
    _curve_style: Mapping[str, Any] = {"linewidth": 1.4}
    _highest = HIGHEST

    def __init__(
        self,
        *,
        curves: list[SharpnessCurve],
        loss: str | None = None,
        name: str | list[str] | None = None,
        reduction: str | None = None,
    ) -> None:
        self.curves = curves
        self.loss = loss
        self.name = name
        self.reduction = reduction

    @property
    def total(self) -> float | list[float] | None:
        """Mean loss, or None; a list for several curves."""
        return self._share("total")

    @property
    def calibration(self) -> float | list[float] | None:
        """Part of the mean loss that recalibration removes, or None; a list for several."""
        return self._share("calibration")

    def _list_terms(self, curves):
        total = _LOSS_NAMES.get(self.loss, self.loss)
        return [
            Term(total, [curve.total for curve in curves]),
            Term("saved by recalibration", [curve.calibration for curve in curves], "z.4f"),
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
        loss: Literal["brier", "log"] | BregmanDivergence = "brier",
        kernel: Literal["gaussian", "epanechnikov"] = "gaussian",
        bandwidth: float = 0.05,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> CalibrationSharpnessDisplay:
        r"""Draw the calibration-sharpness diagram of a fitted classifier.

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
        loss : {"brier", "log"} or BregmanDivergence, default="brier"
            The score: squared error, log loss, or any other proper score.
        kernel : {"gaussian", "epanechnikov"}, default="gaussian"
            Kernel of the regression, :math:`e^{-z^2/2}` or :math:`\max(1 - z^2, 0)`.
        bandwidth : float, default=0.05
            Width s >= 0.001 of the kernel: distances are divided by it. None takes SmoothECE, but
            not less than 0.001.
        name : str, default=None
            Name for the legend. None takes the class name of the estimator.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs`, `layers` or `despine`.

        Returns
        -------
        CalibrationSharpnessDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid or the estimator has no `predict_proba`.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        See Also
        --------
        CalibrationSharpnessDisplay.from_predictions : The same for given probabilities.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import train_test_split
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import CalibrationSharpnessDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
        >>> classifier = GaussianNB().fit(X_train, y_train)
        >>> display = CalibrationSharpnessDisplay.from_estimator(classifier, X_test, y_test)
        >>> display.ax_.get_xlabel()
        'Predicted probability (Positive label: 1)'
        """
        y_proba, labels = predict_class_probabilities(estimator, X, y)
        return cls.from_predictions(
            y,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            loss=loss,
            kernel=kernel,
            bandwidth=bandwidth,
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
        loss: Literal["brier", "log"] | BregmanDivergence = "brier",
        kernel: Literal["gaussian", "epanechnikov"] = "gaussian",
        bandwidth: float = 0.05,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> CalibrationSharpnessDisplay:
        r"""Draw the calibration-sharpness diagram of given probabilities.

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
        loss : {"brier", "log"} or BregmanDivergence, default="brier"
            The score: squared error, log loss, or any other proper score.
        kernel : {"gaussian", "epanechnikov"}, default="gaussian"
            Kernel of the regression, :math:`e^{-z^2/2}` or :math:`\max(1 - z^2, 0)`.
        bandwidth : float, default=0.05
            Width s >= 0.001 of the kernel: distances are divided by it. None takes SmoothECE, but
            not less than 0.001.
        name : str, default=None
            Name for the legend. None takes "Classifier".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs`, `layers` or `despine`.

        Returns
        -------
        CalibrationSharpnessDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        See Also
        --------
        CalibrationSharpnessDisplay.from_estimator : The same for a fitted classifier.

        Examples
        --------
        >>> from skcal.diagrams import CalibrationSharpnessDisplay
        >>> display = CalibrationSharpnessDisplay.from_predictions(
        ...     ["no", "yes", "yes", "no"] * 3, [0.1, 0.9, 0.2, 0.9] * 3, pos_label="yes"
        ... )
        >>> display.line_.get_label()
        'Classifier (Brier = 0.367, saved by recalibration = 0.0488)'
        """
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        options = {"loss": loss, "kernel": kernel, "bandwidth": bandwidth}
        found = _estimate_curve(y_true, y_proba, data, options)
        display = cls(**found, name="Classifier" if name is None else name)
        return display.plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: dict[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        loss: Literal["brier", "log"] | BregmanDivergence = "brier",
        kernel: Literal["gaussian", "epanechnikov"] = "gaussian",
        bandwidth: float = 0.05,
        name: str | list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> CalibrationSharpnessDisplay:
        r"""Draw a diagram with a curve for each fold of a cross-validation.

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
        loss : {"brier", "log"} or BregmanDivergence, default="brier"
            The score: squared error, log loss, or any other proper score.
        kernel : {"gaussian", "epanechnikov"}, default="gaussian"
            Kernel of the regression, :math:`e^{-z^2/2}` or :math:`\max(1 - z^2, 0)`.
        bandwidth : float, default=0.05
            Width s >= 0.001 of the kernel: distances are divided by it. None takes SmoothECE of
            each fold, but not less than 0.001.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold and needs a list as `curve_kwargs`.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs`, `layers` or `despine`.

        Returns
        -------
        CalibrationSharpnessDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if `cv_results` lacks estimators or indices, if an
            estimator has no `predict_proba`, or if some know other classes than others.

        See Also
        --------
        CalibrationSharpnessDisplay.from_estimator : The same for one fitted classifier.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import CalibrationSharpnessDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> results = cross_validate(
        ...     GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True
        ... )
        >>> display = CalibrationSharpnessDisplay.from_cv_results(results, X, y)
        >>> len(display.line_)
        3
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_cv_results)
        options = {"loss": loss, "kernel": kernel, "bandwidth": bandwidth}
        folds = predict_folds(cv_results, X, y, sample_weight, pos_label)
        if name is None:
            name = type(folds[0][0]).__name__
        found = [
            _estimate_curve(y_fold, y_proba, data, options) for _, y_fold, y_proba, data in folds
        ]
        return cls(**join_folds(found), name=name).plot(ax=ax, **plot_kwargs)


def _estimate_curve(y_true, y_proba, data, options):
    """Arguments of a display of one curve, without its name."""
    curve = calibration_sharpness_curve(y_true, y_proba, **data, **options)
    predictions = check_predictions(y_true, y_proba, **data)
    (sample,) = REDUCTIONS["auto"](predictions)
    options = {**options, "bandwidth": curve.bandwidth}
    total, calibration, _ = calibration_decomposition(y_true, y_proba, **data, **options)
    if not predictions.is_soft:  # soft labels are no outcomes to fit a recalibrator to
        calibration = refinement_decomposition(
            sample.outcomes.astype(int),
            sample.predictions,
            sample_weight=sample.weights,
            labels=[0, 1],
            loss=options["loss"],
        ).calibration
    reduction, pos_label = name_reduction(predictions, "auto")
    source = DiagramRows(sample)
    found = SharpnessCurve(
        prob_pred=curve.grid,
        prob_true=curve.prob_true,
        density=curve.density,
        n_samples=source.n_samples,
        n_rows=source.n_rows,
        pos_label=pos_label,
        sharpness_gap=curve.sharpness_gap,
        total=total,
        calibration=calibration,
        bandwidth=curve.bandwidth,
    )
    loss = _name_loss(options["loss"])
    return {"curves": [found], "loss": loss, "reduction": reduction}


def _name_loss(loss):
    if isinstance(loss, str):
        return loss
    if type(loss) is BregmanDivergence:
        return "Bregman divergence"
    return type(loss).__name__
