"""Internal validation: what to expect of a model in new rows, without a test set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from skcal._fitting._folds import check_classifier, check_rows
from skcal._fitting._predict_proba import predict_labelled
from skcal._input._validation import (
    check_confidence_level,
    check_flag,
    check_integer,
    check_option,
    check_rng,
    check_sample_weight,
    check_unit_range,
    show_labels,
)
from skcal._sources._refits import Refits, RowDraws, count_folds
from skcal._tools._progress import read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.model_selection._performance import Performance, Predicted
from skcal.model_selection._validated import (
    InternalValidation,
    PredictionStability,
)
from skcal.model_selection._validation_parts import (
    choose_method,
    read_params,
    read_units,
    refuse_frozen,
    summarize,
)
from skcal.model_selection._validation_runs import MOST_FOLDS, Run

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_MEASURES = (
    "slope",
    "intercept",
    "observed_expected_ratio",
    "smooth_ece",
    "integrated_calibration_index",
    "E90",
    "brier_score",
    "log_loss",
    "roc_auc",
)


def internal_validation(
    estimator: BaseEstimator,
    X: Any,
    y: ArrayLike,
    *,
    method: Literal["auto", "optimism", "cv"] = "auto",
    n_resamples: int = 200,
    measures: Sequence[Any] | Mapping[str, Any] | None = None,
    thresholds: ArrayLike | None = None,
    stability: bool = False,
    clusters: ArrayLike | None = None,
    stratify: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    params: dict[str, Any] | None = None,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> InternalValidation:
    r"""Estimate the performance of a model in new rows, without a test set.

    The whole modelling process is repeated in resamples of the rows, or in folds, and what the
    model shows on the rows that it was fitted on is corrected by what is seen there.

    Parameters
    ----------
    estimator : estimator instance
        Classifier with `predict_proba`: a pipeline, a search or a recalibrated classifier as well.
        All that is decided by the data belongs inside, as all of it is fitted again. A
        `FrozenEstimator` is refused.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Whatever the classifier takes: all rows, those that a final model is fitted on.
    y : array-like of shape (n_samples,)
        Labels.
    method : {"auto", "optimism", "cv"}, default="auto"
        "optimism" fits the model to resamples of the rows with replacement and subtracts the mean
        optimism; "cv" takes the predictions of ten folds, again and again. "auto" takes "optimism"
        for linear classifiers without an inner cross-validation whose apparent slope is finite, and
        "cv" for all others, see Notes.
    n_resamples : int, default=200
        Number of models that are fitted: one for each resample, or for each fold of as many whole
        repetitions as that allows, at least one. From 2 to 2^24.
    measures : list or dict, default=None
        What is measured: names, functions and scorers, or a dictionary of such by name. Names are
        "slope" and "intercept" of the log odds, "observed_expected_ratio", "E50", "E90", "Emax",
        "brier_score", "log_loss", "roc_auc", those of :data:`skcal.metrics.MEASURES`, and those of
        scikit-learn's scorers. A function is called as ``f(outcomes, risks)``, two arrays of shape
        (n_samples,), with `sample_weight` where there are weights. A scorer sees a classifier with
        these risks, one of scikit-learn by its name with labels 1 for the event and 0, any other
        with the labels of `y` if there are two, else with 1 for `pos_label` and 0. By default
        "slope", "intercept", "observed_expected_ratio", "smooth_ece",
        "integrated_calibration_index", "E90", "brier_score", "log_loss" and "roc_auc".
    thresholds : float or array-like of shape (n_thresholds,), default=None
        Decision thresholds, in (0, 1), at each of which the net benefit is measured too.
    stability : bool, default=False
        Whether to keep the predictions of the models of resamples, an array of shape
        (n_samples, n_resamples). With folds, resamples are drawn for that besides.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. Clusters are drawn, and dealt to
        folds, as a whole. None means independent rows.
    stratify : array-like of shape (n_samples,), default=None
        Labels of strata, within which rows are drawn, such as y for a rare event. None draws from
        all rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the measures, and nowhere else; those of the fit are in `params`.
    pos_label : int, float, bool or str, default=None
        The label whose probability is validated; by default the last of two. With more it must be
        given, and is validated against the rest.
    params : dict, default=None
        What goes to ``estimator.fit``; of arrays with an entry for each row the rows of the
        resample.
    confidence_level : float, default=0.95
        Level of the intervals, in (0, 1).
    n_jobs : int, default=None
        Number of models that joblib fits at a time.
    progress : bool or callable, default=None
        A progress bar over models: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of resamples and folds. The estimator has its own.

    Returns
    -------
    InternalValidation
        Each measure, apparent and corrected, with its interval; calibration curves; and, if asked
        for, what models of resamples predict for each row.

    Raises
    ------
    ValueError
        If an argument is invalid, if half of the models cannot be fitted, or if one of the outcomes
        is that of a single row or cluster, or too rare to be drawn.

    Warns
    -----
    UserWarning
        If some models cannot be fitted; their resamples, or repetitions of folds, are left out.

    See Also
    --------
    pooled_cross_val_score : One measure of one set of folds.
    skcal.diagrams.ReliabilityDisplay.from_internal_validation : Apparent and corrected curve.
    skcal.diagrams.StabilityDisplay : How much models of resamples differ.

    Notes
    -----
    In R this is ``validate`` and ``calibrate`` of rms, and ``validate`` of pminternal.

    With "optimism" [1]_ a model is fitted to each resample b. Its optimism for a measure M is that
    of its own rows minus that of all rows, and

    .. math:: M_\mathrm{corrected} = M_\mathrm{apparent} - \frac{1}{B} \sum_{b=1}^{B}
              \bigl( M_b(\mathrm{resample}) - M_b(\mathrm{data}) \bigr).

    A resample holds 63 % of the rows, so that a model that nearly interpolates is rather good even
    for all rows, and its optimism is underestimated; where rows come several times, a search or a
    recalibrator inside has the same rows in training and in test folds. With "cv" no row is
    predicted by a model that has seen it. Predictions of all folds are measured together, as
    :func:`pooled_cross_val_score` does, and the values of the repetitions averaged. Models of folds
    lack a tenth of the rows, and are a little worse. The table in :ref:`optimism-or-folds` shows
    how far off both are, and how often intervals cover.

    A resample without both outcomes is drawn again. There are no more folds than rows, or clusters,
    of the rarer outcome. Intercept and slope are those of rows with predictions other than 0 and 1,
    whose log odds are infinite. A measure that has no finite value in a resample, such as the slope
    where a threshold separates the outcomes, is averaged over the others, and NaN where these are
    not the majority.

    Intervals are those of a location-shifted bootstrap [2]_: the quantiles of a measure over
    resamples are moved so that their mean is the corrected value. With "optimism" models of
    resamples predict other resamples; with "cv" rows are drawn with their predictions, and
    intervals lengthened by a fifth, because models of folds share most of their rows. (The
    quantiles of the apparent measure, which [2]_ has, would give the slope of a logistic regression
    no width: it is 1 in every resample.) Errors of calibration, which grow by drawing rows again,
    get ends that are equally far on both sides. What costs time is to fit the models; intervals
    take a measurement for each resample.

    References
    ----------
    .. [1] F. E. Harrell, K. L. Lee, D. B. Mark (1996). Multivariable prognostic models: issues in
       developing models, evaluating assumptions and adequacy, and measuring and reducing errors.
       Statistics in Medicine 15.
       :doi:`10.1002/(SICI)1097-0258(19960229)15:4<361::AID-SIM168>3.0.CO;2-4`
    .. [2] H. Noma, T. Shinozaki, K. Iba, S. Teramukai, T. A. Furukawa (2021). Confidence intervals
       of prediction accuracy measures for multivariable prediction models based on the
       bootstrap-based optimism correction methods. Statistics in Medicine 40.
       :doi:`10.48550/arXiv.2005.01457`

    Examples
    --------
    A logistic regression with 15 features, of which three count, looks calibrated where it was
    fitted:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcal.model_selection import internal_validation
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(300, 15))
    >>> log_odds = X[:, :3] @ [1, 0.7, 0.5] - 0.5
    >>> y = (rng.random(300) < 1 / (1 + np.exp(-log_odds))).astype(int)
    >>> model = LogisticRegression(C=1e6)
    >>> found = internal_validation(model, X, y, n_resamples=40, random_state=0)
    >>> slope = found.measures["slope"]
    >>> round(slope.apparent, 2), slope.corrected.estimate < 0.9
    (1.0, True)
    """
    check_option("method", method, ("auto", "optimism", "cv"))
    n_resamples = check_integer("n_resamples", n_resamples, 2)
    level = check_confidence_level(confidence_level)
    check_flag("stability", stability)
    show, rng = read_progress(progress), check_rng(random_state)
    check_classifier(estimator)
    refuse_frozen(estimator, "classifier", "predict_proba")
    X, target = check_rows(estimator, X, y)
    weights = check_sample_weight(sample_weight, len(target))
    rows, label = _read_rows(target, weights, pos_label)
    chosen = _MEASURES if measures is None else measures
    performance = Performance(chosen, thresholds, has_weights=weights is not None)
    member, strata = read_units(len(target), clusters, stratify)
    count_folds(rows.outcomes, member, MOST_FOLDS)  # whose error is that of resamples, too
    refits = Refits(estimator, X, target, read_params(params), PredictLabel(label))
    everyone = np.arange(len(target))
    fitted, predictions = refits.predict_split(everyone, everyone)
    rows = rows.replace(predictions)
    if method == "auto":
        method = choose_method(fitted, rows)
    draws = RowDraws(np.where(rows.mass > 0, rows.outcomes, -1), member, strata, rng)
    run = Run(refits, rows, performance, draws, n_resamples, n_jobs, show)
    found = run.validate(method, member, strata, rng, stability)
    validated, curve = summarize(performance, found, level)
    return InternalValidation(
        measures=validated,
        curve=curve,
        stability=PredictionStability(
            rows.predictions, found.resampled, rows.outcomes, weights, level
        )
        if stability
        else None,
        held_out=found.held_out,
        method=method,
        name=type(estimator).__name__,
        pos_label=label,
        confidence_level=level,
        n_rows=len(target),
        n_models=found.n_models,
        n_failed=found.n_failed,
        n_redrawn=draws.n_redrawn,
        n_certain=found.n_certain,
    )


def _read_rows(target, weights, pos_label):
    """`Predicted` that lacks predictions yet, and the label whose probability is validated."""
    classes = np.unique(target)
    known = classes.tolist()
    if len(known) < 2:
        raise ValueError(f"y must hold two labels at least; got {show_labels(classes)} alone.")
    if pos_label is None and len(known) > 2:
        raise ValueError(
            f"pos_label must be one of the {len(known)} labels of y, {show_labels(classes)}: one "
            "class is validated against the rest."
        )
    label = known[-1] if pos_label is None else pos_label
    if label not in known:
        raise ValueError(
            f"pos_label must be one of the labels of y, {show_labels(classes)}; got {label!r}."
        )
    label = known[known.index(label)]
    others = [one for one in known if one != label]
    names = (others[0], label) if len(others) == 1 else (0, 1)
    outcomes = (target == label).astype(np.intp)
    if weights is not None and len(np.unique(outcomes[weights > 0])) < 2:
        raise ValueError("sample_weight must be positive for rows of both outcomes.")
    return Predicted(outcomes, None, weights, names), label


class PredictLabel(NamedTuple):
    """Probability of a label that a fitted classifier predicts; 0 for one that it does not know."""

    label: Any

    def __call__(self, classifier, X):
        proba, labels = predict_labelled(classifier, X)
        place = [k for k, label in enumerate(labels.tolist()) if label == self.label]
        risk = proba[:, place].sum(axis=1).astype(np.float64)
        return check_unit_range("predict_proba of estimator", risk)
