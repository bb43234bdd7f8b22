"""Internal validation of survival models: what to expect of their risks in new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from skcal._fitting._folds import check_outcome_rows
from skcal._fitting._survival_curves import find_curves, read_risks_at
from skcal._input._censored_times import read_horizons, read_outcomes, read_times
from skcal._input._strata import read_strata
from skcal._input._validation import (
    check_confidence_level,
    check_integer,
    check_option,
    check_rng,
)
from skcal._sources._refits import Refits, RowDraws, count_folds
from skcal._tools._progress import read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.model_selection._survival_performance import PredictedRisks, SurvivalPerformance
from skcal.model_selection._validated import InternalValidation
from skcal.model_selection._validation_parts import (
    choose_method,
    read_params,
    read_units,
    refuse_frozen,
    summarize,
)
from skcal.model_selection._validation_runs import MOST_FOLDS, Run


def internal_survival_validation(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    times: ArrayLike,
    method: Literal["auto", "optimism", "cv"] = "auto",
    n_resamples: int = 200,
    clusters: ArrayLike | None = None,
    stratify: ArrayLike | None = None,
    params: dict[str, Any] | None = None,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> InternalValidation:
    r"""Estimate the calibration of a survival model in new rows, without a test set.

    Parameters
    ----------
    estimator : survival model
        An estimator whose ``predict_survival_function(X)`` returns a function of time for each row,
        as those of scikit-survival do, or :class:`~skcal.survival.RecalibratedSurvivalCV`. All that
        is decided by the data belongs inside, as all of it is fitted again.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Features of all rows.
    y : structured array of shape (n_samples,), or array-like of shape (n_samples, 2)
        Events, 1 or True and 0 or False for rows that were censored, and times, in the form that
        the model takes.
    times : float or array-like of shape (n_times,)
        The horizons: positive, increasing, and not later than the last time, unless the last rows
        had an event.
    method : {"auto", "optimism", "cv"}, default="auto"
        How apparent values are corrected, see :func:`internal_validation`.
    n_resamples : int, default=200
        Number of models that are fitted, see :func:`internal_validation`.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    stratify : array-like of shape (n_samples,), default=None
        Labels of strata, within which rows are drawn. None draws from all rows.
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
        ``measures`` has "slope_at_2", "observed_expected_ratio_at_2" and "smooth_ece_at_2" for a
        horizon of 2, and so on; ``curve``, ``stability``, ``held_out`` and ``pos_label`` are None.

    Raises
    ------
    ValueError
        If an argument is invalid, if half of the models cannot be fitted, or if one of the outcomes
        is that of a single row or cluster.

    Warns
    -----
    UserWarning
        If some models cannot be fitted; their resamples, or repetitions of folds, are left out.

    See Also
    --------
    internal_validation : The same for classifiers.
    skcal.survival.survival_calibration : The measures, of given risks.

    Notes
    -----
    Measures are those of :func:`~skcal.survival.survival_calibration`. Their outcomes,
    pseudo-values, are computed again in every resample; one in which all rows are censored before a
    horizon has no value there. Each resample has rows with the event up to the last horizon, and
    rows without. Censoring must depend neither on the event nor on the features.

    Examples
    --------
    A model that is fitted to one feature, by the mean hazard on both sides of 0:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from skcal.model_selection import internal_survival_validation
    >>> class TwoRates(BaseEstimator):
    ...     def fit(self, X, y):
    ...         parts = [y[X[:, 0] <= 0], y[X[:, 0] > 0]]
    ...         self.rates_ = [part[:, 0].sum() / part[:, 1].sum() for part in parts]
    ...         return self
    ...     def predict_survival_function(self, X):
    ...         rates = np.where(X[:, 0] > 0, self.rates_[1], self.rates_[0])
    ...         return [lambda t, rate=rate: np.exp(-rate * t) for rate in rates]
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(3, size=300)
    >>> y = np.column_stack([time <= end, np.minimum(time, end)])
    >>> found = internal_survival_validation(
    ...     TwoRates(), X, y, times=[0.5, 1], n_resamples=20, random_state=0
    ... )
    >>> found.measures["slope_at_1"].corrected.low < 1
    True
    """
    check_option("method", method, ("auto", "optimism", "cv"))
    n_resamples = check_integer("n_resamples", n_resamples, 2)
    level = check_confidence_level(confidence_level)
    show, rng = read_progress(progress), check_rng(random_state)
    refuse_frozen(estimator, "survival model", "predict_survival_function")
    X, outcomes = check_outcome_rows(estimator, X, y)
    is_event, time = read_times(*read_outcomes(outcomes))
    horizons = read_horizons("times", times)
    read_strata(None, is_event, time).check_followed("times", horizons[-1])
    rows, performance = PredictedRisks(is_event, time, horizons), SurvivalPerformance(horizons)
    if len(np.unique(rows.outcomes)) < 2:
        raise ValueError("y must hold rows with the event up to the last of times, and others.")
    member, strata = read_units(len(time), clusters, stratify)
    count_folds(rows.outcomes, member, MOST_FOLDS)  # whose error is that of resamples, too
    refits = Refits(estimator, X, outcomes, read_params(params), PredictRisks(horizons))
    everyone = np.arange(len(time))
    fitted, predictions = refits.predict_split(everyone, everyone)
    rows = rows.replace(predictions)
    if method == "auto":
        method = choose_method(fitted, rows)
    draws = RowDraws(rows.outcomes, member, strata, rng)
    run = Run(refits, rows, performance, draws, n_resamples, n_jobs, show)
    found = run.validate(method, member, strata, rng)
    return InternalValidation(
        measures=summarize(performance, found, level)[0],
        curve=None,
        stability=None,
        held_out=None,
        method=method,
        name=type(estimator).__name__,
        pos_label=None,
        confidence_level=level,
        n_rows=len(time),
        n_models=found.n_models,
        n_failed=found.n_failed,
        n_redrawn=draws.n_redrawn,
        n_certain=found.n_certain,
    )


class PredictRisks(NamedTuple):
    """Risks up to horizons that a fitted survival model predicts."""

    horizons: np.ndarray

    def __call__(self, model, X):
        return read_risks_at(find_curves(model, X), self.horizons)
