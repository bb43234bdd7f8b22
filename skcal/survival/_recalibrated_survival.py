"""Survival models whose curves are repaired on rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._folds import (
    check_outcome_rows,
    check_partition,
    fit_rows,
    inherit_tags,
    make_router,
    make_splits,
    restored_on_error,
    route_weights,
)
from skcal._fitting._survival_curves import find_curves, read_risks_at
from skcal._input._censored_times import read_horizons, read_outcomes, read_times
from skcal._input._validation import check_integer, check_sample_weight
from skcal._numerics.survival._censoring import spread_times
from skcal._numerics.survival._risk_curves import follow_curve
from skcal._tools._progress import CallbackSupport, as_task, read_progress
from skcal._tools._typing import ArrayLike
from skcal.survival._risk_recalibration import RiskRecalibration

_MOST_TIMES = 20


class RecalibratedSurvivalCV(CallbackSupport, MetaEstimatorMixin, BaseEstimator):
    r"""Survival model whose curves are recalibrated on held-out rows.

    The recalibrator learns from out-of-fold curves of all rows; then the model is fitted on all of
    them.

    Parameters
    ----------
    estimator : survival model
        An estimator whose ``predict_survival_function(X)`` returns a function of time for each row,
        as those of scikit-survival do. A `FrozenEstimator`, fitted elsewhere, is not fitted again;
        pass rows that it has not seen.
    times : float or array-like of shape (n_times,), default=None
        Times at which curves are repaired, positive and increasing. None takes up to 20, between
        which as many events lie, up to where 5 % of the rows are still followed and none of them
        stands for more than a tenth of all, because others were censored.
    recalibrator : RiskRecalibration, default=None
        The recalibrator, with times of its own and no causes. None takes ``RiskRecalibration(
        times)``.
    cv : int, cross-validation generator or iterable, default=None
        Every row must be in exactly one test fold. A number of folds, with None 5, assigns rows at
        random, but always alike, with equal shares of events. Not used with a `FrozenEstimator`.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    estimator_ : survival model
        The model, fitted on all rows.
    recalibrator_ : RiskRecalibration
        The recalibrator, fitted on out-of-fold curves.
    unique_times_ : ndarray of shape (n_times,)
        Times at which curves are repaired.
    n_features_in_ : int
        Number of features, if the model has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the model has them.

    See Also
    --------
    RiskRecalibration : The recalibrator.
    skcal.regression.RecalibratedRegressorCV : The same for regressors.

    Notes
    -----
    Out-of-fold curves come from models that were fitted on fewer rows than `estimator_`, so that
    they are slightly worse. A curve of a fold that ends before one of the times is continued by its
    last value.

    Between two of the times the correction of the log odds is interpolated in the log odds that the
    model has there, so that the curve keeps the shape, or the steps, of the model's own. While that
    stands still it is interpolated in time. Up to the first time the correction is that of the
    first; at 0 no row has had the event.

    Censoring must depend neither on the event nor on the features. At each time the repaired risk
    grows with that of the model.

    Examples
    --------
    A model with the interface of scikit-survival, whose hazards are too high by half:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from skcal.survival import RecalibratedSurvivalCV, aj_calibration
    >>> class TooFast(BaseEstimator):
    ...     def fit(self, X, y):
    ...         return self
    ...     def predict_survival_function(self, X):
    ...         return [lambda t, rate=rate: np.exp(-1.5 * rate * t) for rate in X[:, 0]]
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.05, 0.5, size=(2000, 1))
    >>> time, end = rng.exponential(1 / X[:, 0]), rng.exponential(5, size=2000)
    >>> y = np.column_stack([time <= end, np.minimum(time, end)])
    >>> model = RecalibratedSurvivalCV(TooFast(), times=[1, 2, 3, 4]).fit(X[:1000], y[:1000])
    >>> survival = model.predict_survival_function(X[1000:], return_array=True)
    >>> aj_calibration(*y[1000:].T, survival=survival, times=[1, 2, 3, 4]).value < 0.03
    True
    """

    estimator_: Any
    recalibrator_: RiskRecalibration
    unique_times_: np.ndarray

    def __init__(
        self,
        estimator: Any,
        *,
        times: ArrayLike | None = None,
        recalibrator: RiskRecalibration | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.times = times
        self.recalibrator = recalibrator
        self.cv = cv
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inherit_tags(tags, get_tags(self.estimator))
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        return tags

    @as_task
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit the model, and the recalibrator on its curves for held-out rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the model unchanged.
        y : structured array of shape (n_samples,), or array-like of shape (n_samples, 2)
            Events, 1 or True and 0 or False for rows that were censored, and times, in the form
            that the model takes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        **params : dict
            Other arguments of the model's `fit`; with metadata routing those that it requests, and
            those of the splitter, such as `groups`.

        Returns
        -------
        self : object
            The fitted model.

        Raises
        ------
        ValueError
            If an argument is invalid, or if the model does not predict curves.

        Warns
        -----
        UserWarning
            If weights do not reach the model, or if there is too little to learn from.
        """
        with restored_on_error(self):
            self._check_estimator()
            show = read_progress(self.progress)
            X, outcomes = check_outcome_rows(self, X, y)
            is_event, time = read_times(*read_outcomes(outcomes))
            weights = check_sample_weight(sample_weight, len(time))
            recalibrator = self._make_recalibrator(is_event, time)
            self.unique_times_ = times = read_horizons("times", recalibrator.times)
            fit_params, split_params, _ = route_weights(self, self.estimator, weights, params)
            if isinstance(self.estimator, FrozenEstimator):
                self.estimator_ = self.estimator
                risks = read_risks_at(find_curves(self.estimator, X, len(time)), times)
            else:
                splits = make_splits(self._choose_cv(), X, is_event, split_params)
                check_partition(splits, len(time))
                parts = Parallel(n_jobs=self.n_jobs)(
                    delayed(_predict_fold)(self.estimator, X, outcomes, *split, fit_params, times)
                    for split in show(splits)
                )
                risks = np.empty((len(time), len(times)))
                risks[np.concatenate([test for _, test in splits])] = np.concatenate(parts)
                self.estimator_ = clone(self.estimator).fit(X, outcomes, **fit_params)
            self.recalibrator_ = recalibrator.fit(risks, outcomes, weights)
        return self

    def predict_survival_function(self, X: Any, return_array: bool = False) -> np.ndarray:
        """Recalibrated survival curves.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the model unchanged.
        return_array : bool, default=False
            Whether to return the probabilities at `unique_times_`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_times)
            Functions of times from 0 to the last of `unique_times_`; or probabilities to have no
            event up to each of these. Functions have the attributes `x`, these times and those at
            which the curve of the model is known, if it has such an attribute, `y`, the
            probabilities there, and `domain`.
        """
        own, before, after = self._repair(X)
        if return_array:
            return 1 - after
        curves, times = np.empty(len(own), dtype=object), self.unique_times_
        curves[:] = [_Curve(times, *one) for one in zip(own, before, after, strict=True)]
        return curves

    def predict(self, X: Any) -> np.ndarray:
        """Risk scores: the mean of the recalibrated risks over `unique_times_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the model unchanged.

        Returns
        -------
        ndarray of shape (n_samples,)
            Larger where events come earlier, as indices of concordance read them.
        """
        return self._repair(X)[2].mean(axis=1)

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator, its model and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        return make_router(self, self.estimator)

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the model has it."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the model has them."""
        return self.estimator_.feature_names_in_

    def _check_estimator(self):
        if isinstance(self.estimator, type) or not hasattr(
            self.estimator, "predict_survival_function"
        ):
            raise ValueError(
                "estimator must be a survival model with predict_survival_function, such as those "
                f"of scikit-survival; got {self.estimator!r}."
            )

    def _choose_cv(self):
        if self.cv is not None and not isinstance(self.cv, Integral):
            return self.cv
        n_folds = 5 if self.cv is None else check_integer("cv", self.cv, 2)
        return StratifiedKFold(n_folds, shuffle=True, random_state=0)

    def _make_recalibrator(self, is_event, time):
        """An unfitted recalibrator with times."""
        if self.recalibrator is None:
            times = self.times
            if times is None:
                times = spread_times(is_event, time, _MOST_TIMES)
                if len(times) == 0:
                    raise ValueError(
                        "y must hold events after time 0 while 5 % of the rows are followed, and "
                        "stand for at most a tenth of all each, or give times; got none."
                    )
            return RiskRecalibration(read_horizons("times", times))
        is_valid = isinstance(self.recalibrator, RiskRecalibration)
        if not is_valid or self.recalibrator.causes is not None:
            raise ValueError(
                "recalibrator must be None or a RiskRecalibration without causes; got "
                f"{self.recalibrator!r}."
            )
        if self.times is not None:
            raise ValueError(
                f"times must be None with a recalibrator, which has its own; got {self.times!r}."
            )
        return clone(self.recalibrator)

    def _repair(self, X):
        """Curves of the model, their risks at `unique_times_`, and the repaired ones."""
        check_is_fitted(self)
        own = find_curves(self.estimator_, X)
        before = read_risks_at(own, self.unique_times_)
        return own, before, self.recalibrator_.transform(before)


class _Curve:
    """The curve of a model for one row, with risks at times moved from before to after."""

    def __init__(self, times, own, before, after):
        self.domain = 0.0, float(times[-1])
        self._own, self._moves = own, (times, before, after)
        known = np.asarray(getattr(own, "x", times), dtype=np.float64)
        inside = known[(known > 0) & (known < times[-1])]
        self.x = np.unique(np.concatenate([[0.0], inside, times]))

    @property
    def y(self):
        """Probabilities of no event up to `x`."""
        return self(self.x)

    def __call__(self, x):
        x = np.asarray(x, dtype=np.float64)
        if not ((x >= 0) & (x <= self.domain[1])).all():
            raise ValueError(f"x must lie in [0, {self.domain[1]:g}], where rows are followed.")
        places = x.ravel()
        (risks,) = read_risks_at([self._own], places)
        return (1 - follow_curve(places, risks, *self._moves)).reshape(x.shape)[()]


def _predict_fold(estimator, X, y, train, test, fit_params, times):
    model = clone(estimator)
    X_test = fit_rows(model, X, y, train, test, fit_params)
    return read_risks_at(find_curves(model, X_test, len(test)), times)
