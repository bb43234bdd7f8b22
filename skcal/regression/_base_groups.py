"""What the recalibrators with a guarantee share that may be fitted for each group by itself."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from skcal._fitting._feature_columns import find_known
from skcal._fitting._folds import restored_on_error
from skcal._input._group_labels import check_group_labels
from skcal._input._validation import show_labels
from skcal._tools._progress import as_task
from skcal._tools._typing import ArrayLike
from skcal.regression._base_regression import RegressionRecalibrator


class GroupedRecalibrator(RegressionRecalibrator):
    """Base class of recalibrators whose answers may differ between groups (Mondrian).

    A subclass defines ``_find(rows)``, what is fitted to the rows of a group, ``_warn(found,
    n_rows, where)``, which warns if that is infinite, and ``_fit(rows, groups=None)``, which keeps
    what ``_find_all`` returns.
    """

    groups_: np.ndarray | None

    @as_task
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
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
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row. The guarantee then holds in each group, which is fitted
            to its own rows alone.

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
            self._fit(self._check_rows(X, y, sample_weight), groups)
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> np.ndarray:
        """Fit the recalibrator, and repair the same predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions for rows that the regressor was not fitted on.
        y : array-like of shape (n_samples,)
            Targets, real numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, read as counts: a row of weight 2 counts as two rows, a row of
            weight zero as none.
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row. The guarantee then holds in each group, which is fitted
            to its own rows alone.

        Returns
        -------
        ndarray of shape (n_samples, n_columns_out)
            Columns are named by `get_feature_names_out`.
        """
        return self.fit(X, y, sample_weight, groups=groups).transform(X, groups=groups)

    @abstractmethod
    def transform(self, X: ArrayLike, *, groups: ArrayLike | None = None) -> np.ndarray:
        """Repaired predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predictions in the layout of `fit`.
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row, one that `fit` has seen; None without groups in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_columns_out)
            Columns are named by `get_feature_names_out`.
        """

    @abstractmethod
    def _fit(self, rows, groups=None):
        """Set the fitted attributes."""

    def _find_all(self, rows, groups):
        """What is found for all rows, or an array with that of each of `groups_`."""
        if groups is None:
            self.groups_, found = None, self._find(rows)
            self._warn(np.array([found]), rows.weights.sum(), "")
            return found
        labels = _read_groups(groups, len(rows.present))[rows.present]
        self.groups_, member = np.unique(labels, return_inverse=True)
        parts = [rows.take(member == k) for k in range(len(self.groups_))]
        found = np.array([self._find(part) for part in parts])
        infinite = np.isinf(found.reshape(len(parts), -1)).any(axis=1)
        if infinite.any():
            fewest = min(part.weights.sum() for part in parts)
            self._warn(found[infinite], fewest, f" in groups {show_labels(self.groups_[infinite])}")
        return found

    @abstractmethod
    def _find(self, rows):
        """What is fitted to some rows."""

    @abstractmethod
    def _warn(self, found, n_rows, where):
        """Warn if something of what was found is infinite."""

    def _take(self, found, groups, n_samples):
        """What was found for the group of each row, on the first axis; all of it without groups."""
        if self.groups_ is None:
            if groups is not None:
                raise ValueError("groups must be None, because fit got none.")
            return found
        if groups is None:
            raise ValueError("groups must hold the group of each row, as in fit; got None.")
        labels = _read_groups(groups, n_samples)
        return found[find_known("groups", labels, self.groups_)]


def _read_groups(groups, n_samples):
    labels = check_group_labels("groups", groups)
    if len(labels) != n_samples:
        raise ValueError(
            f"groups must hold one label for each of the {n_samples} rows; got {len(labels)}."
        )
    return labels
