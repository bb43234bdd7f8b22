r"""Sums of residuals of clusters, whose signs are drawn.

If a model is calibrated, the residuals of a cluster have mean 0, whatever their dependence. Where
clusters are independent and many, statistics of sums over them have about the law that they have
when the residuals of whole clusters change their signs at random, which leaves all dependence
within clusters as it is (a wild bootstrap: A. C. Cameron, J. B. Gelbach, D. L. Miller, 2008,
Review of Economics and Statistics 90, with the hypothesis imposed).
"""

import numpy as np
from scipy.sparse import csr_array

# Signs that are drawn at a time.
_BUDGET = 1 << 22
# Largest skewness of the sum of all residuals for which signs stand for the law under the
# hypothesis. It is 1 / sqrt(k) where k independent rare events are expected: tests at 5 % reject 6
# to 7 % of calibrated samples there, and ever more beyond.
_LARGEST_SKEWNESS = 0.2


class SignedSums:
    """Sums of outcomes by cell, if residuals of whole clusters change their signs.

    `cell` and `member` are the numbers of the cell and of the cluster of each row, `pulls` weighted
    residuals, `means` the sums of weighted predictions by cell. What is predicted to be certain has
    no chance: residuals there are left out.
    """

    def __init__(self, cell, member, pulls, means):
        shape = len(means), int(member.max()) + 1
        self._pulls, self._means = csr_array((pulls, (cell, member)), shape=shape), means
        self._n_clusters = shape[1]

    @property
    def sizes(self):
        """Sums of the sizes of what moves in each cell, which no sum exceeds."""
        return abs(self._pulls).sum(axis=1)

    def draw(self, rng, n_draws):
        """Sums of the only problem, of shape (n_draws, n_cells)."""
        step = max(1, _BUDGET // self._n_clusters)
        sums = []
        for start in range(0, n_draws, step):
            size = self._n_clusters, min(step, n_draws - start)
            signs = 2.0 * rng.integers(2, size=size) - 1.0
            sums.append((self._pulls @ signs).T + self._means)
        return [np.concatenate(sums)]


def find_design_effect(pulls, member):
    """Variance of a sum of residuals by clusters over that of independent rows."""
    squares = float(pulls @ pulls)
    sums = np.bincount(member, pulls)
    return float(sums @ sums) / squares if squares > 0 else 1.0


def is_nearly_normal(predictions, weights, design_effect):
    """Whether there are enough events and non-events for sums of residuals to be nearly normal.

    The skewness of the sum is bounded by that of rows whose asymmetry does not cancel, times the
    root of the design effect, as if that many rows were copies of each other.
    """
    variance = weights**2 * predictions * (1 - predictions)
    third = weights * variance * np.abs(1 - 2 * predictions)
    total = variance.sum()
    if total == 0:
        return True
    return bool(third.sum() / total**1.5 * np.sqrt(max(design_effect, 1.0)) <= _LARGEST_SKEWNESS)
