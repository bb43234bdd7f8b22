"""Ways to a reliability diagram: it is estimated from a model, predictions, folds or a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._validation import check_option
from skcal._tools._typing import ArrayLike, RandomState, Reduction
from skcal.diagrams._curves_display import name_models
from skcal.diagrams._display import CurveDisplay
from skcal.diagrams._estimate import check_options, estimate_rows, estimate_summary
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


Kind = Literal["auto", "smooth", "adaptive", "nadaraya-watson", "isotonic", "binned", "values"]


class EstimatedReliability(CurveDisplay):
    """Base class of `ReliabilityDisplay`: the class methods that compute one from data.

    A subclass is made of what `estimate_rows` and `estimate_summary` return, and a name.
    """

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
        clusters: ArrayLike | None = None,
        kind: Kind = "auto",
        n_bins: int | Literal["cube_root"] | ArrayLike | None = None,
        strategy: Literal["uniform", "quantile", "sweep"] | None = None,
        scale: Literal["probability", "logit"] = "probability",
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic", "belt", "consistency"] = "wilson",
        interval: bool | None = None,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        layers: Sequence[str] | None = None,
        annotate: Literal["clinical"] | None = None,
        name: str | None = None,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> Self:
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
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        kind : str, default="auto"
            How the mean outcome is estimated, one of "auto", "smooth", "adaptive",
            "nadaraya-watson", "isotonic", "binned" and "values", see :meth:`from_predictions`.
        n_bins : int, "cube_root" or array-like of shape (n_edges,), default=None
            Number of bins of ``kind="binned"``, at most 2^24, "cube_root", or their edges; None
            stands for 15, see :func:`skcal.metrics.expected_calibration_error`.
        strategy : {"uniform", "quantile", "sweep"}, default=None
            Where the edges of the bins lie, see :meth:`from_predictions`.
        scale : {"probability", "logit"}, default="probability"
            Scale of the axes, on which smECE measures, and curve and density are smoothed too.
        bandwidth : float, default=None
            Standard deviation of the kernel, see :meth:`from_predictions`.
        band : {"wilson", "isotonic", "belt", "consistency"}, default="wilson"
            What the band shows, see :meth:`from_predictions`.
        interval : bool, default=None
            Whether the legend has the interval of smECE, see
            :func:`skcal.inference.confidence_interval`. None shows that of one binary problem of
            fewer than 50 rows.
        confidence_level : float, default=0.95
            Confidence of the band and of the interval, in (0, 1).
        random_state : int, RandomState, Generator or None, default=None
            Source of the halves behind the interval; an integer gives the same at every call, and
            so does None with ``interval=None``.
        layers : sequence of str, default=None
            What is shown beside the curve, see :meth:`from_predictions`.
        annotate : "clinical" or None, default=None
            Whether the legend has the numbers of a clinical paper, see :meth:`from_predictions`.
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
            clusters=clusters,
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
            annotate=annotate,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **plot_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike | Mapping[str, ArrayLike],
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Reduction = "auto",
        clusters: ArrayLike | None = None,
        kind: Kind = "auto",
        n_bins: int | Literal["cube_root"] | ArrayLike | None = None,
        strategy: Literal["uniform", "quantile", "sweep"] | None = None,
        scale: Literal["probability", "logit"] = "probability",
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic", "belt", "consistency"] = "wilson",
        interval: bool | None = None,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        layers: Sequence[str] | None = None,
        annotate: Literal["clinical"] | None = None,
        name: str | None = None,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the reliability diagram of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like or dict of array-like
            Predicted probabilities in [0, 1] of shape (n_samples,), (n_samples, 1) or
            (n_samples, n_classes): of the positive label, or one column per label with rows that
            sum to 1. A dictionary has those of several models for the same rows, by name.
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
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        kind : str, default="auto"
            How the mean outcome is estimated. "smooth" are the means under a kernel of
            :func:`skcal.metrics.smooth_ece_curve`, whose bandwidth is smECE; "adaptive" the same
            means where the kernel reaches until it gathers events enough, see Notes of
            :class:`ReliabilityDisplay`; "nadaraya-watson" the same mean outcomes at the
            center of the kernel, the curve of the paper, see Notes of :class:`ReliabilityDisplay`;
            "isotonic" the increasing step function that fits best (CORP), at the ends of its steps;
            "binned" the mean of the outcomes at the mean of the predictions of every bin that is
            not empty, with the expected calibration error (ECE) of these bins in the legend;
            "values" the mean outcome of every distinct prediction, as a point. "auto" takes
            "values" where there are 20 of them at most, with 5 rows each on average, such as the
            votes of a few trees; else "smooth" where `bandwidth` is given, or smECE is clearly more
            than chance and its kernel gathers events enough; else "adaptive".
        n_bins : int, "cube_root" or array-like of shape (n_edges,), default=None
            Number of bins of ``kind="binned"``, at most 2^24, "cube_root", or their edges; None
            stands for 15, see :func:`skcal.metrics.expected_calibration_error`.
        strategy : {"uniform", "quantile", "sweep"}, default=None
            Of ``kind="binned"``: bins of equal width, which None stands for, of equal mass, or as
            many of equal mass as keep the mean outcomes sorted, see
            :func:`skcal.metrics.expected_calibration_error`.
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
            take no weights and no `clusters`; a belt takes no predictions of 0 and 1.
        interval : bool, default=None
            Whether the legend has the interval of smECE, see
            :func:`skcal.inference.confidence_interval`. None shows that of one binary problem of
            fewer than 50 rows.
        confidence_level : float, default=0.95
            Confidence of the band and of the interval, in (0, 1).
        random_state : int, RandomState, Generator or None, default=None
            Source of the halves behind the interval; an integer gives the same at every call, and
            so does None with ``interval=None``.
        layers : sequence of str, default=None
            What is computed and drawn beside the curve, see Notes of
            :class:`ReliabilityDisplay`. None stands for ("density", "band", "curve_width"), and
            "rug" for fewer than 50 rows. An isotonic curve has no Wilson band.
        annotate : "clinical" or None, default=None
            "clinical" adds to the legend the calibration in the large and the slope of
            :func:`skcal.inference.cox_recalibration`, where log odds are finite, and the area under
            the ROC curve. Soft labels have none.
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
        'Classifier (smECE = 0.225 [0.000, 1.000], n = 4)'
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        display = cls.estimate(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            reduction=reduction,
            clusters=clusters,
            name="Classifier" if name is None and not isinstance(y_proba, Mapping) else name,
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
            annotate=annotate,
        )
        return display.plot(ax=ax, **plot_kwargs)

    @classmethod
    def estimate(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike | Mapping[str, ArrayLike],
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Reduction = "auto",
        clusters: ArrayLike | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Compute a reliability diagram without drawing it, for example where there is no screen.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, or soft labels.
        y_proba : array-like or dict of array-like
            Predicted probabilities in [0, 1] of shape (n_samples,), (n_samples, 1) or
            (n_samples, n_classes), see :meth:`from_predictions`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label whose probability is shown, see :meth:`from_predictions`.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, see :meth:`from_predictions`.
        reduction : str, default="auto"
            One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how
            class probabilities become binary predictions, see :meth:`from_predictions`.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        name : str, default=None
            Name for the legend. None shows no name.
        **options : dict
            Other arguments of :meth:`from_predictions` that say what is computed, from `kind` to
            `annotate`.

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
        options = check_options(**options)
        if not isinstance(y_proba, Mapping):
            found = estimate_rows(y_true, y_proba, data, reduction, options, clusters)
            return cls(**found | {"name": name})
        models = name_models(y_proba, name)
        found = [
            estimate_rows(y_true, proba, data, reduction, options, clusters)
            for proba in models.values()
        ]
        if len(found) > 1 and any(one["panels"] for one in found):
            raise ValueError(
                f"y_proba must hold one model where there are panels; got reduction={reduction!r} "
                f"and {len(found)} models. Draw each on the axes of the first, ax=display.ax_."
            )
        kinds = {one["reduction"] for one in found}
        if len(kinds) > 1:
            raise ValueError("y_proba must hold probabilities of the same classes for all models.")
        curves = [curve for one in found for curve in one["curves"]]
        return cls(**found[0] | {"curves": curves, "name": list(models)})

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
        kind: Kind = "auto",
        n_bins: int | Literal["cube_root"] | ArrayLike | None = None,
        strategy: Literal["uniform", "quantile", "sweep"] | None = None,
        scale: Literal["probability", "logit"] = "probability",
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic", "belt", "consistency"] = "wilson",
        confidence_level: float = 0.95,
        layers: Sequence[str] = ("density", "curve_width"),
        annotate: Literal["clinical"] | None = None,
        name: str | list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
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
        kind : str, default="auto"
            How the mean outcome is estimated, one of "auto", "smooth", "adaptive",
            "nadaraya-watson", "isotonic", "binned" and "values", see :meth:`from_predictions`.
        n_bins : int, "cube_root" or array-like of shape (n_edges,), default=None
            Number of bins of ``kind="binned"``, at most 2^24, "cube_root", or their edges; None
            stands for 15, see :func:`skcal.metrics.expected_calibration_error`.
        strategy : {"uniform", "quantile", "sweep"}, default=None
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
        annotate : "clinical" or None, default=None
            Whether the legend has the numbers of a clinical paper, see :meth:`from_predictions`.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold, which has its own look then.
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
            interval=False,
            confidence_level=confidence_level,
            layers=layers,
            annotate=annotate,
        )
        folds = predict_folds(cv_results, X, y, sample_weight, pos_label)
        if name is None:
            name = type(folds[0][0]).__name__
        found = [
            estimate_rows(y_fold, y_proba, data, reduction, options)
            for _, y_fold, y_proba, data in folds
        ]
        return cls(**join_folds(found) | {"name": name}).plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_summary(
        cls,
        summary: CalibrationSummary,
        *,
        kind: Literal[
            "auto", "smooth", "adaptive", "nadaraya-watson", "isotonic", "binned"
        ] = "auto",
        n_bins: int | Literal["cube_root"] | ArrayLike | None = None,
        bandwidth: float | None = None,
        band: Literal["wilson", "isotonic"] = "wilson",
        interval: bool | None = None,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        layers: Sequence[str] | None = None,
        annotate: Literal["clinical"] | None = None,
        name: str | None = None,
        ax: Axes | np.ndarray | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the reliability diagram of a summary of a stream.

        Parameters
        ----------
        summary : CalibrationSummary
            Summary of the rows. Its reduction decides what is shown; "classwise" and "top-label"
            draw a panel for each class.
        kind : str, default="auto"
            How the mean outcome is estimated, one of "auto", "smooth", "adaptive",
            "nadaraya-watson", "isotonic" and "binned", see :meth:`from_predictions`.
        n_bins : int, "cube_root" or array-like of shape (n_edges,), default=None
            Number of bins of equal width of ``kind="binned"``, at most 2^24, "cube_root", or edges
            of bins; None stands for 15, see :func:`skcal.metrics.expected_calibration_error`.
        bandwidth : float, default=None
            Standard deviation of the kernel, see :meth:`from_predictions`.
        band : {"wilson", "isotonic"}, default="wilson"
            What the band shows, see :meth:`from_predictions`. Both need numbers of rows, a summary
            of hard labels without weights: of others there is no Wilson band, and "isotonic" is
            refused.
        interval : bool, default=None
            Whether the legend has the interval of smECE, see
            :func:`skcal.inference.confidence_interval`. None shows that of one binary problem of
            fewer than 50 rows.
        confidence_level : float, default=0.95
            Confidence of the band and of the interval, in (0, 1).
        random_state : int, RandomState, Generator or None, default=None
            Source of the halves behind the interval; an integer gives the same at every call, and
            so does None with ``interval=None``.
        layers : sequence of str, default=None
            What is shown beside the curve, see :meth:`from_predictions`.
        annotate : "clinical" or None, default=None
            Whether the legend has the numbers of a clinical paper, see :meth:`from_predictions`.
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
        isotonic curve and its band are those of predictions moved to the mean of their cell. The
        numbers of `annotate` are those of the few rows, of soft labels as if they were drawn: with
        16384 cells they keep the two places that are shown, for events of 1 in 1000, too.

        With weights `n_samples` is the number of rows, as their effective number is not known.

        Examples
        --------
        >>> from skcal.diagrams import ReliabilityDisplay
        >>> from skcal.streaming import CalibrationSummary
        >>> summary = CalibrationSummary().update([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9])
        >>> display = ReliabilityDisplay.from_summary(summary, name="Monday")
        >>> display.line_.get_label()
        'Monday (smECE = 0.225, n = 4)'
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
            annotate=annotate,
        )
        found = estimate_summary(summary, options)
        display = cls(**found | {"name": "Classifier" if name is None else name})
        return display.plot(ax=ax, **plot_kwargs)
