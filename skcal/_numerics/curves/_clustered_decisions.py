"""How much the gains of decisions vary from cluster to cluster, at each threshold."""

from typing import NamedTuple

import numpy as np

from skcal._numerics.inference._effective_rows import LEAST_REST, find_degrees

# Numbers by outcome, cluster and threshold that are worked on at a time.
_BUDGET = 1 << 16


class ClusterSpread(NamedTuple):
    """Sums over clusters."""

    products: np.ndarray  # of what clusters gain at two thresholds, beyond the mean
    degrees: np.ndarray  # degrees of freedom of its diagonal
    squares: float  # of the weights of clusters


def compare_clusters(acting, baseline, outcomes, weights, member, gains, mean):
    """A `ClusterSpread` of decisions, see `band_decisions`.

    The gain of a cluster beyond the mean is divided by 1 minus its share of the information, as in
    `count_in_clusters`. What a row tells depends on its decisions alone: it is the mean square of
    the gains beyond the mean of all rows with the same ones.
    """
    n_thresholds, n_clusters = gains.shape[1], int(member.max()) + 1
    order = np.argsort(member, kind="stable")
    rows = [
        one if isinstance(one, tuple) else one[order]
        for one in (acting, baseline, outcomes, weights)
    ]
    told, total = _find_information(rows, gains, mean)
    products, squared_shares = np.zeros((n_thresholds, n_thresholds)), np.zeros(n_thresholds)
    squares, step = 0.0, max(1, _BUDGET // (2 * n_thresholds))
    starts = np.arange(0, n_clusters, step)
    edges = np.append(np.searchsorted(member[order], starts), len(order))
    for first, *part in zip(starts, edges[:-1], edges[1:], strict=True):
        part = slice(*part)
        own = [one if isinstance(one, tuple) else one[part] for one in rows]
        table = _Table(*own, member[order[part]] - first, n_thresholds)
        share = sum(one * kind for one, kind in zip(told, table.list_kinds(), strict=True)) / total
        gained = table.sum_gains(gains) - table.weights * mean
        gained /= np.maximum(1 - share, LEAST_REST)
        products += gained.T @ gained
        squared_shares += (share**2).sum(axis=0)
        squares += float((table.weights**2).sum())
    return ClusterSpread(products, find_degrees(squared_shares), squares)


def _find_information(rows, gains, mean):
    """What a row of each kind tells, (3, n_thresholds), and what all rows tell."""
    whole = np.zeros(len(rows[0]), dtype=np.intp)
    mass, squares = 0.0, 0.0
    for outcome in (0, 1):
        weights = rows[3] * (rows[2] == outcome)
        table = _Table(*rows[:3], weights, whole, gains.shape[1])
        kinds = np.stack(table.list_kinds())[:, 0]
        mass, squares = (
            mass + kinds,
            squares + kinds * (table.list_values(gains, outcome) - mean) ** 2,
        )
    told = np.divide(squares, mass, where=mass > 0, out=np.zeros_like(mass))
    told[:, squares.sum(axis=0) == 0] = 1.0  # where nothing moves, clusters tell by their weights
    return told, (told * mass).sum(axis=0)


class _Table:
    """Weights of clusters by what their rows decide.

    Rows act alone, or the baseline does, or neither. A baseline that is fixed by the outcome is not
    known from decisions: rows act or do not.
    """

    def __init__(self, acting, baseline, outcomes, weights, member, n_thresholds):
        self._rows = outcomes, weights, member
        self._shape = 2, int(member.max()) + 1, n_thresholds + 1
        self._fixed = baseline if isinstance(baseline, tuple) else None
        own = self._count(acting)
        whole = own[..., :1]
        self._own, self.weights = own[..., 1:], whole.sum(axis=0)
        if self._fixed:
            self._other, self._both = whole * self._acts, None
        else:
            self._other = self._count(baseline)[..., 1:]
            self._both = self._count(np.minimum(acting, baseline))[..., 1:].sum(axis=0)

    @property
    def _acts(self):
        """Whether a fixed baseline acts, by outcome."""
        return (np.array(self._fixed) > 0)[:, None, None]

    def _count(self, numbers):
        """Weights of the rows beyond each number."""
        outcomes, weights, member = self._rows
        index = (outcomes * self._shape[1] + member) * self._shape[2] + numbers
        sums = np.bincount(index, weights, minlength=np.prod(self._shape)).reshape(self._shape)
        return sums[..., ::-1].cumsum(axis=-1)[..., ::-1]

    def sum_gains(self, gains):
        return ((self._own - self._other) * gains[:, None]).sum(axis=0)

    def list_kinds(self):
        """Weights of the three kinds, arrays of shape (n_clusters, n_thresholds)."""
        alone, other = self._own.sum(axis=0), 0.0
        if not self._fixed:
            alone, other = alone - self._both, self._other.sum(axis=0) - self._both
        kinds = alone, other + np.zeros_like(alone), self.weights - alone - other
        return [np.maximum(kind, 0.0) for kind in kinds]

    def list_values(self, gains, outcome):
        """What a row of this outcome gains that is of each kind."""
        acts = float(self._acts[outcome, 0, 0]) if self._fixed else 0.0
        return np.stack([1 - acts, -1.0, -acts])[:, None] * gains[outcome]
