"""Reliability diagram: mean outcome as a smooth function of the prediction."""

import numpy as np

from skcal._numerics._resampling import bootstrap_diagram, find_percentile_band
from skcal._reduction import (
    check_generator,
    check_integer,
    check_number,
    check_predictions,
    reduce_to_samples,
)
from skcal.diagrams._drawing import (
    Curve,
    as_curves,
    as_list,
    check_curve_kwargs,
    check_lengths,
    draw_bands,
    draw_curves,
    draw_densities,
    draw_diagonal,
    draw_side_labels,
    finish_axes,
    label_curves,
)
from skcal.diagrams._response import (
    describe_predictions,
    list_folds,
    predict_class_probabilities,
)
from skcal.metrics import smooth_ece, smooth_ece_curve
from skcal.recalibration._folds import take_rows

# What the axes show, and what it means to lie above and below the diagonal, by reduction.
_AXIS_LABELS = {
    None: ("Predicted probability", "Fraction of positives"),
    "confidence": ("Confidence", "Accuracy"),
}
_SIDE_LABELS = {
    None: ("predicted too low", "predicted too high"),
    "confidence": ("under-confident", "over-confident"),
}


class ReliabilityDisplay:
    r"""Smoothed reliability diagram.

    The curve shows the mean outcome as a function of the prediction. A model is calibrated
    where the curve lies on the diagonal; below the diagonal its probabilities are too high
    (over-confident), above they are too low. The hill at the bottom is the density of the
    predictions: it tells how much the curve matters there.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a
    display. All parameters are stored as attributes, unchanged.

    Parameters
    ----------
    prob_pred : ndarray of shape (n_points,) or list of ndarrays
        Predicted probabilities at which the curve is known. A list holds several curves.
    prob_true : ndarray of shape (n_points,) or list of ndarrays
        Smoothed mean outcome at `prob_pred`.
    density : ndarray of shape (n_points,) or list of ndarrays, default=None
        Density of the predictions at `prob_pred`. None draws no density.
    smooth_ece : float or list of floats, default=None
        Smooth calibration error of each curve, shown in the legend.
    bandwidth : float or list of floats, default=None
        Standard deviation of the kernel that smoothed each curve.
    n_samples : float or list of floats, default=None
        Number of predictions behind each curve; with weights w the effective number
        :math:`(\sum w)^2 / \sum w^2`. Together with `density` and `bandwidth` it decides
        where the curve is drawn, see Notes.
    name : str or list of str, default=None
        Name of the model for the legend. A list names every curve and needs a list as
        `curve_kwargs`. None shows no name.
    pos_label : int, float, bool or str, default=None
        The label whose probability is shown; part of the axis labels unless None.
    reduction : str, default=None
        What the probabilities stand for: "confidence" is the largest probability of every
        row, None the probability of one label.
    prob_true_low, prob_true_high : ndarray of shape (n_points,) or list, default=None
        Lower and upper end of the band around `prob_true`. None draws no band.
    smooth_ece_interval : tuple (low, high) or list of tuples, default=None
        Interval of each smooth calibration error, shown in the legend.

    Attributes
    ----------
    line_ : matplotlib Artist or list of matplotlib Artists
        Curves. Their y data are masked arrays that hold all of `prob_true`.
    density_ : matplotlib Artist, list of matplotlib Artists or None
        Densities; None if not drawn.
    band_ : matplotlib Artist, list of matplotlib Artists or None
        Bands; None if not drawn.
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
    skcal.metrics.smooth_ece : The number in the legend.
    skcal.metrics.smooth_ece_curve : The arrays behind the diagram.
    sklearn.calibration.CalibrationDisplay : Binned reliability diagram.

    Notes
    -----
    The band, with `n_resamples`, holds the given share of the curves of bootstrap resamples at
    every point, smoothed at the same bandwidth. It shows how much the curve depends on the sample,
    and is no confidence band for the mean outcome itself, whose smoothing it does not undo. The
    interval of smECE holds the same share of the values of the resamples. Each of these is, like
    smECE itself, too large where the error is small, so that the interval may lie above the value
    of the sample.

    Curve and density are kernel estimates with the bandwidth s = smECE, the scale below which
    the calibration error cannot be told from noise [1]_. A smoothed curve has a value
    everywhere, also where there is nothing to average. It is drawn only where the kernel
    gathers the equal of five predictions or more,

    .. math:: n\,\mathbb{E}\bigl[e^{-(t - v)^2 / 2 s^2}\bigr] = n\,s\,\sqrt{2\pi}\,\delta(t) \geq 5

    with the density :math:`\delta`, or half of the most that it gathers anywhere if the sample
    is too small for five. The attributes hold all values. Without `density`, `bandwidth` or
    `n_samples` the whole curve is drawn.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    >>> from skcal.diagrams import ReliabilityDisplay
    >>> from skcal.metrics import smooth_ece_curve
    >>> curve = smooth_ece_curve([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9])
    >>> display = ReliabilityDisplay(
    ...     prob_pred=curve.grid, prob_true=curve.calibration, name="by hand"
    ... )
    >>> display.plot().line_.get_label()
    'by hand'
    """

    def __init__(
        self,
        *,
        prob_pred,
        prob_true,
        density=None,
        smooth_ece=None,
        bandwidth=None,
        n_samples=None,
        name=None,
        pos_label=None,
        reduction=None,
        prob_true_low=None,
        prob_true_high=None,
        smooth_ece_interval=None,
    ):
        self.prob_pred = prob_pred
        self.prob_true = prob_true
        self.density = density
        self.smooth_ece = smooth_ece
        self.bandwidth = bandwidth
        self.n_samples = n_samples
        self.name = name
        self.pos_label = pos_label
        self.reduction = reduction
        self.prob_true_low = prob_true_low
        self.prob_true_high = prob_true_high
        self.smooth_ece_interval = smooth_ece_interval

    def plot(
        self,
        ax=None,
        *,
        name=None,
        curve_kwargs=None,
        plot_density=True,
        density_kwargs=None,
        plot_band=True,
        band_kwargs=None,
        ref_line=True,
        ref_line_kwargs=None,
        side_labels=True,
        despine=False,
    ):
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        name : str or list of str, default=None
            Name for the legend. None takes the name of the display.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves. With several curves, a
            list gives every curve its own look and legend entry; else all look the same and
            share one entry with the mean and standard deviation of smECE.
        plot_density : bool, default=True
            Whether to draw the density of the predictions.
        density_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the density.
        plot_band : bool, default=True
            Whether to draw the band around the curve, where there is one.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the band.
        ref_line : bool, default=True
            Whether to draw the diagonal, unless the axes have one already.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        side_labels : bool, default=True
            Whether to say on both sides of the diagonal, where it is drawn, what it means to lie
            there.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        import matplotlib.pyplot as plt

        curves = self._collect_curves()
        names = as_list(self.name if name is None else name)
        errors = as_list(self.smooth_ece)
        intervals = self.smooth_ece_interval
        intervals = [intervals] if isinstance(intervals, tuple) else intervals
        check_lengths(
            len(curves),
            smooth_ece=errors,
            smooth_ece_interval=intervals,
            name=names if names and len(names) > 1 else None,
        )
        styles, separate = check_curve_kwargs(curve_kwargs, names, len(curves))
        labels = label_curves(
            names, errors, "smECE", len(curves), separate=separate, intervals=intervals
        )

        if ax is None:
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        self.ref_line_ = draw_diagonal(ax, ref_line_kwargs) if ref_line else None
        words = _SIDE_LABELS.get(self.reduction, _SIDE_LABELS[None])
        self.side_labels_ = draw_side_labels(ax, *words) if ref_line and side_labels else None
        lines = draw_curves(ax, curves, labels, styles, separate=separate)
        self.line_ = lines if len(lines) > 1 else lines[0]
        bands = draw_bands(ax, curves, lines, band_kwargs) if plot_band else []
        self.band_ = (bands if len(bands) > 1 else bands[0]) if bands else None
        self.density_ = None
        if plot_density and self.density is not None:
            hills = draw_densities(ax, curves, lines, density_kwargs, separate=separate)
            self.density_ = hills if len(hills) > 1 else hills[0]
        xlabel, ylabel = _AXIS_LABELS.get(self.reduction, _AXIS_LABELS[None])
        info = "" if self.pos_label is None else f" (Positive label: {self.pos_label})"
        finish_axes(ax, xlabel + info, ylabel + info, despine=despine)
        return self

    def _collect_curves(self):
        """One `Curve` for each curve of the display."""
        columns = {
            "prob_pred": as_curves(self.prob_pred),
            "prob_true": as_curves(self.prob_true),
            "density": as_curves(self.density),
            "bandwidth": as_list(self.bandwidth),
            "n_samples": as_list(self.n_samples),
            "low": as_curves(self.prob_true_low),
            "high": as_curves(self.prob_true_high),
        }
        n_curves = len(columns["prob_pred"])
        check_lengths(n_curves, **columns)
        filled = {
            name: [None] * n_curves if values is None else values
            for name, values in columns.items()
        }
        return [
            Curve(**dict(zip(filled, parts, strict=True)))
            for parts in zip(*filled.values(), strict=True)
        ]

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        sample_weight=None,
        pos_label=None,
        reduction="auto",
        bandwidth=None,
        n_resamples=0,
        confidence_level=0.95,
        random_state=None,
        name=None,
        ax=None,
        curve_kwargs=None,
        plot_density=True,
        density_kwargs=None,
        plot_band=True,
        band_kwargs=None,
        ref_line=True,
        ref_line_kwargs=None,
        side_labels=True,
        despine=False,
    ):
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
        reduction : {"auto", "confidence"}, default="auto"
            How class probabilities become one binary problem. "auto" takes the positive label
            of two, and "confidence" for more classes: the largest probability of every row,
            against whether the predicted class is true.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curve and the density; None
            takes smECE. The smECE in the legend does not depend on it.
        n_resamples : int, default=0
            Number of bootstrap resamples behind the band and the interval of smECE; 0 draws
            neither.
        confidence_level : float, default=0.95
            Share of the resamples that band and interval hold, at every point. In (0, 1).
        random_state : int, RandomState instance or None, default=None
            Where the resamples come from; an integer gives the same at every call.
        name : str, default=None
            Name for the legend. None takes the class name of the estimator.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curve.
        plot_density : bool, default=True
            Whether to draw the density of the predictions.
        density_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the density.
        plot_band : bool, default=True
            Whether to draw the band around the curve, where there is one.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the band.
        ref_line : bool, default=True
            Whether to draw the diagonal, unless the axes have one already.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        side_labels : bool, default=True
            Whether to say on both sides of the diagonal, where it is drawn, what it means to lie
            there.
        despine : bool, default=False
            Whether to remove the top and right spines.

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
        y_proba, labels = predict_class_probabilities(estimator, X, y)
        return cls.from_predictions(
            y,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            reduction=reduction,
            bandwidth=bandwidth,
            n_resamples=n_resamples,
            confidence_level=confidence_level,
            random_state=random_state,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            curve_kwargs=curve_kwargs,
            plot_density=plot_density,
            density_kwargs=density_kwargs,
            plot_band=plot_band,
            band_kwargs=band_kwargs,
            ref_line=ref_line,
            ref_line_kwargs=ref_line_kwargs,
            side_labels=side_labels,
            despine=despine,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_proba,
        *,
        sample_weight=None,
        pos_label=None,
        labels=None,
        reduction="auto",
        bandwidth=None,
        n_resamples=0,
        confidence_level=0.95,
        random_state=None,
        name=None,
        ax=None,
        curve_kwargs=None,
        plot_density=True,
        density_kwargs=None,
        plot_band=True,
        band_kwargs=None,
        ref_line=True,
        ref_line_kwargs=None,
        side_labels=True,
        despine=False,
    ):
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
            {-1, 1}, else the last label. Strings with one column of probabilities need it, or
            `labels`. With more than two classes it selects that class against the rest.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, in the order of the columns; by default the
            sorted labels of `y_true`.
        reduction : {"auto", "confidence"}, default="auto"
            How class probabilities become one binary problem. "auto" takes the positive label
            of two, and "confidence" for more classes: the largest probability of every row,
            against whether the predicted class is true.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curve and the density; None
            takes smECE. The smECE in the legend does not depend on it.
        n_resamples : int, default=0
            Number of bootstrap resamples behind the band and the interval of smECE; 0 draws
            neither.
        confidence_level : float, default=0.95
            Share of the resamples that band and interval hold, at every point. In (0, 1).
        random_state : int, RandomState instance or None, default=None
            Where the resamples come from; an integer gives the same at every call.
        name : str, default=None
            Name for the legend. None takes "Classifier".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curve.
        plot_density : bool, default=True
            Whether to draw the density of the predictions.
        density_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the density.
        plot_band : bool, default=True
            Whether to draw the band around the curve, where there is one.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the band.
        ref_line : bool, default=True
            Whether to draw the diagonal, unless the axes have one already.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        side_labels : bool, default=True
            Whether to say on both sides of the diagonal, where it is drawn, what it means to lie
            there.
        despine : bool, default=False
            Whether to remove the top and right spines.

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
        resampling = (n_resamples, confidence_level, random_state)
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        display = cls(
            **_describe_curve(y_true, y_proba, data, reduction, bandwidth, resampling),
            name="Classifier" if name is None else name,
        )
        return display.plot(
            ax=ax,
            curve_kwargs=curve_kwargs,
            plot_density=plot_density,
            density_kwargs=density_kwargs,
            plot_band=plot_band,
            band_kwargs=band_kwargs,
            ref_line=ref_line,
            ref_line_kwargs=ref_line_kwargs,
            side_labels=side_labels,
            despine=despine,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results,
        X,
        y,
        *,
        sample_weight=None,
        pos_label=None,
        reduction="auto",
        bandwidth=None,
        name=None,
        ax=None,
        curve_kwargs=None,
        plot_density=True,
        density_kwargs=None,
        ref_line=True,
        ref_line_kwargs=None,
        side_labels=True,
        despine=False,
    ):
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
        reduction : {"auto", "confidence"}, default="auto"
            How class probabilities become one binary problem. "auto" takes the positive label
            of two, and "confidence" for more classes: the largest probability of every row,
            against whether the predicted class is true.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curves and the densities; None
            takes smECE of each fold. The smECE in the legend does not depend on it.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold and needs a list as `curve_kwargs`.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves. A list gives every fold its
            own look and legend entry; else all look the same and share one entry with the mean
            and standard deviation of smECE.
        plot_density : bool, default=True
            Whether to draw the densities of the predictions.
        density_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the densities.
        ref_line : bool, default=True
            Whether to draw the diagonal, unless the axes have one already.
        ref_line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the diagonal.
        side_labels : bool, default=True
            Whether to say on both sides of the diagonal, where it is drawn, what it means to lie
            there.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if `cv_results` lacks estimators or indices, or if an
            estimator has no `predict_proba`.

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
        folds = []
        for estimator, rows in list_folds(cv_results, X, y, sample_weight):
            y_fold = take_rows(y, rows)
            y_proba, labels = predict_class_probabilities(estimator, take_rows(X, rows), y_fold)
            weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
            data = {"sample_weight": weight, "pos_label": pos_label, "labels": labels}
            folds.append(_describe_curve(y_fold, y_proba, data, reduction, bandwidth))
        shared = {key: folds[0].pop(key) for key in ("pos_label", "reduction")}
        curves = {key: [fold[key] for fold in folds] for key in folds[0]}
        if name is None:
            name = type(estimator).__name__
        return cls(**curves, **shared, name=name).plot(
            ax=ax,
            curve_kwargs=curve_kwargs,
            plot_density=plot_density,
            density_kwargs=density_kwargs,
            ref_line=ref_line,
            ref_line_kwargs=ref_line_kwargs,
            side_labels=side_labels,
            despine=despine,
        )


def _describe_curve(y_true, y_proba, data, reduction, bandwidth, resampling=(0, 0.95, None)):
    """Attributes of a display of one curve, but for its name."""
    curve = smooth_ece_curve(y_true, y_proba, **data, reduction=reduction, bandwidth=bandwidth)
    error = curve.value
    if bandwidth is not None:
        error = smooth_ece(y_true, y_proba, **data, reduction=reduction)
    (sample,) = reduce_to_samples(y_true, y_proba, **data, reduction=reduction)
    predictions = check_predictions(y_true, y_proba, **data)
    n_samples, pos_label, reduction = describe_predictions(predictions, reduction)
    return {
        "prob_pred": curve.grid,
        "prob_true": curve.calibration,
        "density": curve.density,
        "smooth_ece": error,
        "bandwidth": curve.bandwidth,
        "n_samples": n_samples,
        "pos_label": pos_label,
        "reduction": reduction,
        **_resample_curve(sample, curve, *resampling),
    }


def _resample_curve(sample, curve, n_resamples, confidence_level, random_state):
    """Attributes of a display that come from bootstrap resamples; none without resamples."""
    n_resamples = check_integer("n_resamples", n_resamples, minimum=0)
    level = check_number("confidence_level", confidence_level, 0, below=1)
    if level == 0:
        raise ValueError("confidence_level must be above 0 and below 1; got 0.")
    if n_resamples == 0:
        return {}
    errors, curves = bootstrap_diagram(
        sample.resampler(curve.bandwidth),
        curve.bandwidth,
        len(curve.grid),
        n_resamples,
        check_generator(random_state),
    )
    low, high = find_percentile_band(curves, level)
    tail = (1 - level) / 2
    return {
        "prob_true_low": low,
        "prob_true_high": high,
        "smooth_ece_interval": tuple(np.quantile(errors, [tail, 1 - tail]).tolist()),
    }
