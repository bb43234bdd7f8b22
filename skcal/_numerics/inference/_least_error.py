r"""A lower confidence bound of the mean size of the error, E|P(y | v) - v|.

For signs s that do not depend on the outcomes the mean of s (y - v) estimates a number that is no
larger than E|P(y | v) - v|. One half of the rows chooses signs for the other: those of the sums of
its residuals in cells, at the resolution at which these sums exceed most what chance gives to them.
Each half chooses for the other, in several random halvings, and all values are averaged.

Two halves that choose for each other vary together: for a calibrated model the covariance of
sign(R) R' and sign(R') R is E|R| E|R'|, a share of 2 / pi of their variance, and less where signs
are known. So the variance of the average is at most 1 + 2 / pi times that of a mean over all rows.
"""

from typing import NamedTuple

import numpy as np

from skcal._numerics.inference._cluster_signs import find_design_effect
from skcal._numerics.inference._verdict import find_variance, widen_reach

_N_HALVINGS = 5
# Mean size of a standard normal number.
_MEAN_SIZE = np.sqrt(2 / np.pi)
_SHARED = 1 + 2 / np.pi


class LeastError(NamedTuple):
    """An average that is no larger than the mean size of the error, and its lower bound."""

    size: float
    low: float


def find_least_error(predictions, outcomes, shares, cell, member=None, *, reach, rng):
    """The `LeastError` of rows in cells, whose numbers rise with where they begin.

    `shares` are weights that sum to 1, `member` numbers of clusters or None; `reach` is a quantile
    of the standard normal distribution.
    """
    # Rows of equal predictions and outcomes are alike: their order has no say.
    order = np.lexsort((shares, outcomes, predictions))
    residuals, unit = (outcomes - predictions)[order], np.arange(len(order))
    shares, cell = shares[order], cell[order]
    expected = (predictions * (1 - predictions))[order]
    effect = 1.0
    if member is not None:
        member = unit = member[order]
        effect = max(find_design_effect(shares * residuals, member), 1.0)
    n_units, n_cells = int(unit.max()) + 1, int(cell.max()) + 1
    if n_units < 2:
        return LeastError(0.0, 0.0)
    chance, found = effect * shares**2 * np.array([expected, residuals**2]), []
    for _ in range(_N_HALVINGS):
        half = (rng.permutation(n_units) < n_units // 2)[unit]
        signs = np.empty(len(half))
        for chooses in (half, ~half):
            sums, *chances = (
                np.bincount(cell[chooses], values[chooses], n_cells)
                for values in (shares * residuals, *chance)
            )
            # What is predicted to be nearly certain may vary by more than that.
            signs[~chooses] = _choose_signs(sums, np.maximum(*chances))[cell[~chooses]]
        mean = float(shares @ (signs * residuals))
        pulls = shares * (signs * residuals - mean)
        found.append((mean, *find_variance(pulls, shares, member)))
    mean, variance, degrees = np.mean(found, axis=0)
    reach = widen_reach(reach, degrees) * np.sqrt(_SHARED)
    # What a single row or cluster adds, as in the interval of Wilson.
    largest = float(np.sum(np.bincount(unit, shares) ** 2))
    half = reach**2 * largest / 2
    low = mean - half - np.sqrt(half**2 + reach**2 * variance)
    return LeastError(max(mean, 0.0), max(float(low), 0.0))


def _choose_signs(sums, variances):
    """Signs of cells, from sums over pairs of neighbours, over pairs of pairs, and so on."""
    n_cells, best, width = len(sums), -np.inf, 1
    signs = np.zeros(n_cells)
    while True:
        excess = np.sum(np.abs(sums) - _MEAN_SIZE * np.sqrt(variances))
        if excess > best:
            best, signs = excess, np.repeat(np.sign(sums), width)[:n_cells]
        if len(sums) == 1:
            return signs
        pairs, width = np.arange(0, len(sums), 2), 2 * width
        sums, variances = np.add.reduceat(sums, pairs), np.add.reduceat(variances, pairs)
