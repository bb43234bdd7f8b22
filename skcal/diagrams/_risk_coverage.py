"""Risk-coverage curves: what is accepted, and how much of that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._clusters import number_clusters, unite_copies
from skcal._input._independent_rows import list_unequal_weights
from skcal._input._losses import find_losses
from skcal._input._outcome_matrix import has_columns
from skcal._input._validation import check_confidence_level
from skcal._numerics.curves._risk_band import band_risks
from skcal._numerics.errors._risk_coverage import are_errors, find_risks, rank_losses
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_threshold
from skcal.diagrams._curves_display import CurvesDisplay, name_models, place_legend
from skcal.diagrams._legend import check_lengths
from skcal.diagrams._response import check_plot_options, predict_class_probabilities
from skcal.inference import CertifiedThreshold, certified_threshold
from skcal.metrics import RiskCoverageCurve

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

# Where less is accepted, a few rows decide: the axes need not show the highest risk there.
_FEW = 0.1
# Room above the highest risk and below the legend, in parts of it, and the least that is shown.
_ROOM, _PAD, _LEAST = 0.08, 0.04, 0.01


class RiskCoverageDisplay(CurvesDisplay):
    r"""Risk-coverage curves: the risk of the rows that are accepted, over their share.

    Rows are accepted from the largest prediction down. A curve that lies lower promises more
    answers with the same number of errors; one that ranks rows at random is level.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or
    :meth:`from_cv_results` to create a display.

    Parameters
    ----------
    curves : list of RiskCoverageCurve
        The curves, see :func:`skcal.metrics.risk_coverage_curve`.
    bands : list of (low, high), default=None
        Ends of the band of each curve, arrays of shape (n_thresholds,).
    name : str or list of str, default=None
        Name for the legend, or one for each curve.
    pos_label : int, float, bool or str, default=None
        The label whose probability is the prediction; part of the label of the x axis unless None.
    confidence_level : float, default=None
        Level of the bands, for the legend.
    effective_rows : list of float or None, default=None
        Effective number of rows of each curve, for the legend; None where weights do not differ.
    certified : list of CertifiedThreshold, default=None
        Certified threshold of each curve, see :func:`skcal.inference.certified_threshold`.

    Attributes
    ----------
    lines_ : list of matplotlib Artists
        The curves.
    bands_ : list of matplotlib Artists
        Their bands.
    ref_lines_ : list of matplotlib Artists
        Risks of random orders, which are those of all rows, and the limit of the risk if any.
    points_ : list of matplotlib Artists
        Certified thresholds.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the diagram.

    See Also
    --------
    skcal.metrics.risk_coverage_curve : The numbers.
    skcal.metrics.area_under_risk_coverage_curve : The area below the curve.
    skcal.inference.certified_threshold : The lowest threshold whose risk is promised; of two
        columns it reads the positive label unless ``reduction="confidence"``.

    Notes
    -----
    The band holds the mean expected loss of the accepted rows at all coverages at once, with
    probability `confidence_level`, given the predictions, at every sample size. For errors of
    rows of equal weights it consists of the bounds of Clopper and Pearson [1]_, which hold for rows
    of different chances, too [2]_; for soft labels and for other losses, weights or clusters, of
    the wider empirical Bernstein bounds of Maurer and Pontil [3]_. They share the level equally,
    among about four places for each square root of the number of rows; between these the sum of the
    expected losses can neither fall nor grow by more than the weight of the rows.

    The band is of each curve alone. Where its upper end falls below a limit the risk may be taken
    to be below that; :func:`~skcal.inference.certified_threshold`, which looks for one such place
    only, mostly accepts more. The promise of a threshold and the band hold with the level each, not
    both at once, and those of several models do so one by one.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934). The use of confidence or fiducial limits illustrated
       in the case of the binomial. Biometrika 26. :doi:`10.1093/biomet/26.4.404`
    .. [2] W. Hoeffding (1956). On the distribution of the number of successes in independent
       trials. Annals of Mathematical Statistics 27. :doi:`10.1214/aoms/1177728178`
    .. [3] A. Maurer, M. Pontil (2009). Empirical Bernstein bounds and sample variance penalization.
       COLT 22. :doi:`10.48550/arXiv.0907.3740`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.diagrams import RiskCoverageDisplay
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(0.5, 1, 2000)
    >>> is_right = (rng.random(2000) < confidence).astype(int)
    >>> display = RiskCoverageDisplay.from_predictions(is_right, confidence, at_most=0.1)
    >>> display.points_[0].get_label()
    'Accept at 0.8353 or above: 33.5 % of rows'
    """

    points_: list[Artist]
    _Curve = RiskCoverageCurve
    _places = "coverage"
    _field = "risk"
    _x_label = "Coverage: share of rows accepted"
    _y_label = "Risk: mean loss of these rows"
    _at_once = "all coverages at once"

    def __init__(
        self,
        *,
        curves: list[RiskCoverageCurve],
        bands: list[Any] | None = None,
        name: str | list[str] | None = None,
        pos_label: int | float | bool | str | None = None,
        confidence_level: float | None = None,
        effective_rows: list[float | None] | None = None,
        certified: list[CertifiedThreshold] | None = None,
    ) -> None:
        super().__init__(
            curves=curves,
            bands=bands,
            name=name,
            pos_label=pos_label,
            confidence_level=confidence_level,
            effective_rows=effective_rows,
        )
        self.certified = certified

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
        at_most: float | None = None,
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
            See :meth:`from_predictions`.
        reduction : {"auto", "confidence"}, default="auto"
            See :meth:`from_predictions`.
        clusters : array-like of shape (n_samples,), default=None
            See :meth:`from_predictions`.
        at_most : float, default=None
            See :meth:`from_predictions`.
        confidence_level : float or None, default=0.95
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
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal.diagrams import RiskCoverageDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = GaussianNB().fit(X[::2], y[::2])
        >>> display = RiskCoverageDisplay.from_estimator(classifier, X[1::2], y[1::2])
        >>> display.ax_.get_xlabel()
        'Coverage: share of rows accepted'
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
            at_most=at_most,
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
        risk: Any = "error",
        clusters: ArrayLike | None = None,
        at_most: float | None = None,
        confidence_level: float | None = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the curves of given probabilities, of one model or of several.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, or soft labels: probabilities of the positive label in [0, 1].
        y_proba : array-like or dict of array-like
            Predicted probabilities in [0, 1] of shape (n_samples,), (n_samples, 1) or
            (n_samples, n_classes): of the positive label, or one column per label with rows that
            sum to 1. A dictionary has those of several models for the same rows, by name.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            The positive label; by default the last label. A single column needs it, or `labels`,
            unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
            against the rest.
        labels : array-like of shape (n_classes,), default=None
            Label of every column of `y_proba`, in the order of the columns; by default the
            sorted labels of `y_true`.
        reduction : {"auto", "confidence"}, default="auto"
            Which prediction the threshold is for: "confidence" the largest probability of a row,
            whose label is the answer. "auto" is that where a model has a column for each class,
            also for two, and the probability of the positive label of a single column, or of
            `pos_label`.
        risk : "error", array-like of shape (n_samples,) or dict, default="error"
            The loss of accepting a row, see :func:`~skcal.metrics.risk_coverage_curve`. A
            dictionary has that of each of several models, by name.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows.
        at_most : float, default=None
            A limit of the risk, in (0, 1). The lowest threshold above which it is promised, with
            `confidence_level`, is marked: see :func:`~skcal.inference.certified_threshold`.
        confidence_level : float or None, default=0.95
            Probability, in (0, 1), that the band of a curve covers at all coverages. None draws no
            bands.
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
            If an argument is invalid, or if there are weights or soft labels with `at_most`.

        Examples
        --------
        >>> from skcal.diagrams import RiskCoverageDisplay
        >>> models = {"sharp": [0.1, 0.4, 0.7, 0.8], "dull": [0.5, 0.5, 0.5, 0.5]}
        >>> display = RiskCoverageDisplay.from_predictions([0, 1, 1, 1], models)
        >>> [line.get_label() for line in display.lines_]
        ['sharp', 'dull']
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_predictions)
        models = name_models(y_proba, name)
        if confidence_level is None:
            for argument, given in (("clusters", clusters), ("at_most", at_most)):
                if given is not None:
                    raise ValueError(
                        f"{argument} must be None without a confidence_level: curves need none."
                    )
        risks = dict.fromkeys(models, risk)
        if isinstance(risk, Mapping):
            risks = {str(key): losses for key, losses in risk.items()}
        if risks.keys() != models.keys():
            raise ValueError(
                f"risk must have the losses of the models {list(models)}; got {list(risks)}."
            )
        data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        rows = cls._read_models(y_true, models.values(), data, reduction)
        pairs = [(one, risks[key]) for one, key in zip(rows, models, strict=True)]
        found = [cls._estimate(*pair, confidence_level, clusters) for pair in pairs]
        certified = None
        if at_most is not None:
            if sample_weight is not None:
                raise ValueError(
                    "at_most must be None where sample_weight is given: a threshold is certified "
                    "for rows that count once each."
                )
            options: dict[str, Any] = {"at_most": at_most, "confidence_level": confidence_level}
            options["clusters"] = clusters
            certified = [
                certified_threshold(
                    one.sample.outcomes, one.sample.predictions, risk=loss, **options
                )
                for one, loss in pairs
            ]
        display = cls._join(rows, found, confidence_level, list(models), certified=certified)
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
        confidence_level: float | None = None,
        name: str | list[str] | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw a curve for each fold of a cross-validation.

        No threshold is certified: each fold has a model of its own.

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
            See :meth:`from_predictions`.
        reduction : {"auto", "confidence"}, default="auto"
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
        >>> from skcal.diagrams import RiskCoverageDisplay
        >>> X, y = make_classification(n_samples=600, random_state=0)
        >>> results = cross_validate(
        ...     GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True
        ... )
        >>> display = RiskCoverageDisplay.from_cv_results(results, X, y, reduction="confidence")
        >>> len(display.lines_)
        3
        """
        check_plot_options(cls.plot, plot_kwargs, cls.from_cv_results)
        data = {"sample_weight": sample_weight, "pos_label": pos_label}
        rows, title = cls._read_folds(cv_results, X, y, reduction, **data)
        found = [cls._estimate(one, "error", confidence_level) for one in rows]
        name = title if name is None else name
        return cls._join(rows, found, confidence_level, name).plot(ax=ax, **plot_kwargs)

    # --------------------------------------------------------------------- before drawing

    @classmethod
    def _choose_reduction(cls, models, reduction, pos_label):
        """To accept one label of two alone would hide half of the answers."""
        if reduction == "auto" and pos_label is None and any(map(has_columns, models)):
            return "confidence"
        return reduction

    @classmethod
    def _estimate(cls, rows, risk, confidence_level, clusters=None):
        """Curve, and band or None."""
        sample, present = find_losses(rows.sample, risk)
        ranked, band = rank_losses(sample.predictions, sample.outcomes, sample.weights), None
        if confidence_level is not None:
            level = check_confidence_level(confidence_level)
            band = _find_band(sample, present, isinstance(risk, str), clusters, level)
        return RiskCoverageCurve(ranked.thresholds, *find_risks(ranked)), band

    def _check(self):
        super()._check()
        check_lengths(len(self.curves), certified=self.certified)

    # --------------------------------------------------------------------- drawing

    def _list_lines(self, curve, unit):
        ends = np.array([0.0, 1.0])
        yield "Random order", ":", ends, np.full(2, curve.risk[-1])
        for found in self.certified or []:
            yield (
                f"Limit of the risk: {100 * found.at_most:.3g} %",
                "--",
                ends,
                np.full(2, found.at_most),
            )

    def _finish(self, ax):
        self.points_ = []
        for found, line in zip(self.certified or [], self.lines_, strict=False):
            look = {"color": line.get_color(), "linestyle": "none", "zorder": 3, "clip_on": False}
            if found.feasible:
                share = f"{100 * found.coverage:.3g} % of rows"
                words = f"Accept at {show_threshold(found.threshold)} or above: {share}"
                look |= {"marker": "o", "markersize": 7, "label": words}
                self.points_ += ax.plot([found.coverage], [found.risk], **look)
            else:
                self.points_ += ax.plot([], [], marker="x", label="Nothing is certified", **look)
        top = min((1 + _ROOM) * max(_find_top(ax), _LEAST), 1.0)
        _cut(ax, top)
        place_legend(ax, 0.0, (1 + _PAD) * top)
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])


def _find_band(sample, present, is_error, clusters, level):
    """Ends of the band; a row may stand for a cluster of its copies."""
    predictions, losses, _ = next(sample.chunks(size=len(sample.predictions)))
    weights, member = list_unequal_weights(sample), None
    if clusters is not None:
        member = number_clusters(clusters, present)
        member, kept, weights = unite_copies(member, predictions, losses, weights)
        predictions, losses = predictions[kept], losses[kept]
    is_error = is_error and are_errors(losses)
    return band_risks(predictions, losses, weights, member, level, are_errors=is_error)


def _find_top(ax):
    """The highest risk of lines and bands, where more than few rows are accepted."""
    parts = [np.transpose(line.get_data()) for line in ax.lines]
    parts += [path.vertices for band in ax.collections for path in band.get_paths()]
    return max(part[part[:, 0] >= _FEW, 1].max(initial=0.0) for part in parts)


def _cut(ax, top):
    """Let curves and bands end below the legend."""
    from matplotlib.patches import Rectangle

    inside = Rectangle((0.0, 0.0), 1.0, top, transform=ax.transData)
    for artist in (*ax.lines, *ax.collections):
        if artist.get_clip_on():
            artist.set_clip_path(inside)
