"""Conformal prediction of quantiles: one shift for each level."""

from __future__ import annotations

import numpy as np

from skcal._input._predicted._points import Quantiles, check_levels
from skcal._input._validation import check_confidence_level
from skcal._numerics.distributions._conformal import conformal_quantile
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.regression._base_groups import GroupedRecalibrator


class ConformalQuantiles(GroupedRecalibrator):
    r"""Predicted quantiles that hold their levels, in samples of any size.

    Adds one number to all quantiles of a level. Nothing is assumed of the regressor or of the
    distribution of the targets. Quantiles that cross are repaired.

    Parameters
    ----------
    levels : array-like of shape (n_levels,), default=(0.1, 0.5, 0.9)
        Levels of the columns of X, increasing and strictly between 0 and 1.

    Attributes
    ----------
    shifts_ : ndarray of shape (n_levels,) or (n_groups, n_levels)
        What is added to the quantiles of each level. Infinite if there are too few rows, and then
        negative for a level below 1/2.
    groups_ : ndarray of shape (n_groups,)
        Sorted groups, each with shifts of its own; None if `fit` got none.
    n_features_in_ : int
        Number of columns of X, that of the levels.
    feature_names_in_ : ndarray of shape (n_levels,)
        Names of the columns of X, where it has names.

    See Also
    --------
    ConformalInterval : One margin for both ends of an interval; narrower with few rows.
    QuantileRecalibration : Quantiles of any level, of predicted means and standard deviations.
    skcal.regression.quantile_calibration_error : How far quantiles are from their levels.

    Notes
    -----
    Predicted quantiles are first sorted within each row. This brings them nearer to the true ones
    [1]_, and the pinball loss of all levels together never gets larger, whatever the target. With
    :math:`q_\tau` the sorted quantile of level :math:`\tau`, the scores of the n fitted rows are
    :math:`s_i = y_i - q_\tau(x_i)`. The shift is the k-th smallest of them, with k rounded away
    from the median,

    .. math:: k = \lfloor \tau (n + 1) \rfloor \text{ for } \tau < 1/2, \quad
              k = \lceil \tau (n + 1) \rceil \text{ for } \tau \ge 1/2.

    This is the one-sided form of conformalized quantile regression [2]_. If the fitted rows and a
    new one are exchangeable, and the regressor has seen none of them, the repaired quantile q of
    the new row has, as in all conformal prediction [3]_,

    .. math:: P(y < q) \le \tau \text{ for } \tau < 1/2, \quad
              P(y \le q) \ge \tau \text{ for } \tau \ge 1/2.

    If scores do not tie and shifted quantiles do not cross, both probabilities are
    :math:`k / (n + 1)`, less than :math:`1 / (n + 1)` from :math:`\tau`. They are over draws of
    all n + 1 rows, as those of `ConformalInterval`. Given the n fitted rows, each is a Beta
    variable with the parameters k and n + 1 - k, if rows are independent: a monitor of repaired
    quantiles has to allow for that, see :ref:`watching-forecasts`.

    An interval from a level :math:`\alpha < 1/2` to a level :math:`\beta \ge 1/2` holds the target
    with probability :math:`\beta - \alpha` or more. One between two levels on the same side of the
    median may fall short of it by up to :math:`1 / (n + 1)`, and by more with ties or crossing.

    Where shifted quantiles cross, that of a level below 1/2 becomes the smallest of its own and
    those of higher levels, and that of any other level the largest of its own and those of lower
    levels. So quantiles only move away from the median, and the inequalities above hold. Sorting
    once more could break them, as it may lower the quantile of a high level.

    With `groups` in `fit`, each group has the shifts of its own rows, and the same guarantee for
    its own number of rows (Mondrian conformal prediction [3]_).

    With fewer than :math:`(1 - \tau) / \tau` rows for :math:`\tau < 1/2`, or fewer than
    :math:`\tau / (1 - \tau)` for :math:`\tau > 1/2`, no finite quantile has the guarantee.

    References
    ----------
    .. [1] V. Chernozhukov, I. Fernández-Val, A. Galichon (2010). Quantile and probability curves
       without crossing. Econometrica 78. :doi:`10.3982/ECTA7880`
    .. [2] Y. Romano, E. Patterson, E. J. Candès (2019). Conformalized quantile regression.
       NeurIPS 32. :doi:`10.48550/arXiv.1905.03222`
    .. [3] V. Vovk, A. Gammerman, G. Shafer (2005). Algorithmic learning in a random world.
       Springer. :doi:`10.1007/b106715`

    Examples
    --------
    Quantiles of a normal distribution with half the true spread:

    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skcal.regression import pinball_loss, quantile_calibration_error
    >>> from skcal.regression import ConformalQuantiles
    >>> rng = np.random.default_rng(0)
    >>> levels, mean = [0.05, 0.5, 0.95], rng.normal(size=(2000, 1))
    >>> y, X = rng.normal(mean[:, 0]), norm(mean, 0.5).ppf(levels)
    >>> model = ConformalQuantiles(levels).fit(X[:1000], y[:1000])
    >>> model.shifts_.round(1)
    array([-0.8, -0.1,  0.8])
    >>> for quantiles in (X[1000:], model.transform(X[1000:])):
    ...     error = quantile_calibration_error(y[1000:], quantiles, quantiles=levels)
    ...     loss = pinball_loss(y[1000:], quantiles, quantiles=levels)
    ...     print(f"{error:.3f} {loss:.3f}")
    0.108 0.241
    0.021 0.206
    """

    shifts_: np.ndarray
    _reads = "quantiles"
    _writes = "quantiles"

    def __init__(self, levels: ArrayLike = (0.1, 0.5, 0.9)) -> None:
        self.levels = levels

    def predict(self, X: ArrayLike, *, groups: ArrayLike | None = None) -> np.ndarray:
        """Medians, or numbers between the quantiles next to the median.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_levels)
            Predicted quantiles.
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row, one that `fit` has seen; None without groups in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired quantiles, interpolated linearly in the level at 1/2; those of the nearest
            level where all levels lie on one side. An infinite shift counts as 0.
        """
        values, levels = self._read(X), self._check_levels()
        weights = [np.interp(0.5, levels, column) for column in np.eye(len(levels))]
        shifts = self._take(self.shifts_, groups, len(values))
        return self._shift(values, np.where(np.isinf(shifts), 0, shifts)) @ weights

    def predict_quantiles(
        self,
        X: ArrayLike,
        quantiles: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> np.ndarray:
        """Repaired quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_levels)
            Predicted quantiles.
        quantiles : array-like of shape (n_chosen,), default=None
            Levels to return, each one of `levels`; or one number. None takes all.
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row, one that `fit` has seen; None without groups in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_chosen)
            A column for each level.
        """
        repaired = self.transform(X, groups=groups)
        if quantiles is None:
            return repaired
        columns = Quantiles(repaired, self._check_levels())
        return np.column_stack([columns.ppf(q) for q in check_levels("quantiles", quantiles)])

    def predict_interval(
        self,
        X: ArrayLike,
        confidence_level: float | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> np.ndarray:
        """Prediction intervals between two of the levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_levels)
            Predicted quantiles.
        confidence_level : float, default=None
            Probability of a central interval, in (0, 1), both levels of which must be among
            `levels`. None takes the lowest and the highest level.
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row, one that `fit` has seen; None without groups in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Low and high.
        """
        levels = self._check_levels()
        if len(levels) == 1:
            raise ValueError(f"levels must be at least two for an interval; got {levels.tolist()}.")
        if confidence_level is None:
            return self.predict_quantiles(X, levels[[0, -1]], groups=groups)
        level = check_confidence_level(confidence_level)
        return self.predict_quantiles(X, [(1 - level) / 2, (1 + level) / 2], groups=groups)

    def transform(self, X: ArrayLike, *, groups: ArrayLike | None = None) -> np.ndarray:
        """Repaired quantiles of all levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_levels)
            Predicted quantiles.
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row, one that `fit` has seen; None without groups in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_levels)
            A column for each level; none is below the one before.
        """
        values = self._read(X)
        return self._shift(values, self._take(self.shifts_, groups, len(values)))

    def _check_options(self):
        self._check_levels()

    def _fit(self, rows, groups=None):
        self.shifts_ = self._find_all(rows, groups)

    def _find(self, rows):
        levels = self._check_levels()
        scores = rows.targets[:, None] - np.sort(rows.predictions, axis=1)
        return np.array(
            [_find_shift(*pair, rows.weights) for pair in zip(levels, scores.T, strict=True)]
        )

    def _warn(self, found, n_rows, where):
        infinite = self._check_levels()[np.isinf(found).any(axis=0)]
        if len(infinite):
            rarer = np.minimum(infinite, 1 - infinite).min()
            with np.errstate(over="ignore"):
                needed = np.ceil((1 - rarer) / rarer * (1 - 1e-9))
            warn(
                f"Quantiles are infinite at level {', '.join(f'{level:g}' for level in infinite)}"
                f"{where}: finite ones need at least {needed:g} rows; got {n_rows:g}."
            )

    def _shift(self, X, shifts):
        """Sorted and shifted quantiles; those that cross then move away from the median."""
        shifted = np.sort(X, axis=1) + shifts
        low = np.minimum.accumulate(shifted[:, ::-1], axis=1)[:, ::-1]
        high = np.maximum.accumulate(shifted, axis=1)
        return np.where(self._check_levels() < 0.5, low, high)

    def _check_levels(self):
        levels = check_levels("levels", self.levels)
        if (np.diff(levels) <= 0).any():
            raise ValueError(f"levels must increase; got {levels.tolist()}.")
        return levels

    def _name_columns(self, kind):
        return tuple(f"quantile_{level}" for level in self._check_levels().tolist())


def _find_shift(level, scores, weights):
    """The conformal quantile of the scores, rounded away from the median."""
    if level < 0.5:
        return -conformal_quantile(-scores, weights, 1 - level)
    return conformal_quantile(scores, weights, level)
