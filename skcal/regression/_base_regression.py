"""What the recalibrators of regressors share: predictions in, repaired predictions out."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skcal._fitting._folds import restored_on_error
from skcal._input._column_names import check_column_order
from skcal._input._predicted._points import check_levels
from skcal._input._predicted._response_rows import refuse_rows
from skcal._input._validation import check_confidence_level, check_sample_weight
from skcal._tools._arrays import list_column_names, read_numbers, read_scores
from skcal._tools._progress import CallbackSupport, as_task
from skcal._tools._typing import ArrayLike

# Squares of larger numbers, and of larger errors in standard deviations, might overflow.
_LARGEST = 1e100
_COLUMNS = {"mean": ("mean",), "mean_std": ("mean", "std"), "interval": ("low", "high")}


class NotPredictionsError(ValueError):
    """Raised if X is not a matrix of predictions: wrong columns, no standard deviations, or NaN.

    Examples
    --------
    >>> from skcal.regression import NotPredictionsError, StandardDeviationScaling
    >>> try:
    ...     StandardDeviationScaling().fit([[5.1, 3.5], [4.9, 0.0]], [5.0, 4.0])
    ... except NotPredictionsError as error:
    ...     print(error)
    The standard deviations in X must be positive; got 0.0 at row 1, and in 1 of 2 rows.
    """


class Rows(NamedTuple):
    """Predictions, targets and weights of the rows that count, which `present` marks."""

    predictions: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    present: np.ndarray

    def take(self, chosen):
        """Some of these rows; `present` still marks all that count."""
        return Rows(*(part[chosen] for part in self[:3]), self.present)


class RegressionRecalibrator(
    CallbackSupport,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base class of the recalibrators of regressors, from predictions to better ones.

    A recalibrator is a transformer and a regressor at once, so that a pipeline that ends in it is
    a regressor. A subclass defines ``_fit(rows)``, `predict` and `transform`. ``_reads`` says what
    the columns of X are: "mean", "mean_std" (mean and standard deviation), "interval" (low and
    high), "ensemble" (members; NaN is a missing one) or others, which ``_name_columns`` then
    names. ``_writes`` says the same of `transform`. All reach the subclass as float64, checked.
    """

    n_features_in_: int
    feature_names_in_: np.ndarray
    _reads = "mean_std"
    _writes = "mean_std"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.allow_nan = self._reads == "ensemble"
        return tags

    @as_task
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the recalibrator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions for rows that the regressor was not fitted on.
        y : array-like of shape (n_samples,)
            Targets, real numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, read as counts: a row of weight 2 counts as two rows, a row of
            weight zero as none.

        Returns
        -------
        self : object
            The fitted recalibrator.

        Raises
        ------
        NotPredictionsError
            If X does not hold the predictions that the recalibrator reads.
        ValueError
            If another argument is invalid.
        """
        with restored_on_error(self):
            self._fit_checked(X, y, sample_weight)
        return self

    @abstractmethod
    def predict(self, X: ArrayLike) -> Any:
        """One number for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """

    @abstractmethod
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Repaired predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_columns_out)
            Columns are named by `get_feature_names_out`.
        """

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, only compared with those of `fit`.

        Returns
        -------
        ndarray of str
            What the columns are: "mean" and "std", "low" and "high", or such as "quantile_0.9".
        """
        super().get_feature_names_out(input_features)
        return np.array(self._name_columns(self._writes), dtype=object)

    def _fit_checked(self, X, y, sample_weight):
        self._fit(self._check_rows(X, y, sample_weight))

    def _check_rows(self, X, y, sample_weight):
        """`Rows` of valid arguments."""
        self._check_options()
        self._refuse_pair(X)
        names = list_column_names(X)
        X, _, sample_weight = read_scores(X, None, sample_weight)
        is_complex = getattr(getattr(y, "dtype", None), "kind", None) == "c"
        if y is not None and not is_complex:  # which scikit-learn refuses
            y = read_numbers("y", y).astype(np.float64)
            if y.ndim == 1:
                refuse_rows("y must hold finite numbers", y, ~np.isfinite(y))
        with np.errstate(invalid="ignore"):  # scikit-learn adds infinities of both signs
            X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite=False)
        weights = check_sample_weight(sample_weight, len(y))
        weights = np.ones(len(y)) if weights is None else weights.astype(np.float64)
        self._check_predictions(X, names)
        needed = f"y must be at most {_LARGEST:g} in absolute value"
        refuse_rows(needed, y, np.abs(y) > _LARGEST)
        present = weights > 0
        return Rows(X[present], y[present], weights[present], present)

    @abstractmethod
    def _fit(self, rows):
        """Set the fitted attributes."""

    def _check_options(self):
        """Raise ValueError for an invalid parameter of the subclass."""

    def _name_columns(self, kind):
        """Names of the columns that the recalibrator reads, or writes."""
        if kind == "ensemble":
            return tuple(f"member_{k}" for k in range(self.n_features_in_))
        return _COLUMNS[kind]

    def _read(self, X):
        """Predictions of new rows, checked."""
        check_is_fitted(self)
        self._refuse_pair(X)
        names = list_column_names(X)
        X = read_scores(X)[0]
        options = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
        X = validate_data(self, X, reset=False, **options)
        self._check_predictions(X, names)
        return X

    def _refuse_pair(self, X):
        """Raise for two arrays, as measures take them: a tuple that is no matrix of two columns."""
        if self._reads == "ensemble":
            return
        columns = self._name_columns(self._reads)
        if isinstance(X, tuple) and len(X) == len(columns) != np.size(X[0]):
            raise NotPredictionsError(
                f"X must be a matrix with the columns {', '.join(columns)}; got a tuple of "
                f"{len(X)} arrays. Stack them: numpy.column_stack(X)."
            )

    def _check_predictions(self, X, names):
        if self._reads == "ensemble":
            _check_members(X)
            return
        expected = self._name_columns(self._reads)
        if X.shape[1] != len(expected):
            raise NotPredictionsError(
                f"X must have the columns {', '.join(expected)} for {type(self).__name__}; got "
                f"{X.shape[1]} feature(s)."
            )
        check_column_order("X", names, expected, None)
        refuse = partial(refuse_rows, error=NotPredictionsError)
        refuse("X must hold finite numbers, no NaN and no infinity", X, ~np.isfinite(X).all(axis=1))
        _refuse_large(X)
        if self._reads == "mean_std":
            deviations = X[:, 1]
            refuse("The standard deviations in X must be positive", deviations, deviations <= 0)
        if self._reads == "interval":
            crosses = X[:, 0] > X[:, 1]
            refuse("low must not lie above high in X: quantiles cross", X, crosses)


def _check_members(X):
    """Raise for rows of an ensemble that are not finite where they are not missing."""
    refuse = partial(refuse_rows, error=NotPredictionsError)
    needed = "X must hold finite numbers, or NaN for a member that is missing"
    refuse(needed, X, np.isinf(X).any(axis=1))
    refuse("X must have a member that is not NaN in each row", X, np.isnan(X).all(axis=1))
    _refuse_large(X)


def _refuse_large(X):
    needed = f"X must be at most {_LARGEST:g} in absolute value"
    refuse_rows(needed, X, (np.abs(X) > _LARGEST).any(axis=1), error=NotPredictionsError)


class DistributionRecalibrator(RegressionRecalibrator):
    """Base class of recalibrators that predict a distribution for each row."""

    @abstractmethod
    def predict_distribution(self, X: ArrayLike) -> Any:
        """Recalibrated distributions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.

        Returns
        -------
        object
            One distribution for each row, with `cdf`, `ppf`, `mean` and `std`.
        """

    @abstractmethod
    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Recalibrated quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.
        quantiles : array-like of shape (n_levels,), default=(0.1, 0.5, 0.9)
            Levels, strictly between 0 and 1; or one number.

        Returns
        -------
        ndarray of shape (n_samples, n_levels)
            A column for each level.
        """

    def predict_interval(self, X: ArrayLike, confidence_level: float = 0.9) -> np.ndarray:
        """Central prediction intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.
        confidence_level : float, default=0.9
            Probability of the interval, in (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Low and high: the quantiles with half of the rest below and above.
        """
        level = check_confidence_level(confidence_level)
        return self.predict_quantiles(X, [(1 - level) / 2, (1 + level) / 2])

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Means of the recalibrated distributions, and optionally their standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        ndarray of shape (n_samples,), or two of them
            Means, and with `return_std` standard deviations.
        """
        mean, std = self.transform(X).T
        return (mean, std) if return_std else mean


class LocationScaleRecalibrator(DistributionRecalibrator):
    """Base class of recalibrators that put one standardized distribution in place of the normal.

    A subclass defines ``_family()``, a distribution of SciPy, and the scale by which predicted
    standard deviations are multiplied, ``_scale()``: the repaired distribution of a row is the
    distribution of mean + scale * std * Z.
    """

    def predict_distribution(self, X: ArrayLike) -> Any:
        """Recalibrated distributions.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
            Predicted means and standard deviations.

        Returns
        -------
        scipy.stats.rv_frozen
            A frozen distribution of SciPy with parameters of shape (n_samples,).
        """
        mean, std = self._read(X).T
        return self._family()(loc=mean, scale=std * self._scale())

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Recalibrated quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
            Predicted means and standard deviations.
        quantiles : array-like of shape (n_levels,), default=(0.1, 0.5, 0.9)
            Levels, strictly between 0 and 1; or one number.

        Returns
        -------
        ndarray of shape (n_samples, n_levels)
            A column for each level.
        """
        mean, std = self._read(X).T
        levels = check_levels("quantiles", quantiles)
        return mean[:, None] + (std * self._scale())[:, None] * self._family().ppf(levels)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Means and standard deviations of the recalibrated distributions.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
            Predicted means and standard deviations.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Means and standard deviations.
        """
        mean, std = self._read(X).T
        family, scale = self._family(), std * self._scale()
        return np.column_stack([mean + scale * family.mean(), scale * family.std()])

    @abstractmethod
    def _family(self):
        """A continuous distribution of SciPy, with location 0 and scale 1."""

    def _scale(self):
        """What predicted standard deviations are multiplied by."""
        return 1.0


def find_ratios(rows):
    """Errors of the predicted means, in units of the predicted standard deviations."""
    mean, std = rows.predictions.T
    with np.errstate(over="ignore"):
        ratios = (rows.targets - mean) / std
    needed = f"y must lie within {_LARGEST:g} predicted standard deviations of the mean"
    refuse_rows(needed, ratios, ~(np.abs(ratios) <= _LARGEST))
    ratios[np.abs(ratios) < 1 / _LARGEST] = 0
    return ratios
