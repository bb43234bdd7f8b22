"""Predictions by numbers instead of a distribution: ensembles, and quantiles with their levels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record

# Members of an ensemble that are sorted at a time.
_BLOCK = 1 << 20
# Levels, and ranks and whole numbers, that differ by less do so by rounding.
_ROUNDING = 1e-9


@as_record
class Ensemble(NamedTuple):
    """Predictive ensembles: a sample of possible target values for each row.

    Such as draws from a posterior distribution, the trees of a forest, or runs of a simulation.

    Attributes
    ----------
    members : array-like of shape (n_samples, n_members)
        Members of the ensemble of each row, in any order. NaN is a missing member, which
        :func:`continuous_ranked_probability_score`, all that is made of the PIT, such as
        :func:`pit_calibration_error`, :func:`interval_coverage`, and the methods here take.
    weights : array-like of shape (n_members,) or (n_samples, n_members), default=None
        Non-negative weights of the members, of any scale. :func:`forecast_bias`,
        :func:`continuous_ranked_probability_score`, `cdf`, `mean` and `std` take them. All else
        reads ranks, which are not uniform for weighted members, and refuses them.

    Notes
    -----
    An ensemble is right if target and members are exchangeable. Then the target is one of m + 1
    numbers, each of which is the k-th smallest with the same probability, so that it is at most the
    k-th of m members with probability k / (m + 1) [1]_.

    References
    ----------
    .. [1] T. M. Hamill (2001). Interpretation of rank histograms for verifying ensemble forecasts.
       Monthly Weather Review 129, 550-560.
       :doi:`10.1175/1520-0493(2001)129<0550:IORHFV>2.0.CO;2`

    Examples
    --------
    >>> from skcal.regression import Ensemble
    >>> ensemble = Ensemble([[3.0, 1.0, 4.0, 2.0]])
    >>> ensemble.ppf(0.2), ensemble.ppf(0.5)
    (array([1.]), array([2.5]))
    """

    members: ArrayLike
    weights: ArrayLike | None = None

    def ppf(self, q: float) -> np.ndarray:
        """Quantile of every row, which a target exchangeable with the members is below.

        Parameters
        ----------
        q : float
            Level of the quantile, from 1 / (m + 1) to m / (m + 1) in rows of m members: beyond
            them the members say nothing.

        Returns
        -------
        ndarray of shape (n_samples,)
            The k-th smallest member for a level of k / (m + 1), and values on the line between two
            members for levels between theirs.

        Raises
        ------
        ValueError
            If the members are invalid, too few for `q`, or weighted.
        """
        refuse_weights("the ensemble", self)
        members = np.sort(_read_matrix("members", self.members, missing=True), axis=1)
        if not 0 < q < 1:
            raise ValueError(f"q must lie strictly between 0 and 1; got {q}.")
        count = np.count_nonzero(~np.isnan(members), axis=1)
        rank = q * (count + 1)
        rank = np.where(are_equal(rank, np.rint(rank)), np.rint(rank), rank)
        if ((rank < 1) | (rank > count)).any():
            few = count.min()
            raise ValueError(
                f"q must lie between {1 / (few + 1):.3g} and {few / (few + 1):.3g} for rows of "
                f"{few} members, the levels of the smallest and the largest; got {q}."
            )
        place = rank.astype(np.intp) - 1
        rows, part = np.arange(len(members)), rank % 1
        low, high = members[rows, place], members[rows, np.minimum(place + 1, count - 1)]
        return np.clip((1 - part) * low + part * high, low, high)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Share of the ensemble members of every row up to a number, by weight.

        Parameters
        ----------
        x : float or array-like of shape (n_samples,)
            One number, or one for each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            The shares.

        Raises
        ------
        ValueError
            If the members are invalid, or `x` has another length.

        Notes
        -----
        If members and targets are exchangeable, the mean share at a fixed number is on average that
        of the targets. The share of a row is no calibrated probability, however: it is 0 or 1
        where few members agree, and varies more than the probability of the row. To test an event,
        test the ensemble of events, as :ref:`the guide <events-of-ensembles>` does.
        """
        members = _read_matrix("members", self.members, missing=True)
        at = read_numbers("x", x).astype(np.float64)
        if at.shape not in ((), (len(members),)):
            raise ValueError(
                f"x must be one number, or one for each of the {len(members)} rows; "
                f"got shape {at.shape}."
            )
        weights = read_member_weights("the ensemble", self, members)
        return np.sum(weights, axis=1, where=members <= at[..., None]) / weights.sum(axis=1)

    def mean(self) -> np.ndarray:
        """Mean of the ensemble members of every row.

        Returns
        -------
        ndarray of shape (n_samples,)
            The means.

        Raises
        ------
        ValueError
            If the members are invalid.
        """
        return self._average(_read_matrix("members", self.members, missing=True))

    def std(self) -> np.ndarray:
        """Standard deviation of the ensemble members of every row.

        Returns
        -------
        ndarray of shape (n_samples,)
            The standard deviations of the distributions with as many atoms, without a correction
            for the number of members.

        Raises
        ------
        ValueError
            If the members are invalid.
        """
        members = _read_matrix("members", self.members, missing=True)
        return np.sqrt(self._average((members - self._average(members)[:, None]) ** 2))

    def _average(self, values):
        """Means of rows of values of the members, NaN where these are missing."""
        weights = read_member_weights("the ensemble", self, values)
        return np.sum(weights * values, axis=1, where=weights > 0) / weights.sum(axis=1)


@as_record
class Quantiles(NamedTuple):
    """Predicted quantiles of each row, with their levels.

    Attributes
    ----------
    values : array-like of shape (n_samples, n_levels)
        Quantiles, one column for each level; infinite ones are allowed.
    levels : array-like of shape (n_levels,)
        Levels, distinct and strictly between 0 and 1.
    """

    values: ArrayLike
    levels: ArrayLike

    def ppf(self, q: float) -> np.ndarray:
        """Predicted quantile of every row at one of the levels.

        Parameters
        ----------
        q : float
            The level, one of `levels` up to rounding.

        Returns
        -------
        ndarray of shape (n_samples,)
            The column of `values` that belongs to the level.

        Raises
        ------
        ValueError
            If there is no such level, or `values` and `levels` are invalid.
        """
        levels = check_levels("levels", self.levels)
        values = read_quantiles("values", self.values, None, levels)
        return values[:, find_level("levels", levels, q)]


def check_levels(name, levels):
    """Probabilities strictly between 0 and 1, at least one."""
    levels = np.atleast_1d(read_numbers(name, levels).astype(np.float64))
    if levels.ndim != 1 or len(levels) == 0:
        raise ValueError(
            f"{name} must be one-dimensional, with at least one level; got shape {levels.shape}."
        )
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {levels.tolist()}.")
    return levels


def are_equal(levels, others):
    """Whether levels are equal up to rounding."""
    return np.abs(levels - others) < _ROUNDING


def find_level(name, levels, level):
    """Place of a level among others, which must hold it."""
    places = np.flatnonzero(are_equal(levels, level))
    if len(places) == 0:
        raise ValueError(f"{name} must hold {level:.6g}; got {levels.tolist()}.")
    return places[0]


def read_quantiles(name, values, n_samples, levels):
    """Quantiles of shape (n_samples, n_levels) for distinct levels, none of them NaN.

    Without a number of rows it is that of `values`.
    """
    if len(np.unique(levels)) < len(levels):
        raise ValueError(f"quantiles must be distinct; got {levels.tolist()}.")
    values = read_numbers(name, values).astype(np.float64)
    if values.ndim == 1 and len(levels) == 1:
        values = values[:, None]
    n_samples = len(values) if n_samples is None and values.ndim else n_samples
    if values.shape != (n_samples, len(levels)):
        raise ValueError(
            f"{name} must have shape {(n_samples, len(levels))}, a row for each target "
            f"and a column for each of the quantiles; got {values.shape}."
        )
    is_missing = np.isnan(values).any(axis=1)
    if is_missing.any():
        row = np.flatnonzero(is_missing)[0]
        raise ValueError(f"{name} must not hold NaN; got {values[row]} at row {row}.")
    return values


def sort_quantiles(name, quantiles, n_samples):
    """Values and levels of `Quantiles` in ascending order of the levels; values may not cross."""
    levels = check_levels(f"The levels of {name}", quantiles.levels)
    return read_ascending(f"The values of {name}", quantiles.values, n_samples, levels)


def read_ascending(name, values, n_samples, levels):
    """Quantiles of `read_quantiles` and their levels, ascending; values may not cross."""
    values, order = read_quantiles(name, values, n_samples, levels), np.argsort(levels)
    values = values[:, order]
    n_crossing = np.count_nonzero((values[:, 1:] < values[:, :-1]).any(axis=1))
    if n_crossing:
        raise ValueError(
            f"{name} must not cross; they do in {n_crossing} of {len(values)} rows. "
            "Sort them within rows."
        )
    return values, levels[order]


def read_members(name, ensemble, n_samples, *, missing=False, weighted=False):
    """Members of an ensemble for each of the rows.

    Some of a row may be NaN where `missing`, and there may be weights where `weighted`.
    """
    if not weighted:
        refuse_weights(name, ensemble)
    members = _read_matrix(f"The members of {name}", ensemble.members, missing)
    if len(members) != n_samples:
        raise ValueError(
            f"The members of {name} must have one row for each of the {n_samples} rows of y_true; "
            f"got {len(members)}."
        )
    return members


def refuse_weights(name, ensemble):
    """Raise an error if the members of an ensemble have weights."""
    if ensemble.weights is not None:
        raise ValueError(
            f"The weights of {name} must be None: ranks of targets among weighted members are not "
            "uniform. continuous_ranked_probability_score and forecast_bias take them."
        )


def read_member_weights(name, ensemble, members):
    """Weights of the members, the largest of each row 1; 0 for missing ones."""
    weights = np.ones(members.shape[1])
    if ensemble.weights is not None:
        weights = read_finite(f"The weights of {name}", ensemble.weights)
    if weights.shape not in (members.shape, members.shape[1:]):
        raise ValueError(
            f"The weights of {name} must have shape {members.shape}, or {members.shape[1:]} for "
            f"all rows; got {weights.shape}."
        )
    check_everywhere(f"The weights of {name}", weights, weights >= 0, "not be negative")
    weights = np.where(np.isnan(members), 0.0, weights)
    largest = weights.max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError(
            f"The weights of {name} must be positive for a member of each row that is not NaN; row "
            f"{np.flatnonzero(largest == 0)[0]} has none."
        )
    return weights / largest


def list_blocks(members):
    """Slices of rows of an ensemble that hold about as many members as fit into the cache."""
    step = max(1, _BLOCK // members.shape[1])
    return [slice(start, start + step) for start in range(0, len(members), step)]


def _read_matrix(name, members, missing=False):
    if missing:
        members = read_numbers(name, members).astype(np.float64, copy=False)
        check_everywhere(name, members, ~np.isinf(members), "be finite, or NaN if missing")
    else:
        members = read_finite(name, members)
    if members.ndim != 2 or members.size == 0:
        raise ValueError(
            f"{name} must have shape (n_samples, n_members) and hold at least one member; "
            f"got shape {members.shape}."
        )
    is_empty = np.isnan(members).all(axis=1)
    if is_empty.any():
        raise ValueError(
            f"{name} must have a member that is not NaN in each row; row "
            f"{np.flatnonzero(is_empty)[0]} has none."
        )
    return members


def read_finite(name, values):
    values = read_numbers(name, values).astype(np.float64, copy=False)
    check_everywhere(name, values, np.isfinite(values), "be finite")
    return values


def check_everywhere(name, values, is_valid, needed):
    if not np.all(is_valid):
        place = np.argwhere(~is_valid)[0]
        raise ValueError(f"{name} must {needed}; got {values[tuple(place)]}{show_place(place)}.")


def show_place(place):
    """Where a value stands; nothing for a single value that serves for all rows."""
    if len(place) > 1:
        return f" at index ({', '.join(str(number) for number in place)})"
    return f" at row {place[0]}" if len(place) else ""
