"""What the recalibrators of predicted means share: a column of means in, a column of means out."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Self

import numpy as np

from skcal._input._predicted._response_rows import refuse_rows
from skcal._input._validation import check_number, check_option
from skcal._numerics.recalibration._mean_scaling import to_means
from skcal._tools._arrays import read_numbers
from skcal._tools._typing import ArrayLike
from skcal.regression._base_regression import NotPredictionsError, RegressionRecalibrator


class MeanRecalibrator(RegressionRecalibrator):
    """Base class of recalibrators of predicted means, which may also be an array of one dimension.

    A subclass defines ``_fit(rows)`` and ``_repair(means)``, the repaired means.
    """

    _reads = "mean"
    _writes = "mean"

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the recalibrator.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1) or (n_samples,)
            Predicted means of rows that the regressor was not fitted on.
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
            If X does not hold predicted means.
        ValueError
            If another argument is invalid.
        """
        return super().fit(X, y, sample_weight)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Repaired means.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1) or (n_samples,)
            Predicted means.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired means.
        """
        return self._repair(self._read(X)[:, 0])

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Repaired means in the shape of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1) or (n_samples,)
            Predicted means.

        Returns
        -------
        ndarray of shape (n_samples, 1) or (n_samples,)
            Repaired means.
        """
        means = self.predict(X)
        return means if _is_one_dimensional(X) else means[:, None]

    @abstractmethod
    def _repair(self, means):
        """Repaired means of an array of predicted ones."""

    def _check_rows(self, X, y, sample_weight):
        return super()._check_rows(_make_column(X), y, sample_weight)

    def _read(self, X):
        return super()._read(_make_column(X))


class LinkedMeanRecalibrator(MeanRecalibrator):
    """Base class of those with a link; ``_fit_linked(rows, power)`` gets a power of 0 without.

    What else a subclass reads of the rows is handed on.
    """

    link_: str

    def _check_options(self):
        check_option("link", self.link, ("auto", "log", "identity"))
        if not 1 <= check_number("power", self.power, 1) <= 2:
            raise ValueError(f"power must be from 1 to 2; got {self.power!r}.")

    def _fit(self, rows, **more):
        means, targets = rows.predictions[:, 0], rows.targets
        self.link_ = self.link
        if self.link == "auto":
            is_log = (means > 0).all() and (targets >= 0).all()
            self.link_ = "log" if is_log else "identity"
        if self.link_ == "log":
            self._refuse_means(means)
            refuse_rows("y must not be negative for the log link", targets, targets < 0)
            if self.power == 2:
                refuse_rows("y must be above 0 with a power of 2", targets, targets == 0)
        self._lowest = means.min()
        self._fit_linked(rows, self._find_power(), **more)

    def _repair(self, means, **more):
        power = self._find_power()
        return to_means(self._repair_linked(self._lift(means), power, **more), power)

    def _lift(self, means):
        """Means that the link takes."""
        if self.link_ == "identity":
            return means
        if self.link == "auto":
            return np.where(means > 0, means, self._lowest)
        self._refuse_means(means)
        return means

    def _find_power(self):
        return float(self.power) if self.link_ == "log" else 0.0

    def _refuse_means(self, means):
        refuse = partial(refuse_rows, error=NotPredictionsError)
        refuse('X must be above 0 for the log link; link="identity" takes all', means, means <= 0)

    @abstractmethod
    def _fit_linked(self, rows, power):
        """Set the fitted attributes."""

    @abstractmethod
    def _repair_linked(self, means, power):
        """Repaired means on the scale of the link."""


def _is_one_dimensional(X):
    if isinstance(X, list | tuple):
        return len(X) > 0 and not any(np.ndim(value) for value in X)
    return len(getattr(X, "shape", ())) == 1


def _make_column(X):
    return read_numbers("X", X)[:, None] if _is_one_dimensional(X) else X
