"""Calibration in cross-validation: a rule that chooses models by it, and its pooled value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from skcal._bound_measure import bind_for_labels
from skcal._folds import (
    check_rows,
    choose_splitter,
    fit_rows,
    make_splits,
    spread_columns,
)
from skcal._predict_proba import (
    complete_labels,
    find_unseen_labels,
    predict_labelled,
    warn_of_unseen_labels,
)
from skcal._records import show_record
from skcal._typing import ArrayLike
from skcal._validation import check_sample_weight, suggest_name

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["PooledScore", "calibrated_within_one_se", "pooled_cross_val_score"]


def calibrated_within_one_se(score: str, calibration: str) -> Callable[..., Any]:
    """Make a ``refit=`` rule: the best calibrated of the candidates with nearly the best score.

    A calibration error alone is no target for a search, because a model that always predicts
    the base rate has none. This rule first keeps the candidates whose proper score lies within
    one standard error of the best, and then takes the one with the best calibration.

    Parameters
    ----------
    score : str
        Name of the proper score in the ``scoring`` of the search: a key of the dict.
    calibration : str
        Name of the calibration score in it. As everywhere in scikit-learn, larger is better in
        both.

    Returns
    -------
    callable
        ``refit(cv_results)``, which returns the index of a candidate, for `GridSearchCV` and
        `RandomizedSearchCV` with several metrics. It raises a ValueError if one of the names is
        not among the metrics, or if no candidate has finite scores on all splits.

    Raises
    ------
    ValueError
        If `score` or `calibration` is not a string.

    See Also
    --------
    skcal.scorers.get_scorer : The calibration score of a ``scoring`` with several metrics.
    pooled_cross_val_score : A measure of the model that was chosen.

    Notes
    -----
    With :math:`d_k` the amount by which a candidate falls behind the best mean score on split k
    of m, the candidate is kept [1]_ if

    .. math:: \\bar d \\le \\sqrt{\\frac{1}{m (m - 1)} \\sum_k (d_k - \\bar d)^2}.

    The standard error is that of the paired differences, so that splits which are hard for all
    candidates do not widen it. With a single split there is no standard error, and only
    candidates that tie for the best score are kept. Of equal candidates the first is taken. A
    candidate with a missing or infinite score on any split (a failed fit) is left out.

    All splits count as independent, which those of repeated cross-validation are not: the more
    repeats, the closer the rule gets to the best score.

    scikit-learn sets no ``best_score_`` where ``refit`` is a function; ``best_index_``,
    ``best_params_`` and ``best_estimator_`` are set. ``search.score`` gives the proper score.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone (1984). Classification and
       regression trees. Wadsworth. :doi:`10.1201/9781315139470` (the rule of one standard error,
       there with the unpaired error of the best candidate)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcal.model_selection import calibrated_within_one_se
    >>> from skcal.scorers import get_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)

    Leaves of 300 rows leave no split: that tree always predicts the base rate, and is the best
    calibrated of the four.

    >>> search = GridSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"min_samples_leaf": [1, 10, 30, 300]},
    ...     scoring={"log_loss": "neg_log_loss", "smooth_ece": get_scorer("neg_smooth_ece")},
    ...     refit=calibrated_within_one_se("log_loss", "smooth_ece"),
    ... )
    >>> search.fit(X, y).best_params_
    {'min_samples_leaf': 30}
    """
    return _CalibratedWithinOneSE(score, calibration)


@dataclass(frozen=True, repr=False)
class _CalibratedWithinOneSE:
    score: str
    calibration: str

    def __post_init__(self):
        for argument in ("score", "calibration"):
            name = getattr(self, argument)
            if not isinstance(name, str):
                raise ValueError(
                    f"{argument} must be the name of a metric, a key of `scoring`; got {name!r}."
                )

    # A search looks its own score up by `refit`, whatever that is: scorers[refit]. The rule finds
    # what its proper score would find.
    def __hash__(self):
        return hash(self.score)

    def __eq__(self, other):
        if isinstance(other, str):
            return self.score == other
        if not isinstance(other, _CalibratedWithinOneSE):
            return NotImplemented
        return (self.score, self.calibration) == (other.score, other.calibration)

    def __call__(self, cv_results):
        score = _read_splits(cv_results, "score", self.score)
        calibration = _read_splits(cv_results, "calibration", self.calibration)
        complete = np.isfinite(score).all(axis=1) & np.isfinite(calibration).all(axis=1)
        if not complete.any():
            raise ValueError(
                f"No candidate has finite values of {self.score!r} and {self.calibration!r} on "
                'all splits; pass error_score="raise" to see why fits or scores fail.'
            )
        candidates = np.flatnonzero(complete)
        score = score[candidates]
        candidates = candidates[_is_within_one_se(score)]
        return int(candidates[calibration[candidates].mean(axis=1).argmax()])

    def __repr__(self):
        return f"calibrated_within_one_se({self.score!r}, {self.calibration!r})"


def _read_splits(cv_results, argument, name):
    """Scores of a metric, of shape (n_candidates, n_splits)."""
    if f"mean_test_{name}" not in cv_results:
        prefix = "mean_test_"
        metrics = [key.removeprefix(prefix) for key in cv_results if key.startswith(prefix)]
        raise ValueError(
            f"{argument} must be one of the metrics of the search, {metrics}; got {name!r}."
            f"{suggest_name(name, metrics)} Give both metrics in `scoring`, for example as a dict."
        )
    splits = []
    while (key := f"split{len(splits)}_test_{name}") in cv_results:
        splits.append(np.asarray(cv_results[key], dtype=float))
    if not splits:
        raise ValueError(
            f"cv_results must hold the scores of each split, split0_test_{name} and so on; it "
            "has none."
        )
    # Scaled by a power of 2, which rounds nothing, so that no sum overflows.
    return np.ldexp(np.stack(splits, axis=1), -len(splits).bit_length())


def _is_within_one_se(score):
    """Whether a row of scores is within one paired standard error of the row of the best mean."""
    loss = score[score.mean(axis=1).argmax()] - score
    # Nor must squares overflow or vanish: the rule does not depend on the unit.
    loss = np.ldexp(loss, -np.frexp(np.abs(loss).max(axis=1, keepdims=True))[1])
    n_splits = loss.shape[1]
    error = loss.std(axis=1, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else 0.0
    return loss.mean(axis=1) <= error


# --------------------------------------------------------------------------- pooled predictions


class PooledScore(NamedTuple):
    """A measure of cross-validated predictions.

    Attributes
    ----------
    pooled : float
        Value for the predictions of all test rows together.
    fold_mean : float
        Mean of `folds`; for a calibration error biased upwards, the more the smaller the folds.
    folds : ndarray of shape (n_splits,)
        Value for the test rows of each fold.
    """

    pooled: float
    fold_mean: float
    folds: np.ndarray

    def __repr__(self) -> str:
        return show_record(self)


def pooled_cross_val_score(
    estimator: BaseEstimator,
    X: Any,
    y: ArrayLike,
    *,
    measure: str | Callable[..., Any],
    sample_weight: ArrayLike | None = None,
    cv: Any = None,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> PooledScore:
    r"""Measure calibration on the pooled predictions of a cross-validation.

    Every row is predicted by a model that was fitted on other rows, and the measure is taken of
    all predictions together. The mean over folds, which scikit-learn reports, is given beside it:
    for a calibration error it is biased upwards.

    Parameters
    ----------
    estimator : estimator instance
        Classifier with `predict_proba`; a clone is fitted for each fold.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Whatever the classifier takes.
    y : array-like of shape (n_samples,)
        Labels.
    measure : callable or str
        A measure of :mod:`skcal.metrics` or its name, or any function
        ``f(y_true, y_proba, *, labels=None, sample_weight=None, ...)`` that returns a float;
        `y_proba` has one column for each of `labels`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the measure, and nowhere else.
    cv : int, cross-validation splitter or iterable, default=None
        As in scikit-learn: None stands for 5 stratified folds. A row may be tested several times,
        or never: each time counts.
    params : dict, default=None
        What goes to ``estimator.fit`` and to the splitter. With metadata routing both get what
        they request; without it ``"groups"`` go to the splitter, and all else to ``fit``.
    n_jobs : int, default=None
        Number of folds that joblib fits at a time.
    **options : dict
        Keyword arguments for `measure`, such as ``n_bins=20``, ``reduction="classwise"`` or
        ``pos_label="yes"``. Their names are checked at once.

    Returns
    -------
    PooledScore
        The value on pooled predictions, the mean over folds, and the value of each fold, as the
        measure gives them: of an error less is better.

    Raises
    ------
    ValueError
        If an argument is invalid, if the classifier has no `predict_proba`, or if the measure
        cannot be taken of a fold.
    TypeError
        If `measure` has no argument `labels`, or none of the name of an option.

    See Also
    --------
    skcal.scorers.make_calibration_scorer : Values of folds for scikit-learn's functions.
    skcal.recalibration.CrossFitProba : The predictions themselves.

    Notes
    -----
    A calibration error adds up absolute deviations, which noise enlarges: that of a calibrated
    model is about :math:`c / \sqrt n` on n rows (:math:`c / n^{1/3}` for SmoothECE). A mean over k
    folds has the bias of n / k rows, up to :math:`\sqrt k` times as much; noise of opposite signs
    does not cancel between folds. With bins of equal width the pooled expected calibration error
    is never above the mean over folds of equal size. What is left is the bias of n rows.

    The disadvantage is that the models of the folds are treated as one: opposite errors of two of
    them cancel. With repeated splits the predictions of one row count as so many rows, which are
    not independent. Unbiased measures, such as the unbiased squared kernel calibration error, may
    be averaged over folds; a proper score has no such bias either.

    All folds have columns for all labels. A label that test rows hold and training rows lack has
    probability 0, with a warning.

    Weights for the fit come from `params`, those of the measure from `sample_weight`, with
    metadata routing and without it; pass both to use them for both. (`cross_validate` passes
    weights to a scorer with metadata routing only.)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skcal.model_selection import pooled_cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> score = pooled_cross_val_score(model, X, y, measure="smooth_ece", cv=10)
    >>> round(score.pooled, 2), round(score.fold_mean, 2)
    (0.02, 0.04)
    """
    if "labels" in options:
        raise TypeError("labels cannot be an option: they come from the classifiers.")
    bound = bind_for_labels(measure, options, pooled_cross_val_score)
    X, target = check_rows(estimator, X, y)
    weight = check_sample_weight(sample_weight, len(target))
    if weight is not None and not bound.takes("sample_weight"):
        raise ValueError(f"sample_weight must be None: {bound.name} takes no weights.")
    splitter = choose_splitter(cv, target)
    fit_params, split_params = _route_params(estimator, splitter, params)
    tests, probas, labels = _predict_folds(
        estimator, X, target, make_splits(splitter, X, target, split_params), fit_params, n_jobs
    )

    def apply(rows, proba):
        weights = None if weight is None else weight[rows]
        complete = complete_labels(proba, labels, options.get("pos_label"))
        return bound(target[rows], complete[0], weights, labels=complete[1])

    folds = np.array([apply(rows, proba) for rows, proba in zip(tests, probas, strict=True)])
    pooled = apply(np.concatenate(tests), np.concatenate(probas))
    return PooledScore(pooled, float(folds.mean()), folds)


def _route_params(estimator, splitter, params):
    """Arguments for the fit, and for the splitter."""
    params = {} if params is None else dict(params)
    if not get_config()["enable_metadata_routing"]:
        groups = params.pop("groups", None)
        return params, {} if groups is None else {"groups": groups}
    fitting = MethodMapping().add(caller="fit", callee="fit")
    splitting = MethodMapping().add(caller="fit", callee="split")
    router = MetadataRouter(owner="pooled_cross_val_score")
    router.add(estimator=estimator, method_mapping=fitting)
    router.add(splitter=splitter, method_mapping=splitting)
    routed = process_routing(router, "fit", **params)
    return routed["estimator"]["fit"], routed["splitter"]["split"]


def _predict_folds(estimator, X, y, splits, fit_params, n_jobs):
    """Test rows and probabilities of each fold, and the sorted labels of all columns."""
    folds = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(clone(estimator), X, y, train, test, fit_params)
        for train, test in splits
    )
    tests = [test for _, test in splits]
    unseen = {
        label
        for test, (_, known) in zip(tests, folds, strict=True)
        for label in find_unseen_labels(y[test], known)
    }
    labels = [known for _, known in folds]
    if unseen:
        warn_of_unseen_labels(estimator, sorted(unseen), stacklevel=3)
        labels.append(np.array(sorted(unseen)))
    labels = np.unique(np.concatenate(labels))
    return tests, [spread_columns(proba, known, labels) for proba, known in folds], labels


def _predict_fold(estimator, X, y, train, test, fit_params):
    """Probabilities of the test rows, and the labels of their columns."""
    return predict_labelled(estimator, fit_rows(estimator, X, y, train, test, fit_params))
