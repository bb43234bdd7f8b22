"""What diagrams over decision thresholds do alike: read models, and compute curves and bands."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._estimates._decisions import check_act, check_band, count_actions
from skcal._tools._typing import ArrayLike
from skcal.diagrams._curves_display import ComparedCurvesDisplay, check_band_choice, name_models
from skcal.diagrams._response import check_plot_options, predict_class_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


class ThresholdDisplay(ComparedCurvesDisplay):
    """Base class of displays of curves over decision thresholds."""

    _places = "thresholds"
    _x_label = "Threshold probability"
    _at_once = "all thresholds at once"
    _act: str  # the default of `act`

    def __init__(
        self,
        *,
        curves: list[Any],
        bands: list[Any] | None = None,
        name: str | list[str] | None = None,
        pos_label: int | float | bool | str | None = None,
        confidence_level: float | None = None,
        effective_rows: list[float | None] | None = None,
        baseline: int | None = None,
    ) -> None:
        super().__init__(
            curves=curves,
            bands=bands,
            name=name,
            pos_label=pos_label,
            confidence_level=confidence_level,
            effective_rows=effective_rows,
        )
        self.baseline = baseline

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        reduction: Literal["auto", "confidence"] = "auto",
        clusters: ArrayLike | None = None,
        thresholds: ArrayLike | None = None,
        act: Literal[">", ">="] | None = None,
        confidence_level: float | None = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier.

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
            The label at whose probability one acts; by default the last class of two. With more
            than two classes it selects that class against the rest.
        reduction : {"auto", "confidence"}, default="auto"
            See :meth:`from_predictions`.
        clusters : array-like of shape (n_samples,), default=None
            See :meth:`from_predictions`.
        thresholds : array-like of shape (n_thresholds,), default=None
            See :meth:`from_predictions`.
        act : {">", ">="}, default=None
            See :meth:`from_predictions`.
        confidence_level : float, default=0.95
            See :meth:`from_predictions`.
        name : str, default=None
            Name for the legend. None takes the class name of the estimator.
        ax : matplotlib axes, default=None
            Axes to draw on, such as those of the curve of another model. None creates a new
            figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid or the estimator has no `predict_proba`.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import DecisionCurveDisplay
        >>> X, y = make_classification(n_samples=900, random_state=0)
        >>> classifier = GaussianNB().fit(X[:450], y[:450])
        >>> display = DecisionCurveDisplay.from_estimator(classifier, X[450:], y[450:])
        >>> display.ax_.get_xlabel()
        'Threshold probability (Positive label: 1)'
        """
        y_proba, labels = predict_class_probabilities(estimator, X, y)
        return cls.from_predictions(
            y,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            reduction=reduction,
            clusters=clusters,
            thresholds=thresholds,
            act=act,
            confidence_level=confidence_level,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **plot_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: Any,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        reduction: Literal["auto", "confidence"] = "auto",
        clusters: ArrayLike | None = None,
        thresholds: ArrayLike | None = None,
        act: Literal[">", ">="] | None = None,
        band: Literal["auto", "curve", "difference"] = "auto",
        confidence_level: float | None = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the curves of given probabilities, of one model or of several.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels; with ``confidence_level=None`` also soft ones.
        y_proba : array-like or dict of array-like
            Predicted probabilities in [0, 1] of shape (n_samples,), (n_samples, 1) or
            (n_samples, n_classes): of the positive label, or one column per label with rows that
            sum to 1. A dictionary has those of several models for the same rows, by name.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The label at whose probability one acts; by default 1 where the labels are {0, 1} or
            {-1, 1}, else the last label. Others with one column of probabilities need it, or
            `labels`. With more than two classes it selects that class against the rest.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, in the order of the columns; by default the
            sorted labels of `y_true`.
        reduction : {"auto", "confidence"}, default="auto"
            How class probabilities become one binary problem: "confidence" takes the largest
            probability and whether its label came true, "auto" the positive label of a binary
            problem (or `pos_label`) and the confidence otherwise.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        thresholds : array-like of shape (n_thresholds,), default=None
            Thresholds at which the curve is computed, between 0 and 1; 1000 at most with a band.
            By default steps of 0.01 of a decision curve, and of 0.005 of a Murphy diagram, with
            finer ones around the base rate of an event that is rarer than 1/10 (of a Murphy diagram
            also of one that is missing as rarely).
        act : {">", ">="}, default=None
            Whether one acts at predictions v > t or v >= t. None stands for ">=" in a decision
            curve, and for ">" in a Murphy diagram.
        band : {"auto", "curve", "difference"}, default="auto"
            What a band covers: "curve" the curve of its model, "difference" its difference from
            that of the first model, around which it is drawn. "auto" is the latter for several
            models that predict the same outcomes, as their largest probabilities seldom do.
        confidence_level : float or None, default=0.95
            Probability, in (0, 1), that a band covers at all thresholds; see
            :func:`~skcal.inference.net_benefit_difference`. None draws no bands.
        name : str, default=None
            Name of a single model for the legend. None takes "Classifier".
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> from skcal.diagrams import MurphyDisplay
        >>> models = {"sharp": [0.1, 0.4, 0.7, 0.8], "dull": [0.5, 0.5, 0.5, 0.5]}
        >>> display = MurphyDisplay.from_predictions([0, 1, 1, 1], models)
        >>> [line.get_label() for line in display.lines_]
        ['sharp', 'dull']
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        models = name_models(y_proba, name)
        if confidence_level is None and clusters is not None:
            raise ValueError("clusters must be None where no band is drawn: curves need none.")
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        rows = cls._read_models(y_true, models.values(), data, reduction)
        baseline = _choose_baseline(band, rows)
        options = thresholds, act, confidence_level, clusters, baseline
        found = [cls._estimate(one, *options) for one in rows]
        number = None if baseline is None or confidence_level is None else 0
        display = cls._join(rows, found, confidence_level, list(models), baseline=number)
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
        reduction: Literal["auto", "confidence"] = "auto",
        thresholds: ArrayLike | None = None,
        act: Literal[">", ">="] | None = None,
        confidence_level: float | None = None,
        name: str | list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw a curve for each fold of a cross-validation.

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
            See :meth:`from_estimator`.
        reduction : {"auto", "confidence"}, default="auto"
            See :meth:`from_predictions`.
        thresholds : array-like of shape (n_thresholds,), default=None
            See :meth:`from_predictions`.
        act : {">", ">="}, default=None
            See :meth:`from_predictions`.
        confidence_level : float or None, default=None
            Level of a band for each fold. None draws no bands.
        name : str or list of str, default=None
            Name for the legend. None takes the class name of the estimators. A list names every
            fold and needs a list as `curve_kwargs`.
        ax : matplotlib axes, default=None
            Axes to draw on. None creates a new figure and axes.
        **plot_kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ValueError
            If an argument is invalid, if `cv_results` lacks estimators or indices, if an
            estimator has no `predict_proba`, or if some know other classes than others.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import DecisionCurveDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> results = cross_validate(
        ...     GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True
        ... )
        >>> display = DecisionCurveDisplay.from_cv_results(results, X, y)
        >>> len(display.lines_)
        3
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_cv_results)
        data = {"sample_weight": sample_weight, "pos_label": pos_label}
        rows, title = cls._read_folds(cv_results, X, y, reduction, **data)
        found = [cls._estimate(one, thresholds, act, confidence_level) for one in rows]
        name = title if name is None else name
        return cls._join(rows, found, confidence_level, name).plot(ax=ax, **plot_kwargs)

    # --------------------------------------------------------------------- before drawing

    @classmethod
    @abstractmethod
    def _trace(cls, sample, thresholds, act):
        """The curve."""

    @classmethod
    @abstractmethod
    def _compute_band(cls, actions, baseline, thresholds, level, clusters):
        """Curve beyond that of other `Actions`, if there are any, and ends of its band, arrays."""

    @classmethod
    def _estimate(cls, rows, thresholds, act, confidence_level, clusters=None, baseline=None):
        """Curve, and band or None: that of the difference from a baseline, around its curve."""
        act = cls._act if act is None else act
        check_act(act)
        curve, band = cls._trace(rows.sample, thresholds, act), None
        if confidence_level is not None and rows is not baseline:
            t, middle, other = curve.thresholds, 0.0, None
            level = check_band(t, act, confidence_level)
            if baseline is not None:
                middle = getattr(cls._trace(baseline.sample, t, act), cls._field)
                other = count_actions(baseline.sample, t, act)
            actions = count_actions(rows.sample, t, act)
            _, *ends = cls._compute_band(actions, other, t, level, clusters)
            band = [middle + end for end in ends]
        return curve, band


def _choose_baseline(band, rows):
    """`ModelRows` of the first of several models if others are compared with it, else None."""
    check_band_choice(band, len(rows))
    outcomes = [one.sample.outcomes for one in rows]
    are_same = all(np.array_equal(outcomes[0], other) for other in outcomes)
    if band == "difference" and not are_same:
        raise ValueError(
            "band must be 'auto' or 'curve' for models whose most probable labels differ in some "
            "rows; got 'difference'. Choose one class with pos_label."
        )
    return rows[0] if band != "curve" and are_same and len(rows) > 1 else None
