"""What the recalibrators of ensembles share: members in, members out."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from skcal._input._predicted._points import Ensemble, check_levels
from skcal._input._validation import check_confidence_level, show_labels
from skcal._tools._typing import ArrayLike
from skcal.regression._base_regression import DistributionRecalibrator

# Levels of k / (m + 1) are met up to this.
_ROUNDING = 1e-9


class EnsembleRecalibrator(DistributionRecalibrator):
    """Base class of recalibrators of ensembles.

    A subclass defines ``_fit(rows)`` and ``_repair(members)``, the repaired members, which are
    missing, NaN, where the members are.
    """

    _reads = "ensemble"
    _writes = "ensemble"

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Repaired ensembles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_members)
            Members of the ensemble of each row; NaN is a missing member.

        Returns
        -------
        ndarray of shape (n_samples, n_members)
            The repaired members, each in the column of its own; NaN where it was missing.
        """
        return self._repair(self._read(X))

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Means of the repaired ensembles, and optionally their standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_members)
            Members of the ensemble of each row; NaN is a missing member.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        ndarray of shape (n_samples,), or two of them
            Means, and with `return_std` standard deviations.
        """
        ensemble = self.predict_distribution(X)
        return (ensemble.mean(), ensemble.std()) if return_std else ensemble.mean()

    def predict_distribution(self, X: ArrayLike) -> Ensemble:
        """Repaired ensembles as distributions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_members)
            Members of the ensemble of each row; NaN is a missing member.

        Returns
        -------
        Ensemble
            The repaired members, with `cdf`, `ppf`, `mean` and `std`.
        """
        return Ensemble(self.transform(X))

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the repaired ensembles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_members)
            Members of the ensemble of each row; NaN is a missing member.
        quantiles : array-like of shape (n_levels,), default=(0.1, 0.5, 0.9)
            Levels from 1 / (m + 1) to m / (m + 1) in rows of m members; or one number.

        Returns
        -------
        ndarray of shape (n_samples, n_levels)
            A column for each level, see the method `ppf` of :class:`~skcal.regression.Ensemble`.
        """
        levels, ensemble = check_levels("quantiles", quantiles), self.predict_distribution(X)
        few = _count_fewest(ensemble.members)
        if min(levels.min(), 1 - levels.max()) * (few + 1) < 1 - _ROUNDING:
            raise ValueError(
                f"quantiles must lie between {1 / (few + 1):.3g} and {few / (few + 1):.3g} for "
                f"rows of {few} members; got {show_labels(levels)}."
            )
        return np.column_stack([ensemble.ppf(level) for level in levels])

    def predict_interval(self, X: ArrayLike, confidence_level: float = 0.9) -> np.ndarray:
        """Central prediction intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_members)
            Members of the ensemble of each row; NaN is a missing member.
        confidence_level : float, default=0.9
            Probability of the interval, in (0, 1), at most (m - 1) / (m + 1) for rows of m members:
            19 are needed for 0.9.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Low and high: the quantiles with half of the rest below and above.
        """
        level, few = check_confidence_level(confidence_level), _count_fewest(self._read(X))
        if (1 - level) * (few + 1) < 2 - _ROUNDING:
            raise ValueError(
                f"confidence_level must be at most {(few - 1) / (few + 1):.3g} for rows of {few} "
                f"members, which lie between the smallest and the largest; got {level:g}."
            )
        return super().predict_interval(X, level)

    @abstractmethod
    def _repair(self, members):
        """Repaired members of checked ones."""


def _count_fewest(members):
    """The number of members of the row with the fewest."""
    return int(np.count_nonzero(~np.isnan(members), axis=1).min())
