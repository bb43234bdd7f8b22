r"""Sums of residuals of clusters, whose signs are drawn.

If a model is calibrated, the residuals of a cluster have mean 0, whatever their dependence. Where
clusters are independent and many, statistics of sums over them have about the law that they have
when the residuals of whole clusters change their signs at random, which leaves all dependence
within clusters as it is (a wild bootstrap: A. C. Cameron, J. B. Gelbach, D. L. Miller, 2008,
Review of Economics and Statistics 90, with the hypothesis imposed).
"""

import numpy as np
from scipy.sparse import csr_array, diags_array

# Tests of fewer clusters read single rows of them, which are chosen so often.
FEWEST_CLUSTERS = 20
N_CHOICES = 20
# Signs that are drawn at a time.
_BUDGET = 1 << 22
# Largest skewness of the sum of all residuals for which signs stand for the law under the
# hypothesis. It is 1 / sqrt(k) where k independent rare events are expected: tests at 5 % reject 6
# to 7 % of calibrated samples there, and ever more beyond.
_LARGEST_SKEWNESS = 0.2
# Residuals of clusters cancel by design where the squares of their sums are this part of those of
# rows: single precision leaves more of them.
_CANCELLED = 1e-9


def sum_clusters(values, member):
    """Sums of the values of each cluster; 0 where these cancel in all clusters.

    So do the residuals of all answers to questions, by design. What rounding leaves has no law.
    """
    sums = np.bincount(member, values)
    return sums if sums @ sums > _CANCELLED * (values @ values) else np.zeros(len(sums))


def drop_cancelled(sums, squares):
    """Sparse sums by row and cluster, 0 in rows where they cancel in all clusters.

    `squares` are the sums of the squares of the values of each row.
    """
    remains = sums.power(2).sum(axis=1) > _CANCELLED * squares
    return sums if remains.all() else diags_array(1.0 * remains) @ sums


def sum_pairs(values, rows, columns, shape):
    """Sparse sums of values by row and column."""
    sums = csr_array((values, (rows, columns)), shape=shape)
    sums.sum_duplicates()  # older SciPy keeps them apart
    return sums


class SignedSums:
    """Sums of outcomes by cell, if residuals of whole clusters change their signs.

    `cell` and `member` are the numbers of the cell and of the cluster of each row, `pulls` weighted
    residuals, `means` the sums of weighted predictions by cell. What is predicted to be certain has
    no chance: residuals there are left out.
    """

    def __init__(self, cell, member, pulls, means):
        shape = len(means), int(member.max()) + 1
        self._pulls, self._means = sum_pairs(pulls, cell, member, shape), means
        self.n_clusters = shape[1]

    @property
    def sizes(self):
        """Sums of the sizes of what moves in each cell, which no sum exceeds."""
        return abs(self._pulls).sum(axis=1)

    def draw(self, rng, n_draws):
        """Sums of shape (n_draws, n_cells)."""
        step = max(1, _BUDGET // self.n_clusters)
        sums = []
        for start in range(0, n_draws, step):
            size = self.n_clusters, min(step, n_draws - start)
            signs = 2.0 * rng.integers(2, size=size) - 1.0
            sums.append((self._pulls @ signs).T + self._means)
        return np.concatenate(sums)


def sign_clusters(predictions, outcomes, weights, starts, member):
    """`SignedSums` of rows whose cells begin at `starts`."""
    pulls = weights * (outcomes - predictions)
    pulls[(predictions == 0) | (predictions == 1)] = 0.0  # left to chance nowhere
    cell = np.zeros(len(predictions), dtype=np.intp)
    cell[starts[1:]] = 1
    means = np.add.reduceat(weights * predictions, starts)
    return SignedSums(np.cumsum(cell), member, pulls, means)


def find_design_effect(pulls, member):
    """Variance of a sum of residuals by clusters over that of independent rows.

    1 where residuals of all clusters cancel: other sums, such as those by prediction, do not.
    """
    sums = sum_clusters(pulls, member)
    variance = float(sums @ sums)
    return variance / float(pulls @ pulls) if variance > 0 else 1.0


def has_known_law(predictions, weights, design_effect, member):
    """Whether signs of clusters give sums of residuals nearly their law under the hypothesis.

    That needs enough clusters, and enough events and non-events for sums to be nearly normal. The
    largest weight is 1.
    """
    if member.max() + 1 < FEWEST_CLUSTERS:
        return False
    moments = (moment.sum() for moment in list_moments(predictions, weights))
    return bool(are_nearly_normal(*moments, design_effect))


def list_moments(predictions, weights):
    """Variances of weighted outcomes, and bounds of their third moments."""
    variance = weights**2 * predictions * (1 - predictions)
    return variance, weights * variance * np.abs(1 - 2 * predictions)


def are_nearly_normal(variance, third, design_effect):
    """Whether sums are nearly normal, for sums of outcomes with these sums of moments.

    The skewness of a sum is bounded by that of rows whose asymmetry does not cancel, times the
    root of the design effect, as if that many rows were copies of each other.
    """
    largest = _LARGEST_SKEWNESS * variance**1.5
    return third * np.sqrt(np.maximum(design_effect, 1.0)) <= largest


class ClustersOfGroups:
    """Sums of residuals of clusters in overlapping groups.

    `members`, (n_groups, n_patterns), is sparse; `pattern` and `member` are the numbers of the
    pattern and of the cluster of each row, `pulls` weighted residuals.
    """

    def __init__(self, members, pattern, member, pulls):
        shape = members.shape[1], int(member.max()) + 1
        self._pulls, self._rows = (
            sum_pairs(values, pattern, member, shape) for values in (pulls, np.ones(len(pulls)))
        )
        self._members = members.astype(np.float64)
        self._squares = self._members @ np.bincount(pattern, pulls**2, shape[0])

    def count(self):
        """Numbers of clusters that have rows in each group."""
        return np.concatenate([np.diff(sums.indptr) for sums in self._sum(self._rows)])

    def find_design_effects(self):
        """`find_design_effect` of each group."""
        sums = np.concatenate([sums.power(2).sum(axis=1) for sums in self._sum(self._pulls)])
        remains = sums > _CANCELLED * self._squares
        return np.divide(sums, self._squares, where=remains, out=np.ones(len(sums)))

    def _sum(self, values):
        """Sums of clusters, for some groups at a time."""
        step = max(1, _BUDGET // values.shape[1])
        for start in range(0, self._members.shape[0], step):
            yield self._members[start : start + step] @ values
