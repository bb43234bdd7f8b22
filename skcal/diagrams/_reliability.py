"""Reliability diagram: mean outcome as a function of the prediction."""

from skcal._validation import check_option
from skcal.diagrams._reliability_curve import KINDS, check_band, check_recipe, describe_curves
from skcal.diagrams._reliability_plot import plot_panels, plot_square
from skcal.diagrams._reliability_summary import describe_summary
from skcal.diagrams._response import (
    check_plot_options,
    join_folds,
    predict_class_probabilities,
    predict_folds,
)
from skcal.diagrams._style import check_look
from skcal.metrics._smooth import CURVE_SCALES


class ReliabilityDisplay:
    r"""Reliability diagram: smoothed, isotonic or binned.

    The curve shows the mean outcome as a function of the prediction. A model is calibrated
    where the curve lies on the diagonal; below the diagonal its probabilities are too high
    (over-confident), above they are too low. The hill at the bottom is the density of the
    predictions: it tells how much the curve matters there.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions`,
    :meth:`from_cv_results` or :meth:`from_summary` to create a display. All parameters are stored
    as attributes, unchanged.

    Parameters
    ----------
    prob_pred : ndarray of shape (n_points,) or list of ndarrays
        Predicted probabilities at which the curve is known. A list holds several curves.
    prob_true : ndarray of shape (n_points,) or list of ndarrays
        Mean outcome at `prob_pred`.
    kind : {"smooth", "isotonic", "binned"}, default="smooth"
        How `prob_true` was estimated, see :meth:`from_predictions`.
    scale : {"probability", "logit"}, default="probability"
        Scale of the axes, of the bandwidth and of the density.
    density_grid : ndarray of shape (n_grid,) or list of ndarrays, default=None
        Predictions at which the densities are known; None stands for `prob_pred`.
    density : ndarray of shape (n_grid,) or list of ndarrays, default=None
        Density of the predictions, at most 1e100. None draws no density.
    density_positive : ndarray of shape (n_grid,) or list of ndarrays, default=None
        Part of the density that the rows with outcome 1 make up.
    smooth_ece : float or list of floats, default=None
        Smooth calibration error of each curve, shown in the legend.
    bandwidth : float or list of floats, default=None
        Standard deviation of the kernel that smoothed each curve or density.
    n_samples : float or list of floats, default=None
        Number of predictions behind each curve; with weights w the effective number
        :math:`(\sum w)^2 / \sum w^2`. Together with `density` and `bandwidth` it decides
        where the curve is drawn, see Notes.
    name : str or list of str, default=None
        Name of the model for the legend. A list names every curve and needs a list as
        `curve_kwargs`. None shows no name.
    pos_label : int, float, bool, str or list of labels, default=None
        The label whose probability is shown; part of the axis labels unless None. A list has
        the label of every curve, and draws each in a panel of its own.
    reduction : str, default=None
        What the probabilities stand for: "confidence" is the largest probability of every
        row, None the probability of one label.
    band : {"bootstrap", "isotonic", "consistency"}, default="bootstrap"
        What the band shows, see :meth:`from_predictions`.
    band_pred : ndarray of shape (n_knots,) or list of ndarrays, default=None
        Predictions at which the band is known; None stands for `prob_pred`.
    prob_true_low, prob_true_high : ndarray of shape (n_knots,) or list, default=None
        Lower and upper end of the band, numbers of at most 1e100. None draws no band.
    smooth_ece_interval : tuple (low, high) or list of tuples, default=None
        Interval of each smooth calibration error, shown in the legend.
    rug_pred, rug_true : ndarray of shape (n_ticks,) or list of ndarrays, default=None
        Predictions and outcomes of the ticks of the rug. None draws no rug.
    witness_pred, witness : ndarray of shape (n_knots,) or list of ndarrays, default=None
        Predictions, and the weight function of the smooth calibration error there. None draws
        no strip.

    Attributes
    ----------
    line_ : matplotlib Artist or list of matplotlib Artists
        Curves. Their y data are masked arrays that hold all of `prob_true`.
    density_ : matplotlib Artist, list of matplotlib Artists or None
        Densities, with `split_density` two for each curve, of outcome 0 and of outcome 1; None
        if not drawn.
    curve_density_ : matplotlib Artist, list of matplotlib Artists or None
        Collections that tell the density on the curves; None if not drawn.
    band_ : matplotlib Artist, list of matplotlib Artists or None
        Bands; None if not drawn.
    rug_ : matplotlib Artist, list of matplotlib Artists or None
        Ticks of the rug; None if not drawn.
    witness_ : matplotlib Artist, list of matplotlib Artists or None
        Strips; None if not drawn.
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
    CalibrationSharpnessDisplay : Shows how good the predictions are besides.
    skcal.metrics.smooth_ece : The number in the legend.
    skcal.metrics.smooth_ece_curve : The arrays behind the smoothed diagram.
    skcal.metrics.smooth_calibration_witness : The function in the strip.

    Notes
    -----
    The bootstrap band holds the given share of the curves of resamples at every point, smoothed at
    the same bandwidth, or of the same bins. It shows how much the curve depends on the sample, and
    is no confidence band for the mean outcome itself, whose smoothing it does not undo. An isotonic
    curve [3]_ has none, as the bootstrap of an isotonic regression is not consistent [2]_. The
    interval of smECE holds the same share of the values of the resamples. Each of these is, like
    smECE itself, too large where the error is small, so that the interval may lie above the value
    of the sample.

    The isotonic band is a confidence band for the mean outcome, if that rises with the prediction
    [5]_: of all predictions at once. Where the diagonal leaves it the model is not calibrated. It
    has a gap where no rising curve fits. Bars of consistency lie around the diagonal [6]_: a bin
    outside of its own bar is more than chance.

    A kernel moves the curve towards the outcomes of the predictions around. Beside a steep heap of
    predictions, as of confidences near 1, it shows their outcomes more than those of the few
    predictions there: compare with ``kind="binned"``, or take a smaller `bandwidth`.

    Curve and density are kernel estimates with the bandwidth s = smECE, the scale below which
    the calibration error cannot be told from noise [1]_. A smoothed curve has a value
    everywhere, also where there is nothing to average. It is drawn only where the kernel
    gathers the equal of five predictions or more,

    .. math:: n\,\mathbb{E}\bigl[e^{-(t - v)^2 / 2 s^2}\bigr] = n\,s\,\sqrt{2\pi}\,\delta(t) \geq 5

    with the density :math:`\delta`, or half of the most that it gathers anywhere if the sample
    is too small for five. The attributes hold all values. Without `density`, `bandwidth` or
    `n_samples` the whole curve is drawn.

    The strip shows a weight function w of the smooth calibration error, the maximum of
    :math:`\mathbb{E}[w(v)\,(y - v)]` over functions with values in [-1, 1] and slopes of size 1 at
    most [4]_: above zero outcomes are more frequent than predicted, below zero less. A maximiser
    is -1 or 1 somewhere unless the mean residual is exactly zero; the one drawn is moved by a
    constant towards equal extremes of both signs, as far as it attains 90 % of the maximum. Of
    more than 16384 rows it is found on a grid of as many cells.

    On the scale of logits the square ends at 1e-9 and 1 - 1e-9 at most, and earlier at the top if
    it is very long: what lies further out is not seen.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`
    .. [2] B. Sen, M. Banerjee, M. Woodroofe (2010). Inconsistency of bootstrap: the Grenander
       estimator. Annals of Statistics 38. :doi:`10.1214/09-AOS777`
    .. [3] T. Dimitriadis, T. Gneiting, A. I. Jordan (2021). Stable reliability diagrams for
       probabilistic classifiers. Proceedings of the National Academy of Sciences 118.
       :doi:`10.1073/pnas.2016191118`
    .. [4] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`
    .. [5] T. Dimitriadis, L. Dümbgen, A. Henzi, M. Puke, J. Ziegel (2023). Honest calibration
       assessment for binary outcome predictions. Biometrika 110. :doi:`10.1093/biomet/asac068`
    .. [6] J. Bröcker, L. A. Smith (2007). Increasing the reliability of reliability diagrams.
       Weather and Forecasting 22. :doi:`10.1175/WAF993.1`

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
        kind="smooth",
        scale="probability",
        density_grid=None,
        density=None,
        density_positive=None,
        smooth_ece=None,
        bandwidth=None,
        n_samples=None,
        name=None,
        pos_label=None,
        reduction=None,
        band="bootstrap",
        band_pred=None,
        prob_true_low=None,
        prob_true_high=None,
        smooth_ece_interval=None,
        rug_pred=None,
        rug_true=None,
        witness_pred=None,
        witness=None,
    ):
        self.prob_pred = prob_pred
        self.prob_true = prob_true
        self.kind = kind
        self.scale = scale
        self.density_grid = density_grid
        self.density = density
        self.density_positive = density_positive
        self.smooth_ece = smooth_ece
        self.bandwidth = bandwidth
        self.n_samples = n_samples
        self.name = name
        self.pos_label = pos_label
        self.reduction = reduction
        self.band = band
        self.band_pred = band_pred
        self.prob_true_low = prob_true_low
        self.prob_true_high = prob_true_high
        self.smooth_ece_interval = smooth_ece_interval
        self.rug_pred = rug_pred
        self.rug_true = rug_true
        self.witness_pred = witness_pred
        self.witness = witness

    def plot(
        self,
        ax=None,
        *,
        name=None,
        curve_kwargs=None,
        curve_density=None,
        plot_density=True,
        split_density=False,
        density_kwargs=None,
        plot_band=True,
        band_kwargs=None,
        plot_rug=True,
        rug_kwargs=None,
        plot_witness=True,
        witness_kwargs=None,
        ref_line=True,
        ref_line_kwargs=None,
        side_labels=True,
        despine=False,
    ):
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each. None creates a new figure and axes.
        name : str or list of str, default=None
            Name for the legend. None takes the name of the display.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves. With several curves, a
            list gives every curve its own look and legend entry; else all look the same and
            share one entry with the mean and standard deviation of smECE.
        curve_density : {None, "width", "color"}, default=None
            Whether the curve itself tells the density of the predictions, by the width or by the
            strength of the colour of a stroke under it.
        plot_density : bool, default=True
            Whether to draw the density of the predictions.
        split_density : bool, default=False
            Whether to draw two densities: that of outcome 0 at the bottom, and that of outcome
            1, upside down, at the top.
        density_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the density.
        plot_band : bool, default=True
            Whether to draw the band around the curve, where there is one.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the band, of `LineCollection`
            for the bars of bins.
        plot_rug : bool, default=True
            Whether to draw the rug, where there is one: ticks at single predictions, at the
            bottom for outcome 0 and at the top for outcome 1.
        rug_kwargs : dict, default=None
            Keyword arguments of matplotlib's `LineCollection` for the rug.
        plot_witness : bool, default=True
            Whether to draw the strip of the witness, where there is one: where it rises outcomes
            are more frequent than predicted, where it falls they are less frequent.
        witness_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between` for the strip.
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
        check_option("kind", self.kind, KINDS)
        check_option("scale", self.scale, tuple(CURVE_SCALES))
        check_band(self.band, self.kind)
        if curve_density is not None:
            check_option("curve_density", curve_density, ("width", "color"))
        look = {
            "plot_density": plot_density,
            "split_density": split_density,
            "density_kwargs": density_kwargs,
            "plot_band": plot_band,
            "band_kwargs": band_kwargs,
            "plot_rug": plot_rug,
            "rug_kwargs": rug_kwargs,
            "plot_witness": plot_witness,
            "witness_kwargs": witness_kwargs,
            "ref_line": ref_line,
            "ref_line_kwargs": ref_line_kwargs,
            "side_labels": side_labels,
            "despine": despine,
        }
        check_look(**look)
        options = {"curve_kwargs": curve_kwargs, "curve_density": curve_density, **look}
        plot = plot_panels if isinstance(self.pos_label, list) else plot_square
        plot(self, ax, name, options)
        return self

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
        kind="smooth",
        n_bins=15,
        strategy="uniform",
        scale="probability",
        bandwidth=None,
        band="bootstrap",
        n_resamples=0,
        confidence_level=0.95,
        random_state=None,
        rug=False,
        witness=False,
        name=None,
        ax=None,
        **plot_kwargs,
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
        reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
            How class probabilities become binary predictions. "auto" takes the positive label
            of two, and "confidence" for more classes: the largest probability of every row,
            against whether the predicted class is true. "classwise" and "top-label" draw a panel
            for each class, of its probability, and of the confidence where it is predicted;
            "full" pools the probabilities of all classes.
        kind : {"smooth", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated. "smooth" is the kernel regression of
            :func:`skcal.metrics.smooth_ece_curve`; "isotonic" the increasing step function that
            fits best (CORP), at the ends of its steps; "binned" the mean of the outcomes at the
            mean of the predictions of every bin that is not empty.
        n_bins : int, default=15
            Number of bins, at most 2^24, if they are needed.
        strategy : {"uniform", "quantile", "sweep"}, default="uniform"
            Bins of equal width, of equal mass, or as many of equal mass as keep the mean outcomes
            sorted, see :func:`skcal.metrics.expected_calibration_error`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curve and the density; None
            takes smECE, but not less than 0.001, or 0.25 on the scale of logits. The smECE in the
            legend does not depend on it.
        band : {"bootstrap", "isotonic", "consistency"}, default="bootstrap"
            What the band shows. "bootstrap" is how the curve varies over resamples; "isotonic"
            where the whole curve of mean outcomes lies if it does not decrease, see
            :func:`skcal.inference.isotonic_band`; "consistency" where each bin of
            ``kind="binned"`` lies if the model is calibrated, see
            :func:`skcal.inference.consistency_band`. The last two are exact and take no weights.
        n_resamples : int, default=0
            Number of bootstrap resamples behind the bootstrap band and the interval of smECE, at
            most 2^24; 0 draws neither. An isotonic curve has no bootstrap band.
        confidence_level : float, default=0.95
            Confidence of the band, and share of the resamples that the interval holds. In (0, 1).
        random_state : int, RandomState instance or None, default=None
            Where the resamples come from; an integer gives the same at every call.
        rug : bool, default=False
            Whether to mark predictions by ticks, at the bottom for outcome 0 and at the top for
            outcome 1: every row of up to 100, of more rows 100 that stand for equal masses.
        witness : bool, default=False
            Whether to add a strip that says where predictions are too low and where too high, see
            Notes of :class:`ReliabilityDisplay`.
        name : str, default=None
            Name for the legend. None takes the class name of the estimator.
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each class. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `plot_density`.

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
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            scale=scale,
            bandwidth=bandwidth,
            band=band,
            n_resamples=n_resamples,
            confidence_level=confidence_level,
            random_state=random_state,
            rug=rug,
            witness=witness,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **plot_kwargs,
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
        kind="smooth",
        n_bins=15,
        strategy="uniform",
        scale="probability",
        bandwidth=None,
        band="bootstrap",
        n_resamples=0,
        confidence_level=0.95,
        random_state=None,
        rug=False,
        witness=False,
        name=None,
        ax=None,
        **plot_kwargs,
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
        reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
            How class probabilities become binary predictions. "auto" takes the positive label
            of two, and "confidence" for more classes: the largest probability of every row,
            against whether the predicted class is true. "classwise" and "top-label" draw a panel
            for each class, of its probability, and of the confidence where it is predicted;
            "full" pools the probabilities of all classes.
        kind : {"smooth", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated. "smooth" is the kernel regression of
            :func:`skcal.metrics.smooth_ece_curve`; "isotonic" the increasing step function that
            fits best (CORP), at the ends of its steps; "binned" the mean of the outcomes at the
            mean of the predictions of every bin that is not empty.
        n_bins : int, default=15
            Number of bins, at most 2^24, if they are needed.
        strategy : {"uniform", "quantile", "sweep"}, default="uniform"
            Bins of equal width, of equal mass, or as many of equal mass as keep the mean outcomes
            sorted, see :func:`skcal.metrics.expected_calibration_error`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curve and the density; None
            takes smECE, but not less than 0.001, or 0.25 on the scale of logits. The smECE in the
            legend does not depend on it.
        band : {"bootstrap", "isotonic", "consistency"}, default="bootstrap"
            What the band shows. "bootstrap" is how the curve varies over resamples; "isotonic"
            where the whole curve of mean outcomes lies if it does not decrease, see
            :func:`skcal.inference.isotonic_band`; "consistency" where each bin of
            ``kind="binned"`` lies if the model is calibrated, see
            :func:`skcal.inference.consistency_band`. The last two are exact and take no weights.
        n_resamples : int, default=0
            Number of bootstrap resamples behind the bootstrap band and the interval of smECE, at
            most 2^24; 0 draws neither. An isotonic curve has no bootstrap band.
        confidence_level : float, default=0.95
            Confidence of the band, and share of the resamples that the interval holds. In (0, 1).
        random_state : int, RandomState instance or None, default=None
            Where the resamples come from; an integer gives the same at every call.
        rug : bool, default=False
            Whether to mark predictions by ticks, at the bottom for outcome 0 and at the top for
            outcome 1: every row of up to 100, of more rows 100 that stand for equal masses.
        witness : bool, default=False
            Whether to add a strip that says where predictions are too low and where too high, see
            Notes of :class:`ReliabilityDisplay`.
        name : str, default=None
            Name for the legend. None takes "Classifier".
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each class. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `plot_density`.

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
        check_plot_options(cls.plot, plot_kwargs)
        recipe = check_recipe(
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            scale=scale,
            bandwidth=bandwidth,
            band=band,
            n_resamples=n_resamples,
            confidence_level=confidence_level,
            random_state=random_state,
            rug=rug,
            witness=witness,
        )
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        attributes = describe_curves(y_true, y_proba, data, reduction, recipe)
        display = cls(**attributes, name="Classifier" if name is None else name)
        return display.plot(ax=ax, **plot_kwargs)

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
        kind="smooth",
        n_bins=15,
        strategy="uniform",
        scale="probability",
        bandwidth=None,
        name=None,
        ax=None,
        **plot_kwargs,
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
        reduction : {"auto", "confidence", "full"}, default="auto"
            How class probabilities become one binary problem, see :meth:`from_predictions`.
        kind : {"smooth", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated. "smooth" is the kernel regression of
            :func:`skcal.metrics.smooth_ece_curve`; "isotonic" the increasing step function that
            fits best (CORP), at the ends of its steps; "binned" the mean of the outcomes at the
            mean of the predictions of every bin that is not empty.
        n_bins : int, default=15
            Number of bins, at most 2^24, if they are needed.
        strategy : {"uniform", "quantile", "sweep"}, default="uniform"
            Bins of equal width, of equal mass, or as many of equal mass as keep the mean outcomes
            sorted, see :func:`skcal.metrics.expected_calibration_error`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curves and the densities; None
            takes smECE of each fold, but not less than 0.001, or 0.25 on the scale of logits. The
            smECE in the legend does not depend on it.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold and needs a list as `curve_kwargs`.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `plot_density`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn. It has no bands: the folds show what changes with the sample.

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
        check_plot_options(cls.plot, plot_kwargs)
        recipe = check_recipe(
            kind=kind, n_bins=n_bins, strategy=strategy, scale=scale, bandwidth=bandwidth
        )
        folds = predict_folds(cv_results, X, y, sample_weight, pos_label)
        if name is None:
            name = type(folds[0][0]).__name__
        folds = [
            describe_curves(y_fold, y_proba, data, reduction, recipe)
            for _, y_fold, y_proba, data in folds
        ]
        attributes = join_folds(folds, ("kind", "band", "scale", "pos_label", "reduction"))
        return cls(**attributes, name=name).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_summary(
        cls,
        summary,
        *,
        kind="smooth",
        n_bins=15,
        bandwidth=None,
        band="bootstrap",
        n_resamples=0,
        confidence_level=0.95,
        random_state=None,
        witness=False,
        name=None,
        ax=None,
        **plot_kwargs,
    ):
        """Draw the reliability diagram of a summary of a stream.

        Parameters
        ----------
        summary : CalibrationSummary
            What is left of the rows. Its reduction decides what is shown; "classwise" and
            "top-label" draw a panel for each class.
        kind : {"smooth", "isotonic", "binned"}, default="smooth"
            How the mean outcome is estimated, see :meth:`from_predictions`.
        n_bins : int, default=15
            Number of bins of equal width, at most 2^24, if they are needed.
        bandwidth : float, default=None
            Standard deviation of the kernel that smooths the curve and the density; None
            takes smECE, but not less than 0.001. The smECE in the legend does not depend on it.
        band : {"bootstrap", "isotonic"}, default="bootstrap"
            What the band shows, see :meth:`from_predictions`. Both need numbers of rows: a summary
            of hard labels without weights.
        n_resamples : int, default=0
            Number of bootstrap resamples behind the bootstrap band and the interval of smECE, at
            most 2^24; 0 draws neither. An isotonic curve has no bootstrap band.
        confidence_level : float, default=0.95
            Confidence of the band, and share of the resamples that the interval holds. In (0, 1).
        random_state : int, RandomState instance or None, default=None
            Where the resamples come from; an integer gives the same at every call.
        witness : bool, default=False
            Whether to add a strip that says where predictions are too low and where too high, see
            Notes of :class:`ReliabilityDisplay`.
        name : str, default=None
            Name for the legend. None takes "Classifier".
        ax : matplotlib axes or ndarray of axes, default=None
            Axes to draw on; for panels one for each class. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`, such as `curve_kwargs` or `plot_density`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if the summary is empty, or if a band is asked for and it
            holds weights or soft labels.
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
        :func:`skcal.metrics.smooth_ece`. Bins whose edges are edges of cells, 2, 4, 8, ... of them,
        hold just the rows that they should; in others rows of a cell that an edge cuts are shared
        out between two bins. The isotonic curve and its band are those of predictions moved to the
        mean of their cell. Numbers of rows are resampled by outcome and cell, so that a resample
        costs the same for every number of rows.

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
        check_plot_options(cls.plot, plot_kwargs)
        recipe = check_recipe(
            kind=kind,
            n_bins=n_bins,
            bandwidth=bandwidth,
            band=band,
            n_resamples=n_resamples,
            confidence_level=confidence_level,
            random_state=random_state,
            witness=witness,
        )
        attributes = describe_summary(summary, recipe)
        display = cls(**attributes, name="Classifier" if name is None else name)
        return display.plot(ax=ax, **plot_kwargs)
