"""Intervals of norms of residuals, by what one half of the rows finds and the other half confirms.

A norm of residuals is a supremum T = sup_w E[w r]. The w that is best for one half of the rows is
a fixed function for the other half, whose mean of w r therefore estimates E[w r] <= T without the
bias of a maximum.
"""

from itertools import pairwise

import numpy as np
from scipy.fft import next_fast_len
from scipy.optimize import brentq
from scipy.sparse import coo_array
from scipy.special import stdtrit

from skcal._numerics._grid import share_by_cubics
from skcal._numerics._smooth import cosine_moments, evaluate_cosines

# Bandwidths that an interval of SmoothECE may end at are not smaller than this part of the scale.
_NARROWEST = 1e-3
# Cells and points of a grid in a bandwidth.
_CELLS, _POINTS = 4, 12
# Bandwidths between the narrowest one and the estimate that are looked at for the lower end.
_N_BANDWIDTHS = 24


def find_deviation(values, shares):
    """Standard deviation of a sum of the contributions of independent batches.

    Parameters
    ----------
    values : ndarray of shape (n_batches,)
    shares : ndarray of shape (n_batches,)
        Of the weight of all rows; sum to 1. The contributions are compared with those of batches
        that have these shares of the whole.

    Returns
    -------
    float
    """
    n_batches = len(values)
    apart = values - values.sum() * shares
    return float(np.sqrt(n_batches / (n_batches - 1) * (apart**2).sum()))


def find_factor(n_batches, confidence_level):
    """Quantile of Student's t for both ends of an interval whose deviation has so many batches."""
    return float(stdtrit(n_batches - 1, (1 + confidence_level) / 2))


def find_reach(deviation, unit, factor):
    """How far from its estimate a mean may be, after Wilson: its variance may grow on the way.

    The d with ``d**2 = factor**2 * (deviation**2 + unit * d)``, where `unit` is what a single row
    adds to the mean at most: where no event has been seen the deviation is 0, not so d.
    """
    half = factor**2 * unit / 2
    return float(half + np.hypot(half, factor * deviation))


def find_lower_end(confirmed, deviation, unit, factor):
    """Below the mean of what pairs of halves confirm, which also varies with the choice of pairs.

    Parameters
    ----------
    confirmed : ndarray of shape (n_pairs,)
    deviation, unit, factor : float
    """
    spread = confirmed.std(ddof=1) / np.sqrt(len(confirmed))
    return float(confirmed.mean() - find_reach(np.hypot(deviation, spread), unit, factor))


class SmoothResiduals:
    """SmoothECE at any bandwidth, of the parts of residuals that batches and halves hold.

    Parameters
    ----------
    places : ndarray of shape (n_kinds,)
        Where predictions lie on [0, 1], with room at the ends where nothing is to be reflected.
    residual, weights : ndarray of shape (n_kinds,)
        The weights sum to 1.
    batches, halves : iterable of ndarray of shape (n_kinds,)
        Share of each residual in each batch, and in the first of two halves.
    width : float, default=1.0
        Length of the scale that [0, 1] stands for.
    """

    def __init__(self, places, residual, weights, batches, halves, width=1.0):
        self._width, self._smallest = width, _NARROWEST * width
        share = _share_places(places, next_fast_len(int(_CELLS / _NARROWEST), real=True))
        residual = weights * residual
        nodes, shares = [], []
        for batch in batches:
            nodes.append(share @ (batch * residual))
            shares.append(weights @ batch)
        self._shares, self._n_batches = np.array(shares), len(shares)
        nodes += [share @ (half * residual) for half in halves]
        self._moments = cosine_moments(np.array(nodes))

    def measure(self, bandwidth):
        """smECE_s, what batches contribute to it, and what halves confirm of each other.

        Returns
        -------
        value : float
        contributions : ndarray of shape (n_batches,)
            By the signs that all other batches find: those of a small bandwidth follow each row.
        confirmed : ndarray of shape (n_halves,)
        """
        part = bandwidth / self._width
        n_points = next_fast_len(int(np.clip(_POINTS / part, 64, _POINTS / _NARROWEST)), real=True)
        smoothed = evaluate_cosines(self._moments, part, n_points)
        smoothed[:, [0, -1]] /= 2
        smoothed /= n_points
        batches, first = smoothed[: self._n_batches], smoothed[self._n_batches :]
        whole = batches.sum(axis=0)
        second = whole - first
        contributions = (batches * np.sign(whole - batches)).sum(axis=1)
        confirmed = (np.sign(first) * second + np.sign(second) * first).sum(axis=1)
        return float(np.abs(whole).sum()), contributions, confirmed

    def find_low(self, estimate, unit, factor, wide):
        """The smallest SmoothECE that the population may have.

        smECE_s of the population falls with s. So where it is certainly above L, SmoothECE is above
        the smaller one of s and L; s is one `wide` bandwidth, or one with s = L.
        """

        def bound(bandwidth):
            _, contributions, confirmed = self.measure(bandwidth)
            deviation = find_deviation(contributions, self._shares)
            return find_lower_end(confirmed, deviation, unit, factor)

        start = float(np.clip(bound(wide), 0.0, min(wide, estimate))) if wide > 0 else 0.0
        return max(start, self._find_crossing(bound, estimate))

    def _find_crossing(self, bound, estimate):
        """The largest bandwidth up to the estimate of which its bound is not below it, or 0."""

        def exceed(bandwidth):
            return bound(bandwidth) - bandwidth

        if estimate <= self._smallest or exceed(estimate) > 0:
            return float(estimate)
        bandwidths = np.geomspace(estimate, self._smallest, _N_BANDWIDTHS)
        for end, start in pairwise(bandwidths):
            if exceed(start) > 0:
                return brentq(exceed, start, end, xtol=1e-7)
        return 0.0

    def find_high(self, estimate, unit, factor):
        """The largest s that smECE_s of the population may have."""

        def exceed(bandwidth):
            value, contributions, _ = self.measure(bandwidth)
            deviation = find_deviation(contributions, self._shares)
            return value + find_reach(deviation, unit, factor) - bandwidth

        start = max(estimate, self._smallest)
        if exceed(start) <= 0:
            return float(start)
        if start >= 1 or exceed(1.0) >= 0:
            return float(max(start, 1.0))
        return brentq(exceed, start, 1.0, xtol=1e-7)


def _share_places(places, n_cells):
    """Matrix that takes residuals at the places to the nodes of a grid on [0, 1]."""
    place = places * n_cells
    cell = np.minimum(place.astype(np.intp), n_cells - 1)
    inside = place - cell
    shares, _ = share_by_cubics(np.stack([inside**k for k in range(4)]))
    nodes = cell + np.arange(-1, 3)[:, None]
    nodes = n_cells - np.abs(n_cells - np.abs(nodes))  # reflected at both ends
    rows = np.broadcast_to(np.arange(len(place)), nodes.shape)
    entries = shares.ravel(), (nodes.ravel(), rows.ravel())
    return coo_array(entries, shape=(n_cells + 1, len(place))).tocsr()
