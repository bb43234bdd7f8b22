"""Any recalibrator of regressors on any regressor, cross-fitted, in one estimator."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._feature_columns import (
    choose_features,
    label_groups,
    list_levels,
    read_values,
)
from skcal._fitting._folds import get_regressor
from skcal._tools._typing import ArrayLike
from skcal.regression._base_groups import GroupedRecalibrator
from skcal.regression._base_regression import RegressionRecalibrator
from skcal.regression._base_regressor import (
    BaseRecalibratedRegressor,
    predict_columns,
    predicts_std,
)
from skcal.regression._conformal_interval import ConformalInterval
from skcal.regression._standard_deviation_scaling import StandardDeviationScaling


def _recalibrator_has(name):
    """Whether the recalibrator that will be used, or was, has a method."""

    def check(owner):
        getattr(owner._choose_recalibrator(), name)
        return True

    return check


class RecalibratedRegressorCV(BaseRecalibratedRegressor):
    r"""Regressor whose predictions are recalibrated on held-out rows.

    The recalibrator learns from out-of-fold predictions of all rows; then the regressor is fitted
    on all of them.

    Parameters
    ----------
    estimator : regressor, default=None
        The regressor; None takes `LinearRegression`. A `FrozenEstimator`, fitted elsewhere, is not
        fitted again; pass rows that it has not seen.
    recalibrator : recalibrator, default=None
        A recalibrator of regressors. None takes `StandardDeviationScaling` if `predict` of the
        regressor has the argument `return_std`, else `ConformalInterval`.
    features : list of str or int, default=None
        Names or numbers of the columns of X that define groups, for `ConformalInterval` and
        `ConformalQuantiles`, whose guarantee then holds in each group. Rows that have the same
        values in all of these columns are one group; no value may be missing. None makes none.
    cv : int, cross-validation generator or iterable, default=None
        Splits as in `sklearn.model_selection.cross_val_predict`; None takes 5 folds of rows in
        their order. Every row must be in exactly one test fold. Not used with a `FrozenEstimator`.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    estimator_ : regressor
        The regressor, fitted on all rows.
    recalibrator_ : recalibrator
        The recalibrator, fitted on out-of-fold predictions.
    n_features_in_ : int
        Number of features, if the regressor has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the regressor has them.

    See Also
    --------
    MulticalibratedRegressorCV : Means that are repaired in groups, which may overlap.
    skcal.recalibration.RecalibratedClassifierCV : The same for classifiers.

    Notes
    -----
    What the recalibrator reads of the regressor depends on the recalibrator: ``predict(X,
    return_std=True)`` for means and standard deviations, ``predict(X)`` for means, which
    `MeanScaling`, `IsotonicMeans` and `AutoMeans` repair, for
    ``ConformalInterval(input="interval")`` a `predict` that returns two columns, low and high, for
    `ConformalQuantiles` one that returns a column for each level, and for `EnsembleScaling`,
    `AutoEnsemble` and ``IsotonicDistributionalRegression(input="ensemble")`` one that returns a
    column for each member.

    Out-of-fold predictions come from regressors that were fitted on fewer rows than `estimator_`,
    so that they are slightly worse; intervals tend to be slightly too wide, and the guarantee of
    `ConformalInterval` and of `ConformalQuantiles` does not hold exactly. With a `FrozenEstimator`
    and rows that it has not seen it does.

    The regressor gets X unchanged: DataFrames, sparse matrices and text are allowed. Weights go to
    the regressor and to the recalibrator, which reads them as counts. With metadata routing the
    regressor gets what it requests, the recalibrator always `sample_weight`, and the splitter its
    `groups`.

    Examples
    --------
    Predictions whose standard deviations are too small, because a Gaussian process was told that
    there is little noise:

    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skcal.regression import RecalibratedRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (300, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(scale=0.4, size=300)
    >>> process = GaussianProcessRegressor(RBF(1.0), alpha=0.01, optimizer=None)
    >>> model = RecalibratedRegressorCV(process).fit(X[:200], y[:200])
    >>> low, high = model.predict_interval(X[200:], confidence_level=0.9).T
    >>> bool(0.8 < np.mean((low <= y[200:]) & (y[200:] <= high)) < 0.97)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        recalibrator: Any = None,
        *,
        features: ArrayLike | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.features = features
        self.cv = cv
        self.n_jobs = n_jobs
        self.progress = progress

    def predict(
        self, X: Any, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Recalibrated means, and standard deviations with `return_std`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the regressor unchanged.
        return_std : bool, default=False
            Whether to return standard deviations, too, for a recalibrator that predicts
            distributions.

        Returns
        -------
        ndarray of shape (n_samples,), or two of them
            Means, and with `return_std` standard deviations.
        """
        check_is_fitted(self)
        if not return_std:
            return self._ask("predict", X)
        if not hasattr(self.recalibrator_, "predict_distribution"):
            raise ValueError(
                "return_std must be False for a recalibrator that predicts no distribution, "
                f"{type(self.recalibrator_).__name__}; got {return_std!r}."
            )
        return self._ask("predict", X, True)

    @available_if(_recalibrator_has("predict_interval"))
    def predict_interval(self, X: Any, confidence_level: float | None = None) -> np.ndarray:
        """Recalibrated prediction intervals, of all recalibrators but those of means.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the regressor unchanged.
        confidence_level : float, default=None
            Probability of the interval, in (0, 1); None takes that of `ConformalInterval`, which
            has no other, the outermost levels of `ConformalQuantiles`, and 0.9 of all others.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Low and high.
        """
        check_is_fitted(self)
        if confidence_level is None:
            return self._ask("predict_interval", X)
        if isinstance(self.recalibrator_, ConformalInterval):
            raise ValueError(
                "confidence_level must be None for ConformalInterval, which has fitted its own, "
                f"{self.recalibrator_.confidence_level:g}; got {confidence_level!r}."
            )
        return self._ask("predict_interval", X, confidence_level)

    @available_if(_recalibrator_has("predict_quantiles"))
    def predict_quantiles(self, X: Any, quantiles: ArrayLike | None = None) -> np.ndarray:
        """Recalibrated quantiles, of a recalibrator that predicts distributions or quantiles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the regressor unchanged.
        quantiles : array-like of shape (n_levels,), default=None
            Levels, strictly between 0 and 1; or one number. None takes those of
            `ConformalQuantiles`, which has no others, and (0.1, 0.5, 0.9) of all others.

        Returns
        -------
        ndarray of shape (n_samples, n_levels)
            A column for each level.
        """
        chosen = () if quantiles is None else (quantiles,)
        return self._ask("predict_quantiles", X, *chosen)

    @available_if(_recalibrator_has("predict_distribution"))
    def predict_distribution(self, X: Any) -> Any:
        """Recalibrated distributions, if the recalibrator predicts them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the regressor unchanged.

        Returns
        -------
        object
            One distribution for each row, with `cdf`, `ppf`, `mean` and `std`.
        """
        return self._ask("predict_distribution", X)

    def _choose_recalibrator(self):
        if self.recalibrator is None:
            has_std = predicts_std(get_regressor(self.estimator))
            return StandardDeviationScaling() if has_std else ConformalInterval()
        if not isinstance(self.recalibrator, RegressionRecalibrator):
            raise ValueError(
                "recalibrator must be None or a recalibrator of regressors, such as "
                f"QuantileRecalibration(); got {self.recalibrator!r}."
            )
        return self.recalibrator

    def _prepare(self, recalibrator, X):
        if self.features is None:
            return
        if not isinstance(recalibrator, GroupedRecalibrator):
            raise ValueError(
                "features must be None for a recalibrator without groups, "
                f"{type(recalibrator).__name__}; got {self.features!r}."
            )
        self._columns = choose_features(X, self.features)

    def _learn_rows(self, recalibrator, X, sample_weight, splits):
        """The groups of the rows, where there are any."""
        if self.features is None:
            return {}
        columns = read_values(X, self._columns)
        self._levels = list_levels(columns)
        return {"groups": label_groups(columns, self._levels)}

    def _ask(self, name, X, *arguments):
        check_is_fitted(self)
        method = getattr(self.recalibrator_, name)
        predictions = predict_columns(self.estimator_, X, self.recalibrator_)
        has_groups = self.features is not None and "groups" in signature(method).parameters
        if not has_groups:
            return method(predictions, *arguments)
        groups = label_groups(read_values(X, self._columns), self._levels)
        return method(predictions, *arguments, groups=groups)
